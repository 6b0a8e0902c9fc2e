//! Records of accesses, and which of them clash.

use std::rc::Rc;

use raddle_model::facts::Facts;
use raddle_model::facts::places::{Home, LockSet, Where};
use rustc_hash::{FxHashMap, FxHashSet};

use super::threads::{Key, Threads};

/// An access that was made or may come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub key: Key,
    pub at: Where,
    /// What the bytes belong to.
    pub home: HomeKey,
    pub write: bool,
    pub atomic: bool,
    pub held: Rc<LockSet>,
}

/// [`Home`] in a form that can be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HomeKey {
    Global,
    Block(Option<u64>, u64),
    Other,
}

impl From<HomeKey> for Home {
    fn from(key: HomeKey) -> Self {
        match key {
            HomeKey::Global => Home::Global,
            HomeKey::Block(site, base) => Home::Block(site, base),
            HomeKey::Other => Home::Other,
        }
    }
}

/// Whether the two may touch the same bytes.
pub(super) fn overlap(facts: &Facts, a: &Record, b: &Record) -> bool {
    match (a.at, b.at) {
        (Where::Any, _) | (_, Where::Any) => true,
        (Where::Bytes { from, to }, Where::Bytes { from: low, to: high }) => from < high && low < to,
        (Where::Bytes { from, to }, Where::Part(span)) => facts.may_be(from, to, a.home.into(), span),
        (Where::Part(span), Where::Bytes { from, to }) => facts.may_be(from, to, b.home.into(), span),
        (Where::Part(a), Where::Part(b)) => a.object == b.object && a.from < b.to && b.from < a.to,
    }
}

/// What the accesses to an object amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    /// One thread reads it.
    ReadOwn(Key),
    /// One thread reads and writes it.
    WriteOwn(Key),
    /// Several threads read it.
    Shared,
    /// Several threads, and one of them writes.
    Race,
}

impl ThreadState {
    fn of(record: &Record, many: bool) -> Self {
        match (many, record.write) {
            (false, false) => ThreadState::ReadOwn(record.key),
            (false, true) => ThreadState::WriteOwn(record.key),
            (true, false) => ThreadState::Shared,
            (true, true) => ThreadState::Race,
        }
    }

    fn meet(self, record: &Record, many: bool) -> Self {
        let own = |key| key == record.key && !many;
        match self {
            ThreadState::ReadOwn(key) if own(key) => ThreadState::of(record, many),
            ThreadState::WriteOwn(key) if own(key) => self,
            ThreadState::ReadOwn(_) | ThreadState::Shared if !record.write => ThreadState::Shared,
            _ => ThreadState::Race,
        }
    }
}

/// Cells of 8 bytes that a record may have before it counts as wide.
const WIDE: u64 = 64;

/// The records from some state on.
#[derive(Debug, Default)]
pub(super) struct Future {
    met: FxHashSet<Record>,
    cells: FxHashMap<u64, (ThreadState, Vec<Record>)>,
    /// Records that are not a few cells.
    wide: Vec<Record>,
    /// All records, for comparison with wide ones.
    all: Vec<Record>,
    /// Whether an object's thread state is asked before its records are compared.
    filter: bool,
}

/// How a record stands to others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meeting {
    /// Another thread may touch the same bytes, and one of the two writes: a data conflict.
    pub conflict: bool,
    /// No lock keeps the two apart: a data race, as far as locks tell.
    pub race: bool,
}

impl Meeting {
    /// Notes another record.
    pub fn meet(&mut self, facts: &Facts, threads: &Threads, one: &Record, other: &Record) {
        if !self.race && conflict(facts, threads, one, other) {
            self.conflict = true;
            self.race = !one.held.excludes(&other.held);
        }
    }
}

impl Future {
    pub fn new(filter: bool) -> Self {
        Future { filter, ..Future::default() }
    }

    /// Adds a record; `Some` if it is new, saying how it stands to those that are there.
    pub fn add(&mut self, record: &Record, facts: &Facts, threads: &Threads) -> Option<Meeting> {
        if !self.met.insert(record.clone()) {
            return None;
        }
        let many = threads.differ(record.key, record.key);
        self.all.push(record.clone());
        let mut meeting = Meeting::default();
        let mut compare = |other: &Record| meeting.meet(facts, threads, record, other);
        match cells_of(record) {
            Some(cells) => {
                for cell in cells {
                    let fresh = || (ThreadState::of(record, many), Vec::new());
                    let (state, records) = self.cells.entry(cell).or_insert_with(fresh);
                    *state = state.meet(record, many);
                    records.push(record.clone());
                    if !self.filter || *state == ThreadState::Race {
                        records.iter().for_each(&mut compare);
                    }
                }
                self.wide.iter().for_each(&mut compare);
            }
            None => {
                self.wide.push(record.clone());
                self.all.iter().for_each(&mut compare);
            }
        }
        Some(meeting)
    }
}

fn cells_of(record: &Record) -> Option<std::ops::RangeInclusive<u64>> {
    match record.at {
        Where::Bytes { from, to } if from < to && (to - 1) / 8 - from / 8 < WIDE => Some(from / 8..=(to - 1) / 8),
        _ => None,
    }
}

/// Whether two records of different threads conflict.
fn conflict(facts: &Facts, threads: &Threads, a: &Record, b: &Record) -> bool {
    (a.write || b.write) && !(a.atomic && b.atomic) && threads.differ(a.key, b.key) && overlap(facts, a, b)
}

/// An access that was made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub record: Record,
    pub thread: u16,
    /// The transition that it belongs to, and its number among the thread's.
    pub at: usize,
    pub count: u32,
    pub pc: u64,
}

/// All accesses of an execution, found by place.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub list: Vec<Made>,
    cells: FxHashMap<u64, Vec<u32>>,
    wide: Vec<u32>,
}

impl Past {
    pub fn add(&mut self, made: Made) {
        let number = self.list.len() as u32;
        match cells_of(&made.record) {
            Some(cells) => cells.for_each(|cell| self.cells.entry(cell).or_default().push(number)),
            None => self.wide.push(number),
        }
        self.list.push(made);
    }

    /// Calls back for every access that may touch the same bytes, perhaps more than once.
    pub fn near(&self, record: &Record, mut visit: impl FnMut(&Made)) {
        let made = |number: &u32| &self.list[*number as usize];
        match cells_of(record) {
            Some(cells) => {
                for cell in cells {
                    self.cells.get(&cell).into_iter().flatten().for_each(|number| visit(made(number)));
                }
                self.wide.iter().for_each(|number| visit(made(number)));
            }
            None => self.list.iter().for_each(visit),
        }
    }
}
