//! Races and deadlocks that other orders of an observed run's events would show, each forced on the program.
//!
//! 1. [`observe()`] or [`std_format`] gives a [`ObservedTrace`]: what each thread did to which object.
//! 2. [`candidates`] and [`cycles`] are the cheap filter: happens-before without mutexes ([`order`]) and locksets.
//! 3. [`closure`] and [`search`] look for a reordering that brings the threads of a candidate to their places.
//!    [`values`] excludes what needs reads to see other values, where there is no program to ask.
//! 4. [`model`] is the paper's CSP model of a variable and two threads, with its refinement check.
//! 5. [`session`] forces it on a [`raddle_model::Target`] and goes on from the runs that came of it.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod candidates;
pub mod checks;
pub mod closure;
pub mod cycles;
mod flips;
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
