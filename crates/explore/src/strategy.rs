//! What a search strategy is.
//!
//! A strategy asks for runs and learns from them. [`crate::explore`] drives it.

use raddle_model::Estimate;
use raddle_model::finding::Prune;
use raddle_model::weak::Unmodelled;
use raddle_model::{Choice, Execution, Request};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;
use serde::{Deserialize, Serialize};

use crate::optimal::Expansion;
use crate::saved::{Loader, Saver, Unusable};
use crate::unpredictability::{Cause, unpredictability};

/// How an execution counts for the strategy that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// It is one of the search's executions (if it came to rest).
    Counted,
    /// Another execution covers it. It is a real run all the same.
    Redundant,
    /// It belongs to a search that was given up: the strategy starts again, and nothing that was
    /// counted so far counts.
    Restarted,
    /// It reached a state below which everything was explored before.
    Matched,
    /// It was made to estimate the size of the search, and counts in no figure.
    Sample,
    /// It lies outside of what is searched, and nothing may be concluded from it.
    OutOfBound,
}

/// Why a search that has nothing more to ask for is not exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IncompleteReason {
    /// The strategy only takes samples.
    Sampling,
    /// The bound on executions was reached.
    Executions,
    /// The bound on time was reached.
    Time,
    /// Some run was stopped by the bound on events.
    Events,
    /// Some run could not be followed to its end: the program broke off, hung, or waited for
    /// something that is not modelled.
    Broken,
    /// Schedules with more preemptions than the bound were left out.
    Preemptions,
    /// A run did not do what its schedule asked for.
    Diverged,
    /// More threads competed for a barrier than fit into a round.
    Crowd,
    /// Busy waiting led to so many redundant runs that the search gave up.
    BusyWaiting,
    /// Some run was stopped because a thread went round without an effect.
    Rounds,
    /// The observer ended the search.
    Stopped,
    /// The program uses something that a weak memory model is not applied to.
    MemoryModel(Unmodelled),
}

impl IncompleteReason {
    /// The fixed word for machines.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            IncompleteReason::Sampling => "sampling",
            IncompleteReason::Executions => "max-executions",
            IncompleteReason::Time => "time-limit",
            IncompleteReason::Events => "max-events",
            IncompleteReason::Broken => "broken-off",
            IncompleteReason::Preemptions => "preemptions",
            IncompleteReason::BusyWaiting => "busy-waiting",
            IncompleteReason::Diverged => "diverged",
            IncompleteReason::Crowd => "barrier-crowd",
            IncompleteReason::Rounds => "idle-rounds",
            IncompleteReason::Stopped => "stopped",
            IncompleteReason::MemoryModel(_) => "memory-model",
        }
    }
}

/// What a strategy is told of a run.
#[derive(Debug)]
pub enum Observation<'a> {
    /// The whole execution.
    Execution(&'a Execution),
    /// What an [`crate::optimal::Expander`] derived from the execution where the run was made.
    /// The execution itself stayed there.
    Expansion(Expansion),
}

impl<'a> Observation<'a> {
    /// The execution.
    ///
    /// # Panics
    /// If there is only an expansion. Runs are expanded where they are made only for
    /// [`crate::optimal::Optimal`], which takes expansions.
    #[must_use]
    pub fn execution(&self) -> &'a Execution {
        match self {
            Observation::Execution(execution) => execution,
            Observation::Expansion(_) => panic!("this strategy needs executions, not expansions"),
        }
    }

    /// What the run shows that cannot be predicted.
    #[must_use]
    pub fn unpredictability(&self) -> Option<Cause> {
        match self {
            Observation::Execution(execution) => unpredictability(execution),
            Observation::Expansion(expansion) => expansion.unpredictability,
        }
    }
}

/// Decides which runs to make. Several requests may be under way at once; the strategy is told of
/// their runs in the order of the requests.
pub trait Strategy {
    /// The next run to make. `None`: nothing to ask for before a run that is still under way comes
    /// back; if nothing is under way, the search is over.
    fn next(&mut self) -> Option<Request>;

    /// Learns from the run of the oldest request that has not been answered.
    fn learn(&mut self, observation: Observation<'_>) -> Classification;

    /// Why the search is not exhaustive, as far as is known by now.
    fn incomplete_reason(&self) -> Option<IncompleteReason>;

    /// How many runs the whole search will take, if that can be guessed.
    fn estimate(&self) -> Option<Estimate>;

    /// Writes down how far the search is, with the runs under way.
    fn save(&self, into: &mut Saver);

    /// Goes on where a search was saved. The strategy is as it was built, with the same options as
    /// that one. It is of no use after an error.
    ///
    /// # Errors
    /// If it was not a search of this kind.
    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable>;

    /// What pruning did, in strategies that prune.
    fn prune(&self) -> Prune {
        Prune::default()
    }

    /// How many states were remembered, in strategies that recognise states.
    fn states(&self) -> u64 {
        0
    }
}

/// What a pointer refers to is a strategy, and so is the pointer.
macro_rules! refers_to_strategy {
    ($pointer:ty) => {
        impl<S: Strategy + ?Sized> Strategy for $pointer {
            fn next(&mut self) -> Option<Request> {
                (**self).next()
            }

            fn learn(&mut self, observation: Observation<'_>) -> Classification {
                (**self).learn(observation)
            }

            fn incomplete_reason(&self) -> Option<IncompleteReason> {
                (**self).incomplete_reason()
            }

            fn estimate(&self) -> Option<Estimate> {
                (**self).estimate()
            }

            fn save(&self, into: &mut Saver) {
                (**self).save(into);
            }

            fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
                (**self).restore(from)
            }

            fn prune(&self) -> Prune {
                (**self).prune()
            }

            fn states(&self) -> u64 {
                (**self).states()
            }
        }
    };
}

refers_to_strategy!(Box<S>);
refers_to_strategy!(&mut S);

/// A request that follows a schedule and goes on by the policy that searches rely on.
#[must_use]
pub fn scheduled(schedule: Vec<Choice>) -> Request {
    Request { schedule, policy: Policy::LeastRank, max_events: u64::MAX }
}

/// Transitions beyond which a run that was cut off is taken for endless.
const ENDLESS: usize = 100_000;

/// Whether the run was cut off after more than `ENDLESS` transitions: expanding it would be
/// wasted work. The search is not exhaustive then anyway.
#[must_use]
pub fn is_endless(execution: &Execution) -> bool {
    incomplete_reason_of(execution.status).is_some() && execution.events.len() > ENDLESS
}

/// Why a search that wanted to see the whole run is not exhaustive after a run that ended so.
#[must_use]
pub fn incomplete_reason_of(status: RunStatus) -> Option<IncompleteReason> {
    match status {
        RunStatus::Rest | RunStatus::Assumed => None,
        RunStatus::Diverged => Some(IncompleteReason::Diverged),
        RunStatus::Cut | RunStatus::TraceFull | RunStatus::Stopped => Some(IncompleteReason::Events),
        RunStatus::Idle => Some(IncompleteReason::Rounds),
        RunStatus::NeedPool | RunStatus::NeedFresh | RunStatus::Damaged => Some(IncompleteReason::Broken),
    }
}
