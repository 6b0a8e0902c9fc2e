//! Runs `raddle check` and waits, but not for ever.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::analyser::analyser;
use crate::directives::Run;

/// No case takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// Versions of clang that are looked for where there is no unversioned one.
const CLANG_VERSIONS: std::ops::RangeInclusive<u32> = 14..=30;

/// How a check ended.
pub struct Ended {
    pub command: String,
    pub status: Option<i32>,
    pub report: Value,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// What a person needs to see of it.
    pub fn shown(&self) -> String {
        let report = if self.report.is_null() { &self.stdout } else { &findings(&self.report) };
        format!("{report}\n{}", self.stderr)
    }
}

fn findings(report: &Value) -> String {
    let mut text = format!("verdict {} reason {} limits {}\n", report["verdict"], report["reason"], report["limits"]);
    for finding in report["findings"].as_array().into_iter().flatten() {
        let places = finding["accesses"].as_array().into_iter().flatten();
        let places: Vec<String> = places.map(|access| access["place"]["line"].to_string()).collect();
        text += &format!(
            "{} {} {} {} variable {} lines {}: {}\n",
            finding["id"],
            finding["severity"],
            finding["kind"],
            finding["detail"],
            finding["variable"],
            places.join(" "),
            finding["message"],
        );
    }
    text
}

/// The command for a family of compilers and the language of a file; `None` if it is not installed.
pub fn compiler(family: &str, path: &Path) -> Option<String> {
    let is_cxx = path.extension().is_some_and(|end| end == "cpp");
    let base = match (family, is_cxx) {
        ("gcc", false) => "gcc",
        ("gcc", true) => "g++",
        ("clang", false) => "clang",
        ("clang", true) => "clang++",
        (other, _) => other,
    };
    let versioned = CLANG_VERSIONS.rev().map(|version| format!("{base}-{version}"));
    let names = std::iter::once(base.to_string()).chain(versioned.filter(|_| family == "clang"));
    names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok())
}

/// Checks a file.
pub fn check(path: &Path, compiler: &str, run: &Run) -> Result<Ended, Failed> {
    if run.options.iter().any(|option| option == "pdp" || option == "dhtc") {
        analyser();
    }
    let directory = tempfile::tempdir()?;
    let standard = if path.extension().is_some_and(|end| end == "cpp") { "-std=c++20" } else { "-std=gnu11" };
    let flags = [&[standard.to_string()], &run.flags[..]].concat().join(" ");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.arg("check").args(["--json", "-", "--compiler", compiler, "--cflags", &flags]);
    command.arg("--out").arg(directory.path().join("run"));
    command.args(&run.options).arg(path);
    if !run.args.is_empty() {
        command.arg("--").args(&run.args);
    }
    let shown = format!("{command:?}");
    // Through files: a pipe that nobody reads could fill up.
    let (out, err) = (directory.path().join("out"), directory.path().join("err"));
    command.stdin(Stdio::null()).stdout(std::fs::File::create(&out)?).stderr(std::fs::File::create(&err)?);
    let mut child = command.spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(Failed::from(format!("{shown}\nstill ran after {PATIENCE:?}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (stdout, stderr) = (read(&out)?, read(&err)?);
    let report = serde_json::from_str(&stdout).unwrap_or(Value::Null);
    Ok(Ended { command: shown, status: status.code(), report, stdout, stderr })
}
