//! Turns a command line into the command that builds the same thing with raddle's hooks.

use crate::bitcode;
use crate::command_line::{self, Argument, ArgumentKind, Stage};
use crate::compiler::{Compiler, Family, Language, has_gnu_system};
use crate::flags;
use crate::hide;
use crate::input::InputKind;
use crate::mark::{LinkRecord, is_static_input};
use crate::runtime::{Runtime, SupportFile};
use crate::sanitizers::Sanitizers;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the user typed, with response files already expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The driver that the wrapper replaces.
    pub language: Language,
    /// The words after the program's name.
    pub args: Vec<OsString>,
    /// Hide from the program that a thread sanitizer's hooks are in it.
    pub hide_tsan: bool,
}

/// What a plan's command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Exactly what the user typed: questions to the compiler, no input, code for other machines.
    PassThrough,
    /// Stops after preprocessing.
    Preprocess,
    /// Makes objects, assembly or precompiled headers.
    Compile,
    /// Links existing objects.
    Link,
    /// Does both in one command.
    CompileAndLink,
}

/// The command that does what the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    /// The real compiler.
    pub program: PathBuf,
    /// All of its arguments.
    pub args: Vec<OsString>,
    /// What kind of work it is.
    pub action: Action,
    /// Files that the command reads and that must exist first.
    pub support_files: Vec<SupportFile>,
    /// What is linked, for a note in the output.
    pub link_note: Option<LinkNote>,
    /// Files that the command makes and that then carry bitcode.
    pub with_bitcode: Vec<PathBuf>,
    /// What was left out of the user's options, a sentence each.
    pub notes: Vec<String>,
}

/// A note about a link, which becomes an input of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkNote {
    /// What it says; [`crate::execute`] fills in the directory.
    pub record: LinkRecord,
    /// The machine that is linked for.
    pub machine: String,
    /// Its place among the arguments: before the user's own, because `-x` would take it for a
    /// source.
    pub position: usize,
}

/// Why a command line cannot be carried out, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The whole program would be linked statically.
    #[error(
        "`{option}` cannot be used: raddle's runtime is a shared library that takes over the thread functions \
         when the program is loaded. Link dynamically; `-static-libgcc` and `-static-libstdc++` are fine."
    )]
    StaticLink {
        /// The option as it was given.
        option: String,
    },
    /// Another sanitizer with a runtime of its own.
    #[error(
        "`-fsanitize={name}` cannot be combined with raddle: its runtime takes over the same functions or memory. \
         Leave it out of the build for raddle; `-fsanitize=undefined` and its parts are fine."
    )]
    ForeignSanitizer {
        /// The sanitizer's name.
        name: String,
    },
    /// Code for a machine that this raddle has no runtime for.
    #[error(
        "the compiler makes code for {machine}, and this raddle has no runtime for that. For aarch64: `rustup target \
         add aarch64-unknown-linux-gnu`, install the package `gcc-aarch64-linux-gnu`, and build raddle again."
    )]
    NoRuntime {
        /// The machine.
        machine: String,
    },
    /// Code for a 32-bit machine.
    #[error("`{option}` cannot be used: raddle checks 64-bit programs only. Leave it out, or use `-m64`.")]
    NotSixtyFourBit {
        /// The option as it was given.
        option: String,
    },
}

/// Plans the command for an invocation. Pure: the same arguments give the same plan.
pub fn plan(invocation: &Invocation, compiler: &Compiler, runtime: &Runtime) -> Result<CommandPlan, Refusal> {
    let request = Request::read(&invocation.args, invocation.language);
    let compiler = &request.retarget(compiler);
    let Some(action) = request.action(compiler, runtime) else {
        return Ok(pass_through(invocation, compiler));
    };
    request.check(action)?;
    if !runtime.is_for(compiler.architecture()) {
        return Err(Refusal::NoRuntime { machine: compiler.machine.clone() });
    }
    let compiles = request.source_language().is_some();
    let makes_link = matches!(action, Action::Link | Action::CompileAndLink);
    let links = makes_link && !request.relocatable;
    let mut notes = Vec::new();
    let mut args = compiler.leading.clone();
    if links {
        args.push(flags::wrap_functions());
    }
    let (options, inputs_only) = request.kept_words(&mut notes);
    args.extend(options);
    args.extend(request.sanitizers.options().into_iter().map(OsString::from));
    let mut support_files = Vec::new();
    let mut with_bitcode = Vec::new();
    if compiles {
        args.extend(request.compile_options(compiler, runtime, action, invocation.hide_tsan));
        if compiler.family == Family::Clang {
            with_bitcode = request.objects(action);
        }
        if !with_bitcode.is_empty() {
            args.extend(bitcode::EMBED.map(OsString::from));
        }
        if compiler.family == Family::Gcc && action == Action::CompileAndLink {
            support_files.push(runtime.gcc_specs());
        }
        support_files.extend(runtime.header_files());
    }
    if links && inputs_only.is_empty() {
        args.extend(flags::link_hooks(compiler, runtime));
    } else if links {
        args.extend(flags::link_all_hooks(compiler, runtime));
    }
    args.extend(inputs_only);
    let position = compiler.leading.len();
    let link_note = makes_link.then(|| LinkNote {
        record: request.link_record(compiler),
        machine: compiler.machine.clone(),
        position,
    });
    let program = compiler.program.clone();
    Ok(CommandPlan { program, args, action, support_files, link_note, with_bitcode, notes })
}

fn pass_through(invocation: &Invocation, compiler: &Compiler) -> CommandPlan {
    CommandPlan {
        program: compiler.program.clone(),
        args: compiler.leading.iter().chain(&invocation.args).cloned().collect(),
        action: Action::PassThrough,
        support_files: Vec::new(),
        link_note: None,
        with_bitcode: Vec::new(),
        notes: Vec::new(),
    }
}

/// A command line, and what the planner has to know about it as a whole.
#[derive(Debug)]
struct Request {
    arguments: Vec<Argument>,
    sanitizers: Sanitizers,
    relocatable: bool,
}

impl Request {
    fn read(args: &[OsString], driver: Language) -> Self {
        let arguments = command_line::parse(args, driver);
        let mut sanitizers = Sanitizers::default();
        let mut relocatable = false;
        for argument in &arguments {
            match &argument.kind {
                ArgumentKind::Sanitize { on, names } => sanitizers.add(*on, names),
                ArgumentKind::Relocatable => relocatable = true,
                ArgumentKind::Linker(words) => {
                    relocatable |= words.iter().any(|word| is_relocatable_option(word));
                }
                _ => {}
            }
        }
        Self { arguments, sanitizers, relocatable }
    }

    fn has(&self, wanted: impl Fn(&ArgumentKind) -> bool) -> bool {
        self.arguments.iter().any(|argument| wanted(&argument.kind))
    }

    /// What will happen; `None` where the command line must reach the compiler unchanged.
    fn action(&self, compiler: &Compiler, runtime: &Runtime) -> Option<Action> {
        if self.has(|kind| *kind == ArgumentKind::Query) || self.is_for_another_machine(compiler, runtime) {
            return None;
        }
        let has_header = self.has(|kind| matches!(kind, ArgumentKind::Input(InputKind::Header(_))));
        let has_code =
            self.has(|kind| matches!(kind, ArgumentKind::Input(input) if !matches!(input, InputKind::Header(_))));
        let has_library = self.has(|kind| match kind {
            ArgumentKind::Library => true,
            ArgumentKind::Linker(words) => words.iter().any(|word| is_linkable_file(word)),
            _ => false,
        });
        if !has_header && !has_code && !has_library {
            return None;
        }
        let compiles =
            self.has(|kind| matches!(kind, ArgumentKind::Input(InputKind::Source(_) | InputKind::Header(_))));
        if self.has(|kind| *kind == ArgumentKind::Stage(Stage::Preprocess)) {
            Some(Action::Preprocess)
        } else if self.has(|kind| *kind == ArgumentKind::Stage(Stage::Compile)) || (has_header && !has_code) {
            Some(Action::Compile)
        } else if compiles {
            Some(Action::CompileAndLink)
        } else {
            Some(Action::Link)
        }
    }

    /// The machine that the user named with `--target`.
    fn target(&self) -> Option<String> {
        let last = self.last(|kind| match kind {
            ArgumentKind::Target(machine) => Some(machine.clone()),
            _ => None,
        });
        last.map(|(machine, _)| machine)
    }

    /// The compiler, which may compile for another machine than its own.
    fn retarget(&self, compiler: &Compiler) -> Compiler {
        let own = compiler.machine.clone();
        Compiler { machine: self.target().unwrap_or(own), ..compiler.clone() }
    }

    /// Whether the code is for a graphics card, a kernel's virtual machine or another system.
    /// Such code is not instrumented.
    fn is_for_another_machine(&self, compiler: &Compiler, runtime: &Runtime) -> bool {
        let architecture = compiler.architecture();
        self.target().is_some_and(|machine| {
            let may_be_checked = runtime.is_own(architecture) || architecture == "aarch64" && has_gnu_system(&machine);
            !is_32bit_x86(&machine) && !may_be_checked
        })
    }

    /// Refuses what cannot work.
    fn check(&self, action: Action) -> Result<(), Refusal> {
        if let Some(name) = self.sanitizers.conflict() {
            return Err(Refusal::ForeignSanitizer { name: name.to_owned() });
        }
        let narrow = self.last(|kind| match kind {
            ArgumentKind::Narrow(narrow) => Some(*narrow),
            ArgumentKind::Target(machine) => Some(is_32bit_x86(machine)),
            _ => None,
        });
        if let Some((true, option)) = narrow {
            return Err(Refusal::NotSixtyFourBit { option });
        }
        let links = matches!(action, Action::Link | Action::CompileAndLink);
        match self.last(|kind| (*kind == ArgumentKind::Static).then_some(())) {
            Some((_, option)) if links && !self.relocatable => Err(Refusal::StaticLink { option }),
            _ => Ok(()),
        }
    }

    /// The last argument for which `pick` returns a value, and how the user wrote it.
    fn last<T>(&self, pick: impl Fn(&ArgumentKind) -> Option<T>) -> Option<(T, String)> {
        self.arguments.iter().rev().find_map(|argument| {
            let found = pick(&argument.kind)?;
            Some((found, argument.text()))
        })
    }

    /// The language of the code that is compiled; C++ where it is both.
    fn source_language(&self) -> Option<Language> {
        let languages = self.arguments.iter().filter_map(|argument| match argument.kind {
            ArgumentKind::Input(InputKind::Source(language) | InputKind::Header(language)) => Some(language),
            _ => None,
        });
        languages.reduce(|found, next| if next == Language::Cxx { next } else { found })
    }

    /// The options for the compiler proper. They come last, because the last of contradicting
    /// options wins.
    fn compile_options(
        &self,
        compiler: &Compiler,
        runtime: &Runtime,
        action: Action,
        hide_tsan: bool,
    ) -> Vec<OsString> {
        let mut options = flags::instrument(compiler, runtime, action == Action::CompileAndLink);
        if action != Action::Preprocess {
            let enough_debug = self.last(|kind| match kind {
                ArgumentKind::Debug(enough) => Some(*enough),
                _ => None,
            });
            // A second `-g` would take the macros of `-g3` away again.
            if !enough_debug.is_some_and(|(enough, _)| enough) {
                options.push("-g".into());
            }
            options.extend(flags::refine(compiler, runtime, self.optimizes_for_size()));
            options.extend(flags::mark(compiler, self.standard().as_deref()));
            if self.has(|kind| *kind == ArgumentKind::WarningsAsErrors) {
                options.extend(flags::no_new_errors(compiler));
            }
        }
        options.extend(flags::no_fortify(compiler));
        options.extend(flags::headers(runtime));
        if let Some(language) = self.source_language().filter(|_| hide_tsan) {
            let standard = self.standard();
            let hidden = hide::options(compiler.family, language, standard.as_deref());
            options.extend(hidden.into_iter().map(OsString::from));
        }
        options
    }

    /// The files of machine code that the command makes from sources; none where it makes something
    /// else.
    fn objects(&self, action: Action) -> Vec<PathBuf> {
        let words = || self.arguments.iter().filter_map(|argument| argument.words.first()?.to_str());
        let only_objects = words().any(|word| matches!(word, "-c" | "--compile"));
        let something_else = words().any(|word| {
            matches!(
                word,
                "-S" | "--assemble" | "-fsyntax-only" | "--precompile" | "-emit-ast" | "-emit-llvm" | "-fmodule-only"
            )
        });
        if something_else || !(only_objects || action == Action::CompileAndLink) {
            return Vec::new();
        }
        match self.arguments.iter().rev().find_map(Argument::output) {
            Some(name) => vec![name.into()],
            None if action == Action::CompileAndLink => vec!["a.out".into()],
            None => {
                let sources = self
                    .arguments
                    .iter()
                    .filter(|argument| matches!(argument.kind, ArgumentKind::Input(InputKind::Source(_))));
                let stems = sources.filter_map(|argument| Path::new(argument.words.first()?).file_stem());
                stems.map(|stem| Path::new(stem).with_added_extension("o")).collect()
            }
        }
    }

    /// What goes into the link by the user's own words.
    fn link_record(&self, compiler: &Compiler) -> LinkRecord {
        let mut record = LinkRecord { compiler: compiler.program.clone(), ..LinkRecord::default() };
        for argument in &self.arguments {
            match &argument.kind {
                ArgumentKind::Input(InputKind::Linkable) => {
                    record.inputs.extend(argument.words.iter().map(PathBuf::from));
                }
                ArgumentKind::Linker(words) => {
                    record.inputs.extend(words.iter().filter(|word| is_linkable_file(word)).map(PathBuf::from));
                    let after = |option| words.iter().filter_map(move |word| word.strip_prefix(option));
                    record.libraries.extend(after("-l").map(OsString::from));
                    record.search.extend(after("-L").map(PathBuf::from));
                }
                ArgumentKind::Library => record.libraries.extend(argument.value_of(&["-l"])),
                ArgumentKind::Plain => {
                    let directory = argument.value_of(&["-L", "--library-directory", "--library-directory="]);
                    record.search.extend(directory.map(PathBuf::from));
                }
                _ => {}
            }
        }
        record.inputs.retain(|path| is_static_input(path));
        record
    }

    /// The value of the last `-std=`.
    fn standard(&self) -> Option<String> {
        let last = self.last(|kind| match kind {
            ArgumentKind::Standard(name) => Some(name.clone()),
            _ => None,
        });
        last.map(|(name, _)| name)
    }

    fn optimizes_for_size(&self) -> bool {
        let level = self.last(|kind| match kind {
            ArgumentKind::Optimize { for_size } => Some(*for_size),
            _ => None,
        });
        level.is_some_and(|(for_size, _)| for_size)
    }

    /// The user's own words, without those that raddle replaces or cannot honour. The second part
    /// begins with `--`, after which no option is allowed.
    fn kept_words(&self, notes: &mut Vec<String>) -> (Vec<OsString>, Vec<OsString>) {
        let mut options = Vec::new();
        let mut inputs_only = Vec::new();
        if self.sanitizers.thread_refused {
            notes.push("the thread sanitizer's hooks stay on: raddle needs them everywhere".to_owned());
        }
        for argument in &self.arguments {
            let words = self.kept(argument, notes);
            if argument.kind == ArgumentKind::EndOfOptions || !inputs_only.is_empty() {
                inputs_only.extend(words);
            } else {
                options.extend(words);
            }
        }
        (options, inputs_only)
    }

    /// The words of one argument that are kept.
    fn kept(&self, argument: &Argument, notes: &mut Vec<String>) -> Vec<OsString> {
        let mut left_out = |reason: &str| {
            notes.push(format!("`{}` is left out: {reason}", argument.text()));
            Vec::new()
        };
        match &argument.kind {
            // Both are replaced by options of raddle's own.
            ArgumentKind::Sanitize { .. } | ArgumentKind::Fortify => Vec::new(),
            ArgumentKind::Preprocessor(words) => {
                rejoined("-Wp", words, |word| !command_line::is_fortify_option(word), argument)
            }
            ArgumentKind::Linker(words) if words.iter().any(|word| is_strip_option(word)) => {
                left_out("reports need the debug information");
                rejoined("-Wl", words, |word| !is_strip_option(word), argument)
            }
            ArgumentKind::Strip => left_out("reports need the debug information"),
            ArgumentKind::LinkTimeOptimization => left_out("the hooks are put in when a file is compiled"),
            ArgumentKind::SanitizerExceptions => left_out("raddle needs its hooks everywhere"),
            ArgumentKind::SanitizerRuntime if !self.sanitizers.any() => left_out("raddle's runtime takes its place"),
            _ => argument.words.clone(),
        }
    }
}

/// A list option without some of its words; nothing where none is left. `-Xlinker` has one word
/// only.
fn rejoined(option: &str, words: &[String], keep: impl Fn(&str) -> bool, argument: &Argument) -> Vec<OsString> {
    let kept: Vec<&str> = words.iter().map(String::as_str).filter(|word| keep(word)).collect();
    match kept.len() {
        0 => Vec::new(),
        count if count == words.len() => argument.words.clone(),
        _ => vec![format!("{option},{}", kept.join(",")).into()],
    }
}

/// The linker's own spellings of `-r`.
fn is_relocatable_option(word: &str) -> bool {
    matches!(word, "-r" | "-i" | "--relocatable" | "-relocatable")
}

/// The linker's own spellings of `-s`, and those that remove debug information only.
fn is_strip_option(word: &str) -> bool {
    matches!(word, "-s" | "--strip-all" | "-strip-all" | "-S" | "--strip-debug" | "-strip-debug")
}

/// A file among words for the linker, as in `-Wl,--whole-archive,libx.a`.
fn is_linkable_file(word: &str) -> bool {
    !word.starts_with('-') && [".a", ".o", ".so", ".lo"].iter().any(|end| word.ends_with(end))
}

/// Whether the machine is an x86 with 32-bit pointers.
fn is_32bit_x86(machine: &str) -> bool {
    let architecture = machine.split('-').next().unwrap_or_default();
    matches!(architecture, "i386" | "i486" | "i586" | "i686" | "x86") || machine.ends_with("x32")
}

#[cfg(test)]
mod tests;
