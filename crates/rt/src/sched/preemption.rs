//! Preemption of programs without hooks.
//!
//! A thread of such a program that spins on memory never enters the runtime, so no other thread
//! would ever run. The host notices that nothing happens and sends a signal. Its handler interrupts
//! the thread, if it is in code of the program, and the thread waits until no other can go on. That
//! is no transition: a schedule does not depend on when the signal came.
//!
//! What it misses: a thread that spins inside the C library, and one that is the only one that can
//! go on. The host gives such a run up.

use core::sync::atomic::{AtomicU32, Ordering};

use raddle_wire::{PREEMPTION, config_flag};

use crate::arch::signal::{self, KernelAction};
use crate::interpose::process::crash;
use crate::interpose::process::signal_masks::bit;
use crate::observed;
use crate::sched::{self, startup};
use crate::state::{controlled, process, run};
use crate::syscall::{callers, syscall};

/// Whether the program has no hooks.
pub fn is_on() -> bool {
    process().config_flags & config_flag::CALLS_ONLY != 0
}

/// Lets the kernel pass the host's requests to the runtime.
pub fn prepare() {
    if !is_on() {
        return;
    }
    let action = KernelAction {
        handler: crash::handler(),
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART) as u64 | signal::SA_RESTORER,
        restorer: signal::return_from_handler(),
        mask: 0,
    };
    // SAFETY: the structure is the kernel's; the handler follows its convention.
    unsafe { syscall!(libc::SYS_rt_sigaction, PREEMPTION, &raw const action, 0usize, 8usize) };
}

/// The signal that no thread may block in the kernel, as a set.
pub fn unblocked() -> u64 {
    if is_on() { bit(PREEMPTION) } else { 0 }
}

/// Whether the signal is a request of the host, which is the parent of the process or of the
/// process that it was forked from.
///
/// # Safety
/// The description must be the kernel's.
pub unsafe fn is_request(number: i32, info: *const libc::siginfo_t) -> bool {
    // SAFETY: the caller's promise; a signal that was sent has a sender.
    number == PREEMPTION && is_on() && unsafe { (*info).si_code == libc::SI_USER && (*info).si_pid() != process().pid }
}

/// The host has noticed that nothing happens.
///
/// # Safety
/// The pointers must be those passed to the handler that runs.
pub unsafe fn on_request(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    let pc = signal::program_counter(unsafe { &*context });
    let is_elsewhere = startup::is_runtime_code(pc) || callers::is_c_library(pc) || callers::is_dynamic_linker(pc);
    if controlled() && !is_elsewhere {
        // SAFETY: the caller's promise; the thread is in code of the program, on its stack.
        unsafe { signal::call_before_going_on(info, context) };
    }
}

/// Requests in a row, without a transition between them, after which a thread is taken to wait for
/// another one although the schedule wants its next transition. The host sends one every 50 ms.
const PATIENCE: u32 = 20;

/// Number of transitions at the last request, and the requests since then.
static LAST: (AtomicU32, AtomicU32) = (AtomicU32::new(0), AtomicU32::new(0));

/// Called in the place of the interrupted instruction, on the thread's own stack.
pub extern "C" fn interrupted() {
    if !controlled() || observed::interrupted() {
        return;
    }
    let steps = run().steps;
    if LAST.0.swap(steps, Ordering::Relaxed) != steps {
        LAST.1.store(0, Ordering::Relaxed);
    }
    let plan = &process().plan;
    let is_wanted = plan.at < plan.len && plan.current.tid == run().hot.tid;
    if is_wanted && LAST.1.fetch_add(1, Ordering::Relaxed) >= PATIENCE {
        sched::diverge();
    }
    sched::yield_in_stretch();
}
