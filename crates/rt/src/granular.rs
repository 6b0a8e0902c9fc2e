//! Access granularity: every data access is a transition.

use raddle_vocab::{OpKind, Outcome};
use raddle_wire::record;

use crate::sched;
use crate::state::Op;

/// The running thread stands before a data access.
pub fn step(kind: u8, address: u64, size: u64, pc: u64) {
    let kind = if matches!(kind, record::READ | record::READ_RANGE) { OpKind::Read } else { OpKind::Write };
    sched::perform(Op::new(kind, address, size, pc), Outcome::Done, 0, 0);
}

/// The running thread stands before giving a heap block back.
pub fn free(address: u64, size: u64, pc: u64) {
    sched::perform(Op::new(OpKind::Free, address, size, pc), Outcome::Done, 0, 0);
}
