//! What is left over at the end: locks of threads that have ended, threads that were never joined,
//! objects that were never destroyed.

use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_vocab::{Outcome, RunStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::held::{Held, Holdings};
use super::{Defect, Part, PartPosition};
use crate::depend::{Footprint, conflict, footprint};
use crate::execution::{Access, Event, Execution, Pending, PendingState};
use crate::finding::{Kind, Severity};
use crate::object::{
    LifeChange, MutexAction, MutexOp, Op, Operation as _, Patience, SemaphoreAction, SemaphoreOp, ThreadOp,
};

/// A thread, as far as others have to do with its life.
#[derive(Clone, Copy, Debug, Default)]
struct Child {
    /// The step that created it, unless it is detached or was joined.
    unjoined: Option<u32>,
    runs: bool,
}

/// What an execution leaves over; keeps its buffers from one to the next.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// By number, as far as there are threads.
    children: Vec<Child>,
    /// Objects that were initialised by a call and not destroyed since, with the number of that
    /// event.
    live: FxHashMap<u64, u32>,
    /// Events that initialise an object, each with the one that had initialised it before; one of
    /// each place.
    again: Vec<(u32, u32)>,
    /// Places of these events.
    places: FxHashSet<u64>,
    /// The first event of main that ends the process.
    end_of_main: Option<u32>,
    /// The threads that run at the end of main.
    running: Vec<u16>,
    /// Whether the process was ended by a call.
    on_purpose: bool,
}

/// Locks that are held when they are initialised, and when their memory dies.
#[inline]
pub(super) fn locks_misused(event: &Event, number: u32, holdings: &mut Holdings, into: &mut Vec<Defect>) {
    match &event.op {
        Op::Mutex(_) | Op::Rwlock(_) => {
            if let Some(object) = event.op.initialised() {
                initialised_again(event, number, object, holdings, into);
            }
            refused_unlock(event, number, holdings, into);
        }
        Op::Memory(op) if op.action.ends_objects() => {
            let position = PartPosition::Event(number);
            let call = Place { thread: event.thread, pc: event.pc, position };
            locks_in_block(&call, op.addr, op.size, holdings, into);
        }
        _ => {}
    }
}

/// A lock that a thread still holds at its end.
#[inline]
pub(super) fn locks_at_end(event: &Event, number: u32, holdings: &Holdings, into: &mut Vec<Defect>) {
    for held in holdings.of_thread(event.thread) {
        let acquired = Part {
            thread: event.thread,
            pc: held.pc,
            position: PartPosition::Event(held.event),
            waits: None,
            locks: Vec::new(),
        };
        let ended = Part { pc: event.pc, position: PartPosition::Event(number), ..acquired.clone() };
        let defect = Defect::new(Kind::Misuse, "lock-held-at-exit", vec![held.pc]).about(Some(held.object));
        into.push(defect.with(vec![acquired, ended]));
    }
}

/// Locks that are held and lie in a heap block that dies.
pub(super) fn locks_in_freed_memory(at: u32, freed: &Access, holdings: &mut Holdings, into: &mut Vec<Defect>) {
    let call = Place { thread: freed.thread, pc: freed.pc, position: PartPosition::Access(at) };
    locks_in_block(&call, freed.addr, freed.size, holdings, into);
}

/// Where the offending call is.
struct Place {
    thread: u16,
    pc: u64,
    position: PartPosition,
}

impl Place {
    /// The call and the acquisition of the lock that it should have left alone.
    fn and(&self, held: &Held) -> Vec<Part> {
        let call = Part { thread: self.thread, pc: self.pc, position: self.position, waits: None, locks: Vec::new() };
        let acquired =
            Part { thread: held.thread, pc: held.pc, position: PartPosition::Event(held.event), ..call.clone() };
        vec![call, acquired]
    }
}

fn locks_in_block(call: &Place, start: u64, size: u64, holdings: &mut Holdings, into: &mut Vec<Defect>) {
    for held in holdings.drop_within(start, size).into_iter().filter(|held| !held.once) {
        let defect = Defect::new(Kind::Misuse, "free-locked", vec![call.pc]).about(Some(held.object));
        into.push(defect.with(call.and(&held)));
    }
}

/// A lock is initialised while a thread holds it.
fn initialised_again(event: &Event, number: u32, object: u64, holdings: &Holdings, into: &mut Vec<Defect>) {
    let call = Place { thread: event.thread, pc: event.pc, position: PartPosition::Event(number) };
    if let Some(held) = holdings.of_object(object).find(|held| !held.once) {
        let defect = Defect::new(Kind::Misuse, "reinit-in-use", vec![event.pc]).about(Some(object));
        into.push(defect.with(call.and(held)));
    }
}

/// Error-checking and recursive mutexes refuse to be unlocked by a thread that does not hold them.
/// The program is told by a code, which it may expect.
fn refused_unlock(event: &Event, number: u32, holdings: &Holdings, into: &mut Vec<Defect>) {
    let Op::Mutex(MutexOp { mutex, action: MutexAction::Unlock, outcome: Outcome::Refused, .. }) = event.op else {
        return;
    };
    let held = holdings.of_object(mutex).next().is_some();
    let detail = if held { "unlock-not-owner" } else { "unlock-not-locked" };
    let position = PartPosition::Event(number);
    let part = Part { thread: event.thread, pc: event.pc, position, waits: None, locks: Vec::new() };
    into.push(Defect::warning(detail, vec![event.pc]).about(Some(mutex)).with(vec![part]));
}

/// The semaphore that a blocked thread waits for.
fn awaited_semaphore(pending: &Pending) -> Option<u64> {
    match pending.event.op {
        Op::Semaphore(SemaphoreOp { semaphore, action: SemaphoreAction::Wait { patience: Patience::Block, .. } }) => {
            Some(semaphore).filter(|_| pending.state == PendingState::Blocked)
        }
        _ => None,
    }
}

/// Threads that wait for ever for a semaphore that was destroyed. Either the wait began before the
/// destruction (the semaphore was at 0 then and nothing orders the wait after it), or it came too
/// late.
pub(super) fn waiting_for_destroyed(execution: &Execution, into: &mut Vec<Defect>) {
    let waits = |pending| awaited_semaphore(pending).map(|semaphore| (&pending.event, semaphore));
    for (waiting, awaited) in execution.pending.iter().filter_map(waits) {
        let is_life = |event: &Event| {
            let life = event.op.life_change().map(LifeChange::object);
            matches!(event.op, Op::Semaphore(_)) && life == Some(awaited)
        };
        let Some(at) = execution.events.iter().rposition(is_life) else { continue };
        let event = &execution.events[at];
        let Op::Semaphore(SemaphoreOp { action: SemaphoreAction::Destroy { count }, .. }) = event.op else { continue };
        let part = |thread, pc, position| Part { thread, pc, position, waits: None, locks: Vec::new() };
        let destroyed = part(event.thread, event.pc, PartPosition::Event(at as u32));
        let waits = part(waiting.thread, waiting.pc, PartPosition::Pending);
        let too_early = count == 0 && !comes_after(&execution.events[at..], waiting.thread);
        let (detail, parts) = match too_early {
            true => ("sem-destroy-waited", vec![destroyed, waits]),
            false => ("sem-destroyed", vec![waits, destroyed]),
        };
        into.push(Defect::new(Kind::Misuse, detail, vec![parts[0].pc]).about(Some(awaited)).with(parts));
    }
}

/// Whether an event of the thread depends on the first of the events, directly or through others.
fn comes_after(events: &[Event], thread: u16) -> bool {
    let mut later: Vec<(u16, Footprint)> = Vec::new();
    for event in events {
        let touches = footprint(event);
        let depends = |(other, before): &(u16, Footprint)| *other == event.thread || conflict(before, &touches);
        if later.is_empty() || later.iter().any(depends) {
            later.push((event.thread, touches));
        }
    }
    later.iter().any(|(other, _)| *other == thread)
}

/// Whether the process ended without a failure, so that what it leaves over is worth a warning.
pub(super) fn ends_orderly(execution: &Execution) -> bool {
    let main_is_over =
        matches!(execution.pending.first(), Some(p) if matches!(p.state, PendingState::Exited | PendingState::Ended));
    let orderly = || execution.pending.iter().all(|pending| pending.state != PendingState::Failed);
    execution.status == RunStatus::Rest && main_is_over && orderly()
}

impl Leftovers {
    /// Forgets the last execution. The next one has so many threads.
    pub(super) fn reset(&mut self, threads: usize) {
        self.children.clear();
        self.children.resize(threads, Child::default());
        self.live.clear();
        self.again.clear();
        self.places.clear();
        self.running.clear();
        (self.end_of_main, self.on_purpose) = (None, false);
    }

    /// Warnings about a process that ended without a failure.
    ///
    /// A process that was ended on purpose (`exit`, `_exit`) need not have joined its threads. The
    /// event of such an end has a call site, that of a return from main has none. The system
    /// reclaims everything else too, but an object that was initialised by a call should be
    /// destroyed by one.
    pub(super) fn warnings(&mut self, execution: &Execution, into: &mut Vec<Defect>) {
        if !self.on_purpose {
            self.main_returns_early(execution, into);
            self.never_joined(execution, into);
        }
        self.initialised_twice(execution, into);
        self.not_destroyed(execution, into);
    }

    /// Follows one event that is none of [`Self::thread`].
    #[inline]
    pub(super) fn event(&mut self, event: &Event, number: u32) {
        match &event.op {
            Op::Exit(_) => {
                self.on_purpose |= event.pc != 0;
                if event.thread == 0 && self.end_of_main.is_none() {
                    self.end_of_main = Some(number);
                    let running = self.children.iter().enumerate().filter(|(_, child)| child.runs);
                    self.running.extend(running.map(|(thread, _)| thread as u16));
                }
            }
            // It lives on without its users.
            Op::Semaphore(SemaphoreOp { action: SemaphoreAction::Init { named: true, .. }, .. }) => {}
            Op::Memory(op) if op.action.ends_objects() => {
                let block = op.addr..op.addr.saturating_add(op.size);
                self.live.retain(|&object, _| !block.contains(&object));
            }
            op => match op.life_change() {
                Some(LifeChange::Initialised(object)) => {
                    if let Some(before) = self.live.insert(object, number)
                        && self.places.insert(event.pc)
                    {
                        self.again.push((before, number));
                    }
                }
                Some(LifeChange::Destroyed(object)) => {
                    self.live.remove(&object);
                }
                None => {}
            },
        }
    }

    /// Follows one event of the life of threads.
    #[inline]
    pub(super) fn thread(&mut self, event: &Event, op: ThreadOp, number: u32) {
        match op {
            // Parties and couriers are no threads of the program.
            ThreadOp::Create { entry, .. }
                if Party::of_place(entry).is_some() || handler::of_place(entry).is_some() => {}
            ThreadOp::Create { child, detached, failed: false, .. } => {
                if let Some(child) = self.children.get_mut(usize::from(child)) {
                    *child = Child { unjoined: (!detached).then_some(number), runs: true };
                }
            }
            // An event without a call site is the runtime's: when main ends by `pthread_exit`, the
            // runtime waits for the other threads.
            ThreadOp::Join { thread, refused: false } | ThreadOp::Detach { thread } if event.pc != 0 => {
                if let Some(child) = self.children.get_mut(usize::from(thread)) {
                    child.unjoined = None;
                }
            }
            ThreadOp::End => {
                if let Some(child) = self.children.get_mut(usize::from(event.thread)) {
                    child.runs = false;
                }
            }
            _ => {}
        }
    }

    /// Main returned before some thread had ended.
    fn main_returns_early(&self, execution: &Execution, into: &mut Vec<Defect>) {
        let Some(at) = self.end_of_main.filter(|_| !self.running.is_empty()) else { return };
        let part = |thread: u16, position, pc| Part { thread, pc, position, waits: None, locks: Vec::new() };
        let mut parts = vec![part(0, PartPosition::Event(at), execution.events[at as usize].pc)];
        let pc = |thread: u16| execution.pending[usize::from(thread)].event.pc;
        parts.extend(self.running.iter().map(|&thread| part(thread, PartPosition::Pending, pc(thread))));
        into.push(Defect::warning("main-returns-early", Vec::new()).with(parts));
    }

    /// Threads that were neither joined nor detached.
    fn never_joined(&self, execution: &Execution, into: &mut Vec<Defect>) {
        let unjoined = self.children.iter().enumerate();
        for (thread, number) in unjoined.filter_map(|(thread, child)| Some((thread, child.unjoined?))) {
            let event = &execution.events[number as usize];
            let position = PartPosition::Event(number);
            let created = Part { thread: event.thread, pc: event.pc, position, waits: None, locks: Vec::new() };
            let child = Part { thread: thread as u16, ..created.clone() };
            into.push(Defect::warning("never-joined", vec![event.pc]).with(vec![created, child]));
        }
    }

    /// Objects that were initialised by a call, and then by another one without being destroyed.
    fn initialised_twice(&self, execution: &Execution, into: &mut Vec<Defect>) {
        for &(first, second) in &self.again {
            let [before, event] = [first, second].map(|number| &execution.events[number as usize]);
            let object = event.op.object();
            let is_new = execution.accesses.iter().any(|access| {
                let covers = access.addr <= object && object < access.addr.saturating_add(access.size);
                access.kind.ends_objects() && covers && first < access.after && access.after <= second
            });
            if !is_new {
                let part = |event: &Event, number| {
                    let position = PartPosition::Event(number);
                    Part { thread: event.thread, pc: event.pc, position, waits: None, locks: Vec::new() }
                };
                let defect = Defect::warning("initialised-twice", vec![event.pc]).about(Some(object));
                into.push(defect.with(vec![part(event, second), part(before, first)]));
            }
        }
    }

    /// Objects that were initialised by a call, are still there and were not destroyed.
    fn not_destroyed(&mut self, execution: &Execution, into: &mut Vec<Defect>) {
        if self.live.is_empty() {
            return;
        }
        for freed in execution.accesses.iter().filter(|access| access.kind.ends_objects()) {
            let block = freed.addr..freed.addr.saturating_add(freed.size);
            // Initialised again after the block came to life again: the later step stays.
            self.live.retain(|object, number| !block.contains(object) || *number >= freed.after);
        }
        let mut left: Vec<u32> = self.live.values().copied().collect();
        left.sort_unstable();
        for number in left {
            let event = &execution.events[number as usize];
            let detail = match event.op {
                Op::Mutex(_) => "mutex-not-destroyed",
                Op::Rwlock(_) => "rwlock-not-destroyed",
                Op::Cond(_) => "cond-not-destroyed",
                Op::Semaphore(_) => "sem-not-destroyed",
                Op::Barrier(_) => "barrier-not-destroyed",
                Op::Atomic(_)
                | Op::Fence(_)
                | Op::File(_)
                | Op::Futex(_)
                | Op::Memory(_)
                | Op::Once(_)
                | Op::Exit(_)
                | Op::Choice(_)
                | Op::Signal(_)
                | Op::Thread(_) => continue,
            };
            let position = PartPosition::Event(number);
            let part = Part { thread: event.thread, pc: event.pc, position, waits: None, locks: Vec::new() };
            into.push(Defect::warning(detail, vec![event.pc]).about(Some(event.op.object())).with(vec![part]));
        }
    }
}

impl Defect {
    fn warning(detail: &'static str, places: Vec<u64>) -> Self {
        Defect { severity: Severity::Warning, ..Defect::new(Kind::Misuse, detail, places) }
    }
}
