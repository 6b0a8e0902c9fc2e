//! Which reversals of an execution's races have to be tried, and where.

use raddle_model::clock::join;
use raddle_model::depend::{conflict, footprint};
use raddle_model::semantics::Mark;
use raddle_model::{Choice, Event, Execution, Footprint, Operation as _, Pending, PendingState, SyncState, Touch};
use raddle_vocab::Outcome;
use serde::{Deserialize, Serialize};

use super::order::Order;
use super::tree::{Attempt, HintedChoice, Tree};
use crate::stateful::TouchTable;
use crate::stateful::summary::{LateOperation, StateSummary};

/// An operation that may be reversed with earlier events: an event of the execution, an operation
/// that is pending at its end, or one below a known state that the execution reaches.
#[derive(Debug)]
struct Late<'a> {
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
    /// What is known of an operation below a known state.
    below: Option<&'a LateOperation>,
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
    /// Whether threads are numbered in the order of their creation, so that another order has other
    /// numbers.
    pub renames: bool,
    /// The touches that summaries name.
    pub touches: Option<&'a TouchTable>,
    /// Reversals of which is not known whether they are possible.
    pub questions: Vec<Question>,
    /// The past of the operation below a known state that is looked at.
    pub past: Vec<HintedChoice>,
}

/// A reversal that is possible if a value ends a spin loop, of which that is not known.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    /// The state in which the reversal starts.
    pub node: u32,
    /// The read and the value.
    pub read: (u16, u64),
    /// Choices behind the state that lead to the read.
    pub probe: Attempt,
    /// Threads that can start the reversal.
    pub starters: Vec<u16>,
    /// What is requested if it is possible.
    pub attempt: Attempt,
}

impl Analysis<'_> {
    /// Analyses the events `from..end`, and the operation that each thread is about to make at
    /// `end`; if the state there is known, all operations below it. If the run was `stopped` there,
    /// threads that could have gone on may conflict with anything.
    pub fn run(&mut self, from: u32, end: u32, stopped: bool, below: Option<&StateSummary>) {
        let mut late: Vec<Late<'_>> = (from..end).map(|at| self.executed(at)).collect();
        match below {
            Some(summary) => late.extend(summary.operations().iter().map(|op| self.below(op, end))),
            None => {
                let threads = 0..self.execution.threads.len() as u16;
                late.extend(threads.filter_map(|thread| self.pending(thread, end, stopped)));
            }
        }
        let (mut pairs, mut rivals) = (Vec::new(), Vec::new());
        for (number, op) in late.iter().enumerate() {
            let past = op.below.map(|below| self.past_clock(below, end));
            let clock = past.as_deref().unwrap_or_else(|| self.order.clock_before(op.thread, op.seq));
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
        let mut before: Option<Reversal> = None;
        for pair in pairs {
            let op = &late[pair.late];
            // The other reversal shows this one again.
            if op.reversed.iter().any(|&later| self.order.is_before(pair.early, later)) {
                continue;
            }
            let reversal = match before.take() {
                Some(reversal) if (reversal.early, reversal.at) == (pair.early, op.at) => reversal,
                _ => self.prepare(pair.early, op.at),
            };
            if self.reverse(&reversal, op) && !op.is_open {
                late[pair.late].reversed.push(pair.early);
            }
            before = Some(reversal);
        }
    }

    /// Goes to the state before `early`, and makes the events up to `at` that do not follow it.
    fn prepare(&mut self, early: u32, at: u32) -> Reversal {
        let between: Vec<u32> = (early + 1..at).filter(|&at| !self.order.is_before(early, at)).collect();
        self.world.rollback(self.marks[early as usize]);
        for &at in &between {
            self.world.apply(&self.execution.events[at as usize]);
        }
        Reversal { early, at, between, state: self.world.mark() }
    }

    /// An operation below the state at `end`.
    fn below<'b>(&self, below: &'b LateOperation, end: u32) -> Late<'b> {
        let (thread, op, touches) = (below.kind.event.thread, below.kind.event, below.kind.touches.clone());
        let seq = self.order.events_of(thread).partition_point(|&position| position < end);
        Late { thread, op, at: end, seq, touches, reversed: Vec::new(), is_open: false, below: Some(below) }
    }

    /// The clock of all events that happen before the past of an operation below the state at
    /// `end`.
    fn past_clock(&self, below: &LateOperation, end: u32) -> Vec<u32> {
        let mut clock = vec![0; self.execution.threads.len()];
        for thread in (0..clock.len() as u16).filter(|thread| below.past_threads & (1 << thread) != 0) {
            let seq = self.order.events_of(thread).partition_point(|&position| position < end);
            join(&mut clock, self.order.clock_before(thread, seq));
        }
        let touches = self.touches.map(|table| table.touches(&below.past_touches)).unwrap_or_default();
        self.order.join_conflicting(&touches, end, &mut clock);
        clock
    }

    fn executed(&self, at: u32) -> Late<'static> {
        let op = self.execution.events[at as usize];
        let (seq, touches) = (self.order.seq(at) as usize, self.order.touches(at).clone());
        Late { thread: op.thread, op, at, seq, touches, reversed: Vec::new(), is_open: false, below: None }
    }

    /// What a thread stands before behind `end` events, if it could ever go on.
    fn pending(&self, thread: u16, end: u32, stopped: bool) -> Option<Late<'static>> {
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
        let touches = footprint(&op);
        Some(Late { thread, op, at: end, seq, touches, reversed: Vec::new(), is_open, below: None })
    }

    /// Requests that the operation is tried before the earlier event; false if it cannot come
    /// before it.
    fn reverse(&mut self, reversal: &Reversal, late: &Late<'_>) -> bool {
        let Reversal { early, between, state, .. } = reversal;
        let (early, between) = (*early, between.as_slice());
        self.world.rollback(*state);
        let possible = self.follow_past(late) && self.is_possible(late);
        let there = footprint(&self.world.outcome_of(&late.op, 0));
        let open = self.world.open_read(&late.op).filter(|_| possible);
        let asked = self.questions.len();
        match late.below {
            Some(below) if possible => self.request_below(early, late, below, between, &there, open),
            // An event that the operation conflicts with may enable it, in an order that no entry
            // knows.
            Some(below) if self.execution.events[early as usize].op.may_enable(&below.kind.event.op) => {
                self.tree.want_all(self.path[early as usize]);
            }
            None if possible => self.request(early, late, between, &there, open),
            Some(_) | None => {}
        }
        // What is not known to be possible does not show what comes before.
        possible && asked == self.questions.len()
    }

    /// Makes the events below the known state that have to come before the operation; false if
    /// that is impossible.
    fn follow_past(&mut self, late: &Late<'_>) -> bool {
        self.past.clear();
        let mut past = late.below.and_then(|below| below.past.as_deref());
        while let Some(list) = past {
            let event = &list.first.event;
            if !self.world.is_alive(event.thread) || !self.world.enabled(event).possible() {
                return false;
            }
            let choice = Choice { thread: event.thread, choice: self.world.choice_of(event) };
            self.past.push(HintedChoice { choice, creates: event.op.created() });
            self.world.apply(event);
            past = list.rest.as_deref();
        }
        true
    }

    fn is_possible(&self, late: &Late<'_>) -> bool {
        if !self.world.is_alive(late.thread) {
            return false;
        }
        let pending = match late.below {
            Some(below) => below.kind.pending.as_ref(),
            None => {
                let is_last = late.seq == self.order.events_of(late.thread).len();
                self.execution.pending.get(usize::from(late.thread)).filter(|_| is_last)
            }
        };
        match pending {
            Some(pending) => self.world.enabled_pending(pending).possible(),
            None => self.world.enabled(&late.op).possible(),
        }
    }

    /// Requests a thread in the state before `early` that can start the sequence of the events
    /// between and the late operation.
    fn request(&mut self, early: u32, late: &Late<'_>, between: &[u32], there: &Footprint, open: Option<(u16, u64)>) {
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
        let open = open.map(|read| (read, self.leading_to(early, between, late)));
        self.want_one(early, &starters, open, |analysis, first| analysis.hint(early, first, between, late));
    }

    /// The same for an operation below a known state, behind its past.
    fn request_below(
        &mut self,
        early: u32,
        late: &Late<'_>,
        below: &LateOperation,
        between: &[u32],
        there: &Footprint,
        open: Option<(u16, u64)>,
    ) {
        let mut starters = Starters::default();
        for &at in between {
            starters.push(self.order.thread(at), self.order.touches(at), Some(at));
        }
        let mut past = below.past.as_deref();
        while let Some(list) = past {
            starters.push(list.first.event.thread, &list.first.touches, None);
            past = list.rest.as_deref();
        }
        let comes_late = starters.starters.iter().all(|&(thread, _)| thread != late.thread);
        let mut touches = late.touches.clone();
        touches.extend(there.iter().copied());
        starters.push(late.thread, &touches, None);
        let mut starters = starters.starters;
        let node = self.tree.node(self.path[early as usize]);
        let is_left = comes_late && node.leaves_to_others(late.thread) && self.may_hide_others(early, &touches);
        if is_left && !starters.iter().any(|&(thread, _)| thread != late.thread && node.covers(thread)) {
            return self.tree.want_all(self.path[early as usize]);
        }
        // If possible the thread of the operation.
        starters.sort_by_key(|&(thread, _)| thread != late.thread);
        let open = open.map(|read| (read, self.leading_to(early, between, late)));
        self.want_one(early, &starters, open, |_, _| Hint::default());
    }

    /// Whether there may be events below a known state that an operation with these touches comes
    /// behind, and that do not conflict with `early`: reads before a write, where `early` is a
    /// read. The entry of the operation leaves them out. What conflicts with `early` has an entry
    /// of its own, and asks for its own reversal. The others come before the operation in the
    /// reversal, too: so an operation that is asleep, and therefore explored elsewhere as the
    /// first, does not stand for it.
    fn may_hide_others(&self, early: u32, touches: &Footprint) -> bool {
        let own = self.order.touches(early);
        !conflict(own, own) || touches.iter().any(|touch| touch != &touches[0])
    }

    /// Requests one of these threads in the state before `early`, unless one was or will be tried.
    /// If it is `open` whether the operation can be made, this is asked first.
    fn want_one(
        &mut self,
        early: u32,
        starters: &[(u16, Option<u32>)],
        open: Option<((u16, u64), Attempt)>,
        hint: impl FnOnce(&Self, Option<u32>) -> Hint,
    ) {
        let node = self.path[early as usize];
        let can_start = |&&(thread, _): &&(u16, Option<u32>)| self.tree.node(node).successors(thread) > 0;
        let starters: Vec<_> = starters.iter().filter(can_start).copied().collect();
        if starters.iter().any(|&(thread, _)| self.tree.node(node).covers(thread)) {
            return;
        }
        match starters.first() {
            Some(&(thread, first)) => {
                // States inside a schedule have no keys.
                let hint = if self.renames { hint(self, first) } else { Hint::default() };
                let Hint { choice, creates, then } = hint;
                match open {
                    Some((read, probe)) => {
                        let starters = starters.iter().map(|&(thread, _)| thread).collect();
                        let attempt = Attempt { choice: Choice { thread, choice }, creates, then };
                        self.questions.push(Question { node, read, probe, starters, attempt });
                    }
                    None => self.tree.want(node, thread, choice, creates, then),
                }
            }
            // Nothing is known about how to get there.
            None => self.tree.want_all(node),
        }
    }

    /// The choices that lead from the state before `early` to the late operation.
    fn leading_to(&self, early: u32, between: &[u32], late: &Late<'_>) -> Attempt {
        let mut renaming = Renaming::behind(&self.execution.events[..early as usize], self.renames);
        let mut all: Vec<HintedChoice> = Vec::new();
        for &at in between {
            let event = &self.execution.events[at as usize];
            let choice = Choice { thread: renaming.name(event.thread), choice: self.choices[at as usize] };
            renaming.note(event);
            all.push(HintedChoice { choice, creates: event.op.created() });
        }
        all.extend(self.past.iter().copied().filter(|_| late.below.is_some()));
        all.push(HintedChoice { choice: Choice::of(renaming.name(late.thread)), creates: None });
        let first = all.remove(0);
        Attempt { choice: first.choice, creates: first.creates, then: all }
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
    fn hint(&self, early: u32, first: Option<u32>, between: &[u32], late: &Late<'_>) -> Hint {
        let events = first.into_iter().chain(between.iter().copied().filter(|&at| Some(at) != first));
        let mut renaming = Renaming::behind(&self.execution.events[..early as usize], self.renames);
        let choose = |at: u32| {
            let event = &self.execution.events[at as usize];
            let choice = Choice { thread: renaming.name(event.thread), choice: self.choices[at as usize] };
            renaming.note(event);
            HintedChoice { choice, creates: event.op.created() }
        };
        let mut all: Vec<HintedChoice> = events.map(choose).collect();
        let choice = Choice::of(renaming.name(late.thread));
        let late = HintedChoice { choice, creates: late.op.op.created() };
        if first.is_some() {
            all.push(late)
        } else {
            all.insert(0, late)
        }
        let start = all.remove(0);
        Hint { choice: start.choice.choice, creates: start.creates, then: all }
    }
}

/// What is to be reversed with an event: the state in which the late operation would be made.
#[derive(Debug)]
struct Reversal {
    early: u32,
    /// Where the late operation is.
    at: u32,
    /// The events between that do not follow the early one.
    between: Vec<u32>,
    state: Mark,
}

/// How a request may go on.
#[derive(Debug, Default)]
struct Hint {
    /// Which successor to start with.
    choice: u16,
    /// The thread that it creates.
    creates: Option<u16>,
    then: Vec<HintedChoice>,
}

/// Threads that can start a sequence of events.
#[derive(Debug, Default)]
struct Starters {
    starters: Vec<(u16, Option<u32>)>,
    met: Vec<u16>,
    touched: Vec<Touch>,
}

impl Starters {
    /// Adds the next event of the sequence.
    fn push(&mut self, thread: u16, touches: &[Touch], at: Option<u32>) {
        if !self.met.contains(&thread) {
            if !conflict(&self.touched, touches) {
                self.starters.push((thread, at));
            }
            self.met.push(thread);
        }
        self.touched.extend_from_slice(touches);
    }
}

/// Numbers of threads in another order of creation.
struct Renaming {
    /// Whether there are other numbers at all.
    renames: bool,
    created: u16,
    names: Vec<(u16, u16)>,
}

impl Renaming {
    /// Behind these events, up to which nothing changes.
    fn behind(events: &[Event], renames: bool) -> Self {
        let created = events.iter().filter(|event| event.op.created().is_some()).count() as u16 + 1;
        Renaming { renames, created, names: Vec::new() }
    }

    fn name(&self, thread: u16) -> u16 {
        self.names.iter().find(|(old, _)| *old == thread).map_or(thread, |&(_, new)| new)
    }

    fn note(&mut self, event: &Event) {
        if let Some(child) = event.op.created().filter(|_| self.renames) {
            self.names.push((child, self.created));
            self.created += 1;
        }
    }
}
