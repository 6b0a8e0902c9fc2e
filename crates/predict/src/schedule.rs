//! Converts a reordering to a schedule for a target, and compares the run with the reordering.

use raddle_model::{Choice, Event, Execution, SyncState};
use raddle_vocab::{OpKind, Outcome};

use crate::search::ReorderedEvent as Taken;

/// The choices that make the events of `execution` in another order. Threads are numbered in the order
/// in which the new schedule creates them.
#[must_use]
pub fn choices(execution: &Execution, order: &[Taken]) -> Vec<Choice> {
    let mut world = SyncState::new(0);
    world.prepare(execution);
    let mut numbers: Vec<u16> = vec![0; execution.threads.len()];
    let mut next = 1;
    let mut choices = Vec::with_capacity(order.len());
    for taken in order {
        let step = &execution.events[taken.step as usize];
        let choice = choice(&world, step, taken);
        world.apply(&world.outcome_of(step, choice));
        choices.push(Choice { thread: numbers[usize::from(step.thread)], choice });
        if step.kind == OpKind::Create
            && step.outcome == Outcome::Done
            && let Some(number) = usize::try_from(step.arg).ok().and_then(|child| numbers.get_mut(child))
        {
            *number = next;
            next += 1;
        }
    }
    choices
}

/// The number that a thread of `execution` has when its steps are made in another order.
#[must_use]
pub fn number_in(execution: &Execution, order: &[Taken], thread: u16) -> Option<u16> {
    if thread == 0 {
        return Some(0);
    }
    let created = order.iter().map(|taken| &execution.events[taken.step as usize]);
    let mut created = created.filter(|step| step.kind == OpKind::Create && step.outcome == Outcome::Done);
    created.position(|step| step.arg == u64::from(thread)).map(|number| number as u16 + 1)
}

/// Which successor of its operation the step shall be.
fn choice(world: &SyncState, step: &Event, taken: &Taken) -> u16 {
    match step.kind {
        OpKind::Signal | OpKind::FutexWake => {
            let Some(woken) = taken.woken.filter(|&thread| thread < 63) else { return 0 };
            let wakes = |choice: &u16| world.outcome_of(step, *choice).value & (1 << woken) != 0;
            (0..world.successors(step)).find(wakes).unwrap_or(0)
        }
        OpKind::CondReacquire | OpKind::FutexResume => {
            let same = |choice: &u16| world.outcome_of(step, *choice).outcome == step.outcome;
            (0..world.successors(step)).find(same).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Where a run diverged from the reordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the first step of the reordering that was not made; its length if all were made.
    pub at: usize,
    /// What the run did instead, if it did anything.
    pub found: Option<Event>,
}

/// Compares a run with the reordering that it was meant to follow. The values of atomic operations may
/// differ as long as the thread takes the same path.
#[must_use]
pub fn followed(observed: &Execution, order: &[Taken], run: &Execution) -> Option<Divergence> {
    for (at, taken) in order.iter().enumerate() {
        let expected = &observed.events[taken.step as usize];
        let Some(found) = run.events.get(at) else { return Some(Divergence { at, found: None }) };
        let path = |execution: &Execution, step: &Event| {
            execution.threads.get(usize::from(step.thread)).map(|thread| thread.path.clone())
        };
        let same_thread = path(observed, expected) == path(run, found);
        let same_object = expected.kind == OpKind::Create || expected.kind == OpKind::Join || expected.obj == found.obj;
        let same_outcome = expected.kind.is_atomic_access() || outcome(expected.outcome) == outcome(found.outcome);
        if !same_thread || expected.kind != found.kind || !same_object || !same_outcome {
            return Some(Divergence { at, found: Some(*found) });
        }
    }
    None
}

/// Which thread arrives last at a barrier does not matter.
fn outcome(outcome: Outcome) -> Outcome {
    if outcome == Outcome::Last { Outcome::Done } else { outcome }
}
