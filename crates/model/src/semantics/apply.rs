//! What a step that was made changes.

use raddle_vocab::{OpKind, Outcome};

use super::state::{Life, NOBODY, State, ThreadSet, Wait};
use super::{Space, SyncState, slice, spread};
use crate::depend::{GUARD, LIFE_WORDS};
use crate::execution::Event;

impl SyncState {
    /// Makes a step with the outcome it carries, whether or not it could happen in this state.
    pub fn apply(&mut self, step: &Event) {
        let done = step.outcome == Outcome::Done;
        let obj = step.obj;
        match step.kind {
            OpKind::ThreadStart | OpKind::Exit | OpKind::Fence | OpKind::Read | OpKind::Io => {}
            OpKind::ThreadEnd => self.change_thread(u64::from(step.thread), |thread| thread.life = Life::Ended),
            OpKind::Create if done => self.change_thread(step.arg, |thread| thread.life = Life::Alive),
            OpKind::Join | OpKind::Detach if done => self.change_thread(step.arg, |thread| thread.claimed = true),
            OpKind::Create | OpKind::Join | OpKind::Detach => {}
            OpKind::Lock | OpKind::TryLock | OpKind::TimedLock => {
                if matches!(step.outcome, Outcome::Done | Outcome::Nested) {
                    self.lock_mutex(obj, step.thread);
                }
            }
            OpKind::Unlock => {
                if matches!(step.outcome, Outcome::Done | Outcome::Nested) {
                    self.unlock_mutex(obj);
                }
            }
            OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock if done => {
                let (writer, readers) = self.rwlock(obj);
                self.set_object(obj, State::Rw { writer, readers: readers + 1 });
            }
            OpKind::WriteLock | OpKind::TryWriteLock | OpKind::TimedWriteLock if done => {
                self.set_object(obj, State::Rw { writer: step.thread, readers: 0 });
            }
            OpKind::ReadLock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::WriteLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock => {}
            OpKind::RwUnlock => {
                let (writer, readers) = self.rwlock(obj);
                let state = if step.arg == 1 || writer == step.thread {
                    State::Rw { writer: NOBODY, readers: 0 }
                } else {
                    State::Rw { writer, readers: readers.saturating_sub(1) }
                };
                self.set_object(obj, state);
            }
            OpKind::CondWait | OpKind::CondTimedWait => {
                if self.mutex(step.arg).0 == step.thread {
                    self.unlock_mutex(step.arg);
                }
                self.enqueue(Space::Object, step, step.kind == OpKind::CondTimedWait);
            }
            OpKind::CondReacquire => {
                self.leave_queue(Space::Object, step);
                self.lock_mutex(step.arg, step.thread);
            }
            OpKind::Signal | OpKind::Broadcast => self.wake_up(Space::Object, step),
            OpKind::FutexWait | OpKind::FutexTimedWait => {
                if done {
                    self.reveal(obj, 4, step.arg);
                    self.enqueue(Space::Queue, step, step.kind == OpKind::FutexTimedWait);
                }
            }
            OpKind::FutexResume => self.leave_queue(Space::Queue, step),
            OpKind::FutexWake => self.wake_up(Space::Queue, step),
            OpKind::SemInit => self.set_object(obj, State::Sem { count: step.arg }),
            OpKind::SemWait | OpKind::SemTryWait | OpKind::SemTimedWait => {
                if done {
                    let count = self.semaphore(obj).saturating_sub(1);
                    self.set_object(obj, State::Sem { count });
                }
            }
            OpKind::SemPost => {
                let count = self.semaphore(obj).saturating_add(1);
                self.set_object(obj, State::Sem { count });
            }
            OpKind::BarrierInit => {
                let size = u32::try_from(step.arg).unwrap_or(u32::MAX);
                self.set_object(obj, State::Barrier { size, round: 0, arrived: ThreadSet::default() });
            }
            OpKind::BarrierArrive => self.arrive_at(step),
            OpKind::BarrierLeave => self.change_thread(u64::from(step.thread), |thread| thread.wait = Wait::No),
            OpKind::OnceBegin => {
                self.guards |= step.arg == GUARD;
                if done {
                    self.set_object(obj, State::Once { runner: step.thread, finished: false });
                }
            }
            OpKind::OnceEnd => self.set_object(obj, State::Once { runner: NOBODY, finished: true }),
            OpKind::OnceAbort => self.set_object(obj, State::Once { runner: NOBODY, finished: false }),
            OpKind::MutexInit
            | OpKind::MutexDestroy
            | OpKind::RwInit
            | OpKind::RwDestroy
            | OpKind::CondInit
            | OpKind::CondDestroy
            | OpKind::SemDestroy
            | OpKind::BarrierDestroy => self.set_object(obj, State::Untouched),
            OpKind::AtomicLoad if obj & LIFE_WORDS != 0 => {}
            OpKind::AtomicLoad => self.reveal(obj, step.size, step.value),
            OpKind::AtomicStore | OpKind::AtomicRmw => {
                self.store(obj, step.size, Some(step.value));
                self.leave_guard(obj);
            }
            OpKind::AtomicCas if done => self.store(obj, step.size, Some(step.value)),
            OpKind::AtomicCas => self.reveal(obj, step.size, step.old),
            OpKind::Write => self.forget_memory(obj, step.extent()),
            OpKind::Free => self.forget_memory(obj, step.arg),
        }
    }

    fn set_object(&mut self, obj: u64, state: State) {
        self.set_state(Space::Object, obj, state);
    }

    fn change_thread(&mut self, number: u64, change: impl FnOnce(&mut super::Thread)) {
        let Ok(number) = u16::try_from(number) else { return };
        let mut thread = self.thread(number);
        change(&mut thread);
        self.set_thread(number, thread);
    }

    fn lock_mutex(&mut self, obj: u64, thread: u16) {
        let (owner, depth) = self.mutex(obj);
        let depth = if owner == thread { depth + 1 } else { 1 };
        self.set_object(obj, State::Mutex { owner: thread, depth });
    }

    fn unlock_mutex(&mut self, obj: u64) {
        let (owner, depth) = self.mutex(obj);
        let state =
            if depth > 1 { State::Mutex { owner, depth: depth - 1 } } else { State::Mutex { owner: NOBODY, depth: 0 } };
        self.set_object(obj, state);
    }

    fn enqueue(&mut self, space: Space, step: &Event, timed: bool) {
        let mut waiters = self.queue(space, step.obj);
        waiters.insert(step.thread);
        self.set_state(space, step.obj, State::Queue { waiters });
        self.change_thread(u64::from(step.thread), |thread| thread.wait = Wait::Queued { timed });
    }

    fn leave_queue(&mut self, space: Space, step: &Event) {
        if step.outcome != Outcome::Done {
            let mut waiters = self.queue(space, step.obj);
            waiters.remove(step.thread);
            self.set_state(space, step.obj, State::Queue { waiters });
        }
        self.change_thread(u64::from(step.thread), |thread| {
            thread.wait = Wait::No;
            thread.spurious += u32::from(step.outcome == Outcome::Spurious);
        });
    }

    /// Bit 63 of `value` stands for any thread from 63 on: a broadcast wakes all of those, a signal the one of least
    /// rank among them.
    fn wake_up(&mut self, space: Space, step: &Event) {
        if step.value == 0 {
            return;
        }
        let mut waiters = self.queue(space, step.obj);
        let mut others = if step.kind == OpKind::Signal { 1 } else { u32::MAX };
        for index in 0..self.by_rank.len() {
            let thread = self.by_rank[index];
            let named = thread < 63 && step.value & (1 << thread) != 0;
            let beyond = thread >= 63 && step.value >> 63 != 0 && others > 0;
            if waiters.contains(thread) && (named || beyond) {
                others -= u32::from(beyond);
                waiters.remove(thread);
                self.change_thread(u64::from(thread), |thread| thread.wait = Wait::Woken);
            }
        }
        self.set_state(space, step.obj, State::Queue { waiters });
    }

    fn arrive_at(&mut self, step: &Event) {
        let (size, round, mut arrived) = self.barrier(step.obj);
        arrived.insert(step.thread);
        if arrived.len() < size {
            self.change_thread(u64::from(step.thread), |thread| thread.wait = Wait::Arrived);
            self.set_object(step.obj, State::Barrier { size, round, arrived });
            return;
        }
        let mut serial = true;
        for index in 0..self.by_rank.len() {
            let thread = self.by_rank[index];
            if arrived.contains(thread) {
                self.change_thread(u64::from(thread), |thread| thread.wait = Wait::Released { serial });
                serial = false;
            }
        }
        self.set_object(step.obj, State::Barrier { size, round: round + 1, arrived: ThreadSet::default() });
    }

    /// Setting the byte of a guard is also the end of its initialiser.
    fn leave_guard(&mut self, obj: u64) {
        if self.guards && matches!(self.state(Space::Object, obj), State::Once { .. }) {
            self.set_object(obj, State::Once { runner: NOBODY, finished: true });
        }
    }

    /// Changes the bytes of an access within one cell; to an unknown value if it is not given.
    fn store(&mut self, addr: u64, size: u32, value: Option<u64>) {
        let Some((cell, shift, mask)) = slice(addr, size) else {
            return self.forget_memory(addr, u64::from(size));
        };
        let (known, bits) = match self.state(Space::Memory, cell) {
            State::Memory { known, bits } => (known, bits),
            _ => (0, 0),
        };
        let state = match value {
            Some(value) => {
                let changed = spread(mask);
                State::Memory { known: known | mask, bits: (bits & !changed) | ((value << shift) & changed) }
            }
            None => State::Memory { known: known & !mask, bits },
        };
        self.set_state(Space::Memory, cell, state);
    }

    /// Nobody knows what these bytes hold from now on.
    fn forget_memory(&mut self, addr: u64, size: u64) {
        let last = addr.saturating_add(size.max(1) - 1);
        for cell in addr >> 3..=last >> 3 {
            if self.state(Space::Memory, cell) == State::Untouched {
                continue;
            }
            let from = addr.max(cell << 3) & 7;
            let to = last.min((cell << 3) | 7) & 7;
            self.store((cell << 3) | from, (to - from + 1) as u32, None);
        }
    }
}
