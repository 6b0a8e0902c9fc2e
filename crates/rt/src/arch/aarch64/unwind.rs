//! What the unwinder and the C library's cleanup handlers need to know of the architecture.

use core::arch::global_asm;

/// DWARF number of the frame pointer register (x29).
pub const FRAME_POINTER_REGISTER: i32 = 29;

/// Offset, in the buffer of a cleanup handler, of the two words that the C library uses: behind a
/// `jmp_buf` of 22 registers and a flag.
pub const CLEANUP_LINK: usize = 184;

global_asm!(
    ".text",
    // The compiler refers to a personality although nothing here unwinds: exceptions of the program
    // pass through (8: _URC_CONTINUE_UNWIND).
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality,%function",
    "rust_eh_personality:",
    "mov w0, #8",
    "ret",
);
