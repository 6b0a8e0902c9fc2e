//! The state of all sockets as numbers, for the key of a state. The number of a socket depends on
//! the order in which threads made theirs, so sockets are named by what they stand for.

use raddle_vocab::policy::mix;

use super::address::Address;
use super::data::look;
use super::party::PartyWait;
use super::{Socket, all, net, socket};
use crate::state::Fiber;

/// Bytes that are read at a time.
const CHUNK: usize = 64;

fn words(words: &[u64]) -> u64 {
    words.iter().fold(0, |hash, &word| mix(hash ^ word))
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let word = |part: &[u8]| part.iter().fold(part.len() as u64, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(7).fold(bytes.len() as u64, |hash, part| mix(hash ^ word(part)))
}

fn of_address(address: &Address) -> u64 {
    of_bytes(address.bytes())
}

/// Name of a socket.
fn name(this: &Socket) -> u64 {
    u64::from(this.thing) << 8 | u64::from(this.end)
}

/// Name of the socket with this number, from 1.
fn name_of(number: u16) -> u64 {
    usize::from(number).checked_sub(1).map_or(0, |index| mix(name(socket(index))))
}

/// How many of these numbers are less: only their order counts.
fn position(own: u32, others: impl Iterator<Item = u32>) -> u64 {
    others.filter(|&other| other < own).count() as u64
}

/// The bytes that wait at a socket.
fn content(index: usize) -> u64 {
    let len = socket(index).len as usize;
    let mut hash = len as u64;
    for start in (0..len).step_by(CHUNK) {
        let mut bytes = [0; CHUNK];
        let part = CHUNK.min(len - start);
        look(index, start, bytes.as_mut_ptr(), part);
        hash = mix(hash ^ of_bytes(&bytes[..part]));
    }
    hash
}

fn of_socket(index: usize) -> u64 {
    let this = socket(index);
    let flags = [
        this.is_bound,
        this.is_finished,
        this.lacks_room,
        this.is_news,
        this.is_given_up,
        this.ends_hard,
        this.turn != 0,
        this.bound_at != 0,
    ];
    let flags = flags.iter().fold(u64::from(this.shut), |bits, &flag| bits << 1 | u64::from(flag));
    let kind = u64::from(this.kind.cast_unsigned()) << 32 | u64::from(this.domain.cast_unsigned());
    words(&[
        this.phase as u64 | flags << 8,
        kind,
        u64::from(this.users) | u64::from(this.messages) << 32,
        of_address(&this.local),
        of_address(&this.remote),
        position(this.bound_at, all().map(|other| socket(other).bound_at)),
        position(this.turn, all().map(|other| socket(other).turn)),
        name_of(this.peer),
        name_of(this.waits_at),
        u64::from(this.backlog) | u64::from(this.script) << 32,
        u64::from(this.error.cast_unsigned()),
        content(index),
    ])
}

/// Passes names and numbers of all sockets, and of the descriptors that refer to them. False if two
/// sockets have one name.
pub fn digest(mut add: impl FnMut(u64, u64)) -> bool {
    for index in all() {
        let own = name(socket(index));
        if all().any(|other| other < index && name(socket(other)) == own) {
            return false;
        }
        add(mix(own), of_socket(index));
    }
    for (descriptor, &number) in net().of.iter().enumerate().filter(|(_, number)| **number != 0) {
        add(mix(!(descriptor as u64)), words(&[name_of(number), net().settings[descriptor]]));
    }
    true
}

/// The option of a descriptor is set, which the kernel keeps.
pub fn note_setting(descriptor: i32, which: [u64; 2], value: &[u8]) {
    if super::of(descriptor).is_some() {
        let setting = &mut net().settings[descriptor as usize];
        *setting = words(&[*setting, which[0], which[1], of_bytes(value)]);
    }
}

/// Where a party is in its script, and the socket that a thread waits for.
pub fn of_thread(fiber: &Fiber) -> u64 {
    let private = &fiber.private;
    let wait = match private.party_wait {
        PartyWait::None => [0, 0],
        PartyWait::Listener => [1, 0],
        PartyWait::Caller => [2, 0],
        PartyWait::Room { sent } => [3, u64::from(sent)],
        PartyWait::Step { step, taken } => [4 | u64::from(step) << 8, u64::from(taken)],
    };
    words(&[wait[0], wait[1], name_of(private.socket)])
}
