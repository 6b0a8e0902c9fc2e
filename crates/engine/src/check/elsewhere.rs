//! A search that other processes make ([`crate::distributed`]), and its findings.
//!
//! What the others have met is met once more here, the least schedules first: findings are made of
//! runs of this process only. The size of the search is estimated here as well, while results are
//! waited for.

use std::path::PathBuf;
use std::time::Instant;

use raddle_exec::{NativeTarget, interrupt};
use raddle_explore::IncompleteReason;
use raddle_explore::optimal::SizeSampler;
use raddle_explore::strategy::scheduled;
use raddle_model::finding::{Reason, Stats};
use raddle_model::{Execution, Request, Target, TargetError};

use super::guidance;
use super::search::{OVERWRITTEN, RESTART, SearchResult, Session, disagrees, reason, reason_of};
use crate::distributed::{Elsewhere, Gathering, SharedJob, Taken, Taker};
use crate::error::Error;
use crate::observer::{Crew, Progress};
use crate::options::CheckOptions;

/// Samples that are made at a time.
const SAMPLES: usize = 8;

/// Why nothing more is waited for.
enum Stop {
    Interrupted,
    Late,
    Executions,
    /// The search cannot be divided.
    HandedOver,
    Lost(TargetError),
}

/// Gathers results, and tells the observer how far the search is.
struct Receiver<'a, 'b, 'c> {
    session: &'a mut Session<'b, 'c>,
    options: &'a CheckOptions,
    deadline: Option<Instant>,
    gathered: Gathering,
    sampler: SizeSampler,
    execution: Execution,
    stop: Option<Stop>,
}

/// Searches elsewhere; `None` if the search cannot be divided.
pub fn search(
    options: &CheckOptions,
    session: &mut Session<'_, '_>,
    elsewhere: &mut dyn Elsewhere,
    job: &SharedJob,
    begun: Instant,
) -> Result<Option<SearchResult>, Error> {
    let mut receiver = Receiver {
        deadline: options.time_limit.and_then(|limit| begun.checked_add(limit)),
        gathered: Gathering::default(),
        sampler: SizeSampler::new(options.spurious),
        execution: Execution::empty(),
        stop: None,
        session,
        options,
    };
    let program = receiver.session.target.options().program.clone();
    let explored = elsewhere.explore(job, &program, &mut receiver);
    let Receiver { gathered, stop, .. } = receiver;
    let stopped = match (stop, explored) {
        (Some(Stop::HandedOver), _) => return Ok(None),
        (Some(Stop::Lost(TargetError::Interrupted) | Stop::Interrupted), _) => {
            Some(reason("interrupted", "the search was interrupted"))
        }
        (Some(Stop::Late | Stop::Lost(TargetError::Late)), _) => Some(reason_of(IncompleteReason::Time)),
        (Some(Stop::Executions), _) => Some(reason_of(IncompleteReason::Executions)),
        (Some(Stop::Lost(error)), _) => return Err(error.into()),
        (None, Err(text)) => Some(reason("target-lost", &text)),
        (None, Ok(true)) => None,
        (None, Ok(false)) => Some(reason("interrupted", "the search was interrupted")),
    };
    Ok(Some(conclude(session, gathered, stopped, options)?))
}

impl Taker for Receiver<'_, '_, '_> {
    fn take(&mut self, result: &[u8]) -> Taken {
        if let Err(wrong) = self.gathered.add(result) {
            return Taken::Refused(wrong);
        }
        let made = self.gathered.stats.executions;
        if self.gathered.is_handed_over {
            self.stop = Some(Stop::HandedOver);
        } else if self.options.max_executions.is_some_and(|limit| made >= limit) {
            self.stop = Some(Stop::Executions);
        }
        if self.stop.is_some() { Taken::Enough } else { Taken::Counted }
    }

    fn wait(&mut self, crew: Crew) -> Option<(u64, Option<f64>)> {
        if interrupt::requested() {
            self.stop = Some(Stop::Interrupted);
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.stop = Some(Stop::Late);
        } else if let Err(error) = self.sample() {
            self.stop = Some(Stop::Lost(error));
        }
        let runs = self.gathered.stats.runs();
        let estimate = (runs > 0).then(|| self.sampler.estimate(runs));
        let earlier = Stats::default();
        let progress =
            Progress { stats: &self.gathered.stats, earlier: &earlier, findings: 0, estimate, crew: Some(crew) };
        self.session.observer.progress(&progress);
        let likely = estimate.filter(|estimate| estimate.most.is_some()).map(|estimate| estimate.likely());
        self.stop.is_none().then_some((runs, likely))
    }
}

impl Receiver<'_, '_, '_> {
    /// Makes a few samples, if some are due.
    fn sample(&mut self) -> Result<(), TargetError> {
        for _ in 0..SAMPLES {
            let runs = self.gathered.stats.runs();
            let Some(request) = self.sampler.next(runs) else { return Ok(()) };
            run(self.session.target, request, self.options.max_events, &mut self.execution)?;
            self.sampler.learn(&self.execution);
        }
        Ok(())
    }
}

fn run(target: &mut NativeTarget, request: Request, most: u64, into: &mut Execution) -> Result<(), TargetError> {
    target.submit(Request { max_events: most, ..request });
    target.finish(into)
}

/// Meets what was met elsewhere, and says what came of the search.
fn conclude(
    session: &mut Session<'_, '_>,
    gathered: Gathering,
    stopped: Option<Reason>,
    options: &CheckOptions,
) -> Result<SearchResult, Error> {
    let mut execution = Execution::empty();
    let mut why = stopped;
    let root = scheduled(Vec::new());
    run(session.target, root, options.max_events, &mut execution)?;
    if guidance::is_telling(&execution) {
        session.example = Some(execution.clone());
    }
    for item in gathered.telling() {
        run(session.target, scheduled(item.schedule.into_vec()), options.max_events, &mut execution)?;
        match session.collector.meet(&execution, 0, session.observer) {
            Err(Error::Target(TargetError::Interrupted)) => {
                why = Some(reason("interrupted", "the search was interrupted"));
                break;
            }
            Err(Error::Target(TargetError::Late)) => {
                why = Some(reason_of(IncompleteReason::Time));
                break;
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    if !session.collector.benign.is_empty() {
        why = Some(reason(RESTART, "a suppressed race was met"));
    }
    let target = session.target.options();
    let loaded = gathered.loaded.iter().map(PathBuf::from).filter(|path| path.is_file());
    target.loaded.add(loaded.collect());
    target.noticed.add(gathered.noticed.facts());
    let mut limits = session.target.limits();
    limits.extend(gathered.has_overwritten_lock.then(|| OVERWRITTEN.into()));
    let disagreement = gathered.disagreement.as_deref().map(disagrees);
    let lost = gathered.lost.as_deref().map(|text| reason("target-lost", text));
    let incomplete = gathered.incomplete.map(reason_of);
    let is_final = why.is_some();
    Ok(SearchResult {
        stats: gathered.stats,
        reason: why.or(disagreement).or(lost).or(incomplete),
        limits,
        is_final,
        has_restarted: false,
        became_one: false,
    })
}
