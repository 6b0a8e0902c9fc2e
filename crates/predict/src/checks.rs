//! The CSP refinement checks of the paper (see [`crate::model`]), compared with the search. There
//! is one check for each variable and pair of threads that the filter left, as far as the models
//! are small.

use std::collections::BTreeMap;

use crate::analysis::{Decision, TraceAnalysis, Window};
use crate::candidates::RaceCandidate;
use crate::model::{Check, Refined};
use crate::search::Searcher;
use crate::trace::{Tid, Var};

/// Models of at most this size are refined.
const LARGEST: u64 = 20_000;
/// Longer traces are left to the search.
const LONGEST: usize = 4_000;
/// Checks of one trace, at most.
const MOST: usize = 200;
/// Models of one trace that are built, at most.
const MOST_TRIED: usize = 2_000;

/// Results of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinements {
    /// Checks that found a race.
    pub fails: u64,
    /// Checks that found none.
    pub holds: u64,
    /// Checks left to the search alone.
    pub skipped: u64,
    /// Checks on which refinement and search disagree, which is a bug of raddle.
    pub disagreements: Vec<String>,
}

impl Refinements {
    /// Adds the results of another trace.
    pub fn add(&mut self, other: Refinements) {
        self.fails += other.fails;
        self.holds += other.holds;
        self.skipped += other.skipped;
        self.disagreements.extend(other.disagreements);
    }
}

/// Checks the small models of a trace and compares the verdicts with those of the search.
#[must_use]
pub fn refine(analysis: &TraceAnalysis<'_>, decisions: &[(&RaceCandidate, &Window, Decision)]) -> Refinements {
    let mut refinements = Refinements::default();
    let units: Vec<(Var, Tid, Tid)> = analysis.windows.iter().flat_map(|window| window.races.units.clone()).collect();
    // The model reorders events before a window, which must stay as they were.
    if analysis.windows.len() > 1 || analysis.trace.events.len() > LONGEST {
        refinements.skipped = units.len() as u64;
        return refinements;
    }
    let searcher = Searcher::new(analysis.trace, &analysis.order, 1);
    let mut verdicts: BTreeMap<(Var, Tid, Tid), bool> = BTreeMap::new();
    refinements.skipped = units.len().saturating_sub(MOST_TRIED) as u64;
    for &(var, one, two) in units.iter().take(MOST_TRIED) {
        let check = Check::new(analysis.trace, &searcher, var, (one, two));
        let small = check.ok().filter(|check| check.size <= LARGEST && verdicts.len() < MOST);
        match small.and_then(|mut check| check.decide(LARGEST as usize * 4).ok()) {
            None => refinements.skipped += 1,
            Some(Refined::Holds) => {
                refinements.holds += 1;
                verdicts.insert((var, one, two), false);
            }
            Some(Refined::Fails(_)) => {
                refinements.fails += 1;
                verdicts.insert((var, one, two), true);
            }
        }
    }
    compare(analysis, decisions, &verdicts, &mut refinements);
    refinements
}

/// A race that the search witnesses must be a race of the model, and a race of the model must not
/// be impossible for the search.
fn compare(
    analysis: &TraceAnalysis<'_>,
    decisions: &[(&RaceCandidate, &Window, Decision)],
    verdicts: &BTreeMap<(Var, Tid, Tid), bool>,
    refinements: &mut Refinements,
) {
    let unit = |&(a, b): &(u32, u32)| {
        let (x, y) = (&analysis.trace.accesses[a as usize], &analysis.trace.accesses[b as usize]);
        (x.var, x.thread.min(y.thread), x.thread.max(y.thread))
    };
    let mut possible: BTreeMap<(Var, Tid, Tid), bool> = BTreeMap::new();
    for (candidate, _, decision) in decisions {
        let open = !matches!(decision, Decision::Impossible);
        for instance in &candidate.instances {
            *possible.entry(unit(instance)).or_insert(false) |= open;
        }
        if let Decision::Possible(witness) = decision
            && let Some(instance) = &witness.accesses
            && verdicts.get(&unit(instance)) == Some(&false)
        {
            refinements.disagreements.push(sentence(analysis, unit(instance), "finds no race where the search does"));
        }
    }
    for (&unit, &fails) in verdicts {
        if fails && possible.get(&unit) == Some(&false) {
            refinements.disagreements.push(sentence(analysis, unit, "finds a race where the search finds none"));
        }
    }
}

fn sentence(analysis: &TraceAnalysis<'_>, (var, one, two): (Var, Tid, Tid), what: &str) -> String {
    let thread = |thread: Tid| &analysis.trace.threads[usize::from(thread)].name;
    let name = &analysis.trace.vars[var as usize].name;
    format!("the refinement check of {name}, {} and {} {what}, which is a bug of raddle", thread(one), thread(two))
}
