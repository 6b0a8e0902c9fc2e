//! What came of one piece of work, as bytes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use raddle_exec::NoticedFacts;
use raddle_explore::IncompleteReason;
use raddle_explore::optimal::{WorkItem, items};
use raddle_model::finding::StatsRow;
use serde::{Deserialize, Serialize};

/// Schedules, sentences or paths of one result, at most.
const MOST: usize = 1 << 16;

/// The result of a piece of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ResultRow {
    pub stats: Option<StatsRow>,
    pub incomplete: Option<IncompleteReason>,
    /// Whether the search cannot be divided.
    pub is_handed_over: bool,
    /// Whether a held lock was overwritten.
    pub has_overwritten_lock: bool,
    /// Why the piece could not be explored.
    pub lost: Option<String>,
    /// Where runtime and model disagree.
    pub disagreement: Option<String>,
    /// What runs showed that is not modelled.
    pub noticed: NoticedFacts,
    /// Files that were mapped.
    pub loaded: Vec<String>,
    /// Checksums of defects, in increasing order, each with the number of a schedule.
    pub defects: Vec<(u64, u32)>,
    /// Schedules that showed something, as work items.
    pub telling: Vec<u8>,
}

/// The same, read.
#[derive(Debug)]
pub(super) struct PartResult {
    pub row: ResultRow,
    pub telling: Vec<WorkItem>,
}

impl PartResult {
    /// Reads a result.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: postcard::Error| format!("a result makes no sense: {error}");
        let (row, rest): (ResultRow, &[u8]) = postcard::take_from_bytes(bytes).map_err(wrong)?;
        let telling = items::decode(&row.telling).map_err(|error| error.to_string())?;
        let NoticedFacts { calls, remarks, .. } = &row.noticed;
        let lengths = [calls.len(), remarks.len(), row.loaded.len(), row.defects.len(), telling.len()];
        let is_known = |&(_, number): &(u64, u32)| (number as usize) < telling.len();
        if !rest.is_empty() || lengths.iter().any(|&length| length > MOST) || !row.defects.iter().all(is_known) {
            return Err("a result contradicts itself".into());
        }
        Ok(PartResult { row, telling })
    }
}

/// Schedules that showed something, each defect with the least one.
#[derive(Clone, Debug, Default)]
pub(super) struct Telling {
    of_defect: BTreeMap<u64, WorkItem>,
    /// Those that tell something of the cause of a failure.
    of_cause: Vec<WorkItem>,
}

/// Whether the first work item comes before the second: shorter ones first, then by their choices.
fn is_less(a: &WorkItem, b: &WorkItem) -> bool {
    order(a, b) == Ordering::Less
}

fn order(a: &WorkItem, b: &WorkItem) -> Ordering {
    a.schedule.len().cmp(&b.schedule.len()).then_with(|| a.schedule.iter().cmp(b.schedule.iter()))
}

impl Telling {
    /// A run showed this defect.
    pub fn defect(&mut self, checksum: u64, item: &WorkItem) {
        match self.of_defect.get_mut(&checksum) {
            Some(known) if is_less(item, known) => *known = item.clone(),
            Some(_) => {}
            None => {
                self.of_defect.insert(checksum, item.clone());
            }
        }
    }

    /// A run told something of a cause.
    pub fn cause(&mut self, item: &WorkItem) {
        if !self.of_cause.contains(item) {
            self.of_cause.push(item.clone());
        }
    }

    /// All schedules, the least first, each once.
    pub fn schedules(&self) -> Vec<WorkItem> {
        let mut all: Vec<&WorkItem> = self.of_defect.values().chain(&self.of_cause).collect();
        all.sort_by(|a, b| order(a, b));
        all.dedup();
        all.into_iter().cloned().collect()
    }

    /// Adds what a result tells.
    pub fn add(&mut self, part: &PartResult) {
        let mut is_named = vec![false; part.telling.len()];
        for &(checksum, number) in &part.row.defects {
            is_named[number as usize] = true;
            self.defect(checksum, &part.telling[number as usize]);
        }
        for (item, _) in part.telling.iter().zip(is_named).filter(|(_, is_named)| !is_named) {
            self.cause(item);
        }
    }

    /// Puts defects and schedules into a result. False: the schedules are too long for one.
    pub fn put_into(&self, row: &mut ResultRow) -> bool {
        let schedules = self.schedules();
        let number = |item: &WorkItem| schedules.iter().position(|known| known == item).unwrap_or(0) as u32;
        row.defects = self.of_defect.iter().map(|(&checksum, item)| (checksum, number(item))).collect();
        let encoded = items::encode(&schedules);
        let is_short = encoded.is_some();
        row.telling = encoded.unwrap_or_default();
        is_short
    }
}

/// The result of a piece of work that no process could explore, for this reason.
#[must_use]
pub fn lost(reason: &str) -> Vec<u8> {
    let telling = items::encode(&[]).unwrap_or_default();
    let row = ResultRow { lost: Some(reason.into()), telling, ..ResultRow::default() };
    postcard::to_stdvec(&row).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Choice;

    fn item(threads: &[u16]) -> WorkItem {
        let choices: Vec<Choice> = threads.iter().copied().map(Choice::of).collect();
        WorkItem { schedule: choices.into() }
    }

    #[test]
    fn of_each_defect_the_least_schedule_is_kept_in_any_order() {
        let met = [(7, item(&[1, 2])), (7, item(&[2])), (7, item(&[1])), (9, item(&[1])), (7, item(&[1, 1, 1]))];
        for shift in 0..met.len() {
            let mut telling = Telling::default();
            for (checksum, item) in met.iter().cycle().skip(shift).take(met.len()) {
                telling.defect(*checksum, item);
            }
            assert_eq!(telling.schedules(), [item(&[1])]);
        }
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let mut telling = Telling::default();
        telling.defect(4, &item(&[1, 0]));
        telling.defect(2, &item(&[0]));
        telling.cause(&item(&[0, 0]));
        let mut row = ResultRow { loaded: vec!["a".into()], ..ResultRow::default() };
        assert!(telling.put_into(&mut row));
        let bytes = postcard::to_stdvec(&row).unwrap();
        let part = PartResult::from_bytes(&bytes).unwrap();
        assert_eq!(part.row, row);
        let mut again = Telling::default();
        again.add(&part);
        assert_eq!(again.schedules(), telling.schedules());
        for end in 0..bytes.len() {
            assert!(PartResult::from_bytes(&bytes[..end]).is_err());
        }
        assert_eq!(PartResult::from_bytes(&lost("why")).unwrap().row.lost.as_deref(), Some("why"));
    }

    #[test]
    fn results_that_contradict_themselves_are_refused() {
        let telling = items::encode(&[item(&[1])]).unwrap();
        let row = ResultRow { defects: vec![(1, 1)], telling, ..ResultRow::default() };
        let mut bytes = postcard::to_stdvec(&row).unwrap();
        assert!(PartResult::from_bytes(&bytes).unwrap_err().contains("contradicts"));
        bytes.push(0);
        assert!(PartResult::from_bytes(&bytes).is_err());
    }
}
