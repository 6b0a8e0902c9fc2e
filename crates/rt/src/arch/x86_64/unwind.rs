//! What the unwinder and the C library's cleanup handlers need to know of the architecture.

use core::arch::global_asm;

/// DWARF number of the frame pointer register (rbp).
pub const FRAME_POINTER_REGISTER: i32 = 6;

/// Offset, in the buffer of a cleanup handler, of the two words that the C library uses: behind a
/// `jmp_buf` of eight registers and a flag.
pub const CLEANUP_LINK: usize = 72;

global_asm!(
    ".text",
    // The compiler refers to a personality although nothing here unwinds: exceptions of the program
    // pass through (8: _URC_CONTINUE_UNWIND).
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality,@function",
    "rust_eh_personality:",
    "mov eax, 8",
    "ret",
);
