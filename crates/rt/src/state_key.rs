//! The key of the state between two transitions, by which a search recognises states.
//!
//! Equal keys must mean equal futures. So the key covers all that the future of a run depends on,
//! and leaves out only what it cannot depend on:
//!
//! * Memory that differs from the root: each word with its address. A state in which very many
//!   words differ has no key: comparing it would cost more than it saves.
//! * The stack of a live thread: from its stack pointer up, without bytes that are dead
//!   ([`crate::liveness`]) and to which no pointer leads ([`stack_pointers`]). Liveness is wrong
//!   where an exception or `longjmp` ends a frame. Once that happens in any run, states are no
//!   longer compared. Earlier comparisons stay valid, because dead bytes made no difference up to
//!   there.
//! * Stack and thread-local storage of a thread that has ended, and the stack of one that has not
//!   started, are left out: nothing reads them. That does not hold for a stack that the creator
//!   chose.
//! * What the C library draws at random for a process is left out of words that hold it, or have it
//!   mixed in ([`ProcessGuards`]): a state has the same key in every process.
//! * What standard output holds in its buffer is left out: only its amount matters.
//! * Callee-saved registers and floating point control: as they were when the thread entered the
//!   runtime, without dead ones.
//! * What the call was given: its arguments, and what the runtime has read of the memory that they
//!   point to ([`holds`]). The caller may have no other copy. Where a stub does not know its
//!   arguments, there is no key; nor is there before input and output, behind which there is none.
//! * What the runtime keeps for each thread: pending operation, wait, and what the program can
//!   notice, by spawn path. Where it keeps such things in memory by a thread's number in the run,
//!   the number counts.
//! * Of a thread that has ended, what it leaves to the one that joins it: its result, its slot, and
//!   the blocks of other threads' arenas that it has freed.
//! * The tables of the runtime about objects are left out. They follow from the events, and the
//!   host adds their state.
//! * Threads that wait busily: a round that is left out begins and ends where its thread is held,
//!   so it leads from the state to itself, and it makes no difference how a thread came there. Only
//!   the data that it has read since it last made progress counts, because a round is performed the
//!   first time that it reads something. Where a thread is held behind the beginning of its round,
//!   it does matter how it came there: a state inside such a round has no key.
//! * What else is known of spin loops is left out. It only grows, and decides which rounds are left
//!   out.
//! * The kernel's state, timers, waits for a queue of descriptors with a time-out, and named
//!   semaphores are left out: a run that has used them has no keys from there on. Nor has a state
//!   inside an atomic section. Hidden state of the C library, such as that of `rand`, is memory.
//! * Virtual time: the clocks of threads and those that they have published at objects, with what
//!   decides by how much readings advance them ([`virtual_time::digest`]). A clock that can make no
//!   difference any more is left out. All of it is left out as long as no thread reads its clock,
//!   in any run: then no future depends on it. When one does so for the first time, the search
//!   starts again.
//! * Waits with time-outs: whether the thread may time out once more depends on what its rounds
//!   have changed since they began. While it is in such a round, its whole past counts
//!   ([`timeouts::digest`]). Deadlines are what the call holds.
//!
//! All threads stand before an operation when a key is made. A thread on a stack of its own making,
//! or that has entered the runtime by another way than its stubs, has registers that are not known:
//! then there is no key.

use raddle_vocab::OpKind;
use raddle_vocab::policy::mix;
use raddle_wire::no_key;
use raddle_wire::record::flag;

use crate::arch::context::float_state;
use crate::arch::entry::{CallArguments, Registers, registers, take_call};
use crate::arch::tls;
use crate::arch::{ADDRESS_BITS, PAGE};
use crate::interpose::io::descriptors::channel;
use crate::interpose::io::{channels, effects, net, queues, streams};
use crate::liveness::Frames;
use crate::restore::undo;
use crate::sched::{timeouts, virtual_time};
use crate::spinloop::{detector, knowledge};
use crate::stack_pointers::{self, LiveStack, Pointers};
use crate::state::{
    AnnouncedOp, Fiber, Global, ThreadStatus, WaitStage, entries, keys, loop_candidates, process, run, runtime_ranges,
};
use crate::trace;

/// How a thread entered the runtime for the operation that it is before.
#[derive(Clone, Copy)]
pub struct Entry {
    registers: Registers,
    arguments: CallArguments,
    /// What the call holds beside its arguments.
    held: u64,
    /// Floating point units.
    float: u64,
    /// Whether the rest is what the thread goes on with.
    is_known: bool,
}

impl Entry {
    /// Of no call.
    pub const NONE: Entry =
        Entry { registers: Registers::NONE, arguments: CallArguments::NONE, held: 0, float: 0, is_known: false };
}

/// The running thread is in a call that will use this value, which is no argument of it.
#[inline(always)]
pub fn holds(value: u64) {
    let held = &mut run().held;
    *held = held.rotate_left(1).wrapping_add(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
}

/// What the running thread's call has held so far makes no difference to what it does next.
#[inline(always)]
pub fn holds_nothing() {
    run().held = 0;
}

/// The running thread is in a call that goes on with its arguments, what keys cover and this value,
/// and with nothing else: an operation of it that is not the first one may be compared, too.
pub fn goes_on_with(value: u64) {
    holds(value);
    run().goes_on = true;
}

/// Whether the operation is the second half of one that began with the same call. A lock behind
/// another operation of its call ends a timed wait; the thread's stage says how it ended.
fn is_second_half(kind: OpKind) -> bool {
    use OpKind::{BarrierLeave, CondReacquire, CondResume, FutexResume};
    matches!(kind, CondReacquire | CondResume | FutexResume | BarrierLeave)
        || kind == OpKind::Lock && matches!(run().me().wait, WaitStage::Resumed { .. })
}

/// Whether what the thread goes on with follows from its arguments and what keys cover.
fn is_followed(op: &AnnouncedOp) -> bool {
    op.kind != OpKind::Io || effects::is_all_kept(op)
}

/// The running thread is about to stop before the operation.
pub fn arrived(op: &AnnouncedOp) {
    let run = run();
    let (low, high) = run.hot.stack;
    let entry = entries(run.hot.tid as usize);
    let (now, here) = (registers(), &raw const low as usize);
    let held = core::mem::take(&mut run.held);
    let uses_memory_only = core::mem::take(&mut run.uses_memory_only);
    let goes_on = core::mem::take(&mut run.goes_on);
    let is_own = |address: usize| (low..high).contains(&address);
    match take_call() {
        // The first operation of a call.
        Some(call) if is_own(now.sp as usize) => {
            let is_known = is_own(here) && call.pc == op.pc && (uses_memory_only || is_in_registers(&call, op));
            *entry = Entry { registers: now, arguments: call, held, float: float_state(), is_known };
        }
        // Its registers are those of the call.
        _ if goes_on => (entry.held, entry.is_known) = (held, entry.is_known && is_followed(op)),
        // What the runtime has found out by the first one is not known.
        _ => entry.is_known &= is_second_half(op.kind),
    }
}

/// Whether all that the operation was given is known from registers.
fn is_in_registers(call: &CallArguments, op: &AnnouncedOp) -> bool {
    call.values().is_some() && is_followed(op)
}

/// Records the key of the present state, behind the schedule. Where one thread alone can step,
/// there is none: the state behind its step says as much.
pub fn record() {
    trace::key(0, obstacle().map_or_else(key, |why| [0, why]));
}

/// Runs whose ends are all checked, and which ones are later: the check costs more than a short
/// run.
const CLOSELY: u32 = 64;
const SPARSELY: u32 = 64;

/// At the end of a run: keys mean nothing if it has changed something that was not noticed, or has
/// left functions in a way that is not followed, or filled a channel.
pub fn check_end() {
    let runs = undo::runs();
    let is_due = runs < CLOSELY || runs.is_multiple_of(SPARSELY);
    if run().has_landed || run().is_crowded || is_due && !undo::is_all_in_memory(is_covered) {
        trace::key(flag::PENDING, [0; 2]);
    }
}

/// Whether keys cover what the descriptor refers to.
fn is_covered(descriptor: usize) -> bool {
    let number = descriptor as i32;
    net::of(number).is_some() || queues::is_made(descriptor) || channels::is_kept(channel(number))
}

/// Whether the thread is one of the runtime's: the other side of a connection.
fn is_party(fiber: &Fiber) -> bool {
    fiber.private.party.is_some()
}

/// Why the state is not all in memory, or not known, as a word for the host; `None` if it can be
/// compared.
fn obstacle() -> Option<u64> {
    let run = run();
    let of_run = [
        (!process().snapshot.is_taken(), no_key::NO_SNAPSHOT),
        (undo::has_changes(), no_key::KERNEL),
        (run.used_files, no_key::FILES),
        (run.is_crowded, no_key::CROWDED),
        (run.waits_timed, no_key::TIMED_WAIT),
        (run.timers.is_used(), no_key::TIMER),
        (run.signals.is_used(), no_key::SIGNAL),
        (run.stream_locks.is_used(), no_key::STREAM),
        (run.names.is_used(), no_key::NAMES),
        (run.section.is_entered(), no_key::SECTION),
    ];
    if let Some((_, reason)) = of_run.into_iter().find(|(is_so, _)| *is_so) {
        return Some(no_key::word(reason, 0, 0));
    }
    (0..run.threads).find_map(|tid| {
        let reason = obstacle_of(tid)?;
        Some(no_key::word(reason, tid as u16, run.fibers[tid].pending.pc))
    })
}

/// Why what a thread does next is not known.
fn obstacle_of(tid: usize) -> Option<u8> {
    let fiber = &run().fibers[tid];
    let is_followed = !fiber.is_live() || is_fresh(fiber) || is_party(fiber) || entries(tid).is_known;
    match () {
        () if detector::is_inside_round(tid) => Some(no_key::ROUND),
        () if is_between_accesses(fiber) => Some(no_key::ACCESS),
        () if !timeouts::is_known(tid) => Some(no_key::TIMED_WAIT),
        () if !is_followed => Some(no_key::CALL),
        () => None,
    }
}

/// Whether the thread stands in the middle of a transition. What it does next does not follow from
/// its operation.
fn is_between_accesses(fiber: &Fiber) -> bool {
    fiber.status == ThreadStatus::AtAccess
}

/// Whether the thread has not begun, or has nothing left to do.
fn is_fresh(fiber: &Fiber) -> bool {
    matches!(fiber.pending.kind, OpKind::ThreadStart | OpKind::ThreadEnd)
}

/// Two sums of hashes, so that the order of what is added does not matter.
struct Sum([u64; 2]);

impl Sum {
    #[inline(always)]
    fn add(&mut self, name: u64, value: u64) {
        const ODD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];
        let spread = name.wrapping_mul(ODD[0]) ^ value.rotate_left(32).wrapping_mul(ODD[1]);
        self.0[0] = self.0[0].wrapping_add(mix(spread ^ value));
        self.0[1] = self.0[1].wrapping_add(mix(spread.wrapping_add(name).wrapping_mul(ODD[1]) ^ !value));
    }
}

fn key() -> [u64; 2] {
    let mut sum = Sum([1, 0]);
    let run = run();
    for tid in 0..run.threads {
        sum.add(run.fibers[tid].key, thread(tid));
    }
    let shared = [run.token_position as u64, run.exit.map_or(0, |exit| 1 + u64::from(exit.cast_unsigned()))];
    sum.add(1, words(run.exit_handlers.digest() ^ run.settings.digest(), &shared));
    for rank in 0..run.threads {
        sum.add(2 + rank as u64, u64::from(run.slot_children[rank]));
    }
    if knowledge::are_clocks_read() {
        virtual_time::digest(|name, value| sum.add(name, value));
    }
    queues::digest(|name, value| sum.add(name, value));
    let is_known = net::digest::digest(|name, value| sum.add(name, value))
        && channels::digest(|name, value| sum.add(name, value))
        && memory(&mut sum);
    if is_known { sum.0 } else { [0, no_key::word(no_key::TOO_MUCH, 0, 0)] }
}

fn words(start: u64, words: &[u64]) -> u64 {
    words.iter().fold(start, |hash, &word| mix(hash ^ word))
}

/// Names a thread whose slot may be used again, whatever its number in the run; 0 stands for none.
fn name(tid: u16) -> u64 {
    if tid == 0 { 0 } else { run().fibers[usize::from(tid)].key }
}

/// What the runtime keeps for a thread, and its registers.
fn thread(tid: usize) -> u64 {
    let fiber = &run().fibers[tid];
    let private = &fiber.private;
    let status = match fiber.status {
        ThreadStatus::AtSpinRead => ThreadStatus::Pending,
        status => status,
    };
    let status = status as u64 | u64::from(fiber.joined) << 8 | u64::from(fiber.detached) << 9;
    let hash = words(status, &[u64::from(fiber.slot), u64::from(fiber.children)]);
    if !fiber.is_live() {
        let result = if fiber.joined { 0 } else { fiber.result as u64 };
        // The thread that joins it uses its slot again, and the blocks that it has freed.
        let mapped =
            [fiber.mapped_bytes, private.low_mapped_bytes, private.large_mapped_bytes].map(|bytes| bytes as u64);
        let hash = words(hash, &mapped);
        let left = [name(private.reusable), name(private.next_reusable), fiber.foreign_frees as u64];
        return words(words(hash, &[result]), &left);
    }
    let op = &fiber.pending;
    let wait = match fiber.wait {
        WaitStage::None => [0, 0],
        WaitStage::Queued { obj, mutex, timed } => [1 + u64::from(timed), obj ^ mutex.rotate_left(32)],
        WaitStage::Woken => [3, 0],
        WaitStage::Arrived { obj } => [4, obj],
        WaitStage::Released { obj, serial } => [5 + u64::from(serial), obj],
        WaitStage::Resumed { timed_out } => [7 + u64::from(timed_out), 0],
    };
    let hash = words(
        hash,
        &[
            op.kind as u64 | u64::from(op.order) << 8 | u64::from(op.log_size) << 16,
            op.obj,
            op.arg,
            op.pc,
            wait[0],
            wait[1],
            fiber.blocked,
            u64::from(fiber.spurious_left) | u64::from(fiber.ignoring) << 32,
            u64::from(fiber.channels) | u64::from(fiber.temporary_files) << 32,
            fiber.mapped_bytes as u64,
            private.low_mapped_bytes as u64,
            private.large_mapped_bytes as u64,
            fiber.foreign_frees as u64,
        ],
    );
    let hash = words(
        hash,
        &[
            name(private.reusable),
            name(private.next_reusable),
            u64::from(private.keys),
            private.exit_pc,
            private.spare_semaphore,
            private.cleanup as u64,
            private.robust,
            u64::from(private.random_words) | u64::from(private.signalled) << 32,
            private.pending_signals,
            private.signal_stack.0 as u64,
            private.cancel.digest(),
            private.settings.digest(),
            private.schedule.map_or(0, |schedule| schedule.digest()),
            u64::from_le_bytes(*private.name.first_chunk().unwrap_or(&[0; 8])),
            u64::from_le_bytes(*private.name.last_chunk().unwrap_or(&[0; 8])),
        ],
    );
    // Thread-specific data and affinities lie in tables by run-local numbers, which follow from the
    // order of creation.
    let row = if keys().is_used(tid) || run().has_affinities { 1 + tid as u64 } else { 0 };
    let hash = words(hash, &[net::digest::of_thread(fiber), timeouts::rests(fiber), timeouts::digest(tid), row]);
    if is_party(fiber) {
        return hash;
    }
    if is_fresh(fiber) {
        return words(hash, &[fiber.entry.0 as u64, fiber.entry.1 as u64, fiber.result as u64]);
    }
    let read = if run().hot.hashing { loop_candidates(tid).read_set.digest() } else { 0 };
    let entry = entries(tid);
    let hash = words(hash, &[entry.float, entry.registers.sp, entry.held, read]);
    let hash = words(hash, entry.arguments.values().unwrap_or_default());
    let frames = Frames::of(fiber.stack, &entry.registers, op.pc);
    frames.live_registers(&entry.registers).iter().fold(hash, |hash, &word| mix(hash ^ word))
}

/// Memory of a thread: its stack, and behind it thread-local storage.
#[derive(Clone, Copy)]
struct ThreadMemory {
    low: usize,
    end: usize,
}

/// Bytes behind a thread pointer that belong to the thread.
const THREAD_BLOCK: usize = 0x1000;
/// Threads whose memory is told apart; a run with more has their whole memory in its keys.
const MOST: usize = 64;

/// The memory of threads; too large for the stack of a thread.
struct Threads {
    list: [ThreadMemory; MOST],
    stacks: [LiveStack; MOST],
    len: usize,
}

static THREADS: Global<Threads> =
    Global::new(Threads { list: [ThreadMemory { low: 0, end: 0 }; MOST], stacks: [LiveStack::NONE; MOST], len: 0 });

fn is_whole_pages((low, high): (usize, usize)) -> bool {
    low.is_multiple_of(PAGE) && high.is_multiple_of(PAGE)
}

/// The memory of the threads of the run, and their live stacks.
fn threads() -> (&'static [ThreadMemory], &'static [LiveStack]) {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let Threads { list, stacks, len } = unsafe { &mut *THREADS.get() };
    *len = 0;
    for tid in 0..run().threads.min(MOST) {
        let fiber = &run().fibers[tid];
        let (low, high) = fiber.stack;
        let is_of_pool = tid == 0 || process().pool[fiber.slot as usize].stack == fiber.stack;
        if !is_of_pool && (!fiber.is_live() || !is_whole_pages(fiber.stack)) {
            // The program's own memory, which it may use again, and for something else beside.
            continue;
        }
        // The storage of main is elsewhere.
        let storage = fiber.thread_pointer as usize + THREAD_BLOCK;
        let end = if tid == 0 || storage < high || fiber.is_live() { high } else { storage };
        // Nothing is live of a stack whose thread has ended or not begun.
        let stack = if !fiber.is_live() || is_fresh(fiber) || is_party(fiber) {
            LiveStack { live: (high, high), ..LiveStack::NONE }
        } else {
            LiveStack::of(fiber.stack, &entries(tid).registers, fiber.pending.pc)
        };
        // A later user of a stack takes its place.
        let at = (0..*len).find(|&at| list[at].low == low).unwrap_or(*len);
        list[at] = ThreadMemory { low, end };
        stacks[at] = stack;
        *len = (*len).max(at + 1);
    }
    (&list[..*len], &stacks[..*len])
}

/// Adds what the pages that were written hold now, where that differs from the root; false if that
/// is too much.
fn memory(sum: &mut Sum) -> bool {
    let (table, stacks) = threads();
    let different = different();
    if !different.collect(table, stacks) {
        return false;
    }
    let pointers = pointers(stacks, different);
    let guards = ProcessGuards::now();
    for &ChangedWord { at, word, owner } in different.words() {
        let mask = stacks.get(owner).map_or(u64::MAX, |stack| pointers.live_bytes(stack, at));
        if mask == u64::MAX {
            let (tag, word) = guards.without(word);
            sum.add(at as u64 ^ tag, word);
        } else if mask != 0 {
            sum.add(at as u64, word & mask);
        }
    }
    true
}

/// Numbers that differ from process to process.
struct ProcessGuards {
    stack: u64,
    pointer: u64,
}

impl ProcessGuards {
    /// Tell words with such a number from others: addresses of words are even.
    const ON_STACK: u64 = 1;
    const IN_POINTER: u64 = 3;
    /// Addresses of programs are below.
    const HIGHEST: u64 = 1 << ADDRESS_BITS;

    fn now() -> Self {
        let [stack, pointer] = tls::guards();
        ProcessGuards { stack, pointer }
    }

    /// The word without the numbers, and a tag that says whether it had one: different words give
    /// different pairs.
    #[inline(always)]
    fn without(&self, word: u64) -> (u64, u64) {
        if word == self.stack {
            return (Self::ON_STACK, 0);
        }
        let address = tls::unmixed(word, self.pointer);
        if address < Self::HIGHEST { (Self::IN_POINTER, address) } else { (0, word) }
    }
}

/// Words of a page, and of a part that is compared at once.
const WORDS: usize = PAGE / size_of::<u64>();
const PART: usize = 8;
/// Words that may differ from the root; a state with more of them is not compared.
const MOST_WORDS: usize = 1 << 15;

/// A word that differs from the root.
#[derive(Clone, Copy)]
struct ChangedWord {
    at: usize,
    word: u64,
    /// Number of the thread's entry in the table, if the word lies in a live stack; else none that
    /// is in the table.
    owner: usize,
}

/// Words that differ from the root.
struct ChangedWords {
    list: [ChangedWord; MOST_WORDS],
    len: usize,
}

static CHANGED: Global<ChangedWords> =
    Global::new(ChangedWords { list: [ChangedWord { at: 0, word: 0, owner: 0 }; MOST_WORDS], len: 0 });

fn different() -> &'static mut ChangedWords {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *CHANGED.get() }
}

impl ChangedWords {
    fn words(&self) -> &[ChangedWord] {
        &self.list[..self.len]
    }

    /// Collects the words that differ. What only the runtime uses, what is below or behind a live
    /// stack, and what standard output holds is left out. False if they are too many.
    fn collect(&mut self, table: &[ThreadMemory], stacks: &[LiveStack]) -> bool {
        self.len = 0;
        let snapshot = &process().snapshot;
        let output = streams::output_buffer();
        for index in 0..snapshot.hot_pages() {
            let (address, root) = snapshot.hot_page(index);
            let is_runtime = runtime_ranges().iter().any(|&(start, bytes)| (start..start + bytes).contains(&address));
            if is_runtime || output.start <= address && address + PAGE <= output.end {
                continue;
            }
            let owner = table.iter().position(|memory| memory.low <= address && address < memory.end);
            let own = owner.map(|owner| &stacks[owner]);
            if own.is_some_and(|own| address + PAGE <= own.live.0 || address >= own.live.1) {
                continue;
            }
            // SAFETY: both are pages that can be read.
            let (now, before) = unsafe { (&*(address as *const [u64; WORDS]), &*root.cast::<[u64; WORDS]>()) };
            let is_wanted = |at: usize| own.is_none_or(|own| own.contains(at)) && !output.contains(&at);
            if !self.compare(address, now, before, owner.unwrap_or(usize::MAX), is_wanted) {
                return false;
            }
        }
        true
    }

    fn compare(
        &mut self,
        address: usize,
        now: &[u64; WORDS],
        before: &[u64; WORDS],
        owner: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> bool {
        for (part, (now, before)) in now.chunks_exact(PART).zip(before.chunks_exact(PART)).enumerate() {
            let differs = now.iter().zip(before).fold(0, |differs, (now, before)| differs | now ^ before);
            if differs == 0 {
                continue;
            }
            for (index, (&word, _)) in now.iter().zip(before).enumerate().filter(|(_, (now, before))| now != before) {
                let at = address + (part * PART + index) * size_of::<u64>();
                if is_wanted(at) {
                    let Some(place) = self.list.get_mut(self.len) else { return false };
                    *place = ChangedWord { at, word, owner };
                    self.len += 1;
                }
            }
        }
        true
    }
}

/// The pointers to live stacks in memory that differs from the root, in registers, and in what the
/// runtime keeps for threads.
fn pointers(stacks: &[LiveStack], different: &ChangedWords) -> &'static Pointers {
    let pointers = stack_pointers::none(stacks);
    for tid in 0..run().threads {
        pointers.add_kept(&run().fibers[tid], stacks);
        pointers.add_pending(&run().fibers[tid], stacks);
        let entry = entries(tid);
        pointers.add_registers(&entry.registers, stacks);
        for &word in entry.arguments.values().unwrap_or_default() {
            pointers.add_argument(word, entry.registers.sp as usize, stacks);
        }
    }
    let mut words = different.words().iter().peekable();
    while let Some(&ChangedWord { at, word, owner }) = words.next() {
        let next = words.peek().filter(|next| next.at == at + size_of::<u64>()).map_or(0, |next| next.word);
        let both = u128::from(next) << u64::BITS | u128::from(word);
        // A pointer may begin in the middle, in a structure that is packed.
        for byte in 0..size_of::<u64>() {
            let word = (both >> (8 * byte)) as u64;
            if !pointers.may_lead_to_one(word as usize) {
                continue;
            }
            if owner < stacks.len() { pointers.add_from(word, at, stacks) } else { pointers.add(word, stacks) }
        }
    }
    pointers.settle(stacks);
    pointers
}
