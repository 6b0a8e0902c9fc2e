//! The search that recognises states, against searches that do not.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::{sample, seeds};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::dpor::Dpor;
use raddle_explore::portion::Portions;
use raddle_explore::sampling::Sampling;
use raddle_explore::{IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::{Kind, Severity, Stats};
use raddle_model::{DefectFinder, PendingState, StateKey};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::Stmt;
use raddle_testkit::program::build::*;
use raddle_testkit::shrink::minimise;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// Bytes for states.
const CACHE: usize = 64 << 20;

/// What a search shows of a program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shown {
    is_racy: bool,
    /// Errors other than races.
    defects: BTreeSet<Signature>,
    /// States in which executions end, and whether a thread waits there.
    ends: BTreeSet<(StateKey, bool)>,
}

fn shown(
    strategy: impl Strategy,
    program: &AbstractProgram,
    granularity: Granularity,
    spurious: u32,
    limit: u64,
) -> Option<(Shown, Stats)> {
    let (mut finder, mut shown) = (DefectFinder::new(), Shown::default());
    let mut strategy = MaxExecutions::of_runs(strategy, limit);
    let mut target = MemoryTarget::with(program, granularity, spurious, 1).with_keys();
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        for defect in finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error) {
            if defect.signature.kind == Kind::DataRace {
                shown.is_racy = true;
            } else {
                shown.defects.insert(defect.signature);
            }
        }
        if execution.status == RunStatus::Rest {
            let waits = execution.pending.iter().any(|pending| pending.state == PendingState::Blocked);
            shown.ends.insert((*execution.keys.last().unwrap(), waits));
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    (outcome.incomplete != Some(IncompleteReason::Executions)).then_some((shown, outcome.stats))
}

/// Whether both searches find a race, or both find no race and the same ends. `None` if there is
/// too much to compare.
fn agrees(program: &AbstractProgram, granularity: Granularity, spurious: u32) -> Option<bool> {
    let (all, _) = shown(Dfs::of_traces(spurious), program, granularity, spurious, 3000)?;
    let (matched, _) = shown(Dpor::matching_states(spurious, CACHE), program, granularity, spurious, 20_000)?;
    Some(all.is_racy == matched.is_racy && (all.is_racy || all == matched))
}

fn compare(seeds: std::ops::Range<u64>, knobs: impl Fn(u64) -> Knobs) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let program = generate(seed, &knobs(seed));
        let spurious = u32::from(seed.is_multiple_of(5));
        match agrees(&program, Granularity::Sync, spurious) {
            Some(true) => compared += 1,
            None => {}
            Some(false) => {
                let wrong = |program: &AbstractProgram| agrees(program, Granularity::Sync, spurious) == Some(false);
                let smallest = minimise(&program, 2000, wrong);
                let all = shown(Dfs::of_traces(spurious), &smallest, Granularity::Sync, spurious, 3000);
                let matched =
                    shown(Dpor::matching_states(spurious, CACHE), &smallest, Granularity::Sync, spurious, 20_000);
                panic!("seed {seed}: {smallest:#?}\nall {all:#?}\nmatched {matched:#?}");
            }
        }
    }
    compared
}

#[test]
fn agrees_with_brute_force() {
    let compared = compare(seeds(1500), |seed| Knobs::drawn(seed, 3, 3));
    assert!(compared > sample(600), "{compared}");
}

#[test]
fn agrees_with_brute_force_about_two_longer_threads() {
    let compared = compare(seeds(1000), |seed| Knobs::drawn(seed ^ 0x2222, 2, 5));
    assert!(compared > sample(400), "{compared}");
}

/// Programs in which threads mostly wait busily for one another.
fn waiting(seed: u64) -> Knobs {
    let awaited = [None, Some(1), Some(2)][seed as usize % 3];
    Knobs { awaits: true, atomics: true, awaited, ..Knobs::drawn(seed ^ 0x5151, 3, 4) }
}

#[test]
fn agrees_with_brute_force_about_busy_waiting() {
    let compared = compare(seeds(1500), waiting);
    assert!(compared > sample(500), "{compared}");
}

#[test]
fn agrees_with_brute_force_about_handlers_and_sections() {
    let knobs = |seed: u64| Knobs {
        handlers: !seed.is_multiple_of(3),
        sections: seed.is_multiple_of(3),
        awaits: false,
        ..Knobs::drawn(seed ^ 0x7373, 2, 3)
    };
    let compared = compare(seeds(1000), knobs);
    assert!(compared > sample(200), "{compared}");
}

/// Two reads, and a write that is asleep before both: it does not stand for the write behind the second
/// read, which the first one hides.
#[test]
fn a_write_that_is_asleep_does_not_stand_for_one_behind_a_read() {
    assert_eq!(compare(10_849..10_850, waiting), 1);
}

/// Threads that draw a ticket and wait for their turn: n! traces. What is tried though it cannot be is
/// at most one run for each thread, ticket and turn.
#[test]
fn ticket_locks_need_few_redundant_runs() {
    let enter = || {
        let waits = wait_until(2, 1, eq(reg(2), reg(1)));
        let works = vec![read(3, 2), write(2, add(reg(3), num(1))), set(3, num(0)), store(1, add(reg(1), num(1)))];
        [vec![fetch_add(1, 0, num(1)), waits], works].concat()
    };
    for (threads, most) in [(3, 18), (4, 48), (5, 100)] {
        let program = AbstractProgram::parallel(3, 0, (0..threads).map(|_| enter()).collect());
        let (complete, matched, redundant) = runs(&program);
        println!("{threads}: {complete} {matched} {redundant}");
        assert!(redundant <= most, "{threads}: {complete} {matched} {redundant}");
    }
}

/// Runs of the search that recognises states: complete ones, matched ones, redundant ones.
fn runs(program: &AbstractProgram) -> (u64, u64, u64) {
    let (shown, stats) =
        shown(Dpor::matching_states(0, CACHE), program, Granularity::Sync, 0, 100_000).expect("too many runs");
    assert!(!shown.is_racy && shown.defects.is_empty(), "{shown:?}");
    (stats.executions, stats.matched, stats.blocked)
}

fn increments(threads: usize, times: usize) -> AbstractProgram {
    let increment = || locked(0, vec![read(1, 0), write(0, add(reg(1), num(1))), set(1, num(0))]);
    let body = || (0..times).flat_map(|_| increment()).collect::<Vec<Stmt>>();
    AbstractProgram::parallel(1, 1, (0..threads).map(|_| body()).collect())
}

/// After k of n threads have had the lock, only their set matters. So runs grow as n 2^(n-1), and
/// traces as n!.
#[test]
fn locked_increments_have_few_states() {
    for (threads, matched) in [(2, 1), (3, 5), (4, 17), (5, 49), (6, 129), (7, 321), (8, 769)] {
        assert_eq!(runs(&increments(threads, 1)), (1, matched, 0), "{threads} threads");
    }
    assert_eq!(runs(&increments(3, 5)), (1, 325, 0));
}

/// A cache that holds hardly anything costs runs and loses nothing.
#[test]
fn forgetting_is_right() {
    let program = increments(5, 1);
    let (all, _) = shown(Dpor::new(0), &program, Granularity::Sync, 0, 1000).unwrap();
    let (few, stats) = shown(Dpor::matching_states(0, 20_000), &program, Granularity::Sync, 0, 1000).unwrap();
    assert_eq!(all, few);
    assert!((50..=120).contains(&(stats.executions + stats.matched)), "{stats:?}");
}

/// A search that is made in portions, with samples between them, is the same search.
#[test]
fn portions_are_one_search() {
    let program = increments(5, 1);
    let mut target = MemoryTarget::with(&program, Granularity::Sync, 0, 1).with_keys();
    let mut search = Portions::new(Dpor::matching_states(0, CACHE));
    let mut all = Stats::default();
    for portion in 0.. {
        search.begin(7);
        let outcome =
            explore(&mut search, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| ControlFlow::Continue(()));
        all.extend(&outcome.unwrap().stats);
        if !search.is_paused() {
            break;
        }
        assert_eq!(all.runs(), 7 * (portion + 1));
        let mut samples = MaxExecutions::new(Sampling::pct(portion, 3), 5);
        explore(&mut samples, &mut WorkerPool::of_one(&mut target), &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    }
    assert_eq!((all.executions, all.matched, all.blocked), (1, 49, 0));
}
