//! Dynamic partial-order reduction against brute force over traces.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::{obeys_the_semantics, sample, seeds};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::dpor::Dpor;
use raddle_explore::optimal::Optimal;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{Classification, IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::Severity;
use raddle_model::{DefectFinder, PendingState};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::*;
use raddle_testkit::shrink::minimise;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// What a search shows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shown {
    traces: BTreeSet<u64>,
    deadlocks: BTreeSet<u64>,
    defects: BTreeSet<Signature>,
    executions: u64,
    incomplete: Option<IncompleteReason>,
}

/// What the strategy shows of the program; `None` if it takes more than `limit` runs.
fn shown(
    strategy: impl Strategy,
    program: &AbstractProgram,
    granularity: Granularity,
    spurious: u32,
    limit: u64,
) -> Option<Shown> {
    let (mut hasher, mut finder, mut shown) = (TraceHasher::default(), DefectFinder::new(), Shown::default());
    let mut strategy = MaxExecutions::of_runs(strategy, limit);
    // More than a lot, and a number that lots are no multiple of.
    let mut target = MemoryTarget::with(program, granularity, spurious, 7);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
        let execution = run.execution.unwrap();
        obeys_the_semantics(execution, spurious);
        let errors = finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error);
        shown.defects.extend(errors.map(|defect| defect.signature));
        if class == Classification::Counted && execution.status == RunStatus::Rest {
            let trace = hasher.hash(execution);
            shown.traces.insert(trace);
            if execution.pending.iter().any(|p| matches!(p.state, PendingState::Blocked | PendingState::Awaiting)) {
                shown.deadlocks.insert(trace);
            }
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    shown.executions = outcome.stats.executions;
    shown.incomplete = outcome.incomplete.filter(|&incomplete| incomplete != IncompleteReason::Crowd);
    (shown.incomplete != Some(IncompleteReason::Executions)).then_some(shown)
}

/// Whether the reduction shows what brute force does, and each trace once. `None` if there is too
/// much to compare.
fn agrees(program: &AbstractProgram, granularity: Granularity, spurious: u32) -> Option<bool> {
    let all = shown(Dfs::of_traces(spurious), program, granularity, spurious, 3000)?;
    let reduced = shown(Dpor::new(spurious), program, granularity, spurious, 20_000)?;
    Some(all == reduced && reduced.executions == reduced.traces.len() as u64)
}

fn compare(seeds: std::ops::Range<u64>, knobs: impl Fn(u64) -> Knobs) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let drawn = knobs(seed);
        let program = generate(seed, &drawn);
        let spurious = u32::from(seed.is_multiple_of(5));
        for granularity in [Granularity::Sync, Granularity::Access] {
            // With races the transitions do not determine the values, unless the racing accesses
            // are transitions too.
            if drawn.races && granularity == Granularity::Sync {
                continue;
            }
            match agrees(&program, granularity, spurious) {
                Some(true) => compared += 1,
                None => {}
                Some(false) => {
                    let wrong = |program: &AbstractProgram| agrees(program, granularity, spurious) == Some(false);
                    let smallest = minimise(&program, 2000, wrong);
                    let all = shown(Dfs::of_traces(spurious), &smallest, granularity, spurious, 3000);
                    let reduced = shown(Dpor::new(spurious), &smallest, granularity, spurious, 20_000);
                    panic!("seed {seed} {granularity:?}: {smallest:#?}\nall {all:#?}\ndpor {reduced:#?}");
                }
            }
        }
    }
    compared
}

#[test]
fn agrees_with_brute_force() {
    let compared = compare(seeds(700), |seed| Knobs::drawn(seed, 3, 3));
    assert!(compared > sample(300), "{compared}");
}

#[test]
fn agrees_with_brute_force_about_two_longer_threads() {
    let compared = compare(seeds(500), |seed| Knobs::drawn(seed ^ 0x2222, 2, 5));
    assert!(compared > sample(200), "{compared}");
}

#[test]
fn agrees_with_brute_force_about_busy_waiting() {
    let knobs = |seed| Knobs { awaits: true, atomics: true, ..Knobs::drawn(seed ^ 0xaaaa, 3, 3) };
    assert!(compare(seeds(400), knobs) > sample(150));
}

#[test]
fn agrees_with_brute_force_about_atomic_sections() {
    let knobs = |seed| Knobs { sections: true, awaits: false, ..Knobs::drawn(seed ^ 0x5555, 3, 3) };
    assert!(compare(seeds(300), knobs) > sample(100));
}

#[test]
fn agrees_with_brute_force_about_signal_handlers() {
    let knobs = |seed| Knobs { handlers: true, awaits: false, ..Knobs::drawn(seed ^ 0x7777, 2, 2) };
    assert!(compare(seeds(400), knobs) > sample(150));
}

/// Programs that brute force cannot cope with: the two reductions have little in common.
#[test]
fn agrees_with_the_optimal_search() {
    let mut compared = 0;
    for seed in seeds(300) {
        let knobs = Knobs { awaits: false, races: false, barriers: false, ..Knobs::drawn(seed ^ 0x4444, 4, 5) };
        let program = generate(seed, &knobs);
        let Some(optimal) = shown(Optimal::new(0), &program, Granularity::Sync, 0, 3000) else { continue };
        let Some(reduced) = shown(Dpor::new(0), &program, Granularity::Sync, 0, 20_000) else { continue };
        assert_eq!(optimal, reduced, "seed {seed}: {program:#?}");
        compared += 1;
    }
    assert!(compared > sample(150), "{compared}");
}

/// Two threads that take two locks in the same order, one of which does something before: nothing
/// has to be tried twice.
#[test]
fn locks_held_by_both_keep_inner_acquisitions_apart() {
    let inner = || locked(0, locked(1, vec![read(1, 0), write(0, add(reg(1), num(1)))]));
    let mut second = vec![fetch_add(1, 1, num(1))];
    second.extend(inner());
    let program = AbstractProgram::parallel(2, 2, vec![inner(), second]);
    let mut runs = 0;
    let mut target = MemoryTarget::new(&program, Granularity::Sync);
    let outcome = explore(&mut Dpor::new(0), &mut WorkerPool::of_one(&mut target), &mut |_, _, _| {
        runs += 1;
        ControlFlow::Continue(())
    });
    let stats = outcome.unwrap().stats;
    assert_eq!((stats.executions, stats.blocked, runs), (2, 0, 2));
}

/// The order of runs and so all counts do not depend on how many the target takes at a time.
#[test]
fn lots_do_not_depend_on_the_target() {
    for seed in 0..20 {
        let program = generate(seed, &Knobs { races: false, ..Knobs::drawn(seed, 3, 3) });
        let trail = |window| {
            let mut trail = Vec::new();
            let mut strategy = MaxExecutions::of_runs(Dpor::new(0), 2000);
            let mut target = MemoryTarget::with(&program, Granularity::Sync, 0, window);
            explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
                let execution = run.execution.unwrap();
                trail.push((class == Classification::Counted, execution.events.clone()));
                ControlFlow::Continue(())
            })
            .unwrap();
            trail
        };
        let alone = trail(1);
        assert!(alone == trail(5) && alone == trail(200));
    }
}
