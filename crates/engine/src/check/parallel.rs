//! Several targets for one search (`--jobs`).

use std::collections::BTreeSet;
use std::time::Duration;

use raddle_exec::{NativeTarget, Options};
use raddle_explore::Strategy;
use raddle_explore::optimal::WorkItem;
use raddle_explore::pool::{Analyser, Analysis, WorkerPool};
use raddle_explore::units::Worker;
use raddle_model::defect::Signature;
use raddle_model::{DefectFinder, TargetError, semantics};

use super::search::is_compared;
use super::strategies;
use crate::options::{CheckOptions, StrategyName};

/// Whether the search can be shared: each run has to be a matter of its own.
pub fn can_share(options: &CheckOptions) -> bool {
    use StrategyName::{Optimal, Pct, Pos, Random};
    matches!(options.strategy, Optimal | Random | Pct | Pos) && options.preemptions.is_none()
}

/// Runs and time that a search takes before other targets than the first come to help: starting them takes as long as hundreds of runs.
const ALONE: (u64, Duration) = (256, Duration::from_millis(100));

/// Everything that a search with several targets needs besides the first target.
pub struct ParallelSetup {
    /// The other targets.
    pub pool: WorkerPool,
    /// Looks at the executions of the first.
    pub analyser: Analyser,
    /// Decides what to run.
    pub strategy: Box<dyn Strategy>,
    /// For a target that does not know what others have learnt.
    pub target_options: Options,
}

/// What `jobs` targets need; `window` runs shall be under way at a time.
pub fn prepare(options: &CheckOptions, target_options: &Options, window: usize) -> ParallelSetup {
    let mut pool = WorkerPool::new(window, ALONE.0, ALONE.1);
    for _ in 1..options.jobs() {
        let (target_options, analyser) = (target_options.clone(), analyser(options));
        let begin = move || {
            let target = NativeTarget::start(target_options).map_err(|error| TargetError::Lost(error.to_string()))?;
            Ok((target, analyser()))
        };
        pool.join(begin, NativeTarget::limits);
    }
    ParallelSetup {
        pool,
        analyser: analyser(options)(),
        strategy: strategies::build_shared(options),
        target_options: target_options.clone(),
    }
}

/// What makes somebody who looks at executions.
fn analyser(options: &CheckOptions) -> impl FnOnce() -> Analyser + Send + 'static {
    let (works, spurious, self_check) =
        (options.strategy == StrategyName::Optimal, options.spurious, options.self_check);
    move || if works { worker(spurious, self_check) } else { Box::new(|_, _, _| Analysis::default()) }
}

/// Finds children and defects where the execution was made. It is kept if it shows something that this worker has not seen
/// before, or is due for a check of raddle itself.
fn worker(spurious: u32, self_check: Option<u64>) -> Analyser {
    let (mut worker, mut finder) = (Worker::new(spurious), DefectFinder::new());
    let mut known: BTreeSet<Signature> = BTreeSet::new();
    Box::new(move |number, request, execution| {
        let work = worker.work(&WorkItem { schedule: request.schedule }, execution);
        let mut keep = self_check.is_some_and(|every| (number + 1).is_multiple_of(every));
        for defect in finder.find(execution) {
            keep |= known.insert(defect.signature);
        }
        let disagreement = is_compared(number + 1).then(|| semantics::check(execution, spurious).err()).flatten();
        Analysis { work: Some(work), keep, note: disagreement.map(|disagreement| disagreement.to_string()) }
    })
}
