//! Checks a program before it is started: can raddle run it?

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, elf};
use raddle_vocab::Machine;
use raddle_wire::observed::INSTALLED;
use raddle_wire::{hooks, role};

use crate::error::StartError;
use crate::languages;
use crate::native::remote::files;

/// Start of the name of the runtime's file. Programs that older versions linked need it.
const RUNTIME_PREFIX: &str = "libraddle_rt";

/// What raddle can see of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrumentation {
    /// Raddle linked it, and it calls the hooks.
    Hooks,
    /// It was built without raddle. The runtime can be loaded into it, and replaces the functions
    /// of the C library that it calls.
    Calls,
}

/// Checks that the file is an executable for a machine that raddle knows, into which the runtime
/// comes, or can come.
///
/// # Errors
/// The reason why it is not, for the user.
pub fn check(program: &Path) -> Result<Instrumentation, StartError> {
    let path = || PathBuf::from(program);
    let file = File::open(program).map_err(|error| StartError::Unreadable(path(), error.to_string()))?;
    let about = file.metadata().map_err(|error| StartError::Unreadable(path(), error.to_string()))?;
    if !about.is_file() {
        return Err(StartError::NotExecutable(path(), "it is not a regular file".into()));
    }
    let data = std::fs::read(program).map_err(|error| StartError::Unreadable(path(), error.to_string()))?;
    if data.starts_with(b"#!") {
        return Err(StartError::NotExecutable(path(), "it is a script; name the program that it starts".into()));
    }
    let elf = parse(&data).map_err(|why| StartError::NotExecutable(path(), why))?;
    // Permissions are checked before the hooks: a library of the user's has them, too.
    if about.permissions().mode() & 0o111 == 0 {
        return Err(StartError::NotExecutable(path(), "its permissions do not allow to execute it".into()));
    }
    let damaged = |why| StartError::NotExecutable(path(), why);
    let seen = match hooks_version(&elf).map_err(damaged)? {
        Some(hooks::VERSION) => Instrumentation::Hooks,
        Some(other) => return Err(StartError::HooksDiffer { program: path(), hooks: other, host: hooks::VERSION }),
        None if needs_runtime(&elf).map_err(damaged)? => return Err(StartError::BuiltByOlder(path())),
        None => Instrumentation::Calls,
    };
    let refused =
        refusal(&elf, about.permissions().mode()).or_else(|| has_capabilities(program).then_some(CAPABILITIES));
    refused.map_or(Ok(seen), |why| Err(StartError::NotExecutable(path(), why.into())))
}

/// Why a program with capabilities is refused.
const CAPABILITIES: &str = "it gets capabilities from its file (setcap), and the system loads no runtime into such a \
                            program: check a copy of it";

/// Whether the program gets rights that its user does not have from its file.
fn has_capabilities(program: &Path) -> bool {
    let mut value = [0u8; 64];
    let has_some = rustix::fs::getxattr(program, "security.capability", &mut value).is_ok();
    has_some && !rustix::process::geteuid().is_root()
}

/// The version of the hooks in the file, by the note that raddle's links leave; `None` without.
fn hooks_version(elf: &Elf<'_>) -> Result<Option<u32>, String> {
    let damaged = |_| String::from("its notes are damaged");
    let endian = elf.endian();
    for segment in elf.elf_program_headers() {
        let Some(mut notes) = segment.notes(endian, elf.data()).map_err(damaged)? else { continue };
        while let Some(note) = notes.next().map_err(damaged)? {
            let is_ours = note.n_type(endian) == elf::NoteType(hooks::NOTE_TYPE)
                && note.name_bytes() == hooks::NOTE_NAME
                && note.desc().len() >= hooks::NOTE_BYTES;
            if let Some(version) = note.desc().first_chunk().filter(|_| is_ours) {
                return Ok(Some(u32::from_le_bytes(*version)));
            }
        }
    }
    Ok(None)
}

/// Why the dynamic linker would not load the runtime, which the program does not ask for.
fn refusal(elf: &Elf<'_>, mode: u32) -> Option<&'static str> {
    let headers = elf.elf_program_headers();
    if !headers.iter().any(|header| header.p_type(elf.endian()) == elf::PT_INTERP) {
        return Some(
            "it is a library, or statically linked, so that the runtime cannot be loaded into it: link it \
             dynamically, or build it with `raddle cc` or `raddle c++`",
        );
    }
    // Neither the group nor the user has to be another one: the bits alone make the linker careful.
    const SET_ID: u32 = 0o6000;
    (mode & SET_ID != 0).then_some(
        "it runs as another user or group (set-user-ID or set-group-ID), and the system loads no runtime into such \
         a program: check a copy of it without these bits",
    )
}

/// Whether a file is in a directory of installed ones, by the same rule as in the runtime. The
/// program itself may be, and is none of them.
#[must_use]
pub fn is_installed(path: &Path) -> bool {
    let path = files::original(path);
    INSTALLED.iter().any(|directory| path.as_os_str().as_bytes().starts_with(directory.as_bytes()))
}

/// The name of the file with the debug information of a stripped file, if it names one.
pub(crate) fn debug_link(path: &Path) -> Option<Vec<u8>> {
    let data = std::fs::read(path).ok()?;
    let name = parse(&data).ok()?.gnu_debuglink().ok()??.0.to_vec();
    let is_name = !name.is_empty() && !name.contains(&b'/') && !matches!(&name[..], b"." | b"..");
    is_name.then_some(name)
}

/// Functions of a program that are known by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFunctions {
    /// Start and end, relative to the entry point of the program, and one of [`role`]. There are
    /// also ranges of code that are no functions.
    pub all: Vec<[u64; 3]>,
    /// Whether the program has atomic sections.
    pub has_sections: bool,
}

/// How the names of functions begin whose bodies are atomic sections.
const SECTION_PREFIX: &str = "__VERIFIER_atomic_";
/// Functions that abort if an assumption does not hold.
const ASSUMPTIONS: [&str; 3] = ["assume_abort_if_not", "__VERIFIER_assume", "assume"];

/// The functions of a program that are known by their names. A file that cannot be read has none.
#[must_use]
pub fn known_functions(program: &Path) -> KnownFunctions {
    let data = std::fs::read(program).unwrap_or_default();
    let Ok(elf) = parse(&data) else { return KnownFunctions::default() };
    let mut known = functions_of(&elf);
    known.all.extend(languages::known_code(&elf));
    known
}

fn functions_of(elf: &Elf<'_>) -> KnownFunctions {
    let mut known = KnownFunctions::default();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        let Ok(name) = symbol.name_bytes() else { continue };
        // Compilers append to the names of copies that they make.
        let is = |of: &str| name.strip_prefix(of.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'.' | b'@', ..]));
        let is_section = name.starts_with(SECTION_PREFIX.as_bytes());
        known.has_sections |= is_section;
        let role = if is_section {
            role::SECTION
        } else if ASSUMPTIONS.into_iter().any(is) {
            role::ASSUME
        } else {
            continue;
        };
        let start = symbol.address().wrapping_sub(elf.entry());
        let entry = [start, start.wrapping_add(symbol.size()), role];
        if symbol.is_definition() && symbol.size() > 0 && !known.all.contains(&entry) {
            known.all.push(entry);
        }
    }
    known
}

type Elf<'data> = ElfFile64<'data, Endianness, &'data [u8]>;

fn parse(data: &[u8]) -> Result<Elf<'_>, String> {
    let not_elf = "it is not an ELF file for a 64-bit machine";
    if data.is_empty() {
        return Err("it is empty".into());
    }
    if data.starts_with(&[elf::ELFMAG.as_slice(), &[elf::ELFCLASS32.0]].concat()) {
        return Err(format!("it is a 32-bit program: build it for {}", Machine::OWN));
    }
    let elf = Elf::parse(data).map_err(|_| String::from(not_elf))?;
    let header = elf.elf_header();
    if machine_of(&elf).is_none_or(|machine| machine != Machine::OWN && Machine::OWN != Machine::X86_64) {
        return Err("it was built for another machine than x86-64 or aarch64".into());
    }
    match header.e_type(elf.endian()) {
        elf::ET_EXEC | elf::ET_DYN => Ok(elf),
        elf::ET_REL => Err("it is an object file that is not linked yet".into()),
        elf::ET_CORE => Err("it is a core dump".into()),
        _ => Err(not_elf.into()),
    }
}

fn machine_of(elf: &Elf<'_>) -> Option<Machine> {
    match elf.elf_header().e_machine(elf.endian()) {
        elf::EM_X86_64 => Some(Machine::X86_64),
        elf::EM_AARCH64 => Some(Machine::Aarch64),
        _ => None,
    }
}

/// The processor that a file of machine code is for; `None` for other files, and other processors.
#[must_use]
pub fn machine(file: &Path) -> Option<Machine> {
    // A special file could have no end.
    let file = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).and_then(|_| File::open(file).ok())?;
    let mut head = [0u8; 20];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut head, 0).ok()?;
    let number = u16::from_le_bytes([head[18], head[19]]);
    let known = [(elf::EM_X86_64, Machine::X86_64), (elf::EM_AARCH64, Machine::Aarch64)];
    let is_elf = head.starts_with(&elf::ELFMAG);
    known.into_iter().find(|(code, _)| is_elf && code.0 == number).map(|(_, machine)| machine)
}

/// The processor that a program is for, and its dynamic linker; `None` for other files.
#[must_use]
pub fn machine_and_interpreter(program: &Path) -> Option<(Machine, Option<PathBuf>)> {
    let data = std::fs::read(program).ok()?;
    let elf = parse(&data).ok()?;
    let mut headers = elf.elf_program_headers().iter();
    let interpreter = headers.find_map(|header| header.interpreter(elf.endian(), elf.data()).ok().flatten());
    Some((machine_of(&elf)?, interpreter.map(|path| PathBuf::from(OsStr::from_bytes(path)))))
}

/// Whether the dynamic section names the runtime, as those of older versions did.
fn needs_runtime(elf: &Elf<'_>) -> Result<bool, String> {
    let damaged = |_| String::from("its dynamic section is damaged");
    let endian = elf.endian();
    let Some((entries, strings_section)) = elf.elf_section_table().dynamic(endian, elf.data()).map_err(damaged)? else {
        return Ok(false);
    };
    let strings = elf.elf_section_table().strings(endian, elf.data(), strings_section).map_err(damaged)?;
    for entry in entries {
        if entry.tag(endian) != elf::DT_NEEDED {
            continue;
        }
        let needed = entry.string(endian, strings).map_err(damaged)?;
        // Linked by path without a soname, the entry holds the whole path.
        let name = needed.rsplit(|&byte| byte == b'/').next().unwrap_or(needed);
        if name.starts_with(RUNTIME_PREFIX.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(directory: &Path, bytes: &[u8], mode: u32) -> PathBuf {
        let path = directory.join("program");
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn message(path: &Path) -> String {
        check(path).unwrap_err().to_string()
    }

    #[test]
    fn each_wrong_file_gets_its_own_sentence() {
        let directory = tempfile::tempdir().unwrap();
        assert!(message(&directory.path().join("absent")).contains("No such file"));
        assert!(message(directory.path()).contains("not a regular file"));
        assert!(message(&written(directory.path(), b"", 0o755)).contains("empty"));
        assert!(message(&written(directory.path(), b"#!/bin/sh\n", 0o755)).contains("script"));
        assert!(message(&written(directory.path(), b"hello", 0o755)).contains("not an ELF"));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(message(&written(directory.path(), &own, 0o644)).contains("permissions"));
        assert!(message(&written(directory.path(), &own, 0o4755)).contains("another user"));
        assert!(message(&written(directory.path(), b"\x7fELF\x01\x01", 0o755)).contains("32-bit"));
        assert!(message(&written(directory.path(), &own[..200], 0o755)).contains("ELF"));
    }

    #[test]
    fn a_program_without_the_runtime_can_get_it() {
        assert_eq!(check(&std::env::current_exe().unwrap()), Ok(Instrumentation::Calls));
    }

    proptest! {
        #[test]
        fn damaged_executables_never_panic(cut in 0usize..4096, at in 0usize..4096, byte: u8) {
            let mut data = std::fs::read("/bin/true").unwrap();
            data.truncate(data.len().saturating_sub(cut * 16));
            if let Some(place) = data.get_mut(at) {
                *place = byte;
            }
            if let Ok(elf) = parse(&data) {
                let _ = (needs_runtime(&elf), hooks_version(&elf), refusal(&elf, 0o755));
                let _ = functions_of(&elf);
            }
        }
    }
}
