//! Which reversals of an execution's races have to be tried, and where.

use raddle_model::depend::{conflict, footprint};
use raddle_model::semantics::Mark;
use raddle_model::{Choice, Event, Execution, Footprint, Operation as _, Pending, PendingState, SyncState};
use raddle_vocab::Outcome;

use super::order::Order;
use super::tree::Tree;

/// An operation that may be reversed with earlier events: an event of the execution, or an
/// operation that is pending at its end.
#[derive(Debug)]
struct Late {
    thread: u16,
    op: Event,
    /// Its position, or the number of events.
    at: u32,
    /// Number within its thread.
    seq: usize,
    touches: Footprint,
    /// Steps that it can be reversed with and need not be looked behind.
    reversed: Vec<u32>,
    /// Whether the thread was stopped before its next operation is known, so that it may conflict
    /// with anything.
    is_open: bool,
}

/// One pair to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    early: u32,
    late: usize,
}

/// An execution with the states that it went through.
pub(super) struct Analysis<'a> {
    pub execution: &'a Execution,
    pub order: &'a Order,
    pub world: &'a mut SyncState,
    /// State before each event.
    pub marks: &'a [Mark],
    /// Which successor each event was.
    pub choices: &'a [u16],
    /// Node of the state before each event.
    pub path: &'a [u32],
    pub tree: &'a mut Tree,
}

impl Analysis<'_> {
    /// Analyses the events `from..end`, and the operation that each thread is about to make at
    /// `end`. If the run was `stopped` there, threads that could have gone on may conflict with
    /// anything.
    pub fn run(&mut self, from: u32, end: u32, stopped: bool) {
        let mut late: Vec<Late> = (from..end).map(|at| self.executed(at)).collect();
        late.extend((0..self.execution.threads.len() as u16).filter_map(|thread| self.pending(thread, end, stopped)));
        let (mut pairs, mut rivals) = (Vec::new(), Vec::new());
        for (number, op) in late.iter().enumerate() {
            let clock = self.order.clock_before(op.thread, op.seq);
            if op.is_open {
                let is_past = |at: u32| clock[usize::from(self.order.thread(at))] > self.order.seq(at);
                rivals.clear();
                rivals.extend((0..end).filter(|&at| self.order.thread(at) != op.thread && !is_past(at)));
            } else {
                self.order.rivals(op.thread, &op.touches, clock, op.at, &mut rivals);
            }
            pairs.extend(rivals.iter().map(|&early| Pair { early, late: number }));
        }
        // From the end, so that the states between are gone through once.
        pairs.sort_unstable_by(|a, b| b.early.cmp(&a.early).then(a.late.cmp(&b.late)));
        for pair in pairs {
            let op = &late[pair.late];
            // The other reversal shows this one again.
            if op.reversed.iter().any(|&later| self.order.is_before(pair.early, later)) {
                continue;
            }
            if self.reverse(pair.early, op) && !op.is_open {
                late[pair.late].reversed.push(pair.early);
            }
        }
    }

    fn executed(&self, at: u32) -> Late {
        let op = self.execution.events[at as usize];
        let (seq, touches) = (self.order.seq(at) as usize, self.order.touches(at).clone());
        Late { thread: op.thread, op, at, seq, touches, reversed: Vec::new(), is_open: false }
    }

    /// What a thread stands before behind `end` events, if it could ever go on.
    fn pending(&self, thread: u16, end: u32, stopped: bool) -> Option<Late> {
        let positions = self.order.events_of(thread);
        let seq = positions.partition_point(|&position| position < end);
        let op = match positions.get(seq) {
            Some(&next) => self.execution.events[next as usize],
            None => {
                let Pending { event, state, .. } = *self.execution.pending.get(usize::from(thread))?;
                if matches!(state, PendingState::Failed | PendingState::Ended | PendingState::Exited) {
                    return None;
                }
                Event { op: event.op.with_outcome(Outcome::Done), ..event }
            }
        };
        let is_open = stopped && seq == positions.len();
        Some(Late { thread, op, at: end, seq, touches: footprint(&op), reversed: Vec::new(), is_open })
    }

    /// Requests that the operation is tried before the earlier event; false if it cannot come
    /// before it.
    fn reverse(&mut self, early: u32, late: &Late) -> bool {
        let between: Vec<u32> = (early + 1..late.at).filter(|&at| !self.order.is_before(early, at)).collect();
        self.world.rollback(self.marks[early as usize]);
        for &at in &between {
            self.world.apply(&self.execution.events[at as usize]);
        }
        let possible = self.is_possible(late);
        let there = footprint(&self.world.outcome_of(&late.op, 0));
        self.world.rollback(self.marks[early as usize]);
        if possible {
            self.request(early, late, &between, &there);
        }
        possible
    }

    fn is_possible(&self, late: &Late) -> bool {
        if !self.world.is_alive(late.thread) {
            return false;
        }
        let is_last = late.seq == self.order.events_of(late.thread).len();
        match self.execution.pending.get(usize::from(late.thread)).filter(|_| is_last) {
            Some(pending) => self.world.enabled_pending(pending).possible(),
            None => self.world.enabled(&late.op).possible(),
        }
    }

    /// Requests a thread in the state before `early` that can start the sequence of the events
    /// between and the late operation.
    fn request(&mut self, early: u32, late: &Late, between: &[u32], there: &Footprint) {
        let node = self.path[early as usize];
        let mut starters = self.starters(between);
        let is_free = !between.iter().any(|&at| {
            self.order.thread(at) == late.thread
                || conflict(self.order.touches(at), &late.touches)
                || conflict(self.order.touches(at), there)
                || self.order.clock_before(late.thread, late.seq)[usize::from(self.order.thread(at))]
                    > self.order.seq(at)
        });
        if is_free {
            starters.insert(0, (late.thread, None));
        }
        starters.retain(|&(thread, _)| self.tree.node(node).successors(thread) > 0);
        if starters.iter().any(|&(thread, _)| self.tree.node(node).covers(thread)) {
            return;
        }
        match starters.first() {
            Some(&(thread, first)) => {
                let (hinted, then) = self.hint(early, first, between, late.thread);
                self.tree.want(node, thread, hinted, then);
            }
            // Nothing is known about how to get there.
            None => self.tree.want_all(node),
        }
    }

    /// Threads whose first event among these follows none of the others, with that event.
    fn starters(&self, between: &[u32]) -> Vec<(u16, Option<u32>)> {
        let mut firsts: Vec<u32> = Vec::new();
        for &at in between {
            if !firsts.iter().any(|&first| self.order.thread(first) == self.order.thread(at)) {
                firsts.push(at);
            }
        }
        let starts = |&at: &u32| !firsts.iter().any(|&other| other != at && self.order.is_before(other, at));
        let mut starters: Vec<_> = firsts.iter().copied().filter(starts).collect();
        starters.sort_by_key(|&at| self.world.rank(self.order.thread(at)));
        starters.into_iter().map(|at| (self.order.thread(at), Some(at))).collect()
    }

    /// The choice to start with, and those behind it that lead to the reversal: `first` if it is
    /// not the late operation itself, the other events between, and the late operation.
    fn hint(&self, early: u32, first: Option<u32>, between: &[u32], late: u16) -> (u16, Vec<Choice>) {
        let events = first.into_iter().chain(between.iter().copied().filter(|&at| Some(at) != first));
        let mut renaming = Renaming::behind(&self.execution.events[..early as usize]);
        let late = Choice::of(late);
        let choose = |at: u32| {
            let event = &self.execution.events[at as usize];
            let choice = Choice { thread: renaming.name(event.thread), choice: self.choices[at as usize] };
            renaming.note(event);
            choice
        };
        let mut all: Vec<Choice> = events.map(choose).collect();
        let late = Choice { thread: renaming.name(late.thread), ..late };
        if first.is_some() {
            all.push(late)
        } else {
            all.insert(0, late)
        }
        let start = all.remove(0);
        (start.choice, all)
    }
}

/// Numbers of threads in another order of creation.
struct Renaming {
    created: u16,
    names: Vec<(u16, u16)>,
}

impl Renaming {
    /// Behind these events, up to which nothing changes.
    fn behind(events: &[Event]) -> Self {
        let created = events.iter().filter(|event| event.op.created().is_some()).count() as u16 + 1;
        Renaming { created, names: Vec::new() }
    }

    fn name(&self, thread: u16) -> u16 {
        self.names.iter().find(|(old, _)| *old == thread).map_or(thread, |&(_, new)| new)
    }

    fn note(&mut self, event: &Event) {
        if let Some(child) = event.op.created() {
            self.names.push((child, self.created));
            self.created += 1;
        }
    }
}
