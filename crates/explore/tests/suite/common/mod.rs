//! What several tests need: exhaustive search of an abstract program and what it shows.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod naive;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::trace::TraceHasher;
use raddle_explore::{Classification, Strategy, WorkerPool, explore};
use raddle_model::defect::Signature;
use raddle_model::finding::Severity;
use raddle_model::{DefectFinder, Execution, PendingState, SyncState};
pub use raddle_testkit::effort::sample;
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::RunStatus;

/// What a search saw.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Runs that came to rest.
    pub executions: u64,
    /// Redundant ones.
    pub blocked: u64,
    /// Their traces.
    pub traces: BTreeSet<u64>,
    /// Those in which every thread came to its end.
    pub finished: BTreeSet<u64>,
}

/// Runs a strategy to its end.
pub fn search(strategy: &mut dyn Strategy, program: &AbstractProgram, granularity: Granularity) -> Seen {
    search_with(strategy, MemoryTarget::new(program, granularity), 0)
}

/// Runs a strategy to its end and checks every execution against the semantics.
pub fn search_with(strategy: &mut dyn Strategy, mut target: MemoryTarget, spurious: u32) -> Seen {
    let mut hasher = TraceHasher::default();
    let (mut traces, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let outcome = explore(strategy, &mut WorkerPool::of_one(&mut target), &mut |run, class, _| {
        let execution = run.execution.unwrap();
        obeys_the_semantics(execution, spurious);
        if class == Classification::Counted && execution.status == RunStatus::Rest {
            let trace = hasher.hash(execution);
            traces.insert(trace);
            if execution.pending.iter().all(|p| matches!(p.state, PendingState::Ended | PendingState::Exited)) {
                finished.insert(trace);
            }
        }
        ControlFlow::Continue(())
    });
    let stats = outcome.unwrap().stats;
    Seen { executions: stats.executions, blocked: stats.blocked, traces, finished }
}

/// Every schedule of a program.
pub fn brute_force(program: &AbstractProgram, granularity: Granularity) -> Seen {
    search(&mut Dfs::new(0), program, granularity)
}

/// Every defect that some execution of the program has, warnings aside. `None` if there are more
/// than `limit` runs.
pub fn all_defects(program: &AbstractProgram, granularity: Granularity, limit: u64) -> Option<BTreeSet<Signature>> {
    let mut finder = DefectFinder::new();
    let mut found = BTreeSet::new();
    let mut strategy = MaxExecutions::of_runs(Dfs::of_traces(0), limit);
    let mut target = MemoryTarget::new(program, granularity);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        let errors = finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error);
        found.extend(errors.map(|defect| defect.signature));
        ControlFlow::Continue(())
    });
    outcome.unwrap().incomplete.is_none().then_some(found)
}

/// Every trace of a program, once.
pub fn all_traces(program: &AbstractProgram, granularity: Granularity) -> Seen {
    let seen = search(&mut Dfs::of_traces(0), program, granularity);
    assert_eq!(seen.executions, seen.traces.len() as u64);
    seen
}

/// Seeds of random programs.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    0..sample(count)
}

/// Every step did what it should; here all changes of memory that atomic operations see are steps,
/// unless accesses are plain.
pub fn obeys_the_semantics(execution: &Execution, spurious: u32) {
    SyncState::new(spurious).check(execution).unwrap();
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    let plain = execution.events.iter().any(|event| event.op.is_plain_write()) || !execution.accesses.is_empty();
    assert!(plain || !world.has_opaque_memory(), "{execution:#?}");
}
