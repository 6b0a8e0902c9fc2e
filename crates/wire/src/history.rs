//! Stores of atomic locations, for memory models in which an operation may read others than the
//! last one. Only the runtime reads and writes them. They are in the shared file because no run
//! restores that.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Locations that a run can have.
pub const MAX_LOCATIONS: usize = 1 << 15;
/// Stores that all locations of a run can have.
pub const MAX_STORES: usize = 1 << 19;

/// A location.
#[repr(C)]
pub struct KeptLocation {
    /// First byte, with log2 of the size in the upper 8 bits.
    pub key: AtomicU64,
    /// The run that it belongs to; of another run it is free.
    pub run: AtomicU32,
    /// Its last store.
    pub last: AtomicU32,
}

/// A store.
#[repr(C)]
pub struct KeptStore {
    /// What it stored.
    pub value: AtomicU64,
    /// The one before it in modification order, by its number from 1; 0: none.
    pub before: AtomicU32,
    /// Must be 0.
    pub reserved: u32,
}

/// All stores of a run.
#[repr(C)]
pub struct Histories {
    /// Number of the run.
    pub run: AtomicU32,
    /// Locations of this run.
    pub locations_used: AtomicU32,
    /// Stores of this run.
    pub stores_used: AtomicU32,
    /// Must be 0.
    pub reserved: u32,
    /// A hash table.
    pub locations: [KeptLocation; MAX_LOCATIONS],
    /// In the order in which they were made.
    pub stores: [KeptStore; MAX_STORES],
}
