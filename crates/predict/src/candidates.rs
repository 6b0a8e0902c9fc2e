//! The cheap filter: which pairs of conflicting accesses could be concurrent.
//!
//! A pair stays unless must-happen-before ([`crate::order`]) orders it, or both threads hold a
//! common lock. Neither test removes a pair that some reordering brings together. Accesses that
//! differ only in their position are tested as one group. All pairs of the same two places of the
//! program are one candidate with many instances.

use std::collections::BTreeMap;

use raddle_model::race::Touching;

use crate::order::MustHappenBefore;
use crate::trace::{ObservedTrace, SharedAccess, Tid, Var};

/// Instances of one candidate that are kept.
const MOST_INSTANCES: usize = 256;
/// Candidates of one variable and pair of threads, at most.
const MOST_OF_UNIT: usize = 64;
/// With more candidates than this, a variable and pair of threads adds at most one.
const MANY: usize = 1_000;
/// Candidates of one trace, at most.
const MOST_CANDIDATES: usize = 20_000;
/// Pairs of groups of one variable and pair of threads. If there are more, only the nearest pairs
/// are tested.
const MOST_GROUPS: usize = 1_000_000;
/// The same for a whole trace.
const MOST_GROUPS_IN_ALL: usize = 50_000_000;
/// How many groups on either side count as near.
const MOST_NEIGHBOURS: usize = 16;
/// Positions of one group that take part in instances.
const MOST_POSITIONS: usize = 24;

/// Two places of the program whose accesses could race.
#[derive(Clone, Debug)]
pub struct RaceCandidate {
    /// The two places, the lesser first.
    pub places: (u64, u64),
    /// The variable, if candidates are kept apart by variable.
    pub var: Option<Var>,
    /// Pairs of accesses, as indices into [`ObservedTrace::accesses`]. The earliest in the trace
    /// come first, because their witnesses are shortest.
    pub instances: Vec<(u32, u32)>,
    /// Whether there are more pairs than `instances` holds.
    pub more: bool,
}

/// How many pairs each stage of the filter left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Shared variables.
    pub variables: u64,
    /// Pairs of conflicting accesses by different threads.
    pub pairs: u64,
    /// Pairs that must-happen-before does not order.
    pub unordered: u64,
    /// Unordered pairs without a common lock.
    pub unlocked: u64,
    /// Variables and pairs of threads that these pairs belong to. The paper makes one check of
    /// each.
    pub checks: u64,
    /// Pairs of places.
    pub candidates: u64,
}

/// The result of the filter.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// How many pairs each stage left.
    pub stages: FilterCounts,
    /// Candidates, in the order of their places.
    pub candidates: Vec<RaceCandidate>,
    /// Variables and pairs of threads that need a check.
    pub units: Vec<(Var, Tid, Tid)>,
    /// Pairs of places that exceed the bounds and were left out.
    pub left_out: u64,
}

/// Accesses of one thread to one variable that differ only in their position.
struct Group {
    what: Touching,
    bytes: u8,
    locks: u32,
    /// Thread and position of the clock that holds at all of them.
    clock: (Tid, u32),
    /// Index of an access for each position, in order.
    members: Vec<(u32, u32)>,
}

impl Group {
    /// Index of its first access.
    fn first(&self) -> u32 {
        self.members[0].1
    }

    fn from(&self, position: u32) -> &[(u32, u32)] {
        &self.members[self.members.partition_point(|member| member.0 < position)..]
    }
}

/// Filters the pairs of a trace. With `by_variable` a candidate belongs to one variable. Only
/// accesses in `window`, a range of events, are paired.
#[must_use]
pub fn filter(
    trace: &ObservedTrace,
    order: &MustHappenBefore,
    by_variable: bool,
    window: std::ops::Range<u32>,
) -> Filtered {
    let mut collector = Collector { trace, by_variable, found: BTreeMap::new(), filtered: Filtered::default() };
    let mut pairs = PairFilter { trace, order, stages: FilterCounts::default(), left: MOST_GROUPS_IN_ALL };
    for (var, accesses) in accesses_by_variable(trace, &window).into_iter().enumerate() {
        if accesses.is_empty() {
            continue;
        }
        pairs.stages.variables += 1;
        let groups = groups(trace, order, &accesses);
        for (first, (&one, mine)) in groups.iter().enumerate() {
            for (&two, theirs) in groups.iter().skip(first + 1) {
                collector.pairs_of_threads(&mut pairs, (var as Var, one, two), mine, theirs);
            }
        }
    }
    collector.finish(pairs.stages)
}

/// Indices of the accesses in the window, by variable.
fn accesses_by_variable(trace: &ObservedTrace, window: &std::ops::Range<u32>) -> Vec<Vec<u32>> {
    let mut by_var: Vec<Vec<u32>> = vec![Vec::new(); trace.vars.len()];
    for (index, access) in trace.accesses.iter().enumerate() {
        if window.contains(&access.after) {
            by_var[access.var as usize].push(index as u32);
        }
    }
    by_var
}

/// The two places, and the variable if candidates are kept apart by variable.
type CandidateKey = (u64, u64, Option<Var>);

/// Sorts pairs of accesses into candidates, within the bounds.
struct Collector<'a> {
    trace: &'a ObservedTrace,
    by_variable: bool,
    found: BTreeMap<CandidateKey, RaceCandidate>,
    filtered: Filtered,
}

impl Collector<'_> {
    /// Collects the pairs of one variable (`unit.0`) and two threads.
    fn pairs_of_threads(
        &mut self,
        pairs: &mut PairFilter<'_>,
        unit: (Var, Tid, Tid),
        mine: &[Group],
        theirs: &[Group],
    ) {
        let before = pairs.stages.unlocked;
        let mut added = 0;
        let untested = pairs.pairs(mine, theirs, &mut |a, b, more| self.add(unit.0, (a, b), more, &mut added));
        self.filtered.left_out += untested;
        if pairs.stages.unlocked > before {
            self.filtered.units.push(unit);
        }
    }

    /// Adds an instance to its candidate. `added` counts the candidates that this variable and pair
    /// of threads has added.
    fn add(&mut self, var: Var, (a, b): (u32, u32), more: bool, added: &mut usize) {
        let (x, y) = (self.trace.accesses[a as usize].place, self.trace.accesses[b as usize].place);
        let key = (x.min(y), x.max(y), self.by_variable.then_some(var));
        if !self.found.contains_key(&key) {
            if self.is_full(*added) {
                self.filtered.left_out += 1;
                return;
            }
            *added += 1;
        }
        let candidate = self.found.entry(key).or_insert_with(|| RaceCandidate {
            places: (key.0, key.1),
            var: key.2,
            instances: Vec::new(),
            more: false,
        });
        candidate.more |= more || candidate.instances.len() >= MOST_INSTANCES;
        if candidate.instances.len() < MOST_INSTANCES {
            candidate.instances.push((a, b));
        }
    }

    /// Whether a variable and pair of threads that has added so many candidates may add no other
    /// one.
    fn is_full(&self, added: usize) -> bool {
        added >= MOST_OF_UNIT || (added > 0 && self.found.len() >= MANY) || self.found.len() >= MOST_CANDIDATES
    }

    fn finish(self, stages: FilterCounts) -> Filtered {
        let mut filtered = self.filtered;
        filtered.candidates = self.found.into_values().collect();
        for candidate in &mut filtered.candidates {
            let after = |index: u32| self.trace.accesses[index as usize].after;
            candidate.instances.sort_by_key(|&(a, b)| (after(a).max(after(b)), a, b));
        }
        filtered.stages = stages;
        filtered.stages.checks = filtered.units.len() as u64;
        filtered.stages.candidates = filtered.candidates.len() as u64;
        filtered
    }
}

fn groups(trace: &ObservedTrace, order: &MustHappenBefore, accesses: &[u32]) -> BTreeMap<Tid, Vec<Group>> {
    let mut keyed: BTreeMap<_, Vec<(u32, u32)>> = BTreeMap::new();
    for &index in accesses {
        let access: &SharedAccess = &trace.accesses[index as usize];
        let locks = trace.threads[usize::from(access.thread)].held[access.position as usize];
        let segment = order.segment(access.thread, access.position);
        let key = (access.thread, access.place, access.what, access.bytes, locks, segment);
        let members = keyed.entry(key).or_default();
        // One access between two events represents all of them.
        if members.last().is_none_or(|last| last.0 != access.position) {
            members.push((access.position, index));
        }
    }
    let mut groups: BTreeMap<Tid, Vec<Group>> = BTreeMap::new();
    for ((thread, _, _, bytes, locks, _), members) in keyed {
        let what = trace.accesses[members[0].1 as usize].what;
        let clock = (thread, members[0].0);
        groups.entry(thread).or_default().push(Group { what, bytes, locks, clock, members });
    }
    for own in groups.values_mut() {
        own.sort_by_key(Group::first);
    }
    groups
}

/// The members of two groups that must-happen-before does not order.
struct UnorderedGroups<'a> {
    /// Distance of the first members in the trace.
    distance: u32,
    mine: &'a [(u32, u32)],
    theirs: &'a [(u32, u32)],
}

/// Tests pairs of groups.
struct PairFilter<'a> {
    trace: &'a ObservedTrace,
    order: &'a MustHappenBefore,
    stages: FilterCounts,
    /// How many pairs of groups may still be tested, besides those that are nearest to each other.
    left: usize,
}

impl PairFilter<'_> {
    /// Passes the remaining pairs of two threads to `take`, the nearest first, because their
    /// witnesses are shortest. Returns how many pairs of groups were not tested because there are
    /// too many.
    fn pairs(&mut self, mine: &[Group], theirs: &[Group], take: &mut dyn FnMut(u32, u32, bool)) -> u64 {
        let all = mine.len() * theirs.len();
        let whole = all <= MOST_GROUPS.min(self.left);
        let mut tested = 0;
        let mut near: Vec<UnorderedGroups<'_>> = Vec::new();
        for a in mine {
            let around = if whole { theirs } else { neighbours(a, theirs) };
            tested += around.len();
            near.extend(around.iter().filter_map(|b| self.test(a, b)));
        }
        self.left -= if whole { all } else { 0 };
        near.sort_by_key(|pair| pair.distance);
        for pair in near {
            let more = pair.mine.len() > MOST_POSITIONS || pair.theirs.len() > MOST_POSITIONS;
            for &(_, x) in first_members(pair.mine) {
                for &(_, y) in first_members(pair.theirs) {
                    take(x, y, more);
                }
            }
        }
        (all - tested) as u64
    }

    fn test<'g>(&mut self, a: &'g Group, b: &'g Group) -> Option<UnorderedGroups<'g>> {
        if a.bytes & b.bytes == 0 || !a.what.conflicts(b.what) {
            return None;
        }
        self.stages.pairs += (a.members.len() * b.members.len()) as u64;
        // Everything that the clock of one side covers on the other side is ordered before it.
        let clock_a = self.order.clock(a.clock.0, a.clock.1);
        let clock_b = self.order.clock(b.clock.0, b.clock.1);
        let mine = a.from(clock_b[usize::from(a.clock.0)]);
        let theirs = b.from(clock_a[usize::from(b.clock.0)]);
        let ((_, first), (_, second)) = (mine.first()?, theirs.first()?);
        self.stages.unordered += (mine.len() * theirs.len()) as u64;
        if !self.trace.locks.compatible(a.locks, b.locks) {
            return None;
        }
        self.stages.unlocked += (mine.len() * theirs.len()) as u64;
        Some(UnorderedGroups { distance: first.abs_diff(*second), mine, theirs })
    }
}

/// The groups that begin nearest to another one.
fn neighbours<'a>(group: &Group, others: &'a [Group]) -> &'a [Group] {
    let at = others.partition_point(|other| other.first() < group.first());
    &others[at.saturating_sub(MOST_NEIGHBOURS)..(at + MOST_NEIGHBOURS).min(others.len())]
}

/// The first members, up to a bound.
fn first_members(members: &[(u32, u32)]) -> &[(u32, u32)] {
    &members[..members.len().min(MOST_POSITIONS)]
}
