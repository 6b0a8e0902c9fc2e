//! Dynamic partial-order reduction with sleep sets.
//!
//! After Flanagan and Godefroid (POPL 2005), as Inspect adapted it to threads (Yang, Chen,
//! Gopalakrishnan and Kirby, 2007). Deviation: where those choose any thread, this search uses
//! *source sets* (Abdulla, Aronis, Jonsson and Sagonas, POPL 2014). With sleep
//! sets, an arbitrary thread of the persistent set loses traces.
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
//! * If it could, the state before the earlier event needs a backtrack point: a thread that can
//!   start the reversal. The reversal consists of the events between that do not causally follow
//!   the earlier event, then the operation itself. If none of these threads is tried, requested or
//!   asleep there, one is requested, if possible the thread of the operation. The rest of the
//!   reversal is kept as a hint for the run, which otherwise often reaches an event that is asleep.
//! * After an event was explored in a state, it sleeps below the events explored there later, until
//!   an event that depends on it is made. A run that makes an event that is asleep is redundant
//!   from there on. It counts as blocked, and the state is tried with a thread that is awake, if
//!   there is one. A search that recognises states names the threads that will be asleep behind its
//!   choice, and the target lets them wait. So hardly any of its runs is redundant.
//!
//! Invariants: sleep sets ensure that no trace is met twice, and requests ensure that none is left
//! out. Too many requests cost blocked runs only. So where something is not known, every thread is
//! requested: for runs that were stopped early, and for operations that were predicted to be
//! possible and turned out to be blocked (the end of a spin loop cannot be predicted).
//!
//! Whether a value ends a spin loop is found out, once for each read and value, by a run that is
//! made for nothing else. A reversal that depends on it is requested only when that is known. To
//! request it without knowing would be right, too, but the threads that are tried in place of one
//! that is held lead to many redundant runs.
//!
//! Runs are requested in batches, so that the target is busy while earlier runs are analysed. A
//! batch depends on the tree only, so results do not depend on how many runs the target takes at a
//! time. It costs nothing that the runs of a batch are requested before the results of the others
//! are known: no request is ever taken back, and sleep sets are computed when a run returns, in the
//! order of requests.

mod order;
mod races;
mod saved;
mod sizes;
mod tree;

use std::collections::VecDeque;
use std::rc::Rc;

use raddle_model::Estimate;
use raddle_model::depend::footprint;
use raddle_model::semantics::Mark;
use raddle_model::{Access, Choice, Event, Execution, Footprint, Pending, PendingState, Request, SyncState};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;
use serde::{Deserialize, Serialize};

use crate::saved::{Loader, Saver, Unusable};
use crate::stateful::summary::{PathEvent, StateSummary};
use crate::stateful::{SleepKey, StateMatcher, begins_timed_wait};
use crate::strategy::{
    Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of, is_endless, scheduled,
};
use order::Order;
use races::{Analysis, Question};
use tree::{Attempt, ChosenEvent, EnabledThread, Tree};

/// Runs that are asked for at a time.
const BATCH: usize = 32;

/// A run that is wanted: from a state, with a choice.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// `None`: the first run.
    from: Option<(u32, Choice)>,
    schedule: Vec<Choice>,
    /// Whether more was forced than the choice.
    hinted: bool,
    /// Threads that are best left for last behind the schedule, a bit for each run-local number.
    last: u64,
    /// What the run shall answer, if it is made for nothing else.
    question: Option<Question>,
}

/// The search.
#[derive(Debug)]
pub struct Dpor {
    tree: Tree,
    /// Runs of the batch that were not handed out yet.
    batch: VecDeque<Task>,
    under_way: VecDeque<Task>,
    /// Reversals of which is not known whether they are possible.
    questions: VecDeque<Question>,
    started: bool,
    order: Order,
    world: SyncState,
    marks: Vec<Mark>,
    choices: Vec<u16>,
    runs: u64,
    incomplete: Option<IncompleteReason>,
    /// Recognises states, if the search shall.
    matcher: Option<Box<StateMatcher>>,
    /// The events of the execution that is looked at, for the matcher.
    events: Vec<Rc<PathEvent>>,
}

impl Dpor {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Dpor {
            tree: Tree::default(),
            batch: VecDeque::new(),
            under_way: VecDeque::new(),
            questions: VecDeque::new(),
            started: false,
            order: Order::default(),
            world: SyncState::new(spurious),
            marks: Vec::new(),
            choices: Vec::new(),
            runs: 0,
            incomplete: None,
            matcher: None,
            events: Vec::new(),
        }
    }

    /// A search that is cut where it meets a state below which everything was explored. It
    /// remembers states in so many bytes, roughly. Executions need keys.
    #[must_use]
    pub fn matching_states(spurious: u32, bytes: usize) -> Self {
        Dpor { matcher: Some(Box::new(StateMatcher::new(bytes))), ..Dpor::new(spurious) }
    }

    /// Collects what is to be run next.
    fn fill_batch(&mut self) {
        if !self.started {
            self.started = true;
            self.batch.push_back(Task { from: None, schedule: Vec::new(), hinted: false, last: 0, question: None });
        }
        // States are recognised only when they are finished, so such a search goes depth first.
        let room = if self.matcher.is_some() { 1 } else { BATCH };
        while self.batch.len() < room {
            if let Some(question) = self.next_question() {
                let (schedule, last) = self.schedule(question.node, &question.probe);
                self.batch.push_back(Task { from: None, schedule, hinted: true, last, question: Some(question) });
                continue;
            }
            let Some((node, attempt)) = self.tree.take() else { return };
            let hinted = !attempt.then.is_empty();
            let (schedule, last) = self.schedule(node, &attempt);
            self.batch.push_back(Task { from: Some((node, attempt.choice)), schedule, hinted, last, question: None });
        }
    }

    /// The next question that no run has answered.
    fn next_question(&mut self) -> Option<Question> {
        while let Some(question) = self.questions.pop_front() {
            if self.world.is_open(question.read) {
                return Some(question);
            }
            self.settle(question);
        }
        None
    }

    /// Requests the reversal, unless it is known to be impossible.
    fn settle(&mut self, question: Question) {
        let Question { node, read, starters, attempt, .. } = question;
        if !self.world.is_failing(read) {
            self.tree.want_one(node, &starters, attempt);
        }
        self.close(node);
    }

    /// The choices that lead to a node, and the attempt, with run-local numbers of threads; and the
    /// threads that are asleep behind them.
    fn schedule(&self, node: u32, attempt: &Attempt) -> (Vec<Choice>, u64) {
        let mut schedule = self.tree.schedule(node);
        schedule.push(attempt.choice);
        schedule.extend(attempt.then.iter().map(|hinted| hinted.choice));
        let mut last = 0;
        if self.matcher.is_some() {
            let matching = self.tree.path(node).into_iter().filter_map(|id| self.tree.node(id).matching.as_ref());
            let created = matching.filter_map(|matching| Some(matching.incoming()?.event.op.created()));
            let hinted = attempt.then.iter().map(|hinted| hinted.creates);
            let created = created.chain(std::iter::once(attempt.creates)).chain(hinted);
            let mut local = vec![0];
            for (choice, created) in schedule.iter_mut().zip(created) {
                let number = local.iter().position(|&thread| thread == choice.thread);
                choice.thread = number.map_or(choice.thread, |number| number as u16);
                local.extend(created);
            }
            let asleep = self.tree.node(node).asleep_behind(attempt.choice);
            let numbers = asleep.filter_map(|thread| local.iter().position(|&other| other == thread));
            last = numbers.filter(|&number| number < 64).fold(0, |last, number| last | 1 << number);
        }
        (schedule, last)
    }

    /// A run that did not follow its schedule: either its choice is impossible, or only the hint
    /// behind it.
    fn diverged(&mut self, task: &Task, execution: &Execution) {
        let at = execution.diverged_at.unwrap_or(0);
        match task.from {
            Some((node, choice)) if at > self.tree.node(node).depth && task.hinted => {
                self.tree.want_again(node, choice);
                self.close(node);
            }
            Some((node, choice)) if at >= self.tree.node(node).depth => {
                // Events may have been left out that it cannot overtake.
                let (mut path, end) = (self.tree.path(node), execution.events.len());
                if end + 1 == path.len() {
                    self.walk(execution, task, &mut path);
                    self.analyse(execution, &path, end, end, false, None);
                }
                // A read that is known to be held was asked for only because it was not known: it
                // starts nothing else, and entries in summaries say from now on that it is held.
                let is_told = |pending: &Pending| pending.event.held.0 != 0 && is_awaiting(pending);
                if !execution.pending.get(usize::from(choice.thread)).is_some_and(is_told) {
                    // Other threads may have been left out because of this choice.
                    self.tree.want_all(node);
                    self.open_path(&path);
                }
                self.close(node);
            }
            _ => self.incomplete = self.incomplete.or(Some(IncompleteReason::Diverged)),
        }
    }

    /// Something below these nodes is not known.
    fn open_path(&mut self, path: &[u32]) {
        for &id in path {
            if let Some(matching) = &mut self.tree.node_mut(id).matching {
                matching.open();
            }
        }
    }

    /// Goes through the states of the execution and adds nodes for new ones, up to the first event
    /// that is asleep or the first known state.
    fn walk(&mut self, execution: &Execution, task: &Task, path: &mut Vec<u32>) -> WalkEnd {
        let from = task.from.map_or(0, |(node, _)| self.tree.node(node).depth as usize);
        self.world.prepare(execution);
        self.order.load(execution);
        self.marks.clear();
        self.choices.clear();
        self.events.clear();
        let mut segments = Segments::of(execution);
        let mut next = vec![0; execution.threads.len()];
        for (index, event) in execution.events.iter().enumerate() {
            self.marks.push(self.world.mark());
            let choice = Choice { thread: event.thread, choice: self.world.choice_of(event) };
            self.choices.push(choice.choice);
            if index == path.len()
                && let Some(summary) = self.enter(execution, &next, path)
            {
                return WalkEnd::Known(index, summary);
            }
            if index >= from {
                let node = self.tree.node_mut(path[index]);
                if node.is_asleep(choice) {
                    return WalkEnd::Asleep(index);
                }
                let chosen = chosen_event(event, choice.choice);
                node.asked.push(choice);
                node.done.push(chosen);
                if task.from.is_none_or(|_| index > from) {
                    // Whatever else may come of the same operation.
                    self.tree.want(path[index], event.thread, 0, None, Vec::new());
                }
            }
            if let Some(matcher) = &mut self.matcher {
                let node = path.get(index + 1).and_then(|&id| self.tree.node(id).matching.as_ref());
                let known = node.and_then(|node| node.incoming());
                self.events.push(matcher.follow_known(event, segments.next(), known));
            }
            next[usize::from(event.thread)] += 1;
            self.world.apply(event);
        }
        WalkEnd::Rest
    }

    /// Requests the reversals that the execution shows from event `from` to `end`. [`Dpor::walk`]
    /// must have gone through them before.
    fn analyse(
        &mut self,
        execution: &Execution,
        path: &[u32],
        from: usize,
        end: usize,
        stopped: bool,
        below: Option<&StateSummary>,
    ) {
        let (order, world, marks, tree) = (&self.order, &mut self.world, &self.marks[..], &mut self.tree);
        let renames = self.matcher.is_none();
        let choices = &self.choices;
        let touches = self.matcher.as_ref().map(|matcher| matcher.touches());
        let (questions, past) = (Vec::new(), Vec::new());
        let mut analysis =
            Analysis { execution, order, world, marks, choices, path, tree, renames, touches, questions, past };
        analysis.run(from as u32, end as u32, stopped, below);
        let questions = analysis.questions;
        questions.iter().for_each(|question| self.tree.hold(question.node));
        self.questions.extend(questions);
    }

    /// Enters a new state, below the last one of the path: adds a node, unless all that lies below
    /// it is known.
    fn enter(&mut self, execution: &Execution, next: &[usize], path: &mut Vec<u32>) -> Option<Rc<StateSummary>> {
        let enabled = self.enabled(execution, next);
        let (mut sleep, mut via) = (Vec::new(), None);
        if let Some(&parent) = path.last()
            && let node = self.tree.node(parent)
            && let Some((event, earlier)) = node.done.split_last()
        {
            let asleep = node.sleep.iter().chain(earlier).filter(|other| !event.is_dependent_with(other));
            sleep.extend(asleep.cloned());
            via = Some((parent, Choice { thread: event.step.thread, choice: event.choice }));
        }
        let mut matching = None;
        if let Some(matcher) = &mut self.matcher {
            let key = execution.keys.get(path.len()).copied().unwrap_or_default();
            matcher.enter(key, self.world.digest());
            if let Some(known) = matcher.find(&sleep_key(&sleep), execution.threads.len(), &self.events) {
                return Some(known);
            }
            matching = Some(Box::new(matcher.node(self.events.last().cloned())));
        }
        let next = match &matching {
            Some(_) => {
                enabled.iter().filter_map(|enabled| self.next_touches(execution, next, enabled.thread)).collect()
            }
            None => Vec::new(),
        };
        let id = self.tree.add(via, enabled, sleep);
        let node = self.tree.node_mut(id);
        (node.matching, node.next) = (matching, next);
        path.push(id);
        None
    }

    /// What the next operation of a thread touches, as far as the execution shows.
    fn next_touches(&self, execution: &Execution, next: &[usize], thread: u16) -> Option<(u16, Footprint)> {
        let number = usize::from(thread);
        let event = match self.order.events_of(thread).get(next[number]) {
            Some(&position) => &execution.events[position as usize],
            None => &execution.pending.get(number)?.event,
        };
        Some((thread, footprint(event)))
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
            self.tree.want(node, thread, 0, None, Vec::new());
        }
    }

    /// A run from the node, or a child of it, is finished. Removes nodes that are no longer needed.
    fn close(&mut self, id: u32) {
        let mut at = Some(id);
        while let Some(id) = at
            && self.tree.release(id)
        {
            if let Some(matcher) = &mut self.matcher {
                let node = self.tree.node_mut(id);
                let (sleep, matching) = (sleep_key(&node.sleep), node.matching.take());
                let parent = self.tree.parent(id);
                let parent = parent.and_then(|parent| self.tree.node_mut(parent).matching.as_deref_mut());
                if let Some(matching) = matching {
                    matcher.finish(*matching, sleep, parent);
                }
            }
            at = self.tree.remove(id);
        }
    }

    /// Adds the events `from..end` and what lies below the last state to the summaries of the
    /// nodes.
    fn summarise(&mut self, execution: &Execution, path: &[u32], from: usize, end: &WalkEnd) {
        let Some(matcher) = &mut self.matcher else { return };
        let mut timed = vec![false; execution.threads.len()];
        let last = end.position(execution);
        for (index, event) in self.events.iter().enumerate().take(last) {
            let thread = usize::from(event.event.thread);
            if index >= from
                && let Some(matching) = &mut self.tree.node_mut(path[index]).matching
            {
                matcher.explored(matching, event, timed[thread]);
            }
            timed[thread] = begins_timed_wait(&event.event.op);
        }
        // What each thread stands before at the end.
        let is_timed = |thread: u16| timed[usize::from(thread)];
        let next = |thread: u16| {
            let positions = self.order.events_of(thread);
            let &position = positions.get(positions.partition_point(|&position| (position as usize) < last))?;
            Some(execution.events[position as usize])
        };
        match end {
            WalkEnd::Asleep(at) => {
                let pending = matcher.pending_at(execution, is_timed, next);
                let id = path.get(*at).copied();
                if let Some(matching) = id.and_then(|id| self.tree.node_mut(id).matching.as_mut()) {
                    matcher.pending(matching, pending);
                }
            }
            WalkEnd::Known(..) | WalkEnd::Rest if last == 0 => {}
            WalkEnd::Known(..) | WalkEnd::Rest => {
                let below = match end {
                    WalkEnd::Known(_, summary) => StateSummary::clone(summary),
                    WalkEnd::Rest | WalkEnd::Asleep(_) => matcher.pending_at(execution, is_timed, next),
                };
                let id = path.get(last - 1).copied();
                if let Some(matching) = id.and_then(|id| self.tree.node_mut(id).matching.as_mut()) {
                    matcher.behind(matching, &self.events[last - 1], below);
                }
            }
        }
    }

    fn learn_from(&mut self, execution: &Execution, task: &Task) -> Classification {
        if execution.status == RunStatus::Diverged {
            self.diverged(task, execution);
            return Classification::Redundant;
        }
        self.incomplete = self.incomplete.or(incomplete_reason_of(execution.status));
        let mut path = task.from.map_or(Vec::new(), |(node, _)| self.tree.path(node));
        if is_endless(execution) {
            self.open_path(&path);
            if let Some((node, _)) = task.from {
                self.close(node);
            }
            return Classification::Counted;
        }
        let known = path.len();
        let from = known.saturating_sub(1);
        let walk = self.walk(execution, task, &mut path);
        let end = walk.position(execution);
        let is_blocked = matches!(walk, WalkEnd::Asleep(_));
        if is_blocked && end >= known {
            self.wake(path[end]);
        }
        if from < execution.events.len() {
            let goes_on = execution.pending.iter().any(|pending| pending.state == PendingState::Enabled);
            let stopped = matches!(walk, WalkEnd::Rest) && execution.status != RunStatus::Rest && goes_on;
            self.analyse(execution, &path, from, end, stopped, walk.known());
            if stopped {
                self.open_path(&path);
            }
            self.summarise(execution, &path, from, &walk);
        }
        if path.len() > known
            && let Some(&leaf) = path.last()
        {
            self.tree.hold(leaf);
            self.close(leaf);
        }
        if let Some((node, _)) = task.from {
            self.close(node);
        }
        match walk {
            WalkEnd::Asleep(_) => Classification::Redundant,
            WalkEnd::Known(..) => Classification::Matched,
            WalkEnd::Rest => Classification::Counted,
        }
    }
}

/// How far the states of an execution were gone through.
#[derive(Debug)]
enum WalkEnd {
    /// To its end.
    Rest,
    /// To an event that is asleep.
    Asleep(usize),
    /// To a state below which everything is known.
    Known(usize, Rc<StateSummary>),
}

impl WalkEnd {
    /// The number of events before it.
    fn position(&self, execution: &Execution) -> usize {
        match self {
            WalkEnd::Rest => execution.events.len(),
            WalkEnd::Asleep(at) | WalkEnd::Known(at, _) => *at,
        }
    }

    fn known(&self) -> Option<&StateSummary> {
        match self {
            WalkEnd::Known(_, summary) => Some(summary),
            WalkEnd::Rest | WalkEnd::Asleep(_) => None,
        }
    }
}

/// The data accesses behind each event of an execution.
struct Segments<'a> {
    accesses: &'a [Access],
    events: u32,
}

impl<'a> Segments<'a> {
    fn of(execution: &'a Execution) -> Self {
        let first = execution.accesses.partition_point(|access| access.after == 0);
        Segments { accesses: &execution.accesses[first..], events: 0 }
    }

    /// Those behind the next event.
    fn next(&mut self) -> &'a [Access] {
        self.events += 1;
        let count = self.accesses.partition_point(|access| access.after <= self.events);
        let (segment, rest) = self.accesses.split_at(count);
        self.accesses = rest;
        segment
    }
}

fn sleep_key(sleep: &[ChosenEvent]) -> SleepKey {
    let mut key: SleepKey =
        sleep.iter().map(|event| Choice { thread: event.step.thread, choice: event.choice }).collect();
    key.sort_unstable();
    key
}

fn is_awaiting(pending: &Pending) -> bool {
    matches!(pending.state, PendingState::Awaiting | PendingState::Stale)
}

fn chosen_event(event: &Event, choice: u16) -> ChosenEvent {
    let mut touches = footprint(event);
    // Nothing else touches a thread before it is created. In another order its number may be that
    // of another thread.
    if event.op.created().is_some() {
        touches.retain(|touch| !touch.is_life());
    }
    ChosenEvent { step: *event, choice, touches }
}

impl Strategy for Dpor {
    fn next(&mut self) -> Option<Request> {
        if self.batch.is_empty() && self.under_way.is_empty() {
            self.fill_batch();
        }
        let mut task = self.batch.pop_front()?;
        let request = scheduled(std::mem::take(&mut task.schedule));
        let policy = if self.matcher.is_some() { Policy::GiveFirst { last: task.last } } else { request.policy };
        self.under_way.push_back(task);
        Some(Request { policy, ..request })
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        let Some(task) = self.under_way.pop_front() else { return Classification::Redundant };
        self.runs += 1;
        self.world.learn_failing(execution);
        if let Some(question) = task.question {
            self.settle(question);
            return Classification::Redundant;
        }
        let translated = self.matcher.as_mut().and_then(|matcher| matcher.translate(execution));
        self.learn_from(translated.as_ref().unwrap_or(execution), &task)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn estimate(&self) -> Option<Estimate> {
        Some(self.tree.estimate(self.runs, self.matcher.is_some()))
    }

    fn save(&self, into: &mut Saver) {
        self.save_search(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        self.restore_search(from)
    }

    fn states(&self) -> u64 {
        self.matcher.as_ref().map_or(0, |matcher| matcher.states())
    }
}
