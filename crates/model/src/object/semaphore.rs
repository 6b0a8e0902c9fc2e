//! Semaphores.

use raddle_vocab::{OpKind, Outcome, Words, extent};

use super::{Carrier, Operation, OrderSink, Patience, UnpackError, allowed};
use crate::depend::{Footprint, Mode, object_touch};
use crate::semantics::{State, SyncState};

/// An operation on a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemaphoreOp {
    /// Its address.
    pub semaphore: u64,
    /// What is done to it.
    pub action: SemaphoreAction,
}

/// What can be done to a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreAction {
    /// `sem_init`, or the first `sem_open`.
    Init {
        /// The first count.
        count: u64,
        /// It has a name, and lives on without its users.
        named: bool,
    },
    /// `sem_destroy`
    Destroy {
        /// The count that it had then.
        count: u64,
    },
    /// Takes one.
    Wait {
        /// What it does at a count of 0.
        patience: Patience,
        /// It took one.
        taken: bool,
    },
    /// Adds one.
    Post,
}

impl Operation for SemaphoreOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            SemaphoreAction::Init { .. } => OpKind::SemInit,
            SemaphoreAction::Destroy { .. } => OpKind::SemDestroy,
            SemaphoreAction::Wait { patience: Patience::Block, .. } => OpKind::SemWait,
            SemaphoreAction::Wait { patience: Patience::Try, .. } => OpKind::SemTryWait,
            SemaphoreAction::Wait { patience: Patience::Timed, .. } => OpKind::SemTimedWait,
            SemaphoreAction::Post => OpKind::SemPost,
        }
    }

    fn object(&self) -> u64 {
        self.semaphore
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            SemaphoreAction::Wait { patience, taken: false } => patience.otherwise().unwrap_or(Outcome::Failed),
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        match self.action {
            SemaphoreAction::Wait { patience, .. } => {
                let action = SemaphoreAction::Wait { patience, taken: outcome == Outcome::Done };
                SemaphoreOp { action, ..self }
            }
            _ => self,
        }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) }.on(self.semaphore, 0);
        match self.action {
            SemaphoreAction::Init { count, named } => Words { arg: count, value: u64::from(named), ..words },
            SemaphoreAction::Destroy { count } => Words { old: count, ..words },
            SemaphoreAction::Wait { .. } | SemaphoreAction::Post => words,
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let wait = |patience: Patience| {
            // A handler may interrupt a wait that does not give up by itself.
            allowed(words, &[Outcome::Done], Some(patience.otherwise().unwrap_or(Outcome::Failed)))?;
            Ok(SemaphoreAction::Wait { patience, taken: words.outcome == Outcome::Done })
        };
        let action = match words.kind {
            OpKind::SemWait => wait(Patience::Block)?,
            OpKind::SemTryWait => wait(Patience::Try)?,
            OpKind::SemTimedWait => wait(Patience::Timed)?,
            OpKind::SemPost => SemaphoreAction::Post,
            OpKind::SemDestroy => SemaphoreAction::Destroy { count: words.old },
            _ => SemaphoreAction::Init { count: words.arg, named: words.value == 1 },
        };
        Ok(SemaphoreOp { semaphore: words.obj, action })
    }

    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        match self.action {
            SemaphoreAction::Wait { patience, .. } => {
                let interrupted = state.thread(thread).interrupted.then_some(Outcome::Failed);
                patience.acquire(state.semaphore(self.semaphore) > 0).or(interrupted)
            }
            _ => Some(Outcome::Done),
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        state.end_interruption(thread);
        let count = match self.action {
            SemaphoreAction::Init { count, .. } => count,
            SemaphoreAction::Wait { taken: true, .. } => state.semaphore(self.semaphore).saturating_sub(1),
            SemaphoreAction::Wait { taken: false, .. } => return,
            SemaphoreAction::Post => state.semaphore(self.semaphore).saturating_add(1),
            SemaphoreAction::Destroy { .. } => return state.set_object(self.semaphore, State::Untouched),
        };
        state.set_object(self.semaphore, State::Semaphore { count });
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = match self.action {
            SemaphoreAction::Wait { taken: false, .. } => Mode::Observe,
            SemaphoreAction::Post => Mode::Share,
            _ => Mode::Write,
        };
        into.push(object_touch(self.semaphore, mode));
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, SemaphoreAction::Wait { patience: Patience::Try | Patience::Timed, .. })
    }

    fn can_block(&self) -> bool {
        matches!(self.action, SemaphoreAction::Wait { patience: Patience::Block, .. })
    }

    fn order(&self, sink: &mut impl OrderSink) {
        match self.action {
            SemaphoreAction::Wait { taken, .. } => {
                sink.uses(self.semaphore, extent::SEMAPHORE);
                if taken {
                    sink.acquire(self.semaphore, Carrier::Object);
                }
            }
            SemaphoreAction::Post => {
                sink.uses(self.semaphore, extent::SEMAPHORE);
                sink.release(self.semaphore, Carrier::Object);
            }
            SemaphoreAction::Init { .. } => sink.initialise(self.semaphore, extent::SEMAPHORE),
            SemaphoreAction::Destroy { .. } => sink.destroy(self.semaphore, extent::SEMAPHORE),
        }
    }
}

impl SyncState {
    fn semaphore(&self, semaphore: u64) -> u64 {
        match self.object(semaphore) {
            State::Semaphore { count } => count,
            _ => 0,
        }
    }
}
