//! States of objects and threads. All of them are `Copy`, so changing a state and undoing the
//! change are plain assignments.

use raddle_vocab::policy::MAX_THREADS;

/// A set of run-local thread numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSet {
    words: [u64; MAX_THREADS / 64],
}

impl ThreadSet {
    /// Adds a thread; numbers beyond what a run can have are ignored.
    pub fn insert(&mut self, thread: u16) {
        if let Some(word) = self.words.get_mut(usize::from(thread) / 64) {
            *word |= 1 << (thread % 64);
        }
    }

    /// Takes a thread out.
    pub fn remove(&mut self, thread: u16) {
        if let Some(word) = self.words.get_mut(usize::from(thread) / 64) {
            *word &= !(1 << (thread % 64));
        }
    }

    /// Whether the thread is in the set.
    #[must_use]
    pub fn contains(&self, thread: u16) -> bool {
        self.words.get(usize::from(thread) / 64).is_some_and(|word| word & (1 << (thread % 64)) != 0)
    }

    /// How many threads are in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The threads in increasing order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some((index * 64) as u16 + bit as u16)
            })
        })
    }

    /// One bit per thread, bit 63 for all from 63 on.
    #[must_use]
    pub fn to_bits(&self) -> u64 {
        let high = self.words[0] >> 63 != 0 || self.words[1..].iter().any(|&word| word != 0);
        (self.words[0] & !(1 << 63)) | (u64::from(high) << 63)
    }
}

/// State of one object, by kind. `Untouched`: it was never used, or last as another kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum State {
    /// As a static initialiser leaves it.
    #[default]
    Untouched,
    /// Also spin locks.
    Mutex { owner: Option<u16>, depth: u32 },
    /// A read-write lock: `readers` counts holds, not threads.
    Rwlock { writer: Option<u16>, readers: u32 },
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
