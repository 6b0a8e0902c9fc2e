//! Another order of the same events.

use raddle_model::{Cell, Event, Mode, Touch, footprint};
use raddle_vocab::policy::mix;
use rustc_hash::FxHashMap;

/// A random order of the events (as indices) that keeps the order within each thread and of
/// dependent events.
#[must_use]
pub fn linearisation(steps: &[Event], seed: u64) -> Vec<usize> {
    let Graph { followers, mut waiting_for } = graph(steps);
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&step| waiting_for[step] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    let mut random = seed;
    while !ready.is_empty() {
        random = mix(random.wrapping_add(1));
        let step = ready.swap_remove((random % ready.len() as u64) as usize);
        order.push(step);
        for &follower in &followers[step] {
            waiting_for[follower] -= 1;
            if waiting_for[follower] == 0 {
                ready.push(follower);
            }
        }
    }
    order
}

/// Which event must come after which. Edges that follow from others may be missing.
struct Graph {
    followers: Vec<Vec<usize>>,
    waiting_for: Vec<usize>,
}

fn graph(steps: &[Event]) -> Graph {
    let mut graph = Graph { followers: vec![Vec::new(); steps.len()], waiting_for: vec![0; steps.len()] };
    let mut last: FxHashMap<u16, usize> = FxHashMap::default();
    // For each cell, the touches that no later write has covered.
    let mut cells: FxHashMap<Cell, Vec<(usize, Touch)>> = FxHashMap::default();
    for (number, step) in steps.iter().enumerate() {
        if let Some(before) = last.insert(step.thread, number) {
            graph.edge(before, number);
        }
        for touch in footprint(step) {
            let open = cells.entry(touch.cell).or_default();
            for &(before, ref other) in open.iter() {
                if touch.conflicts(other) && before != number {
                    graph.edge(before, number);
                }
            }
            // A write comes after everything it covers. What conflicts with a covered touch also
            // conflicts with the write.
            if touch.mode == Mode::Write {
                open.retain(|(_, other)| other.bytes & !touch.bytes != 0);
            }
            open.push((number, touch));
        }
    }
    graph
}

impl Graph {
    fn edge(&mut self, before: usize, after: usize) {
        self.followers[before].push(after);
        self.waiting_for[after] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raddle_model::depend::conflict;
    use raddle_model::fixture::event;
    use raddle_vocab::{MemOrder, OpKind, Words};

    fn step(thread: u16, kind: OpKind, obj: u64) -> Event {
        event(thread, Words { order: MemOrder::SeqCst, size: 4, ..Words::new(kind).on(obj, 0) })
    }

    #[test]
    fn independent_neighbours_do_swap() {
        let steps = [step(0, OpKind::AtomicStore, 0), step(1, OpKind::AtomicStore, 64)];
        let orders: std::collections::BTreeSet<_> = (0..20).map(|seed| linearisation(&steps, seed)).collect();
        assert_eq!(orders.len(), 2);
    }

    proptest! {
        #[test]
        fn dependent_events_keep_their_order(
            actions in proptest::collection::vec((0u16..3, 0u8..5, 0u64..3), 0..40),
            seed: u64,
        ) {
            let steps: Vec<Event> = actions.iter().map(|&(thread, kind, obj)| {
                let kinds = [OpKind::AtomicLoad, OpKind::AtomicStore, OpKind::Lock, OpKind::SemPost, OpKind::Fence];
                let kind = kinds[usize::from(kind)];
                step(thread, kind, obj * 4)
            }).collect();
            let order = linearisation(&steps, seed);
            let mut at = vec![usize::MAX; steps.len()];
            for (place, &number) in order.iter().enumerate() {
                at[number] = place;
            }
            prop_assert!(at.iter().all(|&place| place != usize::MAX));
            for a in 0..steps.len() {
                for b in a + 1..steps.len() {
                    let conflicting = conflict(&footprint(&steps[a]), &footprint(&steps[b]));
                    let dependent = steps[a].thread == steps[b].thread || conflicting;
                    prop_assert!(!dependent || at[a] < at[b], "{a} and {b} are dependent and were swapped");
                }
            }
        }
    }
}
