//! Facts of a static analysis: for every function the graph of the operations that other threads
//! can observe.
//!
//! A node stands for one operation. `next` leads to what may come after it in the same function; a
//! node without successors ends the function. Everything is an over-approximation: an operation
//! that the graph does not show never happens. Where the analysis gave up, a node says
//! [`Act::Anything`]. From the graph, [`suffix`] computes what a thread may still do from a
//! position on, and which locks it certainly holds.

mod build;
mod check;
pub mod dot;
pub mod places;
pub mod suffix;

use serde::{Deserialize, Serialize};

pub use build::Builder;
pub use check::FactsError;

/// Format of a facts file.
pub const FACTS_VERSION: u32 = 1;

/// Number of a node.
pub type NodeId = u32;
/// Number of a function.
pub type FunctionId = u32;
/// Number of an object.
pub type ObjectId = u32;
/// A place in the program as events name it: see [`Facts::sites`].
pub type Site = u64;

/// What sort of memory an abstract object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AbstractObjectKind {
    /// Exists once, under a symbol.
    Global,
    /// All blocks that one call allocates.
    Heap,
    /// A local variable whose address is known to others, in all its instances.
    Stack,
}

/// An abstract object: one or several pieces of memory that the analysis does not tell apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Symbol, or words for people.
    pub name: String,
    /// What it is.
    pub kind: AbstractObjectKind,
    /// Bytes, if known.
    pub size: Option<u64>,
    /// Where a heap object is allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

/// Bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Which object.
    pub object: ObjectId,
    /// First byte.
    pub from: u64,
    /// Behind the last byte; `u64::MAX` for the rest of the object.
    pub to: u64,
}

/// A set of memory locations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// The bytes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<Span>,
    /// Whether it may be anything else, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
}

impl Spans {
    /// One location.
    #[must_use]
    pub fn one(span: Span) -> Self {
        Spans { list: vec![span], any: false }
    }

    /// Every location.
    #[must_use]
    pub fn any() -> Self {
        Spans { list: Vec::new(), any: true }
    }
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Together with other readers.
    Shared,
    /// Alone.
    Exclusive,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Nothing that others notice.
    Nothing,
    /// A data access.
    Access {
        /// Where to.
        at: Spans,
        /// Whether it changes it.
        write: bool,
        /// Whether it is an atomic operation, and so a synchronising one.
        atomic: bool,
    },
    /// Takes a lock; if it may fail, it is not known to be held afterwards.
    Acquire {
        /// Which.
        lock: Spans,
        /// How.
        hold: Hold,
        /// Whether it may come back without the lock.
        may_fail: bool,
    },
    /// The lock is held from here on: the branch in which an attempt has succeeded. No event.
    Holds {
        /// Which.
        lock: Spans,
        /// How.
        hold: Hold,
    },
    /// Gives a lock back.
    Release {
        /// Which.
        lock: Spans,
    },
    /// Waits on a condition variable: releases the mutex and takes it again.
    Wait {
        /// Condition variable.
        cond: Spans,
        /// Mutex.
        mutex: Spans,
    },
    /// Any other synchronising operation.
    Sync {
        /// The objects concerned.
        at: Spans,
    },
    /// Starts a thread.
    Create {
        /// What it may run.
        bodies: Vec<FunctionId>,
        /// Whether a thread executes this at most once in its life.
        once: bool,
    },
    /// Waits for the end of a thread.
    Join {
        /// The node that created it, if there is only one and it creates only one thread.
        created_at: Option<NodeId>,
    },
    /// Calls functions.
    Call {
        /// Which.
        targets: Vec<FunctionId>,
    },
    /// The thread ends, or never goes on.
    End,
    /// Whatever code the analysis has not seen may do.
    Anything {
        /// Why.
        why: String,
    },
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The function that it belongs to.
    pub function: FunctionId,
    /// What it does.
    pub act: Act,
    /// What may come next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NodeId>,
    /// How events name its place; 0 if it makes none.
    #[serde(default)]
    pub site: Site,
    /// Whether what comes next, or what it operates on, depends on what other threads do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub entry: NodeId,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File, as the compiler knows it.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// [`FACTS_VERSION`].
    pub version: u32,
    /// Abstract objects.
    pub objects: Vec<Object>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Operations of all functions.
    pub nodes: Vec<Node>,
    /// The function that the first thread runs.
    pub main: FunctionId,
    /// Source locations: site n is element n - 1. Empty where sites are numbers of another sort.
    #[serde(default)]
    pub sites: Vec<SourcePlace>,
    /// Where the analysis gave up, and why.
    #[serde(default)]
    pub fallbacks: Vec<String>,
}
