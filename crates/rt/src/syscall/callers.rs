//! Which calls come from the program, and which from libraries.
//!
//! One-time initialisation in the libraries that belong to the compiler is not part of the program:
//! it is no transition, whichever thread is first.
//!
//! The program is what was linked with the runtime: the executable, and the libraries that need the
//! runtime. Memory that other libraries pass to the C library is no access of the program: they
//! have no hooks, so what keeps their threads apart may be invisible.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::code;
use crate::interpose::annotations::section;
use crate::library::program_hooks;
use crate::observed;
use crate::sched::controller::name_limit;
use crate::sched::startup;
use crate::state::process;
use raddle_wire::observed::{INSTALLED, MAX_SEGMENTS, Segments};
use raddle_wire::role;

/// One library, found by a symbol that only it defines.
struct Library {
    symbol: &'static CStr,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Library {
    const fn with(symbol: &'static CStr) -> Self {
        Library { symbol, start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    fn contains(&self, address: usize) -> bool {
        self.start.load(Ordering::Relaxed) <= address && address < self.end.load(Ordering::Relaxed)
    }

    fn find(&self) {
        // SAFETY: a plain look-up with a valid string.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.symbol.as_ptr()) } as usize;
        let mut range = Search { address: symbol, start: 0, end: 0 };
        if symbol != 0 {
            // SAFETY: the callback writes to `range` only.
            unsafe { dl_iterate_phdr(find_segment, (&raw mut range).cast()) };
        }
        self.start.store(range.start, Ordering::Relaxed);
        self.end.store(range.end, Ordering::Relaxed);
    }
}

struct Search {
    address: usize,
    start: usize,
    end: usize,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// Stores the segment that contains the address.
extern "C" fn find_segment(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the search of `find`.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        if (start..end).contains(&search.address) {
            (search.start, search.end) = (start, end);
            return 1;
        }
    }
    0
}

static UNWINDER: Library = Library::with(c"_Unwind_Backtrace");
static STANDARD: Library = Library::with(c"__cxa_throw");
static C: Library = Library::with(c"gnu_get_libc_version");
static LINKER: Library = Library::with(c"__tls_get_addr");
static MATHEMATICS: Library = Library::with(c"feenableexcept");

/// No segment.
const fn no_segments() -> Segments {
    [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; MAX_SEGMENTS]
}

/// The executable segments of the program.
static CODE: Segments = no_segments();

/// The segments of the program that are not writable.
static CONSTANTS: Segments = no_segments();

/// Modules that were there before the first run.
static STARTED_WITH: AtomicUsize = AtomicUsize::new(0);

/// Looks up the libraries, before the first run, because this allocates.
pub fn prepare() {
    UNWINDER.find();
    STANDARD.find();
    C.find();
    LINKER.find();
    MATHEMATICS.find();
    find_program();
    let mut modules = 0usize;
    // SAFETY: the callback writes to `modules` only.
    unsafe { dl_iterate_phdr(count_module, (&raw mut modules).cast()) };
    STARTED_WITH.store(modules, Ordering::Relaxed);
}

/// Notes which code belongs to the program; called again when a library was loaded.
pub fn find_program() {
    let mut found = [0usize; 2];
    // SAFETY: the callback writes to `found` and to atomics.
    unsafe { dl_iterate_phdr(note_module, (&raw mut found).cast()) };
}

/// Tells the host which libraries were loaded since the program was.
pub fn note_loaded() {
    let mut number = 0usize;
    // SAFETY: the callback writes to `number` and to the control page.
    unsafe { dl_iterate_phdr(note_library, (&raw mut number).cast()) };
}

/// Counts modules; the loader lists those of the program's start first.
extern "C" fn count_module(_info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the number of the caller.
    unsafe { *data.cast::<usize>() += 1 };
    0
}

extern "C" fn note_library(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is the number of `note_loaded`.
    let (info, number) = unsafe { (&*info, &mut *data.cast::<usize>()) };
    *number += 1;
    if *number > STARTED_WITH.load(Ordering::Relaxed) && !info.dlpi_name.is_null() {
        // SAFETY: the loader's name of the module, which ends with a zero.
        remember(unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes_with_nul());
    }
    0
}

/// Puts a path, with its zero, into the host's list unless it is there.
fn remember(path: &[u8]) {
    // SAFETY: the control page stays mapped; the host reads the list between runs.
    let list = unsafe { &mut (*process().control).loaded };
    let mut at = 0;
    while list.get(at).is_some_and(|&byte| byte != 0) {
        let len = list[at..].iter().position(|&byte| byte == 0).map_or(0, |zero| zero + 1);
        if len == 0 || &list[at..at + len] == path {
            return;
        }
        at += len;
    }
    // An empty path stays behind the last one.
    match list.get_mut(at..at + path.len() + 1) {
        Some(room) if path.len() > 1 => room[..path.len()].copy_from_slice(path),
        Some(_) => {}
        None => name_limit(raddle_wire::limit::DLOPEN),
    }
}

/// Whether a module without hooks belongs to the program: the executable, which has no name here,
/// and libraries that are not installed.
pub fn is_users(info: &libc::dl_phdr_info) -> bool {
    let name: &[u8] = match info.dlpi_name.is_null() {
        true => b"",
        // SAFETY: the loader's name of the module, which ends with a zero.
        false => unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes(),
    };
    let (from, to) = startup::module_range();
    let is_runtime = (from..to).contains(&(info.dlpi_phdr as usize));
    let is_kernels = name.starts_with(b"linux-vdso");
    !is_runtime && !is_kernels && INSTALLED.iter().all(|directory| !name.starts_with(directory.as_bytes()))
}

/// The code of the program.
pub fn code() -> *const Segments {
    &raw const CODE
}

/// Start and end of each segment of it.
pub fn code_ranges() -> impl Iterator<Item = [usize; 2]> {
    CODE.iter().map(|range| range.each_ref().map(|place| place.load(Ordering::Relaxed))).take_while(|&[_, to]| to != 0)
}

/// Adds the code of a module that raddle linked, or that is observed.
extern "C" fn note_module(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the dynamic loader passes a valid description; `data` is that of `find_program`.
    let (info, found) = unsafe { (&*info, &mut *data.cast::<[usize; 2]>()) };
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let is_programs = program_hooks::has_hooks(info) || observed::is_on() && is_users(info);
    if !is_programs {
        return 0;
    }
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        if header.p_flags & libc::PF_X != 0 {
            add(&CODE, &mut found[0], start, end);
        }
        if header.p_flags & libc::PF_W == 0 {
            add(&CONSTANTS, &mut found[1], start, end);
        }
    }
    0
}

fn add(segments: &Segments, count: &mut usize, start: usize, end: usize) {
    if let Some([from, to]) = segments.get(*count) {
        from.store(start, Ordering::Relaxed);
        to.store(end, Ordering::Relaxed);
        *count += 1;
    }
}

fn lies_in(segments: &Segments, address: usize) -> bool {
    segments
        .iter()
        .map(|[from, to]| (from.load(Ordering::Relaxed), to.load(Ordering::Relaxed)))
        .take_while(|&(_, to)| to != 0)
        .any(|(from, to)| (from..to).contains(&address))
}

/// Whether the address lies in a segment of the executable or of a library.
pub fn is_in_module(address: usize) -> bool {
    // Nearly always it is code of the program, the runtime or the C library: the loader has a
    // longer list.
    if lies_in(&CODE, address) || startup::is_runtime_code(address as u64) || C.contains(address) {
        return true;
    }
    let mut search = Search { address, start: 0, end: 0 };
    // SAFETY: the callback writes to `search` only.
    unsafe { dl_iterate_phdr(find_segment, (&raw mut search).cast()) };
    search.end != 0
}

/// Whether the call comes from the program, not from a library without hooks.
pub fn is_program(pc: u64) -> bool {
    lies_in(&CODE, pc as usize) || is_tail_call(pc)
}

/// Whether the program may have made a call that returns into a library, as the last thing that a
/// function does which a library has called by a pointer. Compilers leave out the return of that
/// function; with hooks they do not, because hooks are behind the call.
fn is_tail_call(pc: u64) -> bool {
    observed::is_on() && code::is_behind_call_by_pointer(pc)
}

/// Whether the address is that of a constant of the program, as a literal is: no thread writes to
/// it.
pub fn is_constant(address: usize) -> bool {
    lies_in(&CONSTANTS, address)
}

/// Whether the call comes from the unwinder or the C++ standard library itself (not from what its
/// headers put into the program).
pub fn is_compiler_library(pc: u64) -> bool {
    (UNWINDER.contains(pc as usize) || STANDARD.contains(pc as usize)) && !is_tail_call(pc)
}

/// Whether a relaxed store by the code that returns to `pc` goes on with a release sequence that
/// its thread began: so it is in C, and was in C++ before C++20. Code of which the host does not
/// know the language is C unless there is a C++ library in the process.
pub fn continues_sequences(pc: u64) -> bool {
    // A program in C++ may need no library.
    let is_known_or_c = STANDARD.end.load(Ordering::Relaxed) == 0 || section::is_called_in(role::PROGRAM, pc);
    is_known_or_c && !section::is_called_in(role::ENDS_SEQUENCES, pc)
}

/// Whether the address is one of code of the dynamic linker.
pub fn is_dynamic_linker(pc: u64) -> bool {
    LINKER.contains(pc as usize)
}

/// Whether the address is one of code of the C library itself.
pub fn is_c_library(pc: u64) -> bool {
    C.contains(pc as usize) || MATHEMATICS.contains(pc as usize)
}
