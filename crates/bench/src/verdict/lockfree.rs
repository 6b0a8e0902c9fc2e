//! Programs that wait and retry: locks without blocking calls and lock-free structures, with every
//! strategy and with other checkers; and how they grow with the number of threads.

use std::path::Path;

use serde_json::{Value, json};

use super::{row, runs_of};
use crate::chart;
use crate::check::peers::{self, WAITING};
use crate::tools::{self, BenchError};

/// Strategies that are compared.
const STRATEGIES: [&str; 4] = ["auto", "stateful", "optimal", "dpor"];

/// A program of `bench/lockfree`.
struct LockFree {
    name: &'static str,
    defines: &'static [&'static str],
}

const fn program(name: &'static str, defines: &'static [&'static str]) -> LockFree {
    LockFree { name, defines }
}

const PROGRAMS: [LockFree; 15] = [
    program("spinlock", &["-DN=5"]),
    program("ttas", &["-DN=4"]),
    program("ticket", &["-DN=6"]),
    program("mcs", &["-DN=4"]),
    program("clh", &["-DN=5"]),
    program("twa", &["-DN=4"]),
    program("rwlock", &["-DW=2", "-DR=2"]),
    program("seqlock", &["-DW=2", "-DR=2"]),
    program("mpmc_queue", &["-DW=2", "-DR=2"]),
    program("ms_queue", &["-DW=2", "-DR=2"]),
    program("treiber", &["-DW=3", "-DR=2"]),
    program("chase_lev", &["-DITEMS=3", "-DTHIEVES=2"]),
    program("flat_combining", &["-DN=3"]),
    program("hazard_pointers", &["-DW=1", "-DR=2"]),
    program("conf_loop", &["-DW=2", "-DR=2"]),
];

/// Programs with a number of threads as their parameter, and how many there are at most.
const GROWING: [(&str, u64); 5] = [("spinlock", 7), ("ttas", 5), ("ticket", 6), ("mcs", 4), ("clh", 6)];

/// The table.
pub fn table(place: &Path) -> Result<Vec<Value>, BenchError> {
    let mut rows = Vec::new();
    for LockFree { name, defines } in &PROGRAMS {
        let source = format!("lockfree/{name}.c");
        let built = tools::compile(&source, defines, place)?;
        let numbers: Vec<&str> = defines.iter().map(|define| define.trim_start_matches("-D")).collect();
        let title = format!("{name} {}", numbers.join(" "));
        for strategy in STRATEGIES {
            rows.push(row(&title, strategy, &built)?);
        }
        for peer in peers::verdicts(&WAITING, &tools::root().join("bench").join(&source), defines)? {
            println!("{}", peer_row(&title, &peer));
            rows.push(json!({
                "program": title, "strategy": peer.name, "verdict": peer.verdict(), "seconds": peer.seconds,
                "cpu": peer.cpu, "memory": peer.memory, "runs": peer.runs(), "states": 0,
            }));
        }
    }
    Ok(rows)
}

fn peer_row(title: &str, peer: &peers::PeerVerdict) -> String {
    let (verdict, runs) = (peer.verdict(), peer.runs());
    format!("{title:<24} {:<9} {verdict:<11} {:>8.2} {runs:>9} {:>8}", peer.name, peer.seconds, "")
}

/// Runs of the default strategy and of `optimal` with more and more threads, as JSON and as a
/// chart.
pub fn growth(place: &Path, out: &Path) -> Result<Vec<Value>, BenchError> {
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (name, most) in GROWING {
        for strategy in ["stateful", "optimal"] {
            let mut points = Vec::new();
            for threads in 2..=most {
                let define = format!("-DN={threads}");
                let built = tools::compile(&format!("lockfree/{name}.c"), &[&define], place)?;
                let mut found = row(&format!("{name} N={threads}"), strategy, &built)?;
                found["threads"] = threads.into();
                if found["verdict"] == "verified" {
                    points.push((threads, runs_of(&found)));
                }
                rows.push(found);
            }
            lines.push((format!("{name} {strategy}"), points));
        }
    }
    let lines: Vec<_> = lines.iter().map(|(name, points)| (name.as_str(), points.clone())).collect();
    std::fs::write(out.join("verdict-growth.svg"), chart::lines(&lines, "threads"))?;
    Ok(rows)
}
