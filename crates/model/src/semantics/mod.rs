//! One executable semantics of every synchronising object.
//!
//! [`SyncState::outcome_of`] says what an operation would do now, [`SyncState::apply`] does it. The
//! in-memory target runs on these two, the search asks them about states that no run was in, and
//! [`SyncState::check`] compares every event of a real run with them. Memory is sequentially
//! consistent.
//!
//! What each operation means stands in [`crate::object`], one file per kind of object. Here are the
//! states of objects and threads, the undo log and the ranks of threads.
//!
//! Try and timed operations fail exactly where the plain one would block.

mod check;
mod memory;
mod state;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use raddle_vocab::Outcome;
use raddle_vocab::policy::mix;

use crate::execution::{Event, Execution, FailingValue, Pending, PendingState};
use crate::numbering::DenseNumbers;
use crate::object::{Op, Operation as _};
use crate::thread::{ThreadInfo, ThreadPath};
use state::Thread;

pub use check::Disagreement;
pub(crate) use state::{Life, State, Wait};

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
pub(crate) enum Space {
    Object = 0,
    Memory = 1,
    Queue = 2,
    Channel = 3,
}

/// Everything that transitions observe and change.
///
/// Objects are interned once and keep their place over [`SyncState::reset`]. So a search that
/// replays many executions of one program does not hash its objects again.
#[derive(Clone, Debug, Default)]
pub struct SyncState {
    places: DenseNumbers,
    states: Vec<State>,
    /// The key of the object at each place. Places follow from the order in which objects were met.
    keys: Vec<u64>,
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
    /// Numbers of reads in spin loops, with the values that hold threads there.
    failing: FxHashSet<(u16, u64)>,
    /// The same with values that end the loop.
    ending: FxHashSet<(u16, u64)>,
    undo: Vec<Undo>,
    /// Whether changes are written to `undo`.
    recording: bool,
}

impl SyncState {
    /// The state with a main thread that is about to start. Each thread may wake up spuriously
    /// `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        let mut world = SyncState { spurious, ..SyncState::default() };
        world.reset();
        world
    }

    /// Back to the start of a run that has no thread but main. Marks become invalid.
    pub fn reset(&mut self) {
        self.forget_run();
        self.threads.clear();
        self.paths.clear();
        self.by_rank.clear();
        self.ranks.clear();
        self.add_thread(ThreadPath::default());
        self.threads[0].life = Life::Alive;
    }

    /// Forgets everything but the threads.
    fn forget_run(&mut self) {
        for place in self.touched.drain(..) {
            self.states[place as usize] = State::Untouched;
            self.listed[place as usize] = false;
        }
        self.forget_marks();
        self.guards = false;
        self.opaque.clear();
    }

    /// Back to the start of a run with the threads of this execution, and with the initial values
    /// of its atomic locations, as far as the execution shows them.
    ///
    /// A location that is also written plainly (or by code without hooks) shows values that no
    /// event has written. Its content then counts as unknown throughout.
    pub fn prepare(&mut self, execution: &Execution) {
        self.forget_run();
        self.set_threads(&execution.threads);
        let start = self.mark();
        for step in &execution.events {
            self.follow_memory(step);
        }
        self.rollback(start);
        self.forget_marks();
        if !execution.details.is_empty() {
            // Reads may see older stores, so what a location holds says nothing about them.
            let atomics = execution.events.iter().filter_map(|event| event.op.as_atomic());
            self.opaque.extend(atomics.map(|op| op.addr >> 3));
        }
        self.learn(&execution.events);
        // A location that a thread waits to see changed, and that no event has accessed, has its
        // initial value.
        for pending in execution.pending.iter().filter(|pending| pending.state == PendingState::Awaiting) {
            if let Op::Atomic(op) = pending.event.op {
                self.reveal(op.addr, op.size, pending.found);
            }
        }
    }

    /// Whether the execution prepared for has memory that changes without a step.
    #[must_use]
    pub fn has_opaque_memory(&self) -> bool {
        !self.opaque.is_empty()
    }

    /// Notes if the event saw something else than the last one left.
    fn follow_memory(&mut self, event: &Event) {
        let Some(op) = event.op.as_atomic() else { return };
        if self.value_at(op.addr, op.size).is_some_and(|value| value != op.seen() & memory::value_mask(op.size)) {
            self.opaque.insert(op.addr >> 3);
        }
        self.apply(event);
    }

    /// Declares the threads of a run, main first, in the order of their numbers.
    pub fn set_threads(&mut self, threads: &[ThreadInfo]) {
        self.threads.clear();
        self.threads.resize(threads.len().max(1), Thread::default());
        self.threads[0].life = Life::Alive;
        // Nearly always those of the last run.
        if self.paths.iter().eq(threads.iter().map(|thread| &thread.path)) {
            return;
        }
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
    #[inline]
    pub fn enabled(&self, op: &Event) -> Enabled {
        if self.is_stopped(op) {
            return Enabled::No;
        }
        match op.op.attempt(op.thread, self, 0) {
            None => Enabled::No,
            Some(Outcome::TimedOut | Outcome::Spurious) => Enabled::TimeOut,
            Some(_) => Enabled::Yes,
        }
    }

    /// As [`SyncState::enabled`], for an operation that was pending at the end of an execution:
    /// threads that failed, ended or left do not go on, and one that waits in a folded loop goes on
    /// only if the location it reads has another value than the one it last found.
    #[must_use]
    pub fn enabled_pending(&self, pending: &Pending) -> Enabled {
        match pending.state {
            PendingState::Failed | PendingState::Ended | PendingState::Exited => Enabled::No,
            // It goes round in a loop without operations.
            PendingState::Awaiting if matches!(pending.event.op, Op::Fence(_)) => Enabled::No,
            PendingState::Awaiting | PendingState::Stale => match self.watched_value(&pending.event.op) {
                Some(value) if value == pending.found => Enabled::No,
                _ => self.enabled(&pending.event),
            },
            PendingState::Enabled | PendingState::Blocked => self.enabled(&pending.event),
        }
    }

    /// What the memory holds that the operation reads, if it accesses memory and that is known.
    fn watched_value(&self, op: &Op) -> Option<u64> {
        match op {
            Op::Atomic(op) => self.value_at(op.addr, op.size),
            Op::Memory(op) => self.value_at(op.addr, u32::try_from(op.size).ok()?),
            _ => None,
        }
    }

    /// Whether the thread cannot make its operation, whatever that is: it would only go round a
    /// spin loop again, or a handler runs in its place.
    #[inline]
    fn is_stopped(&self, op: &Event) -> bool {
        op.held.0 != 0 && self.is_held(op) || op.exposed && self.thread(op.thread).suspended.is_some()
    }

    /// Whether the thread before this read in a spin loop would only go round again.
    #[cold]
    fn is_held(&self, read: &Event) -> bool {
        self.watched_value(&read.op).is_some_and(|value| self.failing.contains(&(read.held.0, value)))
    }

    /// The number and the present value of what the event reads, if it is not known whether that
    /// holds its thread.
    #[must_use]
    pub fn open_read(&self, read: &Event) -> Option<(u16, u64)> {
        let value = self.watched_value(&read.op).filter(|_| read.held.0 != 0)?;
        Some((read.held.0, value)).filter(|&read| self.is_open(read))
    }

    /// Whether it is not known if the value holds the thread before the read.
    #[must_use]
    pub fn is_open(&self, read: (u16, u64)) -> bool {
        !self.failing.contains(&read) && !self.ending.contains(&read)
    }

    /// Whether the value is known to hold the thread before the read.
    #[must_use]
    pub fn is_failing(&self, read: (u16, u64)) -> bool {
        self.failing.contains(&read)
    }

    /// What was learnt of values that hold threads, and of values that do not, in order.
    #[must_use]
    pub fn learnt(&self) -> [Vec<(u16, u64)>; 2] {
        [&self.failing, &self.ending].map(|set| {
            let mut all: Vec<(u16, u64)> = set.iter().copied().collect();
            all.sort_unstable();
            all
        })
    }

    /// Learns again what was learnt before.
    pub fn learn_again(&mut self, [failing, ending]: [Vec<(u16, u64)>; 2]) {
        self.failing.extend(failing);
        self.ending.extend(ending);
    }

    /// Learns which values held threads in an execution, and which did not. This outlives the run.
    pub fn learn_failing(&mut self, execution: &Execution) {
        for &FailingValue { read, value } in &execution.failing {
            self.failing.insert((read.0, value));
        }
        for event in execution.events.iter().filter(|event| event.held.0 != 0) {
            if let Some(op) = event.op.as_atomic() {
                self.ending.insert((event.held.0, op.seen() & memory::value_mask(op.size)));
            }
        }
    }

    /// How many successors the operation has now: 0 if it is disabled.
    #[must_use]
    #[inline]
    pub fn successors(&self, op: &Event) -> u16 {
        if self.is_stopped(op) {
            return 0;
        }
        op.op.successors(op.thread, self)
    }

    /// The event that the operation would be now, with its outcome and what else the state
    /// determines.
    ///
    /// The state does not know what the operation writes: that is copied from `op`, and so are
    /// outcomes that depend on memory of unknown content. A disabled operation comes back
    /// unchanged.
    #[must_use]
    pub fn outcome_of(&self, op: &Event, choice: u16) -> Event {
        self.outcome(op, choice).unwrap_or(*op)
    }

    /// The same; `None` if the operation is disabled.
    #[must_use]
    #[inline]
    pub fn outcome(&self, op: &Event, choice: u16) -> Option<Event> {
        Some(Event { op: self.predicted(op, choice)?, ..*op })
    }

    /// The operation of that event.
    #[inline]
    fn predicted(&self, op: &Event, choice: u16) -> Option<Op> {
        if self.is_stopped(op) { None } else { op.op.predict(op.thread, self, choice) }
    }

    /// Which successor of its operation an event that happens now is; 0 if it is none of them.
    #[must_use]
    pub fn choice_of(&self, event: &Event) -> u16 {
        let fits = |&choice: &u16| {
            let other = self.outcome_of(event, choice).op;
            other.outcome() == event.op.outcome()
                && other.woken() == event.op.woken()
                && other.chosen_value() == event.op.chosen_value()
        };
        match self.successors(event) {
            0 | 1 => 0,
            successors => (0..successors).find(fits).unwrap_or(0),
        }
    }

    /// Applies an event with the outcome it carries, whether or not it could happen in this state.
    #[inline]
    pub fn apply(&mut self, event: &Event) {
        event.op.apply(event.thread, self);
    }

    /// A number for the state of all objects and threads. Equal states have equal numbers, whatever
    /// objects were met before. Memory is left out: it is known only in part.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let of_place = |&place: &u32| (self.keys[place as usize], self.states[place as usize].digest());
        let objects = self.touched.iter().map(of_place).filter(|(_, digest)| *digest != 0);
        let objects = objects.map(|(key, digest)| mix(key ^ mix(digest)));
        let threads = self.threads.iter().enumerate();
        let threads = threads.map(|(number, thread)| mix(mix(!(number as u64)) ^ thread.digest()));
        objects.chain(threads).fold(0, u64::wrapping_add)
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

    /// Whether the state determines what the operation would do: not if it compares memory of
    /// unknown content.
    #[must_use]
    pub fn is_certain(&self, op: &Event) -> bool {
        op.op.is_certain(self)
    }

    /// How often each thread may wake up spuriously.
    pub(crate) fn spurious_limit(&self) -> u32 {
        self.spurious
    }

    /// Notes whether an operation is on a guard.
    pub(crate) fn note_guard(&mut self, guard: bool) {
        self.guards |= guard;
    }

    /// Setting the byte of a guard is also the end of its initialiser.
    pub(crate) fn leave_guard(&mut self, guard: u64) {
        if self.guards && matches!(self.object(guard), State::Once { .. }) {
            self.set_object(guard, State::Once { runner: None, finished: true });
        }
    }

    pub(crate) fn thread(&self, number: u16) -> Thread {
        self.threads.get(usize::from(number)).copied().unwrap_or_default()
    }

    fn set_thread(&mut self, number: u16, thread: Thread) {
        let Some(slot) = self.threads.get_mut(usize::from(number)) else { return };
        let before = std::mem::replace(slot, thread);
        if self.recording {
            self.undo.push(Undo::Thread(number, before));
        }
    }

    /// The state of a synchronising object.
    pub(crate) fn object(&self, object: u64) -> State {
        self.state(Space::Object, object)
    }

    pub(crate) fn set_object(&mut self, object: u64, state: State) {
        self.set_state(Space::Object, object, state);
    }

    pub(crate) fn change_thread(&mut self, number: u16, change: impl FnOnce(&mut Thread)) {
        let mut thread = self.thread(number);
        change(&mut thread);
        self.set_thread(number, thread);
    }

    pub(crate) fn state(&self, space: Space, obj: u64) -> State {
        self.places.get(key(space, obj)).map_or(State::Untouched, |place| self.states[place as usize])
    }

    /// The numbers of a space that ever had a state, in no order.
    pub(crate) fn numbers(&self, space: Space) -> impl Iterator<Item = u64> {
        let numbers = self.places.keys().filter(move |&key| key >> SPACE_SHIFT == space as u64);
        numbers.map(move |number| key(space, number))
    }

    pub(crate) fn set_state(&mut self, space: Space, obj: u64, state: State) {
        let key = key(space, obj);
        let (place, is_new) = self.places.number(key);
        if is_new {
            self.states.push(State::Untouched);
            self.keys.push(key);
            self.listed.push(false);
        }
        let before = std::mem::replace(&mut self.states[place as usize], state);
        if !std::mem::replace(&mut self.listed[place as usize], true) {
            self.touched.push(place);
        }
        if self.recording {
            self.undo.push(Undo::Object(place, before));
        }
    }
}

/// User-space addresses leave the bits from here on free.
const SPACE_SHIFT: u32 = 62;

fn key(space: Space, obj: u64) -> u64 {
    obj ^ ((space as u64) << SPACE_SHIFT)
}
