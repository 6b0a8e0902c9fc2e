//! Undoing what a run did to the process besides its memory.

use crate::sys::syscall;

/// First descriptor that was not open at the root.
static FIRST_OF_RUN: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(3);

/// Closes what the run has opened.
pub fn after_run() {
    let first = FIRST_OF_RUN.load(core::sync::atomic::Ordering::Relaxed);
    // SAFETY: closes descriptors that the run opened; the program's state knows nothing of them any more.
    unsafe { syscall!(libc::SYS_close_range, first, u32::MAX, 0) };
}
