//! What tools that watch runs find beside raddle: ThreadSanitizer, Helgrind and DRD on the programs
//! of `tests/cases`, whose answers are known.
//!
//! The programs are raddle's own tests, so its column says that the tests pass, and how long that
//! takes. The other columns are generous: any report, crash, failed assertion or hang in any run
//! counts as found. Only a report on a program without a bug counts as false.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::tools::{self, BenchError};

/// Folders of programs that every tool can be expected to understand.
const FOLDERS: [&str; 14] = [
    "assert_crash",
    "atomics",
    "barrier",
    "c11",
    "cond",
    "cxx",
    "deadlock",
    "heap",
    "misuse",
    "mutex",
    "once",
    "race",
    "rwlock",
    "sem",
];

/// Programs without a bug.
const RIGHT: &str = "no bug";

/// Seconds for one run, and for one check by raddle.
const LIMIT: &str = "20";

/// A tool and how a program is given to it.
struct Tool {
    name: &'static str,
    /// How often it runs a program, as long as it finds nothing.
    runs: usize,
    /// Options of the compiler.
    flags: &'static [&'static str],
    /// What stands before the program on the command line.
    before: &'static [&'static str],
    reports: fn(&str) -> bool,
}

const TOOLS: [Tool; 4] = [
    Tool { name: "native", runs: 10, flags: &[], before: &[], reports: |_| false },
    Tool {
        name: "tsan",
        runs: 10,
        flags: &["-fsanitize=thread"],
        // Older runtimes of it refuse some layouts of the address space.
        before: &["setarch", "-R"],
        reports: |said| said.contains("WARNING: ThreadSanitizer"),
    },
    Tool { name: "helgrind", runs: 3, flags: &[], before: &["valgrind", "--tool=helgrind"], reports: valgrind_reports },
    Tool { name: "drd", runs: 3, flags: &[], before: &["valgrind", "--tool=drd"], reports: valgrind_reports },
];

fn valgrind_reports(said: &str) -> bool {
    let summary = said.lines().find_map(|line| line.split("ERROR SUMMARY: ").nth(1));
    summary.is_some_and(|summary| !summary.starts_with("0 errors"))
}

/// A program whose answer is known.
struct Known {
    source: PathBuf,
    flags: Vec<String>,
    /// The kind of its first finding, or [`RIGHT`].
    kind: String,
}

/// What a tool says about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Report,
    /// It crashed, failed or did not end, without a report.
    Abnormal,
    Nothing,
}

/// What came of a program: what each of [`TOOLS`] said with its seconds, and raddle's verdict with
/// its.
struct Row {
    said: Vec<(Said, f64)>,
    verdict: (String, f64),
}

/// Prints the table and writes the figures.
pub fn run() -> Result<(), BenchError> {
    let programs = programs()?;
    println!("compare: {} programs of tests/cases, gcc -g -O0; at most {LIMIT} s for a run", programs.len());
    let place = tempfile::tempdir()?;
    let rows = tools::in_parallel(programs.len(), |number| {
        if number % 25 == 0 {
            eprintln!("compare: {number} of {}", programs.len());
        }
        let place = place.path().join(number.to_string());
        row(&programs[number], &place).map_err(|error| format!("{}: {error}", programs[number].source.display()))
    });
    let rows = rows.into_iter().collect::<Result<Vec<Row>, String>>()?;
    table(&programs, &rows);
    let figures: Vec<_> = programs.iter().zip(&rows).map(|(program, row)| figures(program, row)).collect();
    let out = tools::root().join("target/bench");
    std::fs::create_dir_all(&out)?;
    let path = out.join("compare.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&figures)?)?;
    println!("figures: {}", path.display());
    Ok(())
}

fn figures(program: &Known, row: &Row) -> serde_json::Value {
    let mut figures = json!({
        "program": program.source.strip_prefix(tools::root()).unwrap_or(&program.source),
        "kind": program.kind,
        "raddle": { "verdict": row.verdict.0, "seconds": row.verdict.1 },
    });
    for (tool, (said, seconds)) in TOOLS.iter().zip(&row.said) {
        figures[tool.name] = json!({ "said": format!("{said:?}").to_lowercase(), "seconds": seconds });
    }
    figures
}

/// Programs that are checked with the default options and have no arguments.
fn programs() -> Result<Vec<Known>, BenchError> {
    let mut programs = Vec::new();
    for folder in FOLDERS {
        let files = std::fs::read_dir(tools::root().join("tests/cases").join(folder))?;
        let mut sources = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
        sources.sort();
        for source in sources {
            if source.extension().is_some_and(|end| end == "c" || end == "cpp") {
                let text = std::fs::read_to_string(&source)?;
                programs.extend(known(source, &text));
            }
        }
    }
    Ok(programs)
}

/// Reads the first run of a case; `None` if it has options or arguments, or if raddle cannot decide
/// it.
fn known(source: PathBuf, text: &str) -> Option<Known> {
    let mut flags: Vec<String> = Vec::new();
    let (mut checks, mut verdict, mut kind) = (0, "", None);
    let directives = text.lines().map_while(|line| line.strip_prefix("// ")?.split_once(':'));
    for (key, value) in directives {
        match key {
            "check" if !value.trim().is_empty() && checks == 0 => return None,
            "check" => checks += 1,
            "args" | "long" => return None,
            "flags" if checks < 2 => flags.extend(value.split_whitespace().map(String::from)),
            "verdict" if checks == 1 => verdict = value.trim(),
            "finding" if checks == 1 && kind.is_none() && !value.contains("severity=warning") => {
                kind = value.split_whitespace().next().map(String::from);
            }
            _ => {}
        }
    }
    let kind = match verdict {
        "verified" => RIGHT.to_string(),
        "bug" => kind?,
        _ => return None,
    };
    Some(Known { source, flags, kind })
}

fn row(program: &Known, place: &Path) -> Result<Row, BenchError> {
    std::fs::create_dir_all(place)?;
    let said = TOOLS.iter().map(|tool| said(tool, program, place)).collect::<Result<Vec<_>, _>>()?;
    Ok(Row { said, verdict: verdict(program, place)? })
}

/// What a tool says, and how many seconds its runs take.
fn said(tool: &Tool, program: &Known, place: &Path) -> Result<(Said, f64), BenchError> {
    let compiler = Command::new(if is_cxx(program) { "g++" } else { "gcc" });
    let built = build(compiler, program, tool.flags, &place.join(tool.name))?;
    let begun = Instant::now();
    let mut worst = Said::Nothing;
    for _ in 0..tool.runs {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", LIMIT]).args(tool.before).arg(&built).current_dir(place);
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        if (tool.reports)(&text) {
            worst = Said::Report;
        } else if !output.status.success() {
            worst = Said::Abnormal;
        }
        if worst != Said::Nothing {
            break;
        }
    }
    Ok((worst, begun.elapsed().as_secs_f64()))
}

/// raddle's verdict, and how many seconds the check takes.
fn verdict(program: &Known, place: &Path) -> Result<(String, f64), BenchError> {
    let mut wrapper = Command::new(tools::raddle());
    wrapper.arg(if is_cxx(program) { "c++" } else { "cc" });
    let built = build(wrapper, program, &[], &place.join("raddle"))?;
    let mut command = Command::new(tools::raddle());
    command.args(["check", "--quiet", "--json", "-", "--time-limit", LIMIT, "--out"]).arg(place.join("out"));
    let begun = Instant::now();
    let output = command.arg(built).current_dir(place).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok((report["verdict"].as_str().unwrap_or("none").into(), begun.elapsed().as_secs_f64()))
}

fn is_cxx(program: &Known) -> bool {
    program.source.extension().is_some_and(|end| end == "cpp")
}

fn build(mut compiler: Command, program: &Known, flags: &[&str], built: &Path) -> Result<PathBuf, BenchError> {
    compiler.args(["-g", "-O0", "-pthread", "-w", "-I"]).arg(tools::root().join("share"));
    let output = compiler.args(&program.flags).args(flags).arg(&program.source).arg("-o").arg(built).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(built.to_path_buf())
}

/// For each kind of finding how many programs each tool finds; for programs without a bug how many
/// false reports it makes.
fn table(programs: &[Known], rows: &[Row]) {
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for (program, row) in programs.iter().zip(rows) {
        kinds.entry(&program.kind).or_default().push(row);
    }
    let right = kinds.remove(RIGHT).unwrap_or_default();
    let names: Vec<String> = TOOLS.iter().map(|tool| format!("{:>9}", tool.name)).collect();
    println!("{:<28}{:>9}{}{:>9}", "found", "programs", names.concat(), "raddle");
    let line = |name: &str, rows: &[&Row], counts: &dyn Fn(Said) -> bool, verdict: &str| {
        let count = |tool: usize| rows.iter().filter(|row| counts(row.said[tool].0)).count();
        let counts: Vec<String> = (0..TOOLS.len()).map(|tool| format!("{:>9}", count(tool))).collect();
        let ours = rows.iter().filter(|row| row.verdict.0 == verdict).count();
        println!("{name:<28}{:>9}{}{ours:>9}", rows.len(), counts.concat());
    };
    for (kind, rows) in &kinds {
        line(kind, rows, &|said| said != Said::Nothing, "bug");
    }
    line("no bug: false report", &right, &|said| said == Said::Report, "bug");
    line("no bug: said to be so", &right, &|_| false, "verified");
    let mean = |seconds: &dyn Fn(&Row) -> f64| rows.iter().map(seconds).sum::<f64>() / rows.len() as f64;
    let means: Vec<String> =
        (0..TOOLS.len()).map(|tool| format!("{:>9.2}", mean(&|row: &Row| row.said[tool].1))).collect();
    println!("{:<37}{}{:>9.2}", "seconds a program", means.concat(), mean(&|row: &Row| row.verdict.1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_of_a_case_says_what_is_known() {
        let text = "// flags: -DN=2\n// check:\n// verdict: bug\n// finding: deadlock detail=cycle\n\
                    // check: --jobs 2\n// verdict: verified\n";
        let known = known(PathBuf::from("a.c"), text).expect("it has no options");
        assert_eq!((known.kind.as_str(), known.flags), ("deadlock", vec!["-DN=2".to_string()]));
    }

    #[test]
    fn cases_with_options_or_without_a_verdict_are_left_out() {
        for text in ["// check: --strategy dfs\n// verdict: bug\n", "// check:\n// verdict: incomplete\n"] {
            assert!(known(PathBuf::from("a.c"), text).is_none(), "{text}");
        }
    }

    #[test]
    fn valgrind_says_how_many_errors_there_are() {
        assert!(valgrind_reports("==1== ERROR SUMMARY: 2 errors from 1 contexts"));
        assert!(!valgrind_reports("==1== ERROR SUMMARY: 0 errors from 0 contexts"));
    }
}
