//! The search: strategy against target, every execution looked at.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use raddle_exec::{NativeTarget, selfcheck};
use raddle_explore::driver::{SearchOutcome, explore};
use raddle_explore::pool::{Analyser, WorkerPool, explore_with};
use raddle_explore::units::Expansion;
use raddle_explore::{Classification, IncompleteReason, Strategy};
use raddle_model::finding::{Prune, Reason, Stats};
use raddle_model::{Choice, Execution, Request, SyncState, TargetError, semantics};
use raddle_vocab::policy::{Policy, mix};

use super::parallel::ParallelSetup;
use crate::error::Error;
use crate::findings::collect::Collector;
use crate::observer::{Observer, Progress};

/// Executions that are all compared with the semantics; of later ones, every [`SPARSELY`]th is.
const CLOSELY: u64 = 256;
const SPARSELY: u64 = 64;
/// Executions between two estimates of the total.
const ESTIMATE_EVERY: u64 = 64;

/// Why a search ends whose suppressed accesses have to become scheduling points.
pub const RESTART: &str = "suppressed";

/// What came of a search.
pub struct SearchResult {
    /// Figures.
    pub stats: Stats,
    /// Why it is not complete, if it is not.
    pub reason: Option<Reason>,
    /// What was not modelled.
    pub limits: Vec<String>,
}

/// Everything that a search needs.
pub struct Search<'a, 'b> {
    /// Decides what to run.
    pub strategy: Box<dyn Strategy>,
    /// Runs it.
    pub target: &'a mut NativeTarget,
    /// What others need to run it together with the target.
    pub parallel: Option<ParallelSetup>,
    /// Takes what is found.
    pub collector: &'a mut Collector<'b>,
    /// Is told how far it is and what is found.
    pub observer: &'a mut dyn Observer,
    /// Checks raddle itself.
    pub self_check: Option<SelfCheck>,
    /// Whether the first error ends it.
    pub stop_at_first: bool,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
}

/// Why a search ended before its strategy had nothing more to ask for.
enum StopReason {
    /// The first error was enough.
    AtFirst,
    /// Something makes the rest pointless.
    Because(Reason),
    /// A witness could not be made.
    Failed(Error),
    /// What one target has learnt about loops of busy waiting, the others do not know.
    BusyWaiting,
}

impl Search<'_, '_> {
    /// Searches.
    pub fn run(self) -> Result<SearchResult, Error> {
        let Search { strategy, target, parallel, collector, observer, self_check, stop_at_first, spurious } = self;
        let estimate = Rc::new(Cell::new(None));
        let (last, ended, seen) = (Stats::default(), None, 0);
        let mut monitor =
            SearchMonitor { collector, observer, self_check, stop_at_first, spurious, estimate, last, ended, seen };
        if let Some(ParallelSetup { mut pool, mut analyser, strategy, target_options }) = parallel {
            let outcome = monitor.together(strategy, (&mut *target, &mut analyser), &mut pool);
            let mut limits = pool.dismiss();
            if !matches!(monitor.ended, Some(StopReason::BusyWaiting)) {
                limits.extend(target.limits().into_iter().filter(|limit| !limits.contains(limit)).collect::<Vec<_>>());
                return monitor.searched(outcome, limits);
            }
            // What a target knows about loops changes its runs.
            *target = NativeTarget::start(target_options)?;
            (monitor.last, monitor.ended, monitor.seen) = (Stats::default(), None, 0);
        }
        let outcome = monitor.alone(strategy, target);
        monitor.searched(outcome, target.limits())
    }
}

/// Looks at every run.
struct SearchMonitor<'a, 'b> {
    collector: &'a mut Collector<'b>,
    observer: &'a mut dyn Observer,
    self_check: Option<SelfCheck>,
    stop_at_first: bool,
    spurious: u32,
    estimate: Rc<Cell<Option<f64>>>,
    last: Stats,
    ended: Option<StopReason>,
    seen: u64,
}

impl SearchMonitor<'_, '_> {
    fn alone(&mut self, strategy: Box<dyn Strategy>, target: &mut NativeTarget) -> Result<SearchOutcome, TargetError> {
        let mut strategy = Estimated { inner: strategy, learnt: 0, estimate: Rc::clone(&self.estimate) };
        explore(&mut strategy, target, &mut |execution, class, stats| {
            self.note(stats);
            if class != Classification::OutOfBound {
                let compare = is_compared(self.seen);
                self.look(execution, stats, compare);
            }
            self.flow()
        })
    }

    fn together(
        &mut self,
        strategy: Box<dyn Strategy>,
        own: (&mut NativeTarget, &mut Analyser),
        pool: &mut WorkerPool,
    ) -> Result<SearchOutcome, TargetError> {
        let mut strategy = Estimated { inner: strategy, learnt: 0, estimate: Rc::clone(&self.estimate) };
        explore_with(&mut strategy, own, pool, &mut |made, _, stats| {
            self.note(stats);
            if made.summary.waits {
                self.ended = Some(StopReason::BusyWaiting);
                return ControlFlow::Break(());
            }
            if let Some(execution) = &made.execution {
                self.look(execution, stats, !made.worked && is_compared(self.seen));
            }
            if let Some(disagreement) = made.note.as_ref().filter(|_| self.ended.is_none()) {
                self.ended = Some(StopReason::Because(disagrees(disagreement)));
            }
            self.flow()
        })
    }

    fn note(&mut self, stats: &Stats) {
        self.last = stats.clone();
        self.seen += 1;
        let estimate = self.estimate.get();
        self.observer.progress(&Progress { stats, findings: self.collector.findings.len(), estimate });
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Takes what the execution shows, and checks raddle itself on it.
    fn look(&mut self, execution: &Execution, stats: &Stats, compare: bool) {
        self.observer.examined(execution.events.len());
        let met = self.collector.meet(execution, stats.executions.saturating_sub(1), self.observer);
        self.ended = match met {
            Err(failure) => Some(StopReason::Failed(failure)),
            Ok(_) if self.stop_at_first && self.collector.has_error() => Some(StopReason::AtFirst),
            Ok(_) if !self.collector.benign.is_empty() => {
                Some(StopReason::Because(reason(RESTART, "a suppressed race was met")))
            }
            Ok(collected) => {
                let fresh = !collected.is_empty();
                self.doubts(execution, fresh, compare).map(StopReason::Because)
            }
        };
    }

    fn doubts(&mut self, execution: &Execution, fresh: bool, compare: bool) -> Option<Reason> {
        if compare && let Err(disagreement) = semantics::check(execution, self.spurious) {
            return Some(disagrees(&disagreement.to_string()));
        }
        // A race makes the order of independent operations matter.
        let difference = self.self_check.as_mut().filter(|_| !fresh)?.look(execution, self.seen, self.spurious);
        match difference {
            Ok(None) => None,
            Ok(Some(text)) => Some(reason("nondeterministic", &text)),
            Err(TargetError::Interrupted) => Some(reason("interrupted", "the search was interrupted")),
            Err(error) => Some(reason("target-lost", &error.to_string())),
        }
    }

    fn searched(self, outcome: Result<SearchOutcome, TargetError>, limits: Vec<String>) -> Result<SearchResult, Error> {
        let mut stats = self.last;
        let reason = match (self.ended, outcome) {
            (Some(StopReason::Failed(failure)), _) => return Err(failure),
            (Some(StopReason::Because(reason)), _) => Some(reason),
            (Some(StopReason::AtFirst), _) => Some(reason_of(IncompleteReason::Stopped)),
            (Some(StopReason::BusyWaiting), _) => Some(reason_of(IncompleteReason::BusyWaiting)),
            (None, Ok(outcome)) => {
                stats = outcome.stats;
                outcome.incomplete.map(reason_of)
            }
            (None, Err(TargetError::Interrupted)) => Some(reason("interrupted", "the search was interrupted")),
            (None, Err(TargetError::Late)) => Some(reason_of(IncompleteReason::Time)),
            // A program that never ran is a failure, one that got lost on the way leaves the answer open.
            (None, Err(error)) if stats.events == 0 => return Err(error.into()),
            (None, Err(error)) => Some(reason("target-lost", &error.to_string())),
        };
        Ok(SearchResult { stats, reason, limits })
    }
}

/// Whether the execution with this number is compared with the semantics.
pub fn is_compared(number: u64) -> bool {
    number <= CLOSELY || number.is_multiple_of(SPARSELY)
}

fn disagrees(disagreement: &str) -> Reason {
    let text = format!("raddle's runtime and its model disagree, which is a bug of raddle: {disagreement}");
    reason("disagreement", &text)
}

/// Runs executions again while the search goes on.
pub struct SelfCheck {
    every: u64,
    target: NativeTarget,
}

impl SelfCheck {
    /// Every `every`-th execution is run again on this target.
    pub fn new(every: u64, target: NativeTarget) -> Self {
        SelfCheck { every, target }
    }

    /// Runs an execution's schedule again, as it was and in an equivalent order; a sentence if something differs.
    fn look(&mut self, execution: &Execution, number: u64, spurious: u32) -> Result<Option<String>, TargetError> {
        if !number.is_multiple_of(self.every) || execution.diverged_at.is_some() {
            return Ok(None);
        }
        let request = again(execution, spurious);
        if let Some(difference) = selfcheck::repeat(&mut self.target, &request, execution)? {
            return Ok(Some(format!("the same schedule gave another run: {difference}")));
        }
        let difference = selfcheck::reorder(&mut self.target, execution, spurious, mix(number))?;
        Ok(difference.map(|difference| format!("an equivalent schedule gave another run: {difference}")))
    }
}

/// The request that asks for every step of an execution.
fn again(execution: &Execution, spurious: u32) -> Request {
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    let choose = |step: &raddle_model::Event| {
        let choice = world.choice_of(step);
        world.apply(step);
        Choice { thread: step.thread, choice }
    };
    let schedule = execution.events.iter().map(choose).collect();
    Request { schedule, policy: Policy::LeastRank, max_events: execution.recorded.saturating_add(1) }
}

/// Lets the estimate of a strategy be seen while a search has the strategy in its hands.
struct Estimated {
    inner: Box<dyn Strategy>,
    learnt: u64,
    estimate: Rc<Cell<Option<f64>>>,
}

impl Strategy for Estimated {
    fn next(&mut self) -> Option<Request> {
        self.inner.next()
    }

    fn learn(&mut self, execution: &Execution) -> Classification {
        self.learnt += 1;
        if self.learnt.is_multiple_of(ESTIMATE_EVERY) {
            self.estimate.set(self.inner.estimate());
        }
        self.inner.learn(execution)
    }

    fn learn_work(&mut self, work: Expansion) -> Classification {
        self.learnt += 1;
        if self.learnt.is_multiple_of(ESTIMATE_EVERY) {
            self.estimate.set(self.inner.estimate());
        }
        self.inner.learn_work(work)
    }

    fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.inner.incomplete_reason()
    }

    fn estimate(&self) -> Option<f64> {
        self.inner.estimate()
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }
}

fn reason(code: &str, text: &str) -> Reason {
    Reason { code: code.into(), text: text.into() }
}

/// A incomplete in words.
fn reason_of(incomplete: IncompleteReason) -> Reason {
    let text = match incomplete {
        IncompleteReason::Sampling => "only a sample of the schedules was tried",
        IncompleteReason::Executions => "the bound on executions was reached (--max-executions)",
        IncompleteReason::Time => "the time limit was reached (--time-limit)",
        IncompleteReason::Events => "some run was cut before its end (--max-events)",
        IncompleteReason::Broken => "some run could not be followed to its end",
        IncompleteReason::Preemptions => "schedules with more preemptions were left out (--preemptions)",
        IncompleteReason::Diverged => {
            "some run did not follow its schedule: the program does not do the same twice, or raddle has a bug"
        }
        IncompleteReason::BusyWaiting => "busy waiting led to too many runs that went nowhere: the search gave up",
        IncompleteReason::Crowd => {
            "more threads competed for a barrier than fit into a round, and not every choice of them was tried"
        }
        IncompleteReason::Stopped => "the search stopped at the first error (--stop-at-first)",
    };
    reason(incomplete.word(), text)
}
