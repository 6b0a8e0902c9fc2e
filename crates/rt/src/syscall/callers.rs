//! Which calls come from the libraries that belong to the compiler. Their own one-time
//! initialisation is not part of the program: it is no transition, whichever thread is first.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

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

/// Looks up the libraries, before the first run, because this allocates.
pub fn prepare() {
    UNWINDER.find();
    STANDARD.find();
    C.find();
}

/// Whether the call comes from the unwinder or the C++ standard library itself (not from what its
/// headers put into the program).
pub fn is_compiler_library(pc: u64) -> bool {
    UNWINDER.contains(pc as usize) || STANDARD.contains(pc as usize)
}

/// Whether the program has no part in C++: there is no C++ library in the process.
pub fn is_c_program() -> bool {
    STANDARD.end.load(Ordering::Relaxed) == 0
}

/// Whether the call comes from the C library itself.
pub fn is_c_library(pc: u64) -> bool {
    C.contains(pc as usize)
}
