//! Copying and comparing pages with the widest registers that the processor has.

use crate::restore::cacheline_restore::{Habits, Page, Restore, restore};

/// [`restore`], compiled for registers of 32 bytes.
///
/// # Safety
/// As [`restore`]; the processor must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn restore_wide(page: *mut Page, saved: *const Page, habits: &mut Habits) {
    // SAFETY: the caller's promise.
    unsafe { restore(page, saved, habits) };
}

/// The fastest form of [`restore`] for this processor.
pub fn fastest_restore() -> Restore {
    if has_avx2() { restore_wide } else { restore }
}

/// Whether processor and kernel support AVX2.
fn has_avx2() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    const SAVES_STATE: u32 = 1 << 27;
    const AVX2: u32 = 1 << 5;
    const WIDE_REGISTERS: u64 = 6;
    #[target_feature(enable = "xsave")]
    fn enabled_state() -> u64 {
        // SAFETY: reads a register.
        unsafe { _xgetbv(0) }
    }
    let (highest, features) = (__cpuid(0).eax, __cpuid(1).ecx);
    highest >= 7
        && features & SAVES_STATE != 0
        // SAFETY: the bit says that the kernel has enabled the instruction.
        && unsafe { enabled_state() } & WIDE_REGISTERS == WIDE_REGISTERS
        && __cpuid_count(7, 0).ebx & AVX2 != 0
}
