//! Execution graphs.

use std::collections::BTreeSet;

use raddle_vocab::MemOrder;
use serde::{Deserialize, Serialize};

use super::updated;
use crate::execution::HeldRead;

/// In place of the number of a store: the initial value of the location.
pub const INIT: u32 = u32::MAX;
/// In place of the number of an event that caused another one: there is none.
pub const NO_CAUSE: u32 = u32::MAX;

/// The name of an event, which does not depend on the order of independent events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GraphEventId {
    /// Number of the thread in the search: one for each spawn path.
    pub thread: u16,
    /// Its number among the transitions of its thread.
    pub index: u32,
    /// Whether it is the write of a read-modify-write, whose read has the same number.
    pub is_exclusive_write: bool,
}

/// A location: bytes that atomic operations access, or an object, from one initialisation to the
/// next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LocationKey {
    /// First byte.
    pub addr: u64,
    /// Number of bytes; 0 for an object that is no memory to the program.
    pub size: u32,
    /// How often it was initialised or freed before.
    pub life: u32,
}

/// A location of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Its name.
    pub key: LocationKey,
    /// What it holds before all stores.
    pub initial: u64,
    /// Its stores, in modification order: numbers of events.
    pub stores: Vec<u32>,
}

/// The value of a read-write lock that a writer holds.
pub const WRITER: u64 = 1 << 32;

/// What a read goes on with, as a function of the value that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThenWrites {
    /// A load: nothing.
    Nothing,
    /// A read-modify-write: the value combined with an operand.
    Always {
        /// How, as in [`super::AtomicDetail`].
        how: u8,
        /// With what.
        operand: u64,
        /// Bytes.
        size: u32,
    },
    /// A compare-exchange: a value, if it reads the expected one.
    If {
        /// What it expects.
        expected: u64,
        /// What it stores.
        desired: u64,
        /// Order if it does not read that.
        #[serde(with = "crate::saved::memory_order")]
        failure: MemOrder,
    },
    /// The acquisition of a lock: it waits for 0 and stores 1.
    Lock,
    /// An attempt at a lock: as [`ThenWrites::Lock`], but it gives up where that waits. It stores
    /// what is there then, so that it has a place among the other operations.
    TryLock,
    /// The release of a lock: stores 0. It reads, so that it has a place among attempts that fail.
    Unlock {
        /// Whether it is done by a locked instruction.
        is_locked: bool,
    },
    /// Takes one from a semaphore: it waits for more than 0.
    Take,
    /// As [`ThenWrites::Take`], but it gives up where that waits, as [`ThenWrites::TryLock`] does.
    TryTake,
    /// A reader acquires a read-write lock. The value is the number of readers, or tells that a
    /// writer holds it.
    ReadLock,
    /// The same, but it gives up.
    TryReadLock,
    /// A writer acquires it.
    WriteLock,
    /// The same, but it gives up.
    TryWriteLock,
    /// A reader releases it.
    ReadUnlock,
    /// The writer releases it.
    WriteUnlock,
    /// Begins an initialisation that is done once: it waits while that is under way (1), and stores
    /// that it is unless it is done (2).
    Begin,
}

/// A read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLabel {
    /// Index in [`Graph::locations`].
    pub location: u32,
    /// The order of the whole operation, if it succeeds.
    #[serde(with = "crate::saved::memory_order")]
    pub order: MemOrder,
    /// What follows.
    pub then: ThenWrites,
    /// Of its write: [`WriteLabel::continues`].
    pub continues: bool,
    /// If it is the read of a loop that waits: which values hold the thread ([`Failing`]).
    pub held: HeldRead,
}

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteLabel {
    /// Index in [`Graph::locations`].
    pub location: u32,
    /// Its order.
    #[serde(with = "crate::saved::memory_order")]
    pub order: MemOrder,
    /// What it stores.
    pub value: u64,
    /// Whether it is a part of a read-modify-write.
    pub is_exclusive: bool,
    /// Whether it goes on with a release sequence of its own thread, as in C and in C++ before
    /// C++20.
    pub continues: bool,
    /// Whether processors order it with later reads, whatever its order: it is done by a locked
    /// instruction.
    pub is_locked: bool,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Label {
    /// Reads a location.
    Read(ReadLabel),
    /// Writes a location.
    Write(WriteLabel),
    /// A fence.
    Fence(#[serde(with = "crate::saved::memory_order")] MemOrder),
    /// Creates the thread with this number.
    Create(u16),
    /// Begins or ends a thread, or waits for its end.
    Thread,
    /// Nothing that another thread could notice.
    Local,
}

/// An event of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphNode {
    /// Its name.
    pub id: GraphEventId,
    /// What it does.
    pub label: Label,
    /// Of a read: the store that it reads, or [`INIT`]. Otherwise without a meaning.
    pub reads: u32,
    /// The event of another thread that it follows in any case (a creation, the end of a thread),
    /// or [`NO_CAUSE`].
    pub cause: u32,
    /// Whether it is a read that its thread waits at: it has read a value with which it cannot go
    /// on.
    pub waits: bool,
}

/// With which values loops only go round again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing(BTreeSet<(u16, u64)>);

impl Failing {
    /// A loop goes round again if it reads this value.
    pub fn insert(&mut self, read: HeldRead, value: u64) {
        if read.0 != HeldRead::NONE.0 {
            self.0.insert((read.0, value));
        }
    }

    /// Whether it is known that a loop does so.
    #[must_use]
    pub fn holds(&self, read: HeldRead, value: u64) -> bool {
        self.0.contains(&(read.0, value))
    }
}

/// Events in the order in which a search added them, with reads-from and modification order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The events. Those of a thread stand in program order.
    pub nodes: Vec<GraphNode>,
    /// Their locations.
    pub locations: Vec<Location>,
}

impl ReadLabel {
    /// The order with which it reads this value: a compare-exchange that fails has another one.
    #[must_use]
    pub fn order_reading(&self, value: u64) -> MemOrder {
        match self.then {
            ThenWrites::Nothing => self.order,
            ThenWrites::If { expected, failure, .. } if expected != value => failure,
            then if then.gives_up(value) => MemOrder::Relaxed,
            _ => halves(self.order).0,
        }
    }

    /// The write that belongs to it if it reads this value and does not wait.
    #[must_use]
    pub fn write_after(&self, value: u64) -> Option<WriteLabel> {
        let stored = match self.then {
            ThenWrites::Nothing => return None,
            ThenWrites::Always { how, operand, size } => updated(how, value, operand, size),
            ThenWrites::If { expected, desired, .. } => (expected == value).then_some(desired)?,
            then if then.gives_up(value) => value,
            ThenWrites::Lock | ThenWrites::Begin => (value == 0).then_some(1)?,
            ThenWrites::WriteLock => (value == 0).then_some(WRITER)?,
            ThenWrites::ReadLock => (value & WRITER == 0).then_some(value + 1)?,
            ThenWrites::TryLock => 1,
            ThenWrites::TryWriteLock => WRITER,
            ThenWrites::TryReadLock => value + 1,
            ThenWrites::Unlock { .. } | ThenWrites::WriteUnlock => 0,
            ThenWrites::ReadUnlock => value.saturating_sub(1),
            ThenWrites::Take | ThenWrites::TryTake => value.checked_sub(1)?,
        };
        Some(WriteLabel {
            location: self.location,
            order: halves(self.order).1,
            value: stored,
            is_exclusive: true,
            continues: self.continues,
            is_locked: self.is_locked_reading(value),
        })
    }

    /// Whether its thread waits while it reads this value, as far as is known.
    #[must_use]
    pub fn would_wait(&self, value: u64, failing: &Failing) -> bool {
        match self.then {
            ThenWrites::Lock | ThenWrites::WriteLock => value != 0,
            ThenWrites::ReadLock => value & WRITER != 0,
            ThenWrites::Take => value == 0,
            ThenWrites::Begin => value == 1,
            _ => failing.holds(self.held, value),
        }
    }

    /// Whether it is done by a locked instruction, which processors order with all before and
    /// behind it, if it reads this value. The C library finds with a load that an initialisation is
    /// done.
    #[must_use]
    pub fn is_locked_reading(&self, value: u64) -> bool {
        match self.then {
            ThenWrites::Nothing => false,
            ThenWrites::Begin => value != 2,
            ThenWrites::Unlock { is_locked } => is_locked,
            _ => true,
        }
    }
}

impl ThenWrites {
    /// Whether it is an attempt that fails with this value.
    #[must_use]
    pub fn gives_up(self, value: u64) -> bool {
        match self {
            ThenWrites::TryLock | ThenWrites::TryWriteLock => value != 0,
            ThenWrites::TryReadLock => value & WRITER != 0,
            ThenWrites::TryTake => value == 0,
            _ => false,
        }
    }

    /// Whether it takes from a semaphore.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(self, ThenWrites::Take | ThenWrites::TryTake)
    }

    /// Whether it makes a thread a reader of a read-write lock, which only writers before it matter
    /// to.
    #[must_use]
    pub fn begins_reading(self) -> bool {
        matches!(self, ThenWrites::ReadLock | ThenWrites::TryReadLock)
    }
}

/// The orders of the two halves of a read-modify-write.
fn halves(order: MemOrder) -> (MemOrder, MemOrder) {
    match order {
        MemOrder::Relaxed => (MemOrder::Relaxed, MemOrder::Relaxed),
        MemOrder::Acquire | MemOrder::Consume => (MemOrder::Acquire, MemOrder::Relaxed),
        MemOrder::Release => (MemOrder::Relaxed, MemOrder::Release),
        MemOrder::AcqRel => (MemOrder::Acquire, MemOrder::Release),
        MemOrder::SeqCst => (MemOrder::SeqCst, MemOrder::SeqCst),
    }
}

impl GraphNode {
    /// What it reads, if it is a read.
    #[must_use]
    pub fn read(&self) -> Option<&ReadLabel> {
        match &self.label {
            Label::Read(read) => Some(read),
            _ => None,
        }
    }

    /// What it writes, if it is a write.
    #[must_use]
    pub fn write(&self) -> Option<&WriteLabel> {
        match &self.label {
            Label::Write(write) => Some(write),
            _ => None,
        }
    }

    /// The location that it accesses.
    #[must_use]
    pub fn location(&self) -> Option<u32> {
        match self.label {
            Label::Read(read) => Some(read.location),
            Label::Write(write) => Some(write.location),
            _ => None,
        }
    }
}

impl Graph {
    /// Whether a location is an object that is no memory to the program.
    #[must_use]
    pub fn is_object(&self, location: u32) -> bool {
        self.locations[location as usize].key.size == 0
    }

    /// What a store (or [`INIT`]) leaves in a location.
    #[must_use]
    pub fn value(&self, location: u32, store: u32) -> u64 {
        if store == INIT {
            return self.locations[location as usize].initial;
        }
        self.nodes[store as usize].write().map_or(0, |write| write.value)
    }

    /// The value that an event reads, if it is a read.
    #[must_use]
    pub fn value_read(&self, node: usize) -> Option<u64> {
        let read = self.nodes[node].read()?;
        Some(self.value(read.location, self.nodes[node].reads))
    }

    /// The write that belongs to a read, by what it reads.
    #[must_use]
    pub fn write_of(&self, node: usize) -> Option<WriteLabel> {
        let read = self.nodes[node].read().filter(|_| !self.nodes[node].waits)?;
        read.write_after(self.value_read(node)?)
    }

    /// The last store of a location, or [`INIT`].
    #[must_use]
    pub fn last_store(&self, location: u32) -> u32 {
        self.locations[location as usize].stores.last().copied().unwrap_or(INIT)
    }

    /// The stores of a location that stand behind a store, or behind [`INIT`].
    #[must_use]
    pub fn stores_behind(&self, location: u32, store: u32) -> &[u32] {
        let stores = &self.locations[location as usize].stores;
        match stores.iter().position(|&other| other == store) {
            Some(at) => &stores[at + 1..],
            None => stores,
        }
    }

    /// The number of the event with this name.
    #[must_use]
    pub fn find(&self, id: GraphEventId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// The read whose write this event is.
    #[must_use]
    pub fn read_of(&self, write: GraphEventId) -> Option<usize> {
        self.find(GraphEventId { is_exclusive_write: false, ..write })
    }

    /// Only the events that are kept. What these read, follow or stand behind must be kept, too.
    #[must_use]
    pub fn restrict(&self, is_kept: impl Fn(usize) -> bool) -> Graph {
        let mut numbers = vec![INIT; self.nodes.len()];
        let mut nodes: Vec<GraphNode> = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate().filter(|&(number, _)| is_kept(number)) {
            numbers[number] = nodes.len() as u32;
            nodes.push(*node);
        }
        let renamed = |number: u32| numbers.get(number as usize).copied().unwrap_or(INIT);
        for node in &mut nodes {
            node.reads = renamed(node.reads);
            node.cause = renamed(node.cause);
        }
        let is_left = |store: &u32| numbers[*store as usize] != INIT;
        let locations = self.locations.iter().map(|location| Location {
            stores: location.stores.iter().filter(|store| is_left(store)).map(|&store| renamed(store)).collect(),
            ..*location
        });
        Graph { nodes, locations: locations.collect() }
    }

    /// Adds a write right behind a store of its location.
    pub fn place(&mut self, node: GraphNode, behind: u32) {
        let number = self.nodes.len() as u32;
        if let Some(location) = node.location() {
            let stores = &mut self.locations[location as usize].stores;
            let at = stores.iter().position(|&store| store == behind).map_or(0, |at| at + 1);
            stores.insert(at, number);
        }
        self.nodes.push(node);
    }
}
