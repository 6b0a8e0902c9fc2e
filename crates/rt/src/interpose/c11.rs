//! `<threads.h>`: the same operations under the names and with the codes of C11. The objects are
//! those of POSIX, as in glibc.

use crate::arch::entry::export;
use crate::interpose::buffers;
use crate::interpose::process::time;
use crate::interpose::sync::{cond, mutex, once};
use crate::interpose::thread::{keys, lifecycle, unwind};
use crate::state::controlled;
use crate::syscall::libc_real::real;

const SUCCESS: i32 = 0;
const BUSY: i32 = 1;
const ERROR: i32 = 2;
const NO_MEMORY: i32 = 3;
const TIMED_OUT: i32 = 4;

/// The code of C11 for one of POSIX.
fn code(posix: i32) -> i32 {
    match posix {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM | libc::EAGAIN => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

real! { hidden:
    fn thrd_create(handle: *mut u64, entry: usize, argument: usize) -> i32;
    fn thrd_join(thread: u64, result: *mut i32) -> i32;
    fn thrd_detach(thread: u64) -> i32;
    fn thrd_exit(result: i32);
    fn thrd_sleep(span: *const libc::timespec, left: *mut libc::timespec) -> i32;
    fn mtx_init(mutex: u64, kind: i32) -> i32;
    fn mtx_destroy(mutex: u64);
    fn mtx_lock(mutex: u64) -> i32;
    fn mtx_trylock(mutex: u64) -> i32;
    fn mtx_timedlock(mutex: u64, until: *const libc::timespec) -> i32;
    fn mtx_unlock(mutex: u64) -> i32;
    fn cnd_init(cond: u64) -> i32;
    fn cnd_destroy(cond: u64);
    fn cnd_wait(cond: u64, mutex: u64) -> i32;
    fn cnd_timedwait(cond: u64, mutex: u64, until: *const libc::timespec) -> i32;
    fn cnd_signal(cond: u64) -> i32;
    fn cnd_broadcast(cond: u64) -> i32;
    fn tss_create(key: *mut u32, destructor: usize) -> i32;
    fn tss_delete(key: u32);
    fn tss_set(key: u32, value: usize) -> i32;
    fn tss_get(key: u32) -> usize;
    fn call_once(flag: u64, routine: usize);
}

/// Calls the C library without the host, and the operation of POSIX otherwise.
macro_rules! same_as_posix {
    ($(extern $name:ident($($arg:ident: $type:ty),*) as $body:ident => $posix:path;)*) => {
        $(
            extern "C-unwind" fn $body($($arg: $type,)* pc: u64) -> i32 {
                if controlled() {
                    code($posix($($arg,)* pc))
                } else {
                    // SAFETY: passes on what the caller gave.
                    unsafe { hidden::$name($($arg),*) }
                }
            }
        )*
    };
}

same_as_posix! {
    extern thrd_detach(thread: u64) as thread_detach => lifecycle::detach;
    extern mtx_lock(mutex: u64) as mutex_lock => mutex::lock;
    extern mtx_trylock(mutex: u64) as mutex_trylock => mutex::trylock;
    extern mtx_timedlock(mutex: u64, until: *const libc::timespec) as mutex_timedlock => mutex::timedlock;
    extern mtx_unlock(mutex: u64) as mutex_unlock => mutex::unlock;
    extern cnd_wait(cond: u64, mutex: u64) as cond_wait => cond::wait;
    extern cnd_timedwait(cond: u64, mutex: u64, until: *const libc::timespec) as cond_timedwait => cond::timedwait;
    extern cnd_signal(cond: u64) as cond_signal => cond::signal;
    extern cnd_broadcast(cond: u64) as cond_broadcast => cond::broadcast;
    extern tss_create(key: *mut u32, destructor: usize) as key_create => keys::create;
    extern tss_set(key: u32, value: usize) as key_set => keys::set;
}

/// The start function returns an `int`. This differs from a pointer only in the upper half of the
/// register, which `thrd_join` drops.
extern "C" fn thread_create(handle: *mut u64, entry: usize, argument: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::thrd_create(handle, entry, argument) };
    }
    code(lifecycle::create(handle, core::ptr::null(), entry, argument, pc))
}

extern "C-unwind" fn thread_join(thread: u64, result: *mut i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::thrd_join(thread, result) };
    }
    let mut returned = 0usize;
    let posix = lifecycle::join(thread, &raw mut returned, pc);
    if posix == 0 && !result.is_null() {
        // SAFETY: the caller passes room for the result.
        unsafe { *result = returned as i32 };
        buffers::writes(result as usize, size_of::<i32>(), pc);
    }
    code(posix)
}

extern "C-unwind" fn thread_exit(result: i32, _pc: u64) {
    if controlled() {
        unwind::exit_thread(result as usize);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::thrd_exit(result) };
}

extern "C-unwind" fn thread_sleep(span: *const libc::timespec, left: *mut libc::timespec, pc: u64) -> i32 {
    const INVALID: i32 = -2;
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::thrd_sleep(span, left) };
    }
    if time::sleep_span(span, pc) == 0 { 0 } else { INVALID }
}

extern "C" fn mutex_init(address: u64, kind: i32, pc: u64) -> i32 {
    const RECURSIVE: i32 = 1;
    const TIMED: i32 = 2;
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mtx_init(address, kind) };
    }
    if kind & !(RECURSIVE | TIMED) != 0 {
        return ERROR;
    }
    mutex::init_as(address, u32::from(kind & RECURSIVE != 0), pc);
    SUCCESS
}

extern "C" fn mutex_destroy(address: u64, pc: u64) {
    if controlled() {
        mutex::destroy(address, pc);
    } else {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::mtx_destroy(address) };
    }
}

extern "C" fn cond_init(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::cnd_init(address) };
    }
    cond::start(address, pc);
    SUCCESS
}

extern "C" fn cond_destroy(address: u64, pc: u64) {
    if controlled() {
        cond::destroy(address, pc);
    } else {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::cnd_destroy(address) };
    }
}

extern "C" fn key_delete(key: u32, pc: u64) {
    if controlled() {
        keys::delete(key, pc);
    } else {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::tss_delete(key) };
    }
}

extern "C" fn key_get(key: u32, pc: u64) -> usize {
    if controlled() {
        keys::get(key, pc)
    } else {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::tss_get(key) }
    }
}

extern "C-unwind" fn run_once(flag: u64, routine: usize, pc: u64) {
    if controlled() {
        once::once(flag, routine, pc);
    } else {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::call_once(flag, routine) };
    }
}

export!(thrd_create, 3 => thread_create);
export!(thrd_join, 2 => thread_join);
export!(thrd_detach, 1 => thread_detach);
export!(thrd_exit, 1 => thread_exit);
export!(thrd_sleep, 2 => thread_sleep);
export!(mtx_init, 2 => mutex_init);
export!(mtx_destroy, 1 => mutex_destroy);
export!(mtx_lock, 1 => mutex_lock);
export!(mtx_trylock, 1 => mutex_trylock);
export!(mtx_timedlock, 2 => mutex_timedlock);
export!(mtx_unlock, 1 => mutex_unlock);
export!(cnd_init, 1 => cond_init);
export!(cnd_destroy, 1 => cond_destroy);
export!(cnd_wait, 2 => cond_wait);
export!(cnd_timedwait, 3 => cond_timedwait);
export!(cnd_signal, 1 => cond_signal);
export!(cnd_broadcast, 1 => cond_broadcast);
export!(tss_create, 2 => key_create);
export!(tss_delete, 1 => key_delete);
export!(tss_set, 2 => key_set);
export!(tss_get, 1 => key_get);
export!(call_once, 2 => run_once);
