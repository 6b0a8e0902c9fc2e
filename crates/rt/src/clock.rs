//! Virtual time: every thread has its own clock, in nanoseconds after the start of the run, which moves when it sleeps, times out
//! or reads it. It is never behind what happens before the reading, as far as synchronising operations say so: an operation that
//! releases leaves its thread's clock at the object, one that acquires takes it over.
//!
//! What a thread reads therefore depends on its own past and on operations that happen before, never on the order of
//! independent ones. All clocks of the system that tell the time start at [`EPOCH`].

use crate::state::run;

/// Start of virtual time, in nanoseconds.
pub const EPOCH: u64 = 1_700_000_000 * SECOND;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Objects whose clocks are known, at most; beyond, objects share an entry.
const ENTRIES: usize = 512;
/// Entries looked at for one object.
const PROBES: usize = 16;

/// Clocks that were left at objects.
pub struct Clocks {
    /// Whether any was.
    used: bool,
    /// Key of the object (0: free) and clock.
    entries: [(u64, u64); ENTRIES],
}

impl Clocks {
    /// No clock was left anywhere.
    pub const fn new() -> Self {
        Clocks { used: false, entries: [(0, 0); ENTRIES] }
    }

    /// The entry of a key, or the one that it would get.
    fn find(&mut self, key: u64) -> &mut (u64, u64) {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let at = (0..PROBES).map(|probe| (first + probe) % ENTRIES).find(|&at| matches!(self.entries[at].0, 0) || self.entries[at].0 == key);
        // A crowded table: objects that share an entry may see each other's clocks, which is late but never early.
        &mut self.entries[at.unwrap_or(first % ENTRIES)]
    }
}

/// Leaves the running thread's clock at the object, for those that acquire from it.
#[inline(always)]
pub fn publish(key: u64) {
    if run().me().clock != 0 {
        leave(key);
    }
}

#[cold]
fn leave(key: u64) {
    let clock = run().me().clock;
    let clocks = &mut run().clocks;
    clocks.used = true;
    let entry = clocks.find(key);
    *entry = (key, entry.1.max(clock));
}

/// Takes over the clock that was left at the object.
#[inline(always)]
pub fn observe(key: u64) {
    if run().clocks.used {
        take(key);
    }
}

#[cold]
fn take(key: u64) {
    let left = run().clocks.find(key).1;
    not_before(left);
}

/// The running thread's clock shows at least this.
pub fn not_before(clock: u64) {
    let me = run().me();
    me.clock = me.clock.max(clock);
}

/// The running thread has waited until the deadline.
pub fn reached(_clock: i32, until: *const libc::timespec) {
    if until.is_null() {
        return;
    }
    // SAFETY: the caller passed a deadline.
    let until = unsafe { *until };
    let deadline = (until.tv_sec as u64).saturating_mul(SECOND).saturating_add(until.tv_nsec as u64);
    not_before(deadline.saturating_sub(EPOCH));
}
