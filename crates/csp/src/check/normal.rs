//! Normalisation: a specification is made deterministic as far as a search needs it.
//!
//! Source: normalisation of the specification for trace refinement (Roscoe, *Understanding
//! Concurrent Systems*, chapter 8.6): the subset construction, where a node is the set of states
//! that the specification can be in after one trace, closed under silent steps. Deviation: built on
//! the fly, since an implementation often visits few of the nodes; nodes with equal behaviour are
//! not merged, which costs nodes but changes no answer.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::Limits;
use crate::core::Label;
use crate::core::step::Stepper;
use crate::core::system::{StateId, System};
use crate::error::CheckError;

/// A node of the normalised specification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NormalNode(u32);

pub(crate) struct Normaliser<'l> {
    limits: &'l Limits<'l>,
    system: Box<dyn System>,
    /// Each node's states, sorted.
    nodes: IndexSet<Box<[StateId]>, FxBuildHasher>,
    /// The visible transitions of each node that was visited.
    steps: FxHashMap<NormalNode, FxHashMap<Label, Vec<StateId>>>,
    after: FxHashMap<(NormalNode, Label), NormalNode>,
    /// How many states the nodes have, counted once per node.
    members: usize,
}

impl<'l> Normaliser<'l> {
    pub(crate) fn new(system: Box<dyn System>, limits: &'l Limits<'l>) -> Normaliser<'l> {
        Normaliser {
            limits,
            system,
            nodes: IndexSet::default(),
            steps: FxHashMap::default(),
            after: FxHashMap::default(),
            members: 0,
        }
    }

    /// The node of the empty trace.
    pub(crate) fn initial(&mut self, stepper: &mut Stepper<'_>) -> Result<NormalNode, CheckError> {
        let start = self.system.initial();
        self.close(stepper, vec![start])
    }

    /// The node after one more visible label; `None` if the specification does not allow it.
    pub(crate) fn after(
        &mut self,
        stepper: &mut Stepper<'_>,
        node: NormalNode,
        label: Label,
    ) -> Result<Option<NormalNode>, CheckError> {
        if let Some(&known) = self.after.get(&(node, label)) {
            return Ok(Some(known));
        }
        if !self.steps.contains_key(&node) {
            let steps = self.visible_steps(stepper, node)?;
            self.steps.insert(node, steps);
        }
        let Some(targets) = self.steps.get(&node).and_then(|steps| steps.get(&label)) else {
            return Ok(None);
        };
        let next = self.close(stepper, targets.clone())?;
        self.after.insert((node, label), next);
        Ok(Some(next))
    }

    /// The visible labels that the specification allows at `node`.
    pub(crate) fn allowed(&mut self, stepper: &mut Stepper<'_>, node: NormalNode) -> Result<Vec<Label>, CheckError> {
        Ok(self.visible_steps(stepper, node)?.into_keys().collect())
    }

    /// How many states of the specification the nodes hold; a state in two nodes counts twice.
    pub(crate) fn states(&self) -> usize {
        self.members
    }

    /// The memory that nodes and specification hold.
    pub(crate) fn cells(&self) -> usize {
        self.members + self.system.cells()
    }

    fn visible_steps(
        &mut self,
        stepper: &mut Stepper<'_>,
        node: NormalNode,
    ) -> Result<FxHashMap<Label, Vec<StateId>>, CheckError> {
        let mut by_label: FxHashMap<Label, Vec<StateId>> = FxHashMap::default();
        let mut steps = Vec::new();
        for position in 0..self.nodes[node.0 as usize].len() {
            stepper.go_on()?;
            let state = self.nodes[node.0 as usize][position];
            self.system.successors(stepper, state, &mut steps)?;
            for &(label, target) in steps.iter().filter(|step| !step.0.is_silent()) {
                by_label.entry(label).or_default().push(target);
            }
        }
        Ok(by_label)
    }

    /// The node of these states and all that they reach silently.
    fn close(&mut self, stepper: &mut Stepper<'_>, seed: Vec<StateId>) -> Result<NormalNode, CheckError> {
        let mut members: FxHashSet<StateId> = seed.iter().copied().collect();
        let mut pending: Vec<StateId> = members.iter().copied().collect();
        let mut steps = Vec::new();
        let mut explored = 0;
        while let Some(state) = pending.pop() {
            // A closure can be infinite by itself, so the search's own count would come too late.
            self.limits.admit(self.members + members.len(), explored)?;
            self.limits.admit_cells(stepper.model.cells() + self.cells(), explored)?;
            explored += 1;
            self.system.successors(stepper, state, &mut steps)?;
            for &(_, target) in steps.iter().filter(|step| step.0.is_silent()) {
                if members.insert(target) {
                    pending.push(target);
                }
            }
        }
        // The node is identified by the sorted list, so the iteration order of the hash set has no
        // effect.
        let mut members: Vec<StateId> = members.into_iter().collect();
        members.sort_unstable();
        let count = members.len();
        let (index, new) = self.nodes.insert_full(members.into());
        if new {
            self.members += count;
        }
        Ok(NormalNode(u32::try_from(index).expect("fewer than 2^32 nodes fit the memory")))
    }
}
