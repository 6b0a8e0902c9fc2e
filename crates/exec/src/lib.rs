//! Starts targets, shares memory with them, turns their records into executions.
#![deny(unsafe_code)]

mod atomic_types;
pub mod decode;
pub mod elf;
pub mod emulator;
mod error;
pub mod fork_server;
pub mod interrupt;
mod languages;
pub mod limits;
pub mod mappings;
pub mod native;
pub mod open_values;
pub mod options;
mod orphans;
#[expect(unsafe_code, reason = "what the child does to itself between fork and exec")]
pub mod process;
mod procfs;
pub mod programs;
pub mod recording;
pub mod scripts;
pub mod selfcheck;
#[expect(unsafe_code, reason = "memory that another process writes")]
pub mod shared;
mod starvation;
mod wait;

pub use error::StartError;
pub use native::remote;
pub use native::{NativeTarget, RunPlan, SavedTarget, SpinFacts, Stop};
pub use options::{Checkpoints, LoadedLibraries, Noticed, NoticedFacts, Options, Output, RestoreMode};
pub use orphans::{end_children, kill_children};
pub use raddle_vocab::Granularity;
pub use starvation::Starvation;
