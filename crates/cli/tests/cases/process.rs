//! Runs `raddle check`.

use std::ffi::OsString;
use std::path::Path;

use libtest_mimic::Failed;
use raddle_testkit::tools;
use serde_json::Value;

use crate::common::analyser::analyser;
use crate::common::{self, Place};
use crate::directives::Run;

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

/// The command for a family of compilers and the language of a file.
pub fn compiler(family: &str, path: &Path) -> Result<String, Failed> {
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
    let found = names.into_iter().find(|name| tools::find(name).is_some());
    found.ok_or_else(|| format!("no {base} is installed: install the package {base} or clang-19").into())
}

/// Checks a file. It is built before, once for all its runs; only where the sources say more than
/// the program, they are what is checked.
pub fn check(path: &Path, compiler: &str, run: &Run) -> Result<Ended, Failed> {
    let needs_sources = run.options.iter().any(|option| option == "pdp" || option == "dhtc");
    let standard = if path.extension().is_some_and(|end| end == "cpp") { "-std=c++20" } else { "-std=gnu11" };
    let flags = [&[standard.to_string()], &run.flags[..]].concat();
    let place = Place::new();
    let mut words: Vec<OsString> = ["check", "--json", "-", "--out", "run"].map(OsString::from).to_vec();
    // Files beside the case.
    let here = path.parent().unwrap_or(Path::new("")).display().to_string();
    words.extend(run.options.iter().map(|option| OsString::from(option.replace("HERE/", &format!("{here}/")))));
    if needs_sources {
        analyser();
        words.extend(["--compiler".into(), compiler.into(), "--cflags".into(), flags.join(" ").into(), path.into()]);
    } else {
        words.push(common::built_around(compiler, path, &flags)?.into());
    }
    if !run.args.is_empty() {
        words.push("--".into());
        words.extend(run.args.iter().map(OsString::from));
    }
    let done = place.raddle(words);
    let report = serde_json::from_str(&done.stdout).unwrap_or(Value::Null);
    Ok(Ended { command: done.command, status: done.status.code(), report, stdout: done.stdout, stderr: done.stderr })
}
