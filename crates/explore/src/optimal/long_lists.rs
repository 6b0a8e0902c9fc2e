//! The events in the long lists of a [`TraceIndex`](super::trace_index::TraceIndex), by thread.
//!
//! What may be concurrent with an event is, of each other thread, a range of its events. In a list
//! of thousands of events this range is found here by binary search.

use super::trace_index::Entry;

/// Length from which on a list is long.
pub(super) const LONG: usize = 384;

/// The entries of one thread in one list.
#[derive(Clone, Debug, Default)]
pub(super) struct OfThread {
    /// Indices in the list.
    pub all: Vec<u32>,
    /// Those that do not commute with reads in every state.
    pub writes: Vec<u32>,
}

/// The long lists of an execution.
#[derive(Debug, Default)]
pub(super) struct LongLists {
    /// By number of the list; empty for short ones.
    lists: Vec<Vec<OfThread>>,
}

impl LongLists {
    /// Nothing is known of any list.
    pub fn clear(&mut self) {
        self.lists.clear();
    }

    /// Adds a list. `thread_of`: the thread of the event at a position.
    pub fn add(&mut self, number: usize, threads: usize, entries: &[Entry], thread_of: impl Fn(u32) -> u16) {
        let mut of = vec![OfThread::default(); threads];
        for (index, entry) in entries.iter().enumerate() {
            let own = &mut of[usize::from(thread_of(entry.position))];
            own.all.push(index as u32);
            if entry.conflicts_with_reads() {
                own.writes.push(index as u32);
            }
        }
        self.lists.resize(self.lists.len().max(number + 1), Vec::new());
        self.lists[number] = of;
    }

    /// The entries of a list by thread, if the list is long.
    pub fn get(&self, number: u32) -> Option<&[OfThread]> {
        self.lists.get(number as usize).map(Vec::as_slice).filter(|of| !of.is_empty())
    }
}
