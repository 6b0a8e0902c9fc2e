//! What happened in the run that shows a finding, event by event, with every name already looked
//! up.
//!
//! A trace is made while the program's debug information is at hand, and kept beside the witness;
//! every format that shows a schedule is made from it alone.

mod build;
#[cfg(test)]
mod tests;

use raddle_model::finding::{Created, Place};
use serde::{Deserialize, Serialize};

use crate::timeline::{Column, Row, Timeline};

pub use build::TraceAnnotator;

/// Version of the form in which traces are kept.
pub const VERSION: u32 = 1;
/// Data accesses that the text report shows, at most.
const MOST_ACCESSES_IN_TEXT: usize = 200;

/// The run that shows a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotatedTrace {
    /// [`VERSION`].
    pub version: u32,
    /// The directory that relative paths are meant relative to.
    pub directory: String,
    /// Threads by number.
    pub threads: Vec<ThreadLane>,
    /// Places that events name by number.
    pub places: Vec<Place>,
    /// Objects that events name by number.
    pub objects: Vec<String>,
    /// Events that came before the first one here and were left out.
    pub left_out: usize,
    /// What happened, in order.
    pub events: Vec<AnnotatedEvent>,
    /// Who held which lock, from the event that took it.
    pub holds: Vec<Interval>,
    /// Who could not go on, from the event that made it so.
    pub waits: Vec<Interval>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLane {
    /// `T1`.
    pub thread: String,
    /// What the program calls it.
    pub name: Option<String>,
    /// Who created it, and where; main has no creator.
    pub created: Option<Created>,
}

/// What sort of event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A synchronising operation.
    #[default]
    Sync,
    /// A data access to memory that threads share.
    Access,
    /// What a thread stands before when the run ends: part of the finding.
    End,
}

/// Something that a thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotatedEvent {
    /// Number of the thread.
    pub thread: usize,
    /// What sort.
    pub kind: EventKind,
    /// The fixed word for it: `lock`.
    pub op: String,
    /// What, with names: `lock m`.
    pub text: String,
    /// Number of the place.
    pub place: usize,
    /// Number of the object, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<usize>,
    /// Number of a second object: the mutex of a condition wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
    /// Number of the thread that it creates, joins or detaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<usize>,
    /// What became of it, unless it did what its name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What the object holds from now on, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The number that the finding gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<usize>,
    /// Number of the step in the schedule, from 1, by which `--break-at` knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
}

/// Part of a thread's life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the thread.
    pub thread: usize,
    /// Number of the object concerned.
    pub object: Option<usize>,
    /// Number of the first event.
    pub from: usize,
    /// Number of the event that ends it; `None` if nothing does.
    pub to: Option<usize>,
}

impl AnnotatedTrace {
    /// The schedule in columns for the text report. Births and deaths of threads say nothing and
    /// are left out.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        let columns = self.threads.iter();
        let columns = columns.map(|lane| Column { thread: lane.thread.clone(), name: lane.name.clone() }).collect();
        let accesses = self.events.iter().filter(|event| event.kind == EventKind::Access).count();
        let mut skipped = accesses.saturating_sub(MOST_ACCESSES_IN_TEXT);
        let mut rows: Vec<Row> = Vec::new();
        for event in &self.events {
            if matches!(event.op.as_str(), "start" | "end") {
                continue;
            }
            if event.kind == EventKind::Access && skipped > 0 {
                skipped -= 1;
                continue;
            }
            let place = self.place(event).clone();
            let row = Row { column: event.thread, text: event.text.clone(), place, mark: event.mark };
            if event.kind != EventKind::Access || rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        Timeline { columns, rows }
    }

    /// Where an event happened.
    #[must_use]
    pub fn place(&self, event: &AnnotatedEvent) -> &Place {
        static UNKNOWN: Place = Place { file: None, line: None, column: None, function: None };
        self.places.get(event.place).unwrap_or(&UNKNOWN)
    }

    /// The object of an event.
    #[must_use]
    pub fn object(&self, event: &AnnotatedEvent) -> Option<&str> {
        self.objects.get(event.object?).map(String::as_str)
    }

    /// Adds what a thread stands before when the run ends.
    pub fn end(&mut self, thread: usize, op: &str, text: String, place: &Place, mark: Option<usize>) {
        let place = intern(&mut self.places, place.clone());
        let event = AnnotatedEvent {
            thread,
            kind: EventKind::End,
            op: op.into(),
            text,
            place,
            mark,
            ..AnnotatedEvent::default()
        };
        self.events.push(event);
    }

    /// Whether every number in it names something: a trace from a file may be anybody's.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let thread = |number: usize| number < self.threads.len();
        let object = |number: Option<usize>| number.is_none_or(|number| number < self.objects.len());
        let event = |event: &AnnotatedEvent| {
            let objects = object(event.object) && object(event.other);
            thread(event.thread) && event.peer.is_none_or(thread) && objects && event.place < self.places.len()
        };
        let interval = |interval: &Interval| {
            let within = |number: usize| number <= self.events.len();
            thread(interval.thread)
                && object(interval.object)
                && within(interval.from)
                && interval.to.is_none_or(within)
        };
        self.version == VERSION
            && self.events.iter().all(event)
            && self.holds.iter().all(interval)
            && self.waits.iter().all(interval)
    }
}

/// Number of a value in a list without repetitions; the most recent ones are looked at first.
fn intern<T: PartialEq>(all: &mut Vec<T>, value: T) -> usize {
    all.iter().rposition(|known| *known == value).unwrap_or_else(|| {
        all.push(value);
        all.len() - 1
    })
}
