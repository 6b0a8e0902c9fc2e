//! Programs for another processor: they run under `qemu-ARCH`, the user-mode emulator of QEMU, which
//! passes their system calls on. To the system such a target is a process like any other, whose own program
//! is the emulator.
//!
//! Variables of the program go through the emulator's options: the dynamic linker that starts the emulator
//! would obey some of them itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_vocab::Machine;

use crate::elf;
use crate::error::StartError;

/// Names a directory with the libraries of the other processor to the emulator.
const PREFIX_VARIABLE: &str = "QEMU_LD_PREFIX";

/// How a program for another processor is started here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    program: PathBuf,
    /// The directory in which the program's libraries lie, if the emulator has to be told.
    root: Option<PathBuf>,
}

impl Emulator {
    /// The emulator that a program needs; `None` for a program for this machine.
    ///
    /// # Errors
    /// What has to be installed.
    pub fn for_program(program: &Path) -> Result<Option<Self>, StartError> {
        let Some((machine, interpreter)) = elf::machine_and_interpreter(program) else { return Ok(None) };
        if machine == Machine::OWN {
            return Ok(None);
        }
        let found = find(machine).ok_or_else(|| StartError::NoEmulator(program.into(), machine))?;
        let root = root(machine, interpreter.as_deref())
            .ok_or_else(|| StartError::NoForeignLibraries(program.into(), machine))?;
        Ok(Some(Emulator { program: found, root }))
    }

    /// The emulator itself.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command that starts the program, with these variables for it alone.
    #[must_use]
    pub fn command(&self, program: &Path, variables: &[(&OsStr, &OsStr)]) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(root) = &self.root {
            command.arg("-L").arg(root);
        }
        for (name, value) in variables {
            let mut entry = OsString::from(name);
            entry.push("=");
            entry.push(value);
            command.arg("-E").arg(entry);
        }
        command.arg(program);
        command
    }
}

/// The emulator for a processor, from the PATH.
#[must_use]
pub fn find(machine: Machine) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_executable = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let names = [format!("qemu-{machine}"), format!("qemu-{machine}-static")];
    let candidates = names.iter().flat_map(|name| std::env::split_paths(&path).map(move |place| place.join(name)));
    candidates.into_iter().find(is_executable)
}

/// Where the libraries of a program are: `Some(None)` if the emulator finds them by itself.
fn root(machine: Machine, interpreter: Option<&Path>) -> Option<Option<PathBuf>> {
    let Some(interpreter) = interpreter else { return Some(None) };
    if std::env::var_os(PREFIX_VARIABLE).is_some_and(|prefix| !prefix.is_empty()) || interpreter.exists() {
        return Some(None);
    }
    let root = cross_root(machine);
    let inside = interpreter.strip_prefix("/").unwrap_or(interpreter);
    root.join(inside).exists().then_some(Some(root))
}

/// Where packages for cross compilers put the libraries of a processor.
fn cross_root(machine: Machine) -> PathBuf {
    PathBuf::from(format!("/usr/{machine}-linux-gnu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_for_this_machine_needs_none() {
        assert_eq!(Emulator::for_program(&std::env::current_exe().unwrap()), Ok(None));
        assert_eq!(Emulator::for_program(Path::new("/dev/null")), Ok(None));
    }

    #[test]
    fn variables_of_the_program_are_not_the_emulators() {
        let emulator = Emulator { program: "/usr/bin/qemu-x".into(), root: Some("/usr/x".into()) };
        let variables = [(OsStr::new("LD_PRELOAD"), OsStr::new("/rt.so"))];
        let command = emulator.command(Path::new("./prog"), &variables);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-L", "/usr/x", "-E", "LD_PRELOAD=/rt.so", "./prog"]);
        assert_eq!(command.get_envs().count(), 0);
    }
}
