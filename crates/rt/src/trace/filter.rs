//! Which accesses add nothing to the trace.
//!
//! Between two transitions of a thread, an access adds no information about races if all its bytes
//! were accessed before in the same or a stronger way: a write conflicts with everything that a read
//! conflicts with, and no other thread came in between. So the length of a trace follows the number
//! of distinct locations, not of accesses.
//!
//! A table remembers for each granule of 8 bytes which of them were read and written in the present
//! epoch. Entries are replaced when two granules compete for one, which only costs records. Short
//! runs use a table that fits into the first cache of a processor; a run that records much goes over
//! to a large one. When it does so follows from its records alone: the same run always has the same
//! trace.

use core::cell::UnsafeCell;

use raddle_wire::record;

use crate::state::run;
use crate::syscall;

/// Bytes of a granule, of which an entry has a bit each.
const GRANULE: u64 = 8;
/// Entries of the table of short runs.
const FEW: usize = 1 << 10;
/// Entries of the table of long runs. Memory is used as it is touched: 64 MB at most.
const MANY: usize = 1 << 22;
/// Bytes of records that make a run a long one.
const LONG_RUN: usize = 1 << 20;
/// Bytes that are looked up, at most. A larger range is always recorded.
const LONGEST: u64 = 1 << 10;
/// A block that is larger is not forgotten byte by byte.
const LARGE_BLOCK: u64 = 1 << 14;

/// What is known of a granule.
#[derive(Clone, Copy)]
pub struct Entry {
    granule: u64,
    /// The epoch, then a bit for each byte that was written, then one for each that was read.
    seen: u64,
}

const UNUSED: Entry = Entry { granule: 0, seen: 0 };

/// Belongs to the process: an entry is valid only in its epoch, and epochs are never used again.
struct Table(UnsafeCell<[Entry; FEW]>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Table {}

static SMALL: Table = Table(UnsafeCell::new([UNUSED; FEW]));

/// The table that the run uses.
#[derive(Clone, Copy)]
pub struct Filter {
    entries: *mut Entry,
    /// The number of entries less 1; the number is a power of 2.
    mask: usize,
    /// The run is a long one when its records reach this.
    long_at: *const u64,
}

impl Filter {
    /// Of no run.
    pub const NONE: Filter = Filter { entries: core::ptr::null_mut(), mask: 0, long_at: core::ptr::null() };

    /// Of a run whose records begin at `start`.
    pub fn of_run(start: *const u64) -> Self {
        let long_at = start.wrapping_byte_add(LONG_RUN);
        Filter { entries: SMALL.0.get().cast(), mask: FEW - 1, long_at }
    }

    /// The entry of a granule.
    #[inline(always)]
    fn entry(&self, granule: u64) -> &'static mut Entry {
        // Neighbours stay neighbours; stacks and heaps begin at different entries.
        let index = (granule ^ granule >> 22) as usize & self.mask;
        // SAFETY: the table has `mask + 1` entries and lives for ever; rule 4 of the crate.
        unsafe { &mut *self.entries.add(index) }
    }
}

/// Whether these bytes of a granule were accessed so in this epoch; remembers it otherwise.
#[inline(always)]
fn covers(filter: &Filter, kind: u8, granule: u64, bytes: u64, epoch: u64) -> bool {
    let entry = filter.entry(granule);
    let is_valid = entry.granule == granule && entry.seen >> 16 == epoch;
    let seen = if is_valid { entry.seen } else { epoch << 16 };
    let (stronger, shift) = if kind == record::WRITE { (seen >> 8, 8) } else { (seen >> 8 | seen, 0) };
    if stronger & bytes == bytes {
        return true;
    }
    *entry = Entry { granule, seen: seen | bytes << shift };
    false
}

/// Whether an access adds nothing; remembers it otherwise.
#[inline(always)]
pub fn adds_nothing(kind: u8, address: u64, size: u64) -> bool {
    let (granule, offset) = (address / GRANULE, address % GRANULE);
    if offset + size <= GRANULE {
        let hot = &run().hot;
        return covers(&hot.filter, kind, granule, (0xff >> (GRANULE - size)) << offset, hot.epoch);
    }
    size <= LONGEST && adds_nothing_in_pieces(kind, address, size)
}

#[inline(never)]
fn adds_nothing_in_pieces(kind: u8, address: u64, size: u64) -> bool {
    let hot = &run().hot;
    let (mut at, end) = (address, address.saturating_add(size));
    let mut known = true;
    while at < end {
        let offset = at % GRANULE;
        let len = (GRANULE - offset).min(end - at);
        let bytes = (0xff >> (GRANULE - len)) << offset;
        known &= covers(&hot.filter, kind, at / GRANULE, bytes, hot.epoch);
        at += len;
    }
    known
}

/// An access was recorded: the run may be a long one now.
#[inline(always)]
pub fn recorded() {
    if run().hot.next.cast_const() >= run().hot.filter.long_at {
        widen();
    }
}

/// Goes over to the large table. Without memory for it the small one stays.
#[cold]
#[inline(never)]
fn widen() {
    static LARGE: Large = Large(UnsafeCell::new(core::ptr::null_mut()));
    // SAFETY: rule 4 of the crate.
    let large = unsafe { &mut *LARGE.0.get() };
    if large.is_null() {
        *large = syscall::map(MANY * size_of::<Entry>()).map_or(core::ptr::null_mut(), |table| table.cast());
    }
    let filter = &mut run().hot.filter;
    filter.long_at = core::ptr::without_provenance(usize::MAX);
    if !large.is_null() {
        (filter.entries, filter.mask) = (*large, MANY - 1);
    }
}

/// The large table, once there is one.
struct Large(UnsafeCell<*mut Entry>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Large {}

/// These bytes have another owner now: accesses to them that were made before are others.
pub fn forget(address: u64, size: u64) {
    let hot = &mut run().hot;
    if size > LARGE_BLOCK {
        hot.epoch += 1;
        return;
    }
    let last = address.saturating_add(size.max(1) - 1) / GRANULE;
    for granule in address / GRANULE..=last {
        let entry = hot.filter.entry(granule);
        if entry.granule == granule {
            *entry = UNUSED;
        }
    }
}
