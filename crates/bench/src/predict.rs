//! Prediction beside Helgrind and DRD: the columns of the paper's table, over the scenarios of `tests/predict`.
//!
//! raddle observes one run of each scenario. The others, where valgrind is installed, have ten runs of the program as the
//! compiler builds it; a race counts as found in a run if the report names its variable. RAPID, where it is installed, reads
//! the traces that raddle exports (`rapid` on the path, or its class path in `RAPID_JAR`); each variable on which it predicts a race is
//! looked up among those that raddle confirmed or showed to be infeasible.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::tools::{self, Failure, has};

const RUNS: usize = 10;
const ENGINES: [&str; 3] = ["HB", "WCP", "SyncPreserving"];

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

/// Prints the table.
pub fn run() -> Result<(), Failure> {
    let place = tempfile::tempdir()?;
    let valgrind = has("valgrind");
    println!("predict: the paper's columns, one observed run for raddle, {RUNS} runs for the others");
    println!(
        "{:<24} {:>6} {:>10} {:>10} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8}",
        "Scenario", "LOC", "Real races", "Trace size", "Checks", "Races", "Infeasible", "HG-Races", "DRD", "Seconds"
    );
    let (mut sums, mut settled) = (Figures::default(), Vec::new());
    for path in scenarios()? {
        let text = std::fs::read_to_string(&path)?;
        let real: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("// race: ")).collect();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")).count();
        let mut figures = Figures { lines, real: real.len(), ..Figures::default() };
        let variables = predict(&path, place.path(), &real, &mut figures)?;
        if valgrind {
            let program = native(&path, place.path())?;
            figures.helgrind = average(&program, "helgrind", &real)?;
            figures.drd = average(&program, "drd", &real)?;
        }
        println!("{}", figures.row(&stem(&path), valgrind));
        sums.add(&figures);
        settled.push((path, variables));
    }
    println!("{}", sums.row(&format!("{} scenarios", settled.len()), valgrind));
    if !valgrind {
        println!("  (valgrind is not installed)");
    }
    rapid(&settled, place.path())
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

/// One prediction; its figures are added. The variables whose races were confirmed or shown to be infeasible.
fn predict(
    path: &Path,
    place: &Path,
    real: &BTreeSet<&str>,
    figures: &mut Figures,
) -> Result<BTreeSet<String>, Failure> {
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
    figures.seconds += begun.elapsed().as_secs_f64();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    figures.size += number_before(&said, " steps and shared accesses");
    figures.checks += number_before(&said, " checks");
    figures.infeasible += report["stats"]["infeasible"].as_u64().unwrap_or(0);
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let shows = |finding: &serde_json::Value, name: &str| {
        finding["confirmed"] == true && (finding["variable"] == name || finding["detail"] == name)
    };
    figures.found += real.iter().filter(|name| findings.iter().any(|finding| shows(finding, name))).count();
    let settled = |finding: &&serde_json::Value| {
        finding["kind"] == "data-race" && !finding["message"].as_str().unwrap_or_default().starts_with("undecided")
    };
    let settled = || findings.iter().filter(settled);
    let names = settled().filter_map(|finding| finding["variable"].as_str());
    let on_heap = settled().filter_map(|finding| finding["object"]["kind"].as_str()).filter(|kind| *kind == "heap");
    Ok(names.chain(on_heap).map(str::to_owned).collect())
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
fn rapid(scenarios: &[(PathBuf, BTreeSet<String>)], place: &Path) -> Result<(), Failure> {
    let classes = std::env::var_os("RAPID_JAR");
    if classes.is_none() && !has("rapid") {
        println!("  (RAPID is not installed: put `rapid` on the path, or its class path in RAPID_JAR)");
        return Ok(());
    }
    for engine in ENGINES {
        let (mut races, mut missing) = (0, Vec::new());
        for (path, settled) in scenarios {
            let trace = place.join(stem(path)).join("trace.std");
            let mut command = Command::new(if classes.is_some() { "java" } else { "rapid" });
            if let Some(classes) = &classes {
                command.arg("-classpath").arg(classes);
            }
            let output = command.arg(engine).arg("-f=std").arg(format!("-p={}", trace.display())).output()?;
            let said = String::from_utf8_lossy(&output.stdout);
            if !said.contains("Analysis complete") {
                return Err(format!(
                    "RAPID cannot read {}: {}",
                    trace.display(),
                    String::from_utf8_lossy(&output.stderr)
                )
                .into());
            }
            let named = variables_at(&std::fs::read_to_string(&trace)?, &said);
            races += named.len();
            // What lies on the heap is called by the expression that reaches it.
            let known = |name: &String| settled.contains(name) || name.starts_with("heap#") && settled.contains("heap");
            let lost = named.iter().filter(|name| !known(name));
            missing.extend(lost.map(|name| format!("{}:{name}", stem(path))));
        }
        let verdict =
            if missing.is_empty() { "raddle settled them all".into() } else { format!("not settled: {missing:?}") };
        println!("  RAPID {engine}: races on {races} variables of {} traces; {verdict}", scenarios.len());
    }
    Ok(())
}

/// The variables that are accessed at the locations which RAPID names, each on a line of its own.
fn variables_at(trace: &str, said: &str) -> BTreeSet<String> {
    let locations: BTreeSet<&str> = said.lines().take_while(|line| !line.starts_with("Analysis")).collect();
    let access = |line: &str| {
        let mut fields = line.split('|');
        let operation = fields.nth(1)?.strip_prefix(['r', 'w'])?.strip_prefix('(')?.strip_suffix(')')?;
        locations.contains(fields.next()?).then(|| operation.to_owned())
    };
    trace.lines().filter_map(access).collect()
}
