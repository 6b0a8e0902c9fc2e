//! Which pairs of transitions can come in the other order.

use raddle_model::{Event, Footprint, depend};
use raddle_vocab::{OpKind, Outcome};

use super::trace::Moment;

/// The mutex that a step acquires.
pub(super) fn acquired(step: &Event) -> Option<u64> {
    match (step.kind, step.outcome) {
        (OpKind::Lock | OpKind::TryLock | OpKind::TimedLock, Outcome::Done) => Some(step.obj),
        (OpKind::CondReacquire, _) => Some(step.arg),
        _ => None,
    }
}

/// The mutex that a step acquires, waiting for it if need be.
pub(super) fn awaits_mutex(step: &Event) -> Option<u64> {
    match step.kind {
        OpKind::Lock if step.outcome != Outcome::Nested => Some(step.obj),
        OpKind::CondReacquire => Some(step.arg),
        _ => None,
    }
}

pub(super) fn released(step: &Event) -> Option<u64> {
    match step.kind {
        OpKind::Unlock => Some(step.obj),
        OpKind::CondWait | OpKind::CondTimedWait => Some(step.arg),
        _ => None,
    }
}

/// Whether an attempt to take a lock came back without.
pub(super) fn gave_up(step: &Event) -> bool {
    matches!(step.outcome, Outcome::Failed | Outcome::TimedOut)
}

fn attempted(step: &Event) -> Option<u64> {
    let attempt = matches!(step.kind, OpKind::TryLock | OpKind::TimedLock);
    (attempt && gave_up(step)).then_some(step.obj)
}

/// Whether both could be possible in one state: `early` was made, `late` came (or would come) later. A release of what the
/// thread does not hold (`stray`) lets nobody in.
fn may_be_coenabled(early: &Event, stray: bool, late: &Event) -> bool {
    let same = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    let wants = awaits_mutex(late);
    if same(released(early), wants) && !stray || same(attempted(early), wants) {
        return false;
    }
    let lives =
        |step: &Event| matches!(step.kind, OpKind::ThreadStart | OpKind::ThreadEnd | OpKind::Create | OpKind::Join);
    if lives(early) && lives(late) {
        return false;
    }
    let opens = early.kind == OpKind::RwUnlock && !stray && matches!(late.kind, OpKind::ReadLock | OpKind::WriteLock);
    !opens || early.obj != late.obj
}

/// Whether the step takes an rwlock.
pub(super) fn takes_rwlock(step: &Event) -> bool {
    matches!(
        step.kind,
        OpKind::ReadLock
            | OpKind::WriteLock
            | OpKind::TryReadLock
            | OpKind::TryWriteLock
            | OpKind::TimedReadLock
            | OpKind::TimedWriteLock
    ) && step.outcome == Outcome::Done
}

/// Whether two transitions of different threads depend on each other and could come in either order.
pub(super) fn reversible(early: &Moment, late: (&Event, &Footprint)) -> bool {
    depend::conflict(&early.worst, late.1) && may_be_coenabled(&early.step, early.stray, late.0)
}
