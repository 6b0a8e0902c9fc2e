//! Closed sets of codes: memory orders, mutex kinds, failures, misuse, the end of a run.

use crate::byte_enum;

byte_enum! {
    /// A C11 memory order with the compiler's own numbering (`__ATOMIC_*`).
    MemOrder {
        /// `memory_order_relaxed`
        Relaxed = 0,
        /// `memory_order_consume`, treated as acquire.
        Consume = 1,
        /// `memory_order_acquire`
        Acquire = 2,
        /// `memory_order_release`
        Release = 3,
        /// `memory_order_acq_rel`
        AcqRel = 4,
        /// `memory_order_seq_cst`
        SeqCst = 5,
    }
}

impl MemOrder {
    /// Whether a read with this order acquires.
    #[must_use]
    pub const fn acquires(self) -> bool {
        !matches!(self, MemOrder::Relaxed | MemOrder::Release)
    }

    /// Whether a write with this order releases.
    #[must_use]
    pub const fn releases(self) -> bool {
        matches!(self, MemOrder::Release | MemOrder::AcqRel | MemOrder::SeqCst)
    }
}

byte_enum! {
    /// What a mutex does when its owner locks it again, or another thread unlocks it.
    MutexKind {
        /// Relocking blocks for ever.
        Normal = 0,
        /// Relocking counts.
        Recursive = 1,
        /// Relocking and foreign unlocking are refused with an error code.
        ErrorCheck = 2,
        /// A spin lock: as `Normal`, under its own name.
        Spin = 3,
    }
}

byte_enum! {
    /// How a thread failed.
    Failure {
        /// `assert`, `__VERIFIER_error` and friends; text: the condition.
        Assertion = 1,
        /// `abort()`.
        Abort = 2,
        /// A fatal signal; value: its number, obj: the address.
        Signal = 3,
        /// An uncaught exception; text: its type.
        Exception = 4,
        /// A false assume: not a failure of the program; the execution does not count.
        Assume = 5,
        /// The script of a party is not met; text: what it expected, and what came.
        Script = 6,
        /// The party waits at the end of the run; text: for what. No failure by itself.
        ScriptWaits = 7,
    }
}

byte_enum! {
    /// Misuse of the thread library, as the runtime sees it happen.
    Misuse {
        /// Use of a mutex whose bytes are not those of an initialised one.
        MutexUninitialised = 1,
        /// Use of a destroyed mutex.
        MutexDestroyed = 2,
        /// Unlock of a mutex that another thread holds.
        UnlockNotOwner = 3,
        /// Unlock of a mutex that no thread holds.
        UnlockNotLocked = 4,
        /// Destroying a mutex that is held.
        DestroyLocked = 5,
        /// Use of a condition variable that was never initialised.
        CondUninitialised = 6,
        /// Use of a destroyed condition variable.
        CondDestroyed = 7,
        /// Waits on one condition variable with different mutexes at the same time.
        CondTwoMutexes = 8,
        /// A wait without holding the mutex.
        CondWaitUnlocked = 9,
        /// Destroying a condition variable that threads wait on.
        DestroyWaited = 10,
        /// Joining a thread that was joined before.
        JoinTwice = 11,
        /// Joining or detaching a detached thread.
        JoinDetached = 12,
        /// A thread joins itself.
        JoinSelf = 13,
        /// A barrier initialised for no thread.
        BarrierCount = 14,
        /// Use of an rwlock that was never initialised.
        RwUninitialised = 15,
        /// Use of a destroyed rwlock.
        RwDestroyed = 16,
        /// Destroying an rwlock that is held.
        RwDestroyLocked = 17,
        /// Unlocking an rwlock that the thread does not hold.
        RwUnlockNotHeld = 18,
        /// Use of a semaphore that was never initialised.
        SemUninitialised = 19,
        /// Use of a destroyed semaphore.
        SemDestroyed = 20,
        /// Destroying a semaphore that threads wait on.
        SemDestroyWaited = 21,
        /// Use of a barrier that was never initialised.
        BarrierUninitialised = 22,
        /// Use of a destroyed barrier.
        BarrierDestroyed = 23,
        /// Destroying a barrier that threads wait at.
        BarrierDestroyWaited = 24,
        /// Freeing memory that contains a held mutex.
        FreeLocked = 25,
        /// Initialising an object that is in use.
        ReinitInUse = 26,
        /// A semaphore's value beyond `SEM_VALUE_MAX`.
        SemOverflow = 27,
        /// `free` of what is not a live heap block.
        BadFree = 28,
        /// A thread handle that names no thread of this run.
        BadThread = 29,
        /// A lock of the program's own that is announced as acquired while another thread holds it.
        LockNotFree = 30,
        /// A heap block that nothing leads to at the end of the process.
        Leak = 31,
        /// A function that is not async-signal-safe is called in a signal handler.
        AsyncSignalUnsafe = 32,
        /// A signal handler has changed `errno`.
        SignalErrno = 33,
        /// An access to the stack of another thread where it has no frame any more, or, if the
        /// second operand is 1, to the thread-local storage of one that has ended.
        DeadFrame = 34,
        /// A block is given back in another way than it was allocated, or with another size. The
        /// second operand: see [`HeapCalls`](crate::HeapCalls).
        MismatchedFree = 35,
    }
}

byte_enum! {
    /// How a run ended.
    RunStatus {
        /// Every thread ended, failed or is at rest.
        Rest = 0,
        /// The schedule asked for a thread that could not take the step.
        Diverged = 1,
        /// The bound on events stopped it.
        Cut = 2,
        /// The trace did not fit.
        TraceFull = 3,
        /// More threads than the pool has; `code` says how many would do.
        NeedPool = 4,
        /// It changed kernel state that a snapshot cannot undo: run it in a process of its own.
        NeedFresh = 5,
        /// Memory is too damaged to continue.
        Damaged = 6,
        /// A false assume ended it.
        Assumed = 7,
        /// It followed its schedule and stopped where the schedule ends, as the request asked.
        Stopped = 8,
        /// A thread went round and round without an effect while others could run: the bound on
        /// such rounds stopped it.
        Idle = 9,
    }
}
