//! A panic in the middle of a check keeps what was found before.

use std::path::Path;

use raddle_engine::{AnnotatedTrace, Checker, Finding, Observer, Report, Sources, has_panicked};

const PROGRAM: &str = include_str!("../../examples/race.c");

/// Has a bug of its own.
struct Panics;

impl Observer for Panics {
    fn finding(&mut self, finding: &Finding, _trace: &AnnotatedTrace) {
        panic!("no room for {}", finding.id);
    }
}

fn check(directory: &Path, observer: &mut dyn Observer) -> Report {
    let source = directory.join("race.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let program = Sources::new([source]).compile_into(directory).unwrap();
    Checker::new(program).jobs(1).directory(directory).run(observer).unwrap()
}

#[test]
fn findings_survive_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let report = check(directory.path(), &mut Panics);
    assert!(has_panicked(&report), "{report:?}");
    assert_eq!(report.findings.len(), 1, "{report:?}");
    let reason = report.reason.unwrap();
    assert_eq!(reason.code, "panic");
    assert!(reason.text.contains("no room for r1"), "{}", reason.text);
    let written: Report =
        serde_json::from_slice(&std::fs::read(directory.path().join("report.json")).unwrap()).unwrap();
    assert_eq!(written.findings.len(), 1);
    assert!(has_panicked(&written));
}

#[test]
fn a_check_without_a_panic_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let report = check(directory.path(), &mut ());
    assert!(!has_panicked(&report), "{report:?}");
    assert_eq!(report.findings.len(), 1, "{report:?}");
}
