//! One execution, as a sequence of transitions with the data accesses between them.

use std::sync::atomic::{AtomicU64, Ordering};

use raddle_vocab::{Failure, MappingChange, Misuse, RunStatus, Words, handler};
use serde::{Deserialize, Serialize};

use crate::object::{Op, OpTraits, Operation as _, ThreadOp, UnpackError};
use crate::saved::{EventRow, IncidentRow};
use crate::thread::ThreadInfo;
use crate::weak::AtomicDetail;

/// A transition: one synchronising operation (at access granularity also a data access).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "EventRow", try_from = "EventRow")]
pub struct Event {
    /// Run-local number of the thread.
    pub thread: u16,
    /// Where, in the program.
    pub pc: u64,
    /// Data accesses that the thread made since its previous transition.
    pub accesses: u32,
    /// The number of the read in a spin loop that it is, if it is one.
    pub held: HeldRead,
    /// Whether a signal handler may interrupt the thread before it.
    pub exposed: bool,
    /// What was done, and what became of it.
    pub op: Op,
}

/// A number for a read in a spin loop and the state of its thread there: which values hold the
/// thread is a function of it. It is given when the loop is known. So the same event may have it in
/// one execution and not in an earlier one, and events are compared without it.
#[derive(Clone, Copy, Debug, Default, Eq, Serialize, Deserialize)]
pub struct HeldRead(pub u16);

impl HeldRead {
    /// The event is not known to be such a read.
    pub const NONE: HeldRead = HeldRead(0);
}

impl PartialEq for HeldRead {
    fn eq(&self, _: &HeldRead) -> bool {
        true
    }
}

/// A thread before such a read would only go round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingValue {
    /// The read.
    pub read: HeldRead,
    /// The value with which it goes round.
    pub value: u64,
}

impl std::fmt::Display for Event {
    /// The operation and its thread, for messages about raddle itself: objects have no names here.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.op.pack();
        write!(f, "{} of thread {} on {:#x} at {:#x}", words.kind.word(), self.thread, words.obj, self.pc)?;
        write!(f, " ({} with {:#x}, {:#x}, {:#x})", words.outcome.word(), words.arg, words.value, words.old)
    }
}

impl Event {
    /// An operation of a thread at no place in the program.
    #[must_use]
    pub fn new(thread: u16, op: Op) -> Self {
        Event { thread, pc: 0, accesses: 0, held: HeldRead::NONE, exposed: false, op }
    }

    /// Whether it changes which threads can take a signal that is sent to the process: it begins or
    /// ends the life of a thread that is no courier.
    #[must_use]
    pub(crate) fn changes_takers(&self) -> bool {
        let place = match self.op {
            Op::Thread(ThreadOp::Create { entry, failed: false, .. }) => entry,
            Op::Thread(ThreadOp::End) => self.pc,
            _ => return false,
        };
        handler::of_place(place).is_none()
    }

    /// The same for an operation in the words of the wire.
    ///
    /// # Errors
    /// If the words are no operation.
    pub fn unpack(thread: u16, words: &Words) -> Result<Self, UnpackError> {
        Op::unpack(words).map(|op| Event::new(thread, op))
    }
}

/// What a data access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// The block came to life: earlier accesses to these bytes concern an earlier object.
    Alloc,
    /// The block died: conflicts with every access to it.
    Free,
    /// Mapped memory has changed.
    Mapping(#[serde(with = "crate::saved::mapping_change")] MappingChange),
}

impl AccessKind {
    /// Whether the bytes hold what they held before.
    #[must_use]
    pub fn keeps_content(self) -> bool {
        match self {
            AccessKind::Read => true,
            AccessKind::Mapping(change) => !change.drops_content(),
            AccessKind::Write | AccessKind::Alloc | AccessKind::Free => false,
        }
    }

    /// Whether what lay there has ended its life without being destroyed.
    #[must_use]
    pub fn ends_objects(self) -> bool {
        self == AccessKind::Free || matches!(self, AccessKind::Mapping(change) if change.ends_objects())
    }
}

/// A data access between two transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Run-local number of the thread.
    pub thread: u16,
    /// What it does.
    pub kind: AccessKind,
    /// Whether the program called it volatile.
    pub volatile: bool,
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub size: u64,
    /// Where, in the program.
    pub pc: u64,
    /// Number of steps of the whole execution that precede it.
    pub after: u32,
    /// Its number among the accesses of its thread since that thread's last transition, from 0.
    pub count: u32,
}

/// How a thread stands at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PendingState {
    /// It could still step (the run was cut, or diverged).
    Enabled,
    /// It waits for another thread.
    Blocked,
    /// It waits busily: what it would read now would only lead it back to where it has been.
    Awaiting,
    /// It failed.
    Failed,
    /// It is over.
    Ended,
    /// It left the process (`exit`), which is at rest.
    Exited,
    /// As [`PendingState::Awaiting`], but in the middle of a round that began with values that have
    /// changed since: a thread that started the round now would go on. Another execution covers
    /// this one.
    Stale,
}

impl PendingState {
    /// What the thread does, for sentences about it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            PendingState::Enabled => "can go on",
            PendingState::Blocked => "waits",
            PendingState::Awaiting | PendingState::Stale => "waits busily",
            PendingState::Failed => "has failed",
            PendingState::Ended => "has ended",
            PendingState::Exited => "has left the process",
        }
    }
}

/// The operation that a thread stands before at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The operation, as if it were made. What it would have seen and done has no meaning.
    pub event: Event,
    /// Whether and why it was not made.
    pub state: PendingState,
    /// What a thread that spins found in the location that it waits for.
    pub found: u64,
}

/// Something that went wrong at a certain point, seen by the runtime itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "IncidentRow", try_from = "IncidentRow")]
pub struct Incident {
    /// Run-local number of the thread.
    pub thread: u16,
    /// Number of steps of the whole execution that precede it.
    pub after: u32,
    /// Data accesses that the thread made since its last transition.
    pub count: u32,
    /// Where.
    pub pc: u64,
    /// Object or address concerned.
    pub obj: u64,
    /// Second operand: signal number, exit status, other object.
    pub arg: u64,
    /// What.
    pub kind: IncidentKind,
    /// Text that belongs to it (the condition of an assertion, the type of an exception).
    pub text: String,
}

/// Kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IncidentKind {
    /// The thread failed and stopped.
    Failure(Failure),
    /// The thread misused the library and went on.
    Misuse(Misuse),
}

/// Identifies the state of a program. Equal keys mean equal states: the same threads can make the
/// same transitions, with the same effects, for ever after. A key does not cover happens-before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StateKey(pub u128);

impl StateKey {
    /// The state cannot be compared with others.
    pub const UNKNOWN: StateKey = StateKey(0);
    /// In place of all keys of an execution: no states of the program can be compared any more.
    pub const REVOKED: StateKey = StateKey(u128::MAX);

    /// Whether the state can be compared with others.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != StateKey::UNKNOWN && self != StateKey::REVOKED
    }
}

/// One run from the start to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execution {
    /// Transitions in order. Failed rounds of busy waiting are not in it.
    pub events: Vec<Event>,
    /// Data accesses in order.
    pub accesses: Vec<Access>,
    /// Threads by run-local number.
    pub threads: Vec<ThreadInfo>,
    /// One per thread, by run-local number.
    pub pending: Vec<Pending>,
    /// What the runtime saw go wrong.
    pub incidents: Vec<Incident>,
    /// How the run ended.
    #[serde(with = "crate::saved::run_status")]
    pub status: RunStatus,
    /// Status of the process, if it exited: that of the first end of it.
    pub exit: Option<i32>,
    /// Number of the step that could not be taken, if the schedule could not be followed.
    pub diverged_at: Option<u32>,
    /// Everything recorded: steps, accesses, allocations.
    pub recorded: u64,
    /// Number of spin loops found in the program, in this run or before. Once there is one, whether
    /// a read is enabled depends on the value to be read. The more loops are known, the more rounds
    /// are recognised as failed.
    pub awaits: u32,
    /// The state before each event, and the one at the end; empty if the target was not asked for
    /// keys.
    pub keys: Vec<StateKey>,
    /// Values with which threads that wait busily were held in this run.
    pub failing: Vec<FailingValue>,
    /// What atomic operations are beside their events, in order; empty if the target was not asked
    /// for it.
    pub details: Vec<AtomicDetail>,
    /// The same of operations that threads stand before at the end. `event` is the number of the
    /// thread.
    pub pending_details: Vec<AtomicDetail>,
    /// A name of each event; empty if the execution was not decoded from a trace.
    #[serde(skip)]
    pub names: Vec<EventName>,
    /// The rare properties of all events together; `None` if they were not collected.
    #[serde(skip)]
    pub traits: Option<OpTraits>,
}

/// A name of an event: two events with the same name are equal, in whatever executions. An event
/// may have several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventName(u64);

impl EventName {
    /// Of an event that has no name.
    pub const NONE: EventName = EventName(0);

    /// A name that no event has yet.
    #[must_use]
    pub fn fresh() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        EventName(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether two events are known by their names to be equal.
    #[must_use]
    #[inline]
    pub fn is_same(self, other: EventName) -> bool {
        self == other && self != EventName::NONE
    }
}

impl Execution {
    /// The threads that ended the process, with the statuses that they gave. Each of these ends
    /// could have been the first one.
    pub fn exits(&self) -> impl Iterator<Item = (u16, i32)> {
        let ended = self.pending.iter().filter(|pending| pending.state == PendingState::Exited);
        ended.filter_map(|pending| match pending.event.op {
            Op::Exit(op) => Some((pending.event.thread, op.status)),
            _ => None,
        })
    }

    /// Whether its parts fit each other, as all readers of an execution rely on.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let (threads, steps) = (self.threads.len(), self.events.len());
        let is_known = |thread: u16| usize::from(thread) < threads;
        let is_within = |after: u32| after as usize <= steps;
        self.pending.len() == threads
            && self.pending.iter().enumerate().all(|(n, pending)| usize::from(pending.event.thread) == n)
            && self.events.iter().all(|event| is_known(event.thread))
            && self
                .accesses
                .iter()
                .all(|a| is_known(a.thread) && is_within(a.after) && a.addr.checked_add(a.size).is_some())
            && self.accesses.is_sorted_by_key(|access| access.after)
            && self.incidents.iter().all(|incident| is_known(incident.thread) && is_within(incident.after))
            && self.details.is_sorted_by(|one, other| one.event < other.event)
            && self.details.iter().all(|detail| {
                let event = self.events.get(detail.event as usize);
                event.is_some_and(|event| event.op.as_atomic().is_some())
            })
    }

    /// An execution with nothing in it, to be filled.
    #[must_use]
    pub fn empty() -> Self {
        Execution {
            events: Vec::new(),
            accesses: Vec::new(),
            threads: Vec::new(),
            pending: Vec::new(),
            incidents: Vec::new(),
            status: RunStatus::Rest,
            exit: None,
            diverged_at: None,
            recorded: 0,
            awaits: 0,
            keys: Vec::new(),
            failing: Vec::new(),
            details: Vec::new(),
            pending_details: Vec::new(),
            names: Vec::new(),
            traits: None,
        }
    }

    /// The rare properties of its events.
    #[must_use]
    pub fn event_traits(&self) -> OpTraits {
        let collect = || self.events.iter().fold(OpTraits::default(), |all, event| all | event.op.traits());
        self.traits.unwrap_or_else(collect)
    }

    /// What the event is beside what it says, if the target told.
    #[must_use]
    pub fn detail(&self, event: usize) -> Option<&AtomicDetail> {
        let at = self.details.binary_search_by_key(&event, |detail| detail.event as usize).ok()?;
        Some(&self.details[at])
    }

    /// How many stores stand behind the one that an event read, or behind the place of the one that
    /// it made: 0 if memory is sequentially consistent.
    #[must_use]
    pub fn behind(&self, event: usize) -> u16 {
        self.detail(event).map_or(0, |detail| detail.behind)
    }

    /// Whether a thread stopped in the middle of a round of a spin loop that another execution
    /// begins later. The end of this execution is then no end of the program.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.pending.iter().any(|pending| pending.state == PendingState::Stale)
    }
}
