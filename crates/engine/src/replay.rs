//! Replay: runs a recorded schedule again, and says whether it still leads to what it led to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_exec::decode::Detail;
use raddle_exec::recording::{Recording, choices_of, compare, describe_step, plan_of};
use raddle_exec::remote::RemoteProgram;
use raddle_exec::scripts::PartyScript;
use raddle_exec::{NativeTarget, Options, Output, RestoreMode, RunPlan, SavedTarget, SpinFacts, Stop, selfcheck};
use raddle_model::defect::{Defect, PartPosition};
use raddle_model::finding::{Finding, Kind, Place, Severity, WitnessKind};
use raddle_model::object::{LifeChange, MemoryAction};
use raddle_model::{AccessKind, DefectFinder, Event, Execution, Op, Operation as _, PendingState, Target as _};
use raddle_report::symbols::Symbols;
use raddle_vocab::RunStatus;

use crate::error::Error;
use crate::findings::witness::Found;
use crate::naming::{SourceNames, target_symbols};
use crate::observed::{Observed, observed};
use crate::options::Observe;
use crate::program::see;

/// A recorded schedule that is run again.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    finding: Option<Finding>,
    options: Options,
    plan: RunPlan,
}

/// What became of a replay.
#[derive(Clone, Debug)]
pub enum ReplayOutcome {
    /// The program left the schedule.
    Diverged(Box<DivergedRun>),
    /// The program followed the schedule.
    Followed(Box<FollowedRun>),
}

/// A run of a program that does other things than the schedule says.
#[derive(Clone, Debug)]
pub struct DivergedRun {
    /// Where it left the schedule, in words.
    pub divergence: String,
    /// The finding that the recording is a witness of, if it is one.
    pub finding: Option<Finding>,
    /// Events of the schedule whose threads could be followed.
    pub followed: usize,
    /// Events of the schedule.
    pub events: usize,
    /// Whether the program went on to its end.
    pub has_ended: bool,
    /// Whether the run shows that finding.
    pub reproduced: bool,
    /// Everything wrong with the run.
    pub observed: Vec<Observed>,
}

/// What a debugger needs to take a run over.
#[derive(Debug)]
pub struct DebuggedRun {
    /// How the target is started.
    pub options: Options,
    /// The run.
    pub plan: RunPlan,
    /// What the target goes on with.
    pub saved: SavedTarget,
    /// The same, of spin loops.
    pub knowledge: SpinFacts,
    /// How many failures come before the one to stop at, if that is where to stop. If not, it is
    /// the end of the run, with every thread before its next operation.
    pub failure: Option<u32>,
}

/// A run that followed its schedule.
#[derive(Clone, Debug)]
pub struct FollowedRun {
    /// The finding that the recording is a witness of, if it is one.
    pub finding: Option<Finding>,
    /// Whether the run shows that finding; without one, whether it shows any error.
    pub reproduced: bool,
    /// Events of the schedule.
    pub events: usize,
    /// Everything wrong with the run.
    pub observed: Vec<Observed>,
    /// Threads that were stopped right before an access.
    pub parked: Vec<ParkedThread>,
}

/// A thread that stands right before a data access.
#[derive(Clone, Debug)]
pub struct ParkedThread {
    /// The thread's name.
    pub thread: String,
    /// Whether the access writes.
    pub writes: bool,
    /// Bytes of the access.
    pub size: u64,
    /// Where it stands, innermost frame first.
    pub stack: Vec<Place>,
}

/// A run that was stopped between two events.
#[derive(Clone, Debug)]
pub struct StoppedRun {
    /// Number of the event before which it stands, from 1.
    pub event: usize,
    /// Where every thread stands.
    pub threads: Vec<StoppedThread>,
}

/// A thread of a run that was stopped.
#[derive(Clone, Debug)]
pub struct StoppedThread {
    /// The thread and what it does next.
    pub next: String,
    /// Whether it can go on.
    pub state: PendingState,
    /// Where it stands, innermost frame first.
    pub stack: Vec<Place>,
}

impl Replay {
    /// Reads a witness, schedule or trace.
    ///
    /// # Errors
    /// If the file cannot be read, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let recording = Recording::load(path).map_err(|error| Error::recording(path, error))?;
        let program = &recording.program;
        let mut options = Options::new(&program.path);
        options.runtime = Some(crate::runtime::install()?.library());
        options.args = program.args.iter().map(Into::into).collect();
        options.stdin = program.stdin.as_ref().map(PathBuf::from);
        options.env = program.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        options.directory = program.directory.as_ref().map(PathBuf::from);
        options.output = Output::Discard;
        recording.settings.apply(&mut options);
        let plan = plan_of(&recording)?;
        let finding = recording.finding.clone().and_then(|value| serde_json::from_value(value).ok());
        Ok(Replay { recording, finding, options, plan })
    }

    /// Runs this program instead of the recorded one.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.options.program = program.into();
        self
    }

    /// Lets an agent run the program.
    #[must_use]
    pub fn beside(mut self, agent: RemoteProgram) -> Self {
        self.options.program = agent.path().into();
        (self.options.runtime, self.options.remote) = (None, Some(Arc::new(agent)));
        self
    }

    /// Uses these scripts instead of the recorded ones.
    #[must_use]
    pub fn parties(mut self, parties: Vec<PartyScript>) -> Self {
        self.options.parties = parties;
        self
    }

    /// Shows the program's own output.
    #[must_use]
    pub fn show_output(mut self) -> Self {
        self.options.output = Output::Inherit;
        self
    }

    /// The program that is run.
    #[must_use]
    pub fn program_path(&self) -> &Path {
        &self.options.program
    }

    /// Whether the program was built again since the recording.
    #[must_use]
    pub fn is_program_changed(&self) -> bool {
        self.recording.program.changed(&self.options.program) == Some(true)
    }

    /// Files with places of the finding that were changed after the program was built.
    #[must_use]
    pub fn newer_sources(&self) -> Vec<String> {
        let modified = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
        let Some(built) = modified(&self.options.program) else { return Vec::new() };
        let accesses = self.finding.iter().flat_map(|finding| &finding.accesses);
        let places = accesses.flat_map(|access| access.stack.iter().chain([&access.place]));
        let mut files: Vec<String> = places.filter_map(|place| place.file.clone()).collect();
        files.sort_unstable();
        files.dedup();
        files.retain(|file| modified(Path::new(file)).is_some_and(|changed| changed > built));
        files
    }

    /// What a debugger that takes the program over needs. With a stop of its own the debugger wants
    /// the schedule as it was recorded.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn for_debugger(&self, stops: bool) -> Result<DebuggedRun, Error> {
        let plan = if stops { self.plan.clone() } else { self.witness_plan() };
        // The emulator that observes a program cannot be debugged. The schedule is the same without
        // it, unless atomic instructions are scheduling points. Write-protected pages would look
        // like crashes, so the run gets a process of its own.
        let options = Options { observer: None, mode: RestoreMode::Fork, ..self.target_options()? };
        // A first run without the debugger shows where to stop. What it learns of spin loops keeps
        // the other one from beginning again, in a process that the debugger would not follow.
        let mut target = NativeTarget::start(Options { output: Output::Discard, ..options.clone() })?;
        let mut execution = Execution::empty();
        target.run(plan.clone(), &mut execution)?;
        if self.recording.settings.observed && execution.diverged_at.is_some() {
            return Err(Error::NotForDebugger);
        }
        let saved = target.save();
        let knowledge = SpinFacts::from_bytes(&target.knowledge()).unwrap_or_default();
        let mut run = DebuggedRun { options, plan, saved, knowledge, failure: None };
        if !stops {
            self.stop_at_defect(&mut run, &execution)?;
        }
        Ok(run)
    }

    /// Has the run stop where the defect of the finding shows.
    fn stop_at_defect(&self, run: &mut DebuggedRun, execution: &Execution) -> Result<(), Error> {
        let Some(finding) = self.finding.as_ref().filter(|finding| !is_adjacent(finding)) else { return Ok(()) };
        let detail = |defect: &Defect| finding.detail.as_deref().is_none_or(|detail| detail == defect.signature.detail);
        let defects = self.finder().find(execution);
        let same = defects.iter().find(|defect| defect.signature.kind == finding.kind && detail(defect));
        let mut last_access = None;
        for part in same.iter().flat_map(|defect| &defect.parts) {
            match part.position {
                PartPosition::Incident(number) => run.failure = Some(number),
                PartPosition::Access(number) => last_access = last_access.max(Some(number)),
                PartPosition::Event(_) | PartPosition::Pending => {}
            }
        }
        let access = last_access.and_then(|number| execution.accesses.get(number as usize));
        if let Some(access) = access.filter(|_| run.failure.is_none()) {
            let symbols = target_symbols(&self.options, &[]);
            let names = SourceNames::new(&symbols, execution);
            let entries = Found::new(execution, self.options.spurious, &names).entries_before(access);
            let stops = entries.iter().enumerate();
            run.plan.stops =
                stops.filter_map(|(after, entry)| entry.stop.map(|access| Stop { after, access })).collect();
            run.plan.request.schedule = choices_of(&entries)?;
            run.plan.stop_after_schedule = true;
        }
        Ok(())
    }

    /// Finds what the finding is about.
    fn finder(&self) -> DefectFinder {
        let is_exit = self.finding.as_ref().is_some_and(|finding| finding.detail.as_deref() == Some("exit-status"));
        let finder = if is_exit { DefectFinder::allowing(&[]) } else { DefectFinder::new() };
        finder.until_idle(self.options.until_idle)
    }

    /// The options, with what can be seen of the program.
    fn target_options(&self) -> Result<Options, Error> {
        let mut options = self.options.clone();
        let observe = self.recording.settings.observed.then_some(Observe::All);
        see(&mut options, observe)?;
        Ok(options)
    }

    /// Runs the schedule, twice: a witness must do the same each time.
    ///
    /// # Errors
    /// If the program cannot be run, or does not do the same twice.
    pub fn run(&self) -> Result<ReplayOutcome, Error> {
        let mut target = NativeTarget::start(self.target_options()?)?;
        let (execution, detail) = twice(&mut target, &self.witness_plan())?;
        let symbols = target_symbols(&self.options, target.mappings());
        let names = SourceNames::new(&symbols, &execution);
        if let Some(divergence) = compare(&self.recording.schedule, &execution, &names) {
            let divergence = divergence.to_string();
            return Ok(ReplayOutcome::Diverged(Box::new(self.follow_threads(&mut target, divergence)?)));
        }
        let mut found = observed(&execution, &names, self.finder());
        // Of a run that was stopped, only what the threads would do next counts.
        found.retain(|_| !matches!(execution.status, RunStatus::Stopped | RunStatus::Diverged));
        let reproduced = match &self.finding {
            Some(finding) if is_adjacent(finding) => has_adjacent_conflict(&execution, &detail),
            Some(finding) => found.iter().any(|observed| is_same_defect(finding, observed)),
            None => found.iter().any(|observed| observed.severity == Severity::Error),
        };
        Ok(ReplayOutcome::Followed(Box::new(FollowedRun {
            finding: self.finding.clone(),
            reproduced,
            events: self.recording.schedule.len(),
            observed: found,
            parked: parked_threads(&detail, &execution, &symbols),
        })))
    }

    /// Follows the schedule by its threads alone, whatever their operations are now, and then goes
    /// on to the end. A step that its thread cannot make is left out.
    fn follow_threads(&self, target: &mut NativeTarget, divergence: String) -> Result<DivergedRun, Error> {
        let mut plan = RunPlan { detail: true, stop_after_schedule: false, ..self.plan.clone() };
        plan.stops.clear();
        let mut execution = Execution::empty();
        loop {
            target.run(plan.clone(), &mut execution)?;
            let at = execution.diverged_at.map_or(usize::MAX, |at| at as usize);
            if execution.status != RunStatus::Diverged || at >= plan.request.schedule.len() {
                break;
            }
            plan.request.schedule.remove(at);
        }
        let symbols = target_symbols(&self.options, target.mappings());
        let found = observed(&execution, &SourceNames::new(&symbols, &execution), self.finder());
        let has_shown = |finding: &Finding| found.iter().any(|observed| is_same_defect(finding, observed));
        Ok(DivergedRun {
            divergence,
            finding: self.finding.clone(),
            followed: plan.request.schedule.len(),
            events: self.recording.schedule.len(),
            has_ended: execution.status == RunStatus::Rest,
            reproduced: self.finding.as_ref().is_some_and(has_shown),
            observed: found,
        })
    }

    /// Runs up to an event, and says where every thread stands.
    ///
    /// # Errors
    /// If the schedule is shorter, or the program cannot be run.
    pub fn stop_before(&self, event: u64) -> Result<StoppedRun, Error> {
        let mut plan = self.plan.clone();
        let before = usize::try_from(event.saturating_sub(1)).unwrap_or(usize::MAX);
        if before > plan.request.schedule.len() {
            return Err(Error::NoSuchEvent { events: plan.request.schedule.len() });
        }
        plan.request.schedule.truncate(before);
        plan.stops.retain(|stop| stop.after < before);
        plan.stop_after_schedule = true;
        plan.detail = true;
        let mut target = NativeTarget::start(self.target_options()?)?;
        let mut execution = Execution::empty();
        target.run(plan, &mut execution)?;
        let symbols = target_symbols(&self.options, target.mappings());
        let names = SourceNames::new(&symbols, &execution);
        let thread = |(number, pending): (usize, &raddle_model::Pending)| StoppedThread {
            next: describe_step(&pending.event, &execution, &names),
            state: pending.state,
            stack: target.detail().threads.get(number).map(|stack| symbols.stack(stack)).unwrap_or_default(),
        };
        let threads = execution.pending.iter().enumerate().map(thread).collect();
        Ok(StoppedRun { event: execution.events.len() + 1, threads })
    }

    /// Two threads before conflicting accesses are seen only if the run ends there; anything else
    /// shows in the whole run.
    fn witness_plan(&self) -> RunPlan {
        let mut plan = RunPlan { detail: true, ..self.plan.clone() };
        plan.stop_after_schedule = self.finding.as_ref().is_some_and(is_adjacent);
        if !plan.stop_after_schedule {
            plan.stops.clear();
        }
        plan
    }
}

fn twice(target: &mut NativeTarget, plan: &RunPlan) -> Result<(Execution, Detail), Error> {
    let (mut first, mut second) = (Execution::empty(), Execution::empty());
    target.run(plan.clone(), &mut first)?;
    let detail = target.detail().clone();
    target.run(plan.clone(), &mut second)?;
    match selfcheck::same_execution(&first, &second) {
        Ok(()) => Ok((first, detail)),
        Err(difference) => Err(Error::Nondeterministic(difference.to_string())),
    }
}

fn is_adjacent(finding: &Finding) -> bool {
    finding.kind == Kind::DataRace && finding.witness_kind == Some(WitnessKind::Adjacent)
}

/// The same sort of defect; places may have moved since.
fn is_same_defect(finding: &Finding, observed: &Observed) -> bool {
    let same_detail = finding.detail.as_deref().is_none_or(|detail| detail == observed.detail);
    finding.kind == observed.kind && same_detail
}

/// What a thread would do next to memory.
struct NextAccess {
    thread: u16,
    bytes: std::ops::Range<u64>,
    writes: bool,
    atomic: bool,
}

impl NextAccess {
    fn conflicts(&self, other: &NextAccess) -> bool {
        let overlap = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        let writes = self.writes || other.writes;
        self.thread != other.thread && overlap && writes && !(self.atomic && other.atomic)
    }
}

/// Whether two threads stand right before accesses that conflict.
fn has_adjacent_conflict(execution: &Execution, detail: &Detail) -> bool {
    let parked = detail.parked.iter().map(|parked| NextAccess {
        thread: parked.access.thread,
        bytes: parked.access.addr..parked.access.addr.saturating_add(parked.access.size),
        writes: parked.access.kind == AccessKind::Write,
        atomic: false,
    });
    let pending = execution.pending.iter().map(|pending| &pending.event);
    let pending = pending.filter_map(|event| {
        let (writes, atomic) = match event.op {
            Op::Atomic(op) => (!op.is_load(), true),
            Op::Memory(op) => (op.action != MemoryAction::Read, false),
            // A use of an object conflicts with plain writes.
            _ if event.op.object_bytes().is_some() => (false, true),
            _ => return None,
        };
        let (addr, size) = event.op.object_bytes().unwrap_or(event.op.bytes());
        Some(NextAccess { thread: event.thread, bytes: addr..addr.saturating_add(size.max(1)), writes, atomic })
    });
    let all: Vec<NextAccess> = parked.chain(pending).collect();
    let objects: Vec<&Event> = execution.pending.iter().map(|pending| &pending.event).collect();
    let is_made = |event: &Event| event.op.life_change().map(LifeChange::object);
    let made_and_used = objects.iter().any(|event| {
        let uses = |other: &&Event| {
            other.thread != event.thread && is_made(event).is_some_and(|made| made == other.op.object())
        };
        objects.iter().any(uses)
    });
    made_and_used
        || all.iter().enumerate().any(|(number, one)| all[number + 1..].iter().any(|other| one.conflicts(other)))
}

fn parked_threads(detail: &Detail, execution: &Execution, symbols: &Symbols) -> Vec<ParkedThread> {
    let thread = |parked: &raddle_exec::decode::Parked| {
        let access = parked.access;
        let info = execution.threads.get(usize::from(access.thread));
        let lone = [access.pc];
        ParkedThread {
            thread: info.map(|thread| thread.path.to_string()).unwrap_or_default(),
            writes: access.kind == AccessKind::Write,
            size: access.size,
            stack: symbols.stack(if parked.stack.is_empty() { &lone } else { &parked.stack }),
        }
    };
    detail.parked.iter().map(thread).collect()
}
