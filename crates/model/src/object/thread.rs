//! The life of threads.
//!
//! Joining a thread that was joined or detached, or itself, is refused.

use raddle_vocab::{MemOrder, OpKind, Outcome, Words};

use super::{Namer, Operation, OrderSink, OrdinaryUse, UnpackError, allowed};
use crate::depend::{Footprint, Mode, thread_touch};
use crate::semantics::{Life, SyncState};

/// A poll goes over the wire as an atomic load of `LIFE_WORDS | thread << 3`, which holds 1 once
/// the thread has ended. No address of a program is that high.
const LIFE_WORDS: u64 = 1 << 63;
/// Bytes of such a word. No access of this size lies within one cell of memory.
const LIFE_WORD_SIZE: u32 = 16;

/// An operation on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadOp {
    /// First event of a thread.
    Start,
    /// Last event of a thread.
    End,
    /// Creates a thread.
    Create {
        /// Its number.
        child: u16,
        /// What it begins with, where that is known.
        entry: u64,
        /// It was created detached.
        detached: bool,
        /// There is no thread: the call failed.
        failed: bool,
    },
    /// Joins a thread. Enabled once that has ended.
    Join {
        /// Its number.
        thread: u16,
        /// It may not be joined.
        refused: bool,
    },
    /// Detaches a thread.
    Detach {
        /// Its number.
        thread: u16,
    },
    /// Looks whether a thread has ended: a join that gives up where it would wait.
    Poll {
        /// Its number.
        thread: u16,
        /// Whether it has ended.
        ended: bool,
    },
}

impl ThreadOp {
    /// As [`Op::ordinary_use`](super::Op::ordinary_use).
    #[must_use]
    pub fn ordinary_use(&self) -> OrdinaryUse {
        match self {
            ThreadOp::Detach { .. } | ThreadOp::Poll { .. } => OrdinaryUse::Never,
            ThreadOp::Create { .. } | ThreadOp::Start | ThreadOp::End | ThreadOp::Join { .. } => OrdinaryUse::Always,
        }
    }

    /// Whether the other operation on the same thread cannot happen before this one: a thread
    /// starts when it was created, and is joined when it has ended.
    #[must_use]
    pub fn always_precedes(&self, other: &ThreadOp) -> bool {
        matches!(
            (self, other),
            (ThreadOp::End | ThreadOp::Start | ThreadOp::Create { .. }, ThreadOp::Join { .. })
                | (ThreadOp::Create { .. }, ThreadOp::Start | ThreadOp::End)
        )
    }

    /// The same operation where threads have other numbers.
    pub(super) fn renumbered(mut self, number: &impl Fn(u16) -> u16) -> Self {
        match &mut self {
            ThreadOp::Create { child: thread, .. }
            | ThreadOp::Join { thread, .. }
            | ThreadOp::Detach { thread }
            | ThreadOp::Poll { thread, .. } => *thread = number(*thread),
            ThreadOp::Start | ThreadOp::End => {}
        }
        self
    }

    /// The other thread that a creation, join or detach is about.
    #[must_use]
    pub fn peer(&self) -> Option<u16> {
        match *self {
            ThreadOp::Create { child, .. } => Some(child),
            ThreadOp::Join { thread, .. } | ThreadOp::Detach { thread } => Some(thread),
            ThreadOp::Start | ThreadOp::End | ThreadOp::Poll { .. } => None,
        }
    }

    /// Whether the words are those of a poll.
    #[inline]
    pub(super) fn is_poll(words: &Words) -> bool {
        words.obj & LIFE_WORDS != 0
    }
}

/// A number that came over the wire.
fn number(words: &Words, word: u64) -> Result<u16, UnpackError> {
    u16::try_from(word).map_err(|_| UnpackError::new(words, "thread", word))
}

impl Operation for ThreadOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self {
            ThreadOp::Start => OpKind::ThreadStart,
            ThreadOp::End => OpKind::ThreadEnd,
            ThreadOp::Create { .. } => OpKind::Create,
            ThreadOp::Join { .. } => OpKind::Join,
            ThreadOp::Detach { .. } => OpKind::Detach,
            ThreadOp::Poll { .. } => OpKind::AtomicLoad,
        }
    }

    fn object(&self) -> u64 {
        match *self {
            ThreadOp::Create { entry, .. } => entry,
            ThreadOp::Poll { thread, .. } => LIFE_WORDS | u64::from(thread) << 3,
            _ => 0,
        }
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self {
            ThreadOp::Create { failed: true, .. } => Outcome::Failed,
            ThreadOp::Join { refused: true, .. } => Outcome::Refused,
            ThreadOp::Poll { ended: false, .. } => Outcome::TimedOut,
            _ => Outcome::Done,
        }
    }

    /// What a poll saw stays as it is.
    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        match self {
            ThreadOp::Create { child, entry, detached, .. } => {
                ThreadOp::Create { child, entry, detached, failed: outcome == Outcome::Failed }
            }
            ThreadOp::Join { thread, .. } => ThreadOp::Join { thread, refused: outcome == Outcome::Refused },
            other => other,
        }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) };
        let words = words.on(self.object(), self.peer().map_or(0, u64::from));
        match *self {
            ThreadOp::Create { detached, .. } => Words { value: u64::from(detached), ..words },
            ThreadOp::Poll { ended, .. } => {
                Words { order: MemOrder::Acquire, size: LIFE_WORD_SIZE, value: u64::from(ended), ..words }
            }
            _ => words,
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        Ok(match words.kind {
            OpKind::ThreadStart => ThreadOp::Start,
            OpKind::ThreadEnd => ThreadOp::End,
            OpKind::Create => {
                allowed(words, &[Outcome::Done, Outcome::Failed], None)?;
                let (child, entry) = (number(words, words.arg)?, words.obj);
                let (detached, failed) = (words.value == 1, words.outcome == Outcome::Failed);
                ThreadOp::Create { child, entry, detached, failed }
            }
            OpKind::Join => {
                allowed(words, &[Outcome::Done, Outcome::Refused], None)?;
                ThreadOp::Join { thread: number(words, words.arg)?, refused: words.outcome == Outcome::Refused }
            }
            OpKind::Detach => ThreadOp::Detach { thread: number(words, words.arg)? },
            _ => ThreadOp::Poll { thread: number(words, (words.obj & !LIFE_WORDS) >> 3)?, ended: words.value != 0 },
        })
    }

    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        match *self {
            ThreadOp::Start => (state.thread(thread).life == Life::Alive).then_some(Outcome::Done),
            ThreadOp::Join { thread: other, .. } => {
                if other == thread || state.thread(other).claimed {
                    return Some(Outcome::Refused);
                }
                (state.thread(other).life == Life::Ended).then_some(Outcome::Done)
            }
            ThreadOp::Poll { thread: other, .. } => {
                let ended = state.thread(other).life == Life::Ended;
                Some(if ended { Outcome::Done } else { Outcome::TimedOut })
            }
            _ => Some(self.outcome()),
        }
    }

    fn resolve(self, _thread: u16, _state: &SyncState, _choice: u16, outcome: Outcome) -> Self {
        match self {
            ThreadOp::Poll { thread, .. } => ThreadOp::Poll { thread, ended: outcome == Outcome::Done },
            other => other.with_outcome(outcome),
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        match *self {
            ThreadOp::End => state.change_thread(thread, |thread| thread.life = Life::Ended),
            ThreadOp::Create { child, failed: false, .. } => {
                state.change_thread(child, |thread| thread.life = Life::Alive);
            }
            ThreadOp::Join { thread: other, refused: false } | ThreadOp::Detach { thread: other } => {
                state.change_thread(other, |thread| thread.claimed = true);
            }
            _ => {}
        }
    }

    #[inline]
    fn footprint(&self, thread: u16, into: &mut Footprint) {
        into.push(match *self {
            // A poll does not see whether the thread has started.
            ThreadOp::Start => thread_touch(thread, Mode::Observe),
            ThreadOp::End => thread_touch(thread, Mode::Write),
            ThreadOp::Create { child: other, .. }
            | ThreadOp::Join { thread: other, .. }
            | ThreadOp::Detach { thread: other } => thread_touch(other, Mode::Write),
            ThreadOp::Poll { thread: other, .. } => thread_touch(other, Mode::Observe),
        });
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self, ThreadOp::Join { .. } | ThreadOp::Detach { .. })
    }

    fn can_block(&self) -> bool {
        matches!(self, ThreadOp::Join { .. })
    }

    #[inline]
    fn order(&self, sink: &mut impl OrderSink) {
        match *self {
            ThreadOp::Create { child, failed: false, .. } => sink.fork(child),
            ThreadOp::Join { thread, refused: false } => sink.join(thread),
            ThreadOp::Poll { thread, ended: true } => sink.observe_end(thread),
            _ => {}
        }
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        match (self, self.peer()) {
            (_, Some(peer)) => format!("{} {}", self.kind().word(), names.thread(u64::from(peer))),
            (ThreadOp::Poll { ended, .. }, _) => {
                format!("load {} = {}", names.object(self.object()), u64::from(*ended))
            }
            _ => self.kind().word().to_string(),
        }
    }
}
