//! Small executions for tests.

use raddle_model::{Access, AccessKind, Event, Execution, Pending, PendingState, ThreadInfo, ThreadPath};
use raddle_vocab::{MemOrder, OpKind, Outcome};

/// A step that did what its name says.
pub fn step(thread: u16, kind: OpKind, obj: u64, arg: u64) -> Event {
    Event {
        thread,
        kind,
        outcome: Outcome::Done,
        order: MemOrder::SeqCst,
        size: 0,
        obj,
        arg,
        value: 0,
        old: 0,
        pc: 0,
        accesses: 0,
    }
}

/// An access after `after` steps.
pub fn access(thread: u16, kind: AccessKind, addr: u64, size: u64, after: u32, count: u32) -> Access {
    Access { thread, kind, volatile: false, addr, size, pc: 0, after, count }
}

/// A finished execution whose threads other than main are main's children.
pub fn execution(threads: u16, steps: Vec<Event>, accesses: Vec<Access>) -> Execution {
    let mut execution = Execution::empty();
    for number in 0..threads {
        let path = ThreadPath(if number == 0 { vec![] } else { vec![u32::from(number)] });
        execution.threads.push(ThreadInfo { path, parent: (number > 0).then_some(0), name: None });
        let end = step(number, OpKind::ThreadEnd, 0, 0);
        execution.pending.push(Pending { event: end, state: PendingState::Ended });
    }
    execution.events = steps;
    execution.accesses = accesses;
    execution
}
