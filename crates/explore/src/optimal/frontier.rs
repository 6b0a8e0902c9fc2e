//! Work items of the optimal search that are still to be explored, and those under way.

use std::collections::VecDeque;

use raddle_model::Request;

use super::WorkItem;
use crate::strategy::scheduled;

/// Work items that are taken from the stack at a time and explored in the order of their
/// schedules: neighbours then share long prefixes, and what is known of a prefix is kept.
const SORT_BATCH: usize = 64;

/// A work item with the part of the whole search that it is guessed to be.
type Part = (WorkItem, f64);

/// A stack, so that its size is that of a few paths of the search.
#[derive(Debug)]
pub(super) struct Frontier {
    stack: Vec<Part>,
    batch: VecDeque<Part>,
    /// Oldest first.
    under_way: VecDeque<Part>,
    /// The part that is explored.
    pub done: f64,
}

impl Frontier {
    /// The whole search.
    pub fn new() -> Self {
        let stack = vec![(WorkItem::default(), 1.0)];
        Frontier { stack, batch: VecDeque::new(), under_way: VecDeque::new(), done: 0.0 }
    }

    /// What to run next, if anything is known.
    pub fn next(&mut self) -> Option<Request> {
        if self.batch.is_empty() {
            let rest = self.stack.len().saturating_sub(SORT_BATCH);
            self.batch.extend(self.stack.drain(rest..));
            tracing::trace!(items = self.batch.len(), left = self.stack.len(), "batch of work items");
            self.batch.make_contiguous().sort_by(|(a, _), (b, _)| a.schedule.order(&b.schedule));
        }
        let (item, part) = self.batch.pop_front()?;
        let request = scheduled(item.schedule.clone().into_vec());
        self.under_way.push_back((item, part));
        Some(request)
    }

    /// The work item that has been under way for longest.
    pub fn oldest(&self) -> Option<&WorkItem> {
        self.under_way.front().map(|(item, _)| item)
    }

    /// That work item was explored, and these are its children.
    pub fn explored(&mut self, children: impl ExactSizeIterator<Item = WorkItem>) {
        let part = self.under_way.pop_front().map_or(0.0, |(_, part)| part);
        match children.len() {
            0 => self.done += part,
            count => self.stack.extend(children.map(|child| (child, part / count as f64))),
        }
    }

    /// Nothing is explored any more.
    pub fn close(&mut self) {
        self.stack.clear();
        self.batch.clear();
    }
}
