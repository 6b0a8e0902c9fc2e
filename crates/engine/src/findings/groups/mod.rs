//! Findings by cause: which of them follow from another one.
//!
//! One missing join or lock shows at many places. The findings of one cause are a group: its
//! headline explains most, the others follow from it. The result is a function of the findings and
//! of their [`Circumstances`], which executions tell. It depends neither on the order in which the
//! findings came nor on `--jobs`. Findings that no rule relates stay alone.
//!
//! Relations between findings of equal rank, which put them into one group:
//!
//! 1. **Order.** A thread X ends the life of something (free, destroy, close) unordered with a use
//!    by a thread Y. Such races belong together if X is the same, Y was created at the same place,
//!    and X has waited for nothing in between: the last operation by which X could have taken
//!    something over from another thread is at the same place. Reason: whatever is missing before
//!    the first end, usually a join, is missing before all of them. Two more sorts of races with
//!    the same X, Y and last wait belong to them: races on an object that X then ends, and races of
//!    a creator X that never waits again with its child Y. *Could be wrong*: two ends behind the
//!    same wait, each of which lacks a lock of its own.
//! 2. **Block.** Races and memory errors with the same place of a free and the same place of the
//!    allocation. Reason: the block dies too early, and each use of it shows that.
//!    *Could be wrong*: one function frees all blocks and one allocates them, so that blocks of two
//!    structures look alike.
//! 3. **Lock.** Other races on one object: a global variable with all its fields and elements, a
//!    local variable, heap blocks of one size from one place. Fields whose accesses hold different
//!    locks have different disciplines, and are two causes; races without any lock go with the
//!    discipline of the object if it has only one. Reason: an object has one lock, or each field
//!    has. *Could be wrong*: two fields that are both used without any lock, but should have two.
//! 4. **Cycle.** Cycles of locks over the same named locks. Reason: the order of these locks is
//!    contradictory, wherever they are taken. Blocks of the heap have no names that last.
//! 5. **Object.** Uses of one object that was never initialised, or of one that was destroyed.
//!    Reason: one call is missing, or too early.
//! 6. **Mode.** Races of which both sides hold one lock, and the side that writes has acquired it
//!    in shared mode at the same place. Reason: there it has to be exclusive, whatever is written.
//!
//! Relations that make a finding follow from a group:
//!
//! 7. **Behind.** A failure of which, in each execution, a race of this group and of no other lies
//!    behind it ([`super::behind`]). If in each execution there are races on the object that it is
//!    about, or with an access in the line in which it shows, only they count. A failure that shows
//!    in the very first execution may have nothing to do with the schedule, and follows only from
//!    such races. Reason: in no execution did it show without the group.
//!    *Could be wrong*: the thread reads a racy value before each failure of another cause, and the
//!    search never made it fail without.
//! 8. **Depends.** A race whose accesses cannot be made neighbours, with races behind it, all in
//!    one group of rule 1 or 2, or all in one of rule 3 if it is in none itself. Reason: its
//!    accesses only meet if those races end in one way.
//! 9. **Same access.** A crash in the line of an access to a freed block or out of bounds, in the
//!    same thread. Reason: the access is what crashes.
//! 10. **Leftover.** A warning that Y is never joined, or that main returns early, follows from the
//!     one group of rule 1 with that Y, or with main as X.
//!
//! A warning is no headline of errors. A finding that is suppressed is not among the findings, so
//! it hides none.

mod circumstances;
mod headline;
mod sets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::finding::{AccessReport, Finding, HeldLock, Kind, ObjectKind, Place, Severity, WitnessKind};

pub use circumstances::{Circumstances, Standing, standings};
use sets::Sets;

/// What is known of each finding, by its id.
pub type CircumstancesById = BTreeMap<String, Circumstances>;

/// Writes into each finding the headline that it follows from, and into headlines their cause.
pub fn assign(findings: &mut [Finding], facts: &CircumstancesById) {
    let mut grouping = Grouping::new(findings, facts);
    grouping.relate();
    let groups = grouping.groups();
    for finding in &mut *findings {
        (finding.group, finding.cause) = (None, None);
    }
    for group in groups {
        let id = findings[group.headline].id.clone();
        findings[group.headline].cause = group.cause;
        for member in group.members.into_iter().filter(|&member| member != group.headline) {
            findings[member].group = Some(id.clone());
        }
    }
}

/// Findings of one cause, by index.
struct Group {
    headline: usize,
    members: Vec<usize>,
    cause: Option<String>,
}

/// A thread as the program text names it: where it was created; `None` for main.
type ThreadSite = Option<Place>;

/// What rule 1 compares: X, the place of its last wait, and Y.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OrderKey {
    ender: String,
    wait: u64,
    user: ThreadSite,
}

/// An object across executions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKey {
    /// Kind, name and function of a variable.
    Variable(&'static str, String),
    /// Place of the allocation, and size.
    Block(Place, Option<u64>),
}

struct Grouping<'a> {
    findings: &'a [Finding],
    facts: &'a CircumstancesById,
    sets: Sets,
    /// Findings that rule 1 or 2 speaks of, with the keys of rule 1.
    ordered: BTreeMap<usize, Vec<OrderKey>>,
    /// Findings that rule 3, 4 or 5 has put together with others.
    paired: BTreeSet<usize>,
}

impl<'a> Grouping<'a> {
    fn new(findings: &'a [Finding], facts: &'a CircumstancesById) -> Self {
        let sets = Sets::new(findings.len());
        Grouping { findings, facts, sets, ordered: BTreeMap::new(), paired: BTreeSet::new() }
    }

    fn relate(&mut self) {
        self.order();
        self.blocks();
        self.dependent_races(true);
        self.locks();
        self.cycles();
        self.objects();
        self.modes();
        // What follows from a finding that follows itself needs another round.
        loop {
            let before = self.sets.count();
            self.dependent_races(false);
            self.failures();
            if self.sets.count() == before {
                break;
            }
        }
        self.crashes();
        self.leftovers();
    }

    fn races(&self) -> impl Iterator<Item = (usize, &'a Finding)> + use<'a> {
        self.findings.iter().enumerate().filter(|(_, finding)| finding.kind == Kind::DataRace)
    }

    fn standing(&self, finding: &Finding, side: usize) -> Option<&'a Standing> {
        self.facts.get(&finding.id)?.sides.get(side)
    }

    /// The key of rule 1 for a side of a race as X.
    fn order_key(&self, finding: &Finding, side: usize) -> Option<OrderKey> {
        let [_, _] = &finding.accesses[..] else { return None };
        let (ender, user) = (&finding.accesses[side], &finding.accesses[1 - side]);
        let standing = self.standing(finding, side)?;
        Some(OrderKey { ender: ender.thread.clone(), wait: standing.wait, user: site(user) })
    }

    /// Rule 1.
    fn order(&mut self) {
        let mut by_key: BTreeMap<OrderKey, Vec<usize>> = BTreeMap::new();
        let mut ended: BTreeSet<(OrderKey, ObjectKey)> = BTreeSet::new();
        let mut others: Vec<(usize, OrderKey, Option<ObjectKey>)> = Vec::new();
        for (index, finding) in self.races() {
            for side in 0..finding.accesses.len() {
                let Some(key) = self.order_key(finding, side) else { continue };
                let (access, other) = (&finding.accesses[side], &finding.accesses[1 - side]);
                let is_creator = other.created.as_ref().is_some_and(|created| created.by == access.thread);
                let never_waits_again = self.standing(finding, side).is_some_and(|standing| standing.is_last);
                if ends_life(access) || (is_creator && never_waits_again) {
                    by_key.entry(key.clone()).or_default().push(index);
                    ended.extend(object_key(finding).filter(|_| ends_life(access)).map(|object| (key, object)));
                } else {
                    others.push((index, key, object_key(finding)));
                }
            }
        }
        for (index, key, object) in others {
            if object.is_some_and(|object| ended.contains(&(key.clone(), object))) {
                by_key.entry(key).or_default().push(index);
            }
        }
        for (key, members) in by_key {
            self.sets.join_all(&members);
            for member in members {
                self.ordered.entry(member).or_default().push(key.clone());
            }
        }
    }

    /// Rule 2.
    fn blocks(&mut self) {
        let mut by_sites: BTreeMap<(Place, Place), Vec<usize>> = BTreeMap::new();
        for (index, finding) in self.findings.iter().enumerate() {
            let freed = match (finding.kind, finding.detail.as_deref()) {
                (Kind::DataRace, Some("use-after-free")) => finding.accesses.iter().find(|access| access.op == "free"),
                (Kind::Memory, Some("use-after-free" | "double-free")) => {
                    finding.accesses.iter().skip(1).find(|access| access.op == "free")
                }
                _ => None,
            };
            let allocated = finding.object.as_ref().and_then(|object| object.allocated.as_ref());
            if let (Some(freed), Some(allocated)) = (freed, allocated) {
                let key = (line_of(&freed.place), line_of(allocated));
                by_sites.entry(key).or_default().push(index);
            }
        }
        for members in by_sites.into_values() {
            self.sets.join_all(&members);
            for member in members {
                self.ordered.entry(member).or_default();
            }
        }
    }

    /// Rule 3.
    fn locks(&mut self) {
        let mut by_object: BTreeMap<ObjectKey, Vec<usize>> = BTreeMap::new();
        for (index, finding) in self.races() {
            if let Some(key) = object_key(finding).filter(|_| !self.ordered.contains_key(&index)) {
                by_object.entry(key).or_default().push(index);
            }
        }
        for members in by_object.into_values() {
            for together in self.by_discipline(&members) {
                self.pair(&together);
            }
        }
    }

    /// The races on one object by the locks with which its fields are used.
    fn by_discipline(&self, members: &[usize]) -> Vec<Vec<usize>> {
        let mut fields: BTreeMap<Option<String>, (Vec<usize>, BTreeSet<&str>)> = BTreeMap::new();
        for &index in members {
            let finding = &self.findings[index];
            let (races, locks) = fields.entry(field_of(finding)).or_default();
            races.push(index);
            locks.extend(finding.accesses.iter().flat_map(|access| access.locks.iter().map(String::as_str)));
        }
        let fields: Vec<(Vec<usize>, BTreeSet<&str>)> = fields.into_values().collect();
        // Fields that share a lock have one discipline.
        let mut sets = Sets::new(fields.len());
        let with_locks: Vec<usize> = (0..fields.len()).filter(|&at| !fields[at].1.is_empty()).collect();
        for (position, &one) in with_locks.iter().enumerate() {
            for &other in &with_locks[..position] {
                if !fields[one].1.is_disjoint(&fields[other].1) {
                    sets.join(one, other);
                }
            }
        }
        let disciplines: BTreeSet<usize> = with_locks.iter().map(|&at| sets.root(at)).collect();
        if disciplines.len() <= 1 {
            sets.join_all(&(0..fields.len()).collect::<Vec<_>>());
        }
        sets.lists().into_iter().map(|list| list.into_iter().flat_map(|at| fields[at].0.clone()).collect()).collect()
    }

    fn pair(&mut self, members: &[usize]) {
        self.sets.join_all(members);
        if members.len() > 1 {
            self.paired.extend(members);
        }
    }

    /// Rule 4.
    fn cycles(&mut self) {
        let mut by_locks: BTreeMap<BTreeSet<&str>, Vec<usize>> = BTreeMap::new();
        for (index, finding) in self.findings.iter().enumerate() {
            let waits = finding.accesses.iter().filter_map(|access| access.waits.as_ref());
            let locks: BTreeSet<&str> = waits.map(|wait| wait.object.as_str()).collect();
            let is_cycle = finding.kind == Kind::Deadlock && finding.detail.as_deref() == Some("cycle");
            let are_named = locks.len() > 1 && locks.iter().all(|lock| !lock.contains(['#', ' ']));
            if is_cycle && are_named {
                by_locks.entry(locks).or_default().push(index);
            }
        }
        for members in by_locks.into_values() {
            self.pair(&members);
        }
    }

    /// Rule 5.
    fn objects(&mut self) {
        let mut by_object: BTreeMap<(&str, ObjectKey), Vec<usize>> = BTreeMap::new();
        for (index, finding) in self.findings.iter().enumerate().filter(|(_, finding)| finding.kind == Kind::Misuse) {
            let detail = finding.detail.as_deref().unwrap_or("");
            let is_life = detail.ends_with("-uninitialised") || detail.ends_with("-destroyed");
            if let Some(key) = object_key(finding).filter(|_| is_life && finding.severity == Severity::Error) {
                by_object.entry((detail, key)).or_default().push(index);
            }
        }
        for members in by_object.into_values() {
            self.pair(&members);
        }
    }

    /// Rule 6.
    fn modes(&mut self) {
        let mut by_hold: BTreeMap<(&str, Place), Vec<usize>> = BTreeMap::new();
        for (index, finding) in self.races() {
            for hold in shared_holds(finding) {
                by_hold.entry((hold.lock.as_str(), line_of(&hold.place))).or_default().push(index);
            }
        }
        for members in by_hold.into_values() {
            self.sets.join_all(&members);
        }
    }

    /// Rule 8. At `first` only groups of rules 1 and 2 count.
    fn dependent_races(&mut self, first: bool) {
        let is_candidate = |(index, finding): &(usize, &Finding)| {
            let is_free = !self.ordered.contains_key(index) && !self.paired.contains(index);
            finding.witness_kind == Some(WitnessKind::Unordered) && is_free
        };
        let candidates: BTreeMap<usize, Vec<usize>> =
            self.races().filter(is_candidate).map(|(index, finding)| (index, self.all_behind(finding))).collect();
        // Candidates may lie behind each other. Each is let go that is not explained by others.
        let mut leaders: BTreeMap<usize, usize> = BTreeMap::new();
        for (&index, behind) in &candidates {
            let others: Vec<usize> = behind.iter().copied().filter(|other| !candidates.contains_key(other)).collect();
            let counts = !first || others.iter().all(|other| self.ordered.contains_key(other));
            leaders.extend(self.one_group(&others).filter(|_| counts).map(|leader| (index, self.sets.root(leader))));
        }
        loop {
            let explained = |index: &usize, leader: usize| {
                let mut inner = candidates[index].iter().filter(|other| candidates.contains_key(other));
                inner.all(|other| leaders.get(other) == Some(&leader))
            };
            let kept: BTreeMap<usize, usize> = leaders
                .iter()
                .filter(|(index, leader)| explained(index, **leader))
                .map(|(&at, &to)| (at, to))
                .collect();
            if kept.len() == leaders.len() {
                break;
            }
            leaders = kept;
        }
        for (index, leader) in leaders {
            self.sets.join(index, leader);
            self.ordered.entry(index).or_default();
        }
    }

    /// Rule 7.
    fn failures(&mut self) {
        let mut follow = Vec::new();
        for (index, finding) in self.findings.iter().enumerate() {
            if finding.kind == Kind::DataRace || finding.severity == Severity::Warning {
                continue;
            }
            let sets = self.behind(finding);
            let is_near = |race: &usize| is_near(finding, &self.findings[*race]);
            let near: Vec<Vec<usize>> = sets.iter().map(|set| set.iter().copied().filter(is_near).collect()).collect();
            let counting = match (near.iter().all(|set| !set.is_empty()), finding.executions_before) {
                (true, _) => near,
                (false, 0) => continue,
                (false, _) => sets,
            };
            follow.extend(self.one_in_each(&counting).map(|leader| (index, leader)));
        }
        for (index, leader) in follow {
            self.sets.join(index, leader);
        }
    }

    /// The sets of races behind a finding.
    fn behind(&self, finding: &Finding) -> Vec<Vec<usize>> {
        let sets = self.facts.get(&finding.id).map_or(&[][..], |facts| &facts.behind);
        let known = |set: &BTreeSet<String>| {
            (0..self.findings.len()).filter(|&at| set.contains(&self.findings[at].id)).collect()
        };
        sets.iter().map(known).collect()
    }

    /// All races behind a finding, without itself.
    fn all_behind(&self, finding: &Finding) -> Vec<usize> {
        let all = self.behind(finding).into_iter().flatten();
        all.filter(|&other| self.findings[other].id != finding.id).collect()
    }

    /// One of the findings, if all of them are in one group.
    fn one_group(&self, findings: &[usize]) -> Option<usize> {
        let (first, rest) = findings.split_first()?;
        rest.iter().all(|&other| self.sets.root(other) == self.sets.root(*first)).then_some(*first)
    }

    /// The root of the group with findings in each of the sets, if there is exactly one.
    fn one_in_each(&self, sets: &[Vec<usize>]) -> Option<usize> {
        let roots = |set: &Vec<usize>| set.iter().map(|&at| self.sets.root(at)).collect::<BTreeSet<usize>>();
        let common = sets.iter().map(roots).reduce(|common, roots| &common & &roots)?;
        common.first().copied().filter(|_| common.len() == 1)
    }

    /// Rule 9.
    fn crashes(&mut self) {
        let is_access = |finding: &Finding| {
            finding.kind == Kind::Memory
                && matches!(finding.detail.as_deref(), Some("use-after-free" | "out-of-bounds"))
        };
        let first = |finding: &'a Finding| finding.accesses.first();
        for (index, crash) in self.findings.iter().enumerate().filter(|(_, finding)| finding.kind == Kind::Crash) {
            let Some(at) = first(crash).filter(|access| access.place.line.is_some()) else { continue };
            let same = |access: &AccessReport| access.thread == at.thread && is_same_line(&access.place, &at.place);
            let errors = self.findings.iter().enumerate().filter(|(_, finding)| is_access(finding));
            let found: Vec<usize> =
                errors.filter(|(_, error)| first(error).is_some_and(same)).map(|(at, _)| at).collect();
            if self.sets.is_alone(index)
                && let Some(error) = self.one_group(&found)
            {
                self.sets.join(index, error);
            }
        }
    }

    /// Rule 10.
    fn leftovers(&mut self) {
        for (index, finding) in self.findings.iter().enumerate() {
            let Some(access) = finding.accesses.first() else { continue };
            let fits = |key: &&OrderKey| match finding.detail.as_deref() {
                Some("never-joined") => key.user.as_ref().is_some_and(|user| is_same_line(user, &access.place)),
                Some("main-returns-early") => key.ender == "T0",
                _ => false,
            };
            let found = self.ordered.iter().filter(|(_, keys)| keys.iter().any(|key| fits(&key)));
            let found: Vec<usize> = found.map(|(&at, _)| at).collect();
            if finding.kind == Kind::Misuse
                && let Some(leader) = self.one_group(&found)
            {
                self.sets.join(index, leader);
            }
        }
    }

    fn groups(&self) -> Vec<Group> {
        let of_members = |members: Vec<usize>| {
            let headline = headline::choose(self, &members);
            let cause = headline::cause(self, headline, &members);
            Group { headline, members, cause }
        };
        self.sets.lists().into_iter().map(of_members).collect()
    }
}

/// Whether the access ends the life of what it touches.
fn ends_life(access: &AccessReport) -> bool {
    matches!(access.op.as_str(), "free" | "close") || access.op.ends_with("-destroy")
}

/// The holds in shared mode, by sides of a race that do not only read, of locks that both sides
/// hold.
fn shared_holds(finding: &Finding) -> Vec<&HeldLock> {
    let [first, second] = &finding.accesses[..] else { return Vec::new() };
    let changes = |access: &AccessReport| !access.op.ends_with("read") && !access.op.ends_with("load");
    let sides = [(first, second), (second, first)].into_iter().filter(|(side, _)| changes(side));
    let too_weak = |hold: &&HeldLock, other: &AccessReport| {
        hold.shared && other.held.iter().any(|others| others.lock == hold.lock)
    };
    sides.flat_map(|(side, other)| side.held.iter().filter(move |hold| too_weak(hold, other))).collect()
}

fn site(access: &AccessReport) -> ThreadSite {
    access.created.as_ref().map(|created| line_of(&created.place))
}

/// A place without its column: one line counts as one place.
fn line_of(place: &Place) -> Place {
    Place { column: None, ..place.clone() }
}

fn is_same_line(one: &Place, other: &Place) -> bool {
    one.line.is_some() && one.line == other.line && one.file == other.file
}

/// Whether a race is about the object of a failure, or has an access in the line in which it shows.
fn is_near(failure: &Finding, race: &Finding) -> bool {
    let is_same_object = object_key(failure).is_some_and(|key| Some(key) == object_key(race));
    let shows_at = |access: &AccessReport| {
        let mut sides = race.accesses.iter();
        sides.any(|side| side.thread == access.thread && is_same_line(&side.place, &access.place))
    };
    is_same_object || failure.accesses.first().is_some_and(shows_at)
}

/// The object that a finding is about.
fn object_key(finding: &Finding) -> Option<ObjectKey> {
    let object = finding.object.as_ref()?;
    let kind = match object.kind {
        ObjectKind::Heap => return Some(ObjectKey::Block(line_of(object.allocated.as_ref()?), object.size)),
        ObjectKind::Global => "global",
        ObjectKind::Stack => "stack",
        ObjectKind::Tls => "tls",
    };
    Some(ObjectKey::Variable(kind, object.name.clone()?))
}

/// The part of its object that a race is about: the variable without indices.
fn field_of(finding: &Finding) -> Option<String> {
    let mut field = String::new();
    let mut depth = 0_usize;
    for letter in finding.variable.as_ref()?.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            letter if depth == 0 => field.push(letter),
            _ => {}
        }
    }
    Some(field)
}
