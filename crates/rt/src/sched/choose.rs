//! Chooses the thread whose turn it is: by the schedule, and behind it by the policy.

use raddle_vocab::policy::{Candidate, Policy};
use raddle_vocab::{HOLD, RunStatus};
use raddle_wire::job_flag;

use crate::interpose::process::{couriers, timers};
use crate::interpose::sync::histories;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{counted_rounds, diverge, fairness, finish, mark, real_time, timeouts};
use crate::spinloop::{awaits, detector};
use crate::state::{ThreadStatus, process, run};
use crate::state_key;

/// The thread whose turn it is, by the schedule and behind it by the policy. `None`: no thread can
/// step.
#[inline(always)]
pub fn next_thread() -> Option<usize> {
    if run().steps >= process().plan.examine_at {
        return Some(thread_alone());
    }
    let plan = &process().plan;
    if plan.at < plan.len {
        let (tid, steps) = (plan.current.tid as usize, plan.current.steps);
        if !can_follow(tid, steps) {
            return hold_or_fire(tid, steps);
        }
        return Some(tid);
    }
    if matches!(plan.chooser.policy(), Policy::LeastRank) && plan.flags & job_flag::STOP_AFTER_SCHEDULE == 0 {
        return least_rank();
    }
    next_by_policy()
}

/// The thread that shall run alone.
#[cold]
#[inline(never)]
fn thread_alone() -> usize {
    if counted_rounds::is_on_trial() { counted_rounds::thread_on_trial() } else { detector::examined_thread() }
}

/// The thread that the schedule names is to be held back, or it cannot go on, unless a timer goes
/// off first.
#[cold]
#[inline(never)]
fn hold_or_fire(tid: usize, steps: u32) -> Option<usize> {
    if process().plan.current.choice == HOLD {
        let run = run();
        let status = if tid < run.threads { run.fibers[tid].status } else { ThreadStatus::Unused };
        run.fibers[tid].status = match status {
            ThreadStatus::Pending => ThreadStatus::Held,
            ThreadStatus::AtSpinRead => ThreadStatus::HeldAtSpinRead,
            _ => diverge(),
        };
        process().plan.advance();
        return next_thread();
    }
    if !(timer_ends_rest() && can_follow(tid, steps)) {
        diverge();
    }
    Some(tid)
}

/// The thread that the policy chooses behind the schedule.
#[inline(never)]
fn next_by_policy() -> Option<usize> {
    let plan = &process().plan;
    if plan.flags & job_flag::STOP_AFTER_SCHEDULE != 0 {
        finish(RunStatus::Stopped, 0);
    }
    let has_keys = plan.flags & job_flag::KEYS != 0;
    match plan.chooser.policy() {
        Policy::LeastRank => least_rank(),
        Policy::GiveFirst { .. } => {
            let chosen = give_first(has_keys);
            if let Some(tid) = chosen {
                process().plan.chooser.note_choice(tid);
            }
            chosen
        }
        Policy::Stay => last_thread().filter(|&tid| !fairness::was_left(tid)).or_else(least_rank),
        _ => by_policy(),
    }
}

/// The choice of a policy that samples.
fn by_policy() -> Option<usize> {
    let run = run();
    let chooser = &mut process().plan.chooser;
    let is_uniform = matches!(chooser.policy(), Policy::Random { .. });
    // A thread that polls, with a fixed priority, would do so for ever: the most patient ones
    // first.
    let reluctance = |rank: usize| fairness::reluctance(run.by_rank[rank] as usize, is_uniform);
    let candidates = || (0..run.threads).filter_map(candidate);
    let least = candidates().map(|candidate| reluctance(candidate.rank)).min()?;
    let rank = chooser.choose(run.steps, candidates().filter(|candidate| reluctance(candidate.rank) == least))?;
    Some(run.by_rank[rank] as usize)
}

/// Whether no thread could step, and a timer went off.
fn timer_ends_rest() -> bool {
    let is_at_rest = (0..run().threads).all(|tid| enabled(tid) == CanStep::No);
    is_at_rest && timers::go_on() == timers::Next::Fired
}

/// Whether the thread can do what the present segment asks for.
#[inline(always)]
fn can_follow(tid: usize, steps: u32) -> bool {
    let run = run();
    if tid >= run.threads || couriers::is_suspended(tid) {
        return false;
    }
    match run.fiber(tid).status {
        ThreadStatus::AtAccess => true,
        // With no steps left, it has reached an operation before the access at which it should
        // stop.
        // The schedule may let it read another store than the last one.
        ThreadStatus::AtSpinRead if histories::are_kept() => steps > 0,
        ThreadStatus::Pending | ThreadStatus::AtSpinRead => steps > 0 && enabled(tid) != CanStep::No,
        _ => false,
    }
}

/// The thread that made the last step, if it can go on at once.
fn last_thread() -> Option<usize> {
    let run = run();
    let tid = run.hot.tid as usize;
    if tid >= run.threads || !run.runnable.contains(run.fibers[tid].rank as usize) {
        return None;
    }
    (enabled(tid) == CanStep::Yes).then_some(tid)
}

/// The choice of the policy that lets threads give first.
fn give_first(has_keys: bool) -> Option<usize> {
    let gives = |tid: usize| run().fibers[tid].pending.kind.gives();
    let comes_first = |tid: usize| !process().plan.chooser.comes_last(tid);
    first_where(|tid| comes_first(tid) && gives(tid)).or_else(|| {
        if has_keys && run().at_spin_reads > 0 {
            awaits::note_held();
        }
        // While an operation gives, or one thread alone can step, the search does not branch.
        if has_keys && several_can_step() {
            state_key::record();
        }
        let least = least_rank();
        match least.filter(|&tid| !comes_first(tid)) {
            Some(_) => first_where(comes_first).or_else(|| first_where(gives)).or(least),
            None => least,
        }
    })
}

/// The thread of least rank that can step and is wanted.
fn first_where(is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
    let run = run();
    let mut rest = run.runnable;
    while let Some(rank) = rest.first() {
        rest.remove(rank);
        let tid = run.by_rank[rank] as usize;
        let is_before = matches!(run.fibers[tid].status, ThreadStatus::Pending | ThreadStatus::AtSpinRead);
        let is_ready = is_before && is_wanted(tid);
        if is_ready && enabled(tid) == CanStep::Yes {
            return Some(tid);
        }
    }
    None
}

/// Whether more than one thread can step, by a time-out or spuriously included.
fn several_can_step() -> bool {
    (0..run().threads).filter(|&tid| can_follow(tid, 1)).nth(1).is_some()
}

/// The sets hold what was true when a thread was marked; it is checked again here.
fn least_rank() -> Option<usize> {
    let run = run();
    if run.at_spin_reads > 0 {
        mark_spin_reads();
    }
    while let Some(rank) = fairness::first(&run.runnable) {
        let tid = run.by_rank[rank] as usize;
        if enabled(tid) == CanStep::Yes {
            return Some(tid);
        }
        mark(tid);
    }
    least_reluctant()
}

/// Any thread may have changed what threads would read that wait busily.
#[inline(never)]
fn mark_spin_reads() {
    let run = run();
    (0..run.threads).filter(|&tid| run.fibers[tid].status == ThreadStatus::AtSpinRead).for_each(mark);
}

/// The thread to go on where no other than reluctant ones can.
#[inline(never)]
fn least_reluctant() -> Option<usize> {
    let run = run();
    // Threads that go round in loops take turns.
    let reluctant =
        (0..run.threads).filter(|&rank| run.reluctant.contains(rank)).map(|rank| run.by_rank[rank] as usize);
    let reluctant = reluctant.filter(|&tid| enabled(tid) != CanStep::No);
    if real_time::is_real() {
        let next = reluctant.min_by_key(|&tid| run.fibers[tid].clock)?;
        return if real_time::wait_for(next) { Some(next) } else { least_rank() };
    }
    let order = |&tid: &usize| (timeouts::stalled_rounds(tid), fairness::idles(tid));
    reluctant.min_by_key(order)
}

fn candidate(rank: usize) -> Option<Candidate> {
    let run = run();
    let tid = run.by_rank[rank] as usize;
    let fiber = &run.fibers[tid];
    let can_step = match fiber.status {
        ThreadStatus::AtAccess | ThreadStatus::Pending | ThreadStatus::AtSpinRead => enabled(tid) != CanStep::No,
        _ => false,
    };
    can_step.then_some(Candidate { rank, key: fiber.key, steps: fiber.steps, conflicts: fiber.conflicts })
}
