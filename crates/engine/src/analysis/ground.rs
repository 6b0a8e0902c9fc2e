//! Facts in a running program: addresses of objects, sites of program counters.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};
use raddle_exec::mappings::Mapping;
use raddle_explore::pdp::{Knowledge, Sites};
use raddle_model::facts::places::Ground;
use raddle_model::facts::suffix::Flow;
use raddle_model::facts::{AbstractObjectKind, Facts, FunctionId, Site};
use raddle_report::symbols::{Modules, Symbols};
use rustc_hash::FxHashMap;

/// Puts facts in place.
///
/// # Errors
/// If the program cannot be read.
pub fn locate(facts: Facts, program: &Path, modules: &[Mapping]) -> Result<Knowledge, String> {
    let table = SymbolTable::read(program, modules)?;
    let mut ground = Ground { address: vec![None; facts.objects.len()] };
    for (object, address) in facts.objects.iter().zip(&mut ground.address) {
        if object.kind == AbstractObjectKind::Global {
            *address = table.data.get(&object.name).copied().flatten();
        }
    }
    let mut sites: BTreeMap<(PathBuf, u32, u32), Site> = BTreeMap::new();
    for (number, site) in facts.sites.iter().enumerate() {
        sites.insert((PathBuf::from(&site.file), site.line, site.column), number as Site + 1);
    }
    let mut names: BTreeMap<&str, Option<FunctionId>> = BTreeMap::new();
    for (number, function) in facts.functions.iter().enumerate() {
        let known = names.entry(&function.name).or_insert(Some(number as FunctionId));
        if *known != Some(number as FunctionId) {
            *known = None;
        }
    }
    let functions = table.functions.iter();
    let functions = functions.filter_map(|(name, address)| Some(((*address)?, names.get(name.as_str()).copied()??)));
    let native = NativeSites {
        symbols: symbols(program, modules),
        sites,
        functions: functions.collect(),
        images: modules.iter().map(|module| (module.start, module.end)).collect(),
        known: RefCell::default(),
    };
    Ok(Knowledge { flow: Flow::new(facts, ground), sites: Box::new(native) })
}

/// Symbols that keep whole paths, as the facts do.
fn symbols(program: &Path, modules: &[Mapping]) -> Symbols {
    let mut all = Modules::default();
    if modules.is_empty() {
        all = Modules::of_program(program);
    }
    for module in modules.iter().filter(|module| module.offset == 0) {
        all.add(&module.path, module.start);
    }
    Symbols::new(&all, Path::new(""))
}

/// Addresses by name; `None` where several have the name.
struct SymbolTable {
    data: BTreeMap<String, Option<u64>>,
    functions: BTreeMap<String, Option<u64>>,
}

impl SymbolTable {
    fn read(program: &Path, modules: &[Mapping]) -> Result<Self, String> {
        let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", program.display());
        let bytes = std::fs::read(program).map_err(|error| complain(&error))?;
        let file = object::File::parse(&*bytes).map_err(|error| complain(&error))?;
        let own = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf());
        let is_own = |module: &&Mapping| module.offset == 0 && (module.path == own || module.path == program);
        let start = modules.iter().find(is_own).map(|module| module.start);
        let linked = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
        let bias = match file.kind() {
            object::ObjectKind::Dynamic => {
                start.ok_or_else(|| complain(&"it is not among the modules of the process"))?.wrapping_sub(linked)
            }
            _ => 0,
        };
        let mut table = SymbolTable { data: BTreeMap::new(), functions: BTreeMap::new() };
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            let Ok(name) = symbol.name() else { continue };
            let map = match symbol.kind() {
                SymbolKind::Data => &mut table.data,
                SymbolKind::Text => &mut table.functions,
                _ => continue,
            };
            let address = bias.wrapping_add(symbol.address());
            let known = map.entry(name.to_string()).or_insert(Some(address));
            if *known != Some(address) {
                *known = None;
            }
        }
        Ok(table)
    }
}

/// Sites by debug information: file, line and column of a program counter.
struct NativeSites {
    symbols: Symbols,
    sites: BTreeMap<(PathBuf, u32, u32), Site>,
    functions: FxHashMap<u64, FunctionId>,
    /// Where files are mapped.
    images: Vec<(u64, u64)>,
    known: RefCell<FxHashMap<u64, Option<Site>>>,
}

impl Sites for NativeSites {
    fn site(&self, pc: u64) -> Option<Site> {
        if let Some(&known) = self.known.borrow().get(&pc) {
            return known;
        }
        let place = self.symbols.frames(pc).into_iter().next();
        let site = place.and_then(|place| {
            let key = (PathBuf::from(place.file?), place.line?, place.column.unwrap_or(0));
            self.sites.get(&key).copied()
        });
        self.known.borrow_mut().insert(pc, site);
        site
    }

    fn is_global(&self, address: u64) -> bool {
        self.images.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    fn function(&self, address: u64) -> Option<FunctionId> {
        self.functions.get(&address).copied()
    }
}
