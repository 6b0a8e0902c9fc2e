//! RAPID on the exported traces: `rapid` on the path, or its class path, libraries included, in
//! `RAPID_JAR`.
//!
//! A race of RAPID is the event at which an engine reports it, that is, a variable and a location.
//! raddle must have settled it: confirmed a race of this variable at this location, or shown that
//! it is infeasible.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Scenario;
use crate::tools::{BenchError, has, in_parallel};

const ENGINES: [&str; 3] = ["HB", "WCP", "SyncPreserving"];

/// Variable and location of an access.
type Access = (String, String);

/// Accesses of the races that raddle decided.
#[derive(Default)]
pub struct RapidComparison {
    confirmed: BTreeSet<Access>,
    infeasible: BTreeSet<Access>,
}

/// raddle's result for a race of RAPID.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RapidVerdict {
    Confirmed,
    Infeasible,
    Missing,
}

impl RapidComparison {
    /// Extracts them from the findings of a report.
    pub fn of(findings: &[Value]) -> Self {
        let mut settled = RapidComparison::default();
        for finding in findings.iter().filter(|finding| finding["kind"] == "data-race") {
            let infeasible = finding["message"].as_str().is_some_and(|text| text.starts_with("infeasible"));
            let accesses = match (finding["confirmed"] == true, infeasible) {
                (true, _) => &mut settled.confirmed,
                (false, true) => &mut settled.infeasible,
                (false, false) => continue,
            };
            // A heap block is named by an expression, so only its location is compared.
            let on_heap = finding["object"]["kind"] == "heap";
            let variable = finding["variable"].as_str().filter(|_| !on_heap).unwrap_or(HEAP);
            for access in finding["accesses"].as_array().into_iter().flatten() {
                let place = &access["place"];
                let place = format!("{}:{}", place["file"].as_str().unwrap_or_default(), place["line"]);
                accesses.insert((variable.to_owned(), place));
            }
        }
        settled
    }

    fn verdict(&self, access: &Access) -> RapidVerdict {
        if self.confirmed.contains(access) {
            RapidVerdict::Confirmed
        } else if self.infeasible.contains(access) {
            RapidVerdict::Infeasible
        } else {
            RapidVerdict::Missing
        }
    }
}

/// The name of all blocks on the heap.
const HEAP: &str = "heap";

/// Prints the races of each engine and raddle's results for them.
pub fn run(scenarios: &[Scenario], settled: &[RapidComparison], place: &Path) -> Result<(), BenchError> {
    let classes = std::env::var_os("RAPID_JAR");
    if classes.is_none() && !has("rapid") {
        println!(
            "  (RAPID is not installed: put `rapid` on the path, or its class path \
             in RAPID_JAR: 'rapid.jar:lib/*:lib/jgrapht/*')"
        );
        return Ok(());
    }
    eprintln!("predict: RAPID");
    let races = in_parallel(scenarios.len() * ENGINES.len(), |number| {
        let (scenario, engine) = (&scenarios[number / ENGINES.len()], ENGINES[number % ENGINES.len()]);
        predicted(&scenario.export(place), engine, classes.as_ref())
    });
    let races = races.into_iter().collect::<Result<Vec<_>, String>>()?;
    println!("RAPID on the traces of raddle's runs: accesses (variables) with a race");
    println!(
        "{:<24} {:>10} {:>10} {:>15} {:>10} {:>10} {:>8}",
        "Scenario", "HB", "WCP", "SyncPreserving", "confirmed", "infeasible", "missing"
    );
    let mut sums = Row::default();
    for ((scenario, settled), races) in scenarios.iter().zip(settled).zip(races.chunks(ENGINES.len())) {
        let row = Row::of(settled, races);
        println!("{}", row.text(&scenario.name));
        for (variable, place) in &row.lost {
            println!("  {}: raddle has not settled the race on {variable} at {place}", scenario.name);
        }
        sums.add(&row);
    }
    println!("{}", sums.text(&format!("{} scenarios", scenarios.len())));
    let verdict =
        if sums.lost.is_empty() { "every one is confirmed or infeasible" } else { "NOT every one is settled" };
    println!("  {verdict}");
    Ok(())
}

/// Figures of one scenario, or sums.
#[derive(Default)]
struct Row {
    /// Accesses and variables, by engine.
    found: [(usize, usize); ENGINES.len()],
    confirmed: usize,
    infeasible: usize,
    lost: BTreeSet<Access>,
}

impl Row {
    fn of(settled: &RapidComparison, races: &[BTreeSet<Access>]) -> Self {
        let mut row = Row::default();
        for (found, accesses) in row.found.iter_mut().zip(races) {
            let variables: BTreeSet<&String> = accesses.iter().map(|(variable, _)| variable).collect();
            *found = (accesses.len(), variables.len());
        }
        for access in races.iter().flatten().collect::<BTreeSet<_>>() {
            match settled.verdict(access) {
                RapidVerdict::Confirmed => row.confirmed += 1,
                RapidVerdict::Infeasible => row.infeasible += 1,
                RapidVerdict::Missing => drop(row.lost.insert(access.clone())),
            }
        }
        row
    }

    fn add(&mut self, other: &Row) {
        for (sum, found) in self.found.iter_mut().zip(other.found) {
            *sum = (sum.0 + found.0, sum.1 + found.1);
        }
        self.confirmed += other.confirmed;
        self.infeasible += other.infeasible;
        self.lost.extend(other.lost.iter().cloned());
    }

    fn text(&self, name: &str) -> String {
        let [hb, wcp, sync] = self.found.map(|(accesses, variables)| format!("{accesses} ({variables})"));
        let (confirmed, infeasible, lost) = (self.confirmed, self.infeasible, self.lost.len());
        format!("{name:<24} {hb:>10} {wcp:>10} {sync:>15} {confirmed:>10} {infeasible:>10} {lost:>8}")
    }
}

/// The accesses at which an engine reports a race.
fn predicted(export: &Path, engine: &str, classes: Option<&OsString>) -> Result<BTreeSet<Access>, String> {
    let path = export.join("trace.std");
    let mut command = Command::new(if classes.is_some() { "java" } else { "rapid" });
    if let Some(classes) = classes {
        command.arg("-classpath").arg(classes);
    }
    command.arg(engine).args(["-f=std", "-v=1"]).arg(format!("-p={}", path.display()));
    let output = command.output().map_err(|error| format!("RAPID: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.contains("Analysis complete") {
        let errors = String::from_utf8_lossy(&output.stderr);
        let hint =
            if errors.contains("NoClassDefFoundError") { " (RAPID_JAR must name its libraries, too)" } else { "" };
        return Err(format!("RAPID cannot read {}{hint}: {errors}", path.display()));
    }
    let read = |name: &str| std::fs::read_to_string(export.join(name)).map_err(|error| format!("{name}: {error}"));
    let (trace, table) = (read("trace.std")?, read("trace.txt")?);
    let places: BTreeMap<&str, &str> = table.lines().filter_map(numbered_place).collect();
    let numbers = said.lines().filter_map(|line| line.strip_prefix("Race detected at event ")?.split(' ').next());
    let event = |number: &str| trace.lines().nth(number.parse::<usize>().ok()?.checked_sub(1)?);
    let access = |line: &str| {
        let mut fields = line.split('|').skip(1);
        let variable = fields.next()?.strip_prefix(['r', 'w'])?.strip_prefix('(')?.strip_suffix(')')?;
        let variable = if variable.starts_with("heap#") { HEAP } else { variable };
        Some((variable.to_owned(), (*places.get(fields.next()?)?).to_owned()))
    };
    let find = |number| {
        event(number)
            .and_then(access)
            .ok_or(format!("RAPID names event {number} of {}, which is no access", path.display()))
    };
    numbers.map(find).collect()
}

/// The number of a location and the location, from a row of the table.
fn numbered_place(row: &str) -> Option<(&str, &str)> {
    let (number, rest) = row.trim_start().split_once(' ')?;
    Some((number, rest.rsplit_once("  ")?.1))
}
