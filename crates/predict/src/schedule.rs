//! Converts a reordering to a schedule for a target, and compares the run with the reordering.

use raddle_model::object::Woken;
use raddle_model::{Choice, Event, Execution, Op, Operation as _, SyncState};
use raddle_vocab::Outcome;

use crate::search::ReorderedEvent;

/// The choices that make the events of `execution` in another order. Threads are numbered in the
/// order in which the new schedule creates them.
#[must_use]
pub fn choices(execution: &Execution, order: &[ReorderedEvent]) -> Vec<Choice> {
    let mut world = SyncState::new(0);
    world.prepare(execution);
    let mut numbers: Vec<u16> = vec![0; execution.threads.len()];
    let mut next = 1;
    let mut choices = Vec::with_capacity(order.len());
    for taken in order {
        let event = &execution.events[taken.event as usize];
        let choice = choice(&world, event, taken);
        world.apply(&world.outcome_of(event, choice));
        choices.push(Choice { thread: numbers[usize::from(event.thread)], choice });
        if let Some(number) = event.op.created().and_then(|child| numbers.get_mut(usize::from(child))) {
            *number = next;
            next += 1;
        }
    }
    choices
}

/// The number that a thread of `execution` has when its events are made in another order.
#[must_use]
pub fn number_in(execution: &Execution, order: &[ReorderedEvent], thread: u16) -> Option<u16> {
    if thread == 0 {
        return Some(0);
    }
    let created = order.iter().map(|taken| &execution.events[taken.event as usize]);
    let mut created = created.filter_map(|event| event.op.created());
    created.position(|child| child == thread).map(|number| number as u16 + 1)
}

/// Which successor of its operation the event shall be.
fn choice(world: &SyncState, event: &Event, taken: &ReorderedEvent) -> u16 {
    let find = |fits: &dyn Fn(Op) -> bool| {
        (0..world.successors(event)).find(|&choice| fits(world.outcome_of(event, choice).op)).unwrap_or(0)
    };
    if event.op.choices().is_some() {
        let Some(thread) = taken.woken.filter(|&thread| thread < Woken::LIMIT) else { return 0 };
        find(&|op| op.woken().is_some_and(|woken| woken.contains(thread)))
    } else if event.op.ends_wait() {
        find(&|op| op.outcome() == event.op.outcome())
    } else {
        0
    }
}

/// Where a run diverged from the reordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the first event of the reordering that was not made; its length if all were made.
    pub at: usize,
    /// What the run did instead, if it did anything.
    pub found: Option<Event>,
}

/// Compares a run with the reordering that it was meant to follow. The values of atomic operations
/// may differ as long as the thread takes the same path.
#[must_use]
pub fn followed(observed: &Execution, order: &[ReorderedEvent], run: &Execution) -> Option<Divergence> {
    for (at, taken) in order.iter().enumerate() {
        let expected = &observed.events[taken.event as usize];
        let Some(found) = run.events.get(at) else { return Some(Divergence { at, found: None }) };
        let path = |execution: &Execution, event: &Event| {
            execution.threads.get(usize::from(event.thread)).map(|thread| thread.path.clone())
        };
        let same_thread = path(observed, expected) == path(run, found);
        let (before, now) = (&expected.op, &found.op);
        let same_object = matches!(before, Op::Thread(op) if op.peer().is_some()) || before.object() == now.object();
        let same_outcome = before.kind().is_atomic_access() || outcome(before.outcome()) == outcome(now.outcome());
        if !same_thread || before.kind() != now.kind() || !same_object || !same_outcome {
            return Some(Divergence { at, found: Some(*found) });
        }
    }
    None
}

/// Which thread arrives last at a barrier does not matter.
fn outcome(outcome: Outcome) -> Outcome {
    if outcome == Outcome::Last { Outcome::Done } else { outcome }
}
