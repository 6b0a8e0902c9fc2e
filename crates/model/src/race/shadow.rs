//! Shadow memory: the accesses remembered for each cell of 8 bytes.
//!
//! A cell has one record for each different access (thread, kind, bytes, place). A later access of
//! the same sort replaces the earlier one: whatever would race with the earlier one races with the
//! later one too. So the number of records is bounded by the accesses in the program, not by those
//! in the execution.
//!
//! Pages stay from one execution to the next, because addresses do. A number in each cell says
//! whether its content is of this execution.

use rustc_hash::FxHashMap;

use super::clock::List;

/// Cells in a page.
const PAGE: usize = 64;
/// Pages that are found without hashing, at most.
const RECENT: usize = 64;

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
    /// A synchronising object that lies there is initialised or destroyed.
    Make,
}

impl Touching {
    const ALL: [Touching; 7] = [
        Touching::Read,
        Touching::Write,
        Touching::AtomicRead,
        Touching::AtomicWrite,
        Touching::Use,
        Touching::Free,
        Touching::Make,
    ];

    /// All that it conflicts with, one bit each.
    #[inline]
    fn conflicting(self) -> u8 {
        const KINDS: usize = Touching::ALL.len();
        const TABLE: [u8; KINDS] = {
            let mut table = [0; KINDS];
            let mut a = 0;
            while a < KINDS {
                let mut b = 0;
                while b < KINDS {
                    table[a] |= (Touching::ALL[a].conflicts(Touching::ALL[b]) as u8) << b;
                    b += 1;
                }
                a += 1;
            }
            table
        };
        TABLE[self as usize]
    }

    /// Whether two accesses by different threads must be ordered.
    #[must_use]
    pub const fn conflicts(self, other: Touching) -> bool {
        use Touching::{AtomicRead, AtomicWrite, Free, Make, Read, Use, Write};
        match (self, other) {
            (Free | Make, _) | (_, Free | Make) => true,
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
    /// Number of the access, or of the step with [`EVENT`] set.
    pub position: u32,
}

impl Record {
    /// Whether both are the same sort of access, so that the later one stands for both.
    #[inline]
    fn is_like(&self, other: &Record) -> bool {
        (self.thread, self.what, self.bytes, self.pc) == (other.thread, other.what, other.bytes, other.pc)
    }
}

/// Bit of [`Record::position`].
pub(super) const EVENT: u32 = 1 << 31;

/// What becomes of an access that is compared with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// It is ordered behind all that conflict with it.
    Ordered,
    /// It is not.
    Racing,
    /// It is one that was compared before.
    Known,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    run: u32,
    /// Where its records lie, how many there are, and for how many there is room.
    start: u32,
    len: u16,
    room: u16,
    /// Bytes at which something that carries a clock starts.
    carriers: u8,
    /// Bytes that the program may not access: outside of every heap block, or in a freed one.
    forbidden: u8,
    /// Their clocks.
    clocks: List,
}

const UNMET: Cell = Cell { run: 0, start: 0, len: 0, room: 0, carriers: 0, forbidden: 0, clocks: List::NONE };

/// All cells of one address space.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: Vec<[Cell; PAGE]>,
    numbers: FxHashMap<u64, u32>,
    /// Pages looked up lately and where they are, by the low bits of their numbers.
    recent: Vec<(u64, u32)>,
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
        self.recent.resize(RECENT, (u64::MAX, 0));
    }

    /// The cell, and whether it is met for the first time.
    #[inline]
    pub fn cell(&mut self, cell: u64) -> (CellRef, bool) {
        let page = cell / PAGE as u64;
        let slot = page as usize % RECENT;
        if self.recent[slot].0 != page {
            self.recent[slot] = (page, self.page(page));
        }
        let at = CellRef { page: self.recent[slot].1, index: (cell % PAGE as u64) as u32 };
        let run = self.run;
        let state = self.state(at);
        let fresh = state.run != run;
        if fresh {
            *state = Cell { run, ..UNMET };
        }
        (at, fresh)
    }

    fn page(&mut self, page: u64) -> u32 {
        let pages = &mut self.pages;
        *self.numbers.entry(page).or_insert_with(|| {
            pages.push([UNMET; PAGE]);
            pages.len() as u32 - 1
        })
    }

    #[inline]
    fn state(&mut self, at: CellRef) -> &mut Cell {
        &mut self.pages[at.page as usize][at.index as usize]
    }

    /// The records of the cell.
    #[inline]
    pub fn records(&mut self, at: CellRef) -> &mut [Record] {
        let Cell { start, len, .. } = *self.state(at);
        &mut self.records[start as usize..start as usize + usize::from(len)]
    }

    /// Compares a new access with the cell's records and adds it to them. `seen` is the clock of
    /// the accessing thread.
    #[inline]
    pub fn compare(&mut self, at: CellRef, new: &Record, seen: &[u32]) -> Compared {
        let conflicting = new.what.conflicting();
        let mut compared = Compared::Ordered;
        let mut same = None;
        for (number, old) in self.records(at).iter_mut().enumerate() {
            if old.thread == new.thread {
                if old.is_like(new) {
                    // The thread has published nothing since, so an access in between raced with
                    // the old one and was reported then.
                    if old.epoch == new.epoch {
                        return Compared::Known;
                    }
                    same = Some(number);
                }
            } else if conflicting >> (old.what as u8) & 1 != 0
                && old.bytes & new.bytes != 0
                && old.epoch > seen[usize::from(old.thread)]
            {
                compared = Compared::Racing;
            }
        }
        match same {
            Some(number) => self.records(at)[number] = *new,
            None => self.push(at, *new),
        }
        compared
    }

    /// Adds a record.
    pub fn push(&mut self, at: CellRef, record: Record) {
        let cell = *self.state(at);
        if cell.room == 0 {
            // Most cells have one record.
            let start = self.records.len() as u32;
            *self.state(at) = Cell { start, len: 1, room: 1, ..cell };
            self.records.push(record);
            return;
        }
        if cell.len == cell.room {
            // Moves to the end of the buffer, with twice the room.
            let (from, end) = (cell.start as usize, self.records.len());
            let room = cell.room * 2;
            self.records.extend_from_within(from..from + usize::from(cell.len));
            self.records.resize(end + usize::from(room), record);
            *self.state(at) = Cell { start: end as u32, room, ..cell };
        }
        let state = self.state(at);
        state.len += 1;
        let place = state.start as usize + usize::from(state.len) - 1;
        self.records[place] = record;
    }

    /// Forgets the records of the bytes.
    pub fn erase(&mut self, at: CellRef, bytes: u8) {
        let mut kept = 0;
        let records = self.records(at);
        for number in 0..records.len() {
            let record = Record { bytes: records[number].bytes & !bytes, ..records[number] };
            if record.bytes != 0 {
                records[kept] = record;
                kept += 1;
            }
        }
        self.state(at).len = kept as u16;
    }

    /// Bytes of the cell at which something that carries a clock starts.
    #[inline]
    pub fn carriers(&mut self, at: CellRef) -> &mut u8 {
        &mut self.state(at).carriers
    }

    /// Bytes of the cell that the program may not access.
    #[inline]
    pub fn forbidden(&mut self, at: CellRef) -> &mut u8 {
        &mut self.state(at).forbidden
    }

    /// Clocks of what lies in the cell.
    #[inline]
    pub fn clocks(&mut self, at: CellRef) -> &mut List {
        &mut self.state(at).clocks
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
