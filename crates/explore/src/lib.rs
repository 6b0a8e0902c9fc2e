//! Search strategies over an abstract target.
//!
//! A [`Strategy`] asks for runs and learns from them; [`explore`] makes them with the targets of a
//! [`WorkerPool`]. A strategy sees no process: the tests run abstract programs in memory (crate
//! `raddle-testkit`) and compare every strategy with [`dfs`].
#![forbid(unsafe_code)]

pub mod bounds;
pub mod crowd;
mod dependence;
pub mod dfs;
pub mod dhtc;
pub mod dpor;
pub mod driver;
pub mod optimal;
pub mod pdp;
pub mod pool;
pub mod portion;
pub mod preemptions;
pub mod restart;
pub mod sampling;
pub mod saved;
pub(crate) mod stateful;
pub mod strategy;
pub mod trace;
pub mod unpredictability;
pub mod weak;

pub use driver::explore;
pub use pool::WorkerPool;
pub use strategy::{Classification, IncompleteReason, Strategy};
