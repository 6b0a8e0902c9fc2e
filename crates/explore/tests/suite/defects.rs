//! What is found in abstract programs under all schedules, at both granularities.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use raddle_explore::dfs::Dfs;
use raddle_explore::{WorkerPool, explore};
use raddle_model::finding::{Kind, Severity};
use raddle_model::object::Patience;
use raddle_model::{Defect, DefectFinder};
use raddle_testkit::program::build::*;
use raddle_testkit::program::{AbstractOp, AbstractPlace, Stmt};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::MemOrder;

/// All different defects of a program, warnings aside.
fn defects(program: &AbstractProgram, granularity: Granularity) -> Vec<Defect> {
    let mut finder = DefectFinder::new();
    let mut found: Vec<Defect> = Vec::new();
    let mut target = MemoryTarget::new(program, granularity);
    let outcome = explore(&mut Dfs::of_traces(0), &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        for defect in finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error) {
            if found.iter().all(|known| known.signature != defect.signature) {
                found.push(defect);
            }
        }
        ControlFlow::Continue(())
    });
    assert!(outcome.unwrap().incomplete.is_none());
    found
}

/// Kinds and details of all defects, the same at both granularities.
fn details(program: &AbstractProgram) -> BTreeSet<&'static str> {
    let at =
        |granularity| -> BTreeSet<_> { defects(program, granularity).iter().map(|d| d.signature.detail).collect() };
    let sync = at(Granularity::Sync);
    assert_eq!(sync, at(Granularity::Access), "granularities disagree");
    sync
}

fn set<const N: usize>(words: [&'static str; N]) -> BTreeSet<&'static str> {
    words.into_iter().collect()
}

fn nested(first: usize, second: usize) -> Vec<Stmt> {
    locked(first, locked(second, vec![]))
}

#[test]
fn opposite_orders_make_a_cycle() {
    let program = AbstractProgram::parallel(0, 2, vec![nested(0, 1), nested(1, 0)]);
    assert_eq!(details(&program), set(["cycle"]));
    let found = defects(&program, Granularity::Sync);
    let [defect] = found.as_slice() else { panic!("{found:#?}") };
    let threads: Vec<_> = defect.parts.iter().map(|part| part.thread).collect();
    assert_eq!(threads, [1, 2]);
    let waits: Vec<_> = defect.parts.iter().map(|part| part.waits.as_ref().unwrap().holders.clone()).collect();
    assert_eq!(waits, [vec![2], vec![1]]);
    assert!(defect.parts.iter().all(|part| part.locks.len() == 1));
}

#[test]
fn a_cycle_counts_although_others_end() {
    // Main joins only the third thread and returns.
    let mut program = AbstractProgram::parallel(0, 2, vec![nested(0, 1), nested(1, 0), vec![]]);
    program.bodies[0].retain(|stmt| !matches!(stmt, Stmt::Op(AbstractOp::Join(0 | 1))));
    assert_eq!(details(&program), set(["cycle"]));
}

#[test]
fn three_philosophers_starve() {
    let bodies = vec![nested(0, 1), nested(1, 2), nested(2, 0)];
    let found = defects(&AbstractProgram::parallel(0, 3, bodies), Granularity::Sync);
    let [defect] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((defect.signature.detail, defect.parts.len()), ("cycle", 3));
}

#[test]
fn two_cycles_in_one_run_are_two_defects() {
    let bodies = vec![nested(0, 1), nested(1, 0), nested(2, 3), nested(3, 2)];
    let found = defects(&AbstractProgram::parallel(0, 4, bodies), Granularity::Sync);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|defect| defect.signature.detail == "cycle"));
}

#[test]
fn ones_own_lock() {
    assert_eq!(details(&AbstractProgram::parallel(0, 1, vec![nested(0, 0)])), set(["relock"]));
    // A reader that wants to write.
    let upgrade =
        vec![AbstractOp::ReadLock(1, 0, Patience::Block).into(), AbstractOp::WriteLock(1, 0, Patience::Block).into()];
    let program = AbstractProgram { rwlocks: 1, ..AbstractProgram::parallel(0, 0, vec![upgrade]) };
    assert_eq!(details(&program), set(["relock"]));
}

#[test]
fn main_joins_while_holding() {
    let mut program = AbstractProgram::parallel(0, 1, vec![locked(0, vec![])]);
    program.bodies[0].insert(1, lock(0));
    assert_eq!(details(&program), set(["cycle"]));
}

/// A waiter and a notifier; the notification may come first.
fn handshake(test_first: bool, notifies: bool) -> AbstractProgram {
    let sleep = if test_first { vec![read(1, 0), when(not(reg(1)), vec![wait(0, 0)])] } else { vec![wait(0, 0)] };
    let mut wake = vec![write(0, num(1))];
    if notifies {
        wake.push(AbstractOp::Signal(0).into());
    }
    AbstractProgram { conds: 1, ..AbstractProgram::parallel(1, 1, vec![locked(0, sleep), locked(0, wake)]) }
}

#[test]
fn wake_ups_get_lost_only_without_a_test() {
    assert_eq!(details(&handshake(true, true)), set([]));
    assert_eq!(details(&handshake(false, true)), set(["lost-wakeup"]));
    // The state is the same if no thread signals.
    assert_eq!(details(&handshake(false, false)), set(["lost-wakeup"]));
}

/// A block that is freed, and then used after another allocation.
fn used_after(large: bool, uses: Vec<Stmt>) -> AbstractProgram {
    let allocate = |into| [AbstractOp::Allocate { into, large }.into(), AbstractOp::WriteBlock(into, num(1)).into()];
    let body = [allocate(0).to_vec(), vec![AbstractOp::Free(0).into()], allocate(1).to_vec(), uses].concat();
    AbstractProgram { links: 2, ..AbstractProgram::parallel(0, 0, vec![body]) }
}

#[test]
fn former_blocks_are_noticed_unless_they_are_used_again() {
    let read: Stmt = AbstractOp::ReadBlock(1, 0).into();
    let free: Stmt = AbstractOp::Free(0).into();
    assert_eq!(details(&used_after(false, vec![read.clone()])), set(["use-after-free"]));
    assert_eq!(details(&used_after(false, vec![free.clone()])), set(["double-free"]));
    assert_eq!(details(&used_after(true, vec![read.clone()])), set([]));
    assert_eq!(details(&used_after(true, vec![free, read])), set(["use-after-free"]));
}

/// A thread hands a block over that it has written, and another one frees it.
#[test]
fn blocks_are_handed_over_in_order() {
    let swap = |order| -> Stmt { AbstractOp::Swap(0, 0, order).into() };
    let hand_over = |order| {
        let gives = vec![
            AbstractOp::Allocate { into: 0, large: true }.into(),
            AbstractOp::WriteBlock(0, num(1)).into(),
            swap(order),
        ];
        let takes = vec![swap(order), AbstractOp::ReadBlock(1, 0).into(), AbstractOp::Free(0).into()];
        AbstractProgram { links: 1, ..AbstractProgram::parallel(0, 0, vec![gives, takes]) }
    };
    assert_eq!(details(&hand_over(MemOrder::AcqRel)), set([]));
    assert!(!details(&hand_over(MemOrder::Relaxed)).is_empty());
}

#[test]
fn unserved_semaphores_and_barriers_block() {
    let take: Vec<Stmt> = vec![AbstractOp::SemWait(1, 0, Patience::Block).into()];
    let program = AbstractProgram { sems: vec![1], ..AbstractProgram::parallel(0, 0, vec![take.clone(), take]) };
    assert_eq!(details(&program), set(["all-blocked"]));
    let meet: Vec<Stmt> = vec![AbstractOp::Barrier(1, 0).into()];
    let program = AbstractProgram { barriers: vec![3], ..AbstractProgram::parallel(0, 0, vec![meet.clone(), meet]) };
    let found = defects(&program, Granularity::Sync);
    assert_eq!(found[0].signature.detail, "all-blocked");
    // The two threads at the barrier, then main, which joins them; only the former name the defect.
    assert_eq!(found[0].parts.iter().map(|part| part.thread).collect::<Vec<_>>(), [1, 2, 0]);
    assert_eq!(found[0].signature.places.len(), 2);
}

#[test]
fn spinning_for_ever_is_a_livelock() {
    let program = AbstractProgram::parallel(1, 0, vec![vec![wait_until(1, 0, reg(1))]]);
    let found = defects(&program, Granularity::Sync);
    let [defect] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((defect.signature.kind, defect.signature.detail), (Kind::Livelock, "spin"));
    // Another thread raises the flag: no defect.
    let program = AbstractProgram::parallel(1, 0, vec![vec![wait_until(1, 0, reg(1))], vec![store(0, num(1))]]);
    assert_eq!(details(&program), set([]));
}

#[test]
fn waiting_for_a_failed_thread_is_no_deadlock() {
    let failing = vec![lock(0), assert_that(num(0)), unlock(0)];
    let program = AbstractProgram::parallel(0, 1, vec![failing, locked(0, vec![])]);
    assert_eq!(details(&program), set(["assert"]));
}

#[test]
fn an_assertion_that_fails_in_one_order_of_two() {
    let program =
        AbstractProgram::parallel(1, 0, vec![vec![store(0, num(1))], vec![load(1, 0), assert_that(not(reg(1)))]]);
    assert_eq!(details(&program), set(["assert"]));
}

#[test]
fn ended_owner() {
    let program = AbstractProgram::parallel(0, 1, vec![vec![lock(0)], locked(0, vec![])]);
    assert_eq!(details(&program), set(["all-blocked", "lock-held-at-exit"]));
}

#[test]
fn kinds_of_races() {
    let race = |a: Stmt, b: Stmt| details(&AbstractProgram::parallel(1, 0, vec![vec![a], vec![b]]));
    assert_eq!(race(write(0, num(1)), write(0, num(2))), set(["write-write"]));
    assert_eq!(race(read(1, 0), write(0, num(2))), set(["read-write"]));
    assert_eq!(race(load(1, 0), write(0, num(2))), set(["atomic-plain"]));
    assert_eq!(race(read(1, 0), store(0, num(2))), set(["atomic-plain"]));
    assert_eq!(race(read(1, 0), load(1, 0)), set([]));
    assert_eq!(race(store(0, num(1)), store(0, num(2))), set([]));
}

#[test]
fn elements_of_an_array_are_different_variables() {
    let body = |index| vec![AbstractOp::Write(AbstractPlace { id: 0, index: num(index) }, num(1)).into()];
    let mut program = AbstractProgram::parallel(1, 0, vec![body(0), body(1)]);
    program.vars[0].len = 2;
    assert_eq!(details(&program), set([]));
    program.bodies[2] = body(2);
    assert_eq!(details(&program), set(["write-write"]));
}
