//! Operations that no schedule reverses with earlier operations of other threads, although they
//! conflict. Summaries leave them out: they would request nothing.
//!
//! An operation X of thread q is left out if everything of other threads that it conflicts with
//! happens before q's earlier operations, whatever the schedule:
//!
//! * X creates, starts, ends or joins a thread, and nothing else is done with that thread.
//! * X gives back a lock that q holds, and all uses of the lock are blocking acquisitions and
//!   releases by the holder. A use that X conflicts with cannot lie between q's acquisition and X.
//!   So it is before the acquisition, and conflicts with that.
//! * X is made under a mutex, and so is everything else that touches the same cell, under the same
//!   mutex, whose uses are those above. An earlier event under the mutex is before q's acquisition:
//!   its thread has given the mutex back before that. Signals and waits for a condition variable
//!   are such operations. They also touch the cells by which threads learn that they were woken; a
//!   thread that is woken has begun its wait under the mutex, and the earlier uses of its cell lie
//!   before that.
//! * X is made by the first thread while every thread that was created is joined. Such an event
//!   also reverses nothing as the earlier of two: the threads behind it are created behind it.
//!
//! The same holds for accesses to memory, which then cannot race.
//!
//! Invariant: what is said of an object holds for all events that the search has met. An event that
//! breaks it is news, upon which everything is given up that was left out before.

use raddle_model::object::{LockChange, MutexAction, Patience, RwlockAction, ThreadOp};
use raddle_model::{Event, Footprint, Op, Touch};
use raddle_vocab::policy::mix;
use raddle_vocab::{Outcome, SECTION};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Mutexes, sorted.
pub(crate) type Mutexes = SmallVec<[u64; 2]>;

/// What all events that touch a cell have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CellUse {
    /// They create, start, end or join a thread.
    is_life: bool,
    /// They take a lock, waiting for it if need be, or give back what their thread holds.
    is_lock: bool,
    /// Their threads hold these mutexes.
    guards: Mutexes,
}

/// How the objects of a program are used, and where the threads of the present execution are.
#[derive(Debug, Default)]
pub(crate) struct OrderedUses {
    pub(super) cells: FxHashMap<u64, CellUse>,
    /// Locks that each thread holds, once for each time that it took them, and whether only for
    /// reading.
    held: Vec<Vec<(u64, bool)>>,
    /// Threads that were created and not joined.
    unjoined: i64,
}

impl OrderedUses {
    /// An execution begins.
    pub fn begin(&mut self) {
        self.held.iter_mut().for_each(Vec::clear);
        self.unjoined = 0;
    }

    /// Whether the thread is the first one and all others are joined.
    pub fn is_alone(&self, thread: u16) -> bool {
        thread == 0 && self.unjoined == 0
    }

    /// The mutexes, and the other locks for writing, that the thread holds and that order what is
    /// done under them.
    pub fn guards(&self, thread: u16) -> Mutexes {
        let held = self.held.get(usize::from(thread)).into_iter().flatten();
        let own = held.filter(|&&(lock, is_shared)| !is_shared && self.is_ordinary(lock));
        let mut guards: Mutexes = own.map(|&(lock, _)| lock).collect();
        guards.sort_unstable();
        guards.dedup();
        guards
    }

    /// Which threads hold locks for reading, as a number; 0 if none does. The state of a lock says
    /// how many readers it has, and which thread waits for itself depends on which they are.
    pub fn readers(&self) -> u64 {
        let held = self.held.iter().zip(1u64..).flat_map(|(held, thread)| held.iter().map(move |lock| (thread, lock)));
        let shared = held.filter(|(_, (_, is_shared))| *is_shared);
        shared.map(|(thread, (lock, _))| mix(lock ^ mix(thread))).fold(0, u64::wrapping_add)
    }

    /// Whether all uses of the lock are ordinary.
    pub fn is_ordinary(&self, lock: u64) -> bool {
        self.cells.get(&(lock >> 3)).is_some_and(|cell| cell.is_lock)
    }

    /// Notes the use of objects by the next event; whether less is true of one of them than was
    /// before.
    pub fn note(&mut self, event: &Event, touches: &Footprint) -> bool {
        if self.is_alone(event.thread) {
            return false;
        }
        let guards = self.guards(event.thread);
        let (is_life, mut is_news) = (is_life(&event.op), false);
        for touch in touches.iter().filter(|touch| !touch.is_wait()) {
            let is_lock = self.takes(&event.op, touch) || self.gives_back(event, touch);
            match self.cells.get_mut(&touch.cell) {
                None => {
                    self.cells.insert(touch.cell, CellUse { is_life, is_lock, guards: guards.clone() });
                }
                Some(cell) => {
                    is_news |= cell.is_life && !is_life || cell.is_lock && !is_lock;
                    cell.is_life &= is_life;
                    cell.is_lock &= is_lock;
                    if !cell.guards.is_empty() {
                        cell.guards.retain(|guard| guards.contains(guard));
                        is_news |= cell.guards.is_empty();
                    }
                }
            }
        }
        // The next holder of what a thread holds that ends is not ordered by a release.
        if event.op == Op::Thread(ThreadOp::End) {
            for (lock, _) in self.held.get(usize::from(event.thread)).cloned().unwrap_or_default() {
                if let Some(cell) = self.cells.get_mut(&(lock >> 3)) {
                    is_news |= cell.is_lock;
                    cell.is_lock = false;
                }
            }
        }
        is_news
    }

    /// Goes over the event.
    pub fn step(&mut self, event: &Event) {
        match event.op {
            Op::Thread(ThreadOp::Create { failed: false, .. }) => self.unjoined += 1,
            Op::Thread(ThreadOp::Join { refused: false, .. }) => self.unjoined -= 1,
            _ => {}
        }
        let Some(change) = event.op.lock_change() else { return };
        let thread = usize::from(event.thread);
        if self.held.len() <= thread {
            self.held.resize_with(thread + 1, Vec::new);
        }
        match change {
            LockChange::Acquire { object, shared, once: false, .. } => self.held[thread].push((object, shared)),
            LockChange::Release(object) => {
                let held = &mut self.held[thread];
                if let Some(at) = held.iter().rposition(|&(lock, _)| lock == object) {
                    held.swap_remove(at);
                }
            }
            LockChange::Reset(object) => {
                self.held.iter_mut().for_each(|held| held.retain(|&(lock, _)| lock != object));
            }
            LockChange::Acquire { .. } | LockChange::FinishGuard(_) => {}
        }
    }

    /// Whether nothing that the next event conflicts with can be behind it in another schedule.
    pub fn is_fixed(&self, event: &Event, touches: &Footprint) -> bool {
        if self.is_alone(event.thread) {
            return true;
        }
        let guards = self.guards(event.thread);
        touches.iter().all(|touch| {
            if touch.is_wait() {
                return matches!(event.op, Op::Cond(_)) && !event.op.ends_wait();
            }
            let Some(cell) = self.cells.get(&touch.cell) else { return false };
            cell.is_life && is_life(&event.op)
                || cell.is_lock && self.gives_back(event, touch)
                || cell.guards.iter().any(|guard| guards.contains(guard))
        })
    }

    /// The same for an operation that a thread stands before.
    pub fn is_pending_fixed(&self, op: &Op, touches: &Footprint) -> bool {
        touches.iter().all(|touch| is_life(op) && self.cells.get(&touch.cell).is_some_and(|cell| cell.is_life))
    }

    /// Whether the operation takes the lock at the cell, and waits for it if need be.
    fn takes(&self, op: &Op, touch: &Touch) -> bool {
        match op {
            Op::Mutex(op) => {
                let is_lock = op.action == MutexAction::Lock(Patience::Block) && op.outcome == Outcome::Done;
                is_lock && op.mutex != SECTION && op.mutex >> 3 == touch.cell
            }
            Op::Rwlock(op) => {
                let is_lock =
                    matches!(op.action, RwlockAction::Read(Patience::Block) | RwlockAction::Write(Patience::Block));
                is_lock && op.outcome == Outcome::Done && !op.writers_first && op.rwlock >> 3 == touch.cell
            }
            Op::Cond(_) => op.takes_mutex_again() && op.mutex_of_wait().is_some_and(|mutex| mutex >> 3 == touch.cell),
            _ => false,
        }
    }

    /// Whether the event gives back a lock at the cell that its thread holds.
    fn gives_back(&self, event: &Event, touch: &Touch) -> bool {
        let released = match event.op {
            Op::Mutex(op) if op.action == MutexAction::Unlock && op.outcome == Outcome::Done => op.mutex,
            Op::Rwlock(op) if matches!(op.action, RwlockAction::Unlock { .. }) && !op.writers_first => op.rwlock,
            Op::Cond(_) if event.op.begins_wait() => event.op.mutex_of_wait().unwrap_or(SECTION),
            _ => return false,
        };
        let held = self.held.get(usize::from(event.thread));
        released != SECTION
            && released >> 3 == touch.cell
            && held.is_some_and(|held| held.iter().any(|&(lock, _)| lock == released))
    }
}

/// Whether the operation is one in the ordinary life of a thread.
fn is_life(op: &Op) -> bool {
    matches!(
        op,
        Op::Thread(
            ThreadOp::Create { failed: false, .. }
                | ThreadOp::Start
                | ThreadOp::End
                | ThreadOp::Join { refused: false, .. }
        )
    )
}
