//! Findings and reports: their JSON form, the verdict, ids.

use raddle_model::finding::{
    AccessReport, Finding, Kind, Numbering, Place, PredictionStats, Report, SCHEMA, Severity, Stats, Verdict,
    WitnessKind, verdict,
};
use raddle_model::weak::MemoryModel;

fn race() -> Finding {
    let read = AccessReport { thread: "T1".into(), op: "read".into(), size: 4, ..Default::default() };
    Finding {
        executions_before: 3,
        preemptions: 1,
        witness_kind: Some(WitnessKind::Adjacent),
        witness: Some(".raddle/a.out/r1.json".into()),
        ..raddle_testkit::finding::race(vec![read])
    }
}

/// A handler waits for a lock of the thread that it interrupts.
fn relock(interrupted_at: u32) -> Finding {
    let at = |op: &str, line| AccessReport {
        op: op.into(),
        place: Place { line: Some(line), ..Place::default() },
        ..AccessReport::default()
    };
    let accesses = vec![at("lock", 5), at("handler-return", interrupted_at)];
    Finding { kind: Kind::Deadlock, detail: Some("relock".into()), ..raddle_testkit::finding::race(accesses) }
}

fn told(finding: &Finding) -> Vec<Option<u32>> {
    finding.telling().into_iter().map(|access| access.place.line).collect()
}

/// Where the handler interrupts its thread does not tell one deadlock from another, nor which
/// threads join those that are stuck. A join in a cycle does.
#[test]
fn circumstances_do_not_tell_deadlocks_apart() {
    assert_eq!(told(&relock(7)), [Some(5)]);
    assert_eq!(told(&relock(7)), told(&relock(8)));
    let mut finding = relock(7);
    finding.accesses[1].op = "join".into();
    finding.detail = Some("all-blocked".into());
    assert_eq!(told(&finding), [Some(5)]);
    finding.detail = Some("cycle".into());
    assert_eq!(told(&finding), [Some(5), Some(7)]);
    finding.accesses.remove(0);
    finding.detail = Some("all-blocked".into());
    assert_eq!(told(&finding), [Some(7)], "all of them join");
}

fn report() -> Report {
    Report {
        schema: SCHEMA,
        raddle: "0.1.0".into(),
        program: "a.out".into(),
        args: Vec::new(),
        strategy: "optimal".into(),
        granularity: "sync".into(),
        property: "all".into(),
        memory_model: MemoryModel::Sc,
        verdict: Verdict::Bug,
        reason: None,
        stats: Stats { executions: 4096, seconds: 0.5, ..Stats::default() },
        limits: Vec::new(),
        suppressed: Vec::new(),
        unseen: Vec::new(),
        notes: Vec::new(),
        tests: Vec::new(),
        findings: vec![race()],
    }
}

/// The keys of the contract, in its order, and no others.
#[test]
fn the_shape_is_the_contract() {
    let text = serde_json::to_string(&report()).unwrap();
    let expected = concat!(
        r#"{"schema":1,"raddle":"0.1.0","program":"a.out","args":[],"strategy":"optimal","granularity":"sync","#,
        r#""property":"all","memory_model":"sc","verdict":"bug","#,
        r#""reason":null,"stats":{"executions":4096,"blocked":0,"assumed":0,"cut":0,"#,
        r#""transitions":0,"events":0,"threads":0,"seconds":0.5,"prune":{"checks":0,"race_free":0,"skipped":0,"#,
        r#""conflicts":0,"races":0}},"limits":[],"findings":[{"id":"r1","severity":"error","kind":"data-race","#,
        r#""detail":null,"message":"data race on balance","variable":"balance","object":{"kind":"global","#,
        r#""name":"balance","size":4,"offset":0,"allocated":null},"accesses":[{"thread":"T1","name":null,"#,
        r#""op":"read","size":4,"place":{"file":null,"line":null,"column":null,"function":null},"stack":[],"#,
        r#""locks":[]}],"executions_before":3,"preemptions":1,"witness_kind":"adjacent","#,
        r#""witness":".raddle/a.out/r1.json","group":null}]}"#,
    );
    assert_eq!(text, expected);
}

#[test]
fn reading_back_gives_the_same() {
    let mut original = report();
    let text = serde_json::to_string(&original).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), original);

    original.stats.prediction = Some(PredictionStats { predicted: 3, confirmed: 2, infeasible: 1, undecided: 0 });
    original.findings[0].confirmed = Some(true);
    let text = serde_json::to_string(&original).unwrap();
    assert!(text.contains(r#""predicted":3"#), "{text}");
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), original);
}

#[test]
fn words_are_those_of_the_json() {
    let faults = [Kind::DataRace, Kind::Assertion, Kind::Crash, Kind::Misuse, Kind::Memory];
    for kind in faults.into_iter().chain([Kind::Deadlock, Kind::Livelock]) {
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.word()));
    }
}

#[test]
fn only_errors_decide_unless_asked() {
    let warning = Finding { severity: Severity::Warning, ..race() };
    assert_eq!(verdict(&[], true, false), Verdict::Verified);
    assert_eq!(verdict(&[], false, true), Verdict::Incomplete);
    assert_eq!(verdict(std::slice::from_ref(&warning), true, false), Verdict::Verified);
    assert_eq!(verdict(std::slice::from_ref(&warning), false, false), Verdict::Incomplete);
    assert_eq!(verdict(&[warning], true, true), Verdict::Bug);
    assert_eq!(verdict(&[race()], false, false), Verdict::Bug);
}

#[test]
fn ids_count_within_their_kind() {
    let mut numbers = Numbering::default();
    assert_eq!(numbers.next(Kind::DataRace, Severity::Error), "r1");
    assert_eq!(numbers.next(Kind::Deadlock, Severity::Error), "d1");
    assert_eq!(numbers.next(Kind::DataRace, Severity::Error), "r2");
    assert_eq!(numbers.next(Kind::Misuse, Severity::Warning), "w1");
}
