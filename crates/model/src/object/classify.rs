//! Questions about operations that several analyses ask.

use std::ops::BitOr;

use raddle_vocab::{Outcome, extent};

use super::{
    AtomicAction, AtomicOp, BarrierAction, CondAction, FutexAction, MemoryAction, MutexAction, OnceAction, Op,
    Operation as _, Patience, RwlockAction, SemaphoreAction, ThreadOp, Woken,
};

/// How an operation changes the holder of a lock. A thread inside the initialiser of a once control
/// counts as its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockChange {
    /// The thread holds the lock, or holds it once more.
    Acquire {
        /// Mutex, read-write lock or once control.
        object: u64,
        /// Only for reading.
        shared: bool,
        /// It is a once control.
        once: bool,
        /// No thread held it in a way that excludes this.
        was_free: bool,
    },
    /// The thread gives back one hold.
    Release(u64),
    /// The thread is done with the initialiser, if the word is a guard.
    FinishGuard(u64),
    /// The lock is new, or gone: no thread holds it.
    Reset(u64),
}

impl LockChange {
    /// The lock.
    #[must_use]
    #[inline]
    pub fn object(self) -> u64 {
        match self {
            LockChange::Acquire { object, .. }
            | LockChange::Release(object)
            | LockChange::FinishGuard(object)
            | LockChange::Reset(object) => object,
        }
    }
}

/// How an operation changes the life of a synchronising object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeChange {
    /// A call initialised it.
    Initialised(u64),
    /// A call destroyed it.
    Destroyed(u64),
}

impl LifeChange {
    /// The object.
    #[must_use]
    #[inline]
    pub fn object(self) -> u64 {
        match self {
            LifeChange::Initialised(object) | LifeChange::Destroyed(object) => object,
        }
    }
}

/// Rare properties of operations, a bit each. What a search asks of a whole execution is answered
/// by those of its events together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTraits(u8);

impl OpTraits {
    /// It is a load that a spin loop waited for.
    pub const AWAITED: OpTraits = OpTraits(1);
    /// It is input or output that may wait.
    pub const WAITS_FOR_IO: OpTraits = OpTraits(1 << 1);
    /// It writes memory by a plain access.
    pub const WRITES_PLAINLY: OpTraits = OpTraits(1 << 2);
    /// It waits for a futex.
    pub const WAITS_FOR_FUTEX: OpTraits = OpTraits(1 << 3);
    /// It frees memory, or initialises or destroys an object.
    pub const CHANGES_LIFE: OpTraits = OpTraits(1 << 4);

    /// Whether these are among them.
    #[must_use]
    #[inline]
    pub fn contain(self, others: OpTraits) -> bool {
        self.0 & others.0 == others.0
    }

    #[inline]
    fn only_if(self, holds: bool) -> Self {
        if holds { self } else { OpTraits::default() }
    }
}

impl BitOr for OpTraits {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        OpTraits(self.0 | other.0)
    }
}

/// When an operation is an ordinary use of a thread or a plain mutex. If all uses of an object are,
/// each first half (see [`Op::is_first_half`]) comes before what waits for it in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrdinaryUse {
    /// In every state.
    Always,
    /// In none.
    Never,
    /// If it is the first use.
    First,
    /// If its thread holds the mutex.
    Owner,
}

impl Op {
    /// The atomic operation, if it is one.
    #[must_use]
    #[inline]
    pub fn as_atomic(&self) -> Option<&AtomicOp> {
        match self {
            Op::Atomic(op) => Some(op),
            _ => None,
        }
    }

    /// Whether it is an atomic load, or a look at the life of a thread.
    #[must_use]
    #[inline]
    pub fn is_load(&self) -> bool {
        match self {
            Op::Atomic(op) => op.is_load(),
            op => matches!(op, Op::Thread(ThreadOp::Poll { .. })),
        }
    }

    /// Whether the operation is an access to memory, plain or atomic, or ends the life of a block.
    #[must_use]
    #[inline]
    pub fn is_memory_access(&self) -> bool {
        matches!(self, Op::Atomic(_) | Op::Memory(_))
    }

    /// First byte and number of bytes that it accesses; of an object, its first byte.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> (u64, u64) {
        match self {
            Op::Atomic(op) => (op.addr, u64::from(op.size)),
            Op::Memory(op) => (op.addr, op.size),
            Op::Futex(op) if op.is_wait() => (op.word, 4),
            _ => (self.object(), 0),
        }
    }

    /// First byte and number of bytes of the synchronising object that lies in memory and that it
    /// is about.
    #[must_use]
    pub fn object_bytes(&self) -> Option<(u64, u64)> {
        let size = match self {
            Op::Mutex(op) => op.extent(),
            Op::Rwlock(_) => extent::RWLOCK,
            Op::Cond(_) => extent::COND,
            Op::Semaphore(_) => extent::SEMAPHORE,
            Op::Barrier(_) => extent::BARRIER,
            Op::Once(op) if !op.guard => extent::ONCE,
            Op::Thread(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Futex(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Choice(_)
            | Op::Signal(_) => return None,
        };
        Some((self.object(), size))
    }

    /// The address of the object in memory that the operation is about.
    #[must_use]
    #[inline]
    pub fn address(&self) -> Option<u64> {
        match self {
            Op::Thread(_) | Op::Exit(_) | Op::Fence(_) | Op::File(_) | Op::Choice(_) | Op::Signal(_) => None,
            _ => Some(self.object()).filter(|&object| object != 0),
        }
    }

    /// The mutex that a wait for a condition variable releases or takes.
    #[must_use]
    #[inline]
    pub fn mutex_of_wait(&self) -> Option<u64> {
        match self {
            Op::Cond(op) => match op.action {
                CondAction::Wait { mutex, .. }
                | CondAction::Reacquire { mutex, .. }
                | CondAction::Resume { mutex, .. } => Some(mutex),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value that an atomic operation read or wrote, for display. Of a look at a thread: 1 if
    /// it has ended. Of a choice: what the program got.
    #[must_use]
    #[inline]
    pub fn value(&self) -> Option<u64> {
        match self {
            Op::Atomic(op) => Some(op.left()),
            Op::Thread(ThreadOp::Poll { ended, .. }) => Some(u64::from(*ended)),
            Op::Choice(op) => Some(op.given),
            _ => None,
        }
    }

    /// The thread that it created.
    #[must_use]
    #[inline]
    pub fn created(&self) -> Option<u16> {
        match *self {
            Op::Thread(ThreadOp::Create { child, failed: false, .. }) => Some(child),
            _ => None,
        }
    }

    /// Whether the other operation, which conflicts with this one, may be enabled by something that
    /// does not: a post by another post, a writer by the end of any reader, a timed wait by its
    /// time-out, a read in a spin loop by a write to other bytes of what it reads. Writes that
    /// enable such a read conflict with one another if they write all of it.
    #[must_use]
    pub fn may_enable(&self, other: &Op) -> bool {
        match other {
            Op::Semaphore(other) => !matches!(other.action, SemaphoreAction::Post) && matches!(self, Op::Semaphore(_)),
            Op::Rwlock(_) => matches!(self, Op::Rwlock(_)),
            Op::Cond(_) | Op::Futex(_) => other.ends_wait() && self.woken().is_some(),
            Op::Atomic(_) | Op::Memory(_) => {
                let ((start, size), (read, bytes)) = (self.bytes(), other.bytes());
                read < start || read.saturating_add(bytes) > start.saturating_add(size)
            }
            _ => false,
        }
    }

    /// The same operation where threads have other numbers.
    #[must_use]
    pub fn renumbered(self, number: &impl Fn(u16) -> u16) -> Self {
        let map = |woken: Woken| {
            let told_apart = woken.iter().filter(|&thread| thread < Woken::LIMIT);
            let bits = told_apart.fold(0, |bits, thread| bits | 1 << number(thread).min(Woken::LIMIT));
            Woken::from_bits(bits | u64::from(woken.has_others()) << Woken::LIMIT)
        };
        match self {
            Op::Thread(op) => Op::Thread(op.renumbered(number)),
            Op::Signal(op) => Op::Signal(op.renumbered(number)),
            Op::Cond(mut op) => {
                if let CondAction::Signal { woken, .. } | CondAction::Broadcast { woken, .. } = &mut op.action {
                    *woken = map(*woken);
                }
                Op::Cond(op)
            }
            Op::Futex(mut op) => {
                if let FutexAction::Wake { woken, .. } = &mut op.action {
                    *woken = map(*woken);
                }
                Op::Futex(op)
            }
            Op::Mutex(_)
            | Op::Rwlock(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Choice(_)
            | Op::Exit(_) => self,
        }
    }

    /// The threads that it woke, if it is a wake-up.
    #[must_use]
    #[inline]
    pub fn woken(&self) -> Option<Woken> {
        match self {
            Op::Cond(op) => match op.action {
                CondAction::Signal { woken, .. } | CondAction::Broadcast { woken, .. } => Some(woken),
                _ => None,
            },
            Op::Futex(op) => match op.action {
                FutexAction::Wake { woken, .. } => Some(woken),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it chooses among waiters or values, and how many successors it had.
    #[must_use]
    #[inline]
    pub fn choices(&self) -> Option<u64> {
        match self {
            Op::Cond(op) => match op.action {
                CondAction::Signal { waiters, .. } => Some(waiters),
                _ => None,
            },
            Op::Futex(op) => match op.action {
                FutexAction::Wake { successors, .. } => Some(successors),
                _ => None,
            },
            Op::Choice(op) => Some(op.values),
            _ => None,
        }
    }

    /// Which of its values it gave to the program, if it chooses among values.
    #[must_use]
    #[inline]
    pub fn chosen_value(&self) -> Option<u64> {
        match self {
            Op::Choice(op) => Some(op.chosen),
            _ => None,
        }
    }

    /// Whether it is the first half of a wait in a queue.
    #[must_use]
    #[inline]
    pub fn begins_wait(&self) -> bool {
        match self {
            Op::Cond(op) => matches!(op.action, CondAction::Wait { .. }),
            Op::Futex(op) => op.is_wait(),
            Op::Thread(_)
            | Op::Mutex(_)
            | Op::Rwlock(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Signal(_)
            | Op::Choice(_) => false,
        }
    }

    /// Whether it is the second half of a wait in a queue.
    #[must_use]
    #[inline]
    pub fn ends_wait(&self) -> bool {
        match self {
            Op::Cond(op) => matches!(op.action, CondAction::Reacquire { .. } | CondAction::Resume { .. }),
            Op::Futex(op) => matches!(op.action, FutexAction::Resume { .. }),
            Op::Thread(_)
            | Op::Mutex(_)
            | Op::Rwlock(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Signal(_)
            | Op::Choice(_) => false,
        }
    }

    /// Whether it has at most one successor in every state of every program.
    #[must_use]
    #[inline]
    pub fn has_one_successor(&self) -> bool {
        match self {
            Op::Cond(op) => !matches!(
                op.action,
                CondAction::Signal { .. } | CondAction::Reacquire { .. } | CondAction::Resume { .. }
            ),
            Op::Futex(op) => op.is_wait(),
            Op::Choice(_) => false,
            Op::Thread(_)
            | Op::Mutex(_)
            | Op::Rwlock(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Signal(_)
            | Op::Exit(_) => true,
        }
    }

    /// Whether it is an arrival at a barrier.
    #[must_use]
    #[inline]
    pub fn is_arrival(&self) -> bool {
        matches!(self, Op::Barrier(op) if matches!(op.action, BarrierAction::Arrive { .. }))
    }

    /// Whether it fills the round of a barrier in which the other operation arrives. Arrivals in
    /// one round commute, so footprints do not tell.
    #[must_use]
    #[inline]
    pub fn closes_round_of(&self, other: &Op) -> bool {
        match (self, other) {
            (Op::Barrier(op), Op::Barrier(other)) => op.closes_round_of(other),
            _ => false,
        }
    }

    /// Whether it may return without the lock that it is about.
    #[must_use]
    #[inline]
    pub fn is_lock_attempt(&self) -> bool {
        self.kind().is_lock_attempt()
    }

    /// Whether it is a blocking acquisition of a mutex.
    #[must_use]
    #[inline]
    pub fn is_lock(&self) -> bool {
        matches!(self, Op::Mutex(op) if op.action == MutexAction::Lock(Patience::Block))
    }

    /// Whether it is a release of a mutex, not by a wait.
    #[must_use]
    #[inline]
    pub fn is_unlock(&self) -> bool {
        matches!(self, Op::Mutex(op) if op.action == MutexAction::Unlock)
    }

    /// The mutex that it took.
    #[must_use]
    #[inline]
    pub fn acquired_mutex(&self) -> Option<u64> {
        match self {
            Op::Mutex(op) => match op.action {
                MutexAction::Lock(_) if op.is_done() => Some(op.mutex),
                _ => None,
            },
            Op::Cond(op) => match op.action {
                CondAction::Reacquire { mutex, .. } => Some(mutex),
                _ => None,
            },
            _ => None,
        }
    }

    /// The mutex that it takes, waiting for it if need be.
    #[must_use]
    #[inline]
    pub fn awaited_mutex(&self) -> Option<u64> {
        match self {
            Op::Mutex(op) if op.action == MutexAction::Lock(Patience::Block) && op.outcome != Outcome::Nested => {
                Some(op.mutex)
            }
            Op::Cond(op) => match op.action {
                CondAction::Reacquire { mutex, .. } => Some(mutex),
                _ => None,
            },
            _ => None,
        }
    }

    /// The mutex that it gives back, if only one level of it.
    #[must_use]
    #[inline]
    pub fn released_mutex(&self) -> Option<u64> {
        match self {
            Op::Mutex(op) => match op.action {
                MutexAction::Unlock => Some(op.mutex),
                _ => None,
            },
            Op::Cond(op) => match op.action {
                CondAction::Wait { mutex, .. } => Some(mutex),
                _ => None,
            },
            _ => None,
        }
    }

    /// How it changes the holder of a lock.
    #[must_use]
    #[inline]
    pub fn lock_change(&self) -> Option<LockChange> {
        let acquire = |object, shared, once, was_free| Some(LockChange::Acquire { object, shared, once, was_free });
        match self {
            Op::Mutex(op) => {
                let changes = matches!(op.outcome, Outcome::Done | Outcome::Nested);
                match op.action {
                    MutexAction::Lock(_) if changes => acquire(op.mutex, false, false, op.outcome == Outcome::Done),
                    MutexAction::Unlock if changes => Some(LockChange::Release(op.mutex)),
                    MutexAction::Lock(_) | MutexAction::Unlock => None,
                    MutexAction::Init | MutexAction::Destroy => Some(LockChange::Reset(op.mutex)),
                }
            }
            Op::Rwlock(op) => match op.action {
                RwlockAction::Read(_) if op.acquires() => acquire(op.rwlock, true, false, true),
                RwlockAction::Write(_) if op.acquires() => acquire(op.rwlock, false, false, true),
                RwlockAction::Read(_) | RwlockAction::Write(_) | RwlockAction::Announce { .. } => None,
                RwlockAction::Unlock { .. } => Some(LockChange::Release(op.rwlock)),
                RwlockAction::Init | RwlockAction::Destroy => Some(LockChange::Reset(op.rwlock)),
            },
            Op::Cond(op) => match op.action {
                CondAction::Wait { mutex, .. } => Some(LockChange::Release(mutex)),
                CondAction::Reacquire { mutex, .. } => acquire(mutex, false, false, false),
                _ => None,
            },
            Op::Once(op) => match op.action {
                OnceAction::Begin { already: false } => acquire(op.control, false, true, false),
                OnceAction::Begin { already: true } => None,
                OnceAction::End | OnceAction::Abort => Some(LockChange::Release(op.control)),
            },
            Op::Atomic(op) => match op.action {
                AtomicAction::Store { .. } => Some(LockChange::FinishGuard(op.addr)),
                _ => None,
            },
            Op::Thread(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Fence(_)
            | Op::Futex(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Signal(_)
            | Op::Choice(_) => None,
        }
    }

    /// Its rare properties.
    #[must_use]
    pub fn traits(&self) -> OpTraits {
        let own = match self {
            Op::Atomic(op) => OpTraits::AWAITED.only_if(op.awaited().is_some()),
            Op::File(op) => OpTraits::WAITS_FOR_IO.only_if(op.waits()),
            // Whether a signal may be delivered is known to the target only.
            Op::Signal(op) => OpTraits::WAITS_FOR_IO.only_if(op.can_block()),
            Op::Futex(op) => OpTraits::WAITS_FOR_FUTEX.only_if(op.is_wait()),
            Op::Memory(op) => {
                OpTraits::CHANGES_LIFE.only_if(!matches!(op.action, MemoryAction::Read | MemoryAction::Write))
            }
            op => OpTraits::CHANGES_LIFE.only_if(op.life_change().is_some()),
        };
        let writes_plainly = !matches!(self, Op::Atomic(_) | Op::File(_)) && self.is_plain_write();
        own | OpTraits::WRITES_PLAINLY.only_if(writes_plainly)
    }

    /// The object whose life it begins or ends.
    #[must_use]
    #[inline]
    pub fn life_change(&self) -> Option<LifeChange> {
        use LifeChange::{Destroyed, Initialised};
        match self {
            Op::Mutex(op) => match op.action {
                MutexAction::Init => Some(Initialised(op.mutex)),
                MutexAction::Destroy => Some(Destroyed(op.mutex)),
                MutexAction::Lock(_) | MutexAction::Unlock => None,
            },
            Op::Rwlock(op) => match op.action {
                RwlockAction::Init => Some(Initialised(op.rwlock)),
                RwlockAction::Destroy => Some(Destroyed(op.rwlock)),
                _ => None,
            },
            Op::Cond(op) => match op.action {
                CondAction::Init => Some(Initialised(op.cond)),
                CondAction::Destroy => Some(Destroyed(op.cond)),
                _ => None,
            },
            Op::Semaphore(op) => match op.action {
                SemaphoreAction::Init { .. } => Some(Initialised(op.semaphore)),
                SemaphoreAction::Destroy { .. } => Some(Destroyed(op.semaphore)),
                _ => None,
            },
            Op::Barrier(op) => match op.action {
                BarrierAction::Init { .. } => Some(Initialised(op.barrier)),
                BarrierAction::Destroy => Some(Destroyed(op.barrier)),
                _ => None,
            },
            Op::Thread(_)
            | Op::Once(_)
            | Op::Atomic(_)
            | Op::Fence(_)
            | Op::Futex(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Signal(_)
            | Op::Choice(_) => None,
        }
    }

    /// The object that a call initialised.
    #[must_use]
    #[inline]
    pub fn initialised(&self) -> Option<u64> {
        match self.life_change() {
            Some(LifeChange::Initialised(object)) => Some(object),
            _ => None,
        }
    }

    /// Whether an event of another thread may disable the operation, or change what it touches,
    /// so that a third event no longer depends on it. `is_mixed`: whether accesses to the eight
    /// bytes around an address differ in the bytes that they access.
    #[must_use]
    #[inline]
    pub fn is_fragile(&self, is_mixed: impl FnOnce(u64) -> bool) -> bool {
        match self {
            Op::Rwlock(op) => op.is_fragile(),
            Op::Cond(_) => self.ends_wait(),
            Op::Futex(_) => self.begins_wait() || self.ends_wait(),
            Op::Atomic(op) => matches!(op.action, AtomicAction::Cas { .. }) && is_mixed(op.addr),
            Op::Thread(_)
            | Op::Mutex(_)
            | Op::Semaphore(_)
            | Op::Barrier(_)
            | Op::Once(_)
            | Op::Fence(_)
            | Op::Memory(_)
            | Op::File(_)
            | Op::Exit(_)
            | Op::Signal(_)
            | Op::Choice(_) => false,
        }
    }

    /// Whether the operation, once enabled, stays enabled with the same outcome whatever events are
    /// made that do not depend on what enabled it.
    #[must_use]
    #[inline]
    pub fn stays_enabled(&self) -> bool {
        match self {
            Op::Rwlock(op) => op.stays_enabled(),
            op => !op.ends_wait(),
        }
    }

    /// Whether the cells that the operation touches depend on the state.
    #[must_use]
    #[inline]
    pub fn touches_vary(&self) -> bool {
        !self.has_one_successor()
            || self.woken().is_some()
            || self.is_arrival()
            || matches!(self, Op::Futex(_) | Op::Signal(_))
    }

    /// Whether the other operation cannot happen before this one although they conflict. `owned`:
    /// this one releases what its thread holds.
    #[must_use]
    #[inline]
    pub fn is_never_overtaken_by(&self, other: &Op, owned: bool) -> bool {
        match (self, other) {
            (Op::Thread(op), Op::Thread(other)) if op.always_precedes(other) => true,
            _ => owned && (other.is_lock() || other.takes_mutex_again()),
        }
    }

    /// Whether it is the end of a wait for a condition variable, which takes the mutex again.
    #[must_use]
    #[inline]
    pub fn takes_mutex_again(&self) -> bool {
        matches!(self, Op::Cond(op) if matches!(op.action, CondAction::Reacquire { .. }))
    }

    /// Whether it is an acquisition of a mutex, successful or not.
    #[must_use]
    #[inline]
    pub fn tries_mutex(&self) -> bool {
        matches!(self, Op::Mutex(op) if matches!(op.action, MutexAction::Lock(_))) || self.takes_mutex_again()
    }

    /// When it is an ordinary use of a thread or a plain mutex. `is_meant`: whether the question is
    /// about the object at an address, where the operation is about two.
    #[must_use]
    #[inline]
    pub fn ordinary_use(&self, is_meant: impl Fn(u64) -> bool) -> OrdinaryUse {
        match self {
            Op::Thread(op) => op.ordinary_use(),
            Op::Mutex(op) => op.ordinary_use(),
            Op::Cond(op) => match op.action {
                CondAction::Reacquire { mutex, .. } if is_meant(mutex) => OrdinaryUse::Always,
                CondAction::Wait { mutex, .. } if is_meant(mutex) => OrdinaryUse::Owner,
                _ => OrdinaryUse::Never,
            },
            _ => OrdinaryUse::Never,
        }
    }

    /// Whether it is the first half of something of which other threads do the second half: a
    /// creation and the start, a start or an end and the join, an unlock and the next lock.
    #[must_use]
    #[inline]
    pub fn is_first_half(&self) -> bool {
        match self {
            Op::Thread(op) => matches!(op, ThreadOp::Create { .. } | ThreadOp::Start | ThreadOp::End),
            op => op.released_mutex().is_some(),
        }
    }

    /// Whether it is a plain write.
    #[must_use]
    #[inline]
    pub fn is_plain_write(&self) -> bool {
        matches!(self, Op::Memory(op) if op.action == MemoryAction::Write)
    }
}
