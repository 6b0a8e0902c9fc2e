//! Accesses to the stack of another thread below its frames, and to the stack or the thread-local
//! storage of a thread that has ended: the function has returned whose variable was there. Where no
//! thread writes there meanwhile, no race shows it. The end of a thread is itself an access to both
//! ([`thread_ends`]), so that it races with uses that come before it without an order.
//!
//! What the runtime knows is where each parked thread's stack ends ([`Fiber::program_sp`]). So a
//! frame counts as dead only once its thread has parked behind its return; and what lies above, in
//! frames that were made later, counts as theirs.

use raddle_vocab::Misuse;

use crate::restore::thread_storage;
use crate::sched::startup::{PARKED_FRAME, ROOM_TO_GROW};
use crate::state::{Fiber, ThreadStatus, process, run};
use crate::trace::{self, hooks};

/// Room for the frames in which the C library starts a thread, at most.
const FIRST_FRAMES: usize = 4096;

/// Called with every access that is recorded.
#[inline(always)]
pub fn look(address: u64, pc: u64) {
    let (low, high) = run().hot.stack;
    let address = address as usize;
    if address >= process().lowest_stack && !(low..high).contains(&address) {
        look_closely(address, pc);
    }
}

#[cold]
fn look_closely(address: usize, pc: u64) {
    let run = run();
    let fibers = &run.fibers[..run.threads];
    // Threads that have ended left their stack and storage to the next one.
    let mut users = fibers.iter().filter(|fiber| is_on_stack(fiber, address)).peekable();
    if users.peek().is_some() {
        if users.all(|fiber| is_dead(fiber, address)) {
            trace::misuse(Misuse::DeadFrame, address as u64, 0, pc);
        }
        return;
    }
    let mut owners = fibers.iter().filter(|fiber| is_in_storage(fiber, address)).peekable();
    if owners.peek().is_some() && owners.all(has_ended) {
        trace::misuse(Misuse::DeadFrame, address as u64, 1, pc);
    }
}

/// Whether the address is on the thread's stack. That of main counts as far as it reached at the
/// beginning: what lies below may be another mapping.
fn is_on_stack(fiber: &Fiber, address: usize) -> bool {
    let (low, high) = frames(fiber);
    (low..high).contains(&address)
}

/// Where the frames of the thread are. Above those of main lie the arguments of the program.
fn frames(fiber: &Fiber) -> (usize, usize) {
    match fiber.slot {
        // SAFETY: the loader has set it before the program began.
        0 => (fiber.stack.0 + ROOM_TO_GROW, unsafe { __libc_stack_end }),
        _ => fiber.stack,
    }
}

unsafe extern "C" {
    /// Where the stack of the process began.
    static __libc_stack_end: usize;
}

/// Whether the address is in the thread-local storage of the thread.
fn is_in_storage(fiber: &Fiber, address: usize) -> bool {
    let (start, end) = thread_storage::range(fiber.thread_pointer);
    (start..end).contains(&address)
}

/// Whether the thread has ended. Main then waits for the others.
fn has_ended(fiber: &Fiber) -> bool {
    fiber.status == ThreadStatus::Ended || fiber.private.frames_are_over
}

/// Whether the thread, on whose stack the address is, has no frame there. What `exit` stops may
/// have its frames still: other threads go on as they could have before. A thread that has failed
/// stays where it is.
fn is_dead(fiber: &Fiber, address: usize) -> bool {
    match fiber.status {
        _ if has_ended(fiber) => true,
        ThreadStatus::Exited | ThreadStatus::Failed | ThreadStatus::Unused => false,
        // On another stack than its own it says nothing of this one.
        _ => (fiber.stack.0..=fiber.stack.1).contains(&fiber.sp) && address < fiber.sp.max(fiber.program_sp),
    }
}

/// The running thread ends: what others do on its stack or in its thread-local storage without an
/// order races with that.
pub fn thread_ends() {
    let me = run().me();
    me.private.frames_are_over = true;
    let pc = me.entry.0 as u64 + 1;
    let (low, high) = frames(me);
    let (start, end) = thread_storage::range(me.thread_pointer);
    if me.slot != 0 && (high..high + PARKED_FRAME + FIRST_FRAMES).contains(&start) {
        // Between the two lies what only the C library and the runtime use.
        return hooks::thread_ends(low, end, pc);
    }
    hooks::thread_ends(low, high, pc);
    hooks::thread_ends(start, end, pc);
}
