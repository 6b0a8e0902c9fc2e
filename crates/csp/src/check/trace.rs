//! Counterexamples and how they are printed.

use std::fmt;

use crate::core::{Label, LabelKind, Model};
use crate::value::Value;

/// One action of a counterexample, by name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TraceAction {
    /// An event that the environment sees.
    Event(Value),
    /// An event under a hiding operator.
    Hidden(Value),
    /// An internal action without a name.
    Tau,
    /// Successful termination.
    Tick,
}

impl TraceAction {
    pub(crate) fn named(model: &Model, label: Label) -> TraceAction {
        match label.kind() {
            LabelKind::Tau => TraceAction::Tau,
            LabelKind::Tick => TraceAction::Tick,
            LabelKind::Visible(event) => TraceAction::Event(model.event_name(event).clone()),
            LabelKind::Hidden(event) => TraceAction::Hidden(model.event_name(event).clone()),
        }
    }

    /// The event's name, hidden or not.
    pub fn event(&self) -> Option<&Value> {
        match self {
            TraceAction::Event(name) | TraceAction::Hidden(name) => Some(name),
            TraceAction::Tau | TraceAction::Tick => None,
        }
    }
}

/// The violation at the end of a counterexample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The specification does not allow the last action.
    NotAllowed,
    /// No action is possible.
    Deadlock,
    /// These silent steps can be repeated for ever.
    Divergence(Vec<TraceAction>),
}

/// A behaviour of the process that violates the property. It has as few visible events as possible,
/// and among those as few silent steps as possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Every action from the start, silent ones included.
    pub steps: Vec<TraceAction>,
    /// The violation at its end.
    pub violation: Violation,
}

/// Prints a sequence of actions in the form of a CSPm trace.
#[derive(Clone, Debug)]
pub struct TraceDisplay<'a> {
    steps: &'a [TraceAction],
    hidden: bool,
}

impl Counterexample {
    /// What the environment sees: visible events and termination.
    pub fn visible(&self) -> impl Iterator<Item = &TraceAction> {
        self.steps.iter().filter(|step| matches!(step, TraceAction::Event(_) | TraceAction::Tick))
    }

    /// Every event, the hidden ones included, by name.
    pub fn events(&self) -> impl Iterator<Item = &Value> {
        self.steps.iter().filter_map(TraceAction::event)
    }

    /// For printing: what the environment sees.
    pub fn trace(&self) -> TraceDisplay<'_> {
        TraceDisplay { steps: &self.steps, hidden: false }
    }

    /// For printing: hidden events and internal steps as well.
    pub fn full_trace(&self) -> TraceDisplay<'_> {
        TraceDisplay { steps: &self.steps, hidden: true }
    }
}

impl fmt::Display for TraceDisplay<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |step: &&TraceAction| self.hidden || matches!(step, TraceAction::Event(_) | TraceAction::Tick);
        out.write_str("<")?;
        for (index, step) in self.steps.iter().filter(shown).enumerate() {
            if index > 0 {
                out.write_str(", ")?;
            }
            match step {
                TraceAction::Event(name) => write!(out, "{name}")?,
                // In brackets, to distinguish it from a visible event.
                TraceAction::Hidden(name) => write!(out, "[{name}]")?,
                TraceAction::Tau => out.write_str("τ")?,
                TraceAction::Tick => out.write_str("✓")?,
            }
        }
        out.write_str(">")
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "trace {}", self.trace())?;
        match &self.violation {
            Violation::NotAllowed => Ok(()),
            Violation::Deadlock => out.write_str(", then deadlock"),
            Violation::Divergence(cycle) => {
                write!(out, ", then for ever {}", TraceDisplay { steps: cycle, hidden: true })
            }
        }
    }
}
