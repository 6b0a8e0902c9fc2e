//! Dynamic partial-order reduction with sleep sets.
//!
//! After Flanagan and Godefroid (POPL 2005), as Inspect adapted it to threads (Yang, Chen,
//! Gopalakrishnan and Kirby, 2007). Deviation: where those choose any thread, this search uses
//! *source sets* (Abdulla, Aronis, Jonsson and Sagonas, POPL 2014). Any thread is not enough with
//! sleep sets: traces get lost.
//!
//! The search goes through a tree of states, each named by the choices that lead to it. A run of
//! the target starts from a state with a choice that was requested there, and goes on by the
//! policy. Then the run is analysed:
//!
//! * Each new event, and each operation pending at the end (blocked ones included), is compared
//!   with the earlier events of other threads, the latest first. Candidates are those that it
//!   conflicts with and that do not happen before the previous event of its thread.
//!   `raddle_model::SyncState` decides whether the operation could have come before such an event:
//!   an acquisition cannot overtake the release that it waited for, but it can overtake the
//!   acquisition before that. Common locks need no test of their own: the clock of a thread that
//!   holds a lock includes the last release.
//! * If it could, a thread has to be tried in the state before the earlier event that can start the
//!   reversal. The reversal consists of the events between that do not causally follow the earlier
//!   event, then the operation itself. If none of these threads is tried, requested or asleep
//!   there, one is requested, if possible the thread of the operation. The rest of the reversal is
//!   kept as a hint for the run, which otherwise often reaches an event that is asleep.
//! * An event that was tried in a state is asleep behind the events that are tried there later,
//!   until an event that depends on it is made. A run that makes an event that is asleep is
//!   redundant from there on. It counts as blocked, and the state is tried with a thread that is
//!   awake, if there is one.
//!
//! Invariants: sleep sets ensure that no trace is met twice, and requests ensure that none is left
//! out. Too many requests cost blocked runs only. So where something is not known, every thread is
//! requested: for runs that were stopped early, and for operations that were predicted to be
//! possible and turned out to be blocked (the end of a spin loop cannot be predicted).
//!
//! Runs are requested in batches, so that the target is busy while earlier runs are analysed. A
//! batch depends on the tree only, so results do not depend on how many runs the target takes at a
//! time. It costs nothing that the runs of a batch are requested before the results of the others
//! are known: no request is ever taken back, and sleep sets are computed when a run returns, in the
//! order of requests.

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
use tree::{Attempt, ChosenEvent, EnabledThread, Tree};

/// Runs that are asked for at a time.
const BATCH: usize = 32;

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
    /// Runs of the batch that were not handed out yet.
    batch: VecDeque<Task>,
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
            batch: VecDeque::new(),
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
    fn fill_batch(&mut self) {
        if !self.started {
            self.started = true;
            self.batch.push_back(Task { from: None, schedule: Vec::new(), hinted: false });
        }
        while self.batch.len() < BATCH {
            let Some((node, Attempt { choice, then })) = self.tree.take() else { return };
            let mut schedule = self.tree.schedule(node);
            schedule.push(choice);
            let hinted = !then.is_empty();
            schedule.extend(then);
            self.batch.push_back(Task { from: Some((node, choice)), schedule, hinted });
        }
    }

    /// A run that did not follow its schedule: either its choice is impossible, or only the hint
    /// behind it.
    fn diverged(&mut self, task: &Task, execution: &Execution) {
        let at = execution.diverged_at.unwrap_or(0);
        match task.from {
            Some((node, choice)) if at > self.tree.node(node).depth && task.hinted => {
                self.tree.want_again(node, choice);
                self.tree.close(node);
            }
            Some((node, _)) if at >= self.tree.node(node).depth => {
                // Other threads may have been left out because of this choice: here, and before
                // events that it cannot overtake.
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

    /// Goes through the states of the execution and adds nodes for new ones. Returns the position
    /// of the first event that is asleep, or the number of events.
    fn walk(&mut self, execution: &Execution, task: &Task, path: &mut Vec<u32>) -> usize {
        let from = task.from.map_or(0, |(node, _)| self.tree.node(node).depth as usize);
        self.world.prepare(execution);
        self.order.load(execution);
        self.marks.clear();
        self.choices.clear();
        let mut next = vec![0; execution.threads.len()];
        for (index, event) in execution.events.iter().enumerate() {
            self.marks.push(self.world.mark());
            let choice = Choice { thread: event.thread, choice: self.world.choice_of(event) };
            self.choices.push(choice.choice);
            if index == path.len() {
                self.add_node(execution, &next, path);
            }
            if index >= from {
                let node = self.tree.node_mut(path[index]);
                if node.is_asleep(choice) {
                    return index;
                }
                let chosen = chosen_event(event, choice.choice);
                node.asked.push(choice);
                node.done.push(chosen);
                if task.from.is_none_or(|_| index > from) {
                    // Whatever else may come of the same operation.
                    self.tree.want(path[index], event.thread, 0, Vec::new());
                }
            }
            next[usize::from(event.thread)] += 1;
            self.world.apply(event);
        }
        execution.events.len()
    }

    /// Requests the reversals that the execution shows from event `from` to `end`. [`Dpor::walk`]
    /// must have gone through them before.
    fn analyse(&mut self, execution: &Execution, path: &[u32], from: usize, end: usize, stopped: bool) {
        let (order, world, marks, tree) = (&self.order, &mut self.world, &self.marks[..], &mut self.tree);
        let mut analysis = Analysis { execution, order, world, marks, choices: &self.choices, path, tree };
        analysis.run(from as u32, end as u32, stopped);
    }

    /// Adds a node for the current state, below the last one of the path.
    fn add_node(&mut self, execution: &Execution, next: &[usize], path: &mut Vec<u32>) {
        let enabled = self.enabled(execution, next);
        let Some(&parent) = path.last() else {
            path.push(self.tree.add(None, enabled, Vec::new()));
            return;
        };
        let node = self.tree.node(parent);
        let (mut sleep, mut via) = (Vec::new(), None);
        if let Some((event, earlier)) = node.done.split_last() {
            let asleep = node.sleep.iter().chain(earlier).filter(|other| !event.is_dependent_with(other));
            sleep.extend(asleep.cloned());
            via = Some((parent, Choice { thread: event.step.thread, choice: event.choice }));
        }
        path.push(self.tree.add(via, enabled, sleep));
    }

    /// The threads that are enabled in the current state, in the order of the policy.
    fn enabled(&self, execution: &Execution, next: &[usize]) -> Vec<EnabledThread> {
        let alive = self.world.by_rank().iter().copied().filter(|&thread| self.world.is_alive(thread));
        let enabled = alive.filter_map(|thread| {
            let number = usize::from(thread);
            let successors = match self.order.events_of(thread).get(next[number]) {
                Some(&position) => self.world.successors(&execution.events[position as usize]),
                None if self.world.enabled_pending(&execution.pending[number]).possible() => {
                    self.world.successors(&execution.pending[number].event)
                }
                None => 0,
            };
            (successors > 0).then_some(EnabledThread { thread, successors })
        });
        enabled.collect()
    }

    /// Requests a thread that is awake in a state in which the run made an event that is asleep.
    fn wake(&mut self, node: u32) {
        let state = self.tree.node(node);
        let awake = state.enabled.iter().find(|enabled| !state.covers(enabled.thread));
        if let Some(thread) = awake.map(|enabled| enabled.thread) {
            self.tree.want(node, thread, 0, Vec::new());
        }
    }
}

fn chosen_event(event: &Event, choice: u16) -> ChosenEvent {
    ChosenEvent { step: *event, choice, touches: footprint(event) }
}

impl Strategy for Dpor {
    fn next(&mut self) -> Option<Request> {
        if self.batch.is_empty() && self.under_way.is_empty() {
            self.fill_batch();
        }
        let mut task = self.batch.pop_front()?;
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
