//! Runs that were written earlier: found by the name of a directory, a program or a finding.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use raddle_model::finding::{Report, SCHEMA};
use raddle_report::bundle::ReportBundle;

use crate::directory::{EARLIER, REPORT, ROOT, load_traces};
use crate::error::Error;

/// A run by its directory, its report, or the name of its program; without a name the newest. Its
/// directory comes with it.
///
/// # Errors
/// If there is no such run, or its report cannot be read.
pub fn load_run(name: Option<&Path>) -> Result<(ReportBundle, PathBuf), Error> {
    let directory = match name {
        Some(name) => find_run(name)?,
        None => newest_run(Path::new(ROOT))?,
    };
    let path = directory.join(REPORT);
    let bytes = std::fs::read(&path).map_err(|error| Error::file(&path, error))?;
    let wrong = |what: String| Error::NotAReport { path: path.clone(), what };
    let report: Report = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    if report.schema != SCHEMA {
        return Err(wrong(format!("it has schema {}, this raddle reads {SCHEMA}", report.schema)));
    }
    let traces = load_traces(&directory, &report.findings);
    Ok((ReportBundle { report, traces }, directory))
}

/// A run as [`load_run`] finds it, or a finding of one: by its id (`r1`, of the newest run that has
/// it), by program and id (`bank/r1`), or by the file of its witness. The id of the finding comes
/// with it, and the directory of the run.
///
/// # Errors
/// As for [`load_run`].
pub fn load_run_or_finding(name: Option<&Path>) -> Result<(ReportBundle, Option<String>, PathBuf), Error> {
    let error = match load_run(name) {
        Ok((run, directory)) => return Ok((run, None, directory)),
        Err(error) => error,
    };
    let Some(name) = name else { return Err(error) };
    let witness = match find_witness(name, Path::new(ROOT)) {
        Ok(witness) => witness,
        // What looks like the id of a finding is not meant as the name of a run.
        Err(other) => return Err(if is_id(name) { other } else { error }),
    };
    let (Some(directory), Some(id)) = (witness.parent(), witness.file_stem()) else { return Err(error) };
    let id = id.to_string_lossy().into_owned();
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match load_run(Some(directory)) {
        Ok((run, directory)) if run.report.findings.iter().any(|finding| finding.id == id) => {
            Ok((run, Some(id), directory))
        }
        _ => Err(error),
    }
}

/// Whether this looks like the id of a finding: `r1`, or `tests/Pool.Idle/r1`.
fn is_id(name: &Path) -> bool {
    let last = name.file_name().and_then(|last| last.to_str()).unwrap_or_default();
    let mut rest = last.chars();
    rest.next().is_some_and(|letter| letter.is_ascii_lowercase())
        && !rest.as_str().is_empty()
        && rest.all(|digit| digit.is_ascii_digit())
}

/// A run that was kept.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// Its name below the root: that of the program, or program and test.
    pub name: String,
    /// When it was written.
    pub written: SystemTime,
    /// Its report.
    pub report: Report,
}

/// The runs below a directory, the newest first. What is no report is left out.
#[must_use]
pub fn kept_runs(root: &Path) -> Vec<KeptRun> {
    /// Of a program with tests, each test has a directory.
    const DEEPEST: usize = 3;
    let (mut runs, mut open) = (Vec::new(), vec![(root.to_path_buf(), 0)]);
    while let Some((directory, depth)) = open.pop() {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let path = directory.join(REPORT);
        let report: Option<Report> = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // A report of test cases has their findings.
        if report.as_ref().is_none_or(|report| report.tests.is_empty()) {
            open.extend(entries.filter(|path| depth < DEEPEST && path.is_dir()).map(|path| (path, depth + 1)));
        }
        if let (Some(report), Ok(name)) = (report, directory.strip_prefix(root)) {
            runs.push(KeptRun { name: name.to_string_lossy().into_owned(), written: age(&path), report });
        }
    }
    runs.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.name.cmp(&b.name)));
    runs
}

fn find_run(name: &Path) -> Result<PathBuf, Error> {
    if name.is_dir() {
        return Ok(name.into());
    }
    if name.is_file() && name.file_name().is_some_and(|file| file == REPORT) {
        return Ok(name.parent().map_or_else(PathBuf::new, Path::to_path_buf));
    }
    let usual = Path::new(ROOT).join(name);
    if name.components().count() == 1 && usual.is_dir() {
        return Ok(usual);
    }
    Err(Error::NoSuchRun(name.into()))
}

/// The run that was written last.
fn newest_run(root: &Path) -> Result<PathBuf, Error> {
    let nothing = || Error::NoRuns(root.into());
    let runs = std::fs::read_dir(root).map_err(|_| nothing())?.flatten().map(|entry| entry.path());
    let runs = runs.filter(|path| path.join(REPORT).is_file());
    runs.max_by_key(|path| age(&path.join(REPORT))).ok_or_else(nothing)
}

/// A recording as it is named, or the newest one with that name among the runs below `root`.
///
/// # Errors
/// If there is neither.
pub fn find_witness(name: &Path, root: &Path) -> Result<PathBuf, Error> {
    if name.is_file() {
        return Ok(name.into());
    }
    let nothing = || Error::NoSuchWitness(name.into());
    let with_ending = |mut path: PathBuf| {
        path.as_mut_os_string().push(".json");
        path
    };
    if name.components().count() != 1 {
        // The finding of a program, or of a directory.
        let places = [with_ending(root.join(name)), with_ending(name.to_path_buf())];
        let found = places.into_iter().find(|path| path.is_file());
        let of_test = || of_test(name, root).map(with_ending);
        let in_runs = || newest_of(runs_in(root).map(|run| with_ending(run.join(name))));
        return found.or_else(of_test).or_else(in_runs).or_else(|| earlier(&root.join(name))).ok_or_else(nothing);
    }
    let of_run = runs_in(root).map(|run| with_ending(run.join(name)));
    // Of a program with tests, each test has a directory.
    let of_tests = runs_in(root).flat_map(|run| runs_in(&run).collect::<Vec<_>>());
    let of_tests = of_tests.filter(|test| test.file_name().is_none_or(|name| name != EARLIER));
    let all: Vec<PathBuf> = of_run.chain(of_tests.map(|test| with_ending(test.join(name)))).collect();
    if let Some(newest) = newest_of(all.iter().cloned()) {
        let tests = newest.parent().and_then(Path::parent).filter(|directory| *directory != root);
        let others = all.iter().filter(|path| path.is_file() && path.parent().and_then(Path::parent) == tests);
        let names: Vec<String> = others.filter_map(|path| named(path, root)).collect();
        return if tests.is_some() && names.len() > 1 {
            Err(Error::AmbiguousWitness { name: name.into(), names })
        } else {
            Ok(newest)
        };
    }
    newest_of(runs_in(root).filter_map(|run| earlier(&run.join(name)))).ok_or_else(nothing)
}

/// The directories in a directory.
fn runs_in(root: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir())
}

/// The file that was written last, of those that are there.
fn newest_of(files: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    files.filter(|path| path.is_file()).max_by_key(|path| age(path))
}

/// The name of a witness below the root, without its ending.
fn named(path: &Path, root: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.with_extension("").to_string_lossy().into_owned())
}

/// The witness of the check before, for the finding at a place that has none any more.
fn earlier(finding: &Path) -> Option<PathBuf> {
    let mut path = finding.parent()?.join(EARLIER).join(finding.file_name()?);
    path.as_mut_os_string().push(".json");
    path.is_file().then_some(path)
}

/// The finding of a test case whose directory ends with the name that is given, if there is just
/// one: `pool_test/WaitIdle/d1` for `pool_test/Pool.WaitIdle/d1`.
fn of_test(name: &Path, root: &Path) -> Option<PathBuf> {
    let (test, id) = (name.parent()?, name.file_name()?);
    let (program, test) = (root.join(test.parent()?), test.file_name()?.to_str()?.to_owned());
    let is_meant = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str());
        file.is_some_and(|file| file.ends_with(&test)) && path.is_dir()
    };
    let mut found = std::fs::read_dir(program).ok()?.flatten().map(|entry| entry.path()).filter(is_meant);
    let only = found.next().filter(|_| found.next().is_none())?;
    let witness = only.join(id);
    witness.with_extension("json").is_file().then_some(witness)
}

fn age(path: &Path) -> SystemTime {
    path.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_no_run_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(newest_run(directory.path()).unwrap_err().to_string().contains("raddle check"));
        assert!(load_run(Some(directory.path())).is_err());
        std::fs::write(directory.path().join(REPORT), "{}").unwrap();
        let broken = load_run(Some(directory.path())).unwrap_err();
        assert!(matches!(broken, Error::NotAReport { .. }), "{broken}");
        assert!(matches!(load_run(Some(Path::new("/no/such/run"))), Err(Error::NoSuchRun(_))));
    }

    #[test]
    fn a_witness_is_a_file_or_the_newest_finding_of_that_name() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("results");
        for run in ["one", "two"] {
            std::fs::create_dir_all(root.join(run)).unwrap();
        }
        let old = root.join("one/r1.json");
        std::fs::write(&old, "").unwrap();
        let past = SystemTime::now() - Duration::from_secs(100);
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(past).unwrap();
        std::fs::write(root.join("two/r1.json"), "").unwrap();
        assert_eq!(find_witness(Path::new("r1"), &root).unwrap(), root.join("two/r1.json"));
        assert_eq!(find_witness(&old, &root).unwrap(), old);
        assert!(find_witness(Path::new("r2"), &root).unwrap_err().to_string().contains("no finding r2"));
        assert!(find_witness(Path::new("a/b"), &root).is_err());
        assert_eq!(find_witness(Path::new("one/r1"), &root).unwrap(), old);
        assert_eq!(find_witness(&root.join("one/r1"), Path::new("/no/such")).unwrap(), old);
        assert!(find_witness(&root, &root).is_err(), "a directory is no witness");
        // Test cases.
        std::fs::create_dir_all(root.join("tests/Pool.Idle")).unwrap();
        let of_test = root.join("tests/Pool.Idle/a1.json");
        std::fs::write(&of_test, "").unwrap();
        for name in ["a1", "tests/Pool.Idle/a1", "Pool.Idle/a1", "tests/Idle/a1"] {
            assert_eq!(find_witness(Path::new(name), &root).unwrap(), of_test, "{name}");
        }
        std::fs::create_dir_all(root.join("tests/Pool.Busy")).unwrap();
        std::fs::write(root.join("tests/Pool.Busy/a1.json"), "").unwrap();
        let ambiguous = find_witness(Path::new("a1"), &root).unwrap_err().to_string();
        assert!(ambiguous.contains("tests/Pool.Idle/a1") && ambiguous.contains("tests/Pool.Busy/a1"), "{ambiguous}");
        // Of a check that found nothing any more.
        std::fs::create_dir_all(root.join("one/earlier")).unwrap();
        std::fs::write(root.join("one/earlier/d9.json"), "").unwrap();
        for name in ["d9", "one/d9"] {
            assert_eq!(find_witness(Path::new(name), &root).unwrap(), root.join("one/earlier/d9.json"), "{name}");
        }
        assert!(find_witness(Path::new("r1"), Path::new("/no/such")).is_err());
    }
}
