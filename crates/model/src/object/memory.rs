//! Plain accesses to memory that are transitions: at access granularity, or where races are meant
//! to be.

use raddle_vocab::{MappingChange, MemOrder, OpKind, Outcome, SECTION, Words};

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
    /// Changes the mapping that they belong to.
    Mapping(MappingChange),
}

impl MemoryAction {
    /// Whether what lay there has ended its life without being destroyed.
    #[must_use]
    pub fn ends_objects(self) -> bool {
        self == MemoryAction::Free || matches!(self, MemoryAction::Mapping(change) if change.ends_objects())
    }

    /// Whether the bytes hold what they held before.
    fn keeps_content(self) -> bool {
        match self {
            MemoryAction::Read => true,
            MemoryAction::Mapping(change) => !change.drops_content(),
            MemoryAction::Write | MemoryAction::Free => false,
        }
    }
}

/// Where the change of a mapping stands in the second operand, above the size.
const CHANGE: u32 = 56;

impl Operation for MemoryOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            MemoryAction::Read => OpKind::Read,
            MemoryAction::Write => OpKind::Write,
            MemoryAction::Free => OpKind::Free,
            MemoryAction::Mapping(_) => OpKind::Mapping,
        }
    }

    fn object(&self) -> u64 {
        self.addr
    }

    fn pack(&self) -> Words {
        let change = match self.action {
            MemoryAction::Mapping(change) => u64::from(change as u8) << CHANGE,
            _ => 0,
        };
        let words = Words { order: self.order, outside: self.outside, ..Words::new(self.kind()) };
        words.on(self.addr, self.size | change)
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let action = match words.kind {
            OpKind::Read => MemoryAction::Read,
            OpKind::Write => MemoryAction::Write,
            OpKind::Mapping => {
                let change = MappingChange::from_byte((words.arg >> CHANGE) as u8);
                MemoryAction::Mapping(change.ok_or_else(|| UnpackError::new(words, "change", words.arg))?)
            }
            _ => MemoryAction::Free,
        };
        let size = match action {
            MemoryAction::Mapping(_) => words.arg & ((1 << CHANGE) - 1),
            MemoryAction::Read | MemoryAction::Write if words.arg == 0 => u64::from(words.size),
            _ => words.arg,
        };
        Ok(MemoryOp { addr: words.obj, size, action, order: words.order, outside: words.outside })
    }

    #[inline]
    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        (!self.outside || state.is_outside_sections(thread)).then_some(Outcome::Done)
    }

    #[inline]
    fn apply(&self, _thread: u16, state: &mut SyncState) {
        if !self.action.keeps_content() {
            state.forget_memory(self.addr, self.size);
        }
        if self.action.ends_objects() {
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
            (MemoryAction::Mapping(change), _) => Touching::Mapping(change),
            (MemoryAction::Read, true) => Touching::Read,
            (MemoryAction::Read, false) => Touching::AtomicRead,
            (MemoryAction::Write, true) => Touching::Write,
            (MemoryAction::Write, false) => Touching::AtomicWrite,
        };
        sink.access(self.addr, self.size, what);
    }
}
