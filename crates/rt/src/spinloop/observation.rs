//! A round under observation: what a thread changes between two stops, by whatever code.
//!
//! # Obligation
//! A round may be folded only if the thread is at its end in the very state in which it began: then
//! it repeats the round for as long as it reads the same. The state is
//! * its registers, the control and status words of the floating point units included;
//! * its whole stack from the stack pointer up. Bytes and registers that are dead ([`liveness`])
//!   may differ;
//! * all other memory that a run may write: the pages that were ever written, the others being
//!   read-only, and the mappings that the run has made;
//! * what the runtime keeps for the program: thread-specific data, cancellation, signal masks,
//!   descriptors, names;
//! * the kernel's state: a system call that is not known to be pure ends the proof. While the
//!   thread is observed, the kernel reports every system call from outside the runtime (Syscall
//!   User Dispatch).
//!
//! Other threads may run in between. What they change is not counted: memory is compared each time
//! the thread is left. A word that the thread itself has changed must hold at the end what it held
//! before its first change.
//!
//! # What it misses
//! Writes to shared mappings by code without hooks; system calls on a kernel without Syscall User
//! Dispatch (before Linux 5.11), as far as the runtime does not replace the function.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use raddle_vocab::policy::mix;

use crate::arch::PAGE;
use crate::arch::entry::{Registers, registers};
use crate::arch::{context, liveness, signal};
use crate::interpose::io::overlay::overlay;
use crate::restore::undo;
use crate::state::{Global, process, run, runtime_ranges};
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
}

static OBSERVATION: Global<Observation> = Global::new(Observation {
    thread: 0,
    registers: Registers::NONE,
    float: 0,
    stack: core::ptr::null_mut(),
    stack_len: 0,
    pages: core::ptr::null_mut(),
    page_count: 0,
    changed: [(0, 0); MOST_WORDS],
    changed_count: 0,
    rest: 0,
    spoilt: false,
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

/// Ends the observation of the running thread, which has just entered the runtime and would go on at
/// `pc`. True if it is in the state in which the observation began.
pub fn has_changed_nothing(pc: u64) -> bool {
    let this = observation();
    let is_mine = is_active() && this.thread == run().hot.tid && process().snapshot.is_taken();
    if is_mine && !this.spoilt {
        this.note_changes();
    }
    let unchanged = is_mine && !this.spoilt && this.is_restored() && this.is_where_it_was(pc);
    end();
    unchanged
}

/// The running thread is left for another one, or for the controller.
#[cold]
pub fn leaving() {
    let this = observation();
    if run().hot.tid == this.thread {
        SELECTOR.store(ALLOW, Relaxed);
        if !this.spoilt {
            this.note_changes();
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
            let pages = syscall::map(MOST_PAGES * PAGE);
            let (Some(stack), Some(pages)) = (syscall::map(LARGEST_STACK), pages) else { return false };
            (self.stack, self.pages) = (stack, pages);
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
        self.changed[..self.changed_count].iter().all(|&(at, before)| unsafe { *(at as *const u64) } == before)
    }

    /// Whether registers and stack are as they were, but for what is dead.
    fn is_where_it_was(&self, pc: u64) -> bool {
        let now = registers();
        let Some((start, len)) = live_stack(&now) else { return false };
        if len != self.stack_len
            || self.float != context::float_state()
            || !liveness::are_alike(&self.registers, &now, pc)
        {
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
        let mut different = both.filter(|(_, (old, new))| old != new).map(|(index, _)| start + index);
        different.by_ref().take(MOST_DEAD).all(|address| liveness::is_dead(&now, pc, address))
            && different.next().is_none()
    }
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
        me.private.spare_semaphore,
        u64::from(me.private.random_words) ^ u64::from(me.private.signalled) << 32,
        run.heap_bytes as u64,
        overlay().changes,
        u64::from(overlay().directory),
    ];
    let mut hash = mine.iter().fold(0, |hash, word| mix(hash ^ word));
    for (start, bytes) in [
        range_of(&me.private.name),
        range_of(&me.private.cancel),
        range_of(&run.channels),
        range_of(&run.open_files),
        range_of(&run.handlers),
        range_of(&run.names),
    ] {
        hash = hash_bytes(hash, start, bytes);
    }
    if undo::has_mappings() { hash_mappings(hash) } else { hash }
}

/// Adds what the mappings that the run has made hold. Too much of it counts as different each time.
fn hash_mappings(mut hash: u64) -> u64 {
    let mut left = LARGEST_MAPPINGS;
    let Some(mut maps) = Maps::open() else { return syscall::now() };
    while let Some(mapping) = maps.next() {
        let is_mine = mapping.readable && mapping.writable && undo::overlaps_mapping(mapping.start, mapping.end);
        if is_mine {
            let bytes = mapping.end - mapping.start;
            if bytes > left {
                return syscall::now();
            }
            left -= bytes;
            hash = hash_bytes(hash, mapping.start, bytes);
        }
    }
    hash
}

fn range_of<T>(of: &T) -> (usize, usize) {
    (core::ptr::from_ref(of) as usize, size_of::<T>())
}

fn hash_bytes(hash: u64, start: usize, bytes: usize) -> u64 {
    // SAFETY: callers pass memory that can be read.
    let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, bytes) };
    bytes.iter().fold(hash, |hash, &byte| (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(ODD))
}
