//! Whether the source of a program has atomic types, by its debug information. Loads and stores of such
//! variables are plain instructions on x86-64, so machine code alone does not show them.
//!
//! What it misses: programs without debug information, and functions of compilers (`__atomic_load_n`) for
//! variables of other types.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use gimli::{AttributeValue, DwarfSections, EndianSlice, LittleEndian};
use object::{Object as _, ObjectSection as _};

type Bytes<'data> = EndianSlice<'data, LittleEndian>;

/// How the names of types of the C++ library begin that are atomic.
const ATOMIC: [&[u8]; 5] = [b"atomic<", b"__atomic_base<", b"__atomic_float<", b"__atomic_ref<", b"atomic_flag"];

/// Whether a program or library has such types. One that cannot be read has none.
#[must_use]
pub fn are_in(file: &Path) -> bool {
    let data = std::fs::read(file).unwrap_or_default();
    let Ok(elf) = object::File::parse(&*data) else { return false };
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = elf.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(load) else { return false };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if dwarf.unit(header).is_ok_and(|unit| are_in_unit(&dwarf, &unit)) {
            return true;
        }
    }
    false
}

/// A type of C counts if anything is of it: gcc describes all those that a header names.
fn are_in_unit(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &gimli::Unit<Bytes<'_>>) -> bool {
    let (mut declared, mut used) = (BTreeSet::new(), BTreeSet::new());
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if let Some(AttributeValue::UnitRef(of)) = entry.attr_value(gimli::DW_AT_type) {
            used.insert(of);
        }
        let is_atomic = match entry.tag() {
            gimli::DW_TAG_atomic_type => {
                declared.insert(entry.offset());
                false
            }
            gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type => {
                let name = entry.attr_value(gimli::DW_AT_name);
                let text = name.and_then(|name| dwarf.attr_string(unit, name).ok());
                text.is_some_and(|text| ATOMIC.iter().any(|start| text.slice().starts_with(start)))
            }
            _ => false,
        };
        if is_atomic {
            return true;
        }
    }
    !declared.is_disjoint(&used)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles a program and asks about it.
    fn answer(name: &str, text: &str) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join(name);
        std::fs::write(&source, text).unwrap();
        let program = directory.path().join("program");
        let compiler = if name.ends_with(".cpp") { "g++" } else { "gcc" };
        let status = std::process::Command::new(compiler).arg("-g").arg(&source).arg("-o").arg(&program).status();
        assert!(status.unwrap().success());
        are_in(&program)
    }

    #[test]
    fn types_are_found_in_both_languages() {
        assert!(answer("a.c", "#include <stdatomic.h>\natomic_int flag;\nint main(void) { return flag; }\n"));
        assert!(!answer("a.c", "#include <stdatomic.h>\nint flag;\nint main(void) { return flag; }\n"));
        assert!(!answer("a.c", "int flag;\nint main(void) { return flag; }\n"));
        assert!(answer("a.cpp", "#include <atomic>\nstd::atomic<int> flag;\nint main() { return flag; }\n"));
        assert!(!answer("a.cpp", "#include <thread>\nint main() { std::thread([] {}).join(); }\n"));
        assert!(!are_in(Path::new("/dev/null")));
    }
}
