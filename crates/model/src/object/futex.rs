//! Futexes: a word of memory and a queue of threads.
//!
//! A wait is two operations, as for condition variables. It enqueues if the word still holds the
//! value that is expected. A futex by itself orders nothing for the race detector.

use raddle_vocab::{OpKind, Outcome, Words};

use super::waiting::Wakes;
use super::{Namer, Operation, OrderSink, UnpackError, WaitEnd, Woken, allowed};
use crate::depend::{Footprint, Mode, bytes_touch, queue_touch, wait_touch};
use crate::race::Touching;
use crate::semantics::{Space, SyncState};

/// Bytes of the word.
const WORD: u32 = 4;

/// An operation on a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutexOp {
    /// Address of the word.
    pub word: u64,
    /// What is done.
    pub action: FutexAction,
}

/// What can be done to a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexAction {
    /// First half of a wait.
    Wait {
        /// The value that the word has to hold.
        expected: u32,
        /// The wait may end by time-out.
        timed: bool,
        /// The word held the value, and the thread is in the queue.
        queued: bool,
    },
    /// Second half of a wait.
    Resume {
        /// How the wait ended.
        end: WaitEnd,
    },
    /// Wakes waiters.
    Wake {
        /// How many at most.
        count: u32,
        /// Which.
        woken: Woken,
        /// How many ways to choose them there were; 0 if no thread waited.
        successors: u64,
    },
}

impl FutexOp {
    /// Whether it is the first half of a wait, which compares the word.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        matches!(self.action, FutexAction::Wait { .. })
    }
}

impl Operation for FutexOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            FutexAction::Wait { timed: false, .. } => OpKind::FutexWait,
            FutexAction::Wait { timed: true, .. } => OpKind::FutexTimedWait,
            FutexAction::Resume { .. } => OpKind::FutexResume,
            FutexAction::Wake { .. } => OpKind::FutexWake,
        }
    }

    fn object(&self) -> u64 {
        self.word
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            FutexAction::Wait { queued: false, .. } => Outcome::Failed,
            FutexAction::Resume { end } => end.outcome(),
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        let action = match self.action {
            FutexAction::Wait { expected, timed, .. } => {
                FutexAction::Wait { expected, timed, queued: outcome == Outcome::Done }
            }
            FutexAction::Resume { .. } => FutexAction::Resume { end: WaitEnd::of(outcome) },
            action => action,
        };
        FutexOp { action, ..self }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) };
        match self.action {
            FutexAction::Wait { expected, .. } => words.on(self.word, u64::from(expected)),
            FutexAction::Resume { .. } => words.on(self.word, 0),
            FutexAction::Wake { count, woken, successors } => {
                Words { value: woken.bits(), old: successors, ..words }.on(self.word, u64::from(count))
            }
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let action = match words.kind {
            OpKind::FutexResume => FutexAction::Resume { end: WaitEnd::unpack(words)? },
            OpKind::FutexWake => FutexAction::Wake {
                count: u32::try_from(words.arg).unwrap_or(u32::MAX),
                woken: Woken::from_bits(words.value),
                successors: words.old,
            },
            _ => {
                allowed(words, &[Outcome::Done, Outcome::Failed], None)?;
                FutexAction::Wait {
                    // The kernel compares 32 bits.
                    expected: words.arg as u32,
                    timed: words.kind == OpKind::FutexTimedWait,
                    queued: words.outcome == Outcome::Done,
                }
            }
        };
        Ok(FutexOp { word: words.obj, action })
    }

    fn attempt(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Outcome> {
        match self.action {
            FutexAction::Wait { expected, .. } => match state.value_at(self.word, WORD) {
                Some(seen) if seen == u64::from(expected) => Some(Outcome::Done),
                Some(_) => Some(Outcome::Failed),
                None => Some(self.outcome()),
            },
            FutexAction::Resume { .. } => state.end_of_wait(thread, choice).map(WaitEnd::outcome),
            FutexAction::Wake { .. } => (choice < self.successors(thread, state)).then_some(Outcome::Done),
        }
    }

    fn resolve(self, thread: u16, state: &SyncState, choice: u16, outcome: Outcome) -> Self {
        let FutexAction::Wake { count, .. } = self.action else { return self.with_outcome(outcome) };
        let is_empty = state.queue(Space::Queue, self.word).is_empty();
        let successors = if is_empty { 0 } else { u64::from(self.successors(thread, state)) };
        let woken = state.choose_waiters(Space::Queue, self.word, Wakes(count), choice);
        FutexOp { action: FutexAction::Wake { count, woken, successors }, ..self }
    }

    fn successors(&self, thread: u16, state: &SyncState) -> u16 {
        match self.action {
            FutexAction::Wake { count, .. } => Wakes(count).successors(state.queue(Space::Queue, self.word).len()),
            FutexAction::Resume { .. } => {
                (0..2).take_while(|&choice| self.attempt(thread, state, choice).is_some()).count() as u16
            }
            FutexAction::Wait { .. } => 1,
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        match self.action {
            FutexAction::Wait { queued: false, .. } => {}
            FutexAction::Wait { expected, timed, queued: true } => {
                state.reveal(self.word, WORD, u64::from(expected));
                state.enqueue(Space::Queue, self.word, thread, timed);
            }
            FutexAction::Resume { end } => state.leave_queue(Space::Queue, self.word, thread, end),
            FutexAction::Wake { woken, .. } => state.wake_up(Space::Queue, self.word, woken, Wakes::ALL),
        }
    }

    #[inline]
    fn footprint(&self, thread: u16, into: &mut Footprint) {
        match self.action {
            FutexAction::Wait { queued, .. } => {
                bytes_touch(self.word, u64::from(WORD), Mode::Observe, into);
                if queued {
                    into.push(queue_touch(self.word, Mode::Write));
                    into.push(wait_touch(thread));
                }
            }
            FutexAction::Resume { end } => {
                into.push(wait_touch(thread));
                if end != WaitEnd::Woken {
                    into.push(queue_touch(self.word, Mode::Write));
                }
            }
            FutexAction::Wake { woken, .. } => {
                let mode = if woken.is_empty() { Mode::Observe } else { Mode::Write };
                into.push(queue_touch(self.word, mode));
                woken.touch(into);
            }
        }
    }

    fn potential(&self, thread: u16) -> Footprint {
        let mut prints = Footprint::new();
        let other = match self.action {
            FutexAction::Wait { queued: false, .. } => Outcome::Done,
            FutexAction::Resume { end: WaitEnd::Woken } => Outcome::TimedOut,
            _ => return prints,
        };
        self.with_outcome(other).footprint(thread, &mut prints);
        prints
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, FutexAction::Wake { .. })
    }

    fn can_block(&self) -> bool {
        matches!(self.action, FutexAction::Resume { .. })
    }

    fn is_certain(&self, state: &SyncState) -> bool {
        !self.is_wait() || state.value_at(self.word, WORD).is_some()
    }

    fn order(&self, sink: &mut impl OrderSink) {
        if self.is_wait() {
            sink.access(self.word, u64::from(WORD), Touching::AtomicRead);
        }
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        let (word, object) = (self.kind().word(), names.object(self.word));
        match self.action {
            FutexAction::Wait { .. } => format!("{word} {object}{}", super::ending(self.outcome())),
            FutexAction::Resume { end } => format!("{} {object}", end.phrase()),
            FutexAction::Wake { woken, .. } => format!("{word} {object}{}", woken.phrase(names)),
        }
    }
}
