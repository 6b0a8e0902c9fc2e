//! Random programs as C under weak memory models: what a search of the binary says is what a search
//! in memory says, which other tests compare with the axioms. gcc and clang, with and without
//! optimisation.
//!
//! Compared are the number of executions, whether threads wait for ever, whether there is a race,
//! and the states in which the program ends. In a racy program only the race is compared.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_explore::strategy::{Classification, Observation, Strategy as _};
use raddle_explore::weak::Weak;
use raddle_model::race::RaceDetector;
use raddle_model::weak::MemoryModel;
use raddle_model::{Execution, Target as _};
use raddle_testkit::effort::{chosen_seeds, sample};
use raddle_testkit::weak::{Ins, Theme, WeakProgram, WeakTarget, exit_status, print, random};
use raddle_vocab::MemOrder;
use serde_json::Value;

use crate::common::{Place, finish, for_each, raddle};

/// Programs that are compared with `--more`, times ten; a third of them otherwise.
const PROGRAMS: u64 = 60;
/// Programs with more runs than this are left out.
const RUNS: usize = 400;
/// What programs are built with, in turns.
const BUILDS: [(&str, &str); 4] = [("gcc", "-O0"), ("clang-19", "-O2"), ("gcc", "-O2"), ("clang-19", "-O0")];

/// What a search says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    is_racy: bool,
    executions: u64,
    /// Whether threads wait for ever in some execution.
    is_stuck: bool,
    /// Statuses that the program exits with.
    exits: BTreeSet<i64>,
}

/// What a search in memory says, if the program is not too large.
fn in_memory(program: &WeakProgram, model: MemoryModel) -> Option<Said> {
    let (mut search, mut target, mut races) = (Weak::new(model), WeakTarget::new(program), RaceDetector::new());
    let (mut said, mut execution, mut runs) = (Said::default(), Execution::empty(), 0);
    while let Some(request) = search.next() {
        runs += 1;
        if runs > RUNS {
            return None;
        }
        target.submit(request);
        target.finish(&mut execution).unwrap();
        if !races.races(&execution).is_empty() {
            return Some(Said { is_racy: true, ..Said::default() });
        }
        if search.learn(Observation::Execution(&execution)) == Classification::Redundant {
            continue;
        }
        said.executions += 1;
        if search.last_graph().unwrap().nodes.iter().any(|node| node.waits) {
            said.is_stuck = true;
        } else {
            said.exits.insert(exit_status(target.left()));
        }
    }
    Some(said)
}

/// What the command says.
fn of_binary(place: &Place, model: MemoryModel) -> Result<Said, String> {
    let statuses = (1..128).map(|status| status.to_string()).collect::<Vec<_>>().join(",");
    let options = ["check", "--json", "-", "--quiet", "--memory", model.word(), "--allow-exit", &statuses, "./program"];
    let done = place.raddle(options);
    let report: Value = serde_json::from_str(&done.stdout).map_err(|error| format!("{error}: {}", done.all()))?;
    let findings = || report["findings"].as_array().into_iter().flatten();
    let kinds = || findings().filter(|one| one["severity"] == "error").filter_map(|one| one["kind"].as_str());
    if kinds().any(|kind| kind == "data-race") {
        return Ok(Said { is_racy: true, ..Said::default() });
    }
    if !report["reason"].is_null() {
        return Err(report["reason"].to_string());
    }
    if let Some(other) = kinds().find(|kind| !matches!(*kind, "deadlock" | "livelock")) {
        return Err(format!("finding {other}"));
    }
    Ok(Said {
        is_racy: false,
        executions: report["stats"]["executions"].as_u64().unwrap_or(0),
        is_stuck: kinds().next().is_some(),
        exits: report["stats"]["exits"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect(),
    })
}

/// Compilers give a compare-exchange at least the order of its failure.
fn can_be_built(program: &WeakProgram) -> bool {
    program.iter().flatten().all(|ins| match *ins {
        Ins::Cas(_, _, _, _, success, failure) => {
            failure == MemOrder::Relaxed
                || success == MemOrder::SeqCst
                || failure != MemOrder::SeqCst && success.acquires()
        }
        _ => true,
    })
}

/// Compares one program under a model, unless it is too large.
fn compare(seed: u64) -> Result<bool, String> {
    let program = random(seed, Theme::All);
    let model = [MemoryModel::Rc11, MemoryModel::Tso][(seed / 4 % 2) as usize];
    if !can_be_built(&program) {
        return Ok(false);
    }
    let Some(expected) = in_memory(&program, model) else { return Ok(false) };
    let (compiler, degree) = BUILDS[(seed % 4) as usize];
    let place = Place::new();
    let text = print(&program);
    let wrong = |what: &str| format!("seed {seed} {model:?} {compiler} {degree}: {what}\n{program:?}\n{text}");
    place.write("program.c", &text);
    let words = ["cc", "-g", degree, "-pthread", "-w", "program.c", "-o", "program"];
    let built = finish(place.command(raddle()).env("RADDLE_CC", compiler).args(words));
    if !built.status.success() {
        return Err(wrong(&built.all()));
    }
    let found = of_binary(&place, model).map_err(|what| wrong(&what))?;
    if found == expected { Ok(true) } else { Err(wrong(&format!("{found:?}, expected {expected:?}"))) }
}

#[test]
fn weak_searches_of_binaries_agree_with_searches_in_memory() {
    let chosen = chosen_seeds();
    let wanted = if chosen.is_some() { u64::MAX } else { sample(PROGRAMS) };
    let compared = AtomicU64::new(0);
    let seeds: Vec<u64> = chosen.clone().unwrap_or_else(|| 0..4 * wanted).collect();
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
    assert!(chosen.is_some() || compared >= wanted, "only {compared} programs could be compared");
}
