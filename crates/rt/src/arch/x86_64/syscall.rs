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

/// Which of the numbers in the list of system calls are those of this architecture.
pub const NUMBER_COLUMN: usize = 0;

/// A system call on files or that makes a child in its newer form, which has more arguments; others
/// as they are.
pub fn modern(number: i64, operands: [usize; 6]) -> (i64, [usize; 6]) {
    const HERE: usize = libc::AT_FDCWD as usize;
    let [a, b, c, ..] = operands;
    let create = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as usize;
    let (newer, [a, b, c, d, e]) = match number {
        libc::SYS_open => (libc::SYS_openat, [HERE, a, b, c, 0]),
        libc::SYS_creat => (libc::SYS_openat, [HERE, a, create, b, 0]),
        libc::SYS_stat => (libc::SYS_newfstatat, [HERE, a, b, 0, 0]),
        libc::SYS_lstat => (libc::SYS_newfstatat, [HERE, a, b, libc::AT_SYMLINK_NOFOLLOW as usize, 0]),
        libc::SYS_access => (libc::SYS_faccessat, [HERE, a, b, 0, 0]),
        libc::SYS_readlink => (libc::SYS_readlinkat, [HERE, a, b, c, 0]),
        libc::SYS_mkdir => (libc::SYS_mkdirat, [HERE, a, b, 0, 0]),
        libc::SYS_mknod => (libc::SYS_mknodat, [HERE, a, b, c, 0]),
        libc::SYS_unlink => (libc::SYS_unlinkat, [HERE, a, 0, 0, 0]),
        libc::SYS_rmdir => (libc::SYS_unlinkat, [HERE, a, libc::AT_REMOVEDIR as usize, 0, 0]),
        libc::SYS_rename => (libc::SYS_renameat, [HERE, a, HERE, b, 0]),
        libc::SYS_link => (libc::SYS_linkat, [HERE, a, HERE, b, 0]),
        libc::SYS_symlink => (libc::SYS_symlinkat, [a, HERE, b, 0, 0]),
        libc::SYS_chmod => (libc::SYS_fchmodat, [HERE, a, b, 0, 0]),
        libc::SYS_chown => (libc::SYS_fchownat, [HERE, a, b, c, 0]),
        libc::SYS_lchown => (libc::SYS_fchownat, [HERE, a, b, c, libc::AT_SYMLINK_NOFOLLOW as usize]),
        libc::SYS_fork => (libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0]),
        libc::SYS_vfork => {
            (libc::SYS_clone, [(libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as usize, 0, 0, 0, 0])
        }
        _ => return (number, operands),
    };
    (newer, [a, b, c, d, e, 0])
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

/// Waits until input or output on one of the descriptors would not block, or for so many
/// milliseconds.
pub fn poll(entries: &mut [libc::pollfd], milliseconds: i32) -> isize {
    let time = milliseconds as isize as usize;
    // SAFETY: so many entries, which can be written.
    unsafe { call(libc::SYS_poll, [entries.as_mut_ptr() as usize, entries.len(), time, 0, 0, 0]) }
}
