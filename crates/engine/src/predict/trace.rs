//! Prediction on a trace without a program: nothing can be confirmed.
//!
//! A trace does not say which reads decided the way of their threads, so all of them keep their
//! writers, unless `--assume-any-value` is given. What only other values make possible is
//! infeasible.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use raddle_model::finding::{AccessReport, Finding, Kind, Place, PredictionStats, Report, Severity};
use raddle_model::race::Touching;
use raddle_predict::analysis::{Budget, Decision, Reordering, TraceAnalysis};
use raddle_predict::candidates::RaceCandidate;
use raddle_predict::checks::refine;
use raddle_predict::closure::ValuePreserving;
use raddle_predict::cycles::Cycle;
use raddle_predict::pins::{Pins, TransitionRead};
use raddle_predict::search::{Reachability, Searcher};
use raddle_predict::session::{PhaseSeconds, Totals};
use raddle_predict::std_format::{self, ParsedTrace};
use raddle_predict::values::Values;
use raddle_predict::words::counterexample;

use super::{Predicted, Predictor, PredictorOptions, export, ledger, left_out};
use crate::error::Error;
use crate::text_file;

/// Steps of all the candidates together that are put in order to settle them.
const MOST_EVENTS: usize = 20_000_000;
/// Longer traces are not searched with every read pinned.
const PINNED_EVENTS: usize = 5_000;
/// States of such a search.
const PINNED_STATES: usize = 20_000;

const VALUES: &str = "only if some read on the way sees another value (--assume-any-value)";
const ORDERS: &str = "no order that was tried keeps what every read sees, and there are more (--assume-any-value)";

/// What became of a candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PredictionStatus {
    Predicted,
    Infeasible,
    Undecided,
}

/// Reads, predicts and reports.
pub fn predict_trace(predictor: &Predictor, path: &Path) -> Result<Predicted, Error> {
    let begun = Instant::now();
    let text = text_file::read(path)?;
    let read = std_format::read(&text).map_err(|error| Error::Trace { path: path.into(), error })?;
    let budget = Budget { by_variable: true, ..predictor.options.budget() };
    let analysis = TraceAnalysis::new(&read.trace, budget);
    let mut totals = Totals { traces: 1, trace_size: read.trace.events.len() as u64, ..Totals::default() };
    totals.events = read.trace.recorded;
    totals.window = analysis.window();
    totals.seconds = PhaseSeconds { filter: begun.elapsed().as_secs_f64(), ..PhaseSeconds::default() };
    if let Some(directory) = &predictor.export {
        let place = |place: u64| read.places.get(place as usize).cloned().unwrap_or_default();
        export::all(directory, "trace", &analysis, &place)?;
    }
    let deciding = Instant::now();
    let keeper = analysis.keeper();
    let teller = Teller::new(&predictor.options, &read, &analysis, &keeper);
    let (candidates, cycles) = (analysis.candidates(), analysis.cycles());
    let mut races = analysis.races(&keeper, &candidates, |number, decision| {
        let (candidate, window) = candidates[number];
        (teller.race(candidate, &decision, window.events.start, false), decision.without_events())
    });
    // What is left open costs more; the first ones, as many as the length of the trace allows.
    let open = (0..races.len()).filter(|&number| matches!(races[number].0, Some((_, PredictionStatus::Undecided))));
    let open: Vec<usize> = open.take(MOST_EVENTS / read.trace.events.len().max(1)).collect();
    let settled = analysis.in_parallel(open.len(), |number| {
        let (candidate, window) = candidates[open[number]];
        teller.race(candidate, &races[open[number]].1, window.events.start, true)
    });
    for (number, settled) in open.into_iter().zip(settled) {
        races[number].0 = settled;
    }
    let mut found: Vec<(Finding, PredictionStatus)> = races.iter().filter_map(|(finding, _)| finding.clone()).collect();
    let decisions =
        candidates.iter().zip(races).map(|(&(candidate, window), (_, decision))| (candidate, window, decision));
    totals.refinements = refine(&analysis, &decisions.collect::<Vec<_>>());
    let deadlocks = analysis.deadlocks(&keeper, &cycles, |number, decision| {
        let (cycle, _) = cycles[number];
        teller.deadlock(cycle, &decision)
    });
    found.extend(deadlocks.into_iter().flatten());
    count(&mut totals, &analysis);
    totals.decided = found.len() as u64;
    totals.seconds.decide = deciding.elapsed().as_secs_f64();
    Ok(Predicted { report: report(path, begun, &totals, found), totals })
}

fn report(path: &Path, begun: Instant, totals: &Totals, found: Vec<(Finding, PredictionStatus)>) -> Report {
    let count = |wanted: PredictionStatus| found.iter().filter(|(_, status)| *status == wanted).count() as u64;
    let figures = PredictionStats {
        predicted: count(PredictionStatus::Predicted),
        confirmed: 0,
        infeasible: count(PredictionStatus::Infeasible),
        undecided: count(PredictionStatus::Undecided),
    };
    let mut findings: Vec<Finding> = found.into_iter().map(|(finding, _)| finding).collect();
    for (number, finding) in findings.iter_mut().enumerate() {
        finding.id = format!("p{}", number + 1);
    }
    let stats = ledger::stats(totals, begun, figures);
    let mut limits = totals.refinements.disagreements.clone();
    if totals.left_out > 0 {
        limits.push(left_out(totals.left_out));
    }
    limits.push("nothing can be confirmed without the program".into());
    if let Some(window) = totals.window {
        limits.push(format!("races between events that lie in different windows of {window} events (--window)"));
    }
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    ledger::report(name, Vec::new(), stats, limits, findings)
}

/// Adds what the filter left.
pub fn count(totals: &mut Totals, analysis: &TraceAnalysis<'_>) {
    for window in &analysis.windows {
        let (sum, add) = (&mut totals.stages, &window.races.stages);
        sum.variables = sum.variables.max(add.variables);
        sum.pairs += add.pairs;
        sum.unordered += add.unordered;
        sum.unlocked += add.unlocked;
        sum.checks += add.checks;
        sum.candidates += add.candidates + window.deadlocks.cycles.len() as u64;
        totals.left_out += window.races.left_out;
    }
}

/// Every read of the trace, kept for traces that are not too long.
fn all_reads(analysis: &TraceAnalysis<'_>) -> Option<Pins> {
    let events = analysis.trace.events.len();
    if events > PINNED_EVENTS {
        return None;
    }
    let reads: BTreeSet<TransitionRead> = (0..events as u32)
        .flat_map(|event| analysis.flow.reads(event).iter().map(move |&(var, _)| TransitionRead { event, var }))
        .collect();
    Some(Pins::of(&analysis.flow, reads))
}

/// Makes findings of decisions.
struct Teller<'a> {
    options: &'a PredictorOptions,
    read: &'a ParsedTrace,
    analysis: &'a TraceAnalysis<'a>,
    keeper: &'a ValuePreserving<'a>,
    /// What reads keeping their writers imply; not with windows, whose first events stay as they
    /// were.
    values: Option<Values<'a>>,
    /// All reads, for traces that are short enough to be searched.
    pinned: Option<Pins>,
}

impl<'a> Teller<'a> {
    fn new(
        options: &'a PredictorOptions,
        read: &'a ParsedTrace,
        analysis: &'a TraceAnalysis<'a>,
        keeper: &'a ValuePreserving<'a>,
    ) -> Self {
        let whole = analysis.windows.len() == 1 && !options.assume_any_value;
        let values = whole.then(|| Values::new(&read.trace, &analysis.flow));
        Teller { options, read, analysis, keeper, values, pinned: all_reads(analysis) }
    }

    fn race(
        &self,
        candidate: &RaceCandidate,
        decision: &Decision,
        start: u32,
        thorough: bool,
    ) -> Option<(Finding, PredictionStatus)> {
        let mut instance = candidate.instances[0];
        if let Decision::Possible(Reordering { accesses: Some(found), .. }) = decision {
            instance = *found;
        }
        let kept = self.kept(decision, start, |values| {
            let (kept, found) = values.race(candidate, self.keeper, thorough);
            instance = found.unwrap_or(instance);
            kept
        });
        let (finding, sentence) = race_of(self.read, instance);
        self.judge(finding, &sentence, decision, kept)
    }

    fn deadlock(&self, cycle: &Cycle, decision: &Decision) -> Option<(Finding, PredictionStatus)> {
        let kept = self.kept(decision, 0, |values| {
            let mut all = Reachability::Unreachable;
            for goal in &cycle.instances {
                match self.keeper.witness(goal).map_or_else(|| values.decide(goal), Reachability::Reachable) {
                    Reachability::Unreachable => {}
                    Reachability::Unknown => all = Reachability::Unknown,
                    possible => return possible,
                }
            }
            if cycle.more && all == Reachability::Unreachable { Reachability::Unknown } else { all }
        });
        let (finding, sentence) = deadlock_of(self.read, cycle);
        self.judge(finding, &sentence, decision, kept)
    }

    fn judge(
        &self,
        mut finding: Finding,
        sentence: &str,
        decision: &Decision,
        kept: Reachability,
    ) -> Option<(Finding, PredictionStatus)> {
        let (text, status) = match (kept, decision) {
            (_, Decision::Impossible) => return None,
            (Reachability::Reachable(order), _) => {
                let events = ledger::trace(&counterexample(&self.read.trace, &order));
                (format!("predicted: {sentence} (counterexample: {events})"), PredictionStatus::Predicted)
            }
            (Reachability::Unreachable, _) => {
                (format!("infeasible: {sentence}: {VALUES}"), PredictionStatus::Infeasible)
            }
            (Reachability::Unknown, Decision::Open(reason)) => {
                (format!("undecided: {sentence}: {reason}"), PredictionStatus::Undecided)
            }
            (Reachability::Unknown, _) => (format!("undecided: {sentence}: {ORDERS}"), PredictionStatus::Undecided),
        };
        finding.message = text;
        Some((finding, status))
    }

    /// Whether it is possible although every read keeps its writer, if that matters.
    fn kept(
        &self,
        decision: &Decision,
        start: u32,
        by_values: impl FnOnce(&Values<'_>) -> Reachability,
    ) -> Reachability {
        let witness = match decision {
            Decision::Impossible => return Reachability::Unreachable,
            Decision::Possible(witness) if witness.keeps_values || self.options.assume_any_value => {
                return Reachability::Reachable(witness.events.clone());
            }
            Decision::Possible(witness) => Some(witness),
            Decision::Open(_) => None,
        };
        let kept = self.values.as_ref().map_or(Reachability::Unknown, by_values);
        let (Reachability::Unknown, Some(witness), Some(pinned)) = (&kept, witness, &self.pinned) else { return kept };
        let searcher = Searcher::new(&self.read.trace, &self.analysis.order, PINNED_STATES).behind(start);
        match searcher.reach(&witness.goal, pinned) {
            Reachability::Reachable(order) => Reachability::Reachable(order),
            Reachability::Unreachable | Reachability::Unknown => Reachability::Unknown,
        }
    }
}

/// A finding about a race between two accesses of a trace, and a sentence on it.
pub fn race_of(read: &ParsedTrace, instance: (u32, u32)) -> (Finding, String) {
    let sides = [instance.0, instance.1].map(|index| &read.trace.accesses[index as usize]);
    let word = |what: Touching| if what == Touching::Read { "read" } else { "write" };
    let accesses = sides.iter().map(|side| access(read, side.thread, side.place, word(side.what)));
    let accesses: Vec<AccessReport> = accesses.collect();
    let variable = read.trace.vars[sides[0].var as usize].name.clone();
    let sentence = format!("data race on `{variable}`: {}", listed(&accesses));
    (finding(Kind::DataRace, Some(variable), accesses), sentence)
}

/// A finding about a deadlock of a trace, and a sentence on it.
pub fn deadlock_of(read: &ParsedTrace, cycle: &Cycle) -> (Finding, String) {
    let sides = cycle.instances[0].iter().zip(&cycle.places);
    let accesses: Vec<AccessReport> = sides.map(|(&(thread, _), &place)| access(read, thread, place, "lock")).collect();
    let sentence = format!("deadlock: {}", listed(&accesses));
    (finding(Kind::Deadlock, None, accesses), sentence)
}

fn access(read: &ParsedTrace, thread: u16, place: u64, op: &str) -> AccessReport {
    let location = read.places.get(place as usize).cloned().unwrap_or_default();
    AccessReport {
        thread: read.trace.threads[usize::from(thread)].name.clone(),
        op: op.into(),
        place: Place { line: location.parse().ok(), function: Some(location), ..Place::default() },
        ..AccessReport::default()
    }
}

fn finding(kind: Kind, variable: Option<String>, accesses: Vec<AccessReport>) -> Finding {
    Finding { variable, confirmed: Some(false), ..Finding::new(Severity::Warning, kind, accesses) }
}

fn listed(accesses: &[AccessReport]) -> String {
    let side = |access: &AccessReport| {
        format!("{} by {} at {}", access.op, access.thread, access.place.function.as_deref().unwrap_or("?"))
    };
    accesses.iter().map(side).collect::<Vec<_>>().join(", ")
}
