//! The schedule in columns, one per thread, or as a list.

use std::fmt::Write as _;

use super::style::{FAINT, HEADING, paint};
use super::words::place_short;
use crate::escape::clean;
use crate::timeline::{Row, Shown, Timeline, shorten};

/// Least width of a column.
const NARROWEST: usize = 14;
/// Space between columns.
const GAP: usize = 2;
/// More threads are listed one below the other.
const MOST_COLUMNS: usize = 4;
/// Least room for what a thread does, in a list.
const LEAST_TEXT: usize = 20;

/// How the table is laid out.
pub(super) struct Layout<'a> {
    /// Spaces before each line.
    pub indent: usize,
    /// Characters of a line.
    pub width: usize,
    /// Lines, at most, without the heading.
    pub rows: usize,
    /// Names of the objects that matter.
    pub objects: &'a [&'a str],
}

/// The schedule with a column for each thread; as a list if that does not fit, so that nothing is
/// cut that matters.
pub(super) fn table(timeline: &Timeline, layout: &Layout<'_>) -> String {
    let shown = shorten(&timeline.rows, layout.objects, layout.rows);
    let used = used_columns(timeline, &shown);
    let cells: Vec<Option<String>> = shown.iter().map(|shown| cell(shown)).collect();
    let heads: Vec<String> = used.iter().map(|&column| head(timeline, column)).collect();
    let natural = |index: usize| {
        let mine = shown.iter().zip(&cells).filter(|(shown, _)| column_of(shown) == Some(used[index]));
        let longest = mine.filter_map(|(_, cell)| cell.as_deref()).map(length).max().unwrap_or(0);
        longest.max(length(&heads[index])).max(NARROWEST)
    };
    let widths: Vec<usize> = (0..used.len()).map(natural).collect();
    let total: usize = widths.iter().map(|width| width + GAP).sum();
    if used.len() > MOST_COLUMNS || total > layout.width.saturating_sub(layout.indent) + GAP {
        return list(timeline, &shown, layout);
    }
    let mut text = String::new();
    let margin = " ".repeat(layout.indent);
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
                let _ = writeln!(text, "{}{cell}", " ".repeat(offset));
            }
            _ => text.push('\n'),
        }
    }
    text
}

/// One line below the other: the thread where it changes, what it does, and where.
fn list(timeline: &Timeline, shown: &[Shown<'_>], layout: &Layout<'_>) -> String {
    let name = |column: usize| clean(&timeline.columns[column].thread).into_owned();
    let names = (0..timeline.columns.len()).map(|column| length(&name(column))).max().unwrap_or(0);
    let places = shown.iter().filter_map(|shown| match shown {
        Shown::Row(row) => place_short(&row.place).map(|place| length(&place)),
        Shown::Gap(..) => None,
    });
    let places = places.max().unwrap_or(0);
    let room = layout.width.saturating_sub(layout.indent + names + places + 2 * GAP).max(LEAST_TEXT);
    let longest = shown.iter().filter_map(|shown| match shown {
        Shown::Row(row) => Some(length(&action(row))),
        Shown::Gap(..) => None,
    });
    let width = longest.max().unwrap_or(0).min(room);
    let (mut text, mut last) = (String::new(), None);
    for shown in shown {
        let column = column_of(shown);
        let thread = column.filter(|_| column != last).map(name).unwrap_or_default();
        last = column;
        let line = match shown {
            Shown::Row(row) => {
                let what = squeezed(&action(row), width);
                match place_short(&row.place) {
                    Some(place) => format!("{}{}", padded(&what, width), paint(FAINT, &place)),
                    None => what,
                }
            }
            Shown::Gap(count, Some(_)) => paint(FAINT, &format!("… {count} more")),
            Shown::Gap(count, None) => paint(FAINT, &format!("… {count} steps")),
        };
        let line = format!("{}{}{line}", " ".repeat(layout.indent), padded(&thread, names));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The text, cut in its middle to the width: at its end stands what came of it.
fn squeezed(text: &str, width: usize) -> String {
    let count = length(text);
    if count <= width {
        return text.to_string();
    }
    let end = text.rfind(", ").map_or(0, |at| length(&text[at..]));
    let end = end.max(width / 3).min(width.saturating_sub(LEAST_TEXT / 2));
    let start = width.saturating_sub(end + 1);
    text.chars().take(start).chain(['…']).chain(text.chars().skip(count - end)).collect()
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
    let line = place_short(&row.place).map(|place| format!("  {place}")).unwrap_or_default();
    format!("{}{line}", action(row))
}

/// What the thread does, with the number that the finding gives it.
fn action(row: &Row) -> String {
    let mark = row.mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
    format!("{mark}{}", clean(&row.text))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize) -> String {
    let space = width.saturating_sub(length(text)) + GAP;
    text.to_string() + &" ".repeat(space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Column;
    use raddle_model::finding::Place;

    fn timeline(threads: usize) -> Timeline {
        let column = |thread| Column { thread: format!("T{thread}"), name: None };
        let row = |column, text: &str, line, mark| Row {
            column,
            text: text.into(),
            place: Place { file: Some("dir/bank.c".into()), line: Some(line), ..Place::default() },
            mark,
            ..Row::default()
        };
        Timeline {
            columns: (0..threads).map(column).collect(),
            rows: vec![
                row(0, "create T1", 30, None),
                row(1, "signal a very long name of a condition indeed, wakes T2", 9, None),
                row(3, "write x", 12, Some(1)),
                row(1, "read x", 10, Some(2)),
            ],
        }
    }

    fn shown(timeline: &Timeline, indent: usize, width: usize) -> String {
        let layout = Layout { indent, width, rows: usize::MAX, objects: &[] };
        anstream::adapter::strip_str(&table(timeline, &layout)).to_string()
    }

    #[test]
    fn each_thread_that_does_something_has_a_column() {
        let text = shown(&timeline(4), 2, 200);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        let heads: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(heads, ["T0", "T1", "T3"], "{text}");
        assert!(lines[0].starts_with("  T0"), "{text}");
        let column = lines[0].find("T3").unwrap();
        assert_eq!(&lines[3][column..], "(1) write x  bank.c:12", "{text}");
    }

    #[test]
    fn what_does_not_fit_is_listed_and_nothing_that_matters_is_cut() {
        let text = shown(&timeline(4), 2, 54);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 54), "{text}");
        assert!(text.contains(", wakes T2  bank.c:9") && text.contains("(1) write x"), "{text}");
        let one = Timeline { rows: vec![timeline(4).rows.remove(1); 2], ..timeline(4) };
        assert_eq!(shown(&one, 0, 54).matches("T1").count(), 1, "the thread is named where it changes");
    }

    #[test]
    fn many_threads_are_listed() {
        let mut many = timeline(6);
        many.rows = (0..6).map(|column| Row { column, text: "x".into(), ..Row::default() }).collect();
        assert_eq!(shown(&many, 0, 300), "T0  x\nT1  x\nT2  x\nT3  x\nT4  x\nT5  x\n");
    }

    #[test]
    fn an_empty_schedule_is_a_lone_heading() {
        assert_eq!(shown(&Timeline::default(), 0, 80).trim(), "");
    }
}
