//! What the pruning strategies know about the program.

use std::path::Path;

use raddle_exec::Granularity;
use raddle_exec::mappings::Mapping;
use raddle_explore::pdp::Knowledge;

use crate::analysis;
use crate::options::CheckOptions;

/// What is known, and what could not be known.
#[derive(Default)]
pub struct StaticFacts {
    /// Facts in the form that the search uses.
    pub knowledge: Option<Knowledge>,
    /// Sentences for the report.
    pub notes: Vec<String>,
}

/// Gathers what the strategy needs.
pub fn gather(options: &CheckOptions, program: &Path, modules: &[Mapping]) -> StaticFacts {
    if !options.strategy.prunes() {
        return StaticFacts::default();
    }
    if options.granularity == Granularity::Access {
        let note = "nothing was pruned: at access granularity every access is a transition of its own";
        return StaticFacts { knowledge: None, notes: vec![note.into()] };
    }
    match analysis::of_program(program, Some(analysis::PATIENCE))
        .and_then(|facts| analysis::locate(facts, program, modules))
    {
        Ok(knowledge) => StaticFacts { knowledge: Some(knowledge), notes: Vec::new() },
        Err(why) => StaticFacts { knowledge: None, notes: vec![format!("nothing was pruned: {why}")] },
    }
}
