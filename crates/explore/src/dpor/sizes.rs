//! How large the rest of a depth-first search is, judged by what is finished of it.
//!
//! Parts of the tree at the same depth resemble each other. So what an attempt in a state of some
//! depth has led to so far is what untried attempts at that depth are expected to lead to. That
//! also holds for a search that recognises states: its attempts are cut the sooner the more states
//! are known, and the means follow.
//!
//! It misses attempts at depths at which nothing is finished yet: for these the figures of greater
//! depths are continued, once as they are, once with their growth from depth to depth. The two are
//! the ends of the range.

use raddle_model::Estimate;
use serde::{Deserialize, Serialize};

/// The share of the old figures when a new one comes in: later parts of the search tell more about
/// the rest than earlier ones.
const MEMORY: f64 = 0.98;

/// Attempts at one depth.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Level {
    /// Finished attempts, and their runs, both with older ones counting less.
    attempts: f64,
    runs: f64,
    /// Finished states, and how many attempts were made in them.
    states: f64,
    tries: f64,
}

impl Level {
    /// Runs of an attempt.
    fn size(&self) -> Option<f64> {
        (self.attempts > 0.0).then(|| self.runs / self.attempts)
    }

    /// Attempts in a state.
    fn breadth(&self) -> Option<f64> {
        (self.states > 0.0).then(|| self.tries / self.states)
    }
}

/// What is known of each depth.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SubtreeSizes {
    levels: Vec<Level>,
}

/// A state of the present path.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenState {
    pub depth: usize,
    /// Attempts that were made in it.
    pub tries: u32,
    /// Attempts that wait.
    pub untried: usize,
    /// Threads that could be tried.
    pub enabled: usize,
}

impl SubtreeSizes {
    fn level(&mut self, depth: usize) -> &mut Level {
        if depth >= self.levels.len() {
            self.levels.resize(depth + 1, Level::default());
        }
        &mut self.levels[depth]
    }

    /// An attempt in a state of this depth is finished: it took so many runs.
    pub fn attempt(&mut self, depth: usize, runs: u64) {
        let level = self.level(depth);
        level.attempts = level.attempts * MEMORY + 1.0;
        level.runs = level.runs * MEMORY + runs as f64;
    }

    /// A state of this depth is finished.
    pub fn state(&mut self, depth: usize, tries: u32) {
        let level = self.level(depth);
        level.states = level.states * MEMORY + 1.0;
        level.tries = level.tries * MEMORY + f64::from(tries);
    }

    /// The runs of the whole search after `made` runs, when these states are open. If states are
    /// recognised, an attempt leads to less the later it is made, so that sizes grow less from
    /// depth to depth than those of the first attempts.
    pub fn estimate(&self, made: u64, is_matching: bool, open: impl Iterator<Item = OpenState>) -> Estimate {
        let (mut least, mut most) = (made as f64, made as f64);
        let growth = if is_matching { self.growth().sqrt() } else { self.growth() };
        for state in open {
            let known = self.levels.get(state.depth).and_then(Level::breadth);
            let breadth = known.unwrap_or(state.enabled.saturating_sub(1) as f64);
            let waiting = state.untried as f64;
            let expected = waiting.max(breadth - f64::from(state.tries));
            let (low, high) = self.size(state.depth, growth);
            least += waiting * low;
            most += expected * high;
        }
        Estimate { least, most: Some(most.max(least)) }
    }

    /// Runs of an attempt at a depth: at least, and at most.
    fn size(&self, depth: usize, growth: f64) -> (f64, f64) {
        let known = self.levels.iter().enumerate().skip(depth).find_map(|(at, level)| Some((at, level.size()?)));
        match known {
            Some((at, size)) => (size, size * growth.powi((at - depth) as i32)),
            None => (1.0, 1.0),
        }
    }

    /// How much more runs an attempt leads to than one that is one level deeper, on average.
    fn growth(&self) -> f64 {
        let sizes: Vec<(usize, f64)> =
            self.levels.iter().enumerate().filter_map(|(at, level)| Some((at, level.size()?))).collect();
        match (sizes.first(), sizes.last()) {
            (Some(&(first, large)), Some(&(last, small))) if last > first => {
                (large / small).powf(1.0 / (last - first) as f64).max(1.0)
            }
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in which each of three states in a row has two attempts, each of which leads to all
    /// that is below.
    #[test]
    fn a_regular_tree_is_continued() {
        let mut sizes = SubtreeSizes::default();
        for _ in 0..20 {
            sizes.attempt(2, 1);
            sizes.state(2, 1);
            sizes.attempt(1, 2);
            sizes.state(1, 1);
        }
        let open = [
            OpenState { depth: 0, tries: 0, untried: 1, enabled: 2 },
            OpenState { depth: 1, tries: 1, untried: 0, enabled: 2 },
        ];
        let estimate = sizes.estimate(4, false, open.into_iter());
        assert_eq!(estimate.least, 6.0, "the attempt at depth 0 is at least as large as one at depth 1");
        assert!((estimate.most.unwrap() - 8.0).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn nothing_open_is_the_end() {
        let estimate = SubtreeSizes::default().estimate(7, true, std::iter::empty());
        assert_eq!(estimate, Estimate { least: 7.0, most: Some(7.0) });
    }
}
