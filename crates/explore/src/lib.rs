//! Search strategies over an abstract target.
//!
//! A [`strategy::Strategy`] asks for runs and learns from them, [`driver::explore`] keeps a target busy with them. A
//! strategy sees no process: the tests run abstract programs in memory (crate `raddle-testkit`) and compare every strategy
//! with [`dfs`].
#![forbid(unsafe_code)]

pub mod bounds;
pub mod crowd;
pub mod dfs;
pub mod dhtc;
pub mod dpor;
pub mod driver;
mod frontier;
pub mod optimal;
pub mod pdp;
pub mod pool;
pub mod preemptions;
pub mod restart;
pub mod sampling;
pub mod strategy;
pub mod trace;
pub mod units;

pub use driver::explore;
pub use strategy::{Classification, IncompleteReason, Strategy};
