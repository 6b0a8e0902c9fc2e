//! Regular files are state that threads share: what one writes another may read, a file that one
//! creates exists for the others, and threads that share a descriptor share its offset. An
//! operation is a transition that accesses a name, a content, an offset, or two of them (see
//! `raddle_vocab::io`).
//!
//! While the program has only one thread, operations on files are no transitions: nothing can
//! depend on their order.

use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::interpose::io::descriptor_ends;
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::overlay::{self, NodeNumber};
use crate::interpose::io::slots;
use crate::restore::undo;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::syscall;

/// What a descriptor of a regular file refers to; both are 0 if it is none.
#[derive(Clone, Copy)]
pub struct OpenFile {
    /// What is in the file.
    pub content: u32,
    /// The offset, which copies of the descriptor share; 0 if it is no regular file: then only its
    /// closing matters.
    pub offset: u32,
    /// The node of the overlay; 0 if it is a real file.
    pub node: NodeNumber,
}

impl OpenFile {
    /// No regular file.
    pub const NONE: OpenFile = OpenFile { content: 0, offset: 0, node: 0 };

    /// Whether it was opened by the program and is no regular file.
    pub fn is_device(self) -> bool {
        self.content != 0 && self.offset == 0
    }
}

/// How an operation accesses a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// It reads it.
    Observe,
    /// It changes it.
    Change,
}

/// A number that stands for these bytes; it is odd.
pub fn hash(bytes: &[u8], salt: u64) -> u32 {
    let hash = bytes.iter().fold(salt, |hash, &byte| mix(hash ^ u64::from(byte) ^ 0x100));
    (hash >> 32) as u32 | 1
}

/// Identity of something that is known by a number.
pub fn thing(number: u64, salt: u64) -> u32 {
    hash(&number.to_le_bytes(), salt)
}

/// Identity of the list of the directory with this name. Directories of the same name are taken for
/// one, as files are. This only adds dependences, and gives the same result on every machine.
pub fn list(name: &[u8]) -> u16 {
    (hash(name, 7) >> 1) as u16 % (io::LISTS - 1) + 1
}

/// Identity of whether there is a directory, or a link, of that name: what paths through it need.
pub fn existence(name: &[u8]) -> u16 {
    (hash(name, 8) >> 1) as u16 % (io::LISTS - 1) + 1
}

/// Identity of the name: whether there is a file, and which.
pub fn name(name: &[u8]) -> u32 {
    hash(name, 1)
}

/// Identity of the content of the file of that name.
pub fn content(name: &[u8]) -> u32 {
    hash(name, 2)
}

/// The node that the descriptor refers to; 0 if it is a real file.
pub fn node(descriptor: i32) -> NodeNumber {
    usize::try_from(descriptor).ok().and_then(|index| run().open_files.get(index)).map_or(0, |file| file.node)
}

/// The table's entry for a descriptor. One that was open before the run is known by its number.
/// Writes to standard output and error are invisible to other threads.
fn open_file(descriptor: i32) -> Option<OpenFile> {
    let known = usize::try_from(descriptor).ok().and_then(|index| run().open_files.get(index)).copied()?;
    if known.content != 0 {
        return Some(known);
    }
    let inherited = undo::is_watched(descriptor) && descriptor != 1 && descriptor != 2;
    inherited.then(|| {
        let thing = hash(&descriptor.to_le_bytes(), 3);
        OpenFile { content: thing, offset: thing, node: 0 }
    })
}

/// Notes what the descriptor refers to from now on.
pub fn set(descriptor: i32, file: OpenFile) {
    match usize::try_from(descriptor).ok().and_then(|index| run().open_files.get_mut(index)) {
        Some(slot) => *slot = file,
        None if descriptor >= MAX_CHANNELS as i32 => note_limit(limit::DESCRIPTORS),
        None => {}
    }
}

/// What the descriptor refers to, for a copy of it.
pub fn get(descriptor: i32) -> OpenFile {
    open_file(descriptor).unwrap_or(OpenFile::NONE)
}

/// Notes that a regular file was opened.
pub fn opened(descriptor: i32, content: u32, node: NodeNumber) {
    if descriptor < 0 || !controlled() {
        return;
    }
    let me = run().me();
    me.channels += 1;
    let offset = hash(&(me.key ^ u64::from(me.channels)).to_le_bytes(), 4);
    set(descriptor, OpenFile { content, offset, node });
    descriptor_ends::made(descriptor);
}

/// Notes that something was opened that is no regular file and that operations do not wait for.
pub fn opened_other(descriptor: i32, node: NodeNumber) {
    let me = run().me();
    me.channels += 1;
    let content = thing(me.key ^ u64::from(me.channels), 5);
    set(descriptor, OpenFile { content, offset: 0, node });
    descriptor_ends::made(descriptor);
}

/// Notes that a regular file without a name was opened.
pub fn opened_nameless(descriptor: i32) {
    let content = thing(run().me().key ^ u64::from(run().me().channels), 6);
    opened(descriptor, content, 0);
}

/// Whether operations are transitions now.
pub fn counts() -> bool {
    controlled() && run().threads > 1
}

fn perform(obj: u32, first: FileAccess, arg: u64, pc: u64) {
    let arg = if first == FileAccess::Observe { arg | io::OBSERVES } else { arg };
    sched::perform(AnnouncedOp::new(OpKind::Io, io::file(obj), arg, pc), Outcome::Done, 0, 0);
}

/// An operation on the content of an open file.
pub fn touches(descriptor: i32, how: FileAccess, pc: u64) {
    slots::use_settled(descriptor, pc, || {
        if counts()
            && let Some(file) = open_file(descriptor)
        {
            perform(file.content, how, 0, pc);
        }
    });
}

/// An operation on the content of an open file at its offset, which moves.
pub fn touches_at_offset(descriptor: i32, how: FileAccess, pc: u64) {
    slots::use_settled(descriptor, pc, || performs_at_offset(descriptor, how, pc));
}

/// As [`touches_at_offset`], for a descriptor that was looked up.
pub fn performs_at_offset(descriptor: i32, how: FileAccess, pc: u64) {
    if counts()
        && let Some(file) = open_file(descriptor)
    {
        let second = if file.offset == file.content { 0 } else { io::and(file.offset) };
        let how = match file.offset {
            0 => FileAccess::Observe,
            _ if second == 0 => FileAccess::Change,
            _ => how,
        };
        perform(file.content, how, second, pc);
    }
}

/// An operation on the offset alone.
pub fn touches_offset(descriptor: i32, pc: u64) {
    touches_flags(descriptor, FileAccess::Change, pc);
}

/// An operation on what belongs to the open file, not to what is in it.
fn touches_flags(descriptor: i32, how: FileAccess, pc: u64) {
    slots::use_settled(descriptor, pc, || performs_on_open_file(descriptor, how, 0, pc));
}

/// The end of the open file.
pub fn closes(descriptor: i32, pc: u64) {
    descriptor_ends::ends(descriptor, pc);
    performs_on_open_file(descriptor, FileAccess::Change, io::BLIND | slots::second(descriptor), pc);
    set(descriptor, OpenFile::NONE);
}

/// What belongs to the open file, not to what is in it.
fn of_open_file(descriptor: i32) -> Option<u32> {
    open_file(descriptor).map(|file| if file.offset == 0 { file.content } else { file.offset })
}

/// An operation on what belongs to the open file of a descriptor that was looked up. If there is
/// none, the second thing is touched alone.
pub fn performs_on_open_file(descriptor: i32, how: FileAccess, arg: u64, pc: u64) {
    if !counts() {
        return;
    }
    match (of_open_file(descriptor), io::second(arg)) {
        (Some(thing), _) => perform(thing, how, arg, pc),
        (None, Some(second)) => perform(second as u32, how, arg & u64::from(u32::MAX), pc),
        (None, None) => {}
    }
}

/// The content of the real file is in the memory file `held` from now on. Descriptors of the real
/// file that the run has opened are replaced by ones of the copy. Those that share an offset go on
/// sharing it.
pub fn moves_to_copy(number: NodeNumber, real: (u64, u64), held: i32) {
    for descriptor in 0..MAX_CHANNELS as i32 {
        let file = run().open_files[descriptor as usize];
        if file.content == 0 || file.offset == 0 || identity(descriptor) != Some(real) {
            continue;
        }
        let replaced = (0..descriptor)
            .find(|&other| run().open_files[other as usize].offset == file.offset && node(other) == number);
        // SAFETY: asks about, replaces and closes descriptors of the run.
        unsafe {
            let flags = syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) as i32;
            let closes = syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFD) as i32;
            let offset = syscall!(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR);
            let copy = replaced.unwrap_or_else(|| overlay::reopen(held, flags) as i32);
            if copy >= 0 {
                syscall!(libc::SYS_lseek, copy, offset, libc::SEEK_SET);
                crate::arch::syscall::dup2(copy, descriptor);
                syscall!(libc::SYS_fcntl, descriptor, libc::F_SETFD, closes);
                run().open_files[descriptor as usize].node = number;
                if replaced.is_none() {
                    syscall!(libc::SYS_close, copy);
                }
            }
        }
    }
}

fn about(descriptor: i32) -> Option<libc::stat> {
    // SAFETY: an all-zero stat is a valid value to be overwritten.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: asks about a descriptor, into a local.
    let known = unsafe { syscall!(libc::SYS_fstat, descriptor, &raw mut stat) } == 0;
    known.then_some(stat)
}

fn identity(descriptor: i32) -> Option<(u64, u64)> {
    about(descriptor).map(|stat| (stat.st_dev, stat.st_ino))
}
