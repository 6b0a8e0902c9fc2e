//! Annotations of locks that the program implements itself, and further annotations without effect.
//!
//! An annotated lock orders what is before its release and what is after its next acquisition.
//! Whether it excludes is up to the program: the atomics that it is made of are modelled as well.
//! What the annotations say must fit together: a lock is released by the thread that has acquired
//! it, is not acquired while another thread holds it, and is free at its end.

use core::ffi::c_char;

use raddle_vocab::Misuse;

use crate::arch::entry::export;
use crate::interpose::annotations::{acquire, release};
use crate::interpose::process::couriers;
use crate::state::{controlled, run};
use crate::trace;

/// Flags of `__tsan_mutex_*`.
mod flag {
    /// The lock is a static variable: its destruction does not count.
    pub const LINKER_INIT: u32 = 1 << 0;
    pub const READ_LOCK: u32 = 1 << 3;
    /// A failed try has acquired nothing.
    pub const TRY_LOCK_FAILED: u32 = 1 << 5;
    /// The destruction counts only if the creation had this flag, too.
    pub const NOT_STATIC: u32 = 1 << 8;
}

/// Locks that are known at a time, at most. Others order, but are not checked.
const MOST: usize = 256;

/// A lock, as the annotations tell of it.
#[derive(Clone, Copy)]
struct AnnouncedLock {
    address: u64,
    /// Number of the thread that writes, plus 1.
    writer: u16,
    /// How often the writer has acquired it.
    depth: u16,
    readers: u16,
    /// Of its creation.
    flags: u16,
}

impl AnnouncedLock {
    const fn new(address: u64, flags: u32) -> Self {
        AnnouncedLock { address, writer: 0, depth: 0, readers: 0, flags: flags as u16 }
    }

    fn other_writer(&self, me: u16) -> bool {
        self.writer != 0 && self.writer != me
    }
}

/// The locks of one run.
pub struct AnnouncedLocks {
    all: [AnnouncedLock; MOST],
    len: usize,
}

impl AnnouncedLocks {
    /// None.
    pub const NEW: AnnouncedLocks = AnnouncedLocks { all: [AnnouncedLock::new(0, 0); MOST], len: 0 };

    fn position(&self, address: u64) -> Option<usize> {
        self.all[..self.len].iter().position(|lock| lock.address == address)
    }

    /// The lock at this address, which may be a new one.
    fn at(&mut self, address: u64) -> Option<&mut AnnouncedLock> {
        let position = self.position(address).unwrap_or(self.len);
        if position == self.len && self.len < MOST {
            self.all[position] = AnnouncedLock::new(address, 0);
            self.len += 1;
        }
        self.all[..self.len].get_mut(position)
    }

    fn remove(&mut self, address: u64) -> Option<AnnouncedLock> {
        let position = self.position(address)?;
        self.len -= 1;
        self.all.swap(position, self.len);
        Some(self.all[self.len])
    }
}

fn me() -> u16 {
    couriers::self_id() + 1
}

fn created(address: u64, flags: u32) {
    if controlled()
        && let Some(lock) = run().announced_locks.at(address)
    {
        // A static variable may be in use before its constructor has run.
        let is_static = flags & flag::LINKER_INIT != 0;
        let before = if is_static { *lock } else { AnnouncedLock::new(address, 0) };
        *lock = AnnouncedLock { flags: flags as u16, ..before };
    }
}

fn destroyed(address: u64, flags: u32, pc: u64) {
    if !controlled() {
        return;
    }
    let Some(lock) = run().announced_locks.at(address) else { return };
    let created = u32::from(lock.flags);
    if (flags | created) & flag::LINKER_INIT != 0 || flags & flag::NOT_STATIC & !created != 0 {
        // Static variables are in use behind their destructors, too.
        return;
    }
    let Some(lock) = run().announced_locks.remove(address) else { return };
    if lock.writer != 0 || lock.readers != 0 {
        trace::misuse(Misuse::DestroyLocked, address, u64::from(lock.writer.wrapping_sub(1)), pc);
    }
}

/// The running thread has acquired the lock.
fn acquired_as(address: u64, writes: bool, pc: u64) {
    acquire(address, pc);
    if !controlled() {
        return;
    }
    let me = me();
    let Some(lock) = run().announced_locks.at(address) else { return };
    let is_taken = if writes { lock.other_writer(me) } else { lock.writer != 0 };
    let holder = lock.writer;
    if writes {
        lock.depth = if lock.writer == me { lock.depth + 1 } else { 1 };
        lock.writer = me;
    } else {
        lock.readers = lock.readers.saturating_add(1);
    }
    if is_taken {
        trace::misuse(Misuse::LockNotFree, address, u64::from(holder - 1), pc);
    }
}

/// The running thread is about to release the lock.
fn released_as(address: u64, writes: bool, pc: u64) {
    release(address, pc);
    if !controlled() {
        return;
    }
    let me = me();
    let Some(lock) = run().announced_locks.at(address) else { return };
    let holder = lock.writer;
    let is_held = if writes { holder == me } else { lock.readers > 0 };
    if !writes && is_held {
        lock.readers -= 1;
    } else if holder != me || lock.depth <= 1 {
        (lock.writer, lock.depth) = (0, 0);
    } else {
        lock.depth -= 1;
    }
    if !is_held {
        let misuse = if writes && holder != 0 { Misuse::UnlockNotOwner } else { Misuse::UnlockNotLocked };
        trace::misuse(misuse, address, u64::from(holder.wrapping_sub(1)), pc);
    }
}

extern "C" fn acquired(_file: *const c_char, _line: i32, lock: u64, writes: i64, pc: u64) {
    acquired_as(lock, writes as i32 != 0, pc);
}

extern "C" fn released(_file: *const c_char, _line: i32, lock: u64, writes: i64, pc: u64) {
    released_as(lock, writes as i32 != 0, pc);
}

extern "C" fn announce(_file: *const c_char, _line: i32, lock: u64) {
    created(lock, 0);
}

extern "C" fn announce_static(_file: *const c_char, _line: i32, lock: u64) {
    created(lock, flag::LINKER_INIT);
}

extern "C" fn end(_file: *const c_char, _line: i32, lock: u64, pc: u64) {
    destroyed(lock, 0, pc);
}

extern "C" fn create(lock: u64, flags: u32) {
    created(lock, flags);
}

extern "C" fn destroy(lock: u64, flags: u32, pc: u64) {
    destroyed(lock, flags, pc);
}

extern "C" fn post_lock(lock: u64, flags: u32, _recursion: i32, pc: u64) {
    if flags & flag::TRY_LOCK_FAILED == 0 {
        acquired_as(lock, flags & flag::READ_LOCK == 0, pc);
    }
}

extern "C" fn pre_unlock(lock: u64, flags: u32, pc: u64) -> i32 {
    released_as(lock, flags & flag::READ_LOCK == 0, pc);
    0
}

extern "C" fn nothing() -> i32 {
    0
}

export!(AnnotateRWLockAcquired, 4 => acquired);
export!(AnnotateRWLockReleased, 4 => released);
export!(AnnotateRWLockCreate, 3 => announce);
export!(AnnotateRWLockCreateStatic, 3 => announce_static);
export!(AnnotateRWLockDestroy, 3 => end);
export!(AnnotateFlushState, 2 => nothing);
export!(AnnotateNewMemory, 4 => nothing);
export!(AnnotateNoOp, 3 => nothing);
export!(AnnotateFlushExpectedRaces, 2 => nothing);
export!(AnnotateEnableRaceDetection, 3 => nothing);
export!(AnnotateMutexIsUsedAsCondVar, 3 => nothing);
export!(AnnotatePCQGet, 3 => nothing);
export!(AnnotatePCQPut, 3 => nothing);
export!(AnnotatePCQDestroy, 3 => nothing);
export!(AnnotatePCQCreate, 3 => nothing);
export!(AnnotateExpectRace, 4 => nothing);
export!(AnnotatePublishMemoryRange, 4 => nothing);
export!(AnnotateUnpublishMemoryRange, 4 => nothing);
export!(AnnotateTraceMemory, 3 => nothing);
export!(AnnotateThreadName, 3 => nothing);
export!(AnnotateIgnoreSyncBegin, 2 => nothing);
export!(AnnotateIgnoreSyncEnd, 2 => nothing);
export!(AnnotateCondVarWait, 4 => nothing);
export!(AnnotateCondVarSignal, 3 => nothing);
export!(AnnotateCondVarSignalAll, 3 => nothing);
export!(__tsan_mutex_create, 2 => create);
export!(__tsan_mutex_destroy, 2 => destroy);
export!(__tsan_mutex_pre_lock, 2 => nothing);
export!(__tsan_mutex_post_lock, 3 => post_lock);
export!(__tsan_mutex_pre_unlock, 2 => pre_unlock);
export!(__tsan_mutex_post_unlock, 2 => nothing);
export!(__tsan_mutex_pre_signal, 2 => nothing);
export!(__tsan_mutex_post_signal, 2 => nothing);
export!(__tsan_mutex_pre_divert, 2 => nothing);
export!(__tsan_mutex_post_divert, 2 => nothing);
