//! `raddle replay`: runs a recorded schedule again, and says whether it still leads to what it led to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use raddle_exec::decode::Detail;
use raddle_exec::recording::{Recording, compare, describe_step, plan_of};
use raddle_exec::{Mode, NativeTarget, Options, Output, Plan, interrupt, selfcheck};
use raddle_model::finding::{Finding, Kind, WitnessKind};
use raddle_model::{AccessKind, Choice, Execution};
use raddle_report::symbols::Symbols;

use crate::args::ReplayArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome, say};
use crate::naming::{SourceNames, place_text, symbols};
use crate::observed::{Observed, observed};

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

fn replay(recording: &Recording, options: Options, plan: &Plan) -> Outcome {
    let program = options.program.clone();
    let mut target = NativeTarget::start(options)?;
    let mut execution = Execution::empty();
    target.run(Plan { detail: true, ..plan.clone() }, &mut execution)?;
    let detail = target.detail().clone();
    let symbols = symbols(&program, target.modules());
    let names = SourceNames::new(&symbols, &execution);
    if let Some(difference) =
        selfcheck::repeat(&mut target, &plan.request, &execution)?.filter(|_| plan.stops.is_empty())
    {
        println(&format!("the program does not do the same twice: {difference}"));
        return Ok(exit_codes::OPEN);
    }
    if let Some(divergence) = compare(&recording.schedule, &execution, &names) {
        println(&format!("diverged {divergence}"));
        println("the schedule is no longer feasible for this program");
        return Ok(exit_codes::OPEN);
    }
    let found = observed(&execution, &names);
    for observation in &found {
        println(&observation.text);
    }
    show_parked(&detail, &execution, &symbols);
    Ok(judge(recording, &found, &detail))
}

/// Whether the run showed what the recording is a witness of.
fn judge(recording: &Recording, found: &[Observed], detail: &Detail) -> u8 {
    let steps = recording.schedule.len();
    let finding = recording.finding.clone().and_then(|value| serde_json::from_value::<Finding>(value).ok());
    let reproduced = match &finding {
        None => !found.is_empty(),
        Some(finding) if finding.kind == Kind::DataRace => race_again(finding, detail),
        Some(finding) => found.iter().any(|observation| observation.kind == finding.kind),
    };
    match (finding, reproduced) {
        (Some(finding), true) => println(&format!("reproduced: {}: {}", finding.id, finding.message)),
        (Some(finding), false) => println(&format!("followed {steps} events: {} is gone on this path", finding.id)),
        (None, true) => println(&format!("followed {steps} events to the findings above")),
        (None, false) => println(&format!("followed {steps} events: nothing is wrong on this path")),
    }
    if reproduced { exit_codes::FOUND } else { exit_codes::FINE }
}

/// Two threads stand before conflicting accesses; or, if the order of events keeps them apart, one stands before the second
/// of the two again.
fn race_again(finding: &Finding, detail: &Detail) -> bool {
    if finding.witness_kind == Some(WitnessKind::Unordered) {
        return !detail.parked.is_empty();
    }
    let conflicting = |a: &raddle_model::Access, b: &raddle_model::Access| {
        let apart = a.addr.saturating_add(a.size) <= b.addr || b.addr.saturating_add(b.size) <= a.addr;
        a.thread != b.thread && !apart && (a.kind == AccessKind::Write || b.kind == AccessKind::Write)
    };
    let accesses: Vec<_> = detail.parked.iter().map(|parked| parked.access).collect();
    accesses.iter().enumerate().any(|(n, a)| accesses[n + 1..].iter().any(|b| conflicting(a, b)))
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
fn stop_before(event: u64, options: Options, mut plan: Plan) -> Outcome {
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
    let symbols = symbols(&program, target.modules());
    let names = SourceNames::new(&symbols, &execution);
    println(&format!("stopped before event {}", execution.steps.len() + 1));
    for (thread, pending) in execution.pending.iter().enumerate() {
        println(&format!("{} ({:?})", describe_step(&pending.step, &execution, &names), pending.state));
        show_stack(target.detail().threads.get(thread).map_or(&[], Vec::as_slice), &symbols);
    }
    Ok(exit_codes::FINE)
}

/// Lets gdb take the program over before it makes its first step. In a process of its own, because write-protected
/// pages would look like crashes to the user.
fn debug(args: &ReplayArgs, mut options: Options, plan: Plan) -> Outcome {
    options.mode = Mode::Fork;
    options.hang_timeout = Duration::MAX;
    interrupt::leave_to_debugger()?;
    let program = options.program.clone();
    let mut target = NativeTarget::start(options)?;
    let process = target.process_id().ok_or_else(|| Failure("the program has ended".into()))?;
    // Stopped until gdb has attached: it would be through before.
    let stopped = Command::new("kill").args(["-STOP", &process.to_string()]).status()?;
    if !stopped.success() {
        return Err(Failure("the program cannot be stopped for gdb".into()));
    }
    target.submit_plan(plan);
    target.hand_over();
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-ex", "set breakpoint pending on", "-ex", "set follow-fork-mode child"]);
    gdb.args(["-ex", "handle SIGSTOP nostop noprint nopass"]);
    if let (Some(event), Some(address)) = (args.break_at, target.heartbeat_address()) {
        let word = format!("*(unsigned long *){address:#x}");
        gdb.args(["-ex", &format!("watch {word} if {word} == {event}")]);
    }
    gdb.arg(&program).args(["-p", &process.to_string()]);
    let status = gdb.status().map_err(|error| Failure(format!("gdb cannot be started: {error}")))?;
    say("raddle: gdb has ended");
    Ok(if status.success() { exit_codes::FINE } else { exit_codes::UNUSABLE })
}

/// Prints a line to standard output; a closed one is no reason to fail.
fn println(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

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
