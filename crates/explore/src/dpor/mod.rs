//! Dynamic partial-order reduction with sleep sets.
//!
//! After Flanagan and Godefroid (POPL 2005) as Inspect adapted it to threads (Yang, Chen, Gopalakrishnan and Kirby, 2007), with
//! *source sets* (Abdulla, Aronis, Jonsson and Sagonas, POPL 2014) where those choose "any" thread: with sleep sets, that loses traces.
//!
//! The search goes through a tree of states, each named by the choices that lead to it. A run of the target starts from a state with a
//! choice that was wanted there and goes on by the policy. Behind it:
//!
//! * For each new step, and for what each thread stands before at the end (blocked ones included), the earlier steps of other threads
//!   that it conflicts with and that do not happen before its thread's previous step are looked at, the latest first. Whether it could
//!   have come before such a step is asked of `raddle_model::SyncState`: an acquisition cannot overtake the release that it waited
//!   for, but the acquisition before. Locks that both hold need no test of their own: who holds one has its last release in his clock.
//! * If it could, then in the state before that step some thread has to be tried that can begin what leads to the
//!   reversal: the steps between that do not come causally behind the earlier step, then the operation itself. If none of those threads is
//!   tried, wanted or asleep there, one is wanted, the thread of the operation if possible. The rest of the way is kept as a hint for the
//!   run, which would otherwise often run into what is asleep.
//! * What was tried in a state is asleep in the states behind what is tried there later, until something that depends on it is made. A run
//!   that makes a step that is asleep is redundant from there on. It counts as blocked, and the state is tried with a thread
//!   that is awake, if there is one.
//!
//! Sleep sets alone see to it that no trace is met twice; the wants see to it that none is left out. Wanting too much costs blocked runs only,
//! so where something is not known, everything is wanted: runs that were stopped early, operations that turned out to be blocked where they were thought
//! to be possible (the end of a loop of busy waiting cannot be foreseen).
//!
//! Runs are asked for in lots, so that the target has something to do while the last ones are looked at. What is in a lot follows from the
//! tree alone; so results do not depend on how many runs the target takes at a time. That the runs of a lot are asked for before the others of it are known
//! costs nothing: no want is ever taken back, and who sleeps is settled when the run comes back, in the order of asking.

mod order;
mod races;
mod tree;

use std::collections::VecDeque;

use raddle_model::depend::footprint;
use raddle_model::semantics::Mark;
use raddle_model::{Choice, Event, Execution, PendingState, Request, SyncState};
use raddle_vocab::RunStatus;

use crate::strategy::{
    Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, is_endless, scheduled,
};
use order::Order;
use races::Analysis;
use tree::{Able, ChosenEvent, Tree, Try};

/// Runs that are asked for at a time.
const LOT: usize = 32;

/// A run that is wanted: from a state, with a choice.
#[derive(Debug)]
struct Task {
    /// `None`: the first run.
    from: Option<(u32, Choice)>,
    schedule: Vec<Choice>,
    /// Whether more was forced than the choice.
    hinted: bool,
}

/// The search.
#[derive(Debug)]
pub struct Dpor {
    tree: Tree,
    /// Runs of the lot that were not asked for yet.
    lot: VecDeque<Task>,
    under_way: VecDeque<Task>,
    started: bool,
    order: Order,
    world: SyncState,
    marks: Vec<Mark>,
    choices: Vec<u16>,
    runs: u64,
    incomplete: Option<IncompleteReason>,
}

impl Dpor {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Dpor {
            tree: Tree::default(),
            lot: VecDeque::new(),
            under_way: VecDeque::new(),
            started: false,
            order: Order::default(),
            world: SyncState::new(spurious),
            marks: Vec::new(),
            choices: Vec::new(),
            runs: 0,
            incomplete: None,
        }
    }

    /// Collects what is to be run next.
    fn fill_lot(&mut self) {
        if !self.started {
            self.started = true;
            self.lot.push_back(Task { from: None, schedule: Vec::new(), hinted: false });
        }
        while self.lot.len() < LOT {
            let Some((node, Try { choice, then })) = self.tree.take() else { return };
            let mut schedule = self.tree.schedule(node);
            schedule.push(choice);
            let hinted = !then.is_empty();
            schedule.extend(then);
            self.lot.push_back(Task { from: Some((node, choice)), schedule, hinted });
        }
    }

    /// A run that did not follow its schedule: the choice is impossible, or only the hint behind it.
    fn diverged(&mut self, task: &Task, execution: &Execution) {
        let at = execution.diverged_at.unwrap_or(0);
        match task.from {
            Some((node, choice)) if at > self.tree.node(node).depth && task.hinted => {
                self.tree.want_again(node, choice);
                self.tree.close(node);
            }
            Some((node, _)) if at >= self.tree.node(node).depth => {
                // Others may have been left out because of it: here, and before what it cannot overtake.
                self.tree.want_all(node);
                let (mut path, end) = (self.tree.path(node), execution.events.len());
                if end + 1 == path.len() {
                    self.walk(execution, task, &mut path);
                    self.analyse(execution, &path, end, end, false);
                }
                self.tree.close(node);
            }
            _ => self.incomplete = self.incomplete.or(Some(IncompleteReason::Diverged)),
        }
    }

    /// Goes through the states of the execution, makes nodes of the new ones and returns where something asleep was made.
    fn walk(&mut self, execution: &Execution, task: &Task, path: &mut Vec<u32>) -> usize {
        let from = task.from.map_or(0, |(node, _)| self.tree.node(node).depth as usize);
        self.world.prepare(execution);
        self.order.load(execution);
        self.marks.clear();
        self.choices.clear();
        let mut next = vec![0; execution.threads.len()];
        for (index, step) in execution.events.iter().enumerate() {
            self.marks.push(self.world.mark());
            let choice = Choice { thread: step.thread, choice: self.world.choice_of(step) };
            self.choices.push(choice.choice);
            if index == path.len() {
                self.add_node(execution, &next, path);
            }
            if index >= from {
                let node = self.tree.node_mut(path[index]);
                if node.is_asleep(choice) {
                    return index;
                }
                let event = event_of(step, choice.choice);
                node.asked.push(choice);
                node.done.push(event);
                if task.from.is_none_or(|_| index > from) {
                    // Whatever else may come of the same operation.
                    self.tree.want(path[index], step.thread, 0, Vec::new());
                }
            }
            next[usize::from(step.thread)] += 1;
            self.world.apply(step);
        }
        execution.events.len()
    }

    /// Wants the reversals that the execution shows from step `from` to `end`, through which [`Dpor::walk`] went before.
    fn analyse(&mut self, execution: &Execution, path: &[u32], from: usize, end: usize, stopped: bool) {
        let (order, world, marks, tree) = (&self.order, &mut self.world, &self.marks[..], &mut self.tree);
        let mut analysis = Analysis { execution, order, world, marks, choices: &self.choices, path, tree };
        analysis.run(from as u32, end as u32, stopped);
    }

    /// A node for the state in which the world is, behind the last one of the path.
    fn add_node(&mut self, execution: &Execution, next: &[usize], path: &mut Vec<u32>) {
        let able = self.able(execution, next);
        let Some(&parent) = path.last() else {
            path.push(self.tree.add(None, able, Vec::new()));
            return;
        };
        let node = self.tree.node(parent);
        let (mut sleep, mut via) = (Vec::new(), None);
        if let Some((event, earlier)) = node.done.split_last() {
            let asleep = node.sleep.iter().chain(earlier).filter(|other| !event.disturbs(other));
            sleep.extend(asleep.cloned());
            via = Some((parent, Choice { thread: event.step.thread, choice: event.choice }));
        }
        path.push(self.tree.add(via, able, sleep));
    }

    /// Who can step in the state in which the world is, in the order of the policy.
    fn able(&self, execution: &Execution, next: &[usize]) -> Vec<Able> {
        let alive = self.world.by_rank().iter().copied().filter(|&thread| self.world.is_alive(thread));
        let able = alive.filter_map(|thread| {
            let number = usize::from(thread);
            let successors = match self.order.steps_of(thread).get(next[number]) {
                Some(&position) => self.world.successors(&execution.events[position as usize]),
                None if self.world.enabled_pending(&execution.pending[number]).possible() => {
                    self.world.successors(&execution.pending[number].event)
                }
                None => 0,
            };
            (successors > 0).then_some(Able { thread, successors })
        });
        able.collect()
    }

    /// Wants something that is awake in a state in which the run made something asleep.
    fn wake(&mut self, node: u32) {
        let state = self.tree.node(node);
        let awake = state.able.iter().find(|able| !state.covers(able.thread));
        if let Some(thread) = awake.map(|able| able.thread) {
            self.tree.want(node, thread, 0, Vec::new());
        }
    }
}

fn event_of(step: &Event, choice: u16) -> ChosenEvent {
    ChosenEvent { step: *step, choice, touches: footprint(step) }
}

impl Strategy for Dpor {
    fn next(&mut self) -> Option<Request> {
        if self.lot.is_empty() && self.under_way.is_empty() {
            self.fill_lot();
        }
        let mut task = self.lot.pop_front()?;
        let request = scheduled(std::mem::take(&mut task.schedule));
        self.under_way.push_back(task);
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        let Some(task) = self.under_way.pop_front() else { return Classification::Redundant };
        self.runs += 1;
        if execution.status == RunStatus::Diverged {
            self.diverged(&task, execution);
            return Classification::Redundant;
        }
        self.incomplete = self.incomplete.or(incomplete_reason_of(execution.status));
        if is_endless(execution) {
            if let Some((node, _)) = task.from {
                self.tree.close(node);
            }
            return Classification::Counted;
        }
        let mut path = task.from.map_or(Vec::new(), |(node, _)| self.tree.path(node));
        let known = path.len();
        let from = known.saturating_sub(1);
        let end = self.walk(execution, &task, &mut path);
        let is_blocked = end < execution.events.len();
        if is_blocked && end >= known {
            self.wake(path[end]);
        }
        if from < execution.events.len() {
            let goes_on = execution.pending.iter().any(|pending| pending.state == PendingState::Enabled);
            let stopped = !is_blocked && execution.status != RunStatus::Rest && goes_on;
            self.analyse(execution, &path, from, end, stopped);
        }
        if path.len() > known
            && let Some(&leaf) = path.last()
        {
            self.tree.close_leaf(leaf);
        }
        if let Some((node, _)) = task.from {
            self.tree.close(node);
        }
        if is_blocked { Classification::Redundant } else { Classification::Counted }
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn estimate(&self) -> Option<f64> {
        self.tree.progress().filter(|&behind| behind > 0.0).map(|behind| self.runs as f64 / behind)
    }
}
