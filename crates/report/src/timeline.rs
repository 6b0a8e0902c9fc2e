//! The schedule of a witness, one column per thread, shortened to what a reader needs.

use raddle_model::finding::Place;
use serde::{Deserialize, Serialize};

/// Rows shown without any shortening.
const SHORT: usize = 24;
/// The most rows that are shown.
const MOST: usize = 48;
/// Of successive rows of one thread, how many are kept at the start and at the end.
const KEPT_AT_START: usize = 1;
const KEPT_AT_END: usize = 2;

/// A thread of the schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// `T1`.
    pub thread: String,
    /// What the program calls it.
    pub name: Option<String>,
}

/// One action of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Index of its column.
    pub column: usize,
    /// What: `lock m`.
    pub text: String,
    /// Where.
    pub place: Place,
    /// The number that the finding gives it, if it is one of its accesses.
    pub mark: Option<usize>,
}

/// A schedule as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Threads.
    pub columns: Vec<Column>,
    /// Their actions, in order.
    pub rows: Vec<Row>,
}

/// A row, or how many were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    Row(&'a Row),
    /// How many rows were left out, and their column if they are all of one thread.
    Gap(usize, Option<usize>),
}

/// The rows to show. If there are few, all. Otherwise, of successive rows of one thread, the first
/// and the last, because a schedule is about switches. If these are still too many, the last of
/// them.
pub(crate) fn shorten(rows: &[Row]) -> Vec<Shown<'_>> {
    if rows.len() <= SHORT {
        return rows.iter().map(Shown::Row).collect();
    }
    let mut shown = Vec::new();
    for same_thread in rows.chunk_by(|a, b| a.column == b.column) {
        shorten_rows_of_one_thread(same_thread, &mut shown);
    }
    last_of(shown, MOST)
}

/// The last rows, at most so many, the first of which says how many are left out.
pub(crate) fn last_of(mut shown: Vec<Shown<'_>>, most: usize) -> Vec<Shown<'_>> {
    if shown.len() > most {
        let cut = shown.len() - (most - 1);
        let left_out: usize = shown[..cut].iter().map(rows_in).sum();
        shown.splice(..cut, [Shown::Gap(left_out, None)]);
    }
    shown
}

fn rows_in(shown: &Shown<'_>) -> usize {
    match shown {
        Shown::Row(_) => 1,
        Shown::Gap(count, _) => *count,
    }
}

fn shorten_rows_of_one_thread<'a>(rows: &'a [Row], shown: &mut Vec<Shown<'a>>) {
    let mut left_out = 0;
    for (index, row) in rows.iter().enumerate() {
        let is_end = index < KEPT_AT_START || index + KEPT_AT_END >= rows.len();
        // A gap of one row would save nothing.
        if is_end || row.mark.is_some() || rows.len() <= KEPT_AT_START + KEPT_AT_END + 1 {
            if left_out > 0 {
                shown.push(Shown::Gap(left_out, Some(row.column)));
                left_out = 0;
            }
            shown.push(Shown::Row(row));
        } else {
            left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[usize]) -> Vec<Row> {
        let row = |(number, &column): (usize, &usize)| Row { column, text: number.to_string(), ..Row::default() };
        columns.iter().enumerate().map(row).collect()
    }

    #[test]
    fn short_schedules_are_shown_whole() {
        let rows = rows(&[0; SHORT]);
        assert_eq!(shorten(&rows).len(), SHORT);
    }

    #[test]
    fn rows_of_one_thread_keep_their_ends() {
        let mut columns = vec![0; 20];
        columns.extend([1; 10]);
        let rows = rows(&columns);
        let shown = shorten(&rows);
        let expected = [
            Shown::Row(&rows[0]),
            Shown::Gap(17, Some(0)),
            Shown::Row(&rows[18]),
            Shown::Row(&rows[19]),
            Shown::Row(&rows[20]),
            Shown::Gap(7, Some(1)),
            Shown::Row(&rows[28]),
            Shown::Row(&rows[29]),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn marked_rows_stay() {
        let mut rows = rows(&[0; 30]);
        rows[10].mark = Some(1);
        assert!(shorten(&rows).contains(&Shown::Row(&rows[10])));
    }

    #[test]
    fn many_switches_keep_the_end() {
        let columns: Vec<usize> = (0..400).map(|n| n % 2).collect();
        let rows = rows(&columns);
        let shown = shorten(&rows);
        assert_eq!(shown.len(), MOST);
        assert_eq!(shown[0], Shown::Gap(400 - (MOST - 1), None));
        assert_eq!(shown.iter().map(rows_in).sum::<usize>(), 400);
        assert_eq!(shown[MOST - 1], Shown::Row(&rows[399]));
    }
}
