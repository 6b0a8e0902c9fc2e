//! States below which everything was explored.

use std::collections::VecDeque;
use std::rc::Rc;

use raddle_model::{Choice, StateKey};
use rustc_hash::FxHashMap;

use super::summary::StateSummary;

/// What sleeps in a state, sorted.
pub(crate) type SleepKey = Vec<Choice>;

/// One way in which a state was explored.
#[derive(Debug)]
pub(super) struct Explored {
    pub sleep: SleepKey,
    pub summary: Rc<StateSummary>,
    pub weight: usize,
}

/// The states; the oldest are forgotten when there are too many.
#[derive(Debug)]
pub(crate) struct StateCache {
    pub(super) states: FxHashMap<StateKey, Vec<Explored>>,
    /// In the order in which they were stored.
    pub(super) order: VecDeque<StateKey>,
    pub(super) weight: usize,
    pub(super) limit: usize,
    pub(super) stored: u64,
}

impl StateCache {
    pub fn new(limit: usize) -> Self {
        StateCache { states: FxHashMap::default(), order: VecDeque::new(), weight: 0, limit, stored: 0 }
    }

    /// How many states were stored.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    pub fn clear(&mut self) {
        self.states.clear();
        self.order.clear();
        self.weight = 0;
    }

    /// What lies below the state, if it was explored with nothing asleep that is awake now.
    pub fn find(&self, key: StateKey, sleep: &SleepKey) -> Option<Rc<StateSummary>> {
        let known = self.states.get(&key)?;
        let fits = |explored: &&Explored| explored.sleep.iter().all(|choice| sleep.binary_search(choice).is_ok());
        known.iter().find(fits).map(|explored| Rc::clone(&explored.summary))
    }

    pub fn store(&mut self, key: StateKey, sleep: SleepKey, summary: StateSummary) {
        let weight = summary.weight() + 24 * sleep.len();
        let all = self.states.entry(key).or_default();
        if all.is_empty() {
            self.order.push_back(key);
            self.stored += 1;
        }
        all.push(Explored { sleep, summary: Rc::new(summary), weight });
        self.weight = self.weight.saturating_add(weight);
        while self.weight > self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.states.remove(&oldest).unwrap_or_default();
            let weight = gone.iter().map(|explored| explored.weight).fold(0, usize::saturating_add);
            self.weight = self.weight.saturating_sub(weight);
        }
    }
}
