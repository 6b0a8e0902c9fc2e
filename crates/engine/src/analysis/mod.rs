//! What the static analysis knows: asked from `raddle-analyze`, and put in place for a running
//! program.

mod figures;
mod ground;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use raddle_model::facts::Facts;

pub use figures::objects_per_edge;
pub(crate) use ground::locate;

/// The analyser, which is a program of its own because it is linked with LLVM.
const ANALYSER: &str = "raddle-analyze";

/// How long a search waits for the analysis.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Analyses the bitcode that a program built with clang carries.
///
/// # Errors
/// A sentence that says why there are no facts.
pub fn of_program(program: &Path, patience: Option<Duration>) -> Result<Facts, String> {
    let analyser = find_analyser()?;
    let mut command = Command::new(&analyser);
    command.arg(program).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().and_then(|child| wait(child, patience));
    let output = output.map_err(|error| format!("{}: {error}", analyser.display()))?;
    let Some(output) = output else {
        return Err("the analysis of the program was given up after a minute: it is too large for it".into());
    };
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim().trim_start_matches("raddle-analyze: ");
        return Err(match complaint.lines().last() {
            Some(line) => line.to_string(),
            None => format!("{} ended with {}", analyser.display(), output.status),
        });
    }
    parse(&output.stdout)
}

/// Waits for the end of a process, reading what it says; `None` if it had to be ended.
fn wait(mut child: Child, patience: Option<Duration>) -> std::io::Result<Option<Output>> {
    let (out, err) = (gather(child.stdout.take()), gather(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if patience.is_some_and(|patience| begun.elapsed() > patience) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = |reader: std::thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok(Some(Output { status, stdout: said(out), stderr: said(err) }))
}

/// Reads a pipe to its end, on a thread of its own so that it never fills up.
fn gather(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is damaged, and refused as that.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

/// Reads facts; nothing in them is trusted.
pub fn parse(bytes: &[u8]) -> Result<Facts, String> {
    let facts: Facts = serde_json::from_slice(bytes).map_err(|error| format!("the facts are damaged: {error}"))?;
    facts.validate().map_err(|error| error.to_string())?;
    Ok(facts)
}

/// Beside this program, or in the search path.
fn find_analyser() -> Result<PathBuf, String> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(ANALYSER)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(std::env::split_paths(&path).map(|directory| directory.join(ANALYSER)));
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "{ANALYSER} is not installed beside raddle (./x build makes it, with LLVM 19 from the system's packages)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    #[test]
    fn an_analysis_that_takes_too_long_is_ended() {
        let output = wait(shell("echo out; echo err >&2; exit 3"), Some(PATIENCE)).unwrap().unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert!(wait(shell("exec sleep 100"), Some(Duration::from_millis(50))).unwrap().is_none());
    }

    #[test]
    fn damaged_facts_are_refused() {
        for text in ["", "{", "[1,2]", "{\"version\":1}", "{\"version\":99}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
