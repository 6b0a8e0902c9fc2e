//! Plain writes to the bytes of synchronising objects.
//!
//! The bytes of an object are marked when it is used for the first time, and stay marked: what is
//! an object in one execution hardly is anything else in another. A plain write to them, or one
//! that was there before, can race with a use only if another thread lives. What was written before
//! one that was alone created another thread happens before everything behind that.

use raddle_vocab::ThreadSet;

use super::RaceDetector;
use super::shadow::{Record, Touching};
use crate::depend::cells;

/// Objects that are known to be marked without a look at their cells.
const RECENT: usize = 256;

/// What is known of plain writes to objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// Uses are compared byte by byte: this is the second pass.
    pub all_bytes: bool,
    /// A plain write of this execution may race with a use.
    pub are_overwritten: bool,
    /// Threads that were created and not joined.
    living: ThreadSet,
    /// What happened before a thread was created when there was one thread.
    settled: Vec<u32>,
    /// Addresses and sizes of objects whose bytes are marked, by bits of the address.
    recent: Recent,
}

#[derive(Debug)]
struct Recent([u64; RECENT]);

impl Default for Recent {
    fn default() -> Self {
        Recent([0; RECENT])
    }
}

impl Objects {
    pub fn reset(&mut self, threads: usize) {
        self.are_overwritten = false;
        self.living = ThreadSet::default();
        self.settled.clear();
        self.settled.resize(threads, 0);
    }

    /// A thread is created by one that has seen so much of the others.
    pub fn fork(&mut self, child: u16, seen: &[u32]) {
        if self.living.is_empty() {
            self.settled.copy_from_slice(seen);
        }
        self.living.insert(usize::from(child));
    }

    /// The end of a thread was seen.
    pub fn join(&mut self, ended: u16) {
        self.living.remove(usize::from(ended));
    }

    /// Whether there are threads that were created and not joined.
    pub fn has_others(&self) -> bool {
        !self.living.is_empty()
    }

    /// A plain write to an object.
    #[cold]
    pub fn overwrite(&mut self) {
        self.are_overwritten |= !self.living.is_empty();
    }

    fn may_race(&self, write: &Record) -> bool {
        write.what == Touching::Write
            && !self.living.is_empty()
            && write.epoch > self.settled[usize::from(write.thread)]
    }
}

impl RaceDetector {
    /// Notes that there is an object.
    #[inline]
    pub(super) fn mark_object(&mut self, addr: u64, size: u64) {
        if self.objects.recent.0[slot(addr)] != with_size(addr, size) {
            self.mark_bytes(addr, size);
        }
    }

    #[inline(never)]
    fn mark_bytes(&mut self, addr: u64, size: u64) {
        self.objects.recent.0[slot(addr)] = with_size(addr, size);
        let first = self.meet(addr >> 3);
        let marked = &mut self.shadow.marks(first).object_size;
        if addr.is_multiple_of(8) {
            if u64::from(*marked) >= size {
                return;
            }
            *marked = size.min(u64::from(u8::MAX)) as u8;
        }
        for (cell, bytes) in cells(addr, size) {
            let at = self.meet(cell);
            self.shadow.marks(at).objects |= bytes;
            let mut writes = self.shadow.records(at).filter(|record| record.bytes & bytes != 0);
            self.objects.are_overwritten |= writes.any(|write| self.objects.may_race(write));
        }
    }
}

/// As one word. Addresses leave the upper bits free.
#[inline]
fn with_size(addr: u64, size: u64) -> u64 {
    addr | size << 56
}

/// Where an object is remembered.
#[inline]
fn slot(addr: u64) -> usize {
    (addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % RECENT
}
