//! Strings and arrays. The functions that compilers know best are in
//! [`crate::interpose::memory`].

use core::ffi::{c_char, c_void};

use super::{changes, counts, reads, reads_bounded, reads_text, writes};
use crate::arch::entry::export;
use crate::interpose::before::before;
use crate::library::hidden_state;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;

real! { hidden:
    fn strtok(text: *mut c_char, ends: *const c_char) -> *mut c_char;
    fn strtok_r(text: *mut c_char, ends: *const c_char, position: *mut usize) -> *mut c_char;
    fn strspn(text: *const c_char, set: *const c_char) -> usize;
    fn strcspn(text: *const c_char, set: *const c_char) -> usize;
    fn wcslen(text: *const c_void) -> usize;
}

/// Bytes of a wide character.
pub const WIDE: usize = 4;

/// Characters of a wide string, without its end.
pub fn wide_length(text: usize) -> usize {
    // SAFETY: callers pass what the program calls a wide string.
    unsafe { hidden::wcslen(text as *const c_void) }
}

/// The call reads a wide string with its end.
pub fn reads_wide(text: usize, pc: u64) {
    if counts(text, pc) {
        reads(text, (wide_length(text) + 1) * WIDE, pc);
    }
}

/// The call has written a wide string with its end.
pub fn writes_wide(text: usize, pc: u64) {
    if counts(text, pc) {
        writes(text, (wide_length(text) + 1) * WIDE, pc);
    }
}

/// The call reads two strings up to where they differ: at least as far as one of them goes.
fn compares(a: usize, b: usize, most: usize, pc: u64) {
    if counts(a, pc) && b != 0 {
        let mut len = 0;
        while len < most {
            // SAFETY: both are C strings, and neither has ended before.
            let (x, y) = unsafe { (*((a + len) as *const u8), *((b + len) as *const u8)) };
            len += 1;
            if x == 0 || !x.eq_ignore_ascii_case(&y) {
                break;
            }
        }
        reads(a, len, pc);
        reads(b, len, pc);
    }
}

/// The call looks from the start for the first character that is (not) in a set.
fn scans(text: usize, set: usize, is_in_set: bool, pc: u64) {
    if counts(text, pc) {
        reads_text(set, pc);
        let (at, set) = (text as *const c_char, set as *const c_char);
        // SAFETY: the program passes two C strings.
        let len = unsafe { if is_in_set { hidden::strspn(at, set) } else { hidden::strcspn(at, set) } };
        reads(text, len + 1, pc);
    }
}

/// The call takes a token from the text: reads to its end and puts a zero there.
fn takes_token(text: usize, ends: usize, skips: bool, pc: u64) {
    if !counts(text, pc) {
        return;
    }
    reads_text(ends, pc);
    let (at, ends) = (text as *const c_char, ends as *const c_char);
    // SAFETY: the program passes two C strings.
    unsafe {
        let start = if skips { hidden::strspn(at, ends) } else { 0 };
        let end = start + hidden::strcspn(at.add(start), ends);
        reads(text, end + 1, pc);
        if *at.add(end) != 0 && end > 0 {
            writes(text + end, 1, pc);
        }
    }
}

/// `strtok_r` and `strsep`: the position is at `position`, unless a text is given.
fn takes_next(text: usize, ends: usize, position: usize, skips: bool, pc: u64) {
    changes(position, size_of::<usize>(), pc);
    if counts(position, pc) {
        // SAFETY: the program passes room for the position.
        let text = if text == 0 { unsafe { *(position as *const usize) } } else { text };
        takes_token(text, ends, skips, pc);
    }
}

/// `strtok` keeps its position in one place for all threads, which are not kept apart.
extern "C" fn token(text: *mut c_char, ends: *const c_char, pc: u64) -> *mut c_char {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::strtok(text, ends) };
    }
    let position = &raw mut run().token_position;
    changes(hidden_state("strtok"), size_of::<usize>(), pc);
    // SAFETY: the position is a part of the run's state.
    let from = if text.is_null() { unsafe { *position } } else { text as usize };
    takes_token(from, ends as usize, true, pc);
    // SAFETY: passes on what the caller gave; before the first text there is none to continue.
    unsafe {
        if text.is_null() && *position == 0 {
            return text;
        }
        hidden::strtok_r(text, ends, position)
    }
}

export!(strtok, 2 => token);

before! {
    strtok_r __strtok_r => |a, pc| takes_next(a[0], a[1], a[2], true, pc);
    strsep __strsep => |a, pc| takes_next(0, a[1], a[0], false, pc);
    strcasecmp => |a, pc| compares(a[0], a[1], usize::MAX, pc);
    strncasecmp => |a, pc| compares(a[0], a[1], a[2], pc);
    strcoll strcasestr strverscmp => |a, pc| { reads_text(a[0], pc); reads_text(a[1], pc); };
    strspn => |a, pc| scans(a[0], a[1], true, pc);
    strcspn strpbrk => |a, pc| scans(a[0], a[1], false, pc);
    strchrnul index rindex => |a, pc| reads_text(a[0], pc);
    strndup __strndup => |a, pc| reads_bounded(a[0], a[1], pc);
    stpncpy => |a, pc| { reads_bounded(a[1], a[2], pc); writes(a[0], a[2], pc); };
    memrchr => |a, pc| reads(a[0], a[2], pc);
    memmem => |a, pc| { reads(a[0], a[1], pc); reads(a[2], a[3], pc); };
    wcslen wcschr wcsrchr wcsdup => |a, pc| reads_wide(a[0], pc);
    wcscmp wcsstr => |a, pc| { reads_wide(a[0], pc); reads_wide(a[1], pc); };
    wmemcpy wmemmove => |a, pc| { reads(a[1], a[2] * WIDE, pc); writes(a[0], a[2] * WIDE, pc); };
    wmemset => |a, pc| writes(a[0], a[2] * WIDE, pc);
    wmemcmp => |a, pc| { reads(a[0], a[2] * WIDE, pc); reads(a[1], a[2] * WIDE, pc); };
    __memcpy_chk __memmove_chk __mempcpy_chk => |a, pc| { reads(a[1], a[2], pc); writes(a[0], a[2], pc); };
    __memset_chk => |a, pc| writes(a[0], a[2], pc);
    __strcpy_chk __stpcpy_chk => |a, pc| copies(a[0], a[1], 0, pc);
    __strcat_chk => |a, pc| copies(a[0], a[1], appended_at(a[0], pc), pc);
    __strncpy_chk => |a, pc| { reads_bounded(a[1], a[2], pc); writes(a[0], a[2], pc); };
    qsort qsort_r => |a, pc| sorts(a[0], a[1], a[2], pc);
}

/// The call copies a string behind the first `offset` bytes.
fn copies(to: usize, from: usize, offset: usize, pc: u64) {
    if counts(to, pc) && from != 0 {
        reads_text(from, pc);
        writes(to + offset, super::length(from) + 1, pc);
    }
}

/// Where the call appends.
fn appended_at(to: usize, pc: u64) -> usize {
    reads_text(to, pc);
    if counts(to, pc) { super::length(to) } else { 0 }
}

/// Elements are exchanged if there are two.
fn sorts(base: usize, count: usize, size: usize, pc: u64) {
    if count > 1 {
        changes(base, count.saturating_mul(size), pc);
    }
}
