//! Deadlocks and livelocks: which threads can never go on, judged at the end of a run in which no
//! thread can step.
//!
//! * `relock`: a thread waits for a lock that it holds itself. So does a signal handler that waits
//!   for a lock of the thread that it interrupts.
//! * `cycle`: threads wait for each other's locks or ends. Such a cycle stays closed to the end of
//!   the run, so it is enough to look there. It counts even if the process has exited.
//! * `lost-wakeup`: a thread waits to be woken, no thread is left to do that, and none waits for a
//!   lock of this one. Whether the object was signalled before does not matter: it is no part of
//!   the state, by which searches tell defects apart.
//! * `all-blocked`: none of these, but no thread is left to do what the blocked threads wait for.
//! * `spin` (a livelock): a thread is in a loop that no other thread can end.
//!
//! A thread that waits for a signal or for another process may go on: then the rest is no deadlock,
//! but a cycle still is.
//!
//! Scripted parties are threads like others, but for two things. A party that the program need not
//! connect to waits for nothing. And while a party waits for the program, threads of the program
//! that wait to be woken may rightly do so, whatever woke them before: the deadlock is
//! `all-blocked`.
//!
//! Where the check ends when the program is idle, its rest is an orderly end if every party is done
//! and a thread of the program waits for a connection or for its bytes, so that one more client
//! could make it go on. A cycle is a deadlock all the same.
//!
//! A thread that waits for a stuck thread is a consequence and only named beside the cause. After
//! an exit, or after a thread has failed, a blocked thread may wait for what that thread would have
//! done: no finding.

use raddle_vocab::io::Endpoint;
use raddle_vocab::{OpKind, RunStatus, SECTION, io};

use super::held::Holdings;
use super::{Defect, Part, PartPosition, Waits};
use crate::execution::{Event, Execution, Pending, PendingState};
use crate::finding::Kind;
use crate::object::{
    AtomicOp, CondAction, CondOp, MemoryOp, Op, Operation as _, Patience, RwlockAction, SignalOp, ThreadOp,
};

/// Every deadlock and livelock at the end of the execution.
pub(super) fn find(execution: &Execution, holdings: &Holdings, until_idle: bool, into: &mut Vec<Defect>) {
    let stuck = is_stuck;
    if execution.status != RunStatus::Rest || execution.is_stale() || !execution.pending.iter().any(stuck) {
        return;
    }
    // At rest a thread is enabled only if the schedule has held it back: another execution goes on
    // from here.
    if execution.pending.iter().any(|pending| pending.state == PendingState::Enabled) {
        return;
    }
    let scene = Scene::new(execution, holdings);
    let knots = scene.knots();
    for knot in &knots {
        into.push(scene.knot(knot));
    }
    let excused = |pending: &Pending| matches!(pending.state, PendingState::Failed | PendingState::Exited);
    let may_go_on = |pending: &Pending| match pending.event.op {
        Op::File(op) => stuck(pending) && io::may_come_from_outside(op.identity),
        _ => false,
    };
    let is_excused = execution.pending.iter().any(|pending| excused(pending) || may_go_on(pending));
    if !knots.is_empty() || execution.exit.is_some() || is_excused || until_idle && scene.is_idle() {
        return;
    }
    // While a party waits, a loop of waits with time-outs is no worse than a wait without.
    let is_awaited = !scene.threads(|pending| scene.is_party(pending) && is_stuck(pending)).is_empty();
    let spins =
        |pending: &Pending| pending.state == PendingState::Awaiting && !(is_awaited && scene.awaits_client(pending));
    let spinning = scene.threads(spins);
    if !spinning.is_empty() {
        into.push(scene.defect(Kind::Livelock, "spin", &spinning));
    }
    let lost: Vec<u16> =
        scene.roots().into_iter().filter(|&thread| !is_awaited && scene.waits_to_be_woken(thread)).collect();
    if !lost.is_empty() && !scene.is_any_waited_for(&lost) {
        into.push(scene.defect(Kind::Deadlock, "lost-wakeup", &lost));
    } else if spinning.is_empty() {
        into.push(scene.defect(Kind::Deadlock, "all-blocked", &scene.by_importance()));
    }
}

/// Whether the thread can never go on by itself.
fn is_stuck(pending: &Pending) -> bool {
    let is_uncalled = matches!(pending.event.op, Op::File(op) if op.events == io::WAITS_FOR_CALLER);
    // A signal may stay pending for ever.
    let is_undelivered = matches!(pending.event.op, Op::Signal(SignalOp::Begin(_)));
    matches!(pending.state, PendingState::Blocked | PendingState::Awaiting) && !is_uncalled && !is_undelivered
}

/// The end of a run.
struct Scene<'a> {
    execution: &'a Execution,
    holdings: &'a Holdings,
    /// Threads that each thread waits for, if it waits for threads.
    waits: Vec<Vec<u16>>,
}

impl<'a> Scene<'a> {
    fn new(execution: &'a Execution, holdings: &'a Holdings) -> Self {
        let mut scene = Scene { execution, holdings, waits: Vec::new() };
        scene.waits = execution.pending.iter().map(|pending| scene.waits_for(pending).holders).collect();
        scene
    }

    /// What a blocked thread waits for, and which threads would have to release it.
    fn waits_for(&self, pending: &Pending) -> Waits {
        let event = &pending.event;
        let holders = |object: u64, shared_too: bool| {
            let holding = self.holdings.of_object(object).filter(move |held| shared_too || !held.shared);
            holding.map(|held| held.thread).collect()
        };
        let (object, holders) = match event.op {
            // The operation before which it is suspended does not matter.
            _ if self.holdings.suspended_by(event.thread).is_some() => {
                (0, self.holdings.suspended_by(event.thread).into_iter().collect())
            }
            _ if pending.state == PendingState::Awaiting => (event.op.object(), Vec::new()),
            _ if pending.state != PendingState::Blocked => (0, Vec::new()),
            Op::Atomic(AtomicOp { outside: true, .. }) | Op::Memory(MemoryOp { outside: true, .. }) => {
                (SECTION, holders(SECTION, true))
            }
            Op::Mutex(op) if op.can_block() => (op.mutex, holders(op.mutex, true)),
            Op::Once(op) if op.can_block() => (op.control, holders(op.control, true)),
            Op::Rwlock(op) if op.action == RwlockAction::Write(Patience::Block) => {
                (op.rwlock, holders(op.rwlock, true))
            }
            Op::Rwlock(op) if op.can_block() => {
                let mut writers: Vec<u16> = holders(op.rwlock, false);
                if op.writers_first && writers.is_empty() {
                    writers = self.threads(|pending| waits_to_write(&pending.event.op, op.rwlock));
                }
                (op.rwlock, writers)
            }
            // Woken, but the mutex is not free: it waits for that, otherwise to be woken.
            Op::Cond(CondOp { action: CondAction::Reacquire { mutex, .. }, .. }) if self.was_woken(event.thread) => {
                (mutex, holders(mutex, true))
            }
            Op::Thread(ThreadOp::Join { thread, .. }) => (0, vec![thread]),
            op => (op.object(), Vec::new()),
        };
        let is_suspended = self.holdings.suspended_by(event.thread).is_some();
        let operation = if is_suspended { OpKind::HandlerReturn } else { event.op.kind() };
        Waits { operation, object, holders }
    }

    /// Whether the thread was woken since it began to wait.
    fn was_woken(&self, thread: u16) -> bool {
        for event in self.execution.events.iter().rev() {
            if let Op::Cond(op) = event.op {
                match op.action {
                    CondAction::Wait { .. } if event.thread == thread => return false,
                    CondAction::Signal { woken, .. } | CondAction::Broadcast { woken, .. }
                        if woken.contains(thread) =>
                    {
                        return true;
                    }
                    _ => {}
                }
            }
        }
        false
    }

    fn threads(&self, wanted: impl Fn(&Pending) -> bool) -> Vec<u16> {
        let numbers = 0..self.execution.pending.len() as u16;
        let mut threads: Vec<u16> = numbers.filter(|&n| wanted(&self.execution.pending[usize::from(n)])).collect();
        threads.sort_by(|&a, &b| self.path(a).cmp(self.path(b)));
        threads
    }

    /// Whether the thread is a scripted party.
    fn is_party(&self, pending: &Pending) -> bool {
        self.execution
            .threads
            .get(usize::from(pending.event.thread))
            .is_some_and(|thread| thread.path.party().is_some())
    }

    /// Whether every party is done and one more client could make the program go on.
    fn is_idle(&self) -> bool {
        let pending = &self.execution.pending;
        pending.iter().all(|pending| !self.is_party(pending) || !is_stuck(pending))
            && pending.iter().any(|pending| !self.is_party(pending) && self.awaits_client(pending))
    }

    /// Whether the thread waits for a connection or its bytes.
    fn awaits_client(&self, pending: &Pending) -> bool {
        // A thread that goes round in a loop of waits with time-outs has made one of them last.
        let is_round = pending.state == PendingState::Awaiting;
        let of_thread = |event: &&Event| event.thread == pending.event.thread;
        let last = self.execution.events.iter().rfind(of_thread).filter(|_| is_round);
        let Op::File(op) = last.map_or(pending.event.op, |event| event.op) else { return false };
        // A wait for several descriptors names the first of them.
        let is_for_several = op.second.is_some_and(|second| second.thing == io::READINESS);
        is_stuck(pending) && (is_for_several || Endpoint::of(op.identity).is_some())
    }

    fn path(&self, thread: u16) -> &crate::ThreadPath {
        &self.execution.threads[usize::from(thread)].path
    }

    /// Threads that wait for another one, not busily.
    fn blocked(&self) -> Vec<u16> {
        self.threads(|pending| pending.state == PendingState::Blocked && is_stuck(pending))
    }

    /// Sets of blocked threads that wait for each other. A set that is a cycle is in the order of
    /// the waiting.
    fn knots(&self) -> Vec<Vec<u16>> {
        let blocked = self.blocked();
        let mut knots: Vec<Vec<u16>> = Vec::new();
        for &start in &blocked {
            if knots.iter().any(|knot| knot.contains(&start)) {
                continue;
            }
            let mutual = |&other: &u16| self.reaches(start, other) && self.reaches(other, start);
            let members: Vec<u16> = blocked.iter().copied().filter(mutual).collect();
            if !members.is_empty() {
                knots.push(self.ring(start, members));
            }
        }
        knots
    }

    /// Whether the first thread waits, directly or not, for the second.
    fn reaches(&self, from: u16, to: u16) -> bool {
        let mut met = vec![false; self.waits.len()];
        let mut open = vec![from];
        while let Some(thread) = open.pop() {
            for &next in self.waits.get(usize::from(thread)).into_iter().flatten() {
                if next == to {
                    return true;
                }
                if let Some(flag) = met.get_mut(usize::from(next)).filter(|flag| !**flag) {
                    *flag = true;
                    open.push(next);
                }
            }
        }
        false
    }

    fn ring(&self, start: u16, members: Vec<u16>) -> Vec<u16> {
        let mut ring = vec![start];
        let mut at = start;
        while let Some(next) =
            self.waits[usize::from(at)].iter().copied().find(|t| members.contains(t) && !ring.contains(t))
        {
            ring.push(next);
            at = next;
        }
        if ring.len() == members.len() { ring } else { members }
    }

    fn knot(&self, knot: &[u16]) -> Defect {
        // A handler that waits for a lock of the thread that it interrupts waits for itself.
        let mut owners = knot.iter().map(|&thread| self.holdings.owner(thread));
        let first = owners.next();
        let detail = if owners.all(|owner| Some(owner) == first) { "relock" } else { "cycle" };
        // The handler comes first: it is what waits.
        let mut knot = knot.to_vec();
        if detail == "relock" {
            knot.sort_by_key(|&thread| self.holdings.suspended_by(thread).is_some());
        }
        self.defect(Kind::Deadlock, detail, &knot)
    }

    /// Blocked threads that wait for no thread that could still be waited for.
    fn roots(&self) -> Vec<u16> {
        let waits_too = |&other: &u16| self.execution.pending.get(usize::from(other)).is_some_and(is_stuck);
        let blocked = self.blocked();
        blocked.into_iter().filter(|&thread| !self.waits[usize::from(thread)].iter().any(waits_too)).collect()
    }

    /// Parties first, then causes, then the threads that wait for them; threads that only join them
    /// come last.
    fn by_importance(&self) -> Vec<u16> {
        let roots = self.roots();
        let mut threads = self.blocked();
        threads.sort_by_key(|thread| {
            let pending = &self.execution.pending[usize::from(*thread)];
            (!self.is_party(pending), !roots.contains(thread), is_join(pending))
        });
        threads
    }

    /// Whether a thread waits for one of these, and not only for its end.
    fn is_any_waited_for(&self, threads: &[u16]) -> bool {
        let waits = |&thread: &u16| self.waits[usize::from(thread)].iter().any(|other| threads.contains(other));
        self.blocked().iter().any(|thread| waits(thread) && !is_join(&self.execution.pending[usize::from(*thread)]))
    }

    /// Whether the thread waits to be woken.
    fn waits_to_be_woken(&self, thread: u16) -> bool {
        let waiting = &self.execution.pending[usize::from(thread)].event.op;
        matches!(waiting, Op::Cond(_) | Op::Futex(_)) && waiting.ends_wait() && !self.was_woken(thread)
    }

    fn defect(&self, kind: Kind, detail: &'static str, threads: &[u16]) -> Defect {
        let part = |&thread: &u16| {
            let pending = &self.execution.pending[usize::from(thread)];
            Part {
                thread,
                pc: pending.event.pc,
                position: PartPosition::Pending,
                waits: Some(self.waits_for(pending)),
                locks: self.holdings.of_thread(thread).copied().collect(),
            }
        };
        let parts: Vec<Part> = threads.iter().map(part).collect();
        // A thread that only joins a stuck thread is a consequence, unless it is part of a cycle.
        // Where a handler interrupts its thread says nothing more. `Finding::telling` knows the
        // same rule.
        let counts = |thread: &&u16| {
            let joins = is_join(&self.execution.pending[usize::from(**thread)]);
            self.holdings.suspended_by(**thread).is_none() && (detail == "cycle" || !joins)
        };
        let mut places: Vec<u64> = threads.iter().filter(counts).map(|&t| self.pc(t)).collect();
        if places.is_empty() {
            places = threads.iter().map(|&thread| self.pc(thread)).collect();
        }
        let object = parts.first().and_then(|part| part.waits.as_ref()).map(|waits| waits.object);
        Defect::new(kind, detail, places).about(object.filter(|&object| object != 0)).with(parts)
    }

    fn pc(&self, thread: u16) -> u64 {
        self.execution.pending[usize::from(thread)].event.pc
    }
}

fn is_join(pending: &Pending) -> bool {
    matches!(pending.event.op, Op::Thread(ThreadOp::Join { .. }))
}

/// Whether the operation waits for a read-write lock to write.
fn waits_to_write(op: &Op, rwlock: u64) -> bool {
    matches!(op, Op::Rwlock(op) if op.rwlock == rwlock && op.action == RwlockAction::Write(Patience::Block))
}
