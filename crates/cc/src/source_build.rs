//! Building a program from source files named on raddle's own command line (`raddle check bank.c`).

use crate::compiler::{Compiler, Language};
use crate::plan::{CommandPlan, Invocation, Refusal, plan};
use crate::runtime::Runtime;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program to be built from sources. Without an `-O` among the flags it is compiled with `-O0`,
/// so that each access in a report has the location of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceBuild {
    /// The source files; C and C++ may be mixed.
    pub sources: Vec<PathBuf>,
    /// The user's own flags; a string of them is cut by [`crate::response::split`].
    pub cflags: Vec<OsString>,
    /// The program to make.
    pub output: PathBuf,
    /// As in [`Invocation`].
    pub hide_tsan: bool,
}

/// Why sources cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceBuildError {
    /// There is nothing to build.
    #[error("no source file was given")]
    NoSource,
    /// A file that is not C or C++.
    #[error("`{}` is not a C or C++ source file: its name must end in .c, .cc, .cpp, .cxx, .i or .ii", .0.display())]
    NotASource(PathBuf),
    /// The flags ask for something that cannot work.
    #[error(transparent)]
    Refusal(#[from] Refusal),
}

/// The language of a source file by its name, `None` where it is no source file.
pub fn is_source_file(path: &Path) -> Option<Language> {
    match path.extension().and_then(OsStr::to_str)? {
        "c" | "i" => Some(Language::C),
        "cc" | "cpp" | "cxx" | "c++" | "C" | "ii" => Some(Language::Cxx),
        _ => None,
    }
}

impl SourceBuild {
    /// The language whose driver has to build it: C++ as soon as one file is C++.
    pub fn language(&self) -> Result<Language, SourceBuildError> {
        let languages = self
            .sources
            .iter()
            .map(|path| is_source_file(path).ok_or_else(|| SourceBuildError::NotASource(path.clone())));
        let languages: Vec<Language> = languages.collect::<Result<_, _>>()?;
        let any_cxx = languages.contains(&Language::Cxx);
        match languages.is_empty() {
            true => Err(SourceBuildError::NoSource),
            false => Ok(if any_cxx { Language::Cxx } else { Language::C }),
        }
    }

    /// The plan that compiles and links it.
    pub fn plan(&self, compiler: &Compiler, runtime: &Runtime) -> Result<CommandPlan, SourceBuildError> {
        let language = self.language()?;
        let mut args: Vec<OsString> = vec!["-pthread".into()];
        if !self.cflags.iter().any(|flag| flag.as_encoded_bytes().starts_with(b"-O")) {
            args.push("-O0".into());
        }
        for source in &self.sources {
            // The C++ driver would take a C file for C++.
            let as_c = language == Language::Cxx && is_source_file(source) == Some(Language::C);
            if as_c {
                let is_preprocessed = source.extension() == Some(OsStr::new("i"));
                args.extend(["-x".into(), if is_preprocessed { "cpp-output" } else { "c" }.into()]);
            }
            args.push(not_an_option(source));
            if as_c {
                args.extend(["-x".into(), "none".into()]);
            }
        }
        // After the sources: libraries among the flags must follow what needs them.
        args.extend(self.cflags.iter().cloned());
        args.extend(["-o".into(), not_an_option(&self.output)]);
        let invocation = Invocation { language, args, hide_tsan: self.hide_tsan };
        Ok(plan(&invocation, compiler, runtime)?)
    }
}

/// A path that cannot be mistaken for an option or a response file.
fn not_an_option(path: &Path) -> OsString {
    match path.as_os_str().as_encoded_bytes() {
        [b'-' | b'@', ..] => Path::new(".").join(path).into_os_string(),
        _ => path.as_os_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::Family;
    use crate::plan::Action;

    fn build(sources: &[&str], cflags: &[&str]) -> SourceBuild {
        SourceBuild {
            sources: sources.iter().map(PathBuf::from).collect(),
            cflags: cflags.iter().map(OsString::from).collect(),
            output: PathBuf::from("out/prog"),
            hide_tsan: false,
        }
    }

    fn planned(build: &SourceBuild) -> Result<CommandPlan, SourceBuildError> {
        let compiler = Compiler::for_tests(Family::Gcc, 12);
        build.plan(&compiler, &Runtime::in_directory(Path::new("/rt")).expect("absolute"))
    }

    fn line(build: &SourceBuild) -> String {
        let plan = planned(build).expect("planned");
        assert_eq!(plan.action, Action::CompileAndLink);
        plan.args.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_source_is_built_unoptimised_with_debug_information_and_threads() {
        let line = line(&build(&["bank.c"], &["-lm"]));
        assert!(line.contains("-pthread -O0 bank.c -lm -o out/prog"), "{line}");
        assert!(line.contains(" -g "), "{line}");
        assert!(line.contains("/rt/raddle-hooks.o"), "{line}");
    }

    #[test]
    fn the_users_optimisation_level_is_kept() {
        let line = line(&build(&["bank.c"], &["-O2"]));
        assert!(line.contains("-O2") && !line.contains("-O0"), "{line}");
    }

    #[test]
    fn c_stays_c_in_a_mixed_program() {
        let build = build(&["a.cpp", "b.c", "d.cc"], &[]);
        assert_eq!(build.language(), Ok(Language::Cxx));
        let line = line(&build);
        assert!(line.contains("a.cpp -x c b.c -x none d.cc -o"), "{line}");
    }

    #[test]
    fn names_that_look_like_options_are_still_files() {
        let line = line(&build(&["-c.c", "@a.c"], &[]));
        assert!(line.contains(" ./-c.c ./@a.c "), "{line}");
    }

    #[test]
    fn what_is_no_source_is_named() {
        assert_eq!(planned(&build(&[], &[])), Err(SourceBuildError::NoSource));
        let other = SourceBuildError::NotASource(PathBuf::from("a.rs"));
        assert_eq!(planned(&build(&["a.c", "a.rs"], &[])), Err(other));
        let refused = planned(&build(&["a.c"], &["-static"]));
        assert!(matches!(refused, Err(SourceBuildError::Refusal(_))), "{refused:?}");
    }
}
