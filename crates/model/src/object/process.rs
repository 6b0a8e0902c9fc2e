//! The end of the process.
//!
//! In a run, threads go on when one of them has ended the process. That is sound, and all that has
//! to be looked at:
//!
//! - An end is the last event of its thread, touches nothing and orders nothing. So whatever other
//!   threads do behind it in a run, they could have done before it: each beginning of the run that
//!   happened-before allows, with an end as its last event, is a run of the real process.
//! - So of several ends in one run each could have been the first one, and each status counts
//!   ([`Execution::exits`](crate::execution::Execution::exits)). No run is needed for each order of
//!   them.
//! - Handlers of `exit` and destructors are events of the thread that ends the process. Which
//!   thread calls a handler depends on the order in which threads take handlers from their list,
//!   and each time a thread does, that is a transition that changes the list ([`super::FileOp`]).

use raddle_vocab::{OpKind, Outcome, Words};

use super::{Namer, Operation, UnpackError};
use crate::depend::Footprint;
use crate::semantics::SyncState;

/// The final end of the process, behind handlers of `exit`.
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
