//! The instruction that enters the kernel.

use core::arch::asm;

/// Makes a system call with up to six operands; errors come back as negative numbers.
///
/// # Safety
/// The kernel interprets the operands: pointers among them must be valid for what the call does.
#[inline(always)]
pub unsafe fn call(number: i64, operands: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 Linux system call convention; rcx and r11 are clobbered by the
    // instruction.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
             in("rdi") operands[0], in("rsi") operands[1], in("rdx") operands[2],
             in("r10") operands[3], in("r8") operands[4], in("r9") operands[5],
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}
