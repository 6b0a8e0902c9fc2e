//! A trace in the terms of prediction: what each thread did to which object, and nothing else.
//!
//! A *step* is a synchronising operation; *accesses* are data accesses between steps. Everything that prediction may reorder is
//! a step, with the accesses up to the thread's next step (its *block*) attached to it. A *position* of a thread is the number
//! of steps that it has made, so a thread at position `p` is in its block `p`, and block 0 precedes its first step.

use std::collections::BTreeMap;

use raddle_model::race::Touching;

use crate::lockset::LockSets;

/// Number of a thread in a trace.
pub type Tid = u16;

/// A place in the state that steps observe and change: the owner of a mutex, the count of a semaphore, ...
pub type Slot = u32;

/// A variable: eight bytes of memory in one life, or a name in a trace from elsewhere.
pub type Var = u32;

/// Nobody owns the mutex.
pub const UNOWNED: u32 = 0;

/// What a step needs and does. Steps that neither wait for anybody nor keep anybody waiting are all [`SyncOp::Free`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOp {
    /// Always possible, changes nothing that others wait for.
    Free,
    /// Brings a thread to life.
    Fork(Tid),
    /// Waits for the end of a thread.
    Join(Tid),
    /// Takes a mutex (or the right to run an initialiser).
    Lock(Slot),
    /// Gives it back.
    Unlock(Slot),
    /// Found it taken by somebody else: a try that failed, a timed lock that timed out.
    Busy(Slot),
    /// Takes a rwlock for reading. The slot holds the writer, the next one the number of readers.
    ReadLock(Slot),
    /// Gives it back.
    ReadUnlock(Slot),
    /// Takes it for writing.
    WriteLock(Slot),
    /// Gives it back.
    WriteUnlock(Slot),
    /// Wanted to read, found a writer.
    BusyRead(Slot),
    /// Wanted to write, found somebody.
    BusyWrite(Slot),
    /// Starts to wait in a queue and gives the mutex back.
    Enqueue {
        /// The queue.
        queue: Slot,
        /// The mutex of a condition variable.
        mutex: Option<Slot>,
    },
    /// Ends the wait and takes the mutex.
    Resume {
        /// The queue.
        queue: Slot,
        /// The mutex of a condition variable.
        mutex: Option<Slot>,
        /// Whether somebody woke the thread; otherwise it timed out.
        woken: bool,
    },
    /// Wakes one or all of those that wait in the queue.
    Wake {
        /// The queue.
        queue: Slot,
        /// All of them.
        all: bool,
    },
    /// Gives a semaphore its first value.
    SetSem(Slot, u32),
    /// Raises it.
    Post(Slot),
    /// Lowers it.
    Take(Slot),
    /// Found it at 0.
    Empty(Slot),
    /// Comes to a barrier. The slot counts the arrivals of the round.
    Arrive {
        /// This round.
        round: Slot,
        /// The round before and how many belong to it.
        previous: Option<(Slot, u32)>,
    },
    /// Leaves it, once so many have arrived.
    Leave {
        /// The round.
        round: Slot,
        /// Its size.
        count: u32,
    },
    /// Ends an initialiser: gives the slot back and sets the next one.
    OnceEnd(Slot),
    /// Finds the initialiser done.
    OnceSeen(Slot),
    /// Writes a location that somebody waits to see change.
    Publish(Slot),
    /// Leaves a loop that waited for a change.
    Await(Slot),
}

/// A synchronising operation.
#[derive(Clone, Copy, Debug)]
pub struct SyncEvent {
    /// Whose.
    pub thread: Tid,
    /// What.
    pub op: SyncOp,
    /// Where, in the program (or the location field of a trace).
    pub place: u64,
    /// Its number among the thread's steps, from 0.
    pub index: u32,
    /// For people: `lock`, `post`, ... where the operation alone does not say it.
    pub word: &'static str,
}

/// A data access, or an atomic one (which then belongs to the block of its own step).
#[derive(Clone, Copy, Debug)]
pub struct SharedAccess {
    /// Whose.
    pub thread: Tid,
    /// The thread's position: it is made in this block.
    pub position: u32,
    /// Of what.
    pub var: Var,
    /// Which of the eight bytes.
    pub bytes: u8,
    /// How.
    pub what: Touching,
    /// Where, in the program.
    pub place: u64,
    /// Whether an atomic write reads as well.
    pub reads_too: bool,
    /// Number of steps of the whole trace that precede it.
    pub after: u32,
    /// Whether it is part of a step, so that a thread that is about to make it stands before that step. Its position is
    /// then that of the step.
    pub own_step: bool,
}

impl SharedAccess {
    /// Whether it changes what it touches.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.what, Touching::Write | Touching::AtomicWrite | Touching::Free)
    }

    /// Whether it depends on what was written before.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(self.what, Touching::Read | Touching::AtomicRead)
            || (self.what == Touching::AtomicWrite && self.reads_too)
    }

    /// Whether the two would race if nothing separated them.
    #[must_use]
    pub fn conflicts(&self, other: &SharedAccess) -> bool {
        self.var == other.var
            && self.thread != other.thread
            && self.bytes & other.bytes != 0
            && self.what.conflicts(other.what)
    }
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadTrace {
    /// Its name.
    pub name: String,
    /// Its steps, as indices into [`ObservedTrace::steps`].
    pub steps: Vec<u32>,
    /// The step that created it; `None` for threads that are there from the start.
    pub fork: Option<u32>,
    /// The set of locks that it holds at each position.
    pub held: Vec<u32>,
    /// What it stands before at the end of the trace, if it waits there for somebody.
    pub pending: Option<SyncOp>,
    /// Whether its last step is its end. One that never ended cannot be joined.
    pub ended: bool,
}

impl ThreadTrace {
    /// The position behind its last step.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.steps.len() as u32
    }
}

/// What a slot stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotInfo {
    /// Name of the object; no other one has it.
    pub name: String,
    /// Where it lies, if that is known.
    pub address: Option<u64>,
    /// Whether a step that takes or gives the object can spoil what another one needs: tries that must fail, mutexes that
    /// others than the owner give back, semaphores that several threads lower.
    pub delicate: bool,
    /// Whether it is given back by others than the owner, so that holding it protects nothing.
    pub loose: bool,
    /// Whether some thread could notice who came first: there were attempts, or it is an initialiser.
    pub noticed: bool,
}

/// A variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VarInfo {
    /// Its name; no other one has it.
    pub name: String,
    /// Where it lies, if that is known.
    pub address: Option<u64>,
}

/// What was observed.
#[derive(Clone, Debug, Default)]
pub struct ObservedTrace {
    /// All steps in order.
    pub steps: Vec<SyncEvent>,
    /// All accesses to variables that several threads access, in order.
    pub accesses: Vec<SharedAccess>,
    /// The threads.
    pub threads: Vec<ThreadTrace>,
    /// What steps touch.
    pub slots: Vec<SlotInfo>,
    /// The variables.
    pub vars: Vec<VarInfo>,
    /// All sets of locks that occur.
    pub locks: LockSets,
    /// How many events were recorded, shared or not.
    pub events: u64,
    /// What the trace has and prediction does not model.
    pub limits: Vec<String>,
}

impl ObservedTrace {
    /// The thread's step at a position.
    #[must_use]
    pub fn step_at(&self, thread: Tid, position: u32) -> Option<u32> {
        self.threads.get(usize::from(thread))?.steps.get(position as usize).copied()
    }

    /// The thread's position before a step.
    #[must_use]
    pub fn position(&self, step: u32) -> (Tid, u32) {
        let step = &self.steps[step as usize];
        (step.thread, step.index)
    }

    /// Appends a step.
    pub(crate) fn push(&mut self, thread: Tid, op: SyncOp, place: u64, word: &'static str) {
        let number = self.steps.len() as u32;
        let own = &mut self.threads[usize::from(thread)].steps;
        let index = own.len() as u32;
        own.push(number);
        if let SyncOp::Fork(child) = op
            && let Some(child) = self.threads.get_mut(usize::from(child))
        {
            child.fork = Some(number);
        }
        self.steps.push(SyncEvent { thread, op, place, index, word });
    }

    /// Gives everything that has an address its name; later ones of the same name get a number.
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

    /// Works out what follows from the steps: delicate slots, and the locks held at each position.
    pub(crate) fn finish(&mut self) {
        self.mark_delicate();
        let locks = &mut self.locks;
        for thread in &mut self.threads {
            let mut held: Vec<u32> = Vec::new();
            thread.held = vec![locks.intern(&held)];
            for &step in &thread.steps {
                let before = held.len();
                crate::lockset::apply(&mut held, &self.steps[step as usize].op, &self.slots);
                let unchanged = held.len() == before;
                let last = thread.held[thread.held.len() - 1];
                thread.held.push(if unchanged && locks.get(last) == held { last } else { locks.intern(&held) });
            }
        }
    }

    fn mark_delicate(&mut self) {
        let mut owner: Vec<Option<Tid>> = vec![None; self.slots.len()];
        let mut taker: Vec<Option<Tid>> = vec![None; self.slots.len()];
        for step in &self.steps {
            if let Some(slot) = noticed(step) {
                self.slots[slot as usize].noticed = true;
            }
            match step.op {
                SyncOp::Lock(slot) => owner[slot as usize] = Some(step.thread),
                SyncOp::Resume { mutex: Some(slot), .. } => owner[slot as usize] = Some(step.thread),
                SyncOp::Unlock(slot) | SyncOp::OnceEnd(slot) | SyncOp::Enqueue { mutex: Some(slot), .. } => {
                    let others = owner[slot as usize].take() != Some(step.thread);
                    self.slots[slot as usize].loose |= others;
                    self.slots[slot as usize].delicate |= others;
                }
                SyncOp::Busy(slot) | SyncOp::BusyRead(slot) | SyncOp::BusyWrite(slot) | SyncOp::Empty(slot) => {
                    self.slots[slot as usize].delicate = true;
                }
                SyncOp::Take(slot) => match taker[slot as usize] {
                    Some(other) if other != step.thread => self.slots[slot as usize].delicate = true,
                    _ => taker[slot as usize] = Some(step.thread),
                },
                _ => {}
            }
        }
    }
}

/// The object of a step after which the thread knows whether it came first.
fn noticed(step: &SyncEvent) -> Option<Slot> {
    match step.op {
        SyncOp::Lock(slot) | SyncOp::ReadLock(slot) | SyncOp::WriteLock(slot) | SyncOp::Take(slot) => {
            (step.word == "try").then_some(slot)
        }
        SyncOp::Busy(slot)
        | SyncOp::BusyRead(slot)
        | SyncOp::BusyWrite(slot)
        | SyncOp::Empty(slot)
        | SyncOp::OnceEnd(slot) => Some(slot),
        _ => None,
    }
}
