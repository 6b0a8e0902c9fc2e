//! The options that the wrapper adds, by compiler and version.
//!
//! | trap | gcc | clang |
//! |---|---|---|
//! | small copies are expanded in line, without a hook | `-fno-builtin-...` | hooked by itself |
//! | the read of `x++` is dropped | does not happen | `-tsan-instrument-read-before-write` |
//! | odd sizes, wide vectors, own stack: no hook | does not happen | a plug-in |
//! | arguments by value, results, `__builtin_memcpy`: no hook | a plug-in | arguments: a plug-in |
//! | hooks and atomics are taken to leave static variables alone | `-fno-ipa-reference` | does not happen |
//! | volatile is not marked | `tsan-distinguish-volatile` | `-tsan-distinguish-volatile` |
//! | warns on fences, which raddle does model | `-Wno-tsan` | does not happen |
//! | libstdc++ polls 16 times before it sleeps | a header for the runtime | likewise |
//! | `std::string` is in libstdc++, without hooks | a header | likewise |
//! | `memcpy` becomes `__memcpy_chk` | `_FORTIFY_SOURCE=0` | `_FORTIFY_SOURCE=0` |

use crate::compiler::{Compiler, Family};
use crate::mark;
use crate::runtime::Runtime;
use std::ffi::OsString;
use std::path::PathBuf;

/// The functions of the C library whose calls the linker redirects to the runtime's `__wrap_`
/// versions, which report the memory that they touch. Both compilers leave calls of them in
/// instrumented code.
#[rustfmt::skip]
pub const WRAPPED_FUNCTIONS: [&str; 21] = [
    "memcpy", "memmove", "memset", "memcmp", "strcpy", "strncpy", "strcat", "strlen", "strcmp",
    "strncmp", "strchr", "strdup", "bcmp", "bzero", "mempcpy", "stpcpy", "strncat", "memchr",
    "strrchr", "strnlen", "strstr",
];

/// The wrapped functions that gcc would expand in line. Not all of them, and not `-fno-builtin`
/// altogether: without its built-in knowledge gcc refuses `static size_t n = strlen("x");`, needs
/// `-lm` for `fabs`, and takes an undeclared `strdup` for a function that returns `int`.
#[rustfmt::skip]
const EXPANDED_BY_GCC: [&str; 14] = [
    "memcpy", "memmove", "memset", "memcmp", "strcpy", "strncpy", "strcat", "strcmp", "strncmp",
    "bcmp", "bzero", "mempcpy", "stpcpy", "strncat",
];

/// Warnings that look at optimised code, where the hooks can bring up false alarms that the plain
/// build does not have.
const GCC_FRAGILE_WARNINGS: [(u32, &str); 8] = [
    (5, "maybe-uninitialized"),
    (5, "array-bounds"),
    (5, "inline"),
    (6, "null-dereference"),
    (7, "restrict"),
    (7, "stringop-overflow"),
    (11, "frame-larger-than="),
    (11, "stringop-overread"),
];

/// The same for clang: stack frames grow, and loops with hooks in them cannot be vectorised.
const CLANG_FRAGILE_WARNINGS: [&str; 2] = ["frame-larger-than=", "pass-failed"];

/// Keeps the C library from replacing functions by checking variants that are not wrapped. Defined
/// as 0 and not just undefined, because programs set it themselves where it is not defined.
const NO_FORTIFY: [&str; 2] = ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"];

/// Makes the compiler proper instrument, without its driver linking the sanitizer's own runtime.
pub(crate) fn instrument(compiler: &Compiler, runtime: &Runtime, links: bool) -> Vec<OsString> {
    match compiler.family {
        Family::Clang => strings(&["-Xclang", "-fsanitize=thread"]),
        Family::Gcc if links => vec![with("-specs=", runtime.gcc_specs().path)],
        Family::Gcc => strings(&["-fsanitize=thread"]),
    }
}

/// The options that make the hooks complete.
pub(crate) fn refine(compiler: &Compiler, runtime: &Runtime, for_size: bool) -> Vec<OsString> {
    match compiler.family {
        Family::Gcc => refine_gcc(compiler, runtime, for_size),
        Family::Clang => refine_clang(compiler, runtime),
    }
}

fn refine_clang(compiler: &Compiler, runtime: &Runtime) -> Vec<OsString> {
    let mut options = Vec::new();
    if compiler.version.major >= 11 {
        let own = ["-mllvm", "-tsan-instrument-read-before-write", "-mllvm", "-tsan-distinguish-volatile"];
        options.extend(strings(&own));
    }
    // One variable at each place of a frame: whether a place has hooks tells whether pointers to it
    // are stored.
    options.extend(strings(&["-mllvm", "-no-stack-coloring"]));
    // Pointers to variables stay within them: what can be reached through a pointer is known then.
    options.extend(strings(&["-mllvm", "-disable-lsr"]));
    if let Some(plug_in) = runtime.hooks(compiler) {
        options.push(with("-fpass-plugin=", plug_in));
    } else if compiler.architecture() == "x86_64" {
        // At least loops get no vectors that are too wide for a hook of clang's own.
        options.push("-mprefer-vector-width=128".into());
    }
    options
}

fn refine_gcc(compiler: &Compiler, runtime: &Runtime, for_size: bool) -> Vec<OsString> {
    let no_builtin = |name: &&str| OsString::from(format!("-fno-builtin-{name}"));
    let mut options: Vec<OsString> = EXPANDED_BY_GCC.iter().map(no_builtin).collect();
    if compiler.version.major < 10 {
        options.push(no_builtin(&"strlen"));
    }
    // gcc declares the functions of the sanitizer as `leaf`: they call nothing of the unit. So it
    // keeps values of static variables across atomic operations, which other threads may change
    // there.
    options.push("-fno-ipa-reference".into());
    // One variable at each place of a frame: whether a place has hooks tells whether pointers to it
    // are stored.
    options.push("-fstack-reuse=none".into());
    // Pointers to variables stay within them: what can be reached through a pointer is known then.
    options.push("-fno-ivopts".into());
    if compiler.version.major >= 11 {
        options.extend(strings(&["--param", "tsan-distinguish-volatile=1", "-Wno-tsan"]));
    }
    // Optimising for size, x86 expands even copies of unknown length that are spelled
    // `__builtin_memcpy`, as the C++ library does. Not otherwise: it would report struct copies
    // twice.
    if for_size && compiler.architecture() == "x86_64" {
        options.push("-mstringop-strategy=libcall".into());
    }
    if let Some(plug_in) = runtime.hooks(compiler) {
        options.push(with("-fplugin=", plug_in));
    }
    options
}

/// Makes the debug information say that the unit was compiled with hooks ([`mark::is_hooked`]).
pub(crate) fn mark(compiler: &Compiler, standard: Option<&str>) -> Vec<OsString> {
    match compiler.family {
        // gcc records its switches unless it was told not to.
        Family::Gcc => strings(&["-grecord-gcc-switches"]),
        Family::Clang => strings(&["-Xclang", "-dwarf-debug-flags", "-Xclang", &mark::clang_producer(standard)]),
    }
}

/// Switches fortified functions off.
pub(crate) fn no_fortify(compiler: &Compiler) -> Vec<OsString> {
    let mut options = strings(&NO_FORTIFY);
    // `-fhardened` warns that it cannot switch them on any more.
    if compiler.family == Family::Gcc && compiler.version.major >= 14 {
        options.push("-Wno-hardened".into());
    }
    options
}

/// Puts raddle's headers before those of the system.
pub(crate) fn headers(runtime: &Runtime) -> Vec<OsString> {
    vec!["-isystem".into(), runtime.headers().into()]
}

/// Keeps warnings that the hooks can cause from becoming errors.
pub(crate) fn no_new_errors(compiler: &Compiler) -> Vec<OsString> {
    let names: Vec<&str> = match compiler.family {
        Family::Gcc => {
            let known = |(since, _): &&(u32, &str)| compiler.version.major >= *since;
            GCC_FRAGILE_WARNINGS.iter().filter(known).map(|(_, name)| *name).collect()
        }
        Family::Clang => CLANG_FRAGILE_WARNINGS.to_vec(),
    };
    names.into_iter().map(|name| format!("-Wno-error={name}").into()).collect()
}

/// Sends calls of functions that access memory to the hooks for them.
pub(crate) fn wrap_functions() -> OsString {
    let wrapped: String = WRAPPED_FUNCTIONS.iter().map(|name| format!(",--wrap={name}")).collect();
    format!("-Wl{wrapped}").into()
}

/// Links the hooks. These words come last: what the program defines itself comes first, and so do
/// libraries that have the functions of the archive.
pub(crate) fn link_hooks(compiler: &Compiler, runtime: &Runtime) -> Vec<OsString> {
    // For the linker, because `-x` would make sources of them. Not `-Wl,`: the directory may have a
    // comma in its name.
    runtime.hook_files(compiler.architecture()).into_iter().flat_map(|file| ["-Xlinker".into(), file.into()]).collect()
}

/// The same where inputs follow, which may need any part of the archive.
pub(crate) fn link_all_hooks(compiler: &Compiler, runtime: &Runtime) -> Vec<OsString> {
    let [object, archive] = runtime.hook_files(compiler.architecture());
    let archive = ["-Wl,--whole-archive".into(), "-Xlinker".into(), archive.into()];
    let object = ["-Xlinker".into(), object.into()];
    object.into_iter().chain(archive).chain(["-Wl,--no-whole-archive".into()]).collect()
}

fn with(option: &str, path: PathBuf) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

fn strings(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::Version;
    use std::path::Path;

    fn compiler(family: Family, major: u32) -> Compiler {
        Compiler::for_tests(family, major)
    }

    fn runtime() -> Runtime {
        Runtime::in_directory(Path::new("/rt,1")).expect("absolute")
    }

    fn text(words: Vec<OsString>) -> String {
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn gcc_gets_the_specs_file_only_when_it_links() {
        let gcc = compiler(Family::Gcc, 12);
        assert_eq!(text(instrument(&gcc, &runtime(), false)), "-fsanitize=thread");
        assert_eq!(text(instrument(&gcc, &runtime(), true)), "-specs=/rt,1/raddle-gcc.specs");
    }

    #[test]
    fn clangs_driver_never_learns_of_the_instrumentation() {
        let clang = compiler(Family::Clang, 19);
        for links in [false, true] {
            let options = text(instrument(&clang, &runtime(), links));
            assert_eq!(options, "-Xclang -fsanitize=thread");
        }
    }

    #[test]
    fn what_gcc_expands_in_line_is_among_the_wrapped() {
        for name in EXPANDED_BY_GCC {
            assert!(WRAPPED_FUNCTIONS.contains(&name), "{name}");
            assert!(
                text(refine(&compiler(Family::Gcc, 12), &runtime(), false)).contains(&format!("-fno-builtin-{name}"))
            );
        }
    }

    #[test]
    fn gccs_options_follow_its_version() {
        let of = |major| text(refine(&compiler(Family::Gcc, major), &runtime(), false));
        assert!(of(9).contains("-fno-builtin-strlen") && !of(10).contains("strlen"));
        assert!(!of(10).contains("tsan"));
        assert!(of(11).ends_with("--param tsan-distinguish-volatile=1 -Wno-tsan"));
    }

    #[test]
    fn gcc_gets_the_plug_in_that_was_built_for_it() {
        let runtime = runtime().with_gcc_hooks(Some("gcc version 12".into()));
        let of = |major| text(refine(&compiler(Family::Gcc, major), &runtime, false));
        assert!(of(12).ends_with(" -fplugin=/rt,1/raddle-gcc-hooks.so"));
        assert!(!of(13).contains("-fplugin"));
    }

    #[test]
    fn gcc_keeps_calls_when_it_optimises_for_size_on_x86() {
        let mut gcc = compiler(Family::Gcc, 12);
        assert!(text(refine(&gcc, &runtime(), true)).contains("-mstringop-strategy=libcall"));
        assert!(!text(refine(&gcc, &runtime(), false)).contains("-mstringop-strategy"));
        gcc.machine = "aarch64-linux-gnu".to_owned();
        assert!(!text(refine(&gcc, &runtime(), true)).contains("-mstringop-strategy"));
    }

    #[test]
    fn clangs_options_follow_its_version() {
        let runtime = runtime().with_clang_hooks(Version::parse("19"));
        let of = |major| text(refine(&compiler(Family::Clang, major), &runtime, false));
        let own = "-mllvm -tsan-instrument-read-before-write -mllvm -tsan-distinguish-volatile";
        let each = "-mllvm -no-stack-coloring -mllvm -disable-lsr";
        assert_eq!(of(10), format!("{each} -mprefer-vector-width=128"));
        assert_eq!(of(11), format!("{own} {each} -mprefer-vector-width=128"));
        assert_eq!(of(19), format!("{own} {each} -fpass-plugin=/rt,1/raddle-clang-hooks.so"));
    }

    #[test]
    fn hardening_does_not_complain_about_missing_fortification() {
        let of = |family, major| text(no_fortify(&compiler(family, major)));
        assert!(of(Family::Gcc, 14).ends_with(" -Wno-hardened"));
        assert_eq!(of(Family::Gcc, 13), "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0");
        assert_eq!(of(Family::Clang, 19), of(Family::Gcc, 13));
    }

    #[test]
    fn only_warnings_that_the_compiler_knows_are_named() {
        let of = |major| text(no_new_errors(&compiler(Family::Gcc, major)));
        assert!(of(12).contains("-Wno-error=stringop-overread"));
        assert!(!of(10).contains("stringop-overread"));
        assert!(text(no_new_errors(&compiler(Family::Clang, 14))).contains("-Wno-error=pass-failed"));
    }

    #[test]
    fn every_wrapped_function_is_named_to_the_linker() {
        let linked = text(vec![wrap_functions()]);
        let hooks = include_str!("../hooks/hooks.c");
        for name in WRAPPED_FUNCTIONS {
            assert!(linked.contains(&format!("--wrap={name}")), "{name}");
            assert!(hooks.contains(&format!("C_LIBRARY({name});")), "{name}");
        }
    }

    #[test]
    fn hooks_are_for_the_linker() {
        let expected = "-Xlinker /rt,1/raddle-hooks.o -Xlinker /rt,1/libraddle-hooks.a";
        assert_eq!(text(link_hooks(&compiler(Family::Gcc, 12), &runtime())), expected);
    }
}
