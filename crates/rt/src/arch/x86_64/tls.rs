//! Where the static thread-local storage of a thread lies: on x86-64 directly below the thread
//! pointer (variant II of the ELF ABI for thread-local storage).

use core::arch::asm;

/// The thread pointer of the running thread.
pub fn thread_pointer() -> u64 {
    let base: u64;
    // SAFETY: on x86-64 Linux the first word of a thread's control block holds its own address.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, readonly)) };
    base
}

/// The number by which the C library knows the running thread (`pthread_self`): its thread pointer.
pub fn handle() -> u64 {
    thread_pointer()
}

/// Numbers that the C library draws at the start of each process: what it puts on stacks to notice
/// that they were overwritten, and what it mixes into code addresses that it keeps.
pub fn guards() -> [u64; 2] {
    let (stack, pointer): (u64, u64);
    // SAFETY: both are words of the control block, at offsets that compilers rely on.
    unsafe {
        asm!("mov {}, qword ptr fs:[0x28]", out(reg) stack, options(nostack, readonly));
        asm!("mov {}, qword ptr fs:[0x30]", out(reg) pointer, options(nostack, readonly));
    }
    [stack, pointer]
}

/// The address that the C library keeps as this word, by the number that it mixes into addresses.
pub fn unmixed(word: u64, guard: u64) -> u64 {
    word.rotate_right(17) ^ guard
}

/// How many bytes of static storage a thread must have for the block of `_bytes` bytes to be part
/// of it, if `block` is a module's thread-local storage in the running thread. Dynamically
/// allocated blocks give huge numbers.
pub fn bytes_to_reach(block: usize, _bytes: usize) -> usize {
    (thread_pointer() as usize).wrapping_sub(block)
}

/// The first of the `bytes` bytes of static storage of the thread with this thread pointer.
pub fn static_block(thread_pointer: u64, bytes: usize) -> *mut u8 {
    (thread_pointer as usize - bytes) as *mut u8
}
