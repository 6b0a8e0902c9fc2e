//! The data that a thread has read since it last made progress, as far as there is room; and which
//! threads' stacks are accessed by other threads.

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::mix;

use crate::spinloop::knowledge::knowledge;
use crate::state::{process, run};

/// Places of the table; a power of two.
const PLACES: usize = 512;
/// Entries after which nothing counts as new any more: a round that reads so much is taken for one
/// that was made before.
const CAPACITY: usize = PLACES / 2;

/// A set of pieces of memory.
pub struct ReadSet {
    table: [u64; PLACES],
    len: usize,
    /// Sum of the entries.
    sum: u64,
}

impl ReadSet {
    /// The empty set.
    pub const EMPTY: ReadSet = ReadSet { table: [0; PLACES], len: 0, sum: 0 };

    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.len == CAPACITY
    }

    /// Adds a piece of memory; false if it was there, or there is no room.
    pub fn insert(&mut self, address: u64, size: u64) -> bool {
        let entry = mix(address ^ size << 48) | 1;
        let mut index = (entry >> 32) as usize % PLACES;
        while self.table[index] != 0 {
            if self.table[index] == entry {
                return false;
            }
            index = (index + 1) % PLACES;
        }
        if self.is_full() {
            return false;
        }
        self.table[index] = entry;
        self.len += 1;
        self.sum = self.sum.wrapping_add(entry);
        true
    }

    /// A number for what is in the set.
    pub fn digest(&self) -> u64 {
        self.sum
    }

    /// Makes the set empty.
    pub fn clear(&mut self) {
        if self.len > 0 {
            *self = ReadSet::EMPTY;
        }
    }
}

/// Whether another thread was seen to access the stack of this pool slot.
pub fn is_stack_shared(slot: u16) -> bool {
    knowledge().shared_stacks[usize::from(slot) / 64].load(Relaxed) & (1 << (slot % 64)) != 0
}

/// Called with what the running thread accesses outside of its own stack. True if that is the stack
/// of another thread, which was not known to be shared.
pub fn shares_stack(address: u64) -> bool {
    let process = process();
    let address = address as usize;
    if address < process.lowest_stack {
        return false;
    }
    let pool = &process.pool[..process.pool_len];
    let Some(slot) = pool.iter().position(|entry| (entry.stack.0..entry.stack.1).contains(&address)) else {
        return false;
    };
    let bit = 1 << (slot % 64);
    slot != usize::from(run().me().slot) && knowledge().shared_stacks[slot / 64].fetch_or(bit, Relaxed) & bit == 0
}
