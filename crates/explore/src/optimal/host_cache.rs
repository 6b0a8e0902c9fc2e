//! States beside an execution from which it is known whether the policy continues as the execution
//! does.
//!
//! The answer is a function of the state, and a state is how far each thread is. Long runs of one
//! thread are raced at each of their positions, and the answer for a position is found on the way
//! that the answer for the position before took: without this cache each would walk the whole rest.

use rustc_hash::FxHashMap;

/// Events of one walk from which on states are looked up and kept. Short walks cost less than that.
const LOOK_AFTER: u32 = 32;

/// Every state of which `made` is a multiple of this is looked up and kept.
const STRIDE: u32 = 16;

/// States that are kept at most.
const CAPACITY: usize = 1 << 16;

/// What is known of one execution.
#[derive(Debug, Default)]
pub(super) struct HostCache {
    known: FxHashMap<Box<[u32]>, bool>,
    /// States of the walk under way.
    walked: Vec<Box<[u32]>>,
    made: u32,
}

impl HostCache {
    /// Goes on to another execution.
    pub fn reset(&mut self) {
        self.known.clear();
        self.walked.clear();
        self.made = 0;
    }

    /// The walk under way comes to a state: how far each thread is, and how many events that is in
    /// all. Returns the answer if it is known.
    pub fn visit(&mut self, next: &[u32], made: u32) -> Option<bool> {
        self.made += 1;
        if self.made < LOOK_AFTER || !made.is_multiple_of(STRIDE) {
            return None;
        }
        let known = self.known.get(next).copied();
        if known.is_none() && self.known.len() + self.walked.len() < CAPACITY {
            self.walked.push(next.into());
        }
        known
    }

    /// The walk under way ends with this answer.
    pub fn decide(&mut self, answer: bool) {
        self.made = 0;
        for state in self.walked.drain(..) {
            self.known.insert(state, answer);
        }
    }
}
