//! Trace refinement.
//!
//! Source: the refinement check of FDR (Roscoe, *Model-checking CSP*, 1994): the product of the
//! implementation and the normalised specification is searched for an event that the specification
//! does not allow. Complete within the budget; a counterexample is always a behaviour of the
//! implementation.

use super::normal::{NormalNode, Normaliser};
use super::notes;
use super::search::{Inspection, ShortestPathSearch};
use super::trace::{Counterexample, TraceAction, Violation};
use super::{CheckResult, Limits};
use crate::core::step::Stepper;
use crate::core::system::{StateId, System, system_of};
use crate::core::{Label, ProcId};
use crate::error::CheckError;

pub(crate) fn refines(
    stepper: &mut Stepper<'_>,
    specification: ProcId,
    implementation: ProcId,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    let specification = system_of(stepper, specification)?;
    let implementation = system_of(stepper, implementation)?;
    refines_system(stepper, specification, implementation, limits)
}

/// The check over any two transition systems.
pub(crate) fn refines_system(
    stepper: &mut Stepper<'_>,
    specification: Box<dyn System>,
    mut implementation: Box<dyn System>,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    let mut specification = Normaliser::new(specification, limits);
    let start = (implementation.initial(), specification.initial(stepper)?);
    let mut search: ShortestPathSearch<'_, (StateId, NormalNode)> = ShortestPathSearch::new(limits);
    let mut moves: Vec<(Label, StateId)> = Vec::new();
    let mut refused = None;
    let fault = search.run(start, |search, (state, node), steps| {
        implementation.successors(stepper, state, &mut moves)?;
        steps.clear();
        for &(label, target) in &moves {
            let next = match label.is_silent() {
                true => node,
                false => match specification.after(stepper, node, label)? {
                    Some(next) => next,
                    None => {
                        refused = Some(target);
                        return Ok(Inspection::BadStep(label));
                    }
                },
            };
            steps.push((label, (target, next)));
        }
        search.other_states = specification.states();
        search.admit_cells(stepper.model.cells() + implementation.cells() + specification.cells())?;
        Ok(Inspection::Continue)
    })?;
    let mut counterexample = None;
    if let Some((index, label)) = fault {
        let labels: Vec<Label> = search.path(index).into_iter().chain(label).collect();
        let path = search.states_on_path(index);
        let states: Vec<StateId> = path.iter().map(|(state, _)| *state).chain(refused).collect();
        let steps = labels.iter().map(|&label| TraceAction::named(stepper.model, label)).collect();
        let mut notes = notes::notes(stepper, &mut *implementation, &states, &labels)?;
        if let Some(&(_, node)) = path.last() {
            let allowed = specification.allowed(stepper, node)?;
            notes.allowed = notes::named(stepper, &allowed);
        }
        counterexample = Some(Counterexample { steps, violation: Violation::NotAllowed, notes });
    }
    Ok(CheckResult { counterexample, states: search.states() + search.other_states, transitions: search.transitions })
}
