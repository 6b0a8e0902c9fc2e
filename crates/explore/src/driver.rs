//! Runs a strategy against a target.

use std::ops::ControlFlow;

use raddle_model::finding::Stats;
use raddle_model::{Execution, Target, TargetError};
use raddle_vocab::RunStatus;

use crate::crowd::is_crowded;
use crate::strategy::{Gap, Strategy, Worth};

/// What came of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Figures; `seconds` is left to the caller.
    pub stats: Stats,
    /// Why it is not exhaustive, if it is not.
    pub gap: Option<Gap>,
}

/// Asks the strategy for runs, keeps as many under way as the target wants, and shows every execution to `observe`, which
/// can end the search.
///
/// # Errors
/// If the target is lost or the search interrupted; what was seen until then was observed.
pub fn explore(
    strategy: &mut dyn Strategy,
    target: &mut dyn Target,
    observe: &mut dyn FnMut(&Execution, Worth, &Stats) -> ControlFlow<()>,
) -> Result<Outcome, TargetError> {
    let mut stats = Stats::default();
    let mut execution = Execution::empty();
    let mut under_way = 0;
    let mut crowded = false;
    loop {
        while under_way < target.window().max(1)
            && let Some(request) = strategy.next()
        {
            target.submit(request);
            under_way += 1;
        }
        if under_way == 0 {
            let crowd = crowded.then_some(Gap::Crowd);
            return Ok(Outcome { stats, gap: strategy.gap().or(crowd) });
        }
        target.finish(&mut execution)?;
        under_way -= 1;
        let worth = strategy.learn(&execution);
        count(&mut stats, &execution, worth);
        crowded = crowded || is_crowded(&execution);
        if observe(&execution, worth, &stats).is_break() {
            drain(target, under_way)?;
            return Ok(Outcome { stats, gap: Some(Gap::Stopped) });
        }
    }
}

/// Takes what is still under way, so that the target can be used again.
fn drain(target: &mut dyn Target, under_way: usize) -> Result<(), TargetError> {
    let mut execution = Execution::empty();
    (0..under_way).try_for_each(|_| target.finish(&mut execution))
}

/// Every execution counts in exactly one of the four counters, unless the search starts anew.
fn count(stats: &mut Stats, execution: &Execution, worth: Worth) {
    if worth == Worth::Void {
        *stats = Stats::default();
        return;
    }
    let counter = match (worth, execution.status) {
        (Worth::Redundant | Worth::Outside, _) | (_, RunStatus::Diverged) => &mut stats.blocked,
        _ if execution.is_stale() => &mut stats.blocked,
        (_, RunStatus::Assumed) => &mut stats.assumed,
        (_, RunStatus::Rest) => &mut stats.executions,
        _ => &mut stats.cut,
    };
    *counter += 1;
    stats.transitions += execution.steps.len() as u64;
    stats.events += execution.events;
    stats.threads = stats.threads.max(execution.threads.len() as u64);
}
