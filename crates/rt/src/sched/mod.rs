//! Which thread runs next. A thread announces its next operation ([`arrive`]). The call returns
//! when the operation may be performed, after any number of other threads' steps; [`commit`] then
//! records the operation.

mod choose;
pub mod controller;
pub mod counted_rounds;
pub mod debugger;
pub mod enabled;
mod fairness;
mod fork_server;
pub mod idle_rounds;
pub mod preemption;
pub mod ranks;
pub mod real_time;
pub mod startup;
pub mod timeouts;
pub mod virtual_time;

use raddle_vocab::policy::{MAX_THREADS, Policy};
use raddle_vocab::{OpKind, Outcome, RunStatus, SECTION, ThreadSet, io};
use raddle_wire::{NO_ACCESS_STOP, NO_CHOICE, config_flag, job_flag, limit};

use crate::arch::{context, entry};
use crate::interpose::annotations::section;
use crate::interpose::io::net::party;
use crate::interpose::io::{effects, readiness, stream_locks};
use crate::interpose::process::{couriers, timers};
use crate::sched::enabled::{CanStep, enabled};
use crate::spinloop::{awaits, detector, last_round, observation};
use crate::state::{AnnouncedOp, Handover, ReadySet, ThreadStatus, process, run};
use crate::state_key;
use crate::trace;

/// A thread that makes so many reads without a transition is taken to wait for another thread.
pub const LONG_STRETCH: u32 = 1 << 20;
/// The same for one that writes meanwhile, which is more likely to compute.
pub const LONG_WRITING_STRETCH: u32 = 1 << 26;

/// Waits until it is this thread's turn and the operation is enabled.
#[inline(always)]
pub fn arrive(op: AnnouncedOp) {
    // Passed in registers: the processor cannot forward several small stores to one wide load and
    // would stall.
    let AnnouncedOp { kind, order, log_size, obj, arg, pc } = op;
    park_before(kind, order, log_size, obj, arg, pc);
}

#[inline(never)]
fn park_before(kind: OpKind, order: u8, log_size: u8, obj: u64, arg: u64, pc: u64) {
    let op = AnnouncedOp { kind, order, log_size, obj, arg, pc };
    if is_out_of_the_ordinary() && first_of_all(kind, order, log_size, obj, arg, pc) {
        return;
    }
    let may_spin = detector::arriving(&op);
    let program_sp = program_sp();
    if process().plan.flags & job_flag::KEYS != 0 {
        note_arrival(kind, order, log_size, obj, arg, pc);
    }
    entry::forget_call();
    let run = run();
    let me = &mut run.fibers[run.hot.tid as usize % MAX_THREADS];
    if run.watches_early || me.steps >= me.watch_from {
        watch_arrival(kind, order, log_size, obj, arg, pc);
    }
    let (count, values) = (run.hot.count, run.hot.values);
    me.values = values;
    me.program_sp = program_sp;
    // One by one, from registers: `op` was stored in small pieces, which a wide load has to wait
    // for.
    me.pending.kind = kind;
    me.pending.order = order;
    me.pending.log_size = log_size;
    me.pending.obj = obj;
    me.pending.arg = arg;
    me.pending.pc = pc;
    me.count = count;
    me.conflicts = 0;
    me.status = if may_spin { ThreadStatus::AtSpinRead } else { ThreadStatus::Pending };
    if may_spin || me.private.may_spin {
        (me.private.may_spin, me.private.held) = (may_spin, awaits::NOT_HELD);
    }
    let rank = me.rank as usize;
    run.at_spin_reads += u32::from(may_spin);
    if crate::sched::timeouts::is_stalled(run.hot.tid as usize) {
        mark(run.hot.tid as usize);
    } else {
        // Whether it really is enabled is checked if it is chosen.
        run.stays_runnable(rank);
    }
    hand_on();
    trace::ensure_room();
}

/// Whether there is something to do before anything else when a thread arrives at an operation.
/// What few operations need is in functions of its own, which get the operation in registers:
/// `park_before` is short, and its frame is small.
#[inline(always)]
fn is_out_of_the_ordinary() -> bool {
    let run = run();
    let is_last_round = !process().fold_spins && last_round::is_active();
    is_last_round | !effects::is_settled() | run.stream_locks.is_used() | (run.couriers > 0)
}

/// Does that. True if the operation is made in the last look at threads that wait busily, where
/// nothing else is to be done.
#[inline(never)]
fn first_of_all(kind: OpKind, order: u8, log_size: u8, obj: u64, arg: u64, pc: u64) -> bool {
    let op = AnnouncedOp { kind, order, log_size, obj, arg, pc };
    if !process().fold_spins && last_round::is_active() {
        last_round::arriving(&op);
        return true;
    }
    effects::settle();
    stream_locks::leave(pc);
    if run().couriers > 0 && run().me().private.handlers > 0 {
        couriers::operates(&op);
    }
    false
}

/// Keeps what the key of the state needs of the arrival.
#[inline(never)]
fn note_arrival(kind: OpKind, order: u8, log_size: u8, obj: u64, arg: u64, pc: u64) {
    state_key::arrived(&AnnouncedOp { kind, order, log_size, obj, arg, pc });
}

/// The thread may be watched, as it has gone on for long.
#[cold]
#[inline(never)]
fn watch_arrival(kind: OpKind, order: u8, log_size: u8, obj: u64, arg: u64, pc: u64) {
    let op = AnnouncedOp { kind, order, log_size, obj, arg, pc };
    if !counted_rounds::arriving(&op) {
        idle_rounds::arriving(&op);
    }
}

/// Where the stack of the program ends that the running thread has just left for the runtime; 0 if
/// that is not known: it came by another way than a call, or is on another stack.
#[inline(always)]
fn program_sp() -> usize {
    let (low, high) = run().hot.stack;
    let sp = entry::registers().sp as usize;
    if entry::has_called() && (low..high).contains(&sp) { sp } else { 0 }
}

/// Records the operation that [`arrive`] let through, as performed.
pub fn commit(op: &AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    trace::step(op, outcome, value, old);
    if op.kind == OpKind::Io {
        begin_effects(op);
    }
    if run().me().private.may_spin {
        awaits::performed();
    }
    detector::performed(op, outcome, value, old);
    if run().timed {
        crate::sched::timeouts::performed(op, outcome);
    }
    let run = run();
    run.hot.count = 0;
    run.hot.epoch += 1;
    if matches!(process().plan.chooser.policy(), Policy::Pos { .. }) {
        note_conflicts(op);
    }
}

#[inline(never)]
fn begin_effects(op: &AnnouncedOp) {
    run().used_files |= !effects::is_all_kept(op);
    effects::begins(op);
}

/// An operation that needs nothing but its turn.
pub fn perform(op: AnnouncedOp, outcome: Outcome, value: u64, old: u64) {
    arrive(op);
    commit(&op, outcome, value, old);
}

/// Which of `successors` the schedule or policy wants for the operation just let through.
pub fn choice(successors: usize) -> usize {
    let process = process();
    let wanted = core::mem::replace(&mut process.plan.choice, NO_CHOICE);
    if wanted != NO_CHOICE {
        if wanted as usize >= successors {
            diverge();
        }
        return wanted as usize;
    }
    let successors = u16::try_from(successors).unwrap_or(u16::MAX);
    usize::from(process.plan.chooser.policy().successor(run().steps, successors))
}

/// How many stores the schedule wants behind the one that the operation just let through reads, or
/// behind the place of its own.
pub fn stores_behind() -> u16 {
    let wanted = core::mem::replace(&mut process().plan.choice, NO_CHOICE);
    if wanted == NO_CHOICE { 0 } else { wanted }
}

/// The state of the object has changed, so operations on it may be enabled now.
#[inline]
pub fn changed(obj: u64) {
    // A wait for a condition variable names its mutex in `arg`.
    mark_waiting(|op| op.obj == obj || op.arg == obj);
}

/// What a channel is ready for may have changed, so waits for input and output may be enabled now.
pub fn changed_channels() {
    mark_waiting(|op| op.kind == OpKind::Io);
}

/// No thread is inside an atomic section any more, so what waited for its end may be enabled now.
pub fn section_ended() {
    mark_waiting(|op| op.obj == SECTION || section::waits(u16::MAX, op.kind));
}

/// The thread has ended, so joins of it may be enabled now.
pub fn changed_thread(ended: u16) {
    mark_waiting(|op| op.kind == OpKind::Join && op.arg == u64::from(ended));
}

/// Examines those threads again that are blocked, or could go on only by a time-out or spuriously,
/// and whose pending operation is concerned.
#[inline]
fn mark_waiting(is_concerned: impl Fn(&AnnouncedOp) -> bool) {
    let run = run();
    for word in 0..run.threads.div_ceil(64).min(ThreadSet::WORDS) {
        let mut rest = run.blocked.words()[word] | run.reluctant.words()[word];
        while rest != 0 {
            let tid = run.by_rank[word * 64 + rest.trailing_zeros() as usize] as usize;
            rest &= rest - 1;
            let fiber = run.fiber(tid);
            if fiber.status == ThreadStatus::Pending && is_concerned(&fiber.pending) {
                mark(tid);
            }
        }
    }
}

/// Moves the thread to the set that its pending operation belongs to.
#[inline(never)]
pub fn mark(tid: usize) {
    let state = enabled(tid);
    let run = run();
    let rank = run.fibers[tid].rank as usize;
    run.move_to(
        rank,
        match state {
            CanStep::Yes if !crate::sched::timeouts::is_stalled(tid) => ReadySet::Runnable,
            CanStep::Yes | CanStep::Reluctant => ReadySet::Reluctant,
            CanStep::No => ReadySet::Blocked,
        },
    );
}

/// Runs others until it is this thread's turn.
pub fn wait_for_turn() {
    if last_round::is_active() {
        last_round::goes_on();
    }
    hand_on();
}

/// The same where no last round is under way.
#[inline(always)]
fn hand_on() {
    checkpoint_if_due();
    let next = match choose::next_thread() {
        Some(next) => next,
        None => at_rest().unwrap_or_else(beyond_the_end),
    };
    grant(next);
    if next != run().hot.tid as usize {
        switch_to(next);
    }
}

/// No thread can step: ends the run, unless a thread is to be let go on beyond its end.
#[cold]
fn beyond_the_end() -> usize {
    record_end(RunStatus::Rest);
    last_round::first().unwrap_or_else(|| hand_over(RunStatus::Rest, 0))
}

/// Gives the turn to a thread; returns when the running thread has it again.
pub fn let_go(next: usize) {
    grant(next);
    if next != run().hot.tid as usize {
        switch_to(next);
    }
}

/// No thread can step, by what is known: what threads wait for in the kernel is looked at again.
/// Then a timer that is armed goes off. If its effect is not modelled, the run is cut, because it
/// may be no deadlock.
#[cold]
#[inline(never)]
fn at_rest() -> Option<usize> {
    let waits = |tid: &usize| run().fibers[*tid].pending.kind == OpKind::Io && enabled(*tid) != CanStep::No;
    if (0..run().threads).any(|tid| waits(&tid)) {
        mark_waiting(|op| op.kind == OpKind::Io);
        return choose::next_thread();
    }
    match timers::go_on() {
        timers::Next::Fired => choose::next_thread(),
        timers::Next::NotModelled => finish(RunStatus::Cut, 0),
        timers::Next::None => {
            let is_real = process().config_flags & config_flag::REAL_SOCKETS != 0;
            let is_idle = process().config_flags & config_flag::UNTIL_IDLE != 0 && party::are_done();
            if run().exit.is_none() && !is_idle && (0..run().threads).any(waits_for_outside) {
                controller::note_limit(limit::EXTERNAL_WAIT);
                if is_real && readiness::wait_for_outside() {
                    changed_channels();
                    return choose::next_thread();
                }
            }
            None
        }
    }
}

/// Whether the thread waits for what may come from outside of the program.
fn waits_for_outside(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.status == ThreadStatus::Pending
        && fiber.pending.kind == OpKind::Io
        && io::may_come_from_outside(fiber.pending.obj)
}

/// Stops the running thread for good.
pub fn leave(status: ThreadStatus) -> ! {
    let run = run();
    let count = run.hot.count;
    let me = run.me();
    me.status = status;
    me.count = count;
    let rank = me.rank as usize;
    run.move_to(rank, ReadySet::None);
    wait_for_turn();
    unreachable!("a thread that has left was given a turn")
}

/// Parks before a data access because the present segment says so.
pub fn park_at_access() {
    let run = run();
    stop_after(u32::MAX);
    let plan = &mut process().plan;
    plan.advance();
    run.me().status = ThreadStatus::AtAccess;
    run.me().program_sp = 0;
    run.me().count = run.hot.count;
    let rank = run.me().rank as usize;
    run.move_to(rank, ReadySet::Runnable);
    crate::sched::debugger::parked();
    wait_for_turn();
}

/// Lets other threads run after many accesses without a transition: the thread may wait for one of
/// them.
pub fn yield_in_stretch() {
    let run = run();
    stop_after(run.hot.count.saturating_add(LONG_STRETCH));
    let rank = run.me().rank as usize;
    run.me().status = ThreadStatus::AtAccess;
    run.me().program_sp = 0;
    run.me().count = run.hot.count;
    run.move_to(rank, ReadySet::Reluctant);
    wait_for_turn();
}

/// Ends the run. Does not return.
pub fn finish(status: RunStatus, code: i32) -> ! {
    counted_rounds::give_up();
    if last_round::is_active() {
        last_round::goes_on();
    }
    record_end(status);
    hand_over(status, code)
}

/// Records the pending operation of every thread.
fn record_end(status: RunStatus) {
    let run = run();
    effects::settle();
    run.hot.controlled = false;
    for fiber in &mut run.fibers[..run.threads] {
        fiber.status = match fiber.status {
            ThreadStatus::Held => ThreadStatus::Pending,
            ThreadStatus::HeldAtSpinRead => ThreadStatus::AtSpinRead,
            other => other,
        };
    }
    observation::end();
    if process().plan.flags & job_flag::DETAIL != 0 {
        dump_stacks();
    }
    if process().plan.flags & job_flag::KEYS != 0 {
        state_key::check_end();
    }
    if status == RunStatus::Rest {
        crate::interpose::sync::sem::report_stuck();
        crate::interpose::io::net::party::report_at_rest();
    }
    for tid in 0..run.threads {
        let blocked = enabled(tid) == CanStep::No;
        last_round::note_record(tid, run.hot.next);
        trace::pending(tid, &run.fibers[tid], blocked);
    }
}

/// Gives the run, whose end is recorded, to the controller.
pub fn hand_over(status: RunStatus, code: i32) -> ! {
    counted_rounds::give_up();
    run().hot.controlled = false;
    crate::interpose::process::children::end_all();
    crate::sched::debugger::finished();
    process().handover = Handover::Finished { status, code };
    loop {
        to_controller();
    }
}

/// The schedule asks for something that cannot be done.
pub fn diverge() -> ! {
    finish(RunStatus::Diverged, run().steps as i32)
}

/// Lets every thread that has not ended write its stack, each on its own stack.
fn dump_stacks() {
    let me = run().hot.tid as usize;
    for tid in 0..run().threads {
        let fiber = &mut run().fibers[tid];
        if !matches!(
            fiber.status,
            ThreadStatus::Pending | ThreadStatus::AtAccess | ThreadStatus::AtSpinRead | ThreadStatus::EndlessLoop
        ) {
            continue;
        }
        // A thread that has not started has no stack to record.
        if fiber.steps == 0 && fiber.pending.kind == OpKind::ThreadStart {
            continue;
        }
        if tid == me {
            trace::stack_at_end();
        } else {
            fiber.dump = true;
            run().dump_for = me as u16;
            switch_to(tid);
        }
    }
    run().hot.tid = me as u16;
}

#[inline(always)]
fn checkpoint_if_due() {
    if run().steps == process().plan.checkpoint_at {
        make_checkpoint();
    }
}

#[cold]
#[inline(never)]
fn make_checkpoint() {
    let process = process();
    process.plan.checkpoint_at = u32::MAX;
    process.handover = Handover::Checkpoint;
    to_controller();
}

/// Leaves the running fiber for the controller; returns if the controller switches back.
pub fn to_controller() {
    let process = process();
    let me = run().me();
    // SAFETY: the controller's stack pointer was saved when it switched to a fiber.
    unsafe { context::switch(&raw mut me.sp, process.controller_sp, process.main_thread_pointer) };
    crate::interpose::process::signal_masks::apply();
}

/// Makes `next` the running thread and its operation the next transition.
#[inline(always)]
fn grant(next: usize) {
    let run = run();
    let process = process();
    let fiber = &mut run.fibers[next % MAX_THREADS];
    let resumed = fiber.status == ThreadStatus::AtAccess;
    let mut stop_at = if resumed { fiber.count.saturating_add(LONG_STRETCH) } else { LONG_STRETCH };
    if process.plan.at < process.plan.len {
        let segment = &mut process.plan.current;
        if !resumed {
            segment.steps -= 1;
            process.plan.choice = core::mem::replace(&mut segment.choice, NO_CHOICE);
        }
        if segment.steps == 0 {
            if segment.accesses == NO_ACCESS_STOP {
                process.plan.advance();
            } else {
                stop_at = segment.accesses;
            }
        }
    }
    run.at_spin_reads -= u32::from(fiber.status == ThreadStatus::AtSpinRead);
    fiber.status = ThreadStatus::Pending;
    if !resumed {
        crate::sched::timeouts::on_granted(next);
        run.fiber(next).steps += 1;
        run.steps += 1;
        fairness::granted(next);
        // SAFETY: the control page stays mapped; it is an atomic there.
        unsafe { (*process.control).heartbeat.store(u64::from(run.steps), core::sync::atomic::Ordering::Relaxed) };
    }
    stop_after(stop_at);
}

/// From access number `count` on, hooks of the running thread take the slow path; at once if plain
/// accesses can be transitions.
pub fn stop_after(count: u32) {
    let run = run();
    run.stop_after = count;
    let at_once = process().hooks_all_accesses || crate::interpose::annotations::benign::any();
    run.hot.stop_at = if at_once { 0 } else { count };
}

/// Switches to another thread; returns when another thread switches back.
fn switch_to(next: usize) {
    if observation::is_active() {
        observation::leaving();
    }
    let run = run();
    let hot = &mut run.hot;
    let from = &mut run.fibers[hot.tid as usize % MAX_THREADS];
    from.count = hot.count;
    from.values = hot.values;
    let sp = &raw mut from.sp;
    let to = &run.fibers[next % MAX_THREADS];
    hot.tid = next as u16;
    hot.values = to.values;
    hot.count = to.count;
    hot.stack = to.stack;
    hot.ignoring = to.ignoring > 0;
    hot.epoch += 1;
    // SAFETY: every fiber that is not running has its stack pointer saved in `sp`.
    unsafe { context::switch(sp, to.sp, to.thread_pointer) };
    crate::interpose::process::signal_masks::apply();
    if observation::is_active() {
        observation::going_on();
    }
    while run.me().dump {
        dump_stack();
    }
}

/// Records the stack of the running thread for the one that has switched to it.
#[cold]
#[inline(never)]
fn dump_stack() {
    run().me().dump = false;
    trace::stack_at_end();
    switch_to(run().dump_for as usize);
}

/// Counts the step against the pending operations on the same object (for partial order sampling).
#[inline(never)]
fn note_conflicts(op: &AnnouncedOp) {
    let run = run();
    for tid in 0..run.threads {
        let fiber = &mut run.fibers[tid];
        // What the process has learnt of spin loops from other runs makes no difference.
        let is_pending = matches!(fiber.status, ThreadStatus::Pending | ThreadStatus::AtSpinRead);
        if tid != run.hot.tid as usize && is_pending && fiber.pending.obj == op.obj {
            fiber.conflicts += 1;
        }
    }
}
