//! What the tests have in common: places to build in, and ways to call the command.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Marks every process of a test.
const MARK: &str = "RADDLE_TEST_PLACE";

/// The programs.
pub fn programs() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/programs");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// One of the programs.
pub fn program(name: &str) -> PathBuf {
    programs().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name)).unwrap()
}

/// What a program says about itself at its top.
#[derive(Debug, Default)]
pub struct Directives {
    /// Exit status of the command.
    pub status: Option<i32>,
    /// Words on its standard error.
    pub says: Vec<String>,
    /// Last line of its standard output.
    pub prints: Vec<String>,
    /// Options of the command.
    pub options: Vec<String>,
}

impl Directives {
    /// Reads the comments before the first line of code.
    pub fn of(source: &Path) -> Self {
        let text = std::fs::read_to_string(source).unwrap();
        let mut directives = Directives::default();
        for line in text.lines().map_while(|line| line.strip_prefix("//")) {
            match line.trim_start().split_once(':') {
                Some(("status", status)) => directives.status = Some(status.trim().parse().unwrap()),
                Some(("says", words)) => directives.says.push(words.trim().into()),
                Some(("prints", line)) => directives.prints.push(line.trim().into()),
                Some(("options", words)) => directives.options.extend(words.split_whitespace().map(Into::into)),
                _ => {}
            }
        }
        directives
    }
}

/// What a command did.
pub struct Done(Output);

impl Done {
    /// Its exit status.
    pub fn status(&self) -> Option<i32> {
        self.0.status.code()
    }

    /// Its standard output.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Its standard error.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Both, for messages.
    pub fn all(&self) -> String {
        format!("status {:?}\n{}{}", self.status(), self.stdout(), self.stderr())
    }
}

/// A directory of its own, with a home of its own.
pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().into()
    }

    /// The command, ready to be called here. The runtime is shared by all tests: it is installed
    /// once.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command.env(MARK, self.directory.path()).current_dir(self.directory.path()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")));
        command
    }

    /// Calls the command.
    pub fn raddle(&self, words: &[&str]) -> Done {
        Done(self.command().args(words).output().unwrap())
    }

    /// Starts the command.
    pub fn start(&self, words: &[&str]) -> Child {
        self.command().args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Compiles a program with the wrapper.
    pub fn build(&self, source: &Path, flags: &[&str]) -> PathBuf {
        let name = source.file_stem().unwrap().to_str().unwrap();
        let mut words = vec!["cc", "-g", "-O0", "-pthread", source.to_str().unwrap(), "-o", name];
        words.extend(flags);
        let done = self.raddle(&words);
        assert_eq!(done.status(), Some(0), "{}", done.all());
        self.path(name)
    }

    /// Processes that belong to this place and are still there.
    pub fn processes(&self) -> Vec<String> {
        let wanted = format!("{MARK}={}", self.directory.path().display());
        let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| {
            std::fs::read(path.join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&wanted))
        })
        .map(|path| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " "))
        .collect()
    }
}
