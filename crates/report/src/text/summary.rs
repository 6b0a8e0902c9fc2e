//! The last lines: the verdict, what it covers, and the figures.

use std::fmt::Write as _;

use raddle_model::finding::{Finding, Kind, Phase, Prune, Report, Severity, Stats, Verdict};
use raddle_model::weak::MemoryModel;

use super::estimate::estimated;
use super::style::{ERROR, FAINT, GOOD, STRONG, WARNING, paint};
use crate::escape::clean;
use crate::groups::{FindingGroup, by_cause, follow};

/// The verdict with what it means, for the end of a run whose files are in `directory`.
#[must_use]
pub fn summary(report: &Report, directory: Option<&str>) -> String {
    let mut text = verdict_line(report);
    text.push('\n');
    text.push_str(&headlines(report));
    for line in coverage(report) {
        let _ = writeln!(text, "  {line}");
    }
    for limit in &report.limits {
        let _ = writeln!(text, "  {} {}", paint(WARNING, "not modelled:"), clean(limit));
    }
    for note in &report.notes {
        let _ = writeln!(text, "  {} {}", paint(WARNING, "note:"), clean(note));
    }
    if !report.unseen.is_empty() {
        let names: Vec<String> = report.unseen.iter().map(|name| clean(name).into()).collect();
        let _ = writeln!(text, "  {} {}", paint(WARNING, "without hooks:"), names.join(", "));
    }
    if lacks_lines(report) {
        let hint = "no line of the source is known: compile with -g, and do not strip the program";
        let _ = writeln!(text, "  {} {hint}", paint(WARNING, "hint:"));
    }
    for one in &report.suppressed {
        let _ = writeln!(text, "  {} {}", paint(WARNING, "suppressed:"), clean(one));
    }
    let _ = writeln!(text, "  {}", paint(FAINT, &figures(&report.stats)));
    if !report.stats.phases.is_empty() {
        let _ = writeln!(text, "  {}", paint(FAINT, &searches(&report.stats)));
    }
    if report.stats.prune.checks > 0 {
        let _ = writeln!(text, "  {}", paint(FAINT, &pruned(&report.stats.prune)));
    }
    if let Some(directory) = directory {
        let _ = writeln!(text, "  {}", paint(FAINT, &format!("report in {}", clean(directory))));
    }
    text
}

/// Whether there are places in the errors, and a line for none of them. Where the process ends is
/// in the C library.
fn lacks_lines(report: &Report) -> bool {
    let is_in_program =
        |finding: &&Finding| finding.severity == Severity::Error && finding.detail.as_deref() != Some("exit-status");
    let accesses = report.findings.iter().filter(is_in_program).flat_map(|finding| &finding.accesses);
    let mut places = accesses.map(|access| &access.place).peekable();
    places.peek().is_some() && places.all(|place| place.line.is_none())
}

fn verdict_line(report: &Report) -> String {
    let program = clean(&report.program);
    match report.verdict {
        Verdict::Verified => {
            format!("{} {program}: {}", paint(GOOD, "verified"), paint(STRONG, absent(report)))
        }
        Verdict::Bug => format!("{} {program}: {}", paint(ERROR, "bug"), counted(report)),
        Verdict::Incomplete => {
            let why = report.reason.as_ref().map_or("not everything was looked at", |reason| &reason.text);
            format!("{} {program}: nothing found, but {}", paint(WARNING, "incomplete"), clean(why))
        }
    }
}

/// What a verdict holds under.
fn under(model: MemoryModel) -> &'static str {
    match model {
        MemoryModel::Sc => "sequential consistency, with time-outs at any moment",
        MemoryModel::Tso => "TSO, the memory model of x86; compilers may reorder relaxed operations beyond that",
        MemoryModel::Rc11 => "RC11, the repaired memory model of C11 and C++11, which has no load buffering",
    }
}

/// The defects that a verified program does not have.
fn absent(report: &Report) -> &'static str {
    match report.property.as_str() {
        "race" => "free of data races, whatever the schedule",
        "reach" => "no assertion fails, whatever the schedule",
        _ => "no data race, deadlock, failed assertion, crash or misuse, whatever the schedule",
    }
}

fn counted(report: &Report) -> String {
    let groups = by_cause(&report.findings);
    let count = |severity| groups.iter().filter(|group| group.headline.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let mut text = format!("{errors} error{}", plural(errors));
    if warnings > 0 {
        let _ = write!(text, ", {warnings} warning{}", plural(warnings));
    }
    let followers: usize = groups.iter().map(|group| group.followers.len()).sum();
    if followers > 0 {
        let _ = write!(text, " ({})", follow(followers, groups.len()));
    }
    text
}

/// More causes than this may not be on the screen any more: they are listed once again.
const FEW: usize = 3;
/// Causes that are listed, at most.
const MOST: usize = 20;

/// A line for each cause, if there are many.
fn headlines(report: &Report) -> String {
    let groups = by_cause(&report.findings);
    let mut text = String::new();
    if groups.len() <= FEW {
        return text;
    }
    for FindingGroup { headline, .. } in groups.iter().take(MOST) {
        let style = if headline.severity == Severity::Warning { WARNING } else { ERROR };
        let _ = writeln!(text, "  {} {}", paint(style, &clean(&headline.id)), clean(&headline.message));
    }
    if groups.len() > MOST {
        let _ = writeln!(text, "  and {} more", groups.len() - MOST);
    }
    text
}

/// What the verdict covers, and what it does not.
fn coverage(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    if report.verdict == Verdict::Verified {
        let covered = match report.memory_model {
            MemoryModel::Sc => "every order of the threads' synchronising operations was covered",
            MemoryModel::Tso | MemoryModel::Rc11 => "every execution of the memory model was covered",
        };
        lines.push(format!("for these arguments and this input; {covered}"));
        lines.push(format!("under {}", under(report.memory_model)));
        if report.property == "race" {
            lines.push("only data races were looked for: deadlocks and failures may be there".into());
        }
        if report.property == "reach" {
            lines.push("only failed assertions were looked for: races, deadlocks and crashes may be there".into());
        }
    }
    let races = report.findings.iter().any(|finding| finding.kind == Kind::DataRace);
    if races && report.granularity == "sync" {
        lines.push(
            "a racy program can have more races and failures: fix and check again, or use --granularity access".into(),
        );
    }
    match report.stats.preemptions_covered {
        Some(0) => lines.push("every schedule without preemption was covered".into()),
        Some(1) => lines.push("every schedule with at most one preemption was covered".into()),
        Some(most) => lines.push(format!("every schedule with at most {most} preemptions was covered")),
        None => {}
    }
    if let Some(estimate) = &report.stats.estimate {
        lines.push(format!("the whole search takes {} runs, by estimate", estimated(estimate)));
    }
    if report.verdict == Verdict::Bug
        && let Some(reason) = &report.reason
    {
        lines.push(format!("there may be more: {}", clean(&reason.text)));
    }
    lines
}

fn figures(stats: &Stats) -> String {
    let executions = if stats.executions == 1 { "execution" } else { "executions" };
    let mut text = format!("{} {executions}", grouped(stats.executions));
    for (count, what) in [
        (stats.matched, "cut at a known state"),
        (stats.blocked, "redundant"),
        (stats.assumed, "ended by an assumption"),
        (stats.cut, "cut"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {} {what}", grouped(count));
        }
    }
    let _ = write!(
        text,
        "; {} transitions, {} events, {} threads, {}",
        grouped(stats.transitions),
        grouped(stats.events),
        stats.threads,
        duration(stats.seconds)
    );
    // That all runs end well goes without saying.
    if stats.exits.iter().any(|&exit| exit != 0) {
        let exits: Vec<String> = stats.exits.iter().map(i32::to_string).collect();
        let _ = write!(text, "; exit status {}", exits.join(", "));
    }
    text
}

/// The searches that were made, in their order.
fn searches(stats: &Stats) -> String {
    let one = |phase: &Phase| {
        let found = if phase.findings > 0 { format!(" ({} found)", phase.findings) } else { String::new() };
        format!("{} {}{found}", phase.strategy, grouped(phase.runs))
    };
    let all: Vec<String> = stats.phases.iter().map(one).collect();
    format!("runs of each search: {}; {} in all", all.join(", "), grouped(stats.runs_in_all()))
}

fn pruned(prune: &Prune) -> String {
    format!(
        "pruning: {} checks, {} free of races, {} backtracks left out; {} data conflicts, {} data races by locks alone",
        grouped(prune.checks),
        grouped(prune.race_free),
        grouped(prune.skipped),
        grouped(prune.conflicts),
        grouped(prune.races)
    )
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1234567), "1 234 567");
        assert_eq!(duration(0.0004), "400 µs");
        assert_eq!(duration(0.41), "410 ms");
        assert_eq!(duration(61.0), "61.0 s");
        assert_eq!(duration(7200.0), "120 min");
    }
}
