//! `raddle replay`: runs a recorded schedule again, and says whether it still leads to what it led to.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use raddle_exec::decode::Detail;
use raddle_exec::recording::{Recording, compare, describe_step, plan_of};
use raddle_exec::{NativeTarget, Options, Output, RunPlan, interrupt, selfcheck};
use raddle_model::finding::{Finding, Kind, Severity, WitnessKind};
use raddle_model::{AccessKind, Choice, Event, Execution};
use raddle_report::symbols::Symbols;
use raddle_vocab::{OpKind, RunStatus};

use crate::args::ReplayArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome};
use crate::gdb::debug;
use raddle_engine::naming::{SourceNames, place_text, symbols};
use raddle_engine::observed::{Observed, observed};

/// A thread that no run has: asking for it stops the run.
const NOBODY: u16 = u16::MAX;

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Outcome {
    let path = find_witness(&args.witness, Path::new(".raddle"))?;
    let recording = Recording::load(&path).map_err(|error| Failure::recording(&path, &error))?;
    let options = options(args, &recording);
    if recording.program.changed(&options.program) == Some(true) {
        println(&format!("{} was built again since the recording", options.program.display()));
    }
    let plan = plan_of(&recording)?;
    if args.gdb {
        let finding = recording.finding.clone().and_then(|value| serde_json::from_value::<Finding>(value).ok());
        let plan = if args.break_at.is_none() { witness_plan(finding.as_ref(), &plan) } else { plan };
        return debug(args, options, plan);
    }
    interrupt::install()?;
    match args.break_at {
        Some(event) => stop_before(event, options, plan),
        None => replay(&recording, options, &plan),
    }
}

/// A file as it is named, or the newest recording with that name among the results of checks.
fn find_witness(name: &Path, results: &Path) -> Result<PathBuf, Failure> {
    if name.exists() {
        return Ok(name.into());
    }
    let nothing = || Failure(format!("there is no file {0} and no finding {0} in the last check", name.display()));
    if name.components().count() != 1 {
        return Err(nothing());
    }
    let runs = std::fs::read_dir(results).map_err(|_| nothing())?;
    let candidates = runs.flatten().map(|run| {
        let mut path = run.path().join(name);
        path.as_mut_os_string().push(".json");
        path
    });
    let age = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    candidates.filter(|path| path.exists()).max_by_key(age).ok_or_else(nothing)
}

fn options(args: &ReplayArgs, recording: &Recording) -> Options {
    let program = &recording.program;
    let mut options = Options::new(args.program.clone().unwrap_or_else(|| PathBuf::from(&program.path)));
    options.args = program.args.iter().map(Into::into).collect();
    options.stdin = program.stdin.as_ref().map(PathBuf::from);
    options.output = if args.show_output || args.gdb { Output::Inherit } else { Output::Discard };
    recording.settings.apply(&mut options);
    options
}

fn replay(recording: &Recording, options: Options, plan: &RunPlan) -> Outcome {
    let program = options.program.clone();
    let finding = recording.finding.clone().and_then(|value| serde_json::from_value::<Finding>(value).ok());
    let plan = witness_plan(finding.as_ref(), plan);
    let mut target = NativeTarget::start(options)?;
    let (execution, detail) = twice(&mut target, &plan)?;
    let symbols = symbols(&program, target.mappings());
    let names = SourceNames::new(&symbols, &execution);
    if let Some(divergence) = compare(&recording.schedule, &execution, &names) {
        println(&format!("diverged {divergence}"));
        println("the schedule is no longer feasible for this program");
        return Ok(exit_codes::OPEN);
    }
    let mut found = observed(&execution, &names);
    // Of a run that was stopped, only what the threads stand before counts.
    found.retain(|_| execution.status != RunStatus::Diverged);
    for observation in &found {
        println(&observation.text);
    }
    show_parked(&detail, &execution, &symbols);
    let steps = recording.schedule.len();
    let reproduced = match &finding {
        Some(finding) if is_adjacent(finding) => meeting(&execution, &detail),
        Some(finding) => found.iter().any(|observation| is_again(finding, observation)),
        None => found.iter().any(|observation| observation.severity == Severity::Error),
    };
    println(&match (finding, reproduced) {
        (Some(finding), true) => format!("reproduced: {}: {}", finding.id, finding.message),
        (Some(finding), false) => format!("followed {steps} events: {} is gone on this path", finding.id),
        (None, true) => format!("followed {steps} events to the findings above"),
        (None, false) => format!("followed {steps} events: nothing is wrong on this path"),
    });
    Ok(if reproduced { exit_codes::FOUND } else { exit_codes::FINE })
}

/// Runs the plan twice: a witness must do the same each time.
fn twice(target: &mut NativeTarget, plan: &RunPlan) -> Result<(Execution, Detail), Failure> {
    let (mut first, mut second) = (Execution::empty(), Execution::empty());
    target.run(plan.clone(), &mut first)?;
    let detail = target.detail().clone();
    target.run(plan.clone(), &mut second)?;
    match selfcheck::same_execution(&first, &second) {
        Ok(()) => Ok((first, detail)),
        Err(difference) => Err(Failure(format!("the program does not do the same twice: {difference}"))),
    }
}

fn is_adjacent(finding: &Finding) -> bool {
    finding.kind == Kind::DataRace && finding.witness_kind == Some(WitnessKind::Adjacent)
}

/// Two threads before conflicting accesses are seen only if the run ends there; anything else shows in the whole run.
fn witness_plan(finding: Option<&Finding>, plan: &RunPlan) -> RunPlan {
    let mut plan = RunPlan { detail: true, ..plan.clone() };
    if finding.is_some_and(is_adjacent) {
        plan.request.schedule.push(Choice::of(NOBODY));
    } else {
        plan.stops.clear();
    }
    plan
}

/// The same sort of defect; places may have moved since.
fn is_again(finding: &Finding, observation: &Observed) -> bool {
    let same_detail = finding.detail.as_deref().is_none_or(|detail| detail == observation.detail);
    finding.kind == observation.kind && same_detail
}

/// What a thread would do next to memory.
struct Side {
    thread: u16,
    bytes: std::ops::Range<u64>,
    writes: bool,
    atomic: bool,
}

/// Whether two threads stand right before accesses that conflict.
fn meeting(execution: &Execution, detail: &Detail) -> bool {
    let parked = detail.parked.iter().map(|parked| Side {
        thread: parked.access.thread,
        bytes: parked.access.addr..parked.access.addr.saturating_add(parked.access.size),
        writes: parked.access.kind == AccessKind::Write,
        atomic: false,
    });
    let pending = execution.pending.iter().map(|pending| &pending.event);
    let touches_memory = |step: &&Event| {
        step.kind.is_atomic_access() || matches!(step.kind, OpKind::Read | OpKind::Write | OpKind::Free)
    };
    let pending = pending.filter(touches_memory).map(|step| Side {
        thread: step.thread,
        bytes: step.obj..step.obj.saturating_add(step.extent().max(1)),
        writes: !matches!(step.kind, OpKind::AtomicLoad | OpKind::Read),
        atomic: step.kind.is_atomic_access(),
    });
    let sides: Vec<Side> = parked.chain(pending).collect();
    let conflict = |a: &Side, b: &Side| {
        let overlap = a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end;
        a.thread != b.thread && overlap && (a.writes || b.writes) && !(a.atomic && b.atomic)
    };
    sides.iter().enumerate().any(|(number, a)| sides[number + 1..].iter().any(|b| conflict(a, b)))
}

fn show_parked(detail: &Detail, execution: &Execution, symbols: &Symbols) {
    for (number, parked) in detail.parked.iter().enumerate() {
        let access = parked.access;
        let what = if access.kind == AccessKind::Write { "write" } else { "read" };
        let thread = execution.threads.get(usize::from(access.thread)).map(|thread| thread.path.to_string());
        let thread = thread.unwrap_or_default();
        println(&format!("({}) thread {thread} stands before a {what} of {} bytes", number + 1, access.size));
        let lone = [access.pc];
        show_stack(if parked.stack.is_empty() { &lone } else { &parked.stack }, symbols);
    }
}

fn show_stack(stack: &[u64], symbols: &Symbols) {
    for place in symbols.stack(stack) {
        let function = place.function.clone().unwrap_or_else(|| "?".into());
        println(&format!("      {function}  {}", place_text(&place).unwrap_or_default()));
    }
}

/// Runs up to an event and shows where every thread stands.
fn stop_before(event: u64, options: Options, mut plan: RunPlan) -> Outcome {
    let before = usize::try_from(event - 1).unwrap_or(usize::MAX);
    if before > plan.request.schedule.len() {
        return Err(Failure(format!("the recording has only {} events", plan.request.schedule.len())));
    }
    plan.request.schedule.truncate(before);
    plan.stops.retain(|stop| stop.after < before);
    plan.request.schedule.push(Choice::of(NOBODY));
    plan.detail = true;
    let program = options.program.clone();
    let mut target = NativeTarget::start(options)?;
    let mut execution = Execution::empty();
    target.run(plan, &mut execution)?;
    let symbols = symbols(&program, target.mappings());
    let names = SourceNames::new(&symbols, &execution);
    println(&format!("stopped before event {}", execution.events.len() + 1));
    for (thread, pending) in execution.pending.iter().enumerate() {
        println(&format!("{} ({:?})", describe_step(&pending.event, &execution, &names), pending.state));
        show_stack(target.detail().threads.get(thread).map_or(&[], Vec::as_slice), &symbols);
    }
    Ok(exit_codes::FINE)
}

/// Prints a line to standard output; a closed one is no reason to fail.
fn println(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_witness_is_a_file_or_the_newest_finding_of_that_name() {
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("results");
        for run in ["one", "two"] {
            std::fs::create_dir_all(results.join(run)).unwrap();
        }
        let old = results.join("one/r1.json");
        std::fs::write(&old, "").unwrap();
        let past = SystemTime::now() - Duration::from_secs(100);
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(past).unwrap();
        std::fs::write(results.join("two/r1.json"), "").unwrap();
        assert_eq!(find_witness(Path::new("r1"), &results).unwrap(), results.join("two/r1.json"));
        assert_eq!(find_witness(&old, &results).unwrap(), old);
        assert!(find_witness(Path::new("r2"), &results).unwrap_err().0.contains("no finding r2"));
        assert!(find_witness(Path::new("a/b"), &results).is_err());
        assert!(find_witness(Path::new("r1"), Path::new("/no/such")).is_err());
    }
}
