//! Read-write locks.
//!
//! The writer that locks it again is refused, as glibc does. A reader that wants to write never
//! goes on.
//!
//! By default a reader gets the lock whenever no writer holds it. With
//! `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` no reader gets it while a writer waits, not even
//! one that holds it already. There an acquisition for writing has two transitions: the thread
//! announces that it waits, then it takes the lock. Announcements commute with each other and with
//! everything but acquisitions that they can stop. `PTHREAD_RWLOCK_PREFER_WRITER_NP` only chooses
//! among threads that wait, which no program can observe: there glibc behaves as by default.

use raddle_vocab::{OpKind, Outcome, Words, extent};

use super::{Carrier, Operation, OrderSink, Patience, UnpackError, allowed};
use crate::depend::{Footprint, Mode, object_touch, queue_touch};
use crate::semantics::{State, SyncState};

/// An operation on a read-write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwlockOp {
    /// Its address.
    pub rwlock: u64,
    /// What is done to it.
    pub action: RwlockAction,
    /// Whether writers that wait come before readers. Not told of releases.
    pub writers_first: bool,
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
    /// The first half of an acquisition for writing, where writers come first.
    Announce {
        /// The wait may end by time-out.
        timed: bool,
    },
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
        let Holds { writer, readers, waiting } = state.rwlock(self.rwlock);
        if writer == Some(state.owner(thread)) && patience != Patience::Try {
            return Some(Outcome::Refused);
        }
        let announces = !shared && patience != Patience::Try;
        let stopped = self.writers_first && !announces && waiting > 0;
        patience.acquire(writer.is_none() && (shared || readers == 0) && !stopped)
    }

    /// As [`Op::is_fragile`](super::Op::is_fragile): a reader stops a writer, and where writers
    /// come first, an announcement stops a reader.
    #[must_use]
    pub fn is_fragile(&self) -> bool {
        match self.action {
            RwlockAction::Write(Patience::Block) => true,
            RwlockAction::Read(Patience::Block) => self.writers_first,
            _ => false,
        }
    }

    /// As [`Op::stays_enabled`](super::Op::stays_enabled).
    #[must_use]
    pub fn stays_enabled(&self) -> bool {
        match self.action {
            RwlockAction::Write(Patience::Block | Patience::Timed) => false,
            RwlockAction::Read(Patience::Block | Patience::Timed) => !self.writers_first,
            _ => true,
        }
    }

    /// Whether its announcement is over with it.
    fn ends_wait(&self) -> bool {
        self.writers_first && matches!(self.action, RwlockAction::Write(Patience::Block | Patience::Timed))
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
            RwlockAction::Announce { .. } => OpKind::RwAnnounce,
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
        let arg = match self.action {
            RwlockAction::Unlock { writer } => writer,
            RwlockAction::Announce { timed } => timed,
            _ => self.writers_first,
        };
        Words { outcome: self.outcome, ..Words::new(self.kind()) }.on(self.rwlock, u64::from(arg))
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
            OpKind::RwAnnounce => RwlockAction::Announce { timed: words.arg == 1 },
            OpKind::RwDestroy => RwlockAction::Destroy,
            _ => RwlockAction::Init,
        };
        let writers_first = match action {
            RwlockAction::Unlock { .. } => false,
            RwlockAction::Announce { .. } => true,
            _ => words.arg == 1,
        };
        Ok(RwlockOp { rwlock: words.obj, action, writers_first, outcome: words.outcome })
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
            RwlockAction::Unlock { .. } => {
                RwlockAction::Unlock { writer: state.rwlock(self.rwlock).writer == Some(state.owner(thread)) }
            }
            action => action,
        };
        RwlockOp { action, outcome, ..self }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        let thread = state.owner(thread);
        let done = self.outcome == Outcome::Done;
        let mut holds = state.rwlock(self.rwlock);
        if self.ends_wait() {
            holds.waiting = holds.waiting.saturating_sub(1);
        }
        match self.action {
            RwlockAction::Read(_) if done => holds.readers += 1,
            RwlockAction::Write(_) if done => holds = Holds { writer: Some(thread), readers: 0, ..holds },
            RwlockAction::Read(_) | RwlockAction::Write(_) if !self.ends_wait() => return,
            RwlockAction::Read(_) | RwlockAction::Write(_) => {}
            RwlockAction::Announce { .. } => holds.waiting += 1,
            RwlockAction::Unlock { writer } if writer || holds.writer == Some(thread) => {
                holds = Holds { writer: None, readers: 0, ..holds };
            }
            RwlockAction::Unlock { .. } => holds.readers = holds.readers.saturating_sub(1),
            RwlockAction::Init | RwlockAction::Destroy => {
                return state.set_object(self.rwlock, State::Untouched);
            }
        }
        state.set_object(self.rwlock, State::Rwlock(holds));
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let done = self.outcome == Outcome::Done;
        let mode = match self.action {
            RwlockAction::Announce { .. } => return into.push(queue_touch(self.rwlock, Mode::Share)),
            RwlockAction::Read(_) if done => Mode::Share,
            RwlockAction::Write(_) if done => Mode::Write,
            RwlockAction::Read(_) | RwlockAction::Write(_) => Mode::Observe,
            RwlockAction::Unlock { writer: false } => Mode::Share,
            _ => Mode::Write,
        };
        into.push(object_touch(self.rwlock, mode));
        if self.writers_first {
            let mode = match self.action {
                RwlockAction::Init | RwlockAction::Destroy => Mode::Write,
                _ if self.ends_wait() => Mode::Share,
                _ => Mode::Observe,
            };
            into.push(queue_touch(self.rwlock, mode));
        }
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
                sink.uses(self.rwlock, extent::RWLOCK);
                if done {
                    sink.acquire(self.rwlock, Carrier::Object);
                }
            }
            RwlockAction::Write(_) => {
                sink.uses(self.rwlock, extent::RWLOCK);
                if done {
                    sink.acquire(self.rwlock, Carrier::Object);
                    sink.acquire(self.rwlock, Carrier::Left);
                }
            }
            RwlockAction::Unlock { writer } => {
                sink.uses(self.rwlock, extent::RWLOCK);
                sink.release(self.rwlock, if writer { Carrier::Object } else { Carrier::Left });
            }
            RwlockAction::Announce { .. } => sink.uses(self.rwlock, extent::RWLOCK),
            RwlockAction::Init => sink.initialise(self.rwlock, extent::RWLOCK),
            RwlockAction::Destroy => sink.destroy(self.rwlock, extent::RWLOCK),
        }
    }
}

/// Which threads hold a read-write lock, and which wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holds {
    /// The writer that holds it.
    pub writer: Option<u16>,
    /// How many times it is held for reading: a thread may hold it more than once.
    pub readers: u32,
    /// How many writers announced that they wait.
    pub waiting: u32,
}

impl SyncState {
    /// Which threads hold it, and which wait for it.
    fn rwlock(&self, rwlock: u64) -> Holds {
        match self.object(rwlock) {
            State::Rwlock(holds) => holds,
            _ => Holds::default(),
        }
    }
}
