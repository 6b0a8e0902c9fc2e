//! Counterexamples and how they are shown.

use std::fmt;

use crate::core::{Label, LabelKind, Model};
use crate::value::Value;

/// One step of a counterexample, by name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// An event that the environment sees.
    Event(Value),
    /// An event under a hiding operator.
    Hidden(Value),
    /// An internal step without a name.
    Tau,
    /// Successful termination.
    Tick,
}

impl Step {
    pub(crate) fn named(model: &Model, label: Label) -> Step {
        match label.kind() {
            LabelKind::Tau => Step::Tau,
            LabelKind::Tick => Step::Tick,
            LabelKind::Visible(event) => Step::Event(model.event_name(event).clone()),
            LabelKind::Hidden(event) => Step::Hidden(model.event_name(event).clone()),
        }
    }

    /// The event's name, hidden or not.
    pub fn event(&self) -> Option<&Value> {
        match self {
            Step::Event(name) | Step::Hidden(name) => Some(name),
            Step::Tau | Step::Tick => None,
        }
    }
}

/// What is wrong at the end of a counterexample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The last step is one that the specification does not allow there.
    NotAllowed,
    /// Nothing can happen any more.
    Deadlock,
    /// These silent steps can be repeated for ever.
    Divergence(Vec<Step>),
}

/// A behaviour of the process that breaks the property. No other one has fewer visible events, and none with as many has
/// fewer silent steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Every step from the start, silent ones included.
    pub steps: Vec<Step>,
    /// What is wrong at its end.
    pub violation: Violation,
}

/// A sequence of steps written as CSPm writes a trace.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    steps: &'a [Step],
    hidden: bool,
}

impl Counterexample {
    /// What the environment sees: visible events and termination.
    pub fn visible(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| matches!(step, Step::Event(_) | Step::Tick))
    }

    /// Every event, the hidden ones included, by name.
    pub fn events(&self) -> impl Iterator<Item = &Value> {
        self.steps.iter().filter_map(Step::event)
    }

    /// For printing: what the environment sees.
    pub fn trace(&self) -> Trace<'_> {
        Trace { steps: &self.steps, hidden: false }
    }

    /// For printing: hidden events and internal steps as well.
    pub fn full_trace(&self) -> Trace<'_> {
        Trace { steps: &self.steps, hidden: true }
    }
}

impl fmt::Display for Trace<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |step: &&Step| self.hidden || matches!(step, Step::Event(_) | Step::Tick);
        out.write_str("<")?;
        for (index, step) in self.steps.iter().filter(shown).enumerate() {
            if index > 0 {
                out.write_str(", ")?;
            }
            match step {
                Step::Event(name) => write!(out, "{name}")?,
                // In brackets, so that a trace with hidden events cannot be taken for one of the process.
                Step::Hidden(name) => write!(out, "[{name}]")?,
                Step::Tau => out.write_str("τ")?,
                Step::Tick => out.write_str("✓")?,
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
                write!(out, ", then for ever {}", Trace { steps: cycle, hidden: true })
            }
        }
    }
}
