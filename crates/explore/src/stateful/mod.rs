//! State matching for [`crate::dpor`]: a search that recognises states.
//!
//! After stateful DPOR (Yang, Chen, Gopalakrishnan and Kirby, SPIN 2008), for native executions and
//! with races by happens-before. Where a run reaches a state below which everything was explored,
//! the search is cut. Equal states have equal futures, so filling each cut subtree back in gives a
//! tree of source-DPOR. A summary ([`StateSummary`]) keeps what the cut subtree would have
//! contributed to the path that leads to it:
//!
//! * operations below the state, each with its past below the state: they are reversed with events
//!   on the path as if they had been met;
//! * accesses below the state, each with the clocks of that state that happen before it. If one
//!   races with an access on the path, the search is not cut, so that a run shows the race.
//!
//! Deviations from the paper: summaries keep causal pasts instead of a graph of visible operations,
//! happens-before is part of them, and sleep sets are used: a state matches if the sleep set with
//! which it was explored is a subset of the present one.
//!
//! The past of an operation is without events that only the operation's own touches order before
//! it. So its thread may not be the one that a reversal begins with. That matters where its
//! operation is asleep: then every thread is tried (`dpor::races`).
//!
//! What it misses: states are compared by hashes of 128 bits, so a collision would hide what lies
//! below one of two states.
//!
//! Invariants:
//! * Only finished nodes are matched, so cycles of states do no harm.
//! * Failing to match is always sound. So the cache may forget states. States without a key, and
//!   searches with more than 63 threads, are not matched.
//! * A summary lists accesses to memory that was known to be shared when it was made. When more
//!   memory turns out to be shared, everything remembered so far is given up. The same holds for
//!   operations that are left out because no schedule reverses them ([`ordered`]).

mod cache;
mod flow;
mod ordered;
mod path_clocks;
pub(crate) mod saved;
mod sharing;
pub(crate) mod summary;
mod threads;
mod touches;

use std::rc::Rc;

use raddle_model::object::{CondAction, FutexAction};
use raddle_model::{Access, Event, Execution, Op, PendingState, StateKey, footprint};
use raddle_vocab::policy::mix;

use cache::StateCache;
use flow::{FlowBuilder, Heads};
use ordered::OrderedUses;
use path_clocks::PathClocks;
use sharing::Sharing;
use summary::{PathEvent, StateSummary};
use threads::ThreadNumbers;

pub(crate) use cache::SleepKey;
pub(crate) use touches::TouchTable;

/// What a node of the search keeps for matching.
#[derive(Debug)]
pub(crate) struct NodeMatching {
    key: StateKey,
    /// The generation of knowledge about sharing that the summary was made with.
    era: u32,
    /// Whether something below is not in the summary.
    is_open: bool,
    /// The event that led here.
    incoming: Option<Rc<PathEvent>>,
    summary: StateSummary,
}

impl NodeMatching {
    /// The event that led here.
    pub fn incoming(&self) -> Option<&Rc<PathEvent>> {
        self.incoming.as_ref()
    }

    /// Something below is not known: the state is never matched.
    pub fn open(&mut self) {
        self.is_open = true;
    }
}

/// Recognises states.
#[derive(Debug)]
pub(crate) struct StateMatcher {
    numbers: ThreadNumbers,
    sharing: Sharing,
    uses: OrderedUses,
    heads: Heads,
    touches: TouchTable,
    /// Atomic locations whose release sequences relaxed stores may continue.
    relaxed: Vec<u64>,
    cache: StateCache,
    era: u32,
    /// Whether `heads` covers the present execution from its start.
    has_heads: bool,
    /// The key of the present state.
    key: StateKey,
    is_off: bool,
}

impl StateMatcher {
    /// A matcher that uses at most so many bytes, roughly.
    pub fn new(bytes: usize) -> Self {
        StateMatcher {
            numbers: ThreadNumbers::default(),
            sharing: Sharing::default(),
            uses: OrderedUses::default(),
            heads: Heads::default(),
            touches: TouchTable::default(),
            relaxed: Vec::new(),
            cache: StateCache::new(bytes),
            era: 0,
            has_heads: true,
            key: StateKey::UNKNOWN,
            is_off: false,
        }
    }

    /// How many states are remembered or were.
    pub fn states(&self) -> u64 {
        self.cache.stored()
    }

    /// The execution with numbers of threads that hold in the whole search, if they differ.
    pub fn translate(&mut self, execution: &Execution) -> Option<Execution> {
        let translated = self.numbers.translate(execution);
        self.is_off |= self.numbers.is_crowded();
        if execution.keys.first() == Some(&StateKey::REVOKED) && !self.is_off {
            tracing::debug!("states are not compared any more");
            self.is_off = true;
            self.forget();
        }
        self.heads = Heads::default();
        self.has_heads = true;
        self.uses.begin();
        translated
    }

    /// Goes over an event that leads to a node and is known from there.
    pub fn follow_known(&mut self, event: &Event, segment: &[Access], known: Option<&Rc<PathEvent>>) -> Rc<PathEvent> {
        match known {
            // What relaxed stores continue has to be worked out from the start.
            Some(known) if self.relaxed.is_empty() => {
                self.has_heads = false;
                self.uses.step(event);
                Rc::clone(known)
            }
            _ => self.follow(event, segment),
        }
    }

    /// Goes over an event of the execution that is looked at.
    pub fn follow(&mut self, event: &Event, segment: &[Access]) -> Rc<PathEvent> {
        let (flow, relaxed) = FlowBuilder::build(event, segment, &mut self.heads);
        let touches = footprint(event);
        let mut is_news = self.uses.note(event, &touches);
        if is_news {
            self.sharing.distrust(|mutex| self.uses.is_ordinary(mutex));
        }
        let is_fixed = self.uses.is_fixed(event, &touches);
        let mut note = |uses: &OrderedUses, is_early: bool| {
            if uses.is_alone(event.thread) {
                return;
            }
            let guards = uses.guards(event.thread);
            for access in flow.accesses.iter().filter(|access| access.is_early == is_early) {
                is_news |= self.sharing.note(access.access, &guards);
            }
        };
        note(&self.uses, true);
        self.uses.step(event);
        note(&self.uses, false);
        for addr in relaxed {
            if let Err(place) = self.relaxed.binary_search(&addr) {
                self.relaxed.insert(place, addr);
                is_news = true;
            }
        }
        if is_news {
            self.forget();
        }
        let numbers = self.touches.numbers(&touches);
        Rc::new(PathEvent { event: *event, touches, numbers, flow, is_fixed })
    }

    /// Gives up everything remembered so far, and what nodes under way have gathered.
    fn forget(&mut self) {
        self.era += 1;
        self.cache.clear();
    }

    /// Enters a state: `key` covers memory and threads, `objects` the state of objects.
    pub fn enter(&mut self, key: StateKey, objects: u64) {
        let rest = mix(objects ^ mix(self.heads.digest(&self.relaxed) ^ self.uses.readers()));
        let is_known = key.is_known() && !self.is_off && (self.has_heads || self.relaxed.is_empty());
        self.key = if is_known { StateKey(key.0 ^ u128::from(rest) << 32) } else { StateKey::UNKNOWN };
    }

    /// What lies below the present state, if that is known and `path` leads to it without a race.
    pub fn find(&mut self, sleep: &SleepKey, threads: usize, path: &[Rc<PathEvent>]) -> Option<Rc<StateSummary>> {
        if !self.key.is_known() {
            return None;
        }
        let summary = self.cache.find(self.key, sleep)?;
        if !summary.accesses().is_empty() {
            let mut clocks = PathClocks::new(threads);
            path.iter().for_each(|event| clocks.push(event, &self.sharing));
            if summary.accesses().iter().any(|late| clocks.races(late)) {
                return None;
            }
        }
        Some(summary)
    }

    /// What a node for the present state keeps.
    pub fn node(&self, incoming: Option<Rc<PathEvent>>) -> NodeMatching {
        let summary = StateSummary::default();
        NodeMatching { key: self.key, era: self.era, is_open: false, incoming, summary }
    }

    /// The touches of the search.
    pub fn touches(&self) -> &TouchTable {
        &self.touches
    }

    /// Adds an event that was explored from a node.
    pub fn explored(&mut self, node: &mut NodeMatching, event: &PathEvent, is_timed: bool) {
        node.summary.add_event(event, is_timed, &self.sharing, &mut self.touches);
    }

    /// Adds what lies below the state behind an event.
    pub fn behind(&self, node: &mut NodeMatching, event: &Rc<PathEvent>, summary: StateSummary) {
        node.summary.add_behind(summary, event, &self.touches);
    }

    /// Adds the operations that are pending in the node's own state.
    pub fn pending(&self, node: &mut NodeMatching, pending: StateSummary) {
        node.summary.add_operations(pending);
    }

    /// The node is finished: remembers its state, and tells its parent what lies below.
    pub fn finish(&mut self, node: NodeMatching, sleep: SleepKey, parent: Option<&mut NodeMatching>) {
        let NodeMatching { key, era, is_open, incoming, summary } = node;
        let is_current = era == self.era && !is_open;
        let stored = (is_current && key.is_known()).then(|| summary.clone());
        if let (Some(parent), Some(incoming)) = (parent, &incoming) {
            if is_current {
                parent.summary.add_behind(summary, incoming, &self.touches);
            } else {
                parent.is_open = true;
            }
        }
        if let Some(summary) = stored {
            self.cache.store(key, sleep, summary);
        }
    }

    /// The operations that threads stand before behind so many events of an execution: `next` is
    /// the event that a thread makes then, if it makes one.
    pub fn pending_at(
        &mut self,
        execution: &Execution,
        is_timed: impl Fn(u16) -> bool,
        next: impl Fn(u16) -> Option<Event>,
    ) -> StateSummary {
        let mut summary = StateSummary::default();
        for pending in &execution.pending {
            let thread = pending.event.thread;
            let is_over = matches!(pending.state, PendingState::Failed | PendingState::Ended | PendingState::Exited);
            let (event, pending) = match next(thread) {
                Some(event) => (event, None),
                None if is_over => continue,
                None => (pending.event, Some(*pending)),
            };
            let touches = footprint(&event);
            if !self.uses.is_pending_fixed(&event.op, &touches) {
                summary.add_operation(event, pending, &touches, is_timed(thread), &mut self.touches);
            }
        }
        summary
    }
}

/// Whether the operation begins a wait that may time out.
pub(crate) fn begins_timed_wait(op: &Op) -> bool {
    match op {
        Op::Cond(op) => matches!(op.action, CondAction::Wait { timed: true, .. }),
        Op::Futex(op) => matches!(op.action, FutexAction::Wait { timed: true, .. }),
        _ => false,
    }
}
