//! `./x bench apps [NAME...] [--json]`: real applications, built and checked. One table has what
//! the tables of the papers have (Inspect, Table 2; PDP): program, lines, threads, executions,
//! time, races, deadlocks, other errors, and what is known of the program. The other has the costs
//! of one `raddle run`, beside those of ThreadSanitizer.

mod catalog;
mod sources;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use self::catalog::App;
use self::sources::{Store, why};
use crate::check::measure::{Measured, measure};
use crate::tools::{BenchError, raddle, root};

/// Seconds of a check.
const TIME_LIMIT: u32 = 20;
/// How long a command may take beyond that before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(90);
/// Bytes of the input for the costs of a run, and of the one for checks.
const INPUT: usize = 350_000;
const LITTLE: usize = 3_000;
/// Runs whose least costs count.
const REPETITIONS: usize = 3;

/// How a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Raddle,
    Native,
    Tsan,
}

impl Variant {
    fn word(self) -> &'static str {
        match self {
            Variant::Raddle => "raddle",
            Variant::Native => "native",
            Variant::Tsan => "tsan",
        }
    }

    fn environment(self) -> [(&'static str, String); 4] {
        let raddle = raddle().canonicalize().unwrap_or_else(|_| raddle());
        let (cc, cxx) = match self {
            Variant::Raddle => (format!("{} cc", raddle.display()), format!("{} c++", raddle.display())),
            _ => ("gcc".into(), "g++".into()),
        };
        let flags = if self == Variant::Tsan { "-O2 -g -fsanitize=thread" } else { "-O2 -g" };
        [("CC", cc), ("CXX", cxx), ("CFLAGS", flags.into()), ("CXXFLAGS", flags.into())]
    }
}

/// What became of an application.
struct Row {
    name: String,
    lines: usize,
    known: String,
    outcome: Result<Value, String>,
    costs: Option<Value>,
}

/// Runs the benchmark for these applications, or for all.
pub fn run(words: &[String]) -> Result<(), BenchError> {
    let as_json = words.iter().any(|word| word == "--json");
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let apps = catalog::read()?;
    if let Some(unknown) = names.iter().find(|name| !apps.iter().any(|app| app.name == ***name)) {
        let known: Vec<&str> = apps.iter().map(|app| app.name.as_str()).collect();
        return Err(format!("there is no application called {unknown}; there are: {}", known.join(", ")).into());
    }
    let store = Store::new(root().join("target/apps"))?;
    let mut rows = Vec::new();
    for app in apps.iter().filter(|app| names.is_empty() || names.contains(&&app.name)) {
        eprintln!("bench: {}", app.name);
        rows.push(examine(app, &store));
    }
    if as_json {
        println!("{}", serde_json::to_string_pretty(&as_value(&rows))?);
    } else {
        print!("{}", table(&rows));
    }
    Ok(())
}

fn examine(app: &App, store: &Store) -> Row {
    let mut row =
        Row { name: app.name.clone(), lines: 0, known: app.known.clone(), outcome: Err(String::new()), costs: None };
    for package in &app.from {
        if let Err(error) = store.get(package) {
            row.outcome = Err(format!("not to be had: {error}"));
            return row;
        }
    }
    row.lines = app.lines.iter().map(|path| lines(&store.sources().join(path))).sum();
    match inputs(store).and_then(|inputs| check(app, store, &inputs).map(|report| (report, inputs))) {
        Ok((report, inputs)) => {
            row.outcome = Ok(report);
            if !app.run.is_empty() {
                match costs(app, store, &inputs) {
                    Ok(costs) => row.costs = Some(costs),
                    Err(error) => eprintln!("bench: the costs of {} are not known: {error}", app.name),
                }
            }
        }
        Err(error) => row.outcome = Err(error.to_string()),
    }
    row
}

/// Lines of C and C++ in a file, or in the files of a directory and below.
fn lines(path: &Path) -> usize {
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.map(|entry| entry.path()).filter(|path| !path.is_symlink()).map(|path| lines(&path)).sum();
    }
    let is_code = path.extension().is_some_and(|end| ["c", "h", "cc", "cpp", "hpp"].iter().any(|known| end == *known));
    if is_code { fs::read(path).unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count() } else { 0 }
}

/// Text to compress, the same in every run: what stands in this project.
fn inputs(store: &Store) -> Result<[PathBuf; 2], BenchError> {
    let mut text = Vec::new();
    for number in 0u64.. {
        if text.len() >= INPUT {
            break;
        }
        let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let _ = writeln!(TextOf(&mut text), "line {number}: {word} and {} of {}", word % 97, word % 13);
    }
    let place = store.sources();
    let (input, little) = (place.join("input"), place.join("little"));
    fs::write(&input, &text[..INPUT])?;
    fs::write(&little, &text[..LITTLE])?;
    Ok([input, little])
}

/// Takes formatted text as bytes.
struct TextOf<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for TextOf<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Builds a variant of the application, if it was not built by this raddle yet; the program.
fn build(app: &App, store: &Store, variant: Variant) -> Result<PathBuf, BenchError> {
    let place = store.build(&format!("{}-{}", app.name, variant.word()));
    let (program, stamp) = (place.join("program"), place.join("built-by"));
    let built_by = match variant {
        Variant::Raddle => format!("{:?} {}", fs::metadata(raddle())?.modified()?, app.build),
        _ => app.build.clone(),
    };
    if program.exists() && fs::read_to_string(&stamp).is_ok_and(|text| text == built_by) {
        return Ok(program);
    }
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let mut command = Command::new("sh");
    command.args(["-e", "-c", &app.build]).current_dir(&place).envs(variant.environment());
    command.env("S", store.sources()).env("B", &place).env("HERE", catalog::directory().canonicalize()?);
    let done = command.output()?;
    if !done.status.success() || !program.exists() {
        fs::write(place.join("errors"), &done.stderr)?;
        return Err(format!("the build by {} fails: {}", variant.word(), why(&done)).into());
    }
    fs::write(stamp, built_by)?;
    Ok(program)
}

fn filled(words: &[String], inputs: &[PathBuf; 2]) -> Vec<String> {
    let here = catalog::directory().canonicalize().unwrap_or_default();
    let fill = |word: &String| match word.as_str() {
        "INPUT" => inputs[0].display().to_string(),
        "LITTLE" => inputs[1].display().to_string(),
        word => word.replace("HERE", &here.display().to_string()),
    };
    words.iter().map(fill).collect()
}

/// The report of a check.
fn check(app: &App, store: &Store, inputs: &[PathBuf; 2]) -> Result<Value, BenchError> {
    let program = build(app, store, Variant::Raddle)?;
    let place = tempfile::tempdir()?;
    let mut command = Command::new(raddle().canonicalize()?);
    command.current_dir(place.path()).args(["check", "--json", "-", "--time-limit", &TIME_LIMIT.to_string()]);
    command.args(filled(&app.check, inputs)).arg(program).arg("--").args(filled(&app.args, inputs));
    let measured = measure(&mut command, PATIENCE)?.ok_or("the check does not come to its end")?;
    Ok(serde_json::from_str(&measured.output).map_err(|error| format!("the check gives no report: {error}"))?)
}

/// CPU time and memory of a run: native, by raddle and with ThreadSanitizer.
fn costs(app: &App, store: &Store, inputs: &[PathBuf; 2]) -> Result<Value, BenchError> {
    let of = |variant: Variant| -> Result<Measured, BenchError> {
        let program = build(app, store, variant)?;
        let place = tempfile::tempdir()?;
        let mut all = Vec::new();
        for _ in 0..REPETITIONS {
            let mut command = Command::new(raddle().canonicalize()?);
            match variant {
                Variant::Raddle => command.args(["run", "--quiet"]).arg(&program).arg("--"),
                _ => {
                    command = Command::new(&program);
                    &mut command
                }
            };
            command.args(filled(&app.run, inputs)).current_dir(place.path());
            all.extend(measure(&mut command, PATIENCE)?);
        }
        let least = all.into_iter().min_by(|a, b| a.cpu.total_cmp(&b.cpu));
        least.ok_or_else(|| format!("the run of {} does not come to its end", variant.word()).into())
    };
    let (native, by_raddle, tsan) = (of(Variant::Native)?, of(Variant::Raddle)?, of(Variant::Tsan)?);
    let one = |measured: &Measured| json!({ "cpu_s": measured.cpu, "memory_bytes": measured.largest });
    Ok(json!({ "native": one(&native), "raddle": one(&by_raddle), "tsan": one(&tsan) }))
}

/// Headline errors of these kinds; of all others, if there are none.
fn count(report: &Value, kinds: &[&str], are_these: bool) -> usize {
    let findings = report["findings"].as_array().into_iter().flatten();
    let counts = |finding: &&Value| {
        let kind = finding["kind"].as_str().unwrap_or_default();
        finding["severity"] == "error" && finding["group"].is_null() && kinds.contains(&kind) == are_these
    };
    findings.filter(counts).count()
}

const RACES: [&str; 1] = ["data-race"];
const DEADLOCKS: [&str; 1] = ["deadlock"];
const RACES_AND_DEADLOCKS: [&str; 2] = ["data-race", "deadlock"];

fn as_value(rows: &[Row]) -> Value {
    let one = |row: &Row| {
        let mut value = json!({ "program": row.name, "lines": row.lines, "known": row.known, "costs": row.costs });
        match &row.outcome {
            Ok(report) => {
                value["verdict"] = report["verdict"].clone();
                value["reason"] = report["reason"].clone();
                value["stats"] = report["stats"].clone();
                value["limits"] = report["limits"].clone();
                value["races"] = count(report, &RACES, true).into();
                value["deadlocks"] = count(report, &DEADLOCKS, true).into();
                value["other_errors"] = count(report, &RACES_AND_DEADLOCKS, false).into();
                let findings = report["findings"].as_array().into_iter().flatten();
                value["findings"] = findings.map(|finding| finding["message"].clone()).collect();
            }
            Err(reason) => value["missing"] = reason.clone().into(),
        }
        value
    };
    rows.iter().map(one).collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "program       lines threads executions  time s  races deadlocks  other  verdict     known true bugs\n",
    );
    for row in rows {
        match &row.outcome {
            Ok(report) => {
                let stats = &report["stats"];
                let number = |name: &str| stats[name].as_f64().unwrap_or(0.0);
                let _ = writeln!(
                    text,
                    "{:<10} {:>8} {:>7} {:>10} {:>7.1} {:>6} {:>9} {:>6}  {:<11} {}",
                    row.name,
                    row.lines,
                    number("threads"),
                    number("executions"),
                    number("seconds"),
                    count(report, &RACES, true),
                    count(report, &DEADLOCKS, true),
                    count(report, &RACES_AND_DEADLOCKS, false),
                    report["verdict"].as_str().unwrap_or("?"),
                    row.known
                );
                if let Some(reason) = report["reason"]["text"].as_str().or_else(|| report["reason"].as_str()) {
                    let _ = writeln!(text, "{:<10} {reason}", "");
                }
            }
            Err(reason) => {
                let _ = writeln!(
                    text,
                    "{:<10} {reason}{}{}",
                    row.name,
                    if row.known.is_empty() { "" } else { "; known: " },
                    row.known
                );
            }
        }
    }
    let measured: Vec<(&Row, &Value)> = rows.iter().filter_map(|row| Some((row, row.costs.as_ref()?))).collect();
    if measured.is_empty() {
        return text;
    }
    text += "\nCosts of one run with an input of 350 KB: CPU time as a multiple of the native one,\n";
    text += "memory of the largest process in MB\n";
    text += "program    native s    MB  raddle x    MB    TSan x    MB\n";
    for (row, costs) in measured {
        let seconds = |name: &str| costs[name]["cpu_s"].as_f64().unwrap_or(0.0);
        let megabytes = |name: &str| costs[name]["memory_bytes"].as_f64().unwrap_or(0.0) / 1e6;
        let native = seconds("native").max(1e-3);
        let _ = writeln!(
            text,
            "{:<10} {:>8.3} {:>5.0} {:>9.1} {:>5.0} {:>9.1} {:>5.0}",
            row.name,
            native,
            megabytes("native"),
            seconds("raddle") / native,
            megabytes("raddle"),
            seconds("tsan") / native,
            megabytes("tsan"),
        );
    }
    text
}
