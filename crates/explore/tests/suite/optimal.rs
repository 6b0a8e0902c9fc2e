//! The optimal search against brute force over traces: every trace, each once, and no redundant
//! run.

use std::ops::Range;

use crate::common::{Seen, sample, search_with, seeds};
use raddle_explore::Strategy;
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::optimal::{Expander, Optimal, WorkItem};
use raddle_explore::restart::optimal_with_dpor_fallback;
use raddle_explore::strategy::scheduled;
use raddle_model::object::Patience;
use raddle_model::{Execution, Target};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::program::build::{locked, num, store};
use raddle_testkit::program::{AbstractOp, AbstractPlace, Stmt};
use raddle_testkit::shrink::minimise;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// Runs of brute force beyond which a program is left out.
const LIMIT: u64 = 3000;

/// What the strategy sees of the program; `None` if it takes more than `limit` runs.
fn seen(
    strategy: impl Strategy,
    program: &AbstractProgram,
    granularity: Granularity,
    spurious: u32,
    limit: u64,
) -> Option<Seen> {
    let mut strategy = MaxExecutions::new(strategy, limit);
    let seen = search_with(&mut strategy, MemoryTarget::with(program, granularity, spurious, 5), spurious);
    (strategy.incomplete_reason() != Some(raddle_explore::IncompleteReason::Executions)).then_some(seen)
}

/// Whether the search meets every trace once and, if what threads would do can be foreseen, makes
/// no other run. `None`: too much to compare.
fn agrees(program: &AbstractProgram, granularity: Granularity, spurious: u32, foreseeable: bool) -> Option<bool> {
    let all = seen(Dfs::of_traces(spurious), program, granularity, spurious, LIMIT)?;
    let found = if foreseeable {
        seen(Optimal::new(spurious), program, granularity, spurious, 10 * LIMIT)?
    } else {
        seen(optimal_with_dpor_fallback(spurious), program, granularity, spurious, 10 * LIMIT)?
    };
    let once = found.executions == found.traces.len() as u64;
    Some(found.traces == all.traces && once && (!foreseeable || found.blocked == 0))
}

fn compare(seeds: Range<u64>, knobs: impl Fn(u64) -> Knobs) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let drawn = knobs(seed);
        let program = generate(seed, &drawn);
        let spurious = u32::from(seed.is_multiple_of(7));
        for granularity in [Granularity::Sync, Granularity::Access] {
            // With races the transitions do not determine the values, unless the racing accesses
            // are transitions too.
            if drawn.races && granularity == Granularity::Sync {
                continue;
            }
            let mixed = drawn.races && drawn.atomics && granularity == Granularity::Access;
            let foreseeable = !drawn.awaits && !mixed;
            match agrees(&program, granularity, spurious, foreseeable) {
                Some(true) => compared += 1,
                None => {}
                Some(false) => {
                    let wrong =
                        |program: &AbstractProgram| agrees(program, granularity, spurious, foreseeable) == Some(false);
                    let smallest = minimise(&program, 2000, wrong);
                    panic!("seed {seed} {granularity:?} {spurious}: {smallest:#?}");
                }
            }
        }
    }
    compared
}

#[test]
fn meets_every_trace_once() {
    let compared = compare(seeds(700), |seed| Knobs { awaits: false, ..Knobs::drawn(seed, 3, 3) });
    assert!(compared > sample(300), "{compared}");
}

#[test]
fn meets_every_trace_of_two_longer_threads_once() {
    let compared = compare(seeds(400), |seed| Knobs { awaits: false, ..Knobs::drawn(seed ^ 0x5555, 2, 6) });
    assert!(compared > sample(100), "{compared}");
}

#[test]
fn meets_every_trace_of_programs_that_wait_busily_once() {
    let knobs = |seed| Knobs { awaits: true, atomics: true, ..Knobs::drawn(seed ^ 0xcccc, 3, 3) };
    let compared = compare(seeds(200), knobs);
    assert!(compared > sample(75), "{compared}");
}

/// Children of up to `limit` executions, found with and without simulating every position. Returns
/// whether they agree.
fn dismissals_are_sound(program: &AbstractProgram, granularity: Granularity, spurious: u32, limit: usize) -> bool {
    let mut target = MemoryTarget::with(program, granularity, spurious, 5);
    let (mut quick, mut thorough) = (Expander::new(spurious), Expander::thorough(spurious));
    let (mut units, mut execution) = (vec![WorkItem::default()], Execution::empty());
    let (mut children, mut all) = (Vec::new(), Vec::new());
    for _ in 0..limit {
        let Some(unit) = units.pop() else { break };
        target.submit(scheduled(unit.schedule.clone().into_vec()));
        target.finish(&mut execution).unwrap();
        if execution.status == RunStatus::Rest {
            quick.append_children(&unit, &execution, &mut children);
            thorough.append_children(&unit, &execution, &mut all);
        }
        if children != all {
            return false;
        }
        all.clear();
        units.append(&mut children);
    }
    true
}

#[test]
fn positions_that_are_dismissed_have_no_children() {
    for seed in seeds(1200) {
        let (threads, length) = [(4, 4), (2, 7), (3, 5), (5, 3)][seed as usize % 4];
        let knobs = Knobs { awaits: false, races: false, ..Knobs::drawn(seed ^ 0x7777, threads, length) };
        let program = generate(seed, &knobs);
        let spurious = u32::from(seed.is_multiple_of(5));
        let wrong = |program: &AbstractProgram| !dismissals_are_sound(program, Granularity::Sync, spurious, 150);
        if wrong(&program) {
            panic!("seed {seed} {spurious}: {:#?}", minimise(&program, 2000, wrong));
        }
    }
}

/// A wait that is over by itself has written to the condition variable, but it has not locked it.
#[test]
fn a_wait_overtakes_another_on_the_same_condition_variable() {
    let wait = |mutex| AbstractOp::Wait(1, 0, AbstractPlace::of(mutex), Patience::Timed).into();
    let first = locked(1, vec![wait(1)]);
    let mut second = locked(0, vec![wait(0)]);
    second.extend(locked(2, vec![wait(2)]));
    let program = AbstractProgram { conds: 1, ..AbstractProgram::parallel(0, 3, vec![first, second]) };
    assert_eq!(agrees(&program, Granularity::Sync, 0, true), Some(true));
    assert!(dismissals_are_sound(&program, Granularity::Sync, 0, 1000));
}

/// Cells that hundreds of events touch are looked up by thread, and walks beside long executions
/// are remembered. The expander that simulates every position gives the same children.
#[test]
fn long_executions_have_the_same_children() {
    for seed in seeds(12) {
        let drawn = Knobs::drawn(seed ^ 0x1111, 2, 260);
        let knobs = Knobs { vars: 1, mutexes: 1, awaits: false, races: false, barriers: false, ..drawn };
        let program = generate(seed, &knobs);
        assert!(dismissals_are_sound(&program, Granularity::Sync, 0, 3), "seed {seed}");
    }
    for rounds in [100, 200, 400] {
        let body: Vec<_> = (0..rounds).flat_map(|_| locked(0, Vec::new())).collect();
        let program = AbstractProgram::parallel(0, 1, vec![body; 2]);
        assert!(dismissals_are_sound(&program, Granularity::Sync, 0, 3), "{rounds} rounds");
    }
}

#[test]
fn values_multiply_the_number_of_traces() {
    let choose = |values| Stmt::Op(AbstractOp::Choose(1, values));
    let first = vec![choose(2), store(0, num(1)), choose(2)];
    let program = AbstractProgram::parallel(1, 0, vec![first, vec![choose(3), store(0, num(2))]]);
    // 2 * 2 * 3 ways to choose, and 2 orders of the two stores.
    for strategy in [Box::new(Optimal::new(0)) as Box<dyn Strategy>, Box::new(Dfs::of_traces(0))] {
        let found = seen(strategy, &program, Granularity::Sync, 0, LIMIT).expect("a small program");
        assert_eq!((found.executions, found.traces.len()), (24, 24));
    }
}

#[test]
fn meets_every_trace_with_open_values() {
    let knobs = |seed| Knobs { choices: true, awaits: false, ..Knobs::drawn(seed ^ 0x3333, 3, 3) };
    let compared = compare(seeds(300), knobs);
    assert!(compared > 100, "only {compared} programs were small enough");
}

#[test]
fn meets_every_trace_with_atomic_sections() {
    let knobs = |seed| Knobs { sections: true, awaits: false, ..Knobs::drawn(seed ^ 0x5555, 3, 3) };
    let compared = compare(seeds(300), knobs);
    assert!(compared > 100, "only {compared} programs were small enough");
}
