//! A number that names the Mazurkiewicz trace of an execution.
//!
//! Two executions get the same number iff they have the same transitions (by thread path and
//! position in the thread) in the same causal order; run-local numbers do not matter. The order is
//! taken as vector clocks, and each transition adds a hash of its name, label and clock to a sum,
//! which does not depend on the order of summing.

use raddle_model::object::AtomicAction;
use raddle_model::{Event, Execution, Op, Operation as _, ThreadPath};
use raddle_vocab::policy::mix;
use raddle_vocab::{Outcome, Words};

use crate::dependence::DependenceClocks;

/// Computes hashes; keeps its buffers.
#[derive(Debug, Default)]
pub struct TraceHasher {
    order: DependenceClocks,
    names: Vec<u64>,
    sum: u64,
}

impl TraceHasher {
    /// The number of the execution's trace.
    pub fn hash(&mut self, execution: &Execution) -> u64 {
        self.start(execution);
        execution.events.iter().map(|event| self.push(event)).last().unwrap_or(0)
    }

    /// Starts with no event of the execution.
    pub fn start(&mut self, execution: &Execution) {
        self.order.start(execution.threads.len());
        self.names.clear();
        self.names.extend(execution.threads.iter().map(|thread| path_hash(&thread.path)));
        self.sum = 0;
    }

    /// Adds the execution's next event and returns the number of the trace so far.
    pub fn push(&mut self, event: &Event) -> u64 {
        self.sum = self.sum.wrapping_add(self.add(event));
        mix(self.sum)
    }

    /// How many transitions of each thread lie in the causal past of where the thread stands now,
    /// its own included.
    #[must_use]
    pub fn clock(&self, thread: u16) -> &[u32] {
        self.order.at(thread)
    }

    /// Puts one more transition behind those it depends on and returns its hash.
    fn add(&mut self, event: &Event) -> u64 {
        let clock = self.order.push(event);
        let past = clock.iter().zip(&self.names).filter(|(count, _)| **count > 0);
        let past = past.fold(0u64, |sum, (&count, &name)| sum.wrapping_add(mix(name ^ mix(u64::from(count)))));
        mix(self.names[usize::from(event.thread)] ^ mix(self.label(event) ^ mix(past)))
    }

    /// What was done, in words that do not depend on the order of independent transitions.
    fn label(&self, event: &Event) -> u64 {
        let thread = |number: u16| self.names.get(usize::from(number)).copied().unwrap_or(0);
        let Words { kind, outcome, order, obj, mut arg, mut value, mut old, .. } = event.op.pack();
        match &event.op {
            Op::Thread(op) if op.peer().is_some() => (arg, value, old) = (op.peer().map_or(0, thread), 0, 0),
            Op::Atomic(op) => match op.action {
                AtomicAction::Load { .. } => (arg, old) = (0, 0),
                AtomicAction::Store { .. } | AtomicAction::Rmw { .. } => {}
                AtomicAction::Cas { .. } => value = 0,
            },
            Op::Choice(_) => old = 0,
            Op::Signal(op) => {
                let handling = op.handling();
                arg = handling.map_or(0, |it| thread(it.target) ^ mix(thread(it.onto)) ^ u64::from(it.signal));
            }
            op => match op.woken() {
                Some(woken) => value = woken.iter().fold(0, |sum, number| sum.wrapping_add(thread(number))),
                None if op.is_load() => {}
                None => (value, old) = (0, 0),
            },
        }
        // Which of the arrivals is the last says nothing: they commute.
        let outcome = if outcome == Outcome::Last { Outcome::Done } else { outcome };
        let words = [kind as u64, outcome as u64, order as u64, obj, arg, value, old];
        words.into_iter().fold(0, |hash, word| mix(hash ^ word))
    }
}

/// A number for a thread that does not depend on the run.
pub(crate) fn path_hash(path: &ThreadPath) -> u64 {
    path.0.iter().fold(1, |hash, &n| mix(hash ^ mix(u64::from(n))))
}
