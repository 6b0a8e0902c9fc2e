//! The agent's side: runs targets for hosts elsewhere.
//!
//! What a host says is not trusted. It names a program among those that the operator offers, by its
//! name and its contents, and never a path to be opened. The environment, the working directory and
//! the bounds are the operator's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_remote::{Channel, Incoming, plain};
use raddle_wire::{MAX_JOBS, PROTOCOL_VERSION};
use tempfile::TempDir;

use super::files::{Checksums, FileRow};
use super::message::{AgentAnswer, FindRow, HostRequest, MappingRow, Results, StartRow, StartedRow, is_code, least};
use crate::fork_server::SharedForkServer;
use crate::native::NativeTarget;
use crate::native::plan::RunPlan;
use crate::native::session::Session;
use crate::native::target_session::{TargetSession, Waited};
use crate::options::{Options, Output};
use crate::programs::programs_below;
use crate::{elf, interrupt};

/// How long a session may do nothing before its target is started.
const IDLE_TIME: Duration = Duration::from_secs(120);
/// The time between two looks at whether a session is over.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of its output that a program's run can have sent back, of either stream.
const MOST_OUTPUT: u64 = 1 << 24;
/// Commands of which the process is kept that all targets are forked from, where that is needed.
const MOST_FORK_SERVERS: usize = 32;

/// Finds the runtime for a program.
pub type FindRuntime = dyn Fn(&Path) -> Result<PathBuf, String> + Send + Sync;

/// What an operator offers, and how it is run.
pub struct Offer {
    /// Programs, and directories of programs.
    pub programs: Vec<PathBuf>,
    /// Bytes of memory that a program may have.
    pub memory_limit: Option<u64>,
    /// The environment of programs.
    pub environment: Vec<(OsString, OsString)>,
    /// Finds the runtime for a program.
    pub runtime: Box<FindRuntime>,
    /// Finds the separate debug information of a file.
    pub debug_file: fn(&Path) -> Option<PathBuf>,
    /// Is told what happens.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// Serves hosts.
pub struct Agent {
    offer: Offer,
    checksums: Checksums,
    /// Files that may be fetched, by their checksums: programs on offer, and what they have loaded.
    files: Mutex<BTreeMap<String, PathBuf>>,
    fork_servers: Mutex<BTreeMap<(PathBuf, Vec<OsString>), SharedForkServer>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent {
    /// With this offer.
    #[must_use]
    pub fn new(offer: Offer) -> Self {
        Agent { offer, checksums: Checksums::default(), files: Mutex::default(), fork_servers: Mutex::default() }
    }

    /// The programs on offer.
    #[must_use]
    pub fn programs(&self) -> Vec<PathBuf> {
        let mut files = programs_below(&self.offer.programs);
        files.sort();
        files
    }

    /// Serves a host until it has what it wants.
    pub fn serve(&self, channel: Channel) {
        let mut begun = Instant::now();
        while begun.elapsed() < IDLE_TIME {
            let bytes = match channel.receive(PAUSE) {
                Incoming::Message(bytes) => bytes,
                Incoming::Nothing => continue,
                Incoming::Ended(_) => return,
            };
            begun = Instant::now();
            let answer = match HostRequest::parse(&bytes) {
                Ok(HostRequest::Find(row)) => self.find(&row).map(AgentAnswer::Found),
                Ok(HostRequest::Fetch(id)) => self.contents(&id).map(AgentAnswer::Contents),
                Ok(HostRequest::Start(row)) => match self.start(&row, &channel) {
                    Ok(target) => return target.work(self, &channel),
                    Err(why) => Err(why),
                },
                Ok(HostRequest::Runs(_) | HostRequest::Teach(_)) => Err("no program was started".into()),
                Err(error) => return channel.end(&error.to_string()),
            };
            channel.send(answer.unwrap_or_else(|why| self.refused(why)).to_bytes());
        }
    }

    fn refused(&self, why: String) -> AgentAnswer {
        (self.offer.tell)(&format!("refused: {}", plain(&why)));
        AgentAnswer::Refused(why)
    }

    /// The program that a host means: one on offer with that path, or with that name if there is
    /// one only. Of several with that name it is the one with the contents that the host has.
    fn find(&self, row: &FindRow) -> Result<FileRow, String> {
        let own = env!("CARGO_PKG_VERSION");
        if row.protocol != PROTOCOL_VERSION || row.raddle != own {
            return Err(format!(
                "this is raddle {own} with protocol {PROTOCOL_VERSION}, and that is raddle {} with protocol {}: use \
                 the same version",
                row.raddle.escape_debug(),
                row.protocol
            ));
        }
        let named = Path::new(OsStr::from_bytes(&row.name));
        let mut found: Vec<FileRow> = self.programs().into_iter().filter(|path| is_named(path, named)).try_fold(
            Vec::new(),
            |mut all, path| {
                all.push(self.checksums.row(&path).map_err(|error| format!("{}: {error}", path.display()))?);
                Ok::<_, String>(all)
            },
        )?;
        if found.len() > 1 {
            let exact = found.iter().position(|file| file.path() == named);
            let same = found.iter().position(|file| Some(&file.id) == row.id.as_ref());
            found = exact.or(same).map(|at| found.swap_remove(at)).into_iter().collect();
            if found.is_empty() {
                return Err("several programs of that name are offered: give the path that it has here".into());
            }
        }
        // Whether there is such a file beyond the offer is not told.
        let file = found.pop().ok_or("no program of that name is offered")?;
        lock(&self.files).insert(file.id.clone(), file.path());
        Ok(file)
    }

    /// A file that may be fetched.
    fn contents(&self, id: &str) -> Result<Vec<u8>, String> {
        let path = lock(&self.files).get(id).cloned().ok_or("no such file is offered")?;
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// What a host is told about a file with code, which it may fetch from now on.
    fn offered(&self, path: &Path) -> Option<FileRow> {
        let mut row = self.checksums.row(path).ok()?;
        lock(&self.files).insert(row.id.clone(), path.into());
        if let (Some(name), Some(debug)) = (elf::debug_link(path), (self.offer.debug_file)(path))
            && let Ok((id, size)) = self.checksums.of(&debug)
        {
            lock(&self.files).insert(id.clone(), debug);
            row.debug = Some((name, id, size));
        }
        Some(row)
    }

    /// Starts a program that is on offer.
    fn start(&self, row: &StartRow, channel: &Channel) -> Result<AgentTarget, String> {
        let is_it = |path: &PathBuf| self.checksums.of(path).is_ok_and(|(id, _)| id == row.program());
        let known = lock(&self.files).get(row.program()).cloned();
        let is_offered = |path: &PathBuf| self.programs().contains(path);
        let program = known.filter(is_offered).filter(is_it).or_else(|| self.programs().into_iter().find(is_it));
        let program = program.ok_or("no such program is offered; perhaps it was built again")?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut options = row.options(program.clone()).map_err(|error| error.to_string())?;
        options.runtime = Some((self.offer.runtime)(&program)?);
        options.memory_limit = least(options.memory_limit, self.offer.memory_limit);
        options.environment = Some(self.offer.environment.clone());
        options.cancelled = Some(channel.cancelled());
        options.fork_server = self.fork_server(&options);
        if let Some(bytes) = row.stdin() {
            let path = directory.path().join("stdin");
            std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
            options.stdin = Some(path);
        }
        let outputs = [directory.path().join("stdout"), directory.path().join("stderr")];
        if row.keeps_output() {
            options.output = Output::Captured;
            let [output, error] = outputs.clone();
            (options.captured_output, options.captured) = (Some(output), Some(error));
        }
        let options = NativeTarget::prepared(options).map_err(|error| error.to_string())?;
        let session = Session::start(&options).map_err(|error| error.to_string())?;
        (self.offer.tell)(&format!("{} was started", program.display()));
        let may_grow = options.trace_bytes < options.max_trace_bytes;
        let output = row.keeps_output().then(|| outputs.map(|path| Written { path, read: 0 }));
        let (waiting, knowledge, loaded) = (VecDeque::new(), Vec::new(), BTreeSet::new());
        Ok(AgentTarget { session, options, may_grow, waiting, knowledge, loaded, output, _directory: directory })
    }

    /// All targets of one command have the same addresses.
    fn fork_server(&self, options: &Options) -> SharedForkServer {
        let mut all = lock(&self.fork_servers);
        if all.len() >= MOST_FORK_SERVERS {
            all.clear();
        }
        all.entry((options.program.clone(), options.args.clone())).or_default().clone()
    }
}

/// Whether a program is the one that a host names by a path of its own or of this machine.
fn is_named(program: &Path, named: &Path) -> bool {
    program == named || named.file_name().is_some_and(|name| program.file_name() == Some(name))
}

/// What a program has written to a stream.
struct Written {
    path: PathBuf,
    /// Bytes that were sent back.
    read: u64,
}

impl Written {
    /// What it has written since the last time.
    fn more(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(MOST_OUTPUT.saturating_sub(self.read)).read_to_end(&mut bytes)
        });
        self.read += read.unwrap_or(0) as u64;
        bytes
    }
}

/// A target that works for a host.
struct AgentTarget {
    session: Session,
    options: Options,
    may_grow: bool,
    /// Batches that were not handed over yet, or only in part.
    waiting: VecDeque<VecDeque<RunPlan>>,
    /// What the host was told of spin loops.
    knowledge: Vec<u8>,
    /// Libraries that the host was told of.
    loaded: BTreeSet<PathBuf>,
    output: Option<[Written; 2]>,
    _directory: TempDir,
}

impl AgentTarget {
    /// Makes the runs that the host asks for, until it wants no more.
    fn work(mut self, agent: &Agent, channel: &Channel) {
        let mappings = self.session.mappings(&self.options);
        let files = mappings
            .iter()
            .filter(|mapping| mapping.offset == 0 && is_code(&mapping.path))
            .filter_map(|of| agent.offered(&of.path));
        let started = StartedRow { files: files.collect(), mappings: mappings.iter().map(MappingRow::of).collect() };
        channel.send(AgentAnswer::Started(started).to_bytes());
        while !interrupt::requested() {
            if !self.take_requests(agent, channel) {
                return;
            }
            if !self.hand_over() {
                return channel.send(agent.refused("a schedule is too long".into()).to_bytes());
            }
            if self.session.is_idle() {
                continue;
            }
            let waited = self.session.wait(&self.options);
            match waited {
                Waited::Completed => {}
                Waited::Broken(_) => self.session.kill(),
                _ => return,
            }
            let collected = self.session.collect(waited, self.may_grow);
            let is_broken = collected.failed.is_some();
            let results = self.results(agent, &collected);
            channel.send(AgentAnswer::Results(Box::new(results)).to_bytes());
            if is_broken {
                return self.wait_for_end(channel);
            }
        }
    }

    /// Takes what the host asks for; waits for that if there is nothing to do. False if the session
    /// is over.
    fn take_requests(&mut self, agent: &Agent, channel: &Channel) -> bool {
        loop {
            let is_idle = self.session.is_idle() && self.waiting.is_empty();
            let request = match channel.receive(if is_idle { PAUSE } else { Duration::ZERO }) {
                Incoming::Message(bytes) => HostRequest::parse(&bytes),
                Incoming::Nothing => return !is_idle || !interrupt::requested(),
                Incoming::Ended(_) => return false,
            };
            match request {
                Ok(HostRequest::Runs(plans)) => self.waiting.push_back(plans.into()),
                Ok(HostRequest::Teach(facts)) => {
                    self.session.teach(&facts);
                    self.knowledge = facts.to_bytes();
                }
                Ok(_) => {
                    channel.send(agent.refused("the program is running".into()).to_bytes());
                    return false;
                }
                Err(error) => {
                    channel.send(agent.refused(error.to_string()).to_bytes());
                    return false;
                }
            }
            if self.waiting.len() >= MAX_JOBS {
                return true;
            }
        }
    }

    /// Hands over what there is room for. False if a schedule does not fit.
    fn hand_over(&mut self) -> bool {
        while self.session.has_room()
            && let Some(plans) = self.waiting.front_mut()
        {
            if !self.session.send(plans, MAX_JOBS) {
                return !self.session.is_idle();
            }
            if plans.is_empty() {
                self.waiting.pop_front();
            }
        }
        true
    }

    fn results(&mut self, agent: &Agent, collected: &crate::native::collect::BatchResults) -> Results {
        let mut loaded = Vec::new();
        for path in self.session.loaded() {
            // The program says what it has loaded, and may say anything.
            if self.loaded.insert(path.clone()) && is_code(&path) {
                loaded.extend(agent.offered(&path));
            }
        }
        let now = self.session.knowledge();
        let knowledge = (now != self.knowledge).then(|| now.clone());
        self.knowledge = now;
        let written = match &mut self.output {
            Some(streams) => streams.each_mut().map(Written::more),
            None => [Vec::new(), Vec::new()],
        };
        Results::of(&self.session, collected, loaded, knowledge, written)
    }

    /// The target is of no use any more. The host knows, and asks for another one.
    fn wait_for_end(self, channel: &Channel) {
        while !matches!(channel.receive(PAUSE), Incoming::Ended(_)) && !interrupt::requested() {}
    }
}
