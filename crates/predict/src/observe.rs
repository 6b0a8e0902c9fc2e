//! Converts an execution of a program to a trace.
//!
//! Memory is divided into cells of eight bytes, and cells into variables. A newly allocated block
//! has new variables, and a newly initialised object is a new object. Only variables that several
//! threads access and at least one writes are kept.

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::depend::bytes_within;
use raddle_model::object::{
    BarrierAction, BarrierOp, CondAction, CondOp, FutexAction, FutexOp, MutexAction, MutexOp, OnceAction, RwlockAction,
    RwlockOp, SemaphoreAction, SemaphoreOp, ThreadOp, WaitEnd,
};
use raddle_model::race::Touching;
use raddle_model::{AccessKind, Event, Execution, Op, Operation as _, PendingState};
use raddle_vocab::{MappingChange, Outcome};
use rustc_hash::FxHashMap;

use crate::label::EventLabel;
use crate::trace::{ObservedTrace, SharedAccess, Slot, SyncOp, ThreadTrace, Tid, Var, VarInfo};

/// An access to more bytes is compared only in cells that other accesses touch.
const LARGE: u64 = 1 << 12;

/// The trace of an execution. Objects and variables are named by address until
/// [`ObservedTrace::rename`].
#[must_use]
pub fn observe(execution: &Execution) -> ObservedTrace {
    let mut trace = ObservedTrace { recorded: execution.recorded, ..ObservedTrace::default() };
    for thread in &execution.threads {
        let name = format!("t{}", thread.path.to_string().trim_start_matches('T').replace('.', "_"));
        trace.threads.push(ThreadTrace { name, ..ThreadTrace::default() });
    }
    let mut builder = Builder {
        execution,
        known: known_cells(execution),
        slots: BTreeMap::new(),
        arrived: FxHashMap::default(),
        owners: FxHashMap::default(),
        lives: FxHashMap::default(),
        vars: FxHashMap::default(),
        touches: Vec::new(),
        trace,
    };
    builder.run();
    builder.finish()
}

/// The cells that accesses of ordinary size touch, and the first cell of each large access. Two
/// accesses that overlap have one of these cells in common.
fn known_cells(execution: &Execution) -> BTreeSet<u64> {
    let mut known = BTreeSet::new();
    for access in &execution.accesses {
        match access.kind {
            AccessKind::Alloc => {}
            AccessKind::Read | AccessKind::Write if access.size <= LARGE => {
                known.extend(access.addr >> 3..access.addr.saturating_add(access.size).div_ceil(8));
            }
            _ => {
                known.insert(access.addr >> 3);
            }
        }
    }
    known.extend(execution.events.iter().filter_map(|event| event.op.address()).map(|address| address >> 3));
    known
}

/// The kind of object of a slot. The same address can have several kinds at different times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Mutex,
    Rwlock,
    Queue,
    Semaphore,
    Round(u64),
    Once,
    Location,
}

struct Builder<'a> {
    execution: &'a Execution,
    known: BTreeSet<u64>,
    slots: BTreeMap<(u64, Sort), Slot>,
    /// Number of arrivals of each round of a barrier.
    arrived: FxHashMap<Slot, u32>,
    /// The owner of each mutex.
    owners: FxHashMap<Slot, Tid>,
    /// How often the memory of a cell was allocated.
    lives: FxHashMap<u64, u32>,
    vars: FxHashMap<(u64, u32), Var>,
    touches: Vec<SharedAccess>,
    trace: ObservedTrace,
}

impl Builder<'_> {
    fn run(&mut self) {
        let mut next = 0;
        let awaited = awaited(self.execution);
        for (number, event) in self.execution.events.iter().enumerate() {
            next = self.accesses(next, number as u32);
            if usize::from(event.thread) >= self.trace.threads.len() {
                continue;
            }
            self.touch_of_event(event);
            let op = self.op(event.thread, &event.op, &awaited);
            self.note(event.thread, &op);
            if event.op == Op::Thread(ThreadOp::End) {
                self.trace.threads[usize::from(event.thread)].ended = true;
            }
            self.trace.push(event.thread, op, event.pc, EventLabel::of(&event.op));
        }
        self.accesses(next, u32::MAX);
        for (thread, pending) in self.execution.pending.iter().enumerate() {
            if pending.state == PendingState::Blocked && thread < self.trace.threads.len() {
                let op = self.op(pending.event.thread, &pending.event.op.with_outcome(Outcome::Done), &awaited);
                self.trace.threads[thread].pending = Some(op);
            }
        }
    }

    /// The accesses that precede the event with this number.
    fn accesses(&mut self, mut next: usize, before: u32) -> usize {
        while let Some(access) = self.execution.accesses.get(next).filter(|access| access.after <= before) {
            next += 1;
            let Some(thread) = self.trace.threads.get(usize::from(access.thread)) else { continue };
            let position = thread.last();
            let what = match access.kind {
                AccessKind::Alloc => {
                    self.allocate(access.addr, access.size);
                    continue;
                }
                AccessKind::Read => Touching::Read,
                AccessKind::Write => Touching::Write,
                AccessKind::Free => Touching::Free,
                // Whether a thread needs the rights that another one gives depends on what it asks
                // for itself.
                AccessKind::Mapping(MappingChange::Fresh) => {
                    self.allocate(access.addr, access.size);
                    continue;
                }
                AccessKind::Mapping(MappingChange::Ask) => continue,
                AccessKind::Mapping(change) if change.only_gives() => continue,
                AccessKind::Mapping(change) => Touching::Mapping(change),
            };
            self.touch(access.thread, position, access.addr, access.size, what, access.pc);
        }
        next
    }

    fn allocate(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size).div_ceil(8);
        for &cell in self.known.range(addr >> 3..end.max(addr >> 3)) {
            *self.lives.entry(cell).or_insert(0) += 1;
        }
    }

    fn touch(&mut self, thread: Tid, position: u32, addr: u64, size: u64, what: Touching, place: u64) {
        let end = addr.saturating_add(size.max(1));
        let cells: Vec<u64> = if size <= LARGE && what != Touching::Free && what.mapping().is_none() {
            (addr >> 3..end.div_ceil(8)).collect()
        } else {
            self.known.range(addr >> 3..end.div_ceil(8)).copied().collect()
        };
        for cell in cells {
            let bytes = bytes_within(cell, addr, end);
            if bytes == 0 {
                continue;
            }
            let life = self.lives.get(&cell).copied().unwrap_or(0);
            let next = self.vars.len() as Var;
            let var = *self.vars.entry((cell, life)).or_insert(next);
            let after = self.trace.events.len() as u32;
            let own_event = matches!(what, Touching::AtomicRead | Touching::AtomicWrite | Touching::Use);
            self.touches.push(SharedAccess {
                thread,
                position,
                var,
                bytes,
                what,
                place,
                after,
                own_event,
                reads_too: false,
            });
        }
    }

    /// What an event itself does to memory.
    fn touch_of_event(&mut self, event: &Event) {
        let what = match event.op {
            Op::Atomic(op) if op.writes() => Touching::AtomicWrite,
            Op::Atomic(_) => Touching::AtomicRead,
            Op::Futex(op) if op.is_wait() => Touching::AtomicRead,
            Op::Mutex(_) | Op::Rwlock(_) | Op::Cond(_) | Op::Semaphore(_) | Op::Barrier(_)
                if uses_object(&event.op) =>
            {
                Touching::Use
            }
            _ => return,
        };
        let (address, size) = event.op.bytes();
        let position = self.trace.threads[usize::from(event.thread)].last();
        let first = self.touches.len();
        self.touch(event.thread, position, address, size.max(1), what, event.pc);
        let reads_too = event.op.as_atomic().is_some_and(|op| op.reads() && !op.is_load());
        self.touches[first..].iter_mut().for_each(|access| access.reads_too = reads_too);
    }

    fn slot(&mut self, obj: u64, sort: Sort) -> Slot {
        if let Some(&slot) = self.slots.get(&(obj, sort)) {
            return slot;
        }
        let slot = self.trace.slot(format!("{obj:#x}"), Some(obj));
        if matches!(sort, Sort::Rwlock | Sort::Once) {
            // Readers, or whether it is done.
            self.trace.slot(String::new(), None);
        }
        self.slots.insert((obj, sort), slot);
        slot
    }

    /// What an operation of the run is for the analysis.
    fn op(&mut self, thread: Tid, op: &Op, awaited: &BTreeMap<u64, u64>) -> SyncOp {
        match *op {
            Op::Thread(
                ThreadOp::Join { thread: other, refused: false } | ThreadOp::Poll { thread: other, ended: true },
            ) => self.thread(other).map_or(SyncOp::Free, SyncOp::Join),
            Op::Thread(_) => op.created().and_then(|child| self.thread(child)).map_or(SyncOp::Free, SyncOp::Fork),
            Op::Mutex(op) => self.mutex_op(thread, op),
            Op::Rwlock(op) => self.rwlock_op(op),
            Op::Cond(op) => self.cond_op(op),
            Op::Futex(op) => self.futex_op(op),
            Op::Semaphore(op) => self.semaphore_op(op),
            Op::Barrier(op) => self.barrier_op(op),
            Op::Once(op) => {
                let slot = self.slot(op.control, Sort::Once);
                match op.action {
                    OnceAction::Begin { already: false } => SyncOp::Lock(slot),
                    OnceAction::Begin { already: true } => SyncOp::OnceSeen(slot),
                    OnceAction::End => SyncOp::OnceEnd(slot),
                    OnceAction::Abort => SyncOp::Unlock(slot),
                }
            }
            Op::Atomic(op) => {
                let first = awaited.get(&op.addr);
                if op.writes() && first.is_some() {
                    SyncOp::Publish(self.slot(op.addr, Sort::Location))
                } else if op.awaited().is_some_and(|value| first == Some(&value)) {
                    SyncOp::Await(self.slot(op.addr, Sort::Location))
                } else {
                    SyncOp::Free
                }
            }
            Op::Fence(_) | Op::Memory(_) | Op::File(_) | Op::Exit(_) | Op::Choice(_) | Op::Signal(_) => SyncOp::Free,
        }
    }

    fn mutex_op(&mut self, thread: Tid, op: MutexOp) -> SyncOp {
        match op.action {
            MutexAction::Lock(_) if op.is_done() => SyncOp::Lock(self.slot(op.mutex, Sort::Mutex)),
            MutexAction::Lock(_) if gave_up(op.outcome) => self.busy(thread, op.mutex),
            MutexAction::Unlock if op.is_done() => SyncOp::Unlock(self.slot(op.mutex, Sort::Mutex)),
            MutexAction::Init => self.forget(op.mutex, Sort::Mutex),
            _ => SyncOp::Free,
        }
    }

    fn rwlock_op(&mut self, op: RwlockOp) -> SyncOp {
        let gave_up = gave_up(op.outcome);
        match op.action {
            RwlockAction::Read(_) if op.acquires() => SyncOp::ReadLock(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Read(_) if gave_up => SyncOp::BusyRead(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Write(_) if op.acquires() => SyncOp::WriteLock(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Write(_) if gave_up => SyncOp::BusyWrite(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Unlock { writer: true } => SyncOp::WriteUnlock(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Unlock { writer: false } => SyncOp::ReadUnlock(self.slot(op.rwlock, Sort::Rwlock)),
            RwlockAction::Init => self.forget(op.rwlock, Sort::Rwlock),
            _ => SyncOp::Free,
        }
    }

    fn cond_op(&mut self, op: CondOp) -> SyncOp {
        match op.action {
            CondAction::Wait { mutex, .. } => {
                SyncOp::Enqueue { queue: self.slot(op.cond, Sort::Queue), mutex: Some(self.slot(mutex, Sort::Mutex)) }
            }
            CondAction::Reacquire { mutex, end } => {
                let mutex = Some(self.slot(mutex, Sort::Mutex));
                SyncOp::Resume { queue: self.slot(op.cond, Sort::Queue), mutex, woken: end == WaitEnd::Woken }
            }
            CondAction::Resume { end, .. } => {
                SyncOp::Resume { queue: self.slot(op.cond, Sort::Queue), mutex: None, woken: end == WaitEnd::Woken }
            }
            CondAction::Signal { .. } => SyncOp::Wake { queue: self.slot(op.cond, Sort::Queue), all: false },
            CondAction::Broadcast { .. } => SyncOp::Wake { queue: self.slot(op.cond, Sort::Queue), all: true },
            CondAction::Init => self.forget(op.cond, Sort::Queue),
            CondAction::Destroy => SyncOp::Free,
        }
    }

    fn futex_op(&mut self, op: FutexOp) -> SyncOp {
        match op.action {
            FutexAction::Wait { queued: false, .. } => SyncOp::Free,
            FutexAction::Wait { queued: true, .. } => {
                SyncOp::Enqueue { queue: self.slot(op.word, Sort::Queue), mutex: None }
            }
            FutexAction::Resume { end } => {
                SyncOp::Resume { queue: self.slot(op.word, Sort::Queue), mutex: None, woken: end == WaitEnd::Woken }
            }
            FutexAction::Wake { count, .. } => SyncOp::Wake { queue: self.slot(op.word, Sort::Queue), all: count != 1 },
        }
    }

    fn semaphore_op(&mut self, op: SemaphoreOp) -> SyncOp {
        match op.action {
            SemaphoreAction::Init { count, .. } => {
                self.slots.remove(&(op.semaphore, Sort::Semaphore));
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                SyncOp::SetSem(self.slot(op.semaphore, Sort::Semaphore), count)
            }
            SemaphoreAction::Post => SyncOp::Post(self.slot(op.semaphore, Sort::Semaphore)),
            SemaphoreAction::Wait { taken: true, .. } => SyncOp::Take(self.slot(op.semaphore, Sort::Semaphore)),
            SemaphoreAction::Wait { taken: false, .. } => SyncOp::Empty(self.slot(op.semaphore, Sort::Semaphore)),
            SemaphoreAction::Destroy { .. } => SyncOp::Free,
        }
    }

    fn barrier_op(&mut self, op: BarrierOp) -> SyncOp {
        let BarrierOp { barrier, action } = op;
        match action {
            BarrierAction::Arrive { round, .. } => self.arrive(barrier, round),
            BarrierAction::Leave { round, .. } => {
                let round = self.slot(barrier, Sort::Round(round));
                SyncOp::Leave { round, count: self.arrivals(round) }
            }
            BarrierAction::Init { .. } => {
                self.slots.retain(|&(other, sort), _| other != barrier || !matches!(sort, Sort::Round(_)));
                SyncOp::Free
            }
            BarrierAction::Destroy => SyncOp::Free,
        }
    }

    fn thread(&self, number: u16) -> Option<Tid> {
        Some(number).filter(|&thread| usize::from(thread) < self.trace.threads.len())
    }

    /// A thread that fails to take what it holds itself always fails.
    fn busy(&mut self, thread: Tid, mutex: u64) -> SyncOp {
        let slot = self.slot(mutex, Sort::Mutex);
        if self.owners.get(&slot) == Some(&thread) { SyncOp::Free } else { SyncOp::Busy(slot) }
    }

    fn note(&mut self, thread: Tid, op: &SyncOp) {
        match *op {
            SyncOp::Lock(slot) | SyncOp::Resume { mutex: Some(slot), .. } => {
                self.owners.insert(slot, thread);
            }
            SyncOp::Unlock(slot) | SyncOp::Enqueue { mutex: Some(slot), .. } => {
                self.owners.remove(&slot);
            }
            SyncOp::Arrive { round, .. } => *self.arrived.entry(round).or_insert(0) += 1,
            _ => {}
        }
    }

    fn arrive(&mut self, obj: u64, round: u64) -> SyncOp {
        let previous = round.checked_sub(1).map(|previous| {
            let slot = self.slot(obj, Sort::Round(previous));
            (slot, self.arrivals(slot))
        });
        SyncOp::Arrive { round: self.slot(obj, Sort::Round(round)), previous }
    }

    /// Number of arrivals of the round so far. When a thread leaves the round, or arrives for the
    /// next one, these are all.
    fn arrivals(&self, round: Slot) -> u32 {
        self.arrived.get(&round).copied().unwrap_or(0)
    }

    fn forget(&mut self, obj: u64, sort: Sort) -> SyncOp {
        self.slots.remove(&(obj, sort));
        SyncOp::Free
    }

    /// Cuts cells into variables, keeps what is shared, and names it by its first byte.
    fn finish(mut self) -> ObservedTrace {
        let mut parts: Vec<[u8; 8]> = vec![[0; 8]; self.vars.len()];
        for access in &self.touches {
            join_bytes(&mut parts[access.var as usize], access.bytes);
        }
        let mut uses: BTreeMap<(Var, u8), Use> = BTreeMap::new();
        for access in &self.touches {
            let part = parts[access.var as usize][access.bytes.trailing_zeros() as usize];
            uses.entry((access.var, part)).or_default().add(access);
        }
        let mut cells: Vec<(u64, u32, Var)> = self.vars.iter().map(|(&(cell, life), &var)| (cell, life, var)).collect();
        cells.sort_unstable();
        let mut numbers: BTreeMap<(Var, u8), Var> = BTreeMap::new();
        for (cell, _, var) in cells {
            for (&key, _) in uses.range((var, 0)..=(var, u8::MAX)).filter(|(_, usage)| usage.shared && usage.written) {
                let address = (cell << 3) + u64::from(key.1.trailing_zeros());
                numbers.insert(key, self.trace.vars.len() as Var);
                self.trace.vars.push(VarInfo { name: format!("{address:#x}"), address: Some(address) });
            }
        }
        for access in self.touches {
            let part = parts[access.var as usize][access.bytes.trailing_zeros() as usize];
            if let Some(&var) = numbers.get(&(access.var, part)) {
                self.trace.accesses.push(SharedAccess { var, ..access });
            }
        }
        self.trace.finish();
        self.trace
    }
}

/// Whether a variable is shared and written.
#[derive(Clone, Copy, Default)]
struct Use {
    thread: Option<Tid>,
    shared: bool,
    written: bool,
}

impl Use {
    fn add(&mut self, access: &SharedAccess) {
        self.shared |= self.thread.is_some_and(|thread| thread != access.thread);
        self.thread = Some(access.thread);
        self.written |= access.writes();
    }
}

/// Merges all these bytes, which one access touches, into one variable, together with all bytes
/// that other accesses touch together with them. Each byte holds the set that it belongs to.
fn join_bytes(parts: &mut [u8; 8], bytes: u8) {
    let mut whole = bytes;
    for (byte, part) in parts.iter().enumerate() {
        if bytes & (1 << byte) != 0 {
            whole |= part;
        }
    }
    for (byte, part) in parts.iter_mut().enumerate() {
        if whole & (1 << byte) != 0 {
            *part = whole;
        }
    }
}

/// Locations that a spin loop waited on, with their first value. Locations that are also written
/// plainly are left out, because plain writes are no events.
fn awaited(execution: &Execution) -> BTreeMap<u64, u64> {
    let mut first: BTreeMap<u64, u64> = BTreeMap::new();
    let mut waited = BTreeSet::new();
    let accesses = || execution.events.iter().filter_map(|event| event.op.as_atomic());
    for op in accesses() {
        // The loop saw the old value before it saw the new one.
        first.entry(op.addr).or_insert(op.awaited().unwrap_or(op.seen()));
        if op.awaited().is_some() {
            waited.insert(op.addr);
        }
    }
    let plain: BTreeSet<u64> = execution
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Write && access.size <= 8)
        .map(|access| access.addr >> 3)
        .collect();
    let stored: BTreeSet<u64> = accesses().filter(|op| !op.is_load()).map(|op| op.addr).collect();
    first.retain(|obj, _| waited.contains(obj) && stored.contains(obj) && !plain.contains(&(obj >> 3)));
    first
}

/// Whether the operation uses an object that must be alive, and neither initialises nor destroys
/// it.
fn uses_object(op: &Op) -> bool {
    let leaves = matches!(op, Op::Barrier(BarrierOp { action: BarrierAction::Leave { .. }, .. }));
    op.life_change().is_none() && !op.ends_wait() && !leaves
}

fn gave_up(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed | Outcome::TimedOut)
}
