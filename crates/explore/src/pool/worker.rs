//! A target with the runs that it is to make, and what is made of them at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use raddle_model::{Execution, Request, Target, TargetError};

use super::queue::Task;
use crate::driver::Summary;
use crate::optimal::Expansion;

/// Runs that a worker takes at a time, at most, and whose results are handed over together:
/// waking a thread costs as much as a run.
pub(super) const HANDOUT_BATCH: usize = 32;
/// How long a batch may take: its results are not seen before.
const BATCH_TIME: Duration = Duration::from_millis(5);

/// What is made of an execution where its run was made.
#[derive(Debug, Default)]
pub struct Analysis {
    /// The strategy's share of the work, if it takes expansions.
    pub expansion: Option<Expansion>,
    /// Whether the execution itself is wanted; always if there is no expansion.
    pub keep: bool,
    /// Something to be said about it.
    pub note: Option<String>,
}

/// Analyses the execution with this number, which a request led to.
pub type Analyser = Box<dyn FnMut(u64, Request, &Execution) -> Analysis>;

/// A run on its way to the coordinator.
#[derive(Debug)]
pub(super) struct FinishedRun {
    pub number: u64,
    pub summary: Summary,
    pub analysis: Analysis,
    /// The execution, if it was wanted and does not stay with the worker.
    pub execution: Option<Box<Execution>>,
}

/// A target with what it is to run.
pub(super) struct Worker<'a, T> {
    pub target: &'a mut T,
    pub analyser: Option<Analyser>,
    /// Numbers of the runs under way, oldest first; each with its request if it is analysed.
    under_way: VecDeque<(u64, Option<Request>)>,
    /// The last execution.
    pub execution: Execution,
    /// When the batch under way was taken.
    batch_began: Instant,
    batch_size: usize,
    /// As many runs as shall be taken at a time, by the time that the last ones took.
    pub limit: usize,
}

impl<'a, T: Target> Worker<'a, T> {
    pub fn new(target: &'a mut T, analyser: Option<Analyser>) -> Self {
        Worker {
            target,
            analyser,
            under_way: VecDeque::new(),
            execution: Execution::empty(),
            batch_began: Instant::now(),
            batch_size: 0,
            limit: 1,
        }
    }

    pub fn submit(&mut self, Task { number, request }: Task) {
        if self.under_way.is_empty() {
            (self.batch_began, self.batch_size) = (Instant::now(), 0);
        }
        self.batch_size += 1;
        self.under_way.push_back((number, self.analyser.is_some().then(|| request.clone())));
        self.target.submit(request);
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Waits for the oldest run under way, and analyses it. The execution stays here.
    pub fn finish(&mut self) -> Result<FinishedRun, TargetError> {
        self.target.finish(&mut self.execution)?;
        let unasked = || TargetError::Lost("a run came back that was not asked for".into());
        let (number, request) = self.under_way.pop_front().ok_or_else(unasked)?;
        let analysis = match (&mut self.analyser, request) {
            (Some(analyse), Some(request)) => analyse(number, request, &self.execution),
            _ => Analysis::default(),
        };
        if self.under_way.is_empty() {
            let each = self.batch_began.elapsed().as_nanos() / self.batch_size.max(1) as u128;
            let limit = usize::try_from(BATCH_TIME.as_nanos() / each.max(1)).unwrap_or(HANDOUT_BATCH);
            self.limit = if self.target.is_near() { limit.clamp(1, HANDOUT_BATCH) } else { HANDOUT_BATCH };
        }
        Ok(FinishedRun { number, summary: Summary::of(&self.execution), analysis, execution: None })
    }

    /// Gives the last execution to its run, if it is wanted.
    pub fn hand_over(&mut self, run: FinishedRun) -> FinishedRun {
        let is_wanted = run.analysis.keep || run.analysis.expansion.is_none();
        let take = || Box::new(std::mem::replace(&mut self.execution, Execution::empty()));
        FinishedRun { execution: is_wanted.then(take), ..run }
    }
}
