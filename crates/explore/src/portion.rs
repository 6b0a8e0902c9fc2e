//! A search that is made in portions of so many runs, with other searches between them.

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_model::finding::Prune;

use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};

/// A strategy that stops asking after each portion.
pub struct Portions {
    inner: Box<dyn Strategy>,
    /// Runs left in the portion.
    left: u64,
    under_way: u64,
    /// Runs of the portion that the search has learnt from.
    learnt: u64,
    /// The request with which the next portion begins.
    held: Option<Request>,
}

impl Portions {
    /// A search whose first portion is empty.
    #[must_use]
    pub fn new(inner: impl Strategy + 'static) -> Self {
        Portions { inner: Box::new(inner), left: 0, under_way: 0, learnt: 0, held: None }
    }

    /// Begins the next portion.
    pub fn begin(&mut self, runs: u64) {
        (self.left, self.learnt) = (runs, 0);
    }

    /// Whether the search has more to ask for.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.held.is_some()
    }
}

impl std::fmt::Debug for Portions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Portions").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Strategy for Portions {
    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            // Whether there is more is known when nothing is under way.
            if self.under_way == 0 && self.held.is_none() {
                self.held = self.inner.next();
            }
            return None;
        }
        let request = self.held.take().or_else(|| self.inner.next())?;
        self.left -= 1;
        self.under_way += 1;
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        self.under_way = self.under_way.saturating_sub(1);
        let class = self.inner.learn(observation);
        if class == Classification::Restarted {
            // The portion is one of the new search. When the old one was given up depends on how
            // many targets shared it.
            self.left += 1 + std::mem::take(&mut self.learnt);
        } else {
            self.learnt += 1;
        }
        class
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.inner.incomplete_reason()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.inner.estimate()
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(self.left, self.under_way, self.learnt, &self.held));
        self.inner.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.left, self.under_way, self.learnt, self.held) = from.take()?;
        self.inner.restore(from)
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }

    fn states(&self) -> u64 {
        self.inner.states()
    }
}
