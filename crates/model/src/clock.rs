//! Vector clocks.
//!
//! A vector clock holds one number per thread: how much of that thread's time lies before a point.
//! One clock is before another iff no number of it is larger. The least clock after two others is
//! their join. What the time of a thread counts (its events, its publications) is the user's
//! choice.
//!
//! A borrowed clock is a slice. [`VectorClock`] owns one, [`ClockTable`] owns many of one length.

use std::ops::{Deref, DerefMut};

/// Joins a clock into another one of the same length.
#[inline]
pub fn join(into: &mut [u32], from: &[u32]) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = (*mine).max(*theirs);
    }
}

/// Joins a clock into another one of the same length; whether that changed it.
#[inline]
pub fn join_changes(into: &mut [u32], from: &[u32]) -> bool {
    let mut changed = false;
    for (mine, theirs) in into.iter_mut().zip(from) {
        changed |= *mine < *theirs;
        *mine = (*mine).max(*theirs);
    }
    changed
}

/// A vector clock of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// The least clock of so many threads.
    #[must_use]
    pub fn zero(threads: usize) -> Self {
        VectorClock(vec![0; threads])
    }
}

impl FromIterator<u32> for VectorClock {
    fn from_iter<I: IntoIterator<Item = u32>>(times: I) -> Self {
        VectorClock(times.into_iter().collect())
    }
}

impl From<&[u32]> for VectorClock {
    fn from(times: &[u32]) -> Self {
        VectorClock(times.to_vec())
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl DerefMut for VectorClock {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

/// Vector clocks of one length, a row each, in one buffer.
#[derive(Clone, Debug, Default)]
pub struct ClockTable {
    threads: usize,
    times: Vec<u32>,
}

impl ClockTable {
    /// Removes all rows; those to come are clocks of so many threads.
    pub fn reset(&mut self, threads: usize) {
        self.threads = threads;
        self.times.clear();
    }

    /// Removes rows until so many are left.
    pub fn truncate(&mut self, rows: usize) {
        self.times.truncate(rows * self.threads);
    }

    /// Adds rows with the least clock.
    #[inline]
    pub fn push_zeros(&mut self, rows: usize) {
        self.times.resize(self.times.len() + rows * self.threads, 0);
    }

    /// Adds a copy of a row.
    #[inline]
    pub fn push_copy(&mut self, row: usize) {
        self.times.extend_from_within(row * self.threads..(row + 1) * self.threads);
    }

    /// Adds a row with this clock.
    pub fn push(&mut self, clock: &[u32]) {
        debug_assert_eq!(clock.len(), self.threads);
        self.times.extend_from_slice(clock);
    }

    /// The time of one thread in a row.
    #[must_use]
    #[inline]
    pub fn time(&self, row: usize, thread: usize) -> u32 {
        self.times[row * self.threads + thread]
    }

    /// The clock of a row.
    #[must_use]
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.times[row * self.threads..(row + 1) * self.threads]
    }

    /// The same, to be changed.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [u32] {
        &mut self.times[row * self.threads..(row + 1) * self.threads]
    }

    /// Joins a row into another one.
    #[inline]
    pub fn join(&mut self, into: usize, from: usize) {
        let threads = self.threads;
        if from < into {
            let (before, rest) = self.times.split_at_mut(into * threads);
            join(&mut rest[..threads], &before[from * threads..(from + 1) * threads]);
        } else if into < from {
            let (before, rest) = self.times.split_at_mut(from * threads);
            join(&mut before[into * threads..], &rest[..threads]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_the_least_clock_after_both() {
        let mut clock = VectorClock::from_iter([3, 0, 5]);
        join(&mut clock, &[1, 2, 5]);
        assert_eq!(*clock, [3, 2, 5]);
        join(&mut clock, &VectorClock::zero(3));
        assert_eq!(*clock, [3, 2, 5]);
    }

    #[test]
    fn a_join_with_what_is_before_changes_nothing() {
        let mut clock = VectorClock::from_iter([3, 2]);
        assert!(!join_changes(&mut clock, &[3, 1]));
        assert!(join_changes(&mut clock, &[0, 4]));
        assert_eq!(*clock, [3, 4]);
    }

    #[test]
    fn rows_of_a_table_are_clocks_of_their_own() {
        let mut table = ClockTable::default();
        table.reset(2);
        table.push(&[1, 7]);
        table.push_zeros(1);
        table.row_mut(1)[0] = 4;
        table.push_copy(1);
        table.join(2, 0);
        assert_eq!((table.row(0), table.row(1), table.row(2)), (&[1, 7][..], &[4, 0][..], &[4, 7][..]));
        table.join(0, 2);
        table.join(1, 1);
        assert_eq!((table.row(0), table.row(1), table.time(0, 1)), (&[4, 7][..], &[4, 0][..], 7));
        table.truncate(1);
        table.push_zeros(2);
        assert_eq!((table.row(0), table.row(2)), (&[4, 7][..], &[0, 0][..]));
        table.reset(1);
        table.push_zeros(1);
        assert_eq!(table.row(0), [0]);
    }
}
