//! Which pairs of transitions can come in the other order.

use raddle_model::object::{RwlockAction, ThreadOp};
use raddle_model::{Event, Footprint, Op, Operation as _, depend};
use raddle_vocab::Outcome;

use super::trace::TraceEvent;

/// Whether an attempt came back without what it wanted.
pub(super) fn gave_up(op: &Op) -> bool {
    matches!(op.outcome(), Outcome::Failed | Outcome::TimedOut)
}

/// The mutex that an attempt came back without.
fn attempted(op: &Op) -> Option<u64> {
    match op {
        Op::Mutex(mutex) if op.is_lock_attempt() && gave_up(op) => Some(mutex.mutex),
        _ => None,
    }
}

/// Whether both could be possible in one state: `early` was made, `late` came (or would come)
/// later. A release of what the thread does not hold (`stray`) lets no thread in.
fn may_be_coenabled(early: &Op, stray: bool, late: &Op) -> bool {
    let same = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    let wants = late.awaited_mutex();
    if same(early.released_mutex(), wants) && !stray || same(attempted(early), wants) {
        return false;
    }
    match (early, late) {
        (Op::Thread(early), Op::Thread(late)) => !is_life(early) || !is_life(late),
        (Op::Rwlock(early), Op::Rwlock(late)) => {
            let opens = matches!(early.action, RwlockAction::Unlock { .. }) && !stray && late.can_block();
            !opens || early.rwlock != late.rwlock
        }
        _ => true,
    }
}

/// Whether the operation makes or ends a thread.
fn is_life(op: &ThreadOp) -> bool {
    !matches!(op, ThreadOp::Detach { .. } | ThreadOp::Poll { .. })
}

/// Whether two transitions of different threads depend on each other and could come in either
/// order.
pub(super) fn reversible(early: &TraceEvent, late: (&Event, &Footprint)) -> bool {
    depend::conflict(&early.worst, late.1) && may_be_coenabled(&early.event.op, early.stray, &late.0.op)
}
