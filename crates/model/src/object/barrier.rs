//! Barriers.
//!
//! A wait is two operations: the arrival, which belongs to the present round, and the departure
//! once the round is full. The serial thread is the one of least rank in the round.
//!
//! A barrier may be destroyed as soon as no thread is blocked at it (POSIX): the threads of its
//! last round may not have left yet. So destroying waits for them, and orders their leaving before
//! it. Nothing else does: memory that is freed without it is still used by those that leave.

use raddle_vocab::{OpKind, Outcome, ThreadSet, Words, extent};

use super::{Carrier, Namer, Operation, OrderSink, UnpackError, allowed};
use crate::depend::{Footprint, Mode, Touch, object_touch, round_touch};
use crate::semantics::{State, SyncState, Wait};

/// An operation on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierOp {
    /// Its address.
    pub barrier: u64,
    /// What is done to it.
    pub action: BarrierAction,
}

/// What can be done to a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierAction {
    /// `pthread_barrier_init`
    Init {
        /// How many threads meet there.
        size: u32,
    },
    /// `pthread_barrier_destroy`
    Destroy,
    /// First half of a wait.
    Arrive {
        /// Number of the round that the thread belongs to.
        round: u64,
        /// It filled the round. Arrivals commute, so dependence does not look at this.
        last: bool,
    },
    /// Second half of a wait.
    Leave {
        /// Number of the round.
        round: u64,
        /// The thread is told that it is the serial one.
        serial: bool,
    },
}

impl BarrierOp {
    /// Whether the first operation is an arrival that fills the round to which the second one, an
    /// arrival too, belongs. Their footprints commute, though the second one then changes its
    /// round.
    #[must_use]
    #[inline]
    pub fn closes_round_of(&self, other: &BarrierOp) -> bool {
        match (self.action, other.action) {
            (BarrierAction::Arrive { round, last: true }, BarrierAction::Arrive { round: other_round, .. }) => {
                (self.barrier, round) == (other.barrier, other_round)
            }
            _ => false,
        }
    }
}

impl Operation for BarrierOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            BarrierAction::Init { .. } => OpKind::BarrierInit,
            BarrierAction::Destroy => OpKind::BarrierDestroy,
            BarrierAction::Arrive { .. } => OpKind::BarrierArrive,
            BarrierAction::Leave { .. } => OpKind::BarrierLeave,
        }
    }

    fn object(&self) -> u64 {
        self.barrier
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            BarrierAction::Arrive { last: true, .. } => Outcome::Last,
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        match self.action {
            BarrierAction::Arrive { round, .. } => {
                BarrierOp { action: BarrierAction::Arrive { round, last: outcome == Outcome::Last }, ..self }
            }
            _ => self,
        }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), ..Words::new(self.kind()) };
        match self.action {
            BarrierAction::Init { size } => words.on(self.barrier, u64::from(size)),
            BarrierAction::Destroy => words.on(self.barrier, 0),
            BarrierAction::Arrive { round, .. } => words.on(self.barrier, round),
            BarrierAction::Leave { round, serial } => {
                Words { value: u64::from(serial), ..words.on(self.barrier, round) }
            }
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let action = match words.kind {
            OpKind::BarrierArrive => {
                allowed(words, &[Outcome::Done, Outcome::Last], None)?;
                BarrierAction::Arrive { round: words.arg, last: words.outcome == Outcome::Last }
            }
            OpKind::BarrierLeave => BarrierAction::Leave { round: words.arg, serial: words.value != 0 },
            OpKind::BarrierDestroy => BarrierAction::Destroy,
            _ => {
                let size = u32::try_from(words.arg).map_err(|_| UnpackError::new(words, "size", words.arg))?;
                BarrierAction::Init { size }
            }
        };
        Ok(BarrierOp { barrier: words.obj, action })
    }

    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        match self.action {
            BarrierAction::Arrive { .. } => {
                let (size, _, arrived) = state.barrier(self.barrier);
                Some(if arrived.len() + 1 >= size { Outcome::Last } else { Outcome::Done })
            }
            BarrierAction::Leave { .. } => {
                matches!(state.thread(thread).wait, Wait::Released { .. }).then_some(Outcome::Done)
            }
            BarrierAction::Destroy => (!state.is_being_left(self.barrier)).then_some(Outcome::Done),
            BarrierAction::Init { .. } => Some(Outcome::Done),
        }
    }

    fn resolve(self, thread: u16, state: &SyncState, _choice: u16, outcome: Outcome) -> Self {
        let action = match self.action {
            BarrierAction::Arrive { .. } => {
                BarrierAction::Arrive { round: state.barrier(self.barrier).1, last: outcome == Outcome::Last }
            }
            BarrierAction::Leave { round, .. } => {
                let serial = matches!(state.thread(thread).wait, Wait::Released { serial: true, .. });
                BarrierAction::Leave { round, serial }
            }
            action => action,
        };
        BarrierOp { action, ..self }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        match self.action {
            BarrierAction::Init { size } => {
                let arrived = ThreadSet::default();
                state.set_object(self.barrier, State::Barrier { size, round: 0, arrived });
            }
            BarrierAction::Destroy => state.set_object(self.barrier, State::Untouched),
            BarrierAction::Arrive { .. } => state.arrive_at_barrier(self.barrier, thread),
            BarrierAction::Leave { .. } => state.change_thread(thread, |thread| thread.wait = Wait::No),
        }
    }

    /// Rounds are apart: an arrival for the next round does not meet a thread that still leaves the
    /// last one. It does meet the arrivals that filled that round: without them it would have been
    /// one of them.
    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        match self.action {
            BarrierAction::Init { .. } | BarrierAction::Destroy => {
                into.push(object_touch(self.barrier, Mode::Write));
            }
            BarrierAction::Arrive { round, .. } => {
                into.push(object_touch(self.barrier, Mode::Observe));
                into.push(round_touch(self.barrier, round, Mode::Share));
                if round > 0 {
                    into.push(round_touch(self.barrier, round - 1, Mode::Observe));
                }
            }
            BarrierAction::Leave { round, .. } => {
                into.push(object_touch(self.barrier, Mode::Observe));
                into.push(round_touch(self.barrier, round, Mode::Observe));
            }
        }
    }

    /// In another state an arrival belongs to another round.
    fn potential(&self, _thread: u16) -> Footprint {
        match self.action {
            BarrierAction::Arrive { .. } => {
                Footprint::from_slice(&[Touch { cell: self.barrier >> 3, bytes: 0xff, mode: Mode::Write }])
            }
            _ => Footprint::new(),
        }
    }

    fn at_worst(self, _timed: bool) -> Self {
        self
    }

    fn can_block(&self) -> bool {
        matches!(self.action, BarrierAction::Leave { .. } | BarrierAction::Destroy)
    }

    fn order(&self, sink: &mut impl OrderSink) {
        match self.action {
            BarrierAction::Init { .. } => sink.initialise(self.barrier, extent::BARRIER),
            BarrierAction::Destroy => {
                sink.acquire(self.barrier, Carrier::Left);
                sink.destroy(self.barrier, extent::BARRIER);
            }
            BarrierAction::Arrive { round, .. } => {
                sink.uses(self.barrier, extent::BARRIER);
                sink.release(self.barrier, Carrier::Round(round));
            }
            BarrierAction::Leave { round, .. } => {
                sink.acquire(self.barrier, Carrier::Round(round));
                sink.uses(self.barrier, extent::BARRIER);
                sink.release(self.barrier, Carrier::Left);
            }
        }
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        let barrier = names.object(self.barrier);
        match self.action {
            BarrierAction::Arrive { .. } => format!("arrive at {barrier}"),
            BarrierAction::Leave { .. } => format!("leave {barrier}"),
            BarrierAction::Init { .. } | BarrierAction::Destroy => format!("{} {barrier}", self.kind().word()),
        }
    }
}

impl SyncState {
    /// Size, present round, threads that arrived in it.
    fn barrier(&self, barrier: u64) -> (u32, u64, ThreadSet) {
        match self.object(barrier) {
            State::Barrier { size, round, arrived } => (size, round, arrived),
            _ => (1, 0, ThreadSet::default()),
        }
    }

    /// Whether a thread that was released from the barrier has not left it.
    fn is_being_left(&self, barrier: u64) -> bool {
        self.by_rank()
            .iter()
            .any(|&thread| matches!(self.thread(thread).wait, Wait::Released { barrier: left, .. } if left == barrier))
    }

    fn arrive_at_barrier(&mut self, barrier: u64, thread: u16) {
        let (size, round, mut arrived) = self.barrier(barrier);
        arrived.insert(usize::from(thread));
        if arrived.len() < size {
            self.change_thread(thread, |thread| thread.wait = Wait::Arrived);
            self.set_object(barrier, State::Barrier { size, round, arrived });
            return;
        }
        let mut serial = true;
        for index in 0..self.by_rank().len() {
            let thread = self.by_rank()[index];
            if arrived.contains(usize::from(thread)) {
                self.change_thread(thread, |thread| thread.wait = Wait::Released { barrier, serial });
                serial = false;
            }
        }
        self.set_object(barrier, State::Barrier { size, round: round + 1, arrived: ThreadSet::default() });
    }
}
