//! States of objects and threads. All of them are `Copy`, so changing a state and undoing the
//! change are plain assignments.

use raddle_vocab::ThreadSet;

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
}
