//! Threads: creation and end, identity, cancellation, thread-specific data, processor affinity.

pub mod affinity;
pub mod cancel;
pub mod identity;
pub mod keys;
pub mod lifecycle;
pub mod schedule;
pub mod unwind;
