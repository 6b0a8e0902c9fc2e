//! Brute force: every order of all transitions, each exactly once.
//!
//! Stateless: a node of the tree of schedules is named by the choices that lead to it. The search
//! simulates the states of an execution with [`SyncState`]. From each state behind its own schedule
//! it reads off the other possible choices. It uses no independence, so it is the reference that
//! reductions are compared with.
//!
//! [`Dfs::of_traces`] leaves out what lies behind a prefix that is equivalent to one met before: it
//! counts every Mazurkiewicz trace once, in time that grows with the number of their prefixes
//! instead of all orders. It trusts the dependence relation, which [`Dfs::new`] does not.
//!
//! With [`Dfs::bounded`] the search leaves out schedules with more than the given number of
//! preemptions. Equivalent prefixes then count as the same only if the same thread made the last
//! event with the same number of preemptions: both decide what may follow.
//!
//! A thread in a folded loop may look as if it could go on where it could not; that run diverges
//! and is not counted.

use std::collections::VecDeque;

use raddle_model::Estimate;
use raddle_model::{Choice, Event, Execution, Request, SyncState};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;
use rustc_hash::FxHashSet;

use crate::preemptions::PreemptionBound;
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, scheduled};
use crate::trace::TraceHasher;

/// The search, as the stack of schedules that are still to be run.
#[derive(Debug)]
pub struct Dfs {
    /// Each with the part of the whole search that it is guessed to begin.
    stack: Vec<(Vec<Choice>, f64)>,
    /// Lengths and parts of the schedules under way, oldest first.
    under_way: VecDeque<(usize, f64)>,
    runs: u64,
    /// The part that is searched.
    done: f64,
    world: SyncState,
    /// Traces of the prefixes met, if only one of each counts.
    met: Option<(FxHashSet<u64>, TraceHasher)>,
    /// Whole traces met, if prefixes are told apart by more than their trace.
    whole: FxHashSet<u64>,
    bound: Option<PreemptionBound>,
    incomplete: Option<IncompleteReason>,
}

impl Dfs {
    /// A search of all schedules, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        let (stack, under_way) = (vec![(Vec::new(), 1.0)], VecDeque::new());
        let (world, whole) = (SyncState::new(spurious), FxHashSet::default());
        Dfs { stack, under_way, runs: 0, done: 0.0, world, met: None, whole, bound: None, incomplete: None }
    }

    /// As [`Dfs::new`], but every Mazurkiewicz trace counts once and the rest is redundant.
    #[must_use]
    pub fn of_traces(spurious: u32) -> Self {
        Dfs { met: Some(Default::default()), ..Dfs::new(spurious) }
    }

    /// Leaves out schedules with more preemptions than that.
    #[must_use]
    pub fn bounded(self, preemptions: u32) -> Self {
        Dfs { bound: Some(PreemptionBound::new(preemptions)), ..self }
    }

    /// Pushes the alternatives at each state from number `from` on. The run is redundant if it
    /// reached a state from which everything was pushed before.
    fn branch(&mut self, execution: &Execution, from: usize, part: f64) -> Classification {
        if let Some((_, hasher)) = &mut self.met {
            hasher.start(execution);
        }
        if let Some(bound) = &mut self.bound {
            bound.start(execution);
        }
        let mut class = Classification::Counted;
        let mut trace = 0;
        self.world.prepare(execution);
        let positions = positions(execution);
        let mut next = vec![0; execution.threads.len()];
        let mut path = Vec::with_capacity(execution.events.len());
        let mut branches = Vec::new();
        for (index, event) in execution.events.iter().enumerate() {
            let taken = Choice { thread: event.thread, choice: self.world.choice_of(event) };
            if let Some(bound) = &mut self.bound {
                bound.observe(&self.world, execution, &positions, &next);
            }
            // A schedule is run for its last choice; other runs handle the states before it.
            if index >= from {
                self.alternatives(execution, &positions, &next, taken, &path, &mut branches);
            }
            if self.bound.as_mut().is_some_and(|bound| !bound.take(event.thread)) {
                self.incomplete = self.incomplete.or(Some(IncompleteReason::Preemptions));
                class = Classification::OutOfBound;
                break;
            }
            path.push(taken);
            next[usize::from(event.thread)] += 1;
            self.world.apply(event);
            if let Some((met, hasher)) = &mut self.met {
                trace = hasher.push(event);
                let prefix = trace ^ self.bound.as_ref().map_or(0, PreemptionBound::spent);
                if index + 1 >= from && !met.insert(prefix) {
                    class = Classification::Redundant;
                    break;
                }
            }
        }
        // The deepest first, so that the stack stays short.
        match branches.len() {
            0 => self.done += part,
            count => self.stack.extend(branches.into_iter().map(|branch| (branch, part / count as f64))),
        }
        let is_again =
            class == Classification::Counted && self.met.is_some() && self.bound.is_some() && !self.whole.insert(trace);
        if is_again { Classification::Redundant } else { class }
    }

    fn alternatives(
        &mut self,
        execution: &Execution,
        positions: &[Vec<usize>],
        next: &[usize],
        taken: Choice,
        path: &[Choice],
        branches: &mut Vec<Vec<Choice>>,
    ) {
        for thread in (0..execution.threads.len() as u16).rev().filter(|&thread| self.world.is_alive(thread)) {
            let number = usize::from(thread);
            let successors = match positions[number].get(next[number]) {
                Some(&position) => self.world.successors(&execution.events[position]),
                None if self.world.enabled_pending(&execution.pending[number]).possible() => {
                    self.world.successors(&execution.pending[number].event)
                }
                None => 0,
            };
            if successors > 0 && self.bound.as_ref().is_some_and(|bound| !bound.allows(thread)) {
                self.incomplete = self.incomplete.or(Some(IncompleteReason::Preemptions));
                continue;
            }
            for choice in (0..successors).rev().map(|choice| Choice { thread, choice }).filter(|&c| c != taken) {
                branches.push(path.iter().copied().chain([choice]).collect());
            }
        }
    }
}

/// Positions of each thread's events.
fn positions(execution: &Execution) -> Vec<Vec<usize>> {
    let mut positions = vec![Vec::new(); execution.threads.len()];
    for (index, Event { thread, .. }) in execution.events.iter().enumerate() {
        positions[usize::from(*thread)].push(index);
    }
    positions
}

impl Strategy for Dfs {
    fn next(&mut self) -> Option<Request> {
        let (schedule, part) = self.stack.pop()?;
        self.under_way.push_back((schedule.len(), part));
        let policy = if self.bound.is_some() { Policy::Stay } else { Policy::LeastRank };
        Some(Request { policy, ..scheduled(schedule) })
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        let (from, part) = self.under_way.pop_front().unwrap_or((0, 0.0));
        self.runs += 1;
        if execution.status == RunStatus::Diverged {
            self.done += part;
            return Classification::Redundant;
        }
        self.incomplete = self.incomplete.or(incomplete_reason_of(execution.status));
        self.branch(execution, from, part)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(&self.stack, &self.under_way, self.runs, self.done, self.incomplete));
        into.put(&(self.met.as_ref().map(|(met, _)| met), &self.whole, self.world.learnt()));
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.stack, self.under_way, self.runs, self.done, self.incomplete) = from.take()?;
        let (met, whole, learnt): (Option<FxHashSet<u64>>, _, _) = from.take()?;
        if met.is_some() != self.met.is_some() {
            return Err(Unusable::because("it is another search of all schedules"));
        }
        self.met = met.map(|met| (met, TraceHasher::default()));
        self.whole = whole;
        self.world.learn_again(learnt);
        Ok(())
    }

    fn estimate(&self) -> Option<Estimate> {
        (self.done > 0.0).then(|| Estimate::guess(self.runs as f64 / self.done))
    }
}
