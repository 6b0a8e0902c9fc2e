use raddle_vocab::MemOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_vocab::update;

use super::relation::Relation;
use super::*;
use crate::execution::HeldRead;

fn id(thread: u16, index: u32) -> GraphEventId {
    GraphEventId { thread, index, is_exclusive_write: false }
}

/// A graph with locations 0 and 1, which hold 0.
fn empty() -> Graph {
    let location = |addr| Location { key: LocationKey { addr, size: 4, life: 0 }, initial: 0, stores: Vec::new() };
    Graph { nodes: Vec::new(), locations: vec![location(0x10), location(0x20)] }
}

fn write(graph: &mut Graph, id: GraphEventId, location: u32, order: MemOrder) -> u32 {
    let label = WriteLabel { location, order, value: 1, is_exclusive: false, continues: true, is_locked: false };
    graph.place(
        GraphNode { id, label: Label::Write(label), reads: INIT, cause: NO_CAUSE, waits: false },
        graph.last_store(location),
    );
    graph.nodes.len() as u32 - 1
}

fn read(graph: &mut Graph, id: GraphEventId, location: u32, order: MemOrder, reads: u32) {
    let label = ReadLabel { location, order, then: ThenWrites::Nothing, continues: false, held: HeldRead::NONE };
    graph.nodes.push(GraphNode { id, label: Label::Read(label), reads, cause: NO_CAUSE, waits: false });
}

fn fence(graph: &mut Graph, id: GraphEventId, order: MemOrder) {
    graph.nodes.push(GraphNode { id, label: Label::Fence(order), reads: INIT, cause: NO_CAUSE, waits: false });
}

/// Which models allow a graph: SC, TSO, RC11.
fn allowed(graph: &Graph) -> [bool; 3] {
    MemoryModel::ALL.map(|model| of_model(model).is_consistent(graph))
}

/// Each thread stores to a location and reads the initial value of the other.
fn store_buffering(order: MemOrder, fences: Option<MemOrder>) -> Graph {
    let mut graph = empty();
    for thread in 0..2 {
        write(&mut graph, id(thread, 0), u32::from(thread), order);
        if let Some(order) = fences {
            fence(&mut graph, id(thread, 1), order);
        }
        read(&mut graph, id(thread, 2), 1 - u32::from(thread), order, INIT);
    }
    graph
}

/// The reader sees the flag and not the message.
fn message_passing(store: MemOrder, load: MemOrder) -> Graph {
    let mut graph = empty();
    write(&mut graph, id(0, 0), 0, Relaxed);
    let flag = write(&mut graph, id(0, 1), 1, store);
    read(&mut graph, id(1, 0), 1, load, flag);
    read(&mut graph, id(1, 1), 0, Relaxed, INIT);
    graph
}

#[test]
fn models_differ_in_store_buffering_and_message_passing() {
    assert_eq!(allowed(&store_buffering(Relaxed, None)), [false, true, true]);
    assert_eq!(allowed(&store_buffering(SeqCst, None)), [false, false, false]);
    assert_eq!(allowed(&store_buffering(Relaxed, Some(SeqCst))), [false, false, false]);
    assert_eq!(allowed(&store_buffering(Relaxed, Some(AcqRel))), [false, true, true]);
    assert_eq!(allowed(&message_passing(Relaxed, Acquire)), [false, false, true]);
    assert_eq!(allowed(&message_passing(Release, Relaxed)), [false, false, true]);
    assert_eq!(allowed(&message_passing(Release, Acquire)), [false, false, false]);
}

#[test]
fn no_model_lets_a_thread_forget_what_it_has_read() {
    let mut graph = empty();
    let first = write(&mut graph, id(0, 0), 0, Relaxed);
    let second = write(&mut graph, id(0, 1), 0, Relaxed);
    read(&mut graph, id(1, 0), 0, Relaxed, second);
    assert_eq!(allowed(&graph), [true, true, true]);
    read(&mut graph, id(1, 1), 0, Relaxed, first);
    assert_eq!(allowed(&graph), [false, false, false]);
}

#[test]
fn creating_a_thread_synchronises() {
    for (cause, expected) in [(NO_CAUSE, [true, true, true]), (1, [false, false, false])] {
        let mut graph = empty();
        write(&mut graph, id(0, 0), 0, Relaxed);
        graph.nodes.push(GraphNode {
            id: id(0, 1),
            label: Label::Create(1),
            reads: INIT,
            cause: NO_CAUSE,
            waits: false,
        });
        graph.nodes.push(GraphNode { id: id(1, 0), label: Label::Thread, reads: INIT, cause, waits: false });
        read(&mut graph, id(1, 1), 0, Relaxed, INIT);
        assert_eq!(allowed(&graph), expected);
    }
}

#[test]
fn a_closure_relates_what_a_path_leads_to() {
    let mut relation = Relation::new(130);
    (0..129).for_each(|n| relation.insert(n, n + 1));
    let closure = relation.clone().closure();
    assert!((0..130).all(|a| (0..130).all(|b| closure.contains(a, b) == (a < b))));
    assert!(relation.clone().is_acyclic());
    relation.insert(129, 0);
    assert!(!relation.is_acyclic());
}

#[test]
fn updates_have_the_width_of_their_location() {
    assert_eq!(updated(update::ADD, 255, 1, 1), 0);
    assert_eq!(updated(update::SUB, 0, 1, 8), u64::MAX);
    assert_eq!(updated(update::NAND, 0b1100, 0b1010, 1), 0b1111_0111);
    assert_eq!(updated(update::XOR, 0b1100, 0b1010, 4), 0b0110);
    assert_eq!(updated(update::SET, 7, 9, 4), 9);
    assert_eq!((updated(update::AND, 6, 3, 4), updated(update::OR, 6, 3, 4)), (2, 7));
}
