//! The state of the process: never restored.

use raddle_vocab::policy::{Chooser, MAX_THREADS, Policy};
use raddle_wire::history::Histories;
use raddle_wire::{Control, Job, Segment};

use crate::interpose::thread::affinity::Processors;
use crate::restore::snapshot::Snapshot;

/// A real thread that was created once and sleeps for ever, while fibers use its stack and
/// thread-local storage.
#[derive(Clone, Copy)]
pub struct PoolEntry {
    /// Its thread pointer: where its thread-local storage is.
    pub thread_pointer: u64,
    /// Lowest and one past the highest address of the stack that fibers may use.
    pub stack: (usize, usize),
    /// What `pthread_self` returns.
    pub handle: u64,
}

/// Mappings of code that are kept.
const CODE_MAPPINGS: usize = 8;

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
    /// Chooses the next thread behind the schedule.
    pub chooser: Chooser,
    /// A checkpoint is wanted right before the transition with this number.
    pub checkpoint_at: u32,
    /// Bits of `job_flag`.
    pub flags: u32,
    /// Behind this many transitions one thread runs alone: the examination of a possible spin loop.
    pub examine_at: u32,
    /// Reads that it has made alone.
    pub examined: u32,
}

impl Plan {
    const NEW: Plan = Plan {
        segments: core::ptr::null(),
        len: 0,
        at: 0,
        current: Segment { tid: 0, choice: 0, steps: 0, accesses: 0, reserved: 0 },
        choice: raddle_wire::NO_CHOICE,
        chooser: Chooser::new(Policy::LeastRank),
        checkpoint_at: u32::MAX,
        flags: 0,
        examine_at: u32::MAX,
        examined: 0,
    };

    /// Continues with the next segment.
    pub fn advance(&mut self) {
        self.at += 1;
        self.load();
    }

    /// Skips the first transitions, which the checkpoint contains.
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

/// The state of the process.
pub struct ProcessState {
    /// The page shared with the host.
    pub control: *mut Control,
    /// Start of the shared file.
    pub file: *mut u8,
    /// Bytes of one trace arena.
    pub arena_bytes: usize,
    /// Data accesses are transitions.
    pub access_granularity: bool,
    /// Every access leaves the fast path of the hooks: all are transitions, or those at addresses
    /// that the host lists as benign.
    pub hooks_all_accesses: bool,
    /// Failed spin rounds are not explored.
    pub fold_spins: bool,
    /// Whether runs are stopped in which a thread goes round without an effect.
    pub bounds_rounds: bool,
    /// Whether the attempt under way began at a checkpoint.
    pub resumed: bool,
    /// Spurious wake-ups per thread.
    pub spurious: u32,
    /// Events after exit.
    pub exit_events: u64,
    /// Bits of `config_flag`.
    pub config_flags: u32,
    /// Stores of atomic locations, in the shared file; null if they are not kept.
    pub histories: *const Histories,
    /// Whether the program has atomic sections.
    pub has_sections: bool,
    /// Stack pointer of the controller while a fiber runs.
    pub controller_sp: usize,
    /// Thread pointer of the main thread.
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
    pub handover: Handover,
    /// The job under way.
    pub job: *mut Job,
    /// Copy-back of memory.
    pub snapshot: Snapshot,
    /// Whether a run was made since the root was taken.
    pub used: bool,
    /// First epoch that no run has used.
    pub next_epoch: u64,
    /// Runs that were restarted because something about spin loops was learned.
    pub restarts: u64,
    /// Process that owns this state (a forked child of the program's has another id).
    pub pid: i32,
    /// The processors that the program sees.
    pub processors: Processors,
    /// Mappings of code that were decoded last: first byte and one past the last.
    pub code: [(usize, usize); CODE_MAPPINGS],
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
    /// A checkpoint is wanted here; the fiber continues when it is switched to.
    Checkpoint,
    /// Something about spin loops was learned: the run starts again with that knowledge.
    Restart,
}

impl ProcessState {
    /// Whether every run has a process of its own.
    pub fn forks(&self) -> bool {
        // SAFETY: the control page stays mapped; the host fixed it before the start.
        unsafe { (*self.control).config.mode == raddle_wire::mode::FORK }
    }

    pub(super) const fn new() -> Self {
        ProcessState {
            control: core::ptr::null_mut(),
            file: core::ptr::null_mut(),
            arena_bytes: 0,
            access_granularity: false,
            hooks_all_accesses: false,
            code: [(0, 0); CODE_MAPPINGS],
            fold_spins: false,
            bounds_rounds: false,
            resumed: false,
            spurious: 0,
            exit_events: 0,
            config_flags: 0,
            histories: core::ptr::null(),
            has_sections: false,
            controller_sp: 0,
            main_thread_pointer: 0,
            pool: [PoolEntry { thread_pointer: 0, stack: (0, 0), handle: 0 }; MAX_THREADS],
            pool_len: 0,
            lowest_stack: 0,
            plan: Plan::NEW,
            handover: Handover::Checkpoint,
            job: core::ptr::null_mut(),
            snapshot: Snapshot::new(),
            used: false,
            next_epoch: 1,
            restarts: 0,
            pid: 0,
            processors: Processors::NONE,
        }
    }
}
