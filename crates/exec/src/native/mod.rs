//! A target in a process of its own.
//!
//! Requests are collected into batches of up to 64, and two batches can be under way, so that the target runs one while
//! the search reads the other. Order is kept: what is ready comes before what is under way, which comes before what
//! waits. When something goes wrong, everything from the run concerned on moves back to the waiting ones, a new process
//! is started if need be, and they are handed over again (`recover`).
//!
//! A target that takes turns with the search has one batch under way, and only while the search has nothing left to read.

mod checkpoint_planner;
mod cpu_pin;
mod plan;
mod recover;
mod session;
pub(crate) mod watchdog;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use raddle_model::{Execution, Request, Target, TargetError};
use raddle_vocab::RunStatus;
use raddle_wire::{Control, MAX_JOBS};

pub use plan::{RunPlan, Stop};
use recover::RetryCause;
use session::{Collected, Session, TargetFault, Waited};

use crate::decode::{Decoder, Detail, RunResult};
use crate::error::StartError;
use crate::mappings::{self, Mapping};
use crate::options::{Mode, Options};
use crate::{elf, limits};

/// What the kernel calls the shared file among the target's mappings.
const SHARED_FILE: &str = "/memfd:raddle (deleted)";

/// How long a batch shall take, at most: none of its results can be looked at before.
const SOON: Duration = Duration::from_millis(50);

/// Figures about the runs so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Runs that came back.
    pub runs: u64,
    /// Processes that were started.
    pub starts: u64,
    /// Nanoseconds that the target spent on runs, restoring included.
    pub nanoseconds: u64,
    /// Runs that started in the middle of an earlier one.
    pub resumed: u64,
}

/// A run whose trace was taken over, waiting to be decoded.
#[derive(Debug)]
struct ReadyRun {
    plan: RunPlan,
    outcome: Ready,
}

#[derive(Debug)]
enum Ready {
    /// Words of the batch's traces; `suspect` if an earlier attempt failed.
    Trace { words: Range<usize>, result: RunResult, suspect: bool },
    /// A run that the target did not survive.
    Made(Box<Execution>),
}

/// A batch whose traces were taken over.
#[derive(Debug, Default)]
struct ReadyBatch {
    words: Vec<u64>,
    runs: VecDeque<ReadyRun>,
}

/// A program under control of raddle's runtime.
#[derive(Debug)]
pub struct NativeTarget {
    options: Options,
    session: Option<Session>,
    waiting: VecDeque<RunPlan>,
    ready: VecDeque<ReadyBatch>,
    decoder: Decoder,
    /// The first of the waiting runs broke a target: it goes alone, and if it does so again, it did it.
    suspect: bool,
    /// Words of the longest trace lately.
    longest: usize,
    limit_bits: u64,
    remarks: BTreeSet<String>,
    mappings: Vec<Mapping>,
    statistics: Statistics,
}

impl NativeTarget {
    /// Checks the program and starts it.
    ///
    /// # Errors
    /// A sentence that says why it cannot be run.
    pub fn start(options: Options) -> Result<Self, StartError> {
        elf::check(&options.program)?;
        Self::start_unchecked(options)
    }

    /// Starts a program without looking at it first.
    ///
    /// # Errors
    /// If it does not hand control to a runtime.
    pub fn start_unchecked(options: Options) -> Result<Self, StartError> {
        let session = Session::start(&options)?;
        let mut target = NativeTarget {
            options,
            session: None,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            decoder: Decoder::new(),
            suspect: false,
            longest: 0,
            limit_bits: 0,
            remarks: BTreeSet::new(),
            mappings: Vec::new(),
            statistics: Statistics::default(),
        };
        target.adopt(session);
        Ok(target)
    }

    fn adopt(&mut self, session: Session) {
        self.statistics.starts += 1;
        if let Some(id) = session.process_id() {
            self.mappings = mappings::of_process(id);
        }
        self.session = Some(session);
    }

    /// The options in force: pool, mode and trace size may have grown since the start.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What was met and is not modelled or cannot be undone, a sentence each.
    #[must_use]
    pub fn limits(&self) -> Vec<String> {
        let mut all = limits::sentences(self.limit_bits);
        all.extend(self.remarks.iter().cloned());
        all
    }

    /// Files mapped into the target, for turning addresses into names.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Figures so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Hands over a plan, as [`Target::submit`] does with a request.
    pub fn submit_plan(&mut self, plan: RunPlan) {
        self.waiting.push_back(plan);
        if self.waiting.len() >= MAX_JOBS {
            self.send();
        }
    }

    /// Sends what waits to the target without waiting for anything.
    pub fn hand_over(&mut self) {
        self.send();
    }

    /// Number of the target's process, for a debugger.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.session.as_ref().and_then(Session::process_id)
    }

    /// Where in the target's memory the number of the transition under way stands, for a debugger.
    #[must_use]
    pub fn heartbeat_address(&self) -> Option<u64> {
        let shared =
            self.mappings.iter().find(|mapping| mapping.offset == 0 && mapping.path.starts_with(SHARED_FILE))?;
        Some(shared.start + std::mem::offset_of!(Control, heartbeat) as u64)
    }

    /// Stacks and parked accesses of the run that was finished last.
    #[must_use]
    pub fn detail(&self) -> &Detail {
        self.decoder.detail()
    }

    /// Makes one run and waits for it; nothing else may be under way.
    ///
    /// # Errors
    /// As [`Target::finish`].
    pub fn run(&mut self, plan: RunPlan, into: &mut Execution) -> Result<(), TargetError> {
        self.submit_plan(plan);
        self.finish(into)
    }

    /// Hands waiting plans over where that pays: all that fit if the target is idle, else a good part of a batch.
    fn send(&mut self) {
        let at_most = self.jobs_per_batch();
        let Some(session) = &mut self.session else { return };
        while session.has_room() && !self.waiting.is_empty() {
            if self.options.takes_turns && !(self.ready.is_empty() && session.batches.is_empty()) {
                return;
            }
            let enough = session.batches.is_empty() || self.waiting.len() >= at_most.div_ceil(2);
            if !enough || (self.suspect && !session.batches.is_empty()) || !session.send(&mut self.waiting, at_most) {
                return;
            }
        }
    }

    /// As many as will hardly fill the arena, and will not keep anybody waiting for long.
    fn jobs_per_batch(&self) -> usize {
        if self.suspect {
            return 1;
        }
        let arena = self.session.as_ref().map_or(0, |session| session.shared.arena()) / crate::shared::WORD;
        let Statistics { runs, nanoseconds, .. } = self.statistics;
        let soon = SOON.as_nanos() / (u128::from(nanoseconds / runs.max(1)) + 1);
        (arena / 2 / (self.longest + 1)).min(usize::try_from(soon).unwrap_or(MAX_JOBS)).clamp(1, MAX_JOBS)
    }

    /// Waits for the oldest batch under way and takes over what it brought.
    fn receive(&mut self) -> Result<(), TargetError> {
        let Some(session) = &mut self.session else {
            return self.restart();
        };
        if session.batches.is_empty() {
            // Nothing could be handed over: the first waiting schedule does not fit into the file.
            let switches = self.waiting.front().map_or(0, |plan| plan.request.schedule.len());
            return Err(TargetError::Lost(format!(
                "a schedule of {switches} transitions has more switches between threads than fit into one batch"
            )));
        }
        let waited = session.wait(&self.options);
        match waited {
            Waited::Interrupted => return Err(TargetError::Interrupted),
            Waited::Late => return Err(TargetError::Late),
            Waited::Completed if self.options.takes_turns && self.options.mode == Mode::Snapshot => session.turn(),
            Waited::Completed => {}
            Waited::Broken(_) => session.kill(),
        }
        self.harvest(waited)
    }

    /// Takes the results of the oldest batch over, up to the first run with cause.
    fn harvest(&mut self, waited: Waited) -> Result<(), TargetError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let may_grow = self.options.trace_bytes < self.options.max_trace_bytes;
        let Collected { mut plans, results, words, cause, beginning, first } = session.collect(waited, may_grow);
        if !matches!(cause, Some(RetryCause::Fault(TargetFault::Garbled(_)))) {
            self.limit_bits |= session.limits();
        }
        let rest = plans.split_off(results.len());
        let suspect = self.suspect;
        self.suspect &= results.is_empty();
        self.longest -= self.longest / 8;
        let mut batch = ReadyBatch { words, runs: VecDeque::with_capacity(results.len()) };
        for (plan, finished) in plans.into_iter().zip(results) {
            self.longest = self.longest.max(finished.trace.len());
            self.statistics.runs += 1;
            self.statistics.nanoseconds += finished.nanoseconds;
            self.statistics.resumed += u64::from(finished.resumed);
            let mut result = finished.result;
            if result.status == RunStatus::TraceFull {
                // It may not grow any more: as if a bound on events had stopped it.
                result.status = RunStatus::Cut;
            }
            batch.runs.push_back(ReadyRun { plan, outcome: Ready::Trace { words: finished.trace, result, suspect } });
        }
        if !batch.runs.is_empty() {
            self.ready.push_back(batch);
        }
        match cause {
            None => Ok(()),
            Some(cause) => self.recover(rest, cause, &beginning, first),
        }
    }

    /// Decodes the oldest run that is ready; false if its trace makes no sense and it was sent back.
    fn decode_ready(&mut self, into: &mut Execution) -> Result<bool, TargetError> {
        let Some(batch) = self.ready.front_mut() else { return Ok(false) };
        let Some(run) = batch.runs.pop_front() else {
            self.ready.pop_front();
            return Ok(false);
        };
        let done = match run.outcome {
            Ready::Made(execution) => {
                *into = *execution;
                true
            }
            Ready::Trace { words, result, suspect } => {
                let words = &batch.words[words];
                match self.decoder.decode(words, result, into) {
                    Ok(()) => {
                        if suspect {
                            self.remarks.insert(recover::ACCIDENT.into());
                        }
                        true
                    }
                    Err(error) if suspect => {
                        let fault = TargetFault::Garbled(error.to_string());
                        let words = words.to_vec();
                        *into = self.failed(&fault, &words);
                        true
                    }
                    Err(error) => {
                        self.send_back(run.plan, &TargetFault::Garbled(error.to_string()))?;
                        false
                    }
                }
            }
        };
        if self.ready.front().is_some_and(|batch| batch.runs.is_empty()) {
            self.ready.pop_front();
        }
        Ok(done)
    }
}

impl Target for NativeTarget {
    fn submit(&mut self, request: Request) {
        self.submit_plan(request.into());
    }

    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError> {
        loop {
            self.send();
            if !self.ready.is_empty() {
                if self.decode_ready(into)? {
                    return Ok(());
                }
                continue;
            }
            let idle = self.session.as_ref().is_none_or(|session| session.batches.is_empty());
            if idle && self.waiting.is_empty() {
                return Err(TargetError::Lost("a result was asked for that nobody requested".into()));
            }
            self.receive()?;
        }
    }

    fn take_turns(&mut self) {
        self.options.takes_turns = true;
    }

    fn window(&self) -> usize {
        // The same always: what a search does next must not depend on how long traces are.
        2 * MAX_JOBS
    }
}
