//! The checker as a library: it runs real C and C++ programs under every thread schedule that
//! matters, and reports what goes wrong.
//!
//! ```no_run
//! use raddle_engine::{Checker, Program, StrategyName};
//!
//! # fn main() -> Result<(), raddle_engine::Error> {
//! let program = Program::compile("bank.c")?.args(["--accounts", "2"]);
//! let report = Checker::new(program).strategy(StrategyName::Optimal).jobs(2).run(&mut ())?;
//! for finding in &report.findings {
//!     println!("{}: {}", finding.id, finding.message);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/check.rs` is a whole program that compiles, checks and prints.
//!
//! | To | use |
//! |---|---|
//! | name a program, or compile one | [`Program`], [`Sources`] |
//! | explore its schedules | [`Checker`] with [`CheckOptions`] |
//! | make that survive an interruption, and go on | [`Durability`], [`Interrupted`] |
//! | have many processes share that | [`distributed`] |
//! | find races in reorderings of one run | [`Predictor`] with [`PredictorOptions`] |
//! | run a recorded schedule again | [`Replay`] |
//! | make one controlled execution | [`Runner`] with [`RunOptions`] |
//! | see findings and progress while it runs | [`Observer`] |
//! | read runs that were written earlier | [`runs`], [`directory`] |
//!
//! # What is stable
//!
//! This crate is raddle's API boundary. The items at its root are meant for other programs: they
//! keep their names and meaning within a minor version, and [`Report`] and [`Finding`] have the
//! fields of `docs/schema.json`. The public modules serve the `raddle` command and may change with
//! any version, as may every other crate of the workspace.
//!
//! # How it works
//!
//! A check starts the program once as a *target* whose runtime takes every scheduling decision. A
//! strategy of `raddle-explore` asks for runs (module `check`). Each execution is searched for
//! defects; a defect that is new becomes a finding with a short witness, which is run again before
//! it is believed (module `findings`). The runtime is part of this crate ([`runtime`]): nothing
//! else has to be installed but a C compiler.
//!
//! Prediction, replay and single runs share targets, names and findings with the check.
#![forbid(unsafe_code)]

pub mod analysis;
mod build_record;
mod check;
pub mod directory;
pub mod distributed;
pub mod durable;
mod error;
mod findings;
pub mod frameworks;
mod naming;
mod observed;
mod observer;
mod options;
mod panics;
mod predict;
mod program;
mod replay;
mod runner;
pub mod runs;
pub mod runtime;
#[cfg(test)]
mod testing;
pub mod text_file;
mod unseen;

pub use build_record::BuildRecord;
pub use check::{Checker, can_go_on};
pub use durable::{Durability, Interrupted};
pub use error::Error;
pub use naming::place_text;
pub use observed::Observed;
pub use observer::{Crew, Observer, Progress};
pub use options::{CheckOptions, DEFAULT_MAX_EVENTS, Observe, OptionsError, Property, StrategyName, granularity_word};
pub use panics::has_panicked;
pub use predict::{Predicted, Predictor, PredictorOptions};
pub use program::{DEFAULT_EXIT_EVENTS, Program, Sources};
pub use raddle_exec::{Granularity, Output, RestoreMode};
pub use raddle_model::finding::{Finding, Kind, Report, Severity, Stats, Verdict};
pub use raddle_report::annotated::AnnotatedTrace;
pub use raddle_report::suppress::Suppressions;
pub use replay::{
    DebuggedRun, DivergedRun, FollowedRun, ParkedThread, Replay, ReplayOutcome, StoppedRun, StoppedThread,
};
pub use runner::{ControlledRun, RunOptions, Runner, SELF_CHECK_ORDERS};
pub use unseen::{Trust, UnseenCode};
