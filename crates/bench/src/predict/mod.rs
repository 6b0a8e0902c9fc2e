//! Prediction compared with Helgrind and DRD: the columns of the paper's table for the scenarios of
//! `tests/predict`.
//!
//! raddle observes one run of each scenario. Helgrind and DRD, if valgrind is installed, have ten
//! runs of the program without instrumentation. RAPID, if it is installed, analyses the traces that
//! raddle exports.

mod rapid;
mod valgrind;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::tools::{self, BenchError, has};
use rapid::RapidComparison;

/// Figures of a scenario, or sums of them.
#[derive(Clone, Copy, Default)]
struct Figures {
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

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.lines += other.lines;
        self.real += other.real;
        self.size += other.size;
        self.checks += other.checks;
        self.found += other.found;
        self.infeasible += other.infeasible;
        self.seconds += other.seconds;
        self.helgrind += other.helgrind;
        self.drd += other.drd;
    }

    fn row(&self, name: &str, valgrind: bool) -> String {
        let other = |value: f64| if valgrind { format!("{value:.1}") } else { "-".into() };
        format!(
            "{name:<24} {:>6} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8.1}",
            self.lines,
            self.real,
            self.size,
            self.checks,
            self.found,
            self.infeasible,
            other(self.helgrind),
            other(self.drd),
            self.seconds
        )
    }
}

/// A program with known races.
struct Scenario {
    name: String,
    path: PathBuf,
    text: String,
}

impl Scenario {
    fn read(path: PathBuf) -> Result<Self, BenchError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Scenario { name, text: std::fs::read_to_string(&path)?, path })
    }

    /// Variables with a race, and the word for a block that is freed too early.
    fn races(&self) -> BTreeSet<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("// race: ")).collect()
    }

    fn options(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| line.strip_prefix("// options: ")).flat_map(str::split_whitespace)
    }

    fn lines(&self) -> usize {
        self.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")).count()
    }

    /// Directory of the trace that RAPID reads.
    fn export(&self, place: &Path) -> PathBuf {
        place.join(&self.name)
    }
}

/// Prints the tables.
pub fn run() -> Result<(), BenchError> {
    let place = tempfile::tempdir()?;
    let with_valgrind = has("valgrind");
    let runs = valgrind::RUNS;
    println!("predict: the paper's columns, one observed run for raddle, {runs} runs for the others");
    println!(
        "{:<24} {:>6} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8}",
        "Scenario", "LOC", "Real races", "Trace size", "Checks", "Races", "Infeasible", "HG-Races", "DRD", "Seconds"
    );
    let scenarios = scenarios()?;
    let (mut sums, mut settled) = (Figures::default(), Vec::new());
    for (number, scenario) in scenarios.iter().enumerate() {
        eprintln!("predict: {} ({} of {})", scenario.name, number + 1, scenarios.len());
        let mut figures = Figures { lines: scenario.lines(), real: scenario.races().len(), ..Figures::default() };
        settled.push(predict(scenario, place.path(), &mut figures)?);
        if with_valgrind {
            [figures.helgrind, figures.drd] = valgrind::averages(&scenario.path, &scenario.races(), place.path())?;
        }
        println!("{}", figures.row(&scenario.name, with_valgrind));
        sums.add(&figures);
    }
    println!("{}", sums.row(&format!("{} scenarios", scenarios.len()), with_valgrind));
    if !with_valgrind {
        println!("  (valgrind is not installed)");
    }
    rapid::run(&scenarios, &settled, place.path())
}

fn scenarios() -> Result<Vec<Scenario>, BenchError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(tools::root().join("tests/predict"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "c") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(Scenario::read).collect()
}

/// One prediction; its figures are added.
fn predict(scenario: &Scenario, place: &Path, figures: &mut Figures) -> Result<RapidComparison, BenchError> {
    let begun = Instant::now();
    let mut command = Command::new(tools::raddle());
    command.args(["predict", "--json", "-", "--out"]).arg(place.join("run"));
    command.arg("--export").arg(scenario.export(place)).args(scenario.options()).arg(&scenario.path);
    let output = command.output()?;
    figures.seconds += begun.elapsed().as_secs_f64();
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", scenario.name, String::from_utf8_lossy(&output.stderr)))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    figures.size += number_before(&said, " steps and shared accesses");
    figures.checks += number_before(&said, " checks");
    figures.infeasible += report["stats"]["infeasible"].as_u64().unwrap_or(0);
    let findings = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shows = |finding: &Value, name: &str| {
        finding["confirmed"] == true && (finding["variable"] == name || finding["detail"] == name)
    };
    let races = scenario.races();
    figures.found += races.iter().filter(|name| findings.iter().any(|finding| shows(finding, name))).count();
    Ok(RapidComparison::of(findings))
}

/// The number before some words.
fn number_before(text: &str, words: &str) -> u64 {
    let Some(end) = text.find(words) else { return 0 };
    let digits: String = text[..end].chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap_or(0)
}
