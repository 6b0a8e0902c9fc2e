//! Defects that need no schedule, on executions written down by hand.

use raddle_vocab::{Failure, Misuse, OpKind, Outcome};

use super::{DefectFinder, locks_held};
use crate::execution::{Access, AccessKind, Event, Execution, Incident, IncidentKind, PendingState};
use crate::finding::Severity;
use crate::fixture::{done, edit, pending};
use crate::thread::ThreadInfo;

fn step(thread: u16, kind: OpKind, obj: u64, arg: u64, pc: u64) -> Event {
    Event { pc, ..done(thread, kind, obj, arg) }
}

/// An execution with these steps, in which the threads stand so at the end.
fn execution(steps: Vec<Event>, ends: &[(PendingState, Event)]) -> Execution {
    let mut execution = Execution::empty();
    execution.threads = (0..ends.len() as u32)
        .map(|n| ThreadInfo { path: crate::ThreadPath(if n == 0 { vec![] } else { vec![n] }), ..ThreadInfo::default() })
        .collect();
    execution.pending = ends.iter().map(|&(state, event)| pending(event, state)).collect();
    execution.events = steps;
    execution
}

fn details(execution: &Execution) -> Vec<&'static str> {
    DefectFinder::new().find(execution).iter().map(|defect| defect.signature.detail).collect()
}

const EXITED: PendingState = PendingState::Exited;
const ENDED: PendingState = PendingState::Ended;
const LOCK: u64 = 0x1000;

fn exit(pc: u64) -> Event {
    step(0, OpKind::Exit, 0, 0, pc)
}

#[test]
fn objects_initialised_by_a_call_should_be_destroyed() {
    let inits = [
        (OpKind::MutexInit, OpKind::MutexDestroy, "mutex-not-destroyed"),
        (OpKind::RwInit, OpKind::RwDestroy, "rwlock-not-destroyed"),
        (OpKind::CondInit, OpKind::CondDestroy, "cond-not-destroyed"),
        (OpKind::SemInit, OpKind::SemDestroy, "sem-not-destroyed"),
        (OpKind::BarrierInit, OpKind::BarrierDestroy, "barrier-not-destroyed"),
    ];
    for (init, destroy, detail) in inits {
        let left = execution(vec![step(0, init, LOCK, 0, 7), exit(0)], &[(EXITED, exit(0))]);
        let found = DefectFinder::new().find(&left);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].signature.detail, found[0].severity), (detail, Severity::Warning));
        assert_eq!((found[0].object, found[0].parts[0].pc), (Some(LOCK), 7));
        let steps = vec![step(0, init, LOCK, 0, 7), step(0, destroy, LOCK, 0, 8), exit(0)];
        assert_eq!(details(&execution(steps, &[(EXITED, exit(0))])), Vec::<&str>::new());
    }
}

#[test]
fn objects_in_freed_blocks_are_gone() {
    let mut gone = execution(vec![step(0, OpKind::MutexInit, LOCK, 0, 7), exit(0)], &[(EXITED, exit(0))]);
    let free = Access {
        thread: 0,
        kind: AccessKind::Free,
        volatile: false,
        addr: LOCK - 8,
        size: 64,
        pc: 9,
        after: 1,
        count: 0,
    };
    gone.accesses.push(free);
    assert_eq!(details(&gone), Vec::<&str>::new());
    // Initialised after the block came back.
    gone.accesses[0].after = 0;
    assert_eq!(details(&gone), ["mutex-not-destroyed"]);
}

#[test]
fn threads_should_be_joined_before_main_returns() {
    let created = step(0, OpKind::Create, 0, 1, 5);
    let end = step(1, OpKind::ThreadEnd, 0, 0, 6);
    let early = execution(vec![created, exit(0), end], &[(EXITED, exit(0)), (ENDED, end)]);
    assert_eq!(details(&early), ["main-returns-early", "never-joined"]);
    let late = execution(vec![created, end, exit(0)], &[(EXITED, exit(0)), (ENDED, end)]);
    assert_eq!(details(&late), ["never-joined"]);
    let joined =
        execution(vec![created, end, step(0, OpKind::Join, 0, 1, 8), exit(0)], &[(EXITED, exit(0)), (ENDED, end)]);
    assert_eq!(details(&joined), Vec::<&str>::new());
    let detached =
        execution(vec![created, step(0, OpKind::Detach, 0, 1, 8), exit(0), end], &[(EXITED, exit(0)), (ENDED, end)]);
    assert_eq!(details(&detached), ["main-returns-early"]);
    // By a call of exit: on purpose.
    let on_purpose = execution(vec![created, exit(44), end], &[(EXITED, exit(44)), (ENDED, end)]);
    assert_eq!(details(&on_purpose), Vec::<&str>::new());
}

#[test]
fn locks_should_not_outlive_their_thread() {
    let end = step(0, OpKind::ThreadEnd, 0, 0, 9);
    for kind in [OpKind::Lock, OpKind::ReadLock, OpKind::TryWriteLock] {
        let held = execution(vec![step(0, kind, LOCK, 0, 3), end], &[(ENDED, end)]);
        let found = DefectFinder::new().find(&held);
        assert_eq!((found[0].signature.detail, found[0].severity), ("lock-held-at-exit", Severity::Error));
        assert_eq!((found[0].object, &found[0].signature.places), (Some(LOCK), &vec![3]));
    }
    let nested = edit(step(0, OpKind::Lock, LOCK, 1, 4), |w| w.outcome = Outcome::Nested);
    let once = edit(step(0, OpKind::Unlock, LOCK, 1, 5), |w| w.outcome = Outcome::Nested);
    let steps = vec![step(0, OpKind::Lock, LOCK, 1, 3), nested, once, end];
    assert_eq!(details(&execution(steps, &[(ENDED, end)])), ["lock-held-at-exit"]);
}

#[test]
fn locks_held_at_a_step() {
    let steps = [
        step(0, OpKind::Lock, 1, 0, 1),
        step(1, OpKind::ReadLock, 2, 0, 2),
        step(0, OpKind::Lock, 3, 0, 3),
        step(0, OpKind::CondWait, 9, 1, 4),
        step(0, OpKind::CondReacquire, 9, 1, 5),
        step(0, OpKind::Unlock, 3, 0, 6),
    ];
    let objects = |before| locks_held(&steps, 0, before).iter().map(|held| held.object).collect::<Vec<_>>();
    assert_eq!(objects(0), Vec::<u64>::new());
    assert_eq!(objects(3), [1, 3]);
    assert_eq!(objects(4), [3]);
    assert_eq!(objects(5), [3, 1]);
    assert_eq!(objects(6), [1]);
    assert!(locks_held(&steps, 1, 6)[0].shared);
}

#[test]
fn incidents_have_their_words() {
    let of = |kind, arg, text: &str| {
        let mut execution = execution(Vec::new(), &[(PendingState::Failed, exit(0))]);
        let incident = Incident { thread: 0, after: 0, count: 0, pc: 5, obj: 0x20, arg, kind, text: text.into() };
        execution.incidents.push(incident);
        let found = DefectFinder::new().find(&execution);
        found.first().map(|defect| (defect.signature.kind.word(), defect.signature.detail))
    };
    let failure = IncidentKind::Failure;
    assert_eq!(of(failure(Failure::Assertion), 0, "x == 1"), Some(("assertion", "assert")));
    assert_eq!(of(failure(Failure::Abort), 0, ""), Some(("assertion", "abort")));
    assert_eq!(of(failure(Failure::Signal), 0, "11"), Some(("crash", "SIGSEGV")));
    assert_eq!(of(failure(Failure::Signal), 8, ""), Some(("crash", "SIGFPE")));
    assert_eq!(of(failure(Failure::Exception), 0, "int"), Some(("assertion", "exception")));
    assert_eq!(of(failure(Failure::Assume), 0, ""), None);
    assert_eq!(of(IncidentKind::Misuse(Misuse::JoinTwice), 0, ""), Some(("misuse", "join-twice")));
    // Every misuse has a word of its own.
    let words: std::collections::BTreeSet<_> = Misuse::ALL.iter().map(|&which| super::words::misuse(which)).collect();
    assert_eq!(words.len(), Misuse::ALL.len());
}

#[test]
fn the_same_defect_is_found_once() {
    let mut execution = execution(Vec::new(), &[(PendingState::Ended, exit(0))]);
    for obj in [0x20, 0x30] {
        let kind = IncidentKind::Misuse(Misuse::UnlockNotLocked);
        execution.incidents.push(Incident {
            thread: 0,
            after: 0,
            count: 0,
            pc: 5,
            obj,
            arg: 0,
            kind,
            text: String::new(),
        });
    }
    assert_eq!(details(&execution), ["unlock-not-locked"]);
}

#[test]
fn each_end_of_the_process_could_be_the_first_one() {
    let end = |thread: u16, status: u64, pc: u64| step(thread, OpKind::Exit, 0, status, pc);
    let (first, second, third) = (end(0, 3, 7), end(1, 0, 8), end(2, 5, 9));
    let pending = [(EXITED, first), (EXITED, second), (EXITED, third)];
    let run = execution(vec![first, second, third], &pending);
    let found = |allowed: &[i32]| {
        let defects = DefectFinder::allowing(allowed).find(&run);
        let statuses = defects.into_iter().filter(|defect| defect.signature.detail == "exit-status");
        statuses.map(|defect| (defect.text, defect.signature.places)).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [("3".to_string(), vec![7]), ("5".to_string(), vec![9])]);
    assert_eq!(found(&[3]), [("5".to_string(), vec![9])]);
    assert_eq!(found(&[3, 5]), []);
}
