//! The order in which a set of transitions is run: as few preemptions as can be found quickly.
//!
//! Any order that keeps conflicting transitions as they were is the same behaviour. Those tried
//! here let a thread run on for as long as it can and differ in which thread they prefer when it
//! cannot. The best of them and of the observed order is taken. That is a heuristic, not a minimum.

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::linearise::DependenceGraph;
use raddle_model::preemption::{NextOp, PreemptionCount};
use raddle_model::{Execution, SyncState, Touch, footprint};

use super::closure::{Transitions, is_large, mode_of, touches, touches_among};

/// Larger sets are left as they are.
const MAX_EVENTS: usize = 20_000;

/// The chosen events in the best order found, with its number of preemptions.
pub fn fewest_preemptions(execution: &Execution, chosen: &[usize], spurious: u32) -> (Vec<usize>, u32) {
    let mut best = (chosen.to_vec(), preemptions(execution, chosen, spurious));
    if chosen.len() > MAX_EVENTS {
        return best;
    }
    let graph = graph(execution, chosen);
    for prefer in [Prefer::Low, Prefer::High, Prefer::MostWork, Prefer::LeastWork] {
        let order = run_on(&graph, execution, chosen, prefer);
        let count = preemptions(execution, &order, spurious);
        if count < best.1 {
            best = (order, count);
        }
    }
    best
}

/// How often a thread that could go on is interrupted.
pub fn preemptions(execution: &Execution, order: &[usize], spurious: u32) -> u32 {
    let mut state = SyncState::new(spurious);
    state.prepare(execution);
    let next = next_of_same_thread(execution, order);
    let mut preemptions = PreemptionCount::default();
    for (position, &index) in order.iter().enumerate() {
        let event = &execution.events[index];
        if preemptions.last_thread().is_some_and(|last| last != event.thread) {
            preemptions.observe(&state, |_| next_op(execution, order[position - 1], next[position - 1]));
        }
        preemptions.take(event.thread);
        state.apply(event);
    }
    preemptions.count()
}

/// For each position the event that its thread makes next in the order.
fn next_of_same_thread(execution: &Execution, order: &[usize]) -> Vec<Option<usize>> {
    let mut later: Vec<Option<usize>> = vec![None; execution.threads.len()];
    let mut next = vec![None; order.len()];
    for (position, &index) in order.iter().enumerate().rev() {
        let slot = &mut later[usize::from(execution.events[index].thread)];
        next[position] = slot.replace(index);
    }
    next
}

/// What the thread of an event does next: its next event in the order, else in the execution, else
/// what it stands before at the end.
fn next_op(execution: &Execution, index: usize, next: Option<usize>) -> Option<NextOp<'_>> {
    let thread = execution.events[index].thread;
    let later = || (index + 1..execution.events.len()).find(|&later| execution.events[later].thread == thread);
    match next.or_else(later) {
        Some(next) => Some(NextOp::Event(&execution.events[next])),
        None => execution.pending.get(usize::from(thread)).map(NextOp::Pending),
    }
}

/// Which thread to prefer where the current one cannot go on.
#[derive(Clone, Copy)]
enum Prefer {
    Low,
    High,
    MostWork,
    LeastWork,
}

impl Prefer {
    /// The thread with the highest number is preferred; `left` is how many transitions it has left.
    fn number(self, thread: u16, left: i64) -> (i64, i64) {
        let thread = i64::from(thread);
        match self {
            Prefer::Low => (0, -thread),
            Prefer::High => (0, thread),
            Prefer::MostWork => (left, thread),
            Prefer::LeastWork => (-left, -thread),
        }
    }
}

/// The graph of the chosen transitions.
fn graph(execution: &Execution, chosen: &[usize]) -> DependenceGraph {
    let transitions = Transitions::of(execution);
    let cells = cells_of_interest(execution, &transitions, chosen);
    DependenceGraph::of(chosen.iter().map(|&index| {
        let event = &execution.events[index];
        let data = transitions.of_event(index).map(|at| &execution.accesses[at]);
        let data = data.filter_map(|access| mode_of(access).map(|mode| touches_among(access, mode, &cells))).flatten();
        // Bytes are not told apart here: a few needless constraints do no harm.
        let whole = |touch: Touch| Touch { bytes: 0xff, ..touch };
        (event.thread, footprint(event).into_iter().chain(data).map(whole))
    }))
}

/// The cells by which large accesses are represented: the first cell of each, and all that others
/// touch. Of two large accesses that overlap, one has its first cell in the other.
fn cells_of_interest(execution: &Execution, transitions: &Transitions, chosen: &[usize]) -> BTreeSet<u64> {
    let mut cells = BTreeSet::new();
    if !execution.accesses.iter().any(is_large) {
        return cells;
    }
    for &index in chosen {
        cells.extend(footprint(&execution.events[index]).iter().map(|touch| touch.cell));
        for access in transitions.of_event(index).map(|at| &execution.accesses[at]) {
            match mode_of(access) {
                Some(_) if is_large(access) => cells.extend([access.addr >> 3]),
                Some(mode) => cells.extend(touches(access, mode).map(|touch| touch.cell)),
                None => {}
            }
        }
    }
    cells
}

/// The order in which each thread runs for as long as it can.
fn run_on(graph: &DependenceGraph, execution: &Execution, chosen: &[usize], prefer: Prefer) -> Vec<usize> {
    let thread_of = |position: usize| execution.events[chosen[position]].thread;
    let mut left: BTreeMap<u16, i64> = BTreeMap::new();
    for position in 0..chosen.len() {
        *left.entry(thread_of(position)).or_default() += 1;
    }
    let mut current = None;
    let order = graph.linearise(|ready| {
        let key = |&at: &usize| {
            let thread = thread_of(ready[at]);
            (current == Some(thread), prefer.number(thread, left[&thread]))
        };
        let at = (0..ready.len()).max_by_key(key).unwrap_or(0);
        let thread = thread_of(ready[at]);
        left.entry(thread).and_modify(|left| *left -= 1);
        current = Some(thread);
        at
    });
    order.into_iter().map(|position| chosen[position]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{access, event, execution};
    use raddle_model::AccessKind;
    use raddle_vocab::OpKind;

    /// Two threads take turns with locks of their own: nothing forces the turns.
    #[test]
    fn needless_turns_are_straightened() {
        let (a, b) = (0x100, 0x200);
        let mut events = vec![event(0, OpKind::ThreadStart, 0, 0), event(0, OpKind::Create, 0, 1)];
        events.push(event(1, OpKind::ThreadStart, 0, 0));
        for _ in 0..5 {
            events.push(event(0, OpKind::Lock, a, 0));
            events.push(event(1, OpKind::Lock, b, 0));
            events.push(event(0, OpKind::Unlock, a, 0));
            events.push(event(1, OpKind::Unlock, b, 0));
        }
        let run = execution(2, events, vec![]);
        let all: Vec<usize> = (0..run.events.len()).collect();
        assert!(preemptions(&run, &all, 0) > 10);
        let (order, count) = fewest_preemptions(&run, &all, 0);
        assert!(count <= 1, "{count} {order:?}");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all);
        for thread in 0..2 {
            let own: Vec<usize> = order.iter().copied().filter(|&at| run.events[at].thread == thread).collect();
            assert!(own.is_sorted(), "{order:?}");
        }
    }

    /// Large accesses are not cut into cells, and keep their order with what they overlap.
    #[test]
    fn large_accesses_keep_their_order() {
        let threads = [0, 0, 1, 0, 1, 0];
        let kinds = [OpKind::ThreadStart, OpKind::Create, OpKind::ThreadStart];
        let kinds = kinds.into_iter().chain(std::iter::repeat(OpKind::Fence));
        let events = threads.iter().zip(kinds).map(|(&thread, kind)| event(thread, kind, 0, 1)).collect();
        let accesses = vec![
            access(0, AccessKind::Write, 0x1000, 1 << 60, 4, 0),
            access(1, AccessKind::Read, 0x2000, 1 << 61, 5, 0),
            access(0, AccessKind::Write, 0x3000, 4, 6, 0),
        ];
        let run = execution(2, events, accesses);
        let all: Vec<usize> = (0..run.events.len()).collect();
        let latest = |ready: &[usize]| (0..ready.len()).max_by_key(|&at| ready[at]).unwrap();
        let order = graph(&run, &all).linearise(latest).into_iter();
        assert_eq!(order.filter(|&at| at > 2).collect::<Vec<_>>(), [3, 4, 5]);
    }

    /// A thread that waits for a lock is not preempted.
    #[test]
    fn waiting_is_no_preemption() {
        let m = 0x100;
        let events = vec![
            event(0, OpKind::ThreadStart, 0, 0),
            event(0, OpKind::Create, 0, 1),
            event(0, OpKind::Lock, m, 0),
            event(1, OpKind::ThreadStart, 0, 0),
            event(0, OpKind::Unlock, m, 0),
            event(1, OpKind::Lock, m, 0),
        ];
        let run = execution(2, events, vec![]);
        // T0 could have unlocked (1); T1 then stands before a lock that is held.
        assert_eq!(preemptions(&run, &[0, 1, 2, 3, 4, 5], 0), 1);
        assert_eq!(preemptions(&run, &[0, 1, 2, 4, 3, 5], 0), 0);
    }
}
