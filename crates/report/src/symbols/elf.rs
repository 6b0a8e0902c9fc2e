//! One ELF file: debug information, symbols, unwinding tables, and where its parts lie in memory.

use std::cell::OnceCell;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::RunTimeEndian;
use object::read::elf::ElfFile64;
use object::{Architecture, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SymbolKind};

use super::calls::Imports;
use super::debug::{Debug, Reader};
use super::modules::{Module, bias};
use super::variables::{Storage, Variables};

/// How the name of the runtime's file begins.
const RUNTIME: &[u8] = b"libraddle_rt";

/// Files larger than this are not read: names are not worth so much memory.
const MAX_FILE: u64 = 4 << 30;

/// A name in the symbol table, at its address as linked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub address: u64,
    pub size: u64,
    pub name: String,
}

/// The thread-local block that each thread has for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TlsBlock {
    pub size: u64,
    pub align: u64,
}

/// Unwinding tables.
pub(super) struct Unwinding {
    pub frames: gimli::EhFrame<Reader>,
    pub bases: gimli::BaseAddresses,
}

/// A file that is mapped somewhere. Addresses inside are as linked; add `bias` to get those of the
/// process.
///
/// Most files of a process are libraries of which at most a name is asked. So opening one reads its
/// headers alone. The rest is read when something asks for it.
pub(super) struct Elf {
    pub bias: u64,
    pub path: PathBuf,
    pub tls: Option<TlsBlock>,
    pub machine: Architecture,
    spans: Vec<(u64, u64)>,
    content: OnceCell<Content>,
    dwarf: OnceCell<Arc<gimli::Dwarf<Reader>>>,
    lines: OnceCell<Option<addr2line::Context<Reader>>>,
    variables: OnceCell<(Debug, Variables)>,
    imports: OnceCell<Imports>,
}

/// What a file holds beside debug information.
#[derive(Default)]
struct Content {
    unwinding: Option<Unwinding>,
    functions: Vec<Symbol>,
    data: Vec<Symbol>,
    thread_data: Vec<Symbol>,
}

impl Elf {
    /// Reads the headers of a file; `None` if it cannot be read or is not ELF.
    pub fn open(module: &Module) -> Option<Elf> {
        let cache = ReadCache::new(open(&module.path)?);
        let file = ElfFile64::<object::Endianness, _>::parse(&cache).ok()?;
        let spans: Vec<(u64, u64)> = file
            .segments()
            .map(|segment| (segment.address(), segment.address().saturating_add(segment.size())))
            .collect();
        let linked = spans.iter().map(|span| span.0).min()?;
        let movable = file.kind() == object::ObjectKind::Dynamic;
        Some(Elf {
            bias: bias(module.start, linked, movable, file.architecture()),
            path: module.path.clone(),
            tls: tls_block(&file),
            machine: file.architecture(),
            spans,
            content: OnceCell::new(),
            dwarf: OnceCell::new(),
            lines: OnceCell::new(),
            variables: OnceCell::new(),
            imports: OnceCell::new(),
        })
    }

    fn content(&self) -> &Content {
        self.content.get_or_init(|| {
            let Some(bytes) = read(&self.path) else { return Content::default() };
            let Ok(file) = ElfFile64::<object::Endianness>::parse(&bytes[..]) else { return Content::default() };
            if !self.is_system() {
                // It will be asked for as well.
                let _ = self.dwarf.set(Arc::new(dwarf_of(&file, &self.path)));
            }
            let [functions, data, thread_data] = symbols(&file);
            Content { unwinding: unwinding(&file), functions, data, thread_data }
        })
    }

    fn dwarf(&self) -> &Arc<gimli::Dwarf<Reader>> {
        self.dwarf.get_or_init(|| Arc::new(dwarf_at(&self.path).unwrap_or_else(|| load(None))))
    }

    /// Its lines, if it has any that can be read.
    pub fn lines(&self) -> Option<&addr2line::Context<Reader>> {
        self.lines.get_or_init(|| addr2line::Context::from_arc_dwarf(Arc::clone(self.dwarf())).ok()).as_ref()
    }

    /// Its unwinding tables.
    pub fn unwinding(&self) -> Option<&Unwinding> {
        self.content().unwinding.as_ref()
    }

    /// Its name without directories.
    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether it is part of the system, so that its internals do not matter to the user.
    pub fn is_system(&self) -> bool {
        is_system(&self.path)
    }

    /// Whether it is the runtime that raddle puts into the process.
    pub fn is_runtime(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(RUNTIME))
    }

    /// The calls of functions in other files; read on first use.
    pub fn imports(&self) -> &Imports {
        self.imports.get_or_init(|| {
            let bytes = read(&self.path).unwrap_or_default();
            ElfFile64::parse(&bytes[..]).map(|file| Imports::of(&file)).unwrap_or_default()
        })
    }

    /// The address as linked, if the address of the process lies in this file.
    pub fn linked(&self, address: u64) -> Option<u64> {
        let linked = address.wrapping_sub(self.bias);
        self.spans.iter().any(|&(start, end)| (start..end).contains(&linked)).then_some(linked)
    }

    /// Function that holds an address.
    pub fn function(&self, linked: u64) -> Option<&Symbol> {
        holding(&self.content().functions, linked)
    }

    /// Data symbol that holds a place.
    pub fn data_symbol(&self, place: Storage) -> Option<&Symbol> {
        match place {
            Storage::Static(linked) => holding(&self.content().data, linked),
            Storage::Tls(offset) => holding(&self.content().thread_data, offset),
        }
    }

    /// Size that the symbol table gives for what starts at a place.
    pub fn size_at(&self, place: Storage) -> u64 {
        self.data_symbol(place).map_or(0, |symbol| symbol.size)
    }

    /// Debug information with its variables; read on first use, which takes a while for large
    /// programs.
    pub fn variables(&self) -> &(Debug, Variables) {
        self.variables.get_or_init(|| {
            let debug = Debug::new(Arc::clone(self.dwarf()));
            let variables = Variables::collect(&debug);
            (debug, variables)
        })
    }
}

/// Whether a file is part of the system.
pub(super) fn is_system(path: &Path) -> bool {
    ["/usr/lib", "/lib", "/usr/aarch64-linux-gnu"].iter().any(|directory| path.starts_with(directory))
}

/// The debug information of a file alone.
pub(super) fn debug_at(path: &Path) -> Option<Debug> {
    Some(Debug::new(Arc::new(dwarf_at(path)?)))
}

/// The file, if it is one that can be read.
fn open(path: &Path) -> Option<File> {
    let size = std::fs::metadata(path).ok()?;
    // Opening a pipe or reading a device could block for ever.
    if !size.is_file() || size.len() > MAX_FILE {
        return None;
    }
    File::open(path).ok()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The last symbol that starts at or before an address and reaches it.
fn holding(sorted: &[Symbol], address: u64) -> Option<&Symbol> {
    let index = sorted.partition_point(|symbol| symbol.address <= address);
    let symbol = sorted.get(index.checked_sub(1)?)?;
    (address - symbol.address < symbol.size.max(1)).then_some(symbol)
}

/// Functions, data and thread-local data from both symbol tables, sorted.
fn symbols(file: &ElfFile64<'_>) -> [Vec<Symbol>; 3] {
    let mut tables: [Vec<Symbol>; 3] = Default::default();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let table = match symbol.kind() {
            SymbolKind::Text => 0,
            SymbolKind::Data => 1,
            SymbolKind::Tls => 2,
            _ => continue,
        };
        let Ok(name) = symbol.name() else { continue };
        if symbol.is_definition() && !name.is_empty() {
            let name = name.to_string();
            tables[table].push(Symbol { address: symbol.address(), size: symbol.size(), name });
        }
    }
    for table in &mut tables {
        table.sort();
        // Of aliases, the first in alphabetical order is used.
        table.dedup_by_key(|symbol| symbol.address);
    }
    tables
}

fn section(file: &ElfFile64<'_>, name: &str) -> Reader {
    let bytes = file.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
    let bytes: Arc<[u8]> = Arc::from(bytes.unwrap_or_default().into_owned());
    Reader::new(bytes, RunTimeEndian::Little)
}

fn no_section() -> Reader {
    Reader::new(Arc::from([]), RunTimeEndian::Little)
}

fn dwarf_at(path: &Path) -> Option<gimli::Dwarf<Reader>> {
    let bytes = read(path)?;
    Some(dwarf_of(&ElfFile64::parse(&bytes[..]).ok()?, path))
}

fn dwarf_of(file: &ElfFile64<'_>, path: &Path) -> gimli::Dwarf<Reader> {
    if file.section_by_name(".debug_info").is_none()
        && let Some(bytes) = debug_file(file, path).as_deref().and_then(read)
        && let Ok(other) = ElfFile64::<object::Endianness>::parse(&bytes[..])
    {
        return load(Some(&other));
    }
    load(Some(file))
}

/// The debug information in a file; without a file there is none.
fn load(file: Option<&ElfFile64<'_>>) -> gimli::Dwarf<Reader> {
    let section = |id: gimli::SectionId| file.map_or_else(no_section, |file| section(file, id.name()));
    let loaded = gimli::Dwarf::load(|id| Ok::<_, std::convert::Infallible>(section(id)));
    match loaded {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

/// The file with the debug information of a stripped file, if there is one.
#[must_use]
pub fn separate_debug_file(path: &Path) -> Option<PathBuf> {
    let bytes = read(path)?;
    debug_file(&ElfFile64::parse(&bytes[..]).ok()?, path)
}

/// Where distributions and `objcopy --add-gnu-debuglink` put the debug information of a stripped
/// file.
fn debug_file(file: &ElfFile64<'_>, path: &Path) -> Option<PathBuf> {
    let root = Path::new("/usr/lib/debug");
    let mut candidates = Vec::new();
    if let Ok(Some(id)) = file.build_id()
        && let [first, rest @ ..] = id
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        candidates.push(root.join(format!(".build-id/{first:02x}/{rest}.debug")));
    }
    if let Ok(Some((name, _checksum))) = file.gnu_debuglink()
        && let Some(directory) = path.parent()
    {
        let name = String::from_utf8_lossy(name).into_owned();
        candidates.push(directory.join(&name));
        candidates.push(directory.join(".debug").join(&name));
    }
    candidates.into_iter().find(|candidate| candidate != path && candidate.is_file())
}

fn unwinding(file: &ElfFile64<'_>) -> Option<Unwinding> {
    let frames = file.section_by_name(".eh_frame")?;
    let mut bases = gimli::BaseAddresses::default().set_eh_frame(frames.address());
    if let Some(text) = file.section_by_name(".text") {
        bases = bases.set_text(text.address());
    }
    if let Some(got) = file.section_by_name(".got") {
        bases = bases.set_got(got.address());
    }
    Some(Unwinding { frames: gimli::EhFrame::from(section(file, ".eh_frame")), bases })
}

fn tls_block<'data>(file: &ElfFile64<'data, object::Endianness, impl ReadRef<'data>>) -> Option<TlsBlock> {
    use object::read::elf::ProgramHeader as _;
    let endian = file.endian();
    let header = file.elf_program_headers().iter().find(|header| header.p_type(endian) == object::elf::PT_TLS)?;
    Some(TlsBlock { size: header.p_memsz(endian), align: header.p_align(endian).max(1) })
}
