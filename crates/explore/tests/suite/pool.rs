//! Several targets find what one does, in the same order.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::common::seeds;
use raddle_explore::bounds::{MaxEvents, MaxExecutions};
use raddle_explore::optimal::{Optimal, WorkItem};
use raddle_explore::pool::{Analyser, Analysis, WorkerPool, explore_with};
use raddle_explore::sampling::Sampling;
use raddle_explore::trace::TraceHasher;
use raddle_explore::units::{Units, Worker};
use raddle_explore::{IncompleteReason, Strategy, explore};
use raddle_model::finding::Stats;
use raddle_model::{Execution, Request, Target, TargetError};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::*;
use raddle_testkit::{Granularity, MemoryTarget, Program};

const WINDOW: usize = 40;

fn member(program: Program) -> Result<(MemoryTarget, Analyser), TargetError> {
    let mut worker = Worker::new(0);
    let analyser: Analyser = Box::new(move |_, request: Request, execution: &Execution| {
        let work = worker.work(&WorkItem { schedule: request.schedule }, execution);
        Analysis { work: Some(work), keep: true, note: None }
    });
    Ok((MemoryTarget::new(&program, Granularity::Access), analyser))
}

/// Traces in order, figures and gap.
type Shown = (Vec<u64>, Stats, Option<IncompleteReason>);

fn together(jobs: usize, strategy: &mut dyn Strategy, program: &Program) -> Shown {
    let (mut hasher, mut trail) = (TraceHasher::default(), Vec::new());
    // Sometimes the others come later.
    let mut pool = WorkerPool::new(WINDOW, jobs as u64 % 3 * 30, Duration::MAX);
    for _ in 1..jobs {
        let program = program.clone();
        pool.join(move || member(program), |_| vec!["a remark".into()]);
    }
    let (mut target, mut analyser) = member(program.clone()).unwrap();
    let outcome = explore_with(strategy, (&mut target, &mut analyser), &mut pool, &mut |made, _, _| {
        trail.extend(made.execution.as_ref().map(|execution| hasher.hash(execution)));
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    let remarks = pool.dismiss();
    assert!(remarks.is_empty() || remarks == ["a remark"], "{remarks:?}");
    (trail, outcome.stats, outcome.incomplete)
}

fn alone(strategy: &mut dyn Strategy, program: &Program) -> Shown {
    let (mut hasher, mut trail) = (TraceHasher::default(), Vec::new());
    let mut target = MemoryTarget::with(program, Granularity::Access, 0, WINDOW);
    let outcome = explore(strategy, &mut target, &mut |execution, _, _| {
        trail.push(hasher.hash(execution));
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    (trail, outcome.stats, outcome.incomplete)
}

#[test]
fn the_number_of_targets_changes_nothing() {
    let mut compared = 0;
    for seed in seeds(150) {
        let knobs = Knobs { awaits: false, ..Knobs::drawn(seed, 3, 4) };
        let program = generate(seed, &knobs);
        let optimal = alone(&mut MaxExecutions::of_runs(Optimal::new(0), 400), &program);
        for jobs in [1, 2, 5] {
            let shared = together(jobs, &mut MaxExecutions::of_runs(Units::new(0), 400), &program);
            assert_eq!(shared, optimal, "seed {seed}, {jobs} jobs");
        }
        compared += usize::from(optimal.0.len() > 20);
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_frontier_can_be_explored_alone() {
    let program = generate(3, &Knobs { awaits: false, ..Knobs::drawn(3, 3, 4) });
    let expected = alone(&mut MaxExecutions::of_runs(Optimal::new(0), 400), &program);
    assert_eq!(alone(&mut MaxExecutions::of_runs(Units::new(0), 400), &program), expected);
}

#[test]
fn samples_are_the_same_by_seed() {
    let program = generate(5, &Knobs { awaits: false, ..Knobs::drawn(5, 3, 4) });
    let sample = |jobs: usize| {
        let mut pool = WorkerPool::new(WINDOW, 0, Duration::MAX);
        let idle = || -> Analyser { Box::new(|_, _, _| Analysis::default()) };
        for _ in 1..jobs {
            let program = program.clone();
            pool.join(move || Ok((MemoryTarget::new(&program, Granularity::Access), idle())), |_| Vec::new());
        }
        let (mut target, mut analyser) = (MemoryTarget::new(&program, Granularity::Access), idle());
        let (mut hasher, mut trail) = (TraceHasher::default(), Vec::new());
        let mut strategy = MaxEvents::new(MaxExecutions::of_runs(Sampling::pct(7, 3), 300), 10_000);
        let outcome = explore_with(&mut strategy, (&mut target, &mut analyser), &mut pool, &mut |made, _, _| {
            trail.extend(made.execution.as_ref().map(|execution| hasher.hash(execution)));
            ControlFlow::Continue(())
        });
        (trail, outcome.unwrap().stats)
    };
    let one = sample(1);
    assert_eq!(one.0.len(), 300);
    assert!(one == sample(2) && one == sample(4));
}

#[test]
fn the_observer_can_stop_it() {
    let program = Program::parallel(1, 0, vec![vec![fetch_add(1, 0, num(1))]; 5]);
    let mut pool = WorkerPool::new(WINDOW, 0, Duration::MAX);
    for _ in 0..2 {
        let program = program.clone();
        pool.join(move || member(program), |_| vec!["a remark".into()]);
    }
    let (mut target, mut analyser) = member(program).unwrap();
    let mut seen = 0;
    let outcome = explore_with(&mut Units::new(0), (&mut target, &mut analyser), &mut pool, &mut |_, _, _| {
        seen += 1;
        if seen == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stats.executions, outcome.incomplete), (7, Some(IncompleteReason::Stopped)));
    assert_eq!(pool.dismiss(), ["a remark"]);
}

/// A target that breaks.
struct Broken(u32);

impl Target for Broken {
    fn submit(&mut self, _: Request) {}

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        *into = Execution::empty();
        self.0 -= 1;
        if self.0 == 0 { Err(TargetError::Lost("it broke".into())) } else { Ok(()) }
    }
}

fn broken(last: u32) -> (Broken, Analyser) {
    (Broken(last), Box::new(|_, _, _| Analysis::default()))
}

#[test]
fn a_lost_target_ends_it() {
    for (own, other) in [(1, 1000), (5, 1000), (1_000_000, 1), (1_000_000, 5)] {
        let mut pool = WorkerPool::new(WINDOW, 0, Duration::MAX);
        pool.join(move || Ok(broken(other)), |_| Vec::new());
        let (mut target, mut analyser) = broken(own);
        let mut ask = Sampling::random(1);
        let outcome =
            explore_with(&mut ask, (&mut target, &mut analyser), &mut pool, &mut |_, _, _| ControlFlow::Continue(()));
        assert_eq!(outcome.err(), Some(TargetError::Lost("it broke".into())));
    }
}

#[test]
fn who_cannot_come_is_not_waited_for() {
    let program = Program::parallel(1, 0, vec![vec![fetch_add(1, 0, num(1))]; 5]);
    let mut pool = WorkerPool::new(WINDOW, 0, Duration::MAX);
    for _ in 0..3 {
        pool.join(|| Err::<(Broken, Analyser), _>(TargetError::Lost("no memory".into())), |_| Vec::new());
    }
    let (mut target, mut analyser) = member(program).unwrap();
    let mut units = Units::new(0);
    let outcome =
        explore_with(&mut units, (&mut target, &mut analyser), &mut pool, &mut |_, _, _| ControlFlow::Continue(()));
    assert_eq!(outcome.unwrap().stats.executions, 120);
    assert!(pool.dismiss().is_empty());
}

/// A target whose thread ends without a word.
struct Panicking;

impl Target for Panicking {
    fn submit(&mut self, _: Request) {}

    fn finish(&mut self, _: &mut Execution) -> Result<(), TargetError> {
        panic!("on purpose")
    }
}

#[test]
fn a_member_that_panics_is_noticed() {
    let mut pool = WorkerPool::new(WINDOW, 0, Duration::MAX);
    let analyser = || -> Analyser { Box::new(|_, _, _| Analysis::default()) };
    pool.join(move || Ok((Panicking, analyser())), |_| Vec::new());
    let (mut target, mut analyser) = broken(1_000_000);
    let mut ask = Sampling::random(1);
    let outcome =
        explore_with(&mut ask, (&mut target, &mut analyser), &mut pool, &mut |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(outcome.err(), Some(TargetError::Lost(text)) if text.contains("unexpectedly")));
}

/// When everything is explored, nothing is left to be guessed.
#[test]
fn the_estimate_ends_at_the_truth() {
    let program = Program::parallel(1, 0, vec![vec![fetch_add(1, 0, num(1))]; 5]);
    let mut units = Units::new(0);
    let (_, stats, _) = together(2, &mut units, &program);
    assert_eq!(stats.executions, 120);
    assert!((units.estimate().unwrap() - 120.0).abs() < 1e-6);
}
