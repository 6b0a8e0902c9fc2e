//! Work items of the optimal search that are still to be explored, and those under way.

use std::collections::VecDeque;

use raddle_model::Request;

use super::WorkItem;
use super::schedule::{ScheduleLoader, ScheduleRow, ScheduleSaver};
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::scheduled;

/// Work items that are taken from the stack at a time and explored in the order of their
/// schedules: neighbours then share long prefixes, and what is known of a prefix is kept.
const SORT_BATCH: usize = 64;

/// A stack, so that its size is that of a few paths of the search.
#[derive(Debug)]
pub(super) struct Frontier {
    stack: Vec<WorkItem>,
    batch: VecDeque<WorkItem>,
    /// Oldest first.
    under_way: VecDeque<WorkItem>,
}

impl Frontier {
    /// The whole search.
    pub fn new() -> Self {
        Frontier::of_items(vec![WorkItem::default()])
    }

    /// These work items, the oldest first.
    pub fn of_items(items: Vec<WorkItem>) -> Self {
        Frontier { stack: items, batch: VecDeque::new(), under_way: VecDeque::new() }
    }

    /// All that is left, the oldest first.
    pub fn into_items(self) -> Vec<WorkItem> {
        self.stack.into_iter().chain(self.batch).chain(self.under_way).collect()
    }

    /// What to run next, if anything is known.
    pub fn next(&mut self) -> Option<Request> {
        if self.batch.is_empty() {
            let rest = self.stack.len().saturating_sub(SORT_BATCH);
            self.batch.extend(self.stack.drain(rest..));
            tracing::trace!(items = self.batch.len(), left = self.stack.len(), "batch of work items");
            self.batch.make_contiguous().sort_by(|a, b| a.schedule.order(&b.schedule));
        }
        let item = self.batch.pop_front()?;
        let request = scheduled(item.schedule.clone().into_vec());
        self.under_way.push_back(item);
        Some(request)
    }

    /// The work item that has been under way for longest.
    pub fn oldest(&self) -> Option<&WorkItem> {
        self.under_way.front()
    }

    /// That work item was explored, and these are its children.
    pub fn explored(&mut self, children: impl Iterator<Item = WorkItem>) {
        self.under_way.pop_front();
        self.stack.extend(children);
    }

    /// Whether a work item is known that is not under way.
    pub fn has_next(&self) -> bool {
        !self.batch.is_empty() || !self.stack.is_empty()
    }

    /// Work items that are known and not explored.
    pub fn len(&self) -> usize {
        self.stack.len() + self.batch.len() + self.under_way.len()
    }

    /// Its work items as they are saved: those on the stack, in the batch and under way.
    pub fn rows(&self, schedules: &mut ScheduleSaver) -> [Vec<ScheduleRow>; 3] {
        let mut rows = |items: &mut dyn Iterator<Item = &WorkItem>| -> Vec<ScheduleRow> {
            items.map(|item| schedules.row(&item.schedule)).collect()
        };
        [rows(&mut self.stack.iter()), rows(&mut self.batch.iter()), rows(&mut self.under_way.iter())]
    }

    /// The frontier with these work items.
    pub fn load(from: &mut Loader<'_>, schedules: &ScheduleLoader) -> Result<Self, Unusable> {
        let [stack, batch, under_way]: [Vec<ScheduleRow>; 3] = from.take()?;
        let item = |row| Ok(WorkItem { schedule: schedules.schedule(row)? });
        Ok(Frontier {
            stack: stack.into_iter().map(item).collect::<Result<_, _>>()?,
            batch: batch.into_iter().map(item).collect::<Result<_, _>>()?,
            under_way: under_way.into_iter().map(item).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the rows.
    pub fn save(rows: &[Vec<ScheduleRow>; 3], into: &mut Saver) {
        into.put(rows);
    }

    /// Nothing is explored any more.
    pub fn close(&mut self) {
        self.stack.clear();
        self.batch.clear();
    }
}
