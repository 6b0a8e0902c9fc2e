//! The race detector against happens-before by the book, on random executions of random programs.

use std::collections::BTreeSet;

use crate::common::{naive, sample, seeds};
use raddle_model::{Execution, RaceDetector, Request, Target};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{Granularity, MemoryTarget};
use raddle_vocab::policy::{Policy, mix};

#[test]
fn agrees_with_the_book() {
    let mut detector = RaceDetector::new();
    let (mut racy, mut quiet) = (0, 0);
    for seed in seeds(6000) {
        let mut knobs = Knobs::drawn(seed, 4, 8);
        knobs.races = seed % 4 > 0;
        knobs.atomics |= seed % 2 == 0;
        knobs.handlers = seed % 5 == 0;
        let program = generate(seed, &knobs);
        let granularity = if seed % 3 == 0 { Granularity::Access } else { Granularity::Sync };
        let mut target = MemoryTarget::new(&program, granularity);
        let mut execution = Execution::empty();
        for round in 0..4 {
            let policy = Policy::Random { seed: mix(seed ^ round) };
            target.submit(Request { schedule: Vec::new(), policy, max_events: 10_000 });
            target.finish(&mut execution).unwrap();
            let found = detector.races(&execution);
            let pairs = |race: &raddle_model::Race| {
                let (a, b) = (race.first.pc, race.second.pc);
                (a.min(b), a.max(b), race.addr >> 3)
            };
            let found: BTreeSet<_> = found.iter().map(pairs).collect();
            let expected = naive::races(&execution);
            assert_eq!(found, expected, "seed {seed} round {round}: {program:#?}\n{execution:#?}");
            // A handler can unlock what the thread holds that it interrupts.
            assert!(
                knobs.races || knobs.handlers || expected.is_empty(),
                "seed {seed}: race by construction impossible"
            );
            *(if expected.is_empty() { &mut quiet } else { &mut racy }) += 1;
        }
    }
    assert!(racy > sample(3000) && quiet > sample(3000), "{racy} racy and {quiet} quiet executions");
}
