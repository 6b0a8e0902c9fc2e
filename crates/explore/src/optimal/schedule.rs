//! The schedule of a work item.

use std::cmp::Ordering;
use std::sync::Arc;

use raddle_model::Choice;

/// A child whose schedule begins with so many transitions of its parent shares them. Written out,
/// the schedules of all children would take memory that grows with the square of the length.
const SHARED_FROM: usize = 256;

/// The first transitions of the parent's execution, then transitions of its own.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The transitions of the parent's execution, and how many of them.
    parent: Option<(Arc<[Choice]>, usize)>,
    own: Vec<Choice>,
}

impl From<Vec<Choice>> for Schedule {
    fn from(own: Vec<Choice>) -> Self {
        Schedule { parent: None, own }
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Schedule {}

impl Schedule {
    /// How many transitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inherited().len() + self.own.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The transitions.
    pub fn iter(&self) -> impl Iterator<Item = Choice> {
        self.inherited().iter().chain(&self.own).copied()
    }

    /// The transitions, one behind the other in memory.
    #[must_use]
    pub fn into_vec(self) -> Vec<Choice> {
        match self.parent {
            None => self.own,
            Some((parent, count)) => [&parent[..count], &self.own].concat(),
        }
    }

    fn inherited(&self) -> &[Choice] {
        self.parent.as_ref().map_or(&[], |(parent, count)| &parent[..*count])
    }

    /// The order of the transitions: the first that differs decides.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (&self.parent, &other.parent) {
            (None, None) => self.own.cmp(&other.own),
            (Some((mine, count)), Some((other_parent, others))) if Arc::ptr_eq(mine, other_parent) => {
                let common = *count.min(others);
                self.iter().skip(common).cmp(other.iter().skip(common))
            }
            _ => self.iter().cmp(other.iter()),
        }
    }
}

/// Makes the schedules of the children of one execution.
#[derive(Debug, Default)]
pub(super) struct ScheduleMaker {
    /// The transitions of the execution, once a child shares them.
    shared: Option<Arc<[Choice]>>,
}

impl ScheduleMaker {
    /// Goes on to another execution.
    pub fn reset(&mut self) {
        self.shared = None;
    }

    /// The first `position` transitions of the execution, then `own`. `all`: those of the execution.
    pub fn child(&mut self, position: usize, own: Vec<Choice>, all: impl Iterator<Item = Choice>) -> Schedule {
        if position < SHARED_FROM {
            let mut schedule = Vec::with_capacity(position + own.len());
            schedule.extend(all.take(position));
            schedule.extend(own);
            return Schedule::from(schedule);
        }
        let shared = self.shared.get_or_insert_with(|| all.collect());
        Schedule { parent: Some((Arc::clone(shared), position)), own }
    }
}
