//! What an execution shows that a strategy cannot predict from executions alone.
//!
//! [`crate::optimal`] predicts what a thread would do in states that it has not met, with the
//! semantics of `raddle_model`. Some operations depend on more than an execution records.

use raddle_model::object::{AtomicAction, AtomicOp, OpTraits};
use raddle_model::{Event, Execution, Op, Pending, PendingState};
use raddle_vocab::RunStatus;

/// Why the events of a program cannot be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A thread waited, or waits, in a spin loop. Which values end the loop is not recorded.
    /// Moreover, a target leaves failed rounds out of traces once it knows the loop.
    SpinLoop {
        /// Loops that the target knew at the end of the run; at least 1.
        known: u32,
    },
    /// The run did not follow its schedule, so something was predicted wrongly.
    Diverged,
    /// Input or output may have to wait. What a pipe holds is known to the kernel only.
    BlockingIo,
    /// An operation compares memory that plain writes change. The values of plain writes are not
    /// recorded.
    ComparesPlainWrites,
}

impl Cause {
    /// How many spin loops a search has to reckon with. Other causes count as one loop: they
    /// make the same predictions impossible.
    #[must_use]
    pub fn loops(self) -> u32 {
        match self {
            Cause::SpinLoop { known } => known,
            Cause::Diverged | Cause::BlockingIo | Cause::ComparesPlainWrites => 1,
        }
    }

    /// Whether it tells of something that a target learns and that changes its later runs.
    #[must_use]
    pub fn changes_target(self) -> bool {
        matches!(self, Cause::SpinLoop { .. } | Cause::Diverged)
    }
}

/// The first cause, in the order of [`Cause`], that the execution shows.
#[must_use]
pub fn unpredictability(execution: &Execution) -> Option<Cause> {
    if execution.awaits > 0 {
        return Some(Cause::SpinLoop { known: execution.awaits });
    }
    let is_awaiting = |pending: &Pending| pending.state == PendingState::Awaiting;
    let pending = execution.pending.iter().map(|pending| pending.event.op.traits());
    let traits = pending.fold(execution.event_traits(), |all, traits| all | traits);
    if traits.contain(OpTraits::AWAITED) || execution.pending.iter().any(is_awaiting) {
        Some(Cause::SpinLoop { known: 1 })
    } else if execution.status == RunStatus::Diverged {
        Some(Cause::Diverged)
    } else if traits.contain(OpTraits::WAITS_FOR_IO) {
        Some(Cause::BlockingIo)
    } else {
        let writes_plainly = traits.contain(OpTraits::WRITES_PLAINLY);
        (writes_plainly && compares_plain_writes(execution)).then_some(Cause::ComparesPlainWrites)
    }
}

/// Whether an operation compares memory that a transition writes whose value is not known.
fn compares_plain_writes(execution: &Execution) -> bool {
    let is_write = |event: &&Event| event.op.is_plain_write();
    let pending = execution.pending.iter().map(|pending| &pending.event);
    let mut compared: Vec<u64> =
        execution.events.iter().chain(pending).filter_map(|event| compared_word(&event.op)).collect();
    compared.sort_unstable();
    // Words are no wider than 16 bytes.
    execution.events.iter().filter(is_write).any(|write| {
        let (addr, size) = write.op.bytes();
        let first = compared.partition_point(|&word| word + 16 <= addr);
        compared.get(first).is_some_and(|&word| word < addr.saturating_add(size))
    })
}

/// The memory whose content decides about the outcome of the operation.
fn compared_word(op: &Op) -> Option<u64> {
    match op {
        Op::Atomic(AtomicOp { addr, action: AtomicAction::Cas { .. }, .. }) => Some(*addr),
        Op::Futex(op) if op.is_wait() => Some(op.word),
        _ => None,
    }
}
