//! Thread fences.

use raddle_vocab::{MemOrder, OpKind, Outcome, Words};

use super::{Namer, Operation, OrderSink, UnpackError};
use crate::depend::Footprint;
use crate::semantics::SyncState;

/// A thread fence. Memory is sequentially consistent, so it changes nothing but happens-before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceOp {
    /// Its memory order.
    pub order: MemOrder,
}

impl Operation for FenceOp {
    #[inline]
    fn kind(&self) -> OpKind {
        OpKind::Fence
    }

    fn object(&self) -> u64 {
        0
    }

    fn pack(&self) -> Words {
        Words { order: self.order, ..Words::new(OpKind::Fence) }
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        Ok(FenceOp { order: words.order })
    }

    fn attempt(&self, _thread: u16, _state: &SyncState, _choice: u16) -> Option<Outcome> {
        Some(Outcome::Done)
    }

    fn apply(&self, _thread: u16, _state: &mut SyncState) {}

    fn footprint(&self, _thread: u16, _into: &mut Footprint) {}

    fn order(&self, sink: &mut impl OrderSink) {
        sink.fence(self.order);
    }

    fn phrase(&self, _names: &dyn Namer) -> String {
        self.kind().word().to_string()
    }
}
