//! Races that are meant to be: by annotation of bytes, or by places that the host names.
//!
//! Such an access is a transition of its own, so that every order of it is tried; what depends on it stays complete.

use core::ffi::c_char;

use crate::arch::entry::export;
use crate::state::{controlled, process, run};

/// Ranges that a program can annotate; further ones are not heeded, so that their races are reported.
const MOST: usize = 64;

/// Bytes on which races are meant to be, in one run.
pub struct Ranges {
    len: usize,
    all: [(u64, u64); MOST],
}

impl Ranges {
    /// None.
    pub const NEW: Self = Ranges { len: 0, all: [(0, 0); MOST] };
}

/// The places that the host names.
fn places() -> &'static [u64] {
    // SAFETY: the control page is mapped for good once there is one, and the host no longer writes this part of it.
    unsafe {
        if process().control.is_null() {
            return &[];
        }
        let control = &*process().control;
        &control.benign[..(control.benign_count as usize).min(control.benign.len())]
    }
}

/// Whether the program has annotated any bytes.
#[inline]
pub fn any() -> bool {
    run().benign.len > 0
}

/// Whether this one is.
pub fn covers(address: u64, size: u64, pc: u64) -> bool {
    let ranges = &run().benign.all[..run().benign.len];
    let touches = |&(start, end): &(u64, u64)| address < end && start < address.saturating_add(size);
    ranges.iter().any(touches) || places().contains(&pc)
}

fn add(address: u64, size: u64) {
    if !controlled() || size == 0 {
        return;
    }
    let benign = &mut run().benign;
    if benign.len < MOST {
        benign.all[benign.len] = (address, address.saturating_add(size));
        benign.len += 1;
        // From the next access on, all are looked at.
        run().hot.stop_at = 0;
    }
}

extern "C" fn sized(_file: *const c_char, _line: i32, address: u64, size: u64) {
    add(address, size);
}

extern "C" fn word(_file: *const c_char, _line: i32, address: u64) {
    add(address, 4);
}

export!(AnnotateBenignRaceSized, 5 => sized);
export!(AnnotateBenignRace, 4 => word);
