//! What must be equal in two executions.

use std::fmt::Debug;

use raddle_model::{Access, Event, Execution, IncidentKind, PendingState, ThreadPath};
use raddle_vocab::{OpKind, Outcome, io};

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
    same_list("step", &a.events, &b.events)?;
    same_list("access", &a.accesses, &b.accesses)?;
    same_list("thread", &a.threads, &b.threads)?;
    same_list("incident", &a.incidents, &b.incidents)?;
    same_list("pending operation of thread", &a.pending, &b.pending)?;
    same("end of the run", &(a.status, a.exit, a.diverged_at), &(b.status, b.exit, b.diverged_at))
}

/// Compares two runs of equivalent schedules: each thread must have done the same, whatever its number.
///
/// # Errors
/// The first difference.
pub fn same_threads(a: &Execution, b: &Execution) -> Result<(), Difference> {
    same("end of the run", &(a.status, a.exit), &(b.status, b.exit))?;
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

fn same<T: PartialEq + Debug>(what: &str, a: &T, b: &T) -> Result<(), Difference> {
    if a == b { Ok(()) } else { Err(Difference(format!("{what}: {a:?} the first time, {b:?} the second"))) }
}

fn same_list<T: PartialEq + Debug>(what: &str, a: &[T], b: &[T]) -> Result<(), Difference> {
    for (number, (left, right)) in a.iter().zip(b).enumerate() {
        same(&format!("{what} {number}"), left, right)?;
    }
    if a.len() == b.len() {
        return Ok(());
    }
    let common = a.len().min(b.len());
    let extra = a.get(common).or(b.get(common));
    Err(Difference(format!("{what}: {} the first time, {} the second; one has {extra:?}", a.len(), b.len())))
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
enum Operand {
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
            standing: (pending.event.kind, pending.event.obj, pending.state),
        })
        .collect();
    // Accesses and incidents come between the steps of their own thread.
    let mut accesses = execution.accesses.iter().peekable();
    let mut incidents = execution.incidents.iter().peekable();
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

fn step_view(step: &Event, execution: &Execution) -> StepView {
    let path =
        |number: u64| execution.threads.get(number as usize).map(|thread| thread.path.clone()).unwrap_or_default();
    let arg = match step.kind {
        OpKind::Create | OpKind::Join | OpKind::Detach => Operand::Threads(vec![path(step.arg)]),
        // These have no second operand: what stands there says something about the search, not about the step.
        OpKind::AtomicLoad | OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::Read | OpKind::Write => {
            Operand::Number(0)
        }
        OpKind::Io => Operand::Number(io::without_descriptor(step.arg)),
        _ => Operand::Number(step.arg),
    };
    let value = match step.kind {
        OpKind::Signal | OpKind::Broadcast | OpKind::FutexWake => {
            let mut woken: Vec<_> = (0..64).filter(|bit| step.value >> bit & 1 == 1).map(path).collect();
            woken.sort();
            Operand::Threads(woken)
        }
        // Posts and arrivals commute, so that what they find differs.
        kind if kind.is_atomic_access() => Operand::Number(step.value),
        _ => Operand::Number(0),
    };
    let replaces = step.kind.is_atomic_access() && step.kind != OpKind::AtomicLoad;
    let old = if replaces { step.old } else { 0 };
    let outcome = if step.outcome == Outcome::Last { Outcome::Done } else { step.outcome };
    (step.kind, outcome, step.obj, arg, value, old, step.pc, step.accesses)
}
