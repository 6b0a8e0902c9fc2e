//! The DWARF of one file, with the few lookups that the name finders share.
//!
//! Debug information is untrusted input: whatever it holds, lookups end and nothing panics. A
//! dangling reference makes a name shorter, never wrong.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianArcSlice, RunTimeEndian, Unit, UnitOffset};

/// Bytes of a section.
pub(super) type Reader = EndianArcSlice<RunTimeEndian>;
/// One debugging information entry.
pub(super) type Die = DebuggingInformationEntry<Reader>;

/// The most units that are read from one file.
const MAX_UNITS: usize = 1 << 20;
/// The most steps along `DW_AT_type`, `DW_AT_specification` and the like.
pub(super) const MAX_HOPS: usize = 48;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DieRef {
    /// Index of its unit.
    pub unit: usize,
    /// Offset within that unit.
    pub offset: UnitOffset<usize>,
}

/// All units of a file.
pub(super) struct Debug {
    pub dwarf: Arc<Dwarf<Reader>>,
    pub units: Vec<Unit<Reader>>,
    /// Start of each unit in `.debug_info`, for references across units.
    starts: BTreeMap<usize, usize>,
    /// Die of each type that has a signature.
    signatures: BTreeMap<u64, DieRef>,
}

impl Debug {
    /// Reads the headers of all units; units that cannot be read are left out.
    pub fn new(dwarf: Arc<Dwarf<Reader>>) -> Self {
        let mut debug = Debug { dwarf, units: Vec::new(), starts: BTreeMap::new(), signatures: BTreeMap::new() };
        let dwarf = Arc::clone(&debug.dwarf);
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            debug.add(&dwarf, header);
        }
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            debug.add(&dwarf, header);
        }
        debug
    }

    fn add(&mut self, dwarf: &Dwarf<Reader>, header: gimli::UnitHeader<Reader>) {
        if self.units.len() >= MAX_UNITS {
            return;
        }
        let index = self.units.len();
        let start = header.debug_info_offset();
        let signature = match header.type_() {
            gimli::UnitType::Type { type_signature, type_offset }
            | gimli::UnitType::SplitType { type_signature, type_offset } => Some((type_signature.0, type_offset)),
            _ => None,
        };
        let Ok(unit) = dwarf.unit(header) else { return };
        self.units.push(unit);
        if let Some(start) = start {
            self.starts.insert(start.0, index);
        }
        if let Some((signature, offset)) = signature {
            self.signatures.entry(signature).or_insert(DieRef { unit: index, offset });
        }
    }

    /// Reads an entry.
    pub fn entry(&self, die: DieRef) -> Option<Die> {
        self.units.get(die.unit)?.entry(die.offset).ok()
    }

    /// The target of a reference.
    pub fn follow(&self, unit: usize, value: &AttributeValue<Reader>) -> Option<DieRef> {
        match *value {
            AttributeValue::UnitRef(offset) => Some(DieRef { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let (&start, &index) = self.starts.range(..=offset.0).next_back()?;
                Some(DieRef { unit: index, offset: UnitOffset(offset.0 - start) })
            }
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// The target of the reference in an attribute.
    pub fn reference(&self, unit: usize, entry: &Die, name: gimli::DwAt) -> Option<DieRef> {
        self.follow(unit, &entry.attr_value(name)?)
    }

    /// The target of `DW_AT_type`, also from the specification or origin.
    pub fn type_of(&self, die: DieRef) -> Option<DieRef> {
        self.through_origins(die, |at, entry| self.reference(at.unit, entry, gimli::DW_AT_type))
    }

    /// `DW_AT_name`, also from the specification or origin.
    pub fn name_of(&self, die: DieRef) -> Option<String> {
        self.through_origins(die, |at, entry| self.own_name(at.unit, entry))
    }

    /// `DW_AT_name` of this entry alone.
    pub fn own_name(&self, unit: usize, entry: &Die) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(self.units.get(unit)?, value).ok()?;
        let text = gimli::Reader::to_string_lossy(&text).ok()?;
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// The first answer of an entry or of the declarations that it completes.
    pub fn through_origins<T>(&self, die: DieRef, ask: impl Fn(DieRef, &Die) -> Option<T>) -> Option<T> {
        let mut at = die;
        for _ in 0..MAX_HOPS {
            let entry = self.entry(at)?;
            if let Some(answer) = ask(at, &entry) {
                return Some(answer);
            }
            at = self
                .reference(at.unit, &entry, gimli::DW_AT_specification)
                .or_else(|| self.reference(at.unit, &entry, gimli::DW_AT_abstract_origin))?;
        }
        None
    }

    /// Path of a file in a unit's table.
    pub fn file(&self, unit: usize, index: u64) -> Option<PathBuf> {
        let unit = self.units.get(unit)?;
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(index)?;
        let text = |value| {
            let bytes = self.dwarf.attr_string(unit, value).ok()?;
            Some(gimli::Reader::to_string_lossy(&bytes).ok()?.into_owned())
        };
        // An absolute part replaces the parts before it.
        let mut path = PathBuf::new();
        if let Some(directory) = &unit.comp_dir {
            path.push(gimli::Reader::to_string_lossy(directory).ok()?.as_ref());
        }
        if let Some(directory) = file.directory(header).and_then(text) {
            path.push(directory);
        }
        path.push(text(file.path_name())?);
        Some(path)
    }

    /// Direct children of an entry, in order.
    pub fn children(&self, die: DieRef) -> Vec<(DieRef, Die)> {
        let mut found = Vec::new();
        let Some(unit) = self.units.get(die.unit) else { return found };
        let Ok(mut tree) = unit.entries_tree(Some(die.offset)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            found.push((DieRef { unit: die.unit, offset: entry.offset() }, entry.clone()));
        }
        found
    }
}

/// An unsigned constant in an attribute.
pub(super) fn constant(entry: &Die, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

/// Whether a flag is set.
pub(super) fn flag(entry: &Die, name: gimli::DwAt) -> bool {
    matches!(entry.attr_value(name), Some(AttributeValue::Flag(true)))
}
