//! Data races: pairs of conflicting accesses that happens-before does not order.
//!
//! Happens-before is that of C11, where a store says so, otherwise with the release sequences of
//! C++20. A read sees the last write unless the execution says otherwise ([`Execution::details`]);
//! then each store has a clock of its own, and release sequences are those of RC11. These are
//! ordered:
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
//! is an atomic use, which conflicts with them and with plain writes to its bytes. Plain writes
//! fall on an object before there are other threads, if at all. So uses are compared with plain
//! writes in a second pass over the execution, which is made only if there was another such write
//! (`objects`).
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
mod long;
mod objects;
mod shadow;
mod sink;
mod stores;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use raddle_vocab::{FREED_AGAIN, MappingChange, Misuse, Outcome};
use rustc_hash::FxHashSet;

use crate::depend::{bytes_within, cells};
use crate::execution::{Access, AccessKind, Event, Execution, Incident, IncidentKind};
use crate::object::{MemoryAction, Op, OpTraits, Operation as _, ThreadOp};
use clock::Clocks;
use heap::{Block, BlockSite, Blocks, MemoryError};
use long::{LONG, LongAccesses};
use objects::Objects;
use shadow::{CellRef, Compared, EVENT, Marks, Record, Shadow};
use sink::EventOrder;
use stores::Stores;

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
    /// The same for accesses to many bytes.
    long: LongAccesses,
    /// Ends of threads, as accesses to their stacks and thread-local storage.
    ends: LongAccesses,
    /// Incidents that are races: uses of a stack whose thread has ended without an order.
    raced: Vec<u32>,
    /// Whether the uses of objects are compared with their beginnings and ends.
    compares_ends: bool,
    /// Whether memory was freed in this execution, or an object initialised or destroyed while
    /// other threads lived. If not, the use of an object cannot race with its beginning or end.
    objects_end: bool,
    /// Whether an access freed memory.
    frees: bool,
    /// Stores, where a read may read another one than the last.
    stores: Stores,
    /// What is known of plain writes to objects.
    objects: Objects,
    known: FxHashSet<(u64, u64, u64)>,
    races: Vec<Race>,
    /// Places of the accesses in `errors`.
    wrong: FxHashSet<u64>,
    errors: Vec<MemoryError>,
    /// Frees of what was no live block, and blocks that were lost, by the number of the incident,
    /// with the block that was there.
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
        self.objects.all_bytes = false;
        // Executions of one program mostly agree in whether objects end, so the last one tells what
        // is worth comparing.
        self.compares_ends = self.objects_end;
        self.scan(execution, execution.accesses.iter());
        if self.objects_end && !self.compares_ends {
            self.compares_ends = true;
            self.scan(execution, execution.accesses.iter());
        }
        if self.objects.are_overwritten {
            self.objects.all_bytes = true;
            self.scan(execution, execution.accesses.iter());
        }
        &self.races
    }

    /// Whether the execution, with these accesses in the place of its own, has neither races nor
    /// errors in the use of memory. Among its own are at least those that begin and end the life of
    /// blocks.
    pub fn is_clean(&mut self, execution: &Execution, accesses: impl Iterator<Item = Access>) -> bool {
        self.objects.all_bytes = false;
        self.compares_ends = objects_end(execution);
        self.scan(execution, accesses);
        self.races.is_empty() && self.errors.is_empty() && !self.objects.are_overwritten
    }

    fn scan<A: Borrow<Access>>(&mut self, execution: &Execution, mut accesses: impl Iterator<Item = A>) {
        let threads = execution.threads.len();
        self.reset(execution);
        let mut incident = 0;
        let (mut access, mut number) = (accesses.next(), 0);
        for (event, at) in execution.events.iter().zip(0u32..) {
            while let Some(next) = access.as_ref().map(Borrow::borrow).filter(|next| next.after <= at) {
                self.bad_frees_before(Some(next), execution, &mut incident);
                self.access(next, number, threads);
                (access, number) = (accesses.next(), number + 1);
            }
            if usize::from(event.thread) < threads {
                self.event(event, at, threads);
            }
        }
        while let Some(next) = access {
            self.bad_frees_before(Some(next.borrow()), execution, &mut incident);
            self.access(next.borrow(), number, threads);
            (access, number) = (accesses.next(), number + 1);
        }
        self.bad_frees_before(None, execution, &mut incident);
    }

    fn reset(&mut self, execution: &Execution) {
        self.clocks.reset(execution.threads.len());
        self.shadow.reset();
        self.blocks.clear();
        self.long.clear();
        self.ends.clear();
        self.raced.clear();
        self.stores.reset(&execution.details);
        self.wrong.clear();
        self.errors.clear();
        self.bad_frees.clear();
        self.objects.reset(execution.threads.len());
        (self.objects_end, self.frees) = (false, false);
        self.known.clear();
        self.races.clear();
    }

    fn access(&mut self, access: &Access, number: u32, threads: usize) {
        if usize::from(access.thread) >= threads {
            return;
        }
        let (addr, size) = (access.addr, access.size);
        let what = match access.kind {
            AccessKind::Read => Touching::Read,
            AccessKind::Write => Touching::Write,
            AccessKind::Free => Touching::Free,
            AccessKind::Alloc => return self.alloc(addr, size, access, number),
            AccessKind::Mapping(MappingChange::Fresh) => {
                self.frees = true;
                return self.begin_life(addr, addr.saturating_add(size));
            }
            AccessKind::Mapping(change) => Touching::Mapping(change),
        };
        let mut record = self.record(access.thread, what, access.pc, number);
        self.frees |= access.kind.ends_objects();
        match what {
            Touching::Free => self.free(addr, size, record),
            Touching::Mapping(_) => self.change_mapping(addr, size, record),
            _ => self.touch(addr, size, &mut record),
        }
    }

    #[inline]
    fn record(&self, thread: u16, what: Touching, pc: u64, position: u32) -> Record {
        Record::new(thread, what, self.clocks.epoch(thread), pc, position)
    }

    /// One event: what it takes over, what it touches, what it publishes.
    #[inline]
    fn event(&mut self, event: &Event, number: u32, threads: usize) {
        event.op.order(&mut EventOrder { detector: self, event, number, threads });
    }

    /// The cell that an address lies in. A cell that is accessed for the first time may lie in a
    /// freed block, or where a long access was.
    #[inline]
    fn meet(&mut self, cell: u64) -> CellRef {
        let (at, fresh) = self.shadow.cell(cell);
        if fresh && (self.blocks.concern(cell << 3) || !self.long.is_empty()) {
            self.inherit(at, cell);
        }
        at
    }

    /// Notes that there is a clock for the address, so that writing over it ends that.
    #[inline]
    fn carries(&mut self, at: CellRef, addr: u64) {
        self.shadow.marks(at).carriers |= 1 << (addr & 7);
    }

    /// What lies at the address is new from now on: nothing has been published through it.
    fn forget_order(&mut self, at: CellRef, addr: u64) {
        self.clocks.clear_all(*self.shadow.clocks(at), addr);
        self.stores.forget(addr);
    }

    /// Compares an access with all before it and remembers it. Its bytes are set here.
    #[inline]
    fn touch(&mut self, addr: u64, size: u64, record: &mut Record) {
        if self.ends.reach(addr) {
            self.compare_with_ends(addr, addr.saturating_add(size.max(1)), record);
        }
        if (1..=8 - (addr & 7)).contains(&size) {
            record.bytes = (((1u16 << size) - 1) << (addr & 7)) as u8;
            self.touch_cell(addr >> 3, record);
        } else {
            self.touch_cells(addr, size, record);
        }
    }

    fn touch_cells(&mut self, addr: u64, size: u64, record: &mut Record) {
        if size >= LONG {
            return self.touch_range(addr, addr.saturating_add(size), *record);
        }
        for (cell, bytes) in cells(addr, size) {
            record.bytes = bytes;
            self.touch_cell(cell, record);
        }
    }

    fn touch_cell(&mut self, cell: u64, record: &Record) {
        let at = self.meet(cell);
        if self.shadow.compare(at, record, self.clocks.seen(record.thread)) == Compared::Racing {
            self.report(at, cell, record);
        }
        let Marks { forbidden, carriers, objects, .. } = *self.shadow.marks(at);
        // A change of a mapping covers whole pages, whatever lies there. A second free has a
        // finding of its own.
        if record.bytes & forbidden != 0 && record.what.mapping().is_none() && record.what != Touching::Free {
            self.forbid(at, cell, record);
        }
        if record.bytes & (carriers | objects) != 0 && record.what == Touching::Write {
            if record.bytes & objects != 0 {
                self.objects.overwrite();
            }
            self.end_order(at, cell, record.bytes);
        }
    }

    /// A plain write gives atomic locations a value that was not published, and makes synchronising
    /// objects new.
    #[cold]
    fn end_order(&mut self, at: CellRef, cell: u64, bytes: u8) {
        let carriers = self.shadow.marks(at).carriers & bytes;
        if carriers != 0 {
            for byte in (0..8).filter(|byte| carriers & (1 << byte) != 0) {
                self.forget_order(at, (cell << 3) | byte);
            }
            self.shadow.marks(at).carriers &= !bytes;
        }
    }

    /// A long access: the cells that were met get a record of it.
    #[cold]
    fn touch_range(&mut self, start: u64, end: u64, record: Record) {
        let seen = self.clocks.seen(record.thread);
        let racing = self.blocks.freed_within(start, end).filter(|(freed, ..)| freed.races_with(&record, seen));
        let racing: Vec<(Record, u64, u64)> = racing.map(|(freed, from, to)| (*freed, from, to)).collect();
        // Before the cells, so that the first wrong byte is the one that is named.
        if let Some(byte) = self.first_forbidden(start, end, &racing) {
            self.forbid_byte(byte, &record);
        }
        self.each_known(start, end, |detector, cell, bytes| detector.touch_cell(cell, &record.to(bytes)));
        self.compare_with_long(start, end, &record);
        for (freed, from, _) in &racing {
            self.report_pair(freed, &record, *from);
        }
        if record.what == Touching::Write {
            // There may be objects in it that were not used in this execution so far.
            self.objects.overwrite();
        }
        self.long.add(start, end, record);
    }

    /// Mapped memory changes. It may be any number of pages, so it costs what was accessed there.
    /// Addresses are handed out again only where the program asks for them (`mmap` with
    /// `MAP_FIXED`, `sbrk`): the former is a change of its own, which has to be ordered behind what
    /// was done there before; behind the latter the memory is new ([`Self::alloc`]).
    fn change_mapping(&mut self, addr: u64, size: u64, record: Record) {
        let end = addr.saturating_add(size);
        if record.what == Touching::Mapping(MappingChange::ThreadEnd) {
            return self.end_thread(addr, end, record);
        }
        // Objects that lie there are used only as long as it stays as it is.
        self.objects_end = true;
        let drops_content = record.what.mapping().is_some_and(MappingChange::drops_content);
        self.each_known(addr, end, |detector, cell, bytes| {
            detector.touch_cell(cell, &record.to(bytes));
            if drops_content {
                let (at, _) = detector.shadow.cell(cell);
                detector.end_order(at, cell, bytes);
            }
        });
        self.compare_with_whole(addr, end, &record);
        self.long.add(addr, end, record);
    }

    /// The memory between the two addresses ends with its thread. Hardly ever has another thread
    /// accessed it, and it is the same in every execution.
    fn end_thread(&mut self, addr: u64, end: u64, record: Record) {
        for cell in self.shadow.known_cells_again(addr >> 3, end.div_ceil(8)) {
            self.touch_cell(cell, &record.to(bytes_within(cell, addr, end)));
        }
        self.compare_with_whole(addr, end, &record);
        // Few accesses lie on stacks: others need not be compared with those.
        self.ends.add(addr, end, record);
    }

    /// Compares a change of a mapping with what was kept with its range.
    fn compare_with_whole(&mut self, addr: u64, end: u64, record: &Record) {
        self.compare_with_long(addr, end, record);
        self.compare_with_ends(addr, end, record);
        if self.blocks.none_is_freed() {
            return;
        }
        let seen = self.clocks.seen(record.thread);
        let freed = self.blocks.freed_within(addr, end).filter(|(freed, ..)| freed.races_with(record, seen));
        let freed: Vec<(Record, u64)> = freed.map(|(freed, from, _)| (*freed, from)).collect();
        for (first, from) in freed {
            self.report_pair(&first, record, from);
        }
    }

    /// Compares an access with the ends of threads before it.
    #[cold]
    fn compare_with_ends(&mut self, start: u64, end: u64, record: &Record) {
        if !self.ends.overlap(start, end) {
            return;
        }
        let seen = self.clocks.seen(record.thread);
        let racing = self.ends.within(start, end).filter(|ended| ended.record.races_with(record, seen));
        let racing: Vec<(Record, u64)> = racing.map(|ended| (ended.record, ended.start.max(start))).collect();
        for (first, addr) in racing {
            self.report_pair(&first, record, addr);
        }
    }

    /// Compares an access to a range with the long accesses before it.
    fn compare_with_long(&mut self, start: u64, end: u64, record: &Record) {
        if self.long.is_empty() {
            return;
        }
        let seen = self.clocks.seen(record.thread);
        let racing = self.long.within(start, end).filter(|long| long.record.races_with(record, seen));
        let racing: Vec<(Record, u64)> = racing.map(|long| (long.record, long.start.max(start))).collect();
        for (first, addr) in racing {
            let others = self.long.within(addr, addr + 1).map(|long| &long.record);
            if !is_covered(&first, record, others, self.clocks.seen(record.thread)) {
                self.report_pair(&first, record, addr);
            }
        }
    }

    /// The first byte of a range that belongs to no live heap block, but for those whose end races
    /// with the access.
    fn first_forbidden(&self, start: u64, end: u64, racing: &[(Record, u64, u64)]) -> Option<u64> {
        let mut at = start;
        while let Some((mut from, to)) = self.blocks.gap(at, end) {
            while let Some((.., behind)) = racing.iter().find(|&&(_, first, behind)| first <= from && from < behind) {
                from = *behind;
            }
            if from < to {
                return Some(from);
            }
            at = to;
        }
        None
    }

    /// Reports every pair that the access makes with one before it.
    #[cold]
    fn report(&mut self, at: CellRef, cell: u64, second: &Record) {
        let seen = self.clocks.seen(second.thread);
        let racing = |first: &&Record| first.bytes & second.bytes != 0 && first.races_with(second, seen);
        let racing: Vec<Record> = self.shadow.records(at).filter(racing).copied().collect();
        for first in racing {
            if is_covered(&first, second, self.shadow.records(at), self.clocks.seen(second.thread)) {
                continue;
            }
            let byte = u64::from((first.bytes & second.bytes).trailing_zeros());
            self.report_pair(&first, second, (cell << 3) | byte);
        }
    }

    /// Reports a race, once for each pair of places and cell. `addr`: the first common byte.
    fn report_pair(&mut self, first: &Record, second: &Record, addr: u64) {
        if self.known.insert((first.pc.min(second.pc), first.pc.max(second.pc), addr >> 3)) {
            self.races.push(Race { first: side(first), second: side(second), addr });
        }
    }

    /// The access is to bytes that belong to no live heap block. If it races with the end of the
    /// block, the race says so.
    #[cold]
    fn forbid(&mut self, at: CellRef, cell: u64, record: &Record) {
        let seen = self.clocks.seen(record.thread);
        let races = self.shadow.records(at).any(|other| {
            other.what == Touching::Free && other.bytes & record.bytes != 0 && other.races_with(record, seen)
        });
        if !races {
            let byte = u64::from((record.bytes & self.shadow.marks(at).forbidden).trailing_zeros());
            self.forbid_byte((cell << 3) | byte, record);
        }
    }

    fn forbid_byte(&mut self, addr: u64, record: &Record) {
        if self.wrong.insert(record.pc) {
            self.errors.push(self.blocks.explain(side(record), addr));
        }
    }

    /// What was wrong with the accesses of the last execution to the heap, once for each place.
    #[must_use]
    pub fn memory_errors(&self) -> &[MemoryError] {
        &self.errors
    }

    /// Whether an access of the last execution freed memory.
    #[must_use]
    pub fn has_frees(&self) -> bool {
        self.frees
    }

    /// Frees of what was no live block, and blocks that were lost, by the number of the incident,
    /// with the block that was there.
    #[must_use]
    pub fn bad_frees(&self) -> &[(u32, Option<Block>)] {
        &self.bad_frees
    }

    /// Takes the frees of what was no live block, up to the access, or all that are left.
    #[inline]
    fn bad_frees_before(&mut self, access: Option<&Access>, execution: &Execution, next: &mut usize) {
        while let Some(incident) = execution.incidents.get(*next) {
            if access.is_some_and(|access| !is_before(incident, access)) {
                break;
            }
            let is_of_heap = |kind| matches!(kind, Misuse::BadFree | Misuse::Leak | Misuse::MismatchedFree);
            let is_known = usize::from(incident.thread) < execution.threads.len();
            let is_dead_frame = incident.kind == IncidentKind::Misuse(Misuse::DeadFrame);
            if is_known && is_dead_frame && self.is_unordered_with_end(incident) {
                self.raced.push(*next as u32);
            }
            if matches!(incident.kind, IncidentKind::Misuse(kind) if is_of_heap(kind))
                && !(is_known && self.is_unordered_second_free(incident))
            {
                self.bad_frees.push((*next as u32, self.blocks.block_near(incident.obj)));
            }
            *next += 1;
        }
    }

    /// Whether an incident is reported as a race.
    #[must_use]
    pub fn is_race(&self, incident: u32) -> bool {
        self.raced.contains(&incident)
    }

    /// Whether the use of a stack or of thread-local storage is not ordered with the end of its
    /// thread.
    fn is_unordered_with_end(&self, incident: &Incident) -> bool {
        let access = self.record(incident.thread, Touching::Write, incident.pc, 0);
        let seen = self.clocks.seen(incident.thread);
        let mut ends = self.ends.within(incident.obj, incident.obj + 1);
        ends.any(|ended| ended.record.races_with(&access, seen))
    }

    /// Whether the block was freed by another thread, and nothing orders the two: then they race,
    /// whichever comes first, and it is the race that is reported.
    fn is_unordered_second_free(&self, incident: &Incident) -> bool {
        let thread = incident.thread;
        let is_second = incident.kind == IncidentKind::Misuse(Misuse::BadFree) && incident.arg == FREED_AGAIN;
        is_second && {
            let free = self.record(thread, Touching::Free, incident.pc, 0);
            self.blocks.end_of(incident.obj).is_some_and(|end| end.races_with(&free, self.clocks.seen(thread)))
        }
    }

    /// The block dies: cells that were met learn it now, others when they are met. It may be dead
    /// already.
    fn free(&mut self, addr: u64, size: u64, record: Record) {
        self.objects_end = true;
        let end = addr.saturating_add(size);
        let seen = self.clocks.seen(record.thread);
        let before = self.blocks.end_of(addr).filter(|before| before.races_with(&record, seen));
        if let Some(before) = before {
            self.report_pair(&before, &record, addr);
        }
        self.blocks.free(addr, end, record);
        let in_heap = heap::contains(addr);
        self.each_known(addr, end, |detector, cell, bytes| {
            detector.touch_cell(cell, &record.to(bytes));
            if in_heap {
                let (at, _) = detector.shadow.cell(cell);
                detector.shadow.marks(at).forbidden |= bytes;
            }
        });
        self.compare_with_long(addr, end, &record);
        self.compare_with_ends(addr, end, &record);
    }

    /// The block comes to life: what happened to its bytes before concerns something else.
    fn alloc(&mut self, addr: u64, size: u64, access: &Access, number: u32) {
        let end = addr.saturating_add(size);
        let position = AccessPosition::Access(number);
        self.blocks.allocate(addr, end, BlockSite { thread: access.thread, pc: access.pc, position });
        self.begin_life(addr, end);
    }

    /// What happened to the bytes before concerns something else.
    fn begin_life(&mut self, addr: u64, end: u64) {
        self.long.erase(addr, end);
        self.each_known(addr, end, |detector, cell, bytes| {
            let (at, _) = detector.shadow.cell(cell);
            detector.shadow.erase(at, bytes);
            detector.end_order(at, cell, bytes);
            detector.shadow.marks(at).forbidden &= !bytes;
        });
    }

    /// Calls for every cell of the range that was met, with the bytes that lie in the range.
    fn each_known(&mut self, addr: u64, end: u64, mut act: impl FnMut(&mut Self, u64, u8)) {
        for cell in self.shadow.known_cells(addr >> 3, end.div_ceil(8)) {
            act(self, cell, bytes_within(cell, addr, end));
        }
    }

    /// Notes which bytes of a cell belong to a live block, the end of the block that it lies in,
    /// and the long accesses to it.
    #[cold]
    fn inherit(&mut self, at: CellRef, cell: u64) {
        let start = cell << 3;
        self.shadow.marks(at).forbidden = self.blocks.forbidden(start);
        if let Some((record, from, to)) = self.blocks.freed(start) {
            self.shadow.push(at, &record.to(bytes_within(cell, from, to)));
        }
        for long in self.long.within(start, start.saturating_add(8)) {
            self.shadow.push(at, &long.record.to(bytes_within(cell, long.start, long.end)));
        }
    }
}

/// Whether the incident came before the access. Between two transitions only one thread runs.
fn is_before(incident: &Incident, access: &Access) -> bool {
    let counts = incident.thread != access.thread || incident.count <= access.count;
    incident.after < access.after || incident.after == access.after && counts
}

/// Whether memory is freed, or an object initialised or destroyed while other threads live.
fn objects_end(execution: &Execution) -> bool {
    let mut others = 0u32;
    let ends = |kind: AccessKind| match kind {
        AccessKind::Mapping(change) => !matches!(change, MappingChange::ThreadEnd | MappingChange::Fresh),
        kind => kind == AccessKind::Free,
    };
    if execution.accesses.iter().any(|access| ends(access.kind)) {
        return true;
    }
    execution.event_traits().contain(OpTraits::CHANGES_LIFE)
        && execution.events.iter().any(|event| match &event.op {
            Op::Thread(ThreadOp::Create { .. }) => {
                others += 1;
                false
            }
            Op::Thread(ThreadOp::Join { .. }) if event.op.outcome() == Outcome::Done => {
                others = others.saturating_sub(1);
                false
            }
            Op::Memory(op) => matches!(op.action, MemoryAction::Free | MemoryAction::Mapping(_)),
            Op::Atomic(_) => false,
            op => others > 0 && op.life_change().is_some(),
        })
}

/// Whether the first of two racing accesses gives rights that the second has from another call that
/// is ordered before it: then it does not need the first. Several threads may ask for the same
/// rights.
fn is_covered<'a>(first: &Record, second: &Record, mut all: impl Iterator<Item = &'a Record>, seen: &[u32]) -> bool {
    first.what.mapping().is_some_and(MappingChange::only_gives)
        && all.any(|other| {
            let covers = other.what.mapping().is_some_and(|change| change.covers_access(second.what.only_reads()));
            let is_before = other.thread == second.thread || other.epoch <= seen[usize::from(other.thread)];
            covers && is_before && (other.thread, other.epoch) != (first.thread, first.epoch)
        })
}

fn side(record: &Record) -> Side {
    let position = match record.position & EVENT {
        0 => AccessPosition::Access(record.position),
        _ => AccessPosition::Event(record.position & !EVENT),
    };
    Side { thread: record.thread, what: record.what, pc: record.pc, position }
}
