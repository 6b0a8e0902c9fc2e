//! Which functions the modules of the program import.

use core::ffi::{CStr, c_void};

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
}

/// What is looked for.
struct Search<'a> {
    names: &'a [&'a CStr],
    found: bool,
}

/// Whether any module imports one of the functions. Libraries of the system do not count.
pub fn is_any_imported(names: &[&CStr]) -> bool {
    let mut search = Search { names, found: false };
    // SAFETY: the callback gets the search, which outlives the call.
    unsafe { dl_iterate_phdr(find_import, (&raw mut search).cast()) };
    search.found
}

extern "C" fn find_import(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    const GLOBAL: u8 = 1 << 4;
    // SAFETY: `is_any_imported` passes the search.
    let search = unsafe { &mut *data.cast::<Search<'_>>() };
    // SAFETY: the dynamic loader passes a description with a name.
    if is_of_system(unsafe { CStr::from_ptr((*info).dlpi_name) }.to_bytes()) {
        return 0;
    }
    // SAFETY: the dynamic loader passes a valid description of a mapped module.
    let Some(table) = (unsafe { SymbolTable::of(&*info) }) else { return 0 };
    let mut at = table.start;
    while at + size_of::<libc::Elf64_Sym>() <= table.end {
        // SAFETY: within the loaded segment that the table lies in.
        let symbol = unsafe { &*(at as *const libc::Elf64_Sym) };
        let name = symbol.st_name as usize;
        let imported =
            symbol.st_shndx == 0 && symbol.st_info & 0xf0 == GLOBAL && name != 0 && name < table.string_bytes;
        // SAFETY: within the table of names, which ends with a zero.
        if imported && search.names.contains(&unsafe { CStr::from_ptr((table.strings + name) as *const _) }) {
            search.found = true;
            return 1;
        }
        at += size_of::<libc::Elf64_Sym>();
    }
    0
}

/// Whether a module with this name is a library of the system, or the runtime.
fn is_of_system(name: &[u8]) -> bool {
    const FOLDERS: [&[u8]; 2] = [b"/lib", b"/usr/lib"];
    const RUNTIME: &[u8] = b"libraddle_rt";
    FOLDERS.iter().any(|folder| name.starts_with(folder)) || name.windows(RUNTIME.len()).any(|part| part == RUNTIME)
}

/// Where a module's symbols are. Their number is not known: what lies behind them is read, too, and
/// matches nothing.
struct SymbolTable {
    start: usize,
    /// End of the segment, or of what can be symbols.
    end: usize,
    strings: usize,
    string_bytes: usize,
}

impl SymbolTable {
    /// # Safety
    /// The description must be that of a mapped module.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        const STRINGS: i64 = 5;
        const SYMBOLS: i64 = 6;
        const STRING_BYTES: i64 = 10;
        let base = info.dlpi_addr as usize;
        // SAFETY: the caller's promise; the dynamic section is an array that ends with a zero tag.
        let (headers, entries) = unsafe {
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
            (headers, (base + dynamic.p_vaddr as usize) as *const (i64, usize))
        };
        let (mut start, mut strings, mut string_bytes) = (0, 0, 0);
        // SAFETY: as above.
        let tags = (0..).map(|index| unsafe { *entries.add(index) }).take_while(|entry| entry.0 != 0);
        for (tag, value) in tags {
            match tag {
                SYMBOLS => start = value,
                STRINGS => strings = value,
                STRING_BYTES => string_bytes = value,
                _ => {}
            }
        }
        let segment_end = |address: usize| {
            let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let mut ranges = loaded.map(|header| (base + header.p_vaddr as usize, header.p_filesz as usize));
            ranges.find(|&(from, bytes)| (from..from + bytes).contains(&address)).map(|(from, bytes)| from + bytes)
        };
        // A module whose section holds no addresses in memory is the kernel's, not the program's.
        let end = segment_end(start)?;
        let names_fit = strings.checked_add(string_bytes)? <= segment_end(strings)?;
        let end = if strings > start { end.min(strings) } else { end };
        names_fit.then_some(SymbolTable { start, end, strings, string_bytes })
    }
}
