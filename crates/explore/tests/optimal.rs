//! The optimal search against brute force over traces: every trace, each once, and no run in vain.

mod common;

use std::ops::Range;

use common::{Seen, search_with, seeds};
use raddle_explore::Strategy;
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::careful::careful;
use raddle_explore::dfs::Dfs;
use raddle_explore::memory::generate::{Knobs, generate};
use raddle_explore::memory::shrink::minimise;
use raddle_explore::memory::{Granularity, MemoryTarget, Program};
use raddle_explore::optimal::Optimal;

/// Runs of brute force beyond which a program is left out.
const LIMIT: u64 = 3000;

/// What the strategy sees of the program; `None` if it takes more than `limit` runs.
fn seen(
    strategy: impl Strategy,
    program: &Program,
    granularity: Granularity,
    spurious: u32,
    limit: u64,
) -> Option<Seen> {
    let mut strategy = MaxExecutions::new(strategy, limit);
    let seen = search_with(&mut strategy, MemoryTarget::with(program, granularity, spurious, 5), spurious);
    (strategy.gap() != Some(raddle_explore::Gap::Executions)).then_some(seen)
}

/// Whether the search meets every trace once and, if what threads would do can be foreseen, makes no other run. `None`: too
/// much to compare.
fn agrees(program: &Program, granularity: Granularity, spurious: u32, foreseeable: bool) -> Option<bool> {
    let all = seen(Dfs::of_traces(spurious), program, granularity, spurious, LIMIT)?;
    let found = if foreseeable {
        seen(Optimal::new(spurious), program, granularity, spurious, 10 * LIMIT)?
    } else {
        seen(careful(spurious), program, granularity, spurious, 10 * LIMIT)?
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
            // With races the transitions do not determine the values, unless the racing accesses are transitions too.
            if drawn.races && granularity == Granularity::Sync {
                continue;
            }
            let mixed = drawn.races && drawn.atomics && granularity == Granularity::Access;
            let foreseeable = !drawn.awaits && !mixed;
            match agrees(&program, granularity, spurious, foreseeable) {
                Some(true) => compared += 1,
                None => {}
                Some(false) => {
                    let wrong = |program: &Program| agrees(program, granularity, spurious, foreseeable) == Some(false);
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
    assert!(compared > 300, "{compared}");
}

#[test]
fn meets_every_trace_of_two_longer_threads_once() {
    let compared = compare(seeds(400), |seed| Knobs { awaits: false, ..Knobs::drawn(seed ^ 0x5555, 2, 6) });
    assert!(compared > 100, "{compared}");
}

#[test]
fn meets_every_trace_of_programs_that_wait_busily_once() {
    let knobs = |seed| Knobs { awaits: true, atomics: true, ..Knobs::drawn(seed ^ 0xcccc, 3, 3) };
    let compared = compare(seeds(200), knobs);
    assert!(compared > 75, "{compared}");
}
