//! `raddle facts`: shows what the static analysis knows about a program.

mod show;

use raddle_engine::analysis;

use crate::args::FactsArgs;
use crate::error::{CommandError, CommandResult};
use crate::exit_codes;

/// Runs the command.
pub fn run(args: &FactsArgs) -> CommandResult {
    let facts = analysis::of_program(&args.program, None);
    let facts = facts.map_err(|why| CommandError(format!("{}: {why}", args.program.display())))?;
    show::print(&facts, args.json, args.lts)?;
    Ok(exit_codes::FINE)
}
