//! Barriers that more threads use than fit into a round.
//!
//! The searches treat arrivals at a barrier as independent. That holds as long as the participants
//! of each round are fixed. If more threads compete for a round, the order of arrivals decides
//! which of them take part, and a search may miss some of these orders. No known program needs
//! them, so the case is detected instead of explored.

use std::collections::BTreeMap;

use raddle_model::object::{BarrierAction, BarrierOp};
use raddle_model::{Execution, Op};

use crate::trace::TraceHasher;

/// Whether a thread arrived for a round of a barrier although it could have taken part in the round
/// before.
#[must_use]
pub fn is_crowded(execution: &Execution) -> bool {
    if !may_be_crowded(execution) {
        return false;
    }
    let mut order = TraceHasher::default();
    order.start(execution);
    let mut arrivals: BTreeMap<(u64, u64), Vec<(u16, u32)>> = BTreeMap::new();
    for event in &execution.events {
        let before = order.clock(event.thread).to_vec();
        order.push(event);
        let Op::Barrier(BarrierOp { barrier, action: BarrierAction::Arrive { round, .. } }) = event.op else {
            continue;
        };
        if let Some(last_round) = round.checked_sub(1).and_then(|round| arrivals.get(&(barrier, round)))
            && last_round.iter().any(|&(thread, count)| before[usize::from(thread)] < count)
        {
            return true;
        }
        let count = order.clock(event.thread)[usize::from(event.thread)];
        arrivals.entry((barrier, round)).or_default().push((event.thread, count));
    }
    false
}

/// A cheap test that rules out nearly all executions: more threads use a barrier than a round
/// takes.
fn may_be_crowded(execution: &Execution) -> bool {
    let mut barriers: BTreeMap<u64, (u32, Vec<u16>)> = BTreeMap::new();
    for event in &execution.events {
        let Op::Barrier(op) = event.op else { continue };
        match op.action {
            BarrierAction::Init { size } => {
                barriers.insert(op.barrier, (size, Vec::new()));
            }
            BarrierAction::Arrive { .. } => {
                if let Some((size, threads)) = barriers.get_mut(&op.barrier) {
                    if !threads.contains(&event.thread) {
                        threads.push(event.thread);
                    }
                    if threads.len() > *size as usize {
                        return true;
                    }
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_crowded;
    use crate::strategy::scheduled;
    use raddle_model::{Execution, Target};
    use raddle_testkit::program::{AbstractOp, AbstractProgram, Stmt};
    use raddle_testkit::{Granularity, MemoryTarget};

    fn crowded(program: &AbstractProgram) -> bool {
        let mut target = MemoryTarget::new(program, Granularity::Sync);
        target.submit(scheduled(Vec::new()));
        let mut execution = Execution::empty();
        target.finish(&mut execution).unwrap();
        is_crowded(&execution)
    }

    fn meeting(threads: usize, size: u32, rounds: usize) -> AbstractProgram {
        let body: Vec<Stmt> = vec![AbstractOp::Barrier(1, 0).into(); rounds];
        AbstractProgram { barriers: vec![size], ..AbstractProgram::parallel(0, 0, vec![body; threads]) }
    }

    #[test]
    fn as_many_as_fit() {
        assert!(!crowded(&meeting(2, 2, 3)));
        assert!(!crowded(&meeting(1, 2, 1)));
    }

    #[test]
    fn one_too_many() {
        assert!(crowded(&meeting(3, 2, 2)));
        assert!(crowded(&meeting(4, 2, 1)));
    }

    #[test]
    fn one_pair_after_the_other() {
        // Main joins the first two before it creates the others.
        let mut program = meeting(4, 2, 1);
        let late: Vec<Stmt> = program.bodies[0].drain(2..4).collect();
        program.bodies[0].splice(4..4, late);
        assert!(!crowded(&program));
    }
}
