//! From an execution to its annotated trace.

use std::collections::BTreeMap;

use raddle_model::defect::Holdings;
use raddle_model::finding::{Created, Place};
use raddle_model::object::{LockChange, Namer as _, ThreadOp};
use raddle_model::{Access, AccessKind, Event as RunEvent, Execution, Op, Operation as _, PendingState, SyncState};
use raddle_vocab::Outcome;

use super::{AnnotatedEvent, AnnotatedTrace, EventKind, Interval, ThreadLane, VERSION, intern};
use crate::names::ExecutionNames;

/// Events of a trace, at most; the last ones are kept.
const MOST_EVENTS: usize = 20_000;
/// Accesses to more bytes at once are not shown.
const LARGEST_SHOWN: u64 = 64;

/// Makes the annotated trace of an execution.
pub struct TraceAnnotator<'a> {
    names: &'a ExecutionNames<'a>,
    execution: &'a Execution,
    /// Spurious wake-ups that each thread may have.
    spurious: u32,
    /// What plain accesses found in memory, by number of the access.
    values: &'a BTreeMap<usize, u64>,
}

/// Things that repeat are looked up once.
#[derive(Default)]
struct Known {
    places: BTreeMap<u64, usize>,
    objects: BTreeMap<(u64, u64, u64), usize>,
}

impl<'a> TraceAnnotator<'a> {
    /// Needs the names of this execution.
    #[must_use]
    pub fn new(
        names: &'a ExecutionNames<'a>,
        execution: &'a Execution,
        spurious: u32,
        values: &'a BTreeMap<usize, u64>,
    ) -> Self {
        TraceAnnotator { names, execution, spurious, values }
    }

    /// The first `steps` steps with the data accesses in between that threads share.
    #[must_use]
    pub fn annotate(&self, steps: usize) -> AnnotatedTrace {
        let directory = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        let mut trace =
            AnnotatedTrace { version: VERSION, directory, threads: self.threads(), ..AnnotatedTrace::default() };
        let mut known = Known::default();
        let steps = steps.min(self.execution.events.len());
        let shared = shared_accesses(self.execution, steps);
        let first = (steps + shared.len()).saturating_sub(MOST_EVENTS);
        let mut shared = shared.into_iter().peekable();
        // By event of the execution: its index in the annotated trace, 0 if it was left out.
        let mut event_of_step = Vec::with_capacity(steps);
        let mut number = 0;
        for (index, step) in self.execution.events.iter().enumerate().take(steps) {
            while let Some(access) = shared.next_if(|&at| self.execution.accesses[at].after as usize <= index) {
                self.add_access(&mut trace, &mut known, access, number >= first);
                number += 1;
            }
            event_of_step.push(number.saturating_sub(first));
            if number >= first {
                let event = self.step_event(&mut trace, &mut known, step, index);
                trace.events.push(event);
            }
            number += 1;
        }
        for access in shared {
            self.add_access(&mut trace, &mut known, access, number >= first);
            number += 1;
        }
        trace.left_out = first;
        trace.holds = self.holds(&mut trace, &mut known, &event_of_step);
        trace.waits = self.waits(&mut trace, &mut known, &event_of_step);
        trace
    }

    fn threads(&self) -> Vec<ThreadLane> {
        let lane = |(number, thread): (usize, &raddle_model::ThreadInfo)| {
            let is_creation = |step: &RunEvent| creates(&step.op, number);
            let mut events = self.execution.events.iter().enumerate();
            let creation = events.find(|(_, step)| is_creation(step)).filter(|_| number != 0);
            let created = creation.map(|(at, step)| Created {
                by: self.names.thread(u64::from(step.thread)),
                place: self.names.event_place(at as u32, step.pc),
            });
            ThreadLane { thread: thread.path.to_string(), name: thread.name.clone(), created }
        };
        self.execution.threads.iter().enumerate().map(lane).collect()
    }

    fn step_event(
        &self,
        trace: &mut AnnotatedTrace,
        known: &mut Known,
        step: &RunEvent,
        index: usize,
    ) -> AnnotatedEvent {
        let op = &step.op;
        let object = has_object(op).then(|| self.object(trace, known, op.object(), 1, step.pc));
        let peer = match op {
            Op::Thread(op) => op.peer().map(usize::from),
            _ => None,
        };
        AnnotatedEvent {
            thread: usize::from(step.thread),
            kind: EventKind::Sync,
            op: op.kind().word().into(),
            text: self.names.phrase(step),
            place: self.event_place(trace, known, step.pc, index),
            object,
            other: op.mutex_of_wait().map(|mutex| self.object(trace, known, mutex, 1, step.pc)),
            peer: peer.filter(|&peer| peer < trace.threads.len()),
            outcome: (op.outcome() != Outcome::Done).then(|| format!("{:?}", op.outcome()).to_lowercase()),
            value: op.value().map(|value| value.to_string()),
            wakes: op.woken().map(|woken| !woken.is_empty()),
            mark: None,
            step: Some(index + 1),
        }
    }

    fn add_access(&self, trace: &mut AnnotatedTrace, known: &mut Known, number: usize, wanted: bool) {
        if !wanted {
            return;
        }
        let access = &self.execution.accesses[number];
        let what = if access.kind == AccessKind::Read { "read" } else { "write" };
        let object = self.object(trace, known, access.addr, access.size, access.pc);
        let seen = self.values.get(&number).map(|&value| signed(value, access.size));
        let name = &trace.objects[object];
        let text = match (&seen, access.kind) {
            (Some(value), AccessKind::Read) => format!("{what} {name} = {value}"),
            (Some(value), _) => format!("{what} {name}, was {value}"),
            (None, _) => format!("{what} {name}"),
        };
        let event = AnnotatedEvent {
            thread: usize::from(access.thread),
            kind: EventKind::Access,
            op: what.into(),
            text,
            place: self.place(trace, known, access.pc),
            object: Some(object),
            value: seen.filter(|_| access.kind == AccessKind::Read),
            ..AnnotatedEvent::default()
        };
        trace.events.push(event);
    }

    /// The place of an event, which a stack may tell better than the return address.
    fn event_place(&self, trace: &mut AnnotatedTrace, known: &mut Known, pc: u64, index: usize) -> usize {
        match self.names.event_place(index as u32, pc) {
            _ if pc == 0 => self.place(trace, known, pc),
            place => intern(&mut trace.places, place),
        }
    }

    fn place(&self, trace: &mut AnnotatedTrace, known: &mut Known, pc: u64) -> usize {
        *known.places.entry(pc).or_insert_with(|| {
            let place = if pc == 0 { Place::default() } else { self.names.place(&[pc]) };
            intern(&mut trace.places, place)
        })
    }

    fn object(&self, trace: &mut AnnotatedTrace, known: &mut Known, address: u64, size: u64, pc: u64) -> usize {
        *known.objects.entry((address, size, pc)).or_insert_with(|| {
            let name = if size == 1 {
                // As phrases name it, so that one thing has one name.
                self.names.object(address)
            } else {
                self.names.locate(address, size, &[pc]).short
            };
            intern(&mut trace.objects, name)
        })
    }

    /// When which thread holds which lock.
    fn holds(&self, trace: &mut AnnotatedTrace, known: &mut Known, event_of_step: &[usize]) -> Vec<Interval> {
        let mut holdings = Holdings::default();
        let mut open: BTreeMap<(u16, u64), usize> = BTreeMap::new();
        let mut all: Vec<Interval> = Vec::new();
        for (number, step) in self.execution.events.iter().enumerate().take(event_of_step.len()) {
            holdings.apply(step, number as u32);
            let touched = step.op.lock_change().map(LockChange::object);
            open.retain(|&(thread, object), &mut at| {
                let held = touched != Some(object) || holdings.of_thread(thread).any(|held| held.object == object);
                if !held {
                    all[at].to = Some(event_of_step[number]);
                }
                held
            });
            let fresh: Vec<_> = holdings.of_thread(step.thread).filter(|held| held.event == number as u32).collect();
            for held in fresh {
                let mut object = self.object(trace, known, held.object, 1, held.pc);
                if held.shared {
                    let name = format!("{} (shared)", trace.objects[object]);
                    object = intern(&mut trace.objects, name);
                }
                open.insert((held.thread, held.object), all.len());
                let (thread, from) = (usize::from(held.thread), event_of_step[number]);
                all.push(Interval { thread, object: Some(object), from, to: None });
            }
        }
        // Intervals that lie wholly in what was left out.
        all.retain(|interval| interval.to != Some(0) || interval.from != 0);
        all
    }

    /// What a join waits for.
    fn end_of(&self, trace: &mut AnnotatedTrace, thread: u16) -> Option<usize> {
        let info = self.execution.threads.get(usize::from(thread))?;
        Some(intern(&mut trace.objects, format!("the end of {}", info.path)))
    }

    /// When which thread is blocked: as the semantics say of its next operation.
    fn waits(&self, trace: &mut AnnotatedTrace, known: &mut Known, event_of_step: &[usize]) -> Vec<Interval> {
        let steps = &self.execution.events[..event_of_step.len()];
        let mut world = SyncState::new(self.spurious);
        world.prepare(self.execution);
        let mut next = NextSteps::of(self.execution, steps.len());
        let mut open: BTreeMap<u16, usize> = BTreeMap::new();
        let mut all: Vec<Interval> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            world.apply(step);
            next.pass(step.thread);
            for thread in 0..self.execution.threads.len() as u16 {
                let Some(op) = next.of_thread(thread, self.execution).filter(|op| op.op.can_block()) else {
                    continue;
                };
                let blocked = world.is_alive(thread) && !world.enabled(op).possible();
                match (open.get(&thread), blocked) {
                    (None, true) => {
                        let object = match op.op {
                            Op::Thread(ThreadOp::Join { thread, .. }) => self.end_of(trace, thread),
                            Op::Thread(_) => None,
                            _ => Some(self.object(trace, known, op.op.object(), 1, op.pc)),
                        };
                        open.insert(thread, all.len());
                        // It waits from the event after which its next operation is disabled.
                        let from = event_of_step[number];
                        all.push(Interval { thread: usize::from(thread), object, from, to: None });
                    }
                    (Some(&at), false) => {
                        all[at].to = Some(event_of_step[number]);
                        open.remove(&thread);
                    }
                    _ => {}
                }
            }
        }
        all.retain(|interval| interval.to != Some(interval.from));
        all
    }
}

/// The step that each thread makes next.
struct NextSteps {
    by_thread: Vec<Vec<usize>>,
    at: Vec<usize>,
}

impl NextSteps {
    fn of(execution: &Execution, steps: usize) -> Self {
        let mut by_thread = vec![Vec::new(); execution.threads.len()];
        for (number, step) in execution.events.iter().enumerate().take(steps) {
            if let Some(list) = by_thread.get_mut(usize::from(step.thread)) {
                list.push(number);
            }
        }
        NextSteps { at: vec![0; by_thread.len()], by_thread }
    }

    fn pass(&mut self, thread: u16) {
        if let Some(at) = self.at.get_mut(usize::from(thread)) {
            *at += 1;
        }
    }

    fn of_thread<'e>(&self, thread: u16, execution: &'e Execution) -> Option<&'e RunEvent> {
        let thread = usize::from(thread);
        match self.by_thread[thread].get(self.at[thread]) {
            Some(&number) => execution.events.get(number),
            None => {
                let pending = execution.pending.get(thread)?;
                (pending.state == PendingState::Blocked).then_some(&pending.event)
            }
        }
    }
}

/// Whether the operation creates the thread with this number, even if the creation failed.
fn creates(op: &Op, number: usize) -> bool {
    matches!(op, Op::Thread(ThreadOp::Create { child, .. }) if usize::from(*child) == number)
}

/// Whether the operation is on an object that has a name.
fn has_object(op: &Op) -> bool {
    match op {
        Op::Thread(op) => matches!(op, ThreadOp::Poll { .. }),
        op => !matches!(op, Op::Exit(_) | Op::Fence(_) | Op::File(_) | Op::Choice(_)),
    }
}

/// A value of so many bytes, as a signed number.
fn signed(value: u64, size: u64) -> String {
    match size {
        1 => (value as i8).to_string(),
        2 => (value as i16).to_string(),
        4 => (value as i32).to_string(),
        _ => (value as i64).to_string(),
    }
}

/// Data accesses to bytes that one thread writes and another touches.
fn shared_accesses(execution: &Execution, steps: usize) -> Vec<usize> {
    /// Which threads have accessed a cell: one or several, and whether one of them wrote it.
    #[derive(Clone, Copy, Default)]
    struct Users {
        one: Option<u16>,
        several: bool,
        written: bool,
    }
    let wanted = |access: &Access| {
        let is_data = matches!(access.kind, AccessKind::Read | AccessKind::Write);
        is_data && access.size <= LARGEST_SHOWN && access.after as usize <= steps
    };
    let mut cells: BTreeMap<u64, Users> = BTreeMap::new();
    for access in execution.accesses.iter().filter(|access| wanted(access)) {
        let users = cells.entry(access.addr >> 3).or_default();
        users.several |= users.one.is_some_and(|other| other != access.thread);
        users.one = Some(access.thread);
        users.written |= access.kind == AccessKind::Write;
    }
    let is_shared =
        |access: &Access| cells.get(&(access.addr >> 3)).is_some_and(|users| users.several && users.written);
    let accesses = execution.accesses.iter().enumerate();
    accesses.filter(|(_, access)| wanted(access) && is_shared(access)).map(|(number, _)| number).collect()
}
