//! Kinds of operations, and their outcomes.

use crate::byte_enum;

byte_enum! {
    /// One kind of transition. `obj` and `arg` are the two operands that every operation carries on
    /// the wire and in the model; the comment of each kind says what they hold.
    OpKind {
        /// First transition of a thread; always enabled. obj: 0.
        ThreadStart = 1,
        /// Last transition of a thread. obj: 0.
        ThreadEnd = 2,
        /// obj: the child's start function, where that is known. arg: the run-local number of the
        /// child.
        Create = 3,
        /// arg: the thread joined. Enabled once it has ended.
        Join = 4,
        /// arg: the thread detached.
        Detach = 5,
        /// The final end of the process, after exit handlers. arg: status. Orders nothing.
        Exit = 6,

        /// obj: mutex, arg: a `MutexKind`.
        MutexInit = 10,
        /// obj: mutex.
        MutexDestroy = 11,
        /// obj: mutex, arg: its `MutexKind`. Enabled while free (or when the kind lets the owner
        /// through).
        Lock = 12,
        /// obj: mutex, arg: kind. Always enabled.
        TryLock = 13,
        /// obj: mutex, arg: kind. Always enabled: it times out where `Lock` would block.
        TimedLock = 14,
        /// obj: mutex, arg: kind.
        Unlock = 15,

        /// obj: rwlock, arg: 1 if waiting writers come before readers, as for all kinds below but
        /// the last two.
        RwInit = 20,
        /// obj: rwlock.
        RwDestroy = 21,
        /// obj: rwlock. Enabled while no writer holds it, or waits for it and comes first.
        ReadLock = 22,
        /// obj: rwlock. Always enabled.
        TryReadLock = 23,
        /// obj: rwlock. Always enabled.
        TimedReadLock = 24,
        /// obj: rwlock. Enabled while no thread holds it.
        WriteLock = 25,
        /// obj: rwlock. Always enabled.
        TryWriteLock = 26,
        /// obj: rwlock. Always enabled.
        TimedWriteLock = 27,
        /// obj: rwlock, arg: 1 if the writer's side is released, 0 for a reader's.
        RwUnlock = 28,
        /// obj: rwlock, arg: 1 if the wait may end by time-out. First half of an acquisition for
        /// writing where writers come first: from here on no further reader is let in.
        RwAnnounce = 29,

        /// obj: condition variable.
        CondInit = 30,
        /// obj: condition variable.
        CondDestroy = 31,
        /// obj: condition variable, arg: mutex. Releases the mutex and enqueues, atomically.
        CondWait = 32,
        /// As `CondWait`, but the wait may end by time-out.
        CondTimedWait = 33,
        /// obj: condition variable, arg: mutex. Second half of a wait without time-out: enabled
        /// while the mutex is free and the thread was woken, or may wake spuriously.
        CondReacquire = 34,
        /// obj: condition variable. One successor per waiter. value: set of the threads that it
        /// woke, old: number of its successors.
        Signal = 35,
        /// obj: condition variable.
        Broadcast = 36,
        /// obj: condition variable, arg: mutex. The end of a timed wait: woken, timed out or woken
        /// spuriously. It takes no mutex: a `Lock` follows.
        CondResume = 37,

        /// obj: semaphore, arg: initial value.
        SemInit = 40,
        /// obj: semaphore.
        SemDestroy = 41,
        /// obj: semaphore. Enabled while the count is positive.
        SemWait = 42,
        /// obj: semaphore. Always enabled.
        SemTryWait = 43,
        /// obj: semaphore. Always enabled.
        SemTimedWait = 44,
        /// obj: semaphore.
        SemPost = 45,

        /// obj: barrier, arg: count.
        BarrierInit = 50,
        /// obj: barrier.
        BarrierDestroy = 51,
        /// obj: barrier, arg: number of the round. The last arrival opens it.
        BarrierArrive = 52,
        /// obj: barrier, arg: number of the round. Enabled once that is open; the least rank that
        /// takes part is the serial thread.
        BarrierLeave = 53,

        /// obj: once control or guard. Enabled unless another thread is inside.
        OnceBegin = 60,
        /// obj: once control or guard; the initialiser returned.
        OnceEnd = 61,
        /// obj: guard; the initialiser threw.
        OnceAbort = 62,

        /// obj: address. value: what was read. arg: 1 if it ended a spin loop, old: a value with
        /// which the loop went round.
        AtomicLoad = 70,
        /// obj: address. value: what was written, old: what it replaced. arg: 1 if a release
        /// sequence of the same thread goes on with it, as in C.
        AtomicStore = 71,
        /// obj: address. value: what was written, old: what it replaced.
        AtomicRmw = 72,
        /// obj: address, arg: expected value. value: what was written (on success), old: what was
        /// seen.
        AtomicCas = 73,
        /// obj: 0. A thread fence.
        Fence = 74,

        /// obj: address, arg: expected value. Enqueues if the word still holds it, else fails.
        FutexWait = 80,
        /// As `FutexWait`, but the wait may end by time-out.
        FutexTimedWait = 81,
        /// obj: address. Second half of a futex wait: enabled once woken or timed out.
        FutexResume = 82,
        /// obj: address, arg: how many to wake. `value`: bit set or number of the one woken, as for
        /// `Signal`.
        FutexWake = 83,

        /// obj: address. A plain read as a transition (access granularity, or a benign race).
        Read = 90,
        /// obj: address. A plain write as a transition.
        Write = 91,
        /// obj: block, arg: size. Returning a heap block, as a transition.
        Free = 92,
        /// obj: first byte, arg: size, with a `MappingChange` in the highest 8 bits. A change of
        /// mapped memory, as a transition (access granularity).
        Mapping = 93,

        /// obj: identity of what is read, written or looked up, arg: see `io`. Input or output that
        /// other threads can observe.
        Io = 95,

        /// A value that the program leaves open. arg: number of values, that is, of successors.
        /// value: which of them, old: what the program got.
        Choose = 96,

        /// A handler of the program begins, in a thread of its own that acts for another one. arg:
        /// see `handler`. Enabled while the signal is pending and not blocked.
        Deliver = 97,
        /// The handler has returned, and the interrupted thread goes on. arg: see `handler`.
        HandlerReturn = 98,
        /// A call begins that a handler may interrupt. obj: 0.
        CallBegin = 99,
    }
}

byte_enum! {
    /// The outcome of an operation that was performed.
    Outcome {
        /// It did what its name says: acquired, stored, exchanged, enqueued, woke any number of
        /// threads.
        Done = 0,
        /// A try, compare-exchange or futex wait that found another state than it needs and changed
        /// nothing.
        Failed = 1,
        /// A timed operation that gave up.
        TimedOut = 2,
        /// A wait that ended without a wake-up or time-out (`--spurious`).
        Spurious = 3,
        /// A mutex operation refused with an error code because of its kind (errorcheck: relock,
        /// not owner).
        Refused = 4,
        /// `OnceBegin`: the initialiser has finished already; the caller does not run it.
        Already = 5,
        /// `BarrierArrive`: this arrival opened the round (no part of the dependence: arrivals
        /// commute).
        Last = 6,
        /// A recursive acquisition or release that changed only the depth.
        Nested = 7,
    }
}

impl Outcome {
    /// The word for messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed out",
            Outcome::Spurious => "spurious",
            Outcome::Refused => "refused",
            Outcome::Already => "already done",
            Outcome::Last => "the last",
            Outcome::Nested => "nested",
        }
    }
}

impl OpKind {
    /// Whether the operation can only enable others, and no other order of it with operations of
    /// other threads has to be tried first: it gives, begins or ends something.
    #[must_use]
    pub const fn gives(self) -> bool {
        matches!(
            self,
            OpKind::ThreadStart
                | OpKind::ThreadEnd
                | OpKind::Exit
                | OpKind::Create
                | OpKind::Join
                | OpKind::Unlock
                | OpKind::RwUnlock
                | OpKind::SemPost
                | OpKind::SemInit
                | OpKind::BarrierInit
                | OpKind::BarrierArrive
                | OpKind::BarrierLeave
                | OpKind::OnceEnd
                | OpKind::MutexInit
                | OpKind::RwInit
                | OpKind::CondInit
        )
    }

    /// The fixed word for the operation, as reports and the debugger use it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            OpKind::ThreadStart => "start",
            OpKind::ThreadEnd => "end",
            OpKind::Create => "create",
            OpKind::Join => "join",
            OpKind::Detach => "detach",
            OpKind::Exit => "exit",
            OpKind::MutexInit => "mutex-init",
            OpKind::MutexDestroy => "mutex-destroy",
            OpKind::Lock => "lock",
            OpKind::TryLock => "try-lock",
            OpKind::TimedLock => "timed-lock",
            OpKind::Unlock => "unlock",
            OpKind::RwInit => "rwlock-init",
            OpKind::RwDestroy => "rwlock-destroy",
            OpKind::ReadLock => "read-lock",
            OpKind::TryReadLock => "try-read-lock",
            OpKind::TimedReadLock => "timed-read-lock",
            OpKind::WriteLock => "write-lock",
            OpKind::TryWriteLock => "try-write-lock",
            OpKind::TimedWriteLock => "timed-write-lock",
            OpKind::RwUnlock => "rw-unlock",
            OpKind::RwAnnounce => "write-wait",
            OpKind::CondInit => "cond-init",
            OpKind::CondDestroy => "cond-destroy",
            OpKind::CondWait | OpKind::CondReacquire => "cond-wait",
            OpKind::CondTimedWait | OpKind::CondResume => "cond-timed-wait",
            OpKind::Signal => "signal",
            OpKind::Broadcast => "broadcast",
            OpKind::SemInit => "sem-init",
            OpKind::SemDestroy => "sem-destroy",
            OpKind::SemWait => "sem-wait",
            OpKind::SemTryWait => "sem-try-wait",
            OpKind::SemTimedWait => "sem-timed-wait",
            OpKind::SemPost => "sem-post",
            OpKind::BarrierInit => "barrier-init",
            OpKind::BarrierDestroy => "barrier-destroy",
            OpKind::BarrierArrive | OpKind::BarrierLeave => "barrier-wait",
            OpKind::OnceBegin => "once",
            OpKind::OnceEnd => "once-end",
            OpKind::OnceAbort => "once-abort",
            OpKind::AtomicLoad => "atomic-load",
            OpKind::AtomicStore => "atomic-store",
            OpKind::AtomicRmw => "atomic-rmw",
            OpKind::AtomicCas => "atomic-cas",
            OpKind::Fence => "fence",
            OpKind::FutexWait | OpKind::FutexTimedWait | OpKind::FutexResume => "futex-wait",
            OpKind::FutexWake => "futex-wake",
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Free => "free",
            OpKind::Mapping => "mapping",
            OpKind::Io => "io",
            OpKind::Choose => "choose",
            OpKind::Deliver => "handler",
            OpKind::HandlerReturn => "handler-return",
            OpKind::CallBegin => "call",
        }
    }

    /// Whether the operation is an access to an atomic object.
    #[must_use]
    pub const fn is_atomic_access(self) -> bool {
        matches!(self, OpKind::AtomicLoad | OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas)
    }

    /// Whether the operation may return without the lock that it is about.
    #[must_use]
    pub const fn is_lock_attempt(self) -> bool {
        matches!(
            self,
            OpKind::TryLock
                | OpKind::TimedLock
                | OpKind::TryReadLock
                | OpKind::TimedReadLock
                | OpKind::TryWriteLock
                | OpKind::TimedWriteLock
        )
    }
}
