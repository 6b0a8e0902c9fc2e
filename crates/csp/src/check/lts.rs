//! The labelled transition system of a process, and its drawing.
//!
//! States are numbered in the order of a breadth-first search whose steps are sorted by name, so
//! the same process always has the same numbers.

use std::fmt::{self, Write as _};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::Limits;
use super::trace::TraceAction;
use crate::core::step::{NoResolver, Resolver, Stepper};
use crate::core::system::{StateId, system_of};
use crate::core::{Model, ProcId};
use crate::error::{CheckError, LimitReached};

/// What a state is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LtsState {
    /// It has steps.
    Ordinary,
    /// It is what is left after successful termination.
    Terminated,
    /// It has no step and has not terminated.
    Deadlock,
    /// It has steps to states that are left out.
    Cut,
}

/// A transition between two states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelledTransition {
    /// The state before it.
    pub from: usize,
    /// What happens.
    pub action: TraceAction,
    /// The state after it.
    pub to: usize,
}

/// The labelled transition system of a process, or a part of it around the first state, which has
/// the number 0. Prints as a graph in the language of Graphviz (DOT).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionSystem {
    /// How the process is called.
    pub name: String,
    /// The states, by number.
    pub states: Vec<LtsState>,
    /// The transitions between them, sorted by state and name.
    pub transitions: Vec<LabelledTransition>,
    /// How many transitions lead to states that are left out.
    pub left_out: usize,
}

/// The labelled transition system of a process of a model that was built with the constructors of
/// [`Model`]. It has at most [`Limits::states`] states, those that are nearest to the first.
pub fn transition_system(
    model: &mut Model,
    process: ProcId,
    name: &str,
    limits: &Limits<'_>,
) -> Result<TransitionSystem, CheckError> {
    transition_system_with(model, &mut NoResolver, process, name, limits)
}

pub(crate) fn transition_system_with(
    model: &mut Model,
    resolver: &mut dyn Resolver,
    process: ProcId,
    name: &str,
    limits: &Limits<'_>,
) -> Result<TransitionSystem, CheckError> {
    let mut stepper = Stepper::new(model, resolver, limits.stop);
    let mut explored = 0;
    explore(&mut stepper, process, name, limits, &mut explored).map_err(|error| match error {
        CheckError::Limit(LimitReached::Stopped { cause, .. }) => LimitReached::Stopped { cause, explored }.into(),
        error => error,
    })
}

fn explore(
    stepper: &mut Stepper<'_>,
    process: ProcId,
    name: &str,
    limits: &Limits<'_>,
    explored: &mut usize,
) -> Result<TransitionSystem, CheckError> {
    let mut system = system_of(stepper, process)?;
    let mut reached: IndexMap<StateId, (), FxBuildHasher> = IndexMap::default();
    reached.insert(system.initial(), ());
    let mut lts = TransitionSystem { name: name.to_owned(), states: Vec::new(), transitions: Vec::new(), left_out: 0 };
    let mut steps = Vec::new();
    while let Some((&state, ())) = reached.get_index(*explored) {
        limits.admit_cells(stepper.model.cells() + system.cells(), *explored)?;
        system.successors(stepper, state, &mut steps)?;
        let mut named: Vec<(TraceAction, StateId)> =
            steps.iter().map(|&(label, target)| (TraceAction::named(stepper.model, label), target)).collect();
        named.sort_unstable();
        named.dedup();
        let mut kind = match named.is_empty() {
            true if system.is_terminated(state) => LtsState::Terminated,
            true => LtsState::Deadlock,
            false => LtsState::Ordinary,
        };
        for (action, target) in named {
            let known = reached.get_index_of(&target);
            let fits = || (reached.len() < limits.states).then(|| reached.len());
            let Some(to) = known.or_else(fits) else {
                kind = LtsState::Cut;
                lts.left_out += 1;
                continue;
            };
            reached.insert(target, ());
            lts.transitions.push(LabelledTransition { from: *explored, action, to });
        }
        lts.states.push(kind);
        *explored += 1;
    }
    Ok(lts)
}

/// Text between quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

impl fmt::Display for TransitionSystem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (states, transitions) = (self.states.len(), self.transitions.len());
        let mut title = format!("{}: {states} states, {transitions} transitions", self.name);
        if self.left_out > 0 {
            let _ = write!(title, "; cut: {} transitions to further states are left out", self.left_out);
        }
        writeln!(out, "digraph {} {{", quoted(&self.name))?;
        writeln!(out, "  graph [label={}];", quoted(&title))?;
        writeln!(out, "  node [shape=circle];")?;
        writeln!(out, "  start [shape=point, label=\"\"];")?;
        writeln!(out, "  start -> s0;")?;
        for (number, state) in self.states.iter().enumerate() {
            let marks = match state {
                LtsState::Ordinary => "",
                LtsState::Terminated => ", shape=doublecircle, tooltip=\"terminated\"",
                LtsState::Deadlock => ", style=filled, fillcolor=\"#f4b6b6\", tooltip=\"deadlock\"",
                LtsState::Cut => ", style=dashed, tooltip=\"has steps that are left out\"",
            };
            let name = if *state == LtsState::Terminated { "Ω".to_owned() } else { number.to_string() };
            writeln!(out, "  s{number} [label={}{marks}];", quoted(&name))?;
        }
        for LabelledTransition { from, action, to } in &self.transitions {
            let (label, marks) = match action {
                TraceAction::Hidden(name) => {
                    ("τ".to_owned(), format!(", style=dashed, tooltip={}", quoted(&name.to_string())))
                }
                TraceAction::Tau => ("τ".to_owned(), ", style=dashed".to_owned()),
                action => (action.to_string(), String::new()),
            };
            writeln!(out, "  s{from} -> s{to} [label={}{marks}];", quoted(&label))?;
        }
        writeln!(out, "}}")
    }
}
