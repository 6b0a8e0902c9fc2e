//! Waiting for signals: `sigwait` and its kind take a blocked signal, `sigsuspend` lets the handler
//! of one run that it does not block. The wait is a transition on all pending signals
//! ([`pending_signals`]).

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::interpose::process::pending_signals::{self, SET};
use crate::interpose::process::{handlers, shared_state, signal_masks};
use crate::restore::snapshot::touch;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;

real! { hidden:
    fn sigwait(set: *const u64, signal: *mut i32) -> i32;
    fn sigwaitinfo(set: *const u64, info: *mut libc::siginfo_t) -> i32;
    fn sigtimedwait(set: *const u64, info: *mut libc::siginfo_t, span: *const libc::timespec) -> i32;
    fn sigsuspend(set: *const u64) -> i32;
    fn raise(signal: i32) -> i32;
}

extern "C" fn wait(set: *const u64, signal: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigwait(set, signal) };
    }
    reads(set as usize, SET, pc);
    // SAFETY: the caller passes a set.
    let wanted = unsafe { *set };
    pending_signals::wait(wanted, false, pc);
    let Some(info) = pending_signals::take(wanted, true) else { return libc::EINTR };
    writes(signal as usize, size_of::<i32>(), pc);
    // SAFETY: the caller passes room for a number.
    unsafe { *signal = info.si_signo };
    0
}

fn wait_for_info(set: *const u64, into: *mut libc::siginfo_t, waits: bool, pc: u64) -> i32 {
    reads(set as usize, SET, pc);
    // SAFETY: the caller passes a set.
    let wanted = unsafe { *set };
    if waits {
        couriers::begin_call(InterruptibleCall::Ends, pc);
    }
    pending_signals::wait(wanted, !waits, pc);
    couriers::end_call();
    let Some(info) = pending_signals::take(wanted, waits) else {
        set_errno(if waits { libc::EINTR } else { libc::EAGAIN });
        return -1;
    };
    if !into.is_null() {
        writes(into as usize, size_of::<libc::siginfo_t>(), pc);
        touch(into.cast(), size_of::<libc::siginfo_t>());
        // SAFETY: not null, so the caller passes room for a description.
        unsafe { *into = info };
    }
    info.si_signo
}

extern "C" fn wait_info(set: *const u64, info: *mut libc::siginfo_t, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigwaitinfo(set, info) };
    }
    wait_for_info(set, info, true, pc)
}

/// A timed wait never waits: the time is over at once if no signal is pending.
extern "C" fn wait_timed(set: *const u64, info: *mut libc::siginfo_t, span: *const libc::timespec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigtimedwait(set, info, span) };
    }
    wait_for_info(set, info, span.is_null(), pc)
}

/// Waits until a signal arrives that is not in the set, and has a handler or ends the process.
extern "C" fn suspend(set: *const u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigsuspend(set) };
    }
    reads(set as usize, SET, pc);
    // SAFETY: the caller passes a set.
    let blocked = unsafe { *set };
    // The wait and the handler are one transition, so that nothing is sent in between. Which action
    // the signal has is asked on both sides of it: a change comes before both or after both.
    let handled = |signal: &i32| {
        !blocked & signal_masks::bit(*signal) != 0 && run().handlers[*signal as usize].handler > libc::SIG_IGN
    };
    for signal in (1..=64).filter(handled) {
        shared_state::gets_signal(signal, pc);
    }
    loop {
        // A signal that it does not block is taken here, not by a courier.
        run().me().private.suspends = true;
        pending_signals::wait(!blocked, false, pc);
        run().me().private.suspends = false;
        let Some(info) = pending_signals::take(!blocked, true) else { break };
        let ends_wait = !handlers::is_ignored(info.si_signo);
        if ends_wait {
            deliver(info.si_signo, blocked);
        }
        shared_state::gets_signal(info.si_signo, pc);
        if ends_wait {
            break;
        }
    }
    set_errno(libc::EINTR);
    -1
}

/// Lets the handler of the signal run with this set. Behind it the set from before is blocked at
/// once: a signal that came while the handler ran stays pending.
fn deliver(signal: i32, blocked: u64) {
    let before = run().me().blocked;
    // Where several signals are pending, the kernel puts a frame for each on the stack. The first
    // is the lowest one, so the handlers of the others run before its handler, with its signals
    // blocked.
    let by_first = handlers::blocked_by_handler(run().handlers[signal as usize], signal);
    signal_masks::go_back_to(blocked | by_first);
    signal_masks::suspend_with(blocked, before);
    signal_masks::make_room_for_frame();
    // SAFETY: sends the signal to this thread, which does not block it now.
    unsafe { hidden::raise(signal) };
    // Without a handler there was no frame.
    run().me().private.blocked_behind_handler = None;
    signal_masks::go_back_to(before);
}

export!(sigwait, 2 => wait);
export!(sigwaitinfo, 2 => wait_info);
export!(sigtimedwait, 3 => wait_timed);
export!(sigsuspend, 1 => suspend);
