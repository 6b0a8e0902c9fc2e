//! Numbers, times and other values that are read from memory or stored where the caller says.

use core::ffi::{c_char, c_void};

use super::{changes, counts, reads, reads_text, writes, writes_text};
use crate::arch::entry::export;
use crate::interpose::before::before;
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;

real! { hidden:
    fn strtol(text: *const c_char, end: *mut usize, base: i32) -> i64;
    fn strtod(text: *const c_char, end: *mut usize) -> f64;
    fn strftime(into: *mut c_char, most: usize, format: *const c_char, time: *const c_void) -> usize;
    fn localtime(clock: *const i64) -> *mut c_void;
    fn gmtime(clock: *const i64) -> *mut c_void;
    fn ctime(clock: *const i64) -> *mut c_char;
    fn asctime(time: *const c_void) -> *mut c_char;
    fn __xpg_strerror_r(number: i32, into: *mut c_char, bytes: usize) -> i32;
    fn strerror_r(number: i32, into: *mut c_char, bytes: usize) -> *mut c_char;
}

/// Bytes of a `struct tm`, of a `time_t`, and of the text that `asctime` writes.
const PARTS: usize = size_of::<libc::tm>();
const CLOCK: usize = 8;
const TEXT: usize = 26;

/// The call reads a number up to the first character that does not belong to it.
fn reads_number(text: usize, find_end: impl Fn(*const c_char, *mut usize), pc: u64) {
    if counts(text, pc) {
        // SAFETY: errno of the running thread.
        let before = unsafe { *libc::__errno_location() };
        let mut end = text;
        find_end(text as *const c_char, &raw mut end);
        set_errno(before);
        reads(text, end.saturating_sub(text) + 1, pc);
    }
}

fn reads_integer(text: usize, base: usize, pc: u64) {
    // SAFETY: the program passes a C string and a base; the end is a local.
    reads_number(text, |text, end| _ = unsafe { hidden::strtol(text, end, base as i32) }, pc);
}

fn reads_fraction(text: usize, pc: u64) {
    // SAFETY: the program passes a C string; the end is a local.
    reads_number(text, |text, end| _ = unsafe { hidden::strtod(text, end) }, pc);
}

extern "C" fn format_time(
    into: *mut c_char,
    most: usize,
    format: *const c_char,
    time: *const c_void,
    pc: u64,
) -> usize {
    reads_text(format as usize, pc);
    reads(time as usize, PARTS, pc);
    // SAFETY: passes on what the caller gave.
    let written = unsafe { hidden::strftime(into, most, format, time) };
    if written > 0 {
        writes(into as usize, written + 1, pc);
    }
    written
}

/// Functions whose result lies in memory that all threads share.
macro_rules! shared_results {
    ($($name:ident: $from:ty [$read:expr] => $into:ty [$written:expr];)*) => { $(
        const _: () = {
            extern "C" fn body(from: *const $from, pc: u64) -> *mut $into {
                reads(from as usize, $read, pc);
                // SAFETY: passes on what the caller gave.
                let result = unsafe { hidden::$name(from) };
                writes(result as usize, $written, pc);
                result
            }
            export!($name, 1 => body);
        };
    )* };
}

shared_results! {
    localtime: i64 [CLOCK] => c_void [PARTS];
    gmtime: i64 [CLOCK] => c_void [PARTS];
    ctime: i64 [CLOCK] => c_char [TEXT];
    asctime: c_void [PARTS] => c_char [TEXT];
}

extern "C" fn describe_error(number: i32, into: *mut c_char, bytes: usize, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::__xpg_strerror_r(number, into, bytes) };
    if bytes > 0 {
        writes_text(into as usize, pc);
    }
    result
}

/// The GNU variant has a text of its own for most numbers.
extern "C" fn describe_error_somewhere(number: i32, into: *mut c_char, bytes: usize, pc: u64) -> *mut c_char {
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::strerror_r(number, into, bytes) };
    if bytes > 0 && result == into {
        writes_text(into as usize, pc);
    }
    result
}

export!(strftime, 4 => format_time);
export!(__xpg_strerror_r, 3 => describe_error);
export!(strerror_r, 3 => describe_error_somewhere);

before! {
    atoi atol atoll => |a, pc| reads_integer(a[0], 10, pc);
    strtol strtoll strtoul strtoull strtoimax strtoumax __isoc23_strtol __isoc23_strtoll __isoc23_strtoul
        __isoc23_strtoull => |a, pc| { reads_integer(a[0], a[2], pc); writes(a[1], 8, pc); };
    atof => |a, pc| reads_fraction(a[0], pc);
    strtod strtof strtold => |a, pc| { reads_fraction(a[0], pc); writes(a[1], 8, pc); };
    localtime_r gmtime_r => |a, pc| { reads(a[0], CLOCK, pc); writes(a[1], PARTS, pc); };
    ctime_r => |a, pc| { reads(a[0], CLOCK, pc); writes(a[1], TEXT, pc); };
    asctime_r => |a, pc| { reads(a[0], PARTS, pc); writes(a[1], TEXT, pc); };
    mktime timegm => |a, pc| changes(a[0], PARTS, pc);
    rand_r => |a, pc| changes(a[0], 4, pc);
    frexp frexpf => |a, pc| writes(a[0], 4, pc);
    modf => |a, pc| writes(a[0], 8, pc);
    modff => |a, pc| writes(a[0], 4, pc);
}
