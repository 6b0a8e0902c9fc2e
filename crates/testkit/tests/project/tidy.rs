//! Lengths of files.

use crate::{assert_none, files, read};

/// Lines of a file.
const MAX_LINES: usize = 800;

#[test]
fn files_are_not_too_long() {
    let counted = files(&["rs", "md", "c", "cpp", "h", "js", "css", "html"]).into_iter().map(|path| {
        let lines = read(&path).lines().count();
        (path, lines)
    });
    let long = counted.filter(|(_, lines)| *lines > MAX_LINES);
    assert_none(&long.map(|(path, lines)| format!("{}: {lines} lines", path.display())).collect::<Vec<_>>());
}
