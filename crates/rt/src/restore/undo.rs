//! Undoing what a run did to the process beside its memory: descriptors, directory, mask, signal
//! handlers, mappings, the end of the data segment.
//!
//! Functions that change such state note it here ([`changed`]); a run that changed nothing costs
//! one system call.

use core::cell::UnsafeCell;

use raddle_wire::config_flag;

use crate::arch::signal::KernelAction;
use crate::interpose::process::counter;
use crate::state::process;
use crate::syscall::maps::Maps;
use crate::syscall::syscall;

/// Descriptors below this number that were open at the root are restored one by one.
const WATCHED: usize = 64;
/// Copies of watched descriptors live from this number on. They are made only when a run is about
/// to lose the original: the kernel's cost of closing a range grows with the highest number in use.
pub const COPIES: usize = 960;
/// Inherited descriptors from this number on keep runs from having checkpoints.
const INHERITED: usize = 1024;
const PATH: usize = 4096;
/// Every this many runs the descriptors of runs are closed even if none seems to be open: the
/// lowest numbers, because the kernel hands those out first …
const SWEEP: u32 = 64;
/// … which are this many, and now and then all.
const LOW: u32 = 64;
const WHOLE_SWEEP: u32 = 64 * SWEEP;
const SIGNALS: usize = 65;
const MAX_MAPPINGS: usize = 512;

/// Kinds of state that a run may have changed.
pub mod kind {
    /// Working directory.
    pub const DIRECTORY: u32 = 1;
    /// File mode mask.
    pub const MASK: u32 = 2;
    /// Signal actions.
    pub const SIGNALS: u32 = 4;
    /// Descriptors that were open at the root: closed, replaced, or moved.
    pub const DESCRIPTORS: u32 = 8;
    /// Mappings.
    pub const MAPPINGS: u32 = 16;
    /// What cannot be undone, or is not tracked.
    pub const OTHER: u32 = 32;
    /// The end of the data segment.
    pub const BREAK: u32 = 64;
    /// Descriptors out of the program's way that belong to the run.
    pub const FILES: u32 = 128;
    /// Status flags of descriptors that were open at the root, such as `O_NONBLOCK`.
    pub const FLAGS: u32 = 256;
    /// Whether the kernel reports readings of the processor's counter.
    pub const COUNTER: u32 = 512;
}

struct Root {
    changed: u32,
    /// Runs undone so far.
    runs: u32,
    /// Lowest descriptor that was free at the root: the first that a run gets.
    free: u32,
    /// Every descriptor from this number on belongs to the run.
    first: u32,
    /// Offset of each watched descriptor that has one.
    offsets: [i64; WATCHED],
    /// Status flags of each watched descriptor that was open.
    flags: [i32; WATCHED],
    open: [bool; WATCHED],
    copied: [bool; WATCHED],
    any_copied: bool,
    /// Whether the run has made a descriptor.
    has_opened: bool,
    /// Descriptors that the process has inherited beyond the watched ones and that no run has
    /// closed.
    inherited: [bool; INHERITED],
    directory: [u8; PATH],
    /// Its identity.
    directory_identity: (u64, u64),
    mask: u32,
    actions: [KernelAction; SIGNALS],
    action_saved: [bool; SIGNALS],
    mappings: [(usize, usize); MAX_MAPPINGS],
    mapping_count: usize,
    /// Bytes of the address space that did not belong to the runtime.
    address_space: usize,
    /// End of the data segment.
    data_end: usize,
}

struct Cell(UnsafeCell<Root>);

// SAFETY: rule 4 of the crate.
unsafe impl Sync for Cell {}

static ROOT: Cell = Cell(UnsafeCell::new(Root {
    changed: 0,
    runs: 0,
    free: 0,
    first: 3,
    offsets: [-1; WATCHED],
    flags: [0; WATCHED],
    open: [false; WATCHED],
    copied: [false; WATCHED],
    any_copied: false,
    has_opened: false,
    inherited: [false; INHERITED],
    directory: [0; PATH],
    directory_identity: (0, 0),
    mask: 0,
    actions: [KernelAction::DEFAULT; SIGNALS],
    action_saved: [false; SIGNALS],
    mappings: [(0, 0); MAX_MAPPINGS],
    mapping_count: 0,
    address_space: 0,
    data_end: 0,
}));

fn root() -> &'static mut Root {
    // SAFETY: rule 4 of the crate.
    unsafe { &mut *ROOT.0.get() }
}

/// Notes that the run changed state of this kind.
pub fn changed(kind: u32) {
    root().changed |= kind;
}

/// Records what is needed to undo changes later. Called once, at the root.
pub fn at_root() {
    let root = root();
    root.free = u32::MAX;
    for descriptor in 0..WATCHED {
        // SAFETY: asks about a descriptor.
        root.open[descriptor] = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFD) } >= 0;
        if !root.open[descriptor] {
            root.free = root.free.min(descriptor as u32);
            continue;
        }
        root.first = root.first.max(descriptor as u32 + 1);
        // SAFETY: asks for the flags.
        root.flags[descriptor] = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_GETFL) } as i32;
        // Standard output and error grow from run to run; the others start at their offset at the
        // root.
        if descriptor == 1 || descriptor == 2 {
            continue;
        }
        // SAFETY: asks for the offset.
        root.offsets[descriptor] = unsafe { syscall!(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR) } as i64;
    }
    // SAFETY: writes the path into the own buffer.
    unsafe { syscall!(libc::SYS_getcwd, root.directory.as_mut_ptr(), PATH) };
    // SAFETY: an all-zero stat is a valid value to be overwritten; the path is that of a directory.
    unsafe {
        let mut about: libc::stat = core::mem::zeroed();
        crate::arch::syscall::stat(root.directory.as_ptr().cast(), &raw mut about);
        root.directory_identity = (about.st_dev, about.st_ino);
    }
    // SAFETY: reads the mask by setting it twice.
    unsafe {
        root.mask = syscall!(libc::SYS_umask, 0o22) as u32;
        syscall!(libc::SYS_umask, root.mask);
    }
    each_descriptor(|number| {
        if let Some(inherited) = root.inherited.get_mut(number).filter(|_| number >= WATCHED) {
            *inherited = true;
        }
    });
    // SAFETY: asks for the end of the data segment, which it does not change.
    root.data_end = unsafe { syscall!(libc::SYS_brk, 0usize) } as usize;
}

/// Records the size of the process. Called once, when all memory is as every run finds it.
pub fn note_address_space() {
    root().address_space = address_space();
}

/// Whether the run has changed, as far as it was noted, what is not in memory or in mappings of the
/// root.
pub fn has_changes() -> bool {
    root().changed != 0 || root().mapping_count > 0
}

/// Whether everything that the run has changed so far is in memory.
pub fn is_nothing_to_undo() -> bool {
    is_all_in_memory(|_| false)
}

/// The same, but for descriptors that are covered by what the runtime keeps.
pub fn is_all_in_memory(is_covered: impl Fn(usize) -> bool) -> bool {
    let root = root();
    root.changed == 0
        && root.mapping_count == 0
        && !signal_waits()
        && offsets_are_kept(root)
        && has_descriptors_of_root(root, is_covered)
        && address_space() == root.address_space
}

/// How many runs were undone.
pub fn runs() -> u32 {
    root().runs
}

/// Whether a blocked signal is pending.
fn signal_waits() -> bool {
    let mut waiting = 0u64;
    // SAFETY: asks for a set, into the local.
    let failed = unsafe { syscall!(libc::SYS_rt_sigpending, &raw mut waiting, 8usize) } < 0;
    failed || waiting != 0
}

fn offsets_are_kept(root: &Root) -> bool {
    let mut with_offset = (0..WATCHED).filter(|&descriptor| root.offsets[descriptor] >= 0);
    with_offset.all(|descriptor| {
        // SAFETY: asks for the offset.
        let offset = unsafe { syscall!(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR) };
        offset as i64 == root.offsets[descriptor]
    })
}

/// Whether the descriptors of the root are open, and no others. Counting them would not do: those
/// that the process has inherited beyond the watched ones go when a run is undone.
fn has_descriptors_of_root(root: &Root, is_covered: impl Fn(usize) -> bool) -> bool {
    let (mut others, mut watched) = (false, 0);
    let is_read = each_descriptor(|number| {
        others |= !root.is_known(number) && !is_covered(number);
        watched += usize::from(number < WATCHED && root.open[number]);
    });
    is_read && !others && watched == root.open.iter().filter(|&&open| open).count()
}

impl Root {
    /// Whether the descriptor was open at the root, or is the runtime's copy of one.
    fn is_known(&self, number: usize) -> bool {
        let is_set = |list: &[bool], index: usize| list.get(index).copied().unwrap_or(false);
        let is_copy = number.checked_sub(COPIES).is_some_and(|index| is_set(&self.copied, index));
        is_copy || is_set(&self.open, number) || is_set(&self.inherited, number)
    }
}

/// Calls the function for each open descriptor; false if they are not known.
fn each_descriptor(mut call: impl FnMut(usize)) -> bool {
    /// Bytes of an entry in front of its name.
    const HEAD: usize = 19;
    let mut entries = [0u8; 4096];
    // SAFETY: a valid path; entries are written into the local.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let list = syscall!(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/fd".as_ptr(), flags, 0);
        let is_read = loop {
            let bytes = syscall!(libc::SYS_getdents64, list, entries.as_mut_ptr(), entries.len());
            if bytes <= 0 {
                break bytes == 0;
            }
            let mut at = 0;
            while at + HEAD < bytes as usize {
                let digits = entries[at + HEAD..].iter().take_while(|byte| byte.is_ascii_digit());
                let number = digits.fold(0usize, |number, digit| number * 10 + usize::from(digit - b'0'));
                if entries[at + HEAD].is_ascii_digit() && number != list as usize {
                    call(number);
                }
                // The length of an entry follows two numbers of 8 bytes.
                at += usize::from(u16::from_le_bytes([entries[at + 16], entries[at + 17]])).max(HEAD);
            }
        };
        syscall!(libc::SYS_close, list);
        is_read
    }
}

/// Bytes of the address space that do not belong to the runtime.
fn address_space() -> usize {
    if process().config_flags & config_flag::EMULATED != 0 {
        let Some(mut maps) = Maps::open() else { return 0 };
        let all = core::iter::from_fn(|| maps.next()).fold(0, |bytes, mapping| bytes + (mapping.end - mapping.start));
        return all.wrapping_sub(crate::syscall::mapped_bytes());
    }
    let Some((text, len)) = crate::syscall::read_file::<128>(c"/proc/self/statm") else { return 0 };
    let digits = text[..len].iter().take_while(|byte| byte.is_ascii_digit());
    let pages = digits.fold(0usize, |pages, digit| pages * 10 + usize::from(digit - b'0'));
    (pages * crate::arch::PAGE).wrapping_sub(crate::syscall::mapped_bytes())
}

/// Whether this is the identity of the directory in which every run begins.
pub fn is_first_directory(identity: (u64, u64)) -> bool {
    root().directory_identity == identity
}

/// Whether the descriptor was open at the root, so that what happens to it must be undone.
pub fn is_watched(descriptor: i32) -> bool {
    usize::try_from(descriptor).is_ok_and(|index| index < WATCHED && root().open[index])
}

/// The run is about to close or replace the descriptor: keeps a copy if it was open at the root.
pub fn loses(descriptor: i32) {
    if !is_watched(descriptor) {
        return;
    }
    let root = root();
    root.changed |= kind::DESCRIPTORS;
    let index = descriptor as usize;
    if !root.copied[index] {
        // SAFETY: makes a copy at a high number, closed on exec.
        root.copied[index] =
            unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, COPIES + index) } >= 0;
        root.any_copied = true;
    }
}

/// The run is about to change the status flags of the descriptor.
pub fn changes_flags(descriptor: i32) {
    if is_watched(descriptor) {
        changed(kind::FLAGS);
    }
}

/// Remembers the action that a signal had at the root, before the run changes it.
pub fn save_action(signal: i32) {
    let root = root();
    let index = signal as usize;
    if index < SIGNALS && !root.action_saved[index] {
        // SAFETY: reads the present action.
        unsafe { syscall!(libc::SYS_rt_sigaction, signal, 0usize, &raw mut root.actions[index], 8usize) };
        root.action_saved[index] = true;
    }
    root.changed |= kind::SIGNALS;
}

/// Remembers a mapping that the run made; `false` if the table is full.
pub fn mapped(start: usize, bytes: usize) -> bool {
    let root = root();
    root.changed |= kind::MAPPINGS;
    if root.mapping_count == MAX_MAPPINGS {
        return false;
    }
    root.mappings[root.mapping_count] = (start, bytes);
    root.mapping_count += 1;
    true
}

/// Whether the range lies in mappings that the run itself made.
pub fn made_by_run(start: usize, bytes: usize) -> bool {
    let root = root();
    root.mappings[..root.mapping_count].iter().any(|&(from, len)| from <= start && start + bytes <= from + len)
}

/// Whether the run has made mappings.
pub fn has_mappings() -> bool {
    root().mapping_count > 0
}

/// Whether a part of the range lies in a mapping that the run has made.
pub fn overlaps_mapping(start: usize, end: usize) -> bool {
    let root = root();
    root.mappings[..root.mapping_count].iter().any(|&(from, len)| from < end && start < from + len)
}

/// Whether the run has changed the size of the data segment.
pub fn has_more_data() -> bool {
    root().changed & kind::BREAK != 0
}

/// Whether a part of the range was added to the data segment by the run.
pub fn overlaps_new_data(start: usize, end: usize) -> bool {
    if !has_more_data() {
        return false;
    }
    let from = root().data_end;
    // SAFETY: asks for the end of the data segment, which it does not change.
    let to = unsafe { syscall!(libc::SYS_brk, 0usize) } as usize;
    from < end && start < to
}

/// The run has made a descriptor, which is closed behind it.
pub fn opened() {
    root().has_opened = true;
}

/// Whether the run has made a descriptor.
pub fn has_opened() -> bool {
    root().has_opened
}

/// Undoes the changes of a run.
pub fn after_run() {
    let root = root();
    root.runs = root.runs.wrapping_add(1);
    // Closing a range costs more than a whole run of a small program. So it is done where the run
    // is known to have made a descriptor, and where the lowest free number is taken: the kernel
    // hands that out first, so a library that has opened anything has most likely left it open. Now
    // and then everything is swept. SAFETY: asks about a descriptor.
    let is_taken = unsafe { syscall!(libc::SYS_fcntl, root.free, libc::F_GETFD) } >= 0;
    let opened = core::mem::take(&mut root.has_opened) || is_taken;
    let whole = opened || root.changed & kind::FILES != 0 || root.runs.is_multiple_of(WHOLE_SWEEP);
    if whole || root.runs.is_multiple_of(SWEEP) {
        close_opened(root, whole);
    }
    if whole {
        root.inherited = [false; INHERITED];
    }
    let changed = core::mem::replace(&mut root.changed, 0);
    if changed == 0 {
        return;
    }
    if changed & kind::DESCRIPTORS != 0 {
        restore_descriptors(root);
    }
    if changed & kind::FLAGS != 0 {
        restore_flags(root);
    }
    if changed & kind::COUNTER != 0 {
        counter::watch_again();
    }
    // SAFETY: each call restores what was noted at the root.
    unsafe {
        if changed & kind::DIRECTORY != 0 {
            syscall!(libc::SYS_chdir, root.directory.as_ptr());
        }
        if changed & kind::MASK != 0 {
            syscall!(libc::SYS_umask, root.mask);
        }
        if changed & kind::BREAK != 0 {
            syscall!(libc::SYS_brk, root.data_end);
        }
        if changed & kind::SIGNALS != 0 {
            for signal in (1..SIGNALS).filter(|&signal| root.action_saved[signal]) {
                syscall!(libc::SYS_rt_sigaction, signal, &raw const root.actions[signal], 0usize, 8usize);
            }
        }
        if changed & kind::MAPPINGS != 0 {
            for &(start, bytes) in &root.mappings[..root.mapping_count] {
                syscall!(libc::SYS_munmap, start, bytes);
            }
            root.mapping_count = 0;
        }
    }
}

/// Closes what the run has opened: all of it, or what has low numbers.
fn close_opened(root: &Root, whole: bool) {
    for descriptor in (0..root.first.min(WATCHED as u32)).filter(|&index| !root.open[index as usize]) {
        // SAFETY: as below.
        unsafe { syscall!(libc::SYS_close, descriptor) };
    }
    // SAFETY: the program's state knows nothing of these descriptors any more; the copies in
    // between stay.
    unsafe {
        if !whole {
            syscall!(libc::SYS_close_range, root.first, root.first + LOW, 0);
        } else if root.any_copied {
            syscall!(libc::SYS_close_range, root.first, COPIES as u32 - 1, 0);
            syscall!(libc::SYS_close_range, (COPIES + WATCHED) as u32, u32::MAX, 0);
        } else {
            syscall!(libc::SYS_close_range, root.first, u32::MAX, 0);
        }
    }
}

fn restore_descriptors(root: &Root) {
    for descriptor in 0..WATCHED {
        // SAFETY: the copies were made at the root, and the program does not know their numbers.
        unsafe {
            if root.copied[descriptor] {
                syscall!(libc::SYS_dup3, COPIES + descriptor, descriptor, 0);
            }
        }
    }
    restore_offsets();
}

/// Restores the status flags of descriptors from before the run.
fn restore_flags(root: &Root) {
    for descriptor in (0..WATCHED).filter(|&descriptor| root.open[descriptor]) {
        // SAFETY: sets the flags that the open file had at the root.
        unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_SETFL, root.flags[descriptor]) };
    }
}

/// Restores offsets and status flags of files from before the run. They are all that a run in a
/// process of its own changes in this one: both share the open files.
pub fn restore_open_files() {
    restore_flags(root());
    restore_offsets();
}

/// Restores the offsets of files from before the run.
fn restore_offsets() {
    let root = root();
    for descriptor in (0..WATCHED).filter(|&descriptor| root.offsets[descriptor] >= 0) {
        // SAFETY: moves to where the file stood at the root.
        unsafe { syscall!(libc::SYS_lseek, descriptor, root.offsets[descriptor], libc::SEEK_SET) };
    }
}

/// The run does something that only the end of the process undoes: it is repeated in a process of
/// its own.
pub fn needs_own_process() {
    // SAFETY: the control page stays mapped.
    let mode = unsafe { (*process().control).config.mode };
    if mode == raddle_wire::mode::SNAPSHOT {
        crate::sched::finish(raddle_vocab::RunStatus::NeedFresh, 0);
    }
}
