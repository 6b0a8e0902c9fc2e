//! Threads: creation, end, joining.

use core::ffi::c_void;

use raddle_vocab::{Misuse, OpKind, Outcome, RunStatus};

use crate::entry::export;
use crate::real::real;
use crate::sched;
use crate::state::{Op, Standing, controlled, keep, run};
use crate::trace;

real! { hidden:
    fn pthread_join(thread: u64, result: *mut usize) -> i32;
    fn pthread_detach(thread: u64) -> i32;
    fn pthread_create(handle: *mut u64, attr: *const c_void, entry: *const c_void, arg: *mut c_void) -> i32;
}

extern "C" fn create(handle: *mut u64, attr: *const c_void, entry: usize, argument: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_create(handle, attr, entry as *const c_void, argument as *mut c_void) };
    }
    let mut op = Op::new(OpKind::Create, 0, 0, pc);
    sched::arrive(op);
    let run = run();
    let slot = run.slots_used;
    if slot >= keep().pool_len {
        sched::finish(RunStatus::NeedPool, slot as i32 + 1);
    }
    run.slots_used += 1;
    let tid = sched::add_thread(slot, (entry, argument));
    // SAFETY: the caller passes room for the handle.
    unsafe { *handle = keep().pool[slot].handle };
    op.arg = tid as u64;
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// The running thread is over.
pub fn end(result: usize) -> ! {
    let op = Op::new(OpKind::ThreadEnd, 0, 0, 0);
    sched::arrive(op);
    let run = run();
    run.me().result = result;
    run.me().standing = Standing::Ended;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::changed_thread(run.hot.tid);
    sched::leave(Standing::Ended)
}

/// The latest thread with this handle.
pub fn by_handle(handle: u64) -> Option<usize> {
    let run = run();
    (0..run.threads).rev().find(|&tid| keep().pool[run.fibers[tid].slot as usize].handle == handle)
}

extern "C" fn join(handle: u64, result: *mut usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_join(handle, result) };
    }
    let Some(tid) = by_handle(handle) else {
        trace::misuse(Misuse::BadThread, handle, 0, pc);
        return libc::ESRCH;
    };
    let op = Op::new(OpKind::Join, 0, tid as u64, pc);
    if tid == run().hot.tid as usize {
        trace::misuse(Misuse::JoinSelf, 0, tid as u64, pc);
        return libc::EDEADLK;
    }
    sched::arrive(op);
    let joined = &mut run().fibers[tid];
    if joined.joined || joined.detached {
        let misuse = if joined.joined { Misuse::JoinTwice } else { Misuse::JoinDetached };
        trace::misuse(misuse, 0, tid as u64, pc);
        sched::commit(&op, Outcome::Refused, 0, 0);
        return libc::EINVAL;
    }
    joined.joined = true;
    if !result.is_null() {
        // SAFETY: the caller passes room for the result.
        unsafe { *result = joined.result };
    }
    sched::commit(&op, Outcome::Done, 0, 0);
    0
}

/// Creates a real thread, for the pool.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create_real(handle: *mut u64, attr: *const c_void, entry: *const c_void, argument: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { hidden::pthread_create(handle, attr, entry, argument) }
}

export!(pthread_create, 4 => create);
export!(pthread_join, 2 => join);
