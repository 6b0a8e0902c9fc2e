//! Small events and executions for tests.

use raddle_vocab::{OpKind, Words};

use crate::execution::{Event, Execution, Pending, PendingState};
use crate::object::{Op, Operation as _, ThreadOp};
use crate::thread::{ThreadInfo, ThreadPath};

/// The event with these words.
///
/// # Panics
/// If the words are no operation: the test is wrong.
#[must_use]
pub fn event(thread: u16, words: Words) -> Event {
    match Event::unpack(thread, &words) {
        Ok(event) => event,
        Err(error) => panic!("{words:?}: {error}"),
    }
}

/// The event of a kind that did what its name says.
#[must_use]
pub fn done(thread: u16, kind: OpKind, obj: u64, arg: u64) -> Event {
    event(thread, Words::new(kind).on(obj, arg))
}

/// The event with some of its words changed.
///
/// # Panics
/// As [`event`].
#[must_use]
pub fn edit(before: Event, change: impl FnOnce(&mut Words)) -> Event {
    let mut words = before.op.pack();
    change(&mut words);
    Event { op: event(before.thread, words).op, ..before }
}

/// What a thread stands before that has ended.
#[must_use]
pub fn ended(thread: u16) -> Pending {
    pending(Event::new(thread, Op::Thread(ThreadOp::End)), PendingState::Ended)
}

/// What a thread stands before.
#[must_use]
pub fn pending(event: Event, state: PendingState) -> Pending {
    Pending { event, state, found: 0 }
}

/// A finished execution whose threads other than main are main's children.
#[must_use]
pub fn execution(threads: u16, events: Vec<Event>) -> Execution {
    let mut execution = Execution::empty();
    for number in 0..threads {
        let path = ThreadPath(if number == 0 { vec![] } else { vec![u32::from(number)] });
        execution.threads.push(ThreadInfo { path, parent: (number > 0).then_some(0), name: None });
        execution.pending.push(ended(number));
    }
    execution.events = events;
    execution
}
