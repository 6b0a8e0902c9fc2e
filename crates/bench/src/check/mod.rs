//! Search benchmarks: executions per second, compared with other checkers and with the goals.
//!
//! Rates are executions per second of CPU time of host and target together, without the time to the
//! first execution. So neither the length of a search nor the load of the machine has much effect.
//! The fastest of some repetitions counts.

mod limits;
pub mod measure;
pub mod peers;
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chart;
use crate::tools::{self, BenchError};
use measure::{Measured, measure};
use peers::PeerFigures;
use programs::{BenchProgram, GROWING, PROGRAMS};

/// Time for one search.
const PATIENCE: Duration = Duration::from_secs(300);
/// A search is repeated until it has taken this many CPU seconds, or `OFTEN` times.
const ENOUGH: f64 = 1.5;
const OFTEN: usize = 5;
/// The other checkers use one processor, too. Rates are those of complete executions.
const ONE_JOB: [&str; 4] = ["--jobs", "1", "--strategy", "optimal"];

/// Figures of the search of one program.
struct SearchFigures {
    executions: u64,
    blocked: u64,
    transitions: u64,
    verdict: String,
    /// Executions per CPU second.
    rate: f64,
    measured: Measured,
}

/// Prints the tables and writes the charts and figures.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    let out = tools::root().join("target/bench");
    std::fs::create_dir_all(&out)?;
    let programs = table(place.path(), &out)?;
    let growth = growth(place.path(), &out)?;
    let limits = limits::run(place.path())?;
    let all = json!({ "programs": programs, "growth": growth, "limits": limits });
    std::fs::write(out.join("check.json"), serde_json::to_vec_pretty(&all)?)?;
    println!("figures: {0}/check.json, charts: {0}/rates.svg, {0}/growth.svg", out.display());
    Ok(())
}

fn table(place: &Path, out: &Path) -> Result<Vec<Value>, BenchError> {
    println!(
        "check: executions per CPU second; 'recorded' is the best figure of another checker, written down earlier"
    );
    println!(
        "{:<31} {:>7} {:>4} {:>9} {:>9} {:>9} {:>11} | {:>9} {:>6} {:>5} {:<15}",
        "program", "execs", "blkd", "transit.", "per s", "us each", "host+tgt MB", "recorded", "ratio", "goal", ""
    );
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    let installed = peers::installed();
    for program in &PROGRAMS {
        let built = compile(program.source, program.defines, place)?;
        let searched = search(&built)?;
        println!("{}", row(program, &searched));
        if searched.executions != program.executions {
            return Err(format!("{}: {} executions expected", program.title, program.executions).into());
        }
        let reached = peers::run_all(&source(program.source), program.defines)?;
        for peer in &reached {
            println!("{}", peer_row(peer, searched.rate));
        }
        bars.push((program.title.to_string(), bar(program, &searched, &reached)));
        rows.push(as_json(program, &searched, &reached));
    }
    let names: Vec<&str> = ["raddle", "best peer, recorded"].into_iter().chain(installed).collect();
    std::fs::write(out.join("rates.svg"), chart::bars(&names, &bars))?;
    Ok(rows)
}

fn row(program: &BenchProgram, searched: &SearchFigures) -> String {
    let SearchFigures { executions, blocked, transitions, rate, measured, .. } = searched;
    let memory = format!("{}+{}", measured.host >> 20, measured.others >> 20);
    let each = 1e6 / rate;
    let mut line = format!(
        "{:<31} {executions:>7} {blocked:>4} {transitions:>9} {rate:>9.0} {each:>9.1} {memory:>11} |",
        program.title
    );
    if let Some(recorded) = program.recorded {
        let ratio = rate / recorded.rate;
        let verdict = if ratio >= recorded.factor { "reached" } else { "" };
        line +=
            &format!(" {:>9.1} {ratio:>6.1} {:>5} {:<15} {verdict}", recorded.rate, recorded.factor, recorded.checker);
    }
    line
}

fn peer_row(peer: &PeerFigures, ours: f64) -> String {
    match (peer.executions, peer.rate) {
        (Some(executions), Some(rate)) => format!(
            "  {:<29} {executions:>7} {:>4} {:>9} {rate:>9.0} {:>9.1} {:>11} | raddle / {}: {:.1}",
            peer.name,
            peer.blocked,
            "",
            1e6 / rate,
            peer.memory >> 20,
            peer.name,
            ours / rate
        ),
        _ => format!("  {:<29} did not finish, or does not support it", peer.name),
    }
}

fn bar(program: &BenchProgram, searched: &SearchFigures, reached: &[PeerFigures]) -> Vec<Option<f64>> {
    let mut values = vec![Some(searched.rate), program.recorded.map(|recorded| recorded.rate)];
    values.extend(reached.iter().map(|peer| peer.rate));
    values
}

fn as_json(program: &BenchProgram, searched: &SearchFigures, reached: &[PeerFigures]) -> Value {
    json!({
        "program": program.title, "source": program.source, "defines": program.defines,
        "executions": searched.executions, "blocked": searched.blocked, "transitions": searched.transitions,
        "verdict": searched.verdict, "per_cpu_second": searched.rate, "microseconds": 1e6 / searched.rate,
        "seconds": searched.measured.seconds, "cpu_seconds": searched.measured.cpu,
        "host_memory": searched.measured.host, "target_memory": searched.measured.others,
        "recorded": program.recorded.map(|recorded| json!({
            "who": recorded.checker, "per_cpu_second": recorded.rate, "goal": recorded.factor,
            "ratio": searched.rate / recorded.rate,
        })),
        "peers": reached.iter().map(PeerFigures::to_json).collect::<Vec<_>>(),
    })
}

/// The same programs with more and more threads.
fn growth(place: &Path, out: &Path) -> Result<Vec<Value>, BenchError> {
    println!(
        "growth: N, executions, transitions of the search (in Table 1 of the Inspect paper), executions per CPU second"
    );
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for growing in &GROWING {
        let mut points = Vec::new();
        for &(size, paper) in growing.sizes {
            let searched = search(&compile(growing.source, &[&format!("-DN={size}")], place)?)?;
            let beside = paper.map_or(String::new(), |paper| format!("({paper})"));
            println!(
                "  {:<20} {size:>3} {:>8} {:>9} {beside:<11} {:>9.0}",
                growing.title, searched.executions, searched.transitions, searched.rate
            );
            rows.push(json!({ "program": growing.source, "n": size, "executions": searched.executions,
                              "transitions": searched.transitions, "transitions_of_the_paper": paper,
                              "per_cpu_second": searched.rate }));
            points.push((size, searched.rate));
        }
        series.push((growing.title, points));
    }
    std::fs::write(out.join("growth.svg"), chart::lines(&series, "N: threads of the program"))?;
    Ok(rows)
}

fn source(name: &str) -> PathBuf {
    tools::root().join(format!("bench/programs/{name}.c"))
}

fn compile(name: &str, defines: &[&str], place: &Path) -> Result<PathBuf, BenchError> {
    tools::compile(&format!("programs/{name}.c"), defines, place)
}

/// Searches a program, more than once if that is quick.
fn search(program: &Path) -> Result<SearchFigures, BenchError> {
    let first = check(program, &[&ONE_JOB[..], &["--max-executions", "1"]].concat())?.0.cpu;
    let (mut best, mut report) = check(program, &ONE_JOB)?;
    let mut spent = best.cpu;
    for _ in 1..OFTEN {
        if spent > ENOUGH {
            break;
        }
        let (again, same) = check(program, &ONE_JOB)?;
        spent += again.cpu;
        if again.cpu < best.cpu {
            (best, report) = (again, same);
        }
    }
    let number = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
    let executions = number("executions");
    // The first execution is not counted, because its time is subtracted.
    let rate = executions.saturating_sub(1).max(1) as f64 / (best.cpu - first).max(1e-4);
    Ok(SearchFigures {
        executions,
        blocked: number("blocked"),
        transitions: number("transitions"),
        verdict: report["verdict"].as_str().unwrap_or("").to_string(),
        rate,
        measured: best,
    })
}

/// One `raddle check`, and its report.
fn check(program: &Path, options: &[&str]) -> Result<(Measured, Value), BenchError> {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(tools::raddle());
    command.args(["check", "--quiet", "--json", "-", "--out"]).arg(directory.path()).args(options).arg(program);
    let measured = measure(&mut command, PATIENCE)?;
    let measured = measured.ok_or_else(|| format!("{} takes too long", program.display()))?;
    let report = serde_json::from_str(&measured.output)?;
    Ok((measured, report))
}
