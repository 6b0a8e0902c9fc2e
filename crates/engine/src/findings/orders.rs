//! Whether the orders of atomic operations keep threads apart, in a program that is observed.
//!
//! Its machine code shows atomic operations as the processor orders them: a load acquires, a store
//! releases, an exchange does both. The source may ask for less. So each execution is looked at
//! once more as if it had asked for nothing: all atomic operations are relaxed, fences order
//! nothing, and what only counts as an atomic access because of its bytes is a plain one. Without a
//! race then, none of these orders matters. Guards of variables that are initialised once are left
//! as they are: the compiler orders them.

use std::collections::BTreeSet;

use raddle_model::object::{AtomicAction, FenceOp, Op};
use raddle_model::{Access, AccessKind, Event, Execution, RaceDetector};
use raddle_vocab::MemOrder;

/// Looks at executions.
#[derive(Debug, Default)]
pub struct Orders {
    matter: bool,
    races: RaceDetector,
}

impl Orders {
    /// Whether they mattered in an execution so far.
    pub fn matter(&self) -> bool {
        self.matter
    }

    /// Takes an execution without data races. True if orders matter in it, and did in none before.
    pub fn learn(&mut self, execution: &Execution) -> bool {
        let is_ordered = |event: &Event| matches!(event.op, Op::Atomic(_) | Op::Fence(_));
        if self.matter || !execution.events.iter().any(is_ordered) {
            return false;
        }
        self.matter = !self.races.races(&weakened(execution)).is_empty();
        self.matter
    }
}

/// The execution with the weakest orders.
fn weakened(execution: &Execution) -> Execution {
    let mut weak = execution.clone();
    let mut plain = Vec::new();
    let guard = |event: &Event| match event.op {
        Op::Once(op) if op.guard => Some(op.control),
        _ => None,
    };
    let guards: BTreeSet<u64> = execution.events.iter().filter_map(guard).collect();
    for (number, event) in (0u32..).zip(&mut weak.events) {
        match &mut event.op {
            Op::Atomic(op) if !guards.contains(&op.addr) => {
                let kind = match (op.action, op.order) {
                    (AtomicAction::Load { .. }, MemOrder::Consume) => Some(AccessKind::Read),
                    (AtomicAction::Store { .. }, MemOrder::AcqRel) => Some(AccessKind::Write),
                    _ => None,
                };
                op.order = MemOrder::Relaxed;
                plain.extend(kind.map(|kind| Access {
                    thread: event.thread,
                    kind,
                    volatile: false,
                    addr: op.addr,
                    size: u64::from(op.size),
                    pc: event.pc,
                    after: number,
                    count: event.accesses,
                }));
            }
            Op::Fence(FenceOp { order }) => *order = MemOrder::Relaxed,
            _ => {}
        }
    }
    weak.accesses.extend(plain);
    weak.accesses.sort_by_key(|access| access.after);
    weak
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::object::{AtomicOp, OnceAction, OnceOp};

    fn access(thread: u16, kind: AccessKind, after: u32) -> Access {
        Access { thread, kind, volatile: false, addr: 0x1000, size: 4, pc: 1, after, count: 0 }
    }

    fn atomic(thread: u16, order: MemOrder, action: AtomicAction) -> Event {
        let op = AtomicOp { addr: 0x2000, size: 4, order, action, continues: false, outside: false };
        Event::new(thread, Op::Atomic(op))
    }

    /// A thread writes data and stores a flag; another one reads the flag and the data.
    fn passing(store: MemOrder, load: MemOrder) -> Execution {
        let store = atomic(0, store, AtomicAction::Store { value: 1, old: 0 });
        let load = atomic(1, load, AtomicAction::Load { value: 1, awaited: None });
        let mut execution = raddle_model::fixture::execution(2, vec![store, load]);
        execution.accesses = vec![access(0, AccessKind::Write, 0), access(1, AccessKind::Read, 2)];
        execution
    }

    #[test]
    fn orders_matter_where_they_keep_accesses_apart() {
        let mut execution = passing(MemOrder::Release, MemOrder::Acquire);
        assert!(RaceDetector::new().races(&execution).is_empty());
        let mut orders = Orders::default();
        assert!(orders.learn(&execution) && orders.matter());
        // Only once.
        assert!(!orders.learn(&execution) && orders.matter());
        execution.accesses.clear();
        assert!(!Orders::default().learn(&execution));
        // A variable that is initialised once.
        let mut execution = passing(MemOrder::Release, MemOrder::Acquire);
        let once = OnceOp { control: 0x2000, guard: true, action: OnceAction::Begin { already: true } };
        execution.events.push(Event::new(1, Op::Once(once)));
        assert!(!Orders::default().learn(&execution));
        // The flag itself, if only its bytes say that it is one.
        let mut execution = passing(MemOrder::AcqRel, MemOrder::Consume);
        execution.accesses.clear();
        assert!(RaceDetector::new().races(&execution).is_empty());
        assert!(Orders::default().learn(&execution));
    }
}
