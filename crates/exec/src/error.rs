//! Why a target could not be started.

use raddle_vocab::Machine;
use raddle_wire::MAX_FUNCTIONS;
use std::path::PathBuf;

/// A message for the user. Each variant is something the user can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The file cannot be opened.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Unreadable(PathBuf, String),
    /// The file exists, but cannot be executed here.
    #[error("{path} is not a program that can be run: {1}", path = .0.display())]
    NotExecutable(PathBuf, String),
    /// More functions with known names than there is room for.
    #[error("the program has {0} functions whose names begin with __VERIFIER_atomic_: {MAX_FUNCTIONS} are possible")]
    TooManySections(usize),
    /// A program without raddle's hooks.
    #[error(
        "{path} was not built with raddle: compile and link it with `raddle cc` or `raddle c++`",
        path = .0.display()
    )]
    NotBuiltWithRaddle(PathBuf),
    /// A program that an older raddle linked, which brings its own runtime along.
    #[error("{path} was built with an older version of raddle: build it again with this one", path = .0.display())]
    BuiltByOlder(PathBuf),
    /// A program whose hooks this raddle does not know.
    #[error(
        "{path} was built with another version of raddle (its hooks have version {hooks}, those of this raddle \
         {host}): build it again with this one",
        path = .program.display()
    )]
    HooksDiffer {
        /// Which program.
        program: PathBuf,
        /// Version of its hooks.
        hooks: u32,
        /// Version that this raddle knows.
        host: u32,
    },
    /// A program for another processor, and nothing to run it.
    #[error(
        "{path} is a program for {1}, and this machine is not: install the package `qemu-user`, whose `qemu-{1}` \
         runs it here",
        path = .0.display()
    )]
    NoEmulator(PathBuf, Machine),
    /// Nothing to observe a program with.
    #[error(
        "the memory accesses of {path}, which was not built with raddle, are seen by running it under an emulator: \
         install the package `qemu-user`, whose `qemu-{1}` does that, or leave --observe all out",
        path = .0.display()
    )]
    NoObservingEmulator(PathBuf, Machine),
    /// A program for a processor whose instructions the plug-in does not know.
    #[error(
        "{path} is a program for {1}: memory accesses of programs that were not built with raddle are seen on x86_64 \
         only; compile and link it with `raddle cc` or `raddle c++`, or leave --observe all out",
        path = .0.display()
    )]
    NotObservable(PathBuf, Machine),
    /// A program for another processor whose libraries are not here.
    #[error(
        "{path} needs the C library for {1}: install it for the cross compiler (packages `libc6-arm64-cross` and \
         `libstdc++6-arm64-cross`), or name the root directory of the other system in QEMU_LD_PREFIX",
        path = .0.display()
    )]
    NoForeignLibraries(PathBuf, Machine),
    /// The kernel refused to start it.
    #[error("cannot start {path}: {1}", path = .0.display())]
    Exec(PathBuf, String),
    /// The program's standard input cannot be opened.
    #[error("cannot open {path} as standard input: {1}", path = .0.display())]
    Stdin(PathBuf, String),
    /// It uses the runtime of another version of raddle.
    #[error(
        "{path} was built with another version of raddle (its runtime speaks protocol {runtime}, this raddle {host}): \
         build it again",
        path = .program.display()
    )]
    VersionDiffers {
        /// Which program.
        program: PathBuf,
        /// Protocol version of its runtime.
        runtime: u32,
        /// Protocol version of the host.
        host: u32,
    },
    /// It ended before the runtime was ready.
    #[error("{path} ended before raddle's runtime had control: {1}", path = .0.display())]
    EarlyDeath(PathBuf, String),
    /// The runtime reported that it cannot work.
    #[error("raddle's runtime cannot run {path}: {1}", path = .0.display())]
    RuntimeFailed(PathBuf, String),
    /// The runtime did not get control in time.
    #[error("{path} did not hand control to raddle's runtime within {1} seconds", path = .0.display())]
    Timeout(PathBuf, u64),
    /// The system refuses the file of memory that host and target share.
    #[error(
        "cannot make the memory that is shared with the program: {0}. raddle needs the system call memfd_create, \
         which a container can forbid; `raddle doctor` says what else is missing"
    )]
    SharedFile(String),
    /// The machine lacks memory, descriptors or another resource.
    #[error("cannot prepare the memory shared with the program: {0}")]
    Resources(String),
    /// The agent does not run it.
    #[error("{0}")]
    Remote(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}
