//! Heap blocks that are lost when the process ends: nothing that the program could still read leads
//! to them, so it could never have freed them.
//!
//! The search is conservative: every aligned word counts as a pointer to what it points into. It
//! begins with the pages that the run has written (no other page can hold the address of a block of
//! this run), the mappings that it has made, the stacks and registers of its threads,
//! thread-specific data, and what epoll queues give back. A stale word may hide a lost block. A
//! pointer that is kept in another form, or only in the kernel, is not seen.
//!
//! A lost block stands for those that only it leads to.

use raddle_vocab::Misuse;

use super::heap::{self, BlockRange};
use crate::arch::{HEAP_BASE, PAGE, entry};
use crate::restore::snapshot::is_programs_shared;
use crate::restore::undo;
use crate::state::{Global, ThreadStatus, keys, process, run, run_ranges};
use crate::syscall;
use crate::syscall::maps::Maps;
use crate::trace;

/// Blocks that are looked at, at most: with more, nothing is said.
const MOST_BLOCKS: usize = 1 << 20;
/// Bytes of mappings that are read, at most: with more, nothing is said.
const LARGEST_MAPPINGS: usize = 64 << 20;
/// Lost blocks that are reported, at most.
const MOST_REPORTED: usize = 256;

/// What is known about a block.
#[derive(Clone, Copy)]
#[repr(C)]
struct Known {
    block: BlockRange,
    /// Number of the lost block from which it was reached, or one of the marks.
    owner: usize,
    /// Whether another lost block leads to it.
    is_pointed_to: bool,
}

const UNREACHED: usize = 0;
const REACHABLE: usize = usize::MAX;

/// All live blocks in the order of addresses, and those whose words are still to be read. It
/// belongs to the process and is never restored.
struct Search {
    known: *mut Known,
    count: usize,
    waiting: *mut usize,
    waiting_count: usize,
}

static SEARCH: Global<Search> =
    Global::new(Search { known: core::ptr::null_mut(), count: 0, waiting: core::ptr::null_mut(), waiting_count: 0 });

impl Search {
    /// Lists the blocks; false if there is no room.
    fn begin(&mut self) -> bool {
        if run().live_blocks > MOST_BLOCKS {
            return false;
        }
        if self.known.is_null() {
            let known = syscall::map(MOST_BLOCKS * size_of::<Known>());
            let waiting = syscall::map(MOST_BLOCKS * size_of::<usize>());
            let (Some(known), Some(waiting)) = (known, waiting) else { return false };
            (self.known, self.waiting) = (known.cast(), waiting.cast());
        }
        (self.count, self.waiting_count) = (0, 0);
        heap::each_live(|block| {
            if self.count < MOST_BLOCKS {
                // SAFETY: there is room for so many.
                unsafe { self.known.add(self.count).write(Known { block, owner: UNREACHED, is_pointed_to: false }) };
                self.count += 1;
            }
        });
        true
    }

    fn known(&mut self) -> &'static mut [Known] {
        // SAFETY: so many were written, and callers keep no two references.
        unsafe { core::slice::from_raw_parts_mut(self.known, self.count) }
    }

    /// The block that a word would point into. An address behind the last byte is none, unless the
    /// block is empty.
    fn find(&mut self, word: usize) -> Option<usize> {
        if word < HEAP_BASE {
            return None;
        }
        let known = self.known();
        let index = known.partition_point(|known| known.block.0 <= word).checked_sub(1)?;
        let (start, end) = known[index].block;
        (word < end.max(start + 1)).then_some(index)
    }

    /// A word that may be the address of a block: it is reached, by this owner.
    fn meet(&mut self, word: usize, owner: usize) {
        let Some(index) = self.find(word) else { return };
        if self.known()[index].owner != UNREACHED {
            return;
        }
        self.known()[index].owner = owner;
        // SAFETY: each block waits once, and there is room for all.
        unsafe { self.waiting.add(self.waiting_count).write(index) };
        self.waiting_count += 1;
    }

    fn has_lost(&mut self) -> bool {
        self.known().iter().any(|known| known.owner == UNREACHED)
    }

    /// Notes which other blocks a lost one leads to.
    fn note_pointers(&mut self, from: usize) {
        let (start, end) = self.known()[from].block;
        for at in (start..end.saturating_sub(size_of::<usize>() - 1)).step_by(size_of::<usize>()) {
            // SAFETY: a word of a live block.
            let word = unsafe { (at as *const usize).read() };
            if let Some(index) = self.find(word).filter(|&index| index != from) {
                self.known()[index].is_pointed_to = true;
            }
        }
    }

    /// Reads all words of a range of memory.
    fn read(&mut self, (start, end): BlockRange, owner: usize) {
        let mut at = start.next_multiple_of(size_of::<usize>());
        while at + size_of::<usize>() <= end {
            // SAFETY: callers pass memory that can be read.
            self.meet(unsafe { (at as *const usize).read_volatile() }, owner);
            at += size_of::<usize>();
        }
    }

    /// Reads the blocks that were reached, and what they lead to.
    fn follow(&mut self, owner: usize) {
        while self.waiting_count > 0 {
            self.waiting_count -= 1;
            // SAFETY: so many wait.
            let index = unsafe { *self.waiting.add(self.waiting_count) };
            let block = self.known()[index].block;
            self.read(block, owner);
        }
    }
}

/// The part of a page that is neither heap nor stack, nor of the runtime. The first frames of a
/// thread may share a page with its thread-local storage, which lies above.
fn data_of(page: usize) -> Option<BlockRange> {
    let is_runtime = run_ranges().iter().any(|&(start, bytes)| (start..start + bytes).contains(&page));
    if is_runtime || heap::is_in_arena(page) {
        return None;
    }
    let pool = process().pool[..process().pool_len].iter().map(|entry| entry.stack);
    let stacks = pool.chain(run().fibers[..run().threads].iter().map(|fiber| fiber.stack));
    let above =
        |start: usize, (low, high): BlockRange| if low <= page && page < high { start.max(high) } else { start };
    Some((stacks.fold(page, above), page + PAGE))
}

/// Reads memory that is no part of the snapshot: mappings that the run has made, memory that is
/// shared with other processes, and what was added to the data segment. False if it is too large.
fn read_mappings(search: &mut Search) -> bool {
    let mut left = LARGEST_MAPPINGS;
    if !undo::has_mappings() && !undo::has_more_data() && !process().snapshot.has_shared() {
        return true;
    }
    let Some(mut maps) = Maps::open() else { return false };
    while let Some(mapping) = maps.next() {
        let (start, end) = (mapping.start, mapping.end);
        let is_new = undo::overlaps_mapping(start, end) || undo::overlaps_new_data(start, end);
        if mapping.readable && mapping.writable && (is_new || is_programs_shared(&mapping)) {
            let bytes = end - start;
            if bytes > left {
                return false;
            }
            left -= bytes;
            search.read((start, end), REACHABLE);
        }
    }
    true
}

/// Reads everything from which the program could go on. False if not all of it is known.
fn read_roots(search: &mut Search) -> bool {
    for index in 0..process().snapshot.hot_pages() {
        let (page, _) = process().snapshot.hot_page(index);
        if let Some(data) = data_of(page) {
            search.read(data, REACHABLE);
        }
    }
    let own = run().hot.tid as usize;
    // When main has returned, none of its frames is left.
    let has_returned = own == 0 && run().me().private.exit_pc == 0;
    if !has_returned {
        entry::registers().saved.iter().for_each(|&word| search.meet(word as usize, REACHABLE));
    }
    run().queues.each_word(|word| search.meet(word as usize, REACHABLE));
    run().exit_handlers.each_argument(|word| search.meet(word, REACHABLE));
    let here = core::ptr::from_ref(&own) as usize;
    for tid in 0..run().threads {
        let fiber = &run().fibers[tid];
        search.meet(fiber.result, REACHABLE);
        search.meet(fiber.entry.1, REACHABLE);
        if fiber.status == ThreadStatus::Ended {
            continue;
        }
        keys().each_value(tid, |value| search.meet(value, REACHABLE));
        if tid == own && has_returned {
            continue;
        }
        let (low, high) = fiber.stack;
        let top = if tid == own { here } else { fiber.sp };
        if !(low..high).contains(&top) {
            // It runs on a stack of the program's own making.
            return false;
        }
        search.meet(low, REACHABLE);
        search.meet(fiber.private.signal_stack.0, REACHABLE);
        search.read((top, high), REACHABLE);
    }
    true
}

/// Records the blocks that are lost, as the process has ended with this call.
pub fn report(pc: u64) {
    if run().live_blocks == 0 || !process().snapshot.is_taken() {
        return;
    }
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let search = unsafe { &mut *SEARCH.get() };
    if !search.begin() || !read_roots(search) {
        return;
    }
    search.follow(REACHABLE);
    // Reading mappings takes long, and most programs have lost nothing.
    if search.has_lost() && read_mappings(search) {
        search.follow(REACHABLE);
        report_lost(search, pc);
    }
}

fn report_lost(search: &mut Search, pc: u64) {
    for index in 0..search.count {
        if search.known()[index].owner == UNREACHED {
            search.note_pointers(index);
        }
    }
    // What no lost block leads to comes first; the rest are blocks that lead to each other.
    for wants_pointed in [false, true] {
        for index in 0..search.count {
            let known = search.known()[index];
            if known.owner == UNREACHED && known.is_pointed_to == wants_pointed {
                search.known()[index].owner = index + 1;
                search.read(known.block, index + 1);
                search.follow(index + 1);
            }
        }
    }
    let mut reported = 0;
    for index in 0..search.count {
        let known = search.known()[index];
        if known.owner == index + 1 && reported < MOST_REPORTED {
            let behind = search.known().iter().filter(|other| other.owner == index + 1).count() - 1;
            trace::misuse(Misuse::Leak, known.block.0 as u64, behind as u64, pc);
            reported += 1;
        }
    }
}
