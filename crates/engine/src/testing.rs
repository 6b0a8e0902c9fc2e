//! Small executions for tests.

use raddle_model::{Access, AccessKind, Event, Execution, fixture};

pub use raddle_model::fixture::done as event;

/// An access after `after` events.
pub fn access(thread: u16, kind: AccessKind, addr: u64, size: u64, after: u32, count: u32) -> Access {
    Access { thread, kind, volatile: false, addr, size, pc: 0, after, count }
}

/// A finished execution whose threads other than main are main's children.
pub fn execution(threads: u16, events: Vec<Event>, accesses: Vec<Access>) -> Execution {
    Execution { accesses, ..fixture::execution(threads, events) }
}
