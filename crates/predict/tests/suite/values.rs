//! Value-preserving decisions agree with a search of all reorderings in which every read keeps its
//! writer, on random traces.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use raddle_predict::analysis::{Budget, TraceAnalysis};
use raddle_predict::pins::{Pins, TransitionRead};
use raddle_predict::search::{Reachability, Searcher};
use raddle_predict::std_format;
use raddle_predict::values::Values;

/// Threads that take up to two locks at a time, read and write.
fn random_trace(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let threads = 2 + random(3);
    let (locks, vars) = (1 + random(4), 1 + random(4));
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); threads];
    let mut text = String::new();
    for line in 1..=10 + random(26) {
        let thread = random(threads);
        let lock = random(locks);
        let event = match random(5) {
            0 | 1 if held[thread].len() < 2 && !held.iter().any(|own| own.contains(&lock)) => {
                held[thread].push(lock);
                format!("acq(m{lock})")
            }
            0..=2 if !held[thread].is_empty() => format!("rel(m{})", held[thread].pop().unwrap_or(0)),
            kind => format!("{}(v{})", if kind % 2 == 0 { "r" } else { "w" }, random(vars)),
        };
        let _ = writeln!(text, "T{thread}|{event}|{line}");
    }
    text
}

#[test]
fn decisions_agree_with_a_search() {
    let (mut possible, mut impossible, mut unknown) = (0, 0, 0);
    // The last one needs a thread to leave a lock that no other thread holds.
    for seed in (0..2000).chain([34_321]) {
        let text = random_trace(seed);
        let read = std_format::read(&text).unwrap();
        let trace = &read.trace;
        let analysis = TraceAnalysis::new(trace, Budget { by_variable: true, ..Budget::default() });
        let values = Values::new(trace, &analysis.flow);
        let keeper = analysis.keeper();
        let reads: BTreeSet<TransitionRead> = (0..trace.events.len() as u32)
            .flat_map(|event| analysis.flow.reads(event).iter().map(move |&(var, _)| TransitionRead { event, var }))
            .collect();
        let pins = Pins::of(&analysis.flow, reads);
        let searcher = Searcher::new(trace, &analysis.order, 1_000_000);
        for (candidate, _) in analysis.candidates() {
            let reached = |&(a, b): &(u32, u32)| {
                let goal = [a, b].map(|index| &trace.accesses[index as usize]).map(|side| (side.thread, side.position));
                let answer = searcher.reach(&goal, &pins);
                assert_ne!(answer, Reachability::Unknown, "{text}");
                answer != Reachability::Unreachable
            };
            let there = candidate.instances.iter().any(reached);
            let (kept, pair) = values.race(candidate, &keeper, true);
            match kept {
                Reachability::Reachable(events) => {
                    assert!(there && pair.is_some_and(|pair| reached(&pair)), "seed {seed} {candidate:?}\n{text}");
                    let order: Vec<u32> = events.iter().map(|taken| taken.event).collect();
                    assert!(analysis.flow.changed(&order).is_empty(), "seed {seed} {order:?}\n{text}");
                    possible += 1;
                }
                Reachability::Unreachable => {
                    assert!(!there, "seed {seed} {candidate:?}\n{text}");
                    impossible += 1;
                }
                Reachability::Unknown => unknown += 1,
            }
        }
    }
    println!("{possible} possible, {impossible} impossible, {unknown} not known");
    assert!(
        possible > 1000 && impossible > 1000 && unknown * 1000 < possible + impossible,
        "{possible} {impossible} {unknown}"
    );
}
