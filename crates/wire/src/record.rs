//! The trace: a stream of records of 3 to 6 words of 64 bits.
//!
//! Word 0 of each: kind (8 bits), flags (8), thread (16), count (32). What follows depends on the
//! kind:
//!
//! | kind | words | 1 | 2 | 3 | 4 | 5 |
//! |---|---|---|---|---|---|---|
//! | step ([`OpKind`]), also pending | 6 | obj | pc, order, outcome | arg | value | old |
//! | [`READ`], [`WRITE`] | 3 | address | pc, size (16 bits) | | | |
//! | [`READ_RANGE`], [`WRITE_RANGE`], [`ALLOC`], [`FREE`] | 4 | address | pc | size | | |
//! | [`MAPPING`] | 4 | address | pc, [`MappingChange`](raddle_vocab::MappingChange) | size | | |
//! | [`FAILURE`] | 4 | address or code | pc, which | text length | | |
//! | [`MISUSE`] | 4 | obj | pc, which | arg | | |
//! | [`TEXT`] | 1 + n | bytes, zero-padded; count = their number | | | | |
//! | [`THREAD_NAME`] | as text | | | | | |
//! | [`STACK`] | 1 + count | return addresses | | | | |
//! | [`KEY`] | 3 | low half | high half | | | |
//! | [`AWAIT`] | 3 | state | value | | | |
//! | [`ATOMIC_DETAIL`] | 3 | operand | how | | | |
//! | [`FRAMES`] | 1 + 2 count | stack pointer, frame pointer | | | | |
//!
//! An access record with [`flag::PENDING`] was not performed: a segment stopped the thread before
//! it.
//!
//! `count` of a step or access: data accesses that the thread made since its last transition,
//! repeated ones that are not recorded included. So `(thread, transition number, count)` addresses
//! an access.

use raddle_vocab::OpKind;

/// A plain read of 1 to 65535 bytes.
pub const READ: u8 = 128;
/// A plain write.
pub const WRITE: u8 = 129;
/// A plain read of any number of bytes.
pub const READ_RANGE: u8 = 130;
/// A plain write of any number of bytes.
pub const WRITE_RANGE: u8 = 131;
/// A heap block was allocated.
pub const ALLOC: u8 = 132;
/// A heap block was freed.
pub const FREE: u8 = 133;
/// The thread failed; text follows if the length is not 0.
pub const FAILURE: u8 = 134;
/// The thread misused the library.
pub const MISUSE: u8 = 135;
/// Text that belongs to the record before it.
pub const TEXT: u8 = 137;
/// The thread got a name.
pub const THREAD_NAME: u8 = 138;
/// Return addresses on the thread's stack, innermost first, if the job asked for detail. Follows a
/// parked access, a failure, a misuse or a step, and is at the end, with [`flag::PENDING`], for
/// each thread that has not ended.
pub const STACK: u8 = 139;
/// Stack and frame pointer of the innermost frames of the stack before it, two words for each.
pub const FRAMES: u8 = 140;
/// The key of the state behind the steps before it, if the job asked for keys; 0: the state cannot
/// be compared with others. With [`flag::PENDING`]: none of the run's states can.
pub const KEY: u8 = 141;
/// About a read in a spin loop, with the state of its thread there. The step before was such a
/// read. With [`flag::AWAIT`]: the thread would only go round again if it read the value. With
/// [`flag::PENDING`], too: so it is at the end of the run.
pub const AWAIT: u8 = 142;

/// What the step before it, an atomic operation, is beside its record: how it combines or its
/// orders ([`raddle_vocab::update`]), and with what. Count: how many stores stand behind the one
/// that it read, or behind the place of its own.
pub const ATOMIC_DETAIL: u8 = 143;

/// Mapped memory has changed.
pub const MAPPING: u8 = 144;

/// Bits of the flags byte.
pub mod flag {
    /// The step was not performed: it is pending at the end of the run.
    pub const PENDING: u8 = 1;
    /// Pending: the step was not enabled in the last state.
    pub const BLOCKED: u8 = 2;
    /// The access is volatile.
    pub const VOLATILE: u8 = 4;
    /// Pending: the thread is in a spin loop, and would only go round again with the value that it
    /// would read now.
    pub const AWAIT: u8 = 8;
    /// Pending, with [`AWAIT`]: the round that it is in began with values that have changed since.
    pub const STALE: u8 = 4;
    /// Pending: the thread failed and stops for good.
    pub const FAILED: u8 = 16;
    /// Pending: the thread has ended.
    pub const ENDED: u8 = 32;
    /// A wide atomic (16 bytes): value and old hold the low halves.
    pub const WIDE: u8 = 64;
    /// Part of an atomic operation of a library or annotated as such: does not race with atomics.
    pub const ATOMIC: u8 = 128;
}

/// Set in the size of a step: the access waits while another thread is inside an atomic section.
pub const OUTSIDE: u8 = 0x80;

/// Set in the size of a step: a signal handler may interrupt the thread before it.
pub const EXPOSED: u8 = 0x40;

/// Words of a step record.
pub const STEP_WORDS: usize = 6;
/// Which of them holds the value: what was read or written, or what a pending operation found.
pub const STEP_VALUE: usize = 4;
/// Words of a plain access, key or await record.
pub const ACCESS_WORDS: usize = 3;
/// Words of range, alloc, free, failure and misuse records.
pub const LONG_WORDS: usize = 4;

/// Packs word 0.
#[must_use]
pub const fn header(kind: u8, flags: u8, tid: u16, count: u32) -> u64 {
    kind as u64 | (flags as u64) << 8 | (tid as u64) << 16 | (count as u64) << 32
}

/// Unpacks word 0: kind, flags, thread, count.
#[must_use]
pub const fn parse_header(word: u64) -> (u8, u8, u16, u32) {
    (word as u8, (word >> 8) as u8, (word >> 16) as u16, (word >> 32) as u32)
}

/// Packs a program counter with 16 further bits (user-space addresses have 48 at most).
#[must_use]
pub const fn pack_pc(pc: u64, extra: u16) -> u64 {
    pc & 0xffff_ffff_ffff | (extra as u64) << 48
}

/// Reverses [`pack_pc`].
#[must_use]
pub const fn unpack_pc(word: u64) -> (u64, u16) {
    (word & 0xffff_ffff_ffff, (word >> 48) as u16)
}

/// The 16 bits beside the pc of a step: order, outcome and log2 of the access size.
#[must_use]
pub const fn step_extra(order: u8, outcome: u8, log_size: u8) -> u16 {
    (order & 15) as u16 | ((outcome & 15) as u16) << 4 | (log_size as u16) << 8
}

/// Reverses [`step_extra`].
#[must_use]
pub const fn parse_step_extra(extra: u16) -> (u8, u8, u8) {
    ((extra & 15) as u8, (extra >> 4 & 15) as u8, (extra >> 8) as u8)
}

/// How many words the record with this header has, given its fourth word's text length where that
/// matters.
#[must_use]
pub const fn words(kind: u8, count: u32) -> Option<usize> {
    match kind {
        READ | WRITE | KEY | AWAIT | ATOMIC_DETAIL => Some(ACCESS_WORDS),
        READ_RANGE | WRITE_RANGE | ALLOC | FREE | MAPPING | FAILURE | MISUSE => Some(LONG_WORDS),
        TEXT | THREAD_NAME => Some(1 + (count as usize).div_ceil(8)),
        STACK => Some(1 + count as usize),
        FRAMES => Some(1 + 2 * count as usize),
        other => match OpKind::from_byte(other) {
            Some(_) => Some(STEP_WORDS),
            None => None,
        },
    }
}
