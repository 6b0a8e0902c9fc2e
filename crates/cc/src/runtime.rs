//! The runtime library that replaces the sanitizer's, and its support files.

use std::path::{Path, PathBuf};

use crate::compiler::{Compiler, Family, Version};

/// The file name of the runtime library.
pub const RUNTIME_LIBRARY: &str = "libraddle_rt.so";

/// The object that every program and shared library is linked with: the hooks, which do nothing
/// until the runtime is there.
pub const HOOKS_OBJECT: &str = "raddle-hooks.o";

/// The archive with hooks that only some programs need.
pub const HOOKS_ARCHIVE: &str = "libraddle-hooks.a";

/// The file name of the plug-in by which clang hooks what its own sanitizer leaves out.
pub const CLANG_HOOKS: &str = "raddle-clang-hooks.so";

/// The file name of the plug-in by which gcc does.
pub const GCC_HOOKS: &str = "raddle-gcc-hooks.so";

/// Whether gcc placed hooks in a unit without the plug-in, by the producer that its debug
/// information names: gcc records its switches there.
#[must_use]
pub fn lacks_gcc_hooks(producer: &str) -> bool {
    let mut words = producer.split(' ');
    let instrumented = producer.starts_with("GNU C") && words.clone().any(|word| word == "-fsanitize=thread");
    instrumented && !words.any(|word| word.starts_with("-fplugin=") && word.ends_with(GCC_HOOKS))
}

/// The name of the specs file for gcc.
const GCC_SPECS_NAME: &str = "raddle-gcc.specs";

/// Hands the instrumentation option to the compiler proper only. `+` appends to what the compiler
/// has built in; an entry of a specs file ends with an empty line.
const GCC_SPECS: &str = "*cc1:\n+ -fsanitize=thread\n\n";

/// The directory of headers that come before the system's.
const HEADERS: &str = "include";
/// Raddle's own header for annotations. Of the other two, which override those of libstdc++, one
/// tells the runtime how libstdc++ waits, and one has strings compiled into the program.
const HEADER_FILES: [(&str, &str); 3] = [
    ("include/raddle.h", include_str!("../../../share/raddle.h")),
    ("include/bits/atomic_wait.h", include_str!("../include/bits/atomic_wait.h")),
    ("include/bits/basic_string.tcc", include_str!("../include/bits/basic_string.tcc")),
];

/// A small file that a plan needs; [`crate::execute`] writes it if it is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportFile {
    /// Where it must be.
    pub path: PathBuf,
    /// What must be in it.
    pub contents: &'static str,
}

/// Where the runtime is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Invariant: absolute, because compilers and programs are started in other directories.
    directory: PathBuf,
    /// The version of LLVM that the plug-in for clang was built for; none where it is not there.
    clang_hooks: Option<Version>,
    /// The build of gcc that the plug-in for gcc was built for; none where it is not there.
    gcc_hooks: Option<String>,
    /// The processor of this machine.
    own: &'static str,
    /// Another processor whose files are in a directory of its name.
    foreign: Option<&'static str>,
    /// The build of its gcc that the plug-in there was built for; none where it is not there.
    foreign_gcc_hooks: Option<String>,
}

impl Runtime {
    /// The runtime in this directory, which must be an absolute path; `None` where it is not.
    pub fn in_directory(directory: &Path) -> Option<Self> {
        let directory = directory.is_absolute().then(|| directory.to_path_buf())?;
        Some(Self {
            directory,
            clang_hooks: None,
            gcc_hooks: None,
            own: std::env::consts::ARCH,
            foreign: None,
            foreign_gcc_hooks: None,
        })
    }

    /// The same for programs for these processors, by their canonical names.
    #[must_use]
    pub fn for_machines(self, own: &'static str, foreign: Option<&'static str>) -> Self {
        Self { own, foreign, ..self }
    }

    /// The same with the plug-in for the gcc of the other processor in the directory of its name.
    #[must_use]
    pub fn with_foreign_gcc_hooks(self, built_for: Option<String>) -> Self {
        Self { foreign_gcc_hooks: built_for, ..self }
    }

    /// Where the files are for programs for a processor.
    fn directory_for(&self, architecture: &str) -> Option<PathBuf> {
        match self.foreign {
            _ if architecture == self.own => Some(self.directory.clone()),
            Some(foreign) if architecture == foreign => Some(self.directory.join(foreign)),
            _ => None,
        }
    }

    /// Whether this is the processor of this machine.
    pub(crate) fn is_own(&self, architecture: &str) -> bool {
        architecture == self.own
    }

    /// Whether there are files for programs for a processor.
    pub(crate) fn is_for(&self, architecture: &str) -> bool {
        self.directory_for(architecture).is_some()
    }

    /// The same with the plug-in for clang ([`CLANG_HOOKS`]) in its directory.
    #[must_use]
    pub fn with_clang_hooks(self, built_for: Option<Version>) -> Self {
        Self { clang_hooks: built_for, ..self }
    }

    /// The same with the plug-in for gcc ([`GCC_HOOKS`]) in its directory. See [`Compiler::build`].
    #[must_use]
    pub fn with_gcc_hooks(self, built_for: Option<String>) -> Self {
        Self { gcc_hooks: built_for, ..self }
    }

    /// The plug-in that this compiler can load. A plug-in that does not load fails the compilation:
    /// LLVM promises nothing to plug-ins for another version, and gcc refuses those for another
    /// build.
    pub fn hooks(&self, compiler: &Compiler) -> Option<PathBuf> {
        match compiler.family {
            Family::Clang => self.clang_hooks(compiler),
            Family::Gcc => self.gcc_hooks(compiler),
        }
    }

    fn gcc_hooks(&self, compiler: &Compiler) -> Option<PathBuf> {
        let architecture = compiler.architecture();
        let built_for = if self.is_own(architecture) { &self.gcc_hooks } else { &self.foreign_gcc_hooks };
        let directory = self.directory_for(architecture).filter(|_| built_for.as_ref() == Some(&compiler.build))?;
        Some(directory.join(GCC_HOOKS))
    }

    fn clang_hooks(&self, compiler: &Compiler) -> Option<PathBuf> {
        let fits = self.clang_hooks == Some(compiler.version) && compiler.architecture() == self.own;
        fits.then(|| self.directory.join(CLANG_HOOKS))
    }

    /// The directory that holds all of it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The shared library that a program is started with when raddle controls it.
    pub fn library(&self) -> PathBuf {
        self.directory.join(RUNTIME_LIBRARY)
    }

    /// The same for programs for a processor, if there is one.
    pub fn library_for(&self, architecture: &str) -> Option<PathBuf> {
        Some(self.directory_for(architecture)?.join(RUNTIME_LIBRARY))
    }

    /// The object with hooks for every link, and the archive with further hooks.
    pub(crate) fn hook_files(&self, architecture: &str) -> [PathBuf; 2] {
        let directory = self.directory_for(architecture).unwrap_or_else(|| self.directory.clone());
        [HOOKS_OBJECT, HOOKS_ARCHIVE].map(|name| directory.join(name))
    }

    /// The files that plans refer to, for an installation into a directory that is read-only later.
    pub fn support_files(&self) -> Vec<SupportFile> {
        let headers = self.header_files();
        std::iter::once(self.gcc_specs()).chain(headers).collect()
    }

    /// The specs file by which gcc instruments without linking its own runtime.
    pub(crate) fn gcc_specs(&self) -> SupportFile {
        SupportFile { path: self.directory.join(GCC_SPECS_NAME), contents: GCC_SPECS }
    }

    /// The headers that come before the system's.
    pub(crate) fn header_files(&self) -> [SupportFile; 3] {
        HEADER_FILES.map(|(name, contents)| SupportFile { path: self.directory.join(name), contents })
    }

    /// The directory of headers that come before the system's.
    pub(crate) fn headers(&self) -> PathBuf {
        self.directory.join(HEADERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_absolute() {
        assert_eq!(Runtime::in_directory(Path::new("lib")), None);
        let runtime = Runtime::in_directory(Path::new("/opt/raddle/1")).expect("absolute");
        assert_eq!(runtime.library(), Path::new("/opt/raddle/1/libraddle_rt.so"));
        assert_eq!(runtime.directory(), Path::new("/opt/raddle/1"));
        let headers = runtime.header_files();
        assert!(headers.iter().all(|header| header.path.starts_with(runtime.headers())));
        assert_eq!(runtime.support_files(), [&[runtime.gcc_specs()], &headers[..]].concat());
    }

    #[test]
    fn producers_tell_of_the_plug_in() {
        assert!(lacks_gcc_hooks("GNU C17 12.2.0 -g -fsanitize=thread -fno-builtin-memcpy"));
        assert!(lacks_gcc_hooks("GNU C++17 12.2.0 -fsanitize=thread -fplugin=/other.so"));
        assert!(!lacks_gcc_hooks("GNU C17 12.2.0 -fsanitize=thread -fplugin=/rt/raddle-gcc-hooks.so -O2"));
        for other in ["GNU C17 12.2.0 -g", "clang version 19", "GNU AS 2.40 -fsanitize=thread", ""] {
            assert!(!lacks_gcc_hooks(other), "{other}");
        }
    }

    #[test]
    fn a_plug_in_is_for_one_version_of_clang_or_one_build_of_gcc() {
        let none = Runtime::in_directory(Path::new("/rt")).expect("absolute");
        let runtime = none.clone().with_clang_hooks(Version::parse("19.0.0"));
        let runtime = runtime.with_gcc_hooks(Some("gcc version 12".into()));
        let of = |family, major| runtime.hooks(&Compiler::for_tests(family, major));
        assert_eq!(of(Family::Clang, 19), Some("/rt/raddle-clang-hooks.so".into()));
        assert_eq!(of(Family::Gcc, 12), Some("/rt/raddle-gcc-hooks.so".into()));
        assert_eq!((of(Family::Clang, 18), of(Family::Gcc, 19)), (None, None));
        assert_eq!(none.hooks(&Compiler::for_tests(Family::Clang, 19)), None);
        assert_eq!(none.hooks(&Compiler::for_tests(Family::Gcc, 12)), None);
    }
}
