//! Memory that the C library reads and writes for the program, as accesses of the calling thread
//! at the place of the call.
//!
//! Functions that the runtime replaces for another reason call [`reads`] and [`writes`] where they
//! are ([`super::io`], [`super::process::time`], [`super::thread`], ...). All others are here: one
//! line for a function whose accesses are known before the call, a function where they depend on
//! its result. Copies and searches that compilers expand in line are in
//! [`super::memory`].
//!
//! Only calls from the program count ([`callers::is_program`]), and no reads of constants. An
//! access is recorded before the call where its size is known then, because at access granularity
//! it is a transition.

pub mod attributes;
mod called;
mod conversions;
mod environment;
mod format;
mod input;
mod print;
mod records;
mod scan;
mod strings;
mod wide;

use core::ffi::c_char;

use raddle_wire::record::{READ, WRITE};

use crate::state::controlled;
use crate::syscall::callers;
use crate::trace::hooks::range;

/// Whether a call from there accesses memory of the program at this address.
fn counts(at: usize, pc: u64) -> bool {
    controlled() && at != 0 && callers::is_program(pc)
}

/// The call reads these bytes.
pub fn reads(at: usize, bytes: usize, pc: u64) {
    if counts(at, pc) && !callers::is_constant(at) {
        range(READ, at as u64, bytes as u64, pc);
    }
}

/// The call writes these bytes.
pub fn writes(at: usize, bytes: usize, pc: u64) {
    if counts(at, pc) {
        range(WRITE, at as u64, bytes as u64, pc);
    }
}

/// The call reads these bytes and then writes them.
pub fn changes(at: usize, bytes: usize, pc: u64) {
    reads(at, bytes, pc);
    writes(at, bytes, pc);
}

/// The call reads a C string with its end.
pub fn reads_text(text: usize, pc: u64) {
    if counts(text, pc) {
        reads(text, length(text) + 1, pc);
    }
}

/// The call has written a C string with its end.
pub fn writes_text(text: usize, pc: u64) {
    if counts(text, pc) {
        range(WRITE, text as u64, length(text) as u64 + 1, pc);
    }
}

/// The call reads a string of at most this many bytes.
pub fn reads_bounded(text: usize, most: usize, pc: u64) {
    if counts(text, pc) {
        // SAFETY: the program passes a string of at most that size.
        let len = unsafe { libc::strnlen(text as *const c_char, most) };
        reads(text, (len + 1).min(most), pc);
    }
}

/// The call reads the pieces of a buffer, up to so many bytes, and their list.
pub fn reads_pieces(pieces: *const libc::iovec, count: usize, bytes: usize, pc: u64) {
    each_piece(pieces, count, bytes, pc, reads);
}

/// The call has written so many bytes to the pieces of a buffer.
pub fn writes_pieces(pieces: *const libc::iovec, count: usize, bytes: usize, pc: u64) {
    each_piece(pieces, count, bytes, pc, writes);
}

fn each_piece(pieces: *const libc::iovec, count: usize, bytes: usize, pc: u64, access: fn(usize, usize, u64)) {
    if !counts(pieces as usize, pc) {
        return;
    }
    reads(pieces as usize, count * size_of::<libc::iovec>(), pc);
    let mut left = bytes;
    for index in 0..count {
        // SAFETY: the caller passes so many pieces.
        let piece = unsafe { *pieces.add(index) };
        access(piece.iov_base as usize, piece.iov_len.min(left), pc);
        left -= piece.iov_len.min(left);
    }
}

/// Bytes of a C string, without its end.
fn length(text: usize) -> usize {
    // SAFETY: callers pass what the program calls a C string.
    unsafe { libc::strlen(text as *const c_char) }
}
