//! Everything that is wrong in one execution.

mod deadlock;
mod held;
mod life;
mod memory;
#[cfg(test)]
mod tests;
pub mod words;

use raddle_vocab::{Failure, Misuse, OpKind, RunStatus};

use crate::execution::{Access, Event, Execution, Incident, IncidentKind};
use crate::finding::{Kind, Severity};
use crate::object::{Op, ThreadOp};
use crate::race::heap::Block;
use crate::race::{self, Race, RaceDetector};

pub use held::{Held, Holdings, locks_held};

/// What tells two defects apart: meeting the same signature again is meeting the same defect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    /// What sort.
    pub kind: Kind,
    /// What exactly.
    pub detail: &'static str,
    /// Where, in the program: in increasing order, each once.
    pub places: Vec<u64>,
}

/// Where in an execution a part of a defect lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPosition {
    /// At this element of [`Execution::accesses`].
    Access(u32),
    /// At this element of [`Execution::events`].
    Event(u32),
    /// At this element of [`Execution::incidents`].
    Incident(u32),
    /// Where the thread stands at the end.
    Pending,
}

impl From<race::AccessPosition> for PartPosition {
    fn from(position: race::AccessPosition) -> Self {
        match position {
            race::AccessPosition::Access(number) => PartPosition::Access(number),
            race::AccessPosition::Event(number) => PartPosition::Event(number),
        }
    }
}

/// What a thread that cannot go on waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The operation that it stands before.
    pub operation: OpKind,
    /// The object; 0 for a thread that is to be joined.
    pub object: u64,
    /// Threads that hold the object, or the one that is to be joined.
    pub holders: Vec<u16>,
}

/// One thread's part in a defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Run-local number of the thread.
    pub thread: u16,
    /// Where, in the program.
    pub pc: u64,
    /// Where, in the execution.
    pub position: PartPosition,
    /// What it waits for, if that is what is wrong.
    pub waits: Option<Waits>,
    /// Locks that it holds. Filled in for threads that wait; [`locks_held`] gives those of others.
    pub locks: Vec<Held>,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Names it across executions.
    pub signature: Signature,
    /// How bad.
    pub severity: Severity,
    /// The address that it is about.
    pub object: Option<u64>,
    /// Text that belongs to it: the condition of an assertion, the type of an exception.
    pub text: String,
    /// The threads concerned; for a race the two accesses, for a cycle in the order of the waiting.
    pub parts: Vec<Part>,
    /// The race, if it is one.
    pub race: Option<Race>,
    /// The heap block, as it was then, if the defect is about one.
    pub block: Option<Block>,
}

impl Defect {
    fn new(kind: Kind, detail: &'static str, mut places: Vec<u64>) -> Self {
        places.sort_unstable();
        places.dedup();
        let signature = Signature { kind, detail, places };
        Defect {
            signature,
            severity: Severity::Error,
            object: None,
            text: String::new(),
            parts: Vec::new(),
            race: None,
            block: None,
        }
    }

    fn about(mut self, object: Option<u64>) -> Self {
        self.object = object;
        self
    }

    fn with(mut self, parts: Vec<Part>) -> Self {
        self.parts = parts;
        self
    }
}

/// Finds defects; keeps its buffers from one execution to the next.
#[derive(Debug, Default)]
pub struct DefectFinder {
    races: RaceDetector,
    holdings: Holdings,
    leftovers: life::Leftovers,
    /// Statuses beside 0 that the program may exit with; `None`: any.
    allowed_exits: Option<Vec<i32>>,
    /// Whether a program whose threads wait for more clients has ended.
    until_idle: bool,
}

impl DefectFinder {
    /// A finder.
    #[must_use]
    pub fn new() -> Self {
        DefectFinder::default()
    }

    /// One that takes exit statuses other than 0 and these for defects.
    #[must_use]
    pub fn allowing(exits: &[i32]) -> Self {
        DefectFinder { allowed_exits: Some(exits.to_vec()), ..DefectFinder::default() }
    }

    /// The same, where a program that only waits for more clients has ended, or not.
    #[must_use]
    pub fn until_idle(self, until_idle: bool) -> Self {
        DefectFinder { until_idle, ..self }
    }

    /// All defects of an execution, each signature once: races, then errors in the use of the heap,
    /// then failures, then stuck threads, then what is left over.
    pub fn find(&mut self, execution: &Execution) -> Vec<Defect> {
        let mut found = Vec::new();
        found.extend(self.races.races(execution).iter().map(of_race));
        found.extend(self.races.memory_errors().iter().map(memory::of_error));
        let incidents = execution.incidents.iter().enumerate().filter(|(n, _)| !self.races.is_race(*n as u32));
        found.extend(incidents.filter_map(|(n, incident)| of_incident(n, incident)));
        if let Some(allowed) = &self.allowed_exits {
            of_exits(execution, allowed, &mut found);
        }
        found.extend(memory::of_bad_frees(execution, self.races.bad_frees()));
        let warns = life::ends_orderly(execution);
        self.follow(execution, warns, &mut found);
        deadlock::find(execution, &self.holdings, self.until_idle, &mut found);
        life::waiting_for_destroyed(execution, &mut found);
        if warns {
            self.leftovers.warnings(execution, &mut found);
        }
        once_each(&mut found);
        found
    }

    /// Whether a held lock was overwritten in the execution that was examined last, so that another
    /// thread could take it. What follows is not searched in every order: events do not tell when
    /// it became free.
    #[must_use]
    pub fn has_overwritten_lock(&self) -> bool {
        self.holdings.is_overwritten()
    }

    /// Follows the events: which locks are held, and what is left over if that `warns`.
    fn follow(&mut self, execution: &Execution, warns: bool, found: &mut Vec<Defect>) {
        self.holdings.clear();
        self.leftovers.reset(execution.threads.len());
        let mut frees = frees(if self.races.has_frees() { &execution.accesses } else { &[] });
        let mut next = frees.next();
        for (number, event) in execution.events.iter().enumerate() {
            while let Some((at, freed)) = next.filter(|(_, freed)| freed.after as usize <= number) {
                life::locks_in_freed_memory(at, freed, &mut self.holdings, found);
                next = frees.next();
            }
            let number = number as u32;
            // Most events begin and end the life of nothing.
            match &event.op {
                Op::Atomic(_) if self.holdings.is_empty() => {}
                Op::Atomic(_) => self.holdings.apply(event, number),
                Op::Mutex(op) if op.only_changes_holder() => self.holdings.apply(event, number),
                // What a thread holds at its end, it holds for ever.
                Op::Thread(op) => {
                    if *op == ThreadOp::End {
                        life::locks_at_end(event, number, &self.holdings, found);
                    }
                    if warns {
                        self.leftovers.thread(event, *op, number);
                    }
                    self.holdings.follow_thread(op);
                }
                _ => {
                    life::locks_misused(event, number, &mut self.holdings, found);
                    if warns {
                        self.leftovers.event(event, number);
                    }
                    self.holdings.apply(event, number);
                }
            }
        }
        for (at, freed) in next.into_iter().chain(frees) {
            life::locks_in_freed_memory(at, freed, &mut self.holdings, found);
        }
    }
}

/// Accesses that end the life of a heap block, with their numbers.
fn frees(accesses: &[Access]) -> impl Iterator<Item = (u32, &Access)> {
    let numbered = accesses.iter().enumerate().map(|(number, access)| (number as u32, access));
    numbered.filter(|(_, access)| access.kind.ends_objects())
}

/// Keeps the first of each signature.
fn once_each(found: &mut Vec<Defect>) {
    let mut kept = 0;
    for at in 0..found.len() {
        if found[..kept].iter().all(|earlier| earlier.signature != found[at].signature) {
            found.swap(kept, at);
            kept += 1;
        }
    }
    found.truncate(kept);
}

fn of_race(race: &Race) -> Defect {
    let part = |side: &race::Side| Part {
        thread: side.thread,
        pc: side.pc,
        position: side.position.into(),
        waits: None,
        locks: Vec::new(),
    };
    let defect = Defect::new(Kind::DataRace, words::race(race), vec![race.first.pc, race.second.pc]);
    let defect = Defect { race: Some(*race), ..defect };
    defect.about(Some(race.addr)).with(vec![part(&race.first), part(&race.second)])
}

/// A false assume is no defect; a free of what is no live block is found elsewhere.
fn of_incident(number: usize, incident: &Incident) -> Option<Defect> {
    let (kind, detail) = match incident.kind {
        // The heap knows more about it.
        IncidentKind::Misuse(Misuse::BadFree | Misuse::Leak | Misuse::MismatchedFree) => return None,
        IncidentKind::Misuse(which @ Misuse::DeadFrame) => (Kind::Memory, words::misuse(which)),
        IncidentKind::Misuse(which) => (Kind::Misuse, words::misuse(which)),
        IncidentKind::Failure(Failure::Assertion) => (Kind::Assertion, "assert"),
        IncidentKind::Failure(Failure::Abort) => (Kind::Assertion, "abort"),
        IncidentKind::Failure(Failure::Signal) => (Kind::Crash, words::signal(signal_number(incident))),
        IncidentKind::Failure(Failure::Exception) => (Kind::Assertion, "exception"),
        IncidentKind::Failure(Failure::Script) => (Kind::Assertion, "script"),
        IncidentKind::Failure(Failure::Assume | Failure::ScriptWaits) => return None,
    };
    let position = PartPosition::Incident(number as u32);
    let part = Part { thread: incident.thread, pc: incident.pc, position, waits: None, locks: Vec::new() };
    let object = (incident.obj != 0).then_some(incident.obj);
    let defect = Defect::new(kind, detail, vec![incident.pc]).about(object).with(vec![part]);
    // They harm only where the handler meets the interrupted thread at a bad moment.
    let is_warning = matches!(incident.kind, IncidentKind::Misuse(Misuse::AsyncSignalUnsafe | Misuse::SignalErrno));
    let severity = if is_warning { Severity::Warning } else { defect.severity };
    let text = match incident.kind {
        IncidentKind::Misuse(Misuse::DeadFrame) if incident.arg != 0 => words::OF_ENDED_THREAD.into(),
        _ => incident.text.clone(),
    };
    Some(Defect { text, severity, ..defect })
}

/// Statuses that the program should not exit with: each end in the run could have been the first
/// one.
fn of_exits(execution: &Execution, allowed: &[i32], into: &mut Vec<Defect>) {
    if execution.status != RunStatus::Rest {
        return;
    }
    for (thread, status) in execution.exits().filter(|(_, status)| *status != 0 && !allowed.contains(status)) {
        let of_thread = |event: &Event| event.thread == thread && matches!(event.op, Op::Exit(_));
        let Some(number) = execution.events.iter().rposition(of_thread) else { continue };
        let position = PartPosition::Event(number as u32);
        let pc = execution.events[number].pc;
        let part = Part { thread, pc, position, waits: None, locks: Vec::new() };
        let defect = Defect::new(Kind::Assertion, "exit-status", vec![pc]).with(vec![part]);
        into.push(Defect { text: status.to_string(), ..defect });
    }
}

/// The runtime gives the number of a signal as text.
fn signal_number(incident: &Incident) -> u64 {
    incident.text.parse().unwrap_or(incident.arg)
}
