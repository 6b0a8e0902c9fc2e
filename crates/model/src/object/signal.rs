//! Signal handlers that may run at any moment.
//!
//! A courier, which is a thread of its own, begins the handler where its target is suspended, and
//! returns where the target goes on (`raddle_vocab::handler`). In between no event of the suspended
//! thread happens. The handler acts for its target: it owns what its target owns. Where a handler
//! of the target runs already, it is that one's courier that is suspended.
//!
//! The beginning and the return depend on every event of the suspended thread. What is between is
//! ordered by the two. The sender of a signal happens before the handler, because it creates the
//! courier. What the suspended thread did before happens before the handler, and the handler before
//! what the thread does next: they are one thread in the program.
//!
//! A return may end the call that the suspended thread is in: if that still waits. So it depends on
//! what may end the wait, too.
//!
//! Whether a signal is still pending and not blocked is known to the target only: all that changes
//! it touches the pending signals, as a beginning does.

use raddle_vocab::handler::{self, Handling};
use raddle_vocab::io::SIGNALS;
use raddle_vocab::{OpKind, Outcome, Words, io};

use super::{Namer, Operation, OrderSink, UnpackError};
use crate::depend::{Footprint, Mode, file_touch, object_touch, program_touch};
use crate::semantics::{Life, SyncState};

/// An operation around a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOp {
    /// The handler begins.
    Begin(Handling),
    /// The handler has returned.
    Return {
        /// What it is about.
        handling: Handling,
        /// What the call waits for that the handler interrupts; 0 if there is none.
        awaited: u64,
    },
    /// A call begins that a handler may interrupt: a handler that runs before does not end its
    /// wait.
    Call,
}

impl SignalOp {
    /// What it is about, if a handler begins or returns.
    #[must_use]
    #[inline]
    pub fn handling(&self) -> Option<&Handling> {
        match self {
            SignalOp::Begin(handling) | SignalOp::Return { handling, .. } => Some(handling),
            SignalOp::Call => None,
        }
    }

    /// What the call waits for that a handler, which returns, interrupts; 0 if there is none.
    fn awaited(&self) -> u64 {
        match *self {
            SignalOp::Return { awaited, .. } => awaited,
            SignalOp::Begin(_) | SignalOp::Call => 0,
        }
    }

    /// The same operation where threads have other numbers.
    pub(super) fn renumbered(mut self, number: &impl Fn(u16) -> u16) -> Self {
        if let SignalOp::Begin(handling) | SignalOp::Return { handling, .. } = &mut self {
            (handling.target, handling.onto) = (number(handling.target), number(handling.onto));
        }
        self
    }
}

impl Operation for SignalOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self {
            SignalOp::Begin(_) => OpKind::Deliver,
            SignalOp::Return { .. } => OpKind::HandlerReturn,
            SignalOp::Call => OpKind::CallBegin,
        }
    }

    fn object(&self) -> u64 {
        0
    }

    fn pack(&self) -> Words {
        Words::new(self.kind()).on(self.awaited(), self.handling().map_or(0, |handling| handling.pack()))
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let handling = Handling::unpack(words.arg);
        if words.kind != OpKind::CallBegin && (handling.signal == 0 || handling.signal > 64 || words.arg >> 41 != 0) {
            return Err(UnpackError::new(words, "handler", words.arg));
        }
        Ok(match words.kind {
            OpKind::Deliver => SignalOp::Begin(handling),
            OpKind::HandlerReturn => SignalOp::Return { handling, awaited: words.obj },
            _ => SignalOp::Call,
        })
    }

    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        let possible = match self {
            SignalOp::Begin(handling) => state.thread(handling.target).life == Life::Alive,
            SignalOp::Return { handling, .. } => state.thread(handling.onto).suspended == Some(thread),
            SignalOp::Call => true,
        };
        possible.then_some(Outcome::Done)
    }

    fn resolve(self, _thread: u16, state: &SyncState, _choice: u16, _outcome: Outcome) -> Self {
        match self {
            SignalOp::Begin(handling) => {
                SignalOp::Begin(Handling { onto: state.innermost(handling.target), ..handling })
            }
            other => other,
        }
    }

    fn apply(&self, thread: u16, state: &mut SyncState) {
        match *self {
            SignalOp::Begin(handling) => {
                state.change_thread(handling.onto, |suspended| suspended.suspended = Some(thread));
                state.change_thread(thread, |courier| courier.acts_for = Some(handling.target));
            }
            SignalOp::Return { handling, .. } => {
                state.change_thread(handling.onto, |suspended| {
                    suspended.suspended = None;
                    suspended.interrupted |= handling.interrupts;
                });
                state.change_thread(thread, |courier| courier.acts_for = None);
            }
            SignalOp::Call => {}
        }
    }

    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let Some(handling) = self.handling() else { return };
        into.push(program_touch(handling.onto));
        if matches!(self, SignalOp::Begin(_)) {
            into.push(file_touch(SIGNALS, Mode::Write));
            if handling.target != handling.onto {
                into.push(program_touch(handling.target));
            }
        }
        if self.awaited() != 0 {
            // It is an object in memory, or something that input and output touch.
            into.push(object_touch(self.awaited(), Mode::Observe));
            into.push(file_touch(io::thing(self.awaited()), Mode::Observe));
            into.push(file_touch(io::file(io::READINESS), Mode::Observe));
        }
    }

    fn can_block(&self) -> bool {
        matches!(self, SignalOp::Begin(_))
    }

    fn order(&self, sink: &mut impl OrderSink) {
        match self {
            SignalOp::Begin(handling) => sink.suspend(handling.onto),
            SignalOp::Return { handling, .. } => sink.resume(handling.onto),
            SignalOp::Call => {}
        }
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        let Some(handling) = self.handling() else { return "begin of a call that signals may interrupt".into() };
        let (signal, target) = (handler::name(handling.signal), names.thread(u64::from(handling.target)));
        match self {
            SignalOp::Begin(_) => format!("begin the handler of {signal} in {target}"),
            _ if handling.interrupts => {
                format!("return from the handler of {signal} and interrupt the call of {target}")
            }
            _ => format!("return from the handler of {signal} to {target}"),
        }
    }
}

impl SyncState {
    /// The thread that a handler for this one would suspend: itself, or the courier of the handler
    /// that runs in it now.
    fn innermost(&self, target: u16) -> u16 {
        let mut thread = target;
        // A chain is no longer than there are threads.
        for _ in 0..self.by_rank().len() {
            match self.thread(thread).suspended {
                Some(courier) => thread = courier,
                None => break,
            }
        }
        thread
    }

    /// The thread has made the operation that a handler has interrupted.
    #[inline]
    pub(super) fn end_interruption(&mut self, thread: u16) {
        if self.thread(thread).interrupted {
            self.change_thread(thread, |thread| thread.interrupted = false);
        }
    }

    /// Who owns what the thread locks: the target of the handler that it runs, or itself.
    #[inline]
    pub(crate) fn owner(&self, thread: u16) -> u16 {
        self.thread(thread).acts_for.unwrap_or(thread)
    }
}
