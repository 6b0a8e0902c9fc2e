//! What the host is told of threads that are held before a read.
//!
//! Which values hold a thread depends on its own state alone (the invariant of
//! [`crate::spinloop`]). So the host is told that state of a thread that makes a read in a loop,
//! and each value with which a thread was held there. From then on the host knows where it would be
//! held again, and does not ask for runs in which the thread goes on.
//!
//! Only atomic operations are told: the host does not know what other reads would find.

use raddle_vocab::policy::mix;
use raddle_wire::record::flag;

use crate::spinloop::detector;
use crate::spinloop::knowledge::{is_loop, reader};
use crate::state::{ThreadStatus, run};
use crate::trace;

/// Of a thread that was not found to be held before its pending operation.
pub const NOT_HELD: Option<u64> = None;

/// The state of the thread before its pending operation, as far as it decides which values hold it.
fn state(tid: usize) -> u64 {
    let fiber = &run().fibers[tid];
    let op = &fiber.pending;
    mix(reader(fiber, fiber.values, op) ^ mix(op.obj ^ (op.kind as u64) << 48))
}

/// The running thread has performed its pending operation, which is recorded. It was a read before
/// which a thread may be held.
#[cold]
pub fn performed() {
    let (tid, me) = (run().hot.tid, run().me());
    let is_told = me.private.held.is_some() || is_loop(me.pending.pc);
    if is_told && me.pending.kind.is_atomic_access() {
        trace::awaits(0, tid, [state(usize::from(tid)), 0]);
    }
}

/// The running thread is about to read this value, which may not be that of the last store. Tells
/// the host if its loop only goes round again with it.
pub fn about_to_read(value: u64) {
    let tid = usize::from(run().hot.tid);
    if run().me().private.may_spin && detector::would_fail(tid, value) {
        run().me().private.held = Some(value);
        trace::awaits(flag::AWAIT, run().hot.tid, [state(tid), value]);
    }
}

/// Tells the host which threads are held now.
#[cold]
pub fn note_held() {
    for tid in 0..run().threads {
        if run().fibers[tid].status == ThreadStatus::AtSpinRead {
            note(tid, 0);
        }
    }
}

/// Tells the host if the thread is held, with these flags.
pub fn note(tid: usize, flags: u8) {
    let found = detector::found(tid);
    let fiber = &mut run().fibers[tid];
    let is_news = flags != 0 || fiber.private.held != found;
    if let Some(value) = found
        && is_news
        && fiber.pending.kind.is_atomic_access()
        && detector::is_failed_spin_round(tid)
    {
        fiber.private.held = found;
        trace::awaits(flag::AWAIT | flags, tid as u16, [state(tid), value]);
    }
}
