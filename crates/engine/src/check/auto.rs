//! The default strategy: several searches, one after the other.
//!
//! 1. `optimal` makes a first portion of runs. Small programs end here. Those of which a run cannot be
//!    followed, because it has too many threads, end behind the samples.
//! 2. Samples: bugs behind long prefixes show up in few of them, where a systematic search would take
//!    very long to arrive.
//! 3. The search that recognises states starts from the beginning. It goes on as long as it recognises
//!    some. As long as its runs lead to new states for the most part and its end is not near, `optimal`
//!    takes turns with it, as one of the two may end much earlier than the other.
//! 4. Where it recognises too few, `optimal` goes on. It makes fewer runs then, and several targets can
//!    share it.
//! 5. From some runs on, searches with a bound on preemptions are made between portions of the main
//!    search: with 0 preemptions, with 1, and so on. They take as many runs as the main search. If the
//!    main search does not end, the report says which bound was covered.
//!
//! Everything is decided by numbers of runs and never by time, so that the same program gives the
//! same report.

use std::time::{Duration, Instant};

use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::portion::Portions;
use raddle_explore::{IncompleteReason, Strategy};
use raddle_model::finding::{Phase, Stats};

use super::parallel::ParallelSetup;
use super::search::{SearchResult, Session};
use super::strategies;
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
/// What one of its runs costs in runs of `optimal`, beside one for each new state: recognising a state is
/// dear.
const RUN_COST: u64 = 8;
/// Its runs before `optimal` takes turns with it, unless states are dearer than runs: if it seems to end
/// very late, and otherwise.
const SHORT_PATIENCE: u64 = 512;
const PATIENCE: u64 = 2000;
/// A search ends very late that will probably make so many times as many runs as it has made.
const FAR: f64 = 16.0;
/// It pays if at least one of so many runs was cut at a known state.
const PAYS: u64 = 8;
/// Runs of the main search before others take turns with it.
const ALONE: u64 = 1 << 14;
/// A search is near its end if it will probably make at most so many times as many runs as it has made.
const NEAR: f64 = 8.0;
/// Then bounds on preemptions are of no interest.
const SOON: f64 = 4.0;
/// Runs within bounds on preemptions, at most: such a search remembers every prefix that it has met.
const MOST_BOUNDED_RUNS: u64 = 1 << 17;

/// Searches, and says which strategy had the last word.
pub fn search(
    options: &CheckOptions,
    session: &mut Session<'_, '_>,
    parallel: Option<&ParallelSetup>,
    begun: Instant,
) -> Result<(StrategyName, SearchResult), Error> {
    let mut auto = Auto { options, session, begun, phases: Vec::new(), seen: Stats::default() };
    let mut bounded = BoundedSearch::new(options);
    let (name, mut result) = auto.all(parallel, &mut bounded)?;
    if result.reason.is_some() {
        result.stats.preemptions_covered = bounded.covered;
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

/// The runs of `optimal` that cost as much as the search that recognises states has cost, if that search
/// meets more new states than it makes runs: then traces may be few as well. If it meets few, it ends soon
/// or not at all.
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
    search.search.estimate().map_or(0.0, |estimate| estimate.likely() / search.figures.runs().max(1) as f64)
}

/// Whether the search will probably make no more than a few times as many runs as it has made: then no bound
/// is of interest.
fn ends_soon(main: &MainSearch<'_>) -> bool {
    let known = main.search.estimate().filter(|estimate| estimate.most.is_some());
    known.is_some_and(|estimate| estimate.likely() <= SOON * main.figures.runs() as f64)
}

/// A search that may give the verdict.
struct MainSearch<'a> {
    name: StrategyName,
    search: Portions,
    /// How several targets share it, if they can.
    parallel: Option<&'a ParallelSetup>,
    /// Those of all its portions.
    figures: Stats,
    /// Whether it was given up for another one, because the program waits busily.
    has_restarted: bool,
}

impl<'a> MainSearch<'a> {
    fn new(name: StrategyName, search: Portions, parallel: Option<&'a ParallelSetup>) -> Self {
        MainSearch { name, search, parallel, figures: Stats::default(), has_restarted: false }
    }
}

/// Searches with higher and higher bounds on preemptions.
struct BoundedSearch<'a> {
    options: &'a CheckOptions,
    bound: u32,
    search: Portions,
    runs: u64,
    /// The bound within which everything was covered.
    covered: Option<u32>,
    /// Whether no bound can be covered any more.
    is_over: bool,
}

impl<'a> BoundedSearch<'a> {
    fn new(options: &'a CheckOptions) -> Self {
        BoundedSearch { options, bound: 0, search: within(options, 0), runs: 0, covered: None, is_over: false }
    }

    /// The bound is covered.
    fn next(&mut self) {
        self.covered = Some(self.bound);
        self.bound += 1;
        self.search = within(self.options, self.bound);
    }
}

/// A search within a bound on preemptions.
fn within(options: &CheckOptions, bound: u32) -> Portions {
    Portions::new(strategies::within_preemptions(options.spurious, bound))
}

/// A check under way.
struct Auto<'a, 's, 'c> {
    options: &'a CheckOptions,
    session: &'a mut Session<'s, 'c>,
    begun: Instant,
    phases: Vec<Phase>,
    /// What all searches have seen of the program.
    seen: Stats,
}

impl Auto<'_, '_, '_> {
    fn all(
        &mut self,
        parallel: Option<&ParallelSetup>,
        bounded: &mut BoundedSearch<'_>,
    ) -> Result<(StrategyName, SearchResult), Error> {
        let inner = strategies::of_name(self.options, StrategyName::Optimal, None, parallel.is_some());
        let mut optimal = MainSearch::new(StrategyName::Optimal, Portions::new(inner), parallel);
        let first = match self.portion(&mut optimal, FIRST_RUNS)? {
            Some(result) if !is_broken_off(&result) => return Ok((optimal.name, result)),
            first => first,
        };
        for name in [StrategyName::Pct, StrategyName::Pos] {
            let result = self.sample(name)?;
            if result.is_final {
                return Ok((name, result));
            }
        }
        if let Some(result) = first {
            return Ok((optimal.name, result));
        }
        let inner = Portions::new(strategies::matching_states(self.options));
        let mut states = MainSearch::new(StrategyName::Stateful, inner, None);
        while self.session.can_match_states() && pays(&states.figures) {
            if let Some(last) = self.turn(&mut states, FIRST_TURN, bounded)? {
                return Ok(last);
            }
            if let Some(result) = self.catch_up(&mut optimal, &states)? {
                return Ok((optimal.name, result));
            }
        }
        loop {
            if let Some(last) = self.turn(&mut optimal, ALONE, bounded)? {
                return Ok(last);
            }
        }
    }

    /// A portion of the main search, as long as all before but not shorter than `least`, and then one of
    /// the searches within bounds. The result, if that is the last.
    fn turn(
        &mut self,
        main: &mut MainSearch<'_>,
        least: u64,
        bounded: &mut BoundedSearch<'_>,
    ) -> Result<Option<(StrategyName, SearchResult)>, Error> {
        let runs = main.figures.runs().max(least);
        if let Some(result) = self.portion(main, runs)? {
            return Ok(Some((main.name, result)));
        }
        if ends_soon(main) {
            return Ok(None);
        }
        let last = self.bound(bounded, &main.figures)?;
        Ok(last.map(|result| match result.reason {
            // Within the bound nothing was left out.
            None => (StrategyName::Dfs, result),
            // The check ends for another reason.
            Some(_) => (main.name, SearchResult { stats: main.figures.clone(), ..result }),
        }))
    }

    /// A portion of `optimal` that costs as much as the search that recognises states has cost so far. Its
    /// result, if it is the last.
    fn catch_up(
        &mut self,
        optimal: &mut MainSearch<'_>,
        states: &MainSearch<'_>,
    ) -> Result<Option<SearchResult>, Error> {
        let runs = turn_of_optimal(states).saturating_sub(optimal.figures.runs());
        if runs == 0 || optimal.has_restarted { Ok(None) } else { self.portion(optimal, runs) }
    }

    /// The next portion of the main search; its result, if it is the last.
    fn portion(&mut self, main: &mut MainSearch<'_>, runs: u64) -> Result<Option<SearchResult>, Error> {
        main.search.begin(runs);
        let mut result = self.run(main.name.word(), &mut main.search, main.parallel)?;
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
        Ok((result.is_final || !main.search.is_paused()).then_some(result))
    }

    /// Searches within bounds on preemptions, with as many runs as the main search has made since the
    /// last time. Its result, if it is the last.
    fn bound(&mut self, bounded: &mut BoundedSearch<'_>, main: &Stats) -> Result<Option<SearchResult>, Error> {
        if main.runs() < ALONE {
            return Ok(None);
        }
        let mut left = main.runs().min(MOST_BOUNDED_RUNS).saturating_sub(bounded.runs);
        while left > 0 && !bounded.is_over {
            let name = format!("preemptions-{}", bounded.bound);
            bounded.search.begin(left);
            let result = self.run(&name, &mut bounded.search, None)?;
            let runs = result.stats.runs().max(1);
            left = left.saturating_sub(runs);
            bounded.runs += runs;
            if result.is_final {
                return Ok(Some(result));
            }
            if bounded.search.is_paused() {
                break;
            }
            match result.reason.as_ref().map(|reason| reason.code.as_str()) {
                // Nothing was left out.
                None => return Ok(Some(result)),
                Some("preemptions") => bounded.next(),
                // Some run could not be followed: nothing is known of the bound.
                Some(_) => bounded.is_over = true,
            }
        }
        Ok(None)
    }

    fn sample(&mut self, name: StrategyName) -> Result<SearchResult, Error> {
        let mut samples = Portions::new(strategies::of_name(self.options, name, None, false));
        samples.begin(SAMPLES);
        self.run(name.word(), &mut samples, None)
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
        if let Some(limit) = self.options.time_limit {
            let left: Duration = limit.saturating_sub(self.begun.elapsed());
            strategy = Box::new(TimeLimit::new(strategy, left));
        }
        let found = self.session.collector.findings.len();
        let result = self.session.search(&mut *strategy, parallel)?;
        let findings = (self.session.collector.findings.len() - found) as u64;
        self.note(name, result.stats.runs(), findings);
        self.seen.include(&result.stats);
        tracing::debug!(strategy = name, runs = result.stats.runs(), findings, "part of the check done");
        Ok(result)
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

    /// What the last search says, and the others have seen.
    fn conclude(self, name: StrategyName, mut result: SearchResult) -> (StrategyName, SearchResult) {
        result.stats.include(&self.seen);
        if self.phases.len() > 1 {
            result.stats.phases = self.phases;
        }
        (name, result)
    }
}
