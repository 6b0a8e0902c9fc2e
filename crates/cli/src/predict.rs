//! `raddle predict`: races and deadlocks that other orders of one run's events show.
//!
//! Findings and verdict go to standard output (or to the JSON report), the figures of each stage to
//! standard error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_engine::directory::{RunDirectory, load_traces, usual_directory};
use raddle_engine::{Observer, Predicted, Predictor, PredictorOptions, has_panicked};
use raddle_exec::interrupt;
use raddle_model::finding::{Finding, Report, Verdict};
use raddle_model::weak::MemoryModel;
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::bundle::ReportBundle;
use raddle_report::json;
use raddle_report::text::{self, SourceCache};

use crate::args::PredictArgs;
use crate::check::build::Input;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::known::Known;
use crate::last_resort::{AfterGivingUp, LastResort};

/// Width of the text report.
const WIDTH: usize = 110;

/// Runs the command.
pub fn run(args: &PredictArgs) -> CommandResult {
    match trace_file(&args.inputs)? {
        Some(path) => match &args.confirm {
            Some(program) => on_program(args, std::slice::from_ref(program), Some(path)),
            None => {
                args.target.remote.accept(&[(true, "a trace")])?;
                on_trace(args, path)
            }
        },
        None if args.confirm.is_some() => Err(CommandError(
            "--confirm is for predictions of a trace (TRACE.std); those of a program are confirmed without it".into(),
        )),
        None => on_program(args, &args.inputs, None),
    }
}

/// The trace among the inputs, if it is one.
fn trace_file(inputs: &[PathBuf]) -> Result<Option<&Path>, CommandError> {
    let is_trace = |path: &&PathBuf| path.extension().is_some_and(|end| end == "std");
    match (inputs.iter().find(is_trace), inputs.len()) {
        (None, _) => Ok(None),
        (Some(path), 1) => Ok(Some(path)),
        (Some(_), _) => Err(CommandError("one trace at a time, and nothing beside it".into())),
    }
}

fn options(args: &PredictArgs) -> PredictorOptions {
    PredictorOptions {
        window: args.window,
        rounds: args.rounds,
        assume_any_value: args.assume_any_value,
        max_states: args.max_states,
        time_limit: args.time_limit.map(Duration::from_secs_f64),
        seed: args.seed,
        jobs: args.jobs as usize,
        max_events: args.target.max_events,
    }
}

/// Predicts on a program, or on a trace whose predictions the program is to confirm.
fn on_program(args: &PredictArgs, inputs: &[PathBuf], trace: Option<&Path>) -> CommandResult {
    interrupt::install()?;
    let input = Input::of(inputs)?;
    args.target.remote.accept(&[(input.is_sources(), "a source file")])?;
    let directory = args.out.clone().unwrap_or_else(|| usual_directory(&input.name()));
    RunDirectory::create(&directory)?;
    let known = Known::new(&input.name(), &args.args, ["predict", "sync", "all"], MemoryModel::Sc);
    let last_resort = watch(args, &known, Some(&directory));
    let program = args.target.apply(input.program(&args.build, &directory)?, &args.args)?;
    let predictor = match trace {
        Some(trace) => Predictor::of_trace_and_program(trace, program),
        None => Predictor::new(program),
    };
    let predictor = predictor.options(options(args)).directory(&directory);
    let mut display = Display { known };
    let predicted = predictor.export(args.export.clone()).run(&mut display)?;
    last_resort.stand_down();
    write_json(args, &predicted.report)?;
    if !args.quiet {
        say(&predicted.stages());
    }
    print_confirmed(args, &predicted.report, &directory);
    for finding in predicted.report.findings.iter().filter(|finding| finding.confirmed == Some(false)) {
        print(args, &format!("{}: {}\n", finding.id, finding.message));
    }
    print(args, &summary(&predicted, &directory));
    Ok(status(&predicted.report))
}

/// Prints the confirmed findings by cause.
fn print_confirmed(args: &PredictArgs, report: &Report, directory: &Path) {
    let sources = SourceCache::new(&std::env::current_dir().unwrap_or_default());
    let mut confirmed = report.clone();
    confirmed.findings.retain(|finding| finding.confirmed != Some(false));
    let run = ReportBundle { traces: load_traces(directory, &confirmed.findings), report: confirmed };
    for (group, trace) in run.groups() {
        let timeline = trace.map(AnnotatedTrace::timeline);
        print(args, &format!("{}\n", text::group(&group, timeline.as_ref(), &sources, WIDTH)));
    }
}

fn on_trace(args: &PredictArgs, path: &Path) -> CommandResult {
    interrupt::install()?;
    let predictor = Predictor::of_trace(path).options(options(args)).export(args.export.clone());
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let last_resort = watch(args, &Known::new(&name, &[], ["predict", "sync", "all"], MemoryModel::Sc), None);
    let predicted = predictor.run(&mut ())?;
    last_resort.stand_down();
    let report = &predicted.report;
    write_json(args, report)?;
    if !args.quiet {
        say(&predicted.stages());
    }
    for finding in &report.findings {
        print(args, &format!("{}: {}\n", finding.id, finding.message));
    }
    let figures = report.stats.prediction.unwrap_or_default();
    let text = format!(
        "incomplete {}: {} predicted, {} infeasible, {} undecided; nothing can be confirmed without the program\n",
        report.program, figures.predicted, figures.infeasible, figures.undecided
    );
    print(args, &text);
    Ok(status(report))
}

/// Watches the prediction, which is to end soon after its time limit or a signal.
fn watch(args: &PredictArgs, known: &Known, directory: Option<&Path>) -> LastResort {
    let (known, args, directory) = (known.clone(), args.clone(), directory.map(Path::to_path_buf));
    let limit = args.time_limit.map(Duration::from_secs_f64);
    LastResort::watch(limit, move |cause| {
        let report = known.report(cause, false);
        if let Err(error) = write_json(&args, &report) {
            say(&format!("raddle: {error}"));
        }
        if let Some(directory) = &directory {
            print_confirmed(&args, &report, directory);
        }
        print(&args, &text::summary(&report, None));
        AfterGivingUp::Exit(status(&report))
    })
}

/// Notes findings as they are confirmed.
struct Display {
    known: Known,
}

impl Observer for Display {
    fn finding(&mut self, finding: &Finding, _: &AnnotatedTrace) {
        self.known.finding(&Finding { confirmed: Some(true), ..finding.clone() });
    }

    fn grouped(&mut self, findings: &[Finding], _: bool) {
        self.known.grouped(findings);
    }
}

fn summary(predicted: &Predicted, directory: &Path) -> String {
    let report = &predicted.report;
    let figures = report.stats.prediction.unwrap_or_default();
    let verdict = match report.verdict {
        Verdict::Bug => "bug",
        _ => "incomplete",
    };
    let mut text = format!(
        "{verdict} {}: {} predicted, {} confirmed, {} infeasible, {} undecided\n",
        report.program, figures.predicted, figures.confirmed, figures.infeasible, figures.undecided
    );
    let safe = predicted.safe_variables();
    if !safe.is_empty() {
        text += &format!("  safe in every order of these events: {}\n", safe.join(", "));
    }
    text += "  other orders of the events of observed runs were looked at, and nothing else\n";
    for limit in &report.limits {
        text += &format!("  not covered: {limit}\n");
    }
    text += &format!("  report in {}\n", directory.display());
    text
}

/// Whether standard output belongs to the JSON report.
fn is_silent(args: &PredictArgs) -> bool {
    args.json.as_deref() == Some(Path::new("-"))
}

/// Writes the report where it is wanted.
fn write_json(args: &PredictArgs, report: &Report) -> Result<(), CommandError> {
    let mut bytes = Vec::new();
    json::write(report, &mut bytes)?;
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => Ok(io::stdout().write_all(&bytes)?),
        Some(path) => {
            std::fs::write(path, &bytes).map_err(|error| CommandError(format!("{}: {error}", path.display())))
        }
        None => Ok(()),
    }
}

fn status(report: &Report) -> u8 {
    match report.verdict {
        _ if has_panicked(report) => exit_codes::UNUSABLE,
        Verdict::Bug => exit_codes::FOUND,
        _ => exit_codes::OPEN,
    }
}

/// Prints to standard output, with colours where the terminal wants them; a closed one is no reason
/// to fail.
fn print(args: &PredictArgs, text: &str) {
    if !is_silent(args) {
        let mut out = anstream::AutoStream::auto(io::stdout());
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
