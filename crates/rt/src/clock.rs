//! Virtual time: every thread has its own clock, which moves when it sleeps, times out or reads it.

use crate::state::run;

/// Start of virtual time, in nanoseconds, on every clock of the program.
pub const EPOCH: u64 = 1_700_000_000_000_000_000;

/// The running thread has waited until the deadline.
pub fn reached(_clock: i32, until: *const libc::timespec) {
    if until.is_null() {
        return;
    }
    // SAFETY: the caller passed a deadline.
    let until = unsafe { *until };
    let deadline = (until.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(until.tv_nsec as u64);
    let me = run().me();
    me.clock = me.clock.max(deadline.saturating_sub(EPOCH));
}
