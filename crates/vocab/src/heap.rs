//! The ways in which a program allocates and frees: what one has given, only its counterpart may
//! free.

use crate::byte_enum;

byte_enum! {
    /// A pair of functions that allocate and free.
    HeapWay {
        /// `malloc` and its kind, and `free`.
        Malloc = 0,
        /// `new` and `delete`.
        Single = 1,
        /// `new[]` and `delete[]`.
        Array = 2,
        /// `new` and `delete` with an alignment.
        AlignedSingle = 3,
        /// `new[]` and `delete[]` with an alignment.
        AlignedArray = 4,
    }
}

impl HeapWay {
    /// The function that allocates.
    #[must_use]
    pub const fn allocates(self) -> &'static str {
        match self {
            HeapWay::Malloc => "malloc",
            HeapWay::Single => "new",
            HeapWay::Array => "new[]",
            HeapWay::AlignedSingle => "new with an alignment",
            HeapWay::AlignedArray => "new[] with an alignment",
        }
    }

    /// The function that frees.
    #[must_use]
    pub const fn frees(self) -> &'static str {
        match self {
            HeapWay::Malloc => "free",
            HeapWay::Single => "delete",
            HeapWay::Array => "delete[]",
            HeapWay::AlignedSingle => "delete with an alignment",
            HeapWay::AlignedArray => "delete[] with an alignment",
        }
    }
}

/// Second operand of a `BadFree`: the block was freed before, and an access follows that ends it
/// again.
pub const FREED_AGAIN: u64 = 1;

/// As [`FREED_AGAIN`], but no access follows: where accesses are transitions, this one is none, so
/// that no schedule could stop before it.
pub const FREED_BEFORE: u64 = 2;

/// How a block was allocated, how it is freed, and the size that it is freed with; 0 if none is
/// given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapCalls {
    /// How it was allocated.
    pub allocated: HeapWay,
    /// How it is freed.
    pub freed: HeapWay,
    /// The size that is given when it is freed.
    pub size: u64,
}

const WAY_BITS: u32 = 8;

impl HeapCalls {
    /// As one word.
    #[must_use]
    pub const fn pack(self) -> u64 {
        self.allocated as u64 | (self.freed as u64) << WAY_BITS | self.size << (2 * WAY_BITS)
    }

    /// Reverses [`Self::pack`]; `None` if the word is none.
    #[must_use]
    pub const fn unpack(word: u64) -> Option<Self> {
        match (HeapWay::from_byte(word as u8), HeapWay::from_byte((word >> WAY_BITS) as u8)) {
            (Some(allocated), Some(freed)) => Some(HeapCalls { allocated, freed, size: word >> (2 * WAY_BITS) }),
            _ => None,
        }
    }
}
