//! An index over one execution: footprints, vector clocks, and the events that touched each cell.
//!
//! Executions of one search share long prefixes, so a [`TraceIndex`] is moved from one execution to
//! the next: events behind the common prefix are removed, then the new ones are added. The content
//! is a function of the execution alone; the reuse only saves work.

use raddle_model::depend::{conflict, footprint};
use raddle_model::numbering::DenseNumbers;
use raddle_model::object::OrdinaryUse;
use raddle_model::{
    Cell, ClockTable, Event, EventName, Execution, Footprint, Mode, Operation as _, Pending, PendingState, ThreadPath,
    Touch,
};
use raddle_vocab::Outcome;
use smallvec::SmallVec;

use super::cursor::class_of;
use super::long_lists::{LONG, LongLists, OfThread};

/// "No position", where a position in the execution could stand.
pub(super) const NONE: u32 = u32::MAX;

/// An event in the list of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Position of the event.
    pub position: u32,
    /// Which bytes of the cell.
    pub bytes: u8,
    /// How it touched the cell; `None` if it did not, but might have in another state.
    pub mode: Option<Mode>,
    /// Whether it would order itself against readers in some state.
    pub may_write: bool,
    /// Index in the list of the last `Write` before it.
    last_write: u32,
    /// Index in the list of the last `Share` before it.
    last_share: u32,
    /// Whether it is one of the ordinary operations on threads and plain mutexes.
    is_usual: bool,
}

impl Entry {
    /// Whether it touches the cell in another way than by a read in some state.
    pub fn conflicts_with_reads(&self) -> bool {
        self.may_write || self.mode != Some(Mode::Observe)
    }
}

/// The events that touched a cell, in order.
#[derive(Debug)]
struct CellList {
    entries: Vec<Entry>,
    last_write: u32,
    last_share: u32,
    /// How many entries are not usual.
    unusual: u32,
    /// How many entries touch other bytes than the first.
    uneven: u32,
}

/// The data of an event that is needed most often, in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventSummary {
    pub thread: u16,
    /// How the policy ranks it: class, then rank of the thread.
    pub key: (u8, u16),
    /// Number of the event within its thread.
    pub seq: u32,
    /// Cells that the event touches, as [`TraceIndex::mask`] says it.
    pub mask: u64,
    /// Whether it is the last arrival of a barrier's round.
    pub is_last: bool,
    /// Whether it is the first half of something of which others do the second half, see
    /// [`TraceIndex::is_undisputed`].
    is_first_half: bool,
    /// Whether the operation has more than one successor in some state.
    pub may_choose: bool,
    /// Whether the operation is fragile in some execution.
    pub may_be_fragile: bool,
    first_touch: u32,
    first_member: u32,
}

/// How an event enters the list of a cell.
#[derive(Clone, Copy, Debug)]
struct Membership {
    list: u32,
    bytes: u8,
    mode: Option<Mode>,
    may_write: bool,
    usual: OrdinaryUse,
}

/// What follows from an event alone, cached: threads repeat the same events in other orders.
#[derive(Debug)]
struct CachedEvent {
    event: Event,
    /// The latest name of the event.
    name: EventName,
    touches: Footprint,
    /// The lists that it enters: first those of its touches, then those of cells that it touches in
    /// other states only.
    lists: SmallVec<[Membership; 4]>,
    mask: u64,
    class: u8,
    is_last: bool,
    is_first_half: bool,
    may_choose: bool,
    may_be_fragile: bool,
}

impl CachedEvent {
    /// Whether it is the event, which has this name.
    #[inline]
    fn is_of(&self, event: &Event, name: EventName) -> bool {
        debug_assert!(!self.name.is_same(name) || self.event == *event, "an event with the same name");
        self.name.is_same(name) || self.event == *event
    }
}

/// The events that a thread was seen to make at one place: numbers of cached events, the latest
/// first.
#[derive(Clone, Debug, Default)]
struct SeenEvents(SmallVec<[u32; 4]>);

/// Events that are kept for one place, at most.
const SEEN_EVENTS: usize = 5;
/// Events that are kept in all, at most, beside one for each place.
const CACHED_EVENTS: usize = 1 << 16;

/// The index of one execution.
#[derive(Debug, Default)]
pub(super) struct TraceIndex {
    /// The events, in order.
    pub events: Vec<Event>,
    names: Vec<EventName>,
    /// A summary of each event.
    pub summaries: Vec<EventSummary>,
    /// Positions of each thread's events.
    pub positions: Vec<Vec<u32>>,
    /// Ranks of the threads.
    pub ranks: Vec<u16>,
    /// Threads by rank.
    pub by_rank: Vec<u16>,
    /// What each thread stands before at the end, if it could ever go on: the operation and its
    /// footprint.
    pub pending: Vec<Option<(Event, Footprint)>>,
    /// Threads that stand before something at the end.
    pub stopped: Vec<u16>,
    /// Whether that is busy waiting.
    pub awaiting: Vec<bool>,
    /// What it found there.
    pub found: Vec<u64>,
    /// The cells that what is pending touches, as [`TraceIndex::mask`] says it.
    pending_masks: Vec<u64>,
    paths: Vec<ThreadPath>,
    touches: Vec<Touch>,
    clocks: ClockTable,
    /// The number of the list of each cell.
    cells: DenseNumbers,
    lists: Vec<CellList>,
    /// Lists that each event is in, to take it out again.
    member: Vec<u32>,
    long: LongLists,
    /// Everything that is cached.
    cached: Vec<CachedEvent>,
    /// Which of it, by thread and number within the thread.
    seen: Vec<Vec<SeenEvents>>,
}

impl TraceIndex {
    /// Moves to another execution and returns how many events it shares with the last one.
    ///
    /// When a thread is alone and behind everything that others did, the rest of it is left out: it
    /// has no other order.
    pub fn load(&mut self, execution: &Execution) -> usize {
        let same_threads = self.paths.len() == execution.threads.len()
            && self.paths.iter().zip(&execution.threads).all(|(path, thread)| *path == thread.path);
        let common = if same_threads {
            let named = self.names.iter().zip(&execution.names).take_while(|(old, new)| old.is_same(**new)).count();
            debug_assert_eq!(self.events[..named], execution.events[..named], "events with the same names");
            let rest = self.events[named..].iter().zip(&execution.events[named..]);
            named + rest.take_while(|(old, new)| old == new).count()
        } else {
            0
        };
        self.truncate(common);
        if !same_threads {
            self.set_threads(execution);
        }
        self.load_pending(execution);
        let alone = if self.stopped.is_empty() { start_of_the_end(&execution.events) } else { execution.events.len() };
        // All at once, because that costs less than one by one.
        self.events.extend_from_slice(&execution.events[common..]);
        self.names.extend_from_slice(execution.names.get(common..).unwrap_or_default());
        self.names.resize(self.events.len(), EventName::NONE);
        for (position, event) in execution.events.iter().enumerate().skip(common) {
            if position > alone && self.is_behind_all(position - 1) {
                // The rest is one thread's, and it is behind all that others did.
                debug_assert!(execution.events[position - 1..].windows(2).all(|two| two[0].thread == two[1].thread));
                self.events.truncate(position);
                self.names.truncate(position);
                break;
            }
            self.push(event, position);
        }
        self.index_long_lists();
        common
    }

    fn index_long_lists(&mut self) {
        self.long.clear();
        if self.events.len() < LONG {
            return;
        }
        for (number, list) in self.lists.iter().enumerate() {
            if list.entries.len() >= LONG {
                let thread_of = |position: u32| self.summaries[position as usize].thread;
                self.long.add(number, self.positions.len(), &list.entries, thread_of);
            }
        }
    }

    /// Whether the event, which was indexed last, is behind all others.
    fn is_behind_all(&self, last: usize) -> bool {
        let clock = self.clock(last);
        clock.iter().zip(&self.positions).all(|(&clock, positions)| clock as usize == positions.len())
    }

    fn set_threads(&mut self, execution: &Execution) {
        let count = execution.threads.len();
        self.paths.clear();
        self.paths.extend(execution.threads.iter().map(|thread| thread.path.clone()));
        self.positions.resize(count, Vec::new());
        self.clocks.reset(count);
        self.seen.resize_with(self.seen.len().max(count), Vec::new);
        self.by_rank.clear();
        self.by_rank.extend(0..count as u16);
        let paths = &self.paths;
        self.by_rank.sort_by(|&a, &b| paths[usize::from(a)].cmp(&paths[usize::from(b)]));
        self.ranks.resize(count, 0);
        for (rank, &thread) in self.by_rank.iter().enumerate() {
            self.ranks[usize::from(thread)] = rank as u16;
        }
    }

    fn load_pending(&mut self, execution: &Execution) {
        let goes_on = |pending: &Pending| {
            !matches!(pending.state, PendingState::Failed | PendingState::Ended | PendingState::Exited)
        };
        // Nearly always no thread goes on, as in the last execution.
        if self.stopped.is_empty()
            && self.pending.len() == self.positions.len()
            && !execution.pending.iter().any(goes_on)
        {
            return;
        }
        self.pending.clear();
        self.awaiting.clear();
        self.found.clear();
        for pending in &execution.pending {
            let goes_on = goes_on(pending);
            self.pending.push(goes_on.then(|| (pending.event, footprint(&pending.event))));
            self.awaiting.push(pending.state == PendingState::Awaiting);
            self.found.push(pending.found);
        }
        self.pending.resize(self.positions.len(), None);
        self.pending_masks.clear();
        let mask = |pending: &Option<(Event, Footprint)>| pending.as_ref().map_or(0, |(_, touches)| mask(touches));
        self.pending_masks.extend(self.pending.iter().map(mask));
        self.awaiting.resize(self.positions.len(), false);
        self.found.resize(self.positions.len(), 0);
        self.stopped.clear();
        self.stopped
            .extend((0..self.pending.len() as u16).filter(|&thread| self.pending[usize::from(thread)].is_some()));
    }

    /// Removes events until `len` are left.
    fn truncate(&mut self, len: usize) {
        while self.summaries.len() > len {
            let Some(summary) = self.summaries.pop() else { break };
            self.positions[usize::from(summary.thread)].pop();
            while self.member.len() > summary.first_member as usize {
                let Some(number) = self.member.pop() else { break };
                let list = &mut self.lists[number as usize];
                if let Some(entry) = list.entries.pop() {
                    list.unusual -= u32::from(!entry.is_usual);
                    list.uneven -= u32::from(list.entries.first().is_some_and(|first| first.bytes != entry.bytes));
                    (list.last_write, list.last_share) = (entry.last_write, entry.last_share);
                }
            }
            self.touches.truncate(summary.first_touch as usize);
        }
        self.events.truncate(len);
        self.names.truncate(len);
        self.clocks.truncate(len);
    }

    /// Indexes the event at the position, behind those before it.
    fn push(&mut self, event: &Event, position: usize) {
        let (name, position, thread) = (self.names[position], position as u32, usize::from(event.thread));
        let seq = self.positions[thread].len();
        let number = match self.seen[thread].get(seq).and_then(|seen| seen.0.first()) {
            Some(&latest) if self.cached[latest as usize].is_of(event, name) => latest,
            _ => self.find_cached(event, name, thread, seq),
        };
        let cached = &mut self.cached[number as usize];
        cached.name = name;
        let cached = &*cached;
        match self.positions[thread].last() {
            Some(&last) => self.clocks.push_copy(last as usize),
            None => self.clocks.push_zeros(1),
        }
        for (touch, entered) in cached.touches.iter().zip(&cached.lists) {
            join_list(&mut self.clocks, position, &self.lists[entered.list as usize], *touch, &self.summaries);
        }
        self.clocks.row_mut(position as usize)[thread] += 1;
        self.positions[thread].push(position);
        self.summaries.push(EventSummary {
            thread: event.thread,
            key: (cached.class, self.ranks[thread]),
            seq: seq as u32,
            mask: cached.mask,
            is_last: cached.is_last,
            is_first_half: cached.is_first_half,
            may_choose: cached.may_choose,
            may_be_fragile: cached.may_be_fragile,
            first_touch: self.touches.len() as u32,
            first_member: self.member.len() as u32,
        });
        for entered in &cached.lists {
            self.member.push(entered.list);
            let list = &mut self.lists[entered.list as usize];
            let is_usual = match entered.usual {
                OrdinaryUse::Always => true,
                OrdinaryUse::Never => false,
                OrdinaryUse::First => list.entries.is_empty(),
                OrdinaryUse::Owner => list.is_locked_by(event.thread, &self.events),
            };
            list.enter(position, entered, is_usual);
        }
        // They are few.
        self.touches.extend(cached.touches.iter().copied());
    }

    /// The cached event for a place whose latest event was another one. Values and outcomes
    /// alternate from one execution to the next, so that a few are kept.
    fn find_cached(&mut self, event: &Event, name: EventName, thread: usize, seq: usize) -> u32 {
        if self.seen[thread].len() == seq {
            self.seen[thread].push(SeenEvents::default());
        }
        let seen = &self.seen[thread][seq].0;
        let number = match seen.iter().position(|&number| self.cached[number as usize].is_of(event, name)) {
            Some(known) => self.seen[thread][seq].0.remove(known),
            None => self.cache(event, thread, seq),
        };
        self.seen[thread][seq].0.insert(0, number);
        number
    }

    /// Caches an event that is new at its place. If there is no room, it replaces the one that was
    /// met least lately there.
    fn cache(&mut self, event: &Event, thread: usize, seq: usize) -> u32 {
        let new = self.cached_event(event);
        let seen = &mut self.seen[thread][seq].0;
        let is_full = seen.len() == SEEN_EVENTS || self.cached.len() >= CACHED_EVENTS;
        if let Some(oldest) = is_full.then(|| seen.pop()).flatten() {
            self.cached[oldest as usize] = new;
            return oldest;
        }
        self.cached.push(new);
        self.cached.len() as u32 - 1
    }

    fn cached_event(&mut self, event: &Event) -> CachedEvent {
        let touches = footprint(event);
        let potential = event.op.potential(event.thread);
        let may_write = event.op.may_write();
        let made = touches.iter().map(|touch| (touch, Some(touch.mode)));
        let both = made.chain(potential.iter().map(|touch| (touch, None)));
        let lists = both.map(|(touch, mode)| Membership {
            list: list_of(&mut self.cells, &mut self.lists, touch.cell),
            bytes: touch.bytes,
            mode,
            may_write: may_write || mode != Some(Mode::Observe),
            usual: event.op.ordinary_use(|object| mode.is_some() && touch.cell == object >> 3),
        });
        let lists = lists.collect();
        CachedEvent {
            event: *event,
            name: EventName::NONE,
            mask: mask(&touches),
            touches,
            lists,
            class: class_of(event),
            is_last: event.op.outcome() == Outcome::Last,
            is_first_half: event.op.is_first_half(),
            may_choose: event.op.choices().is_some() || event.op.ends_wait(),
            may_be_fragile: event.op.is_fragile(|_| true),
        }
    }

    /// The number of the list of a cell, for [`TraceIndex::list`].
    pub fn list_of(&mut self, cell: Cell) -> u32 {
        list_of(&mut self.cells, &mut self.lists, cell)
    }

    /// The events that touched the cell whose list has this number.
    pub fn list(&self, number: u32) -> &[Entry] {
        &self.lists[number as usize].entries
    }

    /// What the event touches.
    pub fn touches(&self, position: usize) -> &[Touch] {
        let end = self.summaries.get(position + 1).map_or(self.touches.len(), |summary| summary.first_touch as usize);
        &self.touches[self.summaries[position].first_touch as usize..end]
    }

    /// How many events of each thread happen before the event or are the event.
    pub fn clock(&self, position: usize) -> &[u32] {
        self.clocks.row(position)
    }

    /// Whether the first event happens before the second or is it.
    pub fn is_before(&self, first: usize, second: usize) -> bool {
        let summary = &self.summaries[first];
        self.clocks.time(second, usize::from(summary.thread)) > summary.seq
    }

    /// The list of a cell.
    pub fn entries(&self, cell: Cell) -> &[Entry] {
        self.cells.get(cell).map_or(&[], |list| &self.lists[list as usize].entries)
    }

    /// The number of the list of a cell, if any event has touched it.
    pub fn known_list(&self, cell: Cell) -> Option<u32> {
        self.cells.get(cell)
    }

    /// The number of the list of the cell that is the event's touch number `index`.
    pub fn list_of_touch(&self, position: usize, index: usize) -> u32 {
        // An event enters the lists of what it touches before all others.
        self.member[self.summaries[position].first_member as usize + index]
    }

    /// The list of the cell that is the event's touch number `index`.
    pub fn entries_of(&self, position: usize, index: usize) -> &[Entry] {
        &self.lists[self.list_of_touch(position, index) as usize].entries
    }

    /// The entries of a list by thread, if the list is long.
    pub fn by_thread(&self, list: u32) -> Option<&[OfThread]> {
        self.long.get(list)
    }

    /// Whether all events that touch the cell touch the same bytes of it.
    pub fn is_even(&self, cell: Cell) -> bool {
        self.cells.get(cell).is_none_or(|list| self.lists[list as usize].uneven == 0)
    }

    /// Whether an event behind `position` touches the cell with this list in mode `Write`.
    pub fn has_write_behind(&self, list: u32, position: usize) -> bool {
        let list = &self.lists[list as usize];
        list.entries.get(list.last_write as usize).is_some_and(|entry| entry.position as usize > position)
    }

    /// Whether `examine` holds for an entry of the list behind `position` that is of another thread
    /// and does not commute with `mode` in every state. Entries may be left out if the event before
    /// theirs in the same thread is behind the event at `position`.
    pub fn any_later(&self, position: usize, list: u32, mode: Mode, mut examine: impl FnMut(&Entry) -> bool) -> bool {
        let entries = self.list(list);
        let thread = usize::from(self.summaries[position].thread);
        let Some(by_thread) = self.by_thread(list) else {
            let later = entries.iter().rev().take_while(|entry| entry.position as usize > position);
            return later
                .filter(|entry| usize::from(self.summaries[entry.position as usize].thread) != thread)
                .any(examine);
        };
        let others = by_thread.iter().enumerate().filter(|&(other, _)| other != thread);
        others.into_iter().any(|(other, of)| {
            let own = if mode == Mode::Observe { &of.writes } else { &of.all };
            let first = own.partition_point(|&index| entries[index as usize].position as usize <= position);
            let later = own[first..].iter().map(|&index| &entries[index as usize]);
            let Some(bound) = self.first_behind(position, other) else { return later.into_iter().any(&mut examine) };
            later.take_while(|entry| entry.position <= bound).any(&mut examine)
        })
    }

    /// Position of the thread's first event that is behind the one at `position`.
    fn first_behind(&self, position: usize, thread: usize) -> Option<u32> {
        let own = &self.positions[thread];
        own.get(own.partition_point(|&other| !self.is_before(position, other as usize))).copied()
    }

    /// Whether no event of the execution overtakes this one because of its touch number `index`: no
    /// event follows in the cell's list, or only such as have to wait for it. A start follows the
    /// creation, a join follows the end, a lock follows the unlock by the owner.
    pub fn is_undisputed(&self, position: usize, index: usize) -> bool {
        let summary = &self.summaries[position];
        let list = &self.lists[self.member[summary.first_member as usize + index] as usize];
        summary.is_first_half && list.unusual == 0
            || list.entries.last().is_none_or(|last| last.position as usize == position)
    }

    /// Whether the event depends on something with these touches.
    pub fn conflicts(&self, position: usize, touches: &[Touch]) -> bool {
        conflict(self.touches(position), touches)
    }

    /// The operation that the thread stands before after `count` of its events.
    pub fn operation(&self, thread: u16, count: u32) -> Option<&Event> {
        let thread = usize::from(thread);
        match self.positions[thread].get(count as usize) {
            Some(&position) => Some(&self.events[position as usize]),
            None => self.pending[thread].as_ref().map(|(event, _)| event),
        }
    }

    /// The cells that the event touches, each as one of 64 bits: what touches a common cell has a
    /// common bit.
    pub fn mask(&self, position: usize) -> u64 {
        self.summaries[position].mask
    }

    /// The same for the operation that the thread stands before after `count` of its events.
    pub fn mask_of(&self, thread: u16, count: u32) -> u64 {
        let number = usize::from(thread);
        match self.positions[number].get(count as usize) {
            Some(&position) => self.summaries[position as usize].mask,
            None => self.pending_masks[number],
        }
    }
}

/// The cells, each as one of 64 bits.
pub(super) fn mask(touches: &[Touch]) -> u64 {
    touches.iter().fold(0, |mask, touch| mask | 1 << (touch.cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58))
}

/// Position of the first event behind which only one thread makes events, and chooses no values.
fn start_of_the_end(events: &[Event]) -> usize {
    let Some(last) = events.last() else { return 0 };
    let is_before = |event: &Event| event.thread != last.thread || event.op.chosen_value().is_some();
    events.iter().rposition(is_before).map_or(0, |other| other + 1)
}

impl CellList {
    /// Whether the last change was that the thread has locked what lies there.
    fn is_locked_by(&self, thread: u16, events: &[Event]) -> bool {
        self.entries.get(self.last_write as usize).is_some_and(|entry| {
            let last = &events[entry.position as usize];
            last.thread == thread && last.op.awaited_mutex().is_some()
        })
    }

    fn enter(&mut self, position: u32, entered: &Membership, is_usual: bool) {
        let &Membership { bytes, mode, may_write, .. } = entered;
        self.unusual += u32::from(!is_usual);
        self.uneven += u32::from(self.entries.first().is_some_and(|first| first.bytes != bytes));
        let (last_write, last_share) = (self.last_write, self.last_share);
        match mode {
            Some(Mode::Write) => self.last_write = self.entries.len() as u32,
            Some(Mode::Share) => self.last_share = self.entries.len() as u32,
            _ => {}
        }
        self.entries.push(Entry { position, bytes, mode, may_write, last_write, last_share, is_usual });
    }
}

fn list_of(cells: &mut DenseNumbers, lists: &mut Vec<CellList>, cell: Cell) -> u32 {
    let (list, is_new) = cells.number(cell);
    if is_new {
        lists.push(CellList { entries: Vec::new(), last_write: NONE, last_share: NONE, unusual: 0, uneven: 0 });
    }
    list
}

/// Joins the clocks of all events in the list that the event in `row` depends on into its clock.
fn join_list(clocks: &mut ClockTable, row: u32, list: &CellList, touch: Touch, summaries: &[EventSummary]) {
    // A write that covers the bytes is behind everything before it.
    let mut at = list.last_write;
    let mut barrier = 0;
    while at != NONE {
        let entry = list.entries[at as usize];
        if entry.bytes & touch.bytes != 0 {
            join(clocks, row, entry.position, summaries);
            if entry.bytes & touch.bytes == touch.bytes {
                barrier = at + 1;
                break;
            }
        }
        at = entry.last_write;
    }
    match touch.mode {
        Mode::Observe => {
            let mut at = list.last_share;
            while at != NONE && at >= barrier {
                let entry = list.entries[at as usize];
                if entry.bytes & touch.bytes != 0 {
                    join(clocks, row, entry.position, summaries);
                }
                at = entry.last_share;
            }
        }
        Mode::Share | Mode::Write => {
            for entry in &list.entries[barrier as usize..] {
                if entry.bytes & touch.bytes != 0 && entry.mode.is_some_and(|mode| !mode.commutes(touch.mode)) {
                    join(clocks, row, entry.position, summaries);
                }
            }
        }
    }
}

/// Joins the clock of the event at `position` into a later one.
fn join(clocks: &mut ClockTable, row: u32, position: u32, summaries: &[EventSummary]) {
    let summary = &summaries[position as usize];
    if clocks.time(row as usize, usize::from(summary.thread)) <= summary.seq {
        clocks.join(row as usize, position as usize);
    }
}
