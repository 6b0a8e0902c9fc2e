//! The search that recognises states, against searches that do not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::common::sample;
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::dpor::Dpor;
use raddle_explore::portion::Portions;
use raddle_explore::sampling::Sampling;
use raddle_explore::{IncompleteReason, Strategy, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::{Kind, Severity, Stats};
use raddle_model::object::Patience;
use raddle_model::{DefectFinder, PendingState, StateKey};
use raddle_testkit::effort::chosen_seeds;
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::*;
use raddle_testkit::program::{AbstractOp, Stmt};
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

/// What exhaustive search shows, and the search that recognises states. `None` if there is too much
/// to compare.
fn both(program: &AbstractProgram, spurious: u32) -> Option<[Shown; 2]> {
    let (all, _) = shown(Dfs::of_traces(spurious), program, Granularity::Sync, spurious, 3000)?;
    let (matched, _) = shown(Dpor::matching_states(spurious, CACHE), program, Granularity::Sync, spurious, 20_000)?;
    Some([all, matched])
}

/// Whether both find a race, or both find no race and the same ends.
fn agree([all, matched]: &[Shown; 2]) -> bool {
    all.is_racy == matched.is_racy && (all.is_racy || all == matched)
}

/// How many programs were compared, and what they showed.
#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    racy: u64,
    /// Programs without races, by kind and detail of what is wrong with them.
    defects: BTreeMap<(Kind, &'static str), u64>,
}

impl Tally {
    /// That this many were small enough, unless seeds were chosen.
    fn assert_more_than(&self, programs: u64) {
        assert!(chosen_seeds().is_some() || self.compared > sample(programs), "{self:?}");
    }
}

/// Seeds of random programs.
fn seeds(count: u64) -> std::ops::Range<u64> {
    chosen_seeds().unwrap_or_else(|| 0..sample(count))
}

fn compare(seeds: std::ops::Range<u64>, knobs: impl Fn(u64) -> Knobs) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let program = generate(seed, &knobs(seed));
        let spurious = u32::from(seed.is_multiple_of(5));
        let Some(both_show) = both(&program, spurious) else { continue };
        if !agree(&both_show) {
            let wrong = |program: &AbstractProgram| both(program, spurious).is_some_and(|both| !agree(&both));
            let smallest = minimise(&program, 2000, wrong);
            let [all, matched] = both(&smallest, spurious).unwrap();
            panic!("seed {seed}: {smallest:#?}\nall {all:#?}\nmatched {matched:#?}");
        }
        let [all, _] = both_show;
        tally.compared += 1;
        tally.racy += u64::from(all.is_racy);
        let kinds: BTreeSet<_> = all.defects.iter().map(|defect| (defect.kind, defect.detail)).collect();
        for kind in kinds.into_iter().filter(|_| !all.is_racy) {
            *tally.defects.entry(kind).or_default() += 1;
        }
    }
    println!("{tally:?}");
    tally
}

#[test]
fn agrees_with_brute_force() {
    compare(seeds(1500), |seed| Knobs::drawn(seed, 3, 3)).assert_more_than(600);
}

#[test]
fn agrees_with_brute_force_about_two_longer_threads() {
    compare(seeds(1000), |seed| Knobs::drawn(seed ^ 0x2222, 2, 5)).assert_more_than(400);
}

/// Programs in which threads mostly wait busily for one another.
fn waiting(seed: u64) -> Knobs {
    let awaited = [None, Some(1), Some(2)][seed as usize % 3];
    Knobs { awaits: true, atomics: true, awaited, ..Knobs::drawn(seed ^ 0x5151, 3, 4) }
}

#[test]
fn agrees_with_brute_force_about_busy_waiting() {
    compare(seeds(1500), waiting).assert_more_than(500);
}

/// Programs with handlers of signals or atomic sections.
fn handlers_and_sections(seed: u64) -> Knobs {
    Knobs {
        handlers: !seed.is_multiple_of(3),
        sections: seed.is_multiple_of(3),
        awaits: false,
        ..Knobs::drawn(seed ^ 0x7373, 2, 3)
    }
}

#[test]
fn agrees_with_brute_force_about_handlers_and_sections() {
    compare(seeds(1000), handlers_and_sections).assert_more_than(200);
}

/// Main locks a mutex and dies, behind a handler or before. Below a known state it is suspended
/// still: what is to come before another thread's lock is the handler's return, which ends the
/// suspension.
#[test]
fn a_suspended_thread_is_let_go_below_a_known_state() {
    let lock = || locked(0, vec![]);
    let create = |slot: u8, body| AbstractOp::Create { slot, body, arg: num(0) }.into();
    let main = [vec![create(1, 1), create(2, 2)], locked(0, vec![AbstractOp::Assert(reg(4)).into()])].concat();
    let handler = [vec![AbstractOp::HandlerBegin.into()], lock(), vec![AbstractOp::HandlerReturn.into()]].concat();
    let bodies = vec![main, lock(), vec![create(15, 3)], handler];
    let program = AbstractProgram { bodies, ..AbstractProgram::parallel(4, 2, Vec::new()) };
    let [all, matched] = both(&program, 0).unwrap();
    assert_eq!(all.ends.len(), 4, "{all:?}");
    assert!(agree(&[all, matched]));
}

/// Programs whose threads hand heap blocks to one another, and use them again.
fn heap(seed: u64) -> Knobs {
    let mutexes = 1 + seed as usize % 2;
    Knobs { heap: true, mutexes, ..Knobs::drawn(seed ^ 0x8383, 3, 5) }
}

#[test]
fn agrees_with_brute_force_about_heap_blocks() {
    let tally = compare(seeds(1500), heap);
    tally.assert_more_than(500);
    let used = tally.defects.get(&(Kind::Memory, "use-after-free"));
    assert!(chosen_seeds().is_some() || used.is_some_and(|&used| used > sample(10)), "{tally:?}");
}

/// Of two threads the one that comes first keeps a read lock, which nothing but the lock knows.
/// Both ask for the write lock if the last thread comes before the third: which of them waits for
/// itself is not told by the number of readers.
#[test]
fn states_differ_by_the_readers_of_a_lock() {
    let [done, go] = [0, 1];
    let keeps = || {
        let read_lock = vec![write(0, num(1)), AbstractOp::ReadLock(2, 0, Patience::Block).into(), set(2, num(0))];
        let first = locked(0, vec![read(1, 0), when(not(reg(1)), read_lock), set(1, num(0))]);
        let rest = [AbstractOp::SemPost(done), AbstractOp::SemWait(2, go, Patience::Block)];
        let asks = AbstractOp::WriteLock(2, 0, Patience::Block).into();
        [first, rest.map(Stmt::from).to_vec(), vec![set(2, num(0)), asks]].concat()
    };
    let comes = |number: i32| {
        let waits: Stmt = AbstractOp::SemWait(1, done, Patience::Block).into();
        let comes = locked(1, vec![read(1, 1), when(not(reg(1)), vec![write(1, num(number))])]);
        let lets_go = vec![AbstractOp::SemPost(go).into(), AbstractOp::SemPost(go).into()];
        [vec![waits], comes, vec![when(eq(reg(1), num(2)), lets_go)]].concat()
    };
    let bodies = vec![keeps(), keeps(), comes(1), comes(2)];
    let program = AbstractProgram { rwlocks: 1, sems: vec![0, 0], ..AbstractProgram::parallel(2, 2, bodies) };
    let [all, matched] = both(&program, 0).unwrap();
    assert_eq!(all.defects.iter().filter(|defect| defect.detail == "relock").count(), 2, "{all:?}");
    assert!(agree(&[all, matched]));
}

/// Two reads, and a write that is asleep before both: it does not stand for the write behind the
/// second read, which the first one hides.
#[test]
fn a_write_that_is_asleep_does_not_stand_for_one_behind_a_read() {
    assert_eq!(compare(10_849..10_850, waiting).compared, 1);
}

/// Threads that draw a ticket and wait for their turn: n! traces. What is tried though it cannot be
/// is at most one run for each thread, ticket and turn.
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
