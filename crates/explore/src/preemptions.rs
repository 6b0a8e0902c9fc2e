//! A bound on preemptions.

use raddle_model::preemption::{NextOp, PreemptionCount};
use raddle_model::{Execution, SyncState};
use raddle_vocab::policy::mix;

use crate::trace::path_hash;

/// A bound on preemptions, and how many the run under way has spent.
#[derive(Clone, Debug)]
pub struct PreemptionBound {
    limit: u32,
    spent: PreemptionCount,
    names: Vec<u64>,
}

impl PreemptionBound {
    /// At most so many.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        PreemptionBound { limit, spent: PreemptionCount::default(), names: Vec::new() }
    }

    /// Starts with no event of the execution.
    pub fn start(&mut self, execution: &Execution) {
        self.spent = PreemptionCount::default();
        self.names.clear();
        self.names.extend(execution.threads.iter().map(|thread| path_hash(&thread.path)));
    }

    /// Notes whether the thread that made the last event could go on in this state, in which each
    /// thread has made `next` of its events, which stand at these positions.
    pub fn observe(&mut self, state: &SyncState, execution: &Execution, positions: &[Vec<usize>], next: &[usize]) {
        self.spent.observe(state, |thread| {
            let number = usize::from(thread);
            Some(match positions[number].get(next[number]) {
                Some(&position) => NextOp::Event(&execution.events[position]),
                None => NextOp::Pending(&execution.pending[number]),
            })
        });
    }

    /// Whether an event of the thread stays within the bound.
    #[must_use]
    pub fn allows(&self, thread: u16) -> bool {
        self.spent.with(thread) <= self.limit
    }

    /// The thread makes an event; false if that is one preemption too many.
    pub fn take(&mut self, thread: u16) -> bool {
        self.spent.take(thread);
        self.spent.count() <= self.limit
    }

    /// A hash of the part of the past that the bound depends on: the last thread and the number of
    /// preemptions.
    #[must_use]
    pub fn spent(&self) -> u64 {
        let last = self.spent.last_thread().and_then(|last| self.names.get(usize::from(last)));
        mix(last.copied().unwrap_or(0) ^ mix(u64::from(self.spent.count())))
    }
}
