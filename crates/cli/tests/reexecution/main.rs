//! The same schedule gives the same run: again, in a process of its own, from the middle of
//! another, and in every order of independent steps.
//!
//! * Every program under `tests/cases` under several policies.
//! * The programs under `tests/engine` use every feature of the thread libraries and check
//!   themselves. Each says at its top what it prints, whatever the schedule; it is built by every
//!   compiler of its language, with and without optimisation, and must print that in every one of a
//!   hundred runs, and without raddle.
//! * The programs under `tests/programs/fresh` check that no run notices those before it.

mod bases;
#[path = "../common/mod.rs"]
mod common;
mod fresh;
mod same;

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use raddle_exec::{NativeTarget, Output, RestoreMode};
use raddle_model::{Execution, PendingState, Request, Target};
use raddle_testkit::tools::require;
use raddle_vocab::policy::Policy;

/// Schedules tried.
const SEEDS: u64 = 100;
/// Names the program and the mode when this very test is started once more, to have its output in a
/// pipe.
const CHILD: &str = "RADDLE_PRINTING_CHILD";

fn main() {
    if let Ok(job) = std::env::var(CHILD) {
        let (mode, program) = job.split_once(':').expect("mode and program");
        print_all(Path::new(program), if mode == "fork" { RestoreMode::Fork } else { RestoreMode::Snapshot });
        return;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let mut trials = Vec::new();
    for source in common::all_sources("engine") {
        for (compiler, degree) in builds(&source) {
            let source = source.clone();
            let file = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            trials.push(Trial::test(format!("engine/{file} {compiler} {degree}"), move || {
                feature(&source, compiler, degree)
            }));
        }
    }
    let cases = common::sources("cases");
    for source in common::all_sources("cases") {
        let name = source.strip_prefix(&cases).unwrap_or(&source).display().to_string();
        trials.push(Trial::test(format!("cases/{name}"), move || same::check_case(&source)));
    }
    for source in common::all_sources("programs/fresh") {
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(Trial::test(format!("fresh/{name}"), move || fresh::check(&source)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Each build of a program.
fn builds(source: &Path) -> Vec<(&'static str, &'static str)> {
    let is_cxx = source.extension().is_some_and(|end| end == "cpp");
    let compilers = if is_cxx { ["g++", "clang++-19"] } else { ["gcc", "clang-19"] };
    compilers.into_iter().flat_map(|compiler| [(compiler, "-O0"), (compiler, "-O2")]).collect()
}

/// Values of a directive at the top of a program.
fn directives(source: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let prefix = format!("// {name}: ");
    text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_string).collect()
}

fn feature(source: &Path, compiler: &str, degree: &str) -> Result<(), Failed> {
    require(compiler);
    let mut flags = vec![degree.to_string(), "-w".into()];
    flags.extend(directives(source, "std").iter().map(|standard| format!("-std={standard}")));
    let program = common::built_around(compiler, source, &flags)?;
    let expected = directives(source, "prints").join("\n") + "\n";
    let alone = Command::new(&program).output()?;
    if !alone.status.success() || alone.stdout != expected.as_bytes() {
        return Err(format!("without raddle: {}\n{}", alone.status, String::from_utf8_lossy(&alone.stderr)).into());
    }
    for mode in ["snapshot", "fork"] {
        let job = format!("{mode}:{}", program.display());
        let output = Command::new(std::env::current_exe()?).env(CHILD, job).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if printed != expected.repeat(SEEDS as usize) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{mode}: {} lines printed, {}\n{said}", printed.lines().count(), output.status).into());
        }
    }
    same::check(&program, &[], SEEDS / 20)?;
    bases::check(&program, &[]).map(|_| ())
}

/// Makes [`SEEDS`] runs with the program's output on ours; anything but a clean end ends this
/// process, too. A run that another one covers ([`PendingState::Stale`]) does not come to the end
/// of the program and does not count.
fn print_all(program: &Path, mode: RestoreMode) {
    let mut options = raddle_engine::Program::new(program).target_options().expect("a runtime");
    options.mode = mode;
    options.output = Output::Inherit;
    let mut target = NativeTarget::start(options).expect("the program starts");
    let mut execution = Execution::empty();
    let (mut counted, mut covered) = (0, 0);
    while counted < SEEDS {
        let seed = counted + covered;
        let policy = Policy::Random { seed };
        target.submit(Request { schedule: Vec::new(), policy, max_events: 1_000_000 });
        let run = target.finish(&mut execution);
        let is_stale = execution.pending.iter().any(|pending| pending.state == PendingState::Stale);
        if run.is_ok() && is_stale && covered < SEEDS / 10 {
            covered += 1;
            continue;
        }
        if run.is_err() || execution.exit != Some(0) || !execution.incidents.is_empty() {
            eprintln!("seed {seed}: {run:?}, {:?}, {:?}", execution.exit, execution.incidents);
            std::process::exit(1);
        }
        counted += 1;
    }
}
