//! Predictions in the user's words, and the report they make.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use raddle_model::finding::{
    AccessReport, Finding, Kind, Place, PredictionStats, Reason, Report, SCHEMA, Severity, Stats, verdict,
};
use raddle_model::weak::MemoryModel;
use raddle_predict::candidates::FilterCounts;
use raddle_predict::session::{CandidateStatus, Totals};

/// What tells predictions apart in the user's eyes.
pub type Key = (Kind, Vec<(Option<String>, Option<u32>, Option<String>)>);

/// A prediction with names.
#[derive(Clone, Debug)]
pub struct NamedPrediction {
    pub key: Key,
    pub status: CandidateStatus,
    /// The event at which the run left the path, or why nothing is known.
    pub why: String,
    pub finding: Finding,
    pub counterexample: Vec<String>,
}

impl NamedPrediction {
    /// The witness as the paper writes it.
    pub fn trace(&self) -> String {
        trace(&self.counterexample)
    }
}

/// Events of a counterexample that are shown; the first ones of a longer one are left out.
const MOST_EVENTS: usize = 40;

/// A counterexample in one line.
pub fn trace(events: &[String]) -> String {
    match events.len() {
        0 => "no synchronising operation".into(),
        count if count > MOST_EVENTS => {
            format!("{} events, then {}", count - MOST_EVENTS, events[count - MOST_EVENTS..].join(", "))
        }
        _ => events.join(", "),
    }
}

/// Where the threads of a finding stand.
pub fn key(kind: Kind, accesses: &[AccessReport]) -> Key {
    let place = |access: &AccessReport| {
        let Place { file, line, function, .. } = &access.place;
        (file.clone(), *line, function.clone().filter(|_| line.is_none()))
    };
    let places: BTreeSet<_> = accesses.iter().map(place).collect();
    (kind, places.into_iter().collect())
}

/// Predictions so far, each with the best that became of it.
#[derive(Default)]
pub struct Ledger {
    predictions: BTreeMap<Key, NamedPrediction>,
}

impl Ledger {
    /// Adds a prediction, unless something as good is known of it.
    pub fn add(&mut self, prediction: NamedPrediction) {
        let known = self.predictions.get(&prediction.key);
        let better = known.is_none_or(|known| prediction.status.outweighs(&known.status));
        if better {
            self.predictions.insert(prediction.key.clone(), prediction);
        }
    }

    /// Completes the findings: says which prediction led to a confirmed one, and adds those that
    /// are not confirmed.
    pub fn complete(self, findings: &mut Vec<Finding>) -> PredictionStats {
        let mut figures = PredictionStats::default();
        let mut shown = BTreeSet::new();
        for finding in findings.iter_mut() {
            let key = key(finding.kind, &finding.accesses);
            finding.confirmed.get_or_insert(true);
            if let Some(prediction) =
                self.predictions.get(&key).filter(|prediction| prediction.status == CandidateStatus::Confirmed)
            {
                finding.message += &format!(" (counterexample: {})", prediction.trace());
            }
            if matches!(finding.kind, Kind::DataRace | Kind::Deadlock) && shown.insert(key) {
                figures.confirmed += 1;
            }
        }
        let mut number = 0;
        for (key, prediction) in self.predictions {
            match prediction.status {
                _ if shown.contains(&key) => continue,
                CandidateStatus::Confirmed => figures.confirmed += 1,
                CandidateStatus::Infeasible(_) => figures.infeasible += 1,
                CandidateStatus::Undecided(_) => figures.undecided += 1,
            }
            number += 1;
            findings.push(unconfirmed(prediction, number));
        }
        figures.predicted = figures.confirmed + figures.infeasible + figures.undecided;
        figures
    }
}

fn unconfirmed(prediction: NamedPrediction, number: u32) -> Finding {
    let trace = prediction.trace();
    let message = match &prediction.status {
        CandidateStatus::Infeasible(_) => {
            format!("infeasible: {}: {} (counterexample: {trace})", prediction.finding.message, prediction.why)
        }
        CandidateStatus::Undecided(_) => format!("undecided: {}: {}", prediction.finding.message, prediction.why),
        CandidateStatus::Confirmed => format!("predicted: {} (counterexample: {trace})", prediction.finding.message),
    };
    Finding {
        id: format!("p{number}"),
        severity: Severity::Warning,
        message,
        confirmed: Some(false),
        ..prediction.finding
    }
}

/// The figures of each stage, for people.
pub fn stages(totals: &Totals) -> String {
    let FilterCounts { variables, pairs, unordered, unlocked, checks, candidates } = totals.stages;
    let (seconds, refined) = (totals.seconds, &totals.refinements);
    format!(
        "observed {} events ({} steps and shared accesses), {variables} shared variables\n\
         filter   {pairs} conflicting pairs, {unordered} not ordered without mutexes, {unlocked} without a common lock \
         ({:.3} s)\n\
         decide   {checks} checks ({} refined in CSP: {} fail, {} hold), {candidates} candidates, {} with a witness or \
         open ({:.3} s)\n\
         confirm  {} runs ({:.3} s)",
        totals.events,
        totals.trace_size,
        seconds.filter,
        refined.fails + refined.holds,
        refined.fails,
        refined.holds,
        totals.decided,
        seconds.decide,
        totals.runs,
        seconds.runs,
    )
}

/// What the analysis of one trace, begun at this moment, comes to.
pub fn stats(totals: &Totals, begun: Instant, figures: PredictionStats) -> Stats {
    Stats {
        executions: 1,
        events: totals.events,
        transitions: totals.trace_size,
        seconds: begun.elapsed().as_secs_f64(),
        prediction: Some(figures),
        ..Stats::default()
    }
}

/// Puts the report together.
pub fn report(program: String, args: Vec<String>, stats: Stats, limits: Vec<String>, findings: Vec<Finding>) -> Report {
    let confirmed: Vec<Finding> = findings.iter().filter(|finding| finding.confirmed == Some(true)).cloned().collect();
    let text = "only other orders of the events of observed runs were looked at";
    Report {
        schema: SCHEMA,
        raddle: env!("CARGO_PKG_VERSION").into(),
        program,
        args,
        strategy: "predict".into(),
        granularity: "sync".into(),
        property: "all".into(),
        memory_model: MemoryModel::Sc,
        verdict: verdict(&confirmed, false, false),
        reason: Some(Reason { code: "prediction".into(), text: text.into() }),
        stats,
        limits,
        suppressed: Vec::new(),
        unseen: Vec::new(),
        notes: Vec::new(),
        tests: Vec::new(),
        findings,
    }
}
