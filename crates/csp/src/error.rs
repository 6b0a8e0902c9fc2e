//! Errors, by cause: a mistake in the script, or a limit that was reached.

use std::fmt;

use thiserror::Error;

/// A position in a script: line and column, both counted from 1, in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SourcePosition {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// An error in a script, with its position.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: {message}")]
pub struct SourceError {
    /// The position.
    pub place: SourcePosition,
    /// The error message.
    pub message: String,
}

impl SourceError {
    /// An error at `place`.
    pub fn new(place: SourcePosition, message: impl Into<String>) -> SourceError {
        SourceError { place, message: message.into() }
    }
}

/// A limit that was reached. The model may be right; nothing is known about the property.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LimitReached {
    /// More states than the budget allows.
    #[error(
        "the budget of {budget} states is used up ({explored} explored); \
         the state space is larger or unbounded"
    )]
    States {
        /// The budget.
        budget: usize,
        /// How many states were fully explored.
        explored: usize,
    },
    /// The states themselves grow: fewer of them than the budget allows, but too large together.
    #[error(
        "the memory budget of {budget} cells is used up after {explored} states; \
         states that keep growing mean an unbounded state space"
    )]
    Cells {
        /// The budget.
        budget: usize,
        /// How many states were fully explored.
        explored: usize,
    },
    /// A single process term is nested too deeply.
    #[error(
        "a process grew more than {limit} operators deep; \
         a recursion inside an operator makes the state space unbounded"
    )]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// An expression took too many evaluation steps or nested too many calls.
    #[error("{place}: the evaluation of an expression exceeds {limit} {unit}")]
    Evaluation {
        /// Where the evaluation was.
        place: SourcePosition,
        /// The limit.
        limit: u64,
        /// What was counted.
        unit: &'static str,
    },
    /// The caller asked to stop.
    #[error("{cause} after {explored} states")]
    Stopped {
        /// Why.
        cause: CheckStop,
        /// How many states were fully explored.
        explored: usize,
    },
}

/// Why a caller asks a check to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckStop {
    /// Its time is over.
    Time,
    /// It uses more memory than it may.
    Memory,
    /// The user wants no answer any more.
    Interrupt,
}

impl fmt::Display for CheckStop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            CheckStop::Time => "the time limit was reached",
            CheckStop::Memory => "the memory limit was reached",
            CheckStop::Interrupt => "interrupted",
        })
    }
}

/// Asked often and from deep inside: it must be cheap.
pub type StopTest<'a> = &'a (dyn Fn() -> Option<CheckStop> + Sync + 'a);

/// The error if `test` wants to stop.
pub(crate) fn stop_if(test: Option<StopTest<'_>>, explored: usize) -> Result<(), LimitReached> {
    match test.and_then(|test| test()) {
        Some(cause) => Err(LimitReached::Stopped { cause, explored }),
        None => Ok(()),
    }
}

/// Why a check has no verdict.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CheckError {
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The script has an error that only the check reached.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A process calls a definition that was declared but never defined.
    #[error("{0} is called but not defined")]
    Undefined(String),
    /// A recursion without an event before the recursive call has no first step.
    #[error("{0} recurses without an event before the recursive call")]
    Unguarded(String),
}
