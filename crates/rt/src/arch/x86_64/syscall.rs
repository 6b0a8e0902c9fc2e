//! The instruction that enters the kernel, and system calls that newer architectures lack.

use core::arch::asm;
use core::ffi::c_char;

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

/// Asks for the status of the file at a path; follows symbolic links.
///
/// # Safety
/// The path ends with a zero byte, and `status` can be written.
pub unsafe fn stat(path: *const c_char, status: *mut libc::stat) -> isize {
    // SAFETY: the caller vouches for both pointers.
    unsafe { call(libc::SYS_stat, [path as usize, status as usize, 0, 0, 0, 0]) }
}

/// Makes `new` a copy of the descriptor `old`. Closes what `new` was before.
///
/// # Safety
/// Nothing relies on what `new` was before.
pub unsafe fn dup2(old: i32, new: i32) -> isize {
    // SAFETY: no pointers; the caller vouches for the descriptor that is replaced.
    unsafe { call(libc::SYS_dup2, [old as usize, new as usize, 0, 0, 0, 0]) }
}

/// Asks whether input or output on a descriptor would block; does not wait.
pub fn poll(entry: &mut libc::pollfd) -> isize {
    // SAFETY: one entry, which can be written.
    unsafe { call(libc::SYS_poll, [core::ptr::from_mut(entry) as usize, 1, 0, 0, 0, 0]) }
}
