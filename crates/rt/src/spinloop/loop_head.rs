//! The state of a thread before a read, and when two such states look the same: then the thread may
//! have made a round that changes nothing, which is left to a proof.
//!
//! What is compared: callee-saved registers and stack pointer at the call, and the part of the
//! stack where a loop keeps its variables: a window above the stack pointer and one below the frame
//! pointer. What is further up is compared by a hash. Bytes and registers that differ but are dead
//! ([`liveness`]) make no difference.

use raddle_vocab::OpKind;
use raddle_vocab::policy::mix;

use crate::arch::entry::{Registers, registers};
use crate::interpose::memory::heap::{self, HeapUse};
use crate::liveness;
use crate::spinloop::read_set::ReadSet;
use crate::state::{AnnouncedOp, run};

/// Reading operations remembered per thread.
pub const HISTORY: usize = 16;
/// Bytes compared above the stack pointer.
pub const ABOVE_STACK_POINTER: usize = 768;
/// Bytes compared below the frame pointer.
pub const BELOW_FRAME_POINTER: usize = 512;
/// Bytes hashed behind those.
const FURTHER_UP: usize = 4096;

/// Where a thread was before a reading operation: what it would return to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReadSite {
    /// Return address of the operation.
    pub pc: u64,
    /// The object that it reads.
    pub obj: u64,
    /// Stack pointer at the call.
    pub sp: u64,
}

/// The sites of a thread's last reading operations, with nothing but reads between them. Their
/// number is in the thread's own entry ([`ReadHistory`]), so that threads that never read access
/// nothing here.
pub type ReadSites = [ReadSite; HISTORY];

/// None yet.
pub const NO_READ_SITES: ReadSites = [ReadSite { pc: 0, obj: 0, sp: 0 }; HISTORY];

/// How many reads of a thread are remembered.
#[derive(Clone, Copy, Debug)]
pub struct ReadHistory {
    /// Reading operations remembered.
    pub len: usize,
    /// Whether the entry behind the last is that of an operation not yet performed.
    pub pending: bool,
    /// Mutexes locked since the first of them, less those unlocked.
    pub lock_depth: i32,
    /// Mutexes locked or unlocked since the first of them.
    pub lock_operations: u32,
    /// Mutexes locked since the first of them.
    pub locked: u32,
    /// Whether one of the reads since the thread last made progress began a round that may be left
    /// before another one.
    pub is_inside: bool,
    /// Whether data outside of the own stack was written since the first of them.
    pub writes: bool,
    /// Whether the thread may have told others since then what it had written.
    pub publishes: bool,
    /// How often the thread has written data between reads since it last made an operation that is
    /// none.
    pub written: u8,
}

impl ReadHistory {
    /// No operation is remembered.
    pub const EMPTY: ReadHistory = ReadHistory {
        len: 0,
        pending: false,
        lock_depth: 0,
        lock_operations: 0,
        locked: 0,
        is_inside: false,
        writes: false,
        publishes: false,
        written: 0,
    };

    /// The thread has made progress.
    pub fn forget(&mut self) {
        (self.len, self.is_inside) = (0, false);
        (self.writes, self.publishes, self.written) = (false, false, 0);
    }

    /// Whether the thread has written something that others may know of: its round is no failed
    /// one.
    pub fn has_shown_writes(&self) -> bool {
        self.writes && self.publishes
    }
}

/// A reading operation that may turn out to be the head of a loop, with the state of its thread.
#[derive(Clone, Copy)]
pub struct LoopHead {
    /// The operation; `None` if none was recorded, so that a table without any is all zeros.
    op: Option<AnnouncedOp>,
    registers: Registers,
    /// Transitions that the thread had made before the operation.
    pub steps: u32,
    /// What was read.
    pub value: u64,
    /// Key of the read in the table of verdicts.
    pub key: u64,
    /// [`ReadHistory::lock_depth`] before the operation.
    pub lock_depth: i32,
    /// [`ReadHistory::lock_operations`] before the operation.
    pub lock_operations: u32,
    /// [`ReadHistory::locked`] before the operation.
    pub locked: u32,
    stack: [u8; ABOVE_STACK_POINTER],
    frame: [u8; BELOW_FRAME_POINTER],
    stack_len: u16,
    frame_len: u16,
    /// Hash of the stack further up.
    far: u64,
    /// What of the heap the thread had used.
    pub heap: HeapUse,
    /// Whether data was read or written behind it that the thread had not read or written since it
    /// last made progress.
    pub reads_new_data: bool,
    /// Whether data was read behind it after a mutex was locked behind it.
    pub reads_under_lock: bool,
}

impl LoopHead {
    /// Of no operation.
    pub const UNUSED: LoopHead = LoopHead {
        op: None,
        registers: Registers::NONE,
        steps: 0,
        value: 0,
        key: 0,
        lock_depth: 0,
        lock_operations: 0,
        locked: 0,
        stack: [0; ABOVE_STACK_POINTER],
        frame: [0; BELOW_FRAME_POINTER],
        stack_len: 0,
        frame_len: 0,
        far: 0,
        heap: HeapUse::NONE,
        reads_new_data: false,
        reads_under_lock: false,
    };

    /// The operation.
    pub fn op(&self) -> &AnnouncedOp {
        const NO_OPERATION: AnnouncedOp = AnnouncedOp::new(OpKind::AtomicLoad, 0, 0, 0);
        self.op.as_ref().unwrap_or(&NO_OPERATION)
    }

    /// Records the state of the running thread before the operation.
    pub fn record(&mut self, op: &AnnouncedOp) {
        let now = registers();
        let ((sp, above), (frame, below)) = windows(&now);
        self.op = Some(*op);
        self.steps = run().me().steps;
        (self.reads_new_data, self.reads_under_lock) = (false, false);
        self.heap = heap::used();
        self.registers = now;
        self.stack_len = above as u16;
        self.frame_len = below as u16;
        self.far = further_up(sp + above);
        // SAFETY: both windows lie within the running thread's stack, above its stack pointer.
        unsafe {
            core::ptr::copy_nonoverlapping(sp as *const u8, self.stack.as_mut_ptr(), above);
            core::ptr::copy_nonoverlapping(frame as *const u8, self.frame.as_mut_ptr(), below);
        }
    }

    /// Whether the two states differ in nothing, or only in what is dead.
    pub fn is_equivalent_to(&self, later: &LoopHead) -> bool {
        self.equals(later) || self.differs_only_in_dead(later)
    }

    /// Whether the two states are the same.
    pub fn equals(&self, later: &LoopHead) -> bool {
        let (stack, frame) = (usize::from(self.stack_len), usize::from(self.frame_len));
        self.registers == later.registers
            && self.lock_depth == later.lock_depth
            && self.far == later.far
            && (self.stack_len, self.frame_len) == (later.stack_len, later.frame_len)
            && self.stack[..stack] == later.stack[..stack]
            && self.frame[..frame] == later.frame[..frame]
    }

    /// Whether the two states differ in nothing but dead registers and dead bytes of the stack,
    /// such as the temporaries of unoptimised code.
    pub fn differs_only_in_dead(&self, later: &LoopHead) -> bool {
        let dead_from =
            |start: usize| move |index: usize| liveness::is_dead(&later.registers, later.op().pc, start + index);
        let ((sp, _), (frame, _)) = windows(&later.registers);
        liveness::are_alike(&self.registers, &later.registers, later.op().pc)
            && self.far == later.far
            && (self.stack_len, self.frame_len) == (later.stack_len, later.frame_len)
            && differences(&self.stack, &later.stack, later.stack_len).all(dead_from(sp))
            && differences(&self.frame, &later.frame, later.frame_len).all(dead_from(frame))
    }
}

/// Where the two copies of a part of the stack differ.
fn differences(earlier: &[u8], later: &[u8], len: u16) -> impl Iterator<Item = usize> {
    let both = earlier.iter().zip(later).take(usize::from(len));
    both.enumerate().filter(|(_, (a, b))| a != b).map(|(index, _)| index)
}

/// The states before a thread's last reads, recorded once a return to a read was seen.
pub struct LoopCandidates {
    /// The states, in the order of [`ReadSites`].
    pub heads: [LoopHead; HISTORY],
    /// Data that the thread has read since it last made progress.
    pub read_set: ReadSet,
}

impl LoopCandidates {
    /// None yet.
    pub const fn new() -> Self {
        LoopCandidates { heads: [LoopHead::UNUSED; HISTORY], read_set: ReadSet::EMPTY }
    }

    /// Where the first round of the loop starts whose proven round starts at `index` and ends
    /// before `len`. Earlier rounds may differ from the proven one only in what is dead: they made
    /// no progress either.
    pub fn first_round(&self, index: usize, len: usize) -> usize {
        let length = len - index;
        let mut first = index;
        while first >= length {
            let (earlier, later) = (&self.heads[first - length], &self.heads[first]);
            if earlier.op().pc != later.op().pc || !earlier.differs_only_in_dead(later) {
                break;
            }
            first -= length;
        }
        first
    }

    /// Transitions that the thread had made at the two reads.
    pub fn steps(&self, earlier: usize, later: usize) -> [u32; 2] {
        [self.heads[earlier].steps, self.heads[later].steps]
    }

    /// Whether mutexes were locked or unlocked between the two reads.
    pub fn locks_between(&self, earlier: usize, later: usize) -> bool {
        self.heads[earlier].lock_operations != self.heads[later].lock_operations
    }
}

/// The two windows of the stack that a loop's variables live in, for these registers: address and
/// length of each.
pub fn windows(registers: &Registers) -> ((usize, usize), (usize, usize)) {
    let (low, high) = run().hot.stack;
    let sp = registers.sp as usize;
    let above = if low <= sp && sp < high { (high - sp).min(ABOVE_STACK_POINTER) } else { 0 };
    let frame = registers.frame_pointer();
    let below = if sp < frame && frame < high { (frame - sp).min(BELOW_FRAME_POINTER) } else { 0 };
    ((sp, above), (frame - below, below))
}

/// Hash of the running thread's stack from there on.
fn further_up(start: usize) -> u64 {
    let end = run().hot.stack.1.min(start + FURTHER_UP);
    let words = (start.next_multiple_of(8)..end.saturating_sub(7)).step_by(8);
    // SAFETY: the words lie within the running thread's stack.
    words.fold(0, |hash, word| mix(hash ^ unsafe { *(word as *const u64) }))
}
