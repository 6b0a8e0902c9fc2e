//! Shared by the integration tests: real compilers, hooks to link, and a directory to build in.
//!
//! | variable | meaning |
//! |---|---|
//! | `RADDLE_TEST_COMPILERS` | C compilers to test with, separated by blanks |

use raddle_cc::{Compiler, Environment, Family, HOOKS_ARCHIVE, HOOKS_OBJECT, Language, find_named_compiler};
use raddle_testkit::tools::require;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The compilers that the tests ask for unless they are told otherwise.
const USUAL_COMPILERS: &str = "gcc clang-19";

/// A C compiler and the C++ compiler that belongs to it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub cc: Compiler,
    pub cxx: Compiler,
}

impl Toolchain {
    fn named(name: &str) -> Option<Self> {
        let environment = Environment::current();
        let find = |language| find_named_compiler(OsStr::new(name), language, &environment).ok();
        Some(Self { cc: find(Language::C)?, cxx: find(Language::Cxx)? })
    }

    /// The compiler of this name, which has to be installed.
    fn required(name: &str) -> Self {
        require(name);
        Self::named(name).unwrap_or_else(|| panic!("`{name}` is installed, but not its C++ compiler"))
    }

    pub fn is_gcc(&self) -> bool {
        self.cc.family == Family::Gcc
    }
}

/// A directory to build in, with the wrapper set up for one toolchain.
pub struct Workshop {
    pub toolchain: Toolchain,
    directory: tempfile::TempDir,
}

impl Workshop {
    /// One for each compiler. A missing one fails the test.
    pub fn each() -> impl Iterator<Item = Self> {
        let names = std::env::var("RADDLE_TEST_COMPILERS").unwrap_or(USUAL_COMPILERS.to_owned());
        let toolchains: Vec<Toolchain> = names.split_whitespace().map(Toolchain::required).collect();
        assert!(!toolchains.is_empty(), "RADDLE_TEST_COMPILERS names no compiler");
        toolchains.into_iter().map(Self::new)
    }

    pub fn new(toolchain: Toolchain) -> Self {
        // Shown only when the test fails.
        eprintln!("--- with {} {}", toolchain.cc.family, toolchain.cc.version);
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).expect("created");
        for name in ["raddle-cc", "raddle-c++"] {
            symlink(env!("CARGO_BIN_EXE_raddle-cc-test-driver"), bin.join(name)).expect("linked");
        }
        Self { toolchain, directory }
    }

    /// A path inside the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, text).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A command that runs in the directory and, if it calls the wrapper, gets this toolchain.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.directory.path())
            .env("RADDLE_CC", &self.toolchain.cc.program)
            .env("RADDLE_CXX", &self.toolchain.cxx.program)
            .env("RADDLE_TEST_RUNTIME", runtime_directory())
            .env("LC_ALL", "C");
        command
    }

    /// The wrapper for C, with arguments in one line.
    pub fn cc(&self, line: &str) -> Output {
        output(self.command(self.wrapper("raddle-cc")).args(words(line)))
    }

    /// The wrapper for C++.
    pub fn cxx(&self, line: &str) -> Output {
        output(self.command(self.wrapper("raddle-c++")).args(words(line)))
    }

    /// The real C compiler, for comparison.
    pub fn real_cc(&self, line: &str) -> Output {
        output(self.command(&self.toolchain.cc.program).args(words(line)))
    }

    pub fn wrapper(&self, name: &str) -> PathBuf {
        self.path("bin").join(name)
    }

    /// Puts an object into a static archive.
    pub fn archive(&self, archive: &str, object: &str) {
        succeeded(output(self.command("ar").args(["rcs", archive, object])));
    }

    /// Runs a program that was built here.
    pub fn run(&self, program: &str) -> Output {
        output(&mut self.command(self.path(program)))
    }

    /// Runs a program that must succeed, and returns what it printed.
    pub fn printed(&self, program: &str) -> String {
        let output = succeeded(self.run(program));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The names that an object refers to without defining them.
    pub fn undefined(&self, object: &str) -> Vec<String> {
        self.listed("nm", &["-u"], object)
    }

    /// The names that the code of a program calls or jumps to.
    pub fn called(&self, program: &str) -> Vec<String> {
        let output = succeeded(output(self.command("objdump").args(["-d", "--no-show-raw-insn", program])));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_direct = |line: &&str| (line.contains("call ") || line.contains("jmp ")) && !line.contains('*');
        let jumps = text.lines().filter(is_direct);
        let target = |line: &str| {
            let name = line.split_once('<')?.1.split_once('>')?.0;
            name.split(['@', '+']).next().map(str::to_owned)
        };
        jumps.filter_map(target).collect()
    }

    fn listed(&self, tool: &str, options: &[&str], file: &str) -> Vec<String> {
        let output = succeeded(output(self.command(tool).args(options).arg(file)));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Without the version that a dynamic symbol carries behind an `@`.
        let name = |line: &str| line.split_whitespace().last()?.split('@').next().map(str::to_owned);
        text.lines().filter_map(name).collect()
    }

    /// The libraries that a program asks the loader for, in order.
    pub fn needed(&self, program: &str) -> Vec<String> {
        let output = succeeded(output(self.command("readelf").args(["-d", "-W", program])));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let in_brackets = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
        text.lines().filter(|line| line.contains("(NEEDED)")).filter_map(in_brackets).collect()
    }

    /// Checks that a program has its hooks, and needs neither the runtime nor the sanitizer's own.
    pub fn assert_linked(&self, program: &str) {
        let needed = self.needed(program);
        assert!(
            !needed.iter().any(|name| name.contains("raddle") || name.contains("tsan")),
            "{program} needs {needed:?}"
        );
        let notes = succeeded(output(self.command("readelf").args(["-S", "-W", program])));
        assert!(String::from_utf8_lossy(&notes.stdout).contains(".note.raddle_hooks"), "{program} has no hooks");
    }

    pub fn assert_hooked(&self, object: &str) {
        let undefined = self.undefined(object);
        assert!(undefined.iter().any(|name| name == "__tsan_func_entry"), "{object}: {undefined:?}");
    }

    /// The names of all files in a subdirectory, sorted.
    pub fn files(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).expect("listed");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("readable"))).collect();
        names.sort();
        names
    }
}

/// Cuts a line into words by the rules of response files.
pub fn words(line: &str) -> Vec<std::ffi::OsString> {
    raddle_cc::response::split(line.as_bytes())
}

pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The output of a command that must have succeeded.
#[track_caller]
pub fn succeeded(output: Output) -> Output {
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Like [`succeeded`], for commands that must not say anything on standard error either.
#[track_caller]
pub fn silent(output: Output) -> Output {
    let output = succeeded(output);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    output
}

/// The directory with the hooks to link.
pub fn runtime_directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(build_hooks)
}

/// Compiles the hooks. They stay in the target directory, where the next run replaces them: in one
/// step, because tests in other processes may be linking them.
fn build_hooks() -> PathBuf {
    // A comma and a blank, because a user's directory may have them too.
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("runtime, {}", own_name()));
    fs::create_dir_all(&directory).expect("created");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks");
    let compiler = ["cc", "gcc", "clang", "clang-19"].iter().find_map(|name| Toolchain::named(name));
    let compiler = compiler.expect("a C compiler").cc.program;
    let new = |name: &str| directory.join(format!("new-{}-{name}", std::process::id()));
    let object = |name: &str| {
        let mut command = Command::new(&compiler);
        command.args(["-c", "-fPIC", "-O2", "-mcx16", "-Wall", "-Wextra", "-Werror", "-o"]).arg(new(name));
        silent(output(command.arg(sources.join(name).with_extension("c"))));
    };
    let parts = ["sections.o", "verifier.o", "libatomic.o"];
    ["hooks.o"].iter().chain(&parts).for_each(|name| object(name));
    let archive = new("archive.a");
    succeeded(output(Command::new("ar").arg("crs").arg(&archive).args(parts.map(new))));
    fs::rename(new("hooks.o"), directory.join(HOOKS_OBJECT)).expect("renamed");
    fs::rename(archive, directory.join(HOOKS_ARCHIVE)).expect("renamed");
    parts.iter().for_each(|name| fs::remove_file(new(name)).expect("removed"));
    directory
}

/// The name of this test executable, which tells test runs apart that happen at the same time.
fn own_name() -> String {
    let own = std::env::current_exe().expect("an executable");
    own.file_name().expect("a name").to_string_lossy().into_owned()
}
