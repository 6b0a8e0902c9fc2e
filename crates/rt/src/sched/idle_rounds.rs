//! Bounds loops that go round without an effect, such as a thread that wakes others until they are
//! gone. Each number of rounds is a trace of its own, and there is no greatest one.
//!
//! An *idle round* takes a thread back to an operation that it was at before, and leaves everything
//! as it was but for the time: registers, stack, memory, kernel state ([`observation`]). Rounds
//! that only read are left out of traces ([`crate::spinloop`]) and never come here. Others cannot
//! be left out, because other threads may notice them. So they are counted:
//! * A thread that has made [`LEAVE_AFTER`] of them is left to the others.
//! * In an exhaustive search, a run is stopped in which a thread makes more than [`MOST`] of them
//!   while another one can step. The search is not complete then, and says so.
//! * A thread that has changed not even the time, where no other one could step and no timer was
//!   ever set, is where it was for ever: a livelock.
//!
//! # When a thread is watched
//! Observing a round costs as much as many transitions. So a thread is watched when it has made
//! [`PATIENCE`] transitions, and then after twice as many each time. A round is observed once the
//! thread was seen to come back to where it was: a loop over many objects never does. A place where
//! an idle round was found is remembered, as loops that wait busily are, and the search starts
//! again: then threads are observed from their first visit to that place on. So whether a run is
//! stopped depends on its transitions and on what is known, never on other runs of the same search.
//! One thread is watched at a time; while a proof about a spin loop is under way, none.

use raddle_vocab::{OpKind, RunStatus};
use raddle_wire::limit;

use crate::arch::entry::registers;
use crate::interpose::sync::histories;
use crate::sched::controller::name_limit;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{self, counted_rounds, fairness, finish, timeouts};
use crate::spinloop::knowledge::{self, restart_run};
use crate::spinloop::observation::{self, Change};
use crate::spinloop::proof;
use crate::state::{AnnouncedOp, ThreadStatus, process, run};

/// Transitions that a thread makes before it is watched.
pub const PATIENCE: u32 = 256;
/// Idle rounds after which a thread is left to the others.
const LEAVE_AFTER: u16 = 2;
/// Idle rounds of a thread that are explored while others can step.
const MOST: u16 = 5;
/// Transitions of a round, at most.
const LONGEST: u32 = 64;
/// Transitions of all threads after which another thread may be watched instead.
const TURN: u32 = 512;
/// Doublings of a thread's patience at known places, at most.
const MOST_DOUBLINGS: u16 = 20;

/// Where a thread stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StopPlace {
    kind: OpKind,
    obj: u64,
    /// The place in the program.
    pub pc: u64,
    sp: u64,
}

impl StopPlace {
    /// No place.
    pub const NONE: StopPlace = StopPlace { kind: OpKind::Fence, obj: 0, pc: 0, sp: 0 };

    /// Where the running thread is, before this operation.
    pub fn of(op: &AnnouncedOp) -> StopPlace {
        StopPlace { kind: op.kind, obj: op.obj, pc: op.pc, sp: registers().sp }
    }
}

/// The round that is watched.
#[derive(Clone, Copy)]
pub struct Watch {
    thread: u16,
    site: StopPlace,
    /// Transitions that the thread had made at its beginning, and all threads together.
    from: u32,
    begun: u32,
    /// Clock readings that the thread had made at its beginning.
    readings: u32,
    /// Whether another thread could step at some point of it.
    others: bool,
    /// Whether what it changes is observed, or only whether the thread comes back.
    is_observed: bool,
    active: bool,
}

impl Watch {
    /// Of no round.
    pub const NONE: Watch = Watch {
        thread: 0,
        site: StopPlace::NONE,
        from: 0,
        begun: 0,
        readings: 0,
        others: false,
        is_observed: false,
        active: false,
    };
}

/// The running thread, which may be watched, is about to stop before an operation.
#[cold]
#[inline(never)]
pub fn arriving(op: &AnnouncedOp) {
    let is_party = run().me().private.party.is_some();
    if !process().fold_spins || proof::is_wanted() || run().steps >= process().plan.examine_at || is_party {
        return;
    }
    let site = StopPlace::of(op);
    let watch = run().watch;
    if !watch.active || run().steps - watch.begun > TURN {
        return begin(site);
    }
    if watch.thread != run().hot.tid {
        return;
    }
    if !watch.is_observed {
        return sighted(site);
    }
    run().watch.others |= can_others_step();
    if !observation::is_active() {
        // The run began at a checkpoint within the round, or something else was observed.
        if process().resumed {
            restart_run();
        }
        return begin(site);
    }
    if site == watch.site {
        run().watch.active = false;
        match observation::change(op.pc) {
            Change::More => {
                has_effect(op.pc);
                if run().watch.others {
                    counted_rounds::effect_seen(op);
                }
            }
            // A time that is dead was read for a purpose.
            Change::Nothing if run().me().private.all_readings == watch.readings => idle(site, false),
            Change::Nothing | Change::Time => idle(site, true),
        }
    } else if run().me().steps - watch.from > LONGEST {
        observation::end();
        run().watch.active = false;
        has_effect(watch.site.pc);
    }
}

/// The watched thread, which is not observed, is at `site`. If it has come back, it is observed.
fn sighted(site: StopPlace) {
    let watch = run().watch;
    if site == watch.site {
        watch_round(site, true);
    } else if run().me().steps - watch.from > LONGEST {
        run().watch.active = false;
        has_effect(watch.site.pc);
    }
}

fn can_others_step() -> bool {
    let me = run().hot.tid as usize;
    (0..run().threads).any(|tid| tid != me && enabled(tid) != CanStep::No)
}

/// Begins to watch the running thread, if it has gone on for long enough.
fn begin(site: StopPlace) {
    let me = run().me();
    let is_known = knowledge::is_idle_place(site.pc);
    let from = if is_known { me.private.watch_known_from } else { me.watch_from };
    if me.steps >= from {
        watch_round(site, is_known);
    }
}

/// Watches the running thread from here on.
fn watch_round(site: StopPlace, is_observed: bool) {
    let (thread, begun) = (run().hot.tid, run().steps);
    let (from, readings) = (run().me().steps, run().me().private.all_readings);
    let active = !is_observed || observation::begin();
    run().watch = Watch { thread, site, from, begun, readings, others: false, is_observed, active };
}

/// A round from this place had an effect: the thread is not watched for a while, longer each time.
fn has_effect(pc: u64) {
    let me = run().me();
    me.private.idle_rounds = 0;
    if knowledge::is_idle_place(pc) {
        let doublings = me.private.effects.min(MOST_DOUBLINGS);
        me.private.effects = me.private.effects.saturating_add(1);
        me.private.watch_known_from = me.steps.saturating_add(1 << doublings);
    } else {
        me.watch_from = me.steps.saturating_mul(2);
    }
}

/// The running thread has made an idle round; whether time has passed.
fn idle(site: StopPlace, has_time_passed: bool) {
    knowledge::note_idle_place(site.pc);
    let rounds = &mut run().me().private.idle_rounds;
    *rounds = rounds.saturating_add(1);
    let rounds = *rounds;
    if timeouts::rests_in_round(site.pc) {
        fairness::leave(run().hot.tid as usize);
        return begin(site);
    }
    // A round that has read an older store may be the last one of its kind.
    if !run().watch.others && !histories::are_kept() {
        let me = run().me();
        if !has_time_passed && !run().timers.is_used() {
            me.pending = AnnouncedOp::new(OpKind::Fence, 0, 0, site.pc);
            sched::leave(ThreadStatus::EndlessLoop);
        }
        // Time may end the loop.
        let transitions = 1 << rounds.min(MOST_DOUBLINGS);
        me.private.watch_known_from = me.steps.saturating_add(transitions);
        return;
    }
    if rounds > MOST && process().bounds_rounds {
        name_limit(limit::IDLE_ROUNDS);
        finish(RunStatus::Idle, 0);
    }
    if rounds >= LEAVE_AFTER {
        fairness::leave(run().hot.tid as usize);
    }
    begin(site);
}
