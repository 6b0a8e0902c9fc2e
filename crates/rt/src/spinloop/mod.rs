//! Busy waiting. A thread that comes back to the same reading operation with the same registers and the same stack, having only
//! read in between, has made no progress: the last read of that round *leads nowhere*. Such reads are remembered, by the state of
//! the reading thread and what it reads, and from then on they are disabled: the thread stands before them until there is
//! something else to be read. So a trace has no failed rounds, and whether a thread can step depends on nothing but the state.
//!
//! Knowledge is gained by runs that are given up and started anew:
//! * A thread that comes back to a read (same place, object and stack pointer), but not in the same state, may still be in a loop: the
//!   first round differs from the later ones by what it leaves in temporaries. Then the run is repeated up to that point, the
//!   thread runs alone for a while, and either comes back in the same state or goes on; both are remembered.
//! * A place where that was in vain a few times is not looked at again; a loop there that comes back in the same state is still seen.
//!
//! The data that a round reads counts, too: a race may be in the body of the loop. So a round is made that reads what the thread has not read
//! since it last made progress, and only the next one leads nowhere.
//!
//! A round may also lock and unlock mutexes, as those do that try a second lock and step back: what it does to them it undoes. A thread
//! that stands in the middle of such a round holds locks that it would have given back. If others wait, such an end is covered
//! by executions in which the thread begins its round later.
//!
//! The state of a thread is hashed from all that it knows: who it is and what it was started with, the outcomes of its operations and, once
//! busy waiting was seen, the values of its plain reads. What is compared to recognise a round: callee-saved registers and stack pointer at the call,
//! and the part of the stack where a loop keeps its variables (a window above the stack pointer and one below the frame pointer; what
//! is further up as a hash). Bytes of the first round that differ but are dead (`frames`) make no difference.
//! Memory outside the own stack is covered by the write hooks: a write clears the list of candidates.

pub mod libstdcxx_spin;
pub mod locked_poll;
pub mod read_set;

use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::mix;
use raddle_vocab::{MutexKind, OpKind, Outcome};
use raddle_wire::{LOOP_ENTRIES, LOOP_PLACES, LOOPS_OFFSET, Loops};

use crate::arch::entry::{Registers, registers, return_address};
use crate::arch::liveness;
use crate::interpose::sync::{mutex, rwlock, sem, spinlock};
use crate::sched;
use crate::sched::enabled::{Enabled, enabled};
use crate::spinloop::read_set::Touched;
use crate::state::{Fiber, Handover, Op, Ring, Standing, keep, run, spins, spots};

/// Reading operations remembered per thread: rounds of up to five reads are recognised.
const RING: usize = 16;
/// Bytes compared above the stack pointer.
pub const ABOVE_STACK_POINTER: usize = 768;
/// Bytes compared below the frame pointer.
pub const BELOW_FRAME_POINTER: usize = 512;
/// Bytes hashed behind those.
const FURTHER_UP: usize = 4096;
/// Reads that a thread makes alone before it is taken to go on.
const EXAMINED: u32 = 24;
/// Examinations in vain after which a place is not examined any more.
const IN_VAIN: u64 = 8;
/// Verdict of a place where a loop was found.
const IS_LOOP: u64 = 1 << 32;
/// Bits of a table entry that hold what is known; 0: the thread goes on.
const VERDICT: u64 = 15;
/// Bits that hold the length of the round.
const LENGTH: u64 = 7;
/// The round locks and unlocks.
const LOCKS: u64 = 8;

/// Where a thread stood before a reading operation: what it would come back to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pc: u64,
    obj: u64,
    sp: u64,
}

/// The spots of a thread's last reading operations, with nothing but reads between them. How many there are stands in the
/// thread's own entry, so that threads that never read touch nothing here.
pub type Spots = [Spot; RING];

/// None yet.
pub const NO_SPOTS: Spots = [Spot { pc: 0, obj: 0, sp: 0 }; RING];

/// A reading operation that may turn out to be the head of a loop.
#[derive(Clone, Copy)]
pub struct Head {
    op: Op,
    registers: Registers,
    /// What was read.
    value: u64,
    /// Name of the read in the table.
    key: u64,
    /// As in the ring, when the thread stood before it.
    depth: i32,
    moves: u32,
    stack: [u8; ABOVE_STACK_POINTER],
    frame: [u8; BELOW_FRAME_POINTER],
    stack_len: u16,
    frame_len: u16,
    /// Hash of the stack further up.
    far: u64,
    /// Whether data was read behind it that was not since the thread last made progress.
    news: bool,
}

impl Head {
    /// Of no operation.
    pub const UNUSED: Head = Head {
        op: Op::new(OpKind::AtomicLoad, 0, 0, 0),
        registers: Registers::NONE,
        value: 0,
        key: 0,
        depth: 0,
        moves: 0,
        stack: [0; ABOVE_STACK_POINTER],
        frame: [0; BELOW_FRAME_POINTER],
        stack_len: 0,
        frame_len: 0,
        far: 0,
        news: false,
    };

    /// Whether the thread has come back in a state that differs in nothing, or in nothing that counts.
    pub fn comes_back_as(&self, later: &Head) -> bool {
        self.is_in_state_of(later) || explained(self, later)
    }

    /// Whether nothing that a loop could count with has changed.
    fn is_in_state_of(&self, later: &Head) -> bool {
        let (stack, frame) = (usize::from(self.stack_len), usize::from(self.frame_len));
        self.registers == later.registers
            && self.depth == later.depth
            && self.far == later.far
            && (self.stack_len, self.frame_len) == (later.stack_len, later.frame_len)
            && self.stack[..stack] == later.stack[..stack]
            && self.frame[..frame] == later.frame[..frame]
    }
}

/// What else there is to know about the same operations, once busy waiting was seen.
pub struct Candidates {
    heads: [Head; RING],
    pub touched: Touched,
}

impl Candidates {
    /// None yet.
    pub const fn new() -> Self {
        Candidates { heads: [Head::UNUSED; RING], touched: Touched::NOTHING }
    }
}

/// What is known, in the shared file.
pub fn loops() -> &'static Loops {
    // SAFETY: the file stays mapped and has room for it; everything in it is atomic.
    unsafe { &*keep().file.add(LOOPS_OFFSET).cast::<Loops>() }
}

/// Called when a run starts, at the root or a checkpoint: values are hashed if a thread was seen to come back to a read in this or an
/// earlier run. Of rounds that threads were in before that, not enough is known.
pub fn begin() {
    let run = run();
    let seen = loops().seen.load(Relaxed) != 0;
    if seen != run.hot.hashing {
        run.hot.hashing = seen;
        run.fibers[..run.threads].iter_mut().for_each(|fiber| fiber.ring = Ring::EMPTY);
    }
}

/// Places where threads were found to wait busily.
pub fn places_found() -> u32 {
    loops().found.load(Relaxed)
}

/// Behind how many transitions a thread shall run alone in the run that starts now.
pub fn examine_at() -> u32 {
    match loops().examine_at.load(Relaxed) {
        0 => u32::MAX,
        at => at,
    }
}

/// Whether the operation may be part of a round that changes nothing.
fn reads(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::AtomicLoad
            | OpKind::AtomicCas
            | OpKind::AtomicRmw
            | OpKind::TryLock
            | OpKind::TryReadLock
            | OpKind::TryWriteLock
            | OpKind::SemTryWait
            | OpKind::Read
    )
}

/// Whether the running thread only looks at or changes its own stack, which is compared when it comes back: neither progress nor a look.
pub fn is_private(op: &Op) -> bool {
    let (low, high) = run().hot.stack;
    matches!(op.kind, OpKind::Read | OpKind::Write) && (low..high).contains(&(op.obj as usize))
}

/// What the operation of the thread would find now; `None` if that would be progress.
fn finds(op: &Op, thread: u16) -> Option<u64> {
    const HELD: u64 = 1;
    let unless = |free: bool| (!free).then_some(HELD);
    match op.kind {
        // An order that the program announces is about no memory.
        OpKind::AtomicLoad | OpKind::AtomicRmw if crate::interpose::annotations::is_announced(op.obj) => None,
        OpKind::AtomicLoad | OpKind::AtomicCas | OpKind::AtomicRmw
            if !crate::interpose::sync::sem_names::is_word(op.obj) =>
        {
            Some(word(op.obj, op.log_size))
        }
        OpKind::Read if op.arg.is_power_of_two() && op.arg <= 8 => Some(word(op.obj, op.arg.trailing_zeros() as u8)),
        OpKind::TryLock if op.arg == MutexKind::Spin as u64 => unless(spinlock::can_lock(op.obj)),
        OpKind::TryLock => unless(mutex::can_lock(op.obj, thread)),
        OpKind::TryReadLock => unless(rwlock::can_read(op.obj, thread)),
        OpKind::TryWriteLock => unless(rwlock::can_write(op.obj, thread)),
        OpKind::SemTryWait => unless(sem::is_positive(op.obj)),
        _ => None,
    }
}

/// What the thread would find with the operation that it stands before.
pub fn found(tid: usize) -> Option<u64> {
    finds(&run().fibers[tid].pending, tid as u16)
}

/// What the state of a new thread follows from: threads that do the same differ by what they were told.
pub fn first_history(key: u64, (function, argument): (usize, usize)) -> u64 {
    mix(key ^ mix(function as u64 ^ mix(argument as u64)))
}

/// Name of a read in the table: the state of the thread and what it would find.
pub fn key(fiber: &Fiber, values: u64, op: &Op, value: u64) -> u64 {
    let place = mix(fiber.history ^ mix(values ^ op.pc) ^ u64::from(read_set::is_open(fiber.slot)));
    mix(place ^ mix(op.obj ^ (op.kind as u64) << 56 ^ mix(value))) & !VERDICT
}

/// Name of something else that is known.
pub fn name(what: u64) -> u64 {
    mix(what) & !VERDICT
}

/// Whether what the thread would read now would only lead it back to where it has been.
pub fn leads_nowhere(tid: usize) -> bool {
    verdict(tid).is_some_and(|verdict| verdict > 0) || locked_poll::leads_nowhere(tid)
}

/// What is known of what the thread would read now.
fn verdict(tid: usize) -> Option<u64> {
    let fiber = &run().fibers[tid];
    let value = finds(&fiber.pending, tid as u16)?;
    look_up(key(fiber, fiber.values, &fiber.pending, value))
}

/// What a table entry says of a round of so many reads.
fn round(length: usize, locks: bool) -> u64 {
    (length as u64).min(LENGTH) | if locks { LOCKS } else { 0 }
}

/// Whether the thread stands in a round that began with values that are gone: it would go on if it started the round anew.
pub fn is_stale(tid: usize) -> bool {
    let verdict = verdict(tid).unwrap_or(0);
    if verdict & LOCKS != 0 {
        let waits = |other: &usize| {
            let theirs = &run().fibers[*other];
            let stands = matches!(theirs.standing, Standing::Pending | Standing::Watching);
            *other != tid && stands && theirs.pending.kind != OpKind::Join && enabled(*other) == Enabled::No
        };
        return (0..run().threads).any(|other| waits(&other));
    }
    let earlier = verdict.saturating_sub(1) as usize;
    let len = run().fibers[tid].ring.len;
    let heads = &spins(tid).heads[len.saturating_sub(earlier)..len];
    heads.iter().any(|head| finds(&head.op, tid as u16) != Some(head.value))
}

/// Called before a thread stands before `op`. The answer says whether it may turn out to lead nowhere.
pub fn arriving(op: &Op) -> bool {
    if !keep().fold_spins || is_private(op) {
        return false;
    }
    if run().hot.hashing {
        if op.kind.is_atomic_access() {
            note_foreign(op.obj);
        }
        locked_poll::note_try(op);
    }
    let alone = run().steps >= keep().plan.examine_at;
    if run().hot.wrote {
        forget();
        if alone {
            conclude_alone();
        }
    }
    // Not every plain read comes with the registers of its own call.
    let is_known = op.kind != OpKind::Read || registers().sp != 0 && return_address() == op.pc;
    if !is_known || !reads(op.kind) {
        if alone {
            conclude_alone();
        }
        return locked_poll::arriving(op);
    }
    let thread = run().hot.tid as usize;
    let spots = spots(thread);
    let ring = &mut run().me().ring;
    if ring.len == RING {
        ring.len = 0;
    }
    ring.pending = true;
    let len = ring.len;
    spots[len] = Spot { pc: op.pc, obj: op.obj, sp: registers().sp };
    let latest = spots[..len].iter().rposition(|spot| *spot == spots[len]);
    if !run().hot.hashing {
        if latest.is_some() {
            loops().seen.store(1, Relaxed);
            again();
        }
        return false;
    }
    let candidates = spins(thread);
    remember(&mut candidates.heads[len], op);
    (candidates.heads[len].depth, candidates.heads[len].moves) = (ring.depth, ring.moves);
    if let Some(latest) = latest {
        if !alone {
            examine(candidates, latest, len);
        }
        // A loop has as many beginnings as reads: the one that the thread came back to first is taken.
        let is_beginning = !alone || op.pc == loops().examine_place.load(Relaxed);
        let is_same = |index: &usize| {
            spots[*index] == spots[len] && candidates.heads[*index].is_in_state_of(&candidates.heads[len])
        };
        if let Some(index) = (0..len).rev().find(is_same).filter(|_| is_beginning) {
            let length = len - index;
            let mut lasts = (first_round(candidates, index, len)..len).skip(length - 1).step_by(length);
            let locks = candidates.heads[index].moves != candidates.heads[len].moves;
            if let Some(last) = lasts.find(|&last| !candidates.heads[last].news) {
                conclude(candidates.heads[last].key, round(length, locks), op.pc);
            }
        }
        if alone {
            keep().plan.examined += 1;
            if keep().plan.examined > EXAMINED {
                conclude_alone();
            }
        }
    }
    loops().used.load(Relaxed) > 0
}

/// Earlier rounds of the same loop may differ from the proven one only by what they leave in places that are dead: they
/// made no progress either. Returns where the first of them starts.
fn first_round(candidates: &Candidates, index: usize, len: usize) -> usize {
    let length = len - index;
    let mut first = index;
    while first >= length {
        let (earlier, later) = (&candidates.heads[first - length], &candidates.heads[first]);
        if earlier.op.pc != later.op.pc || !explained(earlier, later) {
            break;
        }
        first -= length;
    }
    first
}

/// Whether the two states differ in nothing but dead bytes of the stack: what a compiler that does not optimise leaves in temporaries.
fn explained(earlier: &Head, later: &Head) -> bool {
    let dead_from = |start: usize| move |index: usize| liveness::is_dead(&later.registers, later.op.pc, start + index);
    let ((sp, _), (frame, _)) = windows(&later.registers);
    liveness::are_alike(&earlier.registers, &later.registers, later.op.pc)
        && earlier.far == later.far
        && (earlier.stack_len, earlier.frame_len) == (later.stack_len, later.frame_len)
        && differences(&earlier.stack, &later.stack, later.stack_len).all(dead_from(sp))
        && differences(&earlier.frame, &later.frame, later.frame_len).all(dead_from(frame))
}

/// Where the two copies of a part of the stack differ.
fn differences(earlier: &[u8], later: &[u8], len: u16) -> impl Iterator<Item = usize> {
    let both = earlier.iter().zip(later).take(usize::from(len));
    both.enumerate().filter(|(_, (a, b))| a != b).map(|(index, _)| index)
}

/// Called when an operation was performed: a reading one becomes a candidate, everything else is progress.
pub fn performed(op: &Op, outcome: Outcome, value: u64, old: u64) {
    let me = run().me();
    // A thread that has read nothing, and does not now, has no round to be in.
    if me.ring.pending || me.ring.len > 0 {
        note_round(op, outcome, value != old);
    }
    // All that follows is about reads in the table, where nothing is before busy waiting was seen.
    if !run().hot.hashing {
        return;
    }
    let thread = usize::from(run().hot.tid);
    let me = run().me();
    if me.ring.len == 0 && !locked_poll::is_under_way() {
        spins(thread).touched.forget();
    }
    // What others did to threads and queues is named in a way that depends on their order.
    let result = if op.kind.is_atomic_access() { mix(value ^ mix(old)) } else { 0 };
    let what = op.obj ^ (op.kind as u64) << 56 ^ (outcome as u64) << 48;
    me.history = mix(me.history ^ mix(what ^ result));
}

/// Keeps the round up to date that the running thread may be in, after an operation.
fn note_round(op: &Op, outcome: Outcome, changed: bool) {
    let thread = run().hot.tid;
    let values = run().hot.values;
    let hashing = run().hot.hashing;
    let me = run().me();
    let looked = match op.kind {
        OpKind::AtomicLoad | OpKind::Read => true,
        OpKind::AtomicRmw => !changed,
        kind => reads(kind) && outcome == Outcome::Failed,
    };
    match finds(op, thread) {
        Some(value) if looked && me.ring.pending => {
            if hashing {
                let head = &mut spins(usize::from(thread)).heads[me.ring.len];
                head.value = value;
                head.key = key(me, values, op, value);
            }
            me.ring.len += 1;
        }
        // Whoever locks and unlocks may still be in the same round.
        None if matches!(op.kind, OpKind::Lock | OpKind::Unlock) && outcome == Outcome::Done && me.ring.len > 0 => {
            me.ring.depth += if op.kind == OpKind::Lock { 1 } else { -1 };
            me.ring.moves = me.ring.moves.wrapping_add(1);
        }
        None if op.kind == OpKind::TryLock && outcome == Outcome::Done && me.ring.len > 0 => {
            me.ring.depth += 1;
            me.ring.moves = me.ring.moves.wrapping_add(1);
        }
        _ if is_private(op) => {}
        _ => me.ring.len = 0,
    }
    me.ring.pending = false;
}

/// Adds what the running thread is about to read to the hash of what it has read.
pub fn note_read(address: u64, size: u64) {
    let mut values = run().hot.values;
    let mut at = 0;
    while at < size {
        let log_size = (size - at).ilog2().min(3) as u8;
        values = mix(values ^ word(address + at, log_size));
        at += 1 << log_size;
    }
    run().hot.values = values;
    note_data(address, size, true);
}

/// The running thread is about to write to its own stack: what it reads there next is no news.
pub fn note_private_write(address: u64, size: u64) {
    note_data(address, size, false);
}

/// The running thread reads or writes data. What it has not touched since it last made progress is news in the round that it is in, but not
/// on a stack that is only its own.
fn note_data(address: u64, size: u64, reads: bool) {
    let (low, high) = run().hot.stack;
    if !(low..high).contains(&(address as usize)) {
        note_foreign(address);
    } else if !read_set::is_open(run().me().slot) {
        return;
    }
    let candidates = spins(usize::from(run().hot.tid));
    let round = run().me().ring.len;
    if round == 0 && candidates.touched.is_full() {
        candidates.touched.forget();
    }
    let is_new = candidates.touched.is_new(address, size);
    if is_new && reads && round > 0 {
        candidates.heads[round - 1].news = true;
    }
    if reads {
        locked_poll::note_read(address, size, is_new);
    }
}

/// The running thread accesses something that is not on its own stack. If it is on another one for the first time, there may be more to the
/// rounds of that thread.
pub fn note_foreign(address: u64) {
    if read_set::opens(address) {
        let found = &loops().found;
        if found.load(Relaxed) > 0 {
            found.fetch_add(1, Relaxed);
        }
        again();
    }
}

/// The running thread has read the time: the next time that it comes by, it may be too late for another round.
pub fn note_clock(now: u64) {
    run().me().ring.len = 0;
    locked_poll::forget();
    if run().hot.hashing {
        run().hot.values = mix(run().hot.values ^ now);
    }
}

/// The running thread has made progress.
pub fn forget() {
    run().hot.wrote = false;
    crate::sched::timeouts::progress();
    run().me().ring.len = 0;
    locked_poll::forget();
}

/// The thread that runs alone, or the end of the examination if it cannot.
pub fn alone() -> usize {
    let thread = loops().examine_thread.load(Relaxed) as usize;
    let plan = &mut keep().plan;
    plan.at = plan.len;
    if thread >= run().threads || enabled(thread) == Enabled::No {
        conclude_alone();
    }
    thread
}

/// Gives the run up, to let the running thread run alone from here in the next attempt; unless it is known what comes of
/// the read that it comes back from. The last round began at number `first`, and now the thread stands before number `len`.
fn examine(candidates: &Candidates, first: usize, len: usize) {
    let (key, pc) = (candidates.heads[len - 1].key, candidates.heads[len].op.pc);
    let loops = loops();
    let verdicts = place(pc).map_or(IN_VAIN, |place| place.load(Relaxed));
    if look_up(key).is_some() || (IN_VAIN..IS_LOOP).contains(&verdicts) {
        return;
    }
    let reads = &candidates.heads[first..len];
    if reads.iter().any(|head| finds(&head.op, run().hot.tid) != Some(head.value)) {
        // Alone it would read other values. So this is a round of a known loop if it looks like one.
        let explained = || explained(&candidates.heads[first], &candidates.heads[len]);
        if verdicts == IS_LOOP && !candidates.heads[len - 1].news && explained() {
            let locks = candidates.heads[first].moves != candidates.heads[len].moves;
            conclude(key, round(len - first, locks), pc);
        }
        return;
    }
    loops.examine_key.store(key, Relaxed);
    loops.examine_place.store(pc, Relaxed);
    loops.examine_thread.store(u32::from(run().hot.tid), Relaxed);
    loops.examine_at.store(run().steps, Relaxed);
    again();
}

/// A read was found to close a round, at whose beginning the thread stands.
fn conclude(key: u64, verdict: u64, pc: u64) {
    let loops = loops();
    let examined = loops.examine_at.swap(0, Relaxed) != 0;
    note_place(pc);
    let learned = insert(key | verdict);
    let asked = loops.examine_key.load(Relaxed);
    if examined && asked != key {
        // Its first round changed something.
        insert(asked);
    }
    if learned || examined {
        again();
    }
}

/// At this place threads wait busily.
pub fn note_place(pc: u64) {
    if place(pc).is_some_and(|place| place.swap(IS_LOOP, Relaxed) != IS_LOOP) {
        loops().found.fetch_add(1, Relaxed);
    }
}

/// The thread that ran alone goes on.
fn conclude_alone() -> ! {
    let loops = loops();
    loops.examine_at.store(0, Relaxed);
    insert(loops.examine_key.load(Relaxed));
    if let Some(place) = place(loops.examine_place.load(Relaxed)) {
        place.fetch_add(1, Relaxed);
    }
    again()
}

/// Starts the run anew.
pub fn again() -> ! {
    run().hot.controlled = false;
    keep().event = Handover::Again;
    loop {
        sched::to_controller();
    }
}

/// The verdict about a read, 0 if the thread goes on after it; `None` if nothing is known of it.
pub fn look_up(key: u64) -> Option<u64> {
    let table = &loops().table;
    // A program may have written over the table: the search has an end all the same.
    for step in 0..LOOP_ENTRIES {
        match table[((key as usize >> 8) + step) % LOOP_ENTRIES].load(Relaxed) {
            0 => return None,
            entry if entry & !VERDICT == key => return Some(entry & VERDICT),
            _ => {}
        }
    }
    None
}

/// Adds an entry; false if there is one for this read, or no room.
pub fn insert(entry: u64) -> bool {
    let loops = loops();
    // A table that is nearly full is slow, and one that is full has no end.
    if loops.used.load(Relaxed) as usize > LOOP_ENTRIES * 3 / 4 || look_up(entry & !VERDICT).is_some() {
        return false;
    }
    let mut index = (entry & !VERDICT) as usize >> 8;
    loop {
        index %= LOOP_ENTRIES;
        if loops.table[index].load(Relaxed) == 0 {
            loops.table[index].store(entry, Relaxed);
            loops.used.fetch_add(1, Relaxed);
            return true;
        }
        index += 1;
    }
}

/// Verdicts about the loop to which threads come back at this place; `None` if there are too many places.
fn place(pc: u64) -> Option<&'static core::sync::atomic::AtomicU64> {
    let places = loops().places.as_chunks::<2>().0;
    let start = mix(pc) as usize;
    (0..LOOP_PLACES).map(|n| &places[(start.wrapping_add(n)) % LOOP_PLACES]).find_map(|[at, verdicts]| {
        let _ = at.compare_exchange(0, pc, Relaxed, Relaxed);
        (at.load(Relaxed) == pc).then_some(verdicts)
    })
}

/// The value of a word of 1 to 8 bytes; a hash of a wider one.
pub fn word(address: u64, log_size: u8) -> u64 {
    if crate::interpose::thread::lifecycle::is_life_word(address) {
        return crate::interpose::thread::lifecycle::life_word(address);
    }
    // SAFETY: the program reads these bytes at this very moment, or has just read them in its loop.
    unsafe {
        match log_size {
            0 => u64::from(*(address as *const u8)),
            1 => u64::from((address as *const u16).read_unaligned()),
            2 => u64::from((address as *const u32).read_unaligned()),
            3 => (address as *const u64).read_unaligned(),
            _ => mix((address as *const u64).read_unaligned() ^ mix((address as *const u64).add(1).read_unaligned())),
        }
    }
}

/// The two windows of the stack that a loop's variables live in, for these registers.
pub fn windows(registers: &Registers) -> ((usize, usize), (usize, usize)) {
    let (low, high) = run().hot.stack;
    let sp = registers.sp as usize;
    let above = if low <= sp && sp < high { (high - sp).min(ABOVE_STACK_POINTER) } else { 0 };
    let frame = registers.frame_pointer();
    let below = if sp < frame && frame < high { (frame - sp).min(BELOW_FRAME_POINTER) } else { 0 };
    ((sp, above), (frame - below, below))
}

/// Hash of the running thread's stack from there on.
fn further_up(start: usize) -> u64 {
    let end = run().hot.stack.1.min(start + FURTHER_UP);
    let words = (start.next_multiple_of(8)..end.saturating_sub(7)).step_by(8);
    // SAFETY: the words lie within the running thread's stack.
    words.fold(0, |hash, word| mix(hash ^ unsafe { *(word as *const u64) }))
}

/// Takes down how the running thread stands before the operation.
pub fn remember(head: &mut Head, op: &Op) {
    let now = registers();
    let ((sp, above), (frame, below)) = windows(&now);
    head.op = *op;
    head.news = false;
    head.registers = now;
    head.stack_len = above as u16;
    head.frame_len = below as u16;
    head.far = further_up(sp + above);
    // SAFETY: both windows lie within the running thread's stack, above its stack pointer.
    unsafe {
        core::ptr::copy_nonoverlapping(sp as *const u8, head.stack.as_mut_ptr(), above);
        core::ptr::copy_nonoverlapping(frame as *const u8, head.frame.as_mut_ptr(), below);
    }
}
