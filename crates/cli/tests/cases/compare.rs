//! What was reported against what was expected.

use libtest_mimic::Trial;
use serde_json::Value;

use crate::directives::{Count, Expected, Run};
use crate::process::Ended;

/// Everything that is not as expected, a sentence each.
pub fn differences(run: &Run, ended: &Ended) -> Vec<String> {
    let report = &ended.report;
    if report.is_null() {
        return vec![format!("no report (status {:?})", ended.status)];
    }
    let mut wrong = Vec::new();
    let status = run.exit.unwrap_or(match run.verdict.as_str() {
        "verified" => 0,
        "bug" => 1,
        _ => 3,
    });
    if ended.status != Some(status) {
        wrong.push(format!("status {:?} instead of {status}", ended.status));
    }
    if report["verdict"] != *run.verdict {
        wrong.push(format!("verdict {} instead of {}", report["verdict"], run.verdict));
    }
    for (name, expected) in [("executions", run.executions), ("blocked", run.blocked)] {
        let found = report["stats"][name].as_u64();
        if expected.is_some_and(|expected| found != Some(expected)) {
            wrong.push(format!("{name}: {found:?} instead of {expected:?}"));
        }
    }
    let runs: u64 = ["executions", "matched", "blocked"].iter().filter_map(|name| report["stats"][name].as_u64()).sum();
    if let Some(most) = run.most_runs.filter(|&most| runs > most) {
        wrong.push(format!("{runs} runs, more than {most}"));
    }
    compare_findings(run, report, &mut wrong);
    wrong
}

fn compare_findings(run: &Run, report: &Value, wrong: &mut Vec<String>) {
    let found: Vec<&Value> = report["findings"].as_array().into_iter().flatten().collect();
    for expected in &run.findings {
        if !found.iter().any(|finding| matches(expected, finding)) {
            wrong.push(format!("not found: {expected:?}"));
        }
    }
    if run.count != Count::AtLeast {
        for finding in &found {
            if !run.findings.iter().any(|expected| matches(expected, finding)) {
                wrong.push(format!("not expected: {}", finding["message"]));
            }
        }
    }
    if let Count::Exactly(count) = run.count
        && found.len() != count
    {
        wrong.push(format!("{} findings instead of {count}", found.len()));
    }
    let headlines: Vec<&str> = found
        .iter()
        .filter(|finding| finding["group"].is_null())
        .filter_map(|finding| finding["id"].as_str())
        .collect();
    if run.groups.is_some_and(|groups| groups != headlines.len()) {
        wrong.push(format!("{} groups instead of {:?}: {headlines:?}", headlines.len(), run.groups));
    }
    for finding in &found {
        if finding["group"].as_str().is_some_and(|group| !headlines.contains(&group)) {
            wrong.push(format!("{} follows from {}, which is no headline", finding["id"], finding["group"]));
        }
    }
}

fn matches(expected: &Expected, finding: &Value) -> bool {
    let same = |value: &Option<String>, key: &str| value.as_ref().is_none_or(|value| finding[key] == **value);
    let severity = expected.severity.as_deref().unwrap_or("error");
    finding["kind"] == *expected.kind
        && finding["severity"] == *severity
        && same(&expected.detail, "detail")
        && same(&expected.variable, "variable")
        && lines_match(expected, finding)
}

/// One access has the first line, a different one the second.
fn lines_match(expected: &Expected, finding: &Value) -> bool {
    let accesses = finding["accesses"].as_array().into_iter().flatten();
    let lines: Vec<Option<u64>> = accesses.map(|access| access["place"]["line"].as_u64()).collect();
    let has = |wanted: Option<u64>, except: Option<usize>| {
        let mut others = lines.iter().enumerate().filter(|(index, _)| Some(*index) != except);
        wanted.is_none() || others.any(|(_, line)| *line == wanted)
    };
    match expected.line {
        None => has(expected.line2, None),
        Some(_) => (0..lines.len()).any(|index| lines[index] == expected.line && has(expected.line2, Some(index))),
    }
}

/// Tests of the comparison itself.
pub fn self_tests() -> Vec<Trial> {
    let finding = |lines: &[u64]| {
        let accesses: Vec<Value> = lines.iter().map(|line| serde_json::json!({"place": {"line": line}})).collect();
        serde_json::json!({"kind": "data-race", "severity": "error", "detail": "read-write", "variable": "x",
                           "accesses": accesses})
    };
    let expected = |line, line2| Expected { kind: "data-race".into(), line, line2, ..Expected::default() };
    let lines = move || {
        assert!(matches(&expected(Some(3), Some(4)), &finding(&[4, 3])));
        assert!(matches(&expected(Some(3), Some(3)), &finding(&[3, 3])));
        assert!(!matches(&expected(Some(3), Some(3)), &finding(&[3, 4])));
        assert!(!matches(&expected(Some(5), None), &finding(&[3, 4])));
        assert!(matches(&expected(None, None), &finding(&[])));
        let other = Expected { variable: Some("y".into()), ..expected(None, None) };
        assert!(!matches(&other, &finding(&[3])));
        Ok(())
    };
    vec![Trial::test("lines match different accesses", lines)]
}
