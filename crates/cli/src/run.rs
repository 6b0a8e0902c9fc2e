//! `raddle run`: one controlled execution.
//!
//! The program's output goes where raddle's would; what raddle itself has to say goes to standard
//! error.

use std::path::Path;
use std::time::Duration;

use raddle_engine::{ControlledRun, Program, RunOptions, Runner, SELF_CHECK_ORDERS};
use raddle_exec::scripts::PeerRecorder;
use raddle_exec::{Output, interrupt};
use raddle_model::Execution;
use raddle_model::finding::Severity;
use raddle_vocab::RunStatus;

use crate::args::RunArgs;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;

/// Runs the command.
pub fn run(args: &RunArgs) -> CommandResult {
    interrupt::install()?;
    let program = args.target.apply(Program::new(&args.program), &args.args)?;
    let recorder = args.record_peers.as_deref().map(PeerRecorder::new).transpose();
    let recorder = recorder.map_err(|error| CommandError(error.to_string()))?;
    let peer_log = recorder.as_ref().map(|recorder| recorder.log().to_path_buf());
    let mut runner = Runner::new(program).options(RunOptions { peer_log, ..options(args) });
    if let Some(path) = &args.schedule {
        runner = runner.follow(path)?;
    }
    let run = runner.run();
    if let (Some(recorder), Some(directory)) = (recorder, &args.record_peers) {
        if run.is_err() && !interrupt::requested() {
            recorder.abandon();
        } else {
            write_scripts(recorder, directory, args.quiet)?;
        }
        // Most servers end by Ctrl-C.
        if interrupt::requested() {
            return Ok(exit_codes::FINE);
        }
    }
    let run = run?;
    if let Some(path) = &args.trace {
        run.save(path)?;
    }
    if let Some(divergence) = &run.divergence {
        say(&format!("raddle: the run left the schedule {divergence}"));
        return Ok(exit_codes::OPEN);
    }
    let findings = run.observed();
    for finding in &findings {
        say(&format!("raddle: {}", finding.text));
    }
    tell(args, &run);
    if args.self_check > 0 {
        run.self_check(args.self_check)?;
        if !args.quiet {
            let rounds = args.self_check;
            say(&format!(
                "raddle: self-check passed ({rounds} repetitions, {SELF_CHECK_ORDERS} orders each, snapshot and fork)"
            ));
        }
    }
    let errors = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(status(&run.execution, errors))
}

fn write_scripts(recorder: PeerRecorder, directory: &Path, quiet: bool) -> Result<(), CommandError> {
    let recorded = recorder.finish().map_err(|error| CommandError(error.to_string()))?;
    for warning in &recorded.warnings {
        say(&format!("raddle: warning: {warning}"));
    }
    if !quiet {
        let count = recorded.parties;
        let connections = if count == 1 { "1 connection".into() } else { format!("{count} connections") };
        say(&format!("raddle: {connections} recorded: raddle check --peers {}", directory.display()));
    }
    Ok(())
}

fn options(args: &RunArgs) -> RunOptions {
    RunOptions {
        granularity: args.granularity.into(),
        mode: args.mode.into(),
        max_events: args.target.max_events,
        spurious: args.spurious,
        seed: args.seed,
        memory_limit: args.memory_limit,
        hang_timeout: Duration::from_secs_f64(args.hang_timeout),
        output: Output::Inherit,
        each_access: args.trace.is_some() || args.self_check > 0,
        peer_log: None,
    }
}

/// The program's own status, unless something was found or the run did not come to its end.
fn status(execution: &Execution, found: bool) -> u8 {
    match execution.status {
        _ if found => exit_codes::FOUND,
        RunStatus::Rest | RunStatus::Assumed => execution.exit.unwrap_or(0) as u8,
        _ => exit_codes::OPEN,
    }
}

fn tell(args: &RunArgs, run: &ControlledRun) {
    let execution = &run.execution;
    match execution.status {
        RunStatus::Cut => say(&format!("raddle: the run was cut after {} events (--max-events)", execution.recorded)),
        RunStatus::Damaged => say("raddle: the run could not go on to its end"),
        RunStatus::Assumed => say("raddle: a false assumption ended the run"),
        _ => {}
    }
    for limit in run.limits() {
        say(&format!("raddle: not modelled: {limit}"));
    }
    if !args.quiet {
        let exit = execution.exit.map_or_else(|| "no exit".into(), |status| format!("exit status {status}"));
        let (threads, transitions) = (execution.threads.len(), execution.events.len());
        let recorded = execution.recorded;
        say(&format!("raddle: {exit}; {threads} threads, {transitions} transitions, {recorded} events"));
    }
}
