//! What the connections of a program carry, as the runtime writes it to a file for the host
//! (`raddle run --record-peers`). The file is a sequence of entries, each followed by its bytes, in
//! the order in which things happened. Its path stands in the place of the bytes of scripts,
//! zero-terminated.

/// The head of an entry.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TapEntry {
    /// One of [`kind`].
    pub kind: u32,
    /// Bytes that follow.
    pub len: u32,
    /// Identity of the socket: its inode.
    pub socket: u64,
    /// The process that has made the call.
    pub process: u32,
    /// The process at the other end, where the system tells; otherwise 0.
    pub other_process: u32,
}

/// Bytes of [`TapEntry`].
pub const ENTRY_BYTES: usize = size_of::<TapEntry>();

/// What happened, in [`TapEntry::kind`].
pub mod kind {
    /// A connection was accepted. The bytes: its own address, and that of the other end, each
    /// behind its length (one byte).
    pub const ACCEPTED: u32 = 1;
    /// A connection was made. The bytes: as for [`ACCEPTED`].
    pub const CONNECTED: u32 = 2;
    /// A connection was asked for, and is not there yet. The bytes: as for [`ACCEPTED`].
    pub const ASKED: u32 = 3;
    /// The bytes were received.
    pub const RECEIVED: u32 = 4;
    /// The bytes were sent.
    pub const SENT: u32 = 5;
    /// The program was told that the other end sends no more.
    pub const ENDED: u32 = 6;
    /// The program was told that the other end has reset the connection.
    pub const RESET: u32 = 7;
    /// The program sends no more.
    pub const SHUT: u32 = 8;
    /// The program has closed a descriptor of a socket that is connected.
    pub const CLOSED: u32 = 9;
    /// The program has looked up a host. The bytes: its address behind its length, and its name.
    pub const NAMED: u32 = 10;
    /// A call has transferred bytes that were not seen. The bytes: the name of the function.
    pub const UNSEEN: u32 = 11;
    /// A datagram socket was used.
    pub const DATAGRAM: u32 = 12;
    /// The program listens at a port of the system's choice. The bytes: its address behind its
    /// length.
    pub const ANY_PORT: u32 = 13;
}
