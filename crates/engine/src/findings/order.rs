//! The order in which a set of transitions is run: as few preemptions as can be found quickly.
//!
//! Any order that keeps conflicting transitions as they were is the same behaviour. Those tried
//! here let a thread run on for as long as it can and differ in which thread they prefer when it
//! cannot. The best of them and of the observed order is taken. That is a heuristic, not a minimum.

use std::collections::BTreeMap;

use raddle_model::SyncState;
use raddle_model::depend::Mode;
use raddle_model::{Enabled, Event, Execution, footprint};

use super::closure::{Transitions, mode_of, touches};

/// Larger sets are left as they are.
const MAX_STEPS: usize = 20_000;

/// The chosen steps in the best order found, with its number of preemptions.
pub fn fewest_preemptions(execution: &Execution, chosen: &[usize], spurious: u32) -> (Vec<usize>, u32) {
    let mut best = (chosen.to_vec(), preemptions(execution, chosen, spurious));
    if chosen.len() > MAX_STEPS {
        return best;
    }
    let graph = Graph::of(execution, chosen);
    for prefer in [Prefer::Low, Prefer::High, Prefer::MostWork, Prefer::LeastWork] {
        let order = graph.run_on(prefer);
        let count = preemptions(execution, &order, spurious);
        if count < best.1 {
            best = (order, count);
        }
    }
    best
}

/// How often a thread that could go on is interrupted.
pub fn preemptions(execution: &Execution, order: &[usize], spurious: u32) -> u32 {
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    let next = next_of_same_thread(execution, order);
    let mut count = 0;
    for (position, &index) in order.iter().enumerate() {
        let step = &execution.events[index];
        if position > 0 && execution.events[order[position - 1]].thread != step.thread {
            count += u32::from(can_go_on(execution, &world, order[position - 1], next[position - 1]));
        }
        world.apply(step);
    }
    count
}

/// For each position the step that its thread makes next in the order.
fn next_of_same_thread(execution: &Execution, order: &[usize]) -> Vec<Option<usize>> {
    let mut later: Vec<Option<usize>> = vec![None; execution.threads.len()];
    let mut next = vec![None; order.len()];
    for (position, &index) in order.iter().enumerate().rev() {
        let slot = &mut later[usize::from(execution.events[index].thread)];
        next[position] = slot.replace(index);
    }
    next
}

/// Whether the thread of a step could make its next one now: the one in the order, else the next of
/// the execution, else what it stands before at the end.
fn can_go_on(execution: &Execution, world: &SyncState, index: usize, next: Option<usize>) -> bool {
    let thread = execution.events[index].thread;
    let later = || (index + 1..execution.events.len()).find(|&later| execution.events[later].thread == thread);
    let op: Option<&Event> = match next.or_else(later) {
        Some(next) => Some(&execution.events[next]),
        None => {
            let pending = execution.pending.get(usize::from(thread));
            return pending.is_some_and(|pending| world.enabled_pending(pending) == Enabled::Yes);
        }
    };
    op.is_some_and(|op| world.enabled(op) == Enabled::Yes)
}

/// Which thread to prefer where the current one cannot go on.
#[derive(Clone, Copy)]
enum Prefer {
    Low,
    High,
    MostWork,
    LeastWork,
}

/// The chosen transitions with what each has to wait for.
struct Graph {
    /// Positions in `chosen` by thread.
    threads: BTreeMap<u16, Vec<usize>>,
    /// How many transitions of other threads each has to wait for.
    waits: Vec<u32>,
    /// The transitions that wait for each.
    followers: Vec<Vec<usize>>,
    chosen: Vec<usize>,
}

/// Positions that touched a cell since it was last written, and the one that wrote it.
#[derive(Default)]
struct CellHistory {
    writer: Option<usize>,
    observers: Vec<usize>,
    sharers: Vec<usize>,
}

impl Graph {
    fn of(execution: &Execution, chosen: &[usize]) -> Self {
        let blocks = Transitions::of(execution);
        let mut cells: BTreeMap<u64, CellHistory> = BTreeMap::new();
        let mut graph = Graph {
            threads: BTreeMap::new(),
            waits: vec![0; chosen.len()],
            followers: vec![Vec::new(); chosen.len()],
            chosen: chosen.to_vec(),
        };
        for (position, &index) in chosen.iter().enumerate() {
            let step = &execution.events[index];
            graph.threads.entry(step.thread).or_default().push(position);
            let mut earlier = Vec::new();
            let data = blocks.of_step(index).map(|at| &execution.accesses[at]);
            let data = data.filter_map(|access| mode_of(access).map(|mode| touches(access, mode))).flatten();
            for touch in footprint(step).into_iter().chain(data) {
                cells.entry(touch.cell).or_default().touch(position, touch.mode, &mut earlier);
            }
            earlier.sort_unstable();
            earlier.dedup();
            for other in earlier.into_iter().filter(|&other| other != position) {
                graph.followers[other].push(position);
                graph.waits[position] += 1;
            }
        }
        graph
    }

    /// Runs each thread for as long as it can.
    fn run_on(&self, prefer: Prefer) -> Vec<usize> {
        let mut waits = self.waits.clone();
        let mut made: BTreeMap<u16, usize> = BTreeMap::new();
        let mut order = Vec::with_capacity(self.chosen.len());
        let mut current: Option<u16> = None;
        while order.len() < self.chosen.len() {
            let ready = |thread: u16| {
                let position = self.threads[&thread].get(made.get(&thread).copied().unwrap_or(0)).copied();
                position.filter(|&position| waits[position] == 0)
            };
            let thread = match current.filter(|&thread| ready(thread).is_some()) {
                Some(thread) => Some(thread),
                None => self.pick(prefer, &made, |thread| ready(thread).is_some()),
            };
            // The observed order is always possible, so some thread can go on. If none can, the
            // graph is wrong: keep that order.
            let Some((thread, position)) = thread.and_then(|thread| Some((thread, ready(thread)?))) else {
                return self.chosen.clone();
            };
            for &follower in &self.followers[position] {
                waits[follower] -= 1;
            }
            *made.entry(thread).or_default() += 1;
            order.push(self.chosen[position]);
            current = Some(thread);
        }
        order
    }

    fn pick(&self, prefer: Prefer, made: &BTreeMap<u16, usize>, ready: impl Fn(u16) -> bool) -> Option<u16> {
        let candidates = self.threads.keys().copied().filter(|&thread| ready(thread));
        let left = |&thread: &u16| self.threads[&thread].len() - made.get(&thread).copied().unwrap_or(0);
        match prefer {
            Prefer::Low => candidates.min(),
            Prefer::High => candidates.max(),
            Prefer::MostWork => candidates.max_by_key(left),
            Prefer::LeastWork => candidates.min_by_key(left),
        }
    }
}

impl CellHistory {
    /// Adds a touch; puts those that it must stay behind into `earlier`. Bytes are not told apart
    /// here: a few needless constraints do no harm.
    fn touch(&mut self, position: usize, mode: Mode, earlier: &mut Vec<usize>) {
        earlier.extend(self.writer);
        match mode {
            Mode::Observe => {
                earlier.extend(&self.sharers);
                self.observers.push(position);
            }
            Mode::Share => {
                earlier.extend(&self.observers);
                self.sharers.push(position);
            }
            Mode::Write => {
                earlier.append(&mut self.observers);
                earlier.append(&mut self.sharers);
                self.writer = Some(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{execution, step};
    use raddle_vocab::OpKind;

    /// Two threads take turns with locks of their own: nothing forces the turns.
    #[test]
    fn needless_turns_are_straightened() {
        let (a, b) = (0x100, 0x200);
        let mut steps = vec![step(0, OpKind::ThreadStart, 0, 0), step(0, OpKind::Create, 0, 1)];
        steps.push(step(1, OpKind::ThreadStart, 0, 0));
        for _ in 0..5 {
            steps.push(step(0, OpKind::Lock, a, 0));
            steps.push(step(1, OpKind::Lock, b, 0));
            steps.push(step(0, OpKind::Unlock, a, 0));
            steps.push(step(1, OpKind::Unlock, b, 0));
        }
        let run = execution(2, steps, vec![]);
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

    /// A thread that waits for a lock is not preempted.
    #[test]
    fn waiting_is_no_preemption() {
        let m = 0x100;
        let steps = vec![
            step(0, OpKind::ThreadStart, 0, 0),
            step(0, OpKind::Create, 0, 1),
            step(0, OpKind::Lock, m, 0),
            step(1, OpKind::ThreadStart, 0, 0),
            step(0, OpKind::Unlock, m, 0),
            step(1, OpKind::Lock, m, 0),
        ];
        let run = execution(2, steps, vec![]);
        // T0 could have unlocked (1); T1 then stands before a lock that is held.
        assert_eq!(preemptions(&run, &[0, 1, 2, 3, 4, 5], 0), 1);
        assert_eq!(preemptions(&run, &[0, 1, 2, 4, 3, 5], 0), 0);
    }
}
