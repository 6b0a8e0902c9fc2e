//! Prediction: races and deadlocks that other orders of one run's events show, each forced on the
//! program.

mod confirm;
mod export;
mod ledger;
mod program;
mod trace;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use raddle_model::finding::Report;
use raddle_predict::analysis::Budget;
use raddle_predict::session::Totals;

use crate::directory::usual_directory;
use crate::error::Error;
use crate::observer::Observer;
use crate::options::DEFAULT_MAX_EVENTS;
use crate::program::Program;

/// How to predict.
#[derive(Clone, Debug)]
pub struct PredictorOptions {
    /// Reorder only within so many consecutive synchronising operations (of a trace: events).
    pub window: Option<u64>,
    /// How often the runs that confirmation led to new paths are analysed in turn; 0 for as long as
    /// there are new ones.
    pub rounds: u32,
    /// Whether reads that decided the way may see other values.
    pub assume_any_value: bool,
    /// States that deciding one candidate may need.
    pub max_states: u64,
    /// Bound on time.
    pub time_limit: Option<Duration>,
    /// Seed of the schedule that is observed; `None` for the usual schedule.
    pub seed: Option<u64>,
    /// Candidates that are decided at the same time.
    pub jobs: usize,
    /// Bound on the events of each run.
    pub max_events: u64,
}

impl Default for PredictorOptions {
    fn default() -> Self {
        PredictorOptions {
            window: None,
            rounds: 1,
            assume_any_value: false,
            max_states: 200_000,
            time_limit: None,
            seed: None,
            jobs: 1,
            max_events: DEFAULT_MAX_EVENTS,
        }
    }
}

impl PredictorOptions {
    fn budget(&self) -> Budget {
        Budget {
            states: usize::try_from(self.max_states).unwrap_or(usize::MAX),
            deadline: self.time_limit.map(|limit| Instant::now() + limit),
            window: self.window.map(|window| u32::try_from(window).unwrap_or(u32::MAX)),
            jobs: self.jobs,
            by_variable: false,
        }
    }
}

/// What a prediction came to.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The report. Findings with `confirmed: Some(true)` were forced on the program.
    pub report: Report,
    /// Figures of each stage.
    pub totals: Totals,
}

impl Predicted {
    /// Shared variables that no prediction is about.
    #[must_use]
    pub fn safe_variables(&self) -> Vec<&str> {
        let predictions = &self.totals.predictions;
        let with: Vec<&String> = predictions.iter().filter_map(|one| one.variable.as_ref()).collect();
        self.totals.variables.iter().filter(|name| !with.contains(name)).map(String::as_str).collect()
    }

    /// The figures of each stage, for people.
    #[must_use]
    pub fn stages(&self) -> String {
        ledger::stages(&self.totals)
    }
}

#[derive(Debug)]
enum Source {
    Program(Box<Program>),
    Trace(PathBuf),
    TraceOf(PathBuf, Box<Program>),
}

/// Predicts on a program, or on a trace.
#[derive(Debug)]
pub struct Predictor {
    source: Source,
    options: PredictorOptions,
    directory: PathBuf,
    export: Option<PathBuf>,
}

impl Predictor {
    /// A prediction on this program. Witnesses and the report go to `.raddle/NAME`.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let directory = usual_directory(&program.name());
        let source = Source::Program(Box::new(program));
        Predictor { source, options: PredictorOptions::default(), directory, export: None }
    }

    /// A prediction on a trace in the STD format. Nothing can be confirmed, and no directory is
    /// written.
    #[must_use]
    pub fn of_trace(path: impl Into<PathBuf>) -> Self {
        let source = Source::Trace(path.into());
        Predictor { source, options: PredictorOptions::default(), directory: PathBuf::new(), export: None }
    }

    /// A prediction on a trace in the STD format, confirmed on this program, which runs anew.
    /// Witnesses and the report go to `.raddle/NAME`.
    #[must_use]
    pub fn of_trace_and_program(path: impl Into<PathBuf>, program: Program) -> Self {
        let directory = usual_directory(&program.name());
        let source = Source::TraceOf(path.into(), Box::new(program));
        Predictor { source, options: PredictorOptions::default(), directory, export: None }
    }

    /// All options at once.
    #[must_use]
    pub fn options(self, options: PredictorOptions) -> Self {
        Predictor { options, ..self }
    }

    /// Where witnesses and the report go.
    #[must_use]
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Predictor { directory: directory.into(), ..self }
    }

    /// Writes the trace (STD and a table) and every model (CSPm) to this directory.
    #[must_use]
    pub fn export(self, directory: Option<PathBuf>) -> Self {
        Predictor { export: directory, ..self }
    }

    /// Predicts. Findings are told to the observer as soon as a run of the program confirms them.
    ///
    /// # Errors
    /// If the program cannot be run, or the trace cannot be read.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Predicted, Error> {
        match &self.source {
            Source::Program(program) => program::predict_program(self, program, observer),
            Source::Trace(path) => trace::predict_trace(self, path),
            Source::TraceOf(path, program) => confirm::confirm_trace(self, path, program, observer),
        }
    }
}

/// The sentence for pairs of places that were not examined.
fn left_out(count: u64) -> String {
    format!("up to {count} more pairs of places, of variables and threads that have candidates enough")
}
