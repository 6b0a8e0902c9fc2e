//! The checker as a library.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod check;
pub mod directory;
mod error;
mod findings;
pub mod naming;
pub mod observed;
mod observer;
mod options;
pub mod predict;
mod program;
mod replay;
mod runner;
pub mod runs;
pub mod runtime;
#[cfg(test)]
mod testing;
pub mod text_file;

pub use check::Checker;
pub use error::Error;
pub use observer::{Observer, Progress};
pub use options::{CheckOptions, DEFAULT_MAX_EVENTS, OptionsError, Property, StrategyName};
pub use predict::{Predicted, Predictor, PredictorOptions};
pub use program::{DEFAULT_EXIT_EVENTS, Program, Sources};
pub use replay::{FollowedRun, ParkedThread, Replay, ReplayOutcome, StoppedRun, StoppedThread};
pub use runner::{ControlledRun, RunOptions, Runner, SELF_CHECK_ORDERS};
