//! The checks: trace refinement, freedom from deadlock, freedom from divergence.
//!
//! [`search`] is the exploration that all of them share. [`normal`] makes a specification
//! deterministic. [`refine`] and [`stuck`] define what a violation is.

#[cfg(test)]
pub(crate) mod brute;
mod lts;
mod normal;
mod notes;
#[cfg(test)]
mod random_tests;
mod refine;
mod search;
mod stuck;
mod trace;

use crate::core::step::{NoResolver, Resolver, Stepper};
use crate::core::{Model, ProcId};
use crate::error::{CheckError, LimitReached, StopTest, stop_if};

pub(crate) use lts::transition_system_with;
pub use lts::{LabelledTransition, LtsState, TransitionSystem, transition_system};
pub use trace::{AnnotatedDisplay, Counterexample, CounterexampleNotes, TraceAction, TraceDisplay, Violation, Waiting};

/// The budget of a check.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// States of the search, those of the normalised specification included.
    pub states: usize,
    /// Words of memory for terms, component vectors and values; bounds states that grow.
    pub cells: usize,
    /// The check stops as soon as it gives a cause.
    pub stop: Option<StopTest<'a>>,
}

impl Default for Limits<'_> {
    /// Five million states, about a gigabyte.
    fn default() -> Self {
        Limits { states: 5_000_000, cells: 100_000_000, stop: None }
    }
}

impl Limits<'_> {
    /// Whether a check with this many states may go on to the next one.
    fn admit(&self, states: usize, explored: usize) -> Result<(), CheckError> {
        if states > self.states {
            return Err(LimitReached::States { budget: self.states, explored }.into());
        }
        Ok(stop_if(self.stop, explored)?)
    }

    /// Whether a check that holds this much memory may go on.
    fn admit_cells(&self, cells: usize, explored: usize) -> Result<(), CheckError> {
        match cells > self.cells {
            true => Err(LimitReached::Cells { budget: self.cells, explored }.into()),
            false => Ok(()),
        }
    }
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Limits")
            .field("states", &self.states)
            .field("cells", &self.cells)
            .field("stop", &self.stop.is_some())
            .finish()
    }
}

/// What to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessProperty {
    /// Every trace of the process is a trace of `specification`: `specification [T= process`.
    Refines {
        /// What is allowed.
        specification: ProcId,
    },
    /// The process never stops without having terminated.
    DeadlockFree,
    /// The process never runs for ever without a visible event.
    DivergenceFree,
}

/// The result of a check that was completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    /// `None` if the property holds, else a shortest behaviour that violates it.
    pub counterexample: Option<Counterexample>,
    /// How many states were visited.
    pub states: usize,
    /// How many transitions between them were explored.
    pub transitions: usize,
}

impl CheckResult {
    /// Whether the property holds.
    pub fn holds(&self) -> bool {
        self.counterexample.is_none()
    }
}

/// Checks one property of one process of a model that was built with the constructors of [`Model`].
///
/// The model grows by the terms that the check meets; a second check finds them again.
pub fn check(
    model: &mut Model,
    process: ProcId,
    property: ProcessProperty,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    check_with(model, &mut NoResolver, process, property, limits)
}

/// `specification [T= implementation`: [`check`] of [`ProcessProperty::Refines`].
pub fn refines(
    model: &mut Model,
    specification: ProcId,
    implementation: ProcId,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    check(model, implementation, ProcessProperty::Refines { specification }, limits)
}

pub(crate) fn check_with(
    model: &mut Model,
    resolver: &mut dyn Resolver,
    process: ProcId,
    property: ProcessProperty,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    let mut stepper = Stepper::new(model, resolver, limits.stop);
    match property {
        ProcessProperty::Refines { specification } => refine::refines(&mut stepper, specification, process, limits),
        ProcessProperty::DeadlockFree => stuck::deadlock_free(&mut stepper, process, limits),
        ProcessProperty::DivergenceFree => stuck::divergence_free(&mut stepper, process, limits),
    }
}
