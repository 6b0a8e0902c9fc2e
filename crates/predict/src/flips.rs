//! Reorderings that may take the program to a new path, for rounds after the first.
//!
//! If a thread can observe the order of two transitions (a read and a write, a try and an
//! acquisition, a wait and a wake-up, the calls of an initialiser), the reverse order may take
//! another path, with accesses that the trace does not have.

use std::collections::{BTreeMap, BTreeSet};

use crate::order::MustHappenBefore;
use crate::pins::{Pins, ReadsFrom};
use crate::search::{Reachability, ReorderedEvent, Searcher};
use crate::trace::{ObservedTrace, SyncOp, Tid};

/// Pairs of one trace that are reversed, at most.
const MOST: usize = 400;

/// A reordering, and threads that make one more event each at its end. These events need not occur
/// in the trace.
#[derive(Clone, Debug)]
pub struct Flip {
    /// The reordering.
    pub events: Vec<ReorderedEvent>,
    /// The threads that go on, in this order.
    pub then: Vec<Tid>,
}

/// Reorderings that reverse a pair of transitions, and reorderings that let a thread go on that was
/// blocked at the end of the trace.
#[must_use]
pub fn flips(trace: &ObservedTrace, order: &MustHappenBefore, flow: &ReadsFrom, budget: usize) -> Vec<Flip> {
    let searcher = Searcher::new(trace, order, budget);
    let mut tried = BTreeSet::new();
    let mut found = Vec::new();
    let met = pairs(trace, flow);
    let wanted = stuck(trace, order).into_iter().chain(met.into_iter().flat_map(|pair| goals(trace, order, pair)));
    for (goal, then) in wanted {
        if !tried.insert((goal.clone(), then.clone())) {
            continue;
        }
        if tried.len() > MOST {
            break;
        }
        if let Reachability::Reachable(events) = searcher.reach(&goal, &Pins::default()) {
            found.push(Flip { events, then });
        }
    }
    found
}

type Wanted = (Vec<(Tid, u32)>, Vec<Tid>);

/// Goals from which the two transitions of a pair happen in another order or with another outcome.
fn goals(trace: &ObservedTrace, order: &MustHappenBefore, (a, b): (u32, u32)) -> Vec<Wanted> {
    let ((one, at), (two, behind)) = (trace.position(a), trace.position(b));
    let mut wanted = Vec::new();
    let mut add = |thread: Tid, position: u32, other: Tid, limit: u32, then: &[Tid]| {
        let needed = order.clock(thread, position)[usize::from(other)];
        if needed <= limit {
            wanted.push((vec![(thread, position), (other, needed)], then.to_vec()));
        }
    };
    // The later transition first, with its outcome in the trace.
    add(two, behind + 1, one, at, &[]);
    if waits_or_tries(&trace.events[a as usize].op) || waits_or_tries(&trace.events[b as usize].op) {
        // The later one before the earlier one, with another outcome; and the earlier one after the
        // later one.
        add(two, behind, one, at, &[two]);
        add(one, at, two, behind, &[one]);
        wanted.push((vec![(two, behind), (one, at + 1)], vec![two]));
        wanted.push((vec![(one, at), (two, behind + 1)], vec![one]));
    }
    // One immediately after the other, so that a read sees this write and no earlier one of its own
    // thread.
    wanted.push((vec![(one, at), (two, behind)], vec![two, one]));
    wanted.push((vec![(one, at), (two, behind)], vec![one, two]));
    wanted
}

/// Whether the outcome of the operation depends on the order of the two.
fn waits_or_tries(op: &SyncOp) -> bool {
    !matches!(op, SyncOp::Free | SyncOp::Fork(_) | SyncOp::Join(_) | SyncOp::Publish(_))
}

/// For each thread that is blocked at the end: goals at which no other thread has acquired what it
/// waits for.
fn stuck(trace: &ObservedTrace, order: &MustHappenBefore) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for (number, thread) in trace.threads.iter().enumerate() {
        let (number, last) = (number as Tid, thread.last());
        let Some(slot) = thread.pending.as_ref().and_then(taken) else { continue };
        for event in trace.events.iter().filter(|event| event.thread != number && taken(&event.op) == Some(slot)) {
            let needed = order.clock(number, last)[usize::from(event.thread)];
            for position in [needed, event.index] {
                if needed <= event.index {
                    wanted.push((vec![(number, last), (event.thread, position)], vec![number]));
                }
            }
        }
    }
    wanted
}

/// The object that an event acquires.
fn taken(op: &SyncOp) -> Option<u32> {
    match *op {
        SyncOp::Lock(slot) | SyncOp::ReadLock(slot) | SyncOp::WriteLock(slot) | SyncOp::Take(slot) => Some(slot),
        _ => None,
    }
}

/// What two transitions have in common whose order a thread can observe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Contended {
    Variable(u32),
    Slot(u32),
}

/// Pairs of transitions of different threads whose order a thread can observe, the earlier one
/// first.
fn pairs(trace: &ObservedTrace, flow: &ReadsFrom) -> Vec<(u32, u32)> {
    let mut by_meeting: BTreeMap<Contended, Vec<(u32, bool)>> = BTreeMap::new();
    for event in 0..trace.events.len() as u32 {
        for &(var, _) in flow.reads(event) {
            by_meeting.entry(Contended::Variable(var)).or_default().push((event, false));
        }
        for &var in flow.writes(event) {
            by_meeting.entry(Contended::Variable(var)).or_default().push((event, true));
        }
        if let Some(slot) = noticed(&trace.events[event as usize].op, trace) {
            by_meeting.entry(Contended::Slot(slot)).or_default().push((event, true));
        }
    }
    let mut pairs = Vec::new();
    for events in by_meeting.values() {
        for (number, &(b, b_changes)) in events.iter().enumerate() {
            for &(a, a_changes) in &events[..number] {
                let apart = trace.events[a as usize].thread != trace.events[b as usize].thread;
                if apart && (a_changes || b_changes) {
                    pairs.push((a, b));
                }
            }
            if pairs.len() > 100 * MOST {
                return pairs;
            }
        }
    }
    pairs.sort_unstable_by_key(|&(a, b)| (b - a, a));
    pairs.dedup();
    pairs
}

/// The object of an event, if a thread can observe the order of its operations: objects with tries,
/// queues, initialisers.
fn noticed(op: &SyncOp, trace: &ObservedTrace) -> Option<u32> {
    match *op {
        SyncOp::Busy(slot) | SyncOp::BusyRead(slot) | SyncOp::BusyWrite(slot) | SyncOp::Empty(slot) => Some(slot),
        SyncOp::Enqueue { queue, .. } | SyncOp::Wake { queue, .. } | SyncOp::Resume { queue, .. } => Some(queue),
        SyncOp::OnceSeen(slot) | SyncOp::OnceEnd(slot) => Some(slot),
        SyncOp::Lock(slot)
        | SyncOp::ReadLock(slot)
        | SyncOp::WriteLock(slot)
        | SyncOp::Take(slot)
        | SyncOp::Post(slot) => trace.slots[slot as usize].noticed.then_some(slot),
        _ => None,
    }
}
