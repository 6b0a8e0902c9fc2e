//! Sockets between threads of the program. They are wholly the runtime's: what is sent, queued and
//! ready is state of the run, and the kernel has no part in it. The kernel's socket of a descriptor
//! is never bound nor connected. It only reserves the number, and keeps flags and options.
//!
//! What an operation touches (see `raddle_vocab::io`):
//!
//! | operation | touches |
//! |---|---|
//! | on a socket that is bound to no address | the socket |
//! | on a connection | the socket that asked for it, for both ends |
//! | on a socket that is bound, `accept` | its port or name |
//! | `bind`, `connect`, `sendto` | the socket, and the port or name that is given |
//!
//! All ports of one number are one thing, whatever the host is. What a socket is ready for is asked
//! of the socket. An address of another machine leads to the kernel, and the report says so.

pub mod address;
mod calls;
mod connect;
mod data;
pub mod digest;
mod messages;
mod names;
pub mod party;
mod readiness;
pub mod tap;

use raddle_vocab::io::Endpoint;
use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome, RunStatus, io};
use raddle_wire::{config_flag, limit};

use self::address::Address;
use crate::interpose::io::descriptors::{MAX_CHANNELS, set_channel};
use crate::interpose::io::{descriptor_ends, overlay, queues, slots};
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::library::calls as unmodelled;
use crate::restore::undo;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, Global, controlled, process, run};
use crate::syscall::syscall;

pub use self::calls::readable_bytes;
pub use self::data::{Pieces, receive, receive_one, send, send_one, timed_out};
pub use self::messages::{receive_message, send_message};
pub use self::readiness::{add_readiness, can_go_on, revents};

/// Sockets of a run, at most.
pub const SOCKETS: usize = 128;
/// Bytes that wait at a socket, at most.
pub const ROOM: usize = 1 << 17;

/// How far a socket has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SocketPhase {
    /// The entry is not in use.
    Unused,
    /// Neither connected nor listening.
    Fresh,
    /// It takes connections.
    Listening,
    /// It has asked for a connection without waiting for it.
    Connecting,
    /// It is an end of a connection, or a datagram socket with a fixed other end.
    Connected,
    /// Its connection was reset or refused.
    Reset,
}

/// Directions that a socket has shut down.
pub mod shut {
    /// It receives no more.
    pub const READ: u8 = 1;
    /// It sends no more.
    pub const WRITE: u8 = 2;
}

/// A socket.
#[derive(Clone, Copy)]
pub struct Socket {
    /// How far it has come.
    pub phase: SocketPhase,
    /// `AF_INET`, `AF_INET6` or `AF_UNIX`.
    pub domain: i32,
    /// `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_SEQPACKET`.
    pub kind: i32,
    /// What operations on it touch.
    pub thing: u32,
    /// Which end of its connection it is: 0 for the one that has asked for it.
    pub end: u8,
    /// Descriptors that refer to it, and calls under way.
    pub users: u16,
    /// Its address.
    pub local: Address,
    /// The address that it is connected to, or connects to.
    pub remote: Address,
    /// Whether the program, or a call that needs it, has bound it.
    pub is_bound: bool,
    /// When it was bound: of two with the same name, the later one counts.
    pub bound_at: u32,
    /// Number of the other end, from 1; 0 if there is none, or it is closed.
    pub peer: u16,
    /// Number of the socket that has not yet accepted it, from 1.
    pub waits_at: u16,
    /// Its turn there.
    pub turn: u32,
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// The scripted party that it belongs to as what the program finds it by; 0 if it is none.
    pub script: u32,
    /// Directions that are shut down, bits of [`shut`].
    pub shut: u8,
    /// The other end sends no more.
    pub is_finished: bool,
    /// A thread was told that there is no room.
    pub lacks_room: bool,
    /// A connection that was asked for without waiting is there, and the program was not told.
    pub is_news: bool,
    /// It was shut down before the program was told what became of its connection.
    pub is_given_up: bool,
    /// The program has asked that closing resets the connection.
    pub ends_hard: bool,
    /// What the next call fails with; 0 if it does not.
    pub error: i32,
    /// Position and number of the bytes that wait in its part of the buffers.
    pub head: u32,
    /// See `head`.
    pub len: u32,
    /// How many messages they are.
    pub messages: u32,
}

impl Socket {
    const UNUSED: Socket = Socket {
        phase: SocketPhase::Unused,
        domain: 0,
        kind: 0,
        thing: 0,
        end: 0,
        users: 0,
        local: Address::NONE,
        remote: Address::NONE,
        is_bound: false,
        bound_at: 0,
        peer: 0,
        waits_at: 0,
        turn: 0,
        backlog: 0,
        script: 0,
        shut: 0,
        is_finished: false,
        lacks_room: false,
        is_news: false,
        is_given_up: false,
        ends_hard: false,
        error: 0,
        head: 0,
        len: 0,
        messages: 0,
    };

    /// Whether it is one of the Unix domain.
    pub fn is_unix(&self) -> bool {
        self.domain == libc::AF_UNIX
    }

    /// Whether it carries bytes without bounds between messages.
    pub fn is_stream(&self) -> bool {
        self.kind == libc::SOCK_STREAM
    }

    /// Whether it needs a connection.
    pub fn is_connected_kind(&self) -> bool {
        self.kind != libc::SOCK_DGRAM
    }
}

/// All sockets of the run.
pub struct Net {
    sockets: [Socket; SOCKETS],
    /// Socket that each descriptor refers to, from 1; 0 if it is none.
    of: [u16; MAX_CHANNELS],
    /// Hash of what the program has set for each descriptor: the kernel keeps it.
    settings: [u64; MAX_CHANNELS],
    /// Counts what has an order.
    turns: u32,
}

static NET: Global<Net> = Global::new(Net {
    sockets: [Socket::UNUSED; SOCKETS],
    of: [0; MAX_CHANNELS],
    settings: [0; MAX_CHANNELS],
    turns: 0,
});

/// Bytes on their way, apart from the sockets: most pages are never written.
static BYTES: Global<[[u8; ROOM]; SOCKETS]> = Global::new([[0; ROOM]; SOCKETS]);

/// Where the state is, and its size.
pub fn ranges() -> [(usize, usize); 2] {
    [(NET.get() as usize, size_of_val(&NET)), (BYTES.get() as usize, size_of_val(&BYTES))]
}

fn net() -> &'static mut Net {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *NET.get() }
}

fn bytes(index: usize) -> &'static mut [u8; ROOM] {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*BYTES.get())[index] }
}

/// The socket with this number.
pub fn socket(index: usize) -> &'static mut Socket {
    &mut net().sockets[index]
}

/// Number of the socket that the descriptor refers to, if it is one of the runtime's.
#[inline]
pub fn of(descriptor: i32) -> Option<usize> {
    let number = usize::try_from(descriptor).ok().and_then(|index| net().of.get(index))?;
    usize::from(*number).checked_sub(1)
}

/// Whether sockets are the runtime's.
fn is_modelled(domain: i32, kind: i32, protocol: i32) -> bool {
    let is_inet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    controlled()
        && process().config_flags & config_flag::REAL_SOCKETS == 0
        && match kind {
            libc::SOCK_STREAM if is_inet => matches!(protocol, 0 | libc::IPPROTO_TCP),
            libc::SOCK_DGRAM if is_inet => matches!(protocol, 0 | libc::IPPROTO_UDP),
            libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_SEQPACKET => domain == libc::AF_UNIX,
            _ => false,
        }
}

/// A new socket; `None` if there are too many.
fn make(domain: i32, kind: i32) -> Option<usize> {
    let Some(index) = net().sockets.iter().position(|socket| socket.phase == SocketPhase::Unused) else {
        note_limit(limit::DESCRIPTORS);
        return None;
    };
    let me = run().me();
    me.channels += 1;
    let hash = mix(me.key ^ mix(u64::from(me.channels))) as u32;
    *socket(index) =
        Socket { phase: SocketPhase::Fresh, domain, kind, thing: Endpoint::Socket(hash).thing(), ..Socket::UNUSED };
    Some(index)
}

/// The descriptor refers to the socket from now on.
fn attach(descriptor: i32, index: usize, flags: i32) {
    socket(index).users += 1;
    net().of[descriptor as usize] = index as u16 + 1;
    net().settings[descriptor as usize] = u64::from(flags.cast_unsigned());
    set_channel(descriptor, io::file(socket(index).thing));
    descriptor_ends::made(descriptor);
}

/// The descriptor refers to this socket, if it is one, from now on.
pub fn attached(index: Option<usize>, descriptor: i32) {
    let Some(slot) = usize::try_from(descriptor).ok().and_then(|at| net().of.get_mut(at)) else {
        if index.is_some() {
            note_limit(limit::DESCRIPTORS);
        }
        return;
    };
    *slot = index.map_or(0, |index| index as u16 + 1);
    if let Some(index) = index {
        socket(index).users += 1;
        // Settings of one open file that several descriptors share are not followed.
        run().used_files = true;
    }
}

/// What operations on the socket touch has changed: it is bound.
fn renamed(index: usize, thing: u32) {
    socket(index).thing = thing;
    for descriptor in 0..MAX_CHANNELS as i32 {
        if of(descriptor) == Some(index) {
            set_channel(descriptor, io::file(thing));
        }
    }
}

/// The next of what has an order.
fn turn() -> u32 {
    net().turns += 1;
    net().turns
}

/// Numbers of all sockets in use.
fn all() -> impl Iterator<Item = usize> {
    (0..SOCKETS).filter(|&index| net().sockets[index].phase != SocketPhase::Unused)
}

/// A call on a socket that waits for its turn, and what it holds meanwhile.
struct SocketCall {
    index: usize,
    descriptor: i32,
    pc: u64,
}

impl SocketCall {
    /// A call on the socket that the descriptor refers to; `None` if it is none of the runtime's.
    fn begin(descriptor: i32, pc: u64) -> Option<SocketCall> {
        if !controlled() {
            return None;
        }
        of(descriptor)?;
        descriptor_ends::uses(descriptor, pc);
        slots::looks_up(descriptor, pc);
        // Another thread may have replaced it meanwhile.
        let index = of(descriptor)?;
        socket(index).users += 1;
        Some(SocketCall { index, descriptor, pc })
    }

    /// Waits for its turn, until the socket is ready for these events; `second` is what it touches
    /// beside the socket.
    fn turn(&self, events: i16, second: Option<u32>) {
        run().me().private.socket = self.index as u16 + 1;
        let arg = io::waits_for(self.descriptor, events) | second.map_or(0, io::and);
        let op = AnnouncedOp::new(OpKind::Io, io::file(socket(self.index).thing), slots::may_make_ready(arg), self.pc);
        sched::arrive(op);
        sched::commit(&op, Outcome::Done, 0, 0);
        run().me().private.socket = 0;
    }

    /// As [`SocketCall::turn`], for a wait that a signal handler may interrupt; fails with `EINTR`
    /// if one has ended it.
    fn interruptible_turn(&self, events: i16) -> Result<(), overlay::Errno> {
        if events != 0 {
            couriers::begin_call(InterruptibleCall::Restarts, self.pc);
        }
        run().me().private.socket = self.index as u16 + 1;
        let arg = slots::may_make_ready(io::waits_for(self.descriptor, events));
        let op = AnnouncedOp::new(OpKind::Io, io::file(socket(self.index).thing), arg, self.pc);
        sched::arrive(op);
        let is_interrupted = couriers::end_call() && !readiness::can_go_on(self.index, events);
        let nothing = if is_interrupted { io::OBSERVES | io::UNORDERED } else { 0 };
        sched::commit(&AnnouncedOp { arg: op.arg | nothing, ..op }, Outcome::Done, 0, 0);
        run().me().private.socket = 0;
        if is_interrupted { Err(libc::EINTR) } else { Ok(()) }
    }

    /// As [`SocketCall::turn`], for a call that only looks at the socket.
    fn looks(&self) {
        run().me().private.socket = self.index as u16 + 1;
        let op = AnnouncedOp::new(
            OpKind::Io,
            io::file(socket(self.index).thing),
            io::waits_for(self.descriptor, 0) | io::OBSERVES,
            self.pc,
        );
        sched::perform(op, Outcome::Done, 0, 0);
        run().me().private.socket = 0;
    }

    /// Whether the call waits: neither the descriptor nor its flags say otherwise.
    fn waits(&self, flags: i32) -> bool {
        flags & libc::MSG_DONTWAIT == 0 && !crate::interpose::io::descriptors::is_nonblocking(self.descriptor)
    }

    /// Whether it waits for a limited time only.
    fn is_timed(&self, option: i32) -> bool {
        has_limit(self.descriptor, option)
    }

    /// The operation was performed: other threads may be enabled.
    fn end(self) {
        let (number, is_copy) = slots::found(self.descriptor);
        if is_copy {
            overlay::close(number);
        }
        release(self.index, self.pc);
        sched::changed_channels();
    }
}

/// Whether operations that wait for the events wait for a limited time only. The descriptor need
/// not be a socket.
pub fn has_time_limit(descriptor: i32, events: i16) -> bool {
    has_limit(descriptor, if events & libc::POLLOUT != 0 { libc::SO_SNDTIMEO } else { libc::SO_RCVTIMEO })
}

fn has_limit(descriptor: i32, option: i32) -> bool {
    let (mut span, mut len) = (libc::timeval { tv_sec: 0, tv_usec: 0 }, size_of::<libc::timeval>() as u32);
    // SAFETY: asks for an option of the kernel's socket, into locals.
    let result =
        unsafe { syscall!(libc::SYS_getsockopt, descriptor, libc::SOL_SOCKET, option, &raw mut span, &raw mut len) };
    result == 0 && (span.tv_sec, span.tv_usec) != (0, 0)
}

/// A descriptor of the socket was closed, or a call on it has ended. The last one ends it.
fn release(index: usize, pc: u64) {
    let socket = socket(index);
    socket.users = socket.users.saturating_sub(1);
    if socket.users == 0 && socket.waits_at == 0 {
        connect::ended(index, pc);
    }
}

/// The descriptor is about to refer to nothing, in a transition on the socket.
pub fn closed(descriptor: i32, pc: u64) {
    if let Some(index) = of(descriptor) {
        socket(index).ends_hard = lingers_not(descriptor);
        net().of[descriptor as usize] = 0;
        // An open file that other descriptors refer to stays in queues.
        queues::closed(descriptor, socket(index).users > 1);
        release(index, pc);
        sched::changed_channels();
    }
}

/// Whether the program has asked that closing resets the connection.
fn lingers_not(descriptor: i32) -> bool {
    let mut linger = libc::linger { l_onoff: 0, l_linger: 0 };
    let mut len = size_of::<libc::linger>() as u32;
    // SAFETY: asks for an option of the kernel's socket, into locals.
    let result = unsafe {
        syscall!(libc::SYS_getsockopt, descriptor, libc::SOL_SOCKET, libc::SO_LINGER, &raw mut linger, &raw mut len)
    };
    result == 0 && linger.l_onoff != 0 && linger.l_linger == 0
}

/// The socket has to do with other processes from now on: it is the kernel's.
fn abandon(index: usize) {
    note_limit(limit::SOCKET);
    undo::needs_own_process();
    for descriptor in 0..MAX_CHANNELS as i32 {
        if of(descriptor) == Some(index) {
            net().of[descriptor as usize] = 0;
            set_channel(descriptor, io::NETWORK);
        }
    }
}

/// A call on a socket whose effect is not modelled: the run ends here, because what follows would
/// not be what the program does.
pub fn gives_up(name: &[u8], pc: u64) -> ! {
    unmodelled::note(name, pc);
    sched::finish(RunStatus::Cut, 0)
}

/// As [`gives_up`], if the descriptor is one of the runtime's sockets.
pub fn gives_up_on(descriptor: i32, name: &[u8], pc: u64) {
    if controlled() && of(descriptor).is_some() {
        gives_up(name, pc);
    }
}
