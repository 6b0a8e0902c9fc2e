//! Programs that tests call. A missing one fails the test: a test that passes because it did
//! nothing hides what it should guard.

use std::path::PathBuf;

/// Packages of tools that are not named like their package.
const PACKAGES: [(&str, &str); 10] = [
    ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-objdump", "binutils-aarch64-linux-gnu"),
    ("c++", "g++"),
    ("clang++-19", "clang-19"),
    ("ctest", "cmake"),
    ("ninja", "ninja-build"),
    ("node", "nodejs"),
    ("objdump", "binutils"),
    ("qemu-aarch64", "qemu-user"),
];

/// Where a tool is, by the search path.
#[must_use]
pub fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(tool)).find(|file| file.is_file())
}

/// Fails the test unless the tool is installed.
///
/// # Panics
/// With the package to install.
#[track_caller]
pub fn require(tool: &str) {
    let package = PACKAGES.iter().find(|(name, _)| *name == tool).map_or(tool, |(_, package)| package);
    assert!(
        find(tool).is_some(),
        "this test needs `{tool}`, which is not installed: install the package `{package}` (`./x test` installs \
         everything that tests need)"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_there_is_found() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        require("sh");
    }

    #[test]
    #[should_panic(expected = "install the package `no-such-tool`")]
    fn a_missing_tool_names_its_package() {
        require("no-such-tool");
    }
}
