//! Wide strings, and conversions between them and strings of bytes.

use super::called::called;
use super::strings::{WIDE, reads_wide, wide_length, writes_wide};
use super::{changes, counts, reads, reads_bounded, reads_text, writes};
use crate::interpose::before::before;
use crate::interpose::io::stream_locks::Locking;
use crate::interpose::io::{piped_streams, streams};

/// Bytes of a shift state.
const STATE: usize = 8;

/// Characters of a wide string of at most `most`, with its end if that is among them.
fn bounded(text: usize, most: usize) -> usize {
    let mut len = 0;
    while len < most {
        // SAFETY: the program passes a wide string of at most that size.
        let is_end = unsafe { *((text + len * WIDE) as *const u32) } == 0;
        len += 1;
        if is_end {
            break;
        }
    }
    len
}

/// The call reads a wide string of at most `most` characters.
fn reads_some(text: usize, most: usize, pc: u64) {
    if counts(text, pc) {
        reads(text, bounded(text, most) * WIDE, pc);
    }
}

/// The call copies a wide string behind the first `offset` characters; at most `most` of it.
fn copies(to: usize, from: usize, offset: usize, most: usize, pc: u64) {
    if counts(to, pc) && from != 0 {
        let len = bounded(from, most);
        reads(from, len * WIDE, pc);
        writes(to + offset * WIDE, len * WIDE, pc);
    }
}

/// Where the call appends.
fn appended_at(to: usize, pc: u64) -> usize {
    reads_wide(to, pc);
    if counts(to, pc) { wide_length(to) } else { 0 }
}

before! {
    wcscpy wcpcpy => |a, pc| copies(a[0], a[1], 0, usize::MAX, pc);
    wcscat => |a, pc| copies(a[0], a[1], appended_at(a[0], pc), usize::MAX, pc);
    wcsncat => |a, pc| copies(a[0], a[1], appended_at(a[0], pc), a[2], pc);
    wcsncpy wcpncpy => |a, pc| { reads_some(a[1], a[2], pc); writes(a[0], a[2].saturating_mul(WIDE), pc); };
    wcsnlen => |a, pc| reads_some(a[0], a[1], pc);
    wcsncmp wcsncasecmp => |a, pc| compares(a[0], a[1], a[2], pc);
    wcscasecmp => |a, pc| compares(a[0], a[1], usize::MAX, pc);
    wcscoll wcsspn wcscspn wcspbrk => |a, pc| { reads_wide(a[0], pc); reads_wide(a[1], pc); };
    wcschrnul => |a, pc| reads_wide(a[0], pc);
    wmemchr => |a, pc| reads(a[0], WIDE.min(a[2] * WIDE), pc);
    wmempcpy => |a, pc| { reads(a[1], a[2] * WIDE, pc); writes(a[0], a[2] * WIDE, pc); };
    wcstol wcstoul wcstoll wcstoull wcstoimax wcstoumax wcstod wcstof wcstold
        => |a, pc| { reads(a[0], WIDE, pc); writes(a[1], 8, pc); };
    wcstok => |a, pc| { reads_wide(a[1], pc); changes(a[2], size_of::<usize>(), pc); };
}

/// The call reads two wide strings up to where they differ.
fn compares(a: usize, b: usize, most: usize, pc: u64) {
    if counts(a, pc) && b != 0 {
        let mut len = 0;
        while len < most {
            // SAFETY: both are wide strings, and neither has ended before.
            let (x, y) = unsafe { (*((a + len * WIDE) as *const u32), *((b + len * WIDE) as *const u32)) };
            len += 1;
            if x == 0 || y == 0 || x != y {
                break;
            }
        }
        reads(a, len * WIDE, pc);
        reads(b, len * WIDE, pc);
    }
}

/// How many units a conversion has written that returned `result`: with the end, if there is room.
fn converted(result: usize, most: usize) -> usize {
    if result == usize::MAX { 0 } else { result.saturating_add(1).min(most) }
}

/// The call converts from where `source` says, and moves that.
fn converts(source: usize, state: usize, to: usize, bytes: usize, pc: u64) {
    if to == 0 {
        reads(source, size_of::<usize>(), pc);
    } else {
        changes(source, size_of::<usize>(), pc);
        writes(to, bytes, pc);
    }
    changes(state, STATE, pc);
}

called! {
    fn mbstowcs, 3(to: usize, from: usize, most: usize) -> usize |result, pc| {
        reads_text(from, pc);
        writes(to, converted(result, most) * WIDE, pc);
    };
    fn wcstombs, 3(to: usize, from: usize, most: usize) -> usize |result, pc| {
        reads_wide(from, pc);
        writes(to, converted(result, most), pc);
    };
    fn mbsrtowcs, 4(to: usize, source: usize, most: usize, state: usize) -> usize |result, pc|
        converts(source, state, to, converted(result, most) * WIDE, pc);
    fn wcsrtombs, 4(to: usize, source: usize, most: usize, state: usize) -> usize |result, pc|
        converts(source, state, to, converted(result, most), pc);
    fn mbsnrtowcs, 5(to: usize, source: usize, bytes: usize, most: usize, state: usize) -> usize |result, pc|
        converts(source, state, to, converted(result, most) * WIDE, pc);
    fn wcsnrtombs, 5(to: usize, source: usize, count: usize, most: usize, state: usize) -> usize |result, pc|
        converts(source, state, to, converted(result, most), pc);
    fn mbrtowc, 4(to: usize, from: usize, most: usize, state: usize) -> usize |result, pc| {
        if result <= most {
            reads(from, result.max(1), pc);
            writes(to, WIDE, pc);
        }
        changes(state, STATE, pc);
    };
    fn mbrlen, 3(from: usize, most: usize, state: usize) -> usize |result, pc| {
        reads_bounded(from, result.min(most), pc);
        changes(state, STATE, pc);
    };
    fn wcrtomb, 3(to: usize, character: u32, state: usize) -> usize |result, pc| {
        writes(to, if result == usize::MAX { 0 } else { result }, pc);
        changes(state, STATE, pc);
    };
    fn wcsxfrm, 3(to: usize, from: usize, most: usize) -> usize |result, pc| {
        reads_wide(from, pc);
        writes(to, converted(result, most) * WIDE, pc);
    };
    fn strxfrm, 3(to: usize, from: usize, most: usize) -> usize |result, pc| {
        reads_text(from, pc);
        writes(to, converted(result, most), pc);
    };
    fn wcsftime, 4(to: usize, most: usize, format: usize, time: usize) -> usize |result, pc| {
        reads_wide(format, pc);
        reads(time, size_of::<libc::tm>(), pc);
        writes(to, if result == 0 { 0 } else { (result + 1) * WIDE }, pc);
    };
}

/// `fgetws`.
extern "C" fn read_line(into: usize, most: i32, stream: usize, pc: u64) -> usize {
    line(into, most, stream, Locking::Call, pc)
}

/// `fgetws_unlocked`.
extern "C" fn read_line_unlocked(into: usize, most: i32, stream: usize, pc: u64) -> usize {
    line(into, most, stream, Locking::Caller, pc)
}

fn line(into: usize, most: i32, stream: usize, locking: Locking, pc: u64) -> usize {
    streams::wide_input(stream, locking, pc);
    // SAFETY: passes on what the caller gave.
    let read = || unsafe { hidden::fgetws(into, most, stream) };
    let result = piped_streams::without_waiting(stream, b"fgetws (finds a part in a pipe)", pc, read);
    writes_wide(result, pc);
    result
}

crate::syscall::libc_real::real! { hidden:
    fn fgetws(into: usize, most: i32, stream: usize) -> usize;
}
crate::arch::entry::export!(fgetws, 3 => read_line);
crate::arch::entry::export!(fgetws_unlocked, 3 => read_line_unlocked);
