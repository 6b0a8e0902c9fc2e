//! Input whose amount is known only afterwards.

use core::ffi::{c_char, c_void};

use super::{counts, reads, writes, writes_text};
use crate::arch::entry::export;
use crate::interpose::io::streams;
use crate::restore::snapshot::touch;
use crate::state::controlled;
use crate::syscall::libc_real::real;

real! { hidden:
    fn fread(into: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
    fn fgets(into: *mut c_char, bytes: i32, stream: *mut c_void) -> *mut c_char;
    fn getdelim(line: *mut usize, room: *mut usize, end: i32, stream: *mut c_void) -> isize;
}

/// The program reads so many bytes from the stream, or fewer.
fn takes_up_to(bytes: usize, stream: *mut c_void, pc: u64) {
    if bytes == 0 {
        streams::input(stream as usize, pc);
    } else {
        streams::takes(stream as usize, pc);
    }
}

/// `fread`.
extern "C" fn read_items(into: *mut c_void, size: usize, count: usize, stream: *mut c_void, pc: u64) -> usize {
    if controlled() {
        takes_up_to(size.saturating_mul(count), stream, pc);
        touch(into.cast(), size.saturating_mul(count));
    }
    // SAFETY: passes on what the caller gave.
    let items = unsafe { hidden::fread(into, size, count, stream) };
    writes(into as usize, size.saturating_mul(items), pc);
    items
}

/// `fgets`.
extern "C" fn read_line(into: *mut c_char, bytes: i32, stream: *mut c_void, pc: u64) -> *mut c_char {
    takes_up_to(bytes.saturating_sub(1).max(0) as usize, stream, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::fgets(into, bytes, stream) };
    writes_text(result as usize, pc);
    result
}

/// `getdelim`: the line and its room are replaced where it needs more.
extern "C" fn read_to(line: *mut usize, room: *mut usize, end: i32, stream: *mut c_void, pc: u64) -> isize {
    streams::takes(stream as usize, pc);
    if !counts(line as usize, pc) || room.is_null() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getdelim(line, room, end, stream) };
    }
    // SAFETY: the caller passes a line and its room; everything is passed on.
    let (before, result, after) = unsafe {
        let before = (*line, *room);
        (before, hidden::getdelim(line, room, end, stream), (*line, *room))
    };
    let access = |at: *mut usize, is_same| if is_same { reads(at as usize, 8, pc) } else { writes(at as usize, 8, pc) };
    access(line, before.0 == after.0);
    access(room, before.1 == after.1);
    if result > 0 {
        writes(after.0, result as usize + 1, pc);
    }
    result
}

/// `getline`.
extern "C" fn read_whole_line(line: *mut usize, room: *mut usize, stream: *mut c_void, pc: u64) -> isize {
    read_to(line, room, i32::from(b'\n'), stream, pc)
}

export!(fread, 4 => read_items);
export!(fread_unlocked, 4 => read_items);
export!(fgets, 3 => read_line);
export!(fgets_unlocked, 3 => read_line);
export!(getdelim, 4 => read_to);
export!(__getdelim, 4 => read_to);
export!(getline, 3 => read_whole_line);
