//! A part of the optimal search, explored by itself: some work items with their descendants, until
//! there are no more or the caller has had enough.
//!
//! A work item reads nothing that another one wrote. So the parts of a search can be explored in
//! any order and by any process, and what is left of a part is a list of work items again: the
//! counts of all parts add up to those of the search.
//!
//! That holds as long as runs can be predicted. What a target learns of spin loops changes its
//! later runs and is known to it alone. So a part ends at the first sign of something that cannot
//! be predicted ([`crate::unpredictability`]), and so does the search that it belongs to, as in a
//! search with several targets ([`crate::restart`]).

use raddle_model::{Estimate, Execution, Request};

use super::{Optimal, WorkItem};
use crate::saved::{Loader, Saver, Unusable};
use crate::strategy::{Classification, IncompleteReason, Observation, Strategy};

/// Sees the runs of a part, and ends it.
pub trait PartWatcher {
    /// Asked before each run, with the number of runs that are known by then. After a no it is not
    /// asked again.
    fn may_go_on(&mut self, runs: u64) -> bool;

    /// The run of a work item was made.
    fn see(&mut self, item: &WorkItem, execution: &Execution);
}

/// Explores some work items and their descendants.
pub struct SearchPart<'a> {
    search: Optimal,
    watcher: &'a mut dyn PartWatcher,
    learnt: u64,
    is_over: bool,
    is_unpredictable: bool,
}

impl<'a> SearchPart<'a> {
    /// The part that begins with these work items, the oldest first.
    #[must_use]
    pub fn new(items: Vec<WorkItem>, spurious: u32, watcher: &'a mut dyn PartWatcher) -> Self {
        let search = Optimal::of_items(items, spurious);
        SearchPart { search, watcher, learnt: 0, is_over: false, is_unpredictable: false }
    }

    /// Whether a run showed something that cannot be predicted.
    #[must_use]
    pub fn is_unpredictable(&self) -> bool {
        self.is_unpredictable
    }

    /// The work items that were not explored, the oldest first: those have the largest subtrees.
    #[must_use]
    pub fn into_rest(self) -> Vec<WorkItem> {
        self.search.into_rest()
    }
}

impl std::fmt::Debug for SearchPart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchPart").field("learnt", &self.learnt).finish_non_exhaustive()
    }
}

impl Strategy for SearchPart<'_> {
    fn next(&mut self) -> Option<Request> {
        self.is_over = self.is_over || !self.watcher.may_go_on(self.learnt);
        if self.is_over { None } else { self.search.next() }
    }

    fn learn(&mut self, observation: Observation<'_>) -> Classification {
        self.learnt += 1;
        let is_unpredictable = observation.unpredictability().is_some();
        self.is_unpredictable |= is_unpredictable;
        self.is_over |= is_unpredictable;
        if let (Observation::Execution(execution), Some(item)) = (&observation, self.search.oldest()) {
            self.watcher.see(item, execution);
        }
        self.search.learn(observation)
    }

    fn incomplete_reason(&self) -> Option<IncompleteReason> {
        self.search.incomplete_reason()
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }

    fn save(&self, into: &mut Saver) {
        self.search.save(into);
    }

    fn restore(&mut self, from: &mut Loader<'_>) -> Result<(), Unusable> {
        self.search.restore(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Never;

    impl PartWatcher for Never {
        fn may_go_on(&mut self, _: u64) -> bool {
            false
        }

        fn see(&mut self, _: &WorkItem, _: &Execution) {}
    }

    #[test]
    fn a_part_that_may_not_begin_leaves_all_of_its_work_items() {
        let mut never = Never;
        let mut part = SearchPart::new(vec![WorkItem::default()], 0, &mut never);
        assert!(part.next().is_none());
        assert_eq!(part.into_rest(), [WorkItem::default()]);
    }
}
