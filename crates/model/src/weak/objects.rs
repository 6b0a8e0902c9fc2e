//! Synchronising objects in graphs.
//!
//! All operations on an object have one order: each is a read-modify-write of a location that is no
//! memory to the program, with the object's state as the value. So operations that commute, as
//! those of readers, are ordered, and count as different executions. Joining threads and barriers
//! only follow other events.

use std::collections::{BTreeMap, BTreeSet};

use raddle_vocab::{MemOrder, MutexKind, Outcome, SECTION, update};

use super::graph::{Label, NO_CAUSE, ReadLabel, ThenWrites, WriteLabel};
use super::record::{Run, Stop, Unmodelled, atomic_read};
use crate::execution::{HeldRead, PendingState};
use crate::object::{
    BarrierAction, BarrierOp, MutexAction, MutexOp, OnceAction, OnceOp, Op, Patience, RwlockAction, RwlockOp,
    SemaphoreAction, SemaphoreOp, ThreadOp,
};

/// The barriers of a run.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// How many threads meet there.
    sizes: BTreeMap<u64, u32>,
    /// Threads that have arrived.
    threads: BTreeSet<(u64, u16)>,
    /// The last arrival of each round.
    last_arrivals: BTreeMap<(u64, u64), u32>,
}

impl Run<'_> {
    /// Adds an operation on an object.
    pub fn object(&mut self, thread: u16, op: &Op) -> Result<(), Stop> {
        match *op {
            Op::Mutex(op) => self.mutex(thread, op),
            Op::Rwlock(op) => self.rwlock(thread, op),
            Op::Semaphore(op) => self.semaphore(thread, op),
            Op::Barrier(op) => self.barrier(thread, op),
            Op::Once(op) => self.once(thread, op),
            _ => Err(unmodelled(op).into()),
        }
    }

    fn mutex(&mut self, thread: u16, op: MutexOp) -> Result<(), Stop> {
        if op.mutex == SECTION {
            return Err(Unmodelled::Sections.into());
        }
        match (op.action, op.outcome) {
            (MutexAction::Init | MutexAction::Destroy, _) => {
                self.end_lives(op.mutex, 1);
                self.push(thread, Label::Local, NO_CAUSE);
                Ok(())
            }
            (MutexAction::Lock(Patience::Block), Outcome::Done) => {
                let read = self.object_read(op.mutex, MemOrder::Acquire, ThenWrites::Lock)?;
                self.read(thread, read, 0)?;
                Ok(())
            }
            (MutexAction::Lock(_), Outcome::Done | Outcome::Failed | Outcome::TimedOut) => {
                let read = self.object_read(op.mutex, MemOrder::Acquire, ThenWrites::TryLock)?;
                let found = self.read(thread, read, 0)?;
                if (found == 0) == (op.outcome == Outcome::Done) { Ok(()) } else { Err(Stop::Diverged) }
            }
            (MutexAction::Unlock, Outcome::Done) => {
                let then = ThenWrites::Unlock { is_locked: op.kind != MutexKind::Spin };
                let read = self.object_read(op.mutex, MemOrder::Release, then)?;
                self.read(thread, read, 0)?;
                Ok(())
            }
            // It depends on its own thread alone.
            (MutexAction::Lock(_), _) | (MutexAction::Unlock, Outcome::Nested) => {
                self.push(thread, Label::Local, NO_CAUSE);
                Ok(())
            }
            (MutexAction::Unlock, _) => Err(Unmodelled::ForeignUnlock.into()),
        }
    }

    fn object_read(&mut self, object: u64, order: MemOrder, then: ThenWrites) -> Result<ReadLabel, Stop> {
        let location = self.location(object, 0, 0)?;
        Ok(ReadLabel { location, order, then, continues: false, held: HeldRead::NONE })
    }

    /// The operations of a semaphore have one order.
    fn semaphore(&mut self, thread: u16, op: SemaphoreOp) -> Result<(), Stop> {
        let (order, then) = match op.action {
            SemaphoreAction::Init { count, named: false } => {
                self.end_lives(op.semaphore, 1);
                self.location(op.semaphore, 0, count)?;
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            SemaphoreAction::Destroy { .. } => {
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            SemaphoreAction::Init { named: true, .. } => return Err(Unmodelled::Semaphores.into()),
            SemaphoreAction::Post => (MemOrder::Release, ThenWrites::Always { how: update::ADD, operand: 1, size: 8 }),
            SemaphoreAction::Wait { patience: Patience::Block, .. } => (MemOrder::Acquire, ThenWrites::Take),
            SemaphoreAction::Wait { .. } => (MemOrder::Acquire, ThenWrites::TryTake),
        };
        if !self.live.contains_key(&op.semaphore) {
            return Err(Unmodelled::Semaphores.into());
        }
        let read = self.object_read(op.semaphore, order, then)?;
        let found = self.read(thread, read, 0)?;
        let is_taken = !matches!(op.action, SemaphoreAction::Wait { taken: false, .. });
        if is_taken && then.takes() && found == 0 || !is_taken && found > 0 { Err(Stop::Diverged) } else { Ok(()) }
    }

    /// The operations of a read-write lock have one order. That of readers among each other orders
    /// nothing else: only a writer synchronises with readers, and they with writers.
    fn rwlock(&mut self, thread: u16, op: RwlockOp) -> Result<(), Stop> {
        let (order, then) = match op.action {
            RwlockAction::Init | RwlockAction::Destroy => {
                self.end_lives(op.rwlock, 1);
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            // It depends on its own thread alone.
            _ if op.outcome == Outcome::Refused => {
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            _ if op.writers_first => return Err(Unmodelled::Rwlocks.into()),
            RwlockAction::Announce { .. } => return Err(Unmodelled::Rwlocks.into()),
            RwlockAction::Read(Patience::Block) => (MemOrder::Acquire, ThenWrites::ReadLock),
            RwlockAction::Read(_) => (MemOrder::Acquire, ThenWrites::TryReadLock),
            RwlockAction::Write(Patience::Block) => (MemOrder::Acquire, ThenWrites::WriteLock),
            RwlockAction::Write(_) => (MemOrder::Acquire, ThenWrites::TryWriteLock),
            RwlockAction::Unlock { writer: true } => (MemOrder::Release, ThenWrites::WriteUnlock),
            RwlockAction::Unlock { writer: false } => (MemOrder::Release, ThenWrites::ReadUnlock),
        };
        let read = self.object_read(op.rwlock, order, then)?;
        let found = self.read(thread, read, 0)?;
        let is_done = op.outcome == Outcome::Done;
        if then.gives_up(found) == is_done { Err(Stop::Diverged) } else { Ok(()) }
    }

    /// A departure follows all arrivals of its round. These follow each other, which orders nothing
    /// else: the next event of their threads is the departure.
    fn barrier(&mut self, thread: u16, op: BarrierOp) -> Result<(), Stop> {
        let here = self.graph.nodes.len() as u32;
        let cause = match op.action {
            BarrierAction::Init { size } => {
                self.barriers.sizes.insert(op.barrier, size);
                self.barriers.threads.retain(|&(barrier, _)| barrier != op.barrier);
                self.barriers.last_arrivals.retain(|&(barrier, _), _| barrier != op.barrier);
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            BarrierAction::Destroy => {
                self.push(thread, Label::Local, NO_CAUSE);
                return Ok(());
            }
            BarrierAction::Arrive { round, .. } => {
                let barriers = &mut self.barriers;
                barriers.threads.insert((op.barrier, thread));
                // Which threads make a round would depend on who comes first.
                let threads = barriers.threads.iter().filter(|(barrier, _)| *barrier == op.barrier).count();
                if barriers.sizes.get(&op.barrier).is_none_or(|&size| threads as u64 > u64::from(size)) {
                    return Err(Unmodelled::Barriers.into());
                }
                barriers.last_arrivals.insert((op.barrier, round), here)
            }
            BarrierAction::Leave { round, .. } => self.barriers.last_arrivals.get(&(op.barrier, round)).copied(),
        };
        self.push(thread, Label::Thread, cause.unwrap_or(NO_CAUSE));
        Ok(())
    }

    fn once(&mut self, thread: u16, op: OnceOp) -> Result<(), Stop> {
        // The first half of a guard is an atomic object of its own, which compiled code reads.
        let control = if op.guard { op.control + 4 } else { op.control };
        let value = match op.action {
            OnceAction::Begin { already } => {
                let read = self.object_read(control, MemOrder::Acquire, ThenWrites::Begin)?;
                // It may have been done before the run.
                let is_known = (self.read(thread, read, 0)? == 2) == already;
                return if is_known { Ok(()) } else { Err(Unmodelled::UnseenChanges.into()) };
            }
            OnceAction::End => 2,
            OnceAction::Abort => 0,
        };
        let (order, location) = (MemOrder::Release, self.location(control, 0, 0)?);
        let write = WriteLabel { location, order, value, is_exclusive: false, continues: false, is_locked: true };
        self.write(thread, write, 0)
    }

    /// Adds the reads of threads that wait at the end of the run.
    pub fn add_waiting(&mut self) -> Result<(), Stop> {
        for thread in 0..self.execution.pending.len() {
            let pending = &self.execution.pending[thread];
            match (pending.state, pending.event.op) {
                (PendingState::Blocked, Op::Mutex(op)) => {
                    let read = self.object_read(op.mutex, MemOrder::Acquire, ThenWrites::Lock)?;
                    self.wait(thread as u16, read);
                }
                (PendingState::Blocked, Op::Semaphore(op)) if self.live.contains_key(&op.semaphore) => {
                    let read = self.object_read(op.semaphore, MemOrder::Acquire, ThenWrites::Take)?;
                    self.wait(thread as u16, read);
                }
                (PendingState::Blocked, Op::Rwlock(op)) if !op.writers_first => {
                    let is_writer = matches!(op.action, RwlockAction::Write(_));
                    let then = if is_writer { ThenWrites::WriteLock } else { ThenWrites::ReadLock };
                    let read = self.object_read(op.rwlock, MemOrder::Acquire, then)?;
                    self.wait(thread as u16, read);
                }
                (PendingState::Blocked, Op::Once(op)) => {
                    let control = if op.guard { op.control + 4 } else { op.control };
                    let read = self.object_read(control, MemOrder::Acquire, ThenWrites::Begin)?;
                    self.wait(thread as u16, read);
                }
                (PendingState::Awaiting | PendingState::Stale, Op::Atomic(op))
                    if op.size <= 8 && pending.event.held.0 != 0 =>
                {
                    let location = self.location(op.addr, op.size, pending.found)?;
                    let details = &self.execution.pending_details;
                    let detail = details.iter().find(|detail| detail.event as usize == thread);
                    let read = atomic_read(&op, location, detail, pending.event.held);
                    self.wait(thread as u16, read.ok_or(Unmodelled::BusyWaiting)?);
                }
                // What these wait for does not depend on values.
                (PendingState::Blocked, Op::Thread(ThreadOp::Join { .. }) | Op::Barrier(_)) => {}
                (PendingState::Blocked, op) => return Err(unmodelled(&op).into()),
                (PendingState::Awaiting | PendingState::Stale, _) => return Err(Unmodelled::BusyWaiting.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What an operation is that has no place in a graph.
fn unmodelled(op: &Op) -> Unmodelled {
    match op {
        Op::Rwlock(_) => Unmodelled::Rwlocks,
        Op::Cond(_) => Unmodelled::Conditions,
        Op::Semaphore(_) => Unmodelled::Semaphores,
        Op::Futex(_) => Unmodelled::Futexes,
        Op::Memory(_) => Unmodelled::PlainTransitions,
        Op::File(_) => Unmodelled::Files,
        Op::Choice(_) => Unmodelled::OpenValues,
        Op::Signal(_) => Unmodelled::Signals,
        Op::Mutex(_) | Op::Atomic(_) => Unmodelled::Sections,
        Op::Barrier(_) => Unmodelled::Barriers,
        Op::Thread(_) | Op::Fence(_) | Op::Exit(_) | Op::Once(_) => Unmodelled::Polls,
    }
}
