//! Pruning compared with searches that do not prune: the tables of the papers, for programs written
//! after their descriptions.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::chart;
use crate::tools::{self, BenchError};

const STRATEGIES: [&str; 4] = ["dpor", "pdp", "dhtc", "optimal"];
/// Seconds for one search.
const PATIENCE: &str = "20";

/// A program: title, file, macro definitions.
const PROGRAMS: [(&str, &str, &[&str]); 21] = [
    ("example", "running_example.c", &[]),
    ("example, more work", "running_example.c", &["-DWORK=1"]),
    ("example, much work", "running_example.c", &["-DWORK=2"]),
    ("quicksort", "quicksort.c", &[]),
    ("scanner", "scanner.c", &[]),
    ("scanner, buggy", "scanner.c", &["-DBUG"]),
    ("downloader 3", "downloader.c", &["-DTHREADS=3"]),
    ("downloader 4", "downloader.c", &["-DTHREADS=4"]),
    ("downloader 5", "downloader.c", &["-DTHREADS=5"]),
    ("compressor 4", "compressor.c", &["-DWORKERS=1"]),
    ("compressor 5", "compressor.c", &["-DWORKERS=2"]),
    ("compressor 6", "compressor.c", &["-DWORKERS=3"]),
    ("compressor 10", "compressor.c", &["-DWORKERS=7"]),
    ("compressor, pointers 4", "compressor.c", &["-DWORKERS=1", "-DPOINTERS"]),
    ("compressor, pointers 5", "compressor.c", &["-DWORKERS=2", "-DPOINTERS"]),
    ("control 2", "control.c", &["-DTASKS=2"]),
    ("control 3", "control.c", &["-DTASKS=3"]),
    ("control 4", "control.c", &["-DTASKS=4"]),
    ("control 5", "control.c", &["-DTASKS=5"]),
    ("control 6", "control.c", &["-DTASKS=6"]),
    ("compressor 8", "compressor.c", &["-DWORKERS=5"]),
];

/// One search.
struct PrunedSearch {
    executions: u64,
    transitions: u64,
    seconds: f64,
    verdict: String,
    prune: [u64; 5],
    threads: u64,
}

/// Prints the table and draws the chart.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    println!(
        "pruning: executions, transitions and seconds of each strategy; \
         + where a search was not finished in {PATIENCE} s"
    );
    println!(
        "{:<24} {:>3} {:>5} {:>5} {:>6} {:>8} | {} | checks/yes/skipped, conflicts/races (dhtc)",
        "program",
        "thr",
        "vars",
        "locks",
        "obj/br",
        "analysis",
        STRATEGIES.map(|name| format!("{name:>28}")).join(" ")
    );
    let (mut bars, mut worse) = (Vec::new(), Vec::new());
    for (title, source, defines) in PROGRAMS {
        let flags: Vec<&str> = defines.iter().copied().chain(["-g", "-O0"]).collect();
        let program = compile(source, &flags, place.path())?;
        let (facts, seconds) = facts(&program)?;
        let results: Result<Vec<PrunedSearch>, BenchError> =
            STRATEGIES.iter().map(|strategy| search(&program, strategy, place.path())).collect();
        let results = results?;
        println!("{}", row(title, &facts, seconds, &results));
        let [_, pdp, dhtc, optimal] = [0, 1, 2, 3].map(|number: usize| results[number].executions);
        if pdp > optimal || dhtc != pdp {
            worse.push(title);
        }
        bars.push((title.to_string(), results.iter().map(|result| Some(result.executions as f64)).collect()));
    }
    match worse.is_empty() {
        true => println!("pdp and dhtc explore the same, and nowhere more than optimal"),
        false => println!("pdp and dhtc differ, or explore more than optimal: {}", worse.join(", ")),
    }
    let path = tools::root().join("target/pruning.svg");
    std::fs::write(&path, chart::bars(&STRATEGIES, &bars))?;
    println!("chart: {}", path.display());
    Ok(())
}

fn compile(source: &str, flags: &[&str], into: &Path) -> Result<std::path::PathBuf, BenchError> {
    let program = into.join("program");
    let source = tools::root().join("bench/pruning").join(source);
    let mut command = Command::new(tools::raddle());
    command.env("RADDLE_CC", "clang-19").arg("cc").args(flags).arg(&source).arg("-o").arg(&program).arg("-pthread");
    if !command.status()?.success() {
        return Err(format!("cannot compile {}", source.display()).into());
    }
    Ok(program)
}

fn facts(program: &Path) -> Result<(Value, f64), BenchError> {
    let begun = Instant::now();
    let output = Command::new(tools::raddle()).args(["facts", "--json"]).arg(program).output()?;
    Ok((serde_json::from_slice(&output.stdout)?, begun.elapsed().as_secs_f64()))
}

fn search(program: &Path, strategy: &str, place: &Path) -> Result<PrunedSearch, BenchError> {
    let mut command = Command::new(tools::raddle());
    command.current_dir(place).args(["check", "--json", "-", "--property", "race", "--strategy", strategy]);
    let output = command.args(["--time-limit", PATIENCE]).arg(program).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let stats = &report["stats"];
    let number = |name: &str| stats[name].as_u64().unwrap_or(0);
    let prune = ["checks", "race_free", "skipped", "conflicts", "races"];
    Ok(PrunedSearch {
        executions: number("executions"),
        transitions: number("transitions"),
        seconds: stats["seconds"].as_f64().unwrap_or(0.0),
        verdict: report["verdict"].as_str().unwrap_or("").to_string(),
        prune: prune.map(|name| stats["prune"][name].as_u64().unwrap_or(0)),
        threads: number("threads"),
    })
}

fn row(title: &str, facts: &Value, seconds: f64, results: &[PrunedSearch]) -> String {
    let empty = Vec::new();
    let nodes = facts["nodes"].as_array().unwrap_or(&empty);
    let objects = facts["objects"].as_array().map_or(0, Vec::len);
    let mut locks = std::collections::BTreeSet::new();
    for node in nodes {
        for span in node["act"]["acquire"]["lock"]["list"].as_array().unwrap_or(&empty) {
            locks.insert(span["object"].as_u64());
        }
    }
    let mut line = format!(
        "{title:<24} {:>3} {:>5} {:>5} {:>6} {:>7.2}s |",
        results.iter().map(|result| result.threads).max().unwrap_or(0),
        objects.saturating_sub(locks.len()),
        locks.len(),
        per_branch(nodes),
        seconds
    );
    for result in results {
        let open = if result.verdict == "incomplete" { "+" } else { "" };
        let figures = format!("{}{open} {} {:.2}s", result.executions, result.transitions, result.seconds);
        let _ = write!(line, " {figures:>28}");
    }
    let [checks, yes, skipped, ..] = results[1].prune;
    let [.., conflicts, races] = results[2].prune;
    let _ = write!(line, " | {checks}/{yes}/{skipped} {conflicts}/{races} {}", results[1].verdict);
    line
}

/// Average number of objects that may be accessed behind one successor of a branch that depends on
/// other threads.
fn per_branch(nodes: &[Value]) -> String {
    let next = |node: &Value| -> Vec<usize> {
        node["next"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|to| to as usize).collect()
    };
    let (mut edges, mut objects) = (0usize, 0usize);
    for node in nodes.iter().filter(|node| node["tainted"] == true && next(node).len() > 1) {
        for start in next(node) {
            edges += 1;
            let (mut seen, mut work, mut met) =
                (vec![false; nodes.len()], vec![start], std::collections::BTreeSet::new());
            while let Some(at) = work.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    work.extend(next(&nodes[at]));
                    let list = nodes[at]["act"]["access"]["at"]["list"].as_array();
                    met.extend(list.into_iter().flatten().filter_map(|span| span["object"].as_u64()));
                }
            }
            objects += met.len();
        }
    }
    if edges == 0 { "-".into() } else { format!("{:.1}", objects as f64 / edges as f64) }
}
