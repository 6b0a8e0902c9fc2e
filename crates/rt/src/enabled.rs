//! Whether a thread can perform the operation that it stands before.

use raddle_vocab::OpKind;

use crate::mutex;
use crate::state::{Standing, run};

/// Answer of [`enabled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled {
    /// It is blocked, or over.
    No,
    /// It can step.
    Yes,
    /// It can step, but only by timing out or waking spuriously.
    Reluctant,
}

/// Whether the thread can step now.
pub fn enabled(tid: usize) -> Enabled {
    let run = run();
    let fiber = &run.fibers[tid];
    let yes = |condition: bool| if condition { Enabled::Yes } else { Enabled::No };
    match fiber.standing {
        Standing::Pending => {}
        Standing::AtAccess => return Enabled::Yes,
        Standing::Awaiting => return yes(crate::spin::may_leave(&fiber.awaited)),
        _ => return Enabled::No,
    }
    let op = &fiber.pending;
    match op.kind {
        OpKind::Join => yes(run.fibers[op.arg as usize].standing == Standing::Ended),
        OpKind::Lock => yes(mutex::can_lock(op.obj, tid as u16)),
        OpKind::Io => {
            let (descriptor, events) = ((op.arg >> 16) as i32, op.arg as u16 as i16);
            yes(events == 0 || crate::descriptors::is_ready(descriptor, events))
        }
        _ => Enabled::Yes,
    }
}
