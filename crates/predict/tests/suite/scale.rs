//! Long traces: every stage stays cheap.

use std::fmt::Write as _;
use std::time::Instant;

use raddle_predict::analysis::{Budget, Decision, TraceAnalysis};
use raddle_predict::std_format;

/// 100,000 events of 8 threads on 200 variables. All accesses but one in `one_in` are under locks.
/// With `nested`, locks are acquired in pairs and every event has a location of its own.
fn long_trace(nested: bool, one_in: u64) -> String {
    let mut text = String::new();
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut events = 7;
    for thread in 1..8 {
        let _ = writeln!(text, "T0|fork(T{thread})|1");
    }
    while events < 100_000 {
        let (thread, var) = (random(8), random(200));
        let place = if nested { 1000 + events } else { 100 + var * 4 + random(2) };
        let word = if random(3) == 0 { "w" } else { "r" };
        let access = format!("T{thread}|{word}(v{var})|{place}");
        if random(one_in) == 0 {
            let _ = writeln!(text, "{access}x");
            events += 1;
            continue;
        }
        let (outer, inner) = (random(10), 10 + random(10));
        let own = var % 40;
        let locks = if nested { vec![outer, inner] } else { vec![own] };
        for lock in &locks {
            let _ = writeln!(text, "T{thread}|acq(m{lock})|10");
        }
        let _ = writeln!(text, "{access}");
        for lock in locks.iter().rev() {
            let _ = writeln!(text, "T{thread}|rel(m{lock})|11");
        }
        events += 1 + 2 * locks.len() as u64;
    }
    text
}

fn decide(text: &str) -> (usize, usize, usize) {
    let begun = Instant::now();
    let read = std_format::read(text).unwrap();
    let budget = Budget { by_variable: true, jobs: 2, states: 200_000, ..Budget::default() };
    let analysis = TraceAnalysis::new(&read.trace, budget);
    let stages = analysis.windows[0].races.stages;
    println!("{stages:?} {} left out, {:?}", analysis.windows[0].races.left_out, begun.elapsed());
    let keeper = analysis.keeper();
    let kinds = analysis.races(&keeper, &analysis.candidates(), |_, decision| match decision {
        Decision::Possible(_) => 0,
        Decision::Impossible => 1,
        Decision::Open(_) => 2,
    });
    println!("decided after {:?}", begun.elapsed());
    let count = |kind| kinds.iter().filter(|&&one| one == kind).count();
    (count(0), count(1), count(2))
}

#[test]
fn few_places() {
    let (possible, impossible, open) = decide(&long_trace(false, 50));
    println!("{possible} possible, {impossible} impossible, {open} open");
    assert!(possible > 500 && open == 0, "{possible} possible, {impossible} impossible, {open} open");
}

#[test]
fn every_event_at_its_own_place() {
    let (possible, impossible, open) = decide(&long_trace(true, 30));
    println!("{possible} possible, {impossible} impossible, {open} open");
    assert!(possible > 500 && open == 0, "{possible} possible, {impossible} impossible, {open} open");
}
