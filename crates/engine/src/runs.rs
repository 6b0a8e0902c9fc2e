//! Runs that were written earlier: found by the name of a directory, a program or a finding.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use raddle_model::finding::{Report, SCHEMA};
use raddle_report::bundle::ReportBundle;

use crate::directory::{REPORT, ROOT, load_traces};
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
    if name.exists() {
        return Ok(name.into());
    }
    let nothing = || Error::NoSuchWitness(name.into());
    if name.components().count() != 1 {
        return Err(nothing());
    }
    let runs = std::fs::read_dir(root).map_err(|_| nothing())?;
    let candidates = runs.flatten().map(|run| {
        let mut path = run.path().join(name);
        path.as_mut_os_string().push(".json");
        path
    });
    candidates.filter(|path| path.exists()).max_by_key(|path| age(path)).ok_or_else(nothing)
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
        assert!(find_witness(Path::new("r1"), Path::new("/no/such")).is_err());
    }
}
