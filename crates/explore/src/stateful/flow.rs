//! How happens-before flows through one transition.
//!
//! Clocks are symbolic: a transition assigns to some of them the join of others. So the clock of an
//! access below a state is an expression over the clocks of that state.

use std::rc::Rc;

use raddle_model::object::{AtomicOp, Carrier, OrderSink};
use raddle_model::race::Touching;
use raddle_model::{Access, AccessKind, Event, Operation as _};
use raddle_vocab::{MappingChange, MemOrder};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Something that has a vector clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum ClockVar {
    /// A thread.
    Thread(u16),
    /// What a thread's last release fence published.
    Released(u16),
    /// What a thread's next acquire fence will take.
    ToAcquire(u16),
    /// What was released through something at an address.
    Carried(u64, Carrier),
}

/// A set of clocks, sorted; their join.
pub(crate) type Sources = Rc<[ClockVar]>;

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Range {
    pub addr: u64,
    pub size: u64,
}

impl Range {
    pub fn end(self) -> u64 {
        self.addr.saturating_add(self.size)
    }

    pub fn overlaps(self, other: Range) -> bool {
        self.addr < other.end() && other.addr < self.end()
    }

    pub fn contains(self, addr: u64) -> bool {
        self.addr <= addr && addr < self.end()
    }

    pub fn covers(self, other: Range) -> bool {
        self.addr <= other.addr && other.end() <= self.end()
    }
}

/// An access that may race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct SharedAccess {
    pub thread: u16,
    pub range: Range,
    pub what: Touching,
}

/// An access of a transition.
#[derive(Clone, Debug)]
pub(crate) struct FlowAccess {
    pub access: SharedAccess,
    /// Made by the operation itself, so that what it releases covers the access.
    pub is_early: bool,
    /// To a block that came to life in this transition, before the access.
    pub is_new: bool,
    /// The block was reallocated later in this transition.
    pub is_gone: bool,
    /// The clocks before the transition whose join happens before the access.
    pub sources: Sources,
}

/// What one transition does to clocks, and the accesses that belong to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// Clocks that change, each with the old clocks whose join it becomes.
    pub assigned: Vec<(ClockVar, Sources)>,
    /// Bytes that are written plainly behind the operation: what they carried is gone.
    pub cleared: Vec<Range>,
    /// Blocks that come to life: accesses before it concern something else.
    pub erased: Vec<Range>,
    pub accesses: Vec<FlowAccess>,
}

impl Flow {
    /// The clocks before the transition that make up one behind it.
    pub fn before(&self, var: ClockVar, into: &mut Vec<ClockVar>) {
        if let ClockVar::Carried(addr, _) = var
            && self.cleared.iter().any(|range| range.contains(addr))
        {
            return;
        }
        match self.assigned.iter().find(|(assigned, _)| *assigned == var) {
            Some((_, sources)) => into.extend_from_slice(sources),
            None => into.push(var),
        }
    }

    /// Whether the clock behind the transition is the one before it.
    pub fn keeps(&self, var: ClockVar) -> bool {
        !self.assigned.iter().any(|(assigned, _)| *assigned == var)
            && !matches!(var, ClockVar::Carried(addr, _) if self.cleared.iter().any(|range| range.contains(addr)))
    }

    /// Whether accesses in the range are the first to what lies there now.
    pub fn erases(&self, range: Range) -> bool {
        self.erased.iter().any(|erased| erased.covers(range))
    }
}

/// State that release sequences carry from event to event: the thread that heads those of each
/// atomic location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heads {
    heads: FxHashMap<u64, Option<u16>>,
    fenced: FxHashSet<u16>,
}

impl Heads {
    /// The thread that began all release sequences at the address, and which threads have made a
    /// release fence, as a number.
    pub fn digest(&self, addrs: &[u64]) -> u64 {
        use raddle_vocab::policy::mix;
        if addrs.is_empty() {
            return 0;
        }
        let head =
            |addr: &u64| self.heads.get(addr).map_or(0, |head| 1 + head.map_or(0, |thread| 1 + u64::from(thread)));
        let heads = addrs.iter().map(|addr| mix(addr ^ mix(head(addr))));
        let fenced = self.fenced.iter().map(|&thread| mix(mix(!u64::from(thread))));
        heads.chain(fenced).fold(0, u64::wrapping_add)
    }

    /// The thread adds to what the location carries.
    fn release(&mut self, thread: u16, addr: u64) {
        let head = self.heads.entry(addr).or_insert(Some(thread));
        *head = head.filter(|&head| head == thread);
    }

    /// The thread stores to the location; whether what it carried stays.
    fn store(&mut self, thread: u16, addr: u64, continues: bool) -> bool {
        match self.heads.get_mut(&addr) {
            Some(head) => head.replace(thread) == Some(thread) && continues,
            None => true,
        }
    }
}

/// Derives the flow of one transition.
pub(crate) struct FlowBuilder<'a> {
    thread: u16,
    heads: &'a mut Heads,
    /// Relaxed stores whose effect depends on [`Heads`].
    pub relaxed_stores: Vec<u64>,
    current: Vec<ClockVar>,
    assigned: Vec<(ClockVar, Vec<ClockVar>)>,
    flow: Flow,
}

impl<'a> FlowBuilder<'a> {
    /// The flow of an event and of the accesses that its thread makes before its next one.
    pub fn build(event: &Event, segment: &[Access], heads: &'a mut Heads) -> (Flow, Vec<u64>) {
        let mut builder = FlowBuilder {
            thread: event.thread,
            heads,
            relaxed_stores: Vec::new(),
            current: vec![ClockVar::Thread(event.thread)],
            assigned: Vec::new(),
            flow: Flow::default(),
        };
        event.op.order(&mut builder);
        builder.segment(segment);
        let relaxed_stores = std::mem::take(&mut builder.relaxed_stores);
        (builder.finish(), relaxed_stores)
    }

    fn segment(&mut self, segment: &[Access]) {
        let sources: Sources = sorted(self.current.clone()).into();
        let first = self.flow.accesses.len();
        for access in segment {
            let range = Range { addr: access.addr, size: access.size };
            let what = match access.kind {
                AccessKind::Read => Touching::Read,
                AccessKind::Write => Touching::Write,
                AccessKind::Free => Touching::Free,
                AccessKind::Alloc | AccessKind::Mapping(MappingChange::Fresh) => {
                    self.flow.erased.push(range);
                    self.flow.cleared.push(range);
                    let earlier = self.flow.accesses[first..].iter_mut();
                    earlier.filter(|access| range.covers(access.access.range)).for_each(|access| access.is_gone = true);
                    continue;
                }
                AccessKind::Mapping(change) => Touching::Mapping(change),
            };
            if what == Touching::Write {
                self.flow.cleared.push(range);
            }
            let access = SharedAccess { thread: self.thread, range, what };
            let is_known = |other: &FlowAccess| other.access == access && !other.is_gone;
            if !self.flow.accesses[first..].iter().any(is_known) {
                let is_new = self.flow.erases(range);
                let sources = Rc::clone(&sources);
                self.flow.accesses.push(FlowAccess { access, is_early: false, is_new, is_gone: false, sources });
            }
        }
    }

    fn finish(mut self) -> Flow {
        let own = ClockVar::Thread(self.thread);
        if self.current != [own] {
            self.assigned.push((own, std::mem::take(&mut self.current)));
        }
        let assigned = self.assigned.into_iter().map(|(var, sources)| (var, sorted(sources).into()));
        self.flow.assigned = assigned.collect();
        self.flow
    }

    fn value(&self, var: ClockVar) -> Vec<ClockVar> {
        let assigned = self.assigned.iter().find(|(assigned, _)| *assigned == var);
        assigned.map_or_else(|| vec![var], |(_, sources)| sources.clone())
    }

    fn assign(&mut self, var: ClockVar, sources: Vec<ClockVar>) {
        match self.assigned.iter_mut().find(|(assigned, _)| *assigned == var) {
            Some((_, old)) => *old = sources,
            None => self.assigned.push((var, sources)),
        }
    }

    fn take(&mut self, var: ClockVar) {
        let taken = self.value(var);
        self.current.extend(taken);
    }

    /// Adds the thread's clock to another one.
    fn give(&mut self, var: ClockVar) {
        let mut sources = self.value(var);
        sources.extend_from_slice(&self.current);
        self.assign(var, sources);
    }

    fn touch(&mut self, addr: u64, size: u64, what: Touching) {
        let access = SharedAccess { thread: self.thread, range: Range { addr, size }, what };
        let sources = sorted(self.current.clone()).into();
        self.flow.accesses.push(FlowAccess { access, is_early: true, is_new: false, is_gone: false, sources });
        if what == Touching::Write {
            self.flow.cleared.push(access.range);
        }
    }
}

fn sorted(mut vars: Vec<ClockVar>) -> Vec<ClockVar> {
    vars.sort_unstable();
    vars.dedup();
    vars
}

impl OrderSink for FlowBuilder<'_> {
    fn fork(&mut self, child: u16) {
        self.give(ClockVar::Thread(child));
    }

    fn join(&mut self, thread: u16) {
        self.take(ClockVar::Thread(thread));
    }

    fn observe_end(&mut self, thread: u16) {
        self.join(thread);
    }

    fn acquire(&mut self, addr: u64, carrier: Carrier) {
        self.take(ClockVar::Carried(addr, carrier));
    }

    fn release(&mut self, addr: u64, carrier: Carrier) {
        self.give(ClockVar::Carried(addr, carrier));
    }

    fn release_apart(&mut self, addr: u64, carrier: Carrier) {
        self.give(ClockVar::Carried(addr, carrier));
    }

    fn uses(&mut self, addr: u64, size: u64) {
        self.touch(addr, size, Touching::Use);
    }

    fn initialise(&mut self, addr: u64, size: u64) {
        self.flow.cleared.push(Range { addr, size: 1 });
        self.destroy(addr, size);
    }

    fn destroy(&mut self, addr: u64, size: u64) {
        self.touch(addr, size, Touching::Make);
    }

    fn fence(&mut self, order: MemOrder) {
        if order.acquires() {
            self.take(ClockVar::ToAcquire(self.thread));
        }
        if order.releases() {
            self.give(ClockVar::Released(self.thread));
            self.heads.fenced.insert(self.thread);
        }
    }

    fn atomic(&mut self, op: &AtomicOp) {
        let (location, reads, writes) = (ClockVar::Carried(op.addr, Carrier::Atomic), op.reads(), op.writes());
        if reads && op.order.acquires() {
            self.take(location);
        } else if reads {
            let later = ClockVar::ToAcquire(self.thread);
            let sources = [self.value(later), self.value(location)].concat();
            self.assign(later, sources);
        }
        let what = if writes { Touching::AtomicWrite } else { Touching::AtomicRead };
        self.touch(op.addr, u64::from(op.size), what);
        if !writes {
            return;
        }
        let releases = op.order.releases();
        if !reads {
            if op.continues && !releases {
                self.relaxed_stores.push(op.addr);
            }
            if !self.heads.store(self.thread, op.addr, op.continues) {
                self.assign(location, Vec::new());
            }
        }
        if releases {
            self.heads.release(self.thread, op.addr);
            self.give(location);
        } else if self.heads.fenced.contains(&self.thread) {
            self.heads.release(self.thread, op.addr);
            let sources = [self.value(location), self.value(ClockVar::Released(self.thread))].concat();
            self.assign(location, sources);
        }
    }

    fn access(&mut self, addr: u64, size: u64, what: Touching) {
        self.touch(addr, size, what);
    }

    fn free(&mut self, addr: u64, size: u64) {
        self.touch(addr, size, Touching::Free);
    }
}
