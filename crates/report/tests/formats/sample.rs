//! Reports to render.

use std::collections::BTreeMap;

use raddle_model::finding::{
    AccessReport, Created, Finding, HeldLock, Kind, Numbering, ObjectInfo, ObjectKind, Place, Reason, Report, SCHEMA,
    Severity, Stats, TestVerdict, Verdict, Wait, WitnessKind,
};
use raddle_model::weak::MemoryModel;
use raddle_report::annotated::{AnnotatedEvent, AnnotatedTrace, EventKind, Interval, ThreadLane, VERSION};
use raddle_report::bundle::ReportBundle;

/// Names that a program could have.
pub fn hostile() -> Vec<String> {
    vec![
        "plain".into(),
        "</script><script>alert(1)</script>".into(),
        "\"'`\\ & <b> ]]> --> %s {{data}} {{title}}".into(),
        "line\nbreak\ttab\r\u{0}\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\u{feff}\u{ffff}".into(),
        "x".repeat(10_000),
        String::from_utf8_lossy(b"broken \xff\xfe utf-8 \xc3").into_owned(),
        String::new(),
    ]
}

fn place(name: &str, line: u32) -> Place {
    Place { file: Some(format!("{name}.c")), line: Some(line), column: Some(3), function: Some(name.into()) }
}

fn access(name: &str, thread: &str, op: &str, line: u32) -> AccessReport {
    AccessReport {
        thread: thread.into(),
        name: Some(name.into()),
        op: op.into(),
        size: 4,
        place: place(name, line),
        stack: vec![place(name, line), Place { function: Some(name.into()), ..Place::default() }],
        locks: vec![name.into()],
        held: vec![HeldLock { lock: name.into(), shared: line == 4, place: place(name, 3) }],
        waits: None,
        address: Some("0x1000".into()),
        created: Some(Created { by: "T0".into(), place: place(name, 1) }),
    }
}

fn finding(name: &str, kind: Kind, severity: Severity, numbers: &mut Numbering) -> Finding {
    let mut accesses = vec![access(name, "T1", "write", 4), access(name, "T2", "read", 7)];
    if kind == Kind::Deadlock {
        accesses[0].waits = Some(Wait { object: name.into(), held_by: vec!["T2".into()] });
    }
    Finding {
        id: numbers.next(kind, severity),
        severity,
        kind,
        detail: Some("read-write".into()),
        message: format!("{} on {name}", kind.word()),
        variable: Some(name.into()),
        object: Some(ObjectInfo {
            kind: ObjectKind::Heap,
            name: Some(name.into()),
            size: Some(24),
            offset: 8,
            allocated: Some(place(name, 2)),
        }),
        accesses,
        executions_before: 3,
        preemptions: 1,
        witness_kind: (kind == Kind::DataRace).then_some(WitnessKind::Adjacent),
        target: None,
        witness: Some(format!(".raddle/{name}/r1.json")),
        group: None,
        cause: None,
        confirmed: None,
        stderr: (kind == Kind::Assertion).then(|| name.into()),
        expectation: (kind == Kind::Assertion).then(|| name.into()),
    }
}

/// A trace of `count` events.
pub fn trace(name: &str, count: usize) -> AnnotatedTrace {
    let event = |number: usize| AnnotatedEvent {
        thread: number % 3,
        kind: if number.is_multiple_of(4) { EventKind::Access } else { EventKind::Sync },
        op: if number.is_multiple_of(4) { "write".into() } else { "lock".into() },
        text: format!("lock {name}"),
        place: 0,
        object: Some(0),
        value: Some(name.into()),
        step: Some(number + 1),
        ..AnnotatedEvent::default()
    };
    let lane = |number: usize| ThreadLane { thread: format!("T{number}"), name: Some(name.into()), created: None };
    let mut trace = AnnotatedTrace {
        version: VERSION,
        directory: "/nonexistent".into(),
        threads: (0..3).map(lane).collect(),
        places: vec![place(name, 4)],
        objects: vec![name.into()],
        left_out: 0,
        events: (0..count).map(event).collect(),
        holds: vec![Interval { thread: 1, object: Some(0), from: 1, to: Some(3) }],
        waits: vec![Interval { thread: 2, object: None, from: 2, to: None }],
        code: BTreeMap::from([(format!("{name}.c"), BTreeMap::from([(4, name.into())]))]),
    };
    trace.end(1, "write", format!("write {name}"), &place(name, 4), Some(1));
    trace.end(2, "read", format!("read {name}"), &place(name, 7), Some(2));
    trace
}

/// A report with a finding of each kind, in which all names are `name`.
pub fn run(name: &str) -> ReportBundle {
    let mut numbers = Numbering::default();
    let kinds =
        [Kind::DataRace, Kind::DataRace, Kind::Deadlock, Kind::Assertion, Kind::Crash, Kind::Livelock, Kind::Memory];
    let mut findings: Vec<Finding> =
        kinds.into_iter().map(|kind| finding(name, kind, Severity::Error, &mut numbers)).collect();
    findings.push(finding(name, Kind::Misuse, Severity::Warning, &mut numbers));
    // The second race and the crash follow from the first race.
    for index in [1, 4] {
        findings[index].group = Some("r1".into());
    }
    findings[0].cause = Some(name.into());
    let traces: BTreeMap<String, AnnotatedTrace> =
        findings.iter().map(|finding| (finding.id.clone(), trace(name, 12))).collect();
    let report = Report {
        schema: SCHEMA,
        raddle: "0.1.0".into(),
        program: name.into(),
        args: vec![name.into()],
        strategy: "optimal".into(),
        granularity: "sync".into(),
        property: "all".into(),
        memory_model: MemoryModel::Sc,
        verdict: Verdict::Bug,
        reason: Some(Reason { code: "time".into(), text: name.into() }),
        stats: Stats { executions: 7, threads: 3, exits: vec![0, 3], seconds: 0.25, ..Stats::default() },
        limits: vec![name.into()],
        suppressed: vec![name.into()],
        unseen: vec![name.into()],
        notes: vec![name.into()],
        tests: vec![TestVerdict {
            name: name.into(),
            suite: None,
            case: Some(name.into()),
            directory: Some(name.into()),
            verdict: Verdict::Bug,
            executions: 7,
            seconds: 0.25,
        }],
        findings,
    };
    ReportBundle { report, traces }
}

/// A report without findings.
pub fn nothing(verdict: Verdict) -> ReportBundle {
    let mut run = run("plain");
    run.report.verdict = verdict;
    run.report.findings.clear();
    run.traces.clear();
    run
}
