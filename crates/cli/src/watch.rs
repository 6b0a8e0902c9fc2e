//! `raddle check --watch`: checks again whenever a file has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use raddle_cc::is_source_file;
use raddle_exec::interrupt;

use crate::error::{CommandResult, say};
use crate::exit_codes;

/// Between two looks at the files.
const PERIOD: Duration = Duration::from_millis(200);

/// Files with what tells whether they have changed.
type Stamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Calls `check` now, and again after each change of the inputs, or of a source file beside them,
/// until the user interrupts. The status is that of the last check.
pub fn run(inputs: &[PathBuf], mut check: impl FnMut() -> CommandResult) -> CommandResult {
    loop {
        let before = stamps(inputs);
        let status = check().unwrap_or_else(|error| {
            say(&format!("raddle: {error}"));
            exit_codes::UNUSABLE
        });
        say("raddle: waiting for a change (Ctrl-C ends)");
        if !wait(inputs, before) {
            return Ok(status);
        }
    }
}

/// Waits until files have changed and stay as they are; false if the user interrupts.
fn wait(inputs: &[PathBuf], before: Stamps) -> bool {
    let mut last = before.clone();
    loop {
        if interrupt::requested() {
            return false;
        }
        std::thread::sleep(PERIOD);
        let now = stamps(inputs);
        // A program that is being linked has changed, but is not there yet.
        let is_there = inputs.iter().all(|input| now.get(input).is_some_and(|(_, size)| *size > 0));
        if now != before && now == last && is_there {
            return true;
        }
        last = now;
    }
}

/// The inputs, and for source files all such files and headers beside them.
fn stamps(inputs: &[PathBuf]) -> Stamps {
    let mut all: Vec<PathBuf> = inputs.to_vec();
    for input in inputs.iter().filter(|input| is_source_file(input).is_some()) {
        let directory = input.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        all.extend(entries.filter(|path| is_source_file(path).is_some() || is_header(path)));
    }
    let stamp = |path: PathBuf| {
        let about = std::fs::metadata(&path).ok()?;
        Some((path, (about.modified().ok(), about.len())))
    };
    all.into_iter().filter_map(stamp).collect()
}

fn is_header(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| matches!(end, "h" | "hh" | "hpp" | "hxx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_beside_a_source_file_counts() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("a.c");
        std::fs::write(&source, "int x;").unwrap();
        let inputs = [source];
        let before = stamps(&inputs);
        assert_eq!(stamps(&inputs), before);
        std::fs::write(directory.path().join("a.h"), "int y;").unwrap();
        assert_ne!(stamps(&inputs), before);
        std::fs::write(directory.path().join("notes.txt"), "").unwrap();
        assert_eq!(stamps(&inputs).len(), 2);
    }
}
