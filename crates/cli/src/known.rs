//! What a command knows before it has its report, for the case that it has to end at once.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use raddle_engine::{Progress, UnseenCode};
use raddle_model::finding::{Finding, Report, SCHEMA, Stats, Verdict, verdict};
use raddle_model::weak::MemoryModel;

use crate::last_resort::StopCause;

/// The first runs are all noted; of later ones, every [`SPARSELY`]th.
const CLOSELY: u64 = 64;
const SPARSELY: u64 = 256;

/// What is known so far; shared with the thread that may have to say it.
#[derive(Clone)]
pub struct Known {
    report: Arc<Mutex<Report>>,
    begun: Instant,
    seen: u64,
    /// Which code cannot be seen, once the program was started.
    code: Arc<Mutex<Option<UnseenCode>>>,
}

impl Known {
    /// Nothing is known yet of the program with this name. `words`: strategy, granularity and
    /// property.
    pub fn new(program: &str, args: &[OsString], words: [&str; 3], memory_model: MemoryModel) -> Self {
        let [strategy, granularity, property] = words.map(String::from);
        let report = Report {
            schema: SCHEMA,
            raddle: env!("CARGO_PKG_VERSION").into(),
            program: program.into(),
            args: args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            strategy,
            granularity,
            property,
            memory_model,
            verdict: Verdict::Incomplete,
            reason: None,
            stats: Stats::default(),
            limits: Vec::new(),
            suppressed: Vec::new(),
            unseen: Vec::new(),
            notes: Vec::new(),
            tests: Vec::new(),
            findings: Vec::new(),
        };
        Known { report: Arc::new(Mutex::new(report)), begun: Instant::now(), seen: 0, code: Arc::default() }
    }

    /// The report so far.
    pub fn empty(&self) -> Report {
        self.with(|report| report.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Report) -> T) -> T {
        work(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A finding was confirmed. A search that starts again finds the first ones again.
    pub fn finding(&self, finding: &Finding) {
        self.with(|report| {
            report.findings.retain(|known| known.id != finding.id);
            report.findings.push(finding.clone());
        });
    }

    /// What follows from what, of the findings so far.
    pub fn grouped(&self, findings: &[Finding]) {
        self.with(|report| {
            for known in &mut report.findings {
                if let Some(now) = findings.iter().find(|finding| finding.id == known.id) {
                    known.group.clone_from(&now.group);
                    known.cause.clone_from(&now.cause);
                }
            }
        });
    }

    /// The program was started.
    pub fn started(&self, code: &UnseenCode) {
        *self.code.lock().unwrap_or_else(PoisonError::into_inner) = Some(code.clone());
    }

    /// One more run was made.
    pub fn progress(&mut self, progress: &Progress<'_>) {
        self.seen += 1;
        if self.seen <= CLOSELY || self.seen.is_multiple_of(SPARSELY) {
            let mut stats = progress.earlier.clone();
            stats.extend(progress.stats);
            self.with(|report| report.stats = stats);
        }
    }

    /// The report of what is known.
    pub fn report(&self, cause: StopCause, warnings_count: bool) -> Report {
        let mut report = self.with(|report| report.clone());
        let code = self.code.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.unseen = code.map_or_else(Vec::new, |code| code.find().names);
        report.stats.seconds = self.begun.elapsed().as_secs_f64();
        report.verdict = verdict(&report.findings, false, warnings_count);
        report.reason = Some(cause.reason());
        report
    }
}
