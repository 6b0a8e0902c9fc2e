//! The compact form: a header, then the recording and its execution, compressed.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | version |
//! | 4 | CRC-32 of everything behind the header |
//! | 8 | size of the rest once it is decompressed |
//! | | deflated postcard |
//!
//! Addresses are stored as differences to the one before, because neighbours lie close. Nothing
//! that is read is trusted: sizes are bounded before memory is allocated, and the execution is
//! checked like one from a target.

use raddle_model::weak::AtomicDetail;
use raddle_model::{
    Access, AccessKind, Event, Execution, HeldRead, Incident, IncidentKind, Op, Operation as _, Pending, PendingState,
    ThreadInfo, ThreadPath,
};
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{Failure, MappingChange, MemOrder, Misuse, OpKind, Outcome, RunStatus, Words};
use serde::{Deserialize, Serialize};

use super::{RecordedProgram, Recording, RecordingError, ScheduleEntry, Settings};
use crate::scripts::PartyScript;

/// First bytes of the file.
pub(super) const MAGIC: [u8; 8] = *b"raddle\x00t";
const HEADER: usize = 24;
/// The version of this form. Other than in JSON, no part can be left out.
pub(super) const BINARY_VERSION: u32 = 2;
/// Deflate cannot expand a byte to more than this.
const GREATEST_RATIO: usize = 1032;

#[derive(Serialize, Deserialize)]
struct Body {
    program: ProgramRow,
    settings: SettingsRow,
    /// JSON, as postcard cannot hold a value of any shape.
    finding: Option<String>,
    threads: Vec<ThreadRow>,
    steps: Vec<StepRow>,
    accesses: Vec<AccessRow>,
    pending: Vec<(StepRow, u8)>,
    incidents: Vec<IncidentRow>,
    entries: Vec<EntryRow>,
    status: u8,
    exit: Option<i32>,
    diverged_at: Option<u32>,
    events: u64,
    details: Vec<AtomicDetail>,
}

/// Path, arguments, standard input, environment, directory, checksum.
type ProgramRow = (String, Vec<String>, Option<String>, Vec<(String, String)>, Option<String>, Option<String>);
/// Set in the size of an access that waits while another thread is inside an atomic section.
const OUTSIDE: u32 = 1 << 31;

type SettingsRow = (bool, u32, bool, u64, u64, Vec<u64>, String, bool, Vec<PartyScript>, bool, bool, bool);
/// Path, parent, name.
type ThreadRow = (Vec<u32>, Option<u16>, Option<String>);
/// What an entry has beyond its step: choice, object, place, stop.
type EntryRow = (u16, Option<String>, Option<String>, Option<u32>);

#[derive(Clone, Copy, Serialize, Deserialize)]
struct StepRow {
    thread: u16,
    kind: u8,
    outcome: u8,
    order: u8,
    size: u32,
    obj: i64,
    arg: u64,
    value: u64,
    old: u64,
    pc: i64,
    accesses: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct AccessRow {
    thread: u16,
    kind: u8,
    volatile: bool,
    addr: i64,
    size: u64,
    pc: i64,
    after: u32,
    count: u32,
}

#[derive(Serialize, Deserialize)]
struct IncidentRow {
    thread: u16,
    after: u32,
    count: u32,
    pc: u64,
    obj: u64,
    arg: u64,
    misuse: bool,
    kind: u8,
    text: String,
}

/// The last address; the next one is stored as the distance from it.
#[derive(Default)]
struct Near(u64);

impl Near {
    fn encode(&mut self, address: u64) -> i64 {
        address.wrapping_sub(std::mem::replace(&mut self.0, address)) as i64
    }

    fn decode(&mut self, distance: i64) -> u64 {
        self.0 = self.0.wrapping_add(distance as u64);
        self.0
    }
}

pub(super) fn write(recording: &Recording, execution: &Execution) -> Result<Vec<u8>, RecordingError> {
    let unwritable = |error: String| RecordingError::Unwritable(error);
    let body = body_of(recording, execution).map_err(unwritable)?;
    let plain = postcard::to_stdvec(&body).map_err(|error| unwritable(error.to_string()))?;
    let packed = miniz_oxide::deflate::compress_to_vec(&plain, 6);
    let mut bytes = Vec::with_capacity(HEADER + packed.len());
    bytes.extend(MAGIC);
    bytes.extend(BINARY_VERSION.to_le_bytes());
    bytes.extend(crc32fast::hash(&packed).to_le_bytes());
    bytes.extend((plain.len() as u64).to_le_bytes());
    bytes.extend(packed);
    Ok(bytes)
}

pub(super) fn read(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let damaged = |what: &str| RecordingError::Damaged(what.into());
    let Some((header, packed)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(damaged("it ends within its header"));
    };
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if word(8) != BINARY_VERSION {
        return Err(RecordingError::Version(word(8)));
    }
    if word(12) != crc32fast::hash(packed) {
        return Err(damaged("its checksum does not fit its contents"));
    }
    let size = usize::try_from(u64::from(word(16)) | u64::from(word(20)) << 32).unwrap_or(usize::MAX);
    if size / GREATEST_RATIO > packed.len() {
        return Err(damaged("it claims to hold more than it can"));
    }
    let plain = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, size)
        .map_err(|_| damaged("it cannot be decompressed"))?;
    if plain.len() != size {
        return Err(damaged("it does not hold what it claims"));
    }
    let body: Body = postcard::from_bytes(&plain).map_err(|error| damaged(&error.to_string()))?;
    recording_of(body).map_err(|what| damaged(&what))
}

fn body_of(recording: &Recording, execution: &Execution) -> Result<Body, String> {
    if recording.schedule.len() != execution.events.len() {
        return Err("the schedule is not that of the execution".into());
    }
    let settings = recording.settings.clone();
    let RecordedProgram { path, args, stdin, env, directory, checksum } = recording.program.clone();
    let (mut objects, mut places) = (Near::default(), Near::default());
    let (mut addresses, mut access_places) = (Near::default(), Near::default());
    let threads = execution.threads.iter();
    let entries = recording.schedule.iter();
    Ok(Body {
        program: (path, args, stdin, env, directory, checksum),
        settings: (
            settings.access_granularity,
            settings.spurious,
            settings.fold_spins,
            settings.exit_events,
            settings.max_events,
            settings.benign,
            settings.open_values,
            settings.partial_io,
            settings.parties,
            settings.until_idle,
            settings.observed,
            settings.keep_stores,
        ),
        finding: recording.finding.as_ref().map(ToString::to_string),
        threads: threads.map(|thread| (thread.path.0.clone(), thread.parent, thread.name.clone())).collect(),
        steps: execution.events.iter().map(|step| step_row(step, &mut objects, &mut places)).collect(),
        accesses: execution
            .accesses
            .iter()
            .map(|access| access_row(access, &mut addresses, &mut access_places))
            .collect(),
        pending: execution
            .pending
            .iter()
            .map(|pending| {
                let row = step_row(&pending.event, &mut objects, &mut places);
                (StepRow { value: pending.found, ..row }, state_byte(pending.state))
            })
            .collect(),
        incidents: execution.incidents.iter().map(incident_row).collect(),
        entries: entries.map(|e| (e.choice, e.object.clone(), e.place.clone(), e.stop)).collect(),
        status: execution.status as u8,
        exit: execution.exit,
        diverged_at: execution.diverged_at,
        events: execution.recorded,
        details: execution.details.clone(),
    })
}

fn settings_of(row: SettingsRow) -> Settings {
    let (access_granularity, spurious, fold_spins, exit_events, max_events, ..) = row;
    let (.., benign, open_values, partial_io, parties, until_idle, observed, keep_stores) = row;
    Settings {
        access_granularity,
        spurious,
        fold_spins,
        exit_events,
        max_events,
        benign,
        open_values,
        partial_io,
        parties,
        until_idle,
        observed,
        keep_stores,
    }
}

fn recording_of(body: Body) -> Result<Recording, String> {
    let (mut objects, mut places) = (Near::default(), Near::default());
    let (mut addresses, mut access_places) = (Near::default(), Near::default());
    let mut execution = Execution::empty();
    execution.status = RunStatus::from_byte(body.status).ok_or("it ended in no known way")?;
    execution.exit = body.exit;
    execution.diverged_at = body.diverged_at;
    execution.recorded = body.events;
    execution.details = body.details;
    execution.threads = threads_of(body.threads)?;
    for row in body.steps {
        execution.events.push(step_of(row, &mut objects, &mut places)?);
    }
    for row in body.accesses {
        execution.accesses.push(access_of(row, &mut addresses, &mut access_places)?);
    }
    for (row, state) in body.pending {
        let (event, found) = (step_of(row, &mut objects, &mut places)?, row.value);
        execution.pending.push(Pending {
            event,
            state: state_of(state).ok_or("a thread stands in no known way")?,
            found,
        });
    }
    execution.incidents = body.incidents.into_iter().map(incident_of).collect::<Result<_, _>>()?;
    if !execution.is_sound() {
        return Err("its parts do not fit each other".into());
    }
    let schedule = entries_of(body.entries, &execution)?;
    let finding =
        body.finding.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| error.to_string())?;
    let settings = settings_of(body.settings);
    let (path, args, stdin, env, directory, checksum) = body.program;
    let program = RecordedProgram { path, args, stdin, env, directory, checksum };
    Ok(Recording { program, settings, schedule, finding, execution: Some(execution) })
}

fn threads_of(rows: Vec<ThreadRow>) -> Result<Vec<ThreadInfo>, String> {
    if rows.is_empty() || rows.len() > MAX_THREADS {
        return Err(format!("it has {} threads", rows.len()));
    }
    let mut threads: Vec<ThreadInfo> = Vec::with_capacity(rows.len());
    for (path, parent, name) in rows {
        // A thread's name is its creator's with a number behind it.
        let fits = match parent {
            None => threads.is_empty() && path.is_empty(),
            Some(parent) => threads.get(usize::from(parent)).is_some_and(|creator: &ThreadInfo| {
                path.split_last().is_some_and(|(&nth, prefix)| nth > 0 && prefix == creator.path.0)
            }),
        };
        if !fits || threads.iter().any(|other| other.path.0 == path) {
            return Err("its threads do not descend from each other".into());
        }
        threads.push(ThreadInfo { path: ThreadPath(path), parent, name });
    }
    Ok(threads)
}

fn entries_of(rows: Vec<EntryRow>, execution: &Execution) -> Result<Vec<ScheduleEntry>, String> {
    if rows.len() != execution.events.len() {
        return Err("its schedule is not that of its steps".into());
    }
    let mut made = vec![0; execution.threads.len()];
    let steps = execution.events.iter();
    let entries = rows.into_iter().zip(steps).map(|((choice, object, place, stop), step)| {
        let thread = usize::from(step.thread);
        made[thread] += 1;
        let path = execution.threads[thread].path.clone();
        ScheduleEntry {
            thread: path,
            nth: made[thread],
            kind: step.op.kind(),
            outcome: step.op.outcome(),
            choice,
            object,
            place,
            stop,
        }
    });
    Ok(entries.collect())
}

fn step_row(event: &Event, objects: &mut Near, places: &mut Near) -> StepRow {
    let Words { kind, outcome, order, size, outside, obj, arg, value, old } = event.op.pack();
    StepRow {
        thread: event.thread,
        kind: kind as u8,
        outcome: outcome as u8,
        order: order as u8,
        size: if outside { size | OUTSIDE } else { size },
        obj: objects.encode(obj),
        arg,
        value,
        old,
        pc: places.encode(event.pc),
        accesses: event.accesses,
    }
}

fn step_of(row: StepRow, objects: &mut Near, places: &mut Near) -> Result<Event, String> {
    let words = Words {
        kind: OpKind::from_byte(row.kind).ok_or("it has an unknown operation")?,
        outcome: Outcome::from_byte(row.outcome).ok_or("it has an unknown outcome")?,
        order: MemOrder::from_byte(row.order).ok_or("it has an unknown memory order")?,
        size: row.size & !OUTSIDE,
        outside: row.size & OUTSIDE != 0,
        obj: objects.decode(row.obj),
        arg: row.arg,
        value: row.value,
        old: row.old,
    };
    let op = Op::unpack(&words).map_err(|error| error.to_string())?;
    let (pc, accesses) = (places.decode(row.pc), row.accesses);
    // Nothing is reordered that comes from a recording.
    Ok(Event { thread: row.thread, pc, accesses, held: HeldRead::NONE, exposed: false, op })
}

/// In a recording, the first change of mapped memory; the others follow.
const FIRST_CHANGE: u8 = 4;

fn access_row(access: &Access, addresses: &mut Near, places: &mut Near) -> AccessRow {
    AccessRow {
        thread: access.thread,
        kind: match access.kind {
            AccessKind::Read => 0,
            AccessKind::Write => 1,
            AccessKind::Alloc => 2,
            AccessKind::Free => 3,
            AccessKind::Mapping(change) => FIRST_CHANGE + change as u8,
        },
        volatile: access.volatile,
        addr: addresses.encode(access.addr),
        size: access.size,
        pc: places.encode(access.pc),
        after: access.after,
        count: access.count,
    }
}

fn access_of(row: AccessRow, addresses: &mut Near, places: &mut Near) -> Result<Access, String> {
    Ok(Access {
        thread: row.thread,
        kind: match row.kind {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            2 => AccessKind::Alloc,
            3 => AccessKind::Free,
            kind => {
                let change = kind.checked_sub(FIRST_CHANGE).and_then(MappingChange::from_byte);
                AccessKind::Mapping(change.ok_or("it has an unknown access")?)
            }
        },
        volatile: row.volatile,
        addr: addresses.decode(row.addr),
        size: row.size,
        pc: places.decode(row.pc),
        after: row.after,
        count: row.count,
    })
}

const STATES: [PendingState; 7] = [
    PendingState::Enabled,
    PendingState::Blocked,
    PendingState::Awaiting,
    PendingState::Failed,
    PendingState::Ended,
    PendingState::Exited,
    PendingState::Stale,
];

fn state_byte(state: PendingState) -> u8 {
    STATES.iter().position(|&other| other == state).unwrap_or(0) as u8
}

fn state_of(byte: u8) -> Option<PendingState> {
    STATES.get(usize::from(byte)).copied()
}

fn incident_row(incident: &Incident) -> IncidentRow {
    let (misuse, kind) = match incident.kind {
        IncidentKind::Failure(failure) => (false, failure as u8),
        IncidentKind::Misuse(misuse) => (true, misuse as u8),
    };
    let Incident { thread, after, count, pc, obj, arg, ref text, .. } = *incident;
    IncidentRow { thread, after, count, pc, obj, arg, misuse, kind, text: text.clone() }
}

fn incident_of(row: IncidentRow) -> Result<Incident, String> {
    let kind = if row.misuse {
        IncidentKind::Misuse(Misuse::from_byte(row.kind).ok_or("it has an unknown misuse")?)
    } else {
        IncidentKind::Failure(Failure::from_byte(row.kind).ok_or("it has an unknown failure")?)
    };
    let IncidentRow { thread, after, count, pc, obj, arg, text, .. } = row;
    Ok(Incident { thread, after, count, pc, obj, arg, kind, text })
}
