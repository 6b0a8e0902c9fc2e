//! Confirms what a trace predicts on a program that runs anew.
//!
//! The witness comes from the trace, which may be one of another tool or another machine. The
//! program is made to follow it ([`guide`](crate::guide)). If it leaves the order, a read with
//! another value may have caused that: such reads keep their writers in the next witness, as in
//! [`session`](crate::session). Only what a run shows is confirmed.

use std::collections::BTreeSet;

use raddle_model::defect::{PartPosition, Signature};
use raddle_model::finding::{Kind, Severity};
use raddle_model::race::{AccessPosition, Side, Touching};
use raddle_model::{Choice, Defect, DefectFinder, Execution, TargetError};

use crate::analysis::{Decision, Reordering, TraceAnalysis, Window};
use crate::guide::{Followed, follow};
use crate::pins::{Pins, TransitionRead};
use crate::session::{ATTEMPTS, MOST_ATTEMPTS, Wanted, suspect_reads};
use crate::trace::{ObservedTrace, SharedAccess, Tid};

/// What became of a prediction.
#[derive(Debug)]
pub enum Outcome {
    /// A run shows it.
    Shown {
        /// The defect of the run.
        signature: Signature,
        /// The order that was followed.
        witness: Reordering,
    },
    /// The program left an order, for the first time that was tried.
    Left {
        /// The run.
        followed: Box<Followed>,
        /// The order.
        witness: Reordering,
        /// Whether no other order is left.
        all: bool,
    },
    /// The program followed an order, and what was predicted did not show.
    Absent {
        /// The order.
        witness: Reordering,
        /// Whether no other order is left.
        all: bool,
    },
    /// Not known, for this reason.
    Open(&'static str),
}

/// A program that can be run, and what is known of its memory.
pub trait Runs {
    /// Runs the program. Whatever a run shows, the caller learns here.
    ///
    /// # Errors
    /// If the target is lost.
    fn run(&mut self, schedule: Vec<Choice>) -> Result<Execution, TargetError>;

    /// Whether the variable of the trace may be what lies at this address.
    fn is_variable(&self, execution: &Execution, address: u64, variable: &str) -> bool;

    /// Whether there is no time left.
    fn is_over(&self) -> bool;
}

/// Makes the program follow witnesses of one candidate until a run shows it, or none is left.
///
/// # Errors
/// If the target is lost.
pub fn confirm(
    analysis: &TraceAnalysis<'_>,
    window: &Window,
    wanted: &Wanted<'_>,
    mut witness: Reordering,
    any_value: bool,
    runs: &mut dyn Runs,
) -> Result<Outcome, TargetError> {
    let trace = analysis.trace;
    let mut pinned: BTreeSet<TransitionRead> = BTreeSet::new();
    let mut first = wanted.instance(&witness);
    let mut outcome = None;
    for _ in 0..MOST_ATTEMPTS {
        let mut followed = None;
        for far in approaches(&witness) {
            let run = &mut |schedule| runs.run(schedule);
            let next = follow(trace, &witness.events, &witness.goal, &far, run)?;
            if next.departure.is_none()
                && let Some(signature) = shown(trace, &next, &witness, runs)
            {
                return Ok(Outcome::Shown { signature, witness });
            }
            let left = next.departure.is_some();
            followed = Some(next);
            if left {
                break;
            }
        }
        let Some(followed) = followed else { break };
        let at = followed.departure.as_ref().map(|departure| departure.at);
        let departed: Vec<Tid> = match at.and_then(|at| witness.events.get(at)) {
            Some(taken) => vec![trace.events[taken.event as usize].thread],
            None => witness.goal.iter().map(|(thread, _)| *thread).collect(),
        };
        let made = &witness.events[..at.unwrap_or(witness.events.len())];
        let more = if any_value { Vec::new() } else { suspect_reads(analysis, made, &departed, &pinned) };
        match (&outcome, at) {
            // An order that was followed to its end says more than one that was not.
            (None | Some(Outcome::Left { .. }), None) => {
                outcome = Some(Outcome::Absent { witness: witness.clone(), all: false });
            }
            (None, Some(_)) => {
                outcome = Some(Outcome::Left { followed: Box::new(followed), witness: witness.clone(), all: false })
            }
            _ => {}
        }
        if more.is_empty() {
            first += 1;
            pinned.clear();
        }
        let count = pinned.len().max(1);
        pinned.extend(more.into_iter().take(count));
        let pins = Pins::of(&analysis.flow, pinned.clone());
        match wanted.decide(analysis, window, &pins, first) {
            Decision::Possible(next) if !runs.is_over() => {
                first = wanted.instance(&next).max(first);
                witness = next;
            }
            Decision::Impossible => {
                if let Some(Outcome::Left { all, .. } | Outcome::Absent { all, .. }) = &mut outcome {
                    *all = true;
                }
                break;
            }
            _ => break,
        }
    }
    Ok(outcome.unwrap_or(Outcome::Open(ATTEMPTS)))
}

/// Which threads are to come far: operations that the trace has no word for, as atomic ones, may
/// stand before an access or behind it, and order the two.
fn approaches(witness: &Reordering) -> Vec<Vec<Tid>> {
    let all: Vec<Tid> = witness.goal.iter().map(|(thread, _)| *thread).collect();
    match all[..] {
        [one, other] if witness.accesses.is_some() => vec![all, Vec::new(), vec![one], vec![other]],
        _ => vec![all],
    }
}

/// The defect of a run that is the one of the witness.
fn shown(trace: &ObservedTrace, followed: &Followed, witness: &Reordering, runs: &dyn Runs) -> Option<Signature> {
    let defects = DefectFinder::new().find(&followed.execution);
    let errors = defects.iter().filter(|defect| defect.severity == Severity::Error);
    let own = |thread: Tid| followed.threads.get(&thread).copied();
    let found = match witness.accesses {
        Some((a, b)) => {
            let sides = [a, b].map(|index| &trace.accesses[index as usize]);
            errors.filter(|defect| defect.signature.kind == Kind::DataRace).find(|defect| {
                let Some(race) = defect.race else { return false };
                let name = &trace.vars[sides[0].var as usize].name;
                let is = |access: &SharedAccess, side: &Side| {
                    own(access.thread) == Some(side.thread) && is_there(followed, access, side)
                };
                let either = (is(sides[0], &race.first) && is(sides[1], &race.second))
                    || (is(sides[0], &race.second) && is(sides[1], &race.first));
                either && runs.is_variable(&followed.execution, race.addr, name)
            })
        }
        None => {
            let threads: BTreeSet<Option<Tid>> = witness.goal.iter().map(|&(thread, _)| own(thread)).collect();
            let waits = |defect: &Defect| {
                let parts = defect.parts.iter().filter(|part| part.position == PartPosition::Pending);
                parts.map(|part| Some(part.thread)).collect::<BTreeSet<_>>() == threads
            };
            errors.filter(|defect| defect.signature.kind == Kind::Deadlock).find(|defect| waits(defect))
        }
    };
    found.map(|defect| defect.signature.clone())
}

/// Whether a side of a race is of the kind of the access, and lies between the same operations of
/// its thread.
fn is_there(followed: &Followed, access: &SharedAccess, side: &Side) -> bool {
    let execution = &followed.execution;
    let before = match side.position {
        AccessPosition::Access(number) => execution.accesses.get(number as usize).map_or(0, |access| access.after),
        AccessPosition::Event(number) => number,
    };
    let made = followed.made.get(usize::from(side.thread)).copied();
    let reads = matches!(side.what, Touching::Read | Touching::AtomicRead | Touching::Use);
    reads != access.writes() && made == Some(followed.before(side.thread, before as usize))
}
