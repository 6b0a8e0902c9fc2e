//! The in-memory target by itself: what single schedules do.

use raddle_model::{Choice, Execution, Operation as _, PendingState, Request, SyncState, Target};
use raddle_testkit::program::build::{add, assert_that, eq, fetch_add, lock, locked, num, read, reg, unlock, write};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::policy::Policy;
use raddle_vocab::{OpKind, RunStatus};

fn run(program: &AbstractProgram, granularity: Granularity, schedule: &[u16]) -> Execution {
    let mut target = MemoryTarget::new(program, granularity);
    let schedule = schedule.iter().map(|&thread| Choice::of(thread)).collect();
    target.submit(Request { schedule, policy: Policy::LeastRank, max_events: 1000 });
    let mut execution = Execution::empty();
    target.finish(&mut execution).unwrap();
    SyncState::new(0).check(&execution).unwrap();
    execution
}

fn kinds(execution: &Execution, thread: u16) -> Vec<OpKind> {
    execution.events.iter().filter(|step| step.thread == thread).map(|step| step.op.kind()).collect()
}

/// Two threads that lock and count.
fn counter() -> AbstractProgram {
    let body = || locked(0, vec![read(1, 0), write(0, add(reg(1), num(1)))]);
    AbstractProgram::parallel(1, 1, vec![body(), body()])
}

#[test]
fn default_run_comes_to_rest() {
    let execution = run(&counter(), Granularity::Sync, &[]);
    assert_eq!(execution.status, RunStatus::Rest);
    let main = [OpKind::ThreadStart, OpKind::Create, OpKind::Create, OpKind::Join, OpKind::Join, OpKind::Exit];
    assert_eq!(kinds(&execution, 0), main);
    assert_eq!(kinds(&execution, 1), [OpKind::ThreadStart, OpKind::Lock, OpKind::Unlock, OpKind::ThreadEnd]);
    assert_eq!(execution.accesses.len(), 4);
    assert_eq!(execution.threads[2].path.to_string(), "T2");
    let states: Vec<_> = execution.pending.iter().map(|pending| pending.state).collect();
    assert_eq!(states, [PendingState::Exited, PendingState::Ended, PendingState::Ended]);
}

#[test]
fn accesses_are_transitions_if_asked() {
    let execution = run(&counter(), Granularity::Access, &[]);
    let thread = [OpKind::ThreadStart, OpKind::Lock, OpKind::Read, OpKind::Write, OpKind::Unlock, OpKind::ThreadEnd];
    assert_eq!(kinds(&execution, 1), thread);
    assert!(execution.accesses.is_empty());
}

#[test]
fn disabled_thread_diverges() {
    // Main starts and creates both; T1 starts and locks; T2 starts and cannot lock.
    let execution = run(&counter(), Granularity::Sync, &[0, 0, 0, 1, 1, 2, 2]);
    assert_eq!(execution.status, RunStatus::Diverged);
    assert_eq!(execution.diverged_at, Some(6));
    assert_eq!(execution.pending[2].state, PendingState::Blocked);
    assert_eq!(execution.pending[2].event.op.kind(), OpKind::Lock);
}

#[test]
fn failed_thread_keeps_its_lock() {
    let failing = vec![lock(0), fetch_add(1, 0, num(1)), assert_that(eq(reg(1), num(7))), unlock(0)];
    let other = locked(0, vec![]);
    let execution = run(&AbstractProgram::parallel(1, 1, vec![failing, other]), Granularity::Sync, &[]);
    assert_eq!(execution.status, RunStatus::Rest);
    assert_eq!(execution.incidents.len(), 1);
    let states: Vec<_> = execution.pending.iter().map(|pending| pending.state).collect();
    assert_eq!(states, [PendingState::Blocked, PendingState::Failed, PendingState::Blocked]);
}
