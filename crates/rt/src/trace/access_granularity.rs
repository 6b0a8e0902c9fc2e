//! Data accesses as transitions: all of them (access granularity), or those whose races are benign.

use raddle_vocab::{MemOrder, OpKind, Outcome};
use raddle_wire::record;

use crate::sched;
use crate::state::AnnouncedOp;

/// The running thread performs a data access. A benign one has a memory order, as atomics do.
pub fn step(kind: u8, address: u64, size: u64, pc: u64, benign: bool) {
    let kind = if matches!(kind, record::READ | record::READ_RANGE) { OpKind::Read } else { OpKind::Write };
    let order = if benign { MemOrder::SeqCst } else { MemOrder::Relaxed };
    sched::perform(
        AnnouncedOp { order: order as u8, ..AnnouncedOp::new(kind, address, size, pc) },
        Outcome::Done,
        0,
        0,
    );
}

/// The running thread frees a heap block.
pub fn free(address: u64, size: u64, pc: u64) {
    sched::perform(AnnouncedOp::new(OpKind::Free, address, size, pc), Outcome::Done, 0, 0);
}
