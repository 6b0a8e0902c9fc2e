//! Runs under Helgrind and DRD.
//!
//! A race counts as found in a run if its address is inside the variable. The addresses are those
//! of the program's symbols, because it is linked to a fixed address. With `--read-var-info` the
//! tools would name variables themselves, which takes seconds per run.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{BenchError, in_parallel};

/// Runs under each tool.
pub const RUNS: usize = 10;
const TOOLS: [&str; 2] = ["helgrind", "drd"];
/// Seconds for one run.
const PATIENCE: &str = "60";

/// Races that each tool finds in a run, on average.
pub fn averages(source: &Path, races: &BTreeSet<&str>, place: &Path) -> Result<[f64; 2], BenchError> {
    let program = compile(source, place)?;
    let wanted = places(&program, races)?;
    let found = in_parallel(TOOLS.len() * RUNS, |number| {
        let reported = reported(&program, TOOLS[number / RUNS])?;
        let lies_in = |memory: &&Option<Range<u64>>| match memory {
            Some(memory) => reported.iter().any(|address| memory.contains(address)),
            // The program has no other data on the heap.
            None => !reported.is_empty(),
        };
        Ok(wanted.iter().filter(lies_in).count())
    });
    let found = found.into_iter().collect::<Result<Vec<usize>, String>>()?;
    let average = |tool: usize| found[tool * RUNS..][..RUNS].iter().sum::<usize>() as f64 / RUNS as f64;
    Ok([average(0), average(1)])
}

fn compile(source: &Path, place: &Path) -> Result<PathBuf, BenchError> {
    let program = place.join("native");
    let mut command = Command::new("gcc");
    let status = command.args(["-g", "-O0", "-pthread", "-no-pie"]).arg(source).arg("-o").arg(&program).status()?;
    if !status.success() {
        return Err(format!("gcc cannot compile {}", source.display()).into());
    }
    Ok(program)
}

/// Addresses of the variables; `None` for a variable that is no symbol.
fn places(program: &Path, names: &BTreeSet<&str>) -> Result<Vec<Option<Range<u64>>>, BenchError> {
    let output = Command::new("nm").arg("-S").arg(program).output()?;
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = |name: &&str| {
        symbols.lines().find_map(|line| {
            let [start, size, _, symbol] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
            let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
            (symbol == *name).then(|| Some(number(start)?..number(start)? + number(size)?))?
        })
    };
    Ok(names.iter().map(place).collect())
}

/// Addresses of all races in one run.
fn reported(program: &Path, tool: &str) -> Result<BTreeSet<u64>, String> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE).arg("valgrind").arg(format!("--tool={tool}")).arg(program);
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !said.contains("ERROR SUMMARY") {
        return Err(format!("{tool} did not come to its end on {}: {said}", program.display()));
    }
    Ok(said.lines().filter_map(address).collect())
}

/// The address in the first line of a race.
fn address(line: &str) -> Option<u64> {
    let race = line.contains("Possible data race") || line.contains("Conflicting");
    let behind = line.split(" at 0x").nth(1).filter(|_| race)?;
    let digits = behind.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}
