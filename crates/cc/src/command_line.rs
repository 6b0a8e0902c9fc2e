//! Parses a driver's command line into options and inputs.
//!
//! Only options that the planner depends on have a kind of their own. Every other option is
//! [`ArgumentKind::Plain`] and passes through. For *every* option it must be known whether the next
//! word belongs to it, because otherwise that word would be taken for an input.

use crate::compiler::Language;
use crate::input::{self, InputKind};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// An option or input together with all words that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) kind: ArgumentKind,
    pub(crate) words: Vec<OsString>,
}

impl Argument {
    /// How the user wrote it, for messages.
    pub(crate) fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// The value of an option with one of these spellings, joined or as the next word.
    pub(crate) fn value_of(&self, spellings: &[&str]) -> Option<OsString> {
        match self.words.as_slice() {
            [option, value] => spellings.iter().any(|name| option == name).then(|| value.clone()),
            [word] => {
                let joined = spellings.iter().find_map(|name| word.as_bytes().strip_prefix(name.as_bytes()));
                joined.filter(|value| !value.is_empty()).map(|value| OsStr::from_bytes(value).to_owned())
            }
            _ => None,
        }
    }

    /// The file that `-o` names.
    pub(crate) fn output(&self) -> Option<&OsStr> {
        match self.words.as_slice() {
            [option, value] if option == "-o" || option == "--output" => Some(value),
            [word] if self.kind == ArgumentKind::Plain => {
                let bytes = word.as_bytes();
                let joined = bytes.strip_prefix(b"--output=").or_else(|| bytes.strip_prefix(b"-o"));
                joined.filter(|name| !name.is_empty()).map(OsStr::from_bytes)
            }
            _ => None,
        }
    }
}

/// The meaning of an argument for the planner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// A file, or `-` for standard input.
    Input(InputKind),
    /// `-l`: an input for the linker.
    Library,
    /// `-Wl,...` or `-Xlinker ...`: words for the linker itself.
    Linker(Vec<String>),
    /// `-Wp,...`: words for the preprocessor.
    Preprocessor(Vec<String>),
    /// Stops before linking.
    Stage(Stage),
    /// Makes the driver print something and stop, or switches it to another command-line syntax.
    Query,
    /// `-fsanitize=` or `-fno-sanitize=` with its list.
    Sanitize { on: bool, names: Vec<String> },
    /// Excludes code from sanitizers.
    SanitizerExceptions,
    /// Says how the sanitizers' own runtime is linked.
    SanitizerRuntime,
    /// Sets or clears `_FORTIFY_SOURCE`.
    Fortify,
    /// Links the whole program statically.
    Static,
    /// Links objects into one object.
    Relocatable,
    /// `-m32` and relatives (`true`) or `-m64` (`false`).
    Narrow(bool),
    /// The machine to compile for.
    Target(String),
    /// Link-time optimisation and what only works with it.
    LinkTimeOptimization,
    /// How much debug information; `true` where it is enough to name variables.
    Debug(bool),
    /// Removes debug information from the output, or keeps it in other files.
    Strip,
    /// `-O...`; `true` where size counts more than speed.
    Optimize { for_size: bool },
    /// Warnings, or one of them, are errors.
    WarningsAsErrors,
    /// The language standard.
    Standard(String),
    /// `--`: only inputs follow.
    EndOfOptions,
    /// Any other option.
    Plain,
}

/// Where the driver stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Preprocess,
    Compile,
}

/// Options whose value is the next word. Those that can also be joined (`-Idir`) are listed because
/// the bare option takes the next word.
#[rustfmt::skip]
const TAKES_NEXT_WORD: &[&str] = &[
    "--assert", "--define-macro", "--entry", "--for-assembler", "--for-linker", "--force-link",
    "--imacros", "--include", "--include-directory", "--include-directory-after",
    "--include-prefix", "--include-with-prefix", "--include-with-prefix-after", "--language",
    "--library-directory", "--output", "--param", "--prefix", "--serialize-diagnostics",
    "--sysroot", "--undefine-macro", "-A", "-B", "-D", "-F", "-G", "-I", "-L", "-MF", "-MJ",
    "-MQ", "-MT", "-T", "-Tbss", "-Tdata", "-Ttext", "-U", "-Xanalyzer", "-Xarch_device",
    "-Xarch_host", "-Xassembler", "-Xclang", "-Xcuda-fatbinary", "-Xcuda-ptxas", "-Xlinker",
    "-Xoffload-linker", "-Xopenmp-target", "-Xpreprocessor", "-arch", "-aux-info",
    "-ccc-gcc-name", "-cxx-isystem", "-dependency-dot", "-dependency-file", "-dumpbase",
    "-dumpbase-ext", "-dumpdir", "-e", "-framework", "-gcc-toolchain", "-idirafter",
    "-iframework", "-imacros", "-imultiarch", "-imultilib", "-include", "-include-pch",
    "-iprefix", "-iquote", "-isysroot", "-isystem", "-isystem-after", "-ivfsoverlay",
    "-iwithprefix", "-iwithprefixbefore", "-iwithsysroot", "-l", "-main-file-name", "-mllvm",
    "-mmlir", "-o", "-resource-dir", "-rpath", "-serialize-diagnostics", "-stdlib++-isystem",
    "-target", "-u", "-working-directory", "-wrapper", "-x", "-z",
];

/// Options that may be written with their value joined, and whose value the planner looks at.
const JOINED: &[&str] =
    &["--define-macro=", "--language=", "--target=", "--undefine-macro=", "-D", "-U", "-l", "-std=", "--std=", "-x"];

/// Splits the words of a command line (without the program) into arguments. The words of all
/// arguments, concatenated, are the command line.
pub(crate) fn parse(args: &[OsString], driver: Language) -> Vec<Argument> {
    let mut arguments = Vec::with_capacity(args.len());
    let mut forced: Option<InputKind> = None;
    let mut only_inputs = false;
    let mut rest = args;
    while let [word, after @ ..] = rest {
        let text = word.to_str().unwrap_or_default();
        let is_option = !only_inputs && text != "-" && word.as_encoded_bytes().starts_with(b"-");
        let used = if is_option && TAKES_NEXT_WORD.contains(&text) && !after.is_empty() { 2 } else { 1 };
        let kind = if is_option {
            let value = after.first().filter(|_| used == 2).and_then(|value| value.to_str());
            if let Some(language) = forced_language(text, value) {
                forced = input::by_name(language);
            }
            classify(text, value)
        } else {
            ArgumentKind::Input(forced.unwrap_or_else(|| input_kind(word, driver)))
        };
        only_inputs |= kind == ArgumentKind::EndOfOptions;
        arguments.push(Argument { kind, words: rest[..used].to_vec() });
        rest = &rest[used..];
    }
    arguments
}

/// Standard input has no extension; the drivers take it for their own language.
fn input_kind(word: &OsStr, driver: Language) -> InputKind {
    if word == "-" { InputKind::Source(driver) } else { input::by_extension(word, driver) }
}

/// The value of `-x`, in any spelling.
fn forced_language<'a>(option: &'a str, next: Option<&'a str>) -> Option<&'a str> {
    let (name, value) = name_and_value(option, next);
    value.filter(|_| matches!(name, "-x" | "--language" | "--language="))
}

/// Separates an option from its value, whether that is joined or the next word.
fn name_and_value<'a>(option: &'a str, next: Option<&'a str>) -> (&'a str, Option<&'a str>) {
    if next.is_some() {
        return (option, next);
    }
    let joined = JOINED.iter().find(|name| option.len() > name.len() && option.starts_with(**name));
    joined.map_or((option, None), |name| (*name, Some(&option[name.len()..])))
}

fn classify(option: &str, next: Option<&str>) -> ArgumentKind {
    let (name, value) = name_and_value(option, next);
    let value = value.unwrap_or_default();
    match name {
        "-D" | "-U" | "--define-macro" | "--undefine-macro" | "--define-macro=" | "--undefine-macro=" => {
            if names_fortify(value) {
                ArgumentKind::Fortify
            } else {
                ArgumentKind::Plain
            }
        }
        "-Xpreprocessor" if is_fortify_option(value) => ArgumentKind::Fortify,
        "-Xlinker" | "--for-linker" => ArgumentKind::Linker(vec![value.to_owned()]),
        "-l" => ArgumentKind::Library,
        "-target" | "--target=" => ArgumentKind::Target(value.to_owned()),
        "-std=" | "--std=" => ArgumentKind::Standard(value.to_owned()),
        _ => classify_list(option).unwrap_or_else(|| classify_word(option)),
    }
}

/// Options whose value is a list with commas.
fn classify_list(option: &str) -> Option<ArgumentKind> {
    let list = |values: &str| values.split(',').map(str::to_owned).collect();
    if let Some(words) = option.strip_prefix("-Wl,") {
        Some(ArgumentKind::Linker(list(words)))
    } else if let Some(words) = option.strip_prefix("-Wp,") {
        Some(ArgumentKind::Preprocessor(list(words)))
    } else if let Some(names) = option.strip_prefix("-fsanitize=") {
        Some(ArgumentKind::Sanitize { on: true, names: list(names) })
    } else {
        let names = option.strip_prefix("-fno-sanitize=")?;
        Some(ArgumentKind::Sanitize { on: false, names: list(names) })
    }
}

fn classify_word(option: &str) -> ArgumentKind {
    match option {
        "--" => ArgumentKind::EndOfOptions,
        "-E" | "--preprocess" | "-M" | "--dependencies" | "-MM" | "--user-dependencies" => {
            ArgumentKind::Stage(Stage::Preprocess)
        }
        "-c" | "--compile" | "-S" | "--assemble" | "-fsyntax-only" | "--precompile" | "-emit-ast" | "-fmodule-only" => {
            ArgumentKind::Stage(Stage::Compile)
        }
        "-static" | "--static" | "-static-pie" => ArgumentKind::Static,
        "-r" => ArgumentKind::Relocatable,
        "-m32" | "-mx32" | "-m16" => ArgumentKind::Narrow(true),
        "-m64" => ArgumentKind::Narrow(false),
        "-s" | "-gsplit-dwarf" | "-gsplit-dwarf=split" | "-gsplit-dwarf=single" => ArgumentKind::Strip,
        "-ansi" | "--ansi" => ArgumentKind::Standard("ansi".to_owned()),
        "-fwhole-program"
        | "-fwhole-program-vtables"
        | "-fvirtual-function-elimination"
        | "-ffat-lto-objects"
        | "-fno-fat-lto-objects"
        | "-funified-lto"
        | "-fsplit-lto-unit" => ArgumentKind::LinkTimeOptimization,
        "-static-libtsan" | "-static-libsan" | "-shared-libsan" => ArgumentKind::SanitizerRuntime,
        "-dumpversion" | "-dumpfullversion" | "-dumpmachine" | "-dumpspecs" | "--version" | "--help" | "-help"
        | "--target-help" | "--analyze" | "-cc1" | "-cc1as" => ArgumentKind::Query,
        _ => classify_prefix(option),
    }
}

fn classify_prefix(option: &str) -> ArgumentKind {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| option.starts_with(prefix));
    if starts(&["-print-", "--print-", "--help=", "--autocomplete="]) {
        ArgumentKind::Query
    } else if starts(&["-flto", "-fthinlto-index="]) {
        ArgumentKind::LinkTimeOptimization
    } else if starts(&["-fsanitize-ignorelist=", "-fsanitize-blacklist=", "-fno-sanitize-thread-"]) {
        ArgumentKind::SanitizerExceptions
    } else if option == "-Werror" || option.starts_with("-Werror=") {
        ArgumentKind::WarningsAsErrors
    } else if let Some(level) = option.strip_prefix("-O") {
        ArgumentKind::Optimize { for_size: matches!(level, "s" | "z") }
    } else if let Some(level) = option.strip_prefix("-g") {
        debug_level(level).map_or(ArgumentKind::Plain, ArgumentKind::Debug)
    } else {
        ArgumentKind::Plain
    }
}

/// Whether a `-g` option that sets the level gives enough; `None` for those that tune other things.
fn debug_level(level: &str) -> Option<bool> {
    match level {
        "0" | "1" | "gdb0" | "gdb1" | "mlt" | "line-tables-only" | "line-directives-only" => Some(false),
        "" | "2" | "3" | "gdb" | "gdb2" | "gdb3" | "full" | "lldb" => Some(true),
        _ => level.starts_with("dwarf").then_some(true),
    }
}

/// Whether a macro definition (`NAME` or `NAME=VALUE`) is about `_FORTIFY_SOURCE`.
fn names_fortify(definition: &str) -> bool {
    definition.split('=').next() == Some("_FORTIFY_SOURCE")
}

/// Whether a preprocessor option sets or clears `_FORTIFY_SOURCE`.
pub(crate) fn is_fortify_option(option: &str) -> bool {
    let definition = option.strip_prefix("-D").or_else(|| option.strip_prefix("-U"));
    definition.is_some_and(names_fortify)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<Argument> {
        parse(&crate::response::split(line.as_bytes()), Language::C)
    }

    fn kinds(line: &str) -> Vec<ArgumentKind> {
        arguments(line).into_iter().map(|argument| argument.kind).collect()
    }

    const C: ArgumentKind = ArgumentKind::Input(InputKind::Source(Language::C));
    const OBJECT: ArgumentKind = ArgumentKind::Input(InputKind::Linkable);

    #[test]
    fn words_are_neither_lost_nor_reordered() {
        let line = "-c -I dir -DX a.c -o a.o -Wl,-z,now -Xlinker -s -x c++ b -- -c";
        let words: Vec<_> = arguments(line).into_iter().flat_map(|argument| argument.words).collect();
        assert_eq!(words, crate::response::split(line.as_bytes()));
    }

    #[test]
    fn the_value_of_an_option_is_not_an_input() {
        for option in TAKES_NEXT_WORD {
            let found = arguments(&format!("{option} a.c"));
            assert_eq!(found.len(), 1, "{option}");
        }
        assert_eq!(kinds("-Idir a.c -o x"), [ArgumentKind::Plain, C, ArgumentKind::Plain]);
        assert_eq!(arguments("-o").len(), 1, "a missing value is the compiler's to complain about");
    }

    #[test]
    fn the_table_is_sorted_and_free_of_doubles() {
        assert!(TAKES_NEXT_WORD.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_forced_language_holds_until_it_is_taken_back() {
        let forced = ArgumentKind::Input(InputKind::Source(Language::Cxx));
        for spelling in ["-x c++", "-xc++", "--language c++", "--language=c++"] {
            let found = kinds(&format!("{spelling} a.o - -x none a.o"));
            assert_eq!(found[1..], [forced.clone(), forced.clone(), ArgumentKind::Plain, OBJECT]);
        }
        assert_eq!(kinds("-"), [C]);
    }

    #[test]
    fn after_two_dashes_everything_is_an_input() {
        assert_eq!(kinds("-- -c"), [ArgumentKind::EndOfOptions, OBJECT]);
    }

    #[test]
    fn stages_are_recognised_in_every_spelling() {
        for option in ["-E", "-M", "-MM", "--preprocess", "--dependencies", "--user-dependencies"] {
            assert_eq!(kinds(option), [ArgumentKind::Stage(Stage::Preprocess)], "{option}");
        }
        for option in ["-c", "-S", "--compile", "--assemble", "-fsyntax-only"] {
            assert_eq!(kinds(option), [ArgumentKind::Stage(Stage::Compile)], "{option}");
        }
        assert_eq!(kinds("-MD -MMD -MP -MG -MF d"), vec![ArgumentKind::Plain; 5]);
    }

    #[test]
    fn fortify_is_recognised_in_every_spelling() {
        for option in [
            "-D_FORTIFY_SOURCE=2",
            "-D _FORTIFY_SOURCE",
            "-U_FORTIFY_SOURCE",
            "-U _FORTIFY_SOURCE",
            "--define-macro=_FORTIFY_SOURCE=1",
            "-Xpreprocessor -D_FORTIFY_SOURCE=3",
        ] {
            assert_eq!(kinds(option), [ArgumentKind::Fortify], "{option}");
        }
        assert_eq!(kinds("-D_FORTIFY_SOURCES -DX=_FORTIFY_SOURCE"), [ArgumentKind::Plain, ArgumentKind::Plain]);
    }

    #[test]
    fn debug_levels_are_told_from_debug_tuning() {
        for option in ["-g", "-g2", "-g3", "-ggdb", "-ggdb3", "-gdwarf-4", "-gdwarf"] {
            assert_eq!(kinds(option), [ArgumentKind::Debug(true)], "{option}");
        }
        for option in ["-g0", "-g1", "-ggdb0", "-gmlt", "-gline-tables-only"] {
            assert_eq!(kinds(option), [ArgumentKind::Debug(false)], "{option}");
        }
        for option in ["-gz", "-gno-column-info", "-gpubnames"] {
            assert_eq!(kinds(option), [ArgumentKind::Plain], "{option}");
        }
    }

    #[test]
    fn lists_are_cut_at_their_commas() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(kinds("-Wl,-z,now"), [ArgumentKind::Linker(list(&["-z", "now"]))]);
        assert_eq!(kinds("-Xlinker -s"), [ArgumentKind::Linker(list(&["-s"]))]);
        assert_eq!(kinds("-Wp,-MD,a.d"), [ArgumentKind::Preprocessor(list(&["-MD", "a.d"]))]);
        assert_eq!(
            kinds("-fsanitize=thread,undefined -fno-sanitize=vptr"),
            [
                ArgumentKind::Sanitize { on: true, names: list(&["thread", "undefined"]) },
                ArgumentKind::Sanitize { on: false, names: list(&["vptr"]) }
            ]
        );
    }

    #[test]
    fn only_whole_program_static_linking_counts_as_static() {
        assert_eq!(
            kinds("-static -static-pie --static"),
            [ArgumentKind::Static, ArgumentKind::Static, ArgumentKind::Static]
        );
        assert_eq!(kinds("-static-libgcc -static-libstdc++"), [ArgumentKind::Plain, ArgumentKind::Plain]);
    }

    #[test]
    fn questions_are_recognised() {
        for option in [
            "--version",
            "-dumpversion",
            "-dumpmachine",
            "-print-search-dirs",
            "-cc1",
            "-print-prog-name=ld",
            "--print-file-name=libc.a",
            "--help",
            "--help=warnings",
        ] {
            assert_eq!(kinds(option), [ArgumentKind::Query], "{option}");
        }
        assert_eq!(kinds("-v -###"), [ArgumentKind::Plain, ArgumentKind::Plain]);
    }

    #[test]
    fn words_that_are_not_unicode_pass() {
        use std::os::unix::ffi::OsStringExt;
        let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let args = [word(b"-I\xff"), word(b"\xff.c"), word(b"-o"), word(b"\xff")];
        let found: Vec<ArgumentKind> = parse(&args, Language::C).into_iter().map(|p| p.kind).collect();
        assert_eq!(found, [ArgumentKind::Plain, C, ArgumentKind::Plain]);
    }
}
