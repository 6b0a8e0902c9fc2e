//! The size of a search that others make, from samples of its tree.

use raddle_model::{Estimate, Execution, Request};
use raddle_vocab::RunStatus;

use super::sweep::TreeSampler;
use super::{Expander, WorkItem};
use crate::strategy::is_endless;

/// Samples the tree of a search.
pub struct SizeSampler {
    sampler: TreeSampler,
    expander: Expander,
    children: Vec<WorkItem>,
}

impl std::fmt::Debug for SizeSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SizeSampler").finish_non_exhaustive()
    }
}

impl SizeSampler {
    /// Nothing is sampled yet. Each thread of the program may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        SizeSampler { sampler: TreeSampler::default(), expander: Expander::new(spurious), children: Vec::new() }
    }

    /// The next sample to run, if one is due after so many runs of the search. One is under way at
    /// a time.
    pub fn next(&mut self, runs: u64) -> Option<Request> {
        self.sampler.next(runs)
    }

    /// Learns from the run of the sample.
    pub fn learn(&mut self, execution: &Execution) {
        let Some(item) = self.sampler.oldest() else { return };
        if execution.status != RunStatus::Diverged && !is_endless(execution) {
            self.expander.append_children(item, execution, &mut self.children);
        }
        self.sampler.explored(self.children.drain(..));
    }

    /// How many runs the search takes, of which so many are known.
    #[must_use]
    pub fn estimate(&self, known: u64) -> Estimate {
        self.sampler.estimate().with_known(known as f64)
    }
}
