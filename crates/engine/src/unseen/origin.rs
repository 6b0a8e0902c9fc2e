//! Where a function without hooks comes from.
//!
//! Debug information is no help here: the archives of distributions have none. But the inputs of
//! the link are recorded, so a function is looked up in them, by name and size.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, RelocationKind, SectionKind, SymbolKind};
use raddle_cc::mark::LinkRecord;

use super::code::{Code, CodeFunction};
use super::padding::without_padding;

/// Functions of the start-up files, with more bytes than they have in any version.
const START_UP: [(&str, u64); 14] = [
    ("_start", 64),
    ("_dl_relocate_static_pie", 32),
    ("deregister_tm_clones", 64),
    ("register_tm_clones", 80),
    ("__do_global_dtors_aux", 96),
    ("__do_global_ctors_aux", 96),
    ("frame_dummy", 80),
    ("call_weak_fn", 32),
    ("call_gmon_start", 48),
    ("__libc_csu_init", 160),
    ("__libc_csu_fini", 32),
    ("_init", 64),
    ("_fini", 64),
    ("set_fast_math", 64),
];

/// Starts of the names of functions that compilers make and that no source has. Debug information
/// leaves them out. They are glue: thunks, wrappers, and calls of initialisers.
const MADE_BY_COMPILERS: [&str; 14] = [
    "_sub_I_",
    "_sub_D_",
    "_GLOBAL__sub_I_",
    "_GLOBAL__sub_D_",
    "_GLOBAL__I_",
    "_GLOBAL__D_",
    "_Z41__static_initialization_and_destruction_0",
    "__cxx_global_",
    "tsan.module_",
    "__tls_init",
    "_ZTH",
    "_ZTW",
    "_ZTh",
    "_ZTv",
];
/// The same, of those that every unit may share.
const SHARED_GLUE: [&str; 6] = ["__clang_call_terminate", "_ZTH", "_ZTW", "_ZTh", "_ZTv", "_ZTc"];

/// Where the system keeps libraries.
const SYSTEM: [&str; 11] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/aarch64-linux-gnu/lib",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// Files that compilers add to a link by themselves, or that belong to the C and C++ runtime.
#[rustfmt::skip]
const RUNTIME: [&str; 17] = [
    "libgcc.a", "libgcc_eh.a", "libc_nonshared.a", "libpthread_nonshared.a", "libstdc++.a",
    "libstdc++_nonshared.a", "libstdc++fs.a", "libstdc++exp.a", "libsupc++.a", "libatomic.a",
    "libc++.a", "libc++abi.a", "libc++experimental.a", "libunwind.a", "libubsan.a", "libc.a",
    "libm.a",
];

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Compiler or C library.
    Runtime,
    /// An installed library.
    System,
    /// The user.
    User,
}

/// Where a function comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The compiler or the C and C++ runtime: nothing to say about it.
    Runtime,
    /// An installed library.
    System(PathBuf),
    /// A file of the user's, by name.
    User(String),
    /// No file that is known.
    Unknown,
}

/// What is known of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOrigin {
    /// Where it comes from.
    pub origin: Origin,
    /// Bytes before it that come from there, too: functions whose names were removed.
    pub before: u64,
    /// Its own bytes, and those behind it that come from there.
    pub size: u64,
}

/// The origins of the functions of one linked file.
pub struct Origins<'a> {
    code: &'a Code,
    /// Functions of the files that were linked; read when first needed.
    linked: Option<Index>,
    /// Functions of the files that compilers add.
    added: Option<Index>,
    /// Those of start-up files alone, which every program has.
    start_up: Option<StartUp>,
}

impl<'a> Origins<'a> {
    /// Origins in what led to this file.
    pub fn new(code: &'a Code) -> Self {
        Origins { code, linked: None, added: None, start_up: None }
    }

    /// Where a function comes from. It has `room` up to the next one.
    pub fn of(&mut self, function: &CodeFunction, room: u64) -> FoundOrigin {
        let size = if function.size > 0 { function.size.min(room) } else { room };
        let found = |origin, size| FoundOrigin { origin, before: 0, size };
        let (records, machine) = (&self.code.records, self.code.machine);
        if let Some((_, most)) = START_UP.iter().find(|(name, _)| *name == function.name) {
            let code = self.code.bytes(function.address, size);
            let start_up = self.start_up.get_or_insert_with(|| StartUp::new(records, machine));
            return found(Origin::Runtime, size.min(start_up.most(function, code).unwrap_or(*most)));
        }
        if self.is_glue(function) {
            return found(Origin::Runtime, size);
        }
        let linked = self.linked.get_or_insert_with(|| Index::of_links(records, machine));
        if let Some(found) = linked.find(function, room) {
            return found;
        }
        let added = self.added.get_or_insert_with(|| Index::of_compilers(records, machine));
        added.find(function, room).unwrap_or(found(Origin::Unknown, size))
    }

    /// Where code without a name comes from, and how much of it.
    pub fn of_nameless(&mut self, bytes: &[u8]) -> Option<(Origin, usize)> {
        let (records, machine) = (&self.code.records, self.code.machine);
        let linked = self.linked.get_or_insert_with(|| Index::of_links(records, machine));
        if let Some(found) = linked.find_nameless(bytes) {
            return Some(found);
        }
        self.added.get_or_insert_with(|| Index::of_compilers(records, machine)).find_nameless(bytes)
    }

    /// Whether a compiler made it, for a unit that has hooks.
    fn is_glue(&self, function: &CodeFunction) -> bool {
        let has_name = |starts: &[&str]| starts.iter().any(|start| function.name.starts_with(start));
        let hooked = |file: &String| {
            self.code.hooked_names.contains(file)
                && !self.code.others.iter().any(|unit| super::code::base_name(&unit.name) == file)
        };
        has_name(&SHARED_GLUE) || (has_name(&MADE_BY_COMPILERS) && function.file.as_ref().is_some_and(hooked))
    }
}

/// The functions of files with the start of programs and shared libraries. Others have functions of
/// these names that are longer. The files are read one after the other, as far as needed.
struct StartUp {
    index: Index,
    files: Box<dyn Iterator<Item = PathBuf>>,
}

impl StartUp {
    fn new(records: &[LinkRecord], machine: Option<Architecture>) -> Self {
        // The order is that of the odds, so that nearly always the first few files are enough.
        let records = records.to_vec();
        let of_compilers = std::iter::once_with(move || compiler_directories(&records)).flatten();
        let usual = SYSTEM[..1].iter().map(PathBuf::from).chain(gcc_directories(Path::new("/usr/lib")));
        // Asking for names is much faster than listing directories with thousands of files.
        let names = ["Scrt1.o", "crt1.o", "crtbeginS.o", "crtbegin.o"];
        let files = usual.chain(of_compilers).flat_map(move |directory| names.map(|name| directory.join(name)));
        let files = files.filter(|path| is_runtime(path) && path.is_file());
        StartUp { index: Index { machine, ..Index::default() }, files: Box::new(files) }
    }

    /// How many of these bytes belong to the function: as many as it has in a file, if only padding
    /// is behind them. Otherwise the most that it has in any of the files.
    fn most(&mut self, function: &CodeFunction, code: &[u8]) -> Option<u64> {
        let is_whole = |&bytes: &u64| {
            let rest = usize::try_from(bytes).ok().and_then(|bytes| code.get(bytes..));
            rest.is_none_or(is_padding)
        };
        loop {
            // Two files may have functions of other lengths, and the end of one may lie in the
            // padding of the other.
            if let Some(whole) = self.index.sizes(function).filter(is_whole).max() {
                return Some(whole);
            }
            match self.files.next() {
                Some(path) => self.index.add(&path),
                None => return self.index.sizes(function).max(),
            }
        }
    }
}

fn is_padding(code: &[u8]) -> bool {
    without_padding(code).is_empty()
}

/// Functions by name, each with its room and the file that it is in.
#[derive(Debug, Default)]
struct Index {
    /// Files for other processors are left out.
    machine: Option<Architecture>,
    files: Vec<(Owner, PathBuf)>,
    functions: BTreeMap<String, Vec<Definition>>,
    /// All code, for what has no name in the program: functions that only their own file knew, and
    /// those in whose place the linker took others of the same name. `None` if that is not wanted.
    sections: Option<Vec<CodeSection>>,
}

/// A section of code.
#[derive(Debug)]
struct CodeSection {
    file: usize,
    member: Option<String>,
    /// Its bytes; `None` where the linker puts in others.
    bytes: Vec<Option<u8>>,
}

impl CodeSection {
    fn fits(&self, bytes: &[u8]) -> bool {
        let same = |(own, byte): (&Option<u8>, &u8)| own.is_none_or(|own| own == *byte);
        self.bytes.len() <= bytes.len() && self.bytes.iter().zip(bytes).all(same)
    }
}

/// A function in a file.
#[derive(Debug)]
struct Definition {
    file: usize,
    member: Option<String>,
    size: u64,
    /// Bytes from the start of its section, if it is the first there.
    before: u64,
    /// Bytes up to the next function, or to the end of the section.
    room: u64,
}

impl Index {
    /// What was linked by the user's own words.
    fn of_links(records: &[LinkRecord], machine: Option<Architecture>) -> Self {
        let mut index = Index { machine, sections: Some(Vec::new()), ..Index::default() };
        let system: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        for record in records {
            for path in record.files(&system) {
                index.add(&path);
            }
        }
        index
    }

    /// What compilers add to a link.
    fn of_compilers(records: &[LinkRecord], machine: Option<Architecture>) -> Self {
        let mut index = Index { machine, sections: Some(Vec::new()), ..Index::default() };
        for directory in compiler_directories(records) {
            list(&directory).iter().filter(|path| is_runtime(path)).for_each(|path| index.add(path));
        }
        index
    }

    /// How many bytes a function has in each of the files.
    fn sizes(&self, function: &CodeFunction) -> impl Iterator<Item = u64> {
        let definitions = self.functions.get(&function.name).into_iter().flatten();
        definitions.map(|definition| definition.size.max(definition.room))
    }

    fn add(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        if self.files.iter().any(|(_, known)| *known == path) {
            return;
        }
        let Ok(bytes) = std::fs::read(&path) else { return };
        let file = self.files.len();
        self.files.push((owner(&path), path));
        if let Ok(archive) = ArchiveFile::parse(&*bytes) {
            for member in archive.members().filter_map(Result::ok) {
                if let Ok(content) = member.data(&*bytes) {
                    let name = String::from_utf8_lossy(member.name()).into_owned();
                    self.add_object(file, Some(name), content);
                }
            }
        } else {
            self.add_object(file, None, &bytes);
        }
    }

    fn add_object(&mut self, file: usize, member: Option<String>, bytes: &[u8]) {
        let Ok(object) = ElfFile64::<Endianness>::parse(bytes) else { return };
        if self.machine.is_some_and(|machine| machine != object.architecture()) {
            return;
        }
        let mut places: Vec<(usize, u64)> = Vec::new();
        let code = || {
            object.symbols().filter(|symbol| {
                matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label)
                    && symbol.is_definition()
            })
        };
        for symbol in code() {
            places.extend(symbol.section_index().map(|section| (section.0, symbol.address())));
        }
        places.sort_unstable();
        if let Some(sections) = &mut self.sections {
            add_sections(sections, file, member.as_deref(), &object);
        }
        for symbol in code() {
            let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name()) else { continue };
            let end = object.section_by_index(section).map_or(0, |section| section.size());
            let next = places.partition_point(|place| *place <= (section.0, symbol.address()));
            let next = places.get(next).filter(|place| place.0 == section.0).map_or(end, |place| place.1);
            let (size, room) = (symbol.size(), next.saturating_sub(symbol.address()));
            let first = places[places.partition_point(|place| place.0 < section.0)].1;
            let before = if first == symbol.address() { first } else { 0 };
            let definition = Definition { file, member: member.clone(), size, before, room };
            self.functions.entry(name.to_owned()).or_default().push(definition);
        }
    }

    /// The first section that is at the start of these bytes.
    fn find_nameless(&self, bytes: &[u8]) -> Option<(Origin, usize)> {
        let found = self.sections.iter().flatten().find(|section| section.fits(bytes))?;
        Some((self.origin(found.file, found.member.as_deref()), found.bytes.len()))
    }

    fn origin(&self, file: usize, member: Option<&str>) -> Origin {
        let (owner, path) = &self.files[file];
        match owner {
            Owner::Runtime => Origin::Runtime,
            Owner::System => Origin::System(path.clone()),
            Owner::User => Origin::User(user_name(path, member)),
        }
    }

    /// The first file with this function. What lies beside it in its section comes from there, too.
    fn find(&self, function: &CodeFunction, room: u64) -> Option<FoundOrigin> {
        let fits = |definition: &&Definition| definition.size == function.size;
        let found = self.functions.get(&function.name)?.iter().find(fits)?;
        let origin = self.origin(found.file, found.member.as_deref());
        Some(FoundOrigin { origin, before: found.before, size: found.size.max(found.room).min(room) })
    }
}

/// Adds the sections of code of an object.
fn add_sections(
    sections: &mut Vec<CodeSection>,
    file: usize,
    member: Option<&str>,
    object: &ElfFile64<'_, Endianness>,
) {
    for section in object.sections().filter(|section| section.kind() == SectionKind::Text) {
        let content = section.data().unwrap_or_default();
        let mut bytes: Vec<Option<u8>> = content.iter().copied().map(Some).collect();
        for (offset, relocation) in section.relocations() {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            let is_plain = matches!(relocation.kind(), RelocationKind::Relative | RelocationKind::PltRelative);
            // Where it finds a shorter way, the linker replaces the instruction, too.
            let (start, length) = if is_plain { (at, 4) } else { (at.saturating_sub(3), 11) };
            let end = start.saturating_add(length).min(bytes.len());
            bytes.get_mut(start..end).unwrap_or_default().fill(None);
        }
        let fixed = bytes.iter().flatten().count();
        // A section that is little more than what the linker puts in would fit anywhere.
        if fixed > 0 && fixed * 2 >= bytes.len() {
            sections.push(CodeSection { file, member: member.map(str::to_owned), bytes });
        }
    }
}

fn user_name(path: &Path, member: Option<&str>) -> String {
    let path = super::shown(path);
    member.map_or(path.clone(), |member| format!("{path}({member})"))
}

fn owner(path: &Path) -> Owner {
    match (is_system(path), is_runtime(path)) {
        (_, true) => Owner::Runtime,
        (true, _) => Owner::System,
        (false, false) => Owner::User,
    }
}

/// Whether a path is in a directory of the system's libraries.
pub fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|directory| path.starts_with(directory))
}

fn is_runtime(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_start_up = name.contains("crt") && name.ends_with(".o");
    (RUNTIME.contains(&&*name) || name.starts_with("libclang_rt.") || is_start_up) && is_of_compiler(path)
}

/// Whether a file is next to the C library or to a compiler's own libraries.
fn is_of_compiler(path: &Path) -> bool {
    let names_compiler = |part: std::path::Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        ["gcc", "clang", "llvm"].iter().any(|name| part.starts_with(name))
    };
    is_system(path) || path.components().any(names_compiler)
}

/// Directories with files that compilers add.
fn compiler_directories(records: &[LinkRecord]) -> Vec<PathBuf> {
    let mut prefixes = vec![PathBuf::from("/usr")];
    for record in records {
        let program = record.compiler.canonicalize().unwrap_or_default();
        let own = program.parent().and_then(Path::parent).map(Path::to_path_buf);
        prefixes.extend(own.filter(|own| !prefixes.contains(own)));
    }
    let mut directories: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    for prefix in prefixes {
        for library in ["lib", "lib64"].map(|name| prefix.join(name)) {
            directories.extend(gcc_directories(&library));
            let clang = list(&library.join("clang")).into_iter().flat_map(|version| list(&version.join("lib")));
            directories.extend(clang);
            directories.push(library);
        }
    }
    // Names for one directory lead to the same files.
    let mut known: Vec<(u64, u64)> = Vec::new();
    directories.retain(|directory| {
        let about = std::fs::metadata(directory).ok().map(|about| (about.dev(), about.ino()));
        let place = about.filter(|place| !known.contains(place));
        known.extend(place);
        place.is_some()
    });
    directories
}

/// Directories with the files of each gcc.
fn gcc_directories(library: &Path) -> Vec<PathBuf> {
    let machines = [list(&library.join("gcc")), list(&library.join("gcc-cross"))].concat();
    machines.iter().flat_map(|machine| list(machine)).collect()
}

/// What is in a directory, in the order of names.
fn list(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
