//! A state that some of an execution's events lead to, and what each thread could do there.

use raddle_model::depend::{conflict, footprint};
use raddle_model::object::{AtomicAction, AtomicOp, OpTraits};
use raddle_model::semantics::Mark;
use raddle_model::{Event, Footprint, Mode, Op, Operation as _, SyncState, Touch};
use raddle_vocab::{Outcome, ThreadSet};

use super::long_lists::OfThread;
use super::trace_index::{Entry, TraceIndex};

/// Something that a thread could do in a state.
#[derive(Clone, Debug)]
pub(super) struct ChosenEvent {
    /// The transition as it would be.
    pub event: Event,
    /// Which successor of the operation.
    pub choice: u16,
    /// What it would touch.
    pub touches: Footprint,
}

impl ChosenEvent {
    /// Whether making this event changes what the other one is or would do.
    pub fn is_dependent_with(&self, other: &ChosenEvent) -> bool {
        is_dependent_with(&self.event, &self.touches, other)
    }
}

/// Whether making an event that touches this changes what the other one is or would do.
pub(super) fn is_dependent_with(event: &Event, touches: &[Touch], other: &ChosenEvent) -> bool {
    event.thread == other.event.thread || conflict(touches, &other.touches) || event.op.closes_round_of(&other.event.op)
}

/// Order in which the policy prefers what could be done: time-outs last, then by rank.
#[inline]
pub(super) fn class_of(event: &Event) -> u8 {
    u8::from(matches!(event.op.outcome(), Outcome::TimedOut | Outcome::Spurious))
}

/// What became of an attempt to make the event that the policy would choose.
pub(super) enum Pick {
    /// No thread can step.
    Nothing,
    /// The execution goes on with this event, too.
    Next(u32),
    /// It is something that the execution does not do here: this successor of the thread's
    /// operation.
    Other(u16, u16),
}

/// The semantics, standing at some position of the execution or beside it.
#[derive(Debug)]
pub(super) struct Replay {
    world: SyncState,
    /// How many events are in.
    at: usize,
    /// State before each of them.
    marks: Vec<Mark>,
    /// Whether memory is left to the world (operations on futexes look at it).
    keeps_memory: bool,
    /// Whether threads wake up spuriously.
    is_spurious: bool,
}

impl Replay {
    pub fn new(spurious: u32) -> Self {
        Replay {
            world: SyncState::new(spurious),
            at: 0,
            marks: Vec::new(),
            keeps_memory: false,
            is_spurious: spurious > 0,
        }
    }

    /// Prepares for an execution of which the first `common` events are those of the last one.
    pub fn load(&mut self, execution: &raddle_model::Execution, common: usize) {
        let futexes = execution.event_traits().contain(OpTraits::WAITS_FOR_FUTEX);
        if common == 0 || futexes || self.keeps_memory {
            self.world.reset();
            self.world.set_threads(&execution.threads);
            if futexes {
                self.world.learn(&execution.events);
            }
            self.keeps_memory = futexes;
            self.marks.clear();
            self.at = 0;
        } else if self.at > common {
            self.back_to(common);
        }
    }

    fn back_to(&mut self, position: usize) {
        self.world.rollback(self.marks[position]);
        self.marks.truncate(position);
        self.at = position;
    }

    /// Goes to the state before the event at `position`.
    pub fn seek(&mut self, events: &[Event], position: usize) {
        if self.at > position {
            self.back_to(position);
        }
        while self.at < position {
            self.marks.push(self.world.mark());
            self.apply(&events[self.at]);
            self.at += 1;
        }
    }

    /// Starts to go beside the execution.
    pub fn leave(&mut self) -> Mark {
        self.world.mark()
    }

    /// Comes back.
    pub fn come_back(&mut self, mark: Mark) {
        self.world.rollback(mark);
    }

    pub fn apply(&mut self, event: &Event) {
        if self.keeps_memory || !event.op.is_memory_access() {
            self.world.apply(event);
        }
    }

    /// Whether the operation has at most one successor in every state of this program. The only
    /// other one that a wait can have is a spurious wake-up.
    pub fn has_one_successor(&self, op: &Op) -> bool {
        op.has_one_successor() || !self.is_spurious && op.ends_wait()
    }

    pub fn world(&self) -> &SyncState {
        &self.world
    }
}

/// How far each thread is.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    /// Events made, by thread.
    pub next: Vec<u32>,
    /// Events made in all.
    pub made: u32,
    /// No position before this one is missing.
    low: u32,
    /// Threads of which nothing is known. What is known of another thread stays true until it
    /// makes an event, or until an event touches what its operation touches.
    unknown: ThreadSet,
    /// Threads that can only make the event that the execution makes next, too.
    ready: ThreadSet,
    /// Threads that can do something else, or have several successors.
    open: ThreadSet,
    /// Threads that cannot step until another thread does.
    blocked: ThreadSet,
    /// What each thread's operation touches, as [`TraceIndex::mask`] says it, by rank.
    wants: Vec<u64>,
}

impl Cursor {
    /// Stands before the event at `position`, and knows nothing of any thread.
    pub fn stand(&mut self, trace: &TraceIndex, position: usize) {
        self.next.clear();
        self.next.resize(trace.positions.len(), 0);
        for event in &trace.events[..position] {
            self.next[usize::from(event.thread)] += 1;
        }
        (self.made, self.low) = (position as u32, position as u32);
        self.know_nothing(trace);
    }

    /// The same, if it is known how far each thread is there.
    pub fn stand_at(&mut self, trace: &TraceIndex, next: &[u32], position: usize) {
        self.next.clear();
        self.next.extend_from_slice(next);
        (self.made, self.low) = (position as u32, position as u32);
        self.know_nothing(trace);
    }

    fn know_nothing(&mut self, trace: &TraceIndex) {
        self.unknown = ThreadSet::below(trace.by_rank.len());
        self.ready = ThreadSet::new();
        self.open = ThreadSet::new();
        self.blocked = ThreadSet::new();
        self.wants.clear();
        let next = &self.next;
        self.wants.extend(trace.by_rank.iter().map(|&thread| trace.mask_of(thread, next[usize::from(thread)])));
    }

    pub fn copy_from(&mut self, other: &Cursor) {
        self.next.clone_from(&other.next);
        (self.made, self.low) = (other.made, other.low);
        (self.unknown, self.ready) = (other.unknown, other.ready);
        (self.open, self.blocked) = (other.open, other.blocked);
        self.wants.clone_from(&other.wants);
    }

    /// Whether the event is in.
    pub fn has(&self, trace: &TraceIndex, position: u32) -> bool {
        let position = position as usize;
        trace.summaries[position].seq < self.next[usize::from(trace.events[position].thread)]
    }

    /// Whether everything that happens before the event is in. The event is its thread's next.
    pub fn is_ready(&self, trace: &TraceIndex, position: u32) -> bool {
        // Of the thread itself one more than it has made.
        let missing =
            trace.clock(position as usize).iter().zip(&self.next).map(|(clock, next)| u32::from(clock > next));
        missing.sum::<u32>() == 1
    }

    /// Makes the event at `position`.
    pub fn take(&mut self, trace: &TraceIndex, replay: &mut Replay, position: u32) {
        replay.apply(&trace.events[position as usize]);
        self.advance(trace, position);
    }

    /// How many events are in, if they are the first ones of the execution.
    pub fn is_along(&mut self, trace: &TraceIndex) -> Option<u32> {
        while (self.low as usize) < trace.events.len() && self.has(trace, self.low) {
            self.low += 1;
        }
        (self.low == self.made).then_some(self.low)
    }

    /// Counts the event as made and forgets what it may have changed.
    pub fn advance(&mut self, trace: &TraceIndex, position: u32) {
        let thread = trace.events[position as usize].thread;
        let mask = trace.mask(position as usize);
        for word in 0..trace.by_rank.len().div_ceil(64) {
            // `ready` needs no update: an event that depends on a ready one cannot come before it.
            let mut settled = self.blocked.words()[word] | self.open.words()[word];
            let mut affected = 0;
            while settled != 0 {
                let bit = settled.trailing_zeros();
                settled &= settled - 1;
                affected |= u64::from(self.wants[word * 64 + bit as usize] & mask != 0) << bit;
            }
            self.unknown.words_mut()[word] |= affected;
            self.open.words_mut()[word] &= !affected;
            self.blocked.words_mut()[word] &= !affected;
        }
        self.next[usize::from(thread)] += 1;
        self.made += 1;
        let rank = usize::from(trace.ranks[usize::from(thread)]);
        self.unknown.insert(rank);
        self.ready.remove(rank);
        self.open.remove(rank);
        self.blocked.remove(rank);
        self.wants[rank] = trace.mask_of(thread, self.next[usize::from(thread)]);
    }

    /// What the policy would do here without the threads in `sleeping_threads` and the events for
    /// which `asleep` holds.
    pub fn pick(&mut self, facts: Facts<'_>, sleeping_threads: &ThreadSet, asleep: impl Fn(u16, u16) -> bool) -> Pick {
        let mut late = Pick::Nothing;
        for word in 0..facts.trace.by_rank.len().div_ceil(64) {
            let mut left = self.may_step(word) & !sleeping_threads.words()[word];
            while left != 0 {
                let rank = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                match self.pick_of(facts, rank, &asleep) {
                    (Pick::Nothing, _) => {}
                    (pick, 0) => return pick,
                    (pick, _) => {
                        if matches!(late, Pick::Nothing) {
                            late = pick;
                        }
                    }
                }
            }
        }
        late
    }

    /// The first event of a thread that is not asleep, and its class.
    fn pick_of(&mut self, facts: Facts<'_>, rank: usize, asleep: &impl Fn(u16, u16) -> bool) -> (Pick, u8) {
        let Facts { trace, replay, choices } = facts;
        let thread = trace.by_rank[rank];
        self.look(facts, rank);
        if self.ready.contains(rank) {
            let ready = self.next_of(trace, thread).unwrap_or_default();
            return (Pick::Next(ready), trace.summaries[ready as usize].key.0);
        }
        if !self.open.contains(rank) {
            return (Pick::Nothing, 0);
        }
        let ready = self.next_of(trace, thread).filter(|&position| self.is_ready(trace, position));
        for choice in 0.. {
            let Some(chosen) = self.event(trace, replay, thread, choice) else { break };
            if asleep(thread, choice) {
                continue;
            }
            let class = class_of(&chosen.event);
            let next = ready.filter(|&ready| choices[ready as usize] == choice);
            return (next.map_or(Pick::Other(thread, choice), Pick::Next), class);
        }
        (Pick::Nothing, 0)
    }

    /// Position of the thread's next event in the execution.
    fn next_of(&self, trace: &TraceIndex, thread: u16) -> Option<u32> {
        let number = usize::from(thread);
        trace.positions[number].get(self.next[number] as usize).copied()
    }

    /// Finds out what sort of event the thread could make here, if that is not known.
    fn look(&mut self, facts: Facts<'_>, rank: usize) {
        if !self.unknown.contains(rank) {
            return;
        }
        self.unknown.remove(rank);
        let Facts { trace, replay, .. } = facts;
        let thread = trace.by_rank[rank];
        let has_one = |position: u32| replay.has_one_successor(&trace.events[position as usize].op);
        let next = self.next_of(trace, thread);
        if next.is_some_and(|position| has_one(position) && self.is_ready(trace, position)) {
            // It depends on nothing that is missing: here it is what it was there.
            self.ready.insert(rank);
        } else if self.is_possible(trace, replay, thread, next) {
            self.open.insert(rank);
        } else if self.wants[rank] != 0 {
            self.blocked.insert(rank);
        }
    }

    /// Threads of ranks `64 * word` and on that are not known to be blocked, a bit each.
    pub fn may_step(&self, word: usize) -> u64 {
        self.unknown.words()[word] | self.ready.words()[word] | self.open.words()[word]
    }

    /// Whether the thread of this rank can step here.
    pub fn can_step(&mut self, facts: Facts<'_>, rank: usize) -> bool {
        self.look(facts, rank);
        self.ready.contains(rank) || self.open.contains(rank)
    }

    /// Whether the thread, whose next event in the execution is at `next`, can do anything here.
    fn is_possible(&self, trace: &TraceIndex, replay: &Replay, thread: u16, next: Option<u32>) -> bool {
        let Some(op) = trace.operation(thread, self.next[usize::from(thread)]) else { return false };
        let world = replay.world();
        world.is_alive(thread)
            && match &op.op {
                Op::Atomic(load) if load.is_load() => {
                    !self.awaits(trace, op.thread, load, next) && world.enabled(op).possible()
                }
                Op::Atomic(_) => true,
                _ => world.enabled(op).possible(),
            }
    }

    /// What the thread would do here with that choice; `None` if it cannot.
    pub fn event(&self, trace: &TraceIndex, replay: &Replay, thread: u16, choice: u16) -> Option<ChosenEvent> {
        let number = usize::from(thread);
        let world = replay.world();
        if !world.is_alive(thread) {
            return None;
        }
        let position = trace.positions[number].get(self.next[number] as usize).copied();
        let mut op = *trace.operation(thread, self.next[number])?;
        if let Op::Atomic(access) = &mut op.op {
            if access.is_load() && self.awaits(trace, thread, access, position) {
                return None;
            }
            if !replay.keeps_memory && matches!(access.action, AtomicAction::Cas { .. }) {
                self.predict_exchange(trace, access);
            }
        }
        let event = if op.op.has_one_successor() {
            world.outcome(&op, 0).filter(|_| choice == 0)?
        } else {
            (choice < world.successors(&op)).then(|| world.outcome_of(&op, choice))?
        };
        Some(ChosenEvent { event, choice, touches: footprint(&event) })
    }

    /// What the thread of `x` would do here behind the event `first` of another thread, with the
    /// same choice. The replay has made `first` already.
    pub fn event_behind(
        &self,
        trace: &TraceIndex,
        replay: &Replay,
        x: &ChosenEvent,
        first: &ChosenEvent,
    ) -> Option<ChosenEvent> {
        let mut chosen = self.event(trace, replay, x.event.thread, x.choice)?;
        if let (Op::Atomic(op), Op::Atomic(other)) = (chosen.event.op, first.event.op)
            && matches!(op.action, AtomicAction::Cas { .. })
            && op.is_at(other.addr, other.size)
            && other.writes()
        {
            chosen.event.op = Op::Atomic(op.with_seen(other.value()));
            chosen.touches = footprint(&chosen.event);
        }
        Some(chosen)
    }

    /// Whether the load is busy waiting that would not end here.
    fn awaits(&self, trace: &TraceIndex, thread: u16, load: &AtomicOp, position: Option<u32>) -> bool {
        let value = self.value_at(trace, load.addr, load.size);
        match position {
            Some(_) => load.awaited().is_some() && value.is_some_and(|value| value != load.seen()),
            None => {
                let number = usize::from(thread);
                let failed = |value: u64| value == trace.found[number] || load.awaited() == Some(value);
                trace.awaiting[number] && value.is_some_and(failed)
            }
        }
    }

    fn predict_exchange(&self, trace: &TraceIndex, exchange: &mut AtomicOp) {
        if let Some(value) = self.value_at(trace, exchange.addr, exchange.size) {
            *exchange = exchange.with_seen(value);
        }
    }

    /// What an atomic location holds here, if the execution shows it.
    fn value_at(&self, trace: &TraceIndex, addr: u64, size: u32) -> Option<u64> {
        let list = trace.known_list(addr >> 3)?;
        let entries = trace.list(list);
        let access = |position: u32| {
            let access = trace.events[position as usize].op.as_atomic();
            access.filter(|access| access.is_at(addr, size))
        };
        let bytes = (((1u16 << size.min(8)) - 1) << (addr & 7)) as u8;
        let writes = |entry: &Entry| entry.bytes & bytes != 0 && entry.mode == Some(Mode::Write);
        let last = match trace.by_thread(list) {
            None => entries.iter().rev().find(|entry| writes(entry) && self.has(trace, entry.position)),
            Some(by_thread) => {
                let last_of = |of: &OfThread| {
                    let made = of.writes.partition_point(|&index| self.has(trace, entries[index as usize].position));
                    of.writes[..made].iter().rev().find(|&&index| writes(&entries[index as usize])).copied()
                };
                by_thread.iter().filter_map(last_of).max().map(|index| &entries[index as usize])
            }
        };
        if let Some(entry) = last {
            return access(entry.position).map(AtomicOp::value);
        }
        let first = entries.iter().find(|entry| entry.bytes & bytes != 0)?;
        access(first.position).map(AtomicOp::seen)
    }
}

/// What is needed to say what a thread could do.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub trace: &'a TraceIndex,
    pub replay: &'a Replay,
    /// Which successor each event of the execution was.
    pub choices: &'a [u16],
}
