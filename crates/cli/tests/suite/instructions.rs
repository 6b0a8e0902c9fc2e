//! A guard against searches that become slower, which does not depend on the clock: instructions of
//! the host per execution, as callgrind counts them, compared with those that were written down
//! (`bench/instructions.json`). `docs/performance.md` says how to write down new ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, built, finish, raddle};
use raddle_testkit::tools::require;
use serde_json::{Value, json};

/// The programs: file of `bench/programs`, what to define.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("locked_increments", &["-O2", "-DN=5"]),
    ("readers", &["-O2", "-DN=7"]),
    ("buffer_two_conditions", &["-O2", "-DPRODUCERS=2", "-DCONSUMERS=1", "-DITEMS=1"]),
];
/// How far a figure may be from the one that was written down.
const TOLERANCE: f64 = 0.1;
/// Set to write down what is measured.
const RECORD: &str = "RADDLE_RECORD";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench").join(name)
}

fn compiler() -> String {
    let done = finish(Command::new("rustc").arg("--version"));
    done.stdout.trim().to_string()
}

/// A search that is cut after so many executions, and how many there were.
fn search(place: &Place, mut command: Command, most: u64, program: &Path) -> u64 {
    command.args(["check", "--strategy", "optimal", "--quiet", "--jobs", "1", "--json", "report.json"]);
    command.args(["--max-executions", &most.to_string()]).arg(program);
    let done = finish(&mut command);
    let report = std::fs::read_to_string(place.path("report.json")).unwrap_or_else(|_| panic!("{}", done.all()));
    let report: Value = serde_json::from_str(&report).unwrap();
    report["stats"]["executions"].as_u64().unwrap()
}

/// Instructions of a search that is cut after so many executions.
fn count(program: &Path, most: u64) -> u64 {
    let place = Place::new();
    let counts = place.path("callgrind.out");
    let mut command = place.command("valgrind");
    command.args(["--tool=callgrind", "-q", "--trace-children=no"]);
    command.arg(format!("--callgrind-out-file={}", counts.display())).arg(raddle());
    assert_eq!(search(&place, command, most, program), most);
    let text = std::fs::read_to_string(&counts).expect("callgrind writes a file");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("callgrind counts");
    total.trim().parse().unwrap()
}

/// Instructions per execution, what it takes to get to the first one taken off. Both searches are
/// cut, so that both end with the same words.
fn per_execution(source: &str, flags: &[&str]) -> u64 {
    let program = built(&path("programs").join(source).with_extension("c"), flags);
    let place = Place::new();
    let executions = search(&place, place.command(raddle()), 1_000_000, &program);
    assert!(executions > 10, "{source}: {executions} executions");
    (count(&program, executions - 1) - count(&program, 1)) / (executions - 2)
}

#[test]
fn instructions_per_execution_are_those_that_were_written_down() {
    require("valgrind");
    let file = path("instructions.json");
    let now: BTreeMap<&str, u64> =
        PROGRAMS.iter().map(|(source, flags)| (*source, per_execution(source, flags))).collect();
    // Another compiler makes other instructions.
    let rustc = compiler();
    if std::env::var_os(RECORD).is_some() {
        let text = serde_json::to_string_pretty(&json!({ "rustc": rustc, "programs": now })).unwrap();
        std::fs::write(&file, text + "\n").unwrap();
        return;
    }
    let then: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for (program, count) in now {
        let before = then["programs"][program].as_u64().unwrap_or(0);
        let change = count as f64 / before.max(1) as f64 - 1.0;
        assert!(
            change.abs() <= TOLERANCE,
            "{program}: {count} instructions per execution instead of {before} ({:+.1}%; {} then, {rustc} now). \
             If that is meant, or the compiler's doing, `./x bench guard --record` writes the new figures down",
            change * 100.0,
            then["rustc"]
        );
    }
}
