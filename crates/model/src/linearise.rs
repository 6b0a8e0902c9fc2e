//! Other orders of the same transitions.
//!
//! Two orders of an execution's transitions are equivalent iff both keep the transitions of each
//! thread, and those that depend on each other, as they were.

use rustc_hash::FxHashMap;

use crate::depend::{Cell, Mode, Touch};

/// Which transition must come after which. Edges that follow from others may be missing.
#[derive(Clone, Debug)]
pub struct DependenceGraph {
    followers: Vec<Vec<usize>>,
    /// How many edges lead to each transition.
    waits: Vec<u32>,
}

impl DependenceGraph {
    /// The graph of transitions in their observed order, each with its thread and what it touches.
    #[must_use]
    pub fn of<T: IntoIterator<Item = Touch>>(transitions: impl IntoIterator<Item = (u16, T)>) -> Self {
        let mut graph = DependenceGraph { followers: Vec::new(), waits: Vec::new() };
        let mut last: FxHashMap<u16, usize> = FxHashMap::default();
        // For each cell, the touches that no later write has covered.
        let mut cells: FxHashMap<Cell, Vec<(usize, Touch)>> = FxHashMap::default();
        for (number, (thread, touches)) in transitions.into_iter().enumerate() {
            graph.followers.push(Vec::new());
            graph.waits.push(0);
            if let Some(before) = last.insert(thread, number) {
                graph.edge(before, number);
            }
            for touch in touches {
                let open = cells.entry(touch.cell).or_default();
                for &(before, ref other) in open.iter() {
                    if touch.conflicts(other) && before != number {
                        graph.edge(before, number);
                    }
                }
                // A write comes after everything it covers. What conflicts with a covered touch
                // also conflicts with the write.
                if touch.mode == Mode::Write {
                    open.retain(|(_, other)| other.bytes & !touch.bytes != 0);
                }
                open.push((number, touch));
            }
        }
        graph
    }

    fn edge(&mut self, before: usize, after: usize) {
        self.followers[before].push(after);
        self.waits[after] += 1;
    }

    /// An equivalent order, as numbers of transitions. `choose` is given the transitions that can
    /// come next, at most one of each thread, and returns the index of one of them.
    #[must_use]
    pub fn linearise(&self, mut choose: impl FnMut(&[usize]) -> usize) -> Vec<usize> {
        let mut waits = self.waits.clone();
        let mut ready: Vec<usize> = (0..waits.len()).filter(|&number| waits[number] == 0).collect();
        let mut order = Vec::with_capacity(waits.len());
        while !ready.is_empty() {
            let number = ready.swap_remove(choose(&ready));
            order.push(number);
            for &follower in &self.followers[number] {
                waits[follower] -= 1;
                if waits[follower] == 0 {
                    ready.push(follower);
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(cell: Cell, bytes: u8, mode: Mode) -> [Touch; 1] {
        [Touch { cell, bytes, mode }]
    }

    /// The order in which the last of the transitions that can come next always comes next.
    fn latest_first(transitions: &[(u16, [Touch; 1])]) -> Vec<usize> {
        let latest = |ready: &[usize]| (0..ready.len()).max_by_key(|&at| ready[at]).unwrap();
        DependenceGraph::of(transitions.iter().copied()).linearise(latest)
    }

    #[test]
    fn transitions_that_do_not_conflict_change_places() {
        let apart = [(0, touch(1, 0xff, Mode::Write)), (1, touch(2, 0xff, Mode::Write))];
        assert_eq!(latest_first(&apart), [1, 0]);
        let halves = [(0, touch(1, 0x0f, Mode::Write)), (1, touch(1, 0xf0, Mode::Write))];
        assert_eq!(latest_first(&halves), [1, 0]);
        let both_read = [(0, touch(1, 0xff, Mode::Observe)), (1, touch(1, 0xff, Mode::Observe))];
        assert_eq!(latest_first(&both_read), [1, 0]);
    }

    #[test]
    fn conflicts_and_program_order_are_kept() {
        let written = [(0, touch(1, 0xff, Mode::Observe)), (1, touch(1, 0x01, Mode::Write))];
        assert_eq!(latest_first(&written), [0, 1]);
        let own = [(0, touch(1, 0xff, Mode::Write)), (0, touch(2, 0xff, Mode::Write))];
        assert_eq!(latest_first(&own), [0, 1]);
    }

    /// The second write covers the first one, and the third stays behind both.
    #[test]
    fn order_behind_a_covered_write_is_kept() {
        let writes = [0, 1, 2].map(|thread| (thread, touch(1, if thread == 0 { 0x0f } else { 0xff }, Mode::Write)));
        assert_eq!(latest_first(&writes), [0, 1, 2]);
    }
}
