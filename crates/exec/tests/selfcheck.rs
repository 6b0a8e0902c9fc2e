//! The self-checks on abstract programs, whose target is right by construction: they must find
//! nothing there, and they must find what a target that is not right does.

use raddle_exec::recording::{NoNames, choices_of, entries_of};
use raddle_exec::selfcheck::{agree, reorder, repeat, same_execution, same_threads};
use raddle_model::{Execution, Operation as _, Request, Target, TargetError};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::{Granularity, MemoryTarget};
use raddle_vocab::OpKind;
use raddle_vocab::policy::Policy;

fn random_run(target: &mut dyn Target, seed: u64) -> (Request, Execution) {
    let request = Request { schedule: Vec::new(), policy: Policy::Random { seed }, max_events: 2000 };
    let mut execution = Execution::empty();
    target.submit(request.clone());
    target.finish(&mut execution).unwrap();
    (request, execution)
}

/// Programs without data races: in others the order of independent steps can be seen in the racy
/// values.
fn program(seed: u64) -> raddle_testkit::AbstractProgram {
    generate(seed, &Knobs { races: false, ..Knobs::drawn(seed, 4, 8) })
}

#[test]
fn a_right_target_passes_every_check() {
    for seed in 0..400 {
        let mut target = MemoryTarget::new(&program(seed), Granularity::Sync);
        let (request, execution) = random_run(&mut target, seed);
        assert_eq!(repeat(&mut target, &request, &execution).unwrap(), None, "program {seed}");
        for order in 0..5 {
            assert_eq!(reorder(&mut target, &execution, 0, order).unwrap(), None, "program {seed}, order {order}");
        }
        let mut other = MemoryTarget::new(&program(seed), Granularity::Sync);
        assert_eq!(agree(&mut target, &mut other, &request).unwrap(), None, "program {seed}");
    }
}

#[test]
fn the_schedule_of_a_run_leads_through_the_same_run() {
    for seed in 0..400 {
        let mut target = MemoryTarget::with(&program(seed), Granularity::Sync, 1, 1);
        let (_, execution) = random_run(&mut target, seed);
        let schedule = choices_of(&entries_of(&execution, 1, &NoNames)).unwrap();
        let mut again = Execution::empty();
        target.submit(Request { schedule, policy: Policy::LeastRank, max_events: 2000 });
        target.finish(&mut again).unwrap();
        same_execution(&execution, &again).unwrap_or_else(|difference| panic!("program {seed}: {difference}"));
        same_threads(&execution, &again).unwrap();
    }
}

/// Gives each object of the heap an address that depends on how many runs there were.
struct Forgetful {
    inner: MemoryTarget,
    runs: u64,
}

impl Target for Forgetful {
    fn submit(&mut self, request: Request) {
        self.inner.submit(request);
    }

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        self.inner.finish(into)?;
        self.runs += 1;
        if let Some(step) = into.events.iter_mut().rev().find(|event| event.op.kind() == OpKind::ThreadEnd) {
            step.pc = self.runs;
        }
        Ok(())
    }
}

#[test]
fn a_target_that_is_not_right_is_found() {
    let mut target = Forgetful { inner: MemoryTarget::new(&program(3), Granularity::Sync), runs: 0 };
    let (request, execution) = random_run(&mut target, 1);
    let difference = repeat(&mut target, &request, &execution).unwrap().unwrap().to_string();
    assert!(difference.contains("end of thread") && difference.starts_with("step"), "{difference}");
    let difference = reorder(&mut target, &execution, 0, 1).unwrap().unwrap().to_string();
    assert!(difference.contains("of thread T"), "{difference}");
}
