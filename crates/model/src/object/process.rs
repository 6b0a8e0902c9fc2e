//! The end of the process.

use raddle_vocab::{OpKind, Outcome, Words};

use super::{Namer, Operation, UnpackError};
use crate::depend::Footprint;
use crate::semantics::SyncState;

/// The final end of the process, after exit handlers. It orders nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitOp {
    /// The exit status.
    pub status: i32,
}

impl Operation for ExitOp {
    #[inline]
    fn kind(&self) -> OpKind {
        OpKind::Exit
    }

    fn object(&self) -> u64 {
        0
    }

    fn pack(&self) -> Words {
        Words::new(OpKind::Exit).on(0, u64::from(self.status as u32))
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        Ok(ExitOp { status: words.arg as i32 })
    }

    fn attempt(&self, _thread: u16, _state: &SyncState, _choice: u16) -> Option<Outcome> {
        Some(Outcome::Done)
    }

    fn apply(&self, _thread: u16, _state: &mut SyncState) {}

    fn footprint(&self, _thread: u16, _into: &mut Footprint) {}

    fn phrase(&self, _names: &dyn Namer) -> String {
        format!("exit({})", self.status)
    }
}
