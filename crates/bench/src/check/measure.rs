//! Time and memory of a command and the processes that it starts.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::BenchError;

/// Period of the memory samples.
const PAUSE: Duration = Duration::from_millis(2);

/// Time and memory of a command.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Wall-clock time.
    pub seconds: f64,
    /// CPU time of the command and of the processes that it waited for.
    pub cpu: f64,
    /// Peak of the command's own resident memory, in bytes.
    pub host: u64,
    /// The same for the sum of the processes that it started.
    pub others: u64,
    /// Peak of the largest process, among the command and those that it waited for, in bytes.
    pub largest: u64,
    /// Its standard output; bytes that are no text are replaced.
    pub output: String,
    /// Resident memory of the command while it ran: seconds since the start, bytes.
    pub growth: Vec<(f64, u64)>,
}

impl Measured {
    /// Peak of the sum.
    pub fn memory(&self) -> u64 {
        self.host + self.others
    }
}

/// Runs a command to its end and discards its standard error. If it takes longer than `patience`,
/// it is killed, and the result is `None`.
pub fn measure(command: &mut Command, patience: Duration) -> Result<Option<Measured>, BenchError> {
    let mut out = tempfile::tempfile()?;
    let begun = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(Stdio::null()).spawn()?;
    let id = child.id();
    let mut measured = Measured::default();
    let mut peaks: Vec<(u32, u64)> = Vec::new();
    while !has_ended(id) {
        let elapsed = begun.elapsed();
        if elapsed > patience {
            // Only the command: the processes that it started end with it.
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            reap(id);
            return Ok(None);
        }
        look(id, elapsed, &mut measured, &mut peaks);
        std::thread::sleep(PAUSE);
    }
    measured.seconds = begun.elapsed().as_secs_f64();
    (measured.cpu, measured.largest) = reap(id);
    measured.others = peaks.iter().map(|(_, peak)| peak).sum();
    out.rewind()?;
    let mut bytes = Vec::new();
    out.read_to_end(&mut bytes)?;
    measured.output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(measured))
}

/// Takes the peaks of the command and its children, and the present size of the command.
fn look(id: u32, elapsed: Duration, into: &mut Measured, peaks: &mut Vec<(u32, u64)>) {
    into.host = into.host.max(status(id, "VmHWM:"));
    into.growth.push((elapsed.as_secs_f64(), status(id, "VmRSS:")));
    for child in children(id) {
        let peak = status(child, "VmHWM:");
        match peaks.iter_mut().find(|(known, _)| *known == child) {
            Some((_, known)) => *known = (*known).max(peak),
            None => peaks.push((child, peak)),
        }
    }
}

/// Processes that any thread of a process started.
fn children(id: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// A size from `/proc/PID/status`, in bytes.
fn status(id: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Whether the process has ended; it stays to be reaped.
fn has_ended(id: u32) -> bool {
    let text = std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    text.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// Reaps a child of this process. Its CPU time in seconds, and the peak of its largest process in
/// bytes.
fn reap(id: u32) -> (f64, u64) {
    let mut status = 0;
    // SAFETY: plain old data for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: nothing else waits for this child of the process; both pointers are valid.
    unsafe { libc::wait4(id as libc::pid_t, &raw mut status, 0, &raw mut usage) };
    let times = [usage.ru_utime, usage.ru_stime];
    let cpu = times.iter().map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6).sum();
    (cpu, (usage.ru_maxrss as u64) << 10)
}
