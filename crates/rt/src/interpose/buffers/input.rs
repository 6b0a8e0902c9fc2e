//! Input whose amount is known only afterwards.

use core::ffi::{c_char, c_void};

use super::{counts, reads, writes, writes_text};
use crate::arch::entry::export;
use crate::interpose::io::piped_streams::PipedStream;
use crate::interpose::io::stream_locks::Locking;
use crate::interpose::io::streams;
use crate::interpose::memory::heap;
use crate::restore::snapshot::touch;
use crate::state::controlled;
use crate::syscall::libc_real::real;

real! { hidden:
    fn fread(into: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
    fn fgets(into: *mut c_char, bytes: i32, stream: *mut c_void) -> *mut c_char;
    fn getdelim(line: *mut usize, room: *mut usize, end: i32, stream: *mut c_void) -> isize;
}

/// The program reads so many bytes from the stream, or fewer.
fn takes_up_to(bytes: usize, stream: *mut c_void, locking: Locking, pc: u64) {
    if bytes == 0 {
        streams::input(stream as usize, locking, pc);
    } else {
        streams::takes(stream as usize, locking, pc);
    }
}

/// `fread`.
extern "C" fn read_items(into: *mut c_void, size: usize, count: usize, stream: *mut c_void, pc: u64) -> usize {
    items(into, [size, count], stream, Locking::Call, pc)
}

/// `fread_unlocked`.
extern "C" fn read_items_unlocked(into: *mut c_void, size: usize, count: usize, stream: *mut c_void, pc: u64) -> usize {
    items(into, [size, count], stream, Locking::Caller, pc)
}

/// Reads `count` items of `size` bytes.
fn items(into: *mut c_void, [size, count]: [usize; 2], stream: *mut c_void, locking: Locking, pc: u64) -> usize {
    let bytes = size.saturating_mul(count);
    if controlled() {
        touch(into.cast(), bytes);
    }
    let items = match PipedStream::of(stream as usize, locking, pc).filter(|_| bytes > 0) {
        Some(mut input) => {
            let items = input.bytes(into as usize, bytes) / size;
            input.end();
            items
        }
        None => {
            takes_up_to(bytes, stream, locking, pc);
            // SAFETY: passes on what the caller gave.
            unsafe { hidden::fread(into, size, count, stream) }
        }
    };
    writes(into as usize, size.saturating_mul(items), pc);
    items
}

/// `fgets`.
extern "C" fn read_line(into: *mut c_char, bytes: i32, stream: *mut c_void, pc: u64) -> *mut c_char {
    line(into, bytes, stream, Locking::Call, pc)
}

/// `fgets_unlocked`.
extern "C" fn read_line_unlocked(into: *mut c_char, bytes: i32, stream: *mut c_void, pc: u64) -> *mut c_char {
    line(into, bytes, stream, Locking::Caller, pc)
}

/// Reads a line.
fn line(into: *mut c_char, bytes: i32, stream: *mut c_void, locking: Locking, pc: u64) -> *mut c_char {
    let most = bytes.saturating_sub(1).max(0) as usize;
    let result = match PipedStream::of(stream as usize, locking, pc).filter(|_| most > 0) {
        Some(input) => line_of_pipe(input, into.cast(), most).cast(),
        None => {
            takes_up_to(most, stream, locking, pc);
            // SAFETY: passes on what the caller gave.
            unsafe { hidden::fgets(into, bytes, stream) }
        }
    };
    writes_text(result as usize, pc);
    result
}

/// `fgets` of a pipe. What was read before an error is not given to the program, unless it only
/// would have had to wait.
fn line_of_pipe(mut input: PipedStream, into: *mut u8, most: usize) -> *mut u8 {
    let (mut count, mut is_whole) = (0, false);
    while count < most && !is_whole {
        let Some(byte) = input.byte() else { break };
        // SAFETY: the program passes room for this byte and a zero behind it.
        unsafe { *into.add(count) = byte };
        count += 1;
        is_whole = byte == b'\n';
    }
    let is_given = count > 0 && (count == most || is_whole || !input.has_failed());
    input.end();
    if !is_given {
        return core::ptr::null_mut();
    }
    // SAFETY: as above.
    unsafe { *into.add(count) = 0 };
    into
}

/// `getdelim`: the line and its room are replaced where it needs more.
extern "C" fn read_to(line: *mut usize, room: *mut usize, end: i32, stream: *mut c_void, pc: u64) -> isize {
    let piped = PipedStream::of(stream as usize, Locking::Call, pc).filter(|_| !line.is_null() && !room.is_null());
    let read = || match piped {
        // SAFETY: the caller passes a line and its room.
        Some(input) => unsafe { part_of_pipe(input, &mut *line, &mut *room, end, pc) },
        None => {
            streams::takes(stream as usize, Locking::Call, pc);
            // SAFETY: passes on what the caller gave.
            unsafe { hidden::getdelim(line, room, end, stream) }
        }
    };
    if !counts(line as usize, pc) || room.is_null() {
        return read();
    }
    // SAFETY: the caller passes a line and its room.
    let (before, result, after) = unsafe {
        let before = (*line, *room);
        (before, read(), (*line, *room))
    };
    let access = |at: *mut usize, is_same| if is_same { reads(at as usize, 8, pc) } else { writes(at as usize, 8, pc) };
    access(line, before.0 == after.0);
    access(room, before.1 == after.1);
    if result > 0 {
        writes(after.0, result as usize + 1, pc);
    }
    result
}

/// `getdelim` of a pipe. The line grows as the C library lets it grow.
fn part_of_pipe(mut input: PipedStream, line: &mut usize, room: &mut usize, end: i32, pc: u64) -> isize {
    const FIRST: usize = 120;
    if *line == 0 || *room == 0 {
        let block = heap::malloc_at(FIRST, pc);
        if block == 0 {
            return -1;
        }
        (*line, *room) = (block, FIRST);
    }
    let mut count = 0;
    while let Some(byte) = input.byte() {
        if count + 2 > *room {
            let wanted = (2 * *room).max(count + 2);
            let block = heap::realloc_at(*line, wanted, pc);
            if block == 0 {
                break;
            }
            (*line, *room) = (block, wanted);
        }
        // SAFETY: there is room for two bytes at least.
        unsafe { *((*line + count) as *mut [u8; 2]) = [byte, 0] };
        count += 1;
        if i32::from(byte) == end {
            break;
        }
    }
    input.end();
    if count == 0 { -1 } else { count.cast_signed() }
}

/// `getline`.
extern "C" fn read_whole_line(line: *mut usize, room: *mut usize, stream: *mut c_void, pc: u64) -> isize {
    read_to(line, room, i32::from(b'\n'), stream, pc)
}

export!(fread, 4 => read_items);
export!(fread_unlocked, 4 => read_items_unlocked);
export!(fgets, 3 => read_line);
export!(fgets_unlocked, 3 => read_line_unlocked);
export!(getdelim, 4 => read_to);
export!(__getdelim, 4 => read_to);
export!(getline, 3 => read_whole_line);
