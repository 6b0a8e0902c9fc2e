//! From what the runtime has written of a program's connections to scripts of their other sides.
//!
//! A connection is seen from the program: bytes that it received are those that the other side
//! sent, and bytes that it sent are those that the other side expects. Neighbouring transfers in
//! one direction are one action. Connections between two threads of the program have no other side.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use raddle_vocab::party::PartyRole;
use raddle_wire::tap::{ENTRY_BYTES, TapEntry, kind};

use super::{PartyAddress, ScriptAction, is_host};

/// The other side of a connection that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Whether it connected to the program, or the program to it.
    pub role: PartyRole,
    /// Where it connected to, or where it was.
    pub address: PartyAddress,
    /// What it did.
    pub actions: Vec<ScriptAction>,
    /// Functions by which bytes were transferred that are not in the actions.
    pub unseen: BTreeSet<String>,
    /// The program has left the number of the port to the system.
    pub is_any_port: bool,
}

/// What a recording tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// In the order in which they were made.
    pub connections: Vec<Connection>,
    /// Whether datagrams were sent or expected.
    pub has_datagrams: bool,
    /// Unix sockets whose names cannot be written in an option.
    pub unwritable: usize,
}

/// An address of the system's, in the form in which it is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Address {
    Inet(IpAddr, u16),
    Unix(Vec<u8>),
    Unknown,
}

impl Address {
    fn read(bytes: &[u8]) -> Address {
        let family = bytes.first_chunk().map_or(0, |family| i32::from(u16::from_ne_bytes(*family)));
        let port = bytes.get(2..4).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
        match family {
            libc::AF_INET => {
                let ip = bytes.get(4..8).and_then(|ip| <[u8; 4]>::try_from(ip).ok());
                ip.map_or(Address::Unknown, |ip| Address::Inet(Ipv4Addr::from(ip).into(), port))
            }
            libc::AF_INET6 => {
                let ip = bytes.get(8..24).and_then(|ip| <[u8; 16]>::try_from(ip).ok());
                ip.map_or(Address::Unknown, |ip| Address::Inet(Ipv6Addr::from(ip).to_canonical(), port))
            }
            libc::AF_UNIX => Address::Unix(bytes[2..].to_vec()),
            _ => Address::Unknown,
        }
    }

    fn port(&self) -> Option<u16> {
        match self {
            Address::Inet(_, port) => Some(*port),
            _ => None,
        }
    }
}

/// The address behind its length, and what follows.
fn take_address(bytes: &[u8]) -> (Address, &[u8]) {
    let Some((&len, rest)) = bytes.split_first() else { return (Address::Unknown, bytes) };
    let (address, rest) = rest.split_at(usize::from(len).min(rest.len()));
    (Address::read(address), rest)
}

struct Entry<'a> {
    kind: u32,
    socket: u64,
    process: u32,
    other_process: u32,
    bytes: &'a [u8],
}

/// The next entry, and what follows it; `None` at the end, or where the last one was not finished.
fn next_entry(log: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (head, rest) = log.split_at_checked(ENTRY_BYTES)?;
    let word = |at: usize| head[at..].first_chunk().map_or(0, |word| u32::from_ne_bytes(*word));
    let socket = head[offset_of!(TapEntry, socket)..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
    let (bytes, rest) = rest.split_at_checked(word(offset_of!(TapEntry, len)) as usize)?;
    let entry = Entry {
        kind: word(offset_of!(TapEntry, kind)),
        socket,
        process: word(offset_of!(TapEntry, process)),
        other_process: word(offset_of!(TapEntry, other_process)),
        bytes,
    };
    Some((entry, rest))
}

/// A connection of the program.
struct Seen {
    role: PartyRole,
    own: Address,
    other: Address,
    other_process: u32,
    is_made: bool,
    is_closed: bool,
    actions: Vec<ScriptAction>,
    unseen: BTreeSet<String>,
}

impl Seen {
    fn has_ended(&self) -> bool {
        self.actions.iter().any(|action| matches!(action, ScriptAction::Shutdown | ScriptAction::Reset))
    }

    fn apply(&mut self, entry: &Entry<'_>) {
        let is_reset = self.actions.last() == Some(&ScriptAction::Reset);
        match entry.kind {
            // A call that waits for a connection again, after it was asked for.
            kind::CONNECTED | kind::ASKED => {}
            _ if is_reset => {}
            kind::RECEIVED if self.has_ended() || entry.bytes.is_empty() => {}
            kind::RECEIVED => match self.actions.last_mut() {
                Some(ScriptAction::Send(data)) => data.extend_from_slice(entry.bytes),
                _ => self.actions.push(ScriptAction::Send(entry.bytes.to_vec())),
            },
            kind::SENT if entry.bytes.is_empty() => {}
            kind::SENT => match self.actions.last_mut() {
                Some(ScriptAction::Expect(data)) => data.extend_from_slice(entry.bytes),
                _ => self.actions.push(ScriptAction::Expect(entry.bytes.to_vec())),
            },
            kind::ENDED if !self.has_ended() => self.actions.push(ScriptAction::Shutdown),
            kind::RESET => self.actions.push(ScriptAction::Reset),
            kind::UNSEEN => {
                self.unseen.insert(String::from_utf8_lossy(entry.bytes).into_owned());
            }
            _ => {}
        }
        self.is_made |= entry.kind != kind::ASKED;
        self.is_closed = entry.kind == kind::CLOSED;
    }

    /// The actions with their end: who has closed the connection.
    fn script(&self) -> Vec<ScriptAction> {
        let mut actions = self.actions.clone();
        match actions.last_mut() {
            Some(ScriptAction::Reset) => {}
            Some(last @ ScriptAction::Shutdown) => *last = ScriptAction::Close,
            _ if self.is_closed => actions.push(ScriptAction::ExpectClose),
            _ => {}
        }
        actions
    }
}

/// The other sides of the connections in the file that the runtime has written.
#[must_use]
pub fn connections(log: &[u8]) -> Recorded {
    let mut recorded = Recorded::default();
    let mut all: Vec<Seen> = Vec::new();
    let mut of_socket: BTreeMap<u64, usize> = BTreeMap::new();
    let mut names: BTreeMap<IpAddr, String> = BTreeMap::new();
    let mut processes: BTreeSet<u32> = BTreeSet::new();
    let mut any_ports: BTreeSet<u16> = BTreeSet::new();
    let mut rest = log;
    while let Some((entry, behind)) = next_entry(rest) {
        rest = behind;
        processes.insert(entry.process);
        match entry.kind {
            kind::DATAGRAM => recorded.has_datagrams = true,
            kind::ANY_PORT => any_ports.extend(take_address(entry.bytes).0.port()),
            kind::NAMED => {
                let (address, name) = take_address(entry.bytes);
                let name = String::from_utf8_lossy(name).into_owned();
                if let (Address::Inet(ip, _), true) = (address, is_host(&name)) {
                    names.insert(ip, name);
                }
            }
            _ => {}
        }
        let begins = matches!(entry.kind, kind::ACCEPTED | kind::CONNECTED | kind::ASKED);
        let known = of_socket.get(&entry.socket).copied().filter(|&number| !(begins && all[number].is_closed));
        match known {
            Some(number) => all[number].apply(&entry),
            None if begins => {
                let (own, bytes) = take_address(entry.bytes);
                let (other, _) = take_address(bytes);
                of_socket.insert(entry.socket, all.len());
                all.push(Seen {
                    role: if entry.kind == kind::ACCEPTED { PartyRole::Client } else { PartyRole::Peer },
                    own,
                    other,
                    other_process: entry.other_process,
                    is_made: entry.kind != kind::ASKED,
                    is_closed: false,
                    actions: Vec::new(),
                    unseen: BTreeSet::new(),
                });
            }
            None => {}
        }
    }
    for seen in all.iter().filter(|seen| seen.is_made && !is_internal(seen, &all, &processes)) {
        let address = match seen.role {
            PartyRole::Client => client_address(&seen.own),
            PartyRole::Peer => peer_address(&seen.other, &names),
        };
        let Some(address) = address else {
            recorded.unwritable += 1;
            continue;
        };
        let is_any_port =
            seen.role == PartyRole::Client && seen.own.port().is_some_and(|port| any_ports.contains(&port));
        let (role, unseen) = (seen.role, seen.unseen.clone());
        recorded.connections.push(Connection { role, address, actions: seen.script(), unseen, is_any_port });
    }
    recorded
}

/// Whether both ends are the program's.
fn is_internal(seen: &Seen, all: &[Seen], processes: &BTreeSet<u32>) -> bool {
    if seen.other_process != 0 {
        return processes.contains(&seen.other_process);
    }
    let fits = |one: &Address, other: &Address| matches!(one, Address::Inet(..)) && one == other;
    all.iter().any(|other| other.role != seen.role && fits(&seen.own, &other.other) && fits(&seen.other, &other.own))
}

fn client_address(own: &Address) -> Option<PartyAddress> {
    match own {
        Address::Inet(_, port) => Some(PartyAddress::Tcp { host: None, port: *port }),
        Address::Unix(name) => unix_name(name),
        Address::Unknown => None,
    }
}

fn peer_address(other: &Address, names: &BTreeMap<IpAddr, String>) -> Option<PartyAddress> {
    match other {
        Address::Inet(ip, port) => {
            let host = names.get(ip).cloned().unwrap_or_else(|| ip.to_string());
            Some(PartyAddress::Tcp { host: Some(host), port: *port })
        }
        Address::Unix(name) => unix_name(name),
        Address::Unknown => None,
    }
}

fn unix_name(name: &[u8]) -> Option<PartyAddress> {
    let (first, rest) = name.split_first()?;
    let text = if *first == 0 {
        [b"@", rest].concat()
    } else {
        name.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
    };
    let is_fine = |byte: &u8| byte.is_ascii_graphic() && *byte != b'=';
    let text = String::from_utf8(text).ok().filter(|text| text.as_bytes().iter().all(is_fine))?;
    PartyAddress::parse(&format!("unix:{text}"), PartyRole::Client).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u32, socket: u64, bytes: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; ENTRY_BYTES];
        let mut put = |at: usize, value: &[u8]| entry[at..at + value.len()].copy_from_slice(value);
        put(offset_of!(TapEntry, kind), &kind.to_ne_bytes());
        put(offset_of!(TapEntry, len), &(bytes.len() as u32).to_ne_bytes());
        put(offset_of!(TapEntry, socket), &socket.to_ne_bytes());
        put(offset_of!(TapEntry, process), &7u32.to_ne_bytes());
        entry.extend(bytes);
        entry
    }

    fn inet(last: u8, port: u16) -> Vec<u8> {
        let mut bytes = vec![16];
        bytes.extend((libc::AF_INET as u16).to_ne_bytes());
        bytes.extend(port.to_be_bytes());
        bytes.extend([127, 0, 0, last, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    fn ends(own: u16, other: u16) -> Vec<u8> {
        [inet(1, own), inet(1, other)].concat()
    }

    fn told(log: &[Vec<u8>]) -> Vec<(String, Vec<String>)> {
        let recorded = connections(&log.concat());
        let one = |connection: &Connection| {
            let actions = connection.actions.iter().map(ToString::to_string).collect();
            (format!("{:?} {}", connection.role, connection.address), actions)
        };
        recorded.connections.iter().map(one).collect()
    }

    #[test]
    fn transfers_become_actions_of_the_other_side() {
        let log = [
            entry(kind::ACCEPTED, 1, &ends(80, 40000)),
            entry(kind::RECEIVED, 1, b"ge"),
            entry(kind::RECEIVED, 1, b"t\n"),
            entry(kind::ACCEPTED, 2, &ends(80, 40001)),
            entry(kind::SENT, 1, b"\x00\xff"),
            entry(kind::SENT, 1, b"\n"),
            entry(kind::ENDED, 1, b""),
            entry(kind::CLOSED, 1, b""),
            entry(kind::SENT, 2, b"bye"),
            entry(kind::CLOSED, 2, b""),
            // The same inode again: another connection.
            entry(kind::ACCEPTED, 2, &ends(80, 40002)),
            entry(kind::RESET, 2, b""),
            entry(kind::SENT, 2, b"lost"),
        ];
        let client = "Client tcp:80".to_owned();
        let all = told(&log);
        assert_eq!(
            all[0],
            (client.clone(), vec!["send \"get\\n\"".into(), "expect \"\\x00\\xff\\n\"".into(), "close".into()])
        );
        assert_eq!(all[1], (client.clone(), vec!["expect \"bye\"".into(), "expect-close".into()]));
        assert_eq!(all[2], (client, vec!["reset".into()]));
    }

    #[test]
    fn peers_have_the_names_by_which_they_were_found() {
        let mut name = inet(2, 0);
        name.extend(b"example.org");
        let log = [
            entry(kind::NAMED, 0, &name),
            entry(kind::ASKED, 1, &[inet(1, 50000), inet(2, 443)].concat()),
            entry(kind::SENT, 1, b"hello"),
            entry(kind::ENDED, 1, b""),
            entry(kind::SENT, 1, b"more"),
            entry(kind::CLOSED, 1, b""),
            // Never made.
            entry(kind::ASKED, 2, &[inet(1, 50001), inet(3, 443)].concat()),
        ];
        let actions = ["expect \"hello\"", "shutdown", "expect \"more\"", "expect-close"].map(String::from).to_vec();
        assert_eq!(told(&log), [("Peer tcp:example.org:443".into(), actions)]);
    }

    #[test]
    fn connections_inside_the_program_have_no_other_side() {
        let log = [entry(kind::CONNECTED, 1, &ends(50000, 80)), entry(kind::ACCEPTED, 2, &ends(80, 50000))];
        assert_eq!(told(&log), []);
        assert_eq!(told(&log[1..]).len(), 1);
    }

    #[test]
    fn a_log_that_was_not_finished_is_read_up_to_there() {
        let whole = [entry(kind::ACCEPTED, 1, &ends(80, 40000)), entry(kind::RECEIVED, 1, b"abc")].concat();
        for len in 0..whole.len() {
            let recorded = connections(&whole[..len]);
            assert!(recorded.connections.iter().all(|connection| connection.actions.is_empty()));
        }
        assert_eq!(connections(&whole).connections[0].actions, [ScriptAction::Send(b"abc".to_vec())]);
    }
}
