//! Mutexes and spin locks.
//!
//! The owner of a normal mutex or spin lock that locks it again never goes on (timed: times out,
//! try: fails). Error-checking mutexes refuse, recursive ones nest. Unlocking what the thread does
//! not hold is refused by error-checking and recursive mutexes; a normal mutex becomes free.

use raddle_vocab::{MutexKind, OpKind, Outcome, SECTION, Words, extent};

use super::{Carrier, Operation, OrderSink, OrdinaryUse, Patience, UnpackError, allowed};
use crate::depend::{Footprint, Mode, object_touch};
use crate::semantics::{State, SyncState};

/// An operation on a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MutexOp {
    /// Its address.
    pub mutex: u64,
    /// What sort of mutex it is.
    pub kind: MutexKind,
    /// What is done to it.
    pub action: MutexAction,
    /// What became of it.
    pub outcome: Outcome,
}

/// What can be done to a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexAction {
    /// `pthread_mutex_init`
    Init,
    /// `pthread_mutex_destroy`
    Destroy,
    /// An acquisition.
    Lock(Patience),
    /// A release.
    Unlock,
}

impl MutexOp {
    /// Whether it does no more than to change who holds the mutex, or how often.
    #[must_use]
    #[inline]
    pub fn only_changes_holder(&self) -> bool {
        matches!(self.action, MutexAction::Lock(_) | MutexAction::Unlock)
            && matches!(self.outcome, Outcome::Done | Outcome::Nested)
    }

    /// As [`Op::ordinary_use`](super::Op::ordinary_use).
    #[must_use]
    pub fn ordinary_use(&self) -> OrdinaryUse {
        match self.action {
            MutexAction::Lock(Patience::Block) => OrdinaryUse::Always,
            MutexAction::Init => OrdinaryUse::First,
            MutexAction::Unlock => OrdinaryUse::Owner,
            MutexAction::Lock(_) | MutexAction::Destroy => OrdinaryUse::Never,
        }
    }

    /// How many bytes it takes.
    #[must_use]
    #[inline]
    pub fn extent(&self) -> u64 {
        if self.kind == MutexKind::Spin { extent::SPIN_LOCK } else { extent::MUTEX }
    }

    /// Whether the mutex changed hands: it was taken or given back, not only nested.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.outcome == Outcome::Done
    }

    /// What a lock operation does now.
    fn lock(&self, thread: u16, state: &SyncState, patience: Patience) -> Option<Outcome> {
        let (owner, _) = state.mutex(self.mutex);
        if owner != Some(state.owner(thread)) {
            return patience.acquire(owner.is_none());
        }
        match self.kind {
            MutexKind::Recursive => Some(Outcome::Nested),
            MutexKind::ErrorCheck if patience != Patience::Try => Some(Outcome::Refused),
            _ => patience.acquire(false),
        }
    }

    fn unlock(&self, thread: u16, state: &SyncState) -> Outcome {
        let (owner, depth) = state.mutex(self.mutex);
        match self.kind {
            MutexKind::ErrorCheck | MutexKind::Recursive if owner != Some(state.owner(thread)) => Outcome::Refused,
            _ if depth > 1 => Outcome::Nested,
            _ => Outcome::Done,
        }
    }
}

impl Operation for MutexOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            MutexAction::Init => OpKind::MutexInit,
            MutexAction::Destroy => OpKind::MutexDestroy,
            MutexAction::Lock(Patience::Block) => OpKind::Lock,
            MutexAction::Lock(Patience::Try) => OpKind::TryLock,
            MutexAction::Lock(Patience::Timed) => OpKind::TimedLock,
            MutexAction::Unlock => OpKind::Unlock,
        }
    }

    fn object(&self) -> u64 {
        self.mutex
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        self.outcome
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        MutexOp { outcome, ..self }
    }

    fn pack(&self) -> Words {
        Words { outcome: self.outcome, ..Words::new(self.kind()) }.on(self.mutex, self.kind as u64)
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let kind = u8::try_from(words.arg).ok().and_then(MutexKind::from_byte);
        let kind = kind.ok_or(UnpackError::new(words, "kind of mutex", words.arg))?;
        let lock = |patience: Patience| {
            let outcomes = [Outcome::Done, Outcome::Nested, Outcome::Refused];
            allowed(words, &outcomes, patience.otherwise()).map(|()| MutexAction::Lock(patience))
        };
        let action = match words.kind {
            OpKind::Lock => lock(Patience::Block)?,
            OpKind::TryLock => lock(Patience::Try)?,
            OpKind::TimedLock => lock(Patience::Timed)?,
            OpKind::Unlock => {
                allowed(words, &[Outcome::Done, Outcome::Nested, Outcome::Refused], None)?;
                MutexAction::Unlock
            }
            OpKind::MutexDestroy => MutexAction::Destroy,
            _ => MutexAction::Init,
        };
        Ok(MutexOp { mutex: words.obj, kind, action, outcome: words.outcome })
    }

    #[inline]
    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        match self.action {
            MutexAction::Lock(patience) => self.lock(thread, state, patience),
            MutexAction::Unlock => Some(self.unlock(thread, state)),
            MutexAction::Init | MutexAction::Destroy => Some(Outcome::Done),
        }
    }

    #[inline]
    fn apply(&self, thread: u16, state: &mut SyncState) {
        let changes = matches!(self.outcome, Outcome::Done | Outcome::Nested);
        match self.action {
            // Where the memory is reused, what it held before is no owner.
            MutexAction::Lock(_) if self.outcome == Outcome::Done => {
                let owner = Some(state.owner(thread));
                state.set_object(self.mutex, State::Mutex { owner, depth: 1 });
            }
            MutexAction::Lock(_) if changes => state.lock_mutex(self.mutex, thread),
            MutexAction::Unlock if changes => state.unlock_mutex(self.mutex),
            MutexAction::Lock(_) | MutexAction::Unlock => {}
            MutexAction::Init | MutexAction::Destroy => state.set_object(self.mutex, State::Untouched),
        }
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = match (self.action, self.outcome) {
            (MutexAction::Init | MutexAction::Destroy, _) => Mode::Write,
            // A recursive relock or its release concerns no other thread.
            (_, Outcome::Nested) => return,
            (_, Outcome::Done) => Mode::Write,
            _ => Mode::Observe,
        };
        into.push(object_touch(self.mutex, mode));
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, MutexAction::Lock(_) | MutexAction::Unlock)
    }

    fn can_block(&self) -> bool {
        self.action == MutexAction::Lock(Patience::Block)
    }

    #[inline]
    fn order(&self, sink: &mut impl OrderSink) {
        match self.action {
            MutexAction::Lock(_) => {
                sink.uses(self.mutex, self.extent());
                if self.is_done() {
                    sink.acquire(self.mutex, Carrier::Object);
                }
            }
            MutexAction::Unlock => {
                sink.uses(self.mutex, self.extent());
                if self.is_done() {
                    sink.release(self.mutex, Carrier::Object);
                }
            }
            MutexAction::Init => sink.initialise(self.mutex, self.extent()),
            MutexAction::Destroy => sink.destroy(self.mutex, self.extent()),
        }
    }
}

impl SyncState {
    /// Whether no other thread is inside an atomic section.
    #[inline]
    pub(crate) fn is_outside_sections(&self, thread: u16) -> bool {
        self.mutex(SECTION).0.is_none_or(|holder| holder == self.owner(thread))
    }

    /// The owner, if the mutex is held, and how often it is locked.
    pub(super) fn mutex(&self, mutex: u64) -> (Option<u16>, u32) {
        match self.object(mutex) {
            State::Mutex { owner, depth } => (owner, depth),
            _ => (None, 0),
        }
    }

    pub(super) fn lock_mutex(&mut self, mutex: u64, thread: u16) {
        let (owner, depth) = self.mutex(mutex);
        let thread = self.owner(thread);
        let depth = if owner == Some(thread) { depth + 1 } else { 1 };
        self.set_object(mutex, State::Mutex { owner: Some(thread), depth });
    }

    pub(super) fn unlock_mutex(&mut self, mutex: u64) {
        let state = match self.mutex(mutex) {
            (owner, depth) if depth > 1 => State::Mutex { owner, depth: depth - 1 },
            _ => State::Mutex { owner: None, depth: 0 },
        };
        self.set_object(mutex, state);
    }
}
