//! The command line: one table, from which help, completions and manual pages are made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use raddle_engine::{DEFAULT_EXIT_EVENTS, DEFAULT_MAX_EVENTS, Observe, Program, Property, StrategyName};
use raddle_exec::open_values::OpenValues;
use raddle_exec::scripts::{self, PartyScript};
use raddle_vocab::party::PartyRole;

use crate::agent::AgentArgs;
use crate::cluster::args::{CoordinateArgs, StatusArgs, WorkerArgs};
pub use crate::csp_args::{CspCheckArgs, CspCommand, CspDrawArgs, CspLimits};
use crate::error::CommandError;
use crate::formats::Format;
use crate::remote_args::RemoteArgs;
pub use crate::semantics_args::{GranularityArg, MemoryArg};
use crate::statuses::Statuses;
use crate::values::{size, variable};

/// Runs real C and C++ programs under every thread schedule that matters.
#[derive(Debug, Parser)]
#[command(name = "raddle", version, max_term_width = 110, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub output: OutputArgs,
}

// What all commands take. (Text for help here would be that of the command.)
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,
}

const AFTER_HELP: &str = "\
Exit status of check: 0 verified, 1 an error was found, 2 usage or build failure, 3 nothing found but not complete.
Start with `raddle doctor` and `raddle demo`.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile and link C like gcc or clang (RADDLE_CC names the real compiler)
    #[command(name = "cc", disable_help_flag = true)]
    Cc(WrapperArgs),
    /// Compile and link C++ like g++ or clang++ (RADDLE_CXX names the real compiler)
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(WrapperArgs),
    /// Explore every schedule that matters
    Check(Box<CheckArgs>),
    /// Go on with a check that was interrupted
    Resume(Box<ResumeArgs>),
    /// Check a program with the workers of a NATS server, on any number of machines
    Coordinate(Box<CoordinateArgs>),
    /// Work on the searches that were given to a NATS server
    Worker(Box<WorkerArgs>),
    /// Show the searches under way on a NATS server
    Status(Box<StatusArgs>),
    /// Run programs of this machine for searches on other ones (--target)
    Agent(Box<AgentArgs>),
    /// Make one controlled execution
    Run(Box<RunArgs>),
    /// Run a witness, schedule or trace again
    Replay(ReplayArgs),
    /// Find races that other orders of one run's events show, and force each on the program
    Predict(Box<PredictArgs>),
    /// Show what the static analysis knows about a program
    Facts(FactsArgs),
    /// Work with models in CSP
    #[command(subcommand)]
    Csp(CspCommand),
    /// Show a run in another format
    Report(ReportArgs),
    /// Step through the schedule of a finding
    Show(ShowArgs),
    /// List the runs in .raddle, with their findings
    List,
    /// Tell what was found on this machine, and what to install
    Doctor,
    /// Write an example program to try
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write a page for each command to this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Arguments of the real compiler.
#[derive(Debug, Args)]
pub struct WrapperArgs {
    /// Arguments of gcc or clang
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

/// Search strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyArg {
    /// A few runs of optimal, a few samples, then stateful; optimal again where that does not pay
    Auto,
    /// Each class of equivalent schedules exactly once
    Optimal,
    /// Dynamic partial-order reduction that recognises states
    Stateful,
    /// Dynamic partial-order reduction with sleep sets
    Dpor,
    /// Data races only, with pruning by locksets
    Pdp,
    /// Data races only, with pruning by thread states
    Dhtc,
    /// Random schedules
    Random,
    /// Random priorities with few changes
    Pct,
    /// Partial-order sampling
    Pos,
    /// Every schedule, one by one
    Dfs,
}

impl From<StrategyArg> for StrategyName {
    fn from(arg: StrategyArg) -> Self {
        match arg {
            StrategyArg::Auto => StrategyName::Auto,
            StrategyArg::Optimal => StrategyName::Optimal,
            StrategyArg::Stateful => StrategyName::Stateful,
            StrategyArg::Dpor => StrategyName::Dpor,
            StrategyArg::Pdp => StrategyName::Pdp,
            StrategyArg::Dhtc => StrategyName::Dhtc,
            StrategyArg::Random => StrategyName::Random,
            StrategyArg::Pct => StrategyName::Pct,
            StrategyArg::Pos => StrategyName::Pos,
            StrategyArg::Dfs => StrategyName::Dfs,
        }
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PropertyArg {
    /// Everything
    All,
    /// Data races
    Race,
    /// Failed assertions, whatever races: with accesses as scheduling points
    Reach,
}

impl From<PropertyArg> for Property {
    fn from(arg: PropertyArg) -> Self {
        match arg {
            PropertyArg::All => Property::All,
            PropertyArg::Race => Property::Race,
            PropertyArg::Reach => Property::Reach,
        }
    }
}

/// Other forms of the text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// The grammar of ThreadSanitizer
    Tsan,
    /// A line for each place, as compilers write them: file:line:column: error: ...
    Gcc,
    /// Annotations that GitHub shows beside the code
    Github,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// At a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<ColorArg> for anstream::ColorChoice {
    fn from(arg: ColorArg) -> Self {
        match arg {
            ColorArg::Auto => anstream::ColorChoice::Auto,
            ColorArg::Always => anstream::ColorChoice::Always,
            ColorArg::Never => anstream::ColorChoice::Never,
        }
    }
}

/// How the program is run, whatever for.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// Cut a run after so many events
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_EVENTS, value_parser = positive())]
    pub max_events: u64,
    /// Events that threads may still make after the process has exited
    #[arg(long, value_name = "N", default_value_t = DEFAULT_EXIT_EVENTS)]
    pub exit_events: u64,
    /// Standard input of the program [default: /dev/null]
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Add a variable to the environment of the program
    #[arg(long, value_name = "NAME=VALUE", action = clap::ArgAction::Append, value_parser = variable)]
    pub env: Vec<(OsString, OsString)>,
    /// Working directory of the program [default: the present one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Let the program write to the real files instead of private copies
    #[arg(long)]
    pub share_files: bool,
    /// Let reads and writes of streams transfer fewer bytes than are there, as POSIX allows
    #[arg(long)]
    pub partial_io: bool,
    /// Let a client connect to the program and follow a script: tcp:PORT=FILE or unix:PATH=FILE
    #[arg(long, value_name = "ADDRESS=FILE", action = clap::ArgAction::Append)]
    pub client: Vec<String>,
    /// Answer a connection of the program by a script: tcp:HOST:PORT=FILE or unix:PATH=FILE
    #[arg(long, value_name = "ADDRESS=FILE", action = clap::ArgAction::Append)]
    pub peer: Vec<String>,
    /// Use the scripts of this directory, which --record-peers has written, as clients and peers
    #[arg(long, value_name = "DIR")]
    pub peers: Option<PathBuf>,
    /// Take a program for ended that waits for more clients when all scripts are done (the default
    /// with --client)
    #[arg(long)]
    pub until_idle: bool,
    /// Take a program for blocked that waits for more clients when all scripts are done
    #[arg(long, conflicts_with = "until_idle")]
    pub until_exit: bool,
    /// What to see of the program: its calls of the C library, or memory accesses, too, for which a
    /// program that was not built with raddle runs under an emulator [default: all if it was built
    /// with raddle]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub observe: Option<ObserveArg>,
    /// Values to try where the program leaves one open (__VERIFIER_nondet_int and the like), as in
    /// 0,1,5 or int=-1..3,uchar=0,255 [default: 0,1]
    #[arg(long, value_name = "SPEC", value_parser = OpenValues::parse, allow_hyphen_values = true)]
    pub nondet: Option<OpenValues>,
    /// Where the program runs
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// What is seen of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObserveArg {
    /// Calls of the C library: any program
    Sync,
    /// Memory accesses, too: programs built with raddle, others by way of qemu
    All,
}

impl From<ObserveArg> for Observe {
    fn from(name: ObserveArg) -> Self {
        match name {
            ObserveArg::Sync => Observe::Sync,
            ObserveArg::All => Observe::All,
        }
    }
}

impl TargetArgs {
    /// The program, run as the arguments say.
    ///
    /// # Errors
    /// A script that cannot be read.
    pub fn apply(&self, program: Program, args: &[OsString]) -> Result<Program, CommandError> {
        let parties = self.parties()?;
        if let Some(directory) = self.cwd.as_deref().filter(|directory| !directory.is_dir()) {
            return Err(CommandError(format!("{}: there is no such directory (--cwd)", directory.display())));
        }
        // An agent says by itself what it offers.
        if self.remote.target.is_none() && program.path().is_dir() {
            return Err(crate::check::build::is_a_directory(program.path()));
        }
        let program = self.remote.place(program)?;
        let program = program.env(self.env.clone()).directory(self.cwd.clone());
        let program = program.args(args).stdin(self.stdin.clone());
        let program = program.exit_events(self.exit_events).share_files(self.share_files);
        let program = program.partial_io(self.partial_io).observe(self.observe.map(Into::into));
        let program = program.open_values(self.nondet.clone().unwrap_or_default()).parties(parties);
        Ok(match (self.until_idle, self.until_exit) {
            (true, _) => program.until_idle(true),
            (_, true) => program.until_idle(false),
            _ => program,
        })
    }

    /// The other sides of the program's connections.
    fn parties(&self) -> Result<Vec<PartyScript>, CommandError> {
        let roles = [(PartyRole::Client, &self.client), (PartyRole::Peer, &self.peer)];
        let all = roles.into_iter().flat_map(|(role, options)| {
            (1..).zip(options).map(move |(number, option)| PartyScript::load(role, number, option))
        });
        let mut parties = all.collect::<Result<Vec<_>, _>>().map_err(|error| CommandError(error.to_string()))?;
        if let Some(directory) = &self.peers {
            parties.extend(scripts_of(directory, self.client.len(), self.peer.len())?);
        }
        scripts::validate(&parties).map_err(|error| CommandError(error.to_string()))?;
        Ok(parties)
    }
}

/// The scripts of a directory, where there are so many clients and peers already.
///
/// # Errors
/// A script that cannot be read.
pub fn scripts_of(directory: &Path, clients: usize, peers: usize) -> Result<Vec<PartyScript>, CommandError> {
    scripts::load_directory(directory, clients, peers).map_err(|error| CommandError(error.to_string()))
}

/// How source files are compiled.
#[derive(Clone, Debug, Args)]
pub struct BuildArgs {
    /// Compiler for source files
    #[arg(long, value_name = "CC")]
    pub compiler: Option<OsString>,
    /// Flags for the compiler
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub cflags: Option<OsString>,
}

/// Where the report of a search goes, and what it looks like.
#[derive(Clone, Debug, Default, Args)]
pub struct ShownArgs {
    /// Write the report as JSON; - for standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the report as SARIF
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the report as HTML
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the report in another form
    #[arg(long, value_enum, value_name = "FORM")]
    pub report: Option<ReportForm>,
    /// Show the running search in a browser, on an address of this machine that only you know
    #[arg(long)]
    pub serve: bool,
    /// Print nothing but findings and verdict
    #[arg(long)]
    pub quiet: bool,
}

impl ShownArgs {
    /// Files of the report.
    pub fn files(&self) -> [Option<&Path>; 4] {
        [&self.json, &self.sarif, &self.junit, &self.html].map(|path| path.as_deref())
    }

    /// The same files, to change them.
    pub fn files_mut(&mut self) -> [&mut Option<PathBuf>; 4] {
        [&mut self.json, &mut self.sarif, &mut self.junit, &mut self.html]
    }

    /// Whether standard output belongs to one of the reports.
    pub fn takes_output(&self) -> bool {
        self.files().contains(&Some(Path::new("-")))
    }
}

/// Test frameworks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FrameworkArg {
    /// The one that the program uses; ctest for a build directory of CMake
    Auto,
    /// GoogleTest
    Gtest,
    /// Catch2
    Catch2,
    /// doctest
    Doctest,
    /// Boost.Test
    Boost,
    /// The tests that ctest knows in a build directory
    Ctest,
}

/// `raddle check`.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true)]
pub struct CheckArgs {
    /// A program, built with raddle unless calls of the C library are enough, or source files to
    /// compile first
    #[arg(required = true, value_name = "PROG|FILE.c")]
    pub inputs: Vec<PathBuf>,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
    /// How to search
    #[arg(long, value_enum, default_value = "auto")]
    pub strategy: StrategyArg,
    /// What is a scheduling point [default: sync; access with --property reach]
    #[arg(long, value_enum)]
    pub granularity: Option<GranularityArg>,
    /// What to look for [default: all; race with --strategy pdp or dhtc]
    #[arg(long, value_enum)]
    pub property: Option<PropertyArg>,
    /// The memory model: which stores a read may see
    #[arg(long, value_enum, default_value = "sc")]
    pub memory: MemoryArg,
    /// Stop at the first error
    #[arg(long)]
    pub stop_at_first: bool,
    /// Stop after so many executions
    #[arg(long, value_name = "N")]
    pub max_executions: Option<u64>,
    /// How the program is run
    #[command(flatten)]
    pub target: TargetArgs,
    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Leave schedules with more preemptions out
    #[arg(long, value_name = "N")]
    pub preemptions: Option<u32>,
    /// Spurious wake-ups that each thread may have
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub spurious: u32,
    /// Processors to use: all, if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Start of the pseudo-random sequence
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Memory for the states that --strategy stateful remembers, such as 500M or 2G [default: a
    /// quarter of the free memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub cache: Option<u64>,
    /// Check raddle itself on every N-th execution: run it again, and in another equivalent order
    #[arg(long, value_name = "N", value_parser = positive())]
    pub self_check: Option<u64>,
    /// Do not report what a line of this file matches (ThreadSanitizer's syntax)
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    pub werror: bool,
    /// Statuses beside 0 that the program may exit with, as 1-3,7: any other one is an error
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = Statuses::parse, allow_hyphen_values = true)]
    pub allow_exit: Vec<Statuses>,
    /// Take this code for harmless although it was compiled without raddle: a file, with * and ?
    #[arg(long, value_name = "NAME", action = clap::ArgAction::Append)]
    pub trust: Vec<String>,
    /// Never say verified of a program that uses libraries that were not built with raddle
    #[arg(long)]
    pub strict: bool,
    /// With --observe all: take the memory orders of the machine code for those of the source
    #[arg(long)]
    pub machine_orders: bool,
    /// How the report is shown
    #[command(flatten)]
    pub shown: ShownArgs,
    /// Check each test case of a program by itself
    #[arg(long, value_enum, value_name = "NAME")]
    pub framework: Option<FrameworkArg>,
    /// With --framework: only test cases whose names match, with * and ?
    #[arg(long, value_name = "NAME", action = clap::ArgAction::Append, conflicts_with = "checkpoint")]
    pub test: Vec<String>,
    /// The same as --framework gtest
    #[arg(long, hide = true, conflicts_with = "framework")]
    pub gtest: bool,
    /// Check again whenever the program or a source file beside it has changed
    #[arg(long, conflicts_with = "checkpoint")]
    pub watch: bool,
    /// Directory for witnesses and reports [default: .raddle/PROGRAM]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Save the search in this directory from its beginning, for `raddle resume` [default: after
    /// ten seconds, in the directory for reports]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["framework", "gtest"])]
    pub checkpoint: Option<PathBuf>,
    /// How source files are compiled
    #[command(flatten)]
    pub build: BuildArgs,
}

/// `raddle resume`: where the search was saved, and how its report is shown. Everything else is as
/// in the command that was interrupted.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// Directory of the checkpoint or of the run, or name of the program [default: the last search
    /// that was interrupted]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Stop after so many seconds more [default: as the command that was interrupted]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// How the report is shown
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// How a new run gets a fresh state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Restore what was written
    Snapshot,
    /// A process for each run
    Fork,
}

impl From<ModeArg> for raddle_exec::RestoreMode {
    fn from(name: ModeArg) -> Self {
        match name {
            ModeArg::Snapshot => raddle_exec::RestoreMode::Snapshot,
            ModeArg::Fork => raddle_exec::RestoreMode::Fork,
        }
    }
}

/// `raddle run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A program, built with raddle unless calls of the C library are enough
    #[arg(value_name = "PROG")]
    pub program: PathBuf,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
    /// Follow this schedule, witness or trace
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    pub schedule: Option<PathBuf>,
    /// Save the execution
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write what comes over the program's connections to other processes as scripts into this
    /// directory, for --peers
    #[arg(long, value_name = "DIR", conflicts_with_all = ["schedule", "client", "peer", "peers", "self_check"])]
    pub record_peers: Option<PathBuf>,
    /// Choose threads at random, from this seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// What is a scheduling point
    #[arg(long, value_enum, default_value = "sync")]
    pub granularity: GranularityArg,
    /// How the run gets a fresh state
    #[arg(long, value_enum, default_value = "fork")]
    pub mode: ModeArg,
    /// How the program is run
    #[command(flatten)]
    pub target: TargetArgs,
    /// Spurious wake-ups that each thread may have
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub spurious: u32,
    /// Check raddle itself: run the schedule so often again, and in other equivalent orders
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub self_check: u32,
    /// Bytes of memory that the program may have [default: three quarters of what is free]
    #[arg(long, value_name = "BYTES")]
    pub memory_limit: Option<u64>,
    /// Give up after so many seconds without any event
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub hang_timeout: f64,
    /// Print nothing but the program's output and findings
    #[arg(long)]
    pub quiet: bool,
}

/// `raddle facts`.
#[derive(Debug, Args)]
pub struct FactsArgs {
    /// A program built by raddle with clang
    #[arg(value_name = "PROG")]
    pub program: PathBuf,
    /// Print the facts as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the labelled transition system of each thread as DOT
    #[arg(long, conflicts_with = "json")]
    pub lts: bool,
}

/// `raddle replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A file, a finding's id in the last check (r1), or one of a program (bank/r1)
    #[arg(value_name = "WITNESS")]
    pub witness: PathBuf,
    /// Run this program instead of the recorded one
    #[arg(long, value_name = "PROG")]
    pub program: Option<PathBuf>,
    /// Build the program again from its sources first, as the check did
    #[arg(long, conflicts_with = "program")]
    pub rebuild: bool,
    /// Use the scripts of this directory instead of the recorded ones
    #[arg(long, value_name = "DIR")]
    pub peers: Option<PathBuf>,
    /// Let gdb run the program
    #[arg(long)]
    pub gdb: bool,
    /// Stop before the event with this number
    #[arg(long, value_name = "EVENT", value_parser = positive())]
    pub break_at: Option<u64>,
    /// Show the program's own output
    #[arg(long)]
    pub show_output: bool,
    /// Where the program runs
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `raddle predict`.
#[derive(Clone, Debug, Args)]
#[command(after_help = PREDICT_HELP)]
pub struct PredictArgs {
    /// A program built with raddle, source files to compile first, or a trace in the STD format
    /// (.std)
    #[arg(required = true, value_name = "PROG|FILE.c|TRACE.std")]
    pub inputs: Vec<PathBuf>,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
    /// Reorder only within so many consecutive synchronising operations (of a trace: events)
    /// [default: the whole trace, up to a million]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    pub window: Option<u64>,
    /// How often the runs that confirmation led to new paths are analysed in turn; 0 for as long as
    /// there are new ones
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rounds: u32,
    /// Do not look for orders in which reads that decided the way keep their writers
    #[arg(long)]
    pub assume_any_value: bool,
    /// Write the trace (STD and a table) and every model (CSPm) to this directory
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// Of a trace: confirm its predictions on this program (or its source), which is made to follow
    /// each counterexample
    #[arg(long, value_name = "PROG")]
    pub confirm: Option<PathBuf>,
    /// States that deciding one candidate may need
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = positive())]
    pub max_states: u64,
    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Observe a random schedule, from this seed, instead of the default one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Candidates that are decided at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: u32,
    /// How the program is run
    #[command(flatten)]
    pub target: TargetArgs,
    /// Write the report as JSON; - for standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Directory for witnesses and reports [default: .raddle/PROGRAM]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How source files are compiled
    #[command(flatten)]
    pub build: BuildArgs,
    /// Print nothing but findings and verdict
    #[arg(long)]
    pub quiet: bool,
}

const PREDICT_HELP: &str = "\
Exit status: 1 something was confirmed, 2 usage, build failure or broken trace, 3 nothing was confirmed.";

/// `raddle report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directory of a run, name of the program, or a finding (r1, bank/r1, a file) [default: the
    /// last run]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// What it looks like [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Only this finding
    #[arg(long, value_name = "ID")]
    pub finding: Option<String>,
    /// Write it there instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `raddle show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory of a run, name of the program, or a finding (r1, bank/r1, a file) [default: the
    /// last run]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Print the run in this format instead of stepping through it
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// The finding to step through [default: the first]
    #[arg(long, value_name = "ID")]
    pub finding: Option<String>,
    /// Print this step and end
    #[arg(long, value_name = "N", value_parser = positive())]
    pub step: Option<u64>,
}

/// A positive number.
pub fn positive() -> RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..)
}

/// A positive number of seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e9 => Ok(seconds),
        _ => Err("this is not a positive number of seconds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_makes_sense() {
        Cli::command().debug_assert();
    }

    fn check(line: &str) -> CheckArgs {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Check(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_check_come_in_any_order_and_arguments_after_two_dashes() {
        let args = check("raddle check --strategy dpor a.c b.c --json - --cflags -O2 -- --seed 1");
        assert_eq!(args.inputs, [PathBuf::from("a.c"), PathBuf::from("b.c")]);
        assert_eq!(args.args, ["--seed", "1"]);
        assert_eq!(args.strategy, StrategyArg::Dpor);
        assert_eq!((args.shown.json, args.build.cflags), (Some("-".into()), Some("-O2".into())));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "raddle",
            "raddle frobnicate",
            "raddle check",
            "raddle check --strategy best a.c",
            "raddle check --jobs 0 a.c",
            "raddle check --time-limit -1 a.c",
            "raddle run",
            "raddle run --seed 1 --schedule s a.out",
            "raddle replay",
            "raddle csp",
            "raddle csp check",
            "raddle predict",
            "raddle predict --window 1 a.c",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
