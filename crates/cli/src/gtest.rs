//! `raddle check --gtest`: one verdict for each test of a GoogleTest program.
//!
//! The program itself lists its tests, run without raddle. Each test is then checked as a program
//! of its own, with a filter for this test. A failed expectation becomes an uncaught exception,
//! which is a finding.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use raddle_engine::directory::ROOT;
use raddle_engine::has_panicked;
use raddle_model::finding::{Report, Verdict};
use raddle_report::junit::{self, Case};

use crate::args::CheckArgs;
use crate::check::{self, build::Input};
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    suite: String,
    name: String,
}

impl Test {
    fn full_name(&self) -> String {
        format!("{}.{}", self.suite, self.name)
    }

    /// A name for a directory: parametrised tests have slashes.
    fn directory(&self) -> String {
        self.full_name().replace('/', "_")
    }
}

/// Runs the command.
pub fn run(args: &CheckArgs) -> CommandResult {
    if args.sarif.is_some() || args.html.is_some() || args.json.is_some() {
        return Err(CommandError(
            "--gtest makes one run per test: use --junit for all of them, or `raddle report RUN` for one".into(),
        ));
    }
    let input = Input::of(&args.inputs)?;
    let base = args.out.clone().unwrap_or_else(|| Path::new(ROOT).join(input.name()));
    std::fs::create_dir_all(&base).map_err(|error| CommandError(format!("{}: {error}", base.display())))?;
    let program = check::program(args, &input, &base)?;
    let program = program.path();
    let tests = list(program, &args.args)?;
    let mut reports = Vec::new();
    for test in &tests {
        let report = check::check(&arguments(args, program, &base, test), None, None)?;
        say(&format!("raddle: {:<11} {}", word(report.verdict), test.full_name()));
        reports.push(report);
    }
    if let Some(path) = &args.junit {
        let text = suite(&input.name(), &tests, &reports);
        std::fs::write(path, text).map_err(|error| CommandError(format!("{}: {error}", path.display())))?;
    }
    let count = |verdict| reports.iter().filter(|report| report.verdict == verdict).count();
    let (verified, bugs, open) = (count(Verdict::Verified), count(Verdict::Bug), count(Verdict::Incomplete));
    say(&format!("raddle: {} tests: {verified} verified, {bugs} with a bug, {open} incomplete", tests.len()));
    Ok(match (bugs, open) {
        _ if reports.iter().any(has_panicked) => exit_codes::UNUSABLE,
        (0, 0) => exit_codes::FINE,
        (0, _) => exit_codes::OPEN,
        _ => exit_codes::FOUND,
    })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Verified => "verified",
        Verdict::Bug => "bug",
        Verdict::Incomplete => "incomplete",
    }
}

fn suite(program: &str, tests: &[Test], reports: &[Report]) -> String {
    let case = |(test, report): (&'_ Test, &'_ Report)| (test.clone(), report.clone());
    let pairs: Vec<(Test, Report)> = tests.iter().zip(reports).map(case).collect();
    let cases: Vec<Case<'_>> =
        pairs.iter().map(|(test, report)| Case { class: &test.suite, name: &test.name, report }).collect();
    junit::suite(program, &cases)
}

/// The arguments for the check of one test.
fn arguments(args: &CheckArgs, program: &Path, base: &Path, test: &Test) -> CheckArgs {
    let mut one = args.clone();
    one.inputs = vec![program.to_path_buf()];
    one.args.push(format!("--gtest_filter={}", test.full_name()).into());
    // A failure becomes an exception, and GoogleTest must not catch it on the way.
    one.args.push("--gtest_throw_on_failure=1".into());
    one.args.push("--gtest_catch_exceptions=0".into());
    one.out = Some(base.join(test.directory()));
    (one.build.compiler, one.build.cflags, one.junit, one.gtest) = (None, None, None, false);
    one
}

/// Asks the program for its tests.
fn list(program: &Path, args: &[OsString]) -> Result<Vec<Test>, CommandError> {
    let path = std::path::absolute(program).unwrap_or_else(|_| PathBuf::from(program));
    let output = Command::new(&path).args(args).arg("--gtest_list_tests").stdin(Stdio::null()).output();
    let output = output.map_err(|error| CommandError(format!("{}: {error}", program.display())))?;
    let tests = parse(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() || tests.is_empty() {
        return Err(CommandError(format!("{} lists no tests: is it a GoogleTest program?", program.display())));
    }
    Ok(tests)
}

/// Suites stand at the margin and end with a dot, their tests are indented. Comments follow `#`.
/// Disabled tests are left out.
fn parse(listing: &str) -> Vec<Test> {
    let mut suite = None;
    let mut tests = Vec::new();
    for line in listing.lines() {
        let text = line.split('#').next().unwrap_or("").trim_end();
        match (text.strip_prefix("  "), &suite) {
            (Some(name), Some(suite)) => tests.push(Test { suite: String::clone(suite), name: name.trim().into() }),
            _ => suite = text.strip_suffix('.').filter(|name| !name.contains(' ')).map(String::from),
        }
    }
    let disabled = |name: &str| name.split('/').any(|part| part.starts_with("DISABLED_"));
    tests.retain(|test| !disabled(&test.suite) && !disabled(&test.name));
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_understood() {
        let listing = "Running main() from gtest_main.cc\nBank.\n  Deposit\n  DISABLED_Slow\n\
                       Sizes/Pool.  # TypeParam = int\n  Take/0  # GetParam() = 1\n";
        let names: Vec<String> = parse(listing).iter().map(Test::full_name).collect();
        assert_eq!(names, ["Bank.Deposit", "Sizes/Pool.Take/0"]);
        assert_eq!(parse(listing)[1].directory(), "Sizes_Pool.Take_0");
        assert!(parse("hello\nworld").is_empty());
    }
}
