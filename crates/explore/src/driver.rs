//! The search loop: a strategy against the targets of a pool.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use raddle_model::Estimate;
use raddle_model::finding::{Stats, StatsRow};
use raddle_model::{Execution, IncidentKind, Request, Target, TargetError};
use raddle_vocab::{Failure, RunStatus};
use serde::{Deserialize, Serialize};

use crate::crowd::is_crowded;
use crate::pool::{RunOutcome, WorkerPool};
use crate::saved::{Loader, Saver, Unusable};
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

/// Sees every run, can end the search, and keeps it safe from interruptions.
pub trait Watcher<T> {
    /// A run was made.
    fn see(&mut self, run: &RunOutcome<'_>, class: Classification, progress: &SearchProgress) -> ControlFlow<()>;

    /// Whether the search will be saved now and then.
    fn is_durable(&self) -> bool {
        false
    }

    /// Whether the search shall be saved. `is_last`: it ends here, before its strategy has nothing
    /// more to ask for. Asked behind every run.
    fn is_due(&mut self, _is_last: bool) -> bool {
        false
    }

    /// Takes a search as it is saved. The target shows what else belongs to it.
    fn keep(&mut self, _search: SavedSearch, _target: &T) {}
}

/// A search without its target.
#[derive(Debug)]
pub struct SavedSearch {
    /// For [`ResumedSearch::load`].
    pub bytes: Vec<u8>,
    /// What the target knew before the first run under way: [`Target::knowledge`].
    pub knowledge: Vec<u8>,
}

/// For searches that are only observed.
struct ObserverOnly<'a, 'b>(&'a mut RunObserver<'b>);

impl<T> Watcher<T> for ObserverOnly<'_, '_> {
    fn see(&mut self, run: &RunOutcome<'_>, class: Classification, progress: &SearchProgress) -> ControlFlow<()> {
        (self.0)(run, class, progress)
    }
}

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
    exits: Statuses,
}

/// Statuses with which a process can end: a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Statuses([u64; 4]);

impl Statuses {
    fn add(&mut self, status: i32) {
        let status = status as u8;
        self.0[usize::from(status / 64)] |= 1 << (status % 64);
    }

    /// Calls for each of them, in order.
    fn for_each(self, mut act: impl FnMut(i32)) {
        for (number, mut word) in (0..).zip(self.0) {
            while word != 0 {
                act(number * 64 + word.trailing_zeros() as i32);
                word &= word - 1;
            }
        }
    }
}

impl Summary {
    /// The figures of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        let mut exits = Statuses::default();
        execution.exit.into_iter().chain(execution.exits().map(|(_, status)| status)).for_each(|each| exits.add(each));
        Summary {
            status: execution.status,
            is_crowded: is_crowded(execution),
            is_stale: execution.is_stale(),
            is_assumed: execution.incidents.iter().any(|incident| incident.kind == ASSUMED),
            transitions: execution.events.len() as u64,
            recorded: execution.recorded,
            threads: execution.threads.len() as u64,
            exits,
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
        self.exits.for_each(|exit| {
            if let Err(place) = stats.exits.binary_search(&exit) {
                stats.exits.insert(place, exit);
            }
        });
    }
}

/// What a search has done, as it is saved.
#[derive(Serialize, Deserialize)]
struct SearchRow {
    stats: StatsRow,
    estimate: Option<Estimate>,
    runs: u64,
    is_crowded: bool,
    has_restarted: bool,
    became_one: bool,
    /// The number of the first run under way.
    number: u64,
    under_way: Vec<Request>,
}

/// A saved search that goes on.
pub struct ResumedSearch {
    search: Search,
    number: u64,
    under_way: Vec<Request>,
}

impl ResumedSearch {
    /// Reads a search that was saved, and restores its strategy, which has to be as it was built.
    ///
    /// # Errors
    /// If the bytes make no sense.
    pub fn load(from: &mut Loader<'_>, strategy: &mut dyn Strategy) -> Result<Self, Unusable> {
        let row: SearchRow = from.take()?;
        strategy.restore(from)?;
        let search = Search {
            progress: SearchProgress { stats: row.stats.into(), estimate: row.estimate },
            runs: row.runs,
            is_crowded: row.is_crowded,
            is_restarting: false,
            has_restarted: row.has_restarted,
            became_one: row.became_one,
        };
        Ok(ResumedSearch { search, number: row.number, under_way: row.under_way })
    }

    /// Whether the search goes on with one target although it began with several.
    #[must_use]
    pub fn became_one(&self) -> bool {
        self.search.became_one
    }

    /// Figures so far.
    #[must_use]
    pub fn progress(&self) -> &SearchProgress {
        &self.search.progress
    }

    /// The number of the first run under way: so many were returned before.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// What the target knew at some moment, and how many runs were asked for then.
struct EarlierKnowledge {
    knowledge: Vec<u8>,
    asked: u64,
}

/// Decides when a search can be saved.
///
/// A target learns from its runs, and is ahead of the search. What it knew before the first run
/// under way is known if nothing is under way, or if it knows now what it knew when no run that is
/// under way now had been asked for.
#[derive(Default)]
struct SavePoint {
    requests: VecDeque<Request>,
    earlier: Option<EarlierKnowledge>,
}

impl SavePoint {
    /// The knowledge to save with the search as it is now, if that is known.
    fn knowledge<T: Target>(&mut self, pool: &WorkerPool<'_, T>) -> Option<Vec<u8>> {
        // Targets that share a search start again with none.
        if pool.is_shared() {
            return Some(Vec::new());
        }
        let is_idle = pool.under_way() == 0;
        let is_told = self.earlier.as_ref().is_none_or(|earlier| earlier.asked <= pool.returned());
        if !is_idle && !is_told {
            return None;
        }
        let now = pool.target().knowledge();
        let is_same = now.is_empty() || self.earlier.as_ref().is_some_and(|earlier| earlier.knowledge == now);
        if !is_same {
            self.note(now.clone(), pool);
        }
        (is_idle || is_same).then_some(now)
    }

    /// Notes what the target knows now.
    fn note<T: Target>(&mut self, knowledge: Vec<u8>, pool: &WorkerPool<'_, T>) {
        let asked = pool.returned() + pool.under_way() as u64;
        self.earlier = Some(EarlierKnowledge { knowledge, asked });
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

    fn save<T: Target>(
        &self,
        strategy: &dyn Strategy,
        pool: &WorkerPool<'_, T>,
        requests: &VecDeque<Request>,
    ) -> Vec<u8> {
        let mut into = Saver::default();
        into.put(&SearchRow {
            stats: StatsRow::from(&self.progress.stats),
            estimate: self.progress.estimate,
            runs: self.runs,
            is_crowded: self.is_crowded,
            has_restarted: self.has_restarted,
            became_one: self.became_one,
            number: pool.returned(),
            under_way: requests.iter().cloned().collect(),
        });
        strategy.save(&mut into);
        into.into_bytes()
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
    explore_watched(strategy, pool, &mut ObserverOnly(observe), None)
}

/// As [`explore`], but the search is saved whenever the watcher wants that, and begins where a
/// saved one was.
///
/// # Errors
/// As [`explore`].
pub fn explore_watched<T: Target>(
    strategy: &mut dyn Strategy,
    pool: &mut WorkerPool<'_, T>,
    watcher: &mut dyn Watcher<T>,
    resumed: Option<ResumedSearch>,
) -> Result<SearchOutcome, TargetError> {
    let mut search = Search::default();
    let mut point = SavePoint::default();
    pool.begin();
    if watcher.is_durable() {
        point.note(pool.target().knowledge(), pool);
    }
    if let Some(resumed) = resumed {
        search = resumed.search;
        pool.go_on_from(resumed.number);
        point.note(pool.target().knowledge(), pool);
        for request in resumed.under_way {
            point.requests.push_back(request.clone());
            pool.submit(request);
        }
    }
    loop {
        if search.is_restarting && pool.under_way() == 0 {
            pool.become_one()?;
            search = Search { has_restarted: true, became_one: true, ..Search::default() };
            point = SavePoint::default();
        }
        while !search.is_restarting
            && pool.has_room()
            && let Some(request) = strategy.next()
        {
            point.requests.push_back(request.clone());
            pool.submit(request);
        }
        let incomplete = strategy.incomplete_reason();
        // Out of time, what is under way is not waited for.
        if pool.under_way() == 0 || incomplete == Some(IncompleteReason::Time) {
            if incomplete == Some(IncompleteReason::Time) {
                keep(&search, strategy, pool, &mut point, watcher, true);
            }
            return Ok(search.outcome(strategy, incomplete));
        }
        let is_shared = pool.is_shared();
        let mut run = match pool.finish() {
            Ok(run) => run,
            Err(error) => {
                if matches!(error, TargetError::Interrupted | TargetError::Late) {
                    keep(&search, strategy, pool, &mut point, watcher, true);
                }
                return Err(error);
            }
        };
        point.requests.pop_front();
        let class = search.learn(strategy, &mut run);
        if class == Classification::Restarted && is_shared {
            search.is_restarting = true;
        } else if watcher.see(&run, class, &search.progress).is_break() {
            return Ok(search.outcome(strategy, Some(IncompleteReason::Stopped)));
        }
        keep(&search, strategy, pool, &mut point, watcher, false);
    }
}

/// Saves the search if it is time to, and if that is possible now.
fn keep<T: Target>(
    search: &Search,
    strategy: &dyn Strategy,
    pool: &WorkerPool<'_, T>,
    point: &mut SavePoint,
    watcher: &mut dyn Watcher<T>,
    is_last: bool,
) {
    if search.is_restarting || !watcher.is_due(is_last) {
        return;
    }
    if let Some(knowledge) = point.knowledge(pool) {
        let bytes = search.save(strategy, pool, &point.requests);
        watcher.keep(SavedSearch { bytes, knowledge }, pool.target());
    }
}
