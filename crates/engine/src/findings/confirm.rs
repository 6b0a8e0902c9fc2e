//! Runs witnesses: a target of its own, beside the one that the search keeps busy.

use std::path::Path;
use std::time::Instant;

use raddle_exec::decode::Detail;
use raddle_exec::recording::{ScheduleEntry, choices_of};
use raddle_exec::{NativeTarget, Options, Output, RestoreMode, RunPlan, Stop};
use raddle_model::{Execution, Request, TargetError};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;

use crate::error::Error;

/// Bytes of the program's own output that a finding shows at most.
const SHOWN_BYTES: usize = 4096;

/// Bytes of it that are looked at.
const KEPT_BYTES: usize = 1 << 24;

/// What a program writes in one run.
#[derive(Clone, Debug)]
pub struct Written {
    /// To standard output.
    pub output: String,
    /// To standard error.
    pub error: String,
}

impl Written {
    /// The end of what it writes to standard error.
    pub fn end_of_error(&self) -> String {
        let bytes = self.error.as_bytes();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN_BYTES)..]).into_owned()
    }
}

/// How a witness run goes on behind its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It ends there.
    Stop,
    /// It goes on until nothing more can happen.
    Rest,
}

/// A run with the stacks that it recorded.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What happened.
    pub execution: Execution,
    /// Where threads stood.
    pub detail: Detail,
    /// Whether the whole schedule was followed.
    pub followed: bool,
}

/// Makes runs that count in no statistics.
pub struct Confirmer {
    options: Options,
    max_events: u64,
    target: Option<NativeTarget>,
    /// No run begins after this time.
    deadline: Option<Instant>,
}

impl Confirmer {
    /// The target is started when it is first needed.
    pub fn new(options: Options, max_events: u64) -> Self {
        Confirmer { options, max_events, target: None, deadline: None }
    }

    /// Begins no run after this time.
    pub fn until(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// An error if it is too late for another run.
    fn in_time(&self) -> Result<(), Error> {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late { Err(TargetError::Late.into()) } else { Ok(()) }
    }

    /// The options of its runs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// When it begins no run any more.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Bound on the events of its runs.
    pub fn max_events(&self) -> u64 {
        self.max_events
    }

    /// Follows a schedule once more, to the end of the program, and returns what it writes. It goes
    /// through files whose names begin with `files`.
    pub fn written(&self, entries: &[ScheduleEntry], files: &Path) -> Result<Written, Error> {
        let (output, error) = (files.with_extension("stdout"), files.with_extension("stderr"));
        let options = Options {
            mode: RestoreMode::Fork,
            output: Output::Captured,
            captured: Some(error.clone()),
            captured_output: Some(output.clone()),
            ..self.options.clone()
        };
        let schedule = choices_of(entries)?;
        let request = Request { schedule, policy: Policy::LeastRank, max_events: self.max_events };
        NativeTarget::start(options)?.run(RunPlan::from(request), &mut Execution::empty())?;
        let read = |file: &Path| {
            let bytes = std::fs::read(file).map_err(|error| Error::file(file, error))?;
            let _ = std::fs::remove_file(file);
            Ok::<_, Error>(String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT_BYTES)]).into_owned())
        };
        Ok(Written { output: read(&output)?, error: read(&error)? })
    }

    /// Follows a schedule and records stacks.
    pub fn run(&mut self, entries: &[ScheduleEntry], then: Then) -> Result<Replayed, Error> {
        self.in_time()?;
        let schedule = choices_of(entries)?;
        let stops = entries.iter().enumerate();
        let stops = stops.filter_map(|(after, entry)| entry.stop.map(|access| Stop { after, access }));
        let request = Request { schedule, policy: Policy::LeastRank, max_events: self.max_events };
        let stop_after_schedule = then == Then::Stop;
        let plan = RunPlan { stops: stops.collect(), detail: true, stop_after_schedule, ..RunPlan::from(request) };
        let target = match &mut self.target {
            Some(target) => target,
            none => none.insert(NativeTarget::start(self.options.clone())?),
        };
        let mut execution = Execution::empty();
        if let Err(error) = target.run(plan, &mut execution) {
            // A target that is lost is not asked again.
            self.target = None;
            return Err(error.into());
        }
        let followed = match then {
            Then::Stop => execution.status == RunStatus::Stopped,
            Then::Rest => execution.status != RunStatus::Diverged,
        };
        Ok(Replayed { detail: target.detail().clone(), execution, followed })
    }
}
