//! Which locks a thread holds.

use raddle_vocab::{OpKind, Outcome};

use crate::execution::Event;

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
    /// Number of the step that acquired it.
    pub step: u32,
}

/// All locks that are held, in the order of acquisition.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    all: Vec<Held>,
}

impl Holdings {
    /// Nobody holds anything.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// Follows one step.
    pub fn apply(&mut self, step: &Event, number: u32) {
        let got = matches!(step.outcome, Outcome::Done | Outcome::Nested);
        match step.kind {
            OpKind::Lock
            | OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::WriteLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
            | OpKind::OnceBegin
                if got =>
            {
                self.acquire(step, step.obj, false, number);
            }
            OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock if got => {
                self.acquire(step, step.obj, true, number);
            }
            OpKind::CondReacquire => self.acquire(step, step.arg, false, number),
            OpKind::Unlock if got => self.release(step.thread, step.obj),
            OpKind::RwUnlock => self.release(step.thread, step.obj),
            OpKind::OnceEnd | OpKind::OnceAbort => self.release(step.thread, step.obj),
            // Sets the guard of a static whose initialiser the thread has run.
            OpKind::AtomicStore => {
                self.all.retain(|held| held.thread != step.thread || held.object != step.obj);
            }
            OpKind::CondWait | OpKind::CondTimedWait => self.release(step.thread, step.arg),
            OpKind::MutexInit | OpKind::MutexDestroy | OpKind::RwInit | OpKind::RwDestroy => {
                self.all.retain(|held| held.object != step.obj);
            }
            _ => {}
        }
    }

    fn acquire(&mut self, step: &Event, object: u64, shared: bool, number: u32) {
        let mine = |held: &&mut Held| held.thread == step.thread && held.object == object;
        match self.all.iter_mut().find(mine) {
            Some(held) => held.depth += 1,
            None => {
                self.all.push(Held {
                    thread: step.thread,
                    object,
                    pc: step.pc,
                    shared,
                    depth: 1,
                    once: step.kind == OpKind::OnceBegin,
                    step: number,
                });
            }
        }
    }

    /// Whoever holds it loses one level; the thread itself if it is among them.
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

    /// Who holds an object.
    pub fn of_object(&self, object: u64) -> impl Iterator<Item = &Held> {
        self.all.iter().filter(move |held| held.object == object)
    }
}

/// The locks that a thread holds before the step with this number (or at the end), in the order of acquisition.
#[must_use]
pub fn locks_held(steps: &[Event], thread: u16, before: usize) -> Vec<Held> {
    let mut holdings = Holdings::default();
    for (number, step) in steps.iter().enumerate().take(before) {
        holdings.apply(step, number as u32);
    }
    holdings.of_thread(thread).copied().collect()
}
