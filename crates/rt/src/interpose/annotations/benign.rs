//! Benign races: declared by annotations of bytes, or by code addresses that the host lists.
//!
//! Such an access is a transition of its own. So every order of it is explored, and the search
//! stays complete for what depends on it.

use core::ffi::c_char;

use crate::arch::entry::export;
use crate::state::{controlled, process, run};

/// Ranges that a program can annotate; further ones are ignored, so that their races are reported.
const MOST: usize = 64;

/// Bytes on which races are benign, in one run.
pub struct Ranges {
    len: usize,
    all: [(u64, u64); MOST],
}

impl Ranges {
    /// None.
    pub const NEW: Self = Ranges { len: 0, all: [(0, 0); MOST] };
}

/// The code addresses that the host lists.
fn places() -> &'static [u64] {
    // SAFETY: the control page is mapped for good once there is one, and the host no longer writes
    // this part of it.
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

/// Whether an access is benign.
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
        // From the next access on, all leave the fast path.
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
