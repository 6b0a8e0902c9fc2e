//! Why a check, a prediction or a replay could not be done.

use std::path::{Path, PathBuf};

use raddle_cc::{ExecuteError, FindError, SourceBuildError};
use raddle_exec::StartError;
use raddle_exec::recording::{RecordingError, ScheduleError};
use raddle_model::TargetError;

use crate::options::OptionsError;
use crate::runtime::InstallError;

/// An error that leaves no report. Its text is a sentence for the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A command that cannot see all of a program without hooks.
    #[error(
        "`raddle {0}` cannot observe the memory accesses of a program that was not built with raddle: leave \
         --observe all out, or compile and link the program with `raddle cc` or `raddle c++`"
    )]
    ObservesHere(&'static str),
    /// A debugger for a schedule of a program whose accesses were observed.
    #[error(
        "gdb runs the program without the emulator, where its atomic instructions are no scheduling points: replay \
         without --gdb, or compile and link the program with `raddle cc` or `raddle c++`"
    )]
    NotForDebugger,
    /// Less is to be seen of a program than there is.
    #[error("{path} was built with raddle, which sees all of it: leave --observe sync out", path = .0.display())]
    HasHooks(PathBuf),
    /// The program was lost before anything could be said about it.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A recorded schedule contradicts itself.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A recording cannot be read or written.
    #[error("{}", recording_text(path, error))]
    Recording {
        /// The recording's file.
        path: PathBuf,
        /// What is wrong with it.
        error: RecordingError,
    },
    /// A file or directory cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The directory for the report cannot be written.
    #[error("{}: the report cannot be kept there: {error}; name another directory with --out", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A source file is missing.
    #[error("{}: there is no such file", .0.display())]
    NoSuchFile(PathBuf),
    /// A preprocessed file whose types are those of another machine.
    #[error("{path} was preprocessed for a 32-bit machine: preprocess it for this one, or name the file before \
             preprocessing", path = .0.display())]
    ForeignTypes(PathBuf),
    /// A file is not text.
    #[error("{}:{line}: this is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line that is not text, from 1.
        line: usize,
    },
    /// A trace cannot be understood.
    #[error("{}:{error}", path.display())]
    Trace {
        /// The file of the trace.
        path: PathBuf,
        /// The line, and what is wrong with it.
        error: raddle_predict::std_format::TraceError,
    },
    /// There is no such run.
    #[error("{}: there is no such run; runs are directories that `raddle check` writes", .0.display())]
    NoSuchRun(PathBuf),
    /// There is no run at all.
    #[error("there is no run in {}: call `raddle check` first, or name one", .0.display())]
    NoRuns(PathBuf),
    /// A program with a test framework has no test cases.
    #[error("{program} lists no test cases of {framework}", program = .0.display(), framework = .1)]
    NoTests(PathBuf, &'static str),
    /// There is no such witness.
    #[error("there is no file {path} and no finding {path} in the last check", path = .0.display())]
    NoSuchWitness(PathBuf),
    /// A file is no report.
    #[error("{}: this is not a report of raddle ({what})", path.display())]
    NotAReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A recording is shorter than the event that was asked for.
    #[error("the recording has only {events} events")]
    NoSuchEvent {
        /// Events that it has.
        events: usize,
    },
    /// Two runs of one schedule differ.
    #[error("the program does not do the same twice: {0}")]
    Nondeterministic(String),
    /// A self-check found a difference.
    #[error("self-check failed: {0}")]
    SelfCheck(String),
    /// Options that contradict each other.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The runtime cannot be installed.
    #[error(transparent)]
    Runtime(#[from] InstallError),
    /// There is no usable compiler.
    #[error(transparent)]
    Compiler(#[from] FindError),
    /// The sources cannot be built together.
    #[error(transparent)]
    Sources(#[from] SourceBuildError),
    /// The compiler cannot be started.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The compiler refused the sources.
    #[error("{} could not be compiled (status {status})", listed(sources))]
    Compile {
        /// The source files.
        sources: Vec<PathBuf>,
        /// The compiler's exit status.
        status: i32,
    },
    /// There is nothing to resume.
    #[error(
        "{}: there is no interrupted search; a search that has lasted ten seconds, or has --checkpoint, can be resumed \
         until it ends",
        .0.display()
    )]
    NothingToResume(PathBuf),
    /// A program cannot be built again.
    #[error(
        "{program} was not compiled by `raddle check` or `raddle run`: build it again as you did, then replay without \
         --rebuild",
        program = .0.display()
    )]
    NotBuiltHere(PathBuf),
    /// Several test cases of a run have a finding of this name.
    #[error("{} is a finding of several test cases: {}", name.display(), names.join(", "))]
    AmbiguousWitness {
        /// The name.
        name: PathBuf,
        /// The names that are meant.
        names: Vec<String>,
    },
    /// The report of a check is not wanted any more.
    #[error("the check was given up")]
    GivenUp,
    /// A journal cannot be used.
    #[error("{}: this search cannot be resumed: {what}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A saved search makes no sense.
    #[error("{0}; check the program anew")]
    Saved(#[from] raddle_explore::saved::Unusable),
    /// A process cannot take part in a shared search.
    #[error(transparent)]
    Refused(#[from] crate::distributed::Refused),
    /// More accesses are suppressed than the runtime can treat as scheduling points.
    #[error("the suppressions match more than {0} accesses that race: fix some of them")]
    TooManySuppressed(usize),
}

impl Error {
    /// A file that cannot be used.
    pub fn file(path: &Path, error: impl Into<std::io::Error>) -> Self {
        Error::File { path: path.into(), error: error.into() }
    }

    /// A recording that cannot be used.
    pub fn recording(path: &Path, error: RecordingError) -> Self {
        Error::Recording { path: path.into(), error }
    }
}

fn recording_text(path: &Path, error: &RecordingError) -> String {
    match error {
        RecordingError::Io(..) => error.to_string(),
        _ => format!("{}: {error}", path.display()),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
