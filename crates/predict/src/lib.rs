//! Predictive analysis: races and deadlocks that other orders of an observed run's events would
//! show. Each prediction is confirmed by forcing its order on the program.
//!
//! 1. [`observe()`] or [`std_format`] gives a [`ObservedTrace`]: what each thread did to which
//!    object.
//! 2. [`candidates`] and [`cycles`] are the cheap filter: must-happen-before ([`order`]) and
//!    locksets.
//! 3. [`closure`] and [`search`] look for a reordering that brings the threads of a candidate to
//!    their accesses at the same time. For a trace without a program, [`values`] excludes
//!    reorderings in which a read would see another value.
//! 4. [`model`] is the CSP model of a variable and two threads (Carril and Tichy), with its
//!    refinement check. [`checks`] compares its verdicts with those of the search.
//! 5. [`confirm`] makes a program follow the order of a counterexample from a trace ([`guide`]).
//! 6. [`session`] forces the reordering on a [`raddle_model::Target`] and analyses the runs that
//!    result.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod candidates;
pub mod checks;
pub mod closure;
pub mod confirm;
pub mod cycles;
mod flips;
pub mod guide;
pub mod label;
mod lockset;
pub mod model;
pub mod observe;
pub mod order;
pub mod pins;
mod saturation;
pub mod schedule;
pub mod search;
mod sections;
pub mod session;
mod state;
pub mod std_format;
pub mod trace;
pub mod values;
pub mod words;

pub use observe::observe;
pub use order::MustHappenBefore;
pub use session::predict;
pub use trace::ObservedTrace;
