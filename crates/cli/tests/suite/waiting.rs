//! Random programs that wait busily, compared with a search of all their states.
//!
//! No *verified* where an assertion can fail or a thread can wait for ever, no failure, deadlock or
//! livelock that does not exist. A search may give up for a reason that it names.

use raddle_testkit::effort::sample;
use raddle_testkit::waiting::oracle::{Truth, truth};
use raddle_testkit::waiting::{WaitingProgram, generate, generate_in_memory, print};
use serde_json::Value;

use crate::common::{Place, finish, for_each, raddle};

/// Programs that are compared; a third of them without `--more`, ten times as many with it.
const PROGRAMS: u64 = 60;

/// How programs are built, in turns.
const BUILDS: [(&str, &str); 6] =
    [("gcc", "-O0"), ("clang-19", "-O0"), ("gcc", "-O1"), ("clang-19", "-O2"), ("gcc", "-O2"), ("clang-19", "-O1")];

/// The strategies, and what bounds those that do not reduce anything.
const STRATEGIES: [&[&str]; 4] = [
    &["--strategy", "stateful", "--max-executions", "2000"],
    &["--strategy", "optimal", "--max-executions", "2000"],
    &["--strategy", "dpor", "--max-executions", "500"],
    &["--strategy", "dfs", "--max-executions", "300"],
];

/// Reasons to give up that such a program can give.
const REASONS: [&str; 3] = ["max-executions", "idle-rounds", "not-modelled"];

/// What is wrong with an answer, if anything is.
fn wrong(report: &Value, truth: Truth) -> Option<String> {
    let findings = report["findings"].as_array().into_iter().flatten();
    let errors: Vec<&str> = findings
        .filter(|finding| finding["severity"] == "error")
        .filter_map(|finding| finding["kind"].as_str())
        .collect();
    let has_failure = errors.contains(&"assertion");
    let is_stuck = errors.iter().any(|kind| matches!(*kind, "livelock" | "deadlock"));
    let is_other = errors.iter().any(|kind| !matches!(*kind, "assertion" | "livelock" | "deadlock"));
    let is_complete = report["reason"].is_null();
    let reason = report["reason"]["code"].as_str().unwrap_or_default();
    let what = if has_failure && !truth.fails {
        "an assertion that cannot fail"
    } else if is_stuck && !truth.stuck {
        "a deadlock or livelock that cannot be"
    } else if is_other {
        "an error that cannot be"
    } else if !has_failure && truth.fails && is_complete {
        "a failure was missed"
    } else if !is_stuck && truth.stuck && !truth.fails && is_complete {
        "threads that wait for ever were missed"
    } else if !is_complete && !REASONS.contains(&reason) {
        "it gave up"
    } else {
        return None;
    };
    Some(format!("{what}: {errors:?}, {truth:?}, {}", report["reason"]))
}

fn compare(seed: u64, program: &WaitingProgram) -> Result<(), String> {
    let Some(truth) = truth(program) else { return Ok(()) };
    let (compiler, level) = BUILDS[seed as usize % BUILDS.len()];
    let place = Place::new();
    place.write("program.c", print(program));
    let words = ["cc", "-g", level, "-pthread", "program.c", "-o", "program"];
    let built = finish(place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    let fail = |what: String| Err(format!("seed {seed} {compiler} {level}: {what}\n{program:?}"));
    if !built.status.success() {
        return fail(built.all());
    }
    for options in STRATEGIES {
        let mut words = vec!["check", "--json", "-", "--quiet"];
        words.extend(options);
        words.push("./program");
        let done = place.raddle(&words);
        let report: Value = match serde_json::from_str(&done.stdout) {
            Ok(report) => report,
            Err(error) => return fail(format!("{error}: {}", done.all())),
        };
        if let Some(wrong) = wrong(&report, truth) {
            return fail(format!("{options:?}: {wrong}"));
        }
    }
    Ok(())
}

#[test]
fn busy_waiting_agrees_with_the_graph_of_states() {
    let seeds: Vec<u64> = (0..sample(PROGRAMS)).collect();
    for_each(&seeds, |&seed| compare(seed, &generate(seed)));
}

/// Programs whose states are all in memory, so that they are recognised.
#[test]
fn busy_waiting_in_memory_agrees_with_the_graph_of_states() {
    let seeds: Vec<u64> = (0..sample(PROGRAMS)).collect();
    for_each(&seeds, |&seed| compare(seed, &generate_in_memory(seed)));
}
