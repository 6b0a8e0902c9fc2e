//! Which graphs are consistent.
//!
//! * SC: Lamport's; po, rf, mo and from-reads (rb: a read before the stores that overwrite what it
//!   read) have no cycle together.
//! * TSO: that of x86 (Owens, Sarkar and Sewell, TPHOLs 2009) in axioms after Alglave, Maranget and
//!   Tautschnig (TOPLAS 2014): each location is coherent, and rf from other threads, mo, rb and
//!   that part of po which store buffers respect have no cycle. Locked instructions, sequentially
//!   consistent stores and fences, and the beginning, end and joining of threads empty the buffer.
//! * RC11: Lahav, Vafeiadis, Kang, Hur and Dreyer (PLDI 2017): coherence, atomicity, psc, and no
//!   cycle of po and rf, which excludes load buffering and values out of thin air. Release
//!   sequences are those of the paper; without `continues` those of C++20, which a relaxed store of
//!   the same thread ends. Creating and joining a thread synchronises.
//!
//! The initial values are no events. Nothing leads to them, so they are on no cycle.

use raddle_vocab::MemOrder;

use super::MemoryModel;
use super::graph::{Graph, INIT, Label, NO_CAUSE, ThenWrites};
use super::relation::{Relation, Set};

/// A memory model.
pub trait Consistency: std::fmt::Debug + Send + Sync {
    /// Whether the graph is an execution of the model.
    fn is_consistent(&self, graph: &Graph) -> bool;
}

/// Sequential consistency.
#[derive(Clone, Copy, Debug)]
pub struct Sc;
/// The model of x86.
#[derive(Clone, Copy, Debug)]
pub struct Tso;
/// The repaired model of C11.
#[derive(Clone, Copy, Debug)]
pub struct Rc11;

/// The consistency of a model.
#[must_use]
pub fn of_model(model: MemoryModel) -> Box<dyn Consistency> {
    match model {
        MemoryModel::Sc => Box::new(Sc),
        MemoryModel::Tso => Box::new(Tso),
        MemoryModel::Rc11 => Box::new(Rc11),
    }
}

/// The relations that all models start from.
struct Basis {
    /// Program order, and what follows the creation and the end of a thread.
    po: Relation,
    /// The pairs of it that access one location.
    same: Relation,
    rf: Relation,
    mo: Relation,
    rb: Relation,
}

impl Basis {
    fn of(graph: &Graph) -> Self {
        let size = graph.nodes.len();
        let empty = || Relation::new(size);
        let (mut po, mut same, mut rf, mut mo, mut rb) = (empty(), empty(), empty(), empty(), empty());
        for (later, node) in graph.nodes.iter().enumerate() {
            for (earlier, other) in graph.nodes.iter().enumerate() {
                if other.id.thread == node.id.thread && other.id < node.id {
                    po.insert(earlier, later);
                }
                if node.location().is_some() && other.location() == node.location() {
                    same.insert(earlier, later);
                }
            }
            if let Some(read) = node.read() {
                if node.reads != INIT {
                    rf.insert(node.reads as usize, later);
                }
                for &store in graph.stores_behind(read.location, node.reads) {
                    rb.insert(later, store as usize);
                }
            }
        }
        for location in &graph.locations {
            for (at, &store) in location.stores.iter().enumerate() {
                location.stores[at + 1..].iter().for_each(|&later| mo.insert(store as usize, later as usize));
            }
        }
        Basis { po, same, rf, mo, rb }
    }

    fn communication(&self) -> Relation {
        self.rf.clone().or(&self.mo).or(&self.rb)
    }
}

/// The pairs of an event and what it causes in another thread.
fn causes(graph: &Graph) -> Relation {
    let mut causes = Relation::new(graph.nodes.len());
    for (number, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.cause != NO_CAUSE) {
        causes.insert(node.cause as usize, number);
    }
    causes
}

/// Whether each exclusive write stands right behind the store that its read reads.
fn is_atomic(graph: &Graph) -> bool {
    graph.locations.iter().all(|location| {
        let befores = std::iter::once(INIT).chain(location.stores.iter().copied());
        location.stores.iter().zip(befores).all(|(&store, before)| {
            let id = graph.nodes[store as usize].id;
            !id.is_exclusive_write || graph.read_of(id).is_some_and(|read| graph.nodes[read].reads == before)
        })
    })
}

/// The order of an event: that of a compare-exchange depends on what it reads.
fn order_of(graph: &Graph, number: usize) -> Option<MemOrder> {
    match graph.nodes[number].label {
        Label::Read(read) => Some(read.order_reading(graph.value(read.location, graph.nodes[number].reads))),
        Label::Write(write) => Some(write.order),
        Label::Fence(order) => Some(order),
        Label::Create(_) | Label::Thread | Label::Local => None,
    }
}

impl Consistency for Sc {
    fn is_consistent(&self, graph: &Graph) -> bool {
        let basis = Basis::of(graph);
        is_atomic(graph) && basis.communication().or(&basis.po).or(&causes(graph)).is_acyclic()
    }
}

impl Consistency for Tso {
    fn is_consistent(&self, graph: &Graph) -> bool {
        if !is_atomic(graph) {
            return false;
        }
        let basis = Basis::of(graph);
        let per_location = basis.po.clone().and(&basis.same).or(&basis.communication());
        if !per_location.is_acyclic() {
            return false;
        }
        let size = graph.nodes.len();
        let label = |number: usize| graph.nodes[number].label;
        // What leaves no trace in a store buffer and waits for none.
        let idle = |number: usize| match label(number) {
            Label::Fence(order) => order != MemOrder::SeqCst,
            Label::Local => true,
            _ => false,
        };
        let is_buffered = |number: usize| {
            let write = graph.nodes[number].write();
            write.is_some_and(|write| !write.is_locked && write.order != MemOrder::SeqCst)
        };
        let is_plain_read = |number: usize| {
            let read = graph.nodes[number].read().zip(graph.value_read(number));
            read.is_some_and(|(read, value)| !read.is_locked_reading(value))
        };
        let mut order = Relation::new(size);
        for from in (0..size).filter(|&from| !idle(from)) {
            for to in (0..size).filter(|&to| basis.po.contains(from, to) && !idle(to)) {
                if !(is_buffered(from) && is_plain_read(to)) {
                    order.insert(from, to);
                }
            }
        }
        let external = basis.rf.clone().without(&basis.po);
        order.or(&external).or(&basis.mo).or(&basis.rb).or(&causes(graph)).is_acyclic()
    }
}

impl Consistency for Rc11 {
    fn is_consistent(&self, graph: &Graph) -> bool {
        if !is_atomic(graph) {
            return false;
        }
        let basis = Basis::of(graph);
        let causes = causes(graph);
        if !basis.po.clone().or(&basis.rf).or(&causes).is_acyclic() {
            return false;
        }
        let hb = basis.po.clone().or(&causes).or(&synchronises(graph, &basis)).closure();
        if !hb.is_irreflexive() {
            return false;
        }
        let overwrites = basis.mo.clone().or(&basis.rb);
        let eco = overwrites.then(&basis.rf).or(&overwrites).or(&basis.rf);
        hb.then(&eco).is_irreflexive() && is_psc_acyclic(graph, &basis, &hb, &eco)
    }
}

/// Synchronises-with: from releases, or fences before a store, through release sequences to
/// acquires, or fences behind a read. Locks and the like are no atomic operations, which fences
/// could strengthen.
fn synchronises(graph: &Graph, basis: &Basis) -> Relation {
    let size = graph.nodes.len();
    let mut sw = Relation::new(size);
    let fence = |number: usize| match graph.nodes[number].label {
        Label::Fence(order) => Some(order),
        _ => None,
    };
    for (number, node) in graph.nodes.iter().enumerate() {
        if node.read().is_none() || node.reads == INIT {
            continue;
        }
        let mut targets: Vec<usize> = Vec::new();
        if order_of(graph, number).is_some_and(MemOrder::acquires) {
            targets.push(number);
        }
        let is_object = node.location().is_some_and(|location| graph.is_object(location));
        let fences = (0..size).filter(|&other| !is_object && basis.po.contains(number, other));
        targets.extend(fences.filter(|&other| fence(other).is_some_and(MemOrder::acquires)));
        if targets.is_empty() {
            continue;
        }
        let begins_reading = node.read().is_some_and(|read| read.then.begins_reading());
        for head in heads(graph, basis, node.reads as usize) {
            if begins_reading && !is_write_unlock(graph, head) {
                continue;
            }
            let mut sources: Vec<usize> = Vec::new();
            if order_of(graph, head).is_some_and(MemOrder::releases) {
                sources.push(head);
            }
            let fences = (0..size).filter(|&other| !is_object && basis.po.contains(other, head));
            sources.extend(fences.filter(|&other| fence(other).is_some_and(MemOrder::releases)));
            sources.iter().for_each(|&from| targets.iter().for_each(|&to| sw.insert(from, to)));
        }
    }
    sw
}

/// The stores whose release sequences a store belongs to.
fn heads(graph: &Graph, basis: &Basis, store: usize) -> Vec<usize> {
    let mut heads = Vec::new();
    let mut current = store;
    loop {
        heads.push(current);
        let Some(write) = graph.nodes[current].write() else { break };
        if write.continues {
            let own = (0..graph.nodes.len()).filter(|&other| basis.po.contains(other, current));
            heads.extend(
                own.filter(|&other| graph.nodes[other].write().is_some_and(|other| other.location == write.location)),
            );
        }
        if !write.is_exclusive {
            break;
        }
        match graph.read_of(graph.nodes[current].id).map(|read| graph.nodes[read].reads) {
            Some(before) if before != INIT => current = before as usize,
            _ => break,
        }
    }
    heads
}

/// Whether a write is that of a writer that releases a read-write lock.
fn is_write_unlock(graph: &Graph, write: usize) -> bool {
    let read = graph.read_of(graph.nodes[write].id).and_then(|read| graph.nodes[read].read());
    read.is_some_and(|read| read.then == ThenWrites::WriteUnlock)
}

/// Whether sequentially consistent events can be put in an order.
fn is_psc_acyclic(graph: &Graph, basis: &Basis, hb: &Relation, eco: &Relation) -> bool {
    let size = graph.nodes.len();
    let sc = Set::of(size, |number| order_of(graph, number) == Some(MemOrder::SeqCst));
    if sc.is_empty() {
        return true;
    }
    let fences = Set::of(size, |number| sc.contains(number) && matches!(graph.nodes[number].label, Label::Fence(_)));
    let other = basis.po.clone().without(&basis.same);
    let scb = other.then(hb).then(&other);
    let scb = scb.or(&basis.po).or(&hb.clone().and(&basis.same)).or(&basis.mo).or(&basis.rb);
    let identity = Relation::new(size).reflexive();
    let reflexive = hb.clone().reflexive();
    let left = identity.clone().starting_in(&sc).or(&reflexive.clone().starting_in(&fences));
    let right = identity.starting_in(&sc).or(&reflexive.ending_in(&fences));
    let psc = left.then(&scb).then(&right);
    let between_fences = hb.clone().or(&hb.then(eco).then(hb)).starting_in(&fences).ending_in(&fences);
    psc.or(&between_fences).is_acyclic()
}
