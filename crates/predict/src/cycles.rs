//! Deadlock candidates: cycles of threads, each of which waits for a lock that the next one holds.
//!
//! A node is an acquisition that can block, made while other locks are held. A cycle of nodes of
//! different threads is a candidate unless two of the threads hold a common lock (a gate lock) or
//! must-happen-before orders them. Cycles of more than [`LONGEST`] threads are not looked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::label::EventLabel;
use crate::order::MustHappenBefore;
use crate::trace::{ObservedTrace, Slot, SyncOp, Tid};

/// Threads of one cycle, at most.
pub const LONGEST: usize = 5;
/// Cycles of one trace, at most.
const MOST_CYCLES: usize = 2_000;
/// Positions of one node that are tried.
const MOST_POSITIONS: usize = 6;
/// Combinations of positions of one cycle that are tried.
const MOST_INSTANCES: usize = 64;

/// Threads that could wait for each other.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Where each thread waits, in the order of the cycle.
    pub places: Vec<u64>,
    /// Threads and positions at which all of them would wait.
    pub instances: Vec<Vec<(Tid, u32)>>,
    /// Whether there are more instances.
    pub more: bool,
}

/// The lock cycles of a trace.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    /// The cycles, each set of places once.
    pub cycles: Vec<Cycle>,
    /// Whether there are more cycles.
    pub more: bool,
}

struct Node {
    thread: Tid,
    place: u64,
    wants: Slot,
    writes: bool,
    held: u32,
    positions: Vec<u32>,
}

/// Finds the lock cycles of a trace among the events in `window`.
#[must_use]
pub fn cycles(trace: &ObservedTrace, order: &MustHappenBefore, window: std::ops::Range<u32>) -> Cycles {
    let nodes = nodes(trace, window);
    let mut finder = Finder { trace, order, nodes: &nodes, found: BTreeMap::new(), count: 0 };
    for first in 0..nodes.len() {
        finder.extend(&mut vec![first]);
    }
    Cycles { more: finder.count >= MOST_CYCLES, cycles: finder.found.into_values().collect() }
}

fn nodes(trace: &ObservedTrace, window: std::ops::Range<u32>) -> Vec<Node> {
    let mut keyed: BTreeMap<(Tid, u64, Slot, bool, u32), Vec<u32>> = BTreeMap::new();
    for (number, event) in trace.events.iter().enumerate() {
        let (slot, writes) = match event.op {
            SyncOp::Lock(slot) | SyncOp::WriteLock(slot) => (slot, true),
            SyncOp::ReadLock(slot) => (slot, false),
            _ => continue,
        };
        let held = trace.threads[usize::from(event.thread)].held[event.index as usize];
        if held != 0 && event.label != EventLabel::Try && window.contains(&(number as u32)) {
            keyed.entry((event.thread, event.place, slot, writes, held)).or_default().push(event.index);
        }
    }
    let node =
        |((thread, place, wants, writes, held), positions)| Node { thread, place, wants, writes, held, positions };
    keyed.into_iter().map(node).collect()
}

struct Finder<'a> {
    trace: &'a ObservedTrace,
    order: &'a MustHappenBefore,
    nodes: &'a [Node],
    found: BTreeMap<BTreeSet<u64>, Cycle>,
    count: usize,
}

impl Finder<'_> {
    /// Whether the first node's thread waits for the second one's.
    fn waits(&self, first: &Node, second: &Node) -> bool {
        let holds = |(slot, writes): (Slot, bool)| slot == first.wants && (writes || first.writes);
        self.trace.locks.slots(second.held).any(holds)
    }

    fn extend(&mut self, path: &mut Vec<usize>) {
        if self.count >= MOST_CYCLES {
            return;
        }
        let (first, last) = (&self.nodes[path[0]], &self.nodes[path[path.len() - 1]]);
        if path.len() > 1 && self.waits(last, first) {
            self.take(path);
        }
        if path.len() == LONGEST {
            return;
        }
        for next in 0..self.nodes.len() {
            let node = &self.nodes[next];
            // The least thread is the first, so that each cycle is found once.
            let new = node.thread > first.thread && path.iter().all(|&other| self.nodes[other].thread != node.thread);
            let fits = |&other: &usize| self.trace.locks.compatible(self.nodes[other].held, node.held);
            if new && self.waits(last, node) && path.iter().all(fits) {
                path.push(next);
                self.extend(path);
                path.pop();
            }
        }
    }

    fn take(&mut self, path: &[usize]) {
        self.count += 1;
        let places: Vec<u64> = path.iter().map(|&node| self.nodes[node].place).collect();
        let mut combinations: Vec<Vec<(Tid, u32)>> = vec![Vec::new()];
        let mut more = false;
        for &node in path {
            let node = &self.nodes[node];
            more |= node.positions.len() > MOST_POSITIONS;
            let mut longer = Vec::new();
            for goal in &combinations {
                for &position in node.positions.iter().take(MOST_POSITIONS) {
                    let side = (node.thread, position);
                    let apart =
                        |&other: &(Tid, u32)| !self.order.ordered(other, side) && !self.order.ordered(side, other);
                    if goal.iter().all(apart) {
                        longer.push([goal.as_slice(), &[side]].concat());
                    }
                }
            }
            combinations = longer;
        }
        if combinations.is_empty() {
            return;
        }
        let key = places.iter().copied().collect();
        let cycle = self.found.entry(key).or_insert_with(|| Cycle { places, instances: Vec::new(), more: false });
        let room = MOST_INSTANCES.saturating_sub(cycle.instances.len());
        cycle.more |= more || combinations.len() > room;
        cycle.instances.extend(combinations.into_iter().take(room));
    }
}
