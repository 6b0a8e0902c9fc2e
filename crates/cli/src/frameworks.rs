//! `raddle check --framework`: one verdict for each test case.
//!
//! The program itself lists its test cases, run without raddle; ctest lists those of a build
//! directory. Each is then checked as a program of its own. One report has them all.

mod ctest;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_engine::directory::{REPORT, ROOT, RunDirectory, load_traces};
use raddle_engine::frameworks::{Framework, TestCase};
use raddle_engine::has_panicked;
use raddle_exec::interrupt;
use raddle_model::finding::{Reason, Report, TestVerdict, Verdict};
use raddle_model::weak::MemoryModel;
use raddle_report::bundle::ReportBundle;
use raddle_report::junit::{self, Case};

use crate::args::{CheckArgs, FrameworkArg, ShownArgs};
use crate::check::{self, How, SuitePart, build::Input};
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::formats::{self, Format};
use crate::known::Known;

/// Characters of a directory's name.
const LONGEST_NAME: usize = 100;

/// One test case and how it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TestRun {
    suite: String,
    /// Its name within the suite.
    name: String,
    /// Its name for people.
    title: String,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    framework: Option<Framework>,
}

/// Runs the command.
pub fn run(args: &CheckArgs, wanted: FrameworkArg) -> CommandResult {
    let is_build = matches!(&args.inputs[..], [directory] if directory.join(ctest::FILE).is_file());
    let is_ctest = wanted == FrameworkArg::Ctest || (wanted == FrameworkArg::Auto && is_build);
    let input = Input::of(&args.inputs)?;
    let name = if is_ctest { "ctest".to_string() } else { input.name() };
    let base = args.out.clone().unwrap_or_else(|| Path::new(ROOT).join(&name));
    RunDirectory::create(&base)?;
    let mut tests = if is_ctest {
        ctest::list(&args.inputs[0])?
    } else {
        let program = check::program(args, &input, &base)?.path().to_path_buf();
        let framework = framework(&program, wanted)?;
        let run = TestRun {
            program,
            args: args.args.clone(),
            env: args.target.env.clone(),
            cwd: args.target.cwd.clone(),
            ..TestRun::default()
        };
        cases(&run, framework)?
    };
    if !args.test.is_empty() {
        tests.retain(|test| args.test.iter().any(|pattern| matches(pattern, &test.title)));
    }
    if tests.is_empty() {
        return Err(CommandError("there is no such test case (--test)".into()));
    }
    let directories = directories(&tests);
    let mut reports: Vec<Report> = Vec::new();
    for (index, (test, directory)) in tests.iter().zip(&directories).enumerate() {
        if interrupt::requested() {
            break;
        }
        let part = SuitePart {
            title: test.title.clone(),
            progress: format!("test {}/{}", index + 1, tests.len()),
            framework: test.framework,
            silent: args.shown.takes_output(),
        };
        let one = arguments(args, test, base.join(directory));
        let report = check::check(&one, How { part: Some(&part), ..How::default() })?;
        say(&format!("raddle: {}: {:<11} {}", part.progress, report.verdict.word(), test.title));
        reports.push(report);
    }
    let report = merged(args, &name, &tests, &directories, &reports);
    let run = ReportBundle { traces: load_traces(&base, &report.findings), report };
    formats::write(&run, Format::Json, &base.join(REPORT))?;
    let mut shown = args.clone();
    if let Some(path) = shown.shown.junit.take() {
        write_suite(&path, &suite(&name, &tests, &reports))?;
    }
    check::write_reports(&shown, &run)?;
    Ok(summary(&tests, &reports))
}

/// Says what came of all, and returns the status.
fn summary(tests: &[TestRun], reports: &[Report]) -> u8 {
    let count = |verdict| reports.iter().filter(|report| report.verdict == verdict).count();
    let (verified, bugs, open) = (count(Verdict::Verified), count(Verdict::Bug), count(Verdict::Incomplete));
    let left = match tests.len() - reports.len() {
        0 => String::new(),
        left => format!(", {left} not checked: interrupted"),
    };
    say(&format!("raddle: {} tests: {verified} verified, {bugs} with a bug, {open} incomplete{left}", tests.len()));
    match (bugs, open) {
        _ if reports.iter().any(has_panicked) => exit_codes::UNUSABLE,
        (0, 0) if left.is_empty() => exit_codes::FINE,
        (0, _) => exit_codes::OPEN,
        _ => exit_codes::FOUND,
    }
}

/// The framework that is wanted, or the one that the program uses.
fn framework(program: &Path, wanted: FrameworkArg) -> Result<Framework, CommandError> {
    Ok(match wanted {
        FrameworkArg::Gtest => Framework::GoogleTest,
        FrameworkArg::Catch2 => Framework::Catch2,
        FrameworkArg::Doctest => Framework::Doctest,
        FrameworkArg::Boost => Framework::BoostTest,
        FrameworkArg::Auto | FrameworkArg::Ctest => Framework::of_program(program)?.ok_or_else(|| {
            let known = Framework::ALL.map(Framework::name).join(", ");
            CommandError(format!(
                "{} uses no test framework that raddle knows ({known}): check it without --framework",
                program.display()
            ))
        })?,
    })
}

/// The test cases of a program that is run in this way.
fn cases(run: &TestRun, framework: Framework) -> Result<Vec<TestRun>, CommandError> {
    let program = std::path::absolute(&run.program).unwrap_or_else(|_| run.program.clone());
    let mut command = Command::new(&program);
    command.args(&run.args).envs(run.env.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = &run.cwd {
        command.current_dir(directory);
    }
    let listed = framework.list(command)?;
    let of_case = |case: TestCase| {
        let mut one = run.clone();
        one.args.extend(framework.arguments(&case));
        one.title = case.full_name(framework);
        one.framework = Some(framework);
        (one.suite, one.name) = (case.suite, case.name);
        one
    };
    Ok(listed.into_iter().map(of_case).collect())
}

/// The arguments for the check of one test case.
fn arguments(args: &CheckArgs, test: &TestRun, out: PathBuf) -> CheckArgs {
    let mut one = args.clone();
    one.inputs = vec![test.program.clone()];
    one.args.clone_from(&test.args);
    one.target.env.clone_from(&test.env);
    one.target.cwd.clone_from(&test.cwd);
    one.out = Some(out);
    (one.build.compiler, one.build.cflags) = (None, None);
    (one.framework, one.gtest) = (None, false);
    one.shown = ShownArgs { report: args.shown.report, quiet: args.shown.quiet, ..ShownArgs::default() };
    one
}

/// A directory for each test case. Names may have any characters, and differ only in these.
fn directories(tests: &[TestRun]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for test in tests {
        let plain = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
        let name: String = test.title.chars().map(plain).take(LONGEST_NAME).collect();
        // It is never hidden, nor the directory above.
        let name = name.trim_start_matches('.').to_string();
        let name = if name.is_empty() { "test".to_string() } else { name };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let fresh = std::iter::once(name.clone()).chain(numbered).find(|name| !all.contains(name));
        all.extend(fresh);
    }
    all
}

/// One report of all test cases. Findings are named by test case and id.
fn merged(args: &CheckArgs, name: &str, tests: &[TestRun], directories: &[String], reports: &[Report]) -> Report {
    let words = reports.first().map_or(["", "", ""], |one| [&*one.strategy, &*one.granularity, &*one.property]);
    let memory_model = reports.first().map_or_else(MemoryModel::default, |one| one.memory_model);
    let mut all = Known::new(name, &args.args, words, memory_model).empty();
    let has = |verdict| reports.iter().any(|report| report.verdict == verdict);
    let is_whole = reports.len() == tests.len();
    all.verdict = match () {
        () if has(Verdict::Bug) => Verdict::Bug,
        () if has(Verdict::Incomplete) || !is_whole => Verdict::Incomplete,
        () => Verdict::Verified,
    };
    let text = "not all test cases were checked".to_string();
    all.reason = match all.verdict {
        Verdict::Incomplete if !is_whole => Some(Reason { code: "interrupted".into(), text }),
        Verdict::Incomplete => reports.iter().find_map(|report| report.reason.clone()),
        _ => None,
    };
    for ((report, test), directory) in reports.iter().zip(tests).zip(directories) {
        let stats = &report.stats;
        all.stats.executions += stats.executions;
        all.stats.transitions += stats.transitions;
        all.stats.events += stats.events;
        all.stats.threads = all.stats.threads.max(stats.threads);
        all.stats.seconds += stats.seconds;
        let verdict = report.verdict;
        let (executions, seconds) = (stats.executions, stats.seconds);
        all.tests.push(TestVerdict { name: test.title.clone(), verdict, executions, seconds });
        let lists =
            [(&mut all.limits, &report.limits), (&mut all.unseen, &report.unseen), (&mut all.notes, &report.notes)];
        for (all, one) in lists {
            all.extend(one.iter().filter(|text| !all.contains(text)).cloned().collect::<Vec<_>>());
        }
        for finding in &report.findings {
            let mut finding = finding.clone();
            finding.id = format!("{directory}/{}", finding.id);
            finding.group = finding.group.map(|group| format!("{directory}/{group}"));
            finding.message = format!("{}: {}", test.title, finding.message);
            all.findings.push(finding);
        }
    }
    all
}

fn suite(program: &str, tests: &[TestRun], reports: &[Report]) -> String {
    let case = |(test, report)| {
        let (test, report): (&TestRun, &Report) = (test, report);
        let class = if test.suite.is_empty() { program } else { &test.suite };
        (class.to_string(), test.name.clone(), report)
    };
    let all: Vec<_> = tests.iter().zip(reports).map(case).collect();
    let cases: Vec<Case<'_>> = all.iter().map(|(class, name, report)| Case { class, name, report }).collect();
    junit::suite(program, &cases)
}

fn write_suite(path: &Path, text: &str) -> Result<(), CommandError> {
    if path == Path::new("-") {
        return formats::print(text.as_bytes(), Format::Junit);
    }
    std::fs::write(path, text).map_err(|error| CommandError(format!("{}: {error}", path.display())))
}

/// Whether a name matches a pattern, in which `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut star) = ((0, 0), None);
    while at.1 < name.len() {
        match pattern.get(at.0) {
            Some('*') => {
                star = Some(at);
                at.0 += 1;
            }
            Some(&c) if c == '?' || c == name[at.1] => at = (at.0 + 1, at.1 + 1),
            _ => {
                // The last star takes one more.
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = (place + 1, taken + 1);
            }
        }
    }
    pattern[at.0..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, is_match) in [
            ("Pool.*", "Pool.Idle", true),
            ("*Idle", "Pool.Idle", true),
            ("P?ol.Idle", "Pool.Idle", true),
            ("Pool", "Pool.Idle", false),
            ("*a*b", "xxaxxbxxb", true),
            ("*a*b", "xxaxxbxx", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn each_test_case_has_a_directory_of_its_own() {
        let test = |title: &str| TestRun { title: title.into(), ..TestRun::default() };
        let tests = ["Sizes/Pool.Take/0", "a b", "a/b", "..", "../../x"].map(test);
        assert_eq!(directories(&tests), ["Sizes_Pool.Take_0", "a_b", "a_b-2", "test", "_.._x"]);
        let long = test(&"x".repeat(1000));
        assert_eq!(directories(&[long])[0].len(), LONGEST_NAME);
    }
}
