//! Functions of the C library that change modes, owners, times, sizes and extended attributes of
//! files.

use core::ffi::c_char;

use crate::arch::entry::{export, return_address};
use crate::interpose::buffers;
use crate::interpose::io::calls;
use crate::interpose::io::files::as_c;
use crate::interpose::io::regular_files::FileAccess;
use crate::restore::snapshot::touch;
use crate::syscall::syscall;

const HERE: i32 = libc::AT_FDCWD;
const NOFOLLOW: i32 = libc::AT_SYMLINK_NOFOLLOW;
/// The descriptor itself is meant.
const ITSELF: *const c_char = c"".as_ptr();
const EMPTY: i32 = libc::AT_EMPTY_PATH;

fn status(result: isize) -> i32 {
    as_c(result) as i32
}

extern "C" fn change_mode(path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::change_mode(HERE, path, mode, 0, pc))
}

extern "C" fn change_mode_of_link(path: *const c_char, mode: u32, pc: u64) -> i32 {
    status(calls::change_mode(HERE, path, mode, NOFOLLOW, pc))
}

extern "C" fn change_mode_at(directory: i32, path: *const c_char, mode: u32, flags: i32, pc: u64) -> i32 {
    status(calls::change_mode(directory, path, mode, flags, pc))
}

extern "C" fn change_mode_of(descriptor: i32, mode: u32, pc: u64) -> i32 {
    status(calls::change_mode(descriptor, ITSELF, mode, EMPTY, pc))
}

extern "C" fn change_owner(path: *const c_char, owner: u32, group: u32, pc: u64) -> i32 {
    status(calls::change_owner(HERE, path, (owner, group), 0, pc))
}

extern "C" fn change_owner_of_link(path: *const c_char, owner: u32, group: u32, pc: u64) -> i32 {
    status(calls::change_owner(HERE, path, (owner, group), NOFOLLOW, pc))
}

extern "C" fn change_owner_of(descriptor: i32, owner: u32, group: u32, pc: u64) -> i32 {
    status(calls::change_owner(descriptor, ITSELF, (owner, group), EMPTY, pc))
}

extern "C" fn change_owner_at(directory: i32, path: *const c_char, owner: u32, group: u32, flags: i32) -> i32 {
    let pc = return_address();
    status(calls::change_owner(directory, path, (owner, group), flags, pc))
}

/// Null, or two times.
type Times<T> = *const [T; 2];

fn of_seconds(times: *const libc::utimbuf, pc: u64) -> Option<[libc::timespec; 2]> {
    buffers::reads(times as usize, size_of::<libc::utimbuf>(), pc);
    // SAFETY: null, or the caller passes both times.
    unsafe { times.as_ref() }
        .map(|times| [times.actime, times.modtime].map(|seconds| libc::timespec { tv_sec: seconds, tv_nsec: 0 }))
}

fn of_microseconds(times: Times<libc::timeval>, pc: u64) -> Option<[libc::timespec; 2]> {
    buffers::reads(times as usize, size_of::<[libc::timeval; 2]>(), pc);
    let spec = |time: libc::timeval| libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1_000 };
    // SAFETY: null, or the caller passes both times.
    unsafe { times.as_ref() }.map(|times| times.map(spec))
}

fn of_nanoseconds(times: Times<libc::timespec>, pc: u64) -> Option<[libc::timespec; 2]> {
    buffers::reads(times as usize, size_of::<[libc::timespec; 2]>(), pc);
    // SAFETY: null, or the caller passes both times.
    unsafe { times.as_ref() }.copied()
}

extern "C" fn change_times(path: *const c_char, times: *const libc::utimbuf, pc: u64) -> i32 {
    status(calls::change_times(HERE, path, of_seconds(times, pc), 0, pc))
}

extern "C" fn change_times_finely(path: *const c_char, times: Times<libc::timeval>, pc: u64) -> i32 {
    status(calls::change_times(HERE, path, of_microseconds(times, pc), 0, pc))
}

extern "C" fn change_times_of_link(path: *const c_char, times: Times<libc::timeval>, pc: u64) -> i32 {
    status(calls::change_times(HERE, path, of_microseconds(times, pc), NOFOLLOW, pc))
}

extern "C" fn change_times_of(descriptor: i32, times: Times<libc::timeval>, pc: u64) -> i32 {
    status(calls::change_times(descriptor, ITSELF, of_microseconds(times, pc), EMPTY, pc))
}

extern "C" fn change_times_from(directory: i32, path: *const c_char, times: Times<libc::timeval>, pc: u64) -> i32 {
    status(calls::change_times(directory, path, of_microseconds(times, pc), 0, pc))
}

extern "C" fn change_times_at(
    directory: i32,
    path: *const c_char,
    times: Times<libc::timespec>,
    flags: i32,
    pc: u64,
) -> i32 {
    status(calls::change_times(directory, path, of_nanoseconds(times, pc), flags, pc))
}

extern "C" fn change_times_of_finely(descriptor: i32, times: Times<libc::timespec>, pc: u64) -> i32 {
    status(calls::change_times(descriptor, ITSELF, of_nanoseconds(times, pc), EMPTY, pc))
}

extern "C" fn truncate_path(path: *const c_char, bytes: i64, pc: u64) -> i32 {
    status(calls::truncate(path, bytes, pc))
}

/// Where an extended attribute is asked for or set.
#[derive(Clone, Copy)]
struct Whose {
    descriptor: i32,
    path: *const c_char,
    flags: i32,
}

impl Whose {
    fn path(path: *const c_char) -> Self {
        Whose { descriptor: HERE, path, flags: 0 }
    }

    fn link(path: *const c_char) -> Self {
        Whose { descriptor: HERE, path, flags: NOFOLLOW }
    }

    fn open(descriptor: i32) -> Self {
        Whose { descriptor, path: ITSELF, flags: EMPTY }
    }

    fn perform(self, how: FileAccess, pc: u64, call: impl FnOnce(i32) -> isize) -> isize {
        as_c(calls::with_attributes(self.descriptor, self.path, self.flags, how, pc, call))
    }

    fn get(self, name: *const c_char, value: *mut u8, room: usize, pc: u64) -> isize {
        touch(value, room);
        // SAFETY: passes on what the caller gave.
        self.perform(FileAccess::Observe, pc, |file| unsafe { syscall!(libc::SYS_fgetxattr, file, name, value, room) })
    }

    fn list(self, into: *mut u8, room: usize, pc: u64) -> isize {
        touch(into, room);
        // SAFETY: passes on what the caller gave.
        self.perform(FileAccess::Observe, pc, |file| unsafe { syscall!(libc::SYS_flistxattr, file, into, room) })
    }

    fn remove(self, name: *const c_char, pc: u64) -> i32 {
        // SAFETY: passes on what the caller gave.
        self.perform(FileAccess::Change, pc, |file| unsafe { syscall!(libc::SYS_fremovexattr, file, name) }) as i32
    }

    fn set(self, name: *const c_char, value: *const u8, bytes: usize, flags: i32, pc: u64) -> i32 {
        // SAFETY: passes on what the caller gave.
        self.perform(FileAccess::Change, pc, |file| unsafe {
            syscall!(libc::SYS_fsetxattr, file, name, value, bytes, flags)
        }) as i32
    }
}

extern "C" fn get_attribute(path: *const c_char, name: *const c_char, value: *mut u8, room: usize, pc: u64) -> isize {
    Whose::path(path).get(name, value, room, pc)
}

extern "C" fn get_attribute_of_link(
    path: *const c_char,
    name: *const c_char,
    value: *mut u8,
    room: usize,
    pc: u64,
) -> isize {
    Whose::link(path).get(name, value, room, pc)
}

extern "C" fn get_attribute_of(descriptor: i32, name: *const c_char, value: *mut u8, room: usize, pc: u64) -> isize {
    Whose::open(descriptor).get(name, value, room, pc)
}

extern "C" fn list_attributes(path: *const c_char, into: *mut u8, room: usize, pc: u64) -> isize {
    Whose::path(path).list(into, room, pc)
}

extern "C" fn list_attributes_of_link(path: *const c_char, into: *mut u8, room: usize, pc: u64) -> isize {
    Whose::link(path).list(into, room, pc)
}

extern "C" fn list_attributes_of(descriptor: i32, into: *mut u8, room: usize, pc: u64) -> isize {
    Whose::open(descriptor).list(into, room, pc)
}

extern "C" fn remove_attribute(path: *const c_char, name: *const c_char, pc: u64) -> i32 {
    Whose::path(path).remove(name, pc)
}

extern "C" fn remove_attribute_of_link(path: *const c_char, name: *const c_char, pc: u64) -> i32 {
    Whose::link(path).remove(name, pc)
}

extern "C" fn remove_attribute_of(descriptor: i32, name: *const c_char, pc: u64) -> i32 {
    Whose::open(descriptor).remove(name, pc)
}

extern "C" fn set_attribute(
    path: *const c_char,
    name: *const c_char,
    value: *const u8,
    bytes: usize,
    flags: i32,
) -> i32 {
    let pc = return_address();
    Whose::path(path).set(name, value, bytes, flags, pc)
}

extern "C" fn set_attribute_of_link(
    path: *const c_char,
    name: *const c_char,
    value: *const u8,
    bytes: usize,
    flags: i32,
) -> i32 {
    let pc = return_address();
    Whose::link(path).set(name, value, bytes, flags, pc)
}

extern "C" fn set_attribute_of(
    descriptor: i32,
    name: *const c_char,
    value: *const u8,
    bytes: usize,
    flags: i32,
) -> i32 {
    let pc = return_address();
    Whose::open(descriptor).set(name, value, bytes, flags, pc)
}

export!(chmod, 2 => change_mode);
export!(lchmod, 2 => change_mode_of_link);
export!(fchmod, 2 => change_mode_of);
export!(fchmodat, 4 => change_mode_at);
export!(chown, 3 => change_owner);
export!(lchown, 3 => change_owner_of_link);
export!(fchown, 3 => change_owner_of);
export!(fchownat, many => change_owner_at);
export!(utime, 2 => change_times);
export!(utimes, 2 => change_times_finely);
export!(lutimes, 2 => change_times_of_link);
export!(futimes, 2 => change_times_of);
export!(futimesat, 3 => change_times_from);
export!(utimensat, 4 => change_times_at);
export!(futimens, 2 => change_times_of_finely);
export!(truncate, 2 => truncate_path);
export!(truncate64, 2 => truncate_path);
export!(getxattr, 4 => get_attribute);
export!(lgetxattr, 4 => get_attribute_of_link);
export!(fgetxattr, 4 => get_attribute_of);
export!(listxattr, 3 => list_attributes);
export!(llistxattr, 3 => list_attributes_of_link);
export!(flistxattr, 3 => list_attributes_of);
export!(removexattr, 2 => remove_attribute);
export!(lremovexattr, 2 => remove_attribute_of_link);
export!(fremovexattr, 2 => remove_attribute_of);
export!(setxattr, many => set_attribute);
export!(lsetxattr, many => set_attribute_of_link);
export!(fsetxattr, many => set_attribute_of);
