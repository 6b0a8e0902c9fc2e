//! Errors that end a command with status 2.

use raddle_exec::StartError;
use raddle_exec::recording::{RecordingError, ScheduleError};
use raddle_model::TargetError;

/// A sentence for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

macro_rules! from_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure(error.to_string())
            }
        })*
    };
}

from_errors!(raddle_engine::Error, StartError, TargetError, ScheduleError, std::io::Error);

impl Failure {
    /// A recording that cannot be used.
    pub fn recording(path: &std::path::Path, error: &RecordingError) -> Self {
        match error {
            RecordingError::Io(..) => Failure(error.to_string()),
            _ => Failure(format!("{}: {error}", path.display())),
        }
    }
}

/// What a command ends with: a status, or a sentence and status 2.
pub type Outcome = Result<u8, Failure>;

/// Prints a line to standard error; a closed one is no reason to fail.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
