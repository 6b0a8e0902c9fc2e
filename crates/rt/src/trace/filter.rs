//! Which accesses add nothing to the trace.
//!
//! Between two transitions of a thread, an access adds no information about races if all its bytes
//! were accessed before in the same or a stronger way: a write conflicts with everything that a
//! read conflicts with, and no other thread came in between. So the length of a trace follows the
//! number of distinct locations, not of accesses.
//!
//! A table remembers for each granule of 8 bytes which of them were read and written in the present
//! epoch. Entries are replaced when two granules compete for one, which only costs records. There
//! is a small table, which fits into the first cache of a processor, and a large one for accesses
//! far behind the last transition.
//!
//! Invariant: what a thread records follows from its own accesses since its last transition, never
//! from what other threads did before. So equivalent schedules give the same records.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use raddle_wire::record;

use crate::state::run;
use crate::syscall;

/// Bytes of a granule, of which an entry has a bit each.
const GRANULE: u64 = 8;
/// Entries of the small table.
const FEW: usize = 1 << 10;
/// Entries of the large table. Memory is used as it is touched: 32 MB at most.
const MANY: usize = 1 << 21;
/// Accesses of a thread since its last transition before it uses the large table.
const LONG_SEGMENT: u32 = 1 << 14;
/// Bytes that are looked up, at most. A larger range is always recorded.
const LONGEST: u64 = 1 << 10;
/// A block that is larger is not forgotten byte by byte.
const LARGE_BLOCK: u64 = 1 << 14;

/// What is known of a granule.
#[derive(Clone, Copy)]
struct Entry {
    granule: u64,
    /// The epoch, then a bit for each byte that was written, then one for each that was read.
    seen: u64,
}

const UNUSED: Entry = Entry { granule: 0, seen: 0 };

/// Belongs to the process: an entry is valid only in its epoch, and epochs are never used again.
struct SmallTable(UnsafeCell<[Entry; FEW]>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for SmallTable {}

static SMALL: SmallTable = SmallTable(UnsafeCell::new([UNUSED; FEW]));

/// The large table; null until it is needed. It belongs to the process, too.
static LARGE: AtomicPtr<Entry> = AtomicPtr::new(core::ptr::null_mut());

/// A table of entries; their number is a power of 2.
#[derive(Clone, Copy)]
struct Table {
    entries: *mut Entry,
    mask: usize,
}

impl Table {
    const fn small() -> Self {
        Table { entries: SMALL.0.get().cast(), mask: FEW - 1 }
    }

    /// The large one, if there is one.
    fn large() -> Option<Self> {
        let entries = LARGE.load(Relaxed);
        (!entries.is_null()).then_some(Table { entries, mask: MANY - 1 })
    }

    /// The one for an access with this number since the thread's last transition.
    #[inline(always)]
    fn of(count: u32) -> Self {
        if count < LONG_SEGMENT { Table::small() } else { Table::large().unwrap_or_else(Table::make_large) }
    }

    /// Makes the large one. Without memory for it, the small one.
    #[cold]
    #[inline(never)]
    fn make_large() -> Self {
        if let Some(memory) = syscall::map(MANY * size_of::<Entry>()) {
            LARGE.store(memory.cast(), Relaxed);
        }
        Table::large().unwrap_or(Table::small())
    }

    /// The entry of a granule.
    #[inline(always)]
    fn entry(self, granule: u64) -> &'static mut Entry {
        // Neighbours stay neighbours; stacks and heaps begin at different entries.
        let index = (granule ^ granule >> 22) as usize & self.mask;
        // SAFETY: the table has `mask + 1` entries and lives for ever; rule 4 of the crate.
        unsafe { &mut *self.entries.add(index) }
    }
}

/// What a table has on an access within one granule is looked up only: true if the access adds
/// nothing. `count` is its number since the thread's last transition.
#[inline(always)]
pub fn is_known(kind: u8, address: u64, size: u64, count: u32, epoch: u64) -> bool {
    let (granule, offset) = (address / GRANULE, address % GRANULE);
    let table = if count < LONG_SEGMENT { Some(Table::small()) } else { Table::large() };
    let Some(table) = table.filter(|_| size <= GRANULE && offset + size <= GRANULE) else { return false };
    let entry = table.entry(granule);
    let bytes = (0xff >> (GRANULE - size)) << offset;
    let stronger = if kind == record::WRITE { entry.seen >> 8 } else { entry.seen >> 8 | entry.seen };
    entry.granule == granule && entry.seen >> 16 == epoch && stronger & bytes == bytes
}

/// Whether these bytes of a granule were accessed so in this epoch; remembers it otherwise.
#[inline(always)]
fn covers(table: Table, kind: u8, granule: u64, bytes: u64, epoch: u64) -> bool {
    let entry = table.entry(granule);
    let is_valid = entry.granule == granule && entry.seen >> 16 == epoch;
    let seen = if is_valid { entry.seen } else { epoch << 16 };
    let (stronger, shift) = if kind == record::WRITE { (seen >> 8, 8) } else { (seen >> 8 | seen, 0) };
    if stronger & bytes == bytes {
        return true;
    }
    *entry = Entry { granule, seen: seen | bytes << shift };
    false
}

/// Whether an access adds nothing; remembers it otherwise. `count` is its number since the thread's
/// last transition.
#[inline(always)]
pub fn adds_nothing(kind: u8, address: u64, size: u64, count: u32) -> bool {
    let (granule, offset) = (address / GRANULE, address % GRANULE);
    if offset + size <= GRANULE {
        let bytes = (0xff >> (GRANULE - size)) << offset;
        return covers(Table::of(count), kind, granule, bytes, run().hot.epoch);
    }
    size <= LONGEST && adds_nothing_in_pieces(kind, address, size, count)
}

#[inline(never)]
fn adds_nothing_in_pieces(kind: u8, address: u64, size: u64, count: u32) -> bool {
    let (table, epoch) = (Table::of(count), run().hot.epoch);
    let (mut at, end) = (address, address.saturating_add(size));
    let mut known = true;
    while at < end {
        let offset = at % GRANULE;
        let len = (GRANULE - offset).min(end - at);
        let bytes = (0xff >> (GRANULE - len)) << offset;
        known &= covers(table, kind, at / GRANULE, bytes, epoch);
        at += len;
    }
    known
}

/// These bytes have another owner now: accesses to them that were made before are others.
pub fn forget(address: u64, size: u64) {
    crate::observed::owner_changes();
    if size > LARGE_BLOCK {
        run().hot.epoch += 1;
        return;
    }
    let last = address.saturating_add(size.max(1) - 1) / GRANULE;
    for table in [Some(Table::small()), Table::large()].into_iter().flatten() {
        for granule in address / GRANULE..=last {
            let entry = table.entry(granule);
            if entry.granule == granule {
                *entry = UNUSED;
            }
        }
    }
}
