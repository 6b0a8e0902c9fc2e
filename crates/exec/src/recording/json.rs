//! The readable form: a JSON object with a version and a checksum of the rest.

use std::str::FromStr;

use raddle_model::ThreadPath;
use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_vocab::{OpKind, Outcome};
use serde::{Deserialize, Serialize};

use super::{RecordedProgram, Recording, RecordingError, ScheduleEntry, Settings, VERSION};

/// Name of the field that identifies the format.
const KEY: &str = "raddle-schedule";

#[derive(Debug, Serialize, Deserialize)]
struct File {
    #[serde(rename = "raddle-schedule")]
    version: u32,
    /// Checksum of the rest in its most compact form, so that layout and line breaks do not matter.
    checksum: String,
    #[serde(flatten)]
    body: Body,
}

#[derive(Debug, Serialize, Deserialize)]
struct Body {
    program: RecordedProgram,
    settings: Settings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<serde_json::Value>,
    schedule: Vec<EntryText>,
}

/// An entry as text; default values are left out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    thread: String,
    nth: u32,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    choice: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl Body {
    fn checksum(&self) -> Result<String, RecordingError> {
        // Through a value, so that the order of the fields does not matter either.
        let value = serde_json::to_value(self).map_err(|error| RecordingError::Unwritable(error.to_string()))?;
        Ok(format!("{:08x}", crc32fast::hash(value.to_string().as_bytes())))
    }
}

pub(super) fn write(recording: &Recording) -> Result<Vec<u8>, RecordingError> {
    let body = Body {
        program: recording.program.clone(),
        settings: recording.settings.clone(),
        finding: recording.finding.clone(),
        schedule: recording.schedule.iter().map(text_of).collect(),
    };
    let file = File { version: VERSION, checksum: body.checksum()?, body };
    let mut bytes = serde_json::to_vec_pretty(&file).map_err(|error| RecordingError::Unwritable(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

pub(super) fn read(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let not_ours = |why: String| RecordingError::NotARecording(why);
    if bytes.is_empty() {
        return Err(not_ours("it is empty".into()));
    }
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| not_ours(error.to_string()))?;
    let version = value.get(KEY).ok_or_else(|| not_ours(format!("it has no \"{KEY}\"")))?;
    match version.as_u64().and_then(|version| u32::try_from(version).ok()) {
        Some(VERSION) => {}
        Some(version) if version > VERSION => return Err(RecordingError::Version(version)),
        _ => return Err(not_ours(format!("its \"{KEY}\" is {version}"))),
    }
    let file: File = serde_json::from_value(value).map_err(|error| RecordingError::Damaged(error.to_string()))?;
    if file.checksum != file.body.checksum()? {
        return Err(RecordingError::Damaged("its checksum does not fit its contents".into()));
    }
    let entries = file.body.schedule.into_iter().enumerate().map(|(index, text)| entry_of(index, text));
    Ok(Recording {
        program: file.body.program,
        settings: file.body.settings,
        schedule: entries.collect::<Result<_, _>>()?,
        finding: file.body.finding,
        execution: None,
    })
}

fn text_of(entry: &ScheduleEntry) -> EntryText {
    EntryText {
        thread: entry.thread.to_string(),
        nth: entry.nth,
        kind: format!("{:?}", entry.kind),
        outcome: (entry.outcome != Outcome::Done).then(|| format!("{:?}", entry.outcome)),
        choice: entry.choice,
        object: entry.object.clone(),
        place: entry.place.clone(),
        stop: entry.stop,
    }
}

fn entry_of(index: usize, text: EntryText) -> Result<ScheduleEntry, RecordingError> {
    let wrong = |what: String| RecordingError::Damaged(format!("entry {} of the schedule: {what}", index + 1));
    let kind = named(OpKind::ALL, &text.kind).ok_or_else(|| wrong(format!("there is no operation {:?}", text.kind)))?;
    let outcome = match &text.outcome {
        None => Outcome::Done,
        Some(name) => named(Outcome::ALL, name).ok_or_else(|| wrong(format!("there is no outcome {name:?}")))?,
    };
    let thread = parse_thread(&text.thread).ok_or_else(|| wrong(format!("{:?} names no thread", text.thread)))?;
    let EntryText { nth, choice, object, place, stop, .. } = text;
    Ok(ScheduleEntry { thread, nth, kind, outcome, choice, object, place, stop })
}

/// The value whose name this is.
fn named<T: Copy + std::fmt::Debug>(all: &[T], name: &str) -> Option<T> {
    all.iter().copied().find(|value| format!("{value:?}") == name)
}

/// Inverse of the display form of a thread's path.
pub(super) fn parse_thread(text: &str) -> Option<ThreadPath> {
    if let Some(party) = Party::named(text) {
        return Some(ThreadPath::of_party(party));
    }
    let numbers = text.strip_prefix('T')?;
    if numbers == "0" {
        return Some(ThreadPath::default());
    }
    let number = |part: &str| {
        let (digits, is_courier) = part.strip_prefix('h').map_or((part, false), |digits| (digits, true));
        let number = u32::from_str(digits).ok().filter(|&n| n > 0 && n <= u32::MAX / 4 && digits == n.to_string())?;
        Some(if is_courier { handler::component(number) } else { number })
    };
    numbers.split('.').map(number).collect::<Option<Vec<u32>>>().map(ThreadPath)
}
