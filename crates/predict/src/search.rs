//! Search for a reordering that brings certain threads to certain positions.
//!
//! The transition system is that of the CSP model ([`crate::model`]). A state is one position per
//! thread, which threads were woken, and the last writer of each pinned variable; everything else
//! follows from these. Two reductions keep the search small:
//!
//! * Only threads that the goal can need take part, and only as far as it can need them. The first
//!   search has the threads that the goal *must* need (the clocks of [`crate::order`]). If that is
//!   not enough, the second also has the threads that may post, wake, hold or write what another
//!   thread waits for.
//! * A sequence of harmless events, at whose end the thread holds only locks that it held all the
//!   way, is executed at once and without alternatives (a persistent set): every thread that was
//!   enabled before is enabled after it.
//!
//! It is complete: if it finds no witness within the budget, no reordering of these events reaches
//! the goal.

use rustc_hash::FxHashSet;

use crate::lockset::within;
use crate::order::MustHappenBefore;
use crate::pins::Pins;
use crate::state::SearchState;
use crate::trace::{ObservedTrace, SyncOp, Tid};

/// Threads and the positions that they are to have at the same time.
pub type Goal = [(Tid, u32)];

/// An event of a reordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderedEvent {
    /// The event.
    pub event: u32,
    /// The thread that it wakes, if it wakes one of several.
    pub woken: Option<Tid>,
}

/// Answer of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// The goal is reached by these events.
    Reachable(Vec<ReorderedEvent>),
    /// No reordering reaches it.
    Unreachable,
    /// The budget ended.
    Unknown,
}

/// Searches reorderings of one trace.
#[derive(Debug)]
pub struct Searcher<'a> {
    trace: &'a ObservedTrace,
    order: &'a MustHappenBefore,
    /// Positions at which the reordering begins. Events before them stay as they were.
    start: Vec<u32>,
    /// States that one search may visit.
    budget: usize,
}

impl<'a> Searcher<'a> {
    /// Searches from the start of the trace.
    #[must_use]
    pub fn new(trace: &'a ObservedTrace, order: &'a MustHappenBefore, budget: usize) -> Self {
        Searcher { trace, order, start: vec![0; trace.threads.len()], budget }
    }

    /// Reorders only what follows the first `events` events, which stay as they were.
    #[must_use]
    pub fn behind(mut self, events: u32) -> Self {
        for event in &self.trace.events[..events as usize] {
            self.start[usize::from(event.thread)] = event.index + 1;
        }
        self
    }

    /// Looks for a reordering.
    #[must_use]
    pub fn reach(&self, goal: &Goal, pins: &Pins) -> Reachability {
        let Some(must) = self.must(goal, pins) else { return Reachability::Unreachable };
        match self.run(goal, pins, &must) {
            Reachability::Unreachable => {}
            answer => return answer,
        }
        let may = self.may(goal, pins, &must);
        if may == must { Reachability::Unreachable } else { self.run(goal, pins, &may) }
    }

    /// How far each thread may have to go, so that these threads can be at least at these
    /// positions.
    #[must_use]
    pub fn cone(&self, positions: &Goal) -> Vec<u32> {
        let mut limits = self.start.clone();
        for &(thread, position) in positions {
            self.order.raise(&mut limits, thread, position);
        }
        self.may(&[], &Pins::default(), &limits)
    }

    /// How far each thread must have gone; `None` if a thread of the goal would be beyond its
    /// position.
    fn must(&self, goal: &Goal, pins: &Pins) -> Option<Vec<u32>> {
        let mut limits = self.start.clone();
        for &(thread, position) in goal {
            self.order.raise(&mut limits, thread, position);
        }
        loop {
            let before = limits.clone();
            for (reader, writer) in pins.writers() {
                let ((thread, at), (other, behind)) = (self.trace.position(reader), self.trace.position(writer));
                if at < limits[usize::from(thread)] {
                    self.order.raise(&mut limits, other, behind + 1);
                }
            }
            if before == limits {
                break;
            }
        }
        let fits = goal.iter().all(|&(thread, position)| limits[usize::from(thread)] == position);
        fits.then_some(limits)
    }

    /// How far each thread may have to go.
    fn may(&self, goal: &Goal, pins: &Pins, must: &[u32]) -> Vec<u32> {
        let mut limits = must.to_vec();
        let mut looked: Vec<u32> = self.start.clone();
        let mut slots: FxHashSet<u32> = FxHashSet::default();
        loop {
            let before = (limits.clone(), slots.len());
            self.leave_sections(&mut limits);
            for thread in 0..limits.len() {
                for position in looked[thread]..limits[thread] {
                    let event = self.trace.threads[thread].events[position as usize];
                    slots.extend(waits_for(&self.trace.events[event as usize].op));
                }
                looked[thread] = limits[thread].max(looked[thread]);
            }
            if slots.len() > before.1 {
                for event in &self.trace.events {
                    if helps(&event.op).is_some_and(|slot| slots.contains(&slot)) {
                        self.order.raise(&mut limits, event.thread, event.index + 1);
                    }
                }
            }
            for (reader, writer) in pins.writers() {
                let ((thread, at), (other, behind)) = (self.trace.position(reader), self.trace.position(writer));
                if at < limits[usize::from(thread)] {
                    self.order.raise(&mut limits, other, behind + 1);
                }
            }
            for &(thread, position) in goal {
                limits[usize::from(thread)] = position;
            }
            if before == (limits.clone(), slots.len()) {
                return limits;
            }
        }
    }

    /// Lets threads that would stop inside a critical section go on to its end, because other
    /// threads may need the lock.
    fn leave_sections(&self, limits: &mut [u32]) {
        for thread in 0..limits.len() {
            let held = &self.trace.threads[thread].held[limits[thread] as usize..];
            let free = held.iter().position(|&locks| self.trace.locks.get(locks).is_empty());
            let further = limits[thread] + free.unwrap_or(held.len() - 1) as u32;
            self.order.raise(limits, thread as Tid, further);
        }
    }

    fn run(&self, goal: &Goal, pins: &Pins, limits: &[u32]) -> Reachability {
        let mut state = SearchState::new(self.trace, pins);
        let first = if self.start.iter().all(|&start| start == 0) { &[] } else { self.trace.events.as_slice() };
        for event in first {
            if event.index < self.start[usize::from(event.thread)] {
                // Events before the window are executed as they were, with the same threads woken.
                let woken = self.woken_in_trace(event.thread, &state);
                state.execute(event.thread, woken);
            }
        }
        let mut search = DepthFirstSearch {
            trace: self.trace,
            goal,
            limits,
            state,
            taken: Vec::new(),
            seen: FxHashSet::default(),
            budget: self.budget,
        };
        search.search()
    }

    /// The thread that the next event of `thread` wakes, if it wakes one of several: the one that
    /// resumes first in the trace.
    fn woken_in_trace(&self, thread: Tid, state: &SearchState<'_>) -> Option<Tid> {
        let event = state.next(thread)?;
        let SyncOp::Wake { queue, all: false } = self.trace.events[event as usize].op else { return None };
        state.waiting(queue).into_iter().min_by_key(|&other| state.next(other))
    }
}

/// The object on which an event may have to wait for another thread's operation.
fn waits_for(op: &SyncOp) -> Option<u32> {
    match *op {
        SyncOp::Busy(slot)
        | SyncOp::BusyRead(slot)
        | SyncOp::BusyWrite(slot)
        | SyncOp::Take(slot)
        | SyncOp::Empty(slot)
        | SyncOp::Await(slot)
        | SyncOp::Resume { queue: slot, woken: true, .. } => Some(slot),
        SyncOp::Free
        | SyncOp::Fork(_)
        | SyncOp::Join(_)
        | SyncOp::Lock(_)
        | SyncOp::Unlock(_)
        | SyncOp::ReadLock(_)
        | SyncOp::ReadUnlock(_)
        | SyncOp::WriteLock(_)
        | SyncOp::WriteUnlock(_)
        | SyncOp::Enqueue { .. }
        | SyncOp::Resume { woken: false, .. }
        | SyncOp::Wake { .. }
        | SyncOp::SetSem(..)
        | SyncOp::Post(_)
        | SyncOp::Arrive { .. }
        | SyncOp::Leave { .. }
        | SyncOp::OnceEnd(_)
        | SyncOp::OnceSeen(_)
        | SyncOp::Publish(_) => None,
    }
}

/// The object that an event changes and that other threads may wait for.
fn helps(op: &SyncOp) -> Option<u32> {
    match *op {
        SyncOp::Lock(slot)
        | SyncOp::Unlock(slot)
        | SyncOp::ReadLock(slot)
        | SyncOp::WriteLock(slot)
        | SyncOp::Take(slot)
        | SyncOp::Post(slot)
        | SyncOp::SetSem(slot, _)
        | SyncOp::Publish(slot)
        | SyncOp::Resume { mutex: Some(slot), .. }
        | SyncOp::Wake { queue: slot, .. } => Some(slot),
        SyncOp::Free
        | SyncOp::Fork(_)
        | SyncOp::Join(_)
        | SyncOp::Busy(_)
        | SyncOp::ReadUnlock(_)
        | SyncOp::WriteUnlock(_)
        | SyncOp::BusyRead(_)
        | SyncOp::BusyWrite(_)
        | SyncOp::Enqueue { .. }
        | SyncOp::Resume { mutex: None, .. }
        | SyncOp::Empty(_)
        | SyncOp::Arrive { .. }
        | SyncOp::Leave { .. }
        | SyncOp::OnceEnd(_)
        | SyncOp::OnceSeen(_)
        | SyncOp::Await(_) => None,
    }
}

/// One depth-first search.
struct DepthFirstSearch<'a, 'b> {
    trace: &'a ObservedTrace,
    goal: &'b Goal,
    limits: &'b [u32],
    state: SearchState<'b>,
    taken: Vec<ReorderedEvent>,
    seen: FxHashSet<Box<[u32]>>,
    budget: usize,
}

/// A state with alternatives.
struct Branch {
    choices: Vec<(Tid, Option<Tid>)>,
    next: usize,
    mark: usize,
    taken: usize,
}

impl DepthFirstSearch<'_, '_> {
    fn search(&mut self) -> Reachability {
        let mut branches: Vec<Branch> = Vec::new();
        loop {
            self.run_on();
            if self.at_goal() {
                return Reachability::Reachable(std::mem::take(&mut self.taken));
            }
            if self.seen.insert(self.state.key()) {
                if self.seen.len() > self.budget {
                    return Reachability::Unknown;
                }
                let (mark, taken) = (self.state.mark(), self.taken.len());
                branches.push(Branch { choices: self.choices(), next: 0, mark, taken });
            }
            loop {
                let Some(branch) = branches.last_mut() else { return Reachability::Unreachable };
                self.state.rollback(branch.mark);
                self.taken.truncate(branch.taken);
                if let Some(&(thread, woken)) = branch.choices.get(branch.next) {
                    branch.next += 1;
                    self.execute(thread, woken);
                    break;
                }
                branches.pop();
            }
        }
    }

    fn at_goal(&self) -> bool {
        self.goal
            .iter()
            .all(|&(thread, position)| self.state.position(thread) == position && self.state.is_alive(thread))
    }

    fn execute(&mut self, thread: Tid, woken: Option<Tid>) {
        if let Some(event) = self.state.next(thread) {
            self.state.execute(thread, woken);
            self.taken.push(ReorderedEvent { event, woken });
        }
    }

    /// The enabled events, in the order of the trace.
    fn choices(&self) -> Vec<(Tid, Option<Tid>)> {
        let threads = 0..self.limits.len() as Tid;
        let mut able: Vec<Tid> = threads
            .filter(|&thread| {
                self.state.position(thread) < self.limits[usize::from(thread)] && self.state.enabled(thread)
            })
            .collect();
        able.sort_by_key(|&thread| self.state.next(thread));
        let mut choices = Vec::new();
        for thread in able {
            let op = self.state.next(thread).map(|event| self.trace.events[event as usize].op);
            let waiting = match op {
                Some(SyncOp::Wake { queue, all: false }) => self.state.waiting(queue),
                _ => Vec::new(),
            };
            if waiting.is_empty() {
                choices.push((thread, None));
            }
            choices.extend(waiting.into_iter().map(|other| (thread, Some(other))));
        }
        choices
    }

    /// Executes all sequences of harmless events, until no thread has one.
    fn run_on(&mut self) {
        loop {
            let mut moved = false;
            for thread in 0..self.limits.len() as Tid {
                moved |= self.advance(thread);
            }
            if !moved {
                return;
            }
        }
    }

    /// Lets one thread run to the last state in which it holds only locks that it held all the way.
    fn advance(&mut self, thread: Tid) -> bool {
        let own = &self.trace.threads[usize::from(thread)];
        let start = (self.state.mark(), self.taken.len());
        let mut best = start;
        let mut always = self.trace.locks.get(own.held[self.state.position(thread) as usize]).to_vec();
        while self.state.position(thread) < self.limits[usize::from(thread)] && self.state.enabled(thread) {
            if !self.state.next(thread).is_some_and(|event| self.state.is_harmless(event)) {
                break;
            }
            self.execute(thread, None);
            let held = self.trace.locks.get(own.held[self.state.position(thread) as usize]);
            if within(held, &always) {
                best = (self.state.mark(), self.taken.len());
            }
            always.retain(|lock| held.contains(lock));
        }
        self.state.rollback(best.0);
        self.taken.truncate(best.1);
        best != start
    }
}
