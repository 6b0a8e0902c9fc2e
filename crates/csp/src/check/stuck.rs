//! Freedom from deadlock and from divergence.
//!
//! A deadlock is a state without steps that is not the end of a successful termination, which the
//! shared search finds by a shortest path. A divergence is a cycle of silent steps: the search
//! visits every state and keeps the silent steps, then a depth-first walk over those finds a cycle.
//! Complete within the budget; a counterexample is always a behaviour of the process.

use super::notes;
use super::search::{Inspection, ShortestPathSearch};
use super::trace::{Counterexample, TraceAction, Violation};
use super::{CheckResult, Limits};
use crate::core::step::Stepper;
use crate::core::system::{StateId, system_of};
use crate::core::{Label, Model, ProcId};
use crate::error::CheckError;

fn named(model: &Model, labels: impl IntoIterator<Item = Label>) -> Vec<TraceAction> {
    labels.into_iter().map(|label| TraceAction::named(model, label)).collect()
}

pub(crate) fn deadlock_free(
    stepper: &mut Stepper<'_>,
    process: ProcId,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    let mut system = system_of(stepper, process)?;
    let mut search: ShortestPathSearch<'_, StateId> = ShortestPathSearch::new(limits);
    let fault = search.run(system.initial(), |search, state, steps| {
        system.successors(stepper, state, steps)?;
        search.admit_cells(stepper.model.cells() + system.cells())?;
        let stuck = steps.is_empty() && !system.is_terminated(state);
        Ok(if stuck { Inspection::Bad } else { Inspection::Continue })
    })?;
    let mut counterexample = None;
    if let Some((index, _)) = fault {
        let (labels, states) = (search.path(index), search.states_on_path(index));
        let mut notes = notes::notes(stepper, &mut *system, &states, &labels)?;
        if let Some(&last) = states.last() {
            notes.waiting = notes::waiting(stepper, &*system, last)?;
        }
        let steps = named(stepper.model, labels);
        counterexample = Some(Counterexample { steps, violation: Violation::Deadlock, notes });
    }
    Ok(CheckResult { counterexample, states: search.states(), transitions: search.transitions })
}

pub(crate) fn divergence_free(
    stepper: &mut Stepper<'_>,
    process: ProcId,
    limits: &Limits<'_>,
) -> Result<CheckResult, CheckError> {
    let mut system = system_of(stepper, process)?;
    let mut search: ShortestPathSearch<'_, StateId> = ShortestPathSearch::new(limits);
    let mut silent: Vec<(StateId, Vec<(Label, StateId)>)> = Vec::new();
    search.run(system.initial(), |search, state, steps| {
        system.successors(stepper, state, steps)?;
        search.admit_cells(stepper.model.cells() + system.cells())?;
        let kept: Vec<_> = steps.iter().copied().filter(|step| step.0.is_silent()).collect();
        if !kept.is_empty() {
            silent.push((state, kept));
        }
        Ok(Inspection::Continue)
    })?;
    let mut edges: Vec<Vec<(Label, usize)>> = vec![Vec::new(); search.states()];
    let mut order = Vec::with_capacity(silent.len());
    for (state, steps) in silent {
        let known = |state: &StateId| search.index_of(state).expect("the search met every successor");
        let from = known(&state);
        order.push(from);
        edges[from] = steps.into_iter().map(|(label, target)| (label, known(&target))).collect();
    }
    // States are visited nearest first, so the path to the cycle is short, but not always the
    // shortest.
    let mut counterexample = None;
    if let Some(Cycle { entry, labels: cycle, vertices }) = find_cycle(&edges, &order, stepper)? {
        let path = search.path(entry);
        let labels: Vec<Label> = path.iter().chain(&cycle).copied().collect();
        let mut states = search.states_on_path(entry);
        let around = vertices[1..].iter().chain([&entry]);
        states.extend(around.filter_map(|&vertex| search.state(vertex)));
        let notes = notes::notes(stepper, &mut *system, &states, &labels)?;
        let violation = Violation::Divergence(named(stepper.model, cycle));
        counterexample = Some(Counterexample { steps: named(stepper.model, path), violation, notes });
    }
    Ok(CheckResult { counterexample, states: search.states(), transitions: search.transitions })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    OnPath,
    Done,
}

/// A cycle of the graph: its vertices from `entry` on, with the label of the edge behind each.
struct Cycle {
    entry: usize,
    labels: Vec<Label>,
    vertices: Vec<usize>,
}

fn find_cycle(
    edges: &[Vec<(Label, usize)>],
    order: &[usize],
    stepper: &Stepper<'_>,
) -> Result<Option<Cycle>, CheckError> {
    let mut marks = vec![Mark::New; edges.len()];
    for &start in order {
        if marks[start] != Mark::New {
            continue;
        }
        // The path so far: each vertex with the number of its edges that were followed.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        marks[start] = Mark::OnPath;
        stepper.go_on()?;
        while let Some(&mut (vertex, ref mut followed)) = path.last_mut() {
            let Some(&(_, target)) = edges[vertex].get(*followed) else {
                marks[vertex] = Mark::Done;
                path.pop();
                continue;
            };
            *followed += 1;
            match marks[target] {
                Mark::Done => {}
                Mark::New => {
                    marks[target] = Mark::OnPath;
                    path.push((target, 0));
                }
                Mark::OnPath => {
                    let first = path.iter().position(|&(on_path, _)| on_path == target).unwrap_or_default();
                    let around = &path[first..];
                    return Ok(Some(Cycle {
                        entry: target,
                        labels: around.iter().map(|&(vertex, followed)| edges[vertex][followed - 1].0).collect(),
                        vertices: around.iter().map(|&(vertex, _)| vertex).collect(),
                    }));
                }
            }
        }
    }
    Ok(None)
}
