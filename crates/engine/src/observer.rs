//! What a check or a prediction tells while it runs.

use raddle_model::Estimate;
use raddle_model::finding::{Finding, Stats};
use raddle_report::annotated::AnnotatedTrace;

use crate::unseen::UnseenCode;

/// Sees a check or a prediction while it runs. Every method may be left out.
pub trait Observer {
    /// A finding was confirmed and its witness written. A check with suppressions may start again;
    /// then it reports its findings again, from the first one.
    fn finding(&mut self, _finding: &Finding, _trace: &AnnotatedTrace) {}

    /// What is known of the causes of all findings so far has changed: `group` and `cause` say what
    /// follows from what. `is_settled`: all findings of the execution are there.
    fn grouped(&mut self, _findings: &[Finding], _is_settled: bool) {}

    /// The program was started; this tells which code of its process cannot be seen.
    fn started(&mut self, _code: &UnseenCode) {}

    /// The report is there. Returns whether it is wanted: if not, nothing more is written.
    fn concluded(&mut self) -> bool {
        true
    }

    /// One more execution was made.
    fn progress(&mut self, _progress: &Progress<'_>) {}

    /// The host examined an execution with so many events.
    fn examined(&mut self, _events: usize) {}

    /// Something that the user should know, as a sentence.
    fn note(&mut self, _text: &str) {}
}

/// For callers that only want the report.
impl Observer for () {}

/// How far a check is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Figures of the search so far.
    pub stats: &'a Stats,
    /// Figures of the searches before it, in the same check, and of its own ones before it began
    /// again.
    pub earlier: &'a Stats,
    /// Findings so far.
    pub findings: usize,
    /// Estimate of all executions that the search will make, if the strategy has one.
    pub estimate: Option<Estimate>,
    /// Who works on it, if other processes do.
    pub crew: Option<Crew>,
}

/// Other processes that work on a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crew {
    /// How many were heard of lately.
    pub workers: u64,
    /// Pieces of work that are done.
    pub done: u64,
    /// Pieces of work that are known and not done.
    pub open: u64,
}
