//! Modes, owners and times of files, and lists of directories, where files have private copies. A
//! change goes to the private copy, which is made if need be, so that no real file changes.

use core::ffi::{CStr, c_char, c_void};

use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::io::files;
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::sched::controller::note_limit;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn chmod(path: *const c_char, mode: u32) -> i32;
    fn chown(path: *const c_char, owner: u32, group: u32) -> i32;
    fn lchown(path: *const c_char, owner: u32, group: u32) -> i32;
    fn utime(path: *const c_char, times: *const libc::utimbuf) -> i32;
    fn utimes(path: *const c_char, times: *const libc::timeval) -> i32;
    fn utimensat(directory: i32, path: *const c_char, times: *const libc::timespec, flags: i32) -> i32;
    fn opendir(path: *const c_char) -> *mut c_void;
    fn scandir(path: *const c_char, list: *mut c_void, select: *const c_void, compare: *const c_void) -> i32;
}

/// Changes the private copy of a file by a system call on its descriptor. `None` if there can be
/// none: then the real call says why, or changes the real file, which is named.
fn change(path: *const c_char, pc: u64, call: impl Fn(i32) -> isize) -> Option<i32> {
    if !files::private() || path.is_null() {
        return None;
    }
    // SAFETY: the caller passes a path.
    let path = unsafe { CStr::from_ptr(path) };
    regular_files::looks_into(path, FileAccess::Observe, FileAccess::Change, pc);
    let Some(copy) = files::copy_to_change(path) else {
        note_limit(limit::FILES);
        return None;
    };
    let result = match copy {
        Ok(descriptor) => call(descriptor) as i32,
        Err(code) => -code,
    };
    Some(if result < 0 {
        set_errno(-result);
        -1
    } else {
        0
    })
}

extern "C" fn change_mode(path: *const c_char, mode: u32, pc: u64) -> i32 {
    // SAFETY: changes the mode of a memory file.
    let changed = change(path, pc, |descriptor| unsafe { syscall!(libc::SYS_fchmod, descriptor, mode) });
    // SAFETY: passes on what the caller gave.
    changed.unwrap_or_else(|| unsafe { hidden::chmod(path, mode) })
}

/// Changes the owner of the private copy.
fn give(path: *const c_char, owner: u32, group: u32, pc: u64) -> Option<i32> {
    // SAFETY: changes the owner of a memory file.
    change(path, pc, |descriptor| unsafe { syscall!(libc::SYS_fchown, descriptor, owner, group) })
}

extern "C" fn change_owner(path: *const c_char, owner: u32, group: u32, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    give(path, owner, group, pc).unwrap_or_else(|| unsafe { hidden::chown(path, owner, group) })
}

extern "C" fn change_owner_of_link(path: *const c_char, owner: u32, group: u32, pc: u64) -> i32 {
    // SAFETY: passes on what the caller gave.
    give(path, owner, group, pc).unwrap_or_else(|| unsafe { hidden::lchown(path, owner, group) })
}

/// Changes the times of the private copy, to the present time if there are none.
fn stamp(path: *const c_char, times: Option<[libc::timespec; 2]>, pc: u64) -> Option<i32> {
    change(path, pc, |descriptor| {
        let times = times.as_ref().map_or(core::ptr::null(), |times| times.as_ptr());
        // SAFETY: changes the times of a memory file; no path says that it is the descriptor's.
        unsafe { syscall!(libc::SYS_utimensat, descriptor, 0usize, times, 0usize) }
    })
}

extern "C" fn change_times(path: *const c_char, times: *const libc::utimbuf, pc: u64) -> i32 {
    // SAFETY: null, or the caller passes both times.
    let both = unsafe { times.as_ref() }
        .map(|times| [times.actime, times.modtime].map(|seconds| libc::timespec { tv_sec: seconds, tv_nsec: 0 }));
    // SAFETY: passes on what the caller gave.
    stamp(path, both, pc).unwrap_or_else(|| unsafe { hidden::utime(path, times) })
}

extern "C" fn change_times_finely(path: *const c_char, times: *const libc::timeval, pc: u64) -> i32 {
    let spec = |time: libc::timeval| libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1_000 };
    // SAFETY: null, or the caller passes both times.
    let both = unsafe { times.cast::<[libc::timeval; 2]>().as_ref() }.map(|times| times.map(spec));
    // SAFETY: passes on what the caller gave.
    stamp(path, both, pc).unwrap_or_else(|| unsafe { hidden::utimes(path, times) })
}

extern "C" fn change_times_at(
    directory: i32,
    path: *const c_char,
    times: *const libc::timespec,
    flags: i32,
    pc: u64,
) -> i32 {
    // SAFETY: a path that is not null is the caller's.
    let is_absolute = !path.is_null() && unsafe { *path } == b'/' as c_char;
    let stamped = if directory == libc::AT_FDCWD || is_absolute {
        // SAFETY: null, or the caller passes both times.
        stamp(path, unsafe { times.cast::<[libc::timespec; 2]>().as_ref() }.copied(), pc)
    } else {
        None
    };
    // SAFETY: passes on what the caller gave.
    stamped.unwrap_or_else(|| unsafe { hidden::utimensat(directory, path, times, flags) })
}

/// A list of a directory shows the real files, not those that the run has made or removed.
fn lists_directory() {
    if controlled() && run().copies.has_any() {
        note_limit(limit::FILES);
    }
}

extern "C" fn open_directory(path: *const c_char, _pc: u64) -> *mut c_void {
    lists_directory();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::opendir(path) }
}

extern "C" fn scan_directory(
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
    _pc: u64,
) -> i32 {
    lists_directory();
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::scandir(path, list, select, compare) }
}

export!(chmod, 2 => change_mode);
export!(chown, 3 => change_owner);
export!(lchown, 3 => change_owner_of_link);
export!(utime, 2 => change_times);
export!(utimes, 2 => change_times_finely);
export!(utimensat, 4 => change_times_at);
export!(opendir, 1 => open_directory);
export!(scandir, 4 => scan_directory);
export!(scandir64, 4 => scan_directory);
