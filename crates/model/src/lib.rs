//! Executions and what they mean, without processes and files: events, executions, the semantics of
//! every synchronising object, dependence, happens-before, defects.
#![forbid(unsafe_code)]

pub mod clock;
pub mod defect;
pub mod depend;
pub mod estimate;
pub mod execution;
pub mod facts;
pub mod finding;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod linearise;
pub mod numbering;
pub mod object;
pub mod preemption;
pub mod race;
mod saved;
pub mod semantics;
pub mod target;
pub mod thread;
pub mod weak;

pub use clock::{ClockTable, VectorClock};
pub use defect::{Defect, DefectFinder};
pub use depend::{Cell, Footprint, Mode, Touch, footprint};
pub use estimate::Estimate;
pub use execution::{
    Access, AccessKind, Event, EventName, Execution, FailingValue, HeldRead, Incident, IncidentKind, Pending,
    PendingState, StateKey,
};
pub use object::{Op, Operation};
pub use race::{Race, RaceDetector};
pub use semantics::{Enabled, SyncState};
pub use target::{Choice, Request, Target, TargetError, common_choices};
pub use thread::{ThreadInfo, ThreadPath};
