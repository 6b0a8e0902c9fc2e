//! Searches that start anew when more is known about busy waiting.
//!
//! Failed rounds of a loop are left out of traces as soon as the loop is known. So an execution that shows a new one makes those
//! before it another search's: [`RestartOnSpinloop`] starts again, until there is nothing to learn. What was found stays found. A round of a
//! known loop may also be recognised only after it was part of a run: then that run's beginning cannot be repeated, which is
//! seen when the search goes on from there, and it starts again, too.
//!
//! The optimal search, moreover, has to foresee what a thread would do in states that it has not met, and with busy waiting that depends on
//! which values would end a loop: an execution does not tell. The same goes for operations that compare memory with a value, if plain
//! writes to it are transitions: what they write is not known; and for input and output that may have to wait, because what a pipe
//! holds is the kernel's business. So [`optimal_with_dpor_fallback`] goes on with [`Dpor`] then, which asks the target instead. That meets every trace once,
//! too, at the price of runs that are given up as redundant.

use std::collections::VecDeque;
use std::fmt;

use raddle_model::{Event, Execution, Pending, PendingState, Request};
use raddle_vocab::{OpKind, RunStatus, io};

use crate::dpor::Dpor;
use crate::optimal::Optimal;
use crate::strategy::{Classification, IncompleteReason, Strategy};

/// The optimal search, until the program shows busy waiting; then one that need not foresee anything. Each thread may wake up
/// spuriously `spurious` times.
#[must_use]
pub fn optimal_with_dpor_fallback(spurious: u32) -> RestartOnSpinloop {
    RestartOnSpinloop::new(
        move |loops| if loops == 0 { Box::new(Optimal::new(spurious)) } else { Box::new(Dpor::new(spurious)) },
    )
}

/// A search that starts anew whenever a loop of busy waiting is met that was not known before.
pub struct RestartOnSpinloop {
    begin: Box<dyn Fn(u32) -> Box<dyn Strategy>>,
    search: Box<dyn Strategy>,
    /// Loops known when the search began.
    loops: u32,
    /// Which attempt asked for each run, oldest first.
    under_way: VecDeque<u32>,
    attempt: u32,
    /// How often a known beginning could not be repeated.
    lost: u32,
}

/// Attempts that are given up because a known beginning could not be repeated, before that is taken to be the program's fault.
const LOST_AT_MOST: u32 = 20;

impl RestartOnSpinloop {
    /// `begin` makes a search for a program in which so many loops are known.
    #[must_use]
    pub fn new(begin: impl Fn(u32) -> Box<dyn Strategy> + 'static) -> Self {
        let search = begin(0);
        RestartOnSpinloop { begin: Box::new(begin), search, loops: 0, under_way: VecDeque::new(), attempt: 0, lost: 0 }
    }

    fn start_again(&mut self) {
        self.search = (self.begin)(self.loops);
        self.attempt += 1;
    }
}

impl fmt::Debug for RestartOnSpinloop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartOnSpinloop")
            .field("loops", &self.loops)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Loops of busy waiting that the execution tells of, and what else cannot be foreseen.
pub(crate) fn loops_of(execution: &Execution) -> u32 {
    let waits = |step: &Event| match step.kind {
        OpKind::AtomicLoad => step.arg == raddle_model::depend::AWAITED,
        OpKind::Io => io::waited_for(step.arg).1 != 0,
        _ => false,
    };
    let pending = |pending: &Pending| pending.state == PendingState::Awaiting || waits(&pending.event);
    let cannot_be_foreseen = execution.status == RunStatus::Diverged
        || execution.events.iter().any(waits)
        || execution.pending.iter().any(pending);
    execution.awaits.max(u32::from(cannot_be_foreseen || compares_plain(execution)))
}

/// Whether an operation compares memory that a transition writes whose value is not known.
fn compares_plain(execution: &Execution) -> bool {
    if !execution.events.iter().any(|step| step.kind == OpKind::Write) {
        return false;
    }
    let compares = |kind| matches!(kind, OpKind::AtomicCas | OpKind::FutexWait | OpKind::FutexTimedWait);
    let mut compared: Vec<u64> = Vec::new();
    compared.extend(execution.events.iter().filter(|step| compares(step.kind)).map(|step| step.obj));
    compared.extend(execution.pending.iter().filter(|pending| compares(pending.event.kind)).map(|p| p.event.obj));
    if compared.is_empty() {
        return false;
    }
    compared.sort_unstable();
    compared.dedup();
    let mut writes = execution.events.iter().filter(|step| step.kind == OpKind::Write);
    // Words are no wider than 16 bytes.
    writes.any(|step| {
        let first = compared.partition_point(|&word| word + 16 <= step.obj);
        compared.get(first).is_some_and(|&word| word < step.obj.saturating_add(step.extent()))
    })
}

impl Strategy for RestartOnSpinloop {
    fn next(&mut self) -> Option<Request> {
        let request = self.search.next()?;
        self.under_way.push_back(self.attempt);
        Some(request)
    }

    fn learn(&mut self, execution: &Execution) -> Classification {
        let loops = loops_of(execution);
        if loops > self.loops {
            self.loops = loops;
            self.start_again();
        }
        if self.under_way.pop_front() != Some(self.attempt) {
            return Classification::Restarted;
        }
        let class = self.search.learn(execution);
        if self.loops > 0
            && self.lost < LOST_AT_MOST
            && self.search.incomplete_reason() == Some(IncompleteReason::Diverged)
        {
            self.lost += 1;
            self.start_again();
            return Classification::Restarted;
        }
        class
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.search.incomplete_reason()
    }

    fn estimate(&self) -> Option<f64> {
        self.search.estimate()
    }
}
