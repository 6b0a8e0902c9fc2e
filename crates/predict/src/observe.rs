//! Converts an execution of a program to a trace.
//!
//! Memory is divided into cells of eight bytes, and cells into variables. A newly allocated block has
//! new variables, and a newly initialised object is a new object. Only variables that several threads
//! access and at least one writes are kept.

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::depend::{AWAITED, LIFE_WORDS};
use raddle_model::race::Touching;
use raddle_model::{AccessKind, Event as RunEvent, Execution, PendingState};
use raddle_vocab::{OpKind, Outcome};
use rustc_hash::FxHashMap;

use crate::trace::{
    ObservedTrace as Trace, SharedAccess as Access, Slot, SyncOp as Op, ThreadTrace as Thread, Tid, Var, VarInfo,
};

/// An access to more bytes is compared only in cells that other accesses touch.
const LARGE: u64 = 1 << 12;

/// The trace of an execution. Objects and variables are named by address until [`Trace::rename`].
#[must_use]
pub fn observe(execution: &Execution) -> Trace {
    let mut trace = Trace { events: execution.recorded, ..Trace::default() };
    for thread in &execution.threads {
        let name = format!("t{}", thread.path.to_string().trim_start_matches('T').replace('.', "_"));
        trace.threads.push(Thread { name, ..Thread::default() });
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
    known.extend(
        execution.events.iter().filter(|step| step.obj != 0 && step.obj < LIFE_WORDS).map(|step| step.obj >> 3),
    );
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
    touches: Vec<Access>,
    trace: Trace,
}

impl Builder<'_> {
    fn run(&mut self) {
        let mut next = 0;
        let awaited = awaited(self.execution);
        for (number, step) in self.execution.events.iter().enumerate() {
            next = self.accesses(next, number as u32);
            if usize::from(step.thread) >= self.trace.threads.len() {
                continue;
            }
            self.touch_of_step(step);
            let op = self.op(step, &awaited);
            self.note(step.thread, &op);
            if step.kind == OpKind::ThreadEnd {
                self.trace.threads[usize::from(step.thread)].ended = true;
            }
            self.trace.push(step.thread, op, step.pc, word(step.kind));
        }
        self.accesses(next, u32::MAX);
        for (thread, pending) in self.execution.pending.iter().enumerate() {
            if pending.state == PendingState::Blocked && thread < self.trace.threads.len() {
                let op = self.op(&RunEvent { outcome: Outcome::Done, ..pending.event }, &awaited);
                self.trace.threads[thread].pending = Some(op);
            }
        }
    }

    /// The accesses that precede the step with this number.
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
        let cells: Vec<u64> = if size <= LARGE && what != Touching::Free {
            (addr >> 3..end.div_ceil(8)).collect()
        } else {
            self.known.range(addr >> 3..end.div_ceil(8)).copied().collect()
        };
        for cell in cells {
            let from = addr.saturating_sub(cell << 3).min(8);
            let to = end.saturating_sub(cell << 3).min(8);
            if from >= to {
                continue;
            }
            let bytes = (((1u16 << (to - from)) - 1) << from) as u8;
            let life = self.lives.get(&cell).copied().unwrap_or(0);
            let next = self.vars.len() as Var;
            let var = *self.vars.entry((cell, life)).or_insert(next);
            let after = self.trace.steps.len() as u32;
            let own_step = matches!(what, Touching::AtomicRead | Touching::AtomicWrite | Touching::Use);
            self.touches.push(Access { thread, position, var, bytes, what, place, after, own_step, reads_too: false });
        }
    }

    /// What a step itself does to memory.
    fn touch_of_step(&mut self, step: &RunEvent) {
        let (size, what) = match step.kind {
            OpKind::AtomicLoad if step.obj & LIFE_WORDS != 0 => return,
            OpKind::AtomicLoad => (step.extent(), Touching::AtomicRead),
            OpKind::AtomicStore | OpKind::AtomicRmw => (step.extent(), Touching::AtomicWrite),
            OpKind::AtomicCas if step.outcome == Outcome::Done => (step.extent(), Touching::AtomicWrite),
            OpKind::AtomicCas => (step.extent(), Touching::AtomicRead),
            OpKind::FutexWait | OpKind::FutexTimedWait => (4, Touching::AtomicRead),
            OpKind::Lock
            | OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::Unlock
            | OpKind::ReadLock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::WriteLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
            | OpKind::RwUnlock
            | OpKind::CondWait
            | OpKind::CondTimedWait
            | OpKind::Signal
            | OpKind::Broadcast
            | OpKind::SemWait
            | OpKind::SemTryWait
            | OpKind::SemTimedWait
            | OpKind::SemPost
            | OpKind::BarrierArrive => (1, Touching::Use),
            _ => return,
        };
        let position = self.trace.threads[usize::from(step.thread)].last();
        let first = self.touches.len();
        self.touch(step.thread, position, step.obj, size, what, step.pc);
        let reads_too = matches!(step.kind, OpKind::AtomicRmw | OpKind::AtomicCas);
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

    fn op(&mut self, step: &RunEvent, awaited: &BTreeMap<u64, u64>) -> Op {
        use OpKind as K;
        let (obj, arg, outcome) = (step.obj, step.arg, step.outcome);
        let done = outcome == Outcome::Done;
        let gave_up = matches!(outcome, Outcome::Failed | Outcome::TimedOut);
        match step.kind {
            K::Create if done => self.thread(arg).map_or(Op::Free, Op::Fork),
            K::Join if done => self.thread(arg).map_or(Op::Free, Op::Join),
            K::AtomicLoad if obj & LIFE_WORDS != 0 && step.value != 0 => {
                self.thread((obj & !LIFE_WORDS) >> 3).map_or(Op::Free, Op::Join)
            }
            K::Lock | K::TryLock | K::TimedLock if done => Op::Lock(self.slot(obj, Sort::Mutex)),
            K::TryLock | K::TimedLock if gave_up => self.busy(step),
            K::Unlock if done => Op::Unlock(self.slot(obj, Sort::Mutex)),
            K::ReadLock | K::TryReadLock | K::TimedReadLock if done => Op::ReadLock(self.slot(obj, Sort::Rwlock)),
            K::TryReadLock | K::TimedReadLock if gave_up => Op::BusyRead(self.slot(obj, Sort::Rwlock)),
            K::WriteLock | K::TryWriteLock | K::TimedWriteLock if done => Op::WriteLock(self.slot(obj, Sort::Rwlock)),
            K::TryWriteLock | K::TimedWriteLock if gave_up => Op::BusyWrite(self.slot(obj, Sort::Rwlock)),
            K::RwUnlock if done && arg == 1 => Op::WriteUnlock(self.slot(obj, Sort::Rwlock)),
            K::RwUnlock if done => Op::ReadUnlock(self.slot(obj, Sort::Rwlock)),
            K::CondWait | K::CondTimedWait => {
                Op::Enqueue { queue: self.slot(obj, Sort::Queue), mutex: Some(self.slot(arg, Sort::Mutex)) }
            }
            K::CondReacquire => {
                let mutex = Some(self.slot(arg, Sort::Mutex));
                Op::Resume { queue: self.slot(obj, Sort::Queue), mutex, woken: done }
            }
            K::FutexWait | K::FutexTimedWait if done => Op::Enqueue { queue: self.slot(obj, Sort::Queue), mutex: None },
            K::FutexResume => Op::Resume { queue: self.slot(obj, Sort::Queue), mutex: None, woken: done },
            K::Signal => Op::Wake { queue: self.slot(obj, Sort::Queue), all: false },
            K::Broadcast => Op::Wake { queue: self.slot(obj, Sort::Queue), all: true },
            K::FutexWake => Op::Wake { queue: self.slot(obj, Sort::Queue), all: arg != 1 },
            K::SemInit => {
                self.slots.remove(&(obj, Sort::Semaphore));
                Op::SetSem(self.slot(obj, Sort::Semaphore), u32::try_from(arg).unwrap_or(u32::MAX))
            }
            K::SemPost if done => Op::Post(self.slot(obj, Sort::Semaphore)),
            K::SemWait | K::SemTryWait | K::SemTimedWait if done => Op::Take(self.slot(obj, Sort::Semaphore)),
            K::SemTryWait | K::SemTimedWait if gave_up => Op::Empty(self.slot(obj, Sort::Semaphore)),
            K::BarrierArrive => self.arrive(obj, arg),
            K::BarrierLeave => {
                let round = self.slot(obj, Sort::Round(arg));
                Op::Leave { round, count: self.arrivals(round) }
            }
            K::OnceBegin if done => Op::Lock(self.slot(obj, Sort::Once)),
            K::OnceBegin if outcome == Outcome::Already => Op::OnceSeen(self.slot(obj, Sort::Once)),
            K::OnceEnd => Op::OnceEnd(self.slot(obj, Sort::Once)),
            K::OnceAbort => Op::Unlock(self.slot(obj, Sort::Once)),
            K::AtomicStore | K::AtomicRmw if awaited.contains_key(&obj) => Op::Publish(self.slot(obj, Sort::Location)),
            K::AtomicCas if done && awaited.contains_key(&obj) => Op::Publish(self.slot(obj, Sort::Location)),
            K::AtomicLoad if arg == AWAITED && awaited.get(&obj) == Some(&step.old) => {
                Op::Await(self.slot(obj, Sort::Location))
            }
            K::MutexInit => self.forget(obj, Sort::Mutex),
            K::RwInit => self.forget(obj, Sort::Rwlock),
            K::CondInit => self.forget(obj, Sort::Queue),
            K::BarrierInit => {
                self.slots.retain(|&(other, sort), _| other != obj || !matches!(sort, Sort::Round(_)));
                Op::Free
            }
            _ => Op::Free,
        }
    }

    fn thread(&self, number: u64) -> Option<Tid> {
        Tid::try_from(number).ok().filter(|&thread| usize::from(thread) < self.trace.threads.len())
    }

    /// A thread that fails to take what it holds itself always fails.
    fn busy(&mut self, step: &RunEvent) -> Op {
        let slot = self.slot(step.obj, Sort::Mutex);
        if self.owners.get(&slot) == Some(&step.thread) { Op::Free } else { Op::Busy(slot) }
    }

    fn note(&mut self, thread: Tid, op: &Op) {
        match *op {
            Op::Lock(slot) | Op::Resume { mutex: Some(slot), .. } => {
                self.owners.insert(slot, thread);
            }
            Op::Unlock(slot) | Op::Enqueue { mutex: Some(slot), .. } => {
                self.owners.remove(&slot);
            }
            Op::Arrive { round, .. } => *self.arrived.entry(round).or_insert(0) += 1,
            _ => {}
        }
    }

    fn arrive(&mut self, obj: u64, round: u64) -> Op {
        let previous = round.checked_sub(1).map(|previous| {
            let slot = self.slot(obj, Sort::Round(previous));
            (slot, self.arrivals(slot))
        });
        Op::Arrive { round: self.slot(obj, Sort::Round(round)), previous }
    }

    /// Number of arrivals of the round so far. When a thread leaves the round, or arrives for the next one,
    /// these are all.
    fn arrivals(&self, round: Slot) -> u32 {
        self.arrived.get(&round).copied().unwrap_or(0)
    }

    fn forget(&mut self, obj: u64, sort: Sort) -> Op {
        self.slots.remove(&(obj, sort));
        Op::Free
    }

    /// Cuts cells into variables, keeps what is shared, and names it by its first byte.
    fn finish(mut self) -> Trace {
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
                self.trace.accesses.push(Access { var, ..access });
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
    fn add(&mut self, access: &Access) {
        self.shared |= self.thread.is_some_and(|thread| thread != access.thread);
        self.thread = Some(access.thread);
        self.written |= access.writes();
    }
}

/// Merges all these bytes, which one access touches, into one variable, together with all bytes that
/// other accesses touch together with them. Each byte holds the set that it belongs to.
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

/// Locations that some loop waited on, with their first value. Those that are also written plainly are left out: their changes
/// are no steps.
fn awaited(execution: &Execution) -> BTreeMap<u64, u64> {
    let mut first: BTreeMap<u64, u64> = BTreeMap::new();
    let mut waited = BTreeSet::new();
    for step in execution.events.iter().filter(|step| step.obj & LIFE_WORDS == 0) {
        match step.kind {
            OpKind::AtomicLoad => {
                // The loop saw the old value before it saw the new one.
                let seen = if step.arg == AWAITED { step.old } else { step.value };
                first.entry(step.obj).or_insert(seen);
                if step.arg == AWAITED {
                    waited.insert(step.obj);
                }
            }
            OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => {
                first.entry(step.obj).or_insert(step.old);
            }
            _ => {}
        }
    }
    let plain: BTreeSet<u64> = execution
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Write && access.size <= 8)
        .map(|access| access.addr >> 3)
        .collect();
    let stored: BTreeSet<u64> = execution
        .events
        .iter()
        .filter(|step| matches!(step.kind, OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas))
        .map(|step| step.obj)
        .collect();
    first.retain(|obj, _| waited.contains(obj) && stored.contains(obj) && !plain.contains(&(obj >> 3)));
    first
}

/// A word for people where the operation says nothing.
fn word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::ThreadStart => "start",
        OpKind::ThreadEnd => "end",
        OpKind::AtomicLoad => "load",
        OpKind::AtomicStore => "store",
        OpKind::AtomicRmw => "exchange",
        OpKind::AtomicCas => "compare",
        OpKind::Fence => "fence",
        OpKind::TryLock
        | OpKind::TimedLock
        | OpKind::TryReadLock
        | OpKind::TimedReadLock
        | OpKind::TryWriteLock
        | OpKind::TimedWriteLock
        | OpKind::SemTryWait
        | OpKind::SemTimedWait => "try",
        OpKind::Io => "io",
        OpKind::Exit => "exit",
        _ => "step",
    }
}
