//! A target in a process of its own.
//!
//! Requests are collected into batches of up to 64. Two batches can be under way, so that the
//! target runs one while the search reads the other. Results come in the order of the requests:
//! what is ready comes before what is under way, which comes before what waits. When a run fails,
//! it and everything after it move back to the waiting plans, a new process is started if need be,
//! and they are handed over again (`recover`).
//!
//! A target that takes turns with the search has one batch under way, and only while the search has
//! nothing left to read.

mod checkpoint_planner;
mod collect;
mod cpu_pin;
mod fault;
mod plan;
mod ready;
mod recover;
pub mod remote;
mod saved;
mod session;
mod target_session;
pub(crate) mod watchdog;

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use raddle_model::{Execution, Request, Target, TargetError};
use raddle_vocab::RunStatus;
use raddle_wire::{Control, MAX_JOBS, limit};

use collect::{BatchResults, Finished};
use fault::TargetFault;
pub use plan::{RunPlan, Stop};
use ready::{Ready, ReadyBatch, ReadyRun, ReadyTrace};
use recover::RetryCause;
pub use saved::{SavedTarget, SpinFacts};
use target_session::{TargetSession, Waited};

use raddle_wire::MAX_FUNCTIONS;
use raddle_wire::observed::AtomicCode;

use crate::atomic_types::AtomicVariables;
use crate::decode::{Decoder, Detail};
use crate::elf::Instrumentation;
use crate::emulator::Emulator;
use crate::error::StartError;
use crate::mappings::{self, Mapping};
use crate::options::{NoticedFacts, Options, RestoreMode};
use crate::shared::WORD;

use crate::{elf, limits};

/// What the kernel calls the shared file among the target's mappings.
const SHARED_FILE: &str = "/memfd:raddle (deleted)";

/// How long a batch shall take, at most: its results can be read only when all of it is done.
const LONGEST_BATCH: Duration = Duration::from_millis(50);

/// Runs in a batch for a target beside an agent, at most.
const FAR_JOBS: usize = MAX_JOBS / 2;

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

/// A program under control of raddle's runtime.
#[derive(Debug)]
pub struct NativeTarget {
    options: Options,
    session: Option<Box<dyn TargetSession>>,
    /// Plans that were not handed over yet.
    waiting: VecDeque<RunPlan>,
    ready: VecDeque<ReadyBatch>,
    decoder: Decoder,
    /// The target broke in the first of the waiting runs. That run goes alone; if the target breaks
    /// again, the run is at fault.
    suspect: bool,
    /// Words of the longest recent trace.
    longest: usize,
    mappings: Vec<Mapping>,
    statistics: Statistics,
    /// How often the agent has forgotten the target since the last result.
    renewals: u32,
    /// What debug information says of atomic variables of an observed program.
    atomic_variables: Option<(SpinFacts, NoticedFacts)>,
}

impl NativeTarget {
    /// Checks the program and starts it.
    ///
    /// # Errors
    /// A sentence that says why it cannot be run.
    pub fn start(options: Options) -> Result<Self, StartError> {
        // What an agent has to run the program with is its own affair.
        if options.remote.is_some() {
            return Self::start_unchecked(options);
        }
        Self::start_unchecked(Self::prepared(options)?)
    }

    /// The options with what is needed to run the program here.
    pub(crate) fn prepared(mut options: Options) -> Result<Options, StartError> {
        if elf::check(&options.program)? == Instrumentation::Calls && !options.sees_calls_only() {
            return Err(StartError::NotBuiltWithRaddle(options.program));
        }
        options.emulator = match &options.observer {
            Some(observer) => Some(Emulator::observing(&options.program, observer)?),
            None => Emulator::for_program(&options.program)?,
        };
        options.functions = elf::known_functions(&options.program);
        if options.functions.all.len() > MAX_FUNCTIONS {
            return Err(StartError::TooManySections(options.functions.all.len()));
        }
        Ok(options)
    }

    /// Starts a program without looking at it first.
    ///
    /// # Errors
    /// If it does not hand control to a runtime.
    pub fn start_unchecked(mut options: Options) -> Result<Self, StartError> {
        // Another machine has processors of its own.
        options.takes_turns &= options.remote.is_none();
        let session = target_session::start(&options)?;
        let mut target = NativeTarget {
            options,
            session: None,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            decoder: Decoder::new(),
            suspect: false,
            longest: 0,
            mappings: Vec::new(),
            statistics: Statistics::default(),
            renewals: 0,
            atomic_variables: None,
        };
        target.adopt(session);
        Ok(target)
    }

    fn adopt(&mut self, mut session: Box<dyn TargetSession>) {
        self.statistics.starts += 1;
        self.mappings = session.mappings(&self.options);
        if self.options.observer.is_some() {
            self.name_atomic_variables(&mut *session);
        }
        let files = self.mappings.iter().filter(|mapping| mapping.offset == 0 && mapping.path.is_file());
        self.options.loaded.add(files.map(|mapping| mapping.path.clone()).collect());
        self.session = Some(session);
    }

    /// Plain instructions of an observed program may be atomic operations of its source: the
    /// runtime is told which, as far as debug information tells it.
    fn name_atomic_variables(&mut self, session: &mut dyn TargetSession) {
        let is_own = |path: &Path| *path == self.options.program || !elf::is_installed(path);
        let files = self.mappings.iter().filter(|mapping| mapping.offset == 0 && is_own(&mapping.path));
        let known = self.atomic_variables.get_or_insert_with(|| {
            let atomics = Box::new(AtomicCode::new());
            let (mut code, mut have_room, mut are_elsewhere) = (Vec::new(), true, false);
            for file in files {
                let found = AtomicVariables::of(&file.path);
                let moved = |address: u64| address.wrapping_sub(found.start).wrapping_add(file.start);
                are_elsewhere |= found.are_elsewhere;
                code.extend(found.code.iter().map(|&(start, end)| (moved(start), moved(end))));
                for &(address, size) in &found.places {
                    let mut parts = (0..size).step_by(8);
                    have_room &= parts.all(|at| atomics.name_place(moved(address) + at, (size - at).min(8)).is_some());
                }
            }
            code.sort_unstable();
            have_room &= atomics.name_ranges(&code);
            let limits = if have_room { 0 } else { limit::ATOMIC_CODE };
            let facts = NoticedFacts { limits, has_other_atomics: are_elsewhere, ..NoticedFacts::default() };
            (SpinFacts::of_atomics(&atomics), facts)
        });
        session.teach(&known.0);
        self.options.noticed.add(known.1.clone());
    }

    /// The options in force: pool, mode and trace size may have grown since the start.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What the runs did that is not modelled or cannot be undone, a sentence each; those of all
    /// targets that share [`Options::noticed`].
    #[must_use]
    pub fn limits(&self) -> Vec<String> {
        let facts = self.options.noticed.facts();
        let mut all = limits::sentences(facts.limits);
        all.extend(facts.calls.iter().map(|(name, pc)| limits::of_call(name, *pc)));
        all.extend(facts.remarks);
        all.extend(self.options.open_values.sentences(facts.open_types));
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

    /// Submits a plan, as [`Target::submit`] does with a request.
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
        self.session.as_ref().and_then(|session| session.process_id())
    }

    /// Address in the target of the number of the transition under way, for a debugger.
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

    /// Makes one run and waits for it. Nothing else may be under way.
    ///
    /// # Errors
    /// As [`Target::finish`].
    pub fn run(&mut self, plan: RunPlan, into: &mut Execution) -> Result<(), TargetError> {
        self.submit_plan(plan);
        self.finish(into)
    }

    /// Hands waiting plans over where that pays: all that fit if the target is idle, else at least
    /// half a batch.
    fn send(&mut self) {
        let at_most = self.jobs_per_batch();
        let Some(session) = &mut self.session else { return };
        while session.has_room() && !self.waiting.is_empty() {
            let is_idle = session.is_idle();
            if self.options.takes_turns && !(self.ready.is_empty() && is_idle) {
                return;
            }
            let pays = is_idle || (!self.suspect && self.waiting.len() >= at_most.div_ceil(2));
            if !pays || !session.send(&mut self.waiting, at_most) {
                return;
            }
        }
    }

    /// As many jobs as are unlikely to fill the arena, and will not take longer than
    /// [`LONGEST_BATCH`].
    fn jobs_per_batch(&self) -> usize {
        if self.suspect {
            return 1;
        }
        let arena = self.session.as_ref().map_or(0, |session| session.arena()) / WORD;
        let Statistics { runs, nanoseconds, .. } = self.statistics;
        let in_time = LONGEST_BATCH.as_nanos() / (u128::from(nanoseconds / runs.max(1)) + 1);
        // Far away, results shall be on their way while further runs are made.
        let most = if self.options.remote.is_some() { FAR_JOBS } else { MAX_JOBS };
        (arena / 2 / (self.longest + 1)).min(usize::try_from(in_time).unwrap_or(most)).clamp(1, most)
    }

    /// Waits for the oldest batch under way and takes over what it brought.
    fn receive(&mut self) -> Result<(), TargetError> {
        let Some(session) = &mut self.session else {
            return self.restart();
        };
        if session.is_idle() {
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
            Waited::Lost(why) => return Err(TargetError::Lost(why)),
            Waited::Forgotten(why) => return self.renew(&why),
            Waited::Completed if self.options.takes_turns && self.options.mode == RestoreMode::Snapshot => {
                session.update_cpu_pin();
            }
            Waited::Completed => {}
            Waited::Broken(_) => session.kill(),
        }
        self.harvest(waited)
    }

    /// Takes the results of the oldest batch over, up to the first run that failed.
    fn harvest(&mut self, waited: Waited) -> Result<(), TargetError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let may_grow = self.options.trace_bytes < self.options.max_trace_bytes;
        let BatchResults { mut plans, results, words, failed } = session.collect(waited, may_grow);
        let cause = failed.as_ref().map(|failed| &failed.cause);
        if !matches!(cause, Some(RetryCause::Fault(TargetFault::Garbled(_)))) {
            self.options.loaded.add(session.loaded());
            self.options.noticed.add(session.facts());
        }
        let rest = plans.split_off(results.len());
        self.renewals = 0;
        let suspect = self.suspect;
        self.suspect &= results.is_empty();
        self.longest -= self.longest / 8;
        let runs: VecDeque<ReadyRun> =
            plans.into_iter().zip(results).map(|(plan, finished)| self.ready_run(plan, finished, suspect)).collect();
        if !runs.is_empty() {
            self.ready.push_back(ReadyBatch { words, runs });
        }
        match failed {
            None => Ok(()),
            Some(failed) => self.recover(rest, failed),
        }
    }

    /// Counts a run that came back and makes it ready.
    fn ready_run(&mut self, plan: RunPlan, finished: Finished, suspect: bool) -> ReadyRun {
        self.longest = self.longest.max(finished.trace.len());
        self.statistics.runs += 1;
        self.statistics.nanoseconds += finished.nanoseconds;
        self.statistics.resumed += u64::from(finished.resumed);
        let mut result = finished.result;
        if result.status == RunStatus::TraceFull {
            // The arena may not grow any more: as if a bound on events had stopped the run.
            result.status = RunStatus::Cut;
            self.options.noticed.remark(recover::LONG_TRACE.into());
        }
        ReadyRun { plan, outcome: Ready::Trace(ReadyTrace { words: finished.trace, result, suspect }) }
    }
}

/// Files that are mapped into a process of this machine.
fn mapped_files(id: u32, options: &Options) -> Vec<Mapping> {
    let mut all = mappings::of_process(id);
    if options.observer.is_some() {
        all = mappings::of_emulated(&all);
    } else if options.emulator.is_some() {
        let machine = elf::machine(&options.program);
        all.retain(|mapping| elf::machine(&mapping.path).is_none_or(|of| Some(of) == machine));
    }
    all
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
            let idle = self.session.as_ref().is_none_or(|session| session.is_idle());
            if idle && self.waiting.is_empty() {
                return Err(TargetError::Lost("a result was asked for that was not requested".into()));
            }
            self.receive()?;
        }
    }

    fn take_turns(&mut self) {
        self.options.takes_turns = self.options.remote.is_none();
    }

    fn is_near(&self) -> bool {
        self.options.remote.is_none()
    }

    fn knowledge(&self) -> Vec<u8> {
        self.session.as_ref().map(|session| session.knowledge()).unwrap_or_default()
    }

    fn window(&self) -> usize {
        // Constant: what a search does next must not depend on how long traces are.
        2 * MAX_JOBS
    }
}
