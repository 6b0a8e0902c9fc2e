//! States of objects and threads. All of them are `Copy`, so changing a state and undoing the
//! change are plain assignments.

use raddle_vocab::ThreadSet;
use raddle_vocab::policy::mix;
use raddle_vocab::readiness::Readiness;

use crate::object::Holds;

/// State of one object, by kind. `Untouched`: it was never used, or last as another kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum State {
    /// As a static initialiser leaves it.
    #[default]
    Untouched,
    /// Also spin locks.
    Mutex { owner: Option<u16>, depth: u32 },
    /// A read-write lock.
    Rwlock(Holds),
    /// A condition variable, or the queue of a futex word: the threads that wait and were not
    /// woken.
    Queue { waiters: ThreadSet },
    /// A semaphore.
    Semaphore { count: u64 },
    /// A barrier; `arrived` are those of the present round.
    Barrier { size: u32, round: u64, arrived: ThreadSet },
    /// A once control or guard.
    Once { runner: Option<u16>, finished: bool },
    /// Eight bytes of memory, of which only those in `known` have a value that we have seen.
    Memory { known: u8, bits: u64 },
    /// A channel, port or queue: what it is ready for.
    Channel(Readiness),
}

impl State {
    /// A number for the state; 0 if it is as good as untouched.
    pub fn digest(&self) -> u64 {
        let owned = |owner: Option<u16>| owner.map_or(0, |owner| 1 + u64::from(owner));
        let set = |set: &ThreadSet| set.words().iter().fold(0, |sum, &word| mix(sum ^ word));
        match self {
            // What a channel is ready for follows from its state, which the target knows.
            State::Untouched | State::Memory { .. } | State::Channel(_) | State::Mutex { owner: None, .. } => 0,
            State::Queue { waiters } if waiters.is_empty() => 0,
            State::Rwlock(holds) if *holds == Holds::default() => 0,
            State::Mutex { owner, depth } => mix(1 ^ mix(owned(*owner) ^ mix(u64::from(*depth)))),
            State::Rwlock(Holds { writer, readers, waiting }) => {
                mix(2 ^ mix(owned(*writer) ^ mix(u64::from(*readers) ^ mix(u64::from(*waiting)))))
            }
            State::Queue { waiters } => mix(3 ^ set(waiters)),
            State::Semaphore { count } => mix(4 ^ mix(*count)),
            State::Barrier { size, round, arrived } => mix(5 ^ mix(u64::from(*size) ^ mix(*round ^ set(arrived)))),
            State::Once { runner, finished } => mix(6 ^ mix(owned(*runner) ^ mix(u64::from(*finished)))),
        }
    }
}

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    /// Not created yet.
    #[default]
    Unborn,
    /// Between its creation and its end.
    Alive,
    /// Over.
    Ended,
}

/// What a thread that stands before the second half of a waiting operation has met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It does not wait.
    #[default]
    No,
    /// It is in a queue.
    Queued {
        /// The wait may end by time-out.
        timed: bool,
    },
    /// It was woken.
    Woken,
    /// It arrived at a barrier that is still closed.
    Arrived,
    /// Its round of a barrier is open.
    Released {
        /// The barrier.
        barrier: u64,
        /// It is the one that is told so.
        serial: bool,
    },
}

/// State of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thread {
    pub life: Life,
    pub wait: Wait,
    /// Joined or detached: it must not be joined (again).
    pub claimed: bool,
    /// Spurious wake-ups it has had.
    pub spurious: u32,
    /// The courier that runs a handler in its place.
    pub suspended: Option<u16>,
    /// The thread in whose place it runs a handler.
    pub acts_for: Option<u16>,
    /// Whether a handler has ended its wait.
    pub interrupted: bool,
}

impl Thread {
    /// A number for the state.
    pub fn digest(&self) -> u64 {
        let wait = match self.wait {
            Wait::No => 0,
            Wait::Queued { timed } => 1 + u64::from(timed),
            Wait::Woken => 3,
            Wait::Arrived => 4,
            Wait::Released { barrier, serial } => (5 + u64::from(serial)) ^ (barrier << 3),
        };
        let life = self.life as u64 + 3 * u64::from(self.claimed);
        let number = |thread: Option<u16>| thread.map_or(0, |thread| 1 + u64::from(thread));
        let handlers = number(self.suspended) | number(self.acts_for) << 17 | u64::from(self.interrupted) << 34;
        mix(wait ^ mix(life ^ mix(u64::from(self.spurious) ^ handlers << 20)))
    }
}
