//! What a thread may still do.
//!
//! A thread is at a node of some function. Which calls it has still to return from is not known. So
//! at the end of the function it may go on behind every call of that function, in code that the
//! thread can reach. Inside functions that it calls from then on, calls and returns match: the
//! effect of a function on the locks is summarised as `L -> (L \ rel) + acq`.
//!
//! Virtual locks express the order that thread creation and joining give. The creator holds the
//! lock of a `Create` node exclusively until it creates the thread there, and again after joining
//! it. The created thread holds the lock all its life. A virtual lock is named [`VIRTUAL`] plus the
//! node; the user of a suffix knows which thread's node it is.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::places::{Ground, LockId, LockSet, VIRTUAL, Where};
use super::{Act, Facts, FunctionId, Hold, NodeId, Site, Spans};

/// A data access that may come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MayAccess {
    /// Where to.
    pub at: Where,
    /// Whether it changes it.
    pub write: bool,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Locks surely held.
    pub held: Rc<LockSet>,
}

/// A synchronising operation that may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MayOp {
    /// Acquires this mutex, and waits for it if need be.
    Lock(LockId),
    /// Gives a lock back, which only an attempt that fails notices.
    Release(Where),
    /// Anything else with this object.
    Touch(Where),
}

/// What may come.
#[derive(Clone, Debug, Default)]
pub struct Suffix {
    /// Accesses.
    pub records: Vec<MayAccess>,
    /// Synchronising operations.
    pub ops: Vec<MayOp>,
    /// Threads that may be created.
    pub creates: Vec<NodeId>,
    /// Whether anything else may come, too.
    pub unknown: bool,
}

/// `L -> (L \ rel) + acq`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Transformer {
    /// All locks, if `None`.
    released: Option<LockSet>,
    acquired: LockSet,
}

impl Transformer {
    fn identity() -> Self {
        Transformer { released: Some(LockSet::default()), acquired: LockSet::default() }
    }

    fn apply(&self, held: &LockSet) -> LockSet {
        let kept = match &self.released {
            Some(released) => held.without(|lock| released.get(lock).is_some()),
            None => LockSet::default(),
        };
        self.acquired.0.iter().fold(kept, |held, &(lock, hold)| held.with(lock, hold))
    }

    /// Then something else.
    fn then(&self, next: &Transformer) -> Self {
        let released = match (&self.released, &next.released) {
            (Some(a), Some(b)) => Some(b.0.iter().fold(a.clone(), |all, &(lock, hold)| all.with(lock, hold))),
            _ => None,
        };
        Transformer { released, acquired: next.apply(&self.acquired) }
    }

    /// One of the two.
    fn or(&self, other: &Transformer) -> Self {
        let released = match (&self.released, &other.released) {
            (Some(a), Some(b)) => Some(b.0.iter().fold(a.clone(), |all, &(lock, hold)| all.with(lock, hold))),
            _ => None,
        };
        Transformer { released, acquired: self.acquired.meet(&other.acquired) }
    }
}

/// Where to start, which code the thread can run, what it holds.
type Question = (Vec<NodeId>, bool, Option<FunctionId>, LockSet);

/// Answers questions about one program.
#[derive(Debug)]
pub struct Flow {
    facts: Facts,
    ground: Ground,
    /// Effect of each function on the locks; `None` if it never returns.
    effects: Vec<Option<Transformer>>,
    /// Whether a function can return without any event.
    silent: Vec<bool>,
    /// Calls of each function.
    callers: Vec<Vec<NodeId>>,
    by_site: FxHashMap<Site, Vec<NodeId>>,
    reach: BTreeMap<FunctionId, Rc<Vec<bool>>>,
    suffixes: FxHashMap<Question, Rc<Suffix>>,
    open: FxHashMap<(Site, Option<FunctionId>), bool>,
}

impl Flow {
    /// Prepares for questions.
    #[must_use]
    pub fn new(facts: Facts, ground: Ground) -> Self {
        let mut callers = vec![Vec::new(); facts.functions.len()];
        let mut by_site: FxHashMap<Site, Vec<NodeId>> = FxHashMap::default();
        for (number, node) in facts.nodes.iter().enumerate() {
            if let Act::Call { targets } = &node.act {
                targets.iter().for_each(|&target| callers[target as usize].push(number as NodeId));
            }
            if node.site != 0 {
                by_site.entry(node.site).or_default().push(number as NodeId);
            }
        }
        let functions = facts.functions.len();
        let mut flow = Flow {
            facts,
            ground,
            effects: vec![None; functions],
            silent: vec![false; functions],
            callers,
            by_site,
            reach: BTreeMap::new(),
            suffixes: FxHashMap::default(),
            open: FxHashMap::default(),
        };
        flow.summarise();
        flow
    }

    /// The facts.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The nodes that events at a site may belong to.
    #[must_use]
    pub fn nodes_at(&self, site: Site) -> &[NodeId] {
        self.by_site.get(&site).map_or(&[], Vec::as_slice)
    }

    /// Where the spans lie.
    pub fn locate(&self, spans: &Spans) -> impl Iterator<Item = Where> {
        let any = spans.any.then_some(Where::Any);
        spans.list.iter().map(|&span| self.ground.locate(&self.facts, span)).chain(any)
    }

    /// The lock, if there is only one that it can be.
    fn only(&self, spans: &Spans) -> Option<LockId> {
        match (spans.list.as_slice(), spans.any) {
            (&[span], false) => match self.ground.locate(&self.facts, span) {
                Where::Bytes { from, .. } if span.to.wrapping_sub(span.from) <= 1 => Some(from),
                _ => None,
            },
            _ => None,
        }
    }

    /// What one node does to the locks, calls aside.
    fn effect(&self, node: NodeId) -> Transformer {
        let mut effect = Transformer::identity();
        match &self.facts.nodes[node as usize].act {
            Act::Acquire { lock, hold, may_fail: false } | Act::Holds { lock, hold } => {
                if let Some(lock) = self.only(lock) {
                    effect.acquired = LockSet(vec![(lock, *hold)]);
                }
            }
            Act::Wait { mutex, .. } => {
                if let Some(lock) = self.only(mutex) {
                    effect.acquired = LockSet(vec![(lock, Hold::Exclusive)]);
                }
            }
            Act::Release { lock } => effect.released = self.released(lock),
            Act::Create { .. } => effect.released = Some(LockSet(vec![(VIRTUAL | u64::from(node), Hold::Exclusive)])),
            Act::Join { created_at: Some(create) } => {
                effect.acquired = LockSet(vec![(VIRTUAL | u64::from(*create), Hold::Exclusive)]);
            }
            Act::Anything { .. } => effect.released = None,
            _ => {}
        }
        effect
    }

    /// The locks that giving one of these back may release; `None`: any.
    fn released(&self, spans: &Spans) -> Option<LockSet> {
        let mut locks = LockSet::default();
        for place in self.locate(spans) {
            match place {
                Where::Bytes { from, to } if to.saturating_sub(from) <= 1 => {
                    locks = locks.with(from, Hold::Exclusive);
                }
                _ => return None,
            }
        }
        Some(locks)
    }

    /// Effects of functions and whether they can be silent, as fixpoints.
    fn summarise(&mut self) {
        loop {
            let mut changed = false;
            for function in 0..self.facts.functions.len() {
                let (effect, silent) = self.pass_through(function as FunctionId);
                changed |= self.effects[function] != effect || self.silent[function] != silent;
                self.effects[function] = effect;
                self.silent[function] = silent;
            }
            if !changed {
                return;
            }
        }
    }

    /// From a function's entry to its ends.
    fn pass_through(&self, function: FunctionId) -> (Option<Transformer>, bool) {
        let entry = self.facts.functions[function as usize].entry;
        let mut before: BTreeMap<NodeId, (Transformer, bool)> = BTreeMap::new();
        before.insert(entry, (Transformer::identity(), true));
        let mut work = vec![entry];
        let mut end: Option<(Transformer, bool)> = None;
        while let Some(node) = work.pop() {
            let (transformer, silent) = before[&node].clone();
            let Some((effect, quiet)) = self.through(node) else { continue };
            let after = (transformer.then(&effect), silent && quiet);
            let next = &self.facts.nodes[node as usize].next;
            if next.is_empty() {
                end = Some(merge(end.as_ref(), &after));
            }
            for &to in next {
                let merged = merge(before.get(&to), &after);
                if before.get(&to) != Some(&merged) {
                    before.insert(to, merged);
                    work.push(to);
                }
            }
        }
        match end {
            Some((transformer, silent)) => (Some(transformer), silent),
            None => (None, false),
        }
    }

    /// Effect of a node including what it calls, and whether it can be silent. `None` if nothing
    /// comes after it.
    fn through(&self, node: NodeId) -> Option<(Transformer, bool)> {
        match &self.facts.nodes[node as usize].act {
            Act::End => None,
            Act::Call { targets } => {
                let mut effect: Option<(Transformer, bool)> = None;
                for &target in targets {
                    if let Some(own) = &self.effects[target as usize] {
                        effect = Some(merge(effect.as_ref(), &(own.clone(), self.silent[target as usize])));
                    }
                }
                effect
            }
            act => Some((self.effect(node), !is_event(act) || matches!(act, Act::Join { .. }))),
        }
    }

    /// The functions that a thread which began in `entry` can run.
    fn reachable(&mut self, entry: FunctionId) -> Rc<Vec<bool>> {
        if let Some(known) = self.reach.get(&entry) {
            return Rc::clone(known);
        }
        let mut calls = vec![Vec::new(); self.facts.functions.len()];
        for node in &self.facts.nodes {
            if let Act::Call { targets } = &node.act {
                calls[node.function as usize].extend(targets.iter().copied());
            }
        }
        let mut reach = vec![false; self.facts.functions.len()];
        let mut work = vec![entry];
        while let Some(function) = work.pop() {
            if !std::mem::replace(&mut reach[function as usize], true) {
                work.extend(&calls[function as usize]);
            }
        }
        let reach = Rc::new(reach);
        self.reach.insert(entry, Rc::clone(&reach));
        reach
    }

    /// Calls of the function in code that the thread can run.
    fn calls_of(&self, function: FunctionId, reach: Option<&Rc<Vec<bool>>>) -> impl Iterator<Item = NodeId> {
        let inside =
            move |&&call: &&NodeId| reach.is_none_or(|reach| reach[self.facts.nodes[call as usize].function as usize]);
        self.callers[function as usize].iter().filter(inside).copied()
    }

    /// Whether a branch that depends on other threads may come between an event at the site and the
    /// next event. True for a site that the facts do not know.
    pub fn branches_after(&mut self, site: Site, entry: Option<FunctionId>) -> bool {
        if let Some(&known) = self.open.get(&(site, entry)) {
            return known;
        }
        let reach = entry.map(|entry| self.reachable(entry));
        let nodes = self.nodes_at(site).to_vec();
        let events = nodes.into_iter().filter(|&node| is_event(&self.facts.nodes[node as usize].act));
        let events: Vec<NodeId> = events.collect();
        let answer = events.is_empty() || self.finds_branch(Vec::new(), &events, reach.as_ref());
        self.open.insert((site, entry), answer);
        answer
    }

    /// The same from a function's beginning.
    pub fn branches_at_start(&mut self, function: FunctionId) -> bool {
        let reach = Some(self.reachable(function));
        let entry = self.facts.functions[function as usize].entry;
        self.finds_branch(vec![(entry, false)], &[], reach.as_ref())
    }

    fn finds_branch(&self, mut work: Vec<(NodeId, bool)>, after: &[NodeId], reach: Option<&Rc<Vec<bool>>>) -> bool {
        let mut seen = vec![[false; 2]; self.facts.nodes.len()];
        for &node in after {
            self.follow(node, false, reach, &mut work);
        }
        while let Some((at, inner)) = work.pop() {
            if std::mem::replace(&mut seen[at as usize][usize::from(inner)], true) {
                continue;
            }
            let node = &self.facts.nodes[at as usize];
            if is_event(&node.act) && !matches!(node.act, Act::Join { .. }) {
                continue;
            }
            if node.tainted || matches!(node.act, Act::Anything { .. }) {
                return true;
            }
            if let Act::Call { targets } = &node.act {
                work.extend(targets.iter().map(|&target| (self.facts.functions[target as usize].entry, true)));
                if !targets.iter().any(|&target| self.silent[target as usize]) {
                    continue;
                }
            }
            self.follow(at, inner, reach, &mut work);
        }
        false
    }

    /// What may come after a node; a function that was entered on the way returns elsewhere.
    fn follow(&self, node: NodeId, inner: bool, reach: Option<&Rc<Vec<bool>>>, work: &mut Vec<(NodeId, bool)>) {
        let mut returns = vec![node];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(node) = returns.pop() {
            let next = &self.facts.nodes[node as usize].next;
            work.extend(next.iter().map(|&next| (next, inner)));
            if next.is_empty() && !inner && !matches!(self.facts.nodes[node as usize].act, Act::End) {
                let function = self.facts.nodes[node as usize].function;
                returns.extend(self.calls_of(function, reach).filter(|&call| seen.insert(call)));
            }
        }
    }

    /// All that a thread which started in `entry` and holds `held` may do from before the nodes on
    /// (or, with `behind`, from behind them).
    pub fn suffix(&mut self, nodes: &[NodeId], behind: bool, entry: Option<FunctionId>, held: &LockSet) -> Rc<Suffix> {
        let question = (nodes.to_vec(), behind, entry, held.clone());
        if let Some(known) = self.suffixes.get(&question) {
            return Rc::clone(known);
        }
        let reach = entry.map(|entry| self.reachable(entry));
        let answer = Rc::new(self.walk(nodes, behind, reach.as_ref(), held));
        self.suffixes.insert(question, Rc::clone(&answer));
        answer
    }

    fn walk(&self, nodes: &[NodeId], behind: bool, reach: Option<&Rc<Vec<bool>>>, held: &LockSet) -> Suffix {
        let mut walk = Walk::default();
        let mut targets = Vec::new();
        for &node in nodes {
            if behind {
                self.follow(node, false, reach, &mut targets);
            } else {
                targets.push((node, false));
            }
        }
        targets.drain(..).for_each(|key| walk.meet(key, held));
        while let Some((node, inner)) = walk.work.pop() {
            let held = walk.before[&(node, inner)].clone();
            if let Act::Call { targets: called } = &self.facts.nodes[node as usize].act {
                for &target in called {
                    walk.meet((self.facts.functions[target as usize].entry, true), &held);
                }
            }
            let Some((effect, _)) = self.through(node) else { continue };
            let after = effect.apply(&held);
            self.follow(node, inner, reach, &mut targets);
            targets.drain(..).for_each(|key| walk.meet(key, &after));
        }
        self.collect(&walk.before)
    }

    /// What happens at the nodes that were reached.
    fn collect(&self, before: &BTreeMap<(NodeId, bool), LockSet>) -> Suffix {
        let mut suffix = Suffix::default();
        let mut shared: BTreeMap<&LockSet, Rc<LockSet>> = BTreeMap::new();
        for (&(node, _), held) in before {
            let mut held = || Rc::clone(shared.entry(held).or_insert_with(|| Rc::new(held.clone())));
            match &self.facts.nodes[node as usize].act {
                Act::Access { at, write, atomic } => self.access(at, *write, *atomic, &held(), &mut suffix),
                Act::Create { .. } => suffix.creates.push(node),
                Act::Anything { .. } => suffix.unknown = true,
                act => self.operation(act, &held(), &mut suffix),
            }
        }
        suffix.records.sort_unstable();
        suffix.records.dedup();
        suffix.ops.sort_unstable();
        suffix.ops.dedup();
        suffix.creates.sort_unstable();
        suffix.creates.dedup();
        suffix
    }

    /// Adds an access.
    fn access(&self, at: &Spans, write: bool, atomic: bool, held: &Rc<LockSet>, suffix: &mut Suffix) {
        for at in self.locate(at) {
            suffix.records.push(MayAccess { at, write, atomic, held: Rc::clone(held) });
            if atomic {
                suffix.ops.push(MayOp::Touch(at));
            }
        }
    }

    /// Adds a synchronising operation. It uses its objects, whose memory must not be freed
    /// meanwhile.
    fn operation(&self, act: &Act, held: &Rc<LockSet>, suffix: &mut Suffix) {
        self.operations(act, &mut suffix.ops);
        let used = operands(act).into_iter().flat_map(|spans| self.locate(spans).collect::<Vec<_>>());
        let record = |at| MayAccess { at, write: false, atomic: true, held: Rc::clone(held) };
        suffix.records.extend(used.map(record));
    }

    /// The synchronising operations that a node may be.
    pub fn operations(&self, act: &Act, ops: &mut Vec<MayOp>) {
        match act {
            Act::Acquire { lock, hold: Hold::Exclusive, may_fail: false } => self.may_lock(lock, ops),
            Act::Acquire { lock, .. } => ops.extend(self.locate(lock).map(MayOp::Touch)),
            Act::Release { lock } => ops.extend(self.locate(lock).map(MayOp::Release)),
            Act::Wait { cond, mutex } => {
                ops.extend(self.locate(cond).map(MayOp::Touch));
                self.may_lock(mutex, ops);
            }
            Act::Sync { at } => ops.extend(self.locate(at).map(MayOp::Touch)),
            _ => {}
        }
    }

    fn may_lock(&self, lock: &Spans, ops: &mut Vec<MayOp>) {
        ops.extend(self.locate(lock).map(|place| match place {
            Where::Bytes { from, to } if to.saturating_sub(from) <= 1 => MayOp::Lock(from),
            place => MayOp::Touch(place),
        }));
    }
}

/// States of a walk: the locks held before each node, and whether it was reached inside a call made
/// on the way.
#[derive(Default)]
struct Walk {
    before: BTreeMap<(NodeId, bool), LockSet>,
    work: Vec<(NodeId, bool)>,
}

impl Walk {
    fn meet(&mut self, key: (NodeId, bool), held: &LockSet) {
        let merged = match self.before.get(&key) {
            Some(old) => old.meet(held),
            None => held.clone(),
        };
        if self.before.get(&key) != Some(&merged) {
            self.before.insert(key, merged);
            self.work.push(key);
        }
    }
}

fn merge(one: Option<&(Transformer, bool)>, other: &(Transformer, bool)) -> (Transformer, bool) {
    match one {
        Some((transformer, silent)) => (transformer.or(&other.0), *silent || other.1),
        None => other.clone(),
    }
}

/// The synchronising objects that a node operates on.
fn operands(act: &Act) -> Vec<&Spans> {
    match act {
        Act::Acquire { lock, .. } | Act::Release { lock } => vec![lock],
        Act::Wait { cond, mutex } => vec![cond, mutex],
        Act::Sync { at } => vec![at],
        _ => Vec::new(),
    }
}

/// Whether a run of the program shows the node as a transition.
#[must_use]
pub fn is_event(act: &Act) -> bool {
    match act {
        Act::Access { atomic, .. } => *atomic,
        Act::Acquire { .. }
        | Act::Release { .. }
        | Act::Wait { .. }
        | Act::Sync { .. }
        | Act::Create { .. }
        | Act::Join { .. }
        | Act::End => true,
        Act::Nothing | Act::Holds { .. } | Act::Call { .. } | Act::Anything { .. } => false,
    }
}
