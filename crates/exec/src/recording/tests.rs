//! Round trips, forged files, and schedules that lead nowhere.

use proptest::prelude::*;
use raddle_model::{
    Access, AccessKind, Event, Execution, Incident, IncidentKind, PendingState, ThreadInfo, ThreadPath, fixture,
};
use raddle_vocab::party::{Party, PartyRole};
use raddle_vocab::{Failure, Misuse, OpKind, RunStatus};

use super::json::parse_thread;
use super::*;
use crate::scripts::{PartyAddress, ScriptAction, ScriptLine};

fn step(thread: u16, kind: OpKind, obj: u64, arg: u64) -> Event {
    Event { pc: 0x1010, accesses: 2, ..fixture::done(thread, kind, obj, arg) }
}

/// Main creates two threads, which wait on one condition variable; main wakes the second first.
fn execution() -> Execution {
    let (cond, mutex) = (0x2000, 0x2040);
    let mut steps =
        vec![step(0, OpKind::ThreadStart, 0, 0), step(0, OpKind::Create, 0, 1), step(0, OpKind::Create, 0, 2)];
    for thread in [1, 2] {
        steps.push(step(thread, OpKind::ThreadStart, 0, 0));
        steps.push(step(thread, OpKind::Lock, mutex, 0));
        steps.push(step(thread, OpKind::CondWait, cond, mutex));
    }
    steps.push(fixture::edit(step(0, OpKind::Signal, cond, 0), |words| (words.value, words.old) = (1 << 2, 2)));
    steps.push(step(2, OpKind::CondReacquire, cond, mutex));
    let thread = |path: &[u32], parent| ThreadInfo { path: ThreadPath(path.into()), parent, name: None };
    let pending = |thread, state| fixture::pending(step(thread, OpKind::Unlock, mutex, 0), state);
    let access =
        |kind, addr, after| Access { thread: 0, kind, volatile: true, addr, size: 64, pc: 0x1020, after, count: 0 };
    let incident = |kind, text: &str| Incident {
        thread: 1,
        after: 3,
        count: 1,
        pc: 0x1030,
        obj: 5,
        arg: 6,
        kind,
        text: text.into(),
    };
    Execution {
        events: steps,
        accesses: vec![access(AccessKind::Alloc, 0x9000, 1), access(AccessKind::Write, 0x9000, 4)],
        threads: vec![
            thread(&[], None),
            thread(&[1], Some(0)),
            ThreadInfo { name: Some("second".into()), ..thread(&[2], Some(0)) },
        ],
        pending: vec![
            pending(0, PendingState::Exited),
            pending(1, PendingState::Blocked),
            pending(2, PendingState::Enabled),
        ],
        incidents: vec![
            incident(IncidentKind::Failure(Failure::Assertion), "x > 0"),
            incident(IncidentKind::Misuse(Misuse::UnlockNotOwner), ""),
        ],
        status: RunStatus::Cut,
        exit: Some(-1),
        names: Vec::new(),
        traits: None,
        diverged_at: Some(4),
        recorded: 13,
        awaits: 0,
        keys: Vec::new(),
        failing: Vec::new(),
        details: Vec::new(),
        pending_details: Vec::new(),
    }
}

/// Names that show the address.
struct Addresses;

impl RecordingNames for Addresses {
    fn object(&self, address: u64) -> Option<String> {
        Some(format!("object {address:#x}"))
    }

    fn place(&self, pc: u64) -> Option<String> {
        Some(format!("place {pc:#x}"))
    }
}

fn recording(with_execution: bool) -> Recording {
    let execution = execution();
    Recording {
        program: RecordedProgram {
            path: "/bin/prog".into(),
            args: vec!["a".into()],
            stdin: None,
            env: vec![("A".into(), "b".into())],
            directory: Some("/tmp".into()),
            checksum: Some("0123abcd".into()),
        },
        settings: Settings {
            access_granularity: true,
            spurious: 1,
            fold_spins: true,
            exit_events: 100,
            max_events: 1 << 40,
            open_values: "int=0..2".into(),
            benign: vec![1, 2],
            partial_io: true,
            parties: vec![party()],
            until_idle: true,
            observed: true,
            keep_stores: true,
        },
        schedule: entries_of(&execution, 1, &Addresses),
        finding: Some(serde_json::json!({ "kind": "deadlock", "n": 1.5 })),
        execution: with_execution.then_some(execution),
    }
}

fn party() -> PartyScript {
    let actions = [
        ScriptAction::Send(b"a\0\"\n".to_vec()),
        ScriptAction::Expect(vec![0xff, b'x']),
        ScriptAction::ExpectBytes(7),
        ScriptAction::ExpectUntil(b"\r\n".to_vec()),
        ScriptAction::ExpectClose,
        ScriptAction::Delay(5),
        ScriptAction::Shutdown,
        ScriptAction::Close,
        ScriptAction::Reset,
    ];
    let lines = (3..).zip(actions).map(|(line, action)| ScriptLine { line, action }).collect();
    PartyScript {
        party: Party { role: PartyRole::Peer, number: 2 },
        address: PartyAddress::Tcp { host: Some("::1".into()), port: 80 },
        file: "a.script".into(),
        lines,
    }
}

#[test]
fn both_forms_keep_everything() {
    for with_execution in [false, true] {
        let mut original = recording(with_execution);
        original.schedule[4].stop = Some(7);
        let read = Recording::from_bytes(&original.to_bytes().unwrap()).unwrap();
        assert_eq!(format!("{original:?}"), format!("{read:?}"));
    }
}

#[test]
fn entries_have_names_and_choices() {
    let entries = recording(false).schedule;
    let wait = &entries[5];
    assert_eq!((wait.thread.to_string(), wait.nth, wait.kind), ("T1".into(), 3, OpKind::CondWait));
    assert_eq!((wait.object.as_deref(), wait.place.as_deref()), (Some("object 0x2000"), Some("place 0x1010")));
    assert_eq!(entries[1].object.as_deref(), Some("T1"));
    // The signal woke the second of two waiters.
    assert_eq!((entries[9].kind, entries[9].choice), (OpKind::Signal, 1));
}

#[test]
fn a_schedule_leads_back_to_its_choices() {
    let choices = choices_of(&recording(false).schedule).unwrap();
    let execution = execution();
    let threads: Vec<u16> = choices.iter().map(|choice| choice.thread).collect();
    assert_eq!(threads, execution.events.iter().map(|step| step.thread).collect::<Vec<_>>());
    let plan = plan_of(&recording(true)).unwrap();
    assert_eq!((plan.request.schedule, plan.request.max_events), (choices, 1 << 40));
    assert_eq!(compare(&recording(false).schedule, &execution, &Addresses), None);
}

#[test]
fn schedules_that_lead_nowhere_are_named() {
    let mut missing = recording(false).schedule;
    missing.remove(1);
    for entry in &mut missing[..2] {
        entry.nth = entry.nth.min(2);
    }
    let error = choices_of(&missing).unwrap_err();
    assert_eq!(error, ScheduleError::NoSuchThread { entry: 6, thread: ThreadPath(vec![2]) });
    let mut swapped = recording(false).schedule;
    swapped.swap(4, 5);
    assert!(matches!(choices_of(&swapped).unwrap_err(), ScheduleError::Order { entry: 5, .. }));
    let mut endless = recording(false).schedule[..2].to_vec();
    for nth in 3..300 {
        endless.push(ScheduleEntry { nth, ..endless[1].clone() });
    }
    assert_eq!(choices_of(&endless).unwrap_err(), ScheduleError::TooManyThreads);
}

#[test]
fn a_divergence_says_where_and_what() {
    let schedule = recording(false).schedule;
    let mut other = execution();
    other.events[4] = fixture::edit(other.events[4], |words| words.kind = OpKind::TryLock);
    let found = compare(&schedule, &other, &Addresses).unwrap();
    assert_eq!(found.entry, 4);
    let text = found.to_string();
    assert!(text.contains("event 5") && text.contains("T1 lock") && text.contains("T1 try-lock"), "{text}");
    let mut short = execution();
    short.events.truncate(6);
    short.status = RunStatus::Diverged;
    short.pending[2].state = PendingState::Blocked;
    let text = compare(&schedule, &short, &Addresses).unwrap().to_string();
    assert!(text.contains("event 7") && text.contains("is blocked before T2 unlock object 0x2040"), "{text}");
    let mut alone = execution();
    alone.events.truncate(3);
    alone.threads.truncate(1);
    assert!(compare(&schedule, &alone, &Addresses).unwrap().to_string().contains("no thread T1"));
}

fn message(bytes: &[u8]) -> String {
    Recording::from_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn broken_files_get_a_sentence() {
    let text = String::from_utf8(recording(false).to_bytes().unwrap()).unwrap();
    assert!(message(b"").contains("empty"));
    assert!(message(b"{}").contains("raddle-schedule"));
    assert!(message(b"[1, 2").contains("not a schedule"));
    assert!(message(text.replace("raddle-schedule\": 1", "raddle-schedule\": 9").as_bytes()).contains("version 9"));
    assert!(message(text.replace("CondWait", "CondDance").as_bytes()).contains("checksum"));
    assert!(message(text.replace("\"nth\": 3", "\"nth\": -3").as_bytes()).contains("damaged"));
    assert!(message(&text.as_bytes()[..text.len() / 2]).contains("not a schedule"));
    let bytes = recording(true).to_bytes().unwrap();
    assert!(message(&bytes[..10]).contains("header"));
    assert!(message(&bytes[..bytes.len() - 1]).contains("checksum"));
    let mut later = bytes.clone();
    later[8] = 3;
    assert!(message(&later).contains("version 3"));
    let mut bomb = bytes.clone();
    bomb[20] = 0xff;
    assert!(message(&bomb).contains("more than it can"));
    assert!(Recording::load(Path::new("/no/such/file")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn layout_does_not_matter_to_the_checksum() {
    let bytes = recording(false).to_bytes().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert!(Recording::from_bytes(value.to_string().as_bytes()).is_ok());
}

#[test]
fn forged_contents_with_a_right_checksum_are_refused() {
    let forge = |change: fn(&mut Execution)| {
        let mut recording = recording(true);
        change(recording.execution.as_mut().unwrap());
        recording.to_bytes().and_then(|bytes| Recording::from_bytes(&bytes)).unwrap_err().to_string()
    };
    assert!(forge(|e| e.events[0].thread = 7).contains("fit"));
    assert!(forge(|e| e.accesses[0].after = 100).contains("fit"));
    assert!(forge(|e| e.accesses[0].size = u64::MAX).contains("fit"));
    assert!(forge(|e| e.threads[2].parent = Some(2)).contains("descend"));
    assert!(forge(|e| e.threads[2].path = ThreadPath(vec![1])).contains("descend"));
    assert!(forge(|e| e.threads.clear()).contains("0 threads"));
    assert!(forge(|e| e.pending.truncate(1)).contains("fit"));
    assert!(forge(|e| e.incidents[0].thread = 9).contains("fit"));
    assert!(forge(|e| e.events.truncate(3)).contains("not that of the execution"));
}

#[test]
fn saving_replaces_the_file_in_one_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness.json");
    recording(false).save(&path).unwrap();
    recording(true).save(&path).unwrap();
    assert!(Recording::load(&path).unwrap().execution.is_some());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(recording(false).save(Path::new("/no/such/directory/file")).is_err());
    recording(false).save(Path::new("/dev/null")).unwrap();
}

#[test]
fn thread_names_are_read_strictly() {
    assert_eq!(parse_thread("T0"), Some(ThreadPath(vec![])));
    assert_eq!(parse_thread("T3.1"), Some(ThreadPath(vec![3, 1])));
    for wrong in ["", "T", "3", "T0.1", "T1.", "T01", "T-1", "T99999999999", "T1.0"] {
        assert_eq!(parse_thread(wrong), None, "{wrong}");
    }
}

#[test]
fn no_part_of_a_file_passes_for_the_whole() {
    for with_execution in [false, true] {
        let bytes = recording(with_execution).to_bytes().unwrap();
        // The readable form ends with a line break that does not matter.
        for length in 0..bytes.len() - 1 {
            assert!(Recording::from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn every_changed_bit_of_a_trace_is_noticed() {
    let bytes = recording(true).to_bytes().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(Recording::from_bytes(&changed).is_err(), "bit {bit} of byte {at}");
        }
    }
}

/// Puts the right checksum on a payload.
fn sealed(payload: &[u8], size: u64) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(payload, 1);
    let mut bytes = Vec::from(binary::MAGIC);
    bytes.extend(binary::BINARY_VERSION.to_le_bytes());
    bytes.extend(crc32fast::hash(&packed).to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(packed);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Recording::from_bytes(&bytes).is_err());
        let _ = Recording::from_bytes(&sealed(&bytes, bytes.len() as u64));
    }

    #[test]
    fn damaged_payloads_with_a_right_checksum_never_panic(at: prop::sample::Index, byte: u8, cut in 0usize..3) {
        let bytes = recording(true).to_bytes().unwrap();
        let mut plain = miniz_oxide::inflate::decompress_to_vec(&bytes[24..]).unwrap();
        *at.get_mut(&mut plain) = byte;
        plain.truncate(plain.len() - cut);
        if let Ok(read) = Recording::from_bytes(&sealed(&plain, plain.len() as u64)) {
            let execution = read.execution.as_ref().unwrap();
            prop_assert!(execution.events.iter().all(|step| usize::from(step.thread) < execution.threads.len()));
            let _ = choices_of(&read.schedule);
            let _ = entries_of(execution, 0, &Addresses);
        }
    }

    #[test]
    fn damaged_text_never_panics(at: prop::sample::Index, byte in 32u8..127) {
        let mut bytes = recording(false).to_bytes().unwrap();
        *at.get_mut(&mut bytes) = byte;
        let _ = Recording::from_bytes(&bytes);
    }
}
