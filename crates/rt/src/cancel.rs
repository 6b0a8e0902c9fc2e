//! Cancellation of threads, deferred to cancellation points: condition waits, semaphore waits, joins, sleeps, `pthread_testcancel`.
//!
//! The request is an atomic store to the thread's own flag, in the runtime's memory. A thread that the request finds blocked is let
//! go: out of a condition variable's queue by a signal meant for it, otherwise by an atomic load of the flag in place of the
//! operation that it waited for. Points that a thread passes without blocking look at the flag without a transition, so not
//! every order of request and point is explored: the limit is named whenever a thread is cancelled.

use raddle_vocab::{MemOrder, Misuse, OpKind, Outcome};
use raddle_wire::limit;

use crate::controller::note_limit;
use crate::entry::export;
use crate::real::real;
use crate::state::{Op, Standing, Wait, controlled, run};
use crate::{clock, cond, sched, threads, trace, unwind};

const DISABLED: i32 = 1;
/// Result of a cancelled thread.
const CANCELED: usize = usize::MAX;

/// How a thread stands towards cancellation.
#[derive(Clone, Copy)]
pub struct Cancel {
    /// Somebody asked for it.
    requested: bool,
    /// It is on its way out.
    acting: bool,
    state: i32,
    kind: i32,
}

impl Cancel {
    /// Nobody asked; enabled and deferred.
    pub const NEW: Cancel = Cancel { requested: false, acting: false, state: 0, kind: 0 };

    fn is_due(&self) -> bool {
        self.requested && !self.acting && self.state != DISABLED
    }
}

real! { hidden:
    fn pthread_cancel(thread: u64) -> i32;
    fn pthread_setcancelstate(state: i32, old: *mut i32) -> i32;
    fn pthread_setcanceltype(kind: i32, old: *mut i32) -> i32;
    fn pthread_testcancel();
}

/// A cancellation point: the running thread ends here if somebody has asked.
pub fn point() {
    if run().me().private.cancel.is_due() {
        act();
    }
}

fn act() -> ! {
    run().me().private.cancel.acting = true;
    unwind::exit_thread(CANCELED)
}

/// Whether the thread stands before an operation that a request interrupts.
pub fn interrupts(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    fiber.private.cancel.is_due() && matches!(fiber.pending.kind, OpKind::SemWait | OpKind::SemTimedWait | OpKind::Join)
}

/// Called when the running thread was let through to such an operation: it may have been let go instead.
pub fn interrupted() {
    let tid = run().hot.tid as usize;
    if interrupts(tid) {
        let op =
            Op { order: MemOrder::Acquire as u8, ..Op::new(OpKind::AtomicLoad, flag(tid), 0, run().me().pending.pc) };
        clock::observe(flag(tid));
        sched::commit(&op, Outcome::Done, 1, 0);
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
    note_limit(limit::CANCEL);
    let Some(tid) = threads::by_handle(handle) else {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
        return libc::ESRCH;
    };
    let op = Op { order: MemOrder::Release as u8, ..Op::new(OpKind::AtomicStore, flag(tid), 0, pc) };
    sched::arrive(op);
    let old = core::mem::replace(&mut run().fibers[tid].private.cancel.requested, true);
    clock::publish(flag(tid));
    sched::commit(&op, Outcome::Done, 1, u64::from(old));
    sched::stored();
    if tid == run().hot.tid as usize {
        return 0;
    }
    if run().fibers[tid].standing == Standing::Pending {
        sched::mark(tid);
    }
    let queued = |tid: usize| match run().fibers[tid].wait {
        Wait::Queued { obj, .. } if run().fibers[tid].private.cancel.is_due() => Some(obj),
        _ => None,
    };
    if let Some(obj) = queued(tid) {
        let signal = Op::new(OpKind::Signal, obj, 0, pc);
        sched::arrive(signal);
        if queued(tid) == Some(obj) {
            let waiters = cond::queue(obj).count();
            cond::wake(tid);
            sched::commit(&signal, Outcome::Done, cond::bit(tid), waiters as u64);
        } else {
            sched::commit(&Op::new(OpKind::Fence, 0, 0, pc), Outcome::Done, 0, 0);
        }
    }
    0
}

/// Stores a setting and hands out the old one.
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

extern "C" fn set_state(state: i32, old: *mut i32, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setcancelstate(state, old) };
    }
    exchange(&mut run().me().private.cancel.state, state, old)
}

extern "C" fn set_type(kind: i32, old: *mut i32, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setcanceltype(kind, old) };
    }
    exchange(&mut run().me().private.cancel.kind, kind, old)
}

extern "C-unwind" fn test(_pc: u64) {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::pthread_testcancel() };
    }
    point();
}

export!(pthread_cancel, 1 => cancel);
export!(pthread_setcancelstate, 2 => set_state);
export!(pthread_setcanceltype, 2 => set_type);
export!(pthread_testcancel, 0 => test);
