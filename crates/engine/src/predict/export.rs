//! `--export`: the trace as STD and as a table, and the model of every check as CSPm.

use std::path::Path;

use raddle_predict::analysis::TraceAnalysis;
use raddle_predict::model::Check;
use raddle_predict::search::Searcher;
use raddle_predict::std_format;

use crate::error::Error;

/// Models that are written for one trace, at most.
const MOST_MODELS: usize = 1_000;

/// Writes everything into the directory, which is made if it is not there.
pub fn all(
    directory: &Path,
    stem: &str,
    analysis: &TraceAnalysis<'_>,
    place: &dyn Fn(u64) -> String,
) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(|error| Error::file(directory, error))?;
    let trace = analysis.trace;
    write(&directory.join(format!("{stem}.std")), &std_format::write(trace))?;
    write(&directory.join(format!("{stem}.txt")), &std_format::table(trace, place))?;
    let searcher = Searcher::new(trace, &analysis.order, 1);
    let units = analysis.windows.iter().flat_map(|window| &window.races.units);
    for &(var, one, two) in units.take(MOST_MODELS) {
        let thread = |thread: u16| file_name(&trace.threads[usize::from(thread)].name);
        let name = file_name(&trace.vars[var as usize].name);
        let path = directory.join(format!("{stem}-{name}-{}-{}.csp", thread(one), thread(two)));
        let script = match Check::new(trace, &searcher, var, (one, two)) {
            Ok(check) => check.script().map_err(|error| Error::file(&path, std::io::Error::other(error)))?,
            Err(error) => format!("-- {error}: this check has no model\n"),
        };
        write(&path, &script)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| Error::file(path, error))
}

/// A name that can be a part of a file's name.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' }).collect()
}
