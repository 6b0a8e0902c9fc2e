//! `raddle report`: the last run, or another one, in any format.

use raddle_engine::runs::load_run_or_finding;
use raddle_report::bundle::ReportBundle;

use crate::args::ReportArgs;
use crate::error::{CommandError, CommandResult};
use crate::exit_codes;
use crate::formats::{self, Format};
use crate::frameworks;

/// Runs the command.
pub fn run(args: &ReportArgs) -> CommandResult {
    let (mut run, named, directory) = load_run_or_finding(args.run.as_deref())?;
    if let Some(id) = args.finding.as_ref().or(named.as_ref()) {
        select(&mut run, id)?;
    }
    let format = args.format.unwrap_or(Format::Text);
    if format == Format::Junit && args.finding.is_none() && named.is_none() && !run.report.tests.is_empty() {
        let suite = frameworks::junit_of_run(&run.report, &directory);
        return formats::put(suite.as_bytes(), format, args.output.as_deref()).map(|()| exit_codes::FINE);
    }
    match &args.output {
        Some(path) => formats::write(&run, format, path)?,
        None => formats::print(&formats::render(&run, format)?, format)?,
    }
    Ok(exit_codes::FINE)
}

/// Leaves one finding.
fn select(run: &mut ReportBundle, id: &str) -> Result<(), CommandError> {
    let known: Vec<String> = run.report.findings.iter().map(|finding| finding.id.clone()).collect();
    if !known.iter().any(|other| other == id) {
        return Err(CommandError(format!("the run has no finding {id}; it has: {}", known.join(", "))));
    }
    run.report.findings.retain(|finding| finding.id == id);
    run.traces.retain(|other, _| other == id);
    Ok(())
}
