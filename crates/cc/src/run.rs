//! Carries plans out, and the whole wrapper from arguments to exit status.

use crate::bitcode;
use crate::compiler::Language;
use crate::environment::{Environment, HIDE_VARIABLE, INSIDE_VARIABLE, VERBOSE_VARIABLE};
use crate::find::{FindError, find_compiler, retarget};
use crate::known_functions::{KEEP_CALLS, has_known_functions};
use crate::mark::LinkRecord;
use crate::plan::{Action, CommandPlan, Invocation, LinkNote, Refusal, plan};
use crate::response::{self, ResponseError};
use crate::runtime::{Runtime, SupportFile};
use crate::source_build::is_source_file;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The exit status of the wrapper where it starts no compiler.
pub const REFUSED_STATUS: i32 = 2;

/// Longer command lines go through a response file. The system allows at least 2 MiB for arguments
/// and environment together; the compiler itself has to pass most of them on to the linker.
const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The compiler could not be started.
    #[error("`{}` could not be started: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that the command needs could not be written.
    #[error("`{}` could not be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs a plan's command and returns its exit status; a signal that ended it counts as 128 and its
/// number, as in a shell.
pub fn execute(plan: &CommandPlan) -> Result<i32, ExecuteError> {
    for file in &plan.support_files {
        provide(file)?;
    }
    let mut command = Command::new(&plan.program);
    command.env(INSIDE_VARIABLE, "1");
    let mut args = plan.args.clone();
    let note = plan.link_note.as_ref().map(|note| Ok((note.position, note_object(note)?))).transpose()?;
    if let Some((position, file)) = &note {
        args.insert(*position, file.path().into());
    }
    let response_file = long_arguments(&args)?;
    match &response_file {
        Some(file) => command.arg(response_argument(file)),
        None => command.args(&args),
    };
    let status = command.status().map_err(|source| ExecuteError::Start { program: plan.program.clone(), source })?;
    for path in plan.with_bitcode.iter().filter(|_| status.success()) {
        bitcode::hide(path).map_err(|source| ExecuteError::Write { path: path.clone(), source })?;
    }
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}

/// An object with a note about the link.
fn note_object(note: &LinkNote) -> Result<tempfile::NamedTempFile, ExecuteError> {
    let failed = |source| ExecuteError::Write { path: std::env::temp_dir(), source };
    let directory = std::env::current_dir().unwrap_or_default();
    let record = LinkRecord { directory, ..note.record.clone() };
    let object = record.object(&note.machine).map_err(|error| failed(io::Error::other(error)))?;
    let mut file = tempfile::Builder::new().prefix("raddle-").suffix(".o").tempfile().map_err(failed)?;
    file.write_all(&object).map_err(failed)?;
    Ok(file)
}

/// Writes a file unless it is there already. By renaming, because another compiler may be reading
/// it.
fn provide(file: &SupportFile) -> Result<(), ExecuteError> {
    if fs::read(&file.path).is_ok_and(|found| found == file.contents.as_bytes()) {
        return Ok(());
    }
    let failed = |source| ExecuteError::Write { path: file.path.clone(), source };
    let directory = file.path.parent().unwrap_or(&file.path);
    fs::create_dir_all(directory).map_err(failed)?;
    let mut written = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    written.write_all(file.contents.as_bytes()).map_err(failed)?;
    written.persist(&file.path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A response file with these arguments, if they are too many for a command line.
fn long_arguments(args: &[OsString]) -> Result<Option<tempfile::NamedTempFile>, ExecuteError> {
    let bytes: usize = args.iter().map(|word| word.len() + 1).sum();
    if bytes <= MAX_COMMAND_BYTES {
        return Ok(None);
    }
    let failed = |source| ExecuteError::Write { path: std::env::temp_dir(), source };
    let mut file = tempfile::Builder::new().prefix("raddle-").suffix(".rsp").tempfile().map_err(failed)?;
    file.write_all(&response::join(args)).map_err(failed)?;
    Ok(Some(file))
}

/// The argument that names a response file.
fn response_argument(file: &tempfile::NamedTempFile) -> OsString {
    let mut argument = OsString::from("@");
    argument.push(file.path());
    argument
}

/// Anything that keeps the wrapper from running the compiler.
#[derive(Debug, thiserror::Error)]
enum WrapError {
    #[error(transparent)]
    Response(#[from] ResponseError),
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// The whole wrapper: what `raddle cc ARGS...` does. Returns the exit status, which is the
/// compiler's own, or [`REFUSED_STATUS`] after a sentence on standard error.
pub fn wrap(language: Language, args: &[OsString], environment: &Environment, runtime: &Runtime) -> i32 {
    try_wrap(language, args, environment, runtime).unwrap_or_else(|error| {
        eprintln!("{}: {error}", own_name(language));
        REFUSED_STATUS
    })
}

fn try_wrap(
    language: Language,
    args: &[OsString],
    environment: &Environment,
    runtime: &Runtime,
) -> Result<i32, WrapError> {
    let compiler = find_compiler(language, environment)?;
    let args = response::expand(args, &mut |path| fs::read(path).ok())?;
    let (compiler, mut args) = retarget(compiler, args, language, environment)?;
    let given = args.clone();
    let is_concerned = |path: &Path| is_source_file(path).is_some() && has_known_functions(path);
    if args.iter().any(|arg| is_concerned(Path::new(arg))) {
        args.push(KEEP_CALLS.into());
    }
    let invocation = Invocation { language, args, hide_tsan: environment.is_on(HIDE_VARIABLE) };
    let plan = plan(&invocation, &compiler, runtime)?;
    if environment.is_on(VERBOSE_VARIABLE) {
        describe(language, &plan);
    }
    make_split_files(&plan, &given)?;
    Ok(execute(&plan)?)
}

/// Makes the files of debug information that `-gsplit-dwarf` asks for, where the compiler puts
/// them. The program itself keeps all debug information, because reports need it. So the user's own
/// command is run first, whose other outputs are made anew; it is the other one that says what is
/// wrong.
fn make_split_files(plan: &CommandPlan, given: &[OsString]) -> Result<(), ExecuteError> {
    let compiles = matches!(plan.action, Action::Compile | Action::CompileAndLink);
    let is_asked_for = given.iter().any(|word| word == "-gsplit-dwarf" || word == "-gsplit-dwarf=split");
    // Standard input can be read once.
    if !compiles || !is_asked_for || given.iter().any(|word| word == "-") {
        return Ok(());
    }
    let mut command = Command::new(&plan.program);
    command.env(INSIDE_VARIABLE, "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let response_file = long_arguments(given)?;
    match &response_file {
        Some(file) => command.arg(response_argument(file)),
        None => command.args(given),
    };
    command.status().map(drop).map_err(|source| ExecuteError::Start { program: plan.program.clone(), source })
}

/// Tells what will be run. Only on request: configure scripts take any output for a failed check.
fn describe(language: Language, plan: &CommandPlan) {
    for note in &plan.notes {
        eprintln!("{}: {note}", own_name(language));
    }
    let mut line = plan.program.as_os_str().as_bytes().to_vec();
    for word in response::join(&plan.args).split(|byte| *byte == b'\n').filter(|word| !word.is_empty()) {
        line.push(b' ');
        line.extend_from_slice(word);
    }
    eprintln!("{}: {}", own_name(language), String::from_utf8_lossy(&line));
}

fn own_name(language: Language) -> &'static str {
    match language {
        Language::C => "raddle cc",
        Language::Cxx => "raddle c++",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, more: Vec<OsString>) -> CommandPlan {
        let mut args = vec!["-c".into(), script.into(), "sh".into()];
        args.extend(more);
        CommandPlan {
            program: PathBuf::from("/bin/sh"),
            args,
            action: Action::PassThrough,
            support_files: Vec::new(),
            link_note: None,
            with_bitcode: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_exit_status_is_the_compilers_own() {
        assert_eq!(execute(&shell("exit 0", Vec::new())).expect("started"), 0);
        assert_eq!(execute(&shell("exit 7", Vec::new())).expect("started"), 7);
        assert_eq!(execute(&shell("kill -9 $$", Vec::new())).expect("started"), 137);
    }

    #[test]
    fn the_compiler_is_marked_as_started_by_the_wrapper() {
        assert_eq!(execute(&shell("test \"$RADDLE_CC_INSIDE\" = 1", Vec::new())).expect("started"), 0);
    }

    #[test]
    fn a_compiler_that_is_gone_is_named() {
        let mut plan = shell("", Vec::new());
        plan.program = PathBuf::from("/nonexistent/cc");
        let error = execute(&plan).expect_err("cannot start").to_string();
        assert!(error.starts_with("`/nonexistent/cc` could not be started"), "{error}");
    }

    #[test]
    fn support_files_are_written_once_and_repaired() {
        let directory = tempfile::tempdir().expect("a directory");
        let runtime = Runtime::in_directory(directory.path()).expect("absolute");
        let file = runtime.gcc_specs();
        for before in [None, Some("damaged")] {
            if let Some(text) = before {
                fs::write(&file.path, text).expect("written");
            }
            provide(&file).expect("provided");
            assert_eq!(fs::read_to_string(&file.path).expect("readable"), file.contents);
        }
        let names = fs::read_dir(directory.path()).expect("listed").count();
        assert_eq!(names, 1, "no temporary file stays behind");
        let [header, ..] = runtime.header_files();
        provide(&header).expect("provided with its directory");
        assert!(header.path.exists());
        let nowhere = Runtime::in_directory(&file.path).expect("absolute");
        assert!(matches!(provide(&nowhere.gcc_specs()), Err(ExecuteError::Write { .. })));
    }

    #[test]
    fn only_long_command_lines_go_through_a_response_file() {
        assert!(long_arguments(&["-c".into()]).expect("no file").is_none());
        let many: Vec<OsString> = (0..30_000).map(|n| OsString::from(format!("a dir/{n}.o"))).collect();
        let file = long_arguments(&many).expect("written").expect("a file");
        assert_eq!(response::split(&fs::read(file.path()).expect("readable")), many);
        let path = file.path().to_path_buf();
        drop(file);
        assert!(!path.exists());
    }
}
