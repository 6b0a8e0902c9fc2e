//! `raddle doctor`: what was found on this machine, whether raddle works with it, and what to
//! install.

use std::path::Path;
use std::process::Command;

use raddle_cc::{Compiler, Environment, Family, Language, Runtime, SourceBuild, execute, find_named_compiler};
use raddle_engine::{Program, RunOptions, Runner, runtime};
use raddle_exec::{Options, RestoreMode, emulator};
use raddle_vocab::{Machine, RunStatus};

use crate::error::{CommandError, CommandResult};
use crate::exit_codes;

/// Two threads and a lock: enough to see that hooks, fibers and fresh states work.
const PROBE: &str = "\
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *add(void *p) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return p; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, add, 0); pthread_create(&b, 0, add, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  return n == 2 ? 42 : 1;
}
";

/// Compilers that are worth trying.
const COMPILERS: [(&str, Language, &str); 4] = [
    ("gcc", Language::C, "gcc"),
    ("g++", Language::Cxx, "g++"),
    ("clang", Language::C, "clang"),
    ("clang++", Language::Cxx, "clang"),
];

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Works with a fallback, or is only needed for some things.
    Fair,
    Bad,
}

/// One line of the report.
struct Line {
    state: State,
    what: String,
    found: String,
    advice: Option<String>,
}

/// Runs the command.
pub fn run() -> CommandResult {
    let mut lines = vec![system(), process_files(), aslr(), fs_base(), memory_files()];
    let runtime = runtime::install();
    lines.push(match &runtime {
        Ok(runtime) => line(State::Good, "runtime", runtime.library().display().to_string(), None),
        Err(error) => line(State::Bad, "runtime", error.to_string(), Some("set XDG_DATA_HOME to a writable directory")),
    });
    if let Ok(runtime) = &runtime {
        lines.extend(compilers(runtime));
        lines.push(aarch64(runtime));
    }
    lines.push(observer());
    lines.push(debugger());
    let works = !lines.iter().any(|line| line.state == State::Bad);
    for line in &lines {
        print(line);
    }
    let mut out = std::io::stdout();
    let verdict = if works { "raddle works on this machine" } else { "raddle does not work on this machine yet" };
    let _ = std::io::Write::write_all(&mut out, format!("\n{verdict}\n").as_bytes());
    Ok(if works { exit_codes::FINE } else { exit_codes::FOUND })
}

fn line(state: State, what: &str, found: impl Into<String>, advice: Option<&str>) -> Line {
    Line { state, what: what.into(), found: found.into(), advice: advice.map(Into::into) }
}

fn print(line: &Line) {
    let mark = match line.state {
        State::Good => "ok  ",
        State::Fair => "note",
        State::Bad => "BAD ",
    };
    let mut text = format!("{mark}  {:<16} {}\n", line.what, line.found);
    if let Some(advice) = &line.advice {
        text += &format!("{:24}{advice}\n", "");
    }
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
}

fn system() -> Line {
    let kernel = raddle_exec::process::kernel_release();
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let right = is_known && cfg!(all(target_os = "linux", target_env = "gnu"));
    let text = format!("Linux {kernel} on {}", std::env::consts::ARCH);
    let advice = "raddle runs on Linux on x86-64 and aarch64 with glibc";
    line(if right { State::Good } else { State::Bad }, "system", text, (!right).then_some(advice))
}

/// The runtime reads there where the program lies in memory.
fn process_files() -> Line {
    match std::fs::read("/proc/self/maps") {
        Ok(_) => line(State::Good, "/proc", "shows the memory of processes", None),
        Err(error) => {
            let advice = "mount it: mount -t proc proc /proc";
            line(State::Bad, "/proc", format!("/proc/self/maps cannot be read: {error}"), Some(advice))
        }
    }
}

/// Containers may forbid to switch it off.
fn aslr() -> Line {
    let off = raddle_exec::process::can_fix_addresses();
    if off {
        return line(State::Good, "fixed addresses", "address randomisation can be switched off", None);
    }
    let found = "address randomisation cannot be switched off here: all runs are forks of one process";
    line(State::Good, "fixed addresses", found, None)
}

/// Without the instruction a switch between threads is a system call.
fn fs_base() -> Line {
    if Machine::OWN == Machine::Aarch64 {
        return line(State::Good, "fast switches", "tpidr_el0", None);
    }
    // From the kernel's auxiliary vector: whether user code may change the base of FS.
    const FSGSBASE: u64 = 2;
    match auxiliary(26).is_some_and(|flags| flags & FSGSBASE != 0) {
        true => line(State::Good, "fast switches", "wrfsbase", None),
        false => line(State::Fair, "fast switches", "arch_prctl (no wrfsbase: switches take five times as long)", None),
    }
}

/// An entry of the auxiliary vector.
fn auxiliary(wanted: u64) -> Option<u64> {
    let bytes = std::fs::read("/proc/self/auxv").ok()?;
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    words.chunks_exact(2).find(|pair| pair[0] == wanted).map(|pair| pair[1])
}

fn memory_files() -> Line {
    match raddle_exec::shared::SharedFile::for_options(&Options::new("probe")) {
        Ok(_) => line(State::Good, "shared memory", "memory files can be made and sealed", None),
        Err(error) => {
            let advice = "raddle needs memfd_create (Linux 3.17), and enough memory; a container may forbid it";
            line(State::Bad, "shared memory", error.to_string(), Some(advice))
        }
    }
}

fn compilers(runtime: &Runtime) -> Vec<Line> {
    let environment = Environment::current();
    let mut lines = Vec::new();
    let mut any = false;
    for (name, language, package) in COMPILERS {
        match find(name, language, &environment) {
            Some(compiler) => match probe(&compiler, language, runtime) {
                Ok(text) => {
                    any = true;
                    lines.push(with_hooks(name, text, &compiler, runtime));
                }
                Err(failure) => lines.push(line(State::Bad, name, failure.0, None)),
            },
            None => lines.push(line(State::Fair, name, "not found", Some(&format!("apt-get install {package}")))),
        }
    }
    if !any {
        lines.push(line(State::Bad, "compiler", "none that works", Some("apt-get install gcc libc6-dev")));
    }
    lines
}

/// A compiler that works, and whether it can load the plug-in that makes its hooks complete.
fn with_hooks(name: &str, text: String, compiler: &Compiler, runtime: &Runtime) -> Line {
    if runtime.hooks(compiler).is_some() {
        return line(State::Good, name, text, None);
    }
    let package = match compiler.family {
        Family::Gcc => format!("gcc-{}-plugin-dev", compiler.version.major),
        Family::Clang => "llvm-19-dev and clang-19".into(),
    };
    let advice = format!("some copies of structs are not seen: apt-get install {package}, then build raddle again");
    line(State::Fair, name, format!("{text}; raddle has no plug-in for it"), Some(&advice))
}

/// The compiler of that name, or else its newest version with a number behind the name.
fn find(name: &str, language: Language, environment: &Environment) -> Option<Compiler> {
    let numbered = (9..40).rev().map(|version| format!("{name}-{version}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find_map(|name| find_named_compiler(name.as_ref(), language, environment).ok())
}

/// Builds a program with the compiler and runs it both ways.
fn probe(compiler: &Compiler, language: Language, runtime: &Runtime) -> Result<String, CommandError> {
    let directory = tempfile::tempdir()?;
    let name = if language == Language::C { "probe.c" } else { "probe.cc" };
    let source = directory.path().join(name);
    std::fs::write(&source, PROBE)?;
    let output = directory.path().join("probe");
    let build = SourceBuild { sources: vec![source], cflags: Vec::new(), output: output.clone(), hide_tsan: false };
    let plan = build.plan(compiler, runtime).map_err(|error| CommandError(error.to_string()))?;
    let status = execute(&plan).map_err(|error| CommandError(error.to_string()))?;
    if status != 0 {
        return Err(CommandError(format!("cannot build a program (status {status})")));
    }
    let modes: Vec<String> = [RestoreMode::Snapshot, RestoreMode::Fork]
        .into_iter()
        .map(|mode| runs(&output, mode))
        .collect::<Result<_, _>>()?;
    Ok(format!("{} {}; runs by {}", compiler.family, compiler.version, modes.join(" and ")))
}

fn runs(program: &Path, mode: RestoreMode) -> Result<String, CommandError> {
    let options = RunOptions { mode, seed: Some(1), max_events: 10_000, ..RunOptions::default() };
    let run = Runner::new(Program::new(program)).options(options).run()?;
    let name = format!("{:?}", run.mode()).to_lowercase();
    match (run.execution.status, run.execution.exit) {
        (RunStatus::Rest, Some(42)) => Ok(name),
        (status, exit) => Err(CommandError(format!("a program of two threads gave {status:?}, {exit:?} by {name}"))),
    }
}

/// What programs for aarch64 need on other machines.
fn aarch64(runtime: &Runtime) -> Line {
    const WHAT: &str = "aarch64";
    let machine = Machine::Aarch64;
    if Machine::OWN == machine {
        return line(State::Good, WHAT, "this machine", None);
    }
    let compiler = Compiler::probe(Path::new("aarch64-linux-gnu-gcc"), &[]).ok();
    match (runtime.library_for(machine.name()), emulator::find(machine), compiler) {
        (None, ..) => {
            let advice = "for such programs: rustup target add aarch64-unknown-linux-gnu, apt-get install \
                          gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user, then build raddle again";
            line(State::Fair, WHAT, "raddle was built without the runtime for it", Some(advice))
        }
        (_, None, _) => line(State::Fair, WHAT, "no qemu-aarch64", Some("apt-get install qemu-user")),
        (.., None) => line(State::Fair, WHAT, "no cross compiler", Some("apt-get install gcc-aarch64-linux-gnu")),
        (_, Some(emulator), Some(compiler)) => {
            let text = format!("{} {}; runs by {}", compiler.family, compiler.version, emulator.display());
            line(State::Good, WHAT, text, None)
        }
    }
}

/// What observing programs needs that were not built with raddle.
fn observer() -> Line {
    const WHAT: &str = "--observe all";
    if Machine::OWN != Machine::X86_64 {
        return line(State::Fair, WHAT, "only for programs for x86_64, on such a machine", None);
    }
    match emulator::find(Machine::OWN) {
        Some(emulator) => {
            line(State::Good, WHAT, format!("programs without raddle run by {}", emulator.display()), None)
        }
        None => line(State::Fair, WHAT, "no qemu-x86_64", Some("apt-get install qemu-user")),
    }
}

fn debugger() -> Line {
    let version = Command::new("gdb").arg("--version").output().ok().filter(|output| output.status.success());
    match version {
        Some(output) => {
            let text = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
            line(State::Good, "gdb", text, None)
        }
        None => {
            line(State::Fair, "gdb", "not found (only `raddle replay --gdb` needs it)", Some("apt-get install gdb"))
        }
    }
}
