//! Children of an execution.

use std::ops::Range;

use raddle_model::depend::conflict;
use raddle_model::object::{
    AtomicAction, AtomicOp, CondAction, CondOp, FutexAction, FutexOp, MutexAction, MutexOp, Patience, RwlockAction,
    ThreadOp, Woken,
};
use raddle_model::{Choice, Event, Execution, Footprint, Mode, Op, Operation as _, Touch};
use raddle_vocab::Outcome;
use smallvec::SmallVec;

use super::WorkItem;
use super::child::Sim;
use super::cursor::{ChosenEvent, Cursor, Facts, Replay, class_of, is_dependent_with};
use super::host_cache::HostCache;
use super::ranks::Ranks;
use super::schedule::{Schedule, ScheduleMaker};
use super::trace_index::{Entry, EventSummary, TraceIndex, mask};

/// An event that was possible and left out. It sleeps until an event that depends on it is made.
#[derive(Clone, Debug)]
pub(super) struct SleepEntry {
    /// The event as it was when it fell asleep.
    pub event: ChosenEvent,
    /// Position of the step that was made instead.
    since: u32,
    /// The cells that it touches, as [`TraceIndex::mask`] says it.
    mask: u64,
    /// Numbers of the lists of what it touches.
    lists: SmallVec<[u32; 3]>,
    rank: u16,
    /// Whether it is the only thing that its thread could do.
    is_alone: bool,
}

/// A summary of several sleeping events.
#[derive(Clone, Debug, Default)]
pub(super) struct SleepSummary {
    /// Threads that cannot step because their only successor is asleep.
    pub sleeping_threads: Ranks,
    /// An event that touches none of these cells wakes nothing; as [`TraceIndex::mask`] encodes
    /// them.
    pub cells: u64,
}

impl SleepEntry {
    pub fn new(event: ChosenEvent, since: u32, trace: &mut TraceIndex, replay: &Replay) -> Self {
        let mask = mask(&event.touches);
        let lists = event.touches.iter().map(|touch| trace.list_of(touch.cell)).collect();
        let rank = trace.ranks[usize::from(event.step.thread)];
        let is_alone = replay.has_one_successor(&event.step.op);
        SleepEntry { event, since, mask, lists, rank, is_alone }
    }
}

/// A forced step that wakes an event which the policy preferred. A child that differs first at one
/// of the `positions` has made this step when it departs from the execution: behind it, the policy
/// would have made the sleeping event first.
#[derive(Clone, Debug)]
struct Inversion {
    step: u32,
    positions: Range<u32>,
}

/// Stands for "no rank".
const NO_RANK: u16 = u16::MAX;

/// Computes children; keeps what the last execution has in common with the next.
#[derive(Debug)]
pub struct Expander {
    pub(super) trace: TraceIndex,
    pub(super) replay: Replay,
    pub(super) choices: Vec<u16>,
    /// How many steps were forced.
    pub(super) forced: usize,
    /// All events that fell asleep along the execution, in order, then those of the current
    /// simulation.
    pub(super) slept: Vec<SleepEntry>,
    /// The sleep set before each forced step, one behind the other, as indices into `slept`. It
    /// includes the events that the step leaves out.
    sleep_sets: Vec<u32>,
    first_of_set: Vec<u32>,
    /// Forced steps that came before a sleeping event that the policy would have preferred, in
    /// order.
    inversions: Vec<Inversion>,
    /// Operations whose reversal may need several sleeping events reinserted at once.
    pub(super) fragile: Vec<(u16, Footprint)>,
    pub(super) sim: Sim,
    pub(super) host: Cursor,
    /// How far each thread is at the position that is looked at.
    pub(super) base: Vec<u32>,
    /// Executions that were not the normal form of their trace.
    pub(super) irregular: u64,
    spurious: u32,
    pub(super) thorough: bool,
    schedules: ScheduleMaker,
    pub(super) hosts: HostCache,
}

impl Expander {
    /// For programs in which each thread may wake up spuriously `spurious` times.
    #[must_use]
    pub fn new(spurious: u32) -> Self {
        Expander {
            trace: TraceIndex::default(),
            replay: Replay::new(spurious),
            choices: Vec::new(),
            forced: 0,
            slept: Vec::new(),
            sleep_sets: Vec::new(),
            first_of_set: Vec::new(),
            inversions: Vec::new(),
            fragile: Vec::new(),
            sim: Sim::default(),
            host: Cursor::default(),
            base: Vec::new(),
            irregular: 0,
            spurious,
            thorough: false,
            schedules: ScheduleMaker::default(),
            hosts: HostCache::default(),
        }
    }

    /// The same, but one that dismisses no position without a simulation: for comparison.
    #[must_use]
    pub fn thorough(spurious: u32) -> Self {
        Expander { thorough: true, ..Expander::new(spurious) }
    }

    /// Appends the children of the work item whose run gave this execution.
    pub fn append_children(&mut self, item: &WorkItem, execution: &Execution, children: &mut Vec<WorkItem>) {
        let common = self.trace.load(execution);
        let events = self.trace.events.len();
        self.replay.load(execution, common);
        self.forced = item.schedule.len().min(events);
        self.choices.clear();
        self.choices.extend(item.schedule.iter().take(self.forced).map(|choice| choice.choice));
        self.choices.resize(events, 0);
        self.schedules.reset();
        self.hosts.reset();
        self.reopen(common);
        self.put_to_sleep(common);
        self.find_fragile();
        self.base.clear();
        self.base.resize(self.trace.positions.len(), 0);
        for position in 0..events {
            let is_promising = self.may_be_raced(position)
                && !self.is_excluded_by_inversion(position)
                && self.is_raced(position)
                && !self.is_excluded_by_sleeper(position);
            if is_promising || self.thorough {
                self.children_at(position, children);
            }
            self.base[usize::from(self.trace.summaries[position].thread)] += 1;
        }
    }

    /// Forgets what steps behind the common prefix had shown.
    fn reopen(&mut self, common: usize) {
        let kept = self.inversions.partition_point(|inversion| (inversion.step as usize) < common);
        self.inversions.truncate(kept);
        if common < self.first_of_set.len() {
            self.sleep_sets.truncate(self.first_of_set[common] as usize);
            self.first_of_set.truncate(common);
            let kept = self.slept.partition_point(|sleeper| (sleeper.since as usize) < common);
            self.slept.truncate(kept);
        }
    }

    fn sleep_set_end(&self, position: usize) -> usize {
        self.first_of_set.get(position + 1).map_or(self.sleep_sets.len(), |&first| first as usize)
    }

    /// The sleep set before the step at `position`.
    pub(super) fn sleep_set(&self, position: usize) -> &[u32] {
        match self.first_of_set.get(position) {
            Some(&first) => &self.sleep_sets[first as usize..self.sleep_set_end(position)],
            None => &[],
        }
    }

    /// The sleeping events before the step at `position`.
    fn sleepers(&self, position: usize) -> impl Iterator<Item = &SleepEntry> {
        self.sleep_set(position).iter().map(|&number| &self.slept[number as usize])
    }

    /// The summary of these sleeping events.
    pub(super) fn sleep_summary(&self, asleep: &[u32]) -> SleepSummary {
        let mut sleep_summary = SleepSummary { sleeping_threads: self.sleeping_threads(asleep), cells: 0 };
        for &number in asleep {
            let SleepEntry { event, mask, is_alone, .. } = &self.slept[number as usize];
            let by_others = event.step.op.is_arrival() || !is_alone;
            sleep_summary.cells |= if by_others { u64::MAX } else { *mask };
        }
        sleep_summary
    }

    /// Threads that cannot step because their only successor is among those asleep.
    fn sleeping_threads(&self, asleep: &[u32]) -> Ranks {
        let mut sleeping_threads = Ranks::none(self.trace.by_rank.len());
        for sleeper in asleep.iter().map(|&number| &self.slept[number as usize]).filter(|sleeper| sleeper.is_alone) {
            sleeping_threads.insert(usize::from(sleeper.rank));
        }
        sleeping_threads
    }

    /// Whether the step at `position` wakes the sleeping event.
    pub(super) fn wakes(&self, position: usize, number: u32) -> bool {
        let sleeper = &self.slept[number as usize];
        let summary = &self.trace.summaries[position];
        // What touches no common cell leaves it asleep, but for the last arrival at a barrier.
        let may = sleeper.mask & summary.mask != 0 || summary.thread == sleeper.event.step.thread || summary.is_last;
        may && is_dependent_with(&self.trace.events[position], self.trace.touches(position), &sleeper.event)
    }

    /// Replays the forced part and computes the sleep set before each step.
    fn put_to_sleep(&mut self, common: usize) {
        let from = common.min(self.forced).min(self.first_of_set.len());
        let mut cursor = std::mem::take(&mut self.host);
        cursor.stand(&self.trace, from);
        for position in from..self.forced {
            self.replay.seek(&self.trace.events, position);
            let first = self.sleep_sets.len();
            if position > 0 {
                self.inherit(position - 1);
            }
            self.first_of_set.push(first as u32);
            self.add_sleepers(&mut cursor, position);
            self.note_inversion(position);
            cursor.advance(&self.trace, position as u32);
        }
        self.host = cursor;
        if let Some(last) = self.forced.checked_sub(1) {
            self.irregular += u64::from(self.sleep_set(last).iter().any(|&sleeper| !self.wakes(last, sleeper)));
        }
    }

    /// Adds the events that the step at `position` leaves asleep to the last sleep set.
    fn inherit(&mut self, position: usize) {
        for index in self.first_of_set[position] as usize..self.sleep_sets.len() {
            let sleeper = self.sleep_sets[index];
            if !self.wakes(position, sleeper) {
                self.sleep_sets.push(sleeper);
            }
        }
    }

    /// The step at `position` as an event.
    pub(super) fn own_event(&self, position: usize) -> ChosenEvent {
        ChosenEvent {
            step: self.trace.events[position],
            choice: self.choices[position],
            touches: Footprint::from_slice(self.trace.touches(position)),
        }
    }

    /// Puts to sleep what the policy would have preferred to the step at `position`.
    fn add_sleepers(&mut self, cursor: &mut Cursor, position: usize) {
        let step = &self.trace.events[position];
        let rank = self.trace.ranks[usize::from(step.thread)];
        let limit = (self.trace.summaries[position].key.0, rank, self.choices[position]);
        // Time-outs are preferred least, whatever the rank.
        let last = if limit.0 > 0 { self.trace.by_rank.len() } else { usize::from(rank) + usize::from(limit.2 > 0) };
        let (first, inherited) = (self.first_of_set[position] as usize, self.slept.len());
        let sleeping_threads = self.sleeping_threads(&self.sleep_sets[first..]);
        for word in 0..last.div_ceil(64) {
            let mut left = cursor.may_step(word) & !sleeping_threads.word(word);
            while left != 0 {
                let rank = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if rank < last && cursor.can_step(self.facts(), rank) {
                    self.add_events(cursor, rank, limit, first, position as u32);
                }
            }
        }
        self.slept[inherited..].sort_by_key(|sleeper| class_of(&sleeper.event.step));
        self.sleep_sets.extend(inherited as u32..self.slept.len() as u32);
    }

    /// Puts to sleep the events of the thread of this rank that the policy prefers to the limit,
    /// except for those that are already in the sleep set that begins with `first`.
    fn add_events(&mut self, cursor: &Cursor, rank: usize, limit: (u8, u16, u16), first: usize, position: u32) {
        let thread = self.trace.by_rank[rank];
        for choice in 0.. {
            let Some(event) = cursor.event(&self.trace, &self.replay, thread, choice) else { break };
            let is_old = self.sleep_sets[first..].iter().any(|&number| {
                let other = &self.slept[number as usize].event;
                (other.step.thread, other.choice) == (thread, choice)
            });
            if (class_of(&event.step), rank as u16, choice) < limit && !is_old {
                self.slept.push(SleepEntry::new(event, position, &mut self.trace, &self.replay));
            }
        }
    }

    /// Adds an inversion if the step at `position` wakes an event that the policy preferred.
    fn note_inversion(&mut self, position: usize) {
        let EventSummary { key, .. } = self.trace.summaries[position];
        let mut before = 0;
        for &number in self.sleep_set(position) {
            let SleepEntry { event, since, rank, .. } = &self.slept[number as usize];
            if (class_of(&event.step), *rank) < key && self.wakes(position, number) && stays_enabled(event) {
                before = before.max(*since);
            }
        }
        if before > 0 {
            let clock = self.trace.clock(position);
            // An earlier step that this one is preferred to, and does not depend on, could come
            // later.
            let is_later =
                |summary: &EventSummary| summary.key > key && clock[usize::from(summary.thread)] <= summary.seq;
            let last = self.trace.summaries[..position].iter().rposition(is_later).unwrap_or(0) as u32;
            if last < before {
                self.inversions.push(Inversion { step: position as u32, positions: last..before });
            }
        }
    }

    /// Positions of the steps that a child which differs first at `position` must have made when it
    /// departs.
    fn required(&self, position: usize) -> impl Iterator<Item = usize> {
        let inversions =
            self.inversions.iter().filter(move |inversion| inversion.positions.contains(&(position as u32)));
        inversions.map(|inversion| inversion.step as usize)
    }

    /// Whether no child differs first at `position` because of an inversion: it would have to make
    /// a step that depends on the one at `position`.
    fn is_excluded_by_inversion(&self, position: usize) -> bool {
        self.required(position).any(|step| {
            let EventSummary { thread, seq, .. } = self.trace.summaries[step];
            let is_direct = || {
                let previous = seq.checked_sub(1).map(|seq| self.trace.positions[usize::from(thread)][seq as usize]);
                previous.is_none_or(|previous| !self.trace.is_before(position, previous as usize))
            };
            // What depends on it directly could be what is made behind it to wake the others.
            self.trace.is_before(position, step) && (self.wakes_sleep_set(position) || !is_direct())
        })
    }

    /// Whether no child differs first at `position` because of a sleeping event: the policy would
    /// make this event before a step that the child has to make, and nothing would wake it.
    fn is_excluded_by_sleeper(&self, position: usize) -> bool {
        self.fragile.is_empty()
            && self.required(position).any(|step| {
                !self.trace.is_before(position, step)
                    && self.sleepers(step).any(|sleeper| self.blocks_step(sleeper, position, step))
            })
    }

    /// Whether the sleeping event would be made before the step in every child that differs first
    /// at `position`.
    fn blocks_step(&self, sleeper: &SleepEntry, position: usize, step: usize) -> bool {
        let (trace, event) = (&self.trace, &sleeper.event);
        let is_possible = match event.step.op {
            Op::Atomic(AtomicOp { action: AtomicAction::Store { .. }, .. }) => true,
            op => op.is_load() && is_unconditional(&event.step, trace),
        };
        is_possible
            && sleeper.since as usize > position
            && (0, sleeper.rank) < trace.summaries[step].key
            && self.is_reached(event.step.thread, position, step)
            && !self.is_delicate(event, &self.own_event(position))
            && !self.may_be_woken(position, event, |_| false)
    }

    /// Whether the thread still reaches its state before the step if the step at `position` is left
    /// out: the policy makes all that the thread has made by then, and all that this depends on,
    /// before the step.
    fn is_reached(&self, thread: u16, position: usize, step: usize) -> bool {
        let trace = &self.trace;
        let own = &trace.positions[usize::from(thread)];
        let before = own.partition_point(|&other| (other as usize) < step);
        let Some(&last) = before.checked_sub(1).map(|index| &own[index]) else { return false };
        let sleeps =
            |thread: usize| self.sleepers(position).any(|other| usize::from(other.event.step.thread) == thread);
        let past = trace.clock(last as usize).iter().zip(&self.base).enumerate();
        !sleeps(usize::from(thread))
            && !trace.is_before(position, last as usize)
            && past.into_iter().filter(|(_, (clock, base))| clock > base).all(|(other, (&clock, &base))| {
                (0, trace.ranks[other]) < trace.summaries[step].key
                    && !sleeps(other)
                    && trace.positions[other][base as usize..clock as usize].iter().all(|&at| {
                        let made = &trace.events[at as usize];
                        made.op.has_one_successor() && class_of(made) == 0
                    })
            })
    }

    /// Whether the step wakes its whole sleep set. The sleep set behind it must be known.
    fn wakes_sleep_set(&self, position: usize) -> bool {
        let next = self.sleep_set(position + 1);
        // Events that sleep on come first, then those that fall asleep there.
        next.first().is_none_or(|&number| self.slept[number as usize].since as usize > position)
            && (self.sleep_set(position).is_empty() || !self.trace.events[position].op.is_arrival())
    }

    /// A cheap test whether an operation of another thread might overtake the step.
    fn may_be_raced(&self, position: usize) -> bool {
        let trace = &self.trace;
        !trace.stopped.is_empty()
            || self.has_alternative(position)
            || (0..trace.touches(position).len()).any(|index| !trace.is_undisputed(position, index))
    }

    /// Whether an operation of another thread might overtake the step and wake the whole sleep set.
    fn is_raced(&self, position: usize) -> bool {
        let trace = &self.trace;
        let step = &trace.events[position];
        if self.has_alternative(position) && self.alternative_wakes_all(position) {
            return true;
        }
        let touches = trace.touches(position);
        let mut asleep: Option<SmallVec<[(&ChosenEvent, u16); 8]>> = None;
        let mut wakes_all = |op: &Event, seq: usize, touches: &[Touch]| {
            let asleep = asleep.get_or_insert_with(|| self.with_wakers(position));
            let limit = self.last_rank(position, (op, seq, touches), asleep);
            if self.comes_too_early(position, limit) {
                return false;
            }
            touches_vary(&op.op)
                || asleep.iter().all(|&(event, waker)| {
                    waker != NO_RANK && waker <= limit
                        || if event.step.thread == op.thread {
                            // A thread whose only successor sleeps on cannot overtake anything.
                            !self.replay.has_one_successor(&event.step.op)
                        } else if op.op.is_load() {
                            conflict(&event.touches, touches)
                        } else {
                            meets(&event.touches, touches)
                        }
                })
        };
        touches.iter().enumerate().any(|(index, touch)| {
            self.any_overtaker(position, touch, trace.list_of_touch(position, index), |other| {
                wakes_all(&trace.events[other], trace.summaries[other].seq as usize, trace.touches(other))
            })
        }) || trace.stopped.iter().any(|&thread| {
            let thread = usize::from(thread);
            trace.pending[thread].as_ref().is_some_and(|(op, theirs)| {
                op.thread != step.thread
                    && trace.positions[thread].last().is_none_or(|&last| !trace.is_before(position, last as usize))
                    && meets(theirs, touches)
                    && wakes_all(op, trace.positions[thread].len(), theirs)
            })
        })
    }

    /// Whether the thread could do something else than the step at `position`, which the policy
    /// prefers less.
    #[inline]
    fn has_alternative(&self, position: usize) -> bool {
        if !self.trace.summaries[position].may_choose {
            return false;
        }
        let step = &self.trace.events[position];
        match step.op.choices() {
            Some(successors) => u64::from(self.choices[position]) + 1 < successors,
            None => step.op.ends_wait() && self.spurious > 0 && step.op.outcome() != Outcome::Done,
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
                && self.with_wakers(position).iter().all(|&(event, waker)| {
                    waker != NO_RANK && waker <= key.1
                        || event.step.thread == thread
                        || waits(&event.step.op)
                        || meets(&event.touches, touches)
                })
    }

    /// Whether a step that every child at `position` must contain has a higher rank than
    /// `last_rank`, so that the policy would make it too late.
    fn comes_too_early(&self, position: usize, last_rank: u16) -> bool {
        let trace = &self.trace;
        let is_later = |step: usize| trace.summaries[step].key > (0, last_rank) && !trace.is_before(position, step);
        last_rank != NO_RANK && self.required(position).any(is_later)
    }

    /// The rank of the thread of an operation that overtakes the step at `position`, if the thread
    /// can go on until then whatever others do. The policy makes nothing of a higher rank before.
    /// [`NO_RANK`] otherwise. `seq`: number of the operation within its thread.
    fn last_rank(
        &self,
        position: usize,
        (op, seq, touches): (&Event, usize, &[Touch]),
        asleep: &[(&ChosenEvent, u16)],
    ) -> u16 {
        let (trace, thread) = (&self.trace, usize::from(op.thread));
        let own = &trace.positions[thread][self.base[thread] as usize..seq];
        let goes_on = self.is_possible_instead(position, op)
            && self.covers(position, touches)
            && asleep.iter().all(|(event, _)| event.step.thread != op.thread)
            && own.last().is_none_or(|&last| {
                let past = trace.clock(last as usize).iter().zip(&self.base).enumerate();
                let is_simple = |&at: &u32| {
                    let (step, touches) = (&trace.events[at as usize], trace.touches(at as usize));
                    step.op.has_one_successor()
                        && class_of(step) == 0
                        && self.fragile.iter().all(|(_, cells)| !meets(cells, touches))
                };
                own.iter().all(is_simple)
                    && past.into_iter().all(|(other, (clock, base))| clock <= base || other == thread)
            });
        if goes_on { trace.ranks[thread] } else { NO_RANK }
    }

    /// Whether the step depends on everything that depends on an event with these touches. If such
    /// an event falls asleep, nothing wakes it before the step is made.
    pub(super) fn covers(&self, position: usize, touches: &[Touch]) -> bool {
        let own = self.trace.touches(position);
        touches.iter().all(|touch| {
            let covers =
                |own: &Touch| own.cell == touch.cell && own.mode == Mode::Write && touch.bytes & !own.bytes == 0;
            own.iter().any(covers)
        })
    }

    /// Whether the operation is possible instead of the step at `position`, and stays so until an
    /// event that depends on the step is made.
    fn is_possible_instead(&self, position: usize, op: &Event) -> bool {
        let step = &self.trace.events[position];
        match op.op {
            Op::Atomic(access) if !access.is_load() => true,
            _ if op.op.is_load() => is_unconditional(op, &self.trace),
            Op::Mutex(MutexOp { mutex, action: MutexAction::Lock(Patience::Block), .. }) => {
                let is_same = step.op.acquired_mutex() == Some(mutex) && !step.op.is_lock_attempt();
                // Only the owner changes a mutex, so it is free if the last change was another
                // thread's.
                let entries = self.trace.entries(mutex >> 3);
                let before = entries.partition_point(|entry| (entry.position as usize) < position);
                let last = entries[..before].iter().rev().find(|entry| entry.mode == Some(Mode::Write));
                is_same && last.is_none_or(|last| self.trace.summaries[last.position as usize].thread != step.thread)
            }
            _ => false,
        }
    }

    /// The events asleep before the step at `position`. Each comes with the least rank of a thread
    /// that wakes it later by a step that does not depend on the one at `position`.
    fn with_wakers(&self, position: usize) -> SmallVec<[(&ChosenEvent, u16); 8]> {
        let waker = |sleeper: &SleepEntry| {
            let mut least = if sleeper.event.step.op.is_arrival() { 0 } else { NO_RANK };
            let list = |index: usize| Some(sleeper.lists[index]);
            self.any_waker(position, &sleeper.event, list, |other| {
                least = least.min(self.trace.summaries[other as usize].key.1);
                least == 0
            });
            least
        };
        self.sleepers(position).map(|sleeper| (&sleeper.event, waker(sleeper))).collect()
    }

    /// Whether a later step that does not depend on the one at `position`, and is not left out,
    /// could wake the event.
    pub(super) fn may_be_woken(&self, position: usize, event: &ChosenEvent, is_out: impl Fn(u32) -> bool) -> bool {
        let list = |index: usize| self.trace.known_list(event.touches[index].cell);
        event.step.op.is_arrival() || self.any_waker(position, event, list, |step| !is_out(step))
    }

    /// Whether `examine` holds for a later step that does not depend on the one at `position` and
    /// conflicts with the event. `list`: the number of the list of the cell of a touch.
    fn any_waker(
        &self,
        position: usize,
        event: &ChosenEvent,
        list: impl Fn(usize) -> Option<u32>,
        mut examine: impl FnMut(u32) -> bool,
    ) -> bool {
        event.touches.iter().enumerate().any(|(index, touch)| {
            let Some(list) = list(index) else { return false };
            self.trace.any_later(position, list, touch.mode, |entry| {
                entry.bytes & touch.bytes != 0
                    && entry.mode.is_some_and(|mode| !mode.commutes(touch.mode))
                    && self.trace.summaries[entry.position as usize].thread != event.step.thread
                    && !self.trace.is_before(position, entry.position as usize)
                    && examine(entry.position)
            })
        })
    }

    /// Whether `examine` holds for a later step that could come before the one at `position` if
    /// their touches of the cell with this list came in the other order.
    fn any_overtaker(&self, position: usize, touch: &Touch, list: u32, mut examine: impl FnMut(usize) -> bool) -> bool {
        let trace = &self.trace;
        let step = &trace.events[position];
        let released = step.op.released_mutex();
        let owned =
            released.is_some_and(|mutex| touch.cell == mutex >> 3) && self.releases_own(position, trace.list(list));
        // A reader that got the lock gets it in every child, if no writer takes part in what is behind
        // the step.
        let is_readers_only = touch.mode == Mode::Share && !trace.has_write_behind(list, position);
        let stays_shared = |mode: Mode, op: &Op| is_readers_only && mode == Mode::Share && matches!(op, Op::Rwlock(_));
        let overtakes = |entry: &Entry| {
            let other = entry.position as usize;
            let EventSummary { thread, seq, .. } = trace.summaries[other];
            let mode = entry.mode.filter(|&mode| !entry.may_write || stays_shared(mode, &trace.events[other].op));
            entry.bytes & touch.bytes != 0
                && mode.is_none_or(|mode| !mode.commutes(touch.mode))
                && !never_overtakes(&step.op, &trace.events[other].op, owned)
                && seq.checked_sub(1).is_none_or(|seq| {
                    let previous = trace.positions[usize::from(thread)][seq as usize];
                    !trace.is_before(position, previous as usize)
                        && !self.waits_for(position, other, &trace.events[previous as usize].op)
                })
        };
        trace.any_later(position, list, touch.mode, |entry| overtakes(entry) && examine(entry.position as usize))
    }

    /// Whether the second step, behind the operation `previous`, ends a wait that only a step
    /// behind the first can end.
    fn waits_for(&self, first: usize, second: usize, previous: &Op) -> bool {
        let step = &self.trace.events[second];
        if !step.op.ends_wait() {
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
            && step.thread < Woken::LIMIT
            && wakers[..before].last().is_some_and(|waker| self.trace.is_before(first, waker.position as usize))
    }

    /// Whether the last change of the cell before the step was that its own thread locked a mutex
    /// there, so that the step unlocks its own mutex. To unlock a mutex that the thread does not
    /// hold releases nothing.
    fn releases_own(&self, position: usize, entries: &[Entry]) -> bool {
        let earlier = &entries[..entries.partition_point(|entry| (entry.position as usize) < position)];
        let last = earlier.iter().rev().find(|entry| entry.mode == Some(Mode::Write));
        last.is_some_and(|last| {
            let last = &self.trace.events[last.position as usize];
            last.thread == self.trace.summaries[position].thread && locks_mutex(&last.op)
        })
    }

    /// Collects the fragile operations: reinserting a sleeping event before one may disable or
    /// change it, so that it no longer wakes the other sleeping events.
    fn find_fragile(&mut self) {
        let mut fragile = std::mem::take(&mut self.fragile);
        fragile.clear();
        for (position, step) in self.trace.events.iter().enumerate() {
            if self.is_fragile(step) {
                let mut cells = Footprint::from_slice(self.trace.touches(position));
                cells.extend(step.op.potential(step.thread));
                add(&mut fragile, step.thread, cells);
            }
        }
        for (step, touches) in self.trace.pending.iter().flatten() {
            if self.is_fragile(step) {
                let cells = touches.iter().copied().chain(step.op.potential(step.thread)).collect();
                add(&mut fragile, step.thread, cells);
            }
        }
        self.fragile = fragile;
    }

    /// Whether some fragile operation depends on both events, but may stop depending on one of them
    /// after the other was performed. Also true if one of them may have several successors.
    pub(super) fn is_delicate(&self, a: &ChosenEvent, b: &ChosenEvent) -> bool {
        let meets_both = |(_, cells): &(u16, Footprint)| meets(cells, &a.touches) && meets(cells, &b.touches);
        let is_alone = |event: &ChosenEvent| event.step.op.has_one_successor();
        !is_alone(a) || !is_alone(b) || self.fragile.iter().any(meets_both)
    }

    /// Whether an event of another thread may disable the operation or change what it touches.
    fn is_fragile(&self, step: &Event) -> bool {
        match &step.op {
            Op::Rwlock(op) => match op.action {
                RwlockAction::Write(Patience::Block) => true,
                RwlockAction::Read(Patience::Block) => op.writers_first,
                _ => false,
            },
            Op::Cond(_) => step.op.ends_wait(),
            Op::Futex(_) => step.op.begins_wait() || step.op.ends_wait(),
            Op::Atomic(AtomicOp { addr, action: AtomicAction::Cas { .. }, .. }) => !self.trace.is_even(addr >> 3),
            _ => false,
        }
    }

    /// Whether the steps that a child at `position` has to make before it departs from the
    /// execution are in.
    pub(super) fn has_required(&self, position: usize, cursor: &Cursor) -> bool {
        self.thorough
            || self
                .required(position)
                .all(|step| cursor.has(&self.trace, step as u32) || self.trace.is_before(position, step))
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts { trace: &self.trace, replay: &self.replay, choices: &self.choices }
    }

    /// The schedule of the first `position` steps, then those of the path, then one event.
    pub(super) fn schedule(&mut self, position: usize, path: &[u32], last: &ChosenEvent) -> Schedule {
        let mut own = Vec::with_capacity(path.len() + 1);
        // Threads are numbered in order of creation, which the path may change.
        let mut numbers: SmallVec<[(u16, u16); 8]> = SmallVec::new();
        let mut created = None;
        for &at in path {
            let step = &self.trace.events[at as usize];
            own.push(Choice { thread: renamed(&numbers, step.thread), choice: self.choices[at as usize] });
            if let Some(child) = step.op.created() {
                let earlier = || self.trace.events[..position].iter().filter(|step| step.op.created().is_some());
                let number = created.unwrap_or_else(|| 1 + earlier().count() as u16);
                numbers.push((child, number));
                created = Some(number + 1);
            }
        }
        own.push(Choice { thread: renamed(&numbers, last.step.thread), choice: last.choice });
        let summaries = self.trace.summaries.iter().zip(&self.choices);
        let steps = summaries.map(|(summary, &choice)| Choice { thread: summary.thread, choice });
        self.schedules.child(position, own, steps)
    }
}

/// Adds an operation to those that are fragile. A loop makes the same one again and again.
fn add(fragile: &mut Vec<(u16, Footprint)>, thread: u16, cells: Footprint) {
    if !fragile.iter().rev().any(|(other, known)| *other == thread && *known == cells) {
        fragile.push((thread, cells));
    }
}

fn renamed(numbers: &[(u16, u16)], thread: u16) -> u16 {
    numbers.iter().find(|(old, _)| *old == thread).map_or(thread, |&(_, new)| new)
}

/// Whether the event, once enabled, stays enabled with the same preference under the policy,
/// whatever events independent of its waker are performed.
fn stays_enabled(event: &ChosenEvent) -> bool {
    event.choice == 0
        && match &event.step.op {
            Op::Rwlock(op) => match op.action {
                RwlockAction::Write(Patience::Block | Patience::Timed) => false,
                RwlockAction::Read(Patience::Block | Patience::Timed) => !op.writers_first,
                _ => true,
            },
            op => !op.ends_wait(),
        }
}

/// Whether the second operation cannot happen before the first although they conflict. `owned`: the
/// first releases what its thread holds.
fn never_overtakes(first: &Op, second: &Op, owned: bool) -> bool {
    match (first, second) {
        (Op::Thread(ThreadOp::End | ThreadOp::Start | ThreadOp::Create { .. }), Op::Thread(ThreadOp::Join { .. }))
        | (Op::Thread(ThreadOp::Create { .. }), Op::Thread(ThreadOp::Start | ThreadOp::End)) => true,
        _ => owned && (second.is_lock() || takes_mutex_again(second)),
    }
}

/// Whether the operation is the end of a wait for a condition variable.
fn takes_mutex_again(op: &Op) -> bool {
    matches!(op, Op::Cond(CondOp { action: CondAction::Reacquire { .. }, .. }))
}

/// Whether the operation is an acquisition of a mutex, successful or not.
fn locks_mutex(op: &Op) -> bool {
    matches!(op, Op::Mutex(MutexOp { action: MutexAction::Lock(_), .. })) || takes_mutex_again(op)
}

/// Whether the load can be made with whatever it finds.
fn is_unconditional(load: &Event, trace: &TraceIndex) -> bool {
    let awaited = load.op.as_atomic().and_then(AtomicOp::awaited);
    awaited.is_none() && !trace.awaiting[usize::from(load.thread)]
}

/// Whether the cells that the operation touches depend on the state.
fn touches_vary(op: &Op) -> bool {
    !op.has_one_successor() || op.woken().is_some() || op.is_arrival() || matches!(op, Op::Futex(_))
}

/// Whether some byte is among both.
pub(super) fn meets(a: &[Touch], b: &[Touch]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.cell == b.cell && a.bytes & b.bytes != 0))
}
