//! A program that an agent offers, and its files here.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_remote::channel::Ending;
use raddle_remote::{AgentEndpoint, Channel, Incoming};
use raddle_wire::PROTOCOL_VERSION;

use super::files::{self, Checksums, FileRow};
use super::message::{AgentAnswer, FindRow, HostRequest};
use crate::error::StartError;
use crate::interrupt;

/// How long an answer may take that needs no program to run.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Bytes of a file that is fetched, at most.
const LONGEST_FILE: usize = 2 << 30;
/// The time between two looks at whether the user wants to stop.
const PAUSE: Duration = Duration::from_millis(20);

/// A program that an agent offers.
#[derive(Debug)]
pub struct RemoteProgram {
    endpoint: AgentEndpoint,
    file: FileRow,
    /// The copy here.
    path: PathBuf,
    checksums: Checksums,
}

impl RemoteProgram {
    /// Asks an agent for the program that this path names here or there. An agent that cannot be
    /// reached is tried again for so long.
    ///
    /// # Errors
    /// If the agent cannot be reached, or does not offer it.
    pub fn find(endpoint: AgentEndpoint, named: &Path, patience: Duration) -> Result<Self, StartError> {
        let checksums = Checksums::default();
        let here = checksums.of(named).ok().map(|(id, _)| id);
        let request = HostRequest::Find(FindRow {
            raddle: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL_VERSION,
            name: named.as_os_str().as_bytes().to_vec(),
            id: here,
        });
        let channel = endpoint.open(patience, LONGEST_FILE, interrupt::requested).map_err(remote)?;
        let AgentAnswer::Found(file) = ask(&channel, &request, ANSWER_TIME)? else {
            return Err(StartError::Remote("the agent gave another answer than was asked for".into()));
        };
        let mut program = RemoteProgram { endpoint, file, path: PathBuf::new(), checksums };
        let found = files::copy_of(&program.file, &program.checksums, &[named], |file| program.fetch(file));
        program.path = found.map_err(StartError::Remote)?;
        Ok(program)
    }

    /// The copy of the program here.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The agent, as `--target` names it.
    #[must_use]
    pub fn agent(&self) -> String {
        self.endpoint.address.to_string()
    }

    /// Its contents, by their checksum.
    pub(super) fn id(&self) -> &str {
        &self.file.id
    }

    /// Begins a session, in which messages may have so many bytes.
    pub(super) fn open(&self, longest: usize) -> Result<Channel, StartError> {
        self.endpoint
            .open(self.endpoint.timing.patience, longest, interrupt::requested)
            .map_err(|error| if interrupt::requested() { StartError::Interrupted } else { remote(error) })
    }

    /// A copy of a file here; a path without a file if there is none: names are missing then.
    pub(super) fn copy(&self, file: &FileRow) -> PathBuf {
        let fetched = files::copy_of(file, &self.checksums, &[&self.path], |file| self.fetch(file));
        let copy = fetched.unwrap_or_else(|why| {
            tracing::debug!(why, "a file of the agent is missing");
            files::missing(file)
        });
        if let Err(why) = self.fetch_debug_information(&copy, file) {
            tracing::debug!(why, "debug information of the agent is missing");
        }
        copy
    }

    /// Puts debug information where it is looked for: beside the copy of the stripped file. Nothing
    /// is put beside files that were here before.
    fn fetch_debug_information(&self, copy: &Path, file: &FileRow) -> Result<(), String> {
        let Some((name, id, size)) = &file.debug else { return Ok(()) };
        let is_name = !name.is_empty() && !name.contains(&b'/') && name != b"..";
        let beside = copy.with_file_name(OsStr::from_bytes(name));
        if !is_name || files::original(copy) == copy || beside.exists() {
            return Ok(());
        }
        let path = file.path().with_file_name(OsStr::from_bytes(name)).into_os_string().into_vec();
        let row = FileRow { path, id: id.clone(), size: *size, debug: None };
        let from = files::copy_of(&row, &self.checksums, &[], |file| self.fetch(file))?;
        std::fs::copy(from, &beside).map(drop).map_err(|error| error.to_string())
    }

    fn fetch(&self, file: &FileRow) -> Result<Vec<u8>, String> {
        let channel = self.open(LONGEST_FILE).map_err(|error| error.to_string())?;
        let answer = ask(&channel, &HostRequest::Fetch(file.id.clone()), ANSWER_TIME);
        match answer.map_err(|error| error.to_string())? {
            AgentAnswer::Contents(bytes) => Ok(bytes),
            _ => Err("the agent gave another answer than was asked for".into()),
        }
    }
}

fn remote(error: raddle_remote::LinkError) -> StartError {
    StartError::Remote(error.to_string())
}

/// Sends a request and waits for the answer.
pub(super) fn ask(channel: &Channel, request: &HostRequest, time: Duration) -> Result<AgentAnswer, StartError> {
    channel.send(request.to_bytes());
    let begun = Instant::now();
    // The agent has the same bound on what it does, and says more.
    let time = time + ANSWER_TIME;
    loop {
        match channel.receive(PAUSE) {
            Incoming::Message(bytes) => {
                return match AgentAnswer::parse(&bytes) {
                    Ok(AgentAnswer::Refused(why)) => Err(StartError::Remote(format!("the agent refuses: {why}"))),
                    Ok(answer) => Ok(answer),
                    Err(error) => Err(StartError::Remote(format!("the agent sent {error}"))),
                };
            }
            Incoming::Nothing if interrupt::requested() => return Err(StartError::Interrupted),
            Incoming::Nothing if begun.elapsed() > time => {
                return Err(StartError::Remote("the agent gives no answer".into()));
            }
            Incoming::Nothing => {}
            Incoming::Ended(Ending::Told(why)) => {
                return Err(StartError::Remote(format!("the agent ended the session: {why}")));
            }
            Incoming::Ended(Ending::Lost(error)) => return Err(remote(error)),
            Incoming::Ended(Ending::Own) => return Err(StartError::Remote("the connection was ended".into())),
        }
    }
}
