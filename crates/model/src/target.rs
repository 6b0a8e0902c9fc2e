//! The one thing a search needs: something that runs schedules.

use raddle_vocab::policy::Policy;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;

/// One forced transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// Run-local number of the thread: its place in the order in which the schedule creates
    /// threads.
    pub thread: u16,
    /// Which successor, for a step that has several; 0 is the default.
    pub choice: u16,
}

impl Choice {
    /// The thread's next transition, with its default successor.
    #[must_use]
    pub fn of(thread: u16) -> Self {
        Choice { thread, choice: 0 }
    }
}

/// How many transitions two schedules have in common at their beginning.
#[must_use]
pub fn common_choices(one: &[Choice], other: &[Choice]) -> usize {
    // Without an early exit, the compiler compares a group at once. Schedules are long, and
    // searches compare them all the time.
    const GROUP: usize = 32;
    let differ = |(a, b): (&[Choice; GROUP], &[Choice; GROUP])| {
        let differences = a.iter().zip(b).map(|(a, b)| (a.thread ^ b.thread) | (a.choice ^ b.choice));
        differences.fold(0, |all, difference| all | difference) != 0
    };
    let groups = one.as_chunks().0.iter().zip(other.as_chunks().0);
    let same = GROUP * groups.take_while(|&pair| !differ(pair)).count();
    same + one[same..].iter().zip(&other[same..]).take_while(|(a, b)| a == b).count()
}

/// A run to make: forced transitions, then the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Transitions to make first.
    pub schedule: Vec<Choice>,
    /// How to go on.
    #[serde(with = "crate::saved::PolicyRow")]
    pub policy: Policy,
    /// Bound on events.
    pub max_events: u64,
}

/// Why a target could not run a request.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TargetError {
    /// The target ended or cannot go on.
    #[error("{0}")]
    Lost(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The time that it may take is over.
    #[error("the time is over")]
    Late,
}

/// Runs requests; results come in the order of the requests.
///
/// Several requests may be under way, so that a target in another process works while the search
/// analyses results.
pub trait Target {
    /// Hands over one more request.
    fn submit(&mut self, request: Request);

    /// Waits for the oldest request that is still under way and stores its execution in `into`.
    ///
    /// # Errors
    /// If the target is lost. Calling it with nothing under way is an error of the caller.
    fn finish(&mut self, into: &mut Execution) -> Result<(), TargetError>;

    /// Says that the other processors are in use: from now on the target shall work only while the
    /// search waits for it.
    fn take_turns(&mut self) {}

    /// What it has learnt from its runs that changes its later runs, in its own words; empty:
    /// nothing.
    fn knowledge(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether an answer comes soon after its request. If not, waiting for few answers at a time
    /// takes much time.
    fn is_near(&self) -> bool {
        true
    }

    /// How many requests it is worth to have under way.
    fn window(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_have_everything_before_the_first_difference_in_common() {
        let one: Vec<Choice> = (0..100).map(Choice::of).collect();
        for at in 0..100 {
            let mut other = one.clone();
            other[at].choice = 1;
            assert_eq!(common_choices(&one, &other), at);
            assert_eq!(common_choices(&one[..at], &one), at);
        }
        assert_eq!(common_choices(&one, &one), 100);
    }
}
