//! The search loop: a strategy against the targets of a pool.

use std::ops::ControlFlow;

use raddle_model::Estimate;
use raddle_model::finding::Stats;
use raddle_model::{Execution, IncidentKind, Target, TargetError};
use raddle_vocab::{Failure, RunStatus};

use crate::crowd::is_crowded;
use crate::pool::{RunOutcome, WorkerPool};
use crate::strategy::{Classification, IncompleteReason, Strategy};

/// Runs between two estimates of the total.
const ESTIMATE_EVERY: u64 = 64;

/// What came of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// Figures; `seconds` is left to the caller.
    pub stats: Stats,
    /// Why it is not exhaustive, if it is not.
    pub incomplete: Option<IncompleteReason>,
    /// Whether the strategy has started again.
    pub has_restarted: bool,
    /// Whether the search began with several targets and went on with one.
    pub became_one: bool,
}

/// How far a search is.
#[derive(Clone, Debug, Default)]
pub struct SearchProgress {
    /// Figures; `seconds` is left to the caller.
    pub stats: Stats,
    /// How many runs the whole search will take, if that can be guessed.
    pub estimate: Option<Estimate>,
}

/// Sees every run, and can end the search.
pub type RunObserver<'a> = dyn FnMut(&RunOutcome<'_>, Classification, &SearchProgress) -> ControlFlow<()> + 'a;

/// A false assumption, as the runtime notes it.
const ASSUMED: IncidentKind = IncidentKind::Failure(Failure::Assume);

/// Figures of one execution.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    status: RunStatus,
    /// Whether more threads competed for a barrier than fit into a round.
    is_crowded: bool,
    is_stale: bool,
    /// Whether a thread stopped at a false assumption: such executions do not count.
    is_assumed: bool,
    transitions: u64,
    recorded: u64,
    threads: u64,
    exit: Option<i32>,
}

impl Summary {
    /// The figures of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        Summary {
            status: execution.status,
            is_crowded: is_crowded(execution),
            is_stale: execution.is_stale(),
            is_assumed: execution.incidents.iter().any(|incident| incident.kind == ASSUMED),
            transitions: execution.events.len() as u64,
            recorded: execution.recorded,
            threads: execution.threads.len() as u64,
            exit: execution.exit,
        }
    }

    /// Every execution counts in exactly one of the counters, unless the search restarts or only
    /// estimates its size.
    fn count(&self, stats: &mut Stats, class: Classification) {
        if class == Classification::Restarted {
            *stats = Stats::default();
        }
        if matches!(class, Classification::Restarted | Classification::Sample) {
            return;
        }
        let counter = match (class, self.status) {
            (Classification::Redundant | Classification::OutOfBound, _) | (_, RunStatus::Diverged) => {
                &mut stats.blocked
            }
            (Classification::Matched, _) => &mut stats.matched,
            _ if self.is_stale => &mut stats.blocked,
            _ if self.is_assumed => &mut stats.assumed,
            (_, RunStatus::Assumed) => &mut stats.assumed,
            (_, RunStatus::Rest) => &mut stats.executions,
            _ => &mut stats.cut,
        };
        *counter += 1;
        stats.transitions += self.transitions;
        stats.events += self.recorded;
        stats.threads = stats.threads.max(self.threads);
        if let Some(exit) = self.exit
            && let Err(place) = stats.exits.binary_search(&exit)
        {
            stats.exits.insert(place, exit);
        }
    }
}

/// A search under way.
#[derive(Default)]
struct Search {
    progress: SearchProgress,
    runs: u64,
    is_crowded: bool,
    /// Whether the strategy has restarted and the runs of its last attempt are waited for.
    is_restarting: bool,
    has_restarted: bool,
    became_one: bool,
}

impl Search {
    /// Tells the strategy of a run and counts it.
    fn learn(&mut self, strategy: &mut dyn Strategy, run: &mut RunOutcome<'_>) -> Classification {
        self.runs += 1;
        if self.runs.is_multiple_of(ESTIMATE_EVERY) {
            self.progress.estimate = strategy.estimate();
        }
        let class = strategy.learn(run.observation());
        self.has_restarted |= class == Classification::Restarted;
        if run.summary.status == RunStatus::Diverged {
            tracing::debug!(run = run.number, ?class, "run diverged from its schedule");
        }
        run.summary.count(&mut self.progress.stats, class);
        self.progress.stats.prune = strategy.prune();
        self.progress.stats.states = strategy.states();
        self.is_crowded |= run.summary.is_crowded;
        class
    }

    fn outcome(mut self, strategy: &dyn Strategy, incomplete: Option<IncompleteReason>) -> SearchOutcome {
        let crowd = self.is_crowded.then_some(IncompleteReason::Crowd);
        let incomplete = incomplete.or(crowd);
        self.progress.stats.estimate = strategy.estimate().filter(|_| incomplete.is_some());
        SearchOutcome {
            stats: self.progress.stats,
            incomplete,
            has_restarted: self.has_restarted,
            became_one: self.became_one,
        }
    }
}

/// Asks the strategy for runs, keeps as many under way as the pool has room for, tells the
/// strategy of them in the order of asking, and shows each to `observe`.
///
/// When the strategy restarts, the targets of a shared pool have learnt different things about
/// spin loops, which changes their runs. So the search waits for the runs under way, shows none
/// of them, and goes on with one worker and a new target.
///
/// # Errors
/// If a target is lost or the search interrupted; what was seen until then was observed.
pub fn explore<T: Target>(
    strategy: &mut dyn Strategy,
    pool: &mut WorkerPool<'_, T>,
    observe: &mut RunObserver<'_>,
) -> Result<SearchOutcome, TargetError> {
    let mut search = Search::default();
    pool.begin();
    loop {
        if search.is_restarting && pool.under_way() == 0 {
            pool.become_one()?;
            search = Search { has_restarted: true, became_one: true, ..Search::default() };
        }
        while !search.is_restarting
            && pool.has_room()
            && let Some(request) = strategy.next()
        {
            pool.submit(request);
        }
        let incomplete = strategy.incomplete_reason();
        // Out of time, what is under way is not waited for.
        if pool.under_way() == 0 || incomplete == Some(IncompleteReason::Time) {
            return Ok(search.outcome(strategy, incomplete));
        }
        let is_shared = pool.is_shared();
        let mut run = pool.finish()?;
        let class = search.learn(strategy, &mut run);
        if class == Classification::Restarted && is_shared {
            search.is_restarting = true;
        } else if observe(&run, class, &search.progress).is_break() {
            return Ok(search.outcome(strategy, Some(IncompleteReason::Stopped)));
        }
    }
}
