//! Names from debug information for what executions and recordings speak of.

use std::path::Path;

use raddle_cc::RUNTIME_LIBRARY;
use raddle_exec::Options;
use raddle_exec::mappings::Mapping;
use raddle_model::Execution;
use raddle_model::finding::Place;
use raddle_model::object::Namer;
use raddle_report::names::ExecutionNames;
use raddle_report::symbols::{Modules, Symbols};

/// Symbols of a target with these options and modules.
pub fn target_symbols(options: &Options, modules: &[Mapping]) -> Symbols {
    let scripts = options.parties.iter().map(|script| (script.party, script.file.clone()));
    symbols(&options.program, modules).with_scripts(scripts)
}

/// Symbols of a program with these modules.
pub fn symbols(program: &Path, modules: &[Mapping]) -> Symbols {
    let mut all = Modules::default();
    if modules.is_empty() {
        all = Modules::of_program(program);
    }
    let mut last: Option<&Path> = None;
    for module in modules {
        // A file is mapped in several parts, the first of which holds its start.
        if last != Some(&module.path) && module.offset == 0 {
            all.add(&module.path, module.start);
        }
        last = Some(&module.path);
    }
    let directory = std::env::current_dir().unwrap_or_default();
    Symbols::new(&all, &directory)
}

/// Messages about what was not modelled, with the places of the calls that they name.
pub fn with_places(limits: Vec<String>, symbols: &Symbols) -> Vec<String> {
    let place_of = |pc: u64| place_text(&symbols.place(&[pc]));
    let mut shown: Vec<String> = Vec::new();
    for limit in limits {
        let limit = raddle_exec::limits::with_place(&limit, place_of);
        if !shown.contains(&limit) {
            shown.push(limit);
        }
    }
    shown
}

/// Names of one execution in the form that recordings keep.
pub struct SourceNames<'a> {
    names: ExecutionNames<'a>,
}

impl<'a> SourceNames<'a> {
    /// Reads them off the execution.
    pub fn new(symbols: &'a Symbols, execution: &'a Execution) -> Self {
        SourceNames { names: ExecutionNames::new(symbols, execution) }
    }
}

impl raddle_exec::recording::RecordingNames for SourceNames<'_> {
    fn object(&self, address: u64) -> Option<String> {
        Some(self.names.object(address))
    }

    fn place(&self, pc: u64) -> Option<String> {
        place_text(&self.names.place(&[pc]))
    }
}

/// `file:line`, or the function where there is no file.
pub fn place_text(place: &Place) -> Option<String> {
    match (&place.file, place.line) {
        (Some(file), Some(line)) => Some(format!("{file}:{line}")),
        (Some(file), None) => Some(file.clone()),
        (None, _) => place.function.clone(),
    }
}

/// What is said of units that gcc compiled without the plug-in and in which structs are copied as
/// arguments or results: these copies have no hooks. Nothing where there are none.
pub fn unhooked_copies(symbols: &Symbols) -> Option<String> {
    let units = symbols.units_with_copies(RUNTIME_LIBRARY, &raddle_cc::lacks_gcc_hooks);
    (!units.is_empty()).then(|| {
        format!(
            "{}: compiled by a gcc that raddle has no plug-in for; arguments and results that are structs are copied \
             unseen (`raddle doctor` says more)",
            units.join(", ")
        )
    })
}
