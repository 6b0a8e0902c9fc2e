//! Virtual time. Every thread has its own clock, in nanoseconds after the start of the run, which
//! advances when it sleeps, times out or reads it. A clock is never behind the clocks of events
//! that happen before the reading: an operation that releases publishes its thread's clock at the
//! object, one that acquires takes it over.
//!
//! So what a thread reads depends on its own past and on operations that happen before, never on
//! the order of independent ones. All clocks of the system that tell the time start at [`EPOCH`].
//!
//! By how much a reading advances the clock depends on the readings that happen before, and they
//! are counted as the time is: along the longest chain of them. A count of each thread's own would
//! tell states apart that differ only in which thread has made how many.

use raddle_vocab::OpKind;
use raddle_vocab::policy::mix;

use crate::sched::timeouts;
use crate::spinloop::knowledge;
use crate::state::{Fiber, run};
use crate::state_key;

/// Start of virtual time, in nanoseconds.
pub const EPOCH: u64 = 1_700_000_000 * SECOND;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a day.
pub const DAY: u64 = 86_400 * SECOND;

/// Objects whose clocks are known, at most; beyond, objects share one.
const ENTRIES: usize = 512;
/// Entries that are probed for one object.
const PROBES: usize = 16;
/// By how much a reading advances the clock.
const TICK: u64 = 1_037;
/// Readings without progress of the thread after which each advances the clock by [`GROWTH`] times
/// as much as the last. So a loop that waits for a certain time ends after a few rounds.
const PATIENCE: u32 = 3;
/// Readings in a chain after each of which a tick is [`GROWTH`] times as long, whether the thread
/// makes progress or not: a loop that wakes others until a certain time ends, too.
const LONG_PATIENCE: u32 = 256;
const GROWTH: u64 = 16;
/// How often a tick grows, at most.
const MOST_GROWTH: u32 = 16;
const LARGEST_TICK: u64 = 3_600 * SECOND;

/// What a thread knows of time.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Time {
    /// Its clock.
    clock: u64,
    /// Clock readings that happen before, in the longest chain of them.
    readings: u32,
}

impl Time {
    const START: Time = Time { clock: 0, readings: 0 };
    const END: Time = Time { clock: u64::MAX, readings: u32::MAX };

    fn of(fiber: &Fiber) -> Time {
        Time { clock: fiber.clock, readings: fiber.private.readings_before }
    }

    /// The least that is not before either.
    fn or_later(self, other: Time) -> Time {
        Time { clock: self.clock.max(other.clock), readings: self.readings.max(other.readings) }
    }

    /// The greatest that is not behind either.
    fn or_earlier(self, other: Time) -> Time {
        Time { clock: self.clock.min(other.clock), readings: self.readings.min(other.readings) }
    }

    fn digest(self) -> u64 {
        mix(self.clock ^ mix(u64::from(self.readings)))
    }
}

/// Lets the thread be at this time, if it is not further.
fn join(fiber: &mut Fiber, time: Time) {
    let joined = Time::of(fiber).or_later(time);
    (fiber.clock, fiber.private.readings_before) = (joined.clock, joined.readings);
}

/// Times that threads published at objects.
pub struct PublishedClocks {
    /// Whether any was.
    used: bool,
    /// Key of the object (0: free) and time.
    entries: [(u64, Time); ENTRIES],
    /// Of objects for which there was no room. They may see each other's times, which is late but
    /// never early.
    others: Time,
}

impl PublishedClocks {
    /// No clock was published.
    pub const fn new() -> Self {
        PublishedClocks { used: false, entries: [(0, Time::START); ENTRIES], others: Time::START }
    }

    /// The number of the entry of a key, or of the one that it would get; `None` if there is no
    /// room for it.
    fn find(&self, key: u64) -> Option<usize> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let mut places = (0..PROBES).map(|probe| (first + probe) % ENTRIES);
        places.find(|&at| self.entries[at].0 == 0 || self.entries[at].0 == key)
    }

    /// What was published at an object.
    fn at(&self, key: u64) -> Time {
        self.find(key).map_or(self.others, |at| self.entries[at].1)
    }

    fn publish(&mut self, key: u64, time: Time) {
        self.used = true;
        let Some(at) = self.find(key) else {
            self.others = self.others.or_later(time);
            return;
        };
        self.entries[at] = (key, self.entries[at].1.or_later(time));
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
    let time = Time::of(run().me());
    run().clocks.publish(key, time);
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
    let left = run().clocks.at(key);
    join(run().me(), left);
}

/// The running thread's clock shows at least this.
pub fn not_before(clock: u64) {
    let me = run().me();
    me.clock = me.clock.max(clock);
}

/// What the other thread does next happens after this.
pub fn hand_to(tid: usize) {
    let time = Time::of(run().me());
    join(&mut run().fibers[tid], time);
}

/// What the running thread does next happens after all that the other one has done.
pub fn take_from(tid: usize) {
    let time = Time::of(&run().fibers[tid]);
    join(run().me(), time);
}

/// What the thread knows of time at least when it goes on: an acquisition takes over what was
/// published, before the program can notice anything.
fn ahead_of(fiber: &Fiber) -> Time {
    let op = &fiber.pending;
    let acquired = match op.kind {
        OpKind::Lock => op.obj,
        OpKind::CondReacquire => op.arg,
        _ => return Time::of(fiber),
    };
    Time::of(fiber).or_later(run().clocks.at(acquired))
}

/// Adds what the future of the run depends on of virtual time, by names, to the key of the state.
///
/// What is not behind any thread that can still do something makes no difference: times are only
/// ever joined, and each of these threads, and each that it creates, is at least there.
pub fn digest(mut add: impl FnMut(u64, u64)) {
    const OF_THREAD: u64 = 0x7468_7265 << 24;
    const OF_OBJECT: u64 = 0x6f62_6a65 << 24;
    let run = run();
    let fibers = &run.fibers[..run.threads];
    let live = fibers.iter().filter(|fiber| fiber.is_live());
    let known_to_all = live.fold(Time::END, |least, fiber| least.or_earlier(ahead_of(fiber)));
    for fiber in fibers {
        let readings = fiber.private.readings.min(PATIENCE + MOST_GROWTH);
        let (time, readings) = match fiber.is_live() {
            true => (ahead_of(fiber), readings),
            // A thread may still join it.
            false if !fiber.joined => (Time::of(fiber).or_later(known_to_all), 0),
            false => continue,
        };
        add(mix(fiber.key ^ OF_THREAD), mix(time.digest() ^ u64::from(readings)));
    }
    if run.clocks.used {
        let mut add_published = |key: u64, time: Time| {
            let time = time.or_later(known_to_all);
            if time != known_to_all {
                add(mix(key ^ OF_OBJECT), time.digest());
            }
        };
        run.clocks.entries.iter().for_each(|&(key, time)| add_published(key, time));
        add_published(0, run.clocks.others);
    }
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
    me.private.readings_before = me.private.readings_before.saturating_add(1);
    let further = me.private.readings.saturating_sub(PATIENCE).max(me.private.readings_before / LONG_PATIENCE);
    let further = further.min(MOST_GROWTH);
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
