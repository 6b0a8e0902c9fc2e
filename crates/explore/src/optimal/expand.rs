//! Children of an execution.

use raddle_model::{Choice, Execution, Footprint, Op, Operation as _, Touch};
use raddle_vocab::ThreadSet;
use smallvec::SmallVec;

use super::WorkItem;
use super::child::Sim;
use super::cursor::{ChosenEvent, Cursor, Facts, Replay, class_of, is_dependent_with};
use super::dismissal::DismissalCounts;
use super::host_cache::HostCache;
use super::inversions::{Inversion, Inversions};
use super::schedule::{Schedule, ScheduleMaker};
use super::trace_index::{EventSummary, TraceIndex, mask};

/// An event that was possible and left out. It sleeps until an event that depends on it is made.
#[derive(Clone, Debug)]
pub(super) struct SleepEntry {
    /// The event as it was when it fell asleep.
    pub chosen: ChosenEvent,
    /// Position of the event that was made instead.
    pub since: u32,
    /// The cells that it touches, as [`TraceIndex::mask`] says it.
    mask: u64,
    /// Numbers of the lists of what it touches.
    pub lists: SmallVec<[u32; 3]>,
    pub rank: u16,
    /// Whether it is the only thing that its thread could do.
    is_alone: bool,
}

/// A summary of several sleeping events.
#[derive(Clone, Debug, Default)]
pub(super) struct SleepSummary {
    /// Threads that cannot step because their only successor is asleep.
    pub sleeping_threads: ThreadSet,
    /// An event that touches none of these cells wakes nothing; as [`TraceIndex::mask`] encodes
    /// them.
    pub cells: u64,
}

impl SleepEntry {
    pub fn new(chosen: ChosenEvent, since: u32, trace: &mut TraceIndex, replay: &Replay) -> Self {
        let mask = mask(&chosen.touches);
        let lists = chosen.touches.iter().map(|touch| trace.list_of(touch.cell)).collect();
        let rank = trace.ranks[usize::from(chosen.event.thread)];
        let is_alone = replay.has_one_successor(&chosen.event.op);
        SleepEntry { chosen, since, mask, lists, rank, is_alone }
    }
}

/// Computes children; keeps what the last execution has in common with the next.
#[derive(Debug)]
pub struct Expander {
    pub(super) trace: TraceIndex,
    pub(super) replay: Replay,
    pub(super) choices: Vec<u16>,
    /// How many events were forced.
    pub(super) forced: usize,
    /// All events that fell asleep along the execution, in order, then those of the current
    /// simulation.
    pub(super) slept: Vec<SleepEntry>,
    /// The sleep set before each forced event, one behind the other, as indices into `slept`. It
    /// includes the events that the event leaves out.
    sleep_sets: Vec<u32>,
    first_of_set: Vec<u32>,
    /// Forced events that came before a sleeping event that the policy would have preferred, in
    /// order.
    inversions: Inversions,
    /// Operations whose reversal may need several sleeping events reinserted at once.
    pub(super) fragile: Vec<(u16, Footprint)>,
    pub(super) sim: Sim,
    pub(super) host: Cursor,
    /// How far each thread is at the position that is looked at.
    pub(super) base: Vec<u32>,
    /// Executions that were not the normal form of their trace.
    pub(super) irregular: u64,
    pub(super) spurious: u32,
    pub(super) thorough: bool,
    schedules: ScheduleMaker,
    pub(super) hosts: HostCache,
    dismissed: DismissalCounts,
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
            inversions: Inversions::default(),
            fragile: Vec::new(),
            sim: Sim::default(),
            host: Cursor::default(),
            base: Vec::new(),
            irregular: 0,
            spurious,
            thorough: false,
            schedules: ScheduleMaker::default(),
            hosts: HostCache::default(),
            dismissed: DismissalCounts::default(),
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
            let found = children.len();
            let rule = if self.thorough { None } else { self.dismissal(position) };
            self.dismissed.add(rule);
            if rule.is_none() {
                self.children_at(position, children);
            }
            debug_assert!(
                self.is_complete(position, &children[found..]),
                "{rule:?} is wrong at {position} of {:?}",
                self.trace.events
            );
            self.base[usize::from(self.trace.summaries[position].thread)] += 1;
        }
    }

    /// Forgets what events behind the common prefix had shown.
    fn reopen(&mut self, common: usize) {
        self.inversions.truncate(common);
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

    /// The sleep set before the event at `position`.
    pub(super) fn sleep_set(&self, position: usize) -> &[u32] {
        match self.first_of_set.get(position) {
            Some(&first) => &self.sleep_sets[first as usize..self.sleep_set_end(position)],
            None => &[],
        }
    }

    /// The sleeping events before the event at `position`.
    pub(super) fn sleepers(&self, position: usize) -> impl Iterator<Item = &SleepEntry> {
        self.sleep_set(position).iter().map(|&number| &self.slept[number as usize])
    }

    /// The summary of these sleeping events.
    pub(super) fn sleep_summary(&self, asleep: &[u32]) -> SleepSummary {
        let mut sleep_summary = SleepSummary { sleeping_threads: self.sleeping_threads(asleep), cells: 0 };
        for &number in asleep {
            let SleepEntry { chosen, mask, is_alone, .. } = &self.slept[number as usize];
            let by_others = chosen.event.op.is_arrival() || !is_alone;
            sleep_summary.cells |= if by_others { u64::MAX } else { *mask };
        }
        sleep_summary
    }

    /// Threads that cannot step because their only successor is among those asleep.
    fn sleeping_threads(&self, asleep: &[u32]) -> ThreadSet {
        let mut sleeping_threads = ThreadSet::new();
        for sleeper in asleep.iter().map(|&number| &self.slept[number as usize]).filter(|sleeper| sleeper.is_alone) {
            sleeping_threads.insert(usize::from(sleeper.rank));
        }
        sleeping_threads
    }

    /// Whether the event at `position` wakes the sleeping event.
    pub(super) fn wakes(&self, position: usize, number: u32) -> bool {
        let sleeper = &self.slept[number as usize];
        let summary = &self.trace.summaries[position];
        // What touches no common cell leaves it asleep, but for the last arrival at a barrier.
        let may = sleeper.mask & summary.mask != 0 || summary.thread == sleeper.chosen.event.thread || summary.is_last;
        may && is_dependent_with(&self.trace.events[position], self.trace.touches(position), &sleeper.chosen)
    }

    /// Replays the forced part and computes the sleep set before each event.
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

    /// Adds the events that the event at `position` leaves asleep to the last sleep set.
    fn inherit(&mut self, position: usize) {
        for index in self.first_of_set[position] as usize..self.sleep_sets.len() {
            let sleeper = self.sleep_sets[index];
            if !self.wakes(position, sleeper) {
                self.sleep_sets.push(sleeper);
            }
        }
    }

    /// The event at `position` as one that was chosen.
    pub(super) fn own_event(&self, position: usize) -> ChosenEvent {
        ChosenEvent {
            event: self.trace.events[position],
            choice: self.choices[position],
            touches: Footprint::from_slice(self.trace.touches(position)),
        }
    }

    /// Puts to sleep what the policy would have preferred to the event at `position`.
    fn add_sleepers(&mut self, cursor: &mut Cursor, position: usize) {
        let event = &self.trace.events[position];
        let rank = self.trace.ranks[usize::from(event.thread)];
        let limit = (self.trace.summaries[position].key.0, rank, self.choices[position]);
        // Time-outs are preferred least, whatever the rank.
        let last = if limit.0 > 0 { self.trace.by_rank.len() } else { usize::from(rank) + usize::from(limit.2 > 0) };
        let (first, inherited) = (self.first_of_set[position] as usize, self.slept.len());
        let sleeping_threads = self.sleeping_threads(&self.sleep_sets[first..]);
        for word in 0..last.div_ceil(64) {
            let mut left = cursor.may_step(word) & !sleeping_threads.words()[word];
            while left != 0 {
                let rank = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if rank < last && cursor.can_step(self.facts(), rank) {
                    self.add_events(cursor, rank, limit, first, position as u32);
                }
            }
        }
        self.slept[inherited..].sort_by_key(|sleeper| class_of(&sleeper.chosen.event));
        self.sleep_sets.extend(inherited as u32..self.slept.len() as u32);
    }

    /// Puts to sleep the events of the thread of this rank that the policy prefers to the limit,
    /// except for those that are already in the sleep set that begins with `first`.
    fn add_events(&mut self, cursor: &Cursor, rank: usize, limit: (u8, u16, u16), first: usize, position: u32) {
        let thread = self.trace.by_rank[rank];
        for choice in 0.. {
            let Some(chosen) = cursor.event(&self.trace, &self.replay, thread, choice) else { break };
            let is_old = self.sleep_sets[first..].iter().any(|&number| {
                let other = &self.slept[number as usize].chosen;
                (other.event.thread, other.choice) == (thread, choice)
            });
            if (class_of(&chosen.event), rank as u16, choice) < limit && !is_old {
                self.slept.push(SleepEntry::new(chosen, position, &mut self.trace, &self.replay));
            }
        }
    }

    /// Adds an inversion if the event at `position` wakes an event that the policy preferred.
    fn note_inversion(&mut self, position: usize) {
        let EventSummary { key, .. } = self.trace.summaries[position];
        let mut before = 0;
        for &number in self.sleep_set(position) {
            let SleepEntry { chosen, since, rank, .. } = &self.slept[number as usize];
            if (class_of(&chosen.event), *rank) < key
                && self.wakes(position, number)
                && chosen.choice == 0
                && chosen.event.op.stays_enabled()
            {
                before = before.max(*since);
            }
        }
        if before > 0 {
            let clock = self.trace.clock(position);
            // An earlier event that this one is preferred to, and does not depend on, could come
            // later.
            let is_later =
                |summary: &EventSummary| summary.key > key && clock[usize::from(summary.thread)] <= summary.seq;
            // Each thread's events before this one are the first of the thread.
            let others = self.trace.positions.iter().zip(clock);
            let first = others.filter_map(|(positions, &before)| positions.get(before as usize)).min();
            let from = first.map_or(position, |&first| position.min(first as usize));
            let last = self.trace.summaries[from..position].iter().rposition(is_later).map_or(0, |index| from + index);
            let last = last as u32;
            if last < before {
                self.inversions.push(Inversion { event: position as u32, positions: last..before });
            }
        }
    }

    /// Positions of the events that a child which differs first at `position` must have made when
    /// it departs.
    pub(super) fn required(&self, position: usize) -> impl Iterator<Item = usize> {
        self.inversions.concerning(position as u32)
    }

    /// Collects the fragile operations: reinserting a sleeping event before one may disable or
    /// change it, so that it no longer wakes the other sleeping events.
    fn find_fragile(&mut self) {
        let mut fragile = std::mem::take(&mut self.fragile);
        fragile.clear();
        let summaries = self.trace.summaries.iter().enumerate();
        for (position, _) in summaries.filter(|(_, summary)| summary.may_be_fragile) {
            let event = &self.trace.events[position];
            if self.is_fragile(&event.op) {
                let mut cells = Footprint::from_slice(self.trace.touches(position));
                cells.extend(event.op.potential(event.thread));
                add(&mut fragile, event.thread, cells);
            }
        }
        for (event, touches) in self.trace.pending.iter().flatten() {
            if self.is_fragile(&event.op) {
                let cells = touches.iter().copied().chain(event.op.potential(event.thread)).collect();
                add(&mut fragile, event.thread, cells);
            }
        }
        self.fragile = fragile;
    }

    /// Whether some fragile operation depends on both events, but may stop depending on one of them
    /// after the other was performed. Also true if one of them may have several successors.
    pub(super) fn is_delicate(&self, a: &ChosenEvent, b: &ChosenEvent) -> bool {
        let meets_both = |(_, cells): &(u16, Footprint)| meets(cells, &a.touches) && meets(cells, &b.touches);
        let is_alone = |chosen: &ChosenEvent| chosen.event.op.has_one_successor();
        !is_alone(a) || !is_alone(b) || self.fragile.iter().any(meets_both)
    }

    /// Whether an event of another thread may disable the operation or change what it touches.
    fn is_fragile(&self, op: &Op) -> bool {
        op.is_fragile(|addr| !self.trace.is_even(addr >> 3))
    }

    /// Whether the events that a child at `position` has to make before it departs from the
    /// execution are in.
    pub(super) fn has_required(&self, position: usize, cursor: &Cursor) -> bool {
        self.thorough
            || self
                .required(position)
                .all(|event| cursor.has(&self.trace, event as u32) || self.trace.is_before(position, event))
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts { trace: &self.trace, replay: &self.replay, choices: &self.choices }
    }

    /// The schedule of the first `position` events, then those of the path, then one event.
    pub(super) fn schedule(&mut self, position: usize, path: &[u32], last: &ChosenEvent) -> Schedule {
        let mut own = Vec::with_capacity(path.len() + 1);
        // Threads are numbered in order of creation, which the path may change.
        let mut numbers: SmallVec<[(u16, u16); 8]> = SmallVec::new();
        let mut created = None;
        for &at in path {
            let event = &self.trace.events[at as usize];
            own.push(Choice { thread: renamed(&numbers, event.thread), choice: self.choices[at as usize] });
            if let Some(child) = event.op.created() {
                let earlier = || self.trace.events[..position].iter().filter(|event| event.op.created().is_some());
                let number = created.unwrap_or_else(|| 1 + earlier().count() as u16);
                numbers.push((child, number));
                created = Some(number + 1);
            }
        }
        own.push(Choice { thread: renamed(&numbers, last.event.thread), choice: last.choice });
        let summaries = self.trace.summaries.iter().zip(&self.choices);
        let events = summaries.map(|(summary, &choice)| Choice { thread: summary.thread, choice });
        self.schedules.child(position, own, events)
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

/// Whether some byte is among both.
pub(super) fn meets(a: &[Touch], b: &[Touch]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.cell == b.cell && a.bytes & b.bytes != 0))
}
