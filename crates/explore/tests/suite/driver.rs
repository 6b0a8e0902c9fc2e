//! The driver: windows, bounds, stopping.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::common::{all_traces, search_with};
use raddle_explore::bounds::{MaxEvents, MaxExecutions, TimeLimit};
use raddle_explore::dfs::Dfs;
use raddle_explore::sampling::Sampling;
use raddle_explore::{IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::finding::Stats;
use raddle_testkit::program::Stmt;
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};

fn counters(threads: usize) -> AbstractProgram {
    AbstractProgram::parallel(1, 1, vec![locked(0, vec![read(1, 0), write(0, add(reg(1), num(1)))]); threads])
}

fn run(strategy: &mut dyn Strategy, program: &AbstractProgram) -> (Stats, Option<IncompleteReason>) {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let outcome =
        explore(strategy, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    (outcome.stats, outcome.incomplete)
}

#[test]
fn many_requests_under_way_change_nothing() {
    let program = counters(3);
    let alone = all_traces(&program, Granularity::Sync);
    for window in [2, 7, 64] {
        let target = MemoryTarget::with(&program, Granularity::Sync, 0, window);
        let together = search_with(&mut Dfs::of_traces(0), target, 0);
        assert_eq!((together.executions, &together.traces), (alone.executions, &alone.traces));
    }
}

#[test]
fn every_run_counts_once() {
    let (stats, incomplete) = run(&mut Dfs::of_traces(0), &counters(2));
    assert_eq!((stats.executions, stats.assumed, stats.cut, stats.threads, incomplete), (2, 0, 0, 3, None));
    let runs = stats.executions + stats.blocked;
    assert!(stats.events >= stats.transitions && stats.transitions >= 14 * stats.executions && runs > 2);
}

#[test]
fn a_bound_on_executions() {
    let limited = |limit| run(&mut MaxExecutions::new(Dfs::new(0), limit), &counters(2));
    let (stats, incomplete) = limited(5);
    assert_eq!((stats.executions, incomplete), (5, Some(IncompleteReason::Executions)));
    // Just enough is not too few.
    let (all, _) = run(&mut Dfs::new(0), &counters(2));
    let (stats, incomplete) = limited(all.executions);
    assert_eq!((stats.executions, incomplete), (all.executions, None));
    assert_eq!(limited(all.executions - 1).1, Some(IncompleteReason::Executions));
}

#[test]
fn redundant_runs_do_not_use_the_bound_up() {
    let (all, _) = run(&mut Dfs::of_traces(0), &counters(3));
    assert!(all.blocked > 0);
    for limit in 1..=all.executions {
        let (stats, incomplete) = run(&mut MaxExecutions::new(Dfs::of_traces(0), limit), &counters(3));
        assert_eq!(stats.executions, limit);
        assert!(incomplete == Some(IncompleteReason::Executions) || limit == all.executions);
    }
    let (stats, incomplete) = run(&mut MaxExecutions::of_runs(Dfs::of_traces(0), 4), &counters(3));
    assert_eq!((stats.executions + stats.blocked, incomplete), (4, Some(IncompleteReason::Executions)));
}

#[test]
fn a_bound_on_events_cuts_runs() {
    let (stats, incomplete) = run(&mut MaxEvents::new(Dfs::of_traces(0), 9), &counters(2));
    assert_eq!((stats.executions, incomplete), (0, Some(IncompleteReason::Events)));
    assert!(stats.cut > 0);
}

#[test]
fn a_bound_on_time_ends_an_endless_search() {
    let mut strategy = TimeLimit::new(Sampling::random(1), Some(Duration::from_millis(50)));
    let (stats, incomplete) = run(&mut strategy, &counters(2));
    assert!(stats.executions > 0);
    assert_eq!(incomplete, Some(IncompleteReason::Time));
    let mut strategy = TimeLimit::new(Dfs::of_traces(0), Some(Duration::MAX));
    assert_eq!(run(&mut strategy, &counters(2)).1, None);
}

#[test]
fn an_observer_can_stop_the_search() {
    let mut target = MemoryTarget::with(&counters(2), Granularity::Sync, 0, 8);
    let mut pool = WorkerPool::of_one(&mut target);
    let mut seen = 0;
    let outcome = explore(&mut Dfs::new(0), &mut pool, &mut |_, _, _| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stats.executions, outcome.incomplete), (3, Some(IncompleteReason::Stopped)));
    // When what is under way has been drained, the target serves the next search.
    pool.drain().unwrap();
    let outcome = explore(&mut Dfs::of_traces(0), &mut pool, &mut |_, _, _| ControlFlow::Continue(()));
    assert_eq!(outcome.unwrap().stats.executions, 2);
}

#[test]
fn a_false_assume_does_not_count() {
    let assume = |value| Stmt::Op(raddle_testkit::program::AbstractOp::Assume(value));
    let program = AbstractProgram::parallel(1, 0, vec![vec![store(0, num(1))], vec![load(1, 0), assume(reg(1))]]);
    let (stats, incomplete) = run(&mut Dfs::of_traces(0), &program);
    assert_eq!((stats.executions, incomplete), (1, None));
    assert!(stats.assumed > 0);
}
