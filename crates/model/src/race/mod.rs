//! Data races: pairs of conflicting accesses that nothing orders.
//!
//! Happens-before is that of C11 with the release sequences of C++20, on a sequentially consistent execution (so that a read
//! sees the last write): program order; unlock to later lock; readers of an rwlock to later writers and writers to
//! all; post to later wait; arrivals at a barrier to departures; the end of an initialiser to those that find it done; creation, and end to
//! join; a release store, with the read-modify-writes that follow it, to an acquire load; the same through fences; input
//! and output on one channel. A signal does not order, as a wake-up may be spurious, nor does a futex by itself; a relaxed
//! operation orders only through fences. A plain write ends a release sequence.
//!
//! The clocks are those of FastTrack (Flanagan and Freund, PLDI 2009), a thread's time advancing where it publishes. Other
//! than there, a cell keeps one record per different access, so that *all* racing pairs of places of an execution are found, and
//! the result does not depend on the order of independent transitions.
//!
//! Deviation: atomic accesses of different sizes to one location only share a clock if they start at the same byte.

mod clock;
mod shadow;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use raddle_vocab::{MemOrder, OpKind, Outcome, io};
use rustc_hash::FxHashSet;

use crate::depend::{LIFE_WORDS, looked_at};
use crate::execution::{Access, AccessKind, Event, Execution};
use clock::{Carrier, Clocks};
use shadow::{CellRef, Compared, Record, STEP, Shadow};

pub use shadow::Touching;

/// Where in an execution an access was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPosition {
    /// By this element of [`Execution::accesses`].
    Access(u32),
    /// By this element of [`Execution::steps`].
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
    /// Blocks that were given back, by address; cells inside that nobody had met know nothing of it.
    freed: BTreeMap<u64, Freed>,
    /// Whether anything is given back in this execution: if not, using an object cannot race with that.
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
            || execution.events.iter().any(|step| step.kind == OpKind::Free);
        self.known.clear();
        self.races.clear();
        let threads = execution.threads.len();
        let mut next = 0;
        for (number, step) in execution.events.iter().enumerate() {
            while let Some(access) = execution.accesses.get(next).filter(|access| access.after as usize <= number) {
                self.access(access, next as u32, threads);
                next += 1;
            }
            if usize::from(step.thread) < threads {
                self.step(step, number as u32, threads);
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

    /// One transition: what it takes over, what it touches, what it publishes.
    fn step(&mut self, step: &Event, number: u32, threads: usize) {
        let (thread, obj) = (step.thread, step.obj);
        let done = step.outcome == Outcome::Done;
        let other = |number: u64| u16::try_from(number).ok().filter(|&n| usize::from(n) < threads && n != thread);
        let object = Carrier::Object;
        match step.kind {
            OpKind::Create => {
                if let Some(child) = other(step.arg).filter(|_| done) {
                    self.clocks.follow(child, thread);
                    self.clocks.tick(thread);
                }
            }
            OpKind::Join => {
                if let Some(ended) = other(step.arg).filter(|_| done) {
                    self.clocks.follow(thread, ended);
                }
            }
            OpKind::Lock | OpKind::TryLock | OpKind::TimedLock => {
                if done {
                    self.acquire(thread, obj, object);
                }
                self.uses(obj, step, number);
            }
            OpKind::Unlock => {
                self.uses(obj, step, number);
                if done {
                    self.give_up(thread, obj, object);
                }
            }
            OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock => {
                if done {
                    self.acquire(thread, obj, object);
                }
                self.uses(obj, step, number);
            }
            OpKind::WriteLock | OpKind::TryWriteLock | OpKind::TimedWriteLock => {
                if done {
                    self.acquire(thread, obj, object);
                    self.acquire(thread, obj, Carrier::Readers);
                }
                self.uses(obj, step, number);
            }
            OpKind::RwUnlock => {
                self.uses(obj, step, number);
                self.give_up(thread, obj, if step.arg == 1 { object } else { Carrier::Readers });
            }
            OpKind::CondWait | OpKind::CondTimedWait => {
                self.uses(obj, step, number);
                self.uses(step.arg, step, number);
                self.give_up(thread, step.arg, object);
            }
            OpKind::CondReacquire => {
                self.acquire(thread, step.arg, object);
                self.uses(step.arg, step, number);
            }
            OpKind::SemWait | OpKind::SemTryWait | OpKind::SemTimedWait => {
                if done {
                    self.acquire(thread, obj, object);
                }
                self.uses(obj, step, number);
            }
            OpKind::SemPost => {
                self.uses(obj, step, number);
                self.give_up(thread, obj, object);
            }
            OpKind::BarrierArrive => {
                self.uses(obj, step, number);
                self.give_up(thread, obj, Carrier::Round(step.arg));
            }
            // Whoever leaves first may destroy the barrier, so leaving is no use of it.
            OpKind::BarrierLeave => self.acquire(thread, obj, Carrier::Round(step.arg)),
            OpKind::OnceBegin => {
                self.acquire(thread, obj, object);
                // A guard is finished by an atomic store.
                self.acquire(thread, obj, Carrier::Atomic);
            }
            OpKind::OnceEnd | OpKind::OnceAbort => self.release(thread, obj, object),
            OpKind::Io => {
                let things = [(Some(obj), io::OBSERVES), (io::second(step.arg), io::SECOND_OBSERVES)];
                for (thing, observes) in things {
                    let Some(thing) = thing else { continue };
                    self.acquire(thread, thing, object);
                    if step.arg & observes == 0 {
                        self.release(thread, thing, object);
                    }
                }
            }
            OpKind::Fence => self.fence(thread, step.order),
            OpKind::AtomicLoad if obj & LIFE_WORDS != 0 => {
                if let Some(ended) = other(looked_at(obj)).filter(|_| step.value != 0) {
                    self.clocks.follow(thread, ended);
                }
            }
            OpKind::AtomicLoad | OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => {
                self.atomic(step, number);
            }
            OpKind::FutexWait | OpKind::FutexTimedWait => {
                let record = self.record(thread, Touching::AtomicRead, step.pc, number | STEP);
                self.touch(obj, 4, record);
            }
            OpKind::Read | OpKind::Write => {
                // One that may race has an order, as atomics do.
                let what = match (step.kind == OpKind::Read, step.order == MemOrder::Relaxed) {
                    (true, true) => Touching::Read,
                    (true, false) => Touching::AtomicRead,
                    (false, true) => Touching::Write,
                    (false, false) => Touching::AtomicWrite,
                };
                let record = self.record(thread, what, step.pc, number | STEP);
                self.touch(obj, step.extent(), record);
            }
            OpKind::Free => {
                let record = self.record(thread, Touching::Free, step.pc, number | STEP);
                self.free(obj, step.arg, record);
            }
            OpKind::MutexInit | OpKind::RwInit | OpKind::SemInit | OpKind::BarrierInit => {
                let at = self.meet(obj >> 3);
                self.forget_order(at, obj);
                self.uses(obj, step, number);
            }
            OpKind::Signal
            | OpKind::Broadcast
            | OpKind::MutexDestroy
            | OpKind::RwDestroy
            | OpKind::CondInit
            | OpKind::CondDestroy
            | OpKind::SemDestroy
            | OpKind::BarrierDestroy => self.uses(obj, step, number),
            OpKind::ThreadStart
            | OpKind::ThreadEnd
            | OpKind::Detach
            | OpKind::Exit
            | OpKind::FutexResume
            | OpKind::FutexWake => {}
        }
    }

    /// The cell that an address lies in; one that is met for the first time may lie in a block that is dead.
    #[inline]
    fn meet(&mut self, cell: u64) -> CellRef {
        let (at, fresh) = self.shadow.cell(cell);
        if fresh && !self.freed.is_empty() {
            self.inherit_free(at, cell);
        }
        at
    }

    fn acquire(&mut self, thread: u16, addr: u64, carrier: Carrier) {
        let at = self.meet(addr >> 3);
        self.clocks.acquire(thread, *self.shadow.clocks(at), addr, carrier);
    }

    fn release(&mut self, thread: u16, addr: u64, carrier: Carrier) {
        let at = self.meet(addr >> 3);
        self.clocks.release(thread, self.shadow.clocks(at), addr, carrier);
        self.clocks.tick(thread);
    }

    /// As [`RaceDetector::release`], through an object that is gone once something is written over it.
    fn give_up(&mut self, thread: u16, addr: u64, carrier: Carrier) {
        let at = self.meet(addr >> 3);
        self.clocks.release(thread, self.shadow.clocks(at), addr, carrier);
        self.clocks.tick(thread);
        self.carries(at, addr);
    }

    fn uses(&mut self, obj: u64, step: &Event, number: u32) {
        if self.frees {
            let record = self.record(step.thread, Touching::Use, step.pc, number | STEP);
            self.touch(obj, 1, record);
        }
    }

    /// Notes that there is a clock for the address, so that writing over it ends that.
    fn carries(&mut self, at: CellRef, addr: u64) {
        *self.shadow.carriers(at) |= 1 << (addr & 7);
    }

    /// What lies at the address from now on is new: nobody has published anything through it.
    fn forget_order(&mut self, at: CellRef, addr: u64) {
        self.clocks.clear_all(*self.shadow.clocks(at), addr);
    }

    fn fence(&mut self, thread: u16, order: MemOrder) {
        if order.acquires() {
            self.clocks.acquire_fence(thread);
        }
        if order.releases() {
            self.clocks.release_fence(thread);
            self.clocks.tick(thread);
        }
    }

    fn atomic(&mut self, step: &Event, number: u32) {
        let (thread, addr) = (step.thread, step.obj);
        let reads = step.kind != OpKind::AtomicStore;
        let writes = match step.kind {
            OpKind::AtomicLoad => false,
            OpKind::AtomicCas => step.outcome == Outcome::Done,
            _ => true,
        };
        let at = self.meet(addr >> 3);
        let clocks = *self.shadow.clocks(at);
        if reads && step.order.acquires() {
            self.clocks.acquire(thread, clocks, addr, Carrier::Atomic);
        } else if reads {
            self.clocks.acquire_later(thread, clocks, addr);
        }
        let what = if writes { Touching::AtomicWrite } else { Touching::AtomicRead };
        let record = self.record(thread, what, step.pc, number | STEP);
        self.touch(addr, u64::from(step.size), record);
        if !writes {
            return;
        }
        if !reads {
            // A store starts anew; only a read-modify-write continues what it found.
            self.clocks.clear(clocks, addr, Carrier::Atomic);
        }
        self.carries(at, addr);
        if step.order.releases() {
            self.clocks.release(thread, self.shadow.clocks(at), addr, Carrier::Atomic);
            self.clocks.tick(thread);
        } else {
            self.clocks.release_fenced(thread, self.shadow.clocks(at), addr);
        }
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
        let end = addr.saturating_add(size);
        let mut at = addr;
        while at < end {
            let stop = (((at >> 3) + 1) << 3).min(end);
            let bytes = (((1u16 << (stop - at)) - 1) << (at & 7)) as u8;
            self.touch_cell(at >> 3, Record { bytes, ..record });
            at = stop;
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

    /// A plain write gives atomic locations a value that nobody published, and makes synchronising objects new.
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

fn side(record: &Record) -> Side {
    let position = match record.position & STEP {
        0 => AccessPosition::Access(record.position),
        _ => AccessPosition::Event(record.position & !STEP),
    };
    Side { thread: record.thread, what: record.what, pc: record.pc, position }
}
