//! What lies below a state, as far as the way to the state matters for it.
//!
//! A search that is cut at a known state has to make up for what it does not see: operations below
//! the state that could have come before events on the way to it, and accesses below that race with
//! accesses on the way. A summary lists both. Going back over an event, an entry learns that the
//! event is part of its past, or stays as it is.

use std::rc::Rc;

use raddle_model::depend::conflict;
use raddle_model::{Event, Footprint, Operation as _, Pending, Touch, footprint};
use raddle_vocab::policy::mix;
use rustc_hash::FxHashMap;

use super::flow::{Flow, SharedAccess, Sources};
use super::sharing::Sharing;

/// Threads of a search, a bit each. A search with more threads does not match states.
pub(crate) type Threads = u64;

/// An event with its footprint and its flow of happens-before.
#[derive(Debug)]
pub(crate) struct PathEvent {
    pub event: Event,
    pub touches: Footprint,
    pub flow: Flow,
}

/// A list of events that shares its tail with others.
#[derive(Debug)]
pub(crate) struct EventList {
    pub first: Rc<PathEvent>,
    pub rest: Option<Rc<EventList>>,
}

/// An operation that occurs below the state, or is pending at the end of an execution below it.
#[derive(Clone, Debug)]
pub(crate) struct LateOperation {
    name: u64,
    pub event: Event,
    /// How it was pending, if it was.
    pub pending: Option<Pending>,
    pub touches: Footprint,
    /// The threads of the events below the state that happen before it, without order through its
    /// own touches, and its own thread.
    pub past_threads: Threads,
    /// What these events touch.
    pub past_touches: Rc<Vec<Touch>>,
    /// Threads that can make the first of these events or the operation, with its touches.
    pub initials: Vec<(u16, Footprint)>,
    /// These events, in order.
    pub past: Option<Rc<EventList>>,
}

/// The bit of a thread. With more threads than bits no states are compared, so some may share one.
fn thread_bit(thread: u16) -> u64 {
    1 << thread.min(63)
}

impl LateOperation {
    /// The operation in the state before it: nothing below happens before it.
    fn new(event: Event, pending: Option<Pending>, touches: Footprint, initial: Footprint, hard: Vec<Touch>) -> Self {
        LateOperation {
            name: name(&event, &touches),
            event,
            pending,
            touches,
            past_threads: thread_bit(event.thread),
            past_touches: Rc::new(hard),
            initials: vec![(event.thread, initial)],
            past: None,
        }
    }

    /// The entries that an operation has in the state before it. The end of a wait is preceded by
    /// its wake-up as by an event of its own thread, unless the wait may time out.
    pub fn of(event: Event, pending: Option<Pending>, touches: &Footprint, is_timed: bool) -> Vec<Self> {
        if !event.op.ends_wait() {
            return vec![LateOperation::new(event, pending, touches.clone(), touches.clone(), Vec::new())];
        }
        let (wake, rest): (Footprint, Footprint) = touches.iter().copied().partition(Touch::is_wait);
        let mut entries = vec![LateOperation::new(event, pending, rest, touches.clone(), wake.to_vec())];
        if is_timed {
            entries.push(LateOperation::new(event, pending, touches.clone(), touches.clone(), Vec::new()));
        }
        entries
    }

    /// Whether the event before the state is part of the operation's past.
    fn follows(&self, before: &PathEvent) -> bool {
        self.past_threads & thread_bit(before.event.thread) != 0 || conflict(&before.touches, &self.past_touches)
    }

    /// The same in the state before an event of its past.
    fn back(&self, before: &Rc<PathEvent>) -> Self {
        let thread = before.event.thread;
        let mut past_touches = Rc::clone(&self.past_touches);
        for touch in before.touches.iter().filter(|touch| !self.past_touches.contains(touch)) {
            Rc::make_mut(&mut past_touches).push(*touch);
        }
        let others = self.initials.iter();
        let others = others.filter(|(other, touches)| *other != thread && !conflict(touches, &before.touches));
        let first = (thread, before.touches.clone());
        LateOperation {
            past_threads: self.past_threads | thread_bit(thread),
            past_touches,
            initials: std::iter::once(first).chain(others.cloned()).collect(),
            past: Some(Rc::new(EventList { first: Rc::clone(before), rest: self.past.clone() })),
            ..self.clone()
        }
    }

    /// Whether whatever this entry requests, the other one does, too.
    fn is_dominated_by(&self, other: &Self) -> bool {
        other.past_threads & !self.past_threads == 0
            && other.past_touches.iter().all(|touch| self.past_touches.contains(touch))
            && other.initials.iter().all(|(thread, _)| self.initials.iter().any(|(mine, _)| mine == thread))
    }
}

/// A number for an operation. Entries with the same number are about the same operation.
fn name(event: &Event, touches: &[Touch]) -> u64 {
    let sum = touches.iter().fold(0u64, |sum, touch| {
        sum.wrapping_add(mix(touch.cell ^ mix(u64::from(touch.bytes) | (touch.mode as u64) << 8)))
    });
    let (kind, object) = (event.op.kind() as u64, event.op.object());
    mix(u64::from(event.thread) ^ mix(kind ^ mix(object ^ mix(sum))))
}

/// An access below the state.
#[derive(Clone, Debug)]
pub(crate) struct LateAccess {
    pub access: SharedAccess,
    /// The clocks in the state whose join happens before it.
    pub sources: Sources,
}

/// Everything below a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateSummary {
    operations: FxHashMap<u64, Vec<Rc<LateOperation>>>,
    accesses: FxHashMap<SharedAccess, Vec<Sources>>,
}

impl StateSummary {
    /// The operations, in an order that does not depend on chance.
    pub fn operations(&self) -> Vec<&Rc<LateOperation>> {
        let mut names: Vec<_> = self.operations.keys().copied().collect();
        names.sort_unstable();
        names.into_iter().flat_map(|name| &self.operations[&name]).collect()
    }

    /// The accesses.
    pub fn accesses(&self) -> impl Iterator<Item = LateAccess> + '_ {
        let all = self.accesses.iter();
        all.flat_map(|(&access, all)| all.iter().map(move |s| LateAccess { access, sources: Rc::clone(s) }))
    }

    /// Whether there are accesses.
    pub fn has_accesses(&self) -> bool {
        !self.accesses.is_empty()
    }

    /// Roughly how many bytes it takes.
    pub fn weight(&self) -> usize {
        let operations: usize = self.operations.values().map(Vec::len).sum();
        let accesses: usize = self.accesses.values().map(Vec::len).sum();
        64 + operations * 320 + accesses * 96
    }

    pub fn add_operation(&mut self, operation: Rc<LateOperation>) {
        let all = self.operations.entry(operation.name).or_default();
        if all.iter().any(|other| Rc::ptr_eq(other, &operation) || operation.is_dominated_by(other)) {
            return;
        }
        all.retain(|other| !other.is_dominated_by(&operation));
        all.push(operation);
    }

    /// The thread stands before this operation and not before that which is listed.
    pub fn replace_thread(&mut self, thread: u16, event: Event, is_timed: bool) {
        self.operations.retain(|_, all| all.iter().any(|operation| operation.event.thread != thread));
        for operation in LateOperation::of(event, None, &footprint(&event), is_timed) {
            self.add_operation(Rc::new(operation));
        }
    }

    fn add_access(&mut self, access: SharedAccess, sources: Sources) {
        let is_subset = |a: &Sources, b: &Sources| a.iter().all(|var| b.contains(var));
        let all = self.accesses.entry(access).or_default();
        if all.iter().any(|other| is_subset(other, &sources)) {
            return;
        }
        all.retain(|other| !is_subset(&sources, other));
        all.push(sources);
    }

    /// Adds what an event contributes to the state before it: itself and its accesses.
    pub fn add_event(&mut self, event: &Rc<PathEvent>, is_timed: bool, sharing: &Sharing) {
        for operation in LateOperation::of(event.event, None, &event.touches, is_timed) {
            self.add_operation(Rc::new(operation));
        }
        let accesses = event.flow.accesses.iter().filter(|access| !access.is_new);
        for access in accesses.filter(|access| sharing.is_shared(&access.access)) {
            self.add_access(access.access, Rc::clone(&access.sources));
        }
    }

    /// Adds what lies below the state behind an event to the state before it.
    pub fn add_behind(&mut self, behind: &StateSummary, event: &Rc<PathEvent>) {
        for operation in behind.operations() {
            let is_past = operation.follows(event);
            self.add_operation(if is_past { Rc::new(operation.back(event)) } else { Rc::clone(operation) });
        }
        let mut sources = Vec::new();
        for late in behind.accesses() {
            if event.flow.erases(late.access.range) {
                continue;
            }
            sources.clear();
            late.sources.iter().for_each(|&var| event.flow.before(var, &mut sources));
            sources.sort_unstable();
            sources.dedup();
            self.add_access(late.access, sources.as_slice().into());
        }
    }
}
