//! Samplers find what they should, with the probability that they promise.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::all_traces;
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::sampling::Sampling;
use raddle_explore::strategy::Observation;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::Execution;
use raddle_model::object::Woken;
use raddle_testkit::program::AbstractOp;
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// How many of `runs` runs fulfil the condition.
fn hits(sampling: Sampling, program: &AbstractProgram, runs: u64, hit: impl Fn(&Execution) -> bool) -> u64 {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let mut count = 0;
    let mut strategy = MaxExecutions::of_runs(sampling, runs);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        count += u64::from(hit(execution));
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.stats.executions, runs);
    assert_eq!(outcome.incomplete, Some(IncompleteReason::Executions));
    count
}

fn failed(execution: &Execution) -> bool {
    !execution.incidents.is_empty()
}

/// The assertion fails only if all of `others` steps of the other threads come between two
/// neighbouring steps of one thread that has made `before` steps: a uniformly random walk hardly
/// gets there, one change of priorities does.
fn needle(before: usize, others: usize) -> AbstractProgram {
    let mut seeker: Vec<_> = (0..before).map(|_| store(1, num(7))).collect();
    seeker.extend([load(1, 0), load(2, 0), assert_that(not(eq(reg(2), add(reg(1), num(others as i32)))))]);
    let busy = (0..others).map(|_| fetch_add(1, 0, num(1))).collect();
    AbstractProgram::parallel(2, 0, vec![seeker, busy])
}

#[test]
fn pct_keeps_its_promise_where_a_random_walk_fails() {
    let program = needle(4, 12);
    let runs = 4000;
    let random = hits(Sampling::random(1), &program, runs, failed);
    assert!(random < 20, "{random}");
    // n = 3 threads, k = 30 steps, depth 2: at least 1 in 90.
    let pct = hits(Sampling::pct(1, 2), &program, runs, failed);
    assert!(pct >= runs / 90, "{pct}");
    // Without a change of priorities the two loads are neighbours.
    assert_eq!(hits(Sampling::pct(1, 1), &program, 500, failed), 0);
}

#[test]
fn every_sampler_meets_every_trace_of_a_small_program() {
    let bodies = vec![vec![store(0, num(1)), load(1, 1)], vec![store(1, num(1)), load(1, 0)], vec![load(1, 0)]];
    let program = AbstractProgram::parallel(2, 0, bodies);
    let all = all_traces(&program, Granularity::Sync).traces;
    for sampling in [Sampling::random(3), Sampling::pos(3), Sampling::pct(3, 3)] {
        let (mut hasher, mut met) = (TraceHasher::default(), BTreeSet::new());
        let mut strategy = MaxExecutions::of_runs(sampling.clone(), 3000);
        explore(
            &mut strategy,
            &mut WorkerPool::of_one(&mut MemoryTarget::new(&program, Granularity::Sync)),
            &mut |run, _, _| {
                let execution = run.execution.unwrap();
                met.insert(hasher.hash(execution));
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        assert_eq!(met, all, "{sampling:?}");
    }
}

/// One thread makes many independent steps before the only interesting one: a random walk makes it
/// last nearly always, priorities of operations do not care.
#[test]
fn pos_does_not_count_steps() {
    let mut late: Vec<_> = (0..20).map(|_| store(1, num(7))).collect();
    late.push(store(0, num(1)));
    let program = AbstractProgram::parallel(2, 0, vec![late, vec![load(1, 0), assert_that(not(reg(1)))]]);
    let random = hits(Sampling::random(5), &program, 2000, failed);
    let pos = hits(Sampling::pos(5), &program, 2000, failed);
    assert!(random < 20, "{random}");
    assert!(pos > 5 * random.max(4), "random {random}, pos {pos}");
}

#[test]
fn choices_are_sampled_too() {
    // The waiter that a signal wakes is random: each of the three is woken in some run.
    let sleeper = locked(0, vec![wait(0, 0)]);
    let waker: Vec<_> = vec![AbstractOp::Signal(0).into()];
    let program = AbstractProgram {
        conds: 1,
        ..AbstractProgram::parallel(1, 1, vec![sleeper.clone(), sleeper.clone(), sleeper, waker])
    };
    let woken = |thread: u64| {
        move |execution: &Execution| {
            let waits = |e: &Execution| {
                e.events.iter().any(|event| {
                    let woken = event.op.woken().map(Woken::bits);
                    event.op.choices() == Some(3) && woken == Some(1 << thread)
                })
            };
            waits(execution)
        }
    };
    for thread in 1..=3 {
        assert!(hits(Sampling::random(2), &program, 6000, woken(thread)) > 10);
    }
}

#[test]
fn the_seed_decides() {
    let program = needle(2, 3);
    let trail = |seed| {
        let (mut hasher, mut trail) = (TraceHasher::default(), Vec::new());
        let mut strategy = MaxExecutions::of_runs(Sampling::pos(seed), 50);
        explore(
            &mut strategy,
            &mut WorkerPool::of_one(&mut MemoryTarget::new(&program, Granularity::Sync)),
            &mut |run, _, _| {
                let execution = run.execution.unwrap();
                trail.push(hasher.hash(execution));
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        trail
    };
    assert_eq!(trail(1), trail(1));
    assert_ne!(trail(1), trail(2));
}

/// An execution of a small program, with this end and length.
fn ended(status: RunStatus, recorded: u64) -> Execution {
    let program = AbstractProgram::parallel(2, 0, vec![vec![store(1, num(7))]]);
    let mut target = MemoryTarget::new(&program, Granularity::Sync);
    let mut found = None;
    explore(
        &mut MaxExecutions::of_runs(Sampling::random(1), 1),
        &mut WorkerPool::of_one(&mut target),
        &mut |run, _, _| {
            found = run.execution.cloned();
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    Execution { status, recorded, ..found.unwrap() }
}

/// The bounds on events of the next runs, each of which ends so.
fn bounds(sampling: &mut Sampling, runs: usize, ends: &Execution) -> Vec<u64> {
    let bound = |_| {
        let request = sampling.next().unwrap();
        sampling.learn(Observation::Execution(ends));
        request.max_events
    };
    (0..runs).map(bound).collect()
}

#[test]
fn samples_are_as_long_as_runs_of_the_program() {
    let cut = ended(RunStatus::Cut, 100_000);
    let mut sampling = Sampling::pos(1);
    assert_eq!(bounds(&mut sampling, 2, &cut), [100_000, 400_000]);
    let at_rest = ended(RunStatus::Rest, 385_000);
    assert_eq!(bounds(&mut sampling, 4, &at_rest), [1_600_000, 1_600_000, 1_540_000, 1_540_000]);
}

#[test]
fn samples_without_an_end_are_short() {
    let cut = ended(RunStatus::Cut, 100_000);
    let bounds = bounds(&mut Sampling::random(1), 40, &cut);
    assert_eq!(bounds[..4], [100_000, 400_000, 1_600_000, 1_600_000]);
    assert!(bounds[4..].iter().all(|&bound| bound == 100_000), "{bounds:?}");
}

#[test]
fn samples_do_not_depend_on_how_many_are_under_way() {
    let at_rest = ended(RunStatus::Rest, 10);
    let requests = |ahead: usize| {
        let mut sampling = Sampling::pct(3, 3);
        let (mut made, mut under_way) = (Vec::new(), 0_usize);
        while made.len() < 50 {
            let request = if under_way <= ahead { sampling.next() } else { None };
            match request {
                Some(request) => {
                    made.push(request);
                    under_way += 1;
                }
                None => {
                    sampling.learn(Observation::Execution(&at_rest));
                    under_way -= 1;
                }
            }
        }
        format!("{made:?}")
    };
    assert_eq!(requests(0), requests(7));
}
