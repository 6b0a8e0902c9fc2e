//! The loop that takes jobs from the host and performs the runs. It has a stack of its own, so that
//! the stacks of the program's threads can be restored while it runs.

use core::sync::atomic::Ordering;

use raddle_vocab::RunStatus;
use raddle_vocab::policy::{Chooser, Policy, number};
use raddle_wire::{Job, MAX_JOBS, MAX_SEGMENTS, Segment, config_flag, mode, state};

use crate::arch::context;
use crate::interpose::sync::histories;
use crate::restore::checkpoint;
use crate::sched::counted_rounds;
use crate::spinloop::{knowledge, proof};
use crate::state::{Handover, ProcessState, process, run};
use crate::syscall::{self, syscall};
use crate::trace::RESERVE;

/// Status of a forked run that has to be restarted; the host never sees it.
const RESTART: u32 = u32::MAX - 1;

/// Adds a bit to the limits met.
pub fn note_limit(bit: u64) {
    crate::restore::undo::changed(crate::restore::undo::kind::OTHER);
    name_limit(bit);
}

/// As [`note_limit`], for what changes nothing that must be undone.
pub fn name_limit(bit: u64) {
    // SAFETY: the control page stays mapped.
    unsafe { (*process().control).limits.fetch_or(bit, Ordering::Relaxed) };
}

/// Stores a message for the host to show.
pub fn explain(reason: &str) {
    // SAFETY: the control page stays mapped; the host reads the message only after a state or
    // status says so.
    let message = unsafe { &mut (*process().control).message };
    let len = reason.len().min(message.len() - 1);
    message[..len].copy_from_slice(&reason.as_bytes()[..len]);
    message[len] = 0;
}

/// Tells the host that the target cannot continue, and ends the process.
pub fn refuse(reason: &str) -> ! {
    let control = process().control;
    if !control.is_null() {
        explain(reason);
        // SAFETY: the control page stays mapped.
        unsafe {
            (*control).state.store(state::FAILED, Ordering::Release);
            syscall::futex_wake(&(*control).state);
        }
    }
    syscall::exit_process(70)
}

/// Body of the controller: entered once, when the main thread is before its first transition.
pub extern "C" fn body() -> ! {
    let process = process();
    // SAFETY: the control page stays mapped for the life of the process.
    let control = unsafe { &*process.control };
    if control.config.mode == mode::SNAPSHOT
        && let Err(reason) = process.snapshot.take_root()
    {
        refuse(reason);
    }
    crate::restore::undo::note_address_space();
    control.state.store(state::READY, Ordering::Release);
    syscall::futex_wake(&control.state);
    loop {
        let done = control.completed.load(Ordering::Relaxed);
        while control.submitted.load(Ordering::Acquire) == done {
            if control.stop.load(Ordering::Relaxed) != 0 {
                syscall::exit_process(0);
            }
            syscall::futex_wait(&control.submitted, done);
        }
        run_batch(process, done);
        control.completed.store(done.wrapping_add(1), Ordering::Release);
        syscall::futex_wake(&control.completed);
    }
}

/// Runs the jobs of batch `number` in order; a job whose `max_events` is 0 ends the batch.
fn run_batch(process: &mut ProcessState, number: u32) {
    // SAFETY: the control page stays mapped.
    let control = unsafe { &*process.control };
    // SAFETY: the offsets lie within the file, whose size the host fixed by the same constants.
    let jobs = unsafe { process.file.add(raddle_wire::jobs_offset(number)).cast::<Job>() };
    let mut used = 0;
    let mut made = 0;
    let begun = syscall::now();
    control.jobs_done.store(0, Ordering::Relaxed);
    for index in 0..MAX_JOBS {
        // SAFETY: the array has MAX_JOBS entries.
        let job = unsafe { jobs.add(index) };
        // SAFETY: as above.
        if unsafe { (*job).max_events } == 0 {
            break;
        }
        process.job = job;
        // SAFETY: as above.
        unsafe { (&raw mut (*job).trace_start).write_volatile(used) };
        if control.config.mode == mode::FORK {
            run_forked(process, job, number);
        } else {
            // SAFETY: as above; nothing else accesses the job while it runs.
            run_job(process, unsafe { &mut *job }, number);
        }
        // SAFETY: as above.
        used += unsafe { (&raw const (*job).trace_bytes).read_volatile() };
        made += 1;
        control.jobs_done.store(index as u32 + 1, Ordering::Release);
    }
    // Reading the clock costs as much as a short run: the jobs of a batch share one measurement.
    let each = (syscall::now() - begun) / made.max(1);
    for index in 0..made as usize {
        // SAFETY: the array has MAX_JOBS entries, of which this many were used.
        unsafe { (*jobs.add(index)).nanoseconds = each };
    }
}

/// One run in a process of its own, repeated until it is not restarted.
///
/// The other process writes to the job, which is in shared memory. So this process accesses it by
/// volatile accesses only.
fn run_forked(process: &mut ProcessState, job: *mut Job, number: u32) {
    loop {
        fork_once(process, job, number);
        // SAFETY: the job lies in the shared file.
        if unsafe { (&raw const (*job).status).read_volatile() } != RESTART {
            return;
        }
    }
}

fn fork_once(process: &mut ProcessState, job: *mut Job, number: u32) {
    crate::observed::sites::put_traps();
    // SAFETY: the job lies in the shared file.
    unsafe {
        (&raw mut (*job).status).write_volatile(RunStatus::Damaged as u32);
        (&raw mut (*job).trace_bytes).write_volatile(0);
    }
    // SAFETY: a plain fork by system call: the child has this one kernel thread and a copy of all
    // memory.
    let child = unsafe { syscall!(libc::SYS_clone, libc::SIGCHLD, 0usize, 0usize, 0usize, 0usize) };
    if child == 0 {
        // SAFETY: asks the kernel to kill this process when its parent ends.
        unsafe { syscall!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // SAFETY: the parent only waits while this process lives.
        run_job(process, unsafe { &mut *job }, number);
        syscall::exit_process(0);
    }
    if child < 0 {
        refuse("cannot start another process: fork failed");
    }
    // SAFETY: the control page stays mapped.
    unsafe { (*process.control).worker.store(child as u32, Ordering::Relaxed) };
    let mut status = 0i32;
    // SAFETY: waits for the own child.
    while unsafe { syscall!(libc::SYS_wait4, child, &raw mut status, 0, 0usize) } == -(libc::EINTR as isize) {}
    crate::restore::undo::restore_open_files();
    // SAFETY: the job lies in the shared file.
    unsafe {
        if status != 0 && (&raw const (*job).trace_bytes).read_volatile() == 0 {
            (&raw mut (*job).code).write_volatile(status);
        }
    }
}

/// One run in this process, from the job's base if there is one.
fn run_job(process: &mut ProcessState, job: &mut Job, number: u32) {
    if !valid(job) {
        job.status = RunStatus::Damaged as u32;
        job.trace_bytes = 0;
        return;
    }
    let mut base = if process.forks() { 0 } else { checkpoint::base_of(job) };
    while !attempt(process, job, number, base) {
        process.restarts += 1;
        // The new knowledge may concern transitions before the base.
        base = 0;
        // In fork mode the parent makes the next attempt.
        if process.forks() {
            job.status = RESTART;
            return;
        }
    }
}

/// One attempt at a run; false if it must be restarted.
fn attempt(process: &mut ProcessState, job: &mut Job, number: u32, base: u32) -> bool {
    crate::observed::sites::put_traps();
    if process.used {
        checkpoint::restore(base);
        crate::restore::undo::after_run();
    }
    process.used = true;
    process.resumed = base != 0;
    load_plan(process, job, number);
    // SAFETY: `valid` checked that they lie within the file, behind the segments of the schedule.
    checkpoint::expect(job, base, unsafe { process.plan.segments.add(process.plan.len) });
    let start = open_trace(process, job, number, base);
    if process.forks() && proof::is_wanted() {
        // Only a snapshot knows which pages are written.
        let _ = process.snapshot.take_root();
    }
    let run = run();
    run.hot.controlled = true;
    histories::begin_run();
    crate::observed::begin_run();
    knowledge::begin_run();
    loop {
        // SAFETY: the fiber that runs next saved its stack pointer when it switched to the
        // controller.
        unsafe { context::switch(&raw mut process.controller_sp, run.me().sp, run.me().thread_pointer) };
        match process.handover {
            Handover::Finished { .. } if crate::observed::sites::has_news() => {
                run.hot.controlled = false;
                process.next_epoch = run.hot.epoch + 1;
                return false;
            }
            Handover::Finished { status, code } => {
                close(job, start, status, code);
                return true;
            }
            Handover::Restart => {
                process.next_epoch = run.hot.epoch + 1;
                return false;
            }
            Handover::Checkpoint => checkpoint::save_here(process, job, start.cast()),
        }
    }
}

fn valid(job: &Job) -> bool {
    let segments = (job.segments as usize).saturating_add(job.checkpoints as usize);
    (job.first_segment as usize).saturating_add(segments) <= MAX_SEGMENTS
}

fn load_plan(process: &mut ProcessState, job: &Job, number: u32) {
    let plan = &mut process.plan;
    // SAFETY: `valid` checked that the segments lie within the file.
    plan.segments = unsafe {
        process.file.add(raddle_wire::segments_offset(number)).cast::<Segment>().add(job.first_segment as usize)
    };
    plan.len = job.segments as usize;
    plan.at = 0;
    plan.choice = raddle_wire::NO_CHOICE;
    plan.flags = job.flags;
    let seed = job.policy_seed;
    plan.chooser = Chooser::new(match job.policy {
        number::RANDOM => Policy::Random { seed },
        number::PCT => Policy::Pct { seed, depth: job.policy_depth, horizon: job.policy_horizon },
        number::POS => Policy::Pos { seed },
        number::STAY => Policy::Stay,
        number::GIVE_FIRST => Policy::GiveFirst { last: seed },
        // The host sends no other number than `LEAST_RANK`.
        _ => Policy::LeastRank,
    });
    plan.examined = 0;
    plan.examine_at = knowledge::examine_at();
    plan.load();
}

/// Prepares the room for records and copies the records of the base.
fn open_trace(process: &mut ProcessState, job: &Job, number: u32, base: u32) -> *mut u64 {
    let used = job.trace_start as usize;
    // SAFETY: the arena lies within the file, `used` within the arena.
    let (start, end) = unsafe {
        let arena = process.file.add(raddle_wire::trace_offset(number, process.arena_bytes));
        (arena.add(used).cast::<u64>(), arena.add(process.arena_bytes).cast::<u64>())
    };
    let hot = &mut run().hot;
    hot.joins = process.config_flags & config_flag::JOIN_ACCESSES != 0;
    hot.events_left = i64::try_from(job.max_events).unwrap_or(i64::MAX);
    let has_room = process.arena_bytes > used + RESERVE;
    let copied = checkpoint::resume(process, base, start.cast());
    // SAFETY: what was copied fits before the reserve, which lies within the arena.
    unsafe {
        hot.next = start.byte_add(copied);
        hot.end = if has_room { end.byte_sub(RESERVE) } else { hot.next };
    }
    // Entries of the filter are valid for one epoch: no number may be used again.
    hot.epoch = process.next_epoch;
    start
}

fn close(job: &mut Job, start: *mut u64, status: RunStatus, code: i32) {
    let run = run();
    process().next_epoch = run.hot.epoch + 1;
    job.status = status as u32;
    job.steps = run.steps;
    job.exited = u32::from(run.exit.is_some());
    // If the process has exited, this is its status, however the run ended.
    job.code = match status {
        RunStatus::Rest | RunStatus::Cut | RunStatus::Idle | RunStatus::Stopped => run.exit.unwrap_or(0),
        // How many threads it needs: the run is repeated.
        RunStatus::NeedPool => code,
        _ => run.exit.unwrap_or(code),
    };
    job.diverged_at = if status == RunStatus::Diverged { run.steps } else { u32::MAX };
    job.trace_bytes = (run.hot.next as usize - start as usize) as u64;
    job.awaits = knowledge::places_found();
    proof::forget();
    counted_rounds::run_is_over();
}
