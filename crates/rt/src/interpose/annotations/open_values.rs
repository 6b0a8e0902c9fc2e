//! Values that the program leaves open: each call is a choice of the search among the values that
//! the host names for the type. Without raddle the first of the usual ones, 0, is returned.

use core::sync::atomic::Ordering;

use raddle_vocab::{Failure, OpKind, OpenType, Outcome};

use crate::arch::entry::export;
use crate::interpose::process::failure::stop_thread;
use crate::sched;
use crate::state::{AnnouncedOp, controlled, process};
use crate::trace::hooks;

/// The values of a type, at least one.
fn values(of: OpenType) -> &'static [i64] {
    // SAFETY: the control page stays mapped; the host wrote the table before the target started.
    let control = unsafe { &*process().control };
    control.open_types.fetch_or(1 << of as u32, Ordering::Relaxed);
    let [first, count] = control.open_spans[of as usize];
    let all = &control.open_values[..];
    all.get(first as usize..first.saturating_add(count) as usize).filter(|some| !some.is_empty()).unwrap_or(&[0])
}

/// Chooses one of so many values; `value` is what the program gets.
pub fn choose(count: usize, pc: u64, value: impl Fn(usize) -> i64) -> i64 {
    if count == 1 {
        return value(0);
    }
    let op = AnnouncedOp::new(OpKind::Choose, 0, count as u64, pc);
    sched::arrive(op);
    let chosen = sched::choice(count);
    sched::commit(&op, Outcome::Done, chosen as u64, value(chosen) as u64);
    value(chosen)
}

fn open(of: OpenType, pc: u64) -> i64 {
    if !controlled() {
        return 0;
    }
    let values = values(of);
    choose(values.len(), pc, |number| values[number])
}

/// A number below `count`; every one of them is explored.
extern "C" fn below(count: u32, pc: u64) -> u32 {
    if !controlled() || count < 2 {
        return 0;
    }
    if count >= u32::from(raddle_wire::NO_CHOICE) {
        stop_thread(Failure::Assertion, 0, pc, b"RADDLE_CHOOSE among more than 65534 values");
    }
    choose(count as usize, pc, |number| number as i64) as u32
}

/// Bytes of any content: all of them get the same value.
extern "C" fn memory(address: u64, size: u64, pc: u64) {
    if !controlled() || size == 0 {
        return;
    }
    let value = open(OpenType::Memory, pc) as u8;
    hooks::range(raddle_wire::record::WRITE, address, size, pc);
    // SAFETY: the program asks for these bytes to be overwritten; a wrong address faults as a
    // write of its own would.
    unsafe { core::ptr::write_bytes(address as *mut u8, value, size as usize) };
}

macro_rules! integers {
    ($($function:ident: $of:ident as $type:ty => $($name:ident)*;)*) => {$(
        extern "C" fn $function(pc: u64) -> $type {
            open(OpenType::$of, pc) as $type
        }
        $(export!($name, 0 => $function);)*
    )*};
}

integers! {
    char: Char as i8 => __VERIFIER_nondet_char __VERIFIER_nondet_s8;
    uchar: UChar as u8 => __VERIFIER_nondet_uchar __VERIFIER_nondet_u8 __VERIFIER_nondet_unsigned_char;
    short: Short as i16 => __VERIFIER_nondet_short __VERIFIER_nondet_s16;
    ushort: UShort as u16 => __VERIFIER_nondet_ushort __VERIFIER_nondet_u16;
    int: Int as i32 => __VERIFIER_nondet_int __VERIFIER_nondet_s32;
    uint: UInt as u32 => __VERIFIER_nondet_uint __VERIFIER_nondet_u32 __VERIFIER_nondet_unsigned
        __VERIFIER_nondet_unsigned_int;
    long: Long as i64 => __VERIFIER_nondet_long __VERIFIER_nondet_loff_t __VERIFIER_nondet_off_t;
    ulong: ULong as u64 => __VERIFIER_nondet_ulong __VERIFIER_nondet_size_t __VERIFIER_nondet_sector_t
        __VERIFIER_nondet_pthread_t;
    longlong: LongLong as i64 => __VERIFIER_nondet_longlong __VERIFIER_nondet_s64;
    ulonglong: ULongLong as u64 => __VERIFIER_nondet_ulonglong __VERIFIER_nondet_u64;
    int128: LongLong as i128 => __VERIFIER_nondet_int128;
    uint128: ULongLong as u128 => __VERIFIER_nondet_uint128;
    float: Float as f32 => __VERIFIER_nondet_float;
    double: Double as f64 => __VERIFIER_nondet_double;
    pointer: Pointer as u64 => __VERIFIER_nondet_pointer __VERIFIER_nondet_pchar __VERIFIER_nondet_charp
        __VERIFIER_nondet_const_char_pointer;
}

extern "C" fn bool(pc: u64) -> i32 {
    i32::from(open(OpenType::Bool, pc) != 0)
}

export!(__VERIFIER_nondet_bool, 0 => bool);
export!(__VERIFIER_nondet_memory, 2 => memory);
export!(raddle_choose, 1 => below);
