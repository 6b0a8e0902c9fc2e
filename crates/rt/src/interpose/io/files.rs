//! Files that the program writes. Each run gets a private copy of a regular file the first time
//! that it opens it for writing: a file in memory, which later opens of the same path see, too, and
//! which disappears with the run. Looking a path up, and creating or removing its file, are
//! transitions (see `regular_files`).
//!
//! Directories, links and permissions are not copied: changes to them are real, and are reported as
//! a limit.

use core::ffi::{CStr, c_char, c_void};

use raddle_wire::{config_flag, limit};

use crate::arch;
use crate::arch::entry::export;
use crate::interpose::buffers;
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::restore::undo;
use crate::sched::controller::note_limit;
use crate::state::{controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::syscall;

/// Longest name of a file, and longest path of its directory, that can have a private copy.
const PATH: usize = 255;
/// Copies are held open from this number on, out of the way of the numbers that the program gets.
const HELD: usize = 700;
/// Files that can have one in a run.
pub const MAX_COPIES: usize = 32;

/// A private copy, or the absence of a file that the run has removed.
#[derive(Clone, Copy)]
pub struct Copy {
    place: Place,
    /// Identity of the real file, if there is one.
    identity: (u64, u64),
    /// Descriptor of the memory file; -1 if the run removed the file.
    descriptor: i32,
}

/// A file by its directory's identity and its name in it, because paths to it may be written in
/// many ways.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    directory: (u64, u64),
    name: [u8; PATH],
    len: usize,
}

impl Place {
    const NOWHERE: Place = Place { directory: (0, 0), name: [0; PATH], len: 0 };

    /// `None` if there is no such directory, or a name is too long.
    fn of(path: &CStr) -> Option<Self> {
        let bytes = path.to_bytes();
        let start = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (directory, name) = bytes.split_at(start);
        if name.is_empty() || name.len() > PATH || directory.len() > PATH {
            return None;
        }
        let mut text = [0u8; PATH + 1];
        match directory {
            [] => text[0] = b'.',
            _ => text[..directory.len()].copy_from_slice(directory),
        }
        let mut place = Place { directory: identity(CStr::from_bytes_until_nul(&text).ok()?)?, ..Place::NOWHERE };
        place.name[..name.len()].copy_from_slice(name);
        place.len = name.len();
        Some(place)
    }
}

/// All private copies of the run.
pub struct Copies {
    list: [Copy; MAX_COPIES],
    len: usize,
}

impl Copies {
    /// None.
    pub const fn new() -> Self {
        Copies { list: [Copy { place: Place::NOWHERE, identity: (0, 0), descriptor: -1 }; MAX_COPIES], len: 0 }
    }

    /// Whether the run has made, changed or removed any file.
    pub fn has_any(&self) -> bool {
        self.len > 0
    }

    fn find(&mut self, path: &CStr) -> Option<&mut Copy> {
        if self.len == 0 {
            return None;
        }
        let (place, identity) = (Place::of(path), identity(path));
        self.list[..self.len]
            .iter_mut()
            .find(|copy| Some(copy.place) == place || (copy.identity != (0, 0) && Some(copy.identity) == identity))
    }

    fn add(&mut self, path: &CStr, descriptor: i32) -> bool {
        let Some(place) = Place::of(path).filter(|_| self.len < MAX_COPIES) else { return false };
        self.list[self.len] = Copy { place, identity: identity(path).unwrap_or((0, 0)), descriptor };
        self.len += 1;
        true
    }
}

real! { hidden:
    fn open(path: *const c_char, flags: i32, mode: u32) -> i32;
    fn openat(directory: i32, path: *const c_char, flags: i32, mode: u32) -> i32;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
    fn fdopen(descriptor: i32, mode: *const c_char) -> *mut c_void;
    fn unlink(path: *const c_char) -> i32;
    fn remove(path: *const c_char) -> i32;
    fn rename(from: *const c_char, to: *const c_char) -> i32;
    fn stat(path: *const c_char, into: *mut libc::stat) -> i32;
    fn lstat(path: *const c_char, into: *mut libc::stat) -> i32;
    fn fstatat(directory: i32, path: *const c_char, into: *mut libc::stat, flags: i32) -> i32;
    fn access(path: *const c_char, mode: i32) -> i32;
    fn truncate(path: *const c_char, len: i64) -> i32;
    fn mkstemp(template: *mut c_char) -> i32;
    fn tmpfile() -> *mut c_void;
    fn mkdir(path: *const c_char, mode: u32) -> i32;
    fn rmdir(path: *const c_char) -> i32;
    fn link(from: *const c_char, to: *const c_char) -> i32;
    fn symlink(from: *const c_char, to: *const c_char) -> i32;
}

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
    fn fileno(stream: *mut c_void) -> i32;
}

/// Whether files have private copies now.
pub fn private() -> bool {
    controlled() && process().config_flags & config_flag::SHARE_FILES == 0
}

fn fail_with(code: i32) -> i32 {
    // SAFETY: errno of the running thread.
    unsafe { *__errno_location() = code };
    -1
}

/// The status of the real file.
fn status(path: &CStr) -> Option<libc::stat> {
    // SAFETY: an all-zero stat is a valid value to be overwritten.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a valid path and a local.
    let found = unsafe { arch::syscall::stat(path.as_ptr(), &raw mut stat) } == 0;
    found.then_some(stat)
}

fn identity(path: &CStr) -> Option<(u64, u64)> {
    status(path).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Opens the memory file again, with its own offset.
fn reopen(descriptor: i32, flags: i32) -> i32 {
    let mut path = *b"/proc/self/fd/0000\0";
    let mut rest = descriptor;
    for digit in (14..18).rev() {
        path[digit] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Leading zeroes are not accepted there: shift the digits to the front.
    while path[14] == b'0' && path[15] != 0 {
        path.copy_within(15..19, 14);
    }
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    // SAFETY: a valid path.
    let result = unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
    if result < 0 { fail_with(-result as i32) } else { result as i32 }
}

/// An empty memory file.
fn new_file(mode: u32) -> i32 {
    // SAFETY: a valid name.
    let file = unsafe { syscall!(libc::SYS_memfd_create, c"raddle-file".as_ptr(), libc::MFD_CLOEXEC) } as i32;
    // SAFETY: moves the own descriptor up and gives the file its mode.
    unsafe {
        syscall!(libc::SYS_fchmod, file, mode);
        let held = syscall!(libc::SYS_fcntl, file, libc::F_DUPFD_CLOEXEC, HELD);
        if held < 0 {
            return file;
        }
        syscall!(libc::SYS_close, file);
        held as i32
    }
}

/// The mode that a file created with this one gets.
fn masked(mode: u32) -> u32 {
    // SAFETY: reads the mask by setting it twice.
    let mask = unsafe {
        let mask = syscall!(libc::SYS_umask, 0o77) as u32;
        syscall!(libc::SYS_umask, mask);
        mask
    };
    mode & 0o777 & !mask
}

/// A memory file with the content and mode of the real one, if there is one.
fn new_copy(path: &CStr, mode: u32) -> i32 {
    let copy = new_file(status(path).map_or_else(|| masked(mode), |stat| stat.st_mode & 0o777));
    // SAFETY: a valid path.
    let original =
        unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0) };
    if copy >= 0 && original >= 0 {
        // SAFETY: copies between two own descriptors, then closes one.
        unsafe {
            while syscall!(libc::SYS_sendfile, copy, original, 0usize, 1usize << 30) > 0 {}
            syscall!(libc::SYS_close, original);
        }
    }
    copy
}

/// Whether the program may write the file, or create one there: if not, the real call says why.
fn may_write(path: &CStr, exists: bool) -> bool {
    let mut text = [0u8; PATH + 2];
    let bytes = path.to_bytes();
    if exists {
        // SAFETY: a valid path.
        return unsafe { arch::syscall::access(path.as_ptr(), libc::W_OK) } == 0;
    }
    let len = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    if len > PATH {
        return false;
    }
    text[..len].copy_from_slice(&bytes[..len]);
    text[len] = b'.';
    // SAFETY: a valid path: the bytes behind it are zero.
    unsafe { arch::syscall::access(text.as_ptr().cast(), libc::W_OK | libc::X_OK) == 0 }
}

/// Opens a path as the run sees it; `None` if the real file is the right one.
fn open_private(path: &CStr, flags: i32, mode: u32) -> Option<i32> {
    let copies = &mut run().copies;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    if let Some(copy) = copies.find(path) {
        if copy.descriptor < 0 {
            if flags & libc::O_CREAT == 0 {
                return Some(fail_with(libc::ENOENT));
            }
            copy.descriptor = new_file(masked(mode));
        } else if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 {
            return Some(fail_with(libc::EEXIST));
        }
        return Some(reopen(copy.descriptor, flags));
    }
    if !writes || flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return None;
    }
    let real = status(path);
    match real {
        Some(stat) if stat.st_mode & libc::S_IFMT != libc::S_IFREG => return None,
        Some(_) if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => return Some(fail_with(libc::EEXIST)),
        None if flags & libc::O_CREAT == 0 => return Some(fail_with(libc::ENOENT)),
        _ if !may_write(path, real.is_some()) => return None,
        _ => {}
    }
    let descriptor = new_copy(path, mode);
    if descriptor < 0 || !copies.add(path, descriptor) {
        note_limit(limit::FILES);
        return None;
    }
    if let Some(stat) = real {
        regular_files::moves_to_copy(path, (stat.st_dev, stat.st_ino), descriptor, reopen);
    }
    Some(reopen(descriptor, flags))
}

/// Waits for its turn to open the path.
fn announce_open(path: &CStr, flags: i32, pc: u64) {
    let how = if flags & libc::O_CREAT == 0 { FileAccess::Observe } else { FileAccess::Change };
    if flags & libc::O_TRUNC == 0 {
        regular_files::looks_up(path, how, pc);
    } else {
        regular_files::looks_into(path, how, FileAccess::Change, pc);
    }
}

/// Notes that the path was opened as this descriptor. Anything but a regular file is not modelled
/// here, and may give different data to every reader.
fn opened(path: &CStr, descriptor: i32) -> i32 {
    if controlled() && descriptor >= 0 {
        if regular_files::is_regular(descriptor) {
            regular_files::opened(descriptor, regular_files::content(path));
        } else {
            undo::changed(undo::kind::OTHER);
            regular_files::opened_other(descriptor);
        }
    }
    descriptor
}

/// The path as a C string.
fn text(path: *const c_char) -> &'static CStr {
    // SAFETY: the program passes a C string, by the contract of the function it calls.
    unsafe { CStr::from_ptr(path) }
}

extern "C" fn open_path(path: *const c_char, flags: i32, mode: u32, pc: u64) -> i32 {
    announce_open(text(path), flags, pc);
    if private()
        && let Some(result) = open_private(text(path), flags, mode)
    {
        return opened(text(path), result);
    }
    // SAFETY: passes on what the caller gave.
    opened(text(path), unsafe { hidden::open(path, flags, mode) })
}

extern "C" fn open_at(directory: i32, path: *const c_char, flags: i32, mode: u32, pc: u64) -> i32 {
    let from_here = directory == libc::AT_FDCWD || text(path).to_bytes().first() == Some(&b'/');
    if private() && from_here {
        return open_path(path, flags, mode, pc);
    }
    announce_open(text(path), flags, pc);
    if private() && flags & libc::O_ACCMODE != libc::O_RDONLY {
        note_limit(limit::FILES);
    }
    // SAFETY: passes on what the caller gave.
    opened(text(path), unsafe { hidden::openat(directory, path, flags, mode) })
}

extern "C" fn create_file(path: *const c_char, mode: u32, pc: u64) -> i32 {
    open_path(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode, pc)
}

/// Flags of `open` that belong to a mode of `fopen`.
fn flags_of(mode: &[u8]) -> i32 {
    let plus = mode.contains(&b'+');
    let access = |plain| if plus { libc::O_RDWR } else { plain };
    let exclusive = if mode.contains(&b'x') { libc::O_EXCL } else { 0 };
    match mode.first() {
        Some(b'w') => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_TRUNC | exclusive,
        Some(b'a') => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_APPEND,
        _ => access(libc::O_RDONLY),
    }
}

extern "C" fn open_stream(path: *const c_char, mode: *const c_char, pc: u64) -> *mut c_void {
    announce_open(text(path), flags_of(text(mode).to_bytes()), pc);
    if private()
        && let Some(descriptor) = open_private(text(path), flags_of(text(mode).to_bytes()), 0o666)
    {
        if descriptor < 0 {
            return core::ptr::null_mut();
        }
        opened(text(path), descriptor);
        // SAFETY: an own descriptor, opened for that mode.
        return unsafe { hidden::fdopen(descriptor, mode) };
    }
    // SAFETY: passes on what the caller gave.
    let stream = unsafe { hidden::fopen(path, mode) };
    if !stream.is_null() {
        // SAFETY: a stream that is open.
        opened(text(path), unsafe { fileno(stream) });
    }
    stream
}

extern "C" fn temporary_stream() -> *mut c_void {
    if private() {
        let held = new_file(0o600);
        let descriptor = reopen(held, libc::O_RDWR);
        // SAFETY: two descriptors of the runtime: the first is not needed any more, the second is
        // for reading and writing.
        return unsafe {
            syscall!(libc::SYS_close, held);
            regular_files::opened_nameless(descriptor);
            hidden::fdopen(descriptor, c"w+".as_ptr())
        };
    }
    // SAFETY: no arguments.
    unsafe { hidden::tmpfile() }
}

/// A name that depends only on the thread's own history, and a private file under it.
extern "C" fn temporary_file(template: *mut c_char, pc: u64) -> i32 {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mkstemp(template) };
    }
    let len = text(template).to_bytes().len();
    if len < 6 {
        return fail_with(libc::EINVAL);
    }
    let me = run().me();
    me.temporary_files += 1;
    let mut number = me.key.wrapping_add(u64::from(me.temporary_files));
    for index in len - 6..len {
        // SAFETY: the last six characters of the caller's template, which the function replaces by
        // contract.
        unsafe { *template.add(index) = (b'a' + (number % 26) as u8) as c_char };
        number = (number / 26) ^ (number << 5);
    }
    open_path(template, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600, pc)
}

/// Removes the file for this run; the real one stays.
fn remove_private(path: &CStr) -> Option<i32> {
    let exists = status(path);
    let copies = &mut run().copies;
    if let Some(copy) = copies.find(path) {
        if copy.descriptor < 0 {
            return Some(fail_with(libc::ENOENT));
        }
        copy.descriptor = -1;
        return Some(0);
    }
    match exists {
        Some(stat) if stat.st_mode & libc::S_IFMT == libc::S_IFREG && copies.add(path, -1) => Some(0),
        _ => None,
    }
}

extern "C" fn unlink_path(path: *const c_char, pc: u64) -> i32 {
    regular_files::looks_up(text(path), FileAccess::Change, pc);
    if private()
        && let Some(result) = remove_private(text(path))
    {
        return result;
    }
    // SAFETY: passes on what the caller gave; nothing but an error or a special file is left here.
    unsafe { hidden::unlink(path) }
}

extern "C" fn remove_path(path: *const c_char, pc: u64) -> i32 {
    regular_files::looks_up(text(path), FileAccess::Change, pc);
    if private()
        && let Some(result) = remove_private(text(path))
    {
        return result;
    }
    changes_files();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::remove(path) }
}

extern "C" fn rename_path(from: *const c_char, to: *const c_char, pc: u64) -> i32 {
    regular_files::moves_name(text(from), text(to), pc);
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::rename(from, to) };
    }
    let source = open_private(text(from), libc::O_RDWR, 0);
    let Some(descriptor) = source else {
        changes_files();
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::rename(from, to) };
    };
    if descriptor < 0 {
        return -1;
    }
    // SAFETY: an own descriptor: it has made sure that there is a copy, which has another one.
    unsafe { syscall!(libc::SYS_close, descriptor) };
    let content = run().copies.find(text(from)).map_or(-1, |copy| core::mem::replace(&mut copy.descriptor, -1));
    match run().copies.find(text(to)) {
        Some(copy) => copy.descriptor = content,
        None => {
            run().copies.add(text(to), content);
        }
    }
    0
}

/// The status of the private copy instead of the real file.
fn stat_private(path: *const c_char, into: *mut libc::stat) -> Option<i32> {
    let copy = private().then(|| run().copies.find(text(path))).flatten()?;
    if copy.descriptor < 0 {
        return Some(fail_with(libc::ENOENT));
    }
    // SAFETY: an own descriptor; the caller passes room for the result.
    Some(unsafe { syscall!(libc::SYS_fstat, copy.descriptor, into) } as i32)
}

extern "C" fn stat_path(path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    regular_files::looks_into(text(path), FileAccess::Observe, FileAccess::Observe, pc);
    crate::restore::snapshot::touch(into.cast(), size_of::<libc::stat>());
    buffers::writes(into as usize, size_of::<libc::stat>(), pc);
    // SAFETY: passes on what the caller gave.
    stat_private(path, into).unwrap_or_else(|| unsafe { hidden::stat(path, into) })
}

extern "C" fn lstat_path(path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    regular_files::looks_into(text(path), FileAccess::Observe, FileAccess::Observe, pc);
    crate::restore::snapshot::touch(into.cast(), size_of::<libc::stat>());
    buffers::writes(into as usize, size_of::<libc::stat>(), pc);
    // SAFETY: passes on what the caller gave.
    stat_private(path, into).unwrap_or_else(|| unsafe { hidden::lstat(path, into) })
}

/// As `fstatat`.
extern "C" fn stat_at(directory: i32, path: *const c_char, into: *mut libc::stat, flags: i32, pc: u64) -> i32 {
    let from_here = directory == libc::AT_FDCWD || text(path).to_bytes().first() == Some(&b'/');
    match flags {
        0 if from_here => return stat_path(path, into, pc),
        libc::AT_SYMLINK_NOFOLLOW if from_here => return lstat_path(path, into, pc),
        _ => {}
    }
    if !text(path).is_empty() {
        regular_files::looks_into(text(path), FileAccess::Observe, FileAccess::Observe, pc);
    } else {
        regular_files::touches(directory, FileAccess::Observe, pc);
    }
    crate::restore::snapshot::touch(into.cast(), size_of::<libc::stat>());
    buffers::writes(into as usize, size_of::<libc::stat>(), pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::fstatat(directory, path, into, flags) }
}

extern "C" fn access_path(path: *const c_char, mode: i32, pc: u64) -> i32 {
    regular_files::looks_up(text(path), FileAccess::Observe, pc);
    if private()
        && let Some(copy) = run().copies.find(text(path))
    {
        return if copy.descriptor < 0 { fail_with(libc::ENOENT) } else { 0 };
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::access(path, mode) }
}

extern "C" fn truncate_path(path: *const c_char, len: i64, pc: u64) -> i32 {
    regular_files::looks_into(text(path), FileAccess::Observe, FileAccess::Change, pc);
    if private()
        && let Some(descriptor) = open_private(text(path), libc::O_RDWR, 0)
    {
        // SAFETY: an own descriptor, closed again.
        let result = unsafe {
            let result = syscall!(libc::SYS_ftruncate, descriptor, len);
            syscall!(libc::SYS_close, descriptor);
            result
        };
        return if result < 0 { fail_with(-result as i32) } else { 0 };
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::truncate(path, len) }
}

/// The file system itself is changed, which no snapshot undoes.
fn changes_files() {
    if private() {
        note_limit(limit::FILES);
    }
}

extern "C" fn make_directory(path: *const c_char, mode: u32) -> i32 {
    changes_files();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::mkdir(path, mode) }
}

extern "C" fn remove_directory(path: *const c_char) -> i32 {
    changes_files();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::rmdir(path) }
}

extern "C" fn link_path(from: *const c_char, to: *const c_char) -> i32 {
    changes_files();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::link(from, to) }
}

extern "C" fn symlink_path(from: *const c_char, to: *const c_char) -> i32 {
    changes_files();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::symlink(from, to) }
}

/// Descriptor of the private copy of a file whose attributes shall change, or an error code; `None`
/// if it has none and can have none.
pub fn copy_to_change(path: &CStr) -> Option<Result<i32, i32>> {
    if run().copies.find(path).is_none() {
        let opened = open_private(path, libc::O_RDWR, 0)?;
        if opened < 0 {
            return Some(Err(libc::ENOENT));
        }
        // SAFETY: closes the descriptor that was just opened; the copy is held open elsewhere.
        unsafe { syscall!(libc::SYS_close, opened) };
    }
    let held = run().copies.find(path)?.descriptor;
    Some(if held < 0 { Err(libc::ENOENT) } else { Ok(held) })
}

export!(open, 3 => open_path);
export!(open64, 3 => open_path);
export!(openat, 4 => open_at);
export!(openat64, 4 => open_at);
export!(creat, 2 => create_file);
export!(creat64, 2 => create_file);
export!(fopen, 2 => open_stream);
export!(fopen64, 2 => open_stream);
export!(tmpfile, 0 => temporary_stream);
export!(tmpfile64, 0 => temporary_stream);
export!(mkstemp, 1 => temporary_file);
export!(mkstemp64, 1 => temporary_file);
export!(unlink, 1 => unlink_path);
export!(remove, 1 => remove_path);
export!(rename, 2 => rename_path);
export!(stat, 2 => stat_path);
export!(stat64, 2 => stat_path);
export!(lstat, 2 => lstat_path);
export!(lstat64, 2 => lstat_path);
export!(fstatat, 4 => stat_at);
export!(fstatat64, 4 => stat_at);
export!(access, 2 => access_path);
export!(truncate, 2 => truncate_path);
export!(truncate64, 2 => truncate_path);
export!(mkdir, 2 => make_directory);
export!(rmdir, 1 => remove_directory);
export!(link, 2 => link_path);
export!(symlink, 2 => symlink_path);
