//! Random programs as C, with and without optimisation: each binary under several searches.
//!
//! Whether a search reports a race is compared with exhaustive search of the same binary, which
//! takes every schedule. Without races these must be the same, too: deadlocks, failed assertions,
//! misuse, and the states that the program ends in, which it shows by its exit status. Reports do
//! not depend on the number of workers.
//!
//! In half of the programs variables are volatile. A compiler leaves their accesses alone, so what
//! the binary does is compared with exhaustive search of the abstract program as well. In the
//! others it may remove accesses, and races with them: only searches of one binary are compared.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::common::{Place, finish, for_each, raddle};
use crate::differential::{Answer, Error, answer, truth, with_sleeps};
use raddle_testkit::Granularity;
use raddle_testkit::effort::{chosen_seeds, sample};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::print::{Printed, Style, print_as};

/// Programs that are compared with `--more`, times ten; a third of them otherwise.
const PROGRAMS: u64 = 100;
/// The first seed, which the other test does not reach.
const FIRST: u64 = 100_000;
/// What programs are built with, in turns.
const BUILDS: [(&str, &str); 6] =
    [("gcc", "-O0"), ("clang-19", "-O2"), ("gcc", "-O1"), ("clang-19", "-O0"), ("gcc", "-O2"), ("clang-19", "-O1")];
/// Exhaustive search of a binary with more schedules is left out.
const SCHEDULES: &str = "3000";

/// One program of the test.
struct Sample {
    seed: u64,
    printed: Printed,
    /// Compiler and degree of optimisation.
    build: (&'static str, &'static str),
    place: Place,
}

/// What a search says of a program.
struct Said {
    answer: Answer,
    /// Statuses that the program exits with.
    exits: BTreeSet<i64>,
    report: Value,
}

impl Sample {
    fn wrong(&self, what: &str, found: &dyn std::fmt::Debug) -> String {
        let (Sample { seed, build, printed, .. }, text) = (self, &self.printed.text);
        format!("seed {seed} {build:?}, places {:?}: {what}: {found:?}\n{text}", printed.lines.len())
    }

    /// What a search says; nothing if it has met the bound on executions.
    fn said(&self, options: &[&str]) -> Result<Option<Said>, String> {
        let statuses = (1..128).map(|status| status.to_string()).collect::<Vec<_>>().join(",");
        let words = [&["check", "--json", "-", "--quiet", "--allow-exit", &statuses], options, &["./program"]].concat();
        let done = self.place.raddle(words);
        let mut report: Value =
            serde_json::from_str(&done.stdout).map_err(|error| self.wrong(&error.to_string(), &done.all()))?;
        match report["reason"]["code"].as_str() {
            None | Some("racy-values") => {}
            Some("max-executions") => return Ok(None),
            Some(_) => return Err(self.wrong(&format!("{options:?}"), &report["reason"])),
        }
        let exits = report["stats"]["exits"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        report["stats"]["seconds"].take();
        let mut answer = answer(&report);
        let of_any_line =
            |error: Error| if error.1 == EITHER_WAIT { (error.0, error.1, BTreeSet::new()) } else { error };
        answer.errors = answer.errors.into_iter().map(of_any_line).collect();
        Ok(Some(Said { answer, exits, report }))
    }

    /// Compares what two searches say.
    fn agree(&self, name: &str, one: &Said, other: &Said) -> Result<(), String> {
        let (left, right) = (&one.answer, &other.answer);
        let same = left.has_race() == right.has_race()
            && (left.has_race() || left.errors == right.errors && one.exits == other.exits);
        if same {
            return Ok(());
        }
        Err(self.wrong(name, &[(&left.errors, &one.exits), (&right.errors, &other.exits)]))
    }
}

/// That waits for one condition variable name two mutexes is told of the later one. Waits that
/// begin commute, so which one that is may differ.
const EITHER_WAIT: &str = "cond-two-mutexes";

/// Errors without their lines: an optimising compiler joins lines.
fn kinds(errors: &BTreeSet<Error>) -> BTreeSet<(&str, &str)> {
    errors.iter().map(|(kind, detail, _)| (kind.as_str(), detail.as_str())).collect()
}

/// Compares one program, unless it is too large.
fn compare(seed: u64) -> Result<bool, String> {
    // Runs of seeds, so that every build and style has such programs.
    let (handlers, heap) = (seed.is_multiple_of(11), seed / 12 % 3 == 1);
    let knobs = Knobs { handlers, heap: heap && !handlers, ..Knobs::drawn(seed, 3, 4) };
    let program = generate(seed, &knobs);
    let style = Style { volatile: seed.is_multiple_of(2), shows_end: true };
    let printed = print_as(&program, style);
    let printed = if seed % 3 == 1 { with_sleeps(printed, seed) } else { printed };
    let Some(truth) = truth(&program, &printed, Granularity::Sync) else { return Ok(false) };
    let build @ (compiler, degree) = BUILDS[(seed / 2) as usize % BUILDS.len()];
    let sample = Sample { seed, printed, build, place: Place::new() };
    sample.place.write("program.c", &sample.printed.text);
    let words =
        ["cc", "-g", degree, "-pthread", "-w", "-D_GNU_SOURCE=", "-include", "unistd.h", "program.c", "-o", "program"];
    let built = finish(sample.place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    if !built.status.success() {
        return Err(sample.wrong("build", &built.all()));
    }
    let optimal = sample.said(&["--strategy", "optimal", "--jobs", "1"])?.ok_or("no bound was set")?;
    let stateful = sample.said(&["--strategy", "stateful", "--jobs", "1"])?.ok_or("no bound was set")?;
    sample.agree("stateful and optimal", &stateful, &optimal)?;
    let [alone, shared] = ["1", "3"].map(|jobs| sample.said(&["--jobs", jobs]));
    let (alone, shared) = (alone?.ok_or("no bound was set")?, shared?.ok_or("no bound was set")?);
    sample.agree("auto and stateful", &alone, &stateful)?;
    if alone.report != shared.report {
        return Err(sample.wrong("one worker and three", &(alone.report.to_string(), shared.report.to_string())));
    }
    if let Some(all) = sample.said(&["--strategy", "dfs", "--jobs", "1", "--max-executions", SCHEDULES])? {
        sample.agree("stateful and all schedules", &stateful, &all)?;
    }
    if !style.volatile && degree != "-O0" {
        return Ok(true);
    }
    let found = &stateful.answer;
    let agrees = match truth.has_race() {
        true => found.has_race(),
        false => kinds(&found.errors) == kinds(&truth.errors),
    };
    if agrees { Ok(true) } else { Err(sample.wrong("the abstract program", &(&found.errors, &truth.errors))) }
}

#[test]
fn searches_of_one_binary_agree() {
    let chosen = chosen_seeds();
    let wanted = if chosen.is_some() { u64::MAX } else { sample(PROGRAMS) };
    let compared = AtomicU64::new(0);
    let seeds: Vec<u64> = chosen.clone().unwrap_or_else(|| FIRST..FIRST + 4 * wanted).collect();
    for_each(&seeds, |&seed| {
        if compared.load(Ordering::Relaxed) >= wanted {
            return Ok(());
        }
        let counts = compare(seed).inspect_err(|wrong| eprintln!("{wrong}"))?;
        compared.fetch_add(u64::from(counts), Ordering::Relaxed);
        Ok(())
    });
    let compared = compared.into_inner();
    println!("{compared} programs compared");
    assert!(chosen.is_some() || compared >= wanted, "only {compared} programs were small enough");
}
