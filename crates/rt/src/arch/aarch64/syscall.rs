//! The instruction that enters the kernel, and system calls that this architecture has under newer
//! names.

use core::arch::asm;
use core::ffi::c_char;

/// Makes a system call with up to six operands; errors come back as negative numbers.
///
/// # Safety
/// The kernel interprets the operands: pointers among them must be valid for what the call does.
#[inline(always)]
pub unsafe fn call(number: i64, operands: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the aarch64 Linux system call convention: all other registers are kept.
    unsafe {
        asm!("svc #0", in("x8") number, inlateout("x0") operands[0] as isize => result,
             in("x1") operands[1], in("x2") operands[2], in("x3") operands[3],
             in("x4") operands[4], in("x5") operands[5], options(nostack));
    }
    result
}

/// Which of the numbers in the list of system calls are those of this architecture.
pub const NUMBER_COLUMN: usize = 1;

/// A system call in its newer form, which names a directory: there are no others.
pub fn modern(number: i64, operands: [usize; 6]) -> (i64, [usize; 6]) {
    (number, operands)
}

/// Asks for the status of the file at a path; follows symbolic links.
///
/// # Safety
/// The path ends with a zero byte, and `status` can be written.
pub unsafe fn stat(path: *const c_char, status: *mut libc::stat) -> isize {
    // SAFETY: the caller vouches for both pointers.
    unsafe { call(libc::SYS_newfstatat, [libc::AT_FDCWD as usize, path as usize, status as usize, 0, 0, 0]) }
}

/// Makes `new` a copy of the descriptor `old`. Closes what `new` was before.
///
/// # Safety
/// Nothing relies on what `new` was before.
pub unsafe fn dup2(old: i32, new: i32) -> isize {
    // SAFETY: no pointers; the caller vouches for the descriptor that is replaced.
    unsafe { call(libc::SYS_dup3, [old as usize, new as usize, 0, 0, 0, 0]) }
}

/// Waits until input or output on one of the descriptors would not block, or for so many
/// milliseconds.
pub fn poll(entries: &mut [libc::pollfd], milliseconds: i32) -> isize {
    let whole = i64::from(milliseconds);
    let time = libc::timespec { tv_sec: whole / 1000, tv_nsec: whole % 1000 * 1_000_000 };
    let time = if milliseconds < 0 { core::ptr::null() } else { &raw const time };
    // SAFETY: so many entries, which can be written, and a time, which is read.
    unsafe { call(libc::SYS_ppoll, [entries.as_mut_ptr() as usize, entries.len(), time as usize, 0, 8, 0]) }
}
