//! What the static analysis knows: asked from `raddle-analyze`, put in place for a running program, and shown.

mod ground;
mod show;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use raddle_model::facts::Facts;

use crate::args::FactsArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome};

pub use ground::locate;

/// The analyser, which is a program of its own because it is linked with LLVM.
const ANALYSER: &str = "raddle-analyze";

/// Analyses the bitcode that a program built with clang carries.
///
/// # Errors
/// A sentence that says why there are no facts.
pub fn of_program(program: &Path) -> Result<Facts, String> {
    let analyser = find_analyser()?;
    let output = Command::new(&analyser).arg(program).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", analyser.display()))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim().trim_start_matches("raddle-analyze: ");
        return Err(match complaint.lines().last() {
            Some(line) => line.to_string(),
            None => format!("{} ended with {}", analyser.display(), output.status),
        });
    }
    parse(&output.stdout)
}

/// Reads facts; nothing in them is trusted.
pub fn parse(bytes: &[u8]) -> Result<Facts, String> {
    let facts: Facts = serde_json::from_slice(bytes).map_err(|error| format!("the facts are damaged: {error}"))?;
    facts.validate().map_err(|error| error.to_string())?;
    Ok(facts)
}

/// Beside this program, or in the search path.
fn find_analyser() -> Result<PathBuf, String> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(ANALYSER)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(std::env::split_paths(&path).map(|directory| directory.join(ANALYSER)));
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "{ANALYSER} is not installed beside raddle (./x build makes it, with LLVM 19 from the system's packages)"
        )
    })
}

/// `raddle facts`.
pub fn run(args: &FactsArgs) -> Outcome {
    let facts = of_program(&args.program).map_err(|why| Failure(format!("{}: {why}", args.program.display())))?;
    show::print(&facts, args.json, args.lts)?;
    Ok(exit_codes::FINE)
}
