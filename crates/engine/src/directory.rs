//! The directory of a run: the report, a witness per finding, and the program if it was compiled
//! here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use raddle_model::finding::Finding;
use raddle_report::annotated::AnnotatedTrace;

use crate::error::Error;

/// Where runs are kept unless the user says otherwise.
pub const ROOT: &str = ".raddle";
/// The report.
pub const REPORT: &str = "report.json";
/// Below the directory of a run: the witnesses of the check before. A bug that was fixed has none
/// in the new one, and its old witness shows that it is gone.
pub const EARLIER: &str = "earlier";
/// Locked by the process that checks there.
const LOCK: &str = ".lock";
/// How the names of annotated traces end.
const STORY: &str = ".story.json";

/// A run's directory.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory. The report that an earlier run left there is removed, its witnesses are
    /// put aside if there are any. All other files stay.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Directory { path: path.to_path_buf(), error };
        std::fs::create_dir_all(path).map_err(failed)?;
        let aside = path.join(EARLIER);
        let witnesses: Vec<OsString> = ours(path).map_err(failed)?.into_iter().filter(|name| name != REPORT).collect();
        if !witnesses.is_empty() {
            std::fs::create_dir_all(&aside).map_err(failed)?;
            remove_ours(&aside).map_err(failed)?;
        }
        for name in witnesses {
            std::fs::rename(path.join(&name), aside.join(&name)).map_err(failed)?;
        }
        remove_ours(path).map_err(failed)?;
        Ok(RunDirectory { path: path.to_path_buf() })
    }

    /// Removes what this run has written.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn clear(&self) -> Result<(), Error> {
        remove_ours(&self.path).map_err(|error| Error::Directory { path: self.path.clone(), error })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A witness, as the report names it.
    #[must_use]
    pub fn witness(&self, id: &str) -> PathBuf {
        self.path.join(format!("{id}.json"))
    }

    /// Keeps what happened in a witness run, for reports that are made later.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_trace(&self, id: &str, story: &AnnotatedTrace) -> Result<(), Error> {
        let path = self.path.join(format!("{id}{STORY}"));
        let bytes = serde_json::to_vec(story).map_err(|error| Error::file(&path, error))?;
        std::fs::write(&path, bytes).map_err(|error| Error::file(&path, error))
    }
}

/// The directories that this process has, by what was asked for, with their locks.
static CLAIMED: Mutex<BTreeMap<PathBuf, (PathBuf, Option<File>)>> = Mutex::new(BTreeMap::new());

/// A directory that no other process checks in, for as long as this process lasts: the one that is
/// asked for, or one beside it with a number. Asked again, it is the same.
///
/// # Errors
/// If the directory cannot be made.
pub fn claim(wanted: &Path) -> Result<PathBuf, Error> {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((path, _)) = claimed.get(wanted) {
        return Ok(path.clone());
    }
    for number in 1u32.. {
        let mut path = wanted.to_path_buf();
        if number > 1 {
            path.as_mut_os_string().push(format!("-{number}"));
        }
        if let Some(lock) = try_claim(&path)? {
            claimed.insert(wanted.to_path_buf(), (path.clone(), lock));
            return Ok(path);
        }
    }
    unreachable!("there are more numbers than processes")
}

/// Claims a directory, with its lock; `None` if another process has it. Where the system has no
/// locks, nothing keeps processes apart.
fn try_claim(path: &Path) -> Result<Option<Option<File>>, Error> {
    std::fs::create_dir_all(path).map_err(|error| Error::Directory { path: path.to_path_buf(), error })?;
    let Ok(lock) = File::options().create(true).truncate(false).write(true).open(path.join(LOCK)) else {
        return Ok(Some(None));
    };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Some(lock))),
    }
}

/// Where a run of the program with this name is kept, unless the user says otherwise.
#[must_use]
pub fn usual_directory(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

/// The annotated traces of a run's findings, as far as they are there.
#[must_use]
pub fn load_traces(directory: &Path, findings: &[Finding]) -> BTreeMap<String, AnnotatedTrace> {
    let load = |finding: &Finding| {
        let bytes = std::fs::read(directory.join(format!("{}{STORY}", finding.id))).ok()?;
        let story: AnnotatedTrace = serde_json::from_slice(&bytes).ok()?;
        story.is_sound().then(|| (finding.id.clone(), story))
    };
    findings.iter().filter_map(load).collect()
}

/// Names of the files of runs in a directory.
fn ours(directory: &Path) -> std::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(is_ours) {
            names.push(name);
        }
    }
    Ok(names)
}

fn remove_ours(directory: &Path) -> std::io::Result<()> {
    ours(directory)?.into_iter().try_for_each(|name| std::fs::remove_file(directory.join(name)))
}

/// Whether a run writes files of this name: the report, and ids of findings.
fn is_ours(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(STORY).or_else(|| name.strip_suffix(".json")) else { return false };
    let is_id = stem.split_at_checked(1).is_some_and(|(letter, number)| {
        letter.bytes().all(|byte| byte.is_ascii_lowercase())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    name == REPORT || is_id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_runs_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "report.json",
            "r1.json",
            "d12.json",
            "mine.json",
            "r.json",
            "1r.json",
            "r1x.json",
            "notes",
            "r1.story.json",
        ] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        let run = RunDirectory::create(directory.path()).unwrap();
        let names = |path: &Path| {
            let mut names: Vec<String> = std::fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(run.path()), ["1r.json", "earlier", "mine.json", "notes", "r.json", "r1x.json"]);
        let aside = run.path().join(EARLIER);
        assert_eq!(names(&aside), ["d12.json", "r1.json", "r1.story.json"]);
        RunDirectory::create(run.path()).unwrap();
        assert_eq!(names(&aside).len(), 3, "a run without findings keeps them");
        std::fs::write(run.witness("r7"), "x").unwrap();
        RunDirectory::create(run.path()).unwrap();
        assert_eq!(names(&aside), ["r7.json"]);
        std::fs::write(run.witness("r8"), "x").unwrap();
        run.clear().unwrap();
        assert!(!run.witness("r8").exists() && names(&aside) == ["r7.json"]);
        assert_eq!(run.witness("r1"), directory.path().join("r1.json"));
    }

    #[test]
    fn a_directory_belongs_to_one_process() {
        let directory = tempfile::tempdir().unwrap();
        let wanted = directory.path().join("bank");
        // What another process does, as locks belong to open files.
        let other = try_claim(&wanted).unwrap().unwrap();
        assert_eq!(claim(&wanted).unwrap(), directory.path().join("bank-2"));
        drop(other);
        assert_eq!(claim(&wanted).unwrap(), directory.path().join("bank-2"), "it stays the same");
        let free = directory.path().join("free");
        assert_eq!(claim(&free).unwrap(), free);
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(RunDirectory::create(file.path()).is_err());
    }
}
