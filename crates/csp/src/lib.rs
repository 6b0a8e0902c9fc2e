#![forbid(unsafe_code)]
//! Communicating sequential processes (CSP): build processes or read them as CSPm, and check them.
//!
//! # Processes
//!
//! A [`Model`] holds events and processes. Processes are built bottom up from handles; a recursion
//! is a definition that is declared first and defined later:
//!
//! ```
//! use raddle_csp::{Limits, Model, refines};
//!
//! let mut model = Model::new();
//! let lock = model.event_on("lock", &["t1".into(), "m".into()]);
//! let unlock = model.event_on("unlock", &["t1".into(), "m".into()]);
//! let mutex = model.declare("MUTEX");
//! let free = model.call(mutex);
//! let body = model.prefixes(&[lock, unlock], free);
//! model.define(mutex, body);
//!
//! // A thread that unlocks first is no behaviour of the mutex.
//! let stop = model.stop();
//! let thread = model.prefixes(&[unlock, lock], stop);
//! let report = refines(&mut model, free, thread, &Limits::default())?;
//! let counterexample = report.counterexample.expect("not allowed");
//! assert_eq!(counterexample.trace().to_string(), "<unlock.t1.m>");
//! # Ok::<(), raddle_csp::CheckError>(())
//! ```
//!
//! [`check()`] decides trace refinement, freedom from deadlock and freedom from divergence, within
//! [`Limits`]. A counterexample is as short as any, keeps the names of hidden events, and shows
//! them on request, and which components take part in each step. [`transition_system`] gives the
//! labelled transition system of a process, which prints as a graph. For many components use
//! [`Model::alphabetised`]: a step costs the logarithm of their number, and states share what they
//! have in common.
//!
//! # Scripts
//!
//! [`cspm`] reads the part of FDR's CSPm that such models need: channels, datatypes, name types and
//! transparent functions; definitions by pattern-matching clauses, `let`, `if`, lambda; integers,
//! booleans, tuples, sequences, sets with ranges and comprehensions, `{| c |}`; prefixes with `!`,
//! `?x:S` and `$x:S`, guards, `[]`, `|~|`, `|||`, `[| A |]`, `[A || B]`, `;`, `/\`, `[>`,
//! `[| A |>`, `\`, `[[ a <- b ]]` and the replicated operators; `STOP`, `SKIP`, `DIV`, `RUN`,
//! `CHAOS`; and the assertions `[T=`, `:[deadlock free]`, `:[divergence free]`, each also with
//! `not`. Other features of FDR are refused by name.
//!
//! ```
//! use raddle_csp::{Limits, cspm};
//!
//! let outcomes = cspm::check_file(
//!     "channel a, b
//!      P = a -> b -> P
//!      assert P [T= a -> a -> STOP",
//!     &Limits::default(),
//! )?;
//! let text = outcomes[0].to_string();
//! assert!(text.starts_with("3:6: assert P [T= a -> a -> STOP: fails\n  trace <a, a>\n"));
//! assert!(text.ends_with("not allowed; the specification allows b"));
//! # Ok::<(), raddle_csp::SourceError>(())
//! ```
//!
//! [`cspm::parse`] gives the syntax tree, which prints as text that parses to the same tree;
//! [`cspm::export`] turns a [`Model`] into such a tree.

mod check;
mod core;
pub mod cspm;
mod error;
mod value;

pub use check::{
    AnnotatedDisplay, CheckResult, Counterexample, CounterexampleNotes, LabelledTransition, Limits, LtsState,
    ProcessProperty, TraceAction, TraceDisplay, TransitionSystem, Violation, Waiting, check, refines,
    transition_system,
};
pub use core::{DefId, EventId, Model, ProcId, RelationId, SetId};
pub use error::{CheckError, CheckStop, LimitReached, SourceError, SourcePosition, StopTest};
pub use value::{Name, Value};
