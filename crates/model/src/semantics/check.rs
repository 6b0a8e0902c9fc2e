//! Compares an execution with the semantics.

use super::SyncState;
use crate::execution::{Event, Execution};

/// An event that did something else than the semantics says: a bug of raddle, not of the program.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("step {index} of the run is {found:?}, which the semantics does not allow ({expected:?})")]
pub struct Disagreement {
    /// Number of the event.
    pub index: usize,
    /// The event as it was made.
    pub found: Event,
    /// One that the semantics would allow instead; `None` if the operation was not enabled.
    pub expected: Option<Event>,
}

/// Replays an execution and compares each outcome. Memory is written by the program itself, so
/// values are compared only where every change of them is an event.
///
/// # Errors
/// The first event that the semantics does not allow.
pub fn check(execution: &Execution, spurious: u32) -> Result<(), Box<Disagreement>> {
    let mut state = SyncState::new(spurious);
    state.prepare(execution);
    for (index, event) in execution.events.iter().enumerate() {
        let fits = |choice| state.outcome(event, choice).is_some_and(|expected| agrees(event, &expected));
        // Nearly all operations have one successor.
        if !fits(0) && !(1..state.successors(event)).any(fits) {
            let expected = state.outcome(event, 0);
            return Err(Box::new(Disagreement { index, found: *event, expected }));
        }
        state.apply(event);
    }
    Ok(())
}

/// Whether an event is what it should be. The number of successors of a wake-up is 0 or 1 where no
/// thread waits; that of waiters that a broadcast met says nothing new.
fn agrees(found: &Event, expected: &Event) -> bool {
    match found.op.choices() {
        Some(choices) => {
            found.op.woken() == expected.op.woken()
                && expected.op.choices().is_some_and(|expected| choices.max(1) == expected.max(1))
        }
        None if found.op.woken().is_some() => found.op.woken() == expected.op.woken(),
        None => found.op == expected.op,
    }
}
