//! The optimal search, until the program shows busy waiting.
//!
//! The optimal search has to know where a loop of busy waiting would end, and an execution does not tell. So as soon as one shows
//! such a loop the search starts anew by brute force over distinct prefixes ([`Dfs::of_traces`]), which asks the target instead.
//! That meets every trace, too, in time that grows with their prefixes. What the first part found stays found.

use std::collections::VecDeque;

use raddle_model::{Execution, PendingState, Request};
use raddle_vocab::OpKind;

use crate::dfs::Dfs;
use crate::optimal::Optimal;
use crate::strategy::{Gap, Strategy, Worth};

/// Who asked for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Optimal,
    Brute,
}

/// See the module.
#[derive(Debug)]
pub struct Careful {
    /// `None` once busy waiting was seen.
    optimal: Option<Optimal>,
    brute: Dfs,
    under_way: VecDeque<Asked>,
}

impl Careful {
    /// A search of all traces, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Careful { optimal: Some(Optimal::new(spurious)), brute: Dfs::of_traces(spurious), under_way: VecDeque::new() }
    }
}

/// Whether a thread waits, or was seen to wait, in a loop that only reads.
fn waits_busily(execution: &Execution) -> bool {
    execution.awaits
        || execution.pending.iter().any(|pending| pending.state == PendingState::Awaiting)
        || execution
            .steps
            .iter()
            .any(|step| step.kind == OpKind::AtomicLoad && step.arg == raddle_model::depend::AWAITED)
}

impl Strategy for Careful {
    fn next(&mut self) -> Option<Request> {
        let (request, asked) = match &mut self.optimal {
            Some(optimal) => (optimal.next()?, Asked::Optimal),
            None => (self.brute.next()?, Asked::Brute),
        };
        self.under_way.push_back(asked);
        Some(request)
    }

    fn learn(&mut self, execution: &Execution) -> Worth {
        match (self.under_way.pop_front(), &mut self.optimal) {
            (Some(Asked::Brute), _) => self.brute.learn(execution),
            (_, Some(_)) if waits_busily(execution) => {
                self.optimal = None;
                Worth::Void
            }
            (_, Some(optimal)) => optimal.learn(execution),
            // Asked for before the search started anew.
            (_, None) => Worth::Void,
        }
    }

    fn gap(&self) -> Option<Gap> {
        match &self.optimal {
            Some(optimal) => optimal.gap(),
            None => self.brute.gap(),
        }
    }

    fn estimate(&self) -> Option<f64> {
        match &self.optimal {
            Some(optimal) => optimal.estimate(),
            None => self.brute.estimate(),
        }
    }
}
