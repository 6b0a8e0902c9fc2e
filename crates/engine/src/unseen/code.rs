//! The machine code of a linked file: its sections, functions and units.
//!
//! Everything here is untrusted input: damage makes code unnamed, which counts against the file.

use std::borrow::Cow;
use std::path::Path;

use gimli::{AttributeValue, DwarfSections, EndianSlice, LittleEndian};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use raddle_cc::mark::{self, LinkRecord};
use raddle_report::symbols::separate_debug_file;

use super::ranges::AddressRanges;

/// Code that the linker makes or that belongs to the start-up files, up to this size.
const START_UP_SECTIONS: [&str; 2] = [".init", ".fini"];
const MAX_START_UP: u64 = 64;
/// The hooks that raddle links, and more bytes than they have.
const HOOKS_SECTION: &str = "raddle_hooks";
const MAX_HOOKS: u64 = 32 << 10;

type File<'data> = ElfFile64<'data, Endianness>;
type Bytes<'data> = EndianSlice<'data, LittleEndian>;

/// A linked file.
#[derive(Debug, Default)]
pub struct Code {
    /// The links by raddle that led to it; none if it was linked otherwise.
    pub records: Vec<LinkRecord>,
    /// The processor that it is for.
    pub machine: Option<Architecture>,
    /// Whether there is debug information, which alone tells units apart.
    pub has_units: bool,
    /// Sections with machine code.
    pub sections: Vec<CodeSection>,
    /// Code of units that were compiled with hooks.
    pub hooked: AddressRanges,
    /// The sources of these units, without directories.
    pub hooked_names: Vec<String>,
    /// Units that were compiled without.
    pub others: Vec<Unit>,
    /// Functions, sorted by address.
    pub functions: Vec<CodeFunction>,
}

impl Code {
    /// Bytes of machine code from this address on; none if they are not in one section.
    pub fn bytes(&self, address: u64, size: u64) -> &[u8] {
        let within = |section: &CodeSection| section.contains(address);
        let Some(section) = self.sections.iter().find(|section| within(section)) else { return &[] };
        let start = usize::try_from(address - section.address).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        section.bytes.get(start..end).unwrap_or_default()
    }
}

/// A section with machine code.
#[derive(Debug)]
pub struct CodeSection {
    /// Its first address.
    pub address: u64,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl CodeSection {
    fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.bytes.len() as u64)
    }
}

/// A unit of the debug information.
#[derive(Debug)]
pub struct Unit {
    /// The source.
    pub name: String,
    /// Its code.
    pub code: AddressRanges,
}

/// A name in the symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFunction {
    /// Its first address.
    pub address: u64,
    /// Its size; 0 where it is not known.
    pub size: u64,
    /// Its name.
    pub name: String,
    /// The file that a local symbol belongs to.
    pub file: Option<String>,
}

/// Reads a linked file; `None` if it is no shared library or program.
pub fn read(path: &Path) -> Option<Code> {
    let about = std::fs::metadata(path).ok()?;
    // Reading a device or pipe could block for ever.
    if !about.is_file() {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let file = File::parse(&*bytes).ok()?;
    let sections = sections(&file);
    let mut code = Code {
        records: records(&file, &bytes),
        machine: Some(file.architecture()),
        functions: functions(&file, &sections),
        sections,
        ..Code::default()
    };
    if file.section_by_name(".debug_info").is_some() {
        read_units(&file, &mut code);
    } else if let Some(bytes) = separate_debug_file(path).and_then(|path| std::fs::read(path).ok())
        && let Ok(other) = File::parse(&*bytes)
    {
        read_units(&other, &mut code);
        code.functions = functions(&other, &code.sections);
    }
    Some(code)
}

/// The notes that raddle's links left.
fn records(file: &File<'_>, bytes: &[u8]) -> Vec<LinkRecord> {
    let mut records = Vec::new();
    let endian = file.endian();
    let Some(section) = file.section_by_name(mark::NOTE_SECTION) else { return records };
    let Ok(Some(mut notes)) = section.elf_section_header().notes(endian, bytes) else { return records };
    while let Ok(Some(note)) = notes.next() {
        if note.name() == mark::NOTE_NAME.as_bytes() {
            records.push(LinkRecord::parse(note.desc()));
        }
    }
    records
}

fn sections(file: &File<'_>) -> Vec<CodeSection> {
    let is_code = |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_EXECINSTR));
    let mut sections = Vec::new();
    for section in file.sections().filter(|section| is_code(section.flags())) {
        let name = section.name().unwrap_or_default();
        let is_start_up = START_UP_SECTIONS.contains(&name) && section.size() <= MAX_START_UP;
        let are_hooks = name == HOOKS_SECTION && section.size() <= MAX_HOOKS;
        if is_start_up || are_hooks || name.starts_with(".plt") || name == ".iplt" {
            continue;
        }
        let bytes = section.data().unwrap_or_default().to_vec();
        sections.push(CodeSection { address: section.address(), bytes });
    }
    sections
}

/// Functions and other labels in these sections of code. Local symbols follow the one that names
/// their file.
fn functions(file: &File<'_>, sections: &[CodeSection]) -> Vec<CodeFunction> {
    let mut functions = Vec::new();
    let mut in_file = None;
    for symbol in file.symbols() {
        if symbol.kind() == SymbolKind::File {
            if let Ok(name) = symbol.name() {
                in_file = Some(name).filter(|name| !name.is_empty());
            }
            continue;
        }
        let address = symbol.address();
        let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label)
            && sections.iter().any(|section| section.contains(address));
        if !is_code || !symbol.is_definition() || symbol.section_index().is_none() {
            continue;
        }
        if let Ok(name) = symbol.name()
            && !name.is_empty()
        {
            let file = in_file.filter(|_| symbol.is_local()).map(str::to_owned);
            functions.push(CodeFunction { address, size: symbol.size(), name: name.to_owned(), file });
        }
    }
    // Of several names for one place, that with the greatest size says most.
    functions.sort_by(|a, b| (a.address, b.size, &a.name).cmp(&(b.address, a.size, &b.name)));
    functions.dedup_by_key(|function| function.address);
    functions
}

fn read_units(file: &File<'_>, code: &mut Code) {
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(load) else { return };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut hooked = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        code.has_units = true;
        let (Some(producer), Some(name)) = (text(&dwarf, &unit, gimli::DW_AT_producer), source(&dwarf, &unit)) else {
            continue;
        };
        let ranges = ranges(&dwarf, &unit, &code.sections);
        if mark::is_hooked(&producer) {
            hooked.extend(ranges);
            code.hooked_names.push(base_name(&name).to_owned());
        } else if !ranges.is_empty() {
            code.others.push(Unit { name, code: AddressRanges::of(ranges) });
        }
    }
    code.hooked = AddressRanges::of(hooked);
}

/// The path without directories.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn source(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &gimli::Unit<Bytes<'_>>) -> Option<String> {
    text(dwarf, unit, gimli::DW_AT_name)
}

/// A text among the attributes of a unit.
fn text(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &gimli::Unit<Bytes<'_>>, name: gimli::DwAt) -> Option<String> {
    let mut entries = unit.entries();
    let entry = entries.next_dfs().ok()??;
    let value: AttributeValue<Bytes<'_>> = entry.attr_value(name)?;
    let text = dwarf.attr_string(unit, value).ok()?;
    Some(String::from_utf8_lossy(text.slice()).into_owned())
}

/// The addresses of a unit's code. What the linker removed is at an address without code.
fn ranges(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &gimli::Unit<Bytes<'_>>, sections: &[CodeSection]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let Ok(mut ranges) = dwarf.unit_ranges(unit) else { return found };
    while let Ok(Some(range)) = ranges.next() {
        found.push((range.begin, range.end));
    }
    found.retain(|range| sections.iter().any(|section| section.contains(range.0)));
    found
}
