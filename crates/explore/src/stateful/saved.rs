//! Recognised states as bytes.
//!
//! Summaries share events, operations and lists of events. Each of these is written once, in a
//! table, and named by its place there. An entry names earlier entries only, so what is read has no
//! cycles.

use std::rc::Rc;

use raddle_model::depend::footprint;
use raddle_model::{Event, Footprint, Pending, StateKey, ThreadPath, Touch};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::cache::Explored;
use super::flow::{ClockVar, Flow, FlowAccess, Range, SharedAccess, Sources};
use super::ordered::CellUse;
use super::sharing::Sharing;
use super::summary::{EventList, LateOperation, OperationKind, PathEvent, StateSummary, name, thread_bit};
use super::threads::ThreadNumbers;
use super::touches::{TouchNumbers, TouchSet, TouchTable};
use super::{NodeMatching, SleepKey, StateMatcher};
use crate::saved::{Loader, Saver, Unusable};

#[derive(Serialize, Deserialize)]
struct FlowAccessRow {
    access: SharedAccess,
    is_early: bool,
    is_new: bool,
    is_gone: bool,
    sources: u32,
}

#[derive(Serialize, Deserialize)]
struct EventRow {
    event: Event,
    assigned: Vec<(ClockVar, u32)>,
    cleared: Vec<Range>,
    erased: Vec<Range>,
    accesses: Vec<FlowAccessRow>,
    is_fixed: bool,
}

#[derive(Serialize, Deserialize)]
struct KindRow {
    event: Event,
    pending: Option<Pending>,
    touches: Footprint,
}

#[derive(Serialize, Deserialize)]
struct OperationRow {
    kind: u32,
    past_threads: u64,
    past_touches: TouchSet,
    initials: Vec<(u16, TouchNumbers)>,
    past: Option<u32>,
}

/// A summary: its operations, and its accesses with their sources.
#[derive(Serialize, Deserialize)]
struct SummaryRow(Vec<u32>, Vec<(SharedAccess, u32)>);

/// One way in which a state was explored: what slept, what lies below, and its weight.
type ExploredRow = (SleepKey, SummaryRow, u64);

/// What a node keeps for matching.
#[derive(Serialize, Deserialize)]
pub(crate) struct MatchingRow {
    key: StateKey,
    era: u32,
    is_open: bool,
    incoming: Option<u32>,
    summary: SummaryRow,
}

/// The matcher without its tables.
#[derive(Serialize, Deserialize)]
pub(crate) struct MatcherRow {
    cells: FxHashMap<u64, CellUse>,
    relaxed: Vec<u64>,
    era: u32,
    is_off: bool,
    /// In the order in which they were stored.
    states: Vec<(StateKey, Vec<ExploredRow>)>,
    limit: u64,
    stored: u64,
}

/// A table of values that several others share.
struct Table<T: ?Sized, R> {
    rows: Vec<R>,
    /// By address, as thin pointers.
    numbers: FxHashMap<*const (), u32>,
    /// Keeps the values where they are.
    kept: Vec<Rc<T>>,
}

impl<T: ?Sized, R> Default for Table<T, R> {
    fn default() -> Self {
        Table { rows: Vec::new(), numbers: FxHashMap::default(), kept: Vec::new() }
    }
}

impl<T: ?Sized, R> Table<T, R> {
    fn find(&self, value: &Rc<T>) -> Option<u32> {
        self.numbers.get(&Rc::as_ptr(value).cast()).copied()
    }

    fn add(&mut self, value: &Rc<T>, row: R) -> u32 {
        let number = self.rows.len() as u32;
        self.rows.push(row);
        self.numbers.insert(Rc::as_ptr(value).cast(), number);
        self.kept.push(Rc::clone(value));
        number
    }
}

/// Gathers what is shared.
#[derive(Default)]
pub(crate) struct SharedSaver {
    sources: Table<[ClockVar], Vec<ClockVar>>,
    events: Table<PathEvent, EventRow>,
    /// First event and rest.
    lists: Table<EventList, (u32, Option<u32>)>,
    kinds: Table<OperationKind, KindRow>,
    operations: Table<LateOperation, OperationRow>,
}

impl SharedSaver {
    fn sources(&mut self, sources: &Sources) -> u32 {
        match self.sources.find(sources) {
            Some(number) => number,
            None => self.sources.add(sources, sources.to_vec()),
        }
    }

    fn event(&mut self, event: &Rc<PathEvent>) -> u32 {
        if let Some(number) = self.events.find(event) {
            return number;
        }
        let flow = &event.flow;
        let row = EventRow {
            event: event.event,
            assigned: flow.assigned.iter().map(|(var, sources)| (*var, self.sources(sources))).collect(),
            cleared: flow.cleared.clone(),
            erased: flow.erased.clone(),
            accesses: flow.accesses.iter().map(|access| self.flow_access(access)).collect(),
            is_fixed: event.is_fixed,
        };
        self.events.add(event, row)
    }

    fn flow_access(&mut self, access: &FlowAccess) -> FlowAccessRow {
        let FlowAccess { access, is_early, is_new, is_gone, ref sources } = *access;
        FlowAccessRow { access, is_early, is_new, is_gone, sources: self.sources(sources) }
    }

    /// Lists may be long, so the new part is written from its end.
    fn list(&mut self, list: &Rc<EventList>) -> u32 {
        let mut new = Vec::new();
        let (mut at, mut last) = (Some(list), None);
        while let Some(list) = at {
            last = self.lists.find(list);
            if last.is_some() {
                break;
            }
            new.push(list);
            at = list.rest.as_ref();
        }
        for list in new.into_iter().rev() {
            let first = self.event(&list.first);
            last = Some(self.lists.add(list, (first, last)));
        }
        last.unwrap_or(0)
    }

    fn operation(&mut self, operation: &Rc<LateOperation>) -> u32 {
        if let Some(number) = self.operations.find(operation) {
            return number;
        }
        let kind = match self.kinds.find(&operation.kind) {
            Some(number) => number,
            None => {
                let OperationKind { event, pending, ref touches, .. } = *operation.kind;
                self.kinds.add(&operation.kind, KindRow { event, pending, touches: touches.clone() })
            }
        };
        let row = OperationRow {
            kind,
            past_threads: operation.past_threads,
            past_touches: operation.past_touches.clone(),
            initials: operation.initials.to_vec(),
            past: operation.past.as_ref().map(|past| self.list(past)),
        };
        self.operations.add(operation, row)
    }

    fn summary(&mut self, summary: &StateSummary) -> SummaryRow {
        let operations = summary.operations.iter().map(|operation| self.operation(operation)).collect();
        let accesses = summary.accesses.iter();
        SummaryRow(operations, accesses.map(|(access, sources)| (*access, self.sources(sources))).collect())
    }

    /// What a node keeps.
    pub fn matching(&mut self, matching: &NodeMatching) -> MatchingRow {
        let NodeMatching { key, era, is_open, incoming, summary } = matching;
        let incoming = incoming.as_ref().map(|event| self.event(event));
        MatchingRow { key: *key, era: *era, is_open: *is_open, incoming, summary: self.summary(summary) }
    }

    /// The matcher itself. What it knows of the execution that was looked at last is left out.
    pub fn matcher(&mut self, matcher: &StateMatcher) -> MatcherRow {
        let StateMatcher { uses, relaxed, cache, era, is_off, .. } = matcher;
        let mut states = Vec::with_capacity(cache.order.len());
        for key in &cache.order {
            let all = cache.states.get(key).into_iter().flatten();
            let rows = all.map(|one| (one.sleep.clone(), self.summary(&one.summary), one.weight as u64));
            states.push((*key, rows.collect()));
        }
        MatcherRow {
            cells: uses.cells.clone(),
            relaxed: relaxed.clone(),
            era: *era,
            is_off: *is_off,
            states,
            limit: cache.limit as u64,
            stored: cache.stored,
        }
    }

    /// Writes the tables, which belong before everything that names their entries.
    pub fn save(self, matcher: Option<&StateMatcher>, into: &mut Saver) {
        let numbers = matcher.map(|matcher| &matcher.numbers);
        let threads = numbers.into_iter().flat_map(|numbers| &numbers.threads);
        into.put(&threads.map(|thread| &thread.path).collect::<Vec<&ThreadPath>>());
        into.put(&matcher.map(|matcher| matcher.touches.all()).unwrap_or_default());
        into.put(&matcher.map(|matcher| &matcher.sharing));
        into.put(&self.sources.rows);
        into.put(&self.events.rows);
        into.put(&self.lists.rows);
        into.put(&self.kinds.rows);
        into.put(&self.operations.rows);
    }
}

/// The tables, with values in place of rows.
pub(crate) struct SharedLoader {
    numbers: ThreadNumbers,
    touches: TouchTable,
    sharing: Option<Sharing>,
    sources: Vec<Sources>,
    events: Vec<Rc<PathEvent>>,
    lists: Vec<Rc<EventList>>,
    kinds: Vec<Rc<OperationKind>>,
    operations: Vec<Rc<LateOperation>>,
}

fn entry<T: Clone>(table: &[T], number: u32) -> Result<T, Unusable> {
    table.get(number as usize).cloned().ok_or_else(|| Unusable::because("it names what is not there"))
}

impl SharedLoader {
    /// Reads the tables.
    pub fn load(from: &mut Loader<'_>) -> Result<Self, Unusable> {
        let twice = || Unusable::because("something has two numbers");
        let numbers = ThreadNumbers::of(from.take()?).ok_or_else(twice)?;
        let touches = TouchTable::of(from.take::<Vec<Touch>>()?).ok_or_else(twice)?;
        let sharing = from.take()?;
        let sources: Vec<Vec<ClockVar>> = from.take()?;
        let mut tables = SharedLoader {
            numbers,
            touches,
            sharing,
            sources: sources.into_iter().map(Into::into).collect(),
            events: Vec::new(),
            lists: Vec::new(),
            kinds: Vec::new(),
            operations: Vec::new(),
        };
        let vars = tables.sources.iter().flat_map(|sources| sources.iter());
        if !vars.clone().all(|var| tables.is_known_clock(*var)) {
            return Err(unknown_thread());
        }
        for row in from.take::<Vec<EventRow>>()? {
            let event = tables.event(row)?;
            tables.events.push(event);
        }
        for (first, rest) in from.take::<Vec<(u32, Option<u32>)>>()? {
            let first = entry(&tables.events, first)?;
            let rest = rest.map(|rest| entry(&tables.lists, rest)).transpose()?;
            tables.lists.push(Rc::new(EventList { first, rest }));
        }
        for KindRow { event, pending, touches } in from.take::<Vec<KindRow>>()? {
            tables.check_thread(event.thread)?;
            let name = name(&event, &touches);
            tables.kinds.push(Rc::new(OperationKind { name, event, pending, touches }));
        }
        for row in from.take::<Vec<OperationRow>>()? {
            let operation = tables.operation(row)?;
            tables.operations.push(operation);
        }
        Ok(tables)
    }

    fn check_thread(&self, thread: u16) -> Result<(), Unusable> {
        if usize::from(thread) < self.numbers.threads.len() { Ok(()) } else { Err(unknown_thread()) }
    }

    fn is_known_clock(&self, var: ClockVar) -> bool {
        match var {
            ClockVar::Thread(thread) | ClockVar::Released(thread) | ClockVar::ToAcquire(thread) => {
                self.check_thread(thread).is_ok()
            }
            ClockVar::Carried(..) => true,
        }
    }

    fn event(&mut self, row: EventRow) -> Result<Rc<PathEvent>, Unusable> {
        let EventRow { event, assigned, cleared, erased, accesses, is_fixed } = row;
        self.check_thread(event.thread)?;
        let assign = |(var, sources): (ClockVar, u32)| match self.is_known_clock(var) {
            true => Ok((var, entry(&self.sources, sources)?)),
            false => Err(unknown_thread()),
        };
        let access = |row: FlowAccessRow| {
            let FlowAccessRow { access, is_early, is_new, is_gone, sources } = row;
            self.check_thread(access.thread)?;
            Ok(FlowAccess { access, is_early, is_new, is_gone, sources: entry(&self.sources, sources)? })
        };
        let flow = Flow {
            assigned: assigned.into_iter().map(assign).collect::<Result<_, _>>()?,
            cleared,
            erased,
            accesses: accesses.into_iter().map(access).collect::<Result<_, Unusable>>()?,
        };
        let touches = footprint(&event);
        let numbers = self.touches.numbers(&touches);
        Ok(Rc::new(PathEvent { event, touches, numbers, flow, is_fixed }))
    }

    fn operation(&self, row: OperationRow) -> Result<Rc<LateOperation>, Unusable> {
        let OperationRow { kind, past_threads, past_touches, initials, past } = row;
        let is_known = |number: u32| (number as usize) < self.touches.len();
        let mut named = initials.iter().flat_map(|(_, touches)| touches.iter());
        if !past_touches.is_below(self.touches.len()) || !named.all(|&number| is_known(number)) {
            return Err(Unusable::because("a touch is not there"));
        }
        Ok(Rc::new(LateOperation {
            kind: entry(&self.kinds, kind)?,
            past_threads,
            past_touches,
            initial_threads: initials.iter().fold(0, |all, (thread, _)| all | thread_bit(*thread)),
            initials: initials.into(),
            past: past.map(|past| entry(&self.lists, past)).transpose()?,
        }))
    }

    fn summary(&self, SummaryRow(operations, accesses): SummaryRow) -> Result<StateSummary, Unusable> {
        let access = |(access, sources): (SharedAccess, u32)| {
            self.check_thread(access.thread)?;
            Ok((access, entry(&self.sources, sources)?))
        };
        let operations = operations.into_iter().map(|number| entry(&self.operations, number));
        Ok(StateSummary {
            operations: operations.collect::<Result<_, _>>()?,
            accesses: accesses.into_iter().map(access).collect::<Result<_, Unusable>>()?,
        })
    }

    /// What a node keeps.
    pub fn matching(&self, row: MatchingRow) -> Result<NodeMatching, Unusable> {
        let MatchingRow { key, era, is_open, incoming, summary } = row;
        let incoming = incoming.map(|number| entry(&self.events, number)).transpose()?;
        Ok(NodeMatching { key, era, is_open, incoming, summary: self.summary(summary)? })
    }

    /// Gives the matcher what it knew.
    pub fn restore(mut self, matcher: &mut StateMatcher, row: MatcherRow) -> Result<(), Unusable> {
        let MatcherRow { cells, relaxed, era, is_off, states, limit, stored } = row;
        let cache = &mut matcher.cache;
        cache.limit = usize::try_from(limit).unwrap_or(usize::MAX);
        cache.stored = stored;
        for (key, all) in states {
            let mut explored = Vec::with_capacity(all.len());
            for (sleep, summary, weight) in all {
                let weight = usize::try_from(weight).unwrap_or(usize::MAX);
                cache.weight = cache.weight.saturating_add(weight);
                explored.push(Explored { sleep, summary: Rc::new(self.summary(summary)?), weight });
            }
            cache.order.push_back(key);
            cache.states.insert(key, explored);
        }
        if !relaxed.is_sorted() {
            return Err(Unusable::because("a list is not in order"));
        }
        matcher.sharing = self.sharing.take().ok_or_else(|| Unusable::because("nothing is known of memory"))?;
        (matcher.numbers, matcher.touches) = (self.numbers, self.touches);
        matcher.uses.cells = cells;
        (matcher.relaxed, matcher.era, matcher.is_off) = (relaxed, era, is_off);
        Ok(())
    }
}

fn unknown_thread() -> Unusable {
    Unusable::because("a thread is not there")
}
