//! Calls of functions that the runtime does not export. The places where a module keeps the
//! addresses of functions that it imports are made to point to stubs, for those functions that the
//! list says the runtime has to act for, and for those that the list does not know.
//!
//! Why not export them: a program that is being configured would find functions that its C library
//! does not have, and a function that only a newer C library has could not be exported at all.
//!
//! What it misses: calls inside the C library, and addresses that a module computes itself.

use core::ffi::{CStr, c_char, c_void};

use crate::arch::import_stub::{ImportedCall, STUBS, is_stub, stub};
use crate::arch::{PAGE, entry};
use crate::interpose::buffers::writes;
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::io::{slots, stream_locks};
use crate::interpose::memory::string_functions::wrapper;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::process::{end, exit_handlers};
use crate::interpose::thread::schedule;
use crate::library::{CallKind, Effect, calls, kind_of};
use crate::observed;
use crate::restore::{snapshot, undo};
use crate::sched::startup::module_range;
use crate::state::{Global, controlled, run};
use crate::syscall::{callers, syscall};

/// A function that has a stub.
#[derive(Clone, Copy)]
struct Import {
    name: *const c_char,
    kind: CallKind,
    /// Where the function is.
    real: usize,
}

/// The functions that have a stub. Written only when modules are loaded.
struct Imports {
    all: [Import; STUBS],
    len: usize,
}

static IMPORTS: Global<Imports> =
    Global::new(Imports { all: [Import { name: core::ptr::null(), kind: CallKind::Known, real: 0 }; STUBS], len: 0 });

fn imports() -> &'static mut Imports {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *IMPORTS.get() }
}

/// Bytes of a buffer that the kernel may fill and whose size is not known.
const ROOM: usize = PAGE;

/// What a call is to the search is done here; returns where to continue.
pub extern "C" fn act(call: &ImportedCall) -> usize {
    let import = imports().all[call.index];
    if controlled() {
        // SAFETY: a C string in the table of names of a module.
        let name = unsafe { CStr::from_ptr(import.name) };
        perform(import.kind, name, call);
        entry::forget_call();
    }
    import.real
}

fn perform(kind: CallKind, name: &CStr, call: &ImportedCall) {
    let (first, pc) = (call.arguments[0], call.pc);
    match kind {
        CallKind::Known => {}
        CallKind::Fills => fill(call),
        CallKind::LooksUp => look_up(call),
        // What the compiler's libraries set up once is not part of the program.
        CallKind::State(_) if callers::is_compiler_library(pc) => {}
        CallKind::State(number) => shared_state::touch_hidden(number, arguments(name, call), pc),
        CallKind::Race(address) => writes(address, size_of::<u64>(), pc),
        CallKind::Ends => exit_handlers::begin(pc),
        CallKind::Object => shared_state::touch(SharedPart::Object(first), FileAccess::Change, pc),
        CallKind::RaceOn => writes(first, 1, pc),
        CallKind::Unmodelled(Effect::Shared) if run().threads == 1 => {}
        CallKind::Unmodelled(effect) => {
            if effect == Effect::Lasting {
                undo::needs_own_process();
            }
            calls::note(name.to_bytes(), pc);
            fill(call);
        }
    }
}

/// What a call of a function with hidden state was given, and perhaps more.
fn arguments<'a>(name: &CStr, call: &'a ImportedCall) -> &'a [usize] {
    match name.to_bytes() {
        b"rand" | b"random" => &[],
        b"srand" | b"srandom" => &call.arguments[..1],
        _ => &call.arguments,
    }
}

/// Makes memory writable that the kernel may write to.
fn fill(call: &ImportedCall) {
    for argument in call.arguments {
        snapshot::touch(argument as *const u8, ROOM);
    }
}

/// The program looks up a function by its name. Its calls are not seen, so it is named here.
fn look_up(call: &ImportedCall) {
    if call.arguments[1] != 0 {
        // SAFETY: the program passes a C string.
        let name = unsafe { CStr::from_ptr(call.arguments[1] as *const c_char) }.to_bytes();
        if super::find(name).is_some() && !matches!(kind_of(name), CallKind::Known | CallKind::Fills) {
            calls::note(name, call.pc);
        }
    }
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// Puts the stubs in place, in all modules that are loaded.
pub fn redirect() {
    let mut own = module_range();
    // SAFETY: the callback reads the range of the runtime's own code.
    unsafe { dl_iterate_phdr(redirect_in, (&raw mut own).cast()) };
}

extern "C" fn redirect_in(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the range of `redirect`.
    let (info, own) = unsafe { (&*info, *data.cast::<(usize, usize)>()) };
    if let Some(module) = Module::of(info, own) {
        module.redirect();
    }
    0
}

/// What the dynamic section of a module says.
struct Module {
    base: usize,
    names: usize,
    symbols: usize,
    /// Tables of relocations, by address and bytes.
    relocations: [(usize, usize); 2],
    /// What the loader has made read-only.
    protected: (usize, usize),
    /// Whether the module belongs to the program, hooks or not.
    is_users: bool,
    /// Whether it belongs to an observed program, which does not know the runtime's functions.
    is_observed: bool,
}

/// An entry of a table of relocations.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

const PT_DYNAMIC: u32 = 2;
const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const DT_FINI_ARRAYSZ: u64 = 28;

/// Relocations that store the address of a function.
const R_ADDRESS: u32 = 1;
const R_GLOBAL: u32 = 6;
const R_JUMP: u32 = 7;

impl Module {
    /// `None` for the C library and the runtime, and for what has nothing to relocate.
    fn of(info: &libc::dl_phdr_info, (own, end): (usize, usize)) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader says how many headers there are.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let is_left_out = |header: &libc::Elf64_Phdr| {
            let start = base + header.p_vaddr as usize;
            header.p_type == libc::PT_LOAD && ((own..end).contains(&start) || callers::is_c_library(start as u64))
        };
        if headers.iter().any(is_left_out) {
            return None;
        }
        let dynamic = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
        let at = (base + dynamic.p_vaddr as usize) as *const [u64; 2];
        // The loader protects whole pages only.
        let range = |header: &libc::Elf64_Phdr| {
            let start = base + header.p_vaddr as usize;
            (start & !(PAGE - 1), (start + header.p_memsz as usize) & !(PAGE - 1))
        };
        let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map_or((0, 0), range);
        let is_users = callers::is_users(info);
        let is_observed = observed::is_on() && is_users;
        let (relocations, protected) = ([(0, 0); 2], relro);
        let mut module = Module { base, names: 0, symbols: 0, relocations, protected, is_users, is_observed };
        for index in 0..dynamic.p_memsz as usize / size_of::<[u64; 2]>() {
            // SAFETY: the loader has mapped the dynamic section, which has so many entries.
            let [tag, value] = unsafe { *at.add(index) };
            let value = value as usize;
            // The loader adds the module's address to what the file says, except in what the kernel
            // provides.
            let address = if value < base { value + base } else { value };
            match tag {
                0 => break,
                DT_STRTAB => module.names = address,
                DT_SYMTAB => module.symbols = address,
                DT_RELA => module.relocations[0].0 = address,
                DT_RELASZ => module.relocations[0].1 = value,
                DT_JMPREL => module.relocations[1].0 = address,
                DT_PLTRELSZ => module.relocations[1].1 = value,
                DT_FINI_ARRAYSZ if is_users => end::note_destructors(value / size_of::<usize>()),
                _ => {}
            }
        }
        (module.names != 0 && module.symbols != 0).then_some(module)
    }

    fn redirect(&self) {
        for (at, bytes) in self.relocations {
            for index in 0..bytes / size_of::<Relocation>() {
                // SAFETY: the table lies in the module and has so many entries.
                let relocation = unsafe { *(at as *const Relocation).add(index) };
                self.examine(relocation);
            }
        }
    }

    fn examine(&self, relocation: Relocation) {
        let kind = relocation.info as u32;
        if !matches!(kind, R_ADDRESS | R_GLOBAL | R_JUMP) || relocation.addend != 0 {
            return;
        }
        // SAFETY: the relocation names a symbol of the module's table.
        let symbol = unsafe { &*(self.symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize) };
        if symbol.st_shndx != 0 || symbol.st_name == 0 {
            return;
        }
        let name = (self.names + symbol.st_name as usize) as *const c_char;
        // SAFETY: a C string in the module's table of names.
        let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
        slots::imported(bytes);
        stream_locks::imported(bytes);
        if self.is_users {
            exit_handlers::imported(bytes);
            schedule::imported(bytes);
        }
        let slot = (self.base + relocation.offset) as *mut usize;
        // SAFETY: the loader has filled the slot.
        let present = unsafe { *slot };
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(name) }.to_bytes();
        if let Some(wrapper) = wrapper(text).filter(|_| self.is_observed && present != 0) {
            return self.write(slot, wrapper);
        }
        let Some((stub, real)) = stub_for(name) else { return };
        if present != 0 && !is_stub(present) && (kind != R_ADDRESS || present == real) {
            self.write(slot, stub);
        }
    }

    /// Changes a slot, which may be read-only.
    fn write(&self, slot: *mut usize, value: usize) {
        let (start, end) = self.protected;
        let is_protected = (start..end).contains(&(slot as usize));
        let page = slot as usize & !(PAGE - 1);
        // SAFETY: the slot is one of the module's, in a page that is made writable while it is
        // written.
        unsafe {
            if is_protected {
                syscall!(libc::SYS_mprotect, page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
            }
            *slot = value;
            if is_protected {
                syscall!(libc::SYS_mprotect, page, PAGE, libc::PROT_READ);
            }
        }
    }
}

/// The stub of a function of the C library for which something has to be done, and the function.
fn stub_for(name: *const c_char) -> Option<(usize, usize)> {
    // SAFETY: a name in a module's table of names.
    let text = unsafe { CStr::from_ptr(name) };
    // The C library exports no name of C++.
    if text.to_bytes().starts_with(b"_Z") {
        return None;
    }
    let kind = kind_of(text.to_bytes());
    if kind == CallKind::Known {
        return None;
    }
    let imports = imports();
    // SAFETY: the names that were noted are C strings.
    let is_same = |import: &Import| unsafe { CStr::from_ptr(import.name) } == text;
    if let Some(at) = imports.all[..imports.len].iter().position(is_same) {
        return Some((stub(at), imports.all[at].real));
    }
    // SAFETY: a plain look-up with a valid string.
    let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) } as usize;
    if !callers::is_c_library(real as u64) || imports.len == STUBS {
        return None;
    }
    imports.all[imports.len] = Import { name, kind, real };
    imports.len += 1;
    Some((stub(imports.len - 1), real))
}
