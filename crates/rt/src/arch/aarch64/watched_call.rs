//! A call that notices when it is left by unwinding (an exception, or the end of the thread). The
//! runtime itself is compiled without unwinding, so the frame and its personality are written by
//! hand.

use core::arch::global_asm;

use crate::interpose::sync::once;

global_asm!(
    ".text",
    ".hidden raddle_call_watched",
    ".globl raddle_call_watched",
    ".type raddle_call_watched,%function",
    "raddle_call_watched:",
    ".cfi_startproc",
    // 0x9b: an indirect, pc-relative pointer of 4 bytes.
    ".cfi_personality 0x9b, .Lraddle_personality",
    "stp x29, x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    "str x19, [sp, #16]",
    ".cfi_offset x19, -16",
    // The personality finds the control in x19.
    "mov x19, x1",
    "blr x0",
    "ldr x19, [sp, #16]",
    "ldp x29, x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x19",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".section .data.rel.ro,\"aw\"",
    ".p2align 3",
    ".Lraddle_personality:",
    ".quad {personality}",
    ".text",
    personality = sym personality,
);

unsafe extern "C-unwind" {
    /// Calls `routine`. If it is left by unwinding, `once::abandoned` is told with `control`.
    #[link_name = "raddle_call_watched"]
    pub fn call_watched(routine: usize, control: u64);
}

unsafe extern "C" {
    fn _Unwind_GetGR(context: *mut u8, register: i32) -> u64;
}

/// Personality of [`call_watched`]: acts in the second phase of unwinding, when the routine is left
/// for good.
extern "C-unwind" fn personality(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut u8,
    context: *mut u8,
) -> i32 {
    const CLEANUP_PHASE: i32 = 2;
    const CONTINUE: i32 = 8;
    const X19: i32 = 19;
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: the context is the unwinder's own; the frame keeps the control in this register.
        let control = unsafe { _Unwind_GetGR(context, X19) };
        once::abandoned(control);
    }
    CONTINUE
}
