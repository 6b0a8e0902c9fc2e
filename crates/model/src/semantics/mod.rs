//! One executable semantics of every synchronising object.
//!
//! [`SyncState::outcome_of`] says what an operation would do now, [`SyncState::apply`] does it. The in-memory target runs on
//! these two, the search asks them about states that no run was in, and [`check`] compares every step of a real run
//! with them. Memory is sequentially consistent.
//!
//! Choices of semantics, beyond what each kind's comment in `OpKind` says:
//!
//! * Try and timed operations fail exactly where the plain one would block. A timed wait in a queue may time out
//!   whenever it was not woken and its mutex is free.
//! * The owner of a normal mutex who locks it again never goes on (timed: times out; try: fails). Error-checking mutexes refuse, recursive
//!   ones nest. The writer of an rwlock who locks it again is refused, as glibc does; a reader who wants to write never
//!   goes on.
//! * Unlocking what one does not hold: refused by error-checking and recursive mutexes; a normal mutex becomes free.
//! * A wait gives back one level of a recursive mutex.
//! * A signal has one successor per waiter, in order of their ranks; a futex wake of `n` one per subset of `n` waiters.
//! * Barrier: a thread that arrives belongs to the present round (`arg`); the serial thread is the least rank of
//!   the round, and its `BarrierLeave` has `value` 1.
//! * Spurious wake-ups: only from a queue, at most as many per thread as allowed.
//! * A guard of C++ is finished when its first byte is set, which an atomic store does.
//! * Joining a thread that was joined or detached, or oneself, is refused.

mod apply;
mod check;
mod predict;
mod state;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::{AWAITED, LIFE_WORDS};
use crate::execution::{Event, Execution, Pending, PendingState};
use crate::thread::{ThreadInfo, ThreadPath};
use raddle_vocab::OpKind;
use state::{Life, State, Thread};

pub use check::{Disagreement, check};
pub use state::ThreadSet;

/// Whether a thread can make its pending transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled {
    /// It is blocked.
    No,
    /// It can go on.
    Yes,
    /// It can go on only by a time-out (or spurious wake-up); a policy may prefer others.
    TimeOut,
}

impl Enabled {
    /// Whether the transition is possible at all.
    #[must_use]
    pub fn possible(self) -> bool {
        self != Enabled::No
    }
}

/// A moment to which [`SyncState::rollback`] can return.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// What a change replaced.
#[derive(Clone, Copy, Debug)]
enum Undo {
    Object(u32, State),
    Thread(u16, Thread),
}

/// Sorts of things that live at an address; each has its own name space.
#[derive(Clone, Copy)]
enum Space {
    Object = 0,
    Memory = 1,
    Queue = 2,
}

/// Everything that transitions observe and change.
///
/// Objects are interned once and keep their place over [`SyncState::reset`], so that a search that replays many executions
/// of one program does not hash into a growing table anew.
#[derive(Clone, Debug, Default)]
pub struct SyncState {
    places: FxHashMap<u64, u32>,
    states: Vec<State>,
    /// Places that are not `Untouched`, or were not at some time since the last reset; each once.
    touched: Vec<u32>,
    /// Which places are in `touched`.
    listed: Vec<bool>,
    threads: Vec<Thread>,
    paths: Vec<ThreadPath>,
    /// Thread numbers in order of rank.
    by_rank: Vec<u16>,
    /// Inverse of `by_rank`.
    ranks: Vec<u16>,
    spurious: u32,
    /// Whether any guard was met, so that stores have to look.
    guards: bool,
    /// Cells that change without a step: see [`SyncState::prepare`].
    opaque: FxHashSet<u64>,
    undo: Vec<Undo>,
    /// Whether changes are written to `undo`.
    recording: bool,
}

impl SyncState {
    /// A world with a main thread that is about to start, in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        let mut world = SyncState { spurious, ..SyncState::default() };
        world.reset();
        world
    }

    /// Back to the start of a run that has no thread but main. Marks become invalid.
    pub fn reset(&mut self) {
        for place in self.touched.drain(..) {
            self.states[place as usize] = State::Untouched;
            self.listed[place as usize] = false;
        }
        self.threads.clear();
        self.paths.clear();
        self.by_rank.clear();
        self.ranks.clear();
        self.undo.clear();
        self.recording = false;
        self.guards = false;
        self.opaque.clear();
        self.add_thread(ThreadPath::default());
        self.threads[0].life = Life::Alive;
    }

    /// Back to the start of a run with the threads of this execution, and with the values that its atomic locations
    /// had before anybody changed them, as far as it shows them.
    ///
    /// A location that is also written plainly (or by code that nobody watches) shows values that no step has written. Its
    /// content then counts as unknown throughout.
    pub fn prepare(&mut self, execution: &Execution) {
        self.reset();
        self.set_threads(&execution.threads);
        let start = self.mark();
        for step in &execution.events {
            self.follow_memory(step);
        }
        self.rollback(start);
        self.forget_marks();
        self.learn(&execution.events);
        // What a thread still waits to see change, though no step has accessed it, has been there from the start.
        for pending in execution.pending.iter().filter(|pending| pending.state == PendingState::Awaiting) {
            if pending.event.kind == OpKind::AtomicLoad && pending.event.obj & LIFE_WORDS == 0 {
                self.reveal(pending.event.obj, pending.event.size, pending.event.value);
            }
        }
    }

    /// Whether the execution prepared for has memory that changes without a step.
    #[must_use]
    pub fn has_opaque_memory(&self) -> bool {
        !self.opaque.is_empty()
    }

    /// Notes if the step saw something else than the last one left.
    fn follow_memory(&mut self, step: &Event) {
        let seen = match step.kind {
            OpKind::AtomicLoad if step.obj & LIFE_WORDS != 0 => return,
            OpKind::AtomicLoad => step.value,
            OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => step.old,
            _ => return,
        };
        if self.value_at(step.obj, step.size).is_some_and(|value| value != seen & value_mask(step.size)) {
            self.opaque.insert(step.obj >> 3);
        }
        self.apply(step);
    }

    /// Declares the threads of a run, main first, in the order of their numbers.
    pub fn set_threads(&mut self, threads: &[ThreadInfo]) {
        self.threads.clear();
        self.threads.resize(threads.len().max(1), Thread::default());
        self.threads[0].life = Life::Alive;
        self.paths.clear();
        self.paths.extend(threads.iter().map(|thread| thread.path.clone()));
        self.paths.resize(self.threads.len(), ThreadPath::default());
        self.by_rank.clear();
        self.by_rank.extend(0..self.threads.len() as u16);
        let paths = &self.paths;
        self.by_rank.sort_by(|&a, &b| paths[usize::from(a)].cmp(&paths[usize::from(b)]));
        self.rebuild_ranks();
    }

    /// Declares one more thread, which a `Create` then brings to life, and returns its number.
    pub fn add_thread(&mut self, path: ThreadPath) -> u16 {
        let number = self.threads.len() as u16;
        let paths = &self.paths;
        let at = self.by_rank.partition_point(|&other| paths[usize::from(other)] < path);
        self.by_rank.insert(at, number);
        self.paths.push(path);
        self.threads.push(Thread::default());
        self.rebuild_ranks();
        number
    }

    fn rebuild_ranks(&mut self) {
        self.ranks.resize(self.threads.len(), 0);
        for (rank, &thread) in self.by_rank.iter().enumerate() {
            self.ranks[usize::from(thread)] = rank as u16;
        }
    }

    /// The threads in order of their ranks.
    #[must_use]
    pub fn by_rank(&self) -> &[u16] {
        &self.by_rank
    }

    /// The rank of a thread among all that were declared.
    #[must_use]
    pub fn rank(&self, thread: u16) -> u16 {
        self.ranks.get(usize::from(thread)).copied().unwrap_or(u16::MAX)
    }

    /// Whether the thread was created and has not ended.
    #[must_use]
    pub fn is_alive(&self, thread: u16) -> bool {
        self.thread(thread).life == Life::Alive
    }

    /// Whether the thread that `op` belongs to could make it now.
    #[must_use]
    pub fn enabled(&self, op: &Event) -> Enabled {
        self.predict(op, 0).map_or(Enabled::No, predict::Effect::enabled)
    }

    /// As [`SyncState::enabled`], for an operation that was pending at the end of an execution: threads that failed, ended
    /// or left do not go on, and one that waits in a folded loop goes on only if the location it reads has another
    /// value than the one it last found.
    #[must_use]
    pub fn enabled_pending(&self, pending: &Pending) -> Enabled {
        match pending.state {
            PendingState::Failed | PendingState::Ended | PendingState::Exited => Enabled::No,
            PendingState::Awaiting | PendingState::Stale => {
                match self.value_at(pending.event.obj, pending.event.size) {
                    Some(value) if value == pending.event.value => Enabled::No,
                    _ => self.enabled(&pending.event),
                }
            }
            PendingState::Enabled | PendingState::Blocked => self.enabled(&pending.event),
        }
    }

    /// How many successors the operation has now: 0 if it is disabled.
    #[must_use]
    pub fn successors(&self, op: &Event) -> u16 {
        self.count_successors(op)
    }

    /// The step that the operation would be now, with its outcome, `value`, `old` and what else the state determines.
    ///
    /// What the operation writes is not known to the world: `value` of stores, read-modify-writes and compare-exchanges
    /// is copied from `op`, and so are outcomes that hang on memory whose content nobody has shown. A disabled
    /// operation comes back unchanged.
    #[must_use]
    pub fn outcome_of(&self, op: &Event, choice: u16) -> Event {
        self.outcome(op, choice).unwrap_or(*op)
    }

    /// The same; `None` if the operation is disabled.
    #[must_use]
    pub fn outcome(&self, op: &Event, choice: u16) -> Option<Event> {
        let effect = self.predict(op, choice)?;
        Some(Event { outcome: effect.outcome, value: effect.value, old: effect.old, arg: effect.arg, ..*op })
    }

    /// Which successor of its operation a step that is made now is; 0 if it is none of them.
    #[must_use]
    pub fn choice_of(&self, step: &Event) -> u16 {
        let fits = |&choice: &u16| {
            let other = self.outcome_of(step, choice);
            other.outcome == step.outcome && other.value == step.value
        };
        match self.count_successors(step) {
            0 | 1 => 0,
            successors => (0..successors).find(fits).unwrap_or(0),
        }
    }

    /// Starts to note changes, so that they can be taken back.
    pub fn mark(&mut self) -> Mark {
        self.recording = true;
        Mark(self.undo.len())
    }

    /// Takes back every change since the mark, which stays valid (later ones do not).
    pub fn rollback(&mut self, mark: Mark) {
        while self.undo.len() > mark.0 {
            match self.undo.pop() {
                Some(Undo::Object(place, state)) => self.states[place as usize] = state,
                Some(Undo::Thread(number, thread)) => self.threads[usize::from(number)] = thread,
                None => break,
            }
        }
    }

    /// Stops noting changes and makes all marks invalid.
    pub fn forget_marks(&mut self) {
        self.undo.clear();
        self.recording = false;
    }

    /// What the `size` bytes at an address hold, if that was ever seen.
    #[must_use]
    pub fn value_at(&self, addr: u64, size: u32) -> Option<u64> {
        let (cell, shift, mask) = slice(addr, size)?;
        match self.state(Space::Memory, cell) {
            State::Memory { known, bits } if known & mask == mask && !self.opaque.contains(&cell) => {
                Some((bits >> shift) & value_mask(size))
            }
            _ => None,
        }
    }

    /// Whether what the operation would do now can be told: not if it compares memory whose content is unknown.
    #[must_use]
    pub fn is_certain(&self, op: &Event) -> bool {
        match op.kind {
            OpKind::AtomicCas => self.value_at(op.obj, op.size).is_some(),
            OpKind::FutexWait | OpKind::FutexTimedWait => self.value_at(op.obj, 4).is_some(),
            OpKind::AtomicLoad => op.arg != AWAITED || self.value_at(op.obj, op.size).is_some(),
            _ => true,
        }
    }

    /// Notes the values that memory had before the first step that changed it.
    pub fn learn(&mut self, steps: &[Event]) {
        for step in steps.iter().filter(|step| step.obj & LIFE_WORDS == 0) {
            match step.kind {
                OpKind::AtomicLoad => self.reveal(step.obj, step.size, step.value),
                OpKind::AtomicStore | OpKind::AtomicRmw | OpKind::AtomicCas => {
                    self.reveal(step.obj, step.size, step.old)
                }
                _ => {}
            }
        }
    }

    /// Fills in bytes that nobody has seen; those that were stay as they are.
    fn reveal(&mut self, addr: u64, size: u32, value: u64) {
        let Some((cell, shift, mask)) = slice(addr, size) else { return };
        let (known, bits) = match self.state(Space::Memory, cell) {
            State::Memory { known, bits } => (known, bits),
            _ => (0, 0),
        };
        let new = mask & !known;
        if new != 0 {
            let fresh = spread(new);
            let bits = (bits & !fresh) | ((value << shift) & fresh);
            self.set_state(Space::Memory, cell, State::Memory { known: known | mask, bits });
        }
    }

    fn thread(&self, number: u16) -> Thread {
        self.threads.get(usize::from(number)).copied().unwrap_or_default()
    }

    fn set_thread(&mut self, number: u16, thread: Thread) {
        let Some(slot) = self.threads.get_mut(usize::from(number)) else { return };
        let before = std::mem::replace(slot, thread);
        if self.recording {
            self.undo.push(Undo::Thread(number, before));
        }
    }

    fn state(&self, space: Space, obj: u64) -> State {
        self.places.get(&key(space, obj)).map_or(State::Untouched, |&place| self.states[place as usize])
    }

    fn set_state(&mut self, space: Space, obj: u64, state: State) {
        let place = *self.places.entry(key(space, obj)).or_insert_with(|| {
            self.states.push(State::Untouched);
            self.listed.push(false);
            self.states.len() as u32 - 1
        });
        let before = std::mem::replace(&mut self.states[place as usize], state);
        if !std::mem::replace(&mut self.listed[place as usize], true) {
            self.touched.push(place);
        }
        if self.recording {
            self.undo.push(Undo::Object(place, before));
        }
    }
}

/// User-space addresses leave the topmost bits free.
fn key(space: Space, obj: u64) -> u64 {
    obj ^ ((space as u64) << 62)
}

/// Cell, shift in bits and byte mask of an access that lies within one cell; others are never known.
fn slice(addr: u64, size: u32) -> Option<(u64, u32, u8)> {
    let from = (addr & 7) as u32;
    (size > 0 && from + size <= 8).then(|| (addr >> 3, from * 8, (((1u16 << size) - 1) << from) as u8))
}

fn value_mask(size: u32) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (size * 8)) - 1 }
}

/// One bit per byte to eight bits per byte.
fn spread(mask: u8) -> u64 {
    (0..8).filter(|byte| mask & (1 << byte) != 0).fold(0, |bits, byte| bits | 0xff << (byte * 8))
}
