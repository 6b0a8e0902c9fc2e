//! `raddle facts`: shows what the static analysis knows about a program.

mod show;

use raddle_engine::analysis;

use crate::args::FactsArgs;
use crate::exit_codes;
use crate::failure::{Failure, Outcome};

/// Runs the command.
pub fn run(args: &FactsArgs) -> Outcome {
    let facts = analysis::of_program(&args.program, None);
    let facts = facts.map_err(|why| Failure(format!("{}: {why}", args.program.display())))?;
    show::print(&facts, args.json, args.lts)?;
    Ok(exit_codes::FINE)
}
