//! Which races lie behind a failure: in every execution that shows the failure, its thread had gone
//! past them.
//!
//! A race *lies behind* a failure of thread F in an execution
//!
//! * if another thread's side of it writes, frees, initialises or destroys, and F reads or uses the
//!   same byte after that and not later than it fails: what F saw there is up to the schedule;
//! * or if F's side comes second and frees, initialises or destroys: the failure is that F did so
//!   too early.
//!
//! A deadlock says only that a thread waits, not what it has seen. So only races with the end of
//! the object that it waits for lie behind it.
//!
//! A failure is put down to races of which, in every execution that shows it, one lies behind it.
//! So what happens to be there drops out as soon as the failure shows without it. Of the sets of
//! races behind a failure only those that contain no other one have to be known. Workers of a
//! shared search keep an execution that adds such a set. So the result does not depend on their
//! number.

use std::collections::{BTreeMap, BTreeSet};

use raddle_model::defect::{Defect, Part, PartPosition, Signature};
use raddle_model::finding::{Kind, Severity};
use raddle_model::race::{Race, Side, Touching};
use raddle_model::{AccessKind, Execution, IncidentKind, Operation as _};
use raddle_vocab::OpKind;

/// A moment of an execution: events that precede it, whether it is an event itself, and the number
/// of the access.
type ExecutionPoint = (u32, bool, u32);

const END: ExecutionPoint = (u32::MAX, true, u32::MAX);

/// What lies behind each failure that was met.
#[derive(Debug, Default)]
pub struct Behind {
    /// The least sets: no one contains another.
    of_failure: BTreeMap<Signature, Vec<BTreeSet<Signature>>>,
}

impl Behind {
    /// Takes the defects of an execution. True if something is known now that was not before.
    pub fn learn(&mut self, execution: &Execution, defects: &[Defect]) -> bool {
        let mut news = false;
        for failure in defects.iter().filter(|defect| is_failure(defect)) {
            let known = self.of_failure.entry(failure.signature.clone()).or_default();
            // Nothing is less than the empty set.
            if known.iter().any(BTreeSet::is_empty) {
                continue;
            }
            let now = races_behind(execution, failure, defects);
            if !known.iter().any(|less| less.is_subset(&now)) {
                known.retain(|more| !now.is_subset(more));
                known.push(now);
                news = true;
            }
        }
        news
    }

    /// The sets of races behind a failure, one of which lies behind it in each execution.
    pub fn of(&self, failure: &Signature) -> &[BTreeSet<Signature>] {
        self.of_failure.get(failure).map_or(&[], Vec::as_slice)
    }
}

fn is_failure(defect: &Defect) -> bool {
    defect.severity == Severity::Error && !matches!(defect.signature.kind, Kind::DataRace | Kind::Livelock)
}

/// The races of the execution that lie behind one of its defects. Of a race, those that lie behind
/// one of its accesses.
pub fn races_behind(execution: &Execution, defect: &Defect, all: &[Defect]) -> BTreeSet<Signature> {
    let others = all.iter().filter(|other| other.signature != defect.signature);
    let races: Vec<(&Signature, &Race)> =
        others.filter_map(|other| Some((&other.signature, other.race.as_ref()?))).collect();
    let mut found = BTreeSet::new();
    for part in parts_that_fail(defect) {
        if let Some(waits) = &part.waits {
            let ends = |race: &Race| race.addr == waits.object && ends_something(race);
            found.extend(races.iter().filter(|(_, race)| ends(race)).map(|(signature, _)| (*signature).clone()));
            continue;
        }
        let last = moment_of(execution, part);
        let seen = last_uses(execution, part.thread, last, defect.race.is_none(), &races);
        let is_behind = |race: &Race| {
            let saw = |side: &Side| {
                let time = seen.get(&race.addr).copied().flatten();
                side.thread != part.thread && changes(side) && time.is_some_and(|time| time > moment(execution, side))
            };
            let early = race.second.thread == part.thread
                && ends(&race.second)
                && moment(execution, &race.second) <= last
                && defect.race.is_none();
            saw(&race.first) || saw(&race.second) || early
        };
        found.extend(races.iter().filter(|(_, race)| is_behind(race)).map(|(signature, _)| (*signature).clone()));
    }
    found
}

/// The parts of a defect in which it shows. The end and the allocation of a block belong to what
/// led to it.
fn parts_that_fail(defect: &Defect) -> &[Part] {
    let count = match defect.signature.kind {
        Kind::DataRace | Kind::Deadlock => defect.parts.len(),
        _ => 1,
    };
    &defect.parts[..count.min(defect.parts.len())]
}

fn changes(side: &Side) -> bool {
    matches!(side.what, Touching::Write | Touching::AtomicWrite) || ends(side)
}

fn ends(side: &Side) -> bool {
    matches!(side.what, Touching::Free | Touching::Make | Touching::Mapping(_))
}

fn ends_something(race: &Race) -> bool {
    ends(&race.first) || ends(&race.second)
}

fn moment(execution: &Execution, side: &Side) -> ExecutionPoint {
    at(execution, side.position.into())
}

fn at(execution: &Execution, position: PartPosition) -> ExecutionPoint {
    match position {
        PartPosition::Access(number) => (execution.accesses[number as usize].after, false, number),
        PartPosition::Event(number) => (number, true, 0),
        PartPosition::Incident(number) => (execution.incidents[number as usize].after, false, u32::MAX),
        PartPosition::Pending => END,
    }
}

/// When a part of a defect shows. A misuse shows in the operation that the thread makes next.
fn moment_of(execution: &Execution, part: &Part) -> ExecutionPoint {
    let PartPosition::Incident(number) = part.position else { return at(execution, part.position) };
    let incident = &execution.incidents[number as usize];
    let is_misuse = matches!(incident.kind, IncidentKind::Misuse(_));
    let later = (incident.after as usize..execution.events.len()).filter(|_| is_misuse);
    let next = later.into_iter().find(|&at| execution.events[at].thread == part.thread);
    next.map_or_else(|| at(execution, part.position), |next| (next as u32, true, 0))
}

/// For each byte that a race is about, when the thread has last read or used it, up to a moment.
fn last_uses(
    execution: &Execution,
    thread: u16,
    last: ExecutionPoint,
    including: bool,
    races: &[(&Signature, &Race)],
) -> BTreeMap<u64, Option<ExecutionPoint>> {
    let mut uses: BTreeMap<u64, Option<ExecutionPoint>> = races.iter().map(|(_, race)| (race.addr, None)).collect();
    if uses.is_empty() {
        return uses;
    }
    let in_time = |time: ExecutionPoint| time < last || (including && time == last);
    let mut note = |start: u64, size: u64, time: ExecutionPoint| {
        if in_time(time) {
            for (_, known) in uses.range_mut(start..start.saturating_add(size.max(1))) {
                *known = (*known).max(Some(time));
            }
        }
    };
    for (number, access) in execution.accesses.iter().enumerate() {
        if access.thread == thread && access.kind == AccessKind::Read {
            note(access.addr, access.size, (access.after, false, number as u32));
        }
    }
    for (number, event) in execution.events.iter().enumerate().filter(|(_, event)| event.thread == thread) {
        let only_writes = matches!(event.op.kind(), OpKind::Write | OpKind::AtomicStore);
        if only_writes || event.op.address().is_none() {
            continue;
        }
        let (start, size) = event.op.bytes();
        let time = (number as u32, true, 0);
        note(start, size, time);
        if let Some(mutex) = event.op.mutex_of_wait() {
            note(mutex, 1, time);
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{access, event, execution};
    use raddle_model::DefectFinder;
    use raddle_model::Incident;
    use raddle_vocab::Failure;

    const X: u64 = 0x1000;
    const Y: u64 = 0x2000;

    /// T1 and T2 access X, in this order of kinds, and T2 reads Y or not; then T2 fails.
    fn failing(kinds: [(u16, AccessKind); 2], reads_y: bool) -> Execution {
        let mut events = vec![event(0, OpKind::ThreadStart, 0, 0)];
        for child in [1, 2] {
            events.push(event(0, OpKind::Create, 0, child));
        }
        events.push(event(1, OpKind::ThreadStart, 0, 0));
        events.push(event(2, OpKind::ThreadStart, 0, 0));
        let mut accesses = vec![access(1, AccessKind::Write, Y, 4, 5, 0)];
        for (at, (thread, kind)) in kinds.into_iter().enumerate() {
            let mut one = access(thread, kind, X, 4, 5, at as u32 + 1);
            one.pc = 10 + u64::from(thread);
            accesses.push(one);
        }
        if reads_y {
            let mut one = access(2, AccessKind::Read, Y, 4, 5, 9);
            one.pc = 30;
            accesses.push(one);
        }
        let mut run = execution(3, events, accesses);
        run.incidents.push(Incident {
            thread: 2,
            after: 5,
            count: 9,
            pc: 99,
            obj: 0,
            arg: 0,
            kind: IncidentKind::Failure(Failure::Assertion),
            text: "x".into(),
        });
        run
    }

    fn sets(runs: &[Execution]) -> (Vec<bool>, Vec<Vec<Vec<u64>>>) {
        let (mut behind, mut finder) = (Behind::default(), DefectFinder::new());
        let mut news = Vec::new();
        let mut failure = None;
        for run in runs {
            let defects = finder.find(run);
            news.push(behind.learn(run, &defects));
            failure = defects.into_iter().find(|defect| defect.signature.kind == Kind::Assertion);
        }
        let sets = behind.of(&failure.unwrap().signature).iter();
        (news, vec![sets.flat_map(|set| set.iter().map(|race| race.places.clone())).collect()])
    }

    const WRITTEN_FIRST: [(u16, AccessKind); 2] = [(1, AccessKind::Write), (2, AccessKind::Read)];
    const READ_FIRST: [(u16, AccessKind); 2] = [(2, AccessKind::Read), (1, AccessKind::Write)];

    #[test]
    fn only_what_the_thread_has_seen_lies_behind_its_failure() {
        assert_eq!(sets(&[failing(WRITTEN_FIRST, false)]).1, [[vec![11, 12]]]);
        assert_eq!(sets(&[failing(READ_FIRST, false)]).1, [Vec::<Vec<u64>>::new()]);
    }

    #[test]
    fn least_sets_are_kept_and_only_they_are_news() {
        let runs = [failing(WRITTEN_FIRST, true), failing(WRITTEN_FIRST, false), failing(WRITTEN_FIRST, true)];
        let (news, behind) = sets(&runs);
        assert_eq!(news, [true, true, false]);
        assert_eq!(behind, [[vec![11, 12]]]);
        let (news, behind) = sets(&[failing(WRITTEN_FIRST, false), failing(READ_FIRST, false)]);
        assert_eq!((news, behind), (vec![true, true], vec![Vec::new()]));
    }

    /// A thread that only writes over a racy value has not seen it.
    #[test]
    fn a_write_sees_nothing() {
        let written = [(1, AccessKind::Write), (2, AccessKind::Write)];
        assert_eq!(sets(&[failing(written, false)]).1, [Vec::<Vec<u64>>::new()]);
    }
}
