//! Functions of the C library that read and write the program's memory. clang calls `__tsan_memcpy`
//! and the like; for gcc the compiler wrapper redirects the ordinary names to `__wrap_*`.

use core::ffi::c_char;

use raddle_wire::record::{READ, WRITE};

use crate::arch::entry::hook;
use crate::trace::hooks::range;

extern "C" fn copy(to: u64, from: u64, bytes: usize, pc: u64) -> u64 {
    range(READ, from, bytes as u64, pc);
    range(WRITE, to, bytes as u64, pc);
    // SAFETY: the contract of memcpy; memmove also works for programs that break it by overlapping.
    unsafe { libc::memmove(to as *mut _, from as *const _, bytes) };
    to
}

extern "C" fn set(to: u64, byte: i32, bytes: usize, pc: u64) -> u64 {
    range(WRITE, to, bytes as u64, pc);
    // SAFETY: the contract of memset.
    unsafe { libc::memset(to as *mut _, byte, bytes) };
    to
}

extern "C" fn compare(a: u64, b: u64, bytes: usize, pc: u64) -> i32 {
    range(READ, a, bytes as u64, pc);
    range(READ, b, bytes as u64, pc);
    // SAFETY: the contract of memcmp.
    unsafe { libc::memcmp(a as *const _, b as *const _, bytes) }
}

/// Length of a C string, without its end.
fn length(text: u64) -> usize {
    // SAFETY: callers pass what the program calls a C string.
    unsafe { libc::strlen(text as *const c_char) }
}

/// Length of a C string of at most `most` bytes.
fn bounded_length(text: u64, most: usize) -> usize {
    // SAFETY: callers pass what the program calls a string of at most that size.
    unsafe { libc::strnlen(text as *const c_char, most) }
}

extern "C" fn string_length(text: u64, pc: u64) -> usize {
    let len = length(text);
    range(READ, text, len as u64 + 1, pc);
    len
}

extern "C" fn string_copy(to: u64, from: u64, pc: u64) -> u64 {
    copy(to, from, length(from) + 1, pc)
}

extern "C" fn string_copy_bounded(to: u64, from: u64, bytes: usize, pc: u64) -> u64 {
    let len = bounded_length(from, bytes);
    range(READ, from, (len + 1).min(bytes) as u64, pc);
    range(WRITE, to, bytes as u64, pc);
    // SAFETY: the contract of strncpy.
    unsafe { libc::strncpy(to as *mut c_char, from as *const c_char, bytes) };
    to
}

extern "C" fn string_append(to: u64, from: u64, pc: u64) -> u64 {
    let end = length(to);
    range(READ, to, end as u64 + 1, pc);
    copy(to + end as u64, from, length(from) + 1, pc);
    to
}

/// Bytes of two strings that a comparison reads.
fn compared(a: u64, b: u64, most: usize) -> usize {
    let mut index = 0;
    while index < most {
        // SAFETY: both are C strings and no end was met before `index`.
        let (x, y) = unsafe { (*((a as usize + index) as *const u8), *((b as usize + index) as *const u8)) };
        index += 1;
        if x != y || x == 0 {
            break;
        }
    }
    index
}

extern "C" fn string_compare(a: u64, b: u64, pc: u64) -> i32 {
    string_compare_bounded(a, b, usize::MAX, pc)
}

extern "C" fn string_compare_bounded(a: u64, b: u64, most: usize, pc: u64) -> i32 {
    let bytes = compared(a, b, most);
    range(READ, a, bytes as u64, pc);
    range(READ, b, bytes as u64, pc);
    // SAFETY: the contract of strncmp.
    unsafe { libc::strncmp(a as *const c_char, b as *const c_char, most) }
}

extern "C" fn string_find(text: u64, byte: i32, pc: u64) -> u64 {
    // SAFETY: the contract of strchr.
    let found = unsafe { libc::strchr(text as *const c_char, byte) } as u64;
    searched(text, found, length(text) as u64 + 1, pc)
}

/// Reads up to where the byte was found, or to the end.
fn searched(text: u64, found: u64, bytes: u64, pc: u64) -> u64 {
    range(READ, text, if found == 0 { bytes } else { found - text + 1 }, pc);
    found
}

extern "C" fn find(text: u64, byte: i32, bytes: usize, pc: u64) -> u64 {
    // SAFETY: the contract of memchr.
    let found = unsafe { libc::memchr(text as *const _, byte, bytes) } as u64;
    searched(text, found, bytes as u64, pc)
}

extern "C" fn string_find_last(text: u64, byte: i32, pc: u64) -> u64 {
    range(READ, text, length(text) as u64 + 1, pc);
    // SAFETY: the contract of strrchr.
    unsafe { libc::strrchr(text as *const c_char, byte) as u64 }
}

extern "C" fn string_find_string(text: u64, wanted: u64, pc: u64) -> u64 {
    let len = length(wanted) as u64;
    range(READ, wanted, len + 1, pc);
    // SAFETY: the contract of strstr.
    let found = unsafe { libc::strstr(text as *const c_char, wanted as *const c_char) } as u64;
    range(READ, text, if found == 0 { length(text) as u64 + 1 } else { found - text + len }, pc);
    found
}

extern "C" fn string_length_bounded(text: u64, most: usize, pc: u64) -> usize {
    let len = bounded_length(text, most);
    range(READ, text, (len + 1).min(most) as u64, pc);
    len
}

extern "C" fn clear(to: u64, bytes: usize, pc: u64) {
    set(to, 0, bytes, pc);
}

/// `mempcpy`: returns where the copy ends.
extern "C" fn copy_to_end(to: u64, from: u64, bytes: usize, pc: u64) -> u64 {
    copy(to, from, bytes, pc) + bytes as u64
}

/// `stpcpy`: returns where the copy's last zero is.
extern "C" fn string_copy_to_end(to: u64, from: u64, pc: u64) -> u64 {
    let len = length(from);
    copy(to, from, len + 1, pc) + len as u64
}

extern "C" fn string_append_bounded(to: u64, from: u64, most: usize, pc: u64) -> u64 {
    let (end, added) = (length(to) as u64, bounded_length(from, most));
    range(READ, to, end + 1, pc);
    range(READ, from, (added + 1).min(most) as u64, pc);
    range(WRITE, to + end, added as u64 + 1, pc);
    // SAFETY: the contract of strncat.
    unsafe { libc::strncat(to as *mut c_char, from as *const c_char, most) };
    to
}

extern "C" fn string_duplicate(text: u64, pc: u64) -> u64 {
    range(READ, text, length(text) as u64 + 1, pc);
    // SAFETY: the contract of strdup; its allocation is made in the runtime's heap.
    unsafe { libc::strdup(text as *const c_char) as u64 }
}

hook!(__tsan_memcpy, 3 => copy);
hook!(__tsan_memmove, 3 => copy);
hook!(__tsan_memset, 3 => set);
/// Declares the functions that take the places of functions of the C library.
macro_rules! wrapped {
    ($($name:literal $wrapper:ident $count:tt => $body:path;)*) => {
        $(hook!($wrapper, $count => $body);)*

        /// What takes the place of a function of the C library in a module that nothing but its
        /// imports leads to.
        pub fn wrapper(name: &[u8]) -> Option<usize> {
            $(if name == $name {
                return Some($wrapper as *const () as usize);
            })*
            None
        }
    };
}

wrapped! {
    b"memcpy" __wrap_memcpy 3 => copy;
    b"memmove" __wrap_memmove 3 => copy;
    b"memset" __wrap_memset 3 => set;
    b"memcmp" __wrap_memcmp 3 => compare;
    b"strlen" __wrap_strlen 1 => string_length;
    b"strcpy" __wrap_strcpy 2 => string_copy;
    b"strncpy" __wrap_strncpy 3 => string_copy_bounded;
    b"strcat" __wrap_strcat 2 => string_append;
    b"strcmp" __wrap_strcmp 2 => string_compare;
    b"strncmp" __wrap_strncmp 3 => string_compare_bounded;
    b"strchr" __wrap_strchr 2 => string_find;
    b"strdup" __wrap_strdup 1 => string_duplicate;
    b"bcmp" __wrap_bcmp 3 => compare;
    b"bzero" __wrap_bzero 2 => clear;
    b"mempcpy" __wrap_mempcpy 3 => copy_to_end;
    b"stpcpy" __wrap_stpcpy 2 => string_copy_to_end;
    b"strncat" __wrap_strncat 3 => string_append_bounded;
    b"memchr" __wrap_memchr 3 => find;
    b"strrchr" __wrap_strrchr 2 => string_find_last;
    b"strnlen" __wrap_strnlen 2 => string_length_bounded;
    b"strstr" __wrap_strstr 2 => string_find_string;
}
