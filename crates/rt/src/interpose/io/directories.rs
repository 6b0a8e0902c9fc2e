//! Lists of directories, and the working directory.
//!
//! The C library's own lists read the real directory. So `opendir` and the functions behind it are
//! made anew here: a list is taken as a whole when it is first read, as a small one is by the C
//! library. What the C library calls inside itself (`glob`, `ftw`, `fts`) is in `traversal`.

use core::ffi::{c_char, c_void};

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers;
use crate::interpose::io::announce;
use crate::interpose::io::calls::{self, private};
use crate::interpose::io::files::as_c;
use crate::interpose::io::overlay::walk::{self, Follow, Last};
use crate::interpose::io::overlay::{Errno, PATH, listing, overlay};
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::memory::heap;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::state::controlled;
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn opendir(path: *const c_char) -> *mut c_void;
    fn fdopendir(descriptor: i32) -> *mut c_void;
    fn readdir(stream: *mut c_void) -> *mut c_void;
    fn readdir_r(stream: *mut c_void, entry: *mut c_void, result: *mut *mut c_void) -> i32;
    fn closedir(stream: *mut c_void) -> i32;
    fn rewinddir(stream: *mut c_void);
    fn telldir(stream: *mut c_void) -> i64;
    fn seekdir(stream: *mut c_void, position: i64);
    fn dirfd(stream: *mut c_void) -> i32;
    fn scandirat(
        directory: i32,
        path: *const c_char,
        list: *mut c_void,
        select: *const c_void,
        compare: *const c_void,
    ) -> i32;
    fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char;
    fn getcwd(into: *mut c_char, room: usize) -> *mut c_char;
    fn get_current_dir_name() -> *mut c_char;
}

/// First word of a list. The C library's own begin with a descriptor.
const MAGIC: u64 = u64::from_le_bytes(*b"raddledr");

/// What `DIR` is.
#[repr(C)]
struct Stream {
    magic: u64,
    descriptor: i32,
    /// Whether `entries` was taken.
    taken: bool,
    /// Entries as the kernel writes them.
    entries: usize,
    bytes: usize,
    /// Where the next entry begins.
    at: usize,
}

/// The list, if it is one of the runtime's.
fn own(stream: *mut c_void) -> Option<&'static mut Stream> {
    // SAFETY: the program passes a list, whose first word can be read.
    unsafe { stream.cast::<Stream>().as_mut() }.filter(|stream| stream.magic == MAGIC)
}

/// What the C library does with a list of its own. One that was closed is gone: the use is reported
/// as one of freed memory, and the C library would wait for a lock inside for ever.
fn elsewhere<T>(stream: *mut c_void, if_closed: T, call: impl FnOnce() -> T) -> T {
    if heap::is_in_arena(stream as usize) && heap::usable_size(stream as usize) == 0 {
        set_errno(libc::EBADF);
        return if_closed;
    }
    call()
}

fn failed<T>(code: Errno) -> *mut T {
    set_errno(code);
    core::ptr::null_mut()
}

fn open_list(descriptor: i32, pc: u64) -> *mut c_void {
    let stream = heap::malloc_at(size_of::<Stream>(), pc) as *mut Stream;
    if stream.is_null() {
        return failed(libc::ENOMEM);
    }
    // SAFETY: a new block of that size.
    unsafe { stream.write(Stream { magic: MAGIC, descriptor, taken: false, entries: 0, bytes: 0, at: 0 }) };
    stream.cast()
}

extern "C" fn open_directory(path: *const c_char, pc: u64) -> *mut c_void {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::opendir(path) };
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    match as_c(calls::open(libc::AT_FDCWD, path, flags, 0, pc)) as i32 {
        -1 => core::ptr::null_mut(),
        descriptor => open_list(descriptor, pc),
    }
}

extern "C" fn list_descriptor(descriptor: i32, pc: u64) -> *mut c_void {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::fdopendir(descriptor) };
    }
    match walk::start(descriptor).err() {
        Some(code) => failed(code),
        None => open_list(descriptor, pc),
    }
}

/// Takes the list.
fn take(stream: &mut Stream, pc: u64) -> Result<(), Errno> {
    let (mut bytes, mut count) = (0, 0);
    listing::each(&walk::start(stream.descriptor)?, |name, _, _| {
        bytes += listing::entry_bytes(name);
        count += 1;
        true
    })?;
    let block = heap::malloc_at(bytes.max(1), pc);
    if block == 0 {
        return Err(libc::ENOMEM);
    }
    drop_entries(stream, pc);
    // SAFETY: a new block of that size.
    let buffer = unsafe { core::slice::from_raw_parts_mut(block as *mut u8, bytes) };
    let (written, _) = listing::read(&walk::start(stream.descriptor)?, 0, buffer)?;
    (stream.taken, stream.entries, stream.bytes, stream.at) = (true, block, written, 0);
    Ok(())
}

/// The entries are gone. Those that a thread was given it may use until then: going back to the
/// beginning does not change them.
fn drop_entries(stream: &mut Stream, pc: u64) {
    if stream.entries != 0 {
        heap::free_at(stream.entries, pc);
    }
    (stream.taken, stream.entries, stream.bytes, stream.at) = (false, 0, 0, 0);
}

/// The next entry; null at the end.
fn next(stream: &mut Stream, pc: u64) -> Result<*mut c_void, Errno> {
    if !stream.taken {
        take(stream, pc)?;
    }
    if stream.at >= stream.bytes {
        return Ok(core::ptr::null_mut());
    }
    let entry = stream.entries + stream.at;
    // SAFETY: an entry of the list, whose length is two bytes behind two words.
    stream.at += usize::from(unsafe { *((entry + 16) as *const u16) });
    Ok(entry as *mut c_void)
}

/// The position of the list is used, and its entries. A list that is not taken yet is read from the
/// directory in one step with that: other threads do not come in between, as in the C library,
/// which locks it. Whether it is taken is looked at behind a step that the other users of the list
/// are ordered with.
fn uses_entries(stream: *mut c_void, pc: u64) {
    uses_position(stream, pc);
    if let Some(own) = own(stream).filter(|own| !own.taken && regular_files::counts()) {
        let position = SharedPart::Object(stream as usize).identity();
        announce::reads_list_at(calls::list_of(own.descriptor), position, pc);
    }
}

/// The position of the list is used, which threads may share.
fn uses_position(stream: *mut c_void, pc: u64) {
    buffers::reads(stream as usize, size_of::<u64>(), pc);
    shared_state::touch(SharedPart::Object(stream as usize), FileAccess::Change, pc);
}

extern "C" fn read_list(stream: *mut c_void, pc: u64) -> *mut c_void {
    uses_entries(stream, pc);
    let Some(own) = own(stream) else {
        // SAFETY: passes on what the caller gave.
        return elsewhere(stream, core::ptr::null_mut(), || unsafe { hidden::readdir(stream) });
    };
    next(own, pc).unwrap_or_else(failed)
}

extern "C" fn read_list_into(stream: *mut c_void, entry: *mut u8, result: *mut *mut c_void, pc: u64) -> i32 {
    uses_entries(stream, pc);
    let Some(own) = own(stream) else {
        // SAFETY: passes on what the caller gave.
        return elsewhere(stream, libc::EBADF, || unsafe { hidden::readdir_r(stream, entry.cast(), result) });
    };
    match next(own, pc) {
        Err(code) => code,
        Ok(found) => {
            buffers::writes(result as usize, size_of::<usize>(), pc);
            // SAFETY: the caller passes room for the longest entry, and for the pointer.
            unsafe {
                if !found.is_null() {
                    let bytes = usize::from(*(found.cast::<u8>().add(16).cast::<u16>()));
                    buffers::writes(entry as usize, bytes, pc);
                    core::ptr::copy_nonoverlapping(found.cast::<u8>(), entry, bytes);
                }
                *result = if found.is_null() { core::ptr::null_mut() } else { entry.cast() };
            }
            0
        }
    }
}

extern "C" fn close_list(stream: *mut c_void, pc: u64) -> i32 {
    uses_position(stream, pc);
    let Some(own) = own(stream) else {
        // SAFETY: passes on what the caller gave.
        return elsewhere(stream, -1, || unsafe { hidden::closedir(stream) });
    };
    drop_entries(own, pc);
    let descriptor = own.descriptor;
    own.magic = 0;
    heap::free_at(stream as usize, pc);
    super::descriptors::close_descriptor(descriptor, pc)
}

extern "C" fn rewind_list(stream: *mut c_void, pc: u64) {
    uses_position(stream, pc);
    match own(stream) {
        // SAFETY: passes on what the caller gave.
        None => elsewhere(stream, (), || unsafe { hidden::rewinddir(stream) }),
        Some(own) => (own.taken, own.bytes, own.at) = (false, 0, 0),
    }
}

extern "C" fn position_in_list(stream: *mut c_void, pc: u64) -> i64 {
    uses_position(stream, pc);
    match own(stream) {
        // SAFETY: passes on what the caller gave.
        None => elsewhere(stream, -1, || unsafe { hidden::telldir(stream) }),
        Some(own) => own.at as i64,
    }
}

extern "C" fn seek_in_list(stream: *mut c_void, position: i64, pc: u64) {
    uses_entries(stream, pc);
    let Some(own) = own(stream) else {
        // SAFETY: passes on what the caller gave.
        return elsewhere(stream, (), || unsafe { hidden::seekdir(stream, position) });
    };
    if !own.taken && take(own, pc).is_err() {
        return;
    }
    own.at = (position.max(0) as usize).min(own.bytes);
}

extern "C" fn descriptor_of_list(stream: *mut c_void, pc: u64) -> i32 {
    buffers::reads(stream as usize, size_of::<u64>(), pc);
    match own(stream) {
        // SAFETY: passes on what the caller gave.
        None => elsewhere(stream, -1, || unsafe { hidden::dirfd(stream) }),
        Some(own) => own.descriptor,
    }
}

type Select = extern "C" fn(*const c_void) -> i32;
type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> i32;

/// Copies the entries that are selected.
fn select_entries(stream: *mut c_void, select: Option<Select>, pc: u64) -> (usize, usize) {
    let (mut list, mut room, mut count) = (0usize, 0usize, 0usize);
    loop {
        let entry = read_list(stream, pc);
        if entry.is_null() {
            return (list, count);
        }
        if select.is_some_and(|select| select(entry) == 0) {
            continue;
        }
        if count == room {
            room = (2 * room).max(16);
            list = heap::realloc_at(list, room * size_of::<usize>(), pc);
        }
        // SAFETY: an entry of the list, whose length is two bytes behind two words.
        let bytes = usize::from(unsafe { *(entry.cast::<u8>().add(16).cast::<u16>()) });
        let copy = heap::malloc_at(bytes, pc);
        if list == 0 || copy == 0 {
            return (list, count);
        }
        // SAFETY: the copy has so many bytes, and the list room for one more.
        unsafe {
            core::ptr::copy_nonoverlapping(entry.cast::<u8>(), copy as *mut u8, bytes);
            *(list as *mut usize).add(count) = copy;
        }
        count += 1;
    }
}

extern "C" fn scan_at(
    directory: i32,
    path: *const c_char,
    list: *mut usize,
    select: Option<Select>,
    compare: Option<Compare>,
) -> i32 {
    scan(directory, path, list, (select, compare), return_address())
}

extern "C" fn scan_here(
    path: *const c_char,
    list: *mut usize,
    select: Option<Select>,
    compare: Option<Compare>,
    pc: u64,
) -> i32 {
    scan(libc::AT_FDCWD, path, list, (select, compare), pc)
}

fn scan(
    directory: i32,
    path: *const c_char,
    list: *mut usize,
    (select, compare): (Option<Select>, Option<Compare>),
    pc: u64,
) -> i32 {
    if !private() {
        let address = |function: Option<usize>| function.unwrap_or(0) as *const c_void;
        let (select, compare) = (select.map(|f| f as usize), compare.map(|f| f as usize));
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::scandirat(directory, path, list.cast(), address(select), address(compare)) };
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let descriptor = as_c(calls::open(directory, path, flags, 0, pc)) as i32;
    if descriptor < 0 {
        return -1;
    }
    let stream = open_list(descriptor, pc);
    if stream.is_null() {
        return -1;
    }
    let (entries, count) = select_entries(stream, select, pc);
    close_list(stream, pc);
    if let Some(compare) = compare
        && count > 1
    {
        // SAFETY: so many pointers, which the caller's function compares.
        unsafe { libc::qsort(entries as *mut c_void, count, size_of::<usize>(), Some(compare)) };
    }
    buffers::writes(list as usize, size_of::<usize>(), pc);
    // SAFETY: the caller passes room for the result.
    unsafe { *list = if entries == 0 { heap::malloc_at(size_of::<usize>(), pc) } else { entries } };
    count as i32
}

extern "C" fn read_entries(descriptor: i32, into: *mut u8, room: usize, pc: u64) -> isize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return as_c(unsafe { syscall!(libc::SYS_getdents64, descriptor, into, room) });
    }
    as_c(calls::read_directory(descriptor, into, room, pc))
}

extern "C" fn change_directory(path: *const c_char, pc: u64) -> i32 {
    as_c(calls::change_directory(path, pc)) as i32
}

extern "C" fn change_directory_to(descriptor: i32, pc: u64) -> i32 {
    as_c(calls::change_directory_to(descriptor, pc)) as i32
}

/// Copies a text with its end to the caller's buffer, or to a new block.
fn give(text: &[u8], into: *mut c_char, pc: u64) -> *mut c_char {
    let into = if into.is_null() { heap::malloc_at(text.len() + 1, pc) as *mut c_char } else { into };
    if into.is_null() {
        return failed(libc::ENOMEM);
    }
    // SAFETY: the caller passes enough room, or the block has it.
    unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr().cast(), into, text.len());
        *into.add(text.len()) = 0;
    }
    buffers::writes(into as usize, text.len() + 1, pc);
    into
}

/// The working directory, into the caller's buffer or one that is allocated.
extern "C" fn get_directory(into: *mut c_char, room: usize, pc: u64) -> *mut c_char {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getcwd(into, room) };
    }
    if !into.is_null() {
        if room == 0 {
            return failed(libc::EINVAL);
        }
        return match calls::get_directory(into.cast(), room, pc) {
            code @ ..0 => failed(-code as Errno),
            len => {
                buffers::writes(into as usize, len as usize, pc);
                into
            }
        };
    }
    let bytes = if room == 0 { PATH } else { room };
    let block = heap::malloc_at(bytes, pc);
    if block == 0 {
        return failed(libc::ENOMEM);
    }
    match calls::get_directory(block as *mut u8, bytes, pc) {
        code @ ..0 => {
            heap::free_at(block, pc);
            failed(-code as Errno)
        }
        len if room == 0 => heap::realloc_at(block, len as usize, pc) as *mut c_char,
        _ => block as *mut c_char,
    }
}

/// The C library trusts `$PWD` if it names the working directory. The run may have moved it.
extern "C" fn get_directory_name(pc: u64) -> *mut c_char {
    if !private() || overlay().is_empty() {
        announce::working_directory(FileAccess::Observe, pc);
        // SAFETY: no arguments.
        return unsafe { hidden::get_current_dir_name() };
    }
    get_directory(core::ptr::null_mut(), 0, pc)
}

extern "C" fn get_working_directory(into: *mut c_char, pc: u64) -> *mut c_char {
    if into.is_null() {
        return failed(libc::EINVAL);
    }
    get_directory(into, PATH, pc)
}

fn resolve(path: &[u8], into: *mut c_char, pc: u64) -> Result<*mut c_char, Errno> {
    let mut found = walk::walk(libc::AT_FDCWD, path, Follow::Always)?;
    found.existing()?;
    let last = if found.last == Last::Name { found.name() } else { b"" };
    Ok(give(calls::path_of(&found.directory, last)?, into, pc))
}

extern "C" fn resolve_path(path: *const c_char, into: *mut c_char, pc: u64) -> *mut c_char {
    if controlled() && !path.is_null() {
        // SAFETY: the program passes a C string.
        let text = unsafe { core::ffi::CStr::from_ptr(path) };
        announce::looks_up(libc::AT_FDCWD, text, Follow::Always, None, pc);
        if private() && !overlay().is_empty() {
            return resolve(text.to_bytes(), into, pc).unwrap_or_else(failed);
        }
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::realpath(path, into) };
    buffers::writes_text(result as usize, pc);
    result
}

extern "C" fn resolve_path_checked(path: *const c_char, into: *mut c_char, _room: usize, pc: u64) -> *mut c_char {
    resolve_path(path, into, pc)
}

extern "C" fn resolve_into_block(path: *const c_char, pc: u64) -> *mut c_char {
    resolve_path(path, core::ptr::null_mut(), pc)
}

extern "C" fn get_directory_checked(into: *mut c_char, room: usize, _whole: usize, pc: u64) -> *mut c_char {
    get_directory(into, room, pc)
}

export!(opendir, 1 => open_directory);
export!(fdopendir, 1 => list_descriptor);
export!(readdir, 1 => read_list);
export!(readdir64, 1 => read_list);
export!(readdir_r, 3 => read_list_into);
export!(readdir64_r, 3 => read_list_into);
export!(closedir, 1 => close_list);
export!(rewinddir, 1 => rewind_list);
export!(telldir, 1 => position_in_list);
export!(seekdir, 2 => seek_in_list);
export!(dirfd, 1 => descriptor_of_list);
export!(scandir, 4 => scan_here);
export!(scandir64, 4 => scan_here);
export!(scandirat, many => scan_at);
export!(scandirat64, many => scan_at);
export!(getdents64, 3 => read_entries);
export!(chdir, 1 => change_directory);
export!(fchdir, 1 => change_directory_to);
export!(getcwd, 2 => get_directory);
export!(__getcwd_chk, 3 => get_directory_checked);
export!(getwd, 1 => get_working_directory);
export!(get_current_dir_name, 0 => get_directory_name);
export!(realpath, 2 => resolve_path);
export!(__realpath_chk, 3 => resolve_path_checked);
export!(canonicalize_file_name, 1 => resolve_into_block);
