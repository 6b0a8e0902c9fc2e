//! The events of the run that shows a finding, with all names already looked up.
//!
//! An annotated trace is made while the program's debug information is at hand, and kept beside the
//! witness as `<id>.story.json`. Every format that shows a schedule is made from it alone.

mod build;
pub mod code;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use raddle_model::finding::{Created, Place};
use serde::{Deserialize, Serialize};

use crate::timeline::{Column, Row, RowSort, Timeline};

pub use build::TraceAnnotator;

/// Version of the file format.
pub const VERSION: u32 = 1;
/// The most data accesses that the text report shows.
const MOST_ACCESSES_IN_TEXT: usize = 200;

/// The last line of a file that can have been kept.
const LAST_LINE: u32 = 1 << 24;

/// The run that shows a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotatedTrace {
    /// [`VERSION`].
    pub version: u32,
    /// The directory that relative paths are relative to.
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
    /// When which thread held which lock.
    pub holds: Vec<Interval>,
    /// When which thread was blocked.
    pub waits: Vec<Interval>,
    /// The code around the places, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub code: BTreeMap<String, code::Lines>,
}

/// A thread, which formats show as a lane of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLane {
    /// `T1`.
    pub thread: String,
    /// What the program calls it.
    pub name: Option<String>,
    /// Which thread created it, and where; `None` for main.
    pub created: Option<Created>,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A synchronising operation.
    #[default]
    Sync,
    /// A data access to memory that threads share.
    Access,
    /// The operation that a thread is about to make when the run ends: part of the finding.
    End,
}

/// An event, named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotatedEvent {
    /// Number of the thread.
    pub thread: usize,
    /// Kind.
    pub kind: EventKind,
    /// The fixed word for it: `lock`.
    pub op: String,
    /// The operation with names: `lock m`.
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
    /// Its outcome, unless it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The value of the object after the event, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it wakes a thread, if it can wake threads that sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes: Option<bool>,
    /// The number that the finding gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<usize>,
    /// Number of the event in the schedule, from 1, as `--break-at` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
}

/// A part of the run, for one thread and one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the thread.
    pub thread: usize,
    /// Number of the object concerned.
    pub object: Option<usize>,
    /// Number of the first event.
    pub from: usize,
    /// Number of the event that ends it; `None` if it lasts to the end.
    pub to: Option<usize>,
}

impl AnnotatedTrace {
    /// The schedule in columns for the text report. Starts and ends of threads are left out.
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
            let object = self.object(event).map(str::to_owned);
            let sort = row_sort(event);
            let row = Row { column: event.thread, text: event.text.clone(), place, mark: event.mark, object, sort };
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

    /// Adds the operation that a thread is about to make when the run ends.
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

    /// Whether every number in it refers to something. A trace from a file may hold anything.
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
        // Lines are written one below the other, up to the last.
        let is_short = |lines: &code::Lines| lines.keys().all(|number| (1..=LAST_LINE).contains(number));
        self.version == VERSION
            && self.code.values().all(is_short)
            && self.events.iter().all(event)
            && self.holds.iter().all(interval)
            && self.waits.iter().all(interval)
    }
}

fn row_sort(event: &AnnotatedEvent) -> RowSort {
    match event.kind {
        EventKind::End => RowSort::End,
        EventKind::Sync => event.wakes.map_or(RowSort::Sync, |wakes| RowSort::Signal { wakes }),
        EventKind::Access if event.op == "read" => RowSort::Read,
        EventKind::Access => RowSort::Write,
    }
}

/// Index of a value in a list without repetitions; the value is added if it is new. Searches from
/// the end, where recent values are.
fn intern<T: PartialEq>(all: &mut Vec<T>, value: T) -> usize {
    all.iter().rposition(|known| *known == value).unwrap_or_else(|| {
        all.push(value);
        all.len() - 1
    })
}
