//! Estimates of the size of a search against totals that follow from a formula.

use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dpor::Dpor;
use raddle_explore::optimal::Optimal;
use raddle_explore::{IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::Estimate;
use raddle_testkit::program::Stmt;
use raddle_testkit::program::build::{fetch_add, load, locked, num, store};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};

/// Runs after which the search is stopped: about three seconds of a real program.
const RUNS: u64 = 60_000;

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// Threads that each make so many operations on one object, which all depend on each other.
fn interleavings(threads: u32, each: u32) -> f64 {
    factorial(threads * each) / factorial(each).powi(threads as i32)
}

fn adders(threads: usize, each: usize) -> AbstractProgram {
    AbstractProgram::parallel(1, 0, vec![vec![fetch_add(1, 0, num(1)); each]; threads])
}

fn lockers(threads: usize, each: usize) -> AbstractProgram {
    let round: Vec<Stmt> = locked(0, vec![]);
    AbstractProgram::parallel(0, 1, vec![vec![round; each].concat(); threads])
}

/// Pairs of threads, each with a variable of its own.
fn pairs(count: usize) -> AbstractProgram {
    let bodies = (0..2 * count).map(|thread| vec![fetch_add(1, thread / 2, num(1))]);
    AbstractProgram::parallel(count, 0, bodies.collect())
}

fn one_writer(readers: usize) -> AbstractProgram {
    let mut bodies = vec![vec![store(0, num(1))]];
    bodies.extend(vec![vec![load(1, 0)]; readers]);
    AbstractProgram::parallel(1, 0, bodies)
}

fn programs() -> Vec<(&'static str, AbstractProgram, f64)> {
    vec![
        ("10 adders", adders(10, 1), factorial(10)),
        ("9 adders", adders(9, 1), factorial(9)),
        ("11 adders", adders(11, 1), factorial(11)),
        ("2 adders, 10 rounds", adders(2, 10), interleavings(2, 10)),
        ("4 adders, 3 rounds", adders(4, 3), interleavings(4, 3)),
        ("3 lockers, 5 rounds", lockers(3, 5), interleavings(3, 5)),
        ("9 lockers", lockers(9, 1), factorial(9)),
        ("5 lockers, 2 rounds", lockers(5, 2), interleavings(5, 2)),
        ("17 pairs", pairs(17), 2f64.powi(17)),
        ("one writer, 17 readers", one_writer(17), 2f64.powi(17)),
        ("one writer, 18 readers", one_writer(18), 2f64.powi(18)),
    ]
}

#[test]
fn the_estimate_is_within_a_factor_of_ten() {
    for (name, program, truth) in programs() {
        let mut optimal = MaxExecutions::new(Optimal::new(0), RUNS);
        let mut target = MemoryTarget::new(&program, Granularity::Sync);
        let mut pool = WorkerPool::of_one(&mut target);
        let outcome = explore(&mut optimal, &mut pool, &mut |_, _, _| std::ops::ControlFlow::Continue(())).unwrap();
        assert_eq!(outcome.incomplete, Some(IncompleteReason::Executions), "{name}");
        assert_eq!((outcome.stats.executions, outcome.stats.blocked), (RUNS, 0), "{name}: samples are not counted");
        let estimate = optimal.into_inner().estimate().unwrap();
        let ratio = estimate.likely() / truth;
        assert!((0.1..10.0).contains(&ratio), "{name}: {estimate:?}, in truth {truth}");
    }
}

#[test]
fn a_short_search_takes_no_samples() {
    let mut optimal = Optimal::new(0);
    let program = adders(5, 1);
    let mut target = MemoryTarget::new(&program, Granularity::Sync);
    let mut pool = WorkerPool::of_one(&mut target);
    let mut runs = 0;
    let outcome = explore(&mut optimal, &mut pool, &mut |_, _, _| {
        runs += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((outcome.unwrap().stats.executions, runs), (120, 120));
}

/// Runs a search for at most so many runs, and returns their number and the estimate.
fn runs_of(mut dpor: Dpor, program: &AbstractProgram, limit: u64) -> (u64, Estimate) {
    let mut target = MemoryTarget::new(program, Granularity::Sync).with_keys();
    let mut runs = 0;
    let mut strategy = MaxExecutions::of_runs(&mut dpor, limit);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| {
        runs += 1;
        std::ops::ControlFlow::Continue(())
    });
    outcome.unwrap();
    (runs, dpor.estimate().unwrap())
}

/// After a fifth of the search, the middle of the range is within a factor of ten. Not so for
/// readers in a search that recognises states: they all lead to different ones.
#[test]
fn a_depth_first_search_judges_by_what_is_finished() {
    for (name, program, both) in [
        ("8 adders", adders(8, 1), true),
        ("3 adders, 3 rounds", adders(3, 3), true),
        ("2 adders, 7 rounds", adders(2, 7), true),
        ("7 lockers", lockers(7, 1), true),
        ("3 lockers, 3 rounds", lockers(3, 3), true),
        ("9 pairs", pairs(9), true),
        ("one writer, 10 readers", one_writer(10), false),
    ] {
        for states in [false, true].into_iter().take(1 + usize::from(both)) {
            let search = || if states { Dpor::matching_states(0, 64 << 20) } else { Dpor::new(0) };
            let (total, end) = runs_of(search(), &program, u64::MAX);
            assert_eq!(end, Estimate { least: total as f64, most: Some(total as f64) }, "{name}");
            let (_, early) = runs_of(search(), &program, total / 5);
            let ratio = early.likely() / total as f64;
            assert!((0.1..10.0).contains(&ratio), "{name}, states {states}: {early:?}, in truth {total}");
        }
    }
}
