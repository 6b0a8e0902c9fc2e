//! Predictions of a trace, confirmed on a program.

use std::path::Path;
use std::time::Instant;

use raddle_exec::NativeTarget;
use raddle_exec::recording::describe_step;
use raddle_model::finding::{Finding, PredictionStats};
use raddle_model::object::Namer as _;
use raddle_model::{Choice, Execution, Request, Target as _, TargetError};
use raddle_predict::analysis::{Decision, Reordering, TIME, TraceAnalysis, Window};
use raddle_predict::confirm::{Outcome, Runs, confirm};
use raddle_predict::guide::{Followed, Instead};
use raddle_predict::session::{PhaseSeconds, Totals, Wanted};
use raddle_predict::std_format::{self, ParsedTrace};
use raddle_predict::words;
use raddle_report::names::ExecutionNames;
use raddle_report::symbols::Symbols;
use raddle_vocab::policy::Policy;

use super::{Predicted, Predictor, export, ledger, left_out, trace};
use crate::check::write_report;
use crate::directory::RunDirectory;
use crate::error::Error;
use crate::findings::collect::Collector;
use crate::findings::confirm::Confirmer;
use crate::findings::seen::Seen;
use crate::naming::{SourceNames, target_symbols, with_places};
use crate::observer::Observer;
use crate::options::Property;
use crate::program::Program;
use crate::text_file;
use crate::unseen::{self, Trust};

/// Candidates that are decided together before the program runs: witnesses are long.
const AT_ONCE: usize = 64;

/// What became of a prediction, in the figures of the report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Confirmed,
    Left,
    Open,
}

/// Why a run that looks like a confirmation may be none.
const UNSEEN: &str = "the program has atomic operations that are not all seen";

/// A prediction and what became of it.
struct Settled {
    /// For those that are not confirmed.
    finding: Finding,
    status: Status,
    /// The finding that a run showed.
    shown_by: Option<String>,
}

/// Reads the trace, predicts, and makes the program follow each witness.
pub fn confirm_trace(
    predictor: &Predictor,
    path: &Path,
    program: &Program,
    observer: &mut dyn Observer,
) -> Result<Predicted, Error> {
    let begun = Instant::now();
    let text = text_file::read(path)?;
    let read = std_format::read(&text).map_err(|error| Error::Trace { path: path.into(), error })?;
    let directory = RunDirectory::create(&predictor.directory)?;
    let target_options = program.target_options()?;
    let mut target = NativeTarget::start(target_options.clone())?;
    let symbols = target_symbols(&target_options, target.mappings());
    let (loaded, until_idle) = (target_options.loaded.clone(), target_options.until_idle);
    let (sees_calls_only, seen) = (target_options.sees_calls_only(), Seen::of(&target_options));
    let is_blind = sees_calls_only && target_options.observer.is_none();
    let confirmer = Confirmer::new(target_options, predictor.options.max_events);
    let budget = predictor.options.budget();
    let analysis = TraceAnalysis::new(&read.trace, budget);
    let mut totals = Totals { traces: 1, trace_size: read.trace.events.len() as u64, ..Totals::default() };
    totals.events = read.trace.recorded;
    totals.window = analysis.window();
    totals.seconds = PhaseSeconds { filter: begun.elapsed().as_secs_f64(), ..PhaseSeconds::default() };
    trace::count(&mut totals, &analysis);
    if let Some(directory) = &predictor.export {
        let place = |place: u64| read.places.get(place as usize).cloned().unwrap_or_default();
        export::all(directory, "trace", &analysis, &place)?;
    }
    let mut bench = Bench {
        target: &mut target,
        max_events: predictor.options.max_events,
        symbols: &symbols,
        collector: Collector::new(&symbols, confirmer, &directory, Property::All).until_idle(until_idle).seeing(seen),
        observer,
        runs: 0,
        seconds: 0.0,
        failure: None,
        over: Box::new(move || budget.is_over()),
    };
    let mut settled: Vec<Settled> = Vec::new();
    let deciding = Instant::now();
    let mut ended = Ok(());
    let keeper = analysis.keeper();
    for some in analysis.candidates().chunks(AT_ONCE) {
        let decided = analysis.races(&keeper, some, |_, decision| decision);
        for (&(candidate, window), decision) in some.iter().zip(decided) {
            let told = |witness: Option<&Reordering>| {
                let instance = witness.and_then(|witness| witness.accesses);
                trace::race_of(&read, instance.unwrap_or(candidate.instances[0]))
            };
            let settling = Settling { predictor, read: &read, analysis: &analysis, is_blind };
            if ended.is_ok() {
                ended = settling.settle(&mut bench, &mut settled, window, &Wanted::Race(candidate), decision, &told);
            }
        }
    }
    for some in analysis.cycles().chunks(AT_ONCE) {
        let decided = analysis.deadlocks(&keeper, some, |_, decision| decision);
        for (&(cycle, window), decision) in some.iter().zip(decided) {
            let told = |_: Option<&Reordering>| trace::deadlock_of(&read, cycle);
            let settling = Settling { predictor, read: &read, analysis: &analysis, is_blind: false };
            if ended.is_ok() {
                ended = settling.settle(&mut bench, &mut settled, window, &Wanted::Deadlock(cycle), decision, &told);
            }
        }
    }
    let Bench { target, mut collector, runs, seconds, failure, .. } = bench;
    collector.retract();
    if let Some(failure) = failure {
        return Err(failure);
    }
    totals.runs = runs;
    totals.seconds.runs = seconds;
    totals.seconds.decide = deciding.elapsed().as_secs_f64() - seconds;
    totals.decided = settled.len() as u64;
    let mut limits = with_places(target.limits(), &symbols);
    limits.extend(collector.unreproduced);
    if let Err(error) = ended {
        limits.push(format!("what would have followed, as the program could not be run any more: {error}"));
    }
    if totals.left_out > 0 {
        limits.push(left_out(totals.left_out));
    }
    if let Some(window) = totals.window {
        limits.push(format!("races between events that lie in different windows of {window} events (--window)"));
    }
    for one in settled.iter_mut().filter(|one| one.status == Status::Confirmed) {
        let is_left = collector.findings.iter().any(|finding| Some(&finding.id) == one.shown_by.as_ref());
        one.status = if is_left { Status::Confirmed } else { Status::Open };
    }
    let count = |wanted: Status| settled.iter().filter(|one| one.status == wanted).count() as u64;
    let figures = PredictionStats {
        predicted: settled.len() as u64,
        confirmed: count(Status::Confirmed),
        infeasible: count(Status::Left),
        undecided: count(Status::Open),
    };
    let mut findings = collector.findings;
    findings.iter_mut().for_each(|finding| finding.confirmed = Some(true));
    let unconfirmed = settled.into_iter().filter(|one| one.status != Status::Confirmed);
    for (number, Settled { mut finding, .. }) in (1..).zip(unconfirmed) {
        finding.id = format!("p{number}");
        findings.push(finding);
    }
    let stats = ledger::stats(&totals, begun, figures);
    let mut report = ledger::report(program.name(), program.args_text(), stats, limits, findings);
    report.unseen = match sees_calls_only {
        true => unseen::all_of(program.path(), &loaded.paths()),
        false => unseen::find(program.path(), &loaded.paths(), &Trust::default()).names,
    };
    write_report(directory.path(), &report)?;
    Ok(Predicted { report, totals })
}

/// Settles candidates one after the other.
struct Settling<'a> {
    predictor: &'a Predictor,
    read: &'a ParsedTrace,
    analysis: &'a TraceAnalysis<'a>,
    /// Whether the accesses of the program are not seen.
    is_blind: bool,
}

impl Settling<'_> {
    fn settle(
        &self,
        bench: &mut Bench<'_>,
        settled: &mut Vec<Settled>,
        window: &Window,
        wanted: &Wanted<'_>,
        decision: Decision,
        told: &dyn Fn(Option<&Reordering>) -> (Finding, String),
    ) -> Result<(), TargetError> {
        let any_value = self.predictor.options.assume_any_value;
        let outcome = match decision {
            Decision::Impossible => return Ok(()),
            Decision::Open(reason) => Outcome::Open(reason),
            Decision::Possible(_) if bench.is_over() => Outcome::Open(TIME),
            Decision::Possible(_) if self.is_blind => {
                Outcome::Open("the accesses of this program are not seen (build it with `raddle cc`, or --observe all)")
            }
            Decision::Possible(witness) => confirm(self.analysis, window, wanted, witness, any_value, bench)?,
        };
        let order = |witness: &Reordering| ledger::trace(&words::counterexample(&self.read.trace, &witness.events));
        let mut shown_by = None;
        let (finding, status) = match &outcome {
            Outcome::Shown { signature, witness } => {
                let (finding, sentence) = told(Some(witness));
                match bench.collector.finding_of(signature) {
                    Some(shown) => {
                        let note = format!(" (predicted by the trace: {sentence}; counterexample: {})", order(witness));
                        if !shown.message.contains("predicted by the trace") {
                            shown.message += &note;
                        }
                        shown_by = Some(shown.id.clone());
                        (Finding { message: format!("undecided: {sentence}: {UNSEEN}"), ..finding }, Status::Confirmed)
                    }
                    None => {
                        let text =
                            format!("undecided: {sentence}: a run showed it, and its witness does not, or {UNSEEN}");
                        (Finding { message: text, ..finding }, Status::Open)
                    }
                }
            }
            Outcome::Left { followed, witness, all } => {
                let (finding, sentence) = told(Some(witness));
                let why = self.left(bench, followed, witness);
                let text = format!("not confirmed: {sentence}: {why} (counterexample: {})", order(witness));
                (Finding { message: text, ..finding }, if *all { Status::Left } else { Status::Open })
            }
            Outcome::Absent { witness, all } => {
                let (finding, sentence) = told(Some(witness));
                let text = format!(
                    "not confirmed: {sentence}: the program makes the operations of the counterexample, but the \
                     accesses do not follow, or only in an order (counterexample: {})",
                    order(witness)
                );
                (Finding { message: text, ..finding }, if *all { Status::Left } else { Status::Open })
            }
            Outcome::Open(reason) => {
                let (finding, sentence) = told(None);
                (Finding { message: format!("undecided: {sentence}: {reason}"), ..finding }, Status::Open)
            }
        };
        settled.push(Settled { finding, status, shown_by });
        Ok(())
    }

    /// Where the program left the order.
    fn left(&self, bench: &Bench<'_>, followed: &Followed, witness: &Reordering) -> String {
        let Some(departure) = &followed.departure else { return String::new() };
        let trace = &self.read.trace;
        let expected = witness.events.get(departure.at).map(|taken| &trace.events[taken.event as usize]);
        let words = expected.map(|event| words::events(trace, event).join(", ")).unwrap_or_default();
        let expected = if words.is_empty() { "the access".to_owned() } else { words };
        let number = departure.number;
        let instead = match departure.instead {
            Instead::Other(event) => {
                let names = SourceNames::new(bench.symbols, &followed.execution);
                let event = followed.execution.events.get(event);
                let step = event.map(|event| describe_step(event, &followed.execution, &names));
                format!("{} came instead", step.unwrap_or_else(|| "something else".into()))
            }
            Instead::Waits => "its thread waits for another one there".into(),
            Instead::Nothing => "its thread has ended, or was not created".into(),
        };
        format!("the program leaves the order at operation {number}, where {expected} was expected: {instead}")
    }
}

/// Where the program runs.
struct Bench<'a> {
    target: &'a mut NativeTarget,
    max_events: u64,
    symbols: &'a Symbols,
    collector: Collector<'a>,
    observer: &'a mut dyn Observer,
    runs: u64,
    seconds: f64,
    failure: Option<Error>,
    over: Box<dyn Fn() -> bool>,
}

impl Runs for Bench<'_> {
    fn run(&mut self, schedule: Vec<Choice>) -> Result<Execution, TargetError> {
        let begun = Instant::now();
        let mut execution = Execution::empty();
        self.target.submit(Request { schedule, policy: Policy::LeastRank, max_events: self.max_events });
        self.target.finish(&mut execution)?;
        match self.collector.meet(&execution, self.runs, self.observer) {
            Ok(_) => {}
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
        self.runs += 1;
        self.seconds += begun.elapsed().as_secs_f64();
        Ok(execution)
    }

    /// A name that is none of the program's says nothing.
    fn is_variable(&self, execution: &Execution, address: u64, variable: &str) -> bool {
        let names = ExecutionNames::new(self.symbols, execution);
        let is_it = |address: u64| std_format::tidy(&names.object(address)) == variable;
        if is_it(address) {
            return true;
        }
        let mut others: Vec<u64> = execution.accesses.iter().map(|access| access.addr).collect();
        others.sort_unstable();
        others.dedup();
        !others.into_iter().any(is_it)
    }

    fn is_over(&self) -> bool {
        self.failure.is_some() || (self.over)()
    }
}
