//! Bounds on preemptions: what is left out, and that it is left out by all searches alike.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::{sample, seeds};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{Classification, IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::Severity;
use raddle_model::{DefectFinder, Enabled, Execution, SyncState};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// Traces and defects within the bound, and whether something lies outside; `None` if that takes
/// too many runs.
type Shown = (BTreeSet<u64>, BTreeSet<Signature>, bool);

fn shown(strategy: impl Strategy, program: &AbstractProgram, granularity: Granularity, limit: u64) -> Option<Shown> {
    let (mut hasher, mut finder) = (TraceHasher::default(), DefectFinder::new());
    let (mut traces, mut defects) = (BTreeSet::new(), BTreeSet::new());
    let mut strategy = MaxExecutions::of_runs(strategy, limit);
    let mut target = MemoryTarget::new(program, granularity);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
        let execution = run.execution.unwrap();
        if class != Classification::OutOfBound && execution.status == RunStatus::Rest {
            let errors = finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error);
            defects.extend(errors.map(|defect| defect.signature));
            traces.insert(hasher.hash(execution));
        }
        ControlFlow::Continue(())
    });
    let incomplete = outcome.unwrap().incomplete;
    (incomplete != Some(IncompleteReason::Executions)).then_some((
        traces,
        defects,
        incomplete == Some(IncompleteReason::Preemptions),
    ))
}

/// Preemptions of an execution, counted step by step.
fn count(execution: &Execution) -> u32 {
    let mut world = SyncState::new(0);
    world.prepare(execution);
    let mut count = 0;
    for (at, step) in execution.events.iter().enumerate() {
        if let Some(last) =
            at.checked_sub(1).map(|last| execution.events[last].thread).filter(|&last| last != step.thread)
        {
            let next = execution.events[at..].iter().find(|step| step.thread == last);
            let enabled = match next {
                Some(step) => world.enabled(step),
                None => world.enabled_pending(&execution.pending[usize::from(last)]),
            };
            count += u32::from(world.is_alive(last) && enabled == Enabled::Yes);
        }
        world.apply(step);
    }
    count
}

#[test]
fn runs_stay_within_the_bound_and_none_is_left_out() {
    let mut compared = 0;
    for seed in seeds(200) {
        let program = generate(seed, &Knobs { races: false, ..Knobs::drawn(seed, 2, 3) });
        let Some((_, _, outside)) = shown(Dfs::new(0), &program, Granularity::Sync, 1500) else { continue };
        assert!(!outside);
        let mut all = Vec::new();
        let mut target = MemoryTarget::new(&program, Granularity::Sync);
        explore(&mut Dfs::new(0), &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
            let execution = run.execution.unwrap();
            if class == Classification::Counted {
                all.push((count(execution), execution.events.clone()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        for bound in 0..3 {
            let mut within = Vec::new();
            let outcome =
                explore(&mut Dfs::new(0).bounded(bound), &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
                    let execution = run.execution.unwrap();
                    if class == Classification::Counted {
                        assert!(count(execution) <= bound, "seed {seed}");
                        within.push(format!("{:?}", execution.events));
                    }
                    ControlFlow::Continue(())
                });
            let incomplete = outcome.unwrap().incomplete;
            let mut expected: Vec<_> =
                all.iter().filter(|(count, _)| *count <= bound).map(|(_, steps)| format!("{steps:?}")).collect();
            expected.sort();
            within.sort();
            assert_eq!(within, expected, "seed {seed}, at most {bound}");
            assert_eq!(
                incomplete == Some(IncompleteReason::Preemptions),
                expected.len() < all.len(),
                "seed {seed}, at most {bound}"
            );
            compared += 1;
        }
    }
    assert!(compared > sample(100), "{compared}");
}

#[test]
fn leaving_out_equivalent_prefixes_loses_nothing_within_the_bound() {
    let mut compared = 0;
    for seed in seeds(400) {
        let knobs = Knobs::drawn(seed ^ 0x7070, 3, 3);
        let program = generate(seed, &knobs);
        for granularity in [Granularity::Sync, Granularity::Access] {
            if knobs.races && granularity == Granularity::Sync {
                continue;
            }
            for bound in 0..3 {
                let Some(all) = shown(Dfs::new(0).bounded(bound), &program, granularity, 2000) else { continue };
                let reduced = shown(Dfs::of_traces(0).bounded(bound), &program, granularity, 2000);
                assert_eq!(reduced, Some(all), "seed {seed} {granularity:?}, at most {bound}: {program:#?}");
                compared += 1;
            }
        }
    }
    assert!(compared > sample(300), "{compared}");
}

#[test]
fn a_lost_update_takes_one_preemption() {
    let body = || vec![load(1, 0), store(0, add(reg(1), num(1)))];
    let program = AbstractProgram::parallel(1, 0, vec![body(), body()]);
    let counts = |bound| {
        let mut strategy = Dfs::of_traces(0).bounded(bound);
        let mut target = MemoryTarget::new(&program, Granularity::Sync);
        let outcome =
            explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| ControlFlow::Continue(()))
                .unwrap();
        (outcome.stats.executions, outcome.incomplete)
    };
    // One thread after the other; then also one of them split (its load before the other, or its
    // store behind: 2 traces).
    assert_eq!(counts(0), (2, Some(IncompleteReason::Preemptions)));
    assert_eq!(counts(1), (4, Some(IncompleteReason::Preemptions)));
}
