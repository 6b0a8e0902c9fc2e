//! Which locks a thread holds.

use raddle_vocab::handler::Handling;

use crate::execution::Event;
use crate::object::{LockChange, Op, SignalOp, ThreadOp};

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Run-local number of the thread.
    pub thread: u16,
    /// The mutex, rwlock, or once control whose initialiser it runs.
    pub object: u64,
    /// Where it was acquired.
    pub pc: u64,
    /// Only for reading.
    pub shared: bool,
    /// How often, for a recursive mutex or a reader.
    pub depth: u32,
    /// It is the initialiser of a once control.
    pub once: bool,
    /// Number of the event that acquired it.
    pub event: u32,
}

/// All locks that are held, in the order of acquisition.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    all: Vec<Held>,
    /// Threads that live beside the first.
    others: usize,
    /// Whether a thread has acquired a lock that was not free, while others could have.
    is_overwritten: bool,
    /// Couriers whose handlers run, each with its target and the thread that it has suspended.
    handlers: Vec<(u16, Handling)>,
}

impl Holdings {
    /// Forgets all locks held.
    pub fn clear(&mut self) {
        self.all.clear();
        self.handlers.clear();
        (self.others, self.is_overwritten) = (0, false);
    }

    /// Whether no lock is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Follows the life of threads.
    #[inline]
    pub fn follow_thread(&mut self, op: &ThreadOp) {
        match op {
            ThreadOp::Create { .. } => self.others += 1,
            ThreadOp::End => self.others = self.others.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether a thread has acquired a lock that was held, as far as the events tell, while another
    /// thread lived. The program has written over it, or uses its memory for another lock.
    #[must_use]
    pub fn is_overwritten(&self) -> bool {
        self.is_overwritten
    }

    /// The thread for which this one acts: the target of the handler that it runs, or itself.
    #[must_use]
    pub fn owner(&self, thread: u16) -> u16 {
        let running = self.handlers.iter().rev().find(|(courier, _)| *courier == thread);
        running.map_or(thread, |(_, handling)| handling.target)
    }

    /// The courier that runs a handler in the place of the thread.
    #[must_use]
    pub fn suspended_by(&self, thread: u16) -> Option<u16> {
        self.handlers.iter().find(|(_, handling)| handling.onto == thread).map(|&(courier, _)| courier)
    }

    /// Follows one event.
    #[inline]
    pub fn apply(&mut self, event: &Event, number: u32) {
        match event.op {
            Op::Signal(SignalOp::Begin(handling)) => self.handlers.push((event.thread, handling)),
            Op::Signal(SignalOp::Return { .. }) => self.handlers.retain(|(courier, _)| *courier != event.thread),
            _ => {}
        }
        match event.op.lock_change() {
            Some(LockChange::Acquire { object, shared, once, was_free }) => {
                let (thread, pc) = (self.owner(event.thread), event.pc);
                if was_free && self.of_object(object).any(|held| !(held.shared && shared)) {
                    self.is_overwritten |= self.others > 0;
                    self.all.retain(|held| held.object != object);
                }
                self.acquire(Held { thread, object, pc, shared, depth: 1, once, event: number });
            }
            Some(LockChange::Release(object)) => self.release(self.owner(event.thread), object),
            // A store to any atomic location: mostly, no lock is held.
            Some(LockChange::FinishGuard(_)) if self.all.is_empty() => {}
            Some(LockChange::FinishGuard(guard)) => {
                self.all.retain(|held| held.thread != event.thread || held.object != guard);
            }
            Some(LockChange::Reset(object)) => self.all.retain(|held| held.object != object),
            None => {}
        }
    }

    fn acquire(&mut self, new: Held) {
        let mine = |held: &&mut Held| held.thread == new.thread && held.object == new.object;
        match self.all.iter_mut().find(mine) {
            Some(held) => held.depth += 1,
            None => self.all.push(new),
        }
    }

    /// Takes one level from a holder: from the thread itself if it is one.
    fn release(&mut self, thread: u16, object: u64) {
        let own = self.all.iter().position(|held| held.thread == thread && held.object == object);
        let Some(at) = own.or_else(|| self.all.iter().position(|held| held.object == object)) else { return };
        self.all[at].depth -= 1;
        if self.all[at].depth == 0 {
            self.all.remove(at);
        }
    }

    /// Takes out what lies in these bytes.
    pub fn drop_within(&mut self, start: u64, size: u64) -> Vec<Held> {
        let range = start..start.saturating_add(size);
        self.all.extract_if(.., |held| range.contains(&held.object)).collect()
    }

    /// What a thread holds.
    pub fn of_thread(&self, thread: u16) -> impl Iterator<Item = &Held> {
        self.all.iter().filter(move |held| held.thread == thread)
    }

    /// The threads that hold an object.
    pub fn of_object(&self, object: u64) -> impl Iterator<Item = &Held> {
        self.all.iter().filter(move |held| held.object == object)
    }
}

/// The locks that a thread holds before the event with this number (or at the end), in the order of
/// acquisition.
#[must_use]
pub fn locks_held(events: &[Event], thread: u16, before: usize) -> Vec<Held> {
    let mut holdings = Holdings::default();
    for (number, event) in events.iter().enumerate().take(before) {
        holdings.apply(event, number as u32);
    }
    holdings.of_thread(thread).copied().collect()
}
