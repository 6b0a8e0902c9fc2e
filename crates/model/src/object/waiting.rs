//! What waiting operations have in common: how long they wait, how a wait ends, which threads a
//! wake-up wakes, and the queues of condition variables and futexes.
//!
//! A timed wait in a queue may time out whenever it was not woken. Spurious
//! wake-ups happen only from a queue, at most `--spurious` times in each thread. A wake-up of `n`
//! threads has one successor per subset of `n` waiters, in lexicographic order of their ranks.

use raddle_vocab::{Outcome, ThreadSet, Words};

use super::UnpackError;
use crate::depend::{Footprint, wait_touch};
use crate::semantics::{Space, State, SyncState, Wait};

/// What an acquisition does where the plain form would block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It blocks.
    Block,
    /// It fails at once.
    Try,
    /// It times out.
    Timed,
}

impl Patience {
    /// The outcome where a blocking acquisition would be disabled; `None` if it is disabled too.
    #[must_use]
    pub fn otherwise(self) -> Option<Outcome> {
        match self {
            Patience::Block => None,
            Patience::Try => Some(Outcome::Failed),
            Patience::Timed => Some(Outcome::TimedOut),
        }
    }

    /// The outcome of an acquisition; `free` says that it need not wait.
    pub(super) fn acquire(self, free: bool) -> Option<Outcome> {
        if free { Some(Outcome::Done) } else { self.otherwise() }
    }
}

/// How a wait in a queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// By a wake-up.
    Woken,
    /// By its time-out.
    TimedOut,
    /// Without any reason.
    Spurious,
}

impl WaitEnd {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            WaitEnd::Woken => Outcome::Done,
            WaitEnd::TimedOut => Outcome::TimedOut,
            WaitEnd::Spurious => Outcome::Spurious,
        }
    }

    /// Every outcome that is no time-out or spurious wake-up is a wake-up.
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::TimedOut => WaitEnd::TimedOut,
            Outcome::Spurious => WaitEnd::Spurious,
            _ => WaitEnd::Woken,
        }
    }

    pub(super) fn unpack(words: &Words) -> Result<Self, UnpackError> {
        super::allowed(words, &[Outcome::Done, Outcome::TimedOut, Outcome::Spurious], None)?;
        Ok(WaitEnd::of(words.outcome))
    }

    /// In words, before the name of what was waited for.
    pub(super) fn phrase(self) -> &'static str {
        match self {
            WaitEnd::Woken => "wake from",
            WaitEnd::TimedOut => "time out on",
            WaitEnd::Spurious => "wake spuriously from",
        }
    }
}

/// The threads that an operation woke. Threads from [`Woken::LIMIT`] on are not told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken(u64);

impl Woken {
    /// The first thread number that has no bit of its own.
    pub const LIMIT: u16 = 63;

    /// The set with these bits, one per thread; the last one stands for all from [`Woken::LIMIT`]
    /// on.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Woken(bits)
    }

    /// The bits of the set.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether no thread was woken.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the thread was woken, or may have been if it has no bit of its own.
    #[must_use]
    pub fn contains(self, thread: u16) -> bool {
        self.0 & (1 << thread.min(Woken::LIMIT)) != 0
    }

    /// Whether threads were woken that are not told apart.
    #[must_use]
    pub const fn has_others(self) -> bool {
        self.0 >> Woken::LIMIT != 0
    }

    /// The bits that are set, in increasing order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(bit as u16)
        })
    }

    /// Touches the place where each of the threads learns that it was woken.
    #[inline]
    pub(super) fn touch(self, into: &mut Footprint) {
        let mut rest = self.0;
        while rest != 0 {
            into.push(wait_touch(rest.trailing_zeros() as u16));
            rest &= rest - 1;
        }
    }

    /// In words, behind the name of what was waited for.
    pub(super) fn phrase(self, names: &dyn super::Namer) -> String {
        let named = self.iter().filter(|&thread| thread < Woken::LIMIT);
        let threads: Vec<String> = named.map(|thread| names.thread(u64::from(thread))).collect();
        match (threads.is_empty(), self.has_others()) {
            (true, false) => ", no thread waits".to_string(),
            (_, more) => format!(", wakes {}{}", threads.join(", "), if more { " and others" } else { "" }),
        }
    }
}

impl From<&ThreadSet> for Woken {
    fn from(set: &ThreadSet) -> Self {
        let [low, others @ ..] = *set.words();
        let has_others = low >> Woken::LIMIT != 0 || others.iter().any(|&word| word != 0);
        Woken((low & !(1 << Woken::LIMIT)) | (u64::from(has_others) << Woken::LIMIT))
    }
}

/// How many threads a wake-up wakes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wakes(pub u32);

impl Wakes {
    pub const ONE: Wakes = Wakes(1);
    pub const ALL: Wakes = Wakes(u32::MAX);

    /// The number of subsets that it can choose among so many waiters; 1 if none waits. The number
    /// of a successor is 16 bits wide, so it ends there.
    pub fn successors(self, waiters: u32) -> u16 {
        u16::try_from(binomial(waiters, self.0.min(waiters))).unwrap_or(u16::MAX)
    }
}

impl SyncState {
    /// The threads that wait in a queue and were not woken.
    pub(super) fn queue(&self, space: Space, queue: u64) -> ThreadSet {
        match self.state(space, queue) {
            State::Queue { waiters } => waiters,
            _ => ThreadSet::default(),
        }
    }

    /// How a wait can end now. A thread that was woken has one successor. For others the time-out
    /// comes first, if the wait is timed, then a spurious wake-up.
    pub(super) fn end_of_wait(&self, thread: u16, choice: u16) -> Option<WaitEnd> {
        let thread = self.thread(thread);
        let spurious = thread.spurious < self.spurious_limit();
        match thread.wait {
            Wait::Woken => (choice == 0).then_some(WaitEnd::Woken),
            Wait::Queued { timed: true } => match choice {
                0 => Some(WaitEnd::TimedOut),
                1 if spurious => Some(WaitEnd::Spurious),
                _ => None,
            },
            Wait::Queued { timed: false } => (choice == 0 && spurious).then_some(WaitEnd::Spurious),
            _ => None,
        }
    }

    /// The threads that the successor with number `choice` wakes.
    pub(super) fn choose_waiters(&self, space: Space, queue: u64, wakes: Wakes, choice: u16) -> Woken {
        let waiters = self.queue(space, queue);
        let mut chosen = ThreadSet::default();
        let mut skip = u32::from(choice);
        let (mut left, mut wanted) = (waiters.len(), wakes.0.min(waiters.len()));
        for &thread in self.by_rank().iter().filter(|&&thread| waiters.contains(usize::from(thread))) {
            if wanted == 0 {
                break;
            }
            left -= 1;
            // Subsets of the rest if this one is taken come first.
            let with = binomial(left, wanted - 1);
            if skip < with {
                chosen.insert(usize::from(thread));
                wanted -= 1;
            } else {
                skip -= with;
            }
        }
        Woken::from(&chosen)
    }

    pub(super) fn enqueue(&mut self, space: Space, queue: u64, thread: u16, timed: bool) {
        let mut waiters = self.queue(space, queue);
        waiters.insert(usize::from(thread));
        self.set_state(space, queue, State::Queue { waiters });
        self.change_thread(thread, |thread| thread.wait = Wait::Queued { timed });
    }

    pub(super) fn leave_queue(&mut self, space: Space, queue: u64, thread: u16, end: WaitEnd) {
        if end != WaitEnd::Woken {
            let mut waiters = self.queue(space, queue);
            waiters.remove(usize::from(thread));
            self.set_state(space, queue, State::Queue { waiters });
        }
        self.change_thread(thread, |thread| {
            thread.wait = Wait::No;
            thread.spurious += u32::from(end == WaitEnd::Spurious);
        });
    }

    /// Wakes these threads. Of those that are not told apart, at most `most` are woken, in order of
    /// rank.
    pub(super) fn wake_up(&mut self, space: Space, queue: u64, woken: Woken, most: Wakes) {
        if woken.is_empty() {
            return;
        }
        let mut waiters = self.queue(space, queue);
        let mut others = most.0;
        for index in 0..self.by_rank().len() {
            let thread = self.by_rank()[index];
            let is_other = thread >= Woken::LIMIT;
            if waiters.contains(usize::from(thread)) && woken.contains(thread) && (!is_other || others > 0) {
                others -= u32::from(is_other);
                waiters.remove(usize::from(thread));
                self.change_thread(thread, |thread| thread.wait = Wait::Woken);
            }
        }
        self.set_state(space, queue, State::Queue { waiters });
    }
}

fn binomial(n: u32, k: u32) -> u32 {
    let k = k.min(n - k);
    let mut result: u64 = 1;
    for i in 0..u64::from(k) {
        result = (result * (u64::from(n) - i) / (i + 1)).min(u64::from(u32::MAX));
    }
    result as u32
}
