//! Steps in the words of the model: `lock.t1.m`.

use crate::search::Taken;
use crate::trace::{Op, Slot, Step, Trace};

/// What an event of the model is about besides the thread that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum About {
    Slot(Slot),
    Thread(u16),
}

/// The events of the model that a step is, in order, as channel and object; none for a step that the model leaves out. A wait is
/// two events: it sleeps, then gives the mutex back, and nobody can tell that from doing both at once.
pub(crate) fn parts(op: &Op) -> Vec<(&'static str, About)> {
    use About::{Slot as S, Thread as T};
    match *op {
        Op::Free => Vec::new(),
        Op::Fork(child) => vec![("fork", T(child))],
        Op::Join(child) => vec![("join", T(child))],
        Op::Lock(slot) => vec![("lock", S(slot))],
        Op::Unlock(slot) => vec![("unlock", S(slot))],
        Op::Busy(slot) => vec![("busy", S(slot))],
        Op::ReadLock(slot) => vec![("rlock", S(slot))],
        Op::ReadUnlock(slot) => vec![("runlock", S(slot))],
        Op::WriteLock(slot) => vec![("wlock", S(slot))],
        Op::WriteUnlock(slot) => vec![("wunlock", S(slot))],
        Op::BusyRead(slot) => vec![("rbusy", S(slot))],
        Op::BusyWrite(slot) => vec![("wbusy", S(slot))],
        Op::Enqueue { queue, mutex } => {
            let mut events = vec![("sleep", S(queue))];
            events.extend(mutex.map(|mutex| ("unlock", S(mutex))));
            events
        }
        Op::Resume { queue, mutex, woken } => {
            let mut events = vec![(if woken { "wake" } else { "timeout" }, S(queue))];
            events.extend(mutex.map(|mutex| ("lock", S(mutex))));
            events
        }
        Op::Wake { queue, all: false } => vec![("signal", S(queue))],
        Op::Wake { queue, all: true } => vec![("broadcast", S(queue))],
        Op::SetSem(slot, _) => vec![("seminit", S(slot))],
        Op::Post(slot) => vec![("post", S(slot))],
        Op::Take(slot) => vec![("wait", S(slot))],
        Op::Empty(slot) => vec![("empty", S(slot))],
        Op::Arrive { round, .. } => vec![("arrive", S(round))],
        Op::Leave { round, .. } => vec![("leave", S(round))],
        Op::OnceEnd(slot) => vec![("done", S(slot))],
        Op::OnceSeen(slot) => vec![("seen", S(slot))],
        Op::Publish(slot) => vec![("publish", S(slot))],
        Op::Await(slot) => vec![("await", S(slot))],
    }
}

pub(crate) fn name_of(trace: &Trace, about: About) -> &str {
    match about {
        About::Slot(slot) => &trace.slots[slot as usize].name,
        About::Thread(thread) => &trace.threads[usize::from(thread)].name,
    }
}

/// The events of the model that a step is.
#[must_use]
pub fn events(trace: &Trace, step: &Step) -> Vec<String> {
    let thread = &trace.threads[usize::from(step.thread)].name;
    parts(&step.op)
        .into_iter()
        .map(|(channel, about)| format!("{channel}.{thread}.{}", name_of(trace, about)))
        .collect()
}

/// The witness as the paper gives it: synchronising operations only, without creation.
#[must_use]
pub fn counterexample(trace: &Trace, steps: &[Taken]) -> Vec<String> {
    let steps = steps.iter().map(|taken| &trace.steps[taken.step as usize]);
    steps.filter(|step| !matches!(step.op, Op::Fork(_))).flat_map(|step| events(trace, step)).collect()
}
