//! Lengths, and words that are for people only.

use std::collections::BTreeMap;

use crate::{assert_none, files, read};

/// Columns of a line of Rust.
const MAX_COLUMNS: usize = 120;
/// Columns of a line of prose: comments, and pages.
const MAX_PROSE: usize = 100;
/// Lines of a file.
const MAX_LINES: usize = 800;

/// Words for people, and words without a meaning in this field. Put together here, so that this
/// file does not contain them.
fn unwanted() -> [String; 6] {
    let body = |start: &str| format!("{start}body");
    [
        body("some"),
        body("no"),
        body("every"),
        ["who", "ever"].concat(),
        ["in", "vain"].join(" "),
        ["hand", "ful"].concat(),
    ]
}

#[test]
fn lines_of_code_fit() {
    let mut wrong = Vec::new();
    for path in files(&["rs"]) {
        for (number, line) in read(&path).lines().enumerate().filter(|(_, line)| line.chars().count() > MAX_COLUMNS) {
            wrong.push(format!("{}:{}: {} columns", path.display(), number + 1, line.chars().count()));
        }
    }
    assert_none(&wrong);
}

/// Lines that cannot be wrapped are left out: rows of tables, examples, addresses.
#[test]
fn lines_of_prose_fit() {
    let mut wrong = Vec::new();
    for path in files(&["rs", "md"]) {
        let is_page = path.extension().is_some_and(|end| end == "md");
        let mut is_example = false;
        for (number, line) in read(&path).lines().enumerate() {
            let prose = if is_page { line } else { line.trim_start() };
            let Some(text) = prose.strip_prefix(if is_page { "" } else { "//" }) else { continue };
            let text = text.trim_start_matches(['/', '!']).trim_start();
            is_example ^= text.starts_with("```");
            let is_whole = is_example || text.starts_with(['|', '#']) || text.contains("://");
            let columns = line.chars().count();
            if !is_whole && columns > MAX_PROSE {
                wrong.push(format!("{}:{}: {columns} columns", path.display(), number + 1));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn files_are_not_too_long() {
    let counted = files(&["rs", "md", "c", "cpp", "h", "js", "css", "html"]).into_iter().map(|path| {
        let lines = read(&path).lines().count();
        (path, lines)
    });
    let long = counted.filter(|(_, lines)| *lines > MAX_LINES);
    assert_none(&long.map(|(path, lines)| format!("{}: {lines} lines", path.display())).collect::<Vec<_>>());
}

#[test]
fn threads_and_events_are_not_people() {
    let unwanted = unwanted();
    let mut wrong = Vec::new();
    for path in files(&["rs", "md"]) {
        let is_code = path.extension().is_some_and(|end| end == "rs");
        for (number, line) in read(&path).lines().enumerate() {
            let prose = if is_code { line.split_once("//").map_or("", |(_, comment)| comment) } else { line };
            let prose = prose.to_lowercase();
            for word in unwanted.iter().filter(|word| contains_word(&prose, word)) {
                wrong.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    assert_none(&wrong);
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_end = |part: &str, at: usize| !part.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
    text.match_indices(word).any(|(at, _)| (at == 0 || is_end(text, at - 1)) && is_end(text, at + word.len()))
}

/// One name, one concept: no two crates have a public type of the same name.
#[test]
fn public_types_have_names_of_their_own() {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files(&["rs"]) {
        let shown = path.display().to_string();
        // The folders of the processors have the same modules with the same types.
        let is_of_other_processor = shown.contains("/src/arch/") && !shown.contains("/x86_64/");
        if !shown.contains("/src/") || is_of_other_processor {
            continue;
        }
        for line in read(&path).lines() {
            if let Some(name) = public_type(line) {
                seen.entry(name).or_default().push(shown.clone());
            }
        }
    }
    let twice = seen.iter().filter(|(_, places)| places.len() > 1);
    assert_none(&twice.map(|(name, places)| format!("{name}: {}", places.join(" "))).collect::<Vec<_>>());
}

fn public_type(line: &str) -> Option<String> {
    let rest = line.strip_prefix("pub ")?;
    let name = ["struct ", "enum ", "trait ", "union ", "type "].iter().find_map(|word| rest.strip_prefix(word))?;
    let end = name.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(name.len());
    Some(name[..end].to_string())
}
