//! The reads-from relation of a trace, and reads that must keep their writers.
//!
//! A transition is an event with the block after it. It reads a variable if it does so before it
//! writes the variable itself. The writer of the read is the last transition before it that wrote
//! the variable. A read that is *pinned* must have the same writer in a reordering.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::trace::{ObservedTrace, Tid, Var};

/// A read of a variable by a transition, named by its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionRead {
    /// The event.
    pub event: u32,
    /// The variable.
    pub var: Var,
}

/// The reads-from relation: what each transition reads and writes, and the writer of each read.
#[derive(Clone, Debug, Default)]
pub struct ReadsFrom {
    /// What each transition reads, and the event (plus 1) that wrote it; 0 for the initial value.
    reads: Vec<Vec<(Var, u32)>>,
    /// What each transition writes.
    writes: Vec<Vec<Var>>,
}

impl ReadsFrom {
    /// Computes the relation of a trace.
    #[must_use]
    pub fn of(trace: &ObservedTrace) -> Self {
        let mut flow =
            ReadsFrom { reads: vec![Vec::new(); trace.events.len()], writes: vec![Vec::new(); trace.events.len()] };
        let mut last: Vec<u32> = vec![0; trace.vars.len()];
        for access in &trace.accesses {
            let before = if access.own_event { Some(access.position) } else { access.position.checked_sub(1) };
            // Accesses before a thread's first event belong to no transition.
            let Some(event) = before.and_then(|position| trace.event_at(access.thread, position)) else { continue };
            let writer = last[access.var as usize];
            let (reads, writes) = (&mut flow.reads[event as usize], &mut flow.writes[event as usize]);
            if access.reads() && writer != event + 1 && !reads.iter().any(|read| read.0 == access.var) {
                reads.push((access.var, writer));
            }
            if access.writes() {
                if !writes.contains(&access.var) {
                    writes.push(access.var);
                }
                last[access.var as usize] = event + 1;
            }
        }
        flow
    }

    /// What a transition reads, with the number of the writing event plus 1.
    #[must_use]
    pub fn reads(&self, event: u32) -> &[(Var, u32)] {
        &self.reads[event as usize]
    }

    /// Threads and the positions that they must have reached so that each read of the transition
    /// has its writer.
    pub fn writers<'a>(&'a self, trace: &'a ObservedTrace, event: u32) -> impl Iterator<Item = (Tid, u32)> + 'a {
        let writers = self.reads(event).iter().filter_map(|read| read.1.checked_sub(1));
        writers.map(|writer| trace.position(writer)).map(|(thread, index)| (thread, index + 1))
    }

    /// What a transition writes.
    #[must_use]
    pub fn writes(&self, event: u32) -> &[Var] {
        &self.writes[event as usize]
    }

    /// The reads whose writer in a reordering is not their writer in the trace, in the order of the
    /// reordering.
    #[must_use]
    pub fn changed(&self, order: &[u32]) -> Vec<TransitionRead> {
        let mut last: FxHashMap<Var, u32> = FxHashMap::default();
        let mut changed = Vec::new();
        for &event in order {
            for &(var, writer) in self.reads(event) {
                if last.get(&var).copied().unwrap_or(0) != writer {
                    changed.push(TransitionRead { event, var });
                }
            }
            for &var in self.writes(event) {
                last.insert(var, event + 1);
            }
        }
        changed
    }
}

/// A set of pinned reads, in the form that a search needs.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    reads: FxHashMap<u32, Vec<(u32, u32)>>,
    writes: FxHashMap<u32, Vec<u32>>,
    variables: usize,
    set: BTreeSet<TransitionRead>,
}

impl Pins {
    /// Pins these reads of a trace.
    #[must_use]
    pub fn of(flow: &ReadsFrom, set: BTreeSet<TransitionRead>) -> Self {
        let mut pins = Pins::default();
        let mut numbers: FxHashMap<Var, u32> = FxHashMap::default();
        for read in &set {
            let next = numbers.len() as u32;
            let var = *numbers.entry(read.var).or_insert(next);
            let writer = flow.reads(read.event).iter().find(|(other, _)| *other == read.var);
            if let Some(&(_, writer)) = writer {
                pins.reads.entry(read.event).or_default().push((var, writer));
            }
        }
        if !numbers.is_empty() {
            for (event, writes) in flow.writes.iter().enumerate() {
                let pinned: Vec<u32> = writes.iter().filter_map(|var| numbers.get(var)).copied().collect();
                if !pinned.is_empty() {
                    pins.writes.insert(event as u32, pinned);
                }
            }
        }
        pins.variables = numbers.len();
        pins.set = set;
        pins
    }

    /// The reads.
    #[must_use]
    pub fn set(&self) -> &BTreeSet<TransitionRead> {
        &self.set
    }

    pub(crate) fn variables(&self) -> usize {
        self.variables
    }

    pub(crate) fn reads(&self, event: u32) -> &[(u32, u32)] {
        self.reads.get(&event).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn writes(&self, event: u32) -> &[u32] {
        self.writes.get(&event).map_or(&[], Vec::as_slice)
    }

    /// Pairs of an event with pinned reads and the event that writes for one of them.
    pub(crate) fn writers(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pairs = |(&event, reads): (&u32, &Vec<(u32, u32)>)| {
            let writers: Vec<(u32, u32)> =
                reads.iter().filter(|read| read.1 > 0).map(|read| (event, read.1 - 1)).collect();
            writers
        };
        self.reads.iter().flat_map(pairs)
    }
}
