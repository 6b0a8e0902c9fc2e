//! `raddle list`: the runs that were kept, with their findings.

use std::path::Path;
use std::time::{Duration, SystemTime};

use raddle_engine::directory::ROOT;
use raddle_engine::runs::{KeptRun, kept_runs};
use raddle_model::finding::{Finding, Severity};
use raddle_report::escape::clean;

use crate::error::CommandResult;
use crate::exit_codes;
use crate::formats::{self, Format};

/// Runs the command.
pub fn run() -> CommandResult {
    let runs = kept_runs(Path::new(ROOT));
    let mut text: String = runs.iter().map(|run| shown(run, SystemTime::now())).collect();
    if runs.is_empty() {
        text = format!("there are no runs in {ROOT} yet: `raddle check PROGRAM` makes one\n");
    }
    formats::print(text.as_bytes(), Format::Text)?;
    Ok(exit_codes::FINE)
}

/// A run with its findings, by the names that `replay`, `show` and `report` take.
fn shown(run: &KeptRun, now: SystemTime) -> String {
    let verdict = run.report.verdict.word();
    let name = clean(&run.name);
    let ago = now.duration_since(run.written).unwrap_or_default();
    let mut text = format!("{name}  {verdict}, {} ago\n", age(ago));
    for test in &run.report.tests {
        text += &format!("  {:<10}  {}\n", test.verdict.word(), clean(&test.name));
    }
    let is_headline = |finding: &&Finding| finding.group.is_none();
    for finding in run.report.findings.iter().filter(is_headline) {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        text += &format!("  {name}/{}  {severity}: {}\n", clean(&finding.id), clean(&finding.message));
        let follows = |other: &&Finding| other.group.as_ref() == Some(&finding.id);
        let followers: Vec<String> =
            run.report.findings.iter().filter(follows).map(|other| clean(&other.id).into_owned()).collect();
        if !followers.is_empty() {
            text += &format!("    from the same cause: {}\n", followers.join(", "));
        }
    }
    text
}

/// A time in its largest unit.
fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        for (seconds, text) in
            [(0, "0 seconds"), (1, "1 second"), (119, "1 minute"), (7200, "2 hours"), (90_000, "1 day")]
        {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
