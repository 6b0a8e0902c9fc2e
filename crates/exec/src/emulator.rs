//! Programs for another processor, and programs whose accesses a plug-in records: they run under
//! `qemu-ARCH`, the user-mode emulator of QEMU, which passes their system calls on. To the system
//! such a target is a process like any other, whose own program is the emulator.
//!
//! Variables of the program go through the emulator's options: the dynamic linker that starts the
//! emulator would obey some of them itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
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
    /// The plug-in that records the program's accesses.
    observer: Option<PathBuf>,
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
        Ok(Some(Emulator { program: found, root, observer: None }))
    }

    /// The emulator for a program of this machine whose accesses a plug-in records.
    ///
    /// # Errors
    /// What has to be installed, or that there is no plug-in for such programs.
    pub fn observing(program: &Path, observer: &Path) -> Result<Self, StartError> {
        let machine = elf::machine(program).unwrap_or(Machine::OWN);
        if machine != Machine::X86_64 || machine != Machine::OWN {
            return Err(StartError::NotObservable(program.into(), machine));
        }
        let found = find(machine).ok_or_else(|| StartError::NoObservingEmulator(program.into(), machine))?;
        Ok(Emulator { program: found, root: None, observer: Some(observer.into()) })
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
        if let Some(observer) = &self.observer {
            // The program sees the processor that the emulator can do most of. A comma ends a path
            // unless doubled.
            let path = observer.as_os_str().as_encoded_bytes();
            let doubled: Vec<u8> = path.iter().flat_map(|&byte| vec![byte; if byte == b',' { 2 } else { 1 }]).collect();
            let mut plugin = OsString::from("file=");
            plugin.push(OsStr::from_bytes(&doubled));
            command.args(["-cpu", "max", "-plugin"]).arg(plugin);
        }
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
        let emulator = Emulator { program: "/usr/bin/qemu-x".into(), root: Some("/usr/x".into()), observer: None };
        let variables = [(OsStr::new("LD_PRELOAD"), OsStr::new("/rt.so"))];
        let command = emulator.command(Path::new("./prog"), &variables);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-L", "/usr/x", "-E", "LD_PRELOAD=/rt.so", "./prog"]);
        assert_eq!(command.get_envs().count(), 0);
    }

    #[test]
    fn a_plug_in_is_named_whatever_its_path() {
        let emulator = Emulator { program: "/usr/bin/qemu-x".into(), root: None, observer: Some("/a,b/o.so".into()) };
        let command = emulator.command(Path::new("./prog"), &[]);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-cpu", "max", "-plugin", "file=/a,,b/o.so", "./prog"]);
    }
}
