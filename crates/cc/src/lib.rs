//! The compiler wrapper: `raddle cc` and `raddle c++`.
//!
//! The core is a pure function: [`plan()`] turns a command line and the properties of the real
//! compiler into the command that builds the same thing with every memory access and
//! synchronisation hooked, or into a [`Refusal`] whose text says what to do. It reads no file and
//! no environment variable, so that each rule is tested by comparing words. Around it are three
//! thin layers that do access the system:
//!
//! | module | does |
//! |---|---|
//! | [`response`] | expands `@file` arguments, and writes one when a command line grows too long |
//! | [`find_compiler`], [`Compiler::probe`] | search `PATH` and identify a compiler |
//! | [`execute`], [`wrap`] | run a plan, or the whole wrapper from arguments to exit status |
//!
//! # How the hooks get in without the sanitizer's own runtime
//!
//! Both compilers instrument under `-fsanitize=thread` and both would then link their own runtime.
//! The option must therefore reach the compiler proper but not the driver that composes the link
//! command. clang has `-Xclang` for this. gcc gets the option directly when nothing is linked; when
//! one command compiles *and* links, a specs file ([`SupportFile`]) hands it to the compiler proper
//! alone. Splitting such a command in two would have been the other way, but it changes the names
//! of dependency, coverage and debug files, which are derived from the output's name.
//!
//! # Programs that run anywhere
//!
//! Every linked file gets its own hooks (`hooks/`), which do nothing until raddle's runtime fills
//! them in. So what the wrapper built needs no library of raddle's. The host loads the runtime into
//! the program when it starts it.
//!
//! # What is deliberately absent
//!
//! No Windows or macOS options, no languages beyond the C family (others pass through
//! uninstrumented), no cache of probes (gcc answers in 2 ms, clang in 25 ms).
#![forbid(unsafe_code)]

mod bitcode;
mod command_line;
mod compiler;
mod environment;
mod find;
mod flags;
mod hide;
mod input;
mod known_functions;
pub mod mark;
mod plan;
mod probe;
pub mod response;
mod run;
mod runtime;
mod sanitizers;
mod source_build;

pub use compiler::{Compiler, Family, Language, Version};
pub use environment::{ENVIRONMENT_VARIABLES, Environment};
pub use find::{FindError, find_compiler, find_named_compiler};
pub use flags::WRAPPED_FUNCTIONS;
pub use known_functions::{KEEP_CALLS, has_known_functions};
pub use plan::{Action, CommandPlan, Invocation, LinkNote, Refusal, plan};
pub use probe::ProbeError;
pub use run::{ExecuteError, REFUSED_STATUS, execute, wrap};
pub use runtime::{
    CLANG_HOOKS, GCC_HOOKS, HOOKS_ARCHIVE, HOOKS_OBJECT, RUNTIME_LIBRARY, Runtime, SupportFile, lacks_gcc_hooks,
};
pub use source_build::{SourceBuild, SourceBuildError, is_source_file};
