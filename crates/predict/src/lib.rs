//! Races and deadlocks that other orders of an observed run's events would show.
#![forbid(unsafe_code)]

mod lockset;
pub mod trace;

pub use trace::Trace;
