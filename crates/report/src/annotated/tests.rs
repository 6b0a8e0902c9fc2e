use std::collections::BTreeMap;
use std::path::Path;

use raddle_model::fixture::{self, event};
use raddle_model::{Access, AccessKind, Event as RunEvent, Execution};
use raddle_vocab::{OpKind, Words};

use super::*;
use crate::names::ExecutionNames;
use crate::symbols::{Modules, Symbols};

fn step(thread: u16, kind: OpKind, obj: u64, arg: u64) -> RunEvent {
    event(thread, Words { size: 4, value: 7, ..Words::new(kind).on(obj, arg) })
}

fn write(thread: u16, after: u32) -> Access {
    Access { thread, kind: AccessKind::Write, volatile: false, addr: 0x2000, size: 4, pc: 0, after, count: 0 }
}

/// T1 holds the lock while T2 wants it, and both write the same word.
fn execution() -> Execution {
    let m = 0x1000;
    let mut execution = fixture::execution(3, Vec::new());
    execution.events = vec![
        step(0, OpKind::ThreadStart, 0, 0),
        step(0, OpKind::Create, 0, 1),
        step(0, OpKind::Create, 0, 2),
        step(1, OpKind::ThreadStart, 0, 0),
        step(2, OpKind::ThreadStart, 0, 0),
        step(1, OpKind::Lock, m, 0),
        step(1, OpKind::AtomicStore, 0x3000, 0),
        step(1, OpKind::Unlock, m, 0),
        step(2, OpKind::Lock, m, 0),
        step(2, OpKind::Unlock, m, 0),
    ];
    execution.accesses = vec![write(1, 6), write(2, 9)];
    execution
}

fn trace() -> AnnotatedTrace {
    let symbols = Symbols::new(&Modules::of_program(Path::new("/nonexistent")), Path::new("/"));
    let execution = execution();
    let names = ExecutionNames::new(&symbols, &execution);
    TraceAnnotator::new(&names, &execution, 0, &BTreeMap::new()).annotate(10)
}

#[test]
fn events_locks_and_waits_come_in_order() {
    let trace = trace();
    let texts: Vec<(usize, &str)> = trace.events.iter().map(|event| (event.thread, event.text.as_str())).collect();
    let expected = [
        (0, "start"),
        (0, "create T1"),
        (0, "create T2"),
        (1, "start"),
        (2, "start"),
        (1, "lock 0x1000"),
        (1, "write 0x2000"),
        (1, "store 0x3000 = 7"),
        (1, "unlock 0x1000"),
        (2, "lock 0x1000"),
        (2, "write 0x2000"),
        (2, "unlock 0x1000"),
    ];
    assert_eq!(texts, expected);
    let interval = |interval: &Interval| (interval.thread, interval.from, interval.to);
    assert_eq!(trace.holds.iter().map(interval).collect::<Vec<_>>(), [(1, 5, Some(8)), (2, 9, Some(11))]);
    // T2 is blocked from the moment when T1 has the lock.
    assert_eq!(trace.waits.iter().map(interval).collect::<Vec<_>>(), [(2, 5, Some(8))]);
    assert_eq!(trace.events[7].value.as_deref(), Some("7"));
    assert_eq!(trace.events[9].step, Some(9));
}

#[test]
fn it_survives_serialisation_and_bad_numbers_are_noticed() {
    let mut trace = trace();
    let text = serde_json::to_string(&trace).unwrap();
    assert_eq!(serde_json::from_str::<AnnotatedTrace>(&text).unwrap(), trace);
    assert!(trace.is_sound());
    trace.events[0].thread = 9;
    assert!(!trace.is_sound());
}

#[test]
fn the_text_report_leaves_out_starts_and_repetitions() {
    let mut trace = trace();
    let access = trace.events[6].clone();
    trace.events.insert(6, access);
    let rows: Vec<String> = trace.timeline().rows.into_iter().map(|row| row.text).collect();
    assert!(!rows.contains(&"start".to_string()));
    assert_eq!(rows.iter().filter(|text| *text == "write 0x2000").count(), 2, "{rows:?}");
}
