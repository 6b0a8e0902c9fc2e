//! Schedules, witnesses and traces as files: one format, versioned and checked.
//!
//! A [`Recording`] is a schedule whose entries are named independently of addresses and of the
//! order of other threads, with the program and settings it belongs to. A *witness* also has the
//! finding that it shows. A *trace* also has the whole execution. The first two are JSON, for
//! people to read. The last is binary, because it is large. `run --schedule` and `replay` accept
//! each of them.

mod binary;
mod json;
mod names;
mod schedule;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use raddle_model::{Execution, ThreadPath};
use raddle_vocab::{OpKind, Outcome};
use serde::{Deserialize, Serialize};

pub use names::{NoNames, RecordingNames};
pub use schedule::{ScheduleDivergence, ScheduleError, choices_of, compare, describe_step, entries_of, plan_of};

use crate::Granularity;
use crate::open_values::OpenValues;
use crate::options::Options;
use crate::scripts::PartyScript;

/// Version of the format; files of a later one are refused.
pub const VERSION: u32 = 1;

/// Why a file cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The system refused to read or write it.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, String),
    /// It is not a recording.
    #[error("this is not a schedule, witness or trace of raddle ({0})")]
    NotARecording(String),
    /// It was written by a later version.
    #[error("it has format version {0}, this raddle reads up to {VERSION}: use a newer raddle")]
    Version(u32),
    /// It was changed or damaged after it was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It cannot be written.
    #[error("it cannot be written: {0}")]
    Unwritable(String),
}

/// The program that a recording belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedProgram {
    /// Its path.
    pub path: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// File for its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Variables added to its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Its working directory, unless it is that of raddle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Checksum of the file, which shows whether the program was built again since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// Settings that decide which transitions there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether data accesses are transitions.
    pub access_granularity: bool,
    /// Spurious wake-ups per thread.
    pub spurious: u32,
    /// Whether busy waiting is folded.
    pub fold_spins: bool,
    /// Events after exit.
    pub exit_events: u64,
    /// Bound on events of the run.
    pub max_events: u64,
    /// Return addresses of accesses that may race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benign: Vec<u64>,
    /// Values that are tried where the program leaves one open, as [`OpenValues::parse`] reads
    /// them; empty for the default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub open_values: String,
    /// Whether input and output of streams may transfer fewer bytes than are there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial_io: bool,
    /// The other sides of the program's connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parties: Vec<PartyScript>,
    /// Whether a program that only waits for more clients has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_idle: bool,
    /// Whether accesses of a program that was not built with raddle were recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// Whether a choice of an atomic operation says which store it reads, and where its own is put.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_stores: bool,
}

/// One transition of a schedule, named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// Its thread.
    pub thread: ThreadPath,
    /// Its number among that thread's transitions, from 1.
    pub nth: u32,
    /// Its kind.
    pub kind: OpKind,
    /// Its outcome.
    pub outcome: Outcome,
    /// Which successor, if there are several.
    pub choice: u16,
    /// Its object.
    pub object: Option<String>,
    /// Its place in the program.
    pub place: Option<String>,
    /// The thread continues until it is about to make its data access with this number (from 0),
    /// and stops there.
    pub stop: Option<u32>,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What was run.
    pub program: RecordedProgram,
    /// How it was run.
    pub settings: Settings,
    /// The transitions in order.
    pub schedule: Vec<ScheduleEntry>,
    /// The finding that it shows, in the form of the report.
    pub finding: Option<serde_json::Value>,
    /// The whole execution, in a trace.
    pub execution: Option<Execution>,
}

impl Settings {
    /// The part of the options that a recording keeps.
    #[must_use]
    pub fn of(options: &Options, max_events: u64) -> Self {
        Settings {
            access_granularity: options.granularity == Granularity::Access,
            spurious: options.spurious,
            fold_spins: options.fold_spins,
            exit_events: options.exit_events,
            max_events,
            benign: options.benign.clone(),
            open_values: options.open_values.text().into(),
            partial_io: options.partial_io,
            parties: options.parties.clone(),
            until_idle: options.until_idle,
            observed: options.observer.is_some(),
            keep_stores: options.keep_stores,
        }
    }

    /// Sets these values in options. Where the plug-in is that observes a program is not among
    /// them.
    pub fn apply(&self, options: &mut Options) {
        options.granularity = if self.access_granularity { Granularity::Access } else { Granularity::Sync };
        options.spurious = self.spurious;
        options.fold_spins = self.fold_spins;
        options.exit_events = self.exit_events;
        options.benign.clone_from(&self.benign);
        options.open_values = OpenValues::parse(&self.open_values).unwrap_or_default();
        options.partial_io = self.partial_io;
        options.parties.clone_from(&self.parties);
        options.until_idle = self.until_idle;
        options.keep_stores = self.keep_stores;
    }
}

impl RecordedProgram {
    /// Describes the program of these options.
    ///
    /// # Errors
    /// If a path or argument is not valid UTF-8: a recording could not name it.
    pub fn of(options: &Options) -> Result<Self, RecordingError> {
        let text = |os: &std::ffi::OsStr| {
            let text = os.to_str().map(String::from);
            text.ok_or_else(|| RecordingError::Unwritable(format!("{} is not text", os.to_string_lossy())))
        };
        let path = std::path::absolute(&options.program).unwrap_or_else(|_| options.program.clone());
        Ok(RecordedProgram {
            path: text(path.as_os_str())?,
            args: options.args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?,
            stdin: options.stdin.as_ref().map(|stdin| text(stdin.as_os_str())).transpose()?,
            env: options.env.iter().map(|(name, value)| Ok((text(name)?, text(value)?))).collect::<Result<_, _>>()?,
            directory: options.directory.as_ref().map(|directory| text(directory.as_os_str())).transpose()?,
            checksum: file_checksum(&path),
        })
    }

    /// Whether the file has changed since it was recorded; `None` if that is not known.
    #[must_use]
    pub fn changed(&self, file: &Path) -> Option<bool> {
        Some(*self.checksum.as_ref()? != file_checksum(file)?)
    }
}

fn file_checksum(path: &Path) -> Option<String> {
    std::fs::read(path).ok().map(|bytes| format!("{:08x}", crc32fast::hash(&bytes)))
}

impl Recording {
    /// Reads either form.
    ///
    /// # Errors
    /// What is wrong with the file, for the user.
    pub fn load(path: &Path) -> Result<Self, RecordingError> {
        let bytes = std::fs::read(path).map_err(|error| RecordingError::Io(path.into(), error.to_string()))?;
        Self::from_bytes(&bytes)
    }

    /// Parses either form.
    ///
    /// # Errors
    /// As [`Recording::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordingError> {
        if bytes.starts_with(&binary::MAGIC) { binary::read(bytes) } else { json::read(bytes) }
    }

    /// The bytes of the file: binary with an execution, JSON without.
    ///
    /// # Errors
    /// If it cannot be represented.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordingError> {
        match &self.execution {
            Some(execution) => binary::write(self, execution),
            None => json::write(self),
        }
    }

    /// Writes the file atomically: no reader sees half of it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn save(&self, path: &Path) -> Result<(), RecordingError> {
        let bytes = self.to_bytes()?;
        let failed = |error: std::io::Error| RecordingError::Io(path.into(), error.to_string());
        // A device or pipe cannot be replaced.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return std::fs::write(path, bytes).map_err(failed);
        }
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(name);
        let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
        written.map_err(|error| {
            let _ = std::fs::remove_file(&part);
            failed(error)
        })
    }
}
