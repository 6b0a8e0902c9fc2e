//! Functions that the runtime knows by name, and whose calls it has to see: they must not be
//! inlined.

use std::fs;
use std::path::Path;

/// Keeps calls of these functions.
pub const KEEP_CALLS: &str = "-fno-inline";

/// Whether a file mentions such a function. Headers that it includes are not looked at.
#[must_use]
pub fn has_known_functions(path: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let mentions = |name: &[u8]| text.windows(name.len()).any(|part| part == name);
    mentions(b"__VERIFIER_atomic_") || mentions(b"assume_abort_if_not")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_are() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.c");
        let found = |text: &str| {
            fs::write(&path, text).expect("written");
            has_known_functions(&path)
        };
        assert!(found("int x; void __VERIFIER_atomic_add(void) { x++; }"));
        assert!(found("void assume_abort_if_not(int);"));
        assert!(!found("int main(void) { return 0; }") && !found(""));
        assert!(!has_known_functions(&directory.path().join("absent.c")));
    }
}
