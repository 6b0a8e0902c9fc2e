//! Brute force: every order of all transitions, each exactly once.
//!
//! Stateless: a node of the tree of schedules is named by the choices that lead to it. From an execution, the search
//! reads off what else could have been done at each state behind its own schedule, by simulating the states with
//! [`World`]. It knows nothing of independence, so it is the truth that reductions are compared with.
//!
//! [`Dfs::of_traces`] leaves out what lies behind a prefix that is equivalent to one met before: it counts every
//! Mazurkiewicz trace once, in time that grows with the number of their prefixes instead of all orders. It trusts the
//! dependence relation, which [`Dfs::new`] does not.
//!
//! A thread in a folded loop may look as if it could go on where it could not; that run diverges and is not counted.

use std::collections::VecDeque;

use raddle_model::{Choice, Execution, Request, Step, World};
use raddle_vocab::RunStatus;
use rustc_hash::FxHashSet;

use crate::strategy::{Gap, Strategy, Worth, gap_of, scheduled};
use crate::trace::TraceHasher;

/// The search, as the stack of schedules that are still to be run.
#[derive(Debug)]
pub struct Dfs {
    stack: Vec<Vec<Choice>>,
    /// Lengths of the schedules under way, oldest first.
    under_way: VecDeque<usize>,
    world: World,
    /// Traces of the prefixes met, if only one of each counts.
    met: Option<(FxHashSet<u64>, TraceHasher)>,
    gap: Option<Gap>,
}

impl Dfs {
    /// A search of all schedules, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        let (stack, under_way) = (vec![Vec::new()], VecDeque::new());
        Dfs { stack, under_way, world: World::new(spurious), met: None, gap: None }
    }

    /// As [`Dfs::new`], but every Mazurkiewicz trace counts once and the rest is redundant.
    #[must_use]
    pub fn of_traces(spurious: u32) -> Self {
        Dfs { met: Some(Default::default()), ..Dfs::new(spurious) }
    }

    /// Pushes what else could have been done at each state from number `from` on; false if the run came to a state
    /// from which everything was pushed before.
    fn branch(&mut self, execution: &Execution, from: usize) -> bool {
        if let Some((_, hasher)) = &mut self.met {
            hasher.start(execution);
        }
        let mut is_new = true;
        self.world.prepare(execution);
        let positions = positions(execution);
        let mut next = vec![0; execution.threads.len()];
        let mut path = Vec::with_capacity(execution.steps.len());
        let mut branches = Vec::new();
        for (index, step) in execution.steps.iter().enumerate() {
            let taken = Choice { thread: step.thread, choice: self.world.choice_of(step) };
            // A schedule is there for its last choice; the states before that are another run's business.
            if index >= from {
                self.alternatives(execution, &positions, &next, taken, &path, &mut branches);
            }
            path.push(taken);
            next[usize::from(step.thread)] += 1;
            self.world.apply(step);
            if let Some((met, hasher)) = &mut self.met {
                let prefix = hasher.push(step);
                if index + 1 >= from && !met.insert(prefix) {
                    is_new = false;
                    break;
                }
            }
        }
        // The deepest first, so that the stack stays short.
        self.stack.append(&mut branches);
        is_new
    }

    fn alternatives(
        &self,
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
                Some(&position) => self.world.successors(&execution.steps[position]),
                None if self.world.enabled_pending(&execution.pending[number]).possible() => {
                    self.world.successors(&execution.pending[number].step)
                }
                None => 0,
            };
            for choice in (0..successors).rev().map(|choice| Choice { thread, choice }).filter(|&c| c != taken) {
                branches.push(path.iter().copied().chain([choice]).collect());
            }
        }
    }
}

/// Positions of each thread's steps.
fn positions(execution: &Execution) -> Vec<Vec<usize>> {
    let mut positions = vec![Vec::new(); execution.threads.len()];
    for (index, Step { thread, .. }) in execution.steps.iter().enumerate() {
        positions[usize::from(*thread)].push(index);
    }
    positions
}

impl Strategy for Dfs {
    fn next(&mut self) -> Option<Request> {
        let schedule = self.stack.pop()?;
        self.under_way.push_back(schedule.len());
        Some(scheduled(schedule))
    }

    fn learn(&mut self, execution: &Execution) -> Worth {
        let from = self.under_way.pop_front().unwrap_or(0);
        if execution.status == RunStatus::Diverged {
            return Worth::Redundant;
        }
        self.gap = self.gap.or(gap_of(execution.status));
        if self.branch(execution, from) { Worth::Counted } else { Worth::Redundant }
    }

    fn gap(&self) -> Option<Gap> {
        self.gap
    }
}
