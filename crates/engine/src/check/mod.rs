//! The check: explores every schedule that matters, and reports what it shows.
//!
//! The search and the confirmation of findings have a target each, so that a finding is confirmed
//! and told while the search goes on.

mod auto;
mod elsewhere;
mod guidance;
mod hangs;
mod parallel;
mod search;
mod static_facts;
mod strategies;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_exec::open_values::OPEN_VALUES;
use raddle_exec::{Checkpoints, NativeTarget, Noticed, Options};
use raddle_model::finding::{Reason, Report, SCHEMA, Severity, Stats, verdict};
use raddle_report::json;

use crate::directory::{REPORT, RunDirectory, usual_directory};
use crate::distributed::{Elsewhere, SharedJob, environment as job_environment};
use crate::durable::{Durability, Interrupted, Keeper, ResumedCheck, RoundRow};
use crate::error::Error;
use crate::findings::collect::Collector;
use crate::findings::confirm::Confirmer;
use crate::findings::seen::Seen;
use crate::naming::{target_symbols, unhooked_copies, with_places};
use crate::observer::Observer;
use crate::options::{CheckOptions, StrategyName, granularity_word};
use crate::program::Program;
use crate::unseen::UnseenCode;
use hangs::Hangs;
use parallel::ParallelSetup;
use search::{RESTART, SearchResult, SelfCheck, Session};
use static_facts::StaticFacts;

pub(crate) use search::is_compared;
pub(crate) use strategies::within_preemptions;

/// Checks a program.
pub struct Checker {
    program: Program,
    options: CheckOptions,
    directory: PathBuf,
    durability: Option<Durability>,
    interrupted: Option<Interrupted>,
    elsewhere: Option<Box<dyn Elsewhere>>,
    /// Variables of the environment that a shared search has, beside the usual ones.
    environment: Vec<OsString>,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker")
            .field("program", &self.program)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Checker {
    /// A check of this program with the usual options. Witnesses and the report go to
    /// `.raddle/NAME`.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let directory = usual_directory(&program.name());
        let options = CheckOptions::default();
        Checker {
            program,
            options,
            directory,
            durability: None,
            interrupted: None,
            elsewhere: None,
            environment: Vec::new(),
        }
    }

    /// All options at once.
    #[must_use]
    pub fn options(self, options: CheckOptions) -> Self {
        Checker { options, ..self }
    }

    /// How to search.
    #[must_use]
    pub fn strategy(mut self, strategy: StrategyName) -> Self {
        self.options.strategy = strategy;
        self
    }

    /// Processors to use.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.options.jobs = Some(jobs);
        self
    }

    /// Stops the search after this time.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = Some(limit);
        self
    }

    /// Stops the search after so many executions.
    #[must_use]
    pub fn max_executions(mut self, executions: u64) -> Self {
        self.options.max_executions = Some(executions);
        self
    }

    /// Stops the search at the first error.
    #[must_use]
    pub fn stop_at_first(mut self) -> Self {
        self.options.stop_at_first = true;
        self
    }

    /// Where witnesses and the report go.
    #[must_use]
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Checker { directory: directory.into(), ..self }
    }

    /// Lets the check survive an interruption: it writes a journal.
    #[must_use]
    pub fn durable(self, durability: Durability) -> Self {
        Checker { durability: Some(durability), ..self }
    }

    /// Goes on with a check that was interrupted. Program and options must be the same.
    #[must_use]
    pub fn resume(self, interrupted: Interrupted) -> Self {
        Checker { interrupted: Some(interrupted), ..self }
    }

    /// Has other processes search, with `optimal`. The program has the usual variables of the
    /// environment and these: `NAME`, or `NAME=VALUE`.
    #[must_use]
    pub fn elsewhere(self, elsewhere: Box<dyn Elsewhere>, environment: &[OsString]) -> Self {
        Checker { elsewhere: Some(elsewhere), environment: environment.to_vec(), ..self }
    }

    /// Suppressions that fitted nothing in the last check: their lines, from 1, with their texts.
    pub fn unused_suppressions(&self) -> impl Iterator<Item = (usize, &str)> {
        self.options.suppressions.unused()
    }

    /// Checks the program. Findings are told to the observer as soon as they are confirmed; all of
    /// them are in the report, which is also written to the directory.
    ///
    /// # Errors
    /// If the options contradict each other, or the program cannot be run at all. A search that
    /// cannot go on has a report, whose verdict says so.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Report, Error> {
        self.options.validate()?;
        let begun = Instant::now();
        let mut options = self.target_options()?;
        if self.elsewhere.is_some() {
            self.options.validate_for_sharing()?;
            self.options.strategy = StrategyName::Optimal;
            options.environment = Some(job_environment(&self.environment));
        }
        if options.sees_calls_only() {
            self.options.validate_for_calls(options.observer.is_some())?;
        }
        let interrupted = self.interrupted.take();
        if strategies::may_match_states(self.options.strategy) {
            self.options.cache.get_or_insert_with(strategies::free_memory_quarter);
        }
        if let Some(interrupted) = &interrupted {
            self.set_up_again(interrupted, &mut options)?;
        }
        let mut keeper = self.durability.take().map(|durability| Keeper::new(durability, &self.options, &options));
        let mut resumed = match interrupted {
            Some(interrupted) => go_on(interrupted, &options, keeper.as_mut(), observer)?,
            None => None,
        };
        let mut suppressed: Vec<String> = Vec::new();
        if let Some(resumed) = &resumed {
            suppressed.clone_from(&resumed.round.suppressed);
            options.benign.clone_from(&resumed.round.benign);
            self.options.suppressions.mark_used(&resumed.round.used);
        }
        let directory = RunDirectory::create(&self.directory)?;
        let mut report = loop {
            directory.clear()?;
            if let Some(keeper) = &mut keeper {
                let used = self.options.suppressions.used().collect();
                let row = RoundRow { benign: options.benign.clone(), suppressed: suppressed.clone(), used };
                if let Some(sentence) = keeper.begin(row) {
                    observer.note(&sentence);
                }
            }
            let round = self.round(&options, &directory, observer, keeper.as_mut(), resumed.take())?;
            for text in round.suppressed {
                if !suppressed.contains(&text) {
                    suppressed.push(text);
                }
            }
            let restarts = round.report.reason.as_ref().is_none_or(|reason| reason.code == RESTART);
            if round.benign.is_empty() || !restarts {
                break round.report;
            }
            // What is suppressed becomes a scheduling point, and the search starts again.
            options.benign.extend(round.benign);
            if options.benign.len() > Options::MAX_BENIGN {
                return Err(Error::TooManySuppressed(Options::MAX_BENIGN));
            }
        };
        report.suppressed = suppressed;
        self.name_unseen(&mut report, &options);
        let elapsed = keeper.as_ref().map_or_else(|| begun.elapsed(), Keeper::elapsed);
        report.stats.seconds = elapsed.as_secs_f64();
        if !observer.concluded() {
            return Err(Error::GivenUp);
        }
        write_report(&self.directory, &report)?;
        if let Some(elsewhere) = self.elsewhere.as_mut().filter(|_| !can_go_on(&report)) {
            elsewhere.forget();
        }
        if let Some(sentence) = keeper.and_then(Keeper::finish) {
            observer.note(&sentence);
        }
        Ok(report)
    }

    /// Makes the check and its targets what they were when the check was interrupted, or says why
    /// that cannot be.
    fn set_up_again(&mut self, interrupted: &Interrupted, options: &mut Options) -> Result<(), Error> {
        let identity = &interrupted.identity;
        if let Some(what) = identity.difference(&self.options, options) {
            let what = format!("{what}; check the program anew");
            return Err(Error::Journal { path: interrupted.path().into(), what });
        }
        self.options.cache = Some(identity.cache);
        if let Ok(jobs) = usize::try_from(identity.jobs)
            && jobs != self.options.jobs()
        {
            self.options.jobs = Some(jobs.max(1));
        }
        options.takes_turns = self.options.jobs() == 1;
        options.environment = Some(identity.environment());
        Ok(())
    }

    fn target_options(&self) -> Result<Options, Error> {
        let mut options = self.program.target_options()?;
        options.granularity = self.options.granularity;
        options.keep_stores = self.options.memory.is_weak();
        options.spurious = self.options.spurious;
        options.takes_turns = self.options.jobs() == 1;
        Ok(options)
    }

    /// Names code without hooks. It keeps the verdict from being verified unless it is trusted.
    fn name_unseen(&self, report: &mut Report, options: &Options) {
        let found = UnseenCode::of(options, &self.options.trust).find();
        report.unseen = found.names;
        let reason = if options.observer.is_some() {
            report.notes.push(OBSERVED.into());
            found.reason
        } else if options.sees_calls_only() {
            report.notes.push(SEE_MORE.into());
            if report.reason.is_some() {
                report.notes.push(CALLS_ONLY.into());
            }
            let has_error = report.findings.iter().any(|finding| finding.severity == Severity::Error);
            let text = if has_error { CALLS_ONLY } else { CALLS_ONLY_COMPLETE };
            Some(Reason { code: "observe-sync".into(), text: text.into() })
        } else {
            found.reason
        };
        report.reason = report.reason.take().or(reason);
        let complete = report.reason.is_none();
        report.verdict = verdict(&report.findings, complete, self.options.warnings_are_errors);
    }

    /// One search from its start, or from where it was interrupted.
    fn round(
        &mut self,
        target_options: &Options,
        directory: &RunDirectory,
        observer: &mut dyn Observer,
        mut keeper: Option<&mut Keeper>,
        resumed: Option<ResumedCheck>,
    ) -> Result<Round, Error> {
        let options = &self.options;
        let within = Options {
            deadline: deadline(options),
            bound_rounds: !options.strategy.samples(),
            // What confirming findings shows is not the search's.
            noticed: Noticed::default(),
            ..target_options.clone()
        };
        let mut target = match &resumed {
            Some(resumed) => NativeTarget::start_again(within.clone(), resumed.target.clone(), &resumed.knowledge)?,
            None => NativeTarget::start(within.clone())?,
        };
        observer.started(&UnseenCode::of(target_options, &options.trust));
        let symbols = target_symbols(target_options, target.mappings());
        let StaticFacts { knowledge, notes } =
            static_facts::gather(options, &target_options.program, target.mappings());
        let confirmer = Confirmer::new(target_options.clone(), options.max_events);
        let mut collector = Collector::new(&symbols, confirmer, directory, options.property())
            .bounded(options.preemptions)
            .allowing(&options.allowed_exits)
            .with_framework(options.framework)
            .until_idle(target_options.until_idle)
            .seeing(Seen::of(&within));
        collector.suppressions = options.suppressions.clone();
        let parallel = parallel_setup(options, &within, observer);
        if let Some(resumed) = &resumed {
            meet_again(resumed, &mut collector, keeper.as_deref_mut(), observer)?;
        }
        collector.until(within.deadline);
        let mut session = Session {
            self_check: self_check(options, target_options)?,
            target: &mut target,
            collector: &mut collector,
            observer,
            stop_at_first: options.stop_at_first,
            spurious: options.spurious,
            earlier: Stats::default(),
            name_from: name_from(options),
            runs_before: resumed.as_ref().map_or(0, |resumed| resumed.runs_before),
            example: resumed.as_ref().and_then(|resumed| resumed.example.clone()),
            keeper,
            has_overwritten_lock: resumed.as_ref().is_some_and(|resumed| resumed.has_overwritten_lock),
            hangs: Hangs::default(),
            contended: None,
        };
        let begun = Instant::now();
        let shared = match &mut self.elsewhere {
            Some(elsewhere) => {
                let job = SharedJob::of(&self.program.name(), options, target_options)?;
                let found = elsewhere::search(options, &mut session, &mut **elsewhere, &job, begun)?;
                if found.is_none() {
                    session.observer.note(HANDED_OVER);
                }
                found
            }
            None => None,
        };
        let (name, mut searched) = if let Some(searched) = shared {
            (options.strategy, searched)
        } else if options.strategy == StrategyName::Auto && options.preemptions.is_none() && !options.memory.is_weak() {
            auto::search(options, &mut session, parallel.as_ref(), begun, resumed.as_ref())?
        } else {
            let mut strategy = strategies::build(options, knowledge, parallel.is_some());
            let resumed = resumed.as_ref().map(|resumed| &resumed.search[..]);
            (options.strategy, session.search(&mut *strategy, parallel.as_ref(), &|_| {}, resumed)?)
        };
        let (example, contended) = (session.example.take(), session.contended.take());
        let (reason, stats) = (searched.reason.as_ref(), &searched.stats);
        let hints = guidance::notes(reason, stats, options, example.as_ref(), contended, &mut collector);
        searched.limits = with_places(searched.limits, &symbols);
        searched.limits.extend(unhooked_copies(&symbols));
        collector.retract();
        let suppressions = std::mem::take(&mut collector.suppressions);
        let suppressed = std::mem::take(&mut collector.suppressed);
        let benign = std::mem::take(&mut collector.benign);
        let mut report = self.report(name, searched, collector);
        self.options.suppressions = suppressions;
        // What could not be pruned costs time, not certainty.
        report.limits.extend(notes);
        report.notes.extend(hints);
        Ok(Round { report, suppressed, benign })
    }

    /// Why the verdict cannot be verified, of what the target says. Values that a user asked for
    /// are no reason, unless an assumption excludes all of them.
    fn reason_among(&self, limits: &[String], stats: &Stats) -> Option<Reason> {
        let is_about_values = |limit: &&String| limit.starts_with(OPEN_VALUES);
        let reason = |code: &str, text: &String| Some(Reason { code: code.into(), text: text.clone() });
        if let Some(text) = limits.iter().find(|limit| !is_about_values(limit)) {
            return reason("not-modelled", text);
        }
        let are_excluded = stats.executions == 0 && stats.assumed > 0;
        limits
            .iter()
            .find(|limit| are_excluded || !self.program.asks_for_values(limit))
            .and_then(|text| reason("nondet-domain", text))
    }

    /// Puts the report together. What was not modelled, or could not be confirmed, keeps the
    /// verdict from being verified.
    fn report(&self, strategy: StrategyName, searched: SearchResult, collector: Collector<'_>) -> Report {
        let SearchResult { stats, mut reason, mut limits, .. } = searched;
        if reason.is_none() {
            reason = self.reason_among(&limits, &stats);
        }
        if let Some(first) = collector.unreproduced.first() {
            reason = Some(Reason { code: "unreproduced".into(), text: first.clone() });
        }
        limits.extend(collector.unreproduced.into_iter().skip(1));
        let mut notes = if stats.threads == 1 { vec![ONE_THREAD.into()] } else { Vec::new() };
        notes.extend(collector.open.iter().map(|met| format!("met, but there was no time left to confirm it: {met}")));
        if collector.orders.matter() {
            if reason.is_none() && !self.options.trust.machine_orders {
                reason = Some(Reason { code: "memory-orders".into(), text: ORDERS.into() });
            } else {
                notes.push(ORDERS.into());
            }
        }
        let complete = reason.is_none();
        let findings = collector.findings;
        Report {
            schema: SCHEMA,
            raddle: env!("CARGO_PKG_VERSION").into(),
            program: self.program.name(),
            args: self.program.args_text(),
            strategy: strategy.word().into(),
            granularity: granularity_word(self.options.granularity).into(),
            property: self.options.property().word().into(),
            memory_model: self.options.memory,
            verdict: verdict(&findings, complete, self.options.warnings_are_errors),
            reason,
            stats,
            limits,
            suppressed: Vec::new(),
            unseen: Vec::new(),
            notes,
            tests: Vec::new(),
            findings,
        }
    }
}

/// Said of a program without concurrency: perhaps it was not started as it is meant to be.
const ONE_THREAD: &str = "the program never had a second thread: there was nothing to explore";

/// Said of a program without hooks whose accesses are observed.
const OBSERVED: &str = "this holds for the machine code, which was observed under an emulator: accesses that the \
                        compiler removed are not in it";

/// Said where that matters.
const ORDERS: &str = "threads are kept apart by atomic operations, as the processor orders them: a load acquires, a \
                      store releases, an exchange does both. The memory orders of the source are not in the machine \
                      code: where it asks for less, there may be data races. Build the program with raddle to see \
                      them; --machine-orders relies on the orders of the processor";

/// Said of a program without hooks.
const CALLS_ONLY: &str = "the program was not built with raddle: only its calls of the C library were seen, no memory \
                          accesses and no atomic operations";

/// What to do about that.
const SEE_MORE: &str = "to have all of the program seen, build it with `raddle cc` or `raddle c++` in the place of the \
                        compiler; --observe all sees its memory accesses as it is";

/// The same where all orders of these calls were explored.
const CALLS_ONLY_COMPLETE: &str = "only the calls of a program that was not built with raddle are seen: there is no \
                                   deadlock, failed assertion or crash in any order of the calls to the thread \
                                   library; data races and atomic operations were not looked at";

/// Said of a search that others were to make.
const HANDED_OVER: &str = "the program waits busily or for input, or compares what plain writes change: what a process \
                           learns of that holds for it alone, so this process searches by itself, from the beginning";

/// What came of one search.
struct Round {
    report: Report,
    /// Findings that were suppressed, in words.
    suppressed: Vec<String>,
    /// Accesses of suppressed races, if there are new ones: the search was stopped there.
    benign: Vec<u64>,
}

/// Whether the check was stopped before its end, so that it can go on. If not, its journal is not
/// needed any more once its report is where it belongs.
#[must_use]
pub fn can_go_on(report: &Report) -> bool {
    report.reason.as_ref().is_some_and(|reason| matches!(&*reason.code, "time-limit" | "interrupted"))
}

/// What there is to go on with. Where a new process of the program differs from the one that was
/// searched, the check has to begin again.
fn go_on(
    interrupted: Interrupted,
    options: &Options,
    keeper: Option<&mut Keeper>,
    observer: &mut dyn Observer,
) -> Result<Option<ResumedCheck>, Error> {
    if let Some(sentence) = interrupted.remark() {
        observer.note(&sentence);
    }
    if !interrupted.identity.is_alike(options)? {
        observer.note(
            "the program has other addresses or contents in its memory than it had in the process that was searched: \
             the search begins again",
        );
        return Ok(None);
    }
    if let Some(keeper) = keeper {
        let elapsed = interrupted.check.as_ref().map_or(Duration::ZERO, |check| check.elapsed);
        keeper.take_over(interrupted.identity, elapsed)?;
    }
    if interrupted.check.is_none() {
        observer.note("it ended before anything of the search was written: the search begins at its start");
    }
    Ok(interrupted.check)
}

/// Meets the executions again that told something: findings are confirmed anew, not read from a
/// file.
fn meet_again(
    resumed: &ResumedCheck,
    collector: &mut Collector<'_>,
    mut keeper: Option<&mut Keeper>,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    if let (Some(keeper), Some(example)) = (&mut keeper, &resumed.example) {
        keeper.example(example);
    }
    for (before, execution) in &resumed.meetings {
        collector.meet(execution, *before, observer)?;
        if let Some(keeper) = &mut keeper {
            keeper.met(execution, *before);
        }
    }
    Ok(())
}

/// When what the report of an unfinished search will name is looked up: with the rest of its time.
fn name_from(options: &CheckOptions) -> Option<Instant> {
    Instant::now().checked_add(options.time_limit?.mul_f64(0.75))
}

/// When the search gives up waiting for runs: those under way at its end have a moment to finish.
fn deadline(options: &CheckOptions) -> Option<Instant> {
    Instant::now().checked_add(options.time_limit?)?.checked_add(Duration::from_millis(300))
}

/// The target on which raddle checks itself. It runs every schedule from the beginning.
fn self_check(options: &CheckOptions, target_options: &Options) -> Result<Option<SelfCheck>, Error> {
    let Some(every) = options.self_check else { return Ok(None) };
    let from_the_beginning = Options { checkpoints: Checkpoints::Never, ..target_options.clone() };
    Ok(Some(SelfCheck::new(every, NativeTarget::start(from_the_beginning)?)))
}

/// What a search with several targets needs, if there can be several.
fn parallel_setup(
    options: &CheckOptions,
    target_options: &Options,
    observer: &mut dyn Observer,
) -> Option<ParallelSetup> {
    if options.jobs() == 1 {
        return None;
    }
    if parallel::can_share(options) {
        return Some(ParallelSetup::new(options, target_options));
    }
    if options.jobs.is_some() {
        observer.note(
            "this search cannot be shared and runs with one job (--jobs goes with auto, optimal, random, pct and pos)",
        );
    }
    None
}

/// Writes the report that later commands read.
pub(crate) fn write_report(directory: &Path, report: &Report) -> Result<(), Error> {
    let path = directory.join(REPORT);
    let mut bytes = Vec::new();
    json::write(report, &mut bytes).map_err(|error| Error::file(&path, error))?;
    std::fs::write(&path, bytes).map_err(|error| Error::file(&path, error))
}
