//! The runtime that the command carries inside itself, and where it is installed.
//!
//! An installed raddle has it in `lib/raddle` beside its `bin`. Any other one unpacks it where it
//! may write. Its directory is named after the version and contents: another raddle has another
//! directory beside it, and never replaces what one that runs uses. Several raddles may unpack at
//! the same time; each writes a file of its own and renames it.
//!
//! Programs built with raddle do not know this directory: who starts them supplies the runtime.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use raddle_cc::{CLANG_HOOKS, GCC_HOOKS, HOOKS_ARCHIVE, HOOKS_OBJECT, RUNTIME_LIBRARY, Runtime, Version};
use raddle_exec::elf;
use raddle_vocab::Machine;

/// The library itself.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libraddle_rt.so"));

/// What programs are linked with.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/raddle-hooks.o"));
static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libraddle-hooks.a"));

/// The same for programs for aarch64, on other machines; empty if raddle was built without the
/// tools for it.
static FOR_AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign/libraddle_rt.so"));
static OBJECT_FOR_AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign/raddle-hooks.o"));
static ARCHIVE_FOR_AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign/libraddle-hooks.a"));

/// The plug-in for the gcc that makes programs for aarch64, and its build; empty likewise.
static FOR_FOREIGN_GCC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foreign/raddle-gcc-hooks.so"));
const FOR_FOREIGN_GCC_BUILD: &str = env!("RADDLE_FOREIGN_GCC_HOOKS_BUILD");

/// The plug-in for clang; empty if raddle was built without LLVM.
static FOR_CLANG: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/raddle-clang-hooks.so"));

/// The version of LLVM that the plug-in was built for; empty like the plug-in.
const FOR_CLANG_VERSION: &str = env!("RADDLE_CLANG_HOOKS_VERSION");

/// The plug-in for gcc; empty if raddle was built without its headers.
static FOR_GCC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/raddle-gcc-hooks.so"));

/// The build of gcc that the plug-in was built for; empty like the plug-in.
const FOR_GCC_BUILD: &str = env!("RADDLE_GCC_HOOKS_BUILD");

/// The plug-in for the emulator.
static OBSERVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libraddle_observer.so"));

/// Its file.
const OBSERVER_NAME: &str = "raddle-observer.so";

/// Name of the directory for this very runtime.
const DIRECTORY: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("RADDLE_RUNTIME_HASH"));

/// Where an installation keeps it, from the parent of the command's directory.
const INSTALLED: &str = "lib/raddle";

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// It is nowhere.
    #[error("raddle's runtime cannot be installed anywhere:{}", listed(.0))]
    Nowhere(Vec<(PathBuf, io::Error)>),
    /// None for this processor.
    #[error(
        "the program is for {0}, and this raddle was built without a runtime for it: `rustup target add \
         {0}-unknown-linux-gnu`, install the package `gcc-{0}-linux-gnu`, and build raddle again"
    )]
    NotBuilt(Machine),
}

fn listed(failures: &[(PathBuf, io::Error)]) -> String {
    failures.iter().map(|(path, error)| format!("\n  {}: {error}", path.display())).collect()
}

/// The library for a program.
///
/// # Errors
/// If raddle was built without a runtime for the program's processor, or it cannot be installed.
pub fn library_for(program: &Path) -> Result<PathBuf, InstallError> {
    let runtime = install()?;
    let machine = elf::machine_and_interpreter(program).map_or(Machine::OWN, |(machine, _)| machine);
    runtime.library_for(machine.name()).ok_or(InstallError::NotBuilt(machine))
}

/// The plug-in for the emulator, which records the accesses of programs without hooks.
///
/// # Errors
/// If it cannot be installed.
pub fn observer() -> Result<PathBuf, InstallError> {
    Ok(install()?.directory().join(OBSERVER_NAME))
}

/// Installs the runtime if it is not there yet, in the first place where that works.
///
/// # Errors
/// What went wrong in each place.
pub fn install() -> Result<Runtime, InstallError> {
    if let Some(runtime) = installed() {
        return Ok(runtime);
    }
    let mut failures = Vec::new();
    for place in places() {
        match install_in(&place) {
            Ok(runtime) => return Ok(runtime),
            Err(error) => failures.push((place.directory, error)),
        }
    }
    Err(InstallError::Nowhere(failures))
}

/// The runtime beside this command, if it was installed with it. The link may be that of a
/// compiler's name.
fn installed() -> Option<Runtime> {
    let own = std::env::current_exe().ok()?;
    let prefix = own.parent()?.parent()?;
    let runtime = runtime_in(&prefix.join(INSTALLED).join(DIRECTORY))?;
    is_complete(&runtime).then_some(runtime)
}

/// Unpacks the runtime below a directory, for an installation.
///
/// # Errors
/// What the system said.
pub fn unpack(directory: &Path) -> io::Result<Runtime> {
    install_in(&Place { directory: std::path::absolute(directory)?, guarded: false })
}

/// A directory that may hold runtimes.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    directory: PathBuf,
    /// Others can write beside it, so that it must be shown to be ours.
    guarded: bool,
}

/// Where to install, best first: the user's data, beside the command, a directory for temporary
/// files.
fn places() -> Vec<Place> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = std::env::current_exe().ok();
    places_from(variable("XDG_DATA_HOME"), variable("HOME"), own.as_deref(), own_user())
}

fn places_from(data: Option<OsString>, home: Option<OsString>, own: Option<&Path>, user: u32) -> Vec<Place> {
    let data = data.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| home.map(|home| home.join(".local/share")));
    let beside = own.and_then(Path::parent).map(|directory| directory.join("raddle-runtime"));
    let mut places: Vec<Place> = [data.map(|data| data.join("raddle")), beside]
        .into_iter()
        .flatten()
        .map(|directory| Place { directory, guarded: false })
        .collect();
    places.push(Place { directory: PathBuf::from(format!("/tmp/raddle-{user}")), guarded: true });
    places
}

/// The user's number, from a file that is always ours.
fn own_user() -> u32 {
    fs::metadata("/proc/self").map_or(0, |about| about.uid())
}

fn install_in(place: &Place) -> io::Result<Runtime> {
    let mode = if place.guarded { 0o700 } else { 0o755 };
    fs::DirBuilder::new().recursive(true).mode(mode).create(&place.directory)?;
    if place.guarded {
        check_ours(&place.directory)?;
    }
    let directory = place.directory.join(DIRECTORY);
    let runtime = runtime_in(&directory)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not an absolute path"))?;
    if is_complete(&runtime) {
        return Ok(runtime);
    }
    for file in runtime.support_files() {
        write_whole(&file.path, file.contents.as_bytes())?;
    }
    let files = [
        (HOOKS_OBJECT, OBJECT),
        (HOOKS_ARCHIVE, ARCHIVE),
        (CLANG_HOOKS, FOR_CLANG),
        (GCC_HOOKS, FOR_GCC),
        (OBSERVER_NAME, OBSERVER),
    ];
    for (name, bytes) in files.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        write_whole(&directory.join(name), bytes)?;
    }
    let foreign = [
        (RUNTIME_LIBRARY, FOR_AARCH64),
        (HOOKS_OBJECT, OBJECT_FOR_AARCH64),
        (HOOKS_ARCHIVE, ARCHIVE_FOR_AARCH64),
        (GCC_HOOKS, FOR_FOREIGN_GCC),
    ];
    for (name, bytes) in foreign.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        write_whole(&directory.join(Machine::Aarch64.name()).join(name), bytes)?;
    }
    // Last, because its presence says that the rest is there.
    write_whole(&directory.join(RUNTIME_LIBRARY), LIBRARY)?;
    Ok(runtime)
}

fn runtime_in(directory: &Path) -> Option<Runtime> {
    let gcc = Some(FOR_GCC_BUILD.to_owned()).filter(|build| !build.is_empty());
    let runtime = Runtime::in_directory(directory)?;
    let foreign = Some(Machine::Aarch64.name()).filter(|_| !FOR_AARCH64.is_empty());
    let foreign_gcc = Some(FOR_FOREIGN_GCC_BUILD.to_owned()).filter(|build| !build.is_empty());
    let runtime = runtime.for_machines(Machine::OWN.name(), foreign).with_foreign_gcc_hooks(foreign_gcc);
    Some(runtime.with_clang_hooks(Version::parse(FOR_CLANG_VERSION)).with_gcc_hooks(gcc))
}

/// Whether all of it is there. The directory's name has a hash of what lies in it, and files are
/// written whole. Comparing every byte would take longer than a short check.
fn is_complete(runtime: &Runtime) -> bool {
    fs::metadata(runtime.library()).is_ok_and(|about| about.len() == LIBRARY.len() as u64)
}

/// Refuses a directory that another user made or can change: programs would load what lies there.
fn check_ours(directory: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(directory)?;
    let ours = about.is_dir() && about.uid() == own_user() && about.permissions().mode() & 0o022 == 0;
    if ours { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can change it")) }
}

/// Writes a file that is never seen half written.
fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(contents)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_data_comes_first() {
        let own = Path::new("/opt/bin/raddle");
        let paths = |data: &str, home: &str| -> Vec<PathBuf> {
            let places = places_from(Some(data.into()), Some(home.into()), Some(own), 7);
            places.into_iter().map(|place| place.directory).collect()
        };
        let rest = [PathBuf::from("/opt/bin/raddle-runtime"), PathBuf::from("/tmp/raddle-7")];
        assert_eq!(paths("/data", "/home/me")[0], Path::new("/data/raddle"));
        assert_eq!(paths("relative", "/home/me")[0], Path::new("/home/me/.local/share/raddle"));
        assert_eq!(paths("", "")[..], rest);
    }

    #[test]
    fn it_is_installed_once_and_repaired() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place { directory: directory.path().join("deep/raddle"), guarded: false };
        let runtime = install_in(&place).unwrap();
        let library = runtime.library();
        assert_eq!(fs::read(&library).unwrap(), LIBRARY);
        let first = fs::metadata(&library).unwrap().ino();
        install_in(&place).unwrap();
        assert_eq!(fs::metadata(&library).unwrap().ino(), first);
        fs::write(&library, b"half").unwrap();
        install_in(&place).unwrap();
        assert_eq!(fs::read(&library).unwrap(), LIBRARY);
        assert!(runtime.support_files().iter().all(|file| file.path.exists()));
        assert_eq!(library.with_file_name(CLANG_HOOKS).exists(), !FOR_CLANG_VERSION.is_empty());
        assert_eq!(library.with_file_name(GCC_HOOKS).exists(), !FOR_GCC_BUILD.is_empty());
    }

    #[test]
    fn many_at_once_agree() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place { directory: directory.path().join("raddle"), guarded: true };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(fs::read(install_in(&place).unwrap().library()).unwrap(), LIBRARY));
            }
        });
    }

    #[test]
    fn a_directory_that_others_can_change_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&Place { directory: open.clone(), guarded: true }).is_err());
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(install_in(&Place { directory: link, guarded: true }).is_err());
    }
}
