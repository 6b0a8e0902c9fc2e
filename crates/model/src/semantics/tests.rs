//! The semantics, object by object.

use raddle_vocab::handler::Handling;
use raddle_vocab::{MutexKind, OpKind, Outcome, Words};

use super::{Enabled, SyncState};
use crate::execution::{Event, Execution, FailingValue, HeldRead, Pending, PendingState};
use crate::fixture::{edit, event};
use crate::object::{Op, Operation as _, SignalOp, ThreadOp};
use crate::thread::{ThreadInfo, ThreadPath};

const OBJ: u64 = 0x1000;
const MUTEX: u64 = 0x2000;

fn op(thread: u16, kind: OpKind, obj: u64, arg: u64) -> Event {
    event(thread, Words { size: 4, ..Words::new(kind).on(obj, arg) })
}

/// A state in which main has created threads 1 to `threads`, with ranks in the opposite order of
/// their numbers.
fn world(threads: u16, spurious: u32) -> SyncState {
    let mut world = SyncState::new(spurious);
    let path = |n: u16| if n == 0 { vec![] } else { vec![u32::from(threads - n) + 1] };
    let infos: Vec<_> =
        (0..=threads).map(|n| ThreadInfo { path: ThreadPath(path(n)), ..ThreadInfo::default() }).collect();
    world.set_threads(&infos);
    for thread in 1..=threads {
        world.apply(&op(0, OpKind::Create, 0, u64::from(thread)));
    }
    world
}

impl SyncState {
    /// Makes an operation that must be enabled and tells what became of it.
    fn make(&mut self, op: Event) -> Outcome {
        self.choose(op, 0).op.outcome()
    }

    fn choose(&mut self, op: Event, choice: u16) -> Event {
        assert!(choice < self.successors(&op), "{op:?} has no successor {choice}");
        let step = self.outcome_of(&op, choice);
        assert_eq!(self.choice_of(&step), choice);
        self.apply(&step);
        step
    }
}

fn lock(thread: u16, kind: MutexKind) -> Event {
    op(thread, OpKind::Lock, MUTEX, kind as u64)
}

fn unlock(thread: u16, kind: MutexKind) -> Event {
    op(thread, OpKind::Unlock, MUTEX, kind as u64)
}

/// The number of a state does not depend on what was met before it: a search that is resumed
/// compares states with those that it has saved.
#[test]
fn digests_do_not_depend_on_what_was_met_before() {
    let (mut fresh, mut other) = (world(2, 0), world(2, 0));
    let lock_at = |mutex| op(1, OpKind::Lock, mutex, MutexKind::Normal as u64);
    fresh.make(lock_at(MUTEX));
    other.make(lock_at(MUTEX + 64));
    let first_of_other = other.digest();
    assert_ne!(fresh.digest(), first_of_other, "other locks");
    other.make(op(1, OpKind::Unlock, MUTEX + 64, MutexKind::Normal as u64));
    other.make(lock_at(MUTEX));
    assert_eq!(fresh.digest(), other.digest());
}

#[test]
fn normal_mutex() {
    let mut w = world(2, 0);
    let kind = MutexKind::Normal;
    assert_eq!(w.make(lock(1, kind)), Outcome::Done);
    // Neither the owner nor another thread gets it.
    for thread in [1, 2] {
        assert_eq!(w.enabled(&lock(thread, kind)), Enabled::No);
        assert_eq!(w.successors(&lock(thread, kind)), 0);
        assert_eq!(w.make(op(thread, OpKind::TryLock, MUTEX, 0)), Outcome::Failed);
        assert_eq!(w.enabled(&op(thread, OpKind::TimedLock, MUTEX, 0)), Enabled::TimeOut);
        assert_eq!(w.make(op(thread, OpKind::TimedLock, MUTEX, 0)), Outcome::TimedOut);
    }
    assert_eq!(w.make(unlock(1, kind)), Outcome::Done);
    assert_eq!(w.enabled(&op(2, OpKind::TimedLock, MUTEX, 0)), Enabled::Yes);
    assert_eq!(w.make(op(2, OpKind::TryLock, MUTEX, 0)), Outcome::Done);
    // Unlocked by another thread: free all the same.
    assert_eq!(w.make(unlock(1, kind)), Outcome::Done);
    assert_eq!(w.make(lock(1, kind)), Outcome::Done);
}

#[test]
fn recursive_mutex() {
    let mut w = world(2, 0);
    let kind = MutexKind::Recursive;
    assert_eq!(w.make(lock(1, kind)), Outcome::Done);
    assert_eq!(w.make(lock(1, kind)), Outcome::Nested);
    assert_eq!(w.make(op(1, OpKind::TryLock, MUTEX, kind as u64)), Outcome::Nested);
    assert_eq!(w.enabled(&lock(2, kind)), Enabled::No);
    assert_eq!(w.make(unlock(2, kind)), Outcome::Refused);
    assert_eq!(w.make(unlock(1, kind)), Outcome::Nested);
    assert_eq!(w.make(unlock(1, kind)), Outcome::Nested);
    assert_eq!(w.make(unlock(1, kind)), Outcome::Done);
    assert_eq!(w.make(lock(2, kind)), Outcome::Done);
}

#[test]
fn error_checking_mutex() {
    let mut w = world(2, 0);
    let kind = MutexKind::ErrorCheck;
    assert_eq!(w.make(unlock(1, kind)), Outcome::Refused);
    assert_eq!(w.make(lock(1, kind)), Outcome::Done);
    assert_eq!(w.make(lock(1, kind)), Outcome::Refused);
    assert_eq!(w.make(op(1, OpKind::TimedLock, MUTEX, kind as u64)), Outcome::Refused);
    assert_eq!(w.make(op(1, OpKind::TryLock, MUTEX, kind as u64)), Outcome::Failed);
    assert_eq!(w.make(unlock(2, kind)), Outcome::Refused);
    assert_eq!(w.enabled(&lock(2, kind)), Enabled::No);
    assert_eq!(w.make(unlock(1, kind)), Outcome::Done);
}

#[test]
fn initialising_makes_a_mutex_free() {
    let mut w = world(2, 0);
    w.make(lock(1, MutexKind::Normal));
    w.make(op(2, OpKind::MutexInit, MUTEX, 0));
    assert_eq!(w.make(lock(2, MutexKind::Normal)), Outcome::Done);
}

#[test]
fn rwlock() {
    let mut w = world(3, 0);
    let on = |thread, kind| op(thread, kind, OBJ, 0);
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
    assert_eq!(w.make(on(2, OpKind::TryReadLock)), Outcome::Done);
    for thread in [1, 3] {
        assert_eq!(w.enabled(&on(thread, OpKind::WriteLock)), Enabled::No);
        assert_eq!(w.make(on(thread, OpKind::TryWriteLock)), Outcome::Failed);
        assert_eq!(w.make(on(thread, OpKind::TimedWriteLock)), Outcome::TimedOut);
    }
    for thread in [1, 1, 2] {
        assert_eq!(w.outcome_of(&on(thread, OpKind::RwUnlock), 0).op.pack().arg, 0);
        w.make(on(thread, OpKind::RwUnlock));
    }
    assert_eq!(w.make(on(3, OpKind::WriteLock)), Outcome::Done);
    assert_eq!(w.enabled(&on(1, OpKind::ReadLock)), Enabled::No);
    assert_eq!(w.make(on(1, OpKind::TimedReadLock)), Outcome::TimedOut);
    assert_eq!(w.make(on(3, OpKind::ReadLock)), Outcome::Refused);
    assert_eq!(w.make(on(3, OpKind::WriteLock)), Outcome::Refused);
    assert_eq!(w.make(on(3, OpKind::TryReadLock)), Outcome::Failed);
    let step = w.choose(on(3, OpKind::RwUnlock), 0);
    assert_eq!(step.op.pack().arg, 1);
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
}

#[test]
fn a_waiting_writer_keeps_readers_out_where_writers_come_first() {
    let mut w = world(3, 0);
    let on = |thread, kind| op(thread, kind, OBJ, 1);
    let announce = |thread, timed| op(thread, OpKind::RwAnnounce, OBJ, timed);
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
    w.make(announce(2, 1));
    for kind in [OpKind::TryReadLock, OpKind::TryWriteLock] {
        assert_eq!(w.make(on(1, kind)), Outcome::Failed);
    }
    assert_eq!(w.enabled(&on(1, OpKind::ReadLock)), Enabled::No);
    assert_eq!(w.make(on(3, OpKind::TimedReadLock)), Outcome::TimedOut);
    assert_eq!(w.make(on(2, OpKind::TimedWriteLock)), Outcome::TimedOut);
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
    w.make(announce(2, 0));
    for _ in 0..2 {
        w.make(op(1, OpKind::RwUnlock, OBJ, 0));
    }
    // Nothing holds it, but it is the waiting writer's turn.
    assert_eq!(w.enabled(&on(1, OpKind::ReadLock)), Enabled::No);
    assert_eq!(w.make(on(1, OpKind::TryWriteLock)), Outcome::Failed);
    assert_eq!(w.make(on(2, OpKind::WriteLock)), Outcome::Done);
    w.make(op(2, OpKind::RwUnlock, OBJ, 0));
    assert_eq!(w.make(on(1, OpKind::ReadLock)), Outcome::Done);
}

fn sleep(w: &mut SyncState, thread: u16, kind: OpKind) -> Event {
    w.make(lock(thread, MutexKind::Normal));
    assert_eq!(w.make(op(thread, kind, OBJ, MUTEX)), Outcome::Done);
    let end = if kind == OpKind::CondTimedWait { OpKind::CondResume } else { OpKind::CondReacquire };
    op(thread, end, OBJ, MUTEX)
}

#[test]
fn condition_variable() {
    let mut w = world(3, 0);
    let signal = op(0, OpKind::Signal, OBJ, 0);
    let step = w.choose(signal, 0);
    assert_eq!((step.op.pack().value, step.op.pack().old), (0, 0), "no thread waits");
    let first = sleep(&mut w, 1, OpKind::CondWait);
    let second = sleep(&mut w, 2, OpKind::CondWait);
    assert_eq!(w.enabled(&first), Enabled::No);
    assert_eq!(w.successors(&signal), 2);
    // Rank, not number: thread 2 comes first.
    assert_eq!(w.outcome_of(&signal, 0).op.pack().value, 1 << 2);
    let step = w.choose(signal, 1);
    assert_eq!((step.op.pack().value, step.op.pack().old), (1 << 1, 2));
    assert_eq!((w.enabled(&first), w.enabled(&second)), (Enabled::Yes, Enabled::No));
    // Woken, but the mutex is not free.
    w.make(lock(3, MutexKind::Normal));
    assert_eq!(w.enabled(&first), Enabled::No);
    w.make(unlock(3, MutexKind::Normal));
    assert_eq!(w.make(first), Outcome::Done);
    assert_eq!(w.enabled(&lock(3, MutexKind::Normal)), Enabled::No);
    w.make(unlock(1, MutexKind::Normal));
    let again = sleep(&mut w, 1, OpKind::CondWait);
    let step = w.choose(op(0, OpKind::Broadcast, OBJ, 0), 0);
    assert_eq!(step.op.pack().value, 0b110);
    assert_eq!((w.enabled(&again), w.enabled(&second)), (Enabled::Yes, Enabled::Yes));
}

#[test]
fn timed_and_spurious_ends_of_a_wait() {
    let mut w = world(2, 1);
    let timed = sleep(&mut w, 1, OpKind::CondTimedWait);
    assert_eq!((w.enabled(&timed), w.successors(&timed)), (Enabled::TimeOut, 2));
    assert_eq!(w.outcome_of(&timed, 0).op.outcome(), Outcome::TimedOut);
    assert_eq!(w.choose(timed, 1).op.outcome(), Outcome::Spurious);
    // It has left the queue; and that was its only spurious wake-up.
    assert_eq!(w.outcome_of(&op(0, OpKind::Signal, OBJ, 0), 0).op.pack().value, 0);
    let timed = sleep(&mut w, 1, OpKind::CondTimedWait);
    assert_eq!(w.successors(&timed), 1);
    // Another thread holds the mutex: the wait times out nevertheless, but does not take it.
    w.make(lock(2, MutexKind::Normal));
    assert_eq!(w.make(timed), Outcome::TimedOut);
    assert_eq!(w.outcome_of(&op(2, OpKind::Signal, OBJ, 0), 0).op.pack().value, 0);
    assert_eq!(w.enabled(&lock(1, MutexKind::Normal)), Enabled::No);
    w.make(unlock(2, MutexKind::Normal));
    let plain = sleep(&mut w, 1, OpKind::CondWait);
    assert_eq!(w.enabled(&plain), Enabled::No);
    // A thread that was woken does not time out.
    w.make(op(0, OpKind::Signal, OBJ, 0));
    assert_eq!((w.enabled(&plain), w.successors(&plain)), (Enabled::Yes, 1));
    let other = sleep(&mut w, 2, OpKind::CondWait);
    assert_eq!(w.enabled(&other), Enabled::TimeOut, "spurious");
}

#[test]
fn semaphore() {
    let mut w = world(2, 0);
    let on = |kind, arg| op(1, kind, OBJ, arg);
    w.make(on(OpKind::SemInit, 1));
    assert_eq!(w.make(on(OpKind::SemWait, 0)), Outcome::Done);
    assert_eq!(w.enabled(&on(OpKind::SemWait, 0)), Enabled::No);
    assert_eq!(w.make(on(OpKind::SemTryWait, 0)), Outcome::Failed);
    assert_eq!(w.make(on(OpKind::SemTimedWait, 0)), Outcome::TimedOut);
    w.make(on(OpKind::SemPost, 0));
    w.make(on(OpKind::SemPost, 0));
    assert_eq!(w.make(on(OpKind::SemTimedWait, 0)), Outcome::Done);
    assert_eq!(w.make(on(OpKind::SemTryWait, 0)), Outcome::Done);
    assert_eq!(w.make(on(OpKind::SemTryWait, 0)), Outcome::Failed);
}

#[test]
fn barrier() {
    let mut w = world(3, 0);
    w.make(op(0, OpKind::BarrierInit, OBJ, 2));
    let arrive = |thread| op(thread, OpKind::BarrierArrive, OBJ, 0);
    let leave = |thread, round| op(thread, OpKind::BarrierLeave, OBJ, round);
    assert_eq!(w.make(arrive(1)), Outcome::Done);
    assert_eq!(w.enabled(&leave(1, 0)), Enabled::No);
    let last = w.choose(arrive(2), 0);
    assert_eq!((last.op.outcome(), last.op.pack().arg), (Outcome::Last, 0));
    // Thread 2 has the least rank of the two.
    assert_eq!((w.outcome_of(&leave(1, 0), 0).op.pack().value, w.outcome_of(&leave(2, 0), 0).op.pack().value), (0, 1));
    // A third thread begins the next round while they still leave.
    let next = w.choose(arrive(3), 0);
    assert_eq!((next.op.outcome(), next.op.pack().arg), (Outcome::Done, 1));
    assert_eq!(w.make(leave(2, 0)), Outcome::Done);
    assert_eq!(w.make(arrive(2)), Outcome::Last);
    assert_eq!(w.make(leave(1, 0)), Outcome::Done);
    assert_eq!(w.outcome_of(&leave(3, 1), 0).op.pack().value, 1);
    assert_eq!(w.make(leave(2, 1)), Outcome::Done);
}

#[test]
fn once() {
    let mut w = world(2, 0);
    let begin = |thread| op(thread, OpKind::OnceBegin, OBJ, 0);
    assert_eq!(w.make(begin(1)), Outcome::Done);
    assert_eq!(w.enabled(&begin(2)), Enabled::No);
    assert_eq!(w.enabled(&begin(1)), Enabled::No, "from inside its own initialiser");
    w.make(op(1, OpKind::OnceAbort, OBJ, 0));
    assert_eq!(w.make(begin(2)), Outcome::Done);
    w.make(op(2, OpKind::OnceEnd, OBJ, 0));
    assert_eq!(w.make(begin(1)), Outcome::Already);
}

#[test]
fn guard_of_a_static() {
    let mut w = world(2, 0);
    let begin = |thread| op(thread, OpKind::OnceBegin, OBJ, 1);
    assert_eq!(w.make(begin(1)), Outcome::Done);
    assert_eq!(w.enabled(&begin(2)), Enabled::No);
    let set = edit(op(1, OpKind::AtomicStore, OBJ, 0), |w| {
        w.size = 1;
        w.value = 1
    });
    w.make(set);
    assert_eq!(w.make(begin(2)), Outcome::Already);
}

#[test]
fn threads() {
    let mut w = world(2, 0);
    let join = |thread, joined| op(thread, OpKind::Join, 0, joined);
    let look = Event::new(0, Op::Thread(ThreadOp::Poll { thread: 1, ended: false }));
    assert_eq!(w.enabled(&join(0, 1)), Enabled::No);
    assert_eq!((w.enabled(&look), w.outcome_of(&look, 0).op.pack().value), (Enabled::TimeOut, 0));
    assert_eq!(w.make(join(0, 0)), Outcome::Refused, "oneself");
    w.make(op(1, OpKind::ThreadEnd, 0, 0));
    assert_eq!((w.enabled(&look), w.outcome_of(&look, 0).op.pack().value), (Enabled::Yes, 1));
    assert_eq!(w.make(join(0, 1)), Outcome::Done);
    assert_eq!(w.make(join(2, 1)), Outcome::Refused, "joined before");
    w.make(op(0, OpKind::Detach, 0, 2));
    assert_eq!(w.make(join(0, 2)), Outcome::Refused, "detached");
    assert!(!w.is_alive(1) && w.is_alive(2));
    // A thread that was not created cannot start.
    let child = w.add_thread(ThreadPath(vec![9]));
    assert_eq!(w.enabled(&op(child, OpKind::ThreadStart, 0, 0)), Enabled::No);
    w.make(op(0, OpKind::Create, 0, u64::from(child)));
    assert_eq!(w.enabled(&op(child, OpKind::ThreadStart, 0, 0)), Enabled::Yes);
}

#[test]
fn ranks_are_the_order_of_paths() {
    let mut w = SyncState::new(0);
    let paths: [&[u32]; 4] = [&[2], &[1], &[1, 1], &[10]];
    let numbers: Vec<u16> = paths.iter().map(|path| w.add_thread(ThreadPath(path.to_vec()))).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(w.by_rank(), [0, 2, 3, 1, 4]);
    assert_eq!((w.rank(1), w.rank(3), w.rank(77)), (3, 2, u16::MAX));
}

#[test]
fn atomics() {
    let mut w = world(1, 0);
    let store = |value| edit(op(1, OpKind::AtomicStore, OBJ, 0), |w| w.value = value);
    let load = op(1, OpKind::AtomicLoad, OBJ, 0);
    let cas = |expected, value| edit(op(1, OpKind::AtomicCas, OBJ, expected), |w| w.value = value);
    w.make(store(5));
    assert_eq!(w.outcome_of(&load, 0).op.pack().value, 5);
    assert_eq!(w.outcome_of(&store(6), 0).op.pack().old, 5);
    assert_eq!(w.make(cas(4, 9)), Outcome::Failed);
    assert_eq!(w.choose(cas(5, 9), 0).op.pack().old, 5);
    assert_eq!(w.value_at(OBJ, 4), Some(9));
}

#[test]
fn busy_waiting_needs_a_change() {
    let mut w = world(1, 0);
    let awaited = edit(op(1, OpKind::AtomicLoad, OBJ, 1), |w| {
        w.old = 5;
        w.value = 6
    });
    assert_eq!(w.enabled(&awaited), Enabled::Yes, "the value is unknown");
    w.make(edit(op(1, OpKind::AtomicStore, OBJ, 0), |w| w.value = 5));
    assert_eq!(w.enabled(&awaited), Enabled::No);
    let pending = |found| Pending { event: awaited, state: PendingState::Awaiting, found };
    assert_eq!(w.enabled_pending(&pending(5)), Enabled::No);
    w.make(edit(op(1, OpKind::AtomicStore, OBJ, 0), |w| w.value = 7));
    assert_eq!(w.outcome_of(&awaited, 0).op.pack().value, 7);
    assert_eq!(w.enabled_pending(&pending(5)), Enabled::Yes);
}

/// Which values hold a thread in a spin loop is learned from executions.
#[test]
fn values_that_hold_a_thread_are_learned() {
    let mut w = world(1, 0);
    let store = |value| edit(op(1, OpKind::AtomicStore, OBJ, 0), |w| w.value = value);
    let read = |value| Event { held: HeldRead(3), ..edit(op(1, OpKind::AtomicLoad, OBJ, 0), |w| w.value = value) };
    w.make(store(5));
    assert_eq!((w.enabled(&read(0)), w.open_read(&read(0))), (Enabled::Yes, Some((3, 5))));
    let mut execution = Execution::empty();
    execution.failing = vec![FailingValue { read: HeldRead(3), value: 5 }];
    execution.events = vec![read(6)];
    w.learn_failing(&execution);
    assert_eq!((w.enabled(&read(0)), w.successors(&read(0)), w.outcome(&read(0), 0)), (Enabled::No, 0, None));
    assert!(w.is_failing((3, 5)) && w.open_read(&read(0)).is_none());
    let other = Event { held: HeldRead(4), ..read(0) };
    assert_eq!(w.enabled(&other), Enabled::Yes, "another state of the thread");
    w.make(store(6));
    assert_eq!((w.enabled(&read(0)), w.open_read(&read(0))), (Enabled::Yes, None));
    w.make(store(7));
    assert_eq!(w.open_read(&read(0)), Some((3, 7)));
}

#[test]
fn what_does_not_change_keeps_a_thread_waiting() {
    let mut execution = Execution::empty();
    execution.threads = vec![ThreadInfo::default()];
    let step = edit(op(0, OpKind::AtomicLoad, OBJ, 0), |w| w.value = 5);
    let pending = Pending { event: step, state: PendingState::Awaiting, found: 5 };
    execution.pending = vec![pending];
    let mut w = SyncState::new(0);
    w.prepare(&execution);
    assert_eq!(w.enabled_pending(&pending), Enabled::No);
}

#[test]
fn memory_is_known_by_bytes() {
    let mut w = world(1, 0);
    let store = |obj, size, value| {
        edit(op(1, OpKind::AtomicStore, obj, 0), |w| {
            w.size = size;
            w.value = value
        })
    };
    w.apply(&store(OBJ, 4, 0x4433_2211));
    assert_eq!(w.value_at(OBJ + 1, 2), Some(0x3322));
    assert_eq!((w.value_at(OBJ, 8), w.value_at(OBJ + 4, 4)), (None, None));
    w.apply(&store(OBJ + 4, 4, 0x8877_6655));
    assert_eq!(w.value_at(OBJ, 8), Some(0x8877_6655_4433_2211));
    // A plain write says nothing about what it writes.
    w.apply(&op(1, OpKind::Write, OBJ + 3, 2));
    assert_eq!((w.value_at(OBJ, 2), w.value_at(OBJ, 4), w.value_at(OBJ + 4, 1)), (Some(0x2211), None, None));
    assert_eq!(w.value_at(OBJ + 5, 2), Some(0x7766));
    w.apply(&op(1, OpKind::Free, OBJ - 64, 256));
    assert_eq!(w.value_at(OBJ, 2), None);
    // What cannot be known is taken from the operation itself.
    let unknown = edit(op(1, OpKind::AtomicCas, OBJ, 5), |w| {
        w.outcome = Outcome::Failed;
        w.old = 3
    });
    assert_eq!(w.outcome_of(&unknown, 0), unknown);
    assert_eq!(w.value_at(OBJ, 16), None);
}

#[test]
fn initial_values_come_from_the_execution() {
    let mut execution = Execution::empty();
    execution.threads = vec![ThreadInfo::default()];
    execution.events = vec![
        edit(op(0, OpKind::AtomicRmw, OBJ, 0), |w| {
            w.value = 7;
            w.old = 4
        }),
        edit(op(0, OpKind::AtomicLoad, OBJ, 0), |w| w.value = 7),
        edit(op(0, OpKind::AtomicLoad, OBJ + 8, 0), |w| w.value = 1),
    ];
    let mut w = SyncState::new(0);
    w.prepare(&execution);
    assert_eq!((w.value_at(OBJ, 4), w.value_at(OBJ + 8, 4)), (Some(4), Some(1)));
    w.prepare(&Execution::empty());
    assert_eq!(w.value_at(OBJ, 4), None);
}

#[test]
fn futex() {
    let mut w = world(3, 0);
    let wait = |thread, expected| op(thread, OpKind::FutexWait, OBJ, expected);
    let resume = |thread| op(thread, OpKind::FutexResume, OBJ, 0);
    w.make(edit(op(0, OpKind::AtomicStore, OBJ, 0), |w| w.value = 1));
    assert_eq!(w.make(wait(1, 0)), Outcome::Failed);
    for thread in 1..=3 {
        assert_eq!(w.make(wait(thread, 1)), Outcome::Done);
    }
    assert_eq!(w.enabled(&resume(1)), Enabled::No);
    let wake = |count| op(0, OpKind::FutexWake, OBJ, count);
    assert_eq!((w.successors(&wake(1)), w.successors(&wake(2)), w.successors(&wake(9))), (3, 3, 1));
    // Two of three, in order of ranks 3 2 1: {3 2}, {3 1}, {2 1}.
    let pairs: Vec<u64> = (0..3).map(|choice| w.outcome_of(&wake(2), choice).op.pack().value).collect();
    assert_eq!(pairs, [0b1100, 0b1010, 0b0110]);
    assert_eq!(w.choose(wake(2), 2).op.pack().old, 3);
    assert_eq!((w.enabled(&resume(3)), w.enabled(&resume(1))), (Enabled::No, Enabled::Yes));
    assert_eq!(w.make(resume(1)), Outcome::Done);
    assert_eq!(w.choose(wake(1), 0).op.pack().value, 1 << 3);
}

#[test]
fn changes_can_be_taken_back() {
    let mut w = world(2, 0);
    w.make(lock(1, MutexKind::Normal));
    let start = w.mark();
    w.make(unlock(1, MutexKind::Normal));
    let middle = w.mark();
    w.make(lock(2, MutexKind::Normal));
    w.make(op(2, OpKind::ThreadEnd, 0, 0));
    w.rollback(middle);
    assert!(w.is_alive(2));
    assert_eq!(w.enabled(&lock(2, MutexKind::Normal)), Enabled::Yes);
    w.rollback(start);
    assert_eq!(w.enabled(&lock(2, MutexKind::Normal)), Enabled::No);
}

#[test]
fn disagreement_is_told() {
    let mut execution = Execution::empty();
    execution.threads = vec![ThreadInfo::default()];
    execution.events = vec![op(0, OpKind::TryLock, MUTEX, 0), op(0, OpKind::TryLock, MUTEX, 0)];
    // One state for all: nothing is left of the execution before.
    let mut state = SyncState::new(0);
    let wrong = state.check(&execution).unwrap_err();
    assert_eq!((wrong.index, wrong.expected.unwrap().op.outcome()), (1, Outcome::Failed));
    execution.events[1] = op(0, OpKind::Lock, MUTEX, 0);
    assert_eq!(state.check(&execution).unwrap_err().expected, None);
    // Unless the program may have written over the mutex unseen.
    assert_eq!(state.check_calls(&execution), Ok(()));
    execution.events[1] = op(0, OpKind::Unlock, MUTEX, 0);
    assert_eq!(state.check(&execution), Ok(()));
}

#[test]
fn memory_that_changes_without_a_step_is_opaque() {
    let mut execution = Execution::empty();
    execution.threads = vec![ThreadInfo::default()];
    let store = edit(op(0, OpKind::AtomicStore, OBJ, 0), |w| w.value = 3);
    let load = |value| edit(op(0, OpKind::AtomicLoad, OBJ, 0), |w| w.value = value);
    let mut w = SyncState::new(0);
    execution.events = vec![store, load(3)];
    w.prepare(&execution);
    assert!(!w.has_opaque_memory());
    assert_eq!(w.value_at(OBJ, 4), Some(0));
    let cas = edit(op(0, OpKind::AtomicCas, OBJ, 0), |w| w.outcome = Outcome::Failed);
    assert!(w.is_certain(&cas) && w.outcome_of(&cas, 0).op.outcome() == Outcome::Done);
    // The location was written plainly in between.
    execution.events = vec![store, load(4)];
    w.prepare(&execution);
    assert!(w.has_opaque_memory());
    assert_eq!(w.value_at(OBJ, 4), None);
    assert!(!w.is_certain(&cas) && w.outcome_of(&cas, 0).op.outcome() == Outcome::Failed);
    assert_eq!(SyncState::new(0).check(&execution), Ok(()));
}

#[test]
fn many_threads() {
    let mut w = world(100, 0);
    for thread in [70, 80, 5] {
        sleep(&mut w, thread, OpKind::CondWait);
    }
    // Ranks go down with the numbers: 80, 70, 5. Numbers from 63 on share a bit.
    let signal = op(0, OpKind::Signal, OBJ, 0);
    assert_eq!(w.outcome_of(&signal, 2).op.pack().value, 1 << 5);
    let step = w.choose(signal, 0);
    assert_eq!(step.op.pack().value, 1 << 63);
    assert_eq!(w.enabled(&op(80, OpKind::CondReacquire, OBJ, MUTEX)), Enabled::Yes);
    assert_eq!(w.enabled(&op(70, OpKind::CondReacquire, OBJ, MUTEX)), Enabled::No);
}

/// A handler stops the thread that it interrupts, owns what that one owns, and may end its wait.
#[test]
fn a_handler_acts_for_the_thread_that_it_interrupts() {
    let handling = |onto, interrupts| Handling { target: 1, onto, signal: 10, interrupts };
    let signal = |thread, op| Event { exposed: true, ..Event::new(thread, Op::Signal(op)) };
    let exposed = |event: Event| Event { exposed: true, ..event };
    let mut state = SyncState::new(0);
    for _ in 0..3 {
        let child = state.add_thread(ThreadPath(vec![state.by_rank().len() as u32]));
        state.apply(&op(0, OpKind::Create, 0, u64::from(child)));
    }
    state.apply(&exposed(lock(1, MutexKind::Recursive)));
    state.apply(&signal(2, SignalOp::Begin(handling(1, false))));
    assert_eq!(state.enabled(&exposed(unlock(1, MutexKind::Recursive))), Enabled::No, "it is suspended");
    assert_eq!(state.outcome_of(&exposed(lock(2, MutexKind::Recursive)), 0).op.outcome(), Outcome::Nested);
    assert_eq!(state.enabled(&exposed(lock(2, MutexKind::Normal))), Enabled::No, "a normal mutex is not taken twice");
    // Another signal interrupts the handler, not the thread.
    let second = state.outcome_of(&signal(3, SignalOp::Begin(handling(1, false))), 0);
    assert_eq!(second, signal(3, SignalOp::Begin(handling(2, false))));
    state.apply(&second);
    assert_eq!(state.enabled(&signal(2, SignalOp::Return { handling: handling(1, true), awaited: 0 })), Enabled::No);
    state.apply(&signal(3, SignalOp::Return { handling: handling(2, false), awaited: 0 }));
    let wait = exposed(op(1, OpKind::SemWait, OBJ + 64, 0));
    state.apply(&signal(2, SignalOp::Return { handling: handling(1, true), awaited: 0 }));
    assert_eq!(state.outcome_of(&wait, 0).op.outcome(), Outcome::Failed, "its wait was interrupted");
    state.apply(&state.outcome_of(&wait, 0));
    assert_eq!(state.enabled(&wait), Enabled::No);
}
