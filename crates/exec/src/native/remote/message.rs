//! What host and agent say to each other.
//!
//! Requests and answers are a byte for their kind and a body. What comes once in a session is JSON;
//! plans are in the compact form of `postcard`; traces are plain words, because they are nearly all
//! that is sent. Both sides check what they get: neither trusts the other.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_remote::plain;
use raddle_vocab::RunStatus;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::files::FileRow;
use crate::decode::RunResult;
use crate::mappings::Mapping;
use crate::native::collect::{BatchResults, FailedRun, Finished};
use crate::native::plan::RunPlan;
use crate::native::recover::RetryCause;
use crate::native::saved::SpinFacts;
use crate::native::target_session::TargetSession;
use crate::open_values::OpenValues;
use crate::options::{Checkpoints, NoticedFacts, Options, Output, RestoreMode};
use crate::recording::Settings;
use crate::scripts;
use crate::shared::WORD;
use crate::{elf, limits};

const FIND: u8 = 1;
const START: u8 = 2;
const RUNS: u8 = 3;
const FETCH: u8 = 4;
const TEACH: u8 = 5;

const FOUND: u8 = 1;
const STARTED: u8 = 2;
const RESULTS: u8 = 3;
const CONTENTS: u8 = 4;
const REFUSED: u8 = 5;

/// Plans in one request, at most.
const MOST_PLANS: usize = raddle_wire::MAX_JOBS;
/// How long a run may go without an event, whatever is asked for.
const LONGEST_HANG: Duration = Duration::from_secs(3600);

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message that makes no sense ({0})")]
pub struct MessageError(pub(super) String);

fn wrong(what: impl std::fmt::Display) -> MessageError {
    MessageError(what.to_string())
}

/// Asks which program is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindRow {
    /// Version of raddle.
    pub raddle: String,
    /// [`raddle_wire::PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The program as the user names it, as bytes.
    pub name: Vec<u8>,
    /// The contents of the file of that name on the host's side.
    pub id: Option<String>,
}

/// Asks for a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartRow {
    /// The program, by its contents.
    program: String,
    args: Vec<Vec<u8>>,
    stdin: Option<Vec<u8>>,
    settings: Settings,
    forks: bool,
    checkpoints: u8,
    pool: u32,
    trace_bytes: u64,
    max_trace_bytes: u64,
    memory_limit: Option<u64>,
    hang_milliseconds: u64,
    calls_only: bool,
    bound_rounds: bool,
    join_accesses: bool,
    real_sockets: bool,
    /// Whether its output is sent back.
    keeps_output: bool,
}

/// Checkpoints by number.
const CHECKPOINTS: [Checkpoints; 3] = [Checkpoints::WherePaying, Checkpoints::Never, Checkpoints::Always];

impl StartRow {
    /// For a target with these options of a program with these contents.
    ///
    /// # Errors
    /// If its standard input cannot be read.
    pub(super) fn of(options: &Options, program: &str) -> std::io::Result<Self> {
        let bytes = |text: &OsString| text.clone().into_vec();
        Ok(StartRow {
            program: program.into(),
            args: options.args.iter().map(bytes).collect(),
            stdin: options.stdin.as_ref().map(std::fs::read).transpose()?,
            settings: Settings::of(options, 1),
            forks: options.mode == RestoreMode::Fork,
            checkpoints: CHECKPOINTS.iter().position(|&one| one == options.checkpoints).unwrap_or(0) as u8,
            pool: options.pool,
            trace_bytes: options.trace_bytes,
            max_trace_bytes: options.max_trace_bytes,
            memory_limit: options.memory_limit,
            hang_milliseconds: options.hang_timeout.as_millis() as u64,
            calls_only: options.calls_only,
            bound_rounds: options.bound_rounds,
            join_accesses: options.join_accesses,
            real_sockets: options.real_sockets,
            keeps_output: options.output != Output::Discard,
        })
    }

    /// The program, by its contents.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Whether its output is sent back.
    pub(super) fn keeps_output(&self) -> bool {
        self.keeps_output
    }

    /// What it has for standard input.
    pub(super) fn stdin(&self) -> Option<&[u8]> {
        self.stdin.as_deref()
    }

    /// The options for the target. Everything in them that is a path, or touches more than the
    /// program, is for the caller to set.
    pub(super) fn options(&self, program: PathBuf) -> Result<Options, MessageError> {
        let mut options = Options::new(program);
        self.settings.apply(&mut options);
        OpenValues::parse(self.settings.open_values.as_str())
            .map(drop)
            .or_else(|error| if self.settings.open_values.is_empty() { Ok(()) } else { Err(wrong(error)) })?;
        scripts::validate(&options.parties).map_err(wrong)?;
        if options.benign.len() > Options::MAX_BENIGN {
            return Err(wrong("too many accesses that may race"));
        }
        let own = options.memory_limit;
        options.args = self.args.iter().map(|arg| OsString::from_vec(arg.clone())).collect();
        options.mode = if self.forks { RestoreMode::Fork } else { RestoreMode::Snapshot };
        options.checkpoints = *CHECKPOINTS.get(usize::from(self.checkpoints)).ok_or_else(|| wrong("checkpoints"))?;
        options.pool = self.pool;
        options.max_trace_bytes = self.max_trace_bytes.min(options.max_trace_bytes);
        options.trace_bytes = self.trace_bytes.min(options.max_trace_bytes);
        options.memory_limit = least(own, self.memory_limit);
        options.hang_timeout = Duration::from_millis(self.hang_milliseconds).min(LONGEST_HANG);
        options.calls_only = self.calls_only;
        options.bound_rounds = self.bound_rounds;
        options.join_accesses = self.join_accesses;
        options.real_sockets = self.real_sockets;
        Ok(options)
    }
}

/// The lower of two bounds.
pub(super) fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// A part of a file in the target's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingRow {
    path: Vec<u8>,
    start: u64,
    end: u64,
    offset: u64,
    executable: bool,
}

impl MappingRow {
    pub(super) fn of(mapping: &Mapping) -> Self {
        let Mapping { path, start, end, offset, executable } = mapping.clone();
        MappingRow { path: path.into_os_string().into_vec(), start, end, offset, executable }
    }

    pub(super) fn mapping(self) -> Mapping {
        let MappingRow { path, start, end, offset, executable } = self;
        Mapping { path: OsString::from_vec(path).into(), start, end, offset, executable }
    }
}

/// A target that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedRow {
    /// What is mapped into it.
    pub mappings: Vec<MappingRow>,
    /// The files with code among that.
    pub files: Vec<FileRow>,
}

/// What the host asks for.
#[derive(Clone, Debug)]
pub enum HostRequest {
    /// Which program is meant.
    Find(FindRow),
    /// A target.
    Start(Box<StartRow>),
    /// That it knows this of spin loops.
    Teach(SpinFacts),
    /// Runs.
    Runs(Vec<RunPlan>),
    /// The contents of a file with code, by their checksum.
    Fetch(String),
}

/// What the agent answers.
#[derive(Clone, Debug)]
pub enum AgentAnswer {
    /// The program that is meant.
    Found(FileRow),
    /// A target was started.
    Started(StartedRow),
    /// Results of runs.
    Results(Box<Results>),
    /// The contents of a file.
    Contents(Vec<u8>),
    /// What was asked for is not done.
    Refused(String),
}

fn json<T: Serialize>(kind: u8, value: &T) -> Vec<u8> {
    let mut bytes = vec![kind];
    // Neither maps with odd keys nor values that fail.
    bytes.extend(serde_json::to_vec(value).unwrap_or_default());
    bytes
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    serde_json::from_slice(bytes).map_err(wrong)
}

fn with_kind(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + body.len());
    bytes.push(kind);
    bytes.extend_from_slice(body);
    bytes
}

impl HostRequest {
    /// The bytes of the message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            HostRequest::Find(row) => json(FIND, row),
            HostRequest::Start(row) => json(START, row),
            HostRequest::Teach(facts) => with_kind(TEACH, &facts.to_bytes()),
            HostRequest::Runs(plans) => with_kind(RUNS, &postcard::to_stdvec(plans).unwrap_or_default()),
            HostRequest::Fetch(id) => json(FETCH, id),
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let (kind, body) = bytes.split_first().ok_or_else(|| wrong("empty"))?;
        match *kind {
            FIND => from_json(body).map(HostRequest::Find),
            START => from_json(body).map(HostRequest::Start),
            TEACH => SpinFacts::from_bytes(body).map(HostRequest::Teach).ok_or_else(|| wrong("spin loops")),
            RUNS => {
                let plans: Vec<RunPlan> = postcard::from_bytes(body).map_err(wrong)?;
                let is_sound = (1..=MOST_PLANS).contains(&plans.len());
                if is_sound { Ok(HostRequest::Runs(plans)) } else { Err(wrong("number of runs")) }
            }
            FETCH => from_json(body).map(HostRequest::Fetch),
            other => Err(wrong(format!("request {other}"))),
        }
    }
}

impl AgentAnswer {
    /// The bytes of the message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            AgentAnswer::Found(row) => json(FOUND, row),
            AgentAnswer::Started(row) => json(STARTED, row),
            AgentAnswer::Results(results) => results.to_bytes(),
            AgentAnswer::Contents(bytes) => with_kind(CONTENTS, bytes),
            AgentAnswer::Refused(why) => with_kind(REFUSED, why.as_bytes()),
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let (kind, body) = bytes.split_first().ok_or_else(|| wrong("empty"))?;
        match *kind {
            FOUND => from_json(body).map(AgentAnswer::Found),
            STARTED => from_json(body).map(AgentAnswer::Started),
            RESULTS => Results::parse(body).map(|results| AgentAnswer::Results(Box::new(results))),
            CONTENTS => Ok(AgentAnswer::Contents(body.to_vec())),
            REFUSED => Ok(AgentAnswer::Refused(plain(&String::from_utf8_lossy(body)))),
            other => Err(wrong(format!("answer {other}"))),
        }
    }
}

/// How a run went, beside its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RunRow {
    status: u8,
    exit: Option<i32>,
    diverged_at: Option<u32>,
    awaits: u32,
    code: i32,
    /// Words of its trace.
    words: u32,
    nanoseconds: u64,
    resumed: bool,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FailedRow {
    cause: RetryCause,
    beginning: Vec<u64>,
    first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ResultsRow {
    /// Plans that the batch had.
    plans: u32,
    runs: Vec<RunRow>,
    failed: Option<FailedRow>,
    limits: u64,
    calls: BTreeSet<(String, u64)>,
    open_types: u64,
    loaded: Vec<FileRow>,
    /// What is known of spin loops, if that has changed.
    knowledge: Option<Vec<u8>>,
    /// What the program has written to standard output and standard error since the last results.
    written: [Vec<u8>; 2],
}

/// What one batch brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    row: ResultsRow,
    words: Vec<u64>,
}

impl Results {
    /// What a target here has brought.
    pub(super) fn of(
        session: &dyn TargetSession,
        collected: &BatchResults,
        loaded: Vec<FileRow>,
        knowledge: Option<Vec<u8>>,
        written: [Vec<u8>; 2],
    ) -> Self {
        let run = |finished: &Finished| RunRow {
            status: finished.result.status as u8,
            exit: finished.result.exit,
            diverged_at: finished.result.diverged_at,
            awaits: finished.result.awaits,
            code: finished.code,
            words: finished.trace.len() as u32,
            nanoseconds: finished.nanoseconds,
            resumed: finished.resumed,
        };
        let failed = collected.failed.as_ref().map(|failed| FailedRow {
            cause: failed.cause.clone(),
            beginning: failed.beginning.clone(),
            first: failed.first,
        });
        let NoticedFacts { limits, calls, open_types, .. } = session.facts();
        let row = ResultsRow {
            plans: collected.plans.len() as u32,
            runs: collected.results.iter().map(run).collect(),
            failed,
            limits,
            calls,
            open_types,
            loaded,
            knowledge,
            written,
        };
        Results { row, words: collected.words.clone() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let row = postcard::to_stdvec(&self.row).unwrap_or_default();
        let mut bytes = Vec::with_capacity(5 + row.len() + self.words.len() * WORD);
        bytes.push(RESULTS);
        bytes.extend_from_slice(&(row.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&row);
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn parse(body: &[u8]) -> Result<Self, MessageError> {
        let (length, rest) = body.split_first_chunk::<4>().ok_or_else(|| wrong("no length"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (row, words) = rest.split_at_checked(length).ok_or_else(|| wrong("length of results"))?;
        let row: ResultsRow = postcard::from_bytes(row).map_err(wrong)?;
        let (words, rest) = words.as_chunks::<WORD>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let sum: u64 = row.runs.iter().map(|run| u64::from(run.words)).sum();
        if !rest.is_empty() || sum != words.len() as u64 {
            return Err(wrong("length of traces"));
        }
        let whole = row.runs.len() as u64 == u64::from(row.plans);
        if row.plans == 0 && row.failed.is_none() || row.runs.len() as u64 > u64::from(row.plans) {
            return Err(wrong("number of results"));
        }
        if whole == row.failed.is_some() && row.plans > 0 {
            return Err(wrong("neither all results nor a failure"));
        }
        if limits::unnamed(row.limits) != 0 {
            return Err(wrong("limits that there are not"));
        }
        Ok(Results { row, words })
    }

    /// Plans that they are of.
    pub(super) fn plans(&self) -> usize {
        self.row.plans as usize
    }

    /// What is not modelled.
    pub(super) fn facts(&self) -> NoticedFacts {
        let ResultsRow { limits, calls, open_types, .. } = &self.row;
        NoticedFacts { limits: *limits, calls: calls.clone(), open_types: *open_types, ..NoticedFacts::default() }
    }

    /// Libraries that runs loaded.
    pub(super) fn loaded(&self) -> &[FileRow] {
        &self.row.loaded
    }

    /// What is known of spin loops, if that has changed.
    pub(super) fn take_knowledge(&mut self) -> Option<Vec<u8>> {
        self.row.knowledge.take()
    }

    /// What the program has written.
    pub(super) fn written(&self) -> [&[u8]; 2] {
        self.row.written.each_ref().map(|bytes| &bytes[..])
    }

    /// The results, checked, for the plans that they are of.
    pub(super) fn take(self, plans: Vec<RunPlan>, may_grow: bool) -> Result<BatchResults, MessageError> {
        let Results { row, words } = self;
        let mut results = Vec::with_capacity(row.runs.len());
        let mut end = 0;
        for run in row.runs {
            let status = RunStatus::from_byte(run.status).ok_or_else(|| wrong("status of a run"))?;
            let trace = end..end + run.words as usize;
            end = trace.end;
            let result = RunResult { status, exit: run.exit, diverged_at: run.diverged_at, awaits: run.awaits };
            let RunRow { code, nanoseconds, resumed, .. } = run;
            let finished = Finished { result, code, trace, nanoseconds, resumed };
            if RetryCause::of(&finished, may_grow).is_some() {
                return Err(wrong("a run that had to be repeated"));
            }
            results.push(finished);
        }
        let failed = row.failed.map(|FailedRow { cause, beginning, first }| FailedRun { cause, beginning, first });
        Ok(BatchResults { plans, results, words, failed })
    }
}

/// Whether a file has code of a processor that raddle knows.
pub(super) fn is_code(path: &Path) -> bool {
    path.is_file() && elf::machine(path).is_some()
}
