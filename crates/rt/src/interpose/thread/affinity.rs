//! Which processors threads may use. The host pins the target to one while they take turns, and may
//! change this between two runs. The program sees nothing of it: what a thread asks for is stored
//! here, and never passed to the kernel.

use core::ffi::c_void;

use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::thread::{identity, lifecycle};
use crate::restore::snapshot::touch;
use crate::state::{affinities, controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

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
    /// The value before the kernel was asked.
    pub const NONE: Processors = Processors { bytes: [0; LARGEST], used: 0 };

    /// Asks the kernel; called before the host may have pinned anything.
    pub fn ask(&mut self) {
        // SAFETY: the kernel writes into these bytes, and not more of them than there are.
        let used = unsafe { syscall!(libc::SYS_sched_getaffinity, 0, LARGEST, self.bytes.as_mut_ptr()) };
        self.used = usize::try_from(used).unwrap_or(0).min(LARGEST);
    }
}

/// Bytes of a set that a thread asked for: enough for 1,024 processors.
const KEPT: usize = 128;

/// The processors that a thread asked for; none if it may use those of the start.
pub type Affinity = [u8; KEPT];

/// Of a thread that has not asked for any.
pub const NOT_ASKED: Affinity = [0; KEPT];

/// A new thread may use what its creator may. Nothing is read or written while no thread has asked
/// for anything.
pub fn inherit(parent: usize, child: usize) {
    if run().has_affinities {
        *affinities(child) = *affinities(parent);
    }
}

/// The thread with this number, if it is one of the program and the processors of the start are
/// known.
fn by_number(number: i32) -> Option<usize> {
    if !controlled() || process().processors.used == 0 {
        return None;
    }
    if number == 0 {
        return Some(run().hot.tid as usize);
    }
    (0..run().threads).find(|&tid| identity::number_of(tid) == number)
}

/// As the kernel's call: the number of bytes written, or a negative error.
pub fn get(process: i32, bytes: usize, into: *mut u8, pc: u64) -> i64 {
    match by_number(process) {
        Some(tid) => get_own(tid, bytes, into, pc),
        None => {
            touch(into, bytes);
            // SAFETY: what the program asks of the kernel.
            unsafe { syscall!(libc::SYS_sched_getaffinity, process, bytes, into) as i64 }
        }
    }
}

fn get_own(tid: usize, bytes: usize, into: *mut u8, pc: u64) -> i64 {
    shared_state::touch(SharedPart::Processors(run().fibers[tid].key), FileAccess::Observe, pc);
    let Processors { bytes: at_start, used } = &process().processors;
    if bytes < *used || !bytes.is_multiple_of(size_of::<u64>()) {
        return -i64::from(libc::EINVAL);
    }
    if into.is_null() {
        return -i64::from(libc::EFAULT);
    }
    let asked = affinities(tid);
    let set = if *asked == NOT_ASKED { &at_start[..*used] } else { &asked[..KEPT.min(*used)] };
    // SAFETY: the caller passes room for so many bytes.
    unsafe {
        into.write_bytes(0, *used);
        into.copy_from_nonoverlapping(set.as_ptr(), set.len());
    }
    *used as i64
}

/// As the kernel's call.
pub fn set(process: i32, bytes: usize, wanted: *const u8, pc: u64) -> i64 {
    match by_number(process) {
        Some(tid) => set_own(tid, bytes, wanted, pc),
        // SAFETY: what the program asks of the kernel.
        None => unsafe { syscall!(libc::SYS_sched_setaffinity, process, bytes, wanted) as i64 },
    }
}

/// A thread gets those of the wanted processors that exist. A set without any is refused.
fn set_own(tid: usize, bytes: usize, wanted: *const u8, pc: u64) -> i64 {
    shared_state::touch(SharedPart::Processors(run().fibers[tid].key), FileAccess::Change, pc);
    let Processors { bytes: at_start, used } = &process().processors;
    if wanted.is_null() {
        return -i64::from(libc::EFAULT);
    }
    // SAFETY: the caller passes so many bytes.
    let wanted = unsafe { core::slice::from_raw_parts(wanted, bytes.min(*used).min(KEPT)) };
    let mut set = NOT_ASKED;
    for ((byte, wanted), there) in set.iter_mut().zip(wanted).zip(at_start) {
        *byte = wanted & there;
    }
    if set == NOT_ASKED {
        return -i64::from(libc::EINVAL);
    }
    run().has_affinities = true;
    *affinities(tid) = set;
    0
}

/// Fills the bytes that the kernel does not write with zeros, as the C library does.
fn fill_up(written: i64, bytes: usize, into: *mut c_void) -> i64 {
    if written < 0 {
        return written;
    }
    let written = written as usize;
    // SAFETY: the caller passes room for so many bytes.
    unsafe { into.cast::<u8>().add(written).write_bytes(0, bytes - written) };
    0
}

extern "C" fn get_of_process(process: i32, bytes: usize, into: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_getaffinity(process, bytes, into) };
    }
    let result = with_errno(fill_up(get(process, bytes, into.cast(), pc), bytes, into));
    if result == 0 {
        writes(into as usize, bytes, pc);
    }
    result
}

extern "C" fn set_of_process(process: i32, bytes: usize, wanted: *const c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_setaffinity(process, bytes, wanted) };
    }
    with_errno(set(process, bytes, wanted.cast(), pc))
}

fn with_errno(result: i64) -> i32 {
    if result < 0 {
        set_errno(-result as i32);
        return -1;
    }
    0
}

extern "C" fn get_of_thread(handle: u64, bytes: usize, into: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getaffinity_np(handle, bytes, into) };
    }
    let written = match lifecycle::by_handle(handle) {
        Some(tid) => get_own(tid, bytes, into.cast(), pc),
        None => -i64::from(libc::ESRCH),
    };
    let result = -fill_up(written, bytes, into) as i32;
    if result == 0 {
        writes(into as usize, bytes, pc);
    }
    result
}

extern "C" fn set_of_thread(handle: u64, bytes: usize, wanted: *const c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setaffinity_np(handle, bytes, wanted) };
    }
    match lifecycle::by_handle(handle) {
        Some(tid) => -set_own(tid, bytes, wanted.cast(), pc) as i32,
        None => libc::ESRCH,
    }
}

export!(sched_getaffinity, 3 => get_of_process);
export!(sched_setaffinity, 3 => set_of_process);
export!(pthread_getaffinity_np, 3 => get_of_thread);
export!(pthread_setaffinity_np, 3 => set_of_thread);
