//! Lists of directories: the real one without the names that the run has changed, then these.

use super::walk::{self, DirectoryPlace, FileObject};
use super::{Errno, file_type, overlay};
use crate::state::Global;
use crate::syscall::syscall;

const BUFFER: usize = 32 << 10;
/// Bytes of an entry in front of its name, as the kernel writes it.
const HEAD: usize = 19;

#[repr(C, align(8))]
struct Buffer([u8; BUFFER]);

static ENTRIES: Global<Buffer> = Global::new(Buffer([0; BUFFER]));

/// Calls the function for each name, with the number and the type of the file, until it returns
/// false.
pub fn each(directory: &DirectoryPlace, mut call: impl FnMut(&[u8], u64, u8) -> bool) -> Result<(), Errno> {
    if directory.node != 0 && overlay().node(directory.node).removed {
        return Ok(());
    }
    if directory.descriptor < 0 {
        let own = overlay().node(directory.node).about.st_ino;
        let above = walk::as_object(&walk::above(directory)?)?.about.st_ino;
        if !call(b".", own, libc::DT_DIR) || !call(b"..", above, libc::DT_DIR) {
            return Ok(());
        }
    } else if !each_real(directory, &mut call)? {
        return Ok(());
    }
    if directory.node == 0 {
        return Ok(());
    }
    for entry in overlay().changed(directory.node).filter(|entry| entry.node != 0) {
        let about = super::attributes::status_of(entry.node)?;
        if !call(entry.name(), about.st_ino, (file_type(&about) >> 12) as u8) {
            break;
        }
    }
    Ok(())
}

/// The names of the real directory whose meaning the run has not changed; false if the function has
/// had enough.
fn each_real(directory: &DirectoryPlace, call: &mut impl FnMut(&[u8], u64, u8) -> bool) -> Result<bool, Errno> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a valid name.
    let list = unsafe { syscall!(libc::SYS_openat, directory.descriptor, c".".as_ptr(), flags, 0) };
    if list < 0 {
        return Err(-list as Errno);
    }
    let wants_more = read_all(list as i32, |name, number, kind| {
        let is_changed = directory.node != 0 && overlay().lookup(directory.node, name).is_some();
        is_changed || call(name, number, kind)
    });
    super::close(list as i32);
    wants_more
}

fn read_all(list: i32, mut call: impl FnMut(&[u8], u64, u8) -> bool) -> Result<bool, Errno> {
    // SAFETY: rule 4 of the crate; no list is read while another one is.
    let buffer = unsafe { &mut (*ENTRIES.get()).0 };
    loop {
        // SAFETY: entries are written into the buffer.
        let bytes = unsafe { syscall!(libc::SYS_getdents64, list, buffer.as_mut_ptr(), buffer.len()) };
        match bytes {
            0 => return Ok(true),
            ..0 => return Err(-bytes as Errno),
            _ => {}
        }
        let mut at = 0;
        while at + HEAD <= bytes as usize {
            let number = u64::from_ne_bytes(buffer[at..at + 8].try_into().unwrap_or_default());
            let room = usize::from(u16::from_ne_bytes([buffer[at + 16], buffer[at + 17]])).max(HEAD);
            let text = &buffer[at + HEAD..(at + room).min(bytes as usize)];
            let len = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            if !call(&text[..len], number, buffer[at + 18]) {
                return Ok(false);
            }
            at += room;
        }
    }
}

/// Whether the directory has no names but `.` and `..`.
pub fn is_empty(directory: &FileObject) -> Result<bool, Errno> {
    let place = match directory.node {
        0 => walk::start_at(directory)?,
        node => walk::of_node(node),
    };
    let mut empty = true;
    each(&place, |name, _, _| {
        empty = matches!(name, b"." | b"..");
        empty
    })?;
    Ok(empty)
}

/// Bytes that an entry of a list takes.
pub fn entry_bytes(name: &[u8]) -> usize {
    (HEAD + name.len() + 1).next_multiple_of(8)
}

/// Writes an entry as the kernel does; `next` is its position in the list.
pub fn write_entry(into: &mut [u8], name: &[u8], number: u64, kind: u8, next: u64) {
    let room = entry_bytes(name);
    into[..room].fill(0);
    into[..8].copy_from_slice(&number.to_ne_bytes());
    into[8..16].copy_from_slice(&next.to_ne_bytes());
    into[16..18].copy_from_slice(&(room as u16).to_ne_bytes());
    into[18] = kind;
    into[HEAD..HEAD + name.len()].copy_from_slice(name);
}

/// Writes the entries from a position on, as many as fit; returns the bytes and the next position.
pub fn read(directory: &DirectoryPlace, from: u32, into: &mut [u8]) -> Result<(usize, u32), Errno> {
    let (mut at, mut index, mut is_full) = (0, 0u32, false);
    each(directory, |name, number, kind| {
        index += 1;
        if index <= from {
            return true;
        }
        if at + entry_bytes(name) > into.len() {
            (index, is_full) = (index - 1, true);
            return false;
        }
        write_entry(&mut into[at..], name, number, kind, u64::from(index));
        at += entry_bytes(name);
        true
    })?;
    if at == 0 && is_full { Err(libc::EINVAL) } else { Ok((at, index)) }
}
