//! How a target runs: program, environment, limits.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_vocab::Granularity;
use raddle_vocab::policy::MAX_THREADS;
use raddle_wire::{Config, config_flag, limit, mode};
use serde::{Deserialize, Serialize};

use crate::elf::KnownFunctions;
use crate::emulator::Emulator;
use crate::fork_server::SharedForkServer;
use crate::native::remote::RemoteProgram;
use crate::open_values::OpenValues;
use crate::scripts::PartyScript;

/// How a new run gets a fresh state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// Written pages are restored in the same process; falls back to [`RestoreMode::Fork`] where
    /// that cannot work.
    #[default]
    Snapshot,
    /// Each run has a forked process of its own.
    Fork,
}

/// Where the program's standard output and error go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To nowhere: a search runs the program a million times.
    #[default]
    Discard,
    /// Where raddle's own go.
    Inherit,
    /// To raddle's standard error, both: standard output belongs to a report.
    Error,
    /// To the files [`Options::captured`] and [`Options::captured_output`].
    Captured,
}

/// Whether runs may start from states in the middle of earlier ones. This changes only how long
/// they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checkpoints {
    /// Where that is quicker.
    #[default]
    WherePaying,
    /// Never.
    Never,
    /// Wherever they can.
    Always,
}

/// How a target runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub program: PathBuf,
    /// The shared library with raddle's runtime, which is loaded into the program. Without one the
    /// program has to bring a runtime along.
    pub runtime: Option<PathBuf>,
    /// What runs the program, if it is for another processor; found when it is started.
    pub emulator: Option<Emulator>,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// Variables added to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Whether the program was not built with raddle.
    pub calls_only: bool,
    /// The emulator's plug-in that records the accesses of such a program.
    pub observer: Option<PathBuf>,
    /// Its working directory; raddle's own if `None`.
    pub directory: Option<PathBuf>,
    /// Its standard input; `/dev/null` if `None`.
    pub stdin: Option<PathBuf>,
    /// Its standard output and error.
    pub output: Output,
    /// The file for [`Output::Captured`].
    pub captured: Option<PathBuf>,
    /// The file that standard output goes to then; to nowhere if `None`.
    pub captured_output: Option<PathBuf>,
    /// Fresh state by snapshot or fork.
    pub mode: RestoreMode,
    /// Whether runs start from the middle of earlier ones; not with real files or visible output.
    pub checkpoints: Checkpoints,
    /// What is a transition.
    pub granularity: Granularity,
    /// Threads of one run to start with; grows when a run needs more.
    pub pool: u32,
    /// Stack of each thread.
    pub stack_bytes: u64,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
    /// Events that threads may still make after the process has exited.
    pub exit_events: u64,
    /// Whether files that the program writes are the real ones.
    pub share_files: bool,
    /// Whether sockets that are connected by address are the kernel's.
    pub real_sockets: bool,
    /// The file that takes what the connections of the program carry. Without parties only.
    pub peer_log: Option<PathBuf>,
    /// Whether input and output of streams may transfer fewer bytes than are there.
    pub partial_io: bool,
    /// The other sides of the program's connections.
    pub parties: Vec<PartyScript>,
    /// Whether a program that only waits for more clients has ended.
    pub until_idle: bool,
    /// Whether the stores of atomic locations are kept, so that a schedule can let a read see an
    /// older one.
    pub keep_stores: bool,
    /// Whether rounds of busy waiting are folded.
    pub fold_spins: bool,
    /// Whether a run is stopped in which a thread goes round without an effect while others could
    /// run.
    pub bound_rounds: bool,
    /// For runs that are not searched further: neighbouring accesses of one place are one record,
    /// and executions have plain accesses only if these show something wrong.
    pub join_accesses: bool,
    /// Return addresses of accesses that may race: each is a transition, as a relaxed atomic is.
    pub benign: Vec<u64>,
    /// Functions of the program that are known by their names; found when it is started.
    pub functions: KnownFunctions,
    /// Values that are tried where the program leaves one open.
    pub open_values: OpenValues,
    /// Bytes of a trace arena to start with; grows when a trace does not fit.
    pub trace_bytes: u64,
    /// Bound on that growth: a longer trace is cut.
    pub max_trace_bytes: u64,
    /// Bytes of memory that the program may have. The host watches this itself: the limits of the
    /// system count reserved memory, and the runtime reserves much and uses little.
    pub memory_limit: Option<u64>,
    /// How long the program may take until the runtime has control.
    pub start_timeout: Duration,
    /// How long a run may go without any event.
    pub hang_timeout: Duration,
    /// When to stop waiting for runs, whatever they do.
    pub deadline: Option<Instant>,
    /// Whether target and host work alternately, because they have one CPU. Otherwise the target
    /// makes runs while the host reads earlier ones.
    pub takes_turns: bool,
    /// The whole environment of the program but what raddle adds to it; raddle's own if `None`.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The agent that runs the program, if that is not this process. `program` is a copy of it here
    /// then.
    pub remote: Option<Arc<RemoteProgram>>,
    /// Becomes true when results are not wanted any more.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Takes what runs show that is not modelled. All targets with clones of these options share
    /// it.
    pub noticed: Noticed,
    /// Takes the files that are mapped at the start, and the libraries that runs load. All targets
    /// with clones of these options share it.
    pub loaded: LoadedLibraries,
    /// Makes targets with equal addresses where the system has no other way. Clones share it, too.
    pub fork_server: SharedForkServer,
}

/// Files that are mapped at the start of a target, and libraries that its runs loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadedLibraries(Arc<Mutex<BTreeSet<PathBuf>>>);

impl LoadedLibraries {
    /// Adds paths.
    pub fn add(&self, paths: Vec<PathBuf>) {
        if !paths.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(paths);
        }
    }

    /// All of them, in order.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// What runs showed that is not modelled or cannot be undone.
#[derive(Clone, Debug, Default)]
pub struct Noticed(Arc<Mutex<NoticedFacts>>);

/// The same as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticedFacts {
    /// Limits met, a bit each.
    pub limits: u64,
    /// Calls that were not modelled: name and return address.
    pub calls: BTreeSet<(String, u64)>,
    /// Types of which the program left values open, a bit each.
    pub open_types: u64,
    /// Further sentences.
    pub remarks: BTreeSet<String>,
    /// Whether an observed program may have atomic variables whose addresses are not known. That is
    /// no limit as long as nothing looks like a race.
    pub has_other_atomics: bool,
}

impl NoticedFacts {
    /// An observed program has atomic operations that were not seen as such.
    #[must_use]
    pub fn of_atomic_code() -> Self {
        NoticedFacts { limits: limit::ATOMIC_CODE, ..NoticedFacts::default() }
    }

    /// Whether an observed program has atomic operations that were not seen as such.
    #[must_use]
    pub fn has_atomic_code(&self) -> bool {
        self.limits & limit::ATOMIC_CODE != 0
    }
}

impl Noticed {
    /// Adds facts.
    pub fn add(&self, facts: NoticedFacts) {
        if facts != NoticedFacts::default() {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.limits |= facts.limits;
            all.calls.extend(facts.calls);
            all.open_types |= facts.open_types;
            all.remarks.extend(facts.remarks);
            all.has_other_atomics |= facts.has_other_atomics;
        }
    }

    /// Adds a sentence.
    pub(crate) fn remark(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remarks.insert(text);
    }

    /// All facts.
    #[must_use]
    pub fn facts(&self) -> NoticedFacts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Options {
    /// Accesses that can be benign, at most.
    pub const MAX_BENIGN: usize = raddle_wire::MAX_BENIGN;

    /// The defaults for a program.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Options {
            program: program.into(),
            runtime: None,
            emulator: None,
            args: Vec::new(),
            env: Vec::new(),
            calls_only: false,
            observer: None,
            directory: None,
            stdin: None,
            output: Output::default(),
            captured: None,
            captured_output: None,
            mode: RestoreMode::default(),
            checkpoints: Checkpoints::default(),
            granularity: Granularity::default(),
            pool: 16,
            stack_bytes: 8 << 20,
            spurious: 0,
            exit_events: 10_000,
            share_files: false,
            real_sockets: false,
            peer_log: None,
            partial_io: false,
            parties: Vec::new(),
            until_idle: false,
            keep_stores: false,
            fold_spins: true,
            bound_rounds: false,
            join_accesses: false,
            benign: Vec::new(),
            open_values: OpenValues::default(),
            functions: KnownFunctions::default(),
            trace_bytes: 8 << 20,
            max_trace_bytes: 2 << 30,
            memory_limit: crate::procfs::sensible_memory_limit(),
            start_timeout: Duration::from_secs(30),
            hang_timeout: Duration::from_secs(10),
            deadline: None,
            takes_turns: false,
            fork_server: SharedForkServer::default(),
            environment: None,
            remote: None,
            cancelled: None,
            noticed: Noticed::default(),
            loaded: LoadedLibraries::default(),
        }
    }

    /// Whether the program has no hooks, so that only its calls of the C library are seen, and its
    /// accesses if there is an observer.
    #[must_use]
    pub fn sees_calls_only(&self) -> bool {
        self.calls_only
    }

    /// The configuration that the target gets at its start.
    #[must_use]
    pub(crate) fn config(&self) -> Config {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        Config {
            mode: match self.mode {
                RestoreMode::Snapshot => mode::SNAPSHOT,
                RestoreMode::Fork => mode::FORK,
            },
            flags: flag(self.granularity == Granularity::Access, config_flag::ACCESS_GRANULARITY)
                | flag(self.share_files, config_flag::SHARE_FILES)
                | flag(self.real_sockets, config_flag::REAL_SOCKETS)
                | flag(self.peer_log.is_some(), config_flag::RECORD_PEERS)
                | flag(self.partial_io, config_flag::PARTIAL_IO)
                | flag(self.until_idle, config_flag::UNTIL_IDLE)
                | flag(self.output != Output::Discard, config_flag::KEEP_OUTPUT)
                | flag(
                    self.fold_spins && (!self.sees_calls_only() || self.observer.is_some()),
                    config_flag::FOLD_SPINS,
                )
                | flag(self.sees_calls_only(), config_flag::CALLS_ONLY)
                | flag(self.observer.is_some(), config_flag::OBSERVED)
                | flag(self.functions.has_sections, config_flag::SECTIONS)
                | flag(self.join_accesses, config_flag::JOIN_ACCESSES)
                | flag(self.emulator.is_some(), config_flag::EMULATED)
                | flag(self.keep_stores, config_flag::KEEP_STORES)
                | flag(self.bound_rounds, config_flag::BOUND_ROUNDS)
                | flag(self.checkpoints == Checkpoints::Always, config_flag::KEEP_ALL_CHECKPOINTS),
            pool: self.pool.clamp(1, MAX_THREADS as u32),
            spurious: self.spurious,
            stack_bytes: self.stack_bytes,
            trace_bytes: self.trace_bytes.clamp(4096, self.max_trace_bytes.max(4096)).next_multiple_of(4096),
            exit_events: self.exit_events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_says_what_the_options_say() {
        let mut options = Options::new("a.out");
        options.granularity = Granularity::Access;
        options.output = Output::Inherit;
        options.mode = RestoreMode::Fork;
        options.pool = 100_000;
        options.trace_bytes = 5000;
        let config = options.config();
        let flags = config_flag::ACCESS_GRANULARITY | config_flag::KEEP_OUTPUT | config_flag::FOLD_SPINS;
        assert_eq!((config.mode, config.flags, config.pool), (mode::FORK, flags, MAX_THREADS as u32));
        assert_eq!(config.trace_bytes, 8192);
    }
}
