//! What lies below a state, as far as the way to the state matters for it.
//!
//! A search that is cut at a known state has to make up for what it does not see: operations below
//! the state that could have come before events on the way to it, and accesses below that race with
//! accesses on the way. A summary lists both. Going back over an event, an entry learns that the
//! event is part of its past, or stays as it is.
//!
//! Both lists are sorted, so that two summaries are merged in one pass. Entries are shared between
//! the summaries of states that follow one another; only those that learn something are copied.

use std::rc::Rc;

use raddle_model::{Event, Footprint, Operation as _, Pending, Touch};
use raddle_vocab::policy::mix;
use smallvec::SmallVec;

use super::flow::{Flow, SharedAccess, Sources};
use super::sharing::Sharing;
use super::touches::{TouchNumbers, TouchSet, TouchTable};

/// Threads of a search, a bit each. A search with more threads does not match states.
pub(crate) type Threads = u64;

/// An event with its footprint and its flow of happens-before.
#[derive(Debug)]
pub(crate) struct PathEvent {
    pub event: Event,
    pub touches: Footprint,
    /// The numbers of the touches.
    pub numbers: TouchNumbers,
    pub flow: Flow,
    /// Whether no schedule reverses it with an earlier event of another thread.
    pub is_fixed: bool,
}

/// A list of events that shares its tail with others.
#[derive(Debug)]
pub(crate) struct EventList {
    pub first: Rc<PathEvent>,
    pub rest: Option<Rc<EventList>>,
}

/// What an operation is, whatever lies before it.
#[derive(Debug)]
pub(crate) struct OperationKind {
    pub(super) name: u64,
    pub event: Event,
    /// How it was pending, if it was.
    pub pending: Option<Pending>,
    pub touches: Footprint,
}

/// An operation that occurs below the state, or is pending at the end of an execution below it.
#[derive(Clone, Debug)]
pub(crate) struct LateOperation {
    pub kind: Rc<OperationKind>,
    /// The threads of the events below the state that happen before it, without order through its
    /// own touches, and its own thread.
    pub past_threads: Threads,
    /// What these events touch.
    pub past_touches: TouchSet,
    /// Threads that can make the first of these events or the operation, with its touches.
    pub(super) initials: SmallVec<[(u16, TouchNumbers); 2]>,
    /// These threads.
    pub(super) initial_threads: Threads,
    /// These events, in order.
    pub past: Option<Rc<EventList>>,
}

/// The bit of a thread. With more threads than bits no states are compared, so some may share one.
pub(super) fn thread_bit(thread: u16) -> u64 {
    1 << thread.min(63)
}

impl LateOperation {
    /// The operation in the state before it: nothing below happens before it. `initial` are all its
    /// touches, `hard` those through which an earlier event has to come before it.
    fn new(
        event: Event,
        pending: Option<Pending>,
        touches: Footprint,
        initial: TouchNumbers,
        hard: &[u32],
    ) -> Rc<Self> {
        let mut past_touches = TouchSet::default();
        hard.iter().for_each(|&number| past_touches.insert(number));
        let name = name(&event, &touches);
        Rc::new(LateOperation {
            kind: Rc::new(OperationKind { name, event, pending, touches }),
            past_threads: thread_bit(event.thread),
            past_touches,
            initials: SmallVec::from_iter([(event.thread, initial)]),
            initial_threads: thread_bit(event.thread),
            past: None,
        })
    }

    /// The entries that an operation has in the state before it. The end of a wait is preceded by
    /// its wake-up as by an event of its own thread, unless the wait may time out.
    ///
    /// Of an operation that may be held up, what is to be reversed with it need not be what enables
    /// it: a thread that a handler suspends goes on behind the handler's return, and may have to
    /// come before another thread's use of the lock that it asks for. So there is an entry for each
    /// touch, too, in whose past are the events of all others.
    fn of(
        event: Event,
        pending: Option<Pending>,
        touches: &Footprint,
        is_timed: bool,
        table: &mut TouchTable,
    ) -> SmallVec<[Rc<Self>; 2]> {
        let mut entries = SmallVec::new();
        let all = table.numbers(touches);
        let mut add = |own: Footprint, table: &mut TouchTable| {
            let hard: Footprint = touches.iter().copied().filter(|touch| !own.contains(touch)).collect();
            entries.push(LateOperation::new(event, pending, own, all.clone(), &table.numbers(&hard)));
        };
        let ends_wait = event.op.ends_wait();
        let own: Footprint = touches.iter().copied().filter(|touch| !ends_wait || !touch.is_wait()).collect();
        add(own.clone(), table);
        if ends_wait && is_timed {
            add(touches.clone(), table);
        }
        if own.len() > 1 && may_be_held_up(&event) {
            own.iter().for_each(|&touch| add(Footprint::from_slice(&[touch]), table));
        }
        entries
    }

    fn name(&self) -> u64 {
        self.kind.name
    }

    /// Whether the event before the state is part of the operation's past.
    fn follows(&self, before: &PathEvent, table: &TouchTable) -> bool {
        self.past_threads & thread_bit(before.event.thread) != 0
            || table.conflicts_with(&before.numbers, &self.past_touches)
    }

    /// Goes back over an event of its past.
    fn go_back(&mut self, before: &Rc<PathEvent>, table: &TouchTable) {
        let thread = before.event.thread;
        before.numbers.iter().for_each(|&number| self.past_touches.insert(number));
        self.past_threads |= thread_bit(thread);
        self.initials.retain(|(other, touches)| *other != thread && !table.conflict(touches, &before.numbers));
        self.initials.insert(0, (thread, before.numbers.clone()));
        self.initial_threads = self.initials.iter().fold(0, |all, (thread, _)| all | thread_bit(*thread));
        self.past = Some(Rc::new(EventList { first: Rc::clone(before), rest: self.past.take() }));
    }

    /// Whether whatever this entry requests, the other one does, too.
    fn is_dominated_by(&self, other: &Self) -> bool {
        other.past_threads & !self.past_threads == 0
            && other.initial_threads & !self.initial_threads == 0
            && other.past_touches.is_subset(&self.past_touches)
    }
}

/// Whether there are states in which the operation is pending and cannot be made.
fn may_be_held_up(event: &Event) -> bool {
    event.exposed || event.op.can_block() || event.held.0 != 0
}

/// A number for an operation. Entries with the same number are about the same operation.
pub(super) fn name(event: &Event, touches: &[Touch]) -> u64 {
    let sum = touches.iter().fold(0u64, |sum, touch| {
        sum.wrapping_add(mix(touch.cell ^ mix(u64::from(touch.bytes) | (touch.mode as u64) << 8)))
    });
    let (kind, object) = (event.op.kind() as u64, event.op.object());
    mix(u64::from(event.thread) ^ mix(kind ^ mix(object ^ mix(sum))))
}

/// An access below the state, with the clocks in the state whose join happens before it.
pub(crate) type LateAccess = (SharedAccess, Sources);

/// Everything below a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateSummary {
    /// Sorted by name.
    pub(super) operations: Vec<Rc<LateOperation>>,
    /// Sorted by access.
    pub(super) accesses: Vec<LateAccess>,
}

/// Adds an entry to a sorted list behind all smaller ones. `is_covered`: whether the first of two
/// entries of one name is not needed beside the second.
fn add_sorted<T, N: Ord>(list: &mut Vec<T>, entry: T, name: impl Fn(&T) -> N, is_covered: impl Fn(&T, &T) -> bool) {
    let own = name(&entry);
    let from = list.partition_point(|other| name(other) < own);
    let to = from + list[from..].partition_point(|other| name(other) == own);
    if list[from..to].iter().any(|other| is_covered(&entry, other)) {
        return;
    }
    let kept = list.extract_if(from..to, |other| is_covered(other, &entry)).count();
    list.insert(to - kept, entry);
}

/// The same for all entries of another sorted list.
fn merge_sorted<T, N: Ord>(
    list: &mut Vec<T>,
    mut entries: Vec<T>,
    name: impl Fn(&T) -> N,
    is_covered: impl Fn(&T, &T) -> bool,
) {
    // A list of few entries, as a state has of its own, is added to the other.
    if list.len() < entries.len() {
        std::mem::swap(list, &mut entries);
    }
    if entries.len() * 8 < list.len() {
        return entries.into_iter().for_each(|entry| add_sorted(list, entry, &name, &is_covered));
    }
    let mut merged = Vec::with_capacity(list.len() + entries.len());
    let mut old = std::mem::take(list).into_iter().peekable();
    // Where the entries of the last name begin.
    let mut group = 0;
    for entry in entries {
        let own = name(&entry);
        while let Some(smaller) = old.next_if(|other| name(other) < own) {
            merged.push(smaller);
        }
        if merged.get(group).is_none_or(|first| name(first) != own) {
            group = merged.len();
            while let Some(same) = old.next_if(|other| name(other) == own) {
                merged.push(same);
            }
        }
        if !merged[group..].iter().any(|other| is_covered(&entry, other)) {
            merged.extract_if(group.., |other| is_covered(other, &entry)).for_each(drop);
            merged.push(entry);
        }
    }
    merged.extend(old);
    *list = merged;
}

/// Removes entries that are not needed beside others of the same name, from a sorted list.
fn reduce_sorted<T, N: Ord>(list: &mut Vec<T>, name: impl Fn(&T) -> N, is_covered: impl Fn(&T, &T) -> bool) {
    let mut from = 0;
    while from < list.len() {
        let mut to = from + 1;
        while to < list.len() && name(&list[to]) == name(&list[from]) {
            let is_needless = list[from..to].iter().any(|other| is_covered(&list[to], other));
            if is_needless {
                list.remove(to);
                continue;
            }
            let mut at = from;
            while at < to {
                if is_covered(&list[at], &list[to]) {
                    list.remove(at);
                    to -= 1;
                } else {
                    at += 1;
                }
            }
            to += 1;
        }
        from = to;
    }
}

fn is_operation_covered(one: &Rc<LateOperation>, other: &Rc<LateOperation>) -> bool {
    Rc::ptr_eq(one, other) || one.is_dominated_by(other)
}

/// An access races with all that it races with if fewer clocks happen before it.
fn is_access_covered((_, sources): &LateAccess, (_, fewer): &LateAccess) -> bool {
    Rc::ptr_eq(sources, fewer) || fewer.iter().all(|var| sources.contains(var))
}

impl StateSummary {
    /// The operations, in an order that does not depend on chance.
    pub fn operations(&self) -> &[Rc<LateOperation>] {
        &self.operations
    }

    /// The accesses.
    pub fn accesses(&self) -> &[LateAccess] {
        &self.accesses
    }

    /// Roughly how many bytes it takes.
    pub fn weight(&self) -> usize {
        64 + self.operations.len() * 320 + self.accesses.len() * 96
    }

    /// Adds an operation in the state before it.
    pub fn add_operation(
        &mut self,
        event: Event,
        pending: Option<Pending>,
        touches: &Footprint,
        is_timed: bool,
        table: &mut TouchTable,
    ) {
        for entry in LateOperation::of(event, pending, touches, is_timed, table) {
            add_sorted(&mut self.operations, entry, |entry| entry.name(), is_operation_covered);
        }
    }

    /// Adds what an event contributes to the state before it: itself and its accesses.
    pub fn add_event(&mut self, event: &PathEvent, is_timed: bool, sharing: &Sharing, table: &mut TouchTable) {
        if !event.is_fixed {
            self.add_operation(event.event, None, &event.touches, is_timed, table);
        }
        let accesses = event.flow.accesses.iter().filter(|access| !access.is_new);
        for access in accesses.filter(|access| sharing.is_shared(&access.access)) {
            let entry = (access.access, Rc::clone(&access.sources));
            add_sorted(&mut self.accesses, entry, |entry| entry.0, is_access_covered);
        }
    }

    /// Adds the operations of a summary of the same state.
    pub fn add_operations(&mut self, other: StateSummary) {
        merge_sorted(&mut self.operations, other.operations, |entry| entry.name(), is_operation_covered);
    }

    /// Adds what lies below the state behind an event to the state before it.
    pub fn add_behind(&mut self, mut behind: StateSummary, event: &Rc<PathEvent>, table: &TouchTable) {
        for operation in behind.operations.iter_mut().filter(|operation| operation.follows(event, table)) {
            Rc::make_mut(operation).go_back(event, table);
        }
        reduce_sorted(&mut behind.operations, |entry| entry.name(), is_operation_covered);
        merge_sorted(&mut self.operations, behind.operations, |entry| entry.name(), is_operation_covered);
        behind.accesses.retain_mut(|(access, sources)| {
            let flow = &event.flow;
            if flow.erases(access.range) {
                return false;
            }
            if !sources.iter().all(|&var| flow.keeps(var)) {
                let mut before = Vec::new();
                sources.iter().for_each(|&var| flow.before(var, &mut before));
                before.sort_unstable();
                before.dedup();
                *sources = before.into();
            }
            true
        });
        reduce_sorted(&mut behind.accesses, |entry| entry.0, is_access_covered);
        merge_sorted(&mut self.accesses, behind.accesses, |entry| entry.0, is_access_covered);
    }
}
