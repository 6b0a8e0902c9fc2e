//! The file system as one run sees it: the real one, and above it what the run has changed.
//!
//! Nothing real changes. An object (file, directory, link, pipe) that the run has made, changed,
//! moved or removed has a *node* here. A directory in which the run has changed a name has
//! *entries* for these names: each leads to a node, or says that the name is gone. All other names
//! are those of the real directory. Contents of changed files are in memory files. All of it is
//! state of the run, so it is gone when the run is restored; the memory files are closed then.
//!
//! One walk along a path serves every call ([`walk`]). It follows symbolic links and `..` step by
//! step, because any part of a path may lead from a node to a real directory or back. A real object
//! is recognised by its identity (device and number), so all its names lead to its node.
//!
//! A run that has changed nothing has no nodes. Then paths are left to the kernel.

pub mod attributes;
pub mod listing;
pub mod names;
pub mod opening;
mod pipes;
pub mod walk;

use raddle_wire::limit;

use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::regular_files;
use crate::restore::undo;
use crate::sched::controller::note_limit;
use crate::state::{Global, run};
use crate::syscall::syscall;

/// Objects that a run can have changed, at most.
const MAX_NODES: usize = 1024;
/// Names that a run can have changed, at most.
const MAX_ENTRIES: usize = 2048;
/// Symbolic links that a run can have made, at most.
const MAX_TARGETS: usize = 128;
/// Longest name.
pub const NAME: usize = 255;
/// Longest path, with its end.
pub const PATH: usize = 4096;
/// Descriptors of the overlay have numbers from here on, out of the way of the program's …
const HELD: usize = 700;
/// … or, if these are used up, from here on.
const HELD_BELOW: usize = 300;

/// A number of a node; 0 is none.
pub type NodeNumber = u16;

/// An error code of the kernel.
pub type Errno = i32;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// The entry of the table is free.
    Unused,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe, or another special file.
    Special,
}

/// An object that the run has made, changed, moved or removed.
#[derive(Clone, Copy)]
pub struct OverlayNode {
    /// What it is.
    pub kind: NodeKind,
    /// Its status. Of a memory file only device, number and links count; the rest is in the file.
    pub about: libc::stat,
    /// Identity of the real object that it stands for; zeroes if there is none.
    real: (u64, u64),
    /// Identity of the memory file that holds its content; zeroes if there is none.
    memory: (u64, u64),
    /// The memory file; otherwise the real object, opened without access; -1 if neither exists.
    held: i32,
    /// The directory that it was moved to or made in, if it is a directory; 0 if it is where the
    /// real one is.
    parent: NodeNumber,
    /// It is a directory that was removed.
    removed: bool,
    /// What a link leads to, if the run has made it: one more than the index of the text.
    target: u16,
    /// Identity of the list of the directory, for the search.
    pub list: u16,
    /// Identity of the content, for the search.
    pub content: u32,
}

impl OverlayNode {
    const UNUSED: OverlayNode = OverlayNode {
        kind: NodeKind::Unused,
        // SAFETY: an all-zero status is a valid value.
        about: unsafe { core::mem::zeroed() },
        real: (0, 0),
        memory: (0, 0),
        held: -1,
        parent: 0,
        removed: false,
        target: 0,
        list: 0,
        content: 0,
    };

    /// The memory file, or the real object without access; -1 if there is neither.
    pub fn held(&self) -> i32 {
        self.held
    }

    /// Whether its content is in a memory file.
    pub fn is_in_memory(&self) -> bool {
        self.memory != (0, 0)
    }
}

/// A name whose meaning the run has changed.
#[derive(Clone, Copy)]
struct Entry {
    /// 0 if the entry is free.
    directory: NodeNumber,
    /// 0 if the name is gone.
    node: NodeNumber,
    hash: u32,
    len: u8,
    name: [u8; NAME],
}

impl Entry {
    fn name(&self) -> &[u8] {
        &self.name[..usize::from(self.len)]
    }
}

#[derive(Clone, Copy)]
struct Target {
    used: bool,
    len: u16,
    text: [u8; PATH],
}

/// What the run has changed.
pub struct Overlay {
    /// Highest number of a node in use; 0 if there is none.
    top: usize,
    nodes: [OverlayNode; MAX_NODES],
    /// Entries in use lie below this index.
    entries_top: usize,
    entries: [Entry; MAX_ENTRIES],
    targets: [Target; MAX_TARGETS],
    /// The working directory, if it has a node.
    pub directory: NodeNumber,
    /// Counts changes, for the observation of busy waiting.
    pub changes: u64,
    /// How far each descriptor of a directory was read.
    pub positions: [u32; MAX_CHANNELS],
}

static OVERLAY: Global<Overlay> = Global::new(Overlay {
    top: 0,
    nodes: [OverlayNode { held: 0, ..OverlayNode::UNUSED }; MAX_NODES],
    entries_top: 0,
    entries: [Entry { directory: 0, node: 0, hash: 0, len: 0, name: [0; NAME] }; MAX_ENTRIES],
    targets: [Target { used: false, len: 0, text: [0; PATH] }; MAX_TARGETS],
    directory: 0,
    changes: 0,
    positions: [0; MAX_CHANNELS],
});

/// What the run has changed; part of the state of the run.
pub fn overlay() -> &'static mut Overlay {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *OVERLAY.get() }
}

/// Where the overlay is, for the snapshot.
pub fn range() -> (usize, usize) {
    (OVERLAY.get() as usize, size_of_val(&OVERLAY))
}

/// The device and number of a file.
pub fn identity_of(about: &libc::stat) -> (u64, u64) {
    (about.st_dev, about.st_ino)
}

/// The status of what a descriptor refers to, as the kernel sees it.
pub fn status(descriptor: i32) -> Result<libc::stat, Errno> {
    // SAFETY: an all-zero stat is a valid value to be overwritten.
    let mut about: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: asks about a descriptor, into a local.
    let result = unsafe { syscall!(libc::SYS_fstat, descriptor, &raw mut about) };
    if result < 0 { Err(-result as Errno) } else { Ok(about) }
}

/// The type of a file, of its mode.
pub fn file_type(about: &libc::stat) -> u32 {
    about.st_mode & libc::S_IFMT
}

fn kind_of(about: &libc::stat) -> NodeKind {
    match file_type(about) {
        libc::S_IFREG => NodeKind::File,
        libc::S_IFDIR => NodeKind::Directory,
        libc::S_IFLNK => NodeKind::Link,
        _ => NodeKind::Special,
    }
}

/// The present time of the file system.
pub fn present() -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a local of the right type.
    unsafe { syscall!(libc::SYS_clock_gettime, libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    (time.tv_sec, time.tv_nsec)
}

/// The path by which the kernel opens a descriptor of this process once more.
pub fn descriptor_path(descriptor: i32) -> [u8; 32] {
    let mut path = [0u8; 32];
    let prefix = b"/proc/self/fd/";
    path[..prefix.len()].copy_from_slice(prefix);
    let mut digits = [0u8; 10];
    let mut len = 0;
    let mut rest = descriptor.max(0);
    loop {
        digits[len] = b'0' + (rest % 10) as u8;
        len += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for (at, digit) in digits[..len].iter().rev().enumerate() {
        path[prefix.len() + at] = *digit;
    }
    path
}

/// Opens what a descriptor refers to once more, with an offset of its own. What creates or chooses
/// a file does not count.
pub fn reopen(descriptor: i32, flags: i32) -> isize {
    let path = descriptor_path(descriptor);
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    // SAFETY: a valid path.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) }
}

/// Closes a descriptor.
pub fn close(descriptor: i32) {
    // SAFETY: callers pass descriptors of the runtime.
    unsafe { syscall!(libc::SYS_close, descriptor) };
}

/// Copies a descriptor to a number out of the program's way.
pub fn hold(descriptor: i32) -> Result<i32, Errno> {
    undo::changed(undo::kind::FILES);
    for lowest in [HELD, HELD_BELOW] {
        // SAFETY: copies a descriptor of the runtime.
        let held = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, lowest) };
        if held >= 0 {
            return Ok(held as i32);
        }
    }
    Err(is_full())
}

/// The overlay has no room for another object: the run has less space than the real disk.
fn is_full() -> Errno {
    note_limit(limit::FILES);
    libc::ENOSPC
}

/// An empty memory file.
pub fn memory_file() -> Result<i32, Errno> {
    // SAFETY: a valid name.
    let file = unsafe { syscall!(libc::SYS_memfd_create, c"raddle-file".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(-file as Errno);
    }
    let held = hold(file as i32);
    close(file as i32);
    held
}

/// A number for a new file that depends only on the running thread's own history, apart from those
/// of real files.
fn new_number() -> u64 {
    let me = run().me();
    me.channels += 1;
    (me.key << 16 | u64::from(me.channels)) & (u64::MAX >> 13) | 1 << 51
}

fn hash(name: &[u8]) -> u32 {
    regular_files::hash(name, 9)
}

impl Overlay {
    /// Whether the run has changed nothing.
    pub fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// A node.
    pub fn node(&mut self, number: NodeNumber) -> &mut OverlayNode {
        &mut self.nodes[usize::from(number)]
    }

    /// The node that stands for the object with this identity; 0 if it has none.
    pub fn find(&self, identity: (u64, u64)) -> NodeNumber {
        let is_it =
            |node: &OverlayNode| node.kind != NodeKind::Unused && (node.real == identity || node.memory == identity);
        self.nodes[1..=self.top].iter().position(is_it).map_or(0, |index| index as NodeNumber + 1)
    }

    fn entry(&mut self, directory: NodeNumber, name: &[u8]) -> Option<&mut Entry> {
        let hash = hash(name);
        self.entries[..self.entries_top]
            .iter_mut()
            .find(|entry| entry.directory == directory && entry.hash == hash && entry.name() == name)
    }

    /// What the run has made of a name: a node, or 0 if the name is gone; `None` if it is as in the
    /// real directory.
    pub fn lookup(&mut self, directory: NodeNumber, name: &[u8]) -> Option<NodeNumber> {
        self.entry(directory, name).map(|entry| entry.node)
    }

    /// Lets a name lead to a node.
    fn set(&mut self, directory: NodeNumber, name: &[u8], node: NodeNumber) -> Result<(), Errno> {
        self.changes += 1;
        if let Some(entry) = self.entry(directory, name) {
            entry.node = node;
            return Ok(());
        }
        let free = self.entries[..self.entries_top].iter().position(|entry| entry.directory == 0);
        let index = free.unwrap_or(self.entries_top);
        if index == MAX_ENTRIES {
            return Err(is_full());
        }
        self.entries_top = self.entries_top.max(index + 1);
        let entry = &mut self.entries[index];
        (entry.directory, entry.node, entry.hash, entry.len) = (directory, node, hash(name), name.len() as u8);
        entry.name[..name.len()].copy_from_slice(name);
        Ok(())
    }

    /// Takes a name away. What is behind it in a real directory stays hidden.
    fn unset(&mut self, directory: NodeNumber, name: &[u8]) -> Result<(), Errno> {
        if self.nodes[usize::from(directory)].held >= 0 {
            return self.set(directory, name, 0);
        }
        self.changes += 1;
        if let Some(entry) = self.entry(directory, name) {
            entry.directory = 0;
        }
        Ok(())
    }

    /// The names of a directory that the run has changed.
    fn changed(&self, directory: NodeNumber) -> impl Iterator<Item = &Entry> {
        self.entries[..self.entries_top].iter().filter(move |entry| entry.directory == directory)
    }

    /// Adds a node.
    fn add(&mut self, node: OverlayNode) -> Result<NodeNumber, Errno> {
        undo::changed(undo::kind::FILES);
        run().used_files = true;
        self.changes += 1;
        let mut index = self.top + 1;
        if index == MAX_NODES {
            self.collect_garbage();
            index = (1..MAX_NODES).find(|&index| self.nodes[index].kind == NodeKind::Unused).ok_or_else(is_full)?;
        }
        self.top = self.top.max(index);
        self.nodes[index] = node;
        Ok(index as NodeNumber)
    }

    /// Frees nodes that no name and no descriptor leads to.
    fn collect_garbage(&mut self) {
        for index in 1..=self.top {
            let number = index as NodeNumber;
            let node = &self.nodes[index];
            let gone = node.about.st_nlink == 0 || node.removed;
            if node.kind == NodeKind::Unused || !gone || node.real != (0, 0) {
                continue;
            }
            let is_open = run().open_files.iter().any(|file| file.node == number) || self.directory == number;
            let is_parent = self.nodes[1..=self.top].iter().any(|node| node.parent == number);
            if !is_open && !is_parent {
                self.discard(number);
            }
        }
    }

    fn discard(&mut self, number: NodeNumber) {
        let node = core::mem::replace(self.node(number), OverlayNode::UNUSED);
        if node.held >= 0 {
            close(node.held);
        }
        if node.target != 0 {
            self.targets[usize::from(node.target) - 1].used = false;
        }
        for entry in self.entries[..self.entries_top].iter_mut().filter(|entry| entry.directory == number) {
            entry.directory = 0;
        }
    }

    /// A node for a real object, which is opened without access.
    fn add_real(&mut self, descriptor: i32, about: &libc::stat) -> Result<NodeNumber, Errno> {
        let list = if file_type(about) == libc::S_IFDIR { names::list_of(descriptor) } else { 0 };
        let content = names::content_of(descriptor);
        let held = hold(descriptor)?;
        let node = OverlayNode {
            kind: kind_of(about),
            about: *about,
            real: identity_of(about),
            held,
            list,
            content,
            ..OverlayNode::UNUSED
        };
        self.add(node).inspect_err(|_| close(held))
    }

    /// The status of a new object in a directory.
    fn new_status(&mut self, directory: NodeNumber, mode: u32) -> libc::stat {
        let (seconds, nanoseconds) = present();
        // SAFETY: an all-zero status is a valid value; the calls have no operands.
        let (mut about, user, group) = unsafe {
            let zero: libc::stat = core::mem::zeroed();
            (zero, syscall!(libc::SYS_geteuid) as u32, syscall!(libc::SYS_getegid) as u32)
        };
        let parent = &self.node(directory).about;
        let inherits = parent.st_mode & libc::S_ISGID != 0;
        (about.st_dev, about.st_blksize) = (parent.st_dev, 4096);
        about.st_gid = if inherits { parent.st_gid } else { group };
        about.st_uid = user;
        about.st_mode = mode;
        if inherits && mode & libc::S_IFMT == libc::S_IFDIR {
            about.st_mode |= libc::S_ISGID;
        }
        about.st_ino = new_number();
        about.st_nlink = 1;
        (about.st_atime, about.st_mtime, about.st_ctime) = (seconds, seconds, seconds);
        (about.st_atime_nsec, about.st_mtime_nsec, about.st_ctime_nsec) = (nanoseconds, nanoseconds, nanoseconds);
        about
    }

    /// Notes that the list of a directory has changed.
    fn touch_directory(&mut self, directory: NodeNumber) {
        let (seconds, nanoseconds) = present();
        let about = &mut self.node(directory).about;
        (about.st_mtime, about.st_ctime) = (seconds, seconds);
        (about.st_mtime_nsec, about.st_ctime_nsec) = (nanoseconds, nanoseconds);
    }

    /// One name more or fewer leads to the node.
    fn count_links(&mut self, number: NodeNumber, difference: i64) {
        let (seconds, nanoseconds) = present();
        let about = &mut self.node(number).about;
        about.st_nlink = about.st_nlink.saturating_add_signed(difference as _);
        (about.st_ctime, about.st_ctime_nsec) = (seconds, nanoseconds);
    }

    /// The text of a link that the run makes.
    fn new_target(&mut self, text: &[u8]) -> Result<u16, Errno> {
        let index = self.targets.iter().position(|target| !target.used).ok_or_else(is_full)?;
        let target = &mut self.targets[index];
        (target.used, target.len) = (true, text.len() as u16);
        target.text[..text.len()].copy_from_slice(text);
        Ok(index as u16 + 1)
    }
}
