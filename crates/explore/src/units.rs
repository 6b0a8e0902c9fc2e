//! The optimal search as a frontier of units that others explore.
//!
//! As [`crate::optimal::Optimal`], unit by unit and in the same order, but what needs only the unit and its execution ([`Worker`]) can
//! be done elsewhere.
//!
//! What cannot be foreseen (busy waiting, above all, see [`crate::careful`]) is not followed: the first sign of it ends the search with
//! [`Gap::BusyWaiting`], and the caller starts another one.

use raddle_model::{Execution, Request};
use raddle_vocab::RunStatus;

use crate::careful::loops_of;
use crate::frontier::Frontier;
use crate::optimal::{Expander, Unit};
use crate::strategy::{Gap, Strategy, Worth, gap_of, is_endless};

/// What is to be known of a unit's execution.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its children.
    pub units: Vec<Unit>,
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
    pub fn work(&mut self, unit: &Unit, execution: &Execution) -> Work {
        let (status, waits) = (execution.status, loops_of(execution) > 0);
        let mut units = Vec::new();
        if !waits && !is_endless(execution) {
            self.expander.expand(unit, execution, &mut units);
        }
        Work { units, status, waits }
    }
}

/// Whether some thread waited, or waits, in a loop that only reads.
pub(crate) fn waits_busily(execution: &Execution) -> bool {
    use raddle_model::PendingState::Awaiting;
    use raddle_model::depend::AWAITED;
    execution.awaits > 0
        || execution.status == RunStatus::Diverged
        || execution.pending.iter().any(|pending| pending.state == Awaiting)
        || execution.steps.iter().any(|step| step.kind == raddle_vocab::OpKind::AtomicLoad && step.arg == AWAITED)
}

/// The frontier.
#[derive(Debug)]
pub struct Units {
    frontier: Frontier,
    worker: Worker,
    explored: u64,
    gap: Option<Gap>,
}

impl Units {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Units { frontier: Frontier::new(), worker: Worker::new(spurious), explored: 0, gap: None }
    }
}

impl Strategy for Units {
    fn next(&mut self) -> Option<Request> {
        self.frontier.next()
    }

    fn learn(&mut self, execution: &Execution) -> Worth {
        let Some(unit) = self.frontier.oldest() else { return Worth::Redundant };
        let work = self.worker.work(unit, execution);
        self.learn_work(work)
    }

    fn learn_work(&mut self, work: Work) -> Worth {
        self.frontier.explored(work.units.into_iter());
        if work.waits {
            self.frontier.close();
            self.gap = Some(Gap::BusyWaiting);
            return Worth::Redundant;
        }
        self.explored += 1;
        self.gap = self.gap.or(gap_of(work.status));
        Worth::Counted
    }

    fn gap(&self) -> Option<Gap> {
        self.gap
    }

    fn estimate(&self) -> Option<f64> {
        let done = self.frontier.done;
        (done > 0.0).then(|| self.explored as f64 / done)
    }
}
