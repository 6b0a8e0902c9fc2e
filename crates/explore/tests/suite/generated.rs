//! Random programs: the dependence relation and the semantics against brute force.

use std::ops::ControlFlow;

use crate::common::{all_defects, all_traces, obeys_the_semantics, sample, search_with, seeds};
use raddle_explore::dfs::Dfs;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{Strategy, WorkerPool, explore};
use raddle_model::finding::Kind;
use raddle_model::{Choice, Execution, Operation as _, Request, SyncState, Target, depend, footprint};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::{Policy, mix};

const BOTH: [Granularity; 2] = [Granularity::Sync, Granularity::Access];

/// All schedules of a program, or nothing if there are more than `limit`.
fn bounded_brute_force(
    program: &AbstractProgram,
    granularity: Granularity,
    limit: u64,
) -> Option<std::collections::BTreeSet<u64>> {
    let (mut hasher, mut traces) = (TraceHasher::default(), std::collections::BTreeSet::new());
    let mut target = MemoryTarget::new(program, granularity);
    let mut strategy = Dfs::new(0);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, progress| {
        let execution = run.execution.unwrap();
        obeys_the_semantics(execution, 0);
        if execution.status == RunStatus::Rest {
            traces.insert(hasher.hash(execution));
        }
        let stats = &progress.stats;
        if stats.executions + stats.blocked < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    outcome.unwrap().incomplete.is_none().then_some(traces)
}

#[test]
fn equivalent_prefixes_can_be_left_out() {
    let mut compared = 0;
    for seed in seeds(250) {
        let knobs = Knobs::drawn(seed, 2, 3);
        let program = generate(seed, &knobs);
        for granularity in BOTH {
            // With races the transitions do not determine the values, unless the racing accesses
            // are transitions too.
            if knobs.races && granularity == Granularity::Sync {
                continue;
            }
            if let Some(traces) = bounded_brute_force(&program, granularity, 2000) {
                assert_eq!(
                    traces,
                    all_traces(&program, granularity).traces,
                    "seed {seed} {granularity:?}: {program:#?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > sample(100), "only {compared} programs were small enough");
}

/// The choices that an execution made.
fn choices(execution: &Execution, spurious: u32) -> Vec<Choice> {
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    let choose = |step: &raddle_model::Event| {
        let choice = Choice { thread: step.thread, choice: world.choice_of(step) };
        world.apply(step);
        choice
    };
    execution.events.iter().map(choose).collect()
}

fn run(target: &mut MemoryTarget, schedule: Vec<Choice>, policy: Policy) -> Execution {
    let mut execution = Execution::empty();
    target.submit(Request { schedule, policy, max_events: 10_000 });
    target.finish(&mut execution).unwrap();
    execution
}

/// What each thread did, by path.
fn histories(execution: &Execution) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<_> = (0..execution.threads.len())
        .map(|number| {
            let steps = execution.events.iter().filter(|step| usize::from(step.thread) == number);
            let name = |step: &raddle_model::Event| {
                let words = step.op.pack();
                format!("{:?} {:?} {:x} {:x} {:x}", words.kind, step.pc, words.obj, words.value, words.size)
            };
            let accesses = execution.accesses.iter().filter(|access| usize::from(access.thread) == number).count();
            let steps = steps.filter(|step| step.op.pack().value < 1 << 32).map(name).chain([format!("{accesses}")]);
            (execution.threads[number].path.to_string(), steps.collect())
        })
        .collect();
    all.sort();
    all
}

/// Swaps of neighbours that are independent and create no threads (which would renumber them)
/// change nothing that any thread sees.
#[test]
fn independent_neighbours_commute() {
    let mut swapped = 0;
    for seed in seeds(1000) {
        let knobs = Knobs { races: false, ..Knobs::drawn(seed, 4, 5) };
        let program = generate(seed, &knobs);
        for granularity in BOTH {
            let spurious = (seed % 2) as u32;
            let mut target = MemoryTarget::with(&program, granularity, spurious, 1);
            let execution = run(&mut target, Vec::new(), Policy::Random { seed: mix(seed) });
            if execution.status != RunStatus::Rest {
                continue;
            }
            obeys_the_semantics(&execution, spurious);
            let schedule = choices(&execution, spurious);
            let again = run(&mut target, schedule.clone(), Policy::LeastRank);
            assert_eq!(again.events, execution.events, "seed {seed}: replay");
            for at in 0..execution.events.len().saturating_sub(1) {
                let (a, b) = (execution.events[at], execution.events[at + 1]);
                let creates = |step: &raddle_model::Event| step.op.created().is_some();
                if a.thread == b.thread
                    || creates(&a) && creates(&b)
                    || depend::conflict(&footprint(&a), &footprint(&b))
                {
                    continue;
                }
                let mut other = schedule.clone();
                other.swap(at, at + 1);
                let other = run(&mut target, other, Policy::LeastRank);
                assert_eq!(
                    other.status,
                    RunStatus::Rest,
                    "seed {seed} {granularity:?} at {at}: {a:?} {b:?}\n{program:#?}"
                );
                assert_eq!(
                    histories(&other),
                    histories(&execution),
                    "seed {seed} {granularity:?} at {at}: {a:?} {b:?}"
                );
                let hash = |execution: &Execution| TraceHasher::default().hash(execution);
                assert_eq!(hash(&other), hash(&execution), "seed {seed} at {at}");
                swapped += 1;
            }
        }
    }
    assert!(swapped > sample(10_000), "{swapped}");
}

#[test]
fn spurious_wake_ups_only_add_traces() {
    for seed in seeds(40) {
        let knobs = Knobs { conds: true, races: false, ..Knobs::drawn(seed, 2, 3) };
        let program = generate(seed, &knobs);
        let strategy: &mut dyn Strategy = &mut Dfs::of_traces(1);
        let more = search_with(strategy, MemoryTarget::with(&program, Granularity::Sync, 1, 1), 1);
        assert!(more.finished.is_superset(&all_traces(&program, Granularity::Sync).finished), "seed {seed}");
    }
}

/// A program without races has the same deadlocks, failed assertions and misuse at both
/// granularities. With races, the coarser one finds a race exactly where there is one, and none
/// that the finer one does not know.
#[test]
fn granularities_agree_about_defects() {
    let (mut quiet, mut racy, mut defective) = (0, 0, 0);
    for seed in seeds(400) {
        let program = generate(seed, &Knobs::drawn(seed ^ 0x5eed, 3, 3));
        let limit = 1500;
        let (Some(sync), Some(access)) =
            (all_defects(&program, Granularity::Sync, limit), all_defects(&program, Granularity::Access, limit))
        else {
            continue;
        };
        let races = |all: &std::collections::BTreeSet<raddle_model::defect::Signature>| {
            all.iter()
                .filter(|defect| defect.kind == Kind::DataRace)
                .cloned()
                .collect::<std::collections::BTreeSet<_>>()
        };
        if races(&access).is_empty() {
            assert_eq!(sync, access, "seed {seed}: {program:#?}");
            quiet += 1;
            defective += u64::from(!sync.is_empty());
        } else {
            assert!(!races(&sync).is_empty(), "seed {seed}: the race is missed: {access:#?}\n{program:#?}");
            assert!(races(&sync).is_subset(&races(&access)), "seed {seed}: {sync:#?}\n{access:#?}\n{program:#?}");
            racy += 1;
        }
    }
    assert!(quiet > sample(80) && racy > sample(50) && defective > sample(10), "{quiet} {racy} {defective}");
}
