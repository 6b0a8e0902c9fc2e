//! Thread-local storage of pool slots that a second thread uses within one run: it must be that of
//! a new thread.
//!
//! The static block is saved when a slot is used for the first time in the life of the process,
//! while it is as the C library made it. The copies belong to the process and are no part of a
//! snapshot.

use core::cell::UnsafeCell;
use core::ffi::c_void;

use raddle_vocab::policy::MAX_THREADS;

use crate::arch::tls;
use crate::state::process;
use crate::syscall;

/// Blocks further away from the thread pointer are not part of the static block.
const LARGEST: usize = 1 << 26;

struct Saved {
    /// Bytes of the static block; 0 until they are known.
    bytes: usize,
    /// Copies by slot, null if not saved.
    copies: [*mut u8; MAX_THREADS],
}

struct Cell(UnsafeCell<Saved>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Cell {}

static SAVED: Cell = Cell(UnsafeCell::new(Saved { bytes: 0, copies: [core::ptr::null_mut(); MAX_THREADS] }));

fn saved() -> &'static mut Saved {
    // SAFETY: rule 4 of the crate.
    unsafe { &mut *SAVED.0.get() }
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// Raises the number at `data` so that the static block contains the module's.
extern "C" fn measure(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the number of
    // `static_bytes`.
    unsafe {
        let block = (*info).dlpi_tls_data as usize;
        let headers = core::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
        let own = headers.iter().find(|header| header.p_type == libc::PT_TLS).map_or(0, |header| header.p_memsz);
        let distance = tls::bytes_to_reach(block, own as usize);
        if block != 0 && distance < LARGEST {
            let bytes = data.cast::<usize>();
            *bytes = (*bytes).max(distance);
        }
    }
    0
}

fn static_bytes() -> usize {
    let mut bytes = 0usize;
    // SAFETY: the callback writes to the local only.
    unsafe { dl_iterate_phdr(measure, (&raw mut bytes).cast()) };
    bytes
}

/// Saves the block of a slot that no thread has used in this run, if no earlier run has saved it.
pub fn save(slot: usize) {
    let saved = saved();
    if !saved.copies[slot].is_null() {
        return;
    }
    if saved.bytes == 0 {
        saved.bytes = static_bytes();
    }
    let Some(copy) = (saved.bytes > 0).then(|| syscall::map(saved.bytes)).flatten() else { return };
    saved.copies[slot] = copy;
    // SAFETY: the static block is mapped as a whole; the copy has its size.
    unsafe {
        core::ptr::copy_nonoverlapping(
            tls::static_block(process().pool[slot].thread_pointer, saved.bytes),
            copy,
            saved.bytes,
        )
    };
}

/// The static block of the thread with this thread pointer: first byte, and one past the last;
/// nothing as long as no thread was created.
pub fn range(thread_pointer: u64) -> (usize, usize) {
    let bytes = saved().bytes;
    let start = if bytes == 0 { 0 } else { tls::static_block(thread_pointer, bytes) as usize };
    (start, start + bytes)
}

/// Restores the block of a slot to its state before any thread used it.
pub fn reset(slot: usize) {
    let saved = saved();
    let copy = saved.copies[slot];
    if !copy.is_null() {
        // SAFETY: as in `save`; the thread that used the slot has ended.
        unsafe {
            core::ptr::copy_nonoverlapping(
                copy,
                tls::static_block(process().pool[slot].thread_pointer, saved.bytes),
                saved.bytes,
            )
        };
    }
}
