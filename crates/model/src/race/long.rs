//! Accesses to so many bytes that a record in each cell would take too much time and memory.
//!
//! Such an access is kept once, with its range. Cells that were met before get a record of it at
//! once, others when they are met. So its cost depends on the cells that other accesses have met,
//! not on its length: a call may name a range that reaches beyond all mapped memory.

use super::shadow::Record;

/// Bytes from which on an access is long. Unit tests compare long accesses with short ones.
pub(super) const LONG: u64 = if cfg!(test) { 128 } else { 1 << 20 };

/// A long access, or what is left of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongAccess {
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    pub record: Record,
}

/// The long accesses of one execution so far, in order.
#[derive(Debug, Default)]
pub(super) struct LongAccesses {
    all: Vec<LongAccess>,
    /// Where the first begins, and where the last ends.
    span: (u64, u64),
}

impl LongAccesses {
    pub fn clear(&mut self) {
        self.all.clear();
        self.span = (u64::MAX, 0);
    }

    /// Whether the address lies among them.
    #[inline]
    pub fn reach(&self, addr: u64) -> bool {
        self.span.0 <= addr && addr < self.span.1
    }

    /// Whether bytes between the two addresses (the second excluded) may lie in one of them.
    #[inline]
    pub fn overlap(&self, start: u64, end: u64) -> bool {
        start < self.span.1 && self.span.0 < end
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds one. A later access of the same sort to the same bytes stands for both.
    pub fn add(&mut self, start: u64, end: u64, record: Record) {
        self.span = (self.span.0.min(start), self.span.1.max(end));
        let is_same =
            |other: &&mut LongAccess| (other.start, other.end) == (start, end) && other.record.is_like(&record);
        match self.all.iter_mut().find(is_same) {
            Some(same) => same.record = record,
            None => self.all.push(LongAccess { start, end, record }),
        }
    }

    /// Those that touch a byte between the two addresses (the second excluded).
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = &LongAccess> {
        self.all.iter().filter(move |long| long.start < end && start < long.end)
    }

    /// Forgets the accesses to the bytes between the two addresses.
    pub fn erase(&mut self, start: u64, end: u64) {
        for number in 0..self.all.len() {
            let long = self.all[number];
            if long.start >= end || start >= long.end {
                continue;
            }
            self.all[number].end = start.max(long.start);
            if end < long.end {
                self.all.push(LongAccess { start: end, ..long });
            }
        }
        self.all.retain(|long| long.start < long.end);
    }
}
