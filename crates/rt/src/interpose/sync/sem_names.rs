//! Named semaphores, private to the process and to the run: a table from names to semaphores.
//!
//! Whether a name has a semaphore is an atomic word of its own, at an address that follows from the
//! name: opening is a load, creating and removing are compare-exchanges. So operations on different
//! names, and mere opens, are independent. A semaphore is initialised before it gets its name. It
//! is a block of its creator's heap, and lives as long as the run.

use core::ffi::{CStr, c_char};

use raddle_vocab::{MemOrder, OpKind, Outcome};

use crate::arch::entry::export;
use crate::interpose::memory::heap;
use crate::interpose::sync::sem;
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;

const ENTRIES: usize = 64;
const NAME_BYTES: usize = 256;
/// Addresses of the words of names: there is no memory.
const WORDS: u64 = 0x1000_0000_0000;

/// One name.
#[derive(Clone, Copy)]
struct Entry {
    /// The object that the program sees; 0 if the name has none.
    semaphore: u64,
    name: [u8; NAME_BYTES],
    name_len: u16,
}

/// The table.
pub struct Names {
    entries: [Entry; ENTRIES],
}

impl Names {
    /// Whether any name is known.
    pub fn is_used(&self) -> bool {
        self.entries.iter().any(|entry| entry.semaphore != 0)
    }

    /// No name is known.
    pub const fn new() -> Self {
        Names { entries: [const { Entry { semaphore: 0, name: [0; NAME_BYTES], name_len: 0 } }; ENTRIES] }
    }

    /// The entry of the name.
    fn find(&mut self, name: &[u8]) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.semaphore != 0 && &entry.name[..usize::from(entry.name_len)] == name)
    }

    /// A new entry for a name.
    fn add(&mut self, name: &[u8]) -> Option<&mut Entry> {
        let entry = self.entries.iter_mut().find(|entry| entry.semaphore == 0)?;
        entry.name[..name.len()].copy_from_slice(name);
        entry.name_len = name.len() as u16;
        Some(entry)
    }
}

real! { hidden:
    fn sem_open(name: *const c_char, flags: i32, mode: u32, value: u32) -> u64;
    fn sem_close(sem: u64) -> i32;
    fn sem_unlink(name: *const c_char) -> i32;
}

/// Whether the address is that of a name's word, where there is no memory.
pub fn is_word(address: u64) -> bool {
    (WORDS..WORDS + (1 << 43)).contains(&address)
}

/// The word that says whether the name has a semaphore.
fn word_of(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0, |hash: u64, &byte| raddle_vocab::policy::mix(hash ^ u64::from(byte) ^ 0x100));
    WORDS + (hash >> 24 << 3)
}

/// Waits for its turn to perform an operation on a name's word.
fn arrive(kind: OpKind, name: &[u8], expected: bool, pc: u64) -> AnnouncedOp {
    let arg = if kind == OpKind::AtomicCas { u64::from(expected) } else { 0 };
    let op =
        AnnouncedOp { order: MemOrder::SeqCst as u8, log_size: 3, ..AnnouncedOp::new(kind, word_of(name), arg, pc) };
    sched::arrive(op);
    virtual_time::observe(op.obj);
    op
}

/// The load is made, or the compare-exchange fails.
fn seen(op: &AnnouncedOp, is: bool) {
    let outcome = if op.kind == OpKind::AtomicCas { Outcome::Failed } else { Outcome::Done };
    sched::commit(op, outcome, u64::from(is), u64::from(is));
}

/// The compare-exchange succeeds.
fn changed(op: &AnnouncedOp, to: bool) {
    virtual_time::publish(op.obj);
    sched::commit(op, Outcome::Done, u64::from(to), u64::from(!to));
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
    if flags & libc::O_CREAT == 0 {
        let op = arrive(OpKind::AtomicLoad, name, false, pc);
        let found = run().names.find(name).map(|entry| entry.semaphore);
        seen(&op, found.is_some());
        return found.ok_or(libc::ENOENT);
    }
    if value > i32::MAX as u32 {
        return Err(libc::EINVAL);
    }
    let spare = spare(pc).ok_or(libc::ENOMEM)?;
    sem::start(spare, value, true, pc);
    let op = arrive(OpKind::AtomicCas, name, false, pc);
    if let Some(entry) = run().names.find(name) {
        let found = entry.semaphore;
        seen(&op, true);
        return if flags & libc::O_EXCL != 0 { Err(libc::EEXIST) } else { Ok(found) };
    }
    let Some(entry) = run().names.add(name) else {
        crate::sched::controller::explain("the program uses more than 64 names of semaphores at a time");
        sched::controller::name_limit(raddle_wire::limit::SEMAPHORES);
        sched::finish(raddle_vocab::RunStatus::Damaged, ENTRIES as i32);
    };
    entry.semaphore = spare;
    run().me().private.spare_semaphore = 0;
    changed(&op, true);
    Ok(spare)
}

/// Room for a semaphore that the running thread is about to create: left over from a creation that
/// came too late, or new.
fn spare(pc: u64) -> Option<u64> {
    const BYTES: usize = 32;
    if run().me().private.spare_semaphore == 0 {
        run().me().private.spare_semaphore = heap::allocate_object(BYTES, pc)? as u64;
    }
    Some(run().me().private.spare_semaphore)
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

/// Closing is no transition: it has no effect on other threads, and the thread itself must not use
/// the semaphore again.
extern "C" fn close(address: u64, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_close(address) };
    }
    answer(if sem::is_live(address) { Ok(()) } else { Err(libc::EINVAL) })
}

extern "C" fn unlink(name: *const c_char, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sem_unlink(name) };
    }
    answer(name_of(name).and_then(|name| {
        let op = arrive(OpKind::AtomicCas, name, true, pc);
        let Some(entry) = run().names.find(name) else {
            seen(&op, false);
            return Err(libc::ENOENT);
        };
        entry.semaphore = 0;
        changed(&op, false);
        Ok(())
    }))
}

export!(sem_open, 4 => open);
export!(sem_close, 1 => close);
export!(sem_unlink, 1 => unlink);
