//! From the execution of a run to its graph.
//!
//! The run was asked for a *unit*: a graph whose events it makes first. The graph of the run has
//! the events of the unit in the unit's order, and behind them the others in the order in which
//! they were made. That order extends po and rf, but a read of the unit may stand before the store
//! that it reads.
//!
//! A location is an address with a number of bytes. A plain write to it, its allocation and its
//! being freed begin another location at the same place: in an execution without a data race, these
//! are ordered with every atomic operation on it.
//!
//! A thread that stands before a lock that is held is a read of the store that holds it, at the end
//! of the graph.

use std::collections::BTreeMap;

use raddle_vocab::{MemOrder, update};
use serde::{Deserialize, Serialize};

use super::AtomicDetail;
use super::graph::{
    Failing, Graph, GraphEventId, GraphNode, INIT, Label, Location, LocationKey, NO_CAUSE, ReadLabel, ThenWrites,
    WriteLabel,
};
use super::objects::Barriers;
use crate::execution::{Event, Execution, FailingValue, HeldRead};
use crate::object::{AtomicAction, AtomicOp, Op, ThreadOp};
use crate::thread::ThreadPath;

/// What the semantics of weak memory models is not known of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unmodelled {
    /// Condition variables.
    Conditions,
    /// Read-write locks where writers come first.
    Rwlocks,
    /// Semaphores that have a name, or were not initialised in the run.
    Semaphores,
    /// Barriers that more threads wait at than meet there.
    Barriers,
    /// Futexes, and what the C++ library builds on them.
    Futexes,
    /// Unlocking what another thread holds.
    ForeignUnlock,
    /// Looking whether a thread has ended.
    Polls,
    /// Input and output.
    Files,
    /// Values that the program leaves open.
    OpenValues,
    /// Signal handlers.
    Signals,
    /// Atomic sections.
    Sections,
    /// Plain accesses as transitions.
    PlainTransitions,
    /// A thread that waits busily.
    BusyWaiting,
    /// Atomic operations on 16 bytes.
    WideAtomics,
    /// Atomic operations of different sizes on the same bytes.
    MixedSizes,
    /// An atomic object that was changed by code that is not seen.
    UnseenChanges,
    /// An assumption that ended a run.
    Assumptions,
    /// Orders that are announced by annotations, cancellation, and futures of C++.
    Announced,
}

impl Unmodelled {
    /// What it is, for sentences.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Unmodelled::Conditions => "condition variables",
            Unmodelled::Rwlocks => "read-write locks where writers come first",
            Unmodelled::Semaphores => "semaphores that `sem_init` has not initialised",
            Unmodelled::Barriers => "barriers that more threads wait at than meet there",
            Unmodelled::Futexes => "futexes and waits for atomic objects",
            Unmodelled::ForeignUnlock => "unlocking a mutex that another thread holds",
            Unmodelled::Polls => "looking whether a thread has ended",
            Unmodelled::Files => "input and output",
            Unmodelled::OpenValues => "values that the program leaves open",
            Unmodelled::Signals => "signal handlers",
            Unmodelled::Sections => "atomic sections",
            Unmodelled::PlainTransitions => "plain accesses as scheduling points",
            Unmodelled::BusyWaiting => "busy waiting",
            Unmodelled::WideAtomics => "atomic operations on 16 bytes",
            Unmodelled::MixedSizes => "atomic operations of different sizes on the same bytes",
            Unmodelled::UnseenChanges => "atomic objects that code without hooks changes",
            Unmodelled::Assumptions => "assumptions that end a run",
            Unmodelled::Announced => "annotations, cancellation and futures",
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunGraph {
    /// Its graph.
    Graph(Graph),
    /// Something that has no place in a graph.
    Unmodelled(Unmodelled),
    /// A read of the unit turned out to be one with which a loop only goes round again.
    FailedRound(GraphEventId),
    /// It did not do what it was asked for.
    Diverged,
}

/// Makes graphs of executions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorder {
    /// Spawn paths by the number of the thread in the search.
    threads: Vec<ThreadPath>,
    failing: Failing,
}

/// Rounds in which a thread reads the same store at the same place, and does nothing else, at most.
const MOST_ROUNDS: u32 = 16;

/// Why there is no graph.
pub(super) enum Stop {
    Unmodelled(Unmodelled),
    FailedRound(GraphEventId),
    Diverged,
}

impl From<Unmodelled> for Stop {
    fn from(what: Unmodelled) -> Self {
        Stop::Unmodelled(what)
    }
}

impl Recorder {
    /// The number of a thread in the search.
    pub fn number(&mut self, path: &ThreadPath) -> u16 {
        let known = self.threads.iter().position(|known| known == path);
        known.unwrap_or_else(|| {
            self.threads.push(path.clone());
            self.threads.len() - 1
        }) as u16
    }

    /// The graph of a run that was asked for a unit.
    pub fn record(&mut self, execution: &Execution, unit: &Graph) -> RunGraph {
        match self.try_record(execution, unit) {
            Ok(graph) => RunGraph::Graph(graph),
            Err(Stop::Unmodelled(what)) => RunGraph::Unmodelled(what),
            Err(Stop::FailedRound(read)) => RunGraph::FailedRound(read),
            Err(Stop::Diverged) => RunGraph::Diverged,
        }
    }

    /// What is known of values with which threads wait.
    #[must_use]
    pub fn failing(&self) -> &Failing {
        &self.failing
    }

    fn try_record(&mut self, execution: &Execution, unit: &Graph) -> Result<Graph, Stop> {
        for &FailingValue { read, value } in &execution.failing {
            self.failing.insert(read, value);
        }
        let numbers = execution.threads.iter().map(|thread| self.number(&thread.path)).collect();
        let mut run = Run::new(execution, numbers);
        for event in 0..execution.events.len() {
            run.reset_written(event);
            run.event(event)?;
        }
        if let Some(read) = run.failed_round(&self.failing) {
            return Err(Stop::FailedRound(read));
        }
        run.add_waiting()?;
        if run.goes_round() {
            return Err(Unmodelled::BusyWaiting.into());
        }
        run.in_order_of(unit)
    }
}

/// A run, as far as it was followed. Events are numbered in the order in which they were made.
pub(super) struct Run<'a> {
    pub execution: &'a Execution,
    /// Numbers of threads in the search by their numbers in the run.
    numbers: Vec<u16>,
    pub graph: Graph,
    /// How many events each thread has made.
    made: Vec<u32>,
    /// The creation of each thread.
    creations: Vec<u32>,
    /// The end of each thread.
    ends: Vec<u32>,
    /// Locations that live, by their first byte.
    pub live: BTreeMap<u64, u32>,
    /// How many lives of a location are over.
    lives: BTreeMap<(u64, u32), u32>,
    /// Accesses that were looked at.
    accesses: usize,
    pub barriers: Barriers,
}

impl<'a> Run<'a> {
    fn new(execution: &'a Execution, numbers: Vec<u16>) -> Self {
        let threads = numbers.len();
        Run {
            execution,
            numbers,
            graph: Graph::default(),
            made: vec![0; threads],
            creations: vec![NO_CAUSE; threads],
            ends: vec![NO_CAUSE; threads],
            live: BTreeMap::new(),
            lives: BTreeMap::new(),
            accesses: 0,
            barriers: Barriers::default(),
        }
    }

    /// Ends the lives of locations that plain accesses before this event write, allocate or free.
    fn reset_written(&mut self, event: usize) {
        let accesses = &self.execution.accesses;
        while let Some(access) = accesses.get(self.accesses).filter(|access| access.after as usize <= event) {
            self.accesses += 1;
            if !access.kind.keeps_content() {
                self.end_lives(access.addr, access.size);
            }
        }
    }

    pub fn end_lives(&mut self, addr: u64, size: u64) {
        // No location has more than 16 bytes.
        let near = addr.saturating_sub(16)..addr.saturating_add(size);
        let over = self.live.range(near).map(|(&start, &at)| (start, at, self.graph.locations[at as usize].key));
        let over: Vec<_> = over.filter(|(start, _, key)| start + u64::from(key.size.max(1)) > addr).collect();
        for (start, _, key) in over {
            self.live.remove(&start);
            *self.lives.entry((key.addr, key.size)).or_default() += 1;
        }
    }

    /// The location at an address, which holds `found` if its life begins here.
    pub fn location(&mut self, addr: u64, size: u32, found: u64) -> Result<u32, Stop> {
        let near = self.live.range(addr.saturating_sub(16)..addr + u64::from(size.max(1)));
        for (&start, &at) in near {
            let key = self.graph.locations[at as usize].key;
            if (key.addr, key.size) == (addr, size) {
                return Ok(at);
            }
            if start + u64::from(key.size.max(1)) > addr {
                return Err(Unmodelled::MixedSizes.into());
            }
        }
        let life = self.lives.get(&(addr, size)).copied().unwrap_or(0);
        let at = self.graph.locations.len() as u32;
        self.graph.locations.push(Location {
            key: LocationKey { addr, size, life },
            initial: found,
            stores: Vec::new(),
        });
        self.live.insert(addr, at);
        Ok(at)
    }

    pub fn push(&mut self, thread: u16, label: Label, cause: u32) {
        let id = self.next_id(thread);
        self.graph.nodes.push(GraphNode { id, label, reads: INIT, cause, waits: false });
        self.made[usize::from(thread)] += 1;
    }

    fn next_id(&self, thread: u16) -> GraphEventId {
        let run_local = usize::from(thread);
        GraphEventId { thread: self.numbers[run_local], index: self.made[run_local], is_exclusive_write: false }
    }

    /// Adds a read of the store with so many behind it, and the write that belongs to it.
    pub fn read(&mut self, thread: u16, read: ReadLabel, behind: u16) -> Result<u64, Stop> {
        let stores = &self.graph.locations[read.location as usize].stores;
        let source = match stores.len().checked_sub(usize::from(behind)) {
            None => return Err(Stop::Diverged),
            Some(0) => INIT,
            Some(at) => stores[at - 1],
        };
        let value = self.graph.value(read.location, source);
        let id = self.next_id(thread);
        let label = Label::Read(read);
        self.graph.nodes.push(GraphNode { id, label, reads: source, cause: NO_CAUSE, waits: false });
        if let Some(write) = read.write_after(value) {
            let id = GraphEventId { is_exclusive_write: true, ..id };
            self.graph.place(write_node(id, write), source);
        }
        self.made[usize::from(thread)] += 1;
        Ok(value)
    }

    /// Adds a store with so many behind it.
    pub fn write(&mut self, thread: u16, write: WriteLabel, behind: u16) -> Result<(), Stop> {
        let stores = &self.graph.locations[write.location as usize].stores;
        let place = stores.len().checked_sub(usize::from(behind)).ok_or(Stop::Diverged)?;
        let before = if place == 0 { INIT } else { stores[place - 1] };
        let id = self.next_id(thread);
        self.graph.place(write_node(id, write), before);
        self.made[usize::from(thread)] += 1;
        Ok(())
    }

    fn event(&mut self, number: usize) -> Result<(), Stop> {
        let event = &self.execution.events[number];
        let thread = event.thread;
        if event.exposed {
            return Err(Unmodelled::Signals.into());
        }
        match event.op {
            Op::Thread(op) => self.thread(thread, op),
            Op::Atomic(op) => self.atomic(number, thread, &op),
            Op::Fence(op) => {
                self.push(thread, Label::Fence(op.order), NO_CAUSE);
                Ok(())
            }
            Op::Exit(_) => {
                self.push(thread, Label::Local, NO_CAUSE);
                Ok(())
            }
            op => self.object(thread, &op),
        }
    }

    fn thread(&mut self, thread: u16, op: ThreadOp) -> Result<(), Stop> {
        let here = self.graph.nodes.len() as u32;
        let local = |number: u16| usize::from(number);
        match op {
            ThreadOp::Start => self.push(thread, Label::Thread, self.creations[local(thread)]),
            ThreadOp::End => {
                self.ends[local(thread)] = here;
                self.push(thread, Label::Thread, NO_CAUSE);
            }
            ThreadOp::Create { child, failed: false, .. } if local(child) < self.numbers.len() => {
                self.creations[local(child)] = here;
                self.push(thread, Label::Create(self.numbers[local(child)]), NO_CAUSE);
            }
            ThreadOp::Join { thread: joined, refused: false } if local(joined) < self.numbers.len() => {
                self.push(thread, Label::Thread, self.ends[local(joined)]);
            }
            ThreadOp::Create { .. } | ThreadOp::Join { .. } | ThreadOp::Detach { .. } => {
                self.push(thread, Label::Local, NO_CAUSE);
            }
            ThreadOp::Poll { .. } => return Err(Unmodelled::Polls.into()),
        }
        Ok(())
    }

    fn atomic(&mut self, number: usize, thread: u16, op: &AtomicOp) -> Result<(), Stop> {
        if op.outside {
            return Err(Unmodelled::Sections.into());
        }
        if op.size > 8 {
            return Err(Unmodelled::WideAtomics.into());
        }
        // The runtime itself makes some, which have no history.
        let detail = self.execution.detail(number).ok_or(Unmodelled::Announced)?;
        let behind = detail.behind;
        let location = self.location(op.addr, op.size, op.seen())?;
        if let AtomicAction::Store { value, .. } = op.action {
            let (order, continues) = (op.order, op.continues);
            let write = WriteLabel { location, order, value, is_exclusive: false, continues, is_locked: false };
            return self.write(thread, write, behind);
        }
        let held = self.execution.events[number].held;
        let label = atomic_read(op, location, Some(detail), held).ok_or(Stop::Diverged)?;
        // Code without hooks may have changed what the histories do not know of.
        if self.read(thread, label, behind)? == op.seen() { Ok(()) } else { Err(Unmodelled::UnseenChanges.into()) }
    }

    /// Adds a read of the last store that the thread waits at.
    pub fn wait(&mut self, thread: u16, read: ReadLabel) {
        let (id, reads) = (self.next_id(thread), self.graph.last_store(read.location));
        self.graph.nodes.push(GraphNode { id, label: Label::Read(read), reads, cause: NO_CAUSE, waits: true });
    }

    /// A read of a loop that was made with a value with which the loop only goes round again.
    fn failed_round(&self, failing: &Failing) -> Option<GraphEventId> {
        let mut made = vec![0; self.numbers.len()];
        self.execution.events.iter().find_map(|event| {
            let thread = usize::from(event.thread);
            let index = made[thread];
            made[thread] += 1;
            let op = event.op.as_atomic().filter(|op| failing.holds(event.held, op.seen()))?;
            op.reads().then(|| GraphEventId { thread: self.numbers[thread], index, is_exclusive_write: false })
        })
    }

    /// Whether a thread reads the same store at the same place again and again, and does nothing
    /// else: a loop that waits and was not recognised.
    fn goes_round(&self) -> bool {
        let mut rounds: BTreeMap<(u16, u64, u32, u32), u32> = BTreeMap::new();
        for node in &self.graph.nodes {
            let thread = node.id.thread;
            let Some(read) = node.read() else {
                if !matches!(node.label, Label::Fence(_)) {
                    rounds.retain(|key, _| key.0 != thread);
                }
                continue;
            };
            let place = self.place(node.id);
            let count = rounds.entry((thread, place, read.location, node.reads)).or_default();
            *count += 1;
            if *count > MOST_ROUNDS {
                return true;
            }
        }
        false
    }

    /// Where in the program an event was made.
    fn place(&self, id: GraphEventId) -> u64 {
        let run_local = self.numbers.iter().position(|&number| number == id.thread);
        let of_thread = |event: &&Event| Some(usize::from(event.thread)) == run_local;
        self.execution.events.iter().filter(of_thread).nth(id.index as usize).map_or(0, |event| event.pc)
    }

    /// The graph with the events of the unit in front.
    fn in_order_of(self, unit: &Graph) -> Result<Graph, Stop> {
        let mut graph = self.graph;
        let mut place: BTreeMap<GraphEventId, u32> =
            graph.nodes.iter().enumerate().map(|(number, node)| (node.id, number as u32)).collect();
        let mut order = Vec::with_capacity(graph.nodes.len());
        for node in &unit.nodes {
            match place.remove(&node.id) {
                Some(at) => order.push(at),
                // A thread that is held before a read does not make it.
                None if node.waits => {
                    order.push(graph.nodes.len() as u32);
                    let label = moved(node.label, unit, &graph)?;
                    graph.nodes.push(GraphNode { label, ..*node });
                }
                None => return Err(Stop::Diverged),
            }
        }
        // The write of a read-modify-write of the unit is made with its read.
        for node in &unit.nodes {
            order.extend(place.remove(&GraphEventId { is_exclusive_write: true, ..node.id }));
        }
        let is_left: std::collections::BTreeSet<u32> = place.into_values().collect();
        order.extend(is_left);
        let graph = reordered(&graph, &order, unit);
        if follows(&graph, unit) { Ok(graph) } else { Err(Stop::Diverged) }
    }
}

/// The label of a read of one graph in another one, which knows its location.
fn moved(label: Label, from: &Graph, to: &Graph) -> Result<Label, Stop> {
    let Label::Read(read) = label else { return Err(Stop::Diverged) };
    let key = from.locations[read.location as usize].key;
    let at = to.locations.iter().position(|location| location.key == key).ok_or(Stop::Diverged)?;
    Ok(Label::Read(ReadLabel { location: at as u32, ..read }))
}

/// Whether the events of the unit read what they read in the unit, and store in the same order.
fn follows(graph: &Graph, unit: &Graph) -> bool {
    let count = unit.nodes.len();
    let reads = graph.nodes.iter().zip(&unit.nodes).all(|(node, asked)| node.reads == asked.reads);
    let asked = unit.locations.iter().map(|location| (location.key, &location.stores));
    let asked: BTreeMap<LocationKey, &Vec<u32>> = asked.collect();
    reads
        && graph.locations.iter().all(|location| {
            let made = location.stores.iter().copied().filter(|&store| (store as usize) < count);
            made.eq(asked.get(&location.key).into_iter().flat_map(|stores| stores.iter().copied()))
        })
}

/// The graph with its events in another order. Reads that the run did not make read what they read
/// in the unit, whose events come first.
fn reordered(graph: &Graph, order: &[u32], unit: &Graph) -> Graph {
    let mut numbers = vec![INIT; graph.nodes.len()];
    for (new, &old) in order.iter().enumerate() {
        numbers[old as usize] = new as u32;
    }
    let renamed = |number: u32| numbers.get(number as usize).copied().unwrap_or(INIT);
    let nodes = order.iter().enumerate().map(|(new, &old)| {
        let node = graph.nodes[old as usize];
        let asked = unit.nodes.get(new).filter(|asked| asked.waits);
        let reads = asked.map_or_else(|| renamed(node.reads), |asked| asked.reads);
        GraphNode { reads, cause: renamed(node.cause), ..node }
    });
    let nodes = nodes.collect();
    let locations = graph.locations.iter().map(|location| Location {
        stores: location.stores.iter().map(|&store| renamed(store)).collect(),
        ..*location
    });
    Graph { nodes, locations: locations.collect() }
}

/// The label of an atomic operation that reads.
pub(super) fn atomic_read(
    op: &AtomicOp,
    location: u32,
    detail: Option<&AtomicDetail>,
    held: HeldRead,
) -> Option<ReadLabel> {
    let (how, operand) = detail.map_or((0, 0), |detail| (detail.how, detail.operand));
    let continues = how & update::CONTINUES != 0;
    let how = how & !update::CONTINUES;
    let (order, then) = match op.action {
        AtomicAction::Store { .. } => return None,
        AtomicAction::Load { .. } => (op.order, ThenWrites::Nothing),
        AtomicAction::Rmw { .. } => (op.order, ThenWrites::Always { how, operand, size: op.size }),
        AtomicAction::Cas { expected, .. } => {
            let (success, failure) = update::parse_orders(how);
            let failure = MemOrder::from_byte(failure)?;
            (MemOrder::from_byte(success)?, ThenWrites::If { expected, desired: operand, failure })
        }
    };
    Some(ReadLabel { location, order, then, continues, held })
}

/// The node of a write.
fn write_node(id: GraphEventId, write: WriteLabel) -> GraphNode {
    GraphNode { id, label: Label::Write(write), reads: INIT, cause: NO_CAUSE, waits: false }
}
