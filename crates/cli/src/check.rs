//! `raddle check`: explores every schedule that matters.
//!
//! What is printed for people goes to standard output, or to standard error where standard output
//! belongs to a machine-readable report. Progress and complaints always go to standard error.

pub mod build;
mod printer;
pub mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use raddle_engine::directory::{REPORT, ROOT, RunDirectory, claim, load_traces, usual_directory};
use raddle_engine::frameworks::Framework;
use raddle_engine::{
    CheckOptions, Checker, Durability, Interrupted, Observer, Program, Progress, Trust, UnseenCode, can_go_on, durable,
    granularity_word, has_panicked,
};
use raddle_exec::interrupt;
use raddle_model::finding::{Finding, Report, Verdict};
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::bundle::ReportBundle;
use raddle_report::suppress::Suppressions;

use crate::args::{CheckArgs, FrameworkArg, GranularityArg, PropertyArg};
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::formats::{self, Format};
use crate::frameworks;
use crate::known::Known;
use crate::last_resort::{AfterGivingUp, LastResort, StopCause};
use crate::serve::Live;
use crate::statuses::Statuses;
use crate::watch;
use build::Input;
use printer::Printer;
use progress::ProgressLine;

/// Searches that have lasted for so long are made durable.
const LONG: Duration = Duration::from_secs(10);

/// Runs the command, which these words gave.
pub fn run(args: &CheckArgs, words: &[OsString]) -> CommandResult {
    if !args.test.is_empty() && args.framework.is_none() && !args.gtest {
        return Err(CommandError("--test chooses test cases of a framework: add --framework auto".into()));
    }
    options(args)?.validate().map_err(raddle_engine::Error::from)?;
    interrupt::install()?;
    args.target.remote.accept(&[(args.watch, "--watch"), (args.framework.is_some() || args.gtest, "--framework")])?;
    if args.watch { watch::run(&args.inputs, || once(args, words)) } else { once(args, words) }
}

fn once(args: &CheckArgs, words: &[OsString]) -> CommandResult {
    if let Some(framework) = args.framework.or(args.gtest.then_some(FrameworkArg::Gtest)) {
        return frameworks::run(args, framework);
    }
    let durability = durability(args, words)?;
    Ok(status(&check(args, How { durability: Some(durability), ..How::default() })?))
}

/// Goes on with a check that was interrupted, which these words gave.
pub fn resume(args: &CheckArgs, words: &[OsString], interrupted: Interrupted) -> CommandResult {
    interrupt::install()?;
    let directory = interrupted.path().parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let mut args = args.clone();
    // It was kept beside another check of that program.
    let is_beside = args.checkpoint.is_none() && directory.parent() == Some(Path::new(ROOT));
    if is_beside && args.out.is_none() && directory != usual_directory(&Input::of(&args.inputs)?.name()) {
        args.out = Some(directory.clone());
    }
    let durability = Durability { directory, after: Duration::ZERO, command: words.to_vec() };
    Ok(status(&check(&args, How { durability: Some(durability), interrupted: Some(interrupted), part: None })?))
}

/// Where the directory of the run is, which no other check has at the same time.
pub fn directory(args: &CheckArgs, name: &str) -> Result<PathBuf, CommandError> {
    match &args.out {
        Some(out) => Ok(out.clone()),
        None => Ok(claim(&usual_directory(name))?),
    }
}

/// When and where the search is saved. What an earlier one left there is removed.
fn durability(args: &CheckArgs, words: &[OsString]) -> Result<Durability, CommandError> {
    let run = directory(args, &Input::of(&args.inputs)?.name())?;
    RunDirectory::create(&run)?;
    let (directory, after) = match &args.checkpoint {
        None => (run.clone(), LONG),
        Some(directory) => (directory.clone(), Duration::ZERO),
    };
    durable::forget(&run)?;
    durable::forget(&directory)?;
    if args.checkpoint.is_some() {
        durable::link(&run, &directory)?;
    }
    Ok(Durability { directory, after, command: words.to_vec() })
}

/// The exit status for a report.
pub fn status(report: &Report) -> u8 {
    match report.verdict {
        _ if has_panicked(report) => exit_codes::UNUSABLE,
        Verdict::Verified => exit_codes::FINE,
        Verdict::Bug => exit_codes::FOUND,
        Verdict::Incomplete => exit_codes::OPEN,
    }
}

/// The program to check, built into `directory` where it has to be.
pub fn program(args: &CheckArgs, input: &Input, directory: &Path) -> Result<Program, CommandError> {
    input.program(&args.build, directory)
}

/// How a program is checked, beside what the arguments say.
#[derive(Default)]
pub struct How<'a> {
    /// When and where the search is saved.
    pub durability: Option<Durability>,
    /// What to go on with.
    pub interrupted: Option<Interrupted>,
    /// It is one test case of several.
    pub part: Option<&'a SuitePart>,
}

/// One test case of several.
#[derive(Clone)]
pub struct SuitePart {
    /// Its name.
    pub title: String,
    /// How far the command is: `test 3/6`.
    pub progress: String,
    /// The framework that runs it.
    pub framework: Option<Framework>,
    /// Whether standard output belongs to a report of all test cases.
    pub silent: bool,
    /// A first, short search: what it finds is shown only if it is the last one.
    pub is_first_pass: bool,
    /// When the command began.
    pub begun: Instant,
    /// Takes the report if the check has to be given up.
    pub given_up: Sender<Result<Report, CommandError>>,
}

/// Checks one program, or goes on with that, and tells what came of it.
pub fn check(args: &CheckArgs, how: How<'_>) -> Result<Report, CommandError> {
    check_with(args, how, |checker| checker)
}

/// The same with a checker that is set up further.
pub fn check_with(
    args: &CheckArgs,
    how: How<'_>,
    set_up: impl FnOnce(Checker) -> Checker,
) -> Result<Report, CommandError> {
    let How { durability, interrupted, part } = how;
    options(args)?.validate().map_err(raddle_engine::Error::from)?;
    let input = Input::of(&args.inputs)?;
    args.target.remote.accept(&[(input.is_sources(), "a source file")])?;
    let directory = directory(args, &input.name())?;
    RunDirectory::create(&directory)?;
    if args.out.is_none() && directory != usual_directory(&input.name()) {
        say(&format!(
            "raddle: another check of {} is under way: this one is kept in {}",
            input.name(),
            directory.display()
        ));
    }
    let (begun, mut options) = (Instant::now(), options(args)?);
    let words = [options.strategy.word(), granularity_word(options.granularity), options.property().word()];
    let known = Known::new(&input.name(), &args.args, words, options.memory);
    let journal = durability.as_ref().map(|durability| durability.directory.clone());
    let last_resort = watch(args, &known, &directory, journal.clone(), part);
    // A search goes on with the program that was built for it.
    let program = match (&interrupted, input.built(&directory)) {
        (Some(_), Some(built)) => built,
        _ => program(args, &input, &directory)?,
    };
    let mut program = args.target.apply(program, &args.args)?;
    let mut line = ProgressLine::new(args.shown.quiet);
    if let Some(part) = part {
        options.framework = part.framework;
        program = program.named(part.title.clone());
        line.say_first(format!("{} {}: ", part.progress, part.title), part.begun);
    }
    if args.shown.serve {
        let live = Live::open(&input.name())?;
        say(&format!("raddle: live view at {}", live.url()));
        line.show_live(live);
    }
    // Compiling takes from the same time.
    options.time_limit = options.time_limit.map(|limit| limit.saturating_sub(begun.elapsed()));
    let mut display = Display { line, known, last_resort, tells_news: part.is_none_or(|part| !part.is_first_pass) };
    let mut checker = Checker::new(program).options(options).directory(&directory);
    if let Some(durability) = durability {
        checker = checker.durable(durability);
    }
    if let Some(interrupted) = interrupted {
        checker = checker.resume(interrupted);
    }
    let mut checker = set_up(checker);
    let report = checker.run(&mut display)?;
    let Display { line, .. } = display;
    line.finish();
    let printer = Printer::new(args, &input.name()).part(part);
    let run = ReportBundle { traces: load_traces(&directory, &report.findings), report };
    write_reports(args, &run)?;
    if part.is_none_or(|part| !part.is_first_pass || is_decided(&run.report)) {
        printer.findings(&run);
        printer.summary(&run.report, &directory);
    }
    // From now on nothing can be lost.
    let saved = match journal {
        Some(journal) if can_go_on(&run.report) => Some(journal).filter(|path| path.join(durable::JOURNAL).exists()),
        Some(journal) => {
            durable::forget(&journal)?;
            durable::forget(&directory)?;
            None
        }
        None => None,
    };
    if let Some(saved) = saved.filter(|_| !args.shown.quiet) {
        tell_saved(&saved);
    }
    for (line, text) in checker.unused_suppressions() {
        say(&format!("raddle: suppression in line {line} was not needed: {text}"));
    }
    line.close(&run.report);
    Ok(run.report)
}

/// Watches the check, which is to end soon after its time limit or a signal.
fn watch(
    args: &CheckArgs,
    known: &Known,
    directory: &Path,
    journal: Option<PathBuf>,
    part: Option<&SuitePart>,
) -> LastResort {
    let (known, args, directory, part) = (known.clone(), args.clone(), directory.to_path_buf(), part.cloned());
    let limit = args.time_limit.map(Duration::from_secs_f64);
    LastResort::watch(limit, move |cause| {
        let report = give_up(&known, cause, &args, &directory, part.as_ref());
        match part {
            None => {
                if let Some(saved) = journal.filter(|path| !args.shown.quiet && path.join(durable::JOURNAL).exists()) {
                    tell_saved(&saved);
                }
                AfterGivingUp::Exit(status(&report))
            }
            Some(part) => {
                let _ = part.given_up.send(Ok(report));
                AfterGivingUp::GoOn
            }
        }
    })
}

fn tell_saved(saved: &Path) {
    say(&format!("raddle: to go on with this search: raddle resume {}", saved.display()));
}

/// Whether a first, short search has said all there is to say.
pub fn is_decided(report: &Report) -> bool {
    report.reason.as_ref().is_none_or(|reason| reason.code != "max-executions")
}

/// Says what is known so far.
fn give_up(known: &Known, cause: StopCause, args: &CheckArgs, directory: &Path, part: Option<&SuitePart>) -> Report {
    let mut report = known.report(cause, args.werror);
    if let Some(part) = part {
        report.program.clone_from(&part.title);
    }
    let run = ReportBundle { traces: load_traces(directory, &report.findings), report };
    let saved = formats::write(&run, Format::Json, &directory.join(REPORT));
    if let Err(error) = saved.and_then(|()| write_reports(args, &run)) {
        say(&format!("raddle: {error}"));
    }
    let printer = Printer::new(args, &run.report.program).part(part);
    printer.findings(&run);
    printer.summary(&run.report, directory);
    run.report
}

/// What the arguments ask the engine for.
fn options(args: &CheckArgs) -> Result<CheckOptions, CommandError> {
    Ok(CheckOptions {
        strategy: args.strategy.into(),
        granularity: granularity(args).into(),
        property: args.property.map(Into::into),
        memory: args.memory.into(),
        stop_at_first: args.stop_at_first,
        max_executions: args.max_executions,
        max_events: args.target.max_events,
        time_limit: args.time_limit.map(Duration::from_secs_f64),
        preemptions: args.preemptions,
        spurious: args.spurious,
        jobs: args.jobs.map(|jobs| jobs as usize),
        seed: args.seed,
        cache: args.cache,
        self_check: args.self_check,
        warnings_are_errors: args.werror,
        allowed_exits: args.allow_exit.iter().flat_map(Statuses::each).collect(),
        framework: None,
        trust: Trust { names: args.trust.clone(), strict: args.strict, machine_orders: args.machine_orders },
        suppressions: suppressions(args)?,
    })
}

/// What is a scheduling point. Whether a place is reached may depend on values that race.
fn granularity(args: &CheckArgs) -> GranularityArg {
    let is_reach = args.property == Some(PropertyArg::Reach);
    args.granularity.unwrap_or(if is_reach { GranularityArg::Access } else { GranularityArg::Sync })
}

/// The file of suppressions, if there is one.
fn suppressions(args: &CheckArgs) -> Result<Suppressions, CommandError> {
    let Some(path) = &args.suppressions else { return Ok(Suppressions::default()) };
    let wrong = |what: String| CommandError(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Suppressions::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// Shows a running check on standard error: progress, and what a long search has found. Findings
/// are printed at its end, because one that comes later may explain them.
struct Display {
    line: ProgressLine,
    known: Known,
    last_resort: LastResort,
    /// Whether findings are printed while the check runs. Behind a first pass they are told anyway.
    tells_news: bool,
}

impl Observer for Display {
    fn finding(&mut self, finding: &Finding, _: &AnnotatedTrace) {
        self.known.finding(finding);
        self.line.finding(finding);
    }

    fn grouped(&mut self, findings: &[Finding], is_settled: bool) {
        self.known.grouped(findings);
        if is_settled && self.tells_news {
            self.line.grouped(findings);
        }
    }

    fn started(&mut self, code: &UnseenCode) {
        self.known.started(code);
    }

    fn concluded(&mut self) -> bool {
        self.last_resort.stand_down()
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        self.known.progress(progress);
        self.line.update(progress);
    }

    fn examined(&mut self, events: usize) {
        self.line.examined(events);
    }

    fn note(&mut self, text: &str) {
        say(&format!("raddle: {text}"));
    }
}

/// Writes the reports that the options ask for.
pub fn write_reports(args: &CheckArgs, run: &ReportBundle) -> Result<(), CommandError> {
    let wanted = [
        (&args.shown.json, Format::Json),
        (&args.shown.sarif, Format::Sarif),
        (&args.shown.junit, Format::Junit),
        (&args.shown.html, Format::Html),
    ];
    for (path, format) in wanted {
        if let Some(path) = path {
            formats::write(run, format, path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use raddle_engine::{Property, StrategyName};

    use crate::args::{PropertyArg, StrategyArg};

    fn word(value: &impl ValueEnum) -> String {
        value.to_possible_value().unwrap().get_name().to_string()
    }

    #[test]
    fn reports_use_the_words_of_the_command_line() {
        for arg in StrategyArg::value_variants() {
            assert_eq!(word(arg), StrategyName::from(*arg).word());
        }
        for arg in PropertyArg::value_variants() {
            assert_eq!(word(arg), Property::from(*arg).word());
        }
    }
}
