//! Runs in the order in which they were asked for.

use std::collections::VecDeque;

use raddle_model::Request;

use super::queue::Task;
use super::worker::FinishedRun;

/// Numbers requests and returns their runs in order.
#[derive(Default)]
pub(super) struct ReorderBuffer {
    /// Runs that were returned.
    pub returned: u64,
    /// The runs from `returned` on, as far as they are finished.
    finished: VecDeque<Option<FinishedRun>>,
}

impl ReorderBuffer {
    /// Gives a request its number.
    pub fn issue(&mut self, request: Request) -> Task {
        self.finished.push_back(None);
        Task { number: self.returned + self.finished.len() as u64 - 1, request }
    }

    /// Runs that were asked for and not returned.
    pub fn under_way(&self) -> usize {
        self.finished.len()
    }

    pub fn enter(&mut self, run: FinishedRun) {
        let index = run.number.checked_sub(self.returned);
        if let Some(entry) = index.and_then(|index| self.finished.get_mut(index as usize)) {
            *entry = Some(run);
        }
    }

    /// Returns the oldest run, if it is finished.
    pub fn next(&mut self) -> Option<FinishedRun> {
        let run = self.finished.front_mut()?.take()?;
        self.pass_oldest();
        Some(run)
    }

    /// Counts the oldest run as returned.
    pub fn pass_oldest(&mut self) {
        self.finished.pop_front();
        self.returned += 1;
    }
}
