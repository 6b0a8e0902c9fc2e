//! The vocabulary that runtime and host share: kinds of operations, their outcomes, memory orders,
//! failure and misuse codes, and the policy by which a run continues behind its schedule.
//!
//! The runtime inside the target and the in-memory target of the tests use the same [`policy`], so
//! they cannot differ in what happens behind the schedule.
#![no_std]
#![forbid(unsafe_code)]

mod codes;
pub mod extent;
pub mod handler;
mod heap;
pub mod io;
mod machine;
mod mapping;
mod op;
mod open;
pub mod party;
pub mod policy;
pub mod readiness;
mod thread_set;
pub mod update;
mod words;

pub use codes::{Failure, MemOrder, Misuse, MutexKind, RunStatus};
pub use heap::{FREED_AGAIN, FREED_BEFORE, HeapCalls, HeapWay};
pub use machine::Machine;
pub use mapping::MappingChange;
pub use op::{OpKind, Outcome};
pub use open::OpenType;
pub use thread_set::ThreadSet;
pub use words::Words;

/// Addresses at which the runtime allocates the program's heap blocks, and nothing else.
pub const HEAP: core::ops::Range<u64> = 0x6000_0000_0000..0x6200_0000_0000;

/// The same in targets for processors whose kernels may have addresses of 39 bits only (aarch64).
/// No program on another processor has memory there.
pub const SMALL_HEAP: core::ops::Range<u64> = 0x08_0000_0000..0x28_0000_0000;

/// Addresses that stand for file descriptors: a use of one reads there, its end writes there.
pub const DESCRIPTORS: core::ops::Range<u64> = 0x6300_0000_0000..0x6301_0000_0000;

/// The lock that a thread inside an atomic section holds (`__VERIFIER_atomic_begin`). No program
/// has memory at this address.
pub const SECTION: u64 = 0x1000;

/// In place of a choice of a schedule: the thread makes no transition, and none behind the schedule
/// either.
pub const HOLD: u16 = u16::MAX - 1;

/// What is a transition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// Synchronising operations.
    #[default]
    Sync,
    /// Shared accesses as well.
    Access,
}

/// Declares a fieldless `repr(u8)` enum together with a checked conversion from the byte on the
/// wire.
macro_rules! byte_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$meta])*
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant = $value,)* }

        impl $name {
            /// Every value, in the order of the bytes.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The value for a byte that came over the wire, if there is one.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte { $($value => Some($name::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use byte_enum;
