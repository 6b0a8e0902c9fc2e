//! Annotations of locks that the program implements itself, and further annotations without effect.
//!
//! An annotated lock orders what is before its release and what is after its next acquisition.
//! Whether it excludes is up to the program: the atomics that it is made of are modelled as well.

use core::ffi::c_char;

use crate::arch::entry::export;
use crate::interpose::annotations::{acquire, release};

extern "C" fn acquired(_file: *const c_char, _line: i32, lock: u64, _writes: i64, pc: u64) {
    acquire(lock, pc);
}

extern "C" fn released(_file: *const c_char, _line: i32, lock: u64, _writes: i64, pc: u64) {
    release(lock, pc);
}

/// A failed try has acquired nothing.
const TRY_LOCK_FAILED: u32 = 1 << 5;

extern "C" fn post_lock(lock: u64, flags: u32, _recursion: i32, pc: u64) {
    if flags & TRY_LOCK_FAILED == 0 {
        acquire(lock, pc);
    }
}

extern "C" fn pre_unlock(lock: u64, _flags: u32, pc: u64) -> i32 {
    release(lock, pc);
    0
}

extern "C" fn nothing() -> i32 {
    0
}

export!(AnnotateRWLockAcquired, 4 => acquired);
export!(AnnotateRWLockReleased, 4 => released);
export!(AnnotateRWLockCreate, 3 => nothing);
export!(AnnotateRWLockCreateStatic, 3 => nothing);
export!(AnnotateRWLockDestroy, 3 => nothing);
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
export!(__tsan_mutex_create, 2 => nothing);
export!(__tsan_mutex_destroy, 2 => nothing);
export!(__tsan_mutex_pre_lock, 2 => nothing);
export!(__tsan_mutex_post_lock, 3 => post_lock);
export!(__tsan_mutex_pre_unlock, 2 => pre_unlock);
export!(__tsan_mutex_post_unlock, 2 => nothing);
export!(__tsan_mutex_pre_signal, 2 => nothing);
export!(__tsan_mutex_post_signal, 2 => nothing);
export!(__tsan_mutex_pre_divert, 2 => nothing);
export!(__tsan_mutex_post_divert, 2 => nothing);
