//! Waiting for a blocked signal. The operation is enabled when the signal is pending, as if it read
//! from a descriptor; only then the kernel is asked for the signal.

use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::process::timers;
use crate::restore::snapshot::touch;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn sigwait(set: *const u64, signal: *mut i32) -> i32;
    fn sigwaitinfo(set: *const u64, info: *mut libc::siginfo_t) -> i32;
    fn sigtimedwait(set: *const u64, info: *mut libc::siginfo_t, span: *const libc::timespec) -> i32;
}

/// All pending signals are one object.
pub const SIGNALS: u64 = io::file(0);

/// A signal may have become pending: threads that wait for one are checked again.
pub fn sent() {
    if controlled() {
        sched::changed(SIGNALS);
    }
}

/// Takes a pending signal of the set; returns it, or an error as a negative number.
fn take(set: *const u64, info: *mut libc::siginfo_t) -> i32 {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the caller passes a set and room for a description or null; does not wait.
    unsafe { syscall!(libc::SYS_rt_sigtimedwait, set, info, &raw const at_once, 8usize) as i32 }
}

/// Waits until a signal of the set is pending; does not wait if `never_waits`.
fn wait_until_pending(set: *const u64, never_waits: bool, pc: u64) {
    // SAFETY: the caller passes a set.
    let descriptor = unsafe { syscall!(libc::SYS_signalfd4, usize::MAX, set, 8usize, libc::O_CLOEXEC) } as i32;
    let events = if never_waits { 0 } else { libc::POLLIN };
    let op = AnnouncedOp::new(OpKind::Io, SIGNALS, io::waits_for(descriptor, events), pc);
    if !crate::interpose::io::descriptors::is_ready(descriptor, libc::POLLIN) {
        note_limit(limit::EXTERNAL_WAIT);
    }
    sched::perform(op, Outcome::Done, 0, 0);
    timers::observe();
    // SAFETY: a descriptor of the runtime.
    unsafe { syscall!(libc::SYS_close, descriptor) };
}

extern "C" fn wait(set: *const u64, signal: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigwait(set, signal) };
    }
    reads(set as usize, size_of::<u64>(), pc);
    wait_until_pending(set, false, pc);
    let taken = take(set, core::ptr::null_mut());
    if taken < 0 {
        return -taken;
    }
    writes(signal as usize, size_of::<i32>(), pc);
    // SAFETY: the caller passes room for a number.
    unsafe { *signal = taken };
    0
}

fn wait_for_info(set: *const u64, info: *mut libc::siginfo_t, never_waits: bool, pc: u64) -> i32 {
    if !info.is_null() {
        touch(info.cast(), size_of::<libc::siginfo_t>());
    }
    reads(set as usize, size_of::<u64>(), pc);
    wait_until_pending(set, never_waits, pc);
    let taken = take(set, info);
    if taken < 0 {
        set_errno(-taken);
        return -1;
    }
    writes(info as usize, size_of::<libc::siginfo_t>(), pc);
    taken
}

extern "C" fn wait_info(set: *const u64, info: *mut libc::siginfo_t, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigwaitinfo(set, info) };
    }
    wait_for_info(set, info, false, pc)
}

/// A timed wait never waits: the time is over at once if no signal is pending.
extern "C" fn wait_timed(set: *const u64, info: *mut libc::siginfo_t, span: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigtimedwait(set, info, span) };
    }
    wait_for_info(set, info, !span.is_null(), pc)
}

export!(sigwait, 2 => wait);
export!(sigwaitinfo, 2 => wait_info);
export!(sigtimedwait, 3 => wait_timed);
