//! From which state on a race is excluded: one sweep backwards through an execution.

use std::rc::Rc;

use raddle_model::facts::places::{LockSet, VIRTUAL, Where};
use raddle_model::facts::suffix::{Flow, MayOp, Suffix};
use raddle_model::facts::{Act, Hold, NodeId};
use raddle_model::finding::Prune;
use raddle_model::object::{BarrierAction, CondAction, MutexAction, RwlockAction, ThreadOp};
use raddle_model::{AccessKind, Event, Execution, Op, Operation as _};
use raddle_vocab::MappingChange;
use rustc_hash::FxHashSet;

use super::Sites;
use super::records::{Future, HomeKey, Made, Meeting, Past, Record};
use super::threads::{Key, Threads};
use super::trace::Trace;

/// An operation that may come in the part that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Hypothesis {
    /// One that the facts know of.
    May(MayOp),
    /// As this transition of the execution.
    Like(usize),
}

/// What the sweep found.
#[derive(Debug)]
pub(super) struct Swept {
    /// The least state from which on no race is possible; one more than there are states if there
    /// is none.
    pub from: usize,
    /// Operations that may come from there on, by thread.
    pub ops: Vec<(Key, Hypothesis)>,
    pub threads: Threads,
}

pub(super) struct Sweep<'a> {
    flow: &'a mut Flow,
    sites: &'a dyn Sites,
    trace: &'a Trace,
    threads: Threads,
    future: Future,
    past: Past,
    /// Locks of each thread after each of its transitions, with virtual ones of nodes.
    held: Vec<LockSet>,
    /// For each transition, the last one of the thread (or itself) whose place the facts know.
    position: Vec<usize>,
    ops: Vec<(Key, Hypothesis)>,
    met_ops: FxHashSet<(Key, Hypothesis)>,
    /// Suffixes that are in already.
    met: FxHashSet<(Key, *const Suffix)>,
    kept: Vec<Rc<Suffix>>,
    /// The greatest state in which an access of the past clashes with one to come.
    bad: Option<usize>,
    unknown: bool,
    clashes: bool,
    /// Records that conflict with another, and those of them that no lock keeps apart from it.
    conflicts: u64,
    races: u64,
}

impl<'a> Sweep<'a> {
    pub fn new(flow: &'a mut Flow, sites: &'a dyn Sites, trace: &'a Trace, filter: bool) -> Self {
        let threads = Threads::of(trace, flow, sites);
        Sweep {
            flow,
            sites,
            trace,
            threads,
            future: Future::new(filter),
            past: Past::default(),
            held: Vec::new(),
            position: Vec::new(),
            ops: Vec::new(),
            met_ops: FxHashSet::default(),
            met: FxHashSet::default(),
            kept: Vec::new(),
            bad: None,
            unknown: false,
            clashes: false,
            conflicts: 0,
            races: 0,
        }
    }

    /// Sweeps.
    pub fn run(mut self, execution: &Execution, figures: &mut Prune) -> Swept {
        self.follow_locks();
        self.collect_past(execution);
        let end = self.trace.len();
        for thread in 0..self.trace.threads() as u16 {
            self.rest_of(thread);
        }
        let (mut from, mut ops) = (end + 1, 0);
        let mut made = self.past.list.len();
        for state in (0..=end).rev() {
            if state < end {
                while made > 0 && self.past.list[made - 1].at >= state {
                    made -= 1;
                    self.executed_access(made);
                }
                self.transition(state);
            }
            figures.checks += 1;
            if self.unknown || self.clashes || self.bad.is_some_and(|bad| bad >= state) {
                break;
            }
            figures.race_free += 1;
            (from, ops) = (state, self.ops.len());
        }
        figures.conflicts += self.conflicts;
        figures.races += self.races;
        self.ops.truncate(ops);
        Swept { from, ops: self.ops, threads: self.threads }
    }

    /// Whether one of the nodes at the event's place operates on something that depends on other
    /// threads.
    fn operand_is_tainted(&self, pc: u64) -> bool {
        let nodes = self.sites.site(pc).map_or(&[][..], |site| self.flow.nodes_at(site));
        nodes.iter().any(|&node| self.flow.facts().nodes[node as usize].tainted)
    }

    fn create_nodes(&mut self, thread: u16) -> Vec<NodeId> {
        let Some(entry) = self.threads.entries[usize::from(thread)] else { return Vec::new() };
        let start = self.flow.facts().functions[entry as usize].entry;
        self.flow.suffix(&[start], false, Some(entry), &LockSet::default()).creates.clone()
    }

    /// Locks that each thread holds after each transition.
    fn follow_locks(&mut self) {
        let threads = self.trace.threads();
        let mut held = vec![LockSet::default(); threads];
        let mut known = vec![0; threads];
        for thread in 0..threads as u16 {
            for node in self.create_nodes(thread) {
                held[usize::from(thread)] = held[usize::from(thread)].with(node_lock(node), Hold::Exclusive);
            }
            for child in 1..threads {
                let birth = self.trace.birth[child].map(|birth| self.trace.events[birth].event.thread);
                if birth == Some(thread) {
                    let lock = Threads::lock(self.threads.keys[child]);
                    held[usize::from(thread)] = held[usize::from(thread)].with(lock, Hold::Exclusive);
                }
            }
        }
        for at in 0..self.trace.len() {
            let event = self.trace.events[at].event;
            let thread = usize::from(event.thread);
            held[thread] = self.after(&held[thread], &event);
            self.held.push(held[thread].clone());
            if is_start(&event) || self.knows(&event) {
                known[thread] = at;
            } else if !is_harmless(&event.op) {
                known[thread] = usize::MAX;
            }
            self.position.push(known[thread]);
        }
    }

    fn knows(&self, event: &Event) -> bool {
        self.sites.site(event.pc).is_some_and(|site| !self.flow.nodes_at(site).is_empty())
    }

    fn after(&self, held: &LockSet, event: &Event) -> LockSet {
        let take = |lock, hold| {
            if self.operand_is_tainted(event.pc) { held.clone() } else { held.with(lock, hold) }
        };
        match event.op {
            Op::Mutex(op) if op.is_done() => match op.action {
                MutexAction::Lock(_) => take(op.mutex, Hold::Exclusive),
                MutexAction::Unlock => held.without(|lock| lock == op.mutex),
                MutexAction::Init | MutexAction::Destroy => held.clone(),
            },
            Op::Rwlock(op) => match op.action {
                RwlockAction::Read(_) if op.acquires() => take(op.rwlock, Hold::Shared),
                RwlockAction::Write(_) if op.acquires() => take(op.rwlock, Hold::Exclusive),
                RwlockAction::Unlock { .. } => held.without(|lock| lock == op.rwlock),
                _ => held.clone(),
            },
            Op::Cond(op) => match op.action {
                CondAction::Reacquire { mutex, .. } => take(mutex, Hold::Exclusive),
                CondAction::Wait { mutex, .. } => held.without(|lock| lock == mutex),
                _ => held.clone(),
            },
            Op::Thread(op) => self.after_thread_op(held, op),
            _ => held.clone(),
        }
    }

    fn after_thread_op(&self, held: &LockSet, op: ThreadOp) -> LockSet {
        match op {
            ThreadOp::Create { child, failed: false, .. } => {
                let child = usize::from(child);
                let own = self.threads.keys.get(child).map(|&key| Threads::lock(key));
                let nodes = self.threads.nodes.get(child).map_or(&[][..], Vec::as_slice);
                let created = |lock| nodes.is_empty() || nodes.iter().any(|&node| node_lock(node) == lock);
                held.without(|lock| Some(lock) == own || lock & VIRTUAL != 0 && created(lock))
            }
            ThreadOp::Join { thread, refused: false } => match self.threads.keys.get(usize::from(thread)) {
                Some(&key) => held.with(Threads::lock(key), Hold::Exclusive),
                None => held.clone(),
            },
            _ => held.clone(),
        }
    }

    /// Everything that was accessed, in order.
    fn collect_past(&mut self, execution: &Execution) {
        let end = self.trace.len();
        let blocks = blocks(execution, end, self.sites);
        let mut accesses = execution.accesses.iter().enumerate().peekable();
        for at in 0..end {
            let event = self.trace.events[at].event;
            if let Some(op) = event.op.as_atomic() {
                let home = blocks.home(op.addr, self.sites);
                self.note(at, (op.addr, u64::from(op.size)), event.pc, home, (!op.is_load(), true));
            } else if uses_memory(&event.op) {
                let home = blocks.home(event.op.object(), self.sites);
                self.note(at, (event.op.object(), 1), event.pc, home, (false, true));
            }
            while let Some((_, access)) = accesses.next_if(|(_, access)| access.after as usize <= at + 1) {
                let write = !matches!(access.kind, AccessKind::Read | AccessKind::Alloc);
                let Some(own) = self.last_event(access.thread, access.after as usize) else {
                    self.unknown = true;
                    continue;
                };
                if access.kind != AccessKind::Alloc {
                    let home = blocks.home(access.addr, self.sites);
                    // The end of a thread is at no place of the program, and its bytes depend on no
                    // other thread.
                    let is_end = access.kind == AccessKind::Mapping(MappingChange::ThreadEnd);
                    self.note(own, (access.addr, access.size), access.pc, home, (write, is_end));
                }
            }
        }
        self.past.list.sort_by_key(|made| made.at);
        self.past = std::mem::take(&mut self.past.list).into_iter().fold(Past::default(), |mut past, made| {
            past.add(made);
            past
        });
    }

    fn last_event(&self, thread: u16, before: usize) -> Option<usize> {
        let own = &self.trace.positions_of[usize::from(thread)];
        own[..own.partition_point(|&position| position < before)].last().copied()
    }

    fn note(&mut self, at: usize, (address, size): (u64, u64), pc: u64, home: HomeKey, (write, atomic): (bool, bool)) {
        let entry = &self.trace.events[at];
        let (thread, count) = (entry.event.thread, entry.count);
        let key = self.threads.keys[usize::from(thread)];
        let held = Rc::new(self.threads.absolute(key, &self.held[at], self.flow));
        let place = Where::Bytes { from: address, to: address.saturating_add(size.max(1)) };
        let record = Record { key, at: place, home, write, atomic, held };
        self.past.list.push(Made { record, thread, at, count, pc });
    }

    /// An access that was made becomes a future access of the states before it. If its place
    /// depends on other threads, it counts as an access to all places that it might have gone to.
    fn executed_access(&mut self, number: usize) {
        let made = self.past.list[number].clone();
        self.add(&made.record, made.at);
        if made.record.atomic {
            return;
        }
        let nodes = self.sites.site(made.pc).map_or(&[][..], |site| self.flow.nodes_at(site));
        self.unknown |= nodes.is_empty();
        let nodes: Vec<NodeId> =
            nodes.iter().copied().filter(|&node| self.flow.facts().nodes[node as usize].tainted).collect();
        for node in nodes {
            let act = self.flow.facts().nodes[node as usize].act.clone();
            self.data_dependent(&act, made.at);
        }
    }

    /// A record that is part of the future in all states up to `state`.
    fn add(&mut self, record: &Record, state: usize) {
        let Some(mut meeting) = self.future.add(record, self.flow.facts(), &self.threads) else { return };
        self.clashes |= meeting.race;
        let thread = self.threads.real(record.key);
        let mut bad = self.bad;
        self.past.near(record, |made| {
            let mut with_past = Meeting::default();
            if made.at < state {
                with_past.meet(self.flow.facts(), &self.threads, &made.record, record);
            }
            if !with_past.conflict {
                return;
            }
            let ordered = self.trace.first_synced(thread, made.thread, made.count + 2);
            let last = state.min(ordered.saturating_sub(1));
            if last > made.at {
                meeting.conflict = true;
                meeting.race |= with_past.race;
                bad = if with_past.race { bad.max(Some(last)) } else { bad };
            }
        });
        self.bad = bad;
        self.conflicts += u64::from(meeting.conflict);
        self.races += u64::from(meeting.race);
    }

    fn hypothesise(&mut self, key: Key, op: Hypothesis) {
        if self.met_ops.insert((key, op)) {
            self.ops.push((key, op));
        }
    }

    /// All that a suffix of the thread with this name holds, up to state `state`.
    fn add_suffix(&mut self, key: Key, suffix: Rc<Suffix>, state: usize) {
        if !self.met.insert((key, Rc::as_ptr(&suffix))) {
            return;
        }
        self.kept.push(Rc::clone(&suffix));
        self.unknown |= suffix.unknown || self.threads.is_too_deep(key);
        if self.unknown {
            return;
        }
        let mut last: Option<(Rc<LockSet>, Rc<LockSet>)> = None;
        for record in &suffix.records {
            let held = match &last {
                Some((relative, absolute)) if Rc::ptr_eq(relative, &record.held) => Rc::clone(absolute),
                _ => Rc::new(self.threads.absolute(key, &record.held, self.flow)),
            };
            last = Some((Rc::clone(&record.held), Rc::clone(&held)));
            let (at, write, atomic) = (record.at, record.write, record.atomic);
            self.add(&Record { key, at, home: HomeKey::Global, write, atomic, held }, state);
        }
        suffix.ops.iter().for_each(|&op| self.hypothesise(key, Hypothesis::May(op)));
        for &node in &suffix.creates {
            let child = self.threads.child(key, node, self.flow);
            let Act::Create { bodies, .. } = self.flow.facts().nodes[node as usize].act.clone() else { continue };
            for body in bodies {
                self.whole_body(child, body, state);
            }
        }
    }

    /// A thread that might be created.
    fn whole_body(&mut self, key: Key, body: u32, state: usize) {
        let start = self.flow.facts().functions[body as usize].entry;
        let creates = self.flow.suffix(&[start], false, Some(body), &LockSet::default()).creates.clone();
        let held =
            creates.into_iter().fold(LockSet::default(), |held, node| held.with(node_lock(node), Hold::Exclusive));
        let suffix = self.flow.suffix(&[start], false, Some(body), &held);
        self.add_suffix(key, suffix, state);
    }

    /// What a thread that has not come to its end has still to do.
    fn rest_of(&mut self, thread: u16) {
        let end = self.trace.len();
        let Some(event) = self.trace.pending[usize::from(thread)] else { return };
        let key = self.threads.keys[usize::from(thread)];
        if matches!(event.op, Op::Thread(ThreadOp::End) | Op::Exit(_)) {
            return;
        }
        if is_start(&event) {
            let bodies = self.threads.bodies[usize::from(thread)].clone();
            self.unknown |= bodies.is_empty();
            for body in bodies {
                self.whole_body(key, body, end);
            }
            return;
        }
        let last = self.last_event(thread, end);
        let held = last.map_or_else(LockSet::default, |last| self.held[last].clone());
        let entry = self.threads.entries[usize::from(thread)];
        if self.knows(&event) {
            let nodes = self.sites.site(event.pc).map(|site| self.flow.nodes_at(site).to_vec()).unwrap_or_default();
            let suffix = self.flow.suffix(&nodes, false, entry, &held);
            self.add_suffix(key, suffix, end);
        } else if let Some(last) = last {
            self.alternatives(last, end);
        } else {
            self.unknown = true;
        }
    }

    /// What a transition adds: itself, and what it might have led to instead.
    fn transition(&mut self, at: usize) {
        let event = self.trace.events[at].event;
        let key = self.threads.keys[usize::from(event.thread)];
        self.hypothesise(key, Hypothesis::Like(at));
        if let Some(site) = self.sites.site(event.pc) {
            for node in self.flow.nodes_at(site).to_vec() {
                let node = &self.flow.facts().nodes[node as usize];
                if node.tainted {
                    let (act, mut ops) = (node.act.clone(), Vec::new());
                    self.flow.operations(&act, &mut ops);
                    ops.into_iter().for_each(|op| self.hypothesise(key, Hypothesis::May(op)));
                    self.data_dependent(&act, at);
                }
            }
        }
        if self.branches(at) {
            self.alternatives(at, at);
        }
    }

    fn data_dependent(&mut self, act: &Act, at: usize) {
        let Act::Access { at: spans, write, atomic } = act else { return };
        let key = self.threads.keys[usize::from(self.trace.events[at].event.thread)];
        let held = Rc::new(self.threads.absolute(key, &self.held[at], self.flow));
        for place in self.flow.locate(spans).collect::<Vec<_>>() {
            let held = Rc::clone(&held);
            self.add(&Record { key, at: place, home: HomeKey::Global, write: *write, atomic: *atomic, held }, at);
        }
    }

    /// Whether a branch that depends on other threads may come after the transition and before the
    /// thread's next one.
    fn branches(&mut self, at: usize) -> bool {
        let position = self.position[at];
        if position == usize::MAX {
            self.unknown = true;
            return false;
        }
        let event = self.trace.events[position].event;
        let thread = usize::from(event.thread);
        if is_start(&event) || (position == 0 && !self.knows(&event)) {
            let bodies = self.threads.bodies[thread].clone();
            self.unknown |= bodies.is_empty();
            return bodies.into_iter().any(|body| self.flow.branches_at_start(body));
        }
        let is_half = event.op.is_arrival() || matches!(event.op, Op::Cond(_)) && event.op.begins_wait();
        if is_half || matches!(event.op, Op::Thread(ThreadOp::End) | Op::Exit(_)) {
            return false;
        }
        if event.op.is_lock_attempt() {
            return true;
        }
        let entry = self.threads.entries[thread];
        self.sites.site(event.pc).is_none_or(|site| self.flow.branches_after(site, entry))
    }

    /// All that the thread might do from behind the transition on.
    fn alternatives(&mut self, at: usize, state: usize) {
        let position = self.position[at];
        if position == usize::MAX {
            self.unknown = true;
            return;
        }
        let event = self.trace.events[position].event;
        let thread = usize::from(event.thread);
        let key = self.threads.keys[thread];
        if is_start(&event) || (position == 0 && !self.knows(&event)) {
            for body in self.threads.bodies[thread].clone() {
                let start = self.flow.facts().functions[body as usize].entry;
                let suffix = self.flow.suffix(&[start], false, Some(body), &self.held[at].clone());
                self.add_suffix(key, suffix, state);
            }
            return;
        }
        let entry = self.threads.entries[thread];
        let nodes = self.sites.site(event.pc).map(|site| self.flow.nodes_at(site).to_vec()).unwrap_or_default();
        // Whether an attempt succeeds depends on others; the facts say on which branch the lock is
        // held.
        let held = match event.op.is_lock_attempt() {
            true => {
                self.last_event(event.thread, position).map_or_else(LockSet::default, |last| self.held[last].clone())
            }
            false => self.held[at].clone(),
        };
        let suffix = self.flow.suffix(&nodes, true, entry, &held);
        self.add_suffix(key, suffix, state);
    }
}

fn node_lock(node: NodeId) -> u64 {
    VIRTUAL | u64::from(node)
}

fn is_start(event: &Event) -> bool {
    event.op == Op::Thread(ThreadOp::Start)
}

/// Operations that code which the facts do not show may make without any harm.
fn is_harmless(op: &Op) -> bool {
    let is_quiet = matches!(op, Op::Thread(ThreadOp::End | ThreadOp::Detach { .. }));
    is_quiet || matches!(op, Op::Exit(_) | Op::File(_) | Op::Fence(_) | Op::Choice(_))
}

/// Operations on an object whose memory must not go away meanwhile.
fn uses_memory(op: &Op) -> bool {
    match op {
        Op::Thread(_) | Op::Exit(_) | Op::Fence(_) | Op::File(_) | Op::Choice(_) => false,
        Op::Barrier(op) => !matches!(op.action, BarrierAction::Leave { .. }),
        _ => true,
    }
}

/// Heap blocks of an execution.
struct Blocks(Vec<(u64, u64, Option<u64>)>);

fn blocks(execution: &Execution, end: usize, sites: &dyn Sites) -> Blocks {
    let allocs = execution.accesses.iter().filter(|access| access.kind == AccessKind::Alloc);
    let allocs = allocs.filter(|access| access.after as usize <= end);
    let mut list: Vec<_> =
        allocs.map(|access| (access.addr, access.addr.saturating_add(access.size), sites.site(access.pc))).collect();
    list.sort_unstable();
    // Memory that was allocated twice by different calls is attributed to no call.
    list.dedup_by(|next, first| {
        let again = next.0 < first.1;
        if again && next.2 != first.2 {
            first.2 = None;
        }
        first.1 = if again { first.1.max(next.1) } else { first.1 };
        again
    });
    Blocks(list)
}

impl Blocks {
    fn home(&self, address: u64, sites: &dyn Sites) -> HomeKey {
        if sites.is_global(address) {
            return HomeKey::Global;
        }
        match self.0[..self.0.partition_point(|&(from, ..)| from <= address)].last() {
            Some(&(from, to, site)) if address < to => HomeKey::Block(site, from),
            _ => HomeKey::Other,
        }
    }
}
