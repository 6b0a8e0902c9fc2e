//! A target beside an agent, which another machine may have.
//!
//! The agent has the process and the memory that is shared with it (`agent`). What goes over the
//! connection is what a session here takes and gives: plans of runs, and their results with the
//! traces as the target wrote them. They are checked and decoded here, and what to do when a run
//! fails is decided here, so that a search is the same wherever its target is.
//!
//! Several batches are under way at once, and none is waited for before the next one is sent.

pub mod agent;
pub mod files;
pub mod message;
mod program;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use raddle_remote::channel::Ending;
use raddle_remote::{Channel, Incoming, LinkError};
use raddle_wire::MAX_SEGMENTS;

pub use program::RemoteProgram;

use super::collect::BatchResults;
use super::plan::RunPlan;
use super::saved::SpinFacts;
use super::session::asked_to_stop;
use super::target_session::{TargetSession, Waited};
use crate::error::StartError;
use crate::mappings::Mapping;
use crate::options::{NoticedFacts, Options, Output};
use message::{AgentAnswer, HostRequest, StartRow, StartedRow};

/// The variable that has the token of an agent. It is written nowhere, and programs do not get it.
pub const TOKEN_VARIABLE: &str = "RADDLE_TOKEN";

/// Runs that can be under way, beyond what one request has.
const MOST_UNDER_WAY: usize = 512;
/// The time between two looks at whether the user wants to stop.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a message beside traces.
const MESSAGE_BYTES: usize = 256 << 20;

/// Where the output of the program goes on this side: standard output and error.
#[derive(Debug)]
enum Sink {
    Nowhere,
    Output,
    Error,
    File(File),
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) {
        // As with the program's own writing, a closed stream is no reason to stop.
        let _ = match self {
            Sink::Nowhere => Ok(()),
            Sink::Output => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
            Sink::Error => std::io::stderr().write_all(bytes),
            Sink::File(file) => file.write_all(bytes),
        };
    }

    fn both(options: &Options) -> std::io::Result<[Self; 2]> {
        let file = |path: &Option<PathBuf>| match path {
            Some(path) => File::create(path).map(Sink::File),
            None => Ok(Sink::Nowhere),
        };
        Ok(match options.output {
            Output::Discard => [Sink::Nowhere, Sink::Nowhere],
            Output::Inherit => [Sink::Output, Sink::Error],
            Output::Error => [Sink::Error, Sink::Error],
            Output::Captured => [file(&options.captured_output)?, file(&options.captured)?],
        })
    }
}

/// A target beside an agent.
#[derive(Debug)]
pub(super) struct RemoteSession {
    agent: Arc<RemoteProgram>,
    channel: Channel,
    under_way: VecDeque<RunPlan>,
    /// Results that came and were not collected.
    results: Option<BatchResults>,
    arena: usize,
    mappings: Vec<Mapping>,
    facts: NoticedFacts,
    loaded: Vec<PathBuf>,
    knowledge: Vec<u8>,
    sinks: [Sink; 2],
    /// Whether there could be more room for traces.
    may_grow: bool,
}

impl RemoteSession {
    pub(super) fn start(agent: &Arc<RemoteProgram>, options: &Options) -> Result<Self, StartError> {
        if let Some(word) = local_only(options) {
            return Err(StartError::Remote(format!(
                "{word} does not go with --target: the program would need something of this machine, or the agent \
                 does not let it have that"
            )));
        }
        let resources = |error: std::io::Error| StartError::Resources(error.to_string());
        let arena = usize::try_from(options.config().trace_bytes).unwrap_or(usize::MAX);
        let stdin =
            |error: std::io::Error| StartError::Stdin(options.stdin.clone().unwrap_or_default(), error.to_string());
        let request = HostRequest::Start(Box::new(StartRow::of(options, agent.id()).map_err(stdin)?));
        let channel = agent.open(arena.saturating_add(MESSAGE_BYTES))?;
        let started = match program::ask(&channel, &request, options.start_timeout)? {
            AgentAnswer::Started(started) => started,
            _ => return Err(StartError::Remote("the agent gave another answer than was asked for".into())),
        };
        Ok(RemoteSession {
            channel,
            under_way: VecDeque::new(),
            results: None,
            arena,
            mappings: local(agent, started),
            facts: NoticedFacts::default(),
            loaded: Vec::new(),
            knowledge: Vec::new(),
            sinks: Sink::both(options).map_err(resources)?,
            agent: Arc::clone(agent),
            may_grow: options.trace_bytes < options.max_trace_bytes,
        })
    }

    /// Takes results that came.
    fn take_in(&mut self, bytes: &[u8]) -> Waited {
        let mut results = match AgentAnswer::parse(bytes) {
            Ok(AgentAnswer::Results(results)) if results.plans() <= self.under_way.len() => results,
            Ok(AgentAnswer::Refused(why)) => return Waited::Lost(format!("the agent refuses: {why}")),
            Ok(_) => return Waited::Lost("the agent gave another answer than was asked for".into()),
            Err(error) => return Waited::Lost(format!("the agent sent {error}")),
        };
        for (sink, bytes) in self.sinks.iter_mut().zip(results.written()) {
            sink.write(bytes);
        }
        self.facts = results.facts();
        self.loaded = results.loaded().iter().map(|file| self.agent.copy(file)).collect();
        if let Some(knowledge) = results.take_knowledge() {
            self.knowledge = knowledge;
        }
        let plans: Vec<RunPlan> = self.under_way.drain(..results.plans()).collect();
        match results.take(plans, self.may_grow) {
            Ok(results) => self.results = Some(results),
            Err(error) => return Waited::Lost(format!("the agent sent {error}")),
        }
        Waited::Completed
    }
}

/// The mappings of a target with the paths of copies here.
fn local(agent: &RemoteProgram, started: StartedRow) -> Vec<Mapping> {
    let copies: Vec<(PathBuf, PathBuf)> = started.files.iter().map(|file| (file.path(), agent.copy(file))).collect();
    let mut mappings: Vec<Mapping> = started.mappings.into_iter().map(message::MappingRow::mapping).collect();
    // Paths of anything else mean nothing here.
    mappings.retain(|mapping| copies.iter().any(|(path, _)| *path == mapping.path));
    for mapping in &mut mappings {
        if let Some((_, copy)) = copies.iter().find(|(path, _)| *path == mapping.path) {
            mapping.path.clone_from(copy);
        }
    }
    mappings
}

/// An option that names something which an agent does not take from the network.
fn local_only(options: &Options) -> Option<&'static str> {
    let all = [
        (!options.env.is_empty(), "--env"),
        (options.directory.is_some(), "--cwd"),
        (options.share_files, "--share-files"),
        (options.observer.is_some(), "--observe all"),
        (options.peer_log.is_some(), "--record-peers"),
    ];
    all.into_iter().find(|(is_set, _)| *is_set).map(|(_, word)| word)
}

/// What the end of a connection means for a search.
fn ended(ending: Ending) -> Waited {
    match ending {
        Ending::Own => Waited::Lost("the connection to the agent was ended".into()),
        Ending::Told(why) => Waited::Lost(format!("the agent ended the program: {why}")),
        Ending::Lost(error @ LinkError::Forgotten(_)) => Waited::Forgotten(error.to_string()),
        Ending::Lost(error) => Waited::Lost(error.to_string()),
    }
}

impl TargetSession for RemoteSession {
    fn process_id(&self) -> Option<u32> {
        None
    }

    fn mappings(&self, _: &Options) -> Vec<Mapping> {
        self.mappings.clone()
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < MOST_UNDER_WAY
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.results.is_none()
    }

    fn arena(&self) -> usize {
        self.arena
    }

    fn send(&mut self, plans: &mut VecDeque<RunPlan>, at_most: usize) -> bool {
        let fits = |plan: &RunPlan| {
            plan.request.schedule.len() + plan.stops.len() <= MAX_SEGMENTS || plan.encode(&mut Vec::new()).is_some()
        };
        let count = plans.iter().take(at_most.min(raddle_wire::MAX_JOBS)).take_while(|plan| fits(plan)).count();
        let batch: Vec<RunPlan> = plans.drain(..count).collect();
        if batch.is_empty() {
            return false;
        }
        self.under_way.extend(batch.iter().cloned());
        self.channel.send(HostRequest::Runs(batch).to_bytes());
        true
    }

    fn wait(&mut self, options: &Options) -> Waited {
        loop {
            if self.results.is_some() {
                return Waited::Completed;
            }
            if let Some(waited) = asked_to_stop(options) {
                return waited;
            }
            match self.channel.receive(PAUSE) {
                Incoming::Message(bytes) => return self.take_in(&bytes),
                Incoming::Nothing => {}
                Incoming::Ended(ending) => return ended(ending),
            }
        }
    }

    fn collect(&mut self, _: Waited, _: bool) -> BatchResults {
        self.results.take().unwrap_or_default()
    }

    fn recall(&mut self) -> Vec<RunPlan> {
        let results = self.results.take().map(|results| results.plans);
        results.into_iter().flatten().chain(std::mem::take(&mut self.under_way)).collect()
    }

    fn facts(&self) -> NoticedFacts {
        self.facts.clone()
    }

    fn loaded(&self) -> Vec<PathBuf> {
        self.loaded.clone()
    }

    fn knowledge(&self) -> Vec<u8> {
        self.knowledge.clone()
    }

    fn teach(&mut self, facts: &SpinFacts) {
        self.channel.send(HostRequest::Teach(facts.clone()).to_bytes());
        self.knowledge = facts.to_bytes();
    }

    fn update_cpu_pin(&mut self) {}

    fn kill(&mut self) {
        // Results that came are kept by this side; the agent ends the target when the connection is
        // dropped.
    }
}
