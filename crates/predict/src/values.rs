//! Decides whether a reordering in which every read keeps its writer reaches a goal.
//!
//! A trace without a program does not say which reads affect the control flow, so all of them have
//! to keep their writers. Most pairs of accesses are then excluded without a search, because one of
//! the two needs a later write of the other thread, or because a lock forces another thread to
//! finish a section that is after the pair. For the rest, two things are tried: which thread leaves
//! first a lock that two threads would hold at the end, and whether an order of the needed events
//! exists. That order is built greedily, or saturation (module `saturation`) shows that there is
//! none.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::candidates::RaceCandidate;
use crate::closure::ValuePreserving;
use crate::order::MustHappenBefore;
use crate::pins::{Pins, ReadsFrom};
use crate::saturation::{Saturated, SaturationInput, Unsaturated, VariableAccesses};
use crate::search::{Goal, Reachability, ReorderedEvent};
use crate::sections::{Section, Sections};
use crate::state::SearchState;
use crate::trace::{ObservedTrace, SharedAccess, Slot, SyncOp, Tid, Var};

/// Choices of a thread that leaves its section, for one candidate.
const MOST_CHOICES: usize = 1_000;
/// The same for long traces.
const FEWEST_CHOICES: usize = 20;
/// Events that are put in order for one candidate.
const MOST_EVENTS: usize = 4_000_000;

/// The choices that are left for one candidate.
struct Choices {
    left: usize,
    /// Limits that were tried for one goal.
    tried: FxHashSet<Vec<u32>>,
}

/// Everything that follows if all reads keep their writers, computed once for a trace.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    trace: &'a ObservedTrace,
    flow: &'a ReadsFrom,
    order: MustHappenBefore,
    sections: Sections,
    users: VariableAccesses,
}

impl<'a> Values<'a> {
    /// Prepares a trace.
    #[must_use]
    pub fn new(trace: &'a ObservedTrace, flow: &'a ReadsFrom) -> Self {
        let order = MustHappenBefore::with(trace, |event, needs| needs.extend(flow.writers(trace, event)));
        Values { trace, flow, order, sections: Sections::of(trace), users: VariableAccesses::of(trace, flow) }
    }

    /// Decides a candidate over all its pairs of accesses, and returns the pair that is reachable.
    /// Unless `thorough` is set, only the cheap closure is tried.
    #[must_use]
    pub fn race(
        &self,
        candidate: &RaceCandidate,
        keeper: &ValuePreserving<'_>,
        thorough: bool,
    ) -> (Reachability, Option<(u32, u32)>) {
        let side = |index: u32| {
            let access = &self.trace.accesses[index as usize];
            (access.thread, access.position)
        };
        let pairs = self.pairs(candidate);
        // The closure is cheap and decides most candidates.
        for &(a, b) in &pairs {
            if let Some(events) = keeper.witness(&[side(a), side(b)]) {
                return (Reachability::Reachable(events), Some((a, b)));
            }
        }
        if !thorough && !pairs.is_empty() {
            return (Reachability::Unknown, None);
        }
        let mut all = Reachability::Unreachable;
        let mut choices = self.choices();
        for &(a, b) in &pairs {
            match self.decide_with(&[side(a), side(b)], &mut choices) {
                Reachability::Unreachable => {}
                Reachability::Unknown => all = Reachability::Unknown,
                possible => return (possible, Some((a, b))),
            }
        }
        (all, None)
    }

    /// Decides one goal.
    #[must_use]
    pub fn decide(&self, goal: &Goal) -> Reachability {
        self.decide_with(goal, &mut self.choices())
    }

    fn decide_with(&self, goal: &Goal, choices: &mut Choices) -> Reachability {
        let Some(limits) = self.needed(goal) else { return Reachability::Unreachable };
        choices.tried.clear();
        self.choose(goal, limits, choices)
    }

    /// The budget of choices for one candidate. It is smaller for long traces, where a choice costs
    /// more.
    fn choices(&self) -> Choices {
        let affordable = MOST_EVENTS / self.trace.events.len().max(1);
        Choices { left: affordable.clamp(FEWEST_CHOICES, MOST_CHOICES), tried: FxHashSet::default() }
    }

    /// If two threads would hold a lock at the limits, one of them has to leave its section first.
    /// If the events up to the limits have no order, they may have one after a thread leaves a
    /// contended section.
    fn choose(&self, goal: &Goal, limits: Vec<u32>, choices: &mut Choices) -> Reachability {
        if !choices.tried.insert(limits.clone()) {
            return Reachability::Unreachable;
        }
        let Some(left) = choices.left.checked_sub(1) else { return Reachability::Unknown };
        choices.left = left;
        let leave = match self.held_twice(&limits) {
            Some(both) => both.to_vec(),
            None => match self.arrange(goal, &limits) {
                Reachability::Unreachable => self.held(&limits),
                decided => return decided,
            },
        };
        let mut all = Reachability::Unreachable;
        for (thread, section) in leave {
            let mut further = limits.clone();
            let Some(release) = section.release else { continue };
            self.order.raise(&mut further, thread, release);
            let Some(further) = self.close(goal, further) else { continue };
            match self.choose(goal, further, choices) {
                Reachability::Unreachable => {}
                Reachability::Unknown => all = Reachability::Unknown,
                possible => return possible,
            }
        }
        all
    }

    /// Two sections of one lock that exclude each other and are both open at the limits.
    fn held_twice(&self, limits: &[u32]) -> Option<[(Tid, Section); 2]> {
        self.sections.shared().find_map(|slot| {
            let mut last = self.sections.last(slot, limits);
            last.retain(|(thread, section)| section.is_open(limits[usize::from(*thread)]));
            let one = last.first().copied()?;
            last.into_iter().skip(1).find(|other| other.1.excludes(&one.1)).map(|two| [one, two])
        })
    }

    /// Sections that are open at the limits, of locks that another thread has acquired, too.
    fn held(&self, limits: &[u32]) -> Vec<(Tid, Section)> {
        let of_lock = |slot: Slot| {
            let last = self.sections.last(slot, limits);
            let contended = last.len() > 1;
            last.into_iter().filter(move |(thread, section)| contended && section.is_open(limits[usize::from(*thread)]))
        };
        self.sections.shared().flat_map(of_lock).collect()
    }

    /// Looks for an order of the events up to the limits: first greedily, then with the saturated
    /// order.
    fn arrange(&self, goal: &Goal, limits: &[u32]) -> Reachability {
        if let Some(events) = self.arrange_greedily(goal, limits, None) {
            return Reachability::Reachable(events);
        }
        let Values { trace, flow, order, sections, users } = self;
        match Saturated::new(SaturationInput { trace, flow, order, sections, users }, limits) {
            Ok(saturated) => self
                .arrange_greedily(goal, limits, Some(&saturated))
                .map_or(Reachability::Unknown, Reachability::Reachable),
            Err(Unsaturated::Contradiction) => Reachability::Unreachable,
            Err(Unsaturated::TooLarge) => Reachability::Unknown,
        }
    }

    /// Executes the events up to the limits greedily: always the earliest enabled event after which
    /// every read can still have its writer. A lock that is not released is acquired last. The
    /// greedy order may get stuck although another order exists.
    fn arrange_greedily(
        &self,
        goal: &Goal,
        limits: &[u32],
        saturated: Option<&Saturated<'_>>,
    ) -> Option<Vec<ReorderedEvent>> {
        let pins = Pins::default();
        let mut state = SearchState::new(self.trace, &pins);
        let mut plan = RemainingEvents::of(self, limits);
        let mut taken = Vec::new();
        loop {
            let threads = (0..limits.len()).filter(|&thread| state.position(thread as Tid) < limits[thread]);
            let next = threads.filter_map(|thread| Some((state.next(thread as Tid)?, thread as Tid)));
            let able = next.filter(|&(event, thread)| {
                let at = (thread, state.position(thread));
                state.enabled(thread)
                    && plan.allows(self, event)
                    && saturated.is_none_or(|order| order.allows(at, |other| state.position(other)))
            });
            let Some((event, thread)) = able.min() else { break };
            state.execute(thread, None);
            plan.execute(self, event);
            taken.push(ReorderedEvent { event, woken: None });
        }
        let all = (0..limits.len()).all(|thread| state.position(thread as Tid) == limits[thread]);
        let alive = goal.iter().all(|&(thread, _)| state.is_alive(thread));
        (all && alive).then_some(taken)
    }

    /// The pairs of accesses of a candidate that are not excluded.
    #[must_use]
    pub fn pairs(&self, candidate: &RaceCandidate) -> Vec<(u32, u32)> {
        let (one, two) = candidate.places;
        let fits = |access: &SharedAccess| candidate.var.is_none_or(|var| var == access.var);
        let mut sides: [Vec<Vec<u32>>; 2] = [0, 1].map(|_| vec![Vec::new(); self.trace.threads.len()]);
        for (index, access) in self.trace.accesses.iter().enumerate().filter(|(_, access)| fits(access)) {
            for (side, place) in sides.iter_mut().zip([one, two]) {
                if access.place == place {
                    side[usize::from(access.thread)].push(index as u32);
                }
            }
        }
        let mut pairs = Vec::new();
        for mine in &sides[0] {
            for theirs in &sides[1] {
                self.pairs_of(mine, theirs, &mut pairs);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// The pairs of two threads. The accesses of one thread that are unordered with an access of
    /// the other are contiguous.
    fn pairs_of(&self, mine: &[u32], theirs: &[u32], pairs: &mut Vec<(u32, u32)>) {
        let access = |index: &u32| &self.trace.accesses[*index as usize];
        let Some(other) = theirs.first().map(|first| access(first).thread) else { return };
        for a in mine.iter().filter(|a| access(a).thread != other) {
            let one = access(a);
            let from = self.order.clock(one.thread, one.position)[usize::from(other)];
            let start = theirs.partition_point(|b| access(b).position < from);
            for b in &theirs[start..] {
                let two = access(b);
                if self.order.ordered((one.thread, one.position), (two.thread, two.position)) {
                    break;
                }
                let held =
                    |side: &SharedAccess| self.trace.threads[usize::from(side.thread)].held[side.position as usize];
                let goal = [(one.thread, one.position), (two.thread, two.position)];
                if one.conflicts(two)
                    && self.trace.locks.compatible(held(one), held(two))
                    && self.needed(&goal).is_some()
                {
                    pairs.push((*a.min(b), *a.max(b)));
                }
            }
        }
    }

    /// How far each thread must have gone; `None` if a thread of the goal would be beyond its
    /// position.
    #[must_use]
    pub fn needed(&self, goal: &Goal) -> Option<Vec<u32>> {
        let mut limits = vec![0; self.trace.threads.len()];
        for &(thread, position) in goal {
            self.order.raise(&mut limits, thread, position);
        }
        self.close(goal, limits)
    }

    fn close(&self, goal: &Goal, mut limits: Vec<u32>) -> Option<Vec<u32>> {
        loop {
            if goal.iter().any(|&(thread, position)| limits[usize::from(thread)] > position) {
                return None;
            }
            let before = limits.clone();
            for slot in self.sections.shared() {
                self.finish(slot, goal, &mut limits)?;
            }
            if before == limits {
                return Some(limits);
            }
        }
    }

    /// Makes threads leave their section of a lock if another thread enters one later in every
    /// order.
    fn finish(&self, slot: Slot, goal: &Goal, limits: &mut [u32]) -> Option<()> {
        let last = self.sections.last(slot, limits);
        for &(thread, section) in &last {
            if !section.is_open(limits[usize::from(thread)]) {
                continue;
            }
            let later = |&&(other, ref entered): &&(Tid, Section)| {
                let stays = goal.iter().any(|&(one, position)| one == other && entered.is_open(position));
                let behind = self.order.clock(other, entered.index + 1)[usize::from(thread)] > section.index;
                other != thread && section.excludes(entered) && (stays || behind)
            };
            if last.iter().any(|other| later(&other)) {
                self.order.raise(limits, thread, section.release?);
            }
        }
        Some(())
    }
}

/// The reads and acquisitions up to some limits that have not been executed.
#[derive(Default)]
struct RemainingEvents {
    /// Number of reads of what an event (plus 1; 0 for the initial value) wrote to a variable.
    reads: FxHashMap<(Var, u32), u32>,
    /// Number of acquisitions of each lock.
    acquisitions: FxHashMap<Slot, u32>,
    /// Acquisitions without a release.
    kept: FxHashMap<u32, Slot>,
    last: FxHashMap<Var, u32>,
}

impl RemainingEvents {
    fn of(values: &Values<'_>, limits: &[u32]) -> Self {
        let mut plan = RemainingEvents::default();
        for (thread, &limit) in limits.iter().enumerate() {
            for &event in &values.trace.threads[thread].events[..limit as usize] {
                for &read in values.flow.reads(event) {
                    *plan.reads.entry(read).or_default() += 1;
                }
                if let SyncOp::Lock(slot) = values.trace.events[event as usize].op {
                    *plan.acquisitions.entry(slot).or_default() += 1;
                }
            }
        }
        for slot in values.sections.shared() {
            for (thread, section) in values.sections.last(slot, limits) {
                if section.is_open(limits[usize::from(thread)]) {
                    plan.kept.insert(section.event, slot);
                }
            }
        }
        plan
    }

    fn allows(&self, values: &Values<'_>, event: u32) -> bool {
        let writer = |var: Var| self.last.get(&var).copied().unwrap_or(0);
        let own = |var: Var| values.flow.reads(event).iter().filter(|read| read.0 == var).count() as u32;
        let awaited = |var: Var| self.reads.get(&(var, writer(var))).copied().unwrap_or(0);
        values.flow.reads(event).iter().all(|&(var, from)| writer(var) == from)
            && values.flow.writes(event).iter().all(|&var| awaited(var) <= own(var))
            && self.kept.get(&event).is_none_or(|slot| self.acquisitions.get(slot) == Some(&1))
    }

    fn execute(&mut self, values: &Values<'_>, event: u32) {
        for read in values.flow.reads(event) {
            self.reads.entry(*read).and_modify(|count| *count -= 1);
        }
        if let SyncOp::Lock(slot) = values.trace.events[event as usize].op {
            self.acquisitions.entry(slot).and_modify(|count| *count -= 1);
        }
        for &var in values.flow.writes(event) {
            self.last.insert(var, event + 1);
        }
    }
}
