//! What must be equal in two executions.

use raddle_model::object::{AtomicAction, MemoryAction};
use raddle_model::{Access, Event, Execution, Incident, IncidentKind, Op, Operation as _, PendingState, ThreadPath};
use raddle_vocab::{Misuse, OpKind, Outcome, io};

use super::words::InWords;

/// The first difference between two executions, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Difference(String);

impl Difference {
    pub(super) fn new(text: String) -> Self {
        Difference(text)
    }
}

/// Compares two runs of one schedule: everything must be equal.
///
/// # Errors
/// The first difference.
pub fn same_execution(a: &Execution, b: &Execution) -> Result<(), Difference> {
    let accesses = same_list("access", &a.accesses, &b.accesses);
    if let Some((left, right)) = a.events.iter().zip(&b.events).find(|(left, right)| left != right) {
        // The access that is more, or another, tells what the step does not.
        if (Event { accesses: 0, ..*left }) == (Event { accesses: 0, ..*right }) {
            accesses.clone()?;
        }
    }
    same_list("step", &a.events, &b.events)?;
    accesses?;
    same_list("thread", &a.threads, &b.threads)?;
    same_list("incident", &without_leaks(a), &without_leaks(b))?;
    same_list("pending operation of thread", &a.pending, &b.pending)?;
    same("end of the run", &(a.status, a.exit, a.diverged_at), &(b.status, b.exit, b.diverged_at))
}

/// What happened beside the steps. Whether a block counts as lost is left out: a stale word that
/// leads to it may be in memory or not, and runs in a process of their own do not look.
fn without_leaks(execution: &Execution) -> Vec<Incident> {
    let is_leak = |incident: &Incident| incident.kind == IncidentKind::Misuse(Misuse::Leak);
    execution.incidents.iter().filter(|incident| !is_leak(incident)).cloned().collect()
}

/// Compares two runs of equivalent schedules: each thread must have done the same, whatever its
/// number.
///
/// # Errors
/// The first difference.
pub fn same_threads(a: &Execution, b: &Execution) -> Result<(), Difference> {
    // Ends of the process do not depend on each other: which one came first is not compared.
    let least = |execution: &Execution| execution.exits().map(|(_, status)| status).min().or(execution.exit);
    same("end of the run", &(a.status, least(a)), &(b.status, least(b)))?;
    let (left, right) = (views(a), views(b));
    let paths = |views: &[View]| views.iter().map(|view| view.path.clone()).collect::<Vec<_>>();
    same_list("thread", &paths(&left), &paths(&right))?;
    for (left, right) in left.iter().zip(&right) {
        let of = |what: &str| format!("{what} of thread {}", left.path);
        same_list(&of("step"), &left.steps, &right.steps)?;
        same_list(&of("access"), &left.accesses, &right.accesses)?;
        same_list(&of("incident"), &left.incidents, &right.incidents)?;
        same(&of("last state"), &left.standing, &right.standing)?;
        same(&of("name"), &left.name, &right.name)?;
    }
    Ok(())
}

fn same<T: PartialEq + InWords>(what: &str, a: &T, b: &T) -> Result<(), Difference> {
    if a == b {
        return Ok(());
    }
    Err(Difference(format!("{what}: {} the first time, {} the second", a.words(), b.words())))
}

fn same_list<T: PartialEq + InWords>(what: &str, a: &[T], b: &[T]) -> Result<(), Difference> {
    for (number, (left, right)) in a.iter().zip(b).enumerate() {
        same(&format!("{what} {}", number + 1), left, right)?;
    }
    if a.len() == b.len() {
        return Ok(());
    }
    let common = a.len().min(b.len());
    let extra = a.get(common).or(b.get(common)).map_or_else(|| "nothing more".into(), T::words);
    Err(Difference(format!("{what}: {} the first time, {} the second; one has {extra}", a.len(), b.len())))
}

/// What one thread did, without anything that depends on the order of independent steps of others.
struct View {
    path: ThreadPath,
    name: Option<String>,
    steps: Vec<StepView>,
    accesses: Vec<AccessView>,
    incidents: Vec<IncidentView>,
    standing: (OpKind, u64, PendingState),
}

/// Kind, outcome, object, the other operand, value, old value, place, accesses before it.
type StepView = (OpKind, Outcome, u64, Operand, Operand, u64, u64, u32);
/// The thread's steps before it, then the access without its thread and global position.
type AccessView = (usize, Access);
/// The thread's steps before it, kind, object, place, accesses, text.
type IncidentView = (usize, IncidentKind, u64, u64, u32, String);

/// A number, or threads by name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Number(u64),
    Threads(Vec<ThreadPath>),
}

fn views(execution: &Execution) -> Vec<View> {
    let mut views: Vec<View> = execution
        .threads
        .iter()
        .zip(&execution.pending)
        .map(|(thread, pending)| View {
            path: thread.path.clone(),
            name: thread.name.clone(),
            steps: Vec::new(),
            accesses: Vec::new(),
            incidents: Vec::new(),
            standing: (pending.event.op.kind(), pending.event.op.object(), pending.state),
        })
        .collect();
    // Accesses and incidents come between the steps of their own thread.
    let mut accesses = execution.accesses.iter().peekable();
    let incidents = without_leaks(execution);
    let mut incidents = incidents.iter().peekable();
    for number in 0..=execution.events.len() {
        while let Some(access) = accesses.next_if(|access| access.after as usize <= number) {
            let view = &mut views[usize::from(access.thread)];
            view.accesses.push((view.steps.len(), Access { thread: 0, after: 0, ..*access }));
        }
        while let Some(incident) = incidents.next_if(|incident| incident.after as usize <= number) {
            let view = &mut views[usize::from(incident.thread)];
            let (obj, pc, count, text) = (incident.obj, incident.pc, incident.count, incident.text.clone());
            view.incidents.push((view.steps.len(), incident.kind, obj, pc, count, text));
        }
        if let Some(step) = execution.events.get(number) {
            let view = step_view(step, execution);
            views[usize::from(step.thread)].steps.push(view);
        }
    }
    views.sort_by(|a, b| a.path.cmp(&b.path));
    views
}

fn step_view(event: &Event, execution: &Execution) -> StepView {
    let path =
        |number: u16| execution.threads.get(usize::from(number)).map(|thread| thread.path.clone()).unwrap_or_default();
    let words = event.op.pack();
    let (arg, value, old) = match &event.op {
        Op::Thread(op) => match op.peer() {
            Some(peer) => (Operand::Threads(vec![path(peer)]), Operand::Number(0), 0),
            None => (Operand::Number(0), Operand::Number(words.value), 0),
        },
        Op::Atomic(op) => match op.action {
            AtomicAction::Load { value, .. } => (Operand::Number(0), Operand::Number(value), 0),
            AtomicAction::Store { value, old } | AtomicAction::Rmw { value, old } => {
                (Operand::Number(0), Operand::Number(value), old)
            }
            AtomicAction::Cas { expected, new, seen, .. } => (Operand::Number(expected), Operand::Number(new), seen),
        },
        Op::Memory(op) if matches!(op.action, MemoryAction::Read | MemoryAction::Write) => {
            (Operand::Number(0), Operand::Number(0), 0)
        }
        Op::File(_) => (Operand::Number(io::without_descriptor(words.arg)), Operand::Number(0), 0),
        // Posts and arrivals commute, so that what they find differs.
        op => match op.woken() {
            Some(woken) => {
                let mut woken: Vec<_> = woken.iter().map(path).collect();
                woken.sort();
                (Operand::Number(words.arg), Operand::Threads(woken), 0)
            }
            None => (Operand::Number(words.arg), Operand::Number(0), 0),
        },
    };
    let outcome = if words.outcome == Outcome::Last { Outcome::Done } else { words.outcome };
    (words.kind, outcome, words.obj, arg, value, old, event.pc, event.accesses)
}
