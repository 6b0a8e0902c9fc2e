//! Making, moving and removing names; paths of objects.

use super::attributes::{may_change_names, may_remove};
use super::walk::{self, DirectoryPlace, FileObject, Follow, FoundPath, Last, walk};
use super::{Errno, NAME, NodeKind, NodeNumber, OverlayNode, PATH, descriptor_path, identity_of, overlay, status};
use crate::interpose::io::regular_files;
use crate::restore::undo;
use crate::state::Global;
use crate::syscall::syscall;

const RENAME_NOREPLACE: u32 = 1;
const RENAME_EXCHANGE: u32 = 2;

/// The mode that an object made with this one gets.
pub fn masked(mode: u32) -> u32 {
    // SAFETY: reads the mask by setting it twice.
    let mask = unsafe {
        let mask = syscall!(libc::SYS_umask, 0o77) as u32;
        syscall!(libc::SYS_umask, mask);
        mask
    };
    mode & 0o7777 & !mask
}

/// The place for a new name.
fn vacant(directory: i32, path: &[u8], may_end_with_slash: bool) -> Result<FoundPath, Errno> {
    let found = walk(directory, path, Follow::Never)?;
    if found.last != Last::Name || found.object.is_some() {
        return Err(libc::EEXIST);
    }
    if found.slash && !may_end_with_slash {
        return Err(libc::ENOENT);
    }
    is_alive(&found.directory)?;
    may_change_names(&found)?;
    Ok(found)
}

/// Nothing can be made in a directory that was removed.
pub fn is_alive(directory: &DirectoryPlace) -> Result<(), Errno> {
    if directory.node != 0 && overlay().node(directory.node).removed { Err(libc::ENOENT) } else { Ok(()) }
}

/// Lets the name that was found lead to a new node.
pub fn enter(found: &mut FoundPath, node: OverlayNode) -> Result<NodeNumber, Errno> {
    let directory = found.directory_node()?;
    let overlay = overlay();
    let number = overlay.add(OverlayNode { content: regular_files::content(found.name()), ..node })?;
    overlay.set(directory, found.name(), number)?;
    overlay.touch_directory(directory);
    Ok(number)
}

/// Makes a directory.
pub fn make_directory(directory: i32, path: &[u8], mode: u32) -> Result<isize, Errno> {
    let mut found = vacant(directory, path, true)?;
    let parent = found.directory_node()?;
    let mut about = overlay().new_status(parent, masked(mode) & 0o1777 | libc::S_IFDIR);
    (about.st_nlink, about.st_size) = (2, 4096);
    let list = regular_files::list(found.name());
    enter(&mut found, OverlayNode { kind: NodeKind::Directory, about, parent, list, ..OverlayNode::UNUSED })?;
    overlay().count_links(parent, 1);
    Ok(0)
}

/// Makes a symbolic link.
pub fn make_link(target: &[u8], directory: i32, path: &[u8]) -> Result<isize, Errno> {
    match target.len() {
        0 => return Err(libc::ENOENT),
        PATH.. => return Err(libc::ENAMETOOLONG),
        _ => {}
    }
    let mut found = vacant(directory, path, false)?;
    let parent = found.directory_node()?;
    let mut about = overlay().new_status(parent, libc::S_IFLNK | 0o777);
    about.st_size = target.len() as i64;
    let target = overlay().new_target(target)?;
    enter(&mut found, OverlayNode { kind: NodeKind::Link, about, target, ..OverlayNode::UNUSED })?;
    Ok(0)
}

/// Makes a named pipe or an empty file.
pub fn make_special(directory: i32, path: &[u8], mode: u32) -> Result<isize, Errno> {
    let mut found = vacant(directory, path, false)?;
    let parent = found.directory_node()?;
    match mode & libc::S_IFMT {
        0 | libc::S_IFREG => super::opening::make_file(&mut found, masked(mode)).map(|_| 0),
        kind @ (libc::S_IFIFO | libc::S_IFSOCK) => {
            let about = overlay().new_status(parent, masked(mode) | kind);
            enter(&mut found, OverlayNode { kind: NodeKind::Special, about, ..OverlayNode::UNUSED })?;
            Ok(0)
        }
        libc::S_IFDIR => Err(libc::EPERM),
        _ if super::attributes::user() != 0 => Err(libc::EPERM),
        _ => Err(super::is_full()),
    }
}

/// Gives an object another name.
pub fn link(object: &mut FileObject, directory: i32, path: &[u8]) -> Result<isize, Errno> {
    let mut found = vacant(directory, path, false)?;
    let parent = found.directory_node()?;
    if overlay().node(parent).about.st_dev != object.about.st_dev {
        return Err(libc::EXDEV);
    }
    if object.is(libc::S_IFDIR) {
        return Err(libc::EPERM);
    }
    let node = object.own_node()?;
    overlay().set(parent, found.name(), node)?;
    overlay().count_links(node, 1);
    overlay().touch_directory(parent);
    Ok(0)
}

/// Removes a name that is not a directory's.
pub fn remove_file(directory: i32, path: &[u8]) -> Result<isize, Errno> {
    let mut found = walk(directory, path, Follow::Never)?;
    if found.last != Last::Name {
        return Err(libc::EISDIR);
    }
    let is_directory = found.existing()?.is(libc::S_IFDIR);
    if found.slash {
        return Err(if is_directory { libc::EISDIR } else { libc::ENOTDIR });
    }
    may_remove(&found)?;
    if is_directory {
        return Err(libc::EISDIR);
    }
    take_away(&mut found)?;
    Ok(0)
}

/// Takes the name away that was found.
fn take_away(found: &mut FoundPath) -> Result<(), Errno> {
    let parent = found.directory_node()?;
    let node = found.existing()?.own_node()?;
    overlay().unset(parent, found.name())?;
    overlay().touch_directory(parent);
    lose_name(parent, node);
    Ok(())
}

/// One name fewer leads to the object.
fn lose_name(parent: NodeNumber, number: NodeNumber) {
    overlay().count_links(number, -1);
    if overlay().node(number).kind == NodeKind::Directory {
        overlay().node(number).removed = true;
        overlay().count_links(parent, -1);
    }
}

/// Removes a directory.
pub fn remove_directory(directory: i32, path: &[u8]) -> Result<isize, Errno> {
    let mut found = walk(directory, path, Follow::Never)?;
    match found.last {
        Last::Dot if found.name().is_empty() => return Err(libc::EBUSY),
        Last::Dot => return Err(libc::EINVAL),
        Last::DotDot => return Err(libc::ENOTEMPTY),
        Last::Name => {}
    }
    let is_directory = found.existing()?.is(libc::S_IFDIR);
    may_remove(&found)?;
    if !is_directory {
        return Err(libc::ENOTDIR);
    }
    if !super::listing::is_empty(found.existing()?)? {
        return Err(libc::ENOTEMPTY);
    }
    take_away(&mut found)?;
    Ok(0)
}

/// Whether the directory lies in the other one, or is it.
fn is_within(inner: &DirectoryPlace, outer: &FileObject) -> Result<bool, Errno> {
    let wanted = identity_of(&outer.about);
    let mut here = walk::as_object(inner)?;
    loop {
        if identity_of(&here.about) == wanted {
            return Ok(true);
        }
        let place = match here.node {
            0 => walk::start_at(&here)?,
            node => walk::of_node(node),
        };
        let above = walk::as_object(&walk::above(&place)?)?;
        if identity_of(&above.about) == identity_of(&here.about) {
            return Ok(false);
        }
        here = above;
    }
}

/// Moves a name.
pub fn rename(old: (i32, &[u8]), new: (i32, &[u8]), flags: u32) -> Result<isize, Errno> {
    if flags & !(RENAME_NOREPLACE | RENAME_EXCHANGE) != 0 || flags == RENAME_NOREPLACE | RENAME_EXCHANGE {
        return Err(libc::EINVAL);
    }
    let mut from = walk(old.0, old.1, Follow::Never)?;
    let mut to = walk(new.0, new.1, Follow::Never)?;
    let device = |place: &DirectoryPlace| walk::as_object(place).map(|object| object.about.st_dev);
    if device(&from.directory)? != device(&to.directory)? {
        return Err(libc::EXDEV);
    }
    if from.last != Last::Name {
        return Err(libc::EBUSY);
    }
    if to.last != Last::Name {
        return Err(if flags & RENAME_NOREPLACE == 0 { libc::EBUSY } else { libc::EEXIST });
    }
    check_names(&mut from, &mut to, flags)?;
    let same = to.object.as_ref().is_some_and(|object| {
        from.object.as_ref().is_some_and(|other| identity_of(&object.about) == identity_of(&other.about))
    });
    if same {
        return Ok(0);
    }
    check_kinds(&mut from, &mut to, flags)?;
    if flags & RENAME_EXCHANGE != 0 { exchange(&mut from, &mut to) } else { move_name(&mut from, &mut to) }
}

/// Checks whether the two names can be those of a move.
fn check_names(from: &mut FoundPath, to: &mut FoundPath, flags: u32) -> Result<(), Errno> {
    let is_directory = from.existing()?.is(libc::S_IFDIR);
    if flags & RENAME_NOREPLACE != 0 && to.object.is_some() {
        return Err(libc::EEXIST);
    }
    if flags & RENAME_EXCHANGE != 0 {
        let other = to.existing()?.is(libc::S_IFDIR);
        if to.slash && !other {
            return Err(libc::ENOTDIR);
        }
    }
    if !is_directory && (from.slash || (to.slash && flags & RENAME_EXCHANGE == 0)) {
        return Err(libc::ENOTDIR);
    }
    if is_directory && is_within(&to.directory, from.existing()?)? {
        return Err(libc::EINVAL);
    }
    if let Some(object) = &to.object
        && object.is(libc::S_IFDIR)
        && is_within(&from.directory, object)?
    {
        return Err(if flags & RENAME_EXCHANGE != 0 { libc::EINVAL } else { libc::ENOTEMPTY });
    }
    Ok(())
}

/// Checks permissions, and whether one can replace the other.
fn check_kinds(from: &mut FoundPath, to: &mut FoundPath, flags: u32) -> Result<(), Errno> {
    may_remove(from)?;
    is_alive(&to.directory)?;
    may_remove(to)?;
    let is_directory = from.existing()?.is(libc::S_IFDIR);
    let Some(object) = &to.object else { return Ok(()) };
    if flags & RENAME_EXCHANGE != 0 {
        return Ok(());
    }
    match (is_directory, object.is(libc::S_IFDIR)) {
        (true, false) => Err(libc::ENOTDIR),
        (false, true) => Err(libc::EISDIR),
        (true, true) if !super::listing::is_empty(object)? => Err(libc::ENOTEMPTY),
        _ => Ok(()),
    }
}

/// A directory lies elsewhere from now on.
fn settle(node: NodeNumber, from: NodeNumber, to: NodeNumber) {
    if overlay().node(node).kind == NodeKind::Directory {
        overlay().node(node).parent = to;
        overlay().count_links(from, -1);
        overlay().count_links(to, 1);
    }
}

fn move_name(from: &mut FoundPath, to: &mut FoundPath) -> Result<isize, Errno> {
    let (old, new) = (from.directory_node()?, directory_node_of(to, from)?);
    let node = from.existing()?.own_node()?;
    if let Some(replaced) = &mut to.object {
        let replaced = replaced.own_node()?;
        lose_name(new, replaced);
    }
    overlay().set(new, to.name(), node)?;
    overlay().unset(old, from.name())?;
    overlay().touch_directory(old);
    overlay().touch_directory(new);
    overlay().count_links(node, 0);
    settle(node, old, new);
    Ok(0)
}

fn exchange(from: &mut FoundPath, to: &mut FoundPath) -> Result<isize, Errno> {
    let (old, new) = (from.directory_node()?, directory_node_of(to, from)?);
    let (first, second) = (from.existing()?.own_node()?, to.existing()?.own_node()?);
    overlay().set(new, to.name(), first)?;
    overlay().set(old, from.name(), second)?;
    overlay().touch_directory(old);
    overlay().touch_directory(new);
    overlay().count_links(first, 0);
    overlay().count_links(second, 0);
    settle(first, old, new);
    settle(second, new, old);
    Ok(0)
}

/// The node of a directory that may be the same real one as that of another name, which has got its
/// node in the meantime.
fn directory_node_of(found: &mut FoundPath, other: &FoundPath) -> Result<NodeNumber, Errno> {
    if found.directory.node == 0 && other.directory.node != 0 {
        found.directory.node = overlay().find(identity_of(&status(found.directory.descriptor)?));
    }
    found.directory_node()
}

static TEXT: Global<[u8; PATH]> = Global::new([0; PATH]);

/// The path that the kernel knows for a descriptor.
fn real_path(descriptor: i32) -> Option<&'static mut [u8]> {
    // SAFETY: rule 4 of the crate; callers use the text before they ask again.
    let text = unsafe { &mut *TEXT.get() };
    let path = descriptor_path(descriptor);
    // SAFETY: reads a link into the buffer.
    let len = unsafe { syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), text.as_mut_ptr(), text.len()) };
    usize::try_from(len).ok().filter(|&len| len > 0).map(|len| &mut text[..len])
}

/// A path that is written from its end.
pub struct Backwards<'a> {
    text: &'a mut [u8],
    start: usize,
}

impl Backwards<'_> {
    fn put(&mut self, part: &[u8]) -> Result<(), Errno> {
        self.start = self.start.checked_sub(part.len()).ok_or(libc::ENAMETOOLONG)?;
        self.text[self.start..self.start + part.len()].copy_from_slice(part);
        Ok(())
    }
}

/// Writes the path of a directory to the end of the buffer; returns where it starts.
pub fn path_of(directory: &DirectoryPlace, last: &[u8], into: &mut [u8]) -> Result<usize, Errno> {
    let start = into.len();
    let mut path = Backwards { text: into, start };
    if !last.is_empty() {
        path.put(last)?;
        path.put(b"/")?;
    }
    let mut here = DirectoryPlace::copy_of(directory)?;
    loop {
        if here.node != 0 {
            let node = *overlay().node(here.node);
            if node.removed {
                return Err(libc::ENOENT);
            }
            if node.parent != 0 {
                let mut name = [0u8; NAME];
                let entry = overlay().changed(node.parent).find(|entry| entry.node == here.node);
                let len = entry.map_or(0, |entry| {
                    name[..entry.name().len()].copy_from_slice(entry.name());
                    entry.name().len()
                });
                path.put(&name[..len])?;
                path.put(b"/")?;
                here = walk::of_node(node.parent);
                continue;
            }
        }
        // A real directory where it always was, in one that may have been moved.
        let above = walk::above(&here)?;
        let object = walk::as_object(&above)?;
        let is_root = identity_of(&object.about) == identity_of(&walk::as_object(&here)?.about);
        if is_root {
            break;
        }
        let text = real_path(here.descriptor).ok_or(libc::ENOENT)?;
        let slash = text.iter().rposition(|&byte| byte == b'/').ok_or(libc::ENOENT)?;
        let mut name = [0u8; NAME];
        let len = (text.len() - slash - 1).min(NAME);
        name[..len].copy_from_slice(&text[slash + 1..slash + 1 + len]);
        path.put(&name[..len])?;
        path.put(b"/")?;
        here = above;
    }
    if path.start == path.text.len() {
        path.put(b"/")?;
    }
    Ok(path.start)
}

/// Identity of the list of a real directory. It is the same on every machine, as far as names are:
/// the directory in which the run begins counts as one without a name.
pub fn list_of(descriptor: i32) -> u16 {
    let is_root = status(descriptor).ok().is_some_and(|about| undo::is_first_directory(identity_of(&about)));
    if is_root {
        return regular_files::list(b"");
    }
    regular_files::list(last_part(descriptor))
}

/// Identity of the content of a real file.
pub fn content_of(descriptor: i32) -> u32 {
    regular_files::content(last_part(descriptor))
}

/// The last part of the path that the kernel knows for a descriptor.
fn last_part(descriptor: i32) -> &'static [u8] {
    let Some(text) = real_path(descriptor) else { return b"?" };
    let start = text.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    &text[start..]
}
