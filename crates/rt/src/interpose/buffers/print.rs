//! Printing: the format and the strings that it prints are read, and the text is written.

use core::ffi::{c_char, c_void};

use super::format::{Conversion, Conversions, Length};
use super::strings::reads_wide;
use super::{counts, reads_bounded, reads_text, writes, writes_text};
use crate::arch::entry::export;
use crate::arch::variadic::{ArgumentList, VariadicCall, variadic};
use crate::interpose::io::stream_locks::Locking;
use crate::interpose::io::streams;
use crate::interpose::process::couriers;
use crate::syscall::libc_real::real;

real! { hidden:
    fn vprintf(format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vfprintf(stream: *mut c_void, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vdprintf(descriptor: i32, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vsnprintf(into: *mut c_char, bytes: usize, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vsprintf(into: *mut c_char, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __vsprintf_chk(
        into: *mut c_char,
        flag: i32,
        room: usize,
        format: *const c_char,
        list: *mut ArgumentList,
    ) -> i32;
    fn __vsnprintf_chk(
        into: *mut c_char,
        bytes: usize,
        flag: i32,
        room: usize,
        format: *const c_char,
        list: *mut ArgumentList,
    ) -> i32;
    fn vasprintf(into: *mut *mut c_char, format: *const c_char, list: *mut ArgumentList) -> i32;
}

/// The call reads the format and the strings that it names.
fn reads_arguments(format: usize, mut list: ArgumentList, pc: u64) {
    if !counts(format, pc) {
        return;
    }
    reads_text(format, pc);
    let is_numbered = |conversion: Conversion| conversion.position.is_some();
    if Conversions::of(format, false).any(is_numbered) {
        return reads_numbered(format, list, pc);
    }
    for conversion in Conversions::of(format, false) {
        if conversion.star {
            list.integer();
        }
        let precision =
            if conversion.star_precision { usize::try_from(list.integer() as i32).ok() } else { conversion.precision };
        let argument = ArgumentClass::of(&conversion).take(&mut list);
        accesses(&conversion, precision, argument, pc);
    }
}

/// Arguments that a format can number.
const NUMBERED: usize = 64;

/// As [`reads_arguments`], for a format that numbers its arguments.
fn reads_numbered(format: usize, mut list: ArgumentList, pc: u64) {
    let mut classes = [ArgumentClass::Integer; NUMBERED];
    let slot = |number: Option<usize>| number.filter(|number| (1..=NUMBERED).contains(number)).map(|number| number - 1);
    let mut len = 0;
    for conversion in Conversions::of(format, false) {
        if let Some(at) = slot(conversion.position) {
            classes[at] = ArgumentClass::of(&conversion);
        }
        for at in [conversion.position, conversion.star_at, conversion.precision_at].into_iter().filter_map(slot) {
            len = len.max(at + 1);
        }
    }
    let mut values = [0; NUMBERED];
    for (value, class) in values.iter_mut().zip(classes).take(len) {
        *value = class.take(&mut list);
    }
    for conversion in Conversions::of(format, false) {
        let precision = match slot(conversion.precision_at) {
            Some(at) => usize::try_from(values[at] as i32).ok(),
            None => conversion.precision,
        };
        if let Some(at) = slot(conversion.position) {
            accesses(&conversion, precision, values[at], pc);
        }
    }
}

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentClass {
    None,
    Integer,
    Double,
    LongDouble,
}

impl ArgumentClass {
    fn of(conversion: &Conversion) -> Self {
        match conversion.letter {
            b'm' => ArgumentClass::None,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if conversion.length == Length::LongDouble => {
                ArgumentClass::LongDouble
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => ArgumentClass::Double,
            _ => ArgumentClass::Integer,
        }
    }

    /// The next argument of the list, if it is an integer or a pointer; otherwise it is passed
    /// over.
    fn take(self, list: &mut ArgumentList) -> u64 {
        match self {
            ArgumentClass::None => {}
            ArgumentClass::Integer => return list.integer(),
            ArgumentClass::Double => list.skip_double(),
            ArgumentClass::LongDouble => list.skip_long_double(),
        }
        0
    }
}

/// What a conversion of this argument accesses.
fn accesses(conversion: &Conversion, precision: Option<usize>, argument: u64, pc: u64) {
    let argument = argument as usize;
    match conversion.letter {
        b'S' => reads_wide(argument, pc),
        b's' if conversion.length == Length::Long => reads_wide(argument, pc),
        b's' => reads_bounded(argument, precision.unwrap_or(isize::MAX as usize), pc),
        b'n' => writes(argument, conversion.length.integer(), pc),
        _ => {}
    }
}

/// The call reads its arguments and writes the text, at most `bytes`.
fn prints_to(into: usize, bytes: usize, format: usize, list: &ArgumentList, pc: u64) {
    reads_arguments(format, *list, pc);
    if counts(into, pc) {
        let mut copy = *list;
        // SAFETY: no byte is written; the list is a copy of the caller's.
        let len = unsafe { hidden::vsnprintf(core::ptr::null_mut(), 0, format as *const c_char, &raw mut copy) };
        let written = usize::try_from(len).map_or(0, |len| len + 1);
        writes(into, written.min(bytes), pc);
    }
}

/// As `vsprintf`.
fn print(into: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    prints_to(into, usize::MAX, format, list, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::vsprintf(into as *mut c_char, format as *const c_char, list) }
}

/// As `vsnprintf`.
fn print_bounded(into: usize, bytes: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    prints_to(into, bytes, format, list, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::vsnprintf(into as *mut c_char, bytes, format as *const c_char, list) }
}

/// As `__vsprintf_chk`.
fn print_checked(into: usize, flag: usize, room: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    prints_to(into, usize::MAX, format, list, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__vsprintf_chk(into as *mut c_char, flag as i32, room, format as *const c_char, list) }
}

/// As `__vsnprintf_chk`, whose arguments are the target, its bound, a flag, its room, the format.
fn print_bounded_checked(a: [usize; 6], list: &mut ArgumentList, pc: u64) -> i32 {
    prints_to(a[0], a[1], a[4], list, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::__vsnprintf_chk(a[0] as *mut c_char, a[1], a[2] as i32, a[3], a[4] as *const c_char, list) }
}

fn print_to_stream(stream: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    // What is read for output happens before what others find in the file.
    reads_arguments(format, *list, pc);
    streams::output(stream, Locking::Call, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::vfprintf(stream as *mut c_void, format as *const c_char, list) }
}

fn print_to_output(format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    reads_arguments(format, *list, pc);
    streams::standard_output(Locking::Call, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::vprintf(format as *const c_char, list) }
}

fn print_to_descriptor(descriptor: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    reads_arguments(format, *list, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::vdprintf(descriptor as i32, format as *const c_char, list) }
}

/// Prints to memory that the call allocates.
fn print_to_new(into: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
    reads_arguments(format, *list, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::vasprintf(into as *mut *mut c_char, format as *const c_char, list) };
    if result >= 0 {
        writes(into, size_of::<usize>(), pc);
        // SAFETY: the call succeeded, so it has stored where the text is.
        writes_text(unsafe { *(into as *const usize) }, pc);
    }
    result
}

/// Exports the form that takes a list of arguments, by the number of named ones before it.
macro_rules! listed {
    ($list:ident, 1, $body:ident) => {
        extern "C" fn listed(a: usize, list: &mut ArgumentList, pc: u64) -> i32 {
            $body([a, 0, 0, 0, 0, 0], list, pc)
        }
        export!($list, 2 => listed);
    };
    ($list:ident, 2, $body:ident) => {
        extern "C" fn listed(a: usize, b: usize, list: &mut ArgumentList, pc: u64) -> i32 {
            $body([a, b, 0, 0, 0, 0], list, pc)
        }
        export!($list, 3 => listed);
    };
    ($list:ident, 3, $body:ident) => {
        extern "C" fn listed(a: usize, b: usize, c: usize, list: &mut ArgumentList, pc: u64) -> i32 {
            $body([a, b, c, 0, 0, 0], list, pc)
        }
        export!($list, 4 => listed);
    };
    ($list:ident, 4, $body:ident) => {
        extern "C" fn listed(a: usize, b: usize, c: usize, d: usize, list: &mut ArgumentList, pc: u64) -> i32 {
            $body([a, b, c, d, 0, 0], list, pc)
        }
        export!($list, 5 => listed);
    };
    ($list:ident, 5, $body:ident) => {
        extern "C" fn listed(a: usize, b: usize, c: usize, d: usize, e: usize, list: &mut ArgumentList) -> i32 {
            $body([a, b, c, d, e, 0], list, crate::arch::entry::return_address())
        }
        export!($list, many => listed);
    };
}

/// Exports the form of a function that takes its arguments one by one, and the form that takes a
/// list of them. `a` stands for the named arguments.
macro_rules! prints {
    ($($plain:ident $list:ident, $named:tt: |$a:ident, $l:ident, $pc:ident| $body:expr;)*) => { $(
        const _: () = {
            fn body($a: [usize; 6], $l: &mut ArgumentList, $pc: u64) -> i32 {
                couriers::calls_unsafe($pc);
                $body
            }
            extern "C" fn plain(call: &mut VariadicCall) -> i32 {
                body(call.named, &mut call.list, call.pc)
            }
            variadic!($plain, $named => plain);
            listed!($list, $named, body);
        };
    )* };
}

prints! {
    printf vprintf, 1: |a, list, pc| print_to_output(a[0], list, pc);
    fprintf vfprintf, 2: |a, list, pc| print_to_stream(a[0], a[1], list, pc);
    dprintf vdprintf, 2: |a, list, pc| print_to_descriptor(a[0], a[1], list, pc);
    sprintf vsprintf, 2: |a, list, pc| print(a[0], a[1], list, pc);
    snprintf vsnprintf, 3: |a, list, pc| print_bounded(a[0], a[1], a[2], list, pc);
    asprintf vasprintf, 2: |a, list, pc| print_to_new(a[0], a[1], list, pc);
    __printf_chk __vprintf_chk, 2: |a, list, pc| print_to_output(a[1], list, pc);
    __fprintf_chk __vfprintf_chk, 3: |a, list, pc| print_to_stream(a[0], a[2], list, pc);
    __dprintf_chk __vdprintf_chk, 3: |a, list, pc| print_to_descriptor(a[0], a[2], list, pc);
    __sprintf_chk __vsprintf_chk, 4: |a, list, pc| print_checked(a[0], a[1], a[2], a[3], list, pc);
    __snprintf_chk __vsnprintf_chk, 5: |a, list, pc| print_bounded_checked(a, list, pc);
    __asprintf_chk __vasprintf_chk, 3: |a, list, pc| print_to_new(a[0], a[2], list, pc);
}
