//! Reorderings that are safe to believe: every read keeps its writer, and whatever is taken over keeps its order.
//!
//! The set of steps that a goal needs is closed under what they read and under the locks they take (sync-preserving races,
//! Mathur, Pavlogiannis and Viswanathan, POPL 2021, with the objects beyond locks kept in their whole order). If the goal's
//! threads do not have to go beyond their positions, the closure in the order of the trace is a witness that the program
//! can follow. It is not complete; [`crate::search`] is.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::order::Order;
use crate::pins::{Flow, Pins};
use crate::search::{Goal, Taken};
use crate::state::State;
use crate::trace::{Op, Slot, Tid, Trace};

/// How locks and other objects are used, worked out once for a trace.
#[derive(Clone, Debug)]
pub struct Keeper<'a> {
    trace: &'a Trace,
    order: &'a Order,
    flow: &'a Flow,
    /// Whether some step wakes one of several.
    wakes: bool,
    /// For each acquisition the position behind its release.
    release: FxHashMap<u32, u32>,
    /// For each step on an object that is no lock: the step on it before, plus 1; else 0.
    before: Vec<u32>,
}

/// Longer witnesses are right by construction and not replayed.
const LONGEST_REPLAY: usize = 5_000;

/// The last acquisition of a lock by a thread.
#[derive(Clone, Copy)]
struct Section {
    step: u32,
    writes: bool,
}

impl<'a> Keeper<'a> {
    /// Looks at all steps.
    #[must_use]
    pub fn new(trace: &'a Trace, order: &'a Order, flow: &'a Flow) -> Self {
        let before = vec![0; trace.steps.len()];
        let wakes = trace.steps.iter().any(|step| matches!(step.op, Op::Wake { all: false, .. }));
        let mut keeper = Keeper { trace, order, flow, wakes, release: FxHashMap::default(), before };
        let mut open: BTreeMap<(Tid, Slot), u32> = BTreeMap::new();
        let mut last: FxHashMap<Slot, u32> = FxHashMap::default();
        for (number, step) in trace.steps.iter().enumerate() {
            let number = number as u32;
            if let Some((slot, _)) = acquires(&step.op) {
                open.insert((step.thread, slot), number);
            }
            if let Some(slot) = releases(&step.op)
                && let Some(acquisition) = open.remove(&(step.thread, slot))
            {
                keeper.release.insert(acquisition, step.index + 1);
            }
            if let Some(slot) = in_order(&step.op, trace)
                && let Some(earlier) = last.insert(slot, number)
            {
                keeper.before[number as usize] = earlier + 1;
            }
        }
        keeper
    }

    /// A reordering that reaches the goal and keeps what every read sees.
    #[must_use]
    pub fn witness(&self, goal: &Goal) -> Option<Vec<Taken>> {
        let limits = self.close(goal)?;
        let made = |(thread, &limit): (usize, &u32)| &self.trace.threads[thread].steps[..limit as usize];
        let mut order: Vec<u32> = limits.iter().enumerate().flat_map(made).copied().collect();
        order.sort_unstable();
        if order.len() > LONGEST_REPLAY && !self.wakes {
            return Some(order.into_iter().map(|step| Taken { step, woken: None }).collect());
        }
        replay(self.trace, &order, goal)
    }

    fn close(&self, goal: &Goal) -> Option<Vec<u32>> {
        let threads = self.trace.threads.len();
        let mut limits = vec![0; threads];
        let mut looked = vec![0; threads];
        let mut sections: Vec<Vec<Option<Section>>> = vec![Vec::new(); self.trace.slots.len()];
        for &(thread, position) in goal {
            self.raise(&mut limits, thread, position);
        }
        let (mut touched, mut listed) = (Vec::new(), vec![false; self.trace.slots.len()]);
        loop {
            for thread in 0..threads {
                while looked[thread] < limits[thread] {
                    let step = self.trace.threads[thread].steps[looked[thread] as usize];
                    looked[thread] += 1;
                    self.need(step, &mut limits);
                    if let Some((slot, writes)) = acquires(&self.trace.steps[step as usize].op) {
                        let own = &mut sections[slot as usize];
                        own.resize(threads, None);
                        own[thread] = Some(Section { step, writes });
                        if !std::mem::replace(&mut listed[slot as usize], true) {
                            touched.push(slot);
                        }
                    }
                }
            }
            if goal.iter().any(|&(thread, position)| limits[usize::from(thread)] > position) {
                return None;
            }
            if (0..threads).any(|thread| looked[thread] < limits[thread]) {
                continue;
            }
            let before = limits.clone();
            for slot in touched.drain(..) {
                listed[slot as usize] = false;
                self.separate(&sections[slot as usize], &mut limits)?;
            }
            if before == limits {
                return Some(limits);
            }
        }
    }

    /// What a step needs: the writers of what it reads, and the step before it on its object.
    fn need(&self, step: u32, limits: &mut [u32]) {
        for &(_, writer) in self.flow.reads(step).iter().filter(|read| read.1 > 0) {
            let (thread, index) = self.trace.position(writer - 1);
            self.raise(limits, thread, index + 1);
        }
        if let Some(earlier) = self.before[step as usize].checked_sub(1) {
            let (thread, index) = self.trace.position(earlier);
            self.raise(limits, thread, index + 1);
        }
    }

    /// Sections of one lock that exclude each other: all but the last one must be over.
    fn separate(&self, sections: &[Option<Section>], limits: &mut [u32]) -> Option<()> {
        for (thread, section) in sections.iter().enumerate() {
            let Some(section) = section else { continue };
            let mut others = sections.iter().flatten();
            if others.any(|other| other.step > section.step && (other.writes || section.writes)) {
                let release = *self.release.get(&section.step)?;
                self.raise(limits, thread as Tid, release);
            }
        }
        Some(())
    }

    fn raise(&self, limits: &mut [u32], thread: Tid, position: u32) {
        let own = usize::from(thread);
        // Whoever came so far has all that it needs to be there.
        if limits[own] >= position && position > 0 {
            return;
        }
        limits[own] = limits[own].max(position);
        for (other, &needed) in self.order.clock(thread, position).iter().enumerate() {
            if other != own {
                limits[other] = limits[other].max(needed);
            }
        }
    }
}

fn acquires(op: &Op) -> Option<(Slot, bool)> {
    match *op {
        Op::Lock(slot) | Op::WriteLock(slot) | Op::Resume { mutex: Some(slot), .. } => Some((slot, true)),
        Op::ReadLock(slot) => Some((slot, false)),
        _ => None,
    }
}

fn releases(op: &Op) -> Option<Slot> {
    match *op {
        Op::Unlock(slot)
        | Op::WriteUnlock(slot)
        | Op::ReadUnlock(slot)
        | Op::OnceEnd(slot)
        | Op::Enqueue { mutex: Some(slot), .. } => Some(slot),
        _ => None,
    }
}

/// Objects whose steps keep their whole order.
fn in_order(op: &Op, trace: &Trace) -> Option<Slot> {
    match *op {
        Op::Enqueue { queue, .. } | Op::Resume { queue, .. } | Op::Wake { queue, .. } => Some(queue),
        Op::SetSem(slot, _) | Op::Post(slot) | Op::Take(slot) | Op::Empty(slot) => Some(slot),
        Op::Publish(slot) | Op::Await(slot) => Some(slot),
        Op::Busy(slot)
        | Op::BusyRead(slot)
        | Op::BusyWrite(slot)
        | Op::Lock(slot)
        | Op::Unlock(slot)
        | Op::ReadLock(slot)
        | Op::ReadUnlock(slot)
        | Op::WriteLock(slot)
        | Op::WriteUnlock(slot) => trace.slots[slot as usize].delicate.then_some(slot),
        _ => None,
    }
}

/// Makes the steps in this order; `None` if one of them is not possible, or the goal is not reached.
#[must_use]
pub fn replay(trace: &Trace, order: &[u32], goal: &Goal) -> Option<Vec<Taken>> {
    let pins = Pins::default();
    let mut state = State::new(trace, &pins);
    let mut taken = Vec::with_capacity(order.len());
    for &step in order {
        let thread = trace.steps[step as usize].thread;
        if state.next(thread) != Some(step) || !state.enabled(thread) {
            return None;
        }
        let woken = match trace.steps[step as usize].op {
            Op::Wake { queue, all: false } => state.waiting(queue).into_iter().min_by_key(|&other| state.next(other)),
            _ => None,
        };
        state.make(thread, woken);
        taken.push(Taken { step, woken });
    }
    let there = |&(thread, position): &(Tid, u32)| state.position(thread) == position && state.is_alive(thread);
    goal.iter().all(there).then_some(taken)
}
