//! Condition variables.
//!
//! A wait is two operations: it releases the mutex and enqueues, then it reacquires the mutex once
//! it was woken. A timed wait is three: it may time out while another thread holds the mutex, so it
//! leaves the queue first, and then locks the mutex as any thread does. A wait gives back one level
//! of a recursive mutex. A signal has one successor per waiter. A signal orders nothing for the
//! race detector, as a wake-up may be spurious.

use raddle_vocab::{OpKind, Outcome, Words, extent};

use super::waiting::Wakes;
use super::{Carrier, Namer, Operation, OrderSink, UnpackError, WaitEnd, Woken};
use crate::depend::{Footprint, Mode, object_touch, wait_touch};
use crate::semantics::{Space, State, SyncState};

/// An operation on a condition variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CondOp {
    /// Its address.
    pub cond: u64,
    /// What is done to it.
    pub action: CondAction,
}

/// What can be done to a condition variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CondAction {
    /// `pthread_cond_init`
    Init,
    /// `pthread_cond_destroy`
    Destroy,
    /// First half of a wait: releases the mutex and enqueues.
    Wait {
        /// The mutex.
        mutex: u64,
        /// The wait may end by time-out.
        timed: bool,
    },
    /// Second half of a wait that is not timed: takes the mutex again.
    Reacquire {
        /// The mutex.
        mutex: u64,
        /// How the wait ended.
        end: WaitEnd,
    },
    /// A timed wait ends. The mutex is locked by the next operation.
    Resume {
        /// The mutex.
        mutex: u64,
        /// How the wait ended.
        end: WaitEnd,
    },
    /// Wakes one waiter.
    Signal {
        /// Which.
        woken: Woken,
        /// How many threads waited, that is, how many successors it had.
        waiters: u64,
    },
    /// Wakes all waiters.
    Broadcast {
        /// Which.
        woken: Woken,
        /// How many threads waited.
        waiters: u64,
    },
}

impl Operation for CondOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            CondAction::Init => OpKind::CondInit,
            CondAction::Destroy => OpKind::CondDestroy,
            CondAction::Wait { timed: false, .. } => OpKind::CondWait,
            CondAction::Wait { timed: true, .. } => OpKind::CondTimedWait,
            CondAction::Reacquire { .. } => OpKind::CondReacquire,
            CondAction::Resume { .. } => OpKind::CondResume,
            CondAction::Signal { .. } => OpKind::Signal,
            CondAction::Broadcast { .. } => OpKind::Broadcast,
        }
    }

    fn object(&self) -> u64 {
        self.cond
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            CondAction::Reacquire { end, .. } | CondAction::Resume { end, .. } => end.outcome(),
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        let end = WaitEnd::of(outcome);
        let action = match self.action {
            CondAction::Reacquire { mutex, .. } => CondAction::Reacquire { mutex, end },
            CondAction::Resume { mutex, .. } => CondAction::Resume { mutex, end },
            action => action,
        };
        CondOp { action, ..self }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) };
        match self.action {
            CondAction::Init | CondAction::Destroy => words.on(self.cond, 0),
            CondAction::Wait { mutex, .. } | CondAction::Reacquire { mutex, .. } | CondAction::Resume { mutex, .. } => {
                words.on(self.cond, mutex)
            }
            CondAction::Signal { woken, waiters } | CondAction::Broadcast { woken, waiters } => {
                Words { value: woken.bits(), old: waiters, ..words }.on(self.cond, 0)
            }
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let (mutex, woken, waiters) = (words.arg, Woken::from_bits(words.value), words.old);
        let action = match words.kind {
            OpKind::CondWait => CondAction::Wait { mutex, timed: false },
            OpKind::CondTimedWait => CondAction::Wait { mutex, timed: true },
            OpKind::CondReacquire => CondAction::Reacquire { mutex, end: WaitEnd::unpack(words)? },
            OpKind::CondResume => CondAction::Resume { mutex, end: WaitEnd::unpack(words)? },
            OpKind::Signal => CondAction::Signal { woken, waiters },
            OpKind::Broadcast => CondAction::Broadcast { woken, waiters },
            OpKind::CondDestroy => CondAction::Destroy,
            _ => CondAction::Init,
        };
        Ok(CondOp { cond: words.obj, action })
    }

    fn attempt(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Outcome> {
        match self.action {
            CondAction::Reacquire { mutex, .. } => {
                let is_free = state.mutex(mutex).0.is_none_or(|owner| owner == state.owner(thread));
                state.end_of_wait(thread, choice).filter(|_| is_free).map(WaitEnd::outcome)
            }
            CondAction::Resume { .. } => state.end_of_wait(thread, choice).map(WaitEnd::outcome),
            CondAction::Signal { .. } => (choice < self.successors(thread, state)).then_some(Outcome::Done),
            CondAction::Broadcast { .. } => (choice == 0).then_some(Outcome::Done),
            _ => Some(Outcome::Done),
        }
    }

    fn resolve(self, _thread: u16, state: &SyncState, choice: u16, outcome: Outcome) -> Self {
        let woken = |wakes| state.choose_waiters(Space::Object, self.cond, wakes, choice);
        let waiters = || u64::from(state.queue(Space::Object, self.cond).len());
        let action = match self.action {
            CondAction::Signal { .. } => CondAction::Signal { woken: woken(Wakes::ONE), waiters: waiters() },
            CondAction::Broadcast { .. } => CondAction::Broadcast { woken: woken(Wakes::ALL), waiters: waiters() },
            _ => return self.with_outcome(outcome),
        };
        CondOp { action, ..self }
    }

    fn successors(&self, thread: u16, state: &SyncState) -> u16 {
        match self.action {
            CondAction::Signal { .. } => Wakes::ONE.successors(state.queue(Space::Object, self.cond).len()),
            CondAction::Reacquire { .. } | CondAction::Resume { .. } => {
                (0..2).take_while(|&choice| self.attempt(thread, state, choice).is_some()).count() as u16
            }
            _ => 1,
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        match self.action {
            CondAction::Init | CondAction::Destroy => state.set_object(self.cond, State::Untouched),
            CondAction::Wait { mutex, timed } => {
                if state.mutex(mutex).0 == Some(state.owner(thread)) {
                    state.unlock_mutex(mutex);
                }
                state.enqueue(Space::Object, self.cond, thread, timed);
            }
            CondAction::Reacquire { mutex, end } => {
                state.leave_queue(Space::Object, self.cond, thread, end);
                state.lock_mutex(mutex, thread);
            }
            CondAction::Resume { end, .. } => state.leave_queue(Space::Object, self.cond, thread, end),
            CondAction::Signal { woken, .. } => state.wake_up(Space::Object, self.cond, woken, Wakes::ONE),
            CondAction::Broadcast { woken, .. } => state.wake_up(Space::Object, self.cond, woken, Wakes::ALL),
        }
    }

    #[inline]
    fn footprint(&self, thread: u16, into: &mut Footprint) {
        match self.action {
            CondAction::Init | CondAction::Destroy => into.push(object_touch(self.cond, Mode::Write)),
            CondAction::Wait { mutex, .. } => {
                // Threads enter and leave the queue in any order: it is a set.
                into.push(object_touch(self.cond, Mode::Share));
                into.push(object_touch(mutex, Mode::Write));
                into.push(wait_touch(thread));
            }
            CondAction::Reacquire { mutex, end } => {
                into.push(object_touch(mutex, Mode::Write));
                into.push(wait_touch(thread));
                if end != WaitEnd::Woken {
                    // It leaves the queue by itself, which a signal would notice.
                    into.push(object_touch(self.cond, Mode::Share));
                }
            }
            CondAction::Resume { end, .. } => {
                into.push(wait_touch(thread));
                if end != WaitEnd::Woken {
                    into.push(object_touch(self.cond, Mode::Share));
                }
            }
            CondAction::Signal { woken, .. } | CondAction::Broadcast { woken, .. } => {
                let mode = if woken.is_empty() { Mode::Observe } else { Mode::Write };
                into.push(object_touch(self.cond, mode));
                woken.touch(into);
            }
        }
    }

    fn potential(&self, thread: u16) -> Footprint {
        let mut prints = Footprint::new();
        let ends = matches!(self.action, CondAction::Reacquire { .. } | CondAction::Resume { .. });
        if ends && self.outcome() == Outcome::Done {
            self.with_outcome(Outcome::TimedOut).footprint(thread, &mut prints);
        }
        prints
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, CondAction::Signal { .. } | CondAction::Broadcast { .. })
    }

    fn at_worst(self, timed: bool) -> Self {
        self.with_outcome(if timed { Outcome::TimedOut } else { Outcome::Done })
    }

    fn can_block(&self) -> bool {
        matches!(self.action, CondAction::Reacquire { .. } | CondAction::Resume { .. })
    }

    fn order(&self, sink: &mut impl OrderSink) {
        match self.action {
            CondAction::Wait { mutex, .. } => {
                sink.uses(self.cond, extent::COND);
                sink.uses(mutex, extent::MUTEX);
                sink.release(mutex, Carrier::Object);
            }
            CondAction::Reacquire { mutex, .. } => {
                sink.uses(mutex, extent::MUTEX);
                sink.acquire(mutex, Carrier::Object);
            }
            CondAction::Resume { .. } => {}
            CondAction::Init => sink.initialise(self.cond, extent::COND),
            CondAction::Destroy => sink.destroy(self.cond, extent::COND),
            CondAction::Signal { .. } | CondAction::Broadcast { .. } => sink.uses(self.cond, extent::COND),
        }
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        let (word, cond) = (self.kind().word(), names.object(self.cond));
        match self.action {
            CondAction::Init | CondAction::Destroy => format!("{word} {cond}"),
            CondAction::Wait { mutex, .. } => format!("{word} {cond}, release {}", names.object(mutex)),
            CondAction::Reacquire { mutex, end } => {
                format!("{} {cond}, take {}", end.phrase(), names.object(mutex))
            }
            CondAction::Resume { end, .. } => format!("{} {cond}", end.phrase()),
            CondAction::Signal { woken, .. } | CondAction::Broadcast { woken, .. } => {
                format!("{word} {cond}{}", woken.phrase(names))
            }
        }
    }
}
