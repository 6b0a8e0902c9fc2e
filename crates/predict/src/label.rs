//! What an event is called where its operation alone does not say it.

use raddle_model::Op;
use raddle_model::object::{AtomicAction, Patience, SemaphoreAction, SemaphoreOp, ThreadOp};

/// What kind of event it was, for people and for rules that a [`crate::trace::SyncOp`] is too
/// coarse for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventLabel {
    /// The first event of a thread.
    Start,
    /// The last event of a thread.
    End,
    /// An atomic load.
    Load,
    /// An atomic store.
    Store,
    /// An atomic exchange or arithmetic.
    Exchange,
    /// An atomic compare-exchange.
    CompareExchange,
    /// A fence.
    Fence,
    /// An attempt to lock or to wait that does not block, or not for ever.
    Try,
    /// An operation on a file or pipe.
    Io,
    /// The end of the process.
    Exit,
    /// A plain read, in a trace that orders accesses.
    Read,
    /// A plain write, in a trace that orders accesses.
    Write,
    /// Anything else.
    Other,
}

impl EventLabel {
    /// The label of an operation of a run.
    #[must_use]
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Thread(ThreadOp::Start) => EventLabel::Start,
            Op::Thread(ThreadOp::End) => EventLabel::End,
            Op::Thread(ThreadOp::Poll { .. }) => EventLabel::Load,
            Op::Atomic(op) => match op.action {
                AtomicAction::Load { .. } => EventLabel::Load,
                AtomicAction::Store { .. } => EventLabel::Store,
                AtomicAction::Rmw { .. } => EventLabel::Exchange,
                AtomicAction::Cas { .. } => EventLabel::CompareExchange,
            },
            Op::Fence(_) => EventLabel::Fence,
            Op::Semaphore(SemaphoreOp {
                action: SemaphoreAction::Wait { patience: Patience::Try | Patience::Timed, .. },
                ..
            }) => EventLabel::Try,
            Op::File(_) => EventLabel::Io,
            Op::Exit(_) => EventLabel::Exit,
            op if op.is_lock_attempt() => EventLabel::Try,
            _ => EventLabel::Other,
        }
    }

    /// Whether the event is a plain access.
    #[must_use]
    pub fn is_access(self) -> bool {
        matches!(self, EventLabel::Read | EventLabel::Write)
    }

    /// A word to print.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            EventLabel::Start => "start",
            EventLabel::End => "end",
            EventLabel::Load => "load",
            EventLabel::Store => "store",
            EventLabel::Exchange => "exchange",
            EventLabel::CompareExchange => "compare",
            EventLabel::Fence => "fence",
            EventLabel::Try => "try",
            EventLabel::Io => "io",
            EventLabel::Exit => "exit",
            EventLabel::Read => "read",
            EventLabel::Write => "write",
            EventLabel::Other => "step",
        }
    }
}
