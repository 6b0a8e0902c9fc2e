//! Which finding of a group explains most, and what is behind the group.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use raddle_model::finding::{Finding, Kind, Place, Severity, WitnessKind};

use super::{Grouping, ends_life, field_of, line_of, shared_holds};

/// The headline: an error before a warning; the end of something in use before memory errors, races
/// and what they lead to; of several, the earliest end; the place that most of the others share;
/// few preemptions. The rest of the order only makes the choice definite.
pub(super) fn choose(grouping: &Grouping<'_>, members: &[usize]) -> usize {
    let shared = shared_places(grouping, members);
    let key = |&index: &usize| {
        let finding = &grouping.findings[index];
        let places: Vec<Place> = finding.accesses.iter().map(|access| line_of(&access.place)).collect();
        let most = places.iter().filter_map(|place| shared.get(place)).max().copied().unwrap_or(0);
        let weak = finding.witness_kind == Some(WitnessKind::Unordered);
        // Whatever happens under a lock in the wrong mode is as good an example as a free.
        let class = if shared_holds(finding).is_empty() { class(finding) } else { 3 };
        let nameless = class == 3 && finding.object.as_ref().is_some_and(|object| object.name.is_none());
        let rank = (finding.severity == Severity::Warning, class, weak, nameless, progress(grouping, finding));
        (rank, Reverse(most), finding.preemptions, places, finding.message.clone(), finding.id.clone())
    };
    members.iter().copied().min_by_key(key).unwrap_or(0)
}

/// How well a finding of this sort explains others.
fn class(finding: &Finding) -> u8 {
    let frees = finding.accesses.iter().any(|access| access.op == "free");
    let ends = finding.accesses.iter().any(ends_life);
    match (finding.kind, finding.detail.as_deref()) {
        (Kind::DataRace, _) if frees => 0,
        (Kind::DataRace, _) if ends => 1,
        (Kind::Memory, Some("use-after-free" | "double-free" | "use-after-return")) => 2,
        (Kind::DataRace, _) => 3,
        (Kind::Memory, _) => 4,
        (Kind::Misuse, _) => 5,
        (Kind::Deadlock | Kind::Livelock, _) => 6,
        (Kind::Assertion, _) => 7,
        (Kind::Crash, _) => 8,
    }
}

/// How far the thread that ends something had come since it last waited.
fn progress(grouping: &Grouping<'_>, finding: &Finding) -> u32 {
    let side = finding.accesses.iter().position(ends_life);
    side.and_then(|side| grouping.standing(finding, side)).map_or(0, |standing| standing.since)
}

/// In how many races of the group a place is accessed without a lock.
fn shared_places(grouping: &Grouping<'_>, members: &[usize]) -> BTreeMap<Place, usize> {
    let mut counts: BTreeMap<Place, usize> = BTreeMap::new();
    for &index in members {
        let accesses = grouping.findings[index].accesses.iter().filter(|access| access.locks.is_empty());
        let mut places: Vec<Place> = accesses.map(|access| line_of(&access.place)).collect();
        places.sort();
        places.dedup();
        for place in places {
            *counts.entry(place).or_default() += 1;
        }
    }
    counts
}

/// A sentence about what is behind the group, if there is one.
pub(super) fn cause(grouping: &Grouping<'_>, headline: usize, members: &[usize]) -> Option<String> {
    let finding = &grouping.findings[headline];
    if finding.kind != Kind::DataRace {
        return None;
    }
    if let Some(hold) = shared_holds(finding).first() {
        let lock = &hold.lock;
        return Some(format!("both threads hold {lock}, but in shared mode only: a write needs it in exclusive mode"));
    }
    if members.len() < 2 {
        return None;
    }
    match grouping.ordered.get(&headline).and_then(|keys| keys.first()) {
        Some(key) => Some(missing_order(grouping, finding, &key.ender, members)),
        None if grouping.paired.contains(&headline) => Some(missing_lock(grouping, finding, members)),
        None => None,
    }
}

/// `T1 and T2 may still run when main frees what they use`.
fn missing_order(grouping: &Grouping<'_>, headline: &Finding, ender: &str, members: &[usize]) -> String {
    let mut users: Vec<&str> = Vec::new();
    for &index in members.iter().filter(|index| grouping.ordered.contains_key(index)) {
        let accesses = &grouping.findings[index].accesses;
        if accesses.iter().any(|access| access.thread == ender) {
            users.extend(accesses.iter().map(|access| access.thread.as_str()).filter(|thread| *thread != ender));
        }
    }
    users.sort_unstable();
    users.dedup();
    let end = headline.accesses.iter().find(|access| access.thread == ender);
    let does = match end.map(|access| access.op.as_str()) {
        Some("free") => "frees",
        Some("close") => "closes",
        Some(op) if op.ends_with("-destroy") => "destroys",
        Some(op) if op.ends_with("read") || op.ends_with("load") => "reads",
        _ => "changes",
    };
    let (they, main) = (if users.len() == 1 { "it uses" } else { "they use" }, |thread: &str| {
        if thread == "T0" { "main".to_string() } else { thread.to_string() }
    });
    let listed = match users.split_last() {
        None => "another thread".to_string(),
        Some((last, [])) => main(last),
        Some((last, rest)) => {
            format!("{} and {}", rest.iter().map(|thread| main(thread)).collect::<Vec<_>>().join(", "), main(last))
        }
    };
    let side = headline.accesses.iter().position(|access| access.thread == ender);
    let is_atomic = side.and_then(|side| grouping.standing(headline, side)).is_some_and(|standing| standing.is_atomic);
    let ender = main(ender);
    let lack = if is_atomic {
        "the atomic operation before that does not order it behind these uses".to_string()
    } else {
        format!("nothing makes {ender} wait before that")
    };
    format!("{listed} may still run when {ender} {does} what {they}: {lack}")
}

/// `not every use of \`s\` holds \`m\``.
fn missing_lock(grouping: &Grouping<'_>, headline: &Finding, members: &[usize]) -> String {
    let races = || members.iter().map(|&index| &grouping.findings[index]).filter(|one| one.kind == Kind::DataRace);
    let mut locks: Vec<&str> = Vec::new();
    for access in races().flat_map(|finding| &finding.accesses) {
        locks.extend(access.locks.iter().map(String::as_str));
    }
    locks.sort_unstable();
    locks.dedup();
    let mut fields: Vec<Option<String>> = races().map(field_of).collect();
    fields.dedup();
    let object = headline.object.as_ref();
    let what = match (&fields[..], object.and_then(|object| object.name.as_deref())) {
        ([Some(field)], _) => format!("`{field}`"),
        (_, Some(name)) => format!("`{name}`"),
        _ => "the object".to_string(),
    };
    match &locks[..] {
        [] => format!("no lock is held where {what} is used"),
        [lock] => format!("not every use of {what} holds {lock}"),
        _ => format!("the uses of {what} hold different locks"),
    }
}
