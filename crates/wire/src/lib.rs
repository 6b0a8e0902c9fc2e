//! The protocol between runtime and host, through one shared memory file.
//!
//! Layout of the file, all offsets from its start:
//!
//! | what | where |
//! |---|---|
//! | [`Control`] | 0 |
//! | jobs of batch `b` (0 or 1) | [`jobs_offset`] |
//! | schedule segments of batch `b` | [`segments_offset`] |
//! | detail (stacks, texts) | [`DETAIL_OFFSET`] |
//! | [`SpinKnowledge`] | [`SPIN_OFFSET`] |
//! | [`script::Scripts`] | [`script::OFFSET`] |
//! | trace of batch `b` | [`trace_offset`] |
//! | [`history::Histories`], if reads may see older stores | [`histories_offset`] |
//!
//! The host fills a batch of jobs and bumps `submitted`; the target runs them in order, appends
//! each trace to the batch's trace arena, and bumps `completed`. Batch number `n` lives in buffers
//! `n % 2`, so the host can fill one while the target runs the other. Both sides wait on these
//! words with futexes.
//!
//! The host trusts nothing that it reads here: `exec::decode` checks every byte.
#![no_std]
#![forbid(unsafe_code)]

pub mod history;
pub mod hooks;
pub mod observed;
pub mod record;
pub mod script;
pub mod tap;

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Changes whenever the meaning of a byte in the file changes.
pub const PROTOCOL_VERSION: u32 = 28;
/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"raddle\0\x01");
/// Environment variable that holds the descriptor of the file; without it the runtime stays
/// passive.
pub const ENV_DESCRIPTOR: &str = "RADDLE_TARGET_FD";
/// Environment variable that holds a socket instead: each message on it asks for a fork of the
/// process, which is the target. It brings the file along.
pub const ENV_SERVER: &str = "RADDLE_TARGET_SERVER";
/// Jobs in a batch, at most.
pub const MAX_JOBS: usize = 64;
/// Schedule segments in a batch, at most.
pub const MAX_SEGMENTS: usize = 1 << 18;
/// Checkpoints that can be kept at once; checkpoint 0 is the root and always there.
pub const MAX_CHECKPOINTS: u32 = 64;
/// Code addresses whose accesses race benignly, at most.
pub const MAX_BENIGN: usize = 128;
/// Bytes for the paths of libraries that runs load.
pub const LOADED_BYTES: usize = 2048;
/// Types whose values a program can leave open: [`raddle_vocab::OpenType`].
pub const OPEN_TYPES: usize = raddle_vocab::OpenType::ALL.len();
/// Values of all these types together, at most.
pub const MAX_OPEN_VALUES: usize = 64;
/// Functions of the program that have a [`role`], at most.
pub const MAX_FUNCTIONS: usize = 96;
/// Bytes that all checkpoints together may use.
pub const CHECKPOINT_BYTES: u64 = 256 << 20;
/// A [`Segment::choice`] that leaves the choice to the policy (the first).
pub const NO_CHOICE: u16 = u16::MAX;
/// A [`Segment::accesses`] that does not stop between two synchronising operations.
pub const NO_ACCESS_STOP: u32 = u32::MAX;

const PAGE: usize = 4096;
/// Bytes of the control block at the start of the file.
const CONTROL_BYTES: usize = size_of::<Control>().next_multiple_of(PAGE);
const JOBS_BYTES: usize = MAX_JOBS * size_of::<Job>();
const SEGMENTS_BYTES: usize = MAX_SEGMENTS * size_of::<Segment>();
/// Size of the detail area.
pub const DETAIL_BYTES: usize = 1 << 20;
/// Where the detail area starts.
pub const DETAIL_OFFSET: usize = CONTROL_BYTES + 2 * JOBS_BYTES.next_multiple_of(PAGE) + 2 * SEGMENTS_BYTES;
/// Where the knowledge about spin loops starts.
pub const SPIN_OFFSET: usize = DETAIL_OFFSET + DETAIL_BYTES;
const TRACE_START: usize = script::OFFSET + size_of::<script::Scripts>().next_multiple_of(PAGE);

/// Where the jobs of a batch start.
#[must_use]
pub const fn jobs_offset(batch: u32) -> usize {
    CONTROL_BYTES + (batch % 2) as usize * JOBS_BYTES.next_multiple_of(PAGE)
}

/// Where the segments of a batch start.
#[must_use]
pub const fn segments_offset(batch: u32) -> usize {
    CONTROL_BYTES + 2 * JOBS_BYTES.next_multiple_of(PAGE) + (batch % 2) as usize * SEGMENTS_BYTES
}

/// Where the trace arena of a batch starts; `arena` is [`Config::trace_bytes`].
#[must_use]
pub const fn trace_offset(batch: u32, arena: usize) -> usize {
    TRACE_START + (batch % 2) as usize * arena
}

/// Size of the whole file for trace arenas of `arena` bytes.
#[must_use]
pub const fn file_bytes(arena: usize) -> usize {
    TRACE_START + 2 * arena
}

/// Where the stores of atomic locations are kept; `arena` as for [`file_bytes`].
#[must_use]
pub const fn histories_offset(arena: usize) -> usize {
    file_bytes(arena).next_multiple_of(PAGE)
}

/// Size of the whole file of a target that keeps them.
#[must_use]
pub const fn file_bytes_with_histories(arena: usize) -> usize {
    histories_offset(arena) + size_of::<history::Histories>()
}

/// How a new run gets a fresh state.
pub mod mode {
    /// Restore the pages that were written, in the same process.
    pub const SNAPSHOT: u32 = 0;
    /// A forked process per run.
    pub const FORK: u32 = 1;
}

/// Bits of [`Config::flags`].
pub mod config_flag {
    /// Every data access is a transition.
    pub const ACCESS_GRANULARITY: u32 = 1;
    /// Files that the program writes are the real ones.
    pub const SHARE_FILES: u32 = 2;
    /// The program's standard output and error are left alone (`raddle run`); otherwise the host
    /// has redirected them.
    pub const KEEP_OUTPUT: u32 = 4;
    /// Do not explore failed rounds of spin loops.
    pub const FOLD_SPINS: u32 = 8;
    /// Keep every checkpoint that is asked for, whether it pays or not.
    pub const KEEP_ALL_CHECKPOINTS: u32 = 16;
    /// The program has atomic sections.
    pub const SECTIONS: u32 = 32;
    /// Stop a run in which a thread goes round without an effect while others could run.
    pub const BOUND_ROUNDS: u32 = 64;
    /// Sockets that are connected by address are the kernel's, so that other processes can be
    /// reached.
    pub const REAL_SOCKETS: u32 = 128;
    /// Input and output of streams may transfer fewer bytes than are there.
    pub const PARTIAL_IO: u32 = 256;
    /// A program whose threads wait for more clients, when all parties are done, has ended.
    pub const UNTIL_IDLE: u32 = 512;
    /// The program has no hooks: the runtime sees only its calls of the C library.
    pub const CALLS_ONLY: u32 = 1024;
    /// What connections of the program carry is written to a file ([`crate::tap`]).
    pub const RECORD_PEERS: u32 = 2048;
    /// Neighbouring accesses of one place are one record.
    pub const JOIN_ACCESSES: u32 = 4096;
    /// The program is emulated: what the kernel says about the size of the process includes the
    /// emulator.
    pub const EMULATED: u32 = 8192;
    /// The program has no hooks, and a plug-in of the emulator records its memory accesses
    /// ([`crate::observed`]).
    pub const OBSERVED: u32 = 1 << 14;
    /// The stores of atomic locations are kept, and a schedule says which of them an operation
    /// reads, and where it puts its own.
    pub const KEEP_STORES: u32 = 1 << 15;
}

/// The signal by which the host asks a program without hooks to let another thread run: the last
/// one, which programs hardly use.
pub const PREEMPTION: i32 = 64;

/// What the host fixes before the target starts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// One of [`mode`].
    pub mode: u32,
    /// Bits of [`config_flag`].
    pub flags: u32,
    /// Threads that one run may create, the main one included.
    pub pool: u32,
    /// Spurious wake-ups that each thread may have.
    pub spurious: u32,
    /// Stack of each thread.
    pub stack_bytes: u64,
    /// Bytes of one trace arena.
    pub trace_bytes: u64,
    /// Events that threads may still make after the process has exited.
    pub exit_events: u64,
}

/// What a function of the program is known for by its name.
pub mod role {
    /// Its body is an atomic section.
    pub const SECTION: u64 = 1;
    /// If it calls `abort`, an assumption does not hold.
    pub const ASSUME: u64 = 2;
    /// It is all code of the program that has debug information.
    pub const PROGRAM: u64 = 3;
    /// It is code in which a relaxed store ends a release sequence (C++20 and later).
    pub const ENDS_SEQUENCES: u64 = 4;
}

/// State of the target, in [`Control::state`].
pub mod state {
    /// Not started, or before the runtime took over.
    pub const STARTING: u32 = 0;
    /// The runtime has control and takes jobs.
    pub const READY: u32 = 1;
    /// It cannot continue; [`super::Control::message`] says why.
    pub const FAILED: u32 = 2;
}

/// The control block: the first pages of the file.
#[repr(C)]
pub struct Control {
    /// [`MAGIC`]
    pub magic: u64,
    /// [`PROTOCOL_VERSION`] of the host.
    pub version: u32,
    /// Written by the runtime: its own [`PROTOCOL_VERSION`].
    pub runtime_version: AtomicU32,
    /// Fixed by the host.
    pub config: Config,
    /// Batches that the host has handed over. Futex word.
    pub submitted: AtomicU32,
    /// Batches that the target has finished. Futex word.
    pub completed: AtomicU32,
    /// Whether the host asks the target to end.
    pub stop: AtomicU32,
    /// One of [`state`]. Futex word.
    pub state: AtomicU32,
    /// Jobs finished in the batch under way: the host needs it if the target dies.
    pub jobs_done: AtomicU32,
    /// Process that executes the present job (differs from the target in fork mode).
    pub worker: AtomicU32,
    /// Transitions made so far, for the watchdog.
    pub heartbeat: AtomicU64,
    /// Limits met, a bit each of [`limit`].
    pub limits: AtomicU64,
    /// Bytes of memory that checkpoints use, up to [`CHECKPOINT_BYTES`].
    pub checkpoint_bytes: AtomicU64,
    /// Why the target failed, zero-terminated.
    pub message: [u8; 512],
    /// Paths of libraries that runs loaded, each zero-terminated; an empty one ends the list.
    pub loaded: [u8; LOADED_BYTES],
    /// How many of `benign` are in use. Fixed by the host.
    pub benign_count: u64,
    /// Return addresses of accesses that race benignly: each is a transition, as relaxed atomics
    /// are. Fixed by the host.
    pub benign: [u64; MAX_BENIGN],
    /// Calls that were not modelled, in the order in which they were met first; the first without a
    /// name ends the list.
    pub calls: [UnmodelledCall; MAX_CALLS],
    /// First value and number of values of each type in `open_values`. Fixed by the host.
    pub open_spans: [[u32; 2]; OPEN_TYPES],
    /// Values that are tried where the program leaves one open. Fixed by the host.
    pub open_values: [i64; MAX_OPEN_VALUES],
    /// Types of which the program left values open, a bit each.
    pub open_types: AtomicU64,
    /// How many of `functions` are in use. Fixed by the host.
    pub function_count: u64,
    /// Functions of the program with a [`role`]: start and end, relative to its entry point, and
    /// the role. Fixed by the host.
    pub functions: [[u64; 3]; MAX_FUNCTIONS],
}

/// A call whose effect is not part of the search.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UnmodelledCall {
    /// Name of the function, zero-terminated unless it has all of the room.
    pub name: [u8; CALL_NAME_BYTES],
    /// Return address.
    pub pc: u64,
}

/// Calls that are told apart in [`Control::calls`].
pub const MAX_CALLS: usize = 32;
/// Room for the name of a call.
pub const CALL_NAME_BYTES: usize = 40;

/// Bits of [`Control::limits`]: effects that were not modelled or cannot be undone.
pub mod limit {
    /// A socket was used.
    pub const SOCKET: u64 = 1;
    /// Memory shared with other processes was mapped.
    pub const SHARED_MEMORY: u64 = 2;
    /// A child process was started.
    pub const CHILD_PROCESS: u64 = 4;
    /// A timer or asynchronous signal source was set up.
    pub const TIMER: u64 = 8;
    /// `pthread_cancel` reached a thread at a point that is not modelled.
    pub const CANCEL: u64 = 16;
    /// A system call was made that the runtime does not know.
    pub const SYSTEM_CALL: u64 = 64;
    /// The bound on events after exit was reached.
    pub const EXIT_EVENTS: u64 = 128;
    /// A file outside the private copies was changed.
    pub const FILES: u64 = 256;
    /// A thread blocked in the kernel on something outside the process.
    pub const EXTERNAL_WAIT: u64 = 512;
    /// Libraries were loaded during the run whose paths did not fit into the control block.
    pub const DLOPEN: u64 = 1024;
    /// More descriptors were in use than are modelled.
    pub const DESCRIPTORS: u64 = 2048;
    /// Waiters of a futex were woken that should have been moved to another.
    pub const REQUEUE: u64 = 4096;
    /// Rounds of polling under a lock were left out that threads which only try the lock could
    /// notice.
    pub const POLLED: u64 = 8192;
    /// A run had more threads than there can be.
    pub const THREADS: u64 = 1 << 14;
    /// A run opened more named semaphores than there can be.
    pub const SEMAPHORES: u64 = 1 << 15;
    /// Inline assembly ran whose accesses to memory have no hooks.
    pub const ASSEMBLY: u64 = 1 << 16;
    /// An intrinsic of the processor ran whose accesses to memory have no hooks.
    pub const INTRINSIC: u64 = 1 << 17;
    /// A transition accessed more bytes than are compared with other transitions.
    pub const LARGE_ACCESS: u64 = 1 << 18;
    /// A run was stopped because a thread went round without an effect.
    pub const IDLE_ROUNDS: u64 = 1 << 19;
    /// Threads went on as time passed when all scripted parties were done.
    pub const TIME_ALONE: u64 = 1 << 20;
    /// A run registered more handlers of `exit` than are followed.
    pub const EXIT_HANDLERS: u64 = 1 << 26;
    /// Paths were used while a directory on them, or the working directory, was changed.
    pub const PATHS: u64 = 1 << 21;
    /// Machine code that is observed from outside has atomic operations that were not seen as such.
    pub const ATOMIC_CODE: u64 = 1 << 22;
    /// Machine code that is observed from outside was loaded during a run.
    pub const LATE_CODE: u64 = 1 << 23;
    /// A heap under an emulator had no room where there would be some without it.
    pub const HEAP: u64 = 1 << 24;
    /// An emulator did not know an instruction.
    pub const INSTRUCTION: u64 = 1 << 25;
    /// Access rights of memory changed in a program that handles faults.
    pub const PROTECTION: u64 = 1 << 27;
    /// The same memory was mapped at two addresses.
    pub const VIEWS: u64 = 1 << 28;
    /// A run was stopped because a thread waited in a loop that leaves something behind in each
    /// round.
    pub const COUNTED_ROUNDS: u64 = 1 << 29;
}

/// Why a state has no key. The word of a record of a key whose first word is 0: one of these, the
/// thread that is the reason in the next byte, and its program counter above.
pub mod no_key {
    /// The run has no snapshot to be compared with.
    pub const NO_SNAPSHOT: u8 = 1;
    /// The kernel's state was changed.
    pub const KERNEL: u8 = 2;
    /// Something was used that keys do not cover: a file, a descriptor of another kind.
    pub const FILES: u8 = 3;
    /// A channel holds so much that its bytes say too little.
    pub const CROWDED: u8 = 4;
    /// A wait with a time-out was begun, and it is not known what the thread's round changes.
    pub const TIMED_WAIT: u8 = 5;
    /// A timer was used.
    pub const TIMER: u8 = 6;
    /// A signal was used.
    pub const SIGNAL: u8 = 7;
    /// A stream was locked.
    pub const STREAM: u8 = 8;
    /// A named semaphore was used.
    pub const NAMES: u8 = 9;
    /// A thread is inside an atomic section.
    pub const SECTION: u8 = 10;
    /// A thread is in the middle of a round of busy waiting.
    pub const ROUND: u8 = 11;
    /// A thread is in the middle of a transition.
    pub const ACCESS: u8 = 12;
    /// A thread is in a call of which the runtime does not know what it goes on with.
    pub const CALL: u8 = 13;
    /// Too much memory differs from the root, or what sockets and channels hold is not known.
    pub const TOO_MUCH: u8 = 14;

    /// The word for a reason, and the thread with its program counter.
    #[must_use]
    pub const fn word(reason: u8, thread: u16, pc: u64) -> u64 {
        reason as u64 | ((if thread < 0xff { thread } else { 0xff }) as u64) << 8 | pc << 16
    }
}

/// Bits of [`Job::flags`].
pub mod job_flag {
    /// Record the stack of every thread at the end, and of each event named by a segment's stop.
    pub const DETAIL: u32 = 1;
    /// Record repeated accesses too.
    pub const ALL_ACCESSES: u32 = 2;
    /// End the run where its schedule ends, with the status `Stopped`, instead of continuing by the
    /// policy.
    pub const STOP_AFTER_SCHEDULE: u32 = 4;
    /// Record the key of each state behind the schedule.
    pub const KEYS: u32 = 8;
}

/// One run: the request and the result.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Job {
    /// Checkpoint to start from, which is on the schedule. If the target does not have it, the run
    /// starts from the root, with the same result.
    pub base: u32,
    /// Bits of [`job_flag`].
    pub flags: u32,
    /// First segment in the batch's segment area.
    pub first_segment: u32,
    /// How many segments. They are the whole schedule, wherever the run starts.
    pub segments: u32,
    /// How many more follow that say where checkpoints are wanted ([`Segment::checkpoint`]), in
    /// order.
    pub checkpoints: u32,
    /// Transitions that were not made because the run started behind them (result).
    pub started_at: u32,
    /// Which policy: one of [`raddle_vocab::policy::number`].
    pub policy: u32,
    /// `depth` of pct.
    pub policy_depth: u32,
    /// Seed.
    pub policy_seed: u64,
    /// `horizon` of pct.
    pub policy_horizon: u32,
    /// A `RunStatus` (result).
    pub status: u32,
    /// Bound on records of this run.
    pub max_events: u64,
    /// Status-dependent code: exit status, threads wanted (result).
    pub code: i32,
    /// Whether the process exited by itself, 0 or 1 (result).
    pub exited: u32,
    /// Transition at which the schedule could not be followed (result, `Diverged`).
    pub diverged_at: u32,
    /// Transitions made, those of the base included (result).
    pub steps: u32,
    /// Code addresses where spin loops were found, in this or an earlier run (result).
    pub awaits: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Start of the trace within the batch's arena (result).
    pub trace_start: u64,
    /// Bytes of trace (result).
    pub trace_bytes: u64,
    /// Nanoseconds the run took, restore included: the mean of its batch (result).
    pub nanoseconds: u64,
    /// Nanoseconds that the transitions before `started_at` took when they were made (result).
    pub skipped: u64,
}

/// Reads whose verdicts the runtime can remember.
pub const SPIN_ENTRIES: usize = 1 << 17;
/// Code addresses of reads whose examinations are counted.
pub const SPIN_PLACES: usize = 256;

/// Pieces of data that a round of polling may read.
pub const POLL_PIECES: usize = 16;
/// Rounds of polling that can be remembered.
pub const POLL_ROUNDS: usize = 1 << 10;

/// A round of polling under a lock.
#[repr(C)]
pub struct PollRound {
    /// State of the thread before the lock; 0: no round.
    pub key: AtomicU64,
    /// Pieces of data that it reads.
    pub len: AtomicU32,
    /// Must be 0.
    pub reserved: u32,
    /// Where they are, with their sizes, and what they hold.
    pub pieces: [[AtomicU64; 2]; POLL_PIECES],
}

/// What the runtime has learned about spin loops and atomic operations, kept from run to run. Only
/// the runtime reads it, and only the runtime writes it once runs are made. It is in the shared
/// file so that forked runs and the parent share it.
#[repr(C)]
pub struct SpinKnowledge {
    /// Whether a thread was seen to return to a read without having changed anything.
    pub seen: AtomicU32,
    /// Entries of the table in use.
    pub used: AtomicU32,
    /// Code addresses where loops were found.
    pub found: AtomicU32,
    /// Must be 0.
    pub reserved: u32,
    /// The next attempt at the run under way lets one thread run alone behind this many
    /// transitions; 0: there is no examination.
    pub examine_at: AtomicU32,
    /// Which thread.
    pub examine_thread: AtomicU32,
    /// Key of the read that the thread returned from.
    pub examine_key: AtomicU64,
    /// Code address that it returned to.
    pub examine_place: AtomicU64,
    /// Key of the read whose round the next attempt at the run under way observes; 0: none.
    pub proof_key: AtomicU64,
    /// Which thread.
    pub proof_thread: AtomicU32,
    /// Transitions that the thread has made at the beginning of the round, and at its end.
    pub proof_round: [AtomicU32; 2],
    /// What the observation has shown.
    pub proof_answer: AtomicU32,
    /// Entries of the pool whose stacks other threads access, a bit each.
    pub shared_stacks: [AtomicU64; raddle_vocab::policy::MAX_THREADS / 64],
    /// Entries of `polls` in use.
    pub polls_used: AtomicU32,
    /// Must be 0.
    pub reserved_too: u32,
    /// Failed rounds of polling under a lock.
    pub polls: [PollRound; POLL_ROUNDS],
    /// Code address and count, alternating.
    pub places: [AtomicU64; 2 * SPIN_PLACES],
    /// Verdicts about reads, by the state of the reading thread and the value that it reads.
    pub table: [AtomicU64; SPIN_ENTRIES],
    /// Atomic operations of a program that is observed under an emulator.
    pub atomics: observed::AtomicCode,
}

/// Part of a schedule: thread `tid` makes `steps` transitions. Then, if `accesses` is not
/// [`NO_ACCESS_STOP`], it continues until it is before its data access number `accesses` (from 0)
/// after the last of them. Then the next segment follows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Run-local number of the thread: order of creation in this run, main is 0.
    pub tid: u16,
    /// For a first transition that has several successors: which; [`NO_CHOICE`] for the default.
    /// For an atomic operation of a target that keeps stores: how many of them stand behind the one
    /// that it reads, or behind the place of its own. [`raddle_vocab::HOLD`], with no steps: the
    /// thread makes no transition any more.
    pub choice: u16,
    /// Transitions to make.
    pub steps: u32,
    /// Where to stop among the accesses that follow.
    pub accesses: u32,
    /// Must be 0.
    pub reserved: u32,
}

impl Segment {
    /// Holds a thread back for the rest of the run.
    #[must_use]
    pub const fn hold(tid: u16) -> Self {
        Segment { tid, choice: raddle_vocab::HOLD, steps: 0, accesses: 0, reserved: 0 }
    }

    /// Asks for a checkpoint right before the transition with number `at` (from 0, counted from the
    /// root), with number `id`, from which `uses` runs are known to start.
    #[must_use]
    pub const fn checkpoint(id: u16, at: u32, uses: u32) -> Self {
        Segment { tid: id, choice: NO_CHOICE, steps: at, accesses: uses, reserved: 0 }
    }
}
