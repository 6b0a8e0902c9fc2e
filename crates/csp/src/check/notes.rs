//! What explains a counterexample: which components take part in its steps, and what they wait for
//! at its end.

use super::trace::{CounterexampleNotes, TraceAction, Waiting};
use crate::core::step::Stepper;
use crate::core::system::{StateId, System};
use crate::core::{Label, ProcId};
use crate::error::CheckError;

/// The notes on a path: `states` are those before each step, and the one behind the last.
pub(crate) fn notes(
    stepper: &mut Stepper<'_>,
    system: &mut dyn System,
    states: &[StateId],
    labels: &[Label],
) -> Result<CounterexampleNotes, CheckError> {
    let components = system.components(system.initial());
    let mut movers = Vec::with_capacity(labels.len());
    for (pair, &label) in states.windows(2).zip(labels) {
        movers.push(system.movers(stepper, pair[0], (label, pair[1]))?);
    }
    Ok(CounterexampleNotes { components: names(stepper, &components), movers, ..CounterexampleNotes::default() })
}

/// What each component of `state` could do if the others joined in.
pub(crate) fn waiting(
    stepper: &mut Stepper<'_>,
    system: &dyn System,
    state: StateId,
) -> Result<Vec<Waiting>, CheckError> {
    let components = system.components(state);
    components.into_iter().map(|component| waits_for(stepper, component)).collect()
}

fn waits_for(stepper: &mut Stepper<'_>, component: ProcId) -> Result<Waiting, CheckError> {
    if stepper.has_terminated(component) {
        return Ok(Waiting::Terminated);
    }
    let mut labels: Vec<Label> = stepper.steps(component)?.iter().map(|step| step.label).collect();
    labels.dedup();
    let mut names: Vec<_> =
        labels.into_iter().filter_map(Label::event).map(|event| stepper.model.event_name(event).clone()).collect();
    names.sort_unstable();
    Ok(Waiting::For(names))
}

/// The labels by name, in the order of the names.
pub(crate) fn named(stepper: &Stepper<'_>, labels: &[Label]) -> Vec<TraceAction> {
    let mut actions: Vec<TraceAction> = labels.iter().map(|&label| TraceAction::named(stepper.model, label)).collect();
    actions.sort_unstable();
    actions
}

/// Names of the components. Equal ones are numbered.
fn names(stepper: &Stepper<'_>, components: &[ProcId]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(components.len());
    for (number, &component) in (1..).zip(components) {
        let name = stepper.call_in(component).or_else(|| stepper.beginning(component));
        let name = name.unwrap_or_else(|| format!("component {number}"));
        let copies = components[..number - 1].iter().filter(|&&other| other == component).count();
        names.push(if copies == 0 { name } else { format!("{name} #{}", copies + 1) });
    }
    names
}
