//! Bounds on a search, as wrappers around any strategy.
//!
//! A bound that is reached leaves a gap only if the strategy had more to ask for.

use std::time::{Duration, Instant};

use raddle_model::{Execution, Request};

use crate::strategy::{Gap, Strategy, Worth};
use crate::units::Work;

/// At most so many runs.
#[derive(Debug)]
pub struct MaxExecutions<S> {
    inner: S,
    limit: u64,
    left: u64,
    /// Whether something was left out.
    cut: bool,
}

impl<S: Strategy> MaxExecutions<S> {
    /// Bounds the strategy.
    pub fn new(inner: S, limit: u64) -> Self {
        MaxExecutions { inner, limit, left: limit, cut: false }
    }
}

impl<S: Strategy> Strategy for MaxExecutions<S> {
    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            self.cut = self.cut || self.inner.next().is_some();
            return None;
        }
        let request = self.inner.next()?;
        self.left -= 1;
        Some(request)
    }

    fn learn(&mut self, execution: &Execution) -> Worth {
        let worth = self.inner.learn(execution);
        self.left += u64::from(worth == Worth::Void);
        worth
    }

    fn learn_work(&mut self, work: Work) -> Worth {
        self.inner.learn_work(work)
    }

    fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    fn gap(&self) -> Option<Gap> {
        if self.cut { Some(Gap::Executions) } else { self.inner.gap() }
    }

    fn estimate(&self) -> Option<f64> {
        let limit = self.limit as f64;
        let endless = self.inner.gap() == Some(Gap::Sampling);
        self.inner.estimate().map(|guess| guess.min(limit)).or(endless.then_some(limit))
    }
}

/// No new run after a certain time.
#[derive(Debug)]
pub struct TimeLimit<S> {
    inner: S,
    until: Instant,
    cut: bool,
}

impl<S: Strategy> TimeLimit<S> {
    /// Bounds the strategy, from now on.
    pub fn new(inner: S, limit: Duration) -> Self {
        let now = Instant::now();
        // A limit beyond what the clock can express is none that anybody will see reached.
        let until = now.checked_add(limit).unwrap_or(now + Duration::from_secs(u64::from(u32::MAX)));
        TimeLimit { inner, until, cut: false }
    }
}

impl<S: Strategy> Strategy for TimeLimit<S> {
    fn next(&mut self) -> Option<Request> {
        if self.cut || Instant::now() >= self.until {
            self.cut = self.cut || self.inner.next().is_some();
            return None;
        }
        self.inner.next()
    }

    fn learn(&mut self, execution: &Execution) -> Worth {
        self.inner.learn(execution)
    }

    fn learn_work(&mut self, work: Work) -> Worth {
        self.inner.learn_work(work)
    }

    fn is_over(&self) -> bool {
        self.cut || self.inner.is_over()
    }

    fn gap(&self) -> Option<Gap> {
        if self.cut { Some(Gap::Time) } else { self.inner.gap() }
    }

    fn estimate(&self) -> Option<f64> {
        self.inner.estimate()
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

    fn learn(&mut self, execution: &Execution) -> Worth {
        self.inner.learn(execution)
    }

    fn learn_work(&mut self, work: Work) -> Worth {
        self.inner.learn_work(work)
    }

    fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    fn gap(&self) -> Option<Gap> {
        self.inner.gap()
    }

    fn estimate(&self) -> Option<f64> {
        self.inner.estimate()
    }
}
