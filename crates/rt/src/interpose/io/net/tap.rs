//! Writes down what the program's connections carry (`raddle run --record-peers`). The sockets are
//! the kernel's then. Each entry is written by one system call to a file that is opened for it: a
//! program may close all descriptors that it does not know, and processes that it forks write
//! entries as well.

use core::ffi::c_void;

use raddle_wire::config_flag;
use raddle_wire::tap::{ENTRY_BYTES, TapEntry, kind};

use super::party;
use crate::interpose::io::overlay::{file_type, status};
use crate::state::process;
use crate::syscall::{errno, syscall};

/// Pieces of one entry, at most.
const PIECES: usize = 16;
/// Bytes of an address, at most, with its length in front.
const ADDRESS: usize = 1 + size_of::<libc::sockaddr_un>();

/// Whether connections are recorded.
#[inline]
pub fn is_on() -> bool {
    process().config_flags & config_flag::RECORD_PEERS != 0
}

/// Identity of the socket that the descriptor refers to; `None` if it is no socket, or nothing is
/// recorded.
#[inline]
fn socket(descriptor: i32) -> Option<u64> {
    if !is_on() {
        return None;
    }
    let about = status(descriptor).ok()?;
    (file_type(&about) == libc::S_IFSOCK).then_some(about.st_ino)
}

fn option(descriptor: i32, name: i32) -> i32 {
    let (mut value, mut len) = (0i32, size_of::<i32>() as u32);
    // SAFETY: asks for an option of a socket, into locals.
    unsafe {
        syscall!(libc::SYS_getsockopt, descriptor, libc::SOL_SOCKET, name, &raw mut value, &raw mut len);
    }
    value
}

/// The process at the other end of a Unix socket.
fn other_process(descriptor: i32) -> u32 {
    if option(descriptor, libc::SO_DOMAIN) != libc::AF_UNIX {
        return 0;
    }
    let mut about = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as u32;
    // SAFETY: asks for an option of a socket, into locals.
    unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        syscall!(libc::SYS_getsockopt, descriptor, level, name, &raw mut about, &raw mut len);
    }
    about.pid as u32
}

/// Writes entries of this kind, of as many bytes as `len` says, out of the pieces.
fn put(entry_kind: u32, descriptor: i32, socket: u64, pieces: &[libc::iovec], len: usize) {
    // SAFETY: asks for the number of the process.
    let process = unsafe { syscall!(libc::SYS_getpid) } as u32;
    let other_process = match entry_kind {
        kind::ACCEPTED | kind::CONNECTED | kind::ASKED => other_process(descriptor),
        _ => 0,
    };
    let mut left = len;
    let mut groups = pieces.chunks(PIECES);
    loop {
        let group = groups.next().unwrap_or(&[]);
        let mut vector = [libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 }; PIECES + 1];
        let mut bytes = 0;
        for (slot, piece) in vector[1..].iter_mut().zip(group) {
            let taken = piece.iov_len.min(left - bytes);
            *slot = libc::iovec { iov_base: piece.iov_base, iov_len: taken };
            bytes += taken;
        }
        let mut head = TapEntry { kind: entry_kind, len: bytes as u32, socket, process, other_process };
        vector[0] = libc::iovec { iov_base: (&raw mut head).cast(), iov_len: ENTRY_BYTES };
        append(&vector);
        left -= bytes;
        if left == 0 || group.is_empty() {
            return;
        }
    }
}

fn append(vector: &[libc::iovec]) {
    let path = party::log_path().as_ptr();
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero; the pieces are a local and memory that the program has
    // passed to a call that succeeded.
    unsafe {
        let file = syscall!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0);
        if file >= 0 {
            syscall!(libc::SYS_writev, file, vector.as_ptr(), vector.len());
            syscall!(libc::SYS_close, file);
        }
    }
}

fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

fn note(entry_kind: u32, descriptor: i32, bytes: &[u8]) {
    if let Some(socket) = socket(descriptor) {
        put(entry_kind, descriptor, socket, &[piece(bytes)], bytes.len());
    }
}

/// An address behind its length; without bytes if there is none.
struct Written {
    bytes: [u8; ADDRESS],
}

impl Written {
    /// The address of a socket, or of its other end.
    fn of(descriptor: i32, is_other: bool) -> Written {
        let mut written = Written { bytes: [0; ADDRESS] };
        let mut len = (ADDRESS - 1) as u32;
        let number = if is_other { libc::SYS_getpeername } else { libc::SYS_getsockname };
        // SAFETY: asks for an address, into locals.
        let result = unsafe { syscall!(number, descriptor, written.bytes[1..].as_mut_ptr(), &raw mut len) };
        written.bytes[0] = if result == 0 { len.min((ADDRESS - 1) as u32) as u8 } else { 0 };
        written
    }

    /// An address that the program has given or got.
    fn given(address: *const c_void, len: u32) -> Written {
        let mut written = Written { bytes: [0; ADDRESS] };
        let len = (len as usize).min(ADDRESS - 1);
        // SAFETY: the program passes so many bytes to a call that succeeded, or was told them.
        unsafe { core::ptr::copy_nonoverlapping(address.cast(), written.bytes[1..].as_mut_ptr(), len) };
        written.bytes[0] = len as u8;
        written
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..1 + usize::from(self.bytes[0])]
    }
}

fn note_ends(entry_kind: u32, descriptor: i32, own: &Written, other: &Written) {
    if let Some(socket) = socket(descriptor) {
        let pieces = [piece(own.bytes()), piece(other.bytes())];
        put(entry_kind, descriptor, socket, &pieces, own.bytes().len() + other.bytes().len());
    }
}

fn is_stream(descriptor: i32) -> bool {
    option(descriptor, libc::SO_TYPE) == libc::SOCK_STREAM
}

/// A connection was accepted.
pub fn accepted(descriptor: i32) {
    if is_on() {
        note_ends(kind::ACCEPTED, descriptor, &Written::of(descriptor, false), &Written::of(descriptor, true));
    }
}

/// The program has bound a socket to this address. Where it leaves the port to the system, it is
/// noted.
pub fn bound(descriptor: i32, address: *const c_void, len: u32) {
    if is_on() {
        let given = Written::given(address, len);
        let family = i32::from(u16::from_ne_bytes([given.bytes[1], given.bytes[2]]));
        if matches!(family, libc::AF_INET | libc::AF_INET6) && given.bytes[3..5] == [0, 0] {
            note(kind::ANY_PORT, descriptor, Written::of(descriptor, false).bytes());
        }
    }
}

/// The program has asked for a connection: the call returned `result`.
pub fn connects(descriptor: i32, address: *const c_void, len: u32, result: i32) {
    let is_asked = result < 0 && errno() == libc::EINPROGRESS;
    if is_on() && (result == 0 || is_asked) {
        if !is_stream(descriptor) {
            return note(kind::DATAGRAM, descriptor, &[]);
        }
        let entry_kind = if is_asked { kind::ASKED } else { kind::CONNECTED };
        note_ends(entry_kind, descriptor, &Written::of(descriptor, false), &Written::given(address, len));
    }
}

/// A call that receives has returned.
pub fn received(descriptor: i32, into: *const c_void, wanted: usize, flags: i32, result: isize) {
    let one = libc::iovec { iov_base: into.cast_mut(), iov_len: wanted };
    received_pieces(descriptor, &raw const one, 1, flags, result);
}

/// A call that receives into several pieces has returned.
pub fn received_pieces(descriptor: i32, pieces: *const libc::iovec, count: usize, flags: i32, result: isize) {
    if !is_on() || flags & libc::MSG_PEEK != 0 {
        return;
    }
    let code = if result < 0 { errno() } else { 0 };
    let Some(socket) = socket(descriptor) else { return };
    // SAFETY: the program passes so many pieces.
    let pieces = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(pieces, count) } };
    let wanted: usize = pieces.iter().map(|piece| piece.iov_len).sum();
    match result {
        _ if !is_stream(descriptor) => {}
        1.. => put(kind::RECEIVED, descriptor, socket, pieces, (result as usize).min(wanted)),
        0 if wanted > 0 => put(kind::ENDED, descriptor, socket, &[], 0),
        _ if code == libc::ECONNRESET => put(kind::RESET, descriptor, socket, &[], 0),
        _ => {}
    }
}

/// A call that sends has returned.
pub fn sent(descriptor: i32, from: *const c_void, bytes: usize, result: isize) {
    let one = libc::iovec { iov_base: from.cast_mut(), iov_len: bytes };
    sent_pieces(descriptor, &raw const one, 1, result);
}

/// A call that sends several pieces has returned.
pub fn sent_pieces(descriptor: i32, pieces: *const libc::iovec, count: usize, result: isize) {
    if !is_on() {
        return;
    }
    let code = if result < 0 { errno() } else { 0 };
    let Some(socket) = socket(descriptor) else { return };
    if !is_stream(descriptor) {
        return put(kind::DATAGRAM, descriptor, socket, &[], 0);
    }
    match (result, code) {
        (1.., _) if count > 0 => {
            // SAFETY: the program passes so many pieces.
            let pieces = unsafe { core::slice::from_raw_parts(pieces, count) };
            put(kind::SENT, descriptor, socket, pieces, result as usize);
        }
        (_, libc::ECONNRESET) => put(kind::RESET, descriptor, socket, &[], 0),
        (_, libc::EPIPE) => put(kind::ENDED, descriptor, socket, &[], 0),
        _ => {}
    }
}

/// The program shuts a direction down.
pub fn shuts(descriptor: i32, how: i32) {
    if is_on() && how != libc::SHUT_RD {
        note(kind::SHUT, descriptor, &[]);
    }
}

/// The program closes a descriptor.
pub fn closes(descriptor: i32) {
    if is_on() && Written::of(descriptor, true).bytes[0] != 0 {
        note(kind::CLOSED, descriptor, &[]);
    }
}

/// A function transfers bytes that are not seen.
pub fn misses(descriptor: i32, name: &[u8]) {
    if is_on() {
        note(kind::UNSEEN, descriptor, name);
    }
}

/// The program was told the addresses of a host.
pub fn found(host: &[u8], first: *const libc::addrinfo) {
    let mut next = first;
    // SAFETY: the list that `getaddrinfo` has made.
    while let (true, Some(entry)) = (is_on(), unsafe { next.as_ref() }) {
        let address = Written::given(entry.ai_addr.cast(), entry.ai_addrlen);
        let pieces = [piece(address.bytes()), piece(host)];
        put(kind::NAMED, -1, 0, &pieces, address.bytes().len() + host.len());
        next = entry.ai_next;
    }
}
