//! The children of a complete run.
//!
//! Every event that a run added to its unit is looked at with the graph before it. A read also
//! reads the older stores, a write is also placed before others, and is also read by reads that are
//! there already: these are *revisits*, which delete what was added behind the read, but for what
//! the write itself needs. A revisit is made only if what it deletes is *maximal* (it is what the
//! run would do by itself, without the write), so that each graph has one parent.

use raddle_model::weak::{Consistency, Failing, Graph, GraphEventId, GraphNode, INIT, Label, NO_CAUSE};

/// The units below a run: `graph` is what came of the unit that its first `from` events are.
pub fn children(graph: &Graph, from: usize, model: &dyn Consistency, failing: &Failing) -> Vec<Graph> {
    let mut search = Children { model, failing, units: Vec::new() };
    for number in from..graph.nodes.len() {
        let before = graph.restrict(|other| other < number);
        let node = graph.nodes[number];
        match node.label {
            Label::Read(_) => search.older_stores(&before, node),
            Label::Write(write) => {
                if !write.is_exclusive {
                    search.earlier_places(&before, node);
                }
                search.revisits(&before, node);
            }
            _ => {}
        }
    }
    search.units
}

struct Children<'a> {
    model: &'a dyn Consistency,
    /// Values with which threads wait.
    failing: &'a Failing,
    units: Vec<Graph>,
}

impl Children<'_> {
    /// The read reads another store than the last one. Waiting for another value than that of the
    /// last store would lead nowhere.
    fn older_stores(&mut self, before: &Graph, node: GraphNode) {
        let Some(read) = node.read() else { return };
        let stores = &before.locations[read.location as usize].stores;
        let sources = std::iter::once(INIT).chain(stores.iter().copied());
        for source in sources.take(stores.len()).collect::<Vec<u32>>().into_iter().rev() {
            if read.would_wait(before.value(read.location, source), self.failing) {
                continue;
            }
            let mut unit = before.clone();
            unit.nodes.push(GraphNode { reads: source, waits: false, ..node });
            if self.model.is_consistent(&unit) {
                self.add(unit);
            }
        }
    }

    /// The write stands before others in modification order.
    fn earlier_places(&mut self, before: &Graph, node: GraphNode) {
        let Some(write) = node.write() else { return };
        let stores = &before.locations[write.location as usize].stores;
        let places = std::iter::once(INIT).chain(stores.iter().copied());
        for behind in places.take(stores.len()).collect::<Vec<u32>>().into_iter().rev() {
            let mut unit = before.clone();
            unit.place(node, behind);
            if self.model.is_consistent(&unit) {
                self.add(unit);
            }
        }
    }

    /// Earlier reads read the write, which is not in the graph yet.
    fn revisits(&mut self, before: &Graph, node: GraphNode) {
        let Some(write) = node.write() else { return };
        let needed = prefix(before, node);
        for read in (0..before.nodes.len()).rev() {
            let is_candidate = before.nodes[read].read().is_some_and(|label| label.location == write.location);
            if !is_candidate || needed[read] || !is_maximal(before, read, &needed) {
                continue;
            }
            let is_kept = |other: usize| other <= read || needed[other];
            let mut kept = before.restrict(is_kept);
            // What precedes it is kept, so it has the same number.
            kept.nodes[read].reads = kept.nodes.len() as u32;
            let waits = kept.nodes[read].read().is_some_and(|label| label.would_wait(write.value, self.failing));
            kept.nodes[read].waits = waits;
            for behind in places(&kept, node) {
                // A thread that waits for another value than that of the last store would do so for
                // ever.
                if waits && behind != kept.last_store(write.location) {
                    continue;
                }
                let mut unit = kept.clone();
                unit.place(node, behind);
                if self.model.is_consistent(&unit) {
                    self.add(unit);
                }
            }
        }
    }

    /// Adds a unit. A run makes the write of a read-modify-write at once. If another one stands
    /// behind the same store, there is no such run, but there are revisits by the write.
    fn add(&mut self, unit: Graph) {
        let Some(conflict) = pending_writes(&unit).position(|write| is_taken(&unit, write)) else {
            self.units.push(unit);
            return;
        };
        let writes: Vec<GraphNode> = pending_writes(&unit).take(conflict + 1).collect();
        let mut graph = unit;
        for write in writes {
            self.revisits(&graph, write);
            let source = source_of(&graph, write.id);
            graph.place(write, source);
        }
    }
}

/// The places of a write: behind each store, the last one first.
fn places(graph: &Graph, node: GraphNode) -> Vec<u32> {
    let Some(write) = node.write() else { return Vec::new() };
    if write.is_exclusive {
        return vec![source_of(graph, node.id)];
    }
    let stores = &graph.locations[write.location as usize].stores;
    stores.iter().rev().copied().chain([INIT]).collect()
}

/// The store that the read of an exclusive write reads.
fn source_of(graph: &Graph, write: GraphEventId) -> u32 {
    graph.read_of(write).map_or(INIT, |read| graph.nodes[read].reads)
}

/// The writes that a run makes with the reads of the unit, and that the unit does not have.
fn pending_writes(unit: &Graph) -> impl Iterator<Item = GraphNode> + '_ {
    unit.nodes.iter().enumerate().filter_map(|(number, node)| {
        let write = unit.write_of(number)?;
        let id = GraphEventId { is_exclusive_write: true, ..node.id };
        let is_missing = unit.find(id).is_none();
        is_missing.then_some(GraphNode { id, label: Label::Write(write), reads: INIT, cause: NO_CAUSE, waits: false })
    })
}

/// Whether an exclusive write of another thread stands behind the store that the write has to stand
/// behind.
fn is_taken(graph: &Graph, write: GraphNode) -> bool {
    let source = source_of(graph, write.id);
    let location = write.location().unwrap_or(INIT);
    let next = graph.stores_behind(location, source).first();
    next.is_some_and(|&next| {
        let id = graph.nodes[next as usize].id;
        id.is_exclusive_write && source_of(graph, id) == source
    })
}

/// The events that precede an event by program order, creations and ends of threads, and
/// reads-from.
fn prefix(graph: &Graph, node: GraphNode) -> Vec<bool> {
    let mut is_in = vec![false; graph.nodes.len()];
    let is_before = |other: &GraphEventId, id: GraphEventId| other.thread == id.thread && *other < id;
    let last = graph.nodes.iter().rposition(|other| is_before(&other.id, node.id));
    let mut rest: Vec<usize> = last.into_iter().collect();
    if node.cause != NO_CAUSE {
        rest.push(node.cause as usize);
    }
    while let Some(number) = rest.pop() {
        if std::mem::replace(&mut is_in[number], true) {
            continue;
        }
        let node = &graph.nodes[number];
        rest.extend(graph.nodes[..number].iter().rposition(|other| is_before(&other.id, node.id)));
        if node.cause != NO_CAUSE {
            rest.push(node.cause as usize);
        }
        if node.read().is_some() && node.reads != INIT {
            rest.push(node.reads as usize);
        }
    }
    is_in
}

/// Whether the read, and all that a revisit of it would delete, is what the run would do by itself.
fn is_maximal(graph: &Graph, read: usize, needed: &[bool]) -> bool {
    let deleted = (read + 1..graph.nodes.len()).filter(|&number| !needed[number]);
    std::iter::once(read).chain(deleted).all(|number| {
        let node = &graph.nodes[number];
        let Some(location) = node.location() else { return true };
        let is_previous = |other: usize| other <= number || needed[other];
        let store = match node.label {
            Label::Read(_) => node.reads,
            _ => number as u32,
        };
        let is_read = |store: usize| {
            let mut others = graph.nodes.iter().enumerate();
            others.any(|(other, node)| is_previous(other) && node.read().is_some() && node.reads as usize == store)
        };
        if node.write().is_some() && is_read(number) {
            return false;
        }
        (store == INIT || is_previous(store as usize))
            && !graph.stores_behind(location, store).iter().any(|&later| is_previous(later as usize))
    })
}
