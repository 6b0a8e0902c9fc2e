//! Figures that a rate does not show: several jobs, memory, long traces, the time to the first
//! execution.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::measure::measure;
use super::{PATIENCE, check, compile, source};
use crate::tools::{self, BenchError};

/// Executions of the search that several jobs share.
const SHARED: &str = "200000";
/// Executions of the search whose memory is measured.
const MANY: &str = "1000000";
/// Repetitions of short measurements.
const TIMES: usize = 10;

/// A figure and its goal.
struct Figure {
    what: &'static str,
    unit: &'static str,
    value: f64,
    goal: f64,
    /// Whether more is better.
    rising: bool,
}

/// Prints the table.
pub fn run(place: &Path) -> Result<Vec<Value>, BenchError> {
    let mut figures = Vec::new();
    figures.push(jobs(place)?);
    figures.extend(memory(place)?);
    figures.extend(long_trace(place)?);
    figures.extend(first(place)?);
    for Figure { what, unit, value, goal, rising } in &figures {
        let reached = if *rising { value >= goal } else { value <= goal };
        let side = if *rising { "at least" } else { "at most" };
        println!("  {what:<58} {value:>9.2} {unit:<5} goal: {side} {goal} {}", if reached { "reached" } else { "" });
    }
    Ok(figures
        .iter()
        .map(|figure| json!({ "what": figure.what, "unit": figure.unit, "value": figure.value, "goal": figure.goal }))
        .collect())
}

/// Speed-up of two jobs over one.
fn jobs(place: &Path) -> Result<Figure, BenchError> {
    let program = compile("locked_increments", &["-DN=9"], place)?;
    let seconds = |jobs: &str| -> Result<f64, BenchError> {
        Ok(check(&program, &["--strategy", "optimal", "--max-executions", SHARED, "--jobs", jobs])?.0.seconds)
    };
    // Alternating, so that the load of the machine affects both alike.
    let (mut one, mut two) = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        (one, two) = (one.min(seconds("1")?), two.min(seconds("2")?));
    }
    let value = one / two;
    Ok(Figure {
        what: "two jobs against one, 9 locked increments, 200,000 runs",
        unit: "times",
        value,
        goal: 1.8,
        rising: true,
    })
}

/// Memory of a million executions, and the growth of the host meanwhile.
fn memory(place: &Path) -> Result<[Figure; 2], BenchError> {
    let program = compile("locked_increments", &["-DN=10"], place)?;
    let (measured, _) = check(&program, &["--strategy", "optimal", "--max-executions", MANY])?;
    let value = measured.memory() as f64 / f64::from(1 << 20);
    let size_at = |part: f64| {
        let moment = measured.seconds * part;
        let before = measured.growth.iter().take_while(|(seconds, _)| *seconds <= moment);
        before.last().map_or(0.0, |&(_, bytes)| bytes as f64 / f64::from(1 << 20))
    };
    let grown = size_at(0.95) - size_at(0.2);
    Ok([
        Figure {
            what: "memory of a million executions, host and target",
            unit: "MB",
            value,
            goal: 200.0,
            rising: false,
        },
        Figure {
            what: "growth of the host from the first fifth to the end",
            unit: "MB",
            value: grown,
            goal: 2.0,
            rising: false,
        },
    ])
}

/// One execution of ten million events.
fn long_trace(place: &Path) -> Result<[Figure; 3], BenchError> {
    let program = compile("bigtrace", &[], place)?;
    let mut run = Command::new(tools::raddle());
    let run = measure(run.arg("run").arg(&program), PATIENCE)?.ok_or("the long trace takes too long")?;
    let (checked, report) = check(&program, &["--strategy", "optimal", "--max-executions", "1"])?;
    let events = report["stats"]["events"].as_u64().unwrap_or(0);
    if events < 10_000_000 {
        return Err(format!("the long trace has {events} events only").into());
    }
    // The shared file is mapped by both processes, and it is counted for the host already.
    let value = checked.host as f64 / f64::from(1 << 30);
    Ok([
        Figure { what: "run of 10 million events, 8 threads", unit: "s", value: run.seconds, goal: 3.0, rising: false },
        Figure { what: "check of its only execution", unit: "s", value: checked.seconds, goal: 3.0, rising: false },
        Figure { what: "memory of that", unit: "GB", value, goal: 1.0, rising: false },
    ])
}

/// Time from the start of the command to the end of its first execution, for a compiled program and
/// from source.
fn first(place: &Path) -> Result<[Figure; 2], BenchError> {
    let program = compile("locked_increments", &["-DN=2"], place)?;
    let mut best = f64::MAX;
    for _ in 0..TIMES {
        best = best.min(check(&program, &["--strategy", "optimal", "--max-executions", "1"])?.0.seconds);
    }
    let mut from_source = f64::MAX;
    for _ in 0..TIMES {
        from_source = from_source.min(check(&source("readers"), &["--cflags=-DN=2"])?.0.seconds);
    }
    Ok([
        Figure {
            what: "start to the end of the first execution",
            unit: "ms",
            value: best * 1e3,
            goal: 50.0,
            rising: false,
        },
        Figure {
            what: "check of a source file with 4 executions",
            unit: "ms",
            value: from_source * 1e3,
            goal: 500.0,
            rising: false,
        },
    ])
}
