//! The line that shows how far a search is.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_engine::Progress;
use raddle_model::finding::{Finding, Report, Stats};

use crate::serve::Live;

/// Shorter searches show no line.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two changes of the line.
const PAUSE: Duration = Duration::from_millis(100);
/// Executions between two readings of the clock.
const STRIDE: u64 = 16;

/// Shows executions, rate and estimate on standard error, if that is a terminal.
pub struct ProgressLine {
    bar: ProgressBar,
    started: Instant,
    shown: Option<Instant>,
    seen: u64,
    live: Option<Live>,
}

impl ProgressLine {
    /// A line that will show up when the search takes long; never if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        ProgressLine { bar, started: Instant::now(), shown: None, seen: 0, live: None }
    }

    /// Shows the search in a browser as well.
    pub fn show_live(&mut self, live: Live) {
        self.live = Some(live);
    }

    /// Tells a finding, and prints it with the line out of the way.
    pub fn finding<T>(&self, finding: &Finding, print: impl FnOnce() -> T) -> T {
        if let Some(live) = &self.live {
            live.finding(finding);
        }
        self.suspend(print)
    }

    /// The search is over.
    pub fn close(&self, report: &Report) {
        if let Some(live) = &self.live {
            live.finish(report);
        }
    }

    /// An execution of so many events was examined.
    pub fn examined(&mut self, events: usize) {
        if let Some(live) = &self.live {
            live.examined(events);
        }
    }

    /// One more execution was made.
    pub fn update(&mut self, progress: &Progress<'_>) {
        let Progress { stats, findings, estimate } = *progress;
        self.seen += 1;
        if let Some(live) = &mut self.live {
            live.update(stats, estimate);
        }
        if self.bar.is_hidden() || !self.seen.is_multiple_of(STRIDE) {
            return;
        }
        let now = Instant::now();
        let due = self.shown.map_or(self.started + PATIENCE, |shown| shown + PAUSE);
        if now >= due {
            self.shown = Some(now);
            self.bar.set_message(line(stats, findings, now - self.started, estimate));
            self.bar.tick();
        }
    }

    /// Prints something with the line out of the way.
    fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(stats: &Stats, findings: usize, elapsed: Duration, estimate: Option<f64>) -> String {
    let runs = stats.runs();
    let rate = runs as f64 / elapsed.as_secs_f64().max(0.001);
    let mut text = format!("{} executions, {rate:.0}/s", stats.executions);
    if let Some(total) = estimate.filter(|total| total.is_finite() && *total > 0.0) {
        let left = ((total - runs as f64) / rate.max(1e-9)).max(0.0);
        text += &format!(", about {} in all, {} left", rounded(total), duration(left));
    }
    if findings > 0 {
        text += &format!(", {findings} found");
    }
    text
}

/// Two digits are all that an estimate is worth.
fn rounded(number: f64) -> String {
    if number < 1e6 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 1e6 => format!("{:.0} h", s / 3600.0),
        _ => "very long".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_far_and_how_long() {
        let stats = Stats { executions: 3000, blocked: 1000, ..Stats::default() };
        let seconds = Duration::from_secs(2);
        assert_eq!(line(&stats, 0, seconds, None), "3000 executions, 2000/s");
        assert_eq!(
            line(&stats, 2, seconds, Some(10_000.0)),
            "3000 executions, 2000/s, about 10000 in all, 3 s left, 2 found"
        );
        assert!(line(&stats, 0, seconds, Some(1e30)).ends_with("about 1.0e30 in all, very long left"));
        assert_eq!(line(&stats, 0, seconds, Some(f64::INFINITY)), "3000 executions, 2000/s");
    }
}
