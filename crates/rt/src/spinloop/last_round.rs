//! The last look at threads that wait busily at the end of a run.
//!
//! A thread that is held before the last read of a failed round may have begun that round with
//! values that have changed since: it would leave its loop if it went round once more. Such an end
//! of a run is covered by executions in which it begins the round later, so it is no livelock.
//! **A livelock is reported only if every thread that is held, let go on alone from the end of the
//! run, comes back to where it is held and has changed nothing.**
//!
//! # Why a stale end is covered
//! Let a run R end with a thread t before the last read of a failed round, some reads of which
//! would find something else by now. Take those operations of the round that t has made out of R.
//! They change nothing that another thread depends on: reads, and locks that are given back or that
//! no other thread has taken since. So what is left is the beginning of another execution, with all
//! other events of R. At its end t is before the first read of its round, which is enabled: it
//! finds a value with which the round was not proved to fail, or goes on to one of the reads that
//! would find something else. So the search, which tries every maximal trace, has one that goes on
//! from there. That one cannot end with t in the same stale round: no other thread steps any more,
//! so t now reads what is there at the end. A race with data that the round has read shows there or
//! in the first round, which is never left out ([`crate::spinloop::read_set`]). A thread that only
//! tries a lock of the round may have noticed that it was held; that is a named limit
//! ([`crate::spinloop::locked_poll`]).
//!
//! So the threads are let go on, one after the other, when the end of the run is recorded. What
//! they do is recorded nowhere, and memory is restored before the next run anyway. A thread stops
//! at the first operation that is more than reading and locking; then it goes on, and the end of
//! the run is marked as stale.

use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{OpKind, RunStatus};
use raddle_wire::record::flag;

use crate::arch::entry::registers;
use crate::interpose::memory::heap;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{self, hand_over};
use crate::spinloop::detector;
use crate::spinloop::locked_poll::is_lock;
use crate::spinloop::loop_head::LoopHead;
use crate::spinloop::observation;
use crate::state::{AnnouncedOp, Global, ThreadStatus, lock_polls, loop_candidates, process, run};
use crate::syscall;
use crate::trace::RESERVE;

/// Operations that a thread makes before it is taken to go on.
const MOST_OPERATIONS: u32 = 4096;
/// Bytes for records that are thrown away.
const SCRATCH: usize = 4 << 20;

/// What is restored at the end, because the host is told of it.
#[derive(Clone, Copy)]
struct AtRest {
    next: *mut u64,
    end: *mut u64,
    steps: u32,
    exit: Option<i32>,
}

/// The look under way. It belongs to the process and is never restored.
struct LastRound {
    active: bool,
    /// The thread that goes on.
    thread: usize,
    /// Where it is held.
    held: LoopHead,
    /// Whether it began its round with values that have changed since.
    is_stale: bool,
    /// What its last operation found before it was performed.
    found: Option<u64>,
    operations: u32,
    observed: bool,
    /// The records of pending operations, by thread.
    records: [*mut u64; MAX_THREADS],
    at_rest: AtRest,
    scratch: *mut u8,
}

static LAST_ROUND: Global<LastRound> = Global::new(LastRound {
    active: false,
    thread: 0,
    held: LoopHead::UNUSED,
    is_stale: false,
    found: None,
    operations: 0,
    observed: false,
    records: [core::ptr::null_mut(); MAX_THREADS],
    at_rest: AtRest { next: core::ptr::null_mut(), end: core::ptr::null_mut(), steps: 0, exit: None },
    scratch: core::ptr::null_mut(),
});

fn last_round() -> &'static mut LastRound {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *LAST_ROUND.get() }
}

/// Whether a thread is let go on from the end of the run. Only then spin loops are not detected
/// although they shall be.
#[inline]
pub fn is_active() -> bool {
    last_round().active
}

/// The pending operation of a thread is about to be recorded here, in the reserve.
pub fn note_record(tid: usize, record: *mut u64) {
    let limit = run().hot.end.wrapping_byte_add(RESERVE);
    last_round().records[tid] = if record < limit { record } else { core::ptr::null_mut() };
}

/// Called when the end of the run is recorded: the first thread to be let go on, if there is one.
pub fn first() -> Option<usize> {
    let this = last_round();
    if !process().fold_spins || (0..run().threads).any(is_marked_stale) {
        return None;
    }
    let thread = (0..run().threads).find(|&tid| is_held(tid))?;
    if this.scratch.is_null() {
        this.scratch = syscall::map(SCRATCH)?;
    }
    let run = run();
    this.at_rest = AtRest { next: run.hot.next, end: run.hot.end, steps: run.steps, exit: run.exit };
    this.active = true;
    process().fold_spins = false;
    run.hot.controlled = true;
    this.let_go(thread);
    Some(thread)
}

/// Whether the thread is held before an operation that would end a failed round.
fn is_held(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.status == ThreadStatus::AtSpinRead
        && !fiber.private.signalled
        && !last_round().records[tid].is_null()
        && detector::is_failed_spin_round(tid)
}

fn is_marked_stale(tid: usize) -> bool {
    // SAFETY: the record was written at the end of this run.
    is_held(tid) && unsafe { *last_round().records[tid] } & STALE != 0
}

/// Bits of a record's header that say that its thread is in a stale round.
const STALE: u64 = raddle_wire::record::header(0, flag::STALE, 0, 0);

impl LastRound {
    /// Prepares a thread to go on.
    fn let_go(&mut self, thread: usize) {
        let fiber = &run().fibers[thread];
        self.thread = thread;
        self.held = if is_lock(&fiber.pending) {
            lock_polls(thread).head
        } else {
            loop_candidates(thread).heads[fiber.read_history.len]
        };
        (self.operations, self.observed) = (0, false);
        self.is_stale = !is_lock(&fiber.pending) && detector::is_stale(thread);
        self.found = detector::found(thread);
        run().hot.wrote = false;
        self.throw_records_away();
    }

    fn throw_records_away(&self) {
        let hot = &mut run().hot;
        hot.next = self.scratch.cast();
        hot.end = self.scratch.wrapping_add(SCRATCH - RESERVE).cast();
        hot.events_left = i64::MAX;
    }

    /// Whether the thread is back where it was held.
    fn is_back(&self, op: &AnnouncedOp) -> bool {
        let held = self.held.op();
        if (held.pc, held.obj, held.kind) != (op.pc, op.obj, op.kind) {
            return false;
        }
        let mut now = LoopHead::UNUSED;
        now.record(op);
        self.held.is_equivalent_to(&now)
    }

    /// Whether the thread's last operation has changed what it is about.
    fn has_changed(&self, last: &AnnouncedOp) -> bool {
        let found = detector::finds(last, run().hot.tid);
        matches!(last.kind, OpKind::AtomicRmw | OpKind::AtomicCas) && found != self.found
    }
}

/// Called instead of stopping the running thread, which is before `op`. Returns if it shall perform
/// the operation.
#[cold]
pub fn arriving(op: &AnnouncedOp) {
    let this = last_round();
    let has_registers = op.kind != OpKind::Read || registers().sp != 0;
    let last = run().me().pending;
    this.throw_records_away();
    this.operations += 1;
    if this.has_changed(&last) || !is_harmless(op) || this.operations > MOST_OPERATIONS {
        goes_on();
    }
    // A round that was not proved may have changed something for good.
    if this.is_stale && run().hot.wrote {
        goes_on();
    }
    if has_registers && this.is_back(op) {
        if heap::used() != this.held.heap {
            heap::use_again(this.held.heap);
        }
        if this.observed && observation::has_changed_nothing(op.pc) {
            is_stuck();
        }
        this.observed = observation::begin();
        if !this.observed {
            is_stuck();
        }
    }
    let thread = usize::from(run().hot.tid);
    run().me().pending = *op;
    run().me().status = ThreadStatus::Pending;
    this.found = detector::found(thread);
    match enabled(thread) {
        CanStep::Yes => {}
        // What it has written may let others go on.
        CanStep::No if !run().hot.wrote => is_stuck(),
        CanStep::No | CanStep::Reluctant => goes_on(),
    }
}

/// Whether the operation can be part of a failed round.
fn is_harmless(op: &AnnouncedOp) -> bool {
    detector::is_read(op)
        || is_lock(op)
        || detector::is_private(op)
        || matches!(op.kind, OpKind::Lock | OpKind::Unlock | OpKind::RwUnlock | OpKind::Fence)
}

/// The running thread is back in the same state, or blocked: the next one is let go on.
fn is_stuck() -> ! {
    observation::end();
    let this = last_round();
    let next = (this.thread + 1..run().threads).find(|&tid| is_held(tid));
    run().me().status = ThreadStatus::Pending;
    match next {
        Some(thread) => {
            this.let_go(thread);
            sched::let_go(thread);
            unreachable!("a thread that is stuck was given a turn")
        }
        None => end(),
    }
}

/// The running thread would go on if it were not held: the end of the run is stale.
#[cold]
pub fn goes_on() -> ! {
    let this = last_round();
    // SAFETY: the record was written at the end of this run.
    unsafe { *this.records[this.thread] |= STALE };
    end()
}

/// Abandons the look, because the run is restarted.
pub fn cancel() {
    let this = last_round();
    if this.active {
        this.active = false;
        process().fold_spins = true;
    }
}

fn end() -> ! {
    cancel();
    let AtRest { next, end, steps, exit } = last_round().at_rest;
    let run = run();
    (run.hot.next, run.hot.end, run.steps, run.exit) = (next, end, steps, exit);
    hand_over(RunStatus::Rest, 0)
}
