//! The part of the environment that decisions depend on. It is read once, so that the decisions are
//! pure functions.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The real C compiler, as a path, a name, or a command with arguments (`ccache gcc`).
pub(crate) const CC_VARIABLE: &str = "RADDLE_CC";
/// The real C++ compiler.
pub(crate) const CXX_VARIABLE: &str = "RADDLE_CXX";
/// `1` hides from the program that it is compiled with a thread sanitizer.
pub(crate) const HIDE_VARIABLE: &str = "RADDLE_HIDE_TSAN";
/// `1` prints each command and what was changed in it.
pub(crate) const VERBOSE_VARIABLE: &str = "RADDLE_CC_VERBOSE";
/// Set by the wrapper for the processes that it starts. If the wrapper sees it, it has called
/// itself.
pub(crate) const INSIDE_VARIABLE: &str = "RADDLE_CC_INSIDE";

/// Every environment variable that the wrapper reads, with what it means.
pub const ENVIRONMENT_VARIABLES: [(&str, &str); 5] = [
    (CC_VARIABLE, "the real C compiler: a name, a path or a command with arguments"),
    (CXX_VARIABLE, "the real C++ compiler"),
    (HIDE_VARIABLE, "1: hide __SANITIZE_THREAD__ and __has_feature(thread_sanitizer) from the program"),
    (VERBOSE_VARIABLE, "1: print each command and what was changed in it"),
    (INSIDE_VARIABLE, "set by raddle itself, to notice that it would start itself"),
];

/// Environment variables and the path of the running program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// All variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// The running wrapper, which must never be taken for the real compiler.
    pub own_executable: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn current() -> Self {
        Self { variables: env::vars_os().collect(), own_executable: env::current_exe().ok() }
    }

    /// A variable's value; an empty one counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Whether a switch is on; `0` means off as well as not set.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0")
    }

    /// The directories in which programs are searched.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let path = self.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        env::split_paths(path).filter(|directory| !directory.as_os_str().is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Environment {
        Environment { variables: [(name.into(), value.into())].into(), own_executable: None }
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        assert_eq!(with(CC_VARIABLE, "").get(CC_VARIABLE), None);
        assert_eq!(with(CC_VARIABLE, "gcc").get(CC_VARIABLE), Some(OsStr::new("gcc")));
    }

    #[test]
    fn zero_switches_off() {
        assert!(!with(HIDE_VARIABLE, "0").is_on(HIDE_VARIABLE));
        assert!(!with(HIDE_VARIABLE, "").is_on(HIDE_VARIABLE));
        assert!(with(HIDE_VARIABLE, "1").is_on(HIDE_VARIABLE));
    }

    #[test]
    fn the_search_path_has_a_default_and_no_empty_entries() {
        assert_eq!(with("PATH", ":/a::/b").search_path(), [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert!(!Environment::default().search_path().is_empty());
    }
}
