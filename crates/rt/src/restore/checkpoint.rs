//! Checkpoints: states in the middle of runs from which later runs start, instead of repeating the
//! same transitions.
//!
//! A checkpoint is a copy of the hot pages, the records up to there, and a few words. It is kept
//! only
//! * where that is the whole state: a run that has opened, mapped or changed anything in the kernel
//!   keeps none from then on ([`is_all_memory`]);
//! * where it pays: the transitions since the last one took longer than copying the pages does.
//!
//! Knowledge about spin loops changes what the same schedule does, so checkpoints from before it
//! are not used any more.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

use raddle_wire::{CHECKPOINT_BYTES, Job, MAX_CHECKPOINTS, Segment, config_flag};

use crate::arch::PAGE;
use crate::restore::undo;
use crate::spinloop::knowledge;
use crate::state::{ProcessState, ThreadStatus, process, run};
use crate::syscall;
use crate::trace::RESERVE;

/// The root, which is no entry of the table.
const ROOT: u32 = 0;
/// Nanoseconds that [`is_all_memory`] takes.
const EXAMINATION: u64 = 15_000;
/// Nanoseconds to copy a page, before that was measured.
const PAGE_COST: u64 = 400;

/// What a checkpoint's number refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A state.
    Kept,
    /// It was not kept: a run that wants it starts from this one, which is on the same schedule.
    Instead(u32),
}

/// A checkpoint, or room for one.
#[derive(Clone, Copy)]
struct Slot {
    content: Content,
    /// Records, then pages in the order of the snapshot's list.
    memory: *mut u8,
    /// Bytes at `memory`.
    room: usize,
    /// Bytes of records.
    records: usize,
    pages: usize,
    /// Transitions made.
    steps: u32,
    /// Successor that the schedule wants for the last of them, if it was not chosen yet.
    choice: u16,
    /// Events counted.
    events: i64,
    /// Nanoseconds that it took from the root to there.
    nanoseconds: u64,
    /// What was known of spin loops.
    knowledge: (u64, u32),
    /// When it was used last, by the number of jobs.
    used: u64,
}

impl Slot {
    const UNUSED: Slot = Slot {
        content: Content::Instead(ROOT),
        memory: core::ptr::null_mut(),
        room: 0,
        records: 0,
        pages: 0,
        steps: 0,
        choice: raddle_wire::NO_CHOICE,
        events: 0,
        nanoseconds: 0,
        knowledge: (0, 0),
        used: 0,
    };

    fn pages(&self) -> *mut u8 {
        self.memory.wrapping_add(self.records.next_multiple_of(PAGE))
    }

    /// Returns the memory to the system.
    fn release(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: mapped for this slot with exactly this size.
            unsafe { syscall::unmap(self.memory, self.room) };
        }
        (self.memory, self.room) = (core::ptr::null_mut(), 0);
    }
}

/// All checkpoints, and the position of the run under way among them.
struct Table {
    slots: [Slot; MAX_CHECKPOINTS as usize],
    /// Jobs so far.
    jobs: u64,
    /// Nanoseconds to copy a page.
    page_cost: u64,
    /// Where checkpoints are wanted in this run.
    wanted: *const Segment,
    /// How many of these are still to come.
    left: u32,
    /// The last checkpoint that this run was at.
    last: u32,
    /// Nanoseconds from the root to there.
    nanoseconds: u64,
    /// When the run was there, by the time that was computed.
    since: u64,
}

struct Cell(UnsafeCell<Table>);

// SAFETY: rule 4 of the crate: only the controller touches it.
unsafe impl Sync for Cell {}

static TABLE: Cell = Cell(UnsafeCell::new(Table {
    slots: [Slot::UNUSED; MAX_CHECKPOINTS as usize],
    jobs: 0,
    page_cost: PAGE_COST,
    wanted: core::ptr::null(),
    left: 0,
    last: ROOT,
    nanoseconds: 0,
    since: 0,
}));

fn table() -> &'static mut Table {
    // SAFETY: rule 4 of the crate.
    unsafe { &mut *TABLE.0.get() }
}

fn known_so_far() -> (u64, u32) {
    (process().restarts, knowledge::places_found())
}

/// The checkpoint that the job's run starts from, 0 for the root.
pub fn base_of(job: &Job) -> u32 {
    let table = table();
    table.jobs += 1;
    let base = table.resolve(job.base);
    if base == ROOT {
        return ROOT;
    }
    let slot = &mut table.slots[base as usize];
    let room = process().arena_bytes.saturating_sub(job.trace_start as usize + RESERVE);
    // An examination was requested by a run from the root.
    if slot.knowledge != known_so_far() || knowledge::examine_at() != u32::MAX || slot.records > room {
        return ROOT;
    }
    slot.used = table.jobs;
    base
}

/// Restores memory to the checkpoint.
pub fn restore(base: u32) {
    if base == ROOT {
        process().snapshot.restore();
    } else {
        let slot = &table().slots[base as usize];
        // SAFETY: the slot holds that many pages, copied by `Snapshot::save`.
        unsafe { process().snapshot.restore_from(slot.pages(), slot.pages) };
    }
}

/// Notes which checkpoints the job wants. Until the run gets there, their numbers refer to the
/// base.
pub fn expect(job: &mut Job, base: u32, wanted: *const Segment) {
    let table = table();
    let slot = table.slots[base as usize];
    (table.last, table.nanoseconds) = if base == ROOT { (ROOT, 0) } else { (base, slot.nanoseconds) };
    job.started_at = if base == ROOT { 0 } else { slot.steps };
    job.skipped = table.nanoseconds;
    (table.wanted, table.left) = (wanted, job.checkpoints);
    for index in 0..table.left as usize {
        // SAFETY: the controller checked that so many lie within the shared file.
        let id = u32::from(unsafe { (*wanted.add(index)).tid });
        if id != ROOT && id < MAX_CHECKPOINTS && id != base {
            table.replace(id, base);
        }
    }
    if table.left > 0 {
        table.since = syscall::computed();
    }
    table.announce();
}

/// Moves the plan to the checkpoint and copies the records up to there into the trace; returns
/// their bytes.
pub fn resume(process: &mut ProcessState, base: u32, trace: *mut u8) -> usize {
    if base == ROOT {
        return 0;
    }
    let slot = &table().slots[base as usize];
    process.plan.skip(slot.steps);
    process.plan.choice = slot.choice;
    run().hot.events_left -= slot.events;
    // SAFETY: `base_of` has seen that there is room for the records, of which the slot has that
    // many bytes.
    unsafe { core::ptr::copy_nonoverlapping(slot.memory, trace, slot.records) };
    slot.records
}

/// Saves the present state as a checkpoint, if memory is all of it and that pays.
pub fn save_here(process: &mut ProcessState, job: &Job, trace: *const u8) {
    let table = table();
    // SAFETY: the announcement was made from this entry.
    let wanted = unsafe { *table.wanted };
    let id = u32::from(wanted.tid);
    (table.wanted, table.left) = (table.wanted.wrapping_add(1), table.left - 1);
    table.announce();
    // The number must be one that `expect` has freed.
    if id == ROOT || table.slots.get(id as usize).is_none_or(|slot| slot.content == Content::Kept) {
        return;
    }
    let begun = syscall::computed();
    let elapsed = begun - table.since;
    let pages = process.snapshot.hot_pages();
    let records = run().hot.next as usize - trace as usize;
    let all = process.config_flags & config_flag::KEEP_ALL_CHECKPOINTS != 0;
    let pays = all || table.pays(elapsed, pages, wanted.accesses);
    if !pays || !is_all_memory() || !table.make_room(id, records.next_multiple_of(PAGE) + pages * PAGE) {
        table.replace(id, table.last);
        return;
    }
    table.nanoseconds += elapsed;
    let slot = &mut table.slots[id as usize];
    *slot = Slot {
        content: Content::Kept,
        records,
        pages,
        steps: run().steps,
        choice: process.plan.choice,
        events: i64::try_from(job.max_events).unwrap_or(i64::MAX) - run().hot.events_left,
        nanoseconds: table.nanoseconds,
        knowledge: known_so_far(),
        used: table.jobs,
        ..*slot
    };
    // SAFETY: `make_room` has made room for both, and the records lie at `trace`.
    unsafe {
        core::ptr::copy_nonoverlapping(trace, slot.memory, records);
        process.snapshot.save(slot.pages());
    }
    table.last = id;
    table.since = syscall::computed();
    let cost = (table.since - begun) / pages.max(1) as u64;
    table.page_cost = (table.page_cost * 7 + cost) / 8;
}

impl Table {
    /// The checkpoint that a run which wants this one starts from.
    fn resolve(&self, id: u32) -> u32 {
        let content = |id: u32| self.slots.get(id as usize).map(|slot| slot.content);
        match content(id) {
            Some(Content::Kept) => id,
            Some(Content::Instead(other)) if content(other) == Some(Content::Kept) => other,
            _ => ROOT,
        }
    }

    /// Runs that want this checkpoint start from the other one from now on.
    fn replace(&mut self, id: u32, other: u32) {
        for slot in &mut self.slots {
            if slot.content == Content::Instead(id) {
                slot.content = Content::Instead(ROOT);
            }
        }
        self.slots[id as usize].content = Content::Instead(other);
    }

    /// Tells the run where to switch to the controller next.
    fn announce(&self) {
        // SAFETY: one of those that `expect` was given.
        process().plan.checkpoint_at = if self.left == 0 { u32::MAX } else { unsafe { (*self.wanted).steps } };
    }

    /// Whether this many runs that start here save more time than it takes to copy and restore this
    /// many pages.
    fn pays(&self, elapsed: u64, pages: usize, uses: u32) -> bool {
        let uses = u64::from(uses);
        let copy = pages as u64 * self.page_cost;
        elapsed.saturating_mul(uses) > copy.saturating_mul(uses + 1) + EXAMINATION
    }

    /// Makes room for this many bytes in the slot; evicts the least recently used checkpoints.
    fn make_room(&mut self, id: u32, bytes: usize) -> bool {
        let limit = CHECKPOINT_BYTES as usize;
        if self.slots[id as usize].room >= bytes {
            return true;
        }
        if bytes > limit {
            return false;
        }
        self.slots[id as usize].release();
        // Later checkpoints have more pages: the room shall be enough for those, too.
        let room = (bytes + bytes / 4).next_multiple_of(PAGE).min(limit);
        while self.bytes() + room > limit {
            let in_use = (1..self.slots.len()).filter(|&index| self.slots[index].room > 0);
            let Some(oldest) = in_use.min_by_key(|&index| self.slots[index].used) else { return false };
            self.replace(oldest as u32, ROOT);
            self.slots[oldest].release();
        }
        let memory = syscall::map(room);
        if let Some(memory) = memory {
            let slot = &mut self.slots[id as usize];
            (slot.memory, slot.room) = (memory, room);
        }
        let bytes = self.bytes() as u64;
        // SAFETY: the control page stays mapped.
        unsafe { (*process().control).checkpoint_bytes.store(bytes, Ordering::Relaxed) };
        memory.is_some()
    }

    fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.room).sum()
    }
}

/// Whether memory holds everything that has changed since the root.
fn is_all_memory() -> bool {
    let run = run();
    // Accesses recorded since the last transition are in the hooks' cache, which is no part of a
    // checkpoint.
    let between_accesses = run.me().status == ThreadStatus::AtAccess;
    // From then on events are counted differently.
    let exited = run.exit.is_some();
    // A thread may be in a signal handler, on the signal stack, or on a stack that it has made
    // itself.
    let elsewhere = run.fibers[..run.threads].iter().any(|fiber| {
        let stands = !matches!(fiber.status, ThreadStatus::Ended | ThreadStatus::Failed | ThreadStatus::Exited);
        stands && !(fiber.stack.0..fiber.stack.1).contains(&fiber.sp)
    });
    !between_accesses && !exited && !elsewhere && undo::is_nothing_to_undo()
}
