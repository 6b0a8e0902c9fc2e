//! Status, permissions and attributes of objects of the overlay.

use super::walk::{self, FileObject, Follow, FoundPath};
use super::{Errno, NodeKind, NodeNumber, close, hold, identity_of, memory_file, overlay, present, reopen, status};
use crate::interpose::io::regular_files;
use crate::syscall::syscall;

/// The status of a node.
pub fn status_of(number: NodeNumber) -> Result<libc::stat, Errno> {
    let node = *overlay().node(number);
    if !node.is_in_memory() {
        let mut about = node.about;
        if node.kind == NodeKind::Directory {
            about.st_nlink = if node.removed { 0 } else { about.st_nlink };
        }
        return Ok(about);
    }
    let mut about = status(node.held)?;
    (about.st_dev, about.st_ino, about.st_nlink) = (node.about.st_dev, node.about.st_ino, node.about.st_nlink);
    let later = (node.about.st_ctime, node.about.st_ctime_nsec);
    if (about.st_ctime, about.st_ctime_nsec) < later {
        (about.st_ctime, about.st_ctime_nsec) = later;
    }
    Ok(about)
}

fn result(value: isize) -> Result<isize, Errno> {
    if value < 0 { Err(-value as Errno) } else { Ok(value) }
}

/// The effective user.
pub fn user() -> u32 {
    // SAFETY: no operands.
    unsafe { syscall!(libc::SYS_geteuid) as u32 }
}

fn is_in_group(group: u32) -> bool {
    const MOST: usize = 64;
    let mut groups = [0u32; MOST];
    // SAFETY: asks for the groups, into a local with so much room.
    let (own, count) =
        unsafe { (syscall!(libc::SYS_getegid) as u32, syscall!(libc::SYS_getgroups, MOST, groups.as_mut_ptr())) };
    own == group || groups[..count.max(0) as usize].contains(&group)
}

/// Whether the program may access an object with this status (`R_OK`, `W_OK`, `X_OK`).
pub fn may(about: &libc::stat, access: u32) -> Result<(), Errno> {
    let mode = about.st_mode;
    let is_directory = mode & libc::S_IFMT == libc::S_IFDIR;
    if user() == 0 {
        let can = is_directory || access & libc::X_OK as u32 == 0 || mode & 0o111 != 0;
        return if can { Ok(()) } else { Err(libc::EACCES) };
    }
    let bits = match () {
        () if user() == about.st_uid => mode >> 6,
        () if is_in_group(about.st_gid) => mode >> 3,
        () => mode,
    };
    if bits & access == access { Ok(()) } else { Err(libc::EACCES) }
}

/// Whether the program may make or remove names in the directory.
pub fn may_change_names(found: &FoundPath) -> Result<(), Errno> {
    let access = (libc::W_OK | libc::X_OK) as u32;
    match found.directory.node {
        0 => {
            let path = super::descriptor_path(found.directory.descriptor);
            // SAFETY: a valid path.
            result(unsafe { syscall!(libc::SYS_faccessat2, libc::AT_FDCWD, path.as_ptr(), access, libc::AT_EACCESS) })
                .map(|_| ())
        }
        node => may(&overlay().node(node).about, access),
    }
}

/// Whether the program may remove or replace this name: a sticky directory protects the files of
/// other users.
pub fn may_remove(found: &FoundPath) -> Result<(), Errno> {
    may_change_names(found)?;
    let Some(object) = &found.object else { return Ok(()) };
    let directory = match found.directory.node {
        0 => status(found.directory.descriptor)?,
        node => overlay().node(node).about,
    };
    let own = user();
    let is_protected = directory.st_mode & libc::S_ISVTX != 0 && own != 0;
    if is_protected && own != object.about.st_uid && own != directory.st_uid { Err(libc::EPERM) } else { Ok(()) }
}

/// Whether the program may access the object.
pub fn may_access(object: &FileObject, access: u32) -> Result<(), Errno> {
    if object.node != 0 {
        return may(&object.about, access);
    }
    let path = super::descriptor_path(object.descriptor);
    // SAFETY: a valid path.
    let answer = unsafe { syscall!(libc::SYS_faccessat2, libc::AT_FDCWD, path.as_ptr(), access, libc::AT_EACCESS) };
    match answer as Errno {
        // The kernel follows a link, which may lead to nothing.
        0 => Ok(()),
        _ if object.is(libc::S_IFLNK) => Ok(()),
        code => Err(-code),
    }
}

/// Moves the content of a regular file to a memory file, where it can be changed.
pub fn copy_up(object: &mut FileObject) -> Result<NodeNumber, Errno> {
    let number = object.own_node()?;
    let node = *overlay().node(number);
    if node.is_in_memory() || node.kind != NodeKind::File {
        return Ok(number);
    }
    let source = if node.held >= 0 { node.held } else { object.descriptor };
    let original = result(reopen(source, libc::O_RDONLY | libc::O_CLOEXEC))? as i32;
    let copy = memory_file().inspect_err(|_| close(original))?;
    let times = [
        libc::timespec { tv_sec: node.about.st_atime, tv_nsec: node.about.st_atime_nsec },
        libc::timespec { tv_sec: node.about.st_mtime, tv_nsec: node.about.st_mtime_nsec },
    ];
    // SAFETY: copies between two descriptors of the runtime, then closes one. The rest concerns the
    // copy. An empty file system path says that the descriptor is meant.
    unsafe {
        while syscall!(libc::SYS_sendfile, copy, original, 0usize, 1usize << 30) > 0 {}
        syscall!(libc::SYS_close, original);
        syscall!(libc::SYS_fchown, copy, node.about.st_uid, node.about.st_gid);
        syscall!(libc::SYS_fchmod, copy, node.about.st_mode & 0o7777);
        syscall!(libc::SYS_utimensat, copy, 0usize, times.as_ptr(), 0usize);
    }
    put_in_memory(number, copy)?;
    regular_files::moves_to_copy(number, node.real, copy);
    if node.held >= 0 {
        close(node.held);
    }
    Ok(number)
}

/// The content of the node is in this memory file from now on.
pub fn put_in_memory(number: NodeNumber, file: i32) -> Result<(), Errno> {
    let identity = identity_of(&status(file)?);
    let node = overlay().node(number);
    (node.held, node.memory) = (file, identity);
    overlay().changes += 1;
    Ok(())
}

/// What a call on a path, or on a descriptor if the path is empty, is about.
pub fn named(directory: i32, path: &[u8], flags: i32) -> Result<FileObject, Errno> {
    if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        return match directory {
            libc::AT_FDCWD => walk::as_object(&walk::start(directory)?),
            _ => walk::of_descriptor(directory),
        };
    }
    let follow = if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { Follow::Always } else { Follow::BeforeSlash };
    walk::walk(directory, path, follow)?.object.ok_or(libc::ENOENT)
}

fn is_owner(object: &FileObject) -> bool {
    let own = user();
    own == 0 || own == object.about.st_uid
}

/// Changes an attribute: of the memory file by a call on its descriptor, otherwise in the status.
fn change(
    object: &mut FileObject,
    on_file: impl Fn(i32) -> isize,
    on_status: impl Fn(&mut libc::stat),
) -> Result<isize, Errno> {
    let number = copy_up(object)?;
    let node = overlay().node(number);
    if node.is_in_memory() {
        let held = node.held;
        overlay().changes += 1;
        return result(on_file(held));
    }
    let (seconds, nanoseconds) = present();
    on_status(&mut node.about);
    (node.about.st_ctime, node.about.st_ctime_nsec) = (seconds, nanoseconds);
    overlay().changes += 1;
    Ok(0)
}

/// Changes the mode.
pub fn change_mode(object: &mut FileObject, mode: u32) -> Result<isize, Errno> {
    if !is_owner(object) {
        return Err(libc::EPERM);
    }
    if object.is(libc::S_IFLNK) {
        return Err(libc::EOPNOTSUPP);
    }
    change(
        object,
        // SAFETY: changes the mode of a memory file.
        |file| unsafe { syscall!(libc::SYS_fchmod, file, mode & 0o7777) },
        |about| about.st_mode = about.st_mode & libc::S_IFMT | mode & 0o7777,
    )
}

/// Changes owner and group; `u32::MAX` leaves one as it is.
pub fn change_owner(object: &mut FileObject, owner: u32, group: u32) -> Result<isize, Errno> {
    let gives_away = owner != u32::MAX && owner != object.about.st_uid;
    let joins = group != u32::MAX && group != object.about.st_gid && !is_in_group(group);
    if user() != 0 && (gives_away || joins || !is_owner(object)) {
        return Err(libc::EPERM);
    }
    change(
        object,
        // SAFETY: changes the owner of a memory file.
        |file| unsafe { syscall!(libc::SYS_fchown, file, owner, group) },
        |about| {
            about.st_uid = if owner == u32::MAX { about.st_uid } else { owner };
            about.st_gid = if group == u32::MAX { about.st_gid } else { group };
        },
    )
}

/// Changes the times, to the present if there are none.
pub fn change_times(object: &mut FileObject, times: Option<[libc::timespec; 2]>) -> Result<isize, Errno> {
    let is_now = times.is_none_or(|times| times.iter().all(|time| time.tv_nsec == libc::UTIME_NOW));
    let may_stamp = is_now && may_access(object, libc::W_OK as u32).is_ok();
    if !may_stamp && !is_owner(object) {
        return Err(if is_now { libc::EACCES } else { libc::EPERM });
    }
    let valid = |time: &libc::timespec| matches!(time.tv_nsec, libc::UTIME_NOW | libc::UTIME_OMIT | 0..=999_999_999);
    if !times.as_ref().is_none_or(|times| times.iter().all(valid)) {
        return Err(libc::EINVAL);
    }
    let pointer = times.as_ref().map_or(core::ptr::null(), |times| times.as_ptr());
    change(
        object,
        // SAFETY: changes the times of a memory file; no path says that the descriptor is meant.
        |file| unsafe { syscall!(libc::SYS_utimensat, file, 0usize, pointer, 0usize) },
        |about| {
            let (seconds, nanoseconds) = present();
            let at = |time: libc::timespec, old: (i64, i64)| match time.tv_nsec {
                libc::UTIME_NOW => (seconds, nanoseconds),
                libc::UTIME_OMIT => old,
                _ => (time.tv_sec, time.tv_nsec),
            };
            let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
            let [access, change] = times.unwrap_or([now, now]);
            (about.st_atime, about.st_atime_nsec) = at(access, (about.st_atime, about.st_atime_nsec));
            (about.st_mtime, about.st_mtime_nsec) = at(change, (about.st_mtime, about.st_mtime_nsec));
        },
    )
}

/// Sets the size of a file.
pub fn set_size(object: &mut FileObject, bytes: i64) -> Result<isize, Errno> {
    match file_kind(object) {
        NodeKind::Directory => return Err(libc::EISDIR),
        NodeKind::File => {}
        _ => return Err(libc::EINVAL),
    }
    may_access(object, libc::W_OK as u32)?;
    if bytes < 0 {
        return Err(libc::EINVAL);
    }
    let number = copy_up(object)?;
    overlay().changes += 1;
    // SAFETY: changes the size of a memory file.
    result(unsafe { syscall!(libc::SYS_ftruncate, overlay().node(number).held, bytes) })
}

fn file_kind(object: &FileObject) -> NodeKind {
    super::kind_of(&object.about)
}

/// A descriptor by which the kernel can be asked about the file system that the object is on. The
/// caller closes it.
pub fn system_descriptor(object: &FileObject) -> Result<i32, Errno> {
    let mut place = match object.node {
        0 => return hold(object.descriptor),
        node => walk::of_node(node),
    };
    while place.descriptor < 0 || (place.node != 0 && overlay().node(place.node).is_in_memory()) {
        let node = overlay().node(place.node);
        place = if node.parent != 0 { walk::of_node(node.parent) } else { walk::start(libc::AT_FDCWD)? };
        if place.node == 0 {
            break;
        }
    }
    hold(place.descriptor)
}
