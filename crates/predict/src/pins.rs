//! The reads-from relation of a trace, and reads that must keep their writers.
//!
//! A transition is a step with the block after it. It reads a variable if it does so before it
//! writes the variable itself. The writer of the read is the last transition before it that wrote
//! the variable. A read that is *pinned* must have the same writer in a reordering.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::trace::{ObservedTrace, Tid, Var};

/// A read of a variable by a transition, named by its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionRead {
    /// The step.
    pub step: u32,
    /// The variable.
    pub var: Var,
}

/// The reads-from relation: what each transition reads and writes, and the writer of each read.
#[derive(Clone, Debug, Default)]
pub struct ReadsFrom {
    /// What each transition reads, and the step (plus 1) that wrote it; 0 for the initial value.
    reads: Vec<Vec<(Var, u32)>>,
    /// What each transition writes.
    writes: Vec<Vec<Var>>,
}

impl ReadsFrom {
    /// Computes the relation of a trace.
    #[must_use]
    pub fn of(trace: &ObservedTrace) -> Self {
        let mut flow =
            ReadsFrom { reads: vec![Vec::new(); trace.steps.len()], writes: vec![Vec::new(); trace.steps.len()] };
        let mut last: Vec<u32> = vec![0; trace.vars.len()];
        for access in &trace.accesses {
            let before = if access.own_step { Some(access.position) } else { access.position.checked_sub(1) };
            // Accesses before a thread's first step belong to no transition.
            let Some(step) = before.and_then(|position| trace.step_at(access.thread, position)) else { continue };
            let writer = last[access.var as usize];
            let (reads, writes) = (&mut flow.reads[step as usize], &mut flow.writes[step as usize]);
            if access.reads() && writer != step + 1 && !reads.iter().any(|read| read.0 == access.var) {
                reads.push((access.var, writer));
            }
            if access.writes() {
                if !writes.contains(&access.var) {
                    writes.push(access.var);
                }
                last[access.var as usize] = step + 1;
            }
        }
        flow
    }

    /// What a transition reads, with the number of the writing step plus 1.
    #[must_use]
    pub fn reads(&self, step: u32) -> &[(Var, u32)] {
        &self.reads[step as usize]
    }

    /// Threads and the positions that they must have reached so that each read of the transition
    /// has its writer.
    pub fn writers<'a>(&'a self, trace: &'a ObservedTrace, step: u32) -> impl Iterator<Item = (Tid, u32)> + 'a {
        let writers = self.reads(step).iter().filter_map(|read| read.1.checked_sub(1));
        writers.map(|writer| trace.position(writer)).map(|(thread, index)| (thread, index + 1))
    }

    /// What a transition writes.
    #[must_use]
    pub fn writes(&self, step: u32) -> &[Var] {
        &self.writes[step as usize]
    }

    /// The reads whose writer in a reordering is not their writer in the trace, in the order of the
    /// reordering.
    #[must_use]
    pub fn changed(&self, order: &[u32]) -> Vec<TransitionRead> {
        let mut last: FxHashMap<Var, u32> = FxHashMap::default();
        let mut changed = Vec::new();
        for &step in order {
            for &(var, writer) in self.reads(step) {
                if last.get(&var).copied().unwrap_or(0) != writer {
                    changed.push(TransitionRead { step, var });
                }
            }
            for &var in self.writes(step) {
                last.insert(var, step + 1);
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
            let writer = flow.reads(read.step).iter().find(|(other, _)| *other == read.var);
            if let Some(&(_, writer)) = writer {
                pins.reads.entry(read.step).or_default().push((var, writer));
            }
        }
        if !numbers.is_empty() {
            for (step, writes) in flow.writes.iter().enumerate() {
                let pinned: Vec<u32> = writes.iter().filter_map(|var| numbers.get(var)).copied().collect();
                if !pinned.is_empty() {
                    pins.writes.insert(step as u32, pinned);
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

    pub(crate) fn reads(&self, step: u32) -> &[(u32, u32)] {
        self.reads.get(&step).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn writes(&self, step: u32) -> &[u32] {
        self.writes.get(&step).map_or(&[], Vec::as_slice)
    }

    /// Pairs of a step with pinned reads and the step that writes for one of them.
    pub(crate) fn writers(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pairs = |(&step, reads): (&u32, &Vec<(u32, u32)>)| {
            let writers: Vec<(u32, u32)> =
                reads.iter().filter(|read| read.1 > 0).map(|read| (step, read.1 - 1)).collect();
            writers
        };
        self.reads.iter().flat_map(pairs)
    }
}
