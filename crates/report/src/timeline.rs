//! The schedule of a witness, one column per thread, shortened to what a reader needs.

use std::collections::BTreeSet;

use raddle_model::finding::Place;
use serde::{Deserialize, Serialize};

/// The most objects that are taken for what a failure comes from.
const MOST_CONTESTED: usize = 4;

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
    /// What it is on, by name.
    #[serde(default)]
    pub object: Option<String>,
    /// What sort of action it is.
    #[serde(default)]
    pub sort: RowSort,
}

/// Sorts of actions, the least telling first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RowSort {
    /// A read of data.
    #[default]
    Read,
    /// A write of data.
    Write,
    /// An operation that synchronises.
    Sync,
    /// One that wakes a thread that sleeps, if there is one.
    Signal {
        /// Whether there was one.
        wakes: bool,
    },
    /// What the thread is about to do when the run ends.
    End,
}

impl Row {
    /// How much it says of a finding about these objects. What lies within an object is on it, too.
    fn weight(&self, objects: &[&str]) -> (bool, RowSort) {
        let is_on = |object: &&str| self.object.as_deref().is_some_and(|own| own == *object);
        let sort = match self.sort {
            _ if self.mark.is_some() => RowSort::End,
            RowSort::Signal { .. } => RowSort::Sync,
            sort => sort,
        };
        (sort == RowSort::End || objects.iter().any(is_on), sort)
    }
}

/// A schedule as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Threads.
    pub columns: Vec<Column>,
    /// Their actions, in order.
    pub rows: Vec<Row>,
}

impl Timeline {
    /// What a thread used last of what other threads have changed, by name: what a failure in it
    /// may come from.
    pub(crate) fn contested(&self, column: usize) -> Vec<&str> {
        let of_others = self.rows.iter().filter(|row| row.column != column && row.sort >= RowSort::Write);
        let changed: BTreeSet<&str> = of_others.filter_map(|row| row.object.as_deref()).collect();
        let own = self.rows.iter().rev().filter(|row| row.column == column);
        let mut names: Vec<&str> = Vec::new();
        for name in own.filter_map(|row| row.object.as_deref()).filter(|name| changed.contains(name)) {
            if !names.contains(&name) && names.len() < MOST_CONTESTED {
                names.push(name);
            }
        }
        names
    }
}

/// A row, or how many were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    Row(&'a Row),
    /// How many rows were left out, and their column if they are all of one thread.
    Gap(usize, Option<usize>),
}

/// The rows to show in so many lines. If there are more, those that say most of the finding's
/// objects, and of these the last ones: data accesses are left out first, reads before writes.
pub(crate) fn shorten<'a>(rows: &'a [Row], objects: &[&str], most: usize) -> Vec<Shown<'a>> {
    if rows.len() <= most {
        return rows.iter().map(Shown::Row).collect();
    }
    let deciding = deciding(rows, objects);
    let mut by_weight: Vec<usize> = (0..rows.len()).collect();
    by_weight.sort_by_key(|&at| {
        let weight = if deciding.contains(&at) { (true, RowSort::End) } else { rows[at].weight(objects) };
        (weight, at)
    });
    by_weight.reverse();
    // Gaps take lines, too. Fewer rows can have more gaps, so the greatest number that fits is
    // looked for.
    let mut tries = (1..=most.max(1)).rev().map(|count| with_gaps(rows, &by_weight[..count]));
    tries.find(|shown| shown.len() <= most).unwrap_or_else(|| with_gaps(rows, &by_weight[..1]))
}

/// The rows that decide who sleeps on: of each object, the last operation that woke a thread, and
/// the last one that could have. Behind them there are only threads that fall asleep.
fn deciding(rows: &[Row], objects: &[&str]) -> BTreeSet<usize> {
    let last = |object: &str, is_meant: fn(RowSort) -> bool| {
        rows.iter().rposition(|row| row.object.as_deref() == Some(object) && is_meant(row.sort))
    };
    let of_object = |object: &&str| {
        let woke = last(object, |sort| sort == RowSort::Signal { wakes: true });
        [woke, last(object, |sort| matches!(sort, RowSort::Signal { .. }))]
    };
    objects.iter().flat_map(of_object).flatten().collect()
}

/// The rows with these numbers, and gaps for the others.
fn with_gaps<'a>(rows: &'a [Row], kept: &[usize]) -> Vec<Shown<'a>> {
    let kept: BTreeSet<usize> = kept.iter().copied().collect();
    let mut shown = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let length = rows[at..].iter().enumerate().take_while(|(index, _)| !kept.contains(&(at + index))).count();
        match length {
            // A gap of one row would save nothing.
            0 | 1 => {
                shown.push(Shown::Row(&rows[at]));
                at += 1;
            }
            length => {
                let gap = &rows[at..at + length];
                let column = gap.iter().all(|row| row.column == gap[0].column).then_some(gap[0].column);
                shown.push(Shown::Gap(length, column));
                at += length;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[usize]) -> Vec<Row> {
        let row = |(number, &column): (usize, &usize)| Row { column, text: number.to_string(), ..Row::default() };
        columns.iter().enumerate().map(row).collect()
    }

    fn words(shown: &[Shown<'_>]) -> Vec<String> {
        let word = |shown: &Shown<'_>| match shown {
            Shown::Row(row) => row.text.clone(),
            Shown::Gap(count, Some(column)) => format!("{count} of {column}"),
            Shown::Gap(count, None) => format!("{count}"),
        };
        shown.iter().map(word).collect()
    }

    #[test]
    fn short_schedules_are_shown_whole() {
        assert_eq!(shorten(&rows(&[0; 24]), &[], 24).len(), 24);
    }

    #[test]
    fn what_says_most_stays() {
        let mut all = rows(&[0, 0, 0, 1, 1, 0, 1, 1, 1, 1]);
        all[1].sort = RowSort::Sync;
        all[4].sort = RowSort::Write;
        all[9].mark = Some(1);
        assert_eq!(words(&shorten(&all, &[], 6)), ["0", "1", "2", "4", "4", "9"]);
    }

    #[test]
    fn accesses_of_the_finding_s_objects_come_before_other_synchronisation() {
        let mut all = rows(&[0; 12]);
        all[2].sort = RowSort::Sync;
        all[6].object = Some("x".into());
        assert_eq!(words(&shorten(&all, &["x"], 4)), ["6 of 0", "6", "5 of 0"]);
    }

    #[test]
    fn the_signal_that_decides_stays() {
        let mut all = rows(&[0; 20]);
        for (at, wakes) in [(1, true), (3, true), (4, false)] {
            (all[at].object, all[at].sort) = (Some("c".into()), RowSort::Signal { wakes });
        }
        for row in &mut all[6..19] {
            (row.object, row.sort) = (Some("c".into()), RowSort::Sync);
        }
        all[19].mark = Some(1);
        let shown = words(&shorten(&all, &["c"], 8));
        assert!(shown.contains(&"3".into()) && shown.contains(&"4".into()), "{shown:?}");
        assert!(!shown.contains(&"1".into()) && shown.ends_with(&["18".into(), "19".into()]), "{shown:?}");
        // Of other objects, nothing is said.
        assert!(!words(&shorten(&all, &["d"], 8)).contains(&"3".into()));
    }

    #[test]
    fn a_failure_may_come_from_what_others_have_changed() {
        let mut all = rows(&[0, 1, 0, 1, 0, 0, 1]);
        for (at, (object, sort)) in [
            ("count", RowSort::Write),
            ("count", RowSort::Sync),
            ("read by both", RowSort::Read),
            ("read by both", RowSort::Read),
            ("count", RowSort::Read),
            ("own", RowSort::Write),
            ("sum", RowSort::Write),
        ]
        .into_iter()
        .enumerate()
        {
            (all[at].object, all[at].sort) = (Some(object.into()), sort);
        }
        let timeline = Timeline { columns: Vec::new(), rows: all };
        assert_eq!(timeline.contested(0), ["count"]);
    }

    #[test]
    fn however_long_it_is_it_fits() {
        for most in 1..20 {
            let columns: Vec<usize> = (0..200).map(|at| at % 3).collect();
            let mut all = rows(&columns);
            for at in (0..200).step_by(7) {
                all[at].sort = RowSort::Sync;
            }
            assert!(shorten(&all, &[], most).len() <= most.max(3), "{most}");
        }
    }
}
