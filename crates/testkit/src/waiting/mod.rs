//! Random programs that wait busily, as C text and as a state machine.
//!
//! Some threads *wait*: each goes round in a loop that looks for something, does something in
//! between and may give up. The others *work*: they make a few steps that end such loops, or not.
//! The truth about a program comes from [`oracle`], which searches the graph of its states: it
//! knows nothing of traces, rounds or folding. So a round that is folded though it counts, or a
//! livelock that does not exist, shows as a difference.

pub mod oracle;
mod print;

use raddle_vocab::policy::mix;

use crate::generate::Rng;

pub use print::print;

/// Atomic words.
pub const WORDS: usize = 3;
/// Rounds after which a loop gives up, at most.
const MOST_ROUNDS: usize = 4;

/// What a round looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// An atomic word is not 0.
    Word(usize),
    /// An atomic word has this value.
    Equals(usize, u8),
    /// Two atomic words are not 0, read one after the other.
    Both(usize, usize),
    /// One compare-exchange of an atomic word, from 1 to 2.
    Swap(usize),
    /// Data under the lock is not 0.
    Data,
    /// The lock is free; it is given back.
    TryLock,
    /// `sem_trywait`.
    TryWait,
    /// `sem_timedwait`.
    TimedWait,
    /// Data under the lock is not 0, with `pthread_cond_timedwait` in between.
    TimedCond,
    /// `poll` of a pipe, with this time-out.
    Poll(u32),
}

/// What a round does beside looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Reads an atomic word so many times.
    Reads(usize, usize),
    /// Reads in an inner loop that leaves early.
    InnerLoop(usize),
    /// Locks and unlocks.
    EmptySection,
    /// A call or statement without an effect, by number.
    Call(usize),
}

/// Where the number of rounds is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// In a variable or something else of the program, by number.
    Kept(usize),
    /// Nowhere: the loop gives up when its time is over.
    Deadline,
}

/// When a loop gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivesUp {
    /// How it counts.
    pub counter: Counter,
    /// Rounds, unless it is a deadline.
    pub rounds: usize,
}

/// What a waiting thread asserts behind its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing.
    Nothing,
    /// It did not give up.
    Found,
    /// An atomic word is 0.
    Unset(usize),
}

/// A thread that waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// What it looks for.
    pub look: Look,
    /// What it does in each round that does not find it.
    pub noise: Vec<Noise>,
    /// When it gives up, if ever.
    pub patience: Option<GivesUp>,
    /// What it asserts.
    pub claim: Outlook,
}

/// A step of a thread that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Stores 1 to an atomic word.
    Set(usize),
    /// Stores 0.
    Clear(usize),
    /// Sets the data under the lock, and wakes a waiter.
    SetData,
    /// Locks, stores to a word, unlocks.
    HoldAndSet(usize),
    /// Posts the semaphore.
    Post,
    /// Writes a byte to the pipe.
    Send,
    /// Adds 1 to an atomic word: loads it and exchanges it, again if that fails.
    Raise(usize),
    /// Takes a lock by exchanging a word, changes what it guards, stores to a word, gives it back.
    SpinAndSet(usize),
    /// Draws a ticket, waits for its turn, changes what it guards, and lets the next one in.
    TakeTurn,
}

/// A program: main creates all threads, does no work itself, and joins them.
#[derive(Clone, Debug)]
pub struct WaitingProgram {
    /// Threads that wait.
    pub waiters: Vec<Waiter>,
    /// Threads that work.
    pub workers: Vec<Vec<Step>>,
}

/// Ways to keep a counter that belong to the whole process: only one thread can use them.
const PROCESS_WIDE: [usize; 3] = print::PROCESS_WIDE;

/// The program of a seed.
#[must_use]
pub fn generate(seed: u64) -> WaitingProgram {
    let rng = &mut Rng::new(mix(seed));
    let is_alone = rng.below(3) > 0;
    let waiters = (0..if is_alone { 1 } else { 2 }).map(|_| waiter(rng, is_alone)).collect();
    let workers = (0..1 + rng.below(2)).map(|_| (0..1 + rng.below(2)).map(|_| step(rng)).collect()).collect();
    let mut program = WaitingProgram { waiters, workers };
    // Most programs shall end: what is waited for mostly comes.
    if rng.below(4) > 0 {
        for look in program.waiters.iter().map(|waiter| waiter.look).collect::<Vec<_>>() {
            let at = rng.below(program.workers.len());
            program.workers[at].extend(ending(look));
        }
    }
    program
}

/// The program of a seed, one of those whose states are all in memory: no time, files or pipes.
#[must_use]
pub fn generate_in_memory(seed: u64) -> WaitingProgram {
    let rng = &mut Rng::new(mix(seed ^ 0x6d65_6d6f));
    let waiters = (0..rng.below(3)).map(|_| waiter_in_memory(rng)).collect::<Vec<_>>();
    let workers = if waiters.len() < 2 { 2 + rng.below(2) } else { 1 + rng.below(2) };
    let workers = (0..workers).map(|_| (0..1 + rng.below(2)).map(|_| step_in_memory(rng)).collect()).collect();
    let mut program = WaitingProgram { waiters, workers };
    if rng.below(4) > 0 {
        for look in program.waiters.iter().map(|waiter| waiter.look).collect::<Vec<_>>() {
            let at = rng.below(program.workers.len());
            program.workers[at].extend(ending(look));
        }
    }
    program
}

fn step_in_memory(rng: &mut Rng) -> Step {
    match rng.below(10) {
        0 => Step::Set(rng.below(WORDS)),
        1 => Step::Clear(rng.below(WORDS)),
        2 => Step::SetData,
        3 => Step::HoldAndSet(rng.below(WORDS)),
        4..6 => Step::Raise(rng.below(WORDS)),
        6..8 => Step::SpinAndSet(rng.below(WORDS)),
        _ => Step::TakeTurn,
    }
}

fn waiter_in_memory(rng: &mut Rng) -> Waiter {
    let look = match rng.below(8) {
        0 | 1 => Look::Word(rng.below(WORDS)),
        2 | 3 => Look::Equals(rng.below(WORDS), 1 + rng.below(2) as u8),
        4 => Look::Both(rng.below(WORDS), rng.below(WORDS)),
        5 => Look::Swap(rng.below(WORDS)),
        6 => Look::Data,
        _ => Look::TryLock,
    };
    let noise = (0..rng.below(2)).map(|_| match rng.below(4) {
        0 => Noise::Reads(rng.below(WORDS), 1 + rng.below(2)),
        1 => Noise::InnerLoop(rng.below(WORDS)),
        2 => Noise::EmptySection,
        _ => Noise::Call(rng.pick(&print::CALLS_IN_MEMORY)),
    });
    let noise = noise.collect();
    let counter = Counter::Kept(rng.pick(&print::COUNTERS_IN_MEMORY));
    let patience = (rng.below(4) == 0).then(|| GivesUp { counter, rounds: 1 + rng.below(MOST_ROUNDS - 1) });
    let claim = match rng.below(3) {
        0 if patience.is_some() => Outlook::Found,
        1 => Outlook::Unset(rng.below(WORDS)),
        _ => Outlook::Nothing,
    };
    Waiter { look, noise, patience, claim }
}

fn ending(look: Look) -> Vec<Step> {
    match look {
        Look::Equals(word, value) => [vec![Step::Clear(word)], vec![Step::Raise(word); value.into()]].concat(),
        Look::Word(word) | Look::Swap(word) => vec![Step::Set(word)],
        Look::Both(one, other) => vec![Step::Set(one), Step::Set(other)],
        Look::Data | Look::TimedCond => vec![Step::SetData],
        Look::TryLock => vec![],
        Look::TryWait | Look::TimedWait => vec![Step::Post],
        Look::Poll(_) => vec![Step::Send],
    }
}

fn step(rng: &mut Rng) -> Step {
    match rng.below(9) {
        0..3 => Step::Set(rng.below(WORDS)),
        3 => Step::Clear(rng.below(WORDS)),
        4 => Step::SetData,
        5 | 6 => Step::HoldAndSet(rng.below(WORDS)),
        7 => Step::Post,
        _ => Step::Send,
    }
}

fn waiter(rng: &mut Rng, is_alone: bool) -> Waiter {
    let look = match rng.below(12) {
        0..3 => Look::Word(rng.below(WORDS)),
        3 => Look::Both(rng.below(WORDS), rng.below(WORDS)),
        4 => Look::Swap(rng.below(WORDS)),
        5 | 6 => Look::Data,
        7 => Look::TryLock,
        8 => Look::TryWait,
        9 => Look::TimedWait,
        10 => Look::TimedCond,
        _ => Look::Poll([0, 10][rng.below(2)]),
    };
    let noise = (0..rng.below(3)).map(|_| noise(rng, look)).collect();
    let patience = (rng.below(2) == 0).then(|| patience(rng, is_alone));
    let claim = match rng.below(3) {
        0 if patience.is_some() => Outlook::Found,
        1 => Outlook::Unset(rng.below(WORDS)),
        _ => Outlook::Nothing,
    };
    Waiter { look, noise, patience, claim }
}

fn noise(rng: &mut Rng, look: Look) -> Noise {
    match rng.below(8) {
        0 | 1 => Noise::Reads(rng.below(WORDS), 1 + rng.below(20)),
        2 => Noise::InnerLoop(rng.below(WORDS)),
        // The lock is held there.
        3 if look != Look::TimedCond => Noise::EmptySection,
        _ => Noise::Call(rng.below(print::CALLS.len())),
    }
}

fn patience(rng: &mut Rng, is_alone: bool) -> GivesUp {
    let kind = rng.below(print::COUNTERS.len() + 1);
    let counter = if kind == print::COUNTERS.len() {
        Counter::Deadline
    } else if PROCESS_WIDE.contains(&kind) && !is_alone {
        Counter::Kept(0)
    } else {
        Counter::Kept(kind)
    };
    GivesUp { counter, rounds: 1 + rng.below(MOST_ROUNDS) }
}
