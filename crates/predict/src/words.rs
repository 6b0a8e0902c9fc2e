//! Events of a trace as events of the CSP model: `lock.t1.m`.

use crate::search::ReorderedEvent;
use crate::trace::{ObservedTrace, Slot, SyncEvent, SyncOp};

/// The object of a CSP event, besides the thread that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum About {
    Slot(Slot),
    Thread(u16),
}

/// The CSP events of an event, in order, as channel and object; none for an event that the model
/// leaves out. A wait is two events: it sleeps, then releases the mutex. No other thread can tell
/// that from doing both at once.
pub(crate) fn parts(op: &SyncOp) -> Vec<(&'static str, About)> {
    use About::{Slot as S, Thread as T};
    match *op {
        SyncOp::Free => Vec::new(),
        SyncOp::Fork(child) => vec![("fork", T(child))],
        SyncOp::Join(child) => vec![("join", T(child))],
        SyncOp::Lock(slot) => vec![("lock", S(slot))],
        SyncOp::Unlock(slot) => vec![("unlock", S(slot))],
        SyncOp::Busy(slot) => vec![("busy", S(slot))],
        SyncOp::ReadLock(slot) => vec![("rlock", S(slot))],
        SyncOp::ReadUnlock(slot) => vec![("runlock", S(slot))],
        SyncOp::WriteLock(slot) => vec![("wlock", S(slot))],
        SyncOp::WriteUnlock(slot) => vec![("wunlock", S(slot))],
        SyncOp::BusyRead(slot) => vec![("rbusy", S(slot))],
        SyncOp::BusyWrite(slot) => vec![("wbusy", S(slot))],
        SyncOp::Enqueue { queue, mutex } => {
            let mut events = vec![("sleep", S(queue))];
            events.extend(mutex.map(|mutex| ("unlock", S(mutex))));
            events
        }
        SyncOp::Resume { queue, mutex, woken } => {
            let mut events = vec![(if woken { "wake" } else { "timeout" }, S(queue))];
            events.extend(mutex.map(|mutex| ("lock", S(mutex))));
            events
        }
        SyncOp::Wake { queue, all: false } => vec![("signal", S(queue))],
        SyncOp::Wake { queue, all: true } => vec![("broadcast", S(queue))],
        SyncOp::SetSem(slot, _) => vec![("seminit", S(slot))],
        SyncOp::Post(slot) => vec![("post", S(slot))],
        SyncOp::Take(slot) => vec![("wait", S(slot))],
        SyncOp::Empty(slot) => vec![("empty", S(slot))],
        SyncOp::Arrive { round, .. } => vec![("arrive", S(round))],
        SyncOp::Leave { round, .. } => vec![("leave", S(round))],
        SyncOp::OnceEnd(slot) => vec![("done", S(slot))],
        SyncOp::OnceSeen(slot) => vec![("seen", S(slot))],
        SyncOp::Publish(slot) => vec![("publish", S(slot))],
        SyncOp::Await(slot) => vec![("await", S(slot))],
    }
}

pub(crate) fn name_of(trace: &ObservedTrace, about: About) -> &str {
    match about {
        About::Slot(slot) => &trace.slots[slot as usize].name,
        About::Thread(thread) => &trace.threads[usize::from(thread)].name,
    }
}

/// The CSP events of an event, by name.
#[must_use]
pub fn events(trace: &ObservedTrace, event: &SyncEvent) -> Vec<String> {
    let thread = &trace.threads[usize::from(event.thread)].name;
    parts(&event.op)
        .into_iter()
        .map(|(channel, about)| format!("{channel}.{thread}.{}", name_of(trace, about)))
        .collect()
}

/// The witness in the form of the paper: synchronising operations only, without creation.
#[must_use]
pub fn counterexample(trace: &ObservedTrace, order: &[ReorderedEvent]) -> Vec<String> {
    let order = order.iter().map(|taken| &trace.events[taken.event as usize]);
    order.filter(|event| !matches!(event.op, SyncOp::Fork(_))).flat_map(|event| events(trace, event)).collect()
}
