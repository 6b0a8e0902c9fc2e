//! The schedule of a work item.

use std::cmp::Ordering;
use std::sync::Arc;

use raddle_model::{Choice, common_choices};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::saved::{Loader, Saver, Unusable};

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
        let (mut mine, mut theirs) = ([self.inherited(), &self.own], [other.inherited(), &other.own]);
        if let (Some((parent, _)), Some((others, _))) = (&self.parent, &other.parent)
            && Arc::ptr_eq(parent, others)
        {
            let same = mine[0].len().min(theirs[0].len());
            (mine[0], theirs[0]) = (&mine[0][same..], &theirs[0][same..]);
        }
        loop {
            let ((a, a_rest), (b, b_rest)) = (first_part(mine), first_part(theirs));
            let length = a.len().min(b.len());
            let same = common_choices(&a[..length], &b[..length]);
            if same < length || length == 0 {
                return a.get(same).cmp(&b.get(same));
            }
            (mine, theirs) = ([&a[length..], a_rest], [&b[length..], b_rest]);
        }
    }
}

/// The first of two parts that is not empty, and what is behind it.
fn first_part([first, second]: [&[Choice]; 2]) -> (&[Choice], &[Choice]) {
    if first.is_empty() { (second, &[]) } else { (first, second) }
}

/// A schedule as it is saved: the number of the parent's execution with the transitions that are
/// shared with it, and the own ones.
#[derive(Serialize, Deserialize)]
pub(super) struct ScheduleRow {
    parent: Option<(u32, u32)>,
    own: Vec<Choice>,
}

/// Saves schedules, each parent's execution once.
#[derive(Default)]
pub(super) struct ScheduleSaver {
    parents: Vec<Arc<[Choice]>>,
    numbers: FxHashMap<*const Choice, u32>,
}

impl ScheduleSaver {
    pub fn row(&mut self, schedule: &Schedule) -> ScheduleRow {
        let parent = schedule.parent.as_ref().map(|(parent, count)| {
            let number = *self.numbers.entry(parent.as_ptr()).or_insert_with(|| {
                self.parents.push(Arc::clone(parent));
                self.parents.len() as u32 - 1
            });
            (number, *count as u32)
        });
        ScheduleRow { parent, own: schedule.own.clone() }
    }

    /// Writes the parents, which belong before the rows.
    pub fn save(&self, into: &mut Saver) {
        let parents: Vec<&[Choice]> = self.parents.iter().map(AsRef::as_ref).collect();
        into.put(&parents);
    }
}

/// Gives back saved schedules.
pub(super) struct ScheduleLoader {
    parents: Vec<Arc<[Choice]>>,
}

impl ScheduleLoader {
    pub fn load(from: &mut Loader<'_>) -> Result<Self, Unusable> {
        let parents: Vec<Vec<Choice>> = from.take()?;
        Ok(ScheduleLoader { parents: parents.into_iter().map(Into::into).collect() })
    }

    pub fn schedule(&self, row: ScheduleRow) -> Result<Schedule, Unusable> {
        let ScheduleRow { parent, own } = row;
        let Some((number, count)) = parent else { return Ok(Schedule::from(own)) };
        let (parent, count) = (self.parents.get(number as usize), count as usize);
        match parent.filter(|parent| count <= parent.len()) {
            Some(parent) => Ok(Schedule { parent: Some((Arc::clone(parent), count)), own }),
            None => Err(Unusable::because("a schedule begins with one that is not there")),
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

    /// The first `position` transitions of the execution, then `own`. `all`: those of the
    /// execution.
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
