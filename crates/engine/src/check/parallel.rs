//! Several targets for one search (`--jobs`).

use std::collections::BTreeSet;
use std::time::Duration;

use raddle_exec::{NativeTarget, Options};
use raddle_explore::WorkerPool;
use raddle_explore::optimal::{Expander, WorkItem};
use raddle_explore::pool::{Analyser, Analysis, Warmup};
use raddle_model::defect::Signature;
use raddle_model::finding::Kind;
use raddle_model::{DefectFinder, SyncState, TargetError};

use super::search::{compared, is_compared};
use crate::findings::behind::Behind;
use crate::findings::orders::Orders;
use crate::options::{CheckOptions, StrategyName};
use crate::panics;

/// Whether several targets can share the search. A bound on preemptions replaces the strategy by
/// one that cannot be shared.
pub fn can_share(options: &CheckOptions) -> bool {
    options.strategy.can_share() && options.preemptions.is_none()
}

/// What a search does with one target before the others are started: starting them takes as long
/// as hundreds of runs.
const WARMUP: Warmup = Warmup { runs: 256, time: Duration::from_millis(100) };

/// How several targets work on one search.
pub struct ParallelSetup {
    /// How many targets.
    jobs: usize,
    /// How they are started.
    target_options: Options,
    /// Whether executions are expanded where they are made.
    expands: bool,
    spurious: u32,
    self_check: Option<u64>,
    allowed_exits: Vec<i32>,
}

impl ParallelSetup {
    /// For as many targets as the options say, which are started with `target_options`.
    pub fn new(options: &CheckOptions, target_options: &Options) -> Self {
        ParallelSetup {
            jobs: options.jobs(),
            target_options: target_options.clone(),
            // Of `auto`, the part with `optimal` is shared.
            expands: matches!(options.strategy, StrategyName::Auto | StrategyName::Optimal)
                && !options.memory.is_weak(),
            spurious: options.spurious,
            self_check: options.self_check,
            allowed_exits: options.allowed_exits.clone(),
        }
    }

    /// The pool of which `target` is the first.
    pub fn pool<'a>(&self, target: &'a mut NativeTarget) -> WorkerPool<'a, NativeTarget> {
        let options = self.target_options.clone();
        let mut pool = WorkerPool::shared(target, self.analyser()(), WARMUP, move || start(options));
        for _ in 1..self.jobs {
            let (options, analyser) = (self.target_options.clone(), self.analyser());
            pool.add_worker(move || Ok((start(options)?, analyser())), NativeTarget::limits);
        }
        pool
    }

    /// What makes the analyser of a worker.
    fn analyser(&self) -> impl FnOnce() -> Option<Analyser> + Send + use<> {
        let (expands, spurious, self_check) = (self.expands, self.spurious, self.self_check);
        let finder = DefectFinder::allowing(&self.allowed_exits).until_idle(self.target_options.until_idle);
        let sees_calls_only = self.target_options.sees_calls_only();
        let is_observed = self.target_options.observer.is_some();
        move || expands.then(|| expander(spurious, self_check, finder, (sees_calls_only, is_observed)))
    }
}

fn start(options: Options) -> Result<NativeTarget, TargetError> {
    NativeTarget::start(options).map_err(|error| TargetError::Lost(error.to_string()))
}

/// Finds children and defects where the execution was made. It is kept if it shows something that
/// this worker has not seen before, tells something new about the cause of a failure, or is due for
/// a check of raddle itself.
fn expander(
    spurious: u32,
    self_check: Option<u64>,
    mut finder: DefectFinder,
    (sees_calls_only, is_observed): (bool, bool),
) -> Analyser {
    let mut expander = Expander::new(spurious);
    let mut semantics = SyncState::new(spurious);
    let mut known: BTreeSet<Signature> = BTreeSet::new();
    let mut behind = Behind::default();
    let mut orders = Orders::default();
    let mut knows_overwritten = false;
    let is_panic_provoked = panics::is_provoked("worker");
    Box::new(move |number, request, execution| {
        let is_worker = || std::thread::current().name() != Some("main");
        assert!(!(is_panic_provoked && is_worker()), "a test wants this panic");
        let expansion = expander.expand(&WorkItem { schedule: request.schedule.into() }, execution);
        let mut keep = self_check.is_some_and(|every| (number + 1).is_multiple_of(every));
        let defects = finder.find(execution);
        keep |= behind.learn(execution, &defects);
        let has_race = defects.iter().any(|defect| defect.signature.kind == Kind::DataRace);
        keep |= is_observed && !has_race && orders.learn(execution);
        for defect in defects {
            keep |= known.insert(defect.signature);
        }
        keep |= finder.has_overwritten_lock() && !std::mem::replace(&mut knows_overwritten, true);
        let disagreement =
            is_compared(number + 1).then(|| compared(&mut semantics, execution, sees_calls_only).err()).flatten();
        let note = disagreement.map(|disagreement| disagreement.to_string());
        Analysis { expansion: Some(expansion), keep, note }
    })
}
