//! Polls of libstdc++ before it sleeps. The library polls an atomic word a fixed number of times
//! and then sleeps; a header that raddle ships makes it report each failed poll. The number of
//! failed polls cannot be observed. So a poll that only repeats a failed one, and would read the
//! same value, is no transition. This loses no behaviour: a thread that goes to sleep could have
//! made all its polls where it made the first, and a thread that reads another value could have
//! come no earlier than its change.
//!
//! A round that does more than poll (a semaphore that was available and then taken by another
//! thread) repeats nothing. And a thread that still polls when the library would sleep
//! (`std::atomic<std::shared_ptr>` pauses in the same way and never sleeps) waits busily, as any
//! other loop does: every so many polls, one is a transition, so that the detector of spin loops
//! sees it.

use raddle_vocab::OpKind;

use crate::spinloop::detector;
use crate::state::{AnnouncedOp, controlled, run};

/// Times that libstdc++ only pauses before it yields.
const PAUSES: u8 = 12;
/// Times that libstdc++ yields before it sleeps, after the times that it only pauses.
const YIELDS: u8 = 4;

/// A thread's last load of an atomic word.
#[derive(Clone, Copy)]
pub struct LastPoll {
    value: u64,
    /// The poll failed, and the library will poll again.
    failed: bool,
    /// Pauses since the last poll that was a transition.
    pauses: u8,
    /// Yields since the last pause.
    yields: u8,
}

impl LastPoll {
    /// Of a thread that has not polled yet.
    pub const NONE: LastPoll = LastPoll { value: 0, failed: false, pauses: 0, yields: 0 };
}

/// Called by libstdc++ after a failed poll, before it pauses or yields. Behind the last yield it
/// does not poll again.
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_on_failed_poll(yields: bool) {
    if !controlled() {
        core::hint::spin_loop();
        return;
    }
    let me = run().me();
    let poll = &mut me.private.last_poll;
    if yields {
        poll.yields = poll.yields.saturating_add(1);
    } else {
        poll.yields = 0;
        poll.pauses = poll.pauses.saturating_add(1);
    }
    poll.failed = me.pending.kind == OpKind::AtomicLoad && poll.pauses <= PAUSES && poll.yields < YIELDS;
}

/// The running thread has loaded an atomic word.
#[inline(always)]
pub fn on_load(value: u64) {
    let poll = &mut run().me().private.last_poll;
    poll.value = value;
    poll.pauses = 0;
}

/// Whether the running thread's load repeats a failed poll and would read the same value.
#[inline(always)]
pub fn repeats_failed_poll(op: &AnnouncedOp) -> bool {
    let me = run().me();
    let poll = &mut me.private.last_poll;
    core::mem::take(&mut poll.failed)
        && (me.pending.kind, me.pending.obj, me.pending.log_size) == (op.kind, op.obj, op.log_size)
        && op.log_size <= 3
        && poll.value == detector::word(op.obj, op.log_size)
}
