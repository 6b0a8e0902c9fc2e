//! One controlled execution.

use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_exec::recording::{self, Recording, Settings, compare, entries_of, plan_of};
use raddle_exec::{Checkpoints, Granularity, NativeTarget, Options, Output, RestoreMode, RunPlan, selfcheck};
use raddle_model::{DefectFinder, Execution, Request};
use raddle_report::symbols::Symbols;
use raddle_vocab::policy::{MAX_THREADS, Policy, mix};

use crate::error::Error;
use crate::findings::seen::Seen;
use crate::naming::{SourceNames, target_symbols, with_places};
use crate::observed::{Observed, observed};
use crate::options::DEFAULT_MAX_EVENTS;
use crate::program::Program;

/// Room for the trace from the start: a run that had to be repeated with more would show its output
/// twice. Memory is taken only for what is written.
const TRACE_BYTES: u64 = 1 << 30;
/// Orders tried for each repetition of a self-check.
pub const SELF_CHECK_ORDERS: u64 = 4;

/// How one execution is made.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What is a scheduling point.
    pub granularity: Granularity,
    /// How the run gets a fresh state.
    pub mode: RestoreMode,
    /// Bound on events.
    pub max_events: u64,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
    /// Seed of a random schedule; `None` for the usual schedule.
    pub seed: Option<u64>,
    /// Bytes of memory that the program may have; `None` for the usual bound.
    pub memory_limit: Option<u64>,
    /// Gives up after this time without any event.
    pub hang_timeout: Duration,
    /// Where the program's output goes.
    pub output: Output,
    /// Whether each access is told apart from its neighbours: for traces that are analysed further.
    pub each_access: bool,
    /// The file that takes what the program's connections to other processes carry.
    pub peer_log: Option<PathBuf>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            granularity: Granularity::default(),
            mode: RestoreMode::Fork,
            max_events: DEFAULT_MAX_EVENTS,
            spurious: 0,
            seed: None,
            memory_limit: None,
            hang_timeout: Duration::from_secs(10),
            output: Output::Inherit,
            each_access: false,
            peer_log: None,
        }
    }
}

/// Makes one controlled execution.
#[derive(Debug)]
pub struct Runner {
    program: Program,
    options: RunOptions,
    recording: Option<Recording>,
}

impl Runner {
    /// An execution of this program.
    #[must_use]
    pub fn new(program: Program) -> Self {
        Runner { program, options: RunOptions::default(), recording: None }
    }

    /// All options at once.
    #[must_use]
    pub fn options(self, options: RunOptions) -> Self {
        Runner { options, ..self }
    }

    /// Follows a recorded schedule, with the settings of its recording.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn follow(self, path: &Path) -> Result<Self, Error> {
        let recording = Recording::load(path).map_err(|error| Error::recording(path, error))?;
        Ok(Runner { recording: Some(recording), ..self })
    }

    /// Makes the execution.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn run(&self) -> Result<ControlledRun, Error> {
        let mut options = self.target_options()?;
        if let Some(recording) = &self.recording {
            recording.settings.apply(&mut options);
        }
        // What rounds of busy waiting do is learnt in runs that are given up, and this run has to
        // be the only one. Fairness ends the loops instead.
        options.fold_spins = false;
        let plan = self.plan()?;
        let mut target = NativeTarget::start(options)?;
        let mut execution = Execution::empty();
        target.run(plan.clone(), &mut execution)?;
        let symbols = target_symbols(target.options(), target.mappings());
        let names = SourceNames::new(&symbols, &execution);
        let schedule = self.recording.as_ref().map(|recording| &recording.schedule);
        let divergence = schedule.and_then(|schedule| compare(schedule, &execution, &names));
        let divergence = divergence.map(|divergence| divergence.to_string());
        Ok(ControlledRun { execution, divergence, symbols, target, plan, spurious: self.options.spurious })
    }

    fn target_options(&self) -> Result<Options, Error> {
        let mut options = self.program.target_options()?;
        options.granularity = self.options.granularity;
        options.mode = self.options.mode;
        options.spurious = self.options.spurious;
        options.memory_limit = self.options.memory_limit.or(options.memory_limit);
        options.hang_timeout = self.options.hang_timeout;
        options.output = self.options.output;
        // A schedule was made with the sockets of the runtime, and so are scripts.
        options.real_sockets = self.recording.is_none() && options.parties.is_empty();
        options.join_accesses =
            !self.options.each_access && self.recording.is_none() && self.options.granularity == Granularity::Sync;
        options.peer_log.clone_from(&self.options.peer_log);
        options.pool = MAX_THREADS as u32;
        options.trace_bytes = TRACE_BYTES;
        Ok(options)
    }

    fn plan(&self) -> Result<RunPlan, Error> {
        if let Some(recording) = &self.recording {
            return Ok(plan_of(recording)?);
        }
        let policy = self.options.seed.map_or(Policy::LeastRank, |seed| Policy::Random { seed });
        let max_events = self.options.max_events;
        Ok(RunPlan::from(Request { schedule: Vec::new(), policy, max_events }))
    }
}

/// An execution that was made.
pub struct ControlledRun {
    /// What happened.
    pub execution: Execution,
    /// Where the run left its schedule, if it did.
    pub divergence: Option<String>,
    symbols: Symbols,
    target: NativeTarget,
    plan: RunPlan,
    spurious: u32,
}

impl ControlledRun {
    /// Everything wrong with the execution.
    #[must_use]
    pub fn observed(&self) -> Vec<Observed> {
        // The status is the answer of the run, not a finding.
        let finder = DefectFinder::new().until_idle(self.target.options().until_idle);
        let mut all = observed(&self.execution, &SourceNames::new(&self.symbols, &self.execution), finder);
        let seen = Seen::of(self.target.options());
        all.retain(|observed| seen.shows(observed.kind));
        all
    }

    /// What was not modelled.
    #[must_use]
    pub fn limits(&self) -> Vec<String> {
        with_places(self.target.limits(), &self.symbols)
    }

    /// How the run got its fresh state: not always as it was asked for.
    #[must_use]
    pub fn mode(&self) -> RestoreMode {
        self.target.options().mode
    }

    /// Saves the execution with its schedule.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let options = self.target.options();
        let names = SourceNames::new(&self.symbols, &self.execution);
        let wrong = |error| Error::recording(path, error);
        let recording = Recording {
            program: recording::RecordedProgram::of(options).map_err(wrong)?,
            settings: Settings::of(options, self.plan.request.max_events),
            schedule: entries_of(&self.execution, options.spurious, &names),
            finding: None,
            execution: Some(self.execution.clone()),
        };
        recording.save(path).map_err(wrong)
    }

    /// Runs the same schedule again, so often, in both modes, and in other orders, with the output
    /// thrown away.
    ///
    /// # Errors
    /// The first difference.
    pub fn self_check(&self, rounds: u32) -> Result<(), Error> {
        let mut options = self.target.options().clone();
        options.output = Output::Discard;
        options.checkpoints = Checkpoints::Never;
        for mode in [RestoreMode::Snapshot, RestoreMode::Fork] {
            options.mode = mode;
            let mut other = NativeTarget::start(options.clone())?;
            for round in 0..rounds {
                self.self_check_round(&mut other, round, mode)?;
            }
        }
        Ok(())
    }

    fn self_check_round(&self, other: &mut NativeTarget, round: u32, mode: RestoreMode) -> Result<(), Error> {
        let failed = |which: &str, difference: &dyn std::fmt::Display| {
            Error::SelfCheck(format!("{which} schedule ({mode:?}) gave another run: {difference}"))
        };
        if let Some(difference) = selfcheck::repeat(other, &self.plan.request, &self.execution)? {
            return Err(failed("the same", &difference));
        }
        for order in 0..SELF_CHECK_ORDERS {
            let seed = mix(u64::from(round) * SELF_CHECK_ORDERS + order);
            if let Some(difference) = selfcheck::reorder(other, &self.execution, self.spurious, seed)? {
                return Err(failed("an equivalent", &difference));
            }
        }
        Ok(())
    }
}
