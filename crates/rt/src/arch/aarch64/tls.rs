//! Where the static thread-local storage of a thread lies: on aarch64 behind the thread pointer and
//! two words (variant I of the ELF ABI for thread-local storage).

use core::arch::asm;

/// Bytes between the thread pointer and the static storage.
const CONTROL: usize = 16;

/// The thread pointer of the running thread.
pub fn thread_pointer() -> u64 {
    let base: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) base, options(nostack, nomem)) };
    base
}

/// The number by which the C library knows the running thread (`pthread_self`): the address of its
/// description, which lies below the thread pointer.
pub fn handle() -> u64 {
    // SAFETY: only computes an address.
    unsafe { libc::pthread_self() }
}

/// Numbers that the C library draws at the start of each process: what it puts on stacks to notice
/// that they were overwritten, and what it mixes into code addresses that it keeps.
pub fn guards() -> [u64; 2] {
    [guard(c"__stack_chk_guard", c"GLIBC_2.17"), guard(c"__pointer_chk_guard", c"GLIBC_PRIVATE")]
}

/// A variable of the dynamic loader; 0 if it has none with this name.
fn guard(name: &core::ffi::CStr, version: &core::ffi::CStr) -> u64 {
    // SAFETY: looks a name up.
    let at = unsafe { libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()) };
    // SAFETY: a variable with the size of a word.
    if at.is_null() { 0 } else { unsafe { *at.cast::<u64>() } }
}

/// The address that the C library keeps as this word, by the number that it mixes into addresses.
pub fn unmixed(word: u64, guard: u64) -> u64 {
    word ^ guard
}

/// How many bytes of static storage a thread must have for the block of `bytes` bytes to be part of
/// it, if `block` is a module's thread-local storage in the running thread. Dynamically allocated
/// blocks give huge numbers.
pub fn bytes_to_reach(block: usize, bytes: usize) -> usize {
    (block + bytes).wrapping_sub(thread_pointer() as usize + CONTROL)
}

/// The first of the `bytes` bytes of static storage of the thread with this thread pointer.
pub fn static_block(thread_pointer: u64, _bytes: usize) -> *mut u8 {
    (thread_pointer as usize + CONTROL) as *mut u8
}
