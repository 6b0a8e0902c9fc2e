//! The cases on another processor: programs for aarch64, which run under qemu. They end as on this
//! machine, with as many executions and transitions.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use raddle_testkit::effort::is_more;
use raddle_testkit::tools;

use crate::directives::{Case, Run};
use crate::{compare, process};

/// Folders that are checked without `--more`, too.
const ALWAYS: [&str; 6] = ["barrier/", "c11/", "mutex/", "once/", "sem/", "tls_keys/"];

/// Cases that end in another way there, and why.
const DIFFERENT: [(&str, &str); 4] = [
    ("assert_crash/division_by_zero.c", "the processor gives 0"),
    ("assert_crash/trap.c", "the instruction sends SIGTRAP"),
    ("process/made_in_place.c", "qemu gives each child memory of its own, and has no clone3"),
    ("timed/counter_of_the_processor.c", "the instruction is another one, and not reported"),
];

/// Tests for the runs of a case that make sense on the other processor.
pub fn trials_of(name: &str, path: &Path, case: &Case) -> Vec<Trial> {
    let is_different = DIFFERENT.iter().any(|(different, _)| *different == name);
    if is_different || !case.compilers.iter().any(|compiler| compiler == "gcc") {
        return Vec::new();
    }
    let is_left_out = !is_more() && !ALWAYS.iter().any(|folder| name.starts_with(folder));
    let runs = case.runs.iter().enumerate().filter(|(_, run)| !asks_the_analyser(run) && !run.long);
    runs.map(|(number, run)| {
        let label = [format!("{name} aarch64 {}", number + 1), run.options.join(" "), run.flags.join(" ")].join(" ");
        let (path, run) = (path.to_path_buf(), run.clone());
        Trial::test(label.trim_end(), move || one(&path, &run)).with_ignored_flag(is_left_out)
    })
    .collect()
}

/// Facts about a program come from the bitcode of clang.
fn asks_the_analyser(run: &Run) -> bool {
    run.options.iter().any(|option| option == "pdp" || option == "dhtc")
}

/// Which states are equal depends on the machine code, so `optimal` is compared. A run that names
/// another strategy ends in the same way.
fn one(path: &Path, run: &Run) -> Result<(), Failed> {
    let names_strategy = run.has_option("--strategy") || run.is_weak();
    // Of the x86 alone.
    let mut run = run.clone();
    run.flags.retain(|flag| flag != "-mcx16");
    let run = if names_strategy { run.without_counts() } else { run.with_options(["--strategy", "optimal"]) };
    let here = process::check(path, &process::compiler("gcc", path)?, &run)?;
    let there = process::check(path, &cross_compiler(path)?, &run)?;
    let mut wrong = compare::differences(&run, &there);
    if !names_strategy {
        for count in ["executions", "transitions", "blocked"] {
            let [own, other] = [&here, &there].map(|ended| &ended.report["stats"][count]);
            if own != other {
                wrong.push(format!("{other} {count} instead of {own}"));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!("{}\n{}\n{}", there.command, wrong.join("\n"), there.shown())))
}

fn cross_compiler(path: &Path) -> Result<String, Failed> {
    let is_cxx = path.extension().is_some_and(|end| end == "cpp");
    let base = if is_cxx { "aarch64-linux-gnu-g++" } else { "aarch64-linux-gnu-gcc" };
    let has_both = tools::find(base).is_some() && tools::find("qemu-aarch64").is_some();
    let missing = || format!("this needs {base} and qemu-aarch64: `./x test` installs them").into();
    has_both.then(|| base.to_owned()).ok_or_else(missing)
}
