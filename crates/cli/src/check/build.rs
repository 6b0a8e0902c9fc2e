//! The program to check: one that is there, or source files that are compiled first.

use std::path::{Path, PathBuf};

use raddle_cc::is_source_file;
use raddle_engine::{Program, Sources};

use crate::args::BuildArgs;
use crate::error::CommandError;

/// The file that a build directory of CMake with tests has.
pub const BUILD_WITH_TESTS: &str = "CTestTestfile.cmake";

/// What the command line names.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A program.
    Program(PathBuf),
    /// Sources of one program.
    Sources(Vec<PathBuf>),
}

impl Input {
    /// Sorts the inputs out; programs and sources do not mix.
    pub fn of(paths: &[PathBuf]) -> Result<Self, CommandError> {
        let sources = paths.iter().filter(|path| is_source_file(path).is_some()).count();
        match paths {
            _ if sources == paths.len() => Ok(Input::Sources(paths.to_vec())),
            [program] => Ok(Input::Program(program.clone())),
            _ if sources == 0 => {
                Err(CommandError("one program at a time: put the program's own arguments behind `--`".into()))
            }
            _ => Err(CommandError("either one program or source files, not both".into())),
        }
    }

    /// Whether it is compiled first.
    pub fn is_sources(&self) -> bool {
        matches!(self, Input::Sources(_))
    }

    /// The name that reports and directories use.
    pub fn name(&self) -> String {
        match self {
            Input::Program(path) => Program::new(path).name(),
            Input::Sources(paths) => Sources::new(paths.iter().cloned()).name(),
        }
    }

    /// The program that was built into `directory` from these sources.
    pub fn built(&self, directory: &Path) -> Option<Program> {
        match self {
            Input::Program(_) => None,
            Input::Sources(_) => Some(Program::new(directory.join(self.name())).named(self.name())),
        }
    }

    /// The program, built into `directory` where it has to be.
    pub fn program(&self, build: &BuildArgs, directory: &Path) -> Result<Program, CommandError> {
        let (compiler, cflags) = (build.compiler.as_deref(), build.cflags.as_deref());
        match self {
            Input::Program(_) if compiler.is_some() || cflags.is_some() => {
                Err(CommandError("--compiler and --cflags are for source files, not for programs".into()))
            }
            Input::Program(path) => Ok(Program::new(path)),
            Input::Sources(files) => {
                let sources = Sources::new(files.iter().cloned()).compiler(compiler).cflags(cflags);
                Ok(sources.compile_into(directory)?)
            }
        }
    }
}

/// What to name instead of a directory.
pub fn is_a_directory(path: &Path) -> CommandError {
    let (name, is_cmake) = (path.display(), path.join("CMakeCache.txt").is_file());
    let is_ctest = is_cmake && path.join(BUILD_WITH_TESTS).is_file();
    CommandError(match (is_ctest, is_cmake || path.join("build.ninja").is_file()) {
        (true, _) => format!(
            "{name} is a build directory: `raddle check --framework ctest {name}` checks the tests that CMake knows, \
             each by itself; or name a program in it"
        ),
        (false, true) => format!("{name} is a build directory: name a program in it"),
        (false, false) => format!("{name} is a directory: name a program or source files"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(paths: &[&str]) -> Result<Input, CommandError> {
        Input::of(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn sources_and_programs_are_told_apart() {
        assert_eq!(input(&["dir/bank.c"]).unwrap().name(), "bank");
        assert_eq!(input(&["a.cpp", "b.c"]).unwrap(), Input::Sources(vec!["a.cpp".into(), "b.c".into()]));
        assert_eq!(input(&["build/a.out"]).unwrap().name(), "a.out");
        assert!(input(&["a.out", "b.out"]).is_err());
        assert!(input(&["a.out", "b.c"]).is_err());
    }

    #[test]
    fn a_directory_is_no_program() {
        let place = tempfile::tempdir().unwrap();
        let said = || is_a_directory(place.path()).0;
        assert!(said().ends_with("is a directory: name a program or source files"), "{}", said());
        std::fs::write(place.path().join("CMakeCache.txt"), "").unwrap();
        assert!(said().ends_with("is a build directory: name a program in it"), "{}", said());
        std::fs::write(place.path().join(BUILD_WITH_TESTS), "").unwrap();
        assert!(said().contains("`raddle check --framework ctest "), "{}", said());
    }
}
