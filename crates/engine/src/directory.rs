//! The directory of a run: the report, a witness per finding, and the program if it was compiled
//! here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use raddle_model::finding::Finding;
use raddle_report::annotated::AnnotatedTrace;

use crate::error::Error;

/// Where runs are kept unless the user says otherwise.
pub const ROOT: &str = ".raddle";
/// The report.
pub const REPORT: &str = "report.json";
/// How the names of annotated traces end.
const STORY: &str = ".story.json";

/// A run's directory.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory and removes what an earlier run left there. All other files stay.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let path = path.to_path_buf();
        let failed = |error: std::io::Error| Error::Directory { path: path.clone(), error };
        std::fs::create_dir_all(&path).map_err(failed)?;
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().is_some_and(is_ours) {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(RunDirectory { path })
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
        let mut left: Vec<String> = std::fs::read_dir(run.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["1r.json", "mine.json", "notes", "r.json", "r1x.json"]);
        assert_eq!(run.witness("r1"), directory.path().join("r1.json"));
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(RunDirectory::create(file.path()).is_err());
    }
}
