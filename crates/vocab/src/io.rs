//! What input and output accesses, as encoded in the operands of an
//! [`OpKind::Io`](crate::OpKind::Io).
//!
//! | bits of `arg` | |
//! |---|---|
//! | 0..10 | events of `poll` that the thread waits for; none if it never waits |
//! | 10 | [`SECOND_SHARES`] |
//! | 11 | [`ASKS`] |
//! | 12 | [`UNORDERED`] |
//! | 13 | [`SECOND_OBSERVES`] |
//! | 14 | [`OBSERVES`] |
//! | 15 | [`BLIND`] |
//! | 16..31 | descriptor |
//! | 31 | [`MAKES_READY`] |
//! | 32..64 | a second thing that is touched, as [`second`] gives it; 0 if there is none |
//!
//! | bits of `obj` of a file | |
//! |---|---|
//! | 0..32 | the thing |
//! | 32..43, 43..54 | two [`List`]s of directories that are touched: identity, and how in two bits |
//! | 55 | set |
//!
//! A pipe or socket is one thing, which every operation changes. Of a regular file, the name, the
//! content and an open file's offset are separate things: reading at an offset changes the offset
//! and observes the content. The names in a directory are a thing of their own, its list: making
//! and removing names shares it, reading it observes it.

/// The second thing is changed in a way that commutes with other such changes.
pub const SECOND_SHARES: u64 = 1 << 10;
/// The operation may change what a channel is ready for: it shares [`READINESS`].
pub const MAKES_READY: u64 = 1 << 31;
/// The thing that stands for what any channel is ready for. Operations on channels share it, and a
/// wait for several observes it. It is even, and beyond the lists.
pub const READINESS: u32 = 1 << 31;
/// Orders no memory.
pub const UNORDERED: u64 = 1 << 12;
/// The second thing is only observed.
pub const SECOND_OBSERVES: u64 = 1 << 13;
/// The object is only observed.
pub const OBSERVES: u64 = 1 << 14;
/// The thread asks whether the descriptor is ready, and does not wait.
pub const ASKS: u64 = 1 << 11;
/// Tells the thread nothing of what others did, as closing does not.
pub const BLIND: u64 = 1 << 15;

/// Events that stand for the wait for a lock of a file, instead of events of `poll`. The bit of an
/// invalid descriptor, which no call asks for, tells them apart.
pub const WAITS_FOR_LOCK: i16 = 0x20 | 1;
/// As [`WAITS_FOR_LOCK`], for a lock that others may share.
pub const WAITS_FOR_SHARED_LOCK: i16 = 0x20 | 2;
/// As [`WAITS_FOR_LOCK`], for a lock of a range of bytes.
pub const WAITS_FOR_RANGE: i16 = 0x20 | 4;

/// As [`WAITS_FOR_LOCK`], for a signal.
pub const WAITS_FOR_SIGNAL: i16 = 0x20 | 8;

/// As [`WAITS_FOR_LOCK`], for the end of a child process.
pub const WAITS_FOR_CHILD: i16 = 0x20 | 8 | 16;

/// As [`WAITS_FOR_LOCK`], for room in the queue of a socket that another one connects to.
pub const WAITS_FOR_QUEUE: i16 = 0x20 | 16;

/// As [`WAITS_FOR_LOCK`], of a scripted party for what its script says.
pub const WAITS_FOR_PROGRAM: i16 = 0x20 | 64;

/// As [`WAITS_FOR_PROGRAM`], of a party that the program need not connect to.
pub const WAITS_FOR_CALLER: i16 = 0x20 | 128;

/// As [`WAITS_FOR_LOCK`], for a queue of `epoll`, with a time-out.
pub const WAITS_WITH_TIME_OUT: i16 = 0x20 | 256;

/// Whether these events stand for the wait for a lock of a file.
#[must_use]
pub const fn is_wait_for_lock(events: i16) -> bool {
    matches!(events, WAITS_FOR_LOCK | WAITS_FOR_SHARED_LOCK | WAITS_FOR_RANGE)
}

/// Where the identities of files lie, apart from those of pipes and from addresses.
const FILES: u64 = 1 << 55;
const EVENTS: u64 = 0x3ff;
const DESCRIPTOR: u64 = 0x7fff;
/// In the place of a descriptor: a scripted party has none.
pub const NO_DESCRIPTOR: u16 = DESCRIPTOR as u16;

/// All pending signals, which are one object.
pub const SIGNALS: u64 = file(0);
/// The thing that stands for which threads there are to take a signal that is sent to the process:
/// those that were created and have not ended. It is even, and between the lists and the endpoints.
pub const TAKERS: u32 = 1 << 16;
/// The thing that stands for the handlers of `exit` and `quick_exit`. It lies where [`TAKERS`]
/// does.
pub const EXIT_HANDLERS: u32 = TAKERS + 2;
/// All sockets that are connected by address, which are one object.
pub const NETWORK: u64 = FILES - 1;

/// Whether what a thread waits for there may come from outside of the program.
#[must_use]
pub const fn may_come_from_outside(obj: u64) -> bool {
    obj == SIGNALS || obj == NETWORK
}

/// What a descriptor can refer to that is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A pipe.
    Pipe,
    /// A pair of sockets.
    SocketPair,
    /// `eventfd`.
    EventCounter,
    /// `timerfd`.
    Timer,
}

impl ChannelKind {
    const ALL: [ChannelKind; 4] =
        [ChannelKind::Pipe, ChannelKind::SocketPair, ChannelKind::EventCounter, ChannelKind::Timer];

    /// The kind of the channel with this identity; `None` if it is a thing of a file.
    #[must_use]
    pub const fn of(obj: u64) -> Option<ChannelKind> {
        if obj == 0 || is_file(obj) || obj == NETWORK { None } else { Some(ChannelKind::ALL[(obj >> 14 & 3) as usize]) }
    }

    /// The word for reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ChannelKind::Pipe => "pipe",
            ChannelKind::SocketPair => "socketpair",
            ChannelKind::EventCounter => "eventfd",
            ChannelKind::Timer => "timerfd",
        }
    }
}

/// A socket, an address or a queue that the runtime models itself, as a thing. Such things are even
/// and beyond the lists; the highest bit that is set says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A socket that is bound to no address, and the connection that it makes; the bits of a hash.
    Socket(u32),
    /// All that is bound to a port of the Internet protocols.
    Port {
        /// Whether it is one for datagrams.
        datagrams: bool,
        /// Its number.
        number: u16,
    },
    /// What is bound to a name of the Unix domain; the bits of a hash.
    Name(u32),
    /// The queue of `epoll` with this descriptor.
    Queue(u16),
}

const SOCKETS: u32 = 1 << 30;
const PORTS: u32 = 1 << 29;
const NAMES: u32 = 1 << 28;
const QUEUES: u32 = 1 << 27;

impl Endpoint {
    /// The thing that stands for it.
    #[must_use]
    pub const fn thing(self) -> u32 {
        match self {
            Endpoint::Socket(hash) => SOCKETS | hash & (SOCKETS - 1) & !1,
            Endpoint::Port { datagrams, number } => PORTS | (datagrams as u32) << 17 | (number as u32) << 1,
            Endpoint::Name(hash) => NAMES | hash & (NAMES - 1) & !1,
            Endpoint::Queue(descriptor) => QUEUES | (descriptor as u32) << 1,
        }
    }

    /// What a thing stands for, if it is one of these.
    #[must_use]
    pub const fn of(obj: u64) -> Option<Endpoint> {
        if !is_file(obj) || obj & 1 != 0 {
            return None;
        }
        let thing = obj as u32;
        match thing {
            READINESS.. | 0..QUEUES => None,
            SOCKETS.. => Some(Endpoint::Socket(thing & (SOCKETS - 1))),
            PORTS.. => Some(Endpoint::Port { datagrams: thing >> 17 & 1 != 0, number: (thing >> 1) as u16 }),
            NAMES.. => Some(Endpoint::Name(thing & (NAMES - 1))),
            QUEUES.. => Some(Endpoint::Queue((thing >> 1) as u16)),
        }
    }
}

/// Bits of an identity that count what a thread made.
const NUMBER: u64 = (1 << 14) - 1;
/// Bits of an identity that depend on the thread alone.
const MAKER: u64 = (u64::MAX >> 9) & !0xffff;

/// `obj` for the `number`th channel that the thread with this key made.
#[must_use]
pub const fn channel(key: u64, kind: ChannelKind, number: u32) -> u64 {
    (key << 16 & MAKER) | (kind as u64) << 14 | (number as u64 & NUMBER)
}

/// `obj` for the named pipe with this number.
#[must_use]
pub const fn named_pipe(number: u64) -> u64 {
    NAMED_PIPES | number
}

/// Whether this is a named pipe.
#[must_use]
pub const fn is_named_pipe(obj: u64) -> bool {
    obj >> 32 == NAMED_PIPES >> 32
}

/// Where the identities of named pipes lie.
const NAMED_PIPES: u64 = 1 << 54;

/// Kind and number of a channel, if the thread with this key made it.
#[must_use]
pub fn channel_of(obj: u64, key: u64) -> Option<(ChannelKind, u64)> {
    let is_its = obj & MAKER == key << 16 & MAKER;
    is_its.then(|| (ChannelKind::ALL[(obj >> 14 & 3) as usize], obj & NUMBER))
}

/// Whether this is a thing of a regular file, or other state of the process.
#[must_use]
pub const fn is_file(obj: u64) -> bool {
    obj & !(FILES - 1) == FILES
}

/// Number of identities of lists. Directories that share one seem to depend on each other.
pub const LISTS: u16 = 1 << LIST_BITS;
const LIST_BITS: u32 = 9;
const HOW_BITS: u32 = 2;

/// How an operation touches a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListAccess {
    /// It reads it.
    Observe,
    /// It changes one name, which commutes with changes of others.
    Share,
    /// It makes or removes the directory itself.
    Change,
}

/// A list of a directory that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// Which, below [`LISTS`].
    pub identity: u16,
    /// How.
    pub access: ListAccess,
}

impl List {
    const fn pack(list: Option<List>) -> u64 {
        match list {
            None => 0,
            Some(List { identity, access }) => {
                let how = match access {
                    ListAccess::Observe => 1,
                    ListAccess::Share => 2,
                    ListAccess::Change => 3,
                };
                ((identity % LISTS) as u64) << HOW_BITS | how
            }
        }
    }

    const fn unpack(bits: u64) -> Option<List> {
        let access = match bits & 3 {
            1 => ListAccess::Observe,
            2 => ListAccess::Share,
            3 => ListAccess::Change,
            _ => return None,
        };
        Some(List { identity: (bits >> HOW_BITS) as u16 % LISTS, access })
    }

    /// Its identity among those of files.
    #[must_use]
    pub const fn thing(self) -> u64 {
        // The other things are odd.
        FILES | (self.identity as u64) << 1
    }
}

/// `obj` for a thing of a file, and lists of directories.
#[must_use]
pub const fn file_in(thing: u32, lists: [Option<List>; 2]) -> u64 {
    let [first, second] = lists;
    file(thing) | List::pack(first) << 32 | List::pack(second) << (32 + LIST_BITS + HOW_BITS)
}

/// The thing that `obj` stands for, without the lists.
#[must_use]
pub const fn thing(obj: u64) -> u64 {
    if obj & FILES == 0 { obj } else { obj & (FILES | u32::MAX as u64) }
}

/// The lists that `obj` stands for.
#[must_use]
pub const fn lists(obj: u64) -> [Option<List>; 2] {
    if obj & FILES == 0 {
        return [None, None];
    }
    [List::unpack(obj >> 32), List::unpack(obj >> (32 + LIST_BITS + HOW_BITS))]
}

/// The bits of `obj` that say which lists it stands for.
#[must_use]
pub const fn list_bits(obj: u64) -> u32 {
    if obj & FILES == 0 { 0 } else { (obj >> 32) as u32 & ALL_LISTS }
}

/// `obj` for a thing and these lists.
#[must_use]
pub const fn with_list_bits(thing: u64, bits: u32) -> u64 {
    thing | (bits as u64) << 32
}

const ALL_LISTS: u32 = (1 << (2 * (LIST_BITS + HOW_BITS))) - 1;

/// `obj` for a thing of a regular file.
#[must_use]
pub const fn file(thing: u32) -> u64 {
    FILES | thing as u64
}

/// What stands for the number of a descriptor, whatever it refers to. It is even, and beyond the
/// lists.
#[must_use]
pub const fn number(descriptor: u16) -> u64 {
    file(READINESS | (descriptor as u32 + 1) << 1)
}

/// `arg` for a wait for these events of a descriptor.
#[must_use]
pub const fn waits_for(descriptor: i32, events: i16) -> u64 {
    (descriptor as u64 & DESCRIPTOR) << 16 | (events as u64 & EVENTS)
}

/// `arg` for a second thing of a regular file.
#[must_use]
pub const fn and(thing: u32) -> u64 {
    (thing as u64) << 32
}

/// The descriptor and the events waited for.
#[must_use]
pub const fn waited_for(arg: u64) -> (i32, i16) {
    ((arg >> 16 & DESCRIPTOR) as i32, (arg & EVENTS) as i16)
}

/// The second thing that is accessed.
#[must_use]
pub const fn second(arg: u64) -> Option<u64> {
    if arg >> 32 == 0 { None } else { Some(FILES | arg >> 32) }
}

/// `arg` without the descriptor, whose number depends on what other threads have open.
#[must_use]
pub const fn without_descriptor(arg: u64) -> u64 {
    arg & !(DESCRIPTOR << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_kept_beside_the_thing() {
        let all = [ListAccess::Observe, ListAccess::Share, ListAccess::Change];
        for (access, other) in all.into_iter().flat_map(|access| all.map(|other| (access, other))) {
            let lists = [Some(List { identity: LISTS - 1, access }), Some(List { identity: 5, access: other })];
            let obj = file_in(u32::MAX, lists);
            assert_eq!((thing(obj), super::lists(obj)), (file(u32::MAX), lists));
            assert!(obj >> 56 == 0);
        }
        assert_eq!(lists(file(7)), [None, None]);
        assert_eq!(lists(u64::MAX >> 9), [None, None]);
        assert_eq!(thing(u64::MAX >> 9), u64::MAX >> 9);
    }

    #[test]
    fn endpoints_are_told_apart() {
        for endpoint in [
            Endpoint::Socket(0x1234_5678 & (SOCKETS - 1)),
            Endpoint::Port { datagrams: false, number: u16::MAX },
            Endpoint::Port { datagrams: true, number: 53 },
            Endpoint::Name(0x0123_4566),
            Endpoint::Queue(300),
        ] {
            assert_eq!(Endpoint::of(file(endpoint.thing())), Some(endpoint));
        }
        for other in [file(7), file(READINESS), file(1022), SIGNALS, NETWORK, file(u32::MAX)] {
            assert_eq!(Endpoint::of(other), None);
        }
    }

    #[test]
    fn operands_keep_what_they_are_made_of() {
        let arg = waits_for(700, 5) | and(u32::MAX) | OBSERVES | SECOND_OBSERVES | MAKES_READY;
        assert_eq!(waited_for(arg), (700, 5));
        assert_eq!(second(arg), Some(file(u32::MAX)));
        assert_eq!(second(waits_for(3, 1)), None);
        assert_eq!(
            without_descriptor(arg),
            without_descriptor(waits_for(3, 5) | and(u32::MAX) | OBSERVES | SECOND_OBSERVES | MAKES_READY)
        );
    }
}
