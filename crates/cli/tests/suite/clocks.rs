//! Random programs whose outcome depends on clocks: a search that recognises states sees the same
//! ends as one of all traces and one of all schedules.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::{Place, finish, for_each, raddle};
use crate::differential::{Error, answer};
use raddle_testkit::clocks::print;
use raddle_testkit::effort::{chosen_seeds, sample};
use serde_json::Value;

/// Programs that are tried; a third of them without `--more`, ten times as many with it.
const PROGRAMS: u64 = 60;

/// How programs are built, in turns.
const BUILDS: [(&str, &str); 4] = [("gcc", "-O0"), ("clang-19", "-O2"), ("gcc", "-O2"), ("clang-19", "-O0")];

/// The search that is compared, and those that it is compared with if they are complete.
const COMPARED: [&str; 2] = ["--strategy", "stateful"];
const TRUTHS: [[&str; 4]; 2] =
    [["--strategy", "optimal", "--max-executions", "3000"], ["--strategy", "dfs", "--max-executions", "1500"]];

/// What a complete search has found, and how many runs met a known state; `None` if it is not
/// complete.
fn ends(place: &Place, options: &[&str]) -> Result<Option<(BTreeSet<Error>, u64)>, String> {
    let words = [&["check", "--json", "-", "--quiet"], options, &["./program"]].concat();
    let done = place.raddle(&words);
    let report: Value = serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.all()))?;
    if !report["reason"].is_null() {
        return if report["reason"]["code"] == "max-executions" { Ok(None) } else { Err(report["reason"].to_string()) };
    }
    Ok(Some((answer(&report).errors, report["stats"]["matched"].as_u64().unwrap_or(0))))
}

/// Compares one program. Whether there was something to compare it with, and whether states were
/// recognised.
fn compare(seed: u64) -> Result<(u64, bool), String> {
    let (compiler, level) = BUILDS[seed as usize % BUILDS.len()];
    let text = print(seed);
    let fail = |what: String| Err(format!("seed {seed} {compiler} {level}: {what}\n{text}"));
    let place = Place::new();
    place.write("program.c", &text);
    let words = ["cc", "-g", level, "-pthread", "program.c", "-o", "program"];
    let built = finish(place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    if !built.status.success() {
        return fail(built.all());
    }
    let (mut compared, mut matched) = (0, 0);
    let mut found = None;
    for options in TRUTHS {
        let truth = match ends(&place, &options) {
            Ok(Some((truth, _))) => truth,
            Ok(None) => continue,
            Err(reason) => return fail(reason),
        };
        if found.is_none() {
            found = match ends(&place, &COMPARED) {
                Ok(found) => found,
                Err(reason) => return fail(reason),
            };
        }
        let Some((found, matches)) = &found else { return fail("the compared search has no end".into()) };
        if *found != truth {
            return fail(format!("{found:?} instead of {truth:?} by {}", options[1]));
        }
        (compared, matched) = (compared + 1, *matches);
    }
    Ok((compared, matched > 0))
}

#[test]
fn states_are_told_apart_by_what_clocks_show() {
    let seeds: Vec<u64> = chosen_seeds().unwrap_or(0..sample(PROGRAMS)).collect();
    let (compared, with_all, matched) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for_each(&seeds, |&seed| {
        let (truths, is_matched) = compare(seed).inspect_err(|wrong| eprintln!("{wrong}"))?;
        compared.fetch_add(u64::from(truths > 0), Relaxed);
        with_all.fetch_add(u64::from(truths > 1), Relaxed);
        matched.fetch_add(u64::from(is_matched), Relaxed);
        Ok(())
    });
    let count = |of: AtomicU64| of.into_inner();
    let (compared, with_all, matched) = (count(compared), count(with_all), count(matched));
    let tried = seeds.len() as u64;
    println!("{tried} programs, {compared} compared, {with_all} with all schedules, {matched} with known states");
    assert!(tried < 20 || 2 * compared >= tried && 8 * matched >= tried, "too few programs say something");
}
