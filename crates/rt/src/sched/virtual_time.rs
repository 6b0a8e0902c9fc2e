//! Virtual time. Every thread has its own clock, in nanoseconds after the start of the run, which
//! advances when it sleeps, times out or reads it. A clock is never behind the clocks of events
//! that happen before the reading: an operation that releases publishes its thread's clock at the
//! object, one that acquires takes it over.
//!
//! So what a thread reads depends on its own past and on operations that happen before, never on
//! the order of independent ones. All clocks of the system that tell the time start at [`EPOCH`].

use crate::sched::timeouts;
use crate::spinloop::knowledge;
use crate::state::run;
use crate::state_key;

/// Start of virtual time, in nanoseconds.
pub const EPOCH: u64 = 1_700_000_000 * SECOND;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a day.
pub const DAY: u64 = 86_400 * SECOND;

/// Objects whose clocks are known, at most; beyond, objects share an entry.
const ENTRIES: usize = 512;
/// Entries that are probed for one object.
const PROBES: usize = 16;
/// By how much a reading advances the clock.
const TICK: u64 = 1_037;
/// Readings without progress of the thread after which each advances the clock by [`GROWTH`] times
/// as much as the last. So a loop that waits for a certain time ends after a few rounds.
const PATIENCE: u32 = 3;
/// Readings after each of which a tick is [`GROWTH`] times as long, whether the thread makes
/// progress or not: a loop that wakes others until a certain time ends, too.
const LONG_PATIENCE: u32 = 256;
const GROWTH: u64 = 16;
const LARGEST_TICK: u64 = 3_600 * SECOND;

/// Clocks that threads published at objects.
pub struct PublishedClocks {
    /// Whether any was.
    used: bool,
    /// Key of the object (0: free) and clock.
    entries: [(u64, u64); ENTRIES],
}

impl PublishedClocks {
    /// No clock was published.
    pub const fn new() -> Self {
        PublishedClocks { used: false, entries: [(0, 0); ENTRIES] }
    }

    /// The entry of a key, or the one that it would get.
    fn find(&mut self, key: u64) -> &mut (u64, u64) {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let mut places = (0..PROBES).map(|probe| (first + probe) % ENTRIES);
        let at = places.find(|&at| self.entries[at].0 == 0 || self.entries[at].0 == key);
        // A full table: objects that share an entry may see each other's clocks, which is late but
        // never early.
        &mut self.entries[at.unwrap_or(first % ENTRIES)]
    }
}

/// Publishes the running thread's clock at the object, for threads that acquire from it.
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

/// Takes over the clock that was published at the object.
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

/// What the other thread does next happens after this.
pub fn hand_to(tid: usize) {
    let clock = run().me().clock;
    let other = &mut run().fibers[tid];
    other.clock = other.clock.max(clock);
}

/// What the program does next may depend on the time.
pub fn observed() {
    if !core::mem::replace(&mut run().observes_time, true) {
        knowledge::note_clock_reading();
    }
}

/// The running thread reads its clock, which advances.
pub fn read() -> u64 {
    timeouts::note_yield();
    observed();
    let me = run().me();
    me.private.readings = me.private.readings.saturating_add(1);
    me.private.all_readings = me.private.all_readings.saturating_add(1);
    let further = me.private.readings.saturating_sub(PATIENCE).max(me.private.all_readings / LONG_PATIENCE).min(16);
    let tick = TICK.saturating_mul(GROWTH.saturating_pow(further)).min(LARGEST_TICK);
    me.clock = me.clock.saturating_add(tick);
    let now = me.clock;
    crate::spinloop::detector::note_clock(now);
    now
}

/// The running thread has slept for this long.
pub fn slept(nanoseconds: u64) {
    timeouts::note_yield();
    let me = run().me();
    me.clock = me.clock.saturating_add(nanoseconds);
}

/// A span of time in nanoseconds; `None` if the parts are out of range.
pub fn span(time: &libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok().filter(|&rest| rest < SECOND)?;
    let span = seconds.saturating_mul(SECOND).saturating_add(rest);
    state_key::holds(span);
    Some(span)
}

/// The moment of the running thread's clock for a point in time of any clock of the system; `None`
/// if it is no valid point in time. Moments before the start of the run are its start.
pub fn deadline(until: *const libc::timespec) -> Option<u64> {
    // SAFETY: the caller passes a pointer that is null or valid.
    let until = unsafe { until.as_ref() }?;
    if !(0..SECOND as i64).contains(&until.tv_nsec) {
        return None;
    }
    let seconds = u64::try_from(until.tv_sec).unwrap_or(0);
    let point = seconds.saturating_mul(SECOND).saturating_add(until.tv_nsec as u64);
    state_key::holds(point);
    Some(point.saturating_sub(EPOCH))
}

/// Whether a word that a loop keeps on its stack may have changed from one value to the other only
/// because time has passed: both look like points in time (in any unit from seconds to
/// nanoseconds), or like the rest of a second.
pub fn explains(earlier: u64, later: u64) -> bool {
    let is_point = |word: u64| {
        [1, 1_000, 1_000_000, SECOND].into_iter().any(|unit| {
            let start = EPOCH / SECOND * unit;
            start <= word && word < start.saturating_add(10_000 * 86_400 * unit)
        })
    };
    // Small numbers are taken for counters.
    let is_rest = |word: u64| (10_000..SECOND).contains(&word);
    is_point(earlier) && is_point(later) || is_rest(earlier) && is_rest(later)
}
