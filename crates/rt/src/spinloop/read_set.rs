//! What data a thread has read since it last made progress, as far as there is room; and whose stacks are not only their own.

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::mix;

use crate::spinloop::loops;
use crate::state::{keep, run};

/// Places of the table; a power of two.
const PLACES: usize = 512;
/// Entries after which nothing is new any more: a round that reads so much is taken for one that was made before.
const AT_MOST: usize = PLACES / 2;

/// A set of pieces of memory.
pub struct Touched {
    table: [u64; PLACES],
    len: usize,
}

impl Touched {
    /// The empty set.
    pub const NOTHING: Touched = Touched { table: [0; PLACES], len: 0 };

    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.len == AT_MOST
    }

    /// Adds a piece of memory; false if it was there, or there is no room.
    pub fn is_new(&mut self, address: u64, size: u64) -> bool {
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
        true
    }

    /// Makes the set empty.
    pub fn forget(&mut self) {
        if self.len > 0 {
            *self = Touched::NOTHING;
        }
    }
}

/// Whether another thread was seen to access the stack of this one.
pub fn is_open(slot: u16) -> bool {
    loops().open_stacks[usize::from(slot) / 64].load(Relaxed) & (1 << (slot % 64)) != 0
}

/// Called with what the running thread accesses outside of its own stack. True if that is the stack of another thread, which was not
/// known to be accessed by others.
pub fn opens(address: u64) -> bool {
    let keep = keep();
    let address = address as usize;
    if address < keep.lowest_stack {
        return false;
    }
    let pool = &keep.pool[..keep.pool_len];
    let Some(slot) = pool.iter().position(|entry| (entry.stack.0..entry.stack.1).contains(&address)) else {
        return false;
    };
    let bit = 1 << (slot % 64);
    slot != usize::from(run().me().slot) && loops().open_stacks[slot / 64].fetch_or(bit, Relaxed) & bit == 0
}
