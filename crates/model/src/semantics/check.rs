//! Compares an execution with the semantics.

use super::{State, SyncState};
use crate::execution::{Access, Event, Execution};
use crate::object::Op;

/// An event that did something else than the semantics says: a bug of raddle, not of the program.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("step {} of the run is {found}, {}", .index + 1, allowed(.expected.as_ref()))]
pub struct Disagreement {
    /// Number of the event.
    pub index: usize,
    /// The event as it was made.
    pub found: Event,
    /// One that the semantics would allow instead; `None` if the operation was not enabled.
    pub expected: Option<Event>,
}

fn allowed(expected: Option<&Event>) -> String {
    match expected {
        Some(event) => format!("where the semantics has {event}"),
        None => "which the semantics does not allow there".into(),
    }
}

impl SyncState {
    /// Replays an execution and compares each outcome. Memory is written by the program itself, so
    /// values are compared only where every change of them is an event.
    ///
    /// # Errors
    /// The first event that the semantics does not allow.
    pub fn check(&mut self, execution: &Execution) -> Result<(), Box<Disagreement>> {
        self.compare(execution, reused)
    }

    /// The same for a program whose accesses are not seen: it may have written over any object
    /// since the last event on it. A held lock that it writes over is noticed by
    /// [`DefectFinder::has_overwritten_lock`](crate::DefectFinder::has_overwritten_lock).
    ///
    /// # Errors
    /// As [`SyncState::check`].
    pub fn check_calls(&mut self, execution: &Execution) -> Result<(), Box<Disagreement>> {
        self.compare(execution, |execution, index| execution.events[index].op.address())
    }

    /// `rewritten`: the object of an event, if its memory may have been written since the last
    /// event on it.
    fn compare(
        &mut self,
        execution: &Execution,
        rewritten: impl Fn(&Execution, usize) -> Option<u64>,
    ) -> Result<(), Box<Disagreement>> {
        self.prepare(execution);
        for (index, event) in execution.events.iter().enumerate() {
            if !is_allowed(self, event) {
                let expected = self.outcome(event, 0);
                if let Some(object) = rewritten(execution, index) {
                    self.set_object(object, State::Untouched);
                }
                if !is_allowed(self, event) {
                    return Err(Box::new(Disagreement { index, found: *event, expected }));
                }
            }
            self.apply(event);
        }
        Ok(())
    }
}

fn is_allowed(state: &SyncState, event: &Event) -> bool {
    let fits = |choice| state.predicted(event, choice).is_some_and(|expected| agrees(&event.op, &expected));
    // Nearly all operations have one successor.
    fits(0) || (1..state.successors(event)).any(fits)
}

/// The object of an event, if its memory was freed, allocated or written plainly since the last
/// event on it: then it is another object, with a static initialiser.
fn reused(execution: &Execution, index: usize) -> Option<u64> {
    let object = execution.events[index].op.address()?;
    let is_on_it = |event: &Event| event.op.address() == Some(object);
    let last = execution.events[..index].iter().rposition(is_on_it)?;
    let changes = |access: &Access| {
        !access.kind.keeps_content() && (access.addr..access.addr.saturating_add(access.size)).contains(&object)
    };
    let later = execution.accesses.iter().skip_while(|access| access.after as usize <= last);
    later.take_while(|access| access.after as usize <= index).any(changes).then_some(object)
}

/// Whether an operation was what it should be. The number of successors of a wake-up is 0 or 1
/// where no thread waits; that of waiters that a broadcast met says nothing new.
fn agrees(found: &Op, expected: &Op) -> bool {
    match found.choices() {
        Some(choices) => {
            found.woken() == expected.woken()
                && expected.choices().is_some_and(|expected| choices.max(1) == expected.max(1))
        }
        None if found.woken().is_some() => found.woken() == expected.woken(),
        None => found == expected,
    }
}
