//! Loops of timed waits, such as `while (!ready) pthread_cond_timedwait(...)`. A timed wait may
//! time out whenever it would wait, so such a loop has infinitely many executions that differ only
//! in the number of rounds.
//!
//! The approximation that ends them: consider a thread that has timed out and has come back to the
//! same place in the same state, with no operation that changes anything in between, while no other
//! thread has accessed an object of the round. It would only go round once more. Its wait cannot
//! time out again until another thread has made a step on one of those objects.
//!
//! That the state is the same is proved as for all loops that wait busily: the round is run once
//! more under observation ([`crate::spinloop::proof`]). A comparison of registers and of a part of
//! the stack says only which rounds are worth it. `raddle run` repeats no run, so there it has to
//! do.
//!
//! If the two states differ in nothing but words that look like times, the loop may be one that
//! ends at a certain time. Then one more time-out is allowed, which takes a day.
//!
//! With `--until-idle` a run is over when all scripted parties are done and threads go on by time
//! alone, whether they change anything or not: each sleeps or times out a few times more. If they
//! would go on, the report says so.
//!
//! A second approximation is about loops that yield or sleep: a thread that has done so before many
//! transitions in a row without progress runs only if no other thread can.

use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome};
use raddle_wire::{config_flag, job_flag, limit};

use crate::arch::entry::{Registers, registers};
use crate::interpose::io::net::party;
use crate::sched::controller::name_limit;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{self, fairness, preemption, real_time, virtual_time};
use crate::spinloop::knowledge::{self, ReadVerdict};
use crate::spinloop::loop_head::{ABOVE_STACK_POINTER, BELOW_FRAME_POINTER, windows};
use crate::spinloop::observation::Change;
use crate::spinloop::{detector, observation, proof};
use crate::state::{AnnouncedOp, Fiber, ThreadStatus, process, run, views};

/// Objects of one round that are watched, at most. A round with more is taken to make progress.
const OBJECTS: usize = 12;

/// What a loop can carry from one round to the next, as far as it is compared (see
/// [`crate::spinloop::loop_head`]), and the thread's position in the loop.
#[repr(C, align(4096))]
#[derive(Clone, Copy)]
pub struct View {
    registers: Registers,
    stack: [u8; ABOVE_STACK_POINTER],
    frame: [u8; BELOW_FRAME_POINTER],
    stack_len: usize,
    frame_len: usize,
    timeouts: Timeouts,
}

/// How two views compare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sameness {
    Same,
    /// The same except for words that look like times.
    Time,
    Different,
}

impl View {
    /// One that is like no other.
    pub const NONE: View = View {
        registers: Registers::NONE,
        stack: [0; ABOVE_STACK_POINTER],
        frame: [0; BELOW_FRAME_POINTER],
        stack_len: 0,
        frame_len: 0,
        timeouts: Timeouts {
            pc: 0,
            is_under_way: false,
            idle: false,
            undisturbed: false,
            quiet: false,
            rounds: 0,
            steps: 0,
            spent: false,
            objects: [0; OBJECTS],
            len: 0,
        },
    };

    /// Copies the state of the running thread, which entered the runtime with these registers.
    fn take(&mut self, registers: Registers) {
        let ((sp, above), (frame, below)) = windows(&registers);
        self.registers = registers;
        self.stack_len = above;
        self.frame_len = below;
        // SAFETY: both windows lie within the running thread's stack, above its stack pointer.
        unsafe {
            core::ptr::copy_nonoverlapping(sp as *const u8, self.stack.as_mut_ptr(), above);
            core::ptr::copy_nonoverlapping(frame as *const u8, self.frame.as_mut_ptr(), below);
        }
    }

    /// Compares with the state of the running thread, which entered the runtime with these
    /// registers.
    fn compare(&self, now: Registers) -> Sameness {
        let ((sp, above), (frame, below)) = windows(&now);
        if (self.registers.sp, self.registers.rest) != (now.sp, now.rest)
            || (self.stack_len, self.frame_len) != (above, below)
        {
            return Sameness::Different;
        }
        // SAFETY: as in `take`.
        let (stack, saved) = unsafe {
            (
                core::slice::from_raw_parts(sp as *const u8, above),
                core::slice::from_raw_parts(frame as *const u8, below),
            )
        };
        let registers = self.registers.saved.into_iter().zip(now.saved);
        registers.chain(words(&self.stack, stack)).chain(words(&self.frame, saved)).fold(
            Sameness::Same,
            |so_far, (old, new)| match so_far {
                _ if old == new => so_far,
                Sameness::Same | Sameness::Time if virtual_time::explains(old, new) => Sameness::Time,
                _ => Sameness::Different,
            },
        )
    }
}

/// Pairs of words at the same place.
fn words<'a>(earlier: &'a [u8], later: &'a [u8]) -> impl Iterator<Item = (u64, u64)> + 'a {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    earlier.chunks_exact(8).zip(later.chunks_exact(8)).map(move |(old, new)| (word(old), word(new)))
}

/// A thread's position in a loop of timed waits.
#[derive(Clone, Copy)]
struct Timeouts {
    /// Return address of the last timed wait, 0 if there was none.
    pc: u64,
    /// Whether the thread has made no progress since that wait began.
    is_under_way: bool,
    /// Whether that wait timed out, and the thread has made no progress since.
    idle: bool,
    /// Whether no other thread has accessed an object of the round since the time-out.
    undisturbed: bool,
    /// Whether its last round was idle, disturbed or not, and it has made no progress since.
    quiet: bool,
    /// Idle rounds in a row.
    rounds: u8,
    /// Transitions that the thread had made before the last timed wait.
    steps: u32,
    /// Whether the present wait may not time out while it is undisturbed.
    spent: bool,
    /// Objects of the round.
    objects: [u64; OBJECTS],
    len: u8,
}

/// The running thread is about to stop before a timed wait that it called at `pc`.
pub fn entering(pc: u64) {
    // Keys of states need to know the past of threads in such rounds.
    if process().plan.flags & job_flag::KEYS != 0 && process().fold_spins && !run().knows_pasts {
        knowledge::start_observing();
    }
    // Progress of the thread is noted from here on.
    run().timed = true;
    let view = views(run().hot.tid as usize);
    let wrote = run().hot.wrote;
    let mine = &view.timeouts;
    let came_back = mine.idle && !wrote && mine.pc == pc;
    let same = if came_back { view.compare(registers()) } else { Sameness::Different };
    let same = if same == Sameness::Different { same } else { proved(same, mine.steps, pc) };
    view.take(registers());
    let mine = &mut view.timeouts;
    mine.steps = run().me().steps;
    mine.quiet = same != Sameness::Different;
    let same = if mine.undisturbed { same } else { Sameness::Different };
    mine.rounds = if same == Sameness::Different { 0 } else { mine.rounds.saturating_add(1) };
    mine.spent = match same {
        Sameness::Different => false,
        Sameness::Time => mine.rounds > 1,
        Sameness::Same => true,
    };
    if same == Sameness::Different {
        mine.len = 0;
    }
    mine.pc = pc;
    mine.is_under_way = true;
    mine.idle = false;
}

/// What the running thread was proved to change in the round that began before its transition with
/// this number and that seems to be the same as far as it was compared.
fn proved(seems: Sameness, from: u32, pc: u64) -> Sameness {
    if !process().fold_spins {
        return seems;
    }
    if !run().hot.hashing {
        knowledge::start_observing();
    }
    let op = AnnouncedOp::new(OpKind::CondTimedWait, 0, 0, pc);
    let key = knowledge::key(run().me(), run().hot.values, &op, u64::from(from));
    if let Some(known) = knowledge::look_up(key) {
        return match known {
            NOTHING => seems,
            TIME => Sameness::Time,
            _ => Sameness::Different,
        };
    }
    proof::arriving(pc);
    let (answer, verdict) = match proof::change(key, [from, run().me().steps], pc) {
        // A time that is dead was read for a purpose.
        Some(Change::Nothing) => (seems, NOTHING),
        Some(Change::Time) => (Sameness::Time, TIME),
        Some(Change::More) => (Sameness::Different, ReadVerdict::GOES_ON),
        None => return Sameness::Different,
    };
    if answer == Sameness::Different {
        knowledge::note_change(pc);
    }
    knowledge::insert(key, verdict);
    answer
}

/// How the two answers of a proof are remembered.
const NOTHING: ReadVerdict = ReadVerdict::failed_round(1, false);
const TIME: ReadVerdict = ReadVerdict::failed_round(2, false);

/// The running thread's timed wait has timed out, at this moment of its clock or later.
pub fn timed_out(op: &AnnouncedOp, deadline: u64) {
    virtual_time::not_before(deadline);
    note_yield();
    note_rest();
    let mine = &mut views(run().hot.tid as usize).timeouts;
    (mine.is_under_way, mine.idle) = (true, true);
    mine.undisturbed = true;
    if mine.rounds > 0 {
        virtual_time::slept(virtual_time::DAY);
    }
    watch_all(op);
}

/// Yields before transitions without progress after which a thread runs only if no other can.
const PATIENCE: u16 = 50;

/// The running thread lets others go first, if there is a choice.
pub fn note_yield() {
    run().timed = true;
    run().me().private.yielded = true;
}

/// Whether the thread goes round in a loop that yields: it makes no progress beyond, say, counting
/// or reading the time.
#[inline(always)]
pub fn is_stalled(tid: usize) -> bool {
    run().timed && waits_for_others(tid)
}

#[inline(never)]
fn waits_for_others(tid: usize) -> bool {
    has_stalled_rounds(tid) || real_time::sleeps(tid)
}

fn has_stalled_rounds(tid: usize) -> bool {
    let theirs = &run().fibers[tid].private;
    theirs.yielded && (theirs.stalled >= PATIENCE || theirs.rests > RESTS)
}

/// How often such a thread has gone round, or has let others run between two transitions; 0 for
/// others.
pub fn stalled_rounds(tid: usize) -> u32 {
    let theirs = &run().fibers[tid].private;
    let rounds = if is_stalled(tid) { u32::from(theirs.stalled.max(theirs.rests)) } else { 0 };
    rounds + turns_given(tid)
}

/// How often the thread has let others run since its last transition.
pub fn turns_given(tid: usize) -> u32 {
    run().fibers[tid].private.idle_calls / YIELD_AFTER
}

/// The thread may perform its operation now.
#[inline(always)]
pub fn on_granted(tid: usize) {
    if run().timed {
        count_yield(tid);
    }
}

#[inline(never)]
fn count_yield(tid: usize) {
    let theirs = &mut run().fibers[tid].private;
    theirs.stalled = if theirs.yielded { theirs.stalled.saturating_add(1) } else { theirs.stalled };
    theirs.yielded = false;
    theirs.idle_calls = 0;
}

/// Yielding calls without a transition in between after which other threads run.
const YIELD_AFTER: u32 = 64;
/// Such calls after which a thread that comes back to the same place, and was observed to change
/// nothing, is taken to do so for ever, if no other thread can end its loop.
const ENDLESS_AFTER: u32 = 1 << 16;

/// How often a thread sleeps or times out when all scripted parties are done.
const RESTS: u16 = 3;

/// Whether nothing more comes from scripted parties, and the run ends when the program is idle.
fn is_left_alone() -> bool {
    process().config_flags & config_flag::UNTIL_IDLE != 0 && party::are_done()
}

/// The running thread has gone round without an effect, to where it was at `pc`. That is as good as
/// sleeping, if nothing more comes from scripted parties; otherwise false.
pub fn rests_in_round(pc: u64) -> bool {
    if is_left_alone() {
        let rests = &mut run().me().private.rests;
        *rests = (*rests).max(RESTS);
        note_yield();
        note_rest();
        stop_if_rested(pc);
    }
    is_left_alone()
}

/// The running thread stops for good, if the run is over.
fn stop_if_rested(pc: u64) {
    if has_rested(run().hot.tid as usize) {
        run().me().pending = AnnouncedOp::new(OpKind::Fence, 0, 0, pc);
        sched::leave(ThreadStatus::EndlessLoop);
    }
}

/// The running thread sleeps, or a wait has timed out.
fn note_rest() {
    if is_left_alone() {
        let rests = &mut run().me().private.rests;
        *rests = rests.saturating_add(1);
        // Nothing but time makes any thread go on, and each has slept for a few times.
        let rests =
            |tid: usize| run().fibers[tid].private.rests > RESTS || fairness::idles(tid) || enabled(tid) == CanStep::No;
        if !run().is_over && (0..run().threads).all(rests) {
            run().is_over = true;
            name_limit(limit::TIME_ALONE);
        }
    }
}

/// How far the thread is from resting for good.
pub fn rests(fiber: &Fiber) -> u64 {
    u64::from(fiber.private.rests.min(RESTS + 1)) << 1 | u64::from(run().is_over)
}

/// Whether [`digest`] covers what later behaviour depends on of the thread's timed waits: while it
/// is in a round of them, its past has to be known.
pub fn is_known(tid: usize) -> bool {
    run().knows_pasts || !views(tid).timeouts.is_under_way
}

/// What later behaviour depends on of the thread's timed waits: whether the present one may time
/// out, and, while the thread is in a round of them, whether it is one without an effect. That is
/// a function of the thread's past, as all verdicts are ([`knowledge::key`]).
pub fn digest(tid: usize) -> u64 {
    let View { registers, stack, frame, stack_len, frame_len, timeouts } = views(tid);
    let hash_of = |start: u64, words: &[u64]| words.iter().fold(start, |hash, &word| mix(hash ^ word));
    let is_held = timeouts.spent && timeouts.undisturbed;
    let objects = &timeouts.objects[..timeouts.len.into()];
    if !timeouts.is_under_way {
        return if is_held { hash_of(1, objects) } else { 0 };
    }
    let flags = [timeouts.idle, timeouts.undisturbed, timeouts.quiet, timeouts.spent];
    let flags = flags.iter().fold(1, |all, &flag| all << 1 | u64::from(flag));
    let counts = [timeouts.pc, flags, u64::from(timeouts.rounds.min(2)), u64::from(timeouts.steps)];
    let hash = hash_of(hash_of(2, &counts), objects);
    let Fiber { history, values, .. } = run().fibers[tid];
    let hash = hash_of(hash, &[history, values, registers.sp, registers.rest]);
    let hash = hash_of(hash, &registers.saved);
    let bytes = stack[..*stack_len].chunks_exact(8).chain(frame[..*frame_len].chunks_exact(8));
    bytes.fold(hash, |hash, bytes| mix(hash ^ u64::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]))))
}

/// Whether the run is over but for what time alone brings about, and the thread has slept enough.
fn has_rested(tid: usize) -> bool {
    run().is_over && run().fibers[tid].private.rests > RESTS
}

/// The running thread sleeps, or a wait has timed out, called at `pc`.
pub fn time_passes(pc: u64) {
    note_rest();
    stop_if_rested(pc);
    idle_call(pc);
}

/// The running thread yields or sleeps, called at `pc`. A loop that does nothing else has no
/// transition at which others could run.
pub fn idle_call(pc: u64) {
    // Other threads enter the runtime, too, as soon as they run.
    let entered = registers();
    note_yield();
    let mine = &mut run().me().private;
    mine.idle_calls = mine.idle_calls.saturating_add(1);
    let calls = mine.idle_calls;
    if calls.is_multiple_of(YIELD_AFTER) {
        sched::yield_in_stretch();
    }
    // Registers are those of this call only if no other thread has run in between.
    if calls < ENDLESS_AFTER || run().hot.wrote || calls.is_multiple_of(YIELD_AFTER) {
        return;
    }
    // What the loop waits for is not seen.
    if preemption::is_on() {
        return;
    }
    let view = views(run().hot.tid as usize);
    let came_back = view.timeouts.pc == pc && calls > ENDLESS_AFTER;
    let same = if came_back { view.compare(entered) } else { Sameness::Different };
    // Without a snapshot, what can be seen of the stack has to do. A schedule that wants a step of
    // the thread cannot be followed in any case.
    let is_scheduled = process().plan.at < process().plan.len;
    let unchanged = observation::has_changed_nothing(pc) || is_scheduled || !process().snapshot.is_taken();
    if same != Sameness::Different && unchanged && (is_scheduled || have_others_had_turns()) {
        let me = run().me();
        me.pending = AnnouncedOp::new(OpKind::Fence, 0, 0, pc);
        sched::leave(ThreadStatus::EndlessLoop);
    }
    view.take(entered);
    view.timeouts.pc = pc;
    observation::begin();
}

/// Whether every other thread that can step goes round in a loop, too, and has had its share of
/// turns: otherwise it may still end the loop of the running thread.
fn have_others_had_turns() -> bool {
    let me = run().hot.tid as usize;
    let share = stalled_rounds(me) / 2;
    (0..run().threads).all(|tid| tid == me || stalled_rounds(tid) >= share || enabled(tid) == CanStep::No)
}

/// Whether the thread's wait may not time out once more.
pub fn is_exhausted(tid: usize) -> bool {
    let theirs = &views(tid).timeouts;
    theirs.spent && theirs.undisturbed || has_rested(tid)
}

/// The running thread has made progress.
#[inline]
pub fn progress() {
    // No thread has been idle before the first one yielded.
    if run().timed {
        forget_rounds();
    }
}

#[inline(never)]
fn forget_rounds() {
    let mine = &mut run().me().private;
    let timeouts = &mut views(run().hot.tid as usize).timeouts;
    (timeouts.is_under_way, timeouts.idle, timeouts.quiet) = (false, false, false);
    mine.readings = 0;
    mine.stalled = 0;
}

/// Called for every operation once some thread has timed out or read its clock.
pub fn performed(op: &AnnouncedOp, outcome: Outcome) {
    let me = run().hot.tid as usize;
    let is_private = detector::is_private(op);
    if changes(op.kind, outcome) && !is_private {
        progress();
    }
    if views(me).timeouts.idle && !is_private {
        watch_all(op);
    }
    // Threads that go round in such loops leave everything as it was: none is a reason for another
    // to go round once more.
    if !views(me).timeouts.quiet {
        for tid in (0..run().threads).filter(|&tid| tid != me) {
            disturb(tid, op);
        }
    }
}

/// Remembers the objects of an operation of the running thread's round.
fn watch_all(op: &AnnouncedOp) {
    watch(op.obj);
    if matches!(op.kind, OpKind::CondWait | OpKind::CondTimedWait | OpKind::CondReacquire | OpKind::CondResume) {
        watch(op.arg);
    }
}

/// Remembers an object of the running thread's round.
fn watch(object: u64) {
    let mine = &mut views(run().hot.tid as usize).timeouts;
    let len = mine.len as usize;
    if object == 0 || mine.objects[..len].contains(&object) {
        return;
    }
    if len == OBJECTS {
        mine.idle = false;
        return;
    }
    mine.objects[len] = object;
    mine.len += 1;
}

/// Tells a thread that another one has made a step, if that is on one of its objects.
fn disturb(tid: usize, op: &AnnouncedOp) {
    let theirs = &mut views(tid).timeouts;
    let objects = &theirs.objects[..theirs.len as usize];
    if theirs.undisturbed && (objects.contains(&op.obj) || objects.contains(&op.arg)) {
        theirs.undisturbed = false;
        sched::mark(tid);
    }
}

/// Whether an operation is more than reading, locking and waiting.
fn changes(kind: OpKind, outcome: Outcome) -> bool {
    match kind {
        OpKind::AtomicLoad
        | OpKind::Fence
        | OpKind::Lock
        | OpKind::TryLock
        | OpKind::TimedLock
        | OpKind::Unlock
        | OpKind::ReadLock
        | OpKind::TryReadLock
        | OpKind::TimedReadLock
        | OpKind::WriteLock
        | OpKind::TryWriteLock
        | OpKind::TimedWriteLock
        | OpKind::RwUnlock
        | OpKind::RwAnnounce
        | OpKind::CondTimedWait
        | OpKind::FutexTimedWait
        | OpKind::Read => false,
        OpKind::AtomicCas
        | OpKind::SemTryWait
        | OpKind::SemTimedWait
        | OpKind::CondReacquire
        | OpKind::CondResume
        | OpKind::FutexResume => !matches!(outcome, Outcome::Failed | Outcome::TimedOut),
        _ => true,
    }
}
