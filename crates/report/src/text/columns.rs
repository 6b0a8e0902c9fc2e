//! The schedule in columns, one per thread.

use std::fmt::Write as _;

use super::style::{FAINT, HEADING, paint};
use super::words::place_short;
use crate::escape::clean;
use crate::timeline::{Row, Shown, Timeline, last_of, shorten};

/// Least width of a column.
const NARROWEST: usize = 14;
/// Greatest width of a column.
const WIDEST: usize = 56;
/// Space between columns.
const GAP: usize = 2;

/// The table, indented by `indent`, for a terminal of `width` characters, with at most `rows` rows.
pub(super) fn table(timeline: &Timeline, indent: usize, width: usize, rows: usize) -> String {
    let shown = last_of(shorten(&timeline.rows), rows);
    let used = used_columns(timeline, &shown);
    let cells: Vec<Option<String>> = shown.iter().map(|shown| cell(shown)).collect();
    let heads: Vec<String> = used.iter().map(|&column| head(timeline, column)).collect();
    let natural = |index: usize| {
        let mine = shown.iter().zip(&cells).filter(|(shown, _)| column_of(shown) == Some(used[index]));
        let longest = mine.filter_map(|(_, cell)| cell.as_deref()).map(length).max().unwrap_or(0);
        longest.max(length(&heads[index])).clamp(NARROWEST, WIDEST)
    };
    let widths = squeezed((0..used.len()).map(natural).collect(), width.saturating_sub(indent));
    let mut text = String::new();
    let margin = " ".repeat(indent);
    let head_line: String = heads.iter().zip(&widths).map(|(head, &width)| padded(head, width)).collect();
    let _ = writeln!(text, "{margin}{}", paint(HEADING, head_line.trim_end()));
    for (shown, cell) in shown.iter().zip(&cells) {
        let _ = write!(text, "{margin}");
        match (shown, cell) {
            (Shown::Gap(count, None), _) => {
                let _ = writeln!(text, "{}", paint(FAINT, &format!("… {count} steps")));
            }
            (_, Some(cell)) => {
                let column = used.iter().position(|&column| Some(column) == column_of(shown)).unwrap_or(0);
                let offset: usize = widths[..column].iter().map(|width| width + GAP).sum();
                let _ = writeln!(text, "{}{}", " ".repeat(offset), fitted(cell, widths[column]));
            }
            _ => text.push('\n'),
        }
    }
    text
}

/// Shrinks the widest columns until the line fits.
fn squeezed(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    loop {
        let total: usize = widths.iter().map(|width| width + GAP).sum();
        match widths.iter_mut().max() {
            Some(widest) if total > room + GAP && *widest > NARROWEST => *widest -= 1,
            _ => return widths,
        }
    }
}

/// Columns that have something to show, in order.
fn used_columns(timeline: &Timeline, shown: &[Shown<'_>]) -> Vec<usize> {
    (0..timeline.columns.len()).filter(|&column| shown.iter().any(|shown| column_of(shown) == Some(column))).collect()
}

fn column_of(shown: &Shown<'_>) -> Option<usize> {
    match shown {
        Shown::Row(row) => Some(row.column),
        Shown::Gap(_, column) => *column,
    }
}

fn head(timeline: &Timeline, column: usize) -> String {
    let column = &timeline.columns[column];
    match &column.name {
        Some(name) => format!("{} {}", clean(&column.thread), clean(name)),
        None => clean(&column.thread).into_owned(),
    }
}

fn cell(shown: &Shown<'_>) -> Option<String> {
    match shown {
        Shown::Row(row) => Some(row_text(row)),
        Shown::Gap(count, Some(_)) => Some(format!("… {count} more")),
        Shown::Gap(_, None) => None,
    }
}

fn row_text(row: &Row) -> String {
    let mark = row.mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
    let line = place_short(&row.place).map(|place| format!("  {place}")).unwrap_or_default();
    format!("{mark}{}{line}", clean(&row.text))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize) -> String {
    let fitted = fitted(text, width);
    let space = width.saturating_sub(length(&fitted)) + GAP;
    fitted + &" ".repeat(space)
}

/// The text, cut to the width. The place at the right end of a row is left out first.
fn fitted(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_string();
    }
    let without_place = text.rsplit_once("  ").map_or(text, |(what, _)| what);
    if length(without_place) <= width {
        return without_place.to_string();
    }
    without_place.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Column;
    use raddle_model::finding::Place;

    fn timeline() -> Timeline {
        let column = |thread: &str| Column { thread: thread.into(), name: None };
        let row = |column, text: &str, line, mark| Row {
            column,
            text: text.into(),
            place: Place { file: Some("dir/bank.c".into()), line: Some(line), ..Place::default() },
            mark,
        };
        Timeline {
            columns: vec![column("T0"), column("T1"), column("T2"), column("T3")],
            rows: vec![
                row(0, "create T1", 30, None),
                row(1, "lock a very long name of a mutex indeed", 9, None),
                row(3, "write x", 12, Some(1)),
                row(1, "read x", 10, Some(2)),
            ],
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn each_thread_that_does_something_has_a_column() {
        let expected = "  \
  T0                  T1                                               T3
  create T1  bank.c:30
                      lock a very long name of a mutex indeed
                                                                       (1) write x  bank.c:12
                      (2) read x  bank.c:10
";
        let text = plain(&table(&timeline(), 2, 200, usize::MAX));
        assert_eq!(text.lines().count(), expected.lines().count(), "{text}");
        assert!(text.starts_with("  T0"), "{text}");
        assert!(!text.contains("T2"), "{text}");
        assert!(text.contains("(1) write x  bank.c:12"), "{text}");
        let second = text.lines().nth(2).unwrap();
        assert!(second.trim_start().starts_with("lock a very long name"), "{text}");
    }

    #[test]
    fn narrow_terminals_lose_places_first_and_then_the_end_of_words() {
        let text = plain(&table(&timeline(), 0, 60, usize::MAX));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains('…'), "{text}");
        assert!(text.contains("(1) write x"), "{text}");
    }

    #[test]
    fn an_empty_schedule_is_a_lone_heading() {
        assert_eq!(plain(&table(&Timeline::default(), 0, 80, usize::MAX)).trim(), "");
    }
}
