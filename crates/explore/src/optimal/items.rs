//! Work items as bytes, for other processes.
//!
//! Work items of one frontier have long prefixes in common. Each is written as the number of
//! choices that it has in common with the one before, and runs of equal choices behind them.
//!
//! What is read is not trusted: a few bytes could stand for any number of choices, so these are
//! bounded.

use raddle_model::{Choice, common_choices};
use serde::{Deserialize, Serialize};

use super::WorkItem;
use crate::saved::Unusable;

/// Choices that a list of work items has in all, at most.
const MOST_CHOICES: usize = 1 << 24;

/// A work item, as it follows another one.
#[derive(Serialize, Deserialize)]
struct ItemRow {
    common: u32,
    /// Thread, choice, and how often.
    runs: Vec<(u16, u16, u32)>,
}

/// Writes work items; `None` if they are too many, or too long, to be read again.
#[must_use]
pub fn encode(items: &[WorkItem]) -> Option<Vec<u8>> {
    let total: usize = items.iter().map(|item| item.schedule.len()).sum();
    if total > MOST_CHOICES {
        return None;
    }
    let mut last: Vec<Choice> = Vec::new();
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let choices: Vec<Choice> = item.schedule.iter().collect();
        let length = choices.len().min(last.len());
        let common = common_choices(&choices[..length], &last[..length]);
        let mut runs: Vec<(u16, u16, u32)> = Vec::new();
        for choice in &choices[common..] {
            match runs.last_mut() {
                Some((thread, number, times)) if (*thread, *number) == (choice.thread, choice.choice) => *times += 1,
                _ => runs.push((choice.thread, choice.choice, 1)),
            }
        }
        rows.push(ItemRow { common: common as u32, runs });
        last = choices;
    }
    postcard::to_stdvec(&rows).ok()
}

/// Divides what is left of a part, the oldest first, into about so many pieces. The oldest have the
/// largest subtrees: each is a piece of its own. The others make two.
pub fn divide<T>(left: &[T], pieces: usize) -> impl Iterator<Item = &[T]> {
    let (old, young) = left.split_at(left.len().min(pieces.saturating_sub(2).max(1)));
    old.chunks(1).chain(young.chunks(young.len().div_ceil(2).max(1)))
}

/// Reads work items.
///
/// # Errors
/// If the bytes are none.
pub fn decode(bytes: &[u8]) -> Result<Vec<WorkItem>, Unusable> {
    let wrong = |error: postcard::Error| Unusable(error.to_string());
    let (rows, rest): (Vec<ItemRow>, &[u8]) = postcard::take_from_bytes(bytes).map_err(wrong)?;
    if !rest.is_empty() {
        return Err(Unusable::because("something is left behind its end"));
    }
    let mut last: Vec<Choice> = Vec::new();
    let mut total = 0usize;
    let mut items = Vec::new();
    for ItemRow { common, runs } in rows {
        let common = common as usize;
        let own = runs.iter().fold(0usize, |sum, &(_, _, times)| sum.saturating_add(times as usize));
        total = total.saturating_add(common).saturating_add(own);
        if common > last.len() {
            return Err(Unusable::because("a schedule begins with one that is not there"));
        }
        if total > MOST_CHOICES {
            return Err(Unusable::because("its schedules are too long"));
        }
        last.truncate(common);
        for (thread, choice, times) in runs {
            last.extend(std::iter::repeat_n(Choice { thread, choice }, times as usize));
        }
        items.push(WorkItem { schedule: last.clone().into() });
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(threads: &[u16]) -> WorkItem {
        let choices: Vec<Choice> = threads.iter().map(|&thread| Choice { thread, choice: thread / 4 }).collect();
        WorkItem { schedule: choices.into() }
    }

    #[test]
    fn work_items_are_read_as_they_were_written() {
        for items in [
            vec![],
            vec![item(&[])],
            vec![item(&[0, 0, 0, 1, 2]), item(&[0, 0, 0, 1, 9, 9]), item(&[]), item(&[7]), item(&[7])],
        ] {
            let bytes = encode(&items).unwrap();
            assert_eq!(decode(&bytes), Ok(items));
            for end in 0..bytes.len() {
                assert!(decode(&bytes[..end]).is_err());
            }
        }
    }

    #[test]
    fn the_oldest_work_items_are_pieces_of_their_own() {
        let left: Vec<u16> = (0..11).collect();
        let lengths = |left: &[u16], pieces| divide(left, pieces).map(<[u16]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&left, 8), [1, 1, 1, 1, 1, 1, 3, 2]);
        assert_eq!(lengths(&left[..3], 8), [1, 1, 1]);
        assert_eq!(lengths(&left, 1), [1, 5, 5]);
        assert!(lengths(&[], 8).is_empty());
        assert_eq!(divide(&left, 8).flatten().copied().collect::<Vec<_>>(), left);
    }

    #[test]
    fn neighbours_share_their_prefix() {
        let long: Vec<u16> = (0..1000).map(|n| n % 3).collect();
        let mut other = long.clone();
        other.push(4);
        let one = encode(&[item(&long)]).unwrap().len();
        assert!(encode(&[item(&long), item(&other)]).unwrap().len() < one + 10);
    }

    #[test]
    fn what_would_take_too_much_memory_is_refused() {
        let bytes = |rows: &[ItemRow]| postcard::to_stdvec(rows).unwrap();
        let long = || ItemRow { common: 0, runs: vec![(0, 0, u32::MAX), (1, 0, u32::MAX)] };
        assert!(decode(&bytes(&[long()])).is_err());
        let half = ItemRow { common: 0, runs: vec![(0, 0, 1 << 23)] };
        let again = || ItemRow { common: 1 << 23, runs: vec![] };
        assert!(decode(&bytes(&[half, again(), again()])).is_err());
        assert!(decode(&bytes(&[ItemRow { common: 1, runs: vec![] }])).is_err());
        let mut left = encode(&[item(&[1])]).unwrap();
        left.push(0);
        assert!(decode(&left).is_err());
    }
}
