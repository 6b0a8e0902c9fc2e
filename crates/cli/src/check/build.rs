//! The program to check: one that is there, or source files that are compiled first.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use raddle_cc::{Environment, SourceBuild, execute, find_compiler, find_named_compiler, is_source_file, response};

use crate::embed;
use crate::failure::Failure;

/// What the command line names.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A program.
    Program(PathBuf),
    /// Sources of one program.
    Sources(Vec<PathBuf>),
}

/// What the user says about compiling.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tools<'a> {
    /// `--compiler`.
    pub compiler: Option<&'a OsStr>,
    /// `--cflags`.
    pub cflags: Option<&'a OsStr>,
}

impl Input {
    /// Sorts the inputs out; programs and sources do not mix.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Failure> {
        let sources = paths.iter().filter(|path| is_source_file(path).is_some()).count();
        match paths {
            _ if sources == paths.len() => Ok(Input::Sources(paths.to_vec())),
            [program] => Ok(Input::Program(program.clone())),
            _ if sources == 0 => {
                Err(Failure("one program at a time: put the program's own arguments behind `--`".into()))
            }
            _ => Err(Failure("either one program or source files, not both".into())),
        }
    }

    /// The name that reports and directories use.
    pub fn name(&self) -> String {
        let path = match self {
            Input::Program(path) => path.file_name(),
            Input::Sources(paths) => paths.first().and_then(|path| path.file_stem()),
        };
        path.map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned())
    }

    /// The program, built into `directory` where it has to be.
    pub fn program(&self, tools: &Tools<'_>, directory: &Path) -> Result<PathBuf, Failure> {
        match self {
            Input::Program(path) => {
                if tools.compiler.is_some() || tools.cflags.is_some() {
                    return Err(Failure("--compiler and --cflags are for source files, not for programs".into()));
                }
                Ok(path.clone())
            }
            Input::Sources(sources) => compile(sources, tools, directory.join(self.name())),
        }
    }
}

/// Compiles and links; the compiler's messages go to standard error as they come.
fn compile(sources: &[PathBuf], tools: &Tools<'_>, output: PathBuf) -> Result<PathBuf, Failure> {
    if let Some(missing) = sources.iter().find(|path| !path.is_file()) {
        return Err(Failure(format!("{}: there is no such file", missing.display())));
    }
    let cflags: Vec<OsString> = tools.cflags.map(|flags| response::split(flags.as_bytes())).unwrap_or_default();
    let build = SourceBuild { sources: sources.to_vec(), cflags, output: output.clone(), hide_tsan: false };
    let language = build.language().map_err(|error| Failure(error.to_string()))?;
    let environment = Environment::current();
    let compiler = match tools.compiler {
        Some(name) => find_named_compiler(name, language, &environment),
        None => find_compiler(language, &environment),
    };
    let compiler = compiler.map_err(|error| Failure(error.to_string()))?;
    let runtime = embed::install().map_err(|error| Failure(error.to_string()))?;
    let plan = build.plan(&compiler, &runtime).map_err(|error| Failure(error.to_string()))?;
    // A program of an earlier run must not be taken for the result.
    let _ = std::fs::remove_file(&output);
    match execute(&plan).map_err(|error| Failure(error.to_string()))? {
        0 => Ok(output),
        status => Err(Failure(format!("{} could not be compiled (status {status})", listed(sources)))),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(paths: &[&str]) -> Result<Input, Failure> {
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
}
