//! The state of a run: restored with the program's memory before the next run.

use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{OpKind, ThreadSet};
use raddle_wire::observed::Hot;

use crate::arch::signal::KernelAction;
use crate::interpose::annotations::benign;
use crate::interpose::annotations::locks::AnnouncedLocks;
use crate::interpose::annotations::section::Section;
use crate::interpose::io::announce::Ways;
use crate::interpose::io::channels::Semaphores;
use crate::interpose::io::descriptor_ends::DescriptorWords;
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::effects::OpenRecord;
use crate::interpose::io::file_locks::FileLocks;
use crate::interpose::io::queues::Queues;
use crate::interpose::io::regular_files::OpenFile;
use crate::interpose::io::stream_locks::StreamLocks;
use crate::interpose::memory::mappings::Viewed;
use crate::interpose::process::exit_handlers::ExitHandlers;
use crate::interpose::process::pending_signals::Signals;
use crate::interpose::process::settings::ProcessSettings;
use crate::interpose::process::timers::Timers;
use crate::interpose::sync::once::HeapOnces;
use crate::interpose::sync::sem_names::Names;
use crate::sched::idle_rounds;
use crate::sched::real_time::RealStart;
use crate::sched::virtual_time::PublishedClocks;
use crate::spinloop::loop_head::ReadHistory;
use crate::state::thread_private::ThreadPrivate;

/// Where a thread is. The commands for gdb know the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ThreadStatus {
    /// The entry is not in use.
    Unused,
    /// Before its pending operation.
    Pending,
    /// Before a data access: a segment says so, or it has read for long without a transition.
    AtAccess,
    /// Before a read that may be the last of a failed spin round, depending on the value that it
    /// would read (see `spinloop`).
    AtSpinRead,
    /// In a loop that nothing can end.
    EndlessLoop,
    /// It has ended.
    Ended,
    /// It has failed and stops for good.
    Failed,
    /// It has left the process.
    Exited,
    /// Before its pending operation, which it does not make in this run: the schedule says so.
    Held,
    /// The same, before a read that may be the last of a failed spin round.
    HeldAtSpinRead,
}

/// An operation as a thread announces it.
#[derive(Clone, Copy, Debug)]
pub struct AnnouncedOp {
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

impl AnnouncedOp {
    /// An operation without memory order.
    pub const fn new(kind: OpKind, obj: u64, arg: u64, pc: u64) -> Self {
        AnnouncedOp { kind, order: 0, log_size: 0, obj, arg, pc }
    }
}

/// How far a thread's wait on a condition variable, futex or barrier has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStage {
    /// In no queue.
    None,
    /// In the queue of the object.
    Queued {
        /// Condition variable or futex word.
        obj: u64,
        /// The mutex that was released; 0 for a futex.
        mutex: u64,
        /// Whether the wait may time out.
        timed: bool,
    },
    /// Taken out of the queue by a signal.
    Woken,
    /// At the end of a timed wait, before it locks the mutex.
    Resumed {
        /// Whether it timed out.
        timed_out: bool,
    },
    /// At a barrier that is still closed.
    Arrived {
        /// The barrier.
        obj: u64,
    },
    /// At a barrier that has opened.
    Released {
        /// The barrier.
        obj: u64,
        /// Whether this is the one thread that is told so.
        serial: bool,
    },
}

/// One thread of the program. What every step needs comes first, in two cache lines. The size is a
/// power of 2, because each event computes several addresses in the table.
#[derive(Clone, Copy)]
#[repr(C, align(1024))]
pub struct Fiber {
    /// Stack pointer while it does not run.
    pub sp: usize,
    /// The stack pointer with which the program called the operation that it is parked before; 0 if
    /// that is not known.
    pub program_sp: usize,
    /// Its thread pointer: where its thread-local storage is.
    pub thread_pointer: u64,
    /// The operation before which it is.
    pub pending: AnnouncedOp,
    /// Accesses since its last transition, while it does not run.
    pub count: u32,
    /// Transitions made.
    pub steps: u32,
    /// From how many on it may be watched ([`crate::sched::idle_rounds`]).
    pub watch_from: u32,
    /// Position in the order of spawn paths.
    pub rank: u16,
    /// Entry of the pool whose stack and storage it uses.
    pub slot: u16,
    /// Creator.
    pub parent: u16,
    /// Where it is.
    pub status: ThreadStatus,
    /// Whether it shall record its stack when it is switched to (see `sched::dump_stacks`).
    pub dump: bool,
    /// Lowest and one past the highest address of its stack.
    pub stack: (usize, usize),
    /// Signals that it has blocked.
    pub blocked: u64,
    /// Hash of what it has read between transitions, while it does not run.
    pub values: u64,
    /// Open regions in which the program asked not to record its accesses.
    pub ignoring: u32,
    /// Conflicting steps of other threads since its operation became pending (for partial order
    /// sampling).
    pub conflicts: u32,
    /// Its last reads, for the detection of spin loops.
    pub read_history: ReadHistory,
    /// Hash of the transitions that it has made and of their outcomes.
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
    pub wait: WaitStage,
    /// `pthread_detach` was called or the attribute says so.
    pub detached: bool,
    /// A thread has joined it.
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
    pub private: ThreadPrivate,
}

impl Fiber {
    /// An entry of the table that no thread uses.
    pub const UNUSED: Fiber = Fiber {
        sp: 0,
        program_sp: 0,
        thread_pointer: 0,
        status: ThreadStatus::Unused,
        pending: AnnouncedOp::new(OpKind::ThreadStart, 0, 0, 0),
        count: 0,
        steps: 0,
        watch_from: idle_rounds::PATIENCE,
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
        wait: WaitStage::None,
        spurious_left: 0,
        clock: 0,
        history: 0,
        values: 0,
        stack: (0, 0),
        read_history: ReadHistory::EMPTY,
        ignoring: 0,
        channels: 0,
        temporary_files: 0,
        mapped_bytes: 0,
        foreign_frees: 0,
        blocked: 0,
        dump: false,
        private: ThreadPrivate::NEW,
    };

    /// Whether the thread can still do something.
    pub fn is_live(&self) -> bool {
        !matches!(self.status, ThreadStatus::Ended | ThreadStatus::Exited | ThreadStatus::Failed)
    }
}

/// The sets that a thread can be in, by what is known of whether it can step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadySet {
    /// [`RunState::runnable`]
    Runnable,
    /// [`RunState::reluctant`]
    Reluctant,
    /// [`RunState::blocked`]
    Blocked,
    /// In none: it has ended.
    None,
}

/// The state of a run. What all runs use comes first, in as few pages as possible.
#[repr(C)]
pub struct RunState {
    /// What hooks need.
    pub hot: Hot,
    /// The count at which the running thread's accesses would leave the fast path if none were
    /// benign: while some are, all accesses leave it ([`Hot::stop_at`] is 0).
    pub stop_after: u32,
    /// Transitions made so far.
    pub steps: u32,
    /// Threads created so far.
    pub threads: usize,
    /// Those of them that play scripted parties.
    pub parties: usize,
    /// Those that deliver signals.
    pub couriers: usize,
    /// Whether a child process was started.
    pub has_children: bool,
    /// Whether a thread has asked for processors.
    pub has_affinities: bool,
    /// Ranks of the threads that may be able to step; checked again when chosen.
    pub runnable: ThreadSet,
    /// Ranks of the threads that could step only by timing out or waking spuriously.
    pub reluctant: ThreadSet,
    /// Ranks of the threads that were found unable to step; checked again when their object
    /// changes.
    pub blocked: ThreadSet,
    /// The thread that made the last transition, and how many it has made in a row.
    pub streak: (u16, u32),
    /// The round that is watched.
    pub watch: idle_rounds::Watch,
    /// Whether threads are watched before they have gone on for long, because places are known.
    pub watches_early: bool,
    /// Transitions of threads that were not going round ([`crate::sched::counted_rounds`]).
    pub progress: u32,
    /// Rounds since then that others could have ended.
    pub counted_rounds: u32,
    /// Whether a thread was left because it had gone on for long.
    pub any_left: bool,
    /// Number of threads with the status [`ThreadStatus::AtSpinRead`].
    pub at_spin_reads: u32,
    /// The thread to go back to after a stack was dumped.
    pub dump_for: u16,
    /// Whether a thread has waited with a time-out, slept, yielded or read its clock.
    pub timed: bool,
    /// Whether a thread has read its clock or set a timer.
    pub observes_time: bool,
    /// Whether a thread has waited for descriptors of a queue with a time-out.
    pub waits_timed: bool,
    /// Whether the pasts of threads were hashed from the start of the run on.
    pub knows_pasts: bool,
    /// Whether the call under way, which is input or output to the search, uses memory only.
    pub uses_memory_only: bool,
    /// Whether the running thread goes on with what is held and what the call was given
    /// ([`crate::state_key::goes_on_with`]).
    pub goes_on: bool,
    /// Whether threads go on by time alone, and all scripted parties are done.
    pub is_over: bool,
    /// When the clocks of threads and the real one showed the same.
    pub real_start: RealStart,
    /// Whether there was input or output that is a transition.
    pub used_files: bool,
    /// The last operation on a channel, whose record is not complete.
    pub open_record: OpenRecord,
    /// Whether a channel of the kernel's holds so much that states cannot be told by its bytes.
    pub is_crowded: bool,
    /// Event counters that are semaphores.
    pub semaphores: Semaphores,
    /// Whether an exception or a jump ended a function.
    pub has_landed: bool,
    /// Whether the process has exited, and how.
    pub exit: Option<i32>,
    /// Hash of what the call that the running thread is in holds beside its arguments.
    pub held: u64,
    /// The atomic section that a thread is in.
    pub section: Section,
    /// Bytes of all heap blocks ever handed out fresh.
    pub heap_bytes: usize,
    /// Heap blocks that the program has to free.
    pub live_blocks: usize,
    /// Pool entries in use.
    pub slots: ThreadSet,
    /// Run-local numbers by rank.
    pub by_rank: [u16; MAX_THREADS],
    /// Threads that the users of each pool entry have created in fresh ones.
    pub slot_children: [u16; MAX_THREADS],
    /// Threads by run-local number.
    pub fibers: [Fiber; MAX_THREADS],
    /// Locks that the program has announced.
    pub announced_locks: AnnouncedLocks,
    /// Bytes on which the program declares races benign.
    pub benign: benign::Ranges,
    /// Identity of what each descriptor refers to, if operations on it can block.
    pub channels: [u64; MAX_CHANNELS],
    /// Regular files that descriptors refer to.
    pub open_files: [OpenFile; MAX_CHANNELS],
    /// Words whose accesses are the uses and ends of descriptors.
    pub descriptor_words: DescriptorWords,
    /// Actions that the program wants for the signals that the runtime handles.
    pub handlers: [KernelAction; 65],
    /// Files that are mapped as shared.
    pub viewed: Viewed,
    /// Signals that are pending for the process.
    pub signals: Signals,
    /// Timers of the program.
    pub timers: Timers,
    /// Once controls in heap blocks.
    pub heap_onces: HeapOnces,
    /// Queues of `epoll`.
    pub queues: Queues,
    /// Locks of files.
    pub file_locks: FileLocks,
    /// Locks of streams.
    pub stream_locks: StreamLocks,
    /// Directories that paths went through, and that were changed.
    pub ways: Ways,
    /// Clocks that threads published at objects.
    pub clocks: PublishedClocks,
    /// Named semaphores.
    pub names: Names,
    /// Stacks of allocations and frees that were recorded.
    pub block_stacks: u32,
    /// Stacks of operations that were recorded.
    pub step_stacks: u32,
    /// Where `strtok` goes on.
    pub token_position: usize,
    /// What the program has set of the process.
    pub settings: ProcessSettings,
    /// Handlers of the end of the process.
    pub exit_handlers: ExitHandlers,
}

impl RunState {
    pub(super) const fn new() -> Self {
        RunState {
            hot: Hot::NEW,
            stop_after: u32::MAX,
            announced_locks: AnnouncedLocks::NEW,
            benign: benign::Ranges::NEW,
            threads: 0,
            parties: 0,
            couriers: 0,
            has_children: false,
            has_affinities: false,
            steps: 0,
            runnable: ThreadSet::new(),
            reluctant: ThreadSet::new(),
            blocked: ThreadSet::new(),
            by_rank: [0; MAX_THREADS],
            slots: ThreadSet::new(),
            slot_children: [0; MAX_THREADS],
            exit: None,
            held: 0,
            section: Section::new(),
            heap_bytes: 0,
            live_blocks: 0,
            streak: (0, 0),
            watch: idle_rounds::Watch::NONE,
            watches_early: false,
            progress: 0,
            counted_rounds: 0,
            any_left: false,
            at_spin_reads: 0,
            dump_for: 0,
            channels: [0; MAX_CHANNELS],
            open_files: [OpenFile::NONE; MAX_CHANNELS],
            descriptor_words: DescriptorWords::NEW,
            handlers: [KernelAction::DEFAULT; 65],
            viewed: Viewed::NEW,
            signals: Signals::NONE,
            timers: Timers::NEW,
            heap_onces: HeapOnces::NEW,
            queues: Queues::NEW,
            file_locks: FileLocks::NONE,
            stream_locks: StreamLocks::NEW,
            ways: Ways::NEW,
            timed: false,
            observes_time: false,
            waits_timed: false,
            knows_pasts: false,
            uses_memory_only: false,
            goes_on: false,
            is_over: false,
            real_start: RealStart::NONE,
            used_files: false,
            open_record: OpenRecord::NONE,
            is_crowded: false,
            semaphores: Semaphores::NONE,
            has_landed: false,
            clocks: PublishedClocks::new(),
            names: Names::new(),
            token_position: 0,
            settings: ProcessSettings::AT_START,
            exit_handlers: ExitHandlers::NONE,
            block_stacks: 0,
            step_stacks: 0,
            fibers: [Fiber::UNUSED; MAX_THREADS],
        }
    }

    /// Moves the thread with this rank to one of the sets.
    #[inline(never)]
    pub fn move_to(&mut self, rank: usize, target: ReadySet) {
        for (set, name) in [
            (&mut self.runnable, ReadySet::Runnable),
            (&mut self.reluctant, ReadySet::Reluctant),
            (&mut self.blocked, ReadySet::Blocked),
        ] {
            if target == name {
                set.insert(rank);
            } else {
                set.remove(rank);
            }
        }
    }

    /// The thread with this rank has run and may be able to go on: nearly always it was in that set
    /// before.
    #[inline(always)]
    pub fn stays_runnable(&mut self, rank: usize) {
        let (word, bit) = (rank / 64 % ThreadSet::WORDS, 1 << (rank % 64));
        let others = self.reluctant.words()[word] | self.blocked.words()[word];
        if self.runnable.words()[word] & !others & bit == 0 {
            self.move_to(rank, ReadySet::Runnable);
        }
    }

    /// A thread by its number. The remainder is that number, and spares the check that it is one.
    #[inline(always)]
    pub fn fiber(&mut self, tid: usize) -> &mut Fiber {
        &mut self.fibers[tid % MAX_THREADS]
    }

    /// The running thread.
    #[inline(always)]
    pub fn me(&mut self) -> &mut Fiber {
        self.fiber(self.hot.tid as usize)
    }
}
