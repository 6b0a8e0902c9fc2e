//! Prediction beside Helgrind and DRD: the columns of the paper's table, over the scenarios of `tests/predict`.
//!
//! raddle observes one run of each scenario. The others, where valgrind is installed, have ten runs of the program as the
//! compiler builds it; a race counts as found in a run if the report names its variable. RAPID, where it is installed, reads
//! the traces that raddle exports (`rapid` on the path, or its jar in `RAPID_JAR`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::tools::{self, Failure, has, number_behind};

const RUNS: usize = 10;
const ENGINES: [&str; 3] = ["HB", "WCP", "SyncPreserving"];

/// Sums over all scenarios.
#[derive(Default)]
struct Sums {
    lines: usize,
    real: usize,
    size: u64,
    checks: u64,
    found: usize,
    infeasible: u64,
    seconds: f64,
    helgrind: f64,
    drd: f64,
}

/// Prints the table.
pub fn run() -> Result<(), Failure> {
    let place = tempfile::tempdir()?;
    let mut sums = Sums::default();
    let scenarios = scenarios()?;
    let mut predicted = Vec::new();
    let (helgrind, drd) = (has("valgrind"), has("valgrind"));
    for path in &scenarios {
        let text = std::fs::read_to_string(path)?;
        let real: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("// race: ")).collect();
        sums.lines += text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")).count();
        sums.real += real.len();
        predicted.push(predict(path, place.path(), &real, &mut sums)?);
        if helgrind {
            let program = native(path, place.path())?;
            sums.helgrind += average(&program, "helgrind", &real)?;
            if drd {
                sums.drd += average(&program, "drd", &real)?;
            }
        }
    }
    println!("predict: the paper's columns, one observed run for raddle, {RUNS} runs for the others");
    println!(
        "{:>9} {:>6} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8}",
        "Scenarios", "LOC", "Real races", "Trace size", "Checks", "Races", "Infeasible", "HG-Races", "DRD", "Seconds"
    );
    let other = |present: bool, value: f64| if present { format!("{value:.1}") } else { "-".into() };
    println!(
        "{:>9} {:>6} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8.1}",
        scenarios.len(),
        sums.lines,
        sums.real,
        sums.size,
        sums.checks,
        sums.found,
        sums.infeasible,
        other(helgrind, sums.helgrind),
        other(drd, sums.drd),
        sums.seconds
    );
    if !helgrind {
        println!("  (valgrind is not installed)");
    }
    rapid(&scenarios.into_iter().zip(predicted).collect::<Vec<_>>(), place.path())
}

fn scenarios() -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(tools::root().join("tests/predict"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "c") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// One prediction; its figures are added. Says whether there was anything to predict.
fn predict(path: &Path, place: &Path, real: &BTreeSet<&str>, sums: &mut Sums) -> Result<bool, Failure> {
    let text = std::fs::read_to_string(path)?;
    let options = text.lines().find_map(|line| line.strip_prefix("// options: ")).unwrap_or_default();
    let begun = Instant::now();
    let mut command = Command::new(tools::raddle());
    command
        .args(["predict", "--json", "-", "--out"])
        .arg(place.join("run"))
        .arg("--export")
        .arg(place.join(stem(path)));
    let output = command.args(options.split_whitespace()).arg(path).output()?;
    sums.seconds += begun.elapsed().as_secs_f64();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    sums.size += number_before(&said, " steps and shared accesses");
    sums.checks += number_before(&said, " checks");
    sums.infeasible += report["stats"]["infeasible"].as_u64().unwrap_or(0);
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let shows = |finding: &serde_json::Value, name: &str| {
        finding["confirmed"] == true && (finding["variable"] == name || finding["detail"] == name)
    };
    sums.found += real.iter().filter(|name| findings.iter().any(|finding| shows(finding, name))).count();
    Ok(report["stats"]["predicted"].as_u64().unwrap_or(0) > 0)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The number that stands before some words.
fn number_before(text: &str, words: &str) -> u64 {
    let Some(end) = text.find(words) else { return 0 };
    let digits: String = text[..end].chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap_or(0)
}

fn native(path: &Path, place: &Path) -> Result<PathBuf, Failure> {
    let program = place.join(format!("{}-native", stem(path)));
    let status = Command::new("gcc").args(["-g", "-O0", "-pthread"]).arg(path).arg("-o").arg(&program).status()?;
    if !status.success() {
        return Err(format!("gcc cannot compile {}", path.display()).into());
    }
    Ok(program)
}

/// Races that a tool of valgrind finds in a run, on average.
fn average(program: &Path, tool: &str, real: &BTreeSet<&str>) -> Result<f64, Failure> {
    let mut found = 0;
    for _ in 0..RUNS {
        let mut command = Command::new("timeout");
        command.arg("60").arg("valgrind").arg(format!("--tool={tool}")).arg("--read-var-info=yes").arg(program);
        let said = String::from_utf8_lossy(&command.output()?.stderr).into_owned();
        let names = |name: &&&str| match **name {
            "use-after-free" => said.contains("data race") || said.contains("Conflicting"),
            name => said.contains(&format!("\"{name}\"")) || said.contains(&format!("var \"{name}")),
        };
        found += real.iter().filter(names).count();
    }
    Ok(found as f64 / RUNS as f64)
}

/// What RAPID's engines find on the exported traces.
fn rapid(scenarios: &[(PathBuf, bool)], place: &Path) -> Result<(), Failure> {
    let jar = std::env::var_os("RAPID_JAR");
    if jar.is_none() && !has("rapid") {
        println!("  (RAPID is not installed: put `rapid` on the path, or name its jar in RAPID_JAR)");
        return Ok(());
    }
    for engine in ENGINES {
        let (mut racy, mut ours) = (0, 0);
        for (path, predicted) in scenarios {
            let trace = place.join(stem(path)).join("trace.std");
            let mut command = match &jar {
                Some(jar) => {
                    let mut command = Command::new("java");
                    command.arg("-classpath").arg(jar).arg(engine);
                    command
                }
                None => {
                    let mut command = Command::new("rapid");
                    command.arg(engine);
                    command
                }
            };
            let output = command.arg("-f=std").arg(format!("-p={}", trace.display())).output()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let found = number_behind(&said, "Number of 'racy' events found = ").unwrap_or(0) > 0;
            racy += usize::from(found);
            ours += usize::from(found && *predicted);
        }
        println!(
            "  RAPID {engine}: races on the traces of {racy} of {} scenarios; raddle confirmed or refuted some on {ours} of \
             them",
            scenarios.len()
        );
    }
    Ok(())
}
