//! Transition systems: the view of a process that the checks use.
//!
//! A reduction of the search (partial orders, symmetries) is a [`System`] that wraps another and
//! offers fewer successors.

use super::event::Label;
use super::machine::Machine;
use super::model::OMEGA;
use super::rules;
use super::step::Stepper;
use super::term::ProcId;
use crate::error::CheckError;

/// A state of one [`System`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct StateId(pub(crate) u32);

/// A transition system that is computed as it is explored.
pub(crate) trait System {
    /// The first state.
    fn initial(&self) -> StateId;

    /// Replaces `out` with the steps of `state`.
    fn successors(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        out: &mut Vec<(Label, StateId)>,
    ) -> Result<(), CheckError>;

    /// Whether `state` is the state after successful termination.
    fn is_terminated(&self, state: StateId) -> bool;

    /// The processes that make up `state`, always in the same order; none if it is not a
    /// composition of several, or has terminated.
    fn components(&self, state: StateId) -> Vec<ProcId>;

    /// Which components make this step of `state`.
    fn movers(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        step: (Label, StateId),
    ) -> Result<Vec<usize>, CheckError>;

    /// Memory that the system itself holds, in words.
    fn cells(&self) -> usize;
}

/// The terms of a process as states.
pub(crate) struct TermSystem {
    root: ProcId,
}

impl TermSystem {
    pub(crate) fn new(root: ProcId) -> TermSystem {
        TermSystem { root }
    }
}

impl System for TermSystem {
    fn initial(&self) -> StateId {
        StateId(self.root.0)
    }

    fn successors(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        out: &mut Vec<(Label, StateId)>,
    ) -> Result<(), CheckError> {
        let steps = stepper.steps(ProcId(state.0))?;
        out.clear();
        out.extend(steps.iter().map(|step| (step.label, StateId(step.target.0))));
        Ok(())
    }

    fn is_terminated(&self, state: StateId) -> bool {
        state.0 == OMEGA.0
    }

    fn components(&self, _: StateId) -> Vec<ProcId> {
        Vec::new()
    }

    fn movers(&mut self, _: &mut Stepper<'_>, _: StateId, _: (Label, StateId)) -> Result<Vec<usize>, CheckError> {
        Ok(Vec::new())
    }

    fn cells(&self) -> usize {
        0 // Terms are counted by the model.
    }
}

/// The faster of the two forms for `root`.
pub(crate) fn system_of(stepper: &mut Stepper<'_>, root: ProcId) -> Result<Box<dyn System>, CheckError> {
    match rules::flatten(stepper, root) {
        Some(flat) => Ok(Box::new(Machine::new(stepper, flat)?)),
        None => Ok(Box::new(TermSystem::new(root))),
    }
}
