//! Several workers find what one does, in the same order.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::common::{sample, seeds};
use raddle_explore::bounds::{MaxEvents, MaxExecutions};
use raddle_explore::optimal::{Expander, Optimal, WorkItem};
use raddle_explore::pool::{Analyser, Analysis, Warmup, WorkerPool};
use raddle_explore::portion::Portions;
use raddle_explore::restart::{RestartOnSpinloop, optimal_with_dpor_fallback};
use raddle_explore::sampling::Sampling;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{IncompleteReason, Strategy, explore};
use raddle_model::Estimate;
use raddle_model::finding::Stats;
use raddle_model::{Execution, Request, Target, TargetError};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};

const WINDOW: usize = 40;

/// Further workers start after so many runs.
fn after(runs: u64) -> Warmup {
    Warmup { runs, time: Duration::MAX }
}

fn target(program: &AbstractProgram) -> MemoryTarget {
    MemoryTarget::with(program, Granularity::Access, 0, WINDOW)
}

/// Expands executions where they are made, and keeps them.
fn expander() -> Option<Analyser> {
    let mut expander = Expander::new(0);
    Some(Box::new(move |_, request: Request, execution: &Execution| {
        let expansion = expander.expand(&WorkItem { schedule: request.schedule.into() }, execution);
        Analysis { expansion: Some(expansion), keep: true, note: None }
    }))
}

/// A worker of the optimal search.
fn worker(
    program: &AbstractProgram,
) -> impl FnOnce() -> Result<(MemoryTarget, Option<Analyser>), TargetError> + Send + use<> {
    let program = program.clone();
    move || Ok((target(&program), expander()))
}

/// Traces in order, figures and what is missing.
type Shown = (Vec<u64>, Stats, Option<IncompleteReason>);

fn shown<T: Target>(strategy: &mut dyn Strategy, pool: &mut WorkerPool<'_, T>) -> Shown {
    let (mut hasher, mut trail) = (TraceHasher::default(), Vec::new());
    let outcome = explore(strategy, pool, &mut |run, _, _| {
        trail.extend(run.execution.map(|execution| hasher.hash(execution)));
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    (trail, outcome.stats, outcome.incomplete)
}

fn together(jobs: usize, strategy: &mut dyn Strategy, program: &AbstractProgram) -> Shown {
    let mut own = target(program);
    // Sometimes the others start later.
    let mut pool = WorkerPool::shared(&mut own, expander(), after(jobs as u64 % 3 * 30), || Ok(target(program)));
    for _ in 1..jobs {
        pool.add_worker(worker(program), |_| vec!["a remark".into()]);
    }
    let shown = shown(strategy, &mut pool);
    let remarks = pool.close();
    assert!(remarks.is_empty() || remarks == ["a remark"], "{remarks:?}");
    shown
}

fn alone(strategy: &mut dyn Strategy, program: &AbstractProgram) -> Shown {
    shown(strategy, &mut WorkerPool::of_one(&mut target(program)))
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let mut compared = 0;
    for seed in seeds(150) {
        let knobs = Knobs { awaits: false, ..Knobs::drawn(seed, 3, 4) };
        let program = generate(seed, &knobs);
        let optimal = alone(&mut MaxExecutions::of_runs(Optimal::new(0), 400), &program);
        for jobs in [1, 2, 5] {
            let shared = together(jobs, &mut MaxExecutions::of_runs(Optimal::new(0), 400), &program);
            assert_eq!(shared, optimal, "seed {seed}, {jobs} jobs");
        }
        compared += u64::from(optimal.0.len() > 20);
    }
    assert!(compared > sample(20), "{compared}");
}

/// A shared search that meets a spin loop goes on alone, from its beginning, and counts what a
/// search counts that was alone all the time.
#[test]
fn a_spin_loop_ends_the_sharing() {
    let mut restarted = 0;
    for seed in seeds(60) {
        let program = generate(seed, &Knobs { awaits: true, ..Knobs::drawn(seed, 3, 4) });
        let search = || MaxExecutions::new(optimal_with_dpor_fallback(0), 400);
        let shared_search = || {
            let strategy = optimal_with_dpor_fallback(0).preceded_by(Optimal::new(0));
            MaxExecutions::new(strategy, 400)
        };
        let expected = alone(&mut search(), &program);
        for jobs in [1, 2, 5] {
            let (trail, stats, incomplete) = together(jobs, &mut shared_search(), &program);
            assert_eq!((&stats, incomplete), (&expected.1, expected.2), "seed {seed}, {jobs} jobs");
            restarted += u64::from(trail.len() > expected.0.len());
        }
    }
    assert!(restarted > sample(5), "{restarted}");
}

/// A portion of a search that meets a spin loop has as many runs of the search that goes on,
/// however many targets shared the one that was given up.
#[test]
fn a_portion_begins_anew_with_its_search() {
    let mut restarted = 0;
    for seed in seeds(60) {
        let program = generate(seed, &Knobs { awaits: true, ..Knobs::drawn(seed, 3, 4) });
        let portion = |search: RestartOnSpinloop| {
            let mut portions = Portions::new(search);
            portions.begin(20);
            portions
        };
        let expected = alone(&mut portion(optimal_with_dpor_fallback(0)), &program);
        for jobs in [1, 2, 5] {
            let shared = optimal_with_dpor_fallback(0).preceded_by(Optimal::new(0));
            let (trail, stats, _) = together(jobs, &mut portion(shared), &program);
            assert_eq!(stats, expected.1, "seed {seed}, {jobs} jobs");
            restarted += u64::from(trail.len() > expected.0.len());
        }
    }
    assert!(restarted > sample(5), "{restarted}");
}

#[test]
fn samples_are_the_same_by_seed() {
    let program = generate(5, &Knobs { awaits: false, ..Knobs::drawn(5, 3, 4) });
    let sample = |jobs: usize| {
        let mut own = target(&program);
        let mut pool = WorkerPool::shared(&mut own, None, after(0), || Ok(target(&program)));
        for _ in 1..jobs {
            let program = program.clone();
            pool.add_worker(move || Ok((target(&program), None)), |_| Vec::new());
        }
        let samples = RestartOnSpinloop::of_shared_samples(|| Box::new(Sampling::pct(7, 3)));
        let mut strategy = MaxEvents::new(MaxExecutions::of_runs(samples, 300), 10_000);
        shown(&mut strategy, &mut pool)
    };
    let one = sample(1);
    assert_eq!(one.0.len(), 300);
    assert!(one == sample(2) && one == sample(4));
}

/// Five threads that add to one counter: 120 traces.
fn five_adders() -> AbstractProgram {
    AbstractProgram::parallel(1, 0, vec![vec![fetch_add(1, 0, num(1))]; 5])
}

#[test]
fn the_observer_can_stop_it() {
    let program = five_adders();
    let mut own = target(&program);
    let mut pool = WorkerPool::shared(&mut own, expander(), after(0), || Ok(target(&program)));
    for _ in 0..2 {
        pool.add_worker(worker(&program), |_| vec!["a remark".into()]);
    }
    let mut seen = 0;
    let outcome = explore(&mut Optimal::new(0), &mut pool, &mut |_, _, _| {
        seen += 1;
        if seen == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stats.executions, outcome.incomplete), (7, Some(IncompleteReason::Stopped)));
    assert_eq!(pool.close(), ["a remark"]);
}

/// A target that breaks after so many runs.
struct Broken(u32);

impl Target for Broken {
    fn submit(&mut self, _: Request) {}

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        *into = Execution::empty();
        self.0 -= 1;
        if self.0 == 0 { Err(TargetError::Lost("it broke".into())) } else { Ok(()) }
    }

    fn window(&self) -> usize {
        WINDOW
    }
}

/// The error of an endless search with a target of its own that breaks, and one other worker.
fn error_of<W: Target + Send + 'static>(own: u32, other: W) -> Option<TargetError> {
    let mut own = Broken(own);
    let mut pool = WorkerPool::shared(&mut own, None, after(0), || Ok(Broken(1)));
    pool.add_worker(move || Ok((other, None)), |_| Vec::new());
    explore(&mut Sampling::random(1), &mut pool, &mut |_, _, _| ControlFlow::Continue(())).err()
}

#[test]
fn a_lost_target_ends_it() {
    for (own, other) in [(1, 1000), (5, 1000), (1_000_000, 1), (1_000_000, 5)] {
        assert_eq!(error_of(own, Broken(other)), Some(TargetError::Lost("it broke".into())));
    }
}

#[test]
fn a_worker_that_does_not_start_is_not_waited_for() {
    let program = five_adders();
    let mut own = target(&program);
    let mut pool = WorkerPool::shared(&mut own, expander(), after(0), || Ok(target(&program)));
    for _ in 0..3 {
        let begin = || Err::<(Broken, Option<Analyser>), _>(TargetError::Lost("no memory".into()));
        pool.add_worker(begin, |_| Vec::new());
    }
    let outcome = explore(&mut Optimal::new(0), &mut pool, &mut |_, _, _| ControlFlow::Continue(()));
    assert_eq!(outcome.unwrap().stats.executions, 120);
    assert!(pool.close().is_empty());
}

/// A target whose thread ends without a word.
struct Panicking;

impl Target for Panicking {
    fn submit(&mut self, _: Request) {}

    fn finish(&mut self, _: &mut Execution) -> Result<(), TargetError> {
        panic!("on purpose")
    }
}

/// The panic of a worker goes on in the coordinator, so that the search does not wait for it.
#[test]
fn a_worker_that_panics_is_noticed() {
    let panic = std::panic::catch_unwind(|| error_of(1_000_000, Panicking)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
}

/// When everything is explored, nothing is left to be guessed.
#[test]
fn the_estimate_ends_at_the_truth() {
    let mut optimal = Optimal::new(0);
    let (_, stats, _) = together(2, &mut optimal, &five_adders());
    assert_eq!(stats.executions, 120);
    assert_eq!(optimal.estimate(), Some(Estimate { least: 120.0, most: Some(120.0) }));
}
