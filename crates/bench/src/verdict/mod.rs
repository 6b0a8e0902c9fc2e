//! Time to a verdict: everyday programs, with the default options and with `optimal`; and programs
//! that wait and retry, with every strategy and other checkers.

mod lockfree;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::measure::measure;
use crate::tools::{self, BenchError};

/// Time for one check.
const LIMIT: &str = "20";
const PATIENCE: Duration = Duration::from_secs(60);

/// The programs of `bench/everyday`, in C and in C++.
const PROGRAMS: [&str; 11] = [
    "bank",
    "barrier_phases",
    "buffer",
    "fetch_add",
    "hash_table",
    "increments",
    "pipeline",
    "rwlock_cache",
    "slots",
    "thread_pool",
    "work_queue",
];

/// Strategies that are compared.
const STRATEGIES: [&str; 2] = ["auto", "optimal"];

/// Threads with one locked increment each.
const THREADS: std::ops::RangeInclusive<u32> = 4..=10;

/// Prints the tables and writes the figures.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    let out = tools::root().join("target/bench");
    std::fs::create_dir_all(&out)?;
    println!("verdict: seconds to the verdict of programs that are built already, at most {LIMIT}");
    println!("{:<24} {:<9} {:<11} {:>8} {:>9} {:>8}", "program", "strategy", "verdict", "seconds", "runs", "states");
    let mut rows = Vec::new();
    let sources = PROGRAMS.iter().flat_map(|name| [format!("{name}.c"), format!("{name}.cpp")]);
    for source in sources.chain(["logger.c".to_string()]) {
        let program = tools::compile(&format!("everyday/{source}"), &[], place.path())?;
        for strategy in STRATEGIES {
            rows.push(row(&source, strategy, &program)?);
        }
    }
    for threads in THREADS {
        let defines = [format!("-DN={threads}"), "-DROUNDS=1".to_string()];
        let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
        let program = tools::compile("everyday/increments.c", &defines, place.path())?;
        rows.push(row(&format!("{threads} locked increments"), "auto", &program)?);
    }
    rows.extend(lockfree::table(place.path())?);
    rows.extend(lockfree::growth(place.path(), &out)?);
    let path = out.join("verdict.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&rows)?)?;
    println!("figures: {}, chart: {}/verdict-growth.svg", path.display(), out.display());
    Ok(())
}

/// The runs of a row.
fn runs_of(row: &Value) -> f64 {
    row["runs"].as_f64().unwrap_or(0.0)
}

/// Checks a program and prints what came of it.
fn row(title: &str, strategy: &str, program: &Path) -> Result<Value, BenchError> {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(tools::raddle());
    command.args(["check", "--quiet", "--json", "-", "--time-limit", LIMIT, "--strategy", strategy]);
    command.arg("--out").arg(directory.path()).arg(program);
    let measured = measure(&mut command, PATIENCE)?.ok_or_else(|| format!("{title}: no answer"))?;
    let report: Value = serde_json::from_str(&measured.output)?;
    let (stats, verdict) = (&report["stats"], report["verdict"].as_str().unwrap_or("none"));
    let runs: u64 = match stats["phases"].as_array() {
        Some(phases) => phases.iter().filter_map(|phase| phase["runs"].as_u64()).sum(),
        None => ["executions", "matched", "blocked", "cut"].iter().filter_map(|name| stats[name].as_u64()).sum(),
    };
    let states = stats["states"].as_u64().unwrap_or(0);
    println!("{title:<24} {strategy:<9} {verdict:<11} {:>8.2} {runs:>9} {states:>8}", measured.seconds);
    Ok(json!({
        "program": title,
        "strategy": strategy,
        "by": report["strategy"],
        "verdict": verdict,
        "seconds": measured.seconds,
        "cpu": measured.cpu,
        "memory": measured.memory(),
        "runs": runs,
        "states": states,
    }))
}
