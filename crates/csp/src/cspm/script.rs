//! The assertions of a script.

use std::fmt;

use super::ast::{Assertion, Claim, Declaration, DeclarationKind, Expression, Script};
use super::eval::{Builtin, Evaluation, Evaluator};
use super::parser::{parse, parse_expression};
use super::scope;
use crate::check::{
    CheckResult, Counterexample, Limits, ProcessProperty, TransitionSystem, check_with, transition_system_with,
};
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
    let mut outcomes = Vec::new();
    check_each(source, limits, |outcome| outcomes.push(outcome))?;
    Ok(outcomes)
}

/// The same, with a call as soon as an assertion has its verdict.
pub fn check_each(
    source: &str,
    limits: &Limits<'_>,
    mut met: impl FnMut(AssertOutcome) + Send,
) -> Result<(), SourceError> {
    let script = parse(source)?;
    scope::check(&script, &|name| Builtin::find(name).is_some())?;
    on_deep_stack(|| {
        for declaration in &script.declarations {
            if let DeclarationKind::Assert(assertion) = &declaration.kind {
                let result = check_claim(&script, &assertion.claim, limits);
                met(outcome(declaration.place, assertion, result));
            }
        }
    })
}

/// The labelled transition system of a process of a script: that of the expression `process`, or
/// else the one that the first assertion is about.
pub fn draw(source: &str, process: Option<&str>, limits: &Limits<'_>) -> Result<TransitionSystem, CheckError> {
    let mut script = parse(source)?;
    scope::check(&script, &|name| Builtin::find(name).is_some())?;
    let expression = match process {
        Some(text) => given(&mut script, text)?,
        None => asserted(&script).ok_or_else(|| no_process(&script))?,
    };
    let script = &script;
    on_deep_stack(|| {
        let mut model = Model::new();
        let mut evaluator = Evaluator::new(script, limits.stop);
        let mut evaluation = Evaluation { evaluator: &mut evaluator, model: &mut model };
        let process = evaluation.top_process(&expression)?;
        transition_system_with(&mut model, &mut evaluator, process, &expression.to_string(), limits)
    })?
}

/// An expression that does not stand in the script. It has to mean something there.
fn given(script: &mut Script, text: &str) -> Result<Expression, CheckError> {
    let told = |error: SourceError| {
        CheckError::Source(SourceError::new(error.place, format!("in the process `{text}`: {}", error.message)))
    };
    let expression = parse_expression(text).map_err(told)?;
    let place = expression.place;
    let assertion = Assertion { negated: false, claim: Claim::DeadlockFree(expression.clone()) };
    script.declarations.push(Declaration { kind: DeclarationKind::Assert(assertion), place });
    scope::check(script, &|name| Builtin::find(name).is_some()).map_err(told)?;
    Ok(expression)
}

fn asserted(script: &Script) -> Option<Expression> {
    script.declarations.iter().find_map(|declaration| match &declaration.kind {
        DeclarationKind::Assert(assertion) => Some(match &assertion.claim {
            Claim::TraceRefinement(_, process) | Claim::DeadlockFree(process) | Claim::DivergenceFree(process) => {
                process.clone()
            }
        }),
        _ => None,
    })
}

fn no_process(script: &Script) -> CheckError {
    let mut names: Vec<&str> = Vec::new();
    for declaration in &script.declarations {
        if let DeclarationKind::Definition(definition) = &declaration.kind
            && !names.contains(&&*definition.name)
        {
            names.push(&definition.name);
        }
    }
    let message = format!("there is no assertion that names a process; defined are {}", names.join(", "));
    SourceError::new(SourcePosition { line: 1, column: 1 }, message).into()
}

/// The depth of an evaluation depends on the script, so it runs on a stack of known size.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, SourceError> {
    std::thread::scope(|threads| {
        let started = std::thread::Builder::new().stack_size(STACK).spawn_scoped(threads, work);
        match started.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                Err(SourceError::new(SourcePosition::default(), format!("no thread for the evaluation: {error}")))
            }
        }
    })
}

fn check_claim(script: &Script, claim: &Claim, limits: &Limits<'_>) -> Result<CheckResult, CheckError> {
    // Each assertion has a budget and a model of its own.
    let mut model = Model::new();
    let mut evaluator = Evaluator::new(script, limits.stop);
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
/// environment sees, then each step with who takes part in it, hidden events in brackets.
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
        write!(out, "\n  {}", counterexample.annotated())
    }
}
