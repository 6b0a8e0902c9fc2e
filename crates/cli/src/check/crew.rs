//! Several targets for one search (`--jobs`).

use std::collections::BTreeSet;

use raddle_exec::{NativeTarget, Options};
use raddle_explore::crew::{Crew, Look, Looker};
use raddle_explore::optimal::Unit;
use raddle_explore::units::Worker;
use raddle_model::defect::Signature;
use raddle_model::{DefectFinder, TargetError, world};

use super::search::is_compared;
use crate::args::{CheckArgs, StrategyName};

/// Whether the search can be shared: each run has to be a matter of its own.
pub fn can_share(args: &CheckArgs) -> bool {
    use StrategyName::{Optimal, Pct, Pos, Random};
    matches!(args.strategy, Optimal | Random | Pct | Pos) && args.preemptions.is_none()
}

/// Starts the targets; `window` runs shall be under way at a time.
pub fn start(args: &CheckArgs, options: &Options, window: usize) -> Crew {
    let mut crew = Crew::new(window);
    for _ in 0..args.jobs {
        let options = options.clone();
        let (works, spurious, self_check) = (args.strategy == StrategyName::Optimal, args.spurious, args.self_check);
        let begin = move || {
            let target = NativeTarget::start(options).map_err(|error| TargetError::Lost(error.to_string()))?;
            let looker: Looker = if works { worker(spurious, self_check) } else { Box::new(|_, _, _| Look::default()) };
            Ok((target, looker))
        };
        crew.join(begin, NativeTarget::limits);
    }
    crew
}

/// Finds children and defects where the execution was made. It is kept if it shows something that this worker has not seen
/// before, or is due for a check of raddle itself.
fn worker(spurious: u32, self_check: Option<u64>) -> Looker {
    let (mut worker, mut finder) = (Worker::new(spurious), DefectFinder::new());
    let mut known: BTreeSet<Signature> = BTreeSet::new();
    Box::new(move |number, request, execution| {
        let work = worker.work(&Unit { schedule: request.schedule }, execution);
        let mut keep = self_check.is_some_and(|every| (number + 1).is_multiple_of(every));
        for defect in finder.find(execution) {
            keep |= known.insert(defect.signature);
        }
        let disagreement = is_compared(number + 1).then(|| world::check(execution, spurious).err()).flatten();
        Look { work: Some(work), keep, note: disagreement.map(|disagreement| disagreement.to_string()) }
    })
}
