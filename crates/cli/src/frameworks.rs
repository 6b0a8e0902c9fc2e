//! `raddle check --framework`: one verdict for each test case.
//!
//! The program itself lists its test cases, run without raddle; ctest lists those of a build
//! directory. Each is then checked as a program of its own. One report has them all.

mod ctest;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Instant;

use raddle_engine::directory::{EARLIER, REPORT, RunDirectory, load_traces};
use raddle_engine::frameworks::{Framework, TestCase};
use raddle_engine::{StrategyName, has_panicked};
use raddle_exec::interrupt;
use raddle_model::finding::{Finding, Reason, Report, TestVerdict, Verdict};
use raddle_model::weak::MemoryModel;
use raddle_report::bundle::ReportBundle;
use raddle_report::escape::clean;
use raddle_report::junit::{self, Case};

use crate::args::{CheckArgs, FrameworkArg, ShownArgs};
use crate::check::build::{BUILD_WITH_TESTS, Input};
use crate::check::{self, How, SuitePart};
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::formats::{self, Format};
use crate::known::Known;

/// Executions of each test case in the first pass: the first searches of the default strategy.
const FIRST_PASS: u64 = 384;

/// Bytes for the stack of a thread that checks, as the first thread of a process has.
const STACK: usize = 8 << 20;

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
    let is_build = matches!(&args.inputs[..], [directory] if directory.join(BUILD_WITH_TESTS).is_file());
    let is_ctest = wanted == FrameworkArg::Ctest || (wanted == FrameworkArg::Auto && is_build);
    let input = Input::of(&args.inputs)?;
    let name = if is_ctest { "ctest".to_string() } else { input.name() };
    let base = check::directory(args, &name)?;
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
    let suite = Suite { args, base: &base, tests: &tests, directories: &directories, begun: Instant::now() };
    let reports = suite.check()?;
    let report = merged(args, &name, &tests, &directories, &reports);
    let run = ReportBundle { traces: load_traces(&base, &report.findings), report };
    formats::write(&run, Format::Json, &base.join(REPORT))?;
    let mut shown = args.clone();
    if let Some(path) = shown.shown.junit.take() {
        formats::put(junit_of(&name, &tests, &reports).as_bytes(), Format::Junit, Some(&path))?;
    }
    check::write_reports(&shown, &run)?;
    Ok(summary(&tests, &reports))
}

/// Says what came of all, and returns the status.
fn summary(tests: &[TestRun], reports: &[Option<Report>]) -> u8 {
    let count = |verdict| reports.iter().flatten().filter(|report| report.verdict == verdict).count();
    let (verified, bugs, open) = (count(Verdict::Verified), count(Verdict::Bug), count(Verdict::Incomplete));
    let is_open = |report: &Option<Report>| report.as_ref().is_none_or(is_interrupted);
    let left: Vec<&str> =
        tests.iter().zip(reports).filter(|(_, report)| is_open(report)).map(|(test, _)| &*test.title).collect();
    let absent = match reports.iter().filter(|report| report.is_none()).count() {
        0 => String::new(),
        absent => format!(", {absent} not checked: interrupted"),
    };
    say(&format!("raddle: {} tests: {verified} verified, {bugs} with a bug, {open} incomplete{absent}", tests.len()));
    if !left.is_empty() {
        say(&format!(
            "raddle: interrupted in or before {}: the searches of test cases cannot be resumed; `--test NAME` checks \
             single ones anew",
            left.join(", ")
        ));
    }
    match (bugs, open) {
        _ if reports.iter().flatten().any(has_panicked) => exit_codes::UNUSABLE,
        (0, 0) if absent.is_empty() => exit_codes::FINE,
        (0, _) => exit_codes::OPEN,
        _ => exit_codes::FOUND,
    }
}

fn is_interrupted(report: &Report) -> bool {
    report.reason.as_ref().is_some_and(|reason| reason.code == "interrupted")
}

/// The test cases that are to be checked, and how.
struct Suite<'a> {
    args: &'a CheckArgs,
    base: &'a Path,
    tests: &'a [TestRun],
    directories: &'a [String],
    begun: Instant,
}

impl Suite<'_> {
    /// Checks all of them. A first pass makes a bounded number of runs of each, so that a large one
    /// does not keep the others waiting; what that leaves open is searched in full, one test case
    /// after the other. The report of a test case is absent if a signal came before its turn.
    fn check(&self) -> Result<Vec<Option<Report>>, CommandError> {
        let limit = self.args.max_executions;
        let has_first_pass = self.tests.len() > 1 && limit.is_none_or(|limit| limit > FIRST_PASS);
        let mut reports: Vec<Option<Report>> = vec![None; self.tests.len()];
        if has_first_pass {
            for (index, report) in reports.iter_mut().enumerate() {
                if interrupt::requested() {
                    break;
                }
                *report = Some(self.one(index, true)?);
            }
        }
        for (index, report) in reports.iter_mut().enumerate() {
            let first = report.take();
            *report = match first {
                Some(first) if check::is_decided(&first) => Some(first),
                first if interrupt::requested() => first.map(|first| self.cut_short(index, first)).transpose()?,
                Some(first) => Some(self.searched_in_full(index, first)?),
                None if has_first_pass => None,
                None => Some(self.one(index, false)?),
            };
        }
        Ok(reports)
    }

    /// The full search of a test case. If it ends too early to find again what the first one found,
    /// that stays.
    fn searched_in_full(&self, index: usize, first: Report) -> Result<Report, CommandError> {
        let directory = self.base.join(&self.directories[index]);
        let aside = self.base.join(format!("{}.first", self.directories[index]));
        let _ = std::fs::remove_dir_all(&aside);
        std::fs::rename(&directory, &aside)?;
        let full = self.one(index, false)?;
        let is_there = |finding: &Finding| {
            full.findings.iter().any(|other| (other.kind, &other.message) == (finding.kind, &finding.message))
        };
        if first.findings.iter().all(is_there) {
            let (old, new) = (aside.join(EARLIER), directory.join(EARLIER));
            if old.is_dir() && !new.exists() {
                std::fs::rename(old, new)?;
            }
            std::fs::remove_dir_all(&aside)?;
            return Ok(full);
        }
        std::fs::remove_dir_all(&directory)?;
        std::fs::rename(&aside, &directory)?;
        self.with_reason(index, first, full.reason)
    }

    /// A test case whose full search was not begun.
    fn cut_short(&self, index: usize, first: Report) -> Result<Report, CommandError> {
        let text = format!("the search was interrupted behind a first pass of {FIRST_PASS} executions");
        self.with_reason(index, first, Some(Reason { code: "interrupted".into(), text }))
    }

    fn with_reason(&self, index: usize, mut report: Report, reason: Option<Reason>) -> Result<Report, CommandError> {
        report.reason = reason;
        let directory = self.base.join(&self.directories[index]);
        let run = ReportBundle { traces: load_traces(&directory, &report.findings), report };
        formats::write(&run, Format::Json, &directory.join(REPORT))?;
        Ok(run.report)
    }

    /// Checks one test case, on a thread of its own: one that does not end behind its time limit is
    /// left to itself, and the others are still checked.
    fn one(&self, index: usize, is_first_pass: bool) -> Result<Report, CommandError> {
        let test = &self.tests[index];
        let (tell, told) = mpsc::channel();
        let part = SuitePart {
            title: test.title.clone(),
            progress: format!("test {}/{}", index + 1, self.tests.len()),
            framework: test.framework,
            silent: self.args.shown.takes_output(),
            is_first_pass,
            begun: self.begun,
            given_up: tell.clone(),
        };
        let mut args = arguments(self.args, test, self.base.join(&self.directories[index]));
        if is_first_pass {
            args.max_executions = Some(FIRST_PASS);
        }
        let (title, progress) = (part.title.clone(), part.progress.clone());
        let check = move || {
            let _ = tell.send(check::check(&args, How { part: Some(&part), ..How::default() }));
        };
        std::thread::Builder::new().stack_size(STACK).spawn(check)?;
        // The first answer counts. A panic was told to the user where it came up.
        let answer = told.recv().map_err(|_| CommandError(format!("{title} was not checked to its end")))?;
        let report = answer?;
        if !is_first_pass || check::is_decided(&report) {
            say(&format!("raddle: {progress}: {:<11} {title}", report.verdict.word()));
        } else {
            for finding in report.findings.iter().filter(|finding| finding.group.is_none()) {
                say(&format!("raddle: {progress} {title}: found {}: {}", finding.id, clean(&finding.message)));
            }
        }
        Ok(report)
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
fn merged(
    args: &CheckArgs,
    name: &str,
    tests: &[TestRun],
    directories: &[String],
    reports: &[Option<Report>],
) -> Report {
    let known: Vec<&Report> = reports.iter().flatten().collect();
    // Which of its searches had the last word differs between test cases.
    let strategy = StrategyName::from(args.strategy).word();
    let words = known.first().map_or([strategy, "", ""], |one| [strategy, &*one.granularity, &*one.property]);
    let memory_model = known.first().map_or_else(MemoryModel::default, |one| one.memory_model);
    let mut all = Known::new(name, &args.args, words, memory_model).empty();
    let has = |verdict| known.iter().any(|report| report.verdict == verdict);
    let is_whole = known.len() == tests.len();
    all.verdict = match () {
        () if has(Verdict::Bug) => Verdict::Bug,
        () if has(Verdict::Incomplete) || !is_whole => Verdict::Incomplete,
        () => Verdict::Verified,
    };
    let text = "not all test cases were checked".to_string();
    all.reason = match all.verdict {
        Verdict::Incomplete if !is_whole => Some(Reason { code: "interrupted".into(), text }),
        Verdict::Incomplete => known.iter().find_map(|report| report.reason.clone()),
        _ => None,
    };
    for ((report, test), directory) in reports.iter().zip(tests).zip(directories) {
        let Some(report) = report else { continue };
        let stats = &report.stats;
        all.stats.executions += stats.executions;
        all.stats.transitions += stats.transitions;
        all.stats.events += stats.events;
        all.stats.threads = all.stats.threads.max(stats.threads);
        all.stats.seconds += stats.seconds;
        let verdict = report.verdict;
        let (executions, seconds) = (stats.executions, stats.seconds);
        all.tests.push(TestVerdict {
            name: test.title.clone(),
            suite: Some(test.suite.clone()).filter(|suite| !suite.is_empty()),
            case: Some(test.name.clone()),
            directory: Some(directory.clone()),
            verdict,
            executions,
            seconds,
        });
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

fn junit_of(program: &str, tests: &[TestRun], reports: &[Option<Report>]) -> String {
    let case = |(test, report)| {
        let (test, report): (&TestRun, &Report) = (test, report);
        let class = if test.suite.is_empty() { program } else { &test.suite };
        (class.to_string(), test.name.clone(), report)
    };
    let all: Vec<_> =
        tests.iter().zip(reports).filter_map(|(test, report)| Some((test, report.as_ref()?))).map(case).collect();
    let cases: Vec<Case<'_>> = all.iter().map(|(class, name, report)| Case { class, name, report }).collect();
    junit::suite(program, &cases)
}

/// A run of test cases that was kept as a suite, with a verdict for each of them. What is not in
/// the reports of the single cases is taken from that of the run.
pub fn junit_of_run(run: &Report, directory: &Path) -> String {
    let of_case = |test: &TestVerdict| {
        // The name comes from a file: it leads nowhere else.
        let is_name = |name: &&String| Path::new(name).file_name() == Some(name.as_ref());
        let report = test.directory.as_ref().filter(is_name).and_then(|name| {
            let bytes = std::fs::read(directory.join(name).join(REPORT)).ok()?;
            serde_json::from_slice::<Report>(&bytes).ok()
        });
        report.unwrap_or_else(|| {
            let prefix = test.directory.as_ref().map(|name| format!("{name}/"));
            let is_of_test = |finding: &&Finding| prefix.as_ref().is_some_and(|prefix| finding.id.starts_with(prefix));
            let mut report = run.clone();
            report.findings = run.findings.iter().filter(is_of_test).cloned().collect();
            report.verdict = test.verdict;
            (report.stats.executions, report.stats.seconds) = (test.executions, test.seconds);
            report
        })
    };
    let reports: Vec<Report> = run.tests.iter().map(of_case).collect();
    let case = |(test, report)| {
        let (test, report): (&TestVerdict, &Report) = (test, report);
        let class = test.suite.clone().filter(|suite| !suite.is_empty()).unwrap_or_else(|| run.program.clone());
        (class, test.case.clone().unwrap_or_else(|| test.name.clone()), report)
    };
    let all: Vec<_> = run.tests.iter().zip(&reports).map(case).collect();
    let cases: Vec<Case<'_>> = all.iter().map(|(class, name, report)| Case { class, name, report }).collect();
    junit::suite(&run.program, &cases)
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
