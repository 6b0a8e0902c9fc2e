//! Prediction on a program: observe a run, predict, confirm by forcing witnesses on the program,
//! and analyse the runs that took a new path.
//!
//! A witness is first looked for among the reorderings in which every read keeps its writer. The
//! program can always follow these. If there is none, reads may see any value at first. If the run
//! then leaves the path, some read saw a value that changed the control flow. So the reads of that
//! thread whose writer changed are pinned, the latest first, and the search is repeated until the
//! program follows or no reordering is left. With [`PredictOptions::assume_any_value`] nothing is
//! pinned.
//!
//! Only what a run of the program shows is confirmed. An infeasible candidate may be possible on
//! another path; later rounds analyse such paths.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::time::Instant;

use raddle_model::defect::Signature;
use raddle_model::finding::{Kind, Severity};
use raddle_model::{
    Choice, Defect, DefectFinder, Event as RunEvent, Execution, Operation as _, Request, Target, TargetError,
};
use raddle_vocab::policy::Policy;
use rustc_hash::FxHasher;

use crate::analysis::{Budget, Decision, Reordering, TIME, TraceAnalysis, Window};
use crate::candidates::{FilterCounts, RaceCandidate};
use crate::checks::{Refinements, refine};
use crate::cycles::Cycle;
use crate::flips::flips;
use crate::observe::observe;
use crate::pins::{Pins, TransitionRead};
use crate::schedule::{Divergence, choices, followed, number_in};
use crate::search::ReorderedEvent;
use crate::trace::{ObservedTrace, Tid};

/// Attempts to confirm one candidate.
pub(crate) const MOST_ATTEMPTS: usize = 24;
/// Candidates that are decided together before they are confirmed.
pub(crate) const AT_ONCE: usize = 64;
/// Runs of one round that only look for new paths.
const MOST_PATHS: usize = 2_000;

/// Options of a prediction.
#[derive(Clone, Copy, Debug)]
pub struct PredictOptions {
    /// Budget of the decisions.
    pub budget: Budget,
    /// How many generations of runs are analysed; 0 for all.
    pub rounds: u32,
    /// Whether reads may see any value.
    pub assume_any_value: bool,
    /// Policy that schedules the first run.
    pub policy: Policy,
    /// Bound on events of a run.
    pub max_events: u64,
    /// Whether a program that only waits for more clients has ended.
    pub until_idle: bool,
}

/// The result for a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateStatus {
    /// A run shows it.
    Confirmed,
    /// The program does not follow the path.
    Infeasible(Departure),
    /// Not known, for this reason.
    Undecided(&'static str),
}

impl CandidateStatus {
    /// Whether this says more for the candidate: what one run shows outweighs what others do not.
    #[must_use]
    pub fn outweighs(&self, other: &Self) -> bool {
        let rank = |status: &Self| match status {
            CandidateStatus::Infeasible(_) => 0,
            CandidateStatus::Undecided(_) => 1,
            CandidateStatus::Confirmed => 2,
        };
        rank(self) > rank(other)
    }
}

/// Where a run left the path that it was meant to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Number of the event in the schedule, from 1.
    pub event: usize,
    /// The event of the observed run that was expected; `None` if all were made but the accesses
    /// did not follow.
    pub expected: Option<RunEvent>,
}

/// A candidate that has a witness or is undecided, and its result.
#[derive(Clone, Debug)]
pub struct PredictedDefect {
    /// A race or a deadlock.
    pub kind: Kind,
    /// The places, in increasing order.
    pub places: Vec<u64>,
    /// The threads of the observed run and their accesses. For a deadlock they are in the order of
    /// the cycle.
    pub sides: Vec<PredictedSide>,
    /// Name of the variable.
    pub variable: Option<String>,
    /// The result.
    pub status: CandidateStatus,
    /// The witness as events of the CSP model, without creation and start.
    pub counterexample: Vec<String>,
}

/// One thread of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictedSide {
    /// Run-local number in the observed run.
    pub thread: Tid,
    /// Address of the access or acquisition in the program.
    pub place: u64,
    /// The kind of access; `None` for a thread that waits for a lock.
    pub what: Option<raddle_model::race::Touching>,
}

/// Result and statistics of a prediction.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The filter's counts, summed over all traces.
    pub stages: FilterCounts,
    /// Traces analysed.
    pub traces: u64,
    /// Runs made.
    pub runs: u64,
    /// Transitions of the traces.
    pub transitions: u64,
    /// Events of the traces.
    pub events: u64,
    /// Threads of one trace, at most.
    pub threads: u64,
    /// Events and shared accesses of the first trace.
    pub trace_size: u64,
    /// Pairs of places that exceed the filter's bounds and were not examined.
    pub left_out: u64,
    /// The error that ended the prediction early.
    pub lost: Option<TargetError>,
    /// Events of a window, if the traces were cut.
    pub window: Option<u32>,
    /// Candidates that have a witness or are undecided.
    pub decided: u64,
    /// New paths that were not analysed because the number of rounds was reached.
    pub paths_left: u64,
    /// Names of the shared variables.
    pub variables: BTreeSet<String>,
    /// Results of the CSP refinement checks.
    pub refinements: Refinements,
    /// Time spent in each phase.
    pub seconds: PhaseSeconds,
    /// Every error that some run has shown, predicted or not.
    pub shown: BTreeSet<Signature>,
    /// Every candidate that some reordering of some trace reaches, or may reach.
    pub predictions: Vec<PredictedDefect>,
}

/// Seconds spent in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseSeconds {
    /// Running the program and examining the executions.
    pub runs: f64,
    /// Building traces and filtering candidates.
    pub filter: f64,
    /// Deciding candidates.
    pub decide: f64,
}

/// Is told of the progress of a prediction.
pub trait PredictionObserver {
    /// A run was made. Breaking ends the prediction.
    fn met(&mut self, execution: &Execution) -> std::ops::ControlFlow<()>;
    /// Names the objects at addresses of an execution.
    fn name(&self, execution: &Execution, addresses: &[u64]) -> Vec<String>;
    /// A trace was filtered.
    fn analysed(&mut self, execution: &Execution, analysis: &TraceAnalysis<'_>);
    /// A candidate has its result.
    fn settled(&mut self, execution: &Execution, prediction: &PredictedDefect);
}

type Key = (Kind, Vec<u64>);

/// Predicts on a target.
///
/// # Errors
/// If the target is lost.
pub fn predict(
    target: &mut dyn Target,
    options: &PredictOptions,
    observer: &mut dyn PredictionObserver,
) -> Result<Totals, TargetError> {
    let mut session = Session {
        target,
        options,
        observer,
        finder: DefectFinder::new().until_idle(options.until_idle),
        shown: BTreeSet::new(),
        paths: BTreeSet::new(),
        settled: BTreeMap::new(),
        next: VecDeque::new(),
        totals: Totals::default(),
        over: false,
    };
    let ended = session.run();
    let mut totals = session.totals;
    match ended {
        Err(error) if totals.traces == 0 => return Err(error),
        // Results from before the target was lost remain valid.
        Err(error) => totals.lost = Some(error),
        Ok(()) => {}
    }
    totals.paths_left = session.next.len() as u64;
    totals.predictions = session.settled.into_values().collect();
    totals.decided = totals.predictions.len() as u64;
    Ok(totals)
}

struct Session<'a> {
    target: &'a mut dyn Target,
    options: &'a PredictOptions,
    observer: &'a mut dyn PredictionObserver,
    finder: DefectFinder,
    /// Races and deadlocks that runs have shown.
    shown: BTreeSet<Key>,
    paths: BTreeSet<u64>,
    settled: BTreeMap<Key, PredictedDefect>,
    /// Runs along new paths, for the next round.
    next: VecDeque<Execution>,
    totals: Totals,
    over: bool,
}

/// A candidate to confirm.
pub enum Wanted<'a> {
    /// A race.
    Race(&'a RaceCandidate),
    /// A deadlock.
    Deadlock(&'a Cycle),
}

impl Wanted<'_> {
    fn key(&self) -> Key {
        match self {
            Wanted::Race(candidate) => {
                let mut places = vec![candidate.places.0, candidate.places.1];
                places.dedup();
                (Kind::DataRace, places)
            }
            Wanted::Deadlock(cycle) => {
                let mut places = cycle.places.clone();
                places.sort_unstable();
                places.dedup();
                (Kind::Deadlock, places)
            }
        }
    }

    pub(crate) fn decide(&self, analysis: &TraceAnalysis<'_>, window: &Window, pins: &Pins, first: usize) -> Decision {
        match self {
            Wanted::Race(candidate) => analysis.race(candidate, window, pins, None, first),
            Wanted::Deadlock(cycle) => analysis.deadlock(cycle, window, pins, None, first),
        }
    }

    pub(crate) fn instance(&self, witness: &Reordering) -> usize {
        let found = match self {
            Wanted::Race(candidate) => {
                candidate.instances.iter().position(|&instance| Some(instance) == witness.accesses)
            }
            Wanted::Deadlock(cycle) => cycle.instances.iter().position(|instance| *instance == witness.goal),
        };
        found.unwrap_or(0)
    }
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), TargetError> {
        let first = self.run_schedule(Vec::new(), self.options.policy)?;
        self.paths.insert(path_of(&first));
        let mut round = VecDeque::from([first]);
        let mut number = 0;
        while !round.is_empty() && !self.over && (self.options.rounds == 0 || number < self.options.rounds) {
            for execution in std::mem::take(&mut round) {
                self.analyse(&execution)?;
                if self.over {
                    break;
                }
            }
            number += 1;
            round = std::mem::take(&mut self.next);
        }
        self.next.extend(round);
        Ok(())
    }

    fn run_schedule(&mut self, schedule: Vec<Choice>, policy: Policy) -> Result<Execution, TargetError> {
        let begun = Instant::now();
        let mut execution = Execution::empty();
        self.target.submit(Request { schedule, policy, max_events: self.options.max_events });
        self.target.finish(&mut execution)?;
        self.totals.runs += 1;
        for defect in self.finder.find(&execution) {
            self.shown.insert(key_of(&defect));
            if defect.severity == Severity::Error {
                self.totals.shown.insert(defect.signature);
            }
        }
        self.over |= self.observer.met(&execution).is_break();
        self.totals.seconds.runs += begun.elapsed().as_secs_f64();
        Ok(execution)
    }

    /// Analyses one run and confirms its candidates.
    fn analyse(&mut self, execution: &Execution) -> Result<(), TargetError> {
        let begun = Instant::now();
        let trace = self.trace(execution);
        if trace.events.len() != execution.events.len() {
            return Err(TargetError::Lost("a step of the run belongs to no thread".into()));
        }
        let analysis = TraceAnalysis::new(&trace, self.options.budget);
        self.totals.seconds.filter += begun.elapsed().as_secs_f64();
        self.observer.analysed(execution, &analysis);
        self.count(execution, &analysis);
        self.settle_all(execution, &analysis)?;
        if self.options.rounds != 1 {
            self.explore(execution, &analysis)?;
        }
        Ok(())
    }

    /// Decides and confirms the candidates, a batch at a time, because witnesses are long.
    fn settle_all(&mut self, execution: &Execution, analysis: &TraceAnalysis<'_>) -> Result<(), TargetError> {
        let begun = Instant::now();
        let keeper = analysis.keeper();
        self.totals.seconds.decide += begun.elapsed().as_secs_f64();
        let mut decisions = Vec::new();
        for some in analysis.candidates().chunks(AT_ONCE) {
            let begun = Instant::now();
            let decided = analysis.races(&keeper, some, |_, decision| decision);
            self.totals.seconds.decide += begun.elapsed().as_secs_f64();
            for (&(candidate, window), decision) in some.iter().zip(decided) {
                decisions.push((candidate, window, decision.without_events()));
                self.settle(execution, analysis, window, &Wanted::Race(candidate), decision)?;
            }
        }
        for some in analysis.cycles().chunks(AT_ONCE) {
            let begun = Instant::now();
            let decided = analysis.deadlocks(&keeper, some, |_, decision| decision);
            self.totals.seconds.decide += begun.elapsed().as_secs_f64();
            for (&(cycle, window), decision) in some.iter().zip(decided) {
                self.settle(execution, analysis, window, &Wanted::Deadlock(cycle), decision)?;
            }
        }
        let begun = Instant::now();
        self.totals.refinements.add(refine(analysis, &decisions));
        self.totals.seconds.decide += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn trace(&self, execution: &Execution) -> ObservedTrace {
        let mut trace = observe(execution);
        let slots = trace.slots.iter().filter_map(|slot| slot.address);
        let addresses: BTreeSet<u64> = slots.chain(trace.vars.iter().filter_map(|var| var.address)).collect();
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let names = self.observer.name(execution, &addresses);
        let names: BTreeMap<u64, String> = addresses.into_iter().zip(names).collect();
        trace.rename(&|address| names.get(&address).cloned().unwrap_or_else(|| format!("{address:#x}")));
        trace
    }

    fn count(&mut self, execution: &Execution, analysis: &TraceAnalysis<'_>) {
        self.totals.traces += 1;
        self.totals.window = analysis.window();
        self.totals.transitions += execution.events.len() as u64;
        self.totals.events += execution.recorded;
        self.totals.threads = self.totals.threads.max(execution.threads.len() as u64);
        self.totals.variables.extend(analysis.trace.vars.iter().map(|var| var.name.clone()));
        if self.totals.traces == 1 {
            self.totals.trace_size = (analysis.trace.events.len() + analysis.trace.accesses.len()) as u64;
        }
        for window in &analysis.windows {
            let (sum, add) = (&mut self.totals.stages, &window.races.stages);
            sum.variables += add.variables;
            sum.pairs += add.pairs;
            sum.unordered += add.unordered;
            sum.unlocked += add.unlocked;
            sum.checks += add.checks;
            sum.candidates += add.candidates + window.deadlocks.cycles.len() as u64;
            self.totals.left_out += window.races.left_out;
        }
    }

    fn settle(
        &mut self,
        execution: &Execution,
        analysis: &TraceAnalysis<'_>,
        window: &Window,
        wanted: &Wanted<'_>,
        decision: Decision,
    ) -> Result<(), TargetError> {
        let key = wanted.key();
        if self.over || self.settled.get(&key).is_some_and(|known| known.status == CandidateStatus::Confirmed) {
            return Ok(());
        }
        let (status, witness) = match decision {
            Decision::Impossible => return Ok(()),
            Decision::Open(reason) => (CandidateStatus::Undecided(reason), None),
            Decision::Possible(witness) if self.shown.contains(&key) => (CandidateStatus::Confirmed, Some(witness)),
            Decision::Possible(witness) if self.options.budget.is_over() => {
                (CandidateStatus::Undecided(TIME), Some(witness))
            }
            Decision::Possible(witness) => {
                let status = self.enforce(execution, analysis, window, wanted, witness.clone())?;
                (status, Some(witness))
            }
        };
        let prediction = describe(analysis.trace, wanted, witness.as_ref(), status);
        // Another trace may have settled the candidate already.
        let better = self.settled.get(&key).is_none_or(|known| prediction.status.outweighs(&known.status));
        if better {
            self.observer.settled(execution, &prediction);
            self.settled.insert(key, prediction);
        }
        Ok(())
    }

    /// Forces witnesses on the program until a run shows the candidate, or no witness is left.
    fn enforce(
        &mut self,
        execution: &Execution,
        analysis: &TraceAnalysis<'_>,
        window: &Window,
        wanted: &Wanted<'_>,
        mut witness: Reordering,
    ) -> Result<CandidateStatus, TargetError> {
        let key = wanted.key();
        let mut pinned: BTreeSet<TransitionRead> = BTreeSet::new();
        let mut first = wanted.instance(&witness);
        let mut departure: Option<Departure> = None;
        for _ in 0..MOST_ATTEMPTS {
            let events = with_accesses(analysis.trace, &witness);
            let run = self.run_schedule(choices(execution, &events), Policy::LeastRank)?;
            if self.shown.contains(&key) {
                return Ok(CandidateStatus::Confirmed);
            }
            let left = followed(execution, &events, &run);
            let departed = departed_threads(analysis.trace, &events, left.as_ref(), &witness);
            departure.get_or_insert_with(|| departure_of(execution, &events, left.as_ref()));
            self.keep_new_path(run);
            let more = if self.options.assume_any_value {
                Vec::new()
            } else {
                let made = &events[..left.map_or(events.len(), |left| left.at)];
                suspect_reads(analysis, made, &departed, &pinned)
            };
            if more.is_empty() {
                // No read changed its writer: try another pair of accesses.
                first += 1;
                pinned.clear();
            }
            // The number of pinned reads doubles, so that a long list needs few attempts.
            let count = (pinned.len()).max(1);
            pinned.extend(more.into_iter().take(count));
            let pins = Pins::of(&analysis.flow, pinned.clone());
            match wanted.decide(analysis, window, &pins, first) {
                Decision::Possible(next) => {
                    first = wanted.instance(&next).max(first);
                    witness = next;
                }
                Decision::Impossible => {
                    return Ok(departure.map_or(CandidateStatus::Undecided(UNKNOWN), CandidateStatus::Infeasible));
                }
                Decision::Open(reason) => return Ok(CandidateStatus::Undecided(reason)),
            }
            if self.over {
                return Ok(CandidateStatus::Undecided(TIME));
            }
        }
        Ok(CandidateStatus::Undecided(ATTEMPTS))
    }

    /// Keeps a run for the next round if it took a new path.
    fn keep_new_path(&mut self, run: Execution) {
        if self.paths.insert(path_of(&run)) {
            self.next.push_back(run);
        }
    }

    /// Reverses pairs of transitions whose order a thread can observe, to find new paths.
    fn explore(&mut self, execution: &Execution, analysis: &TraceAnalysis<'_>) -> Result<(), TargetError> {
        let flips = flips(analysis.trace, &analysis.order, &analysis.flow, self.options.budget.states / 10 + 100);
        for flip in flips.into_iter().take(MOST_PATHS) {
            if self.over || self.options.budget.is_over() {
                return Ok(());
            }
            let mut schedule = choices(execution, &flip.events);
            let then = flip.then.iter().map(|&thread| number_in(execution, &flip.events, thread).map(Choice::of));
            schedule.extend(then.collect::<Option<Vec<Choice>>>().unwrap_or_default());
            let run = self.run_schedule(schedule, Policy::LeastRank)?;
            self.keep_new_path(run);
        }
        Ok(())
    }
}

pub(crate) const ATTEMPTS: &str = "no order that was tried could be followed, and there are more";
const UNKNOWN: &str = "no run was made";

fn key_of(defect: &Defect) -> Key {
    let mut places = defect.signature.places.clone();
    places.sort_unstable();
    places.dedup();
    (defect.signature.kind, places)
}

/// The events of the witness, followed by the two accesses as far as they are events themselves.
fn with_accesses(trace: &ObservedTrace, witness: &Reordering) -> Vec<ReorderedEvent> {
    let mut events = witness.events.clone();
    let Some((a, b)) = witness.accesses else { return events };
    for index in [a, b] {
        let access = &trace.accesses[index as usize];
        if access.own_event
            && let Some(event) = trace.event_at(access.thread, access.position)
        {
            events.push(ReorderedEvent { event, woken: None });
        }
    }
    events
}

/// The threads that left the path.
fn departed_threads(
    trace: &ObservedTrace,
    events: &[ReorderedEvent],
    left: Option<&Divergence>,
    witness: &Reordering,
) -> Vec<Tid> {
    match left.and_then(|left| events.get(left.at)) {
        Some(taken) => vec![trace.events[taken.event as usize].thread],
        None => witness.goal.iter().map(|(thread, _)| *thread).collect(),
    }
}

fn departure_of(execution: &Execution, events: &[ReorderedEvent], left: Option<&Divergence>) -> Departure {
    let at = left.map_or(events.len(), |left| left.at);
    let expected = events.get(at).map(|taken| execution.events[taken.event as usize]);
    Departure { event: at + 1, expected }
}

/// Reads whose writer changed, the latest first: those of the threads that left the path, or else
/// of all threads.
pub(crate) fn suspect_reads(
    analysis: &TraceAnalysis<'_>,
    made: &[ReorderedEvent],
    departed: &[Tid],
    pinned: &BTreeSet<TransitionRead>,
) -> Vec<TransitionRead> {
    let order: Vec<u32> = made.iter().map(|taken| taken.event).collect();
    let mut changed = analysis.flow.changed(&order);
    changed.retain(|read| !pinned.contains(read));
    changed.reverse();
    let own: Vec<TransitionRead> = changed
        .iter()
        .copied()
        .filter(|read| departed.contains(&analysis.trace.events[read.event as usize].thread))
        .collect();
    if own.is_empty() { changed } else { own }
}

fn describe(
    trace: &ObservedTrace,
    wanted: &Wanted<'_>,
    witness: Option<&Reordering>,
    status: CandidateStatus,
) -> PredictedDefect {
    let (kind, places) = wanted.key();
    let (sides, variable) = match wanted {
        Wanted::Race(candidate) => {
            let (a, b) = witness.and_then(|witness| witness.accesses).unwrap_or(candidate.instances[0]);
            let accesses = [a, b].map(|index| &trace.accesses[index as usize]);
            let sides = accesses.map(|access| PredictedSide {
                thread: access.thread,
                place: access.place,
                what: Some(access.what),
            });
            (sides.to_vec(), Some(trace.vars[accesses[0].var as usize].name.clone()))
        }
        Wanted::Deadlock(cycle) => {
            let goal = witness.map_or(&cycle.instances[0], |witness| &witness.goal);
            let sides = goal.iter().zip(&cycle.places);
            (sides.map(|(&(thread, _), &place)| PredictedSide { thread, place, what: None }).collect(), None)
        }
    };
    let counterexample =
        witness.map(|witness| crate::words::counterexample(trace, &witness.events)).unwrap_or_default();
    PredictedDefect { kind, places, sides, variable, status, counterexample }
}

/// Hash of a path: what each thread does, independent of the order between threads.
fn path_of(execution: &Execution) -> u64 {
    let mut hashers: Vec<FxHasher> = vec![FxHasher::default(); execution.threads.len()];
    for event in &execution.events {
        if let Some(hasher) = hashers.get_mut(usize::from(event.thread)) {
            let kind = event.op.kind();
            (kind as u8, event.pc, event.op.object()).hash(hasher);
            if !kind.is_atomic_access() {
                (event.op.outcome() as u8).hash(hasher);
            }
        }
    }
    for access in &execution.accesses {
        if let Some(hasher) = hashers.get_mut(usize::from(access.thread)) {
            (access.pc, access.addr, access.kind).hash(hasher);
        }
    }
    let mut threads: Vec<_> =
        execution.threads.iter().zip(&hashers).map(|(thread, hasher)| (&thread.path, hasher.finish())).collect();
    threads.sort();
    let mut all = FxHasher::default();
    threads.hash(&mut all);
    all.finish()
}
