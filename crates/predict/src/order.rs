//! Must-happen-before: the order that every reordering of a trace keeps.
//!
//! It is happens-before without the edges of mutexes. Program order, creation, join, the rounds of
//! a barrier and the end of an initialiser hold in every reordering. A semaphore, a condition
//! variable or an awaited location adds edges only if a single thread posts, wakes or writes it:
//! the n-th wait that succeeds then needs the n-th post. No other edge is assumed, so the filter
//! loses no candidate.

use std::collections::BTreeMap;

use raddle_model::VectorClock;
use raddle_model::clock::join_changes;

use crate::trace::{ObservedTrace, Slot, SyncOp, Tid};

/// For each thread and position, how many events of the other threads must have been made.
#[derive(Clone, Debug)]
pub struct MustHappenBefore {
    /// By thread: the positions from which a clock holds. A thread's own entry has no meaning.
    clocks: Vec<Vec<(u32, VectorClock)>>,
}

/// Events of one kind on one slot.
#[derive(Default)]
struct Sources {
    /// A thread that makes them. It is the only one unless `several` is set.
    only: Option<Tid>,
    several: bool,
    /// Positions after them, in order.
    positions: Vec<u32>,
    /// Initial value of a semaphore.
    first: u32,
}

impl Sources {
    fn add(&mut self, thread: Tid, position: u32) {
        self.several |= self.only.is_some_and(|only| only != thread);
        self.only = Some(thread);
        self.positions.push(position);
    }

    /// The position that the only source must have reached before the n-th wait succeeds.
    fn needed(&self, nth: u32) -> Option<(Tid, u32)> {
        let index = nth.checked_sub(self.first + 1)?;
        let position = *self.positions.get(index as usize)?;
        self.only.filter(|_| !self.several).map(|thread| (thread, position))
    }
}

struct Scan<'a> {
    trace: &'a ObservedTrace,
    sources: BTreeMap<Slot, Sources>,
    arrivals: BTreeMap<Slot, Vec<(Tid, u32)>>,
    ends: BTreeMap<Slot, (Tid, u32)>,
    set: BTreeMap<Slot, (Tid, u32)>,
    passed: BTreeMap<(Slot, Tid), u32>,
    current: Vec<VectorClock>,
    clocks: Vec<Vec<(u32, VectorClock)>>,
}

impl MustHappenBefore {
    /// Computes the order of a trace.
    #[must_use]
    pub fn of(trace: &ObservedTrace) -> Self {
        MustHappenBefore::with(trace, |_, _| {})
    }

    /// The order with additional edges. For each event, `more` adds threads and the positions that
    /// they must have reached. All of these positions are earlier in the trace.
    #[must_use]
    pub fn with(trace: &ObservedTrace, more: impl Fn(u32, &mut Vec<(Tid, u32)>)) -> Self {
        let threads = trace.threads.len();
        let mut scan = Scan {
            trace,
            sources: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            ends: BTreeMap::new(),
            set: BTreeMap::new(),
            passed: BTreeMap::new(),
            current: vec![VectorClock::zero(threads); threads],
            clocks: vec![vec![(0, VectorClock::zero(threads))]; threads],
        };
        scan.collect();
        let mut needs = Vec::new();
        for number in 0..trace.events.len() as u32 {
            needs.clear();
            more(number, &mut needs);
            scan.event(number, &mut needs);
        }
        MustHappenBefore { clocks: scan.clocks }
    }

    /// The clock of a thread at a position.
    #[must_use]
    pub fn clock(&self, thread: Tid, position: u32) -> &[u32] {
        let own = &self.clocks[usize::from(thread)];
        let at = own.partition_point(|(from, _)| *from <= position);
        &own[at.saturating_sub(1)].1
    }

    /// Raises `limits` so that the thread can reach the position: itself and everything it needs.
    pub(crate) fn raise(&self, limits: &mut [u32], thread: Tid, position: u32) {
        let own = usize::from(thread);
        limits[own] = limits[own].max(position);
        for (other, &needed) in self.clock(thread, position).iter().enumerate() {
            if other != own {
                limits[other] = limits[other].max(needed);
            }
        }
    }

    /// Number of the clock that holds at a position. Positions of a thread with the same number
    /// have the same clock.
    #[must_use]
    pub fn segment(&self, thread: Tid, position: u32) -> u32 {
        let own = &self.clocks[usize::from(thread)];
        own.partition_point(|(from, _)| *from <= position).saturating_sub(1) as u32
    }

    /// Whether everything that the first thread does at its position happens before the second
    /// thread reaches its own.
    #[must_use]
    pub fn ordered(&self, first: (Tid, u32), second: (Tid, u32)) -> bool {
        self.clock(second.0, second.1)[usize::from(first.0)] > first.1
    }
}

impl Scan<'_> {
    /// Finds the posts, wake-ups, writes, arrivals and initialiser ends.
    fn collect(&mut self) {
        for event in &self.trace.events {
            let behind = event.index + 1;
            match event.op {
                SyncOp::Post(slot) | SyncOp::Wake { queue: slot, .. } | SyncOp::Publish(slot) => {
                    self.sources.entry(slot).or_default().add(event.thread, behind);
                }
                SyncOp::SetSem(slot, value) => {
                    self.sources.entry(slot).or_default().first = value;
                    self.set.entry(slot).or_insert((event.thread, behind));
                }
                SyncOp::Arrive { round, .. } => self.arrivals.entry(round).or_default().push((event.thread, behind)),
                SyncOp::OnceEnd(slot) => {
                    self.ends.entry(slot).or_insert((event.thread, behind));
                }
                _ => {}
            }
        }
    }

    fn event(&mut self, number: u32, needs: &mut Vec<(Tid, u32)>) {
        let event = self.trace.events[number as usize];
        match event.op {
            SyncOp::Join(thread) => needs.push((thread, self.trace.threads[usize::from(thread)].last())),
            SyncOp::Leave { round, .. } => needs.extend(self.arrivals.get(&round).into_iter().flatten()),
            SyncOp::Arrive { previous: Some((round, _)), .. } => {
                needs.extend(self.arrivals.get(&round).into_iter().flatten());
            }
            SyncOp::OnceSeen(slot) => needs.extend(self.ends.get(&slot)),
            SyncOp::Take(slot) => {
                needs.extend(self.set.get(&slot));
                needs.extend(self.nth(slot, event.thread));
            }
            SyncOp::Resume { queue, woken: true, .. } => needs.extend(self.nth(queue, event.thread)),
            SyncOp::Await(slot) => needs.extend(self.sources.get(&slot).and_then(|sources| sources.needed(1))),
            _ => {}
        }
        let mut changed = false;
        for &need in &*needs {
            changed |= self.join(event.thread, need);
        }
        let own = usize::from(event.thread);
        self.current[own][own] = event.index + 1;
        if changed {
            self.clocks[own].push((event.index + 1, self.current[own].clone()));
        }
        if let SyncOp::Fork(child) = event.op {
            self.join(child, (event.thread, event.index + 1));
            self.clocks[usize::from(child)][0].1 = self.current[usize::from(child)].clone();
        }
    }

    /// The position that the thread's next wait on the slot needs.
    fn nth(&mut self, slot: Slot, thread: Tid) -> Option<(Tid, u32)> {
        let times = self.passed.entry((slot, thread)).or_insert(0);
        *times += 1;
        self.sources.get(&slot)?.needed(*times)
    }

    /// Joins the clock of another thread's position into the thread's clock; whether that changed
    /// it.
    fn join(&mut self, thread: Tid, (other, position): (Tid, u32)) -> bool {
        if thread == other {
            return false;
        }
        let mut clock = self.clock_at(other, position);
        // What the other thread knows of this one is no news.
        clock[usize::from(thread)] = 0;
        join_changes(&mut self.current[usize::from(thread)], &clock)
    }

    fn clock_at(&self, thread: Tid, position: u32) -> VectorClock {
        let own = &self.clocks[usize::from(thread)];
        let at = own.partition_point(|(from, _)| *from <= position).saturating_sub(1);
        let mut clock = own[at].1.clone();
        clock[usize::from(thread)] = position;
        clock
    }
}
