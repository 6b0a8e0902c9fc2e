//! Functions of the C library that open, make, move, remove and look up files. See `calls` for what
//! they do.

use core::ffi::{CStr, c_char, c_void};

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers;
use crate::interpose::io::calls::{self, private};
use crate::interpose::io::descriptors::stat_descriptor;
use crate::interpose::io::regular_files;
use crate::library::hidden_state;
use crate::state::controlled;
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

const HERE: i32 = libc::AT_FDCWD;

real! { hidden:
    fn open(path: *const c_char, flags: i32, mode: u32) -> i32;
    fn openat(directory: i32, path: *const c_char, flags: i32, mode: u32) -> i32;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void;
    fn fdopen(descriptor: i32, mode: *const c_char) -> *mut c_void;
    fn tmpfile() -> *mut c_void;
    fn mkostemps(template: *mut c_char, suffix: i32, flags: i32) -> i32;
    fn mkdtemp(template: *mut c_char) -> *mut c_char;
    fn mktemp(template: *mut c_char) -> *mut c_char;
    fn tmpnam(into: *mut c_char) -> *mut c_char;
    fn tempnam(directory: *const c_char, prefix: *const c_char) -> *mut c_char;
}

unsafe extern "C" {
    fn fileno(stream: *mut c_void) -> i32;
}

/// The result of a system call as the C library gives it.
pub fn as_c(result: isize) -> isize {
    if result < 0 {
        set_errno(-result as i32);
        return -1;
    }
    result
}

fn status(result: isize) -> i32 {
    as_c(result) as i32
}

extern "C" fn open_path(path: *const c_char, flags: i32, mode: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::open(path, flags, mode) };
    }
    status(calls::open(HERE, path, flags, mode, pc))
}

extern "C" fn open_at(directory: i32, path: *const c_char, flags: i32, mode: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::openat(directory, path, flags, mode) };
    }
    status(calls::open(directory, path, flags, mode, pc))
}

extern "C" fn open_checked(path: *const c_char, flags: i32, pc: u64) -> i32 {
    open_path(path, flags, 0, pc)
}

extern "C" fn open_at_checked(directory: i32, path: *const c_char, flags: i32, pc: u64) -> i32 {
    open_at(directory, path, flags, 0, pc)
}

extern "C" fn create_file(path: *const c_char, mode: u32, pc: u64) -> i32 {
    open_path(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode, pc)
}

/// Flags of `open` that belong to a mode of `fopen`.
fn flags_of(mode: &[u8]) -> i32 {
    let plus = mode.contains(&b'+');
    let access = |plain| if plus { libc::O_RDWR } else { plain };
    let exclusive = if mode.contains(&b'x') { libc::O_EXCL } else { 0 };
    let closes = if mode.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
    closes
        | match mode.first() {
            Some(b'w') => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_TRUNC | exclusive,
            Some(b'a') => access(libc::O_WRONLY) | libc::O_CREAT | libc::O_APPEND | exclusive,
            _ => access(libc::O_RDONLY),
        }
}

fn open_for(path: *const c_char, mode: *const c_char, pc: u64) -> i32 {
    // SAFETY: the program passes C strings, by the contract of the function it calls.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    status(calls::open(HERE, path, flags_of(mode), 0o666, pc))
}

extern "C" fn open_stream(path: *const c_char, mode: *const c_char, pc: u64) -> *mut c_void {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::fopen(path, mode) };
    }
    let descriptor = open_for(path, mode, pc);
    if descriptor < 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: a descriptor that was opened for that mode.
    unsafe { hidden::fdopen(descriptor, mode) }
}

/// The C library opens the new file by the path of a descriptor.
extern "C" fn reopen_stream(path: *const c_char, mode: *const c_char, stream: *mut c_void, pc: u64) -> *mut c_void {
    if !controlled() || path.is_null() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::freopen(path, mode, stream) };
    }
    let descriptor = open_for(path, mode, pc);
    super::streams::flushes(stream, pc);
    // SAFETY: a stream that is open. One in memory has no descriptor.
    let number = unsafe { fileno(stream) };
    if number >= 0 {
        super::descriptors::reopens(number, pc);
    }
    if descriptor < 0 {
        // SAFETY: closes the stream, as the function does if it fails; passes on what the caller
        // gave.
        return unsafe { hidden::freopen(path, mode, stream) };
    }
    let file = regular_files::get(descriptor);
    let by_number = super::overlay::descriptor_path(descriptor);
    // SAFETY: passes on what the caller gave, and a valid path.
    let result = unsafe { hidden::freopen(by_number.as_ptr().cast(), mode, stream) };
    // SAFETY: closes a descriptor that the program does not know.
    unsafe { syscall!(libc::SYS_close, descriptor) };
    regular_files::set(descriptor, regular_files::OpenFile::NONE);
    if !result.is_null() {
        // SAFETY: a stream that is open.
        regular_files::set(unsafe { fileno(result) }, file);
    }
    result
}

extern "C" fn temporary_stream() -> *mut c_void {
    if !private() {
        // SAFETY: no arguments.
        return unsafe { hidden::tmpfile() };
    }
    let descriptor = status(calls::open_temporary());
    if descriptor < 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: a descriptor for reading and writing.
    unsafe { hidden::fdopen(descriptor, c"w+".as_ptr()) }
}

/// A name that is not in use, and a private file under it.
fn make_temporary(template: *mut c_char, suffix: i32, flags: i32, pc: u64) -> i32 {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mkostemps(template, suffix, flags) };
    }
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    try_names(template, suffix, |path| calls::open(HERE, path, flags, 0o600, pc))
}

/// Tries names until one is free.
fn try_names(template: *mut c_char, suffix: i32, make: impl Fn(*const c_char) -> isize) -> i32 {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        // SAFETY: the caller passes a template that can be written.
        if let Err(code) = unsafe { calls::fill_template(template, suffix.max(0) as usize) } {
            return status(-(code as isize));
        }
        let result = make(template);
        if result != -(libc::EEXIST as isize) {
            return status(result);
        }
        // SAFETY: writes the six letters back.
        unsafe {
            let len = libc::strlen(template) - suffix.max(0) as usize;
            core::ptr::write_bytes(template.add(len - 6), b'X', 6);
        }
    }
    status(-(libc::EEXIST as isize))
}

extern "C" fn temporary_file(template: *mut c_char, pc: u64) -> i32 {
    make_temporary(template, 0, 0, pc)
}

extern "C" fn temporary_file_with_flags(template: *mut c_char, flags: i32, pc: u64) -> i32 {
    make_temporary(template, 0, flags, pc)
}

extern "C" fn temporary_file_with_suffix(template: *mut c_char, suffix: i32, pc: u64) -> i32 {
    make_temporary(template, suffix, 0, pc)
}

extern "C" fn temporary_file_with_both(template: *mut c_char, suffix: i32, flags: i32, pc: u64) -> i32 {
    make_temporary(template, suffix, flags, pc)
}

extern "C" fn temporary_directory(template: *mut c_char, pc: u64) -> *mut c_char {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mkdtemp(template) };
    }
    match try_names(template, 0, |path| calls::make_directory(HERE, path, 0o700, pc)) {
        0 => template,
        _ => core::ptr::null_mut(),
    }
}

/// A path that names nothing. The answer for one that is free is an error of the look-up.
fn is_free(path: *const c_char, pc: u64) -> isize {
    match calls::access(HERE, path, libc::F_OK, 0, pc) {
        0 => -(libc::EEXIST as isize),
        _ => 0,
    }
}

extern "C" fn temporary_name(template: *mut c_char, pc: u64) -> *mut c_char {
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mktemp(template) };
    }
    if try_names(template, 0, |path| is_free(path, pc)) < 0 {
        // SAFETY: the function empties the template if it fails.
        unsafe { *template = 0 };
    }
    template
}

/// As the C library makes them: in `/tmp`.
const NAMED: &[u8; 16] = b"/tmp/fileXXXXXX\0";

extern "C" fn some_name(into: *mut c_char, pc: u64) -> *mut c_char {
    static BUFFER: crate::state::Global<[u8; 16]> = crate::state::Global::new(*NAMED);
    if !private() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::tmpnam(into) };
    }
    // Without an argument the result is in memory that all calls share.
    let (accessed, bytes) = if into.is_null() { (hidden_state("tmpnam"), 8) } else { (into as usize, NAMED.len()) };
    buffers::writes(accessed, bytes, pc);
    let into = if into.is_null() { BUFFER.get().cast() } else { into };
    // SAFETY: the caller passes room for a name, or the own buffer has it.
    unsafe { core::ptr::copy_nonoverlapping(NAMED.as_ptr().cast(), into, NAMED.len()) };
    temporary_name(into, pc)
}

/// Which directory is used depends on the environment: the C library makes a name of it, and the
/// last six letters are chosen anew.
extern "C" fn some_name_in(directory: *const c_char, prefix: *const c_char, pc: u64) -> *mut c_char {
    // SAFETY: passes on what the caller gave.
    let name = unsafe { hidden::tempnam(directory, prefix) };
    if private() && !name.is_null() {
        // SAFETY: the name ends with six letters that the C library has chosen.
        unsafe {
            let len = libc::strlen(name);
            core::ptr::write_bytes(name.add(len - 6), b'X', 6);
        }
        temporary_name(name, pc);
    }
    name
}

extern "C" fn unlink_path(path: *const c_char, pc: u64) -> i32 {
    status(calls::unlink(HERE, path, 0, pc))
}

extern "C" fn unlink_at(directory: i32, path: *const c_char, flags: i32, pc: u64) -> i32 {
    status(calls::unlink(directory, path, flags, pc))
}

extern "C" fn remove_path(path: *const c_char, pc: u64) -> i32 {
    match calls::unlink(HERE, path, 0, pc) {
        error if error == -(libc::EISDIR as isize) || error == -(libc::EPERM as isize) => {
            status(calls::unlink(HERE, path, libc::AT_REMOVEDIR, pc))
        }
        result => status(result),
    }
}

extern "C" fn rename_path(from: *const c_char, to: *const c_char, pc: u64) -> i32 {
    status(calls::rename((HERE, from), (HERE, to), 0, pc))
}

extern "C" fn rename_at(from: i32, old: *const c_char, to: i32, new: *const c_char, pc: u64) -> i32 {
    status(calls::rename((from, old), (to, new), 0, pc))
}

extern "C" fn link_path(from: *const c_char, to: *const c_char, pc: u64) -> i32 {
    status(calls::link((HERE, from), (HERE, to), 0, pc))
}

extern "C" fn symlink_path(target: *const c_char, path: *const c_char, pc: u64) -> i32 {
    status(calls::symlink(target, HERE, path, pc))
}

extern "C" fn symlink_at(target: *const c_char, directory: i32, path: *const c_char, pc: u64) -> i32 {
    status(calls::symlink(target, directory, path, pc))
}

extern "C" fn read_link(path: *const c_char, into: *mut u8, room: usize, pc: u64) -> isize {
    as_c(calls::read_link(HERE, path, into, room, pc))
}

extern "C" fn read_link_at(directory: i32, path: *const c_char, into: *mut u8, room: usize, pc: u64) -> isize {
    as_c(calls::read_link(directory, path, into, room, pc))
}

extern "C" fn make_directory(path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::make_directory(HERE, path, mode, pc))
}

extern "C" fn make_directory_at(directory: i32, path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::make_directory(directory, path, mode, pc))
}

extern "C" fn remove_directory(path: *const c_char, pc: u64) -> i32 {
    status(calls::unlink(HERE, path, libc::AT_REMOVEDIR, pc))
}

extern "C" fn make_pipe(path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::make_special(HERE, path, mode & 0o7777 | libc::S_IFIFO, 0, pc))
}

extern "C" fn make_pipe_at(directory: i32, path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::make_special(directory, path, mode & 0o7777 | libc::S_IFIFO, 0, pc))
}

extern "C" fn make_special(path: *const c_char, mode: u32, device: u64, pc: u64) -> i32 {
    status(calls::make_special(HERE, path, mode, device, pc))
}

extern "C" fn make_special_at(directory: i32, path: *const c_char, mode: u32, device: u64, pc: u64) -> i32 {
    status(calls::make_special(directory, path, mode, device, pc))
}

extern "C" fn stat_path(path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    status(calls::stat(HERE, path, into, 0, pc))
}

extern "C" fn lstat_path(path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    status(calls::stat(HERE, path, into, libc::AT_SYMLINK_NOFOLLOW, pc))
}

extern "C" fn stat_at(directory: i32, path: *const c_char, into: *mut libc::stat, flags: i32, pc: u64) -> i32 {
    status(calls::stat(directory, path, into, flags, pc))
}

/// The functions that programs built before glibc 2.33 call for `stat`: the version of the
/// structure, which has never changed, comes first.
extern "C" fn versioned_stat(_version: i32, path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    stat_path(path, into, pc)
}

extern "C" fn versioned_lstat(_version: i32, path: *const c_char, into: *mut libc::stat, pc: u64) -> i32 {
    lstat_path(path, into, pc)
}

extern "C" fn versioned_fstat(_version: i32, descriptor: i32, into: *mut libc::stat, pc: u64) -> i32 {
    stat_descriptor(descriptor, into, pc)
}

extern "C" fn versioned_stat_at(
    _version: i32,
    directory: i32,
    path: *const c_char,
    into: *mut libc::stat,
    flags: i32,
    pc: u64,
) -> i32 {
    stat_at(directory, path, into, flags, pc)
}

extern "C" fn access_path(path: *const c_char, mode: i32, pc: u64) -> i32 {
    status(calls::access(HERE, path, mode, 0, pc))
}

extern "C" fn access_at(directory: i32, path: *const c_char, mode: i32, flags: i32, pc: u64) -> i32 {
    status(calls::access(directory, path, mode, flags, pc))
}

extern "C" fn access_as_effective(path: *const c_char, mode: i32, pc: u64) -> i32 {
    status(calls::access(HERE, path, mode, libc::AT_EACCESS, pc))
}

/// The status of the file system that a path or descriptor is on.
fn ask_system(descriptor: i32, path: *const c_char, into: *mut libc::statfs, pc: u64) -> i32 {
    let result = status(calls::system_status(descriptor, path, into, pc));
    if result == 0 {
        buffers::writes(into as usize, size_of::<libc::statfs>(), pc);
    }
    result
}

/// As the C library translates it.
fn ask_system_portably(descriptor: i32, path: *const c_char, into: *mut libc::statvfs, pc: u64) -> i32 {
    // The kernel's structure consists of words.
    let mut system = [0u64; size_of::<libc::statfs>() / size_of::<u64>()];
    let result = status(calls::system_status(descriptor, path, system.as_mut_ptr().cast(), pc));
    if result == 0 {
        buffers::writes(into as usize, size_of::<libc::statvfs>(), pc);
        // SAFETY: the caller passes room for the result.
        let into = unsafe { &mut *into };
        let [_, bsize, blocks, bfree, bavail, files, ffree, fsid, namelen, frsize, flags, ..] = system;
        (into.f_bsize, into.f_frsize) = (bsize, frsize);
        (into.f_blocks, into.f_bfree, into.f_bavail) = (blocks, bfree, bavail);
        (into.f_files, into.f_ffree, into.f_favail) = (files, ffree, ffree);
        // One flag only says that there are flags.
        (into.f_fsid, into.f_flag, into.f_namemax) = (fsid, flags & !0x20, namelen);
    }
    result
}

extern "C" fn system_status(path: *const c_char, into: *mut libc::statfs, pc: u64) -> i32 {
    ask_system(HERE, path, into, pc)
}

extern "C" fn system_status_of(descriptor: i32, into: *mut libc::statfs, pc: u64) -> i32 {
    ask_system(descriptor, c"".as_ptr(), into, pc)
}

extern "C" fn portable_status(path: *const c_char, into: *mut libc::statvfs, pc: u64) -> i32 {
    ask_system_portably(HERE, path, into, pc)
}

extern "C" fn portable_status_of(descriptor: i32, into: *mut libc::statvfs, pc: u64) -> i32 {
    ask_system_portably(descriptor, c"".as_ptr(), into, pc)
}

extern "C" fn rename_with_flags(from: i32, old: *const c_char, to: i32, new: *const c_char, flags: u32) -> i32 {
    let pc = return_address();
    status(calls::rename((from, old), (to, new), flags, pc))
}

extern "C" fn link_at(from: i32, old: *const c_char, to: i32, new: *const c_char, flags: i32) -> i32 {
    let pc = return_address();
    status(calls::link((from, old), (to, new), flags, pc))
}

extern "C" fn stat_more(directory: i32, path: *const c_char, flags: i32, mask: u32, into: *mut libc::statx) -> i32 {
    let pc = return_address();
    status(calls::stat_more(directory, path, flags, mask, into, pc))
}

export!(open, 3 => open_path);
export!(open64, 3 => open_path);
export!(__open_2, 2 => open_checked);
export!(__open64_2, 2 => open_checked);
export!(openat, 4 => open_at);
export!(openat64, 4 => open_at);
export!(__openat_2, 3 => open_at_checked);
export!(__openat64_2, 3 => open_at_checked);
export!(creat, 2 => create_file);
export!(creat64, 2 => create_file);
export!(fopen, 2 => open_stream);
export!(fopen64, 2 => open_stream);
export!(freopen, 3 => reopen_stream);
export!(freopen64, 3 => reopen_stream);
export!(tmpfile, 0 => temporary_stream);
export!(tmpfile64, 0 => temporary_stream);
export!(mkstemp, 1 => temporary_file);
export!(mkstemp64, 1 => temporary_file);
export!(mkostemp, 2 => temporary_file_with_flags);
export!(mkostemp64, 2 => temporary_file_with_flags);
export!(mkstemps, 2 => temporary_file_with_suffix);
export!(mkstemps64, 2 => temporary_file_with_suffix);
export!(mkostemps, 3 => temporary_file_with_both);
export!(mkostemps64, 3 => temporary_file_with_both);
export!(mkdtemp, 1 => temporary_directory);
export!(mktemp, 1 => temporary_name);
export!(tmpnam, 1 => some_name);
export!(tempnam, 2 => some_name_in);
export!(unlink, 1 => unlink_path);
export!(unlinkat, 3 => unlink_at);
export!(remove, 1 => remove_path);
export!(rename, 2 => rename_path);
export!(renameat, 4 => rename_at);
export!(renameat2, many => rename_with_flags);
export!(link, 2 => link_path);
export!(linkat, many => link_at);
export!(symlink, 2 => symlink_path);
export!(symlinkat, 3 => symlink_at);
export!(readlink, 3 => read_link);
export!(readlinkat, 4 => read_link_at);
export!(mkdir, 2 => make_directory);
export!(mkdirat, 3 => make_directory_at);
export!(rmdir, 1 => remove_directory);
export!(mkfifo, 2 => make_pipe);
export!(mkfifoat, 3 => make_pipe_at);
export!(mknod, 3 => make_special);
export!(mknodat, 4 => make_special_at);
export!(stat, 2 => stat_path);
export!(stat64, 2 => stat_path);
export!(lstat, 2 => lstat_path);
export!(lstat64, 2 => lstat_path);
export!(fstatat, 4 => stat_at);
export!(fstatat64, 4 => stat_at);
export!(__xstat, 3 => versioned_stat);
export!(__xstat64, 3 => versioned_stat);
export!(__lxstat, 3 => versioned_lstat);
export!(__lxstat64, 3 => versioned_lstat);
export!(__fxstat, 3 => versioned_fstat);
export!(__fxstat64, 3 => versioned_fstat);
export!(__fxstatat, 5 => versioned_stat_at);
export!(__fxstatat64, 5 => versioned_stat_at);
export!(statx, many => stat_more);
export!(access, 2 => access_path);
export!(faccessat, 4 => access_at);
export!(eaccess, 2 => access_as_effective);
export!(euidaccess, 2 => access_as_effective);
export!(statfs, 2 => system_status);
export!(statfs64, 2 => system_status);
export!(fstatfs, 2 => system_status_of);
export!(fstatfs64, 2 => system_status_of);
export!(statvfs, 2 => portable_status);
export!(statvfs64, 2 => portable_status);
export!(fstatvfs, 2 => portable_status_of);
export!(fstatvfs64, 2 => portable_status_of);
