//! Reading and writing. A descriptor whose operations can block (pipe, socket, event counter,
//! terminal) is an object of its own: an operation on it is enabled when the kernel would not
//! block. Regular files never block.

use core::ffi::{c_char, c_void};

use raddle_vocab::io::ChannelKind;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers::{changes, reads, reads_pieces, writes, writes_pieces};
use crate::interpose::io::descriptor_ends;
use crate::interpose::io::descriptor_uses::{wait_interruptibly, wait_with_flags};
use crate::interpose::io::net::{self, Pieces, tap};
use crate::interpose::io::overlay::{close as close_copy, overlay};
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::io::readiness::revents;
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::io::{calls, channels, effects, file_locks, slots, transfers};
use crate::restore::snapshot::touch;
use crate::restore::undo::{self, kind};
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn read(descriptor: i32, into: *mut c_void, bytes: usize) -> isize;
    fn write(descriptor: i32, from: *const c_void, bytes: usize) -> isize;
    fn pwrite(descriptor: i32, from: *const c_void, bytes: usize, offset: i64) -> isize;
    fn ftruncate(descriptor: i32, bytes: i64) -> i32;
    fn fstat(descriptor: i32, into: *mut libc::stat) -> i32;
    fn pwritev(descriptor: i32, pieces: *const libc::iovec, count: i32, offset: i64) -> isize;
    fn pread(descriptor: i32, into: *mut c_void, bytes: usize, offset: i64) -> isize;
    fn recv(descriptor: i32, into: *mut c_void, bytes: usize, flags: i32) -> isize;
    fn send(descriptor: i32, from: *const c_void, bytes: usize, flags: i32) -> isize;
    fn close(descriptor: i32) -> i32;
    fn dup2(from: i32, to: i32) -> i32;
    fn dup3(from: i32, to: i32, flags: i32) -> i32;
    fn lseek(descriptor: i32, offset: i64, whence: i32) -> i64;
    fn pipe(pair: *mut i32) -> i32;
    fn pipe2(pair: *mut i32, flags: i32) -> i32;
    fn socketpair(domain: i32, kind: i32, protocol: i32, pair: *mut i32) -> i32;
    fn eventfd(value: u32, flags: i32) -> i32;
    fn memfd_create(name: *const c_char, flags: u32) -> i32;
    fn readv(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize;
    fn writev(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize;
    fn preadv(descriptor: i32, pieces: *const libc::iovec, count: i32, offset: i64) -> isize;
    fn recvfrom(
        descriptor: i32,
        into: *mut c_void,
        bytes: usize,
        flags: i32,
        address: *mut c_void,
        length: *mut u32,
    ) -> isize;
    fn recvmsg(descriptor: i32, message: *mut libc::msghdr, flags: i32) -> isize;
    fn sendto(
        descriptor: i32,
        from: *const c_void,
        bytes: usize,
        flags: i32,
        address: *const c_void,
        length: u32,
    ) -> isize;
    fn sendmsg(descriptor: i32, message: *const libc::msghdr, flags: i32) -> isize;
    fn dup(descriptor: i32) -> i32;
    fn fcntl(descriptor: i32, command: i32, argument: usize) -> i32;
}

/// No address of a sender is wanted.
const NO_SENDER: (*mut c_void, *mut u32) = (core::ptr::null_mut(), core::ptr::null_mut());
/// No address is given.
const NO_TARGET: (*const c_void, u32) = (core::ptr::null(), 0);

fn failed(code: i32) -> isize {
    set_errno(code);
    -1
}

/// Descriptors below this number are objects of the search.
pub const MAX_CHANNELS: usize = 256;

/// Identity of what a descriptor refers to: 0 if it never blocks or is unknown.
pub fn channel(descriptor: i32) -> u64 {
    usize::try_from(descriptor).ok().and_then(|index| run().channels.get(index)).copied().unwrap_or(0)
}

pub fn set_channel(descriptor: i32, identity: u64) {
    if let Some(slot) = usize::try_from(descriptor).ok().and_then(|index| run().channels.get_mut(index)) {
        *slot = identity;
    }
}

/// A new identity that depends only on the running thread's own history.
pub fn new_identity(kind: ChannelKind) -> u64 {
    let me = run().me();
    me.channels += 1;
    io::channel(me.key, kind, me.channels)
}

/// Whether input or output on the descriptor would not block.
pub fn is_ready(descriptor: i32, events: i16) -> bool {
    revents(descriptor, events, 0) != 0
}

/// All that `poll` can say of the descriptor.
pub fn readiness(descriptor: i32) -> u64 {
    u64::from(revents(descriptor, !0, 0).cast_unsigned())
}

/// A transition on what the descriptor refers to that waits for nothing.
pub fn touches(descriptor: i32, how: FileAccess, pc: u64) {
    let arg = io::waits_for(descriptor, 0);
    let arg = if how == FileAccess::Observe { arg | io::OBSERVES } else { slots::may_make_ready(arg) };
    slots::use_settled(descriptor, pc, || match channel(descriptor) {
        0 => regular_files::performs_on_open_file(descriptor, how, 0, pc),
        identity => {
            let op = AnnouncedOp::new(OpKind::Io, identity, arg, pc);
            sched::perform(op, Outcome::Done, 0, 0);
        }
    });
}

/// Whether operations on the descriptor never wait.
pub fn is_nonblocking(descriptor: i32) -> bool {
    // SAFETY: asks for the flags of a descriptor.
    let flags = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) };
    flags >= 0 && flags as i32 & libc::O_NONBLOCK != 0
}

/// After an operation on a channel, other threads may be enabled.
pub fn woke(descriptor: i32) {
    if controlled() && channel(descriptor) != 0 {
        sched::changed_channels();
    }
}

extern "C" fn read_from(descriptor: i32, into: *mut c_void, bytes: usize, pc: u64) -> isize {
    if let Some(result) = net::receive_one(descriptor, into, bytes, 0, NO_SENDER, pc) {
        return result;
    }
    let portion = transfers::choose(descriptor, bytes, pc);
    let used = wait_interruptibly(descriptor, libc::POLLIN, 0, pc);
    if used.is_over() {
        return -1;
    }
    let bytes = transfers::shortened(used.number, portion, bytes);
    if controlled() {
        touch(into.cast(), bytes);
        moves(used.number);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::read(used.number, into, bytes) };
    tap::received(used.number, into, bytes, 0, result);
    writes(into as usize, result.max(0) as usize, pc);
    used.end();
    result
}

extern "C" fn write_to(descriptor: i32, from: *const c_void, bytes: usize, pc: u64) -> isize {
    if let Some(result) = net::send_one(descriptor, from, bytes, 0, NO_TARGET, pc) {
        return result;
    }
    if let Some(result) = transfers::write(descriptor, from, bytes, pc) {
        return result;
    }
    reads(from as usize, bytes, pc);
    let used = wait_interruptibly(descriptor, libc::POLLOUT, 0, pc);
    if used.is_over() {
        return -1;
    }
    moves(used.number);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::write(used.number, from, bytes) };
    tap::sent(used.number, from, bytes, result);
    used.end();
    result
}

extern "C" fn read_at(descriptor: i32, into: *mut c_void, bytes: usize, offset: i64, pc: u64) -> isize {
    if controlled() {
        regular_files::touches(descriptor, FileAccess::Observe, pc);
        touch(into.cast(), bytes);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::pread(descriptor, into, bytes, offset) };
    writes(into as usize, result.max(0) as usize, pc);
    result
}

extern "C" fn write_at(descriptor: i32, from: *const c_void, bytes: usize, offset: i64, pc: u64) -> isize {
    reads(from as usize, bytes, pc);
    regular_files::touches(descriptor, FileAccess::Change, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::pwrite(descriptor, from, bytes, offset) }
}

extern "C" fn set_size(descriptor: i32, bytes: i64, pc: u64) -> i32 {
    regular_files::touches(descriptor, FileAccess::Change, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::ftruncate(descriptor, bytes) }
}

/// `fstat`
pub extern "C" fn stat_descriptor(descriptor: i32, into: *mut libc::stat, pc: u64) -> i32 {
    if controlled() {
        regular_files::touches(descriptor, FileAccess::Observe, pc);
        touch(into.cast(), size_of::<libc::stat>());
    }
    writes(into as usize, size_of::<libc::stat>(), pc);
    if calls::private() && !overlay().is_empty() {
        return match calls::descriptor_status(descriptor) {
            Ok(about) => {
                // SAFETY: the caller passes room for the result.
                unsafe { into.write(about) };
                0
            }
            Err(code) => {
                set_errno(code);
                -1
            }
        };
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::fstat(descriptor, into) }
}

extern "C" fn receive(descriptor: i32, into: *mut c_void, bytes: usize, flags: i32, pc: u64) -> isize {
    if let Some(result) = net::receive_one(descriptor, into, bytes, flags, NO_SENDER, pc) {
        return result;
    }
    let used = wait_interruptibly(descriptor, libc::POLLIN, flags, pc);
    if used.is_over() {
        return -1;
    }
    if controlled() {
        touch(into.cast(), bytes);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::recv(used.number, into, bytes, flags) };
    tap::received(used.number, into, bytes, flags, result);
    writes(into as usize, result.max(0) as usize, pc);
    used.end();
    result
}

extern "C" fn send_to(descriptor: i32, from: *const c_void, bytes: usize, flags: i32, pc: u64) -> isize {
    if let Some(result) = net::send_one(descriptor, from, bytes, flags, NO_TARGET, pc) {
        return result;
    }
    reads(from as usize, bytes, pc);
    let used = wait_interruptibly(descriptor, libc::POLLOUT, flags, pc);
    if used.is_over() {
        return -1;
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::send(used.number, from, bytes, flags) };
    tap::sent(used.number, from, bytes, result);
    used.end();
    result
}

/// Makes the pieces of a buffer writable.
fn touch_pieces(pieces: *const libc::iovec, count: usize) {
    const MOST: usize = 1024;
    for index in 0..count.min(MOST) {
        // SAFETY: the caller passes so many pieces.
        let piece = unsafe { &*pieces.add(index) };
        touch(piece.iov_base.cast(), piece.iov_len);
    }
}

extern "C" fn read_pieces(descriptor: i32, pieces: *const libc::iovec, count: i32, pc: u64) -> isize {
    if let Some(result) = net::receive(descriptor, Pieces::new(pieces, count.max(0) as usize), 0, pc) {
        return result.map_or_else(failed, |received| received.len as isize);
    }
    let used = wait_interruptibly(descriptor, libc::POLLIN, 0, pc);
    if used.is_over() {
        return -1;
    }
    if controlled() {
        touch_pieces(pieces, count.max(0) as usize);
        moves(used.number);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::readv(used.number, pieces, count) };
    tap::received_pieces(used.number, pieces, count.max(0) as usize, 0, result);
    writes_pieces(pieces, count.max(0) as usize, result.max(0) as usize, pc);
    used.end();
    result
}

extern "C" fn write_pieces(descriptor: i32, pieces: *const libc::iovec, count: i32, pc: u64) -> isize {
    if let Some(result) = net::send(descriptor, Pieces::new(pieces, count.max(0) as usize), 0, NO_TARGET, pc) {
        return result;
    }
    reads_pieces(pieces, count.max(0) as usize, usize::MAX, pc);
    let used = wait_interruptibly(descriptor, libc::POLLOUT, 0, pc);
    if used.is_over() {
        return -1;
    }
    moves(used.number);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::writev(used.number, pieces, count) };
    tap::sent_pieces(used.number, pieces, count.max(0) as usize, result);
    used.end();
    result
}

extern "C" fn read_pieces_at(descriptor: i32, pieces: *const libc::iovec, count: i32, offset: i64, pc: u64) -> isize {
    if controlled() {
        regular_files::touches(descriptor, FileAccess::Observe, pc);
        touch_pieces(pieces, count.max(0) as usize);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::preadv(descriptor, pieces, count, offset) };
    writes_pieces(pieces, count.max(0) as usize, result.max(0) as usize, pc);
    result
}

extern "C" fn write_pieces_at(descriptor: i32, pieces: *const libc::iovec, count: i32, offset: i64, pc: u64) -> isize {
    reads_pieces(pieces, count.max(0) as usize, usize::MAX, pc);
    regular_files::touches(descriptor, FileAccess::Change, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::pwritev(descriptor, pieces, count, offset) }
}

extern "C" fn receive_from(
    descriptor: i32,
    into: *mut c_void,
    bytes: usize,
    flags: i32,
    address: *mut c_void,
    length: *mut u32,
) -> isize {
    let pc = return_address();
    if let Some(result) = net::receive_one(descriptor, into, bytes, flags, (address, length), pc) {
        return result;
    }
    let used = wait_with_flags(descriptor, libc::POLLIN, flags, pc);
    if controlled() {
        touch(into.cast(), bytes);
        touch(address.cast(), size_of::<libc::sockaddr_storage>());
        touch(length.cast(), size_of::<u32>());
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::recvfrom(used.number, into, bytes, flags, address, length) };
    tap::received(used.number, into, bytes, flags, result);
    writes(into as usize, result.max(0) as usize, pc);
    if result >= 0 && !address.is_null() && !length.is_null() {
        // SAFETY: the call succeeded, so it has stored the length.
        writes(address as usize, unsafe { *length } as usize, pc);
        writes(length as usize, size_of::<u32>(), pc);
    }
    used.end();
    result
}

extern "C" fn receive_message(descriptor: i32, message: *mut libc::msghdr, flags: i32, pc: u64) -> isize {
    if let Some(result) = net::receive_message(descriptor, message, flags, pc) {
        return result;
    }
    let used = wait_with_flags(descriptor, libc::POLLIN, flags, pc);
    if controlled() && !message.is_null() {
        touch(message.cast(), size_of::<libc::msghdr>());
        // SAFETY: the caller passes a description of buffers.
        let message = unsafe { &*message };
        touch_pieces(message.msg_iov, message.msg_iovlen);
        touch(message.msg_name.cast(), message.msg_namelen as usize);
        touch(message.msg_control.cast(), message.msg_controllen);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::recvmsg(used.number, message, flags) };
    // SAFETY: the caller passes a description of buffers.
    if let Some(message) = unsafe { message.as_ref() } {
        tap::received_pieces(used.number, message.msg_iov, message.msg_iovlen, flags, result);
        writes_pieces(message.msg_iov, message.msg_iovlen, result.max(0) as usize, pc);
    }
    used.end();
    result
}

extern "C" fn send_to_address(
    descriptor: i32,
    from: *const c_void,
    bytes: usize,
    flags: i32,
    address: *const c_void,
    length: u32,
) -> isize {
    let pc = return_address();
    if let Some(result) = net::send_one(descriptor, from, bytes, flags, (address, length), pc) {
        return result;
    }
    reads(from as usize, bytes, pc);
    reads(address as usize, length as usize, pc);
    let used = wait_with_flags(descriptor, libc::POLLOUT, flags, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::sendto(used.number, from, bytes, flags, address, length) };
    tap::sent(used.number, from, bytes, result);
    used.end();
    result
}

extern "C" fn send_message(descriptor: i32, message: *const libc::msghdr, flags: i32, pc: u64) -> isize {
    if let Some(result) = net::send_message(descriptor, message, flags, pc) {
        return result;
    }
    // SAFETY: the caller passes a description of buffers.
    if let Some(message) = unsafe { message.as_ref() } {
        reads_pieces(message.msg_iov, message.msg_iovlen, usize::MAX, pc);
        if message.msg_controllen > 0 && controlled() {
            // What is sent beside the bytes is not looked at.
            run().used_files = true;
        }
    }
    let used = wait_with_flags(descriptor, libc::POLLOUT, flags, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::sendmsg(used.number, message, flags) };
    // SAFETY: the caller passes a description of buffers.
    if let Some(message) = unsafe { message.as_ref() } {
        tap::sent_pieces(used.number, message.msg_iov, message.msg_iovlen, result);
    }
    used.end();
    result
}

/// Notes that the state of a descriptor from before the run is about to change.
pub fn moves(descriptor: i32) {
    if controlled() && descriptor != 1 && descriptor != 2 && undo::is_watched(descriptor) {
        undo::changed(kind::DESCRIPTORS);
    }
}

/// `close`
pub extern "C" fn close_descriptor(descriptor: i32, pc: u64) -> i32 {
    tap::closes(descriptor);
    if controlled() {
        undo::loses(descriptor);
        if queues::is_queue(descriptor) {
            queues::closing(descriptor, pc);
        }
        let identity = channel(descriptor);
        if identity != 0 {
            descriptor_ends::ends(descriptor, pc);
            // Threads that wait at the other end notice that this one is closed.
            let arg = slots::may_make_ready(io::waits_for(descriptor, 0) | io::BLIND | slots::second(descriptor));
            sched::perform(AnnouncedOp::new(OpKind::Io, identity, arg, pc), Outcome::Done, 0, 0);
            if net::of(descriptor).is_some() {
                effects::note_number(descriptor, true);
            }
            slots::changes(descriptor);
            forget(descriptor, pc);
            // SAFETY: passes on what the caller gave.
            let result = unsafe { hidden::close(descriptor) };
            if !io::is_file(identity) {
                queues::notify_channel(identity, -1, Notice::All);
            }
            sched::changed_channels();
            return result;
        }
        queues::closed(descriptor, false);
        let content = regular_files::get(descriptor).content;
        file_locks::closing(descriptor, pc);
        regular_files::closes(descriptor, pc);
        slots::changes(descriptor);
        // SAFETY: passes on what the caller gave.
        let result = unsafe { hidden::close(descriptor) };
        file_locks::closed(content);
        return result;
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::close(descriptor) }
}

/// What the program knows as this descriptor is closed.
fn forget(descriptor: i32, pc: u64) {
    net::closed(descriptor, pc);
    queues::closed(descriptor, false);
    set_channel(descriptor, 0);
}

extern "C" fn duplicate_to(from: i32, to: i32, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    replace(from, to, pc, |from| unsafe { hidden::dup2(from, to) })
}

extern "C" fn duplicate(descriptor: i32, pc: u64) -> i32 {
    if controlled() {
        slots::use_settled(descriptor, pc, || {});
    }
    // SAFETY: passes on what the caller gave.
    let copy = unsafe { hidden::dup(descriptor) };
    if copy >= 0 && controlled() {
        copied(descriptor, copy);
        descriptor_ends::made(copy);
    }
    copy
}

/// Commands of `fcntl` about signals that tell of input and output.
const F_SETOWN: i32 = 8;
const F_GETOWN: i32 = 9;
const F_SETSIG: i32 = 10;
const F_GETSIG: i32 = 11;

extern "C" fn control_descriptor(descriptor: i32, command: i32, argument: usize, pc: u64) -> i32 {
    if controlled() {
        match command {
            libc::F_GETFL
            | libc::F_GETFD
            | F_GETOWN
            | F_GETSIG
            | libc::F_GETLEASE
            | libc::F_GETPIPE_SZ
            | libc::F_GET_SEALS => touches(descriptor, FileAccess::Observe, pc),
            libc::F_SETFL
            | libc::F_SETFD
            | F_SETOWN
            | F_SETSIG
            | libc::F_SETLEASE
            | libc::F_SETPIPE_SZ
            | libc::F_ADD_SEALS => touches(descriptor, FileAccess::Change, pc),
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => slots::use_settled(descriptor, pc, || {}),
            _ => {}
        }
    }
    match command {
        libc::F_GETLK | libc::F_OFD_GETLK if controlled() => {
            touch(argument as *const u8, size_of::<libc::flock>());
            changes(argument, size_of::<libc::flock>(), pc);
        }
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            reads(argument, size_of::<libc::flock>(), pc);
        }
        _ => {}
    }
    if controlled() && matches!(command, libc::F_OFD_SETLK | libc::F_OFD_SETLKW | libc::F_OFD_GETLK) {
        let result = file_locks::control(descriptor, command, argument as *mut libc::flock, pc);
        if result < 0 {
            set_errno(-result as i32);
            return -1;
        }
        return result as i32;
    }
    if command == libc::F_SETFL && controlled() {
        undo::changes_flags(descriptor);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::fcntl(descriptor, command, argument) };
    if result >= 0 && controlled() && matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        copied(descriptor, result);
        descriptor_ends::made(result);
    }
    if command == libc::F_SETFL {
        if controlled() {
            net::digest::note_setting(descriptor, [0, command as u64], &argument.to_ne_bytes());
        }
        woke(descriptor);
    }
    result
}

extern "C" fn duplicate_with_flags(from: i32, to: i32, flags: i32, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    replace(from, to, pc, |from| unsafe { hidden::dup3(from, to, flags) })
}

/// `close_range`, one descriptor after the other. The kernel does the same, and no other thread of
/// the program can see it half done unless it opens or uses one of them meanwhile.
pub extern "C" fn close_all(first: u32, last: u32, flags: i32, pc: u64) -> i32 {
    if !controlled() || flags != 0 || first > last {
        if controlled() && flags & libc::CLOSE_RANGE_UNSHARE as i32 != 0 {
            // The thread would have a table of its own.
            note_limit(limit::SYSTEM_CALL);
        }
        // SAFETY: closes descriptors, or marks them; no memory is involved.
        return match unsafe { syscall!(libc::SYS_close_range, first, last, flags) } {
            0 => 0,
            error => {
                set_errno(-error as i32);
                -1
            }
        };
    }
    for descriptor in first as i32..=last.min(undo::COPIES as u32 - 1) as i32 {
        // SAFETY: asks about a descriptor.
        if unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFD) } >= 0 {
            close_descriptor(descriptor, pc);
        }
    }
    0
}

extern "C" fn close_from(first: i32, pc: u64) {
    close_all(first.max(0) as u32, u32::MAX, 0, pc);
}

/// The transition in which the number gets something else to refer to. Returns the channel that it
/// has referred to, 0 if that was none.
fn begins_to_replace(to: i32, pc: u64) -> u64 {
    descriptor_ends::replaces(to, pc);
    file_locks::closing(to, pc);
    let former = channel(to);
    let second = slots::second(to);
    if second == 0 && regular_files::counts() {
        // The program has found the function by its name, or the number is too high.
        note_limit(limit::DESCRIPTORS);
    }
    if former == 0 {
        regular_files::performs_on_open_file(to, FileAccess::Change, second, pc);
    } else {
        let arg = io::waits_for(to, 0) | second;
        sched::perform(AnnouncedOp::new(OpKind::Io, former, arg, pc), Outcome::Done, 0, 0);
    }
    former
}

/// A stream is reopened in this transition: its number gets another file.
pub fn reopens(number: i32, pc: u64) {
    begins_to_replace(number, pc);
    slots::changes(number);
    undo::loses(number);
}

/// Replaces a descriptor, which closes it.
fn replace(from: i32, to: i32, pc: u64, call: impl FnOnce(i32) -> i32) -> i32 {
    if !controlled() || from == to {
        return call(from);
    }
    descriptor_ends::uses(from, pc);
    slots::looks_up(from, pc);
    let (identity, file) = (channel(from), regular_files::get(from));
    let former = begins_to_replace(to, pc);
    let content = regular_files::get(to).content;
    let (number, is_copy) = slots::found(from);
    slots::changes(to);
    undo::loses(to);
    let source = net::of(from);
    tap::closes(to);
    forget(to, pc);
    let result = call(number);
    if result >= 0 {
        net::attached(source, to);
        queues::copied(from, to);
        channels::set_semaphore(to, channels::is_semaphore(from));
        set_channel(to, identity);
        regular_files::set(to, file);
    }
    if is_copy {
        close_copy(number);
    }
    if former != 0 {
        sched::changed_channels();
    }
    file_locks::closed(content);
    result
}

/// The second descriptor refers to what the first does.
pub fn copied(from: i32, to: i32) {
    net::attached(net::of(from), to);
    queues::copied(from, to);
    channels::set_semaphore(to, channels::is_semaphore(from));
    set_channel(to, channel(from));
    regular_files::set(to, regular_files::get(from));
}

extern "C" fn seek(descriptor: i32, offset: i64, whence: i32, pc: u64) -> i64 {
    match whence {
        libc::SEEK_SET | libc::SEEK_CUR => regular_files::touches_offset(descriptor, pc),
        _ => regular_files::touches_at_offset(descriptor, FileAccess::Observe, pc),
    }
    moves(descriptor);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::lseek(descriptor, offset, whence) }
}

/// Both ends of a new pair are the same object.
fn paired(result: i32, pair: *const i32, kind: ChannelKind) -> i32 {
    if result == 0 && controlled() {
        let identity = new_identity(kind);
        // SAFETY: the call succeeded, so the caller's array holds two descriptors.
        unsafe {
            set_channel(*pair, identity);
            set_channel(*pair.add(1), identity);
            queues::set_side(*pair, 0);
            queues::set_side(*pair.add(1), 1);
            descriptor_ends::made(*pair);
            descriptor_ends::made(*pair.add(1));
        }
    }
    result
}

extern "C" fn make_pipe(pair: *mut i32, pc: u64) -> i32 {
    touch(pair.cast(), 8);
    writes(pair as usize, 8, pc);
    // SAFETY: passes on what the caller gave.
    paired(unsafe { hidden::pipe(pair) }, pair, ChannelKind::Pipe)
}

extern "C" fn make_pipe_with_flags(pair: *mut i32, flags: i32, pc: u64) -> i32 {
    touch(pair.cast(), 8);
    writes(pair as usize, 8, pc);
    // SAFETY: passes on what the caller gave.
    paired(unsafe { hidden::pipe2(pair, flags) }, pair, ChannelKind::Pipe)
}

extern "C" fn make_socket_pair(domain: i32, socket_kind: i32, protocol: i32, pair: *mut i32, pc: u64) -> i32 {
    touch(pair.cast(), 8);
    writes(pair as usize, 8, pc);
    // SAFETY: passes on what the caller gave.
    paired(unsafe { hidden::socketpair(domain, socket_kind, protocol, pair) }, pair, ChannelKind::SocketPair)
}

extern "C" fn make_event_counter(value: u32, flags: i32) -> i32 {
    // SAFETY: passes on what the caller gave.
    let descriptor = unsafe { hidden::eventfd(value, flags) };
    if descriptor >= 0 && controlled() {
        set_channel(descriptor, new_identity(ChannelKind::EventCounter));
        channels::set_semaphore(descriptor, flags & libc::EFD_SEMAPHORE != 0);
        descriptor_ends::made(descriptor);
    }
    descriptor
}

/// Takes the value of a counter: all or nothing.
extern "C" fn read_counter(descriptor: i32, value: *mut u64, pc: u64) -> i32 {
    if read_from(descriptor, value.cast(), size_of::<u64>(), pc) == size_of::<u64>() as isize { 0 } else { -1 }
}

extern "C" fn add_to_counter(descriptor: i32, value: u64, pc: u64) -> i32 {
    let from = (&raw const value).cast();
    if write_to(descriptor, from, size_of::<u64>(), pc) == size_of::<u64>() as isize { 0 } else { -1 }
}

extern "C" fn make_memory_file(name: *const c_char, flags: u32) -> i32 {
    // SAFETY: passes on what the caller gave.
    let descriptor = unsafe { hidden::memfd_create(name, flags) };
    if descriptor >= 0 && controlled() {
        regular_files::opened_nameless(descriptor);
    }
    descriptor
}

export!(read, 3 => read_from);
export!(write, 3 => write_to);
export!(pread, 4 => read_at);
export!(pread64, 4 => read_at);
export!(pwrite, 4 => write_at);
export!(pwrite64, 4 => write_at);
export!(pwritev, 4 => write_pieces_at);
export!(pwritev64, 4 => write_pieces_at);
export!(ftruncate, 2 => set_size);
export!(ftruncate64, 2 => set_size);
export!(fstat, 2 => stat_descriptor);
export!(fstat64, 2 => stat_descriptor);
export!(recv, 4 => receive);
export!(send, 4 => send_to);
export!(readv, 3 => read_pieces);
export!(writev, 3 => write_pieces);
export!(preadv, 4 => read_pieces_at);
export!(preadv64, 4 => read_pieces_at);
export!(recvfrom, many => receive_from);
export!(recvmsg, 3 => receive_message);
export!(sendto, many => send_to_address);
export!(sendmsg, 3 => send_message);
export!(close, 1 => close_descriptor);
export!(close_range, 3 => close_all);
export!(closefrom, 1 => close_from);
export!(dup, 1 => duplicate);
export!(dup2, 2 => duplicate_to);
export!(dup3, 3 => duplicate_with_flags);
export!(fcntl, 3 => control_descriptor);
export!(fcntl64, 3 => control_descriptor);
export!(lseek, 3 => seek);
export!(lseek64, 3 => seek);
export!(pipe, 1 => make_pipe);
export!(pipe2, 2 => make_pipe_with_flags);
export!(socketpair, 4 => make_socket_pair);
export!(eventfd, 2 => make_event_counter);
export!(eventfd_read, 2 => read_counter);
export!(eventfd_write, 2 => add_to_counter);
export!(memfd_create, 2 => make_memory_file);
