//! The source lines that a page needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::annotated::code::{self, Lines};
use crate::bundle::ReportBundle;

/// Files of up to this many lines are shown whole.
const WHOLE: usize = 2000;
/// Of longer files, this many lines around each place are shown.
const AROUND: usize = 40;
/// The most bytes of source in a page.
const MOST_BYTES: usize = 4 << 20;
/// Larger files are not read.
const LARGEST_FILE: u64 = 16 << 20;

/// Lines of a file: each run of lines with the number of its first.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Excerpt {
    parts: Vec<(usize, Vec<String>)>,
    /// Whether the file has changed since the program ran: these lines are those that ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    changed: bool,
}

/// The files with places of findings and traces, as far as they can be read.
pub(super) fn of(run: &ReportBundle) -> BTreeMap<String, Excerpt> {
    let mut wanted: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut directory = String::new();
    for (finding, trace) in run.findings() {
        let of_finding = finding.accesses.iter().flat_map(|access| access.stack.iter().chain([&access.place]));
        let of_trace = trace.iter().flat_map(|trace| &trace.places);
        for place in of_finding.chain(of_trace) {
            if let (Some(file), Some(line)) = (&place.file, place.line) {
                wanted.entry(file).or_default().insert(line as usize);
            }
        }
        if let Some(trace) = trace {
            directory.clone_from(&trace.directory);
        }
    }
    let mut left = MOST_BYTES;
    let mut all = BTreeMap::new();
    for (file, lines) in wanted {
        let now = read(Path::new(&directory), file);
        let kept: Lines = run.traces.values().filter_map(|trace| trace.code.get(file)).flatten().fold(
            Lines::new(),
            |mut all, (&number, line)| {
                all.insert(number, line.clone());
                all
            },
        );
        let changed = !kept.is_empty() && code::differs(&kept, now.as_deref());
        let excerpt = if changed { then(&kept) } else { cut(now.as_deref().unwrap_or(""), &lines) };
        let size = excerpt.parts.iter().flat_map(|(_, lines)| lines).map(String::len).sum::<usize>();
        if (now.is_none() && !changed) || size > left {
            continue;
        }
        left -= size;
        all.insert(file.to_string(), excerpt);
    }
    all
}

/// The lines that were kept.
fn then(kept: &Lines) -> Excerpt {
    let mut parts: Vec<(usize, Vec<String>)> = Vec::new();
    for (&number, line) in kept {
        match parts.last_mut() {
            Some((first, part)) if *first + part.len() == number as usize => part.push(line.clone()),
            _ => parts.push((number as usize, vec![line.clone()])),
        }
    }
    Excerpt { parts, changed: true }
}

fn read(directory: &Path, file: &str) -> Option<String> {
    let path = directory.join(file);
    let about = std::fs::metadata(&path).ok()?;
    if !about.is_file() || about.len() > LARGEST_FILE {
        return None;
    }
    Some(String::from_utf8_lossy(&std::fs::read(&path).ok()?).into_owned())
}

fn cut(text: &str, wanted: &BTreeSet<usize>) -> Excerpt {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= WHOLE {
        return Excerpt { parts: vec![(1, lines.into_iter().map(String::from).collect())], changed: false };
    }
    let mut parts: Vec<(usize, Vec<String>)> = Vec::new();
    for &line in wanted {
        let from = line.saturating_sub(AROUND).max(1);
        let next = parts.last().map_or(1, |(first, part)| first + part.len());
        let to = (line + AROUND).min(lines.len());
        for number in from.max(next)..=to {
            match parts.last_mut() {
                Some((first, part)) if *first + part.len() == number => part.push(lines[number - 1].into()),
                _ => parts.push((number, vec![lines[number - 1].into()])),
            }
        }
    }
    Excerpt { parts, changed: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_cut_to_the_places() {
        let text: String = (1..=5000).map(|number| format!("line {number}\n")).collect();
        let excerpt = cut(&text, &BTreeSet::from([1000, 1010, 4999, 9999]));
        let firsts: Vec<(usize, usize)> = excerpt.parts.iter().map(|(first, part)| (*first, part.len())).collect();
        assert_eq!(firsts, [(960, 91), (4959, 42)]);
        assert_eq!(excerpt.parts[0].1[40], "line 1000");
        assert_eq!(cut("a\nb", &BTreeSet::new()).parts, [(1, vec!["a".to_string(), "b".to_string()])]);
    }
}
