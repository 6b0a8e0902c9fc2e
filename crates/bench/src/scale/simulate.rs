//! Workers that share a recorded search tree, as events in the order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use raddle_cluster::worker::{FEW, PIECES, SHORT};
use raddle_explore::optimal::items::divide;

use super::tree::RecordedTree;

/// Seconds that a worker explores a task.
const SHARE: f64 = 1.0;

/// Seconds that sharing takes.
#[derive(Clone, Copy)]
pub struct Costs {
    /// Between the end of a task and the beginning of the next, for a worker.
    pub between: f64,
    /// Until the children of a task are there for others.
    pub store: f64,
}

/// What came of it.
pub struct Simulated {
    pub seconds: f64,
    pub tasks: u64,
}

/// A moment, in nanoseconds.
type Time = u64;

fn time(seconds: f64) -> Time {
    (seconds * 1e9) as Time
}

/// Something that happens.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A task is there.
    Task(Vec<u32>),
    /// A worker wants one.
    Free,
}

/// Shares a search that takes one worker so many seconds.
pub fn simulate(tree: &RecordedTree, workers: usize, seconds: f64, costs: Costs) -> Simulated {
    let mut events: BinaryHeap<Reverse<(Time, Event)>> = (0..workers).map(|_| Reverse((0, Event::Free))).collect();
    events.push(Reverse((0, Event::Task(vec![0]))));
    let (mut waiting, mut free): (VecDeque<Vec<u32>>, usize) = (VecDeque::new(), 0);
    let (mut end, mut tasks) = (0, 0);
    while let Some(Reverse((now, event))) = events.pop() {
        match event {
            Event::Task(work) => waiting.push_back(work),
            Event::Free => free += 1,
        }
        while free > 0
            && let Some(work) = waiting.pop_front()
        {
            (free, tasks) = (free - 1, tasks + 1);
            let share = if (waiting.len() as u64) < FEW { SHARE / f64::from(SHORT) } else { SHARE };
            let (spent, left) = explore(tree, work, seconds, share);
            let done = now + time(spent);
            end = end.max(done + time(costs.store));
            for piece in divide(&left, PIECES) {
                events.push(Reverse((done + time(costs.store), Event::Task(piece.to_vec()))));
            }
            events.push(Reverse((done + time(costs.between), Event::Free)));
        }
    }
    Simulated { seconds: end as f64 / 1e9, tasks }
}

/// Explores work items, the youngest first, for a while: the time that it took, and what is left.
fn explore(tree: &RecordedTree, mut work: Vec<u32>, seconds: f64, share: f64) -> (f64, Vec<u32>) {
    let mut spent = 0.0;
    while spent < share
        && let Some(item) = work.pop()
    {
        spent += tree.share(item) * seconds;
        work.extend(tree.children(item));
    }
    (spent, work)
}
