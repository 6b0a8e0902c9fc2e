//! Comparing runs that must be the same.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use raddle_exec::selfcheck::{reorder, repeat, same_execution};
use raddle_exec::{Checkpoints, NativeTarget, Output, RestoreMode};
use raddle_model::defect::DefectFinder;
use raddle_model::finding::Kind;
use raddle_model::{Execution, Request, Target};
use raddle_vocab::RunStatus;
use raddle_vocab::policy::Policy;

use crate::{bases, common, directives};

/// Orders of the steps of one run that are tried.
const ORDERS: u64 = 3;
/// Runs after which the loops of a small program are known.
const LEARNING: u64 = 4;
/// Longer runs of an example are cut.
const MAX_EVENTS: u64 = 1_000_000;

/// A program of `tests/cases`.
pub fn check_case(source: &Path) -> Result<(), Failed> {
    let is_cxx = source.extension().is_some_and(|end| end == "cpp");
    let (compiler, standard) = if is_cxx { ("g++", "-std=c++20") } else { ("gcc", "-std=gnu11") };
    let words = |key: &str| directives(source, key).first().cloned().unwrap_or_default();
    let mut flags = vec![standard.to_string()];
    flags.extend(words("flags").split_whitespace().map(String::from));
    let args: Vec<OsString> = words("args").split_whitespace().map(OsString::from).collect();
    let program = common::built_around(compiler, source, &flags)?;
    check(&program, &args, 3)?;
    let resumed = bases::check(&program, &args)?;
    // Programs about what runs leave behind for others that start there.
    let is_about = |name: &str| source.ends_with(Path::new("phases").join(name));
    if is_about("heap_and_output.cpp") || is_about("waiting.c") || is_about("large_frame.c") {
        if resumed == 0 {
            return Err("no run started from the middle of another".into());
        }
    } else if is_about("kernel_state.c") && resumed > 0 {
        return Err("a run started where memory is not all".into());
    }
    Ok(())
}

/// A target for the program, whose output is thrown away.
pub fn start(
    program: &Path,
    args: &[OsString],
    mode: RestoreMode,
    checkpoints: Checkpoints,
) -> Result<NativeTarget, Failed> {
    let mut options = raddle_engine::Program::new(program).target_options().expect("a runtime");
    options.args = args.to_vec();
    options.mode = mode;
    options.checkpoints = checkpoints;
    options.output = Output::Discard;
    options.hang_timeout = Duration::from_secs(20);
    Ok(NativeTarget::start(options)?)
}

fn request(seed: u64) -> Request {
    let policy = match seed % 4 {
        0 => Policy::LeastRank,
        1 => Policy::Random { seed },
        2 => Policy::Pos { seed },
        _ => Policy::Pct { seed, depth: 3, horizon: 300 },
    };
    Request { schedule: Vec::new(), policy, max_events: MAX_EVENTS }
}

/// Runs so many schedules: each twice by snapshot, once by fork, and in other orders of its
/// independent steps.
pub fn check(program: &Path, args: &[OsString], schedules: u64) -> Result<(), Failed> {
    let mut snapshot = start(program, args, RestoreMode::Snapshot, Checkpoints::Never)?;
    let mut fork = start(program, args, RestoreMode::Fork, Checkpoints::Never)?;
    let (mut first, mut other) = (Execution::empty(), Execution::empty());
    // Failed rounds of busy waiting are left out once their loop is known: first let there be
    // nothing to learn.
    for seed in 0..schedules.min(LEARNING) {
        snapshot.submit(request(seed));
        snapshot.finish(&mut first)?;
        fork.submit(request(seed));
        fork.finish(&mut first)?;
    }
    for seed in 0..schedules {
        snapshot.submit(request(seed));
        snapshot.finish(&mut first)?;
        if let Some(difference) = repeat(&mut snapshot, &request(seed), &first)? {
            return Err(format!("seed {seed}, once more: {difference}").into());
        }
        fork.submit(request(seed));
        fork.finish(&mut other)?;
        // Idle rounds are proved by comparing pages with those of the snapshot, which a process
        // that is forked for each run does not have: then it knows fewer places than the other.
        if other.awaits >= first.awaits {
            same_execution(&first, &other).map_err(|difference| format!("seed {seed}, by fork: {difference}"))?;
        }
        // What is not modelled is named, and may depend on the order.
        if first.status != RunStatus::Rest || is_racy(&first) || !snapshot.limits().is_empty() {
            continue;
        }
        // Such a run stops where another one covers it, which depends on the order.
        if first.is_stale() {
            continue;
        }
        for order in 0..ORDERS {
            if let Some(difference) = reorder(&mut snapshot, &first, 0, order)? {
                return Err(format!("seed {seed}, in order {order}: {difference}").into());
            }
        }
    }
    Ok(())
}

/// In a racy program the order of independent steps can be seen in the values of the race.
fn is_racy(execution: &Execution) -> bool {
    DefectFinder::new().find(execution).iter().any(|defect| defect.signature.kind == Kind::DataRace)
}
