//! Rules for the whole project that no compiler checks, and the in-memory target.

mod dependencies;
mod memory_target;
mod tidy;
mod walk;

use std::path::{Path, PathBuf};

/// The folder that holds everything.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files with one of these extensions, without what is generated; sorted.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "corpus", "artifacts"].contains(&name.as_str()) {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with all that is wrong, a line each.
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
