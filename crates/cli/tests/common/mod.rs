//! What tests of the whole command have in common: places to work in, ways to call the command,
//! programs built once.

#![allow(dead_code, reason = "each test file is a program of its own and uses a part of this")]

pub mod analyser;

use std::ffi::OsStr;
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Marks every process of a test, so that those left behind are found.
const MARK: &str = "RADDLE_TEST_MARK";
/// No command of a test takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The command under test.
pub fn raddle() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_raddle"))
}

/// A directory under the repository's `tests`.
pub fn sources(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(directory)
}

/// All C and C++ files below a directory, sorted.
pub fn all_sources(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![sources(directory)];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if is_source(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "c" || end == "cpp")
}

/// Where built things stay from one call of the tests to the next.
pub fn kept(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// How a command ended.
pub struct Done {
    pub command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub time: Duration,
}

impl Done {
    /// Its exit status, if it was not killed.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Everything, for messages.
    pub fn all(&self) -> String {
        format!("{}\n{} after {:?}\n{}{}", self.command, self.status, self.time, self.stdout, self.stderr)
    }
}

/// Runs a command to its end; one that does not come to it fails the test.
pub fn finish(command: &mut Command) -> Done {
    let shown = format!("{command:?}");
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect(&shown);
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{shown} does not come to an end");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let time = begun.elapsed();
    Done { command: shown, status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), time }
}

/// Reads a pipe to its end, so that the command never waits for a reader.
fn collect(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A working directory of its own.
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

    /// Writes a file in it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Writes a file in it that can be run at once: by another process, because a file cannot be
    /// run while a child of this one, between fork and exec, has it open for writing.
    pub fn write_program(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let (source, program) = (self.write("program-to-install", text), self.path(name));
        let done = finish(Command::new("install").arg("-m755").args([&source, &program]));
        assert!(done.status.success(), "{}", done.all());
        program
    }

    /// A command that works here and whose processes can be found.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path()).env("PWD", self.directory.path()).stdin(Stdio::null());
        command.env(MARK, self.directory.path()).env("XDG_DATA_HOME", kept("data"));
        command
    }

    /// Calls raddle.
    pub fn raddle<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Done {
        finish(self.command(raddle()).args(words))
    }

    /// `raddle run` with options, a program and its arguments; says what no run may ever say.
    pub fn run(&self, options: &[&str], program: &Path, args: &[&str]) -> Done {
        let mut words: Vec<&OsStr> = vec!["run".as_ref()];
        words.extend(options.iter().map(OsStr::new));
        words.push(program.as_os_str());
        words.push("--".as_ref());
        words.extend(args.iter().map(OsStr::new));
        let done = self.raddle(words);
        assert!(!done.stderr.contains("panicked"), "{}", done.all());
        done
    }

    /// Processes of this place that are still there.
    pub fn left_behind(&self) -> Vec<String> {
        let wanted = format!("{MARK}={}", self.directory.path().display());
        let is_ours = |path: &PathBuf| {
            let text = std::fs::read(path.join("environ")).unwrap_or_default();
            text.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
        };
        let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let command = |path: PathBuf| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        all.filter(is_ours)
            .map(|path| format!("{} {}", path.display(), command(path.clone()).replace('\0', " ")))
            .collect()
    }
}

/// A program built by a compiler from one file, once for this version of everything that goes into
/// it.
pub fn build(compiler: &[&OsStr], source: &Path, flags: &[&str]) -> Result<PathBuf, String> {
    let mut hash = std::hash::DefaultHasher::new();
    hash.write(&raddle_stamp());
    hash.write(&text_with_includes(source));
    for word in compiler.iter().map(|word| word.as_encoded_bytes()).chain(flags.iter().map(|flag| flag.as_bytes())) {
        hash.write(word);
        hash.write_u8(0);
    }
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let program = kept("programs").join(format!("{stem}-{:016x}", hash.finish()));
    if program.exists() {
        return Ok(program);
    }
    // Under a name of its own, by the linker itself: others may build the same at the same time,
    // and a file that this process, or a child between fork and exec, has open for writing cannot
    // be run.
    let place = Place::new();
    let whole = kept("programs").join(place.path("").file_name().unwrap());
    let mut command = place.command(compiler[0]);
    command.args(&compiler[1..]).args(["-g", "-pthread"]).arg(source).args(flags).arg("-o").arg(&whole);
    let done = finish(&mut command);
    if !done.status.success() {
        return Err(done.all());
    }
    // The first build to finish stays: it may be running already, and names are looked up in the
    // file at this path.
    let kept = std::fs::hard_link(&whole, &program);
    std::fs::remove_file(&whole).map_err(|error| error.to_string())?;
    match kept {
        Err(error) if !program.exists() => Err(error.to_string()),
        _ => Ok(program),
    }
}

/// A program built by the wrapper.
pub fn built(source: &Path, flags: &[&str]) -> PathBuf {
    let language = if source.extension().is_some_and(|end| end == "cpp") { "c++" } else { "cc" };
    build(&[raddle().as_os_str(), language.as_ref()], source, flags).unwrap_or_else(|error| panic!("{error}"))
}

/// A program built by the wrapper around this compiler.
pub fn built_around(compiler: &str, source: &Path, flags: &[String]) -> Result<PathBuf, String> {
    let is_cxx = source.extension().is_some_and(|end| end == "cpp");
    let (language, variable) = if is_cxx { ("c++", "RADDLE_CXX") } else { ("cc", "RADDLE_CC") };
    let setting = format!("{variable}={compiler}");
    let wrapper: [&OsStr; 4] = ["env".as_ref(), setting.as_ref(), raddle().as_os_str(), language.as_ref()];
    build(&wrapper, source, &flags.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Size and time of the command: what it builds changes with it.
fn raddle_stamp() -> [u8; 24] {
    let about = std::fs::metadata(raddle()).unwrap();
    let time = about.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut stamp = [0; 24];
    stamp[..8].copy_from_slice(&about.len().to_le_bytes());
    stamp[8..].copy_from_slice(&time.as_nanos().to_le_bytes());
    stamp
}

/// A file and the files beside it that it includes.
fn text_with_includes(source: &Path) -> Vec<u8> {
    let text = std::fs::read(source).unwrap();
    let mut all = text.clone();
    for line in String::from_utf8_lossy(&text).lines() {
        if let Some(name) = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            all.extend(std::fs::read(source.with_file_name(name)).unwrap_or_default());
        }
    }
    all
}

/// Calls the function for each item, two at a time, and fails with all that went wrong.
pub fn for_each<T: Sync>(items: &[T], test: impl Fn(&T) -> Result<(), String> + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if let Err(text) = test(item) {
                        wrong.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} went wrong:\n{}", wrong.len(), items.len(), wrong.join("\n---\n"));
}
