//! How events and executions are written to files of raddle's own.
//!
//! Operations are written as the words of the wire. What is read is checked like what comes from a
//! target: words that are no operation are an error.

use raddle_vocab::policy::Policy;
use raddle_vocab::{Failure, MemOrder, Misuse, OpKind, Outcome, Words};
use serde::{Deserialize, Serialize};

use crate::execution::{Event, HeldRead, Incident, IncidentKind};
use crate::object::{Op, Operation as _};

/// An event.
#[derive(Serialize, Deserialize)]
pub(crate) struct EventRow {
    thread: u16,
    kind: u8,
    outcome: u8,
    order: u8,
    outside: bool,
    size: u32,
    obj: u64,
    arg: u64,
    value: u64,
    old: u64,
    pc: u64,
    accesses: u32,
    held: HeldRead,
    exposed: bool,
}

impl From<Event> for EventRow {
    fn from(event: Event) -> Self {
        let Event { thread, pc, accesses, held, exposed, op } = event;
        let Words { kind, outcome, order, size, outside, obj, arg, value, old } = op.pack();
        let (kind, outcome, order) = (kind as u8, outcome as u8, order as u8);
        EventRow { thread, kind, outcome, order, outside, size, obj, arg, value, old, pc, accesses, held, exposed }
    }
}

impl TryFrom<EventRow> for Event {
    type Error = String;

    fn try_from(row: EventRow) -> Result<Self, String> {
        let words = Words {
            kind: OpKind::from_byte(row.kind).ok_or("an event has an unknown operation")?,
            outcome: Outcome::from_byte(row.outcome).ok_or("an event has an unknown outcome")?,
            order: MemOrder::from_byte(row.order).ok_or("an event has an unknown memory order")?,
            size: row.size,
            outside: row.outside,
            obj: row.obj,
            arg: row.arg,
            value: row.value,
            old: row.old,
        };
        let op = Op::unpack(&words).map_err(|error| error.to_string())?;
        Ok(Event { thread: row.thread, pc: row.pc, accesses: row.accesses, held: row.held, exposed: row.exposed, op })
    }
}

/// An incident.
#[derive(Serialize, Deserialize)]
pub(crate) struct IncidentRow {
    thread: u16,
    after: u32,
    count: u32,
    pc: u64,
    obj: u64,
    arg: u64,
    is_misuse: bool,
    kind: u8,
    text: String,
}

impl From<Incident> for IncidentRow {
    fn from(incident: Incident) -> Self {
        let (is_misuse, byte) = match incident.kind {
            IncidentKind::Failure(failure) => (false, failure as u8),
            IncidentKind::Misuse(misuse) => (true, misuse as u8),
        };
        let Incident { thread, after, count, pc, obj, arg, text, .. } = incident;
        IncidentRow { thread, after, count, pc, obj, arg, is_misuse, kind: byte, text }
    }
}

impl TryFrom<IncidentRow> for Incident {
    type Error = String;

    fn try_from(row: IncidentRow) -> Result<Self, String> {
        let IncidentRow { thread, after, count, pc, obj, arg, is_misuse, kind, text } = row;
        let failure = || Failure::from_byte(kind).map(IncidentKind::Failure);
        let misuse = || Misuse::from_byte(kind).map(IncidentKind::Misuse);
        let kind = if is_misuse { misuse() } else { failure() };
        let kind = kind.ok_or("an incident is of an unknown kind")?;
        Ok(Incident { thread, after, count, pc, obj, arg, kind, text })
    }
}

/// The status of a run, as its byte.
pub(crate) mod run_status {
    use raddle_vocab::RunStatus;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub fn serialize<S: Serializer>(status: &RunStatus, to: S) -> Result<S::Ok, S::Error> {
        (*status as u8).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RunStatus, D::Error> {
        RunStatus::from_byte(u8::deserialize(from)?).ok_or_else(|| D::Error::custom("a run ended in no known way"))
    }
}

/// A memory order, as its byte.
pub(crate) mod memory_order {
    use raddle_vocab::MemOrder;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub fn serialize<S: Serializer>(order: &MemOrder, to: S) -> Result<S::Ok, S::Error> {
        (*order as u8).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MemOrder, D::Error> {
        MemOrder::from_byte(u8::deserialize(from)?).ok_or_else(|| D::Error::custom("an unknown memory order"))
    }
}

/// A change of mapped memory, as its byte.
pub(crate) mod mapping_change {
    use raddle_vocab::MappingChange;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub fn serialize<S: Serializer>(change: &MappingChange, to: S) -> Result<S::Ok, S::Error> {
        (*change as u8).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MappingChange, D::Error> {
        MappingChange::from_byte(u8::deserialize(from)?).ok_or_else(|| D::Error::custom("an unknown change of memory"))
    }
}

/// A policy.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Policy")]
pub(crate) enum PolicyRow {
    LeastRank,
    Stay,
    GiveFirst { last: u64 },
    Random { seed: u64 },
    Pct { seed: u64, depth: u32, horizon: u32 },
    Pos { seed: u64 },
}
