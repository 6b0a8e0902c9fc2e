//! What was searched: only the same program, with the same arguments and options, in the same
//! environment, can be searched further.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use raddle_exec::recording::Settings;
use raddle_exec::remote::TOKEN_VARIABLE;
use raddle_exec::{NativeTarget, Options, RunPlan};
use raddle_model::{Event, Execution, Operation as _, Request};
use raddle_vocab::policy::{Policy, mix};
use serde::{Deserialize, Serialize};

use super::Durability;
use crate::error::Error;
use crate::options::CheckOptions;

/// Events of the run that shows whether a new process is like the old one, at most.
const PROBE_EVENTS: u64 = 20_000;

/// A file that the program is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileRow {
    path: Vec<u8>,
    size: u64,
    /// When it was changed last, in seconds and nanoseconds.
    changed: (i64, i64),
    /// Of the program itself, a checksum.
    checksum: Option<u32>,
}

/// A search, by all that decides about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Version of raddle.
    raddle: String,
    /// Checksum of its file.
    build: u32,
    pub command: Vec<Vec<u8>>,
    pub directory: Vec<u8>,
    environment: Vec<(Vec<u8>, Vec<u8>)>,
    files: Vec<FileRow>,
    /// Checksum of arguments, options and the files that they name.
    settings: u32,
    /// Bytes for states, and processors.
    pub cache: u64,
    pub jobs: u64,
    /// What the first run of a new process shows: addresses, and keys of states.
    probe: u64,
}

impl Identity {
    /// Of a search with these options that is under way.
    pub fn of(durability: &Durability, options: &CheckOptions, target: &Options) -> Result<Self, Error> {
        let bytes = |text: OsString| text.into_vec();
        let mut environment = target.environment.clone().unwrap_or_else(|| std::env::vars_os().collect());
        environment.retain(|(name, _)| name != TOKEN_VARIABLE);
        Ok(Identity {
            raddle: env!("CARGO_PKG_VERSION").into(),
            build: own_checksum(),
            command: durability.command.iter().cloned().map(bytes).collect(),
            directory: std::env::current_dir().map(|path| bytes(path.into_os_string())).unwrap_or_default(),
            environment: environment.into_iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            files: files(target).map_err(|(path, error)| Error::file(&path, error))?,
            settings: settings(options, target),
            cache: options.cache.unwrap_or(0),
            jobs: options.jobs() as u64,
            probe: probe(target)?,
        })
    }

    /// Reads it. One of another raddle may have another form, so the versions come first.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: postcard::Error| format!("it makes no sense: {error}");
        let ((raddle, build), _): ((String, u32), _) = postcard::take_from_bytes(bytes).map_err(wrong)?;
        if raddle != env!("CARGO_PKG_VERSION") || build != own_checksum() {
            return Err(format!(
                "it was written by another raddle ({}): resume the search with that one, or check the program anew",
                raddle.escape_debug()
            ));
        }
        postcard::from_bytes(bytes).map_err(wrong)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The environment of the program.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
        self.environment.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// Says why a search with these options is another one.
    pub fn difference(&self, options: &CheckOptions, target: &Options) -> Option<String> {
        for file in &self.files {
            let path = PathBuf::from(OsString::from_vec(file.path.clone()));
            let now = FileRow::of(&path, file.checksum.is_some());
            let is_same = now.as_ref().is_ok_and(|now| match file.checksum {
                // A program may be copied.
                Some(checksum) => now.checksum == Some(checksum),
                None => now == file,
            });
            if !is_same {
                return Some(format!("{} is not what it was when the search began", path.display()));
            }
        }
        let differ = self.settings != settings(options, target);
        differ.then(|| "an input, a script or a file of suppressions is not what it was when the search began".into())
    }

    /// Whether a new process of the program is like the one that was searched.
    pub fn is_alike(&self, target: &Options) -> Result<bool, Error> {
        Ok(probe(target)? == self.probe)
    }
}

impl FileRow {
    fn of(path: &Path, is_program: bool) -> io::Result<Self> {
        let about = std::fs::metadata(path)?;
        let checksum = if is_program { Some(crc32fast::hash(&std::fs::read(path)?)) } else { None };
        let changed = (about.mtime(), about.mtime_nsec());
        Ok(FileRow { path: path.as_os_str().as_bytes().to_vec(), size: about.size(), changed, checksum })
    }
}

/// A checksum of the running raddle: another build may search in another way.
pub(crate) fn own_checksum() -> u32 {
    let own = std::env::current_exe().and_then(std::fs::read);
    own.map_or(0, |bytes| crc32fast::hash(&bytes))
}

/// The program and the libraries that it has loaded.
fn files(target: &Options) -> Result<Vec<FileRow>, (PathBuf, io::Error)> {
    let program = std::path::absolute(&target.program).unwrap_or_else(|_| target.program.clone());
    let row = |path: &Path, is_program| FileRow::of(path, is_program).map_err(|error| (path.to_path_buf(), error));
    let mut all = vec![row(&program, true)?];
    // Files that were only mapped for a while may be gone.
    let libraries = target.loaded.paths().into_iter().filter(|path| *path != program && path.is_file());
    for path in libraries {
        all.push(row(&path, false)?);
    }
    Ok(all)
}

/// A checksum of arguments and options, and of the contents of files that they name. Time and
/// processors make no difference to a search.
fn settings(options: &CheckOptions, target: &Options) -> u32 {
    let CheckOptions { strategy, property, stop_at_first, max_executions, preemptions, seed, self_check, .. } = options;
    let CheckOptions { warnings_are_errors, allowed_exits, trust, suppressions, .. } = options;
    let memory = options.memory;
    let search =
        format!("{strategy:?} {property:?} {memory:?} {stop_at_first} {max_executions:?} {preemptions:?} {seed}");
    let judgement = format!("{self_check:?} {warnings_are_errors} {allowed_exits:?} {trust:?} {suppressions:?}");
    let input = target.stdin.as_ref().map(|path| std::fs::read(path).map(|bytes| crc32fast::hash(&bytes)).ok());
    let program = format!("{:?} {:?} {input:?} {}", target.args, target.stdin, target.share_files);
    let settings = Settings { benign: Vec::new(), ..Settings::of(target, options.max_events) };
    crc32fast::hash(format!("{search} {judgement} {program} {settings:?}").as_bytes())
}

/// A number for the first run of a new process: its events with their addresses, and the keys of
/// its states.
fn probe(target: &Options) -> Result<u64, Error> {
    let fresh = Options { deadline: None, noticed: Default::default(), ..target.clone() };
    // Without hooks there are no states to compare.
    let policy = if target.sees_calls_only() { Policy::LeastRank } else { Policy::GiveFirst { last: 0 } };
    let mut target = NativeTarget::start(fresh)?;
    let mut execution = Execution::empty();
    target.run(RunPlan::from(Request { schedule: Vec::new(), policy, max_events: PROBE_EVENTS }), &mut execution)?;
    let event = |event: &Event| {
        let words = event.op.pack();
        [u64::from(event.thread), event.pc, words.kind as u64, words.obj, words.arg, words.value]
    };
    let events = execution.events.iter().flat_map(event);
    let accesses = execution.accesses.iter().flat_map(|access| [access.addr, access.size, access.pc]);
    let keys = execution.keys.iter().flat_map(|key| [key.0 as u64, (key.0 >> 64) as u64]);
    Ok(events.chain(accesses).chain(keys).fold(0, |sum, word| mix(sum ^ word)))
}
