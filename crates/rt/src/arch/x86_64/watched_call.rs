//! A call that notices when it is left by unwinding (an exception, or the end of the thread). The
//! runtime itself is compiled without unwinding, so the frame and its personality are written by
//! hand.

use core::arch::global_asm;

use crate::interpose::sync::once;

global_asm!(
    ".text",
    ".hidden raddle_call_watched",
    ".globl raddle_call_watched",
    ".type raddle_call_watched,@function",
    "raddle_call_watched:",
    ".cfi_startproc",
    // 0x9b: an indirect, pc-relative pointer of 4 bytes.
    ".cfi_personality 0x9b, .Lraddle_personality",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    // The personality finds the control in rbx.
    "mov rbx, rsi",
    "call rdi",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
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
    const RBX: i32 = 3;
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: the context is the unwinder's own; the frame keeps the control in this register.
        let control = unsafe { _Unwind_GetGR(context, RBX) };
        once::abandoned(control);
    }
    CONTINUE
}
