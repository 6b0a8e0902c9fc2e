//! Depth-first search with sleep sets, and the analysis of each execution.

use std::collections::BTreeSet;

use raddle_model::facts::places::Where;
use raddle_model::facts::suffix::MayOp;
use raddle_model::finding::Prune;
use raddle_model::object::ThreadOp;
use raddle_model::{
    Choice, Event, Execution, Footprint, Op, Operation as _, Request, SyncState, VectorClock, depend, footprint,
};
use serde::{Deserialize, Serialize};

use super::Knowledge;
use super::reverse::{gave_up, reversible};
use super::sweep::{Hypothesis, Sweep, Swept};
use super::trace::{Trace, worst_pending};
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, incomplete_reason_of, scheduled};

/// One state of the execution under way.
#[derive(Debug, Serialize, Deserialize)]
struct Node {
    /// Threads that can step, with the number of successors.
    enabled: Vec<(u16, u16)>,
    sleep: Vec<(u16, Footprint)>,
    backtrack: BTreeSet<u16>,
    /// The transition taken from here.
    taken: Choice,
    /// Other successors of its operation.
    remaining: Vec<u16>,
    /// What the transitions of this thread from here touched.
    touched: Footprint,
}

impl Node {
    fn is_asleep(&self, thread: u16) -> bool {
        self.sleep.iter().any(|&(other, _)| other == thread)
    }

    fn is_enabled(&self, thread: u16) -> bool {
        self.enabled.iter().any(|&(other, _)| other == thread)
    }

    fn begin(&mut self, choice: Choice) {
        let successors = self.enabled.iter().find(|&&(thread, _)| thread == choice.thread).map_or(1, |&(_, n)| n);
        self.remaining = (0..successors).rev().filter(|&other| other != choice.choice).collect();
        self.taken = choice;
        self.touched.clear();
        self.backtrack.insert(choice.thread);
    }
}

/// The search.
pub(super) struct Search {
    knowledge: Option<Knowledge>,
    /// Whether thread states are asked before locksets.
    filter: bool,
    stack: Vec<Node>,
    /// The run to ask for.
    wanted: Option<Vec<Choice>>,
    world: SyncState,
    pub incomplete: Option<IncompleteReason>,
}

impl Search {
    pub fn new(knowledge: Knowledge, spurious: u32, filter: bool) -> Self {
        Search { knowledge: Some(knowledge), filter, ..Search::unpruned(spurious) }
    }

    pub fn unpruned(spurious: u32) -> Self {
        let (stack, wanted, world) = (Vec::new(), Some(Vec::new()), SyncState::new(spurious));
        Search { knowledge: None, filter: false, stack, wanted, world, incomplete: None }
    }

    pub fn next(&mut self) -> Option<Request> {
        self.wanted.take().map(scheduled)
    }

    pub fn save(&self, into: &mut Saver) {
        into.put(&(&self.stack, &self.wanted, self.incomplete));
    }

    pub fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.stack, self.wanted, self.incomplete) = from.take()?;
        Ok(())
    }

    pub fn learn(&mut self, execution: &Execution, figures: &mut Prune) -> Classification {
        self.incomplete = self.incomplete.or(incomplete_reason_of(execution.status));
        match self.extend(execution) {
            Extended::Whole => {
                self.analyse(execution, execution.events.len(), figures);
                self.backtrack();
                Classification::Counted
            }
            Extended::Blocked(at) => {
                self.analyse(execution, at, figures);
                self.backtrack();
                Classification::Redundant
            }
            Extended::Astray(at) => {
                self.wanted = Some(self.stack[..=at].iter().map(|node| node.taken).collect());
                Classification::Redundant
            }
        }
    }

    /// Puts the states of the execution on the stack.
    fn extend(&mut self, execution: &Execution) -> Extended {
        self.world.prepare(execution);
        let forced = self.stack.len();
        let mut next = vec![0; execution.threads.len()];
        let mut positions = vec![Vec::new(); execution.threads.len()];
        for (at, event) in execution.events.iter().enumerate() {
            positions[usize::from(event.thread)].push(at);
        }
        for (at, event) in execution.events.iter().enumerate() {
            if at >= forced {
                let mut node = self.node(execution, &positions, &next, at);
                if node.is_asleep(event.thread) {
                    let awake = node.enabled.iter().map(|&(thread, _)| thread).find(|&thread| !node.is_asleep(thread));
                    let Some(thread) = awake else { return Extended::Blocked(at) };
                    node.begin(Choice::of(thread));
                    self.stack.push(node);
                    return Extended::Astray(at);
                }
                node.begin(Choice { thread: event.thread, choice: self.world.choice_of(event) });
                self.stack.push(node);
            }
            if at + 1 >= forced {
                self.stack[at].touched.extend(footprint(event));
            }
            next[usize::from(event.thread)] += 1;
            self.world.apply(event);
        }
        Extended::Whole
    }

    /// The state before event `at`.
    fn node(&self, execution: &Execution, positions: &[Vec<usize>], next: &[usize], at: usize) -> Node {
        let mut enabled = Vec::new();
        for &thread in self.world.by_rank().iter().filter(|&&thread| self.world.is_alive(thread)) {
            let number = usize::from(thread);
            let successors = match positions[number].get(next[number]) {
                Some(&position) => self.world.successors(&execution.events[position]),
                None if self.world.enabled_pending(&execution.pending[number]).possible() => {
                    self.world.successors(&execution.pending[number].event)
                }
                None => 0,
            };
            if successors > 0 {
                enabled.push((thread, successors));
            }
        }
        let sleep = match at.checked_sub(1) {
            Some(last) => {
                let (node, touches) = (&self.stack[last], footprint(&execution.events[last]));
                let stays = |(thread, touched): &&(u16, Footprint)| {
                    *thread != node.taken.thread && !depend::conflict(touched, &touches)
                };
                node.sleep.iter().filter(stays).cloned().collect()
            }
            None => Vec::new(),
        };
        Node {
            enabled,
            sleep,
            backtrack: BTreeSet::new(),
            taken: Choice::of(0),
            remaining: Vec::new(),
            touched: Footprint::new(),
        }
    }

    /// The next run: the deepest state with something left to try.
    fn backtrack(&mut self) {
        while let Some(node) = self.stack.last_mut() {
            let mut found = false;
            if let Some(choice) = node.remaining.pop() {
                node.taken.choice = choice;
                found = true;
            } else {
                node.sleep.push((node.taken.thread, std::mem::take(&mut node.touched)));
                if let Some(&thread) = node.backtrack.iter().find(|&&thread| !node.is_asleep(thread)) {
                    node.begin(Choice::of(thread));
                    found = true;
                }
            }
            if found {
                self.wanted = Some(self.stack.iter().map(|node| node.taken).collect());
                return;
            }
            self.stack.pop();
        }
    }

    /// Asks for the orders that an execution's first `length` transitions leave open.
    fn analyse(&mut self, execution: &Execution, length: usize, figures: &mut Prune) {
        let trace = Trace::of(execution, length);
        let swept = self.knowledge.as_mut().map(|Knowledge { flow, sites }| {
            Sweep::new(flow, sites.as_ref(), &trace, self.filter).run(execution, figures)
        });
        let from = swept.as_ref().map_or(length + 1, |swept| swept.from);
        let mut skipped = 0;
        for (at, entry) in trace.events.iter().enumerate() {
            skipped += self.reverse(&trace, at, (&entry.event, &entry.worst), &entry.before, from);
        }
        for thread in 0..trace.threads() as u16 {
            if let Some(event) = &trace.pending[usize::from(thread)] {
                let clock = trace.clock(thread, length);
                skipped += self.reverse(&trace, length, (event, &worst_pending(event)), &clock, from);
            }
        }
        figures.skipped += skipped;
        if let Some(swept) = swept.filter(|swept| skipped > 0 && swept.from <= length) {
            self.ask_on_behalf(&trace, &swept);
        }
    }

    /// Requests that the operation comes before each earlier one that it depends on. Returns how
    /// many of these lie in the pruned part.
    fn reverse(&mut self, trace: &Trace, at: usize, late: (&Event, &Footprint), clock: &[u32], from: usize) -> u64 {
        let mut skipped = 0;
        for (early, entry) in trace.events[..at].iter().enumerate().rev() {
            let ordered = clock[usize::from(entry.event.thread)] > entry.count;
            if entry.event.thread == late.0.thread || ordered || !reversible(entry, late) {
                continue;
            }
            if early >= from {
                skipped += 1;
            } else {
                self.request(trace, early, at, late.0.thread, clock, Some(late.1));
            }
            // Acquisitions of one mutex are totally ordered: the latest stands for all.
            if late.0.op.is_lock() && entry.event.op.acquired_mutex() == Some(late.0.op.object()) {
                break;
            }
        }
        skipped
    }

    /// Makes the requests that the pruned part would have made.
    fn ask_on_behalf(&mut self, trace: &Trace, swept: &Swept) {
        for &(key, op) in &swept.ops {
            let thread = swept.threads.present(key, trace, swept.from);
            let own = swept.threads.thread(key);
            let clock = trace.clock(thread, swept.from);
            for (early, entry) in trace.events[..swept.from].iter().enumerate().rev() {
                let event = &entry.event;
                let ordered = clock[usize::from(event.thread)] > entry.count;
                if Some(event.thread) == own || ordered || !concerns(trace, op, early) {
                    continue;
                }
                self.request(trace, early, swept.from, thread, &clock, None);
                if only_latest(trace, op).is_some_and(|mutex| event.op.acquired_mutex() == Some(mutex)) {
                    break;
                }
            }
        }
    }

    /// Requests that an operation of `thread`, which is in state `at`, comes before transition
    /// `early`. `late` is its footprint if the operation is known.
    fn request(
        &mut self,
        trace: &Trace,
        early: usize,
        at: usize,
        thread: u16,
        clock: &[u32],
        late: Option<&Footprint>,
    ) {
        let entry = &trace.events[early];
        let counts: VectorClock =
            trace.positions_of.iter().map(|own| own.partition_point(|&position| position <= early) as u32).collect();
        // What the thread would begin with, if that is known.
        let next = || {
            let event = trace.next_event(thread, early)?;
            let never_waits = match event.op {
                Op::Thread(op) => matches!(op, ThreadOp::Start | ThreadOp::End | ThreadOp::Create { .. }),
                op => op.is_unlock(),
            };
            never_waits.then(|| worst_pending(event))
        };
        let own = late.cloned().or_else(next);
        let mut is_free = own.is_some();
        let mut seen = vec![false; trace.threads()];
        let mut initials = Vec::new();
        for later in &trace.events[early + 1..at] {
            if later.after[usize::from(entry.event.thread)] > entry.count {
                continue;
            }
            is_free = is_free && own.as_ref().is_some_and(|own| !depend::conflict(own, &later.worst));
            let number = usize::from(later.event.thread);
            let first = |other: usize| other == number || later.after[other] <= counts[other];
            if !std::mem::replace(&mut seen[number], true) && (0..trace.threads()).all(first) {
                initials.push(later.event.thread);
            }
        }
        let node = &mut self.stack[early];
        if !seen[usize::from(thread)] && node.is_enabled(thread) && is_free {
            initials.push(thread);
        }
        if initials.is_empty() {
            let all: Vec<u16> = node.enabled.iter().map(|&(thread, _)| thread).collect();
            node.backtrack.extend(all);
            return;
        }
        if initials.iter().any(|&thread| node.backtrack.contains(&thread) || node.is_asleep(thread)) {
            return;
        }
        let before = |&&other: &&u16| clock[usize::from(other)] > counts[usize::from(other)];
        let chosen = initials.iter().find(|&&other| other == thread).or_else(|| initials.iter().find(before));
        node.backtrack.extend(chosen.or(initials.first()));
    }
}

/// The mutex, if the operation only waits for one.
fn only_latest(trace: &Trace, op: Hypothesis) -> Option<u64> {
    match op {
        Hypothesis::May(MayOp::Lock(mutex)) => Some(mutex),
        Hypothesis::May(_) => None,
        Hypothesis::Like(at) => {
            let op = &trace.events[at].event.op;
            op.awaited_mutex().filter(|_| op.is_lock())
        }
    }
}

/// Whether an operation that may come depends on the transition and could come before it.
fn concerns(trace: &Trace, op: Hypothesis, early: usize) -> bool {
    let entry = &trace.events[early];
    match op {
        Hypothesis::Like(at) => {
            let late = &trace.events[at];
            reversible(entry, (&late.event, &late.worst))
        }
        Hypothesis::May(MayOp::Lock(mutex)) => {
            entry.event.op.acquired_mutex() == Some(mutex) || entry.event.op.initialised() == Some(mutex)
        }
        Hypothesis::May(MayOp::Release(place)) => gave_up(&entry.event.op) && touches(entry, place),
        Hypothesis::May(MayOp::Touch(place)) => touches(entry, place),
    }
}

/// Whether the transition touches an object at this place.
fn touches(entry: &super::trace::TraceEvent, place: Where) -> bool {
    match place {
        Where::Bytes { from, to } => entry.worst.iter().any(|touch| {
            (0..8).any(|byte| touch.bytes & (1 << byte) != 0 && (from..to).contains(&(touch.cell << 3 | byte)))
        }),
        Where::Part(_) | Where::Any => match entry.event.op {
            Op::Thread(op) => matches!(op, ThreadOp::Detach { .. } | ThreadOp::Poll { .. }),
            op => !matches!(op, Op::Exit(_) | Op::Fence(_) | Op::Choice(_)),
        },
    }
}

/// How far a run could be followed.
enum Extended {
    /// To its end.
    Whole,
    /// To a state in which all enabled threads are asleep.
    Blocked(usize),
    /// To a state in which it went on with a thread that is asleep; another was chosen.
    Astray(usize),
}
