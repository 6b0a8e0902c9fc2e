//! The CSP model and the search agree on traces of random programs.

use raddle_model::{Execution, Request, Target};
use raddle_predict::candidates::filter;
use raddle_predict::model::{Check, Refined};
use raddle_predict::observe;
use raddle_predict::order::MustHappenBefore;
use raddle_predict::pins::Pins;
use raddle_predict::search::{Reachability, Searcher};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{Granularity, MemoryTarget};
use raddle_vocab::policy::{Policy, mix};

#[test]
fn refinement_and_search_agree() {
    let (mut fails, mut holds, mut filtered) = (0, 0, 0);
    for seed in 0..600 {
        let program = generate(seed, &Knobs::drawn(seed, 3, 6));
        let mut target = MemoryTarget::new(&program, Granularity::Sync);
        let mut execution = Execution::empty();
        target.submit(Request { schedule: Vec::new(), policy: Policy::Random { seed: mix(seed) }, max_events: 10_000 });
        target.finish(&mut execution).unwrap();
        let mut trace = observe(&execution);
        trace.rename(&|address| format!("v{address:x}"));
        let order = MustHappenBefore::of(&trace);
        let searcher = Searcher::new(&trace, &order, 100_000);
        let left = filter(&trace, &order, false, 0..u32::MAX);
        let threads = trace.threads.len() as u16;
        for var in 0..trace.vars.len() as u32 {
            for one in 0..threads {
                for two in one + 1..threads {
                    let of = |thread| {
                        trace.accesses.iter().filter(move |access| access.var == var && access.thread == thread)
                    };
                    let mut reached = false;
                    for a in of(one) {
                        for b in of(two).filter(|b| a.conflicts(b)) {
                            let goal = [(one, a.position), (two, b.position)];
                            let answer = searcher.reach(&goal, &Pins::default());
                            assert_ne!(answer, Reachability::Unknown);
                            reached |= answer != Reachability::Unreachable;
                        }
                    }
                    let mut check = Check::new(&trace, &searcher, var, (one, two)).unwrap();
                    if check.size > 20_000 {
                        continue;
                    }
                    let verdict = check.decide(200_000).unwrap();
                    let fail = matches!(verdict, Refined::Fails(_));
                    assert_eq!(fail, reached, "seed {seed} {var} {one} {two}: {trace:#?}\n{}", check.script().unwrap());
                    // The filter loses nothing.
                    let kept = left.units.contains(&(var, one, two));
                    assert!(kept || !reached, "seed {seed} {var} {one} {two}: {trace:#?}");
                    *(if fail { &mut fails } else { &mut holds }) += 1;
                    filtered += u32::from(!kept);
                }
            }
        }
    }
    println!("{fails} checks fail, {holds} hold, {filtered} of these by the filter");
    assert!(fails > 300 && holds > 100, "{fails} checks fail, {holds} hold");
}
