//! What sharing costs on this machine, with a server on loopback.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tools::{self, BenchError};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that ends with its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures a search by one process, by one worker and by two, each bound to a processor.
pub fn run(program: &Path, place: &Path) -> Result<Value, BenchError> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let _server = start_server(port, place)?;
    let url = format!("nats://127.0.0.1:{port}");
    let local = local(program, place)?;
    let one = shared(program, place, &url, 1)?;
    let two = shared(program, place, &url, 2)?;
    let overhead = one.cpu / local.cpu - 1.0;
    let speedup = one.busy / two.longest;
    println!("scale: what sharing costs, for {} executions", local.executions);
    println!("  one process {:.2} s CPU; one worker {:.2} s CPU: {:+.1}%", local.cpu, one.cpu, 100.0 * overhead);
    println!("  the coordinator, which confirms findings and estimates the size: {:.2} s CPU", one.coordinator);
    println!("  {} tasks, {:.2} ms between two of them", one.tasks, 1000.0 * one.between);
    println!("  two workers: {speedup:.2} times one ({:.2} s, {:.2} s)", one.busy, two.longest);
    if local.executions != one.executions || local.executions != two.executions {
        return Err("the counts differ".into());
    }
    Ok(json!({
        "local_cpu": local.cpu, "worker_cpu": one.cpu, "coordinator_cpu": one.coordinator,
        "overhead": overhead, "tasks": one.tasks,
        "between_tasks": one.between, "two_workers": speedup, "executions": local.executions,
    }))
}

fn start_server(port: u16, place: &Path) -> Result<Process, BenchError> {
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--jetstream", "--store_dir"]);
    let server = Process(command.arg(place.join("store")).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begun.elapsed() > PATIENCE {
            return Err("nats-server does not start".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(server)
}

/// What a search took.
#[derive(Default)]
struct Figures {
    executions: u64,
    /// Seconds of processors: of the one process, or of the workers.
    cpu: f64,
    coordinator: f64,
    busy: f64,
    /// From the first task of a worker to its last one.
    longest: f64,
    tasks: u64,
    between: f64,
}

/// Runs a command bound to a processor; what it prints to standard error is kept.
fn bound(processor: usize, place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &processor.to_string()]).arg(tools::raddle()).args(words).current_dir(place);
    command
}

fn local(program: &Path, place: &Path) -> Result<Figures, BenchError> {
    let report = place.join("local.json");
    let mut command = bound(0, place, &["check", "--quiet", "--strategy", "optimal", "--jobs", "1", "--json"]);
    command.arg(&report).arg(program).stdout(Stdio::null());
    let before = children_seconds();
    command.status()?;
    let cpu = children_seconds() - before;
    Ok(Figures { executions: executions(&report)?, cpu, ..Figures::default() })
}

fn shared(program: &Path, place: &Path, url: &str, count: usize) -> Result<Figures, BenchError> {
    let report = place.join("shared.json");
    let before = children_seconds();
    let start = |number| {
        let mut command = bound(number, place, &["worker", "--once", "--nats", url]);
        command.arg(program).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    };
    let workers: Vec<Child> = (0..count).map(start).collect::<Result<_, _>>()?;
    let mut coordinator = Command::new(tools::raddle());
    coordinator.args(["coordinate", "--quiet", "--nats", url, "--json"]).arg(&report).arg(program);
    coordinator.current_dir(place).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let coordinator = children_seconds() - before;
    let executions = executions(&report)?;
    let mut figures = Figures { executions, coordinator, ..Figures::default() };
    for worker in workers {
        let output = worker.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let number = |words: &str| number_behind(&said, words);
        let (busy, share) = (number("busy for ").unwrap_or(0.0), number(" s, ").unwrap_or(100.0));
        figures.busy += busy;
        figures.longest = figures.longest.max(100.0 * busy / share.max(1.0));
        figures.tasks += number("runs in ").unwrap_or(0.0) as u64;
    }
    figures.cpu = children_seconds() - before - coordinator;
    figures.between = (count as f64 * figures.longest - figures.busy).max(0.0) / figures.tasks.max(1) as f64;
    Ok(figures)
}

/// The number behind some words.
fn number_behind(text: &str, words: &str) -> Option<f64> {
    let rest = &text[text.rfind(words)? + words.len()..];
    rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok()
}

fn executions(report: &Path) -> Result<u64, BenchError> {
    let report: Value = serde_json::from_slice(&std::fs::read(report)?)?;
    Ok(report["stats"]["executions"].as_u64().unwrap_or(0))
}

/// Seconds that ended children have spent on processors.
fn children_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / 100.0
}
