//! Data accesses as transitions: all of them (access granularity), or those whose races are benign.

use raddle_vocab::{MappingChange, MemOrder, OpKind, Outcome};
use raddle_wire::{limit, record};

use crate::sched;
use crate::sched::controller::name_limit;
use crate::state::AnnouncedOp;

/// Bytes of an access that a transition is about, at most: each cell of them is compared with those
/// of other transitions.
const LARGEST: u64 = 1 << 20;

/// The size of a transition's access.
fn bounded(size: u64) -> u64 {
    if size > LARGEST {
        name_limit(limit::LARGE_ACCESS);
    }
    size.min(LARGEST)
}

/// The running thread performs a data access. A benign one has a memory order, as atomics do.
pub fn step(kind: u8, address: u64, size: u64, pc: u64, benign: bool) {
    let kind = if matches!(kind, record::READ | record::READ_RANGE) { OpKind::Read } else { OpKind::Write };
    let order = if benign { MemOrder::SeqCst } else { MemOrder::Relaxed };
    sched::perform(
        AnnouncedOp { order: order as u8, ..AnnouncedOp::new(kind, address, bounded(size), pc) },
        Outcome::Done,
        0,
        0,
    );
}

/// The running thread frees a heap block.
pub fn free(address: u64, size: u64, pc: u64) {
    sched::perform(AnnouncedOp::new(OpKind::Free, address, bounded(size), pc), Outcome::Done, 0, 0);
}

/// The running thread changes mapped memory.
pub fn mapping(change: MappingChange, address: u64, size: u64, pc: u64) {
    let arg = bounded(size) | (change as u64) << 56;
    sched::perform(AnnouncedOp::new(OpKind::Mapping, address, arg, pc), Outcome::Done, 0, 0);
}
