//! Bounds on a search, as wrappers around any strategy.
//!
//! A bound that is reached leaves a gap only if the strategy had more to ask for.

use std::time::{Duration, Instant};

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_model::finding::Prune;

use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};

/// At most so many executions.
///
/// Runs that turn out to be redundant do not count, and more are asked for in their place.
#[derive(Debug)]
pub struct MaxExecutions<S> {
    inner: S,
    limit: u64,
    counts_all: bool,
    counted: u64,
    under_way: u64,
    /// Whether something was left out.
    cut: bool,
}

impl<S: Strategy> MaxExecutions<S> {
    /// Bounds the strategy.
    pub fn new(inner: S, limit: u64) -> Self {
        MaxExecutions { inner, limit, counts_all: false, counted: 0, under_way: 0, cut: false }
    }

    /// Bounds the strategy by the number of all runs, redundant ones included.
    pub fn of_runs(inner: S, limit: u64) -> Self {
        MaxExecutions { counts_all: true, ..MaxExecutions::new(inner, limit) }
    }

    /// The strategy without the bound.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn count(&mut self, class: Classification) -> Classification {
        self.under_way = self.under_way.saturating_sub(1);
        match class {
            Classification::Restarted if !self.counts_all => self.counted = 0,
            Classification::Counted | Classification::Matched => self.counted += 1,
            Classification::Sample => {}
            _ => self.counted += u64::from(self.counts_all),
        }
        class
    }
}

impl<S: Strategy> Strategy for MaxExecutions<S> {
    fn next(&mut self) -> Option<Request> {
        if self.counted >= self.limit {
            self.cut = self.cut || self.inner.next().is_some();
            return None;
        }
        if self.counted + self.under_way >= self.limit {
            return None;
        }
        let request = self.inner.next()?;
        self.under_way += 1;
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let class = self.inner.learn(observation);
        self.count(class)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        if self.cut { Some(IncompleteReason::Executions) } else { self.inner.incomplete_reason() }
    }

    fn estimate(&self) -> Option<Estimate> {
        if self.cut {
            return self.inner.estimate();
        }
        let limit = self.limit as f64;
        let is_endless = self.inner.incomplete_reason() == Some(IncompleteReason::Sampling);
        let endless = is_endless.then_some(Estimate { least: limit, most: Some(limit) });
        self.inner.estimate().map(|guess| guess.within(limit)).or(endless)
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(self.counted, self.under_way, self.cut));
        self.inner.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.counted, self.under_way, self.cut) = from.take()?;
        self.inner.restore(from)
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }

    fn states(&self) -> u64 {
        self.inner.states()
    }
}

/// Nothing is asked for or waited for after a certain time.
#[derive(Debug)]
pub struct TimeLimit<S> {
    inner: S,
    /// `None`: there is no limit.
    until: Option<Instant>,
    under_way: u64,
    cut: bool,
    /// The request that came too late, if one was asked for to see whether there is more.
    held: Option<Request>,
}

impl<S: Strategy> TimeLimit<S> {
    /// Bounds the strategy, from now on; without a limit, not at all.
    pub fn new(inner: S, limit: Option<Duration>) -> Self {
        // A limit that the clock cannot express is never reached.
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        TimeLimit { inner, until, under_way: 0, cut: false, held: None }
    }
}

impl<S: Strategy> Strategy for TimeLimit<S> {
    fn next(&mut self) -> Option<Request> {
        if self.cut || self.until.is_some_and(|until| Instant::now() >= until) {
            if !self.cut && self.under_way == 0 && self.held.is_none() {
                self.held = self.inner.next();
            }
            self.cut = self.cut || self.under_way > 0 || self.held.is_some();
            return None;
        }
        let request = self.held.take().or_else(|| self.inner.next())?;
        self.under_way += 1;
        Some(request)
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        self.under_way = self.under_way.saturating_sub(1);
        self.inner.learn(observation)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        if self.cut { Some(IncompleteReason::Time) } else { self.inner.incomplete_reason() }
    }

    fn estimate(&self) -> Option<Estimate> {
        self.inner.estimate()
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(self.under_way, &self.held));
        self.inner.save(into);
    }

    /// The time that is left is that of the strategy as it was built.
    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.under_way, self.held) = from.take()?;
        self.inner.restore(from)
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }

    fn states(&self) -> u64 {
        self.inner.states()
    }
}

/// At most so many events in a run. What a run that was cut leaves out, the strategy itself says.
#[derive(Debug)]
pub struct MaxEvents<S> {
    inner: S,
    limit: u64,
}

impl<S: Strategy> MaxEvents<S> {
    /// Bounds the strategy.
    pub fn new(inner: S, limit: u64) -> Self {
        MaxEvents { inner, limit }
    }
}

impl<S: Strategy> Strategy for MaxEvents<S> {
    fn next(&mut self) -> Option<Request> {
        let request = self.inner.next()?;
        Some(Request { max_events: request.max_events.min(self.limit), ..request })
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        self.inner.learn(observation)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.inner.incomplete_reason()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.inner.estimate()
    }

    fn save(&self, into: &mut Saver) {
        self.inner.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        self.inner.restore(from)
    }

    fn prune(&self) -> Prune {
        self.inner.prune()
    }

    fn states(&self) -> u64 {
        self.inner.states()
    }
}
