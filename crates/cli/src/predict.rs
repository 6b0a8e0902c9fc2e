//! `raddle predict`: races and deadlocks that other orders of one run's events show.
//!
//! Findings and verdict go to standard output (or to the JSON report), the figures of each stage to standard error.

mod export;
mod program;
mod told;
mod traces;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_model::finding::{Report, Verdict};
use raddle_predict::analysis::Budget;
use raddle_report::json;

use crate::args::PredictArgs;
use crate::check::directory::{REPORT, RunDirectory};
use crate::exit_codes;
use crate::failure::{Failure, Outcome};

/// Runs the command.
pub fn run(args: &PredictArgs) -> Outcome {
    match trace_file(&args.inputs)? {
        Some(path) => traces::run(args, path),
        None => program::run(args),
    }
}

/// The trace among the inputs, if it is one.
fn trace_file(inputs: &[PathBuf]) -> Result<Option<&Path>, Failure> {
    let is_trace = |path: &&PathBuf| path.extension().is_some_and(|end| end == "std");
    match (inputs.iter().find(is_trace), inputs.len()) {
        (None, _) => Ok(None),
        (Some(path), 1) => Ok(Some(path)),
        (Some(_), _) => Err(Failure("one trace at a time, and nothing beside it".into())),
    }
}

fn budget(args: &PredictArgs) -> Budget {
    Budget {
        states: usize::try_from(args.max_states).unwrap_or(usize::MAX),
        deadline: args.time_limit.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds)),
        window: args.window.map(|window| u32::try_from(window).unwrap_or(u32::MAX)),
        jobs: args.jobs as usize,
        by_variable: false,
    }
}

/// Whether standard output belongs to the JSON report.
fn is_silent(args: &PredictArgs) -> bool {
    args.json.as_deref() == Some(Path::new("-"))
}

/// Writes the report where it is wanted, and into the run's directory if there is one.
fn write_report(args: &PredictArgs, directory: Option<&RunDirectory>, report: &Report) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    json::write(report, &mut bytes)?;
    let write =
        |path: &Path| std::fs::write(path, &bytes).map_err(|error| Failure(format!("{}: {error}", path.display())));
    if let Some(directory) = directory {
        write(&directory.path().join(REPORT))?;
    }
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => Ok(io::stdout().write_all(&bytes)?),
        Some(path) => write(path),
        None => Ok(()),
    }
}

fn status(report: &Report) -> u8 {
    if report.verdict == Verdict::Bug { exit_codes::FOUND } else { exit_codes::OPEN }
}

/// Prints to standard output, with colours where the terminal wants them; a closed one is no reason to fail.
fn print(args: &PredictArgs, text: &str) {
    if !is_silent(args) {
        let mut out = anstream::AutoStream::auto(io::stdout());
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
