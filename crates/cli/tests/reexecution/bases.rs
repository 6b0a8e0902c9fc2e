//! Runs that start from states in the middle of others are the same as those that start from the
//! beginning.

use std::ffi::OsString;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;

use libtest_mimic::Failed;
use raddle_exec::{Checkpoints, NativeTarget, RestoreMode};
use raddle_explore::bounds::{MaxEvents, MaxExecutions};
use raddle_explore::optimal::Optimal;
use raddle_explore::{WorkerPool, explore};
use raddle_model::{Execution, Request, Target, TargetError};

use crate::same;

/// Executions of a search that are compared.
const EXECUTIONS: u64 = 60;
/// Longer runs are cut.
const EVENTS: u64 = 5000;

/// Two targets that get the same requests and must give the same answers.
struct Both {
    never: NativeTarget,
    always: NativeTarget,
    difference: Option<String>,
}

impl Target for Both {
    fn submit(&mut self, request: Request) {
        self.never.submit(request.clone());
        self.always.submit(request);
    }

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        let mut other = Execution::empty();
        self.never.finish(into)?;
        self.always.finish(&mut other)?;
        if self.difference.is_none() {
            self.difference = difference(into, &other);
        }
        Ok(())
    }

    fn window(&self) -> usize {
        self.never.window()
    }
}

/// Where two executions differ in anything at all.
fn difference(expected: &Execution, found: &Execution) -> Option<String> {
    let first = |one: &dyn Debug, other: &dyn Debug| {
        let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
        let mut lines = one.lines().zip(other.lines()).filter(|(a, b)| a != b);
        let (one, other) = lines.next().unwrap_or(("an end", "more, or nothing more"));
        format!("{} instead of {}", other.trim(), one.trim())
    };
    if expected.events != found.events {
        return Some(first(&expected.events, &found.events));
    }
    if expected.accesses != found.accesses {
        return Some(first(&expected.accesses, &found.accesses));
    }
    let rest = |execution: &Execution| {
        let Execution { threads, pending, incidents, status, exit, diverged_at, events, awaits, .. } =
            execution.clone();
        (threads, pending, incidents, status, exit, diverged_at, events, awaits)
    };
    let (expected, found) = (rest(expected), rest(found));
    (expected != found).then(|| first(&expected, &found))
}

/// Searches a program both ways; gives the number of runs that started from the middle of others.
pub fn check(program: &Path, args: &[OsString]) -> Result<u64, Failed> {
    let target = |checkpoints| same::start(program, args, RestoreMode::Snapshot, checkpoints);
    let (never, always) = (target(Checkpoints::Never)?, target(Checkpoints::Always)?);
    let mut both = Both { never, always, difference: None };
    let mut strategy = MaxEvents::new(MaxExecutions::new(Optimal::new(0), EXECUTIONS), EVENTS);
    explore(&mut strategy, &mut WorkerPool::of_one(&mut both), &mut |_, _, _| ControlFlow::Continue(()))?;
    if let Some(difference) = both.difference {
        return Err(format!("from the middle of another run: {difference}").into());
    }
    if both.never.limits() != both.always.limits() {
        return Err(format!("other limits: {:?} and {:?}", both.never.limits(), both.always.limits()).into());
    }
    Ok(both.always.statistics().resumed)
}
