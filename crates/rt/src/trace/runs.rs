//! Accesses of one place to neighbouring bytes are one record (`raddle run`): a loop over an array
//! of bytes is one access to the array.
//!
//! An access is added to the last record of its place if nothing came in between that could tell
//! the two apart: no transition, no other thread, no birth or death of a heap block. The order of
//! the accesses of one thread within a transition means nothing to the search for races. The record
//! has the number of its first access, so a schedule could not stop before the others: searches
//! need each access by itself.

use core::cell::UnsafeCell;

use raddle_wire::record;

use crate::state::run;

/// Places that are remembered, at most.
const PLACES: usize = 1 << 9;
/// Bytes of a record, at most: its size has 16 bits.
const LONGEST: u64 = 1 << 14;

/// The last record of a place.
#[derive(Clone, Copy)]
struct LastRecord {
    /// The place, and what it does.
    key: u64,
    /// When it was written: see [`stamp`].
    stamp: (u64, u64),
    at: *mut u64,
}

const UNUSED: LastRecord = LastRecord { key: 0, stamp: (0, 0), at: core::ptr::null_mut() };

/// Belongs to the process: an entry is valid only with its stamp, and stamps are never used again.
struct Places(UnsafeCell<([LastRecord; PLACES], u64)>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Places {}

static LAST: Places = Places(UnsafeCell::new(([UNUSED; PLACES], 0)));

/// The birth or death of a block: what follows is apart from what was before.
pub fn separate() {
    // SAFETY: rule 4 of the crate.
    unsafe { (*LAST.0.get()).1 += 1 };
}

/// Changes with every transition, every switch of threads and every block.
#[inline(always)]
fn stamp() -> (u64, u64) {
    // SAFETY: rule 4 of the crate.
    (run().hot.epoch, unsafe { (*LAST.0.get()).1 })
}

/// Whether the access was added to the last record of its place. Otherwise its own record, which
/// comes next, is the last one from now on.
#[inline(always)]
pub fn extends(kind: u8, flags: u8, address: u64, size: u64, pc: u64) -> bool {
    let hot = &run().hot;
    let key = pc | u64::from(kind) << 48 | u64::from(flags) << 56;
    let stamp = stamp();
    // SAFETY: rule 4 of the crate; the index is below the number of entries.
    let last = unsafe { &mut (*LAST.0.get()).0[(pc ^ pc >> 9) as usize % PLACES] };
    if last.key == key && last.stamp == stamp {
        // SAFETY: a record of this run, of three words, which the stamp proves to be still there.
        let (start, packed) = unsafe { (&mut *last.at.add(1), &mut *last.at.add(2)) };
        let (_, before) = record::unpack_pc(*packed);
        let before = u64::from(before);
        if before + size <= LONGEST {
            if *start + before == address {
                *packed = record::pack_pc(pc, (before + size) as u16);
                return true;
            }
            if address + size == *start {
                *start = address;
                *packed = record::pack_pc(pc, (before + size) as u16);
                return true;
            }
        }
    }
    *last = LastRecord { key, stamp, at: hot.next };
    false
}
