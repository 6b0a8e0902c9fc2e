//! What a debugger needs: where the threads of the program are, and functions to set breakpoints
//! on.
//!
//! The threads are fibers of one kernel thread, so a debugger sees only the one that runs. The
//! table says where the others have saved their registers.

use core::mem::offset_of;

use crate::state::thread_private::ThreadPrivate;
use crate::state::{AnnouncedOp, Fiber, RunState, run_pointer};

/// Changes with the layout of the table.
const VERSION: u64 = 2;

/// Addresses and offsets; all words, so that a script can read it.
#[repr(C)]
pub struct Table {
    version: u64,
    run: *const RunState,
    fibers: usize,
    stride: usize,
    stack_pointer: usize,
    status: usize,
    kind: usize,
    pc: usize,
    parent: usize,
    threads: usize,
    running: usize,
    party: usize,
}

// SAFETY: it is never written.
unsafe impl Sync for Table {}

/// The table.
#[unsafe(export_name = "__raddle_debug")]
pub static TABLE: Table = Table {
    version: VERSION,
    run: run_pointer(),
    fibers: offset_of!(RunState, fibers),
    stride: size_of::<Fiber>(),
    stack_pointer: offset_of!(Fiber, sp),
    status: offset_of!(Fiber, status),
    kind: offset_of!(Fiber, pending) + offset_of!(AnnouncedOp, kind),
    pc: offset_of!(Fiber, pending) + offset_of!(AnnouncedOp, pc),
    parent: offset_of!(Fiber, parent),
    threads: offset_of!(RunState, threads),
    running: offset_of!(RunState, hot) + offset_of!(raddle_wire::observed::Hot, tid),
    party: offset_of!(Fiber, private) + offset_of!(ThreadPrivate, party_code),
};

/// Called when the running thread is before an access that the schedule names: for breakpoints.
#[inline(never)]
#[unsafe(export_name = "__raddle_parked")]
pub extern "C" fn parked() {
    // Functions that do the same would have one address.
    core::hint::black_box((&TABLE, 1u8));
}

/// Called when the running thread has failed or misused an object, with its stack as it was: for
/// breakpoints.
#[inline(never)]
#[unsafe(export_name = "__raddle_failed")]
pub extern "C" fn failed() {
    core::hint::black_box((&TABLE, 2u8));
}

/// Called at the end of a run, with every thread before its next operation: for breakpoints.
#[inline(never)]
#[unsafe(export_name = "__raddle_finished")]
pub extern "C" fn finished() {
    core::hint::black_box((&TABLE, 3u8));
}
