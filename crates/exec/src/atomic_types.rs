//! What debug information says of atomic variables. Loads and stores of such variables are plain
//! instructions on x86-64, so machine code alone does not show them.
//!
//! * Bytes of variables at fixed addresses whose type is atomic, or has atomic parts (`_Atomic` in
//!   C).
//! * Code of the lines of the C++ library's header that implements atomic types. All accesses to
//!   such a variable come from there, wherever it lies.
//!
//! What it misses: programs without debug information, and functions of compilers
//! (`__atomic_load_n`) for variables of other types. Of atomic variables of C in heap blocks and on
//! stacks it only tells that there may be some.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use gimli::{AttributeValue, DwarfSections, EndianSlice, LittleEndian, UnitOffset};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

type Bytes<'data> = EndianSlice<'data, LittleEndian>;
type Dwarf<'data> = gimli::Dwarf<Bytes<'data>>;
type Unit<'data> = gimli::Unit<Bytes<'data>>;

/// Files of the C++ library whose code makes atomic operations, by the ends of their paths.
const HEADERS: [&str; 3] = ["/bits/atomic_base.h", "/atomic", "/ext/atomicity.h"];

/// How names begin of variables that the macros of `stdatomic.h` declare.
const OF_MACROS: &[u8] = b"__atomic_";

/// Parts of an array, and types within types, at most.
const MOST_PARTS: u64 = 1 << 10;
const DEEPEST: u32 = 16;

/// Atomic variables of a program or library, by addresses in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomicVariables {
    /// Address of what lies at the start of the file.
    pub start: u64,
    /// Their bytes, where they have fixed addresses: address and length.
    pub places: Vec<(u64, u64)>,
    /// Code that accesses such variables only, by start and end, in order of address.
    pub code: Vec<(u64, u64)>,
    /// Whether there may be others, whose addresses are not known.
    pub are_elsewhere: bool,
}

impl AtomicVariables {
    /// Of a file. One that cannot be read has none.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        let data = std::fs::read(file).unwrap_or_default();
        let Ok(elf) = object::File::parse(&*data) else { return AtomicVariables::default() };
        let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
            let section = elf.section_by_name(id.name());
            Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
        };
        let Ok(sections) = DwarfSections::load(load) else { return AtomicVariables::default() };
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let first = elf.segments().find(|segment| segment.file_range().0 == 0);
        let start = first.map_or(0, |segment| segment.address());
        let mut found = AtomicVariables { start, ..AtomicVariables::default() };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = dwarf.unit(header) {
                found.add_variables(&dwarf, &unit);
                found.add_code(&dwarf, &unit);
            }
        }
        found.code.sort_unstable();
        found.code.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        found.places.sort_unstable();
        found.places.dedup();
        found
    }

    fn add_variables(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>) {
        let mut parts = Parts { unit, known: BTreeMap::new() };
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let Some(AttributeValue::UnitRef(of)) = entry.attr_value(gimli::DW_AT_type) else { continue };
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|name| dwarf.attr_string(unit, name).ok());
            if name.is_some_and(|name| name.slice().starts_with(OF_MACROS)) {
                continue;
            }
            match entry.tag() {
                gimli::DW_TAG_variable if entry.attr_value(gimli::DW_AT_declaration).is_none() => {
                    let place = entry.attr_value(gimli::DW_AT_location).and_then(|place| fixed_address(unit, place));
                    match (parts.of(of, 0), place) {
                        ([], _) => {}
                        (all, Some(address)) => {
                            self.places.extend(all.iter().map(|&(at, size)| (address.wrapping_add(at), size)));
                        }
                        (_, None) => self.are_elsewhere = true,
                    }
                    self.are_elsewhere |= parts.points_to_atomic(of);
                }
                gimli::DW_TAG_member | gimli::DW_TAG_formal_parameter | gimli::DW_TAG_subprogram => {
                    self.are_elsewhere |= parts.points_to_atomic(of);
                }
                _ => {}
            }
        }
    }

    fn add_code(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>) {
        let Some(program) = unit.line_program.clone() else { return };
        let (mut rows, mut files) = (program.rows(), BTreeMap::new());
        let mut began = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            let address = row.address();
            if let Some(start) = began.take().filter(|&start| start < address) {
                self.code.push((start, address));
            }
            let file = row.file_index();
            let is_atomic = *files.entry(file).or_insert_with(|| {
                header.file(file).is_some_and(|entry| {
                    let text =
                        |value| dwarf.attr_string(unit, value).ok().map(|text| text.to_string_lossy().into_owned());
                    let directory = entry.directory(header).and_then(text).unwrap_or_default();
                    let path = format!("{directory}/{}", text(entry.path_name()).unwrap_or_default());
                    HEADERS.iter().any(|end| path.ends_with(end)) && path.contains("/c++/")
                })
            });
            began = (is_atomic && !row.end_sequence()).then_some(address);
        }
    }
}

/// The address of a variable that has always the same.
fn fixed_address(unit: &Unit<'_>, place: AttributeValue<Bytes<'_>>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = place else { return None };
    let mut operations = expression.operations(unit.encoding());
    match (operations.next(), operations.next()) {
        (Ok(Some(gimli::Operation::Address { address })), Ok(None)) => Some(address),
        _ => None,
    }
}

/// Atomic parts of types: offset and length.
struct Parts<'unit, 'data> {
    unit: &'unit Unit<'data>,
    known: BTreeMap<UnitOffset, Vec<(u64, u64)>>,
}

impl Parts<'_, '_> {
    fn of(&mut self, of: UnitOffset, depth: u32) -> &[(u64, u64)] {
        if !self.known.contains_key(&of) {
            // A type that contains itself, by mistake, has no parts.
            self.known.insert(of, Vec::new());
            let parts = if depth < DEEPEST { self.look(of, depth).unwrap_or_default() } else { Vec::new() };
            self.known.insert(of, parts);
        }
        &self.known[&of]
    }

    fn look(&mut self, of: UnitOffset, depth: u32) -> Option<Vec<(u64, u64)>> {
        let entry = self.unit.entry(of).ok()?;
        let inner = inner(&entry);
        match entry.tag() {
            gimli::DW_TAG_atomic_type => Some(vec![(0, self.size(inner?, 0)?)]),
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                Some(self.of(inner?, depth + 1).to_vec())
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type | gimli::DW_TAG_class_type => {
                let mut all = Vec::new();
                for (tag, at, of) in self.children(of) {
                    if tag == gimli::DW_TAG_member || tag == gimli::DW_TAG_inheritance {
                        all.extend(self.of(of?, depth + 1).iter().map(|&(inside, size)| (at + inside, size)));
                    }
                }
                Some(all)
            }
            gimli::DW_TAG_array_type => {
                let one = self.of(inner?, depth + 1).to_vec();
                if one.is_empty() {
                    return None;
                }
                let size = self.size(inner?, 0)?;
                let count = self.length(of)?;
                let elements = 0..count.min(MOST_PARTS);
                Some(elements.flat_map(|n| one.iter().map(move |&(at, len)| (n * size + at, len))).collect())
            }
            _ => None,
        }
    }

    /// Tag, offset and type of each child.
    fn children(&self, of: UnitOffset) -> Vec<(gimli::DwTag, u64, Option<UnitOffset>)> {
        let mut all = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(of)) else { return all };
        let Ok(root) = tree.root() else { return all };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let at = entry.attr_value(gimli::DW_AT_data_member_location).and_then(|at| at.udata_value());
            all.push((entry.tag(), at.unwrap_or(0), inner(entry)));
        }
        all
    }

    /// Elements of an array, those of all dimensions.
    fn length(&self, of: UnitOffset) -> Option<u64> {
        let mut length = 1u64;
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let count = entry.attr_value(gimli::DW_AT_count).and_then(|count| count.udata_value());
                let last = entry.attr_value(gimli::DW_AT_upper_bound).and_then(|last| last.udata_value());
                length = length.checked_mul(count.or(last.and_then(|last| last.checked_add(1)))?)?;
            }
        }
        Some(length)
    }

    fn size(&self, of: UnitOffset, depth: u32) -> Option<u64> {
        let entry = self.unit.entry(of).ok()?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type => Some(8),
            gimli::DW_TAG_array_type => self.size(inner(&entry)?, depth + 1)?.checked_mul(self.length(of)?),
            _ if depth < DEEPEST => self.size(inner(&entry)?, depth + 1),
            _ => None,
        }
    }

    /// Whether it is a pointer to what has atomic parts.
    fn points_to_atomic(&mut self, of: UnitOffset) -> bool {
        let mut of = of;
        for _ in 0..DEEPEST {
            let Ok(entry) = self.unit.entry(of) else { return false };
            let Some(inside) = inner(&entry) else { return false };
            match entry.tag() {
                gimli::DW_TAG_pointer_type | gimli::DW_TAG_array_type => {
                    if entry.tag() == gimli::DW_TAG_pointer_type && !self.of(inside, 0).is_empty() {
                        return true;
                    }
                }
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => return false,
            }
            of = inside;
        }
        false
    }
}

/// The type that an entry is of.
fn inner(entry: &gimli::DebuggingInformationEntry<Bytes<'_>>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type) {
        Some(AttributeValue::UnitRef(of)) => Some(of),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles a program and asks about it.
    fn answer(name: &str, text: &str) -> AtomicVariables {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join(name);
        std::fs::write(&source, text).unwrap();
        let program = directory.path().join("program");
        let compiler = if name.ends_with(".cpp") { "g++" } else { "gcc" };
        let status = std::process::Command::new(compiler).arg("-g").arg(&source).arg("-o").arg(&program).status();
        assert!(status.unwrap().success());
        AtomicVariables::of(&program)
    }

    fn of_c(text: &str) -> (Vec<u64>, bool) {
        let text = format!("#include <stdatomic.h>\n#include <stdlib.h>\n{text}");
        let AtomicVariables { places, code, are_elsewhere, .. } = answer("a.c", &text);
        assert_eq!(code, []);
        let first = places.first().map_or(0, |place| place.0);
        (places.iter().flat_map(|(at, size)| [at - first, *size]).collect(), are_elsewhere)
    }

    #[test]
    fn variables_at_fixed_addresses_are_found() {
        assert_eq!(of_c("atomic_int flag;\nint main(void) { return atomic_load(&flag); }\n"), (vec![0, 4], false));
        assert_eq!(of_c("int flag;\nint main(void) { return flag; }\n"), (vec![], false));
        let text = "struct ring { long plain; _Atomic long head; atomic_bool full[3]; } ring;\n\
                    int main(void) { return ring.head; }\n";
        assert_eq!(of_c(text), (vec![0, 8, 8, 1, 9, 1, 10, 1], false));
        assert_eq!(of_c("int main(void) { static atomic_char flag; return flag; }\n"), (vec![0, 1], false));
    }

    #[test]
    fn variables_elsewhere_are_told() {
        assert_eq!(of_c("int main(void) { atomic_int flag = 1; return flag; }\n"), (vec![], true));
        let text = "struct node { struct node *_Atomic next; };\n\
                    int main(void) { struct node *n = malloc(sizeof *n); return n->next != 0; }\n";
        assert_eq!(of_c(text), (vec![], true));
        assert_eq!(of_c("int main(void) { atomic_int *p = malloc(4); return *p; }\n"), (vec![], true));
    }

    #[test]
    fn code_of_the_header_is_found() {
        let found = answer("a.cpp", "#include <atomic>\nstd::atomic<int> flag;\nint main() { return flag.load(); }\n");
        assert!(!found.code.is_empty() && !found.are_elsewhere, "{found:?}");
        assert!(found.code.is_sorted() && found.code.iter().all(|(start, end)| start < end));
        let found = answer("a.cpp", "#include <string>\nint main() { return std::string(\"abc\").size(); }\n");
        assert_eq!(found.places, []);
        assert!(!found.are_elsewhere, "{found:?}");
        assert_eq!(AtomicVariables::of(Path::new("/dev/null")), AtomicVariables::default());
    }
}
