//! Cancellation of threads, deferred to cancellation points: condition waits, semaphore waits,
//! joins, sleeps, `pthread_testcancel`.
//!
//! The request is an atomic store to the thread's own flag, in the runtime's memory. A cancellation
//! point is an atomic load of it, so every order of the two is explored. (A program that does not
//! contain `pthread_cancel` has no such points.) In a condition wait the load comes after the
//! thread has entered the queue. If the request comes later, a signal meant for this thread follows
//! it. The thread acts on the request in this wait only if that signal has taken it out of the
//! queue: POSIX does not let a cancelled waiter consume the signal of another thread.
//!
//! A thread that is blocked in a semaphore wait or a join is released by a load of the flag in
//! place of the operation that it waited for. The host cannot represent a wait for two things at
//! once, so this is reported as a limit. So are asynchronous cancellation, and cancellation points
//! among input and output.

use core::sync::atomic::{AtomicBool, Ordering};

use raddle_vocab::{MemOrder, Misuse, OpKind, Outcome};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::interpose::sync::cond;
use crate::interpose::thread::{lifecycle, unwind};
use crate::sched::controller::note_limit;
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, ThreadStatus, controlled, run};
use crate::syscall::imports;
use crate::syscall::libc_real::real;
use crate::trace;

const DISABLED: i32 = 1;
const ASYNCHRONOUS: i32 = 1;
/// Result of a cancelled thread.
const CANCELED: usize = usize::MAX;

/// The cancellation state of a thread.
#[derive(Clone, Copy)]
pub struct Cancel {
    /// It was requested.
    requested: bool,
    /// The thread is being unwound.
    acting: bool,
    /// A request has taken it out of the queue of a condition variable.
    taken_out: bool,
    /// Condition variable that it waits for, having seen no request; or 0.
    waits_for: u64,
    state: i32,
    kind: i32,
}

impl Cancel {
    /// Not requested; enabled and deferred.
    pub const NEW: Cancel =
        Cancel { requested: false, acting: false, taken_out: false, waits_for: 0, state: 0, kind: 0 };

    /// A number for the state.
    pub fn digest(&self) -> u64 {
        let flags = u64::from(self.requested) | u64::from(self.acting) << 1 | u64::from(self.taken_out) << 2;
        let numbers = u64::from(self.state.cast_unsigned()) << 3 | u64::from(self.kind.cast_unsigned()) << 35;
        self.waits_for.rotate_left(32) ^ numbers ^ flags
    }

    /// Whether a request would have an effect.
    fn listens(&self) -> bool {
        !self.acting && self.state != DISABLED
    }
}

real! { hidden:
    fn pthread_cancel(thread: u64) -> i32;
    fn pthread_setcancelstate(state: i32, old: *mut i32) -> i32;
    fn pthread_setcanceltype(kind: i32, old: *mut i32) -> i32;
    fn pthread_testcancel();
}

/// Whether any module of the program calls `pthread_cancel`.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Finds out whether there are cancellation points. Called once, before the first run.
pub fn prepare() {
    IN_USE.store(imports::is_any_imported(&[c"pthread_cancel"]), Ordering::Relaxed);
}

/// A cancellation point called at `pc`: the running thread ends here if this was requested.
pub fn point(pc: u64) {
    if is_requested(pc) {
        act();
    }
}

fn act() -> ! {
    run().me().private.cancel.acting = true;
    unwind::exit_thread(CANCELED)
}

/// Whether there is a request that takes effect.
fn is_requested(pc: u64) -> bool {
    if !IN_USE.load(Ordering::Relaxed) || !run().me().private.cancel.listens() {
        return false;
    }
    let op = load(run().hot.tid as usize, pc);
    sched::arrive(op);
    finish_load(&op)
}

/// The part of a condition wait between its two halves.
pub fn in_queue(cond: u64, pc: u64) {
    if !IN_USE.load(Ordering::Relaxed) || !run().me().private.cancel.listens() {
        return;
    }
    if is_requested(pc) {
        take_out_of_queue(run().hot.tid as usize, cond, pc);
    } else {
        run().me().private.cancel.waits_for = cond;
    }
}

/// The part of a condition wait after its second half. A thread that was woken by a signal does not
/// act on a request in this wait: the signal would be lost to other waiters. It looks for a request
/// all the same: whether one comes before or behind the end of the wait makes a difference to the
/// thread that requests.
pub fn after_queue(pc: u64) {
    let requested = is_requested(pc);
    let cancel = &mut run().me().private.cancel;
    cancel.waits_for = 0;
    if core::mem::take(&mut cancel.taken_out) && requested {
        act();
    }
}

/// The load of a thread's flag.
fn load(tid: usize, pc: u64) -> AnnouncedOp {
    AnnouncedOp { order: MemOrder::Acquire as u8, ..AnnouncedOp::new(OpKind::AtomicLoad, flag(tid), 0, pc) }
}

fn finish_load(op: &AnnouncedOp) -> bool {
    virtual_time::observe(op.obj);
    let requested = run().me().private.cancel.requested;
    sched::commit(op, Outcome::Done, u64::from(requested), 0);
    requested
}

/// Whether a request releases a thread that is blocked before this operation.
pub fn interrupts(tid: usize, op: &AnnouncedOp) -> bool {
    let cancel = &run().fibers[tid].private.cancel;
    cancel.requested && cancel.listens() && matches!(op.kind, OpKind::SemWait | OpKind::Join)
}

/// Called when it is the running thread's turn to perform such an operation. If that is still not
/// possible (`blocked`), a request has released the thread.
pub fn interrupted(blocked: bool) {
    if blocked {
        note_limit(limit::CANCEL);
        finish_load(&load(run().hot.tid as usize, run().me().pending.pc));
        act();
    }
}

/// Address of a thread's flag.
fn flag(tid: usize) -> u64 {
    (&raw const run().fibers[tid].private.cancel.requested) as u64
}

extern "C" fn cancel(handle: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_cancel(handle) };
    }
    let Some(tid) = lifecycle::by_live_handle(handle, pc) else {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
        return libc::ESRCH;
    };
    if !IN_USE.load(Ordering::Relaxed) || run().fibers[tid].private.cancel.kind == ASYNCHRONOUS {
        note_limit(limit::CANCEL);
    }
    let op = AnnouncedOp { order: MemOrder::Release as u8, ..AnnouncedOp::new(OpKind::AtomicStore, flag(tid), 0, pc) };
    sched::arrive(op);
    let old = core::mem::replace(&mut run().fibers[tid].private.cancel.requested, true);
    virtual_time::publish(op.obj);
    sched::commit(&op, Outcome::Done, 1, u64::from(old));
    if tid != run().hot.tid as usize && run().fibers[tid].status == ThreadStatus::Pending {
        sched::mark(tid);
    }
    let cond = run().fibers[tid].private.cancel.waits_for;
    if cond != 0 {
        take_out_of_queue(tid, cond, pc);
    }
    0
}

/// Wakes a thread that is in the queue of the condition variable, unless another thread has woken
/// it.
fn take_out_of_queue(tid: usize, cond: u64, pc: u64) {
    let signal = AnnouncedOp::new(OpKind::Signal, cond, 0, pc);
    sched::arrive(signal);
    if cond::queue(cond).any(|waiter| waiter == tid) {
        let waiters = cond::queue(cond).count();
        cond::wake(tid);
        run().fibers[tid].private.cancel.taken_out = true;
        sched::commit(&signal, Outcome::Done, cond::bit(tid), waiters as u64);
    } else {
        // This depends on other signals, as a load of the object would.
        let look = AnnouncedOp { log_size: 4, ..AnnouncedOp::new(OpKind::AtomicLoad, cond, 0, pc) };
        sched::commit(&look, Outcome::Done, 0, 0);
    }
}

/// Stores a setting and returns the old one.
fn exchange(setting: &mut i32, new: i32, old: *mut i32) -> i32 {
    if !(0..=1).contains(&new) {
        return libc::EINVAL;
    }
    let before = core::mem::replace(setting, new);
    if !old.is_null() {
        // SAFETY: the caller passes room for the old value.
        unsafe { *old = before };
    }
    0
}

extern "C" fn set_state(state: i32, old: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setcancelstate(state, old) };
    }
    writes(old as usize, size_of::<i32>(), pc);
    exchange(&mut run().me().private.cancel.state, state, old)
}

extern "C" fn set_type(kind: i32, old: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setcanceltype(kind, old) };
    }
    writes(old as usize, size_of::<i32>(), pc);
    exchange(&mut run().me().private.cancel.kind, kind, old)
}

extern "C-unwind" fn test(pc: u64) {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::pthread_testcancel() };
    }
    point(pc);
}

export!(pthread_cancel, 1 => cancel);
export!(pthread_setcancelstate, 2 => set_state);
export!(pthread_setcanceltype, 2 => set_type);
export!(pthread_testcancel, 0 => test);
