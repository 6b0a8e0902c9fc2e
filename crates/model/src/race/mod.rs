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
mod shadow;
mod sink;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::depend::cells;
use crate::execution::{Access, AccessKind, Event, Execution};
use crate::object::{MemoryAction, Op, Operation as _};
use clock::Clocks;
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

/// A heap block that was given back.
#[derive(Clone, Copy, Debug)]
struct Freed {
    end: u64,
    record: Record,
}

/// Finds races; keeps its buffers from one execution to the next.
#[derive(Debug, Default)]
pub struct RaceDetector {
    clocks: Clocks,
    shadow: Shadow,
    /// Freed blocks, by address. A cell that is accessed for the first time is looked up here.
    freed: BTreeMap<u64, Freed>,
    /// Whether memory is freed in this execution. If not, the use of an object cannot race with a
    /// free.
    frees: bool,
    known: FxHashSet<(u64, u64, u64)>,
    races: Vec<Race>,
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
        self.freed.clear();
        self.frees = execution.accesses.iter().any(|access| access.kind == AccessKind::Free)
            || execution.events.iter().any(|event| frees(&event.op));
        self.known.clear();
        self.races.clear();
        let threads = execution.threads.len();
        let mut next = 0;
        for (number, event) in execution.events.iter().enumerate() {
            while let Some(access) = execution.accesses.get(next).filter(|access| access.after as usize <= number) {
                self.access(access, next as u32, threads);
                next += 1;
            }
            if usize::from(event.thread) < threads {
                self.event(event, number as u32, threads);
            }
        }
        for (number, access) in execution.accesses.iter().enumerate().skip(next) {
            self.access(access, number as u32, threads);
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
            AccessKind::Alloc => self.alloc(addr, size),
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
        if fresh && !self.freed.is_empty() {
            self.inherit_free(at, cell);
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

    /// The block dies: cells that were met learn it now, others when they are met.
    fn free(&mut self, addr: u64, size: u64, record: Record) {
        let end = addr.saturating_add(size);
        self.freed.insert(addr, Freed { end, record });
        self.each_known(addr, end, |detector, cell, bytes| detector.touch_cell(cell, Record { bytes, ..record }));
    }

    /// The block comes to life: what happened to its bytes before concerns something else.
    fn alloc(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        let dead: Vec<u64> = self.freed.range(..end).filter(|(_, freed)| freed.end > addr).map(|(&at, _)| at).collect();
        for at in dead {
            // A part of an old block may stay dead.
            if let Some(freed) = self.freed.remove(&at) {
                if at < addr {
                    self.freed.insert(at, Freed { end: addr, ..freed });
                }
                if freed.end > end {
                    self.freed.insert(end, freed);
                }
            }
        }
        self.each_known(addr, end, |detector, cell, bytes| {
            let (at, _) = detector.shadow.cell(cell);
            detector.shadow.erase(at, bytes);
            detector.end_order(at, cell, bytes);
        });
    }

    /// Calls for every cell of the range that was met, with the bytes that lie in the range.
    fn each_known(&mut self, addr: u64, end: u64, mut act: impl FnMut(&mut Self, u64, u8)) {
        for cell in self.shadow.known_cells(addr >> 3, end.div_ceil(8)) {
            let from = addr.saturating_sub(cell << 3).min(8);
            let to = (end - (cell << 3)).min(8);
            act(self, cell, (((1u16 << (to - from)) - 1) << from) as u8);
        }
    }

    /// Notes the end of the block that a cell lies in, if it has met one.
    #[cold]
    fn inherit_free(&mut self, at: CellRef, cell: u64) {
        let start = cell << 3;
        let Some((&from, freed)) = self.freed.range(..start + 8).next_back() else { return };
        let (from, to) = (from.max(start), freed.end.min(start + 8));
        if from < to {
            let bytes = (((1u16 << (to - from)) - 1) << (from - start)) as u8;
            let record = Record { bytes, ..freed.record };
            self.shadow.push(at, record);
        }
    }
}

fn frees(op: &Op) -> bool {
    matches!(op, Op::Memory(op) if op.action == MemoryAction::Free)
}

fn side(record: &Record) -> Side {
    let position = match record.position & EVENT {
        0 => AccessPosition::Access(record.position),
        _ => AccessPosition::Event(record.position & !EVENT),
    };
    Side { thread: record.thread, what: record.what, pc: record.pc, position }
}
