//! Puts the results of pieces of work together.

use std::collections::BTreeSet;

use raddle_exec::Noticed;
use raddle_explore::IncompleteReason;
use raddle_explore::optimal::WorkItem;
use raddle_model::finding::Stats;

use super::explorer::least;
use super::result::{PartResult, Telling};

/// What the results so far say. Their order makes no difference.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    pub stats: Stats,
    pub incomplete: Option<IncompleteReason>,
    /// Whether the search cannot be divided.
    pub is_handed_over: bool,
    pub has_overwritten_lock: bool,
    /// Why a piece could not be explored.
    pub lost: Option<String>,
    /// Where runtime and model disagree.
    pub disagreement: Option<String>,
    /// What runs showed that is not modelled.
    pub noticed: Noticed,
    /// Files that were mapped.
    pub loaded: BTreeSet<String>,
    telling: Telling,
}

impl Gathering {
    /// Adds a result.
    ///
    /// # Errors
    /// If it makes no sense. Nothing of it counts then.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        let part = PartResult::from_bytes(bytes)?;
        self.telling.add(&part);
        let row = part.row;
        let stats = row.stats.map(Stats::from).unwrap_or_default();
        self.stats.extend(&stats);
        self.incomplete = least(self.incomplete, row.incomplete);
        self.is_handed_over |= row.is_handed_over;
        self.has_overwritten_lock |= row.has_overwritten_lock;
        self.lost = first(self.lost.take(), row.lost);
        self.disagreement = first(self.disagreement.take(), row.disagreement);
        self.noticed.add(row.noticed);
        self.loaded.extend(row.loaded);
        Ok(())
    }

    /// The schedules that show something, the least first.
    pub fn telling(&self) -> Vec<WorkItem> {
        self.telling.schedules()
    }
}

/// Of two sentences the one that comes first in the alphabet.
fn first(a: Option<String>, b: Option<String>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::lost;

    #[test]
    fn results_add_up_in_any_order() {
        let [mut forth, mut back] = [Gathering::default(), Gathering::default()];
        for reason in ["b", "a", "c"] {
            forth.add(&lost(reason)).unwrap();
        }
        for reason in ["c", "a", "b"] {
            back.add(&lost(reason)).unwrap();
        }
        assert_eq!((forth.lost.as_deref(), back.lost.as_deref()), (Some("a"), Some("a")));
        assert!(forth.add(b"nonsense").is_err());
    }
}
