//! Another order of the same events.

use raddle_model::linearise::DependenceGraph;
use raddle_model::{Event, footprint};
use raddle_vocab::policy::mix;

/// A random order of the events (as indices) that keeps the order within each thread and of
/// dependent events.
#[must_use]
pub fn linearisation(events: &[Event], seed: u64) -> Vec<usize> {
    let graph = DependenceGraph::of(events.iter().map(|event| (event.thread, footprint(event))));
    let mut random = seed;
    graph.linearise(|ready| {
        random = mix(random.wrapping_add(1));
        (random % ready.len() as u64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raddle_model::depend::conflict;
    use raddle_model::fixture::event;
    use raddle_vocab::{MemOrder, OpKind, Words};

    fn sync_event(thread: u16, kind: OpKind, obj: u64) -> Event {
        event(thread, Words { order: MemOrder::SeqCst, size: 4, ..Words::new(kind).on(obj, 0) })
    }

    #[test]
    fn independent_neighbours_do_swap() {
        let events = [sync_event(0, OpKind::AtomicStore, 0), sync_event(1, OpKind::AtomicStore, 64)];
        let orders: std::collections::BTreeSet<_> = (0..20).map(|seed| linearisation(&events, seed)).collect();
        assert_eq!(orders.len(), 2);
    }

    proptest! {
        #[test]
        fn dependent_events_keep_their_order(
            actions in proptest::collection::vec((0u16..3, 0u8..5, 0u64..3), 0..40),
            seed: u64,
        ) {
            let events: Vec<Event> = actions.iter().map(|&(thread, kind, obj)| {
                let kinds = [OpKind::AtomicLoad, OpKind::AtomicStore, OpKind::Lock, OpKind::SemPost, OpKind::Fence];
                let kind = kinds[usize::from(kind)];
                sync_event(thread, kind, obj * 4)
            }).collect();
            let order = linearisation(&events, seed);
            let mut at = vec![usize::MAX; events.len()];
            for (place, &number) in order.iter().enumerate() {
                at[number] = place;
            }
            prop_assert!(at.iter().all(|&place| place != usize::MAX));
            for a in 0..events.len() {
                for b in a + 1..events.len() {
                    let conflicting = conflict(&footprint(&events[a]), &footprint(&events[b]));
                    let dependent = events[a].thread == events[b].thread || conflicting;
                    prop_assert!(!dependent || at[a] < at[b], "{a} and {b} are dependent and were swapped");
                }
            }
        }
    }
}
