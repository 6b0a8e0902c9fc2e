//! Named semaphores, private to the process and to the run: a table from names to semaphores. Opening, closing and removing a name are
//! atomic changes of the table, so that their order matters as it does in the system.

use core::ffi::{CStr, c_char};

use raddle_vocab::{MemOrder, OpKind, Outcome};

use crate::entry::export;
use crate::real::real;
use crate::sem::{self, Semaphore};
use crate::state::{Op, controlled, run};
use crate::sys::set_errno;
use crate::{clock, sched};

const ENTRIES: usize = 64;
const NAME_BYTES: usize = 256;

/// One name.
#[derive(Clone, Copy)]
struct Entry {
    /// The object that the program sees.
    semaphore: Semaphore,
    name: [u8; NAME_BYTES],
    name_len: u16,
    /// Whether the name leads here: a removed semaphore lives on until everybody has closed it.
    linked: bool,
    /// How often it was opened and not closed.
    users: u32,
}

/// The table.
pub struct Names {
    /// Counts changes.
    version: u64,
    entries: [Entry; ENTRIES],
}

impl Names {
    /// No name is known.
    pub const fn new() -> Self {
        const FREE: Entry =
            Entry { semaphore: Semaphore::new(0), name: [0; NAME_BYTES], name_len: 0, linked: false, users: 0 };
        Names { version: 0, entries: [FREE; ENTRIES] }
    }

    /// The entry that the name leads to.
    fn find(&mut self, name: &[u8]) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.linked && &entry.name[..usize::from(entry.name_len)] == name)
    }

    /// A new entry for a name.
    fn add(&mut self, name: &[u8]) -> Option<&mut Entry> {
        let entry = self.entries.iter_mut().find(|entry| !entry.linked && entry.users == 0)?;
        entry.name[..name.len()].copy_from_slice(name);
        entry.name_len = name.len() as u16;
        entry.linked = true;
        Some(entry)
    }

    fn by_address(&mut self, address: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| (&raw const entry.semaphore) as u64 == address && entry.users > 0)
    }
}

real! { hidden:
    fn sem_open(name: *const c_char, flags: i32, mode: u32, value: u32) -> u64;
    fn sem_close(sem: u64) -> i32;
    fn sem_unlink(name: *const c_char) -> i32;
}

/// Changes the table as one atomic operation.
fn change<R>(pc: u64, change: impl FnOnce(&mut Names) -> R) -> R {
    let obj = (&raw const run().names.version) as u64;
    let op = Op { order: MemOrder::SeqCst as u8, log_size: 3, ..Op::new(OpKind::AtomicRmw, obj, 0, pc) };
    sched::arrive(op);
    clock::observe(obj);
    let names = &mut run().names;
    names.version += 1;
    let version = names.version;
    let result = change(names);
    clock::publish(obj);
    sched::commit(&op, Outcome::Done, version, version - 1);
    sched::stored();
    result
}

fn name_of(name: *const c_char) -> Result<&'static [u8], i32> {
    // SAFETY: the caller passes a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    if name.len() < NAME_BYTES - 4 { Ok(name) } else { Err(libc::ENAMETOOLONG) }
}

extern "C" fn open(name: *const c_char, flags: i32, mode: u32, value: u32, pc: u64) -> u64 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_open(name, flags, mode, value) };
    }
    match open_name(name, flags, value, pc) {
        Ok(address) => address,
        Err(code) => {
            set_errno(code);
            0
        }
    }
}

fn open_name(name: *const c_char, flags: i32, value: u32, pc: u64) -> Result<u64, i32> {
    let name = name_of(name)?;
    let creates = flags & libc::O_CREAT != 0;
    if creates && value > i32::MAX as u32 {
        return Err(libc::EINVAL);
    }
    let (address, new) = change(pc, |names| {
        let known = names.find(name).is_some();
        if known && creates && flags & libc::O_EXCL != 0 {
            return Err(libc::EEXIST);
        }
        if !known && !creates {
            return Err(libc::ENOENT);
        }
        let entry = if known { names.find(name) } else { names.add(name) }.ok_or(libc::ENOSPC)?;
        entry.users += 1;
        Ok(((&raw mut entry.semaphore) as u64, !known))
    })?;
    if new {
        sem::start(address, value, pc);
    }
    Ok(address)
}

/// What the C function returns.
fn answer(done: Result<(), i32>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(code) => {
            set_errno(code);
            -1
        }
    }
}

extern "C" fn close(address: u64, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_close(address) };
    }
    answer(change(pc, |names| {
        names.by_address(address).ok_or(libc::EINVAL)?.users -= 1;
        Ok(())
    }))
}

extern "C" fn unlink(name: *const c_char, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_unlink(name) };
    }
    answer(name_of(name).and_then(|name| {
        change(pc, |names| {
            names.find(name).ok_or(libc::ENOENT)?.linked = false;
            Ok(())
        })
    }))
}

export!(sem_open, 4 => open);
export!(sem_close, 1 => close);
export!(sem_unlink, 1 => unlink);
