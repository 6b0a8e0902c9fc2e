//! Searches that are interrupted and go on, against searches that are not.

use std::ops::ControlFlow;

use crate::common::{sample, seeds};
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::dpor::Dpor;
use raddle_explore::driver::{ResumedSearch, SavedSearch, SearchProgress, Watcher, explore_watched};
use raddle_explore::optimal::Optimal;
use raddle_explore::pdp;
use raddle_explore::pool::RunOutcome;
use raddle_explore::portion::Portions;
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::saved::Loader;
use raddle_explore::{Classification, IncompleteReason, Strategy, WorkerPool};
use raddle_model::Estimate;
use raddle_model::finding::Stats;
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::policy::mix;

/// Runs of a search, at most.
const LIMIT: u64 = 400;

/// All that a search shows.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    /// What came of each run: its number of events, how it counts, the estimate by then.
    runs: Vec<(usize, Classification, Option<Estimate>)>,
    stats: Stats,
    incomplete: Option<IncompleteReason>,
    has_restarted: bool,
}

/// Notes what it sees, and interrupts the search behind runs that a seed draws.
struct Interrupter {
    shown: Shown,
    /// `None`: never.
    seed: Option<u64>,
    window: usize,
    saved: Option<(SavedSearch, MemoryTarget)>,
    program: AbstractProgram,
}

impl Watcher<MemoryTarget> for Interrupter {
    fn see(&mut self, run: &RunOutcome<'_>, class: Classification, progress: &SearchProgress) -> ControlFlow<()> {
        if self.saved.is_some() {
            return ControlFlow::Break(());
        }
        self.shown.runs.push((run.execution.unwrap().events.len(), class, progress.estimate));
        ControlFlow::Continue(())
    }

    fn is_due(&mut self, _: bool) -> bool {
        let number = self.shown.runs.len() as u64;
        self.saved.is_none() && self.seed.is_some_and(|seed| mix(seed ^ mix(number)).is_multiple_of(7))
    }

    fn keep(&mut self, search: SavedSearch, target: &MemoryTarget) {
        self.saved = Some((search, fresh(&self.program, self.window).knowing(target)));
    }
}

fn fresh(program: &AbstractProgram, window: usize) -> MemoryTarget {
    MemoryTarget::with(program, Granularity::Sync, 0, window).with_keys()
}

/// Searches, and goes on as often as the search is interrupted; and how often that was.
fn search(
    begin: &dyn Fn() -> Box<dyn Strategy>,
    program: &AbstractProgram,
    window: usize,
    seed: Option<u64>,
) -> (Shown, u32) {
    let mut watcher = Interrupter { shown: Shown::default(), seed, window, saved: None, program: program.clone() };
    let mut target = fresh(program, window);
    let (mut resumed, mut strategy) = (None, begin());
    let mut interruptions = 0;
    loop {
        let mut pool = WorkerPool::of_one(&mut target);
        let outcome = explore_watched(&mut *strategy, &mut pool, &mut watcher, resumed.take()).unwrap();
        drop(pool);
        let Some((saved, other)) = watcher.saved.take() else {
            let mut shown = watcher.shown;
            (shown.stats, shown.incomplete, shown.has_restarted) =
                (outcome.stats, outcome.incomplete, outcome.has_restarted);
            return (shown, interruptions);
        };
        interruptions += 1;
        (target, strategy) = (other, begin());
        let mut loader = Loader::new(&saved.bytes);
        resumed = Some(ResumedSearch::load(&mut loader, &mut *strategy).unwrap());
        loader.end().unwrap();
    }
}

fn portions(inner: impl Strategy + 'static) -> Portions {
    let mut portions = Portions::new(inner);
    portions.begin(LIMIT / 2);
    portions
}

/// Builds a strategy.
type Begin = Box<dyn Fn() -> Box<dyn Strategy>>;

/// The strategies, as checks use them.
fn strategies() -> Vec<(&'static str, Begin)> {
    fn boxed<S: Strategy + 'static>(make: impl Fn() -> S + 'static) -> Begin {
        Box::new(move || Box::new(MaxExecutions::of_runs(make(), LIMIT)))
    }
    let dpor = || RestartOnSpinloop::new(|_| Box::new(Dpor::new(0)));
    let states = |bytes| move || RestartOnSpinloop::new(move |_| Box::new(Dpor::matching_states(0, bytes)));
    vec![
        ("optimal", boxed(|| optimal_with_dpor_fallback(0))),
        ("shared", boxed(|| optimal_with_dpor_fallback(0).preceded_by(Optimal::new(0)))),
        ("dpor", boxed(dpor)),
        ("stateful", boxed(states(64 << 20))),
        ("forgetful", boxed(states(4096))),
        ("portions", boxed(move || portions(states(64 << 20)()))),
        ("dfs", boxed(|| Dfs::new(0))),
        ("bounded", boxed(|| Dfs::of_traces(0).bounded(1))),
        ("pct", boxed(|| TimeLimit::new(MaxEvents::new(Sampling::pct(1, 3), 50), None))),
        ("samples", boxed(|| RestartOnSpinloop::of_shared_samples(|| Box::new(Sampling::pos(1))))),
        ("unpruned", boxed(|| pdp::unpruned(0))),
    ]
}

#[test]
fn an_interrupted_search_shows_what_an_uninterrupted_one_shows() {
    let (mut interruptions, mut compared) = (0, 0);
    for seed in seeds(60) {
        let program = generate(seed, &Knobs::drawn(seed, 3, 4));
        for (name, begin) in &strategies() {
            for window in [1, 5] {
                let (plain, none) = search(begin, &program, window, None);
                assert_eq!(none, 0);
                let (shown, times) = search(begin, &program, window, Some(mix(seed)));
                assert_eq!(plain, shown, "{name}, seed {seed}, window {window}, {times} interruptions: {program:#?}");
                interruptions += times;
                compared += 1;
            }
        }
    }
    assert!(interruptions > compared, "{interruptions} interruptions of {compared} searches");
    assert!(u64::from(interruptions) > sample(3000), "{interruptions}");
}
