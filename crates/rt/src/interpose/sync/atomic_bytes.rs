//! libatomic's functions for objects of any size. Aligned objects of 1, 2, 4, 8 and 16 bytes use
//! the ordinary operations. Operations on others take a lock without the host, and are one
//! transition under control.

use core::sync::atomic::{AtomicBool, Ordering};

use raddle_vocab::{OpKind, Outcome};

use crate::arch::entry::{export, return_address};
use crate::interpose::sync::atomics::{cas, load, order, store, update_set};
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled};
use crate::state_key;
use crate::syscall::{callers, syscall};

/// Size announced for an object whose size is no power of two: wider than any word whose value the
/// host tracks, because the first 8 bytes alone do not say whether a compare-exchange succeeds.
const ODD_SIZE: u8 = 4;

/// Guards all objects that the processor cannot access atomically, without the host.
static LOCK: AtomicBool = AtomicBool::new(false);

fn with_lock<R>(action: impl FnOnce() -> R) -> R {
    while LOCK.swap(true, Ordering::Acquire) {
        // SAFETY: lets others run.
        unsafe { syscall!(libc::SYS_sched_yield) };
    }
    let result = action();
    LOCK.store(false, Ordering::Release);
    result
}

/// Calls `$call` with the integer of that size if the object is one.
macro_rules! if_word {
    ($bytes:expr, $address:expr, $word:ident => $call:expr) => {
        if $address % ($bytes as u64).max(1) == 0 {
            match $bytes {
                1 => {
                    type $word = u8;
                    return $call;
                }
                2 => {
                    type $word = u16;
                    return $call;
                }
                4 => {
                    type $word = u32;
                    return $call;
                }
                8 => {
                    type $word = u64;
                    return $call;
                }
                16 => {
                    type $word = u128;
                    return $call;
                }
                _ => {}
            }
        }
    };
}

/// The object's bytes, all of them.
fn bytes_at(address: u64, bytes: usize) -> &'static mut [u8] {
    // SAFETY: the program passes an object of this size; the reference is dropped before another
    // fiber runs.
    unsafe { core::slice::from_raw_parts_mut(address as *mut u8, bytes) }
}

/// An operation of the running thread will use these bytes.
fn hold(bytes: &[u8]) {
    bytes.chunks(8).for_each(|part| state_key::holds(low(part)));
}

/// The first bytes of an object, as a trace shows it.
fn low(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn op(kind: OpKind, address: u64, given: i32, arg: u64, pc: u64) -> AnnouncedOp {
    AnnouncedOp { kind, order: order(given), log_size: ODD_SIZE, obj: address, arg, pc }
}

extern "C" fn load_bytes(bytes: usize, address: u64, result: u64, given: i32, pc: u64) {
    // SAFETY: the caller's variable has room for the value.
    if_word!(bytes, address, W => unsafe { (result as *mut W).write_unaligned(load::<W>(address, given, pc)) });
    if !controlled() {
        return with_lock(|| bytes_at(result, bytes).copy_from_slice(bytes_at(address, bytes)));
    }
    let op = op(OpKind::AtomicLoad, address, given, 0, pc);
    sched::arrive(op);
    virtual_time::observe(address);
    bytes_at(result, bytes).copy_from_slice(bytes_at(address, bytes));
    sched::commit(&op, Outcome::Done, low(bytes_at(address, bytes)), 0);
}

extern "C" fn store_bytes(bytes: usize, address: u64, value: u64, given: i32, pc: u64) {
    // SAFETY: the caller's variable holds the value.
    if_word!(bytes, address, W => store::<W>(address, unsafe { (value as *const W).read_unaligned() }, given, pc));
    if !controlled() {
        return with_lock(|| bytes_at(address, bytes).copy_from_slice(bytes_at(value, bytes)));
    }
    let op = op(OpKind::AtomicStore, address, given, callers::continues_sequences(pc).into(), pc);
    hold(bytes_at(value, bytes));
    sched::arrive(op);
    let old = low(bytes_at(address, bytes));
    bytes_at(address, bytes).copy_from_slice(bytes_at(value, bytes));
    written(&op, bytes, old);
}

fn written(op: &AnnouncedOp, bytes: usize, old: u64) {
    virtual_time::publish(op.obj);
    sched::commit(op, Outcome::Done, low(bytes_at(op.obj, bytes)), old);
}

/// Puts `value` into the object and what was there into `result`; the two may be the same.
fn swap(bytes: usize, address: u64, value: u64, result: u64) {
    for index in 0..bytes {
        let old = bytes_at(address, bytes)[index];
        bytes_at(address, bytes)[index] = bytes_at(value, bytes)[index];
        bytes_at(result, bytes)[index] = old;
    }
}

extern "C" fn exchange_bytes(bytes: usize, address: u64, value: u64, result: u64, given: i32, pc: u64) {
    // SAFETY: the caller's variables hold the value and have room for the result.
    if_word!(bytes, address, W => unsafe {
        let old = update_set::<W>(address, (value as *const W).read_unaligned(), given, pc);
        (result as *mut W).write_unaligned(old);
    });
    if !controlled() {
        return with_lock(|| swap(bytes, address, value, result));
    }
    let op = op(OpKind::AtomicRmw, address, given, 0, pc);
    hold(bytes_at(value, bytes));
    sched::arrive(op);
    virtual_time::observe(address);
    let old = low(bytes_at(address, bytes));
    swap(bytes, address, value, result);
    written(&op, bytes, old);
}

extern "C" fn cas_bytes(bytes: usize, address: u64, expected: u64, desired: u64, success: i32, failure: i32) -> i32 {
    let pc = return_address();
    if_word!(bytes, address, W => {
        // SAFETY: the caller's variable holds the value.
        let desired = unsafe { (desired as *const W).read_unaligned() };
        cas::<W>(address, expected as *mut W, desired, success, failure, pc)
    });
    if !controlled() {
        return with_lock(|| i32::from(exchange_if_equal(bytes, address, expected, desired)));
    }
    let mut op = op(OpKind::AtomicCas, address, success, low(bytes_at(expected, bytes)), pc);
    hold(bytes_at(expected, bytes));
    hold(bytes_at(desired, bytes));
    sched::arrive(op);
    virtual_time::observe(address);
    let old = low(bytes_at(address, bytes));
    if exchange_if_equal(bytes, address, expected, desired) {
        written(&op, bytes, old);
        return 1;
    }
    op.order = order(failure);
    sched::commit(&op, Outcome::Failed, 0, old);
    0
}

/// A compare-exchange; nothing runs at the same time.
fn exchange_if_equal(bytes: usize, address: u64, expected: u64, desired: u64) -> bool {
    let equal = bytes_at(address, bytes) == bytes_at(expected, bytes);
    let (to, from) = if equal { (address, desired) } else { (expected, address) };
    bytes_at(to, bytes).copy_from_slice(bytes_at(from, bytes));
    equal
}

export!(__atomic_load, 4 => load_bytes);
export!(__atomic_store, 4 => store_bytes);
export!(__atomic_exchange, 5 => exchange_bytes);
export!(__atomic_compare_exchange, many => cas_bytes);
