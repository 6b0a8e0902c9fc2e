//! A target without a process: runs abstract programs with the semantics of
//! [`raddle_model::SyncState`].
//!
//! It behaves towards a search exactly as the real runtime does: a thread parks before an
//! operation, plain accesses belong to the transition before them (or are transitions themselves,
//! at access granularity), and after the schedule the run goes on by the policy.
//!
//! Test support: shipped crates must not depend on this crate.
#![forbid(unsafe_code)]

pub mod clocks;
mod code;
pub mod effort;
pub mod facts;
pub mod finding;
pub mod generate;
pub mod guarded;
mod heap;
mod interpreter;
mod layout;
mod operation;
pub mod print;
pub mod program;
pub mod shrink;
mod thread;
pub mod tools;
pub mod waiting;
pub mod weak;

use std::collections::VecDeque;

use raddle_model::{Execution, Request, Target, TargetError};

pub use layout::Layout;
pub use program::AbstractProgram;
pub use raddle_vocab::Granularity;

use interpreter::Interpreter;

/// Runs one abstract program.
#[derive(Debug)]
pub struct MemoryTarget {
    interpreter: Interpreter,
    requests: VecDeque<Request>,
    window: usize,
}

impl MemoryTarget {
    /// A target that runs this program.
    #[must_use]
    pub fn new(program: &AbstractProgram, granularity: Granularity) -> Self {
        Self::with(program, granularity, 0, 1)
    }

    /// Also allows each thread `spurious` wake-ups without cause, and pretends that it is worth to
    /// have `window` requests under way.
    #[must_use]
    pub fn with(program: &AbstractProgram, granularity: Granularity, spurious: u32, window: usize) -> Self {
        let interpreter = Interpreter::new(program, granularity, spurious);
        MemoryTarget { interpreter, requests: VecDeque::new(), window }
    }

    /// Gives executions the keys of their states.
    #[must_use]
    pub fn with_keys(mut self) -> Self {
        self.interpreter.keys = true;
        self
    }

    /// Makes it know what another one has learnt: the numbers of reads before which threads are
    /// held.
    #[must_use]
    pub fn knowing(mut self, other: &MemoryTarget) -> Self {
        self.interpreter.held_reads.clone_from(&other.interpreter.held_reads);
        self
    }

    /// Addresses of the program's objects.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.interpreter.layout()
    }
}

impl Target for MemoryTarget {
    fn submit(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        match self.requests.pop_front() {
            Some(request) => {
                self.interpreter.run(&request, into);
                Ok(())
            }
            None => Err(TargetError::Lost("nothing is under way".into())),
        }
    }

    fn window(&self) -> usize {
        self.window
    }
}
