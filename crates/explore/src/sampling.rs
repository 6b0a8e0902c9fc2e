//! Samples of the schedules: never complete, but cheap, and good at finding what many threads hide.
//!
//! * [`Sampling::random`]: every thread that can step is as likely as any other, at every step.
//! * [`Sampling::pct`]: probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010). A
//!   defect that takes `depth` ordering constraints is met with probability at least 1 / (n
//!   k^(depth-1)) per run, for n threads and k steps. Deviation: k is not known beforehand; it is
//!   the longest of the runs that are known.
//! * [`Sampling::pos`]: partial order sampling (Yuan, Yang and Gu, CAV 2018): random priorities of
//!   operations instead of threads. Operations that conflict with a step get new priorities.
//!
//! What is known of the program's runs, their steps and events, is taken up before runs 1, 2, 4, 8
//! and so on, once all runs before are there. So samples do not depend on how many runs are under
//! way at once.

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_vocab::policy::{Policy, mix};
use serde::{Deserialize, Serialize};

use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy, incomplete_reason_of};

/// Steps that PCT expects before it has seen a run.
const FIRST_HORIZON: u32 = 64;

/// Events of one run, at most, where nothing is known of the program. A sample learns more from
/// many runs than from a long one, and a run that does not come to rest is most often a loop that
/// no choice of threads ends.
const MAX_EVENTS: u64 = 100_000;
/// A sample may have so many times as many events as the longest run that came to rest.
const LENIENCE: u64 = 4;
/// As long as no run has come to rest, longer ones are tried, up to so many events.
const MOST_EVENTS: u64 = MAX_EVENTS * LENIENCE * LENIENCE;
/// Runs after which no longer ones are tried.
const GROWING: u64 = 4;

/// Which sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampler {
    Random,
    Pct { depth: u32 },
    Pos,
}

/// An endless search; a bound ends it.
#[derive(Clone, Debug)]
pub struct Sampling {
    sampler: Sampler,
    seed: u64,
    drawn: u64,
    learned: u64,
    horizon: u32,
    max_events: u64,
    known: KnownRuns,
}

/// The runs that have come back.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct KnownRuns {
    /// Steps of the longest.
    steps: u32,
    /// Events of the longest that came to rest.
    events: Option<u64>,
}

impl KnownRuns {
    /// Events of a sample, at most, if so many were allowed before.
    fn max_events(self, before: u64) -> u64 {
        match self.events {
            Some(events) => events.saturating_mul(LENIENCE).max(MAX_EVENTS),
            None if before < MOST_EVENTS => before.saturating_mul(LENIENCE),
            None => MAX_EVENTS,
        }
    }
}

impl Sampling {
    fn new(sampler: Sampler, seed: u64) -> Self {
        let (horizon, max_events, known) = (FIRST_HORIZON, MAX_EVENTS, KnownRuns::default());
        Sampling { sampler, seed, drawn: 0, learned: 0, horizon, max_events, known }
    }

    /// Takes up what is known of the runs so far. False if some of them are still under way.
    fn take_stock(&mut self) -> bool {
        if !self.drawn.is_power_of_two() {
            return true;
        }
        if self.learned == self.drawn {
            self.horizon = self.known.steps.max(1);
            // Longer ones were tried before, and no run came to rest: that will not change.
            if self.known.events.is_some() || self.drawn <= GROWING {
                self.max_events = self.known.max_events(self.max_events);
            }
        }
        self.learned == self.drawn
    }

    /// Uniformly random steps.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        Sampling::new(Sampler::Random, seed)
    }

    /// Random priorities of threads, with `depth - 1` changes.
    #[must_use]
    pub fn pct(seed: u64, depth: u32) -> Self {
        Sampling::new(Sampler::Pct { depth }, seed)
    }

    /// Random priorities of operations.
    #[must_use]
    pub fn pos(seed: u64) -> Self {
        Sampling::new(Sampler::Pos, seed)
    }
}

impl Strategy for Sampling {
    fn next(&mut self) -> Option<Request> {
        if !self.take_stock() {
            return None;
        }
        self.drawn += 1;
        let seed = mix(mix(self.seed).wrapping_add(self.drawn));
        let policy = match self.sampler {
            Sampler::Random => Policy::Random { seed },
            Sampler::Pct { depth } => Policy::Pct { seed, depth, horizon: self.horizon },
            Sampler::Pos => Policy::Pos { seed },
        };
        Some(Request { schedule: Vec::new(), policy, max_events: self.max_events })
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        self.learned += 1;
        let steps = u32::try_from(execution.events.len()).unwrap_or(u32::MAX);
        self.known.steps = self.known.steps.max(steps);
        if incomplete_reason_of(execution.status).is_none() {
            self.known.events = self.known.events.max(Some(execution.recorded));
        }
        Classification::Counted
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        Some(IncompleteReason::Sampling)
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }

    fn save(&self, into: &mut Saver) {
        into.put(&(self.drawn, self.learned, self.horizon, self.max_events, self.known));
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        (self.drawn, self.learned, self.horizon, self.max_events, self.known) = from.take()?;
        Ok(())
    }
}
