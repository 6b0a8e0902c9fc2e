//! A report with everything that its formats need.

use std::collections::BTreeMap;

use raddle_model::finding::{Finding, Report};

use crate::annotated::AnnotatedTrace;
use crate::groups::{FindingGroup, by_cause};

/// The result of one `check` or `predict`.
#[derive(Clone, Debug)]
pub struct ReportBundle {
    /// Verdict, figures and findings.
    pub report: Report,
    /// The traces of the findings, by id. A finding may have no trace.
    pub traces: BTreeMap<String, AnnotatedTrace>,
}

impl ReportBundle {
    /// Findings with their traces, in the order of the report.
    pub fn findings(&self) -> impl Iterator<Item = (&Finding, Option<&AnnotatedTrace>)> {
        self.report.findings.iter().map(|finding| (finding, self.traces.get(&finding.id)))
    }

    /// Headlines with what follows from them, and the traces of the headlines.
    pub fn groups(&self) -> impl Iterator<Item = (FindingGroup<'_>, Option<&AnnotatedTrace>)> {
        by_cause(&self.report.findings).into_iter().map(|group| {
            let trace = self.traces.get(&group.headline.id);
            (group, trace)
        })
    }
}
