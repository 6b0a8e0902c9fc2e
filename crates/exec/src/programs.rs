//! Programs that an operator offers to others, by their paths or by directories.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files that are looked at, at most.
const MOST_FILES: usize = 10_000;

/// The programs among these paths, and in these directories.
#[must_use]
pub fn programs_below(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = open.pop() {
        if files.len() >= MOST_FILES {
            break;
        }
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            // Links could lead anywhere.
            open.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_symlink()));
        } else if is_program(&path) {
            files.push(path);
        }
    }
    files
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_directories_but_not_through_links() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::create_dir(path("inner")).unwrap();
        for (name, mode) in [("inner/program", 0o755), ("inner/text", 0o644)] {
            std::fs::write(path(name), "").unwrap();
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("/", path("inner/link")).unwrap();
        assert_eq!(programs_below(&[place.path().into()]), [path("inner/program")]);
    }
}
