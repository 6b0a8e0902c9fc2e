//! `raddle predict`.

use crate::args::PredictArgs;
use crate::failure::{Failure, Outcome};

/// Runs the command.
pub fn run(_args: &PredictArgs) -> Outcome {
    Err(Failure("prediction is not available in this version".into()))
}
