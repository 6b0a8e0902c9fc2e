//! The counter of the processor. The kernel does not report readings of it.

/// The instructions that read it and that the kernel can report: none.
pub const READINGS: &[&[u8]] = &[];

/// No signal has this code.
pub const REPORTED: i32 = i32::MIN;

/// No reading is reported.
///
/// # Safety
/// None is needed.
pub unsafe fn interrupted(_context: &libc::ucontext_t) -> Option<usize> {
    None
}

/// No reading is reported.
pub fn answer(_context: &mut libc::ucontext_t, _reading: usize, _value: u64) {}

/// No reading is reported.
pub fn read() -> u64 {
    0
}
