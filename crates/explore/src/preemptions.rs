//! Counting preemptions.
//!
//! A preemption is a switch away from a thread that could go on without a time-out. A thread that
//! waits, has ended or has failed is not preempted.

use raddle_model::{Enabled, Execution, SyncState};
use raddle_vocab::policy::mix;

use crate::trace::path_hash;

/// A bound on preemptions, and how many the run under way has spent.
#[derive(Clone, Debug)]
pub struct Preemptions {
    limit: u32,
    spent: u32,
    /// The thread that made the last event, and whether it could go on.
    last: Option<(u16, bool)>,
    names: Vec<u64>,
}

impl Preemptions {
    /// At most so many.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Preemptions { limit, spent: 0, last: None, names: Vec::new() }
    }

    /// Starts with no event of the execution.
    pub fn start(&mut self, execution: &Execution) {
        (self.spent, self.last) = (0, None);
        self.names.clear();
        self.names.extend(execution.threads.iter().map(|thread| path_hash(&thread.path)));
    }

    /// Notes whether the thread that made the last event could go on in this state, in which each
    /// thread has made `next` of its events, which stand at these positions.
    pub fn look(&mut self, world: &SyncState, execution: &Execution, positions: &[Vec<usize>], next: &[usize]) {
        let Some((thread, can_go_on)) = &mut self.last else { return };
        let number = usize::from(*thread);
        let enabled = match positions[number].get(next[number]) {
            _ if !world.is_alive(*thread) => Enabled::No,
            Some(&position) => world.enabled(&execution.events[position]),
            None => world.enabled_pending(&execution.pending[number]),
        };
        *can_go_on = enabled == Enabled::Yes;
    }

    fn costs(&self, thread: u16) -> u32 {
        u32::from(self.last.is_some_and(|(last, can_go_on)| can_go_on && last != thread))
    }

    /// Whether an event of the thread stays within the bound.
    #[must_use]
    pub fn allows(&self, thread: u16) -> bool {
        self.spent + self.costs(thread) <= self.limit
    }

    /// The thread steps; false if that is one preemption too many.
    pub fn take(&mut self, thread: u16) -> bool {
        self.spent += self.costs(thread);
        self.last = Some((thread, false));
        self.spent <= self.limit
    }

    /// A hash of the part of the past that the bound depends on: the last thread and the number of
    /// preemptions.
    #[must_use]
    pub fn spent(&self) -> u64 {
        let last = self.last.and_then(|(last, _)| self.names.get(usize::from(last)));
        mix(last.copied().unwrap_or(0) ^ mix(u64::from(self.spent)))
    }
}
