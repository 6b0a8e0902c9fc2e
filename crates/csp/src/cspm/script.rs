//! The assertions of a script.

use std::fmt;

use super::ast::{Assertion, Claim, DeclarationKind, Script};
use super::eval::{Builtin, Evaluation, Evaluator};
use super::{parse, scope};
use crate::check::{CheckResult, Counterexample, Limits, ProcessProperty, check_with};
use crate::core::Model;
use crate::error::{CheckError, LimitReached, SourceError, SourcePosition};

/// The verdict of an assertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AssertionVerdict {
    /// It holds.
    Holds,
    /// It does not. An assertion with `not` fails without a counterexample: what it denies is true.
    Fails(Option<Counterexample>),
    /// A limit was reached first.
    Unknown(LimitReached),
    /// The script has an error that only this assertion reached.
    Broken(CheckError),
}

/// One `assert` line and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct AssertOutcome {
    /// The position of the line.
    pub place: SourcePosition,
    /// What it claims.
    pub assertion: Assertion,
    /// Its verdict.
    pub verdict: AssertionVerdict,
    /// For an assertion with `not` that holds: the behaviour that refutes what it denies.
    pub refutation: Option<Counterexample>,
    /// How many states were visited; 0 without a verdict.
    pub states: usize,
    /// How many transitions were explored; 0 without a verdict.
    pub transitions: usize,
}

/// The stack of the thread that evaluates: enough for the deepest nesting that the evaluator
/// admits.
const STACK: usize = 256 << 20;

/// Checks every assertion of a script, in order.
///
/// The error is one that is found before anything is checked: a syntax error or an undefined name.
pub fn check_file(source: &str, limits: &Limits<'_>) -> Result<Vec<AssertOutcome>, SourceError> {
    let script = parse(source)?;
    scope::check(&script, &|name| Builtin::find(name).is_some())?;
    // The depth of an evaluation depends on the script, so it runs on a stack of known size.
    std::thread::scope(|threads| {
        let work = || outcomes(&script, limits);
        let started = std::thread::Builder::new().stack_size(STACK).spawn_scoped(threads, work);
        match started.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(outcomes)) => Ok(outcomes),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                Err(SourceError::new(SourcePosition::default(), format!("no thread for the evaluation: {error}")))
            }
        }
    })
}

fn outcomes(script: &Script, limits: &Limits<'_>) -> Vec<AssertOutcome> {
    let mut outcomes = Vec::new();
    for declaration in &script.declarations {
        let DeclarationKind::Assert(assertion) = &declaration.kind else {
            continue;
        };
        let result = check_claim(script, &assertion.claim, limits);
        outcomes.push(outcome(declaration.place, assertion, result));
    }
    outcomes
}

fn check_claim(script: &Script, claim: &Claim, limits: &Limits<'_>) -> Result<CheckResult, CheckError> {
    // Each assertion has a budget and a model of its own.
    let mut model = Model::new();
    let mut evaluator = Evaluator::new(script);
    let mut evaluation = Evaluation { evaluator: &mut evaluator, model: &mut model };
    let (process, property) = match claim {
        Claim::TraceRefinement(specification, implementation) => {
            let specification = evaluation.top_process(specification)?;
            (evaluation.top_process(implementation)?, ProcessProperty::Refines { specification })
        }
        Claim::DeadlockFree(process) => (evaluation.top_process(process)?, ProcessProperty::DeadlockFree),
        Claim::DivergenceFree(process) => (evaluation.top_process(process)?, ProcessProperty::DivergenceFree),
    };
    check_with(&mut model, &mut evaluator, process, property, limits)
}

fn outcome(place: SourcePosition, assertion: &Assertion, result: Result<CheckResult, CheckError>) -> AssertOutcome {
    let mut outcome = AssertOutcome {
        place,
        assertion: assertion.clone(),
        verdict: AssertionVerdict::Holds,
        refutation: None,
        states: 0,
        transitions: 0,
    };
    match result {
        Err(CheckError::Limit(limit)) => outcome.verdict = AssertionVerdict::Unknown(limit),
        Err(error) => outcome.verdict = AssertionVerdict::Broken(error),
        Ok(report) => {
            outcome.states = report.states;
            outcome.transitions = report.transitions;
            match (assertion.negated, report.counterexample) {
                (false, None) => {}
                (false, found) => outcome.verdict = AssertionVerdict::Fails(found),
                (true, None) => outcome.verdict = AssertionVerdict::Fails(None),
                (true, found) => outcome.refutation = found,
            }
        }
    }
    outcome
}

/// The verdict in one line and, where there is one, the counterexample below it: first what the
/// environment sees, then with hidden events in brackets.
impl fmt::Display for AssertOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match &self.verdict {
            AssertionVerdict::Holds => "holds".to_owned(),
            AssertionVerdict::Fails(_) => "fails".to_owned(),
            AssertionVerdict::Unknown(limit) => format!("unknown: {limit}"),
            AssertionVerdict::Broken(error) => format!("error: {error}"),
        };
        write!(out, "{}: assert {}: {verdict}", self.place, self.assertion)?;
        let counterexample = match &self.verdict {
            AssertionVerdict::Fails(found) => found.as_ref(),
            _ => self.refutation.as_ref(),
        };
        let Some(counterexample) = counterexample else {
            return Ok(());
        };
        write!(out, "\n  {counterexample}")?;
        let shown = counterexample.visible().count();
        match shown == counterexample.steps.len() {
            true => Ok(()),
            false => write!(out, "\n  with hidden events {}", counterexample.full_trace()),
        }
    }
}
