//! What sockets are ready for.

use raddle_vocab::io;
use raddle_vocab::readiness::{Condition, Readiness};

use super::party;
use super::{ROOM, Socket, SocketPhase, all, shut, socket};

const IN: i16 = libc::POLLIN | libc::POLLRDNORM;
const OUT: i16 = libc::POLLOUT | libc::POLLWRNORM;

/// Messages that wait at a datagram socket of the Unix domain, at most; one more may come in.
const MOST_MESSAGES: u32 = 10;

/// Whether it receives no more.
fn is_deaf(socket: &Socket) -> bool {
    socket.is_finished || socket.shut & shut::READ != 0
}

/// Number of the connections that wait to be accepted.
pub fn waiting(index: usize) -> impl Iterator<Item = usize> {
    all().filter(move |&other| usize::from(socket(other).waits_at) == index + 1)
}

/// Whether a connection can be added to those that wait to be accepted.
pub fn has_room_to_wait(index: usize) -> bool {
    waiting(index).count() as u64 <= u64::from(socket(index).backlog)
}

/// Bytes that the other end of a connection has room for.
pub fn room(index: usize) -> usize {
    match socket(index).peer {
        0 => ROOM,
        peer => ROOM - socket(usize::from(peer) - 1).len as usize,
    }
}

/// Whether a message can be sent to the socket, by one that is not its fixed other end.
pub fn takes_message(target: usize, from: usize) -> bool {
    let other = socket(target);
    let is_pair = usize::from(other.peer) == from + 1;
    !other.is_unix() || other.kind != libc::SOCK_DGRAM || is_pair || other.messages <= MOST_MESSAGES
}

/// All that `poll` can say of the socket.
pub fn revents(index: usize) -> i16 {
    let this = socket(index);
    let mut found = if this.error != 0 { libc::POLLERR } else { 0 };
    let wide_out = if this.is_unix() || !this.is_connected_kind() { OUT | libc::POLLWRBAND } else { OUT };
    match this.phase {
        SocketPhase::Listening => {
            if is_deaf(this) {
                found |= IN | libc::POLLRDHUP | if this.shut & shut::WRITE != 0 { libc::POLLHUP } else { 0 };
            }
            return found | if waiting(index).next().is_some() { IN } else { 0 };
        }
        SocketPhase::Connecting => return found,
        SocketPhase::Unused => return libc::POLLNVAL,
        SocketPhase::Fresh if this.is_connected_kind() => found |= libc::POLLHUP,
        SocketPhase::Reset => found |= libc::POLLHUP | IN | libc::POLLRDHUP,
        SocketPhase::Fresh | SocketPhase::Connected => {}
    }
    if is_deaf(this) {
        found |= IN | libc::POLLRDHUP;
        if this.shut & shut::WRITE != 0 {
            found |= libc::POLLHUP;
        }
    }
    if this.len > 0 || this.messages > 0 {
        found |= IN;
    }
    let is_shut = this.shut & shut::WRITE != 0 && !this.is_unix();
    if is_shut
        || this.phase != SocketPhase::Connected
        || !this.is_connected_kind() && sends_at_once(index)
        || has_room(index)
    {
        found |= wide_out;
    }
    found
}

/// Whether a datagram to the fixed other end need not wait.
fn sends_at_once(index: usize) -> bool {
    match socket(index).peer {
        0 => true,
        peer => takes_message(usize::from(peer) - 1, index),
    }
}

fn has_room(index: usize) -> bool {
    socket(index).is_connected_kind() && room(index) > if socket(index).is_stream() { 0 } else { ROOM / 2 }
}

/// Whether a call that waits for these events of the socket can go on.
pub fn can_go_on(index: usize, events: i16) -> bool {
    let this = socket(index);
    match events {
        0 => true,
        io::WAITS_FOR_QUEUE => super::connect::can_connect(index),
        libc::POLLOUT => match this.phase {
            SocketPhase::Connecting => false,
            SocketPhase::Connected => {
                this.error != 0
                    || this.shut & shut::WRITE != 0
                    || if this.is_connected_kind() { has_room(index) } else { super::data::can_send(index) }
            }
            _ => this.is_connected_kind() || super::data::can_send(index),
        },
        _ => match this.phase {
            SocketPhase::Connecting => false,
            SocketPhase::Listening => waiting(index).next().is_some() || this.shut & shut::READ != 0,
            SocketPhase::Fresh if this.is_connected_kind() => true,
            _ => {
                this.len > 0
                    || this.messages > 0
                    || this.error != 0
                    || is_deaf(this)
                    || this.phase == SocketPhase::Reset
            }
        },
    }
}

/// Adds what is known of the sockets and the port that a thing stands for. What several of them
/// would be asked for is not known.
pub fn add_readiness(thing: u32, found: &mut Readiness) {
    let of_thing = || all().filter(move |&index| socket(index).thing == thing);
    for end in [0, 1] {
        let mut ends = of_thing().filter(|&index| socket(index).end == end);
        if let (Some(index), None) = (ends.next(), ends.next()) {
            found.add(Condition::Input(end), can_go_on(index, libc::POLLIN));
            if socket(index).is_connected_kind() {
                found.add(Condition::Output(end), can_go_on(index, libc::POLLOUT));
            }
        }
    }
    let mut listeners = of_thing().filter(|&index| socket(index).phase == SocketPhase::Listening);
    match (listeners.next(), listeners.next()) {
        (None, _) => {
            found.add(Condition::Answer, true);
            found.add(Condition::Listener, false);
        }
        (Some(listener), None) if has_room_to_wait(listener) => {
            found.add(Condition::Answer, true);
            found.add(Condition::Listener, socket(listener).script == 0);
        }
        // Whether a connection is meant for it depends on the address.
        _ => {}
    }
    if let Some(can_go_on) = party::can_follow_script(thing) {
        found.add(Condition::Script, can_go_on);
    }
}
