//! The functions that make, connect and ask about sockets.

use core::ffi::c_void;

use raddle_vocab::io::{self, NETWORK};
use raddle_wire::limit;

use super::address::Address;
use super::connect::{self, Asked};
use super::data::first_message;
use super::readiness::has_room_to_wait;
use super::{SocketCall, SocketPhase, attach, digest, is_modelled, make, party, shut, socket, tap};
use crate::arch::entry::export;
use crate::interpose::before::before;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::descriptor_uses::wait_for;
use crate::interpose::io::descriptors::{MAX_CHANNELS, channel, set_channel, touches, woke};
use crate::interpose::io::overlay::Errno;
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::io::{channels, descriptor_ends, effects};
use crate::library::calls;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::sched::controller::note_limit;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    fn accept4(descriptor: i32, address: *mut c_void, bytes: *mut u32, flags: i32) -> i32;
    fn connect(descriptor: i32, address: *const c_void, bytes: u32) -> i32;
    fn bind(descriptor: i32, address: *const c_void, bytes: u32) -> i32;
    fn listen(descriptor: i32, backlog: i32) -> i32;
    fn shutdown(descriptor: i32, how: i32) -> i32;
    fn setsockopt(descriptor: i32, level: i32, name: i32, value: *const c_void, bytes: u32) -> i32;
    fn getsockname(descriptor: i32, address: *mut c_void, bytes: *mut u32) -> i32;
    fn getpeername(descriptor: i32, address: *mut c_void, bytes: *mut u32) -> i32;
    fn getsockopt(descriptor: i32, level: i32, name: i32, value: *mut c_void, bytes: *mut u32) -> i32;
}

/// Flags that the kind of a socket may carry.
const FLAGS: i32 = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
/// Connections that may wait, at most, as the kernel has it.
const MOST_WAITING: u32 = 4096;

/// What a call returns that succeeds with 0.
fn answer(result: Result<(), Errno>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(code) => {
            set_errno(code);
            -1
        }
    }
}

extern "C" fn make_socket(domain: i32, kind: i32, protocol: i32, _pc: u64) -> i32 {
    let is_own = is_modelled(domain, kind & !FLAGS, protocol);
    if controlled() && !is_own {
        note_limit(limit::SOCKET);
        undo::needs_own_process();
    }
    // SAFETY: passes on what the caller gave.
    let descriptor = unsafe { hidden::socket(domain, kind, protocol) };
    if descriptor < 0 || !controlled() {
        return descriptor;
    }
    if is_own && (descriptor as usize) < MAX_CHANNELS {
        if let Some(index) = make(domain, kind & !FLAGS) {
            attach(descriptor, index, kind & FLAGS);
            return descriptor;
        }
        note_limit(limit::SOCKET);
    }
    set_channel(descriptor, NETWORK);
    descriptor_ends::made(descriptor);
    descriptor
}

/// Takes a connection, and makes a descriptor for it.
fn take_connection(call: &SocketCall, flags: i32) -> Result<(i32, usize), Errno> {
    if flags & !FLAGS != 0 {
        return Err(libc::EINVAL);
    }
    let waits = call.waits(0);
    let is_timed = waits && call.is_timed(libc::SO_RCVTIMEO);
    if !socket(call.index).is_connected_kind() {
        return Err(libc::EOPNOTSUPP);
    }
    let listener = loop {
        call.interruptible_turn(if waits && !is_timed { libc::POLLIN } else { 0 })?;
        let this = socket(call.index);
        if this.phase != SocketPhase::Listening {
            return Err(libc::EINVAL);
        }
        if super::readiness::waiting(call.index).next().is_some() {
            break this;
        }
        if this.shut & shut::READ != 0 && waits {
            return Err(libc::EINVAL);
        }
        if !waits || is_timed {
            return Err(libc::EAGAIN);
        }
    };
    // SAFETY: makes a socket of the same kind as the one that listens.
    let made = unsafe { syscall!(libc::SYS_socket, listener.domain, listener.kind | flags, 0) };
    if made < 0 {
        return Err(-made as Errno);
    }
    let descriptor = made as i32;
    if descriptor as usize >= MAX_CHANNELS {
        note_limit(limit::DESCRIPTORS);
        super::gives_up(b"accept (too many descriptors)", call.pc);
    }
    let end = connect::accept(call.index).ok_or(libc::EAGAIN)?;
    attach(descriptor, end, flags);
    effects::note_number(descriptor, false);
    Ok((descriptor, end))
}

extern "C" fn accept_with_flags(descriptor: i32, address: *mut c_void, bytes: *mut u32, flags: i32, pc: u64) -> i32 {
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        let result = take_connection(&call, flags);
        if result.is_ok() {
            connect::make_room(&call);
        }
        call.end();
        return match result {
            Ok((connection, end)) => {
                tell(&named(&socket(end).remote, socket(end).domain), address, bytes, pc);
                connection
            }
            Err(code) => {
                set_errno(code);
                -1
            }
        };
    }
    let used = wait_for(descriptor, libc::POLLIN, pc);
    if controlled() {
        touch(address.cast(), size_of::<libc::sockaddr_storage>());
        touch(bytes.cast(), size_of::<u32>());
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::accept4(used.number, address, bytes, flags) };
    if result >= 0 {
        tap::accepted(result);
    }
    used.end();
    if result >= 0 && !address.is_null() && !bytes.is_null() {
        // SAFETY: the call succeeded, so it has stored the length.
        writes(address as usize, unsafe { *bytes } as usize, pc);
        writes(bytes as usize, size_of::<u32>(), pc);
    }
    if result >= 0 && controlled() {
        set_channel(result, NETWORK);
        descriptor_ends::made(result);
    }
    result
}

extern "C" fn accept(descriptor: i32, address: *mut c_void, bytes: *mut u32, pc: u64) -> i32 {
    accept_with_flags(descriptor, address, bytes, 0, pc)
}

/// The address, or that of a socket without one.
fn named(address: &Address, domain: i32) -> Address {
    if address.is_some() { *address } else { Address::unbound(domain) }
}

fn tell(address: &Address, into: *mut c_void, room: *mut u32, pc: u64) {
    if !into.is_null() && !room.is_null() {
        address.tell(into, room);
        writes(into as usize, address.bytes().len(), pc);
        writes(room as usize, size_of::<u32>(), pc);
    }
}

extern "C" fn connect(descriptor: i32, address: *const c_void, bytes: u32, pc: u64) -> i32 {
    reads(address as usize, bytes as usize, pc);
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        let result = connect_to(&call, address, bytes);
        call.end();
        if result != Err(OUTSIDE) {
            return answer(result);
        }
    }
    if controlled() && channel(descriptor) != 0 {
        touches(descriptor, FileAccess::Change, pc);
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::connect(descriptor, address, bytes) };
    tap::connects(descriptor, address, bytes, result);
    woke(descriptor);
    result
}

/// Stands for a connection to another machine.
const OUTSIDE: Errno = -1;

fn connect_to(call: &SocketCall, address: *const c_void, bytes: u32) -> Result<(), Errno> {
    let index = call.index;
    let (kind, domain) = (socket(index).kind, socket(index).domain);
    let target = Address::given(address, bytes, domain)?;
    if !socket(index).is_connected_kind() {
        return fix_target(call, target);
    }
    if target.family() == libc::AF_UNSPEC {
        super::gives_up(b"connect (that ends a connection)", call.pc);
    }
    if domain == libc::AF_UNIX {
        if target.name().is_empty() {
            return Err(libc::EINVAL);
        }
        connect::find_name(&target, call.pc)?;
    } else if !target.is_any() && !target.is_loopback() && !party::is_peer(&target) {
        super::abandon(index);
        return Err(OUTSIDE);
    }
    let waits = call.waits(0);
    if socket(index).phase == SocketPhase::Fresh {
        socket(index).remote = target;
    }
    let is_fresh = socket(index).phase == SocketPhase::Fresh;
    call.turn(if waits && is_fresh { io::WAITS_FOR_QUEUE } else { 0 }, connect::touched(&target, kind));
    let this = socket(index);
    let is_unix = this.is_unix();
    if is_unix {
        match connect::bound_to(&target, kind, |other| other.phase == SocketPhase::Listening) {
            Some(listener) if socket(listener).shut & shut::READ == 0 => {
                if !has_room_to_wait(listener) && this.phase != SocketPhase::Fresh {
                    return Err(libc::EAGAIN);
                }
            }
            _ => return Err(libc::ECONNREFUSED),
        }
    }
    match this.phase {
        SocketPhase::Fresh => {}
        SocketPhase::Reset if core::mem::take(&mut this.is_news) => {
            // The program is told what became of the connection, and can ask for another.
            (this.phase, this.shut, this.is_finished) = (SocketPhase::Fresh, 0, false);
            let error = core::mem::take(&mut this.error);
            if !this.is_bound {
                let port = this.local.port();
                this.local = Address::unbound(domain);
                this.local.set_port(port);
            }
            return Err(if error == 0 { libc::ECONNABORTED } else { error });
        }
        SocketPhase::Reset if this.is_given_up => return Err(libc::EINVAL),
        SocketPhase::Connecting => return Err(libc::EALREADY),
        SocketPhase::Connected if core::mem::take(&mut this.is_news) => return Ok(()),
        SocketPhase::Listening if is_unix => return Err(libc::EINVAL),
        _ => return Err(libc::EISCONN),
    }
    match connect::ask(index) {
        Asked::Made if waits || is_unix => Ok(()),
        Asked::Made => {
            socket(index).is_news = true;
            queues::notify_socket(index, Notice::All);
            Err(libc::EINPROGRESS)
        }
        Asked::Refused if waits || is_unix => Err(libc::ECONNREFUSED),
        Asked::Refused => {
            socket(index).is_news = true;
            connect::reset(index, libc::ECONNREFUSED);
            Err(libc::EINPROGRESS)
        }
        Asked::Waits if is_unix => Err(libc::EAGAIN),
        Asked::Waits => {
            let this = socket(index);
            (this.phase, this.turn, this.is_news) = (SocketPhase::Connecting, super::turn(), true);
            Err(libc::EINPROGRESS)
        }
    }
}

/// `connect` of a datagram socket: where it sends to, and receives from.
fn fix_target(call: &SocketCall, target: Address) -> Result<(), Errno> {
    let index = call.index;
    let (kind, is_unix) = (socket(index).kind, socket(index).is_unix());
    if target.family() == libc::AF_UNSPEC {
        call.turn(0, None);
        let this = socket(index);
        (this.phase, this.peer, this.remote) = (SocketPhase::Fresh, 0, Address::NONE);
        return Ok(());
    }
    if is_unix {
        connect::find_name(&target, call.pc)?;
    } else if !target.is_any() && !target.is_loopback() {
        super::abandon(index);
        return Err(OUTSIDE);
    }
    call.turn(0, connect::touched(&target, kind));
    let other = connect::bound_to(&target.as_target(), kind, |_| true);
    if is_unix && other.is_none() {
        return Err(libc::ECONNREFUSED);
    }
    connect::bind_to_any(index);
    let this = socket(index);
    if !is_unix && this.local.is_any() {
        let port = this.local.port();
        this.local = Address::loopback(this.domain, port);
    }
    let this = socket(index);
    (this.phase, this.remote) = (SocketPhase::Connected, target.as_target());
    this.peer = if is_unix { other.map_or(0, |other| other as u16 + 1) } else { 0 };
    Ok(())
}

extern "C" fn bind(descriptor: i32, address: *const c_void, bytes: u32, pc: u64) -> i32 {
    reads(address as usize, bytes as usize, pc);
    if controlled() && io::ChannelKind::of(channel(descriptor)) == Some(io::ChannelKind::SocketPair) {
        // Names are the runtime's, this socket is the kernel's.
        super::gives_up(b"bind (of a socket of a pair)", pc);
    }
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        let result = bind_to(&call, address, bytes);
        call.end();
        return answer(result);
    }
    changes_socket(descriptor, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::bind(descriptor, address, bytes) };
    if result == 0 {
        tap::bound(descriptor, address, bytes);
    }
    result
}

fn bind_to(call: &SocketCall, address: *const c_void, bytes: u32) -> Result<(), Errno> {
    let this = socket(call.index);
    let (kind, domain) = (this.kind, this.domain);
    let wanted = Address::given(address, bytes, domain)?;
    if wanted.family() == libc::AF_UNSPEC {
        return Err(if domain == libc::AF_UNIX { libc::EINVAL } else { libc::EAFNOSUPPORT });
    }
    if domain == libc::AF_UNIX && wanted.name().is_empty() {
        super::gives_up(b"bind (to a name of the kernel's choice)", call.pc);
    }
    if domain == libc::AF_UNIX && !this.is_bound {
        connect::make_name(&wanted, call.pc)?;
    }
    call.turn(0, connect::touched(&wanted, kind));
    let this = socket(call.index);
    let is_free = this.phase == SocketPhase::Fresh || this.phase == SocketPhase::Reset && !this.is_unix();
    if this.is_bound || !is_free {
        return Err(libc::EINVAL);
    }
    connect::bind(call.index, wanted)
}

extern "C" fn listen(descriptor: i32, backlog: i32, pc: u64) -> i32 {
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        let result = begin_listening(&call, backlog);
        call.end();
        return answer(result);
    }
    changes_socket(descriptor, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::listen(descriptor, backlog) }
}

fn begin_listening(call: &SocketCall, backlog: i32) -> Result<(), Errno> {
    let this = socket(call.index);
    if !this.is_connected_kind() {
        return Err(libc::EOPNOTSUPP);
    }
    call.turn(0, None);
    let this = socket(call.index);
    match this.phase {
        SocketPhase::Fresh | SocketPhase::Listening => {}
        _ => return Err(libc::EINVAL),
    }
    if this.is_unix() && !this.is_bound {
        return Err(libc::EINVAL);
    }
    connect::bind_to_any(call.index);
    let this = socket(call.index);
    (this.phase, this.backlog) = (SocketPhase::Listening, (backlog as u32).min(MOST_WAITING));
    if !this.is_unix() {
        this.shut = 0;
    }
    Ok(())
}

extern "C" fn shut_down(descriptor: i32, how: i32, pc: u64) -> i32 {
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        call.turn(0, None);
        let result = connect::shut_down(call.index, how);
        if result.is_ok()
            && socket(call.index).phase == SocketPhase::Listening
            && how != libc::SHUT_WR
            && !socket(call.index).is_unix()
        {
            connect::stop_listening(call.index, pc);
        }
        call.end();
        return answer(result);
    }
    changes_socket(descriptor, pc);
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::shutdown(descriptor, how) };
    if result == 0 {
        tap::shuts(descriptor, how);
    }
    result
}

/// A call that changes a socket of the kernel's without waiting.
fn changes_socket(descriptor: i32, pc: u64) {
    if controlled() && channel(descriptor) != 0 {
        touches(descriptor, FileAccess::Change, pc);
        crate::sched::changed(channel(descriptor));
    }
}

/// A call that asks for something of a socket, be it the runtime's or the kernel's.
fn looks_at_socket(descriptor: i32, pc: u64) {
    if let Some(call) = SocketCall::begin(descriptor, pc) {
        call.looks();
        call.end();
    } else if controlled() && channel(descriptor) != 0 {
        touches(descriptor, FileAccess::Observe, pc);
    }
}

extern "C" fn set_option(descriptor: i32, level: i32, name: i32, value: *const c_void, bytes: u32, pc: u64) -> i32 {
    reads(value as usize, bytes as usize, pc);
    let call = SocketCall::begin(descriptor, pc);
    match &call {
        Some(call) => call.turn(0, None),
        None => changes_socket(descriptor, pc),
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::setsockopt(descriptor, level, name, value, bytes) };
    if let Some(call) = call {
        call.end();
    }
    if result == 0 && controlled() {
        if channels::is_kept(channel(descriptor)) {
            run().used_files = true;
        }
        // SAFETY: the call succeeded, so the caller has passed so many bytes.
        let value = unsafe { core::slice::from_raw_parts(value.cast(), bytes as usize) };
        digest::note_setting(descriptor, [level as u64, name as u64], value);
    }
    result
}

/// Tells the name of a socket, or of its other end.
fn tell_name(descriptor: i32, into: *mut c_void, room: *mut u32, is_other: bool, pc: u64) -> Option<i32> {
    let call = SocketCall::begin(descriptor, pc)?;
    call.looks();
    let this = *socket(call.index);
    call.end();
    if is_other && (this.phase != SocketPhase::Connected) {
        set_errno(libc::ENOTCONN);
        return Some(-1);
    }
    let address = if is_other { this.remote } else { this.local };
    if into.is_null() || room.is_null() {
        set_errno(libc::EFAULT);
        return Some(-1);
    }
    tell(&named(&address, this.domain), into, room, pc);
    Some(0)
}

/// The kernel has written a value and how long it is.
fn filled(result: i32, into: *mut c_void, bytes: *mut u32, pc: u64) -> i32 {
    if result >= 0 && !into.is_null() && !bytes.is_null() {
        // SAFETY: the call succeeded, so it has stored the length.
        writes(into as usize, unsafe { *bytes } as usize, pc);
        writes(bytes as usize, 4, pc);
    }
    result
}

/// Makes the result of a call on the kernel's socket writable.
fn open_result(into: *mut c_void, bytes: *mut u32) {
    /// Enough bytes for any value.
    const ANY: usize = 512;
    if controlled() {
        touch(into.cast(), ANY);
        touch(bytes.cast(), 4);
    }
}

extern "C" fn get_name(descriptor: i32, into: *mut c_void, room: *mut u32, pc: u64) -> i32 {
    tell_name(descriptor, into, room, false, pc).unwrap_or_else(|| {
        open_result(into, room);
        // SAFETY: passes on what the caller gave.
        filled(unsafe { hidden::getsockname(descriptor, into, room) }, into, room, pc)
    })
}

extern "C" fn get_other_name(descriptor: i32, into: *mut c_void, room: *mut u32, pc: u64) -> i32 {
    tell_name(descriptor, into, room, true, pc).unwrap_or_else(|| {
        open_result(into, room);
        // SAFETY: passes on what the caller gave.
        filled(unsafe { hidden::getpeername(descriptor, into, room) }, into, room, pc)
    })
}

/// An option that the runtime's socket knows, not the kernel's.
fn own_option(descriptor: i32, level: i32, name: i32, pc: u64) -> Option<i32> {
    if level != libc::SOL_SOCKET || !matches!(name, libc::SO_ERROR | libc::SO_ACCEPTCONN) {
        if level == libc::SOL_SOCKET && matches!(name, libc::SO_PEERCRED | libc::SO_PEERSEC)
            || level == libc::IPPROTO_TCP && name == libc::TCP_INFO
        {
            super::gives_up_on(descriptor, b"getsockopt (of the connection)", pc);
        }
        return None;
    }
    let call = SocketCall::begin(descriptor, pc)?;
    let value = if name == libc::SO_ERROR {
        call.turn(0, None);
        core::mem::take(&mut socket(call.index).error)
    } else {
        call.looks();
        i32::from(socket(call.index).phase == SocketPhase::Listening)
    };
    call.end();
    Some(value)
}

extern "C" fn get_option(descriptor: i32, level: i32, name: i32, value: *mut c_void, bytes: *mut u32, pc: u64) -> i32 {
    let own = own_option(descriptor, level, name, pc);
    if own.is_none() {
        looks_at_socket(descriptor, pc);
    }
    open_result(value, bytes);
    // SAFETY: passes on what the caller gave.
    let result = filled(unsafe { hidden::getsockopt(descriptor, level, name, value, bytes) }, value, bytes, pc);
    if let Some(own) = own
        && result == 0
        && !value.is_null()
    {
        // SAFETY: the call succeeded, so there is room for the value.
        unsafe { value.cast::<i32>().write_unaligned(own) };
    }
    result
}

/// Bytes that can be read at once (`FIONREAD`), if the descriptor is one of the runtime's sockets.
pub fn readable_bytes(descriptor: i32, pc: u64) -> Option<Result<i32, Errno>> {
    let call = SocketCall::begin(descriptor, pc)?;
    call.looks();
    let this = socket(call.index);
    let bytes = match (this.phase, this.kind) {
        (SocketPhase::Listening, _) => Err(libc::EINVAL),
        (_, libc::SOCK_STREAM) => Ok(this.len as i32),
        _ => Ok(first_message(call.index) as i32),
    };
    call.end();
    Some(bytes)
}

/// A call that is not modelled: where it is about a socket of the runtime's, the run ends.
fn is_not_modelled(descriptor: usize, name: &[u8], pc: u64) {
    super::gives_up_on(descriptor as i32, name, pc);
    tap::misses(descriptor as i32, name);
    if controlled() {
        calls::note(name, pc);
    }
}

before! {
    sendmmsg => |a, pc| is_not_modelled(a[0], b"sendmmsg", pc);
    recvmmsg => |a, pc| is_not_modelled(a[0], b"recvmmsg", pc);
    splice => |a, pc| {
        super::gives_up_on(a[2] as i32, b"splice", pc);
        tap::misses(a[2] as i32, b"splice");
        is_not_modelled(a[0], b"splice", pc);
    };
}

export!(socket, 3 => make_socket);
export!(accept, 3 => accept);
export!(accept4, 4 => accept_with_flags);
export!(connect, 3 => connect);
export!(bind, 3 => bind);
export!(listen, 2 => listen);
export!(shutdown, 2 => shut_down);
export!(setsockopt, 5 => set_option);
export!(getsockname, 3 => get_name);
export!(getpeername, 3 => get_other_name);
export!(getsockopt, 5 => get_option);
