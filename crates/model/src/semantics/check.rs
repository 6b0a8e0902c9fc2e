//! Compares an execution with the semantics.

use raddle_vocab::OpKind;

use super::SyncState;
use crate::execution::{Event, Execution};

/// A step that did something else than the semantics says: a bug of raddle, not of the program.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("step {index} of the run is {found:?}, which the semantics does not allow ({expected:?})")]
pub struct Disagreement {
    /// Number of the step.
    pub index: usize,
    /// The step as it was made.
    pub found: Event,
    /// One that the semantics would allow instead; `None` if the operation was not enabled.
    pub expected: Option<Event>,
}

/// Replays an execution and compares each outcome. What memory holds is the hardware's business: values count only where
/// every change of them is a step.
///
/// # Errors
/// The first step that could not have happened so.
pub fn check(execution: &Execution, spurious: u32) -> Result<(), Disagreement> {
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    for (index, step) in execution.events.iter().enumerate() {
        let successors = world.successors(step);
        if !(0..successors).any(|choice| agrees(step, &world.outcome_of(step, choice))) {
            let expected = (successors > 0).then(|| world.outcome_of(step, 0));
            return Err(Disagreement { index, found: *step, expected });
        }
        world.apply(step);
    }
    Ok(())
}

/// Whether a step is what it should be. The number of successors is 0 or 1 where there is nobody to choose.
fn agrees(found: &Event, expected: &Event) -> bool {
    let same = found.outcome == expected.outcome && found.arg == expected.arg;
    match found.kind {
        OpKind::AtomicLoad | OpKind::BarrierLeave => same && found.value == expected.value,
        OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => same && found.old == expected.old,
        OpKind::Signal | OpKind::FutexWake => {
            same && found.value == expected.value && found.old.max(1) == expected.old.max(1)
        }
        OpKind::Broadcast => same && found.value == expected.value,
        _ => same,
    }
}
