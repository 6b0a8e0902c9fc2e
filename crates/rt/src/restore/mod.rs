//! Bringing the process back to an earlier state, so that the next run starts fresh: memory
//! ([`snapshot`], [`cacheline_restore`]), states in the middle of runs ([`checkpoint`]),
//! thread-local storage ([`thread_storage`]), and what the kernel keeps for the process ([`undo`]).

pub mod cacheline_restore;
pub mod checkpoint;
pub mod snapshot;
pub mod thread_storage;
pub mod undo;
