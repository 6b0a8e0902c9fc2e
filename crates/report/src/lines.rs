//! Reports of one line for each place: as compilers write them (editors jump to them), and as
//! workflow commands of GitHub, which shows them beside the code.

use std::fmt::Write as _;

use raddle_model::finding::{AccessReport, Finding, Place, Severity};

use crate::bundle::ReportBundle;
use crate::escape::clean;
use crate::groups::{self, FindingGroup};
use crate::text::words;

/// `bank.c:15:13: error: ...`, and a note for each further place.
#[must_use]
pub fn gcc(run: &ReportBundle) -> String {
    let mut text = String::new();
    for (group, _) in run.groups() {
        let finding = group.headline;
        let mut accesses = ordered(finding).into_iter();
        let first = accesses.next();
        let place = first.and_then(|(_, access)| words::place(&access.place));
        let place = place.unwrap_or_else(|| clean(&run.report.program).into_owned());
        let (severity, message) = (severity(finding), clean(&finding.message));
        let _ = writeln!(text, "{place}: {severity}: {message} [{}]", clean(&finding.id));
        for (number, access) in first.into_iter().chain(accesses).filter(|_| finding.accesses.len() > 1) {
            if let Some(place) = words::place(&access.place) {
                let _ = writeln!(text, "{place}: note: ({number}) {}", described(access));
            }
        }
        if let Some(more) = followers(&group) {
            let _ = writeln!(text, "{place}: note: {more}");
        }
    }
    text
}

/// `::error file=bank.c,line=15,col=13,title=raddle r1::...`, and a note with the verdict.
#[must_use]
pub fn github(run: &ReportBundle) -> String {
    let mut text = String::new();
    for (group, _) in run.groups() {
        let finding = group.headline;
        let accesses = ordered(finding);
        let place = accesses.first().map(|(_, access)| &access.place);
        let mut properties = place.map(position).unwrap_or_default();
        properties.push(format!("title={}", property(&format!("raddle {}", finding.id))));
        let mut message = clean(&finding.message).into_owned();
        for (number, access) in accesses.iter().filter(|_| accesses.len() > 1) {
            let place = words::place_or_function(&access.place);
            let _ = write!(message, "\n({number}) {} at {place}", described(access));
        }
        for line in finding.cause.iter().map(|cause| clean(cause).into_owned()).chain(followers(&group)) {
            let _ = write!(message, "\n{line}");
        }
        let _ = write!(message, "\nraddle {}", words::replays(finding, &clean(&finding.id))[0]);
        let _ = writeln!(text, "::{} {}::{}", severity(finding), properties.join(","), data(&message));
    }
    text
}

/// The accesses with their numbers; those in code of the program first.
fn ordered(finding: &Finding) -> Vec<(usize, &AccessReport)> {
    let mut all: Vec<(usize, &AccessReport)> = (1..).zip(&finding.accesses).collect();
    all.sort_by_key(|(_, access)| !crate::symbols::is_own_code(&access.place));
    all
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// What a thread does or waits for.
fn described(access: &AccessReport) -> String {
    let thread = words::thread(access);
    match &access.waits {
        Some(wait) => format!("{thread} waits for {}", clean(&wait.object)),
        None => format!("{} by {thread}", words::operation(access)),
    }
}

fn followers(group: &FindingGroup<'_>) -> Option<String> {
    let count = group.followers.len();
    let list = || clean(&groups::by_kind(&group.followers)).into_owned();
    (count > 0).then(|| format!("{}: {}", groups::follow(count, 1), list()))
}

fn position(place: &Place) -> Vec<String> {
    let file = place.file.as_ref().map(|file| format!("file={}", property(file)));
    let line = place.line.map(|line| format!("line={line}"));
    let column = place.column.map(|column| format!("col={column}"));
    file.into_iter().chain(line).chain(column).collect()
}

/// Text that stays on one line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as a property, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(&clean(text)).replace(':', "%3A").replace(',', "%2C")
}
