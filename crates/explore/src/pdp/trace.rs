//! One execution with the orders that the search needs: dependence for what can be reversed,
//! happens-before for races.

use std::collections::BTreeSet;

use raddle_model::clock::join;
use raddle_model::object::{Carrier, CondAction, CondOp, OrderSink, RwlockAction};
use raddle_model::{Event, Execution, Footprint, Op, Operation as _, Pending, PendingState, VectorClock};
use raddle_vocab::Outcome;
use rustc_hash::FxHashMap;

use crate::dependence::DependenceClocks;

/// One transition.
#[derive(Debug)]
pub(super) struct TraceEvent {
    pub event: Event,
    /// Its number among those of its thread, from 0.
    pub count: u32,
    /// Whether it releases a lock that its thread does not hold.
    pub stray: bool,
    /// What it touches, whatever its outcome might have been.
    pub worst: Footprint,
    /// Dependence order: what comes before the thread's position just before it.
    pub before: VectorClock,
    /// The same just after it.
    pub after: VectorClock,
    /// Happens-before: what comes before the thread's position just after it.
    pub synced: VectorClock,
}

/// A prefix of an execution.
#[derive(Debug)]
pub(super) struct Trace {
    pub events: Vec<TraceEvent>,
    /// Positions of each thread's transitions.
    pub positions_of: Vec<Vec<usize>>,
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
            events: Vec::with_capacity(length),
            positions_of: vec![Vec::new(); threads],
            birth: vec![None; threads],
            pending: vec![None; threads],
        };
        let mut orders = Orders::new(threads);
        let mut timed = vec![false; threads];
        let mut holders: BTreeSet<(u64, u16)> = BTreeSet::new();
        for (at, event) in execution.events.iter().take(length).enumerate() {
            let thread = usize::from(event.thread);
            if let Op::Cond(CondOp { action: CondAction::Wait { timed: is_timed, .. }, .. }) = event.op {
                timed[thread] = is_timed;
            }
            if let Some(birth) = event.op.created().and_then(|child| trace.birth.get_mut(usize::from(child))) {
                *birth = Some(at);
            }
            let stray = hand_over(event, &mut holders);
            let worst = event.op.worst_footprint(event.thread, timed[thread]);
            let count = trace.positions_of[thread].len() as u32;
            trace.positions_of[thread].push(at);
            let (before, after, synced) = orders.advance(event);
            trace.events.push(TraceEvent { event: *event, count, stray, worst, before, after, synced });
        }
        trace.find_pending(execution, length);
        trace
    }

    fn find_pending(&mut self, execution: &Execution, length: usize) {
        for event in execution.events[length..].iter().rev() {
            self.pending[usize::from(event.thread)] = Some(*event);
        }
        for (thread, Pending { event, state, .. }) in execution.pending.iter().enumerate() {
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
        self.events.len()
    }

    /// How many threads the whole execution has.
    pub fn threads(&self) -> usize {
        self.positions_of.len()
    }

    /// What the thread stands before at state `at`, if it goes on from there.
    pub fn next_event(&self, thread: u16, at: usize) -> Option<&Event> {
        let own = &self.positions_of[usize::from(thread)];
        match own.get(own.partition_point(|&position| position < at)) {
            Some(&position) => Some(&self.events[position].event),
            None => self.pending[usize::from(thread)].as_ref(),
        }
    }

    /// Whether the thread exists at state `at`.
    pub fn exists(&self, thread: u16, at: usize) -> bool {
        thread == 0 || self.birth[usize::from(thread)].is_some_and(|birth| birth < at)
    }

    /// Dependence order at the thread's position in state `at`.
    pub fn clock(&self, thread: u16, at: usize) -> VectorClock {
        let own = &self.positions_of[usize::from(thread)];
        match own.partition_point(|&position| position < at) {
            0 => match self.birth[usize::from(thread)] {
                Some(birth) => self.events[birth].after.clone(),
                None => VectorClock::zero(self.threads()),
            },
            last => self.events[own[last - 1]].after.clone(),
        }
    }

    /// The first state in which `count` transitions of `other` happen before the position of the
    /// thread, or, before it exists, of its creator.
    pub fn first_synced(&self, thread: u16, other: u16, count: u32) -> usize {
        let (mut thread, mut end, mut found) = (usize::from(thread), self.len(), usize::MAX);
        loop {
            let own = &self.positions_of[thread];
            let own = &own[..own.partition_point(|&position| position < end)];
            let first = own.partition_point(|&position| self.events[position].synced[usize::from(other)] < count);
            if let Some(&position) = own.get(first) {
                found = position + 1;
            }
            match self.birth[thread] {
                Some(birth) if self.events[birth].synced[usize::from(other)] >= count => {
                    found = birth + 1;
                    thread = usize::from(self.events[birth].event.thread);
                    end = birth + 1;
                }
                _ => return found,
            }
        }
    }
}

/// Notes which thread holds which lock; whether the event releases one that its thread does not
/// hold.
fn hand_over(event: &Event, holders: &mut BTreeSet<(u64, u16)>) -> bool {
    let (acquired, released) = match &event.op {
        Op::Rwlock(op) => {
            let is_unlock = matches!(op.action, RwlockAction::Unlock { .. });
            (op.acquires().then_some(op.rwlock), is_unlock.then_some(op.rwlock))
        }
        op => (op.acquired_mutex(), op.released_mutex()),
    };
    holders.extend(acquired.map(|lock| (lock, event.thread)));
    let is_done = event.op.outcome() == Outcome::Done;
    released.is_some_and(|lock| is_done && !holders.remove(&(lock, event.thread)))
}

/// What the pending operation of a thread may touch.
pub(super) fn worst_pending(event: &Event) -> Footprint {
    event.op.worst_footprint(event.thread, true)
}

/// Both orders, event by event.
struct Orders {
    /// Dependence order.
    depends: DependenceClocks,
    /// Happens-before at each thread's position.
    synced: Vec<VectorClock>,
    /// What was published through an object.
    published: FxHashMap<(u64, Carrier), VectorClock>,
    /// The thread whose event is followed.
    thread: usize,
}

impl Orders {
    fn new(threads: usize) -> Self {
        let mut depends = DependenceClocks::default();
        depends.start(threads);
        let synced = vec![VectorClock::zero(threads); threads];
        Orders { depends, synced, published: FxHashMap::default(), thread: 0 }
    }

    /// Adds an event. Returns the dependence order just before it and just after it, and
    /// happens-before just after it.
    fn advance(&mut self, event: &Event) -> (VectorClock, VectorClock, VectorClock) {
        let before = self.depends.at(event.thread).clone();
        let after = self.depends.push(event).clone();
        // Creation is a conflict with the start, but the thread exists from then on.
        if let Some(child) = event.op.created() {
            self.depends.follow(child, event.thread);
        }
        self.synchronise(event);
        (before, after, self.synced[usize::from(event.thread)].clone())
    }

    fn synchronise(&mut self, event: &Event) {
        self.thread = usize::from(event.thread);
        self.synced[self.thread][self.thread] += 1;
        event.op.order(self);
    }
}

/// The edges of happens-before that locks, semaphores, barriers, creation and joining make. Leaving
/// out others (atomics, once controls, files) orders less, which is the safe side.
impl OrderSink for Orders {
    fn fork(&mut self, child: u16) {
        let clock = self.synced[self.thread].clone();
        if let Some(child) = self.synced.get_mut(usize::from(child)) {
            join(child, &clock);
        }
    }

    fn join(&mut self, thread: u16) {
        if let Some(ended) = self.synced.get(usize::from(thread)).cloned() {
            join(&mut self.synced[self.thread], &ended);
        }
    }

    fn acquire(&mut self, addr: u64, carrier: Carrier) {
        if let Some(clock) = self.published.get(&(addr, carrier)) {
            join(&mut self.synced[self.thread], clock);
        }
    }

    fn release(&mut self, addr: u64, carrier: Carrier) {
        let clock = &self.synced[self.thread];
        match self.published.get_mut(&(addr, carrier)) {
            Some(all) => join(all, clock),
            None => {
                self.published.insert((addr, carrier), clock.clone());
            }
        }
    }

    fn initialise(&mut self, addr: u64, _size: u64) {
        self.published.remove(&(addr, Carrier::Object));
        self.published.remove(&(addr, Carrier::Left));
    }
}
