//! Execution graphs of weak memory models, and which of them are consistent.
//!
//! An execution of a program under a memory model that is weaker than sequential consistency is no
//! sequence of events, but a graph: the events with *program order* (po), *reads-from* (rf: the
//! store that a read reads) and *modification order* (mo: the order of the stores to a location).
//! What follows from these are synchronises-with (sw), happens-before (hb) and, for sequentially
//! consistent operations, psc. A memory model says which graphs are consistent ([`Consistency`]).
//!
//! A read-modify-write is two events of a graph, its read and its exclusive write, which stands
//! right behind the store that the read reads. One that changes nothing (a failed compare-exchange)
//! is a read.

mod consistency;
mod graph;
mod objects;
mod record;
mod relation;
#[cfg(test)]
mod tests;

pub use consistency::{Consistency, Rc11, Sc, Tso, of_model};
pub use graph::{
    Failing, Graph, GraphEventId, GraphNode, INIT, Label, Location, LocationKey, NO_CAUSE, ReadLabel, ThenWrites,
    WriteLabel,
};
pub use record::{Recorder, RunGraph, Unmodelled};

use raddle_vocab::update;
use serde::{Deserialize, Serialize};

/// Memory models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryModel {
    /// Sequential consistency: a read sees the last store, in one order of all events.
    #[default]
    Sc,
    /// That of x86: a store may be delayed beyond later loads of other locations.
    Tso,
    /// That of C11 and C++11 as repaired by Lahav et al. (PLDI 2017).
    Rc11,
}

impl MemoryModel {
    /// All of them.
    pub const ALL: [MemoryModel; 3] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Rc11];

    /// The name in reports and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            MemoryModel::Sc => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Rc11 => "rc11",
        }
    }

    /// The model with this name.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        MemoryModel::ALL.into_iter().find(|model| model.word() == word)
    }

    /// Whether reads may see other stores than the last one.
    #[must_use]
    pub fn is_weak(self) -> bool {
        self != MemoryModel::Sc
    }
}

/// What an atomic operation of an execution is beside what its event says. The runtime tells it
/// only where a search may let the operation read another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicDetail {
    /// Number of the event.
    pub event: u32,
    /// How many stores stand, at the time of the event, behind the store that it reads, or behind
    /// the place where its own was put.
    pub behind: u16,
    /// Of a read-modify-write: how it combines; of a compare-exchange: its memory orders. With a
    /// mark for release sequences, all as in [`raddle_vocab::update`].
    pub how: u8,
    /// What a read-modify-write combines with, or what a compare-exchange stores.
    pub operand: u64,
}

/// What a read-modify-write of `size` bytes stores that reads `old`.
#[must_use]
pub fn updated(how: u8, old: u64, operand: u64, size: u32) -> u64 {
    let all = match how {
        update::ADD => old.wrapping_add(operand),
        update::SUB => old.wrapping_sub(operand),
        update::AND => old & operand,
        update::OR => old | operand,
        update::XOR => old ^ operand,
        update::NAND => !(old & operand),
        _ => operand,
    };
    if size >= 8 { all } else { all & ((1 << (8 * size)) - 1) }
}
