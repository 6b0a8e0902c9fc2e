//! Which accesses add nothing to the trace: the rule of the runtime (`rt::trace::filter`), with a
//! table of the plug-in's own.
//!
//! Between two transitions of a thread, an access adds nothing if all its bytes were accessed
//! before in the same or a stronger way. Invariant: what a thread records follows from its own
//! accesses since its last transition.

/// Bytes of a granule, of which an entry has a bit each.
const GRANULE: u64 = 8;
/// Entries of the table; a power of two.
const ENTRIES: usize = 1 << 14;

/// When something was seen: it holds only until the next transition or switch, and until bytes have
/// another owner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Of the running thread.
    pub thread: u64,
    /// Of the owners of all bytes.
    pub owners: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    granule: u64,
    epoch: Epoch,
    /// A bit for each byte that was read, and for each that was written.
    read: u8,
    written: u8,
}

const UNUSED: Entry = Entry { granule: 0, epoch: Epoch { thread: 0, owners: 0 }, read: 0, written: 0 };

/// What was accessed in the present epoch.
pub struct Filter {
    entries: [Entry; ENTRIES],
}

impl Filter {
    /// Nothing.
    pub const EMPTY: Filter = Filter { entries: [UNUSED; ENTRIES] };

    /// Whether an access adds nothing; remembers it otherwise.
    #[inline(always)]
    pub fn adds_nothing(&mut self, is_write: bool, address: u64, size: u64, epoch: Epoch) -> bool {
        let mut known = true;
        let (mut at, end) = (address, address.saturating_add(size));
        while at < end {
            let offset = at % GRANULE;
            let len = (GRANULE - offset).min(end - at);
            let bytes = 0xff_u8 >> (GRANULE - len) << offset;
            known &= self.covers(is_write, at / GRANULE, bytes, epoch);
            at += len;
        }
        known
    }

    #[inline(always)]
    fn covers(&mut self, is_write: bool, granule: u64, bytes: u8, epoch: Epoch) -> bool {
        // Neighbours stay neighbours; stacks and heaps begin at different entries.
        let entry = &mut self.entries[(granule ^ granule >> 22) as usize % ENTRIES];
        if entry.granule != granule || entry.epoch != epoch {
            *entry = Entry { granule, epoch, ..UNUSED };
        }
        let stronger = if is_write { entry.written } else { entry.written | entry.read };
        if is_write {
            entry.written |= bytes;
        } else {
            entry.read |= bytes;
        }
        stronger & bytes == bytes
    }
}
