//! `raddle report`: the last run, or another one, in any format.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use raddle_model::finding::{Report, SCHEMA};
use raddle_report::bundle::ReportBundle;

use crate::args::ReportArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome};
use crate::formats::{self, Format};
use raddle_engine::directory::{REPORT, ROOT, load_traces};

/// Runs the command.
pub fn run(args: &ReportArgs) -> Outcome {
    let (mut run, _) = load(args.run.as_deref())?;
    if let Some(id) = &args.finding {
        select(&mut run, id)?;
    }
    let format = args.format.unwrap_or(Format::Text);
    match &args.output {
        Some(path) => formats::write(&run, format, path)?,
        None => formats::print(&formats::render(&run, format)?, format)?,
    }
    Ok(exit_codes::FINE)
}

/// Leaves one finding.
fn select(run: &mut ReportBundle, id: &str) -> Result<(), Failure> {
    let known: Vec<String> = run.report.findings.iter().map(|finding| finding.id.clone()).collect();
    if !known.iter().any(|other| other == id) {
        return Err(Failure(format!("the run has no finding {id}; it has: {}", known.join(", "))));
    }
    run.report.findings.retain(|finding| finding.id == id);
    run.traces.retain(|other, _| other == id);
    Ok(())
}

/// A run by its directory, its report, or the name of its program; without a name the newest. Tells its directory, too.
pub fn load(name: Option<&Path>) -> Result<(ReportBundle, PathBuf), Failure> {
    let directory = match name {
        Some(name) => find(name)?,
        None => newest(Path::new(ROOT))?,
    };
    let path = directory.join(REPORT);
    let bytes = std::fs::read(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    let wrong = |what: String| Failure(format!("{}: this is not a report of raddle ({what})", path.display()));
    let report: Report = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    if report.schema != SCHEMA {
        return Err(wrong(format!("it has schema {}, this raddle reads {SCHEMA}", report.schema)));
    }
    let traces = load_traces(&directory, &report.findings);
    Ok((ReportBundle { report, traces }, directory))
}

fn find(name: &Path) -> Result<PathBuf, Failure> {
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
    Err(Failure(format!("{}: there is no such run; runs are directories that `raddle check` writes", name.display())))
}

/// The run that was written last.
fn newest(root: &Path) -> Result<PathBuf, Failure> {
    let nothing = || Failure(format!("there is no run in {}: call `raddle check` first, or name one", root.display()));
    let age = |path: &PathBuf| path.join(REPORT).metadata().and_then(|about| about.modified());
    let runs = std::fs::read_dir(root).map_err(|_| nothing())?.flatten().map(|entry| entry.path());
    let runs = runs.filter(|path| path.join(REPORT).is_file());
    runs.max_by_key(|path| age(path).unwrap_or(SystemTime::UNIX_EPOCH)).ok_or_else(nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_run_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(newest(directory.path()).unwrap_err().0.contains("raddle check"));
        assert!(load(Some(directory.path())).is_err());
        std::fs::write(directory.path().join(REPORT), "{}").unwrap();
        assert!(load(Some(directory.path())).unwrap_err().0.contains("not a report of raddle"));
        assert!(load(Some(Path::new("/no/such/run"))).unwrap_err().0.contains("there is no such run"));
    }
}
