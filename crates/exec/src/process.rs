//! One target process, from its start to its end.
//!
//! When a target ends, none of its processes stays. It has a process group of its own, which is
//! killed as a whole. It dies with the host, even if the host is killed by SIGKILL. Processes that
//! left the group are found and ended (`orphans`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use raddle_wire::{ENV_DESCRIPTOR, PROTOCOL_VERSION, state};
use rustix::io::FdFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::error::StartError;
use crate::fork_server::{ForkServer, StartedCommand};
use crate::options::{Options, Output};
use crate::shared::SharedFile;
use crate::{interrupt, orphans, wait};

/// Least number of the shared file's descriptor in the target: far above those that programs use.
const LEAST_DESCRIPTOR: RawFd = 900;
/// Names tunables of the C library.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Has the dynamic linker look functions up at the start.
const BIND_NOW: &str = "LD_BIND_NOW";
/// Switches rseq off: the kernel kills a process whose rseq area lies in a read-only page, and
/// snapshots make pages read-only.
const TUNABLE: &str = "glibc.pthread.rseq=0";
/// How long a target may take to end after it was asked to.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// Names the libraries that the loader loads before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// The runtime, under a path that can stand in a list of libraries to be loaded.
#[derive(Debug)]
struct Preload {
    path: PathBuf,
    /// Holds a link where the path itself cannot stand in the list.
    directory: Option<tempfile::TempDir>,
}

impl Preload {
    fn new(library: &Path) -> Result<Self, StartError> {
        let is_plain = |path: &Path| !path.as_os_str().as_encoded_bytes().iter().any(|byte| b" ,:$\t\n".contains(byte));
        if is_plain(library) {
            return Ok(Preload { path: library.into(), directory: None });
        }
        let link = || {
            let place = Some(std::env::temp_dir()).filter(|place| is_plain(place)).unwrap_or_else(|| "/tmp".into());
            let directory = tempfile::Builder::new().prefix("raddle-").tempdir_in(place)?;
            // The name stays: the runtime is known by it.
            let path = directory.path().join(library.file_name().unwrap_or_default());
            std::os::unix::fs::symlink(library, &path)?;
            Ok(Preload { path, directory: Some(directory) })
        };
        link().map_err(|error: io::Error| {
            StartError::Resources(format!("no link to {} can be made: {error}", library.display()))
        })
    }

    /// The value of the variable, with the user's own libraries behind the runtime.
    fn before(&self, present: Option<&OsStr>) -> OsString {
        let mut all = self.path.clone().into_os_string();
        if let Some(present) = present.filter(|text| !text.is_empty()) {
            all.push(":");
            all.push(present);
        }
        all
    }
}

/// When the dynamic linker looks functions up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binding {
    /// At the start. Otherwise each run would look them up again, because its state is restored to
    /// before the first call.
    Eager,
    /// At the first call.
    Lazy,
}

/// A running target.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// What belongs to a process that was started on its own; none of a fork.
    own: Option<OwnProcess>,
    ended: Option<ExitStatus>,
}

/// What belongs to a process that was started on its own.
#[derive(Debug)]
struct OwnProcess {
    child: Child,
    /// An entry in the environment of each of its processes, by which they are recognised.
    mark: OsString,
    /// Keeps the descriptor's number in use, so that no two targets have the same mark.
    _descriptor: OwnedFd,
    /// The runtime under a name that the loader can take.
    _preload: Option<Preload>,
}

impl Process {
    /// Starts the target with the shared file and waits until its runtime takes jobs.
    ///
    /// # Errors
    /// Why the runtime did not get that far.
    pub fn start(options: &Options, shared: &SharedFile) -> Result<Self, StartError> {
        let started = Self::start_bound(options, shared, Binding::Eager);
        if !matches!(started, Err(StartError::EarlyDeath(..))) {
            return started;
        }
        // A program may lack functions that it never calls.
        match Self::start_bound(options, shared, Binding::Lazy) {
            Err(StartError::EarlyDeath(program, what)) => {
                Err(StartError::EarlyDeath(program, what + &last_words(options)))
            }
            other => other,
        }
    }

    fn start_bound(options: &Options, shared: &SharedFile, binding: Binding) -> Result<Self, StartError> {
        let alone = addresses_are_fixed() || options.runtime.is_none();
        let started =
            if alone { Self::spawn(options, shared, binding, None) } else { Self::fork(options, shared, binding) };
        let mut process = started?;
        process.wait_until_ready(options, shared)?;
        Ok(process)
    }

    /// A fork of the process that all targets with clones of these options come from.
    fn fork(options: &Options, shared: &SharedFile, binding: Binding) -> Result<Self, StartError> {
        let [input, output, error] = &streams(options)?;
        let files = [shared.descriptor(), input.as_fd(), output.as_fd(), error.as_fd()];
        let wanted = StartedCommand {
            program: options.program.clone(),
            args: options.args.clone(),
            env: options.env.clone(),
            directory: options.directory.clone(),
            runtime: options.runtime.clone(),
        };
        let start = || {
            let mut command = command(options, binding);
            let preload = preload_into(&mut command, options).map_err(io::Error::other)?;
            let mut command = emulated(command, options);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let directory = preload.and_then(|preload| preload.directory);
            ForkServer::start(wanted.clone(), command, directory, set_up_child)
        };
        let forked = options.fork_server.fork(&wanted, files, options.start_timeout, start);
        let pid = forked.map_err(|error| StartError::EarlyDeath(options.program.clone(), error.to_string()))?;
        let process = Process { pid, own: None, ended: None };
        process.prefer_when_memory_runs_out();
        Ok(process)
    }

    /// If memory runs out, the kernel shall kill the target, not the host. A failure does no harm.
    fn prefer_when_memory_runs_out(&self) {
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", self.id()), "1000");
    }

    fn spawn(
        options: &Options,
        shared: &SharedFile,
        binding: Binding,
        stderr: Option<&File>,
    ) -> Result<Self, StartError> {
        let descriptor = reserve_descriptor(shared)?;
        let mut command = command(options, binding);
        let preload = preload_into(&mut command, options)?;
        let mut command = emulated(command, options);
        command.env(ENV_DESCRIPTOR, descriptor.as_raw_fd().to_string());
        let [input, output, error] = streams(options)?;
        command.stdin(input).stdout(output).stderr(error).process_group(0);
        set_up_child(&mut command, descriptor.as_raw_fd());
        if let Some(file) = stderr {
            let copy = file.try_clone().map_err(|error| StartError::Resources(error.to_string()))?;
            command.stderr(copy).stdout(Stdio::null());
        }
        let mut mark = OsString::from(ENV_DESCRIPTOR);
        mark.push(format!("={}", descriptor.as_raw_fd()));
        orphans::become_subreaper();
        let child = orphans::register(|| command.spawn(), |child| child.id() as i32)
            .map_err(|error| StartError::Exec(options.program.clone(), error.to_string()))?;
        let pid = Pid::from_child(&child);
        let own = OwnProcess { child, mark, _descriptor: descriptor, _preload: preload };
        let process = Process { pid, own: Some(own), ended: None };
        process.prefer_when_memory_runs_out();
        Ok(process)
    }

    fn wait_until_ready(&mut self, options: &Options, shared: &SharedFile) -> Result<(), StartError> {
        let program = || options.program.clone();
        let control = shared.control();
        let deadline = Instant::now() + options.start_timeout;
        let mut pause = wait::Pause::new();
        loop {
            // The version comes first: in another version the other words may have other meanings.
            let version = control.runtime_version().load(Ordering::Acquire);
            if version != 0 && version != PROTOCOL_VERSION {
                return Err(StartError::VersionDiffers {
                    program: program(),
                    runtime: version,
                    host: PROTOCOL_VERSION,
                });
            }
            match control.state().load(Ordering::Acquire) {
                state::READY if version != 0 => return Ok(()),
                state::FAILED => return Err(StartError::RuntimeFailed(program(), control.message())),
                _ => {}
            }
            if let Some(status) = self.ended() {
                return Err(StartError::EarlyDeath(program(), describe(status)));
            }
            if interrupt::requested() {
                return Err(StartError::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(StartError::Timeout(program(), options.start_timeout.as_secs()));
            }
            wait::on(control.state(), state::STARTING, pause.next());
        }
    }

    /// Number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The same number as the kernel's calls take it.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Its status, once it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = peek(self.pid);
        }
        self.ended
    }

    /// Asks the target to end and gives it a moment for that; it is ended anyway when dropped.
    pub fn ask_to_end(&mut self, shared: &SharedFile) {
        let control = shared.control();
        control.stop().store(1, Ordering::Release);
        wait::wake(control.submitted());
        let deadline = Instant::now() + END_TIMEOUT;
        let mut pause = wait::Pause::new();
        while self.ended().is_none() && Instant::now() < deadline {
            std::thread::sleep(pause.next());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The group first: it may outlive its leader. The leader was not reaped yet (see `peek`),
        // so its number cannot be that of another group.
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        let pid = self.pid.as_raw_nonzero().get();
        match &mut self.own {
            Some(own) => {
                let _ = own.child.kill();
                let _ = own.child.wait();
                orphans::sweep(pid, &own.mark);
            }
            None => {
                let _ = rustix::process::kill_process(self.pid, Signal::KILL);
                let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
                // Others of the same mark may live. The end of the server is the end of all.
                orphans::forget(pid);
            }
        }
    }
}

/// Asks the runtime in a process of a target to let another thread run.
pub(crate) fn preempt(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: sends a signal. A process that is gone by now was ours, and is not reaped yet, or
        // was a child of one of ours.
        unsafe { libc::kill(process, raddle_wire::PREEMPTION) };
    }
}

/// Stops a process of a target.
pub(crate) fn stop(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: sends a signal, as above.
        unsafe { libc::kill(process, libc::SIGSTOP) };
    }
}

/// Status of a child that has ended, without reaping it: its number stays taken until the process
/// is dropped.
fn peek(pid: Pid) -> Option<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(pid), options).ok()??;
    let raw = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code << 8,
        (None, Some(signal)) => signal,
        (None, None) => return None,
    };
    Some(ExitStatus::from_raw(raw))
}

/// What an exit status means, as the end of a sentence.
#[must_use]
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal} ({})", signal_name(signal)),
        (None, None) => String::from("it ended"),
    }
}

/// The usual name of a signal.
#[must_use]
pub fn signal_name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or(match signal {
        libc::SIGSTKFLT => "SIGSTKFLT",
        libc::SIGPWR => "SIGPWR",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGBUS => "SIGBUS",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => "unknown signal",
    })
}

/// Whether this machine lets a process have equal addresses in every run. The calling thread, to
/// which the setting belongs, has it for a moment.
#[must_use]
pub fn can_fix_addresses() -> bool {
    // SAFETY: system calls with values only, which change nothing but the calling thread's flags.
    // The highest value asks for the present flags.
    unsafe {
        let present = libc::personality(ASK);
        let can = fix_addresses();
        libc::personality(present as libc::c_ulong);
        can
    }
}

/// The kernel's own name for its version.
#[must_use]
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The same as [`can_fix_addresses`], tried once.
fn addresses_are_fixed() -> bool {
    static FIXED: OnceLock<bool> = OnceLock::new();
    *FIXED.get_or_init(can_fix_addresses)
}

/// A second descriptor of the shared file with a high number, which the target inherits.
fn reserve_descriptor(shared: &SharedFile) -> Result<OwnedFd, StartError> {
    let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(1024);
    let least = LEAST_DESCRIPTOR.min(RawFd::try_from(limit / 2).unwrap_or(LEAST_DESCRIPTOR));
    rustix::io::fcntl_dupfd_cloexec(shared.descriptor(), least)
        .map_err(|error| StartError::Resources(format!("no free descriptor: {error}")))
}

/// Variables that are for the program and not for its emulator.
const OF_PROGRAM: [&str; 3] = [PRELOAD, TUNABLES, BIND_NOW];

/// The command with an emulator, if the program needs one. Variables that the dynamic linker obeys
/// go to the program by way of the emulator.
fn emulated(command: Command, options: &Options) -> Command {
    let Some(emulator) = &options.emulator else { return command };
    let program = executable_path(&options.program);
    let of_program: Vec<(&OsStr, &OsStr)> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)).filter(|(name, _)| OF_PROGRAM.iter().any(|of| name == of)))
        .collect();
    let mut all = emulator.command(&program, &of_program);
    all.args(command.get_args());
    if options.environment.is_some() {
        all.env_clear();
    }
    for (name, value) in command.get_envs() {
        match value.filter(|_| !OF_PROGRAM.iter().any(|of| name == *of)) {
            Some(value) => all.env(name, value),
            None => all.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        all.current_dir(directory);
    }
    all
}

/// The program with its arguments and environment.
fn command(options: &Options, binding: Binding) -> Command {
    let mut command = Command::new(executable_path(&options.program));
    command.args(&options.args);
    if let Some(environment) = &options.environment {
        command.env_clear();
        command.envs(environment.iter().map(|(key, value)| (key, value)));
    }
    let inherited = |name: &str| match &options.environment {
        Some(all) => all.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()),
        None => std::env::var_os(name),
    };
    command.env(TUNABLES, tunables(inherited(TUNABLES).as_deref()));
    command.envs(options.env.iter().map(|(key, value)| (key, value)));
    if let Some(directory) = &options.directory {
        command.current_dir(directory);
    }
    if binding == Binding::Eager {
        command.env(BIND_NOW, "1");
    }
    command
}

/// Has the runtime loaded into the program, if there is one.
fn preload_into(command: &mut Command, options: &Options) -> Result<Option<Preload>, StartError> {
    let preload = options.runtime.as_deref().map(Preload::new).transpose()?;
    if let Some(preload) = &preload {
        let set = command.get_envs().find(|(name, _)| *name == PRELOAD).map(|(_, value)| value.map(Into::into));
        let inherited = || options.environment.is_none().then(|| std::env::var_os(PRELOAD)).flatten();
        let present = set.unwrap_or_else(inherited);
        command.env(PRELOAD, preload.before(present.as_deref()));
    }
    Ok(preload)
}

/// The program's standard input, output and error.
fn streams(options: &Options) -> Result<[OwnedFd; 3], StartError> {
    let resources = |error: io::Error| StartError::Resources(error.to_string());
    let nowhere = || File::options().write(true).open("/dev/null").map(OwnedFd::from).map_err(resources);
    let own_output = || io::stdout().as_fd().try_clone_to_owned().map_err(resources);
    let own_error = || io::stderr().as_fd().try_clone_to_owned().map_err(resources);
    let [output, error] = match options.output {
        Output::Discard => [nowhere()?, nowhere()?],
        Output::Inherit => [own_output()?, own_error()?],
        Output::Error => [own_error()?, own_error()?],
        Output::Captured => {
            let open = |path: &Option<PathBuf>| match path {
                Some(path) => File::create(path).map(OwnedFd::from).map_err(resources),
                None => nowhere(),
            };
            [open(&options.captured_output)?, open(&options.captured)?]
        }
    };
    Ok([stdin(options.stdin.as_deref())?, output, error])
}

/// Lets the child inherit a descriptor, and prepares it before it becomes the program.
fn set_up_child(command: &mut Command, descriptor: RawFd) {
    let setup = ChildSetup { descriptor, parent: rustix::process::getpid() };
    // SAFETY: the closure runs between fork and exec of a process that may have threads; it makes
    // system calls only, takes no locks and allocates nothing.
    unsafe { command.pre_exec(move || setup.apply()) };
}

/// A name without a slash is a file in the current directory, not a command on the PATH.
fn executable_path(program: &Path) -> PathBuf {
    if program.as_os_str().as_encoded_bytes().contains(&b'/') { program.into() } else { Path::new(".").join(program) }
}

fn stdin(path: Option<&Path>) -> Result<OwnedFd, StartError> {
    let path = path.unwrap_or(Path::new("/dev/null"));
    let file = File::open(path).map_err(|error| StartError::Stdin(path.into(), error.to_string()))?;
    Ok(file.into())
}

/// Adds our tunable to the user's own; a later entry overrides an earlier one.
fn tunables(present: Option<&OsStr>) -> OsString {
    match present {
        Some(text) if !text.is_empty() => {
            let mut all = text.to_os_string();
            all.push(":");
            all.push(TUNABLE);
            all
        }
        _ => TUNABLE.into(),
    }
}

/// What the child does to itself before it becomes the program.
struct ChildSetup {
    descriptor: RawFd,
    parent: Pid,
}

impl ChildSetup {
    fn apply(&self) -> io::Result<()> {
        // Die with the host. If the host is dead already, the signal will not come any more. Where
        // the system forbids it, only a host that is killed leaves processes behind.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if rustix::process::getppid() != Some(self.parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // Equal addresses in every process. Where that is forbidden, targets are forks of one.
        fix_addresses();
        let no_core = Rlimit { current: Some(0), ..rustix::process::getrlimit(Resource::Core) };
        let _ = rustix::process::setrlimit(Resource::Core, no_core);
        // SAFETY: the host keeps the descriptor open until the target ends, and this process
        // inherited it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(self.descriptor) };
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
        Ok(())
    }
}

/// Asks for the flags of the thread.
const ASK: libc::c_ulong = 0xffff_ffff;

/// Switches address randomisation off for the programs that this thread will execute; whether the
/// system allowed it.
fn fix_addresses() -> bool {
    // SAFETY: system calls with values only, which change nothing but the calling thread's flags.
    unsafe {
        let present = libc::personality(ASK);
        present >= 0 && libc::personality(present as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) >= 0
    }
}

/// What a target that died at its start writes to its standard error, for example that a library is
/// missing. Its output was discarded, so it is started again to see it.
fn last_words(options: &Options) -> String {
    let look = || -> Option<String> {
        let shared = SharedFile::for_options(options).ok()?;
        let memory = rustix::fs::memfd_create("stderr", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
        let mut file = File::from(memory);
        let mut process = Process::spawn(options, &shared, Binding::Lazy, Some(&file)).ok()?;
        let _ = process.wait_until_ready(options, &shared);
        drop(process);
        file.rewind().ok()?;
        let mut bytes = Vec::new();
        file.take(4096).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then(|| format!("; it wrote: {text}"))
    };
    look().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_tunables_are_kept() {
        assert_eq!(tunables(None), TUNABLE);
        assert_eq!(tunables(Some(OsStr::new(""))), TUNABLE);
        assert_eq!(tunables(Some(OsStr::new("a.b=1"))), *format!("a.b=1:{TUNABLE}"));
    }

    #[test]
    fn the_runtime_is_loaded_before_the_users_libraries() {
        let preload = Preload::new(Path::new("/opt/lib/x.so")).unwrap();
        assert_eq!(preload.before(None), "/opt/lib/x.so");
        assert_eq!(preload.before(Some(OsStr::new("a.so b.so"))), "/opt/lib/x.so:a.so b.so");
        let odd = Preload::new(Path::new("/my home/$x:y/x.so")).unwrap();
        assert_eq!(std::fs::read_link(&odd.path).unwrap(), Path::new("/my home/$x:y/x.so"));
        assert!(odd.path.ends_with("x.so") && !odd.before(None).to_string_lossy().contains([' ', ':', '$']));
    }

    #[test]
    fn a_bare_name_is_a_file_here() {
        assert_eq!(executable_path(Path::new("true")), Path::new("./true"));
        assert_eq!(executable_path(Path::new("/bin/true")), Path::new("/bin/true"));
    }
}
