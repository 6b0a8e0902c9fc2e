//! The source lines that a trace speaks of, as they were when the program ran.

use std::collections::BTreeMap;
use std::path::Path;

use raddle_model::finding::{Finding, Place};

use super::AnnotatedTrace;

/// Lines that are kept before and after each place.
const AROUND: u32 = 4;
/// Lines of all files that are kept.
const MOST_LINES: usize = 4000;
/// Longer lines are cut.
const LONGEST_LINE: usize = 400;
/// Larger files are not read.
const LARGEST_FILE: u64 = 16 << 20;

/// Lines of one file by their numbers, from 1.
pub type Lines = BTreeMap<u32, String>;

impl AnnotatedTrace {
    /// Keeps the code around all places of the trace and of its finding.
    pub fn keep_code(&mut self, finding: &Finding) {
        let of_finding = finding.accesses.iter().flat_map(|access| access.stack.iter().chain([&access.place]));
        let places: Vec<Place> = of_finding.chain(&self.places).cloned().collect();
        let mut left = MOST_LINES;
        let mut files: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        for place in &places {
            let (Some(file), Some(line)) = (&place.file, place.line) else { continue };
            let directory = Path::new(&self.directory);
            let Some(text) = files.entry(file.clone()).or_insert_with(|| read(&directory.join(file))) else { continue };
            let kept = self.code.entry(file.clone()).or_default();
            for number in line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND) {
                let Some(code) = text.get(number as usize - 1) else { break };
                if left > 0 && !kept.contains_key(&number) {
                    kept.insert(number, code.clone());
                    left -= 1;
                }
            }
        }
        self.code.retain(|_, lines| !lines.is_empty());
    }
}

/// Whether the file has the kept lines no more.
#[must_use]
pub fn differs(kept: &Lines, text: Option<&str>) -> bool {
    let Some(text) = text else { return true };
    let now: Vec<&str> = text.lines().collect();
    kept.iter().any(|(&number, code)| now.get(number as usize - 1).is_none_or(|line| cut(line) != *code))
}

/// A file in which only the kept lines have text.
#[must_use]
pub fn text_of(kept: &Lines) -> String {
    let mut text = String::new();
    let mut number = 1;
    for (&at, code) in kept {
        while number < at {
            text.push('\n');
            number += 1;
        }
        text.push_str(code);
    }
    text
}

fn read(path: &Path) -> Option<Vec<String>> {
    let about = std::fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= LARGEST_FILE)?;
    let mut bytes = Vec::with_capacity(about.len() as usize);
    std::io::Read::read_to_end(&mut std::fs::File::open(path).ok()?, &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(cut).collect())
}

fn cut(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Place {
        Place { file: Some("a.c".into()), line: Some(line), ..Place::default() }
    }

    #[test]
    fn an_edit_is_noticed_and_the_old_code_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.c");
        let old: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        std::fs::write(&file, &old).unwrap();
        let mut trace = AnnotatedTrace {
            directory: directory.path().to_string_lossy().into_owned(),
            places: vec![at(10), at(12), at(99)],
            ..AnnotatedTrace::default()
        };
        trace.keep_code(&raddle_testkit::finding::race(Vec::new()));
        let kept = &trace.code["a.c"];
        assert_eq!((kept.len(), kept[&6].as_str(), kept[&16].as_str()), (11, "line 6", "line 16"));
        assert!(!differs(kept, Some(&old)));
        assert!(!differs(kept, Some(&old.replace("line 30", "line thirty"))), "that line was not kept");
        assert!(differs(kept, Some(&old.replace("line 12", "line twelve"))));
        assert!(differs(kept, Some(&format!("new\n{old}"))) && differs(kept, None));
        assert_eq!(text_of(kept).lines().nth(11), Some("line 12"));
    }
}
