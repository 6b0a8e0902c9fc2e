//! Executions that show a defect with fewer preemptions than the one in which it was met.
//!
//! What a search meets first needs as many preemptions as its order of the threads has it. Within
//! the trace that was met there may be no order with fewer, while another trace shows the same
//! defect with one. So the schedules with few preemptions are searched, those with the fewest
//! first. These runs count in no statistics, and their number is bounded for the whole check.

use std::ops::ControlFlow;

use raddle_exec::{NativeTarget, Noticed, Options};
use raddle_explore::bounds::{MaxEvents, MaxExecutions};
use raddle_explore::driver::SearchProgress;
use raddle_explore::pool::RunOutcome;
use raddle_explore::{Classification, WorkerPool, explore};
use raddle_model::Execution;
use raddle_vocab::RunStatus;

use super::confirm::Confirmer;
use crate::check::within_preemptions;

/// A witness with fewer preemptions than that is short enough.
pub const MANY: u32 = 2;
/// Runs for one defect, and for all of a check.
const MOST_RUNS: u64 = 512;
const MOST_RUNS_IN_ALL: u64 = 2048;
/// Events of all these runs.
const MOST_EVENTS: u64 = 2_000_000;

/// Searches for such executions.
#[derive(Debug)]
pub struct FewerPreemptions {
    runs_left: u64,
    events_left: u64,
}

impl Default for FewerPreemptions {
    fn default() -> Self {
        FewerPreemptions { runs_left: MOST_RUNS_IN_ALL, events_left: MOST_EVENTS }
    }
}

impl FewerPreemptions {
    /// An execution with fewer than `preemptions` in which the defect `shows`, if one is met. A
    /// program that is slow to run, or whose accesses are seen by an emulator, is not searched.
    pub fn search(
        &mut self,
        confirmer: &Confirmer,
        preemptions: u32,
        shows: &mut dyn FnMut(&Execution) -> bool,
    ) -> Option<Execution> {
        let options = confirmer.options();
        let is_slow = options.sees_calls_only() || options.observer.is_some();
        if is_slow || options.keep_stores || self.is_used_up() {
            return None;
        }
        // What these runs notice is not the search's.
        let within = Options { deadline: confirmer.deadline(), noticed: Noticed::default(), ..options.clone() };
        let mut target = NativeTarget::start(within).ok()?;
        let (mut left, mut found, mut is_broken) = (MOST_RUNS.min(self.runs_left), None, false);
        for bound in 0..preemptions {
            let search = MaxEvents::new(within_preemptions(options.spurious, bound), confirmer.max_events());
            // No bound takes what others need.
            let share = left.div_ceil(u64::from(preemptions - bound));
            let mut search = MaxExecutions::new(search, share);
            let (mut runs, mut events, most_events) = (0, 0, self.events_left);
            let mut observe = |run: &RunOutcome<'_>, _: Classification, _: &SearchProgress| {
                runs += 1;
                events += run.execution.map_or(0, |execution| execution.recorded);
                found = run.execution.filter(|execution| shows(execution)).cloned();
                // A run that breaks the target, or that the watchdog ends, takes as long as many.
                let is_dear = run.execution.is_some_and(|execution| execution.status == RunStatus::Damaged);
                let is_over = found.is_some() || runs >= share || events >= most_events;
                is_broken |= is_dear;
                if is_over || is_dear { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let searched = explore(&mut search, &mut WorkerPool::of_one(&mut target), &mut observe);
            left -= runs.min(left);
            self.runs_left -= runs.min(self.runs_left);
            self.events_left -= events.min(self.events_left);
            // Whatever ends it early, the witness that is there stays.
            if found.is_some() || is_broken || searched.is_err() || left == 0 || self.is_used_up() {
                break;
            }
        }
        tracing::debug!(preemptions, has_found = found.is_some(), left, "searched for fewer preemptions");
        found
    }

    fn is_used_up(&self) -> bool {
        self.runs_left == 0 || self.events_left == 0
    }
}
