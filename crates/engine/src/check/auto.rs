//! The default strategy: several searches, one after the other.
//!
//! 1. `optimal` makes a first portion of runs. Small programs end here. Those of which a run cannot
//!    be followed, because it has too many threads, end behind the samples.
//! 2. Samples: bugs behind long prefixes show up in few of them, where a systematic search would
//!    take very long to arrive.
//! 3. The search that recognises states starts from the beginning. It goes on as long as it
//!    recognises some. As long as its runs lead to new states for the most part and its end is not
//!    near, `optimal` takes turns with it, as one of the two may end much earlier than the other.
//! 4. Where it recognises too few, `optimal` goes on. It makes fewer runs then, and several targets
//!    can share it.
//! 5. From some runs on, searches with a bound on preemptions are made between portions of the main
//!    search: with 0 preemptions, with 1, and so on. They take as many runs as the main search. If
//!    the main search does not end, the report says which bound was covered.
//!
//! The check is always in one [`Stage`]. A stage is one search, or one portion of a search, so that
//! a check that was interrupted goes on in the middle of its stage.
//!
//! Everything is decided by numbers of runs and never by time, so that the same program gives the
//! same report.

use std::time::Instant;

use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::portion::Portions;
use raddle_explore::saved::{Loader, Saver, Unusable};
use raddle_explore::{IncompleteReason, Strategy};
use raddle_model::Estimate;
use raddle_model::finding::{Phase, Reason, Stats, StatsRow};
use serde::{Deserialize, Serialize};

use super::parallel::ParallelSetup;
use super::search::{SearchResult, Session};
use super::strategies;
use crate::durable::ResumedCheck;
use crate::error::Error;
use crate::options::{CheckOptions, StrategyName};

/// Runs of `optimal` before samples are taken.
const FIRST_RUNS: u64 = 128;
/// Samples of each kind.
const SAMPLES: u64 = 128;
/// Runs of the search that recognises states before its first pause.
const FIRST_TURN: u64 = 128;
/// Its runs before it is asked whether it pays.
const TRIAL_RUNS: u64 = 1024;
/// What one of its runs costs in runs of `optimal`, beside one for each new state: recognising a
/// state is dear.
const RUN_COST: u64 = 8;
/// Its runs before `optimal` takes turns with it, unless states are dearer than runs: if it seems
/// to end very late, and otherwise.
const SHORT_PATIENCE: u64 = 512;
const PATIENCE: u64 = 2000;
/// A search ends very late that will probably make so many times as many runs as it has made.
const FAR: f64 = 16.0;
/// It pays if at least one of so many runs was cut at a known state.
const PAYS: u64 = 8;
/// Runs of the main search before others take turns with it.
const ALONE: u64 = 1 << 14;
/// A search is near its end if it will probably make at most so many times as many runs as it has
/// made.
const NEAR: f64 = 8.0;
/// Then bounds on preemptions are of no interest.
const SOON: f64 = 4.0;
/// Runs within bounds on preemptions, at most: such a search remembers every prefix that it has
/// met.
const MOST_BOUNDED_RUNS: u64 = 1 << 17;

/// Searches, and says which strategy had the last word. `resumed`: the check goes on where it was
/// saved.
pub fn search(
    options: &CheckOptions,
    session: &mut Session<'_, '_>,
    parallel: Option<&ParallelSetup>,
    begun: Instant,
    resumed: Option<&ResumedCheck>,
) -> Result<(StrategyName, SearchResult), Error> {
    let mut auto = Auto::new(options, session, parallel, begun);
    if let Some(resumed) = resumed {
        auto.restore(&mut Loader::new(&resumed.outer))?;
        auto.resumed = Some(&resumed.search);
    }
    let (name, mut result) = loop {
        if let Some(last) = auto.step()? {
            break last;
        }
    };
    if result.reason.is_some() {
        result.stats.preemptions_covered = auto.plan.bounded.row.covered;
    }
    Ok(auto.conclude(name, result))
}

/// Whether a search ended because a run could not be followed: other runs may still show a bug.
fn is_broken_off(result: &SearchResult) -> bool {
    !result.is_final && result.reason.as_ref().is_some_and(|reason| reason.code == IncompleteReason::Broken.word())
}

/// Whether the search that recognises states shall go on.
fn pays(figures: &Stats) -> bool {
    figures.runs() < TRIAL_RUNS || figures.matched * PAYS >= figures.runs()
}

/// The runs of `optimal` that cost as much as the search that recognises states has cost, if that
/// search meets more new states than it makes runs: then traces may be few as well. If it meets
/// few, it ends soon or not at all.
fn turn_of_optimal(search: &MainSearch<'_>) -> u64 {
    let (runs, states) = (search.figures.runs(), search.figures.states);
    let is_dear = states > RUN_COST * runs;
    let is_long = states > runs
        && match times_left(search) {
            left if left > FAR => runs >= SHORT_PATIENCE,
            left => left > NEAR && runs >= PATIENCE,
        };
    if is_dear || is_long { RUN_COST * runs + states } else { 0 }
}

/// How many times as many runs as it has made the search will probably make.
fn times_left(search: &MainSearch<'_>) -> f64 {
    search.estimate().map_or(0.0, |estimate| estimate.likely() / search.figures.runs().max(1) as f64)
}

/// Whether the search will probably make no more than a few times as many runs as it has made: then
/// no bound is of interest.
fn ends_soon(main: &MainSearch<'_>) -> bool {
    let known = main.estimate().filter(|estimate| estimate.most.is_some());
    known.is_some_and(|estimate| estimate.likely() <= SOON * main.figures.runs() as f64)
}

/// What the check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The first portion of `optimal`.
    First,
    /// Samples: of `pct`, then of `pos`.
    Pct,
    Pos,
    /// A turn of the search that recognises states,
    States,
    /// of the searches within bounds behind it,
    BoundedByStates,
    /// and of `optimal` behind both.
    CatchUp,
    /// A turn of `optimal`, once it goes on alone,
    Alone,
    /// and of the searches within bounds behind it.
    BoundedByOptimal,
}

/// What a stage leads to: the result of the check, or nothing yet.
type Last = Option<(StrategyName, SearchResult)>;

/// A search that may give the verdict.
struct MainSearch<'a> {
    name: StrategyName,
    /// Absent while it runs.
    search: Option<Portions>,
    /// How several targets share it, if they can.
    parallel: Option<&'a ParallelSetup>,
    /// Those of all its portions.
    figures: Stats,
    /// Whether it was given up for another one, because the program waits busily.
    has_restarted: bool,
}

/// The same as it is saved.
#[derive(Serialize, Deserialize)]
struct MainRow {
    is_shared: bool,
    figures: StatsRow,
    has_restarted: bool,
}

impl<'a> MainSearch<'a> {
    fn new(name: StrategyName, search: Portions, parallel: Option<&'a ParallelSetup>) -> Self {
        MainSearch { name, search: Some(search), parallel, figures: Stats::default(), has_restarted: false }
    }

    fn estimate(&self) -> Option<Estimate> {
        self.search.as_ref().and_then(Portions::estimate)
    }

    fn is_paused(&self) -> bool {
        self.search.as_ref().is_some_and(Portions::is_paused)
    }

    fn row(&self) -> MainRow {
        MainRow {
            is_shared: self.parallel.is_some(),
            figures: StatsRow::from(&self.figures),
            has_restarted: self.has_restarted,
        }
    }

    fn restore(&mut self, row: MainRow) {
        self.parallel = self.parallel.filter(|_| row.is_shared);
        (self.figures, self.has_restarted) = (row.figures.into(), row.has_restarted);
    }
}

/// Searches with higher and higher bounds on preemptions.
struct BoundedSearch {
    /// Absent while it runs.
    search: Option<Portions>,
    row: BoundedRow,
}

/// What they have done.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct BoundedRow {
    bound: u32,
    runs: u64,
    /// Runs that are left of the present turn.
    left: u64,
    /// The bound within which everything was covered.
    covered: Option<u32>,
    /// Whether no bound can be covered any more.
    is_over: bool,
}

/// A search within a bound on preemptions.
fn within(options: &CheckOptions, bound: u32) -> Portions {
    Portions::new(strategies::within_preemptions(options.spurious, bound))
}

/// A search that is not running, as it is saved: whether it is there, then the search itself.
fn save_search(search: Option<&Portions>, into: &mut Saver) {
    into.put(&search.is_some());
    if let Some(search) = search {
        search.save(into);
    }
}

fn restore_search(search: Option<&mut Portions>, from: &mut Loader<'_>) -> Result<(), Unusable> {
    match (from.take()?, search) {
        (true, Some(search)) => search.restore(from),
        (true, None) => Err(Unusable::because("a search is not there")),
        (false, _) => Ok(()),
    }
}

/// The result of a search as it is saved.
type ResultRow = (StatsRow, Option<Reason>, Vec<String>, bool, bool, bool);

fn result_row(result: &SearchResult) -> ResultRow {
    let SearchResult { stats, reason, limits, is_final, has_restarted, became_one } = result;
    (stats.into(), reason.clone(), limits.clone(), *is_final, *has_restarted, *became_one)
}

fn result_of((stats, reason, limits, is_final, has_restarted, became_one): ResultRow) -> SearchResult {
    SearchResult { stats: stats.into(), reason, limits, is_final, has_restarted, became_one }
}

/// Which search runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Optimal,
    States,
    Bounded,
}

/// A check under way, without what it runs on.
struct Plan<'a> {
    stage: Stage,
    optimal: MainSearch<'a>,
    states: MainSearch<'a>,
    bounded: BoundedSearch,
    /// The result of the first portion, if it broke off.
    first: Option<SearchResult>,
    phases: Vec<Phase>,
    /// What all searches have seen of the program.
    seen: Stats,
    /// Findings before the search that runs.
    found: u64,
}

impl Plan<'_> {
    fn save(&self, into: &mut Saver) {
        into.put(&(self.stage, self.optimal.row(), self.states.row(), self.bounded.row));
        into.put(&(self.first.as_ref().map(result_row), &self.phases, StatsRow::from(&self.seen), self.found));
        for search in [&self.optimal.search, &self.states.search, &self.bounded.search] {
            save_search(search.as_ref(), into);
        }
    }

    fn restore(&mut self, options: &CheckOptions, from: &mut Loader<'_>) -> Result<(), Unusable> {
        let (stage, optimal, states, bounded): (Stage, MainRow, MainRow, BoundedRow) = from.take()?;
        let (first, phases, seen, found): (Option<ResultRow>, Vec<Phase>, StatsRow, u64) = from.take()?;
        self.stage = stage;
        self.optimal.restore(optimal);
        self.states.restore(states);
        self.bounded = BoundedSearch { search: Some(within(options, bounded.bound)), row: bounded };
        (self.first, self.phases, self.seen, self.found) = (first.map(result_of), phases, seen.into(), found);
        for search in [&mut self.optimal.search, &mut self.states.search, &mut self.bounded.search] {
            restore_search(search.as_mut(), from)?;
        }
        from.end()
    }

    fn main(&mut self, which: Which) -> &mut Option<Portions> {
        match which {
            Which::Optimal => &mut self.optimal.search,
            Which::States => &mut self.states.search,
            Which::Bounded => &mut self.bounded.search,
        }
    }

    fn note(&mut self, name: &str, runs: u64, findings: u64) {
        match self.phases.last_mut().filter(|last| last.strategy == name) {
            Some(last) => {
                last.runs += runs;
                last.findings += findings;
            }
            None => self.phases.push(Phase { strategy: name.into(), runs, findings }),
        }
    }
}

/// A check under way.
struct Auto<'a, 's, 'c> {
    options: &'a CheckOptions,
    session: &'a mut Session<'s, 'c>,
    begun: Instant,
    plan: Plan<'a>,
    /// The search in whose middle the check goes on.
    resumed: Option<&'a [u8]>,
}

impl<'a, 's, 'c> Auto<'a, 's, 'c> {
    fn new(
        options: &'a CheckOptions,
        session: &'a mut Session<'s, 'c>,
        parallel: Option<&'a ParallelSetup>,
        begun: Instant,
    ) -> Self {
        let optimal = Portions::new(strategies::of_name(options, StrategyName::Optimal, None, parallel.is_some()));
        let states = Portions::new(strategies::matching_states(options));
        let plan = Plan {
            stage: Stage::First,
            optimal: MainSearch::new(StrategyName::Optimal, optimal, parallel),
            states: MainSearch::new(StrategyName::Stateful, states, None),
            bounded: BoundedSearch { search: Some(within(options, 0)), row: BoundedRow::default() },
            first: None,
            phases: Vec::new(),
            seen: Stats::default(),
            found: 0,
        };
        Auto { options, session, begun, plan, resumed: None }
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        self.plan.restore(self.options, from)
    }

    /// Makes one stage, and goes on to the next.
    fn step(&mut self) -> Result<Last, Error> {
        let (next, last) = match self.plan.stage {
            Stage::First => {
                let first = self.portion(Which::Optimal, FIRST_RUNS)?;
                match first {
                    Some(result) if !is_broken_off(&result) => (Stage::First, Some((StrategyName::Optimal, result))),
                    first => {
                        self.plan.first = first;
                        (Stage::Pct, None)
                    }
                }
            }
            Stage::Pct => (Stage::Pos, self.sample(StrategyName::Pct)?),
            Stage::Pos => {
                let last = self.sample(StrategyName::Pos)?;
                let first = self.plan.first.take().map(|result| (StrategyName::Optimal, result));
                (Stage::States, last.or(first))
            }
            Stage::States if !self.session.can_match_states() || !pays(&self.plan.states.figures) => {
                (Stage::Alone, None)
            }
            Stage::States => self.turn(Which::States, FIRST_TURN, Stage::BoundedByStates, Stage::CatchUp)?,
            Stage::BoundedByStates => (Stage::CatchUp, self.bound(Which::States)?),
            Stage::CatchUp => (Stage::States, self.catch_up()?),
            Stage::Alone => self.turn(Which::Optimal, ALONE, Stage::BoundedByOptimal, Stage::Alone)?,
            Stage::BoundedByOptimal => (Stage::Alone, self.bound(Which::Optimal)?),
        };
        self.plan.stage = next;
        Ok(last)
    }

    /// A portion of the main search, as long as all before but not shorter than `least`. The
    /// searches within bounds come next, unless the main search will soon end.
    fn turn(&mut self, which: Which, least: u64, bounded: Stage, other: Stage) -> Result<(Stage, Last), Error> {
        let runs = self.figures(which).runs().max(least);
        if let Some(result) = self.portion(which, runs)? {
            return Ok((other, Some((self.name(which), result))));
        }
        let main = if which == Which::States { &self.plan.states } else { &self.plan.optimal };
        let (soon, made) = (ends_soon(main), main.figures.runs());
        let row = &mut self.plan.bounded.row;
        row.left = if made < ALONE { 0 } else { made.min(MOST_BOUNDED_RUNS).saturating_sub(row.runs) };
        Ok((if soon { other } else { bounded }, None))
    }

    fn figures(&self, which: Which) -> &Stats {
        if which == Which::States { &self.plan.states.figures } else { &self.plan.optimal.figures }
    }

    fn name(&self, which: Which) -> StrategyName {
        if which == Which::States { self.plan.states.name } else { self.plan.optimal.name }
    }

    /// A portion of `optimal` that costs as much as the search that recognises states has cost so
    /// far.
    fn catch_up(&mut self) -> Result<Last, Error> {
        let made = self.plan.optimal.figures.runs();
        let runs = turn_of_optimal(&self.plan.states).saturating_sub(made);
        // A search that goes on has begun its portion before.
        if self.resumed.is_none() && (runs == 0 || self.plan.optimal.has_restarted) {
            return Ok(None);
        }
        let result = self.portion(Which::Optimal, runs)?;
        Ok(result.map(|result| (self.plan.optimal.name, result)))
    }

    /// The next portion of a main search; its result, if it is the last.
    fn portion(&mut self, which: Which, runs: u64) -> Result<Option<SearchResult>, Error> {
        let (name, parallel) = match which {
            Which::States => (self.plan.states.name, self.plan.states.parallel),
            _ => (self.plan.optimal.name, self.plan.optimal.parallel),
        };
        let mut result = self.run_portion(which, name.word(), runs, parallel)?;
        let main = if which == Which::States { &mut self.plan.states } else { &mut self.plan.optimal };
        if result.has_restarted {
            // What was counted before belongs to a search that was given up.
            main.figures = Stats::default();
            main.has_restarted = true;
        }
        if result.became_one {
            main.parallel = None;
        }
        main.figures.extend(&result.stats);
        result.stats = main.figures.clone();
        Ok((result.is_final || !main.is_paused()).then_some(result))
    }

    /// Searches within bounds on preemptions, with as many runs as the main search has made since
    /// the last time.
    fn bound(&mut self, of: Which) -> Result<Last, Error> {
        while self.plan.bounded.row.left > 0 && !self.plan.bounded.row.is_over {
            let BoundedRow { bound, left, .. } = self.plan.bounded.row;
            let result = self.run_portion(Which::Bounded, &format!("preemptions-{bound}"), left, None)?;
            let runs = result.stats.runs().max(1);
            let bounded = &mut self.plan.bounded;
            bounded.row.left = left.saturating_sub(runs);
            bounded.row.runs += runs;
            let is_paused = bounded.search.as_ref().is_some_and(Portions::is_paused);
            if result.is_final || (!is_paused && result.reason.is_none()) {
                return Ok(Some(match result.reason {
                    // Within the bound nothing was left out.
                    None => (StrategyName::Dfs, result),
                    // The check ends for another reason.
                    Some(_) => (self.name(of), SearchResult { stats: self.figures(of).clone(), ..result }),
                }));
            }
            match result.reason.as_ref().map(|reason| reason.code.as_str()) {
                _ if is_paused => bounded.row.left = 0,
                Some("preemptions") => {
                    bounded.row.covered = Some(bound);
                    bounded.row.bound = bound + 1;
                    bounded.search = Some(within(self.options, bound + 1));
                }
                // Some run could not be followed: nothing is known of the bound.
                _ => bounded.row.is_over = true,
            }
        }
        Ok(None)
    }

    fn sample(&mut self, name: StrategyName) -> Result<Last, Error> {
        let mut samples = Portions::new(strategies::of_name(self.options, name, None, false));
        samples.begin(SAMPLES);
        let result = self.run(name.word(), &mut samples, None)?;
        Ok(result.is_final.then_some((name, result)))
    }

    /// A portion of so many runs, or the rest of one that was interrupted.
    fn run_portion(
        &mut self,
        which: Which,
        name: &str,
        runs: u64,
        parallel: Option<&ParallelSetup>,
    ) -> Result<SearchResult, Error> {
        let Some(mut search) = self.plan.main(which).take() else {
            return Err(Unusable::because("a search is not there").into());
        };
        search.begin(runs);
        let result = self.run(name, &mut search, parallel);
        *self.plan.main(which) = Some(search);
        result
    }

    /// Searches with a strategy within the bounds that the options set.
    fn run(
        &mut self,
        name: &str,
        strategy: &mut dyn Strategy,
        parallel: Option<&ParallelSetup>,
    ) -> Result<SearchResult, Error> {
        let mut strategy: Box<dyn Strategy + '_> = Box::new(MaxEvents::new(strategy, self.options.max_events));
        if let Some(limit) = self.options.max_executions {
            let before = self.session.runs_before;
            strategy = Box::new(MaxExecutions::new(strategy, limit.saturating_sub(before)));
        }
        let left = self.options.time_limit.map(|limit| limit.saturating_sub(self.begun.elapsed()));
        strategy = Box::new(TimeLimit::new(strategy, left));
        let resumed = self.resumed.take();
        if resumed.is_none() {
            self.plan.found = self.session.collector.findings.len() as u64;
        }
        let plan = &self.plan;
        let result = self.session.search(&mut *strategy, parallel, &|into| plan.save(into), resumed)?;
        let findings = (self.session.collector.findings.len() as u64).saturating_sub(self.plan.found);
        self.plan.note(name, result.stats.runs(), findings);
        self.plan.seen.include(&result.stats);
        tracing::debug!(strategy = name, runs = result.stats.runs(), findings, "part of the check done");
        Ok(result)
    }

    /// What the last search says, and the others have seen.
    fn conclude(self, name: StrategyName, mut result: SearchResult) -> (StrategyName, SearchResult) {
        result.stats.include(&self.plan.seen);
        if self.plan.phases.len() > 1 {
            result.stats.phases = self.plan.phases;
        }
        (name, result)
    }
}
