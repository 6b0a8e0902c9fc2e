//! A run with all that its formats need.

use std::collections::BTreeMap;

use raddle_model::finding::{Finding, Report};

use crate::story::Story;

/// What one `check` or `predict` came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// Verdict, figures and findings.
    pub report: Report,
    /// The stories of the findings, by id. A finding may have none.
    pub stories: BTreeMap<String, Story>,
}

impl Run {
    /// Findings with their stories, in the order of the report.
    pub fn findings(&self) -> impl Iterator<Item = (&Finding, Option<&Story>)> {
        self.report.findings.iter().map(|finding| (finding, self.stories.get(&finding.id)))
    }
}
