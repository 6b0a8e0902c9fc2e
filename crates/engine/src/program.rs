//! The program that is checked: where it is, how it is run, and how it is built from sources.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_cc::{
    Environment, KEEP_CALLS, SourceBuild, execute, find_compiler, find_named_compiler, has_known_functions, response,
};
use raddle_exec::elf::{self, Instrumentation};
use raddle_exec::open_values::OpenValues;
use raddle_exec::remote::RemoteProgram;
use raddle_exec::scripts::PartyScript;
use raddle_exec::{Options, Output};
use raddle_vocab::party::PartyRole;

use crate::build_record::BuildRecord;
use crate::directory::ROOT;
use crate::error::Error;
use crate::options::Observe;
use crate::runtime;

/// Bound on the events after exit unless the caller sets another one.
pub const DEFAULT_EXIT_EVENTS: u64 = 10_000;

/// A program built with raddle, and how it is run.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    name: Option<String>,
    args: Vec<OsString>,
    stdin: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    exit_events: u64,
    share_files: bool,
    partial_io: bool,
    parties: Vec<PartyScript>,
    until_idle: bool,
    open_values: OpenValues,
    observe: Option<Observe>,
    remote: Option<Arc<RemoteProgram>>,
}

impl Program {
    /// A program that `raddle cc` or `raddle c++` has built, or any other one that is linked
    /// dynamically. Only calls of the C library are seen of the latter.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Program {
            path: path.into(),
            name: None,
            args: Vec::new(),
            stdin: None,
            env: Vec::new(),
            directory: None,
            exit_events: DEFAULT_EXIT_EVENTS,
            share_files: false,
            partial_io: false,
            parties: Vec::new(),
            until_idle: false,
            open_values: OpenValues::default(),
            observe: None,
            remote: None,
        }
    }

    /// Compiles a C or C++ file into the run's usual directory, `.raddle/NAME`.
    ///
    /// # Errors
    /// If there is no compiler, or it refuses the file.
    pub fn compile(source: impl Into<PathBuf>) -> Result<Self, Error> {
        let sources = Sources::new([source.into()]);
        let directory = Path::new(ROOT).join(sources.name());
        std::fs::create_dir_all(&directory).map_err(|error| Error::file(&directory, error))?;
        sources.compile_into(&directory)
    }

    /// The name that reports and directories use, instead of the file's name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Program { name: Some(name.into()), ..self }
    }

    /// The program's arguments, without its own name.
    #[must_use]
    pub fn args<A: Into<OsString>>(self, args: impl IntoIterator<Item = A>) -> Self {
        Program { args: args.into_iter().map(Into::into).collect(), ..self }
    }

    /// Its standard input; `/dev/null` unless this is called.
    #[must_use]
    pub fn stdin(self, path: Option<PathBuf>) -> Self {
        Program { stdin: path, ..self }
    }

    /// Adds variables to its environment.
    #[must_use]
    pub fn env(self, env: Vec<(OsString, OsString)>) -> Self {
        Program { env, ..self }
    }

    /// Its working directory; that of the caller unless this is called.
    #[must_use]
    pub fn directory(self, directory: Option<PathBuf>) -> Self {
        Program { directory, ..self }
    }

    /// Events that threads may still make after the process has exited.
    #[must_use]
    pub fn exit_events(self, events: u64) -> Self {
        Program { exit_events: events, ..self }
    }

    /// Values that are tried where the program leaves one open.
    #[must_use]
    pub fn open_values(self, open_values: OpenValues) -> Self {
        Program { open_values, ..self }
    }

    /// Lets the program write to the real files instead of private copies.
    #[must_use]
    pub fn share_files(self, share_files: bool) -> Self {
        Program { share_files, ..self }
    }

    /// Lets input and output of streams transfer fewer bytes than are there, as POSIX allows.
    #[must_use]
    pub fn partial_io(self, partial_io: bool) -> Self {
        Program { partial_io, ..self }
    }

    /// What is seen of it; `None` for as much as can be.
    #[must_use]
    pub fn observe(self, observe: Option<Observe>) -> Self {
        Program { observe, ..self }
    }

    /// Lets an agent run it. What is said of its path holds for the copy here.
    #[must_use]
    pub fn beside(self, agent: RemoteProgram) -> Self {
        let name = Some(self.name());
        Program { path: agent.path().into(), name, remote: Some(Arc::new(agent)), ..self }
    }

    /// The other sides of its connections. Where there are clients, a program that only waits for
    /// more of them has ended.
    #[must_use]
    pub fn parties(self, parties: Vec<PartyScript>) -> Self {
        let until_idle = parties.iter().any(|script| script.party.role == PartyRole::Client);
        Program { parties, until_idle, ..self }
    }

    /// Whether a program that only waits for more clients has ended.
    #[must_use]
    pub fn until_idle(self, until_idle: bool) -> Self {
        Program { until_idle, ..self }
    }

    /// The program's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that reports and directories use.
    #[must_use]
    pub fn name(&self) -> String {
        let of_file = || self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        self.name.clone().or_else(of_file).unwrap_or_else(|| "program".into())
    }

    /// Whether the values that a sentence of the report is about are those that the user asked for.
    pub(crate) fn asks_for_values(&self, sentence: &str) -> bool {
        self.open_values.asks_for(sentence)
    }

    /// Its arguments, as reports show them.
    pub(crate) fn args_text(&self) -> Vec<String> {
        self.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    /// Options for a target that runs the program, its output thrown away.
    ///
    /// # Errors
    /// If the file is no program that can be run, or less or more can be seen of it than is wanted.
    pub fn target_options(&self) -> Result<Options, Error> {
        let mut options = Options::new(&self.path);
        options.remote.clone_from(&self.remote);
        if options.remote.is_none() {
            options.runtime = Some(runtime::library_for(&self.path)?);
        }
        options.args.clone_from(&self.args);
        options.stdin.clone_from(&self.stdin);
        options.env.clone_from(&self.env);
        options.directory.clone_from(&self.directory);
        if self.directory.is_some() {
            // Relative paths of the program and of its input are the caller's.
            let absolute = |path: &mut PathBuf| *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
            absolute(&mut options.program);
            options.stdin.iter_mut().for_each(absolute);
            options.directory.iter_mut().for_each(absolute);
        }
        options.exit_events = self.exit_events;
        options.share_files = self.share_files;
        options.partial_io = self.partial_io;
        options.parties.clone_from(&self.parties);
        options.until_idle = self.until_idle;
        options.open_values.clone_from(&self.open_values);
        options.output = Output::Discard;
        see(&mut options, self.observe)?;
        Ok(options)
    }
}

/// Sets what is seen of a program.
///
/// # Errors
/// If the file is no program that can be run, or less or more can be seen of it than is wanted.
pub(crate) fn see(options: &mut Options, observe: Option<Observe>) -> Result<(), Error> {
    let program = &options.program;
    options.calls_only = match (elf::check(program)?, observe) {
        (Instrumentation::Hooks, Some(Observe::Sync)) => return Err(Error::HasHooks(program.clone())),
        (Instrumentation::Hooks, _) => false,
        (Instrumentation::Calls, _) => true,
    };
    let observes = options.calls_only && observe == Some(Observe::All);
    options.observer = observes.then(runtime::observer).transpose()?;
    Ok(())
}

/// Source files of one program.
#[derive(Clone, Debug)]
pub struct Sources {
    files: Vec<PathBuf>,
    compiler: Option<OsString>,
    cflags: Option<OsString>,
}

impl Sources {
    /// These files, compiled by the usual compiler.
    #[must_use]
    pub fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Sources { files: files.into_iter().collect(), compiler: None, cflags: None }
    }

    /// The compiler, by name or path.
    #[must_use]
    pub fn compiler(self, compiler: Option<&OsStr>) -> Self {
        Sources { compiler: compiler.map(OsStr::to_os_string), ..self }
    }

    /// Flags for the compiler, separated as in a shell.
    #[must_use]
    pub fn cflags(self, cflags: Option<&OsStr>) -> Self {
        Sources { cflags: cflags.map(OsStr::to_os_string), ..self }
    }

    /// The name of the program: that of the first file.
    #[must_use]
    pub fn name(&self) -> String {
        let stem = self.files.first().and_then(|path| path.file_stem());
        stem.map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned())
    }

    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub(crate) fn compiler_word(&self) -> Option<&OsStr> {
        self.compiler.as_deref()
    }

    pub(crate) fn cflags_word(&self) -> Option<&OsStr> {
        self.cflags.as_deref()
    }

    /// Compiles and links into a directory, and keeps there how. The compiler's messages go to
    /// standard error.
    ///
    /// # Errors
    /// If a file is missing, there is no compiler, or it refuses the files.
    pub fn compile_into(&self, directory: &Path) -> Result<Program, Error> {
        if let Some(missing) = self.files.iter().find(|path| !path.is_file()) {
            return Err(Error::NoSuchFile(missing.clone()));
        }
        if let Some(foreign) = self.files.iter().find(|path| has_foreign_types(path)) {
            return Err(Error::ForeignTypes(foreign.clone()));
        }
        let output = directory.join(self.name());
        let flags = self.cflags.as_deref().map(|flags| response::split(flags.as_bytes()));
        let mut cflags = flags.unwrap_or_default();
        if self.files.iter().any(|path| has_known_functions(path)) {
            cflags.push(KEEP_CALLS.into());
        }
        let build = SourceBuild { sources: self.files.clone(), cflags, output: output.clone(), hide_tsan: false };
        let language = build.language()?;
        let environment = Environment::current();
        let compiler = match &self.compiler {
            Some(name) => find_named_compiler(name, language, &environment)?,
            None => find_compiler(language, &environment)?,
        };
        let plan = build.plan(&compiler, &runtime::install()?)?;
        // A program of an earlier run must not be taken for the result.
        let _ = std::fs::remove_file(&output);
        match execute(&plan)? {
            0 => {
                BuildRecord::keep(self, &output)?;
                Ok(Program::new(output).named(self.name()))
            }
            status => Err(Error::Compile { sources: self.files.clone(), status }),
        }
    }
}

/// Whether a preprocessed file has the types of a 32-bit machine, by its `size_t`. Objects of the
/// thread library would be too small.
fn has_foreign_types(path: &Path) -> bool {
    let is_preprocessed = path.extension().is_some_and(|extension| extension == "i" || extension == "ii");
    let text = if is_preprocessed { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .windows(4)
        .any(|words| words == ["typedef", "unsigned", "int", "size_t;"])
}
