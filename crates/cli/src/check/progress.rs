//! The line that shows how far a search is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_engine::{Crew, Progress};
use raddle_model::Estimate;
use raddle_model::finding::{Finding, Report, Stats};
use raddle_report::escape::clean;
use raddle_report::text::estimated;

use crate::serve::Live;

/// Shorter searches show no line.
const PATIENCE: Duration = Duration::from_secs(1);
/// Shorter searches tell what they have found at their end only.
const NEWS_AFTER: Duration = Duration::from_secs(5);
/// Between two changes of the line.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two lines of a log.
const LOG_PAUSE: Duration = Duration::from_secs(30);
/// Executions between two readings of the clock.
const STRIDE: u64 = 16;

/// Shows runs, rate and estimate on standard error: on a terminal in one line that changes,
/// elsewhere in a line now and then.
pub struct ProgressLine {
    bar: ProgressBar,
    /// Whether lines are printed one below the other.
    is_log: bool,
    started: Instant,
    /// When the command began, which may make several searches.
    command_begun: Instant,
    shown: Option<Instant>,
    seen: u64,
    live: Option<Live>,
    /// Ids of the findings that a line was printed for.
    told: BTreeSet<String>,
    /// Lines of findings that are not printed yet, with their ids.
    news: Vec<(String, String)>,
    /// Words before each line.
    first: String,
}

impl ProgressLine {
    /// A line that will show up when the search takes long; never if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let is_log = !quiet && bar.is_hidden();
        ProgressLine {
            bar,
            is_log,
            started: Instant::now(),
            command_begun: Instant::now(),
            shown: None,
            seen: 0,
            live: None,
            told: BTreeSet::new(),
            news: Vec::new(),
            first: String::new(),
        }
    }

    /// Puts these words before each line, of a command that began at that time.
    pub fn say_first(&mut self, words: String, begun: Instant) {
        (self.first, self.command_begun) = (words, begun);
    }

    /// Shows the search in a browser as well.
    pub fn show_live(&mut self, live: Live) {
        self.live = Some(live);
    }

    /// Tells a finding to the live view.
    pub fn finding(&self, finding: &Finding) {
        if let Some(live) = &self.live {
            live.finding(finding);
        }
    }

    /// In a search that takes long, tells what was found, one line for each cause.
    pub fn grouped(&mut self, findings: &[Finding]) {
        let causes = findings.iter().filter(|finding| finding.group.is_none());
        let fresh = causes.filter(|finding| !self.told.contains(&finding.id));
        let line = |finding: &Finding| format!("{}found {}: {}", self.first, finding.id, clean(&finding.message));
        self.news = fresh.map(|finding| (finding.id.clone(), line(finding))).collect();
        self.tell_news();
    }

    /// Prints what was found, once the command has taken long.
    fn tell_news(&mut self) {
        if (self.bar.is_hidden() && !self.is_log) || self.command_begun.elapsed() < NEWS_AFTER {
            return;
        }
        for (id, line) in self.news.drain(..) {
            self.bar.suspend(|| eprintln!("{line}"));
            self.told.insert(id);
        }
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
        let Progress { stats, earlier, findings, estimate, crew } = *progress;
        self.seen += 1;
        if let Some(live) = &mut self.live {
            live.update(stats, earlier, estimate);
        }
        if (self.bar.is_hidden() && !self.is_log) || (crew.is_none() && !self.seen.is_multiple_of(STRIDE)) {
            return;
        }
        if !self.news.is_empty() {
            self.tell_news();
        }
        let now = Instant::now();
        let (first, pause) = if self.is_log { (LOG_PAUSE, LOG_PAUSE) } else { (PATIENCE, PAUSE) };
        if now < self.shown.map_or(self.started + first, |shown| shown + pause) {
            return;
        }
        self.shown = Some(now);
        let mut line = format!("{}{}", self.first, line(stats, earlier, findings, now - self.started, estimate));
        if let Some(crew) = crew {
            line += &of_crew(crew);
        }
        if self.is_log {
            eprintln!("{line}");
        } else {
            self.bar.set_message(line);
            self.bar.tick();
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(stats: &Stats, earlier: &Stats, findings: usize, elapsed: Duration, estimate: Option<Estimate>) -> String {
    let runs = stats.runs();
    let rate = (earlier.runs() + runs) as f64 / elapsed.as_secs_f64().max(0.001);
    // Counts go on when one search follows another, or the search begins again.
    let made = earlier.runs() + runs;
    let mut text = format!("{made} {}, {rate:.0}/s", if made == 1 { "run" } else { "runs" });
    if let Some(estimate) = estimate {
        let of_this = if earlier.runs() > 0 { "by this search" } else { "in all" };
        text += &format!(", {} {of_this}", estimated(&estimate));
        if estimate.most.is_some() {
            let left = ((estimate.likely() - runs as f64) / rate.max(1e-9)).max(0.0);
            text += &format!(", {} left", duration(left));
        }
    }
    if findings > 0 {
        text += &format!(", {findings} found");
    }
    text
}

/// Who works on the search.
fn of_crew(Crew { workers, done, open }: Crew) -> String {
    let noun = if workers == 1 { "worker" } else { "workers" };
    format!(", {workers} {noun}, {done} tasks done, {open} open")
}

/// A time in words.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("about {s:.0} s"),
        s if s < 7200.0 => format!("about {:.0} min", s / 60.0),
        s if s < 1e6 => format!("about {:.0} h", s / 3600.0),
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
        let none = Stats::default();
        let earlier = Stats { executions: 500, ..Stats::default() };
        assert_eq!(line(&stats, &none, 0, seconds, None), "4000 runs, 2000/s");
        assert_eq!(line(&stats, &earlier, 0, seconds, None), "4500 runs, 2250/s");
        assert_eq!(
            line(&stats, &none, 2, seconds, Some(Estimate { least: 5_000.0, most: Some(20_000.0) })),
            "4000 runs, 2000/s, 5 000 to 20 000 in all, about 3 s left, 2 found"
        );
        let huge = Estimate { least: 1e30, most: Some(1e30) };
        assert!(line(&stats, &none, 0, seconds, Some(huge)).ends_with("about 1.0x10^30 in all, very long left"));
        let at_least = Estimate::at_least(70_000.0);
        assert!(line(&stats, &none, 0, seconds, Some(at_least)).ends_with(", more than 10^4 in all"));
    }
}
