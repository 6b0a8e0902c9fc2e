//! Happens-before by the book: all edges of C11 and C++20 as a graph, closed transitively. Slow and
//! simple.

use std::collections::BTreeSet;

use raddle_model::race::Touching;
use raddle_model::{AccessKind, Execution, Operation as _};
use raddle_vocab::handler::Handling;
use raddle_vocab::{OpKind, Outcome, Words};

/// An event: a step or a data access.
struct Item {
    thread: u16,
    step: Option<Words>,
    touches: Vec<(u64, u64, Touching)>,
    pc: u64,
}

fn events(execution: &Execution) -> Vec<Item> {
    let mut all = Vec::new();
    let mut accesses = execution.accesses.iter().peekable();
    for number in 0..=execution.events.len() {
        while let Some(access) = accesses.next_if(|access| access.after as usize <= number) {
            let what = match access.kind {
                AccessKind::Read => Touching::Read,
                AccessKind::Write => Touching::Write,
                other => panic!("the abstract programs do not allocate: {other:?}"),
            };
            let touches = vec![(access.addr, access.size, what)];
            all.push(Item { thread: access.thread, step: None, touches, pc: access.pc });
        }
        if let Some(step) = execution.events.get(number) {
            let words = step.op.pack();
            let what = match (words.kind, words.outcome) {
                (OpKind::Read, _) => Some(Touching::Read),
                (OpKind::Write, _) => Some(Touching::Write),
                (OpKind::AtomicLoad, _) | (OpKind::AtomicCas, Outcome::Failed) => Some(Touching::AtomicRead),
                (OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas, _) => Some(Touching::AtomicWrite),
                _ => None,
            };
            let touches = what.into_iter().map(|what| (words.obj, 4, what)).collect();
            all.push(Item { thread: step.thread, step: Some(words), touches, pc: step.pc });
        }
    }
    all
}

/// Pairs of places and cells that race.
pub fn races(execution: &Execution) -> BTreeSet<(u64, u64, u64)> {
    let events = events(execution);
    let before = closure(&events);
    let mut races = BTreeSet::new();
    for b in 0..events.len() {
        for a in 0..b {
            if events[a].thread == events[b].thread || before[b][a] {
                continue;
            }
            for x in &events[a].touches {
                for y in &events[b].touches {
                    if x.2.conflicts(y.2) && x.0 < y.0 + y.1 && y.0 < x.0 + x.1 {
                        let (low, high) = (events[a].pc.min(events[b].pc), events[a].pc.max(events[b].pc));
                        races.insert((low, high, x.0.max(y.0) >> 3));
                    }
                }
            }
        }
    }
    races
}

/// `before[b][a]`: a happens before b.
fn closure(events: &[Item]) -> Vec<Vec<bool>> {
    let n = events.len();
    let mut before = vec![vec![false; n]; n];
    for b in 0..n {
        for a in 0..b {
            if events[a].thread == events[b].thread || synchronises(events, a, b) {
                before[b][a] = true;
                let past = before[a].clone();
                before[b].iter_mut().zip(past).for_each(|(mine, theirs)| *mine |= theirs);
            }
        }
    }
    before
}

/// Whether the earlier event `a` of another thread synchronises with `b`.
fn synchronises(events: &[Item], a: usize, b: usize) -> bool {
    // A handler and the thread that it interrupts are one thread.
    let onto = |step: &Words| u64::from(Handling::unpack(step.arg).onto);
    let suspends = |step: &Words| step.kind == OpKind::Deliver && onto(step) == u64::from(events[a].thread);
    let resumes = |step: &Words| step.kind == OpKind::HandlerReturn && onto(step) == u64::from(events[b].thread);
    if events[b].step.as_ref().is_some_and(suspends) || events[a].step.as_ref().is_some_and(resumes) {
        return true;
    }
    // So are two handlers that interrupt it one after the other.
    let is_next =
        |x: &Words, y: &Words| (x.kind, y.kind) == (OpKind::HandlerReturn, OpKind::Deliver) && onto(x) == onto(y);
    if let (Some(x), Some(y)) = (&events[a].step, &events[b].step)
        && is_next(x, y)
    {
        return true;
    }
    let (Some(x), Some(y)) = (&events[a].step, &events[b].step) else { return false };
    let done = x.outcome == Outcome::Done && y.outcome == Outcome::Done;
    match (x.kind, y.kind) {
        (OpKind::Create, OpKind::ThreadStart) => x.arg == u64::from(events[b].thread),
        (OpKind::ThreadEnd, OpKind::Join) => done && y.arg == u64::from(events[a].thread),
        (OpKind::Unlock, OpKind::Lock | OpKind::TryLock | OpKind::TimedLock) => done && x.obj == y.obj,
        (OpKind::Unlock, OpKind::CondReacquire) => x.outcome == Outcome::Done && x.obj == y.arg,
        (OpKind::CondWait | OpKind::CondTimedWait, OpKind::Lock | OpKind::TryLock | OpKind::TimedLock) => {
            done && x.arg == y.obj
        }
        (OpKind::CondWait | OpKind::CondTimedWait, OpKind::CondReacquire) => x.arg == y.arg,
        (OpKind::RwUnlock, OpKind::WriteLock | OpKind::TryWriteLock | OpKind::TimedWriteLock) => done && x.obj == y.obj,
        (OpKind::RwUnlock, OpKind::ReadLock | OpKind::TryReadLock | OpKind::TimedReadLock) => {
            done && x.obj == y.obj && x.arg == 1
        }
        (OpKind::SemPost, OpKind::SemWait | OpKind::SemTryWait | OpKind::SemTimedWait) => done && x.obj == y.obj,
        (OpKind::BarrierArrive, OpKind::BarrierLeave) => x.obj == y.obj && x.arg == y.arg,
        (OpKind::OnceEnd, OpKind::OnceBegin) => x.obj == y.obj,
        _ => atomics_synchronise(events, a, b),
    }
}

/// `a` is a release operation or fence, `b` an acquire operation or fence, and a read (`b` itself,
/// or one before the fence `b`) takes its value from the release sequence headed by a write (`a`
/// itself, or one behind the fence `a`).
fn atomics_synchronise(events: &[Item], a: usize, b: usize) -> bool {
    let heads = |write: usize| {
        write == a && is_write(events, a) && order(events, a).releases() || behind_fence(events, a, write)
    };
    let reads: Vec<usize> = if is_fence(events, b) && order(events, b).acquires() {
        (0..b).filter(|&read| events[read].thread == events[b].thread && is_read(events, read)).collect()
    } else if is_read(events, b) && order(events, b).acquires() {
        vec![b]
    } else {
        Vec::new()
    };
    reads.into_iter().any(|read| release_sequence(events, read).into_iter().any(heads))
}

fn behind_fence(events: &[Item], fence: usize, write: usize) -> bool {
    is_fence(events, fence)
        && order(events, fence).releases()
        && events[fence].thread == events[write].thread
        && fence < write
}

/// The writes whose release sequence the value read belongs to, if they release.
fn release_sequence(events: &[Item], read: usize) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut at = read;
    while let Some(write) = source(events, at) {
        if events[write].step.is_none_or(|step| step.kind == OpKind::Write) {
            break;
        }
        chain.push(write);
        if !is_read(events, write) {
            break;
        }
        at = write;
    }
    chain
}

/// The last write to the location before the event.
fn source(events: &[Item], at: usize) -> Option<usize> {
    let location = events[at].touches.first()?.0;
    let writes = |event: &Item| {
        event
            .touches
            .iter()
            .any(|&(addr, _, what)| addr == location && matches!(what, Touching::Write | Touching::AtomicWrite))
    };
    (0..at).rev().find(|&earlier| writes(&events[earlier]))
}

fn order(events: &[Item], at: usize) -> raddle_vocab::MemOrder {
    events[at].step.map_or(raddle_vocab::MemOrder::Relaxed, |step| step.order)
}

fn is_fence(events: &[Item], at: usize) -> bool {
    events[at].step.is_some_and(|step| step.kind == OpKind::Fence)
}

fn is_read(events: &[Item], at: usize) -> bool {
    events[at].step.is_some_and(|step| matches!(step.kind, OpKind::AtomicLoad | OpKind::AtomicRmw | OpKind::AtomicCas))
}

fn is_write(events: &[Item], at: usize) -> bool {
    events[at].touches.first().is_some_and(|&(_, _, what)| what == Touching::AtomicWrite)
}
