//! What the planner knows about the real compiler.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The language a driver compiles and links for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `raddle cc`: like gcc or clang.
    C,
    /// `raddle c++`: like g++ or clang++, which links the C++ library and takes `.c` for C++.
    Cxx,
}

impl Language {
    /// The language that the wrapper's own name asks for when it is called through a link, as in
    /// `raddle-c++`.
    pub fn from_program_name(name: &str) -> Option<Self> {
        match name {
            "raddle-cc" => Some(Self::C),
            "raddle-c++" | "raddle-cxx" => Some(Self::Cxx),
            _ => None,
        }
    }
}

/// The two families of compilers that raddle can drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The GNU compilers.
    Gcc,
    /// LLVM's clang, under any vendor's name.
    Clang,
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        })
    }
}

/// A compiler's version; only the order matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number, 0 where none is given.
    pub minor: u32,
    /// The third number, 0 where none is given.
    pub patch: u32,
}

impl Version {
    /// Reads the numbers at the start of `text`; what follows them (`-rc1`, `git`, `(Debian ...)`)
    /// is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(|number| number.parse().ok());
        let major = numbers.next().flatten()?;
        let mut next_or_zero = || numbers.next().flatten().unwrap_or(0);
        Some(Self { major, minor: next_or_zero(), patch: next_or_zero() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The real compiler, as found by [`crate::find_compiler`] or [`Compiler::probe`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The program to start.
    pub program: PathBuf,
    /// Words that come before all others, for example the compiler's name where `program` is
    /// `ccache`.
    pub leading: Vec<OsString>,
    /// Whose options it understands.
    pub family: Family,
    /// Which options it understands.
    pub version: Version,
    /// The machine it compiles for, for example `x86_64-linux-gnu`.
    pub machine: String,
    /// What tells two builds of one version apart: the lines of `-v` about version and
    /// configuration.
    pub build: String,
}

impl Compiler {
    /// Reads what gcc and clang print for `-v` in the C locale: family, version and machine; `None`
    /// where it is neither of them.
    pub fn from_verbose_output(program: PathBuf, leading: Vec<OsString>, output: &str) -> Option<Self> {
        let machine = output.lines().find_map(|line| line.strip_prefix("Target: "))?.trim().to_owned();
        let (family, version) = output.lines().find_map(family_and_version)?;
        let stated = output.lines().find(|line| family_and_version(line).is_some()).unwrap_or_default();
        let configured = output.lines().find(|line| line.starts_with("Configured with: ")).unwrap_or_default();
        let build = format!("{} {}", stated.trim(), configured.trim());
        Some(Self { program, leading, family, version, machine, build })
    }

    /// The processor that it compiles for: the first part of the machine's name.
    pub fn architecture(&self) -> &str {
        canonical_architecture(&self.machine)
    }
}

/// The processor of a machine, by one name where it has several.
pub(crate) fn canonical_architecture(machine: &str) -> &str {
    match machine.split('-').next().unwrap_or_default() {
        "amd64" | "x86_64h" => "x86_64",
        "arm64" => "aarch64",
        architecture => architecture,
    }
}

/// Whether programs for the machine run on Linux with the GNU C library.
pub(crate) fn has_gnu_system(machine: &str) -> bool {
    let mut parts = machine.split('-').skip(1);
    parts.any(|part| part == "linux") && !machine.contains("android") && !machine.contains("musl")
}

#[cfg(test)]
impl Compiler {
    /// A compiler that no test starts.
    pub(crate) fn for_tests(family: Family, major: u32) -> Self {
        Self {
            program: PathBuf::from("/usr/bin/real"),
            leading: Vec::new(),
            family,
            version: Version { major, minor: 0, patch: 0 },
            machine: "x86_64-linux-gnu".to_owned(),
            build: format!("{family} version {major}"),
        }
    }
}

/// Recognises the line `gcc version 12.2.0 (...)` or `Debian clang version 19.1.7 (...)`.
fn family_and_version(line: &str) -> Option<(Family, Version)> {
    if let Some(rest) = line.strip_prefix("gcc version ") {
        return Some((Family::Gcc, Version::parse(rest)?));
    }
    let (vendor, rest) = line.split_once("clang version ")?;
    let vendor_only = vendor.is_empty() || vendor.ends_with(' ');
    Some((Family::Clang, Version::parse(rest)?)).filter(|_| vendor_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(output: &str) -> Option<(Family, Version, String)> {
        let compiler = Compiler::from_verbose_output(PathBuf::from("cc"), Vec::new(), output)?;
        Some((compiler.family, compiler.version, compiler.machine))
    }

    fn version(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    #[test]
    fn gcc_is_recognised() {
        let output = "Using built-in specs.\nCOLLECT_GCC=gcc\nTarget: x86_64-linux-gnu\nThread model: posix\n\
                      gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n";
        assert_eq!(parsed(output), Some((Family::Gcc, version(12, 2, 0), "x86_64-linux-gnu".to_owned())));
    }

    #[test]
    fn builds_of_one_version_are_told_apart() {
        let build = |options: &str| {
            let output = format!("Configured with: {options}\nTarget: x86_64-linux-gnu\ngcc version 12.2.0 (Debian)\n");
            Compiler::from_verbose_output(PathBuf::from("cc"), Vec::new(), &output).expect("gcc").build
        };
        assert_eq!(build("../configure -v"), "gcc version 12.2.0 (Debian) Configured with: ../configure -v");
        assert_ne!(build("../configure"), build("../configure -v"));
    }

    #[test]
    fn clang_is_recognised_under_every_vendors_name() {
        let tail = "Target: aarch64-unknown-linux-gnu\nThread model: posix\nInstalledDir: /usr/bin\n";
        for head in ["Debian clang version 19.1.7 (3~deb12u1)", "clang version 19.1.7", "Ubuntu clang version 19.1.7-1"]
        {
            let found = parsed(&format!("{head}\n{tail}"));
            assert_eq!(found, Some((Family::Clang, version(19, 1, 7), "aarch64-unknown-linux-gnu".to_owned())));
        }
    }

    #[test]
    fn other_programs_are_not() {
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("tcc version 0.9.27 (x86_64 Linux)\nTarget: x86_64\n"), None);
        assert_eq!(parsed("gcc version unknown\nTarget: x86_64\n"), None);
        assert_eq!(parsed("gcc version 12.2.0\n"), None, "no target");
    }

    #[test]
    fn versions_compare_by_number_and_tolerate_missing_parts() {
        assert_eq!(Version::parse("9"), Some(version(9, 0, 0)));
        assert_eq!(Version::parse("20.0.0git"), Some(version(20, 0, 0)));
        assert_eq!(Version::parse("x"), None);
        assert!(Version::parse("9.5") < Version::parse("11.1"));
        assert_eq!(version(14, 0, 6).to_string(), "14.0.6");
    }

    #[test]
    fn the_wrappers_links_choose_the_language() {
        assert_eq!(Language::from_program_name("raddle-cc"), Some(Language::C));
        assert_eq!(Language::from_program_name("raddle-c++"), Some(Language::Cxx));
        assert_eq!(Language::from_program_name("raddle"), None);
    }
}
