//! The counter of the processor, which programs read by an instruction of its own (`rdtsc`). It
//! shows virtual time: the kernel reports each reading by a signal, and the handler answers in its
//! place.
//!
//! Only where the code of the program has such an instruction, or bytes that look like one: the C
//! library reads the clock by the same instruction, and would pay for it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_wire::config_flag;

use crate::arch::counter;
use crate::arch::signal::program_counter;
use crate::library::calls;
use crate::restore::undo::{self, kind};
use crate::sched::virtual_time::{self, EPOCH};
use crate::state::{controlled, process};
use crate::syscall::callers;
use crate::syscall::syscall;

/// Whether readings are to be reported.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Values of the setting of the kernel.
const ALLOWED: usize = 1;
const REPORTED: usize = 2;

/// Whether the kernel has done what was asked for.
fn set(value: usize) -> bool {
    // SAFETY: a setting of this process, for one kind of instruction.
    unsafe { syscall!(libc::SYS_prctl, libc::PR_SET_TSC, value, 0usize, 0usize, 0usize) >= 0 }
}

/// Looks for readings in the code of the program, which was loaded.
pub fn watch() {
    let is_emulated = process().config_flags & config_flag::EMULATED != 0;
    if counter::READINGS.is_empty() || is_emulated || IS_WATCHED.load(Relaxed) {
        return;
    }
    let mut found = 0u64;
    // SAFETY: the callback writes to the local.
    unsafe { libc::dl_iterate_phdr(Some(find_in), (&raw mut found).cast()) };
    if found == 0 {
        return;
    }
    if set(REPORTED) {
        IS_WATCHED.store(true, Relaxed);
    } else {
        calls::note(b"rdtsc", found);
    }
}

/// Finds the address behind the first reading in the code of a module.
unsafe extern "C" fn find_in(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the number of `watch`.
    let (info, found) = unsafe { (&*info, &mut *data.cast::<u64>()) };
    if !callers::is_users(info) {
        return 0;
    }
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let readable = libc::PF_X | libc::PF_R;
    for header in
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & readable == readable)
    {
        let start = (info.dlpi_addr as usize + header.p_vaddr as usize) as *const c_void;
        for reading in counter::READINGS {
            // SAFETY: the segment is mapped and can be read.
            let at = unsafe { libc::memmem(start, header.p_filesz as usize, reading.as_ptr().cast(), reading.len()) };
            if !at.is_null() {
                *found = at as u64 + reading.len() as u64;
                return 1;
            }
        }
    }
    0
}

/// Answers a reading that the kernel reports; false if the signal has another reason.
pub fn answers(code: i32, context: &mut libc::ucontext_t) -> bool {
    if code != counter::REPORTED || !IS_WATCHED.load(Relaxed) {
        return false;
    }
    // SAFETY: the signal says that an instruction was not allowed.
    let Some(reading) = (unsafe { counter::interrupted(context) }) else { return false };
    let is_programs = controlled() && !is_kernels(program_counter(context));
    let value = if is_programs { EPOCH + virtual_time::read() } else { real() };
    counter::answer(context, reading, value);
    true
}

/// Bytes of the code that the kernel provides, at most.
const KERNELS_CODE: u64 = 0x4000;

/// Whether the code is what the kernel provides for reading clocks.
fn is_kernels(pc: u64) -> bool {
    // SAFETY: getauxval only reads the auxiliary vector.
    let start = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    (start..start + KERNELS_CODE).contains(&pc)
}

/// What the counter really shows.
fn real() -> u64 {
    set(ALLOWED);
    let value = counter::read();
    set(REPORTED);
    value
}

/// A child process reads the counter itself: it may execute a program that knows nothing of this.
pub fn let_children_read() {
    if IS_WATCHED.load(Relaxed) {
        set(ALLOWED);
        undo::changed(kind::COUNTER);
    }
}

/// The child is gone, or the run is over.
pub fn watch_again() {
    set(REPORTED);
}
