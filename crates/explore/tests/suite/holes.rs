//! Programs on which published reductions lose traces or races. `L{..}` is a critical section, `||`
//! separates threads.

use crate::common::all_traces;
use raddle_explore::dfs::Dfs;
use raddle_explore::{WorkerPool, explore};
use raddle_model::RaceDetector;
use raddle_testkit::program::Stmt;
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

fn sequence(parts: Vec<Vec<Stmt>>) -> Vec<Stmt> {
    parts.into_iter().flatten().collect()
}

fn set_in(mutex: usize, var: usize) -> Vec<Stmt> {
    locked(mutex, vec![write(var, num(1))])
}

fn read_in(mutex: usize, var: usize, into: u8) -> Vec<Stmt> {
    locked(mutex, vec![read(into, var)])
}

/// Variables that race in some execution.
fn racing(program: &AbstractProgram, granularity: Granularity) -> BTreeSet<usize> {
    let (mut detector, mut racing) = (RaceDetector::new(), BTreeSet::new());
    let mut target = MemoryTarget::new(program, granularity);
    let layout = target.layout().clone();
    explore(&mut Dfs::of_traces(0), &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        racing.extend(detector.races(execution).iter().filter_map(|race| Some(layout.variable(race.addr)?.0)));
        ControlFlow::Continue(())
    })
    .unwrap();
    racing
}

/// Asserts what races, at both granularities, and how many traces there are at the coarser one.
fn check(program: &AbstractProgram, races: &[usize], traces: usize) {
    for granularity in [Granularity::Sync, Granularity::Access] {
        assert_eq!(racing(program, granularity), races.iter().copied().collect(), "{granularity:?}");
    }
    assert_eq!(all_traces(program, Granularity::Sync).traces.len(), traces);
}

/// L{x=1}; r=2; M{c=1}  ||  M{t=c}; if(!t){ L{u=x}; if(!u) r=1; }
///
/// One trace with M in the order T1 T2. Two with M in the order T2 T1: T2 goes on to L, before or
/// behind T1's.
#[test]
fn lost_request_one() {
    let (x, c, r) = (0, 1, 2);
    let one = sequence(vec![set_in(0, x), vec![write(r, num(2))], set_in(1, c)]);
    let inner = sequence(vec![read_in(0, x, 2), vec![when(not(reg(2)), vec![write(r, num(1))])]]);
    let two = sequence(vec![read_in(1, c, 1), vec![when(not(reg(1)), inner)]]);
    check(&AbstractProgram::parallel(3, 2, vec![one, two]), &[r], 3);
}

/// M{t=f}; if(t) r=1; N{g=1}  ||  N{u=g}; if(!u){M{f=1}; r=2}
#[test]
fn lost_request_two() {
    let (f, g, r) = (0, 1, 2);
    let one = sequence(vec![read_in(0, f, 1), vec![when(reg(1), vec![write(r, num(1))])], set_in(1, g)]);
    let inner = sequence(vec![set_in(0, f), vec![write(r, num(2))]]);
    let two = sequence(vec![read_in(1, g, 1), vec![when(not(reg(1)), inner)]]);
    check(&AbstractProgram::parallel(3, 2, vec![one, two]), &[r], 3);
}

/// M{t=f}; if(t) r=1  ||  the same  ||  M{f=1}: the six orders of the three sections.
#[test]
fn lost_request_three() {
    let (f, r) = (0, 1);
    let reader = sequence(vec![read_in(0, f, 1), vec![when(reg(1), vec![write(r, num(1))])]]);
    check(&AbstractProgram::parallel(2, 1, vec![reader.clone(), reader, set_in(0, f)]), &[r], 6);
}

/// x=1; L{}  ||  L{x=2}: in one of the two orders the lock hides the race.
#[test]
fn accesses_already_made() {
    let one = sequence(vec![vec![write(0, num(1))], locked(0, vec![])]);
    check(&AbstractProgram::parallel(1, 1, vec![one, locked(0, vec![write(0, num(2))])]), &[0], 2);
}

/// M{t=f}; if(t) r=1  ||  N{u=g}; if(u){M{f=1}; r=2}  ||  N{g=1}
///
/// N in the order T2 T3: T2 does not take M: 1. N in the order T3 T2: M both ways: 2.
#[test]
fn any_of_e_with_sleep_sets_one() {
    let (f, g, r) = (0, 1, 2);
    let one = sequence(vec![read_in(0, f, 1), vec![when(reg(1), vec![write(r, num(1))])]]);
    let inner = sequence(vec![set_in(0, f), vec![write(r, num(2))]]);
    let two = sequence(vec![read_in(1, g, 1), vec![when(reg(1), inner)]]);
    check(&AbstractProgram::parallel(3, 2, vec![one, two, set_in(1, g)]), &[r], 3);
}

/// B{b=1}; A{a=1}  ||  A{t=a}; if(t) r=1  ||  B{u=b}; if(!u){B{v=b}; if(v) r=2}
///
/// A both ways, times B: T1's section before the first of T3 (which then has no second), between
/// its two, or behind: 2 * 3.
#[test]
fn any_of_e_with_sleep_sets_two() {
    let (a, b, r) = (0, 1, 2);
    let one = sequence(vec![set_in(1, b), set_in(0, a)]);
    let two = sequence(vec![read_in(0, a, 1), vec![when(reg(1), vec![write(r, num(1))])]]);
    let inner = sequence(vec![read_in(1, b, 2), vec![when(reg(2), vec![write(r, num(2))])]]);
    let three = sequence(vec![read_in(1, b, 1), vec![when(not(reg(1)), inner)]]);
    check(&AbstractProgram::parallel(3, 2, vec![one, two, three]), &[r], 6);
}
