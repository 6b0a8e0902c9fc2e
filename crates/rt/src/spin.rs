//! Busy waiting. A thread that comes back to the same reading operation with the same registers and the same stack, having only
//! read in between, has made no progress: that round is withdrawn from the trace, and the thread stands before the round's
//! first read until something that it read has changed.
//!
//! What is compared: callee-saved registers and stack pointer at the call, and the part of the stack where a loop keeps its
//! variables (a window above the stack pointer and one below the frame pointer). Memory outside the own stack is covered by the
//! write hooks: a write clears the list of candidates.

use raddle_vocab::{OpKind, Outcome};

use crate::entry::{Registers, registers};
use crate::sched;
use crate::state::{Awaited, MAX_AWAITED, Op, keep, run, spins};
use crate::trace;

/// Reading operations remembered per thread: rounds of up to five reads are recognised.
const RING: usize = 16;
/// Bytes compared above the stack pointer.
pub const ABOVE_STACK_POINTER: usize = 768;
/// Bytes compared below the frame pointer.
pub const BELOW_FRAME_POINTER: usize = 512;

/// A reading operation that may turn out to be the head of a loop.
#[derive(Clone, Copy)]
pub struct Head {
    pc: u64,
    registers: Registers,
    obj: u64,
    log_size: u8,
    value: u64,
    /// Data accesses since the transition before it, when the thread arrived here.
    count: u32,
    stack: [u8; ABOVE_STACK_POINTER],
    frame: [u8; BELOW_FRAME_POINTER],
    stack_len: u16,
    frame_len: u16,
}

/// The last reading operations of a thread, with nothing but reads between them. How many there are stands in the thread's
/// own entry, so that threads that never read touch nothing here.
pub struct Candidates {
    heads: [Head; RING],
}

impl Candidates {
    /// None yet.
    pub const fn new() -> Self {
        const UNUSED: Head = Head {
            pc: 0,
            registers: Registers { saved: [0; 6], sp: 0 },
            obj: 0,
            log_size: 0,
            value: 0,
            count: 0,
            stack: [0; ABOVE_STACK_POINTER],
            frame: [0; BELOW_FRAME_POINTER],
            stack_len: 0,
            frame_len: 0,
        };
        Candidates { heads: [UNUSED; RING] }
    }
}

/// Whether the operation may be part of a round that changes nothing.
fn reads(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::AtomicLoad
            | OpKind::AtomicCas
            | OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
            | OpKind::SemTryWait
            | OpKind::SemTimedWait
            | OpKind::Read
    )
}

/// Called before a thread stands before `op`. If that closes a round without progress, the round is withdrawn, and the answer
/// says whether the thread must wait for a change.
pub fn arriving(op: &Op) -> bool {
    if !keep().fold_spins {
        return false;
    }
    if run().hot.wrote {
        forget();
    }
    if !reads(op.kind) {
        return false;
    }
    let candidates = spins(run().hot.tid as usize);
    let ring = &mut run().me().ring;
    let now = registers();
    let same = (0..ring.len).rev().find(|&index| {
        let head = &candidates.heads[index];
        head.pc == op.pc && head.obj == op.obj && head.registers == now && same_stack(head)
    });
    let mut waits = false;
    if let Some(index) = same {
        let first = first_round(candidates, index, ring.len);
        let steps = (ring.len - first) as u32;
        let awaited = awaited(&candidates.heads[index..ring.len]);
        ring.len = first;
        // What the withdrawn rounds accessed did not happen either.
        run().hot.count = candidates.heads[first].count;
        withdraw(steps, op.pc);
        run().me().awaited = awaited;
        run().me().waited = awaited.len == 1 && op.kind == OpKind::AtomicLoad;
        waits = !may_leave(&awaited);
    }
    if ring.len == RING {
        ring.len = 0;
    }
    remember(&mut candidates.heads[ring.len], op, now);
    ring.pending = true;
    waits
}

/// Earlier rounds of the same loop differ from the proven one only by the values they read, kept somewhere in the frame: they
/// made no progress either. Returns where the first of them starts.
fn first_round(candidates: &Candidates, index: usize, len: usize) -> usize {
    let length = len - index;
    let mut first = index;
    while first >= length {
        let (earlier, later) = (&candidates.heads[first - length], &candidates.heads[first]);
        if earlier.pc != later.pc || !explained(earlier, later, &candidates.heads[first - length..first]) {
            break;
        }
        first -= length;
    }
    first
}

/// Whether every difference between the two states is a copy of a value that was read in between.
fn explained(earlier: &Head, later: &Head, round: &[Head]) -> bool {
    let copied = |word: u64| round.iter().any(|read| read.value & 0xffff_ffff == word & 0xffff_ffff);
    let registers = earlier.registers.saved.iter().zip(&later.registers.saved);
    earlier.registers.sp == later.registers.sp
        && (earlier.stack_len, earlier.frame_len) == (later.stack_len, later.frame_len)
        && registers.into_iter().all(|(a, b)| a == b || copied(*b))
        && words_explained(&earlier.stack, &later.stack, usize::from(later.stack_len), copied)
        && words_explained(&earlier.frame, &later.frame, usize::from(later.frame_len), copied)
}

/// Compares words of 4 bytes; one of the two bytes-wide copies of a narrow value counts as the value too.
fn words_explained(earlier: &[u8], later: &[u8], len: usize, copied: impl Fn(u64) -> bool) -> bool {
    let words = earlier[..len].chunks_exact(4).zip(later[..len].chunks_exact(4));
    words.into_iter().all(|(a, b)| {
        let (old, new) = (u32::from_le_bytes([a[0], a[1], a[2], a[3]]), u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        old == new || copied(u64::from(new)) || (0..4).all(|i| a[i] == b[i] || copied(u64::from(b[i])))
    })
}

/// Called when an operation was performed: a reading one becomes a candidate, everything else is progress.
pub fn performed(op: &Op, outcome: Outcome, value: u64, old: u64) {
    let ring = &mut run().me().ring;
    let seen = match (op.kind, outcome) {
        (OpKind::AtomicLoad | OpKind::Read, _) => Some(value),
        (OpKind::AtomicCas, Outcome::Failed) => Some(old),
        (_, Outcome::Failed | Outcome::TimedOut) if reads(op.kind) => Some(word(op.obj, 3)),
        _ => None,
    };
    match seen {
        Some(value) if ring.pending => {
            let head = &mut spins(run().hot.tid as usize).heads[ring.len];
            head.value = value;
            if !op.kind.is_atomic_access() {
                head.log_size = 3;
            }
            ring.len += 1;
        }
        _ => ring.len = 0,
    }
    ring.pending = false;
}

/// The running thread has made progress.
pub fn forget() {
    run().hot.wrote = false;
    crate::timeouts::progress();
    run().me().ring.len = 0;
}

/// Whether a thread that awaits a change would find one.
pub fn may_leave(awaited: &Awaited) -> bool {
    awaited.words[..awaited.len as usize].iter().any(|&(address, log_size, seen)| word(address, log_size) != seen)
}

/// Takes the last steps of the running thread back.
fn withdraw(steps: u32, pc: u64) {
    trace::fold(steps, pc);
    let run = run();
    run.steps -= steps;
    run.me().steps -= steps;
    if run.steps < keep().plan.forced {
        // The schedule wanted a step that leads nowhere.
        sched::diverge();
    }
}

fn awaited(heads: &[Head]) -> Awaited {
    let heads = &heads[..heads.len().min(MAX_AWAITED)];
    let mut result = Awaited { len: heads.len() as u8, words: [(0, 0, 0); MAX_AWAITED] };
    for (slot, head) in result.words.iter_mut().zip(heads) {
        *slot = (head.obj, head.log_size, head.value);
    }
    result
}

/// The value of a word of 1 to 8 bytes; of a wider one its low half.
fn word(address: u64, log_size: u8) -> u64 {
    if crate::threads::is_life_word(address) {
        return crate::threads::life_word(address);
    }
    // SAFETY: the program has just read these bytes in its loop.
    unsafe {
        match log_size {
            0 => u64::from(*(address as *const u8)),
            1 => u64::from((address as *const u16).read_unaligned()),
            2 => u64::from((address as *const u32).read_unaligned()),
            _ => (address as *const u64).read_unaligned(),
        }
    }
}

/// The two windows of the stack that a loop's variables live in, for these registers.
pub fn windows(registers: &Registers) -> ((usize, usize), (usize, usize)) {
    let (low, high) = run().hot.stack;
    let sp = registers.sp as usize;
    let above = if low <= sp && sp < high { (high - sp).min(ABOVE_STACK_POINTER) } else { 0 };
    let frame = registers.saved[1] as usize;
    let below = if sp < frame && frame < high { (frame - sp).min(BELOW_FRAME_POINTER) } else { 0 };
    ((sp, above), (frame - below, below))
}

fn remember(head: &mut Head, op: &Op, now: Registers) {
    let ((sp, above), (frame, below)) = windows(&now);
    head.pc = op.pc;
    head.registers = now;
    head.obj = op.obj;
    head.log_size = op.log_size;
    head.count = run().hot.count;
    head.stack_len = above as u16;
    head.frame_len = below as u16;
    // SAFETY: both windows lie within the running thread's stack, above its stack pointer.
    unsafe {
        core::ptr::copy_nonoverlapping(sp as *const u8, head.stack.as_mut_ptr(), above);
        core::ptr::copy_nonoverlapping(frame as *const u8, head.frame.as_mut_ptr(), below);
    }
}

fn same_stack(head: &Head) -> bool {
    let ((sp, above), (frame, below)) = windows(&head.registers);
    // SAFETY: as in `remember`; the registers are those of now.
    let (stack, saved) = unsafe {
        (core::slice::from_raw_parts(sp as *const u8, above), core::slice::from_raw_parts(frame as *const u8, below))
    };
    stack == &head.stack[..usize::from(head.stack_len).min(above)]
        && saved == &head.frame[..usize::from(head.frame_len).min(below)]
}
