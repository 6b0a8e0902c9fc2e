//! Accesses that fault.
//!
//! The hook of an access comes before it, and records it. If the access then faults and the program
//! has a handler for that, it has not taken place: its record is withdrawn. It takes place if the
//! handler returns to it, having made the memory accessible; then it is recorded there. A handler
//! may also jump elsewhere, or change the context to go on behind the access.
//!
//! Where accesses are transitions, the transition stays, but races with nothing.

use raddle_vocab::{MemOrder, OpKind};
use raddle_wire::record;

use crate::observed;
use crate::sched::startup;
use crate::state::{faulted, run};
use crate::trace::{filter, hooks};

/// An access whose record was withdrawn.
#[derive(Clone, Copy)]
pub struct FaultedAccess {
    /// Address of the context that its handler was given; 0: there is none.
    context: usize,
    /// The instruction that faulted.
    instruction: u64,
    is_write: bool,
    address: u64,
    size: u64,
    /// The place that was recorded.
    pc: u64,
}

impl FaultedAccess {
    /// None.
    pub const NONE: FaultedAccess =
        FaultedAccess { context: 0, instruction: 0, is_write: false, address: 0, size: 0, pc: 0 };
}

/// What the kernel says of a fault.
pub struct Fault {
    /// The address that could not be accessed, if it is known.
    pub address: Option<u64>,
    /// The instruction.
    pub instruction: u64,
}

impl Fault {
    /// Whether this is a fault of an access to these bytes. Addresses that no memory can have are
    /// not told by the kernel.
    fn is_of(&self, address: u64, size: u64) -> bool {
        match self.address {
            Some(at) => (address..address.saturating_add(size)).contains(&at),
            None => !is_canonical(address),
        }
    }
}

/// Whether memory can have this address: bits 47 to 63 are equal.
fn is_canonical(address: u64) -> bool {
    matches!(address.cast_signed() >> 47, 0 | -1)
}

/// The last record, if it is that of the access that the running thread has just announced: its
/// number of words, and the access.
fn last_access() -> Option<(usize, FaultedAccess)> {
    let hot = &run().hot;
    let number = hot.count.checked_sub(1)?;
    [record::ACCESS_WORDS, record::LONG_WORDS].into_iter().find_map(|words| {
        // SAFETY: as many words of a trace are there at least: that of the thread's start.
        let [header, address, place] = unsafe { hot.next.sub(words).cast::<[u64; 3]>().read() };
        let (kind, _, tid, count) = record::parse_header(header);
        let (pc, extra) = record::unpack_pc(place);
        let (size, is_write) = match kind {
            record::READ | record::WRITE => (u64::from(extra), kind == record::WRITE),
            // SAFETY: the fourth word of the same record.
            record::READ_RANGE | record::WRITE_RANGE => (unsafe { *hot.next.sub(1) }, kind == record::WRITE_RANGE),
            _ => return None,
        };
        let is_last = tid == hot.tid && count == number && record::words(kind, count) == Some(words);
        is_last.then_some((words, FaultedAccess { is_write, address, size, pc, ..FaultedAccess::NONE }))
    })
}

/// The running thread's access has faulted, and a handler will be called: the access is not
/// recorded.
pub fn withdraw(fault: &Fault) -> Option<FaultedAccess> {
    // An observed access that faults was not recorded.
    if observed::is_on() || startup::is_runtime_code(fault.instruction) {
        return None;
    }
    let (words, access) = last_access().filter(|(_, access)| fault.is_of(access.address, access.size))?;
    let hot = &mut run().hot;
    // SAFETY: these are the words of the last record.
    hot.next = unsafe { hot.next.sub(words) };
    hot.events_left += 1;
    filter::forget(access.address, access.size);
    excuse_transition(&access);
    Some(FaultedAccess { instruction: fault.instruction, ..access })
}

/// If the record before is the transition of the access, it gets the order of benign ones.
fn excuse_transition(access: &FaultedAccess) {
    let hot = &run().hot;
    // SAFETY: as many words of a trace are there at least: those of the thread's start.
    let step = unsafe { &mut *hot.next.sub(record::STEP_WORDS).cast::<[u64; 3]>() };
    let (kind, _, tid, _) = record::parse_header(step[0]);
    let wanted = if access.is_write { OpKind::Write } else { OpKind::Read };
    if kind == wanted as u8 && tid == hot.tid && step[1] == access.address {
        let (pc, extra) = record::unpack_pc(step[2]);
        let (_, outcome, log_size) = record::parse_step_extra(extra);
        step[2] = record::pack_pc(pc, record::step_extra(MemOrder::SeqCst as u8, outcome, log_size));
    }
}

/// Keeps a withdrawn access until the handler that was given this context returns.
pub fn keep(access: FaultedAccess, context: usize) {
    let kept = faulted(run().hot.tid as usize);
    // A handler that was left by a jump has made room for another one, at the same place or above.
    let same = kept.iter().position(|old| old.context == context);
    let free = same.or_else(|| (0..kept.len()).min_by_key(|&at| kept[at].context));
    if let Some(at) = free {
        kept[at] = FaultedAccess { context, ..access };
    }
}

/// The handler that was given this context returns to `instruction`.
pub fn handler_returns(context: usize, instruction: u64) {
    let kept = faulted(run().hot.tid as usize);
    let Some(access) = kept.iter_mut().find(|access| access.context == context) else { return };
    let access = core::mem::replace(access, FaultedAccess::NONE);
    if access.instruction == instruction {
        let kind = if access.is_write { record::WRITE } else { record::READ };
        hooks::range(kind, access.address, access.size, access.pc);
    }
}
