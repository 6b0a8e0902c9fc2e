//! What to do about a search that did not end.

use std::collections::BTreeMap;

use raddle_model::Execution;
use raddle_model::finding::{Reason, Stats};

use crate::findings::collect::Collector;
use crate::options::CheckOptions;

/// Objects that are named, at most.
const NAMED: usize = 3;
/// Longer executions are not kept to name objects.
const MOST_EVENTS: usize = 100_000;

/// Whether the execution can serve to name contended objects.
pub fn is_telling(execution: &Execution) -> bool {
    execution.threads.len() > 1 && execution.events.len() <= MOST_EVENTS
}

/// Notes for a search that was stopped before its end; `execution` is one of its runs. `named` is
/// what [`look_up`] has said of it.
pub fn notes(
    reason: Option<&Reason>,
    stats: &Stats,
    options: &CheckOptions,
    execution: Option<&Execution>,
    named: Option<Vec<String>>,
    collector: &mut Collector<'_>,
) -> Vec<String> {
    let is_cut = reason.is_some_and(|reason| matches!(&*reason.code, "time-limit" | "max-executions" | "interrupted"));
    let Some(execution) = execution.filter(|_| is_cut) else { return Vec::new() };
    let mut notes = Vec::new();
    let objects = named.unwrap_or_else(|| look_up(execution, collector));
    if !objects.is_empty() {
        notes.push(format!("threads compete most for {}", objects.join(", ")));
    }
    notes.push(next_step(stats, options));
    notes
}

/// What threads compete for most, in words. Takes a while: debug information is read, and the run
/// is made again for the names of local variables.
pub fn look_up(execution: &Execution, collector: &mut Collector<'_>) -> Vec<String> {
    most_contended(execution).iter().map(|object| object.words(execution, collector)).collect()
}

/// What the user can do, by what the search was and how far it came. No advice is to do what was
/// done.
fn next_step(stats: &Stats, options: &CheckOptions) -> String {
    let strategy = options.strategy;
    if strategy.samples() {
        return format!("samples give no verdict: leave --strategy {} out to cover every schedule", strategy.word());
    }
    let smaller = "to get a verdict, check a program with fewer threads, rounds or items";
    match (stats.preemptions_covered, options.preemptions) {
        (None, None) => {
            format!("{smaller}; --preemptions 2 covers the schedules in which most bugs show, --strategy pct samples")
        }
        (None, Some(bound)) if bound > 0 => format!("{smaller}; --preemptions {} covers fewer schedules", bound - 1),
        _ => format!("{smaller}, or give more time (--time-limit)"),
    }
}

/// An object that several threads use.
#[derive(Debug, PartialEq, Eq)]
struct ContendedObject {
    address: u64,
    /// The last event that uses it.
    last: usize,
    threads: usize,
    operations: u64,
    /// Pairs of operations of different threads.
    pairs: u64,
}

impl ContendedObject {
    fn words(&self, execution: &Execution, collector: &mut Collector<'_>) -> String {
        let name = collector.name_in(execution, self.address, self.last);
        format!("{name} ({} operations of {} threads)", self.operations, self.threads)
    }
}

/// The objects with most pairs of operations of different threads: each pair is an order that the
/// search may have to reverse.
fn most_contended(execution: &Execution) -> Vec<ContendedObject> {
    let mut uses: BTreeMap<u64, (usize, BTreeMap<u16, u64>)> = BTreeMap::new();
    for (number, event) in execution.events.iter().enumerate() {
        for address in event.op.address().into_iter().chain(event.op.mutex_of_wait()) {
            let (last, threads) = uses.entry(address).or_default();
            *last = number;
            *threads.entry(event.thread).or_default() += 1;
        }
    }
    let objects = uses.into_iter().filter(|(_, (_, threads))| threads.len() > 1);
    let mut objects: Vec<ContendedObject> = objects
        .map(|(address, (last, threads))| {
            let operations: u64 = threads.values().sum();
            let own: u64 = threads.values().map(|count| count * count).sum();
            let pairs = (operations * operations - own) / 2;
            ContendedObject { address, last, threads: threads.len(), operations, pairs }
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

    use crate::options::StrategyName;

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
        let options = CheckOptions::default();
        assert!(next_step(&Stats::default(), &options).contains("--preemptions 2"));
        let covered = Stats { preemptions_covered: Some(2), ..Stats::default() };
        assert!(next_step(&covered, &options).contains("--time-limit"));
    }

    #[test]
    fn the_advice_is_not_to_do_what_was_done() {
        let bounded = CheckOptions { preemptions: Some(2), ..CheckOptions::default() };
        let said = next_step(&Stats::default(), &bounded);
        assert!(said.contains("--preemptions 1") && !said.contains("--preemptions 2"), "{said}");
        let samples = CheckOptions { strategy: StrategyName::Random, ..CheckOptions::default() };
        let said = next_step(&Stats::default(), &samples);
        assert!(said.contains("leave --strategy random out") && !said.contains("pct"), "{said}");
    }
}
