//! Exploration that reaches every state by a shortest path.
//!
//! Breadth-first search in which the length of a path is a pair: visible events first, silent steps
//! second. A counterexample then shows as few events as possible and, among those, hides as few as
//! possible. Within one number of visible events the search goes by the number of silent steps (a
//! two-level bucket queue, since both only grow by one).

use std::collections::VecDeque;
use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::Limits;
use crate::core::Label;
use crate::error::{CheckError, LimitReached};

const NONE: u32 = u32::MAX;

/// The last transition of a shortest path to a state, and the length of the path.
#[derive(Clone, Copy)]
struct Reached {
    from: u32,
    label: Label,
    visible: u32,
    silent: u32,
}

/// The result of inspecting one state.
pub(crate) enum Inspection {
    /// No violation.
    Continue,
    /// The state is a violation.
    Bad,
    /// The transition with this label is a violation.
    BadStep(Label),
}

/// The states that were reached so far.
pub(crate) struct ShortestPathSearch<'l, K> {
    reached: IndexMap<K, Reached, FxBuildHasher>,
    limits: &'l Limits<'l>,
    /// States other than those of the search, counted against the same budget.
    pub(crate) other_states: usize,
    explored: usize,
    pub(crate) transitions: usize,
}

impl<'l, K: Copy + Eq + Hash> ShortestPathSearch<'l, K> {
    pub(crate) fn new(limits: &'l Limits<'l>) -> ShortestPathSearch<'l, K> {
        ShortestPathSearch { reached: IndexMap::default(), limits, other_states: 0, explored: 0, transitions: 0 }
    }

    /// Visits every state from `start`, nearest first, until `inspect` finds a violation. `inspect`
    /// writes the transitions of the state to its list. The result is the index of the violating
    /// state, with the label if the violation is a transition.
    pub(crate) fn run(
        &mut self,
        start: K,
        inspect: impl FnMut(&mut Self, K, &mut Vec<(Label, K)>) -> Result<Inspection, CheckError>,
    ) -> Result<Option<(usize, Option<Label>)>, CheckError> {
        self.visit(start, inspect).map_err(|error| match error {
            // What was stopped deep inside does not know how far the search was.
            CheckError::Limit(LimitReached::Stopped { cause, .. }) => {
                LimitReached::Stopped { cause, explored: self.explored }.into()
            }
            error => error,
        })
    }

    fn visit(
        &mut self,
        start: K,
        mut inspect: impl FnMut(&mut Self, K, &mut Vec<(Label, K)>) -> Result<Inspection, CheckError>,
    ) -> Result<Option<(usize, Option<Label>)>, CheckError> {
        let first = Reached { from: NONE, label: Label::TAU, visible: 0, silent: 0 };
        self.reached.insert(start, first);
        // Both queues are sorted by silent steps: states are taken in that order, and they add
        // states with the same number (after a visible step) or one more (after a silent one).
        let mut here: VecDeque<Queued> = VecDeque::from([(0, 0)]);
        let mut entered: VecDeque<Queued> = VecDeque::new();
        let mut next: VecDeque<Queued> = VecDeque::new();
        let mut done: Vec<bool> = Vec::new();
        let mut steps = Vec::new();
        loop {
            let Some(index) = nearest(&mut entered, &mut here) else {
                if next.is_empty() {
                    return Ok(None);
                }
                std::mem::swap(&mut entered, &mut next);
                continue;
            };
            done.resize(self.reached.len(), false);
            if std::mem::replace(&mut done[index as usize], true) {
                continue;
            }
            let (&key, &reached) = self.entry(index);
            self.limits.admit(self.reached.len() + self.other_states, self.explored)?;
            match inspect(self, key, &mut steps)? {
                Inspection::Continue => {}
                Inspection::Bad => return Ok(Some((index as usize, None))),
                Inspection::BadStep(label) => return Ok(Some((index as usize, Some(label)))),
            }
            self.explored += 1;
            self.transitions += steps.len();
            for &(label, target) in &steps {
                let silent = label.is_silent();
                let found = Reached {
                    from: index,
                    label,
                    visible: reached.visible + u32::from(!silent),
                    silent: reached.silent + u32::from(silent),
                };
                if let Some(target) = self.improve(target, found) {
                    let queue = if silent { &mut here } else { &mut next };
                    queue.push_back((found.silent, target));
                }
            }
        }
    }

    /// The labels of a shortest path to the state with this index.
    pub(crate) fn path(&self, index: usize) -> Vec<Label> {
        let mut labels = Vec::new();
        let mut at = index;
        while let Some((_, reached)) = self.reached.get_index(at).filter(|(_, reached)| reached.from != NONE) {
            labels.push(reached.label);
            at = reached.from as usize;
        }
        labels.reverse();
        labels
    }

    /// The states of a shortest path to the state with this index, from the first one on.
    pub(crate) fn states_on_path(&self, index: usize) -> Vec<K> {
        let mut states = Vec::new();
        let mut at = Some(index);
        while let Some((&key, reached)) = at.and_then(|at| self.reached.get_index(at)) {
            states.push(key);
            at = (reached.from != NONE).then_some(reached.from as usize);
        }
        states.reverse();
        states
    }

    /// Stops the search once its states use more memory than allowed.
    pub(crate) fn admit_cells(&self, cells: usize) -> Result<(), CheckError> {
        self.limits.admit_cells(cells, self.explored)
    }

    /// How many states were reached.
    pub(crate) fn states(&self) -> usize {
        self.reached.len()
    }

    /// The state with this index.
    pub(crate) fn state(&self, index: usize) -> Option<K> {
        self.reached.get_index(index).map(|(&key, _)| key)
    }

    pub(crate) fn index_of(&self, key: &K) -> Option<usize> {
        self.reached.get_index_of(key)
    }

    fn entry(&self, index: u32) -> (&K, &Reached) {
        self.reached.get_index(index as usize).expect("queues hold indices of states that were met")
    }

    /// Records a path to `target` if it is the first or a shorter one. Then the state has to be
    /// visited (again).
    fn improve(&mut self, target: K, found: Reached) -> Option<u32> {
        let entry = self.reached.entry(target);
        let index = u32::try_from(entry.index()).expect("fewer than 2^32 states fit the memory");
        match entry {
            indexmap::map::Entry::Vacant(vacant) => {
                vacant.insert(found);
            }
            indexmap::map::Entry::Occupied(mut known) => {
                let old = (known.get().visible, known.get().silent);
                if old <= (found.visible, found.silent) {
                    return None;
                }
                known.insert(found);
            }
        }
        Some(index)
    }
}

/// A state in a queue, with the number of silent steps of the path that found it. A shorter path
/// puts the state into a queue again. The queue is sorted by the number here, not by the state's
/// newest one.
type Queued = (u32, u32);

/// Takes the entry with fewer silent steps from two sorted queues.
fn nearest(entered: &mut VecDeque<Queued>, here: &mut VecDeque<Queued>) -> Option<u32> {
    let queue = match (entered.front(), here.front()) {
        (Some(first), Some(second)) if first.0 <= second.0 => entered,
        (Some(_), None) => entered,
        _ => here,
    };
    queue.pop_front().map(|entry| entry.1)
}
