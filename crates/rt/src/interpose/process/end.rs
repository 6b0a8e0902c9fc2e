//! The end of the process: `exit` and its kin. A thread that ends the process is gone, and the
//! others run until they are at rest: what they do they could have done before the end, which
//! depends on none of it. Each end that is made in a run could have been the first one
//! (`model::object::process`).

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_vocab::{OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::memory::leaks;
use crate::interpose::process::{couriers, exit_handlers};
use crate::sched;
use crate::state::{AnnouncedOp, ThreadStatus, controlled, process, run};
use crate::syscall;
use crate::syscall::libc_real::real;

real! { hidden:
    fn exit(status: i32);
    fn quick_exit(status: i32);
    fn fflush(stream: *mut c_void) -> i32;
}

/// Whether a module of the program has destructors of its own (`__attribute__((destructor))`). The
/// dynamic linker calls them behind all handlers of `exit`, which is left out where there are none.
static DESTRUCTORS: AtomicBool = AtomicBool::new(false);

/// Destructors of a module that only put away what its start files have set up.
const OF_START_FILES: usize = 1;

/// A module of the program has so many destructors.
pub fn note_destructors(count: usize) {
    if count > OF_START_FILES {
        DESTRUCTORS.store(true, Relaxed);
    }
}

/// Last handler of `exit` in front of the destructors of modules. It is registered before the
/// program can register any: constructors, destructors and other handlers are ordinary code.
extern "C" fn leave_process(status: i32, _argument: *mut c_void) {
    if !controlled() {
        return;
    }
    if DESTRUCTORS.load(Relaxed) {
        exit_handlers::take_next(run().me().private.exit_pc);
        return;
    }
    // A handler is called once, and another thread may leave the process, too.
    exit_handlers::register_own(leave_process);
    flush_and_leave(status)
}

/// Very last handler of `exit`.
extern "C" fn leave_behind_destructors(status: i32, _argument: *mut c_void) {
    if controlled() {
        exit_handlers::register_own(leave_behind_destructors);
        flush_and_leave(status)
    }
}

fn flush_and_leave(status: i32) -> ! {
    // SAFETY: flushes all streams, as the C library would do next.
    unsafe { hidden::fflush(core::ptr::null_mut()) };
    let pc = run().me().private.exit_pc;
    announce_end(status, pc);
    leaks::report(pc);
    leave(status)
}

/// Last handler of `quick_exit`, which flushes nothing.
extern "C" fn leave_process_quickly() {
    if controlled() {
        exit_handlers::register_own_quick(leave_process_quickly);
        let private = run().me().private;
        end_process(private.exit_status, private.exit_pc);
    }
}

/// Registers the handler that has to come behind the destructors of modules, so before the dynamic
/// linker's: called by a constructor of this library.
pub fn watch_last_end() {
    exit_handlers::register_own(leave_behind_destructors);
}

/// Registers the last handlers of all ways to end the process that have handlers, before the
/// program can register any.
pub fn watch_ends() {
    exit_handlers::register_own(leave_process);
    exit_handlers::register_own_quick(leave_process_quickly);
    exit_handlers::watch_return();
}

extern "C" fn exit_at(status: i32, pc: u64) -> ! {
    if controlled() {
        couriers::calls_unsafe(pc);
        exit_handlers::begin(pc);
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
        exit_handlers::take_turn(pc);
        exit_handlers::take_next(pc);
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
    run.exit.get_or_insert(kept(status));
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
