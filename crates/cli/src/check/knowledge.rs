//! What the pruning strategies know about the program.

use std::path::Path;

use raddle_exec::mappings::Mapping;
use raddle_explore::pdp::Knowledge;

use super::prunes;
use crate::args::{CheckArgs, GranularityName};
use crate::facts;

/// What is known, and what could not be known.
#[derive(Default)]
pub struct Knowing {
    /// Facts in the form that the search uses.
    pub knowledge: Option<Knowledge>,
    /// Sentences for the report.
    pub notes: Vec<String>,
}

/// Gathers what the strategy needs.
pub fn gather(args: &CheckArgs, program: &Path, modules: &[Mapping]) -> Knowing {
    if !prunes(args.strategy) {
        return Knowing::default();
    }
    if args.granularity == GranularityName::Access {
        let note = "nothing was pruned: at access granularity every access is a transition of its own";
        return Knowing { knowledge: None, notes: vec![note.into()] };
    }
    match facts::of_program(program, Some(facts::PATIENCE)).and_then(|facts| facts::locate(facts, program, modules)) {
        Ok(knowledge) => Knowing { knowledge: Some(knowledge), notes: Vec::new() },
        Err(why) => Knowing { knowledge: None, notes: vec![format!("nothing was pruned: {why}")] },
    }
}
