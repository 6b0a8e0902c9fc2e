//! Runs that the watchdog ended, each at the end of its patience.

use std::collections::BTreeMap;

use raddle_model::finding::Place;
use raddle_model::{Execution, Incident, IncidentKind, Op};
use raddle_vocab::{Failure, RunStatus};

/// Such runs that end at one place, and such runs in all, after which the search ends: each of them
/// takes as long as thousands of others, and those that follow would tell the same.
const MOST_AT_ONE_PLACE: u32 = 3;
const MOST: u32 = 8;

/// The signal by which such a run is reported, on Linux.
const SIGXCPU: u64 = 24;

/// How often the watchdog had to end a run.
#[derive(Debug, Default)]
pub struct Hangs {
    by_place: BTreeMap<u64, u32>,
}

impl Hangs {
    /// Counts an execution, if the watchdog ended it. Returns the hang if the search shall end.
    pub fn met<'a>(&mut self, execution: &'a Execution) -> Option<&'a Incident> {
        let hang = hang(execution)?;
        let here = self.by_place.entry(hang.pc).or_default();
        *here += 1;
        let is_enough = *here >= MOST_AT_ONE_PLACE || self.by_place.values().sum::<u32>() >= MOST;
        // A lone thread has nothing else to do, unless there were values to choose from.
        let is_choice = |op: &Op| matches!(op, Op::Choice(_));
        let is_alone = execution.threads.len() == 1 && !execution.events.iter().any(|event| is_choice(&event.op));
        (is_enough || is_alone).then_some(hang)
    }
}

/// What the watchdog noted in the run that it ended.
fn hang(execution: &Execution) -> Option<&Incident> {
    let is_hang =
        |incident: &&Incident| incident.kind == IncidentKind::Failure(Failure::Signal) && incident.arg == SIGXCPU;
    execution.incidents.iter().find(is_hang).filter(|_| execution.status == RunStatus::Damaged)
}

/// Why the search ends, in words.
pub fn words(thread: &str, place: &Place) -> String {
    let function = place.function.as_deref().map(|name| format!(" in {name}")).unwrap_or_default();
    let at = Place { function: None, ..place.clone() };
    let at = crate::naming::place_text(&at).map(|at| format!(" at {at}")).unwrap_or_default();
    format!("{thread} goes on for ever without an operation{function}{at}: what other schedules show was not explored")
}

#[cfg(test)]
mod tests {
    use raddle_model::fixture::{done, execution};
    use raddle_vocab::OpKind;

    use super::*;

    fn hung(threads: u16, pc: u64) -> Execution {
        let mut run = execution(threads, vec![done(0, OpKind::Lock, 0x10, 0)]);
        run.status = RunStatus::Damaged;
        run.incidents.push(Incident {
            thread: 0,
            after: 1,
            count: 0,
            pc,
            obj: 0,
            arg: SIGXCPU,
            kind: IncidentKind::Failure(Failure::Signal),
            text: "it made no step for 10 seconds".into(),
        });
        run
    }

    #[test]
    fn the_search_ends_where_hangs_repeat() {
        let mut hangs = Hangs::default();
        assert!(hangs.met(&hung(2, 1)).is_none());
        assert!(hangs.met(&execution(2, Vec::new())).is_none(), "a run that ends by itself");
        assert!(hangs.met(&hung(2, 2)).is_none(), "another place");
        assert!(hangs.met(&hung(2, 1)).is_none());
        assert_eq!(hangs.met(&hung(2, 1)).map(|hang| hang.pc), Some(1));
        let mut everywhere = Hangs::default();
        assert_eq!((1..).find(|&pc| everywhere.met(&hung(2, pc)).is_some()), Some(u64::from(MOST)));
    }

    #[test]
    fn a_lone_thread_that_hangs_leaves_nothing_to_explore() {
        assert!(Hangs::default().met(&hung(1, 1)).is_some());
        let mut chooses = hung(1, 1);
        chooses.events.push(done(0, OpKind::Choose, 2, 1));
        assert!(Hangs::default().met(&chooses).is_none());
    }

    #[test]
    fn the_words_say_where() {
        let place = Place { file: Some("a.c".into()), line: Some(4), column: Some(9), function: Some("spin".into()) };
        let said = words("T1", &place);
        assert!(said.starts_with("T1 goes on for ever without an operation in spin at a.c:4: "), "{said}");
        assert!(words("T0", &Place::default()).starts_with("T0 goes on for ever without an operation: "));
    }
}
