//! Bounds waiting that leaves something behind in each round: a count, a line of a log.
//!
//! A thread that waits in such a loop is never where it was before. So its rounds are neither left
//! out ([`crate::spinloop`]) nor idle ([`crate::sched::idle_rounds`]), each number of them is a
//! trace of its own, and there is no greatest one. The count may be used later, so no number stands
//! for another. A search says at once that it is not complete, instead of trying numbers until its
//! time is up.
//!
//! # How such a loop is found
//! A round that has an effect was seen ([`effect_seen`]). From there on the thread runs alone: the
//! *trial*. If it comes back to the same place again and again for [`ENDLESS`] transitions, it does
//! not end the loop by itself. What happens in the trial is recorded nowhere: the run is restarted.
//! The answer is kept by the place of the code, as what is known of spin loops is, and the search
//! starts again.
//!
//! # What is bounded
//! A run is stopped in which threads make more than [`MOST`] rounds from such places, each with the
//! same operations as the one before, while another thread can step. That holds for places at which
//! another thread was seen to stand before an operation that depends on one of the round: a long
//! loop over objects that no other thread accesses is not bounded. A thread that has made
//! [`LEAVE_AFTER`] rounds is left to the others. Steps of other threads that are in no such loop
//! begin a new count.

use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, RunStatus};
use raddle_wire::limit;

use crate::interpose::process::couriers;
use crate::sched::controller::name_limit;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::idle_rounds::StopPlace;
use crate::sched::{fairness, finish};
use crate::spinloop::knowledge::{self, restart_run};
use crate::spinloop::{observation, proof};
use crate::state::{AnnouncedOp, Global, process, run};

/// Transitions that a thread makes alone before its loop is taken to have no end.
const ENDLESS: u32 = 1 << 16;
/// Trials at a place that end otherwise, at most, one in a run: the thread may have been about to
/// leave the loop.
const MOST_TRIALS: u64 = 32;
/// Transitions of a round, at most.
const LONGEST: u32 = 64;
/// Rounds after which a thread is left to the others.
const LEAVE_AFTER: u16 = 2;
/// Rounds of all threads that are explored while another one may end them.
const MOST: u32 = 3;
/// Objects of a round that are told apart, at most.
const OBJECTS: usize = 8;

/// The rounds of a thread from a place where a loop has no end.
#[derive(Clone, Copy)]
pub struct Rounds {
    site: StopPlace,
    /// Transitions that the thread had made when it was there last.
    from: u32,
    /// Transitions of all threads that were in no such loop, at that time.
    progress: u32,
    /// Hash of the operations since then, and of those of the round before.
    shape: u64,
    last_shape: u64,
    /// Whether the last round had the same operations as the one before.
    goes_round: bool,
    /// Rounds in a row that another thread could have ended.
    count: u16,
    /// Whether another thread could step in the round, and stood before an operation that depends
    /// on it.
    others: bool,
    contested: bool,
    /// Objects of these rounds, and whether they are only read.
    objects: [(u64, bool); OBJECTS],
    len: u8,
}

impl Rounds {
    /// None.
    pub const NONE: Rounds = Rounds {
        site: StopPlace::NONE,
        from: 0,
        progress: 0,
        shape: 0,
        last_shape: 0,
        goes_round: false,
        count: 0,
        others: false,
        contested: false,
        objects: [(0, false); OBJECTS],
        len: 0,
    };
}

/// The trial under way. It belongs to the process and is never restored.
struct Trial {
    active: bool,
    /// Whether one has ended otherwise in this run.
    has_failed: bool,
    thread: usize,
    site: StopPlace,
    /// Transitions made alone, and since the thread was at the place.
    made: u32,
    since: u32,
    /// Where records are thrown away.
    next: *mut u64,
}

static TRIAL: Global<Trial> = Global::new(Trial {
    active: false,
    has_failed: false,
    thread: 0,
    site: StopPlace::NONE,
    made: 0,
    since: 0,
    next: core::ptr::null_mut(),
});

fn trial() -> &'static mut Trial {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *TRIAL.get() }
}

/// Whether a thread runs alone to find out whether it ends its loop.
#[inline]
pub fn is_on_trial() -> bool {
    trial().active
}

/// The running thread has come back to an operation that it is about to stop before, and has
/// changed something in the round.
pub fn effect_seen(op: &AnnouncedOp) {
    if !trial().has_failed && !knowledge::is_endless_place(op.pc) && knowledge::trials(op.pc) < MOST_TRIALS {
        begin_trial(op);
    }
}

/// Lets the running thread go on alone.
fn begin_trial(op: &AnnouncedOp) {
    observation::end();
    let this = trial();
    (this.active, this.thread, this.site) = (true, usize::from(run().hot.tid), StopPlace::of(op));
    (this.made, this.since, this.next) = (0, 0, run().hot.next);
    process().fold_spins = false;
    run().watches_early = true;
    let plan = &mut process().plan;
    (plan.at, plan.examine_at, plan.checkpoint_at) = (plan.len, run().steps, u32::MAX);
}

/// The thread that runs alone. Ends the trial if it cannot step.
pub fn thread_on_trial() -> usize {
    let thread = trial().thread;
    if enabled(thread) == CanStep::No || couriers::is_suspended(thread) {
        conclude(false);
    }
    thread
}

/// The run is over, and is not repeated.
pub fn run_is_over() {
    trial().has_failed = false;
}

/// Ends the trial, if there is one: the thread does something else than go round.
#[inline]
pub fn give_up() {
    if is_on_trial() {
        conclude(false);
    }
}

/// Ends the trial, whose run is abandoned.
#[cold]
fn conclude(is_endless: bool) -> ! {
    let this = trial();
    (this.active, this.has_failed) = (false, !is_endless);
    process().fold_spins = true;
    match is_endless {
        true => knowledge::note_endless_place(this.site.pc),
        false => knowledge::note_trial(this.site.pc),
    }
    restart_run()
}

/// The running thread is about to stop before an operation. True if it is on trial.
#[inline(never)]
pub fn arriving(op: &AnnouncedOp) -> bool {
    if is_on_trial() {
        on_trial(op);
        return true;
    }
    let is_observed = proof::is_wanted() || run().steps >= process().plan.examine_at;
    if process().fold_spins && !is_observed && knowledge::has_idle_places() && run().me().private.party.is_none() {
        count(op);
    }
    false
}

fn on_trial(op: &AnnouncedOp) {
    let this = trial();
    (run().hot.next, run().hot.events_left) = (this.next, i64::MAX);
    if usize::from(run().hot.tid) != this.thread {
        return;
    }
    this.made += 1;
    this.since = if StopPlace::of(op) == this.site { 0 } else { this.since + 1 };
    if this.since > LONGEST || this.made > ENDLESS {
        conclude(this.since <= LONGEST);
    }
}

/// Counts rounds from places where loops have no end.
fn count(op: &AnnouncedOp) {
    let (site, steps) = (StopPlace::of(op), run().me().steps);
    let is_place = knowledge::is_endless_place(op.pc);
    let mine = &mut run().me().private.rounds;
    let is_under_way = mine.site != StopPlace::NONE && steps - mine.from <= LONGEST;
    if is_under_way && site == mine.site {
        came_back();
    } else if is_place && !is_under_way {
        *mine = Rounds { site, from: steps, progress: run().progress, ..Rounds::NONE };
    } else if !is_under_way {
        (mine.goes_round, mine.count) = (false, 0);
    }
    let mine = &mut run().me().private.rounds;
    mine.shape = mix(mine.shape ^ mix(op.obj ^ (op.kind as u64) << 56 ^ op.pc.rotate_left(20)));
    mine.note_object(op);
    mine.others |= can_others_step();
    mine.contested |= is_contested(&mine.objects[..usize::from(mine.len)]);
    if !mine.goes_round {
        let run = run();
        (run.progress, run.counted_rounds) = (run.progress.wrapping_add(1), 0);
    }
}

/// The running thread has made a round.
fn came_back() {
    let (steps, progress) = (run().me().steps, run().progress);
    let mine = &mut run().me().private.rounds;
    let pc = mine.site.pc;
    if core::mem::take(&mut mine.contested) {
        knowledge::note_contested_place(pc);
    }
    let others = core::mem::take(&mut mine.others);
    let counts = others && knowledge::is_contested_place(pc);
    mine.goes_round = mine.last_shape == mine.shape || mine.last_shape == 0;
    (mine.last_shape, mine.shape, mine.from) = (mine.shape, 0, steps);
    let is_undisturbed = core::mem::replace(&mut mine.progress, progress) == progress || mine.count == 0;
    if !mine.goes_round {
        mine.count = 0;
        return;
    }
    mine.count = if is_undisturbed { mine.count } else { 0 } + u16::from(counts);
    let is_patient = mine.count < LEAVE_AFTER && counts;
    run().counted_rounds += u32::from(counts);
    if run().counted_rounds > MOST && process().bounds_rounds {
        name_limit(limit::COUNTED_ROUNDS);
        finish(RunStatus::Idle, 0);
    }
    if !is_patient && others {
        fairness::leave(usize::from(run().hot.tid));
    }
}

impl Rounds {
    fn note_object(&mut self, op: &AnnouncedOp) {
        let reads = matches!(op.kind, OpKind::AtomicLoad | OpKind::Read);
        let len = usize::from(self.len);
        match self.objects[..len].iter_mut().find(|(object, _)| *object == op.obj) {
            Some((_, only_read)) => *only_read &= reads,
            None if len < OBJECTS && op.obj != 0 => {
                self.objects[len] = (op.obj, reads);
                self.len += 1;
            }
            None => {}
        }
    }
}

/// Whether another thread that can step stands before an operation that depends on one of a round
/// with these objects.
fn is_contested(objects: &[(u64, bool)]) -> bool {
    let me = usize::from(run().hot.tid);
    (0..run().threads).any(|tid| {
        let op = &run().fibers[tid].pending;
        let reads = matches!(op.kind, OpKind::AtomicLoad | OpKind::Read);
        let is_met = |&(object, only_read): &(u64, bool)| object == op.obj && !(reads && only_read);
        tid != me && objects.iter().any(is_met) && enabled(tid) != CanStep::No
    })
}

fn can_others_step() -> bool {
    let me = usize::from(run().hot.tid);
    (0..run().threads).any(|tid| tid != me && enabled(tid) != CanStep::No)
}
