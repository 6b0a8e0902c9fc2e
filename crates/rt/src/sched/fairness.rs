//! Fairness: a thread that goes on for long while others could is left after a while. Otherwise one
//! that only wakes others, polls or times out would go on for ever.
//!
//! Whether a thread is left depends on the transitions made so far, whatever chose them: a run that
//! repeats the beginning of another goes on as that one did. A schedule is followed in any case.

use raddle_vocab::ThreadSet;
use raddle_vocab::policy::Policy;

use crate::sched::enabled::{CanStep, enabled};
use crate::sched::timeouts;
use crate::state::{ThreadStatus, process, run};

/// Transitions in a row after which a thread is left, if another one can step.
const LONG: u32 = 1 << 12;
/// The same for policies that sample, where one thread can have a fixed priority.
const LONG_IN_SAMPLE: u32 = 1 << 9;
/// Rounds of waiting without progress after which a thread counts as polling in a sample.
const POLLS: u16 = 4;

/// The thread makes a transition.
#[inline]
pub fn granted(tid: usize) {
    let run = run();
    if usize::from(run.streak.0) == tid {
        run.streak.1 += 1;
        if run.streak.1.is_multiple_of(LONG_IN_SAMPLE) {
            leave_if_long(tid);
        }
    } else {
        run.streak = (tid as u16, 0);
    }
}

#[cold]
fn leave_if_long(tid: usize) {
    let exhausts =
        matches!(process().plan.chooser.policy(), Policy::LeastRank | Policy::Stay | Policy::GiveFirst { .. });
    let long = if exhausts { LONG } else { LONG_IN_SAMPLE };
    let can_step = |other: usize| other != tid && enabled(other) != CanStep::No;
    let run = run();
    if run.streak.1 >= long && (0..run.threads).any(can_step) {
        leave(tid);
    }
}

/// The thread lets those go first that were left less often.
pub fn leave(tid: usize) {
    let run = run();
    let left = &mut run.fibers[tid].private.left;
    *left = left.saturating_add(1);
    run.any_left = true;
    run.streak.1 = 0;
}

/// Whether the thread was left more often than one that may be able to step.
pub fn was_left(tid: usize) -> bool {
    let run = run();
    run.any_left && first(&run.runnable).is_some_and(|rank| run.by_rank[rank] as usize != tid)
}

/// The least rank of the set, of those threads that were left least often.
#[inline]
pub fn first(set: &ThreadSet) -> Option<usize> {
    if run().any_left { least_often_left(set) } else { set.first() }
}

#[cold]
fn least_often_left(set: &ThreadSet) -> Option<usize> {
    let run = run();
    let ranks = (0..run.threads).filter(|&rank| set.contains(rank));
    ranks.min_by_key(|&rank| run.fibers[run.by_rank[rank] as usize].private.left)
}

/// Whether the thread has stopped between two transitions to let others run.
pub fn idles(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.status == ThreadStatus::AtAccess && run().reluctant.contains(fiber.rank as usize)
}

/// How far a thread is to be put off in a sample: those that neither wait without progress nor were
/// left go first, then those that have done so least often. If every step is `uniform`, only
/// threads that have just let others run are put off: while no transition is made, the same thread
/// would be drawn again and again.
pub fn reluctance(tid: usize, uniform: bool) -> u32 {
    let idles = u32::from(idles(tid));
    if uniform {
        return idles;
    }
    let theirs = &run().fibers[tid].private;
    let polls = if theirs.stalled >= POLLS { u32::from(theirs.stalled) } else { 0 };
    let waits = u32::from(theirs.left) + u32::from(theirs.rests) + polls + u32::from(theirs.yielded);
    waits + idles + timeouts::turns_given(tid)
}
