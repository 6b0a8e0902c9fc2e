//! Scripts of the parties, as the host hands them to the runtime: fixed before the target starts.

use raddle_vocab::party::MAX_PARTIES;

use crate::{PAGE, SPIN_OFFSET, SpinKnowledge};

/// Where the scripts start.
pub const OFFSET: usize = SPIN_OFFSET + size_of::<SpinKnowledge>().next_multiple_of(PAGE);
/// Steps of all scripts together, at most.
pub const MAX_STEPS: usize = 4096;
/// Bytes that all scripts together send and expect, at most.
pub const DATA_BYTES: usize = 1 << 20;
/// Bytes of an address of a socket, at most.
pub const ADDRESS_BYTES: usize = 112;
/// Bytes of the name of a host, at most, with the zero at its end.
pub const HOST_BYTES: usize = 256;

/// What a step does, in [`ScriptStep::action`].
pub mod action {
    /// Sends the data.
    pub const SEND: u32 = 1;
    /// Waits for exactly the data.
    pub const EXPECT: u32 = 2;
    /// Waits for `amount` bytes, whatever they are.
    pub const EXPECT_BYTES: u32 = 3;
    /// Waits for bytes up to the data and with it.
    pub const EXPECT_UNTIL: u32 = 4;
    /// Waits until the program closes the connection. No byte may come before.
    pub const EXPECT_CLOSE: u32 = 5;
    /// Sends no more.
    pub const SHUTDOWN: u32 = 6;
    /// Closes the connection.
    pub const CLOSE: u32 = 7;
    /// Closes the connection so that the program sees it reset.
    pub const RESET: u32 = 8;
    /// Lets `amount` nanoseconds of virtual time pass.
    pub const DELAY: u32 = 9;
}

/// All scripts.
#[repr(C)]
pub struct Scripts {
    /// How many of `parties` are in use.
    pub parties_used: u32,
    /// How many of `steps` are in use.
    pub steps_used: u32,
    /// The parties, in the order of their ranks.
    pub parties: [ScriptParty; MAX_PARTIES],
    /// The steps of all parties.
    pub steps: [ScriptStep; MAX_STEPS],
    /// Bytes that steps send and expect.
    pub data: [u8; DATA_BYTES],
}

/// A party.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScriptParty {
    /// The last component of its spawn path: [`raddle_vocab::party::Party::component`].
    pub component: u32,
    /// Its first step.
    pub first_step: u32,
    /// How many steps it has.
    pub steps: u32,
    /// Bytes of `address`.
    pub address_len: u32,
    /// Where a client connects to, and where a peer is.
    pub address: [u8; ADDRESS_BYTES],
    /// The name by which the program looks a peer up, zero-terminated; empty if it has only its
    /// address.
    pub host: [u8; HOST_BYTES],
}

/// A step of a script.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScriptStep {
    /// One of [`action`].
    pub action: u32,
    /// Its line, from 1.
    pub line: u32,
    /// Where its data begins.
    pub data: u32,
    /// Bytes of its data.
    pub len: u32,
    /// Bytes or nanoseconds, where the action has an amount.
    pub amount: u64,
}

const _: () = assert!(size_of::<ScriptParty>().is_multiple_of(8) && size_of::<ScriptStep>().is_multiple_of(8));
const _: () = assert!(core::mem::offset_of!(Scripts, data).is_multiple_of(8));
