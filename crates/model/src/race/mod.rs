//! Data races: pairs of conflicting accesses that happens-before does not order.
//!
//! Happens-before is that of C11, where a store says so, otherwise with the release sequences of
//! C++20. Executions are sequentially consistent, so a read sees the last write. These are ordered:
//!
//! * the events of one thread, by program order;
//! * an unlock before later locks; readers of an rwlock before later writers, and writers before
//!   all;
//! * a post before later waits; arrivals at a barrier before departures;
//! * the end of an initialiser before the calls that find it done;
//! * the creation of a thread before its start, and its end before the join;
//! * a release store, with the read-modify-writes that follow it, before an acquire load; the same
//!   through fences;
//! * input and output on one channel.
//!
//! Initialising and destroying a synchronising object are writes of it; every other operation on it
//! is an atomic use, which conflicts with them alone.
//!
//! A signal does not order, as a wake-up may be spurious. A futex by itself does not order either.
//! A relaxed operation orders only through fences. A plain write ends a release sequence.
//!
//! The clocks are those of FastTrack (Flanagan and Freund, PLDI 2009); a thread's time advances
//! where it publishes. Unlike FastTrack, a cell keeps one record per different access. So *all*
//! racing pairs of places of an execution are found, and the result does not depend on the order of
//! independent transitions.
//!
//! Deviation: atomic accesses of different sizes to one location only share a clock if they start
//! at the same byte.

mod clock;
pub mod heap;
mod shadow;
mod sink;
#[cfg(test)]
mod tests;

use raddle_vocab::{Misuse, Outcome};
use rustc_hash::FxHashSet;

use crate::depend::{bytes_within, cells};
use crate::execution::{Access, AccessKind, Event, Execution, Incident, IncidentKind};
use crate::object::{MemoryAction, Op, Operation as _, ThreadOp};
use clock::Clocks;
use heap::{Block, Blocks, MemoryError, Site};
use shadow::{CellRef, Compared, EVENT, Record, Shadow};
use sink::EventOrder;

pub use shadow::Touching;

/// Where in an execution an access was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPosition {
    /// By this element of [`Execution::accesses`].
    Access(u32),
    /// By this element of [`Execution::events`].
    Event(u32),
}

/// One of the two accesses of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Run-local number of the thread.
    pub thread: u16,
    /// What it did.
    pub what: Touching,
    /// Where, in the program.
    pub pc: u64,
    /// Where, in the execution.
    pub position: AccessPosition,
}

/// A pair of accesses that conflict and are not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one that came first in this execution.
    pub first: Side,
    /// The other.
    pub second: Side,
    /// First byte that both touch, within one cell of 8 bytes.
    pub addr: u64,
}

/// Finds races; keeps its buffers from one execution to the next.
#[derive(Debug, Default)]
pub struct RaceDetector {
    clocks: Clocks,
    shadow: Shadow,
    /// Heap blocks. A cell that is accessed for the first time is looked up here.
    blocks: Blocks,
    /// Whether memory is freed in this execution, or an object initialised or destroyed while other
    /// threads live. If not, the use of an object cannot race with its beginning or end.
    objects_end: bool,
    known: FxHashSet<(u64, u64, u64)>,
    races: Vec<Race>,
    /// Places of the accesses in `errors`.
    wrong: FxHashSet<u64>,
    errors: Vec<MemoryError>,
    /// Frees of what was no live block, by the number of the incident, with the block that was
    /// there.
    bad_frees: Vec<(u32, Option<Block>)>,
}

impl RaceDetector {
    /// A detector.
    #[must_use]
    pub fn new() -> Self {
        RaceDetector::default()
    }

    /// Every pair of places that races in the execution, once per cell.
    pub fn races(&mut self, execution: &Execution) -> &[Race] {
        self.clocks.reset(execution.threads.len());
        self.shadow.reset();
        self.blocks.clear();
        self.wrong.clear();
        self.errors.clear();
        self.bad_frees.clear();
        self.objects_end =
            execution.accesses.iter().any(|access| access.kind == AccessKind::Free) || objects_end(&execution.events);
        self.known.clear();
        self.races.clear();
        let threads = execution.threads.len();
        let mut bad_frees = bad_frees(execution).peekable();
        let mut next = 0;
        for (number, event) in execution.events.iter().enumerate() {
            while let Some(access) = execution.accesses.get(next).filter(|access| access.after as usize <= number) {
                while let Some((at, _)) = bad_frees.next_if(|(_, incident)| is_before(incident, access)) {
                    self.bad_free(at, execution);
                }
                self.access(access, next as u32, threads);
                next += 1;
            }
            if usize::from(event.thread) < threads {
                self.event(event, number as u32, threads);
            }
        }
        for (number, access) in execution.accesses.iter().enumerate().skip(next) {
            while let Some((at, _)) = bad_frees.next_if(|(_, incident)| is_before(incident, access)) {
                self.bad_free(at, execution);
            }
            self.access(access, number as u32, threads);
        }
        for (at, _) in bad_frees {
            self.bad_free(at, execution);
        }
        &self.races
    }

    fn access(&mut self, access: &Access, number: u32, threads: usize) {
        if usize::from(access.thread) >= threads {
            return;
        }
        let (addr, size) = (access.addr, access.size);
        let record = |what| self.record(access.thread, what, access.pc, number);
        match access.kind {
            AccessKind::Read => self.touch(addr, size, record(Touching::Read)),
            AccessKind::Write => self.touch(addr, size, record(Touching::Write)),
            AccessKind::Free => self.free(addr, size, record(Touching::Free)),
            AccessKind::Alloc => self.alloc(addr, size, access, number),
        }
    }

    fn record(&self, thread: u16, what: Touching, pc: u64, position: u32) -> Record {
        Record { thread, what, bytes: 0, epoch: self.clocks.epoch(thread), pc, position }
    }

    /// One event: what it takes over, what it touches, what it publishes.
    #[inline]
    fn event(&mut self, event: &Event, number: u32, threads: usize) {
        event.op.order(&mut EventOrder { detector: self, event, number, threads });
    }

    /// The cell that an address lies in. A cell that is accessed for the first time may lie in a
    /// freed block.
    #[inline]
    fn meet(&mut self, cell: u64) -> CellRef {
        let (at, fresh) = self.shadow.cell(cell);
        if fresh && self.blocks.concern(cell << 3) {
            self.inherit_block(at, cell);
        }
        at
    }

    /// Notes that there is a clock for the address, so that writing over it ends that.
    fn carries(&mut self, at: CellRef, addr: u64) {
        *self.shadow.carriers(at) |= 1 << (addr & 7);
    }

    /// What lies at the address is new from now on: nothing has been published through it.
    fn forget_order(&mut self, at: CellRef, addr: u64) {
        self.clocks.clear_all(*self.shadow.clocks(at), addr);
    }

    /// Compares an access with all before it and remembers it.
    #[inline]
    fn touch(&mut self, addr: u64, size: u64, record: Record) {
        if (1..=8 - (addr & 7)).contains(&size) {
            let bytes = (((1u16 << size) - 1) << (addr & 7)) as u8;
            self.touch_cell(addr >> 3, Record { bytes, ..record });
        } else {
            self.touch_cells(addr, size, record);
        }
    }

    fn touch_cells(&mut self, addr: u64, size: u64, record: Record) {
        for (cell, bytes) in cells(addr, size) {
            self.touch_cell(cell, Record { bytes, ..record });
        }
    }

    #[inline]
    fn touch_cell(&mut self, cell: u64, record: Record) {
        let at = self.meet(cell);
        if self.shadow.compare(at, &record, self.clocks.seen(record.thread)) == Compared::Racing {
            self.report(at, cell, &record);
        }
        if record.bytes & *self.shadow.forbidden(at) != 0 {
            self.forbid(at, cell, &record);
        }
        if record.what == Touching::Write {
            self.end_order(at, cell, record.bytes);
        }
    }

    /// A plain write gives atomic locations a value that was not published, and makes synchronising
    /// objects new.
    fn end_order(&mut self, at: CellRef, cell: u64, bytes: u8) {
        let carriers = *self.shadow.carriers(at) & bytes;
        if carriers != 0 {
            for byte in (0..8).filter(|byte| carriers & (1 << byte) != 0) {
                self.forget_order(at, (cell << 3) | byte);
            }
            *self.shadow.carriers(at) &= !bytes;
        }
    }

    /// Reports every pair that the access makes with one before it.
    #[cold]
    fn report(&mut self, at: CellRef, cell: u64, second: &Record) {
        let seen = self.clocks.seen(second.thread);
        for first in self.shadow.records(at).iter() {
            let racing = first.thread != second.thread
                && first.what.conflicts(second.what)
                && first.bytes & second.bytes != 0
                && first.epoch > seen[usize::from(first.thread)];
            let pair = (first.pc.min(second.pc), first.pc.max(second.pc), cell);
            if racing && self.known.insert(pair) {
                let byte = u64::from((first.bytes & second.bytes).trailing_zeros());
                self.races.push(Race { first: side(first), second: side(second), addr: (cell << 3) | byte });
            }
        }
    }

    /// The access is to bytes that belong to no live heap block. If it races with the end of the
    /// block, the race says so.
    #[cold]
    fn forbid(&mut self, at: CellRef, cell: u64, record: &Record) {
        let seen = self.clocks.seen(record.thread);
        let races = self.shadow.records(at).iter().any(|other| {
            let concerns = other.what == Touching::Free && other.bytes & record.bytes != 0;
            concerns && other.thread != record.thread && other.epoch > seen[usize::from(other.thread)]
        });
        if !races && self.wrong.insert(record.pc) {
            let byte = u64::from((record.bytes & *self.shadow.forbidden(at)).trailing_zeros());
            self.errors.push(self.blocks.explain(side(record), (cell << 3) | byte));
        }
    }

    /// What was wrong with the accesses of the last execution to the heap, once for each place.
    #[must_use]
    pub fn memory_errors(&self) -> &[MemoryError] {
        &self.errors
    }

    /// Frees of what was no live block, by the number of the incident, with the block that was
    /// there.
    #[must_use]
    pub fn bad_frees(&self) -> &[(u32, Option<Block>)] {
        &self.bad_frees
    }

    #[cold]
    fn bad_free(&mut self, number: usize, execution: &Execution) {
        let block = self.blocks.block_near(execution.incidents[number].obj);
        self.bad_frees.push((number as u32, block));
    }

    /// The block dies: cells that were met learn it now, others when they are met.
    fn free(&mut self, addr: u64, size: u64, record: Record) {
        let end = addr.saturating_add(size);
        self.blocks.free(addr, end, record);
        let in_heap = heap::contains(addr);
        self.each_known(addr, end, |detector, cell, bytes| {
            detector.touch_cell(cell, Record { bytes, ..record });
            if in_heap {
                let (at, _) = detector.shadow.cell(cell);
                *detector.shadow.forbidden(at) |= bytes;
            }
        });
    }

    /// The block comes to life: what happened to its bytes before concerns something else.
    fn alloc(&mut self, addr: u64, size: u64, access: &Access, number: u32) {
        let end = addr.saturating_add(size);
        let position = AccessPosition::Access(number);
        self.blocks.allocate(addr, end, Site { thread: access.thread, pc: access.pc, position });
        self.each_known(addr, end, |detector, cell, bytes| {
            let (at, _) = detector.shadow.cell(cell);
            detector.shadow.erase(at, bytes);
            detector.end_order(at, cell, bytes);
            *detector.shadow.forbidden(at) &= !bytes;
        });
    }

    /// Calls for every cell of the range that was met, with the bytes that lie in the range.
    fn each_known(&mut self, addr: u64, end: u64, mut act: impl FnMut(&mut Self, u64, u8)) {
        for cell in self.shadow.known_cells(addr >> 3, end.div_ceil(8)) {
            act(self, cell, bytes_within(cell, addr, end));
        }
    }

    /// Notes which bytes of a cell belong to a live block, and the end of the block that it lies in.
    #[cold]
    fn inherit_block(&mut self, at: CellRef, cell: u64) {
        let start = cell << 3;
        *self.shadow.forbidden(at) = self.blocks.forbidden(start);
        if let Some((record, from, to)) = self.blocks.freed(start) {
            let bytes = bytes_within(cell, from, to);
            self.shadow.push(at, Record { bytes, ..record });
        }
    }
}

/// The frees of what was no live block, with their numbers among the incidents.
fn bad_frees(execution: &Execution) -> impl Iterator<Item = (usize, &Incident)> {
    let is_bad = |incident: &Incident| incident.kind == IncidentKind::Misuse(Misuse::BadFree);
    execution.incidents.iter().enumerate().filter(move |(_, incident)| is_bad(incident))
}

/// Whether the incident came before the access. Between two transitions only one thread runs.
fn is_before(incident: &Incident, access: &Access) -> bool {
    let counts = incident.thread != access.thread || incident.count <= access.count;
    incident.after < access.after || incident.after == access.after && counts
}

/// Whether memory is freed, or an object initialised or destroyed while other threads live.
fn objects_end(events: &[Event]) -> bool {
    let mut others = 0u32;
    events.iter().any(|event| match &event.op {
        Op::Thread(ThreadOp::Create { .. }) => {
            others += 1;
            false
        }
        Op::Thread(ThreadOp::Join { .. }) if event.op.outcome() == Outcome::Done => {
            others = others.saturating_sub(1);
            false
        }
        Op::Memory(op) => op.action == MemoryAction::Free,
        op => others > 0 && (op.initialised().is_some() || op.destroyed().is_some()),
    })
}

fn side(record: &Record) -> Side {
    let position = match record.position & EVENT {
        0 => AccessPosition::Access(record.position),
        _ => AccessPosition::Event(record.position & !EVENT),
    };
    Side { thread: record.thread, what: record.what, pc: record.pc, position }
}
