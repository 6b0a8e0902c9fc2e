//! Exact counts of brute force: schedules by counting orders, traces by hand.

use crate::common::{all_traces, brute_force};
use raddle_testkit::program::Stmt;
use raddle_testkit::program::build::*;
use raddle_testkit::{AbstractProgram, Granularity};

/// Number of linear extensions of the order that the pairs (before, after) of `n` events generate.
fn orders(n: usize, pairs: &[(usize, usize)]) -> u64 {
    fn count(done: u32, n: usize, pairs: &[(usize, usize)], memo: &mut std::collections::BTreeMap<u32, u64>) -> u64 {
        if done.count_ones() as usize == n {
            return 1;
        }
        if let Some(&known) = memo.get(&done) {
            return known;
        }
        let is_free = |event: usize| pairs.iter().all(|&(a, b)| b != event || done & (1 << a) != 0);
        let free = (0..n).filter(|&event| done & (1 << event) == 0 && is_free(event));
        let total = free.map(|event| count(done | 1 << event, n, pairs, memo)).sum();
        memo.insert(done, total);
        total
    }
    count(0, n, pairs, &mut Default::default())
}

/// Main (start, create, create, join, join, exit: 0 to 5) and two threads of `len` transitions
/// between start and end.
fn two_threads(len: usize) -> u64 {
    let mut pairs: Vec<(usize, usize)> = (0..5).map(|i| (i, i + 1)).collect();
    let thread = |from: usize, create: usize, join: usize| {
        let mut chain = vec![create];
        chain.extend(from..from + len + 2);
        chain.push(join);
        chain.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    };
    pairs.extend(thread(6, 1, 3));
    pairs.extend(thread(6 + len + 2, 2, 4));
    orders(6 + 2 * (len + 2), &pairs)
}

#[test]
fn unsynchronised_threads_have_all_orders_and_one_trace() {
    // One transition each, on different variables: nothing depends on anything.
    let program = AbstractProgram::parallel(2, 0, vec![vec![store(0, num(1))], vec![store(1, num(1))]]);
    let seen = brute_force(&program, Granularity::Sync);
    assert_eq!(seen.executions, two_threads(1));
    assert_eq!(seen.traces.len(), 1);
}

#[test]
fn plain_accesses_are_transitions_only_at_access_granularity() {
    let program = AbstractProgram::parallel(1, 0, vec![vec![write(0, num(1))], vec![write(0, num(2))]]);
    let seen = brute_force(&program, Granularity::Sync);
    assert_eq!((seen.executions, seen.traces.len()), (two_threads(0), 1));
    let seen = brute_force(&program, Granularity::Access);
    assert_eq!((seen.executions, seen.traces.len()), (two_threads(1), 2));
}

#[test]
fn one_writer_and_readers_have_a_trace_per_set_of_early_readers() {
    for readers in 1..=4 {
        let mut bodies = vec![vec![store(0, num(1))]];
        bodies.extend(std::iter::repeat_n(vec![load(1, 0)], readers));
        let seen = all_traces(&AbstractProgram::parallel(1, 0, bodies), Granularity::Sync);
        assert_eq!(seen.traces.len(), 1 << readers);
    }
}

#[test]
fn locked_sections_have_a_trace_per_order() {
    let bodies = vec![locked(0, vec![read(1, 0), write(0, add(reg(1), num(1)))]); 3];
    let program = AbstractProgram::parallel(1, 1, bodies);
    for granularity in [Granularity::Sync, Granularity::Access] {
        assert_eq!(all_traces(&program, granularity).traces.len(), 6);
    }
}

#[test]
fn compare_exchange_has_one_winner() {
    // The first thread succeeds. The failures of the others are reads, which commute.
    // So there are 3 traces, not 6.
    let bodies = vec![vec![cas(1, at(0, num(0)), num(0), num(1))]; 3];
    assert_eq!(all_traces(&AbstractProgram::parallel(1, 0, bodies), Granularity::Sync).traces.len(), 3);
}

/// `rounds` rounds of flag[i]=1; if(!flag[1-i]) c++; flag[i]=0 in two threads.
fn flags(rounds: usize) -> AbstractProgram {
    let body = |me: usize| -> Vec<Stmt> {
        let round = [
            store(me, num(1)),
            load(1, 1 - me),
            when(not(reg(1)), vec![read(2, 2), write(2, add(reg(2), num(1)))]),
            store(me, num(0)),
        ];
        std::iter::repeat_n(round, rounds).flatten().collect()
    };
    AbstractProgram::parallel(3, 0, vec![body(0), body(1)])
}

#[test]
fn flags_agree_with_independent_checkers() {
    assert_eq!(all_traces(&flags(2), Granularity::Sync).traces.len(), 107);
}

#[test]
fn leaving_out_equivalent_prefixes_loses_no_trace() {
    let program = flags(1);
    for granularity in [Granularity::Sync, Granularity::Access] {
        assert_eq!(brute_force(&program, granularity).traces, all_traces(&program, granularity).traces);
    }
}
