//! Names for addresses: places for program counters, variables for data addresses.
//!
//! Names come from the DWARF and symbol tables of the program and its libraries, without external
//! tools. Without DWARF, the symbol table answers; without that, the file name and offset. The
//! files may be damaged in any way: lookups are bounded, and a dangling reference only makes the
//! answer shorter.

mod by_value;
mod calls;
mod debug;
mod demangle;
mod elf;
mod locals;
mod modules;
mod pointers;
pub mod readable;
mod types;
mod variables;

#[cfg(test)]
mod tests;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use raddle_model::finding::{ObjectKind, Place};
use raddle_vocab::handler;
use raddle_vocab::party::Party;

pub use demangle::{demangle, demangle_type};
pub use elf::separate_debug_file;
pub use locals::FrameRegisters;
pub use modules::{Module, Modules};
pub use pointers::{BlockName, BlockUse};

use elf::Elf;
use variables::{Storage, offset_between};

/// The most frames of one return address (inlined calls nest).
const MAX_INLINED: usize = 256;

/// A named object and the part of it that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its storage.
    pub kind: ObjectKind,
    /// Name of the whole object.
    pub object: String,
    /// Name of the part: `table[3].count`.
    pub part: String,
    /// Size of the whole object, if known.
    pub size: Option<u64>,
    /// Where in the object the bytes lie.
    pub offset: u64,
    /// Where it is declared, if known.
    pub declared: Option<Place>,
}

/// The symbols of one process.
pub struct Symbols {
    files: Vec<(Module, OnceCell<Option<Elf>>)>,
    /// Paths below it are shown relative to it.
    directory: PathBuf,
    frames: RefCell<BTreeMap<u64, Vec<Place>>>,
    /// Files of the scripts of parties.
    scripts: BTreeMap<Party, String>,
}

impl Symbols {
    /// For a process with these files; paths are shown relative to `directory` where they lie below
    /// it.
    #[must_use]
    pub fn new(modules: &Modules, directory: &Path) -> Self {
        let files = modules.iter().map(|module| (module.clone(), OnceCell::new())).collect();
        Symbols { files, directory: directory.to_path_buf(), frames: RefCell::default(), scripts: BTreeMap::new() }
    }

    /// Adds the files of the scripts of parties.
    #[must_use]
    pub fn with_scripts(self, scripts: impl IntoIterator<Item = (Party, String)>) -> Self {
        Symbols { scripts: scripts.into_iter().collect(), ..self }
    }

    /// The place in a script, or the delivery of a signal, that a code address stands for.
    fn script_place(&self, pc: u64) -> Option<Place> {
        if let Some(signal) = handler::of_place(pc) {
            let function = Some(format!("{}{}", handler::PREFIX, handler::name(signal)));
            return Some(Place { function, ..Place::default() });
        }
        let (party, line) = Party::of_place(pc)?;
        let file = self.scripts.get(&party).map(|file| self.shown(Path::new(file)));
        Some(Place { file, line: (line > 0).then_some(line), function: Some(party.to_string()), ..Place::default() })
    }

    /// The places of a return address, innermost first. There are several where calls were inlined.
    ///
    /// Never empty: in the worst case the place has only a file name and an offset for its
    /// function.
    #[must_use]
    pub fn frames(&self, pc: u64) -> Vec<Place> {
        if let Some(known) = self.frames.borrow().get(&pc) {
            return known.clone();
        }
        let places = self.look_up(pc);
        self.frames.borrow_mut().insert(pc, places.clone());
        places
    }

    /// The places of a whole stack of return addresses, innermost first. Those in raddle's runtime
    /// are none of the program's.
    #[must_use]
    pub fn stack(&self, pcs: &[u64]) -> Vec<Place> {
        pcs.iter().flat_map(|&pc| self.frames(pc)).filter(|place| *place != Place::default()).collect()
    }

    /// The function of another file that is called in front of a return address, by its name.
    #[must_use]
    pub fn imported_call(&self, pc: u64) -> Option<String> {
        let (elf, linked) = self.file_of(pc.wrapping_sub(1))?;
        elf.imports().called_before(linked + 1).map(demangle)
    }

    /// The innermost place in code of the program's own, for one return address or a stack of them.
    #[must_use]
    pub fn place(&self, pcs: &[u64]) -> Place {
        let stack = self.stack(pcs);
        stack.iter().find(|place| is_own_code(place)).or(stack.first()).cloned().unwrap_or_default()
    }

    /// Units of the program and its own libraries in which structs are passed or returned by value,
    /// of those whose producer is asked for. The file with the name `runtime` is none of them.
    #[must_use]
    pub fn units_with_copies(&self, runtime: &str, is_asked: &dyn Fn(&str) -> bool) -> Vec<String> {
        let is_own = |path: &Path| !elf::is_system(path) && path.file_name().is_none_or(|name| name != runtime);
        let own = self.files.iter().map(|(module, _)| module).filter(|module| is_own(&module.path));
        own.filter_map(|module| elf::debug_at(&module.path))
            .flat_map(|debug| by_value::units(&debug, is_asked))
            .collect()
    }

    /// The variable with static storage that holds `length` bytes at an address.
    #[must_use]
    pub fn global(&self, address: u64, length: u64) -> Option<Named> {
        let (elf, linked) = self.file_of(address)?;
        self.stored(elf, Storage::Static(linked), length)
    }

    /// The program's thread-local variable at an address, for a thread whose thread pointer is
    /// `pointer`.
    #[must_use]
    pub fn thread_local(&self, pointer: u64, address: u64, length: u64) -> Option<Named> {
        let elf = self.elf(0)?;
        let block = elf.tls?;
        let start = match elf.machine {
            // The program's own block lies behind the thread pointer and two words.
            object::Architecture::Aarch64 => pointer.checked_add(16u64.checked_next_multiple_of(block.align)?)?,
            // It ends at the thread pointer, rounded up to its alignment.
            object::Architecture::X86_64 => pointer.checked_sub(block.size.checked_next_multiple_of(block.align)?)?,
            _ => return None,
        };
        let offset = address.checked_sub(start)?;
        if offset >= block.size {
            return None;
        }
        self.stored(elf, Storage::Tls(offset), length)
    }

    /// The local variable of a frame that holds `length` bytes at an address.
    #[must_use]
    pub fn local(&self, frame: &FrameRegisters, address: u64, length: u64) -> Option<Named> {
        let (elf, _) = self.file_of(frame.pc.wrapping_sub(1))?;
        let local = locals::variable_at(elf, frame, address)?;
        let offset = address - local.start;
        let part = types::part_at(&elf.variables().0, local.kind, offset, length);
        Some(Named {
            kind: ObjectKind::Stack,
            part: format!("{}{}", local.name, part.suffix),
            object: local.name,
            size: Some(local.size),
            offset,
            declared: None,
        })
    }

    /// Name of a part (offset and length) of a heap block of `block` bytes that the code at a
    /// return address uses, guessed from the pointers in the function.
    #[must_use]
    pub fn in_block(&self, pc: u64, use_of_it: BlockUse, block: u64, part: (u64, u64)) -> Option<BlockName> {
        let (elf, linked) = self.file_of(pc.wrapping_sub(1))?;
        let is_own = || self.frames(pc).first().is_some_and(is_own_code);
        let use_of_it = if use_of_it == BlockUse::Access && !is_own() { BlockUse::AccessByHeader } else { use_of_it };
        pointers::name_in_block(elf, linked, use_of_it, block, part)
    }

    /// Whether the function at a return address returns a pointer, so that its caller may have one
    /// to what it allocated. `true` for one of which nothing is known.
    #[must_use]
    pub fn may_hand_out(&self, pc: u64) -> bool {
        let known = self.file_of(pc.wrapping_sub(1)).and_then(|(elf, linked)| pointers::returns_pointer(elf, linked));
        known.unwrap_or(true)
    }

    /// Stack pointer before the call of a frame, if its unwinding table says so.
    #[must_use]
    pub fn frame_address(&self, frame: &FrameRegisters) -> Option<u64> {
        let (elf, _) = self.file_of(frame.pc.wrapping_sub(1))?;
        locals::frame_address(elf, frame)
    }

    fn elf(&self, index: usize) -> Option<&Elf> {
        let (module, cell) = self.files.get(index)?;
        cell.get_or_init(|| Elf::open(module)).as_ref()
    }

    fn file_of(&self, address: u64) -> Option<(&Elf, u64)> {
        (0..self.files.len()).find_map(|index| {
            let elf = self.elf(index)?;
            Some((elf, elf.linked(address)?))
        })
    }

    fn look_up(&self, pc: u64) -> Vec<Place> {
        if let Some(place) = self.script_place(pc) {
            return vec![place];
        }
        let address = pc.wrapping_sub(1);
        let Some((elf, linked)) = self.file_of(address) else {
            return vec![Place { function: Some(format!("{pc:#x}")), ..Place::default() }];
        };
        if elf.is_runtime() {
            return vec![runtime_place(elf, linked)];
        }
        if elf.is_system() {
            return vec![library_place(elf, linked)];
        }
        let mut places = self.dwarf_frames(elf, linked);
        if places.is_empty() {
            places.push(Place::default());
        }
        if let Some(outermost) = places.last_mut() {
            let symbol = elf.function(linked);
            // The DWARF name of a lambda is only "operator()"; its symbol shows where it belongs.
            let says_more = symbol.is_some_and(|symbol| symbol.name.starts_with("_Z"));
            if outermost.function.is_none() || says_more {
                let offset = || format!("{}+{linked:#x}", elf.file_name());
                outermost.function = Some(symbol.map_or_else(offset, |symbol| demangle(&symbol.name)));
            }
        }
        places
    }

    fn dwarf_frames(&self, elf: &Elf, linked: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let Some(lines) = elf.lines() else { return places };
        let Ok(mut frames) = lines.find_frames(linked).skip_all_loads() else { return places };
        while let Ok(Some(frame)) = frames.next()
            && places.len() < MAX_INLINED
        {
            let name = frame.function.as_ref().and_then(|name| Some(demangle(&name.raw_name().ok()?)));
            let location = frame.location.as_ref();
            places.push(Place {
                file: location.and_then(|at| at.file).map(|file| self.shown(Path::new(file))),
                line: location.and_then(|at| at.line).filter(|&line| line > 0),
                column: location.and_then(|at| at.column).filter(|&column| column > 0),
                function: name,
            });
        }
        places
    }

    fn stored(&self, elf: &Elf, place: Storage, length: u64) -> Option<Named> {
        let kind = if matches!(place, Storage::Static(_)) { ObjectKind::Global } else { ObjectKind::Tls };
        let (debug, variables) = elf.variables();
        let Some(variable) = variables.at(place, |start| elf.size_at(start)) else {
            return by_symbol(elf, place, kind);
        };
        let offset = offset_between(variable.storage, place)?;
        if let Some(name) = hidden_state(&variable.name) {
            return Some(Named { kind, part: name.clone(), object: name, size: None, offset, declared: None });
        }
        let part = types::part_at(debug, variable.kind, offset, length);
        let size = if variable.size == 0 { elf.size_at(variable.storage) } else { variable.size };
        let declared = variable.declared.map(|at| Place {
            file: debug.file(at.unit, at.file).map(|file| self.shown(&file)),
            line: u32::try_from(at.line).ok(),
            ..Place::default()
        });
        Some(Named {
            kind,
            object: variable.name.clone(),
            part: format!("{}{}", variable.name, part.suffix),
            size: (size > 0).then_some(size),
            offset,
            declared,
        })
    }

    /// The path relative to the directory, if it lies below it.
    fn shown(&self, file: &Path) -> String {
        let file = normalised(file);
        file.strip_prefix(&self.directory).unwrap_or(&file).to_string_lossy().into_owned()
    }
}

/// What a place in raddle's runtime is for the program: what it calls at its end, or nothing.
fn runtime_place(elf: &Elf, linked: u64) -> Place {
    let name = elf.function(linked).map(|symbol| demangle(&symbol.name));
    let is_end = name.is_some_and(|name| name.contains("::exit_handlers::"));
    Place { function: is_end.then(|| "the end of the process".into()), ..Place::default() }
}

/// A place inside a library of the system: the function and the file, whatever debug information is
/// installed for it.
fn library_place(elf: &Elf, linked: u64) -> Place {
    let offset = || format!("{}+{linked:#x}", elf.file_name());
    Place {
        file: Some(elf.path.to_string_lossy().into_owned()),
        function: Some(elf.function(linked).map_or_else(offset, |symbol| demangle(&symbol.name))),
        ..Place::default()
    }
}

/// What users read of a variable of the runtime that stands for state of the C library.
fn hidden_state(name: &str) -> Option<String> {
    name.strip_prefix("raddle_rt::library::hidden::").map(|function| format!("hidden state of {function}"))
}

/// A name from the symbol table alone: the symbol and an offset in bytes.
fn by_symbol(elf: &Elf, place: Storage, kind: ObjectKind) -> Option<Named> {
    let symbol = elf.data_symbol(place)?;
    let (Storage::Static(at) | Storage::Tls(at)) = place;
    let offset = at.checked_sub(symbol.address)?;
    let name = demangle(&symbol.name);
    let object = hidden_state(&name).unwrap_or(name);
    let part = if offset == 0 { object.clone() } else { format!("{object}+{offset}") };
    let size = (symbol.size > 0).then_some(symbol.size);
    Some(Named { kind, object, part, size, offset, declared: None })
}

/// Without `.` and `..`, which compilers leave in from include paths.
fn normalised(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Whether a place lies in code of the program rather than in headers and libraries of the system.
#[must_use]
pub fn is_own_code(place: &Place) -> bool {
    const SYSTEM: [&str; 3] = ["/usr/include/", "/usr/lib/", "/lib/"];
    // Of compilers in other places, and those that come before them with raddle.
    const HEADERS: [&str; 2] = ["/include/c++/", "/include/bits/"];
    place.file.as_deref().is_some_and(|file| {
        !SYSTEM.iter().any(|prefix| file.starts_with(prefix)) && !HEADERS.iter().any(|part| file.contains(part))
    })
}
