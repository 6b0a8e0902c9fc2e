//! The words by which an operation goes over the wire and into a recording.

use crate::{MemOrder, OpKind, Outcome};

/// An operation as the runtime writes it down. [`OpKind`] says what each word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// What was done.
    pub kind: OpKind,
    /// What became of it.
    pub outcome: Outcome,
    /// Memory order of an atomic operation or fence.
    pub order: MemOrder,
    /// Bytes of an atomic access.
    pub size: u32,
    /// Whether an access has to wait while another thread is inside an atomic section.
    pub outside: bool,
    /// First operand.
    pub obj: u64,
    /// Second operand.
    pub arg: u64,
    /// Value read or written, or the threads woken.
    pub value: u64,
    /// Value replaced, or the number of successors.
    pub old: u64,
}

impl Words {
    /// An operation that did what its name says, without operands.
    #[must_use]
    pub const fn new(kind: OpKind) -> Self {
        let (outcome, order) = (Outcome::Done, MemOrder::Relaxed);
        Words { kind, outcome, order, size: 0, outside: false, obj: 0, arg: 0, value: 0, old: 0 }
    }

    /// The same with these operands.
    #[must_use]
    pub const fn on(self, obj: u64, arg: u64) -> Self {
        Words { obj, arg, ..self }
    }
}
