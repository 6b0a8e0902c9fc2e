//! The search: strategy against target, every execution examined.

use std::ops::ControlFlow;
use std::time::Instant;

use raddle_exec::{NativeTarget, selfcheck};
use raddle_explore::driver::{ResumedSearch, SavedSearch, SearchOutcome, SearchProgress, Watcher, explore_watched};
use raddle_explore::pool::RunOutcome;
use raddle_explore::saved::{Loader, Saver};
use raddle_explore::{Classification, IncompleteReason, Strategy, WorkerPool};
use raddle_model::finding::{Reason, Stats};
use raddle_model::semantics::Disagreement;
use raddle_model::{Choice, Execution, Request, SyncState, TargetError};
use raddle_vocab::policy::{Policy, mix};

use super::guidance;
use super::hangs::{self, Hangs};
use super::parallel::ParallelSetup;
use crate::durable::{Keeper, SavedCheck};
use crate::error::Error;
use crate::findings::collect::Collector;
use crate::observer::{Observer, Progress};
use crate::panics;

/// The first executions are all compared with the semantics; of later ones, every [`SPARSELY`]th.
const CLOSELY: u64 = 256;
const SPARSELY: u64 = 64;

/// The code of a search that ends because suppressed accesses have to become scheduling points.
pub const RESTART: &str = "suppressed";

/// The code of a search that ends because the watchdog would have to end run after run.
const HANG: &str = "hang";

/// What came of a search.
pub struct SearchResult {
    /// Figures.
    pub stats: Stats,
    /// Why it is not complete, if it is not.
    pub reason: Option<Reason>,
    /// What was not modelled.
    pub limits: Vec<String>,
    /// Whether there is nothing that another search could do.
    pub is_final: bool,
    /// Whether the strategy has started again.
    pub has_restarted: bool,
    /// Whether the search has to go on with one target if it goes on.
    pub became_one: bool,
}

/// What every search of a check uses.
pub struct Session<'a, 'b> {
    /// Runs the program.
    pub target: &'a mut NativeTarget,
    /// Takes what is found.
    pub collector: &'a mut Collector<'b>,
    /// Is told how far it is and what is found.
    pub observer: &'a mut dyn Observer,
    /// Checks raddle itself.
    pub self_check: Option<SelfCheck>,
    /// Whether the first error ends the check.
    pub stop_at_first: bool,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
    /// Runs of earlier searches.
    pub runs_before: u64,
    /// Their figures, as far as this process made them.
    pub earlier: Stats,
    /// When names for the report of an unfinished search are looked up.
    pub name_from: Option<Instant>,
    /// One of the first runs, to name objects by.
    pub example: Option<Execution>,
    /// Makes the check durable.
    pub keeper: Option<&'a mut Keeper>,
    /// Whether the search that goes on has met a held lock that was overwritten.
    pub has_overwritten_lock: bool,
    /// How often the watchdog had to end a run.
    pub hangs: Hangs,
    /// What threads compete for most, in words, once that was looked up.
    pub contended: Option<Vec<String>>,
}

impl Session<'_, '_> {
    /// Whether equal states can be recognised: what compiled code keeps alive is known of code with
    /// hooks.
    pub fn can_match_states(&self) -> bool {
        !self.target.options().sees_calls_only()
    }
}

/// Why a search ended before its strategy had nothing more to ask for.
enum StopReason {
    /// The first error was enough.
    AtFirst,
    /// Something makes the rest pointless.
    Because(Reason),
    /// A witness could not be made.
    Failed(Error),
}

impl Session<'_, '_> {
    /// Searches with a strategy; with `parallel`, others run the program together with the target.
    /// `outer` writes down what the caller needs to go on with this search. `resumed` is a search
    /// that was saved; the strategy is as it was built then.
    pub fn search(
        &mut self,
        strategy: &mut dyn Strategy,
        parallel: Option<&ParallelSetup>,
        outer: &dyn Fn(&mut Saver),
        resumed: Option<&[u8]>,
    ) -> Result<SearchResult, Error> {
        let resumed = resumed.map(|bytes| resume(bytes, strategy)).transpose()?;
        let parallel = parallel.filter(|_| !resumed.as_ref().is_some_and(ResumedSearch::became_one));
        let mut monitor = SearchMonitor {
            collector: &mut *self.collector,
            observer: &mut *self.observer,
            self_check: self.self_check.as_mut(),
            stop_at_first: self.stop_at_first,
            spurious: self.spurious,
            runs_before: self.runs_before,
            earlier: &mut self.earlier,
            name_from: &mut self.name_from,
            example: &mut self.example,
            semantics: SyncState::new(self.spurious),
            sees_calls_only: self.target.options().sees_calls_only(),
            last: resumed.as_ref().map_or_else(Stats::default, |resumed| figures(resumed.progress())),
            ended: None,
            seen: resumed.as_ref().map_or(0, ResumedSearch::number),
            has_overwritten_lock: std::mem::take(&mut self.has_overwritten_lock),
            hangs: &mut self.hangs,
            contended: &mut self.contended,
            keeper: self.keeper.as_deref_mut(),
            outer,
            is_panic_provoked: panics::is_provoked("search"),
        };
        let target = &mut *self.target;
        let searched = panics::catch(|| {
            let mut pool = match parallel {
                Some(parallel) => parallel.pool(target),
                None => WorkerPool::of_one(target),
            };
            let outcome = explore_watched(strategy, &mut pool, &mut monitor, resumed);
            pool.close();
            outcome
        });
        let outcome = match searched {
            Ok(searched) => searched,
            Err(reason) => {
                let (stats, limits) = (monitor.last, Vec::new());
                return Ok(SearchResult {
                    stats,
                    reason: Some(reason),
                    limits,
                    is_final: true,
                    has_restarted: false,
                    became_one: false,
                });
            }
        };
        let result = monitor.searched(outcome, target.limits())?;
        self.runs_before += result.stats.runs();
        self.earlier.extend(&result.stats);
        Ok(result)
    }
}

/// Examines every run.
struct SearchMonitor<'a, 'b> {
    collector: &'a mut Collector<'b>,
    observer: &'a mut dyn Observer,
    self_check: Option<&'a mut SelfCheck>,
    stop_at_first: bool,
    spurious: u32,
    runs_before: u64,
    earlier: &'a mut Stats,
    name_from: &'a mut Option<Instant>,
    example: &'a mut Option<Execution>,
    /// Replays executions.
    semantics: SyncState,
    /// Whether accesses to memory are not seen.
    sees_calls_only: bool,
    last: Stats,
    ended: Option<StopReason>,
    seen: u64,
    /// Whether a held lock was overwritten, and threads could compete for it.
    has_overwritten_lock: bool,
    hangs: &'a mut Hangs,
    contended: &'a mut Option<Vec<String>>,
    keeper: Option<&'a mut Keeper>,
    /// Writes down what the caller needs.
    outer: &'a dyn Fn(&mut Saver),
    /// Whether a test wants a panic after the first finding.
    is_panic_provoked: bool,
}

/// Figures with the estimate that belongs to them.
fn figures(SearchProgress { stats, estimate }: &SearchProgress) -> Stats {
    Stats { estimate: *estimate, ..stats.clone() }
}

/// Reads a search that was saved, and restores its strategy.
fn resume(bytes: &[u8], strategy: &mut dyn Strategy) -> Result<ResumedSearch, Error> {
    let mut from = Loader::new(bytes);
    let resumed = ResumedSearch::load(&mut from, strategy)?;
    from.end()?;
    Ok(resumed)
}

impl Watcher<NativeTarget> for SearchMonitor<'_, '_> {
    /// Takes what a run shows.
    fn see(&mut self, run: &RunOutcome<'_>, class: Classification, progress: &SearchProgress) -> ControlFlow<()> {
        if class == Classification::Restarted {
            self.earlier.extend(&self.last);
        }
        let SearchProgress { stats, estimate } = progress;
        self.last.copy_from(stats);
        self.last.estimate = *estimate;
        self.seen = run.number + 1;
        let findings = self.collector.findings.len();
        self.observer.progress(&Progress { stats, earlier: &*self.earlier, findings, estimate: *estimate, crew: None });
        self.look_up_names();
        if class != Classification::OutOfBound
            && let Some(execution) = run.execution
        {
            self.examine(execution, stats, !run.is_expanded && is_compared(self.seen));
        }
        assert!(!(self.is_panic_provoked && findings > 0), "a test wants this panic");
        if let Some(disagreement) = run.note.as_ref().filter(|_| self.ended.is_none()) {
            self.ended = Some(StopReason::Because(disagrees(disagreement)));
        }
        self.flow()
    }

    fn is_durable(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.is_durable())
    }

    fn is_due(&mut self, is_last: bool) -> bool {
        self.keeper.as_mut().is_some_and(|keeper| keeper.is_due(is_last))
    }

    fn keep(&mut self, search: SavedSearch, target: &NativeTarget) {
        let mut outer = Saver::default();
        (self.outer)(&mut outer);
        let Some(keeper) = &mut self.keeper else { return };
        let check = SavedCheck {
            runs_before: self.runs_before,
            has_overwritten_lock: self.has_overwritten_lock,
            target: target.save(),
            outer: outer.into_bytes(),
            search: search.bytes,
            knowledge: search.knowledge,
        };
        if let Some(sentence) = keeper.keep(&check) {
            self.observer.note(&sentence);
        }
    }
}

impl SearchMonitor<'_, '_> {
    fn flow(&self) -> ControlFlow<()> {
        if self.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Reads debug information as long as there is time: the end of the search must not wait for
    /// it.
    fn look_up_names(&mut self) {
        if let Some(example) = &*self.example
            && self.name_from.is_some_and(|from| Instant::now() >= from)
        {
            *self.name_from = None;
            *self.contended = Some(guidance::look_up(example, self.collector));
        }
    }

    /// Takes what the execution shows, and checks raddle itself on it.
    fn examine(&mut self, execution: &Execution, stats: &Stats, compare: bool) {
        self.observer.examined(execution.events.len());
        if self.example.is_none() && guidance::is_telling(execution) {
            *self.example = Some(execution.clone());
            if let Some(keeper) = &mut self.keeper {
                keeper.example(execution);
            }
        }
        let before = self.runs_before + stats.executions.saturating_sub(1);
        let met = self.collector.meet(execution, before, self.observer);
        if self.collector.is_told
            && let Some(keeper) = &mut self.keeper
        {
            keeper.met(execution, before);
        }
        self.has_overwritten_lock |= self.collector.has_overwritten_lock();
        self.ended = match met {
            Err(Error::Target(TargetError::Interrupted)) => {
                Some(StopReason::Because(reason("interrupted", "the search was interrupted")))
            }
            Err(Error::Target(TargetError::Late)) => Some(StopReason::Because(reason_of(IncompleteReason::Time))),
            Err(failure) => Some(StopReason::Failed(failure)),
            Ok(_) if self.stop_at_first && self.collector.has_error() => Some(StopReason::AtFirst),
            Ok(_) if !self.collector.benign.is_empty() => {
                Some(StopReason::Because(reason(RESTART, "a suppressed race was met")))
            }
            Ok(collected) => {
                if let Some(hang) = self.hangs.met(execution) {
                    let thread = execution.threads.get(usize::from(hang.thread)).map(|thread| thread.path.to_string());
                    let place = self.collector.place_of_hang(hang.pc);
                    let text = hangs::words(thread.as_deref().unwrap_or("a thread"), &place);
                    self.ended = Some(StopReason::Because(reason(HANG, &text)));
                    return;
                }
                let fresh = !collected.is_empty();
                self.doubts(execution, fresh, compare).map(StopReason::Because)
            }
        };
    }

    fn doubts(&mut self, execution: &Execution, fresh: bool, compare: bool) -> Option<Reason> {
        if compare && let Err(disagreement) = compared(&mut self.semantics, execution, self.sees_calls_only) {
            return Some(disagrees(&disagreement.to_string()));
        }
        // A race makes the order of independent operations matter.
        let difference = self.self_check.as_mut().filter(|_| !fresh)?.repeat(execution, self.seen, self.spurious);
        match difference {
            Ok(None) => None,
            Ok(Some(text)) => Some(reason("nondeterministic", &text)),
            Err(TargetError::Interrupted) => Some(reason("interrupted", "the search was interrupted")),
            Err(error) => Some(reason("target-lost", &error.to_string())),
        }
    }

    fn searched(
        self,
        outcome: Result<SearchOutcome, TargetError>,
        mut limits: Vec<String>,
    ) -> Result<SearchResult, Error> {
        if self.has_overwritten_lock {
            limits.push(OVERWRITTEN.into());
        }
        let mut stats = self.last;
        let mut is_final = self.ended.is_some() || outcome.is_err();
        let has_restarted = outcome.as_ref().is_ok_and(|outcome| outcome.has_restarted);
        let became_one = outcome.as_ref().is_ok_and(|outcome| outcome.became_one);
        let reason = match (self.ended, outcome) {
            (Some(StopReason::Failed(failure)), _) => return Err(failure),
            (Some(StopReason::Because(reason)), _) => Some(reason),
            (Some(StopReason::AtFirst), _) => Some(reason_of(IncompleteReason::Stopped)),
            (None, Ok(outcome)) => {
                stats = outcome.stats;
                is_final = matches!(outcome.incomplete, Some(IncompleteReason::Time | IncompleteReason::Executions));
                outcome.incomplete.map(reason_of)
            }
            (None, Err(TargetError::Interrupted)) => Some(reason("interrupted", "the search was interrupted")),
            (None, Err(TargetError::Late)) => Some(reason_of(IncompleteReason::Time)),
            // A program that never ran is an error. One that was lost on the way leaves the answer
            // open.
            (None, Err(error)) if stats.events == 0 => return Err(error.into()),
            (None, Err(error)) => Some(reason("target-lost", &error.to_string())),
        };
        // Of a run that was cut, it is not known what else it would have led to.
        let cut = IncompleteReason::Events.word();
        stats.estimate = stats.estimate.filter(|_| reason.as_ref().is_some_and(|reason| reason.code != cut));
        Ok(SearchResult { stats, reason, limits, is_final, has_restarted, became_one })
    }
}

/// Said of a program that has overwritten a held lock.
pub(super) const OVERWRITTEN: &str =
    "a lock was overwritten while it was held, or its memory used for another one: not every order was tried";

/// Whether the execution with this number is compared with the semantics.
pub fn is_compared(number: u64) -> bool {
    number <= CLOSELY || number.is_multiple_of(SPARSELY)
}

/// Compares an execution with the semantics.
pub fn compared(
    semantics: &mut SyncState,
    execution: &Execution,
    sees_calls_only: bool,
) -> Result<(), Box<Disagreement>> {
    if sees_calls_only { semantics.check_calls(execution) } else { semantics.check(execution) }
}

pub(super) fn disagrees(disagreement: &str) -> Reason {
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

    /// Runs an execution's schedule again, as it was and in an equivalent order; a sentence if
    /// something differs.
    fn repeat(&mut self, execution: &Execution, number: u64, spurious: u32) -> Result<Option<String>, TargetError> {
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

/// The request that asks for every event of an execution.
fn again(execution: &Execution, spurious: u32) -> Request {
    let mut state = SyncState::new(spurious);
    state.prepare(execution);
    let choose = |event: &raddle_model::Event| {
        let choice = state.choice_of(event);
        state.apply(event);
        Choice { thread: event.thread, choice }
    };
    let schedule = execution.events.iter().map(choose).collect();
    Request {
        schedule,
        policy: Policy::LeastRank,
        max_events: execution.recorded.saturating_mul(2).saturating_add(1000),
    }
}

pub(super) fn reason(code: &str, text: &str) -> Reason {
    Reason { code: code.into(), text: text.into() }
}

/// Why a search is incomplete, in words.
pub(super) fn reason_of(incomplete: IncompleteReason) -> Reason {
    let text = match incomplete {
        IncompleteReason::Sampling => "only a sample of the schedules was tried",
        IncompleteReason::Executions => "the bound on executions was reached (--max-executions)",
        IncompleteReason::Time => "the time limit was reached (--time-limit)",
        IncompleteReason::Events => {
            "some run was cut before its end, by --max-events, for want of memory for its trace, or at a call that \
             is not modelled"
        }
        IncompleteReason::Broken => "some run could not be followed to its end",
        IncompleteReason::Preemptions => "schedules with more preemptions were left out (--preemptions)",
        IncompleteReason::Diverged => {
            "some run did not follow its schedule: the program does not do the same twice, or raddle has a bug"
        }
        IncompleteReason::BusyWaiting => "busy waiting led to too many runs that went nowhere: the search gave up",
        IncompleteReason::Crowd => {
            "more threads competed for a barrier than fit into a round, and not every choice of them was tried"
        }
        IncompleteReason::Rounds => {
            "a thread goes round in a loop while others could run; only a few such rounds were tried"
        }
        IncompleteReason::Stopped => "the search stopped at the first error (--stop-at-first)",
        IncompleteReason::MemoryModel(what) => {
            let text = format!("the memory model of --memory is not applied to {}", what.words());
            return reason(incomplete.word(), &text);
        }
    };
    reason(incomplete.word(), text)
}
