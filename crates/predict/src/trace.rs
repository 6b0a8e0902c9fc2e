//! The observed trace: what each thread did to which object.
//!
//! A *event* is a synchronising operation. *Accesses* are data accesses between events. Prediction
//! reorders events; the accesses up to the thread's next event (its *block*) move with an event.
//! The *position* of a thread is the number of events that it has made. A thread at position `p` is
//! in its block `p`; block 0 precedes its first event.

use std::collections::BTreeMap;

use raddle_model::race::Touching;

use crate::label::EventLabel;
use crate::lockset::LockSets;

/// Number of a thread in a trace.
pub type Tid = u16;

/// A word of the state that events observe and change: the owner of a mutex, the count of a
/// semaphore, ...
pub type Slot = u32;

/// A variable: part of an eight-byte cell of memory between allocation and free, or a name in a
/// trace that was read from a file.
pub type Var = u32;

/// Value of a mutex's slot while no thread owns it.
pub const UNOWNED: u32 = 0;

/// What an event needs and does. An event that waits for no other thread and makes no other thread
/// wait is [`SyncOp::Free`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOp {
    /// Always enabled; changes nothing that other threads wait for.
    Free,
    /// Creates a thread.
    Fork(Tid),
    /// Waits for the end of a thread.
    Join(Tid),
    /// Acquires a mutex, or the right to run a once initialiser.
    Lock(Slot),
    /// Releases it.
    Unlock(Slot),
    /// A try that failed or a timed lock that timed out, because another thread held the mutex.
    Busy(Slot),
    /// Acquires a rwlock for reading. The slot holds the writer, the next one the number of
    /// readers.
    ReadLock(Slot),
    /// Releases it.
    ReadUnlock(Slot),
    /// Acquires it for writing.
    WriteLock(Slot),
    /// Releases it.
    WriteUnlock(Slot),
    /// A failed attempt to read: there was a writer.
    BusyRead(Slot),
    /// A failed attempt to write: there was a reader or a writer.
    BusyWrite(Slot),
    /// Starts to wait in a queue and releases the mutex.
    Enqueue {
        /// The queue.
        queue: Slot,
        /// The mutex of a condition variable.
        mutex: Option<Slot>,
    },
    /// Ends the wait and acquires the mutex.
    Resume {
        /// The queue.
        queue: Slot,
        /// The mutex of a condition variable.
        mutex: Option<Slot>,
        /// Whether the thread was woken; otherwise it timed out.
        woken: bool,
    },
    /// Wakes one or all threads of a queue.
    Wake {
        /// The queue.
        queue: Slot,
        /// Whether all threads are woken.
        all: bool,
    },
    /// Sets a semaphore to its initial value.
    SetSem(Slot, u32),
    /// Increments it.
    Post(Slot),
    /// Decrements it.
    Take(Slot),
    /// A failed attempt to decrement it: it was 0.
    Empty(Slot),
    /// Arrives at a barrier. The slot counts the arrivals of the round.
    Arrive {
        /// This round.
        round: Slot,
        /// The previous round and its number of arrivals.
        previous: Option<(Slot, u32)>,
    },
    /// Leaves a barrier, once `count` threads have arrived.
    Leave {
        /// The round.
        round: Slot,
        /// Number of arrivals of the round.
        count: u32,
    },
    /// Ends an initialiser: releases the slot and sets the next one.
    OnceEnd(Slot),
    /// Finds the initialiser done.
    OnceSeen(Slot),
    /// Writes a location that another thread waits on in a spin loop.
    Publish(Slot),
    /// Leaves a spin loop that waited for a change.
    Await(Slot),
}

/// A synchronising operation.
#[derive(Clone, Copy, Debug)]
pub struct SyncEvent {
    /// The thread that made it.
    pub thread: Tid,
    /// The operation.
    pub op: SyncOp,
    /// Its address in the program, or the number of a trace's location field.
    pub place: u64,
    /// Its number among the thread's events, from 0.
    pub index: u32,
    /// What the operation alone does not say.
    pub label: EventLabel,
}

/// A data access, or an atomic access, which is part of an event.
#[derive(Clone, Copy, Debug)]
pub struct SharedAccess {
    /// The thread that made it.
    pub thread: Tid,
    /// The thread's position: the access is made in this block.
    pub position: u32,
    /// The variable.
    pub var: Var,
    /// Which of the eight bytes of a cell, as a bit mask.
    pub bytes: u8,
    /// The kind of access.
    pub what: Touching,
    /// Its address in the program.
    pub place: u64,
    /// Whether an atomic write reads as well.
    pub reads_too: bool,
    /// Number of events of the whole trace that precede it.
    pub after: u32,
    /// Whether it is part of an event. Then its position is the one before that event.
    pub own_event: bool,
}

impl SharedAccess {
    /// Whether it changes the memory.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(
            self.what,
            Touching::Write | Touching::AtomicWrite | Touching::Free | Touching::Make | Touching::Mapping(_)
        )
    }

    /// Whether it depends on the value in memory.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(self.what, Touching::Read | Touching::AtomicRead)
            || (self.what == Touching::AtomicWrite && self.reads_too)
    }

    /// Whether the two would race if they were unordered.
    #[must_use]
    pub fn conflicts(&self, other: &SharedAccess) -> bool {
        self.var == other.var
            && self.thread != other.thread
            && self.bytes & other.bytes != 0
            && self.what.conflicts(other.what)
    }
}

/// One thread of a trace.
#[derive(Clone, Debug, Default)]
pub struct ThreadTrace {
    /// Its name.
    pub name: String,
    /// Its events, as indices into [`ObservedTrace::events`].
    pub events: Vec<u32>,
    /// The event that created it; `None` for threads that exist from the start.
    pub fork: Option<u32>,
    /// The set of locks that it holds at each position.
    pub held: Vec<u32>,
    /// The operation that blocks it at the end of the trace.
    pub pending: Option<SyncOp>,
    /// Whether its last event is its end. A thread that never ended cannot be joined.
    pub ended: bool,
}

impl ThreadTrace {
    /// The position after its last event.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.events.len() as u32
    }
}

/// What a slot stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotInfo {
    /// Name of the object, unique among objects.
    pub name: String,
    /// Where it lies, if that is known.
    pub address: Option<u64>,
    /// Whether an operation on the object can disable another one in a way that the search must
    /// branch on: there are failed tries, a thread other than the owner releases it, or several
    /// threads decrement the semaphore.
    pub delicate: bool,
    /// Whether a thread other than the owner releases it. Then holding it protects nothing.
    pub loose: bool,
    /// Whether a thread can observe the order of the operations: there were tries, or it is a once
    /// initialiser.
    pub noticed: bool,
}

/// A variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VarInfo {
    /// Its name, unique among variables.
    pub name: String,
    /// Where it lies, if that is known.
    pub address: Option<u64>,
}

/// A trace that was observed in a run or read from a file.
#[derive(Clone, Debug, Default)]
pub struct ObservedTrace {
    /// All events in order.
    pub events: Vec<SyncEvent>,
    /// All accesses to variables that several threads access, in order.
    pub accesses: Vec<SharedAccess>,
    /// The threads.
    pub threads: Vec<ThreadTrace>,
    /// The state that events observe and change.
    pub slots: Vec<SlotInfo>,
    /// The variables.
    pub vars: Vec<VarInfo>,
    /// All lock sets that occur.
    pub locks: LockSets,
    /// How many events were recorded, including accesses to memory that is not shared.
    pub recorded: u64,
    /// Features of the trace that prediction does not model.
    pub limits: Vec<String>,
}

impl ObservedTrace {
    /// The thread's event at a position.
    #[must_use]
    pub fn event_at(&self, thread: Tid, position: u32) -> Option<u32> {
        self.threads.get(usize::from(thread))?.events.get(position as usize).copied()
    }

    /// The thread's position before an event.
    #[must_use]
    pub fn position(&self, event: u32) -> (Tid, u32) {
        let event = &self.events[event as usize];
        (event.thread, event.index)
    }

    /// Appends an event.
    pub(crate) fn push(&mut self, thread: Tid, op: SyncOp, place: u64, label: EventLabel) {
        let number = self.events.len() as u32;
        let own = &mut self.threads[usize::from(thread)].events;
        let index = own.len() as u32;
        own.push(number);
        if let SyncOp::Fork(child) = op
            && let Some(child) = self.threads.get_mut(usize::from(child))
        {
            child.fork = Some(number);
        }
        self.events.push(SyncEvent { thread, op, place, index, label });
    }

    /// Names everything that has an address. If a name occurs again, a number is appended.
    pub fn rename(&mut self, name: &dyn Fn(u64) -> String) {
        let mut used: BTreeMap<String, u32> = BTreeMap::new();
        let mut unique = |address: u64| {
            let name = name(address);
            let times = used.entry(name.clone()).or_insert(0);
            *times += 1;
            if *times == 1 { name } else { format!("{name}_{times}") }
        };
        for slot in &mut self.slots {
            if let Some(address) = slot.address {
                slot.name = unique(address);
            }
        }
        for var in &mut self.vars {
            if let Some(address) = var.address {
                var.name = unique(address);
            }
        }
    }

    /// A new slot.
    pub(crate) fn slot(&mut self, name: String, address: Option<u64>) -> Slot {
        self.slots.push(SlotInfo { name, address, ..SlotInfo::default() });
        self.slots.len() as u32 - 1
    }

    /// Computes what follows from the events: delicate slots, and the locks held at each position.
    pub(crate) fn finish(&mut self) {
        self.mark_delicate();
        let locks = &mut self.locks;
        for thread in &mut self.threads {
            let mut held: Vec<u32> = Vec::new();
            thread.held = vec![locks.intern(&held)];
            for &event in &thread.events {
                let before = held.len();
                crate::lockset::apply(&mut held, &self.events[event as usize].op, &self.slots);
                let unchanged = held.len() == before;
                let last = thread.held[thread.held.len() - 1];
                thread.held.push(if unchanged && locks.get(last) == held { last } else { locks.intern(&held) });
            }
        }
    }

    fn mark_delicate(&mut self) {
        let mut owner: Vec<Option<Tid>> = vec![None; self.slots.len()];
        let mut taker: Vec<Option<Tid>> = vec![None; self.slots.len()];
        for event in &self.events {
            if let Some(slot) = noticed(event) {
                self.slots[slot as usize].noticed = true;
            }
            match event.op {
                SyncOp::Lock(slot) => owner[slot as usize] = Some(event.thread),
                SyncOp::Resume { mutex: Some(slot), .. } => owner[slot as usize] = Some(event.thread),
                SyncOp::Unlock(slot) | SyncOp::OnceEnd(slot) | SyncOp::Enqueue { mutex: Some(slot), .. } => {
                    let others = owner[slot as usize].take() != Some(event.thread);
                    self.slots[slot as usize].loose |= others;
                    self.slots[slot as usize].delicate |= others;
                }
                SyncOp::Busy(slot) | SyncOp::BusyRead(slot) | SyncOp::BusyWrite(slot) | SyncOp::Empty(slot) => {
                    self.slots[slot as usize].delicate = true;
                }
                SyncOp::Take(slot) => match taker[slot as usize] {
                    Some(other) if other != event.thread => self.slots[slot as usize].delicate = true,
                    _ => taker[slot as usize] = Some(event.thread),
                },
                _ => {}
            }
        }
    }
}

/// The object of an event whose result tells the thread whether it was the first.
fn noticed(event: &SyncEvent) -> Option<Slot> {
    match event.op {
        SyncOp::Lock(slot) | SyncOp::ReadLock(slot) | SyncOp::WriteLock(slot) | SyncOp::Take(slot) => {
            (event.label == EventLabel::Try).then_some(slot)
        }
        SyncOp::Busy(slot)
        | SyncOp::BusyRead(slot)
        | SyncOp::BusyWrite(slot)
        | SyncOp::Empty(slot)
        | SyncOp::OnceEnd(slot) => Some(slot),
        _ => None,
    }
}
