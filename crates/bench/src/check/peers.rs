//! Other checkers on the same sources, if they are installed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Measured, measure};
use crate::tools::{BenchError, has, number_behind};

/// Time for one search of another checker.
const PATIENCE: Duration = Duration::from_secs(120);

/// The command line of another checker.
pub struct Peer {
    name: &'static str,
    command: &'static str,
    options: &'static [&'static str],
    /// Whether compiler options come first, followed by `--`.
    compiler_first: bool,
    /// The text before the number of executions in its output.
    count: &'static str,
    blocked: &'static str,
}

const COMPLETE: &str = "Number of complete executions explored: ";
const SEEN_BLOCKED: &str = "Number of blocked executions seen: ";
const TRACES: &str = "Trace count: ";
const SLEEP_SET: &str = "Sleepset-blocked trace count: ";

const PEERS: [Peer; 4] = [
    Peer {
        name: "GenMC",
        command: "genmc",
        options: &["--sc", "--disable-sr"],
        compiler_first: false,
        count: COMPLETE,
        blocked: SEEN_BLOCKED,
    },
    Peer {
        name: "GenMC, no races",
        command: "genmc",
        options: &["--sc", "--disable-sr", "--disable-race-detection"],
        compiler_first: false,
        count: COMPLETE,
        blocked: SEEN_BLOCKED,
    },
    Peer {
        name: "Nidhugg source",
        command: "nidhuggc",
        options: &["--sc", "--source"],
        compiler_first: true,
        count: TRACES,
        blocked: SLEEP_SET,
    },
    Peer {
        name: "Nidhugg optimal",
        command: "nidhuggc",
        options: &["--sc", "--optimal"],
        compiler_first: true,
        count: TRACES,
        blocked: SLEEP_SET,
    },
];

/// Figures of another checker.
#[derive(Debug)]
pub struct PeerFigures {
    /// Its name.
    pub name: &'static str,
    /// Executions, if it finished.
    pub executions: Option<u64>,
    /// Runs that it abandoned as redundant.
    pub blocked: u64,
    /// Executions per CPU second.
    pub rate: Option<f64>,
    /// Peak memory in bytes.
    pub memory: u64,
}

impl PeerFigures {
    /// The figures as JSON.
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name, "executions": self.executions, "blocked": self.blocked, "per_cpu_second": self.rate,
                "memory": self.memory })
    }
}

/// The checkers for programs that wait: by themselves they make assumptions or awaits of loops.
pub const WAITING: [Peer; 3] = [
    Peer {
        name: "GenMC",
        command: "genmc",
        options: &["--sc", "--disable-sr"],
        compiler_first: false,
        count: COMPLETE,
        blocked: SEEN_BLOCKED,
    },
    Peer {
        name: "Nidhugg",
        command: "nidhuggc",
        options: &["--sc", "--optimal"],
        compiler_first: true,
        count: TRACES,
        blocked: SLEEP_SET,
    },
    Peer {
        name: "Nid. rf",
        command: "nidhuggc",
        options: &["--sc", "--rf"],
        compiler_first: true,
        count: TRACES,
        blocked: SLEEP_SET,
    },
];

/// How long another checker took for its verdict.
#[derive(Debug)]
pub struct PeerVerdict {
    /// Its name.
    pub name: &'static str,
    /// Wall-clock time, compiling included.
    pub seconds: f64,
    /// CPU time.
    pub cpu: f64,
    /// Peak memory in bytes.
    pub memory: u64,
    /// Executions, if it finished.
    executions: Option<u64>,
    blocked: u64,
}

impl PeerVerdict {
    /// Executions and redundant runs.
    pub fn runs(&self) -> u64 {
        self.executions.unwrap_or(0) + self.blocked
    }

    /// A word for what came of it.
    pub fn verdict(&self) -> &'static str {
        if self.executions.is_some() { "finished" } else { "none" }
    }
}

/// Times of those of the checkers that are installed.
pub fn verdicts(all: &[Peer], source: &Path, defines: &[&str]) -> Result<Vec<PeerVerdict>, BenchError> {
    all.iter().filter(|peer| has(peer.command)).map(|peer| verdict(peer, source, defines)).collect()
}

fn verdict(peer: &Peer, source: &Path, defines: &[&str]) -> Result<PeerVerdict, BenchError> {
    let measured = measure(&mut command(peer, source, defines), PATIENCE)?;
    let measured = measured.unwrap_or_else(|| Measured { seconds: PATIENCE.as_secs_f64(), ..Measured::default() });
    Ok(PeerVerdict {
        name: peer.name,
        seconds: measured.seconds,
        cpu: measured.cpu,
        memory: measured.memory(),
        executions: number_behind(&measured.output, peer.count),
        blocked: number_behind(&measured.output, peer.blocked).unwrap_or(0),
    })
}

/// Names of the checkers that are installed.
pub fn installed() -> Vec<&'static str> {
    PEERS.iter().filter(|peer| has(peer.command)).map(|peer| peer.name).collect()
}

/// Runs every installed checker on a program.
pub fn run_all(source: &Path, defines: &[&str]) -> Result<Vec<PeerFigures>, BenchError> {
    PEERS.iter().filter(|peer| has(peer.command)).map(|peer| run(peer, source, defines)).collect()
}

fn command(peer: &Peer, source: &Path, defines: &[&str]) -> Command {
    let mut command = Command::new(peer.command);
    if peer.compiler_first {
        command.args(defines).arg("--").args(peer.options).arg(source);
    } else {
        command.args(peer.options).arg("--").args(defines).arg(source);
    }
    command
}

fn run(peer: &Peer, source: &Path, defines: &[&str]) -> Result<PeerFigures, BenchError> {
    let Some(measured) = measure(&mut command(peer, source, defines), PATIENCE)? else {
        return Ok(PeerFigures { name: peer.name, executions: None, blocked: 0, rate: None, memory: 0 });
    };
    let executions = number_behind(&measured.output, peer.count);
    Ok(PeerFigures {
        name: peer.name,
        executions,
        blocked: number_behind(&measured.output, peer.blocked).unwrap_or(0),
        rate: executions.map(|executions| executions as f64 / measured.cpu.max(1e-6)),
        memory: measured.memory(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_the_peers_say() {
        let genmc = "*** Verification complete. No errors were detected.\nNumber of complete executions explored: 24\n\
                     Number of blocked executions seen: 3\nTotal wall-clock time: 0.01s\n";
        assert_eq!(number_behind(genmc, COMPLETE), Some(24));
        assert_eq!(number_behind(genmc, SEEN_BLOCKED), Some(3));
        let nidhugg = "Trace count: 14400\nNo errors were detected.\n";
        assert_eq!(number_behind(nidhugg, TRACES), Some(14_400));
        assert_eq!(number_behind(nidhugg, SLEEP_SET), None);
        assert_eq!(number_behind("Trace count: many", TRACES), None);
    }
}
