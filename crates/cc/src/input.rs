//! What an input file is, by its extension or by a preceding `-x`.

use crate::compiler::Language;
use std::ffi::OsStr;
use std::path::Path;

/// What the driver does with an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// Compiled by a C-family front end, hence instrumented.
    Source(Language),
    /// A header given as an input: becomes a precompiled header, nothing is linked.
    Header(Language),
    /// Assembled, or compiled by a front end that raddle does not instrument.
    Foreign,
    /// Handed to the linker: objects, archives, shared libraries, linker scripts.
    Linkable,
}

/// The kind of an input without `-x`. Extensions are case-sensitive, as in gcc: `.C` is C++, `.S`
/// is assembly that is preprocessed first. Anything unknown goes to the linker.
pub(crate) fn by_extension(path: &OsStr, driver: Language) -> InputKind {
    let extension = Path::new(path).extension().and_then(OsStr::to_str).unwrap_or_default();
    match extension {
        // The C++ drivers take these for C++.
        "c" | "i" => InputKind::Source(driver),
        "h" => InputKind::Header(driver),
        "m" | "mi" => InputKind::Source(Language::C),
        "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii" | "mm" | "M" | "mii" | "cppm" | "ixx" => {
            InputKind::Source(Language::Cxx)
        }
        "hh" | "H" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc" => InputKind::Header(Language::Cxx),
        "s" | "S" | "sx" | "ll" | "bc" | "cu" | "cl" | "f" | "F" | "for" | "FOR" | "ftn" | "fpp" | "FPP" | "f90"
        | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" | "adb" | "ads" | "d" | "go" | "mod" => {
            InputKind::Foreign
        }
        _ => InputKind::Linkable,
    }
}

/// The kind that `-x` forces on the inputs after it; `None` for `-x none`, which goes back to
/// extensions.
pub(crate) fn by_name(language: &str) -> Option<InputKind> {
    match language {
        "none" => None,
        "c" | "cpp-output" | "objective-c" | "objective-c-cpp-output" => Some(InputKind::Source(Language::C)),
        "c++" | "c++-cpp-output" | "objective-c++" | "objective-c++-cpp-output" | "c++-module" => {
            Some(InputKind::Source(Language::Cxx))
        }
        "c-header" | "objective-c-header" => Some(InputKind::Header(Language::C)),
        "c++-header" | "objective-c++-header" | "c++-user-header" | "c++-system-header" => {
            Some(InputKind::Header(Language::Cxx))
        }
        _ => Some(InputKind::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_say_what_a_file_is() {
        let kind = |name: &str| by_extension(OsStr::new(name), Language::C);
        assert_eq!(kind("dir.x/a.c"), InputKind::Source(Language::C));
        assert_eq!(kind("a.C"), InputKind::Source(Language::Cxx));
        assert_eq!(kind("a.cpp"), InputKind::Source(Language::Cxx));
        assert_eq!(kind("a.h"), InputKind::Header(Language::C));
        assert_eq!(kind("a.hpp"), InputKind::Header(Language::Cxx));
        assert_eq!(kind("a.s"), InputKind::Foreign);
        assert_eq!(kind("a.S"), InputKind::Foreign);
        for name in ["a.o", "liba.a", "liba.so", "liba.so.1", "object", "-", "a.lds"] {
            assert_eq!(kind(name), InputKind::Linkable, "{name}");
        }
    }

    #[test]
    fn a_cxx_driver_takes_c_for_cxx() {
        assert_eq!(by_extension(OsStr::new("a.c"), Language::Cxx), InputKind::Source(Language::Cxx));
        assert_eq!(by_extension(OsStr::new("a.h"), Language::Cxx), InputKind::Header(Language::Cxx));
    }

    #[test]
    fn a_forced_language_beats_the_extension() {
        assert_eq!(by_name("c"), Some(InputKind::Source(Language::C)));
        assert_eq!(by_name("c++-header"), Some(InputKind::Header(Language::Cxx)));
        assert_eq!(by_name("assembler-with-cpp"), Some(InputKind::Foreign));
        assert_eq!(by_name("none"), None);
    }
}
