//! Findings by cause: headlines, each with the findings that follow from it.

use raddle_model::finding::{Finding, Kind, Severity};

/// A finding with those that follow from it.
#[derive(Clone, Debug)]
pub struct FindingGroup<'a> {
    /// What explains most.
    pub headline: &'a Finding,
    /// The others, in the order of the report.
    pub followers: Vec<&'a Finding>,
}

/// The findings by group, in the order of the headlines, errors first. A finding whose headline is
/// not among them is a headline itself.
#[must_use]
pub fn by_cause(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for headline in findings.iter().filter(|finding| headline_of(finding, findings).is_none()) {
        let is_own = |finding: &&Finding| headline_of(finding, findings).is_some_and(|one| std::ptr::eq(one, headline));
        groups.push(FindingGroup { headline, followers: findings.iter().filter(is_own).collect() });
    }
    groups.sort_by_key(|group| group.headline.severity);
    groups
}

/// The finding that this one follows from. A report from a file may say anything: a headline
/// follows from no finding.
#[must_use]
pub fn headline_of<'a>(finding: &Finding, findings: &'a [Finding]) -> Option<&'a Finding> {
    let id = finding.group.as_ref()?;
    findings.iter().find(|other| other.id == *id && other.group.is_none())
}

/// `12 more places follow from it`.
#[must_use]
pub fn follow(count: usize, headlines: usize) -> String {
    let (places, verb) = if count == 1 { ("place", "follows") } else { ("places", "follow") };
    format!("{count} more {places} {verb} from {}", if headlines == 1 { "it" } else { "them" })
}

/// Followers by kind: `3 data races (r2, r5 to r6), 1 warning (w1)`.
#[must_use]
pub fn by_kind(followers: &[&Finding]) -> String {
    let mut sorts: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in followers {
        let word = word(finding);
        match sorts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, ids)) => ids.push(&finding.id),
            None => sorts.push((word, vec![&finding.id])),
        }
    }
    let one = |(word, ids): &(&str, Vec<&str>)| {
        let plural = match (*word, ids.len()) {
            (_, 1) => "",
            ("crash", _) => "es",
            _ => "s",
        };
        format!("{} {word}{plural} ({})", ids.len(), ranges(ids))
    };
    sorts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn word(finding: &Finding) -> &'static str {
    if finding.severity == Severity::Warning {
        return "warning";
    }
    match finding.kind {
        Kind::DataRace => "data race",
        Kind::Deadlock => "deadlock",
        Kind::Assertion => "failure",
        Kind::Crash => "crash",
        Kind::Misuse => "misuse",
        Kind::Livelock => "livelock",
        Kind::Memory => "memory error",
    }
}

/// Ids, with `r2 to r5` for successive ones.
fn ranges(ids: &[&str]) -> String {
    let number = |id: &str| id.get(1..).and_then(|digits| digits.parse::<u64>().ok());
    let follows = |a: &str, b: &str| number(a).zip(number(b)).is_some_and(|(a, b)| a.checked_add(1) == Some(b));
    let of_run = |run: &[&str]| match run {
        [first, .., last] if run.len() > 2 => format!("{first} to {last}"),
        _ => run.join(", "),
    };
    ids.chunk_by(|a, b| follows(a, b)).map(of_run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, group: Option<&str>) -> Finding {
        let base = raddle_testkit::finding::race(Vec::new());
        Finding { id: id.into(), group: group.map(Into::into), ..base }
    }

    fn ids(findings: &[Finding]) -> Vec<(&str, Vec<&str>)> {
        let of_group = |group: FindingGroup<'_>| {
            let ids = |finding: &Finding| findings.iter().find(|one| std::ptr::eq(*one, finding)).unwrap().id.as_str();
            (ids(group.headline), group.followers.into_iter().map(ids).collect())
        };
        by_cause(findings).into_iter().map(of_group).collect()
    }

    #[test]
    fn every_finding_is_in_one_group_whatever_a_report_says() {
        let findings = [finding("r1", Some("r2")), finding("r2", None), finding("r3", Some("r2"))];
        assert_eq!(ids(&findings), [("r2", vec!["r1", "r3"])]);
        // Without the headline the others stand for themselves.
        assert_eq!(ids(&findings[2..]), [("r3", vec![])]);
        let forged = [finding("r1", Some("r2")), finding("r2", Some("r1")), finding("r3", Some("r3"))];
        assert_eq!(ids(&forged), [("r1", vec![]), ("r2", vec![]), ("r3", vec![])]);
    }

    #[test]
    fn followers_are_counted_by_kind() {
        let mut all: Vec<Finding> = ["r1", "r2", "r3", "r5", "r6"].map(|id| finding(id, None)).into();
        all.push(Finding { kind: Kind::Crash, ..finding("c1", None) });
        all.push(Finding { kind: Kind::Crash, ..finding("c2", None) });
        all.push(Finding { severity: Severity::Warning, ..finding("w1", None) });
        let text = by_kind(&all.iter().collect::<Vec<_>>());
        assert_eq!(text, "5 data races (r1 to r3, r5, r6), 2 crashes (c1, c2), 1 warning (w1)");
        assert_eq!(follow(1, 1), "1 more place follows from it");
        assert_eq!(follow(14, 2), "14 more places follow from them");
    }
}
