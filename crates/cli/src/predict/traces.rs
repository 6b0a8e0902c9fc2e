//! Prediction on a trace without a program: nothing can be confirmed.
//!
//! A trace does not say which reads decided the way of their threads, so all of them keep their writers, unless
//! `--assume-any-value` is given. What only other values make possible is undecided.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use raddle_model::finding::{AccessReport, Finding, Kind, Place, Prediction as Figures, Severity, Stats};
use raddle_model::race::Touching;
use raddle_predict::analysis::{Analysis, Budget, Decision, Witness};
use raddle_predict::checks::refine;
use raddle_predict::pins::{Pins, Read as PinnedRead};
use raddle_predict::search::{Reach, Searcher};
use raddle_predict::session::{Seconds, Totals};
use raddle_predict::std_format::{self, Read};
use raddle_predict::words::counterexample;

use super::{export, told};
use crate::args::PredictArgs;
use crate::failure::{Failure, Outcome, say};

/// Longer traces are not searched with every read pinned.
const PINNED_STEPS: usize = 5_000;
/// States of such a search.
const PINNED_STATES: usize = 20_000;

const VALUES: &str = "only if some read on the way may see another value (--assume-any-value)";

/// Reads, predicts and reports.
pub fn run(args: &PredictArgs, path: &Path) -> Outcome {
    let begun = Instant::now();
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| Failure(format!("{name}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure(format!("{name}: this is not UTF-8 text")))?;
    let read = std_format::read(&text).map_err(|error| Failure(format!("{name}:{error}")))?;
    let budget = Budget { by_variable: true, ..super::budget(args) };
    let analysis = Analysis::new(&read.trace, budget);
    let mut totals = Totals { traces: 1, trace_size: read.trace.steps.len() as u64, ..Totals::default() };
    totals.events = read.trace.events;
    totals.window = analysis.window();
    totals.seconds = Seconds { filter: begun.elapsed().as_secs_f64(), ..Seconds::default() };
    if let Some(directory) = &args.export {
        let place = |place: u64| read.places.get(place as usize).cloned().unwrap_or_default();
        export::all(directory, "trace", &analysis, &place)?;
    }
    let deciding = Instant::now();
    let teller = Teller { args, read: &read, analysis: &analysis, pinned: all_reads(&analysis) };
    let keeper = analysis.keeper();
    let (candidates, cycles) = (analysis.candidates(), analysis.cycles());
    let races = analysis.races(&keeper, &candidates, |number, decision| {
        let (candidate, window) = candidates[number];
        (teller.race(candidate.instances[0], &decision, window.steps.start), decision.without_steps())
    });
    let mut found: Vec<(Finding, bool)> = races.iter().filter_map(|(finding, _)| finding.clone()).collect();
    let decisions =
        candidates.iter().zip(races).map(|(&(candidate, window), (_, decision))| (candidate, window, decision));
    totals.refinements = refine(&analysis, &decisions.collect::<Vec<_>>());
    let deadlocks = analysis.deadlocks(&keeper, &cycles, |number, decision| {
        let (cycle, _) = cycles[number];
        teller.deadlock(&cycle.places, &cycle.instances[0], &decision)
    });
    found.extend(deadlocks.into_iter().flatten());
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
    totals.decided = found.len() as u64;
    totals.seconds.decide = deciding.elapsed().as_secs_f64();
    report(args, path, begun, &totals, found)
}

fn report(args: &PredictArgs, path: &Path, begun: Instant, totals: &Totals, found: Vec<(Finding, bool)>) -> Outcome {
    let predicted = found.iter().filter(|(_, predicted)| *predicted).count() as u64;
    let figures = Figures { predicted, confirmed: 0, infeasible: 0, undecided: found.len() as u64 - predicted };
    let mut findings: Vec<Finding> = found.into_iter().map(|(finding, _)| finding).collect();
    for (number, finding) in findings.iter_mut().enumerate() {
        finding.id = format!("p{}", number + 1);
    }
    let stats = Stats {
        executions: 1,
        events: totals.events,
        transitions: totals.trace_size,
        seconds: begun.elapsed().as_secs_f64(),
        prediction: Some(figures),
        ..Stats::default()
    };
    let mut limits = totals.refinements.disagreements.clone();
    if totals.left_out > 0 {
        limits.push(super::program::left_out(totals.left_out));
    }
    limits.push("nothing can be confirmed without the program".into());
    if let Some(window) = totals.window {
        limits.push(format!("races between events that lie in different windows of {window} events (--window)"));
    }
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let report = told::report(&name, &[], stats, limits, findings);
    super::write_report(args, None, &report)?;
    if !args.quiet {
        say(&told::stages(totals));
    }
    for finding in &report.findings {
        super::print(args, &format!("{}: {}\n", finding.id, finding.message));
    }
    let text = format!(
        "incomplete {name}: {} predicted, {} undecided; nothing can be confirmed without the program\n",
        figures.predicted, figures.undecided
    );
    super::print(args, &text);
    Ok(super::status(&report))
}

/// Every read of the trace, kept for traces that are not too long.
fn all_reads(analysis: &Analysis<'_>) -> Option<Pins> {
    let steps = analysis.trace.steps.len();
    if steps > PINNED_STEPS {
        return None;
    }
    let reads: BTreeSet<PinnedRead> = (0..steps as u32)
        .flat_map(|step| analysis.flow.reads(step).iter().map(move |&(var, _)| PinnedRead { step, var }))
        .collect();
    Some(Pins::of(&analysis.flow, reads))
}

/// Makes findings of decisions.
struct Teller<'a> {
    args: &'a PredictArgs,
    read: &'a Read,
    analysis: &'a Analysis<'a>,
    pinned: Option<Pins>,
}

impl Teller<'_> {
    /// A finding, and whether it is predicted (or undecided).
    fn race(&self, instance: (u32, u32), decision: &Decision, start: u32) -> Option<(Finding, bool)> {
        let instance = match decision {
            Decision::Possible(Witness { accesses: Some(instance), .. }) => *instance,
            _ => instance,
        };
        let trace = &self.read.trace;
        let sides = [instance.0, instance.1].map(|index| &trace.accesses[index as usize]);
        let accesses: Vec<AccessReport> = sides
            .iter()
            .map(|side| {
                self.access(side.thread, side.place, if side.what == Touching::Read { "read" } else { "write" })
            })
            .collect();
        let variable = trace.vars[sides[0].var as usize].name.clone();
        let sentence = format!("data race on `{variable}`: {}", listed(&accesses));
        let finding = self.finding(Kind::DataRace, Some(variable), accesses);
        self.judge(finding, &sentence, decision, start)
    }

    fn deadlock(&self, places: &[u64], goal: &[(u16, u32)], decision: &Decision) -> Option<(Finding, bool)> {
        let accesses: Vec<AccessReport> =
            goal.iter().zip(places).map(|(&(thread, _), &place)| self.access(thread, place, "lock")).collect();
        let sentence = format!("deadlock: {}", listed(&accesses));
        let finding = self.finding(Kind::Deadlock, None, accesses);
        self.judge(finding, &sentence, decision, 0)
    }

    fn judge(&self, mut finding: Finding, sentence: &str, decision: &Decision, start: u32) -> Option<(Finding, bool)> {
        let undecided = |reason: &str| format!("undecided: {sentence}: {reason}");
        match decision {
            Decision::Impossible => return None,
            Decision::Open(reason) => finding.message = undecided(reason),
            Decision::Possible(witness) => {
                let kept = self.kept(witness, start);
                match kept {
                    Some(steps) => {
                        let events = told::trace(&counterexample(&self.read.trace, &steps));
                        finding.message = format!("predicted: {sentence} (counterexample: {events})");
                        return Some((finding, true));
                    }
                    None => finding.message = undecided(VALUES),
                }
            }
        }
        Some((finding, false))
    }

    /// The witness, if values are no matter or it keeps them; else another one that does.
    fn kept(&self, witness: &Witness, start: u32) -> Option<Vec<raddle_predict::search::Taken>> {
        if witness.keeps_values || self.args.assume_any_value {
            return Some(witness.steps.clone());
        }
        let searcher = Searcher::new(&self.read.trace, &self.analysis.order, PINNED_STATES).behind(start);
        match searcher.reach(&witness.goal, self.pinned.as_ref()?) {
            Reach::Yes(steps) => Some(steps),
            Reach::No | Reach::Unknown => None,
        }
    }

    fn access(&self, thread: u16, place: u64, op: &str) -> AccessReport {
        let location = self.read.places.get(place as usize).cloned().unwrap_or_default();
        AccessReport {
            thread: self.read.trace.threads[usize::from(thread)].name.clone(),
            op: op.into(),
            place: Place { line: location.parse().ok(), function: Some(location), ..Place::default() },
            ..AccessReport::default()
        }
    }

    fn finding(&self, kind: Kind, variable: Option<String>, accesses: Vec<AccessReport>) -> Finding {
        Finding {
            id: String::new(),
            severity: Severity::Warning,
            kind,
            detail: None,
            message: String::new(),
            variable,
            object: None,
            accesses,
            executions_before: 0,
            preemptions: 0,
            witness_kind: None,
            witness: None,
            confirmed: Some(false),
        }
    }
}

fn listed(accesses: &[AccessReport]) -> String {
    let side = |access: &AccessReport| {
        format!("{} by {} at {}", access.op, access.thread, access.place.function.as_deref().unwrap_or("?"))
    };
    accesses.iter().map(side).collect::<Vec<_>>().join(", ")
}
