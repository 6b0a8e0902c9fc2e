//! Prediction on a program.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use raddle_exec::NativeTarget;
use raddle_exec::recording::describe_step;
use raddle_model::Execution;
use raddle_model::finding::{AccessReport, Finding, Kind, Severity, Stats};
use raddle_model::object::Namer as _;
use raddle_model::race::Touching;
use raddle_predict::analysis::TraceAnalysis;
use raddle_predict::session::{
    self, CandidateStatus, Departure, PredictOptions, PredictedDefect, PredictedSide, Totals, predict,
};
use raddle_report::names::ExecutionNames;
use raddle_report::symbols::Symbols;
use raddle_vocab::policy::Policy;

use super::ledger::{self, Ledger, NamedPrediction};
use super::{Predicted, Predictor, PredictorOptions, export, left_out};
use crate::check::write_report;
use crate::directory::RunDirectory;
use crate::error::Error;
use crate::findings::collect::Collector;
use crate::findings::confirm::Confirmer;
use crate::findings::seen::Seen;
use crate::naming::{SourceNames, place_text, target_symbols, with_places};
use crate::observer::Observer;
use crate::options::Property;
use crate::panics;
use crate::program::Program;
use crate::unseen::{self, Trust};

/// Observes, predicts and confirms.
pub fn predict_program(
    predictor: &Predictor,
    program: &Program,
    observer: &mut dyn Observer,
) -> Result<Predicted, Error> {
    let begun = Instant::now();
    let directory = RunDirectory::create(&predictor.directory)?;
    let target_options = program.target_options()?;
    if target_options.observer.is_some() {
        return Err(Error::ObservesHere("predict"));
    }
    let mut target = NativeTarget::start(target_options.clone())?;
    let symbols = target_symbols(&target_options, target.mappings());
    let (loaded, until_idle) = (target_options.loaded.clone(), target_options.until_idle);
    let (sees_calls_only, seen) = (target_options.sees_calls_only(), Seen::of(&target_options));
    let confirmer = Confirmer::new(target_options, predictor.options.max_events);
    let mut watcher = Watcher {
        export: predictor.export.as_deref(),
        symbols: &symbols,
        collector: Collector::new(&symbols, confirmer, &directory, Property::All).until_idle(until_idle).seeing(seen),
        ledger: Ledger::default(),
        observer,
        runs: 0,
        traces: 0,
        failure: None,
    };
    let session = PredictOptions { until_idle, ..session_options(&predictor.options) };
    let predicted = panics::catch(|| predict(&mut target, &session, &mut watcher));
    let (totals, panic) = match predicted {
        Ok(totals) => (totals?, None),
        Err(reason) => (Totals::default(), Some(reason)),
    };
    let Watcher { collector, ledger, failure, .. } = watcher;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut limits = with_places(target.limits(), &symbols);
    limits.extend(collector.unreproduced);
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
    let mut report = ledger::report(program.name(), program.args_text(), stats, limits, findings);
    report.reason = panic.or(report.reason);
    report.unseen = match sees_calls_only {
        true => unseen::all_of(program.path(), &loaded.paths()),
        false => unseen::find(program.path(), &loaded.paths(), &Trust::default()).names,
    };
    write_report(directory.path(), &report)?;
    Ok(Predicted { report, totals })
}

fn session_options(options: &PredictorOptions) -> PredictOptions {
    PredictOptions {
        budget: options.budget(),
        rounds: options.rounds,
        assume_any_value: options.assume_any_value,
        policy: options.seed.map_or(Policy::LeastRank, |seed| Policy::Random { seed }),
        max_events: options.max_events,
        until_idle: false,
    }
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

/// Takes what the prediction meets.
struct Watcher<'a> {
    export: Option<&'a Path>,
    symbols: &'a Symbols,
    collector: Collector<'a>,
    ledger: Ledger,
    observer: &'a mut dyn Observer,
    runs: u64,
    traces: u64,
    failure: Option<Error>,
}

impl session::PredictionObserver for Watcher<'_> {
    fn met(&mut self, execution: &Execution) -> ControlFlow<()> {
        let collected = self.collector.meet(execution, self.runs, self.observer);
        self.runs += 1;
        match collected {
            Ok(collected) => {
                for index in collected {
                    self.collector.findings[index].confirmed = Some(true);
                }
                ControlFlow::Continue(())
            }
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

    fn analysed(&mut self, execution: &Execution, analysis: &TraceAnalysis<'_>) {
        let Some(directory) = self.export else { return };
        self.traces += 1;
        let names = ExecutionNames::new(self.symbols, execution);
        let place = |pc: u64| place_text(&names.place(&[pc])).unwrap_or_default();
        let stem = if self.traces == 1 { "trace".into() } else { format!("trace{}", self.traces) };
        if let Err(failure) = export::all(directory, &stem, analysis, &place) {
            self.failure.get_or_insert(failure);
        }
    }

    fn settled(&mut self, execution: &Execution, prediction: &PredictedDefect) {
        let names = SourceNames::new(self.symbols, execution);
        let why = match &prediction.status {
            CandidateStatus::Confirmed => String::new(),
            CandidateStatus::Undecided(reason) => (*reason).to_string(),
            CandidateStatus::Infeasible(departure) => left(departure, execution, &names),
        };
        let accesses: Vec<AccessReport> = prediction.sides.iter().map(|side| self.access(execution, side)).collect();
        let finding = Finding {
            message: sentence(prediction, &accesses),
            variable: prediction.variable.clone(),
            executions_before: self.runs,
            ..Finding::new(Severity::Warning, prediction.kind, accesses)
        };
        let key = ledger::key(finding.kind, &finding.accesses);
        let (status, counterexample) = (prediction.status.clone(), prediction.counterexample.clone());
        self.ledger.add(NamedPrediction { key, status, why, finding, counterexample });
    }
}

impl Watcher<'_> {
    fn access(&self, execution: &Execution, side: &PredictedSide) -> AccessReport {
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
        Touching::Make => "initialise or destroy",
        Touching::Mapping(change) => change.word(),
    }
}

fn sentence(prediction: &PredictedDefect, accesses: &[AccessReport]) -> String {
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
