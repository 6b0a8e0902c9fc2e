//! Findings and verdict of a check, for people.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use raddle_engine::directory::ROOT;
use raddle_engine::runs::find_witness;
use raddle_model::finding::{Finding, Report, Verdict};
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::bundle::ReportBundle;
use raddle_report::text::{self, SourceCache};
use raddle_report::{lines, tsan};

use super::SuitePart;
use crate::args::{CheckArgs, ReportForm};
use crate::error::say;
use crate::formats::terminal_width;

/// Shows findings and verdict to people.
pub struct Printer {
    sources: SourceCache,
    width: usize,
    /// Standard output belongs to one of the reports (`-`).
    silent: bool,
    quiet: bool,
    form: Option<ReportForm>,
    program: String,
    /// It is one test case of several.
    is_part: bool,
}

impl Printer {
    /// For these arguments and a program of this name.
    pub fn new(args: &CheckArgs, program: &str) -> Self {
        let directory = std::env::current_dir().unwrap_or_default();
        Printer {
            sources: SourceCache::new(&directory),
            width: terminal_width(),
            silent: args.shown.takes_output(),
            quiet: args.shown.quiet,
            form: args.shown.report,
            program: program.into(),
            is_part: false,
        }
    }

    /// For one test case of several: what is verified needs no words of its own.
    pub fn part(mut self, part: Option<&SuitePart>) -> Self {
        self.is_part = part.is_some();
        self.silent |= part.is_some_and(|part| part.silent);
        self
    }

    /// The findings of a run: for people by cause, for tools one by one.
    pub fn findings(&self, run: &ReportBundle) {
        match self.form {
            Some(ReportForm::Tsan) => {
                for finding in &run.report.findings {
                    self.print(&tsan::one(finding, &self.program, std::process::id()));
                }
            }
            Some(ReportForm::Gcc) => self.print(&lines::gcc(run)),
            Some(ReportForm::Github) => self.print(&lines::github(run)),
            None => {
                let run = named_apart(run);
                for (group, trace) in run.groups() {
                    let timeline = trace.map(AnnotatedTrace::timeline);
                    self.print(&format!("{}\n", text::group(&group, timeline.as_ref(), &self.sources, self.width)));
                }
            }
        }
    }

    /// The verdict with its figures.
    pub fn summary(&self, report: &Report, directory: &Path) {
        if self.is_part && report.verdict == Verdict::Verified && report.findings.is_empty() {
            return;
        }
        let directory = directory.to_string_lossy();
        match self.form {
            Some(ReportForm::Tsan) if report.findings.is_empty() => {}
            Some(ReportForm::Tsan) => {
                self.print(&format!("ThreadSanitizer: reported {} warnings\n", report.findings.len()));
            }
            Some(ReportForm::Gcc | ReportForm::Github) | None => {
                self.print(&text::summary(report, (!self.quiet).then_some(directory.as_ref())))
            }
        }
        for complaint in report.limits.iter().filter(|_| self.silent) {
            say(&format!("raddle: not modelled: {complaint}"));
        }
    }

    /// With colours where the terminal wants them; a closed pipe is no reason to fail.
    fn print(&self, styled: &str) {
        if !self.silent {
            let mut out = anstream::AutoStream::auto(io::stdout());
            let _ = out.write_all(styled.as_bytes()).and_then(|()| out.flush());
        }
    }
}

/// The run with findings whose commands name their files where the id alone would mean another one:
/// that of a check that has ended meanwhile.
fn named_apart(run: &ReportBundle) -> Cow<'_, ReportBundle> {
    let name = |finding: &Finding| {
        let witness = finding.witness.as_deref().filter(|path| path.starts_with(ROOT))?;
        let meant = find_witness(Path::new(&finding.id), Path::new(ROOT));
        let is_meant = finding.id.contains('/') || meant.is_ok_and(|path| path == Path::new(witness));
        (!is_meant).then(|| format!("./{witness}"))
    };
    let names: Vec<Option<String>> = run.report.findings.iter().map(name).collect();
    if names.iter().all(Option::is_none) {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    for (finding, name) in run.report.findings.iter_mut().zip(names) {
        finding.witness = name.or(finding.witness.take());
    }
    Cow::Owned(run)
}
