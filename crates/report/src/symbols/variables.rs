//! Which variable with static or thread-local storage lies at an address of a file.

use std::collections::BTreeMap;

use gimli::{AttributeValue, Operation};

use super::debug::{Debug, Die, DieRef, Reader, constant, flag};
use super::types;

/// The most entries that are read in one file.
const MAX_ENTRIES: usize = 1 << 27;
/// The deepest nesting of scopes that is followed.
const MAX_SCOPES: usize = 256;

/// Where a variable is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Storage {
    /// At an address, as linked.
    Static(u64),
    /// At an offset in the thread-local block of the file.
    Tls(u64),
}

/// A variable with a fixed place.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub storage: Storage,
    /// With namespaces and classes.
    pub name: String,
    pub kind: DieRef,
    /// 0 where the type does not say.
    pub size: u64,
    pub declared: Option<DeclarationSite>,
}

/// Where a variable is declared: index of the file in the unit's table, and line.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclarationSite {
    pub unit: usize,
    pub file: u64,
    pub line: u64,
}

/// All variables with a fixed place, by place.
pub(super) struct Variables {
    sorted: Vec<Variable>,
}

/// A definition whose name may be given by a declaration elsewhere.
struct Definition {
    storage: Storage,
    die: DieRef,
    qualified: Option<String>,
}

impl Variables {
    /// Collects them from all units.
    pub fn collect(debug: &Debug) -> Self {
        let mut collector = Collector { debug, definitions: Vec::new(), declared: BTreeMap::new(), entries: 0 };
        for unit in 0..debug.units.len() {
            collector.unit(unit);
        }
        let mut sorted: Vec<Variable> =
            collector.definitions.iter().filter_map(|definition| collector.finish(definition)).collect();
        // Several units may define one inline variable: the order of the units decides.
        sorted.sort_by_key(|variable| variable.storage);
        sorted.dedup_by_key(|variable| variable.storage);
        Variables { sorted }
    }

    /// The variable that holds a place; `size_at` gives the size where the type has none.
    pub fn at(&self, place: Storage, size_at: impl Fn(Storage) -> u64) -> Option<&Variable> {
        let index = self.sorted.partition_point(|variable| variable.storage <= place);
        let variable = self.sorted.get(index.checked_sub(1)?)?;
        let offset = offset_between(variable.storage, place)?;
        let size = if variable.size == 0 { size_at(variable.storage) } else { variable.size };
        (offset < size).then_some(variable)
    }
}

/// Bytes from one place to a later one of the same sort.
pub(super) fn offset_between(start: Storage, place: Storage) -> Option<u64> {
    match (start, place) {
        (Storage::Static(a), Storage::Static(b)) | (Storage::Tls(a), Storage::Tls(b)) => b.checked_sub(a),
        _ => None,
    }
}

/// What encloses an entry.
struct Scope {
    depth: isize,
    /// `None` if it adds nothing to names: an unnamed namespace, a function.
    name: Option<String>,
    /// Whether it is a function: a variable inside has only its own name.
    function: bool,
}

/// Name of a namespace or class; a type in a unit of its own is named there.
fn scope_name(debug: &Debug, unit: usize, entry: &Die) -> Option<String> {
    debug.own_name(unit, entry).or_else(|| debug.name_of(debug.reference(unit, entry, gimli::DW_AT_signature)?))
}

fn qualify(scopes: &[Scope], name: &str) -> String {
    let inside = scopes.iter().rposition(|scope| scope.function).map_or(0, |function| function + 1);
    let outer = scopes[inside..].iter().filter_map(|scope| scope.name.as_deref());
    outer.chain([name]).collect::<Vec<_>>().join("::")
}

fn declared_file(entry: &Die) -> Option<u64> {
    match entry.attr_value(gimli::DW_AT_decl_file)? {
        AttributeValue::FileIndex(index) => Some(index),
        value => value.udata_value(),
    }
}

struct Collector<'a> {
    debug: &'a Debug,
    definitions: Vec<Definition>,
    /// Qualified names of static members and `extern` variables that are completed elsewhere.
    declared: BTreeMap<DieRef, String>,
    entries: usize,
}

impl Collector<'_> {
    /// One pass over a unit, with the names of the enclosing scopes.
    fn unit(&mut self, unit: usize) {
        let debug = self.debug;
        let mut cursor = debug.units[unit].entries();
        let mut scopes: Vec<Scope> = Vec::new();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || scopes.len() > MAX_SCOPES {
                return;
            }
            while scopes.last().is_some_and(|scope| scope.depth >= entry.depth()) {
                scopes.pop();
            }
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_member => self.variable(unit, entry, &scopes),
                gimli::DW_TAG_namespace
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_union_type => {
                    scopes.push(Scope { depth: entry.depth(), name: scope_name(debug, unit, entry), function: false });
                }
                gimli::DW_TAG_subprogram => scopes.push(Scope { depth: entry.depth(), name: None, function: true }),
                _ => {}
            }
        }
    }

    fn variable(&mut self, unit: usize, entry: &Die, scopes: &[Scope]) {
        let die = DieRef { unit, offset: entry.offset() };
        let qualified = self.debug.own_name(unit, entry).map(|name| qualify(scopes, &name));
        let location = entry.attr_value(gimli::DW_AT_location);
        if let Some(storage) = location.and_then(|value| self.storage(unit, &value)) {
            self.definitions.push(Definition { storage, die, qualified });
        } else if let Some(name) = qualified
            && (flag(entry, gimli::DW_AT_declaration) || flag(entry, gimli::DW_AT_external))
        {
            self.declared.insert(die, name);
        }
    }

    fn finish(&self, definition: &Definition) -> Option<Variable> {
        let name = definition.qualified.clone().or_else(|| self.name_elsewhere(definition.die))?;
        let kind = self.debug.type_of(definition.die)?;
        let declared = self.debug.through_origins(definition.die, |at, entry| {
            let file = declared_file(entry)?;
            Some(DeclarationSite { unit: at.unit, file, line: constant(entry, gimli::DW_AT_decl_line)? })
        });
        let size = types::size_of(self.debug, kind).unwrap_or(0);
        Some(Variable { storage: definition.storage, name, kind, size, declared })
    }

    /// The name that the completed declaration has, with its scopes if they were seen.
    fn name_elsewhere(&self, die: DieRef) -> Option<String> {
        let by_scope = self.debug.through_origins(die, |at, _| self.declared.get(&at).cloned());
        by_scope.or_else(|| self.debug.name_of(die))
    }

    fn storage(&self, unit: usize, value: &AttributeValue<Reader>) -> Option<Storage> {
        let AttributeValue::Exprloc(expression) = value else { return None };
        let unit = &self.debug.units[unit];
        let mut operations = expression.clone().operations(unit.encoding());
        let (address, is_constant) = match operations.next().ok()?? {
            Operation::Address { address } => (address, false),
            Operation::AddressIndex { index } => (self.debug.dwarf.address(unit, index).ok()?, false),
            Operation::UnsignedConstant { value } => (value, true),
            Operation::ConstantIndex { index } => (self.debug.dwarf.address(unit, index).ok()?, true),
            _ => return None,
        };
        match operations.next() {
            Ok(Some(Operation::TLS)) => Some(Storage::Tls(address)),
            // Linkers leave 0 where they dropped the section.
            _ if is_constant || address == 0 => None,
            Ok(Some(Operation::PlusConstant { value })) => Some(Storage::Static(address.checked_add(value)?)),
            _ => Some(Storage::Static(address)),
        }
    }
}
