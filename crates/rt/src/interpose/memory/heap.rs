//! The heap. Every pool slot has an arena of its own at a fixed address. So the address of a block
//! depends only on what the threads that use the slot have done before: swapping independent events
//! of other threads moves no block.
//!
//! A small block that was freed is not used again as long as its arena has handed out less than
//! [`QUARANTINE`] bytes in such blocks. So a use of it is noticed, and it makes no difference to
//! the state which thread freed it. Beyond that, a block freed by the thread that owns its arena is
//! used again by that thread. A small one freed by another thread is never used again: which thread
//! freed it would be a part of the state that a program cannot see. A large one goes back to the
//! arena only along join and create, where the free happens before the next allocation; until then
//! it stays unused.
//!
//! What a small block held is overwritten when it is freed. So states that differ only in what
//! freed blocks held are the same.
//!
//! In front of each block stand two words: size, class and state; and a link or the distance to the
//! start of its slot.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{FREED_AGAIN, FREED_BEFORE, HEAP, HeapCalls, HeapWay, Misuse, SMALL_HEAP};
use raddle_wire::record;

use crate::arch::entry::hook;
use crate::arch::{HEAP_ARENA_BITS as ARENA_BITS, HEAP_BASE as BASE, PAGE};
use crate::interpose::buffers::writes;
use crate::interpose::memory::operators;
use crate::interpose::process::couriers;
use crate::observed;
use crate::restore::{snapshot, undo};
use crate::state::{controlled, process, run, runtime_ranges};
use crate::syscall::{callers, syscall};
use crate::trace::{self, hooks};

const ARENA: usize = 1 << ARENA_BITS;
/// Bytes of all live blocks together, at most: beyond it the program is out of memory.
const LIMIT: usize = 6 << 30;
const HEADER: usize = 16;
const CLASSES: usize = 128;
/// Small blocks are filled, so that an uninitialised object has the same content in every run, and
/// not zero: fresh ones when they are allocated, others when they are freed.
const FILLED: usize = 1024;
/// Room of blocks that are not used again if another thread frees them.
const SMALL: usize = 4096;
/// Bytes that an arena hands out in small blocks before it uses such blocks again. More would make
/// for many words that differ from the root, so that states are compared slowly or not at all.
const QUARANTINE: usize = 1 << 16;
const FILL: u8 = 0xa5;

const LIVE: u64 = 0x5a;
const FREED: u64 = 0xf3;
/// The block begins further up, because of its alignment.
const FURTHER_UP: u64 = 0xa7;

// The host knows the heap by these addresses.
const _: () = {
    let (start, end) = (BASE as u64, (BASE + MAX_THREADS * ARENA) as u64);
    assert!(HEAP.start == start && end <= HEAP.end || SMALL_HEAP.start == start && end <= SMALL_HEAP.end);
};

/// First words of an arena.
#[repr(C)]
struct Arena {
    /// First byte never handed out.
    top: usize,
    /// Bytes handed out in small blocks.
    small: usize,
    /// Blocks to use again, by class.
    free: [usize; CLASSES],
}

/// Words in front of a block.
#[repr(C)]
struct Header {
    /// Size (48 bits), class (8), state (8).
    word: u64,
    /// Live: distance from the start of the block's room (32 bits), and whether it belongs to the
    /// runtime. Freed: next block of the list.
    link: usize,
}

impl Header {
    fn of(block: usize) -> &'static mut Header {
        // SAFETY: callers pass addresses within an arena, which is mapped as a whole.
        unsafe { &mut *((block - HEADER) as *mut Header) }
    }

    fn size(&self) -> usize {
        (self.word & 0xffff_ffff_ffff) as usize
    }

    fn class(&self) -> usize {
        (self.word >> 48 & 0xff) as usize
    }

    fn is(&self, state: u64) -> bool {
        self.word >> 56 == state && self.class() < CLASSES
    }

    fn set(&mut self, size: usize, class: usize, state: u64) {
        self.word = size as u64 | (class as u64) << 48 | state << 56;
    }
}

/// Bit of [`Header::link`]: the block belongs to the runtime.
const OF_RUNTIME: usize = 1 << 63;
/// Where in [`Header::link`] of a live block it stands how it was allocated.
const WAY_SHIFT: u32 = 56;
const WAY: usize = 0x7f << WAY_SHIFT;

impl Header {
    /// How the live block was allocated, if the program has not written over that.
    fn way(&self) -> Option<HeapWay> {
        HeapWay::from_byte(((self.link & WAY) >> WAY_SHIFT) as u8)
    }
}

/// Maps the arenas of the pool.
///
/// # Errors
/// A sentence if the address range is taken.
pub fn map_arenas(slots: usize) -> Result<(), &'static str> {
    if observed::is_on() {
        LENGTHS.0.store(OBSERVED_MAIN, Relaxed);
        LENGTHS.1.store((OBSERVED_OTHERS / slots).max(OBSERVED_LEAST), Relaxed);
        for slot in 0..slots {
            map_at(BASE + slot * ARENA, length(slot))?;
        }
    } else {
        map_at(BASE, slots * ARENA)?;
    }
    for slot in 0..slots {
        arena(slot).top = BASE + slot * ARENA + size_of::<Arena>().next_multiple_of(64);
    }
    Ok(())
}

/// Bytes of an arena that can be used: of the main thread, and of others. An emulator keeps a table
/// of all mapped pages, so that whole arenas would cost it gigabytes.
static LENGTHS: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(ARENA), AtomicUsize::new(ARENA));

/// The same in an observed program: for main, for all others together, and for each of them at
/// least.
const OBSERVED_MAIN: usize = 1 << 30;
const OBSERVED_OTHERS: usize = 2 << 30;
const OBSERVED_LEAST: usize = 32 << 20;

fn length(slot: usize) -> usize {
    if slot == 0 { LENGTHS.0.load(Relaxed) } else { LENGTHS.1.load(Relaxed) }
}

fn map_at(start: usize, bytes: usize) -> Result<(), &'static str> {
    // SAFETY: a fresh mapping that replaces nothing.
    let at = unsafe {
        syscall!(
            libc::SYS_mmap,
            start,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
            usize::MAX,
            0usize
        )
    };
    let is_there = at == start as isize;
    is_there.then_some(()).ok_or("the address range of the heap is taken, or memory is limited below what a heap needs")
}

fn arena(slot: usize) -> &'static mut Arena {
    // SAFETY: `map_arenas` mapped the arena of every slot of the pool; rule 4 of the crate.
    unsafe { &mut *((BASE + slot * ARENA) as *mut Arena) }
}

/// The slot whose arena the address lies in.
fn slot_of(address: usize) -> Option<usize> {
    let slot = address.wrapping_sub(BASE) >> ARENA_BITS;
    (slot < process().pool_len).then_some(slot)
}

/// Whether the address lies where heap blocks do.
pub fn is_in_arena(address: usize) -> bool {
    slot_of(address).is_some()
}

/// Class of a size: steps of 16 up to 512, then four per power of two.
fn class_of(size: usize) -> usize {
    if size <= 512 {
        return size.max(1).div_ceil(16) - 1;
    }
    let power = (size - 1).ilog2() as usize;
    let quarter = (size - 1) >> (power - 2) & 3;
    32 + (power - 9) * 4 + quarter
}

/// Bytes that a block of the class has.
fn room_of(class: usize) -> usize {
    if class < 32 {
        return (class + 1) * 16;
    }
    let (power, quarter) = (9 + (class - 32) / 4, (class - 32) % 4);
    (1 << power) + ((quarter + 1) << (power - 2))
}

/// A block for the running thread; `zeroed` blocks read as zero. Null when memory is used up.
fn allocate(size: usize, align: usize, zeroed: bool, pc: u64) -> usize {
    allocate_for(HeapWay::Malloc, size, align, zeroed, pc)
}

/// A block that has to be freed in the same way.
fn allocate_for(way: HeapWay, size: usize, align: usize, zeroed: bool, pc: u64) -> usize {
    let needed = if align > 16 { size.saturating_add(align) } else { size };
    if needed > LIMIT {
        return 0;
    }
    let class = class_of(needed);
    let slot = run().me().slot as usize;
    let (start, fresh) = match take(slot, class) {
        Some(found) => found,
        None => return 0,
    };
    let block = start.next_multiple_of(align.max(16));
    let header = Header::of(block);
    header.set(size, class, LIVE);
    header.link = (block - start) | ((way as usize) << WAY_SHIFT);
    if start != block {
        let room = Header::of(start);
        room.set(size, class, FURTHER_UP);
        room.link = block - start;
    }
    run().live_blocks += 1;
    fill(block, size, room_of(class) - (block - start), zeroed, fresh);
    if callers::is_c_library(pc) {
        // A buffer of a stream or directory: the kernel will write to it.
        snapshot::touch(block as *const u8, size);
    }
    trace::block(record::ALLOC, block as u64, size as u64, pc);
    block
}

/// Room for an object of the runtime that the program sees: lives as long as the run.
pub fn allocate_object(bytes: usize, pc: u64) -> Option<usize> {
    for_runtime(allocate(bytes, 16, true, pc))
}

/// A stack for a thread that the running thread creates: lives as long as the run.
pub fn allocate_stack(bytes: usize, pc: u64) -> Option<usize> {
    for_runtime(allocate(bytes, PAGE, true, pc))
}

/// The program does not have to free the block.
fn for_runtime(block: usize) -> Option<usize> {
    if block == 0 {
        return None;
    }
    Header::of(block).link |= OF_RUNTIME;
    run().live_blocks -= 1;
    Some(block)
}

/// A block that the program has to free: first byte, and one past the last.
pub type BlockRange = (usize, usize);

/// Calls the function for every block that the program has to free, in the order of addresses.
pub fn each_live(mut call: impl FnMut(BlockRange)) {
    for slot in 0..process().pool_len {
        let mut at = BASE + slot * ARENA + size_of::<Arena>().next_multiple_of(64);
        while at < arena(slot).top {
            let start = at + HEADER;
            let header = Header::of(start);
            if header.class() >= CLASSES {
                // The program has written over it.
                return;
            }
            at = start + room_of(header.class());
            let block = if header.is(FURTHER_UP) { start + header.link } else { start };
            let header = Header::of(block);
            if header.is(LIVE) && header.link & OF_RUNTIME == 0 {
                call((block, block + header.size()));
            }
        }
    }
}

/// What of its arena a thread has used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeapUse {
    top: usize,
    small: usize,
}

impl HeapUse {
    /// Nothing.
    pub const NONE: HeapUse = HeapUse { top: 0, small: 0 };
}

/// What the running thread has used.
pub fn used() -> HeapUse {
    let arena = arena(run().me().slot as usize);
    HeapUse { top: arena.top, small: arena.small }
}

/// The running thread, which waits busily, is in the state in which it was when it had used this
/// much. What it has used since then counts as unused, if these blocks are all freed, are small,
/// and no pointer leads to them. Otherwise a use of them would not be noticed any more. On the
/// thread's own stack there is no pointer that lives: then it would be in another state.
pub fn use_again(before: HeapUse) {
    let slot = run().me().slot as usize;
    let (own, end) = (run().hot.stack, arena(slot).top);
    let mut at = before.top;
    while at < end {
        let header = Header::of(at + HEADER);
        if !header.is(FREED) || room_of(header.class()) > SMALL || header.link != 0 {
            return;
        }
        at += HEADER + room_of(header.class());
    }
    let unused = before.top..end;
    if before.top == 0 || before.top >= end || arena(slot).small > QUARANTINE || is_pointed_to(&unused, own) {
        return;
    }
    // SAFETY: bytes of the arena that belong to freed blocks; they were zero before the first of
    // them was made.
    unsafe { core::ptr::write_bytes(unused.start as *mut u8, 0, unused.len()) };
    run().heap_bytes -= arena(slot).small - before.small;
    (arena(slot).top, arena(slot).small) = (before.top, before.small);
}

/// Whether a word outside of the range, of the thread's own stack and of what only the runtime uses
/// is an address in the range.
fn is_pointed_to(range: &core::ops::Range<usize>, own: (usize, usize)) -> bool {
    let is_left_out = |at: usize| {
        let is_of_runtime = runtime_ranges().iter().any(|&(start, bytes)| (start..start + bytes).contains(&at));
        is_of_runtime || range.contains(&at) || (own.0..own.1).contains(&at)
    };
    let snapshot = &process().snapshot;
    (0..snapshot.hot_pages()).any(|index| {
        let (page, _) = snapshot.hot_page(index);
        let words = (page..page + PAGE).step_by(size_of::<usize>());
        // SAFETY: a hot page can be read.
        words.into_iter().any(|at| range.contains(&unsafe { *(at as *const usize) }) && !is_left_out(at))
    })
}

/// Room for a block of the class: address, and whether it was never used.
fn take(slot: usize, class: usize) -> Option<(usize, bool)> {
    let arena = arena(slot);
    let again = arena.free[class];
    if again != 0 {
        arena.free[class] = Header::of(again).link;
        return Some((again, false));
    }
    let start = arena.top + HEADER;
    let next = start + room_of(class);
    if next > BASE + slot * ARENA + length(slot) && length(slot) < ARENA {
        crate::sched::controller::note_limit(raddle_wire::limit::HEAP);
    }
    if next > BASE + slot * ARENA + length(slot) || run().heap_bytes.saturating_add(room_of(class)) > LIMIT {
        return None;
    }
    run().heap_bytes += room_of(class);
    arena.top = next;
    if room_of(class) <= SMALL {
        arena.small += room_of(class);
    }
    Some((start, true))
}

fn fill(block: usize, size: usize, room: usize, zeroed: bool, fresh: bool) {
    // SAFETY: the block has `room` bytes, at least `size`.
    unsafe {
        if zeroed {
            // Fresh memory of the kernel is zero already, and must not be touched if it is large.
            if !fresh {
                core::ptr::write_bytes(block as *mut u8, 0, size);
            }
        } else if room <= FILLED {
            if fresh {
                core::ptr::write_bytes(block as *mut u8, FILL, room);
            }
        } else if room <= 1 << 16 {
            // The kernel may write to such a buffer, which works only where the page is writable
            // already.
            crate::restore::snapshot::touch(block as *const u8, room);
        }
    }
}

/// How a block is freed, and the size that is given; 0 if none is.
#[derive(Clone, Copy)]
struct FreeCall {
    way: HeapWay,
    size: usize,
}

/// `free` and `realloc`.
const FREE: FreeCall = FreeCall { way: HeapWay::Malloc, size: 0 };

/// Reports a block that is freed in another way than it was allocated. Where the program brings
/// operators of its own, only it knows what they do.
fn compare_ways(block: usize, call: FreeCall, pc: u64) {
    let header = Header::of(block);
    let Some(allocated) = header.way() else { return };
    let fits = allocated == call.way && (call.size == 0 || call.size == header.size());
    if !fits && !operators::are_replaced() {
        let calls = HeapCalls { allocated, freed: call.way, size: call.size as u64 };
        trace::misuse(Misuse::MismatchedFree, block as u64, calls.pack(), pc);
    }
}

/// Frees a block; reports what is no live block.
fn release(block: usize, call: FreeCall, pc: u64) {
    let Some(slot) = slot_of(block) else {
        if is_variable(block) || undo::overlaps_mapping(block, block + 1) {
            trace::misuse(Misuse::BadFree, block as u64, 0, pc);
            return;
        }
        // SAFETY: not from an arena: it was allocated before the runtime took over, by libc.
        unsafe { __libc_free(block as *mut c_void) };
        return;
    };
    let header = Header::of(block);
    if !block.is_multiple_of(16) || !header.is(LIVE) {
        let twice = block.is_multiple_of(16) && header.is(FREED);
        let how = match twice {
            true if process().access_granularity => FREED_BEFORE,
            true => FREED_AGAIN,
            false => 0,
        };
        trace::misuse(Misuse::BadFree, block as u64, how, pc);
        if how == FREED_AGAIN {
            // An access like the first: where nothing orders the two, they race.
            hooks::block_freed(block as u64, header.size() as u64, pc);
        }
        return;
    }
    compare_ways(block, call, pc);
    let (freed, bytes) = (block as u64, header.size() as u64);
    if run().heap_onces.remove(freed, bytes) && !process().access_granularity {
        trace::access_granularity::free(freed, bytes, pc);
    } else {
        hooks::block_freed(freed, bytes, pc);
    }
    if !header.is(LIVE) {
        // Another thread has freed it meanwhile: the two have met.
        return;
    }
    let class = header.class();
    let size = header.size();
    if header.link & OF_RUNTIME == 0 {
        run().live_blocks = run().live_blocks.saturating_sub(1);
    }
    header.link &= !(OF_RUNTIME | WAY);
    if header.link >= room_of(class) || !header.link.is_multiple_of(16) {
        // The program has written over it: the block is not used again.
        header.set(size, class, FREED);
        return;
    }
    let start = block - header.link;
    if room_of(class) <= FILLED {
        // SAFETY: the room of the block, which is no longer in use.
        unsafe { core::ptr::write_bytes(start as *mut u8, FILL, room_of(class)) };
    }
    header.set(size, class, FREED);
    if start != block {
        Header::of(start).set(size, class, FREED);
    }
    if slot == run().me().slot as usize {
        if room_of(class) > SMALL || arena(slot).small > QUARANTINE {
            reuse(slot, class, start);
        }
    } else if room_of(class) > SMALL {
        let me = run().me();
        Header::of(start).link = me.foreign_frees;
        me.foreign_frees = start;
    }
}

/// Whether the address is that of a variable: on the stack of a thread, or of a module.
fn is_variable(address: usize) -> bool {
    let run = run();
    let here = &raw const address as usize;
    // What lies below the frames of a stack that can grow may be another mapping.
    let on_stack = |tid: usize| {
        let fiber = &run.fibers[tid];
        let innermost = if tid == usize::from(run.hot.tid) { here } else { fiber.sp };
        let low = if (fiber.stack.0..fiber.stack.1).contains(&innermost) { innermost } else { fiber.stack.0 };
        (low..fiber.stack.1).contains(&address)
    };
    (0..run.threads).any(on_stack) || callers::is_in_module(address)
}

fn reuse(slot: usize, class: usize, start: usize) {
    let arena = arena(slot);
    Header::of(start).link = arena.free[class];
    arena.free[class] = start;
}

/// Everything that thread `from` did happens before what thread `heir` does next (a join or a
/// creation). Blocks of the heir's arena that `from` has freed can be used again; the others are
/// passed on to the heir.
pub fn inherit(from: usize, heir: usize) {
    let run = run();
    let slot = run.fibers[heir].slot as usize;
    let mut block = core::mem::replace(&mut run.fibers[from].foreign_frees, 0);
    let mut kept = run.fibers[heir].foreign_frees;
    while block != 0 {
        let header = Header::of(block);
        let next = header.link;
        if slot_of(block) == Some(slot) {
            reuse(slot, header.class(), block);
        } else {
            header.link = kept;
            kept = block;
        }
        block = next;
    }
    run.fibers[heir].foreign_frees = kept;
}

/// Bytes of a live block; 0 if it is none.
pub fn usable_size(block: usize) -> usize {
    match slot_of(block) {
        Some(_) if Header::of(block).is(LIVE) => Header::of(block).size(),
        Some(_) => 0,
        // SAFETY: not from an arena: libc's own block.
        None => unsafe { hidden::malloc_usable_size(block) },
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __errno_location() -> *mut i32;
}

crate::syscall::libc_real::real! { hidden:
    fn malloc_usable_size(block: usize) -> usize;
}

/// Null with errno set, as the C library reports it.
fn or_errno(block: usize) -> usize {
    if block == 0 {
        // SAFETY: errno of the running thread.
        unsafe { *__errno_location() = libc::ENOMEM };
    }
    block
}

/// `malloc`
pub extern "C" fn malloc_at(size: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: libc's own allocator.
        return unsafe { __libc_malloc(size) } as usize;
    }
    couriers::calls_unsafe(pc);
    or_errno(allocate(size, 16, false, pc))
}

extern "C" fn calloc_at(count: usize, size: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: libc's own allocator.
        return unsafe { __libc_calloc(count, size) } as usize;
    }
    couriers::calls_unsafe(pc);
    let bytes = count.saturating_mul(size);
    or_errno(allocate(bytes, 16, true, pc))
}

/// `free`
pub extern "C" fn free_at(block: usize, pc: u64) {
    give_back(block, FREE, pc);
}

/// An operator that frees, with the size that it is given; 0 if none is.
pub fn delete(block: usize, way: HeapWay, size: usize, pc: u64) {
    give_back(block, FreeCall { way, size }, pc);
}

/// An operator that allocates; null when memory is used up.
pub fn new(size: usize, align: usize, way: HeapWay, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: libc's own allocator.
        return unsafe { __libc_memalign(align, size) } as usize;
    }
    couriers::calls_unsafe(pc);
    allocate_for(way, size, align, false, pc)
}

fn give_back(block: usize, call: FreeCall, pc: u64) {
    if block == 0 {
        return;
    }
    if controlled() {
        couriers::calls_unsafe(pc);
        release(block, call, pc);
    } else if slot_of(block).is_none() {
        // SAFETY: libc's own block.
        unsafe { __libc_free(block as *mut c_void) };
    }
}

/// `realloc`
pub extern "C" fn realloc_at(block: usize, size: usize, pc: u64) -> usize {
    if !controlled() || (block != 0 && slot_of(block).is_none()) {
        // SAFETY: libc's own block, or none.
        return unsafe { __libc_realloc(block as *mut c_void, size) } as usize;
    }
    couriers::calls_unsafe(pc);
    if block == 0 {
        return or_errno(allocate(size, 16, false, pc));
    }
    if size == 0 {
        release(block, FREE, pc);
        return 0;
    }
    let old = usable_size(block);
    let new = allocate(size, 16, false, pc);
    if new != 0 {
        hooks::range(record::READ, block as u64, old.min(size) as u64, pc);
        // SAFETY: both blocks have that many bytes.
        unsafe { core::ptr::copy_nonoverlapping(block as *const u8, new as *mut u8, old.min(size)) };
        release(block, FREE, pc);
    }
    or_errno(new)
}

extern "C" fn reallocarray_at(block: usize, count: usize, size: usize, pc: u64) -> usize {
    match count.checked_mul(size) {
        Some(bytes) => realloc_at(block, bytes, pc),
        None => or_errno(0),
    }
}

extern "C" fn memalign_at(align: usize, size: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: libc's own allocator.
        return unsafe { __libc_memalign(align, size) } as usize;
    }
    if !align.is_power_of_two() {
        // SAFETY: errno of the running thread.
        unsafe { *__errno_location() = libc::EINVAL };
        return 0;
    }
    or_errno(allocate(size, align, false, pc))
}

extern "C" fn posix_memalign_at(into: *mut usize, align: usize, size: usize, pc: u64) -> i32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = memalign_at(align, size, pc);
    if block == 0 {
        return libc::ENOMEM;
    }
    writes(into as usize, size_of::<usize>(), pc);
    // SAFETY: the caller passes room for the pointer.
    unsafe { *into = block };
    0
}

extern "C" fn valloc_at(size: usize, pc: u64) -> usize {
    memalign_at(PAGE, size, pc)
}

extern "C" fn usable_size_at(block: usize, _pc: u64) -> usize {
    if block == 0 { 0 } else { usable_size(block) }
}

hook!(malloc, 1 => malloc_at);
hook!(calloc, 2 => calloc_at);
hook!(free, 1 => free_at);
hook!(realloc, 2 => realloc_at);
hook!(reallocarray, 3 => reallocarray_at);
hook!(memalign, 2 => memalign_at);
hook!(aligned_alloc, 2 => memalign_at);
hook!(posix_memalign, 3 => posix_memalign_at);
hook!(valloc, 1 => valloc_at);
hook!(pvalloc, 1 => valloc_at);
hook!(malloc_usable_size, 1 => usable_size_at);
