//! A search that is made in portions of so many runs, with other searches between them.

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_model::finding::Prune;

use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};
use crate::unpredictability::Cause;

/// A strategy that stops asking after each portion.
pub struct Portions {
    inner: Box<dyn Strategy>,
    /// Runs left in the portion.
    left: u64,
    under_way: u64,
    /// The request with which the next portion begins.
    held: Option<Request>,
    ends_at_spin_loop: bool,
    is_given_up: bool,
}

impl Portions {
    /// A search whose first portion is empty.
    #[must_use]
    pub fn new(inner: impl Strategy + 'static) -> Self {
        let inner = Box::new(inner);
        Portions { inner, left: 0, under_way: 0, held: None, ends_at_spin_loop: false, is_given_up: false }
    }

    /// Gives the search up when a spin loop is discovered: then runs look different from those that
    /// it was told of.
    #[must_use]
    pub fn until_spin_loop(self) -> Self {
        Portions { ends_at_spin_loop: true, ..self }
    }

    /// Begins the next portion.
    pub fn begin(&mut self, runs: u64) {
        self.left = runs;
    }

    /// Whether the search has more to ask for.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.held.is_some() && !self.is_given_up
    }

    /// Whether the search was given up.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }
}

impl std::fmt::Debug for Portions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Portions")
            .field("left", &self.left)
            .field("is_given_up", &self.is_given_up)
            .finish_non_exhaustive()
    }
}

impl Strategy for Portions {
    fn next(&mut self) -> Option<Request> {
        if self.is_given_up {
            return None;
        }
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
        self.under_way -= 1;
        self.is_given_up |=
            self.ends_at_spin_loop && matches!(observation.unpredictability(), Some(Cause::SpinLoop { .. }));
        if self.is_given_up { Classification::Restarted } else { self.inner.learn(observation) }
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.inner.incomplete_reason()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.inner.estimate()
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }

    fn states(&self) -> u64 {
        self.inner.states()
    }
}
