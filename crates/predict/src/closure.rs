//! Value-preserving reorderings: every read keeps its writer, so the program can follow them.
//!
//! Source: sync-preserving races (Mathur, Pavlogiannis and Viswanathan, POPL 2021). The set of
//! events that a goal needs is closed under what they read and under the locks they acquire. If the
//! goal's threads do not have to go beyond their positions, the closure in the order of the trace
//! is a witness.
//!
//! Deviation: objects other than locks keep the whole order of their operations.
//! It is not complete; [`crate::search`] is. What threads must have done because of their reads is
//! computed once for every position, so the closure of a goal is quick even for long traces.

use rustc_hash::FxHashMap;

use crate::order::MustHappenBefore;
use crate::pins::{Pins, ReadsFrom};
use crate::search::{Goal, ReorderedEvent};
use crate::sections::Sections;
use crate::state::SearchState;
use crate::trace::{ObservedTrace, Slot, SyncOp, Tid};

/// Finds value-preserving reorderings of one trace.
#[derive(Clone, Debug)]
pub struct ValuePreserving<'a> {
    trace: &'a ObservedTrace,
    /// Must-happen-before, with all reads keeping their writers and all objects other than locks
    /// keeping the order of their operations.
    order: MustHappenBefore,
    sections: Sections,
    /// Whether some event wakes one of several threads.
    wakes: bool,
}

/// Longer witnesses are not replayed. They are right by construction; the replay only checks that.
const LONGEST_REPLAY: usize = 5_000;

impl<'a> ValuePreserving<'a> {
    /// Prepares a trace.
    #[must_use]
    pub fn new(trace: &'a ObservedTrace, flow: &ReadsFrom) -> Self {
        let mut before = vec![0; trace.events.len()];
        let mut last: FxHashMap<Slot, u32> = FxHashMap::default();
        for (number, event) in trace.events.iter().enumerate() {
            if let Some(slot) = in_order(&event.op, trace)
                && let Some(earlier) = last.insert(slot, number as u32)
            {
                before[number] = earlier + 1;
            }
        }
        let order = MustHappenBefore::with(trace, |event, needs| {
            needs.extend(flow.writers(trace, event));
            if let Some(earlier) = before[event as usize].checked_sub(1) {
                let (thread, index) = trace.position(earlier);
                needs.push((thread, index + 1));
            }
        });
        let wakes = trace.events.iter().any(|event| matches!(event.op, SyncOp::Wake { all: false, .. }));
        ValuePreserving { trace, order, sections: Sections::of(trace), wakes }
    }

    /// A reordering that reaches the goal and in which every read keeps its writer.
    #[must_use]
    pub fn witness(&self, goal: &Goal) -> Option<Vec<ReorderedEvent>> {
        let limits = self.close(goal)?;
        let made = |(thread, &limit): (usize, &u32)| &self.trace.threads[thread].events[..limit as usize];
        let mut order: Vec<u32> = limits.iter().enumerate().flat_map(made).copied().collect();
        order.sort_unstable();
        if order.len() > LONGEST_REPLAY && !self.wakes {
            return Some(order.into_iter().map(|event| ReorderedEvent { event, woken: None }).collect());
        }
        replay(self.trace, &order, goal)
    }

    fn close(&self, goal: &Goal) -> Option<Vec<u32>> {
        let mut limits = vec![0; self.trace.threads.len()];
        for &(thread, position) in goal {
            self.order.raise(&mut limits, thread, position);
        }
        loop {
            if goal.iter().any(|&(thread, position)| limits[usize::from(thread)] > position) {
                return None;
            }
            let before = limits.clone();
            for slot in self.sections.shared() {
                self.separate(slot, &mut limits)?;
            }
            if before == limits {
                return Some(limits);
            }
        }
    }

    /// Lets all sections of one lock end, except the last one of those that exclude each other.
    fn separate(&self, slot: Slot, limits: &mut [u32]) -> Option<()> {
        let last = self.sections.last(slot, limits);
        for &(thread, section) in &last {
            let mut others = last.iter().map(|(_, other)| other);
            if others.any(|other| other.event > section.event && other.excludes(&section)) {
                self.order.raise(limits, thread, section.release?);
            }
        }
        Some(())
    }
}

/// The object of an operation, if all operations on it keep their order.
fn in_order(op: &SyncOp, trace: &ObservedTrace) -> Option<Slot> {
    match *op {
        SyncOp::Enqueue { queue, .. } | SyncOp::Resume { queue, .. } | SyncOp::Wake { queue, .. } => Some(queue),
        SyncOp::SetSem(slot, _) | SyncOp::Post(slot) | SyncOp::Take(slot) | SyncOp::Empty(slot) => Some(slot),
        SyncOp::Publish(slot) | SyncOp::Await(slot) => Some(slot),
        SyncOp::Busy(slot)
        | SyncOp::BusyRead(slot)
        | SyncOp::BusyWrite(slot)
        | SyncOp::Lock(slot)
        | SyncOp::Unlock(slot)
        | SyncOp::ReadLock(slot)
        | SyncOp::ReadUnlock(slot)
        | SyncOp::WriteLock(slot)
        | SyncOp::WriteUnlock(slot) => trace.slots[slot as usize].delicate.then_some(slot),
        _ => None,
    }
}

/// Executes the events in this order; `None` if one of them is disabled, or the goal is not
/// reached.
#[must_use]
pub fn replay(trace: &ObservedTrace, order: &[u32], goal: &Goal) -> Option<Vec<ReorderedEvent>> {
    let pins = Pins::default();
    let mut state = SearchState::new(trace, &pins);
    let mut taken = Vec::with_capacity(order.len());
    for &event in order {
        let thread = trace.events[event as usize].thread;
        if state.next(thread) != Some(event) || !state.enabled(thread) {
            return None;
        }
        let woken = match trace.events[event as usize].op {
            SyncOp::Wake { queue, all: false } => {
                state.waiting(queue).into_iter().min_by_key(|&other| state.next(other))
            }
            _ => None,
        };
        state.execute(thread, woken);
        taken.push(ReorderedEvent { event, woken });
    }
    let there = |&(thread, position): &(Tid, u32)| state.position(thread) == position && state.is_alive(thread);
    goal.iter().all(there).then_some(taken)
}
