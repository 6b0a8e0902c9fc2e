//! Counting preemptions.
//!
//! A preemption is a switch away from a thread that could go on without a time-out. A thread that
//! waits, has ended or has failed is not preempted. Nor is one that asks for input or output of
//! which it is not known whether it is there: it may wait. So no schedule counts for more than it
//! has.

use crate::execution::{Event, Pending};
use crate::object::Op;
use crate::semantics::{Enabled, SyncState};

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum NextOp<'a> {
    /// It made this event later in the execution.
    Event(&'a Event),
    /// It stood before this at the end.
    Pending(&'a Pending),
}

/// Preemptions of a run so far. For each event, first [`PreemptionCount::observe`] the state before
/// it, then [`PreemptionCount::take`] its thread.
#[derive(Clone, Debug, Default)]
pub struct PreemptionCount {
    count: u32,
    /// The thread that made the last event, and whether it could go on.
    last: Option<(u16, bool)>,
}

impl PreemptionCount {
    /// Notes whether the thread that made the last event can go on in this state; `next` says what
    /// a thread does next.
    pub fn observe<'a>(&mut self, state: &SyncState, next: impl FnOnce(u16) -> Option<NextOp<'a>>) {
        let Some((thread, can_go_on)) = &mut self.last else { return };
        let may_wait = |event: &Event| matches!(&event.op, Op::File(op) if op.may_wait(state));
        let enabled = match next(*thread) {
            _ if !state.is_alive(*thread) => Enabled::No,
            Some(NextOp::Event(event)) if may_wait(event) => Enabled::No,
            Some(NextOp::Pending(pending)) if may_wait(&pending.event) => Enabled::No,
            Some(NextOp::Event(event)) => state.enabled(event),
            Some(NextOp::Pending(pending)) => state.enabled_pending(pending),
            None => Enabled::No,
        };
        *can_go_on = enabled == Enabled::Yes;
    }

    /// How many there are if the thread makes the next event.
    #[must_use]
    pub fn with(&self, thread: u16) -> u32 {
        self.count + u32::from(self.last.is_some_and(|(last, can_go_on)| can_go_on && last != thread))
    }

    /// The thread makes the next event.
    pub fn take(&mut self, thread: u16) {
        self.count = self.with(thread);
        self.last = Some((thread, false));
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The thread that made the last event.
    #[must_use]
    pub fn last_thread(&self) -> Option<u16> {
        self.last.map(|(thread, _)| thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{done, execution};
    use raddle_vocab::OpKind;

    /// Preemptions of an execution of these events of two threads.
    fn preemptions(events: Vec<Event>) -> u32 {
        let run = execution(2, events);
        let mut state = SyncState::new(0);
        state.prepare(&run);
        let mut preemptions = PreemptionCount::default();
        for (index, event) in run.events.iter().enumerate() {
            let next = |thread: u16| {
                let later = run.events[index..].iter().find(|event| event.thread == thread);
                later.map(NextOp::Event).or(Some(NextOp::Pending(&run.pending[usize::from(thread)])))
            };
            preemptions.observe(&state, next);
            assert!(preemptions.with(event.thread) >= preemptions.count());
            preemptions.take(event.thread);
            assert_eq!(preemptions.last_thread(), Some(event.thread));
            state.apply(event);
        }
        preemptions.count()
    }

    fn start() -> Vec<Event> {
        vec![done(0, OpKind::ThreadStart, 0, 0), done(0, OpKind::Create, 0, 1)]
    }

    #[test]
    fn a_switch_away_from_a_thread_that_can_go_on_counts() {
        let mut events = start();
        events.push(done(1, OpKind::ThreadStart, 0, 0));
        events.push(done(0, OpKind::Lock, 0x100, 0));
        // T0 could lock when T1 starts, T1 could lock when T0 does.
        events.push(done(1, OpKind::Lock, 0x200, 0));
        assert_eq!(preemptions(events), 2);
    }

    #[test]
    fn a_thread_that_waits_or_has_ended_is_not_preempted() {
        let mut events = start();
        events.push(done(0, OpKind::Lock, 0x100, 0));
        events.push(done(0, OpKind::Unlock, 0x100, 0));
        events.push(done(0, OpKind::ThreadEnd, 0, 0));
        events.push(done(1, OpKind::ThreadStart, 0, 0));
        events.push(done(1, OpKind::Lock, 0x100, 0));
        assert_eq!(preemptions(events), 0);
    }
}
