//! What an operation would do in the present state.

use raddle_vocab::{MutexKind, OpKind, Outcome};

use super::state::{Life, NOBODY, State, ThreadSet, Wait, kind_of};
use super::{Enabled, Space, SyncState};
use crate::depend::{AWAITED, GUARD, LIFE_WORDS, looked_at};
use crate::execution::Event;

/// The parts of a step that the state determines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub outcome: Outcome,
    pub value: u64,
    pub old: u64,
    pub arg: u64,
}

impl Effect {
    pub fn enabled(self) -> Enabled {
        if matches!(self.outcome, Outcome::TimedOut | Outcome::Spurious) { Enabled::TimeOut } else { Enabled::Yes }
    }
}

/// What an acquisition does where the plain form would block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Block,
    Try,
    Timed,
}

impl Patience {
    fn outcome(self) -> Option<Outcome> {
        match self {
            Patience::Block => None,
            Patience::Try => Some(Outcome::Failed),
            Patience::Timed => Some(Outcome::TimedOut),
        }
    }
}

impl SyncState {
    /// What the operation would do; `None` if it is disabled or has no such successor.
    pub(super) fn predict(&self, op: &Event, choice: u16) -> Option<Effect> {
        let plain = |outcome| Some(Effect { outcome, value: op.value, old: op.old, arg: op.arg });
        match op.kind {
            OpKind::ThreadStart => (self.thread(op.thread).life == Life::Alive).then(|| plain(Outcome::Done))?,
            OpKind::Join => plain(self.join(op)?),
            OpKind::Lock => plain(self.lock(op, Patience::Block)?),
            OpKind::TryLock => plain(self.lock(op, Patience::Try)?),
            OpKind::TimedLock => plain(self.lock(op, Patience::Timed)?),
            OpKind::Unlock => plain(self.unlock(op)),
            OpKind::ReadLock => plain(self.read_lock(op, Patience::Block)?),
            OpKind::TryReadLock => plain(self.read_lock(op, Patience::Try)?),
            OpKind::TimedReadLock => plain(self.read_lock(op, Patience::Timed)?),
            OpKind::WriteLock => plain(self.write_lock(op, Patience::Block)?),
            OpKind::TryWriteLock => plain(self.write_lock(op, Patience::Try)?),
            OpKind::TimedWriteLock => plain(self.write_lock(op, Patience::Timed)?),
            OpKind::RwUnlock => {
                let (writer, _) = self.rwlock(op.obj);
                Some(Effect { arg: u64::from(writer == op.thread), ..plain(Outcome::Done)? })
            }
            OpKind::CondReacquire => {
                let free = !matches!(self.mutex(op.arg), (owner, _) if owner != NOBODY && owner != op.thread);
                plain(self.resume(op, choice).filter(|_| free)?)
            }
            OpKind::FutexResume => plain(self.resume(op, choice)?),
            OpKind::Signal => self.wake(self.queue(Space::Object, op.obj), 1, choice, op),
            OpKind::Broadcast => self.wake(self.queue(Space::Object, op.obj), u32::MAX, choice, op),
            OpKind::FutexWake => {
                let count = u32::try_from(op.arg).unwrap_or(u32::MAX);
                self.wake(self.queue(Space::Queue, op.obj), count, choice, op)
            }
            OpKind::SemWait => plain(self.acquire(self.semaphore(op.obj) > 0, Patience::Block)?),
            OpKind::SemTryWait => plain(self.acquire(self.semaphore(op.obj) > 0, Patience::Try)?),
            OpKind::SemTimedWait => plain(self.acquire(self.semaphore(op.obj) > 0, Patience::Timed)?),
            OpKind::BarrierArrive => Some(self.arrive(op)),
            OpKind::BarrierLeave => match self.thread(op.thread).wait {
                Wait::Released { serial } => Some(Effect { value: u64::from(serial), ..plain(Outcome::Done)? }),
                _ => None,
            },
            OpKind::OnceBegin => plain(self.begin(op)?),
            OpKind::AtomicLoad if op.obj & LIFE_WORDS != 0 => {
                let thread = u16::try_from(looked_at(op.obj)).unwrap_or(NOBODY);
                // Looking at a thread that lives is a join that gives up.
                let over = self.thread(thread).life == Life::Ended;
                let outcome = if over { Outcome::Done } else { Outcome::TimedOut };
                Some(Effect { value: u64::from(over), ..plain(outcome)? })
            }
            OpKind::AtomicLoad => match self.value_at(op.obj, op.size) {
                // It ends busy waiting, and would only go round once more.
                Some(value) if op.arg == AWAITED && value == op.old => None,
                value => Some(Effect { value: value.unwrap_or(op.value), ..plain(Outcome::Done)? }),
            },
            OpKind::AtomicStore | OpKind::AtomicRmw => {
                Some(Effect { old: self.value_at(op.obj, op.size).unwrap_or(op.old), ..plain(Outcome::Done)? })
            }
            OpKind::AtomicCas => match self.value_at(op.obj, op.size) {
                Some(old) => {
                    Some(Effect { old, ..plain(if old == op.arg { Outcome::Done } else { Outcome::Failed })? })
                }
                None => plain(op.outcome),
            },
            OpKind::FutexWait | OpKind::FutexTimedWait => match self.value_at(op.obj, 4) {
                Some(seen) => plain(if seen == op.arg & 0xffff_ffff { Outcome::Done } else { Outcome::Failed }),
                None => plain(op.outcome),
            },
            OpKind::Create => plain(if op.outcome == Outcome::Failed { Outcome::Failed } else { Outcome::Done }),
            OpKind::ThreadEnd
            | OpKind::Detach
            | OpKind::Exit
            | OpKind::MutexInit
            | OpKind::MutexDestroy
            | OpKind::RwInit
            | OpKind::RwDestroy
            | OpKind::CondInit
            | OpKind::CondDestroy
            | OpKind::CondWait
            | OpKind::CondTimedWait
            | OpKind::SemInit
            | OpKind::SemDestroy
            | OpKind::SemPost
            | OpKind::BarrierInit
            | OpKind::BarrierDestroy
            | OpKind::OnceEnd
            | OpKind::OnceAbort
            | OpKind::Fence
            | OpKind::Read
            | OpKind::Write
            | OpKind::Free
            | OpKind::Io => plain(Outcome::Done),
        }
    }

    pub(super) fn count_successors(&self, op: &Event) -> u16 {
        match op.kind {
            OpKind::Signal => subsets(self.queue(Space::Object, op.obj).len(), 1),
            OpKind::FutexWake => {
                let count = u32::try_from(op.arg).unwrap_or(u32::MAX);
                subsets(self.queue(Space::Queue, op.obj).len(), count)
            }
            // At most a time-out and a spurious wake-up.
            _ => (0..2).take_while(|&choice| self.predict_distinct(op, choice)).count() as u16,
        }
    }

    /// Whether the operation has a successor with that number; all but waits in queues have at most one.
    fn predict_distinct(&self, op: &Event, choice: u16) -> bool {
        let waits = matches!(op.kind, OpKind::CondReacquire | OpKind::FutexResume);
        (choice == 0 || waits) && self.predict(op, choice).is_some()
    }

    /// Owner ([`NOBODY`] if free) and depth.
    pub(super) fn mutex(&self, obj: u64) -> (u16, u32) {
        match self.state(Space::Object, obj) {
            State::Mutex { owner, depth } => (owner, depth),
            _ => (NOBODY, 0),
        }
    }

    /// Writer ([`NOBODY`] if none) and number of read holds.
    pub(super) fn rwlock(&self, obj: u64) -> (u16, u32) {
        match self.state(Space::Object, obj) {
            State::Rw { writer, readers } => (writer, readers),
            _ => (NOBODY, 0),
        }
    }

    pub(super) fn queue(&self, space: Space, obj: u64) -> ThreadSet {
        match self.state(space, obj) {
            State::Queue { waiters } => waiters,
            _ => ThreadSet::default(),
        }
    }

    pub(super) fn semaphore(&self, obj: u64) -> u64 {
        match self.state(Space::Object, obj) {
            State::Sem { count } => count,
            _ => 0,
        }
    }

    /// Size, present round, threads that arrived in it.
    pub(super) fn barrier(&self, obj: u64) -> (u32, u64, ThreadSet) {
        match self.state(Space::Object, obj) {
            State::Barrier { size, round, arrived } => (size, round, arrived),
            _ => (1, 0, ThreadSet::default()),
        }
    }

    fn join(&self, op: &Event) -> Option<Outcome> {
        let number = u16::try_from(op.arg).unwrap_or(NOBODY);
        let thread = self.thread(number);
        if number == op.thread || thread.claimed {
            return Some(Outcome::Refused);
        }
        (thread.life == Life::Ended).then_some(Outcome::Done)
    }

    fn acquire(&self, free: bool, patience: Patience) -> Option<Outcome> {
        if free { Some(Outcome::Done) } else { patience.outcome() }
    }

    fn lock(&self, op: &Event, patience: Patience) -> Option<Outcome> {
        let (owner, _) = self.mutex(op.obj);
        if owner != op.thread {
            return self.acquire(owner == NOBODY, patience);
        }
        match kind_of(op.arg) {
            MutexKind::Recursive => Some(Outcome::Nested),
            MutexKind::ErrorCheck if patience != Patience::Try => Some(Outcome::Refused),
            _ => patience.outcome(),
        }
    }

    fn unlock(&self, op: &Event) -> Outcome {
        let (owner, depth) = self.mutex(op.obj);
        match kind_of(op.arg) {
            MutexKind::ErrorCheck | MutexKind::Recursive if owner != op.thread => Outcome::Refused,
            _ if depth > 1 => Outcome::Nested,
            _ => Outcome::Done,
        }
    }

    fn read_lock(&self, op: &Event, patience: Patience) -> Option<Outcome> {
        let (writer, _) = self.rwlock(op.obj);
        if writer == op.thread && patience != Patience::Try {
            return Some(Outcome::Refused);
        }
        self.acquire(writer == NOBODY, patience)
    }

    fn write_lock(&self, op: &Event, patience: Patience) -> Option<Outcome> {
        let (writer, readers) = self.rwlock(op.obj);
        if writer == op.thread && patience != Patience::Try {
            return Some(Outcome::Refused);
        }
        self.acquire(writer == NOBODY && readers == 0, patience)
    }

    /// How a wait in a queue can end: by its wake-up, or else by time-out and spuriously, in this order.
    fn resume(&self, op: &Event, choice: u16) -> Option<Outcome> {
        let thread = self.thread(op.thread);
        let spurious = thread.spurious < self.spurious;
        match thread.wait {
            Wait::Woken => (choice == 0).then_some(Outcome::Done),
            Wait::Queued { timed: true } => match choice {
                0 => Some(Outcome::TimedOut),
                1 if spurious => Some(Outcome::Spurious),
                _ => None,
            },
            Wait::Queued { timed: false } => (choice == 0 && spurious).then_some(Outcome::Spurious),
            _ => None,
        }
    }

    /// Wakes `count` of the waiters: the subset with number `choice` in lexicographic order of ranks.
    fn wake(&self, waiters: ThreadSet, count: u32, choice: u16, op: &Event) -> Option<Effect> {
        let total = waiters.len();
        let successors = subsets(total, count);
        if choice >= successors {
            return None;
        }
        let mut chosen = ThreadSet::default();
        let mut skip = u32::from(choice);
        let (mut left, mut wanted) = (total, count.min(total));
        for &thread in self.by_rank.iter().filter(|&&thread| waiters.contains(thread)) {
            if wanted == 0 {
                break;
            }
            left -= 1;
            // Subsets of the rest if this one is taken come first.
            let with = binomial(left, wanted - 1);
            if skip < with {
                chosen.insert(thread);
                wanted -= 1;
            } else {
                skip -= with;
            }
        }
        let old = if op.kind == OpKind::Broadcast { u64::from(total) } else { u64::from(successors) };
        let old = if total == 0 { 0 } else { old };
        Some(Effect { outcome: Outcome::Done, value: chosen.to_bits(), old, arg: op.arg })
    }

    fn arrive(&self, op: &Event) -> Effect {
        let (size, round, arrived) = self.barrier(op.obj);
        let outcome = if arrived.len() + 1 >= size { Outcome::Last } else { Outcome::Done };
        Effect { outcome, value: op.value, old: op.old, arg: round }
    }

    fn begin(&self, op: &Event) -> Option<Outcome> {
        let is_set = op.arg == GUARD && self.value_at(op.obj, 1).is_some_and(|byte| byte != 0);
        match self.state(Space::Object, op.obj) {
            _ if is_set => Some(Outcome::Already),
            State::Once { finished: true, .. } => Some(Outcome::Already),
            State::Once { runner, .. } if runner != NOBODY => None,
            _ => Some(Outcome::Done),
        }
    }
}

/// Number of ways to take `count` out of `total`, at least 1.
fn subsets(total: u32, count: u32) -> u16 {
    u16::try_from(binomial(total, count.min(total))).unwrap_or(u16::MAX)
}

fn binomial(n: u32, k: u32) -> u32 {
    let k = k.min(n - k);
    let mut result: u64 = 1;
    for i in 0..u64::from(k) {
        result = (result * (u64::from(n) - i) / (i + 1)).min(u64::from(u32::MAX));
    }
    result as u32
}
