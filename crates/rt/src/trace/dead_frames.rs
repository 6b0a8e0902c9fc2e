//! Accesses to the stack of another thread below its frames, and to that of a thread that has ended: the
//! function has returned whose variable was there. Where no thread writes there meanwhile, no race shows it.
//!
//! What the runtime knows is where each parked thread's stack ends ([`Fiber::program_sp`]). So a frame counts
//! as dead only once its thread has parked behind its return; and what lies above, in frames that were made
//! later, counts as theirs.

use raddle_vocab::Misuse;

use crate::sched::startup::ROOM_TO_GROW;
use crate::state::{Fiber, ThreadStatus, process, run};
use crate::trace;

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
    let mut users = run.fibers[..run.threads].iter().filter(|fiber| is_on_stack(fiber, address));
    // Threads that have ended left their stack to the next one.
    let is_stack = users.clone().next().is_some();
    if is_stack && users.all(|fiber| is_dead(fiber, address)) {
        trace::misuse(Misuse::DeadFrame, address as u64, 0, pc);
    }
}

/// Whether the address is on the thread's stack. That of main counts as far as it reached at the beginning: what
/// lies below may be another mapping.
fn is_on_stack(fiber: &Fiber, address: usize) -> bool {
    let room = if fiber.slot == 0 { ROOM_TO_GROW } else { 0 };
    (fiber.stack.0 + room..fiber.stack.1).contains(&address)
}

/// Whether the thread, on whose stack the address is, has no frame there. What `exit` stops may have its
/// frames still: other threads go on as they could have before. A thread that has failed stays where it is.
fn is_dead(fiber: &Fiber, address: usize) -> bool {
    match fiber.status {
        ThreadStatus::Ended => true,
        ThreadStatus::Exited | ThreadStatus::Failed | ThreadStatus::Unused => false,
        // On another stack than its own it says nothing of this one.
        _ => (fiber.stack.0..=fiber.stack.1).contains(&fiber.sp) && address < fiber.sp.max(fiber.program_sp),
    }
}
