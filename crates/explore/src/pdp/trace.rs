//! One execution with the orders that the search needs: dependence for what can be reversed, happens-before for races.

use std::collections::BTreeSet;

use raddle_model::{Event, Execution, Footprint, Pending, PendingState, depend, footprint};
use raddle_vocab::{OpKind, Outcome};
use rustc_hash::FxHashMap;

use super::reverse::{acquired, released, takes_rwlock};

/// Number of transitions of each thread that come before something, by thread.
pub(super) type Clock = Vec<u32>;

/// One transition.
#[derive(Debug)]
pub(super) struct Moment {
    pub step: Event,
    /// Its number among those of its thread, from 0.
    pub count: u32,
    /// Whether it releases a lock that its thread does not hold.
    pub stray: bool,
    /// What it touches, whatever its outcome might have been.
    pub worst: Footprint,
    /// Dependence order: what comes before the thread's position just before it.
    pub before: Clock,
    /// The same just after it.
    pub after: Clock,
    /// Happens-before: what comes before the thread's position just after it.
    pub synced: Clock,
}

/// A prefix of an execution.
#[derive(Debug)]
pub(super) struct Trace {
    pub moments: Vec<Moment>,
    /// Positions of each thread's transitions.
    pub steps_of: Vec<Vec<usize>>,
    /// The transition that created each thread.
    pub birth: Vec<Option<usize>>,
    /// What each thread stands before at the end, if it goes on.
    pub pending: Vec<Option<Event>>,
}

impl Trace {
    /// The first `length` transitions of the execution.
    pub fn of(execution: &Execution, length: usize) -> Self {
        let threads = execution.threads.len();
        let mut trace = Trace {
            moments: Vec::with_capacity(length),
            steps_of: vec![Vec::new(); threads],
            birth: vec![None; threads],
            pending: vec![None; threads],
        };
        let mut orders = Orders::new(threads);
        let mut timed = vec![false; threads];
        let mut holders: BTreeSet<(u64, u16)> = BTreeSet::new();
        for (at, step) in execution.events.iter().take(length).enumerate() {
            let thread = usize::from(step.thread);
            match step.kind {
                OpKind::CondWait => timed[thread] = false,
                OpKind::CondTimedWait => timed[thread] = true,
                OpKind::Create if step.outcome == Outcome::Done => {
                    if let Some(birth) = trace.birth.get_mut(step.arg as usize) {
                        *birth = Some(at);
                    }
                }
                _ => {}
            }
            let stray = hand_over(step, &mut holders);
            let worst = worst(step, timed[thread]);
            let count = trace.steps_of[thread].len() as u32;
            trace.steps_of[thread].push(at);
            let (before, after, synced) = orders.advance(step);
            trace.moments.push(Moment { step: *step, count, stray, worst, before, after, synced });
        }
        trace.find_pending(execution, length);
        trace
    }

    fn find_pending(&mut self, execution: &Execution, length: usize) {
        for step in execution.events[length..].iter().rev() {
            self.pending[usize::from(step.thread)] = Some(*step);
        }
        for (thread, Pending { event, state }) in execution.pending.iter().enumerate() {
            let over = matches!(state, PendingState::Ended | PendingState::Exited | PendingState::Failed);
            if self.pending[thread].is_none() && !over {
                self.pending[thread] = Some(*event);
            }
            if thread > 0 && self.birth[thread].is_none() {
                self.pending[thread] = None;
            }
        }
    }

    /// How many transitions there are.
    pub fn len(&self) -> usize {
        self.moments.len()
    }

    /// How many threads the whole execution has.
    pub fn threads(&self) -> usize {
        self.steps_of.len()
    }

    /// What the thread stands before at state `at`, if it goes on from there.
    pub fn next_step(&self, thread: u16, at: usize) -> Option<&Event> {
        let steps = &self.steps_of[usize::from(thread)];
        match steps.get(steps.partition_point(|&step| step < at)) {
            Some(&step) => Some(&self.moments[step].step),
            None => self.pending[usize::from(thread)].as_ref(),
        }
    }

    /// Whether the thread exists at state `at`.
    pub fn exists(&self, thread: u16, at: usize) -> bool {
        thread == 0 || self.birth[usize::from(thread)].is_some_and(|birth| birth < at)
    }

    /// Dependence order at the thread's position in state `at`.
    pub fn clock(&self, thread: u16, at: usize) -> Clock {
        let steps = &self.steps_of[usize::from(thread)];
        match steps.partition_point(|&step| step < at) {
            0 => match self.birth[usize::from(thread)] {
                Some(birth) => self.moments[birth].after.clone(),
                None => vec![0; self.threads()],
            },
            last => self.moments[steps[last - 1]].after.clone(),
        }
    }

    /// The first state in which `count` transitions of `other` happen before the position of the thread, or, before it
    /// exists, of its creator.
    pub fn first_synced(&self, thread: u16, other: u16, count: u32) -> usize {
        let (mut thread, mut end, mut found) = (usize::from(thread), self.len(), usize::MAX);
        loop {
            let steps = &self.steps_of[thread];
            let steps = &steps[..steps.partition_point(|&step| step < end)];
            let first = steps.partition_point(|&step| self.moments[step].synced[usize::from(other)] < count);
            if let Some(&step) = steps.get(first) {
                found = step + 1;
            }
            match self.birth[thread] {
                Some(birth) if self.moments[birth].synced[usize::from(other)] >= count => {
                    found = birth + 1;
                    thread = usize::from(self.moments[birth].step.thread);
                    end = birth + 1;
                }
                _ => return found,
            }
        }
    }
}

/// Notes who holds which lock; whether the step releases one that its thread does not hold.
fn hand_over(step: &Event, holders: &mut BTreeSet<(u64, u16)>) -> bool {
    if let Some(mutex) = acquired(step) {
        holders.insert((mutex, step.thread));
    } else if takes_rwlock(step) {
        holders.insert((step.obj, step.thread));
    }
    let lock = if step.kind == OpKind::RwUnlock { Some(step.obj) } else { released(step) };
    lock.is_some_and(|lock| step.outcome == Outcome::Done && !holders.remove(&(lock, step.thread)))
}

/// What a step may touch if it comes at another moment.
fn worst(step: &Event, timed: bool) -> Footprint {
    if matches!(step.outcome, Outcome::Nested | Outcome::Refused) {
        return footprint(step);
    }
    let mut other = *step;
    match step.kind {
        OpKind::CondReacquire if timed => other.outcome = Outcome::TimedOut,
        OpKind::BarrierArrive => {}
        OpKind::Signal | OpKind::Broadcast | OpKind::FutexWake if step.value == 0 => {
            let prints = footprint(step);
            return prints.into_iter().map(|touch| depend::Touch { mode: depend::Mode::Write, ..touch }).collect();
        }
        _ => other.outcome = Outcome::Done,
    }
    footprint(&other)
}

/// Orders of the pending operation of a thread.
pub(super) fn worst_pending(step: &Event) -> Footprint {
    worst(step, step.kind == OpKind::CondReacquire)
}

/// Both orders, step by step.
struct Orders {
    /// Dependence order at each thread's position.
    depends: Vec<Clock>,
    /// Happens-before at each thread's position.
    synced: Vec<Clock>,
    /// What has touched each byte: by observing, sharing, writing.
    touched: FxHashMap<(u64, u8), [Option<Clock>; 3]>,
    /// What was published through an object, and (second) by readers of an rwlock only.
    published: FxHashMap<(u64, bool), Clock>,
    /// What was published in a round of a barrier.
    rounds: FxHashMap<(u64, u64), Clock>,
}

impl Orders {
    fn new(threads: usize) -> Self {
        Orders {
            depends: vec![vec![0; threads]; threads],
            synced: vec![vec![0; threads]; threads],
            touched: FxHashMap::default(),
            published: FxHashMap::default(),
            rounds: FxHashMap::default(),
        }
    }

    fn advance(&mut self, step: &Event) -> (Clock, Clock, Clock) {
        let thread = usize::from(step.thread);
        let before = self.depends[thread].clone();
        self.depend(step);
        self.synchronise(step);
        (before, self.depends[thread].clone(), self.synced[thread].clone())
    }

    fn depend(&mut self, step: &Event) {
        let thread = usize::from(step.thread);
        let touches = footprint(step);
        let mut clock = std::mem::take(&mut self.depends[thread]);
        clock[thread] += 1;
        for touch in &touches {
            for byte in bytes(touch.bytes) {
                if let Some(classes) = self.touched.get(&(touch.cell, byte)) {
                    for mode in [depend::Mode::Observe, depend::Mode::Share, depend::Mode::Write] {
                        if let Some(other) = classes[mode as usize].as_ref().filter(|_| !touch.mode.commutes(mode)) {
                            join(&mut clock, other);
                        }
                    }
                }
            }
        }
        for touch in &touches {
            for byte in bytes(touch.bytes) {
                let class = &mut self.touched.entry((touch.cell, byte)).or_default()[touch.mode as usize];
                match class {
                    Some(all) => join(all, &clock),
                    None => *class = Some(clock.clone()),
                }
            }
        }
        // Creation is a conflict with the start, but the thread exists from then on.
        if step.kind == OpKind::Create
            && let Some(child) = self.depends.get_mut(step.arg as usize).filter(|_| step.outcome == Outcome::Done)
        {
            join(child, &clock);
        }
        self.depends[thread] = clock;
    }

    /// The edges of happens-before that locks, semaphores, barriers, creation and joining make. Leaving out others (atomics)
    /// orders less, which is the safe side.
    fn synchronise(&mut self, step: &Event) {
        let thread = usize::from(step.thread);
        let done = step.outcome == Outcome::Done;
        self.synced[thread][thread] += 1;
        match step.kind {
            OpKind::Create if done => {
                let clock = self.synced[thread].clone();
                if let Some(child) = self.synced.get_mut(step.arg as usize) {
                    join(child, &clock);
                }
            }
            OpKind::Join if done => {
                if let Some(ended) = self.synced.get(step.arg as usize).cloned() {
                    join(&mut self.synced[thread], &ended);
                }
            }
            OpKind::Lock | OpKind::TryLock | OpKind::TimedLock if done => self.acquire(thread, step.obj, false),
            OpKind::CondReacquire => self.acquire(thread, step.arg, false),
            OpKind::Unlock if done => self.publish(thread, step.obj, false),
            OpKind::CondWait | OpKind::CondTimedWait => self.publish(thread, step.arg, false),
            OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock if done => {
                self.acquire(thread, step.obj, false)
            }
            OpKind::WriteLock | OpKind::TryWriteLock | OpKind::TimedWriteLock if done => {
                self.acquire(thread, step.obj, false);
                self.acquire(thread, step.obj, true);
            }
            OpKind::RwUnlock => self.publish(thread, step.obj, step.arg != 1),
            OpKind::SemWait | OpKind::SemTryWait | OpKind::SemTimedWait if done => {
                self.acquire(thread, step.obj, false)
            }
            OpKind::SemPost => self.publish(thread, step.obj, false),
            OpKind::BarrierArrive => {
                let clock = self.synced[thread].clone();
                let round = self.rounds.entry((step.obj, step.arg)).or_insert_with(|| clock.clone());
                join(round, &clock);
            }
            OpKind::BarrierLeave => {
                if let Some(round) = self.rounds.get(&(step.obj, step.arg)) {
                    join(&mut self.synced[thread], round);
                }
            }
            OpKind::MutexInit | OpKind::RwInit | OpKind::SemInit => {
                self.published.remove(&(step.obj, false));
                self.published.remove(&(step.obj, true));
            }
            _ => {}
        }
    }

    fn acquire(&mut self, thread: usize, obj: u64, readers: bool) {
        if let Some(clock) = self.published.get(&(obj, readers)) {
            join(&mut self.synced[thread], clock);
        }
    }

    fn publish(&mut self, thread: usize, obj: u64, readers: bool) {
        let clock = self.synced[thread].clone();
        match self.published.get_mut(&(obj, readers)) {
            Some(all) => join(all, &clock),
            None => {
                self.published.insert((obj, readers), clock);
            }
        }
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

fn bytes(mask: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |byte| mask & (1 << byte) != 0)
}
