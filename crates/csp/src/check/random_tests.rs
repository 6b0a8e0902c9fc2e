//! The checks against brute force over thousands of random processes.

use proptest::prelude::*;
use raddle_testkit::effort::sample;

use super::brute::{EVENTS, Proc, TICK, Traces, build, finite, recursive, traces};
use super::refine::refines_system;
use super::*;
use crate::core::system::{TermSystem, system_of};
use crate::cspm::{AssertionVerdict, check_file, export, parse};
use crate::value::Value;

/// The visible trace of a counterexample in the numbers of the brute force.
fn numbers(counterexample: &Counterexample) -> Vec<u8> {
    let number = |step: &TraceAction| match step {
        TraceAction::Tick => TICK,
        TraceAction::Event(name) => match name.parts() {
            [_, Value::Int(event)] => u8::try_from(*event).expect("a test event"),
            _ => panic!("{name} is not a test event"),
        },
        other => panic!("{other:?} is not visible"),
    };
    counterexample.visible().map(number).collect()
}

/// Checks `specification [T= implementation` as terms and as a machine; both must agree in
/// everything but the number of silent steps.
fn verdict(specification: &Proc, implementation: &Proc) -> Option<Counterexample> {
    let mut model = Model::new();
    let specification = build(&mut model, specification, None);
    let implementation = build(&mut model, implementation, None);
    let limits = Limits::default();
    let mut resolver = NoResolver;
    let mut stepper = Stepper::new(&mut model, &mut resolver, None);
    let by_terms = refines_system(
        &mut stepper,
        Box::new(TermSystem::new(specification)),
        Box::new(TermSystem::new(implementation)),
        &limits,
    )
    .expect("a small check ends")
    .counterexample;
    let (first, second) = (system_of(&mut stepper, specification), system_of(&mut stepper, implementation));
    let (first, second) = (first.expect("guarded"), second.expect("guarded"));
    let by_machine = refines_system(&mut stepper, first, second, &limits).expect("a small check ends").counterexample;
    let length = |found: &Option<Counterexample>| found.as_ref().map(|found| numbers(found).len());
    assert_eq!(length(&by_terms), length(&by_machine));
    by_machine
}

/// The shortest traces of one process that the other does not have.
fn first_extra(implementation: &Traces, specification: &Traces) -> Option<usize> {
    implementation.difference(specification).map(Vec::len).min()
}

fn compare(specification: &Proc, implementation: &Proc) {
    let (allowed, done) = (traces(specification, 64, &Traces::new()), traces(implementation, 64, &Traces::new()));
    let found = verdict(specification, implementation).map(|found| numbers(&found));
    assert_eq!(found.as_ref().map(Vec::len), first_extra(&done, &allowed));
    if let Some(trace) = found {
        assert!(done.contains(&trace) && !allowed.contains(&trace), "{trace:?} proves nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(3000) as u32))]

    #[test]
    fn unrelated_processes(specification in finite(5), implementation in finite(5)) {
        compare(&specification, &implementation);
    }

    /// Pairs of unrelated processes seldom refine one another; these often do.
    #[test]
    fn related_processes(process in finite(4), other in finite(3)) {
        let both = Proc::Internal(Box::new(process.clone()), Box::new(other.clone()));
        compare(&both, &process);
        compare(&process, &both);
        let swapped = Proc::External(Box::new(other), Box::new(process));
        compare(&both, &swapped);
    }

    #[test]
    fn recursive_processes(specification in recursive(), implementation in recursive(), choose in any::<bool>()) {
        const BOUND: usize = 6;
        let implementation = match choose {
            true => implementation,
            // This one refines in most cases.
            false => Proc::Shared(Box::new(specification.clone()), (1 << EVENTS) - 1, Box::new(implementation)),
        };
        let allowed = traces(&specification, BOUND, &Traces::new());
        let done = traces(&implementation, BOUND, &Traces::new());
        let found = verdict(&specification, &implementation).map(|found| numbers(&found));
        let within = found.as_ref().map(Vec::len).filter(|&length| length <= BOUND);
        prop_assert_eq!(within, first_extra(&done, &allowed));
        if let Some(trace) = found.filter(|trace| trace.len() <= BOUND) {
            prop_assert!(done.contains(&trace) && !allowed.contains(&trace));
        }
    }

    /// Exporting a model and checking its text gives the same verdict.
    #[test]
    fn exported_processes(specification in recursive(), implementation in recursive(), finite in finite(4)) {
        for (specification, implementation) in
            [(&specification, &implementation), (&finite, &implementation), (&specification, &finite)]
        {
            let mut model = Model::new();
            let first = build(&mut model, specification, None);
            let second = build(&mut model, implementation, None);
            let claim = (second, ProcessProperty::Refines { specification: first });
            let script = export(&model, &[claim], &[]).expect("has text");
            let text = script.to_string();
            prop_assert_eq!(parse(&text).map_err(|error| format!("{error}")), Ok(script), "{}", text);
            let direct = refines(&mut model, first, second, &Limits::default()).expect("ends").counterexample;
            let outcome = check_file(&text, &Limits::default()).expect("is well formed").swap_remove(0);
            let read = match outcome.verdict {
                AssertionVerdict::Holds => None,
                AssertionVerdict::Fails(found) => found,
                other => panic!("{other:?}\n{text}"),
            };
            prop_assert_eq!(read.as_ref().map(numbers).map(|trace| trace.len()),
                direct.as_ref().map(numbers).map(|trace| trace.len()), "{}", text);
        }
    }

    /// A deadlock's trace is one of the process, and without one every maximal trace ends with
    /// termination.
    #[test]
    fn deadlocks(process in finite(5)) {
        let mut model = Model::new();
        let built = build(&mut model, &process, None);
        let all = traces(&process, 64, &Traces::new());
        let report = check(&mut model, built, ProcessProperty::DeadlockFree, &Limits::default()).expect("ends");
        match report.counterexample {
            Some(found) => prop_assert!(all.contains(&numbers(&found))),
            None => {
                let maximal = |trace: &&Vec<u8>| {
                    !all.iter().any(|other| other.len() > trace.len() && other.starts_with(trace))
                };
                prop_assert!(all.iter().filter(maximal).all(|trace| trace.last() == Some(&TICK)));
            }
        }
        // Without recursion nothing runs for ever.
        let report = check(&mut model, built, ProcessProperty::DivergenceFree, &Limits::default()).expect("ends");
        prop_assert!(report.holds());
    }
}
