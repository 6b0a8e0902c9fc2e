//! Runs witnesses: a target of its own, beside the one that the search keeps busy.

use std::path::Path;

use raddle_exec::decode::Detail;
use raddle_exec::recording::{ScheduleEntry, choices_of};
use raddle_exec::{NativeTarget, Options, Output, RestoreMode, RunPlan, Stop};
use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;

use crate::error::Error;

/// Bytes of the program's own output that a finding shows at most.
const SHOWN_BYTES: usize = 4096;

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
}

impl Confirmer {
    /// The target is started when it is first needed.
    pub fn new(options: Options, max_events: u64) -> Self {
        Confirmer { options, max_events, target: None }
    }

    /// The options of its runs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Bound on the events of its runs.
    pub fn max_events(&self) -> u64 {
        self.max_events
    }

    /// Follows a schedule once more, to the end of the program, and returns the end of what it
    /// writes to standard error, which goes through `file`.
    pub fn standard_error(&self, entries: &[ScheduleEntry], file: &Path) -> Result<String, Error> {
        let (mode, output) = (RestoreMode::Fork, Output::Captured);
        let options = Options { mode, output, captured: Some(file.into()), ..self.options.clone() };
        let schedule = choices_of(entries)?;
        let request = Request { schedule, policy: Policy::LeastRank, max_events: self.max_events };
        NativeTarget::start(options)?.run(RunPlan::from(request), &mut Execution::empty())?;
        let written = std::fs::read(file).map_err(|error| Error::file(file, error))?;
        let _ = std::fs::remove_file(file);
        Ok(String::from_utf8_lossy(&written[written.len().saturating_sub(SHOWN_BYTES)..]).into_owned())
    }

    /// Follows a schedule and records stacks.
    pub fn run(&mut self, entries: &[ScheduleEntry], then: Then) -> Result<Replayed, Error> {
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
