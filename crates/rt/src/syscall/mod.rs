//! Direct system calls: they access neither errno nor anything else of libc. Beside them, what lies
//! behind the functions that the runtime hides ([`libc_real`]), the mappings of the process
//! ([`maps`]), and which library a call comes from ([`callers`]).

pub mod callers;
pub mod imports;
pub mod libc_real;
pub mod maps;

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::PAGE;
pub use crate::arch::syscall::call;

/// Short form of [`call`] for fewer operands.
macro_rules! syscall {
    ($number:expr $(, $operand:expr)* $(,)?) => {{
        let given = [$($operand as usize),*];
        let mut operands = [0usize; 6];
        let mut index = 0;
        while index < given.len() { operands[index] = given[index]; index += 1; }
        $crate::syscall::call($number, operands)
    }};
}
pub(crate) use syscall;

/// Bytes that the runtime itself has mapped.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// See [`map`].
pub fn mapped_bytes() -> usize {
    MAPPED.load(Ordering::Relaxed)
}

/// Anonymous private memory that is filled on first touch; `None` if the kernel refuses.
pub fn map(bytes: usize) -> Option<*mut u8> {
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice replaces nothing.
    let at = unsafe {
        syscall!(
            libc::SYS_mmap,
            0usize,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            usize::MAX,
            0usize
        )
    };
    if at <= 0 {
        return None;
    }
    MAPPED.fetch_add(bytes.next_multiple_of(PAGE), Ordering::Relaxed);
    Some(at as *mut u8)
}

/// Unmaps memory.
///
/// # Safety
/// It must be all of what [`map`] returned, and not be in use.
pub unsafe fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { syscall!(libc::SYS_munmap, memory, bytes) };
    MAPPED.fetch_sub(bytes.next_multiple_of(PAGE), Ordering::Relaxed);
}

/// The first bytes of a file of the kernel.
pub fn read_file<const N: usize>(path: &core::ffi::CStr) -> Option<([u8; N], usize)> {
    let mut text = [0u8; N];
    // SAFETY: a valid path, and reading into the local.
    let read = unsafe {
        let file = syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0);
        let read = syscall!(libc::SYS_read, file, text.as_mut_ptr(), N);
        syscall!(libc::SYS_close, file);
        read
    };
    usize::try_from(read).ok().map(|read| (text, read))
}

/// Writes to standard error, for the messages of a runtime that cannot continue.
pub fn say(text: &str) {
    // SAFETY: the buffer is a valid string.
    unsafe { syscall!(libc::SYS_write, 2usize, text.as_ptr(), text.len()) };
}

/// Ends the process at once.
pub fn exit_process(status: i32) -> ! {
    loop {
        // SAFETY: exit_group does not return.
        unsafe { syscall!(libc::SYS_exit_group, status) };
    }
}

/// Waits while the word holds `value` (or spuriously less long).
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) {
    // SAFETY: the word outlives the call; a null time-out waits without end.
    unsafe { syscall!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, 0usize) };
}

/// Wakes all threads that wait on the word.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe { syscall!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// The running thread's `errno`.
pub fn errno() -> i32 {
    // SAFETY: libc's own function; the address is that of the running thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the running thread's `errno`.
pub fn set_errno(code: i32) {
    // SAFETY: libc's own function; the address is that of the running thread's variable.
    unsafe { *libc::__errno_location() = code };
}

fn clock(number: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a local of the right type.
    unsafe { syscall!(libc::SYS_clock_gettime, number, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time in nanoseconds.
pub fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Processor time of this thread, in nanoseconds.
pub fn computed() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}
