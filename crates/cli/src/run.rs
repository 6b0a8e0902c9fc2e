//! `raddle run`: one controlled execution.
//!
//! The program's output goes where raddle's would; what raddle itself has to say goes to standard error.

use std::path::Path;
use std::time::Duration;

use raddle_exec::recording::{RecordedProgram, Recording, Settings, compare, entries_of, plan_of};
use raddle_exec::{NativeTarget, Options, Output, RunPlan, interrupt, selfcheck};
use raddle_model::finding::Severity;
use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::{MAX_THREADS, Policy, mix};

use crate::args::RunArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome, say};
use raddle_engine::Program;
use raddle_engine::naming::{SourceNames, symbols};
use raddle_engine::observed::observed;

/// Room for the trace from the start: a run that had to be repeated with more would show its output twice. Memory is
/// taken only for what is written.
const TRACE_BYTES: u64 = 1 << 30;
/// Orders tried for each repetition of a self-check.
const ORDERS: u64 = 4;

/// Runs the command.
pub fn run(args: &RunArgs) -> Outcome {
    interrupt::install()?;
    let recording = args.schedule.as_deref().map(load).transpose()?;
    let mut options = options(args);
    if let Some(recording) = &recording {
        recording.settings.apply(&mut options);
    }
    let plan = plan(args, recording.as_ref())?;
    let mut target = NativeTarget::start(options)?;
    let mut execution = Execution::empty();
    target.run(plan.clone(), &mut execution)?;
    let symbols = symbols(&args.program, target.mappings());
    let names = SourceNames::new(&symbols, &execution);
    if let Some(path) = &args.trace {
        save_trace(path, &target, &plan, &execution, &names)?;
    }
    if let Some(recording) = &recording
        && let Some(divergence) = compare(&recording.schedule, &execution, &names)
    {
        say(&format!("raddle: the run left the schedule {divergence}"));
        return Ok(exit_codes::OPEN);
    }
    let findings = observed(&execution, &names);
    for finding in &findings {
        say(&format!("raddle: {}", finding.text));
    }
    tell(args, &target, &execution);
    if args.self_check > 0 {
        self_check(args, &target, &plan.request, &execution)?;
    }
    let errors = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(status(&execution, errors))
}

fn load(path: &Path) -> Result<Recording, Failure> {
    Recording::load(path).map_err(|error| Failure::recording(path, &error))
}

fn options(args: &RunArgs) -> Options {
    let mut options = args.target.apply(Program::new(&args.program), &args.args).target_options();
    options.granularity = args.granularity.into();
    options.mode = args.mode.into();
    options.spurious = args.spurious;
    options.memory_limit = args.memory_limit.or(options.memory_limit);
    options.hang_timeout = Duration::from_secs_f64(args.hang_timeout);
    options.output = Output::Inherit;
    options.pool = MAX_THREADS as u32;
    options.trace_bytes = TRACE_BYTES;
    options
}

fn plan(args: &RunArgs, recording: Option<&Recording>) -> Result<RunPlan, Failure> {
    if let Some(recording) = recording {
        return Ok(plan_of(recording)?);
    }
    let policy = args.seed.map_or(Policy::LeastRank, |seed| Policy::Random { seed });
    Ok(RunPlan::from(Request { schedule: Vec::new(), policy, max_events: args.target.max_events }))
}

fn save_trace(
    path: &Path,
    target: &NativeTarget,
    plan: &RunPlan,
    execution: &Execution,
    names: &SourceNames<'_>,
) -> Result<(), Failure> {
    let options = target.options();
    let wrong = |error| Failure::recording(path, &error);
    let recording = Recording {
        program: RecordedProgram::of(options).map_err(wrong)?,
        settings: Settings::of(options, plan.request.max_events),
        schedule: entries_of(execution, options.spurious, names),
        finding: None,
        execution: Some(execution.clone()),
    };
    recording.save(path).map_err(wrong)
}

/// The program's own status, unless something was found or the run did not come to its end.
fn status(execution: &Execution, found: bool) -> u8 {
    match execution.status {
        _ if found => exit_codes::FOUND,
        RunStatus::Rest | RunStatus::Assumed => execution.exit.unwrap_or(0) as u8,
        _ => exit_codes::OPEN,
    }
}

fn tell(args: &RunArgs, target: &NativeTarget, execution: &Execution) {
    match execution.status {
        RunStatus::Cut => say(&format!("raddle: the run was cut after {} events (--max-events)", execution.recorded)),
        RunStatus::Damaged => say("raddle: the run could not go on to its end"),
        RunStatus::Assumed => say("raddle: a false assumption ended the run"),
        _ => {}
    }
    for limit in target.limits() {
        say(&format!("raddle: not modelled: {limit}"));
    }
    if !args.quiet {
        let exit = execution.exit.map_or_else(|| "no exit".into(), |status| format!("exit status {status}"));
        let (threads, steps) = (execution.threads.len(), execution.events.len());
        say(&format!("raddle: {exit}; {threads} threads, {steps} transitions, {} events", execution.recorded));
    }
}

/// Runs the same again in both modes, and in other orders, with the output thrown away.
fn self_check(args: &RunArgs, target: &NativeTarget, request: &Request, before: &Execution) -> Result<(), Failure> {
    let mut options = target.options().clone();
    options.output = Output::Discard;
    options.checkpoints = raddle_exec::Checkpoints::Never;
    let wrong = |what: &str, difference| Failure(format!("self-check failed: {what}: {difference}"));
    for mode in [raddle_exec::RestoreMode::Snapshot, raddle_exec::RestoreMode::Fork] {
        options.mode = mode;
        let mut other = NativeTarget::start(options.clone())?;
        for round in 0..args.self_check {
            if let Some(difference) = selfcheck::repeat(&mut other, request, before)? {
                return Err(wrong(&format!("the same schedule ({mode:?}) gave another run"), difference));
            }
            for order in 0..ORDERS {
                let seed = mix(u64::from(round) * ORDERS + order);
                if let Some(difference) = selfcheck::reorder(&mut other, before, args.spurious, seed)? {
                    return Err(wrong(&format!("an equivalent schedule ({mode:?}) gave another run"), difference));
                }
            }
        }
    }
    if !args.quiet {
        say(&format!(
            "raddle: self-check passed ({} repetitions, {ORDERS} orders each, snapshot and fork)",
            args.self_check
        ));
    }
    Ok(())
}
