//! Prediction on random programs, against a search of all their schedules.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use raddle_explore::dfs::Dfs;
use raddle_explore::{WorkerPool, bounds::MaxExecutions, explore};
use raddle_model::finding::Kind;
use raddle_model::{DefectFinder, Execution};
use raddle_predict::analysis::{Budget, TraceAnalysis};
use raddle_predict::session::{CandidateStatus, PredictOptions, PredictedDefect, PredictionObserver, Totals, predict};
use raddle_testkit::effort::examples;
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::policy::Policy;

struct Quiet;

impl PredictionObserver for Quiet {
    fn met(&mut self, _: &Execution) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn name(&self, _: &Execution, addresses: &[u64]) -> Vec<String> {
        addresses.iter().map(|address| format!("v{address:x}")).collect()
    }
    fn analysed(&mut self, _: &Execution, _: &TraceAnalysis<'_>) {}
    fn settled(&mut self, _: &Execution, _: &PredictedDefect) {}
}

type Found = BTreeSet<(Kind, Vec<u64>)>;

/// Every race and cycle of locks that some schedule has; nothing if there are too many schedules.
fn exhaustive(program: &AbstractProgram) -> Option<Found> {
    searched(program, Granularity::Sync, 1000)
}

fn searched(program: &AbstractProgram, granularity: Granularity, most: u64) -> Option<Found> {
    let mut finder = DefectFinder::new();
    let mut found = Found::new();
    let mut strategy = MaxExecutions::new(Dfs::of_traces(0), most);
    let mut target = MemoryTarget::new(program, granularity);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        for defect in finder.find(execution) {
            let cycle = defect.signature.kind == Kind::Deadlock && defect.signature.detail == "cycle";
            if cycle || defect.signature.kind == Kind::DataRace {
                found.insert((defect.signature.kind, defect.signature.places));
            }
        }
        ControlFlow::Continue(())
    });
    outcome.unwrap().incomplete.is_none().then_some(found)
}

fn predicted(program: &AbstractProgram, rounds: u32, seed: u64) -> Totals {
    let mut target = MemoryTarget::new(program, Granularity::Sync);
    let options = PredictOptions {
        budget: Budget::default(),
        rounds,
        assume_any_value: false,
        policy: if seed.is_multiple_of(2) { Policy::LeastRank } else { Policy::Random { seed } },
        max_events: 100_000,
        until_idle: false,
    };
    predict(&mut target, &options, &mut Quiet).unwrap()
}

/// The defects that runs have shown. Every confirmed prediction is among them.
fn confirmed(totals: &Totals) -> Found {
    let wanted = |kind: Kind, detail: &str| kind == Kind::DataRace || (kind == Kind::Deadlock && detail == "cycle");
    let shown = totals.shown.iter().filter(|shown| wanted(shown.kind, shown.detail));
    let shown: Found = shown.map(|shown| (shown.kind, shown.places.clone())).collect();
    for prediction in totals.predictions.iter().filter(|prediction| prediction.status == CandidateStatus::Confirmed) {
        assert!(shown.contains(&(prediction.kind, prediction.places.clone())), "{prediction:?}");
    }
    shown
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    0..examples(count)
}

/// For a program without branches on shared values.
fn unbranched(seed: u64) -> Knobs {
    Knobs { branches: false, tries: false, conds: false, awaits: false, asserts: false, ..Knobs::drawn(seed, 3, 6) }
}

/// No branch depends on shared values: one run predicts everything that any order of its events
/// shows.
#[test]
fn one_run_is_enough_where_no_branch_depends_on_shared_data() {
    let (mut compared, mut races, mut cycles) = (0, 0, 0);
    for seed in seeds(200) {
        let knobs = Knobs { locks: false, deadlocks: false, ..unbranched(seed) };
        let program = generate(seed, &knobs);
        let Some(expected) = exhaustive(&program) else { continue };
        let totals = predicted(&program, 1, seed);
        let open: Vec<_> = totals.predictions.iter().filter(|one| one.status != CandidateStatus::Confirmed).collect();
        assert!(open.is_empty(), "seed {seed}: {open:#?} {program:#?}");
        assert_eq!(confirmed(&totals), expected, "seed {seed}: {program:#?}");
        compared += 1;
        races += expected.iter().filter(|one| one.0 == Kind::DataRace).count();
        cycles += expected.iter().filter(|one| one.0 == Kind::Deadlock).count();
    }
    println!("{compared} programs, {races} races, {cycles} cycles");
    assert!(compared > 100 && races > 200, "{compared} programs, {races} races");
}

/// As above with every kind of lock, and nested ones. Which thread runs an initialiser is a branch,
/// so rounds go on until there is no new path.
#[test]
fn rounds_find_everything_where_no_branch_depends_on_shared_data() {
    let (mut compared, mut races, mut cycles) = (0, 0, 0);
    for seed in seeds(80) {
        let knobs = Knobs { locks: true, deadlocks: seed % 2 == 0, ..unbranched(seed) };
        let nested =
            Knobs { mutexes: 2, vars: 1, length: 7, threads: 2, locks: false, barriers: false, ..knobs.clone() };
        let knobs = if seed % 4 == 0 { nested } else { knobs };
        let program = generate(seed, &knobs);
        let Some(expected) = exhaustive(&program) else { continue };
        let totals = predicted(&program, 0, seed);
        let got = confirmed(&totals);
        let missing: Vec<_> = expected.difference(&got).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?} {:#?} {program:#?}", totals.predictions);
        assert!(got.is_subset(&expected), "seed {seed}: {:?} {program:#?}", got.difference(&expected));
        compared += 1;
        races += expected.iter().filter(|one| one.0 == Kind::DataRace).count();
        cycles += expected.iter().filter(|one| one.0 == Kind::Deadlock).count();
    }
    println!("{compared} programs, {races} races, {cycles} cycles");
    assert!(compared > 40 && races > 80 && cycles > 0, "{compared} programs, {races} races, {cycles} cycles");
}

/// Every confirmed prediction is a defect. With rounds to the end nearly all defects are confirmed.
#[test]
fn nothing_false_is_confirmed() {
    let (mut compared, mut found, mut there) = (0, 0, 0);
    for seed in seeds(200) {
        let knobs = Knobs::drawn(seed, 3, 6);
        let program = generate(seed, &knobs);
        let Some(expected) = exhaustive(&program) else { continue };
        let totals = predicted(&program, 0, seed);
        let got = confirmed(&totals);
        // If a branch depends on the order of a race, only a search of all accesses shows all
        // defects.
        let expected =
            if got.is_subset(&expected) { Some(expected) } else { searched(&program, Granularity::Access, 500) };
        let Some(expected) = expected else { continue };
        assert!(got.is_subset(&expected), "seed {seed}: {:?} {program:#?}", got.difference(&expected));
        compared += 1;
        found += got.len();
        there += expected.len();
    }
    println!("{compared} programs, {found} of {there}");
    assert!(compared > 100 && found * 100 > there * 99, "{compared} programs, {found} of {there}");
}
