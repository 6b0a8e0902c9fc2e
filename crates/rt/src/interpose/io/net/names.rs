//! Looking up hosts: the names of peers have the addresses of their scripts. Addresses that are
//! written out, and the machine itself, need no look-up. For other names the network is asked,
//! which is not modelled.

use core::ffi::{CStr, c_char, c_void};

use super::address::Address;
use super::{party, tap};
use crate::arch::entry::export;
use crate::interpose::buffers::writes;
use crate::library::calls;
use crate::state::controlled;
use crate::syscall::libc_real::real;

real! { hidden:
    fn getaddrinfo(
        node: *const c_char,
        service: *const c_char,
        hints: *const c_void,
        result: *mut *mut c_void
    ) -> i32;
}

/// Bytes of an address that is written out.
const WRITTEN: usize = 64;

/// Whether the text is an address, or no more than digits.
fn is_numeric(text: &[u8]) -> bool {
    let is_old = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_new = text.contains(&b':') && text.iter().all(|byte| byte.is_ascii_hexdigit() || b":.%".contains(byte));
    is_old || is_new
}

/// The bytes of a text that may be missing.
fn bytes(text: *const c_char) -> Option<&'static [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller of the function passes a C string or null.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Writes the address out, with a zero at the end.
fn written(address: &Address) -> Option<[u8; WRITTEN]> {
    let mut text = [0u8; WRITTEN];
    let (family, bytes) = (address.family(), address.bytes());
    let host = if family == libc::AF_INET { bytes.get(4..8)? } else { bytes.get(8..24)? };
    let mut at = 0;
    let mut push = |byte: u8| {
        text[at] = byte;
        at += 1;
    };
    for (number, &byte) in host.iter().enumerate() {
        if family == libc::AF_INET {
            if number > 0 {
                push(b'.');
            }
            let digits = [byte / 100, byte / 10 % 10, byte % 10];
            let first = digits.iter().position(|&digit| digit > 0).unwrap_or(2);
            digits[first..].iter().for_each(|digit| push(b'0' + digit));
        } else {
            if number > 0 && number % 2 == 0 {
                push(b':');
            }
            const HEX: &[u8; 16] = b"0123456789abcdef";
            push(HEX[usize::from(byte >> 4)]);
            push(HEX[usize::from(byte & 15)]);
        }
    }
    Some(text)
}

extern "C" fn get_address(
    node: *const c_char,
    service: *const c_char,
    hints: *const c_void,
    result: *mut *mut c_void,
    pc: u64,
) -> i32 {
    let host = bytes(node);
    let peer =
        if controlled() { host.and_then(party::host_address).and_then(|address| written(&address)) } else { None };
    let is_local = host.is_none_or(is_numeric) || peer.is_some();
    if controlled() && !(is_local && bytes(service).is_none_or(is_numeric)) {
        calls::note(b"getaddrinfo", pc);
    }
    let node = peer.as_ref().map_or(node, |text| text.as_ptr().cast());
    // SAFETY: passes on what the caller gave, or a text of the runtime's that ends with a zero.
    let code = unsafe { hidden::getaddrinfo(node, service, hints, result) };
    if code == 0 {
        writes(result as usize, size_of::<usize>(), pc);
        if let Some(host) = host.filter(|host| tap::is_on() && !is_numeric(host)) {
            // SAFETY: the call succeeded, so it has stored a list.
            tap::found(host, unsafe { *result }.cast());
        }
    }
    code
}

export!(getaddrinfo, 4 => get_address);
