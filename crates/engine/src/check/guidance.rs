//! What to do about a search that did not end.

use std::collections::BTreeMap;

use raddle_model::Execution;
use raddle_model::finding::{Reason, Stats};
use raddle_report::names::ExecutionNames;
use raddle_report::symbols::Symbols;

/// Objects that are named, at most.
const NAMED: usize = 3;
/// Longer executions are not kept to name objects.
const MOST_EVENTS: usize = 100_000;
/// Bytes by which an object is looked up.
const OBJECT_SIZE: u64 = 1;

/// Whether the execution can serve to name contended objects.
pub fn is_telling(execution: &Execution) -> bool {
    execution.threads.len() > 1 && execution.events.len() <= MOST_EVENTS
}

/// Notes for a search that was stopped before its end; `execution` is one of its runs.
pub fn notes(reason: Option<&Reason>, stats: &Stats, execution: Option<&Execution>, symbols: &Symbols) -> Vec<String> {
    let is_cut = reason.is_some_and(|reason| matches!(&*reason.code, "time-limit" | "max-executions" | "interrupted"));
    let Some(execution) = execution.filter(|_| is_cut) else { return Vec::new() };
    let mut notes = Vec::new();
    let objects = most_contended(execution);
    if !objects.is_empty() {
        let names = ExecutionNames::new(symbols, execution);
        let of_each: Vec<String> = objects.iter().map(|object| object.words(&names)).collect();
        notes.push(format!("threads compete most for {}", of_each.join(", ")));
    }
    notes.push(next_step(stats).into());
    notes
}

/// Names what [`notes`] would name, so that the symbols know it.
pub fn look_up(execution: &Execution, symbols: &Symbols) {
    let names = ExecutionNames::new(symbols, execution);
    for object in most_contended(execution) {
        let _ = object.words(&names);
    }
}

/// What the user can do, by how far the search came.
fn next_step(stats: &Stats) -> &'static str {
    match stats.preemptions_covered {
        Some(_) => {
            "to get a verdict, check a program with fewer threads, rounds or items, or give more time (--time-limit)"
        }
        None => {
            "to get a verdict, check a program with fewer threads, rounds or items; --preemptions 2 covers the \
             schedules in which most bugs show, --strategy pct samples"
        }
    }
}

/// An object that several threads use.
#[derive(Debug, PartialEq, Eq)]
struct ContendedObject {
    address: u64,
    threads: usize,
    operations: u64,
    /// Pairs of operations of different threads.
    pairs: u64,
}

impl ContendedObject {
    fn words(&self, names: &ExecutionNames<'_>) -> String {
        let name = names.locate(self.address, OBJECT_SIZE, &[]).short;
        format!("`{name}` ({} operations of {} threads)", self.operations, self.threads)
    }
}

/// The objects with most pairs of operations of different threads: each pair is an order that the
/// search may have to reverse.
fn most_contended(execution: &Execution) -> Vec<ContendedObject> {
    let mut uses: BTreeMap<u64, BTreeMap<u16, u64>> = BTreeMap::new();
    for event in &execution.events {
        for address in event.op.address().into_iter().chain(event.op.mutex_of_wait()) {
            *uses.entry(address).or_default().entry(event.thread).or_default() += 1;
        }
    }
    let objects = uses.into_iter().filter(|(_, threads)| threads.len() > 1);
    let mut objects: Vec<ContendedObject> = objects
        .map(|(address, threads)| {
            let operations: u64 = threads.values().sum();
            let own: u64 = threads.values().map(|count| count * count).sum();
            ContendedObject { address, threads: threads.len(), operations, pairs: (operations * operations - own) / 2 }
        })
        .collect();
    objects.sort_by_key(|object| (std::cmp::Reverse(object.pairs), object.address));
    objects.truncate(NAMED);
    objects
}

#[cfg(test)]
mod tests {
    use raddle_model::fixture::{done, execution};
    use raddle_vocab::OpKind;

    use super::*;

    #[test]
    fn objects_with_many_pairs_come_first() {
        let lock = |thread, object| done(thread, OpKind::Lock, object, 0);
        let events = vec![lock(0, 0x10), lock(1, 0x10), lock(1, 0x20), lock(2, 0x20), lock(0, 0x20), lock(0, 0x30)];
        let objects = most_contended(&execution(3, events));
        let found: Vec<(u64, u64)> = objects.iter().map(|object| (object.address, object.pairs)).collect();
        assert_eq!(found, [(0x20, 3), (0x10, 1)], "what one thread uses alone is left out");
    }

    #[test]
    fn the_next_step_depends_on_what_was_covered() {
        assert!(next_step(&Stats::default()).contains("--preemptions"));
        let covered = Stats { preemptions_covered: Some(2), ..Stats::default() };
        assert!(next_step(&covered).contains("--time-limit"));
    }
}
