//! A round under observation: what a thread changes between two stops, by whatever code.
//!
//! # Obligation
//! A round may be folded only if the thread is at its end in the very state in which it began: then
//! it repeats the round for as long as it reads the same. The state is
//! * its registers, the control and status words of the floating point units included;
//! * its whole stack from the stack pointer up. Registers that are dead ([`liveness`]) may differ,
//!   and so may bytes that are dead and to which no pointer leads ([`stack_pointers`]);
//! * all other memory that a run may write: the pages that were ever written, the others being
//!   read-only, and the mappings that the run has made;
//! * what the runtime keeps for the program: thread-specific data, cancellation, signal masks,
//!   descriptors, names;
//! * the kernel's state: a system call that is not known to be pure ends the proof. While the
//!   thread is observed, the kernel reports every system call from outside the runtime (Syscall
//!   User Dispatch).
//!
//! Other threads may run in between. What they change does not count, not even on this thread's
//! stack: memory is compared whenever the thread is switched out. A word that the thread itself has
//! changed must hold at the end what it held before its first change.
//!
//! # What it misses
//! Writes to shared mappings by code without hooks; system calls on a kernel without Syscall User
//! Dispatch (before Linux 5.11), as far as the runtime does not replace the function.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use raddle_vocab::policy::mix;

use crate::arch::PAGE;
use crate::arch::entry::{Registers, registers};
use crate::arch::{context, signal};
use crate::interpose::io::overlay::overlay;
use crate::liveness;
use crate::restore::undo;
use crate::sched::virtual_time;
use crate::stack_pointers::{self, ByteUse, Holders, LiveStack, Pointers};
use crate::state::{Fiber, Global, ThreadStatus, process, run, runtime_ranges};
use crate::syscall::maps::Maps;
use crate::syscall::{self, syscall};

/// Bytes of a stack that are compared, at most; a round on a larger one is not folded.
const LARGEST_STACK: usize = 16 << 20;
/// Bytes of mappings that the run has made, at most.
const LARGEST_MAPPINGS: usize = 64 << 20;
/// Bytes of the stack that may differ and be dead, at most.
const MOST_DEAD: usize = 4096;

/// Hot pages of the snapshot that are compared, at most; a round of a run with more is not folded.
const MOST_PAGES: usize = 1 << 14;
/// Words outside the stack that the thread may change and restore, at most.
const MOST_WORDS: usize = 256;

/// The observation under way. It belongs to the process and is never restored.
struct Observation {
    thread: u16,
    registers: Registers,
    /// Floating point units.
    float: u64,
    /// Copy of the live stack.
    stack: *mut u8,
    stack_len: usize,
    /// What was there when the thread was last left.
    left_stack: *mut u8,
    /// The snapshot's hot pages, as they were when the thread last went on.
    pages: *mut u8,
    page_count: usize,
    /// Words that the thread has changed, and what they held before.
    changed: [(usize, u64); MOST_WORDS],
    changed_count: usize,
    /// Hash of what is compared as a whole.
    rest: u64,
    /// Whether anything was changed for good.
    spoilt: bool,
    /// Whether a word may have changed from one value to the other all the same.
    may_differ: fn(u64, u64) -> bool,
}

static OBSERVATION: Global<Observation> = Global::new(Observation {
    thread: 0,
    registers: Registers::NONE,
    float: 0,
    stack: core::ptr::null_mut(),
    stack_len: 0,
    left_stack: core::ptr::null_mut(),
    pages: core::ptr::null_mut(),
    page_count: 0,
    changed: [(0, 0); MOST_WORDS],
    changed_count: 0,
    rest: 0,
    spoilt: false,
    may_differ: |_, _| false,
});

/// Whether a thread is under observation.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// What the kernel does with system calls from outside the runtime.
static SELECTOR: AtomicU8 = AtomicU8::new(ALLOW);
/// It makes them.
pub const ALLOW: u8 = 0;
/// It reports them.
pub const BLOCK: u8 = 1;

/// Operation and modes of `prctl`.
const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;
const DISPATCH_OFF: usize = 0;
const DISPATCH_ON: usize = 1;
/// Code of the signal that reports a system call.
pub const SYS_USER_DISPATCH: i32 = 2;

fn observation() -> &'static mut Observation {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *OBSERVATION.get() }
}

/// Whether a thread is under observation.
#[inline(always)]
pub fn is_active() -> bool {
    ACTIVE.load(Relaxed)
}

/// Begins to observe the running thread, which has just entered the runtime. False if that cannot
/// be done.
pub fn begin() -> bool {
    end();
    let this = observation();
    if !this.make_room() || !process().snapshot.is_taken() {
        return false;
    }
    let now = registers();
    let Some((start, len)) = live_stack(&now) else { return false };
    (this.thread, this.registers, this.float) = (run().hot.tid, now, context::float_state());
    this.stack_len = len;
    this.spoilt = false;
    this.changed_count = 0;
    // SAFETY: the live stack is readable, and the copy has room for it.
    unsafe { core::ptr::copy_nonoverlapping(start as *const u8, this.stack, len) };
    ACTIVE.store(true, Relaxed);
    let (start, end) = crate::sched::startup::module_range();
    dispatch((start, end), &SELECTOR);
    this.note_present();
    SELECTOR.store(BLOCK, Relaxed);
    true
}

/// Lets the kernel report system calls from outside the range, where the selector says so. False if
/// it cannot: it lacks the operation before Linux 5.11.
pub fn dispatch((start, end): (usize, usize), selector: &'static AtomicU8) -> bool {
    let selector = selector.as_ptr();
    // SAFETY: the selector lives for ever.
    unsafe { syscall!(libc::SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, start, end - start, selector) == 0 }
}

/// Lets system calls take their usual way again.
pub fn stop_dispatch() {
    // SAFETY: no operands that are pointers.
    unsafe { syscall!(libc::SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_OFF, 0usize, 0usize, 0usize) };
}

/// Ends the observation, if there is one.
pub fn end() {
    if is_active() {
        ACTIVE.store(false, Relaxed);
        SELECTOR.store(ALLOW, Relaxed);
        stop_dispatch();
    }
}

/// What a thread has changed in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// Words that look like times.
    Time,
    More,
}

/// Ends the observation of the running thread, which has just entered the runtime and would go on
/// at `pc`. Says what it has changed since the observation began.
pub fn change(pc: u64) -> Change {
    let nothing = is_unchanged(pc, |_, _| false);
    let change = match nothing {
        true => Change::Nothing,
        false if is_unchanged(pc, virtual_time::explains) => Change::Time,
        false => Change::More,
    };
    end();
    change
}

/// The same; true if it is in the state in which the observation began.
pub fn has_changed_nothing(pc: u64) -> bool {
    let unchanged = is_unchanged(pc, |_, _| false);
    end();
    unchanged
}

fn is_unchanged(pc: u64, may_differ: fn(u64, u64) -> bool) -> bool {
    let this = observation();
    this.may_differ = may_differ;
    let is_mine = is_active() && this.thread == run().hot.tid && process().snapshot.is_taken();
    if is_mine && !this.spoilt {
        this.note_changes();
    }
    is_mine && !this.spoilt && this.is_restored() && this.is_where_it_was(pc)
}

/// The running thread is left for another one, or for the controller.
#[cold]
pub fn leaving() {
    let this = observation();
    if run().hot.tid == this.thread {
        SELECTOR.store(ALLOW, Relaxed);
        if !this.spoilt {
            this.note_changes();
            this.note_stack();
        }
    }
}

/// The running thread goes on.
#[cold]
pub fn going_on() {
    let this = observation();
    if run().hot.tid == this.thread {
        if !this.spoilt {
            this.note_present();
            this.accept_stack();
        }
        SELECTOR.store(BLOCK, Relaxed);
    }
}

/// The observed thread does something that no proof covers.
pub fn spoil() {
    if is_active() {
        observation().spoilt = true;
    }
}

/// The kernel reports a system call of the observed thread. It is made: at once if it is pure,
/// otherwise by the program, when the handler has returned.
pub fn on_system_call(interrupted: &mut libc::ucontext_t) {
    let number = signal::system_call(interrupted);
    if is_pure(number) {
        // SAFETY: it has no operands that are pointers.
        let result = unsafe { syscall::call(number, [0; 6]) };
        signal::answer_system_call(interrupted, result);
    } else {
        observation().spoilt = true;
        SELECTOR.store(ALLOW, Relaxed);
        signal::repeat_system_call(interrupted);
    }
}

/// Whether a system call changes nothing and always gives the same answer.
fn is_pure(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_sched_yield
            | libc::SYS_getpid
            | libc::SYS_gettid
            | libc::SYS_getppid
            | libc::SYS_getuid
            | libc::SYS_geteuid
            | libc::SYS_getgid
            | libc::SYS_getegid
    )
}

/// Start and length of the running thread's live stack; `None` if it is on another stack, or has
/// too large a one.
fn live_stack(now: &Registers) -> Option<(usize, usize)> {
    let (low, high) = run().hot.stack;
    let sp = now.sp as usize;
    (low <= sp && sp < high && high - sp <= LARGEST_STACK).then_some((sp, high - sp))
}

impl Observation {
    fn make_room(&mut self) -> bool {
        if self.stack.is_null() {
            let (stack, left) = (syscall::map(LARGEST_STACK), syscall::map(LARGEST_STACK));
            let pages = syscall::map(MOST_PAGES * PAGE);
            let (Some(stack), Some(left), Some(pages)) = (stack, left, pages) else { return false };
            (self.stack, self.left_stack, self.pages) = (stack, left, pages);
        }
        true
    }

    /// Takes what memory holds now for what it holds before the thread goes on.
    fn note_present(&mut self) {
        let len = process().snapshot.hot_pages();
        if len > MOST_PAGES {
            self.spoilt = true;
            return;
        }
        for (index, address, _) in pages(self.thread) {
            // SAFETY: a hot page can be read, and there is room for so many.
            unsafe { core::ptr::copy_nonoverlapping(address as *const u8, self.pages.add(index * PAGE), PAGE) };
        }
        self.page_count = len;
        self.rest = rest();
    }

    /// The live stack as it was when the observation began, when the thread was last left, and as
    /// it is.
    fn stacks(&mut self) -> (&mut [u8], &mut [u8], &[u8]) {
        let len = self.stack_len;
        // SAFETY: the live stack is readable, and both copies have its length; they do not overlap.
        unsafe {
            (
                core::slice::from_raw_parts_mut(self.stack, len),
                core::slice::from_raw_parts_mut(self.left_stack, len),
                core::slice::from_raw_parts(self.registers.sp as *const u8, len),
            )
        }
    }

    /// Notes what the thread leaves on its stack.
    fn note_stack(&mut self) {
        let (_, left, now) = self.stacks();
        left.copy_from_slice(now);
    }

    /// What other threads have changed there, and the thread has not, is no change of the thread.
    fn accept_stack(&mut self) {
        let (before, left, now) = self.stacks();
        if left == now {
            return;
        }
        for ((before, left), now) in before.iter_mut().zip(left).zip(now) {
            if left != now && before == left {
                *before = *now;
            }
        }
    }

    /// Notes what the thread has changed since it last went on.
    fn note_changes(&mut self) {
        let (low, high) = run().fibers[usize::from(self.thread)].stack;
        for (index, address, original) in pages(self.thread) {
            // A page that has become hot was not written before.
            let before = if index < self.page_count { self.pages.wrapping_add(index * PAGE) } else { original };
            // SAFETY: both are pages that can be read.
            let (before, now) = unsafe { (&*before.cast::<[u64; WORDS]>(), &*(address as *const [u64; WORDS])) };
            if before == now {
                continue;
            }
            for (word, (&old, _)) in before.iter().zip(now).enumerate().filter(|(_, (old, new))| old != new) {
                let at = address + word * size_of::<u64>();
                if !(low..high).contains(&at) {
                    self.remember(at, old);
                }
            }
        }
        self.spoilt |= self.rest != rest();
    }

    /// The thread has changed the word, which held this before.
    fn remember(&mut self, address: usize, before: u64) {
        if self.changed[..self.changed_count].iter().any(|(known, _)| *known == address) {
            return;
        }
        if self.changed_count == MOST_WORDS {
            self.spoilt = true;
        } else {
            self.changed[self.changed_count] = (address, before);
            self.changed_count += 1;
        }
    }

    /// Whether the words that the thread has changed hold what they held at the beginning.
    fn is_restored(&self) -> bool {
        // SAFETY: the words are in pages of the snapshot, which can be read.
        let now = |at: usize| unsafe { *(at as *const u64) };
        let mut changed = self.changed[..self.changed_count].iter();
        changed.all(|&(at, before)| now(at) == before || (self.may_differ)(before, now(at)))
    }

    /// Whether registers and stack are as they were, but for what is dead.
    fn is_where_it_was(&self, pc: u64) -> bool {
        let now = registers();
        let Some((start, len)) = live_stack(&now) else { return false };
        if len != self.stack_len || self.float != context::float_state() || !self.are_alike(&now, pc) {
            return false;
        }
        // SAFETY: the live stack is readable; the copy has the same length.
        let (before, after) = unsafe {
            (core::slice::from_raw_parts(self.stack, len), core::slice::from_raw_parts(start as *const u8, len))
        };
        if before == after {
            return true;
        }
        let both = before.iter().zip(after).enumerate();
        let different = || {
            let bytes = both.clone().filter(|(_, (old, new))| old != new).map(|(index, _)| start + index);
            bytes.filter(|&address| !self.explains(address, start))
        };
        let stack = LiveStack::of(run().hot.stack, &now, pc);
        let is_alive = |byte| stack.use_of_byte(byte) == ByteUse::Alive;
        if different().nth(MOST_DEAD).is_some() || different().any(is_alive) {
            return false;
        }
        let with_address = || {
            different().filter_map(|byte| match stack.use_of_byte(byte) {
                ByteUse::Alive | ByteUse::Dead(Holders::None) => None,
                ByteUse::Dead(holders) => Some((byte, holders)),
            })
        };
        if with_address().next().is_none() {
            return true;
        }
        let pointers = self.pointers(&stack, &now);
        with_address().all(|(byte, holders)| !pointers.lead_to(&stack, byte, holders))
    }

    /// Whether registers are as they were, but for what is dead or may differ.
    fn are_alike(&self, now: &Registers, pc: u64) -> bool {
        let mut then = self.registers;
        for (old, new) in then.saved.iter_mut().zip(now.saved).filter(|(old, new)| (self.may_differ)(**old, *new)) {
            *old = new;
        }
        liveness::are_alike(&then, now, pc)
    }

    /// Whether the word of the live stack, which starts there, may differ that has this byte.
    fn explains(&self, address: usize, start: usize) -> bool {
        let at = address & !(size_of::<u64>() - 1);
        if at < start || at + size_of::<u64>() > start + self.stack_len {
            return false;
        }
        // SAFETY: both words are aligned or not as the stack is, and lie within it or its copy.
        let (before, now) =
            unsafe { (self.stack.add(at - start).cast::<u64>().read_unaligned(), (at as *const u64).read_unaligned()) };
        (self.may_differ)(before, now)
    }

    /// Pointers to the thread's live stack, wherever they are.
    fn pointers(&self, stack: &LiveStack, now: &Registers) -> &'static Pointers {
        let (stacks, bounds) = (core::slice::from_ref(stack), run().hot.stack);
        let all = stack_pointers::none(stacks);
        for (tid, fiber) in run().fibers[..run().threads].iter().enumerate() {
            all.add_kept(fiber, stacks);
            // The operation that the thread was before last is done.
            if tid != usize::from(self.thread) {
                all.add_pending(fiber, stacks);
            }
        }
        all.add_registers(&Registers { saved: stack.frames.live_registers(now), sp: now.sp, rest: 0 }, stacks);
        let start = stack.live.0.next_multiple_of(size_of::<u64>());
        each_word(start, stack.live.1, |at, word| all.add_from(word, at, stacks));
        for (_, address, _) in pages(self.thread) {
            each_word(address, address + PAGE, |at, word| {
                // The own stack may share a page with something else.
                let is_own = (bounds.0..bounds.1).contains(&at);
                if stack.contains(word as usize) && !is_own && !is_of_runtime(at) && !is_below_a_stack(at) {
                    all.add(word, stacks);
                }
            });
        }
        each_mapping(|start, end| each_word(start, end, |_, word| all.add(word, stacks)));
        all.settle(stacks);
        all
    }
}

/// Calls for every word of the range.
fn each_word(start: usize, end: usize, mut act: impl FnMut(usize, u64)) {
    for at in (start..end).step_by(size_of::<u64>()) {
        // SAFETY: callers pass aligned ranges that can be read.
        act(at, unsafe { *(at as *const u64) });
    }
}

/// Whether only the runtime uses the word, which may share a page with others.
fn is_of_runtime(address: usize) -> bool {
    runtime_ranges().iter().any(|&(start, bytes)| (start..start + bytes).contains(&address))
}

/// Whether the address is on a stack, but below what its thread uses. Frames of the runtime are
/// below, too: they hold stack pointers of other threads, which are no pointers of the program.
fn is_below_a_stack(address: usize) -> bool {
    let is_live =
        |fiber: &Fiber| !matches!(fiber.status, ThreadStatus::Ended | ThreadStatus::Exited | ThreadStatus::Failed);
    let users =
        || run().fibers[..run().threads].iter().filter(|fiber| (fiber.stack.0..fiber.stack.1).contains(&address));
    users().next().is_some() && users().all(|fiber| !is_live(fiber) || address < fiber.sp.max(fiber.program_sp))
}

/// Words of a page.
const WORDS: usize = PAGE / size_of::<u64>();

/// Number, address and content at the root of the hot pages that are compared: not the thread's own
/// stack, nor what only the runtime uses.
fn pages(thread: u16) -> impl Iterator<Item = (usize, usize, *mut u8)> {
    let (low, high) = run().fibers[usize::from(thread)].stack;
    let is_left_out = move |address: usize| {
        let is_within = |&(start, bytes): &(usize, usize)| (start..start + bytes).contains(&address);
        low <= address && address + PAGE <= high || runtime_ranges().iter().any(is_within)
    };
    let hot = (0..process().snapshot.hot_pages()).map(|index| {
        let (address, original) = process().snapshot.hot_page(index);
        (index, address, original)
    });
    hot.filter(move |&(_, address, _)| !is_left_out(address))
}

/// A factor that spreads bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of what is compared as a whole: what the runtime keeps for the program, and the mappings
/// that the run has made.
fn rest() -> u64 {
    let run = run();
    let me = &run.fibers[usize::from(observation().thread)];
    let mine = [
        me.blocked,
        u64::from(me.ignoring),
        u64::from(me.children) ^ u64::from(me.channels) << 32,
        u64::from(me.temporary_files) ^ u64::from(me.private.keys) << 32,
        me.mapped_bytes as u64,
        me.foreign_frees as u64,
        me.private.cleanup as u64,
        me.private.robust,
        me.private.pending_signals,
        me.private.spare_semaphore,
        u64::from(me.private.random_words) ^ u64::from(me.private.signalled) << 32,
        run.heap_bytes as u64,
        overlay().changes,
        u64::from(overlay().directory),
        me.private.settings.digest(),
        me.private.schedule.map_or(0, |schedule| schedule.digest()),
        run.settings.digest(),
        run.exit_handlers.digest(),
    ];
    let mut hash = mine.iter().fold(0, |hash, word| mix(hash ^ word));
    for (start, bytes) in [
        range_of(&me.private.name),
        range_of(&me.private.cancel),
        range_of(&run.channels),
        range_of(&run.open_files),
        range_of(&run.handlers),
        range_of(&run.signals),
        range_of(&run.names),
    ] {
        hash = hash_bytes(hash, start, bytes);
    }
    hash_mappings(hash)
}

/// Adds what the mappings that the run has made hold. Too much of it counts as different each time.
fn hash_mappings(mut hash: u64) -> u64 {
    let is_complete = each_mapping(|start, end| hash = hash_bytes(hash, start, end - start));
    if is_complete { hash } else { syscall::now() }
}

/// Calls for every mapping that the run has made, with its start and end; false if they are too
/// large.
fn each_mapping(mut act: impl FnMut(usize, usize)) -> bool {
    if !undo::has_mappings() {
        return true;
    }
    let mut left = LARGEST_MAPPINGS;
    let Some(mut maps) = Maps::open() else { return false };
    while let Some(mapping) = maps.next() {
        let is_mine = mapping.readable && mapping.writable && undo::overlaps_mapping(mapping.start, mapping.end);
        if is_mine {
            let bytes = mapping.end - mapping.start;
            if bytes > left {
                return false;
            }
            left -= bytes;
            act(mapping.start, mapping.end);
        }
    }
    true
}

fn range_of<T>(of: &T) -> (usize, usize) {
    (core::ptr::from_ref(of) as usize, size_of::<T>())
}

/// Words are hashed in so many lanes, which the processor can do side by side: the tables of the
/// runtime are large.
const LANES: usize = 4;

fn hash_bytes(hash: u64, start: usize, bytes: usize) -> u64 {
    // SAFETY: callers pass memory that can be read.
    let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, bytes) };
    let (words, rest) = bytes.as_chunks::<{ size_of::<u64>() }>();
    let (groups, single) = words.as_chunks::<LANES>();
    let mut lanes = [hash; LANES];
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group) {
            *lane = step(*lane, u64::from_ne_bytes(*word));
        }
    }
    let lanes = lanes.into_iter().fold(0, |hash, lane| step(mix(hash), lane));
    let single = single.iter().fold(lanes, |hash, word| step(hash, u64::from_ne_bytes(*word)));
    mix(rest.iter().fold(single, |hash, &byte| step(hash, u64::from(byte))))
}

fn step(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(29) ^ word).wrapping_mul(ODD)
}
