//! Sockets that are connected by address. What their other end does is not controlled, so the
//! report names them. All of them are one object: an operation on one of them waits while the
//! kernel would block it, and is ordered with every operation on another.

use core::ffi::c_void;

use raddle_vocab::io::NETWORK;
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::before::before;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::descriptor_ends;
use crate::interpose::io::descriptors::{channel, set_channel, touches, wait_for, woke};
use crate::interpose::io::regular_files::FileAccess;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::controlled;
use crate::syscall::libc_real::real;

real! { hidden:
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    fn accept4(descriptor: i32, address: *mut c_void, bytes: *mut u32, flags: i32) -> i32;
    fn connect(descriptor: i32, address: *const c_void, bytes: u32) -> i32;
}

extern "C" fn make_socket(domain: i32, kind: i32, protocol: i32, _pc: u64) -> i32 {
    if controlled() {
        note_limit(limit::SOCKET);
        undo::needs_own_process();
    }
    // SAFETY: passes on what the caller gave.
    opened(unsafe { hidden::socket(domain, kind, protocol) })
}

/// The descriptor, if it is one, is a socket.
fn opened(descriptor: i32) -> i32 {
    if descriptor >= 0 && controlled() {
        set_channel(descriptor, NETWORK);
        descriptor_ends::made(descriptor);
    }
    descriptor
}

extern "C" fn accept_with_flags(descriptor: i32, address: *mut c_void, bytes: *mut u32, flags: i32, pc: u64) -> i32 {
    let used = wait_for(descriptor, libc::POLLIN, pc);
    if controlled() {
        touch(address.cast(), size_of::<libc::sockaddr_storage>());
        touch(bytes.cast(), size_of::<u32>());
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::accept4(used.number, address, bytes, flags) };
    used.end();
    if result >= 0 && !address.is_null() && !bytes.is_null() {
        // SAFETY: the call succeeded, so it has stored the length.
        writes(address as usize, unsafe { *bytes } as usize, pc);
        writes(bytes as usize, size_of::<u32>(), pc);
    }
    opened(result)
}

extern "C" fn accept(descriptor: i32, address: *mut c_void, bytes: *mut u32, pc: u64) -> i32 {
    accept_with_flags(descriptor, address, bytes, 0, pc)
}

extern "C" fn connect(descriptor: i32, address: *const c_void, bytes: u32, pc: u64) -> i32 {
    reads(address as usize, bytes as usize, pc);
    if controlled() && channel(descriptor) != 0 {
        touches(descriptor, FileAccess::Change, pc);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::connect(descriptor, address, bytes) };
    woke(descriptor);
    result
}

/// A call that changes a socket without waiting.
fn changes_socket(descriptor: usize, pc: u64) {
    let descriptor = descriptor as i32;
    if controlled() && channel(descriptor) != 0 {
        touches(descriptor, FileAccess::Change, pc);
        sched::changed(channel(descriptor));
    }
}

export!(socket, 3 => make_socket);
export!(accept, 3 => accept);
export!(accept4, 4 => accept_with_flags);
export!(connect, 3 => connect);

before! {
    bind => |a, pc| { reads(a[1], a[2] as u32 as usize, pc); changes_socket(a[0], pc); };
    listen shutdown => |a, pc| changes_socket(a[0], pc);
    setsockopt => |a, pc| changes_socket(a[0], pc);
}
