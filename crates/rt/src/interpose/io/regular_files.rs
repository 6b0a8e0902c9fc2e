//! Regular files are state that threads share: what one writes another may read, a file that one
//! creates exists for the others, and threads that share a descriptor share its offset. An
//! operation is a transition that accesses a name, a content, an offset, or two of them (see
//! `raddle_vocab::io`).
//!
//! While the program has only one thread, operations on files are no transitions: nothing can
//! depend on their order.

use core::ffi::CStr;

use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::interpose::buffers::reads_text;
use crate::interpose::io::descriptor_ends;
use crate::interpose::io::descriptors::MAX_CHANNELS;
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
    offset: u32,
}

impl OpenFile {
    /// No regular file.
    pub const NONE: OpenFile = OpenFile { content: 0, offset: 0 };
}

/// How an operation accesses a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// It reads it.
    Observe,
    /// It changes it.
    Change,
}

fn hash(bytes: &[u8], salt: u64) -> u32 {
    let hash = bytes.iter().fold(salt, |hash, &byte| mix(hash ^ u64::from(byte) ^ 0x100));
    (hash >> 32) as u32 | 1
}

/// Identity of something that is known by a number.
pub fn thing(number: u64, salt: u64) -> u32 {
    hash(&number.to_le_bytes(), salt)
}

/// The last part of a path. Files of the same name in different directories are taken for one. This
/// only adds dependences, and gives the same result on every machine.
fn last_part(path: &CStr) -> &[u8] {
    let bytes = path.to_bytes();
    let start = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    &bytes[start..]
}

/// Identity of the name: whether there is a file.
pub fn name(path: &CStr) -> u32 {
    hash(last_part(path), 1)
}

/// Identity of the content of the file of that name.
pub fn content(path: &CStr) -> u32 {
    hash(last_part(path), 2)
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
        OpenFile { content: thing, offset: thing }
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
pub fn opened(descriptor: i32, content: u32) {
    if descriptor < 0 || !controlled() {
        return;
    }
    let me = run().me();
    me.channels += 1;
    let offset = hash(&(me.key ^ u64::from(me.channels)).to_le_bytes(), 4);
    set(descriptor, OpenFile { content, offset });
    descriptor_ends::made(descriptor);
}

/// Notes that something was opened that is no regular file and that operations do not wait for.
pub fn opened_other(descriptor: i32) {
    let me = run().me();
    me.channels += 1;
    let content = thing(me.key ^ u64::from(me.channels), 5);
    set(descriptor, OpenFile { content, offset: 0 });
    descriptor_ends::made(descriptor);
}

/// Notes that a regular file without a name was opened.
pub fn opened_nameless(descriptor: i32) {
    let content = thing(run().me().key ^ u64::from(run().me().channels), 6);
    opened(descriptor, content);
}

/// Whether operations are transitions now.
fn counts() -> bool {
    controlled() && run().threads > 1
}

fn perform(obj: u32, first: FileAccess, arg: u64, pc: u64) {
    let arg = if first == FileAccess::Observe { arg | io::OBSERVES } else { arg };
    sched::perform(AnnouncedOp::new(OpKind::Io, io::file(obj), arg, pc), Outcome::Done, 0, 0);
}

/// An operation on a name.
pub fn looks_up(path: &CStr, how: FileAccess, pc: u64) {
    reads_text(path.as_ptr() as usize, pc);
    if counts() {
        perform(name(path), how, 0, pc);
    }
}

/// An operation on a name and on the content of the file.
pub fn looks_into(path: &CStr, how: FileAccess, content_too: FileAccess, pc: u64) {
    reads_text(path.as_ptr() as usize, pc);
    if counts() {
        let observes = if content_too == FileAccess::Observe { io::SECOND_OBSERVES } else { 0 };
        perform(name(path), how, io::and(content(path)) | observes, pc);
    }
}

/// A file gets another name.
pub fn moves_name(from: &CStr, to: &CStr, pc: u64) {
    reads_text(from.as_ptr() as usize, pc);
    reads_text(to.as_ptr() as usize, pc);
    if counts() {
        perform(name(from), FileAccess::Change, io::and(name(to)), pc);
    }
}

/// An operation on the content of an open file.
pub fn touches(descriptor: i32, how: FileAccess, pc: u64) {
    descriptor_ends::uses(descriptor, pc);
    if counts()
        && let Some(file) = open_file(descriptor)
    {
        perform(file.content, how, 0, pc);
    }
}

/// An operation on the content of an open file at its offset, which moves.
pub fn touches_at_offset(descriptor: i32, how: FileAccess, pc: u64) {
    descriptor_ends::uses(descriptor, pc);
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
pub fn touches_flags(descriptor: i32, how: FileAccess, pc: u64) {
    descriptor_ends::uses(descriptor, pc);
    touches_open_file(descriptor, how, 0, pc);
}

/// An operation on what belongs to both open files.
pub fn touches_both(one: i32, other: i32, pc: u64) {
    match (of_open_file(one), of_open_file(other)) {
        _ if !counts() => {}
        (Some(one), Some(other)) if one != other => perform(one, FileAccess::Change, io::and(other), pc),
        (Some(only), _) | (None, Some(only)) => perform(only, FileAccess::Change, 0, pc),
        (None, None) => {}
    }
}

/// The end of the open file.
pub fn closes(descriptor: i32, pc: u64) {
    descriptor_ends::ends(descriptor, pc);
    touches_open_file(descriptor, FileAccess::Change, io::BLIND, pc);
    set(descriptor, OpenFile::NONE);
}

/// What belongs to the open file, not to what is in it.
pub fn of_open_file(descriptor: i32) -> Option<u32> {
    open_file(descriptor).map(|file| if file.offset == 0 { file.content } else { file.offset })
}

fn touches_open_file(descriptor: i32, how: FileAccess, arg: u64, pc: u64) {
    if counts()
        && let Some(thing) = of_open_file(descriptor)
    {
        perform(thing, how, arg, pc);
    }
}

/// The content of `path` is in the private copy `held` from now on. Descriptors of the real file
/// that the run has opened are replaced by ones of the copy.
pub fn moves_to_copy(path: &CStr, real: (u64, u64), held: i32, reopen: fn(i32, i32) -> i32) {
    let content = content(path);
    for descriptor in 0..MAX_CHANNELS as i32 {
        if run().open_files[descriptor as usize].content != content || identity(descriptor) != Some(real) {
            continue;
        }
        // SAFETY: asks about, replaces and closes descriptors of the run.
        unsafe {
            let flags = syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) as i32;
            let offset = syscall!(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR);
            let copy = reopen(held, flags);
            if copy >= 0 {
                syscall!(libc::SYS_lseek, copy, offset, libc::SEEK_SET);
                crate::arch::syscall::dup2(copy, descriptor);
                syscall!(libc::SYS_close, copy);
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

/// Whether the descriptor refers to a regular file.
pub fn is_regular(descriptor: i32) -> bool {
    about(descriptor).is_some_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
}
