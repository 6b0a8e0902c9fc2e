//! What a search strategy is.

use raddle_model::finding::Prune;
use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;

use crate::units::Expansion;

/// What an execution was worth to the strategy that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// It counts as one of the search's executions (if it came to rest).
    Counted,
    /// It could have been left out: another one covers it. It is a real run all the same.
    Redundant,
    /// It showed that the search has to start anew: nothing that was counted so far counts, and neither does it.
    Restarted,
    /// It lies outside of what is searched, and nothing shall be concluded from it.
    OutOfBound,
}

/// Why a search that has nothing more to ask for is not exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IncompleteReason {
    /// The strategy only takes samples.
    Sampling,
    /// The bound on executions was reached.
    Executions,
    /// The bound on time was reached.
    Time,
    /// Some run was stopped by the bound on events.
    Events,
    /// Some run could not be followed to its end: the program broke off, hung, or waited for something that is not modelled.
    Broken,
    /// Schedules with more preemptions than the bound were left out.
    Preemptions,
    /// A run did not do what its schedule asked for.
    Diverged,
    /// More threads competed for a barrier than fit into a round.
    Crowd,
    /// Busy waiting led to so many runs that went nowhere that the search gave up.
    BusyWaiting,
    /// Something seen on the way ended the search.
    Stopped,
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
            IncompleteReason::Stopped => "stopped",
        }
    }
}

/// Decides which runs to make. Several requests may be under way at once; their executions come back in the order of the
/// requests.
pub trait Strategy {
    /// The next run to make. `None`: nothing to ask for before an execution that is still under way comes back; if
    /// nothing is under way, the search is over.
    fn next(&mut self) -> Option<Request>;

    /// Takes the execution of the oldest request that has not been answered.
    fn learn(&mut self, execution: &Execution) -> Classification;

    /// As [`Strategy::learn`], when the work on the execution was done elsewhere: see [`crate::units::Worker`]. Only for strategies that
    /// say so themselves.
    fn learn_work(&mut self, work: Expansion) -> Classification {
        let _ = work;
        Classification::Redundant
    }

    /// Whether the search is over, so that what is under way need not be waited for.
    fn is_over(&self) -> bool {
        false
    }

    /// Why the search is not exhaustive, as far as is known by now.
    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        None
    }

    /// How many runs the whole search will take, if that can be guessed.
    fn estimate(&self) -> Option<f64> {
        None
    }

    /// What pruning did.
    fn prune(&self) -> Prune {
        Prune::default()
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn next(&mut self) -> Option<Request> {
        (**self).next()
    }

    fn learn(&mut self, execution: &Execution) -> Classification {
        (**self).learn(execution)
    }

    fn learn_work(&mut self, work: Expansion) -> Classification {
        (**self).learn_work(work)
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        (**self).incomplete_reason()
    }

    fn estimate(&self) -> Option<f64> {
        (**self).estimate()
    }

    fn prune(&self) -> Prune {
        (**self).prune()
    }
}

/// A request that follows a schedule and goes on by the policy that searches rely on.
#[must_use]
pub fn scheduled(schedule: Vec<raddle_model::Choice>) -> Request {
    Request { schedule, policy: Policy::LeastRank, max_events: u64::MAX }
}

/// Transitions of a run that was stopped beyond which it is taken for one that would go on for ever.
const ENDLESS: usize = 100_000;

/// Whether looking for other orders of the run would take as long as the run is useless: it was stopped, and is long. The search is
/// not exhaustive then anyway.
#[must_use]
pub fn is_endless(execution: &Execution) -> bool {
    incomplete_reason_of(execution.status).is_some() && execution.events.len() > ENDLESS
}

/// The gap that the way in which a run ended leaves in a search that wanted to see it whole.
#[must_use]
pub fn incomplete_reason_of(status: RunStatus) -> Option<IncompleteReason> {
    match status {
        RunStatus::Rest | RunStatus::Assumed => None,
        RunStatus::Diverged => Some(IncompleteReason::Diverged),
        RunStatus::Cut | RunStatus::TraceFull => Some(IncompleteReason::Events),
        RunStatus::NeedPool | RunStatus::NeedFresh | RunStatus::Damaged => Some(IncompleteReason::Broken),
    }
}
