//! `raddle check`: explores every schedule that matters.
//!
//! The search and the confirmation of findings have a target each, so that a finding is confirmed and shown while the search
//! goes on. What is printed for people goes to standard output, or to standard error where standard output belongs to a
//! machine-readable report; progress and complaints always go to standard error.

pub mod build;
mod closure;
pub mod collect;
pub mod confirm;
mod crew;
pub mod directory;
mod explain;
mod knowledge;
mod message;
mod order;
mod progress;
mod search;
mod strategies;
#[cfg(test)]
mod testing;
mod witness;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_exec::{Checkpoints, NativeTarget, Options, Output, interrupt};
use raddle_model::Target;
use raddle_model::finding::{Finding, Reason, Report, SCHEMA, Verdict, verdict};
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::run::Run;
use raddle_report::suppress::Suppressions;
use raddle_report::text::{self, Sources};
use raddle_report::tsan;

use crate::args::{CheckArgs, PropertyName, ReportForm, StrategyName};
use crate::exit_codes;
use crate::failure::{Failure, Outcome, say};
use crate::formats::{self, Format, terminal_width};
use crate::gtest;
use crate::naming::symbols;
use crate::serve::Live;
use build::{Input, Tools};
use collect::Collector;
use confirm::Confirmer;
use crew::Together;
use directory::{REPORT, RunDirectory};
use knowledge::Knowing;
use progress::Progress;
use search::{RESTART, Search, Searched, SelfCheck};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Outcome {
    refuse(args)?;
    interrupt::install()?;
    if args.gtest {
        return gtest::run(args);
    }
    Ok(match check(args)?.verdict {
        Verdict::Verified => exit_codes::FINE,
        Verdict::Bug => exit_codes::FOUND,
        Verdict::Incomplete => exit_codes::OPEN,
    })
}

/// The program to check, built into `directory` where it has to be.
pub fn program(args: &CheckArgs, input: &Input, directory: &Path) -> Result<PathBuf, Failure> {
    let tools = Tools { compiler: args.build.compiler.as_deref(), cflags: args.build.cflags.as_deref() };
    input.program(&tools, directory)
}

/// Checks one program and tells what came of it.
pub fn check(args: &CheckArgs) -> Result<Report, Failure> {
    let input = Input::of(&args.inputs)?;
    let mut directory = RunDirectory::create(args.out.as_deref(), &input.name())?;
    let program = program(args, &input, directory.path())?;
    let mut options = options(args, &program);
    let mut suppressions = suppressions(args)?;
    let mut progress = Progress::new(args.quiet);
    if args.serve {
        let live = Live::open(&input.name())?;
        say(&format!("raddle: live view at {}", live.url()));
        progress.show_live(live);
    }
    let printer = Printer::new(args, &input.name());
    let mut suppressed: Vec<String> = Vec::new();
    let mut report = loop {
        let round = search(args, &options, &directory, &mut suppressions, &mut progress, &printer)?;
        suppressed.extend(round.suppressed.into_iter().filter(|text| !suppressed.contains(text)).collect::<Vec<_>>());
        if round.benign.is_empty() || round.report.reason.as_ref().is_some_and(|reason| reason.code != RESTART) {
            break round.report;
        }
        // What is suppressed becomes a scheduling point, and the search starts again.
        options.benign.extend(round.benign);
        if options.benign.len() > Options::MAX_BENIGN {
            let most = Options::MAX_BENIGN;
            return Err(Failure(format!(
                "the suppressions match more than {most} accesses that race: fix some of them"
            )));
        }
        directory = RunDirectory::create(args.out.as_deref(), &input.name())?;
    };
    report.suppressed = suppressed;
    progress.finish();
    write_report(args, &directory, &report)?;
    if !suppressions.is_empty() {
        printer.all(&report, &directory);
    }
    printer.summary(&report, &directory);
    for (line, text) in suppressions.unused() {
        say(&format!("raddle: suppression in line {line} was not needed: {text}"));
    }
    progress.close(&report);
    Ok(report)
}

/// The file of suppressions, if there is one.
fn suppressions(args: &CheckArgs) -> Result<Suppressions, Failure> {
    let Some(path) = &args.suppressions else { return Ok(Suppressions::default()) };
    let wrong = |what: String| Failure(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Suppressions::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// What came of one search.
struct Round {
    report: Report,
    /// Findings that were suppressed, in words.
    suppressed: Vec<String>,
    /// Accesses of suppressed races, if there are new ones: the search was stopped there.
    benign: Vec<u64>,
}

/// When the search gives up waiting for runs: those under way at its end have a moment to finish.
fn deadline(args: &CheckArgs) -> Option<Instant> {
    let limit = Duration::try_from_secs_f64(args.time_limit?).ok()?;
    Instant::now().checked_add(limit)?.checked_add(Duration::from_secs(1))
}

/// One search from its start.
fn search(
    args: &CheckArgs,
    options: &Options,
    directory: &RunDirectory,
    suppressions: &mut Suppressions,
    progress: &mut Progress,
    printer: &Printer,
) -> Result<Round, Failure> {
    let within = Options { deadline: deadline(args), ..options.clone() };
    let mut target = NativeTarget::start(within.clone())?;
    let symbols = symbols(&options.program, target.mappings());
    let only_races = property(args) == PropertyName::Race;
    let Knowing { knowledge, notes } = knowledge::gather(args, &options.program, target.mappings());
    let confirmer = Confirmer::new(options.clone(), args.target.max_events);
    let mut collector = Collector::new(&symbols, confirmer, directory, only_races).bounded(args.preemptions);
    // With suppressions the search may start again: what is found is shown at its end.
    let at_once = suppressions.is_empty();
    collector.suppressions = std::mem::take(suppressions);
    let self_check = match args.self_check {
        Some(every) => {
            let from_the_beginning = Options { checkpoints: Checkpoints::Never, ..options.clone() };
            Some(SelfCheck::new(every, NativeTarget::start(from_the_beginning)?))
        }
        None => None,
    };
    let together = together(args, &within, &target)?;
    let searched = Search {
        strategy: strategies::build(args, knowledge)?,
        target: &mut target,
        together,
        collector: &mut collector,
        progress,
        self_check,
        stop_at_first: args.stop_at_first,
        spurious: args.spurious,
    }
    .run(&mut |progress, finding, story| {
        progress.finding(finding, || {
            if at_once {
                printer.finding(finding, story);
            }
        });
    })?;
    *suppressions = std::mem::take(&mut collector.suppressions);
    let (suppressed, benign) = (std::mem::take(&mut collector.suppressed), std::mem::take(&mut collector.benign));
    let mut report = report(args, &printer.program, searched, progress, collector);
    // What could not be pruned costs time, not certainty.
    report.limits.extend(notes);
    Ok(Round { report, suppressed, benign })
}

/// What several targets need to search together, if there can be several.
fn together(args: &CheckArgs, options: &Options, target: &NativeTarget) -> Result<Option<Together>, Failure> {
    let jobs = jobs(args);
    if jobs == 1 {
        return Ok(None);
    }
    if crew::can_share(args) {
        return crew::prepare(args, options, jobs, target.window()).map(Some);
    }
    if args.jobs.is_some() {
        say(
            "raddle: this search cannot be shared and runs with one job (--jobs goes with optimal, random, pct and pos)",
        );
    }
    Ok(None)
}

/// Processors to use: all that there are, unless the command line says otherwise.
fn jobs(args: &CheckArgs) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    args.jobs.map_or_else(all, |jobs| jobs as usize)
}

/// Options that contradict each other.
fn refuse(args: &CheckArgs) -> Result<(), Failure> {
    if prunes(args.strategy) && args.property == Some(PropertyName::All) {
        let name = value_name(&args.strategy);
        return Err(Failure(format!(
            "--strategy {name} looks for data races only and would miss the rest: use --property race, or another strategy"
        )));
    }
    Ok(())
}

/// Whether the strategy leaves out what has no data race.
fn prunes(strategy: StrategyName) -> bool {
    matches!(strategy, StrategyName::Pdp | StrategyName::Dhtc)
}

/// What is looked for.
fn property(args: &CheckArgs) -> PropertyName {
    let default = if prunes(args.strategy) { PropertyName::Race } else { PropertyName::All };
    args.property.unwrap_or(default)
}

fn options(args: &CheckArgs, program: &Path) -> Options {
    let mut options = args.target.options(program, &args.args);
    options.granularity = args.granularity.into();
    options.spurious = args.spurious;
    options.output = Output::Discard;
    options.takes_turns = jobs(args) == 1;
    options
}

/// Puts the report together. What was not modelled, or could not be confirmed, keeps the verdict from being verified.
fn report(
    args: &CheckArgs,
    program: &str,
    searched: Searched,
    progress: &Progress,
    collector: Collector<'_>,
) -> Report {
    let Searched { mut stats, mut reason, mut limits } = searched;
    stats.seconds = progress.elapsed().as_secs_f64();
    limits.extend(collector.complaints);
    if reason.is_none()
        && let Some(first) = limits.first()
    {
        reason = Some(Reason { code: "not-modelled".into(), text: first.clone() });
    }
    let complete = reason.is_none();
    let findings = collector.findings;
    Report {
        schema: SCHEMA,
        raddle: env!("CARGO_PKG_VERSION").into(),
        program: program.into(),
        args: args.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        strategy: value_name(&args.strategy),
        granularity: value_name(&args.granularity),
        property: value_name(&property(args)),
        verdict: verdict(&findings, complete, args.werror),
        reason,
        stats,
        limits,
        suppressed: Vec::new(),
        findings,
    }
}

/// The word by which the command line knows a value.
fn value_name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

/// Writes what the options ask for, and the report that later commands read.
fn write_report(args: &CheckArgs, directory: &RunDirectory, report: &Report) -> Result<(), Failure> {
    let stories = directory::load_stories(directory.path(), &report.findings);
    let run = Run { report: report.clone(), traces: stories };
    formats::write(&run, Format::Json, &directory.path().join(REPORT))?;
    let wanted = [
        (&args.json, Format::Json),
        (&args.sarif, Format::Sarif),
        (&args.junit, Format::Junit),
        (&args.html, Format::Html),
    ];
    for (path, format) in wanted {
        if let Some(path) = path {
            formats::write(&run, format, path)?;
        }
    }
    Ok(())
}

/// Shows findings and verdict to people.
struct Printer {
    sources: Sources,
    width: usize,
    /// Standard output belongs to the JSON report.
    silent: bool,
    quiet: bool,
    form: Option<ReportForm>,
    program: String,
}

impl Printer {
    fn new(args: &CheckArgs, program: &str) -> Self {
        let directory = std::env::current_dir().unwrap_or_default();
        Printer {
            sources: Sources::new(&directory),
            width: terminal_width(),
            silent: [&args.json, &args.sarif, &args.junit, &args.html]
                .iter()
                .any(|path| path.as_deref() == Some(Path::new("-"))),
            quiet: args.quiet,
            form: args.report,
            program: program.into(),
        }
    }

    fn finding(&self, finding: &Finding, story: &AnnotatedTrace) {
        match self.form {
            Some(ReportForm::Tsan) => self.print(&tsan::one(finding, &self.program, std::process::id())),
            None => {
                self.print(&format!("{}\n", text::finding(finding, Some(&story.timeline()), &self.sources, self.width)))
            }
        }
    }

    /// Every finding of a report.
    fn all(&self, report: &Report, directory: &RunDirectory) {
        let stories = directory::load_stories(directory.path(), &report.findings);
        for finding in &report.findings {
            self.finding(finding, stories.get(&finding.id).unwrap_or(&AnnotatedTrace::default()));
        }
    }

    fn summary(&self, report: &Report, directory: &RunDirectory) {
        let directory = directory.path().to_string_lossy();
        match self.form {
            Some(ReportForm::Tsan) if report.findings.is_empty() => {}
            Some(ReportForm::Tsan) => {
                self.print(&format!("ThreadSanitizer: reported {} warnings\n", report.findings.len()));
            }
            None => self.print(&text::summary(report, (!self.quiet).then_some(directory.as_ref()))),
        }
        for complaint in report.limits.iter().filter(|_| self.silent) {
            say(&format!("raddle: not modelled: {complaint}"));
        }
    }

    /// With colours where the terminal wants them; a reader that has gone away is no reason to fail.
    fn print(&self, styled: &str) {
        if !self.silent {
            let mut out = anstream::AutoStream::auto(io::stdout());
            let _ = out.write_all(styled.as_bytes()).and_then(|()| out.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::GranularityName;

    #[test]
    fn values_have_the_names_of_the_command_line() {
        assert_eq!(value_name(&StrategyName::Optimal), "optimal");
        assert_eq!(value_name(&GranularityName::Access), "access");
        assert_eq!(value_name(&PropertyName::Race), "race");
    }
}
