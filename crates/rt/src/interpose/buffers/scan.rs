//! Scanning: text and format are read, and each value that was found is written.

use core::ffi::{c_char, c_void};

use super::format::{Conversion, Conversions, Length};
use super::{counts, reads_text, writes, writes_text};
use crate::arch::entry::export;
use crate::arch::variadic::{ArgumentList, VariadicCall, variadic};
use crate::interpose::io::{piped_streams, streams};
use crate::syscall::libc_real::real;

real! { hidden:
    fn vsscanf(text: *const c_char, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vfscanf(stream: *mut c_void, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn vscanf(format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc99_vsscanf(text: *const c_char, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc99_vfscanf(stream: *mut c_void, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc99_vscanf(format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc23_vsscanf(text: *const c_char, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc23_vfscanf(stream: *mut c_void, format: *const c_char, list: *mut ArgumentList) -> i32;
    fn __isoc23_vscanf(format: *const c_char, list: *mut ArgumentList) -> i32;
}

/// How the report names a scan that would have to wait in the middle.
const NAME: &[u8] = b"fscanf (finds a part in a pipe)";

/// The call has stored so many values.
fn stored(count: i32, format: usize, mut list: ArgumentList, pc: u64) -> i32 {
    if !counts(format, pc) {
        return count;
    }
    reads_text(format, pc);
    let mut left = count;
    for conversion in Conversions::of(format, true).filter(|conversion| !conversion.star) {
        // What was read so far is stored even after the last value.
        if left <= 0 && conversion.letter != b'n' {
            break;
        }
        let at = match conversion.position {
            Some(number) => nth(list, number),
            None => list.integer(),
        };
        stores(&conversion, at as usize, pc);
        left -= i32::from(conversion.letter != b'n');
    }
    count
}

/// The argument with this number, from 1: all of them are pointers.
fn nth(mut list: ArgumentList, number: usize) -> u64 {
    const MOST: usize = 64;
    for _ in 1..number.min(MOST) {
        list.integer();
    }
    list.integer()
}

/// The call has stored the value of a conversion.
fn stores(conversion: &Conversion, at: usize, pc: u64) {
    const WIDE: usize = 4;
    let is_wide = conversion.length == Length::Long || matches!(conversion.letter, b'S' | b'C');
    match conversion.letter {
        _ if conversion.allocates => writes(at, size_of::<usize>(), pc),
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
            writes(at, if conversion.length == Length::LongDouble { 16 } else { conversion.length.integer() }, pc);
        }
        b'p' => writes(at, size_of::<usize>(), pc),
        b'c' | b'C' => writes(at, conversion.width.unwrap_or(1) * if is_wide { WIDE } else { 1 }, pc),
        b's' | b'S' | b'[' if is_wide => super::strings::writes_wide(at, pc),
        b's' | b'[' => writes_text(at, pc),
        _ => writes(at, conversion.length.integer(), pc),
    }
}

/// Exports the three scanning functions of a standard, each with its arguments one by one and as a
/// list.
macro_rules! scans {
    ($($text:ident $text_list:ident $stream:ident $stream_list:ident $input:ident $input_list:ident;)*) => { $(
        const _: () = {
            extern "C" fn text(from: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
                reads_text(from, pc);
                let before = *list;
                // SAFETY: passes on what the caller gave.
                let found = unsafe { hidden::$text_list(from as *const c_char, format as *const c_char, list) };
                stored(found, format, before, pc)
            }
            extern "C" fn stream(from: usize, format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
                let before = *list;
                // SAFETY: passes on what the caller gave.
                let scan = || unsafe { hidden::$stream_list(from as *mut c_void, format as *const c_char, list) };
                let found = piped_streams::scan(from, NAME, pc, scan);
                stored(found, format, before, pc)
            }
            extern "C" fn input(format: usize, list: &mut ArgumentList, pc: u64) -> i32 {
                let before = *list;
                // SAFETY: passes on what the caller gave.
                let scan = || unsafe { hidden::$input_list(format as *const c_char, list) };
                let found = piped_streams::scan(streams::input_stream(), NAME, pc, scan);
                stored(found, format, before, pc)
            }
            extern "C" fn text_arguments(call: &mut VariadicCall) -> i32 {
                text(call.named[0], call.named[1], &mut call.list, call.pc)
            }
            extern "C" fn stream_arguments(call: &mut VariadicCall) -> i32 {
                stream(call.named[0], call.named[1], &mut call.list, call.pc)
            }
            extern "C" fn input_arguments(call: &mut VariadicCall) -> i32 {
                input(call.named[0], &mut call.list, call.pc)
            }
            variadic!($text, 2 => text_arguments);
            variadic!($stream, 2 => stream_arguments);
            variadic!($input, 1 => input_arguments);
            export!($text_list, 3 => text);
            export!($stream_list, 3 => stream);
            export!($input_list, 2 => input);
        };
    )* };
}

scans! {
    sscanf vsscanf fscanf vfscanf scanf vscanf;
    __isoc99_sscanf __isoc99_vsscanf __isoc99_fscanf __isoc99_vfscanf __isoc99_scanf __isoc99_vscanf;
    __isoc23_sscanf __isoc23_vsscanf __isoc23_fscanf __isoc23_vfscanf __isoc23_scanf __isoc23_vscanf;
}
