//! Finds the real compiler, and never takes the wrapper itself for it.

use crate::compiler::{Compiler, Family, Language, canonical_architecture, has_gnu_system};
use crate::environment::{CC_VARIABLE, CXX_VARIABLE, Environment, INSIDE_VARIABLE};
use crate::probe::ProbeError;
use crate::response;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The names that the wrapper itself goes by.
const OWN_NAMES: [&str; 4] = ["raddle", "raddle-cc", "raddle-c++", "raddle-cxx"];

/// Versions that are looked for, newest first, where no unversioned name is installed.
const VERSIONS: std::ops::RangeInclusive<u32> = 5..=40;

/// Why no real compiler was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing suitable in `PATH`.
    #[error(
        "no {} compiler was found in PATH. Install gcc or clang, or set {} to one.",
        language_name(*.0),
        variable(*.0)
    )]
    Missing(Language),
    /// A compiler was named, but there is no such program.
    #[error("the compiler `{name}` was not found. Install it, or name another one with {variable}.")]
    NotFound {
        /// The program that was looked for.
        name: String,
        /// The environment variable that chooses the compiler.
        variable: &'static str,
    },
    /// The named compiler is the wrapper, or a script that starts it.
    #[error(
        "raddle would start itself as the real compiler. Set {CC_VARIABLE} and {CXX_VARIABLE} to gcc or clang, \
         or g++ or clang++."
    )]
    Itself,
    /// No compiler for the machine that `--target` names.
    #[error(
        "no compiler for {machine} was found in PATH: install the package `gcc-{machine}` (for C++ `g++-{machine}`), \
         or name clang with {CC_VARIABLE} and {CXX_VARIABLE}."
    )]
    NoCross {
        /// The machine.
        machine: String,
    },
    /// The named program is not a compiler that raddle can drive.
    #[error("{0}")]
    Unusable(#[from] ProbeError),
}

fn language_name(language: Language) -> &'static str {
    match language {
        Language::C => "C",
        Language::Cxx => "C++",
    }
}

fn variable(language: Language) -> &'static str {
    match language {
        Language::C => CC_VARIABLE,
        Language::Cxx => CXX_VARIABLE,
    }
}

/// The real compiler for a language: the one that `RADDLE_CC` or `RADDLE_CXX` names, else the first
/// that answers in `PATH`. Where only `RADDLE_CC` is set, C++ is compiled by the same compiler's
/// C++ driver.
pub fn find_compiler(language: Language, environment: &Environment) -> Result<Compiler, FindError> {
    if environment.is_on(INSIDE_VARIABLE) {
        return Err(FindError::Itself);
    }
    let named = environment.get(variable(language)).or_else(|| environment.get(CC_VARIABLE));
    if let Some(command) = named {
        return find_named_compiler(command, language, environment);
    }
    // A candidate that does not answer is skipped: it may be a script around the wrapper.
    let candidates = default_names(language).into_iter();
    candidates
        .filter_map(|name| resolve(OsStr::new(&name), environment))
        .find_map(|program| Compiler::probe(&program, &[]).ok())
        .ok_or(FindError::Missing(language))
}

/// The compiler for the machine that the words name with `--target`, and the words for it. gcc
/// makes code for one machine, and one for another is a program of another name, which does not
/// know the option.
pub(crate) fn retarget(
    compiler: Compiler,
    args: Vec<OsString>,
    language: Language,
    environment: &Environment,
) -> Result<(Compiler, Vec<OsString>), FindError> {
    let Some(machine) = args.iter().rev().find_map(|arg| arg.to_str()?.strip_prefix(TARGET)) else {
        return Ok((compiler, args));
    };
    let is_same = canonical_architecture(machine) == compiler.architecture();
    if compiler.family == Family::Clang || is_same || !has_gnu_system(machine) {
        return Ok((compiler, args));
    }
    let parts: Vec<&str> = machine.split('-').collect();
    let short = parts.iter().enumerate().filter(|(index, _)| parts.len() < 4 || *index != 1);
    let machine = short.map(|(_, part)| *part).collect::<Vec<_>>().join("-");
    let driver = if language == Language::C { "gcc" } else { "g++" };
    let program = resolve(OsStr::new(&format!("{machine}-{driver}")), environment);
    let found = Compiler::probe(&program.ok_or(FindError::NoCross { machine })?, &[])?;
    let is_target = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.starts_with(TARGET));
    Ok((found, args.into_iter().filter(|arg| !is_target(arg)).collect()))
}

/// The option by which clang is told another machine.
const TARGET: &str = "--target=";

/// The compiler that a command names: a program in `PATH`, a path, or either with arguments
/// (`ccache gcc`). For C++ the command may also name the C driver; the C++ driver beside it is
/// used.
pub fn find_named_compiler(
    command: &OsStr,
    language: Language,
    environment: &Environment,
) -> Result<Compiler, FindError> {
    // A path with blanks in it is one word if there is such a program.
    let whole = is_executable(Path::new(command)).then(|| vec![command.to_owned()]);
    let mut words = whole.unwrap_or_else(|| response::split(command.as_bytes()));
    if language == Language::Cxx {
        for word in &mut words {
            if let Some(name) = cxx_driver(word) {
                *word = name;
            }
        }
    }
    let not_found =
        |name: &OsStr| FindError::NotFound { name: name.to_string_lossy().into_owned(), variable: variable(language) };
    let (first, leading) = words.split_first().ok_or_else(|| not_found(command))?;
    if first_match(first, environment).is_some_and(|path| is_own(&path, environment)) {
        return Err(FindError::Itself);
    }
    let program = resolve(first, environment).ok_or_else(|| not_found(first))?;
    Ok(Compiler::probe(&program, leading)?)
}

/// The usual names, most usual first.
fn default_names(language: Language) -> Vec<String> {
    let (usual, gcc, clang) = match language {
        Language::C => ("cc", "gcc", "clang"),
        Language::Cxx => ("c++", "g++", "clang++"),
    };
    let mut names = vec![usual.to_owned(), gcc.to_owned(), clang.to_owned()];
    names.extend(VERSIONS.rev().flat_map(|n| [format!("{gcc}-{n}"), format!("{clang}-{n}")]));
    names
}

/// The C++ driver that belongs to a C driver, by name: `gcc-12` and `g++-12`; `None` for anything
/// else.
fn cxx_driver(word: &OsStr) -> Option<OsString> {
    let path = Path::new(word);
    let name = path.file_name()?.to_str()?;
    let replaced = [("clang", "clang++"), ("gcc", "g++"), ("cc", "c++")].iter().find_map(|(c, cxx)| {
        let (before, after) = name.rsplit_once(c)?;
        let whole_word = before.is_empty() || before.ends_with('-');
        let version = after.strip_prefix('-').is_some_and(|v| v.starts_with(|d: char| d.is_ascii_digit()));
        (whole_word && (after.is_empty() || version)).then(|| format!("{before}{cxx}{after}"))
    })?;
    Some(path.with_file_name(replaced).into_os_string())
}

/// The program with this name or path, without the wrapper's own links.
fn resolve(name: &OsStr, environment: &Environment) -> Option<PathBuf> {
    matches(name, environment).into_iter().find(|path| !is_own(path, environment))
}

fn first_match(name: &OsStr, environment: &Environment) -> Option<PathBuf> {
    matches(name, environment).into_iter().next()
}

/// All programs with this name or path, in the order of `PATH`.
fn matches(name: &OsStr, environment: &Environment) -> Vec<PathBuf> {
    let candidates = if name.as_bytes().contains(&b'/') {
        vec![PathBuf::from(name)]
    } else {
        environment.search_path().into_iter().map(|directory| directory.join(name)).collect()
    };
    candidates.into_iter().filter(|path| is_executable(path)).collect()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Whether a program is the wrapper, whatever links lead to it.
fn is_own(path: &Path, environment: &Environment) -> bool {
    let Ok(real) = fs::canonicalize(path) else {
        return false;
    };
    let own = environment.own_executable.as_ref().and_then(|own| fs::canonicalize(own).ok());
    let named_so = real.file_name().and_then(OsStr::to_str).is_some_and(|name| OWN_NAMES.contains(&name));
    named_so || own.is_some_and(|own| own == real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// A directory of programs that answer like compilers.
    struct Bin(tempfile::TempDir);

    impl Bin {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a temporary directory"))
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn script(&self, name: &str, body: &str) {
            let text = self.path("script");
            fs::write(&text, format!("#!/bin/sh\n{body}\n")).expect("written");
            // By another process: nothing can be run while a child of this one, between fork and
            // exec, has it open for writing.
            let installed = Command::new("install").arg("-m755").args([&text, &self.path(name)]).status();
            assert!(installed.expect("started").success());
            fs::remove_file(text).expect("removed");
        }

        /// A script that says `-v` as gcc of this version does.
        fn gcc(&self, name: &str, major: u32) {
            self.script(name, &format!("echo 'Target: x86_64-linux-gnu' >&2; echo 'gcc version {major}.1.0' >&2"));
        }

        fn environment(&self, variables: &[(&str, &str)]) -> Environment {
            let path = ("PATH".into(), self.0.path().as_os_str().to_owned());
            let given = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Environment { variables: given.chain([path]).collect(), own_executable: Some(self.path("raddle")) }
        }
    }

    fn found_major(language: Language, environment: &Environment) -> u32 {
        find_compiler(language, environment).expect("found").version.major
    }

    #[test]
    fn the_usual_names_are_tried_in_order() {
        let bin = Bin::new();
        bin.gcc("gcc-9", 9);
        bin.gcc("gcc-10", 10);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 10);
        bin.gcc("clang", 11);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 11);
        bin.gcc("gcc", 12);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 12);
        bin.gcc("cc", 13);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 13);
    }

    #[test]
    fn the_variables_choose_and_fall_back_on_each_other() {
        let bin = Bin::new();
        for (name, major) in [("cc", 1), ("c++", 2), ("gcc-7", 7), ("g++-7", 8), ("clang++-9", 9)] {
            bin.gcc(name, major);
        }
        assert_eq!(found_major(Language::C, &bin.environment(&[("RADDLE_CC", "gcc-7")])), 7);
        assert_eq!(found_major(Language::Cxx, &bin.environment(&[("RADDLE_CC", "gcc-7")])), 8);
        let both = bin.environment(&[("RADDLE_CC", "gcc-7"), ("RADDLE_CXX", "clang++-9")]);
        assert_eq!(found_major(Language::Cxx, &both), 9);
        let path = bin.path("gcc-7");
        let by_path = bin.environment(&[("RADDLE_CC", path.to_str().expect("unicode"))]);
        assert_eq!(found_major(Language::C, &by_path), 7);
    }

    #[test]
    fn gcc_for_another_machine_is_another_program() {
        let bin = Bin::new();
        bin.gcc("cc", 12);
        let environment = bin.environment(&[]);
        let chosen = |target: &str, environment: &Environment| {
            let compiler = find_compiler(Language::C, environment).expect("found");
            retarget(compiler, vec![target.into(), "a.c".into()], Language::C, environment)
        };
        let target = "--target=aarch64-unknown-linux-gnu";
        let missing = chosen(target, &environment).expect_err("no such compiler").to_string();
        assert!(missing.contains("`gcc-aarch64-linux-gnu`"), "{missing}");
        bin.script("aarch64-linux-gnu-gcc", "echo 'Target: aarch64-linux-gnu' >&2; echo 'gcc version 9.1.0' >&2");
        let (compiler, args) = chosen(target, &environment).expect("found");
        assert_eq!((compiler.architecture(), args), ("aarch64", vec!["a.c".into()]));
        for own in ["--target=x86_64-linux-gnu", "--target=bpf"] {
            let (compiler, args) = chosen(own, &environment).expect("found");
            assert_eq!((compiler.version.major, args[0].as_os_str()), (12, OsStr::new(own)));
        }
    }

    #[test]
    fn a_command_may_have_arguments_and_a_path_may_have_blanks() {
        let bin = Bin::new();
        bin.script("ccache", "exec \"$@\"");
        bin.gcc("gcc-7", 7);
        bin.gcc("my gcc", 8);
        let gcc = bin.path("gcc-7").into_os_string();
        let mut command = OsString::from("ccache ");
        command.push(&gcc);
        let environment = bin.environment(&[]);
        let compiler = find_named_compiler(&command, Language::C, &environment).expect("found");
        assert_eq!((compiler.version.major, compiler.leading), (7, vec![gcc]));
        let blanks = find_named_compiler(bin.path("my gcc").as_os_str(), Language::C, &environment);
        assert_eq!(blanks.expect("found").version.major, 8);
    }

    #[test]
    fn the_wrappers_own_links_are_passed_over() {
        let bin = Bin::new();
        bin.script("raddle", "exit 1");
        symlink(bin.path("raddle"), bin.path("raddle-cc")).expect("linked");
        symlink(bin.path("raddle-cc"), bin.path("cc")).expect("linked");
        bin.gcc("gcc", 12);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 12);
        let named = find_compiler(Language::C, &bin.environment(&[("RADDLE_CC", "cc")]));
        assert!(matches!(named, Err(FindError::Itself)), "{named:?}");
    }

    #[test]
    fn another_installation_of_the_wrapper_is_known_by_its_name() {
        let (bin, elsewhere) = (Bin::new(), Bin::new());
        elsewhere.gcc("raddle", 1);
        symlink(elsewhere.path("raddle"), bin.path("cc")).expect("linked");
        bin.gcc("gcc", 12);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 12);
    }

    #[test]
    fn a_script_around_the_wrapper_is_noticed_by_the_mark_in_the_environment() {
        let bin = Bin::new();
        // Like the wrapper, it fails when it sees that the wrapper started it.
        bin.script("cc", "test -z \"$RADDLE_CC_INSIDE\" || exit 2; echo never");
        bin.gcc("gcc", 12);
        assert_eq!(found_major(Language::C, &bin.environment(&[])), 12);
        let inside = find_compiler(Language::C, &bin.environment(&[("RADDLE_CC_INSIDE", "1")]));
        assert!(matches!(inside, Err(FindError::Itself)), "{inside:?}");
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let bin = Bin::new();
        let error = find_compiler(Language::Cxx, &bin.environment(&[])).expect_err("nothing there");
        assert_eq!(
            error.to_string(),
            "no C++ compiler was found in PATH. Install gcc or clang, or set RADDLE_CXX to one."
        );
        let named = find_compiler(Language::C, &bin.environment(&[("RADDLE_CC", "gcc-99 -m64")]));
        let text = named.expect_err("nothing there").to_string();
        assert_eq!(text, "the compiler `gcc-99` was not found. Install it, or name another one with RADDLE_CC.");
        let blank = find_compiler(Language::C, &bin.environment(&[("RADDLE_CC", " ")]));
        assert!(matches!(blank, Err(FindError::NotFound { .. })), "{blank:?}");
    }

    #[test]
    fn c_drivers_have_cxx_counterparts() {
        let of = |name: &str| cxx_driver(OsStr::new(name)).map(|n| n.into_string().expect("unicode"));
        for (c, cxx) in [
            ("gcc", "g++"),
            ("/usr/bin/x86_64-linux-gnu-gcc-12", "/usr/bin/x86_64-linux-gnu-g++-12"),
            ("clang-19", "clang++-19"),
            ("cc", "c++"),
        ] {
            assert_eq!(of(c).as_deref(), Some(cxx));
        }
        for other in ["g++", "clang++-19", "ccache", "clang-cl", "icc", "-m64", "gcc-ar"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
