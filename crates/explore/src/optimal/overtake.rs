//! Whether an operation could come before an event of the execution and wake what sleeps there: the
//! rule *Unraced* of [`super::dismissal`].

use raddle_model::depend::conflict;
use raddle_model::object::{AtomicOp, CondAction, CondOp, FutexAction, FutexOp, MutexAction, MutexOp, Patience, Woken};
use raddle_model::{Event, Mode, Op, Operation as _, Touch};
use raddle_vocab::Outcome;
use smallvec::SmallVec;

use super::cursor::{ChosenEvent, class_of};
use super::expand::{Expander, SleepEntry, meets};
use super::trace_index::{Entry, EventSummary, TraceIndex};

/// Stands for "no rank".
const NO_RANK: u16 = u16::MAX;

/// An operation that may come before an event of the execution.
#[derive(Clone, Copy)]
struct PendingOp<'a> {
    event: &'a Event,
    /// Its number within its thread.
    seq: usize,
    touches: &'a [Touch],
}

/// An event that is asleep at a position.
#[derive(Clone, Copy)]
struct Sleeper<'a> {
    chosen: &'a ChosenEvent,
    /// The least rank of a thread that wakes it later by an event that does not depend on the one
    /// at the position; [`NO_RANK`] if there is none.
    waker: u16,
}

/// Whether an operation that comes before the event at a position wakes what sleeps there.
struct OvertakeTest<'a> {
    expander: &'a Expander,
    position: usize,
    /// What sleeps there, once an operation was tested.
    sleepers: Option<SmallVec<[Sleeper<'a>; 4]>>,
}

impl<'a> OvertakeTest<'a> {
    fn new(expander: &'a Expander, position: usize) -> Self {
        OvertakeTest { expander, position, sleepers: None }
    }

    /// Whether the operation, or an event that can come before it, wakes the whole sleep set.
    fn wakes_all(&mut self, op: PendingOp<'_>) -> bool {
        let (expander, position) = (self.expander, self.position);
        let sleepers = self.sleepers.get_or_insert_with(|| expander.with_wakers(position));
        let limit = expander.last_rank(position, op, sleepers);
        if expander.comes_too_early(position, limit) {
            return false;
        }
        op.event.op.touches_vary() || sleepers.iter().all(|&sleeper| expander.may_wake(sleeper, op, limit))
    }
}

impl Expander {
    /// Whether an operation of another thread might overtake the event and wake the whole sleep
    /// set.
    pub(super) fn is_raced(&self, position: usize) -> bool {
        if self.has_alternative(position) && self.alternative_wakes_all(position) {
            return true;
        }
        let trace = &self.trace;
        let touches = trace.touches(position);
        let mut test = OvertakeTest::new(self, position);
        touches.iter().enumerate().any(|(index, touch)| {
            self.any_overtaker(position, touch, trace.list_of_touch(position, index), |other| {
                let seq = trace.summaries[other].seq as usize;
                test.wakes_all(PendingOp { event: &trace.events[other], seq, touches: trace.touches(other) })
            })
        }) || trace.stopped.iter().any(|&thread| {
            let own = &trace.positions[usize::from(thread)];
            trace.pending[usize::from(thread)].as_ref().is_some_and(|(event, theirs)| {
                event.thread != trace.events[position].thread
                    && own.last().is_none_or(|&last| !trace.is_before(position, last as usize))
                    && meets(theirs, touches)
                    && test.wakes_all(PendingOp { event, seq: own.len(), touches: theirs })
            })
        })
    }

    /// Whether the operation might wake the sleeping event, or an event of a rank up to `limit`
    /// before it.
    fn may_wake(&self, Sleeper { chosen, waker }: Sleeper<'_>, op: PendingOp<'_>, limit: u16) -> bool {
        waker != NO_RANK && waker <= limit
            || if chosen.event.thread == op.event.thread {
                // A thread whose only successor sleeps on cannot overtake anything.
                !self.replay.has_one_successor(&chosen.event.op)
            } else if op.event.op.is_load() {
                conflict(&chosen.touches, op.touches)
            } else {
                meets(&chosen.touches, op.touches)
            }
    }

    /// Whether the thread could do something else than the event at `position`, which the policy
    /// prefers less.
    #[inline]
    pub(super) fn has_alternative(&self, position: usize) -> bool {
        if !self.trace.summaries[position].may_choose {
            return false;
        }
        let op = &self.trace.events[position].op;
        match op.choices() {
            Some(successors) => u64::from(self.choices[position]) + 1 < successors,
            None => op.ends_wait() && self.spurious > 0 && op.outcome() != Outcome::Done,
        }
    }

    /// Whether such an alternative might wake the whole sleep set.
    fn alternative_wakes_all(&self, position: usize) -> bool {
        let EventSummary { thread, key, .. } = self.trace.summaries[position];
        let wakes_others = self.trace.events[position].op.choices().is_some();
        // A signal that wakes another thread instead affects the threads that wait.
        let waits = |op: &Op| op.begins_wait() || !op.has_one_successor();
        let touches = self.trace.touches(position);
        !wakes_others
            || !self.comes_too_early(position, key.1)
                && self.with_wakers(position).iter().all(|&Sleeper { chosen, waker }| {
                    waker != NO_RANK && waker <= key.1
                        || chosen.event.thread == thread
                        || waits(&chosen.event.op)
                        || meets(&chosen.touches, touches)
                })
    }

    /// Whether an event that every child at `position` must contain has a higher rank than
    /// `last_rank`, so that the policy would make it too late.
    fn comes_too_early(&self, position: usize, last_rank: u16) -> bool {
        let trace = &self.trace;
        let is_later =
            |required: usize| trace.summaries[required].key > (0, last_rank) && !trace.is_before(position, required);
        last_rank != NO_RANK && self.required(position).any(is_later)
    }

    /// The rank of the thread of an operation that overtakes the event at `position`, if the thread
    /// can go on until then whatever others do. The policy makes nothing of a higher rank before.
    /// [`NO_RANK`] otherwise.
    fn last_rank(&self, position: usize, op: PendingOp<'_>, sleepers: &[Sleeper<'_>]) -> u16 {
        let (trace, thread) = (&self.trace, usize::from(op.event.thread));
        let own = &trace.positions[thread][self.base[thread] as usize..op.seq];
        let goes_on = self.is_possible_instead(position, op.event)
            && self.covers(position, op.touches)
            && sleepers.iter().all(|sleeper| sleeper.chosen.event.thread != op.event.thread)
            && own.last().is_none_or(|&last| {
                let past = trace.clock(last as usize).iter().zip(&self.base).enumerate();
                own.iter().all(|&at| self.is_simple(at as usize))
                    && past.into_iter().all(|(other, (clock, base))| clock <= base || other == thread)
            });
        if goes_on { trace.ranks[thread] } else { NO_RANK }
    }

    /// Whether the event is the only successor of its operation and touches nothing fragile.
    fn is_simple(&self, position: usize) -> bool {
        let (event, touches) = (&self.trace.events[position], self.trace.touches(position));
        event.op.has_one_successor()
            && class_of(event) == 0
            && self.fragile.iter().all(|(_, cells)| !meets(cells, touches))
    }

    /// Whether the event at `position` depends on everything that depends on an event with these
    /// touches. If such an event falls asleep, nothing wakes it before the one at `position` is
    /// made.
    pub(super) fn covers(&self, position: usize, touches: &[Touch]) -> bool {
        let own = self.trace.touches(position);
        touches.iter().all(|touch| {
            let covers =
                |own: &Touch| own.cell == touch.cell && own.mode == Mode::Write && touch.bytes & !own.bytes == 0;
            own.iter().any(covers)
        })
    }

    /// Whether the operation is possible instead of the event at `position`, and stays so until an
    /// event that depends on that one is made.
    fn is_possible_instead(&self, position: usize, op: &Event) -> bool {
        let event = &self.trace.events[position];
        match op.op {
            Op::Atomic(access) if !access.is_load() => true,
            _ if op.op.is_load() => is_unconditional(op, &self.trace),
            Op::Mutex(MutexOp { mutex, action: MutexAction::Lock(Patience::Block), .. }) => {
                let is_same = event.op.acquired_mutex() == Some(mutex) && !event.op.is_lock_attempt();
                // Only the owner changes a mutex, so it is free if the last change was another
                // thread's.
                let entries = self.trace.entries(mutex >> 3);
                let before = entries.partition_point(|entry| (entry.position as usize) < position);
                let last = entries[..before].iter().rev().find(|entry| entry.mode == Some(Mode::Write));
                is_same && last.is_none_or(|last| self.trace.summaries[last.position as usize].thread != event.thread)
            }
            _ => false,
        }
    }

    /// The events asleep before the event at `position`.
    fn with_wakers(&self, position: usize) -> SmallVec<[Sleeper<'_>; 4]> {
        let waker = |sleeper: &SleepEntry| {
            let mut least = if sleeper.chosen.event.op.is_arrival() { 0 } else { NO_RANK };
            let list = |index: usize| Some(sleeper.lists[index]);
            self.any_waker(position, &sleeper.chosen, list, |other| {
                least = least.min(self.trace.summaries[other as usize].key.1);
                least == 0
            });
            least
        };
        self.sleepers(position).map(|sleeper| Sleeper { chosen: &sleeper.chosen, waker: waker(sleeper) }).collect()
    }

    /// Whether a later event that does not depend on the one at `position`, and is not left out,
    /// could wake the sleeping event.
    pub(super) fn may_be_woken(&self, position: usize, chosen: &ChosenEvent, is_out: impl Fn(u32) -> bool) -> bool {
        let list = |index: usize| self.trace.known_list(chosen.touches[index].cell);
        chosen.event.op.is_arrival() || self.any_waker(position, chosen, list, |other| !is_out(other))
    }

    /// Whether `examine` holds for a later event that does not depend on the one at `position` and
    /// conflicts with the sleeping event. `list`: the number of the list of the cell of a touch.
    fn any_waker(
        &self,
        position: usize,
        chosen: &ChosenEvent,
        list: impl Fn(usize) -> Option<u32>,
        mut examine: impl FnMut(u32) -> bool,
    ) -> bool {
        chosen.touches.iter().enumerate().any(|(index, touch)| {
            let Some(list) = list(index) else { return false };
            self.trace.any_later(position, list, touch.mode, |entry| {
                entry.bytes & touch.bytes != 0
                    && entry.mode.is_some_and(|mode| !mode.commutes(touch.mode))
                    && self.trace.summaries[entry.position as usize].thread != chosen.event.thread
                    && !self.trace.is_before(position, entry.position as usize)
                    && examine(entry.position)
            })
        })
    }

    /// Whether `examine` holds for a later event that could come before the one at `position` if
    /// their touches of the cell with this list came in the other order.
    fn any_overtaker(&self, position: usize, touch: &Touch, list: u32, mut examine: impl FnMut(usize) -> bool) -> bool {
        let trace = &self.trace;
        let event = &trace.events[position];
        let released = event.op.released_mutex();
        let owned =
            released.is_some_and(|mutex| touch.cell == mutex >> 3) && self.releases_own(position, trace.list(list));
        // A reader that got the lock gets it in every child, if no writer takes part in what is
        // behind the event.
        let is_readers_only = touch.mode == Mode::Share && !trace.has_write_behind(list, position);
        let stays_shared = |mode: Mode, op: &Op| is_readers_only && mode == Mode::Share && matches!(op, Op::Rwlock(_));
        let overtakes = |entry: &Entry| {
            let other = entry.position as usize;
            let EventSummary { thread, seq, .. } = trace.summaries[other];
            let mode = entry.mode.filter(|&mode| !entry.may_write || stays_shared(mode, &trace.events[other].op));
            entry.bytes & touch.bytes != 0
                && mode.is_none_or(|mode| !mode.commutes(touch.mode))
                && !event.op.is_never_overtaken_by(&trace.events[other].op, owned)
                && seq.checked_sub(1).is_none_or(|seq| {
                    let previous = trace.positions[usize::from(thread)][seq as usize];
                    !trace.is_before(position, previous as usize)
                        && !self.waits_for(position, other, &trace.events[previous as usize].op)
                })
        };
        trace.any_later(position, list, touch.mode, |entry| overtakes(entry) && examine(entry.position as usize))
    }

    /// Whether the second event, behind the operation `previous`, ends a wait that only an event
    /// behind the first can end.
    fn waits_for(&self, first: usize, second: usize, previous: &Op) -> bool {
        let event = &self.trace.events[second];
        if !event.op.ends_wait() {
            return false;
        }
        // Number of the touch that is where the thread learns that it was woken.
        let wakers = match previous {
            Op::Cond(CondOp { action: CondAction::Wait { timed: false, .. }, .. }) => 1,
            Op::Futex(FutexOp { action: FutexAction::Wait { timed: false, .. }, .. }) => 0,
            _ => return false,
        };
        let wakers = self.trace.entries_of(second, wakers);
        let before = wakers.partition_point(|entry| (entry.position as usize) < second);
        // Threads with high numbers share the place where they learn of it.
        self.spurious == 0
            && event.thread < Woken::LIMIT
            && wakers[..before].last().is_some_and(|waker| self.trace.is_before(first, waker.position as usize))
    }

    /// Whether the last change of the cell before the event was that its own thread locked a mutex
    /// there, so that the event unlocks its own mutex. To unlock a mutex that the thread does not
    /// hold releases nothing.
    fn releases_own(&self, position: usize, entries: &[Entry]) -> bool {
        let earlier = &entries[..entries.partition_point(|entry| (entry.position as usize) < position)];
        let last = earlier.iter().rev().find(|entry| entry.mode == Some(Mode::Write));
        last.is_some_and(|last| {
            let last = &self.trace.events[last.position as usize];
            last.thread == self.trace.summaries[position].thread && last.op.tries_mutex()
        })
    }
}

/// Whether the load can be made with whatever it finds.
pub(super) fn is_unconditional(load: &Event, trace: &TraceIndex) -> bool {
    let awaited = load.op.as_atomic().and_then(AtomicOp::awaited);
    awaited.is_none() && !load.op.can_block() && !trace.awaiting[usize::from(load.thread)]
}
