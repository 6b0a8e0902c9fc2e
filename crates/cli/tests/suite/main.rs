//! The command from end to end, apart from the folders of programs (`cases`, `engine`,
//! `reexecution`). One executable: linking each file alone would take longer than most tests.

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod cluster;
mod differential;
mod durable;
mod exits;
mod finish;
mod first_use;
mod guide;
mod hardened;
mod install;
mod instructions;
mod integrations;
mod jobs;
mod library_facts;
mod log;
mod objects;
mod panics;
mod portable;
mod predict;
mod pruning;
mod real_programs;
mod remote;
mod reports;
mod same_binary;
mod waiting;
mod weak;
