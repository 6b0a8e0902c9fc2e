//! Steps in the words of the model: `lock.t1.m`.

use crate::search::Taken;
use crate::trace::{Op, Step, Trace};

/// The events of the model that a step is, in order; none for a step that the model leaves out.
#[must_use]
pub fn events(trace: &Trace, step: &Step) -> Vec<String> {
    let thread = &trace.threads[usize::from(step.thread)].name;
    let named = |word: &str, slot: u32| format!("{word}.{thread}.{}", trace.slots[slot as usize].name);
    let other = |word: &str, tid: u16| format!("{word}.{thread}.{}", trace.threads[usize::from(tid)].name);
    match step.op {
        Op::Free => Vec::new(),
        Op::Fork(child) => vec![other("fork", child)],
        Op::Join(child) => vec![other("join", child)],
        Op::Lock(slot) => vec![named("lock", slot)],
        Op::Unlock(slot) => vec![named("unlock", slot)],
        Op::Busy(slot) => vec![named("busy", slot)],
        Op::ReadLock(slot) => vec![named("rlock", slot)],
        Op::ReadUnlock(slot) => vec![named("runlock", slot)],
        Op::WriteLock(slot) => vec![named("wlock", slot)],
        Op::WriteUnlock(slot) => vec![named("wunlock", slot)],
        Op::BusyRead(slot) => vec![named("rbusy", slot)],
        Op::BusyWrite(slot) => vec![named("wbusy", slot)],
        Op::Enqueue { queue, mutex } => {
            let mut events = vec![named("sleep", queue)];
            events.extend(mutex.map(|mutex| named("unlock", mutex)));
            events
        }
        Op::Resume { queue, mutex, woken } => {
            let mut events = vec![named(if woken { "wake" } else { "timeout" }, queue)];
            events.extend(mutex.map(|mutex| named("lock", mutex)));
            events
        }
        Op::Wake { queue, all: false } => vec![named("signal", queue)],
        Op::Wake { queue, all: true } => vec![named("broadcast", queue)],
        Op::SetSem(slot, _) => vec![named("seminit", slot)],
        Op::Post(slot) => vec![named("post", slot)],
        Op::Take(slot) => vec![named("wait", slot)],
        Op::Empty(slot) => vec![named("empty", slot)],
        Op::Arrive { round, .. } => vec![named("arrive", round)],
        Op::Leave { round, .. } => vec![named("leave", round)],
        Op::OnceEnd(slot) => vec![named("done", slot)],
        Op::OnceSeen(slot) => vec![named("seen", slot)],
        Op::Publish(slot) => vec![named("publish", slot)],
        Op::Await(slot) => vec![named("await", slot)],
    }
}

/// The witness as the paper gives it: synchronising operations only, without creation and start.
#[must_use]
pub fn counterexample(trace: &Trace, steps: &[Taken]) -> Vec<String> {
    let steps = steps.iter().map(|taken| &trace.steps[taken.step as usize]);
    steps.filter(|step| !matches!(step.op, Op::Fork(_))).flat_map(|step| events(trace, step)).collect()
}
