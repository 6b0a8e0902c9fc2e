//! Which processors threads may use. The host binds the target to one for as long as they take turns, and may change its mind between two
//! runs: what the program sees, and what it asks for, has nothing to do with that.

use core::ffi::c_void;

use crate::entry::export;
use crate::identity;
use crate::real::real;
use crate::snapshot::touch;
use crate::state::{controlled, keep};
use crate::sys::{set_errno, syscall};

real! { hidden:
    fn sched_setaffinity(process: i32, bytes: usize, set: *const c_void) -> i32;
    fn sched_getaffinity(process: i32, bytes: usize, set: *mut c_void) -> i32;
    fn pthread_setaffinity_np(thread: u64, bytes: usize, set: *const c_void) -> i32;
    fn pthread_getaffinity_np(thread: u64, bytes: usize, set: *mut c_void) -> i32;
}

/// Bytes of the largest set that the kernel knows.
const LARGEST: usize = 1024;

/// The processors that the program was started with, as the kernel gave them.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    bytes: [u8; LARGEST],
    /// As many of the bytes as the kernel writes.
    used: usize,
}

impl Processors {
    /// What stands there before anybody has asked.
    pub const NONE: Processors = Processors { bytes: [0; LARGEST], used: 0 };

    /// Asks the kernel; before the host may have bound anything.
    pub fn ask(&mut self) {
        // SAFETY: the kernel writes into these bytes, and not more of them than there are.
        let used = unsafe { syscall!(libc::SYS_sched_getaffinity, 0, LARGEST, self.bytes.as_mut_ptr()) };
        self.used = usize::try_from(used).unwrap_or(0).min(LARGEST);
    }
}

/// Whether the program speaks of one of its own threads; they all may use the same.
fn is_own(process: i32) -> bool {
    controlled() && (process == 0 || process == keep().pid || process == identity::number())
}

/// As the kernel's call: the number of bytes written, or a negative error.
pub fn get(process: i32, bytes: usize, into: *mut u8) -> i64 {
    let Processors { bytes: own, used } = &keep().processors;
    if !is_own(process) || *used == 0 {
        touch(into, bytes);
        // SAFETY: what the program asks of the kernel.
        return unsafe { syscall!(libc::SYS_sched_getaffinity, process, bytes, into) } as i64;
    }
    if bytes < *used || !bytes.is_multiple_of(size_of::<u64>()) {
        return -i64::from(libc::EINVAL);
    }
    if into.is_null() {
        return -i64::from(libc::EFAULT);
    }
    // SAFETY: the caller passes room for so many bytes.
    unsafe { into.copy_from_nonoverlapping(own.as_ptr(), *used) };
    *used as i64
}

/// As the kernel's call: where a thread runs is nobody's business when only one runs at a time, but a set without any processor is refused.
pub fn set(process: i32, bytes: usize, wanted: *const u8) -> i64 {
    let Processors { bytes: own, used } = &keep().processors;
    if !is_own(process) || *used == 0 {
        // SAFETY: what the program asks of the kernel.
        return unsafe { syscall!(libc::SYS_sched_setaffinity, process, bytes, wanted) } as i64;
    }
    if wanted.is_null() {
        return -i64::from(libc::EFAULT);
    }
    // SAFETY: the caller passes so many bytes.
    let wanted = unsafe { core::slice::from_raw_parts(wanted, bytes.min(*used)) };
    let some = wanted.iter().zip(own).any(|(wanted, own)| wanted & own != 0);
    if some { 0 } else { -i64::from(libc::EINVAL) }
}

/// Reads a set as the C library does: what the kernel does not know is zero.
fn get_whole(process: i32, bytes: usize, into: *mut c_void) -> i64 {
    let written = get(process, bytes, into.cast());
    if written >= 0 {
        let written = written as usize;
        // SAFETY: the caller passes room for so many bytes.
        unsafe { into.cast::<u8>().add(written).write_bytes(0, bytes - written) };
        return 0;
    }
    written
}

extern "C" fn get_of_process(process: i32, bytes: usize, into: *mut c_void, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_getaffinity(process, bytes, into) };
    }
    with_errno(get_whole(process, bytes, into))
}

extern "C" fn set_of_process(process: i32, bytes: usize, wanted: *const c_void, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_setaffinity(process, bytes, wanted) };
    }
    with_errno(set(process, bytes, wanted.cast()))
}

fn with_errno(result: i64) -> i32 {
    if result < 0 {
        set_errno(-result as i32);
        return -1;
    }
    0
}

extern "C" fn get_of_thread(handle: u64, bytes: usize, into: *mut c_void, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getaffinity_np(handle, bytes, into) };
    }
    -get_whole(0, bytes, into) as i32
}

extern "C" fn set_of_thread(handle: u64, bytes: usize, wanted: *const c_void, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setaffinity_np(handle, bytes, wanted) };
    }
    -set(0, bytes, wanted.cast()) as i32
}

export!(sched_getaffinity, 3 => get_of_process);
export!(sched_setaffinity, 3 => set_of_process);
export!(pthread_getaffinity_np, 3 => get_of_thread);
export!(pthread_setaffinity_np, 3 => set_of_thread);
