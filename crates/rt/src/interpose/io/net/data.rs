//! Sending and receiving.

use core::ffi::c_void;

use super::address::Address;
use super::connect::{self, bound_to, touched};
use super::readiness::{room, takes_message};
use super::{ROOM, SocketCall, SocketPhase, bytes, shut, socket};
use crate::interpose::buffers::{reads, reads_pieces, writes, writes_pieces};
use crate::interpose::io::overlay::Errno;
use crate::interpose::io::partial::{self, Portion};
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::process::pending_signals;
use crate::sched::{timeouts, virtual_time};
use crate::syscall::set_errno;

/// Bytes of the longest datagram of the Internet protocols.
const LONGEST: usize = 65_507;
/// Bytes in front of a message: its length, and that of its sender's address.
const HEAD: usize = 5;
/// Nanoseconds that a wait takes that ends by its time-out.
const MILLISECOND: u64 = 1_000_000;

/// Pieces of memory of the program, in order.
#[derive(Clone, Copy)]
pub struct Pieces {
    list: *const libc::iovec,
    count: usize,
}

impl Pieces {
    /// These pieces.
    pub fn new(list: *const libc::iovec, count: usize) -> Pieces {
        Pieces { list, count }
    }

    fn each(&self) -> impl Iterator<Item = libc::iovec> {
        let list = self.list;
        // SAFETY: the caller of the function passes so many pieces.
        (0..self.count).map(move |index| unsafe { *list.add(index) })
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.each().map(|piece| piece.iov_len).sum()
    }

    /// Calls the function for each part of `len` bytes behind the first `skip`.
    fn parts(&self, mut skip: usize, mut len: usize, mut call: impl FnMut(*mut u8, usize)) {
        for piece in self.each() {
            let from = skip.min(piece.iov_len);
            skip -= from;
            let part = (piece.iov_len - from).min(len);
            if part > 0 {
                call(piece.iov_base.cast::<u8>().wrapping_add(from), part);
                len -= part;
            }
        }
    }
}

/// Adds bytes behind those that wait at the socket. There is room for them.
fn put(index: usize, from: *const u8, len: usize) {
    let this = socket(index);
    let start = (this.head as usize + this.len as usize) % ROOM;
    let first = len.min(ROOM - start);
    let into = bytes(index).as_mut_ptr();
    // SAFETY: both parts lie within the buffer, and the caller passes so many bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(from, into.add(start), first);
        core::ptr::copy_nonoverlapping(from.add(first), into, len - first);
    }
    this.len += len as u32;
}

/// Copies bytes that wait at the socket, from `at` on.
pub fn look(index: usize, at: usize, into: *mut u8, len: usize) {
    let start = (socket(index).head as usize + at) % ROOM;
    let first = len.min(ROOM - start);
    let from = bytes(index).as_ptr();
    // SAFETY: as in `put`.
    unsafe {
        core::ptr::copy_nonoverlapping(from.add(start), into, first);
        core::ptr::copy_nonoverlapping(from, into.add(first), len - first);
    }
}

/// Drops bytes that wait at the socket.
pub fn drop_bytes(index: usize, len: usize) {
    let this = socket(index);
    this.len -= len as u32;
    // An empty buffer begins at its start again, so that few pages are written.
    this.head = if this.len == 0 { 0 } else { ((this.head as usize + len) % ROOM) as u32 };
}

/// Whether the message that the socket has at hand can be sent, or fails, at once.
pub fn can_send(index: usize) -> bool {
    let this = socket(index);
    let target = bound_to(&this.remote.as_target(), this.kind, |_| true);
    this.error != 0 || target.is_none_or(|target| takes_message(target, index))
}

fn failed(code: Errno) -> isize {
    set_errno(code);
    -1
}

/// The pending error of the socket, which a call returns once.
fn take_error(index: usize) -> Option<Errno> {
    match core::mem::take(&mut socket(index).error) {
        0 => None,
        code => Some(code),
    }
}

/// Puts what fits into the buffer of the other end of a stream.
pub fn send_part(index: usize, pieces: &Pieces, skip: usize, portion: Portion) -> Result<usize, Errno> {
    let this = socket(index);
    match this.phase {
        SocketPhase::Connecting => return Err(libc::EAGAIN),
        SocketPhase::Fresh | SocketPhase::Listening if this.is_unix() => return Err(libc::ENOTCONN),
        SocketPhase::Fresh | SocketPhase::Listening | SocketPhase::Unused => return Err(libc::EPIPE),
        SocketPhase::Reset => return Err(take_error(index).unwrap_or(libc::EPIPE)),
        SocketPhase::Connected => {}
    }
    if this.shut & shut::WRITE != 0 {
        return Err(libc::EPIPE);
    }
    let left = pieces.bytes() - skip;
    let Some(peer) = usize::from(this.peer).checked_sub(1) else {
        // The first bytes to an end that is closed are lost, and the answer resets the connection.
        if left > 0 {
            connect::reset(index, libc::ECONNRESET);
        }
        return Ok(left);
    };
    let free = room(index);
    if free == 0 && left > 0 {
        this.lacks_room = true;
        return Err(libc::EAGAIN);
    }
    let len = portion.of(left.min(free));
    pieces.parts(skip, len, |from, len| put(peer, from, len));
    if len > 0 {
        queues::notify_socket(peer, Notice::Input);
    }
    Ok(len)
}

/// A wait with a time-out is over.
pub fn timed_out(pc: u64) {
    virtual_time::slept(MILLISECOND);
    timeouts::time_passes(pc);
}

fn send_stream(call: &SocketCall, pieces: &Pieces, flags: i32) -> Result<usize, Errno> {
    let waits = call.waits(flags);
    let is_timed = waits && call.is_timed(libc::SO_SNDTIMEO);
    let total = pieces.bytes();
    let mut sent = 0;
    // A call that waits goes on until all is sent.
    let portion = if waits { Portion::All } else { partial::choose(total, call.pc) };
    loop {
        if let Err(code) = call.interruptible_turn(if waits && !is_timed { libc::POLLOUT } else { 0 }) {
            return if sent > 0 { Ok(sent) } else { Err(code) };
        }
        match send_part(call.index, pieces, sent, portion) {
            Ok(len) if sent + len < total && waits => sent += len,
            Ok(len) => return Ok(sent + len),
            Err(libc::EAGAIN) if waits && !is_timed => {}
            Err(code) => {
                if code == libc::EAGAIN && is_timed {
                    timed_out(call.pc);
                }
                return if sent > 0 { Ok(sent) } else { Err(code) };
            }
        }
    }
}

/// Where a datagram goes: the address that the call gives, or the fixed one.
fn target_of(call: &SocketCall, given: Option<Address>) -> Result<Address, Errno> {
    let this = socket(call.index);
    match given {
        Some(address) => Ok(address),
        None if this.phase == SocketPhase::Connected => Ok(this.remote),
        None if this.is_unix() => Err(libc::ENOTCONN),
        None => Err(libc::EDESTADDRREQ),
    }
}

fn send_datagram(call: &SocketCall, pieces: &Pieces, flags: i32, given: Option<Address>) -> Result<usize, Errno> {
    let waits = call.waits(flags);
    if !socket(call.index).is_unix() {
        connect::bind_to_any(call.index);
    } else if socket(call.index).shut & shut::WRITE != 0 {
        return Err(libc::EPIPE);
    }
    let target = target_of(call, given)?;
    let this = socket(call.index);
    let (kind, is_unix, total) = (this.kind, this.is_unix(), pieces.bytes());
    if is_unix {
        connect::find_name(&target, call.pc)?;
    } else if !target.is_any() && !target.is_loopback() {
        super::abandon(call.index);
        super::gives_up(b"sendto (to another machine)", call.pc);
    }
    let fixed = socket(call.index).remote;
    socket(call.index).remote = target;
    call.turn(if waits && is_unix { libc::POLLOUT } else { 0 }, touched(&target, kind));
    socket(call.index).remote = fixed;
    if total > if is_unix { ROOM - HEAD - size_of::<Address>() } else { LONGEST } {
        return Err(libc::EMSGSIZE);
    }
    let this = socket(call.index);
    if this.shut & shut::WRITE != 0 {
        return Err(libc::EPIPE);
    }
    if let Some(code) = take_error(call.index) {
        return Err(code);
    }
    let Some(other) = bound_to(&target.as_target(), kind, |_| true) else {
        let this = socket(call.index);
        let is_fixed = this.phase == SocketPhase::Connected
            && this.remote.port() == target.port()
            && this.remote.meets(&target.as_target());
        if is_unix {
            return Err(libc::ECONNREFUSED);
        }
        if is_fixed {
            socket(call.index).error = libc::ECONNREFUSED;
            queues::notify_socket(call.index, Notice::All);
        }
        return Ok(total);
    };
    deliver(call.index, other, pieces, waits)
}

/// Puts a message into the buffer of the other socket.
fn deliver(from: usize, to: usize, pieces: &Pieces, waits: bool) -> Result<usize, Errno> {
    let total = pieces.bytes();
    let mut sender = socket(from).local;
    if !socket(from).is_unix() && sender.is_any() {
        let port = sender.port();
        sender = Address::loopback(socket(from).domain, port);
    }
    let other = socket(to);
    let is_for_other = other.phase == SocketPhase::Connected
        && !other.is_unix()
        && (other.remote.port() != sender.port() || !other.remote.meets(&sender));
    let needed = HEAD + sender.bytes().len() + total;
    let has_room = needed <= ROOM - other.len as usize && (!other.is_unix() || takes_message(to, from));
    if other.is_unix() && other.kind == libc::SOCK_DGRAM {
        if other.phase == SocketPhase::Connected && other.peer != 0 && usize::from(other.peer) != from + 1 {
            return Err(libc::EPERM);
        }
        if other.shut & shut::READ != 0 {
            return Err(libc::EPIPE);
        }
        if !has_room {
            debug_assert!(!waits || needed > ROOM - other.len as usize, "the call has waited for room");
            socket(from).lacks_room = true;
            return Err(libc::EAGAIN);
        }
    }
    if is_for_other || !has_room {
        // Datagrams of the Internet protocols get lost.
        return Ok(total);
    }
    let mut head = [0u8; HEAD];
    head[..4].copy_from_slice(&(total as u32).to_le_bytes());
    head[4] = sender.bytes().len() as u8;
    put(to, head.as_ptr(), HEAD);
    put(to, sender.bytes().as_ptr(), sender.bytes().len());
    pieces.parts(0, total, |from, len| put(to, from, len));
    socket(to).messages += 1;
    queues::notify_socket(to, Notice::Input);
    Ok(total)
}

/// A message over a connection.
fn send_record(call: &SocketCall, pieces: &Pieces, flags: i32) -> Result<usize, Errno> {
    let waits = call.waits(flags);
    call.turn(if waits { libc::POLLOUT } else { 0 }, None);
    let this = socket(call.index);
    if this.phase != SocketPhase::Connected {
        return Err(libc::ENOTCONN);
    }
    if this.shut & shut::WRITE != 0 || this.peer == 0 {
        return Err(libc::EPIPE);
    }
    // A call that waits waits for half of the room, which any message fits into.
    if HEAD + this.local.bytes().len() + pieces.bytes() > ROOM / 2 {
        return Err(libc::EMSGSIZE);
    }
    if room(call.index) <= ROOM / 2 {
        return Err(libc::EAGAIN);
    }
    deliver(call.index, usize::from(this.peer) - 1, pieces, waits)
}

/// Sends the pieces. `None` if the descriptor is not one of the runtime's sockets.
pub fn send(descriptor: i32, pieces: Pieces, flags: i32, to: (*const c_void, u32), pc: u64) -> Option<isize> {
    const KNOWN: i32 = libc::MSG_DONTWAIT
        | libc::MSG_NOSIGNAL
        | libc::MSG_MORE
        | libc::MSG_EOR
        | libc::MSG_CONFIRM
        | libc::MSG_DONTROUTE;
    let call = SocketCall::begin(descriptor, pc)?;
    if flags & !KNOWN != 0 {
        super::gives_up(b"send (with flags that are not modelled)", pc);
    }
    reads_pieces(pieces.list, pieces.count, usize::MAX, pc);
    reads(to.0 as usize, to.1 as usize, pc);
    let (kind, domain) = (socket(call.index).kind, socket(call.index).domain);
    let given = match to.0.is_null() || to.1 == 0 {
        true => Ok(None),
        false if kind == libc::SOCK_DGRAM => Address::given(to.0, to.1, domain).map(Some),
        // A connection has its address.
        false if domain == libc::AF_UNIX && socket(call.index).phase == SocketPhase::Connected => Err(libc::EISCONN),
        false if domain == libc::AF_UNIX => Err(libc::EOPNOTSUPP),
        false => Ok(None),
    };
    let result = given.and_then(|given| match kind {
        libc::SOCK_STREAM => send_stream(&call, &pieces, flags),
        libc::SOCK_DGRAM => send_datagram(&call, &pieces, flags, given),
        _ => send_record(&call, &pieces, flags),
    });
    let is_broken = result == Err(libc::EPIPE) && kind != libc::SOCK_DGRAM && flags & libc::MSG_NOSIGNAL == 0;
    call.end();
    if is_broken {
        pending_signals::to_self(libc::SIGPIPE, pc);
    }
    Some(result.map_or_else(failed, |len| len as isize))
}

/// What was received.
#[derive(Clone, Copy)]
pub struct Received {
    /// Bytes, as the call returns them.
    pub len: usize,
    /// Bytes that were stored.
    pub stored: usize,
    /// Flags of the message.
    pub flags: i32,
    /// Who sent it.
    pub sender: Address,
}

impl Received {
    const NOTHING: Received = Received { len: 0, stored: 0, flags: 0, sender: Address::NONE };
}

/// Takes bytes that wait at a stream.
fn receive_part(index: usize, pieces: &Pieces, skip: usize, flags: i32, portion: Portion) -> Result<usize, Errno> {
    let this = socket(index);
    let wanted = pieces.bytes() - skip;
    if this.len == 0 {
        match this.phase {
            SocketPhase::Fresh | SocketPhase::Listening if this.is_unix() => return Err(libc::EINVAL),
            SocketPhase::Fresh if this.shut & shut::READ != 0 => return Ok(0),
            SocketPhase::Fresh | SocketPhase::Listening | SocketPhase::Unused => return Err(libc::ENOTCONN),
            SocketPhase::Connecting => return Err(libc::EAGAIN),
            SocketPhase::Connected | SocketPhase::Reset => {}
        }
        // What came before the end of the other side counts, whatever came behind it.
        if this.is_finished && !this.is_unix() {
            return Ok(0);
        }
        if let Some(code) = take_error(index) {
            return Err(code);
        }
        let is_over = this.is_finished || this.shut & shut::READ != 0 || this.phase == SocketPhase::Reset;
        return if is_over || wanted == 0 { Ok(0) } else { Err(libc::EAGAIN) };
    }
    let len = portion.of(wanted.min(this.len as usize));
    let mut at = 0;
    pieces.parts(skip, len, |into, len| {
        look(index, at, into, len);
        at += len;
    });
    if flags & libc::MSG_PEEK == 0 && len > 0 {
        drop_bytes(index, len);
        freed(index);
    }
    Ok(len)
}

/// There is more room for what the other end sends.
pub fn freed(index: usize) {
    if let Some(peer) = usize::from(socket(index).peer).checked_sub(1) {
        let other = socket(peer);
        if other.is_unix() || other.lacks_room && room(peer) >= ROOM / 3 {
            other.lacks_room = false;
            queues::notify_socket(peer, Notice::Output);
        }
    }
}

fn receive_stream(call: &SocketCall, pieces: &Pieces, flags: i32) -> Result<Received, Errno> {
    let waits = call.waits(flags);
    let is_timed = waits && call.is_timed(libc::SO_RCVTIMEO);
    let (mut got, total) = (0, pieces.bytes());
    let wants_all = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
    let never_waits = !waits || is_timed || total == 0;
    let portion = if wants_all && waits { Portion::All } else { partial::choose(total, call.pc) };
    let result = loop {
        if let Err(code) = call.interruptible_turn(if never_waits { 0 } else { libc::POLLIN }) {
            break if got > 0 { Ok(got) } else { Err(code) };
        }
        match receive_part(call.index, pieces, got, flags, portion) {
            Ok(0) => break Ok(got),
            Ok(len) => {
                got += len;
                if got == total || !wants_all || !waits {
                    break Ok(got);
                }
            }
            Err(libc::EAGAIN) if !never_waits => {}
            Err(code) => {
                if code == libc::EAGAIN && is_timed {
                    timed_out(call.pc);
                }
                break if got > 0 { Ok(got) } else { Err(code) };
            }
        }
    };
    result.map(|len| Received { len, stored: len, ..Received::NOTHING })
}

/// Takes the first message that waits at the socket.
fn take_message(index: usize, pieces: &Pieces, flags: i32) -> Received {
    let mut head = [0u8; HEAD];
    look(index, 0, head.as_mut_ptr(), HEAD);
    let total = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let sender_len = usize::from(head[4]);
    let mut sender = [0u8; size_of::<Address>()];
    look(index, HEAD, sender.as_mut_ptr(), sender_len);
    let stored = total.min(pieces.bytes());
    let mut at = HEAD + sender_len;
    pieces.parts(0, stored, |into, len| {
        look(index, at, into, len);
        at += len;
    });
    if flags & libc::MSG_PEEK == 0 {
        drop_bytes(index, HEAD + sender_len + total);
        socket(index).messages -= 1;
        freed(index);
        // Threads whose messages had no room are told.
        for other in super::all() {
            if socket(other).lacks_room && other != index {
                socket(other).lacks_room = false;
                queues::notify_socket(other, Notice::Output);
            }
        }
    }
    let is_cut = stored < total;
    Received {
        len: if flags & libc::MSG_TRUNC != 0 { total } else { stored },
        stored,
        flags: if is_cut { libc::MSG_TRUNC } else { 0 },
        sender: Address::of(&sender[..sender_len]),
    }
}

/// Bytes of the first message.
pub fn first_message(index: usize) -> usize {
    let mut head = [0u8; 4];
    look(index, 0, head.as_mut_ptr(), 4);
    if socket(index).messages == 0 { 0 } else { u32::from_le_bytes(head) as usize }
}

fn receive_whole(call: &SocketCall, pieces: &Pieces, flags: i32) -> Result<Received, Errno> {
    let waits = call.waits(flags);
    let is_timed = waits && call.is_timed(libc::SO_RCVTIMEO);
    call.interruptible_turn(if waits && !is_timed { libc::POLLIN } else { 0 })?;
    let this = socket(call.index);
    if this.is_connected_kind() && !matches!(this.phase, SocketPhase::Connected | SocketPhase::Reset) {
        return Err(libc::ENOTCONN);
    }
    if !this.is_unix()
        && let Some(code) = take_error(call.index)
    {
        return Err(code);
    }
    if this.messages > 0 {
        return Ok(take_message(call.index, pieces, flags));
    }
    if let Some(code) = take_error(call.index) {
        return Err(code);
    }
    if (this.is_finished || this.shut & shut::READ != 0) && (waits || this.is_connected_kind()) {
        return Ok(Received::NOTHING);
    }
    if is_timed {
        timed_out(call.pc);
    }
    Err(libc::EAGAIN)
}

/// Receives into the pieces. `None` if the descriptor is not one of the runtime's sockets.
pub fn receive(descriptor: i32, pieces: Pieces, flags: i32, pc: u64) -> Option<Result<Received, Errno>> {
    const KNOWN: i32 = libc::MSG_DONTWAIT
        | libc::MSG_NOSIGNAL
        | libc::MSG_PEEK
        | libc::MSG_WAITALL
        | libc::MSG_TRUNC
        | libc::MSG_CMSG_CLOEXEC;
    let call = SocketCall::begin(descriptor, pc)?;
    let is_stream = socket(call.index).is_stream();
    if flags & !KNOWN != 0 || is_stream && flags & libc::MSG_TRUNC != 0 {
        super::gives_up(b"recv (with flags that are not modelled)", pc);
    }
    let result = if is_stream { receive_stream(&call, &pieces, flags) } else { receive_whole(&call, &pieces, flags) };
    if let Ok(received) = &result {
        writes_pieces(pieces.list, pieces.count, received.stored, pc);
    }
    call.end();
    Some(result)
}

/// As [`receive`], for one piece, and telling who sent it.
pub fn receive_one(
    descriptor: i32,
    into: *mut c_void,
    len: usize,
    flags: i32,
    from: (*mut c_void, *mut u32),
    pc: u64,
) -> Option<isize> {
    let piece = libc::iovec { iov_base: into, iov_len: len };
    let result = receive(descriptor, Pieces::new(&raw const piece, 1), flags, pc)?;
    Some(match result {
        Ok(received) => {
            if received.sender.is_some() || !from.0.is_null() {
                received.sender.tell(from.0, from.1);
                if !from.0.is_null() && !from.1.is_null() {
                    writes(from.0 as usize, received.sender.bytes().len(), pc);
                    writes(from.1 as usize, size_of::<u32>(), pc);
                }
            }
            received.len as isize
        }
        Err(code) => failed(code),
    })
}

/// As [`send`], for one piece.
pub fn send_one(
    descriptor: i32,
    from: *const c_void,
    len: usize,
    flags: i32,
    to: (*const c_void, u32),
    pc: u64,
) -> Option<isize> {
    if !super::controlled() || super::of(descriptor).is_none() {
        return None;
    }
    let piece = libc::iovec { iov_base: from.cast_mut(), iov_len: len };
    // The list is the runtime's: the accesses of the program are to the bytes alone.
    reads(from as usize, len, pc);
    send(descriptor, Pieces::new(&raw const piece, 1), flags, to, pc)
}
