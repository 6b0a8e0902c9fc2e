//! The end of the process: `exit` and its kin. A thread that ends the process is gone, and the others
//! run until they are at rest.

use core::ffi::c_void;

use raddle_vocab::{OpKind, Outcome};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::memory::leaks;
use crate::interpose::process::couriers;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, ThreadStatus, controlled, process, run};
use crate::syscall;
use crate::syscall::libc_real::real;

real! { hidden:
    fn exit(status: i32);
    fn quick_exit(status: i32);
    fn fflush(stream: *mut c_void) -> i32;
}

/// Last handler of `exit`, as it was registered first: constructors, destructors and other handlers
/// are ordinary code.
pub extern "C" fn leave_process(status: i32, _argument: *mut c_void) {
    if controlled() {
        watch_exit();
        // SAFETY: flushes all streams, as the C library would do next.
        unsafe { hidden::fflush(core::ptr::null_mut()) };
        let pc = run().me().private.exit_pc;
        announce_end(status, pc);
        leaks::report(pc);
        leave(status)
    }
}

/// Last handler of `quick_exit`, which flushes nothing.
extern "C" fn leave_process_quickly() {
    if controlled() {
        let private = run().me().private;
        end_process(private.exit_status, private.exit_pc);
    }
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(i32, *mut c_void), argument: *mut c_void) -> i32;
    fn at_quick_exit(function: extern "C" fn()) -> i32;
}

/// Registers the handler that runs last when the process ends: called before the program can
/// register any. A handler is called once, so it is registered again when one of several threads
/// that leave the process has done so.
fn watch_exit() {
    // SAFETY: the function has the signature that on_exit wants.
    unsafe { on_exit(leave_process, core::ptr::null_mut()) };
}

/// Registers the last handlers of all ways to end the process that have handlers.
pub fn watch_ends() {
    watch_exit();
    // SAFETY: the function has the signature that at_quick_exit wants.
    unsafe { at_quick_exit(leave_process_quickly) };
}

extern "C" fn exit_at(status: i32, pc: u64) -> ! {
    if controlled() {
        couriers::calls_unsafe(pc);
        run().me().private.exit_pc = pc;
    }
    // SAFETY: passes on what the caller gave.
    unsafe { exit_process(status) }
}

/// The C library's `exit`.
///
/// # Safety
/// As `exit`: runs handlers of the program.
pub unsafe fn exit_process(status: i32) -> ! {
    // SAFETY: the caller's promise.
    unsafe { hidden::exit(status) };
    syscall::exit_process(status)
}

extern "C" fn quick_exit_at(status: i32, pc: u64) -> ! {
    if controlled() {
        let private = &mut run().me().private;
        (private.exit_pc, private.exit_status) = (pc, status);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::quick_exit(status) };
    syscall::exit_process(status)
}

export!(exit, 1 => exit_at);
export!(quick_exit, 1 => quick_exit_at);

/// The process has ended for the running thread; the others run until they are at rest.
pub fn end_process(status: i32, pc: u64) -> ! {
    announce_end(status, pc);
    leave(status)
}

/// What the system keeps of a status: the lowest eight bits.
const fn kept(status: i32) -> i32 {
    status & 0xff
}

fn announce_end(status: i32, pc: u64) {
    sched::perform(AnnouncedOp::new(OpKind::Exit, 0, kept(status) as u64, pc), Outcome::Done, 0, 0);
}

fn leave(status: i32) -> ! {
    let run = run();
    if *run.exit.get_or_insert(kept(status)) != kept(status) {
        // Another thread has ended the process before, but this end could have been the first one.
        note_limit(limit::EXITS);
    }
    let allowed = i64::try_from(process().exit_events).unwrap_or(i64::MAX);
    run.hot.events_left = run.hot.events_left.min(allowed);
    sched::leave(ThreadStatus::Exited)
}

extern "C" fn exit_now(status: i32, pc: u64) -> ! {
    if controlled() {
        end_process(status, pc);
    }
    syscall::exit_process(status)
}

export!(_exit, 1 => exit_now);
export!(_Exit, 1 => exit_now);
