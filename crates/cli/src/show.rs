//! `raddle show`: steps through the schedule of a finding.
//!
//! At a terminal each key moves; elsewhere commands are read line by line, so that it can be used
//! in scripts.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use console::{Key, Term};
use raddle_engine::runs::load_run_or_finding;
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::bundle::ReportBundle;
use raddle_report::text::{self, SourceCache};

use crate::args::ShowArgs;
use crate::error::{CommandError, CommandResult};
use crate::exit_codes;
use crate::formats::{self, Format};

const HELP: &str = "n next  p previous  s next switch  S previous switch  1..9 to access  g first  G last  q quit\n";

/// Runs the command.
pub fn run(args: &ShowArgs) -> CommandResult {
    let (run, wanted) = find(args)?;
    if let Some(format) = args.format {
        formats::print(&formats::render(&run, format)?, format)?;
        return Ok(exit_codes::FINE);
    }
    let Some(trace) = trace(&run, wanted.as_deref())? else {
        // Without findings the verdict is all there is to see.
        formats::print(&formats::render(&run, Format::Text)?, Format::Text)?;
        return Ok(exit_codes::FINE);
    };
    let mut viewer = Viewer { trace, sources: SourceCache::new(Path::new(&trace.directory)).as_in([trace]), at: 0 };
    if let Some(step) = args.step {
        viewer.go_to(step)?;
        viewer.print("")?;
    } else if io::stdin().is_terminal() && io::stdout().is_terminal() {
        viewer.at = start(trace);
        viewer.keys()?;
    } else {
        viewer.lines()?;
    }
    Ok(exit_codes::FINE)
}

/// The step that decides, where people begin: the first of those that the finding numbers, or the
/// last.
fn start(trace: &AnnotatedTrace) -> usize {
    let first = trace.events.iter().position(|event| event.mark.is_some());
    first.unwrap_or(trace.events.len().saturating_sub(1))
}

/// The run, and the finding that was asked for: its name may take the place of the run's.
fn find(args: &ShowArgs) -> Result<(ReportBundle, Option<String>), CommandError> {
    let (run, named, _) = load_run_or_finding(args.run.as_deref())?;
    Ok((run, args.finding.clone().or(named)))
}

/// The trace to show; `None` if nothing was found.
fn trace<'a>(run: &'a ReportBundle, wanted: Option<&str>) -> Result<Option<&'a AnnotatedTrace>, CommandError> {
    let finding = match wanted {
        Some(id) => Some(run.report.findings.iter().find(|finding| finding.id == id).ok_or_else(|| {
            let known: Vec<&str> = run.report.findings.iter().map(|finding| finding.id.as_str()).collect();
            CommandError(format!("the run has no finding {id}; it has: {}", known.join(", ")))
        })?),
        None => run.groups().next().map(|(group, _)| group.headline),
    };
    let Some(finding) = finding else { return Ok(None) };
    let trace = run.traces.get(&finding.id).filter(|trace| !trace.events.is_empty());
    trace
        .map(Some)
        .ok_or_else(|| CommandError(format!("there is no schedule of {}: call `raddle check` again", finding.id)))
}

struct Viewer<'a> {
    trace: &'a AnnotatedTrace,
    sources: SourceCache,
    at: usize,
}

/// What a key or line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    By(isize),
    Switch(isize),
    Mark(usize),
    First,
    Last,
    Quit,
    Unknown,
}

impl Viewer<'_> {
    fn print(&self, below: &str) -> Result<(), CommandError> {
        let screen = text::step(self.trace, self.at, &self.sources) + below;
        formats::print(screen.as_bytes(), Format::Text)
    }

    fn keys(&mut self) -> Result<(), CommandError> {
        let term = Term::stdout();
        loop {
            term.clear_screen()?;
            self.print(&format!("\n{HELP}"))?;
            let wanted = match term.read_key()? {
                Key::ArrowRight | Key::ArrowDown | Key::Enter => Move::By(1),
                Key::ArrowLeft | Key::ArrowUp => Move::By(-1),
                Key::PageDown => Move::By(20),
                Key::PageUp => Move::By(-20),
                Key::Home => Move::First,
                Key::End => Move::Last,
                Key::Escape | Key::CtrlC => Move::Quit,
                Key::Char(letter) => parse(&letter.to_string()),
                _ => Move::Unknown,
            };
            if self.make(wanted) {
                return Ok(());
            }
        }
    }

    fn lines(&mut self) -> Result<(), CommandError> {
        self.print("")?;
        for line in io::stdin().lock().lines() {
            let line = line?;
            match (line.trim().parse::<u64>(), parse(line.trim())) {
                // Longer than a mark: the number of a step.
                (Ok(step), Move::Unknown) => self.go_to(step)?,
                (_, wanted) => {
                    if self.make(wanted) {
                        return Ok(());
                    }
                }
            }
            self.print("")?;
        }
        Ok(())
    }

    fn go_to(&mut self, step: u64) -> Result<(), CommandError> {
        let index = usize::try_from(step).ok().and_then(|step| step.checked_sub(1 + self.trace.left_out));
        let last = self.trace.events.len();
        self.at = index.filter(|&index| index < last).ok_or_else(|| {
            let first = self.trace.left_out + 1;
            CommandError(format!("there is no step {step}: the schedule has {first} to {}", first + last - 1))
        })?;
        Ok(())
    }

    /// Moves; true if that was the end.
    fn make(&mut self, wanted: Move) -> bool {
        let last = self.trace.events.len() - 1;
        self.at = match wanted {
            Move::By(distance) => self.at.saturating_add_signed(distance).min(last),
            Move::Switch(direction) => self.switch(direction),
            Move::Mark(mark) => self.trace.events.iter().rposition(|event| event.mark == Some(mark)).unwrap_or(self.at),
            Move::First => 0,
            Move::Last => last,
            Move::Unknown => self.at,
            Move::Quit => return true,
        };
        false
    }

    /// The next event, in a direction, whose thread is not that of the event before it.
    fn switch(&self, direction: isize) -> usize {
        let (events, mut at) = (&self.trace.events, self.at);
        loop {
            match at.checked_add_signed(direction).filter(|&next| next < events.len()) {
                None => return at,
                Some(next) if next > 0 && events[next].thread != events[next - 1].thread => return next,
                Some(next) => at = next,
            }
        }
    }
}

fn parse(word: &str) -> Move {
    match word {
        "n" | "j" | "" | " " => Move::By(1),
        "p" | "k" => Move::By(-1),
        "s" => Move::Switch(1),
        "S" => Move::Switch(-1),
        "g" => Move::First,
        "G" => Move::Last,
        "q" => Move::Quit,
        _ => match word.as_bytes() {
            [digit @ b'1'..=b'9'] => Move::Mark(usize::from(digit - b'0')),
            _ => Move::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_report::annotated::AnnotatedEvent;

    #[test]
    fn moves_stay_within_the_schedule() {
        let event = |thread, mark| AnnotatedEvent { thread, mark, ..AnnotatedEvent::default() };
        let events = vec![event(0, None), event(0, None), event(1, Some(1)), event(1, None), event(0, Some(2))];
        let trace = AnnotatedTrace { events, ..AnnotatedTrace::default() };
        let mut viewer = Viewer { trace: &trace, sources: SourceCache::new(Path::new("/")), at: 0 };
        let mut steps = Vec::new();
        for word in ["s", "s", "s", "S", "p", "p", "p", "G", "n", "1", "2", "9", "x", "g"] {
            assert!(!viewer.make(parse(word)));
            steps.push(viewer.at);
        }
        assert_eq!(steps, [2, 4, 4, 2, 1, 0, 0, 4, 4, 2, 4, 4, 4, 0]);
        assert!(viewer.make(parse("q")));
        assert!(viewer.go_to(6).is_err() && viewer.go_to(0).is_err() && viewer.go_to(5).is_ok());
    }
}
