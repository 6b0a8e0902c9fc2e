//! How code that the wrapper compiled and linked is recognised later.
//!
//! * A unit that was compiled with hooks is known by the producer that its DWARF names. gcc records
//!   its switches there, clang what the wrapper tells it to. The producer stays with the unit's
//!   ranges through `ar`, `ld -r`, archives and `--gc-sections`.
//! * What was linked is in a note of the linked file: compiler, directory, inputs and libraries.
//!   Linkers keep notes, and so does `strip`.
//!
//! A file without DWARF says nothing about its units: then none of them counts as compiled with
//! hooks.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, elf};

use crate::compiler::canonical_architecture;

/// The section with the notes about links.
pub const NOTE_SECTION: &str = ".note.raddle";
/// Whose notes they are.
pub const NOTE_NAME: &str = "raddle";
/// Their kind.
const NOTE_TYPE: u32 = 1;

/// The word that clang puts behind its own name.
const CLANG_WORD: &str = "raddle-hooks";
/// The switches by which gcc shows that it placed hooks and kept calls that they need.
const GCC_SWITCHES: [&str; 2] = ["-fsanitize=thread", "-fno-builtin-memcpy"];

/// What the wrapper tells clang to put into the producer's name: the mark and the standard.
pub(crate) fn clang_producer(standard: Option<&str>) -> String {
    format!("{CLANG_WORD} {}", standard.unwrap_or("default"))
}

/// Whether a unit was compiled with hooks, by the producer that its debug information names.
#[must_use]
pub fn is_hooked(producer: &str) -> bool {
    let has = |wanted: &str| producer.split(' ').any(|word| word == wanted);
    has(CLANG_WORD) || (producer.starts_with("GNU C") && GCC_SWITCHES.iter().all(|switch| has(switch)))
}

/// What went into a link, besides what the compiler adds by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkRecord {
    /// The compiler that linked.
    pub compiler: PathBuf,
    /// The directory in which it did.
    pub directory: PathBuf,
    /// Objects and archives.
    pub inputs: Vec<PathBuf>,
    /// The names of `-l`.
    pub libraries: Vec<OsString>,
    /// The directories of `-L`.
    pub search: Vec<PathBuf>,
}

impl LinkRecord {
    /// An object whose only content is the note.
    pub(crate) fn object(&self, machine: &str) -> object::write::Result<Vec<u8>> {
        let architecture = match canonical_architecture(machine) {
            "aarch64" => Architecture::Aarch64,
            "x86_64" => Architecture::X86_64,
            // No such link is planned, and no such object is written.
            _ => Architecture::Unknown,
        };
        let mut file = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        let section = file.add_section(Vec::new(), NOTE_SECTION.into(), SectionKind::Note);
        // Loaded, because linkers that collect garbage drop other sections of a file without code.
        file.section_mut(section).flags = SectionFlags::Elf { sh_type: elf::SHT_NOTE, sh_flags: elf::SHF_ALLOC };
        file.append_section_data(section, &self.note(), 4);
        // Otherwise the linker takes the file for one that needs an executable stack.
        file.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
        file.write()
    }

    fn note(&self) -> Vec<u8> {
        let text = self.text();
        let mut name = NOTE_NAME.as_bytes().to_vec();
        name.push(0);
        let mut note = Vec::new();
        for number in [name.len(), text.len(), NOTE_TYPE as usize] {
            note.extend(u32::try_from(number).unwrap_or_default().to_le_bytes());
        }
        for part in [name, text] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// A line for each fact: a word for its kind, and the fact. Names with line breaks are left
    /// out.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = |kind: &str, value: &OsStr| {
            if !value.as_bytes().contains(&b'\n') {
                text.extend(kind.as_bytes());
                text.push(b' ');
                text.extend(value.as_bytes());
                text.push(b'\n');
            }
        };
        line("compiler", self.compiler.as_os_str());
        line("directory", self.directory.as_os_str());
        self.inputs.iter().for_each(|path| line("input", path.as_os_str()));
        self.libraries.iter().for_each(|name| line("library", name));
        self.search.iter().for_each(|path| line("search", path.as_os_str()));
        text
    }

    /// Reads a note's text; unknown lines are left out.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut record = LinkRecord::default();
        for line in text.split(|byte| *byte == b'\n') {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
            let (kind, value) = (&line[..space], OsStr::from_bytes(&line[space + 1..]));
            match kind {
                b"compiler" => record.compiler = value.into(),
                b"directory" => record.directory = value.into(),
                b"input" => record.inputs.push(value.into()),
                b"library" => record.libraries.push(value.into()),
                b"search" => record.search.push(value.into()),
                _ => {}
            }
        }
        record
    }

    /// The files that can have been linked statically: inputs, and for each library the archive of
    /// its name in the directories of `-L` and in `system`. Archives that shared libraries were
    /// preferred to are among them.
    #[must_use]
    pub fn files(&self, system: &[PathBuf]) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.inputs.iter().map(|input| self.directory.join(input)).collect();
        for library in &self.libraries {
            let name = match library.as_bytes().strip_prefix(b":") {
                Some(file) => OsStr::from_bytes(file).to_owned(),
                None => archive_name(library),
            };
            let own = self.search.iter().map(|directory| self.directory.join(directory));
            files.extend(own.chain(system.iter().cloned()).map(|directory| directory.join(&name)));
        }
        files.retain(|path| path.is_file());
        files.dedup();
        files
    }
}

fn archive_name(library: &OsStr) -> OsString {
    let mut name = OsString::from("lib");
    name.push(library);
    name.push(".a");
    name
}

/// Whether a path names an object or archive for the linker, and not a shared library.
pub(crate) fn is_static_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.ends_with(".so") && !name.contains(".so.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> LinkRecord {
        LinkRecord {
            compiler: "/usr/bin/gcc".into(),
            directory: "/home/a b".into(),
            inputs: vec!["x.o".into(), "/l/libz.a".into()],
            libraries: vec!["m".into()],
            search: vec!["lib".into()],
        }
    }

    #[test]
    fn a_record_survives_its_note() {
        assert_eq!(LinkRecord::parse(&record().text()), record());
        assert_eq!(LinkRecord::parse(b"\xff\ninput\nother x\n"), LinkRecord::default());
    }

    #[test]
    fn the_object_holds_one_note_of_raddles() {
        use object::read::elf::{FileHeader as _, SectionHeader as _};
        let bytes = record().object("x86_64-linux-gnu").expect("written");
        let header = elf::FileHeader64::<Endianness>::parse(&bytes[..]).expect("an ELF file");
        let endian = header.endian().expect("least byte first");
        let sections = header.sections(endian, &bytes[..]).expect("sections");
        let (_, section) = sections.section_by_name(endian, NOTE_SECTION.as_bytes()).expect("its section");
        let mut notes = section.notes(endian, &bytes[..]).expect("notes").expect("of the kind");
        let note = notes.next().expect("readable").expect("one");
        assert_eq!((note.name(), note.n_type(endian)), (NOTE_NAME.as_bytes(), elf::NoteType(NOTE_TYPE)));
        assert_eq!(LinkRecord::parse(note.desc()), record());
        assert!(notes.next().expect("readable").is_none());
    }

    #[test]
    fn producers_show_hooks() {
        assert!(is_hooked("GNU C17 12.2.0 -fsanitize=thread -g -fno-builtin-memcpy -O2"));
        assert!(is_hooked("Debian clang version 19.1.7 (3) raddle-hooks c++20"));
        for producer in ["GNU C17 12.2.0 -g", "GNU C17 12.2.0 -fsanitize=thread", "clang version 19", "GNU AS 2.40", ""]
        {
            assert!(!is_hooked(producer), "{producer}");
        }
        assert!(is_hooked(&format!("clang version 11 {}", clang_producer(None))));
    }

    #[test]
    fn shared_libraries_are_no_static_inputs() {
        assert!(is_static_input(Path::new("a.o")) && is_static_input(Path::new("/x/libz.a")));
        assert!(!is_static_input(Path::new("libz.so")) && !is_static_input(Path::new("libz.so.1.2")));
    }
}
