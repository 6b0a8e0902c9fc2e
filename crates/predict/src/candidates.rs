//! The cheap filter: which pairs of accesses could be made at the same time.
//!
//! A pair stays unless the order that every reordering keeps ([`crate::order`]) separates it, or both threads hold a common lock.
//! Neither removes a pair that some reordering brings together. Pairs that nothing but the position in the trace tells apart
//! are looked at together, and pairs of the same two places of the program are one candidate with many instances.

use std::collections::BTreeMap;

use raddle_model::race::Touching;

use crate::order::MustHappenBefore;
use crate::trace::{ObservedTrace, SharedAccess, Tid, Var};

/// Instances of one candidate that are kept.
const MOST_INSTANCES: usize = 256;
/// Candidates that one variable and pair of threads adds without regard to the total.
const MOST_OF_UNIT: usize = 64;
/// With more candidates than this, a variable and pair of threads adds only one.
const MANY: usize = 1_000;
/// Candidates of one trace, at most.
const MOST_CANDIDATES: usize = 20_000;
/// Pairs of groups of one variable and pair of threads. Of more than that only the nearest are looked at.
const MOST_GROUPS: usize = 1_000_000;
/// The same for all of a trace.
const MOST_GROUPS_IN_ALL: usize = 50_000_000;
/// How many are near, on either side.
const MOST_NEIGHBOURS: usize = 16;
/// Positions of one group that take part in instances.
const MOST_POSITIONS: usize = 24;

/// Two places of the program whose accesses could meet.
#[derive(Clone, Debug)]
pub struct RaceCandidate {
    /// The two places, the lesser first.
    pub places: (u64, u64),
    /// The variable, where variables tell candidates apart.
    pub var: Option<Var>,
    /// Pairs of accesses, as indices into [`ObservedTrace::accesses`], the earliest in the trace first: they need least.
    pub instances: Vec<(u32, u32)>,
    /// Whether there are more of them.
    pub more: bool,
}

/// How many pairs each stage of the filter left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Shared variables.
    pub variables: u64,
    /// Pairs of conflicting accesses by different threads.
    pub pairs: u64,
    /// Those that nothing but mutexes orders.
    pub unordered: u64,
    /// Those without a common lock.
    pub unlocked: u64,
    /// Variables and pairs of threads that they belong to: what the paper makes a check of.
    pub checks: u64,
    /// Pairs of places.
    pub candidates: u64,
}

/// What the filter left.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// Figures.
    pub stages: FilterCounts,
    /// Candidates, in the order of their places.
    pub candidates: Vec<RaceCandidate>,
    /// Variables and pairs of threads that need a check.
    pub units: Vec<(Var, Tid, Tid)>,
    /// Pairs of places that were left out because there are too many.
    pub left_out: u64,
}

/// Accesses of one thread to one variable that differ only in position.
struct Group {
    what: Touching,
    bytes: u8,
    locks: u32,
    /// Clock that holds at all of them.
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

/// Filters the pairs of a trace. With `by_variable` a candidate belongs to one variable. Only accesses with an index in `window`
/// (of steps) are paired.
#[must_use]
pub fn filter(
    trace: &ObservedTrace,
    order: &MustHappenBefore,
    by_variable: bool,
    window: std::ops::Range<u32>,
) -> Filtered {
    let mut by_var: Vec<Vec<u32>> = vec![Vec::new(); trace.vars.len()];
    for (index, access) in trace.accesses.iter().enumerate() {
        if window.contains(&access.after) {
            by_var[access.var as usize].push(index as u32);
        }
    }
    let mut found: BTreeMap<(u64, u64, Option<Var>), RaceCandidate> = BTreeMap::new();
    let mut filtered = Filtered::default();
    let mut looker = PairFilter { trace, order, stages: FilterCounts::default(), left: MOST_GROUPS_IN_ALL };
    for (var, accesses) in by_var.iter().enumerate().filter(|(_, accesses)| !accesses.is_empty()) {
        looker.stages.variables += 1;
        let groups = groups(trace, order, accesses);
        for (first, (&one, mine)) in groups.iter().enumerate() {
            for (&two, theirs) in groups.iter().skip(first + 1) {
                let before = looker.stages.unlocked;
                let (mut added, mut left_out) = (0, 0);
                let unseen = looker.pairs(mine, theirs, &mut |a, b, more| {
                    let (x, y) = (trace.accesses[a as usize].place, trace.accesses[b as usize].place);
                    let key = (x.min(y), x.max(y), by_variable.then_some(var as Var));
                    if !found.contains_key(&key) {
                        let enough = added >= MOST_OF_UNIT || (added > 0 && found.len() >= MANY);
                        if enough || found.len() >= MOST_CANDIDATES {
                            left_out += 1;
                            return;
                        }
                        added += 1;
                    }
                    let candidate = found.entry(key).or_insert_with(|| RaceCandidate {
                        places: (key.0, key.1),
                        var: key.2,
                        instances: Vec::new(),
                        more: false,
                    });
                    candidate.more |= more || candidate.instances.len() >= MOST_INSTANCES;
                    if candidate.instances.len() < MOST_INSTANCES {
                        candidate.instances.push((a, b));
                    }
                });
                filtered.left_out += left_out + unseen;
                if looker.stages.unlocked > before {
                    filtered.units.push((var as Var, one, two));
                }
            }
        }
    }
    filtered.candidates = found.into_values().collect();
    for candidate in &mut filtered.candidates {
        let after = |index: u32| trace.accesses[index as usize].after;
        candidate.instances.sort_by_key(|&(a, b)| (after(a).max(after(b)), a, b));
    }
    filtered.stages = looker.stages;
    filtered.stages.checks = filtered.units.len() as u64;
    filtered.stages.candidates = filtered.candidates.len() as u64;
    filtered
}

fn groups(trace: &ObservedTrace, order: &MustHappenBefore, accesses: &[u32]) -> BTreeMap<Tid, Vec<Group>> {
    let mut keyed: BTreeMap<_, Vec<(u32, u32)>> = BTreeMap::new();
    for &index in accesses {
        let access: &SharedAccess = &trace.accesses[index as usize];
        let locks = trace.threads[usize::from(access.thread)].held[access.position as usize];
        let segment = order.segment(access.thread, access.position);
        let key = (access.thread, access.place, access.what as u8, access.bytes, locks, segment);
        let members = keyed.entry(key).or_default();
        // One access between two steps stands for all.
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

/// What stays of two groups: the members that the order does not separate.
struct UnorderedGroups<'a> {
    /// How far the first of them lie apart in the trace.
    distance: u32,
    mine: &'a [(u32, u32)],
    theirs: &'a [(u32, u32)],
}

/// Looks at pairs of groups.
struct PairFilter<'a> {
    trace: &'a ObservedTrace,
    order: &'a MustHappenBefore,
    stages: FilterCounts,
    /// How many pairs of groups may still be looked at, other than those that are nearest to each other.
    left: usize,
}

impl PairFilter<'_> {
    /// Hands out the pairs of two threads that stay, the nearest first: they need least. How many pairs of groups were not looked at,
    /// because there are too many.
    fn pairs(&mut self, mine: &[Group], theirs: &[Group], take: &mut dyn FnMut(u32, u32, bool)) -> u64 {
        let all = mine.len() * theirs.len();
        let whole = all <= MOST_GROUPS.min(self.left);
        let mut looked = 0;
        let mut near: Vec<UnorderedGroups<'_>> = Vec::new();
        for a in mine {
            let around = if whole { theirs } else { neighbours(a, theirs) };
            looked += around.len();
            near.extend(around.iter().filter_map(|b| self.look(a, b)));
        }
        self.left -= if whole { all } else { 0 };
        near.sort_by_key(|pair| pair.distance);
        for pair in near {
            let more = pair.mine.len() > MOST_POSITIONS || pair.theirs.len() > MOST_POSITIONS;
            for &(_, x) in spread(pair.mine) {
                for &(_, y) in spread(pair.theirs) {
                    take(x, y, more);
                }
            }
        }
        (all - looked) as u64
    }

    fn look<'g>(&mut self, a: &'g Group, b: &'g Group) -> Option<UnorderedGroups<'g>> {
        if a.bytes & b.bytes == 0 || !a.what.conflicts(b.what) {
            return None;
        }
        self.stages.pairs += (a.members.len() * b.members.len()) as u64;
        // Whatever the clock of one side covers on the other side is ordered before it.
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

/// The first ones, of which there may be many.
fn spread(members: &[(u32, u32)]) -> &[(u32, u32)] {
    &members[..members.len().min(MOST_POSITIONS)]
}
