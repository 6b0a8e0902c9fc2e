//! The formats of a report, and where they go.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;
use raddle_report::bundle::ReportBundle;
use raddle_report::text::{self, SourceCache};
use raddle_report::{dot, html, json, junit, lines, perfetto, sarif, std_trace, tsan};

use crate::error::CommandError;

/// Width of reports that do not go to a terminal.
const PLAIN_WIDTH: usize = 110;

/// What a report can look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// The grammar of ThreadSanitizer
    Tsan,
    /// A line for each place, as compilers write them
    Gcc,
    /// Annotations that GitHub shows beside the code
    Github,
    /// JSON (docs/schema.json)
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// JUnit XML
    Junit,
    /// A page for the browser
    Html,
    /// A trace for Perfetto
    Perfetto,
    /// A graph for Graphviz
    Dot,
    /// Trace lines as RAPID reads them
    Std,
}

/// The run in a format.
pub fn render(run: &ReportBundle, format: Format) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    match format {
        Format::Text => bytes = text_report(run, None).into_bytes(),
        Format::Tsan => bytes = tsan::render(&run.report, std::process::id()).into_bytes(),
        Format::Gcc => bytes = lines::gcc(run).into_bytes(),
        Format::Github => bytes = lines::github(run).into_bytes(),
        Format::Json => json::write(&run.report, &mut bytes)?,
        Format::Sarif => json::write_value(&sarif::render(run), &mut bytes)?,
        Format::Junit => bytes = junit::render(run).into_bytes(),
        Format::Html => bytes = html::render(run).into_bytes(),
        Format::Perfetto => bytes = perfetto::render(run),
        Format::Dot => bytes = dot::render(run).into_bytes(),
        Format::Std => bytes = std_trace::render(run).into_bytes(),
    }
    Ok(bytes)
}

/// Findings and summary for people, with colours.
fn text_report(run: &ReportBundle, directory: Option<&str>) -> String {
    let place = run.traces.values().next().map(|trace| trace.directory.clone());
    let here = std::env::current_dir().unwrap_or_default();
    let sources = SourceCache::new(place.as_ref().map_or(&here, |place| Path::new(place))).as_in(run.traces.values());
    let mut all = String::new();
    for (group, trace) in run.groups() {
        let timeline = trace.map(raddle_report::annotated::AnnotatedTrace::timeline);
        all += &text::group(&group, timeline.as_ref(), &sources, terminal_width());
        all.push('\n');
    }
    all + &text::summary(&run.report, directory)
}

/// Writes the run to a file, or to standard output for `-`.
pub fn write(run: &ReportBundle, format: Format, path: &Path) -> Result<(), CommandError> {
    put(&render(run, format)?, format, Some(path))
}

/// Writes a report in this format to a file, or to standard output for `-` and without a file.
pub fn put(bytes: &[u8], format: Format, path: Option<&Path>) -> Result<(), CommandError> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => std::fs::write(path, bytes).map_err(|error| CommandError(format!("{}: {error}", path.display()))),
        None => print(bytes, format),
    }
}

/// Prints to standard output, with colours where the terminal wants them. A closed pipe is no
/// reason to fail.
pub fn print(bytes: &[u8], format: Format) -> Result<(), CommandError> {
    let result = if format == Format::Text {
        let mut out = anstream::AutoStream::auto(io::stdout());
        out.write_all(bytes).and_then(|()| out.flush())
    } else {
        io::stdout().write_all(bytes).and_then(|()| io::stdout().flush())
    };
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Characters in a line of the terminal.
pub fn terminal_width() -> usize {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.filter(|_| io::stdout().is_terminal()).unwrap_or(PLAIN_WIDTH).clamp(60, 200)
}
