//! Shadow memory: the accesses remembered for each cell of 8 bytes.
//!
//! A cell has one record for each different access (thread, kind, bytes, place). A later access of
//! the same sort replaces the earlier one: whatever would race with the earlier one races with the
//! later one too. So the number of records is bounded by the accesses in the program, not by those
//! in the execution.
//!
//! Pages stay from one execution to the next, because addresses do. A number in each cell says
//! whether its content is of this execution. The records of a cell lie side by side, oldest first,
//! because each access looks at all of them: a piece of memory that is full is left for one of
//! twice its size. It is kept for the next execution, because that makes the same accesses.

use std::ops::Range;

use raddle_vocab::MappingChange;
use rustc_hash::FxHashMap;

use super::clock::List;

/// Cells in a page.
const PAGE: u64 = 64;
/// Pages that are found without hashing, at most.
const RECENT: u64 = 64;
/// Ranges whose pages are remembered, at most.
const RANGES: usize = 256;
/// The number of no page.
const NONE: u32 = u32::MAX;
/// Sizes of pieces of memory for records: the powers of 2.
const SIZES: usize = 32;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Touching {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic read, or an atomic operation that failed.
    AtomicRead,
    /// An atomic write.
    AtomicWrite,
    /// An operation on a synchronising object that lies there: it must still be there, and no plain
    /// write may come in between.
    Use,
    /// The heap block that it belongs to is given back.
    Free,
    /// A synchronising object that lies there is initialised or destroyed.
    Make,
    /// The mapping that it belongs to changes.
    Mapping(#[serde(with = "crate::saved::mapping_change")] MappingChange),
}

/// Sorts of accesses that are no changes of mappings.
const PLAIN_KINDS: usize = 7;
/// All sorts of accesses: a bit each in [`Touching::conflicting`].
const KINDS: usize = PLAIN_KINDS + MappingChange::ALL.len();

impl Touching {
    const ALL: [Touching; KINDS] = {
        let mut all = [Touching::Read; KINDS];
        let plain = [
            Touching::Read,
            Touching::Write,
            Touching::AtomicRead,
            Touching::AtomicWrite,
            Touching::Use,
            Touching::Free,
            Touching::Make,
        ];
        let mut at = 0;
        while at < KINDS {
            all[at] =
                if at < PLAIN_KINDS { plain[at] } else { Touching::Mapping(MappingChange::ALL[at - PLAIN_KINDS]) };
            at += 1;
        }
        all
    };

    /// Its number in [`Self::ALL`].
    #[inline]
    const fn number(self) -> u8 {
        match self {
            Touching::Read => 0,
            Touching::Write => 1,
            Touching::AtomicRead => 2,
            Touching::AtomicWrite => 3,
            Touching::Use => 4,
            Touching::Free => 5,
            Touching::Make => 6,
            Touching::Mapping(change) => PLAIN_KINDS as u8 + change as u8,
        }
    }

    /// All that it races with if that came before it in the execution, one bit each.
    #[inline]
    fn conflicting(self) -> u32 {
        const TABLE: [u32; KINDS] = {
            let mut table = [0; KINDS];
            let mut a = 0;
            while a < KINDS {
                assert!(Touching::ALL[a].number() as usize == a);
                let mut b = 0;
                while b < KINDS {
                    table[a] |= (Touching::ALL[a].races_behind(Touching::ALL[b]) as u32) << b;
                    b += 1;
                }
                a += 1;
            }
            table
        };
        TABLE[self.number() as usize]
    }

    /// Whether it conflicts with an earlier one. Rights that are given change nothing for what was
    /// accessed before: if other threads had taken the rights meanwhile, that is what it conflicts
    /// with.
    const fn races_behind(self, earlier: Touching) -> bool {
        let only_gives = matches!(self, Touching::Mapping(change) if change.only_gives());
        self.conflicts(earlier) && !(only_gives && earlier.mapping().is_none())
    }

    /// Whether it only reads.
    pub(super) const fn only_reads(self) -> bool {
        matches!(self, Touching::Read | Touching::AtomicRead)
    }

    /// The change of a mapping that it is, if it is one.
    #[must_use]
    pub const fn mapping(self) -> Option<MappingChange> {
        match self {
            Touching::Mapping(change) => Some(change),
            _ => None,
        }
    }

    /// Whether two accesses by different threads must be ordered.
    #[must_use]
    pub const fn conflicts(self, other: Touching) -> bool {
        use Touching::{AtomicRead, AtomicWrite, Free, Make, Mapping, Read, Use, Write};
        match (self, other) {
            (Mapping(change), Mapping(other)) => change.conflicts(other),
            // Uses are compared only where objects end by themselves.
            (Mapping(MappingChange::ThreadEnd), Use | Make) | (Use | Make, Mapping(MappingChange::ThreadEnd)) => false,
            (Mapping(change), access) | (access, Mapping(change)) => change.conflicts_with_access(access.only_reads()),
            (Free | Make, _) | (_, Free | Make) => true,
            (Use, other) | (other, Use) => matches!(other, Write),
            (AtomicRead | AtomicWrite, AtomicRead | AtomicWrite) => false,
            (Write | AtomicWrite, _) | (_, Write | AtomicWrite) => true,
            (Read | AtomicRead, Read | AtomicRead) => false,
        }
    }
}

/// An access to a part of one cell. Long executions have many millions, so there is no padding.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(super) struct Record {
    pub thread: u16,
    pub what: Touching,
    pub bytes: u8,
    pub epoch: u32,
    pub pc: u64,
    /// Number of the access, or of the event with [`EVENT`] set.
    pub position: u32,
}

impl Record {
    /// An access to no byte yet.
    #[inline]
    pub fn new(thread: u16, what: Touching, epoch: u32, pc: u64, position: u32) -> Self {
        Record { thread, what, bytes: 0, epoch, pc, position }
    }

    /// The access, as far as it is to these bytes of a cell.
    #[inline]
    pub fn to(self, bytes: u8) -> Self {
        Record { bytes, ..self }
    }

    /// Whether both are the same sort of access, so that the later one stands for both.
    #[inline]
    pub fn is_like(&self, other: &Record) -> bool {
        (self.thread, self.what, self.bytes, self.pc) == (other.thread, other.what, other.bytes, other.pc)
    }

    /// Whether the two accesses, if a byte is common to them, race. `seen` is the clock of the
    /// thread that made the later one.
    #[inline]
    pub fn races_with(&self, later: &Record, seen: &[u32]) -> bool {
        self.thread != later.thread
            && later.what.conflicting() >> self.what.number() & 1 != 0
            && self.epoch > seen[usize::from(self.thread)]
    }
}

/// Bit of [`Record::position`].
pub(super) const EVENT: u32 = 1 << 31;

/// What becomes of an access that is compared with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// It is ordered behind all that conflict with it, or was compared before.
    Ordered,
    /// It is not.
    Racing,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    run: u32,
    /// Its oldest record, and how many there are.
    first: u32,
    fill: Fill,
    /// Clocks of what lies in it.
    clocks: List,
    marks: Marks,
}

/// What has to be known of the bytes of a cell, a bit for each byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Something that carries a clock starts there.
    pub carriers: u8,
    /// The program may not access it: outside of every heap block, or in a freed one.
    pub forbidden: u8,
    /// It belongs to a synchronising object that was used, in this execution or before.
    pub objects: u8,
    /// Size of the largest such object that begins at the first byte; 0 if there is none.
    pub object_size: u8,
}

/// How many records a cell has, and in the upper bits for how many it has room: for none if they
/// are 0, else for a power of 2.
#[derive(Clone, Copy, Debug)]
struct Fill(u32);

impl Fill {
    /// No records, and no room for any.
    const NONE: Fill = Fill(0);
    /// Where the size of the room stands.
    const ROOM: u32 = 27;

    #[inline]
    fn len(self) -> usize {
        (self.0 & ((1 << Self::ROOM) - 1)) as usize
    }

    #[inline]
    fn room(self) -> usize {
        (1 << (self.0 >> Self::ROOM)) >> 1
    }

    /// So many records in the same room.
    #[inline]
    fn with(self, len: usize) -> Self {
        debug_assert!(len <= self.room());
        Fill(self.0 >> Self::ROOM << Self::ROOM | len as u32)
    }

    /// The same records in a room of twice the size, or for one.
    #[inline]
    fn grown(self) -> Self {
        Fill(self.0 + (1 << Self::ROOM))
    }
}

const UNMET: Cell = Cell {
    run: 0,
    first: 0,
    fill: Fill::NONE,
    clocks: List::NONE,
    marks: Marks { carriers: 0, forbidden: 0, objects: 0, object_size: 0 },
};

impl Cell {
    /// Where its records are.
    #[inline]
    fn range(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.fill.len()
    }
}

/// All cells of one address space.
#[derive(Debug)]
pub(super) struct Shadow {
    /// Cells of all pages, one page behind the other.
    cells: Vec<Cell>,
    /// The first cell of each page, by the page's number.
    pages: FxHashMap<u64, u32>,
    /// The numbers of the pages, in the order in which they came.
    numbers: Vec<u64>,
    /// For each of them the last execution in which a cell of it was met.
    met: Vec<u32>,
    /// What pages there are in ranges that are asked for in each execution, by their beginnings.
    ranges: [PagesWithin; RANGES],
    /// Pages looked up lately and their first cells, by the low bits of their numbers.
    recent: [(u64, u32); RECENT as usize],
    records: Vec<Record>,
    /// Pieces of `records` that were left, by the logarithm of their size.
    left: [Vec<u32>; SIZES],
    run: u32,
}

impl Default for Shadow {
    fn default() -> Self {
        let recent = [(u64::MAX, NONE); RECENT as usize];
        Shadow {
            cells: Vec::new(),
            pages: FxHashMap::default(),
            numbers: Vec::new(),
            met: Vec::new(),
            ranges: std::array::from_fn(|_| PagesWithin::default()),
            recent,
            records: Vec::new(),
            left: Default::default(),
            run: 0,
        }
    }
}

/// A cell of this execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRef(u32);

/// The pages within a range.
#[derive(Debug, Default)]
struct PagesWithin {
    /// Its first cell, and the one behind the last.
    range: (u64, u64),
    /// How many pages there were when this was found out.
    seen: usize,
    /// Which of them have a cell in the range: their numbers and places among all, in order.
    pages: Vec<(u64, u32)>,
}

impl Shadow {
    /// Forgets everything.
    pub fn reset(&mut self) {
        if self.run == u32::MAX {
            self.cells.iter_mut().for_each(|cell| cell.run = 0);
            self.met.fill(0);
            self.run = 0;
        }
        self.run += 1;
    }

    /// The cell, and whether it is met for the first time.
    #[inline]
    pub fn cell(&mut self, cell: u64) -> (CellRef, bool) {
        let page = cell / PAGE;
        let (recent, first) = self.recent[(page % RECENT) as usize];
        let first = if recent == page { first } else { self.page(page) };
        let at = CellRef(first + (cell % PAGE) as u32);
        let run = self.run;
        let state = self.state(at);
        let fresh = state.run != run;
        if fresh {
            // Objects stay where they are from one execution to the next, and so does the room for
            // records.
            let marks = Marks { carriers: 0, forbidden: 0, ..state.marks };
            *state = Cell { run, first: state.first, fill: state.fill.with(0), clocks: List::NONE, marks };
            self.met[at.0 as usize / PAGE as usize] = run;
        }
        (at, fresh)
    }

    #[cold]
    fn page(&mut self, page: u64) -> u32 {
        let (cells, numbers, met) = (&mut self.cells, &mut self.numbers, &mut self.met);
        let first = *self.pages.entry(page).or_insert_with(|| {
            let first = cells.len();
            cells.resize(first + PAGE as usize, UNMET);
            numbers.push(page);
            met.push(0);
            first as u32
        });
        self.recent[(page % RECENT) as usize] = (page, first);
        first
    }

    #[inline]
    fn state(&mut self, at: CellRef) -> &mut Cell {
        &mut self.cells[at.0 as usize]
    }

    /// The records of the cell.
    pub fn records(&self, at: CellRef) -> impl Iterator<Item = &Record> {
        self.records[self.cells[at.0 as usize].range()].iter()
    }

    /// Compares a new access with the cell's records and adds it to them. `seen` is the clock of
    /// the accessing thread.
    #[inline]
    pub fn compare(&mut self, at: CellRef, new: &Record, seen: &[u32]) -> Compared {
        let conflicting = new.what.conflicting();
        let mut compared = Compared::Ordered;
        let mut is_known = false;
        for old in &mut self.records[self.cells[at.0 as usize].range()] {
            if old.thread == new.thread {
                if old.is_like(new) {
                    // If the thread has published nothing since, an access in between raced with
                    // the old one and was reported then.
                    if old.epoch == new.epoch {
                        return Compared::Ordered;
                    }
                    (old.epoch, old.position) = (new.epoch, new.position);
                    is_known = true;
                }
            } else if conflicting >> old.what.number() & 1 != 0
                && old.bytes & new.bytes != 0
                && old.epoch > seen[usize::from(old.thread)]
            {
                compared = Compared::Racing;
            }
        }
        if !is_known {
            self.push(at, new);
        }
        compared
    }

    /// Adds a record.
    #[inline]
    pub fn push(&mut self, at: CellRef, record: &Record) {
        let cell = &self.cells[at.0 as usize];
        if cell.fill.len() == cell.fill.room() {
            self.grow(at);
        }
        let cell = &mut self.cells[at.0 as usize];
        let len = cell.fill.len();
        self.records[cell.first as usize + len] = *record;
        cell.fill = cell.fill.with(len + 1);
    }

    /// Moves the records of a cell to a piece that has room for twice as many, or for one.
    #[cold]
    fn grow(&mut self, at: CellRef) {
        let cell = self.cells[at.0 as usize];
        let fill = cell.fill.grown();
        let first = match self.left[fill.room().trailing_zeros() as usize].pop() {
            Some(first) => first,
            None => {
                let first = self.records.len();
                self.records.resize(first + fill.room(), Record::new(0, Touching::Read, 0, 0, 0));
                first as u32
            }
        };
        if cell.fill.room() != 0 {
            self.records.copy_within(cell.range(), first as usize);
            self.left[cell.fill.room().trailing_zeros() as usize].push(cell.first);
        }
        let cell = &mut self.cells[at.0 as usize];
        (cell.first, cell.fill) = (first, fill);
    }

    /// Forgets the records of the bytes.
    pub fn erase(&mut self, at: CellRef, bytes: u8) {
        let range = self.cells[at.0 as usize].range();
        let mut kept = range.start;
        for index in range.clone() {
            let mut record = self.records[index];
            record.bytes &= !bytes;
            if record.bytes != 0 {
                self.records[kept] = record;
                kept += 1;
            }
        }
        let cell = &mut self.cells[at.0 as usize];
        cell.fill = cell.fill.with(kept - range.start);
    }

    /// What has to be known of the bytes of the cell.
    #[inline]
    pub fn marks(&mut self, at: CellRef) -> &mut Marks {
        &mut self.state(at).marks
    }

    /// Clocks of what lies in the cell.
    #[inline]
    pub fn clocks(&mut self, at: CellRef) -> &mut List {
        &mut self.state(at).clocks
    }

    /// The cells between two (the second excluded) that were met in this execution, in order.
    pub fn known_cells(&self, from: u64, to: u64) -> Vec<u64> {
        let pages = from / PAGE..to.div_ceil(PAGE);
        let mut found: Vec<(u64, u32)> = if pages.end - pages.start <= self.pages.len() as u64 {
            pages.filter_map(|page| self.pages.get(&page).map(|&first| (page, first))).collect()
        } else {
            self.pages.iter().map(|(&page, &first)| (page, first)).filter(|(page, _)| pages.contains(page)).collect()
        };
        found.sort_unstable();
        let mut cells = Vec::new();
        for (page, first) in found {
            self.add_met(page, first, &(from..to), &mut cells);
        }
        cells
    }

    /// The same for a range that is asked for in each execution. It costs what was met in it.
    pub fn known_cells_again(&mut self, from: u64, to: u64) -> Vec<u64> {
        let mut cells = Vec::new();
        let slot = (from.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % RANGES;
        let within = &mut self.ranges[slot];
        if within.range != (from, to) {
            *within = PagesWithin { range: (from, to), ..PagesWithin::default() };
        }
        if within.seen != self.numbers.len() {
            let pages = from / PAGE..to.div_ceil(PAGE);
            let new = self.numbers.iter().zip(0..).skip(within.seen).filter(|(page, _)| pages.contains(page));
            within.pages.extend(new.map(|(&page, place)| (page, place)));
            within.pages.sort_unstable();
            within.seen = self.numbers.len();
        }
        if !within.pages.is_empty() {
            let pages = std::mem::take(&mut within.pages);
            for &(page, place) in &pages {
                self.add_met(page, place * PAGE as u32, &(from..to), &mut cells);
            }
            self.ranges[slot].pages = pages;
        }
        cells
    }

    /// Adds the cells of a page that lie in the range and were met in this execution.
    fn add_met(&self, page: u64, first: u32, range: &Range<u64>, into: &mut Vec<u64>) {
        if self.met[first as usize / PAGE as usize] != self.run {
            return;
        }
        let cells = self.cells[first as usize..].iter().zip(page * PAGE..(page + 1) * PAGE);
        into.extend(cells.filter(|(cell, at)| cell.run == self.run && range.contains(at)).map(|(_, at)| at));
    }
}
