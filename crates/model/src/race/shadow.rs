//! What is remembered of each 8 bytes of memory.
//!
//! Per cell a list of records, one for each different access (thread, kind, bytes, place): a later access of the same sort
//! replaces the earlier one, because whatever the earlier would race with later on, the later does too. So the list is as
//! long as the program has different accesses to the cell, not as the execution.
//!
//! Pages stay from one execution to the next (addresses do), a number in each cell says whether it is of this execution.

use rustc_hash::FxHashMap;

/// Cells in a page.
const PAGE: usize = 64;
/// End of a list.
pub(super) const NONE: u32 = u32::MAX;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Touching {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic read, or an atomic operation that failed.
    AtomicRead,
    /// An atomic write.
    AtomicWrite,
    /// An operation on a synchronising object that lies there: it only must still be there.
    Use,
    /// The heap block that it belongs to is given back.
    Free,
}

impl Touching {
    /// Whether two accesses by different threads must be ordered.
    #[must_use]
    pub fn conflicts(self, other: Touching) -> bool {
        use Touching::{AtomicRead, AtomicWrite, Free, Read, Use, Write};
        match (self, other) {
            (Free, _) | (_, Free) => true,
            (Use, _) | (_, Use) => false,
            (AtomicRead | AtomicWrite, AtomicRead | AtomicWrite) => false,
            (Write | AtomicWrite, _) | (_, Write | AtomicWrite) => true,
            (Read | AtomicRead, Read | AtomicRead) => false,
        }
    }
}

/// An access to a part of one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub thread: u16,
    pub what: Touching,
    pub bytes: u8,
    pub epoch: u32,
    pub pc: u64,
    /// Number of the access, or of the step with [`STEP`] set.
    pub position: u32,
    pub next: u32,
}

/// Bit of [`Record::position`].
pub(super) const STEP: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Cell {
    run: u32,
    head: u32,
    /// Bytes at which something that carries a clock starts.
    carriers: u8,
}

/// All cells of one address space.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: Vec<[Cell; PAGE]>,
    numbers: FxHashMap<u64, u32>,
    /// The page looked up last, and where it is.
    last: (u64, u32),
    records: Vec<Record>,
    run: u32,
}

/// A cell of this execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRef {
    page: u32,
    index: u32,
}

impl Shadow {
    /// Forgets everything.
    pub fn reset(&mut self) {
        if self.run == u32::MAX {
            *self = Shadow::default();
        }
        self.run += 1;
        self.records.clear();
        if self.pages.is_empty() {
            self.last = (u64::MAX, 0);
        }
    }

    /// The cell, and whether it is met for the first time.
    #[inline]
    pub fn cell(&mut self, cell: u64) -> (CellRef, bool) {
        let page = cell / PAGE as u64;
        if self.last.0 != page {
            self.last = (page, self.page(page));
        }
        let at = CellRef { page: self.last.1, index: (cell % PAGE as u64) as u32 };
        let run = self.run;
        let state = self.state(at);
        let fresh = state.run != run;
        if fresh {
            *state = Cell { run, head: NONE, carriers: 0 };
        }
        (at, fresh)
    }

    fn page(&mut self, page: u64) -> u32 {
        let pages = &mut self.pages;
        *self.numbers.entry(page).or_insert_with(|| {
            pages.push([Cell { run: 0, head: NONE, carriers: 0 }; PAGE]);
            pages.len() as u32 - 1
        })
    }

    #[inline]
    fn state(&mut self, at: CellRef) -> &mut Cell {
        &mut self.pages[at.page as usize][at.index as usize]
    }

    /// First record of the cell.
    #[inline]
    pub fn head(&mut self, at: CellRef) -> u32 {
        self.state(at).head
    }

    #[inline]
    pub fn record(&self, number: u32) -> &Record {
        &self.records[number as usize]
    }

    /// Renews a record of the same sort.
    #[inline]
    pub fn renew(&mut self, number: u32, epoch: u32, position: u32) {
        let record = &mut self.records[number as usize];
        record.epoch = epoch;
        record.position = position;
    }

    /// Puts a record in front.
    pub fn push(&mut self, at: CellRef, record: Record) {
        let number = self.records.len() as u32;
        let head = std::mem::replace(&mut self.state(at).head, number);
        self.records.push(Record { next: head, ..record });
    }

    /// Forgets the records of the bytes.
    pub fn erase(&mut self, at: CellRef, bytes: u8) {
        let mut link = None;
        let mut number = self.head(at);
        while number != NONE {
            let next = self.records[number as usize].next;
            self.records[number as usize].bytes &= !bytes;
            if self.records[number as usize].bytes == 0 {
                match link {
                    None => self.state(at).head = next,
                    Some(before) => self.records[before as usize].next = next,
                }
            } else {
                link = Some(number);
            }
            number = next;
        }
    }

    /// Bytes of the cell at which something that carries a clock starts.
    #[inline]
    pub fn carriers(&mut self, at: CellRef) -> &mut u8 {
        &mut self.state(at).carriers
    }

    /// The cells between two (the second excluded) that were met in this execution, in order.
    pub fn known_cells(&self, from: u64, to: u64) -> Vec<u64> {
        let size = PAGE as u64;
        let pages = from / size..to.div_ceil(size);
        let mut found: Vec<(u64, u32)> = if pages.end - pages.start <= self.numbers.len() as u64 {
            pages.filter_map(|page| self.numbers.get(&page).map(|&number| (page, number))).collect()
        } else {
            self.numbers
                .iter()
                .map(|(&page, &number)| (page, number))
                .filter(|(page, _)| pages.contains(page))
                .collect()
        };
        found.sort_unstable();
        let cells = found.into_iter().flat_map(|(page, number)| (0..PAGE).map(move |index| (page, number, index)));
        let met = cells.filter(|&(_, number, index)| self.pages[number as usize][index].run == self.run);
        met.map(|(page, _, index)| page * size + index as u64).filter(|cell| (from..to).contains(cell)).collect()
    }
}
