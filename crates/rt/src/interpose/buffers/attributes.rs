//! Objects that hold attributes: setting them is a write, asking them is a read, and what they say
//! is written where the caller wants it.

use super::{reads, writes};
use crate::interpose::before::before;

/// Bytes of the attribute objects, all of which the C library may access.
const THREAD: usize = size_of::<libc::pthread_attr_t>();
const MUTEX: usize = size_of::<libc::pthread_mutexattr_t>();
const COND: usize = size_of::<libc::pthread_condattr_t>();
const RWLOCK: usize = size_of::<libc::pthread_rwlockattr_t>();
const BARRIER: usize = size_of::<libc::pthread_barrierattr_t>();

/// Asks the object of so many bytes; the answer has `bytes`.
fn asks(object: usize, size: usize, answer: usize, bytes: usize, pc: u64) {
    reads(object, size, pc);
    writes(answer, bytes, pc);
}

/// An object is initialised with attributes, which may be none.
pub fn initialises_mutex(attributes: usize, pc: u64) {
    reads(attributes, MUTEX, pc);
}

/// As [`initialises_mutex`].
pub fn initialises_cond(attributes: usize, pc: u64) {
    reads(attributes, COND, pc);
}

/// As [`initialises_mutex`].
pub fn initialises_rwlock(attributes: usize, pc: u64) {
    reads(attributes, RWLOCK, pc);
}

/// As [`initialises_mutex`].
pub fn initialises_barrier(attributes: usize, pc: u64) {
    reads(attributes, BARRIER, pc);
}

before! {
    pthread_attr_init pthread_attr_destroy pthread_attr_setdetachstate pthread_attr_setguardsize
        pthread_attr_setinheritsched pthread_attr_setschedparam pthread_attr_setschedpolicy pthread_attr_setscope
        pthread_attr_setstack pthread_attr_setstacksize => |a, pc| writes(a[0], THREAD, pc);
    pthread_attr_getdetachstate pthread_attr_getinheritsched pthread_attr_getschedpolicy pthread_attr_getscope
        => |a, pc| asks(a[0], THREAD, a[1], 4, pc);
    pthread_attr_getguardsize pthread_attr_getstacksize => |a, pc| asks(a[0], THREAD, a[1], 8, pc);
    pthread_attr_getstack => |a, pc| { asks(a[0], THREAD, a[1], 8, pc); writes(a[2], 8, pc); };
    pthread_attr_getschedparam => |a, pc| asks(a[0], THREAD, a[1], 4, pc);
    pthread_mutexattr_init pthread_mutexattr_destroy pthread_mutexattr_settype pthread_mutexattr_setpshared
        pthread_mutexattr_setprotocol pthread_mutexattr_setrobust => |a, pc| writes(a[0], MUTEX, pc);
    pthread_mutexattr_gettype pthread_mutexattr_getpshared pthread_mutexattr_getprotocol pthread_mutexattr_getrobust
        => |a, pc| asks(a[0], MUTEX, a[1], 4, pc);
    pthread_condattr_init pthread_condattr_destroy pthread_condattr_setclock pthread_condattr_setpshared
        => |a, pc| writes(a[0], COND, pc);
    pthread_condattr_getclock pthread_condattr_getpshared => |a, pc| asks(a[0], COND, a[1], 4, pc);
    pthread_rwlockattr_init pthread_rwlockattr_destroy pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared
        => |a, pc| writes(a[0], RWLOCK, pc);
    pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared => |a, pc| asks(a[0], RWLOCK, a[1], 4, pc);
    pthread_barrierattr_init pthread_barrierattr_destroy pthread_barrierattr_setpshared
        => |a, pc| writes(a[0], BARRIER, pc);
    pthread_barrierattr_getpshared => |a, pc| asks(a[0], BARRIER, a[1], 4, pc);
}
