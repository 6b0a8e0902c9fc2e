//! The end-to-end cases of `tests/cases`: each program is checked as its directives say, and the
//! JSON report compared with what they expect. `tests/README.md` describes the directives.
//!
//! Each run of each file is a test of its own, named after file, compiler and options; arguments
//! are those of any test (`cargo test --test cases -- cond/`). With `RADDLE_TEST_QUICK` there is
//! one run for each folder.

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod directives;
mod machines;
mod process;

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use raddle_testkit::effort::is_more;

use directives::{Case, Run};

/// Runs at the same time, unless the command line says otherwise: each has a host and a target.
const PARALLEL: usize = 2;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(PARALLEL));
    let root = common::sources("cases");
    let mut files = common::all_sources("cases");
    let is_quick = std::env::var_os("RADDLE_TEST_QUICK").is_some();
    if is_quick {
        files.dedup_by(|file, before| file.parent() == before.parent());
    }
    if let Some(wanted) = arguments.filter.as_deref().filter(|_| arguments.exact) {
        // A process for each test is started with its name: the other files need not be read.
        files.retain(|path| path.strip_prefix(&root).is_ok_and(|file| wanted.starts_with(&*file.to_string_lossy())));
    }
    let runs_of_each = if is_quick { 1 } else { usize::MAX };
    let mut trials: Vec<Trial> =
        files.iter().flat_map(|path| trials_of(&root, path).into_iter().take(runs_of_each)).collect();
    trials.extend(directives::self_tests());
    trials.extend(compare::self_tests());
    libtest_mimic::run(&arguments, trials).exit();
}

/// One test for each compiler and each `check:` of a file; a file that cannot be understood is a
/// test that fails.
fn trials_of(root: &Path, path: &Path) -> Vec<Trial> {
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let case = match Case::parse(&text) {
        Ok(case) => case,
        Err(error) => return vec![Trial::test(name, move || Err(Failed::from(error)))],
    };
    let mut trials = Vec::new();
    for compiler in &case.compilers {
        for (number, run) in case.runs.iter().enumerate() {
            let label =
                [format!("{name} {compiler} {}", number + 1), run.options.join(" "), run.flags.join(" ")].join(" ");
            let (path, run, compiler) = (path.to_path_buf(), run.clone(), compiler.clone());
            let is_left_out = run.long && !is_more();
            let test = move || one(&path, &compiler, &run);
            trials.push(Trial::test(label.trim_end(), test).with_ignored_flag(is_left_out));
        }
    }
    trials.extend(machines::trials_of(&name, path, &case));
    trials
}

/// Checks one program in one way, built by a compiler of this family. Counts are those of
/// `optimal`, unless a run names its strategy or a weak memory model; others are made once more as
/// users would.
fn one(path: &Path, family: &str, run: &Run) -> Result<(), Failed> {
    if !run.has_counts() || run.has_option("--strategy") || run.is_weak() {
        return check(path, family, run);
    }
    check(path, family, &run.with_options(["--strategy", "optimal"]))?;
    check(path, family, &run.without_counts())
}

fn check(path: &Path, family: &str, run: &Run) -> Result<(), Failed> {
    let ended = process::check(path, &process::compiler(family, path)?, run)?;
    let wrong = compare::differences(run, &ended);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!("{}\n{}\n{}", ended.command, wrong.join("\n"), ended.shown())))
}
