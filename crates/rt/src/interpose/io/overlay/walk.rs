//! The walk along a path, step by step, through real directories and those of the overlay.

use super::{Errno, NAME, NodeNumber, PATH, file_type, identity_of, overlay, status};
use crate::interpose::io::regular_files;
use crate::state::Global;
use crate::syscall::syscall;

/// Symbolic links on one path, at most, as in the kernel.
const MOST_LINKS: u32 = 40;
const PROC_SUPER_MAGIC: i64 = 0x9fa0;

/// Whether the last part of a path is followed if it is a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Yes.
    Always,
    /// Only if a slash stands behind it.
    BeforeSlash,
    /// No: the call makes, moves or removes the name itself.
    Never,
}

/// A directory on the way.
pub struct DirectoryPlace {
    /// Its node; 0 if it has none.
    pub node: NodeNumber,
    /// The real directory; -1 if there is none.
    pub descriptor: i32,
    /// Whether the descriptor is closed with it.
    owned: bool,
}

impl Drop for DirectoryPlace {
    fn drop(&mut self) {
        if self.owned {
            super::close(self.descriptor);
        }
    }
}

/// What a name leads to.
pub struct FileObject {
    /// Its node; 0 if it has none.
    pub node: NodeNumber,
    /// The real object, opened without access; -1 if it was not met.
    pub descriptor: i32,
    /// Its status.
    pub about: libc::stat,
}

impl Drop for FileObject {
    fn drop(&mut self) {
        if self.descriptor >= 0 {
            super::close(self.descriptor);
        }
    }
}

impl FileObject {
    /// An object of the overlay.
    pub fn of_node(node: NodeNumber) -> Result<Self, Errno> {
        Ok(FileObject { node, descriptor: -1, about: super::attributes::status_of(node)? })
    }

    /// A real object, unless it has a node.
    fn of_descriptor(descriptor: i32) -> Result<Self, Errno> {
        let mut object = FileObject { node: 0, descriptor, about: status(descriptor)? };
        object.node = overlay().find(identity_of(&object.about));
        if object.node != 0 {
            object.about = super::attributes::status_of(object.node)?;
        }
        Ok(object)
    }

    /// Whether it is of this type.
    pub fn is(&self, kind: u32) -> bool {
        file_type(&self.about) == kind
    }

    /// Its node, which is made if there is none.
    pub fn own_node(&mut self) -> Result<NodeNumber, Errno> {
        if self.node == 0 {
            self.node = overlay().add_real(self.descriptor, &self.about)?;
        }
        Ok(self.node)
    }
}

/// What the last part of a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A name.
    Name,
    /// `.`, or the root.
    Dot,
    /// `..`
    DotDot,
}

/// Where a path leads.
pub struct FoundPath {
    /// The directory of its last part.
    pub directory: DirectoryPlace,
    name: [u8; NAME],
    len: usize,
    /// What the last part is.
    pub last: Last,
    /// A slash stands behind it.
    pub slash: bool,
    /// What is there; `None` if nothing is.
    pub object: Option<FileObject>,
}

impl FoundPath {
    /// The last part.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.len]
    }

    /// What is there.
    pub fn existing(&mut self) -> Result<&mut FileObject, Errno> {
        self.object.as_mut().ok_or(libc::ENOENT)
    }

    /// The node of the directory, which is made if there is none.
    pub fn directory_node(&mut self) -> Result<NodeNumber, Errno> {
        if self.directory.node == 0 {
            let about = status(self.directory.descriptor)?;
            self.directory.node = overlay().add_real(self.directory.descriptor, &about)?;
        }
        Ok(self.directory.node)
    }
}

/// The rest of the path that a walk is on. Links are replaced in it by what they lead to.
struct Rest {
    text: [u8; 2 * PATH],
    at: usize,
    end: usize,
}

static REST: Global<Rest> = Global::new(Rest { text: [0; 2 * PATH], at: 0, end: 0 });
static TARGET: Global<[u8; PATH]> = Global::new([0; PATH]);

impl Rest {
    fn begin(&mut self, path: &[u8]) -> Result<(), Errno> {
        match path.len() {
            0 => Err(libc::ENOENT),
            PATH.. => Err(libc::ENAMETOOLONG),
            len => {
                self.text[..len].copy_from_slice(path);
                (self.at, self.end) = (0, len);
                Ok(())
            }
        }
    }

    fn skip_slashes(&mut self) -> bool {
        let from = self.at;
        while self.at < self.end && self.text[self.at] == b'/' {
            self.at += 1;
        }
        self.at > from
    }

    /// Takes the next part, and whether a slash stands behind it.
    fn part(&mut self, into: &mut [u8; NAME]) -> Result<(usize, bool), Errno> {
        let from = self.at;
        while self.at < self.end && self.text[self.at] != b'/' {
            self.at += 1;
        }
        let len = self.at - from;
        if len > NAME {
            return Err(libc::ENAMETOOLONG);
        }
        into[..len].copy_from_slice(&self.text[from..from + len]);
        Ok((len, self.skip_slashes()))
    }

    /// Puts what a link leads to in front of the rest.
    fn put_back(&mut self, target: &[u8], slash: bool) -> Result<(), Errno> {
        let left = self.end - self.at;
        let between = usize::from(slash || left > 0);
        if target.is_empty() {
            return Err(libc::ENOENT);
        }
        if target.len() + between + left > self.text.len() {
            return Err(libc::ENAMETOOLONG);
        }
        self.text.copy_within(self.at..self.end, target.len() + between);
        self.text[..target.len()].copy_from_slice(target);
        if between == 1 {
            self.text[target.len()] = b'/';
        }
        (self.at, self.end) = (0, target.len() + between + left);
        Ok(())
    }
}

fn open_without_access(directory: i32, name: *const u8, follow: bool) -> Result<i32, Errno> {
    let nofollow = if follow { 0 } else { libc::O_NOFOLLOW };
    let flags = libc::O_PATH | libc::O_CLOEXEC | nofollow;
    // SAFETY: callers pass a name that ends with a zero byte.
    let result = unsafe { syscall!(libc::SYS_openat, directory, name, flags, 0) };
    if result < 0 { Err(-result as Errno) } else { Ok(result as i32) }
}

fn place(object: FileObject) -> DirectoryPlace {
    let object = core::mem::ManuallyDrop::new(object);
    if object.node != 0 {
        if object.descriptor >= 0 {
            super::close(object.descriptor);
        }
        return of_node(object.node);
    }
    DirectoryPlace { node: 0, descriptor: object.descriptor, owned: true }
}

/// The directory with this node.
pub fn of_node(node: NodeNumber) -> DirectoryPlace {
    DirectoryPlace { node, descriptor: overlay().node(node).held, owned: false }
}

fn real_place(directory: i32, name: &core::ffi::CStr) -> Result<DirectoryPlace, Errno> {
    FileObject::of_descriptor(open_without_access(directory, name.as_ptr().cast(), true)?).map(place)
}

/// Where a path that is not absolute begins.
pub fn start(directory: i32) -> Result<DirectoryPlace, Errno> {
    if directory == libc::AT_FDCWD {
        return match overlay().directory {
            0 => real_place(libc::AT_FDCWD, c"."),
            node => Ok(of_node(node)),
        };
    }
    let object = of_descriptor(directory)?;
    if !object.is(libc::S_IFDIR) {
        return Err(libc::ENOTDIR);
    }
    Ok(place(object))
}

/// What a descriptor of the program refers to.
pub fn of_descriptor(descriptor: i32) -> Result<FileObject, Errno> {
    match regular_files::node(descriptor) {
        0 => {
            status(descriptor)?;
            // SAFETY: copies a descriptor of the program, for the object to close.
            let copy = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, 0) };
            if copy < 0 { Err(-copy as Errno) } else { FileObject::of_descriptor(copy as i32) }
        }
        node => FileObject::of_node(node),
    }
}

/// The directory above.
pub fn above(below: &DirectoryPlace) -> Result<DirectoryPlace, Errno> {
    if below.node != 0 {
        let parent = overlay().node(below.node).parent;
        if parent != 0 {
            return Ok(of_node(parent));
        }
    }
    real_place(below.descriptor, c"..")
}

fn may_search(directory: &DirectoryPlace) -> Result<(), Errno> {
    match directory.node {
        0 => Ok(()),
        node => super::attributes::may(&overlay().node(node).about, libc::X_OK as u32),
    }
}

/// What a name in a directory leads to; `None` if there is nothing of this name.
pub fn step(directory: &DirectoryPlace, name: &[u8]) -> Result<Option<FileObject>, Errno> {
    may_search(directory)?;
    if directory.node != 0 {
        match overlay().lookup(directory.node, name) {
            Some(0) => return Ok(None),
            Some(node) => return FileObject::of_node(node).map(Some),
            None => {}
        }
        let node = overlay().node(directory.node);
        if node.removed || node.held < 0 {
            return Ok(None);
        }
    }
    let mut text = [0u8; NAME + 1];
    text[..name.len()].copy_from_slice(name);
    match open_without_access(directory.descriptor, text.as_ptr(), false) {
        Ok(descriptor) => FileObject::of_descriptor(descriptor).map(Some),
        Err(libc::ENOENT) => Ok(None),
        Err(code) => Err(code),
    }
}

/// Copies what a link leads to; returns the length.
pub fn read_link(link: &FileObject, into: &mut [u8]) -> Result<usize, Errno> {
    let node = overlay().node(link.node);
    if link.node != 0 && node.target != 0 {
        let target = &overlay().targets[usize::from(node.target) - 1];
        let len = usize::from(target.len).min(into.len());
        into[..len].copy_from_slice(&target.text[..len]);
        return Ok(len);
    }
    let real = if link.node != 0 { node.held } else { link.descriptor };
    // SAFETY: reads what a real link leads to, into the buffer.
    let len = unsafe { syscall!(libc::SYS_readlinkat, real, c"".as_ptr(), into.as_mut_ptr(), into.len()) };
    if len < 0 { Err(-len as Errno) } else { Ok(len as usize) }
}

/// Whether the kernel alone knows what a link leads to.
fn is_magic(link: &FileObject) -> bool {
    if link.node != 0 {
        return false;
    }
    // SAFETY: an all-zero value may be overwritten by the kernel, which is asked about a
    // descriptor.
    unsafe {
        let mut system: libc::statfs = core::mem::zeroed();
        syscall!(libc::SYS_fstatfs, link.descriptor, &raw mut system) == 0 && system.f_type == PROC_SUPER_MAGIC
    }
}

/// Follows a path from a directory, or from the working directory.
pub fn walk(directory: i32, path: &[u8], follow: Follow) -> Result<FoundPath, Errno> {
    // SAFETY: rule 4 of the crate; a walk does not hand over control, and begins no other one.
    let (rest, target) = unsafe { (&mut *REST.get(), &mut *TARGET.get()) };
    rest.begin(path)?;
    let mut here = if path[0] == b'/' { real_place(libc::AT_FDCWD, c"/")? } else { start(directory)? };
    let mut links = 0;
    let mut name = [0u8; NAME];
    rest.skip_slashes();
    loop {
        let (len, slash) = rest.part(&mut name)?;
        let is_last = rest.at == rest.end;
        let part = &name[..len];
        if let b"" | b"." | b".." = part {
            if part == b".." {
                may_search(&here)?;
                here = above(&here)?;
            }
            if is_last {
                let last = if part == b".." { Last::DotDot } else { Last::Dot };
                let object = as_object(&here)?;
                return Ok(FoundPath { directory: here, name, len, last, slash, object: Some(object) });
            }
            continue;
        }
        let Some(object) = step(&here, part)? else {
            return match is_last {
                true => Ok(FoundPath { directory: here, name, len, last: Last::Name, slash, object: None }),
                false => Err(libc::ENOENT),
            };
        };
        let follows = !is_last || follow == Follow::Always || (follow == Follow::BeforeSlash && slash);
        if follows && object.is(libc::S_IFLNK) {
            links += 1;
            if links > MOST_LINKS {
                return Err(libc::ELOOP);
            }
            if is_magic(&object) {
                let mut text = [0u8; NAME + 1];
                text[..len].copy_from_slice(part);
                let behind = FileObject::of_descriptor(open_without_access(here.descriptor, text.as_ptr(), true)?)?;
                if is_last {
                    let object = Some(behind);
                    return Ok(FoundPath { directory: here, name, len, last: Last::Name, slash, object });
                }
                here = directory_place(behind)?;
                continue;
            }
            let len = read_link(&object, target)?;
            rest.put_back(&target[..len], slash)?;
            if target[0] == b'/' {
                here = real_place(libc::AT_FDCWD, c"/")?;
                rest.skip_slashes();
            }
            continue;
        }
        if is_last {
            if slash && follow != Follow::Never && !object.is(libc::S_IFDIR) {
                return Err(libc::ENOTDIR);
            }
            return Ok(FoundPath { directory: here, name, len, last: Last::Name, slash, object: Some(object) });
        }
        here = directory_place(object)?;
    }
}

fn directory_place(object: FileObject) -> Result<DirectoryPlace, Errno> {
    if object.is(libc::S_IFDIR) { Ok(place(object)) } else { Err(libc::ENOTDIR) }
}

/// The directory itself as an object.
pub fn as_object(directory: &DirectoryPlace) -> Result<FileObject, Errno> {
    if directory.node != 0 {
        return FileObject::of_node(directory.node);
    }
    FileObject::of_descriptor(open_without_access(directory.descriptor, c".".as_ptr().cast(), true)?)
}

/// The place of a real directory.
pub fn start_at(object: &FileObject) -> Result<DirectoryPlace, Errno> {
    Ok(DirectoryPlace { node: 0, descriptor: object.descriptor, owned: false })
}

impl DirectoryPlace {
    /// The same place, apart from this one's life.
    pub fn copy_of(other: &DirectoryPlace) -> Result<DirectoryPlace, Errno> {
        if other.node != 0 {
            return Ok(of_node(other.node));
        }
        Ok(DirectoryPlace {
            node: 0,
            descriptor: open_without_access(other.descriptor, c".".as_ptr().cast(), true)?,
            owned: true,
        })
    }
}
