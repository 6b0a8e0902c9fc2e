#![forbid(unsafe_code)]
//! CSP processes, CSPm, trace refinement.

mod check;
mod core;
pub mod cspm;
mod error;
mod value;

pub use check::{Counterexample, Limits, Property, Report, Step, Trace, Violation, check, refines};
pub use core::{DefId, EventId, Label, LabelKind, Model, ProcId, RelationId, SetId};
pub use error::{CheckError, LimitReached, Place, SourceError};
pub use value::{Name, Value};
