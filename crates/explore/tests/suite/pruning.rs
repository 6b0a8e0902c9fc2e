//! Pruning misses no race and pays.

use std::ops::ControlFlow;

use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dhtc::dhtc;
use raddle_explore::pdp::{Knowledge, PlainSites, pdp, unpruned};
use raddle_explore::restart::optimal_with_dpor_fallback;
use raddle_explore::{Strategy, WorkerPool, explore};
use raddle_model::RaceDetector;
use raddle_model::facts::suffix::Flow;
use raddle_model::finding::Stats;
use raddle_model::object::Patience;
use raddle_testkit::effort::examples;
use raddle_testkit::facts::facts;
use raddle_testkit::guarded::{Class, generate};
use raddle_testkit::program::build::{lock, locked, not, num, read, reg, unlock, when, write};
use raddle_testkit::program::{AbstractOp, AbstractProgram, Stmt};
use raddle_testkit::{Granularity, MemoryTarget};

fn knowledge(program: &AbstractProgram) -> Knowledge {
    let (facts, ground) = facts(program);
    facts.validate().unwrap();
    Knowledge { flow: Flow::new(facts, ground), sites: Box::new(PlainSites) }
}

/// Whether the search meets a race, and its figures; `None` if it would take more runs than
/// allowed.
fn race(strategy: impl Strategy, program: &AbstractProgram, limit: u64) -> Option<(bool, Stats)> {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let mut detector = RaceDetector::new();
    let mut found = false;
    let mut strategy = MaxExecutions::new(strategy, limit);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        found = found || !detector.races(execution).is_empty();
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let outcome = outcome.unwrap();
    (found || outcome.incomplete.is_none()).then_some((found, outcome.stats))
}

/// The programs on which the published algorithms miss the race.
fn holes() -> Vec<(&'static str, AbstractProgram)> {
    let (l, m, n) = (0, 1, 2);
    let (x, c, r) = (0, 1, 2);
    let is0 = |register, then| when(not(reg(register)), then);
    let is1 = |register, then| when(reg(register), then);
    let one = |var| write(var, num(1));
    let cat = |parts: Vec<Vec<Stmt>>| parts.concat();
    let program = |bodies| AbstractProgram::parallel(4, 3, bodies);
    let look = |mutex, var, then: Stmt| cat(vec![locked(mutex, vec![read(1, var)]), vec![then]]);
    vec![
        ("x=1; L{} || L{x=2}", program(vec![vec![one(x), lock(l), unlock(l)], locked(l, vec![one(x)])])),
        (
            "L{x=1}; r=2; M{c=1} || M{t=c}; if(!t){ L{u=x}; if(!u) r=1 }",
            program(vec![
                cat(vec![locked(l, vec![one(x)]), vec![one(r)], locked(m, vec![one(c)])]),
                look(m, c, is0(1, look(l, x, is0(1, vec![one(r)])))),
            ]),
        ),
        (
            "M{t=f}; if(t) r=1; N{g=1} || N{u=g}; if(!u){ M{f=1}; r=2 }",
            program(vec![
                cat(vec![look(m, x, is1(1, vec![one(r)])), locked(n, vec![one(c)])]),
                look(n, c, is0(1, cat(vec![locked(m, vec![one(x)]), vec![one(r)]]))),
            ]),
        ),
        (
            "M{t=f}; if(t) r=1 || the same || M{f=1}",
            program(vec![look(m, x, is1(1, vec![one(r)])), look(m, x, is1(1, vec![one(r)])), locked(m, vec![one(x)])]),
        ),
        (
            "M{t=f}; if(t) r=1 || N{u=g}; if(u){ M{f=1}; r=2 } || N{g=1}",
            program(vec![
                look(m, x, is1(1, vec![one(r)])),
                look(n, c, is1(1, cat(vec![locked(m, vec![one(x)]), vec![one(r)]]))),
                locked(n, vec![one(c)]),
            ]),
        ),
        (
            "M{}; r=1 || M{}; N{t=g}; if(t) r=2 || N{g=1}",
            program(vec![
                vec![lock(m), unlock(m), one(r)],
                cat(vec![vec![lock(m), unlock(m)], look(n, c, is1(1, vec![one(r)]))]),
                locked(n, vec![one(c)]),
            ]),
        ),
        (
            "B{b=1}; A{a=1} || A{t=a}; if(t) r=1 || B{u=b}; if(!u){ B{v=b}; if(v) r=2 }",
            program(vec![
                cat(vec![locked(n, vec![one(c)]), locked(m, vec![one(x)])]),
                look(m, x, is1(1, vec![one(r)])),
                look(n, c, is0(1, look(n, c, is1(1, vec![one(r)])))),
            ]),
        ),
    ]
}

#[test]
fn the_holes_are_closed() {
    for (name, program) in holes() {
        // Whichever thread has the least rank.
        for turn in 0..program.bodies.len() - 1 {
            let mut program = program.clone();
            program.bodies[1..].rotate_left(turn);
            for strategy in [pdp(Some(knowledge(&program)), 0), dhtc(Some(knowledge(&program)), 0), unpruned(0)] {
                assert!(race(strategy, &program, 10_000).unwrap().0, "{name}, turned by {turn}");
            }
        }
    }
}

/// Sums over race-free programs.
#[derive(Debug, Default)]
struct Sums {
    racy: u64,
    late: u64,
    free: u64,
    skipped: u64,
    optimal: u64,
    unpruned: u64,
    pdp: u64,
    dhtc: u64,
}

fn compare(class: Class, forks: bool, count: u64) -> Sums {
    let mut sums = Sums::default();
    let runs = |stats: &Stats| stats.executions + stats.assumed;
    for seed in 0..examples(count) {
        let program = generate(seed, class, forks);
        let limit = 3000;
        let Some((racy, exact)) = race(optimal_with_dpor_fallback(0), &program, limit) else {
            sums.skipped += 1;
            continue;
        };
        let context = || format!("{class:?} forks {forks} seed {seed} racy {racy}\n{program:#?}");
        let Some((found, pdp)) = race(pdp(Some(knowledge(&program)), 0), &program, 20 * limit) else {
            panic!("pdp does not end: {}", context());
        };
        assert_eq!(found, racy, "{}", context());
        if racy {
            sums.racy += 1;
            sums.late += u64::from(exact.executions > 1);
            continue;
        }
        let (found, dhtc) = race(dhtc(Some(knowledge(&program)), 0), &program, 20 * limit).unwrap();
        assert!(!found, "{}", context());
        assert_eq!((runs(&dhtc), dhtc.blocked), (runs(&pdp), pdp.blocked), "{}", context());
        let (found, unpruned) = race(unpruned(0), &program, 20 * limit).unwrap();
        assert!(!found, "{}", context());
        assert_eq!(runs(&unpruned), runs(&exact), "{}", context());
        sums.free += 1;
        sums.optimal += runs(&exact);
        sums.unpruned += runs(&unpruned);
        sums.pdp += runs(&pdp);
        sums.dhtc += runs(&dhtc);
    }
    sums
}

/// 10,200 programs, each searched exhaustively, too: fewer would not show that pruning pays. Where
/// nothing is pruned, the search meets each trace once; where it prunes, it needs a third of that
/// at most (two thirds if main works beside its threads).
fn no_race_is_missed(forks: bool) {
    for class in Class::ALL {
        let sums = compare(class, forks, 850);
        println!("{class:?} forks {forks}: {sums:?}");
        assert!(
            sums.racy > examples(50) && sums.free > examples(50) && sums.late > examples(10),
            "{class:?} {forks} {sums:?}"
        );
        assert_eq!(sums.pdp, sums.dhtc);
        let (parts, whole) = if forks || class == Class::Mixed { (2, 3) } else { (1, 3) };
        assert!(sums.pdp * whole <= sums.unpruned * parts, "{class:?} {forks} {sums:?}");
    }
}

#[test]
fn no_race_is_missed_and_pruning_pays() {
    no_race_is_missed(false);
}

#[test]
fn no_race_is_missed_where_main_works_beside_its_threads() {
    no_race_is_missed(true);
}

/// Here the thread to begin with is not the one whose operation is reversed: another reader comes
/// between.
#[test]
fn readers_and_writers_without_pruning() {
    let writer = || vec![AbstractOp::WriteLock(3, 0, Patience::Block).into(), AbstractOp::RwUnlock(0).into()];
    let reader = || vec![AbstractOp::ReadLock(3, 0, Patience::Block).into(), AbstractOp::RwUnlock(0).into()];
    let twice = || [writer(), writer()].concat();
    let cases: Vec<Vec<Vec<Stmt>>> = vec![
        vec![writer(), reader(), reader()],
        vec![twice(), reader(), reader()],
        vec![reader(), twice(), reader()],
        vec![reader(), reader(), twice()],
        vec![reader(), reader(), writer(), writer()],
        vec![writer(), writer(), reader(), reader()],
    ];
    let counts = cases.into_iter().map(|bodies| {
        let program = AbstractProgram { rwlocks: 1, ..AbstractProgram::parallel(0, 0, bodies) };
        race(unpruned(0), &program, 1000).unwrap().1.executions
    });
    assert_eq!(counts.collect::<Vec<_>>(), [4, 9, 9, 9, 18, 18]);
}
