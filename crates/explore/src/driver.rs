//! Runs a strategy against a target.

use std::ops::ControlFlow;

use raddle_model::finding::Stats;
use raddle_model::{Execution, IncidentKind, Target, TargetError};
use raddle_vocab::{Failure, RunStatus};

use crate::crowd::is_crowded;
use crate::strategy::{Classification, IncompleteReason, Strategy};
use crate::units::waits_busily;

/// What came of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// Figures; `seconds` is left to the caller.
    pub stats: Stats,
    /// Why it is not exhaustive, if it is not.
    pub incomplete: Option<IncompleteReason>,
    /// Runs that are still under way, and that nobody waits for any more.
    pub under_way: usize,
}

/// A false assumption, as the runtime notes it.
const ASSUMED: IncidentKind = IncidentKind::Failure(Failure::Assume);

/// Figures of one execution.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// How it ended.
    pub status: RunStatus,
    /// Whether more threads competed for a barrier than fit into a round.
    pub crowded: bool,
    stale: bool,
    /// Whether a thread stopped at a false assumption: the program wants to know nothing of such executions.
    assumed: bool,
    /// Whether some thread waited, or waits, in a loop that only reads.
    pub waits: bool,
    transitions: u64,
    events: u64,
    threads: u64,
}

impl Summary {
    /// Looks at an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        Summary {
            status: execution.status,
            crowded: is_crowded(execution),
            stale: execution.is_stale(),
            assumed: execution.incidents.iter().any(|incident| incident.kind == ASSUMED),
            waits: waits_busily(execution),
            transitions: execution.events.len() as u64,
            events: execution.recorded,
            threads: execution.threads.len() as u64,
        }
    }

    /// Every execution counts in exactly one of the four counters, unless the search starts anew.
    pub fn count(&self, stats: &mut Stats, class: Classification) {
        if class == Classification::Restarted {
            *stats = Stats::default();
            return;
        }
        let counter = match (class, self.status) {
            (Classification::Redundant | Classification::OutOfBound, _) | (_, RunStatus::Diverged) => {
                &mut stats.blocked
            }
            _ if self.stale => &mut stats.blocked,
            _ if self.assumed => &mut stats.assumed,
            (_, RunStatus::Assumed) => &mut stats.assumed,
            (_, RunStatus::Rest) => &mut stats.executions,
            _ => &mut stats.cut,
        };
        *counter += 1;
        stats.transitions += self.transitions;
        stats.events += self.events;
        stats.threads = stats.threads.max(self.threads);
    }
}

/// Asks the strategy for runs, keeps as many under way as the target wants, and shows every execution to `observe`, which
/// can end the search.
///
/// # Errors
/// If the target is lost or the search interrupted; what was seen until then was observed.
pub fn explore(
    strategy: &mut dyn Strategy,
    target: &mut dyn Target,
    observe: &mut dyn FnMut(&Execution, Classification, &Stats) -> ControlFlow<()>,
) -> Result<SearchOutcome, TargetError> {
    let mut stats = Stats::default();
    let mut execution = Execution::empty();
    let mut under_way = 0;
    let mut crowded = false;
    loop {
        while under_way < target.window().max(1)
            && let Some(request) = strategy.next()
        {
            target.submit(request);
            under_way += 1;
        }
        if under_way == 0 || strategy.is_over() {
            let crowd = crowded.then_some(IncompleteReason::Crowd);
            return Ok(SearchOutcome { stats, incomplete: strategy.incomplete_reason().or(crowd), under_way });
        }
        target.finish(&mut execution)?;
        under_way -= 1;
        let class = strategy.learn(&execution);
        let summary = Summary::of(&execution);
        summary.count(&mut stats, class);
        crowded = crowded || summary.crowded;
        stats.prune = strategy.prune();
        if observe(&execution, class, &stats).is_break() {
            return Ok(SearchOutcome { stats, incomplete: Some(IncompleteReason::Stopped), under_way });
        }
    }
}

/// Takes what is still under way, so that the target can be used again.
///
/// # Errors
/// If the target is lost.
pub fn drain(target: &mut dyn Target, under_way: usize) -> Result<(), TargetError> {
    let mut execution = Execution::empty();
    (0..under_way).try_for_each(|_| target.finish(&mut execution))
}
