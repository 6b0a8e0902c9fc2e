//! Self-checks. A search is sound only if equal schedules give equal executions, and equivalent
//! schedules give every thread the same events. Each check runs schedules on a target and reports
//! the first difference.
//!
//! A difference means that something outside raddle's control decided (time, randomness, an
//! address, another process), or that the runtime has a bug. In both cases a verdict cannot be
//! trusted.

mod linearise;
mod views;
mod words;

use raddle_model::{Execution, Request, Target, TargetError};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;

pub use linearise::linearisation;
pub use views::{Difference, same_execution, same_threads};

use crate::recording::{NoNames, choices_of, entries_of};

/// Runs the request once more and compares with what it gave before.
///
/// # Errors
/// If the target is lost. A difference is a result.
pub fn repeat(
    target: &mut dyn Target,
    request: &Request,
    before: &Execution,
) -> Result<Option<Difference>, TargetError> {
    let mut again = Execution::empty();
    target.submit(request.clone());
    target.finish(&mut again)?;
    Ok(same_execution(before, &again).err())
}

/// Runs the events of an execution in another order that differs only in independent neighbours.
/// Each thread must do the same. Only for executions without data races that came to rest and in
/// which every spin loop was known; others are skipped.
///
/// # Errors
/// If the target is lost. A difference is a result.
pub fn reorder(
    target: &mut dyn Target,
    execution: &Execution,
    spurious: u32,
    seed: u64,
) -> Result<Option<Difference>, TargetError> {
    if execution.status != RunStatus::Rest {
        return Ok(None);
    }
    let entries = entries_of(execution, spurious, &NoNames);
    let order = linearisation(&execution.events, seed);
    let reordered: Vec<_> = order.iter().map(|&index| entries[index].clone()).collect();
    let schedule = match choices_of(&reordered) {
        Ok(schedule) => schedule,
        // Program order and creation are kept, so this happens only if dependence is wrong.
        Err(error) => return Ok(Some(Difference::new(error.to_string()))),
    };
    let max_events = execution.recorded.saturating_mul(2).saturating_add(1000);
    let mut again = Execution::empty();
    target.submit(Request { schedule, policy: Policy::LeastRank, max_events });
    target.finish(&mut again)?;
    // If a spin loop became known only now, this run lacks failed rounds that the execution has.
    if again.awaits > execution.awaits {
        return Ok(None);
    }
    Ok(same_threads(execution, &again).err())
}

/// Runs a request on two targets that must agree, for example snapshot and fork.
///
/// # Errors
/// If a target is lost. A difference is a result.
pub fn agree(
    one: &mut dyn Target,
    other: &mut dyn Target,
    request: &Request,
) -> Result<Option<Difference>, TargetError> {
    let mut first = Execution::empty();
    one.submit(request.clone());
    one.finish(&mut first)?;
    repeat(other, request, &first)
}
