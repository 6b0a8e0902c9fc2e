use raddle_model::finding::{
    AccessReport, Created, Finding, Kind, Place, Prune, Reason, Report, SCHEMA, Severity, Stats, Verdict, Wait,
    WitnessKind,
};
use raddle_model::weak::MemoryModel;

use super::*;
use crate::timeline::{Column, Row};

const PROGRAM: &str = "\
static int balance;

void deposit(int amount) {
    int old = balance;
    balance = old + amount;
}
";

fn place(line: u32, column: u32, function: &str) -> Place {
    Place { file: Some("bank.c".into()), line: Some(line), column: Some(column), function: Some(function.into()) }
}

fn race() -> Finding {
    let access = |thread: &str, op: &str, at: Place| AccessReport {
        thread: thread.into(),
        op: op.into(),
        size: 4,
        stack: vec![at.clone(), place(22, 9, "teller"), Place { function: Some("clone".into()), ..Place::default() }],
        place: at,
        created: Some(Created { by: "T0".into(), place: place(31, 5, "main") }),
        ..AccessReport::default()
    };
    let mut first = access("T1", "write", place(5, 13, "deposit"));
    first.name = Some("teller".into());
    let mut second = access("T2", "read", place(4, 15, "deposit"));
    second.locks = vec!["a".into(), "b".into()];
    Finding {
        detail: Some("read-write".into()),
        preemptions: 1,
        witness_kind: Some(WitnessKind::Adjacent),
        witness: Some(".raddle/bank/r1.json".into()),
        ..raddle_testkit::finding::race(vec![first, second])
    }
}

fn rendered(found: &Finding, timeline: Option<&Timeline>) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bank.c"), PROGRAM).unwrap();
    let text = finding(found, timeline, &SourceCache::new(directory.path()), 100);
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn a_race_shows_two_numbered_accesses_with_code_stacks_schedule_and_commands() {
    let timeline = Timeline {
        columns: vec![
            Column { thread: "T1".into(), name: Some("teller".into()) },
            Column { thread: "T2".into(), name: None },
        ],
        rows: vec![
            Row {
                column: 0,
                text: "write balance".into(),
                place: place(5, 13, "deposit"),
                mark: Some(1),
                ..Row::default()
            },
            Row {
                column: 1,
                text: "read balance".into(),
                place: place(4, 15, "deposit"),
                mark: Some(2),
                ..Row::default()
            },
        ],
    };
    let expected = "\
error[r1]: data race on balance
 --> bank.c:4:15
  |
3 | void deposit(int amount) {
4 |     int old = balance;
  |               ^^^^^^^ (2) read of 4 bytes by T2; holds `a` and `b`
5 |     balance = old + amount;
  |             ^ (1) write of 4 bytes by T1 `teller`; no lock held
6 | }
  |
  (1) T1 `teller`, created by T0 at bank.c:31:5
      deposit  bank.c:5:13
      teller  bank.c:22:9
      … 1 frame of libraries
  (2) T2, created by T0 at bank.c:31:5
      deposit  bank.c:4:15
      teller  bank.c:22:9
      … 1 frame of libraries
  object  global variable `balance` of 4 bytes
  schedule  with 1 preemption; at its end both threads stand before their accesses
    T1 teller                    T2
    (1) write balance  bank.c:5
                                 (2) read balance  bank.c:4
  replay  raddle replay r1
  debug   raddle replay r1 --gdb
  view    raddle show r1
  silence race:balance  in a file for --suppressions
";
    let text = rendered(&race(), Some(&timeline));
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_deadlock_shows_waits_and_holders() {
    let mut found = race();
    found.kind = Kind::Deadlock;
    found.object = None;
    found.witness = Some("/tmp/out/d1.json".into());
    found.witness_kind = None;
    found.accesses[0].waits = Some(Wait { object: "b".into(), held_by: vec!["T2".into()] });
    found.accesses[0].locks = vec!["a".into()];
    let text = rendered(&found, None);
    assert!(text.contains("(1) T1 `teller` waits for b, held by T2; holds `a`"), "{text}");
    assert!(text.contains("raddle replay /tmp/out/d1.json"), "{text}");
}

#[test]
fn missing_sources_leave_the_places() {
    let found = race();
    let text = finding(&found, None, &SourceCache::new(std::path::Path::new("/nonexistent")), 100);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.contains("bank.c:5:13") && text.contains("deposit"), "{text}");
}

/// Every string of a finding is hostile; only our own colours reach the terminal.
#[test]
fn names_cannot_steer_the_terminal() {
    let evil = "x\x1b]0;owned\x07\u{9b}2J\u{202e}";
    let at = Place { file: Some(format!("{evil}.c")), line: Some(1), column: Some(1), function: Some(evil.into()) };
    let mut found = race();
    found.message = evil.into();
    found.witness = Some(evil.into());
    found.object.as_mut().unwrap().name = Some(evil.into());
    for access in &mut found.accesses {
        access.name = Some(evil.into());
        access.op = evil.into();
        access.place = at.clone();
        access.stack = vec![at.clone()];
        access.locks = vec![evil.into()];
        access.waits = Some(Wait { object: evil.into(), held_by: vec![evil.into()] });
        access.created = Some(Created { by: evil.into(), place: at.clone() });
    }
    let timeline = Timeline {
        columns: vec![Column { thread: "T1".into(), name: Some(evil.into()) }],
        rows: vec![Row { column: 0, text: evil.into(), place: at, ..Row::default() }],
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(found.accesses[0].place.file.as_deref().unwrap().replace('/', ""));
    std::fs::write(file, format!("int {evil};\n")).unwrap();
    let text = finding(&found, Some(&timeline), &SourceCache::new(directory.path()), 100);
    assert!(!text.contains("\x1b]") && !text.contains(['\x07', '\u{9b}', '\u{202e}']), "{text:?}");
}

fn report(verdict: Verdict, findings: Vec<Finding>) -> Report {
    Report {
        schema: SCHEMA,
        raddle: "0.1.0".into(),
        program: "bank".into(),
        args: vec![],
        strategy: "optimal".into(),
        granularity: "sync".into(),
        property: "all".into(),
        memory_model: MemoryModel::Sc,
        verdict,
        reason: None,
        stats: Stats {
            executions: 4096,
            transitions: 99999,
            events: 123_456,
            threads: 3,
            seconds: 0.41,
            ..Stats::default()
        },
        limits: vec![],
        suppressed: vec![],
        unseen: vec![],
        notes: vec![],
        tests: Vec::new(),
        findings,
    }
}

fn summed_up(report: &Report) -> String {
    anstream::adapter::strip_str(&summary(report, Some(".raddle/bank"))).to_string()
}

#[test]
fn verified_states_what_it_covers() {
    let mut report = report(Verdict::Verified, vec![]);
    let text = summed_up(&report);
    assert!(text.starts_with("verified bank: no data race, deadlock, failed assertion, crash or misuse"), "{text}");
    assert!(text.contains("for these arguments and this input"), "{text}");
    assert!(text.contains("4 096 executions; 99 999 transitions"), "{text}");
    report.property = "race".into();
    let text = summed_up(&report);
    assert!(text.starts_with("verified bank: free of data races, whatever the schedule"), "{text}");
    assert!(text.contains("deadlocks and failures may be there"), "{text}");
    assert!(!text.contains("pruning"), "{text}");
    report.stats.prune = Prune { checks: 5000, race_free: 40, skipped: 3, conflicts: 2, races: 1 };
    let text = summed_up(&report);
    let figures =
        "5 000 checks, 40 free of races, 3 backtracks left out; 2 data conflicts, 1 data races by locks alone";
    assert!(text.contains(figures), "{text}");
}

#[test]
fn bugs_are_counted_and_open_verdicts_have_reasons() {
    let mut warning = race();
    warning.severity = Severity::Warning;
    let text = summed_up(&report(Verdict::Bug, vec![race(), warning]));
    assert!(text.starts_with("bug bank: 1 error, 1 warning"), "{text}");
    assert!(text.contains("can have more races"), "{text}");

    let mut open = report(Verdict::Incomplete, vec![]);
    open.reason = Some(Reason { code: "time-limit".into(), text: "the time limit of 5 s was reached".into() });
    open.limits = vec!["a socket was used".into()];
    let text = summed_up(&open);
    assert!(text.starts_with("incomplete bank: nothing found, but the time limit of 5 s was reached"), "{text}");
    assert!(text.contains("not modelled: a socket was used"), "{text}");
}
