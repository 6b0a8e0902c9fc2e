//! The optimal search as a frontier of units that others explore.
//!
//! As [`crate::optimal::Optimal`], unit by unit and in the same order, but what needs only the unit and its execution ([`Worker`]) can
//! be done elsewhere.
//!
//! What cannot be foreseen (busy waiting, above all, see [`crate::optimal_with_dpor_fallback`]) is not followed: the first sign of it ends the search with
//! [`IncompleteReason::BusyWaiting`], and the caller starts another one.

use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;

use crate::frontier::Frontier;
use crate::optimal::{Expander, WorkItem};
use crate::restart::loops_of;
use crate::strategy::{Classification, IncompleteReason, Strategy, incomplete_reason_of, is_endless};

/// What is to be known of a unit's execution.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// Its children.
    pub units: Vec<WorkItem>,
    /// How it ended.
    pub status: RunStatus,
    /// Whether it shows busy waiting, or something else that cannot be foreseen.
    pub waits: bool,
}

/// Does the work.
#[derive(Debug)]
pub struct Worker {
    expander: Expander,
}

impl Worker {
    /// For programs in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Worker { expander: Expander::new(spurious) }
    }

    /// The work on the execution of a unit.
    pub fn work(&mut self, unit: &WorkItem, execution: &Execution) -> Expansion {
        let (status, waits) = (execution.status, loops_of(execution) > 0);
        let mut units = Vec::new();
        if !waits && !is_endless(execution) {
            self.expander.expand(unit, execution, &mut units);
        }
        Expansion { units, status, waits }
    }
}

/// Whether some thread waited, or waits, in a loop that only reads.
pub(crate) fn waits_busily(execution: &Execution) -> bool {
    use raddle_model::PendingState::Awaiting;
    use raddle_model::depend::AWAITED;
    execution.awaits > 0
        || execution.status == RunStatus::Diverged
        || execution.pending.iter().any(|pending| pending.state == Awaiting)
        || execution.events.iter().any(|step| step.kind == raddle_vocab::OpKind::AtomicLoad && step.arg == AWAITED)
}

/// The frontier.
#[derive(Debug)]
pub struct Units {
    frontier: Frontier,
    worker: Worker,
    explored: u64,
    incomplete: Option<IncompleteReason>,
}

impl Units {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Units { frontier: Frontier::new(), worker: Worker::new(spurious), explored: 0, incomplete: None }
    }
}

impl Strategy for Units {
    fn next(&mut self) -> Option<Request> {
        self.frontier.next()
    }

    fn learn(&mut self, execution: &Execution) -> Classification {
        let Some(unit) = self.frontier.oldest() else { return Classification::Redundant };
        let work = self.worker.work(unit, execution);
        self.learn_work(work)
    }

    fn learn_work(&mut self, work: Expansion) -> Classification {
        self.frontier.explored(work.units.into_iter());
        if work.waits {
            self.frontier.close();
            self.incomplete = Some(IncompleteReason::BusyWaiting);
            return Classification::Redundant;
        }
        self.explored += 1;
        self.incomplete = self.incomplete.or(incomplete_reason_of(work.status));
        Classification::Counted
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.incomplete
    }

    fn estimate(&self) -> Option<f64> {
        let done = self.frontier.done;
        (done > 0.0).then(|| self.explored as f64 / done)
    }
}
