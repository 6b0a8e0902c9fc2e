//! Blocked signals. The kernel knows one thread where the program has many: each has a set of its own here, and the kernel is
//! told the running one's. Signals of a crash are never really blocked, as the snapshot lives by them.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::entry::hook;
use crate::interpose::process::failure::CRASHES;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn sigprocmask(how: i32, new: *const c_void, old: *mut c_void) -> i32;
    fn pthread_sigmask(how: i32, new: *const c_void, old: *mut c_void) -> i32;
}

/// What the kernel was told last: a fact about the process, not part of a run's state.
static KERNEL: AtomicU64 = AtomicU64::new(0);

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

const CRASH_BITS: u64 = {
    let mut bits = 0;
    let mut index = 0;
    while index < CRASHES.len() {
        bits |= bit(CRASHES[index]);
        index += 1;
    }
    bits
};

/// Nobody can block these; 32 and 33 are the C library's own.
const UNBLOCKABLE: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP) | bit(32) | bit(33);

/// Notes the set at the root, with which main starts.
pub fn at_root() {
    let mut blocked = 0u64;
    // SAFETY: reads the present set into the local.
    unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0usize, &raw mut blocked, 8usize) };
    run().fibers[0].blocked = blocked;
    KERNEL.store(blocked, Ordering::Relaxed);
}

/// Whether the thread has blocked the signal.
pub fn blocks(tid: usize, signal: i32) -> bool {
    (1..=64).contains(&signal) && run().fibers[tid].blocked & bit(signal) != 0
}

/// The running thread's signals from here on. A signal that was held back arrives at once, so the caller must be on the
/// thread's own stack already.
#[inline]
pub fn apply() {
    let wanted = run().me().blocked & !CRASH_BITS;
    if wanted != KERNEL.load(Ordering::Relaxed) {
        KERNEL.store(wanted, Ordering::Relaxed);
        // SAFETY: the set is a local.
        unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const wanted, 0usize, 8usize) };
    }
}

/// Changes the running thread's set; gives an error number.
fn change(how: i32, new: *const u64, old: *mut u64) -> i32 {
    let present = run().me().blocked;
    if !new.is_null() {
        // SAFETY: not null, so the caller passes a set, of which the first word counts.
        let given = unsafe { *new };
        let wanted = match how {
            libc::SIG_BLOCK => present | given,
            libc::SIG_UNBLOCK => present & !given,
            libc::SIG_SETMASK => given,
            _ => return libc::EINVAL,
        };
        run().me().blocked = wanted & !UNBLOCKABLE;
    }
    if !old.is_null() {
        // SAFETY: not null, so the caller passes room for a set.
        unsafe { *old = present };
    }
    apply();
    0
}

extern "C" fn block(how: i32, new: *const c_void, old: *mut c_void) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigprocmask(how, new, old) };
    }
    match change(how, new.cast(), old.cast()) {
        0 => 0,
        code => {
            set_errno(code);
            -1
        }
    }
}

extern "C" fn block_of_thread(how: i32, new: *const c_void, old: *mut c_void) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_sigmask(how, new, old) };
    }
    change(how, new.cast(), old.cast())
}

hook!(sigprocmask, 3 => block);
hook!(pthread_sigmask, 3 => block_of_thread);
