//! Source files, and the excerpts of them that findings point at.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use raddle_model::finding::{Place, Severity};

use crate::annotated::AnnotatedTrace;
use crate::annotated::code::{self, Lines};
use crate::escape::{clean, is_unsafe};

/// Larger files are not shown.
const MAX_SOURCE: u64 = 16 << 20;
/// Lines shown before and after the one pointed at.
const CONTEXT: usize = 1;

/// Reads source files, each once.
pub struct SourceCache {
    directory: PathBuf,
    read: RefCell<BTreeMap<String, Option<Rc<Source>>>>,
    /// Lines as they were when the program ran.
    kept: BTreeMap<String, Lines>,
    /// Files that are not as they were then.
    changed: RefCell<BTreeSet<String>>,
}

/// A file made safe to print, with the start of each line.
pub(super) struct Source {
    text: String,
    lines: Vec<usize>,
}

impl SourceCache {
    /// Relative paths are relative to `directory`.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        SourceCache {
            directory: directory.to_path_buf(),
            read: RefCell::default(),
            kept: BTreeMap::new(),
            changed: RefCell::default(),
        }
    }

    /// Shows the code that ran in these traces, where the files have changed since.
    #[must_use]
    pub fn as_in<'a>(mut self, traces: impl IntoIterator<Item = &'a AnnotatedTrace>) -> Self {
        for (file, lines) in traces.into_iter().flat_map(|trace| &trace.code) {
            self.kept.entry(file.clone()).or_default().extend(lines.clone());
        }
        self
    }

    /// Whether the file has changed since the program ran: what is shown of it is the code that
    /// ran.
    #[must_use]
    pub fn has_changed(&self, file: &str) -> bool {
        self.get(file);
        self.changed.borrow().contains(file)
    }

    pub(super) fn get(&self, file: &str) -> Option<Rc<Source>> {
        let known = self.read.borrow().get(file).cloned();
        known.unwrap_or_else(|| {
            let source = self.load(file).map(Rc::new);
            self.read.borrow_mut().insert(file.to_string(), source.clone());
            source
        })
    }

    fn load(&self, file: &str) -> Option<Source> {
        let now = self.read(file);
        match self.kept.get(file).filter(|kept| code::differs(kept, now.as_deref())) {
            Some(kept) => {
                self.changed.borrow_mut().insert(file.to_string());
                Some(Source::new(&code::text_of(kept)))
            }
            None => now.as_deref().map(Source::new),
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        let path = self.directory.join(file);
        let about = std::fs::metadata(&path).ok()?;
        if !about.is_file() || about.len() > MAX_SOURCE {
            return None;
        }
        Some(String::from_utf8_lossy(&std::fs::read(&path).ok()?).into_owned())
    }
}

impl Source {
    /// Unsafe characters become one visible character each, so that columns stay.
    fn new(raw: &str) -> Self {
        let safe = |c: char| if c != '\n' && c != '\t' && is_unsafe(c) { '\u{fffd}' } else { c };
        let text: String = raw.replace("\r\n", "\n").chars().map(safe).collect();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Source { text, lines }
    }

    /// Bytes of a line, counted from 1, without its end.
    fn line(&self, number: usize) -> Option<Range<usize>> {
        let start = *self.lines.get(number.checked_sub(1)?)?;
        let end = self.lines.get(number).map_or(self.text.len(), |next| next - 1);
        (start < self.text.len()).then_some(start..end)
    }

    /// A line, counted from 1.
    pub(super) fn text_of(&self, number: usize) -> Option<&str> {
        self.line(number).map(|range| &self.text[range])
    }

    /// Bytes of what a place points at: the word at its column, else the line without its
    /// indentation.
    fn span(&self, place: &Place) -> Option<Range<usize>> {
        let line = self.line(place.line? as usize)?;
        let text = &self.text[line.clone()];
        // Columns count bytes. A column inside a character or after the end of the line is ignored.
        let column = place.column.and_then(|column| (column as usize).checked_sub(1));
        let column = column.filter(|&at| at < text.len() && text.is_char_boundary(at));
        let from = column.unwrap_or(text.len() - text.trim_start().len());
        let rest = &text[from..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match (column, rest.find(|c| !is_word(c))) {
            (None, _) => rest.trim_end().len(),
            (Some(_), Some(0)) => rest.chars().next().map_or(0, char::len_utf8),
            (Some(_), Some(end)) => end,
            (Some(_), None) => rest.len(),
        };
        (length > 0).then(|| line.start + from..line.start + from + length)
    }

    /// Bytes of the lines around a place.
    fn around(&self, place: &Place) -> Option<Range<usize>> {
        let line = place.line? as usize;
        let first = self.line(line.saturating_sub(CONTEXT).max(1))?;
        let last = (0..=CONTEXT).rev().find_map(|below| self.line(line + below))?;
        Some(first.start..last.end)
    }
}

/// A place to point at, and its label.
pub(super) struct Pointer<'a> {
    pub place: &'a Place,
    pub label: String,
}

/// A title, and the excerpts that the pointers point at, file by file.
pub(super) fn excerpt(
    severity: Severity,
    id: &str,
    title: &str,
    pointers: &[Pointer<'_>],
    sources: &SourceCache,
) -> String {
    let mut files: Vec<&str> = Vec::new();
    for file in pointers.iter().filter_map(|pointer| pointer.place.file.as_deref()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let loaded: Vec<(&str, Option<Rc<Source>>)> = files.into_iter().map(|file| (file, sources.get(file))).collect();
    let level = if severity == Severity::Error { Level::ERROR } else { Level::WARNING };
    let mut group: Group<'_> =
        level.primary_title(clean(title).into_owned()).id(clean(id).into_owned()).elements(Vec::<Origin<'_>>::new());
    for (file, source) in &loaded {
        let here = || pointers.iter().filter(|pointer| pointer.place.file.as_deref() == Some(*file));
        match source {
            Some(source) if here().any(|pointer| source.span(pointer.place).is_some()) => {
                group = group.element(snippet(file, source, here()));
            }
            _ => group = group.elements(here().map(|pointer| origin(file, pointer.place))),
        }
    }
    Renderer::styled().render(&[group])
}

fn origin<'a>(file: &str, place: &Place) -> Origin<'a> {
    let mut origin = Origin::path(clean(file).into_owned());
    if let Some(line) = place.line {
        origin = origin.line(line as usize);
        if let Some(column) = place.column {
            origin = origin.char_column(column as usize);
        }
    }
    origin
}

fn snippet<'a>(
    file: &str,
    source: &'a Source,
    pointers: impl Iterator<Item = &'a Pointer<'a>>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let mut snippet = Snippet::source(source.text.as_str()).path(clean(file).into_owned());
    for pointer in pointers {
        if let Some(span) = source.span(pointer.place) {
            let label = clean(&pointer.label).into_owned();
            snippet = snippet.annotation(AnnotationKind::Primary.span(span).label(label));
        }
        if let Some(around) = source.around(pointer.place) {
            snippet = snippet.annotation(AnnotationKind::Visible.span(around));
        }
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: Option<u32>) -> Place {
        Place { line: Some(line), column, ..Place::default() }
    }

    fn pointed(source: &Source, place: &Place) -> Option<String> {
        source.span(place).map(|span| source.text[span].to_string())
    }

    #[test]
    fn a_column_points_at_its_word() {
        let source = Source::new("int x;\n    balance = old + 1;\n\n  (*p)++;");
        assert_eq!(pointed(&source, &at(2, Some(5))).as_deref(), Some("balance"));
        assert_eq!(pointed(&source, &at(2, Some(13))).as_deref(), Some("="));
        assert_eq!(pointed(&source, &at(2, None)).as_deref(), Some("balance = old + 1;"));
        assert_eq!(pointed(&source, &at(2, Some(999))).as_deref(), Some("balance = old + 1;"));
        assert_eq!(pointed(&source, &at(4, Some(7))).as_deref(), Some("+"));
    }

    #[test]
    fn places_outside_the_file_point_at_nothing() {
        let source = Source::new("int x;\n\n");
        assert_eq!(pointed(&source, &at(2, Some(1))), None);
        assert_eq!(pointed(&source, &at(77, Some(1))), None);
        assert_eq!(pointed(&source, &at(0, None)), None);
        assert_eq!(pointed(&Source::new(""), &at(1, Some(1))), None);
    }

    #[test]
    fn a_column_inside_a_character_is_ignored() {
        let source = Source::new("é = 1;");
        assert_eq!(pointed(&source, &at(1, Some(2))).as_deref(), Some("é = 1;"));
    }
}
