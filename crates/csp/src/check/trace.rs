//! Counterexamples and how they are printed.

use std::fmt;

use crate::core::{Label, LabelKind, Model};
use crate::value::Value;

/// One action of a counterexample, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// Who did what.
    pub notes: CounterexampleNotes,
}

/// What explains a counterexample. Components are processes of the outermost parallel composition;
/// a process that is none has no components.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CounterexampleNotes {
    /// Names of the components.
    pub components: Vec<String>,
    /// Which components take part in each step, those of a divergence behind the others.
    pub movers: Vec<Vec<usize>>,
    /// After a deadlock: what each component waits for.
    pub waiting: Vec<Waiting>,
    /// What the specification allows instead of the last step.
    pub allowed: Vec<TraceAction>,
}

/// What a component can do by itself, and no other one joins in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// One of these events; none if it has stopped.
    For(Vec<Value>),
    /// Nothing more: it has terminated.
    Terminated,
}

/// Prints a counterexample with one line for each step.
#[derive(Clone, Debug)]
pub struct AnnotatedDisplay<'a>(&'a Counterexample);

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

    /// For printing: each step with the components that take part, and what is wrong at the end.
    pub fn annotated(&self) -> AnnotatedDisplay<'_> {
        AnnotatedDisplay(self)
    }
}

impl fmt::Display for TraceAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceAction::Event(name) => write!(out, "{name}"),
            // In brackets, to distinguish it from a visible event.
            TraceAction::Hidden(name) => write!(out, "[{name}]"),
            TraceAction::Tau => out.write_str("τ"),
            TraceAction::Tick => out.write_str("✓"),
        }
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
            write!(out, "{step}")?;
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

/// How many events a list names.
const MOST_NAMED: usize = 8;
/// Columns of a step's name, at most.
const WIDEST: usize = 40;

/// Some of the names, and how many there are beside them.
fn list<T: fmt::Display>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    match names.len().saturating_sub(MOST_NAMED) {
        _ if names.is_empty() => "nothing".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl AnnotatedDisplay<'_> {
    fn steps(&self, out: &mut fmt::Formatter<'_>, steps: &[TraceAction], before: usize) -> fmt::Result {
        let notes = &self.0.notes;
        let width = |step: &TraceAction| step.to_string().chars().count();
        let widest = steps.iter().map(width).max().unwrap_or_default().min(WIDEST);
        for (number, step) in (before..).zip(steps) {
            let movers = notes.movers.get(number).map(Vec::as_slice).unwrap_or_default();
            let names: Vec<&str> =
                movers.iter().filter_map(|&mover| notes.components.get(mover)).map(String::as_str).collect();
            let line = format!("  {:>3}  {:widest$}  {}", number + 1, step.to_string(), names.join(", "));
            write!(out, "\n{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl fmt::Display for AnnotatedDisplay<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counterexample = self.0;
        let notes = &counterexample.notes;
        write!(out, "{counterexample}")?;
        self.steps(out, &counterexample.steps, 0)?;
        match &counterexample.violation {
            Violation::NotAllowed => {
                write!(out, "\n       not allowed; the specification allows {}", list(&notes.allowed))
            }
            Violation::Deadlock => {
                if notes.components.is_empty() {
                    return out.write_str("\n       no step is possible");
                }
                for (component, waiting) in notes.components.iter().zip(&notes.waiting) {
                    match waiting {
                        Waiting::Terminated => write!(out, "\n       {component} has terminated")?,
                        Waiting::For(events) if events.is_empty() => write!(out, "\n       {component} has stopped")?,
                        Waiting::For(events) => write!(out, "\n       {component} waits for {}", list(events))?,
                    }
                }
                Ok(())
            }
            Violation::Divergence(cycle) => {
                out.write_str("\n       then for ever")?;
                self.steps(out, cycle, counterexample.steps.len())
            }
        }
    }
}
