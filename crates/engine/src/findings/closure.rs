//! Which transitions of an execution have to happen before certain points of it.
//!
//! A transition here is an event with the data accesses that follow it. A later one needs an
//! earlier one if they belong to one thread, if their events depend on each other, or if their data
//! accesses conflict. A set of transitions that holds all that its members need can be run by
//! itself, in the observed order or in any other that keeps conflicting transitions in order: every
//! thread then does what it did in the execution.

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::depend::{Mode, bytes_within, cells};
use raddle_model::{Access, AccessKind, Execution, Touch, footprint};
use raddle_vocab::MappingChange;

/// Ranges larger than this are compared as ranges, not cut into cells.
const LARGE: u64 = 1 << 12;

/// A point in the life of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPosition {
    /// Run-local number.
    pub thread: u16,
    /// Number of events of the whole execution before the point: the thread's events from this
    /// index on lie beyond it.
    pub before: u32,
    /// Number of the data access before which the thread stands; `None` if it stands before an
    /// event.
    pub access: Option<u32>,
}

impl ThreadPosition {
    /// Right before a data access.
    pub fn before_access(access: &Access) -> Self {
        ThreadPosition { thread: access.thread, before: access.after, access: Some(access.count) }
    }

    /// Right before an event.
    pub fn before_event(execution: &Execution, index: usize) -> Self {
        ThreadPosition { thread: execution.events[index].thread, before: index as u32, access: None }
    }
}

/// Numbers of the events that must have happened when each thread of `points` stands at its point;
/// `None` if some thread would then have to be beyond its point.
pub fn causal_closure(execution: &Execution, points: &[ThreadPosition]) -> Option<Vec<usize>> {
    let transitions = Transitions::of(execution);
    let mut wanted = vec![false; execution.threads.len()];
    for point in points {
        *wanted.get_mut(usize::from(point.thread))? = true;
    }
    let mut needs = Demand::default();
    let mut chosen = Vec::new();
    for index in (0..execution.events.len()).rev() {
        let event = &execution.events[index];
        let prints = footprint(event);
        let accesses = transitions.of_event(index).map(|at| &execution.accesses[at]);
        let point = points.iter().find(|point| point.thread == event.thread);
        // An event that lies beyond its thread's point must not be needed.
        if point.is_some_and(|point| index as u32 >= point.before) {
            if needs.meets_event(&prints) || accesses.clone().any(|access| needs.meets(access)) {
                return None;
            }
            continue;
        }
        let stop = point.and_then(|point| point.access.filter(|_| transitions.is_last_before(execution, index, point)));
        let (done, beyond): (Vec<&Access>, Vec<&Access>) =
            accesses.partition(|access| stop.is_none_or(|count| access.count < count));
        if beyond.iter().any(|access| needs.meets(access)) {
            return None;
        }
        let thread = usize::from(event.thread);
        wanted[thread] |= needs.meets_event(&prints) || done.iter().any(|access| needs.meets(access));
        if wanted[thread] {
            needs.add_event(&prints);
            done.iter().for_each(|access| needs.add(access));
            chosen.push(index);
        }
    }
    chosen.reverse();
    Some(chosen)
}

/// The data accesses of each transition.
pub(super) struct Transitions {
    /// Numbers of accesses by the event that they follow.
    by_event: BTreeMap<usize, Vec<usize>>,
}

impl Transitions {
    pub(super) fn of(execution: &Execution) -> Self {
        let mut last: Vec<Option<usize>> = vec![None; execution.threads.len()];
        let mut by_event: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut events = 0;
        for (number, access) in execution.accesses.iter().enumerate() {
            while events < execution.events.len().min(access.after as usize) {
                if let Some(slot) = last.get_mut(usize::from(execution.events[events].thread)) {
                    *slot = Some(events);
                }
                events += 1;
            }
            // What main does before its first event depends on no event and precedes all of them.
            if let Some(event) = last.get(usize::from(access.thread)).copied().flatten() {
                by_event.entry(event).or_default().push(number);
            }
        }
        Transitions { by_event }
    }

    pub(super) fn of_event(&self, event: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.by_event.get(&event).into_iter().flatten().copied()
    }

    /// Whether the event is its thread's last one before the point.
    fn is_last_before(&self, execution: &Execution, index: usize, point: &ThreadPosition) -> bool {
        let between = &execution.events[index + 1..point.before as usize];
        between.iter().all(|event| event.thread != point.thread)
    }
}

/// What the transitions chosen so far touch: an earlier transition that conflicts with it is
/// needed.
#[derive(Default)]
struct Demand {
    /// Bytes touched in each mode, by cell.
    cells: BTreeMap<u64, [u8; 3]>,
    ranges: Vec<(u64, u64, Mode)>,
}

impl Demand {
    fn add_event(&mut self, prints: &[Touch]) {
        for touch in prints {
            self.cells.entry(touch.cell).or_default()[touch.mode as usize] |= touch.bytes;
        }
    }

    fn meets_event(&self, prints: &[Touch]) -> bool {
        prints.iter().any(|touch| self.meets_touch(touch))
    }

    fn meets_touch(&self, touch: &Touch) -> bool {
        let modes = [Mode::Observe, Mode::Share, Mode::Write];
        let in_cell = self.cells.get(&touch.cell).is_some_and(|bytes| {
            modes.iter().any(|&mode| bytes[mode as usize] & touch.bytes != 0 && !mode.commutes(touch.mode))
        });
        let start = touch.cell << 3;
        in_cell || self.ranges.iter().any(|range| overlap(range, start, start + 8) && !range.2.commutes(touch.mode))
    }

    fn add(&mut self, access: &Access) {
        let Some(mode) = mode_of(access) else { return };
        if is_large(access) {
            self.ranges.push((access.addr, access.addr + access.size, mode));
        } else {
            for touch in touches(access, mode) {
                self.cells.entry(touch.cell).or_default()[mode as usize] |= touch.bytes;
            }
        }
    }

    fn meets(&self, access: &Access) -> bool {
        let Some(mode) = mode_of(access) else { return false };
        let end = access.addr + access.size;
        if self.ranges.iter().any(|range| overlap(range, access.addr, end) && !range.2.commutes(mode)) {
            return true;
        }
        if !is_large(access) {
            return touches(access, mode).any(|touch| self.meets_touch(&touch));
        }
        self.cells
            .range(access.addr >> 3..end.div_ceil(8))
            .any(|(&cell, _)| self.meets_touch(&Touch { cell, bytes: 0xff, mode }))
    }
}

fn overlap(range: &(u64, u64, Mode), start: u64, end: u64) -> bool {
    range.0 < end && start < range.1
}

/// How an access touches its bytes. An allocation orders nothing by itself: a thread that uses the
/// block got its address from somewhere.
pub(super) fn mode_of(access: &Access) -> Option<Mode> {
    match access.kind {
        AccessKind::Read => Some(Mode::Observe),
        AccessKind::Write | AccessKind::Free => Some(Mode::Write),
        AccessKind::Mapping(MappingChange::Fresh | MappingChange::Ask) | AccessKind::Alloc => None,
        AccessKind::Mapping(_) => Some(Mode::Write),
    }
}

/// The cells of an access with their bytes.
pub(super) fn touches(access: &Access, mode: Mode) -> impl Iterator<Item = Touch> {
    cells(access.addr, access.size.max(1)).map(move |(cell, bytes)| Touch { cell, bytes, mode })
}

/// Whether the access is to so many bytes that it is not cut into cells.
pub(super) fn is_large(access: &Access) -> bool {
    access.size > LARGE
}

/// The cells of an access with their bytes; of a large access only those that are among `cells`.
pub(super) fn touches_among(access: &Access, mode: Mode, cells: &BTreeSet<u64>) -> Vec<Touch> {
    if !is_large(access) {
        return touches(access, mode).collect();
    }
    let end = access.addr.saturating_add(access.size);
    let within = cells.range(access.addr >> 3..end.div_ceil(8));
    within.map(|&cell| Touch { cell, bytes: bytes_within(cell, access.addr, end), mode }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{access, event, execution};
    use raddle_vocab::OpKind;

    #[test]
    fn bytes_of_an_access_are_cut_into_cells() {
        let read = access(0, AccessKind::Read, 0x1006, 4, 0, 0);
        let cells: Vec<(u64, u8)> = touches(&read, Mode::Observe).map(|touch| (touch.cell, touch.bytes)).collect();
        assert_eq!(cells, [(0x200, 0b1100_0000), (0x201, 0b11)]);
    }

    /// T0 creates T1 and T2; each locks and unlocks, then touches x. The lock of the other is not
    /// needed.
    #[test]
    fn only_what_is_needed_is_chosen() {
        let m = 0x100;
        let events = vec![
            event(0, OpKind::ThreadStart, 0, 0),
            event(0, OpKind::Create, 0, 1),
            event(0, OpKind::Create, 0, 2),
            event(1, OpKind::ThreadStart, 0, 0),
            event(1, OpKind::Lock, m, 0),
            event(1, OpKind::Unlock, m, 0),
            event(2, OpKind::ThreadStart, 0, 0),
            event(2, OpKind::Fence, 0, 0),
        ];
        let accesses = vec![access(1, AccessKind::Write, 0x200, 4, 6, 0), access(2, AccessKind::Write, 0x200, 4, 8, 0)];
        let run = execution(3, events, accesses);
        let first = ThreadPosition::before_access(&run.accesses[0]);
        let second = ThreadPosition::before_access(&run.accesses[1]);
        assert_eq!(causal_closure(&run, &[second]).unwrap(), [0, 1, 2, 6, 7]);
        assert_eq!(causal_closure(&run, &[first, second]).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    /// T1 writes x and then releases m, T2 takes m and then reads x: the lock separates the two
    /// accesses.
    #[test]
    fn what_is_ordered_cannot_be_adjacent() {
        let m = 0x100;
        let events = vec![
            event(0, OpKind::Create, 0, 1),
            event(0, OpKind::Create, 0, 2),
            event(1, OpKind::Lock, m, 0),
            event(1, OpKind::Unlock, m, 0),
            event(2, OpKind::Lock, m, 0),
        ];
        let accesses = vec![access(1, AccessKind::Write, 0x200, 4, 3, 0), access(2, AccessKind::Read, 0x200, 4, 5, 0)];
        let run = execution(3, events, accesses);
        let points = [ThreadPosition::before_access(&run.accesses[0]), ThreadPosition::before_access(&run.accesses[1])];
        assert_eq!(causal_closure(&run, &points), None);
    }

    /// T1 writes x, then y, in one go; T2 reads y, then x. The race on y decides what follows, so x
    /// is not adjacent, y is.
    #[test]
    fn an_earlier_race_can_separate_a_later_one() {
        let events = vec![
            event(0, OpKind::Create, 0, 1),
            event(0, OpKind::Create, 0, 2),
            event(1, OpKind::ThreadStart, 0, 0),
            event(2, OpKind::ThreadStart, 0, 0),
        ];
        let accesses = vec![
            access(1, AccessKind::Write, 0x200, 4, 3, 0),
            access(1, AccessKind::Write, 0x300, 4, 3, 1),
            access(2, AccessKind::Read, 0x300, 4, 4, 0),
            access(2, AccessKind::Read, 0x200, 4, 4, 1),
        ];
        let run = execution(3, events, accesses);
        let at = |number: usize| ThreadPosition::before_access(&run.accesses[number]);
        assert_eq!(causal_closure(&run, &[at(0), at(3)]), None);
        assert_eq!(causal_closure(&run, &[at(1), at(2)]).unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn large_ranges_meet_small_ones() {
        let events = vec![
            event(0, OpKind::Create, 0, 1),
            event(1, OpKind::ThreadStart, 0, 0),
            event(0, OpKind::Fence, 0, 0),
            event(0, OpKind::Fence, 0, 0),
        ];
        let accesses = vec![
            access(1, AccessKind::Write, 0x10_0000, 1 << 20, 2, 0),
            access(0, AccessKind::Read, 0x10_0010, 4, 3, 0),
        ];
        let run = execution(2, events, accesses);
        assert_eq!(causal_closure(&run, &[ThreadPosition::before_event(&run, 3)]).unwrap(), [0, 1, 2]);
        let mut other = run.clone();
        other.accesses.swap(0, 1);
        (other.accesses[0].thread, other.accesses[1].thread) = (1, 0);
        (other.accesses[0].after, other.accesses[1].after) = (2, 3);
        assert_eq!(causal_closure(&other, &[ThreadPosition::before_event(&other, 3)]).unwrap(), [0, 1, 2]);
    }
}
