//! Samples of the schedules: never complete, but cheap, and good at finding what many threads hide.
//!
//! * [`Sampling::random`]: every thread that can step is as likely as any other, at every step.
//! * [`Sampling::pct`]: probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010). A
//!   defect that takes `depth` ordering constraints is met with probability at least 1 / (n
//!   k^(depth-1)) per run, for n threads and k steps. Deviation: k is not known beforehand; it is
//!   the longest run so far.
//! * [`Sampling::pos`]: partial order sampling (Yuan, Yang and Gu, CAV 2018): random priorities of
//!   operations instead of threads. Operations that conflict with a step get new priorities.

use raddle_model::Estimate;
use raddle_model::Request;
use raddle_vocab::policy::{Policy, mix};

use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};

/// Steps that PCT expects before it has seen a run.
const FIRST_HORIZON: u32 = 64;

/// Events of one run, at most. A sample learns more from many runs than from a long one, and a run
/// that does not come to rest is most often a loop that no choice of threads ends.
const MAX_EVENTS: u64 = 100_000;

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
    horizon: u32,
}

impl Sampling {
    fn new(sampler: Sampler, seed: u64) -> Self {
        Sampling { sampler, seed, drawn: 0, horizon: FIRST_HORIZON }
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
        self.drawn += 1;
        let seed = mix(mix(self.seed).wrapping_add(self.drawn));
        let policy = match self.sampler {
            Sampler::Random => Policy::Random { seed },
            Sampler::Pct { depth } => Policy::Pct { seed, depth, horizon: self.horizon },
            Sampler::Pos => Policy::Pos { seed },
        };
        Some(Request { schedule: Vec::new(), policy, max_events: MAX_EVENTS })
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        let execution = observation.execution();
        let steps = u32::try_from(execution.events.len()).unwrap_or(u32::MAX);
        // The first run replaces the guess.
        self.horizon = if self.horizon == FIRST_HORIZON { steps.max(1) } else { self.horizon.max(steps) };
        Classification::Counted
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        Some(IncompleteReason::Sampling)
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }
}
