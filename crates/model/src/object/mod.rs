//! Operations by kind of object. One file holds the semantics of one kind: its typed operations,
//! how they go over the wire, what they mean, what they depend on, how they order memory, and how
//! they are put into words.
//!
//! [`Operation`] is what each kind implements, [`Op`] is any operation. Questions that several
//! analyses ask of any operation are in `classify`. Some analyses also match on the kind of object
//! where a general answer would be too weak: `docs/architecture.md` lists them for those who add a
//! kind.

mod atomic;
mod barrier;
mod choice;
mod classify;
mod cond;
mod fence;
mod file;
mod futex;
mod memory;
mod mutex;
mod once;
mod order;
mod process;
mod rwlock;
mod semaphore;
mod signal;
#[cfg(test)]
mod tests;
mod thread;
mod waiting;

use raddle_vocab::{OpKind, Outcome, Words};

use crate::depend::{Footprint, Mode};
use crate::semantics::SyncState;

pub use atomic::{AtomicAction, AtomicOp};
pub use barrier::{BarrierAction, BarrierOp};
pub use choice::ChoiceOp;
pub use classify::{LifeChange, LockChange, OpTraits, OrdinaryUse};
pub use cond::{CondAction, CondOp};
pub use fence::FenceOp;
pub use file::{DirectoryLists, FileOp, SecondTouch};
pub use futex::{FutexAction, FutexOp};
pub use memory::{MemoryAction, MemoryOp};
pub use mutex::{MutexAction, MutexOp};
pub use once::{OnceAction, OnceOp};
pub use order::{Carrier, OrderSink};
pub use process::ExitOp;
pub(crate) use rwlock::Holds;
pub use rwlock::{RwlockAction, RwlockOp};
pub use semaphore::{SemaphoreAction, SemaphoreOp};
pub use signal::SignalOp;
pub use thread::ThreadOp;
pub use waiting::{Patience, WaitEnd, Woken};

/// Words that are no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?} has no {what} {value:#x}")]
pub struct UnpackError {
    /// What the operation claims to be.
    pub kind: OpKind,
    /// What is wrong.
    pub what: &'static str,
    /// The word that is wrong.
    pub value: u64,
}

impl UnpackError {
    #[cold]
    fn new(words: &Words, what: &'static str, value: u64) -> Self {
        UnpackError { kind: words.kind, what, value }
    }
}

/// Gives the names that phrases need.
pub trait Namer {
    /// Name of the object at an address.
    fn object(&self, address: u64) -> String;
    /// Name of a thread by its run-local number.
    fn thread(&self, number: u64) -> String;
}

/// What is known of the operations of one kind of object. `thread` is always the thread that makes
/// the operation.
pub trait Operation: Copy + PartialEq {
    /// Its kind on the wire.
    fn kind(&self) -> OpKind;

    /// The address or identity of what it is about, as it goes over the wire; 0 if there is none.
    fn object(&self) -> u64;

    /// What became of it. Operations that always succeed keep this and [`Operation::with_outcome`].
    #[inline]
    fn outcome(&self) -> Outcome {
        Outcome::Done
    }

    /// The same operation with another outcome. An outcome that the operation cannot have leaves it
    /// as if it had done what its name says.
    #[inline]
    #[must_use]
    fn with_outcome(self, _outcome: Outcome) -> Self {
        self
    }

    /// Its words on the wire.
    fn pack(&self) -> Words;

    /// The operation with these words.
    ///
    /// # Errors
    /// If there is none. The host does not trust the words.
    fn unpack(words: &Words) -> Result<Self, UnpackError>;

    /// The outcome that it would have in this state; `None` if it is disabled or has no successor
    /// with this number.
    fn attempt(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Outcome>;

    /// Fills in what the state determines, given the outcome.
    #[must_use]
    fn resolve(self, _thread: u16, _state: &SyncState, _choice: u16, outcome: Outcome) -> Self {
        self.with_outcome(outcome)
    }

    /// The operation as it would be made in this state; `None` as for [`Operation::attempt`].
    #[inline]
    fn predict(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Self> {
        self.attempt(thread, state, choice).map(|outcome| self.resolve(thread, state, choice, outcome))
    }

    /// How many successors it has in this state; 0 if it is disabled.
    #[inline]
    fn successors(&self, thread: u16, state: &SyncState) -> u16 {
        u16::from(self.attempt(thread, state, 0).is_some())
    }

    /// Changes the state as the operation does, whether or not it could happen there.
    fn apply(&self, thread: u16, state: &mut SyncState);

    /// Appends what it touches.
    fn footprint(&self, thread: u16, into: &mut Footprint);

    /// Override if the footprint depends on the outcome: cells that another outcome would touch in
    /// addition.
    fn potential(&self, _thread: u16) -> Footprint {
        Footprint::new()
    }

    /// Whether it writes its object in some state, even if it only read it here. Example: a try
    /// that failed here would have written had it succeeded.
    fn may_write(&self) -> bool {
        false
    }

    /// The operation with the outcome with which it touches most. `timed`: the wait that it ends
    /// may time out.
    #[must_use]
    fn at_worst(self, _timed: bool) -> Self {
        self.with_outcome(Outcome::Done)
    }

    /// Whether it can be disabled, so that a thread that stands before it is blocked.
    fn can_block(&self) -> bool {
        false
    }

    /// Whether the state determines what it would do: not if it compares memory whose content is
    /// unknown.
    fn is_certain(&self, _state: &SyncState) -> bool {
        true
    }

    /// Tells what it means for happens-before.
    fn order(&self, _sink: &mut impl OrderSink) {}

    /// What it did, in words.
    fn phrase(&self, names: &dyn Namer) -> String {
        format!("{} {}{}", self.kind().word(), names.object(self.object()), ending(self.outcome()))
    }
}

/// Any operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// On a thread.
    Thread(ThreadOp),
    /// On a mutex or spin lock.
    Mutex(MutexOp),
    /// On a read-write lock.
    Rwlock(RwlockOp),
    /// On a condition variable.
    Cond(CondOp),
    /// On a semaphore.
    Semaphore(SemaphoreOp),
    /// On a barrier.
    Barrier(BarrierOp),
    /// On a once control or guard.
    Once(OnceOp),
    /// On an atomic location.
    Atomic(AtomicOp),
    /// A fence.
    Fence(FenceOp),
    /// On a futex.
    Futex(FutexOp),
    /// A plain access.
    Memory(MemoryOp),
    /// Input or output.
    File(FileOp),
    /// The end of the process.
    Exit(ExitOp),
    /// A value that the program leaves open.
    Choice(ChoiceOp),
    /// Around a signal handler.
    Signal(SignalOp),
}

const _: () = assert!(size_of::<Op>() <= 48, "the search copies operations all the time");

/// Evaluates an expression for the operation that an [`Op`] holds.
macro_rules! each {
    ($op:expr, $inner:ident => $body:expr) => {
        match $op {
            Op::Thread($inner) => $body,
            Op::Mutex($inner) => $body,
            Op::Rwlock($inner) => $body,
            Op::Cond($inner) => $body,
            Op::Semaphore($inner) => $body,
            Op::Barrier($inner) => $body,
            Op::Once($inner) => $body,
            Op::Atomic($inner) => $body,
            Op::Fence($inner) => $body,
            Op::Futex($inner) => $body,
            Op::Memory($inner) => $body,
            Op::File($inner) => $body,
            Op::Exit($inner) => $body,
            Op::Choice($inner) => $body,
            Op::Signal($inner) => $body,
        }
    };
}

/// As [`each`], for what gives an operation of the same kind.
macro_rules! map {
    ($op:expr, $inner:ident => $body:expr) => {
        match $op {
            Op::Thread($inner) => Op::Thread($body),
            Op::Mutex($inner) => Op::Mutex($body),
            Op::Rwlock($inner) => Op::Rwlock($body),
            Op::Cond($inner) => Op::Cond($body),
            Op::Semaphore($inner) => Op::Semaphore($body),
            Op::Barrier($inner) => Op::Barrier($body),
            Op::Once($inner) => Op::Once($body),
            Op::Atomic($inner) => Op::Atomic($body),
            Op::Fence($inner) => Op::Fence($body),
            Op::Futex($inner) => Op::Futex($body),
            Op::Memory($inner) => Op::Memory($body),
            Op::File($inner) => Op::File($body),
            Op::Exit($inner) => Op::Exit($body),
            Op::Choice($inner) => Op::Choice($body),
            Op::Signal($inner) => Op::Signal($body),
        }
    };
}

impl Operation for Op {
    #[inline]
    fn kind(&self) -> OpKind {
        each!(self, op => op.kind())
    }

    #[inline]
    fn object(&self) -> u64 {
        each!(self, op => op.object())
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        each!(self, op => op.outcome())
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        map!(self, op => op.with_outcome(outcome))
    }

    fn pack(&self) -> Words {
        each!(self, op => op.pack())
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        match words.kind {
            OpKind::ThreadStart | OpKind::ThreadEnd | OpKind::Create | OpKind::Join | OpKind::Detach => {
                ThreadOp::unpack(words).map(Op::Thread)
            }
            OpKind::Exit => ExitOp::unpack(words).map(Op::Exit),
            OpKind::MutexInit
            | OpKind::MutexDestroy
            | OpKind::Lock
            | OpKind::TryLock
            | OpKind::TimedLock
            | OpKind::Unlock => MutexOp::unpack(words).map(Op::Mutex),
            OpKind::RwInit
            | OpKind::RwDestroy
            | OpKind::ReadLock
            | OpKind::TryReadLock
            | OpKind::TimedReadLock
            | OpKind::WriteLock
            | OpKind::TryWriteLock
            | OpKind::TimedWriteLock
            | OpKind::RwUnlock
            | OpKind::RwAnnounce => RwlockOp::unpack(words).map(Op::Rwlock),
            OpKind::CondInit
            | OpKind::CondDestroy
            | OpKind::CondWait
            | OpKind::CondTimedWait
            | OpKind::CondReacquire
            | OpKind::CondResume
            | OpKind::Signal
            | OpKind::Broadcast => CondOp::unpack(words).map(Op::Cond),
            OpKind::SemInit
            | OpKind::SemDestroy
            | OpKind::SemWait
            | OpKind::SemTryWait
            | OpKind::SemTimedWait
            | OpKind::SemPost => SemaphoreOp::unpack(words).map(Op::Semaphore),
            OpKind::BarrierInit | OpKind::BarrierDestroy | OpKind::BarrierArrive | OpKind::BarrierLeave => {
                BarrierOp::unpack(words).map(Op::Barrier)
            }
            OpKind::OnceBegin | OpKind::OnceEnd | OpKind::OnceAbort => OnceOp::unpack(words).map(Op::Once),
            OpKind::AtomicLoad if ThreadOp::is_poll(words) => ThreadOp::unpack(words).map(Op::Thread),
            OpKind::AtomicLoad | OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => {
                AtomicOp::unpack(words).map(Op::Atomic)
            }
            OpKind::Fence => FenceOp::unpack(words).map(Op::Fence),
            OpKind::FutexWait | OpKind::FutexTimedWait | OpKind::FutexResume | OpKind::FutexWake => {
                FutexOp::unpack(words).map(Op::Futex)
            }
            OpKind::Read | OpKind::Write | OpKind::Free | OpKind::Mapping => MemoryOp::unpack(words).map(Op::Memory),
            OpKind::Io => FileOp::unpack(words).map(Op::File),
            OpKind::Choose => ChoiceOp::unpack(words).map(Op::Choice),
            OpKind::Deliver | OpKind::HandlerReturn | OpKind::CallBegin => SignalOp::unpack(words).map(Op::Signal),
        }
    }

    #[inline]
    fn attempt(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Outcome> {
        each!(self, op => op.attempt(thread, state, choice))
    }

    #[inline]
    fn predict(&self, thread: u16, state: &SyncState, choice: u16) -> Option<Self> {
        Some(map!(self, op => op.predict(thread, state, choice)?))
    }

    #[inline]
    fn successors(&self, thread: u16, state: &SyncState) -> u16 {
        each!(self, op => op.successors(thread, state))
    }

    #[inline]
    fn apply(&self, thread: u16, state: &mut SyncState) {
        each!(self, op => op.apply(thread, state));
    }

    #[inline]
    fn footprint(&self, thread: u16, into: &mut Footprint) {
        each!(self, op => op.footprint(thread, into));
    }

    #[inline]
    fn potential(&self, thread: u16) -> Footprint {
        each!(self, op => op.potential(thread))
    }

    #[inline]
    fn may_write(&self) -> bool {
        each!(self, op => op.may_write())
    }

    fn at_worst(self, timed: bool) -> Self {
        map!(self, op => op.at_worst(timed))
    }

    fn can_block(&self) -> bool {
        each!(self, op => op.can_block())
    }

    fn is_certain(&self, state: &SyncState) -> bool {
        each!(self, op => op.is_certain(state))
    }

    #[inline]
    fn order(&self, sink: &mut impl OrderSink) {
        each!(self, op => op.order(sink));
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        each!(self, op => op.phrase(names))
    }
}

impl Op {
    /// What the operation may touch if it comes at another time. `timed`: as for
    /// [`Operation::at_worst`].
    #[must_use]
    pub fn worst_footprint(&self, thread: u16, timed: bool) -> Footprint {
        let mut prints = Footprint::new();
        if matches!(self.outcome(), Outcome::Nested | Outcome::Refused) {
            self.footprint(thread, &mut prints);
            return prints;
        }
        self.at_worst(timed).footprint(thread, &mut prints);
        // Where threads wait, a wake-up changes the queue.
        if self.woken().is_some_and(Woken::is_empty) {
            prints.iter_mut().for_each(|touch| touch.mode = Mode::Write);
        }
        prints
    }
}

/// Checks that the outcome is one of these.
#[inline]
fn allowed(words: &Words, outcomes: &[Outcome], other: Option<Outcome>) -> Result<(), UnpackError> {
    if outcomes.contains(&words.outcome) || other == Some(words.outcome) {
        return Ok(());
    }
    Err(UnpackError::new(words, "outcome", words.outcome as u64))
}

/// An outcome, in words behind what was done.
fn ending(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => ", fails",
        Outcome::TimedOut => ", times out",
        Outcome::Refused => ", refused",
        Outcome::Already => ", done already",
        Outcome::Nested => ", nested",
        Outcome::Done | Outcome::Spurious | Outcome::Last => "",
    }
}
