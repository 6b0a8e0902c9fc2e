//! The truth about a program that waits busily, by a search of all its states.
//!
//! Every operation that other threads can notice is a step; what a round does beside looking
//! changes nothing but the number of rounds. A timed wait can time out whenever it would wait, and
//! a deadline can pass in every round. From which states all threads can still come to their end is
//! computed backwards over the graph. So a state is *stuck* if no schedule leads from it to the
//! end: those threads that have not ended wait for ever, busily or not.

use std::collections::BTreeMap;

use super::{Counter, Look, Outlook, Step, WORDS, Waiter, WaitingProgram};

/// What is true of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Some schedule makes an assertion fail.
    pub fails: bool,
    /// Some schedule leads to where threads wait for ever.
    pub stuck: bool,
}

/// States that are searched, at most.
const MOST_STATES: usize = 200_000;

/// Where a waiting thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Before it looks.
    Look,
    /// Has found the first word of two.
    Second,
    /// Holds the lock to look.
    Holds,
    /// Waits with a time-out, the lock given back.
    Queued,
    /// Holds the lock, which it gives back before it leaves the loop; whether it has given up.
    Leaves(bool),
    /// Before its claim; whether it has given up.
    Claims(bool),
    /// A failed assertion stops a thread for good.
    Failed,
    Ended,
}

/// Where a worker is in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Inside {
    No,
    Locked,
    Stored,
    /// Has loaded this.
    Loaded(u8),
    /// Has drawn this ticket.
    Waits(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    waiters: Vec<(At, usize)>,
    /// Steps that each worker has made, and where it is in a step under the lock.
    workers: Vec<(usize, Inside)>,
    words: [u8; WORDS],
    data: bool,
    locked: bool,
    posts: u8,
    bytes: u8,
    /// The lock that is a word is taken.
    spins: bool,
    /// The next ticket, and whose turn it is.
    tickets: u8,
    turn: u8,
}

impl State {
    fn is_over(&self, program: &WaitingProgram) -> bool {
        self.waiters.iter().all(|(at, _)| matches!(at, At::Ended | At::Failed))
            && self.workers.iter().zip(&program.workers).all(|(&(made, _), steps)| made == steps.len())
    }

    fn has_failed(&self) -> bool {
        self.waiters.iter().any(|(at, _)| *at == At::Failed)
    }
}

/// The truth about a program; `None` if it has too many states.
#[must_use]
pub fn truth(program: &WaitingProgram) -> Option<Truth> {
    let first = State {
        waiters: vec![(At::Look, 0); program.waiters.len()],
        workers: vec![(0, Inside::No); program.workers.len()],
        words: [0; WORDS],
        data: false,
        locked: false,
        posts: 0,
        bytes: 0,
        spins: false,
        tickets: 0,
        turn: 0,
    };
    let mut numbers = BTreeMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut at = 0;
    while at < states.len() {
        for next in successors(program, &states[at].clone()) {
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                before.push(Vec::new());
                states.len() - 1
            });
            before[number].push(at);
        }
        at += 1;
        if states.len() > MOST_STATES {
            return None;
        }
    }
    let mut ends = vec![false; states.len()];
    let mut open: Vec<usize> = (0..states.len()).filter(|&at| states[at].is_over(program)).collect();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut ends[at], true) {
            open.extend(&before[at]);
        }
    }
    Some(Truth { fails: states.iter().any(State::has_failed), stuck: ends.contains(&false) })
}

fn successors(program: &WaitingProgram, state: &State) -> Vec<State> {
    let mut all = Vec::new();
    for (index, steps) in program.workers.iter().enumerate() {
        if let Some(&step) = steps.get(state.workers[index].0) {
            all.extend(work(state, index, step));
        }
    }
    for (index, waiter) in program.waiters.iter().enumerate() {
        wait(state, index, waiter, &mut all);
    }
    all
}

fn work(state: &State, index: usize, step: Step) -> Option<State> {
    let mut next = state.clone();
    match (step, state.workers[index].1) {
        (Step::SetData | Step::HoldAndSet(_), Inside::No) => {
            if state.locked {
                return None;
            }
            (next.locked, next.workers[index].1) = (true, Inside::Locked);
            next.data |= step == Step::SetData;
            return Some(next);
        }
        (Step::HoldAndSet(word), Inside::Locked) => {
            (next.words[word], next.workers[index].1) = (1, Inside::Stored);
            return Some(next);
        }
        (Step::Raise(word), Inside::Loaded(value)) if state.words[word] == value => next.words[word] = value + 1,
        (Step::Raise(word), _) => {
            next.workers[index].1 = Inside::Loaded(state.words[word]);
            return Some(next);
        }
        (Step::SpinAndSet(_), Inside::No) => {
            if state.spins {
                return None;
            }
            (next.spins, next.workers[index].1) = (true, Inside::Locked);
            return Some(next);
        }
        (Step::SpinAndSet(word), Inside::Locked) => {
            (next.words[word], next.workers[index].1) = (1, Inside::Stored);
            return Some(next);
        }
        (Step::SpinAndSet(_), _) => next.spins = false,
        (Step::TakeTurn, Inside::Waits(ticket)) => {
            if state.turn != ticket {
                return None;
            }
            next.workers[index].1 = Inside::Locked;
            return Some(next);
        }
        (Step::TakeTurn, Inside::Locked) => next.turn += 1,
        (Step::TakeTurn, _) => {
            (next.tickets, next.workers[index].1) = (state.tickets + 1, Inside::Waits(state.tickets));
            return Some(next);
        }
        (Step::SetData | Step::HoldAndSet(_), _) => next.locked = false,
        (Step::Set(word), _) => next.words[word] = 1,
        (Step::Clear(word), _) => next.words[word] = 0,
        (Step::Post, _) => next.posts += 1,
        (Step::Send, _) => next.bytes += 1,
    }
    next.workers[index] = (state.workers[index].0 + 1, Inside::No);
    Some(next)
}

fn wait(state: &State, index: usize, waiter: &Waiter, all: &mut Vec<State>) {
    let mut go = |at: At, change: &dyn Fn(&mut State)| {
        let mut next = state.clone();
        next.waiters[index].0 = at;
        change(&mut next);
        all.push(next);
    };
    let found = At::Claims(false);
    let nothing: &dyn Fn(&mut State) = &|_| {};
    let is_set = |word: usize| state.words[word] != 0;
    match (state.waiters[index].0, waiter.look) {
        (At::Look, Look::Word(word)) if is_set(word) => go(found, nothing),
        (At::Look, Look::Equals(word, value)) if state.words[word] == value => go(found, nothing),
        (At::Look, Look::Both(word, _)) if is_set(word) => go(At::Second, nothing),
        (At::Second, Look::Both(_, word)) if is_set(word) => go(found, nothing),
        (At::Look, Look::Swap(word)) if state.words[word] == 1 => go(found, &|next| next.words[word] = 2),
        (At::Look, Look::TryLock) if !state.locked => go(At::Leaves(false), &|next| next.locked = true),
        (At::Look, Look::TryWait | Look::TimedWait) if state.posts > 0 => go(found, &|next| next.posts -= 1),
        (At::Look, Look::Poll(_)) if state.bytes > 0 => go(found, nothing),
        (At::Look, Look::Data | Look::TimedCond) => {
            if !state.locked {
                go(At::Holds, &|next| next.locked = true);
            }
        }
        (At::Holds, Look::Data) if state.data => go(found, &|next| next.locked = false),
        (At::Holds, Look::Data) => all.extend(fail(state, index, waiter, true)),
        (At::Holds, _) if state.data => go(found, &|next| next.locked = false),
        (At::Holds, _) => go(At::Queued, &|next| next.locked = false),
        (At::Queued, _) => {
            if !state.locked {
                let mut resumed = state.clone();
                resumed.locked = true;
                all.extend(fail(&resumed, index, waiter, false));
            }
        }
        (At::Leaves(gave_up), _) => go(At::Claims(gave_up), &|next| next.locked = false),
        (At::Look | At::Second, _) => all.extend(fail(state, index, waiter, false)),
        (At::Claims(gave_up), _) => {
            let fails = match waiter.claim {
                Outlook::Nothing => false,
                Outlook::Found => gave_up,
                Outlook::Unset(word) => is_set(word),
            };
            go(if fails { At::Failed } else { At::Ended }, nothing);
        }
        (At::Failed | At::Ended, _) => {}
    }
}

/// The round of a waiting thread has not found what it looks for. The lock is given back if it
/// `unlocks`; a thread in a timed wait holds it from round to round.
fn fail(state: &State, index: usize, waiter: &Waiter, unlocks: bool) -> Vec<State> {
    let holds = waiter.look == Look::TimedCond;
    let mut again = state.clone();
    again.locked &= !unlocks;
    let mut over = again.clone();
    again.waiters[index].0 = if holds { At::Holds } else { At::Look };
    over.waiters[index].0 = if holds { At::Leaves(true) } else { At::Claims(true) };
    match waiter.patience {
        None => vec![again],
        Some(patience) if patience.counter == Counter::Deadline => vec![again, over],
        Some(patience) => {
            let made = state.waiters[index].1 + 1;
            (again.waiters[index].1, over.waiters[index].1) = (made, made);
            vec![if made >= patience.rounds { over } else { again }]
        }
    }
}
