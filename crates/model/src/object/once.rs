//! Once controls, and guards of function-local statics of C++.
//!
//! A once control is one thing. Of a guard, whether it is finished is its first byte, which the
//! compiler's code reads too; an atomic store sets it. Whether a thread is inside is a thing of its
//! own.

use raddle_vocab::{OpKind, Outcome, Words, extent};

use super::{Carrier, Operation, OrderSink, UnpackError, allowed};
use crate::depend::{Footprint, Mode, bytes_touch, object_touch, queue_touch};
use crate::semantics::{State, SyncState};

/// `arg` of an operation on a guard.
const GUARD: u64 = 1;

/// An operation on a once control or guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnceOp {
    /// Its address.
    pub control: u64,
    /// It is the guard of a static variable.
    pub guard: bool,
    /// What is done.
    pub action: OnceAction,
}

/// What can be done to a once control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceAction {
    /// Begins the initialiser, unless it is finished. Disabled while another thread is inside.
    Begin {
        /// It was finished already.
        already: bool,
    },
    /// The initialiser returned.
    End,
    /// The initialiser threw.
    Abort,
}

impl Operation for OnceOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            OnceAction::Begin { .. } => OpKind::OnceBegin,
            OnceAction::End => OpKind::OnceEnd,
            OnceAction::Abort => OpKind::OnceAbort,
        }
    }

    fn object(&self) -> u64 {
        self.control
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            OnceAction::Begin { already: true } => Outcome::Already,
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        match self.action {
            OnceAction::Begin { .. } => {
                OnceOp { action: OnceAction::Begin { already: outcome == Outcome::Already }, ..self }
            }
            _ => self,
        }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) };
        words.on(self.control, if self.guard { GUARD } else { 0 })
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        if words.arg > GUARD {
            return Err(UnpackError::new(words, "sort of once control", words.arg));
        }
        let action = match words.kind {
            OpKind::OnceEnd => OnceAction::End,
            OpKind::OnceAbort => OnceAction::Abort,
            _ => {
                allowed(words, &[Outcome::Done, Outcome::Already], None)?;
                OnceAction::Begin { already: words.outcome == Outcome::Already }
            }
        };
        Ok(OnceOp { control: words.obj, guard: words.arg == GUARD, action })
    }

    fn attempt(&self, _thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        if !matches!(self.action, OnceAction::Begin { .. }) {
            return Some(Outcome::Done);
        }
        let is_set = self.guard && state.value_at(self.control, 1).is_some_and(|byte| byte != 0);
        match state.object(self.control) {
            _ if is_set => Some(Outcome::Already),
            State::Once { finished: true, .. } => Some(Outcome::Already),
            State::Once { runner: Some(_), .. } => None,
            _ => Some(Outcome::Done),
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        let (runner, finished) = match self.action {
            OnceAction::Begin { already } => {
                state.note_guard(self.guard);
                if already {
                    return;
                }
                (Some(thread), false)
            }
            OnceAction::End => (None, true),
            OnceAction::Abort => (None, false),
        };
        state.set_object(self.control, State::Once { runner, finished });
    }

    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = if self.outcome() == Outcome::Done { Mode::Write } else { Mode::Observe };
        if !self.guard {
            return into.push(object_touch(self.control, mode));
        }
        into.push(queue_touch(self.control, mode));
        if matches!(self.action, OnceAction::Begin { .. }) {
            bytes_touch(self.control, 1, Mode::Observe, into);
        }
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, OnceAction::Begin { .. })
    }

    fn can_block(&self) -> bool {
        matches!(self.action, OnceAction::Begin { .. })
    }

    fn order(&self, sink: &mut impl OrderSink) {
        // A guard is the compiler's, and its first byte an atomic of its own.
        if !self.guard {
            sink.uses(self.control, extent::ONCE);
        }
        match self.action {
            OnceAction::Begin { .. } => {
                sink.acquire(self.control, Carrier::Object);
                // A guard is finished by an atomic store.
                sink.acquire(self.control, Carrier::Atomic);
            }
            OnceAction::End | OnceAction::Abort => sink.release_apart(self.control, Carrier::Object),
        }
    }
}
