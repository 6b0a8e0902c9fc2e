//! Mapped memory: `mmap` and what changes mappings, access rights and content of pages.
//!
//! A change is an access to its pages ([`MappingChange`]), so that it races with what other threads
//! do there without an order. It costs what is known of the pages, not what it covers: an arena of
//! gigabytes is one record. An address that was unmapped is handed out again only where the program
//! asks for it: a mapping with `MAP_FIXED` changes what was there and has to be ordered behind its
//! use; memory that the kernel gives (`MAP_FIXED_NOREPLACE`, `sbrk`) begins a new life of the
//! addresses, ordered by the kernel behind the end of the former. All other mappings are at
//! addresses of their own, which depend on the thread alone.
//!
//! What a change of access rights does depends on the rights before, which the kernel knows. Rights
//! that all threads have already are no change. Several threads may ask for the same rights, as
//! where each of them makes sure that it can write: a thread that has asked itself does not depend
//! on the others.
//!
//! Where the program handles faults, an access that the rights do not allow is no error, but a way
//! to learn of it. That another thread may come first with a change of rights is not explored then,
//! which is named.

use raddle_vocab::MappingChange;
use raddle_wire::limit;

use crate::arch::entry::{export, forget_call, hook, return_address};
use crate::arch::{
    LARGE_MAPPINGS, LARGE_MAPPINGS_SLOT_BITS, LOW_MAPPINGS, LOW_MAPPINGS_OF_SLOT, MAP_LOW, MAPPINGS_BASE,
    MAPPINGS_SLOT_BITS, PAGE,
};
use crate::interpose::io::overlay::NodeNumber;
use crate::interpose::io::regular_files::{self, FileAccess};
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::restore::snapshot::touch;
use crate::restore::undo::{self, kind};
use crate::sched::controller::{name_limit, note_limit};
use crate::state::{controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::maps::{Maps, MapsEntry};
use crate::syscall::set_errno;
use crate::trace::hooks::mapping_changes;

real! { hidden:
    fn mmap(at: usize, bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: i64) -> usize;
    fn munmap(at: usize, bytes: usize) -> i32;
    fn mremap(at: usize, old: usize, new: usize, flags: i32, to: usize) -> usize;
    fn mprotect(at: usize, bytes: usize, protection: i32) -> i32;
    fn madvise(at: usize, bytes: usize, advice: i32) -> i32;
    fn sbrk(bytes: isize) -> usize;
    fn brk(end: usize) -> i32;
}

const FAILED: usize = usize::MAX;

/// Advice that newer kernels know: pages cannot be accessed any more, or again.
const MADV_GUARD_INSTALL: i32 = 102;
const MADV_GUARD_REMOVE: i32 = 103;

/// Places that are tried for a mapping where the program has put something there itself.
const TRIES: u32 = 8;

/// The pages of a range; `None` if the call will be refused.
fn pages(at: usize, bytes: usize) -> Option<(usize, usize)> {
    let all = bytes.checked_next_multiple_of(PAGE)?;
    (at.is_multiple_of(PAGE) && at.checked_add(all).is_some()).then_some((at, all))
}

/// The pages of a range are about to change.
fn changes(change: MappingChange, at: usize, bytes: usize, pc: u64) {
    if let Some((at, bytes)) = pages(at, bytes).filter(|_| controlled()) {
        mapping_changes(change, at as u64, bytes as u64, pc);
    }
}

/// The run is about to change mappings. Those from before the run it changes in a process of its
/// own.
fn begins(at: usize, bytes: usize) {
    undo::changed(kind::MAPPINGS);
    if !undo::made_by_run(at, bytes) {
        undo::needs_own_process();
        process().snapshot.give_up();
    }
}

extern "C" fn map(at: usize, bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: i64) -> usize {
    let pc = return_address();
    forget_call();
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mmap(at, bytes, protection, flags, descriptor, offset) };
    }
    if flags & libc::MAP_SHARED != 0
        && descriptor >= 0
        && protection & libc::PROT_WRITE != 0
        && regular_files::node(descriptor) == 0
    {
        note_limit(limit::SHARED_MEMORY);
    }
    if flags & libc::MAP_SHARED != 0 && descriptor >= 0 {
        views(regular_files::node(descriptor), protection & libc::PROT_WRITE != 0);
    }
    if protection & libc::PROT_EXEC != 0 {
        crate::observed::makes_code();
    }
    let keeps = flags & libc::MAP_FIXED_NOREPLACE != 0;
    let fixed = keeps || flags & libc::MAP_FIXED != 0;
    if fixed {
        begins(at, bytes);
    }
    if fixed && !keeps {
        changes(MappingChange::Replace, at, bytes, pc);
    }
    let got = if fixed {
        // SAFETY: passes on what the caller gave.
        unsafe { hidden::mmap(at, bytes, protection, flags, descriptor, offset) }
    } else {
        map_anywhere(bytes, protection, flags, descriptor, offset)
    };
    if got == FAILED {
        return got;
    }
    if !fixed || keeps {
        changes(MappingChange::Fresh, got, bytes, pc);
    }
    remember(got, bytes);
    got
}

/// Files whose shared mappings are remembered.
const VIEWED: usize = 32;

/// The private copies of files that are mapped as shared, and whether one of their mappings can be
/// written.
pub struct Viewed {
    len: usize,
    files: [(NodeNumber, bool); VIEWED],
}

impl Viewed {
    /// None.
    pub const NEW: Viewed = Viewed { len: 0, files: [(0, false); VIEWED] };
}

/// The content of a private copy is mapped: a second mapping shows the same memory.
fn views(node: NodeNumber, writes: bool) {
    if node == 0 {
        return;
    }
    let viewed = &mut run().viewed;
    if let Some((_, is_written)) = viewed.files[..viewed.len].iter_mut().find(|(known, _)| *known == node) {
        *is_written |= writes;
        if *is_written {
            name_limit(limit::VIEWS);
        }
    } else if let Some(place) = viewed.files.get_mut(viewed.len) {
        *place = (node, writes);
        viewed.len += 1;
    } else {
        name_limit(limit::VIEWS);
    }
}

/// The mapping is undone behind the run.
fn remember(at: usize, bytes: usize) {
    let bytes = bytes.next_multiple_of(PAGE);
    if !undo::made_by_run(at, bytes) && !undo::mapped(at, bytes) {
        undo::needs_own_process();
    }
}

/// A mapping at an address that follows from what the running thread has mapped before, if there is
/// room.
fn map_anywhere(bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: i64) -> usize {
    for _ in 0..TRIES {
        let Some(at) = next_address(bytes, flags) else { break };
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: passes on what the caller gave, at a free address.
        let got = unsafe { hidden::mmap(at, bytes, protection, flags, descriptor, offset) };
        // SAFETY: errno of the running thread.
        if got != FAILED || unsafe { *libc::__errno_location() } != libc::EEXIST {
            return got;
        }
    }
    // SAFETY: passes on what the caller gave: the kernel finds an address.
    unsafe { hidden::mmap(0, bytes, protection, flags, descriptor, offset) }
}

/// The next free address for the running thread's mappings; `None` if there is no room for it.
fn next_address(bytes: usize, flags: i32) -> Option<usize> {
    let me = run().me();
    let slot = me.slot as usize;
    let room = bytes.checked_next_multiple_of(PAGE)?;
    if flags & MAP_LOW != 0 {
        let end = LOW_MAPPINGS_OF_SLOT;
        return take(&mut me.private.low_mapped_bytes, LOW_MAPPINGS + slot * end, room, end);
    }
    let small = MAPPINGS_BASE + (slot << MAPPINGS_SLOT_BITS);
    // A page that is not mapped follows, so that accesses behind a mapping fault.
    take(&mut me.mapped_bytes, small, room + PAGE, 1 << MAPPINGS_SLOT_BITS).or_else(|| {
        let large = LARGE_MAPPINGS.start + (slot << LARGE_MAPPINGS_SLOT_BITS);
        take(&mut me.private.large_mapped_bytes, large, room + PAGE, LARGE_MAPPINGS.end.checked_sub(large)?)
    })
}

/// The address behind those of an area that are used, if it has so much room.
fn take(used: &mut usize, start: usize, room: usize, most: usize) -> Option<usize> {
    let behind = used.checked_add(room).filter(|&behind| behind <= most)?;
    Some(start + core::mem::replace(used, behind))
}

extern "C" fn unmap(at: usize, bytes: usize, pc: u64) -> i32 {
    if controlled() {
        begins(at, bytes);
        changes(MappingChange::Unmap, at, bytes, pc);
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::munmap(at, bytes) }
}

extern "C" fn remap(at: usize, old: usize, new: usize, flags: i32, to: usize, pc: u64) -> usize {
    forget_call();
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mremap(at, old, new, flags, to) };
    }
    begins(at, old);
    let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
    if old == 0 {
        // A second view of memory that is shared.
        name_limit(limit::VIEWS);
    }
    if flags & libc::MREMAP_FIXED != 0 {
        changes(MappingChange::Unmap, at, old, pc);
        changes(MappingChange::Replace, to, new, pc);
        return moves(at, old, new, flags, to);
    }
    if new <= old && flags & libc::MREMAP_DONTUNMAP == 0 && old != 0 {
        changes(MappingChange::Unmap, at.saturating_add(new), old - new, pc);
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::mremap(at, old, new, 0, 0) };
    }
    if flags & libc::MREMAP_DONTUNMAP == 0 && old != 0 {
        // Room behind it that the run has given back is the only room that is sure to be its own.
        let grown = if undo::made_by_run(at, new) {
            // SAFETY: passes on what the caller gave.
            unsafe { hidden::mremap(at, old, new, 0, 0) }
        } else {
            FAILED
        };
        if grown != FAILED {
            changes(MappingChange::Fresh, at + old, new - old, pc);
            return grown;
        }
        if flags & libc::MREMAP_MAYMOVE == 0 {
            set_errno(libc::ENOMEM);
            return FAILED;
        }
    }
    // A place of its own, as for a new mapping.
    let to = map_anywhere(new, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0);
    if to == FAILED {
        return FAILED;
    }
    let left = flags & libc::MREMAP_DONTUNMAP != 0;
    changes(if left { MappingChange::Discard } else { MappingChange::Unmap }, at, old, pc);
    changes(MappingChange::Fresh, to, new, pc);
    moves(at, old, new, flags | libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, to)
}

/// Moves a mapping to an address.
fn moves(at: usize, old: usize, new: usize, flags: i32, to: usize) -> usize {
    // SAFETY: passes on what the caller gave.
    let got = unsafe { hidden::mremap(at, old, new, flags, to) };
    if got != FAILED {
        remember(got, new);
    }
    got
}

extern "C" fn protect(at: usize, bytes: usize, protection: i32, pc: u64) -> i32 {
    if controlled() {
        begins(at, bytes);
        if protection & libc::PROT_EXEC != 0 {
            crate::observed::makes_code();
        }
        if run().threads > 1 {
            rights_change(at, bytes, protection, pc);
        }
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::mprotect(at, bytes, protection) }
}

/// Whether the program handles accesses that are not allowed.
fn handles_faults() -> bool {
    [libc::SIGSEGV, libc::SIGBUS].iter().any(|&signal| {
        let handler = run().handlers[signal as usize].handler;
        handler != libc::SIG_DFL && handler != libc::SIG_IGN
    })
}

/// Tells what a call that asks for these rights changes.
fn rights_change(at: usize, bytes: usize, protection: i32, pc: u64) {
    let Some((at, bytes)) = pages(at, bytes) else { return };
    if handles_faults() {
        return name_limit(limit::PROTECTION);
    }
    if process().access_granularity {
        mapping_changes(MappingChange::Ask, at as u64, bytes as u64, pc);
    }
    let mut left = at;
    // Each part is looked up anew: other threads may run before the call changes it.
    while let Some(mapping) = mapping_behind(left).filter(|mapping| mapping.start < at + bytes) {
        let (from, to) = (mapping.start.max(at), mapping.end.min(at + bytes));
        if let Some(change) = change_of_rights(&mapping, protection) {
            crate::trace::hooks::rights_change(change, from as u64, (to - from) as u64, pc);
        }
        left = to;
        if left >= at + bytes {
            return;
        }
    }
}

/// The first mapping that ends behind the address.
fn mapping_behind(at: usize) -> Option<MapsEntry> {
    let mut maps = Maps::open()?;
    core::iter::from_fn(|| maps.next()).find(|mapping| mapping.end > at)
}

fn change_of_rights(mapping: &MapsEntry, protection: i32) -> Option<MappingChange> {
    use MappingChange::{Forbid, Grant, Granted, GrantedRead, Seal, Unseal};
    // What can be written can be read on these processors.
    let level = |reads: bool, writes: bool| if writes { 2 } else { i32::from(reads) };
    let reads = protection & (libc::PROT_READ | libc::PROT_EXEC) != 0;
    let (before, after) = (
        level(mapping.readable || mapping.executable, mapping.writable),
        level(reads, protection & libc::PROT_WRITE != 0),
    );
    match (before, after) {
        (0, 0) => None,
        (_, 0) => Some(Forbid),
        (0, _) => Some(Grant),
        (2, 1) => Some(Seal),
        (1, 2) => Some(Unseal),
        (_, 2) => Some(Granted),
        _ => Some(GrantedRead),
    }
}

/// Advice may drop what pages hold: they count as written. Pages that may be dropped later are
/// dropped at once.
extern "C" fn advise(at: usize, bytes: usize, advice: i32, pc: u64) -> i32 {
    let mut advice = advice;
    if controlled() {
        match advice {
            libc::MADV_DONTNEED | libc::MADV_DONTNEED_LOCKED | libc::MADV_FREE | libc::MADV_REMOVE => {
                touch(at as *const u8, bytes);
                if advice == libc::MADV_REMOVE || drops(at) {
                    changes(MappingChange::Discard, at, bytes, pc);
                }
            }
            MADV_GUARD_INSTALL | MADV_GUARD_REMOVE => {
                begins(at, bytes);
                let installs = advice == MADV_GUARD_INSTALL;
                changes(if installs { MappingChange::Forbid } else { MappingChange::Grant }, at, bytes, pc);
            }
            _ => {}
        }
        // SAFETY: passes on what the caller gave.
        if advice == libc::MADV_FREE && unsafe { hidden::madvise(at, bytes, advice) } == 0 {
            advice = libc::MADV_DONTNEED;
        }
    }
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::madvise(at, bytes, advice) }
}

/// Whether pages that are dropped there are lost: what is shared stays in its file.
fn drops(at: usize) -> bool {
    run().threads <= 1 || mapping_behind(at).is_some_and(|mapping| mapping.private)
}

/// The end of the data segment moves back after the run, so that memory that it gains is zero.
extern "C" fn move_break(bytes: isize, pc: u64) -> usize {
    let how = if bytes == 0 { FileAccess::Observe } else { FileAccess::Change };
    shared_state::touch(SharedPart::Break, how, pc);
    undo::changed(kind::BREAK);
    // SAFETY: asks for the end of the data segment.
    let end = unsafe { hidden::sbrk(0) };
    break_moves(end, end.wrapping_add_signed(bytes), pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::sbrk(bytes) }
}

extern "C" fn set_break(end: usize, pc: u64) -> i32 {
    shared_state::touch(SharedPart::Break, FileAccess::Change, pc);
    undo::changed(kind::BREAK);
    // SAFETY: asks for the end of the data segment.
    break_moves(unsafe { hidden::sbrk(0) }, end, pc);
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::brk(end) }
}

/// Whole pages come and go.
fn break_moves(from: usize, to: usize, pc: u64) {
    let (Some(from), Some(to)) = (from.checked_next_multiple_of(PAGE), to.checked_next_multiple_of(PAGE)) else {
        return;
    };
    if to < from {
        changes(MappingChange::Unmap, to, from - to, pc);
    } else {
        changes(MappingChange::Fresh, from, to - from, pc);
    }
}

export!(mmap, many => map);
export!(mmap64, many => map);
hook!(munmap, 2 => unmap);
export!(mremap, 5 => remap);
hook!(mprotect, 3 => protect);
hook!(madvise, 3 => advise);
export!(sbrk, 1 => move_break);
export!(brk, 1 => set_break);
