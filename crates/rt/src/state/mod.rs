//! All state of the runtime.

pub mod thread_private;

use core::cell::UnsafeCell;

use raddle_vocab::OpKind;
use raddle_vocab::policy::{Chooser, MAX_THREADS, Policy, RankSet};
use raddle_wire::{Control, Job, Segment};

use crate::arch::signal::KernelAction;
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::files::Copies;
use crate::interpose::thread::affinity::{Allowed, NOT_ASKED, Processors};
use crate::interpose::thread::keys::Keys;
use crate::restore::snapshot::Snapshot;
use crate::sched::timeouts::View;
use crate::spinloop::locked_poll::Poll;
use crate::spinloop::{Candidates, NO_SPOTS, Spots};
use crate::state::thread_private::Private;

/// A static that only the one running fiber touches.
#[repr(C, align(4096))]
pub struct Global<T>(UnsafeCell<T>);

// SAFETY: rule 4 of the crate: one kernel thread runs all fibers, so there is never a second access at the same time. The
// parked kernel threads of the pool touch `Keep` only before they report that they are parked.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    const fn new(value: T) -> Self {
        Global(UnsafeCell::new(value))
    }

    /// The address, for the snapshot's bookkeeping.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}

static RUN: Global<Run> = Global::new(Run::new());
static KEEP: Global<Keep> = Global::new(Keep::new());

/// The state of the run, part of what a snapshot puts back.
///
/// Callers keep the reference for as short as possible and never across a switch of fibers.
#[inline(always)]
pub fn run() -> &'static mut Run {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *RUN.get() }
}

static SPINS: Global<[Candidates; MAX_THREADS]> = Global::new([const { Candidates::new() }; MAX_THREADS]);

/// Heads of possible loops of a thread; part of the state of the run.
#[inline(always)]
pub fn spins(tid: usize) -> &'static mut Candidates {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*SPINS.get())[tid] }
}

static POLLS: Global<[Poll; MAX_THREADS]> = Global::new([const { Poll::NONE }; MAX_THREADS]);

/// What a thread has read since it last stood before a lock; part of the state of the run.
pub fn polls(tid: usize) -> &'static mut Poll {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*POLLS.get())[tid] }
}

static SPOTS: Global<[Spots; MAX_THREADS]> = Global::new([NO_SPOTS; MAX_THREADS]);

/// Spots of a thread's last reads; part of the state of the run.
#[inline(always)]
pub fn spots(tid: usize) -> &'static mut Spots {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*SPOTS.get())[tid] }
}

static KEYS: Global<Keys> = Global::new(Keys::new());

/// Keys and values of thread-specific data; part of the state of the run.
pub fn keys() -> &'static mut Keys {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *KEYS.get() }
}

static VIEWS: Global<[View; MAX_THREADS]> = Global::new([View::NONE; MAX_THREADS]);

/// What a thread saw when it last entered a timed wait; part of the state of the run.
pub fn views(tid: usize) -> &'static mut View {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*VIEWS.get())[tid] }
}

static ALLOWED: Global<[Allowed; MAX_THREADS]> = Global::new([NOT_ASKED; MAX_THREADS]);

/// Processors that a thread asked for; part of the state of the run.
pub fn allowed(tid: usize) -> &'static mut Allowed {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut (*ALLOWED.get())[tid] }
}

/// The state of the process.
#[inline(always)]
pub fn keep() -> &'static mut Keep {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *KEEP.get() }
}

/// Whether the host is in control. False before start and in a program that runs without raddle.
#[inline(always)]
pub fn controlled() -> bool {
    run().hot.controlled
}

/// Where the state of the run is, for a debugger.
pub const fn run_pointer() -> *const Run {
    RUN.get()
}

/// Address and size of what belongs to the run, for the snapshot.
pub fn run_ranges() -> [(usize, usize); 7] {
    [
        (RUN.get() as usize, size_of_val(&RUN)),
        (SPINS.get() as usize, size_of_val(&SPINS)),
        (POLLS.get() as usize, size_of_val(&POLLS)),
        (SPOTS.get() as usize, size_of_val(&SPOTS)),
        (KEYS.get() as usize, size_of_val(&KEYS)),
        (VIEWS.get() as usize, size_of_val(&VIEWS)),
        (ALLOWED.get() as usize, size_of_val(&ALLOWED)),
    ]
}

/// What the hooks of plain accesses need, in one cache line.
#[repr(C, align(64))]
pub struct Hot {
    /// Whether hooks record and operations are modelled.
    pub controlled: bool,
    /// Run-local number of the running thread.
    pub tid: u16,
    /// Accesses of the running thread since its last transition.
    pub count: u32,
    /// The hook leaves its fast path when `count` reaches this.
    pub stop_at: u32,
    /// Changes with every transition and switch, so that the cache of repeated accesses starts anew.
    pub epoch: u64,
    /// Where the next record goes.
    pub next: *mut u64,
    /// End of the room for records (a reserve for the end of the run lies behind it).
    pub end: *mut u64,
    /// Records that may still be written.
    pub events_left: i64,
    /// Lowest and one past the highest address of the running thread's stack.
    pub stack: (usize, usize),
    /// Whether the program asked not to look at the running thread's accesses.
    pub ignoring: bool,
    /// Whether the running thread wrote outside its own stack since the flag was cleared.
    pub wrote: bool,
    /// Whether values that are read are hashed.
    pub hashing: bool,
    /// Hash of what the running thread has read.
    pub values: u64,
}

/// How a fiber stands. The numbers are known to the commands for gdb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// The entry is not in use.
    Unused,
    /// Before its pending operation.
    Pending,
    /// Before a data access, because a segment says so.
    AtAccess,
    /// Before a read that may lead nowhere, depending on what is there to be read (see `spin`).
    Watching,
    /// In a loop that nothing can end.
    Awaiting,
    /// Over.
    Ended,
    /// Failed, for good.
    Failed,
    /// It has left the process.
    Exited,
}

/// An operation as a thread announces it.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// What.
    pub kind: OpKind,
    /// Memory order.
    pub order: u8,
    /// log2 of the bytes accessed.
    pub log_size: u8,
    /// First operand.
    pub obj: u64,
    /// Second operand.
    pub arg: u64,
    /// Return address of the call.
    pub pc: u64,
}

impl Op {
    /// An operation without memory order.
    pub const fn new(kind: OpKind, obj: u64, arg: u64, pc: u64) -> Self {
        Op { kind, order: 0, log_size: 0, obj, arg, pc }
    }
}

/// Where a thread stands in a wait on a condition variable or futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// In no queue.
    None,
    /// In the queue of the object.
    Queued {
        /// Condition variable or futex word.
        obj: u64,
        /// Whether the wait may time out.
        timed: bool,
    },
    /// Taken out of the queue by a signal.
    Woken,
    /// At a barrier that is still closed.
    Arrived {
        /// The barrier.
        obj: u64,
    },
    /// At a barrier that has opened.
    Released {
        /// Whether this is the one thread that is told so.
        serial: bool,
    },
}

/// How many heads of possible loops a thread has (see `spin`).
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Reading operations remembered.
    pub len: usize,
    /// Whether the entry behind the last is that of an operation not yet performed.
    pub pending: bool,
    /// Mutexes locked since the first of them, less those unlocked.
    pub depth: i32,
    /// Mutexes locked or unlocked since the first of them.
    pub moves: u32,
}

impl Ring {
    /// No operation is remembered.
    pub const EMPTY: Ring = Ring { len: 0, pending: false, depth: 0, moves: 0 };
}

/// One thread of the program. What every step needs comes first, in two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Fiber {
    /// Stack pointer while it does not run.
    pub sp: usize,
    /// Base of its thread-local storage.
    pub thread_pointer: u64,
    /// What it stands before.
    pub pending: Op,
    /// Accesses since its last transition, while it does not run.
    pub count: u32,
    /// Transitions made.
    pub steps: u32,
    /// Position in the order of spawn paths.
    pub rank: u16,
    /// Entry of the pool whose stack and storage it uses.
    pub slot: u16,
    /// Creator.
    pub parent: u16,
    /// How it stands.
    pub standing: Standing,
    /// Whether it was made to dump its stack (see `sched::dump_stacks`).
    pub dump: bool,
    /// Lowest and one past the highest address of its stack.
    pub stack: (usize, usize),
    /// Signals that it blocks, as far as it knows.
    pub blocked: u64,
    /// Hash of what it has read between transitions, while it does not run.
    pub values: u64,
    /// Open regions in which the program asked not to look at its accesses.
    pub ignoring: u32,
    /// Conflicting steps of others since its operation became pending (for partial order sampling).
    pub conflicts: u32,
    /// Heads of possible loops.
    pub ring: Ring,
    /// Hash of the transitions that it has made, with what came of them.
    pub history: u64,
    /// Its clock, in nanoseconds after the start of the run.
    pub clock: u64,
    /// Hash of the spawn path.
    pub key: u64,
    /// Start function and argument.
    pub entry: (usize, usize),
    /// What it returned.
    pub result: usize,
    /// Threads that it has created.
    pub children: u32,
    /// Spurious wake-ups that it may still have.
    pub spurious_left: u32,
    /// Queue it waits in.
    pub wait: Wait,
    /// `pthread_detach` was called or the attribute says so.
    pub detached: bool,
    /// Somebody has joined it.
    pub joined: bool,
    /// Pipes and the like that it has made, and files that it has opened.
    pub channels: u32,
    /// Temporary files that it has made.
    pub temporary_files: u32,
    /// Bytes of address space that its mappings have used.
    pub mapped_bytes: usize,
    /// Blocks of other threads' arenas that it has freed: first of the list, or 0.
    pub foreign_frees: usize,
    /// What else the runtime keeps for it.
    pub private: Private,
}

impl Fiber {
    /// An entry of the table that no thread uses.
    pub const UNUSED: Fiber = Fiber {
        sp: 0,
        thread_pointer: 0,
        standing: Standing::Unused,
        pending: Op::new(OpKind::ThreadStart, 0, 0, 0),
        count: 0,
        steps: 0,
        rank: 0,
        slot: 0,
        parent: 0,
        children: 0,
        key: 0,
        conflicts: 0,
        entry: (0, 0),
        result: 0,
        detached: false,
        joined: false,
        wait: Wait::None,
        spurious_left: 0,
        clock: 0,
        history: 0,
        values: 0,
        stack: (0, 0),
        ring: Ring::EMPTY,
        ignoring: 0,
        channels: 0,
        temporary_files: 0,
        mapped_bytes: 0,
        foreign_frees: 0,
        blocked: 0,
        dump: false,
        private: Private::NEW,
    };
}

/// The sets that a thread can be in, by what is known of whether it can step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// [`Run::runnable`]
    Runnable,
    /// [`Run::reluctant`]
    Reluctant,
    /// [`Run::blocked`]
    Blocked,
    /// In none: it is over.
    Nowhere,
}

/// The state of a run: restored with the program's memory. What all runs use comes first, in as few pages as possible.
#[repr(C)]
pub struct Run {
    /// What hooks need.
    pub hot: Hot,
    /// Where the running thread's accesses really leave the fast path, while all of them do because some are benign.
    pub stop_after: u32,
    /// Transitions made so far.
    pub steps: u32,
    /// Threads created so far.
    pub threads: usize,
    /// Ranks of the threads that may be able to step; checked again when chosen.
    pub runnable: RankSet,
    /// Ranks of the threads that could only step by timing out or waking spuriously.
    pub reluctant: RankSet,
    /// Ranks of the threads that were found unable to step; looked at again when their object changes.
    pub blocked: RankSet,
    /// Threads that stand before a read that may lead nowhere.
    pub watching: u32,
    /// The thread to go back to after a stack was dumped.
    pub dump_for: u16,
    /// Whether a thread has timed out or read its clock.
    pub timed: bool,
    /// Whether the process has exited, and how.
    pub exit: Option<i32>,
    /// Bytes of all heap blocks ever handed out fresh.
    pub heap_bytes: usize,
    /// Pool entries in use.
    pub slots: RankSet,
    /// Run-local numbers by rank.
    pub by_rank: [u16; MAX_THREADS],
    /// Threads that the users of each pool entry have created in fresh ones.
    pub slot_children: [u16; MAX_THREADS],
    /// Threads by run-local number.
    pub fibers: [Fiber; MAX_THREADS],
    /// Bytes on which races are meant to be.
    pub benign: crate::interpose::annotations::benign::Ranges,
    /// Identity of what each descriptor leads to, if it can make a thread wait.
    pub channels: [u64; MAX_CHANNELS],
    /// Regular files that descriptors lead to.
    pub open_files: [crate::interpose::io::regular_files::OpenFile; MAX_CHANNELS],
    /// Private copies of files.
    pub copies: Copies,
    /// Handlers that the program wants for the signals of a crash.
    pub handlers: [KernelAction; 32],
    /// Clocks that were left at objects.
    pub clocks: crate::sched::virtual_time::Clocks,
    /// Named semaphores.
    pub names: crate::interpose::sync::sem_names::Names,
}

impl Run {
    const fn new() -> Self {
        Run {
            hot: Hot {
                controlled: false,
                tid: 0,
                count: 0,
                stop_at: u32::MAX,
                epoch: 1,
                next: core::ptr::null_mut(),
                end: core::ptr::null_mut(),
                events_left: 0,
                stack: (0, 0),
                ignoring: false,
                wrote: false,
                hashing: false,
                values: 0,
            },
            stop_after: u32::MAX,
            benign: crate::interpose::annotations::benign::Ranges::NEW,
            threads: 0,
            steps: 0,
            runnable: RankSet::new(),
            reluctant: RankSet::new(),
            blocked: RankSet::new(),
            by_rank: [0; MAX_THREADS],
            slots: RankSet::new(),
            slot_children: [0; MAX_THREADS],
            exit: None,
            heap_bytes: 0,
            watching: 0,
            dump_for: 0,
            channels: [0; MAX_CHANNELS],
            open_files: [crate::interpose::io::regular_files::OpenFile::NONE; MAX_CHANNELS],
            copies: Copies::new(),
            handlers: [KernelAction::DEFAULT; 32],
            timed: false,
            clocks: crate::sched::virtual_time::Clocks::new(),
            names: crate::interpose::sync::sem_names::Names::new(),
            fibers: [Fiber::UNUSED; MAX_THREADS],
        }
    }

    /// Moves the thread with this rank to one of the sets.
    #[inline]
    pub fn place(&mut self, rank: usize, place: Place) {
        for (set, here) in [
            (&mut self.runnable, Place::Runnable),
            (&mut self.reluctant, Place::Reluctant),
            (&mut self.blocked, Place::Blocked),
        ] {
            if place == here {
                set.insert(rank);
            } else {
                set.remove(rank);
            }
        }
    }

    /// The running thread.
    #[inline(always)]
    pub fn me(&mut self) -> &mut Fiber {
        &mut self.fibers[self.hot.tid as usize]
    }
}

/// A real thread that was created once and sleeps for ever, while fibers use its stack and thread-local storage.
#[derive(Clone, Copy)]
pub struct PoolEntry {
    /// Base of thread-local storage.
    pub thread_pointer: u64,
    /// Lowest and one past the highest address of the stack that fibers may use.
    pub stack: (usize, usize),
    /// What `pthread_self` says.
    pub handle: u64,
}

/// The schedule of the run under way.
pub struct Plan {
    /// Segments, in the shared file.
    pub segments: *const Segment,
    /// How many.
    pub len: usize,
    /// The present one.
    pub at: usize,
    /// A copy of the present one, whose `steps` count down.
    pub current: Segment,
    /// Which successor the operation just let through shall have; `NO_CHOICE` for the policy's.
    pub choice: u16,
    /// How to go on afterwards.
    pub chooser: Chooser,
    /// A checkpoint is wanted right before the transition with this number.
    pub keep_at: u32,
    /// Bits of `job_flag`.
    pub flags: u32,
    /// Behind this many transitions one thread runs alone, to see where a read leads it.
    pub examine_at: u32,
    /// Reads that it has made alone.
    pub examined: u32,
}

impl Plan {
    /// Goes on to the next segment.
    pub fn advance(&mut self) {
        self.at += 1;
        self.load();
    }

    /// Leaves out the first transitions, which were made before.
    pub fn skip(&mut self, mut steps: u32) {
        while steps > 0 && self.at < self.len {
            if self.current.steps > steps {
                self.current.steps -= steps;
                self.current.choice = raddle_wire::NO_CHOICE;
                return;
            }
            steps -= self.current.steps;
            self.advance();
        }
    }

    /// Copies the present segment, skipping empty ones.
    pub fn load(&mut self) {
        while self.at < self.len {
            // SAFETY: the controller checked that `len` segments lie within the shared file.
            self.current = unsafe { self.segments.add(self.at).read() };
            if self.current.steps > 0 || self.current.accesses != raddle_wire::NO_ACCESS_STOP {
                return;
            }
            self.at += 1;
        }
    }
}

/// The state of the process: never put back.
pub struct Keep {
    /// The page shared with the host.
    pub control: *mut Control,
    /// Start of the shared file.
    pub file: *mut u8,
    /// Bytes of one trace arena.
    pub arena_bytes: usize,
    /// Data accesses are transitions.
    pub access_granularity: bool,
    /// Every access leaves the fast path: all are transitions, or those at places that the host names.
    pub looks_at_all: bool,
    /// Busy waiting is folded.
    pub fold_spins: bool,
    /// Spurious wake-ups per thread.
    pub spurious: u32,
    /// Events after exit.
    pub exit_events: u64,
    /// Bits of `config_flag`.
    pub config_flags: u32,
    /// Stack pointer of the controller while a fiber runs.
    pub controller_sp: usize,
    /// Storage base of the main thread.
    pub main_thread_pointer: u64,
    /// The pool; entry 0 is the main thread.
    pub pool: [PoolEntry; MAX_THREADS],
    /// Entries in the pool.
    pub pool_len: usize,
    /// No stack of the pool lies below this address.
    pub lowest_stack: usize,
    /// Schedule of the run under way.
    pub plan: Plan,
    /// Why the run gave control back to the controller.
    pub event: Handover,
    /// The job under way.
    pub job: *mut Job,
    /// Copy-back of memory.
    pub snapshot: Snapshot,
    /// Whether a run was made since the root was taken.
    pub used: bool,
    /// First epoch that no run has used.
    pub next_epoch: u64,
    /// Runs that were given up because something about busy waiting was learned.
    pub given_up: u64,
    /// Process that owns this state (a forked child of the program's has another id).
    pub pid: i32,
    /// What the program knows of the machine's processors.
    pub processors: Processors,
    /// A mapping of code that was looked into, first byte and one past the last.
    pub code: (usize, usize),
}

/// Why a fiber switched to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The run is over.
    Finished {
        /// How.
        status: raddle_vocab::RunStatus,
        /// Code that belongs to the status.
        code: i32,
    },
    /// A checkpoint is wanted here; the fiber goes on when it is switched to.
    Checkpoint,
    /// Something about busy waiting was learned: the run starts anew with that knowledge.
    Again,
}

impl Keep {
    /// Whether every run has a process of its own.
    pub fn forks(&self) -> bool {
        // SAFETY: the control page stays mapped; the host fixed it before the start.
        unsafe { (*self.control).config.mode == raddle_wire::mode::FORK }
    }

    const fn new() -> Self {
        Keep {
            control: core::ptr::null_mut(),
            file: core::ptr::null_mut(),
            arena_bytes: 0,
            access_granularity: false,
            looks_at_all: false,
            code: (0, 0),
            fold_spins: false,
            spurious: 0,
            exit_events: 0,
            config_flags: 0,
            controller_sp: 0,
            main_thread_pointer: 0,
            pool: [PoolEntry { thread_pointer: 0, stack: (0, 0), handle: 0 }; MAX_THREADS],
            pool_len: 0,
            lowest_stack: 0,
            plan: Plan {
                segments: core::ptr::null(),
                len: 0,
                at: 0,
                current: Segment { tid: 0, choice: 0, steps: 0, accesses: 0, reserved: 0 },
                choice: raddle_wire::NO_CHOICE,
                chooser: Chooser::new(Policy::LeastRank),
                keep_at: u32::MAX,
                flags: 0,
                examine_at: u32::MAX,
                examined: 0,
            },
            event: Handover::Checkpoint,
            job: core::ptr::null_mut(),
            snapshot: Snapshot::new(),
            used: false,
            next_epoch: 1,
            given_up: 0,
            pid: 0,
            processors: Processors::NONE,
        }
    }
}
