//! Processes as hash-consed terms, and what they can do next.
//!
//! * [`model`]: the store of events, event sets and terms, and the constructors that build them;
//! * [`step`] and [`parallel`]: the operational semantics, term by term;
//! * [`vector`]: shared storage of component states;
//! * [`rules`] and [`machine`]: a parallel composition flattened into components and
//!   synchronisation rules;
//! * [`system`]: the interface of both forms for the checks.

pub(crate) mod event;
pub(crate) mod machine;
pub(crate) mod model;
pub(crate) mod parallel;
pub(crate) mod rules;
pub(crate) mod step;
pub(crate) mod system;
pub(crate) mod term;
pub(crate) mod vector;

pub use event::{EventId, RelationId, SetId};
pub(crate) use event::{Label, LabelKind};
pub use model::Model;
pub use term::{DefId, ProcId};
