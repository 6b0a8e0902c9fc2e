//! Opening files of the overlay.

use super::attributes::{copy_up, may_access, may_change_names, put_in_memory};
use super::walk::{FileObject, Follow, FoundPath, Last, walk};
use super::{Errno, NodeKind, NodeNumber, OverlayNode, close, memory_file, names, overlay, reopen};
use crate::syscall::syscall;

/// A descriptor that was opened, and the node that it refers to.
pub struct Opened {
    /// The descriptor.
    pub descriptor: i32,
    /// 0 if it refers to a real object.
    pub node: NodeNumber,
}

fn opened(result: isize, node: NodeNumber) -> Result<Opened, Errno> {
    if result < 0 { Err(-result as Errno) } else { Ok(Opened { descriptor: result as i32, node }) }
}

/// Whether a file that is opened so may be changed.
pub fn writes(flags: i32) -> bool {
    let accesses = flags & libc::O_PATH == 0;
    accesses && (flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0)
        || flags & libc::O_TMPFILE == libc::O_TMPFILE
}

/// Opens a path. The descriptor may have a higher number than the lowest that is free.
pub fn open(directory: i32, path: &[u8], flags: i32, mode: u32) -> Result<Opened, Errno> {
    if flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return open_nameless(directory, path, flags, mode);
    }
    let creates = flags & libc::O_CREAT != 0 && flags & libc::O_PATH == 0;
    let exclusive = creates && flags & libc::O_EXCL != 0;
    let slash = path.last() == Some(&b'/');
    let follow = if exclusive || (creates && slash) {
        Follow::Never
    } else if flags & libc::O_NOFOLLOW != 0 {
        Follow::BeforeSlash
    } else {
        Follow::Always
    };
    let mut found = walk(directory, path, follow)?;
    if creates && (found.last != Last::Name || slash) {
        return Err(if found.last == Last::Name || !exclusive { libc::EISDIR } else { libc::EEXIST });
    }
    match &mut found.object {
        Some(_) if exclusive => Err(libc::EEXIST),
        Some(object) => open_existing(object, flags),
        None if !creates => Err(libc::ENOENT),
        None => create(&mut found, flags, mode),
    }
}

fn create(found: &mut FoundPath, flags: i32, mode: u32) -> Result<Opened, Errno> {
    if flags & libc::O_DIRECTORY != 0 {
        return Err(libc::EINVAL);
    }
    names::is_alive(&found.directory)?;
    may_change_names(found)?;
    let node = make_file(found, 0o600)?;
    let held = overlay().node(node).held;
    let descriptor = reopen(held, flags & !libc::O_TRUNC);
    finish_mode(node, mode);
    opened(descriptor, node)
}

/// Gives a new file its mode, which may not allow opening it as it was just opened.
fn finish_mode(node: NodeNumber, mode: u32) {
    // SAFETY: changes the mode of a memory file.
    unsafe { syscall!(libc::SYS_fchmod, overlay().node(node).held, names::masked(mode)) };
}

/// Makes an empty file under the name that was found.
pub fn make_file(found: &mut FoundPath, mode: u32) -> Result<NodeNumber, Errno> {
    let parent = found.directory_node()?;
    let node = new_file(parent, mode)?;
    names::enter(found, node.0).and_then(|number| put_in_memory(number, node.1).map(|()| number))
}

fn new_file(parent: NodeNumber, mode: u32) -> Result<(OverlayNode, i32), Errno> {
    let about = overlay().new_status(parent, mode & 0o7777 | libc::S_IFREG);
    let file = memory_file()?;
    // SAFETY: changes owner and mode of a memory file.
    unsafe {
        syscall!(libc::SYS_fchown, file, about.st_uid, about.st_gid);
        syscall!(libc::SYS_fchmod, file, mode & 0o7777);
    }
    Ok((OverlayNode { kind: NodeKind::File, about, held: file, ..OverlayNode::UNUSED }, file))
}

fn open_nameless(directory: i32, path: &[u8], flags: i32, mode: u32) -> Result<Opened, Errno> {
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        return Err(libc::EINVAL);
    }
    let mut found = walk(directory, path, Follow::Always)?;
    let object = found.existing()?;
    if !object.is(libc::S_IFDIR) {
        return Err(libc::ENOTDIR);
    }
    may_access(object, (libc::W_OK | libc::X_OK) as u32)?;
    let parent = object.own_node()?;
    let (mut node, file) = new_file(parent, 0o600)?;
    node.about.st_nlink = 0;
    let number = overlay().add(node)?;
    put_in_memory(number, file)?;
    let descriptor = reopen(file, flags & !libc::O_TMPFILE);
    finish_mode(number, mode);
    opened(descriptor, number)
}

fn open_existing(object: &mut FileObject, flags: i32) -> Result<Opened, Errno> {
    let is_directory = object.is(libc::S_IFDIR);
    let only_names = flags & libc::O_PATH != 0;
    if object.is(libc::S_IFLNK) && !only_names {
        return Err(if flags & libc::O_DIRECTORY != 0 { libc::ENOTDIR } else { libc::ELOOP });
    }
    if flags & libc::O_DIRECTORY != 0 && !is_directory {
        return Err(libc::ENOTDIR);
    }
    if is_directory && !only_names && (writes(flags)) {
        return Err(libc::EISDIR);
    }
    if !only_names {
        may_access(object, wanted(flags))?;
    }
    if is_directory {
        return open_directory(object, flags);
    }
    match super::kind_of(&object.about) {
        NodeKind::File if writes(flags) => {
            let node = copy_up(object)?;
            opened(reopen(overlay().node(node).held, flags), node)
        }
        NodeKind::Special if object.node != 0 && !only_names => super::pipes::open(object.node, flags),
        _ => {
            let held = if object.node == 0 { object.descriptor } else { overlay().node(object.node).held };
            opened(reopen(if held < 0 { object.descriptor } else { held }, flags), object.node)
        }
    }
}

/// The accesses that a descriptor allows.
fn wanted(flags: i32) -> u32 {
    let truncates = if flags & libc::O_TRUNC != 0 { libc::W_OK } else { 0 };
    let access = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => libc::R_OK,
        libc::O_WRONLY => libc::W_OK,
        _ => libc::R_OK | libc::W_OK,
    };
    (access | truncates) as u32
}

/// Opens a directory. One that exists only in the overlay gets a descriptor of the root directory;
/// calls on the descriptor go by its node.
fn open_directory(object: &FileObject, flags: i32) -> Result<Opened, Errno> {
    let real = match object.node {
        0 => object.descriptor,
        node => overlay().node(node).held,
    };
    let (directory, path) = if real >= 0 { (real, c".") } else { (libc::AT_FDCWD, c"/") };
    let flags = flags & !(libc::O_CREAT | libc::O_NOFOLLOW);
    // SAFETY: a valid path.
    opened(unsafe { syscall!(libc::SYS_openat, directory, path.as_ptr(), flags, 0) }, object.node)
}

/// Moves a descriptor to the lowest number that is free, as the kernel would have chosen it.
pub fn lowest(descriptor: i32, flags: i32) -> i32 {
    let command = if flags & libc::O_CLOEXEC != 0 { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    // SAFETY: copies a descriptor that the program does not know yet.
    let copy = unsafe { syscall!(libc::SYS_fcntl, descriptor, command, 0) } as i32;
    match copy {
        ..0 => descriptor,
        _ if copy < descriptor => {
            close(descriptor);
            copy
        }
        _ => {
            close(copy);
            descriptor
        }
    }
}
