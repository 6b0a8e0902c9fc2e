//! Making and ending connections.

use raddle_vocab::io;

use super::address::Address;
use super::readiness::{has_room_to_wait, waiting};
use super::{Socket, SocketCall, SocketPhase, all, make, net, renamed, shut, socket, turn};
use crate::interpose::io::overlay::Errno;
use crate::interpose::io::queues::{self, Notice};
use crate::interpose::io::{calls as file_calls, regular_files};
use crate::state::run;
use crate::syscall::syscall;

/// First port that is given to a socket that asks for any, and how many there are.
const EPHEMERAL: u16 = 32768;
const EPHEMERAL_PORTS: u64 = 28_232;

/// A port that no socket of this kind has. It depends on what the thread has done before.
fn any_port(kind: i32) -> u16 {
    let me = run().me();
    me.channels += 1;
    let start = u64::from(regular_files::thing(me.key ^ u64::from(me.channels), 28)) % EPHEMERAL_PORTS;
    let port = |step: u64| EPHEMERAL + ((start + step) % EPHEMERAL_PORTS) as u16;
    let is_taken = |port: u16| {
        all().any(|index| {
            let socket = socket(index);
            !socket.is_unix() && socket.kind == kind && socket.local.is_some() && socket.local.port() == port
        })
    };
    (0..EPHEMERAL_PORTS).map(port).find(|&port| !is_taken(port)).unwrap_or(EPHEMERAL)
}

/// Whether the kernel's socket of a descriptor of this socket has an option set.
fn has_option(index: usize, level: i32, option: i32) -> bool {
    let (mut value, mut len) = (0i32, 4u32);
    let number = net().of.iter().position(|&of| usize::from(of) == index + 1);
    number.is_some_and(|number| {
        // SAFETY: asks for an option of the kernel's socket, into locals.
        let result = unsafe { syscall!(libc::SYS_getsockopt, number, level, option, &raw mut value, &raw mut len) };
        result == 0 && value != 0
    })
}

/// Whether a socket that is bound keeps another one from the address.
fn keeps_off(index: usize, other: usize, wanted: &Address) -> bool {
    let (this, that) = (socket(index), socket(other));
    if index == other || this.kind != that.kind || !that.is_bound || this.is_unix() != that.is_unix() {
        return false;
    }
    if this.is_unix() {
        return wanted.path().is_none() && that.local.name() == wanted.name() && that.local.path().is_none();
    }
    if that.local.port() != wanted.port() || !that.local.meets(wanted) {
        return false;
    }
    let both = |option: i32| has_option(index, libc::SOL_SOCKET, option) && has_option(other, libc::SOL_SOCKET, option);
    let shares = both(libc::SO_REUSEADDR) && (that.phase != SocketPhase::Listening || !this.is_connected_kind());
    !(shares || both(libc::SO_REUSEPORT))
}

/// Binds the socket, which is not bound, to an address. The name of a file is made by the caller.
pub fn bind(index: usize, mut address: Address) -> Result<(), Errno> {
    if !socket(index).is_unix() {
        if address.port() == 0 {
            address.set_port(any_port(socket(index).kind));
        }
        let is_own = address.is_any() || address.is_loopback();
        if !is_own {
            // Which addresses the machine has is not known here.
            super::abandon(index);
            return Err(libc::EADDRNOTAVAIL);
        }
    }
    if all().any(|other| keeps_off(index, other, &address)) {
        return Err(libc::EADDRINUSE);
    }
    let thing = address.endpoint(socket(index).kind).thing();
    let this = socket(index);
    (this.local, this.is_bound, this.bound_at) = (address, true, turn());
    renamed(index, thing);
    Ok(())
}

/// Binds a socket of the Internet protocols that is not bound to a port of its own.
pub fn bind_to_any(index: usize) {
    let this = socket(index);
    if !this.is_bound && !this.is_unix() {
        let mut address = Address::unbound(this.domain);
        address.set_port(any_port(this.kind));
        let thing = address.endpoint(this.kind).thing();
        (this.local, this.is_bound, this.bound_at) = (address, true, turn());
        renamed(index, thing);
    }
}

/// The socket that is bound to the address, as one of this kind sees it; the latest, of several.
pub fn bound_to(address: &Address, kind: i32, is_wanted: impl Fn(&Socket) -> bool) -> Option<usize> {
    let is_it = |index: &usize| {
        let other = socket(*index);
        let is_unix = address.family() == libc::AF_UNIX;
        if !other.is_bound || other.kind != kind || other.is_unix() != is_unix || !is_wanted(other) {
            return false;
        }
        if is_unix {
            return other.local.name() == address.name();
        }
        let narrow = other.domain == libc::AF_INET6
            && address.family() == libc::AF_INET
            && has_option(*index, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
        other.local.port() == address.port() && other.local.meets(address) && !narrow
    };
    all().filter(is_it).max_by_key(|&index| (!other_is_any(index), socket(index).bound_at))
}

fn other_is_any(index: usize) -> bool {
    !socket(index).is_unix() && socket(index).local.is_any()
}

/// The socket that takes connections to where this one connects.
fn listener_for(index: usize) -> Option<usize> {
    bound_to(&socket(index).remote.as_target(), socket(index).kind, |other| other.phase == SocketPhase::Listening)
}

/// Whether the connection that the socket asks for is made or refused at once.
pub fn can_connect(index: usize) -> bool {
    listener_for(index).is_none_or(has_room_to_wait)
}

/// What became of a connection that was asked for.
pub enum Asked {
    /// It is there.
    Made,
    /// No socket takes it.
    Refused,
    /// There is no room for it yet.
    Waits,
}

/// Asks for the connection to `remote`.
pub fn ask(index: usize) -> Asked {
    let this = socket(index);
    if !this.is_unix() && !this.is_bound {
        this.local = Address::loopback(this.domain, any_port(this.kind));
    }
    let Some(listener) = listener_for(index) else {
        let this = socket(index);
        let target = this.remote.as_target();
        if this.is_unix() || !this.is_bound || this.local.port() != target.port() || !this.local.meets(&target) {
            return Asked::Refused;
        }
        // A socket that connects to its own port is both ends.
        (this.phase, this.peer, this.local, this.remote) = (SocketPhase::Connected, index as u16 + 1, target, target);
        return Asked::Made;
    };
    if !has_room_to_wait(listener) {
        return Asked::Waits;
    }
    let (domain, kind) = (socket(listener).domain, socket(listener).kind);
    let Some(end) = make(domain, kind) else { return Asked::Refused };
    let this = socket(index);
    this.is_bound |= !this.is_unix();
    let target = this.remote.as_target();
    if !this.is_unix() && this.local.is_any() {
        let port = this.local.port();
        this.local = target;
        this.local.set_port(port);
    }
    (this.phase, this.peer, this.remote) = (SocketPhase::Connected, end as u16 + 1, target);
    let (thing, from) = (this.thing, this.local);
    let to = if this.is_unix() { socket(listener).local } else { target };
    let other = socket(end);
    (other.phase, other.thing, other.peer) = (SocketPhase::Connected, thing, index as u16 + 1);
    other.end = 1;
    (other.local, other.remote) = (to, from);
    (other.waits_at, other.turn) = (listener as u16 + 1, turn());
    let found = socket(listener);
    if found.script != 0 {
        // A script is for one connection.
        (found.phase, found.is_bound) = (SocketPhase::Fresh, false);
    }
    queues::notify_socket(listener, Notice::Input);
    Asked::Made
}

/// Takes the connection that has waited for longest.
pub fn accept(listener: usize) -> Option<usize> {
    let first = waiting(listener).min_by_key(|&index| socket(index).turn)?;
    socket(first).waits_at = 0;
    Some(first)
}

/// Connections that were asked for without waiting are made where there is room now. Each is a
/// transition of its own.
pub fn make_room(call: &SocketCall) {
    loop {
        let is_due = |&index: &usize| {
            socket(index).phase == SocketPhase::Connecting
                && listener_for(index).is_some_and(|listener| listener == call.index && has_room_to_wait(listener))
        };
        let Some(index) = all().filter(is_due).min_by_key(|&index| socket(index).turn) else { return };
        SocketCall { index, descriptor: call.descriptor, pc: call.pc }.turn(0, None);
        if socket(index).phase == SocketPhase::Connecting && matches!(ask(index), Asked::Made) {
            socket(index).is_news = true;
            queues::notify_socket(index, Notice::All);
        }
    }
}

/// The connection of the socket ends without its consent.
pub fn reset(index: usize, error: i32) {
    let this = socket(index);
    if this.is_unix() {
        this.shut = shut::READ | shut::WRITE;
        this.is_finished = true;
        if this.error == 0 {
            this.error = error;
        }
    } else {
        // One that knows already that nothing more comes learns that it can no longer send.
        this.error = if this.is_finished { libc::EPIPE } else { error };
        this.phase = SocketPhase::Reset;
        // A port that the program has not asked for is free again.
        this.is_bound &= this.bound_at != 0;
        this.shut = shut::READ | shut::WRITE;
    }
    this.peer = 0;
    queues::notify_socket(index, Notice::All);
}

/// The socket takes no more connections: those that wait are reset, each in a transition of its
/// own.
pub fn stop_listening(index: usize, pc: u64) {
    socket(index).phase = SocketPhase::Fresh;
    while let Some(end) = accept(index) {
        if let Some(peer) = usize::from(socket(end).peer).checked_sub(1) {
            SocketCall { index: peer, descriptor: -1, pc }.turn(0, None);
            if usize::from(socket(peer).peer) == end + 1 {
                reset(peer, libc::ECONNRESET);
            }
        }
        *socket(end) = Socket::UNUSED;
    }
}

/// The socket is in use no more: its connection ends.
pub fn ended(index: usize, pc: u64) {
    socket(index).is_bound = false;
    if socket(index).phase == SocketPhase::Listening {
        stop_listening(index, pc);
    }
    let this = *socket(index);
    if let Some(peer) = usize::from(this.peer).checked_sub(1)
        && usize::from(socket(peer).peer) == index + 1
    {
        let is_hard = this.len > 0 || this.ends_hard && !this.is_unix();
        if this.is_connected_kind() && is_hard {
            reset(peer, libc::ECONNRESET);
        } else {
            finish(peer, this.is_connected_kind());
            socket(peer).peer = 0;
        }
    }
    // Datagram sockets that have it as their fixed other end.
    for other in all() {
        if usize::from(socket(other).peer) == index + 1 {
            socket(other).peer = 0;
        }
    }
    *socket(index) = Socket::UNUSED;
}

/// The other end sends no more, as it is closed.
fn finish(peer: usize, is_connection: bool) {
    if is_connection {
        let other = socket(peer);
        other.is_finished = true;
        if other.is_unix() {
            other.shut = shut::READ | shut::WRITE;
        }
        queues::notify_socket(peer, Notice::All);
    }
}

/// Ends directions of a connection.
pub fn shut_down(index: usize, how: i32) -> Result<(), Errno> {
    let directions = match how {
        libc::SHUT_RD => shut::READ,
        libc::SHUT_WR => shut::WRITE,
        libc::SHUT_RDWR => shut::READ | shut::WRITE,
        _ => return Err(libc::EINVAL),
    };
    let this = socket(index);
    if !this.is_unix() {
        match this.phase {
            SocketPhase::Fresh | SocketPhase::Reset => {
                this.is_given_up |= core::mem::take(&mut this.is_news);
                this.shut |= directions;
                queues::notify_socket(index, Notice::All);
                return Err(libc::ENOTCONN);
            }
            SocketPhase::Connecting => {
                (this.phase, this.is_news) = (SocketPhase::Fresh, false);
                queues::notify_socket(index, Notice::All);
                return Ok(());
            }
            SocketPhase::Listening => return Ok(()),
            SocketPhase::Unused | SocketPhase::Connected => {}
        }
    }
    this.shut |= directions;
    if let Some(peer) = usize::from(this.peer).checked_sub(1).filter(|_| this.is_connected_kind()) {
        let other = socket(peer);
        other.is_finished |= directions & shut::WRITE != 0;
        if other.is_unix() && directions & shut::READ != 0 {
            other.shut |= shut::WRITE;
        }
        if directions & shut::WRITE != 0 || other.is_unix() {
            queues::notify_socket(peer, Notice::All);
        }
    }
    queues::notify_socket(index, Notice::All);
    Ok(())
}

/// The name of a file of the Unix domain is made; `None` if the socket has no such name.
pub fn make_name(address: &Address, pc: u64) -> Result<(), Errno> {
    let Some(path) = address.path() else { return Ok(()) };
    let mode = libc::S_IFSOCK | 0o777;
    match file_calls::make_special(libc::AT_FDCWD, path.as_ptr().cast(), mode, 0, pc) {
        0 => Ok(()),
        result if result == -(libc::EEXIST as isize) => Err(libc::EADDRINUSE),
        result => Err(-result as Errno),
    }
}

/// Whether the name of a file of the Unix domain is there.
pub fn find_name(address: &Address, pc: u64) -> Result<(), Errno> {
    let Some(path) = address.path() else { return Ok(()) };
    let result = file_calls::access(libc::AT_FDCWD, path.as_ptr().cast(), libc::W_OK, 0, pc);
    if result < 0 { Err(-result as Errno) } else { Ok(()) }
}

/// What a call touches that is given this address.
pub fn touched(address: &Address, kind: i32) -> Option<u32> {
    let thing = address.endpoint(kind).thing();
    (thing & io::READINESS == 0).then_some(thing)
}
