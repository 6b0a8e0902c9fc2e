//! Dependence order of an execution, as vector clocks: the transitive closure of program order and
//! of the order of dependent events. The time of a thread counts its events.

use raddle_model::clock::join;
use raddle_model::{Cell, Event, Mode, VectorClock, footprint};
use rustc_hash::FxHashMap;

/// Clocks of the events that touched the same bytes of a cell, joined by mode. A clock is empty
/// until an event has touched them in that mode.
#[derive(Clone, Debug)]
struct Group {
    bytes: u8,
    clocks: [VectorClock; 3],
}

/// The order so far, event by event; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct DependenceClocks {
    clocks: Vec<VectorClock>,
    cells: FxHashMap<Cell, Vec<Group>>,
}

impl DependenceClocks {
    /// Starts with no event of an execution with so many threads.
    pub fn start(&mut self, threads: usize) {
        self.cells.clear();
        self.clocks.clear();
        self.clocks.resize(threads, VectorClock::zero(threads));
    }

    /// How many events of each thread come before where the thread stands now, its own included.
    pub fn at(&self, thread: u16) -> &VectorClock {
        &self.clocks[usize::from(thread)]
    }

    /// Puts the next event behind those that it depends on and returns its clock.
    pub fn push(&mut self, event: &Event) -> &VectorClock {
        let number = usize::from(event.thread);
        let mut clock = std::mem::take(&mut self.clocks[number]);
        clock[number] += 1;
        let touches = footprint(event);
        for touch in &touches {
            for group in self.cells.get(&touch.cell).into_iter().flatten() {
                for mode in [Mode::Observe, Mode::Share, Mode::Write] {
                    if group.bytes & touch.bytes != 0 && !touch.mode.commutes(mode) {
                        join(&mut clock, &group.clocks[mode as usize]);
                    }
                }
            }
        }
        for touch in &touches {
            let groups = self.cells.entry(touch.cell).or_default();
            let at = groups.iter().position(|group| group.bytes == touch.bytes).unwrap_or_else(|| {
                groups.push(Group { bytes: touch.bytes, clocks: Default::default() });
                groups.len() - 1
            });
            match &mut groups[at].clocks[touch.mode as usize] {
                all if all.is_empty() => *all = clock.clone(),
                all => join(all, &clock),
            }
        }
        self.clocks[number] = clock;
        &self.clocks[number]
    }

    /// Puts all that a thread will do behind where another one stands now.
    pub fn follow(&mut self, thread: u16, other: u16) {
        let clock = self.clocks[usize::from(other)].clone();
        if let Some(into) = self.clocks.get_mut(usize::from(thread)) {
            join(into, &clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::fixture::done;
    use raddle_vocab::OpKind;

    fn clocks(events: &[Event]) -> Vec<Vec<u32>> {
        let mut order = DependenceClocks::default();
        order.start(3);
        events.iter().map(|event| order.push(event).to_vec()).collect()
    }

    #[test]
    fn events_on_one_object_are_ordered_and_others_are_not() {
        let (m, n) = (0x100, 0x200);
        let found = clocks(&[
            done(0, OpKind::Lock, m, 0),
            done(1, OpKind::Lock, n, 0),
            done(0, OpKind::Unlock, m, 0),
            done(1, OpKind::Lock, m, 0),
        ]);
        assert_eq!(found, [[1, 0, 0], [0, 1, 0], [2, 0, 0], [2, 2, 0]]);
    }

    /// Posts commute, a wait depends on all of them.
    #[test]
    fn what_commutes_is_not_ordered() {
        let s = 0x100;
        let found =
            clocks(&[done(0, OpKind::SemPost, s, 0), done(1, OpKind::SemPost, s, 0), done(2, OpKind::SemWait, s, 0)]);
        assert_eq!(found, [[1, 0, 0], [0, 1, 0], [1, 1, 1]]);
    }

    #[test]
    fn a_thread_can_be_put_behind_another() {
        let mut order = DependenceClocks::default();
        order.start(2);
        order.push(&done(0, OpKind::Lock, 0x100, 0));
        order.follow(1, 0);
        assert_eq!(**order.at(1), [1, 0]);
        order.follow(7, 0);
    }
}
