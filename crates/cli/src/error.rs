//! Errors that end a command with status 2.

/// A sentence for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CommandError(pub String);

impl From<raddle_engine::Error> for CommandError {
    fn from(error: raddle_engine::Error) -> Self {
        CommandError(error.to_string())
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        CommandError(error.to_string())
    }
}

/// What a command ends with: a status, or a sentence and status 2.
pub type CommandResult = Result<u8, CommandError>;

/// Prints a line to standard error; a closed one is no reason to fail.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
