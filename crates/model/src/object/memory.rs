//! Plain accesses to memory that are transitions: at access granularity, or where races are meant
//! to be.

use raddle_vocab::{MemOrder, OpKind, Outcome, SECTION, Words};

use super::{Operation, OrderSink, UnpackError};
use crate::depend::{Footprint, Mode, bytes_touch, object_touch};
use crate::race::Touching;
use crate::semantics::SyncState;

/// A plain access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOp {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub size: u64,
    /// What is done.
    pub action: MemoryAction,
    /// Relaxed, unless its races are meant to be: then it has an order, as atomics do.
    pub order: MemOrder,
    /// Whether it has to wait while another thread is inside an atomic section.
    pub outside: bool,
}

/// What a plain access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAction {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Gives them back to the heap.
    Free,
}

impl Operation for MemoryOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            MemoryAction::Read => OpKind::Read,
            MemoryAction::Write => OpKind::Write,
            MemoryAction::Free => OpKind::Free,
        }
    }

    fn object(&self) -> u64 {
        self.addr
    }

    fn pack(&self) -> Words {
        Words { order: self.order, outside: self.outside, ..Words::new(self.kind()) }.on(self.addr, self.size)
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let action = match words.kind {
            OpKind::Read => MemoryAction::Read,
            OpKind::Write => MemoryAction::Write,
            _ => MemoryAction::Free,
        };
        let is_access = action != MemoryAction::Free;
        let size = if is_access && words.arg == 0 { u64::from(words.size) } else { words.arg };
        Ok(MemoryOp { addr: words.obj, size, action, order: words.order, outside: words.outside })
    }

    #[inline]
    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        (!self.outside || state.is_outside_sections(thread)).then_some(Outcome::Done)
    }

    #[inline]
    fn apply(&self, _thread: u16, state: &mut SyncState) {
        if self.action != MemoryAction::Read {
            state.forget_memory(self.addr, self.size);
        }
        if self.action == MemoryAction::Free {
            state.forget_objects(self.addr, self.size);
        }
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = if self.action == MemoryAction::Read { Mode::Observe } else { Mode::Write };
        bytes_touch(self.addr, self.size, mode, into);
        if self.outside {
            into.push(object_touch(SECTION, Mode::Observe));
        }
    }

    fn can_block(&self) -> bool {
        self.outside
    }

    #[inline]
    fn order(&self, sink: &mut impl OrderSink) {
        let what = match (self.action, self.order == MemOrder::Relaxed) {
            (MemoryAction::Free, _) => return sink.free(self.addr, self.size),
            (MemoryAction::Read, true) => Touching::Read,
            (MemoryAction::Read, false) => Touching::AtomicRead,
            (MemoryAction::Write, true) => Touching::Write,
            (MemoryAction::Write, false) => Touching::AtomicWrite,
        };
        sink.access(self.addr, self.size, what);
    }
}
