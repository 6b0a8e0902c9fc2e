//! Blocked signals. The kernel sees one thread where the program has many. Each has a set of its
//! own here, and the kernel gets that of the running thread. Signals of a crash are never blocked
//! in the kernel, because the snapshot needs them.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use raddle_vocab::io::{self, SIGNALS};

use crate::arch::PAGE;
use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::process::couriers;
use crate::interpose::process::crash::CRASHES;
use crate::interpose::process::pending_signals::{self, SET};
use crate::restore::snapshot::touch;
use crate::sched;
use crate::sched::preemption;
use crate::state::{ThreadStatus, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn sigprocmask(how: i32, new: *const c_void, old: *mut c_void) -> i32;
    fn pthread_sigmask(how: i32, new: *const c_void, old: *mut c_void) -> i32;
}

/// Bytes of stack that the kernel may write when it delivers a signal: the red zone, and the frame
/// with all vector registers. Frames of the C library between here and there are included.
const SIGNAL_FRAME: usize = 12 * 1024;

/// The set that the kernel has now: belongs to the process, not to a run's state.
static KERNEL: AtomicU64 = AtomicU64::new(0);

/// The bit of a signal in a set.
pub const fn bit(signal: i32) -> u64 {
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

/// Signals that cannot be blocked; 32 and 33 belong to the C library.
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
    let fiber = &run().fibers[tid];
    (1..=64).contains(&signal) && (fiber.blocked & bit(signal) != 0 || fiber.private.suspends)
}

/// Whether the thread has begun and not ended. One that has failed or ended the process counts as
/// alive: the others go on as they could have before.
pub fn is_alive(tid: usize) -> bool {
    let fiber = &run().fibers[tid];
    !fiber.private.over && !matches!(fiber.status, ThreadStatus::Unused | ThreadStatus::Ended)
}

/// Whether a signal that the running thread sends finds the thread with the signal blocked. What a
/// handler blocks that a courier runs is left out: the next courier waits for its return. So to
/// send does not depend on that return.
pub fn blocks_for_sender(tid: usize, signal: i32) -> bool {
    let running = usize::from(run().hot.tid);
    blocks(if tid == usize::from(couriers::owner(running as u16)) { running } else { tid }, signal)
}

/// Whether there are threads, and all have blocked the signal.
pub fn all_block(signal: i32) -> bool {
    let is_one = |&tid: &usize| is_alive(tid) && !couriers::is_foreign(tid);
    let mut alive = (0..run().threads).filter(is_one).peekable();
    alive.peek().is_some() && alive.all(|tid| blocks_for_sender(tid, signal))
}

/// Lets the kernel deliver the signal, whatever the running thread has blocked.
pub fn unblock_in_kernel(signal: i32) {
    let wanted = KERNEL.load(Ordering::Relaxed) & !bit(signal);
    KERNEL.store(wanted, Ordering::Relaxed);
    // SAFETY: the set is a local.
    unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const wanted, 0usize, 8usize) };
}

/// The set that the kernel shall have while the running thread has blocked this one.
fn in_kernel(blocked: u64) -> u64 {
    blocked & !CRASH_BITS & !preemption::unblocked()
}

/// A handler of the running thread begins, with these signals blocked in addition. The kernel takes
/// over what this returns.
pub fn handler_begins(blocked: u64) -> u64 {
    let me = run().me();
    me.blocked = (me.blocked | blocked) & !UNBLOCKABLE;
    KERNEL.store(in_kernel(me.blocked), Ordering::Relaxed);
    in_kernel(me.blocked)
}

/// The running thread runs a handler with these signals blocked in addition.
pub fn block_in_handler(blocked: u64) {
    let me = run().me();
    me.blocked = blockable(me.blocked | blocked);
    apply();
}

/// Those of the signals that can be blocked.
pub const fn blockable(signals: u64) -> u64 {
    signals & !UNBLOCKABLE
}

/// The running thread goes on with this set, as behind a handler. The kernel takes over what this
/// returns.
pub fn go_back_to(blocked: u64) -> u64 {
    run().me().blocked = blocked & !UNBLOCKABLE;
    apply();
    pending_signals::deliver_due();
    in_kernel(run().me().blocked)
}

/// The running thread blocks this set until the next handler begins, and the other one behind it.
/// Nothing is delivered here.
pub fn suspend_with(blocked: u64, behind: u64) {
    let me = run().me();
    me.blocked = blocked & !UNBLOCKABLE;
    me.private.blocked_behind_handler = Some(behind);
    apply();
}

/// Makes the stack writable where the kernel is about to put the frame of a signal. On a page that
/// the snapshot protects, the kernel does not raise a fault that could be handled.
pub fn make_room_for_frame() {
    let here = 0u8;
    let here = &raw const here;
    // From the top down: a touch has no effect beyond the end of the stack.
    for page in 0..=SIGNAL_FRAME / PAGE {
        touch(here.wrapping_sub(page * PAGE), 1);
    }
}

/// Blocks the running thread's signals from here on. A pending signal is delivered at once, so the
/// caller must be on the thread's own stack already.
#[inline(always)]
pub fn apply() {
    let wanted = in_kernel(run().me().blocked);
    if wanted != KERNEL.load(Ordering::Relaxed) {
        tell_kernel(wanted);
    }
}

#[cold]
#[inline(never)]
fn tell_kernel(wanted: u64) {
    KERNEL.store(wanted, Ordering::Relaxed);
    make_room_for_frame();
    // SAFETY: the set is a local.
    unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const wanted, 0usize, 8usize) };
}

/// Keeps a signal of a crash for later that a program has sent and the running thread has blocked.
/// False if the thread has not blocked it.
pub fn keep_pending(signal: i32) -> bool {
    let blocked = controlled() && blocks(usize::from(run().hot.tid), signal);
    if blocked {
        pending_signals::keep_for_self(signal);
    }
    blocked
}

/// The running thread is about to change its set to this one, in the same transition. Where a
/// signal arrives depends on when it is blocked.
pub fn changes_to(wanted: u64, pc: u64) {
    if couriers::in_use() && wanted & !UNBLOCKABLE != run().me().blocked {
        pending_signals::touch(io::BLIND, pc);
    }
}

/// Changes the running thread's set; gives an error number.
pub fn change(how: i32, new: *const u64, old: *mut u64, pc: u64) -> i32 {
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
        let wanted = wanted & !UNBLOCKABLE;
        pending_signals::note_remasked(wanted ^ present);
        changes_to(wanted, pc);
        run().me().blocked = wanted;
        sched::changed(SIGNALS);
    }
    if !old.is_null() {
        // SAFETY: not null, so the caller passes room for a set.
        unsafe { *old = present };
    }
    apply();
    // What is pending and was not blocked before has a courier.
    if run().me().blocked != present {
        pending_signals::deliver_due();
    }
    0
}

extern "C" fn block(how: i32, new: *const c_void, old: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigprocmask(how, new, old) };
    }
    reads(new as usize, SET, pc);
    writes(old as usize, SET, pc);
    match change(how, new.cast(), old.cast(), pc) {
        0 => 0,
        code => {
            set_errno(code);
            -1
        }
    }
}

extern "C" fn block_of_thread(how: i32, new: *const c_void, old: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_sigmask(how, new, old) };
    }
    reads(new as usize, SET, pc);
    writes(old as usize, SET, pc);
    change(how, new.cast(), old.cast(), pc)
}

export!(sigprocmask, 3 => block);
export!(pthread_sigmask, 3 => block_of_thread);
