//! Prediction on a program.

use std::ops::ControlFlow;
use std::time::Instant;

use raddle_exec::recording::describe_step;
use raddle_exec::{NativeTarget, Output, interrupt};
use raddle_model::Execution;
use raddle_model::finding::{AccessReport, Finding, Kind, Severity, Stats, Verdict};
use raddle_model::race::Touching;
use raddle_predict::analysis::TraceAnalysis as Analysis;
use raddle_predict::session::{
    CandidateStatus as Fate, Departure, Observer, PredictOptions as Options, PredictedDefect as Prediction,
    PredictedSide as Sided, Totals, predict,
};
use raddle_report::names::ExecutionNames;
use raddle_report::phrase::Namer as _;
use raddle_report::symbols::Symbols;
use raddle_report::text::{self, Sources};
use raddle_vocab::policy::Policy;

use super::export;
use super::told::{self, Ledger, Told};
use crate::args::PredictArgs;
use crate::check::build::{Input, Tools};
use crate::check::collect::Collector;
use crate::check::confirm::Confirmer;
use crate::check::directory::RunDirectory;
use crate::failure::{Failure, Outcome, say};
use crate::naming::{SourceNames, place_text, symbols};

/// Width of the text report.
const WIDTH: usize = 110;

/// Observes, predicts, confirms and reports.
pub fn run(args: &PredictArgs) -> Outcome {
    interrupt::install()?;
    let begun = Instant::now();
    let input = Input::of(&args.inputs)?;
    let directory = RunDirectory::create(args.out.as_deref(), &input.name())?;
    let tools = Tools { compiler: args.build.compiler.as_deref(), cflags: args.build.cflags.as_deref() };
    let program = input.program(&tools, directory.path())?;
    let mut target_options = args.target.options(&program, &args.args);
    target_options.output = Output::Discard;
    let mut target = NativeTarget::start(target_options.clone())?;
    let symbols = symbols(&program, target.mappings());
    let confirmer = Confirmer::new(target_options, args.target.max_events);
    let mut watcher = Watcher {
        args,
        symbols: &symbols,
        collector: Collector::new(&symbols, confirmer, &directory, false),
        ledger: Ledger::default(),
        sources: Sources::new(&std::env::current_dir().unwrap_or_default()),
        runs: 0,
        traces: 0,
        failure: None,
    };
    let options = Options {
        budget: super::budget(args),
        rounds: args.rounds,
        assume_any_value: args.assume_any_value,
        policy: args.seed.map_or(Policy::LeastRank, |seed| Policy::Random { seed }),
        max_events: args.target.max_events,
    };
    let totals = predict(&mut target, &options, &mut watcher)?;
    let Watcher { collector, ledger, failure, .. } = watcher;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut limits = target.limits();
    limits.extend(collector.complaints);
    limits.extend(totals.refinements.disagreements.iter().cloned());
    limits.extend(gaps(&totals));
    let mut findings = collector.findings;
    let figures = ledger.complete(&mut findings);
    let stats = Stats {
        executions: totals.traces,
        transitions: totals.transitions,
        events: totals.events,
        threads: totals.threads,
        seconds: begun.elapsed().as_secs_f64(),
        prediction: Some(figures),
        ..Stats::default()
    };
    let report = told::report(&input.name(), &args.args, stats, limits, findings);
    super::write_report(args, Some(&directory), &report)?;
    if !args.quiet {
        say(&told::stages(&totals));
    }
    for finding in report.findings.iter().filter(|finding| finding.confirmed == Some(false)) {
        super::print(args, &format!("{}: {}\n", finding.id, finding.message));
    }
    super::print(args, &summary(&report, &totals, &directory));
    Ok(super::status(&report))
}

/// Candidates that were too many.
pub fn left_out(count: u64) -> String {
    format!("up to {count} more pairs of places, of variables and threads that have candidates enough")
}

/// What the prediction did not look at.
fn gaps(totals: &Totals) -> Vec<String> {
    let mut gaps = Vec::new();
    if let Some(error) = &totals.lost {
        gaps.push(format!("what would have followed, as the program could not be run any more: {error}"));
    }
    if let Some(window) = totals.window {
        gaps.push(format!(
            "races between events that lie in different windows of {window} synchronising operations (--window)"
        ));
    }
    if totals.left_out > 0 {
        gaps.push(left_out(totals.left_out));
    }
    if totals.paths_left > 0 {
        let paths = totals.paths_left;
        gaps.push(format!("{paths} new paths that confirmation led to were not analysed in turn (--rounds)"));
    }
    gaps
}

fn summary(report: &raddle_model::finding::Report, totals: &Totals, directory: &RunDirectory) -> String {
    let figures = report.stats.prediction.unwrap_or_default();
    let verdict = match report.verdict {
        Verdict::Bug => "bug",
        _ => "incomplete",
    };
    let mut text = format!(
        "{verdict} {}: {} predicted, {} confirmed, {} infeasible, {} undecided\n",
        report.program, figures.predicted, figures.confirmed, figures.infeasible, figures.undecided
    );
    let with: Vec<&String> = totals.predictions.iter().filter_map(|one| one.variable.as_ref()).collect();
    let safe: Vec<&str> = totals.variables.iter().filter(|name| !with.contains(name)).map(String::as_str).collect();
    if !safe.is_empty() {
        text += &format!("  safe in every order of these events: {}\n", safe.join(", "));
    }
    text += "  other orders of the events of observed runs were looked at, and nothing else\n";
    for limit in &report.limits {
        text += &format!("  not covered: {limit}\n");
    }
    text += &format!("  report in {}\n", directory.path().display());
    text
}

/// Takes what the prediction meets.
struct Watcher<'a> {
    args: &'a PredictArgs,
    symbols: &'a Symbols,
    collector: Collector<'a>,
    ledger: Ledger,
    sources: Sources,
    runs: u64,
    traces: u64,
    failure: Option<Failure>,
}

impl Observer for Watcher<'_> {
    fn met(&mut self, execution: &Execution) -> ControlFlow<()> {
        let (args, sources) = (self.args, &self.sources);
        let (known, complaints) = (self.collector.findings.len(), self.collector.complaints.len());
        let met = self.collector.meet(execution, self.runs, &mut |finding, story| {
            super::print(args, &format!("{}\n", text::finding(finding, Some(&story.timeline()), sources, WIDTH)));
        });
        self.runs += 1;
        // A witness that did not replay confirms nothing.
        if self.collector.complaints.len() > complaints {
            for finding in &mut self.collector.findings[known..] {
                let blamed =
                    self.collector.complaints.iter().any(|text| text.contains(&format!("of {} does", finding.id)));
                finding.confirmed = Some(!blamed);
            }
        }
        match met {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    fn name(&self, execution: &Execution, addresses: &[u64]) -> Vec<String> {
        let names = ExecutionNames::new(self.symbols, execution);
        addresses.iter().map(|&address| names.object(address)).collect()
    }

    fn analysed(&mut self, execution: &Execution, analysis: &Analysis<'_>) {
        let Some(directory) = &self.args.export else { return };
        self.traces += 1;
        let names = ExecutionNames::new(self.symbols, execution);
        let place = |pc: u64| place_text(&names.place(&[pc])).unwrap_or_default();
        let stem = if self.traces == 1 { "trace".into() } else { format!("trace{}", self.traces) };
        if let Err(failure) = export::all(directory, &stem, analysis, &place) {
            self.failure.get_or_insert(failure);
        }
    }

    fn settled(&mut self, execution: &Execution, prediction: &Prediction) {
        let names = SourceNames::new(self.symbols, execution);
        let why = match &prediction.fate {
            Fate::Confirmed => String::new(),
            Fate::Undecided(reason) => (*reason).to_string(),
            Fate::Infeasible(departure) => left(departure, execution, &names),
        };
        let accesses: Vec<AccessReport> = prediction.sides.iter().map(|side| self.access(execution, side)).collect();
        let finding = Finding {
            id: String::new(),
            severity: Severity::Warning,
            kind: prediction.kind,
            detail: None,
            message: sentence(prediction, &accesses),
            variable: prediction.variable.clone(),
            object: None,
            executions_before: self.runs,
            preemptions: 0,
            witness_kind: None,
            witness: None,
            confirmed: None,
            accesses,
        };
        let key = told::key(finding.kind, &finding.accesses);
        let (fate, counterexample) = (prediction.fate.clone(), prediction.counterexample.clone());
        self.ledger.add(Told { key, fate, why, finding, counterexample });
    }
}

impl Watcher<'_> {
    fn access(&self, execution: &Execution, side: &Sided) -> AccessReport {
        let thread = execution.threads.get(usize::from(side.thread));
        AccessReport {
            thread: thread.map(|thread| thread.path.to_string()).unwrap_or_default(),
            name: thread.and_then(|thread| thread.name.clone()),
            op: side.what.map_or("lock", word).into(),
            place: self.symbols.place(&[side.place]),
            stack: self.symbols.stack(&[side.place]),
            ..AccessReport::default()
        }
    }
}

/// The word of the report for an access.
fn word(what: Touching) -> &'static str {
    match what {
        Touching::Read => "read",
        Touching::Write => "write",
        Touching::AtomicRead => "atomic-read",
        Touching::AtomicWrite => "atomic-write",
        Touching::Use => "use",
        Touching::Free => "free",
    }
}

fn sentence(prediction: &Prediction, accesses: &[AccessReport]) -> String {
    let side = |access: &AccessReport| {
        let place = place_text(&access.place).unwrap_or_else(|| "?".into());
        format!("{} by {} at {place}", access.op, access.thread)
    };
    let sides: Vec<String> = accesses.iter().map(side).collect();
    match (&prediction.kind, &prediction.variable) {
        (Kind::Deadlock, _) => format!("deadlock: {}", sides.join(", ")),
        (_, Some(variable)) => format!("data race on `{variable}`: {}", sides.join(", ")),
        (_, None) => format!("data race: {}", sides.join(", ")),
    }
}

/// Where the program left the path.
fn left(departure: &Departure, execution: &Execution, names: &SourceNames<'_>) -> String {
    match &departure.expected {
        Some(step) => {
            let expected = describe_step(step, execution, names);
            format!("the program leaves the path at event {}, where {expected} was expected", departure.event)
        }
        None => format!("the program leaves the path behind event {}: an access does not follow", departure.event - 1),
    }
}
