//! Read-write locks.
//!
//! The writer that locks it again is refused, as glibc does. A reader that wants to write never
//! goes on.

use raddle_vocab::{OpKind, Outcome, Words};

use super::{Carrier, Operation, OrderSink, Patience, UnpackError, allowed};
use crate::depend::{Footprint, Mode, object_touch};
use crate::semantics::{State, SyncState};

/// An operation on a read-write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwlockOp {
    /// Its address.
    pub rwlock: u64,
    /// What is done to it.
    pub action: RwlockAction,
    /// What became of it.
    pub outcome: Outcome,
}

/// What can be done to a read-write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RwlockAction {
    /// `pthread_rwlock_init`
    Init,
    /// `pthread_rwlock_destroy`
    Destroy,
    /// An acquisition for reading.
    Read(Patience),
    /// An acquisition for writing.
    Write(Patience),
    /// A release.
    Unlock {
        /// Of the writer's side.
        writer: bool,
    },
}

impl RwlockOp {
    /// Whether it took the lock.
    #[must_use]
    pub fn acquires(&self) -> bool {
        matches!(self.action, RwlockAction::Read(_) | RwlockAction::Write(_)) && self.outcome == Outcome::Done
    }

    fn lock(&self, thread: u16, state: &SyncState, patience: Patience, shared: bool) -> Option<Outcome> {
        let (writer, readers) = state.rwlock(self.rwlock);
        if writer == Some(thread) && patience != Patience::Try {
            return Some(Outcome::Refused);
        }
        patience.acquire(writer.is_none() && (shared || readers == 0))
    }
}

impl Operation for RwlockOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            RwlockAction::Init => OpKind::RwInit,
            RwlockAction::Destroy => OpKind::RwDestroy,
            RwlockAction::Read(Patience::Block) => OpKind::ReadLock,
            RwlockAction::Read(Patience::Try) => OpKind::TryReadLock,
            RwlockAction::Read(Patience::Timed) => OpKind::TimedReadLock,
            RwlockAction::Write(Patience::Block) => OpKind::WriteLock,
            RwlockAction::Write(Patience::Try) => OpKind::TryWriteLock,
            RwlockAction::Write(Patience::Timed) => OpKind::TimedWriteLock,
            RwlockAction::Unlock { .. } => OpKind::RwUnlock,
        }
    }

    fn object(&self) -> u64 {
        self.rwlock
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        self.outcome
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        RwlockOp { outcome, ..self }
    }

    fn pack(&self) -> Words {
        let writer = matches!(self.action, RwlockAction::Unlock { writer: true });
        Words { outcome: self.outcome, ..Words::new(self.kind()) }.on(self.rwlock, u64::from(writer))
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let patience = |patience: Patience| {
            allowed(words, &[Outcome::Done, Outcome::Refused], patience.otherwise()).map(|()| patience)
        };
        let action = match words.kind {
            OpKind::ReadLock => RwlockAction::Read(patience(Patience::Block)?),
            OpKind::TryReadLock => RwlockAction::Read(patience(Patience::Try)?),
            OpKind::TimedReadLock => RwlockAction::Read(patience(Patience::Timed)?),
            OpKind::WriteLock => RwlockAction::Write(patience(Patience::Block)?),
            OpKind::TryWriteLock => RwlockAction::Write(patience(Patience::Try)?),
            OpKind::TimedWriteLock => RwlockAction::Write(patience(Patience::Timed)?),
            OpKind::RwUnlock => RwlockAction::Unlock { writer: words.arg == 1 },
            OpKind::RwDestroy => RwlockAction::Destroy,
            _ => RwlockAction::Init,
        };
        Ok(RwlockOp { rwlock: words.obj, action, outcome: words.outcome })
    }

    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        match self.action {
            RwlockAction::Read(patience) => self.lock(thread, state, patience, true),
            RwlockAction::Write(patience) => self.lock(thread, state, patience, false),
            _ => Some(Outcome::Done),
        }
    }

    fn resolve(self, thread: u16, state: &SyncState, _choice: u16, outcome: Outcome) -> Self {
        let action = match self.action {
            RwlockAction::Unlock { .. } => RwlockAction::Unlock { writer: state.rwlock(self.rwlock).0 == Some(thread) },
            action => action,
        };
        RwlockOp { action, outcome, ..self }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        let done = self.outcome == Outcome::Done;
        let (owner, readers) = state.rwlock(self.rwlock);
        let after = match self.action {
            RwlockAction::Read(_) if done => State::Rwlock { writer: owner, readers: readers + 1 },
            RwlockAction::Write(_) if done => State::Rwlock { writer: Some(thread), readers: 0 },
            RwlockAction::Read(_) | RwlockAction::Write(_) => return,
            RwlockAction::Unlock { writer } if writer || owner == Some(thread) => {
                State::Rwlock { writer: None, readers: 0 }
            }
            RwlockAction::Unlock { .. } => State::Rwlock { writer: owner, readers: readers.saturating_sub(1) },
            RwlockAction::Init | RwlockAction::Destroy => State::Untouched,
        };
        state.set_object(self.rwlock, after);
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let done = self.outcome == Outcome::Done;
        let mode = match self.action {
            RwlockAction::Read(_) if done => Mode::Share,
            RwlockAction::Write(_) if done => Mode::Write,
            RwlockAction::Read(_) | RwlockAction::Write(_) => Mode::Observe,
            RwlockAction::Unlock { writer: false } => Mode::Share,
            _ => Mode::Write,
        };
        into.push(object_touch(self.rwlock, mode));
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, RwlockAction::Read(_) | RwlockAction::Write(_))
    }

    fn can_block(&self) -> bool {
        matches!(self.action, RwlockAction::Read(Patience::Block) | RwlockAction::Write(Patience::Block))
    }

    fn order(&self, sink: &mut impl OrderSink) {
        let done = self.outcome == Outcome::Done;
        match self.action {
            RwlockAction::Read(_) => {
                if done {
                    sink.acquire(self.rwlock, Carrier::Object);
                }
                sink.uses(self.rwlock);
            }
            RwlockAction::Write(_) => {
                if done {
                    sink.acquire(self.rwlock, Carrier::Object);
                    sink.acquire(self.rwlock, Carrier::Readers);
                }
                sink.uses(self.rwlock);
            }
            RwlockAction::Unlock { writer } => {
                sink.uses(self.rwlock);
                sink.release(self.rwlock, if writer { Carrier::Object } else { Carrier::Readers });
            }
            RwlockAction::Init => sink.initialise(self.rwlock),
            RwlockAction::Destroy => sink.uses(self.rwlock),
        }
    }
}

impl SyncState {
    /// The writer, if there is one, and the number of read holds.
    pub(super) fn rwlock(&self, rwlock: u64) -> (Option<u16>, u32) {
        match self.object(rwlock) {
            State::Rwlock { writer, readers } => (writer, readers),
            _ => (None, 0),
        }
    }
}
