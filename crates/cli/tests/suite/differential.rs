//! Random programs through the whole pipeline, compared with exhaustive search of the abstract
//! program they are printed from. A third of them sleeps now and then.
//!
//! * Without races, errors and counts agree for every strategy and granularity.
//! * With races, everything agrees at access granularity; at sync granularity a race is reported
//!   exactly where there is one, and every report is real.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::common::{Place, finish, for_each, raddle};
use raddle_explore::bounds::MaxExecutions;
use raddle_explore::dfs::Dfs;
use raddle_explore::{WorkerPool, explore};
use raddle_model::DefectFinder;
use raddle_model::finding::{Finding, Severity};
use raddle_testkit::effort::{chosen_seeds, sample};
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::print::{Printed, print};
use raddle_testkit::{AbstractProgram, Granularity, MemoryTarget};
use raddle_vocab::policy::mix;
use serde_json::Value;

/// Programs with more prefixes than this are left out, so that the truth is known quickly.
const PREFIXES: u64 = 1500;
/// Programs that are compared with `--more`, times ten; a third of them otherwise.
const PROGRAMS: u64 = 220;

/// What programs are built with, in turns. They are not optimised: compilers remove accesses to
/// data that is never used, and the truth has them all.
const COMPILERS: [&str; 2] = ["gcc", "clang-19"];

/// An error: kind, detail and lines.
pub type Error = (String, String, BTreeSet<u64>);

/// What a search says about a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub errors: BTreeSet<Error>,
    executions: u64,
}

impl Answer {
    pub fn has_race(&self) -> bool {
        self.errors.iter().any(|(kind, ..)| kind == "data-race")
    }

    /// Whether a thread stopped for good, so that counts are not promised.
    fn has_failure(&self) -> bool {
        self.errors.iter().any(|(kind, ..)| kind == "assertion" || kind == "crash")
    }
}

/// Everything that can happen, by exhaustive search in memory; `None` if there is too much of it.
pub fn truth(program: &AbstractProgram, printed: &Printed, granularity: Granularity) -> Option<Answer> {
    let mut finder = DefectFinder::new();
    let mut errors = BTreeSet::new();
    let mut strategy = MaxExecutions::new(Dfs::of_traces(0), PREFIXES);
    let mut target = MemoryTarget::new(program, granularity);
    let outcome = explore(&mut strategy, &mut WorkerPool::of_one(&mut target), &mut |run, _, _| {
        let execution = run.execution.unwrap();
        for defect in finder.find(execution).into_iter().filter(|defect| defect.severity == Severity::Error) {
            let signature = defect.signature;
            let line = |place: &u64| printed.lines.get(*place as usize).map_or(0, |&line| u64::from(line));
            let kind = serde_json::to_value(signature.kind).unwrap();
            let lines = signature.places.iter().map(line).filter(|&line| line > 0).collect();
            errors.insert((kind.as_str().unwrap().to_string(), signature.detail.to_string(), lines));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    outcome.incomplete.is_none().then_some(Answer { errors, executions: outcome.stats.executions })
}

/// What the command says.
fn checked(place: &Place, options: &[&str]) -> Result<Answer, String> {
    let mut words = vec!["check", "--json", "-", "--quiet"];
    words.extend(options);
    words.push("./program");
    let done = place.raddle(&words);
    let report: Value = serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.all()))?;
    if !report["reason"].is_null() && report["reason"]["code"] != "racy-values" {
        return Err(format!("{words:?}: {}", report["reason"]));
    }
    Ok(answer(&report))
}

/// What a report says.
pub fn answer(report: &Value) -> Answer {
    let findings: Vec<Finding> = serde_json::from_value(report["findings"].clone()).unwrap();
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).map(|finding| {
        let lines = finding.telling().into_iter().filter_map(|access| access.place.line).map(u64::from).collect();
        (finding.kind.word().to_string(), finding.detail.clone().unwrap_or_default(), lines)
    });
    Answer { errors: errors.collect(), executions: report["stats"]["executions"].as_u64().unwrap_or(0) }
}

/// The program with sleeps before some of its operations, which make no difference.
pub fn with_sleeps(printed: Printed, seed: u64) -> Printed {
    let lines: Vec<&str> = printed.text.lines().collect();
    let is_free = |number: usize| {
        let (line, before) = (lines[number].trim_start(), lines[number - 1].trim_end());
        before.ends_with(['{', ';', '}']) && !line.starts_with(['}', '#']) && !line.starts_with("else")
    };
    let sleeps = |number: usize| {
        let is_operation = printed.lines.contains(&(number as u32 + 1));
        is_operation && is_free(number) && mix(seed ^ mix(number as u64)).is_multiple_of(3)
    };
    let line = |(number, line): (usize, &&str)| {
        if sleeps(number) { format!("usleep(1000); {line}\n") } else { format!("{line}\n") }
    };
    Printed { text: lines.iter().enumerate().map(line).collect(), ..printed }
}

/// Compares one program; what it says on failure is enough to look into it.
fn compare(seed: u64) -> Result<bool, String> {
    let program = generate(seed, &Knobs::drawn(seed, 3, 4));
    let printed = if seed % 3 == 1 { with_sleeps(print(&program), seed) } else { print(&program) };
    let both = (truth(&program, &printed, Granularity::Sync), truth(&program, &printed, Granularity::Access));
    let (Some(sync), Some(access)) = both else { return Ok(false) };
    let place = Place::new();
    place.write("program.c", &printed.text);
    let compiler = COMPILERS[seed as usize % COMPILERS.len()];
    let flags = ["-D_GNU_SOURCE=", "-include", "unistd.h"];
    let words = [&["cc", "-g", "-O0", "-pthread"], &flags[..], &["program.c", "-o", "program"]].concat();
    let built = finish(place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    if !built.status.success() {
        return Err(format!("seed {seed} {compiler}: {}", built.all()));
    }
    for strategy in ["optimal", "dpor", "stateful"] {
        for (granularity, truth) in [("sync", &sync), ("access", &access)] {
            let wrong = |what: &str, found: &dyn std::fmt::Debug| {
                let text = &printed.text;
                Err(format!("seed {seed} {compiler} {strategy} {granularity}: {what}\n{found:?}\n{truth:?}\n{text}"))
            };
            let found = checked(&place, &["--strategy", strategy, "--granularity", granularity])
                .map_err(|error| format!("seed {seed} {strategy} {granularity}: {error}\n{}", printed.text))?;
            if granularity == "sync" && access.has_race() {
                let is_real = |error: &Error| error.0 != "data-race" || access.errors.contains(error);
                if !found.has_race() || !found.errors.iter().all(is_real) {
                    return wrong("races", &found);
                }
                continue;
            }
            if found.errors != truth.errors {
                return wrong("errors", &found);
            }
            // A search that recognises states counts other runs.
            if strategy != "stateful" && !truth.has_failure() && found.executions != truth.executions {
                return wrong("executions", &found);
            }
        }
    }
    Ok(true)
}

#[test]
fn the_pipeline_agrees_with_exhaustive_search() {
    let chosen = chosen_seeds();
    let wanted = if chosen.is_some() { u64::MAX } else { sample(PROGRAMS) };
    let compared = std::sync::atomic::AtomicU64::new(0);
    let seeds: Vec<u64> = chosen.clone().unwrap_or_else(|| 0..4 * wanted).collect();
    for_each(&seeds, |&seed| {
        if compared.load(std::sync::atomic::Ordering::Relaxed) >= wanted {
            return Ok(());
        }
        let counts = compare(seed).inspect_err(|wrong| eprintln!("{wrong}"))?;
        compared.fetch_add(u64::from(counts), std::sync::atomic::Ordering::Relaxed);
        Ok(())
    });
    let compared = compared.into_inner();
    println!("{compared} programs compared");
    assert!(chosen.is_some() || compared >= wanted, "only {compared} programs were small enough");
}
